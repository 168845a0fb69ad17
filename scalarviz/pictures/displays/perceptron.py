"""Display of a Perceptron: its weights as cells in a row, their sum, its activation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.texts import plural, text
from scalarviz.pictures.displays.cells import cell, scale_of
from scalarviz.pictures.displays.page import never_raises, number_text
from scalarviz.pictures.displays.svg import LARGE, LOOK, NORMAL, SMALL, SvgDrawing, image, width_of

if TYPE_CHECKING:
    from scalarviz.core.layers.perceptron import Perceptron

MOST = 10  # most weights; of more, the first and the last are shown
FIRST, LAST = 5, 4
WIDTH, HEIGHT, GAP = 66.0, 38.0, 6.0
TOP = 46.0  # y of the cells
GRADIENT = "grad"


@never_raises
def perceptron_html(perceptron: Perceptron) -> str:
    """Return y = f(w0 x0 + w1 x1 + ... + b) as cells."""
    bank, rows = perceptron.bank, np.asarray(perceptron.rows)
    values, grads = bank.value[rows].astype(float), bank.grad[rows].astype(float)
    names = [f"w{i}" for i in range(perceptron.inputs)] + ["b"] * (perceptron.bias is not None)
    scale, name = scale_of(values), perceptron.activation.name
    place, parts = where(perceptron), {"activation": name}
    parts["weights"] = plural("counts.weights", perceptron.inputs)
    shape = text(
        f"displays.perceptron.{'unbiased' if perceptron.bias is None else 'biased'}", **parts
    )
    drawing = SvgDrawing()
    drawing.text(0, 13, "Perceptron", LARGE, bold=True)
    about = f"{place}: {shape}" if place else shape
    drawing.text(width_of("Perceptron", LARGE, bold=True) + 10, 13, about, color=LOOK.quiet)
    drawing.text(0, TOP + HEIGHT + 16, GRADIENT, SMALL, color=LOOK.quiet)
    x, middle = width_of(GRADIENT, SMALL) + 8, TOP + HEIGHT / 2
    for i in shown(perceptron.inputs, len(values)):
        if i is None:
            more = text("displays.more", count=perceptron.inputs - FIRST - LAST)
            drawing.text(x + 4, middle + 4, more, color=LOOK.quiet)
            x += width_of(more) + 8 + GAP
            continue
        x += GAP if names[i] == "b" else 0.0
        center = x + WIDTH / 2
        drawing.text(center, TOP - 7, names[i], SMALL, color=LOOK.quiet, anchor="middle")
        cell(drawing, (x, TOP, WIDTH, HEIGHT), values[i], scale)
        grad = number_text(grads[i], 3)
        drawing.text(center, TOP + HEIGHT + 16, grad, SMALL, color=LOOK.quiet, anchor="middle")
        x += WIDTH + GAP
    for sign in ("Σ", *([name] if name != "linear" else []), "y"):
        drawing.path(f"M{x + 2:.1f} {middle}h20", LOOK.ghost, thick=1.4)
        drawing.path(f"M{x + 20:.1f} {middle - 4}l7 4l-7 4z", fill=LOOK.ghost)
        wide = max(28.0, width_of(sign) + 16)
        if sign != "y":
            drawing.rect(x + 28, middle - 14, wide, 28, rim=LOOK.quiet, radius=14)
        drawing.text(x + 28 + wide / 2, middle + 4.5, sign, NORMAL, anchor="middle")
        x += 30 + wide
    told = [
        text(
            "displays.perceptron.weight",
            name=name,
            value=number_text(value),
            grad=number_text(grad),
        )
        for i in shown(perceptron.inputs, len(values))
        for name, value, grad in ([] if i is None else [(names[i], values[i], grads[i])])
    ]
    alt = text("displays.perceptron.alt", shape=shape, weights="; ".join(told))
    return image(drawing, alt)


def shown(inputs: int, count: int) -> list[int | None]:
    """Return the cells that are shown; None stands for those left out."""
    if inputs <= MOST:
        return list(range(count))
    return [*range(FIRST), None, *range(inputs - LAST, count)]


def where(perceptron: Perceptron) -> str:
    """Return its place in a network: "layer 0, perceptron 2"."""
    return perceptron.parts[0].name.rpartition(", ")[0]
