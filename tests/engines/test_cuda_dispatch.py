"""Dispatchers for one number or sample agree with those for tiles."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.optimizer import Optimizer
from scalarviz.engines.codegen import cuda_dispatch, dispatch

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("number", range(len(ACTIVATIONS)))
def test_an_activation(number: int) -> None:
    for x in (-2.0, 0.0, 0.5):
        y, slope = np.zeros(1), np.ones(1)
        dispatch.activation_forward(number, np.array([x]), y)
        dispatch.activation_backward(number, np.array([x]), y, slope)
        assert cuda_dispatch.activation_value(number, x) == y[0]
        assert cuda_dispatch.activation_slope(number, x, y[0]) == slope[0]


@pytest.mark.parametrize("number", range(len(LOSSES) + len(ROW_LOSSES)))
def test_a_loss(number: int) -> None:
    p, t, g, tile_g = RANDOM.normal(size=(4, 3, 1))
    t = t**2
    forward, backward = dispatch.scalar_loss_forward, dispatch.scalar_loss_backward
    if number >= len(LOSSES):
        forward, backward = dispatch.row_loss_forward, dispatch.row_loss_backward
    backward(number, p, t, 1.0, tile_g, 1)
    cuda_dispatch.sample_gradient(number, p[:, 0], t[:, 0], g[:, 0])
    assert (g == tile_g).all()
    error = cuda_dispatch.sample_error(number, p[:, 0], t[:, 0])
    assert error == pytest.approx(forward(number, p, t, 1))


@pytest.mark.parametrize("make", Optimizer.__subclasses__())
def test_an_optimizer(make: type[sv.SGD]) -> None:
    optimizer = make(0.1)
    number, slots = list(OPTIMIZERS).index(optimizer.name), len(optimizer.row.slots)
    value, kept, g = np.array([0.5]), RANDOM.random((slots, 1)), np.array([0.3])
    arguments = np.array(optimizer.arguments(3))
    one, one_kept = value.copy(), kept[:, 0].copy()
    dispatch.optimizer_update(number, value, g, kept, arguments, np.zeros(1, bool), 0, 1)
    cuda_dispatch.move_one(number, one, g[0], one_kept, arguments)
    assert one[0] == value[0]
    assert (one_kept == kept[:, 0]).all()


def test_conditions() -> None:
    g, w, out = np.array([3.0]), np.array([-0.5]), np.zeros(1)
    dispatch.condition_gradients(g, w, 0.5, 1.0, 0.01, 0.1, 0, 1, out)
    assert cuda_dispatch.condition_one(3.0, -0.5, 0.5, 1.0, 0.01, 0.1) == out[0]
    assert cuda_dispatch.clip_factor(25.0, 2.0) == sv.SGD(clip_norm=2.0).norm_scale(
        np.array([3.0, -4.0])
    )
    assert cuda_dispatch.clip_factor(25.0, math.inf) == 1.0
    assert cuda_dispatch.deviation_factor(3.5, 0.5) == 0.5
