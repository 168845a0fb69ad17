"""The first picture of a served training in Chromium, of ten thousand weights and of a million."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from tests.faces.browser.test_serve import Served
from tests.faces.browser.test_served_in_browser import Opened, own_address
from tests.pages.browser import chromium

pytestmark = pytest.mark.slow

ROUNDS = 3
SIZES = {"ten thousand": [3, 96, 96, 3], "a million": [3, 998, 998, 3]}
PROGRAM = """import scalarviz as sv
net = sv.Network({sizes}, "tanh", "sigmoid", seed=0)
s = sv.Session(net, sv.data.Rgb(), "mse", sv.SGD(0.1), batch=8)
sv.watch(s, browser=True, play=False)"""
DRAWN = "performance.getEntriesByName('first picture')[0]?.startTime"


def seconds_of(browser: Any, sizes: list[int]) -> list[float]:
    """From the request of the page to its first picture, each time in a new context."""
    words = [sys.executable, "-c", PROGRAM.format(sizes=sizes)]
    found = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        served = Served(process)
        for _ in range(ROUNDS):
            page = Opened(browser, own_address(served)).ready()
            found.append(page.until(DRAWN) / 1e3)
            assert page.complaints == []
            page.close()
        process.kill()
    return found


def measured() -> dict[str, list[float]]:
    with chromium() as browser:
        return {name: seconds_of(browser, sizes) for name, sizes in SIZES.items()}


def test_a_million_weights_are_seen() -> None:
    assert all(min(seconds) > 0.0 for seconds in measured().values())
