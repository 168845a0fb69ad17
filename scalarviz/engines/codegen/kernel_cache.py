"""What numba compiles, kept in files that are loaded only if they are whole.

numba unpickles its index and its machine code without a check, so that a damaged file ends the
process; numbers the files of a kernel, so that two processes write the same one; and raises an
OSError where the disk is full. In its place each kernel has a file for each set of arguments and
processor, which begins with a digest of the rest. A kernel that cannot be kept is used anyway.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from scalarviz.engines.codegen.cache_files import keep, kept, tell_not_kept


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The files of one kernel in a folder; takes the place of numba's `own` object for them."""

    own: Any
    folder: Path

    def path(self, key: object) -> Path:
        """Return the path for a key: arguments, processor, and a hash of the function."""
        made_of = repr((key, self.own._source_stamp, self.own._version))
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:20]
        return self.folder / f"{Path(self.own._index_name).stem}.{digest}.nbc"

    def load(self, key: object) -> Any:
        """Return what was saved for a key; None if there is none, or it is damaged."""
        content = kept(self.path(key))
        return None if content is None else pickle.loads(content)

    def save(self, key: object, data: object) -> None:
        """Keep what is loaded for a key."""
        keep(self.path(key), self.own._dump(data))


def keep_whole_files(module: ModuleType, *, beside: bool = True) -> None:
    """Make the kernels of a module keep their machine code in `KernelFile`s.

    beside  whether these files are beside the module, or where numba keeps its own
    """
    for kernel in vars(module).values():
        cache: Any = getattr(kernel, "_cache", None)
        if hasattr(cache, "_cache_file"):
            folder = Path(str(module.__file__)).parent / "__pycache__"
            folder = folder if beside else Path(cache.cache_path)
            cache._cache_file = KernelFile(cache._cache_file, folder)
            cache.save_overload = partial(save_if_possible, cache.save_overload, folder)


def save_if_possible(save: Callable[..., None], folder: Path, *args: Any) -> None:
    """Call numba's function that saves a kernel; it, too, tries whether the folder is there."""
    try:
        save(*args)
    except OSError as error:
        tell_not_kept(folder, error.strerror)


def enable_caching(*kernels: Any) -> None:
    """Have numba keep kernels, unless their file or their folder is not there."""
    for kernel in kernels:
        with suppress(OSError, RuntimeError):  # numba's RuntimeError says that it found no folder
            kernel.enable_caching()
