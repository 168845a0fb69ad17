"""The real stage of a controller, with what it says."""

from scalarviz.controller.controller import Controller
from scalarviz.presenter.stage import Stage


def stage_of(controller: Controller) -> Stage:
    assert isinstance(controller.stage, Stage)
    return controller.stage


def chips_of(controller: Controller) -> list[str]:
    """The words of all messages over the picture."""
    return [words for words, _ in stage_of(controller).messages.chips()]
