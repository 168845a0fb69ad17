"""What a step made of the outputs: said to be closer only if it is, and drawn to scale."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.base.texts import text
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.callout import draw_told
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.focus import focus_of
from scalarviz.scene.layout.division import Box
from scalarviz.scene.marks import pushed_rows
from scalarviz.scene.picture import beside_network, draw_beside, side_in, write_ends
from scalarviz.stage.show import Show
from scalarviz.story.caption import Caption, Effect, Group, Outcome, head_of
from scalarviz.story.panel_words import (
    PARTS,
    group_words,
    is_nearer,
    outcome_end,
    outcome_reason,
    outcome_title,
    pair_digits,
    pair_words,
    percents,
    scale_of,
    with_score,
)
from scalarviz.training.session.reading import caption, state_of
from tests.scene.measures import Words, projection, stage_of
from tests.scene.test_blame import NETS, session_of

DARK = THEMES["dark"]
NUMBERS = st.floats(-3.0, 3.0).map(lambda x: round(x, 4))


def outcome_with(pairs: list[tuple[float, float, float]], others: int) -> Outcome:
    outputs = [Effect(("out", i), "RGBX"[i], a, b) for i, (a, b, _) in enumerate(pairs)]
    off = [float(np.mean([abs(pair[k] - pair[2]) for pair in pairs])) for k in (0, 1)]
    return Outcome(tuple(outputs), tuple(g for *_, g in pairs), (off[0], off[1]), others, 59)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=4), st.integers(0, 9))
def test_it_is_said_to_be_closer_only_if_all_outputs_are(
    pairs: list[tuple[float, float, float]], others: int
) -> None:
    outcome = outcome_with(pairs, others)
    near = [abs(after - goal) < abs(before - goal) for before, after, goal in pairs]
    title, reason = outcome_title(outcome), outcome_reason(outcome, "colours")
    assert title.startswith("This one closer? Yes") == all(near)
    assert title.startswith("This one closer? No") == (not any(near))
    if 0 < sum(near) < len(near):
        words = "One two three four".split()[sum(near) - 1].lower()
        assert title.lower().startswith(f"this one closer? {words} of")
    assert bool(reason) == (not all(near))
    if reason:
        assert reason.startswith("RGBX"[near.index(False)])
        assert ("outweigh it" in reason) == (others > 0)
        assert len(reason.split()) <= 12 and len(title.split()) <= 8


@given(NUMBERS, NUMBERS, NUMBERS)
def test_a_scale_has_both_numbers_and_true_lengths(
    before: float, after: float, goal: float
) -> None:
    found = scale_of(Effect(("out", 0), "R", before, after), goal)
    long = found.ends[1] - found.ends[0]
    assert (
        long > 0.0
        and 0.0 <= min(found.before, found.after) <= max(found.before, found.after) <= 1.0
    )
    assert (found.after - found.before) * long == pytest.approx(after - before, abs=1e-9)
    assert found.ends[0] + found.goal * long == pytest.approx(goal, abs=1e-9)
    if abs(after - before) > 1e-3:
        assert abs(found.after - found.before) > 0.04  # it is seen
    unit = long / PARTS
    assert found.ends[0] / unit == pytest.approx(round(found.ends[0] / unit), abs=1e-6)


@given(NUMBERS, NUMBERS)
def test_two_numbers_are_told_apart_if_digits_allow(before: float, after: float) -> None:
    one, two = pair_words(before, after, pair_digits(before, after))
    assert (one == two) == (before == after)


@pytest.mark.parametrize(("sizes", "kinds", "loss"), NETS, ids=str)
def test_a_step_says_what_it_made_of_the_outputs_as_the_loss_reads_them(
    sizes: list[int], kinds: tuple[str, str], loss: str
) -> None:
    session = session_of(sizes, kinds, loss)
    read = {"sigmoid_cross_entropy": lambda z: 1.0 / (1.0 + np.exp(-z))}.get(loss, lambda z: z)
    if loss.startswith("softmax"):
        read = lambda z: np.exp(z) / np.exp(z).sum()  # noqa: E731
    for _ in range(4):
        session.advance(1, "operation")
        inputs, targets = session.trainer.batches.at(session.step_index)
        before = read(np.asarray(session.network(inputs))[session.focus])
        session.advance(len(session.operations) - 1, "operation")
        after = read(np.asarray(session.network(inputs))[session.focus])
        outcome = caption(session).outcome
        assert outcome is not None and outcome.others == len(inputs) - 1
        assert outcome.weights == len(session.network.bank)
        goals = targets[session.focus]
        told = [int(goals.argmax())] if loss.startswith("softmax") else [*range(len(goals))]
        np.testing.assert_allclose([x.before for x in outcome.outputs], before[told], atol=1e-6)
        np.testing.assert_allclose([x.after for x in outcome.outputs], after[told], atol=1e-6)
        np.testing.assert_allclose(outcome.goals, goals[told], atol=1e-6)
        wanted = [np.abs(each - goals).mean() for each in (before, after)]
        np.testing.assert_allclose(outcome.off, wanted, atol=1e-6)
        words, pair = outcome_end(outcome), pair_words(*outcome.off, pair_digits(*outcome.off))
        if outcome.shares is not None:
            assert loss.startswith("softmax") and outcome.shares.marked == told[0]
            np.testing.assert_allclose([x.before for x in outcome.shares.rows], before, atol=1e-6)
            np.testing.assert_allclose([x.value for x in outcome.shares.rows], after, atol=1e-6)
            pair = percents(before[told[0]], after[told[0]])
        assert all(each in words for each in pair)
        assert outcome_title(outcome).startswith("This one closer? Yes") == all(
            is_nearer(each, goal) for each, goal in zip(outcome.outputs, outcome.goals, strict=True)
        )


@pytest.mark.parametrize("name", ["rgb", "xor", "circle"])
def test_a_step_has_how_much_nearer_each_sample_came(name: str) -> None:
    show = Show.of(load(find(name))(engine="cpu"))
    session: Any = show.session
    session.advance(20)
    inputs, targets = session.trainer.batches.at(session.step_index)
    before = np.abs(np.asarray(session.network(inputs)) - targets).mean(1)
    session.advance(len(session.operations), "operation")
    after = np.abs(np.asarray(session.network(inputs)) - targets).mean(1)
    group = caption(session).group
    assert group is not None and group.place == session.focus
    np.testing.assert_allclose(group.amounts, before - after, atol=1e-6)
    near, words = (after < before).sum(), group_words(group, "")
    split = f"Of all {len(inputs)}: {near} closer, {len(inputs) - near} farther; loss "
    assert words.startswith(split if near < len(inputs) else f"Of all {near}: {near} closer")
    assert near == len(inputs) or words.endswith(" → ".join(group.losses) + ".")
    outcome = caption(session).outcome
    assert outcome is not None
    if len(outcome.outputs) == 1:
        (answer,), (goal,) = outcome.outputs, outcome.goals
        border = 0.5 if name == "xor" else 0.0
        assert outcome.wrong == ((answer.after > border) != (goal > border))
        if is_nearer(answer, goal):
            assert (
                outcome_title(replace(outcome, wrong=True))
                == "This one closer? Yes, but still wrong."
            )
    assert focus_of(stage_of(show, (1280, 800)).frame_data()) is None  # all are bright: all move


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (
            Group((0.2, 0.1, -0.1), 3, 0),
            "2 of 3 want .78 higher, 1 lower. Their mean decides.",
        ),
        (
            Group((-0.1, 0.1, 0.2), 3, 0),
            "2 of 3 want .78 higher, 1 lower. Their mean decides, against the framed bar.",
        ),
        (Group((0.2, 0.0, 0.1), 3, 0), "2 of 3 want .78 higher, 0 lower. 1 want no change."),
        (
            Group((0.2, 0.0, -0.1), 3, 0, silent=1),
            "1 of 3 want .78 higher, 1 lower. 1 has input 0: no effect. Their mean decides.",
        ),
        (Group((0.2, -0.1) * 32, 64, 1), "32 of 64 want .78 higher, 32 lower. Added up: higher."),
    ],
)
def test_votes_name_the_weight_and_who_wins(group: Group, words: str) -> None:
    assert group_words(group, ".78") == words


@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "digits"])
@pytest.mark.parametrize("size", [(1280, 800), (800, 500)], ids=str)
def test_what_all_samples_ask_for_is_said_wherever_arrows_are(
    name: str, size: tuple[int, int]
) -> None:
    show: Any = Show.of(load(find(name))(engine="cpu"))
    show.session.advance(90)
    found = 0
    for _ in show.session.operations[:-1]:
        show.session.advance(1, "operation")
        stage = stage_of(show, size)
        frame_data, see = stage.frame_data(), projection(stage)
        if not pushed_rows(frame_data):
            continue
        canvas, division = Words(*size), frame_data.division(*size)
        canvas.scale, found = division.scale, found + 1
        taken = write_ends(Words(*size), see, frame_data, DARK)
        draw_told(canvas, see, frame_data, taken, DARK)
        side = side_in(frame_data, told=taken.panel is not None)
        panel = beside_network(frame_data, division)[2]
        assert side is not None and panel is not None
        draw_beside(canvas, frame_data, panel, side, DARK)
        said = " ".join([words for words, _ in canvas.found])
        assert " higher, " in said and " lower." in said, said
    assert found == len([each for each in show.session.operations if "weight g" in each])


@pytest.mark.parametrize("name", ["rgb", "xor", "circle", "expression", "digits"])
def test_the_panel_of_a_step_stands_below_out_within_its_box(name: str) -> None:
    show: Any = Show.of(load(find(name))(engine="cpu"))
    show.session.advance(5)
    for _ in show.session.operations:
        show.session.advance(1, "operation")
    for size in ((1280, 800), (1920, 1080), (800, 500)):
        frame_data = stage_of(show, size).frame_data()
        division = frame_data.division(*size)
        exhibit, room, panel = beside_network(frame_data, division)
        if panel is None:
            assert size == (800, 500) or name == "digits"
            continue
        assert exhibit is not None and exhibit.places(room, division.scale).out.bottom <= panel.y
        canvas = Words(*size)
        canvas.scale = division.scale
        side = side_in(frame_data, told=True)
        assert side is not None
        draw_beside(canvas, frame_data, panel, side, DARK)
        around = Box(panel.x - 1.0, panel.y, panel.width + 2.0, panel.height)
        for words, box in canvas.found:
            assert around.x <= box.x and box.right <= around.right, words
            assert around.y <= box.y and box.bottom <= around.bottom, words
        boxes = [box for words, box in canvas.found if words.strip()]
        assert not any(a.meets(b) for i, a in enumerate(boxes) for b in boxes[:i])
        assert any(text("outcome.no")[:7] in words for words, _ in canvas.found)


def test_a_weight_that_former_steps_move_against_its_arrow_is_named() -> None:
    show: Any = Show.of(load(find("digits"))(engine="cpu"))
    session, against = show.session, 0
    for _ in range(40):
        session.advance(1)
        state, told = state_of(session), caption(session)
        rolls = text("captions.step.rolls", change="")
        assert told.why.endswith(rolls) == any(
            (state.value[row] - state.before[row]) * state.grad[row] > 0.0 for row in told.rows
        )
        against += told.why != ""
    assert 0 < against < 40
    for moment in session.operations:
        session.advance(1, "operation")
        told = caption(session)
        if moment.startswith("weight gradient"):
            old, new = map(float, told.wish.replace("−", "-").split(" → "))
            assert told.rolls == ((new > old) != ("higher" in told.title))
            assert told.rolls != (" → " in head_of(told)) and told.rolls == told.why.endswith(rolls)


def test_a_step_after_which_fewer_answers_are_right_says_so() -> None:
    told = Caption("It moved.", why="It rolls on.")
    assert with_score(told, 165, 163).why == (
        "Right answers 165 → 163: a step helps the loss, not each answer. It rolls on."
    )
    assert with_score(told, 165, 165) is told is with_score(told, 165, 166)
    show: Any = Show.of(load(find("digits"))(engine="cpu"))
    stage, fewer = stage_of(show, (1280, 800)), 0
    for _ in range(40):
        before = stage.frame_data().exhibit.score()[0]
        for operations in (len(show.session.operations) - 1, 1):
            show.session.advance(operations, "operation")
            frame_data = stage.frame_data()
        after, why = frame_data.exhibit.score()[0], frame_data.words.caption.why
        assert (after < before) == (f"{before} → {after}" in why)
        fewer += after < before
    assert fewer
