"""The cuda engine in numba's simulator: gradients, layers, memory, and a GPU that fails."""

import os
import weakref
from collections import defaultdict
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import KINDS, Kind, Moment
from scalarviz.data.batches import InOrder
from scalarviz.engines.cuda import device_memory, gpu_layout
from scalarviz.engines.cuda.card import cuda
from scalarviz.engines.cuda.device_memory import Memory
from scalarviz.engines.cuda.launches import CudaCalls
from scalarviz.errors import EngineError
from tests.engines.agreement import TOLERANCE, Array, bits_of, difference, numbers
from tests.engines.fake_driver import CudaAPIError
from tests.engines.simulator import (
    engine_of,
    noted,
    pair,
    run_of,
    uploads,
)
from tests.wording import refused

# ---- what is special about a GPU ----------------------------------------------------------------


def test_an_operation_of_a_kind_without_kernels_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "mirror", Kind("mirror", "y = -x"))
    net = sv.Network([2, 1])
    net.forward([1.0, 2.0])
    net.program.add("mirror", size=1)
    refused(EngineError, "'mirror'").by(net.to, "cuda")
    assert net.engine == "python" and net.backward().shape == (1, 2)


def test_chunks_depend_on_the_batch_and_not_on_the_device() -> None:
    count = device_memory.count_chunks
    sizes = 1, 7, 16, 25, 1024, 100_000
    assert [count(n, 100, 50) for n in sizes] == [1, 1, 2, 3, 128, 128]
    assert count(1024, 2**24, 2**16) == 2
    # 12-512x4-3: its products of 512 x 512 have 64 tiles each.
    assert count(1024, 799_747, 512 * 513) == 3


def test_a_batch_whose_numbers_32_bits_do_not_count_is_refused() -> None:
    net = sv.Network([2, 1024, 1])
    device_memory.make_layout(net.program, net.bank, 2**22 - 1, 47 * 1024)
    refused(EngineError, "4,194,303 with 1,024 outputs").by(
        device_memory.make_layout, net.program, net.bank, 2**22, 47 * 1024
    )


def test_the_bank_stays_on_the_device_and_a_written_weight_reaches_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nets = [sv.Network([3, 4, 2], "tanh", dtype="float64") for _ in range(2)]
    batches, optimizer = InOrder(*pair(nets[0])), sv.Adam(0.1)
    run, other = [run_of(net, batches) for net in nets]
    rows = len(nets[0].bank)
    copied = uploads(monkeypatch)
    run.steps(optimizer, 0, 1)
    assert [size for _, size in copied] == [rows, rows, 2 * rows, rows]
    copied.clear()
    run.steps(optimizer, 1, 1)
    assert copied == []
    nets[0].parameters()[5].value = 2.0
    nets[0].parameters()[3].freeze()
    run.steps(optimizer, 2, 1)
    assert copied == [(0, rows), (rows, rows)]
    # So are gradients that are not finite, which differ from themselves.
    nets[0].bank.grad[:] = np.nan
    run.steps(optimizer, 3, 1)
    other.steps(optimizer, 0, 2)
    nets[1].parameters()[5].value = 2.0
    nets[1].parameters()[3].freeze()
    other.steps(optimizer, 2, 2)
    assert bits_of(nets[0].bank) == bits_of(nets[1].bank)


