"""`scalarviz class`: pages of scenes for a whole room, from this machine's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scalarviz.base.checks.numbers import shorten
from scalarviz.base.texts import plural, text
from scalarviz.base.visible_text import say
from scalarviz.errors import InputError
from scalarviz.faces.scenefiles.find import about, find, load
from scalarviz.faces.scenefiles.making import played
from scalarviz.pages.addresses import is_loopback, listening, numeric, seen_by_others, url_of
from scalarviz.pages.index_page import INDEX, Entry, index_of
from scalarviz.pages.page import page_of, trains

if TYPE_CHECKING:  # its package is optional
    from scalarviz.pages.web_server import PageServer

SCENES = ("rgb", "xor", "circle")
INTERRUPTED = 130


def serve(scenes: Sequence[str], address: str, port: int | None) -> int:
    """Make the pages of scenes and serve them until Ctrl-C; return the exit code.

    scenes   names, or paths of files; none: SCENES
    address  an address of this machine; 0.0.0.0: all that it has
    port     as for `listening`

    Raises InputError for an unknown scene, or an address or port that cannot be used.
    """
    paths = paths_of(scenes or SCENES)
    with bound(address, port) as server:
        pages = {f"{name}.html": made(path) for name, path in paths.items()}
        pages[INDEX] = index_of(Entry(name, about(path)) for name, path in paths.items())
        return until_ctrl_c(server, pages, address)


def until_ctrl_c(server: PageServer, pages: Mapping[str, bytes], address: str) -> int:
    """Say where pages are, and serve them until Ctrl-C; return the exit code."""
    say(*greeting(address, server.port))
    try:
        server.start(pages)
        server.wait()
    except KeyboardInterrupt:
        count = len({visitor for visitor, _ in server.visitors})
        say(plural("class.ended", count))
    return INTERRUPTED


def paths_of(scenes: Sequence[str]) -> dict[str, Path]:
    """Return the files of scenes by the names of their pages; raise InputError for a name twice."""
    found: dict[str, Path] = {}
    for each in dict.fromkeys(scenes):
        path = find(each)
        if path.stem in found or f"{path.stem}.html" == INDEX:
            raise InputError(
                f"the page of {shorten(each)} would have the name of another one, "
                f"{path.stem}.html: rename the file"
            )
        found[path.stem] = path
    return found


def made(path: Path) -> bytes:
    """Return the page of a scene."""
    show = played(load(path), {})
    trains(show.session)
    page = page_of(show)
    say(page.words(f"{path.stem}.html"))
    return page.text


def bound(address: str, port: int | None) -> PageServer:
    """Return a server that says who comes; raise InputError if it cannot listen there."""
    from scalarviz.pages.web_server import PageServer  # says what to install

    def came(who: str, page: str) -> None:
        say(text("class.came", who=who, page=page))

    return PageServer(listening(address, port), came)


def greeting(address: str, port: int) -> list[str]:
    """Return the lines that say where the pages are."""
    end = text("class.end")
    if is_loopback(address):
        return [text("class.here", url=url_of(numeric(address), port)), text("class.open"), end]
    seen = seen_by_others(address)
    return [text("class.room", url=url_of(seen, port)) if seen else text("class.no_network"), end]
