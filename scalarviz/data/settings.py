"""Settings of data sets: in a few words, and before they are checked."""

from __future__ import annotations

import numpy as np

from scalarviz.base.checks import shorten


def whole(value: object, otherwise: int = 0) -> int:
    """Return `value` if it is a non-negative int, else `otherwise`; it is checked later."""
    return value if isinstance(value, int) and value >= 0 else otherwise


def unlike(value: object, default: object) -> bool:
    """Return whether a setting differs from its default; arrays always do."""
    return isinstance(value, np.ndarray) or value != default


def brief(value: object) -> str:
    """Return a setting in a few characters; an array by its shape."""
    if isinstance(value, np.ndarray):
        return " x ".join(str(n) for n in value.shape)
    if isinstance(value, float):
        return f"{value:g}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return shorten(value)
