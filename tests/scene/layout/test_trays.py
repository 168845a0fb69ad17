"""The layout trays: every weight is a cube on the tray before its neuron; branches; kernels."""

from itertools import pairwise
from math import prod

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.program import NONE, Operation, Program, Windows
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    LEAST_ON_WALL,
    NEAR,
    RIGHT,
    Fan,
    Layout,
    Neurons,
    Plate,
    Tiles,
)
from scalarviz.scene.layout.trays import ANGLE, SEAT, SPREAD, trays_layout
from scalarviz.scene.visuals.mip_levels import fill, levels_of, room_of, strength_of
from tests.scene.test_neuron_images import laid_out as laid_out_maps
from tests.sessions import deep_networks, networks, picture_networks
from tests.studio import Studio, at, between, framed, picked, shade

PROGRAMS = st.one_of(
    deep_networks(), picture_networks(), networks(learning=True).map(lambda made: made[0].program)
)
WIDE = sv.Network([12, 64, 64, 64, 64, 3], "tanh", seed=0).program
LONG = sv.Network([100, 60, 2], "tanh", seed=0).program
DEEP = sv.Network([2] * 17, "tanh", seed=0).program
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
    return trays_layout(program, about, {}, shape)


def every_shape(test: object) -> object:
    """Run a test on random programs in stages of random shapes, and on some of each kind."""
    count = settings.default.max_examples * 2 // 5
    shapes = st.sampled_from([0.4, 1.0, 1.75, 4.0])
    found = settings(max_examples=count)(given(program=PROGRAMS, shape=shapes)(test))
    for program in (LONG, DEEP, WIDE, DIGITS, MAPS, RESIDUAL, RESHAPED, NORM):
        found = example(program, 1.75)(found)
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
        for group in range(Windows.of(op).groups if op.kind == "convolution" else 1)
    ]
    return [(fan, *of) for fan, of in zip(layout.fans, groups, strict=True)]


def lines_of(layout: Layout, buffer: str) -> list[Neurons]:
    return [line for line in layout.neurons if buffer in line.buffers]


# Nothing is left out, nothing is in the way of something else.


@every_shape
def test_every_parameter_has_exactly_one_cube(program: Program, shape: float) -> None:
    layout = of(program, shape)
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
    found = [(f"plate {i}", *box_of(plate), 0.0) for i, plate in enumerate(layout.plates)]
    for i, line in enumerate(layout.neurons):
        if line.shape:
            for j, (first, right, down) in enumerate(line.corners()):
                ends = np.stack([first, right + down - first])
                found.append((f"image {i}.{j}", ends.min(axis=0), ends.max(axis=0), 0.0))
            continue
        found += [(f"neuron {i}.{j}", at, at, line.radius) for j, at in enumerate(line.points)]
    return found


@every_shape
def test_no_two_cubes_spheres_or_images_overlap(program: Program, shape: float) -> None:
    layout = of(program, shape)
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


