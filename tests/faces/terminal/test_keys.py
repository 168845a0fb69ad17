"""Keys: their names, and the terminal's settings, which are always restored."""

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from scalarviz.faces.terminal.keys import NoKeys, keyboard, names


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (" ", ["space"]),
        ("\x1b[A\x1b[B\x1b[C\x1b[D", ["up", "down", "right", "left"]),
        ("\x1bOC.,", ["right", ".", ","]),
        ("\x1b[3~q", ["q"]),  # delete means nothing
        ("\x1b", []),
        ("\x1bx\x1a", ["suspend"]),  # nor does Alt-x
        ("\x1b[", []),
    ],
)
def test_what_a_terminal_sends_has_names(sent: str, read: list[str]) -> None:
    assert names(sent) == read


class Terminal:
    """A real terminal without anyone at it."""

    def __init__(self) -> None:
        self.termios: Any = pytest.importorskip("termios", reason="Windows has none")
        try:
            self.far, self.near = pytest.importorskip("pty").openpty()
        except OSError as error:
            pytest.skip(f"there are no pseudo terminals here: {error}")
        self.stdin = os.fdopen(self.near, "r", closefd=False)

    def settings(self) -> list[Any]:
        settings: list[Any] = self.termios.tcgetattr(self.near)
        return settings

    def press(self, keys: str) -> None:
        os.write(self.far, keys.encode())


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    made = Terminal()
    monkeypatch.setattr(sys, "stdin", made.stdin)
    yield made
    made.stdin.close()
    os.close(made.far)
    os.close(made.near)


def test_keys_come_one_by_one_without_return(terminal: Terminal) -> None:
    with keyboard() as keys:
        assert keys.there and keys.read() == []
        terminal.press("q \x1b[C")
        assert keys.read() == ["q", "space", "right"]


def test_the_terminal_is_given_back_after_an_error(terminal: Terminal) -> None:
    before = terminal.settings()

    def fail() -> None:
        with keyboard():
            assert terminal.settings() != before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert terminal.settings() == before


def test_ctrl_c_stays_a_signal(terminal: Terminal) -> None:
    with keyboard():
        assert terminal.settings()[3] & terminal.termios.ISIG
        assert not terminal.settings()[3] & (terminal.termios.ICANON | terminal.termios.ECHO)


def test_without_a_terminal_nothing_is_ever_pressed(monkeypatch: pytest.MonkeyPatch) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with keyboard() as keys:
            assert isinstance(keys, NoKeys) and keys.read() == []
    monkeypatch.setattr(sys, "stdin", None)
    with keyboard() as keys:
        assert not keys.there
