"""What a hand drags at rest: the cubes that are lit, the words, and for how long."""

import numpy as np
import pytest

from scalarviz.core.program import NONE
from scalarviz.scene.crossbar_ink import is_out_of_focus, layer_numbers
from scalarviz.scene.crossbar_marks import crossbar_marks
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.stage.stage import HELD, Stage
from tests.scene.measures import Words, dense_session, flat_of, played, projection, stage_of

ROW = 1  # of neuron 0 of rgb: from input G


@pytest.fixture
def stage() -> Stage:
    return stage_of(played("rgb", 400), (1280, 800))


def drag(stage: Stage) -> None:
    stage.hold(ROW)
    stage.session.edit(ROW, 0.6)


def said(stage: Stage) -> list[str]:
    return [each.words for each in flat_of(stage).written]


def test_all_behind_the_hand_is_lit_with_numbers_and_nothing_else(stage: Stage) -> None:
    drag(stage)
    data = stage.frame_data()
    fan = data.layout.fans[1]
    behind = {fan.row_of(unit, 0) for unit in range(3)}
    assert data.focus is not None and data.focus.rows == {ROW, *behind}
    lit = [np.flatnonzero(each).tolist() for each in data.focus.neurons]
    assert lit == [[1], [0], [0, 1, 2]]
    assert len(behind & numbered(stage)) == 3 and numbered(stage) <= {ROW, *behind}


def numbered(stage: Stage) -> set[int]:
    """The bank indices of the weights whose numbers are written."""
    data = stage.frame_data()
    placed = data.layout.crossbar
    assert placed is not None
    marks = crossbar_marks(placed, layer_numbers(data), 20.0, 20.0, (), placed.lanes)
    shown = [each for each in marks if each.row != NONE and not is_out_of_focus(data, each)]
    return {each.row for each in shown}


def test_on_rows_all_behind_the_hand_has_numbers_on_its_cubes() -> None:
    stage = stage_of(dense_session("tanh 3-8-3"), (1280, 800))
    drag(stage)
    data = stage.frame_data()
    behind = {data.layout.fans[1].row_of(unit, 0) for unit in range(3)}
    found = numbers_on_cubes(Words(1280, 800), projection(stage), data)
    assert {*found} == behind  # the hand covers the other one


def test_an_input_lights_its_column_and_all_rows_behind_it(stage: Stage) -> None:
    stage.hold(NONE, (stage.reading.program.inputs.name, 2))
    data = stage.frame_data()
    first, last = data.layout.fans
    column = {first.row_of(unit, 2) for unit in range(8)}
    rest = {last.row_of(unit, place) for unit in range(3) for place in range(8)}
    assert data.focus is not None and data.focus.rows == column | rest


def test_numbers_before_and_now_are_written_at_what_changes(stage: Stage) -> None:
    before = stage.reading.numbers.value.copy()
    values = stage.frame_data().buffers.values
    hidden = float(values["tanh 0"][0])
    drag(stage)
    words = said(stage)
    assert f"{before[ROW]:.2f} → " in words and ".60" in words
    assert f"was {hidden:.2f}".replace("0.", ".").replace("-", "−") in words
    assert sum(each.startswith("gives ") for each in words) == 3
    assert "before your change" in words and "at the start" not in words
    assert any("again while you drag" in each for each in words)


def test_the_headline_has_the_answers_before_and_now(stage: Stage) -> None:
    exhibit = stage.frame_data().exhibit
    was = exhibit and exhibit.off()
    drag(stage)
    now = stage.frame_data().exhibit
    assert now is not None and now.by_hand and now.first is not None
    assert now.first.off() == was and now.off() != was


def test_it_stays_a_while_after_the_hand_lets_go(stage: Stage) -> None:
    drag(stage)
    stage.tick(5.0)
    assert stage.frame_data().held is not None
    stage.let_go()
    stage.tick(5.0 + 0.9 * HELD)
    assert stage.frame_data().held is not None
    stage.tick(5.0 + 1.1 * HELD)
    data = stage.frame_data()
    assert data.held is None and data.exhibit is not None and not data.exhibit.by_hand


def test_nothing_is_noted_in_a_step(stage: Stage) -> None:
    stage.session.advance(1, "operation")
    assert stage.frame_data().moment is not None
    stage.hold(ROW)
    assert stage.held is None
