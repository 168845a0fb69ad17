"""The layout beads.

Every weight is a cube on the wire between its two neurons; branches and small plates.
"""

from dataclasses import replace
from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.scene.layout import beads as beads_module
from scalarviz.scene.layout.beads import (
    FOLDED,
    HIGH,
    ROWS,
    WIDER,
    BeadsForm,
    beads,
    is_close,
    laid_out,
    size_of,
)
from scalarviz.scene.layout.beads_lines import stations_of
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    LEAST_ON_WALL,
    NEAR,
    RIGHT,
    UP,
    Fan,
    Layout,
    Neurons,
    Plate,
    Tiles,
)
from scalarviz.scene.visuals.mip_levels import fill, levels_of, room_of, strength_of
from scalarviz.scene.visuals.picking import pick
from tests.scene.test_neuron_images import laid_out as laid_out_maps
from tests.sessions import deep_networks, networks, picture_networks
from tests.studio import Studio, at, framed, shade

PROGRAMS = st.one_of(
    deep_networks(), picture_networks(), networks(learning=True).map(lambda made: made[0].program)
)
CORRIDOR = sv.Network([12, 64, 64, 64, 64, 3], "tanh", seed=0).program
WRAPPED = sv.Network([200, 400, 2], "tanh", seed=0).program
FOLDS = sv.Network([2] * 17, "tanh", seed=0).program
DIGITS = sv.Network(
    [
        sv.Conv2d((1, 12, 12), 6, activation="relu"),
        sv.MaxPool2d((6, 10, 10)),
        sv.Conv2d((6, 5, 5), 8, activation="relu"),
        sv.BatchNorm((8, 3, 3)),
        sv.Dense(72, 10),
    ],
    seed=0,
).program
MAPS = sv.Network(
    [
        sv.Conv2d((1, 6, 6), 9, activation="relu"),
        sv.MaxPool2d((9, 4, 4)),
        sv.Conv2d((9, 2, 2), 12, 3, padding=1, activation="relu"),
        sv.BatchNorm((12, 2, 2)),
        sv.LayerNorm(48),
        sv.Dense(48, 3),
    ],
    seed=0,
).program
RESIDUAL = sv.Network(
    [sv.Dense(3, 9), sv.Residual(sv.Dense(9, 5), sv.Dense(5, 9)), sv.LayerNorm(9)], seed=0
).program
NORM = sv.Network([sv.LayerNorm(30)], seed=0).program
# Neurons that become the pixels of images, and images that are read as others.
RESHAPED = sv.Network(
    [
        *(sv.Dense(3, 4), sv.Reshape(4, (1, 1, 4)), sv.Conv2d((1, 1, 4), 2, (1, 2))),
        *(sv.Flatten((2, 1, 3)), sv.Conv2d((1, 1, 6), 3, (1, 2)), sv.Flatten((3, 1, 5))),
        sv.Dense(15, 2),
    ],
    seed=0,
).program


def about(label: str) -> tuple[str, str]:
    return f"layer {label}", "about it"


def of(program: Program, shape: float = 1.75) -> Layout:
    """The layout for a stage of this shape."""
    return beads(program, about, {}, shape)


def laid(program: Program, form: BeadsForm) -> Layout:
    return laid_out(program, about, {}, form)


@st.composite
def forms(draw: st.DrawFn) -> BeadsForm:
    """All that `beads` chooses from, where a program allows it; see `in_form`."""
    return BeadsForm(
        draw(st.sampled_from([np.inf, 100.0, 30.0, 13.0])),
        draw(st.sampled_from([36.0, 40.0, 44.0, 58.0])),
        draw(st.sampled_from([1.0, *WIDER])),
        draw(st.booleans()),
        draw(st.sampled_from([1, *ROWS])),
        draw(st.booleans()),
        draw(st.sampled_from([1, 2, 3])),
        draw(st.sampled_from([1, 2, 4])),
        draw(st.sampled_from([0.0, *HIGH])),
    )


def in_form(program: Program, form: BeadsForm) -> Layout:
    """A network with skip connections stays in one row, and large ones are not laid out closely."""
    skips = any(len(operation.sources) > 1 for operation in program.operations)
    form = replace(form, rows=1) if skips else form
    return laid(program, form if is_close(stations_of(program, {})) else replace(form, high=0.0))


