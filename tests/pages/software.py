"""Chromium without a window, which draws WebGL by software."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
SOFTWARE = "--use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader".split()


@contextmanager
def launched(player: Any) -> Iterator[Any]:
    """Chromium, driven by a Playwright."""
    words = ["--no-sandbox", "--ignore-gpu-blocklist", *SOFTWARE]
    browser = player.chromium.launch(executable_path=str(CHROMIUM), args=words)
    yield browser
    browser.close()
