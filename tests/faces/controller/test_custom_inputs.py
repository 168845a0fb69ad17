"""Custom inputs: by the spheres, by the panel of the target plot, on a pad."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded
from scalarviz.faces.controller.changes import pick_color, put_in
from scalarviz.faces.controller.pointer import LEFT, Pointer
from scalarviz.scene.exhibits.images import Pad
from scalarviz.scene.exhibits.plots import Plane
from scalarviz.stage.handles import caption_of_custom
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.reading import facts_of
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import drag
from tests.sessions import advanced, image, inverting, plane, session_on, training_of
from tests.studio import Studio

SIZE = (900, 600)
BACK = "Back to the samples"


@pytest.fixture(params=[inverting, plane, image])
def session(request: Any) -> sv.Session:
    return advanced(request.param(), 2)


only = pytest.mark.parametrize


def sphere(stage: Stage, place: int) -> tuple[float, float]:
    """A pixel of the sphere of an input."""
    name = stage.session.network.program.inputs.name
    seen = stage._seen
    assert seen is not None
    line = next(line for line in seen.layout.neurons if name in line.buffers)
    x, y = stage._see(seen)(line.points).xy[place].tolist()
    return x, y


def values(stage: Stage, end: str = "outputs") -> np.ndarray:
    buffer = getattr(stage.session.network.program, end)
    return np.array(stage.frame_data().buffers.values[buffer.name])


@only("session", [inverting, plane], indirect=True)
def test_a_drag_on_the_sphere_of_an_input_changes_it_and_the_outputs_follow(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    before, journal = values(stage, "inputs"), list(stage.session.current_branch.journal)
    answers = [values(stage).tobytes()]
    x, y = sphere(stage, 1)
    pointer.press(LEFT, x, y)
    up = -1 if before[1] > 0.5 else 1
    for far in (20.0, 60.0):
        pointer.move(x, y - up * far)
        answers.append(values(stage).tobytes())
    pointer.release(LEFT, x, y - up * 60.0)
    after = values(stage, "inputs")
    assert (after[1] - before[1]) * up > 0.3 and after[0] == before[0]
    assert len(set(answers)) == 3
    assert np.allclose(values(stage), stage.session.network(after[np.newaxis])[0])
    assert stage.session.current_branch.journal == journal and stage.pinned_neuron is None
    for far in (900.0, -900.0):
        drag(pointer, (x, y), (x, y - far))
        assert 0.0 <= values(stage, "inputs")[1] <= 1.0


@only("session", [plane], indirect=True)
def test_a_click_on_the_map_puts_in_that_point(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    seen = stage.frame_data().exhibit
    assert isinstance(seen, Plane)
    plot = seen._boxes[0]
    pointer.press(LEFT, plot.x + 0.25 * plot.width, plot.y + 0.25 * plot.height)
    assert values(stage, "inputs").tolist() == pytest.approx([0.25, 0.75])
    pointer.move(plot.x + 0.5 * plot.width, plot.y + 0.25 * plot.height)
    assert values(stage, "inputs").tolist() == pytest.approx([0.5, 0.75])
    pointer.release(LEFT, plot.x, plot.y)
    marked = stage.frame_data().exhibit
    assert isinstance(marked, Plane) and marked.focus is not None
    assert marked.focus.tolist() == pytest.approx([0.5, 0.75])


@only("session", [inverting], indirect=True)
def test_a_click_on_a_swatch_puts_in_its_colour(pointer: Pointer, stage: Stage) -> None:
    swatches: Any = stage.frame_data().exhibit
    box = swatches._boxes[3]
    drag(pointer, (box.x + 2.0, box.y + 2.0))
    assert values(stage, "inputs").tolist() == swatches.inputs[3].tolist()
    goal = stage.frame_data().buffers.target
    assert goal is not None
    assert goal.tolist() == pytest.approx((1.0 - swatches.inputs[3]).tolist())


@only("session", [inverting], indirect=True)
def test_a_colour_is_picked(pointer: Pointer, stage: Stage) -> None:
    picked = []

    def ask(first: Any, then: Any) -> None:
        picked.append(first.tolist())
        then(np.array([0.25, 0.5, 0.75]))

    put_in(pointer.controller)
    assert "Pick a colour" not in stage.offered
    pointer.controller.face.ask_color = ask
    before = values(stage, "inputs").tolist()
    put_in(pointer.controller)
    offered = stage.offered
    assert stage.press("Pick a colour")
    assert stage.offered == offered and BACK in offered, "the way back stays"
    assert picked == [before] and values(stage, "inputs").tolist() == [0.25, 0.5, 0.75]
    pointer.controller.face.press("escape")
    pick_color(pointer.controller)  # nothing is put in any more
    assert len(picked) == 1


@only("session", [image], indirect=True)
def test_an_image_is_drawn_on_a_pad(pointer: Pointer, stage: Stage, studio: Studio) -> None:
    pointer.controller.face.press("o")
    assert not values(stage, "inputs").any()
    studio.stage(stage, 0.0, SIZE)
    pad = stage.frame_data().exhibit
    assert isinstance(pad, Pad)
    box = pad._boxes[0]
    assert min(box.width, box.height) > 200.0
    pointer.press(LEFT, box.x + 0.26 * box.width, box.y + 0.26 * box.height)
    first = values(stage, "inputs").reshape(6, 6)
    assert first[1, 1] == 1.0 and not first[3:].any() and not first[:, 3:].any()
    studio.stage(stage, 0.0, SIZE)
    pointer.move(box.x + 0.75 * box.width, box.y + 0.26 * box.height)
    pointer.release(LEFT, box.x, box.y)
    second = values(stage, "inputs").reshape(6, 6)
    assert (second >= first).all() and second[1, 4] > 0.9 and second.max() <= 1.0
    assert stage.press("Draw again") and not values(stage, "inputs").any()


@pytest.mark.some(1)
def test_the_samples_come_back(pointer: Pointer, stage: Stage) -> None:
    before = values(stage, "inputs").tolist()
    for end in (lambda: stage.press(BACK), lambda: pointer.controller.face.press("escape")):
        put_in(pointer.controller)
        put_in(pointer.controller, np.full(len(before), 0.5))
        assert values(stage, "inputs").tolist() == [0.5] * len(before)
        assert BACK in stage.offered
        end()
        assert values(stage, "inputs").tolist() == before and BACK not in stage.offered


@pytest.mark.some(1)
def test_a_step_is_that_of_the_samples_with_light_and_words(pointer: Pointer, stage: Stage) -> None:
    controller = pointer.controller
    put_in(controller, np.full(len(values(stage, "inputs")), 0.5))
    controller.time.operation(1)
    for _ in range(2):  # frames
        controller.face.attend()
        seen = stage.frame_data()
    assert stage.own is None and BACK not in stage.offered
    assert text("own.left") in [each.text for each in stage._notices]
    assert seen.moment is not None and seen.words.caption is not None
    assert "Your input:" not in seen.words.caption.title


@pytest.mark.some(1)
def test_while_whole_steps_are_taken_it_stays(pointer: Pointer, stage: Stage) -> None:
    put_in(pointer.controller, np.full(len(values(stage, "inputs")), 0.5))
    pointer.controller.time.go(1, 3, "step")
    pointer.controller.face.attend()
    assert set(values(stage, "inputs").tolist()) == {0.5} and BACK in stage.offered


@pytest.mark.some(1)
def test_the_caption_says_the_answer(
    pointer: Pointer, stage: Stage, session: sv.Session, studio: Studio
) -> None:
    inputs = np.full(session.network.program.inputs.size, 0.5)
    put_in(pointer.controller, inputs)
    title = stage.frame_data().words.caption.title
    assert title.startswith(("Your input:", "Your own input"))
    if len(inputs) < 5:
        assert title.count("0.5") >= len(inputs)
    answer = session.network(inputs[np.newaxis])[0]
    assert all(rounded(number) in title for number in answer.tolist())
    session.advance(5)
    assert stage.frame_data().words.caption.title != title, "it goes on answering"


def test_a_single_answer_without_a_name_is_a_number_alone() -> None:
    s, given = plane(), np.array([0.5, -0.5])
    title = caption_of_custom(s, facts_of(s), given, np.array([-0.34])).title
    assert title == "Your input: x 0.5, y -0.5. The network answers -0.34."


@pytest.mark.some(1)
@only("session", [inverting, plane], indirect=True)
def test_an_input_of_ones_own_is_learned_and_that_is_undone(
    pointer: Pointer, stage: Stage, session: sv.Session
) -> None:
    own = np.full(session.network.program.inputs.size, 0.25)
    put_in(pointer.controller, own)
    before = session.data.samples
    name = "Also learn this" if session.network.program.inputs.size == 3 else "Learn as 1"
    assert stage.press(name)
    assert session.data.samples == before + 1
    inputs, targets = training_of(session)
    assert inputs[-1].tolist() == own.tolist()
    wanted = [0.75, 0.75, 0.75] if len(own) == 3 else [1.0]
    assert targets[-1].tolist() == pytest.approx(wanted)
    assert name in stage.offered and stage.own is not None
    session.advance(3)
    assert stage.press("Undo")
    assert session.data.samples == before and session.step_index == 2


@pytest.mark.some(1)
def test_many_answers_are_offered_by_themselves(opened: Open, stage: Stage, studio: Studio) -> None:
    rows = np.random.default_rng(0).uniform(size=(12, 2))
    pair = (rows, np.arange(12) % 6)
    shown = session_on(pair, [2, 6], loss="softmax_cross_entropy", optimizer=sv.SGD(0.1))
    stage.replace(Show(shown))
    studio.stage(stage, 0.0, SIZE)
    controller = opened(shown, stage)
    put_in(controller, np.array([0.5, 0.5]))
    assert stage.press("Learn it as …")
    assert stage.offered == (*(f"output {i}" for i in range(6)), BACK)
    assert stage.press("output 4")
    assert training_of(shown)[1][-1].tolist() == [0, 0, 0, 0, 1, 0]


@only("session", [image], indirect=True)
def test_a_quick_stroke_has_no_holes(pointer: Pointer, stage: Stage, studio: Studio) -> None:
    pointer.controller.face.press("o")
    studio.stage(stage, 0.0, SIZE)
    pad = stage.frame_data().exhibit
    assert isinstance(pad, Pad)
    box = pad._boxes[0]
    x = box.x + 0.41 * box.width
    drag(pointer, *((x, box.y + part * box.height) for part in (0.08, 0.92)))
    assert values(stage, "inputs").reshape(6, 6)[:, 2].min() > 0.9


@only("session", [inverting], indirect=True)
def test_the_key_opens_the_colours_again_and_again(pointer: Pointer, stage: Stage) -> None:
    asked = []
    pointer.controller.face.ask_color = lambda first, then: asked.append(first.tolist())
    pointer.controller.face.press("o")
    pointer.controller.face.press("o")
    assert len(asked) == 2


@only("session", [inverting], indirect=True)
def test_after_an_undo_the_scale_is_that_of_the_numbers(
    pointer: Pointer, stage: Stage, studio: Studio
) -> None:
    before = stage.frame_data().cubes.color_scales.max()
    pointer.controller.edit(0, 99.0)
    studio.stage(stage, 0.0, SIZE)
    for now in (10.0, 20.0):
        stage.tick(now)
        stage.frame_data()
    assert stage.frame_data().cubes.color_scales.max() >= 99.0
    pointer.controller.undo()
    assert stage.frame_data().cubes.color_scales.max() == before


@only("session", [image], indirect=True)
def test_an_empty_image_asks_to_draw(pointer: Pointer, stage: Stage) -> None:
    pointer.controller.face.press("o")
    assert "Draw something" in stage.frame_data().words.caption.title
    put_in(pointer.controller, np.full(36, 0.5))
    assert "Draw something" not in stage.frame_data().words.caption.title


@only("session", [inverting, plane], indirect=True)
def test_the_goal_is_shown_where_a_rule_gives_it(pointer: Pointer, stage: Stage) -> None:
    own = np.array([0.25, 0.5, 1.0])[: stage.session.network.inputs]
    put_in(pointer.controller, own)
    stage.frame_data()
    target = stage.reading.way.target
    assert target is not None
    if len(own) == 3:
        assert target.tolist() == pytest.approx([0.75, 0.5, 0.0])
    else:
        assert np.isnan(target).all()
