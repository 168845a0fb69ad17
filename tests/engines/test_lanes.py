"""Networks in the lanes of a vector have the bits that each of them has alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.engines.cpu.parallel_networks import CpuMany
from scalarviz.training.session.replicas import Replicas

Layers = Sequence[sv.Layer]


def slow(*cases: tuple[Any, ...]) -> list[Any]:
    """Cases that are left to `make test-all`."""
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


def many(replicas: Replicas) -> CpuMany:
    found = replicas._many
    assert isinstance(found, CpuMany)
    return found


def made(
    layers: Layers,
    optimizer: sv.Optimizer,
    *,
    samples: int = 11,
    batch: int = 4,
    loss: str = "mse",
    dtype: str = "float32",
    order: str = "shuffled",
) -> sv.Session:
    rng = np.random.default_rng(0)
    net = sv.Network([layer.again() for layer in layers], dtype=dtype, seed=1)
    targets = rng.random((samples, net.outputs))
    targets /= targets.sum(axis=1, keepdims=True)
    data = sv.data.Arrays(rng.normal(size=(samples, net.inputs)), targets, order=order)
    return sv.Session(net, data, loss, optimizer, batch=batch, engine="cpu", seed=1)


def trained(session: sv.Session, count: int, *, in_lanes: bool) -> Replicas:
    """Replicas after some steps, of which some end early."""
    replicas = sv.replicate(session, range(count))
    replicas.prepare()
    found = many(replicas)
    assert found.lanes is not None
    if not in_lanes:
        found.lanes = None
        found.prepare = lambda: None  # type: ignore[method-assign]  # it would make them again
    for steps in (1, 7, 12):
        replicas.advance(steps, progress=False)
    replicas.end(np.arange(count) % 3 == 0)
    replicas.advance(5, progress=False)
    return replicas


def check_same(session: sv.Session, count: int = 19) -> None:
    a, b = [trained(session, count, in_lanes=which) for which in (True, False)]
    one, other = many(a), many(b)
    for name in ("value", "grad", "slots", "state"):
        assert (getattr(one.stack, name) == getattr(other.stack, name)).all(), name
    assert np.array_equal(a.losses, b.losses, equal_nan=True)
    assert (a.taken == b.taken).all() and (one.progress["result"] == other.progress["result"]).all()


DENSE = sv.Dense(3, 9, "tanh"), sv.Dense(9, 2)
SOFT = sv.Dense(2, 5, "relu"), sv.Dense(5, 3)
BRANCHES = (
    sv.Dense(2, 6, "sin"),
    sv.Residual(sv.Dense(6, 6, "tanh")),
    sv.Product(sv.Dense(6, 4, "sigmoid"), sv.Dense(6, 4)),
    sv.Concatenate(sv.Dense(4, 3), sv.Dense(4, 2, "gelu", bias=False)),
    sv.Dense(5, 1),
)


@pytest.mark.parametrize(
    ("layers", "optimizer", "options"),
    [
        (DENSE, sv.Adam(0.01), {}),
        (SOFT, sv.SGD(0.1, l2=0.01), {"loss": "softmax_cross_entropy", "batch": 3}),
        *slow(
            (DENSE, sv.Momentum(0.05, clip_value=0.1), {"batch": 1, "order": "picked"}),
            (DENSE, sv.SGD(0.1), {"batch": 2, "dtype": "float64"}),
            (DENSE, sv.SGD(0.1), {"batch": 7, "dtype": "float64", "order": "in_order"}),
            (DENSE, sv.SGD(0.1), {"batch": 9, "samples": 10}),
            (DENSE, sv.SGD(0.1), {"batch": 16, "samples": 29}),
            (BRANCHES, sv.Momentum(0.01), {"loss": "huber"}),
            (BRANCHES, sv.Adam(0.01), {"batch": 11, "dtype": "float32", "loss": "mae"}),
        ),
    ],
)
def test_in_lanes_or_alone_they_are_the_same(
    layers: Layers, optimizer: sv.Optimizer, options: dict[str, Any]
) -> None:
    check_same(made(layers, optimizer, **options))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("batch", range(1, 17))
def test_every_size_of_a_batch(batch: int, dtype: str) -> None:
    if batch > 8 and dtype == "float64":
        batch = 8 - batch % 8
    check_same(made(DENSE, sv.Adam(0.01), samples=batch + 3, batch=batch, dtype=dtype), 9)


def test_one_that_stops_takes_the_others_of_its_vector_along() -> None:
    """They go on one by one in that call, from where they were, and in lanes in the next."""
    session = made([sv.Dense(2, 4, "relu"), sv.Dense(4, 1)], sv.SGD(0.01))
    a, b = [sv.replicate(session, range(6)) for _ in range(2)]
    for replicas in (a, b):
        replicas.prepare()
        replicas.banks[2].value[:] = 3e38
    found = many(b)
    found.lanes = None
    found.prepare = lambda: None  # type: ignore[method-assign]  # it would make them again
    for replicas in (a, b):
        replicas.advance(3, progress=False)
        replicas.advance(4, progress=False)
    assert a.taken[2] < 7 and (a.taken == b.taken).all() and a.taken[3] == 7
    for one, other in zip(a.banks, b.banks, strict=True):
        assert np.array_equal(one.value, other.value, equal_nan=True)
    assert np.array_equal(a.losses, b.losses, equal_nan=True)


def test_what_kernels_for_lanes_cannot_do_is_done_slow() -> None:
    for session in (
        made(DENSE, sv.SGD(0.1, clip_norm=1.0)),
        made(DENSE, sv.RMSProp(0.1)),
        made(DENSE, sv.SGD(0.1), samples=40, batch=17),
        made([sv.Dense(2, 4), sv.LayerNorm(4), sv.Dense(4, 1)], sv.SGD(0.1)),
        made([sv.Dense(2, 40), sv.Dense(40, 40), sv.Dense(40, 1)], sv.SGD(0.1)),
    ):
        replicas = sv.replicate(session, range(4))
        replicas.advance(2, progress=False)
        assert many(replicas).lanes is None and (replicas.taken == 2).all()


def test_bits_that_differ_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilers may round another product of an optimizer's formula: a trial of steps tells."""
    replicas = sv.replicate(made(DENSE, sv.SGD(0.1)), range(4))
    started = [array.copy() for array in many(replicas)._changing]
    steps = "scalarviz.engines.cpu.parallel_networks.LaneJobs.steps"
    from scalarviz.engines.cpu.parallel_networks import LaneJobs

    right = LaneJobs.steps

    def wrong(self: LaneJobs, which: Any, first: int, losses: Any) -> Any:
        done = right(self, which, first, losses)
        value = replicas.banks[3].value
        value[5] = np.nextafter(value[5], 9)
        return done

    monkeypatch.setattr(steps, wrong)
    replicas.prepare()
    assert many(replicas).lanes is None
    for array, before in zip(many(replicas)._changing, started, strict=True):
        assert (array == before).all()
