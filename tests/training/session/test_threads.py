"""Threads at one session: locks, requests, many callers at a time."""

import gc
import re
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import (
    GradientError,
    InputError,
    OrderError,
    OwnershipError,
    UpdateError,
)
from tests.machine import until
from tests.sessions import advanced, bits
from tests.training.session.test_session import (
    PAIR,
    asking,
    every_engine,
    session,
)
from tests.wording import refused

SOON = 5.0  # seconds; far less than the 30 that a step behind the gate takes


def together(*deeds: Callable[[], object]) -> list[BaseException]:
    """Do these at the same time, each in a thread; the errors that came."""
    errors: list[BaseException] = []
    start = threading.Barrier(len(deeds))

    def do(deed: Callable[[], object]) -> None:
        start.wait()
        try:
            deed()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=do, args=(deed,), daemon=True) for deed in deeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive(), "a thread waits for ever"
    return errors


def ours() -> list[threading.Thread]:
    """The threads in which something is done in the background."""
    return [each for each in threading.enumerate() if each.name == "scalarviz"]


@pytest.fixture
def nothing_is_left_running() -> Iterator[None]:
    until(lambda: not ours())
    yield
    until(lambda: not ours())


class Gate:
    """Data that makes a training wait within a step, until it is opened."""

    def __init__(self) -> None:
        self.seconds = 0.0  # that a batch takes, besides
        self.fails = False
        self.inside, self.opened = threading.Event(), threading.Event()
        self.opened.set()
        made = data.Generated(self.make, inputs=3, outputs=3)
        self.session = sv.Session(
            sv.Network([3, 8, 3], "tanh"), made, "mse", sv.SGD(0.1), 8, "python"
        )
        self.session.advance(3)
        self.session.pin(4)
        self.session.history(4, wait=True)

    def make(self, step: int, batch: int, seed: int) -> Any:
        self.inside.set()
        time.sleep(self.seconds)
        assert self.opened.wait(30.0)
        if self.fails:
            raise RuntimeError("the disk is gone")
        return PAIR[0][:batch], PAIR[1][:batch]

    @contextmanager
    def closed(self, deed: Callable[[], object]) -> Iterator[None]:
        """Meanwhile somebody who does this is in the middle of a step."""
        self.inside.clear()
        self.opened.clear()
        worker = threading.Thread(target=deed, daemon=True)
        worker.start()
        try:
            assert self.inside.wait(10.0)
            yield
        finally:
            self.opened.set()
            worker.join(10.0)


@pytest.fixture
def gate() -> Gate:
    return Gate()


# Playing and pausing.


@pytest.mark.usefixtures("nothing_is_left_running")
@every_engine
def test_several_threads_may_play_and_pause(engine: str) -> None:
    s = advanced(session(engine), 1)

    def pairs(speed: float | None) -> None:
        for _ in range(100):
            s.play(speed)
            s.pause()

    assert together(*[partial(pairs, speed) for speed in (None, None, 0.01)]) == []
    s.pause()
    assert not s.playing and ours() == []
    before = bits(s)
    time.sleep(0.05)
    assert bits(s) == before


@pytest.mark.usefixtures("nothing_is_left_running")
def test_the_last_of_plays_and_pauses_counts() -> None:
    s = session()
    for speed in (None, 500.0, None, 50.0):
        s.play(speed)
        assert s.playing
    s.play(None)
    at = s.step_index
    until(lambda: s.step_index > at + 1000)
    assert len(ours()) == 1
    s.pause()
    assert not s.playing


@pytest.mark.usefixtures("nothing_is_left_running")
def test_an_error_of_the_playing_thread_is_raised_by_exactly_one_pause() -> None:
    for _ in range(20):
        s = sv.Session(sv.Network([1, 1]), ([[1.0]], [[0.0]]), "mse", sv.SGD(1e6), engine="python")
        s.play()
        until(lambda s=s: not s.playing)
        assert [type(error) for error in together(*[s.pause] * 6)] == [UpdateError]
        s.pause()


