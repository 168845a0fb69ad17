"""Changes during training in the link of a playground: do=hidden=5,2@120;e12:0.5@130.

Each part is a change and the moment at which it was made: the step and, after a dot, the number of
completed operations. `scalarviz open` and pages replay them.

    e12:0.5       weight 12 gets the value 0.5
    freeze=3-7    weights 3 to 7 are frozen; free=3-7 ends this
    weights=5     the weights of seed 5
    drop=1        the second hidden layer is removed
    lr=0.1        a setting in NAMES; shape ends own samples, and opt chooses its usual rate
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scalarviz.story.build_link import (
    DEFAULTS,
    RATES,
    TABLE,
    count_of,
    largest_batch,
    shortest,
    task_of,
    value_in,
    written,
)
from scalarviz.story.moments import whole

LONGEST_JOURNAL = 2_000  # characters
MOST_STEPS = 20_000  # to replay
MOST_OPERATIONS = 100  # of a step
LARGEST = 1e6  # absolute value of an edited weight
EDIT = re.compile(r"e(\d{1,4}):(-?(?:\d{1,7}(?:\.\d{0,20})?|\.\d{1,20})(?:e-?\d{1,2})?)", re.ASCII)
FIXED = "init", "bias", "w", "do", "k", *TABLE  # settings that do not change during training
OWN = "points", "colours"  # of the visitor, until a data set is chosen
CONTINUE = "edit", "freeze", "free", "weights", "lr", "batch"  # others begin the step again
NAMES = [name for name in DEFAULTS if name not in FIXED]


@dataclass(frozen=True)
class Change:
    """A change during training.

    Attributes:
        kind: "edit", "freeze", "free", "weights", "drop", or the name of a setting
        step: number of completed steps
        operation: number of completed operations of the next step
        settings: all settings after the change
        first: first of the bank rows, index of a removed layer, or seed of weights
        last: last of the bank rows
        value: value of an edited weight
    """

    kind: str
    step: int
    operation: int
    settings: Mapping[str, Any]
    first: int = 0
    last: int = 0
    value: float = 0.0


def changes_in(settings: Mapping[str, Any], words: str) -> list[Change] | None:
    """Return the changes of a run that begins with these settings; None for an invalid text."""
    found: list[Change] = []
    now, last = settings, (0, 0)
    for part in words.split(";"):
        what, _, at = part.partition("@")
        first, _, second = at.partition(".")
        step, operation = whole(first, MOST_STEPS + 1), whole(second or "0", MOST_OPERATIONS)
        if step is None or operation is None or (step, operation) < last:
            return None
        change = change_in(what, now, step, operation)
        if change is None:
            return None
        found.append(change)
        now = change.settings
        last = step, operation if change.kind in CONTINUE else 0
    return found


def change_in(what: str, now: Mapping[str, Any], step: int, operation: int) -> Change | None:
    """Return a change of the present settings; None for an invalid text."""
    kind, _, words = what.partition("=")
    edit, rows = EDIT.fullmatch(what), count_of(now)
    if edit is not None:
        kind, words = "edit", edit[1]
    ends = {
        "edit": rows,
        "freeze": rows,
        "free": rows,
        "weights": 10**15,
        "drop": len(now["hidden"]),
    }
    if kind not in ends:
        then = set_to(now, kind, words)
        return None if then is None else Change(kind, step, operation, then)
    one, _, other = words.partition("-")
    first = whole(one, ends[kind])
    last = whole(other or one, ends[kind], first or 0)
    value = 0.0 if edit is None else float(edit[2])
    is_range = first != last and kind not in ("freeze", "free")
    if first is None or last is None or is_range or abs(value) > LARGEST:
        return None
    left = without(now, first) if kind == "drop" else now
    return Change(kind, step, operation, left, first, last, value)


def without(now: Mapping[str, Any], layer: int) -> dict[str, Any]:
    """Return settings without a hidden layer."""
    sizes, names = [[*now[key][:layer], *now[key][layer + 1 :]] for key in ("hidden", "activation")]
    return {**now, "hidden": sizes, "activation": names}


def set_to(now: Mapping[str, Any], name: str, words: str) -> dict[str, Any] | None:
    """Return the settings after a change of one of them; None for an invalid text."""
    value = value_in(name, words) if name in NAMES else None
    if value is None:
        return None
    then = {**now, name: value}
    if name == "shape":
        for key in OWN:
            then[key] = ""
    if name == "opt":
        then["lr"] = RATES[value]
    if name == "hidden":  # a new layer has the activation of the last one
        names = now["activation"]
        more = names[-1:] if len(names) > 0 else DEFAULTS["activation"]
        then["activation"] = [*names, *more][: max(len(value), len(names))]
    most = largest_batch(then)
    if name != "batch":
        then["batch"] = min(then["batch"], most)
    fits = then["batch"] <= most and len(then["hidden"]) == len(then["activation"])
    return then if fits and task_of(then) == task_of(now) else None


def parts_between(
    old: Mapping[str, Any], now: Mapping[str, Any], layer: int | None = None
) -> list[str]:
    """Return the changes that lead from settings to others, of which one removes a `layer`."""
    then = old if layer is None else without(old, layer)
    parts = [] if layer is None else [f"drop={layer}"]
    for name in NAMES:
        is_left = name == "shape" and any(then[key] != now[key] == "" for key in OWN)
        if is_left or now[name] != then[name]:
            words = written(name, now[name])
            parts.append(f"{name}={words}")
            then = set_to(then, name, words) or now
    return parts


def edit_part(row: int, value: float) -> str:
    """Return the change of a weight as text."""
    return f"e{row}:{'-' if value < 0.0 else ''}{shortest(abs(value))}"
