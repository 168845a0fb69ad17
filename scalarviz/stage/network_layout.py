"""The layout of a session's network, with the labels of its layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.formula import pick
from scalarviz.core.layers import Dense, Elementwise
from scalarviz.core.program import NONE, Program, Shape
from scalarviz.core.trace_program import TraceProgram, chain_of, formula_of
from scalarviz.data import DataSet
from scalarviz.data.data_set import TableSet
from scalarviz.scene.layout.crossbar_layout import crossbar_layout
from scalarviz.scene.layout.division import Box, Division
from scalarviz.scene.layout.formula_layout import of_formula, of_walls
from scalarviz.scene.layout.graph_layout import of_graph
from scalarviz.scene.layout.model_picture import layout_of_model
from scalarviz.scene.layout.plates import Layout, Neurons
from scalarviz.scene.layout.sequence_layout import sequence_layout, sequence_of
from scalarviz.scene.layout.squares import squares_layout
from scalarviz.scene.layout.trays import About, Layered, Names, trays_layout
from scalarviz.scene.layout.walls import walls
from scalarviz.training.follow.modules import ModuleArray
from scalarviz.training.network.model import Model
from scalarviz.training.session.reading import (
    TrainingState,
    is_output,
    names_of,
    output_names,
)
from scalarviz.training.session.session import Session

EXPLAINED = "frame", "closed", "badge", "around"  # looks of marks
HIGH, STEP = 570.0, 24.0  # pixels of the stage in a picture of 1280 x 800; steps of its size
UNKNOWN = 0.05  # radius of neurons without known values
LONG_ROW, LONGEST_ROW = 20, 128  # weights in a tray of cubes, and in one of tiles
KEPT_LAYOUTS = 4  # layouts of a program
KNOWN: WeakKeyDictionary[Layered, dict[object, Layout]] = WeakKeyDictionary()
# Functions from values to neuron colors, one row each.
TINTS: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "rgb": np.diag,
    "grey": lambda values: np.repeat(values[:, np.newaxis], 3, axis=1),
}


def shape_of(box: Box) -> float:
    """Return the aspect ratio of a box, rounded to steps of about 10 %."""
    shape = max(box.width, 1.0) / max(box.height, 1.0)
    return float(np.exp(0.1 * round(np.log(min(max(shape, 0.3), 6.0)) / 0.1)))


def room_of(division: Division) -> tuple[float, float]:
    """Return the size of the stage relative to its text, rounded down to steps of STEP pixels."""
    box, scale = division.inner, division.scale
    return STEP * max(1, box.width // (STEP * scale)), STEP * max(1, box.height // (STEP * scale))


def kept_layout(
    program: Layered,
    about: About,
    names: Names,
    aspect: float,
    *,
    tied: bool = False,
    squares: Sequence[str],
) -> Layout:
    """Return `trays_layout` of the same arguments; a program keeps the last ones."""
    known = KNOWN.setdefault(program, {})
    words = [about(operation.label) for operation in program.operations]
    seen = [(each, tuple(found)) for each, found in names.items()]
    key = len(words), *words, *seen, aspect, tied, tuple(squares)
    found = known.pop(key, None) or trays_layout(
        program, about, names, aspect, tied=tied, squares=squares
    )
    known[key] = found
    for old in list(known)[:-KEPT_LAYOUTS]:
        known.pop(old)
    return found


def layout_of(
    session: Session | TrainingState,
    shape: float = 1.75,
    *,
    walks: bool = False,
    every: bool = False,
    room: tuple[float, float] | None = None,
    opened: Mapping[str, int] | None = None,
    maps: bool = True,
    followed: Mapping[int, int] | None = None,
) -> Layout:
    """Return the layout of a session's network, given the session or its state.

    Args:
        shape: aspect ratio of the stage
        room: size of the stage relative to text of 12 pixels, for a followed model; None (default)
            for the height of a picture of 1280 x 800
        opened: frames of a followed model that the user opened or closed, see `ModelLayout`
        walks: whether operations are shown one by one; then a compiled function is shown as a
            graph instead of a formula or walls
        every: whether to choose walls, with a cube for every weight, if there is another layout
        maps: whether a followed model has room for the maps of its probe
        followed: by layer, the neurons whose products a crossbar writes; default: the first neuron
            of the first layer and the last one of the last
    """
    now = TrainingState.of(session)
    network, program, own = now.network, now.network.program, names_of(now)
    if not network.layers:
        inputs = own.get(program.inputs.name, ())
        square = sees_places(now)
        return values_of(
            network, shape, walks=walks, inputs=inputs, square=square, room=room, followed=followed
        )
    about = partial(about_layer, now)
    tied = now.data.input_tint == now.data.output_tint == "rgb"
    hidden = [each.name for each in program.buffers if not is_output(program, each)]
    squares = hidden if sees_places(now) else []
    if now.run.structure is not None and now.run.structure["nodes"]:
        structure = now.run.structure if maps else {**now.run.structure, "probed": {}}
        known = structure, program, now.run.named_arrays
        return layout_of_model(*known, room or (shape * HIGH, HIGH), opened or {})
    plan = sequence_of(program, signs_of(now.data), first_counted(now.data))
    if plan is not None:
        return sequence_layout(program, plan, shape)
    if reads_signs(program):  # of several blocks: only its cubes
        nobody = Neurons(np.zeros((0, 3)), "", "")
        made = walls(program, about, {}, shape)
        return replace(made, neurons=[nobody], wires=(), fans=())
    if isinstance(network.layers[0], ModuleArray):  # too many modules for that
        return without_balls(walls(program, about, {}, shape))
    if every or shows_every_weight(now):
        return walls(program, about, own, shape, squares)
    if squares and has_walls(now):
        return squares_layout(program, own, shape, squares)
    size = room or (shape * HIGH, HIGH)
    found = crossbar_layout(
        program, about, own, size, tied=tied, squares=squares, followed=followed or {}
    )
    if found is not None:
        return found if now.computes else without_balls(found)
    made = kept_layout(program, about, own, shape, tied=tied, squares=squares)
    return made if now.computes else without_balls(made)


def reads_signs(program: Layered) -> bool:
    """Return whether the inputs are indices of signs, so that outputs are no plain answers."""
    return any(each.kind == "embedding" for each in program.operations)


def signs_of(data: DataSet) -> list[str]:
    """Return how the signs of a sequence are written; [] if unknown.

    If the data do not say so, the outputs of a sign have its name at each place.
    """
    if data.signs:
        return [*data.signs]
    names, places = [*output_names(data)], data.inputs
    signs = names[::places]
    return signs if names == np.repeat(signs, places).tolist() else []


def first_counted(data: DataSet) -> int:
    """Return the first place of a sequence whose error counts in the first sample."""
    if not isinstance(data, TableSet):
        return 0
    inputs, targets = (np.asarray(each[0]) for each in data.training)
    by_place = targets.reshape(-1, 1 if targets.size % inputs.size else inputs.size)
    return int((by_place > 0.0).any(axis=0).argmax())


def without_balls(layout: Layout) -> Layout:
    """Return the layout with all neurons as dots, because their values are unknown."""
    return replace(layout, neurons=[replace(each, radius=UNKNOWN) for each in layout.neurons])


def marks_meaning(layout: Layout) -> str:
    """Return the meaning of the marks of a followed model in one line; "" without marks."""
    looks = {each.look for each in layout.marks}
    found = [text("structure.key.rows")] if looks else []
    found += [text(f"structure.key.{look}") for look in EXPLAINED if look in looks]
    return "; ".join(found)


def sees_places(session: Session | TrainingState) -> bool:
    """Return whether hidden neurons are drawn as squares that show their outputs for all positions.

    The positions are the plane of the data, or the line along one of a few inputs; data sets of
    colors and pictures have no positions.
    """
    now = TrainingState.of(session)
    inputs = now.network.program.inputs
    has_places = not now.recorded and not now.data.input_tint
    return has_places and inputs.size <= LONG_ROW and not inputs.shape


def has_walls(session: Session | TrainingState) -> bool:
    """Return whether a network with long rows has walls (a cube per weight) as a second layout."""
    network = session.network
    is_long = bool(network.layers) and longest_row(network.program) > LONG_ROW
    is_long = is_long and sequence_of(network.program) is None  # it has all its cubes
    return is_long and not shows_every_weight(session)


def shows_every_weight(session: Session | TrainingState) -> bool:
    """Return whether walls (a cube per weight) are the only layout: long rows, no positions."""
    program = session.network.program
    has_place = program.inputs.size == 2 or bool(program.inputs.shape)
    return longest_row(program) > LONGEST_ROW and not has_place


def longest_row(program: Program) -> int:
    """Return the maximum number of weights of a neuron."""
    shapes = [each.shape for each in program.operations if each.weights != NONE]
    return max((prod(each[1:]) for each in shapes), default=0)


def values_of(
    network: Model,
    shape: float,
    *,
    walks: bool = False,
    inputs: Sequence[str] = (),
    square: bool = False,
    room: tuple[float, float] | None = None,
    followed: Mapping[int, int] | None = None,
) -> Layout:
    """Return the layout of a compiled function: walls or trays, its formula, or its graph.

    Args:
        inputs: names of the inputs, or empty
        square: whether hidden neurons are squares
        room, followed: as for `layout_of`
    """
    rows, program = row_numbers(network), network.program
    names = [network.name_of(row) for row in rows]
    assert isinstance(program, TraceProgram)
    if network.walls and not walks:
        chain = chain_of(program, network.all_walls)
        if chain is None:
            return of_walls(network.all_walls, shape)
        squares = [*chain.places][:-1] if square else []
        names_in, about = {program.inputs.name: inputs}, lambda label: (label, "")
        size = room or (shape * HIGH, HIGH)
        found = crossbar_layout(
            chain, about, names_in, size, squares=squares, followed=followed or {}
        )
        if found is not None:
            return found
        return kept_layout(chain, about, names_in, shape, squares=squares)
    has_inputs = np.isin(program.trace.operands, range(program.trace.inputs)).any()
    if has_inputs and not network.walls:
        nodes = {at: (name, program.node_at.get(at, NONE)) for name, at in program.place_of.items()}
        written = of_formula(formula_of(program.trace), rows, names, shape, nodes)
        if written is not None and (written.wires or not walks):
            return replace(written, steps=steps_of(program, rows))
    return of_graph(program, dict(zip(rows, names, strict=True)), shape, inputs)


def steps_of(program: TraceProgram, rows: Sequence[int]) -> list[tuple[str, str, Sequence[str]]]:
    """Return how each result of a formula is computed, see `Layout`."""
    trace, names = program.trace, {place: name for name, place in program.place_of.items()}
    constants = [f"={each}" for each in trace.constants.tolist()]
    known = [*map(trace.name, range(trace.inputs)), *constants, *[f"#{row}" for row in rows]]
    known += [names.get(trace.first_made + i, "") for i in range(len(trace.formulas))]
    made = zip(known[trace.first_made :], trace.formulas, trace.taken, strict=True)
    return [(name, row.name, [known[i] for i in taken]) for name, row, taken in made]


def about_layer(session: Session | TrainingState, label: str) -> tuple[str, str]:
    """Return two lines for a layer: its name, and its neurons or shapes with the activation.

    The label of a nested layer joins the label of the outer layer and an index, such as 2.0.
    """
    first, *parts = map(int, label.split("."))
    layer = session.network.layers[first]
    for part in parts:
        layer = getattr(layer, "layers", (layer,) * (part + 1))[part]
    name, activation = text("plates.layer", label=label), getattr(layer, "activation", "")
    if isinstance(layer, Dense):
        return name, plural("plates.neurons", layer.outputs, activation=activation)
    kind = [layer.formula.name if type(layer) is Elementwise else type(layer).__name__]
    if activation not in ("", "linear"):
        kind.append(activation)
    sizes = size_of(layer.input_shape, layer.inputs), size_of(layer.output_shape, layer.outputs)
    if layer.output_shape and sizes[0] == sizes[1]:  # there is little space next to images
        return name, " ".join(kind)
    return name, f"{' → '.join(sizes)}  {' '.join(kind)}"


def size_of(shape: Shape, count: int) -> str:
    """Return a count as text or, for an image, its shape such as 8×4×4."""
    return "×".join(map(str, shape)) if shape else str(count)


def tints_of(
    session: Session | TrainingState, values: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return the true colors of neurons that represent colors or pixels."""
    program: Program = session.network.program
    data, found = session.data, {}
    for buffer, tint in ((program.inputs, data.input_tint), (program.outputs, data.output_tint)):
        if tint and buffer.name in values:
            colors = pick(TINTS, tint, "tint")(values[buffer.name])
            if colors.shape == (buffer.size, 3):
                found[buffer.name] = np.fmin(np.fmax(colors, 0.0), 1.0)  # NaN becomes 0
    return found
