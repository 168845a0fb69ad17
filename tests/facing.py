"""A layout for tests of what is drawn: upright plates beside each other, which face the eye.

Each plate is the matrix of a layer with its biases behind it; the inputs stand above it in a row,
and its sums beside it in a column, or below it in a row if they are the outputs. The picture of
such a layout, seen by the camera "flat", shows each cube as a square.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Buffer, Operation, Program
from scalarviz.scene.layout.plates import (
    DOWN,
    NEAR,
    RIGHT,
    UP,
    Label,
    Layout,
    Neurons,
    Plate,
    Wires,
)
from scalarviz.stage import cubes_node, network_layout

GAP = 1.3  # from plates to neurons
BIAS_GAP = 0.5
BEHIND = -0.41 * NEAR  # where wires are: behind the middles of cubes, inside of them


def facing(
    program: Program,
    about: Callable[[str], tuple[str, str]] = lambda layer: (f"layer {layer}", "about"),
    names: Mapping[str, Sequence[str]] | None = None,
    aspect: float = 1.75,
    *,
    tied: bool = False,
) -> Layout:
    """Lay out a program, as `beads` does; matrices are plates, and other parameters columns."""
    names, at = names or {}, 0.0
    plates: list[Plate] = []
    wires: list[Wires] = []
    labels: list[Label] = []
    lines = [line_of(program.inputs, 0.5 * RIGHT + GAP * UP, RIGHT, NONE, names)]
    last = max((i for i, each in enumerate(program.operations) if each.parameters), default=NONE)
    deepest = max(buffer.size for buffer in program.buffers) + 2.0 * GAP
    for place, operation in enumerate(program.operations):
        target, layer = operation.target, operation.layer
        if operation.kind == "activation" and not lines[-1].sums and len(lines) > 1:
            shown = names.get(target.name, lines[-1].names)
            filled = replace(lines[-1], sums=lines[-1].values, values=target.name, names=shown)
            lines[-1] = filled
            continue
        own, start = plates_of(operation, place, at), at
        if own:
            at = float(own[-1].corners()[:, 0].max())
        at += GAP
        if own and place == last:
            lines.append(line_of(target, own[0].point(0.5, deepest), RIGHT, layer, names))
        else:
            lines.append(line_of(target, at * RIGHT + 0.5 * DOWN, DOWN, layer, names))
            at += GAP
        if own:
            edge = own[0].point(0.0, np.arange(own[0].rows) + 0.5)
            ends = edge + (own[-1].corners()[:, 0].max() + GAP - start) * RIGHT
            wires.append(Wires(edge + BEHIND, ends + BEHIND, place, len(lines) - 1, False))
            low = own[0].point(0.0, own[0].rows)
            labels.append(Label(*about(operation.label), low, low + own[0].columns * RIGHT))
        plates += own
    return Layout(plates, lines, wires, labels)


def line_of(
    buffer: Buffer,
    begin: FloatArray,
    axis: FloatArray,
    layer: int,
    names: Mapping[str, Sequence[str]],
) -> Neurons:
    """Neurons side by side, from the first one on."""
    points = begin + np.arange(buffer.size)[:, np.newaxis] * axis
    return Neurons(points, "", buffer.name, names.get(buffer.name, ()), layer)


def plates_of(operation: Operation, place: int, at: float) -> list[Plate]:
    """The plates of an operation, from left to right."""
    rows, found = operation.shape[0] if operation.shape else 0, []
    inputs = operation.shape[1] if len(operation.shape) > 1 else 1
    roles = ("weight", "bias") if len(operation.shape) > 1 else ("gain", "shift")
    for role, first in zip(roles, (operation.weights, operation.biases), strict=True):
        columns = inputs if role == "weight" else 1
        corner = at * RIGHT
        if first != NONE:
            shape = first, rows, columns, columns
            found.append(Plate(*shape, corner, RIGHT, DOWN, NEAR, role, place, operation.layer))
            at += columns + BIAS_GAP
    return found


def face(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all that is drawn have this layout."""
    for module in (network_layout, cubes_node):
        monkeypatch.setattr(module, "beads", facing)
