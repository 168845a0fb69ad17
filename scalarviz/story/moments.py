"""Moments as links name them after the #: step=120&op=7&pin=42.

What a part may say, for `scalarviz open` (faces/links.py) and for pages (pages/web/links.js).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

FURTHEST = 10**9  # step
WHOLE = re.compile(r"\d{1,15}", re.ASCII)
SPEED = re.compile(r"\d{1,12}(\.\d{0,12})?|\.\d{1,12}", re.ASCII)
NEURON = re.compile(r"(.+):(\d{1,15})", re.ASCII)
HIDEABLE = ("controls", "strip", "curve", "head", "exhibit")


@dataclass(frozen=True)
class Limits:
    """What a link may name: steps, operations of a step, rows, samples, and neurons by line.

    sizes  of lines of neurons by the names of their buffers; None, the default: not known here
    """

    first: int = 0
    last: int = FURTHEST - 1
    operations: int = FURTHEST - 1
    rows: int = FURTHEST
    batch: int = FURTHEST
    sizes: Mapping[str, int] | None = None


def whole(text: str, end: int, first: int = 0) -> int | None:
    """Return the whole number that a text is, from a first one to before an end; else None."""
    found = int(text) if WHOLE.fullmatch(text) else -1
    return found if first <= found < end else None


def neuron_in(text: str, limits: Limits) -> tuple[str, int] | None:
    found = NEURON.fullmatch(text)
    if found is None:
        return None
    end = FURTHEST if limits.sizes is None else limits.sizes.get(found[1], 0)
    place = whole(found[2], end)
    return None if place is None else (found[1], place)


def hidden_in(text: str) -> tuple[str, ...] | None:
    names = tuple(name.strip() for name in text.split(",") if name.strip() != "")
    return names if len(names) > 0 and all(name in HIDEABLE for name in names) else None


def speed_in(text: str) -> float | None:
    found = float(text) if SPEED.fullmatch(text) else 0.0
    return found if 0.0 < found <= FURTHEST else None


# What each part says; None for what means nothing.
PARTS: dict[str, Callable[[str, Limits], Any]] = {
    "step": lambda text, limits: whole(text, limits.last + 1, limits.first),
    "op": lambda text, limits: whole(text, limits.operations + 1),
    "pin": lambda text, limits: whole(text, limits.rows),
    "neuron": neuron_in,
    "sample": lambda text, limits: whole(text, limits.batch),
    "hide": lambda text, limits: hidden_in(text),
    "play": lambda text, limits: speed_in(text),
    "theme": lambda text, limits: text if text in ("dark", "light") else None,
    "tour": lambda text, limits: text if text == "no" else None,
}


def read_part(name: str, text: str, limits: Limits) -> Any:
    """Return what a part of a link says; None if it means nothing."""
    return PARTS[name](text, limits) if name in PARTS else None
