"""Files of kernels on disk: the cache folder, and what numba keeps beside a file.

The name of a file has a hash of its text, and so of everything that its kernels depend on. So what
numba has compiled for it is never out of date.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scalarviz.engines.codegen.kernel_source import assigned_names
from scalarviz.errors import EngineError

DAYS_KEPT = 14


def path_of(text: str, stem: str) -> Path:
    """Return the path of the file of kernels with a text."""
    return cache_folder() / f"{stem}_{hashlib.sha256(text.encode()).hexdigest()[:20]}.py"


def cache_folder() -> Path:
    """Return the cache folder: $SCALARVIZ_CACHE_DIR, the user's cache, or a temporary folder."""
    asked = os.environ.get("SCALARVIZ_CACHE_DIR")
    if asked and can_write(Path(asked)):
        return Path(asked)
    with suppress(RuntimeError):  # there may be no home
        folder = user_cache()
        if can_write(folder) and is_private(folder):
            return folder
    # A folder that others can write to is unsafe: its files are imported.
    user = os.getuid() if sys.platform != "win32" else "user"
    folder = Path(tempfile.gettempdir()) / f"scalarviz-{user}"
    if can_write(folder) and is_private(folder):
        return folder
    return Path(tempfile.mkdtemp(prefix="scalarviz-"))


def user_cache() -> Path:
    """Return the cache folder of this user on this operating system."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "scalarviz"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/scalarviz"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "scalarviz"


def can_write(folder: Path) -> bool:
    """Whether a file can be created in a folder; creates the folder if needed."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def is_private(folder: Path) -> bool:
    """Whether the folder belongs to the user and nobody else can write to it."""
    if sys.platform == "win32":
        return True
    found = folder.lstat()
    return found.st_uid == os.getuid() and not found.st_mode & 0o022 and not folder.is_symlink()


def write(path: Path, text: str) -> bool:
    """Write a text to a file, and return True; False if it has it.

    Another process may do so at the same time. Raises EngineError if the text has two different
    definitions of one name.
    """
    content = text.encode()
    if path.is_file() and path.read_bytes() == content:
        return False
    check_names(text)
    replace_file(path, content)
    return True


def replace_file(path: Path, content: bytes) -> None:
    """Write a file as a whole; another process may write the same at the same time."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except PermissionError:  # on Windows, while another process reads the file it has written
        if path.read_bytes() != content:
            raise
    finally:
        Path(temporary).unlink(missing_ok=True)


def compiled_files(path: Path, ending: str = "nb?") -> list[Path]:
    """Return numba's cache files for a file of kernels; with ending "*" those of a killed process.

    A process that is killed while it writes a file leaves it under a temporary name.
    """
    elsewhere = os.environ.get("NUMBA_CACHE_DIR")
    if elsewhere:  # numba makes a folder there for each folder with sources
        source = hashlib.sha1(os.path.abspath(path.parent).encode()).hexdigest()
        return list(Path(elsewhere).glob(f"*_{source}/{path.stem}.*.{ending}"))
    return list(path.parent.glob(f"__pycache__/{path.stem}.*.{ending}"))


def is_compiled(path: Path) -> bool:
    """Whether numba's cache has the machine code of a file with one kernel."""
    return {file.suffix for file in compiled_files(path)} == {".nbi", ".nbc"}


def drop_damaged(path: Path) -> None:
    """Delete numba's cache files if one of them is truncated, which numba would not handle."""
    files = compiled_files(path)
    if not all(file.read_bytes()[-1:] == b"." for file in files):  # a pickle ends with a full stop
        for file in files:
            file.unlink(missing_ok=True)


def remove_old(path: Path, stem: str) -> None:
    """Remove earlier versions of a file, and temporary files, not read for DAYS_KEPT days."""
    limit = time.time() - DAYS_KEPT * 24 * 3600
    for other in [*path.parent.glob(f"{stem}_*{path.suffix}"), *path.parent.glob("*.new")]:
        with suppress(OSError):  # another process may be faster
            if other != path and max(other.stat().st_mtime, other.stat().st_atime) < limit:
                for file in [*compiled_files(other, "*"), other]:
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
            if other is not node and ast.dump(other) != ast.dump(node):
                raise EngineError(
                    f"a file of kernels would give {name} two meanings, in the lines "
                    f"{other.lineno} and {node.lineno}: rename one of them"
                )


def names_defined(node: ast.stmt) -> Iterator[str]:
    """Iterate over the names that a statement of a module defines, except imports."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from assigned_names(target)
