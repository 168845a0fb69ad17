"""Find and load scene files; report errors in their code with file and line.

A scene is a file that defines a function `scene`. It is given by a name in `scenes/` or by a path.
User code runs when a scene is loaded, when its function is called, and during training.
"""

from __future__ import annotations

import ast
import os.path
import reprlib
import runpy
import shlex
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from scalarviz.base.messages import say
from scalarviz.base.package_files import PACKAGE, top_folder
from scalarviz.base.shell_commands import program
from scalarviz.errors import FileError, InputError, ScalarvizError, SceneError, UnknownNameError

Scene = Callable[..., Any]


def scenes() -> dict[str, Path]:
    """Return the built-in scenes by name."""
    return {path.stem: path for path in sorted(top_folder("scenes").glob("[!_]*.py"))}


def find(name: str) -> Path:
    """Return the file of a scene, given by name or path.

    Raises:
        UnknownNameError: if the name is unknown.
        InputError: if there is no file at the path.
    """
    known = scenes()
    if name in known:
        return known[name]
    shown = reprlib.repr(name)
    if name.partition("#")[0].partition("?")[0] in known:
        raise InputError(
            f"{shown} is a link to a moment: open it with `{program()} open {shlex.quote(name)}`"
        )
    if os.path.isdir(name):
        raise InputError(
            f"{shown} is a folder: pass the path of a scene, which is a .py file, or a name"
        )
    if name.endswith(".safetensors"):
        raise InputError(
            f"{shown} is a saved training run: open it with {program()} replay {shown}"
        )
    if not name.endswith(".py"):
        raise UnknownNameError("scene", name, known)
    if not os.path.isfile(name):
        raise InputError(f"file not found: {shown}: pass the path of a scene, or a name")
    return Path(name)


def name_of(scene: Scene) -> str:
    """Return the name of a scene if it is built in, otherwise ""."""
    file = getattr(scene, "__globals__", {}).get("__file__", "")
    place = Path(file).resolve()
    return next((name for name, path in scenes().items() if path.resolve() == place), "")


def load(path: Path) -> Scene:
    """Return the function `scene` of a file; raise SceneError if its code fails."""
    path = path.absolute()
    folder = str(path.parent)  # it may import from its folder, as under `python FILE`
    if sys.path[0] != folder:  # a sweep loads it for each seed
        sys.path.insert(0, folder)
    with told_by_line(path):
        names: dict[str, Scene] = runpy.run_path(str(path))
    if not callable(names.get("scene")):
        raise InputError(
            f"{place(str(path), None)} has no function named scene: write `def scene(lr=0.5):` "
            "and return a Session"
        )
    return names["scene"]


def about(path: Path) -> str:
    """Return the first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_bytes(), filename=str(path))) or ""
    return text.partition("\n")[0]


def print_scenes() -> None:
    """Print the name and description of each built-in scene."""
    for name, path in scenes().items():
        say(f"{name:12} {about(path)}")


# Errors in user code, without frames of scalarviz.

MOST_FRAMES = 10  # the last ones, for endless recursion
LONGEST = 300  # characters of an error
FORMER = "write `from scalarviz import Show` instead"  # modules inside the package move


def is_users(file: str) -> bool:
    """Return whether a file is user code, not part of scalarviz, Python or an installed package."""
    path = Path(file)
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    library = Path(sysconfig.get_path("stdlib"))
    ours = any(path.is_relative_to(home) for home in (PACKAGE, top_folder("scenes"), library))
    return path.is_absolute() and not (installed or ours)


@contextmanager
def told_by_line(path: Path | None = None) -> Iterator[None]:
    """Convert errors that user code raises in this context to SceneError.

    If `path` is given, a user's file that is being loaded, every error is attributed to this file.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        told = scene_error(error, path)
        if told is None:
            raise
        raise told from error


def answer(error: Exception) -> ScalarvizError | None:
    """Return the error to print on a command line; None for a bug, whose traceback is needed.

    Errors of scalarviz are returned unchanged. Errors in user code are returned as SceneError,
    errors of the operating system about a file or the current folder as FileError, and MemoryError
    as InputError.
    """
    if isinstance(error, ScalarvizError):
        return error
    told = scene_error(error)
    if told is None and isinstance(error, OSError) and error.filename is not None:
        return FileError(f"{reprlib.repr(error.filename)}: {error.strerror}: choose another file")
    if told is None and isinstance(error, FileNotFoundError):  # raised by os.getcwd, or by tempfile
        if "temporary" in str(error):
            return FileError("no writable temporary folder: set TMPDIR to one")
        return FileError("the current folder was removed: change to another one")
    if told is None and isinstance(error, MemoryError):
        return InputError("not enough memory: use smaller layers, batches or data")
    return told


def scene_error(error: BaseException, path: Path | None = None) -> SceneError | None:
    """Return an error in user code as a SceneError; None if no user code was involved.

    The traceback of `error` is reduced to the frames of user code.
    """
    if isinstance(error, SceneError):
        return error
    steps = [step for step in entries_of(error.__traceback__) if is_users(file_of(step))]
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


def entries_of(trace: TracebackType | None) -> Iterator[TracebackType]:
    """Yield the entries of a traceback, outermost first."""
    while trace is not None:
        yield trace
        trace = trace.tb_next


def file_of(step: TracebackType) -> str:
    return step.tb_frame.f_code.co_filename


def place(file: str, line: int | None) -> str:
    """Return a file and a line as text; the path is relative to the current folder if possible."""
    path = Path(file)
    with suppress(OSError, ValueError):  # the folder was removed, or the file is elsewhere
        path = path.relative_to(Path.cwd())
    return f"{path}, line {line}" if line else str(path)


def place_of(function: Callable[..., Any]) -> str:
    """Return the file and line where a function is defined, as text."""
    code = getattr(function, "__code__", None)
    return place(code.co_filename, code.co_firstlineno) if code else repr(function)


def in_words(error: BaseException) -> str:
    """Return an error as one line of text."""
    text = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    text = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    if isinstance(error, ScalarvizError):
        return text
    if isinstance(error, ModuleNotFoundError):
        former = (error.name or "").startswith("scalarviz.")
        text += f": {FORMER if former else 'install the missing package, or correct the name'}"
    name = type(error).__name__
    return f"{name}: {text}" if text else name
