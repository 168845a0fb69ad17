"""Kernels are compiled on another thread, so that Ctrl-C ends the waiting and not the compiling."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.expression.expression_kernels import unary


def test_ctrl_c_while_a_kernel_is_compiled_does_not_break_that_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_units, "_kernels", {})  # another test may have loaded it
    unit = Unit("test_relu", unary, ACTIVATIONS["relu"])
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
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "heard\n", "")
    assert time.perf_counter() - start < 4.0
