"""One step as a page of 2-D drawings, without OpenGL: neurons are discs, weights are lines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.program import Moment
from scalarviz.pictures.displays.cells import color_of, pixels
from scalarviz.pictures.displays.network import RADIUS, columns_of, connect, legend, station
from scalarviz.pictures.displays.svg import LOOK, SMALL, SvgDrawing
from scalarviz.pictures.draw2d.colors import spread
from scalarviz.pictures.draw2d.theme import THEMES
from scalarviz.pictures.export.render import replaying
from scalarviz.pictures.export.storyboard_page import Still, page
from scalarviz.pictures.presenter.captions.moments import caption
from scalarviz.pictures.presenter.captions.strip import names_of_cells
from scalarviz.pictures.presenter.show import Show
from scalarviz.training.session.session import Session

INSIDE = RADIUS - 1.5  # half the side of an image in a disc
BACKWARD = ("backward", "step")  # phases that show gradients


def plain_story(show: Show, theme: str) -> str:
    """Return the next step of a session as one page, with a drawing per operation."""
    stills = []
    with replaying(show) as shown:
        session, moments = shown.session, shown.session.trainer.moments
        names = names_of_cells(session.network.program, moments)
        for name, moment in zip(names, moments, strict=True):
            session.advance(1, "operation")
            said = caption(session)
            picture = plain_drawing(session, moment).card().encode()
            stills.append(Still(name, said, picture, f"{moment.name}: {said.title}"))
    return page(stills, show.title, THEMES[theme].is_dark)


def plain_drawing(session: Session, moment: Moment) -> SvgDrawing:
    """Draw the network after a moment: discs are activations, lines are weights.

    Only the active layer is colored. In the backward phases, lines are gradients of weights.
    """
    network, bank = session.network, session.network.bank
    back = moment.phase in BACKWARD
    numbers = np.array(bank.grad if back else bank.value, np.float64)
    program = network.program
    for operation in program.operations:
        if moment.layer not in (NONE, operation.layer):
            numbers[operation.parameters] = 0.0
    drawing = SvgDrawing()
    columns = columns_of(network)
    for i, (before, after) in enumerate(pairwise(columns)):
        operations = [each for each in program.operations if each.layer == i]
        connect(drawing, before, after, operations, numbers)
    for i, column in enumerate(columns):
        held = held_by(session, i, back)
        for neuron in column.shown:
            if held is None:
                station(drawing, column, neuron, LOOK.ground)
            elif column.shape:
                station(drawing, column, neuron, LOOK.ground)
                own = held.reshape(column.shape)[neuron]
                corner = column.x - INSIDE, column.y(neuron) - INSIDE
                drawing.image(*corner, 2.0 * INSIDE, 2.0 * INSIDE, pixels(own, spread(held), 4))
            else:
                station(drawing, column, neuron, color_of(held[neuron], spread(held)))
    bottom = drawing.bottom
    for column in columns:
        for row, word in enumerate((column.count, *column.words)):
            y = bottom + 24 + 15 * row
            drawing.text(column.x, y, word, SMALL, color=LOOK.quiet, anchor="middle")
    said = text(f"storyboard.discs.{'gradients' if back else 'numbers'}")
    drawing.text(0, drawing.bottom + 22, said, SMALL, color=LOOK.quiet)
    legend(drawing, drawing.bottom + 18)
    return drawing


def held_by(session: Session, column: int, back: bool) -> FloatArray | None:
    """Return activations or gradients of a column for the focus sample; None if unknown."""
    operations = session.network.program.operations
    before = [each for each in operations if each.layer < column]
    if before:
        found = session.numbers(before[-1].name)
        rows = found.upstream if back else found.outputs
    else:  # the inputs, or a layer that passes them on
        found = session.numbers(operations[0].name)
        rows = found.gradient if back else found.inputs
    return None if rows is None else np.asarray(rows[session.focus], np.float64)
