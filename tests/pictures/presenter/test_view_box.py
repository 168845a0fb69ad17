"""The box that the network fills: it moves when a card comes or goes, and else it jumps."""

import pytest

import scalarviz as sv
from scalarviz.scene.layout.division import Box
from scalarviz.stage.camera_control import BOX_SECONDS, ViewBox
from scalarviz.stage.stage import Stage

WIDE, SHORT = Box(0.0, 0.0, 100.0, 50.0), Box(0.0, 0.0, 60.0, 50.0)
SIZE = (200.0, 100.0)


def test_it_moves_from_one_box_to_another_and_back() -> None:
    box = ViewBox(cuts=False)
    assert box.at(WIDE, SIZE, 0.0) == WIDE and not box.tick(0.0)
    widths = []
    for now in (1.0, 1.05, 1.1, 1.15, 1.01 + BOX_SECONDS, 2.0):
        moves = box.tick(now)
        widths.append(box.at(SHORT, SIZE, now).width)
        assert moves == (1.0 < now < 2.0)
    assert widths[0] == 100.0 and widths[-2:] == [60.0, 60.0]
    assert widths == sorted(widths, reverse=True) and widths[2] == pytest.approx(80.0)
    box.at(WIDE, SIZE, 3.0)
    middle = box.at(WIDE, SIZE, 3.1)
    assert box.at(SHORT, SIZE, 3.1) == middle  # it turns round where it is


def test_a_stage_makes_room_for_a_card_in_a_moment(colours: sv.Session) -> None:
    stage = Stage(colours)
    stage.resize(1280.0, 800.0)
    first = stage.frame_data()
    stage.pin(3)
    for now, part in ((5.0, 0.0), (5.1, 0.5), (5.01 + BOX_SECONDS, 1.0)):
        moves = stage.tick(now)
        shown = stage.frame_data()
        parts = shown.division(1280.0, 800.0)
        assert parts.card.width and (moves or part == 0.0)
        view, before = shown.view or parts.inner, first.division(1280.0, 800.0).inner
        right = before.right + part * (parts.inner.right - before.right)
        assert view.right == pytest.approx(right)
        assert stage.eyes.inner == view