@pytest.mark.usefixtures("nothing_is_left_running")
def test_an_error_that_no_pause_has_raised_is_raised_by_play() -> None:
    s = sv.Session(sv.Network([1, 1]), ([[1.0]], [[0.0]]), "mse", sv.SGD(1e6), engine="python")
    s.play()
    until(lambda: not s.playing)
    refused(GradientError).by(s.play)
    assert not s.playing
    s.seek(0)
    s.learning_rate = 0.01
    s.play()
    until(lambda: s.step_index > 20)
    s.pause()


@pytest.mark.usefixtures("nothing_is_left_running")
def test_a_pause_need_not_wait_for_a_step_that_takes_long(gate: Gate) -> None:
    with gate.closed(gate.session.play):
        start = time.perf_counter()
        gate.session.pause(timeout=0)
        gate.session.play(10.0)
        gate.session.pause(timeout=0)
        assert time.perf_counter() - start < SOON and not gate.session.playing
        waiting = threading.Thread(target=gate.session.pause, daemon=True)
        waiting.start()
        waiting.join(0.1)
        assert waiting.is_alive(), "pause comes back when nothing goes on any more"
        gate.session.play(10.0)  # somebody else; it waits for the portion before
    waiting.join(10.0)
    assert not waiting.is_alive() and gate.session.playing
    gate.session.pause()
    assert ours() == []


@pytest.mark.usefixtures("nothing_is_left_running")
def test_data_may_pause_the_training_that_asks_for_it() -> None:
    s = asking(lambda step: s.pause() if step == 5 else None)
    s.play()
    until(lambda: not s.playing)
    s.pause()
    assert s.step_index >= 5
    other = threading.Thread(target=lambda: (s.seek(4), s.play(), s.advance(3)), daemon=True)
    other.start()
    other.join(10.0)
    assert not other.is_alive()
    s.pause()


@pytest.mark.usefixtures("nothing_is_left_running")
def test_data_cannot_move_the_training_that_asks_for_it() -> None:
    s = asking(lambda step: s.seek(0) if step == 5 else None)
    s.advance(4)
    before = bits(s)
    refused(OrderError).by(s.advance, 3)
    s.seek(4)
    assert bits(s) == before


@pytest.mark.usefixtures("nothing_is_left_running")
@pytest.mark.slow
def test_a_session_that_nobody_holds_stops_playing() -> None:
    def forgotten() -> Any:
        s, slow = session(), session()
        s.play()
        slow.play(0.01)
        until(lambda: s.step_index > 100)
        return weakref.ref(s)

    gone = forgotten()
    end = time.perf_counter() + 10.0
    while ours() and time.perf_counter() < end:
        gc.collect()
        time.sleep(0.02)
    assert gone() is None and ours() == []


# Who waits for whom.

PUBLIC = {name: what for name, what in vars(sv.Session).items() if not name.startswith("_")}


def tried(deed: Callable[[], object]) -> None:
    """Do it where it can be done: pandas may not be there, and these data are made by code."""
    with suppress(InputError, OrderError):
        deed()


def as_csv(s: sv.Session) -> None:
    with tempfile.TemporaryDirectory() as folder:
        s.to_csv(Path(folder) / "table.csv")


def nothing_measured(s: sv.Session) -> None:
    refused(sv.ScalarvizError, "no metric").by(s.best_step)


LOOKS: dict[str, Callable[[sv.Session], object]] = {
    **{name: attrgetter(name) for name, what in PUBLIC.items() if isinstance(what, property)},
    "curve": lambda s: s.current_branch.curve(),
    "set focus": lambda s: setattr(s, "focus", 2),
    "history": lambda s: s.history(4),
    "own_rate": lambda s: s.own_rate(3),
    "best_step": lambda s: nothing_measured(s),
    "to_csv": as_csv,
    "to_pandas": lambda s: tried(s.to_pandas),
    "on_step": lambda s: s.on_step(print, every=1000).remove(),
    "pin": lambda s: (s.pin(5), s.pin(6, on=False)),
    "snapshot": lambda s: (shot := s.snapshot(), shot.request(), shot.ready),
    "repr": lambda s: (repr(s), s._repr_html_()),
    "play": lambda s: s.play(100.0),
    "pause": lambda s: s.pause(timeout=0),
}


