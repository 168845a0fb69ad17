"""The session of a followed training: kept steps, the arithmetic of each, and no changes."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, OrderError
from tests.training.follow.test_following import net, path, train
from tests.training.follow.witness import Witness
from tests.wording import refused

__all__ = ["net", "path"]


def weights(session: Any) -> Any:
    return np.array(session.network.bank.value)


def flat(witness: Witness, step: int) -> Any:
    return np.concatenate([each.ravel() for each in witness.values[step].values()])


@pytest.fixture
def long(torch: Any, net: Any, path: Path, dense: None) -> tuple[Any, Witness]:
    """The session of a long training of which some steps are kept."""
    with sv.follow(net, path, show=None, size=40_000) as run:
        witness = train(torch, net, 100, torch.optim.SGD(net.parameters(), 0.1), run=run)
    return sv.load(path).session, witness


def test_the_clock_goes_from_kept_step_to_kept_step(long: tuple[Any, Witness]) -> None:
    session, witness = long
    steps = sv.load(session.trainer.run.followed.path).steps.tolist()
    assert session.step_index == steps[-1] and np.array_equal(weights(session), flat(witness, 100))
    session.seek(0)
    assert session.step_index == 0 and steps[1] - steps[0] > 1
    assert np.array_equal(weights(session), flat(witness, 0))
    for place, step in enumerate(steps[1:], 1):
        session.advance()
        assert session.step_index == step and np.array_equal(weights(session), flat(witness, step))
        assert session.loss == witness.losses[step - 1]
        session.seek(step - 1)
        assert session.step_index == steps[place - (step - 1 < steps[place])]
        session.seek(step)
    session.advance()
    assert session.step_index == steps[-1] == 100
    session.back(3)
    assert session.step_index == steps[-4]
    assert np.array_equal(weights(session), flat(witness, steps[-4]))
    session.seek(10**9)
    assert session.step_index == 100
    assert np.array_equal(session.losses, witness.losses)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("edit", (0, 1.0)),
        ("freeze", (0,)),
        ("set_rate", (0, 0.1)),
        ("branch", ()),
        ("add_samples", (np.zeros((1, 3)), np.zeros((1, 2)))),
        ("set_activation", (0, "relu")),
        ("learning_rate", (0.5,)),
        ("optimizer", ("adam",)),
        ("loss_function", ("mse",)),
        ("batch", (1,)),
        ("engine", ("cpu",)),
        ("data", ((np.zeros((1, 3)), np.zeros((1, 2))),)),
    ],
)
def test_a_change_is_refused_and_changes_nothing(
    name: str, given: Any, long: tuple[Any, Witness]
) -> None:
    session, witness = long
    session.advance(2)
    before, branches = session.step_index, session.branches
    is_set = isinstance(getattr(sv.Session, name), property)
    change = partial(setattr, session, name) if is_set else getattr(session, name)
    refused(OrderError, "another program").by(change, *given)
    refused(InputError, "no samples").by(session.samples_that_moved, 0)
    assert session.step_index == before and session.branches == branches
    assert np.array_equal(weights(session), flat(witness, before))
    session.advance()
    assert np.array_equal(weights(session), flat(witness, session.step_index))
    session.reset()
    assert session.step_index == 0


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("SGD", {}),
        ("SGD", {"weight_decay": 0.1}),
        ("SGD", {"momentum": 0.9}),
        ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        ("Adam", {}),
        ("Adam", {"betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
        ("AdamW", {"weight_decay": 0.1}),
        ("SGD", {"momentum": 0.9, "dampening": 0.5}),
        ("Adam", {"amsgrad": True}),
    ],
)
@pytest.mark.usefixtures("dense")
def test_the_arithmetic_of_each_step_is_that_of_the_optimizer(
    kind: str, settings: dict[str, Any], torch: Any, net: Any, path: Path
) -> None:
    first, second = [[*each.parameters()] for each in net.children() if [*each.parameters()]]
    groups = [{"params": first, "lr": 0.02}, {"params": second}]
    moved = getattr(torch.optim, kind)(groups, lr=0.05, **settings)
    with sv.follow(net, path, show=None) as run:
        witness = train(torch, net, 5, moved, run=run)
    session, is_known = sv.load(path).session, not {"dampening", "amsgrad"} & {*settings}
    gradients = [np.concatenate([x.ravel() for x in g.values()]) for g in witness.gradients[1:]]
    session.seek(0)
    for step in range(1, 6):
        session.advance()
        for row in (0, 13, 17, 25):
            found = session.explain(row)
            before, after = (flat(witness, each)[row] for each in (step - 1, step))
            assert found.value == before and found.grad == gradients[step - 1][row]
            if is_known:
                np.testing.assert_allclose(found.new_value, after, rtol=1e-5, atol=1e-7)
            assert bool(found.lines) == is_known
