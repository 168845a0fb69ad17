"""The cuda engine in numba's simulator: state of layers, and what they ask of a block.

Running statistics, dropouts; run by `test_cuda.py`.
"""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.model.operations import NONE
from scalarviz.data.batches import InOrder
from scalarviz.engines.cuda import places, tables
from scalarviz.errors import EngineError, UpdateError
from tests.engines.agreement import difference, numbers
from tests.engines.simulator import NETWORKS, engine_of, fits, network, pair, run_of


def test_a_chunk_is_cut_between_pairs_of_samples() -> None:
    for most in range(40):
        for share in (1, 3, 8, 9, 17):
            width = tables.tile_width(share, 1, most)
            assert width == share or (width % 2 == 0 and width < share)
            assert width == 0 or width >= min(share, tables.LEAST_WIDTH)
            assert width == 0 or tables.room_stride(width) <= most


def test_a_network_whose_weights_need_indices_of_more_than_32_bits_is_refused() -> None:
    plan = np.zeros(places.PLAN_FIELDS, np.int64)
    plan[places.ROWS], plan[places.STRIDE] = 2**28, 1
    assert tables.place_parts(plan, 7, True)[places.PARTIALS] < 2**32
    plan[places.ROWS] = 2**30
    with pytest.raises(EngineError, match="1,073,741,824 parameters"):
        tables.place_parts(plan, 7, True)


def test_a_dropout_draws_anew_for_every_step_sample_and_layer() -> None:
    net = sv.Network([sv.Dense(3, 8), sv.Dropout(8), sv.Dropout(8)], dtype="float64", seed=2**63)
    engine, x = engine_of(net), np.repeat(numbers(1, 3), 20, axis=0)
    first = engine.forward(x)
    assert (engine.forward(x) == first).all()
    assert net.copy().forward(x) == pytest.approx(first, rel=1e-12)
    assert (first == 0.0).sum() > 100  # three quarters of 160: the two do not leave out the same
    upstream = np.ones((20, 8))
    net.bank.count_steps(1)
    other = engine.forward(x)
    assert ((other == 0.0) != (first == 0.0)).any()
    # The newest first; each goes back by the mask of its own forward.
    for outputs in (other, first, first):
        net.zero_grad()
        engine.backward(upstream)
        assert net.bank.grad[-8:] == pytest.approx(4.0 * (outputs != 0.0).sum(axis=0))


def test_a_frozen_norm_learns_with_its_running_statistics() -> None:
    layers = [sv.Dense(3, 4), sv.BatchNorm(4), sv.Dense(4, 2)]
    net = sv.Network(layers, dtype="float64", seed=3)
    net.forward(numbers(9, 3))
    net.forget()
    net.layers[1].freeze()
    other, state = net.copy(), net.bank.state.copy()
    batches = InOrder(numbers(9, 3), numbers(9, 2), 9)
    run_of(net, batches, whole=False).steps(sv.SGD(0.1), 0, 3)
    other.run(batches, sv.Loss("mse")).steps(sv.SGD(0.1), 0, 3)
    assert (net.bank.state == state).all()
    assert difference(other.bank.value, net.bank.value) < 1e-12


def test_a_step_that_is_refused_leaves_running_statistics_as_they_were() -> None:
    net = sv.Network([sv.Dense(1, 2, "exp"), sv.BatchNorm(2)], seed=2)
    net.bank.value[:] = 1.0
    inputs = np.repeat([[0.5], [500.0]], 9, axis=0) * np.linspace(0.5, 1.0, 18)[:, np.newaxis]
    once, batches = net.copy(), InOrder(inputs, np.ones((18, 2)), 9)
    assert run_of(once, batches, whole=False).steps(sv.SGD(0.01), 0, 1).bad == NONE
    outcome = run_of(net, batches, whole=False).steps(sv.SGD(0.01), 0, 4)
    assert outcome.bad != NONE
    assert len(outcome.losses) == 1
    assert (net.bank.state == once.bank.state).all()
    assert (net.bank.state[3:] != [0.0, 0.0, 1.0, 1.0]).all()


# What goes wrong: the type, and an input that is too large for it.
TOO_LARGE = {"float32": ("float32", 1e39), "variance": ("float64", 1e155)}


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_a_step_that_would_lose_a_running_statistic_is_refused_by_name(
    kind: str,
) -> None:
    dtype, large = TOO_LARGE[kind]
    layers = [sv.Dense(3, 3), sv.BatchNorm(3), sv.Dense(3, 2)]
    net = sv.Network(layers, seed=1, dtype=dtype)
    inputs = abs(numbers(18, 3))
    inputs[13, 1] = large
    batches, optimizer = InOrder(inputs, numbers(18, 2), 9), sv.SGD(0.1, not_finite="zero")
    good, slow = net.copy(), net.copy()
    run_of(good, batches, whole=False).steps(optimizer, 0, 1)
    outcome = run_of(net, batches, whole=False).steps(optimizer, 0, 4)
    assert len(outcome.losses) == 1 and outcome.overflow is not None
    expected = slow.run(batches, sv.Loss("mse")).steps(optimizer, 0, 4).overflow
    said = str(outcome.overflow.at(1))
    assert said.startswith("step 1 would make layer 1, running ")
    assert str(expected) == said
    run = run_of(good, batches, whole=False)
    before, value = good.bank.state.copy(), good.bank.value.copy()
    run.begin(1)
    for moment in good.program.moments[:-1]:
        run.perform(moment, optimizer)
    for _ in range(2):
        with pytest.raises(UpdateError) as caught:
            run.perform(good.program.moments[-1], optimizer)
        assert str(caught.value) == said
        assert (good.bank.state == before).all() and (good.bank.value == value).all()


def test_running_statistics_can_be_written_and_count_at_once() -> None:
    net = sv.Network([sv.BatchNorm(3, eps=1e-3)], dtype="float64")
    norm, engine, x = net.layers[0], engine_of(net), numbers(5, 3)
    assert isinstance(norm, sv.BatchNorm)
    norm.running_mean[:], norm.running_variance[:] = [1.0, 2.0, 3.0], 3.999
    assert engine.evaluate(x) == pytest.approx((x - [1.0, 2.0, 3.0]) / 2.0)
    engine.forward(x)
    assert norm.running_mean == pytest.approx(0.9 * np.array([1, 2, 3]) + 0.1 * x.mean(axis=0))
    assert norm.running_variance == pytest.approx(0.9 * 3.999 + 0.1 * x.var(axis=0, ddof=1))


def test_networks_with_convolutions_or_statistics_of_the_batch_run_kernel_by_kernel() -> None:
    for name in NETWORKS:
        net = network(name)
        assert engine_of(net).run(InOrder(*pair(net, 9)), sv.Loss()).whole_steps == fits(net)