@pytest.mark.usefixtures("nothing_is_left_running")
@pytest.mark.parametrize("look", LOOKS)
def test_who_only_looks_on_does_not_wait(look: str, gate: Gate) -> None:
    with gate.closed(lambda: gate.session.advance(2)):
        start = time.perf_counter()
        LOOKS[look](gate.session)
        assert time.perf_counter() - start < SOON
    gate.session.pause()


DEEDS: dict[str, Callable[[sv.Session, Path], object]] = {
    "advance": lambda s, path: s.advance(1),
    "back": lambda s, path: s.back(1),
    "seek": lambda s, path: s.seek(1),
    "reset": lambda s, path: s.reset(),
    "edit": lambda s, path: s.edit(3, 0.5),
    "write": lambda s, path: setattr(s.network.parameters()[3], "value", 0.5),
    "freeze": lambda s, path: s.freeze(3),
    "set_rate": lambda s, path: s.set_rate(3, 0.5),
    "add_samples": lambda s, path: tried(lambda: s.add_samples([0.0] * 3, [0.0] * 3)),
    "learning_rate": lambda s, path: setattr(s, "learning_rate", 0.5),
    "optimizer": lambda s, path: setattr(s, "optimizer", sv.Momentum(0.5)),
    "data": lambda s, path: setattr(s, "data", PAIR),
    "loss_function": lambda s, path: setattr(s, "loss_function", "huber"),
    "batch": lambda s, path: setattr(s, "batch", 4),
    "precision": lambda s, path: setattr(s, "precision", "full"),
    "engine": lambda s, path: setattr(s, "engine", "cpu"),
    "to": lambda s, path: s.to("cpu"),
    "set_activation": lambda s, path: s.set_activation(0, "relu"),
    "stop_when": lambda s, path: s.stop_when("not finite"),
    "undo": lambda s, path: tried(s.undo),
    "redo": lambda s, path: tried(s.redo),
    "first": lambda s, path: s.first("grad norm > 9"),
    "samples_that_moved": lambda s, path: tried(lambda: s.samples_that_moved(3)),
    "branch": lambda s, path: s.branch(),
    "switch": lambda s, path: s.switch(0),
    "explain": lambda s, path: s.explain(3),
    "caption": lambda s, path: s.caption(3),
    "numbers": lambda s, path: s.numbers("affine 0"),
    "sample_losses": lambda s, path: tried(s.sample_losses),
    "norms": lambda s, path: s.norms(),
    "copy": lambda s, path: s.copy(),
    "save": lambda s, path: s.save(path / "run.safetensors"),
    "read": lambda s, path: s.snapshot().read(),
}


@pytest.mark.usefixtures("nothing_is_left_running")
@pytest.mark.some(12)
@pytest.mark.parametrize("deed", DEEDS)
def test_whoever_does_something_waits_for_what_goes_on(
    deed: str, tmp_path: Path, gate: Gate
) -> None:
    args = gate.session, tmp_path
    other = threading.Thread(target=DEEDS[deed], args=args, daemon=True)
    with gate.closed(lambda: gate.session.advance(2)):
        other.start()
        other.join(0.05)
        assert other.is_alive()
        assert gate.session.step_index == 3 and not gate.session.current_branch.journal
    other.join(10.0)
    assert not other.is_alive()


@pytest.mark.usefixtures("nothing_is_left_running")
def test_of_every_call_it_is_said_whether_it_waits() -> None:
    calls = {name for name, what in PUBLIC.items() if callable(what)} - {
        "doing",
        "follow",
        "inherit",
        "still",
    }
    settable = {name for name, what in PUBLIC.items() if getattr(what, "fset", None)} - {"focus"}
    waiting, looking = str(sv.Session.__doc__).split("    - ")[1:3]
    waits, looks = (set(re.findall(r"`(\w+)", part)) & calls for part in (waiting, looking))
    assert waits | looks == calls and waits | settable <= set(DEEDS) and looks - waits <= set(LOOKS)


