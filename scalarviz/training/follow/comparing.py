"""Where two recorded training runs part, in sentences."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import visible
from scalarviz.errors import OrderError
from scalarviz.training.follow.health import counted, few

if TYPE_CHECKING:
    from scalarviz.training.follow.followed import Followed

LONGEST = 1000  # letters of a sentence
TENTH = 10  # the last losses are a tenth of them

Pair = tuple["Followed", "Followed"]
Found = tuple[Mapping[Any, Any], Mapping[Any, Any]]  # in each record, by name


def compared(pair: Pair) -> str:
    """Return where two records part, a line for each sentence."""
    one, two = (each.path for each in pair)
    bases = os.path.basename(one), os.path.basename(two)
    names = bases if bases[0] != bases[1] else (one, two)
    lines = [
        f"{name}: {each.record.lack or 'it was not closed'}, so it has only its first steps."
        for name, each in zip(names, pair, strict=True)
        if not each.record.is_done
    ]
    lines += [*models_apart(pair, names), weights_apart(pair)]
    lines += [*series_apart(pair, names), *faults_apart(pair, names)]
    return "\n".join(visible(each, LONGEST) for each in lines)


def of_one(found: Found, names: Sequence[str]) -> list[str]:
    """Return what only one of the records has, with the name of the record."""
    mine = zip(names, found, found[::-1], strict=True)
    return [
        f"{each} is only in {name}"
        for name, own, other in mine
        for each in own
        if each not in other
    ]


def apart(found: Found, names: Sequence[str]) -> list[str]:
    """Return what differs between the records, or is in one of them only."""
    one, two = found
    both = [
        f"{name} is {one[name]} and {two[name]}"
        for name in one
        if two.get(name, one[name]) != one[name]
    ]
    return [*both, *of_one(found, names)]


def models_apart(pair: Pair, names: Sequence[str]) -> list[str]:
    """Return whether the models and the settings of the optimizers are equal."""
    heads = [each.head() for each in pair]
    one, two = ({x.name: tuple(x.shape) for x in head.arrays if not x.is_buffer} for head in heads)
    first, second = (
        {
            f"{x['kind']}.{name}": each
            for x in head.optimizers
            for name, each in x["settings"].items()
        }
        for head in heads
    )
    same = f"Same model: {counted(sum(map(prod, one.values())), 'weight')}."
    models, settings = apart((one, two), names), apart((first, second), names)
    lines = [f"The models differ: {few(models)}." if models else same]
    return [*lines, *[f"The optimizers differ: {few(settings)}."] * bool(settings)]


def weights_apart(pair: Pair) -> str:
    """Return the first step recorded in both at which arrays of the same name and shape differ."""
    known = ""
    for step in np.intersect1d(*(each.steps for each in pair)).tolist():
        one, two = (each.parameters(step) for each in pair)
        both = [name for name in one if name in two and one[name].shape == two[name].shape]
        sizes = {name: difference(one[name], two[name]) for name in both}
        most = max(both, key=lambda name: sizes[name], default="")
        if sizes.get(most):
            size = f"{most} by {100.0 * sizes[most]:,.3g} % of its size"
            return f"The weights {known}differ at step {step:,}, most in {size}."
        known = f"are equal up to step {step:,} and " if both else known
    return f"The weights {known[:-5] or 'have no step, name and shape in both'}."


def difference(one: Any, two: Any) -> float:
    """Return the root mean square of a difference divided by the one of the first array."""
    if np.array_equal(one, two, equal_nan=True):
        return 0.0
    with np.errstate(all="ignore"):
        found = np.sqrt(np.mean((one - two) ** 2, dtype=float) / np.mean(one**2, dtype=float))
    return float(np.nan_to_num(found, nan=np.inf))


def series_of(followed: Followed) -> dict[str, tuple[Any, FloatArray]]:
    """Return the losses and the scalars of a record as known steps and values."""
    losses = followed.losses
    found = {"loss": (np.arange(1, len(losses) + 1), losses), **followed.scalars}
    known = {name: ~np.isnan(values) for name, (_, values) in found.items()}
    return {
        name: (s[known[name]], v[known[name]])
        for name, (s, v) in found.items()
        if known[name].any()
    }


def series_apart(pair: Pair, names: Sequence[str]) -> list[str]:
    """Return from which step on the loss and each scalar differ, and their last numbers."""
    one, two = (series_of(each) for each in pair)
    lines, equal = [], []
    for name in [name for name in one if name in two]:
        steps, *at = np.intersect1d(one[name][0], two[name][0], return_indices=True)
        a, b = one[name][1][at[0]], two[name][1][at[1]]
        i = int(np.argmax([*(a != b), True]))  # the first one
        if i == len(a):
            equal.append(f"{name} ({counted(i, 'step')} in both)")
            continue
        known = f"equal up to step {steps[i - 1]:,}, " if i else ""
        ends = [f"{v[-max(1, len(v) // TENTH) :].mean():.3g}" for _, v in (one[name], two[name])]
        lines.append(
            f"{name}: {known}{a[i]:.3g} and {b[i]:.3g} at step {steps[i]:,}; the means of the last "
            f"tenths are {' and '.join(ends)}."
        )
    only = of_one((one, two), names)
    lines += [f"Equal: {few(equal)}."] * bool(equal)
    return [*lines, *[f"Not in both: {few(only)}."] * bool(only)]


def faults_apart(pair: Pair, names: Sequence[str]) -> list[str]:
    """Return the faults that the health of only one record has; [] if nothing was looked at."""
    faults: list[dict[Any, str]] = []
    for each in pair:
        with suppress(OrderError):
            faults.append({(x.kind, x.where): str(x) for x in each.health().findings})
    both = zip(names, faults, faults[::-1], strict=False)
    lines = [f"Only {name}: {own[x]}" for name, own, other in both for x in own if x not in other]
    return lines or ["Health: the same in both."] * (len(faults) == len(pair))
