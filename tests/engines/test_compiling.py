"""Compiling kernels.

On another thread, with a bar that counts, without wrappers and without SciPy.
"""

import logging
import os
import re
import shutil
import signal
import threading
import time
from contextlib import redirect_stderr
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.cpu.table import TRAINING
from scalarviz.engines.expression.expression_kernels import formula_value
from tests.base.test_progress import CONTROL, REMOVED, Clock, Tty, clock, tty
from tests.machine import ended, output_of


@pytest.mark.usefixtures("empty_cache")
def test_ctrl_c_while_a_kernel_is_compiled_does_not_break_that_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernel_units, "_kernels", {})  # another test may have loaded it
    unit = Unit("test_relu", formula_value, ACTIVATIONS["relu"])
    compile_, finished, asked = kernel_units.load_missing, threading.Event(), []

    def interrupted(*arguments: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.2)  # Python hears it in the main thread
        compile_(*arguments)
        finished.set()

    def here(paths: Any) -> bool:
        asked.append(paths)
        return False

    monkeypatch.setattr(compiling, "run_children", here)
    with monkeypatch.context() as patch:
        patch.setattr(kernel_units, "load_missing", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kernel_units.load([unit], "float64")
        assert not finished.is_set()
    assert finished.wait(60.0)
    (kernel,) = kernel_units.load([unit], "float64")
    assert len(asked) == 1
    numbers = np.array([3.0, 0.0])
    start = numbers.ctypes.data
    kernel.call(start, 0, 0, start + 8, 0, 0, 1)
    assert numbers[1] == 3.0


def test_what_is_called_aside_gives_what_it_returns_or_raises() -> None:
    def name() -> str:
        return threading.current_thread().name

    found: list[str] = []
    assert aside(name) != name()
    other = threading.Thread(target=lambda: found.append(aside(name)), name="other")
    other.start()
    other.join()
    assert found == ["other"]
    with pytest.raises(ZeroDivisionError):
        aside(divmod, 1, 0)


def test_the_end_of_the_program_breaks_off_what_is_called_aside() -> None:
    program = """
import signal, threading, time
from scalarviz.engines.codegen.compiling import aside

def work():
    for i in range(600):
        time.sleep(0.1)

threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
try:
    aside(work)
except KeyboardInterrupt:
    print("heard")
"""
    start = time.perf_counter()
    done = ended("-c", program, seconds=60)
    assert (done.stdout, done.stderr) == ("heard\n", "")
    assert time.perf_counter() - start < 4.0


__all__ = ["clock", "tty"]  # fixtures

UNITS = [Unit(f"test_bar_{name}", formula_value, ACTIVATIONS[name]) for name in ("relu", "linear")]
LINE = "scalarviz compiles 2 kernels, once; this takes about 3 s\n"


def compile_two() -> None:
    kernel_units.load(UNITS, "float64")


def forget() -> None:
    """Forget the kernels, on disk too."""
    kernel_units._kernels.clear()
    for path in kernel_units.path_of("", "").parent.rglob("*.o"):
        path.unlink()


@pytest.fixture
def _child(monkeypatch: pytest.MonkeyPatch, empty_cache: Path, clock: Clock) -> None:
    """A child process that has compiled one of two kernels after some seconds, and then fails."""
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


@pytest.mark.usefixtures("_child")
def test_a_terminal_shows_a_bar_of_kernels_and_no_line(tty: Tty) -> None:
    compile_two()
    assert re.search("compiling, once: 1 of 2 kernels [━╺╸]+ +50%", tty.words)
    assert "scalarviz" not in tty.words and tty.getvalue().endswith(REMOVED)
    before = tty.getvalue()
    compile_two()
    assert tty.getvalue() == before


@pytest.mark.usefixtures("_child")
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


@pytest.mark.usefixtures("_child")
def test_another_thread_gets_the_line(tty: Tty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])  # those of pytest
    monkeypatch.setattr(compiling, "run_children", lambda paths: False)
    thread = threading.Thread(target=compile_two)
    thread.start()
    thread.join()
    assert tty.getvalue() == LINE


@pytest.mark.slow
@pytest.mark.usefixtures("_child")
def test_who_silences_messages_sees_no_bar_and_a_log_has_the_line(
    tty: Tty, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "scalarviz"):
        compile_two()
    assert tty.getvalue() == "" and caplog.messages == []
    forget()
    compile_two()
    assert "1 of 2 kernels" in tty.words and f"{caplog.messages[-1]}\n" == LINE


@pytest.mark.usefixtures("_child")
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


@pytest.mark.usefixtures("_child")
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


@pytest.mark.usefixtures("_child")
def test_progress_false_shows_no_bar_in_a_single_step_either(tty: Tty) -> None:
    session = sv.Session(sv.Network([2, 1]), data.Xor(), engine="python")
    session.on_step(lambda view: compile_two())
    session.advance(1, progress=False)
    assert tty.getvalue() == ""


# numba writes a set of options into the names of functions.
STEADY = {**os.environ, "PYTHONHASHSEED": "0"}
PROGRAM = """
import sys
from hashlib import sha256
from pathlib import Path
from numba.core import codegen
from scalarviz.engines.codegen.compiling import import_file
from scalarviz.engines.codegen.compiling import compile_for_kernels_only
made, finish = [], codegen.JITCodeLibrary._finalize_specific
codegen.JITCodeLibrary._finalize_specific = lambda library: made.append(finish(library))
if sys.argv[1] == "kernels only":
    compile_for_kernels_only()
kernel = import_file(Path(sys.argv[2])).compiled
kernel.compile()
print(len(made), sha256(kernel._library.get_asm_str().encode()).hexdigest())
"""


@pytest.mark.slow
def test_a_kernel_has_the_same_machine_code_and_its_functions_none(tmp_path: Path) -> None:
    path = kernel_units.path_of_unit(TRAINING["move"], "float64")
    file = tmp_path / path.name
    file.write_bytes(path.read_bytes())
    libraries, hashes = [], []
    for way in ("all", "kernels only"):
        count, number = output_of("-c", PROGRAM, way, str(file), env=STEADY).split()
        libraries.append(int(count))
        hashes.append(number)
        shutil.rmtree(tmp_path / "__pycache__")
    assert hashes[0] == hashes[1]
    assert libraries[0] > libraries[1] == 2  # the kernel, and one that numba begins with


FIRST_CALL = """
import sys
import scalarviz as sv
sv.Network([2, 3], engine="cpu")([1.0, 2.0])
print("scipy.linalg" in sys.modules)
"""
COMPILED = """
import sys
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.every_kernel import every_kernel
compiling.import_file(kernel_units.path_of_unit(*every_kernel()[0])).compiled.compile()
print("scipy.linalg" in sys.modules)
"""
PRODUCT = """
import numba, numpy as np
print(numba.njit(lambda a: a @ a)(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist())
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("scipy") is None, reason="without SciPy there is nothing to import")
@pytest.mark.parametrize("kernel", [FIRST_CALL, COMPILED], ids=["called", "compiled"])
def test_a_kernel_is_loaded_without_scipy_and_a_user_has_products(kernel: str) -> None:
    assert output_of("-c", kernel + PRODUCT).splitlines() == ["False", "[[1.0, 4.0], [0.0, 1.0]]"]
