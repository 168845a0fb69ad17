"""What tests need of the machine.

The folder of the checkout, the syntax of its files, other programs, memory, and waiting until
something has happened.
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
# Where tests and `make lint-js` write what scalarviz/pages/translator.py makes of Python.
GENERATED = ROOT / "scalarviz" / "pages" / "web" / "story"


def syntax_of(text: str) -> ast.Module:
    """The syntax tree of a file, which has no cycles: a search for garbage in it is in vain."""
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        gc.enable()


def ended(
    *words: str, env: Mapping[str, str] | None = None, seconds: float = 600.0, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Call Python with these words; it must end well."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder, env=env, capture_output=True, text=True, timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-5000:]
    return done


def output_of(*words: str, env: Mapping[str, str] | None = None, seconds: float = 600.0) -> str:
    """What Python prints if it is called with these words; it must end well."""
    return ended(*words, env=env, seconds=seconds).stdout


@contextmanager
def traced_memory() -> Iterator[Callable[[], tuple[int, int]]]:
    """Trace the memory of Python: bytes in use now, and the most since the beginning."""
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
    """Wait until `happened()` is true, and call `meanwhile()` again and again."""
    end = time.perf_counter() + seconds
    while not happened():
        assert time.perf_counter() < end, "it never happened"
        meanwhile()
        time.sleep(0.002)
