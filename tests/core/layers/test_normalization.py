"""Affine and BatchNorm: scales and shifts that stay, are learned, or follow the batch."""

import copy
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import (
    FileError,
    GradientError,
    InputError,
    NotFiniteError,
    OwnershipError,
    ShapeError,
)
from tests.sessions import RUNNABLE, advanced, every_engine, reloaded
from tests.wording import refused

COLUMNS = np.random.default_rng(0).normal([3.0, -50.0, 1e4], [0.1, 7.0, 900.0], (40, 3))
EASY = np.random.default_rng(1).normal(size=(40, 3))
Y = np.random.default_rng(2).normal(size=(40, 2))


def network(engine: str = "python", dtype: str = "float32") -> sv.Network:
    layers = [sv.Affine.standardizing(COLUMNS), sv.Dense(3, 4, "tanh"), sv.Dense(4, 2)]
    return sv.Network(layers, dtype=dtype, engine=engine)


def test_it_scales_and_shifts_number_by_number() -> None:
    layer = sv.Affine(3, [2.0, -1.0, 0.5], [1.0, 0.0, -4.0])
    np.testing.assert_allclose(layer(EASY), EASY * [2.0, -1.0, 0.5] + [1.0, 0.0, -4.0])
    assert layer.kernel.tolist() == [2.0, -1.0, 0.5] and layer.bias.tolist() == [1.0, 0.0, -4.0]
    assert sv.Affine(2)([3.0, 4.0]).tolist() == [3.0, 4.0]


def test_of_a_picture_a_channel_has_one_scale_and_shift() -> None:
    x = np.random.default_rng(0).normal(size=(5, 2, 3, 4))
    layer = sv.Affine((2, 3, 4), [2.0, 3.0], [1.0, -1.0])
    expected = x * np.reshape([2.0, 3.0], (2, 1, 1)) + np.reshape([1.0, -1.0], (2, 1, 1))
    np.testing.assert_allclose(layer(x), expected.reshape(5, -1))
    assert layer.size == 4 and layer.output_shape == (2, 3, 4)


PICTURES = np.random.default_rng(0).normal(7.0, 3.0, (20, 3, 2, 4))


@pytest.mark.parametrize(
    ("x", "shape"), [(COLUMNS, ()), (PICTURES, (3, 2, 4)), (PICTURES[:, 0], (1, 2, 4))]
)
def test_columns_and_channels_get_mean_0_and_deviation_1(
    x: np.ndarray, shape: tuple[int, ...]
) -> None:
    layer = sv.Affine.standardizing(x)
    y = layer(x).reshape(len(x), layer.features, -1)
    np.testing.assert_allclose(y.mean(axis=(0, 2)), 0.0, atol=1e-12)
    np.testing.assert_allclose(y.std(axis=(0, 2)), 1.0)
    assert layer.input_shape == shape


@pytest.mark.parametrize("constant", [0.1, 1e30, -7.0, 0.0])
def test_a_constant_column_becomes_0(constant: float) -> None:
    layer = sv.Affine.standardizing(np.full((3, 1), constant))  # 0.1 has another mean
    assert layer.kernel.tolist() == [1.0] and not layer(np.full((3, 1), constant)).any()


