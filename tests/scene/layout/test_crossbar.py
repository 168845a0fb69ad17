"""The crossbar: every crossing of two lines has a weight, and cells fit the stage."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.scene.layout.crossbar import Board, Cells, boards_of, bounds_of, fit
from scalarviz.scene.layout.crossbar_layout import Lane, best_cells
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.stage.channels import needed_by
from scalarviz.stage.network_layout import layout_of

Line = tuple[float, float, float, int, str]  # coordinate, ends, layer, kind
CHAINS = random.Random(0)
SIZES = [[CHAINS.randint(1, 12) for _ in range(CHAINS.randint(2, 8))] for _ in range(400)]


def lines_of(boards: list[Board]) -> tuple[list[Line], list[Line]]:
    """Return the horizontal and the vertical lines of all layers."""
    flat: list[Line] = []
    upright: list[Line] = []
    for layer, board in enumerate(boards):
        for i, at in enumerate(board.inputs):
            (x, y), (to_x, to_y) = board.source(i), board.end(i)
            ends = sorted((x, to_x) if board.across else (y, to_y))
            (flat if board.across else upright).append((at, *ends, layer, "input"))
        for j, at in enumerate(board.neurons):
            (x, y), (to_x, to_y) = board.begin(j), board.neuron(j)
            ends = sorted((y, to_y) if board.across else (x, to_x))
            (upright if board.across else flat).append((at, *ends, layer, "neuron"))
    return flat, upright


def crossings(boards: list[Board]) -> tuple[int, int]:
    """Return how many crossings are places of weights, and how many are not."""
    flat, upright = lines_of(boards)
    good = bad = 0
    near = 1e-6
    for y, left, right, layer, kind in flat:
        for x, top, low, other, what in upright:
            if not (left - near <= x <= right + near and top - near <= y <= low + near):
                continue
            is_end = min(x - left, right - x) < near or min(y - top, low - y) < near
            if layer == other and kind != what:
                good += 1
            elif not is_end:
                bad += 1
    return good, bad


@pytest.mark.parametrize("across", [True, False])
def test_lines_cross_only_where_a_weight_is(across: bool) -> None:
    total = 0
    for sizes in SIZES:
        cells = Cells(40.0, 40.0, 30.0, across, curved=False)
        boards = boards_of(sizes, cells, [True] * (len(sizes) - 1), {})
        good, bad = crossings(boards)
        assert bad == 0, sizes
        assert good == sum((inputs + 1) * units for inputs, units in pairwise(sizes)), sizes
        total += good
    assert total == 75_484


def test_columns_sum_downwards_and_upwards_in_turn_and_rows_to_the_right() -> None:
    cells = Cells(40.0, 40.0, 30.0, across=True, curved=False)
    boards = boards_of([2, 3, 3, 3, 3, 1], cells, [True] * 5, {})
    assert [board.across for board in boards] == [True, False, True, False, True]
    assert [board.way for board in boards] == [1, 1, -1, 1, 1]


def test_results_of_a_layer_are_the_lines_that_come_into_the_next() -> None:
    cells = Cells(50.0, 40.0, 30.0, across=True, curved=False)
    first, second = boards_of([2, 4, 3], cells, [True, True], {})
    assert [first.neuron(j) for j in range(4)] == [second.source(j) for j in range(4)]
    assert [first.weight(j, 1) for j in range(4)] == [
        (x, first.inputs[1]) for x in second.inputs[:4]
    ]


@pytest.mark.parametrize("sizes", [[3, 8, 3], [2, 4, 1], [2, 8, 8, 8, 1], [2, 16, 16, 1], [12, 3]])
@pytest.mark.parametrize("stage", [(936.0, 576.0), (390.0, 380.0), (560.0, 300.0)])
def test_cells_fit_the_stage(sizes: list[int], stage: tuple[float, float]) -> None:
    biased = [True] * (len(sizes) - 1)
    for across in (True, False):
        cells, _ = fit(sizes, *stage, 34.0, biased, {}, across=across)
        left, top, right, bottom = bounds_of(boards_of(sizes, cells, biased, {}), {})
        assert right - left <= stage[0]
        assert bottom - top <= stage[1]
        assert cells.least >= 2.0


def test_inputs_come_from_the_left_on_a_wide_stage_and_from_above_on_a_phone() -> None:
    session = sv.Session(
        sv.Network([3, 8, 3], "tanh", "sigmoid", seed=0), sv.data.Rgb("invert"), engine="python"
    )
    wide, high = (layout_of(session, room=room) for room in ((936.0, 576.0), (360.0, 380.0)))
    assert wide.crossbar is not None
    assert high.crossbar is not None
    assert wide.crossbar.cells.across
    assert not high.crossbar.cells.across


def test_lanes_are_where_they_are_legible() -> None:
    given = ([3, 8, 3], (936.0, 576.0), 34.0, [True, True])
    _, lanes, _, _ = best_cells(*given, {}, across=True, tied=True)
    assert lanes == [Lane(0, 0), Lane(1, 2)]
    _, lanes, _, _ = best_cells(*given, {0: 5, 1: 1}, across=True, tied=True)
    assert lanes == [Lane(0, 5), Lane(1, 1)]
    small = ([3, 8, 3], (300.0, 200.0), 34.0, [True, True])
    assert best_cells(*small, {}, across=True, tied=True)[1] == []


def network(sizes: list[int]) -> sv.Session:
    data = (np.zeros((4, sizes[0])), np.zeros((4, sizes[-1])))
    return sv.Session(sv.Network(sizes, "tanh", seed=0), data, engine="python")


@pytest.mark.parametrize("sizes", [[3, 8, 3], [2, 8, 8, 8, 1], [2, 16, 16, 1], [1, 5, 1], [7, 2]])
def test_each_weight_has_one_bar_where_its_lines_cross(sizes: list[int]) -> None:
    layout = layout_of(network(sizes), room=(936.0, 576.0))
    crossbar = layout.crossbar
    assert crossbar is not None
    seen = []
    for fan, board in zip(layout.fans, crossbar.boards, strict=True):
        for j, rows in enumerate(fan.all_rows.tolist()):
            for i, row in enumerate(rows):
                found = layout.plate_of(row)
                assert found is not None
                plate, down, right = found
                x, y, _ = plate.point(right + 0.5, down + 0.5)
                at = x / PIXEL + crossbar.corner[0], crossbar.corner[1] - y / PIXEL
                np.testing.assert_allclose(at, board.weight(j, i), atol=1e-6)
                seen.append(row)
    count = sum((inputs + 1) * units for inputs, units in pairwise(sizes))
    assert sorted(seen) == [*range(count)]


def test_only_chains_of_small_dense_layers_are_crossbars() -> None:
    room = 936.0, 576.0
    assert layout_of(network([2, 20, 1]), room=room).crossbar is not None
    assert layout_of(network([2, 21, 1]), room=room).crossbar is None
    normed = sv.Network([sv.Dense(2, 4, "tanh"), sv.LayerNorm(4), sv.Dense(4, 1)], seed=0)
    session = sv.Session(normed, (np.zeros((4, 2)), np.zeros((4, 1))), engine="python")
    assert layout_of(session, room=room).crossbar is None


@pytest.mark.parametrize("sizes", [[3, 8, 3], [2, 8, 8, 8, 1]])
@pytest.mark.parametrize("seed", range(5))
def test_bars_never_meet(sizes: list[int], seed: int) -> None:
    layout = layout_of(network(sizes), room=(936.0, 576.0))
    count = sum((inputs + 1) * units for inputs, units in pairwise(sizes))
    numbers = np.random.default_rng(seed).normal(0.0, 1.0, count)
    top = needed_by(layout.plates, [-1] * len(layout.plates), numbers)[-1]
    boxes = []
    for plate in layout.plates:
        for down, right, row in zip(*plate.cells(), strict=True):
            half = float(plate.halves(numbers[row], top))
            corners = plate.corners_of(int(down), int(right), half)
            boxes.append((*corners[:, :2].min(axis=0), *corners[:, :2].max(axis=0)))
    for i, (left, low, right_end, high) in enumerate(boxes):
        for other in boxes[i + 1 :]:
            across = min(right_end, other[2]) - max(left, other[0])
            upwards = min(high, other[3]) - max(low, other[1])
            assert across <= 1e-9 or upwards <= 0.1 * PIXEL, (i, other)


def test_a_bar_stands_if_its_weight_is_positive_and_hangs_otherwise() -> None:
    layout = layout_of(network([2, 4, 1]), room=(936.0, 576.0))
    for plate in layout.plates:
        line = plate.point(0.5, 0.5)[1]
        stands, hangs = (
            plate.corners_of(0, 0, float(plate.halves(x, 1.0)))[:, 1] for x in (0.5, -0.5)
        )
        assert stands.min() == pytest.approx(line)
        assert stands.max() - line == pytest.approx(0.5 * 2.0 * plate.half)
        assert hangs.max() == pytest.approx(line)
        assert line - hangs.min() == pytest.approx(0.5 * 2.0 * plate.half)
