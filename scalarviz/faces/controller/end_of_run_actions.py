"""The buttons offered at the end of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from scalarviz.base.texts import row_text, text
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.controller.edits import type_value
from scalarviz.faces.controller.own_input import begin
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def offer_more(controller: Controller) -> None:
    """Show a large button for each of the offers."""
    controller.stage.offer(
        {name: partial(take, controller, name) for name in offers_of(controller)}
    )


def take(controller: Controller, offer: str) -> None:
    """Execute an offer made at the end of a run."""
    controller.stage.offer({})
    pick(offers_of(controller), offer, "offer")()


def offers_of(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return the offers: their labels and actions."""
    found: dict[str, Callable[[], None]] = {
        text("offers.step"): partial(step_through, controller),
        text("offers.start"): partial(controller.seek, 0),
        text("offers.weight"): partial(type_value, controller),
    }
    if controller.session.network.layers:
        found[text("offers.own")] = partial(begin, controller)
    for choice in controller.options.choices(settings_now(controller.session)):
        if choice.offer and choice.value in choice.choices:
            place = choice.choices.index(choice.value)
            following = choice.choices[(place + 1) % len(choice.choices)]
            other = partial(learn_other, controller, choice.name, following)
            noun = row_text(f"rows.options.{choice.name}.offer", choice.offer)
            found[text("offers.another", noun=noun)] = other
    return found


def step_through(controller: Controller) -> None:
    controller.set_unit("operation")
    controller.step(+1)


def learn_other(controller: Controller, option: str, value: str) -> None:
    controller.set_option(option, value)
    controller.play()
