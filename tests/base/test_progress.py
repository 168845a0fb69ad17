"""Progress bars of long work, and a line for a piped command.

When they appear, and that they leave no trace.
"""

import io
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import progress
from scalarviz.base.interrupt import StoppableProgram
from scalarviz.base.progress import Progress, duration
from scalarviz.errors import GradientError, InputError
from tests.machine import ROOT
from tests.sessions import advanced, session_on
from tests.wording import refused

CONTROL = re.compile(r"\x1b\[[0-9;?]*\w")
REMOVED = "\x1b[1A\x1b[2K\r\x1b[2K\x1b[?25h"  # the line above is cleared


class Tty(io.StringIO):
    """A terminal, as far as a program can see."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def words(self) -> str:
        """What was written, without colours and movements."""
        return CONTROL.sub("", self.getvalue())


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Tty:
    """A terminal, which is standard error while the test runs; pytest sets it before."""
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    made, test = Tty(), request.node.obj

    def test_in_terminal(**fixtures: Any) -> None:
        with redirect_stderr(made):
            test(**fixtures)

    request.node.obj = test_in_terminal
    return made


class Clock:
    """A time to which each look adds some seconds."""

    now = 0.0
    each = 0.0

    def __call__(self) -> float:
        self.now += self.each
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "perf_counter", made)
    return made


__all__ = ["clock", "tty"]  # fixtures


def work(clock: Clock, seconds: float, total: int = 10, wanted: bool = True) -> None:
    """Work that takes so many seconds a step."""
    with Progress(total, wanted) as bar:
        for done in range(1, total + 1):
            clock.now += seconds
            bar.tell(done, 0.5 / done)


def test_after_a_second_a_bar_says_how_far_it_is_and_is_removed_at_the_end(
    clock: Clock, tty: Tty
) -> None:
    work(clock, 0.5)
    assert "1 of 10 steps" not in tty.words
    assert re.search(r"2 of 10 steps [━╺╸]+ +20% loss 0\.250  2 steps/s  0:04 left", tty.words)
    assert re.search(r"9 of 10 steps [━╺╸]+ +90% loss 0\.0556  2 steps/s  0:01 left", tty.words)
    assert tty.getvalue().endswith(REMOVED)
    assert tty.getvalue().index("\x1b[?25h") < tty.getvalue().index("3 of 10"), (
        "the cursor is shown"
    )


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0:01"), (61, "1:01"), (3599.5, "1:00:00"), (1e7, "2,777:46:40")]
)
def test_times_are_short(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_file_a_dumb_terminal_and_a_closed_one_get_nothing(
    clock: Clock, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    for nobody in (io.StringIO(), None):
        with redirect_stderr(nobody):
            work(clock, 1.0)
        assert nobody is None or nobody.getvalue() == ""
    monkeypatch.setenv("TERM", "dumb")
    work(clock, 1.0)
    assert tty.getvalue() == ""


def test_a_terminal_that_goes_away_does_not_end_the_work(
    clock: Clock, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[str] = []

    def fail(text: str) -> int:
        tries.append(text)
        raise OSError("Input/output error")

    monkeypatch.setattr(tty, "write", fail)
    before = sys.stdout
    work(clock, 1.0)
    assert tries and sys.stdout is before


def test_other_threads_have_no_bar(clock: Clock, tty: Tty) -> None:
    thread = threading.Thread(target=work, args=(clock, 1.0))
    thread.start()
    thread.join()
    assert tty.getvalue() == ""


def in_a_worker(answer: Any) -> None:
    """What is written to a terminal by a worker process."""
    sys.stderr = Tty()
    clock = Clock()
    progress.perf_counter = clock
    os.environ["TERM"] = "xterm-256color"
    work(clock, 1.0)
    answer.put(sys.stderr.getvalue())


@pytest.mark.some(1)
@pytest.mark.parametrize("way", multiprocessing.get_all_start_methods())
def test_worker_processes_have_no_bar(way: str) -> None:
    if way != "spawn" and threading.active_count() > 1:
        pytest.skip("a fork of a process with threads is a warning in Python 3.12")
    context = multiprocessing.get_context(way)
    answer = context.Queue()
    worker = context.Process(target=in_a_worker, args=[answer], name="MainProcess")
    worker.start()
    assert answer.get(timeout=60) == ""
    worker.join()


def test_a_bare_fork_has_no_bar(clock: Clock, tty: Tty) -> None:
    if not hasattr(os, "fork") or threading.active_count() > 1:
        pytest.skip("Windows has no fork; a fork of a process with threads is a warning")
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        work(clock, 1.0)
        os.write(theirs, tty.getvalue().encode() or b"nothing")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(ours, 100) == b"nothing"


def test_what_is_printed_goes_above_the_bar_or_where_it_was_sent(clock: Clock, tty: Tty) -> None:
    for stdout in (tty, io.StringIO()):
        with redirect_stdout(stdout):
            with Progress(9) as bar:
                bar.tell(1)
                clock.now += 2.0
                bar.tell(2)
                print("a word of mine")
            assert sys.stdout is stdout
        assert "a word of mine\n" in stdout.getvalue()
    assert tty.getvalue().count("a word of mine") == 1


class Kernel:
    """The shell of a notebook that keeps what is displayed, and is displayed again."""

    def __init__(self) -> None:
        self.kernel = self
        self.shown: list[Any] = []

    def update(self, shown: Any, raw: bool = False) -> None:
        self.shown.append(shown if raw else shown._repr_mimebundle_([], [])["text/plain"])


def test_in_a_notebook_the_bar_is_an_output_that_is_empty_at_the_end(
    clock: Clock, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("IPython", reason="notebooks take IPython")
    from IPython import display

    kernel = Kernel()

    def shows(shown: Any, display_id: bool) -> Kernel:
        kernel.update(shown)
        return kernel

    monkeypatch.setattr(progress, "shell", lambda: kernel)
    monkeypatch.setattr(display, "display", shows)
    work(clock, 0.5)
    assert tty.getvalue() == ""
    assert re.search("2 of 10 steps [━╺╸]+ +20% loss 0.250  2 steps/s  0:04 left", kernel.shown[0])
    assert "9 of 10 steps" in kernel.shown[-2]
    assert kernel.shown[-1] == {"text/html": "", "text/plain": ""}


# What shows progress.


def xor(engine: str = "python", **more: Any) -> sv.Session:
    return session_on(data.Xor(), [2, 4, 1], "tanh", optimizer=sv.SGD(0.1), engine=engine, **more)


def advances(engine: str, **options: Any) -> None:
    session = xor(engine)
    session.timeline.most_steps = lambda: 1
    session.advance(8, **options)
    assert session.step_index == 8


def trains(engine: str, **options: Any) -> None:
    session = xor(engine)
    assert len(session.network.train(*session.data.training, steps=100, **options)) == 100


def repeats(engine: str, **options: Any) -> None:
    assert advanced(sv.replicate(xor("cpu"), range(3)), 100, **options).losses.shape == (3, 100)


def records(tmp_path: Path, **options: Any) -> int:
    small = {"size": (64, 64), "fps": 4, "samples": 1}
    return sv.record(xor(), tmp_path / "net.gif", 6, every=1, **small, **options)


LONG = [
    pytest.param(advances, "python", id="advance, python"),
    pytest.param(advances, "cpu", id="advance, cpu"),
    pytest.param(trains, "python", id="train, python"),
    pytest.param(trains, "cpu", id="train, cpu"),
    pytest.param(repeats, "cpu", id="replicate"),
]


@pytest.mark.parametrize(("long", "engine"), LONG)
def test_long_work_has_a_bar_with_its_loss(
    long: Callable[..., None], engine: str, clock: Clock, tty: Tty
) -> None:
    clock.each = 1.0
    long(engine)
    found = re.findall(r"(\d+) of (8|100) steps [━╺╸]+ +\d+% loss (0\.\d+)", tty.words)
    assert found and all(0 < int(done) < int(total) for done, total, _ in found)
    assert tty.getvalue().endswith(REMOVED)


@pytest.mark.parametrize(("long", "engine"), LONG)
def test_progress_false_shows_none(
    long: Callable[..., None], engine: str, clock: Clock, tty: Tty
) -> None:
    clock.each = 1.0
    long(engine, progress=False)
    assert tty.getvalue() == ""


@pytest.mark.slow
def test_a_video_has_a_bar_of_its_pictures_and_none_inside_it(
    studio: Any, tmp_path: Path, clock: Clock, tty: Tty
) -> None:
    pytest.importorskip("PIL", reason="a .gif takes Pillow")
    clock.each = 1.0
    records(tmp_path)
    assert re.search(r"5 of 7 pictures [━╺╸]+ +71% loss 0\.\d+  1 pictures/s  0:02 left", tty.words)
    assert "steps" not in tty.words and tty.getvalue().endswith(REMOVED)
    length = len(tty.getvalue())
    told: list[tuple[int, int]] = []
    records(tmp_path, progress=lambda done, total: told.append((done, total)))
    records(tmp_path, progress=False)
    assert told[-1] == (7, 7) and len(tty.getvalue()) == length
    refused(InputError, "progress must be True or False, not 'no'").by(
        records, tmp_path, progress="no"
    )


def test_an_error_leaves_the_terminal_clean_and_a_second_bar_can_follow(
    clock: Clock, tty: Tty
) -> None:
    session = xor()
    session.on_step(lambda view: view.set_rate(1e300) if view.step == 5 else None)
    clock.each = 1.0
    refused(GradientError).by(session.advance, 20)
    assert "3 of 20 steps" in tty.words and tty.getvalue().endswith(REMOVED)
    between = session.timeline.between
    session.seek(0)
    session.branch()
    session.advance(4)
    assert "2 of 4 steps" in tty.words and session.timeline.between == between


# A terminal of the system.


PROGRAM = """
import scalarviz as sv
from scalarviz import data
from scalarviz.base import progress
progress.DELAY = progress.FRAME = 0.0
net = sv.Network([2, 8, 1], "tanh", seed=0)
s = sv.Session(net, data.Xor(), optimizer=sv.SGD(0.1), engine="python")
s.timeline.most_steps = lambda: 1
s.on_step(lambda view: print("hello at", view.step), every=3)
try:
    s.advance({steps})
