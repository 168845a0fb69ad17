"""Numbers that the cuda engine leaves on the GPU between portions; run by `test_cuda.py`.

In numba's simulator. The training with which they are compared brings the bank back after every
call of the engine, as all of them did before there were `DeviceNumbers`.
"""

import copy
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core import device_arrays
from scalarviz.core.device_arrays import DeviceNumbers
from scalarviz.engines.cuda.device_memory import Memory
from scalarviz.engines.cuda.engine import CudaRun
from scalarviz.errors import EngineError
from scalarviz.stage.live_values import LiveValues
from scalarviz.training.session.branches import Clock
from tests.engines.agreement import bits_of
from tests.engines.fake_driver import CudaAPIError
from tests.engines.simulator import noted, slow, uploads
from tests.sessions import reloaded
from tests.wording import refused

NEVER = 1e9  # seconds
ENOUGH = 60.0  # seconds that a background thread may take for some steps


@pytest.fixture(autouse=True)
def rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that nobody reads are not fetched, but for the first time."""
    monkeypatch.setattr(device_arrays, "EVERY", NEVER)


def session(seed: int = 3, engine: str = "cuda", *, norm: bool = False) -> sv.Session:
    """A small training; with a batch norm it runs kernel by kernel, and has running statistics."""
    net = sv.Network([2, 3, 1], "tanh", dtype="float64", seed=seed)
    if norm:
        layers = [sv.Dense(2, 2, "tanh"), sv.BatchNorm(2), sv.Dense(2, 1)]
        net = sv.Network(layers, dtype="float64", seed=seed)
    inputs = np.random.default_rng(1).uniform(-1.0, 1.0, (11, 2))
    data = sv.data.Arrays(inputs, np.sin(inputs.sum(axis=1, keepdims=True)))
    s = sv.Session(net, data, "mse", sv.Adam(0.1), batch=4, engine=engine)
    s.timeline.most_steps = lambda: 4  # so that a call has several portions, however fast it is
    return s


def brought_back(s: sv.Session) -> sv.Session:
    """The session with numbers that never stay away."""
    bank = s.network.bank

    class Home(DeviceNumbers):  # type: ignore[misc]  # final, but for this
        allowed = property(lambda self: False, lambda self, on: None)  # type: ignore[assignment]  # of another kind

    bank.away = Home()
    return s


@pytest.fixture
def s() -> sv.Session:
    return session()


@pytest.fixture
def other() -> sv.Session:
    """The same training, whose numbers never stay away."""
    return brought_back(session())


def until(s: sv.Session, step: int) -> None:
    end = time.monotonic() + ENOUGH
    while s.step_index < step:
        if not s.playing:
            s.pause()  # raises what has ended it
            raise AssertionError(f"it has ended at step {s.step_index}")
        assert time.monotonic() < end
        time.sleep(0.001)


def same_as(other: sv.Session, s: sv.Session, array: Any = None) -> None:
    """The numbers of a session are those of another one that goes as far."""
    other.advance(s.step_index - other.step_index)
    found = s.network.bank.value if array is None else array
    assert found.tobytes() == other.network.bank.value.tobytes()


@contextmanager
def away(s: sv.Session, step: int) -> Iterator[sv.Bank]:
    """The bank of a session that has played to a step; it rests, and the GPU has the numbers."""
    s.play()
    until(s, step)
    with s.still(ENOUGH):
        s._player.stop()
        assert s.network.bank.away.keeper is not None
        yield s.network.bank
    s.pause()


class Copies:
    """Notes copies of the bank between host and GPU, and calls of `steps`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = noted(patch, CudaRun, "steps")
        self.fetched = noted(patch, Memory, "take_bank")
        self.put = uploads(patch)

    @property
    def counts(self) -> tuple[int, int, int]:
        return len(self.calls), len(self.fetched), len(self.put)

    def clear(self) -> None:
        for each in (self.calls, self.fetched, self.put):
            each.clear()


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Copies:
    return Copies(monkeypatch)


