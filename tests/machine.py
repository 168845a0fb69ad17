"""The environment of tests.

The folder of the checkout, the syntax of its files, other programs, memory, and waiting for
conditions.
"""

import ast
import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Output folder of scalarviz/pages/translator.py for tests and `make lint-js`.
GENERATED = ROOT / "scalarviz" / "pages" / "web" / "story"


def syntax_of(text: str) -> ast.Module:
    """Return the syntax tree of a file; it has no cycles, so garbage collection is useless."""
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        gc.enable()


def ended(
    *words: str, env: Mapping[str, str] | None = None, seconds: float = 600.0, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run Python with these words; fail unless it succeeds."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder, env=env, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-5000:]
    return done


def output_of(*words: str, env: Mapping[str, str] | None = None, seconds: float = 600.0) -> str:
    """Return the output of Python with these words; fail unless it succeeds."""
    return ended(*words, env=env, seconds=seconds).stdout


@contextmanager
def traced_memory() -> Iterator[Callable[[], tuple[int, int]]]:
    """Trace the memory of Python: current bytes, and the maximum since the beginning."""
    tracemalloc.start()
    try:
        yield tracemalloc.get_traced_memory
    finally:
        tracemalloc.stop()


def until(
    happened: Callable[[], object],
    meanwhile: Callable[[], object] = lambda: None,
    seconds: float = 60.0,
) -> None:
    """Wait until `happened()` is true, calling `meanwhile()` repeatedly."""
    end = time.perf_counter() + seconds
    while not happened():
        assert time.perf_counter() < end, "it never happened"
        meanwhile()
        time.sleep(0.002)
