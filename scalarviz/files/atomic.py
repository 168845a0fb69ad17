"""A file written whole or not at all: whoever looks sees the old content or the new, never half.

What is not finished has no name where the system can write a file without one (Linux, on most
disks): a kill leaves nothing behind. Elsewhere it is called .NAME.xxxxxxxx.part and locked by its
writer; what a killed writer left is removed when the file is next saved.
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
from typing import IO

from scalarviz.checks.numbers import shorten
from scalarviz.errors import FileError, InputError
from scalarviz.errors.visible_text import escaped

if sys.platform != "win32":
    import fcntl

ABANDONED = 3600.0  # seconds after which a part goes whose writer cannot be asked by a lock
LONGEST_SHOWN = 70  # letters of a path in a message
PERMISSIONS = 0o666  # of a new file; the system takes away what the user's umask says

ENDING = re.compile("[0-9a-f]{8}")  # of a part
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

Data = bytes | bytearray | memoryview


def as_path(path: object) -> Path:
    """The path that a user passed, as text or as a Path."""
    if isinstance(path, (str, os.PathLike)):
        text = os.fsdecode(path)
        if text and "\0" not in text:
            return Path(text)
    raise InputError(f"a path is a text or a Path, not {shorten(path)}")


def shown(path: Path) -> str:
    """A path as a message shows it; where it is long, its end says most."""
    text = escaped(repr(str(path)))
    return text if len(text) <= LONGEST_SHOWN else f"'...{text[3 - LONGEST_SHOWN :]}"


def replace_file(path: object, data: Data) -> None:
    """Write `data` into a new file beside `path`, and then put it in the place of `path`.

    The permissions of a file that was there are kept, and a link is followed. What an earlier
    program left unfinished here, because it was killed, is removed.
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


@contextmanager
def written(target: Path, data: Data, permissions: int | None) -> Iterator[Path]:
    """A new file beside the target, which holds `data` and is on the disk; at the end it goes.

    Its lock is held meanwhile, so that nobody takes it for abandoned.
    """
    part = part_of(target, secrets.token_hex(4))
    try:
        with new_file(part, data, PERMISSIONS if permissions is None else permissions) as file:
            if permissions is not None:
                part.chmod(permissions)
            if sys.platform == "win32":  # renames no open file
                file.close()
            yield part
    finally:
        part.unlink(missing_ok=True)


def new_file(part: Path, data: Data, permissions: int) -> IO[bytes]:
    """A new file of this name, whole, open and locked."""
    if hasattr(os, "O_TMPFILE"):
        with contextlib.suppress(OSError):  # not on this disk: then with a name from the start
            return write_nameless(part, data, permissions)
    return write_named(part, data, permissions)


def write_nameless(part: Path, data: Data, permissions: int) -> IO[bytes]:
    """Write a file that gets its name when it is whole."""
    file = os.fdopen(os.open(part.parent, os.O_TMPFILE | os.O_WRONLY, permissions), "wb")
    with closed_on_error(file):
        write_through(file, data)
        take_lock(file)
        folder = os.open(part.parent, os.O_RDONLY)
        try:  # given a folder, `link` follows what /proc says of an open file
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
            if part.exists():  # nobody has taken it for abandoned before it was locked
                write_through(file, data)
                return file
        file.close()


@contextmanager
def closed_on_error(file: IO[bytes]) -> Iterator[None]:
    """After an error the file is closed."""
    try:
        yield
    except BaseException:
        file.close()
        raise


def write_through(file: IO[bytes], data: Data) -> None:
    """Write, and wait until the disk has it."""
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def take_lock(file: IO[bytes]) -> None:
    """Lock a file where the system can; the lock ends when the file is closed, by a kill too."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)


def flush_folder(folder: Path) -> None:
    """Wait until the disk knows the new name, on systems where a folder can be asked that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_abandoned(target: Path) -> None:
    """Remove what programs that were killed while saving here have left."""
    start, end = part_of(target, "*").name.rsplit("*", 1)
    with contextlib.suppress(OSError), os.scandir(target.parent) as files:
        for file in files:
            ending = file.name.removeprefix(start).removesuffix(end)
            if file.name == start + ending + end and ENDING.fullmatch(ending):
                with contextlib.suppress(OSError):
                    remove_if_abandoned(file.path)


def remove_if_abandoned(part: str) -> None:
    """Remove a part that nobody has locked; where there are no locks, one that is old."""
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
            pass  # this disk has no locks
        # While it is locked nobody gives its name to another file; before, somebody may have.
        if free and os.path.samestat(os.fstat(handle), os.lstat(part)):
            os.unlink(part)
    finally:
        os.close(handle)
