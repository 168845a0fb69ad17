"""Jobs in the background: one at a time, and none when the program ends."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.data import Xor
from scalarviz.training.session.threads import Background
from tests.root import ROOT
from tests.training.session.test_threads import ours
from tests.waiting import until


def counting(seen: list[str], name: str, rest: float = 0.0, upto: int = 10**9) -> Iterator[float]:
    for _ in range(upto):
        seen.append(name)
        time.sleep(0.0005)
        yield rest


def failing() -> Iterator[float]:
    yield 0.0
    raise RuntimeError("this job fails")


@pytest.fixture
def background() -> Iterator[Background]:
    thread = Background()
    yield thread
    thread.stop()
    thread.wait()
    assert ours() == []


def test_what_is_started_replaces_what_was_under_way(background: Background) -> None:
    seen: list[str] = []
    background.start(counting(seen, "a"))
    until(lambda: "a" in seen)
    background.start(counting(seen, "b"))
    until(lambda: "b" in seen)
    at = len(seen)
    until(lambda: len(seen) > at + 5)
    assert set(seen[at:]) == {"b"} and len(ours()) == 1


def test_what_is_stopped_has_stopped_once_it_was_waited_for(background: Background) -> None:
    seen: list[str] = []
    for _ in range(20):
        background.start(counting(seen, "a", rest=60.0))
        background.stop()
        assert not background.busy
        background.wait()
        at = len(seen)
        assert ours() == []
    time.sleep(0.01)
    assert len(seen) == at


def test_a_job_that_ends_leaves_no_thread(background: Background) -> None:
    seen: list[str] = []
    background.start(counting(seen, "a", upto=3))
    background.finish()
    assert seen == ["a"] * 3 and not background.busy
    until(lambda: ours() == [])
    background.start(counting(seen, "b", upto=3))
    background.finish()
    assert seen == ["a"] * 3 + ["b"] * 3


def test_an_error_is_kept_for_the_first_who_asks(background: Background) -> None:
    assert background.take_error() is None
    background.start(failing())
    background.finish()
    assert str(background.take_error()) == "this job fails"
    assert background.take_error() is None


def test_a_job_may_stop_itself_and_wait(background: Background) -> None:
    done = []

    def itself() -> Iterator[float]:
        background.stop()
        background.wait()
        background.finish()
        done.append(True)
        yield 0.0

    background.start(itself())
    until(lambda: ours() == [])
    assert done == [True]


# The end of the program.

SCRIPT = """
import atexit, sys, threading, time
import numpy as np

def last():  # the first to register is the last to be called
    first = [s.timeline.clock for s in sessions]
    time.sleep(0.05)
    moves = [s.timeline.clock for s in sessions] != first
    left = [each.name for each in threading.enumerate() if each.name in ours]
    print("left", left, "moves", moves)
    if {save!r}:
        sessions[0].save({save!r})
        print("saved", sessions[0].step_index > 0)

atexit.register(last)
import scalarviz as sv

samples = np.random.default_rng(0).random((512, 3))
def session():
    net = sv.Network([3, 32, 32, 3], "tanh", "sigmoid")
    pair = samples, 1 - samples
    return sv.Session(net, pair, "mse", sv.Adam(0.01), engine={engine!r}, batch=64)

sessions = [session() for _ in range(3)]
for s in sessions:
    s.advance(2)
    s.explain(3)
known = set(threading.enumerate())
{deed}
time.sleep({rest})
ours = {{each.name for each in threading.enumerate() if "(go)" not in each.name}}
ours -= {{each.name for each in known}}
{end}
"""

DEEDS = {
    "play": "for s in sessions: s.play()",
    "slowly": "for s in sessions: s.play(0.5)",
    "pin": "s = sessions[0]; s.advance({steps}); s.pin([3, 4])",
    "advance": (
        "go = lambda s: s.advance(10**9)\n"
        "for s in sessions: threading.Thread(target=go, args=(s,), daemon=True).start()"
    ),
    "again": (
        "def go(s):\n"
        "    while True: s.advance(1); s.explain(3)\n"
        "for s in 2 * sessions: threading.Thread(target=go, args=(s,), daemon=True).start()"
    ),
}
STEPS = {"cpu": 1500, "python": 50}  # more than are replayed until the end


def ends(deed: str, engine: str, end: str = "", rest: float = 0.05, save: str = "") -> str:
    """Do something, end the program, and tell what it said last."""
    doing = DEEDS[deed].format(steps=STEPS[engine])
    script = SCRIPT.format(deed=doing, engine=engine, end=end, rest=rest, save=save)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", script],
        capture_output=True,
        text=True,
        timeout=120.0,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    wanted = 1 if "exit" in end or "raise" in end else 0
    assert done.returncode == wanted, done.stderr
    errors = [line for line in done.stderr.splitlines() if "scalarviz " not in line]
    assert not errors or "raise" in end, done.stderr
    return done.stdout


QUICK = ("play", "advance")  # each takes a process of its own


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "deed",
    [deed if deed in QUICK else pytest.param(deed, marks=pytest.mark.slow) for deed in DEEDS],
)
def test_the_end_of_the_program_stops_everything(deed: str) -> None:
    assert ends(deed, "cpu") == "left [] moves False\n"


@pytest.mark.slow
def test_what_is_done_at_the_very_end_still_works(tmp_path: Path) -> None:
    path = tmp_path / "run.safetensors"
    told = ends("play", "cpu", 'raise RuntimeError("a mistake")', save=str(path))
    assert told == "left [] moves False\nsaved True\n"
    assert path.exists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["cpu", "python"])
@pytest.mark.parametrize("deed", DEEDS)
def test_no_end_of_the_program_crashes(deed: str, engine: str) -> None:
    for i in range(12):
        end = ("", "sys.exit(1)", 'raise RuntimeError("a mistake")')[i % 3]
        assert ends(deed, engine, end, 0.013 * i) == "left [] moves False\n"


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.usefixtures("no_threads")
def test_without_threads_the_loop_of_asyncio_plays_a_session() -> None:
    session = sv.Session(sv.Network([2, 3, 1]), Xor(), batch=1, engine="python")

    async def watch() -> None:
        session.play()
        assert session.playing
        before = session.step_index
        for _ in range(5):
            await asyncio.sleep(0)
        assert session.step_index > before
        session.play(1e-3)  # slow: takes the place of the first
        session.pause()
        at = session.step_index
        await asyncio.sleep(0.01)
        assert not session.playing and session.step_index == at
        session.play(until=at + 3)
        while session.playing:
            await asyncio.sleep(0)
        assert session.step_index == at + 3

    asyncio.run(watch())


@pytest.mark.usefixtures("no_threads")
def test_without_threads_an_error_of_a_job_is_raised_later(background: Background) -> None:
    async def watch() -> None:
        background.start(failing())
        assert background.finish()

    asyncio.run(watch())
    with pytest.raises(RuntimeError, match="this job fails"):
        background.raise_error()


@pytest.mark.usefixtures("no_threads")
def test_without_threads_and_without_a_loop_nothing_starts(background: Background) -> None:
    with pytest.raises(RuntimeError, match="can't start new thread"):
        background.start(failing())
    assert not background.busy