@pytest.mark.usefixtures("nothing_is_left_running")
@pytest.mark.slow
def test_a_snapshot_comes_between_the_portions_of_a_long_advance(gate: Gate) -> None:
    gate.seconds, s = 0.003, gate.session
    worker = threading.Thread(target=s.advance, args=(400,), daemon=True)
    worker.start()
    seen = []
    for _ in range(5):
        at = s.step_index
        until(lambda at=at: s.step_index > at)
        shot = s.snapshot()
        shot.request()
        until(lambda shot=shot: shot.ready)
        seen.append(shot.read().value.tobytes())
    assert worker.is_alive() and len(set(seen)) == 5
    worker.join(60.0)


@pytest.mark.usefixtures("nothing_is_left_running")
def test_who_looks_on_does_not_see_a_session_look_something_up() -> None:
    s = advanced(session(), 40)
    over = threading.Event()
    seen, values = set(), set()

    def look() -> None:
        while not over.is_set():
            seen.add((s.step_index, s.clock.operation, s.done, s.loss, len(s.losses)))
            shot = s.snapshot()
            shot.request()
            until(lambda shot=shot: shot.ready)
            values.add(shot.read().value.tobytes())
            time.sleep(1e-5)

    def ask() -> None:
        try:
            for row in range(20):
                s.explain(row)
                s.numbers("tanh 0")
        finally:
            over.set()

    assert together(look, look, ask) == []
    assert seen == {(40, 0, "step", s.loss, 40)}
    assert values == {s.network.bank.value.tobytes()}


@pytest.mark.some(1)
@pytest.mark.usefixtures("nothing_is_left_running")
@pytest.mark.parametrize("activation", ["linear", "relu"])
def test_what_comes_next_is_always_an_operation_of_its_own_step(activation: str) -> None:
    """With a linear layer a step has fewer operations than the clock may count in another one."""
    s = advanced(session("python"), 1)
    s.set_activation(0, activation)
    s.advance(1)
    over = threading.Event()

    def go() -> None:
        try:
            for _ in range(40):
                s.seek(0)
                s.advance(30, "operation")
        finally:
            over.set()

    def look() -> None:
        while not over.is_set():
            assert s.next and s.phase in ("zero_grad", "forward", "loss", "backward", "step")
            assert f"next: {s.phase}" in repr(s) or "next: " in s._repr_html_()
            time.sleep(1e-5)

    assert together(go, look, look) == []


# Networks, pins, replicas.


@pytest.mark.usefixtures("nothing_is_left_running")
def test_a_second_session_begins_after_the_portion_of_the_first() -> None:
    for _ in range(10):
        net = sv.Network([3, 8, 3], "tanh", "sigmoid")
        first = sv.Session(net, PAIR, "mse", sv.SGD(0.1), batch=8, engine="cpu")
        first.play()
        until(lambda first=first: first.step_index > 50)
        second = sv.Session(net, PAIR, "mse", sv.SGD(0.1), batch=8, engine="cpu")
        value = net.bank.value.copy()
        until(lambda first=first: not first.playing)
        assert (net.bank.value == value).all() and net.bank.step_count == 0
        second.advance(1)
        assert not second.current_branch.journal
        refused(OwnershipError).by(first.pause)


@pytest.mark.usefixtures("nothing_is_left_running")
def test_weights_are_pinned_by_several_threads() -> None:
    s = advanced(session(), 300)
    told = {}
    for step in range(301):
        s.seek(step)
        told[step] = s.network.bank.value.copy()

    def pin(first: int) -> None:
        for row in range(first, first + 6):
            s.pin(row)
            s.history(row)
            s.pinned  # noqa: B018  # to read it is the point
            s.history(row, wait=row % 2 == 0)
            s.pin(row + 20, on=row % 3 == 0)

    assert together(*[partial(pin, first) for first in (0, 6, 12)]) == []
    for row in range(18):
        steps, values = s.history(row, wait=True)
        assert steps.tolist() == list(range(301))
        assert values.tolist() == [told[step][row] for step in range(301)]


@pytest.mark.usefixtures("nothing_is_left_running")
def test_pinning_another_weight_does_not_wait_for_the_history_of_the_first(gate: Gate) -> None:
    s = gate.session
    del s.current_branch.frames[1:]  # of a slow machine, which would spare the replay
    with gate.closed(lambda: s.pin(5)):
        start = time.perf_counter()
        s.pin(6)
        s.pin(6, on=False)
        s.history(5)
        assert time.perf_counter() - start < SOON
    assert len(s.history(5, wait=True)[0]) == 4


