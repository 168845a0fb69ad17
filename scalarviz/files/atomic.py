"""Atomic writing: readers see either the old or the new content of a file, never a part of it.

The unfinished file is called .NAME.xxxxxxxx.part; only a process that is killed leaves one behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require, shorten
from scalarviz.base.messages import escaped
from scalarviz.base.progress import MEGABYTE, saving
from scalarviz.errors import FileError, InputError

LONGEST_SHOWN = 70  # characters of a path in a message
PIECE = 1 << 24  # bytes written at once
PERMISSIONS = 0o666  # permissions of a new file, before the umask

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

    Permissions of an existing file are kept, and a symbolic link is followed. Raises FileError.
    """
    given = as_path(path)
    try:
        target = Path(os.path.realpath(given))
        permissions = permissions_of(target, given)
        part = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.part")
        mode = PERMISSIONS if permissions is None else permissions
        try:
            with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                write_through(file, data)
            if permissions is not None:  # without the umask
                part.chmod(permissions)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise unsaved(given, error) from error


def check_place(path: object) -> None:
    """Raise FileError if `path` cannot be written; to be called before long work."""
    given = as_path(path)
    missing = f"folder not found: {shown(given.parent)}: create it first"
    try:
        target = Path(os.path.realpath(given))
        require(stat.S_ISDIR(target.parent.stat().st_mode), missing, FileError)
        permissions_of(target, given)
    except FileNotFoundError as error:
        if error.filename is None:  # raised by os.getcwd
            missing = "the current folder was removed: change to another one"
        raise FileError(missing) from error
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


def save_text(text: str, path: object) -> None:
    """Save text in UTF-8; replace an existing file."""
    replace_file(path, text.encode())
