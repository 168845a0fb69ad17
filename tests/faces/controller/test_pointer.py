"""The mouse on the loss curve: it reads, goes to a step, and is dragged as a slider."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts.decimals import typeset
from scalarviz.faces.controller.pointer import LEFT, Pointer
from scalarviz.stage.stage import Stage
from scalarviz.story.formats import both, said
from tests.faces.controller.fake_stage import drag
from tests.pages.node import in_web
from tests.pages.states import spec_of
from tests.studio import Studio, places

SIZE = (800, 500)
RIGHT = 2


@pytest.fixture
def session(colours: sv.Session) -> sv.Session:
    colours.advance(40)
    return colours


def place(stage: Stage, step: int) -> tuple[float, float]:
    """Where a step is on the curve."""
    chart = stage.on_top.chart
    assert chart is not None
    return chart.plot.x + step / chart.last * chart.plot.width, chart.plot.bottom - 5.0


def test_the_curve_is_dragged_as_a_slider(pointer: Pointer, stage: Stage) -> None:
    x, y = place(stage, 30)
    pointer.press(LEFT, x, y)
    before = stage.eyes.camera
    for step in (20, 12):
        pointer.move(*place(stage, step))
        assert stage.session.step_index == step
    pointer.move(0.0, y - 200.0)  # far outside it is still held
    assert stage.session.step_index == 0
    pointer.release(LEFT, 0.0, y - 200.0)
    assert stage.eyes.camera == before and stage.session.step_index == 0


# A cube.


def cube(stage: Stage, row: int) -> tuple[float, float]:
    """Where a cube is seen."""
    return places(stage, SIZE)[row]


def test_the_scale_grows_when_a_dragged_cube_is_let_go(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    x, y = next(
        place for row in range(20) if stage.target_at(*(place := cube(stage, row))).row == row
    )
    scale, found = stage.common.scales.stops.of(("value", -1)), []
    pointer.press(LEFT, x, y)
    for act in (pointer.move, lambda *at: pointer.release(LEFT, *at)):
        act(x, y - 300.0)
        studio.stage(stage, 0.0, SIZE)
        found.append(stage.common.scales.stops.of(("value", -1)))
    assert found[0] == scale < found[1]


def test_a_drag_on_a_cube_changes_its_weight_while_outputs_follow(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    session, camera = stage.session, stage.eyes.camera
    x, y = next(
        place for row in range(20) if stage.target_at(*(place := cube(stage, row))).row == row
    )
    row = stage.target_at(x, y).row
    assert row is not None
    before = float(session.network.bank.value[row])
    outputs = [stage.frame_data().buffers.values[session.network.program.outputs.name].copy()]
    top = max(1.0, float(abs(session.network.bank.value).max()))
    pointer.press(LEFT, x, y)
    for up in (20.0, 50.0):
        pointer.move(x, y - up)
        studio.stage(stage, 0.0, SIZE)
        assert before < float(session.network.bank.value[row]) <= before + 5.0 * top
        outputs.append(
            stage.frame_data().buffers.values[session.network.program.outputs.name].copy()
        )
    assert len({each.tobytes() for each in outputs}) == 3
    pointer.release(LEFT, x, y - 50.0)
    assert stage.eyes.camera == camera and stage.pinned is None
    (words, action), *_ = stage.chips()
    assert action == "train on from here"
    assert " goes from " in words and " to " in words and "→" not in words
    moved = np.argmax(np.abs(outputs[-1] - outputs[0]))
    assert words.endswith(
        typeset(" to ".join(both(*(float(each[moved]) for each in outputs[::2]))))
    )
    body = """
        setTexts(data.spec.texts);
        const [before, after] = data.answers.map((each) => Float64Array.from(each));
        const [old, fresh] = data.words.split(":")[0].split(" to ");
        return moved_answer(data.spec.facts, before, after, old, fresh);
    """
    given = {"spec": spec_of(session), "answers": outputs[::2], "words": words}
    assert in_web("story/guide texts", body, **given) == words
    pointer.controller.undo()
    assert float(session.network.bank.value[row]) == before  # the whole drag


def test_what_was_pointed_at_is_let_go_when_the_picture_is_dragged(
    pointer: Pointer, stage: Stage
) -> None:
    box, done = stage.on_top.cells[2]
    x, y = box.x + 2.0, box.y + 2.0
    for button in (LEFT, RIGHT):
        pointer.move(x, y)
        assert stage.over.cell == done
        pointer.press(button, x, y)
        pointer.move(x, y - 60.0)
        assert stage.over.cell == 0
        pointer.release(button, x, y - 60.0)
        assert stage.over.cell == 0
    drag(pointer, (x, y - 60.0), (x, y))
    assert stage.over.cell == done, "it is under the mouse again"
    pointer.leave()
    assert stage.over.cell == 0


def test_a_click_with_shift_pins_a_weight_beside_the_pinned_one(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    seen = [row for row in range(59) if stage.target_at(*cube(stage, row)).row == row][:4]
    first, second, third, last = seen

    def click(row: int, shift: bool) -> None:
        x, y = cube(stage, row)
        drag(pointer, (x, y), shift=shift)
        studio.stage(stage, 0.0, SIZE)

    click(first, True)  # nothing is pinned yet: as without shift
    assert stage.pinned == first and stage.beside == ()
    click(second, True)
    click(third, True)
    assert stage.pinned == first and stage.beside == (second, third)
    card = stage.frame_data().pinned
    assert card is not None
    value = float(stage.session.network.bank.value[second])
    begun = float(stage.session.branches[0].frames[0].value[second])
    (line, _) = (
        each.words for each in card.blocks if "since the start" in getattr(each, "words", "")
    )
    assert f": {said(value, 3)}, " in line and said(value - begun) in line
    click(second, True)
    assert stage.beside == (third,)
    assert stage.common.curve_view.pinned == (third, second)  # the two that were pinned last
    click(last, False)
    assert stage.pinned == last and stage.beside == ()
