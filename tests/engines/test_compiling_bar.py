"""Compiling shows a bar that counts kernels; where nobody can see bars, one line."""

import logging
import re
import signal
import threading
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.expression.expression_kernels import unary
from tests.bars import CONTROL, REMOVED, Clock, Tty, clock, tty

__all__ = ["clock", "tty"]  # fixtures

UNITS = [Unit(f"test_bar_{name}", unary, ACTIVATIONS[name]) for name in ("relu", "linear")]
LINE = "scalarviz compiles 2 kernels, once; this takes about 3 s\n"


def compile_two() -> None:
    kernel_units.load(UNITS, "float64")


def forget() -> None:
    """Forget the kernels, on disk too."""
    kernel_units._kernels.clear()
    for path in kernel_units.path_of("", "").parent.rglob("*.nb?"):
        path.unlink()


@pytest.fixture(autouse=True)
def _child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: Clock) -> None:
    """A child process that has compiled one of two kernels after some seconds, and then fails."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_units, "_kernels", {})
    looked = threading.Event()
    tell = Progress.tell

    def told(self: Progress, done: int, loss: float = 0.0) -> None:
        clock.now += 2.0
        tell(self, done, loss)
        if done:
            looked.set()

    def run_children(paths: Any) -> bool:
        compiling.done = 1
        looked.wait(10.0)
        return False

    monkeypatch.setattr(Progress, "tell", told)
    monkeypatch.setattr(compiling, "run_children", run_children)


def test_a_terminal_shows_a_bar_of_kernels_and_no_line(tty: Tty) -> None:
    compile_two()
    assert re.search("compiling, once: 1 of 2 kernels [━╺╸]+ +50%", tty.words)
    assert "scalarviz" not in tty.words and tty.getvalue().endswith(REMOVED)
    before = tty.getvalue()
    compile_two()
    assert tty.getvalue() == before


def test_a_file_gets_the_line_and_so_does_a_terminal_without_bars(
    tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # those of pytest
    with redirect_stderr(StringIO()) as file:
        compile_two()
    assert file.getvalue() == LINE
    forget()
    with Progress(9, wanted=False):
        compile_two()
    assert tty.getvalue() == LINE


def test_another_thread_gets_the_line(tty: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # those of pytest
    monkeypatch.setattr(compiling, "run_children", lambda paths: False)
    thread = threading.Thread(target=compile_two)
    thread.start()
    thread.join()
    assert tty.getvalue() == LINE


def test_who_silences_messages_sees_no_bar_and_a_log_has_the_line(
    tty: Tty, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "scalarviz"):
        compile_two()
    assert tty.getvalue() == "" and caplog.messages == []
    forget()
    compile_two()
    assert "1 of 2 kernels" in tty.words and f"{caplog.messages[-1]}\n" == LINE


def test_ctrl_c_removes_the_bar(tty: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    told, pressed = Progress.tell, threading.Event()

    def interrupted(self: Progress, done: int, loss: float = 0.0) -> None:
        told(self, done, loss)
        if done and not pressed.is_set():  # once: another one would end the tests
            pressed.set()
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "tell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_two()
    assert "1 of 2 kernels" in tty.words and tty.getvalue().endswith(REMOVED)
    compile_two()  # waits for the thread


def test_the_bar_replaces_that_of_the_work_that_waits_for_kernels(clock: Clock, tty: Tty) -> None:
    with Progress(9) as outer:
        outer.tell(1)
        assert "1 of 9 steps" in tty.words
        with Progress(0, unit="kernels") as bar:
            removed = len(tty.getvalue())
            assert tty.getvalue().endswith(REMOVED) and bar.will_be_seen
            bar.total = 4
            bar.tell(1)
        shown = CONTROL.sub("", tty.getvalue()[removed:])
        assert "1 of 4 kernels" in shown and "steps" not in shown
        assert tty.getvalue().endswith(REMOVED)
        outer.tell(3)
    assert re.search(r"3 of 9 steps [━╺╸]+ +33%\s", tty.words), "its pace begins anew"


def test_progress_false_shows_no_bar_in_a_single_step_either(tty: Tty) -> None:
    session = sv.Session(sv.Network([2, 1]), data.Xor(), engine="python")
    session.on_step(lambda view: compile_two())
    session.advance(1, progress=False)
    assert tty.getvalue() == ""