def every_form(test: object) -> object:
    """Run a test on random programs in random forms, and on some of each kind."""
    count = settings.default.max_examples * 2 // 5
    found = settings(max_examples=count)(given(program=PROGRAMS, form=forms())(test))
    for program, form in (
        (WRAPPED, BeadsForm(longest=60.0)),
        (FOLDS, BeadsForm(rows=3)),
        (CORRIDOR, BeadsForm(longest=30.0, upright=True)),
        (DIGITS, BeadsForm()),
        (DIGITS, BeadsForm(hanging=True, lanes=2, fold=2)),
        (MAPS, BeadsForm(hanging=True, lanes=2, fold=4)),
        (RESIDUAL, BeadsForm(angle=36.0)),
        (RESIDUAL, BeadsForm(high=1.0)),
        (RESHAPED, BeadsForm()),
        (NORM, BeadsForm()),
    ):
        found = example(program, form)(found)
    return found


def dense(*sizes: int, shape: float = 1.75) -> tuple[Program, Layout]:
    program = sv.Network(list(sizes), "tanh", seed=0).program
    return program, of(program, shape)


def middles(plate: Plate) -> dict[int, np.ndarray]:
    """The middle of each cube, by its row of the bank."""
    row, column, index = plate.cells()
    return dict(zip(index.tolist(), plate.point(column + 0.5, row + 0.5), strict=True))


def cubes_of(layout: Layout) -> dict[int, np.ndarray]:
    return {index: at for plate in layout.plates for index, at in middles(plate).items()}


def walls(program: Program) -> list[tuple[int, Operation]]:
    """The operations that have a wall, by their place."""
    return [(i, op) for i, op in enumerate(program.operations) if len(op.shape) > 1]


def fans(program: Program, layout: Layout) -> list[tuple[Fan, Operation, int]]:
    """Each fan of a layout with its operation, and the number of its group."""
    groups = [
        (op, group)
        for _, op in walls(program)
        for group in range(int(op.settings[-1]) if op.kind == "convolution" else 1)
    ]
    return [(fan, *of) for fan, of in zip(layout.fans, groups, strict=True)]


def lines_of(layout: Layout, buffer: str) -> list[Neurons]:
    return [line for line in layout.neurons if buffer in line.buffers]


# Nothing is left out, nothing is in the way of something else.


