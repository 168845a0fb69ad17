"""Captions of numbers too large or too small for the formulas, and of very many outputs."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.story.captions import caption
from scalarviz.training.session.caption import Caption


def walk(session: sv.Session, row: int | None = None) -> dict[str, Caption]:
    """What is said after each operation of the next step before the update."""
    told = {}
    for name in session.operations[:-1]:
        session.advance(1, "operation")
        told[name] = caption(session, row)
    return told


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_infinities_are_told(dtype: str, seed: int) -> None:
    network = sv.Network([3, 6, 4], "relu", seed=seed, dtype=dtype)
    network.bank.value[:] *= 0.2 * np.finfo(dtype).max
    pairs = np.random.default_rng(seed).normal(size=(5, 3)), np.ones((5, 4))
    for row in (None, 0, 51):
        s = sv.Session(network.copy(), pairs, optimizer=sv.SGD(0.1), engine="python")
        told = walk(s, row)
        assert all(said.title and said.numbers for said in told.values())
        assert "inf" in str(told["loss"]) or "nan" in str(told["loss"])


def test_a_share_too_small_for_a_number_is_told() -> None:
    network = sv.Network([1, 2], seed=0, dtype="float64")
    network.bank.value[:] = [0.0, 2000.0, 0.0, 0.0]
    s = sv.Session(network, ([[1.0]], [0]), "softmax_cross_entropy", engine="python")
    assert walk(s)["loss"].numbers[0] == "share of output 0: -log(0) ≈ 2000"


def test_the_outputs_of_a_large_batch_are_not_gone_through_one_by_one() -> None:
    pairs = np.ones((40, 1)), np.ones((40, 2000))
    s = sv.Session(sv.Network([1, 2000], seed=0), pairs, optimizer=sv.SGD(0.1), engine="python")
    assert walk(s)["loss"].numbers[-1].endswith(", over 40 samples")
    s.advance(1, "operation")
    assert "computed again" not in str(caption(s))
