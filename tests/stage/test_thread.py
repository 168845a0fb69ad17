"""The sample of a step that is walked: chosen before it is shown, by what is true of it."""

from typing import Any

import numpy as np
import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.scene.telling import printed
from scalarviz.stage.clearest import agreements, are_apart
from scalarviz.stage.show import Show
from scalarviz.stage.thread import sample_to_explain
from scalarviz.story.panel_words import outcome_title
from scalarviz.training.session.reading import caption, facts_of, state_of


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
    explained = [each.rows[0] for name, each in told.items() if "weight gradient" in name]
    assert told["step"].rows == tuple(reversed(explained))  # from the way back to the step
    sums = [each for each in session.network.program.operations if each.kind == "affine"]
    units = [told[each.name].neurons[0][1] for each in sums]
    for number, (row, each) in enumerate(zip(reversed(explained), sums, strict=True)):
        unit, column = divmod(row - each.weights, each.shape[1])
        assert unit == units[number] and (number == 0 or column == units[number - 1])
    if name == "rgb":  # all is true of one
        row = told["step"].rows[-1]
        assert row in {piece.row for piece in told["affine 1"].pieces}
        agreed = agreements(facts_of(session), state_of(session))
        assert all(agreed) or steps != 89
        wishes = [each.wish for name, each in told.items() if "weight gradient" in name]
        assert told["step"].wish == ", ".join(reversed(wishes))
        outcome = told["step"].outcome
        assert are_apart([each.before for each in outcome.outputs], outcome.goals)


def test_numbers_that_are_printed_twice_are_not_apart() -> None:
    assert are_apart([0.52, 0.41, 0.56], [0.47, 0.13, 0.93])
    assert not are_apart([0.52, 0.41, 0.56], [0.47, 0.41, 0.93])
    assert not are_apart([0.5], [1.0])  # .50 out, and .50 off
    assert printed([0.125, 0.125], 0.25) != []


@pytest.mark.parametrize("steps", [2, 20])
def test_the_sample_of_a_formula_blames_each_of_its_numbers_as_all_samples_do(steps: int) -> None:
    session = session_of("expression", steps)
    before = session.network.bank.value.copy()
    sample = sample_to_explain(session)
    assert sample is not None and np.array_equal(session.network.bank.value, before)
    session.focus = sample
    told = walked(session)
    asked = [each for each in told.values() if each.trial is not None]
    assert [each.trial.name for each in asked] == ["phase", "speed", "height", "growth"]
    assert all("alone" not in each.why for each in asked)
    assert outcome_title(told["step"].outcome).startswith("Closer? Yes")


@pytest.mark.parametrize("name", ["digits", "micrograd"])
def test_no_sample_is_chosen_where_the_last_layer_is_not_explained(name: str) -> None:
    assert sample_to_explain(session_of(name, 2)) is None
