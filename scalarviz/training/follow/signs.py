"""Signs: detect problems of a training run from the statistics of its arrays while it runs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, final

import numpy as np

from scalarviz.training.follow.record import BEFORE, NUMBERS, UNKNOWN, Numbers
from scalarviz.training.follow.sources import Array

LEAP = 100.0  # ratio of a step to its weights
VANISHED = 1e-6  # of the largest gradient of the model
EXPLODED = 1e4  # times the usual gradient of an array
STILL = 1e-8  # ratio of a step to its weights; float32 resolves 6e-8
DEAD = 0.95  # share of the units of a layer
LOOKS = 5  # consecutive observations that show a vanished gradient or a dead layer
LONG = 20  # observations that show a layer that does not learn; and of a usual gradient
LOWER = (
    "Try a rate that is 10 times lower, or clip the norm of the gradients, in PyTorch by "
    "torch.nn.utils.clip_grad_norm_"
)
# For each kind: the consecutive observations that show it, a description, and a remedy.
SIGNS = {
    "leap": (1, "the step of {name} is {ratio:,.0f} times its weights", LOWER),
    "dead": (
        LOOKS,
        "{dead:.0f} % of the units of {name} are dead: their gradients are 0",
        "Try LeakyReLU, a lower rate, or new weights for this layer",
    ),
    "vanished": (
        LOOKS,
        "the gradient of {name} has vanished: it is {gradient:.2g}, and the largest of the model "
        "{largest:.2g}",
        "Try ReLU, normalization, or residual connections",
    ),
    "exploded": (
        1,
        "the gradient of {name} has exploded: it is {gradient:.2g}, and was {usual:.2g}",
        LOWER,
    ),
    "still": (
        LONG,
        "{name} does not learn: it has gradients, but no step changes it",
        "Check that its parameters are in an optimizer, and their rate",
    ),
    "nan": (1, "", f"Look at the batch of this step. {LOWER}"),
}
# For kinds of faults in training/diagnosis.py: remedies in a program without scalarviz.
REMEDIES = {
    "not finite": SIGNS["nan"][2],
    "still": "If it is frozen by mistake, set requires_grad_(True), and pass it to the optimizer",
    "rate": LOWER,
    "dead": SIGNS["dead"][2],
    "vanishing": SIGNS["vanished"][2],
    "exploding": LOWER,
    "jump": "Look at the samples, the labels and the rate from this step on, or clip the gradients",
    "raised": "Keep the rate as it was, or raise it over many steps",
    "stuck": "Check whether inputs and targets still match, unless the targets are that noisy; try "
    "another rate, or a larger model",
}


def rms(numbers: Numbers) -> float:
    """Return the root mean square of an array."""
    return math.sqrt(float(np.dot(numbers, numbers)) / max(1, numbers.size))


def statistics_of(numbers: Numbers, arrays: Sequence[Array], marks: Numbers) -> Numbers:
    """Return root mean squares of values, gradients and updates, and dead units, for each array.

    Args:
        numbers: the numbers of a page: values, gradients and values before the step
        marks: whether each array has values and whether it has gradients, see `RecordedStep`

    The values are those before the step, if known. The fourth column is the fraction of dead units,
    which are rows of a matrix whose gradients are all 0, or the units of a normalization whose two
    gradients are 0, or all units of one that is frozen at 0. Unknown numbers are UNKNOWN.
    """
    found, alive = np.full((len(arrays), NUMBERS), UNKNOWN, np.float32), np.zeros(0, bool)
    home, factors, moved = None, found[:0], alive  # of a normalization
    with np.errstate(all="ignore"):
        for row, array, (has_values, has_gradient) in zip(found, arrays, marks[:2].T, strict=True):
            value, gradient, before = numbers[: BEFORE + 1, array.numbers]
            if has_values:
                is_known = not np.isnan(before).all() or np.isnan(value).all()
                row[0] = rms(before if is_known else value)
                row[2] = rms(value - before) if is_known else UNKNOWN
            if has_gradient:
                row[1] = rms(gradient)
                moves = gradient.reshape(prod(array.kept[:1]), -1).any(axis=1)
                if array.has_units:
                    last, alive = row, moves
                    last[3] = 1.0 - alive.mean()
                elif array.kept == alive.shape:  # biases get gradients even if units get zeros
                    last[3] = 1.0 - (alive | moves).mean()
                if array.module == home and array.kept == moved.shape:
                    factors[3] = 1.0 - (moved | moves).mean()
            if array.is_norm and array.module != home:
                home, factors, moved = array.module, row, gradient != 0.0
                if array.frozen and row[0] == 0.0:
                    row[3] = 1.0
    return found


@final
class Signs:
    """Reports problems of a training run: each kind once per array, non-finite numbers once."""

    def __init__(self) -> None:
        self.has_seen_nan = False
        self._looks: dict[str, Numbers] = {}  # consecutive observations of a kind, by array
        self._told: set[tuple[str, str]] = set()
        self._last = 0
        self._steps: deque[int] = deque(maxlen=LONG)  # of the last observations
        self._gradients: deque[Numbers] = deque(maxlen=LONG)

    def noticed(
        self, step: int, arrays: Sequence[Array], stats: Numbers, loss: float | None
    ) -> Iterator[dict[str, Any]]:
        """Yield the new problems at a step as dicts of kind, step, array name and sentence.

        The step is the first of the observations that show the problem.
        """
        yield from self.lost(step, arrays, stats, loss)
        if self.has_seen_nan:  # everything else follows from it
            return
        value, gradient, update, dead = stats.T
        if self._gradients and len(self._gradients[0]) != len(gradient):  # other arrays
            self._looks, self._gradients = {}, deque(maxlen=LONG)
        ordered = np.sort([*self._gradients, gradient], axis=0)
        usual = ordered[len(ordered) // 2]  # the median, which takes np.median four times as long
        self._steps.append(step)
        self._gradients.append(gradient)
        largest, is_dead = gradient.max(initial=0.0), dead > DEAD
        is_layer = np.array([each.has_units and not each.frozen for each in arrays], bool)
        sizes = np.sort(value[is_layer & (value > 0.0)])
        size = sizes[len(sizes) // 2 :][:1].sum()  # of most layers; a class token starts near 0
        last = max([*np.flatnonzero(is_dead), 0])
        is_layer[:last] = False  # these get no gradient
        is_layer[last : last + 1] |= is_dead[last : last + 1]  # also a normalization
        learns = update > STILL * value
        leaps = (update > LEAP * value) & (value > 0.0) & (update > size)
        for kind, shows in (
            ("leap", leaps),
            ("dead", is_dead & (largest > 0.0)),
            ("vanished", (gradient > 0.0) & (gradient < VANISHED * largest) & ~is_dead),
            ("exploded", (gradient > EXPLODED * usual) & (usual > 0.0) & ~leaps),
            ("still", (gradient > 0.0) & ~learns & learns.any()),
        ):
            looks, words, remedy = SIGNS[kind]
            counts = self._looks[kind] = np.where(shows & is_layer, self._looks.get(kind, 0) + 1, 0)
            known = np.array([(kind, each.name) in self._told for each in arrays], bool)
            new = np.flatnonzero((counts >= looks) & ~known).tolist()
            self._told |= {(kind, arrays[i].name) for i in new}
            for i in new[:1]:
                said = words.format(
                    name=arrays[i].name, ratio=update[i] / max(value[i], 1e-30),
                    dead=100.0 * dead[i], gradient=gradient[i], largest=largest, usual=usual[i],
                )  # fmt: skip
                said += f"; likewise {len(new) - 1:,} more" * (len(new) > 1)
                yield note(kind, self._steps[-looks], arrays[i].name, said, remedy)

    def lost(
        self, step: int, arrays: Sequence[Array], stats: Numbers, loss: float | None
    ) -> Iterator[dict[str, Any]]:
        """Yield an observation if this is the first step with a non-finite number."""
        last, self._last = self._last, step
        if not self.has_seen_nan and (found := not_finite(arrays, stats, loss)):
            self.has_seen_nan = True
            since = "" if last >= step - 1 else f"; at step {last:,} all was finite"
            yield note("nan", step, found[0], f"{found[1]} not finite{since}", SIGNS["nan"][2])


def note(kind: str, step: int, where: str, words: str, remedy: str = "") -> dict[str, Any]:
    return {
        "kind": kind,
        "step": step,
        "where": where,
        "text": f"step {step:,}: {words}",
        "try": remedy,
    }


def in_words(noted: Mapping[str, Any]) -> str:
    """Return an observation as a sentence, with what to try."""
    remedy = str(noted.get("try") or "")
    return f"{noted['text']}. {remedy}." if remedy else str(noted["text"])


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
