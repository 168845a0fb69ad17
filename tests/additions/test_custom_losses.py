"""Custom losses.

Checked when they are added, as good as those of the table, and unchanged by later code.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, MutableSequence, Sequence
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.elementary import exp, log1p
from scalarviz.core.formulas.losses import EVERYWHERE, LOSSES, ROW_LOSSES, LossRow, RowLossRow
from scalarviz.engines.cpu.table import every_unit
from scalarviz.engines.custom.custom_formulas import check_numbers, check_rows, points
from scalarviz.errors import FileError, InputError, ShapeError, UnknownNameError
from tests.sessions import advanced, every_engine
from tests.wording import refused

SHARE = 0.9


def square(p: float, t: float) -> float:
    return (p - t) * (p - t)


def twice(p: float, t: float) -> float:
    return 2.0 * (p - t)


def pinball(p: float, t: float) -> float:
    """A docstring, annotations and comments, of which no kernel knows."""
    return SHARE * (t - p) if t > p else (1.0 - SHARE) * (p - t)


def pinball_derivative(p: float, t: float) -> float:
    return -SHARE if t > p else 1.0 - SHARE


def chosen(p: Any, t: Any) -> Any:
    return sv.where(t > p, SHARE * (t - p), (1.0 - SHARE) * (p - t))


def squares(p: Sequence[float], t: Sequence[float]) -> float:
    total = 0.0
    for i in range(len(p)):
        total += (p[i] - t[i]) * (p[i] - t[i])
    return total


def squares_gradient(
    p: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    for i in range(len(p)):
        gradient[i] = 2.0 * (p[i] - t[i])


def trained(loss: Any, engine: str, steps: int = 20, **options: Any) -> sv.Session:
    net = sv.Network([2, 3, 2], seed=1, dtype=options.pop("dtype", "float64"))
    pairs = [[0.1, 0.7], [-0.4, 0.9], [0.8, -0.3]], [[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]]
    return advanced(
        sv.Session(net, pairs, loss, sv.Adam(0.05), batch=2, seed=3, engine=engine, **options),
        steps,
    )


def same_bits(a: sv.Session, b: sv.Session) -> bool:
    banks = a.network.bank, b.network.bank
    pairs = [(banks[0].value, banks[1].value), (a.losses, b.losses)]
    pairs += zip(banks[0].slots.values(), banks[1].slots.values(), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


# ---- training -----------------------------------------------------------------------------------


@pytest.mark.some("python", "cuda")
@every_engine
def test_a_loss_with_the_formula_of_mse_has_its_bits(engine: str) -> None:
    sv.loss(square, twice)
    expected = trained("mse", engine)
    assert same_bits(trained("square", engine), expected)
    found = sv.loss(square, name="recorded")  # its derivative is found
    assert same_bits(trained(found, engine), expected)
    assert same_bits(trained(sv.Loss(found), engine), expected)


@pytest.mark.slow  # more kernels are compiled, the first time
def test_mixed_precision_and_float32_take_it() -> None:
    sv.loss(square)
    mixed = {"precision": "mixed", "dtype": "float32"}
    assert same_bits(trained("square", "cpu", **mixed), trained("mse", "cpu", **mixed))


@pytest.mark.some("cpu", "cuda")
@every_engine
def test_a_loss_on_rows_has_the_bits_of_its_counterpart(engine: str) -> None:
    sv.loss(squares, squares_gradient, rows=True)
    by_sample = sv.Loss("mse", mean="samples")
    found, expected = (trained(each, engine) for each in ("squares", by_sample))
    assert found.network.bank.value == pytest.approx(expected.network.bank.value, rel=1e-12)


@pytest.mark.slow
def test_engines_agree_on_a_loss_that_chooses() -> None:
    sv.loss(pinball, pinball_derivative)
    sv.loss(chosen)
    expected = trained("pinball", "python")
    for name, engine in (("pinball", "cpu"), ("chosen", "python"), ("chosen", "cpu")):
        found = trained(name, engine)
        assert found.network.bank.value == pytest.approx(expected.network.bank.value, rel=1e-12)
        assert type(found.loss) is float


def test_a_compiled_expression_learns_by_it() -> None:
    sv.loss(square)
    w = sv.Value(0.0)
    for engine in ("python", "cpu"):
        w.data = 0.0
        f = sv.compile(lambda x: w * x, inputs=1, engine=engine)
        for _ in range(100):
            f.train_step([[1.0], [2.0]], [[3.0], [6.0]], "square", sv.SGD(0.1))
        assert w.data == pytest.approx(3.0)


# ---- the derivative -----------------------------------------------------------------------------


def tail(x: Any) -> Any:
    return log1p(exp(-abs(x)))


def made_of_much(p: Any, t: Any) -> Any:
    d = p - t
    return tail(d) + d**2 / (1.0 + d**4) + sv.maximum(p, 0.5 * t) + math.tanh(p) * t - 2.0**p


def grown(x: Any) -> Any:
    return math.exp(x)


def poisson(p: Any, t: Any) -> Any:
    return grown(p) - t * p + np.log(1.0 + math.fabs(t)) + 0.5 * np.abs(p)


def closed_over(factor: float) -> Callable[[float, float], float]:
    def scaled(p: float, t: float) -> float:
        return factor * (p - t) ** 3 + factor * tail(p)

    return scaled


@pytest.mark.parametrize("function", [made_of_much, poisson, closed_over(2.5), chosen])
def test_a_derivative_is_found_by_recording(function: Any) -> None:
    row = sv.loss(function)
    assert isinstance(row, LossRow)
    for p, t in ((0.3, -0.8), (-1.7, 0.4), (2.2, 2.5)):
        around = [row.value(p + h, t) for h in (-1e-6, 1e-6)]
        assert row.derivative(p, t) == pytest.approx((around[1] - around[0]) / 2e-6, rel=1e-7)


@pytest.mark.slow
def test_what_would_raise_in_python_is_infinite_as_in_kernels() -> None:
    row = sv.loss(poisson)
    assert isinstance(row, LossRow)
    assert row.value(1000.0, 1.0) == row.derivative(1000.0, 1.0) == math.inf
    for engine in ("python", "cpu"):
        assert math.isfinite(trained("poisson", engine).loss)


def test_a_found_derivative_is_source_that_one_can_read() -> None:
    row = sv.loss(square)
    assert isinstance(row, LossRow)
    assert inspect.getsource(row.derivative) == (
        "def square_derivative(p, t):\n    v1 = p - t\n    return 2.0 * v1\n"
    )
    row = sv.loss(chosen)
    assert isinstance(row, LossRow)
    assert inspect.getsource(row.derivative) == (
        "def chosen_derivative(p, t):\n    v1 = t > p\n"
        "    return -0.9 if v1 else 0.09999999999999998\n"
    )


def at_most(p: float, t: float) -> float:
    return max(p - t, 0.0)


def rounded(p: float, t: float) -> float:
    return math.floor(p) + t


@pytest.mark.parametrize("function", [pinball, at_most, rounded])
def test_what_compares_its_arguments_needs_a_derivative(function: Any) -> None:
    refused(InputError).by(sv.loss, function, name="compares")
    assert "compares" not in LOSSES


# ---- the checks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in LOSSES if "relative" not in name])
def test_the_losses_of_the_table_pass_the_checks(name: str) -> None:
    row = LOSSES[name]
    if row.weight(2.0, 1.0) == 1.0:  # else the derivative takes the weight as a constant
        check_numbers(row, *EVERYWHERE)


def test_the_losses_on_rows_pass_the_checks() -> None:
    for row in ROW_LOSSES.values():
        check_rows(row, *EVERYWHERE)


def half(p: float, t: float) -> float:
    return p - t


def opposite(p: float, t: float) -> float:
    return 2.0 * (t - p)


def above(p: float, t: float) -> float:
    return 2.0 * (p - t) if p > -1.0 else 0.0


@pytest.mark.parametrize("derivative", [half, opposite, above])
def test_a_wrong_derivative_is_refused_with_both_numbers(derivative: Any) -> None:
    refused(InputError, "finite differences").by(sv.loss, square, derivative)
    assert "square" not in LOSSES


def without_factor(
    p: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    for i in range(len(p)):
        gradient[i] = p[i] - t[i]


def without_last(p: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]) -> None:
    for i in range(len(p) - 1):
        gradient[i] = 2.0 * (p[i] - t[i])


@pytest.mark.parametrize("gradient", [without_factor, without_last, None])
def test_a_wrong_gradient_of_rows_is_refused(gradient: Any) -> None:
    refused(InputError, "squares").by(sv.loss, squares, gradient, rows=True)
    assert "squares" not in ROW_LOSSES


def third(p: Sequence[float], t: Sequence[float]) -> float:
    return (p[2] - t[0]) * (p[2] - t[0])


def third_gradient(
    p: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    gradient[0] = gradient[1] = 0.0
    gradient[2] = 2.0 * (p[2] - t[0])


def test_a_loss_on_rows_of_a_fixed_number_says_how_many() -> None:
    assert sv.loss(third, third_gradient, rows=True, outputs=3).name == "third"
    assert sv.Loss("third")([[5.0, 5.0, 3.0]], [[1.0, 0.0, 0.0]]) == 4.0
    said = refused(InputError, r"gradient[3] is not written", varies=r"\(\[.*\]\)").by(
        sv.loss, third, third_gradient, rows=True
    )
    assert "outputs=" in str(said) and "domain" not in str(said)
    said = refused(InputError, "IndexError", varies=r"\(\[.*\]\)").by(
        sv.loss, third, third_gradient, rows=True, outputs=2
    )
    assert "outputs=" in str(said) and "domain" not in str(said)
    refused(InputError, "0").by(sv.loss, third, third_gradient, rows=True, outputs=0)


def gaussian(p: Sequence[float], t: Sequence[float]) -> float:
    return 0.5 * (p[1] + (p[0] - t[0]) ** 2.0 * math.exp(-p[1]))


def gaussian_gradient(
    p: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    gradient[0] = (p[0] - t[0]) * math.exp(-p[1])
    gradient[1] = 0.5 - 0.5 * (p[0] - t[0]) ** 2.0 * math.exp(-p[1])


def mixture(p: Sequence[float], t: Sequence[float]) -> float:
    """Of two normal distributions: means, logarithms of deviations, logits."""
    a = p[4] - p[2] - 0.5 * ((t[0] - p[0]) * math.exp(-p[2])) ** 2.0
    b = p[5] - p[3] - 0.5 * ((t[0] - p[1]) * math.exp(-p[3])) ** 2.0
    high, most = (a if a > b else b), (p[4] if p[4] > p[5] else p[5])
    ratio = (math.exp(p[4] - most) + math.exp(p[5] - most)) / (
        math.exp(a - high) + math.exp(b - high)
    )
    return most - high + math.log(ratio)


def mixture_gradient(
    p: Sequence[float], t: Sequence[float], gradient: MutableSequence[float]
) -> None:
    odds = 0.0
    for i in range(2):
        u = (t[0] - p[i]) * math.exp(-p[2 + i])
        odds += (2 * i - 1) * (p[4 + i] - p[2 + i] - 0.5 * u * u)
    for i in range(2):
        u = (t[0] - p[i]) * math.exp(-p[2 + i])
        share = 1.0 / (1.0 + math.exp((1 - 2 * i) * odds))
        gradient[i] = -share * u * math.exp(-p[2 + i])
        gradient[2 + i] = share * (1.0 - u * u)
        gradient[4 + i] = 1.0 / (1.0 + math.exp(p[5 - i] - p[4 + i])) - share


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("outputs", [2, 6], ids=["gaussian", "mixture"])
def test_a_loss_with_fewer_targets_than_outputs_agrees_with_pytorch(
    outputs: int, engine: str
) -> None:
    torch = pytest.importorskip("torch", reason="make test-all installs PyTorch")

    def density(y: Any, t: Any) -> Any:
        if outputs == 2:
            return torch.nn.GaussianNLLLoss()(y[:, :1], t, y[:, 1:].exp())
        normal = torch.distributions.Normal(y[:, :2], y[:, 2:4].exp())
        logs = torch.log_softmax(y[:, 4:], 1) + normal.log_prob(t)
        return -torch.logsumexp(logs, 1).mean() - 0.5 * math.log(2.0 * math.pi)

    functions = (gaussian, gaussian_gradient) if outputs == 2 else (mixture, mixture_gradient)
    row = sv.loss(*functions, rows=True, outputs=outputs, targets=1)
    x, y = np.split(np.random.default_rng(0).random((40, 4)), [3], axis=1)
    net = sv.Network([3, 8, outputs], "tanh", dtype="float64", engine=engine)
    session = sv.Session(net.copy(), (x, y), row, "adam", batch=None, engine=engine)
    module, optimizer = net.to_torch(), sv.Adam(1e-3)
    theirs, losses = torch.optim.Adam(module.parameters(), 1e-3), []
    for _ in range(20):
        theirs.zero_grad()
        loss = density(module(torch.tensor(x)), torch.tensor(y))
        loss.backward()
        theirs.step()
        losses.append(float(loss.detach()) - net.train_step(x, y, row, optimizer))
    session.advance(20)
    weights = [p.detach().numpy().ravel() for p in module.parameters()]
    assert np.abs(losses).max() < 1e-12
    assert np.abs(np.concatenate(weights) - net.bank.value).max() < 1e-12
    assert np.array_equal(session.network.bank.value, net.bank.value)


def test_a_loss_of_fixed_numbers_refuses_others() -> None:
    refused(InputError, "2 targets").by(sv.loss, gaussian, gaussian_gradient, rows=True, targets=2)
    refused(InputError, "finite", varies=r"\(\[.*\]\)").by(
        sv.loss, gaussian, without_factor, rows=True, outputs=2, targets=1
    )
    row = sv.loss(gaussian, without_factor, rows=True, outputs=2, targets=1, check=False)
    assert (row, row.targets) == (ROW_LOSSES["gaussian"], 1)
    row = sv.loss(gaussian, gaussian_gradient, rows=True, outputs=2, targets=1)
    assert sv.Loss(row)([[1.0, 0.0]], [3.0]) == sv.Loss(row)([1.0, 0.0], [[3.0]]) == 2.0
    refused(ShapeError, "not 3").by(sv.Session, sv.Network([1, 3]), ([[1.0]], [[1.0]]), row)
    refused(ShapeError, "(1, 2)").by(sv.Network([1, 2]).train_step, [[1.0]], [[1.0, 0.0]], row)
    made = sv.data.Arrays([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0], held_out=1, output_names=["y"])
    session = sv.Session(sv.Network([1, 2]), made, row)
    assert (session.data.outputs, session.data.held_out[1].tolist()) == (2, [[3.0, 0.0]])
    f = sv.compile(lambda x: [x, 2.0 * x], inputs=1)
    assert f.train_step([[1.0]], [[1.0]], row) == pytest.approx(1.0)


def test_a_run_of_fewer_targets_than_outputs_takes_the_data_that_it_was_trained_on(
    tmp_path: Any,
) -> None:
    row = sv.loss(mixture, mixture_gradient, rows=True, outputs=6, targets=1)
    x, y = np.split(np.random.default_rng(0).random((40, 2)), 2, axis=1)
    made, path = sv.data.Arrays(x, y, share=0.8), tmp_path / "run.safetensors"
    net = sv.Network([1, 6], seed=0)
    session = advanced(sv.Session(net, made, row, "adam", batch=8, engine="python"), 5)
    session.save(path, data=False)
    for given in (made, session.data):
        again = sv.Session.load(path, data=given)
        again.seek(2)
        again.seek(5)
        assert np.array_equal(again.network.bank.value, session.network.bank.value)
    other = sv.data.Arrays(x, y + 1.0, share=0.8)
    refused(FileError, "targets of the data passed").by(sv.Session.load, path, data=other)
    two = sv.data.Arrays(x, np.hstack([y, y]), share=0.8)
    refused(FileError, "targets of the data passed").by(sv.Session.load, path, data=two)
    refused(FileError, "not Xor").by(sv.Session.load, path, data=sv.data.Xor())


def test_zeros_behind_targets_are_weighed_before_they_are_made(tmp_path: Any) -> None:
    row = sv.loss(mixture, mixture_gradient, rows=True, outputs=6, targets=1)
    made, path = sv.data.Arrays(np.ones((10_000, 1)), np.ones(10_000)), tmp_path / "run.safetensors"
    sv.Session(sv.Network([1, 6]), made, row, batch=8, engine="python").save(path, data=False)
    refused(FileError, "zeros").by(sv.Session.load, path, data=made, limit=400_000)
    assert sv.Session.load(path, data=made, limit=500_000).data.outputs == 6


def overflows(p: float, t: float) -> float:
    return p**200.0 - t * p


def is_nan(p: float, t: float) -> float:
    return log1p(exp(p)) - p * t


def gives_none(p: float, t: float) -> None:
    return None


FACTORS = {"half": 0.5}


def looked_up(p: float, t: float) -> float:
    return FACTORS["half"] * (p - t) * (p - t)


@pytest.mark.parametrize("function", [overflows, is_nan, gives_none])
def test_a_loss_is_a_number_everywhere(function: Any) -> None:
    refused(InputError).by(
        sv.loss, function, twice if function is gives_none else None, name="partial"
    )


def entropy(p: float, t: float) -> float:
    return -(t * math.log(p) + (1.0 - t) * math.log(1.0 - p))


def divergence(p: float, t: float) -> float:
    return t * math.log(t / p)


def test_a_loss_of_probabilities_is_checked_in_its_domain_only() -> None:
    refused(InputError, "domain").by(sv.loss, entropy)
    row = sv.loss(entropy, domain=(0, 1))
    assert isinstance(row, LossRow)
    assert row.derivative(0.25, 1.0) == -4.0
    sv.loss(divergence, domain=(0.0, math.inf))
    refused(InputError, "sigmoid").by(
        sv.Session, sv.Network([2, 4, 1], "tanh"), ([[0.0, 1.0]], [1.0]), "entropy"
    )
    refused(InputError, "finite differences").by(
        sv.loss, entropy, divergence, domain=(0, 1), name="wrong"
    )
    net = sv.Network([2, 4, 1], "tanh", output="sigmoid", seed=0, dtype="float64")
    logits = sv.Network([2, 4, 1], "tanh", output="linear", seed=0, dtype="float64")
    pair = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 0.0])
    sessions = [
        sv.Session(each, pair, loss, sv.SGD(0.5), engine="python")
        for each, loss in ((net, "entropy"), (logits, "sigmoid_cross_entropy"))
    ]
    for session in sessions:
        session.advance(5)
    np.testing.assert_allclose(sessions[0].losses, sessions[1].losses, rtol=1e-12)


@pytest.mark.parametrize("domain", [(1, 0), 3, (0, 1, 2), ("a", 1), (0.0, math.nan), None])
def test_a_domain_is_two_numbers(domain: Any) -> None:
    refused(InputError, "domain").by(sv.loss, entropy, domain=domain)


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 0.5), (2.0, math.inf), (-math.inf, -3.0)])
def test_points_of_the_checks_lie_in_the_domain(ends: tuple[float, float]) -> None:
    found = [*points(*ends)]
    assert len(found) == 50
    for p, t in found:
        assert ends[0] < p - 1e-4 and p + 1e-4 < ends[1] and ends[0] < t < ends[1]


def test_what_no_kernel_can_contain_is_refused() -> None:
    refused(InputError, "FACTORS").by(sv.loss, looked_up, half)
    assert "looked_up" not in LOSSES


def test_arguments_are_checked() -> None:
    refused(InputError, "3").by(sv.loss, 3)
    refused(InputError, "4.0").by(sv.loss, square, 4.0)
    refused(InputError, "mse").by(sv.loss, square, twice, "mse")
    refused(InputError, "two words").by(sv.loss, square, twice, "two words")
    refused(InputError).by(sv.loss, lambda p: p, name="one")
    refused(InputError).by(sv.loss, square, lambda p: p)
    refused(InputError).by(sv.loss, lambda p, t: p - t, lambda p, t: 1.0, "lambdas")


def test_a_function_in_the_place_of_a_loss_leads_to_it() -> None:
    refused(UnknownNameError, "sv.loss").by(
        sv.Session, sv.Network([2, 1]), data.Xor(), square, engine="python"
    )


# ---- replacing ----------------------------------------------------------------------------------


def test_a_replaced_loss_holds_for_what_is_made_afterwards() -> None:
    def steep(p: float, t: float) -> float:
        return 3.0 * (p - t) * (p - t)

    old = sv.Loss(sv.loss(square, name="mine"))
    first = LOSSES["mine"]
    assert sv.loss(square, name="mine").digest == first.digest
    sv.loss(steep, name="mine")
    assert LOSSES["mine"].digest != first.digest
    assert old([0.0], [1.0]) == 1.0 and sv.Loss("mine")([0.0], [1.0]) == 3.0
    net = sv.Network([1, 1], dtype="float64", seed=0).to("cpu")
    once = {"optimizer": sv.SGD(0.0), "steps": 1}
    losses = [net.train([0.5], [0.9], loss=each, **once)[0] for each in (old, "mine")]
    assert losses[1] == pytest.approx(3.0 * losses[0])


def test_kernels_of_all_formulas_can_be_written_with_those_of_users() -> None:
    sv.loss(poisson)
    sv.loss(squares, squares_gradient, rows=True)
    units = [unit for unit in every_unit() if unit.row and unit.row.name in ("poisson", "squares")]
    assert len(units) == 4
    assert all("def " in unit.source("float32").text for unit in units)


def test_a_loss_changes_its_table() -> None:
    sv.loss(square, name="mine")
    assert isinstance(sv.loss(squares, squares_gradient, "mine", rows=True), RowLossRow)
    assert "mine" not in LOSSES and sv.Loss("mine").row is ROW_LOSSES["mine"]
    sv.loss(square, name="mine")
    assert "mine" not in ROW_LOSSES


FACTOR = 1.0


def scaled(p: float, t: float) -> float:
    return FACTOR * (p - t) * (p - t)


def scaled_slope(p: float, t: float) -> float:
    return 2.0 * FACTOR * (p - t)


def helped(p: float, t: float) -> float:
    return helper(p - t)


def helper(x: float) -> float:
    return x * x


def session(loss: str) -> sv.Session:
    x = np.random.default_rng(0).normal(size=(8, 2))
    net = sv.Network([2, 3, 1], "tanh", seed=0, dtype="float64")
    return sv.Session(net, (x, x[:, :1]), loss, sv.SGD(0.01), engine="python", batch=4)


def test_a_constant_is_that_of_now_in_value_and_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    row = sv.loss(scaled, scaled_slope)
    found = sv.loss(scaled, name="found")
    monkeypatch.setitem(globals(), "FACTOR", 50.0)
    for each in (row, found):
        assert (each.value(2.0, 0.0), each.derivative(2.0, 0.0)) == (4.0, 4.0)
    again = sv.loss(scaled, name="again")
    assert (again.value(2.0, 0.0), again.derivative(2.0, 0.0)) == (200.0, 200.0)
    assert again.digest != found.digest


def test_a_helper_is_that_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    row = sv.loss(helped)
    monkeypatch.setitem(globals(), "helper", lambda x: 9.0 * x * x)
    assert (row.value(1.0, 0.0), row.derivative(1.0, 0.0)) == (1.0, 2.0)


def test_a_run_does_not_go_on_with_another_constant(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    sv.loss(scaled, scaled_slope)
    advanced(session("scaled"), 3).save(tmp_path / "run.safetensors")
    monkeypatch.setitem(globals(), "FACTOR", 9.0)
    sv.loss(scaled, scaled_slope)
    refused(FileError, "a different loss").by(sv.Session.load, tmp_path / "run.safetensors")


def with_default(k: float) -> Any:
    def defaulted(p: float, t: float, k: float = k) -> float:
        return k * (p - t) * (p - t)

    return defaulted


def with_helpers(first: float, second: float) -> Any:
    def one(x: float) -> float:
        return first * x

    def other(x: float) -> float:
        return second * x

    def crossed(p: float, t: float) -> float:
        return one(p - t) * one(p - t) + other(0.5 * (p - t) * (p - t))

    return crossed


def test_digests_tell_defaults_and_helpers_apart() -> None:
    found = [sv.loss(with_default(k)).digest for k in (1.0, 7.0)]
    found += [sv.loss(with_helpers(*k)).digest for k in ((1.0, 2.0), (2.0, 1.0))]
    assert len({*found}) == 4
    assert sv.loss(with_default(7.0)).digest == found[1]


RATE, KEEP = 0.1, 0.5


def rolling(w: float, g: float, m: float, lr: float = RATE, keep: float = KEEP) -> Any:
    m = keep * m + g
    return w - lr * m, m


@pytest.mark.slow  # kernels of an optimizer and a loss are compiled, the first time
def test_defaults_by_name_reach_kernels() -> None:
    Rolling = sv.optimizer(rolling, slots=("m",))
    assert repr(Rolling()) == "Rolling(lr=0.1, keep=0.5)"
    sv.loss(with_default(0.5))
    ends = []
    for engine in ("python", "cpu"):
        s = session("defaulted")
        s.optimizer = Rolling()
        s.to(engine)
        s.advance(5)
        ends.append(s.network.bank.value.copy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


def walrus(p: float, t: float) -> float:
    return (e := p - t) * e


def global_name(p: float, t: float) -> float:
    global FACTOR
    FACTOR = 1.0
    return (p - t) * (p - t)


def deleted(p: float, t: float) -> float:
    e = p - t
    del p
    return e * e


def by_keyword(p: float, t: float, *, k: float = 3.0) -> float:
    return k * (p - t)


def starred(*both: float) -> float:
    return (both[0] - both[1]) ** 2


def uses_walrus(p: float, t: float) -> float:
    return walrus(p, t)


@pytest.mark.parametrize(
    "function", [walrus, global_name, deleted, by_keyword, starred, uses_walrus]
)
def test_what_kernels_cannot_have_is_refused(function: Any) -> None:
    refused(InputError).by(sv.loss, function)


def test_a_function_made_by_exec_has_no_source() -> None:
    known: dict[str, Any] = {"math": math}
    exec("def made(p, t):\n    return 7.0 * (p - t) * (p - t)", known)
    refused(InputError, "source").by(sv.loss, known["made"])
