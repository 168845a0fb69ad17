"""Errors in a user's own code: told by file and line, without a frame of ours.

What a scene runs when it is loaded, when it is called, and later while it trains is the user's.
"""

from __future__ import annotations

import reprlib
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from scalarviz.errors import FileError, ScalarvizError, SceneError

PACKAGE = Path(__file__).parent.parent
MOST_FRAMES = 10  # the last ones, where a function calls itself without end
LONGEST = 300  # letters of an error


def folder_of_scenes() -> Path:
    """Where the scenes are that come with the package: inside it, or beside it in a checkout."""
    folders = [PACKAGE / "scenes", PACKAGE.parent / "scenes"]
    return next((folder for folder in folders if (folder / "__init__.py").exists()), folders[0])


def is_users(file: str) -> bool:
    """Whether a file is neither ours, nor Python's, nor that of a package that was installed."""
    path = Path(file)
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    library = Path(sysconfig.get_path("stdlib"))
    ours = any(path.is_relative_to(home) for home in (PACKAGE, folder_of_scenes(), library))
    return path.is_absolute() and not (installed or ours)


@contextmanager
def told_by_line(path: Path | None = None) -> Iterator[None]:
    """Turn an error of the user's code into one sentence; an error of ours stays what it is.

    `path` is a file of the user's that is being loaded, so that whatever happens is its doing.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        told = scene_error(error, path)
        if told is None:
            raise
        raise told from error


def answer(error: Exception) -> ScalarvizError | None:
    """What a command line says of an error; None of a mistake of ours, which needs its traceback.

    Errors of ours are sentences already. Besides those of the user's code there are those of the
    system about a file, such as a name that is too long.
    """
    if isinstance(error, ScalarvizError):
        return error
    told = scene_error(error)
    if told is None and isinstance(error, OSError) and error.filename is not None:
        return FileError(f"{reprlib.repr(error.filename)}: {error.strerror}: choose another file")
    return told


def scene_error(error: BaseException, path: Path | None = None) -> SceneError | None:
    """An error of the user's code in a sentence; None if none of that was at work.

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
    """The steps of a traceback, from the outermost on."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def file_of(step: TracebackType) -> str:
    return step.tb_frame.f_code.co_filename


def place(file: str, line: int | None) -> str:
    """A file, relative to the current folder if it is in there, and a line of it."""
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return f"{path}, line {line}" if line else str(path)


def place_of(function: Callable[..., Any]) -> str:
    """Where a function begins."""
    code = getattr(function, "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else repr(function)


def in_words(error: BaseException) -> str:
    """An error in one line; those of ours are sentences already."""
    text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    if isinstance(error, ScalarvizError):
        return text
    if isinstance(error, ModuleNotFoundError):
        text += ": install the package that has it, or correct the name"
    name = type(error).__name__
    return f"{name}: {text}" if text else name
