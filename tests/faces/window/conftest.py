"""A virtual screen for windows."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

# It is not begun anew when the last window closes, at which moment it would answer nobody.
SCREEN = ("-screen", "0", "1400x900x24", "-nolisten", "tcp", "-noreset")


@contextmanager
def virtual_screen() -> Iterator[dict[str, str]]:
    """The environment of a program that opens windows; skips the test where there is no Xvfb."""
    if sys.platform != "linux" or shutil.which("Xvfb") is None:
        pytest.skip("there is no Xvfb to open windows on")
    readable, writable = os.pipe()
    command = ["Xvfb", "-displayfd", str(writable), *SCREEN]
    server = subprocess.Popen(command, pass_fds=[writable], stderr=subprocess.DEVNULL)
    os.close(writable)
    try:
        with os.fdopen(readable) as told:
            number = told.readline().strip()
        hidden = ("WAYLAND_DISPLAY", "PYOPENGL_PLATFORM", "QT_QPA_PLATFORM", "EGL_PLATFORM")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        yield {**kept, "DISPLAY": f":{number}", "LIBGL_ALWAYS_SOFTWARE": "1"}
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="session")
def screen() -> Iterator[Mapping[str, str]]:
    """The environment of a program that opens windows, on a screen that nobody sees."""
    if find_spec("PySide6") is None:
        pytest.skip("PySide6 is not installed")
    with virtual_screen() as environment:
        yield environment
