"""The real stage of a controller, with what it says."""

from collections.abc import Callable
from typing import Any

from scalarviz.faces.controller.control import Shown
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.stage.stage import Stage
from tests.patience import HANG
from tests.waiting import until


def stage_of(controller: Controller) -> Stage:
    assert isinstance(controller.stage, Stage)
    return controller.stage


def chips_of(controller: Controller) -> list[str]:
    """The words of all messages over the picture."""
    return [words for words, _ in stage_of(controller).chips()]


def shown(controller: Controller, name: str) -> Shown:
    """What a control shows now."""
    return CONTROLS[name].shown(controller.state)


def attended(controller: Any, happened: Callable[[], object], seconds: float = HANG) -> None:
    """Wait for something while the controller is attended to, as faces do."""
    until(happened, controller.attend, seconds)
