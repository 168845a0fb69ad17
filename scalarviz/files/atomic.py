"""A file written whole or not at all: whoever looks sees the old content or the new, never half."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import stat
import tempfile
import time
from pathlib import Path

from scalarviz.checks import shorten
from scalarviz.errors import FileError, InputError

ABANDONED = 3600.0  # seconds after which a part that nobody finished is removed
LONGEST_SHOWN = 70  # letters of a path in a message
PERMISSIONS = 0o666  # of a new file; the system takes away what the user's umask says


def as_path(path: object) -> Path:
    """The path that a user passed, as text or as a Path."""
    if isinstance(path, (str, os.PathLike)):
        text = os.fsdecode(path)
        if text and "\0" not in text:
            return Path(text)
    raise InputError(f"a path is a text or a Path, not {shorten(path)}")


def shown(path: Path) -> str:
    """A path as a message shows it; where it is long, its end says most."""
    text = repr(str(path))
    return text if len(text) <= LONGEST_SHOWN else f"'...{text[3 - LONGEST_SHOWN :]}"


def replace_file(path: object, data: bytes | bytearray) -> None:
    """Write `data` into a new file beside `path`, and then put it in the place of `path`.

    The permissions of a file that was there are kept, and a link is followed. What an earlier
    program left unfinished here, because it was killed, is removed after an hour.
    """
    given = as_path(path)
    try:
        target = Path(os.path.realpath(given))
        permissions = permissions_of(target, given)
        remove_abandoned(target)
        part = part_of(target, secrets.token_hex(4))
        try:
            write_through(part, data, PERMISSIONS if permissions is None else permissions)
            if permissions is not None:
                part.chmod(permissions)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        flush_folder(target.parent)
    except OSError as error:
        raise FileError(
            f"{shown(given)} cannot be saved: {error.strerror or error}: choose another "
            "place, or mend this one"
        ) from error


def check_place(path: object) -> None:
    """Refuse a place where `replace_file` could not write, before the work is done."""
    given = as_path(path)
    target = Path(os.path.realpath(given))
    if not target.parent.is_dir():
        raise FileError(f"there is no folder {shown(given.parent)} to save in: make it first")
    permissions_of(target, given)
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise FileError(
            f"nothing can be saved in {shown(given.parent)} ({error.strerror}): choose another "
            "folder"
        ) from error


def permissions_of(target: Path, given: Path) -> int | None:
    """The permissions of the file that will be replaced; None if there is none."""
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
    """A name for what is not yet finished, beside the file and short enough for every system."""
    return target.with_name(f".{target.name[:50]}.{ending}.part")


def write_through(part: Path, data: bytes | bytearray, permissions: int) -> None:
    """Write a new file, and wait until the disk has it."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, permissions)

    with open(part, "xb", opener=opener) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Wait until the disk knows the new name, on systems where a folder can be asked that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_abandoned(target: Path) -> None:
    """Remove what a program that was killed while saving here has left."""
    pattern = part_of(Path(glob.escape(str(target.parent)), target.name), "*")
    escaped = pattern.with_name(glob.escape(pattern.name).replace("[*]", "*"))
    for name in glob.glob(str(escaped)):
        with contextlib.suppress(OSError):
            if time.time() - os.stat(name).st_mtime > ABANDONED:
                os.unlink(name)
