"""Short names of branches: where they begin, and the user's actions there."""

from __future__ import annotations

from collections.abc import Sequence

from scalarviz.base.texts import text

MOST = 2  # maximum actions in a name


def branch_name(step: int, operation: int, did: str) -> str:
    """Return the name of a branch from its first step and a description of the actions there."""
    key = "operation" if operation else "step" if step else "start"
    start = text(f"branches.from.{key}", step=step, operation=operation)
    return text("branches.name.did", start=start, did=did) if did else start


def in_few_words(did: Sequence[tuple[object, str]]) -> str:
    """Return a short text of some actions, given as pairs of target and text; "" without actions.

    Consecutive actions on the same target are described by the last one.
    """
    words: list[str] = []
    for i, (subject, said) in enumerate(did):
        if i + 1 == len(did) or did[i + 1][0] != subject:
            words.append(said)
    listed, count = ", ".join(words[:MOST]), len(words) - MOST
    return text("branches.name.more", listed=listed, count=count) if count > 0 else listed
