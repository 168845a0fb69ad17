"""Atomic writing: a reader sees the old content of a file or the new one, never a part.

The unfinished file is called .NAME.xxxxxxxx.part. A killed process leaves it behind; a save of the
same file removes it when it is an hour old.
"""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import stat
import tempfile
import time
from pathlib import Path

from scalarviz.checks.numbers import shorten
from scalarviz.draw2d.progress import MEGABYTE, saving
from scalarviz.errors import FileError, InputError
from scalarviz.errors.visible_text import escaped

ABANDONED = 3600.0  # seconds after the last write of a part, when its writer is taken for dead
LONGEST_SHOWN = 70  # characters of a path in a message
PIECE = 1 << 24  # bytes written at once
PERMISSIONS = 0o666  # of a new file, before the umask
ENDING = "[0-9a-f]" * 8  # pattern of the random part of the name

Data = bytes | bytearray | memoryview


def as_path(path: object) -> Path:
    """Return the path that a user passed, as text or as a Path; raise InputError."""
    if isinstance(path, (str, os.PathLike)):
        text = os.fsdecode(path)
        if text and "\0" not in text and can_be_encoded(text):
            return Path(text)
    raise InputError(f"a path must be a str or a Path, not {shorten(path)}")


def can_be_encoded(text: str) -> bool:
    """Return whether a text can name a file: half of a pair of letters cannot."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def shown(path: Path) -> str:
    """Return a path for messages; a long one loses its beginning."""
    text = escaped(repr(str(path)))
    return text if len(text) <= LONGEST_SHOWN else f"'...{text[3 - LONGEST_SHOWN :]}"


def replace_file(path: object, data: Data) -> None:
    """Write `data` into a new file beside `path`, then rename it to `path`.

    Permissions of an existing file are kept, and a symbolic link is followed. Raises FileError.
    """
    given = as_path(path)
    try:
        target = Path(os.path.realpath(given))
        permissions = permissions_of(target, given)
        remove_abandoned(target)
        part = part_of(target, secrets.token_hex(4))
        try:
            write_new(part, data, permissions)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        flush_folder(target.parent)
    except OSError as error:
        raise unsaved(given, error) from error


def check_place(path: object) -> None:
    """Raise FileError if `replace_file` could not write here; called before long work."""
    given = as_path(path)
    try:
        target = Path(os.path.realpath(given))
        mode = target.parent.stat().st_mode
    except FileNotFoundError:
        mode = 0
    except OSError as error:
        raise unsaved(given, error) from error
    if not stat.S_ISDIR(mode):
        raise FileError(f"there is no folder {shown(given.parent)} to save in: make it first")
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
    """Return the error for a file that the system does not write, for its reason."""
    return FileError(
        f"{shown(given)} cannot be saved: {error.strerror or error}: choose another "
        "place, or repair this one"
    )


def permissions_of(target: Path, given: Path) -> int | None:
    """Return the permissions of the file to replace, or None if there is none; raise FileError."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "no ordinary file"
        raise FileError(f"{shown(given)} is {kind}: choose the name of a file to save to")
    if not os.access(target, os.W_OK):
        raise FileError(
            f"{shown(given)} is protected against writing: choose another name, or permit it"
        )
    return stat.S_IMODE(mode)


def part_of(target: Path, ending: str) -> Path:
    """Return the name of an unfinished file; short enough for every system."""
    return target.with_name(f".{target.name[:50]}.{ending}.part")


def write_new(part: Path, data: Data, permissions: int | None) -> None:
    """Write a new file, and wait until the data is on the disk."""

    def create(name: str, flags: int) -> int:
        return os.open(name, flags, PERMISSIONS if permissions is None else permissions)

    whole = memoryview(data)
    with open(part, "xb", opener=create) as file, saving(len(whole)) as bar:
        if permissions is not None:  # those that the umask took away
            part.chmod(permissions)
        bar.tell(0)
        for start in range(0, len(whole), PIECE):
            file.write(whole[start : start + PIECE])
            bar.tell((start + PIECE) // MEGABYTE)
        file.flush()
        os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Wait until the new name is on the disk, where supported."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_abandoned(target: Path) -> None:
    """Remove parts of this file whose writers were killed."""
    start, end = part_of(target, "*").name.rsplit("*", 1)
    for part in target.parent.glob(glob.escape(start) + ENDING + end):
        with contextlib.suppress(OSError):
            if time.time() - part.lstat().st_mtime > ABANDONED:
                part.unlink()
