"""Selects the parameters to freeze, by their names in a file."""

from __future__ import annotations

from collections.abc import Sequence, Set

from scalarviz.base.checks import matching, shorten
from scalarviz.errors import InputError

Frozen = Set[str]


def choose_frozen(
    names: Sequence[str], train: Sequence[str] | None, freeze: Sequence[str] | None
) -> Frozen:
    """Return the names of the frozen parameters; see `scalarviz.files.onnx.load`.

    Raise InputError if `train` and `freeze` contradict each other.
    """
    learning = None if train is None else matching(names, train, "train")
    kept = None if freeze is None else matching(names, freeze, "freeze")
    if learning is None:
        return kept or frozenset()
    if kept is None:
        return frozenset(names) - learning
    both, none = learning & kept, frozenset(names) - learning - kept
    if both or none:
        which = "both train and freeze name" if both else "neither train nor freeze names"
        one = min(both or none)
        raise InputError(
            f"{which} {shorten(one)}: give one of them, or name each parameter in one of them"
        )
    return kept
