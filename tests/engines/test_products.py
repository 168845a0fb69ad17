"""Matrix products of the cpu engine beside those of numpy, for widths and batches of every kind."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines.cpu.table import units_of
from tests.sessions import advanced

# More inputs than a panel has; whole blocks and remainders; layers too narrow for blocks.
WIDTHS = [[530, 130, 140, 3], [16, 16, 40, 33], [7, 9, 33], [3, 8, 64, 1]]
BATCHES = [1, 2, 3, 16, 17, 33, 128, 150]


@cache
def linear(*widths: int) -> sv.Network:
    return sv.Network(list(widths), "linear", seed=1, engine="cpu", dtype="float64")


@pytest.mark.some(5)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("widths", WIDTHS, ids=lambda widths: "-".join(map(str, widths)))
def test_products_are_those_of_numpy(widths: list[int], batch: int) -> None:
    net = linear(*widths)
    net.zero_grad()
    rng = np.random.default_rng(batch)
    x, g = rng.normal(size=(batch, widths[0])), rng.normal(size=(batch, widths[-1]))
    matrices, at = [], 0
    for inputs, outputs in pairwise(widths):
        weights = net.bank.value[at : at + inputs * outputs].reshape(outputs, inputs)
        at += weights.size
        matrices.append((weights, net.bank.value[at : at + outputs]))
        at += outputs
    values = [x]
    for weights, biases in matrices:
        values.append(values[-1] @ weights.T + biases)
    assert net.forward(x) == pytest.approx(values[-1], rel=1e-9, abs=1e-9)
    gradients = []
    by_inputs = net.backward(g)
    for (weights, _), x in zip(matrices[::-1], values[-2::-1], strict=True):
        gradients[:0] = [(g.T @ x).ravel(), g.sum(axis=0)]
        g = g @ weights
    assert by_inputs == pytest.approx(g, rel=1e-9, abs=1e-9)
    assert net.bank.grad == pytest.approx(np.concatenate(gradients), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("batch", [1, 2, 20, 100])
def test_a_wide_layer_on_all_cores_has_the_bits_of_one_core(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of one chunk: several cores do some rows each."""
    rng = np.random.default_rng(batch)
    x, y = rng.normal(size=(batch, 70)), rng.normal(size=(batch, 33))
    found, kernels = [], []
    for worth in (0, 10**12):
        monkeypatch.setattr("scalarviz.engines.cpu.table.WORTH_CORES", worth)
        monkeypatch.setattr("scalarviz.engines.cpu.calls.is_parallel", lambda: True)
        net = sv.Network([70, 130, 33], "tanh", "linear", seed=0, engine="cpu")
        kernels.append(set(units_of(net.program.operations[0], batch)))
        s = advanced(sv.Session(net, (x, y), "mse", sv.Adam(0.01), batch=batch, engine="cpu"), 3)
        s.advance(len(s.operations), "operation")
        found.append([net.bank.value.copy(), net(x), np.array(s.losses)])
    assert "part_of_forward" in kernels[0] - kernels[1]
    for here, there in zip(*found, strict=True):
        assert (here == there).all()
