"""Moments in the fragment of a link: #step=120&op=7&pin=42.

Used by `scalarviz open` (faces/links.py) and by pages (pages/web/links.js).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

FURTHEST = 10**9  # step
WHOLE = re.compile(r"\d{1,15}", re.ASCII)
SPEED = re.compile(r"\d{1,12}(\.\d{0,12})?|\.\d{1,12}", re.ASCII)
NEURON = re.compile(r"(.+):(\d{1,15})", re.ASCII)
HIDEABLE = ("controls", "strip", "curve", "head", "exhibit")

Limits = Mapping[str, Any]


def whole(text: str, end: int, first: int = 0) -> int | None:
    """Return the integer in a text if it is at least `first` and less than `end`, else None."""
    found = int(text) if WHOLE.fullmatch(text) else -1
    return found if first <= found < end else None


def neuron_in(text: str, limits: Limits) -> tuple[str, int] | None:
    found = NEURON.fullmatch(text)
    if found is None:
        return None
    sizes: Mapping[str, int] | None = limits.get("sizes")
    place = whole(found[2], FURTHEST if sizes is None else sizes.get(found[1], 0))
    return None if place is None else (found[1], place)


def hidden_in(text: str) -> tuple[str, ...] | None:
    names = tuple(name.strip() for name in text.split(",") if name.strip() != "")
    return names if len(names) > 0 and all(name in HIDEABLE for name in names) else None


def speed_in(text: str) -> float | None:
    found = float(text) if SPEED.fullmatch(text) else 0.0
    return found if 0.0 < found <= FURTHEST else None


# The parser of each part; None for an invalid one.
PARTS: dict[str, Callable[[str, Limits], Any]] = {
    "step": lambda text, limits: whole(text, limits.get("end", FURTHEST), limits.get("first", 0)),
    "op": lambda text, limits: whole(text, limits.get("operations", FURTHEST)),
    "pin": lambda text, limits: whole(text, limits.get("rows", FURTHEST)),
    "neuron": neuron_in,
    "sample": lambda text, limits: whole(text, limits.get("batch", FURTHEST)),
    "hide": lambda text, limits: hidden_in(text),
    "play": lambda text, limits: speed_in(text),
    "tour": lambda text, limits: text if text == "no" else None,
}


def read_part(name: str, text: str, limits: Limits) -> Any:
    """Return the value of a part of a link; None if it is invalid.

    Args:
        limits: limits of the values, as far as known: number of `operations`, of `rows`, and of
            samples in a `batch`; `first` step and `end` of steps; `sizes` of rows of neurons by
            buffer name; and valid words for each field of the `look`
    """
    looks: Mapping[str, Sequence[str]] = limits.get("look", {})
    if name in looks:
        return text if text in looks[name] else None
    return PARTS[name](text, limits) if name in PARTS else None
