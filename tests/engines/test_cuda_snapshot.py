"""Snapshots of numbers on a GPU, with streams of which tests say when they run."""

import gc
import weakref
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scalarviz.core.bank import Bank
from scalarviz.errors import EngineError
from tests.engines.fake_driver import FakeArray, FakeGpu, FakeStream
from tests.wording import refused

pytest.importorskip("numba_cuda", reason="it is not available for this system or Python")

from scalarviz.engines.cuda import device_memory
from scalarviz.engines.cuda.device_memory import Asides, CudaSnapshot, Memory

ROWS, MOST = 3, 5
SLOTS = ("m", "v")


class Training:
    """A run whose numbers are on a GPU: after n steps values are n, slots n + .5, gradients -n."""

    def __init__(self, gpu: FakeGpu) -> None:
        self.gpu, self.steps_queued = gpu, 0
        self.engine: Any = SimpleNamespace(bank=Bank(ROWS, "float64", 1))
        self.bank.slot_block(("old",))[:] = 9.0
        self.bank.slot_block(SLOTS)[:] = -1.0
        stream = gpu.stream()
        memory = SimpleNamespace(
            rows=ROWS,
            grad_place=(MOST - 1) * ROWS,
            dtype=np.dtype("float64"),
            arena=FakeArray(np.zeros(MOST * ROWS + 4)),
            stream=stream,
        )
        memory.moving_parts = partial(Memory.moving_parts, memory)  # type: ignore[arg-type]  # a stand-in
        self.memory: Any = memory
        self.asides: Any = Asides(memory)  # type: ignore[arg-type]  # a stand-in
        self.slots = SLOTS
        self.bank.away.leave(self)

    @property
    def bank(self) -> Bank:
        return self.engine.bank

    def fetch(self) -> None:
        raise AssertionError("a snapshot does not bring the bank back")

    def step(self) -> None:
        """Queue a portion of steps."""
        self.steps_queued += 1
        n, numbers = self.steps_queued, self.memory.arena.numbers

        def work() -> None:
            numbers[:ROWS] = n
            numbers[2 * ROWS : 4 * ROWS] = n + 0.5
            numbers[4 * ROWS : 5 * ROWS] = -n

        self.memory.stream.queue("steps", work)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    gpu = FakeGpu()
    monkeypatch.setattr(device_memory, "cuda", gpu)
    return gpu


@pytest.fixture
def run(gpu: FakeGpu) -> Training:
    return Training(gpu)


def shot_of(run: Training) -> CudaSnapshot:
    return CudaSnapshot(run)  # type: ignore[arg-type]  # a stand-in


@pytest.fixture
def shot(run: Training) -> CudaSnapshot:
    return shot_of(run)


def test_a_snapshot_leaves_on_a_stream_of_its_own_and_nobody_waits(
    gpu: FakeGpu, run: Training, shot: CudaSnapshot
) -> None:
    training, leaving = gpu.streams
    run.step()
    run.bank.state[-1] = 5.0
    shot.request()
    run.step()
    run.bank.state[-1] = 6.0
    aside = ["copy aside on stream 0"] * 3
    out = ["record on stream 0", "wait on stream 1", "copy out on stream 1", "record on stream 1"]
    assert gpu.said == ["steps on stream 0", *aside, *out, "steps on stream 0"]
    assert not shot.ready
    leaving.run()
    assert not shot.ready, "its numbers have not been computed"
    training.run()
    assert not shot.ready and not training.queued, "the training goes on before it has left"
    leaving.run()
    assert shot.ready and not any(said.startswith("wait for") for said in gpu.said)
    found = shot.read()
    assert (found.value == 1.0).all() and (found.grad == -1.0).all()
    assert {name: slot.tolist() for name, slot in found.slots.items()} == {
        "old": [9.0] * ROWS, "m": [1.5] * ROWS, "v": [1.5] * ROWS,
    }  # fmt: skip
    assert found.state[-1] == 5.0 and shot.read() is found
    assert (run.bank.host_blocks[SLOTS] == -1.0).all(), "the bank itself has not come back"


