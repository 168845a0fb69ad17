"""The texts of a crossbar: numbers that are asked for, focus, small stages and perspective."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scalarviz.scene.crossbar_ink import Sheet, draw_crossbar_marks
from scalarviz.scene.marks import box_of_neuron, cube_boxes
from scalarviz.stage.stage import Stage
from tests.scene.measures import DARK, Words, projection, stage_of, trained

NETS = ["rgb", "xor", "circle", "xnor", "micrograd"]


def drawn_texts(stage: Stage) -> Words:
    """A canvas with all texts of the crossbar."""
    canvas = Words(*stage._extent)
    draw_crossbar_marks(canvas, projection(stage), stage.frame_data(), DARK)
    return canvas


@pytest.mark.parametrize("way", ["hover", "pinned"])
@pytest.mark.parametrize("row", [4, 40])
def test_a_weight_that_is_asked_for_has_its_number_where_others_have_none(
    row: int, way: str
) -> None:
    stage = stage_of(trained("rgb"), (800, 500))
    before = drawn_texts(stage).words
    setattr(stage, way, row)
    stage.frame_data()
    number = f"{stage.session.network.bank.value[row]:.2f}".replace("0.", ".").replace("-", "−")
    assert number in drawn_texts(stage).words and number not in before


def test_out_of_focus_a_crossbar_has_no_words() -> None:
    stage = stage_of(trained("rgb"), (1280, 800))
    rest = len(drawn_texts(stage).found)
    stage.hover_neuron = "tanh 0", 2
    focus = stage.frame_data().focus
    assert focus is not None and len(focus.rows) == 4
    numbers = [
        words for words, _ in drawn_texts(stage).found if words.lstrip("−")[:1] in (".", "1")
    ]
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
        found = [sheet.at(board.neuron(i)) for i in range(line.count)]
        np.testing.assert_allclose(found, seen, atol=1e-6)
