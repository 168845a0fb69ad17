"""Sessions for the terminal, a fake terminal, and a fake clock."""

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import pytest

from scalarviz.faces.terminal import terminal
from scalarviz.faces.terminal.terminal import watch
from scalarviz.pictures.export import rate


class Tty(io.StringIO):
    """A terminal, as far as a program can tell."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def watch(self, show: object, **options: Any) -> str:
        """What is written to this terminal while someone watches."""
        with redirect_stdout(self):
            self.code = watch(show, **options)
        return self.getvalue()


@pytest.fixture
def tty(monkeypatch: pytest.MonkeyPatch) -> Tty:
    for name, value in {"TERM": "xterm-256color", "COLORTERM": "truecolor"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "COLORFGBG", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Tty()


class Clock:
    """A time that passes only where something is said to take time."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (rate, terminal):
        monkeypatch.setattr(module, "perf_counter", made)
    monkeypatch.setattr(terminal, "sleep", made.wait)
    return made


class FakeSession:
    """A session whose steps take some time of a clock, and nothing else."""

    step_index = 0
    engine = "python"

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds = clock, seconds

    def advance(self, count: int) -> None:
        self.step_index += count
        self.clock.wait(count * self.seconds)


class FakeShow:
    """A show of such a session."""

    def __init__(self, session: FakeSession, speed: float | None, frame: int | None) -> None:
        self.session, self.speed, self.frame = session, speed, frame


@pytest.fixture
def fake(clock: Clock) -> Callable[..., Any]:
    def make(seconds: float = 0.001, speed: float | None = None, frame: int | None = None) -> Any:
        return FakeShow(FakeSession(clock, seconds), speed, frame)

    return make