@pytest.mark.usefixtures("nothing_is_left_running")
def test_an_error_in_the_background_is_raised_by_who_waits_for_it() -> None:
    broken = threading.Event()

    def fail(step: int) -> None:
        if broken.is_set():
            raise RuntimeError("the disk is gone")

    s = advanced(asking(fail), 5)
    broken.set()
    s.pin(2)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        s.history(2, wait=True)
    steps = s.history(2, wait=True)[0].tolist()
    assert (steps[0], steps[-1]) == (0, 5) and len(steps) < 6  # what keyframes have
    broken.clear()
    s.pin(3)
    assert s.history(3, wait=True)[0].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.usefixtures("nothing_is_left_running")
def test_replicas_may_be_advanced_by_several_threads() -> None:
    s = session()
    together_, reference = sv.replicate(s, range(3)), sv.replicate(s, range(3))
    looks: list[Any] = []

    def go() -> None:
        for _ in range(20):
            together_.advance(5)
            looks.append((together_.losses.shape, together_.outputs(PAIR[0]).shape))

    assert together(go, go, go) == []
    reference.advance(300)
    assert together_.step_index == 300
    assert (together_.losses == reference.losses).all()
    for one, other in zip(together_.banks, reference.banks, strict=True):
        assert (one.value == other.value).all()


@pytest.mark.usefixtures("nothing_is_left_running")
def test_replicas_are_made_of_a_session_that_plays() -> None:
    s = session()
    s.play()
    until(lambda: s.step_index > 10)

    def change() -> None:
        for i in range(30):
            s.set_activation(0, ("relu", "tanh")[i % 2])
            s.freeze(i, bool(i % 3))

    made: list[Any] = []
    assert together(change, lambda: made.extend(sv.replicate(s, range(2)) for _ in range(10))) == []
    for each in made:
        each.advance(2)
        assert np.isfinite(each.losses).all()
    s.pause()


@pytest.mark.usefixtures("nothing_is_left_running")
def test_a_compiled_function_may_be_asked_while_it_is_trained() -> None:
    """The picture of what it has learned is made so: it must not write where the training does."""
    a, b, c = [sv.Value(x) for x in (0.5, -0.25, 0.75)]
    g = sv.compile(lambda x: (a * x + b).tanh() * c, 1, engine="cpu")
    sv.Session(g, ([[0.5], [-0.5]], [[1.0], [0.0]]), "mse", sv.Adam(0.01), engine="cpu").advance(2)
    engine = g._engine
    workspaces = [x for x in vars(engine).values() if isinstance(x, np.ndarray)]
    before = [workspace.copy() for workspace in workspaces]
    assert np.isfinite(g(np.linspace(-1.0, 1.0, 3000)[:, np.newaxis])).all() and len(before) > 3
    for workspace, known in zip(workspaces, before, strict=True):
        assert workspace.tobytes() == known.tobytes()


# What goes wrong.


@pytest.mark.usefixtures("nothing_is_left_running")
def test_numbers_belong_to_the_clock_though_the_way_back_fails_too() -> None:
    broken = threading.Event()

    def fail(step: int) -> None:
        if broken.is_set() and step >= 3:
            raise RuntimeError("the disk is gone")

    s = advanced(asking(fail), 2)
    s.timeline.pace = 50.0  # no keyframe is kept before step 50
    s.advance(6)
    reached = bits(s)
    broken.set()
    with pytest.raises(RuntimeError, match="the disk is gone"):
        s.advance(4)
    s.pause()
    broken.clear()
    assert not s.current_branch.journal
    s.seek(8)
    assert bits(s) == reached and not s.current_branch.journal


@pytest.mark.usefixtures("nothing_is_left_running")
def test_several_threads_may_exchange_an_activation() -> None:
    network = sv.Network([3, *[4] * 10, 3], "tanh")

    def exchange() -> None:
        for i in range(100):
            network.set_activation(3, ("relu", "tanh")[i % 2])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert together(exchange, exchange, exchange) == []
    finally:
        sys.setswitchinterval(before)
