"""Kernels are compiled on another thread, so that Ctrl-C ends the waiting and not the compiling."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from scalarviz.engines.codegen import kernel_file
from scalarviz.engines.codegen.compiling import aside

TEMPLATE = "kernels_alone"


@pytest.mark.usefixtures("template")
def test_ctrl_c_while_a_kernel_is_compiled_does_not_break_that_off(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernel_file, "_modules", {})
    kernel: Any = kernel_file.load(TEMPLATE, "float64").unit
    compile_, finished = type(kernel).compile, threading.Event()

    def interrupted(*args: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.2)  # Python hears it in the main thread
        entry = compile_(*args)
        finished.set()
        return entry

    with monkeypatch.context() as patch:
        patch.setattr(type(kernel), "compile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            kernel(2**31)
    assert finished.wait(60.0)
    assert len(kernel.signatures) == 1
    assert kernel(2**31) == pytest.approx(0.5)
    assert len(kernel.signatures) == 1


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
