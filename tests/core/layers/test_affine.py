"""Affine: a scale and a shift that stay, and those that standardize columns."""

import copy
import logging
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, NotFiniteError, OwnershipError, ShapeError
from tests.strategies import RUNNABLE
from tests.wording import refused

X = np.random.default_rng(0).normal([3.0, -50.0, 1e4], [0.1, 7.0, 900.0], (40, 3))
EASY = np.random.default_rng(1).normal(size=(40, 3))
Y = np.random.default_rng(2).normal(size=(40, 2))


def network(engine: str = "python", dtype: str = "float32") -> sv.Network:
    layers = [sv.Affine.standardizing(X), sv.Dense(3, 4, "tanh"), sv.Dense(4, 2)]
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


def test_columns_get_mean_0_and_deviation_1() -> None:
    y = sv.Affine.standardizing(X)(X)
    np.testing.assert_allclose(y.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(y.std(axis=0), 1.0)


@pytest.mark.parametrize("shape", [(20, 3, 2, 4), (20, 2, 4)])
def test_so_do_the_channels_of_pictures(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(7.0, 3.0, size=shape)
    layer = sv.Affine.standardizing(x)
    y = layer(x).reshape(20, layer.features, -1)
    np.testing.assert_allclose(y.mean(axis=(0, 2)), 0.0, atol=1e-12)
    np.testing.assert_allclose(y.std(axis=(0, 2)), 1.0)
    assert layer.input_shape == (1, *shape[1:])[-3:]


@pytest.mark.parametrize("constant", [0.1, 1e30, -7.0, 0.0])
def test_a_constant_column_becomes_0(constant: float) -> None:
    layer = sv.Affine.standardizing(np.full((3, 1), constant))  # 0.1 has another mean
    assert layer.kernel.tolist() == [1.0] and not layer(np.full((3, 1), constant)).any()


def test_the_mean_of_float32_is_taken_in_double_precision() -> None:
    x = (np.arange(200_000)[:, np.newaxis] % 7 + 1000.0).astype(np.float32)
    np.testing.assert_allclose(sv.Affine.standardizing(x)(x).mean(), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("wrong", "kind", "value"),
    [
        (lambda: sv.Affine(3, [1.0, 2.0]), ShapeError, (2,)),
        (lambda: sv.Affine((2, 1, 1), shift=[[1.0], [2.0]]), ShapeError, (2, 1)),
        (lambda: sv.Affine(2, [1.0, np.nan]), NotFiniteError, "nan"),
        (lambda: sv.Affine(2, shift=np.inf), InputError, "inf"),
        (lambda: sv.Affine(2, "much"), InputError, "much"),
        (lambda: sv.Affine((2, 3)), ShapeError, (2, 3)),
        (lambda: sv.Network([sv.Affine(1, 1e39)]), InputError, "1e+39"),
        (lambda: sv.Affine.standardizing([1.0, 2.0]), ShapeError, (2,)),
        (lambda: sv.Affine.standardizing(np.zeros((0, 2))), ShapeError, (0, 2)),
        (lambda: sv.Affine.standardizing([[1.0, 2.0], [1.0, np.nan]]), NotFiniteError, "nan"),
        (lambda: sv.Affine.standardizing([["a", "b"]]), InputError, "a"),
        (lambda: sv.Affine.standardizing([[0.0, 1.0], [0.0, 1e200]]), InputError, "inf"),
        (lambda: sv.Affine.standardizing([[0.0], [1e-60]]), InputError, "5e-61"),
        (lambda: sv.Affine.standardizing([[0.0], [1e-200]]), InputError, "0"),
    ],
)
def test_what_it_cannot_be_is_refused(
    wrong: Callable[[], object], kind: type[InputError], value: object
) -> None:
    with refused(kind, value):
        wrong()


def test_a_column_far_from_0_is_told(caplog: pytest.LogCaptureFixture) -> None:
    times = np.array([[1.7e9, 1.0], [1.7e9 + 60.0, 2.0], [1.7e9 + 120.0, 4.0]])
    with caplog.at_level(logging.INFO, "scalarviz"):
        sv.Affine.standardizing(times[:, 1:])
        assert not caplog.messages
        sv.Affine.standardizing(times)
    assert "column 0" in caplog.messages[0] and "1.7e+09" in caplog.messages[0]


# ---- it stays -----------------------------------------------------------------------------------

OPTIMIZERS = {
    "adam": lambda: sv.Adam(0.1, l2=0.1, clip_norm=0.5),
    "adamw": lambda: sv.AdamW(0.1),
    "momentum": lambda: sv.Momentum(0.01, l1=0.1, clip_value=0.1),
}


@pytest.mark.parametrize("engine", RUNNABLE)
@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_no_step_moves_it(engine: str, make: Callable[[], sv.Optimizer]) -> None:
    net = network(engine)
    before = net.bank.value.copy()
    net.train(X, Y, "mse", make(), steps=20)
    own = net.layers[0].rows
    assert (net.bank.value[own] == before[own]).all() and net.layers[0].frozen
    assert (net.bank.value[own.stop :] != before[own.stop :]).all()


def test_its_gradients_do_not_count_for_a_limit_on_the_norm() -> None:
    clipped, plain = network(), network()
    clipped.zero_grad()
    clipped.backward(np.ones_like(clipped.forward(X)))
    rest = np.linalg.norm(clipped.bank.grad[clipped.layers[0].rows.stop :])
    for net, limit in ((clipped, 1.01 * rest), (plain, 0.0)):
        optimizer = sv.SGD(0.1, clip_norm=float(limit)) if limit else sv.SGD(0.1)
        net.zero_grad()
        net.backward(np.ones_like(net.forward(X)))
        net.step(optimizer)
    assert np.array_equal(clipped.bank.value, plain.bank.value)


def test_engines_agree() -> None:
    losses = [network(e).train(X, Y, "mse", sv.Adam(0.02), steps=20) for e in RUNNABLE]
    for each in losses:
        np.testing.assert_allclose(each, losses[0], rtol=2e-4)


def by_file(net: sv.Network, path: Path) -> sv.Network:
    net.save(path / "net.safetensors")
    return sv.load(path / "net.safetensors")


COPIES: dict[str, Callable[[sv.Network, Path], sv.Network]] = {
    "copy": lambda net, path: net.copy(),
    "copy.deepcopy": lambda net, path: copy.deepcopy(net),
    "pickle": lambda net, path: pickle.loads(pickle.dumps(net)),
    "file": by_file,
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


def test_one_that_was_unfrozen_learns() -> None:
    net = network()
    net.layers[0].unfreeze()
    before = net.layers[0].kernel.copy()
    net.train(X, Y, "mse", "adam", steps=3)
    assert (net.layers[0].kernel != before).all()


def test_one_used_by_itself_can_join_a_network_as_long_as_it_is_as_it_was_made() -> None:
    layer = sv.Affine(3, 2.0)
    layer(EASY)
    assert layer.bank.frozen.all()
    with refused(OwnershipError, "Affine"):
        sv.Network([layer])
    other = sv.Affine(3, 2.0)
    assert other.bank.frozen.all()
    assert sv.Network([other]).layers[0] is other
    thawed = sv.Affine(3, 2.0)
    thawed.unfreeze()
    with pytest.raises(OwnershipError):
        sv.Network([thawed])


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


@pytest.mark.parametrize(
    ("layers", "kind", "value"),
    [
        ([3, sv.Affine(3), 2], InputError, "begins with a layer"),
        ([sv.Affine(3), 0], InputError, "0"),
        ([sv.Affine(3), 4, sv.Affine(3)], ShapeError, "Affine(3 -> 3)"),
        ([sv.Affine(3), "tanh"], InputError, "tanh"),
    ],
)
def test_lists_that_do_not_fit_are_refused(
    layers: list[Any], kind: type[InputError], value: str
) -> None:
    with refused(kind, value):
        sv.Network(layers, "tanh")