@pytest.mark.slow
def test_the_mean_of_float32_is_taken_in_double_precision() -> None:
    x = (np.arange(200_000)[:, np.newaxis] % 7 + 1000.0).astype(np.float32)
    np.testing.assert_allclose(sv.Affine.standardizing(x)(x).mean(), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "wrong", "kind", "value"),
    [
        (sv.Affine, (3, [1.0, 2.0]), ShapeError, (2,)),
        (sv.Affine, ((2, 1, 1), 1.0, [[1.0], [2.0]]), ShapeError, (2, 1)),
        (sv.Affine, (2, [1.0, np.nan]), NotFiniteError, "nan"),
        (sv.Affine, (2, 1.0, np.inf), InputError, "inf"),
        (sv.Affine, (2, "much"), InputError, "much"),
        (sv.Affine, ((2, 3, 4, 5),), ShapeError, (2, 3, 4, 5)),
        (sv.Network, ([sv.Affine(1, 1e39)],), InputError, "1e+39"),
        (sv.Network, ([3, sv.Affine(3), 2], "tanh"), InputError, "must begin with a layer"),
        (sv.Network, ([sv.Affine(3), 0], "tanh"), InputError, "0"),
        (sv.Network, ([sv.Affine(3), 4, sv.Affine(3)], "tanh"), ShapeError, "Affine(3 -> 3)"),
        (sv.Network, ([sv.Affine(3), "tanh"], "tanh"), InputError, "tanh"),
        (sv.Affine.standardizing, ([1.0, 2.0],), ShapeError, (2,)),
        (sv.Affine.standardizing, (np.zeros((0, 2)),), ShapeError, (0, 2)),
        (sv.Affine.standardizing, ([[1.0, 2.0], [1.0, np.nan]],), NotFiniteError, "nan"),
        (sv.Affine.standardizing, ([["a", "b"]],), InputError, "a"),
        (sv.Affine.standardizing, ([[0.0, 1.0], [0.0, 1e200]],), InputError, "inf"),
        (sv.Affine.standardizing, ([[0.0], [1e-60]],), InputError, "5e-61"),
        (sv.Affine.standardizing, ([[0.0], [1e-200]],), InputError, "0"),
    ],
)
def test_what_it_cannot_be_and_lists_that_do_not_fit_are_refused(
    make: Callable[..., object], wrong: tuple[object, ...], kind: type[InputError], value: object
) -> None:
    refused(kind, value).by(make, *wrong)


def test_a_column_far_from_0_is_told(caplog: pytest.LogCaptureFixture) -> None:
    times = np.array([[1.7e9, 1.0], [1.7e9 + 60.0, 2.0], [1.7e9 + 120.0, 4.0]])
    with caplog.at_level(logging.INFO, "scalarviz"):
        sv.Affine.standardizing(times[:, 1:])
        assert not caplog.messages
        sv.Affine.standardizing(times)
    assert "column 0" in caplog.messages[0] and "1.7e+09" in caplog.messages[0]


# ---- it stays -----------------------------------------------------------------------------------

OPTIMIZERS = {
    "adam": sv.Adam(0.1, l2=0.1, clip_norm=0.5),
    "adamw": sv.AdamW(0.1),
    "momentum": sv.Momentum(0.01, l1=0.1, clip_value=0.1),
}


@every_engine
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_no_step_moves_it(engine: str, optimizer: sv.Optimizer) -> None:
    net = network(engine)
    before = net.bank.value.copy()
    net.train(COLUMNS, Y, "mse", optimizer, steps=20)
    own = net.layers[0].rows
    assert (net.bank.value[own] == before[own]).all() and net.layers[0].frozen
    assert (net.bank.value[own.stop :] != before[own.stop :]).all()


def test_its_gradients_do_not_count_for_a_limit_on_the_norm() -> None:
    clipped, plain = network(), network()
    clipped.zero_grad()
    clipped.backward(np.ones_like(clipped.forward(COLUMNS)))
    rest = np.linalg.norm(clipped.bank.grad[clipped.layers[0].rows.stop :])
    for net, limit in ((clipped, 1.01 * rest), (plain, 0.0)):
        optimizer = sv.SGD(0.1, clip_norm=float(limit)) if limit else sv.SGD(0.1)
        net.zero_grad()
        net.backward(np.ones_like(net.forward(COLUMNS)))
        net.step(optimizer)
    assert np.array_equal(clipped.bank.value, plain.bank.value)


COPIES: dict[str, Callable[[sv.Network, Path], sv.Network]] = {
    "copy": lambda net, path: net.copy(),
    "copy.deepcopy": lambda net, path: copy.deepcopy(net),
    "pickle": lambda net, path: pickle.loads(pickle.dumps(net)),
    "file": reloaded,
    "fresh": lambda net, path: net.fresh(7),
}