@every_form
def test_every_parameter_has_exactly_one_cube(program: Program, form: BeadsForm) -> None:
    layout = in_form(program, form)
    rows = [row for plate in layout.plates for row in plate.cells()[2].tolist()]
    count = max((op.parameters.stop for op in program.operations if op.parameters), default=0)
    assert sorted(rows) == list(range(count))
    for row in range(0, count, max(1, count // 50)):
        plate, i, j = layout.plate_of(row)
        assert plate.index_of(i, j) == row
        assert row in program.operations[plate.operation].parameters
    assert layout.plate_of(count) is None and layout.plate_of(-1) is None


def box_of(plate: Plate) -> tuple[np.ndarray, np.ndarray]:
    """The box around the largest cubes of a plate."""
    half = plate.half
    row, column, _ = plate.cells()
    ends = [plate.corners_of(i, j, half) for i in (0, row.max()) for j in (0, column.max())]
    corners = np.concatenate(ends)
    return corners.min(axis=0), corners.max(axis=0)


def solids(layout: Layout) -> list[tuple[str, np.ndarray, np.ndarray, float]]:
    """Boxes, with a radius if they are spheres: the name, the least and the most corner."""
    found = []
    for i, plate in enumerate(layout.plates):
        found.append((f"plate {i}", *box_of(plate), 0.0))
    for i, line in enumerate(layout.neurons):
        if line.shape:
            for j, (first, right, down) in enumerate(line.corners()):
                ends = np.stack([first, right + down - first])
                found.append((f"image {i}.{j}", ends.min(axis=0), ends.max(axis=0), 0.0))
            continue
        found += [(f"neuron {i}.{j}", at, at, line.radius) for j, at in enumerate(line.points)]
        if line.one is not None:
            found.append((f"one {i}", line.one, line.one, line.radius))
    return found


@every_form
def test_no_two_cubes_spheres_or_images_overlap(program: Program, form: BeadsForm) -> None:
    layout = in_form(program, form)
    for plate in layout.plates:
        assert 2.0 * plate.half <= min(plate.cell)
    found = solids(layout)
    names = [name for name, *_ in found]
    low, high, radius = (np.array(part) for part in list(zip(*found, strict=True))[1:])
    for i, name in enumerate(names):
        between = np.maximum(low[i + 1 :] - high[i], low[i] - high[i + 1 :])
        apart = np.linalg.norm(np.maximum(between, 0.0), axis=1)
        touch = radius[i] + radius[i + 1 :]
        is_through = np.where(touch > 0.0, apart < touch - 1e-6, (between < -1e-6).all(axis=1))
        others = [names[i + 1 + j] for j in np.flatnonzero(is_through)]
        assert not others, f"{name} overlaps {others}"


# A cube is on its wire.


def units_before(program: Program, operation: Operation, fan: Fan) -> int:
    """How many weights of a sum belong to one unit: 1, or the pixels of a kernel or an image."""
    columns = len(fan.columns) - (operation.biases != NONE)
    return fan.inputs // columns


@every_form
def test_a_weight_stands_where_its_row_and_its_column_cross(
    program: Program, form: BeadsForm
) -> None:
    layout = in_form(program, form)
    cubes = cubes_of(layout)
    rows = [row for fan in layout.fans for i in range(len(fan.ends)) for row in fan.rows_of(i)]
    assert rows == [op.weights + i for _, op in walls(program) for i in range(prod(op.shape))]
    for fan, operation, _ in fans(program, layout):
        each = units_before(program, operation, fan)
        columns = fan.inputs // each
        rng = np.random.default_rng(0)
        for i, j in rng.integers((0, 0), (len(fan.ends), columns), (20, 2)).tolist():
            first = fan.weights + i * fan.inputs + j * each
            place = np.mean([cubes[first + k] for k in range(each)], axis=0)
            np.testing.assert_allclose(place, fan.rows[i] + fan.columns[j], atol=1e-9)
            assert layout.fan_of(first) == (fan, i) and first in fan.rows_of(i)
            if operation.biases != NONE:
                place = fan.rows[i] + fan.columns[-1]
                np.testing.assert_allclose(cubes[fan.biases + i], place, atol=1e-9)
                assert layout.fan_of(fan.biases + i) == (fan, i)


@every_form
def test_a_fan_leads_from_the_units_before_to_the_units_behind(
    program: Program, form: BeadsForm
) -> None:
    layout = in_form(program, form)
    for fan, operation, group in fans(program, layout):
        before, behind = (
            lines_of(layout, buffer.name) for buffer in (operation.source, operation.target)
        )
        starts = fan.starts[:-1] if operation.biases != NONE else fan.starts
        assert any(stands_at(line, starts, group) for line in before)
        assert any(stands_at(line, fan.ends, group) for line in behind)
        if operation.biases != NONE:
            ones = [line.one for line in before if line.one is not None]
            assert any(np.allclose(fan.starts[-1], one) for one in ones)
        x = fan.rows[:, 0] + fan.columns[0, 0]
        assert (fan.starts[:, 0] < x.min()).all() and (x.max() < fan.ends[:, 0]).all()


def units_of(line: Neurons) -> np.ndarray:
    """The middles of neurons or images."""
    return line.points.reshape(line.shape[0], -1, 3).mean(axis=1) if line.shape else line.points


def stands_at(line: Neurons, places: np.ndarray, group: int) -> bool:
    """Whether the units of a group are at these places; all groups have equal numbers of units."""
    points = units_of(line)
    if len(points) % max(1, len(places)):
        return False
    points = points[group * len(places) :][: len(places)]
    return len(points) == len(places) and np.allclose(points, places)


def test_lines_are_perpendicular_and_the_wall_between_is_the_matrix() -> None:
    program, layout = dense(3, 8, 3)
    inputs, hidden, outputs = layout.neurons
    for line, axis in ((inputs, NEAR), (hidden, UP), (outputs, NEAR)):
        spread = np.ptp(line.points, axis=0)
        assert (spread[np.abs(axis) < 0.5] < 1e-9).all() and spread @ np.abs(axis) > 3.0
    wall, biases, second, _ = layout.plates
    assert (wall.rows, wall.columns) == (8, 3) and (second.rows, second.columns) == (3, 8)
    assert (biases.rows, biases.columns) == (8, 1) and biases.role == "bias"
    assert all(plate.toward.tolist() == (-RIGHT).tolist() for plate in layout.plates)
    # The 1 of a line stands at its far end.
    assert inputs.one[2] > inputs.points[:, 2].max() and hidden.one[1] < hidden.points[:, 1].min()
    assert outputs.one is None
    assert (
        wall.cell[0] == 1.1
        and wall.cell[1] in HIGH
        and program.operations[0].biases == biases.first
    )


def test_wires_lead_to_each_cube_and_on_from_it() -> None:
    program, layout = dense(2, 4, 1)
    cubes = cubes_of(layout)
    assert len(layout.wires) == 4
    for place, operation in walls(program):
        entering, leaving = (w for w in layout.wires if w.operation == place)
        assert entering.outgoing and not leaving.outgoing
        own = np.array([cubes[row] for row in operation.parameters])
        for cube in own:
            (i,) = np.flatnonzero(np.abs(entering.end - cube).max(axis=1) < 1e-9)
            (j,) = np.flatnonzero(np.abs(leaving.start - cube).max(axis=1) < 1e-9)
            assert i == j
        assert len(entering.start) == len(own) == len(leaving.end)
        for wires, ends, line in (
            (entering, entering.start, layout.neurons[entering.neurons]),
            (leaving, leaving.end, layout.neurons[leaving.neurons]),
        ):
            points = [line.points, *([line.one[np.newaxis]] if line.one is not None else [])]
            own = np.concatenate(points)
            away = np.abs(ends[:, np.newaxis] - own).max(axis=2).min(axis=1)
            assert (away < 1e-9).all(), wires


def test_a_large_network_has_wires_at_the_edges_of_its_walls_only() -> None:
    layout = of(CORRIDOR)
    assert 0 < sum(len(wires.start) for wires in layout.wires) < 400
    assert len(layout.fans) == 5 and len(layout.fans[1].starts) == 65


@pytest.mark.parametrize("sizes", [(3, 8, 3), (2, 1, 1, 40, 3, 3), (1, 1), (9, 2, 9, 2, 9, 2, 9)])
def test_the_name_of_a_layer_is_above_the_middle_of_its_wall(
    sizes: tuple[int, ...],
) -> None:
    program, layout = dense(*sizes)
    assert [label.name for label in layout.labels] == [f"layer {i}" for i in range(len(sizes) - 1)]
    for label, (place, operation) in zip(layout.labels, walls(program), strict=True):
        own = [plate for plate in layout.plates if plate.operation == place]
        low, high = np.array([box_of(plate) for plate in own]).swapaxes(0, 1)
        _, y, z = label.start
        assert y >= high[:, 1].max() and z == pytest.approx(
            low[:, 2].min() / 2.0 + high[:, 2].max() / 2.0
        )
        assert low[:, 0].min() <= label.start[0] <= high[:, 0].max()
        assert range(*label.rows.indices(10**6)) == operation.parameters


def test_the_name_of_a_layer_without_cubes_is_at_a_lower_corner_of_its_images() -> None:
    (label,) = (each for each in of(MAPS).labels if each.name == "layer 1")
    low, high = label.around.min(axis=0), label.around.max(axis=0)
    assert label.start.tolist() == [low[0], low[1], high[2]] and low[0] != low[1]


# Along the flow.


def rows_of(layout: Layout) -> list[list[Neurons]]:
    """The lines of each row of a network, from left to right."""
    found = [[layout.neurons[0]]]
    for before, line in pairwise(layout.neurons):
        if line.points[0, 0] < before.points[0, 0]:
            found.append([])
        found[-1].append(line)
    return found


@every_form
def test_the_data_goes_to_the_right_within_a_row(program: Program, form: BeadsForm) -> None:
    layout = in_form(program, form)
    for row in rows_of(layout):
        x = [line.points[:, 0] for line in row]
        for before, behind in pairwise(x):
            assert before.max() < behind.min()
    for place, operation in enumerate(program.operations):
        own = [plate for plate in layout.plates if plate.operation == place]
        if own and len(operation.shape) < 2:  # gains stand before shifts, both between two lines
            gain, *shift = sorted({plate.origin[0] for plate in own if plate.role != "weight"})
            (behind,) = lines_of(layout, operation.target.name)[:1]
            assert gain < behind.points[0, 0] and all(gain < x < behind.points[0, 0] for x in shift)


@every_form
def test_every_buffer_with_numbers_is_shown_and_lines_of_the_same_follow_each_other(
    program: Program, form: BeadsForm
) -> None:
    # At the end of a row, and where neurons become the pixels of images or other images; what
    # two branches read is shown before each.
    layout = in_form(program, form)
    shown = [line.buffers for line in layout.neurons]
    parted = {each.source.name for each in program.operations if each.kind == "branch"}
    for buffer in program.buffers:
        places = [i for i, names in enumerate(shown) if buffer.name in names]
        assert places
        if buffer.name in parted and len(places) == 2:
            continue
        assert places == list(range(places[0], places[-1] + 1)), buffer.name
        assert len(places) == 1 or layout.neurons[places[1]].shape or form.rows > 1
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    for line in layout.neurons:
        assert len(line.points) == sizes[line.values] == sizes[line.sums or line.values]
    assert layout.neurons[0].layer == NONE


def test_a_long_network_is_folded_into_rows_where_that_makes_cubes_larger() -> None:
    wide, narrow = of(FOLDS, 6.0), of(FOLDS, 1.0)
    assert len(rows_of(wide)) == 1 < len(rows_of(narrow))
    high = [max(line.points[:, 1].max() for line in row) for row in rows_of(narrow)]
    low = [min(line.points[:, 1].min() for line in row) for row in rows_of(narrow)]
    assert all(above > below for above, below in zip(low, high[1:], strict=False))
    straight = laid(FOLDS, BeadsForm())
    assert size_of(narrow, 47.0, 1.0) > FOLDED * size_of(straight, 47.0, 1.0)


def test_a_wide_layer_is_wrapped_into_blocks() -> None:
    layout, straight = of(WRAPPED), laid(WRAPPED, BeadsForm())
    weights = [plate for plate in layout.plates if plate.role == "weight" and not plate.operation]
    assert len(weights) > 1 and sum(plate.size for plate in weights) == 200 * 400
    longest = max(max(plate.rows, plate.columns) for plate in weights)
    assert longest < 400 and size_of(layout, 47.0, 1.75) > size_of(straight, 47.0, 1.75)


@pytest.mark.parametrize("sizes", [(3, 8, 3), (2, 4, 1), (12, 64, 64, 3)])
def test_the_shape_of_the_stage_decides(sizes: tuple[int, ...]) -> None:
    """Cubes are at least as large as in the layout for another stage."""
    program, high = dense(*sizes, shape=0.4)
    wide = of(program, 4.0)
    for own, other, shape in ((high, wide, 0.4), (wide, high, 4.0)):
        sizes_seen = [size_of(each, angle_of(each), shape) for each in (own, other)]
        assert sizes_seen[0] >= 0.93 * sizes_seen[1]


def test_a_form_is_chosen_by_boxes_and_one_layout_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = sv.Network([3, 20, 20, 20, 2], seed=0).program
    built, measured = [], []
    for calls, module, name in (
        (built, beads_module, "laid_out"),
        (measured, beads_module, "placed"),
    ):
        original = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, calls=calls, f=original, **k: [calls.append(a), f(*a, **k)][1]
        )
    first = of(program, 1.75)
    tried = len(measured) - 1  # the form that was chosen is placed once more
    assert len(built) == 1 and tried > 5
    # Another shape of the stage measures only forms that were not measured before.
    of(program, 1.7)
    assert len(built) <= 2 and len(measured) < 1 + 1.5 * tried
    count = len(measured)
    assert of(program, 1.75) is first and len(measured) == count
    # Other names or words are another layout.
    assert beads(program, lambda label: (label, ""), {}, 1.75) is not first
    assert beads(program, about, {"inputs": ["a", "b", "c"]}, 1.75).neurons[0].names


def angle_of(layout: Layout) -> float:
    return layout.views["perspective"].azimuth + 90.0


def test_a_large_wall_covers_a_seventh_of_the_one_behind_it() -> None:
    layout = of(CORRIDOR)
    walls = [plate for plate in layout.plates if (plate.rows, plate.columns) == (64, 64)]
    (first, _), (second, end) = map(box_of, walls[:2])
    way = (second - first)[0] * np.tan(np.radians(angle_of(layout)))
    assert 0.1 < 1.0 - way / (end - second)[2] < 0.2


# Images, norms, skip connections.


def test_a_kernel_is_a_tile_upright_like_its_images() -> None:
    layout = of(DIGITS)
    kernels = [plate for plate in layout.plates if plate.tiles is not None]
    assert [plate.tiles.size for plate in kernels[:2]] == [(3, 3), (3, 3)]
    for plate in kernels:
        along, across = plate.along / plate.cell[0], plate.across / plate.cell[1]
        assert along.tolist() == NEAR.tolist() and across.tolist() == DOWN.tolist()


def test_every_digit_has_a_block_of_the_last_wall_with_a_tile_for_each_map() -> None:
    layout = of(DIGITS)
    place, operation = walls(DIGITS)[-1]
    blocks = [p for p in layout.plates if p.operation == place and p.role == "weight"]
    assert [block.first - operation.weights for block in blocks] == list(range(0, 720, 72))
    for block in blocks:
        assert block.tiles.size == (3, 3) and block.size == 72 and sorted(block.count) == [2, 4]
    (low, high), (start, _) = box_of(blocks[0]), box_of(blocks[1])
    step, tile = np.abs(start - low), (high - low)[1]
    assert step[2] < 1e-9 and step[1] > tile  # below each other, with a gap
    assert np.ptp(layout.neurons[-1].points, axis=0).argmax() == 1
    assert np.allclose(np.diff(layout.neurons[-1].points[:, 1]), -step[1])  # level with them


def test_images_hang_below_their_kernels_in_two_rows_and_the_columns_lead_to_them() -> None:
    layout = laid(MAPS, BeadsForm(hanging=True, lanes=2))
    place, operation = walls(MAPS)[1]
    cubes, (maps,) = cubes_of(layout), lines_of(layout, operation.target.name)
    kernels = np.array([cubes[operation.weights + 81 * i + 4] for i in range(12)])
    images = units_of(maps)
    np.testing.assert_allclose(images[:, 2], kernels[:, 2], atol=1e-9)
    first, second = images[::2], images[1::2]
    assert np.ptp(first[:, 1]) < 1e-9 and np.ptp(second[:, 1]) < 1e-9
    assert first[0, 1] - second[0, 1] > maps.side * max(maps.shape[1:])
    assert images[:, 1].max() < kernels[:, 1].min()
    # A wire along each row of kernels and each column, which crosses it at the kernel.
    own = [wires for wires in layout.wires if wires.operation == place]
    along, across = own[1], own[2]
    assert len(along.start) == 9 + 1 and len(across.start) == 12
    for i, j in ((0, 0), (5, 3), (11, 8)):
        cube = cubes[operation.weights + 81 * i + 9 * j + 4]
        for wires, number in ((along, j), (across, i)):
            way = wires.end[number] - wires.start[number]
            part = np.clip((cube - wires.start[number]) @ way / (way @ way), 0.0, 1.0)
            np.testing.assert_allclose(wires.start[number] + part * way, cube, atol=1e-9)
    # Each way ends at its image, where it has an arrow.
    np.testing.assert_allclose(own[3].end, images, atol=1e-9)
    assert own[3].head == 0.5 * maps.side * max(maps.shape[1:])


@every_form
def test_gains_and_shifts_are_level_with_their_units(program: Program, form: BeadsForm) -> None:
    layout = in_form(program, form)
    for place, operation in enumerate(program.operations):
        own = [plate for plate in layout.plates if plate.operation == place]
        if operation.kind != "scale":
            continue
        assert {plate.role for plate in own} == {"gain", "shift"} - (
            set() if operation.biases != NONE else {"shift"}
        )
        line = lines_of(layout, operation.target.name)[0]
        points = units_of(line)
        if len(points) != operation.shape[0] or (line.shape and not operation.source.shape):
            continue  # several units share a gain, or it belongs to a pixel
        cubes = {index: at for plate in own for index, at in middles(plate).items()}
        for first in (operation.weights, operation.biases):
            if first != NONE:
                found = np.array([cubes[first + i] for i in range(len(points))])
                np.testing.assert_allclose(found[:, 1:], points[:, 1:], atol=1e-9)


@every_form
def test_a_skip_connection_leads_past_all_walls(program: Program, form: BeadsForm) -> None:
    layout = in_form(program, form)
    read = {op.target.name: op.sources for op in program.operations if len(op.sources) > 1}
    led_to = [line for line in layout.neurons if line.way is not None]
    assert read.keys() <= {name for line in led_to for name in line.buffers}
    for line in led_to:
        names = [each.name for name in line.buffers for each in read.get(name, ())]
        # What a second branch reads is led to where it is shown again.
        lines = [each for name in [*names, line.values] for each in lines_of(layout, name)]
        way = line.way
        assert way[0, 0] in [each.points[0, 0] for each in lines if each is not line]
        assert way[-1, 0] == line.points[0, 0]
        for start, end in pairwise(way):
            assert np.count_nonzero(start != end) == 1  # level or upright
            for plate in layout.plates:
                low, high = box_of(plate)
                near, far = np.minimum(start, end), np.maximum(start, end)
                assert not ((near < high - 1e-6).all() and (far > low + 1e-6).all())


def test_the_sphere_of_the_biases_stands_only_before_a_wall_with_biases() -> None:
    layers = [sv.Dense(3, 4), sv.LayerNorm(4), sv.Softmax(4), sv.Dense(4, 2)]
    layout = beads(sv.Network(layers).program, lambda label: (label, ""))
    assert [line.values for line in layout.neurons if line.one is not None] == [
        "inputs",
        "softmax 2",
    ]


def test_a_convolution_read_as_more_images_than_it_has_kernels_is_laid_out() -> None:
    layers = [sv.Conv2d((1, 4, 4), 2, padding=1), sv.Reshape((2, 4, 4), (8, 2, 2))]
    network = sv.Network([*layers, sv.AvgPool2d((8, 2, 2))])
    layout = beads(network.program, lambda label: (label, ""))
    assert sum(plate.size for plate in layout.plates) == len(network.bank) == 20
    assert all(np.isfinite(line.points).all() for line in layout.neurons)


def test_a_layout_of_nothing_has_no_points() -> None:
    assert Layout((), (), (), ()).extent.shape == (0, 3)


SHAPE = 1, 4, 4


def rows() -> Program:
    product = sv.Product([sv.Dense(6, 8, "tanh"), sv.Dense(8, 6)], sv.Dense(6, 6))
    joined = sv.Concatenate(sv.Dense(6, 4, "tanh"), sv.Residual(sv.Dense(6, 6)))
    return sv.Network([sv.Dense(3, 6, "tanh"), product, joined, sv.Dense(10, 3)]).program


def pictures() -> Program:
    a, b = sv.Conv2d(SHAPE, 2, padding=1), sv.Activation(SHAPE, "tanh")
    return sv.Network([sv.Concatenate(a, b), sv.Conv2d((3, 4, 4), 2)]).program


every_program = pytest.mark.parametrize("make", [rows, pictures])


def lines_before(layout: Layout, buffer: str) -> list[Neurons]:
    place = next(i for i, line in enumerate(layout.neurons) if buffer in line.buffers)
    return layout.neurons[:place]


@every_program
def test_each_row_stands_behind_what_its_operation_reads(make: object) -> None:
    program = make()  # type: ignore[operator]  # one of these functions
    layout = laid_out_maps(program)
    for operation in program.operations:
        before = lines_before(layout, operation.target.name)
        shown = [name for line in before[-1:] for name in line.buffers]
        own = next(line for line in layout.neurons if operation.target.name in line.buffers)
        assert any(source.name in (*shown, *own.buffers) for source in operation.sources)
    again = [line for line in layout.neurons if line.way is not None]
    joins = [each for each in program.operations if len(each.sources) > 1]
    assert len(again) == len(joins) + (len(joins) + 1) // 2  # one of rows is a Residual


def test_wires_of_a_concatenation_lead_to_the_part_of_the_second_branch() -> None:
    program = sv.Network([sv.Concatenate(sv.Dense(3, 2), sv.Dense(3, 4))]).program
    layout = laid_out_maps(program)
    (wires,) = [each for each in layout.wires if each.operation == len(program.operations) - 1]
    last = layout.neurons[-1].points
    off = np.abs(wires.end[:, np.newaxis] - last).sum(axis=2).argmin(axis=1)
    assert off.tolist() == [2, 3, 4, 5]


@st.composite
def kernel_plates(draw: st.DrawFn) -> tuple[Plate, int]:
    """A plate of kernels times channels, turned or not, and how many weights it has."""
    kernels, channels = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    high, wide = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    first, turned = draw(st.integers(0, 20)), draw(st.booleans())
    return plate_of(kernels, channels, high, wide, first, turned), kernels * channels * high * wide


def plate_of(
    kernels: int, channels: int, high: int, wide: int, first: int = 0, turned: bool = False
) -> Plate:
    pitch, each = max(high, wide) + 1, high * wide
    counts, stride = (kernels, channels), (channels * each, each)
    if turned:
        counts, stride = counts[::-1], stride[::-1]
    rows, columns = ((n - 1) * pitch + s for n, s in zip(counts, (high, wide), strict=True))
    tiles = Tiles((high, wide), (pitch, pitch), stride)
    about = np.zeros(3), RIGHT, DOWN, NEAR, "weight", 0, 0, tiles
    return Plate(first, rows, columns, wide, *about)


@given(made=kernel_plates())
def test_each_weight_has_one_cell_and_cells_between_small_plates_are_empty(
    made: tuple[Plate, int],
) -> None:
    plate, count = made
    rows = [plate.index_of(*cell) for cell in np.ndindex(plate.rows, plate.columns)]
    shown = [row for row in rows if row != NONE]
    assert sorted(shown) == list(range(plate.first, plate.first + count))
    assert plate.size == count and plate.indices == slice(plate.first, plate.first + count)
    for row, column, index in zip(*plate.cells(), strict=True):
        assert plate.index_of(int(row), int(column)) == index
        assert plate.place_of(int(index)) == (row, column)
    assert plate.place_of(plate.first - 1) is None and plate.place_of(plate.first + count) is None


@pytest.mark.parametrize("turned", [False, True])
def test_kernels_stand_upright_and_channels_beside_each_other(turned: bool) -> None:
    plate = plate_of(3, 2, 3, 2, turned=turned)
    for kernel, channel, line, column in np.ndindex(3, 2, 3, 2):
        row, at_column = plate.place_of(((kernel * 2 + channel) * 3 + line) * 2 + column)
        down, right = (channel, kernel) if turned else (kernel, channel)
        assert (row, at_column) == (4 * down + line, 4 * right + column)


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("turned", [False, True])
def test_each_cube_has_the_color_of_its_number_and_the_ground_is_seen_between(
    studio: Studio, turned: bool, floats: bool
) -> None:
    plate = plate_of(4, 3, 3, 3, turned=turned)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 108)
    cubes = studio.cubes([plate], values, np.ones(108), floats=floats)
    see = framed([plate], fov=0.0)
    pixels = studio.look(cubes, see)
    for row, column, index in zip(*plate.cells(), strict=True):
        seen = at(pixels, see(plate.point(column + 0.5, row + 0.5)).xy[0])
        np.testing.assert_allclose(seen, shade("dark", values[index]), atol=2)
    for row, column in np.ndindex(plate.rows, plate.columns):
        if plate.index_of(row, column) == NONE:
            assert not at(pixels, see(plate.point(column + 0.5, row + 0.5)).xy[0]).any()


