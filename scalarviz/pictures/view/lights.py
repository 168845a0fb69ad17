"""Lights: brightness of plates, neurons and wires during an operation, and the light on them.

Brightness shows what is active; hue stays reserved for the sign of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Moment, Operation, Program
from scalarviz.pictures.view.cubes.shaders import DIM as DIM
from scalarviz.pictures.view.focus import Focus
from scalarviz.pictures.view.scene.plates import Layout, Plate, Wires

DIM_SMALL, SMALL = 0.7, 2000  # for more than SMALL cubes: small cubes would look too dark
FLASH = 0.45  # light on cubes that are touched
MOVED = 0.5  # part of a step from which on the new numbers are there
PULSE = 0.4  # length of the light that runs along a wire, as a share of it
Span = tuple[float, float]  # start and end of the lit part of a wire


@dataclass(frozen=True)
class Glow:
    """The light on a bundle of wires: where it runs, and whether it is that of the way back."""

    span: Span
    back: bool = False


@dataclass
class Lights:
    """Brightness of plates and rows of neurons, and the light on them.

    plates   brightness in focus, and `outside`; `white`, light on all cubes
    neurons  brightness of each line, in the order of the layout
    wires    the light on each bundle that takes part, else None
    back     whether the light is that of the way back
    """

    plates: FloatArray
    white: FloatArray
    neurons: FloatArray
    wires: list[Glow | None]
    back: bool = False
    outside: FloatArray = field(default_factory=lambda: np.ones(0))
    focus: Focus | None = None
    level: float = 1.0

    def is_dim(self, row: int, plate: int) -> bool:
        """Return whether the cube of a bank index is dimmed."""
        if self.focus is None or row in self.focus.rows:
            return bool(self.plates[plate] < 1.0)
        return True

    def neurons_of(self, number: int, count: int) -> FloatArray:
        """Return the brightness of each neuron of a line, (count, 1); the 1 is the last."""
        bright = np.full((count, 1), self.neurons[number])
        if self.focus is not None:
            lit = self.focus.neurons[number][:count]
            bright[:, 0] = np.where(lit, 1.0, np.minimum(bright[:, 0], self.level))
        return bright


def lights(
    layout: Layout,
    program: Program | None,
    moment: Moment | None,
    part: float,
    focus: Focus | None = None,
    attention: float = 1.0,
    wave: float | None = None,
    *,
    walks: bool = False,
) -> Lights:
    """Return the lights when `part` of an operation, 0 to 1, is done.

    focus      what stays bright; None: all that takes part
    attention  how far all else has fallen back, 0 to 1
    wave       without an operation, how much of a whole step is done; None: nothing is lit
    walks      whether one goes by neurons: only wires of the caption have light, and no plate
    """
    if moment is None and wave is not None and program is not None:
        shown = of_wave(layout, program, wave)
    else:
        shown = of_moment(layout, program, moment, part)
    if walks:
        shown.wires = [None] * len(shown.wires)
        shown.white[:] = 0.0
    shown.outside = shown.plates
    if focus is not None:
        shown.focus, shown.level = focus, 1.0 - attention * (1.0 - DIM)
        shown.outside = np.minimum(shown.plates, shown.level)
        shown.plates = np.ones(len(layout.plates))
    return shown


def of_moment(
    layout: Layout, program: Program | None, moment: Moment | None, part: float
) -> Lights:
    """Return the lights of an operation without a focus."""
    count = len(layout.plates)
    shown = Lights(
        np.ones(count),
        np.zeros(count),
        np.ones(len(layout.neurons)),
        [None] * len(layout.wires),
    )
    if moment is None or program is None or moment.kind not in KINDS:
        return shown
    many = sum(plate.size for plate in layout.plates) > SMALL
    shown.plates[:] = DIM_SMALL if many else DIM
    shown.neurons[:] = DIM
    shown.back = moment.kind in BACK
    KINDS[moment.kind](layout, program, moment, part, shown)
    return shown


def of_wave(layout: Layout, program: Program, part: float) -> Lights:
    """Return the lights of a whole step of which `part` is done: they run forward, then back."""
    shown = of_moment(layout, program, None, 1.0)
    wired = {each.operation for each in layout.wires}
    back = {each.operation for each in program.moments if each.kind in WAYS_BACK}
    ways = [
        each
        for each in program.moments
        if each.operation in wired
        and (
            each.kind in ("forward", *WAYS_BACK)
            or (each.kind == "weight gradient" and each.operation not in back)
        )
    ]
    at = part * len(ways)
    for moment in ways[int(at) : int(at) + 1]:
        lit = Lights(shown.plates.copy(), shown.white.copy(), shown.neurons.copy(), shown.wires)
        KINDS[moment.kind](layout, program, moment, at - int(at), lit)
    return shown


def forward(layout: Layout, program: Program, moment: Moment, part: float, shown: Lights) -> None:
    """Light along the wires to the cubes, which it touches, and on to the sums."""
    operation = program.operations[moment.operation]
    light_neurons(layout, shown, operation.target.name)
    if operation.kind != "activation":
        for source in operation.sources:
            light_neurons(layout, shown, source.name)
    touch_cubes(layout, program, moment, part, shown)
    for j, bundle in own_wires(layout, moment):
        shown.wires[j] = Glow(pulse(part, 0.0, 0.45) if bundle.outgoing else pulse(part, 0.5, 0.95))


def touch_cubes(
    layout: Layout, program: Program, moment: Moment, part: float, shown: Lights
) -> None:
    """Light cubes as they are touched."""
    for i, plate in own_plates(layout, program, moment):
        if shown.back and plate.role not in ("weight", "gain", "value"):
            continue
        shown.plates[i] = 1.0
        shown.white[i] = FLASH * max(0.0, 1.0 - abs(part - 0.5) / 0.25)


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
    """What came in meets what comes back at each cube."""
    operation = program.operations[moment.operation]
    light_neurons(layout, shown, operation.target.name)
    light_neurons(layout, shown, operation.source.name)
    for i, _ in own_plates(layout, program, moment):
        shown.plates[i] = 1.0
        shown.white[i] = FLASH * max(0.0, 1.0 - abs(part - 0.5) / 0.25)
    for j, bundle in own_wires(layout, moment):
        if bundle.outgoing:
            shown.wires[j] = Glow(pulse(part, 0.0, 0.45))
        else:
            shown.wires[j] = Glow(pulse(part, 0.0, 0.45, reverse=True), back=True)


def input_gradient(
    layout: Layout, program: Program, moment: Moment, part: float, shown: Lights
) -> None:
    """Light back along the wires, through the cubes, to what came in."""
    operation = program.operations[moment.operation]
    for name in gradient_path(program, operation):
        light_neurons(layout, shown, name)
    touch_cubes(layout, program, moment, part, shown)
    for j, bundle in own_wires(layout, moment):
        first, last = (0.5, 0.95) if bundle.outgoing else (0.0, 0.45)
        shown.wires[j] = Glow(pulse(part, first, last, reverse=True), back=True)


def gradient_path(program: Program, operation: Operation) -> list[str]:
    """Return the buffers whose gradients meet in the sources of an operation, and the sources."""
    readers = [operation]
    if not program.is_graph:
        readers = [each for source in operation.sources for each in program.readers(source)]
    return [each.name for each in (*operation.sources, *(reader.target for reader in readers))]


def step(layout: Layout, program: Program, moment: Moment, part: float, shown: Lights) -> None:
    """All cubes move; neurons rest."""
    shown.plates[:] = 1.0


KINDS: dict[str, Callable[[Layout, Program, Moment, float, Lights], None]] = {
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
    "operand gradient": input_gradient,
    "step": step,
}
WAYS_BACK = frozenset(kind for kind, lit in KINDS.items() if lit is input_gradient)
BACK = frozenset(KINDS) - {"forward", "loss", "step"}  # light of the way back


def pulse(part: float, first: float, last: float, *, reverse: bool = False) -> Span:
    """Return where light is that runs along a wire between two parts of the operation."""
    head = (1.0 + PULSE) * min(1.0, max(0.0, (part - first) / (last - first)))
    span = (1.0, 1.0) if part >= last else (max(0.0, head - PULSE), min(1.0, head))
    return (1.0 - span[1], 1.0 - span[0]) if reverse else span


def own_plates(layout: Layout, program: Program, moment: Moment) -> list[tuple[int, Plate]]:
    plates = enumerate(layout.plates)
    if program.is_graph:  # a cube may be read by several operations
        rows = program.rows_read(moment.operation)
        return [(i, plate) for i, plate in plates if plate.first in rows]
    return [(i, plate) for i, plate in plates if plate.operation == moment.operation != NONE]


def own_wires(layout: Layout, moment: Moment) -> list[tuple[int, Wires]]:
    return [(j, each) for j, each in enumerate(layout.wires) if each.operation == moment.operation]


def light_neurons(layout: Layout, shown: Lights, buffer: str) -> None:
    for i, line in enumerate(layout.neurons):
        if buffer in line.buffers:
            shown.neurons[i] = 1.0
