"""What comes of another weight is what the network itself answers with it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.explained_sample import sample_to_explain
from scalarviz.stage.show import Show
from scalarviz.story.panel_words import trial_end, trial_rows, trial_title
from scalarviz.story.reason import written_change
from scalarviz.story.trial import STEPS, misses_of, trial_by, trial_of
from scalarviz.training.session.reading import caption, facts_of, state_of
from tests.scene.test_blame import NETS, session_of
from tests.sessions import advanced


def answered(session: sv.Session, row: int, value: float) -> np.ndarray:
    """What the network answers to the shown sample with another value of a weight."""
    bank = session.network.bank
    old = float(bank.value[row])
    with session.timeline.at_work():
        inputs, _ = session.trainer.batches.at(session.step_index)
    bank.value[row] = value
    found = np.asarray(session.network(inputs[session.focus : session.focus + 1]))[0]
    bank.value[row] = old
    logits = session.loss_function.row.logits if hasattr(session, "loss_function") else ""
    logits = logits or session.trainer.loss.row.logits
    if logits == "sigmoid":
        return np.asarray(1.0 / (1.0 + np.exp(-found)))
    if logits == "softmax":
        return np.asarray(np.exp(found) / np.exp(found).sum())
    return found


@pytest.mark.parametrize(("sizes", "kinds", "loss"), NETS, ids=str)
def test_a_trial_has_the_numbers_of_a_forward_pass(
    sizes: list[int], kinds: tuple[str, str], loss: str
) -> None:
    session, count, rng = session_of(sizes, kinds, loss), 0, np.random.default_rng(0)
    kinds_of = [each.kind for each in session.network.program.moments]
    for _ in range(4):
        session.advance(kinds_of.index("loss") + 1, "operation")
        facts, state = facts_of(session), state_of(session)
        first = session.network.program.operations[0]
        for row in rng.integers(0, first.biases, size=4).tolist():
            for step in (0.2, -0.5):
                trial = trial_by(facts, state, row, step)
                assert trial is not None
                after = answered(session, row, trial.weight[1])
                before = answered(session, row, trial.weight[0])
                np.testing.assert_allclose([x.after for x in trial.outputs], after, atol=1e-6)
                np.testing.assert_allclose([x.before for x in trial.outputs], before, atol=1e-6)
                goal = np.array(state.target)
                wanted = [np.abs(each - goal).mean() for each in (before, after)]
                np.testing.assert_allclose(trial.off, wanted, atol=1e-6)
                words = trial_end(trial)
                closer = text("trial.closer", before="", after="").split()[0]
                assert words.startswith(closer) == (trial.off[1] < trial.off[0])
                is_direct = len(sizes) == 3
                assert len(trial.between) == (sizes[-1] if is_direct else 0)
                count += 1
        session.advance(1)
    assert count == 32


def test_the_change_that_is_tried_is_seen_and_comes_closer_if_one_does() -> None:
    session, found = session_of(*NETS[0]), 0
    for _ in range(5 * len(session.operations)):
        session.advance(1, "operation")
        told = caption(session)
        if told.trial is None or told.blame is None:
            continue
        trial, facts, state = told.trial, facts_of(session), state_of(session)
        assert abs(trial.step) in STEPS
        assert (trial.step > 0.0) == (session.network.bank.grad[told.blame.row] < 0.0)
        assert short(trial.neuron.before) != short(trial.neuron.after)
        assert short(trial.off[0], 3) != short(trial.off[1], 3)
        again = trial_of(facts, state, told.blame.row, 1.0 if trial.step > 0.0 else -1.0)
        assert again == trial
        if trial.off[1] > trial.off[0]:  # then no other change comes closer
            way = trial.step / abs(trial.step)
            others = [trial_by(facts, state, told.blame.row, way * step) for step in STEPS]
            assert all(each is None or each.off[1] >= each.off[0] for each in others[:1])
        found += 1
    assert found > 2


def test_rows_name_the_neuron_of_a_weight_and_what_becomes_of_each_output() -> None:
    session = session_of(*NETS[0])
    told: Any = None
    while told is None or told.trial is None or told.blame is None:
        session.advance(1, "operation")
        told = caption(session)
    trial = told.trial
    neuron, *outputs = trial_rows(trial)
    assert str(short(abs(trial.step), 1)) in trial_title(trial)
    numbers = trial.neuron.before, trial.neuron.after
    assert (neuron.before, neuron.after) == tuple(typeset(short(each)) for each in numbers)
    more = text("trial.up"), text("trial.down")
    assert neuron.words == more[int(trial.neuron.after < trial.neuron.before)]
    for row, each, between in zip(outputs, trial.outputs, trial.between, strict=True):
        assert row.name == f"× {typeset(short(between))}"
        hardly = text("trial.hardly.more"), text("trial.hardly.less")
        assert (row.words in hardly) == (row.before == row.after)
        if row.before != row.after:
            is_more = each.after > each.before
            assert row.words.startswith(
                text(f"reason.{'more' if is_more else 'less'}", name="").strip()
            )


def test_nothing_is_tried_where_a_layer_is_not_dense() -> None:
    shape = (1, 4, 4)
    layers = [sv.Conv2d(shape, 2, 3, padding=1, activation="relu"), sv.Dense(32, 2)]
    x = np.random.default_rng(0).random((4, 16))
    session = sv.Session(sv.Network(layers, seed=0), (x, np.eye(2)[[0, 1, 0, 1]]), "mse", batch=2)
    kinds = [each.kind for each in session.network.program.moments]
    session.advance(kinds.index("loss") + 1, "operation")
    assert trial_of(facts_of(session), state_of(session), 0, 1.0) is None


def test_after_a_step_the_outputs_are_those_before_it_also_if_read_anew() -> None:
    session = advanced(session_of(*NETS[0]), 1)
    facts, state = facts_of(session), state_of(session)
    before = misses_of(facts, state)
    anew = {**{name: state.values[name] for name in state.values}}
    anew[facts.outputs] = [0.5 for _ in before]  # as pages do
    assert misses_of(facts, replace(state, values=anew)) == before != []


def test_numbers_of_a_formula_have_trials_of_a_forward_pass_and_move_as_listed() -> None:
    session = advanced(Show.of(load(find("expression"))(engine="cpu")).session, 20)
    session.focus = sample_to_explain(session) or 0
    before = session.network.bank.value.astype(float).tolist()
    names = [session.network.bank.name_of(row) for row in range(len(before))]
    changes: dict[str, str] = {}
    for _ in session.operations:
        session.advance(1, "operation")
        said = caption(session)
        assert len(said.title.split()) <= 8
        if said.trial is None:
            continue
        row, (out,) = names.index(said.trial.name), said.trial.outputs
        assert said.trial.weight == pytest.approx((before[row], before[row] + said.trial.step))
        assert answered(session, row, said.trial.weight[1])[0] == pytest.approx(out.after)
        assert answered(session, row, before[row])[0] == pytest.approx(out.before)
        assert said.trial.off[1] < said.trial.off[0] and "white dot" in trial_end(said.trial)
        way = text("captions.way.up" if said.trial.step > 0.0 else "captions.way.down")
        keys = ["captions.node.should", "captions.node.momentum"]
        assert said.title in [text(key, name=names[row], way=way) for key in keys]
        changes[names[row]] = said.wish
        ends = [float(each.replace("−", "-")) for each in said.wish.split(" → ")]
        is_asked = (ends[1] > ends[0]) == (said.trial.step > 0.0)
        assert is_asked == (said.title == text(keys[0], name=names[row], way=way))
    assert said.outcome is not None and len(changes) == len(names)
    after = session.network.bank.value.astype(float).tolist()
    moved = {each.name: (each.before, each.after) for each in said.outcome.moved}
    assert moved == dict(zip(names, zip(before, after, strict=True), strict=True))
    wishes = {name: written_change(*ends) for name, ends in moved.items()}
    assert all(wish in ("", wishes[name]) for name, wish in changes.items())
    assert all(changes.values())  # one is carried along by earlier steps


def test_a_parameter_of_a_formula_may_be_above_a_thousand() -> None:
    slope, shift = sv.Value(5000.0, label="slope"), sv.Value(1.0, label="shift")
    line = sv.compile(lambda x: slope * x + shift, inputs=1, engine="python")
    data = np.array([[0.0], [0.5], [1.0]])
    session = sv.Session(line, (data, 2.0 * data), optimizer=sv.SGD(0.5))
    said = []
    for _ in session.operations:
        session.advance(1, "operation")
        said.append(caption(session).wish)
    assert any("," in each for each in said), said
