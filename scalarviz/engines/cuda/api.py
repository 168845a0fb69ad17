"""numba's `cuda`: loaded by the files that use it, and of no type for the type checker.

Where it cannot be loaded it is None. The files of kernels can be read there all the same; whether
the engine can run is for `missing` to say.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def load() -> Any:
    """numba's CUDA part, or None."""
    try:
        return import_module("numba.cuda")
    # It looks for libraries of NVIDIA's, and what it raises without them is its own business.
    except Exception:
        return None


cuda: Any = load()
