"""numba's `cuda` module, or None where it cannot be imported; untyped for the type checker.

Files of kernels can be imported without it; `missing` says whether the engine can run.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load() -> Any:
    """Return numba's CUDA module, or None."""
    try:
        return import_module("numba.cuda")
    except Exception:  # it loads NVIDIA's libraries, which raise errors of many kinds
        return None


cuda: Any = load()
