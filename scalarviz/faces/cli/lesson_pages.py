"""`scalarviz lesson`: writes lessons as pages, those of the package and a teacher's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.faces.scenefiles.find import load, scenes
from scalarviz.faces.scenefiles.links import read_link
from scalarviz.faces.scenefiles.making import played
from scalarviz.files.atomic import replace_file
from scalarviz.pages.lessons.lesson import (
    Lesson,
    Picture,
    handouts,
    lesson_of,
    lessons,
    solutions_of,
    without_solutions,
)
from scalarviz.pages.lessons.lesson_page import lesson_page
from scalarviz.pages.page import size_words
from scalarviz.training.session.session import Session


def write(
    names: Sequence[str], out: str | None, *, without: bool = False, solutions: bool = False
) -> None:
    """Write the pages of lessons; raise InputError for an unknown one.

    names      numbers of lessons, as 01, names of handouts, or paths of files .md; none: all
               lessons. The glossary lies beside lessons of the package, which link to it
    out        the folder; None: the current one
    without    whether the pages have no solutions
    solutions  whether one page of the solutions is written instead of them
    """
    folder, chosen = Path(out or "."), [*map(named, all_named(names or ["lessons"]))]
    if solutions:
        chosen = [solutions_of(chosen)]
    elif without:
        chosen = [*map(without_solutions, chosen)]
    for name, count in Counter(each.name for each in chosen).items():
        if count > 1:
            raise InputError(f"{count} lessons would be written to {name}.html: rename a file")
    for lesson in chosen:
        page = page_of_lesson(lesson)
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{lesson.name}.html"
        replace_file(place, page)
        say(text("lesson.written", file=place, size=size_words(len(page))))


def all_named(names: Iterable[str]) -> list[str]:
    """Return names, with numbers of all lessons for "lessons" and "01" for "1", each once.

    The glossary follows lessons of the package, which link to it.
    """
    numbers = {number.removeprefix("0"): (number,) for number in lessons()} | {"lessons": lessons()}
    found = [each for name in names for each in numbers.get(name, (name,))]
    is_linked = not lessons().keys().isdisjoint(found)
    return [*dict.fromkeys([*found, *["glossary"] * is_linked])]


def path_of_lesson(name: str) -> Path | None:
    """Return the file of a lesson from its number or its path; None if it is none."""
    return Path(name) if name.endswith(".md") else (lessons() | handouts()).get(name)


def named(name: str) -> Lesson:
    """Return the lesson of a number, or of a file .md; raise UnknownNameError for another name."""
    return lesson_of(path_of_lesson(name) or pick(lessons() | handouts(), name, "lesson"))


def check_moment(picture: Picture, name: str) -> None:
    """Raise InputError for a moment that the picture of a lesson does not understand."""
    try:
        read_link(f"{name}#{urlencode(picture.moment)}")
    except InputError as error:
        raise InputError(f"a picture in {name}: {error}") from error


def page_of_lesson(lesson: Lesson, *, collects: bool = False, links: str = "") -> bytes:
    """Return the page of a lesson, in whose pictures scenes of the package train, or saved runs.

    Raises InputError for a moment that a picture does not understand.
    """
    for each in lesson.parts:
        if isinstance(each, Picture):
            check_moment(each, lesson.name)

    def shown(name: str) -> Any:
        if name.endswith(".safetensors"):
            return Session.load(name)
        return played(load(pick(scenes(), name, "scene")), {})

    return lesson_page(lesson, shown, collects=collects, links=links)
