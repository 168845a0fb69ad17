"""Kernel files on disk: the cache folder, and the machine code stored next to each file.

The name of a file contains a hash of its text, which includes everything that its kernels depend
on, so compiled code is never out of date. If nothing can be stored, for example on a full disk,
kernels are compiled in memory.

numba's own cache has three problems. It unpickles its index and its machine code without a check,
so a damaged file crashes the process. It numbers the files of a kernel, so two processes may write
the same file. It raises an OSError if the disk is full. Here, each kernel has a file for each set
of argument types and processor, which begins with a digest of its content, and a kernel that cannot
be stored is still used.
"""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from scalarviz.base.checks import require
from scalarviz.base.messages import inform_once
from scalarviz.errors import EngineError

DAYS_KEPT = 14
DIGEST = 32  # bytes at the start of a stored file


def path_of(text: str, stem: str, suffix: str = ".py") -> Path:
    """Return the path in the cache folder for a file that contains, or is made from, `text`."""
    return cache_folder() / f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:20]}{suffix}"


def cache_folder() -> Path:
    """Return the cache folder: $SCALARVIZ_CACHE_DIR, the user's cache, or a temporary folder.

    A folder writable by others is not used, since its content is executed. If no folder is
    writable, the result is a path at which no folder can exist.
    """
    asked = os.environ.get("SCALARVIZ_CACHE_DIR")
    if asked:
        if suits(Path(asked).resolve()):
            return Path(asked)
        inform_once(
            f"SCALARVIZ_CACHE_DIR is not used: {asked} must be your own folder, writable only by "
            "you, since its compiled kernels are executed (chmod go-w)"
        )
    with suppress(RuntimeError):  # there may be no home
        if suits(user_cache()):
            return user_cache()
    user = os.getuid() if sys.platform != "win32" else "user"
    try:
        folder = Path(tempfile.gettempdir()) / f"scalarviz-{user}"
        return folder if suits(folder) else own_folder()
    except OSError:
        return Path(os.devnull) / "scalarviz"


def suits(folder: Path) -> bool:
    """Return whether kernels can be stored in a folder, and nobody else can write to it."""
    return can_write(folder) and is_private(folder)


@cache
def own_folder() -> Path:
    """Create and return a temporary folder for this process only."""
    return Path(tempfile.mkdtemp(prefix="scalarviz-"))


def tell_not_kept(folder: Path, reason: str | None) -> None:
    """Log once that kernels cannot be stored."""
    inform_once(
        f"compiled kernels cannot be stored in {folder} ({reason}), so every start compiles them "
        "again: free some space there, or set SCALARVIZ_CACHE_DIR to another folder"
    )


def user_cache() -> Path:
    """Return the cache folder of this user on this operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "scalarviz"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/scalarviz"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalarviz"


def can_write(folder: Path) -> bool:
    """Return whether a file can be created in a folder, which is created if needed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def is_private(folder: Path) -> bool:
    """Return whether the folder belongs to the user and nobody else can write to it."""
    if sys.platform == "win32":
        return True
    found = folder.lstat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022 and not folder.is_symlink()


def write(path: Path, text: str) -> bool:
    """Write a text to a file and return True; return False if it is unchanged or not writable.

    Another process may write the file at the same time. Raises EngineError if the text has two
    different definitions of one name.
    """
    content = text.encode()
    with suppress(OSError):
        if path.read_bytes() == content:
            return False
    check_names(text)
    return replace_file(path, content)


def replace_file(path: Path, content: bytes) -> bool:
    """Write a file atomically and return True; on failure, log it once and return False.

    Another process may write the same file at the same time.
    """
    temporary = None
    try:
        path.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except OSError as error:
        # On Windows, while another process reads the file it has written.
        if not (isinstance(error, PermissionError) and path.is_file()):
            tell_not_kept(path.parent, error.strerror)
            return False
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)
    return True


