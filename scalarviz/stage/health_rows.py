"""The health of a followed training run as rows of colors, see scene/health_strip.py."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from typing import Any

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.engines.engine import Run
from scalarviz.errors import OrderError
from scalarviz.scene.frame_data import HealthRows
from scalarviz.scene.past_images import LOST, NOT_KNOWN, STRONGEST
from scalarviz.training.follow.health import CHANGE, GRADIENT, UNITS, Health, cell

MOST_ROWS, MOST_LOOKS = 24, 240  # drawn; of more modules, successive ones share a row
SHOWN = CHANGE, GRADIENT, 0, UNITS  # the order of MEASURES
MOST_LETTERS = 14  # of a whole name
DECADES = 4.0  # below the largest number of a measure, at most


def health_rows(health: Health) -> HealthRows:
    """Return the rows of a Health. Rows and looks are reduced to the numbers that are drawn."""
    names, count = [*health.modules], len(health.steps)
    looks = np.unique(np.linspace(0, count - 1, min(count, MOST_LOOKS)).astype(int))
    ends = np.linspace(0, len(names), min(len(names), MOST_ROWS) + 1).astype(int).tolist()
    parts = [range(*pair) for pair in pairwise(ends)]
    causes = {each.where for each in health.findings}
    with np.errstate(all="ignore"):
        table = np.stack([worst_of(health.table[:, part]) for part in parts], axis=1)
    return HealthRows(
        [label_of(names[part[0]], health.modules[names[part[0]]], len(part)) for part in parts],
        [any(health.faults[i] for i in part) for part in parts],
        [any(names[i] in causes for i in part) for part in parts],
        health.steps[looks].tolist(),
        [codes_of(table[:, :, each], is_share=each == UNITS)[looks].T.ravel() for each in SHOWN],
        [[cell(numbers, each) for numbers in table[:, :, each].T] for each in SHOWN],
        [health.moments[each] for each in SHOWN],
        [
            (each.step, f"{each.where} {each.kind}".strip(), str(each))
            for each in health.findings
        ],
        health.head if health.findings else f"{health.head}. {health.looked_at}",
    )  # fmt: skip


def health_of(run: Run) -> HealthRows | None:
    """Return the health of a followed model; None for other networks, or before the first look."""
    with suppress(OrderError):
        if run.followed is not None:
            return health_rows(run.followed.health())
    return None


def label_of(name: str, kind: str, count: int) -> str:
    """Return a short name of successive modules, given the name and kind of the first one.

    A long name is reduced to its last number and its last part, which has a word.
    """
    whole = f"{name} {kind}".strip() + f" + {count - 1}" * (count > 1)
    parts = name.split(".")
    last = next((i for i, each in enumerate(parts[::-1]) if not each.isdigit()), 0) + 1
    numbers = [each for each in parts[:-last] if each.isdigit()]
    return whole if len(whole) <= MOST_LETTERS else ".".join([*numbers[-1:], *parts[-last:]])


def worst_of(table: FloatArray) -> FloatArray:
    """Return the numbers of successive modules as one: the smallest ones, and most dead units."""
    found: FloatArray = np.fmin.reduce(table, axis=1)
    found[:, UNITS] = np.fmax.reduce(table[:, :, UNITS], axis=1)
    return np.where(np.isinf(table).any(axis=1), np.inf, found)


def codes_of(numbers: FloatArray, *, is_share: bool) -> Any:
    """Return numbers as codes: 0 is exactly 0, then up to STRONGEST on a logarithmic scale.

    Args:
        is_share: whether they are fractions, on a linear scale from code 1
    """
    part = numbers
    if not is_share:
        known = np.log10(numbers[np.isfinite(numbers) & (numbers > 0.0)])
        high = known.max(initial=-np.inf)
        low = max(float(np.quantile(known, 0.02)) if len(known) else 0.0, high - DECADES)
        with np.errstate(all="ignore"):
            part = (np.log10(numbers) - low) / max(high - low, 1e-9)
    found = 1 + np.rint((STRONGEST - 1) * np.clip(np.nan_to_num(part), 0.0, 1.0)).astype(np.uint8)
    found[(numbers == 0.0) & (not is_share)] = 0
    found[np.isnan(numbers)], found[np.isinf(numbers)] = NOT_KNOWN, LOST
    return found
