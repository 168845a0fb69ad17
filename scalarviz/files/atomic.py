"""Atomic writing: readers see either the old or the new content of a file, never a part of it.

If supported (O_TMPFILE, on most file systems of Linux) the unfinished file has no name, so a killed
process leaves nothing behind. Otherwise it is called .NAME.xxxxxxxx.part and locked by the writer;
the next save of the same file removes such files of killed writers.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require, shorten
from scalarviz.base.messages import escaped
from scalarviz.base.progress import MEGABYTE, saving
from scalarviz.errors import FileError, InputError

if sys.platform != "win32":
    import fcntl

ABANDONED = 3600.0  # seconds after which a part is removed if locks are not supported
LONGEST_SHOWN = 70  # characters of a path in a message
PIECE = 1 << 24  # bytes written at once
PERMISSIONS = 0o666  # permissions of a new file, before the umask

ENDING = re.compile("[0-9a-f]{8}")  # the random part of the name
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

Bytes = bytes | bytearray | memoryview
Data = Bytes | list[npt.NDArray[Any]]  # arrays, concatenated


def as_path(path: object) -> Path:
    """Return the Path for a text or Path from a user; raise InputError if it is invalid."""
    if isinstance(path, (str, os.PathLike)):
        text = os.fsdecode(path)
        with contextlib.suppress(UnicodeEncodeError):  # lone surrogates cannot be in a file name
            if text and b"\0" not in os.fsencode(text):
                return Path(text)
    raise InputError(f"a path must be a str or a Path, not {shorten(path)}")


def shown(path: Path) -> str:
    """Return a path for messages; a long one is cut at the beginning."""
    text = escaped(repr(str(path)))
    return text if len(text) <= LONGEST_SHOWN else f"'...{text[3 - LONGEST_SHOWN :]}"


def replace_file(path: object, data: Data) -> None:
    """Write `data` to a new file in the folder of `path`, then rename it to `path`.

    Permissions of an existing file are kept, and a symbolic link is followed. Unfinished files of
    killed writers are removed. Raises FileError.
    """
    given = as_path(path)
    try:
        target = Path(os.path.realpath(given))
        permissions = permissions_of(target, given)
        remove_abandoned(target)
        with written(target, data, permissions) as part:
            part.replace(target)
        flush_folder(target.parent)
    except OSError as error:
        raise unsaved(given, error) from error


def check_place(path: object) -> None:
    """Raise FileError if `path` cannot be written; to be called before long work."""
    given = as_path(path)
    try:
        target = Path(os.path.realpath(given))
        mode = target.parent.stat().st_mode
    except FileNotFoundError:
        mode = 0
    except OSError as error:
        raise unsaved(given, error) from error
    require(
        stat.S_ISDIR(mode),
        f"folder not found: {shown(given.parent)}: create it first",
        FileError,
    )
    try:
        permissions_of(target, given)
    except OSError as error:
        raise unsaved(given, error) from error
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise FileError(
            f"nothing can be saved in {shown(given.parent)} ({error.strerror}): choose another "
            "folder"
        ) from error


def unsaved(given: Path, error: OSError) -> FileError:
    """Return the error for a file that could not be written, with the system's reason."""
    return FileError(
        f"{shown(given)} cannot be saved: {error.strerror or error}: choose another path, or fix "
        "this one"
    )


