"""Signs: detect problems of a training run from the statistics of its arrays while it runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np

from scalarviz.training.follow.record import BEFORE, NUMBERS, UNKNOWN
from scalarviz.training.follow.sources import Array, Numbers

LEAP = 100.0  # ratio of a step to its weights
VANISHED = 1e-6  # of the largest gradient of the model
DEAD = 0.95  # share of the units of a layer
LOOKS = 5  # consecutive observations that show a vanished gradient or a dead layer


def rms(numbers: Numbers) -> float:
    """Return the root mean square of an array."""
    return math.sqrt(float(np.dot(numbers, numbers)) / max(1, numbers.size))


def statistics_of(numbers: Numbers, arrays: Sequence[Array], marks: Numbers) -> Numbers:
    """Return root mean squares of values, gradients and updates, and dead units, for each array.

    Args:
        numbers: the numbers of a page: values, gradients and values before the step
        marks: whether each array has values and whether it has gradients, shape (2, arrays)

    The values are those before the step, if known. The fourth column is the fraction of dead units,
    which are rows of a matrix whose gradients are all 0. Unknown numbers are UNKNOWN.
    """
    found, alive = np.full((len(arrays), NUMBERS), UNKNOWN, np.float32), np.zeros(0, bool)
    with np.errstate(all="ignore"):
        for row, array, (has_values, has_gradient) in zip(found, arrays, marks.T, strict=True):
            value, gradient, before = numbers[: BEFORE + 1, array.numbers]
            if has_values:
                is_known = not np.isnan(before).all() or np.isnan(value).all()
                row[0] = rms(before if is_known else value)
                row[2] = rms(value - before) if is_known else UNKNOWN
            if has_gradient:
                row[1] = rms(gradient)
                if array.has_units:
                    last, alive = row, gradient.reshape(array.kept[0], -1).any(axis=1)
                    last[3] = 1.0 - alive.mean()
                elif array.kept == alive.shape:  # biases get gradients even if units get zeros
                    last[3] = 1.0 - (alive | (gradient != 0.0)).mean()
    return found


@final
class Signs:
    """Reports problems of a training run: each kind once per array, non-finite numbers once."""

    def __init__(self) -> None:
        self.has_seen_nan = False
        self._looks: Counter[tuple[str, str]] = Counter()  # consecutive observations of a kind
        self._told: set[tuple[str, str]] = set()
        self._last = 0

    def noticed(
        self, step: int, arrays: Sequence[Array], stats: Numbers, loss: float | None
    ) -> Iterator[dict[str, Any]]:
        """Yield the new problems at a step as dicts of kind, step, array name and sentence."""
        yield from self.lost(step, arrays, stats, loss)
        if self.has_seen_nan:  # everything else follows from it
            return
        finite = stats[:, 1][np.isfinite(stats[:, 1])]
        largest = float(finite.max(initial=0.0))
        last_dead = max([*np.flatnonzero(stats[:, 3] > DEAD), -1])  # earlier ones get no gradient
        for i, (array, row) in enumerate(zip(arrays, stats, strict=True)):
            value, gradient, update, dead = row.tolist()
            if not array.has_units or array.frozen or i < last_dead:
                continue
            name, is_dead = array.name, dead > DEAD
            is_small = 0.0 < gradient < VANISHED * largest and not is_dead
            for kind, shows, looks, words in (
                ("leap", update > LEAP * value > 0.0, 1,
                 f"the step of {name} is {update / max(value, 1e-30):,.0f} times its weights"),
                ("dead", is_dead, LOOKS,
                 f"{100 * dead:.0f} % of the units of {name} are dead: their gradients are 0"),
                ("vanished", is_small, LOOKS,
                 f"the gradient of {name} has vanished: it is {gradient:.2g}, and the largest of "
                 f"the model {largest:.2g}"),
            ):  # fmt: skip
                key = kind, name
                self._looks[key] = self._looks[key] + 1 if shows else 0
                if self._looks[key] >= looks and key not in self._told:
                    self._told.add(key)
                    yield note(kind, step, name, words)

    def lost(
        self, step: int, arrays: Sequence[Array], stats: Numbers, loss: float | None
    ) -> Iterator[dict[str, Any]]:
        """Yield an observation if this is the first step with a non-finite number."""
        last, self._last = self._last, step
        if not self.has_seen_nan and (found := not_finite(arrays, stats, loss)):
            self.has_seen_nan = True
            since = "" if last >= step - 1 else f"; at step {last:,} all was finite"
            yield note("nan", step, found[0], f"{found[1]} not finite{since}")


def note(kind: str, step: int, where: str, words: str) -> dict[str, Any]:
    return {"kind": kind, "step": step, "where": where, "text": f"step {step:,}: {words}"}


def not_finite(
    arrays: Sequence[Array], stats: Numbers, loss: float | None
) -> tuple[str, str] | None:
    """Return the name of the first non-finite array and a description, or None if all is finite."""
    is_lost = loss is not None and not math.isfinite(loss)
    for place, (words, verb) in enumerate(
        (("the weights", "are"), ("the gradient", "is"), ("the step", "is"))
    ):
        bad = np.flatnonzero(~np.isfinite(stats[:, place]))
        if len(bad):
            name = arrays[bad[0]].name
            return name, f"{words} of {name} {'and the loss are' if is_lost else verb}"
    return ("", "the loss is") if is_lost else None
