"""Tables of objects in notebooks: a Network, a Perceptron, a Session, a confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from scalarviz.base.texts import plural, text
from scalarviz.pictures.displays.page import CELL, never_raises, number_text, table
from scalarviz.pictures.displays.svg import escaped, shorten

if TYPE_CHECKING:
    from scalarviz.core.perceptron import Perceptron
    from scalarviz.training.network.network import Network
    from scalarviz.training.session.session import Session

RIGHT, WRONG = "64, 132, 244", "236, 130, 40"  # blue and orange, as values are
FAINTEST = 0.12  # opacity of a cell with a single case
MOST = 10  # weights of a perceptron; of more, the first and the last are shown
FIRST, LAST = 5, 4
LONGEST = 160  # characters of a setting


def titled(kind: str, about: str, rows: Sequence[Sequence[str]], head: str = "row") -> str:
    """Return a table below a line that says what it is of; `head` as in `table`."""
    return f"<div><b>{kind}</b> {escaped(about)}</div>{table(rows, head)}"


@never_raises
def network_html(network: Network) -> str:
    """Return a network's sizes, and the table of its layers."""
    sizes = " → ".join(f"{n:,}" for n in (network.inputs, *[x.outputs for x in network.layers]))
    count = plural("counts.parameters", len(network.bank))
    kinds = {"type": network.dtype, "engine": network.engine}
    names = ("layer", "kind", "shape", "activation", "parameters")
    rows = [tuple(text(f"displays.column.{name}") for name in names)]
    for i, layer in enumerate(network.layers):
        again = network.layers.index(layer)
        size = f"{layer.size:,}"
        if again != i:
            size = text("displays.network.shared", layer=again)
        shape = f"{layer.inputs:,} → {layer.outputs:,}"
        rows.append((str(i), type(layer).__name__, shape, layer.activation, size))
    return titled(
        "Network", text("displays.network.about", sizes=sizes, count=count, **kinds), rows
    )


@never_raises
def perceptron_html(perceptron: Perceptron) -> str:
    """Return a perceptron's place, and the table of its weights and gradients."""
    bank, inputs = perceptron.bank, perceptron.inputs
    shape = text(
        f"displays.perceptron.{'unbiased' if perceptron.bias is None else 'biased'}",
        weights=plural("counts.weights", inputs),
        activation=perceptron.activation.name,
    )
    place = perceptron.parts[0].name.rpartition(", ")[0]  # in a network, "layer 0, perceptron 2"
    rows: list[tuple[str, ...]] = [("", text("card.value"), text("card.gradient"))]
    values, grads = bank.value[perceptron.rows], bank.grad[perceptron.rows]
    for i, pair in enumerate(zip(values, grads, strict=True)):
        if inputs <= MOST or not FIRST <= i < inputs - LAST:
            rows.append((f"w{i}" if i < inputs else "b", *map(number_text, pair)))
        elif i == FIRST:
            rows.append((text("displays.more", count=inputs - FIRST - LAST), "", ""))
    return titled("Perceptron", f"{place}: {shape}" if place else shape, rows)


@never_raises
def session_table(session: Session) -> str:
    """Return where a session stands, and the table of what it trains with; it never waits."""
    timeline, trainer = session.timeline, session.trainer
    clock, moments = timeline.clock, trainer.moments
    settings, network = trainer.settings, trainer.network
    done = moments[clock.operation - 1].name if clock.operation or clock.step else ""
    loss = text("displays.session.loss", loss=number_text(timeline.loss))
    if np.isnan(timeline.loss) and not len(session.losses):
        loss = text("chart.none")
    about = text(
        f"displays.session.{'playing' if session.playing else 'paused'}",
        step=clock.step,
        loss=loss,
        done=done or text("status.nothing"),
        next=moments[clock.operation].name,
    )
    engine = settings.engine
    if settings.precision.mixed:
        engine = text("displays.session.mixed", engine=engine)
    branches = plural("counts.branches", len(timeline.branches))
    if len(timeline.branches) > 1:
        here = timeline.branch
        fields = {"number": here.number, "name": here.name}
        branches = text("displays.session.branches", branches=branches, **fields)
    size = plural("counts.samples", trainer.batches.size)
    rate = settings.optimizer.rate(trainer.bank.step_count)
    optimizer = shorten(f"{settings.optimizer!r}", LONGEST)
    if rate != settings.optimizer.lr:
        optimizer = text("displays.session.rate", optimizer=optimizer, rate=number_text(rate))
    if own := len(settings.optimizer.own_rates):
        optimizer = plural("displays.session.own_rates", own, optimizer=optimizer)
    found = {
        "trains": shorten(repr(network).splitlines()[0].replace("->", "→"), LONGEST),
        "data": shorten(settings.data.describe(), LONGEST).replace("->", "→"),
        "batch": text("displays.session.batch", samples=size, all=settings.data.samples),
        "loss": shorten(repr(trainer.loss), LONGEST),
        "optimizer": optimizer,
        "engine": engine,
        "branches": branches,
    }
    rows = [(text(f"displays.session.row.{name}"), value) for name, value in found.items()]
    return titled("Session", about, rows, "column")


@never_raises
def confusion_html(given: tuple[npt.NDArray[np.int64], Sequence[str]]) -> str:
    """Return counts, a row a true class, and names of classes: blue is right, orange is wrong."""
    counts, names = given
    head = "".join(f'<th style="{CELL}">{escaped(name)}</th>' for name in names)
    rows = [
        f'<tr><th style="{CELL}">{escaped(name)}</th>{"".join(cells_of(counts[i], i))}</tr>'
        for i, name in enumerate(names)
    ]
    caption = f"<caption>{escaped(text('exhibits.confusion.axes'))}</caption>"
    return f'<table>{caption}<tr><th style="{CELL}"></th>{head}</tr>{"".join(rows)}</table>'


def cells_of(row: npt.NDArray[np.int64], true: int) -> list[str]:
    """Return the cells of a true class."""
    found = []
    for said, count in enumerate(row.tolist()):
        share = count / max(1, int(row.sum()))
        strength = (FAINTEST + (0.75 - FAINTEST) * share) * (count > 0)
        color = RIGHT if said == true else WRONG
        found.append(f'<td style="{CELL}; background: rgba({color}, {strength:.2f})">{count}</td>')
    return found
