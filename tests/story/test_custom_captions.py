"""Losses, optimizers and activations of users are seen as formulas with the numbers in them."""

import math
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.elementary import divide
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, LossRow, RowLossRow
from scalarviz.core.formulas.optimizers import OPTIMIZERS, OptimizerRow
from scalarviz.story.caption import CardLine
from scalarviz.training.session.reading import caption
from tests.sessions import advanced
from tests.story.caption_reader import (
    FUNCTIONS,
    NUMBER,
    OWN_NAMES,
    agrees,
    as_python,
    card_of,
    equations,
    walk,
)

ROW = 41  # a weight of the first output


def pinball(prediction: float, target: float) -> float:
    e = target - prediction
    if e >= 0.0:
        return 0.9 * e
    return -0.1 * e


def pinball_derivative(prediction: float, target: float) -> float:
    return -0.9 if prediction <= target else 0.1


def quartic(p: float, t: float) -> float:
    d = p - t
    return d * d * d * d


def quartic_derivative(p: float, t: float) -> float:
    return 4.0 * (p - t) ** 3


def cosh_error(p: float, lambda_: float) -> float:
    return math.log(math.cosh(p - lambda_))


def cosh_derivative(p: float, lambda_: float) -> float:
    return math.tanh(p - lambda_)


def series(p: float, t: float) -> float:
    total = 0.0
    for power in (2, 4):
        total += (p - t) ** power
    return total


def series_derivative(p: float, t: float) -> float:
    total = 0.0
    for power in (2, 4):
        total += power * (p - t) ** (power - 1)
    return total


def relative(p: float, t: float) -> float:
    return (p - t) ** 2 / t


def relative_derivative(p: float, t: float) -> float:
    return 2.0 * (p - t) / t


def sudden(p: float, t: float) -> float:
    if (p - t) / t > 1.0:
        return p - t
    return (p - t) ** 2


def sudden_derivative(p: float, t: float) -> float:
    return 1.0 if (p - t) / t > 1.0 else 2.0 * (p - t)


def sign(x: float) -> float:
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


def lion(
    w: float, g: float, m: float, lr: float, beta1: float = 0.9, beta2: float = 0.99
) -> tuple[float, float]:
    c = beta1 * m + (1 - beta1) * g
    w_new = w - lr * sign(c)
    m_new = beta2 * m + (1 - beta2) * g
    return w_new, m_new


def heavy(weight: float, slope: float, lambda_: float, rate: float) -> tuple[float, float]:
    if abs(slope) > 1e-3:
        lambda_ *= 0.5
    lambda_ += slope
    return weight - rate * lambda_ / (math.sqrt(lambda_ * lambda_ + 0.25) + 0.125), lambda_


def steps(w: float, g: float, step: float, lr: float, other: float) -> tuple[float, float]:
    step = step + other * g
    return w - lr * step, step


def paired(w: float, g: float, m: float, lr: float) -> tuple[float, float]:
    both = (w, m + g)
    return both[0] - lr * both[1], both[1]


def looped(w: float, g: float, m: float, lr: float) -> tuple[float, float]:
    for _ in range(3):
        m = 0.5 * m + g
    return w - lr * m, m


def plain(w: float, g: float, lr: float) -> float:
    return w - 2 * lr * g


def long_way(w: float, g: float, m: float, lr: float) -> tuple[float, float]:
    u = 0.51 * m + 0.23 * g + 0.1 * m * g + 0.7 * m * m * g + 0.3 * g * g * m + 0.9 * m * m * m
    return w - lr * (u + 0.31 * m + 0.12 * g + 0.4 * m * g + 0.7 * m * m + 0.2 * g * g), u


def within(w: float, g: float, m: float, lr: float) -> tuple[float, float]:
    return lion(w, 2.0 * g, m, lr=0.5 * lr)


def swapped(w: float, g: float, m: float, n: float, lr: float) -> tuple[float, float, float]:
    m, n = n, m + g
    return w - lr * math.exp(-m) * math.pi * (g if g > 0.0 else 2.0 * g), m, n


def careful(w: float, g: float, m: float, lr: float) -> tuple[float, float]:
    ratio = divide(g, m)
    m = 0.5 * m + g
    return w - lr * g if ratio > -1.0 else w - 2.0 * lr * g, m