@every_shape
def test_a_weight_stands_where_its_row_and_its_column_cross(program: Program, shape: float) -> None:
    layout = of(program, shape)
    cubes = cubes_of(layout)
    rows = [row for fan in layout.fans for i in range(len(fan.ends)) for row in fan.rows_of(i)]
    assert rows == [op.weights + i for _, op in walls(program) for i in range(prod(op.shape))]
    for fan, operation, _ in fans(program, layout):
        # How many weights of a sum belong to one unit: 1, or the pixels of a kernel or an image.
        each = fan.inputs // (len(fan.columns) - (operation.biases != NONE))
        rng = np.random.default_rng(0)
        for i, j in rng.integers((0, 0), (len(fan.ends), fan.inputs // each), (20, 2)).tolist():
            first = fan.weights + i * fan.inputs + j * each
            place = np.mean([cubes[first + k] for k in range(each)], axis=0)
            np.testing.assert_allclose(place, fan.rows[i] + fan.columns[j], atol=1e-9)
            assert layout.fan_of(first) == (fan, i) and first in fan.rows_of(i)
            if operation.biases != NONE:
                place = fan.rows[i] + fan.columns[-1]
                np.testing.assert_allclose(cubes[fan.biases + i], place, atol=1e-9)
                assert layout.fan_of(fan.biases + i) == (fan, i)


@every_shape
def test_a_fan_leads_from_the_units_before_to_the_units_behind(
    program: Program, shape: float
) -> None:
    layout = of(program, shape)
    for fan, operation, group in fans(program, layout):
        before, behind = (
            lines_of(layout, buffer.name) for buffer in (operation.source, operation.target)
        )
        assert any(stands_at(line, fan.starts, group) for line in before)
        assert any(stands_at(line, fan.ends, group) for line in behind)
        x = fan.rows[:, 0] + fan.columns[0, 0]
        assert (fan.starts[:, 0] < x.min()).all() and (x.max() < fan.ends[:, 0]).all()


def test_rows_are_the_matrix_and_the_bias_is_the_last_and_nearest_cube() -> None:
    _, layout = dense(3, 8, 3)
    for line in layout.neurons:
        assert np.ptp(line.points[:, 0]) == np.ptp(line.points[:, 2]) == 0.0
    wall, biases, second, _ = layout.plates
    assert (wall.rows, wall.columns) == (8, 3) and (second.rows, second.columns) == (3, 8)
    assert (biases.rows, biases.columns, biases.role) == (8, 1, "bias")
    for plate in layout.plates:
        assert plate.toward.tolist() == (-RIGHT).tolist() and plate.seat == SEAT
        assert plate.along @ NEAR > 0.9 and plate.across @ DOWN > 1.0
    cubes = cubes_of(layout)
    for first in range(0, 24, 3):
        steps = np.diff([cubes[first + i][2] for i in range(3)] + [cubes[24 + first // 3][2]])
        assert (steps > 0.0).all() and steps[-1] == pytest.approx(1.5 * steps[0])


@pytest.mark.parametrize("sizes", [(3, 8, 3), (2, 4, 2, 1), (2, 16, 16, 1), (1, 1)])
@pytest.mark.parametrize("shape", [0.5, 1.5, 3.0])
def test_a_ball_lies_on_the_axis_of_its_row(sizes: tuple[int, ...], shape: float) -> None:
    _, layout = dense(*sizes, shape=shape)
    camera = layout.views["perspective"]
    assert camera.azimuth == ANGLE - 90.0
    for fan in layout.fans:
        for i, ball in enumerate(fan.ends):
            ends = fan.rows[i] + fan.columns[[0, -1]] + [0.0, -0.45 * SEAT, 0.0]
            (x, y), (right, low), (far, high) = (camera.seen(*point)[:2] for point in (*ends, ball))
            on = low + (far - right) * (low - y) / (right - x)
            assert abs(on - high) < 0.25 * abs(y - high) + 0.05


def test_adding_a_neuron_never_turns_the_picture_and_rows_never_cross() -> None:
    assert len({dense(3, hidden, 3)[1].views["perspective"] for hidden in (2, 8, 20, 60)}) == 1
    for sizes in ((3, 60, 3), (2, 8, 8, 8, 8, 2)):
        for fan in dense(*sizes)[1].fans:
            assert (np.diff(fan.rows[:, 1]) <= -1.0).all()
            assert (np.diff(fan.rows[:, 1]) >= -SPREAD * 1.001).all()


@pytest.mark.parametrize("sizes", [(3, 8, 3), (2, 4, 1), (12, 30, 30, 3)])
def test_a_stage_is_filled_across_or_upright(sizes: tuple[int, ...]) -> None:
    program = sv.Network(list(sizes), "tanh", seed=0).program
    for shape in (0.8, 1.5, 2.5):
        layout = of(program, shape)
        seen = np.array([layout.views["perspective"].seen(*each)[:2] for each in layout.extent])
        wide, high = np.ptp(seen, axis=0)
        assert 0.5 < wide / high / shape < 2.0


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


@pytest.mark.parametrize("sizes", [(3, 8, 3), (2, 1, 1, 40, 3, 3), (1, 1), (9, 2, 9, 2, 9, 2, 9)])
def test_the_name_of_a_layer_is_above_the_middle_of_its_wall(
    sizes: tuple[int, ...],
) -> None:
    program, layout = dense(*sizes)
    assert [label.name for label in layout.labels] == [f"layer {i}" for i in range(len(sizes) - 1)]
    for label, (place, operation) in zip(layout.labels, walls(program), strict=True):
        own = [plate for plate in layout.plates if plate.operation == place]
        low, high = np.array([box_of(plate) for plate in own]).swapaxes(0, 1)
        x, y, z = label.place
        assert y >= high[:, 1].max() and z == pytest.approx(
            low[:, 2].min() / 2.0 + high[:, 2].max() / 2.0
        )
        assert low[:, 0].min() <= x <= high[:, 0].max()
        assert range(*label.rows.indices(10**6)) == operation.parameters


# Along the flow.


@every_shape
def test_every_buffer_with_numbers_is_shown_and_lines_of_the_same_follow_each_other(
    program: Program, shape: float
) -> None:
    # At the end of a row, and where neurons become the pixels of images or other images; what
    # two branches read is shown before each.
    layout = of(program, shape)
    shown = [line.buffers for line in layout.neurons]
    parted = {each.source.name for each in program.operations if each.kind == "branch"}
    for buffer in program.buffers:
        places = [i for i, names in enumerate(shown) if buffer.name in names]
        assert places
        if buffer.name in parted and len(places) == 2:
            continue
        assert places == list(range(places[0], places[-1] + 1)), buffer.name
        assert len(places) == 1 or layout.neurons[places[1]].shape or False
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    for line in layout.neurons:
        assert len(line.points) == sizes[line.values] == sizes[line.sums or line.values]
    assert layout.neurons[0].layer == NONE


# Images, norms, skip connections.


def test_a_kernel_is_a_tile_upright_like_its_images() -> None:
    kernels = [plate for plate in of(DIGITS).plates if plate.tiles is not None]
    assert [plate.tiles.size for plate in kernels[:2]] == [(3, 3), (3, 3)]
    for plate in kernels:
        along, across = plate.along / plate.cell[0], plate.across / plate.cell[1]
        assert along.tolist() == NEAR.tolist() and across.tolist() == DOWN.tolist()


@every_shape
def test_gains_and_shifts_are_level_with_their_units(program: Program, shape: float) -> None:
    layout = of(program, shape)
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


@every_shape
def test_a_skip_connection_leads_past_all_walls(program: Program, shape: float) -> None:
    layout = of(program, shape)
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


def test_a_convolution_read_as_more_images_than_it_has_kernels_is_laid_out() -> None:
    layers = [sv.Conv2d((1, 4, 4), 2, padding=1), sv.Reshape((2, 4, 4), (8, 2, 2))]
    network = sv.Network([*layers, sv.AvgPool2d((8, 2, 2))])
    layout = trays_layout(network.program, lambda label: (label, ""))
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
    off = np.abs(wires.end[:, np.newaxis] - layout.neurons[-1].points).sum(axis=2).argmin(axis=1)
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
    return Plate(first, rows, columns, wide, np.zeros(3), RIGHT, DOWN, NEAR, "weight", 0, 0, tiles)


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
    see = framed([plate], fov=0.0)
    pixels = studio.look(studio.cubes([plate], values, np.ones(108), floats=floats), see)
    for row, column, index in zip(*plate.cells(), strict=True):
        seen = between(pixels, see(plate.point(column + 0.5, row + 0.5)).xy[0])
        np.testing.assert_allclose(seen, shade("dark", values[index]), atol=2)
    for row, column in np.ndindex(plate.rows, plate.columns):
        if plate.index_of(row, column) == NONE:
            assert not at(pixels, see(plate.point(column + 0.5, row + 0.5)).xy[0]).any()


@pytest.mark.parametrize("azimuth", [0.0, 50.0])
def test_what_is_picked_is_what_is_seen(studio: Studio, azimuth: float) -> None:
    plate = plate_of(3, 3, 2, 3)
    see = framed([plate], azimuth=azimuth, elevation=20.0)
    seen = studio.ids(studio.cubes([plate], np.zeros(54), np.ones(54)), see)
    rng, met = np.random.default_rng(1), 0
    for _ in range(200):
        x, y = int(rng.integers(320)), int(rng.integers(240))
        around = seen[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        if len(np.unique(around)) == 1:  # not at an edge
            found = picked([plate], see, x + 0.5, y + 0.5, lambda *_: HALF)
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