@pytest.mark.parametrize("again", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("frozen", [True, False])
def test_copies_have_it_as_it_is(
    again: Callable[[sv.Network, Path], sv.Network], frozen: bool, tmp_path: Path
) -> None:
    net = network()
    net.layers[0].freeze(frozen)
    made = again(net, tmp_path)
    assert repr(made.layers[0]) == repr(net.layers[0])
    assert np.array_equal(made.layers[0].kernel, net.layers[0].kernel)
    assert made.layers[0].frozen == (frozen or again is COPIES["fresh"])
    made.layers[1].freeze()
    assert not net.layers[1].frozen


def test_one_used_by_itself_can_join_a_network_as_long_as_it_is_as_it_was_made() -> None:
    layer = sv.Affine(3, 2.0)
    layer(EASY)
    assert layer.bank.frozen.all()
    refused(OwnershipError, "Affine").by(sv.Network, [layer])
    other = sv.Affine(3, 2.0)
    assert other.bank.frozen.all()
    assert sv.Network([other]).layers[0] is other
    thawed = sv.Affine(3, 2.0)
    thawed.unfreeze()
    refused(OwnershipError).by(sv.Network, [thawed])


def test_its_text_has_the_beginning_of_many_numbers() -> None:
    assert repr(sv.Affine(2, [1.0, 2.0])) == "Affine(shape=2, scale=[1.0, 2.0], shift=0.0)"
    assert len(repr(sv.Affine(784, np.arange(784.0)))) < 80


# ---- a list of layers and sizes -----------------------------------------------------------------


def test_sizes_may_follow_a_layer() -> None:
    layers: list[Any] = [sv.Affine(3), 8, 2, sv.Affine(2, 5.0)]
    net = sv.Network(layers, "tanh", output="sigmoid")
    assert [str(layer) for layer in net] == [
        "Affine(3 -> 3)", "Dense(3 -> 8)", "Dense(8 -> 2)", "Affine(2 -> 2)",
    ]  # fmt: skip
    assert net.activations == ("linear", "tanh", "sigmoid", "linear")
    assert sv.Network([sv.Affine(3), 2], "tanh").activations == ("linear", "linear")


BATCH = np.random.default_rng(0).normal(2.0, 3.0, (70, 8))


def made(engine: str = "python") -> sv.Network:
    layers = [sv.Dense(8, 6, "tanh"), sv.BatchNorm((3, 1, 2)), sv.Dense(6, 2)]
    return sv.Network(layers, seed=1, dtype="float64", engine=engine)


def session(engine: str = "cpu", seed: int = 1) -> sv.Session:
    targets = BATCH[:, :2] > 0
    net = sv.Network([sv.Dense(8, 6), sv.BatchNorm(6), sv.Dense(6, 2)], seed=seed, dtype="float64")
    return sv.Session(
        net, (BATCH, targets), batch=20, engine=engine, seed=seed, optimizer=sv.SGD(0.1)
    )


def test_gains_of_channels_begin_at_1_and_shifts_at_0() -> None:
    for layer in (sv.GroupNorm((2, 3, 3), 1), sv.BatchNorm((2, 3, 3)), sv.LayerNorm(2)):
        sv.Network([layer])
        assert (layer.kernel.tolist(), layer.bias.tolist()) == ([1.0, 1.0], [0.0, 0.0])


def test_a_forward_has_mean_0_and_variance_1_over_batch_and_pixels() -> None:
    norm = sv.BatchNorm((2, 2, 2))
    y = norm.forward(BATCH).reshape(70, 2, norm.pixels)
    assert y.mean(axis=(0, 2)) == pytest.approx(np.zeros(2), abs=1e-12)
    assert y.var(axis=(0, 2)) == pytest.approx(np.ones(2), rel=1e-4)


def test_a_call_uses_what_it_has_seen_and_changes_nothing() -> None:
    layer = sv.BatchNorm(8)
    assert layer(BATCH) == pytest.approx(BATCH, rel=1e-4)  # nothing seen yet: mean 0, variance 1
    for _ in range(200):
        layer.forward(BATCH)
    seen = layer.state.copy()
    assert layer.running_mean == pytest.approx(BATCH.mean(axis=0))
    assert layer.running_variance == pytest.approx(BATCH.var(axis=0, ddof=1))
    expected = (BATCH - BATCH.mean(axis=0)) / np.sqrt(BATCH.var(axis=0, ddof=1) + 1e-5)
    assert layer(BATCH) == pytest.approx(expected)
    assert (layer.state == seen).all()


def test_replicas_have_running_numbers_of_their_own() -> None:
    replicas = advanced(sv.replicate(session(), seeds=[1, 5, 9]), 6)
    for bank, seed in zip(replicas.banks, (1, 5, 9), strict=True):
        alone = advanced(session(seed=seed), 6)
        assert (bank.state == alone.network.bank.state).all()
        assert (bank.value == alone.network.bank.value).all()
    said = replicas.outputs(BATCH)
    for i, network in enumerate(replicas.networks):
        assert (said[i] == network.copy().to("cpu")(BATCH)).all()


@every_engine
def test_a_step_that_is_refused_leaves_the_running_numbers(engine: str) -> None:
    def made() -> sv.Session:
        targets = np.array([[1.0], [1e308]])
        net = sv.Network([sv.BatchNorm(1), sv.Dense(1, 1)], dtype="float64")
        loss = sv.Loss("mse", factor=100.0)
        return sv.Session(net, ([[3.0], [7.0]], targets), loss, batch=2, engine=engine)

    stopped = made()
    refused(GradientError).by(stopped.advance, 1)
    assert stopped.network.bank.state[3:].tolist() == pytest.approx([0.5, 0.9 + 0.1 * 8])
    by_hand = made()
    by_hand.advance(len(by_hand.network.program.moments) - 1, "operation")
    assert (stopped.network.bank.state == by_hand.network.bank.state).all()
    net = made().network.to(engine)
    refused(GradientError).by(
        net.train, [[3.0], [7.0]], [[1.0], [1e308]], sv.Loss("mse", factor=100.0), steps=1
    )
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
    refused(FileError, "BatchNorm(1 -> 1)").by(sv.load, tmp_path / "net.safetensors")


# ---- frozen -------------------------------------------------------------------------------------


@every_engine
def test_a_frozen_norm_learns_with_its_running_numbers_and_they_stand_still(engine: str) -> None:
    net = made(engine)
    for _ in range(3):
        net.forward(BATCH)  # some statistics
    net.forget()
    net.layers[1].freeze()
    state, value = net.bank.state.copy(), net.layers[1].bank.value.copy()
    assert net.forward(BATCH[:9]) == pytest.approx(net(BATCH[:9]), rel=1e-12)
    net.backward()
    net.train(BATCH, BATCH[:, :2], "mse", sv.SGD(0.1), steps=20)
    assert (net.bank.state == state).all()
    rows = net.layers[1].rows
    assert (net.bank.value[rows] == value[rows]).all()
    assert (net.bank.value != value).any()
    net.layers[1].weight(0).unfreeze()  # one gain may move: the layer learns again
    net.forward(BATCH)
    assert (net.bank.state != state).any()


@every_engine
def test_the_gradients_of_a_frozen_norm_are_right(engine: str) -> None:
    net = made("python")
    net.forward(BATCH)
    net.forget()
    net.layers[1].freeze()
    twin = net.copy().to(engine)
    assert sv.gradcheck(net, BATCH[:7]).error < 1e-6
    for each in (net, twin):
        each.forward(BATCH[:7])
    np.testing.assert_allclose(twin.backward(), net.backward(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(twin.bank.grad, net.bank.grad, rtol=1e-9, atol=1e-12)


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