def decaying(step: float) -> tuple[float]:
    return (1.0 / (1.0 + 0.1 * step),)


def slower(w: float, g: float, lr: float, slowness: float) -> tuple[float]:
    return (w - lr * slowness * g,)


def bump(x: float) -> float:
    return 1.0 / (1.0 + x * x)


def bump_derivative(x: float, y: float) -> float:
    return -2.0 * x * y * y


def bent(x: float) -> float:
    return x if x > 0.0 else 0.3 * x


def bent_derivative(x: float, y: float) -> float:
    return 1.0 if x > 0.0 else 0.3


MOVES = {
    "lion": OptimizerRow("lion", lion, ("m",), (("beta1", 0.9), ("beta2", 0.99))),
    "heavy": OptimizerRow("heavy", heavy, ("speed",)),
    "looped": OptimizerRow("looped", looped, ("m",)),
    "steps": OptimizerRow("steps", steps, ("step",), (("other", 0.5),)),
    "paired": OptimizerRow("paired", paired, ("m",)),
    "plain": OptimizerRow("plain", plain),  # type: ignore[arg-type]  # on purpose
    "long_way": OptimizerRow("long_way", long_way, ("m",)),
    "within": OptimizerRow("within", within, ("m",)),
    "swapped": OptimizerRow("swapped", swapped, ("m", "n")),
    "careful": OptimizerRow("careful", careful, ("m",)),
    "slower": OptimizerRow("slower", slower, (), (), decaying),
}
ERRORS = {
    "pinball": LossRow("pinball", pinball, pinball_derivative),
    "quartic": LossRow("quartic", quartic, quartic_derivative),
    "cosh_error": LossRow("cosh_error", cosh_error, cosh_derivative),
    "series": LossRow("series", series, series_derivative),
}


def session(
    loss: str = "mse",
    optimizer: str = "sgd",
    activation: str = "tanh",
    engine: str = "python",
    **options: Any,
) -> sv.Session:
    network = sv.Network([3, 8, 3], activation, "sigmoid", seed=0, dtype="float64")
    rate = sv.Optimizer(optimizer, 0.1, **options)
    return sv.Session(network, data.Rgb(), loss, rate, batch=8, engine=engine)


def lines_of(s: sv.Session, part: Any) -> list[str]:
    """The lines of the card of a pinned part."""
    return [each.words for each in card_of(s, part).blocks if isinstance(each, CardLine)]


def assert_right(formula: str, result: str, **functions: Any) -> None:
    """A calculator, which has some functions of users, gives what is written."""
    value = eval(as_python(formula), {**FUNCTIONS, **functions})
    assert agrees(float(value), result), f"{formula} = {result}"


@pytest.fixture(autouse=True)
def rows_of_users() -> None:
    """Rows of users, which `conftest.py` removes after a test."""
    LOSSES.update(ERRORS)
    OPTIMIZERS.update(MOVES)
    for name, f, slope in (("bump", bump, bump_derivative), ("bent", bent, bent_derivative)):
        ACTIVATIONS[name] = ActivationFormula(name, f, (slope,))


# Losses.


@pytest.mark.parametrize(
    ("name", "formula", "slope"),
    [
        ("quartic", "L = mean of (p - t)^4", "4 × (p - t)^3"),
        (
            "pinball",
            "L = mean of (0.9 × (t - p) if t - p >= 0, else -0.1 × (t - p))",
            "(-0.9 if p <= t, else 0.1)",
        ),
        ("cosh_error", "L = mean of log(cosh(p - t))", "tanh(p - t)"),
        ("series", "L = mean of series(p, t)", "series'(p, t)"),
    ],
)
def test_an_own_loss_is_seen_as_its_formula(name: str, formula: str, slope: str) -> None:
    s = advanced(session(name), 2)
    told = walk(s, ROW)
    assert told["loss"].formula == formula
    assert told["delta 1"].formula.startswith(f"signal = {slope} / (8 samples × 3 outputs) × ")
    p, t = s.numbers("sigmoid 1").outputs[0], s.trainer.batches.at(2)[1][0]
    for which in ("loss", "delta 1"):
        for side, result in equations(told[which]):
            known = {"cosh": np.cosh, "series": series, "series'": series_derivative}
            if "series'" not in side:
                assert_right(side, result, **known)
    wanted = LOSSES[name].value(float(p[0]), float(t[0]))
    assert agrees(wanted, told["loss"].numbers[0].split("; ")[0].split(" = ")[-1])
    delta = float(s.numbers("sigmoid 1").upstream[0, 1])  # ROW is one of output 1
    assert agrees(delta, told["delta 1"].numbers[0].split(" = ")[-1])


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["pinball", "quartic", "cosh_error", "series", "mse", "huber"])
def test_the_card_of_an_output_has_its_error(name: str) -> None:
    s = advanced(session(name), 1)
    lines = lines_of(s, (s.network.program.outputs.name, 1))
    (line,) = [line for line in lines if line.startswith("error: ")]
    formula, result = line.removeprefix("error: ").split(" = ")
    assert_right(formula, result, cosh=np.cosh, series=series)
    assert ("(0.9 × (t - p) if t - p >= 0, else -0.1 × (t - p))" in lines) == (name == "pinball")