def test_a_call_that_was_interrupted_leaves_nothing_behind_on_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([3, 4, 2], "tanh")
    run, optimizer = run_of(net, InOrder(*pair(net))), sv.SGD(0.1)
    run.steps(optimizer, 0, 1)
    other = net.copy()

    with monkeypatch.context() as patch:
        patch.setattr(run._work.memory, "take_plan", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run.steps(optimizer, 1, 1)
    run.steps(optimizer, 1, 1)
    run_of(other, InOrder(*pair(net))).steps(optimizer, 1, 1)
    assert (net.bank.value == other.bank.value).all()


@pytest.mark.some(1)
@pytest.mark.parametrize("optimizer", [sv.Adam(0.1), sv.SGD(0.1)])
def test_blocks_that_get_too_little_for_whole_steps_leave_them_to_kernels(
    optimizer: Optimizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the driver refuses more memory, while whole steps are prepared."""
    nets = [sv.Network([3, 4, 2], "tanh") for _ in range(2)]
    batches = InOrder(*pair(nets[0]))
    runs = [
        run_of(net, batches, whole=whole) for net, whole in zip(nets, (True, False), strict=True)
    ]
    work, prepare = runs[0]._work, runs[0]._work._blocks_together

    def too_little(_: object, count: int) -> int:
        kernel = SimpleNamespace(typeof_pyval=type, compile=len, overloads=defaultdict(Mock))
        with monkeypatch.context() as patch:
            patch.setattr(work.device, "simulated", False)
            patch.setattr("scalarviz.engines.cuda.launches.SHARED", 40)
            patch.setattr(
                "scalarviz.engines.cuda.launches.allow_shared", Mock(side_effect=RuntimeError)
            )
            return prepare(kernel, count)

    monkeypatch.setattr(work, "_blocks_together", too_little)
    for run in runs:
        outcomes = [run.steps(optimizer, 0, 2), run.steps(optimizer, 2, 1)]
        assert [len(each.losses) for each in outcomes] == [2, 1]
    assert not runs[0].whole_steps
    assert nets[0].bank.value.tobytes() == nets[1].bank.value.tobytes()


def test_batches_of_other_sizes_take_the_memory_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = noted(monkeypatch, CudaCalls, "__init__")
    net = sv.Network([3, 4, 2])
    engine, x = engine_of(net), numbers(9, 3)
    for size in (5, 7, 5, 9, 8, 7):
        assert difference(net(x[:size]), engine.evaluate(x[:size])) < TOLERANCE["float32"]
    assert [each[3] for each in made] == [8, 16]
    for size in (5, 7, 5, 7):
        engine.forward(x[:size])
        engine.backward(numbers(size, 2))
    assert [each[3] for each in made] == [8, 16, 5, 7]


def test_many_points_are_evaluated_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    net = sv.Network([sv.Dense(3, 4, "tanh"), sv.BatchNorm(4), sv.Dense(4, 2)], dtype="float64")
    engine, x = engine_of(net), numbers(19, 3)
    whole = engine.evaluate(x)
    monkeypatch.setattr("scalarviz.engines.cuda.engine.MOST_EVALUATED", 8)
    assert (engine.evaluate(x) == whole).all()
    sizes = [work.memory.arena.size for work in engine._spare]
    assert max(sizes) == sizes[0] > sizes[1]


def test_evaluation_of_65536_points_takes_little_memory() -> None:
    net = sv.Network([12, 64, 64, 64, 64, 3])
    layout = device_memory.make_layout(net.program, net.bank, 4096, 47 * 1024, False)
    assert 4 * layout.arena < 12e6  # bytes; with gradients and in one go they were 286 million


@pytest.mark.parametrize(
    ("width", "batch", "kilobytes", "whole"),
    [
        (64, 1024, 47, False), (64, 1024, 98, True), (64, 1024, 225, True),
        (112, 1024, 225, True), (116, 1024, 225, False), (116, 4, 225, True),
        (512, 1024, 225, False), (512, 4, 225, False),
    ],
)  # fmt: skip
def test_whole_steps_are_for_networks_whose_weights_have_room_in_a_block(
    width: int, batch: int, kilobytes: int, whole: bool
) -> None:
    """Beside a tile of eight samples, or a whole batch of fewer."""
    net = sv.Network([12, width, width, width, width, 3], "leaky_relu", "sigmoid")
    layout = device_memory.make_layout(net.program, net.bank, batch, 1024 * kilobytes)
    assert device_memory.fits(net.program, layout) == whole
    assert layout.plan[gpu_layout.WIDTH] == (min(batch, 8) if whole else 0)
    if whole:
        assert 4 * layout.plan[gpu_layout.ROOM] <= 1024 * kilobytes
        table = layout.plan[gpu_layout.PLAN_FIELDS :].reshape(-1, gpu_layout.COLUMNS)
        is_product = [each.kind == "affine" for each in net.program.operations]
        assert ((table[:, gpu_layout.IN_ROOM] >= 0) == is_product).all()


def test_one_batch_after_another_goes_on_with_the_same_memory() -> None:
    net = sv.Network([3, 4, 2], "tanh").to("cuda")
    inputs, targets = pair(net, 12)
    engine = net._engine
    run = engine.take_run(inputs[:5], targets[:5], sv.Loss())
    engine.keep_run(run)
    assert engine.take_run(inputs[1:6], targets[1:6], sv.Loss()) is run
    engine.keep_run(run)
    assert engine.take_run(inputs[:6], targets[:6], sv.Loss()) is not run


class Card:
    """Room for so many numbers on the GPU, in arrays that somebody still has."""

    def __init__(self, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room, self.taken, self.most = room, 0, 0
        plain = cuda.device_array

        def device_array(size: int, *arguments: Any, **settings: Any) -> Any:
            if self.taken + size > self.room:
                raise CudaAPIError("[2] Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")
            made = plain(size, *arguments, **settings)
            self.give(-size)
            weakref.finalize(made, self.give, size)
            return made

        monkeypatch.setattr(cuda, "device_array", device_array)

    def give(self, size: int) -> None:
        self.taken -= size
        self.most = max(self.most, self.taken)


TOO_LITTLE = "the GPU has too little free memory for this: all numbers are as before this call"


def test_memory_that_is_not_in_use_is_freed_where_the_card_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    card = Card(10**9, monkeypatch)
    engine = engine_of(sv.Network([3, 4, 2]))
    for size in (9, 16):
        engine.evaluate(numbers(size, 3))
    card.room = card.taken
    engine.evaluate(numbers(8, 3))
    assert len(engine._spare) == 1 and card.taken < card.room


def test_a_card_without_room_is_said_to_have_none_and_all_is_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    card = Card(10**9, monkeypatch)
    net = sv.Network([3, 4, 2]).to("cuda")
    few, many = [pair(net, size) for size in (5, 50)]
    net.train_step(*few, "mse", sv.Adam(0.1))
    card.room = card.most
    before = net.copy()
    for call in (lambda: net.train_step(*many, "mse", sv.Adam(0.1)), lambda: net(many[0])):
        refused(EngineError, TOO_LITTLE).by(call)
    assert (net.bank.value == before.bank.value).all() and net.bank.step_count == 1
    net.train_step(*few, "mse", sv.Adam(0.1))
    card.room = 10**9
    before.train_step(*few, "mse", sv.Adam(0.1))
    assert (net.bank.value == before.bank.value).all()


def test_a_formula_that_is_added_takes_no_memory_beside_the_former_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    card = Card(10**9, monkeypatch)
    net = sv.Network([3, 4, 2])
    run = run_of(net, InOrder(*pair(net)))
    run.steps(sv.Adam(0.1), 0, 1)
    most, card.room = card.most, card.most
    run._work._rows = ()
    assert run._work.outdated
    run.steps(sv.Adam(0.1), 1, 1)
    assert card.most == most and not run._work.outdated


LOST = "[700] Call to cuStreamSynchronize results in CUDA_ERROR_ILLEGAL_ADDRESS"


def failing(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Let the GPU fail after some copies from it, and then in every call."""
    left, plain = [calls], Memory.take_plan

    def take_plan(self: Memory) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise CudaAPIError(LOST)
        plain(self)

    monkeypatch.setattr(Memory, "take_plan", take_plan)


def test_a_launch_that_fails_leaves_the_numbers_from_before_the_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([3, 4, 2], "tanh")
    run = run_of(net, InOrder(*pair(net)))
    monkeypatch.setattr("scalarviz.engines.cuda.engine.MOST_STEPS", 2)
    run.steps(sv.Adam(0.1), 0, 1)
    before = net.copy().bank
    failing(monkeypatch, 1)
    refused(EngineError, "CUDA_ERROR_ILLEGAL_ADDRESS").by(run.steps, sv.Adam(0.1), 1, 5)
    assert (net.bank.value == before.value).all()
    assert (net.bank.slots["m"] == before.slots["m"]).all()
    assert net.bank.step_count == before.step_count == 1


def test_threads_that_take_turns_show_where_they_do_not_wait_for_each_other() -> None:
    if not cuda.config.ENABLE_CUDASIM or os.environ.get("SIMULATED_BLOCKS") == "numba":
        pytest.skip("threads that run at the same time may be right by chance")

    def exchange(out: Array) -> None:
        shared, i = cuda.shared.array(4, np.float64), cuda.threadIdx.x
        shared[i] = i
        cuda.syncthreads()
        if i == out[4]:
            raise ValueError("on purpose")
        cuda.syncthreads()
        out[i] = shared[3 - i]

    kernel, found = cuda.jit(exchange), np.full(5, -1.0)
    for _ in range(10):
        kernel[1, 4](found)
        assert found[:4].tolist() == [3.0, 2.0, 1.0, 0.0]
    found[4] = 2.0
    with pytest.raises(ValueError, match="on purpose"):
        kernel[1, 4](found)

    def too_early(out: Array) -> None:
        shared, i = cuda.shared.array(4, np.float64), cuda.threadIdx.x
        shared[i] = i
        out[i] = shared[3 - i]

    found = np.zeros(4)
    cuda.jit(too_early)[1, 4](found)
    assert np.isnan(found).any()


def test_the_simulator_is_what_runs_here() -> None:
    assert cuda.config.ENABLE_CUDASIM
    assert gpu_layout.PLAN_FIELDS > gpu_layout.DONE
    assert Moment("step", "step", "step") == sv.Network([1, 1]).program.moments[-1]


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
    refused(EngineError, "1,073,741,824 parameters").by(device_memory.place_parts, plan, 7, True)
