"""The cuda engine in numba's simulator, against the python engine: layers with a kind of their own.

Convolutions, statistics of the whole batch, dropouts, residuals; run by `test_cuda.py`.
"""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.data.batches import InOrder, Shuffled
from scalarviz.engines.cuda import places, tables
from scalarviz.engines.cuda.table import KERNELS, WHOLE_BATCH
from scalarviz.engines.python.engine import PythonEngine
from scalarviz.errors import EngineError, UpdateError
from scalarviz.model.operations import KINDS, NONE
from scalarviz.model.precision import Precision
from tests.engines.simulator import (
    PICTURES,
    TRAINED,
    difference,
    engine_of,
    every_picture,
    every_trained_picture,
    fits,
    gradients_agree,
    numbers,
    on_pictures,
    one_type_or_both,
    pair,
    reference_steps,
    run_of,
    slow,
)


@one_type_or_both
@every_picture
def test_every_layer_on_pictures(dtype: str, name: str) -> None:
    gradients_agree(on_pictures(name, dtype), numbers(9, 40))


@every_trained_picture
@pytest.mark.parametrize("samples", [1, *slow(17)])
def test_pictures_in_every_size_of_batch(samples: int, name: str) -> None:
    gradients_agree(on_pictures(name), numbers(samples, 40))


# Shape of the pictures, kernels, window, stride, padding, biases: odd sizes, windows larger and
# smaller than the steps between them, and products of more than one tile in both directions.
GEOMETRIES = [
    ((1, 1, 1), 1, (1, 1), 1, 0, True),
    ((1, 5, 4), 1, (3, 3), 1, 0, True),
    ((3, 4, 7), 5, (2, 3), 2, 1, True),
    ((2, 6, 3), 9, (3, 2), 3, 1, False),
    ((5, 3, 3), 4, (3, 3), 1, 1, True),
    ((2, 3, 5), 3, (4, 2), 1, 1, True),
]
LARGE = [
    ((3, 5, 5), 3, (5, 5), 1, 2, True),
    ((2, 2, 2), 67, (1, 2), 1, 0, True),
    ((6, 4, 4), 5, (4, 4), 2, 3, False),
]


@pytest.mark.parametrize("samples", [9, *slow(1, 2, 23)])
@pytest.mark.parametrize("geometry", [*GEOMETRIES, *slow(*LARGE)], ids=str)
def test_every_geometry_of_a_convolution(geometry: Any, samples: int) -> None:
    """Verbs against objects, and moments against steps."""
    shape, kernels, window, stride, padding, bias = geometry
    layer = sv.Conv2d(shape, kernels, window, stride=stride, padding=padding, bias=bias)
    net = sv.Network([layer], dtype="float64", seed=5)
    net.bank.value[:] += 0.1 * numbers(len(net.bank))
    gradients_agree(net, numbers(samples, net.inputs))
    batches, optimizer = InOrder(*pair(net, samples)), sv.SGD(0.1)
    other = net.copy()
    run_of(net, batches, whole=False).steps(optimizer, 0, 2)
    run = run_of(other, batches, whole=False)
    for step in range(2):
        run.begin(step)
        for moment in net.program.moments:
            run.perform(moment, optimizer)
    assert other.bank.grad.tobytes() == net.bank.grad.tobytes()
    assert other.bank.value.tobytes() == net.bank.value.tobytes()


def test_a_convolution_of_more_samples_than_threads_share() -> None:
    """In a whole batch a thread has four samples, APART from each other."""
    net = sv.Network([sv.Conv2d((1, 2, 2), 2, (2, 1))], dtype="float64", seed=5)
    gradients_agree(net, numbers(4 * places.APART + 3, net.inputs))


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


def test_every_kind_has_its_kernels_in_one_order() -> None:
    assert [*KERNELS, "convolution"] == list(WHOLE_BATCH)
    assert set(WHOLE_BATCH) == set(KINDS)
    assert (
        max(
            len(operation.settings)
            for name in PICTURES
            for operation in on_pictures(name).program.operations
        )
        <= places.MOST_SETTINGS
    )


