"""Scenes: the files that come with the package, and a user's own.

A scene is a file with a function `scene`, called by its name in `scenes/` or by a path.
"""

from __future__ import annotations

import ast
import os.path
import reprlib
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.errors.visible_text import say
from scalarviz.scenefiles.user_code import folder_of_scenes, place, told_by_line

Scene = Callable[..., Any]


def scenes() -> dict[str, Path]:
    """The scenes that come with the package: inside it, or beside it in a checkout."""
    return {path.stem: path for path in sorted(folder_of_scenes().glob("[!_]*.py"))}


def find(name: str) -> Path:
    """The file of a scene, from its name or its path."""
    known = scenes()
    if name in known:
        return known[name]
    shown = reprlib.repr(name)
    if os.path.isdir(name):
        raise InputError(
            f"{shown} is a folder: pass the path of a scene, which is a .py file, or a name"
        )
    if not name.endswith(".py"):
        raise UnknownNameError("scene", name, known)
    try:
        found = Path(name).is_file()
    except (OSError, ValueError):  # such a name cannot be
        found = False
    if not found:
        raise InputError(f"there is no file {shown}: pass the path of a scene, or a name")
    return Path(name)


def load(path: Path) -> Scene:
    """The function `scene` of a file; a SceneError says where its code fails."""
    path = path.absolute()
    sys.path.insert(0, str(path.parent))  # it may import its neighbours, as `python FILE` lets it
    with told_by_line(path):
        names: dict[str, Scene] = runpy.run_path(str(path))
    if not callable(names.get("scene")):
        raise InputError(
            f"{place(str(path), None)} has no function called scene: write `def scene(lr=0.5):` "
            "and return a Session"
        )
    return names["scene"]


def about(path: Path) -> str:
    """The first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_bytes(), filename=str(path))) or ""
    return text.partition("\n")[0]


def print_scenes() -> None:
    """Print each scene's name and what it is about."""
    for name, path in scenes().items():
        say(f"{name:12} {about(path)}")