def test_an_own_loss_of_whole_rows_has_its_name_and_its_value() -> None:
    def value(p: Any, t: Any) -> float:
        return sum((a - b) ** 2 for a, b in zip(p, t, strict=True)) ** 2

    def gradient(p: Any, t: Any, gradient: Any) -> None:
        total = sum((a - b) ** 2 for a, b in zip(p, t, strict=True))
        for i in range(len(p)):
            gradient[i] = 4.0 * total * (p[i] - t[i])

    ROW_LOSSES["ranked"] = RowLossRow("ranked", value, gradient)
    s = session("ranked")
    told = walk(s, ROW)
    p, t = s.numbers("sigmoid 1").outputs[0], s.trainer.batches.at(0)[1][0]
    assert told["loss"].formula == "L = mean of ranked(p, t)"
    name, _, error = told["loss"].numbers[0].partition(": error ")
    assert name == "ranked" and agrees(value(p, t), error)
    assert "ranked'(p, t) / 8 samples" in told["delta 1"].formula
    delta = float(s.numbers("sigmoid 1").upstream[0, 1])
    assert agrees(delta, told["delta 1"].numbers[0].split(" = ")[-1])


# Optimizers.


@pytest.mark.some(2)
@pytest.mark.parametrize("name", MOVES)
@pytest.mark.parametrize("steps", [0, 3])
def test_every_line_of_an_own_optimizer_is_right(name: str, steps: int) -> None:
    s = advanced(session(optimizer=name), steps)
    before = float(s.network.bank.value[ROW])
    told = walk(s, ROW)["step"]
    found = equations(told, OWN_NAMES)
    assert found
    own = {each.__name__: each for each in (looped, paired)}
    known = {name: lambda *x, each=each: each(*x)[0] for name, each in own.items()} | {"sign": sign}
    for side, result in found:
        if not result.endswith("inf"):
            assert_right(side, result, **known)
    assert agrees(float(s.network.bank.value[ROW]), told.lines[0][-1].words)
    old, new = NUMBER.findall(told.title)[-2:]
    assert agrees(before, old) and agrees(float(s.network.bank.value[ROW]), new)
    lines = [each for each in lines_of(s, ROW) if " = " in each]
    for line in (each for each in lines if "... = " not in each and not each.endswith("inf")):
        _, formula, result = line.split(" = ")
        assert_right(formula, result, **known)
    assert lines[-1].startswith("new w = ")


def test_of_a_condition_only_the_case_that_is_met_is_a_line() -> None:
    s = advanced(session(optimizer="heavy"), 1)
    grads = {True: NotImplemented, False: NotImplemented}
    walk(s, ROW)
    for row in range(59):
        told = caption(s, row)
        is_large = abs(float(s.network.bank.grad[row])) > 1e-3
        names = [line.split(" = ")[0] for line in told.numbers if " = " in line][1:]
        assert names == ["speed"] * (1 + is_large)
        grads[is_large] = row
    assert NotImplemented not in grads.values()


