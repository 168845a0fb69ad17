"""Faces that wait for a session as long as it takes, however busy the machine is."""

import pytest

from scalarviz.faces.controller import controller
from scalarviz.faces.controller.precompile import Warming

HANG = 300.0  # seconds that only what hangs takes


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, and changes of the engine, are done when they return: none is left for later."""
    monkeypatch.setattr(controller, "AT_ONCE", HANG)
    monkeypatch.setattr(Warming.settle, "__defaults__", (HANG,))
    monkeypatch.setattr(Warming._give_back, "__defaults__", (HANG,))
