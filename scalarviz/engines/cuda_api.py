"""numba's `cuda`: loaded by the files that use it, and of no type for the type checker."""

from __future__ import annotations

from importlib import import_module
from typing import Any

cuda: Any = import_module("numba.cuda")