# ---- how often the bank is copied ---------------------------------------------------------------


def test_background_play_copies_the_bank_when_somebody_looks(copies: Copies, s: sv.Session) -> None:
    s.advance(1)
    copies.clear()
    s.play()
    until(s, 12)
    playing = copies.counts
    s.pause()
    assert playing[0] >= 3 and playing[1:] == (0, 0), "nobody has looked yet"
    assert copies.counts[1:] == (1, 0), "the pause has fetched it"
    s.play()
    until(s, s.step_index + 5)
    before = len(copies.fetched)
    with s.still(ENOUGH):
        assert s.network.bank.value.size
        assert len(copies.fetched) == before + 1
    s.pause()
    s.play(20.0)  # it rests after each portion
    until(s, s.step_index + 2)
    assert len(copies.fetched) >= before + 3
    s.play(1e6)
    s.pause()


def test_background_play_brings_the_bank_back_as_often_as_it_should(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = 0.1
    monkeypatch.setattr(device_arrays, "EVERY", every)
    s = session()
    held, seen = s.network.bank.value, set()
    start = time.perf_counter()
    s.play()
    while len(seen) < 4:
        assert time.perf_counter() - start < ENOUGH and s.playing
        seen.add(held.tobytes())
        time.sleep(0.001)
    (calls, fetched, _), most = copies.counts, (time.perf_counter() - start) / every
    s.pause()
    assert 3 <= fetched <= most + 2 and calls > fetched


def test_a_portion_of_several_launches_copies_nothing_between_them(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, s: sv.Session, other: sv.Session
) -> None:
    s.advance(1)
    copies.clear()
    monkeypatch.setattr("scalarviz.engines.cuda.engine.MOST_STEPS", 2)
    monkeypatch.setattr("scalarviz.training.session.timeline.PORTION", NEVER)
    s.timeline.pace, s.timeline.most_steps = 4.0, lambda: 4
    s.advance(12)
    assert copies.counts == (3, 1, 0)
    same_as(other, s)


class Enough(Exception):
    """Ends an advance between two portions."""


def test_a_long_advance_brings_the_bank_back_and_keeps_keyframes(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = 0.05
    monkeypatch.setattr(device_arrays, "EVERY", every)
    s = session()
    array, seen, start = s.network.bank.value, set[bytes](), time.perf_counter()

    def look() -> None:
        seen.add(array.tobytes())
        if len(seen) > 4 or time.perf_counter() > start + ENOUGH:
            raise Enough

    monkeypatch.setattr(s.timeline, "between", look)
    with pytest.raises(Enough):
        s.timeline.forward(Clock(100_000))
    assert len(seen) > 4 and len(copies.fetched) <= (time.perf_counter() - start) / every + 2
    assert len({frame.value.tobytes() for frame in s.timeline.branch.frames} & seen) > 2
    monkeypatch.setattr(s.timeline, "between", lambda: None)
    s.timeline.forward(Clock(s.step_index + 3))
    assert s.network.bank.away.keeper is None


def test_a_fetch_that_takes_long_is_made_more_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    class Slow:
        def fetch(self) -> None:
            now[0] += 0.2

    place = DeviceNumbers()
    place.leave(Slow())
    assert place.is_due
    monkeypatch.setattr(device_arrays, "EVERY", 1 / 60)
    place.fetch(None)
    place.leave(Slow())
    for seconds, due in ((5.9, False), (0.2, True)):
        now[0] += seconds
        assert place.is_due is due


def test_a_snapshot_is_of_its_moment_and_brings_nothing_back(
    copies: Copies, s: sv.Session, other: sv.Session
) -> None:
    s.advance(1)
    copies.clear()
    s.play()
    shots = [s.snapshot() for _ in range(3)]
    for n, shot in enumerate(shots):
        until(s, 3 * n + 4)
        shot.request()
    while not all(shot.ready for shot in shots):
        time.sleep(0.001)
    found = [shot.read() for shot in shots]
    assert not copies.fetched and s.network.bank.away.keeper is not None
    s.pause()
    for shot, numbers in zip(shots, found, strict=True):
        other.seek(shot.moment.clock.step)
        assert bits_of(numbers) == bits_of(other.network.bank)


def test_a_picture_takes_snapshots_of_what_plays(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would be computed by the cpu engine, which compiles kernels.
    monkeypatch.setattr("scalarviz.stage.live_values.exhibit_of", lambda *_, **__: None)
    s, other = session(), brought_back(session())
    s.advance(1)
    reading = LiveValues(s, patience=0.0)
    copies.clear()
    s.play()
    end, seen = time.monotonic() + ENOUGH, {}
    while len(seen) < 3:
        assert time.monotonic() < end and s.playing
        reading.refresh()
        seen[reading.here.clock.step] = reading.numbers
        time.sleep(0.001)
    assert not copies.fetched
    s.pause()
    reading.refresh()
    assert reading.numbers.value.tobytes() == s.network.bank.value.tobytes()
    for step, numbers in seen.items():
        other.seek(step)
        assert bits_of(numbers) == bits_of(other.network.bank)


# ---- the arrays of a bank are current ------------------------------------------------------------


def held(net: sv.Network) -> dict[str, Any]:
    """Arrays of a bank that somebody holds, and a handle on a weight."""
    bank = net.bank
    return {"value": bank.value, "grad": bank.grad, "state": bank.state, "weight": net.weight(2)}


def bits(arrays: dict[str, Any], bank: sv.Bank) -> list[bytes]:
    weight = np.array([arrays["weight"].value, arrays["weight"].grad])
    found = [arrays[name].tobytes() for name in ("value", "grad", "state")]
    slots = {name: slot.tobytes() for name, slot in bank.slots.items()}
    return [*found, weight.tobytes(), *(slots[name] for name in sorted(slots))]


def test_what_functions_of_the_user_see_is_current() -> None:
    seen: dict[str, list[float]] = {}

    def run(name: str, s: sv.Session) -> None:
        weight, values = s.network.weight(1), seen.setdefault(name, [])

        s.on_step(lambda view: values.extend([weight.value, weight.grad, *view.values]), every=3)
        s.advance(10)
        assert s.step_index == 10

    run("away", session())
    run("here", brought_back(session()))
    assert seen["away"] == seen["here"] and len(seen["away"]) > 10


def test_a_written_weight_reaches_the_gpu_before_the_next_step(s: sv.Session) -> None:
    held_array = s.network.bank.value
    s.advance(4)
    held_array[3] = 0.5
    s.advance(2)
    s.play()
    until(s, 9)
    s.network.weight(1).value = 0.25  # waits for the portion
    s.network.weight(4).freeze()
    frozen = s.network.weight(4).value
    until(s, s.step_index + 3)
    s.pause()
    assert s.network.weight(4).value == frozen
    assert [action.kind for action in s.timeline.branch.journal] == ["edit", "edit", "freeze"]
    values, last = s.network.bank.value.copy(), s.step_index
    s.seek(0)
    s.seek(last)
    assert s.network.bank.value.tobytes() == values.tobytes()


def test_a_write_past_the_bank_while_it_plays_is_journalled(monkeypatch: Any) -> None:
    monkeypatch.setattr(device_arrays, "EVERY", 0.05)
    s = session()
    array = s.network.bank.value
    s.play()
    until(s, 2)
    end = time.monotonic() + ENOUGH
    while not s.timeline.branch.journal:  # it may be written into while numbers arrive
        assert time.monotonic() < end
        array[3] = 0.5
        time.sleep(0.02)
    until(s, s.step_index + 2)
    s.pause()
    s.advance(1)
    first = s.timeline.branch.journal[0]
    assert first.kind == "edit" and first.details["rows"].tolist() == [3]
    assert first.details["values"].tolist() == [0.5]
    values, last = s.network.bank.value.copy(), s.step_index
    s.seek(first.step)
    assert array[3] != 0.5, "on arrival there, before the edit"
    s.seek(0)
    s.seek(last)
    assert s.network.bank.value.tobytes() == values.tobytes()


READS = {
    "value": lambda bank: bank.value,
    "grad": lambda bank: bank.grad,
    "slots": lambda bank: bank.slots["m"],
    "block": lambda bank: bank.slot_block(("m", "v")),
}


@pytest.mark.parametrize("name", READS)
def test_whoever_reads_has_the_bank_fetched(name: str, s: sv.Session, other: sv.Session) -> None:
    with away(s, 4) as bank:
        found = READS[name](bank).tobytes()
        assert bank.away.keeper is None
        other.advance(s.step_index)
    assert found == READS[name](other.network.bank).tobytes()


def one_value(net: sv.Network) -> None:
    net.weight(1).value = 0.25  # a handle that was made before


def all_values(net: sv.Network) -> None:
    net.bank.value = np.full(len(net.bank), 0.25)


def kernel(net: sv.Network) -> None:
    net.layers[0].kernel = np.full((3, 2), 0.25)


WRITES = {
    "value": one_value,
    "values": all_values,
    "kernel": kernel,
    "freeze": lambda net: net.weight(4).freeze(),
    "frozen": lambda net: setattr(net.bank, "frozen", [True] * len(net.bank)),
    "state dict": lambda net: net.load_state_dict(net.state_dict()),
}


@pytest.mark.parametrize("name", WRITES)
def test_whoever_writes_has_the_bank_fetched(name: str, s: sv.Session) -> None:
    s.network.parameters()[:]
    with away(s, 4) as bank:
        WRITES[name](s.network)
        assert bank.away.keeper is None, "the next step compares it with the GPU's"
        written, step = bank.value.copy(), s.step_index
    s.advance(1)
    s.seek(step)
    s.advance(0)
    with s.doing():
        s.timeline.enter(step)
    assert s.network.bank.value.tobytes() == written.tobytes()


def test_the_history_of_a_weight_that_is_pinned_while_it_plays(
    s: sv.Session, other: sv.Session
) -> None:
    s.advance(1)
    s.play()
    until(s, 5)
    with s.still(ENOUGH):
        s._player.stop()
        assert s.network.bank.away.keeper is not None
        s.pin(2)
        time.sleep(0.05)  # its thread waits for the session
    steps, values = s.history(2, wait=True)
    s.pause()
    assert s.step_index in steps
    for step, value in zip(steps.tolist(), values.tolist(), strict=True):
        other.seek(step)
        assert other.network.bank.value[2] == value


def test_copies_of_a_network_that_plays_have_its_numbers(s: sv.Session) -> None:
    with away(s, 6) as bank:
        twins = [
            pickle.loads(pickle.dumps(s.network)), copy.deepcopy(s.network), s.network.copy(),
        ]  # fmt: skip
        for twin in twins:
            assert twin.bank.value.tobytes() == bank.value.tobytes()
            assert twin.bank.slots["m"].tobytes() == bank.slots["m"].tobytes()
            assert twin.bank.step_count == s.step_index and twin.bank.away.keeper is None


def test_a_forked_child_asks_no_gpu(monkeypatch: pytest.MonkeyPatch, s: sv.Session) -> None:
    s.advance(2)
    s.play()
    until(s, 6)
    with s.still(ENOUGH), monkeypatch.context() as child:
        child.setattr("os.getpid", lambda: -1)
        child.setattr(Memory, "take_bank", None)
        assert s.network.bank.away.keeper is not None
        assert np.isfinite(s.network.bank.value).all()


# ---- any actions give the numbers of a bank that is always brought back -------------------------


def play(s: sv.Session, steps: int) -> None:
    """Steps in the background; the other session takes as many at once."""
    s.play()
    until(s, s.step_index + steps)
    s.pause()


def pin(s: sv.Session, n: int) -> None:
    s.pin(n % 5)
    s.history(n % 5, wait=True)  # the simulator runs the kernels of one thread only
    if n % 3 == 0:
        s.pin(n % 5, False)


ACTIONS = {
    "advance": lambda s, n: s.advance(int(n)),
    "play": lambda s, n: None,
    "operation": lambda s, n: s.advance(int(n), "operation"),
    "back": lambda s, n: s.back(int(n)),
    "seek": lambda s, n: s.seek(int(n)),
    "edit": lambda s, n: s.edit(int(n) % 5, 0.1 * n),
    "write": lambda s, n: s.network.bank.value.__setitem__(int(n) % 5, 0.2),
    "set": lambda s, n: setattr(s.network.weight(int(n) % 5), "value", 0.3),
    "freeze": lambda s, n: s.freeze(int(n) % 5, bool(n % 2)),
    "rate": lambda s, n: setattr(s, "learning_rate", 0.01 * n),
    "optimizer": lambda s, n: setattr(s, "optimizer", sv.SGD(0.1) if n % 2 else sv.Adam(0.05)),
    "batch": lambda s, n: setattr(s, "batch", 1 + int(n) % 5),
    "engine": lambda s, n: s.to("python" if s.engine == "cuda" else "cuda"),
    "undo": lambda s, n: s.undo() if s.undo_log.done else None,
    "redo": lambda s, n: s.redo() if s.undo_log.undone else None,
    "branch": lambda s, n: s.branch(),
    "switch": lambda s, n: s.switch(int(n) % len(s.branches)),
    "pin": pin,
    "explain": lambda s, n: s.explain(int(n) % 5) if s.step_index else None,
}  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", [1, 2, *slow(*range(3, 9))])
def test_any_actions_give_the_same_numbers(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    norm = seed % 2 == 0
    pair = [session(seed, norm=norm), brought_back(session(seed, norm=norm))]
    for each in pair:
        each.timeline.keyframes.budget = 1  # so that few frames are left, and actions are replayed
    s, other = pair
    ours, theirs = held(s.network), held(other.network)
    for _ in range(25):
        name, n = str(rng.choice([*ACTIONS])), int(rng.integers(1, 9))
        if name == "play":
            if s.clock.operation == 0:
                play(s, n)
                other.advance(s.step_index - other.step_index)
        else:
            for each in pair:
                ACTIONS[name](each, n)
        assert s.clock == other.clock, name
        assert ours["value"].tobytes() == theirs["value"].tobytes(), name
        if rng.random() < 0.5:
            assert bits(ours, s.network.bank) == bits(theirs, other.network.bank), name
        if rng.random() < 0.3:
            one, same = [each.snapshot().read() for each in pair]
            assert bits_of(one) == bits_of(same) and one.slots.keys() == same.slots.keys(), name
    assert s.losses.tobytes() == other.losses.tobytes()
    journals = [list(map(repr, each.timeline.branch.journal)) for each in pair]
    assert journals[0] == journals[1]
    loaded = reloaded(s, tmp_path)
    assert loaded.network.bank.value.tobytes() == s.network.bank.value.tobytes()
    assert loaded.clock == s.clock
    loaded.advance(2)
    same_as(s, loaded)


# ---- what goes wrong meanwhile -------------------------------------------------------------------


def raising_after(calls: int, plain: Any, error: BaseException) -> Any:
    left = [calls]

    def function(*arguments: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise error
        return plain(*arguments)

    return function


@pytest.mark.parametrize("calls", [1, 4])
@pytest.mark.parametrize("name", ["take_plan", "put_plan", "between"])
def test_ctrl_c_within_and_between_portions(
    name: str, calls: int, monkeypatch: pytest.MonkeyPatch, s: sv.Session, other: sv.Session
) -> None:
    array = s.network.bank.value
    s.advance(3)
    owner: Any = s.timeline if name == "between" else Memory
    plain = getattr(owner, name)
    monkeypatch.setattr(owner, name, raising_after(calls, plain, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        s.advance(20)
    assert s.step_index < 23
    same_as(other, s, array)
    s.advance(4)
    same_as(other, s, array)
    assert not s.timeline.branch.journal


def test_ctrl_c_while_numbers_arrive(
    monkeypatch: pytest.MonkeyPatch, s: sv.Session, other: sv.Session
) -> None:
    array = s.network.bank.value

    def half(memory: Memory, bank: sv.Bank, slots: Any) -> None:
        bank.value[:3] = 77.0
        raise KeyboardInterrupt

    with away(s, 5) as bank:
        with monkeypatch.context() as patch:
            patch.setattr(Memory, "take_bank", half)
            with pytest.raises(KeyboardInterrupt):
                assert bank.value.size
        assert array[0] == 77.0
    same_as(other, s, array)
    s.advance(1)
    assert not s.timeline.branch.journal


def test_after_steps_that_failed_nothing_is_fetched(
    monkeypatch: pytest.MonkeyPatch, s: sv.Session
) -> None:
    run, bank = s.trainer.run, s.network.bank
    bank.away.allowed = True
    run.steps(sv.Adam(0.1), 0, 1)
    assert bank.away.keeper is run
    monkeypatch.setattr(Memory, "take_plan", raising_after(1, None, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        run.steps(sv.Adam(0.1), 1, 1)
    assert bank.away.keeper is None


def lose(*_: object) -> None:
    raise CudaAPIError("[999] lost")


def test_a_card_that_is_lost_while_it_has_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    s, other = session(), session(engine="python")
    s.advance(2)
    with away(s, 6):
        for name in ("take_bank", "take_plan"):
            monkeypatch.setattr(Memory, name, lose)
        with refused(EngineError, "lost"):
            assert s.network.bank.value.size
    assert s.network.bank.away.is_lost
    s.to("python")
    assert s.step_index == s.branches[0].frames[-1].step < 6
    s.advance(6 - s.step_index)
    other.advance(6)
    assert s.network.bank.value == pytest.approx(other.network.bank.value, rel=1e-9)
    assert s.losses == pytest.approx(other.losses)
    s.advance(1)
    assert s.step_index == 7


def test_a_card_that_is_lost_at_the_end_of_a_call(
    monkeypatch: pytest.MonkeyPatch, s: sv.Session
) -> None:
    array = s.network.bank.value
    s.advance(2)
    monkeypatch.setattr(Memory, "take_bank", lose)
    refused(EngineError, "lost").by(s.advance, 20)
    frame = s.timeline.branch.frames[-1]
    assert s.step_index == frame.step < 22
    assert array.tobytes() == frame.value.tobytes()


def test_a_card_that_is_lost_within_a_portion(
    monkeypatch: pytest.MonkeyPatch, s: sv.Session
) -> None:
    s.advance(2)
    s.play()
    until(s, 5)
    monkeypatch.setattr(Memory, "take_plan", lose)
    monkeypatch.setattr(Memory, "take_bank", lose)
    while s.playing:
        time.sleep(0.001)
    refused(EngineError, "lost").by(s.pause)
    kept = s.timeline.branch.frames[-1].step
    assert s.step_index == kept < 5 and not s.network.bank.away.is_lost
    s.to("python")
    s.advance(1)
    assert s.step_index == kept + 1


def test_threads_that_read_while_it_plays(s: sv.Session, other: sv.Session) -> None:
    s.advance(1)
    s.play()
    for _ in range(25):
        assert np.isfinite(s.network.bank.value).all()
        assert np.isfinite(s.network.bank.slots["v"]).all()
        s.network.weight(0).value  # noqa: B018  # as a picture does
        s.snapshot().read()
    s.pause()
    same_as(other, s)
