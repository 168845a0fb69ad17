"""Imports of numba that a first kernel needs, without SciPy.

numba imports SciPy's linear algebra to find out whether it is installed; that takes as long as to
load all kernels of a small network, none of which uses it. A function of the user that does is not
affected: numba imports SciPy when it compiles the first product of matrices.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec


def import_without_scipy() -> None:
    """Import what numba would import with SciPy, unless that is imported or not installed."""
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
    linalg = import_module("numba.np.linalg")
    check = getattr(linalg, "ensure_blas", None)
    if check is None or find_spec("scipy") is None:
        return
    linalg.ensure_blas = lambda: None  # type: ignore[attr-defined]  # raises no ImportError
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = check  # type: ignore[attr-defined]  # modules have no types
    arraymath = sys.modules["numba.np.arraymath"]
    arraymath.ensure_blas = check  # type: ignore[attr-defined]  # it has taken the other one