def kept(path: Path) -> bytes | None:
    """Return the content of a file written by `keep`, or None if it is missing or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return without_digest(path.name, content)


def keep(path: Path, content: bytes, stem: str = "") -> None:
    """Write a file that `kept` can read, if possible; remove old files with the same `stem`."""
    if replace_file(path, with_digest(path.name, content)) and stem:
        remove_old(path, stem)


def with_digest(name: str, content: bytes) -> bytes:
    """Return a content preceded by a digest of the name of its file and the content."""
    return hashlib.sha256(b"\0".join([name.encode(), content])).digest() + content


def without_digest(name: str, content: bytes) -> bytes | None:
    """Return what `with_digest` was given, or None if it is damaged."""
    found = content[DIGEST:]
    return found if with_digest(name, found) == content else None


def compiled_files(path: Path) -> list[Path]:
    """Return the files that contain the machine code of a kernel file."""
    return list(path.parent.glob(f"__pycache__/{path.stem}.*"))


def is_compiled(path: Path) -> bool:
    """Return whether intact machine code is stored for a file with one kernel."""
    return any(kept(file) is not None for file in compiled_files(path))


def run_file(path: Path, text: str | None = None) -> ModuleType:
    """Run a kernel file and return its module, without compiling or loading its kernels.

    Args:
        text: content of the file, which then need not exist; by default the file is read
    """
    module = sys.modules[path.stem] = ModuleType(path.stem)
    module.__file__ = str(path)
    text = path.read_text(encoding="utf-8") if text is None else text
    exec(compile(text, str(path), "exec", dont_inherit=True), vars(module))
    return module


def remove_old(path: Path, stem: str) -> None:
    """Remove temporary files, and old versions of a file, that were not used for DAYS_KEPT days."""
    limit = time.time() - DAYS_KEPT * 24 * 3600
    for other in [*path.parent.glob(f"{stem}_*{path.suffix}"), *path.parent.glob("**/*.new")]:
        with suppress(OSError):  # another process may be faster
            if other != path and max(other.stat().st_mtime, other.stat().st_atime) < limit:
                for file in [*compiled_files(other), other]:
                    file.unlink()


def check_names(text: str) -> None:
    """Raise an EngineError if a text has two different definitions of one name.

    The modules of a template share one namespace: a later definition would replace an earlier one
    everywhere.
    """
    found: dict[str, ast.stmt] = {}
    for node in ast.parse(text).body:
        for name in names_defined(node):
            other = found.setdefault(name, node)
            require(
                other is node or ast.dump(other) == ast.dump(node),
                f"a file of kernels would give {name} two meanings, in the lines "
                f"{other.lineno} and {node.lineno}: rename one of them",
                EngineError,
            )


def names_defined(node: ast.stmt) -> Iterator[str]:
    """Yield the names defined by a statement of a module, except imports."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from assigned_names(target)


def assigned_names(syntax: ast.AST) -> set[str]:
    """Return the names assigned in a syntax tree."""
    names = [node for node in ast.walk(syntax) if isinstance(node, ast.Name)]
    return {node.id for node in names if isinstance(node.ctx, ast.Store)}


@dataclass(frozen=True, slots=True)
class KernelFile:
    """The cached files of one kernel in a folder; replaces numba's cache file object."""

    own: Any
    folder: Path

    def path(self, key: object) -> Path:
        """Return the path for a key, which identifies argument types, processor and function."""
        made_of = repr((key, self.own._source_stamp, self.own._version))
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:20]
        return self.folder / f"{Path(self.own._index_name).stem}.{digest}.nbc"

    def load(self, key: object) -> Any:
        """Return the data saved for a key, or None if it is missing or damaged."""
        content = kept(self.path(key))
        return None if content is None else pickle.loads(content)

    def save(self, key: object, data: object) -> None:
        """Save data under a key."""
        keep(self.path(key), self.own._dump(data))


def keep_whole_files(module: ModuleType, *, beside: bool = True) -> None:
    """Make the kernels of a module store their machine code in `KernelFile`s.

    Args:
        beside: True stores the files next to the module, False in numba's cache folder
    """
    for kernel in vars(module).values():
        cache: Any = getattr(kernel, "_cache", None)
        if hasattr(cache, "_cache_file"):
            folder = Path(str(module.__file__)).parent / "__pycache__"
            folder = folder if beside else Path(cache.cache_path)
            cache._cache_file = KernelFile(cache._cache_file, folder)
            cache.save_overload = partial(save_if_possible, cache.save_overload, folder)


def save_if_possible(save: Callable[..., None], folder: Path, *args: Any) -> None:
    """Save a kernel with numba's function `save`; if that fails, log it once."""
    try:
        save(*args)
    except OSError as error:
        tell_not_kept(folder, error.strerror)


def enable_caching(*kernels: Any) -> None:
    """Enable numba's cache for kernels, except where their file or folder is missing."""
    for kernel in kernels:
        with suppress(OSError, RuntimeError):  # numba raises RuntimeError if it finds no folder
            kernel.enable_caching()
