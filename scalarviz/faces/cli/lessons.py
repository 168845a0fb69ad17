"""`scalarviz lesson` and `lessons`: lessons as pages, and as notebooks."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from scalarviz.base.checks import require
from scalarviz.base.messages import say
from scalarviz.base.package_files import top_folder
from scalarviz.base.shell_commands import pip_command, program
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.faces.links import read_link
from scalarviz.faces.scene_file import load, scenes
from scalarviz.faces.scene_options import played
from scalarviz.files.atomic import replace_file
from scalarviz.pages.lessons.lesson import (
    Lesson,
    LessonPicture,
    handouts,
    lesson_of,
    lessons,
    solutions_of,
    without_solutions,
)
from scalarviz.pages.lessons.lesson_page import lesson_page
from scalarviz.pages.page import size_words
from scalarviz.training.session.session import Session

# `scalarviz lesson`: lessons as pages, built-in or written by a teacher.


def write_lessons(
    names: Sequence[str], out: str | None, *, without: bool = False, solutions: bool = False
) -> None:
    """Write the pages of lessons; raise InputError for an unknown one.

    Args:
        names: numbers of lessons, such as 01, names of handouts, or paths of .md files; if empty,
            all lessons. The glossary is also written if there are lessons of the package
        out: output folder; None: the current folder
        without: whether to leave out the solutions
        solutions: whether to write one page with all solutions instead of the lessons
    """
    folder, chosen = Path(out or "."), [*map(named, all_named(names or ["lessons"]))]
    if solutions:
        chosen = [solutions_of(chosen)]
    elif without:
        chosen = [*map(without_solutions, chosen)]
    for name, count in Counter(each.name for each in chosen).items():
        require(count == 1, f"{count} lessons would be written to {name}.html: rename a file")
    for lesson in chosen:
        page = page_of_lesson(lesson)
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{lesson.name}.html"
        replace_file(place, page)
        say(text("lesson.written", file=place, size=size_words(len(page))))


def all_named(names: Iterable[str]) -> list[str]:
    """Replace "lessons" with all lesson names, and "1" with "01"; remove duplicates.

    The glossary is added at the end if there are lessons of the package, since they link to it.
    """
    numbers = {number.removeprefix("0"): (number,) for number in lessons()} | {"lessons": lessons()}
    found = [each for name in names for each in numbers.get(name, (name,))]
    is_linked = not lessons().keys().isdisjoint(found)
    return [*dict.fromkeys([*found, *["glossary"] * is_linked])]


def named(name: str) -> Lesson:
    """Return the lesson with this number or .md file; raise UnknownNameError if it is unknown."""
    is_path = name.endswith(".md")
    return lesson_of(Path(name) if is_path else pick(lessons() | handouts(), name, "lesson"))


def page_of_lesson(lesson: Lesson) -> bytes:
    """Return the page of a lesson; its pictures show scenes of the package, or saved runs.

    Raises:
        InputError: if a picture refers to an invalid moment.
    """
    for each in lesson.parts:
        if isinstance(each, LessonPicture):
            try:
                read_link(f"{lesson.name}#{urlencode(each.moment)}")
            except InputError as error:
                raise InputError(f"a picture in {lesson.name}: {error}") from error

    def shown(name: str) -> Any:
        if name.endswith(".safetensors"):
            return Session.load(name)
        return played(load(pick(scenes(), name, "scene")), {})

    return lesson_page(lesson, shown)


# `scalarviz lessons`: copy the lessons and the guide out of the package, and open them.

PARTS = "notebooks", "docs/guide"  # copied with their relative paths, which their links use


def copy_lessons(folder: str) -> None:
    """Copy the lessons and the guide into a folder; in a terminal, also open them in JupyterLab.

    Existing files are not overwritten.
    """
    parts = [(part, each) for part in PARTS for each in sorted(top_folder(part).iterdir())]
    found = {Path(folder, part, each.name): each for part, each in parts if each.is_file()}
    new = [place for place in found if not place.exists()]
    for place in new:
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, found[place].read_bytes())
    say(text("lessons.copied", folder=Path(folder)))
    if kept := len(found) - len(new):
        say(text("lessons.kept", count=kept))
    if find_spec("jupyterlab") is None:
        say(text("lessons.install", command=pip_command("lessons"), program=program()))
    elif sys.stdout.isatty():
        import_module("jupyterlab.labapp").main(["--allow-root", f"--notebook-dir={folder}"])
    else:
        say(text("lessons.open", folder=shlex.quote(str(Path(folder)))))
