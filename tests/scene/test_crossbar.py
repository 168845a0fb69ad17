"""Texts of a crossbar: numbers beside their bars, sums that close, and arrows."""

from __future__ import annotations

import math
from typing import Any

import pytest

from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.crossbar_ink import boxes_of_marks, layer_numbers, marks_in
from scalarviz.scene.crossbar_marks import LayerNumbers, Mark, pull_marks
from scalarviz.scene.layout.crossbar_layout import Crossbar
from scalarviz.scene.marks import cube_boxes, draw_pushes, pushed_rows
from scalarviz.stage.stage import Stage
from tests.scene.measures import (
    DARK,
    Notes,
    at_each_operation,
    covered_numbers,
    look,
    projection,
    stage_of,
    trained,
)

SCENES = ["rgb", "circle", "xor", "xnor", "micrograd"]
every_scene = pytest.mark.parametrize("name", SCENES)


def marks_on(stage: Stage) -> tuple[Crossbar, list[LayerNumbers], list[Mark]]:
    data, see = stage.frame_data(), projection(stage)
    placed = data.layout.crossbar
    assert placed is not None
    return placed, layer_numbers(data), marks_in(placed, see, data)


def number(words: str) -> float:
    return float(words.strip(" +=").replace("−", "-").replace(",", ""))


def numbers_by_row(marks: list[Mark]) -> dict[int, Mark]:
    """The number of each weight: the first words of its bank index."""
    found: dict[int, Mark] = {}
    for mark in marks:
        if mark.kind == "words" and mark.row >= 0:
            found.setdefault(mark.row, mark)
    return found


@every_scene
def test_a_number_is_its_weight_at_the_printed_digits_and_beside_its_bar(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    placed, layers, marks = marks_on(stage)
    found, checked = numbers_by_row(marks), 0
    for board, layer in zip(placed.boards, layers, strict=True):
        for unit, (weights, rows) in enumerate(zip(layer.weights, layer.rows, strict=True)):
            for column, (weight, row) in enumerate(zip(weights, rows, strict=True)):
                if row not in found:
                    continue
                words, ((x, y),) = found[row].words, found[row].points
                assert abs(number(words) - weight) <= 0.501 * 0.1 ** len(words.partition(".")[2])
                right, level = board.weight(unit, column)
                assert right < x < right + 0.6 * placed.cells.wide
                assert abs(y - level) < 0.5 * placed.cells.high
                checked += 1
    few = {"xnor": 9, "micrograd": 17}  # the weights of a lane
    assert checked == few.get(name, len(stage.session.network.bank))


@pytest.mark.parametrize("name", ["xnor", "micrograd"])
def test_weights_without_numbers_have_them_while_they_or_their_neuron_are_hovered(
    name: str,
) -> None:
    stage = stage_of(trained(name), (1280, 800))
    _, layers, marks = marks_on(stage)
    rest, rows = {*numbers_by_row(marks)}, layers[1].rows[2]
    assert not rest & {*rows}
    stage.hover_neuron = stage.plan.neurons[2].values, 2
    assert {*numbers_by_row(marks_on(stage)[2])} - rest == {*rows}
    stage.hover_neuron, stage.hover = None, rows[3]
    assert {*numbers_by_row(marks_on(stage)[2])} - rest == {rows[3]}


@every_scene
def test_the_products_of_a_lane_add_up_in_print_to_its_sum(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    placed, layers, marks = marks_on(stage)
    assert placed.lanes
    for lane in placed.lanes:
        board, layer = placed.boards[lane.layer], layers[lane.layer]
        rows, products = layer.rows[lane.neuron], []
        for row in rows:
            own = [mark for mark in marks if mark.row == row]
            assert len(own) == 2  # the weight, and its product
            words = own[1].words
            is_silent = layer.comes[rows.index(row)] == 0.0 if row != rows[-1] else False
            products.append(0.0 if is_silent and board.across else number(words.split("=")[-1]))
        total = layer.sums[lane.neuron]
        assert sum(products) == pytest.approx(total, abs=0.00501)
        of = [mark.words for mark in marks if mark.neuron == (layer.buffer, lane.neuron)]
        said = of[0].removeprefix("sum ").partition(";")[0]
        assert number(said) == pytest.approx(sum(products), abs=1e-9)


@every_scene
def test_no_words_meet_others_and_all_are_on_the_stage(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    data, see = stage.frame_data(), projection(stage)
    boxes = boxes_of_marks(Canvas2D(1280, 800), see, data)
    assert len(boxes) > 20
    for i, box in enumerate(boxes):
        others = [other for other in boxes[i + 1 :] if other.inside(1.0).meets(box.inside(1.0))]
        assert not others, (box, others)
        assert see.box.inside(-16.0).has(box.x, box.y) and box.right < 1280.0


def test_a_number_wider_than_its_neuron_has_its_sum_beside_it() -> None:
    stage = stage_of(trained("micrograd"), (1280, 800))
    assert covered_numbers(stage, look(stage)) == []


class Lines(Notes):
    """A canvas that notes lines."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(width, height)
        self.lines: list[list[tuple[float, float]]] = []

    def line(self, points: Any, color: Any, **look: Any) -> None:
        self.lines.append([*points])


@pytest.mark.parametrize("name", ["rgb", "circle"])
def test_arrows_of_gradients_are_on_their_bars(name: str) -> None:
    show, count = trained(name), 0
    show.session.seek(show.session.step_index)
    for stage in at_each_operation(show, (1280, 800)):
        data, see, canvas = stage.frame_data(), projection(stage), Lines(1280, 800)
        bars = cube_boxes(see, data, pushed_rows(data), None)
        assert draw_pushes(canvas, see, data, DARK) == (len(canvas.lines) > 0)
        for (x, _), *_ in [each for each in canvas.lines if len(each) == 2]:
            assert any(bar.x < x < bar.right for bar in bars)
            count += 1
    assert count > 10
    show.session.seek(show.session.step_index - 1)


@pytest.mark.parametrize(("name", "below"), [("rgb", 0.0), ("circle", 18.0)])
def test_an_error_signal_ends_before_its_neuron_and_the_number_below_it(
    name: str, below: float
) -> None:
    placed, layers, _ = marks_on(stage_of(trained(name), (1280, 800)))
    pulls = [0.1 * (-1.0) ** i for i in range(len(layers[1].weights))]
    marks = pull_marks(placed, 0, 1, pulls, of_weights=False)
    assert [mark.kind for mark in marks] == [*["line" for _ in pulls], "arrow"]
    start, end = marks[-1].points
    neuron = placed.boards[0].neuron(1)
    far = math.dist(end, neuron)
    assert far >= 0.5 * placed.sizes[1] + below
    assert math.dist(start, end) + far == pytest.approx(math.dist(start, neuron))


def test_a_turned_crossbar_has_no_numbers() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    assert marks_on(stage)[2]
    stage.eyes.orbit(60.0, 0.0)
    assert not stage.eyes.camera.is_front and marks_on(stage)[2] == []
