"""The layout "walls": each weight once, nothing hidden, rows in order."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import scalarviz as sv
from scalarviz.core.program import Program
from scalarviz.scene.layout.camera import Box
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import NEAR, UP, Layout
from scalarviz.scene.layout.trays import BIAS
from scalarviz.scene.layout.walls import ROW, walls
from scalarviz.stage.network_layout import has_walls, shows_every_weight

TEXTURE = [
    sv.FrequencyEncoding(2, octaves=3),
    *[sv.Dense(12, 64), sv.Dense(64, 64)],
    sv.Dense(64, 3),
]
DIGITS = [
    *(sv.Conv2d((1, 8, 8), 8, 3, padding=1, activation="relu"), sv.MaxPool2d((8, 8, 8))),
    *(sv.Conv2d((8, 4, 4), 16, 3, activation="relu"), sv.BatchNorm((16, 2, 2))),
    sv.Dense(64, 10),
]
NETWORKS: dict[str, Sequence[Any]] = {
    "texture": TEXTURE,
    "digits": DIGITS,
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
PROGRAMS = {name: sv.Network(layers, seed=0).program for name, layers in NETWORKS.items()}
every_network = pytest.mark.parametrize("name", NETWORKS)
SHAPES = pytest.mark.parametrize("aspect", [0.6, 1.4, 2.4])


def of(program: Program, aspect: float = 1.75) -> Layout:
    return walls(program, lambda label: (f"layer {label}", "about"), {}, aspect)


def seen(layout: Layout, aspect: float) -> Projection:
    box = Box(0.0, 0.0, 800.0 * aspect, 800.0)
    reach = lambda way: float((layout.extent @ way).max())  # noqa: E731
    camera = layout.views["perspective"].framing(reach, aspect)
    return Projection(camera, box, box.width, box.height, 1e4)


@every_network
def test_every_weight_is_one_cube(name: str) -> None:
    program = PROGRAMS[name]
    indices = np.sort(np.concatenate([plate.cells()[2] for plate in of(program).plates]))
    parts = [np.r_[each.parameters] for each in program.operations if each.parameters]
    assert_allclose(indices, np.sort(np.concatenate(parts)))


@every_network
@SHAPES
def test_no_cube_is_inside_another_and_no_neuron_inside_a_cube(name: str, aspect: float) -> None:
    layout = of(PROGRAMS[name], aspect)
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
    layout = of(PROGRAMS[name], aspect)
    see = seen(layout, aspect)
    boxes = []
    for plate in layout.plates:
        corners = see(plate.point([0, plate.columns], [0, plate.rows])).xy
        boxes.append((plate.operation, corners[0], corners[1]))
    for (one, left, right), (other, start, end) in combinations(boxes, 2):
        is_beside = right[0] <= start[0] + 4.0 or end[0] <= left[0] + 4.0
        is_above = right[1] <= start[1] + 4.0 or end[1] <= left[1] + 4.0
        assert one == other or is_beside or is_above


def test_a_row_is_a_neuron_and_a_column_an_input() -> None:
    program = PROGRAMS["texture"]
    layout = of(program)
    operation = next(each for each in program.operations if each.shape == (64, 64))
    first = layout.plate_of(operation.weights)
    plate = first[0]
    assert (plate.rows, plate.columns, plate.place_of(operation.weights + 64 + 2)) == (
        64,
        64,
        (1, 2),
    )
    assert_allclose([plate.along, plate.across], [NEAR, -ROW * UP])
    bias = layout.plate_of(operation.biases + 5)
    assert_allclose(bias[0].point(0.5, 5.5) - plate.point(63.5, 5.5), BIAS * NEAR, atol=1e-9)
    fan, unit = layout.fan_of(operation.weights + 5 * 64 + 3) or (None, -1)
    assert_allclose(fan.rows[unit] + fan.columns[3], plate.point(3.5, 5.5), atol=1e-9)
    assert_allclose(fan.ends[unit, 1], plate.point(3.5, 5.5)[1], atol=1e-9)


def test_rows_of_few_outputs_are_spread_at_the_top() -> None:
    last = of(PROGRAMS["texture"]).neurons[-1].points
    high = 64 * ROW
    assert_allclose(np.diff(last[:, 1]), -high / 16)
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