def permissions_of(target: Path, given: Path) -> int | None:
    """Return the permissions of the file to replace, or None if it is missing; raise FileError."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise FileError(f"{shown(given)} is {kind}: choose the name of a file to save to")
    require(
        os.access(target, os.W_OK),
        f"{shown(given)} is write-protected: choose another name, or allow writing",
        FileError,
    )
    return stat.S_IMODE(mode)


def part_of(target: Path, ending: str) -> Path:
    """Return the name of an unfinished file, short enough for every system."""
    return target.with_name(f".{target.name[:50]}.{ending}.part")


@contextmanager
def written(target: Path, data: Data, permissions: int | None) -> Iterator[Path]:
    """Context manager around a locked file with `data` on disk, in the folder of the target.

    The file is removed at the end unless it was renamed.
    """
    part = part_of(target, secrets.token_hex(4))
    try:
        with new_file(part, data, PERMISSIONS if permissions is None else permissions) as file:
            if permissions is not None:
                part.chmod(permissions)
            if sys.platform == "win32":  # Windows cannot rename open files
                file.close()
            yield part
    finally:
        part.unlink(missing_ok=True)


def new_file(part: Path, data: Data, permissions: int) -> IO[bytes]:
    """Return a new file that contains all data and is open and locked."""
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(OSError):  # not supported by this file system
            return write_nameless(part, data, permissions)
    return write_named(part, data, permissions)


def write_nameless(part: Path, data: Data, permissions: int) -> IO[bytes]:
    """Write a file without a name, which gets its name when it is complete."""
    file = os.fdopen(os.open(part.parent, os.O_TMPFILE | os.O_WRONLY, permissions), "wb")
    with closed_on_error(file):
        write_through(file, data)
        take_lock(file)
        folder = os.open(part.parent, os.O_RDONLY)
        try:  # with dst_dir_fd, `link` follows the symbolic link in /proc
            os.link(f"/proc/self/fd/{file.fileno()}", part.name, dst_dir_fd=folder)
        finally:
            os.close(folder)
    return file


def write_named(part: Path, data: Data, permissions: int) -> IO[bytes]:
    """Write a file that has its name from the start."""
    while True:
        file = os.fdopen(os.open(part, NEW, permissions), "wb")
        with closed_on_error(file):
            take_lock(file)
            if part.exists():  # not removed as abandoned before it was locked
                write_through(file, data)
                return file
        file.close()


@contextmanager
def closed_on_error(file: IO[bytes]) -> Iterator[None]:
    """Context manager that closes the file after an error."""
    try:
        yield
    except BaseException:
        file.close()
        raise


def write_through(file: IO[bytes], data: Data) -> None:
    """Write data, and wait until it is on disk."""
    parts, done = [np.frombuffer(data, np.uint8)] if isinstance(data, Bytes) else data, 0
    with saving(sum(part.nbytes for part in parts)) as bar:
        bar.tell(0)
        for part in map(bytes_of, parts):
            for start in range(0, len(part), PIECE):
                done += file.write(part[start : start + PIECE])
                bar.tell(done // MEGABYTE)
    file.flush()
    os.fsync(file.fileno())


def bytes_of(array: npt.NDArray[Any]) -> memoryview:
    """Return the bytes of an array, which is copied only if it is not contiguous."""
    return np.asarray(array, order="C").reshape(-1).view(np.uint8).data


def take_lock(file: IO[bytes]) -> None:
    """Lock a file where supported; the lock ends when the file is closed or the process dies."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def flush_folder(folder: Path) -> None:
    """Wait until the new name of a file in `folder` is on disk, if supported."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_abandoned(target: Path) -> None:
    """Remove unfinished files that killed writers of `target` left behind."""
    start, end = part_of(target, "*").name.rsplit("*", 1)
    with contextlib.suppress(OSError), os.scandir(target.parent) as files:
        for file in files:
            ending = file.name.removeprefix(start).removesuffix(end)
            if file.name == start + ending + end and ENDING.fullmatch(ending):
                with contextlib.suppress(OSError):
                    remove_if_abandoned(file.path)


def remove_if_abandoned(part: str) -> None:
    """Remove an unfinished file if it is not locked or, without support for locks, if it is old."""
    free = time.time() - os.lstat(part).st_mtime > ABANDONED
    if sys.platform == "win32":
        if free:
            os.unlink(part)
        return
    handle = os.open(part, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        except OSError:
            pass  # no locks on this file system
        # While locked, the name refers to this file; before that it may have changed.
        if free and os.path.samestat(os.fstat(handle), os.lstat(part)):
            os.unlink(part)
    finally:
        os.close(handle)


def save_text(text: str, path: object) -> None:
    """Save text in UTF-8; replace an existing file."""
    replace_file(path, text.encode())
