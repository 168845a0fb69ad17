"""What tests need of the machine.

The folder of the checkout, and waiting until something has happened.
"""

import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Where tests and `make lint-js` write what scalarviz/pages/translator.py makes of Python.
GENERATED = ROOT / "scalarviz" / "pages" / "web" / "story"


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
