"""Learning rates of parts of a network: `s.set_rate`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core import optimizer as own_rates
from scalarviz.core.optimizer import NO_OWN_RATES, RateSpan
from scalarviz.errors import InputError, ShapeError
from tests.sessions import advanced
from tests.wording import refused

ENGINES = ("python", "cpu")
OPTIMIZERS = (
    sv.SGD(0.1),
    sv.Momentum(0.1, schedule=sv.Schedule("cosine", steps=50)),
    sv.Adam(0.02, l2=0.01, clip_norm=0.5),
    sv.AdamW(0.02),
)


def session(engine: str = "python", optimizer: sv.Optimizer | None = None) -> sv.Session:
    net = sv.Network([3, 8, 3], "tanh", output="sigmoid", seed=0, dtype="float64")
    return sv.Session(net, data.Rgb(levels=3), "mse", optimizer, batch=8, engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: o.name)
def test_engines_agree_on_own_rates(engine: str, optimizer: sv.Optimizer) -> None:
    sessions = [session(name, optimizer) for name in ("python", engine)]
    for s in sessions:
        s.advance(2)
        s.set_rate(s.network.layers[1], 0.3)
        s.set_rate([1, 5, 6, 30], 0.001)
        s.set_rate(7, 0.0)
        s.advance(5)
        s.freeze([5, 28])
        s.set_rate(30, None)
        s.advance(5)
    one, other = [s.network.bank.value for s in sessions]
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_rates_are_kept_as_spans() -> None:
    rates = NO_OWN_RATES.changed([3, 4, 9], 0.5).changed([4, 5], 0.25)
    assert rates.spans == (RateSpan(3, 4, 0.5), RateSpan(4, 6, 0.25), RateSpan(9, 10, 0.5))
    assert [rates.of(row) for row in (2, 3, 5, 6, 9, 10)] == [None, 0.5, 0.25, None, 0.5, None]
    assert len(rates) == 4
    assert not rates.changed([3, 4, 5, 9], None)


def test_rates_after_any_changes_are_those_of_an_array() -> None:
    chance = np.random.default_rng(0)
    rates, wanted = NO_OWN_RATES, np.full(40, np.nan)
    for _ in range(300):
        rows = chance.integers(0, 40, chance.integers(1, 30))
        rate = [None, 0.0, 0.25, 0.5][chance.integers(4)]
        before = rates
        rates = before.changed(rows, rate)
        wanted[rows] = np.nan if rate is None else rate
        for count in (0, 3, 40, 50):
            whole = np.concatenate([wanted, np.full(10, np.nan)])[:count]
            np.testing.assert_array_equal(rates.array(count), whole)
            covered = [[span.rate] * (span.end - span.first) for span in rates.cover(count)]
            np.testing.assert_array_equal(np.concatenate(covered), whole)
        own = ~np.isnan(wanted)
        assert len(rates) == own.sum() and bool(rates) == own.any()
        one = rates.of(7)
        assert one == wanted[7] if own[7] else one is None
        again = rates.changed(rows, rate)
        assert (again == rates, hash(again) == hash(rates)) == (True, True)
        several = before.array(50).tobytes() != rates.array(50).tobytes()
        assert (before != rates) is several


def test_a_change_of_many_rows_makes_no_object_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(own_rates, "RateSpan", lambda *fields: made.append(fields))
    rates = NO_OWN_RATES
    for k in range(20):
        rates = rates.changed(np.arange(k % 2, 6_403, 2 + k % 3), 0.001 * (k % 7))
    assert not made
    rates.cover(6_403)
    assert len(made) > 3_000


@pytest.mark.parametrize("engine", ENGINES)
def test_own_rates_are_replayed_saved_and_forgotten_by_going_back(
    engine: str, tmp_path: Path
) -> None:
    s = advanced(session(engine, sv.Adam(0.02)), 3)
    s.set_rate(s.network.layers[0], 0.2)
    s.advance(4)
    s.learning_rate = 0.01
    s.optimizer = sv.Momentum(0.1)
    s.advance(4)
    end = s.network.bank.value.tobytes()
    s.back(9)
    assert s.own_rate(0) is None
    s.seek(5)
    assert s.own_rate(0) == 0.2
    s.advance(6)
    assert s.network.bank.value.tobytes() == end
    path = tmp_path / "run.safetensors"
    s.save(path)
    loaded = sv.Session.load(path)
    assert loaded.own_rate(0) == 0.2
    loaded.back(10)
    loaded.advance(10)
    assert loaded.network.bank.value.tobytes() == end
    branch = s.branch()
    s.set_rate(s.network.layers[0], None)
    assert s.own_rate(0) is None
    s.advance()
    s.switch(branch.parent)
    assert s.own_rate(0) == 0.2


def test_a_rate_that_no_step_could_use_is_refused() -> None:
    s = session()
    s.freeze(s.network.layers[0])
    with refused(InputError, "Dense", "frozen"):
        s.set_rate(s.network.layers[0], 0.1)
    s.set_rate(s.network.layers[0], None)
    for rate in (-0.1, float("nan"), float("inf"), "0.1"):
        with refused(InputError, str(rate)):
            s.set_rate(40, rate)  # type: ignore[arg-type]  # one is a text
    with refused(ShapeError, "99"):
        s.set_rate(99, 0.1)
    assert [action.kind for action in s.current_branch.journal] == ["freeze", "own rate"]


def test_the_rate_of_a_layer_is_that_of_all_its_weights() -> None:
    s = session()
    first, second = s.network.layers
    assert s.own_rate(first) is None
    s.set_rate(first, 0.2)
    assert (s.own_rate(first), s.own_rate(first.perceptrons[1]), s.own_rate(second)) == (
        *(0.2, 0.2),
        None,
    )
    s.set_rate(first.perceptrons[1], 0.3)
    assert np.isnan(s.own_rate(first))
    assert s.own_rate(first.perceptrons[1]) == 0.3
    assert np.isnan(s.own_rate([0, 58]))
    with refused(ShapeError, "99"):
        s.own_rate([0, 99])


def test_an_optimizer_taken_from_a_session_has_no_rates_of_its_weights() -> None:
    s = session()
    s.set_rate(0, 0.5)
    assert not s.optimizer.own_rates
    other = sv.Session(sv.Network([2, 1], seed=0), data.Xor(), optimizer=s.optimizer)
    assert other.own_rate(0) is None
