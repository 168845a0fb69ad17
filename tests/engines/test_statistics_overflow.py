"""A step that would make a running statistic infinite is not taken; a skipped one moves none."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data import DataSet
from scalarviz.errors import NotFiniteError, UpdateError
from tests.sessions import advanced, reloaded
from tests.strategies import RUNNABLE
from tests.wording import refused

X = np.random.default_rng(0).random((12, 3))
SEED = 0
MIXED = sv.Precision("mixed", 64.0)

# The type, the precision, the optimizer, and a number of the data that is too large for it.
CASES = {
    "half": ("float32", MIXED, sv.SGD(0.1), 7e6),
    "float32": ("float32", sv.Precision(), sv.SGD(0.1, not_finite="zero"), 1e39),
    "variance": ("float64", sv.Precision(), sv.Adam(0.1), 1e155),
}
every_case = pytest.mark.parametrize(
    ("case", "engine"),
    [
        (case, engine)
        for case in CASES
        for engine in RUNNABLE
        if (case, engine) != ("half", "python")
    ],
)


def network(case: str, engine: str, seed: int = SEED) -> sv.Network:
    dtype, precision, *_ = CASES[case]
    layers = [sv.Residual(sv.Dense(3, 3), sv.BatchNorm(3)), sv.BatchNorm(3), sv.Dense(3, 2)]
    return sv.Network(layers, seed=seed, dtype=dtype).to(engine, precision)


def spoilt(case: str) -> np.ndarray:
    """Inputs of which the last cannot be."""
    inputs = X.copy()
    inputs[-1, 1] = CASES[case][-1]
    return inputs


def session(case: str, engine: str, inputs: np.ndarray, seed: int = SEED) -> sv.Session:
    """Five samples a step."""
    _, precision, optimizer, _ = CASES[case]
    net = network(case, engine, seed)
    return sv.Session(
        net, (inputs, 1 - X[:, :2]), "mse", optimizer, batch=5, engine=engine, seed=seed,
        precision=precision,
    )  # fmt: skip


def spoilt_step(inputs: np.ndarray) -> int:
    """The first step of a session whose batch has the sample that cannot be."""
    batches = DataSet.of((inputs, inputs)).batches(5, SEED)
    return next(k for k in range(9) if abs(batches.at(k)[0]).max() > 1e4)


@every_case
def test_a_session_stops_before_that_step_with_the_statistics_untouched(
    case: str, engine: str, tmp_path: Path
) -> None:
    s, by_moments = (session(case, engine, spoilt(case)) for _ in range(2))
    step = spoilt_step(spoilt(case))
    assert step > 0
    with refused(UpdateError, f"step {step} would make layer 0, part 1, running ") as caught:
        s.advance(60)
    good = advanced(session(case, engine, spoilt(case)), step)
    known = good.network.bank.state
    assert (known[3:] != network(case, engine).bank.state[3:]).all()
    assert (s.step_index, s.next, len(s.losses)) == (step, "step", step)
    assert (s.network.bank.state == known).all()
    assert (s.network.bank.value == good.network.bank.value).all()
    by_moments.advance(step)
    moments = len(s.network.program.moments)
    by_moments.advance(moments - 1, "operation")
    for each in (s, by_moments, s):
        with pytest.raises(UpdateError) as again:
            each.advance(1, "operation")
        assert str(again.value) == str(caught.value)
        assert (each.network.bank.state == known).all()
        assert (each.network.bank.value == good.network.bank.value).all()
    assert (reloaded(s.network, tmp_path).bank.state[3:] == known[3:]).all()
    s.seek(0)
    assert (s.network.bank.state == network(case, engine).bank.state).all()


@every_case
def test_training_without_a_session_stops_there(case: str, engine: str) -> None:
    net, optimizer = network(case, engine), CASES[case][2]
    inputs, targets = spoilt(case), 1 - X[:, :2]
    start = net.bank.value.copy(), net.bank.state.copy()
    with refused(UpdateError, "of feature 0 inf") as caught:
        net.train(inputs, targets, "mse", optimizer, steps=20)
    assert ("precision='full'" in str(caught.value)) == (case == "half")
    assert (net.bank.value == start[0]).all() and (net.bank.state == start[1]).all()
    assert net.bank.step_count == 0
    net.train(X, targets, "mse", optimizer, steps=2)
    assert net.bank.step_count == 2 and np.isfinite(net.bank.state).all()


def test_a_replica_stops_alone_with_the_statistics_of_a_session() -> None:
    first = session("variance", "cpu", spoilt("variance"))
    runs = advanced(sv.replicate(first, seeds=range(4)), 12)
    taken = [int(count) for count in np.isfinite(runs.losses).sum(axis=1)]
    assert len({*taken}) > 1 and max(taken) < 12
    for seed, bank in zip(runs.seeds, runs.banks, strict=True):
        alone = session("variance", "cpu", spoilt("variance"), seed)
        with pytest.raises(UpdateError):
            alone.advance(12)
        assert alone.step_index == bank.step_count == taken[seed]
        assert (alone.network.bank.state == bank.state).all()
        assert (alone.network.bank.value == bank.value).all()


def dynamic(inputs: np.ndarray) -> sv.Session:
    layers = [sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 2)]
    net, precision = sv.Network(layers, seed=1), sv.Precision("mixed", 64.0, dynamic=True)
    return sv.Session(net, (inputs, 1 - X[:, :2]), "mse", sv.Adam(0.01), batch=5, engine="cpu",
                      seed=SEED, precision=precision)  # fmt: skip


@pytest.mark.parametrize("unit", ["step", "operation"])
def test_a_step_that_a_dynamic_scale_skips_moves_no_statistic(unit: str) -> None:
    s = dynamic(spoilt("half"))
    step, skipped = spoilt_step(spoilt("half")), 0
    s.advance(step)
    for _ in range(20):
        before = s.network.bank.state.copy()
        s.advance(1 if unit == "step" else len(s.network.program.moments), unit)
        after = s.network.bank.state
        is_skipped = after[2] > skipped
        assert (after[3:] == before[3:]).all() == is_skipped
        assert np.isfinite(after).all()
        skipped += is_skipped
    assert 1 < skipped < 20
    straight = advanced(dynamic(spoilt("half")), s.step_index)
    assert (straight.network.bank.state == s.network.bank.state).all()
    assert (straight.network.bank.value == s.network.bank.value).all()


@every_case
def test_a_forward_by_itself_is_undone(case: str, engine: str) -> None:
    net = network(case, engine)
    known = net.bank.state.copy()
    with refused(NotFiniteError, "of feature 0 inf"):
        net.forward(spoilt(case))
    assert (net.bank.state == known).all()
    net.forward(X)
    net.backward()
    assert (net.bank.state != known).sum() == 12


def test_the_forward_of_a_layer_by_itself_is_undone() -> None:
    layer = sv.BatchNorm((3, 1, 1))
    with refused(NotFiniteError, "channel 1 inf"):
        layer.forward(spoilt("variance"))
    assert layer.state.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert layer.unmatched == 0
