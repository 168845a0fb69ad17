"""A terminal and a clock for tests of progress bars."""

import io
import re
from contextlib import redirect_stderr
from typing import Any

import pytest

from scalarviz.base import progress

CONTROL = re.compile(r"\x1b\[[0-9;?]*\w")
REMOVED = "\x1b[1A\x1b[2K\r\x1b[2K\x1b[?25h"  # the line above is cleared


class Tty(io.StringIO):
    """A terminal, as far as a program can tell."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    @property
    def words(self) -> str:
        """What was written, without colours and movements."""
        return CONTROL.sub("", self.getvalue())


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Tty:
    """A terminal, which is standard error while the test runs; pytest sets it before."""
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    made, test = Tty(), request.node.obj

    def test_in_terminal(**fixtures: Any) -> None:
        with redirect_stderr(made):
            test(**fixtures)

    request.node.obj = test_in_terminal
    return made


class Clock:
    """A time to which each look adds some seconds."""

    now = 0.0
    each = 0.0

    def __call__(self) -> float:
        self.now += self.each
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "perf_counter", made)
    return made
