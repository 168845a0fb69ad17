"""Lights: brightness and running light of plates, neurons and wires during an operation.

Brightness shows what is active; hue stays reserved for the sign of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.model.operations import NONE
from scalarviz.model.program import Moment, Program
from scalarviz.view.cubes.shaders import DIM as DIM
from scalarviz.view.scene.plates import Layout, Plate, Wires

DIM_SMALL, SMALL = 0.7, 2000  # for more than SMALL cubes: small cubes would look too dark
GLOW = 0.22  # white light on an active plate
FLASH = 0.75
Span = tuple[float, float]  # start and end of the lit part of a wire


@dataclass(frozen=True)
class Lights:
    """Brightness of plates and rows of neurons, and the light on them.

    plates   brightness; `white`, white light; `sweeps`, running light (see cubes.shaders)
    neurons  brightness, in the order of the layout
    wires    the lit part of each bundle, or None
    """

    plates: FloatArray
    white: FloatArray
    sweeps: FloatArray
    neurons: FloatArray
    wires: list[Span | None]


def lights(layout: Layout, program: Program | None, moment: Moment | None, part: float) -> Lights:
    """Return the lights when `part` of an operation, 0 to 1, is done."""
    count = len(layout.plates)
    shown = Lights(
        np.ones(count),
        np.zeros(count),
        np.tile([0.0, 0.0, 1.0, 0.0], (count, 1)),
        np.ones(len(layout.neurons)),
        [None] * len(layout.wires),
    )
    # The operations of an expression have no moments of their own: everything stays bright.
    if moment is None or program is None or not program.stepped or moment.kind not in KINDS:
        return shown
    many = sum(plate.size for plate in layout.plates) > SMALL
    shown.plates[:] = DIM_SMALL if many else DIM
    shown.neurons[:] = DIM
    KINDS[moment.kind](layout, program, moment, part, shown)
    return shown


def forward(layout: Layout, program: Program, moment: Moment, part: float, shown: Lights) -> None:
    """Light down the columns, then along the rows."""
    operation = program.operations[moment.operation]
    light_neurons(layout, shown, operation.target.name)
    if operation.kind != "activation":
        light_neurons(layout, shown, operation.source.name)
    other = operation.other
    if other is not None and other.offset < operation.target.offset:  # computed before
        light_neurons(layout, shown, other.name)
    down, out = min(1.0, 2.0 * part), max(0.0, 2.0 * part - 1.0)
    for i, plate in own_plates(layout, moment):
        shown.plates[i] = 1.0
        shown.white[i] = GLOW * (1.0 - part)
        across, along = axes(plate)
        shown.sweeps[i] = run(*across, down, part) if part < 0.5 else run(*along, out, part)
    for j, bundle in own_wires(layout, moment):
        shown.wires[j] = (0.0, down) if bundle.outgoing else (0.0, out) if out else None


def loss(layout: Layout, program: Program, moment: Moment, part: float, shown: Lights) -> None:
    light_neurons(layout, shown, program.outputs.name)


def delta(layout: Layout, program: Program, moment: Moment, part: float, shown: Lights) -> None:
    operation = program.operations[moment.operation]
    light_neurons(layout, shown, operation.target.name)
    for buffer in moment.gradients:
        light_neurons(layout, shown, buffer.name)


def weight_gradient(
    layout: Layout, program: Program, moment: Moment, part: float, shown: Lights
) -> None:
    """Rows and columns meet, and all cubes of the plate flash."""
    operation = program.operations[moment.operation]
    light_neurons(layout, shown, operation.target.name)
    if moment.operation > program.first_parameters:
        light_neurons(layout, shown, operation.source.name)
    for i, _ in own_plates(layout, moment):
        shown.plates[i] = 1.0
        shown.white[i] = FLASH * max(0.0, 1.0 - abs(4.0 * part - 1.0)) + 0.1 * (part > 0.5)
    for j, bundle in own_wires(layout, moment):
        meets = min(1.0, 4.0 * part)
        if not bundle.outgoing:
            shown.wires[j] = (1.0 - meets, 1.0)
        elif moment.operation > program.first_parameters:
            shown.wires[j] = (0.0, meets)


def input_gradient(
    layout: Layout, program: Program, moment: Moment, part: float, shown: Lights
) -> None:
    """Light back along the rows, then up the columns."""
    operation = program.operations[moment.operation]
    light_neurons(layout, shown, operation.target.name)
    light_neurons(layout, shown, operation.source.name)
    if operation.other is not None:
        light_neurons(layout, shown, operation.other.name)
    back, up = min(1.0, 2.0 * part), max(0.0, 2.0 * part - 1.0)
    for i, plate in own_plates(layout, moment):
        if plate.role not in ("weight", "gain"):
            continue
        shown.plates[i] = 1.0
        shown.white[i] = GLOW * (1.0 - part)
        across, along = axes(plate)
        shown.sweeps[i] = (
            run(*along, 1.0 - back, part) if part < 0.5 else run(*across, 1.0 - up, part)
        )
    for j, bundle in own_wires(layout, moment):
        if not bundle.outgoing:
            shown.wires[j] = (1.0 - back, 1.0)
        elif up:
            shown.wires[j] = (1.0 - up, 1.0)


KINDS: dict[str, Callable[[Layout, Program, Moment, float, Lights], None]] = {
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
}


def axes(plate: Plate) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return axis and length along which inputs run, and those of outputs."""
    rows, columns = (2.0, plate.rows), (1.0, plate.columns)
    return (columns, rows) if plate.turned else (rows, columns)


def run(axis: float, count: int, at: float, part: float) -> list[float]:
    """Return a running light at share `at` of an axis; it is off at the end of the operation."""
    width = max(1.0, 0.12 * count)
    return [axis, at * count, width, 0.8 * (part < 1.0)]


def own_plates(layout: Layout, moment: Moment) -> list[tuple[int, Plate]]:
    return [
        (i, plate)
        for i, plate in enumerate(layout.plates)
        if plate.operation == moment.operation != NONE
    ]


def own_wires(layout: Layout, moment: Moment) -> list[tuple[int, Wires]]:
    return [(j, each) for j, each in enumerate(layout.wires) if each.operation == moment.operation]


def light_neurons(layout: Layout, shown: Lights, buffer: str) -> None:
    for i, line in enumerate(layout.neurons):
        if buffer in line.buffers:
            shown.neurons[i] = 1.0