finally:
    print("the end")
"""


@contextmanager
def terminal(steps: int) -> Iterator[SimpleNamespace]:
    """The program in a terminal of its own, of 24 lines of 80 characters."""
    pty = pytest.importorskip("pty", reason="Windows has no terminals of this kind")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    for name in ("COLUMNS", "NO_COLOR"):
        environment.pop(name, None)
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(steps=steps)],
        cwd=ROOT,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)

    def read(until: str = "") -> str:
        """What is written up to a text, or to the end."""
        found = b""
        while not until or until not in found.decode(errors="ignore"):
            try:
                found += os.read(ours, 65536)
            except OSError:  # nobody writes any more
                break
        return found.decode()

    try:
        yield SimpleNamespace(program=program, read=read)
    finally:
        program.kill()
        program.wait()
        os.close(ours)


def screen(written: str) -> list[str]:
    """The lines that a terminal shows of what was written to it."""
    lines, row = [""], 0
    for part in re.findall(r"\x1b\[[0-9;?]*\w|\r|\n|[^\x1b\r\n]+", written):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\x1b[1A":
            row -= 1
        elif part in ("\x1b[2K", "\x1b[0K"):
            lines[row] = ""
        elif part[0] not in "\x1b\r":
            lines[row] += part
    return [line.rstrip() for line in lines]


def test_a_terminal_shows_a_bar_while_it_trains_and_then_what_was_printed_alone() -> None:
    with terminal(40) as opened:
        written = opened.read()
        assert opened.program.wait(30) == 0
    assert "of 40 steps" in written and "steps/s" in written
    hellos = [f"hello at {step}" for step in range(3, 41, 3)]
    assert [line for line in screen(written) if line] == [*hellos, "the end"]


def test_ctrl_c_in_a_terminal_ends_with_the_bar_removed_and_the_cursor_shown() -> None:
    with terminal(10**7) as opened:
        written = opened.read(until="steps/s")
        opened.program.send_signal(signal.SIGINT)
        written += opened.read()
        assert opened.program.wait(30) == -signal.SIGINT
    lines = screen(written)
    assert "the end" in lines and "KeyboardInterrupt" in lines
    assert not [line for line in lines if "steps/s" in line]
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


@pytest.mark.parametrize("is_command", [True, False])
def test_a_command_that_is_piped_prints_a_line_with_the_time_left(
    *, is_command: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    caplog.set_level("INFO", "scalarviz")
    with StoppableProgram(last=False) if is_command else nullcontext(), Progress(10) as bar:
        for done in range(10):
            bar.tell(done)
            time.sleep(0.03)
    said = "\n".join(each.getMessage() for each in caplog.records)
    assert re.fullmatch(r"\d of 10 steps .+ steps/s  0:01 left" if is_command else "", said)
