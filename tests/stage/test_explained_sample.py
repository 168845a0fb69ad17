"""The sample of a step that is walked: chosen before it is shown, by what is true of it."""

import re
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.telling import printed
from scalarviz.stage.clearest import agreements, are_apart
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.story.panel_words import outcome_title, percent, percents
from scalarviz.story.panel_words import share_words as said_of_share
from scalarviz.story.traced_weight import walk_to
from scalarviz.training.session.reading import caption, facts_of, state_of
from tests.scene.measures import played


def session_of(name: str, steps: int) -> Any:
    return played(name, steps, engine="cpu").session


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
    assert outcome_title(told["step"].outcome).startswith("This one closer? Yes")
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
    assert (
        outcome_title(told["step"].outcome) == "This one closer? Yes." and told["step"].rows == ()
    )
    inputs, goals = session.trainer.batches.at(session.step_index - 1)
    offs = []
    for value in (before, session.network.bank.value.copy()):
        session.network.bank.value[:] = value
        offs.append(np.abs(np.asarray(session.network(inputs)) - goals))
    near = (offs[1] < offs[0]).sum()
    assert told["step"].why.startswith(f"{near} dots closer, {100 - near} farther. ")
    assert told["step"].why.endswith("mean squared error fell.") == (
        (offs[1] ** 2).mean() < (offs[0] ** 2).mean()
    )


def test_no_sample_is_chosen_of_a_long_formula() -> None:
    assert sample_to_explain(session_of("micrograd", 2)) is None


def shares(session: Any) -> Any:
    """Of each sample of the coming step, the share that its right class gets."""
    inputs, goals = session.trainer.batches.at(session.step_index)
    scores = np.exp(np.asarray(session.network(inputs), np.float64))
    return (scores * goals).sum(axis=1) / scores.sum(axis=1)


def test_the_film_of_digits_carries_one_number_through_twelve_frames_at_most() -> None:
    session = session_of("digits", 300)
    before = shares(session)
    sample = session.focus = sample_to_explain(session) or 0
    assert before[sample] == before.min() < 0.9  # what is to blame is seen
    told, facts = {}, facts_of(session)
    while not told or session.clock.operation:
        done = session.step_index * len(facts.moments) + session.clock.operation
        by = walk_to(facts, done, 1)
        assert walk_to(facts, done + by, -1) == -by
        session.advance(by, "operation")
        moment = session.network.program.moments[session.clock.operation - 1]
        told[moment.name] = caption(session)
    assert len(told) <= 12 and "Other examples than" in told["zero_grad"].why
    carried = told["convolution 0"].title.split()[-1][:-1]
    rows = []
    for pool, layer in (("max_pool 1", "convolution 2"), ("max_pool 3", "affine 4")):
        bars, terms = told[pool].bars, told[layer].bars
        assert bars is not None and terms is not None
        assert bars.rows[bars.marked].name == carried and carried in told[pool].title
        own = terms.rows[terms.marked]
        products = [float(each.said.replace("−", "-")) for each in terms.rows]
        assert sum(products) == pytest.approx(round(terms.total, 2))
        for each, product in zip(terms.rows[:-1], products, strict=False):
            x, weight = (float(n.replace("−", "-")) for n in each.name.split(" × "))
            assert abs(x * weight - product) < 0.005
        assert own.name.startswith(f"{carried} × ") and carried in told[layer].why
        carried, rows = told[layer].title.split()[-1][:-1], [*rows, own.row]
    assert [told[f"weight gradient {i}"].rows[0] for i in (2, 4)] == rows  # the same way back
    for name in ("weight gradient 0", "weight gradient 2"):
        bars = told[name].bars
        products = [float(each.said.replace("−", "-")) for each in bars.rows]
        assert len(products) == 4 and sum(products) == pytest.approx(round(bars.total, 2))
        assert "largest of 4, and stops where a negative number became 0" in told[name].comes
    words = said_of_share(told["loss"].bent)
    share, loss = map(float, re.findall(r"\d*\.\d+", words))
    assert round(-np.log(share), 2) == loss and share == pytest.approx(before[sample], abs=0.005)
    assert words.startswith("−ln(")
    *shown, all_of = told["loss"].bars.rows
    total = float(all_of.name.removeprefix("sum: "))
    powers = [float(each.name.split()[-1]) for each in shown]
    assert sum(powers) == pytest.approx(total, abs=0.05) and len(shown) == 4
    for each, power in zip(shown[:3], powers, strict=False):
        score = float(each.name.split()[1].replace("−", "-"))
        assert np.exp(score) == pytest.approx(power, rel=0.005)
        assert percent(power / total) == percent(each.value)
    assert told["step"].rows == (told["weight gradient 0"].rows[0], *rows)
    session.back(1, "operation")  # the step: what the network says with another weight
    for row, name in ((rows[1], "weight gradient 4"), (rows[0], "weight gradient 2")):
        way = 1.0 if told[name].tried.startswith("Try .2 higher") else -1.0
        session.network.bank.value[row] += 0.2 * way
        one, other = percents(before[sample], shares(session)[sample])
        assert told[name].tried.endswith(f"gets {one} → {other}")
        session.network.bank.value[row] -= 0.2 * way