def test_reading_waits_for_its_own_copy(gpu: FakeGpu, run: Training, shot: CudaSnapshot) -> None:
    run.step()
    assert not shot.ready
    found = shot.read()
    assert (found.value == 1.0).all() and gpu.said[-1] == "wait for an event"
    shot.request()
    assert not shot.ready
    assert (found.value == 1.0).all(), "numbers that were read never change"


def test_numbers_are_read_where_they_arrived(
    gpu: FakeGpu, run: Training, shot: CudaSnapshot
) -> None:
    run.step()
    found = shot.read()
    assert all(
        any(np.shares_memory(part, pinned) for pinned in gpu.pinned)
        for part in (found.value, found.grad, found.slots["m"], found.slots["v"])
    )
    part = found.slots["v"][1:][:1]
    del found
    for n in range(2, 9):
        run.step()
        shot.request()
        assert (shot.read().value == n).all() and part.tolist() == [1.5]
    assert gpu.made == 4, "only the memory of which somebody holds a part is not used again"
    kept = []
    for _ in range(30):
        run.step()
        shot.request()
        kept.append(shot.read().value)
    assert [value[0] for value in kept] == list(range(9, 39)), "all of them may be kept"
    assert len(run.asides._asides) <= device_memory.MOST + 1, "their memory on the GPU is not kept"


def test_several_at_once_and_requests_that_are_dropped(gpu: FakeGpu, run: Training) -> None:
    shots = []
    for _ in range(6):
        run.step()
        shots.append(shot_of(run))
        shots[-1].request()
    shots[2].request()  # after the sixth; the copy before may still be on its way
    run.step()
    assert [shot.read().value[0] for shot in shots] == [1, 2, 6, 4, 5, 6]
    made = gpu.made
    for _ in range(20):
        run.step()
        shots[0].request()
        assert shots[0].read().value[0] == run.steps_queued
    assert gpu.made == made, "the memory is used again"
    assert len(run.asides._asides) <= device_memory.MOST + 1
    shots[1].request()
    del shots[1]  # before it has arrived
    run.step()
    assert shot_of(run).read().value[0] == run.steps_queued


def test_memory_is_not_used_again_while_a_copy_is_on_its_way(
    gpu: FakeGpu, run: Training, shot: CudaSnapshot
) -> None:
    training, leaving = gpu.streams
    for _ in range(3):
        run.step()
        shot.request()
        training.run()  # the copies are aside, and have not left
    assert gpu.made == 6
    leaving.run()
    assert shot.read().value[0] == 3
    shot.request()
    assert gpu.made == 6


def test_a_training_that_ends_waits_for_copies_that_nobody_wants(
    gpu: FakeGpu, run: Training, shot: CudaSnapshot
) -> None:
    shot.request()
    training, leaving = gpu.streams
    training.run()
    run.bank.away.end()
    shot.request()
    assert leaving.queued, "the copy that was dropped writes into pinned memory"
    run.asides = None
    del shot
    assert gpu.said[-1] == "wait for stream 1" and not leaving.queued


def test_garbage_waits_for_its_stream_while_that_is_there(
    gpu: FakeGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stream() -> FakeStream:
        made = FakeStream(gpu, "the last stream")
        weakref.finalize(made, gpu.said.append, "the stream is gone")
        return made

    run = Training(gpu)
    monkeypatch.setattr(gpu, "stream", stream)
    asides = Asides(run.memory)
    vars(asides)["itself"] = asides, asides._leaving
    del asides
    gc.collect()
    assert gpu.said == ["wait for the last stream", "the stream is gone"]


def test_a_gpu_that_fails_meanwhile(gpu: FakeGpu, run: Training) -> None:
    shot, other = shot_of(run), shot_of(run)
    for each in (shot, other):
        each.request()
    gpu.is_lost = True
    assert shot.ready
    for each in (shot, other, shot):
        refused(EngineError, "[999] lost").by(each.read)
    gpu.is_lost = False
    shot.request()
    assert (shot.read().value == 0.0).all()


def test_numbers_that_are_in_the_bank_are_copied_there(
    gpu: FakeGpu, run: Training, shot: CudaSnapshot
) -> None:
    run.bank.away.end()
    run.bank.value[:] = 4.0
    shot.request()
    assert shot.ready and shot.read().value.tolist() == [4.0] * ROWS and not gpu.said
