"""A word in the terminal if a window takes long to open."""

import sys
import time

import pytest

from scalarviz.base import progress as module
from scalarviz.base.progress import opening, opening_over
from scalarviz.base.texts import text


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level("INFO", "scalarviz")
    return caplog


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":99")


def test_a_window_that_takes_long_is_announced(
    said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LATE", 0.01)
    with opening():
        ends = time.monotonic() + 10.0
        while not said.records and time.monotonic() < ends:
            time.sleep(0.01)
    assert [each.getMessage() for each in said.records] == [text("start.opening")]


@pytest.mark.some(2)
@pytest.mark.parametrize("how", ["opened", "refused", "without a screen"])
def test_one_that_opens_soon_or_not_at_all_is_not(
    how: str, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LATE", 0.2)
    if how == "without a screen":
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.delenv("DISPLAY")
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with opening():
        if how == "opened":
            opening_over()
        if how != "refused":
            time.sleep(0.4)
    time.sleep(0.4 if how == "refused" else 0.0)
    assert said.records == []
