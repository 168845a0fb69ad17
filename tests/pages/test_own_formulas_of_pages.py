"""A page writes formulas that users add as Python does, word for word."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import exp, log, log1p
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from tests.additions.test_own_losses import (
    chosen,
    pinball,
    pinball_derivative,
    squares,
    squares_gradient,
)
from tests.pages.walks import Walk, compared, said_by_node, spec_of

TABLES: list[dict[str, Any]] = [ACTIVATIONS, LOSSES, ROW_LOSSES, OPTIMIZERS]


def stairs(x: float) -> float:
    if x < -0.5:
        return -1.0
    if x < 0.5:
        return 2.0 * x
    return 1.0


def stairs_derivative(x: float, y: float) -> float:
    return 2.0 if -0.5 <= x < 0.5 else 0.0


def log_cosh(p: float, t: float) -> float:
    e = abs(p - t)
    return e + log1p(exp(-2.0 * e)) - log(2.0)


def lion(w: float, g: float, m: float, lr: float, beta1: float = 0.9, beta2: float = 0.99) -> Any:
    c = beta1 * m + (1.0 - beta1) * g
    sign = 1.0 if c > 0.0 else (-1.0 if c < 0.0 else 0.0)
    return w - lr * sign, beta2 * m + (1.0 - beta2) * g


def warmed_constants(step: float, steps: float = 100.0) -> tuple[float]:
    return (step / steps if step < steps else 1.0,)


def warmed(w: float, g: float, lr: float, steps: float, share: float) -> Any:
    return w - share * lr * g


def halved(w: float, g: float, lr: float) -> Any:
    for _ in range(3):
        g = 0.5 * g
    return w - lr * g


@pytest.fixture(autouse=True)
def own_rows() -> Iterator[None]:
    """The tables as they were before the test, afterwards."""
    before = [dict(each) for each in TABLES]
    yield
    for each, rows in zip(TABLES, before, strict=True):
        each.clear()
        each.update(rows)


def learner(activation: str = "tanh", loss: str = "mse", optimizer: Any = None) -> sv.Session:
    network = sv.Network([3, 4, 3], activation, "linear", seed=1)
    optimizer = optimizer or sv.SGD(0.1)
    return sv.Session(network, data.Rgb(), loss, optimizer, batch=4, engine="python")


def with_stairs() -> sv.Session:
    sv.activation(stairs, stairs_derivative)
    return learner("stairs")


def with_loss(*functions: Any) -> sv.Session:
    sv.loss(*functions)
    return learner(loss=functions[0].__name__)


OWN: dict[str, Callable[[], sv.Session]] = {
    "an activation with cases": with_stairs,
    "a loss with cases": lambda: with_loss(pinball, pinball_derivative),
    "a loss with a recorded derivative": lambda: with_loss(log_cosh),
    "a loss by where": lambda: with_loss(chosen),
    "an optimizer with cases": lambda: learner(
        optimizer=sv.optimizer(lion, slots=("m",))(0.01, clip_norm=1.0)
    ),
    "an optimizer with constants": lambda: learner(
        optimizer=sv.optimizer(warmed, constants=warmed_constants)(0.5, steps=3)
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_own_formulas_are_those_of_python(name: str, tmp_path: Path) -> None:
    assert compared(OWN[name](), tmp_path, steps=4) > 300


@pytest.mark.slow
def test_formulas_that_a_page_cannot_follow_are_left_out(tmp_path: Path) -> None:
    """A loop is no formula: the loss and the new weight are said without arithmetic."""
    sv.loss(squares, squares_gradient, rows=True)
    session = learner(loss="squares", optimizer=sv.optimizer(halved)(0.1))
    loss, step = [
        state
        for state in Walk(session).states()
        if state["moment"] in (4, len(session.operations) - 1)
    ]
    asked = [("caption", {"row": 3}), ("card", {"row": 3})]
    states = [{"state": state, "asked": asked} for state in (loss, step)]
    found = said_by_node({"spec": spec_of(session), "states": states}, tmp_path)["states"]
    assert [[piece["words"] for piece in line] for line in found[0][0]["lines"]] == [
        [f"L = {found[0][0]['title'].rstrip('.').split()[-1]}"]
    ]
    assert "moves from" in found[1][0]["title"]
    assert "head" in found[1][1]["blocks"][-1]  # the sum of the gradient, and no more lines
