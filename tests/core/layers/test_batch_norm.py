"""BatchNorm: statistics of the batch in training, running statistics in evaluation."""

from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import FileError, GradientError
from tests.sessions import advanced
from tests.strategies import RUNNABLE
from tests.wording import refused

X = np.random.default_rng(0).normal(2.0, 3.0, (70, 8))


def made(engine: str = "python") -> sv.Network:
    layers = [sv.Dense(8, 6, "tanh"), sv.BatchNorm((3, 1, 2)), sv.Dense(6, 2)]
    return sv.Network(layers, seed=1, dtype="float64", engine=engine)


def session(engine: str = "cpu", seed: int = 1) -> sv.Session:
    targets = X[:, :2] > 0
    net = sv.Network([sv.Dense(8, 6), sv.BatchNorm(6), sv.Dense(6, 2)], seed=seed, dtype="float64")
    return sv.Session(net, (X, targets), batch=20, engine=engine, seed=seed, optimizer=sv.SGD(0.1))


def test_a_forward_has_mean_0_and_variance_1_over_batch_and_pixels() -> None:
    norm = sv.BatchNorm((2, 2, 2))
    y = norm.forward(X).reshape(70, 2, norm.pixels)
    assert y.mean(axis=(0, 2)) == pytest.approx(np.zeros(2), abs=1e-12)
    assert y.var(axis=(0, 2)) == pytest.approx(np.ones(2), rel=1e-4)


def test_a_call_uses_what_it_has_seen_and_changes_nothing() -> None:
    layer = sv.BatchNorm(8)
    assert layer(X) == pytest.approx(X, rel=1e-4)  # nothing seen yet: mean 0, variance 1
    for _ in range(200):
        layer.forward(X)
    seen = layer.state.copy()
    assert layer.running_mean == pytest.approx(X.mean(axis=0))
    assert layer.running_variance == pytest.approx(X.var(axis=0, ddof=1))
    expected = (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0, ddof=1) + 1e-5)
    assert layer(X) == pytest.approx(expected)
    assert (layer.state == seen).all()


@pytest.mark.parametrize("engine", RUNNABLE)
def test_several_forwards_wait_with_the_statistics_of_their_own_batch(engine: str) -> None:
    net, plain = made(engine), made()
    g = np.ones((5, 2))
    net.forward(X[:5])
    net.forward(X[5:10])
    newest, oldest = net.backward(g), net.backward(g)
    plain.forward(X[5:10])
    assert plain.backward(g) == pytest.approx(newest)
    plain.forward(X[:5])
    assert plain.backward(g) == pytest.approx(oldest)


def test_files_keep_the_running_numbers(tmp_path: Path) -> None:
    s = advanced(session(), 5)
    s.network.save(tmp_path / "net.safetensors")
    s.save(tmp_path / "run.safetensors")
    net = sv.load(tmp_path / "net.safetensors")
    assert (net.bank.state == s.network.bank.state).all()
    assert net(X) == pytest.approx(s.network(X))
    again = sv.Session.load(tmp_path / "run.safetensors")
    assert (again.network.bank.state == s.network.bank.state).all()
    again.back(3)
    s.back(3)
    assert (again.network.bank.state == s.network.bank.state).all()


def test_replicas_have_running_numbers_of_their_own() -> None:
    replicas = advanced(sv.replicate(session(), seeds=[1, 5, 9]), 6)
    for bank, seed in zip(replicas.banks, (1, 5, 9), strict=True):
        alone = advanced(session(seed=seed), 6)
        assert (bank.state == alone.network.bank.state).all()
        assert (bank.value == alone.network.bank.value).all()
    said = replicas.outputs(X)
    for i, network in enumerate(replicas.networks):
        assert (said[i] == network.copy().to("cpu")(X)).all()


@pytest.mark.parametrize("engine", RUNNABLE)
def test_a_step_that_is_refused_leaves_the_running_numbers(engine: str) -> None:
    def made() -> sv.Session:
        targets = np.array([[1.0], [1e308]])
        net = sv.Network([sv.BatchNorm(1), sv.Dense(1, 1)], dtype="float64")
        loss = sv.Loss("mse", factor=100.0)
        return sv.Session(net, ([[3.0], [7.0]], targets), loss, batch=2, engine=engine)

    refused = made()
    with pytest.raises(GradientError):
        refused.advance(1)
    assert refused.network.bank.state[3:].tolist() == pytest.approx([0.5, 0.9 + 0.1 * 8])
    by_hand = made()
    by_hand.advance(len(by_hand.network.program.moments) - 1, "operation")
    assert (refused.network.bank.state == by_hand.network.bank.state).all()
    net = made().network.to(engine)
    with pytest.raises(GradientError):
        net.train([[3.0], [7.0]], [[1.0], [1e308]], sv.Loss("mse", factor=100.0), steps=1)
    assert net.bank.state[3:].tolist() == [0.0, 1.0]


