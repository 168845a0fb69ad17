"""Layout: where plates, neurons and wires stand, for networks of any shape."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.core.model.operations import NONE
from scalarviz.core.model.program import Program
from scalarviz.pictures.view.cubes.shaders import HALF
from scalarviz.pictures.view.scene.layout import GAP, LAYOUTS
from scalarviz.pictures.view.scene.layout_builder import RIM as RADIUS
from scalarviz.pictures.view.scene.layout_builder import WIRED
from scalarviz.pictures.view.scene.parameter_layout import of_values
from scalarviz.pictures.view.scene.plates import Layout, Plate, Wires
from tests.strategies import deep_networks, networks

FLAT = "crossbar", "posters"  # seen from the front; see test_beads_layout.py for the third


def laid_out(program: Program, name: str) -> Layout:
    return LAYOUTS[name](program, lambda layer: (f"layer {layer}", "about it"))


def dense(*sizes: int, name: str = "crossbar", **options: object) -> tuple[Program, Layout]:
    program = sv.Network(list(sizes), "tanh", seed=0, **options).program
    return program, laid_out(program, name)


def boxes(layout: Layout) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """What takes room: its name, its lower left and its upper right corner."""
    found = []
    for i, each in enumerate(layout.plates):
        flat = each.corners(0.0)[:, :2]
        found.append((f"plate {i}", flat.min(axis=0), flat.max(axis=0)))
    for i, line in enumerate(layout.neurons):
        flat = line.points[:, :2]
        found.append((f"neurons {i}", flat.min(axis=0) - RADIUS, flat.max(axis=0) + RADIUS))
    return found


def wires_of(layout: Layout, operation: int, *, outgoing: bool) -> list[Wires]:
    return [w for w in layout.wires if w.operation == operation and w.outgoing == outgoing]


def meets(wire: tuple[np.ndarray, np.ndarray], point: np.ndarray) -> bool:
    """Whether a wire goes through a cube that stands there, a little behind its middle."""
    start, end = wire
    along = end - start
    part = (point - start) @ along / (along @ along)
    away = point - (start + part * along)
    return bool(0.0 <= part <= 1.0 and np.abs(away[:2]).max() < 1e-9 and abs(away[2]) < HALF)


def plates_of(layout: Layout, operation: int, *roles: str) -> list[Plate]:
    return [p for p in layout.plates if p.operation == operation and p.role in roles]


@pytest.mark.parametrize("name", FLAT)
@given(program=deep_networks())
def test_nothing_overlaps_and_each_parameter_stands_once(name: str, program: Program) -> None:
    layout = laid_out(program, name)
    for (first, low, high), (second, start, end) in combinations(boxes(layout), 2):
        apart = (high <= start + 1e-6).any() or (end <= low + 1e-6).any()
        assert apart, f"{first} and {second} overlap"
    rows = [p.index_of(r, c) for p in layout.plates for r, c in np.ndindex(p.rows, p.columns)]
    count = max((op.parameters.stop for op in program.operations if op.parameters), default=0)
    assert sorted(rows) == list(range(count))
    for row in range(0, count, 7):
        each, i, j = layout.plate_of(row)
        assert each.index_of(i, j) == row and row in program.operations[each.operation].parameters
    assert layout.plate_of(count) is None and layout.plate_of(-1) is None


@pytest.mark.parametrize("name", FLAT)
@given(made=networks())
def test_every_buffer_with_numbers_is_shown_by_one_line_of_neurons(name: str, made: object) -> None:
    """And once more where a second branch begins, with a line to there."""
    program = made[0].program
    layout, shown = laid_out(program, name), []
    for line in layout.neurons:
        again = line.way is not None and line.buffers[0] in shown
        shown += line.buffers[again:]
    assert sorted(shown) == sorted(buffer.name for buffer in program.buffers)
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    for line in layout.neurons:
        assert len(line.points) == sizes[line.values] == sizes[line.sums or line.values]
    assert layout.neurons[0].layer == NONE


@given(program=deep_networks())
def test_a_weight_sits_where_the_wires_of_its_input_and_its_output_cross(program: Program) -> None:
    layout = laid_out(program, "crossbar")
    for place, operation in enumerate(program.operations):
        if operation.kind != "affine":
            continue
        (weights,) = plates_of(layout, place, "weight")
        biases = plates_of(layout, place, "bias")
        assert (weights.rows, weights.columns) == (operation.target.size, operation.source.size)
        assert len(biases) == (operation.biases != NONE)
        (entering,), (leaving,) = (wires_of(layout, place, outgoing=out) for out in (True, False))
        before, after = layout.neurons[entering.neurons], layout.neurons[leaving.neurons]
        assert operation.source.name in (before.values, before.sums)
        assert operation.target.name in (after.values, after.sums)
        np.testing.assert_allclose(entering.start[:, :2], before.points[:, :2])
        np.testing.assert_allclose(leaving.end[:, :2], after.points[:, :2])
        rng = np.random.default_rng(0)
        for _ in range(6):
            row, column = int(rng.integers(weights.rows)), int(rng.integers(weights.columns))
            cube = weights.point(column + 0.5, row + 0.5)
            assert meets((entering.start[column], entering.end[column]), cube)
            assert meets((leaving.start[row], leaving.end[row]), cube)
            for each in biases:
                assert meets((leaving.start[row], leaving.end[row]), each.point(0.5, row + 0.5))


def test_plates_are_turned_in_turn_and_face_the_eye() -> None:
    program, layout = dense(3, 8, 3, 5, 4, 2)
    weights = [p for p in layout.plates if p.role == "weight"]
    turns = [(p.along.tolist(), p.across.tolist()) for p in weights]
    right, down, up = [1, 0, 0], [0, -1, 0], [0, 1, 0]
    assert turns == [(right, down), (down, right), (right, down), (down, right), (right, up)]
    assert all(p.toward.tolist() == [0, 0, 1] for p in layout.plates)
    posters = laid_out(program, "posters")
    assert all(p.along.tolist() == right and p.across.tolist() == down for p in posters.plates)
    left = [p.origin[0] for p in posters.plates]
    assert left == sorted(left)
    middles = [p.point(0, p.rows / 2)[1] for p in posters.plates]
    np.testing.assert_allclose(middles, 0.0, atol=1e-9)


@given(program=deep_networks())
def test_on_posters_a_neuron_stands_beside_its_row(program: Program) -> None:
    layout = laid_out(program, "posters")
    for place, operation in enumerate(program.operations):
        for each in plates_of(layout, place, "weight", "bias"):
            lines = [n for n in layout.neurons if operation.target.name in (n.sums, n.values)]
            (line,) = lines
            rows = each.point(0.5, np.arange(each.rows) + 0.5)
            np.testing.assert_allclose(rows[:, 1], line.points[:, 1], atol=1e-9)
            assert (line.points[:, 0] > each.corners()[:, 0].max()).all()


def test_the_storyboard_s_network_stands_as_it_says() -> None:
    _, layout = dense(3, 8, 3, output="sigmoid")
    inputs, hidden, outputs = (line.points for line in layout.neurons)
    first, _, second, _ = layout.plates
    # Inputs enter layer 1 from above, outputs leave it to the right; layer 2 is turned.
    assert (inputs[:, 1] > first.corners()[:, 1].max()).all() and np.ptp(inputs[:, 1]) == 0.0
    assert (hidden[:, 0] > first.corners()[:, 0].max()).all() and np.ptp(hidden[:, 0]) == 0.0
    assert (hidden[:, 0] < second.corners()[:, 0].min()).all()
    assert (outputs[:, 1] < second.corners()[:, 1].min()).all() and np.ptp(outputs[:, 1]) == 0.0
    assert [line.sums for line in layout.neurons] == ["", "affine 0", "affine 1"]
    assert [line.values for line in layout.neurons] == ["inputs", "tanh 0", "sigmoid 1"]


@pytest.mark.parametrize("name", FLAT)
@given(program=deep_networks())
def test_gains_and_shifts_stand_between_the_neurons_that_they_belong_to(
    name: str, program: Program
) -> None:
    layout = laid_out(program, name)
    for place, operation in enumerate(program.operations):
        own = plates_of(layout, place, "gain", "shift")
        assert len(own) == (operation.kind == "scale") * (1 + (operation.biases != NONE))
        if own:
            (wires,) = wires_of(layout, place, outgoing=True)
            for each in own:
                for row in range(operation.source.size):
                    assert meets((wires.start[row], wires.end[row]), each.point(0.5, row + 0.5))


@pytest.mark.parametrize("name", FLAT)
def test_a_layer_has_its_name_beside_its_plate_and_not_on_any(name: str) -> None:
    for sizes in ((3, 8, 3), (2, 1, 1, 40, 3, 3), (1, 1), (9, 2, 9, 2, 9, 2, 9)):
        _, layout = dense(*sizes, name=name)
        assert [label.name for label in layout.labels] == [
            f"layer {i}" for i in range(len(sizes) - 1)
        ]
        for label in layout.labels:
            for _, low, high in boxes(layout):
                for end in (label.start, label.end):
                    assert (end[:2] < low).any() or (end[:2] > high).any()


def test_long_lines_have_no_wires_and_larger_gaps() -> None:
    _, layout = dense(WIRED + 1, 4, 300)
    assert [len(wires.start) for wires in layout.wires] == [4, 4]
    gap = layout.neurons[0].points[0, 1] - layout.plates[0].origin[1]
    assert gap == pytest.approx(9.0) and dense(3, 3)[1].plates[0].origin[1] == -GAP


def test_names_stand_on_the_neurons_of_their_buffer() -> None:
    program = sv.Network([3, 4, 3], "tanh", output="sigmoid", seed=0).program
    names = {program.inputs.name: "RGB", program.outputs.name: "xyz"}
    for name in LAYOUTS:
        layout = LAYOUTS[name](program, lambda layer: ("", ""), names)
        assert [line.names for line in layout.neurons] == ["RGB", (), "xyz"]


@pytest.mark.parametrize(
    "rows", [[0], [3, 9], list(range(12)), list(range(13)), list(range(5, 64))]
)
def test_single_values_stand_side_by_side(rows: list[int]) -> None:
    names = [f"value {row}" for row in rows]
    layout = of_values(rows, names)
    shown = [p.index_of(r, c) for p in layout.plates for r, c in np.ndindex(p.rows, p.columns)]
    assert sorted(shown) == rows
    for (_, low, high), (_, start, end) in combinations(boxes(layout), 2):
        assert (high <= start + 1e-6).any() or (end <= low + 1e-6).any()
    if len(rows) <= 12:
        assert [label.name for label in layout.labels] == names


def test_all_points_of_a_layout_are_in_its_points() -> None:
    _, layout = dense(3, 8, 3)
    points = layout.points()
    for _, low, high in boxes(layout):
        assert (points[:, :2].min(axis=0) <= low + 0.2).all()
        assert (points[:, :2].max(axis=0) >= high - 0.2).all()
