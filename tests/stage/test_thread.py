"""The sample of a step that is walked: chosen before it is shown, by what is true of it."""

from typing import Any

import numpy as np
import pytest

from scalarviz.base.texts.decimals import short
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.telling import printed
from scalarviz.stage.show import Show
from scalarviz.stage.thread import are_apart, sample_to_explain
from scalarviz.story.panel_words import outcome_title
from scalarviz.training.session.reading import caption


def session_of(name: str, steps: int) -> Any:
    session = Show.of(load(find(name))(engine="cpu")).session
    session.advance(steps)
    return session


def walked(session: Any) -> dict[str, Any]:
    """The captions of a step."""
    found = {}
    for moment in session.network.program.moments:
        session.advance(1, "operation")
        found[moment.name] = caption(session)
    return found


@pytest.mark.parametrize(("name", "steps"), [("rgb", 89), ("rgb", 40), ("xor", 90), ("circle", 90)])
def test_the_sample_of_a_step_moves_toward_its_goals_with_numbers_that_agree(
    name: str, steps: int
) -> None:
    session = session_of(name, steps)
    before = session.network.bank.value.copy(), session.clock
    sample = sample_to_explain(session)
    assert sample is not None
    assert np.array_equal(session.network.bank.value, before[0]) and session.clock == before[1]
    session.focus = sample
    told = walked(session)
    assert outcome_title(told["step"].outcome).startswith("Closer? Yes")
    first = next(name for name in told if "weight gradient" in name)
    assert told[first].rows == told["step"].rows  # one weight from the way back to the step
    if name == "rgb":  # all is true of one
        summed = told["affine 1"]
        row = told["step"].rows[0]
        assert row in {piece.row for piece in summed.pieces}
        assert short(float(before[0][row])) != short(float(session.network.bank.value[row]))
        assert told["step"].wish == told[first].wish
        outcome = told["step"].outcome
        outs = np.array([each.before for each in outcome.outputs])
        assert are_apart(outs, np.array(outcome.goals))


def test_numbers_that_are_printed_twice_are_not_apart() -> None:
    assert are_apart(np.array([0.52, 0.41, 0.56]), np.array([0.47, 0.13, 0.93]))
    assert not are_apart(np.array([0.52, 0.41, 0.56]), np.array([0.47, 0.41, 0.93]))
    assert not are_apart(np.array([0.5]), np.array([1.0]))  # .50 out, and .50 off
    assert printed([0.125, 0.125], 0.25) != []


@pytest.mark.parametrize("name", ["digits", "expression", "micrograd"])
def test_no_sample_is_chosen_where_the_last_layer_is_not_explained(name: str) -> None:
    assert sample_to_explain(session_of(name, 2)) is None