def test_what_is_written_past_a_session_is_done_again() -> None:
    s = advanced(session(), 3)
    s.network.layers[1].running_mean[:] = 7.0  # type: ignore[attr-defined]  # of a layer that has it
    s.advance(1)
    known = s.network.bank.state.copy()
    s.back(1)
    s.advance(1)
    assert (s.network.bank.state == known).all()


def test_a_file_whose_variance_is_below_0_is_refused(tmp_path: Path) -> None:
    net = sv.Network([sv.BatchNorm(1), sv.Dense(1, 1)])
    net.layers[0].running_variance[:] = -1.0  # type: ignore[attr-defined]  # on purpose
    net.save(tmp_path / "net.safetensors")
    with refused(FileError, "BatchNorm(1 -> 1)"):
        sv.load(tmp_path / "net.safetensors")


def test_one_thread_gives_the_same_bits_as_two() -> None:
    import numba

    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(min(threads, before))
            net = sv.Network(
                [sv.Conv2d((1, 16, 16), 24, 5), sv.BatchNorm((24, 12, 12)), sv.Dense(3456, 3)],
                engine="cpu",
            )
            x = np.random.default_rng(0).normal(size=(200, 256))
            net.train(x, x[:, :3], optimizer=sv.Adam(1e-3), steps=2)
            found.append([net.bank.value.copy(), net.bank.state.copy()])
    finally:
        numba.set_num_threads(before)
    assert all((a == b).all() for a, b in zip(*found, strict=True))


# ---- frozen -------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", RUNNABLE)
def test_a_frozen_norm_learns_with_its_running_numbers_and_they_stand_still(engine: str) -> None:
    net = made(engine)
    for _ in range(3):
        net.forward(X)  # some statistics
    net.forget()
    net.layers[1].freeze()
    state, value = net.bank.state.copy(), net.layers[1].bank.value.copy()
    assert net.forward(X[:9]) == pytest.approx(net(X[:9]), rel=1e-12)
    net.backward()
    net.train(X, X[:, :2], "mse", sv.SGD(0.1), steps=20)
    assert (net.bank.state == state).all()
    rows = net.layers[1].rows
    assert (net.bank.value[rows] == value[rows]).all()
    assert (net.bank.value != value).any()
    net.layers[1].weight(0).unfreeze()  # one gain may move: the layer learns again
    net.forward(X)
    assert (net.bank.state != state).any()


@pytest.mark.parametrize("engine", RUNNABLE)
def test_the_gradients_of_a_frozen_norm_are_right(engine: str) -> None:
    net = made("python")
    net.forward(X)
    net.forget()
    net.layers[1].freeze()
    twin = net.copy().to(engine)
    x, upstream = X[:7], np.random.default_rng(1).normal(size=(7, 2))
    twin.forward(x)
    by_inputs = twin.backward(upstream)
    # With running numbers every sample is by itself, and the network is what a call says it is.
    for sample, place in [(0, 0), (3, 5), (6, 7)]:
        nudged = [x.copy(), x.copy()]
        nudged[0][sample, place] -= 1e-6
        nudged[1][sample, place] += 1e-6
        low, high = [float((net(each) * upstream).sum()) for each in nudged]
        assert by_inputs[sample, place] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-8)
    w = twin.layers[0].perceptrons[1].weights[2]
    ends = []
    for change in (-1e-6, 1e-6):
        other = net.copy()
        other.bank.value[w.index] += change
        ends.append(float((other(x) * upstream).sum()))
    assert w.grad == pytest.approx((ends[1] - ends[0]) / 2e-6, rel=1e-5)


def test_a_frozen_norm_is_the_same_moment_by_moment_and_after_a_thaw() -> None:
    runs = []
    for engine in RUNNABLE:
        for by_operation in (False, True):
            s = advanced(session(engine), 2)
            s.freeze(s.network.layers[1])
            state = s.network.bank.state.copy()
            if by_operation:
                s.advance(3 * len(s.operations), "operation")
            else:
                s.advance(3)
            assert (s.network.bank.state == state).all()
            s.freeze(s.network.layers[1], on=False)
            s.advance(2)
            assert (s.network.bank.state != state).any()
            runs.append((s.network.bank.value.copy(), s.network.bank.state.copy()))
            s.seek(0)
            s.seek(7)
            assert (s.network.bank.state == runs[-1][1]).all()
    for value, state in runs:
        assert value == pytest.approx(runs[0][0], rel=1e-9)
        assert state == pytest.approx(runs[0][1], rel=1e-9)
