"""Own formulas know constants, helpers and defaults as they were when they were added."""

import math
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, InputError
from tests.wording import refused

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
    s = session("scaled")
    s.advance(3)
    s.save(tmp_path / "run.safetensors")
    monkeypatch.setitem(globals(), "FACTOR", 9.0)
    sv.loss(scaled, scaled_slope)
    with refused(FileError, "another loss"):
        sv.Session.load(tmp_path / "run.safetensors")


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
    with refused(InputError):
        sv.loss(function)


def test_a_function_made_by_exec_has_no_source() -> None:
    known: dict[str, Any] = {"math": math}
    exec("def made(p, t):\n    return 7.0 * (p - t) * (p - t)", known)
    with refused(InputError, "source"):
        sv.loss(known["made"])