@every_trained_picture
def test_layers_on_pictures_over_some_steps(name: str) -> None:
    net = on_pictures(name)
    batches, loss = Shuffled(*pair(net), 19, seed=2), sv.Loss()  # of 19 samples and of 8
    optimizer = sv.SGD(0.05)
    reference = net.copy()
    expected = reference_steps(reference, batches, loss, optimizer, range(4))
    for whole in [True, False][not fits(net) :]:
        fast = net.copy()
        run = run_of(fast, batches, loss, whole=whole)
        outcomes = [run.steps(optimizer, 0, 3), run.steps(optimizer, 3, 1)]
        assert np.concatenate([each.losses for each in outcomes]) == pytest.approx(expected)
        assert difference(reference.bank.value, fast.bank.value) < 1e-9
        assert difference(reference.bank.state, fast.bank.state) < 1e-9
        x = numbers(11, 40)
        assert difference(reference(x), engine_of(fast).evaluate(x)) < 1e-9


@pytest.mark.slow
@every_picture
def test_pictures_have_the_same_bits_on_every_path(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, optimizer = on_pictures(name, "float32"), sv.Adam(0.01, clip_norm=0.5)
    batches = Shuffled(*pair(net), 19, seed=5)
    found = []
    for whole, tile, blocks, threads in [
        (True, 8, 3, 4), (True, 4, 2, 3), (False, 8, 3, 4), (False, 8, 1, 5)
    ]:  # fmt: skip
        each = net.copy()
        monkeypatch.setattr(tables, "tile_width", lambda *_, width=tile: width)
        run = run_of(each, batches, whole=whole and fits(net))
        run._work.device.blocks, run._work.device.threads = blocks, threads
        found.append((each.bank, run.steps(optimizer, 0, 2).losses))
    each, losses = net.copy(), []
    run = run_of(each, batches, whole=False)
    for step in range(2):
        run.begin(step)
        for moment in each.program.moments:
            run.perform(moment, optimizer)
        losses.append(run.loss)
    found.append((each.bank, np.array(losses)))
    first, expected = found[0]
    for bank, losses_found in found[1:]:
        assert (bank.value == first.value).all()
        assert (bank.grad == first.grad).all()
        assert (bank.state == first.state).all()
        assert (losses_found == expected).all()


def test_row_formulas_have_the_same_bits_on_every_path() -> None:
    layers = [
        sv.FrequencyEncoding(2, 3), sv.Dense(12, 19), sv.LayerNorm(19), sv.Dense(19, 9),
        sv.RMSNorm(9), sv.Dense(9, 3), sv.Softmax(3),
    ]  # fmt: skip
    net, optimizer = sv.Network(layers, seed=4), sv.SGD(0.1)
    batches = InOrder(*pair(net, 19), 19)
    nets = [net.copy() for _ in range(5)]
    paths = [(True, 3, 4), (True, 2, 3), (False, 3, 4), (False, 1, 5)]
    for each, (whole, blocks, threads) in zip(nets, paths, strict=False):
        run = run_of(each, batches, whole=whole)
        run._work.device.blocks, run._work.device.threads = blocks, threads
        run.steps(optimizer, 0, 2)
    run = run_of(nets[4], batches, whole=False)
    for step in range(2):
        run.begin(step)
        for moment in net.program.moments:
            run.perform(moment, optimizer)
    assert (nets[0].bank.value != net.bank.value).any()
    for each in nets[1:]:
        assert each.bank.value.tobytes() == nets[0].bank.value.tobytes()
        assert each.bank.grad.tobytes() == nets[0].bank.grad.tobytes()


@pytest.mark.parametrize("name", ["convolution", *slow(*TRAINED[1:])])
def test_what_lies_between_pictures_is_that_of_the_objects(name: str) -> None:
    net = on_pictures(name)
    other, batches, optimizer = net.copy(), InOrder(*pair(net), 19), sv.SGD(0.1)
    reference = PythonEngine(other.layers, other.program, other.bank, Precision())
    slow, run = reference.run(batches, sv.Loss()), run_of(net, batches, whole=False)
    for step in (0, 1):
        slow.begin(step)
        run.begin(step)
        for moment in net.program.moments:
            slow.perform(moment, optimizer)
            run.perform(moment, optimizer)
            buffers = net.program.buffers[1:]
            if moment.kind == "loss":
                assert all(difference(slow.values(b), run.values(b)) < 1e-12 for b in buffers)
                assert difference(other.bank.state, net.bank.state) < 1e-12
        known = [operation.target for operation in net.program.operations]
        for buffer in known[net.program.first_parameters :]:
            assert difference(slow.gradients(buffer), run.gradients(buffer)) < 1e-11
        assert difference(other.bank.value, net.bank.value) < 1e-12


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
    for name in PICTURES:
        net = on_pictures(name)
        assert engine_of(net).run(InOrder(*pair(net, 9)), sv.Loss()).whole_steps == fits(net)
