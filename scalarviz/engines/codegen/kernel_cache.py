"""Names of numba's cache files, unique to each process.

numba numbers the cache files of a kernel: 1, 2, ... Two processes that compile it for different
arguments would both write the first; the index of one would then name the machine code of the
other, and a call would crash. So each process uses unique file names.
"""

from __future__ import annotations

import os
import secrets
from types import ModuleType
from typing import Any

COUNTER = ".{number:d}."
OWN = f".{os.getpid():x}{secrets.token_hex(4)}_{{number:d}}."


def keep_apart(module: ModuleType) -> None:
    """Make the kernels of a module use cache file names that are unique to this process."""
    for kernel in vars(module).values():
        file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        pattern = getattr(file, "_data_name_pattern", "")
        if COUNTER in pattern:
            file._data_name_pattern = pattern.replace(COUNTER, OWN)
