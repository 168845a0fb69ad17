"""Finds scene files, those of the package and users' own.

A scene is a file with a function `scene`, addressed by its name in `scenes/` or by a path.
"""

from __future__ import annotations

import ast
import os.path
import reprlib
import runpy
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scalarviz.base.messages import say
from scalarviz.base.package_files import top_folder
from scalarviz.base.shell_commands import program
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.scenefiles.user_code import place, told_by_line

Scene = Callable[..., Any]


def scenes() -> dict[str, Path]:
    """Return the scenes of the package by name."""
    return {path.stem: path for path in sorted(top_folder("scenes").glob("[!_]*.py"))}


def find(name: str) -> Path:
    """Return the file of a scene, from its name or path.

    Raise UnknownNameError for an unknown name, InputError for a path without a file.
    """
    known = scenes()
    if name in known:
        return known[name]
    shown = reprlib.repr(name)
    if name.partition("#")[0].partition("?")[0] in known:
        raise InputError(
            f"{shown} is a link to a moment: go there by `{program()} open {shlex.quote(name)}`"
        )
    if os.path.isdir(name):
        raise InputError(
            f"{shown} is a folder: pass the path of a scene, which is a .py file, or a name"
        )
    if name.endswith(".safetensors"):
        raise InputError(f"{shown} is a file of a training: open it by {program()} replay {shown}")
    if not name.endswith(".py"):
        raise UnknownNameError("scene", name, known)
    try:
        found = Path(name).is_file()
    except (OSError, ValueError):  # not a valid path
        found = False
    if not found:
        raise InputError(f"there is no file {shown}: pass the path of a scene, or a name")
    return Path(name)


def name_of(scene: Scene) -> str:
    """Return the name of a scene of the package; "" for others."""
    file = getattr(scene, "__globals__", {}).get("__file__", "")
    place = Path(file).resolve()
    return next((name for name, path in scenes().items() if path.resolve() == place), "")


def load(path: Path) -> Scene:
    """Return the function `scene` of a file; raise SceneError if its code fails."""
    path = path.absolute()
    folder = str(path.parent)  # it may import its neighbors, as under `python FILE`
    if sys.path[0] != folder:  # a sweep loads it for each seed
        sys.path.insert(0, folder)
    with told_by_line(path):
        names: dict[str, Scene] = runpy.run_path(str(path))
    if not callable(names.get("scene")):
        raise InputError(
            f"{place(str(path), None)} has no function called scene: write `def scene(lr=0.5):` "
            "and return a Session"
        )
    return names["scene"]


def about(path: Path) -> str:
    """Return the first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_bytes(), filename=str(path))) or ""
    return text.partition("\n")[0]


def print_scenes() -> None:
    """Print name and description of each scene."""
    for name, path in scenes().items():
        say(f"{name:12} {about(path)}")