@pytest.mark.parametrize("azimuth", [0.0, 50.0])
def test_what_is_picked_is_what_is_seen(studio: Studio, azimuth: float) -> None:
    plate = plate_of(3, 3, 2, 3)
    see = framed([plate], azimuth=azimuth, elevation=20.0)
    cubes = studio.cubes([plate], np.zeros(54), np.ones(54))
    seen = studio.ids(cubes, see)
    rng, met = np.random.default_rng(1), 0
    for _ in range(200):
        x, y = int(rng.integers(320)), int(rng.integers(240))
        around = seen[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        if len(np.unique(around)) == 1:  # not at an edge
            found = pick([plate], see.matrix, *see.across(x + 0.5, y + 0.5), lambda *_: HALF)
            assert found == (NONE if seen[y, x] == 0xFFFFFF else seen[y, x])
            met += found != NONE
    assert met > 20


@pytest.mark.slow
def test_means_leave_out_what_is_empty() -> None:
    plate = plate_of(20, 13, 3, 3, first=5)
    count = plate.size + 5
    values = np.random.default_rng(0).uniform(-1.0, 1.0, count).astype(np.float32)
    sizes = np.zeros(count, np.float32)  # the smallest cubes
    palette = np.linspace(0.0, 1.0, 513, dtype=np.float32)[:, np.newaxis].repeat(3, 1)
    rows, columns = room_of(plate)
    table = np.zeros((rows, 2 * columns, 4), np.uint8)
    assert levels_of(plate) > 2
    fill(table, plate, values, sizes, (0.25, 1.0), palette, 2)
    spread = 0.25 * np.sqrt((values[plate.indices].astype(np.float64) ** 2).mean())
    cover = (2.0 * HALF * LEAST_ON_WALL) ** 2
    for i, j in np.ndindex(plate.rows // 4, plate.columns // 4):
        cells = [plate.index_of(4 * i + y, 4 * j + x) for y, x in np.ndindex(4, 4)]
        own = values[[row for row in cells if row != NONE]]
        color, share = table[i, columns + j, 0], table[i, columns + j, 3]
        assert len(own) == 9 and share == pytest.approx(255 * cover * 9 / 16, abs=1.0)
        number = np.clip(own.mean() * 0.25 * strength_of(2, spread), -1.0, 1.0)
        assert color == pytest.approx(255 * (0.5 + 0.5 * number), abs=2.0)
