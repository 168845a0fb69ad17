"""The texts of a crossbar: arithmetic that closes, numbers that are asked for, and focus."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from scalarviz.scene.crossbar_ink import Sheet, draw_crossbar_marks, layer_numbers
from scalarviz.scene.crossbar_marks import Mark, crossbar_marks
from scalarviz.scene.layout.plates import PIXEL
from scalarviz.scene.marks import box_of_neuron, cube_boxes
from scalarviz.stage.stage import Stage
from tests.scene.measures import DARK, Words, projection, stage_of, trained
from tests.story.caption_reader import closes

NETS = ["rgb", "xor", "circle", "xnor", "micrograd"]


def marks_of(stage: Stage) -> list[Mark]:
    data = stage.frame_data()
    placed = data.layout.crossbar
    assert placed is not None
    wide = data.layout.plates[0].wide / PIXEL
    return crossbar_marks(placed, layer_numbers(data), wide, 20.0, ())


def written(stage: Stage) -> Words:
    """A canvas with all texts of the crossbar."""
    canvas = Words(*stage._extent)
    draw_crossbar_marks(canvas, projection(stage), stage.frame_data(), DARK)
    return canvas


def number_in(words: str) -> float:
    return float(words.replace("−", "-").replace(" ", ""))


@pytest.mark.parametrize("name", NETS)
def test_the_products_of_a_lane_close_in_print_and_add_up_to_its_sum(name: str) -> None:
    stage = stage_of(trained(name), (1280, 800))
    placed, marks = stage.frame_data().layout.crossbar, marks_of(stage)
    assert placed is not None and placed.lanes
    for lane in placed.lanes:
        fan = stage.plan.fans[lane.layer]
        own = [
            [each.words for each in marks if each.row == row and each.kind == "words"]
            for row in fan.all_rows[lane.neuron]
        ]
        name_of = stage.plan.neurons[fan.after].buffer, lane.neuron
        total = next(each.words for each in marks if each.neuron == name_of and each.words)
        added = 0.0
        for weight, said in own:
            if "silent" in said:
                continue
            product = said.rpartition("= ")[2].removeprefix("+ ")
            if "×" in said:
                closes(f"{weight} {said}")
            added += number_in(product)
        assert added == pytest.approx(number_in(total.removeprefix("sum").strip("= ")), abs=1e-9)


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)], ids=str)
@pytest.mark.parametrize("name", NETS)
def test_no_number_of_a_crossbar_covers_another_one(name: str, size: tuple[int, int]) -> None:
    found = written(stage_of(trained(name), size)).found
    assert len(found) > 10
    for (words, box), (others, other) in itertools.combinations(found, 2):
        assert not box.inside(1.0).meets(other.inside(1.0)), (words, others)


@pytest.mark.parametrize("way", ["hover", "pinned"])
@pytest.mark.parametrize("row", [4, 40])
def test_a_weight_that_is_asked_for_has_its_number_where_others_have_none(
    row: int, way: str
) -> None:
    stage = stage_of(trained("rgb"), (800, 500))
    before = written(stage).words
    setattr(stage, way, row)
    stage.frame_data()
    number = f"{stage.session.network.bank.value[row]:.2f}".replace("0.", ".").replace("-", "−")
    assert number in written(stage).words and number not in before


def test_out_of_focus_a_crossbar_has_no_words() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    rest = len(written(stage).found)
    stage.hover_neuron = "tanh 0", 2
    focus = stage.frame_data().focus
    assert focus is not None and len(focus.rows) == 4
    numbers = [words for words, _ in written(stage).found if words.lstrip("−")[:1] in (".", "1")]
    assert rest > 60 and len([each for each in numbers if each != "1"]) == 4


@pytest.mark.parametrize("size", [(320, 200), (240, 400), (300, 300), (640, 420)], ids=str)
@pytest.mark.parametrize("name", NETS)
def test_all_of_a_crossbar_is_in_sight_on_small_stages(name: str, size: tuple[int, int]) -> None:
    stage = stage_of(trained(name), size)
    data, see = stage.frame_data(), projection(stage)
    rows = [int(row) for fan in data.layout.fans for row in fan.all_rows.flat]
    balls = [(line.values, i) for line in data.layout.neurons for i in range(line.count)]
    boxes = cube_boxes(see, data, rows, None)
    boxes += [box for each in balls if (box := box_of_neuron(see, data.layout, each))]
    assert len(boxes) == len(rows) + len(balls)
    view = see.box
    for box in boxes:
        assert view.x <= box.x and box.right <= view.right
        assert view.y <= box.y and box.bottom <= view.bottom


def test_a_cube_stands_if_its_weight_is_positive_else_it_hangs_as_high_as_it_is_large() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    data, see, tall = stage.frame_data(), projection(stage), {}
    for fan in data.layout.fans:
        for unit, column in np.ndindex(fan.all_rows.shape):
            row = int(fan.all_rows[unit, column])
            value = float(data.weights[row])
            (box,) = cube_boxes(see, data, [row], None)
            _, foot = see((fan.rows[unit] + fan.columns[column])[np.newaxis]).xy[0]
            lid = box.bottom - foot if value > 0.0 else foot - box.y  # it has depth
            assert abs(lid) < 6.0
            tall[abs(value)] = box.height
    heights = [round(tall[each], 3) for each in sorted(tall)]
    assert heights == sorted(heights) and heights[-1] > 3.0 * heights[0]


def test_in_perspective_lines_lead_to_the_neurons() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    stage.eyes.camera = replace(stage.eyes.camera, fov=40.0)
    placed = stage.plan.crossbar
    assert placed is not None
    sheet = Sheet(placed, projection(stage))
    for board, line in zip(placed.boards, stage.plan.neurons[1:], strict=True):
        seen = projection(stage)(line.points).xy
        found = [sheet(board.neuron(i)) for i in range(line.count)]
        np.testing.assert_allclose(found, seen, atol=1e-6)
