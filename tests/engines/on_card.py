"""Plugin of pytest for the simulator's tests on a card, by the part `matrix` of `on_gpu`.

It appends the outcome of each test at once to the file that ON_CARD_OUTCOMES names, an object of
JSON a line, since the time may be over before pytest reports. A process whose GPU is lost is ended:
every later test of it would fail for that reason.
"""

import json
import os
from typing import Any

from scalarviz.engines.cuda.card import cuda

OUTCOMES = "ON_CARD_OUTCOMES"
LOST = 70  # status of a process without its GPU


def pytest_runtest_logreport(report: Any) -> None:
    """In the process that hears of all tests."""
    path = os.environ.get(OUTCOMES)
    if not path or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.when == "call" or report.outcome != "passed":
        said = "" if report.outcome == "passed" else str(report.longrepr).strip().splitlines()[-12:]
        row = {"test": report.nodeid, "outcome": report.outcome, "said": said}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row | {"seconds": round(report.duration, 2)}) + "\n")


def pytest_runtest_teardown(item: Any) -> None:
    if cuda is not None and not cuda.config.ENABLE_CUDASIM:
        try:
            cuda.synchronize()
        except Exception:  # the driver's, whatever it is
            os._exit(LOST)
