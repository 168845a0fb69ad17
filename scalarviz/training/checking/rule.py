"""The check of a learner's optimizer beside one of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from inspect import signature
from math import copysign, nan, sqrt
from typing import Any

from scalarviz.base.texts import text
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.weight import Weight
from scalarviz.training.checking.moment import Moment, compared

START = 0.5
GRADIENTS = (-8.0, 4.0, 1.0, -2.0)


def of_rule(mine: Any, like: Optimizer) -> Iterator[Moment]:
    """Take some steps of one weight with a learner's optimizer, each beside ours.

    An object has `step(w, g)`, its class is called with the rate; a function takes w, its gradient
    and perhaps the rate. Both return the new w.
    """
    made = mine(like.lr) if isinstance(mine, type) else deepcopy(mine)
    move: Callable[..., Any] = getattr(made, "step", made)
    needed = [each for each in signature(move).parameters.values() if each.default is each.empty]
    rate = [like.lr] * (len(needed) - 2)
    ours, lr, known = Weight(START), like.lr or nan, like.settings
    plain = (1.0 - known.get("beta1", 0.0)) / sqrt(1.0 - known.get("beta2", 0.0))
    plainly = "rule_no_decay" if like.l2 else "rule_no_state"
    for step, g in enumerate(GRADIENTS, 1):
        w = ours.value
        ours.grad = g
        ours.step(like)
        change = ours.value - w
        mistakes = [
            *[("rule_uphill", w - change), ("rule_change", change), ("rule_nothing", w)],
            *[("rule_no_rate", w + change / lr), (plainly, w - lr * g)],
            *[("rule_no_correction", w - lr * copysign(plain, g))] * ("beta2" in known),
        ]
        place = text("check.step", step=step, w=f"{w:.6g}", g=f"{g:g}")
        told = {"change": change, "name": like.name, "w": w, "l2": like.l2}
        yield compared(place, move(w, g, *rate), ours.value, "rule_step", mistakes, None, **told)
