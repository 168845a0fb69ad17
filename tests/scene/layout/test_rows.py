"""Rows of numbers and walls: each weight once, cubes do not meet, wires of a layer nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.base.texts.decimals import short
from scalarviz.core.program import NONE, Operation, Program, Windows
from scalarviz.scene import long_rows
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.layout.camera import Box, Camera
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import (
    DOWN,
    FIELD,
    HALF,
    MOST,
    NEAR,
    RIGHT,
    UP,
    Fan,
    Layout,
    Neurons,
    Plate,
    Tiles,
)
from scalarviz.scene.layout.trays import CAMERA, HIGH, PITCH, trays_layout
from scalarviz.scene.layout.walls import ROW, walls
from scalarviz.scene.layout.ways import (
    LANES,
    LEAST_SLOT,
    NARROWEST,
    RUNS,
    TRUNK,
    OpenRow,
    SeenFan,
    draw_upright,
    products,
    ribbons,
    slot_of,
    strokes_of,
    sum_words,
    thread_words,
    way_in,
    wire,
    wires,
)
from scalarviz.scene.lines import carried, known_fan, known_fans
from scalarviz.scene.long_rows import draw_row_sheet, open_row, open_unit
from scalarviz.scene.visuals.mip_levels import fill, levels_of, room_of, strength_of
from scalarviz.scene.visuals.picking import seen_at
from scalarviz.stage.network_layout import has_walls, shows_every_weight
from scalarviz.stage.stage import Stage
from scalarviz.story.panel_words import adding_up, in_print
from tests.scene.measures import DARK, Notes, projection, stage_of, trained
from tests.scene.test_neuron_images import laid_out as laid_out_maps
from tests.sessions import deep_networks, networks, picture_networks
from tests.studio import Studio, at, between, framed, picked, shade

SCENES = ["normalized", "retrain", "digits", "normed 6-8-4-3", "normed 3-17-14-2", "tanh 3-8-3"]
NESTED = ["normalized", "normed 3-8-3", "normed 6-8-4-3", "tanh 3-8-3", "tanh 3-6-6-3"]
SIZES = [(1280, 800), (800, 500), (1920, 1080)]


@cache
def seen(name: str, size: tuple[int, int]) -> tuple[Stage, Projection]:
    stage = stage_of(trained(name), size)
    return stage, projection(stage)


def fans_of(name: str, size: tuple[int, int]) -> list[SeenFan]:
    stage, see = seen(name, size)
    layout = stage.plan
    found = [known_fan(each, layout, see, max(1.0, size[1] / 800)) for each in layout.fans]
    return [each.seen for each in found if each is not None and not each.seen.tiled]


def silhouette(see: Projection, plate: Plate, row: int, column: int) -> tuple[float, float]:
    """Left and right of the largest cube that can stand in a cell."""
    x = see(plate.corners_of(row, column, MOST * plate.half)).xy[:, 0]
    return float(x.min()), float(x.max())


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", SCENES)
def test_no_cube_meets_another_of_its_row_or_the_gate(name: str, size: tuple[int, int]) -> None:
    stage, see = seen(name, size)
    compared = 0
    for fan, own in zip(stage.plan.fans, map(fan_seen(stage, see), stage.plan.fans), strict=True):
        if own is None or own.tiled or own.form == "upright":
            continue
        for unit in range(len(fan.ends)):
            rows = fan.first_rows[unit].tolist()
            found = [stage.plan.plate_of(row) for row in rows]
            ends = sorted(silhouette(see, *each) for each in found if each is not None)
            ends.append((own.gates[unit][0] - own.half_gate, np.inf))
            assert all(right <= left for (_, right), (left, _) in pairwise(ends)), (unit, ends)
            compared += 1
    assert compared or name in ("digits", "retrain")


def fan_seen(stage: Stage, see: Projection) -> Any:
    def of(fan: Any) -> SeenFan | None:
        found = known_fan(fan, stage.plan, see, 1.0)
        return None if found is None else found.seen

    return of


def crossings(paths: list[list[tuple[float, float]]]) -> int:
    """How often pieces of different paths cross."""
    pieces = [(i, *piece) for i, path in enumerate(paths) for piece in pairwise(path)]
    return sum(i != j and crosses(a, b, c, d) for (i, a, b), (j, c, d) in combinations(pieces, 2))


def crosses(a: Any, b: Any, c: Any, d: Any) -> bool:
    def turn(p: Any, q: Any, r: Any) -> float:
        return float((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return turn(a, b, c) * turn(a, b, d) < 0.0 and turn(c, d, a) * turn(c, d, b) < 0.0


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", NESTED)
def test_wires_of_a_layer_nest(name: str, size: tuple[int, int]) -> None:
    nested = [fan for fan in fans_of(name, size) if fan.form == "nested" and fan.wired]
    assert nested
    for fan in nested:
        paths = [[*wire(fan, j), (fan.column(j), fan.feet[-1][j][1])] for j in range(fan.count)]
        assert crossings(paths) == 0
        lanes = sorted(path[1][0] for path in paths)
        runs = sorted(path[2][1] for path in paths)
        assert lanes[0] >= fan.first
        assert min(np.diff(runs), default=RUNS) >= 0.99 * fan.runs >= 4.0
        assert min(np.diff(lanes), default=LANES) >= 1.5
        assert runs[-1] < fan.top + 1e-6  # above all cubes


@pytest.mark.parametrize("name", ["normed 3-8-3", "tanh 3-8-3", "tanh 3-6-6-3"])
def test_an_arm_leads_from_the_wire_of_a_unit_into_each_of_its_cubes(name: str) -> None:
    fans = fans_of(name, (1280, 800))
    assert len(fans) > 1
    for fan in fans:
        for unit, column in np.ndindex(len(fan.ends), fan.count):
            path = way_in(fan, unit, column, 0.3)
            x, y = fan.feet[unit][column]
            assert path[0][0] == pytest.approx(fan.starts[column][0] + fan.starts[column][2])
            assert path[-1] == pytest.approx((x - 0.3 * fan.cell, y - fan.arm))
        assert way_in(fan, 0, fan.count, 0.3) == []  # nothing comes into a bias
        lines = [line for j in range(fan.count) for line in wires(fan, j)]
        assert all(len(line) > 1 for line in lines)


def test_products_end_in_their_gate_and_the_strongest_have_strands() -> None:
    fan = fans_of("tanh 3-8-3", (1280, 800))[1]
    terms = np.random.default_rng(1).normal(size=(3, 9)).tolist()
    strokes = products(fan, terms)
    for unit in range(3):
        own = [each for each in strokes if each.unit == unit and each.kind == "product"]
        strongest = sorted(range(9), key=lambda j: -abs(terms[unit][j]))[:3]
        assert {each.column for each in own} == {*strongest}
        x, y = fan.gates[unit]
        for each in own:
            assert each.points[-1][0] == pytest.approx(x - fan.half_gate)
            assert abs(each.points[-1][1] - y) < fan.half_gate
        assert crossings([each.points for each in own]) == 0
        assert [each.kind for each in strokes if each.unit == unit].count("rest") == 1


@pytest.mark.parametrize("name", ["normed 3-17-14-2", "30-16-16-3"])
def test_the_units_before_long_rows_stand_above_their_columns_once_more(name: str) -> None:
    stage, see = seen(name, (1280, 800))
    fans = [fan for fan in stage.plan.fans if fan.form == "long"]
    assert fans
    for fan in fans:
        own, heads = fan_seen(stage, see)(fan), stage.plan.neurons[fan.before + 1]
        xy = see(heads.points).xy
        assert heads.values == stage.plan.neurons[fan.before].values
        assert xy[:, 0] == pytest.approx([x for x, _ in own.feet[0][: fan.inputs_count]])
        assert np.ptp(xy[:, 1]) < 0.01
        radius = heads.radius * own.cell
        assert xy[0, 1] - radius == pytest.approx(own.bus + TRUNK, abs=0.1)
        assert xy[0, 1] + radius < own.top
        paths = [path.points for path in ribbons(own)]
        assert all(path[-1][0] == pytest.approx(own.first) for path in paths[:-1])
        assert min(y for _, y in paths[-1]) == pytest.approx(own.bus)


def test_a_long_row_of_one_neuron_stands_upright_behind_what_it_reads() -> None:
    stage, see = seen("normed 2-16-16-1", (1280, 800))
    fan = stage.plan.fans[-1]
    own = fan_seen(stage, see)(fan)
    assert fan.form == "upright"
    apart = np.diff([y for _, y in own.feet[0]])
    assert apart == pytest.approx(apart[0]) and apart[0] > 20.0  # the bias is last, below
    down = [foot[1] - ring[1] for foot, ring in zip(own.feet[0], own.starts, strict=False)]
    assert np.ptp(down) < 0.01 and abs(down[0]) < 0.5 * own.slot
    right = max(x + radius for x, _, radius in own.starts)
    zero, added, longest = own.bars
    assert right < own.feet[0][0][0] < zero - longest and zero + longest < own.gates[0][0]
    strokes = strokes_of(own, [1.0] * 16, [[0.5] * 17], [[0.2] * 17], summed=True)
    assert crossings([each.points for each in strokes if each.kind == "in"]) == 0
    assert strokes[-1].value == pytest.approx(8.5) and strokes[-1].points[0][0] == added


def test_bars_of_an_upright_row_begin_at_zero_and_are_to_scale() -> None:
    stage, see = seen("normed 2-16-16-1", (1280, 800))
    own, terms = fan_seen(stage, see)(stage.plan.fans[-1]), [(-1.0) ** i * i for i in range(17)]
    notes = Notes(1280, 800)
    row = OpenRow(0, 16, [1.0] * 17, terms, [0.1] * 17, terms, sum(terms), 1.0, 0.0, "", [])
    draw_upright(notes, DARK, own, row, ("minus", "plus"), written=False)
    zero, _, longest = own.bars
    for (x, _, wide, _, color, _), term in zip(notes.noted, terms[1:], strict=True):
        assert wide == pytest.approx(longest * abs(term) / 16.0)
        assert (x if term > 0.0 else x + wide) == pytest.approx(zero)
        assert color == ("plus" if term > 0.0 else "minus")


def number_in(words: str) -> float:
    return float(words.strip(" ×=").replace("−", "-"))


@pytest.mark.parametrize(
    ("name", "times"),  # also products from 10 on
    [
        ("tanh 2-8-8-1", 1.0),
        ("tanh 2-16-16-1", 1.0),
        ("normalized", 1.0),
        ("normalized", 30.0),
    ],
)
def test_an_upright_row_has_its_arithmetic_beside_it(name: str, times: float) -> None:
    stage, see = seen(name, (1280, 800))
    data = stage.frame_data()
    number = len(data.layout.fans) - 1
    own, row = fan_seen(stage, see)(data.layout.fans[number]), open_row(number, 0, data)
    row = replace(
        row,
        weights=[times * each for each in row.weights],
        terms=[times * each for each in row.terms],
        result=times * row.result,
    )
    canvas = Canvas2D(1280, 800)
    draw_upright(canvas, DARK, own, row, ("#0000ff", "#ff8000"), written=True)
    heads = [canvas.words.index(each) + 1 for each in ("= adds", "output", "× weight")]
    products, comes, weights = (
        [number_in(each) for each in canvas.words[head : head + count]]
        for head, count in zip(heads, (row.inputs + 1, row.inputs, row.inputs + 1), strict=True)
    )
    added = next(each for each in canvas.words if each.startswith("added up: "))
    assert sum(products) == pytest.approx(number_in(added.removeprefix("added up: ")))
    assert sum(products) == pytest.approx(row.result, abs=0.00501)
    for x, weight, product in zip(comes, weights, products, strict=False):
        assert abs(x * weight - product) < 0.005
    assert not {*data.layout.fans[number].all_rows[0].tolist()} & {
        *numbers_on_cubes(canvas, see, data, at_rest=True)
    }


@pytest.mark.parametrize("value", [0.475, -3.005, 12.345, 123.456, -1234.5])
@pytest.mark.parametrize("digits", [2, 3, 4])
def test_a_number_is_read_as_it_is_printed(value: float, digits: int) -> None:
    assert in_print(value, digits) == float(short(value, digits).replace(",", ""))


def test_the_printed_products_of_a_row_follow_from_its_factors_and_add_up(
    rng: np.random.Generator,
) -> None:
    follow = []
    for _ in range(200):
        x, weights = np.where(rng.random(17) < 0.4, 0.0, rng.normal(size=17)), rng.normal(size=17)
        terms = (x * weights).tolist()
        lines = adding_up(x.tolist(), weights.tolist(), terms, sum(terms))
        printed = [product for _, _, product in lines]
        follow += [abs(float(x) * float(w) - product) < 0.005 for x, w, product in lines]
        assert sum(printed) == pytest.approx(round(sum(terms), 2))
        assert np.abs(np.subtract(printed, terms)).max() < 0.01
        assert all(each == 0.0 for each, term in zip(printed, terms, strict=True) if not term)
    assert np.mean(follow) > 0.99


def test_a_sum_in_words_has_its_largest_terms_and_the_rest_as_one() -> None:
    terms = [0.31, -1.2, 0.0, 0.052, 2.0]
    assert sum_words(terms, 1.1, 2) == "2.00 − 1.20 + 3 others with b .30"
    assert sum_words(terms[:3], -1.0, 3) == "−1.20 + .31 + b −.11"
    assert sum_words(terms[:2], -0.89, 5) == "−1.20 + .31"


def test_the_way_to_red_ends_in_a_sum_that_adds_up_in_print() -> None:
    words = thread_words(0.2149, 1, 1.306, [0.4, 0.2149 * 1.306, -0.3], 0.4, 0.598)
    assert words == "red: .21 × 1.31 + .40 − .30 + b .02 = .40; the S-curve makes it .60"


def test_a_row_is_opened_by_the_mouse_else_the_one_that_adds_most() -> None:
    stage, _ = seen("normed 2-16-16-1", (1280, 800))
    data = stage.frame_data()
    line = data.layout.neurons[data.layout.fans[-1].before]
    said = data.buffers.values[line.values]
    last = data.weights[data.layout.fans[-1].all_rows[0, :16]]
    assert open_unit(1, data) == int(np.abs(said * last).argmax())
    fan = data.layout.fans[1]
    hovered = data.with_numbers(hover_neuron=(data.layout.neurons[fan.after].values, 5))
    assert open_unit(1, hovered) == 5
    first = data.with_numbers(hover_neuron=(data.layout.neurons[0].values, 0))
    assert open_unit(1, first) == open_unit(1, data)
    assert fan.form == "long"


@pytest.mark.parametrize(
    ("name", "size", "strips"),
    [
        ("tanh 2-4-2-1", (500, 500), 0),
        ("tanh 2-8-8-1", (1280, 800), 0),
        ("tanh 2-12-12-12-1", (1280, 800), 3),
        ("tanh 2-6-4-1", (500, 500), 3),
    ],
)
def test_rows_of_small_cubes_are_strips_without_wires_and_one_is_opened_above_them(
    name: str, size: tuple[int, int], strips: int
) -> None:
    stage = stage_of(trained(name), size)
    data, see = stage.frame_data(), projection(stage)
    pairs = zip(data.layout.fans, known_fans(see, data.layout, 1.0), strict=True)
    found = [(carried(fan, data), each.seen) for fan, each in pairs if each and fan.form == "strip"]
    assert len(found) == strips and bool(data.layout.neurons[0].aside) == (strips > 0)
    for own, fan in found:
        lines = strokes_of(fan, own.values, own.terms, own.halves, summed=True)
        assert {line.kind for line in lines} <= {"in", "ribbon", "sum"} and len(lines) < 27
    boxes = draw_row_sheet(Canvas2D(*size), see, data, DARK)
    assert len(boxes) == (strips > 0)
    for box in boxes:
        assert box.bottom < min(fan.top for _, fan in found) and box.y >= see.box.y
        assert slot_of(box.width, len(found[-1][1].feet[0]), 1.0) >= 20.0 * NARROWEST


def test_a_strip_stays_open_while_it_plays_and_the_mouse_opens_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[tuple[int, int]] = []
    stage = stage_of(trained("tanh 2-12-12-12-1"), (1280, 800))
    see, data = projection(stage), stage.frame_data()
    made = open_row(2, 0, data)
    monkeypatch.setattr(long_rows, "open_row", lambda *row: opened.append(row[:2]) or made)
    for neuron in (None, (data.layout.neurons[2].values, 5)):
        draw_row_sheet(Canvas2D(1280, 800), see, data.with_numbers(hover_neuron=neuron), DARK)
    assert opened == [(2, data.thread[0][2]), (1, 5)]
    monkeypatch.setattr("scalarviz.stage.stage.thread_of", lambda *_: data.thread[1:])
    for plays in (True, False):
        stage.reading.now = stage.reading.now._replace(playing=plays)
        stage._follow_thread()
        assert (stage._thread == data.thread) == plays


def test_a_gate_has_the_curve_of_a_layer_of_a_compiled_function() -> None:
    stage, _ = seen("micrograd", (1280, 800))
    bends = [stage.plan.neurons[fan.after].bends for fan in stage.plan.fans]
    for hinge in bends[:2]:
        assert hinge[0] == hinge[len(hinge) // 2] < hinge[-1]
    assert len(bends[2]) == 2  # a straight line


def test_rows_and_columns_are_level_and_upright() -> None:
    fans = fans_of("tanh 3-8-3", (1280, 800))
    assert len(fans) == 2
    for fan in fans:
        for feet in fan.feet:
            assert np.ptp([y for _, y in feet]) < 0.01
        for column in zip(*fan.feet, strict=True):
            assert np.ptp([x for x, _ in column]) < 0.01


def test_the_longest_rows_give_way_first() -> None:
    first, second = fans_of("tanh 3-8-3", (1280, 800))
    assert first.slot > 1.2 * second.slot
    sides = fans_of("tanh 2-4-3", (1280, 800))
    assert min(each.slot for each in sides) > first.slot


def test_a_camera_near_the_front_keeps_what_is_level_level() -> None:
    assert CAMERA.lean != (0.0, 0.0)
    assert CAMERA.seen(1.0, 0.0, 0.0) == pytest.approx((1.0, 0.0, 0.0))
    assert CAMERA.seen(0.0, 1.0, 0.0) == pytest.approx((0.0, 1.0, 0.0))
    left, down, _ = CAMERA.seen(0.0, 0.0, 1.0)
    assert left < 0.0 and down < 0.0  # what is nearer stands left and below
    turned = Camera(azimuth=50.0, elevation=30.0)
    assert turned.plane == pytest.approx((39.0, 19.0))
    assert np.dot(turned.toward, turned.way(0.0, 0.0, 1.0)) > np.cos(np.radians(16.0))


def test_sizes_are_volumes() -> None:
    plate = stage_of(trained("30-8-3"), (640, 400)).plan.plates[0]
    halves = plate.halves(np.array([1.0, 0.125, 0.0, 8.0, np.nan]), 1.0) / plate.half
    assert halves == pytest.approx([1.0, 0.5, 0.3, 1.06, 1.0])


# Layouts of all networks.

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


def matrices(program: Program) -> list[tuple[int, Operation]]:
    """The operations that have a wall, by their place."""
    return [(i, op) for i, op in enumerate(program.operations) if len(op.shape) > 1]


def fans(program: Program, layout: Layout) -> list[tuple[Fan, Operation, int]]:
    """Each fan of a layout with its operation, and the number of its group."""
    groups = [
        (op, group)
        for _, op in matrices(program)
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
    assert rows == [op.weights + i for _, op in matrices(program) for i in range(prod(op.shape))]
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


def test_rows_are_the_matrix_level_with_their_balls_and_the_bias_is_last() -> None:
    _, layout = dense(3, 8, 3)
    for line in layout.neurons:
        assert np.ptp(line.points[:, 0]) == np.ptp(line.points[:, 2]) == 0.0
    wall, biases, second, _ = layout.plates
    assert (wall.rows, wall.columns) == (8, 3) and (second.rows, second.columns) == (3, 8)
    assert (biases.rows, biases.columns, biases.role) == (8, 1, "bias")
    cubes = cubes_of(layout)
    for fan in layout.fans:
        for unit, ball in enumerate(fan.ends):
            places = np.array([cubes[row] for row in fan.first_rows[unit].tolist()])
            np.testing.assert_allclose(places[:, 1:], np.tile(ball[1:], (len(places), 1)))
            assert places[:-1, 0].max() < places[-1, 0] < ball[0]
            # From inputs, columns stand in the order of these; from neurons, as wires arrive.
            steps = np.diff(places[:-1, 0])
            assert (steps < 0.0 if fan.form == "nested" else steps > 0.0).all()
            np.testing.assert_allclose(np.diff(np.sort(places[:, 0])), abs(steps[0]))


def test_adding_a_neuron_never_turns_the_picture_and_rows_never_cross() -> None:
    assert {dense(3, hidden, 3)[1].views["perspective"] for hidden in (2, 8, 20, 60)} == {CAMERA}
    for sizes in ((3, 60, 3), (2, 8, 8, 8, 8, 2)):
        for fan in dense(*sizes)[1].fans:
            assert (np.diff(fan.rows[:, 1]) < 0.0).all()
            assert (np.diff(fan.rows[:, 1]) >= -PITCH * 1.001).all()
            assert np.ptp(fan.rows[:, 1]) <= HIGH


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
    for label, (place, operation) in zip(layout.labels, matrices(program), strict=True):
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
        assert along.tolist() == RIGHT.tolist() and across.tolist() == DOWN.tolist()


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
        assert way[0, 0] in [units_of(each)[0, 0] for each in lines if each is not line]
        assert way[-1, 0] == units_of(line)[0, 0]
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


def branched() -> Program:
    product = sv.Product([sv.Dense(6, 8, "tanh"), sv.Dense(8, 6)], sv.Dense(6, 6))
    joined = sv.Concatenate(sv.Dense(6, 4, "tanh"), sv.Residual(sv.Dense(6, 6)))
    return sv.Network([sv.Dense(3, 6, "tanh"), product, joined, sv.Dense(10, 3)]).program


def pictures() -> Program:
    a, b = sv.Conv2d(SHAPE, 2, padding=1), sv.Activation(SHAPE, "tanh")
    return sv.Network([sv.Concatenate(a, b), sv.Conv2d((3, 4, 4), 2)]).program


every_program = pytest.mark.parametrize("make", [branched, pictures])


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
    assert len(again) == len(joins) + (len(joins) + 1) // 2  # one of them is a Residual


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


@pytest.mark.parametrize("turned", [False, True])
def test_each_cube_has_the_color_of_its_number_and_the_ground_is_seen_between(
    studio: Studio, turned: bool
) -> None:
    plate = plate_of(4, 3, 3, 3, turned=turned)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 108)
    see = framed([plate], fov=0.0)
    pixels = studio.look(studio.cubes([plate], values, np.ones(108)), see)
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
            found = picked([plate], see, x + 0.5, y + 0.5, lambda *_: plate.half)
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
    cover = (2.0 * HALF * FIELD) ** 2  # kernels are flat fields of one size
    for i, j in np.ndindex(plate.rows // 4, plate.columns // 4):
        cells = [plate.index_of(4 * i + y, 4 * j + x) for y, x in np.ndindex(4, 4)]
        own = values[[row for row in cells if row != NONE]]
        color, share = table[i, columns + j, 0], table[i, columns + j, 3]
        assert len(own) == 9 and share == pytest.approx(255 * cover * 9 / 16, abs=1.0)
        number = np.clip(own.mean() * 0.25 * strength_of(2, spread), -1.0, 1.0)
        assert color == pytest.approx(255 * (0.5 + 0.5 * number), abs=2.0)


# Walls, in which every weight is a cube.

TEXTURE = [
    sv.FrequencyEncoding(2, octaves=3),
    *[sv.Dense(12, 64), sv.Dense(64, 64)],
    sv.Dense(64, 3),
]
IMAGES = [
    *(sv.Conv2d((1, 8, 8), 8, 3, padding=1, activation="relu"), sv.MaxPool2d((8, 8, 8))),
    *(sv.Conv2d((8, 4, 4), 16, 3, activation="relu"), sv.BatchNorm((16, 2, 2))),
    sv.Dense(64, 10),
]
NETWORKS: dict[str, Sequence[Any]] = {
    "texture": TEXTURE,
    "digits": IMAGES,
    "table": [300, 12, 10],
    "wide": [12, 400, 200, 3],
    "deep": [20] * 12,
    "groups": [
        sv.Conv2d((4, 3, 3), 6, 2, groups=2, bias=False),
        sv.Flatten((6, 2, 2)),
        sv.Dense(24, 2),
    ],
    "residual": [sv.Dense(3, 9), sv.Residual(sv.Dense(9, 5), sv.Dense(5, 9)), sv.LayerNorm(9)],
    "one": [sv.LayerNorm(30)],
}
WALLS = {name: sv.Network(layers, seed=0).program for name, layers in NETWORKS.items()}
every_network = pytest.mark.parametrize("name", NETWORKS)
SHAPES = pytest.mark.parametrize("aspect", [0.6, 1.4, 2.4])


def walls_of(program: Program, aspect: float = 1.75) -> Layout:
    return walls(program, lambda label: (f"layer {label}", "about"), {}, aspect)


def seen_walls(layout: Layout, aspect: float) -> Projection:
    box = Box(0.0, 0.0, 800.0 * aspect, 800.0)
    reach = lambda way: float((layout.extent @ way).max())  # noqa: E731
    camera = layout.views["perspective"].framing(reach, aspect)
    return Projection(camera, box, box.width, box.height, 1e4)


@every_network
def test_every_weight_is_one_cube(name: str) -> None:
    program = WALLS[name]
    indices = np.sort(np.concatenate([plate.cells()[2] for plate in walls_of(program).plates]))
    parts = [np.r_[each.parameters] for each in program.operations if each.parameters]
    np.testing.assert_allclose(indices, np.sort(np.concatenate(parts)))


@every_network
@SHAPES
def test_no_cube_is_inside_another_and_no_neuron_inside_a_cube(name: str, aspect: float) -> None:
    layout = walls_of(WALLS[name], aspect)
    middles = [p.point(p.cells()[1] + 0.5, p.cells()[0] + 0.5) for p in layout.plates]
    places = np.round(np.concatenate(middles), 3)
    assert len(np.unique(places, axis=0)) == len(places)
    for plate, other in combinations(layout.plates, 2):
        a, b = plate.corners(0.4), other.corners(0.4)
        apart = (a.max(axis=0) <= b.min(axis=0) + 1e-6) | (b.max(axis=0) <= a.min(axis=0) + 1e-6)
        assert apart.any()
    for line in layout.neurons:
        for plate in layout.plates:
            low, high = plate.corners(0.4).min(axis=0), plate.corners(0.4).max(axis=0)
            assert not ((line.points > low) & (line.points < high)).all(axis=1).any()


@pytest.mark.parametrize("name", ["texture", "digits", "deep", "wide"])
@SHAPES
def test_no_wall_hides_a_part_of_another(name: str, aspect: float) -> None:
    layout = walls_of(WALLS[name], aspect)
    see = seen_walls(layout, aspect)
    boxes = []
    for plate in layout.plates:
        corners = see(plate.point([0, plate.columns], [0, plate.rows])).xy
        boxes.append((plate.operation, corners[0], corners[1]))
    for (one, left, right), (other, start, end) in combinations(boxes, 2):
        is_beside = right[0] <= start[0] + 4.0 or end[0] <= left[0] + 4.0
        is_above = right[1] <= start[1] + 4.0 or end[1] <= left[1] + 4.0
        assert one == other or is_beside or is_above


def test_a_row_is_a_neuron_and_a_column_an_input() -> None:
    program = WALLS["texture"]
    layout = walls_of(program)
    operation = next(each for each in program.operations if each.shape == (64, 64))
    first = layout.plate_of(operation.weights)
    plate = first[0]
    assert (plate.rows, plate.columns, plate.place_of(operation.weights + 64 + 2)) == (
        64,
        64,
        (1, 2),
    )
    np.testing.assert_allclose([plate.along, plate.across], [NEAR, -ROW * UP])
    bias = layout.plate_of(operation.biases + 5)
    np.testing.assert_allclose(
        bias[0].point(0.5, 5.5) - plate.point(63.5, 5.5), 1.5 * NEAR, atol=1e-9
    )
    fan, unit = layout.fan_of(operation.weights + 5 * 64 + 3) or (None, -1)
    np.testing.assert_allclose(fan.rows[unit] + fan.columns[3], plate.point(3.5, 5.5), atol=1e-9)
    np.testing.assert_allclose(fan.ends[unit, 1], plate.point(3.5, 5.5)[1], atol=1e-9)


@pytest.mark.parametrize("layout", [of(DIGITS), walls_of(WALLS["digits"])], ids=["rows", "walls"])
def test_a_pixel_of_an_image_is_picked_where_it_is_seen(layout: Layout) -> None:
    see = seen_walls(layout, 1.75)
    for line in layout.neurons:
        places = see(line.points).xy.tolist()
        for i in range(0, len(places), 5) if line.shape else ():
            found = seen_at(Layout([], [line], [], []), see, *places[i], lambda *_: HALF)
            assert found == (NONE, (line.buffer, i))


def test_rows_of_few_outputs_are_spread_at_the_top() -> None:
    last = walls_of(WALLS["texture"]).neurons[-1].points
    high = 64 * ROW
    np.testing.assert_allclose(np.diff(last[:, 1]), -high / 16)
    assert 0.35 * high < last[0, 1] < 0.5 * high


def test_long_rows_without_a_place_are_walls_by_themselves() -> None:
    def session(*sizes: int) -> sv.Session:
        data = np.zeros((4, sizes[0])), np.zeros((4, sizes[-1]))
        return sv.Session(sv.Network(list(sizes), seed=0), data)

    assert not has_walls(session(3, 8, 3))
    assert has_walls(session(2, 64, 64, 1))
    assert not shows_every_weight(session(2, 200, 200, 1))
    assert shows_every_weight(session(200, 8, 1))
    assert not shows_every_weight(session(100, 8, 1))


def test_eight_weights_of_a_last_neuron_stand_upright_so_that_slots_are_wide() -> None:
    stage = stage_of(trained("tanh 2-8-8-1"), (1280, 800))
    see, layout = projection(stage), stage.frame_data().layout
    assert [fan.form for fan in layout.fans] == ["", "nested", "upright"]
    slots = [known.seen.slot for known in known_fans(see, layout, 1.0) if known is not None]
    assert min(slots) >= LEAST_SLOT  # beside the arithmetic of the last one
    few = stage_of(trained("tanh 2-4-3-1"), (1280, 800)).frame_data().layout
    assert [fan.form for fan in few.fans] == ["", "nested", "nested"]


def test_above_gains_and_shifts_are_their_signs_and_what_is_evened_out_is_on_the_same_levels() -> (
    None
):
    layout = stage_of(trained("normalized"), (1280, 800)).frame_data().layout
    long = "the 8 normalized: mean 0, spread 1"
    assert [each.words for each in layout.heads] == ["×", "+", long, "×", "+", "normalized"]
    assert [line.square for line in layout.neurons[1:7]] == 2 * [False, False, True]
    assert [line.told for line in layout.neurons[1:7]] == 2 * [False, True, True]
    tops = [line.points[0, 1] for line in layout.neurons]
    assert tops[1] == tops[2] == tops[3] != tops[4] == tops[5] == tops[6]
