"""What is offered when a run is over: large choices for the picture."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from scalarviz.controller.options import settings_now

if TYPE_CHECKING:
    from scalarviz.controller.controller import Desk

OTHERS = {"map": "colour map", "shape": "shape"}  # options that give something else to learn


def offers_of(desk: Desk) -> dict[str, Callable[[], None]]:
    """Each offer by what it is called, and what it does."""
    found: dict[str, Callable[[], None]] = {
        "Step through it": partial(step_through, desk),
        "Back to start": partial(desk.seek, 0),
        "Change a weight": lambda: desk.start_editing(),
    }
    for choice in desk.options.choices(settings_now(desk.session)):
        if choice.name in OTHERS and choice.value in choice.choices:
            place = choice.choices.index(choice.value)
            following = choice.choices[(place + 1) % len(choice.choices)]
            other = partial(learn_other, desk, choice.name, following)
            found[f"Another {OTHERS[choice.name]}"] = other
    return found


def step_through(desk: Desk) -> None:
    desk.set_unit("operation")
    desk.step(+1)


def learn_other(desk: Desk, option: str, value: str) -> None:
    desk.set_option(option, value)
    desk.play()
