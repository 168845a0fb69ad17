"""The cuda engine in numba's simulator: state of layers, and what they ask of a block.

Running statistics, dropouts; run by `test_cuda.py`.
"""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data.batches import InOrder
from scalarviz.engines.cuda import device_memory, gpu_layout
from scalarviz.errors import EngineError, UpdateError
from tests.engines.agreement import numbers
from tests.engines.simulator import engine_of, run_of


def test_a_chunk_is_cut_between_pairs_of_samples() -> None:
    for most in range(40):
        for share in (1, 3, 8, 9, 17):
            width = device_memory.tile_width(share, 1, most)
            assert width == share or (width % 2 == 0 and width < share)
            assert width == 0 or width >= min(share, device_memory.LEAST_WIDTH)
            assert width == 0 or device_memory.room_stride(width) <= most


def test_a_network_whose_weights_need_indices_of_more_than_32_bits_is_refused() -> None:
    plan = np.zeros(gpu_layout.PLAN_FIELDS, np.int64)
    plan[gpu_layout.ROWS], plan[gpu_layout.STRIDE] = 2**28, 1
    assert device_memory.place_parts(plan, 7, True)[gpu_layout.PARTIALS] < 2**32
    plan[gpu_layout.ROWS] = 2**30
    with pytest.raises(EngineError, match="1,073,741,824 parameters"):
        device_memory.place_parts(plan, 7, True)


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
