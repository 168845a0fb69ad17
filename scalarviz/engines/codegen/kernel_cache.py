"""What numba keeps of compiled kernels, when several processes compile at the same time.

numba counts the files of a kernel: 1, 2, ... Two processes that compile it for different arguments
would both write the first; the index of one would then name the code of the other, and who follows
it crashes. So each process gives its files names of its own.
"""

from __future__ import annotations

import os
import secrets
from types import ModuleType
from typing import Any

COUNTER = ".{number:d}."
OWN = f".{os.getpid():x}{secrets.token_hex(4)}_{{number:d}}."


def keep_apart(module: ModuleType) -> None:
    """Name what will be kept of the kernels of a module as no other process does."""
    for kernel in vars(module).values():
        file: Any = getattr(getattr(kernel, "_cache", None), "_cache_file", None)
        pattern = getattr(file, "_data_name_pattern", "")
        if COUNTER in pattern:
            file._data_name_pattern = pattern.replace(COUNTER, OWN)
