"""`scalarviz class`: pages of scenes and lessons for a whole room, from this machine's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from scalarviz.base.checks import shorten
from scalarviz.base.messages import say
from scalarviz.base.texts import plural, row_text, text
from scalarviz.errors import InputError
from scalarviz.faces.cli.lesson_pages import all_named, page_of_lesson, path_of_lesson
from scalarviz.faces.scenefiles.find import about, find, load
from scalarviz.faces.scenefiles.making import played
from scalarviz.pages.addresses import is_loopback, listening, numeric, seen_by_others, url_of
from scalarviz.pages.lessons.lesson import Picture, lesson_of, without_solutions
from scalarviz.pages.page import page_of, size_words, trains
from scalarviz.pages.plain_pages import INDEX, Entry, index_of, links_of

if TYPE_CHECKING:  # its package is optional
    from scalarviz.faces.cli.collecting import Collecting
    from scalarviz.pages.web_server import PageServer

SCENES = ("rgb", "xor", "circle")
INTERRUPTED = 130


def serve(
    scenes: Sequence[str],
    address: str,
    port: int | None,
    collect: str | None = None,
    *,
    without: bool = False,
) -> int:
    """Make the pages of scenes and serve them until Ctrl-C; return the exit code.

    scenes   names, or paths of files; numbers of lessons, "lessons" for all of them, or files .md;
             none: SCENES
    address  an address of this machine; 0.0.0.0: all that it has
    port     as for `listening`
    collect  file .jsonl for the answers that pages send; None: they cannot send any
    without  whether lessons have no solutions

    Raises InputError for an unknown scene, an address or port that cannot be used, or a file that
    holds something else.
    """
    paths = paths_of(scenes or SCENES)
    collecting = None if collect is None else collecting_in(collect, address)
    with bound(address, port, collecting) as server:
        collects = collecting is not None
        entries = [entry_of(name, path) for name, path in paths.items()]
        pages = {
            f"{name}.html": made(
                path, collects=collects, without=without, links=links_of(entries, name)
            )
            for name, path in paths.items()
        }
        pages[INDEX] = index_of(entries, collects=collects)
        if collecting is None:
            return until_ctrl_c(server, pages, address)
        collecting.entries = entries
        from scalarviz.faces.cli.collected import board
        from scalarviz.faces.cli.collected import collect as print_table

        with board(collecting.path):
            until_ctrl_c(server, pages, address, collecting)
    print_table(str(collecting.path))
    return INTERRUPTED


def until_ctrl_c(
    server: PageServer,
    pages: Mapping[str, bytes],
    address: str,
    collecting: Collecting | None = None,
) -> int:
    """Say where pages are, and serve them until Ctrl-C; return the exit code."""
    say(*greeting(address, server.port, collecting))
    try:
        server.start(pages)
        server.wait()
    except KeyboardInterrupt:
        say(plural("class.ended", len({visitor for visitor, _ in server.visitors})))
    return INTERRUPTED


def paths_of(scenes: Sequence[str]) -> dict[str, Path]:
    """Return the files of scenes and lessons by the names of their pages.

    The glossary is one of them where a lesson of the package links to it. Raises InputError for a
    name twice.
    """
    found: dict[str, Path] = {}
    for each in all_named(scenes):
        path = path_of_lesson(each) or find(each)
        if path.stem in found or f"{path.stem}.html" == INDEX:
            raise InputError(
                f"the page of {shorten(each)} would have the name of another one, "
                f"{path.stem}.html: rename the file"
            )
        found[path.stem] = path
    return found


def entry_of(name: str, path: Path) -> Entry:
    """Return the place of a page in their list."""
    if path.suffix == ".py":
        return Entry(name, row_text(f"rows.scenes.{name}.about", about(path)))
    lesson = lesson_of(path)
    has_picture = any(isinstance(part, Picture) for part in lesson.parts)
    return Entry(name, text("class.lesson" if has_picture else "class.text"), lesson.title)


def made(path: Path, *, collects: bool = False, without: bool = False, links: str = "") -> bytes:
    """Return the page of a scene or of a lesson, with links, which says how large it is."""
    if path.suffix != ".py":
        lesson = without_solutions(lesson_of(path)) if without else lesson_of(path)
        page = page_of_lesson(lesson, collects=collects, links=links)
        say(text("lesson.written", file=f"{path.stem}.html", size=size_words(len(page))))
        return page
    show = played(load(path), {})
    trains(show.session)
    trained = page_of(show, links=links)
    say(trained.words(f"{path.stem}.html"))
    return trained.text


def collecting_in(path: str, address: str) -> Collecting:
    """Return what collects answers; raise InputError or FileError if they cannot be kept there."""
    import_module("scalarviz.pages.web_server")  # says what to install
    from scalarviz.faces.cli.collecting import Collecting

    return Collecting(path, is_open=not is_loopback(address))


def bound(address: str, port: int | None, collecting: Collecting | None = None) -> PageServer:
    """Return a server that says who comes; raise InputError if it cannot listen there."""
    from scalarviz.pages.web_server import PageServer  # says what to install

    def came(who: str, page: str) -> None:
        say(text("class.came", who=who, page=page))

    hooks = (collecting.gate, collecting.visit) if collecting else ()
    return PageServer(listening(address, port), came, *hooks)


def greeting(address: str, port: int, collecting: Collecting | None = None) -> list[str]:
    """Return the lines that say where the pages are, and who can send answers."""
    lines = [text("class.here", url=url_of(numeric(address), port)), text("class.open")]
    if not is_loopback(address):
        query = collecting.query if collecting else ""
        seen = seen_by_others(address)
        url = url_of(seen, port) + query
        lines = [text("class.room", url=url) if seen else text("class.no_network")]
    if collecting is not None:
        who = "room" if collecting.tokens else "here"
        lines.append(text(f"class.collects.{who}", file=collecting.path))
    return [*lines, text("class.end")]
