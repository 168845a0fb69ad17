"""Errors in users' code, reported by file and line without frames of scalarviz.

Users' code runs when a scene is loaded, when it is called, and while it trains.
"""

from __future__ import annotations

import reprlib
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from scalarviz.base.package_files import PACKAGE, top_folder
from scalarviz.errors import FileError, InputError, ScalarvizError, SceneError

MOST_FRAMES = 10  # the last ones, for endless recursion
LONGEST = 300  # characters of an error
FORMER = "write `from scalarviz import Show` instead"  # of `scalarviz.stage.show`


def is_users(file: str) -> bool:
    """Return whether a file belongs to neither scalarviz, Python nor an installed package."""
    path = Path(file)
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    library = Path(sysconfig.get_path("stdlib"))
    ours = any(path.is_relative_to(home) for home in (PACKAGE, top_folder("scenes"), library))
    return path.is_absolute() and not (installed or ours)


@contextmanager
def told_by_line(path: Path | None = None) -> Iterator[None]:
    """Turn an error in users' code into a SceneError; other errors pass.

    `path` is a user's file being loaded: then every error is attributed to it.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        told = scene_error(error, path)
        if told is None:
            raise
        raise told from error


def answer(error: Exception) -> ScalarvizError | None:
    """Return the error to print on a command line; None for a bug, which needs its traceback.

    Errors of scalarviz are returned as they are, errors in users' code as SceneError, and errors of
    the operating system about a file, or about the current folder, as FileError, and too little
    memory as InputError.
    """
    if isinstance(error, ScalarvizError):
        return error
    told = scene_error(error)
    if told is None and isinstance(error, OSError) and error.filename is not None:
        return FileError(f"{reprlib.repr(error.filename)}: {error.strerror}: choose another file")
    if told is None and isinstance(error, FileNotFoundError):  # raised by os.getcwd, or by tempfile
        if "temporary" in str(error):
            return FileError("there is no temporary folder to write to: name one by TMPDIR")
        return FileError("the current folder was removed: change to another one")
    if told is None and isinstance(error, MemoryError):
        return InputError("memory does not suffice: take smaller layers, batches or data")
    return told


def scene_error(error: BaseException, path: Path | None = None) -> SceneError | None:
    """Return an error in users' code as a SceneError; None if no user's code was involved.

    The traceback of `error` is cut to the user's frames.
    """
    if isinstance(error, SceneError):
        return error
    steps = [step for step in walk(error.__traceback__) if is_users(file_of(step))]
    if not steps and (path is None or not is_users(str(path.absolute()))):
        return None
    trace = None
    for step in reversed(steps):
        trace = TracebackType(trace, step.tb_frame, step.tb_lasti, step.tb_lineno)
    error.__traceback__ = trace
    if isinstance(error, SyntaxError) and error.filename and is_users(error.filename):
        where = place(error.filename, error.lineno)
    elif steps:
        where = place(file_of(steps[-1]), steps[-1].tb_lineno)
    else:
        where = place(str(path), None)
    frames = traceback.format_tb(trace, -MOST_FRAMES) if len(steps) > 1 else []
    return SceneError(f"{where}: {in_words(error)}", frames)


def walk(trace: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the entries of a traceback, outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def file_of(step: TracebackType) -> str:
    return step.tb_frame.f_code.co_filename


def place(file: str, line: int | None) -> str:
    """Return a file, relative to the current folder if possible, and a line."""
    path = Path(file)
    with suppress(OSError, ValueError):  # the folder was removed, or the file is elsewhere
        path = path.relative_to(Path.cwd())
    return f"{path}, line {line}" if line else str(path)


def place_of(function: Callable[..., Any]) -> str:
    """Return where a function begins."""
    code = getattr(function, "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else repr(function)


def in_words(error: BaseException) -> str:
    """Return an error in one line."""
    text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    if isinstance(error, ScalarvizError):
        return text
    if isinstance(error, ModuleNotFoundError):
        former = (error.name or "").startswith("scalarviz.stage")
        text += f": {FORMER if former else 'install the package that has it, or correct the name'}"
    name = type(error).__name__
    return f"{name}: {text}" if text else name
