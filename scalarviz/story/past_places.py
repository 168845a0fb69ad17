"""Positions in a training history: steps, moments, and tiles of weights.

Sessions and pages share this file; docs/TRANSLATOR.md lists the supported Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def even_steps(first: float, last: float, most: int) -> list[int]:
    """Return at most `most` evenly spaced steps, including the first and the last."""
    found: list[int] = []
    before: int = -1
    for i in range(most):
        step: int = math.floor(first + i * (last - first) / (most - 1))
        if step > before:
            found.append(step)
        before = step
    return found


def last_known(steps: Sequence[float], moments: Sequence[Any]) -> list[Any]:
    """Return the last moment up to each of some increasing steps; duplicates are left out.

    Args:
        moments: moments in order of their steps
    """
    found: list[Any] = []
    place: int = 0
    newest: float = -1.0
    for step in steps:
        kept = None
        while place < len(moments) and moments[place].step <= step:
            if moments[place].step > newest:
                kept = moments[place]
                newest = kept.step
            place += 1
        if kept is not None:
            found.append(kept)
    return found


def tiles_of(
    layers: Sequence[tuple[str, int]], most: int
) -> tuple[list[int], list[tuple[str, int, int]]]:
    """Return the first bank indices of about `most` tiles, and the tiles of each layer.

    Args:
        layers: name and number of parameters of each layer
    """
    total: int = sum([count for _, count in layers])
    first: int = 0
    starts: list[int] = []
    groups: list[tuple[str, int, int]] = []
    for name, length in layers:
        rows: int = length
        count: int = min(rows, max(1, math.floor(most * rows / total + 0.5)))
        groups.append((name, len(starts), count))
        for i in range(count):
            starts.append(first + math.floor(i * rows / count))
        first += rows
    return starts, groups
