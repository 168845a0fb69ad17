"""The numbers of conditions on arrival at a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.conditions import LOSSES, Condition, Function
from scalarviz.training.session.step_view import ConditionView

if TYPE_CHECKING:
    from scalarviz.training.session.timeline import Timeline


def value_of(timeline: Timeline, condition: Condition) -> float:
    """Return the number of a condition that is read at the present moment."""
    if condition.function is not None:
        return float(asked(timeline, condition.function, condition.text))
    if condition.source_with(timeline.trainer.settings) == LOSSES:  # of a step too old to be kept
        return timeline.loss
    loss = timeline.loss if timeline.clock.step else 0.0
    return condition.number_at(timeline.trainer, timeline.clock.step, loss)


def asked(timeline: Timeline, function: Function, name: str) -> bool:
    """Return what a function of the user's own says of the present moment.

    Raises InputError unless it says True or False, OrderError if it changes the network.
    """
    timeline.trainer.bank.fetch()
    timeline.remember()
    try:
        with timeline.visits.calling():
            found = function(ConditionView(timeline))
    except BaseException as error:  # raised again, with a note
        error.add_note(f"(in the {name}, called at step {timeline.clock.step:,})")
        raise
    finally:
        if timeline.set_back_writes():
            raise OrderError(
                f"the {name} has written numbers into the network, which were set back: a "
                "condition only looks, and s.on_step(f) calls a function that changes something"
            )
    if isinstance(found, (bool, np.bool_)):
        return bool(found)
    raise InputError(f"the {name} must return True or False, not {shorten(found)}")