def test_an_update_that_cannot_be_followed_has_its_name_and_its_numbers() -> None:
    s = advanced(session(optimizer="looped"), 2)
    old = float(s.network.bank.slots["m"][ROW])
    told = walk(s, ROW)["step"]
    assert told.formula == "new w = looped(w, gradient, m, lr)"
    assert told.numbers[0].startswith("looped(")
    name, _, change = told.numbers[1].partition(": ")
    before, after = change.split(" → ")
    assert name == "m" and agrees(old, before)
    assert agrees(float(s.network.bank.slots["m"][ROW]), after)
    (line,) = [each for each in lines_of(s, ROW) if each.startswith("m: ")]
    assert all(map(agrees, (old, float(after)), line.removeprefix("m: ").split(" → ")))
    assert str(s.explain(ROW)).splitlines()[-1].startswith("w = looped(w, grad, m, lr) = ")


def test_a_long_line_can_be_opened() -> None:
    s = advanced(session(optimizer="long_way"), 2)
    told = walk(s, ROW)["step"]
    assert told.numbers[0].endswith(f"... = {told.lines[0][-1].words}")
    assert any(piece.opens for piece in told.lines[0])
    assert len("".join(piece.words for piece in told.whole[0])) > 110
    assert len(told.whole) == len(told.lines)
    card = lines_of(s, ROW)
    assert card[-1].startswith("new w = ... = ") and card[-2].startswith("u = ... = ")


# Activations.


def test_an_own_activation_is_seen_as_its_formula() -> None:
    s = advanced(session(activation="bump"), 1)
    told = walk(s, ROW)
    assert told["bump 0"].formula == "a = bump(z) = 1 / (1 + z²)"
    assert told["delta 0"].formula == "signal = incoming × -2 × z × a²"
    for which in ("bump 0", "delta 0"):
        found = equations(told[which])
        assert found
        for side, result in found:
            assert_right(side, result, bump=bump)
    (line,) = [line for line in lines_of(s, ("bump 0", 1)) if line.startswith("bump(")]
    first, second, result = line.split(" = ")
    assert_right(first, result, bump=bump)
    assert_right(second, result)


@pytest.mark.some(1)
@pytest.mark.parametrize(("name", "value"), [("relative", "inf"), ("sudden", "")])
def test_what_is_not_finite_is_seen_as_the_engine_has_it(name: str, value: str) -> None:
    """Kernels divide by 0, where Python raises an error."""
    LOSSES[name] = LossRow(name, globals()[name], globals()[f"{name}_derivative"])
    s = advanced(session(name, engine="cpu", not_finite="zero"), 3)
    assert bool(value) == (s.loss == math.inf)
    told = walk(s, ROW)
    assert value in told["loss"].numbers[0] and value in told["loss"].why
    for part in ((s.network.program.outputs.name, 2), ROW):
        assert lines_of(s, part)


# As users add them.


def test_what_users_add_is_seen() -> None:
    def asymmetric(p: Any, t: Any) -> Any:
        e = t - p
        return sv.where(e >= 0.0, 0.9 * e, -0.1 * e)

    def doubled(w: float, g: float, lr: float = 0.1) -> float:
        step = 2.0 * lr * g
        return w - step

    sv.loss(asymmetric)
    sv.optimizer(doubled)
    told = walk(advanced(session("asymmetric", "doubled"), 1), ROW)
    cases = "(0.9 × (t - p) if t - p >= 0, else -0.1 × (t - p))"
    assert told["loss"].formula == f"L = mean of {cases}"
    assert told["delta 1"].formula.startswith(
        "signal = (-0.9 if t - p >= 0, else 0.1) / (8 samples"
    )
    assert told["step"].formula == "new w = w - step"
    assert told["step"].numbers[1].startswith("step = 2 × 0.1 × ")
    for which in ("loss", "delta 1", "step"):
        found = equations(told[which], OWN_NAMES)
        assert len(found) > 1
        for side, result in found:
            assert_right(side, result)


# Anything.


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("loss", "optimizer"), [*((loss, "sgd") for loss in ERRORS), *(("mse", name) for name in MOVES)]
)
def test_nothing_is_empty(loss: str, optimizer: str) -> None:
    s = session(loss, optimizer)
    for row in (0, 30, ROW, 58):
        for name, told in walk(s, row).items():
            assert told.title and told.formula and told.numbers, name
            assert all(told.numbers), name
        assert all(lines_of(s, row))
