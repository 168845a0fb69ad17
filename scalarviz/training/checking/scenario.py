"""Which check is for what a learner has written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scalarviz.base.checks import as_floats, check_signature, shorten
from scalarviz.core.layers import Perceptron
from scalarviz.core.layers.dense import Dense
from scalarviz.core.optimizer import Optimizer
from scalarviz.errors import InputError
from scalarviz.training.checking.layer import of_layer
from scalarviz.training.checking.moment import Moment
from scalarviz.training.checking.rule import of_rule
from scalarviz.training.checking.value import of_value
from scalarviz.training.checking.weight import of_weight


def scenario(mine: Any, like: Any, x: Any) -> tuple[str, Iterator[Moment]]:
    """Return what something of a learner is, and the moments of its check."""
    kind = mine if isinstance(mine, type) else type(mine)
    if like is not None and not isinstance(like, Optimizer | Perceptron | Dense):
        raise InputError(f"like must be an optimizer, a Perceptron or a Dense, not {shorten(like)}")
    if isinstance(like, Optimizer) and callable(getattr(mine, "step", mine)):
        return like.name, of_rule(mine, like)
    if hasattr(kind, "forward") and mine is not kind and not hasattr(mine, "value"):
        inputs = None if x is None else as_floats(x, "x of check")
        ours = None if isinstance(like, Optimizer) else like
        return type(ours).__name__ if ours else "Layer", of_layer(mine, ours, inputs)
    if hasattr(kind, "forward"):
        check_signature(kind, ["value"], "the class of a weight", "sv.check(object) for a layer")
        return "Weight", of_weight(kind)
    if hasattr(kind, "backward"):
        return "Value", of_value(kind)
    raise InputError(
        "check takes a class with forward or backward, a perceptron or layer, or with like= an "
        f"optimizer, not {shorten(mine)}"
    )
