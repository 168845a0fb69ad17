"""Faces that wait for a session as long as it takes, however busy the machine is."""

import pytest

from scalarviz.faces.controller import hand
from scalarviz.faces.controller.warming import Warming

HANG = 300.0  # seconds that only what hangs takes


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, and changes of the engine, are done when they return: none is left for later."""
    monkeypatch.setattr(hand, "AT_ONCE", HANG)
    monkeypatch.setattr(Warming.settle, "__defaults__", (HANG,))
    monkeypatch.setattr(Warming._give_back, "__defaults__", (HANG,))
