"""`scalarviz class`: pages of scenes for a whole room, from this machine's memory."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path

from scalarviz.base.checks.numbers import shorten
from scalarviz.base.texts import plural, text
from scalarviz.base.visible_text import say
from scalarviz.errors import InputError
from scalarviz.faces.scenefiles.find import about, find, load
from scalarviz.faces.scenefiles.making import played
from scalarviz.pages.addresses import LAST_PORT, address_for_others, not_here, numeric, url_of
from scalarviz.pages.index_page import INDEX, Entry, index_of
from scalarviz.pages.page import page_of, trains
from scalarviz.pages.server import PageServer

SCENES = ("rgb", "xor", "circle")
INTERRUPTED = 130


def serve(scenes: Sequence[str], address: str, port: int) -> int:
    """Make the pages of scenes and serve them until Ctrl-C; return the exit code.

    scenes   names, or paths of files; none: SCENES
    address  an address of this machine; 0.0.0.0: all that it has
    port     0 for any that is free

    Raises InputError for an unknown scene, or an address or port that cannot be used.
    """
    paths = paths_of(scenes or SCENES)
    with bound(numeric(address), port) as server:
        pages = {f"{name}.html": made(path) for name, path in paths.items()}
        pages[INDEX] = index_of(Entry(name, about(path)) for name, path in paths.items())
        return until_ctrl_c(server, pages, address)


def until_ctrl_c(server: PageServer, pages: Mapping[str, bytes], address: str) -> int:
    """Say where pages are, and serve them until Ctrl-C; return the exit code."""
    say(*greeting(address, server.port))
    try:
        server.serve(pages)
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


def bound(address: str, port: int) -> PageServer:
    """Return a server on an address and a port; raise InputError if it cannot have them."""
    if not 0 <= port <= LAST_PORT:
        raise InputError(f"a port is a number from 0 to {LAST_PORT}, not {shorten(port)}")
    if not is_of_one(address):
        raise not_here(address)
    try:
        return PageServer(
            address, port, lambda who, page: say(text("class.came", who=who, page=page))
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason = (
                f"port {port} is taken by another program: choose one, such as --port {other(port)}"
            )
        elif error.errno == errno.EACCES:
            reason = f"port {port} is kept for the system: choose one from 1024 on by --port"
        elif error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
            raise not_here(address) from None
        else:
            reason = f"no server can listen on {address}, port {port}: {error.strerror or error}"
        raise InputError(reason) from None


def is_of_one(address: str) -> bool:
    """Return whether an address can be that of one machine, and not of many at once."""
    found = ip_address(address)
    return not found.is_multicast and address != "255.255.255.255"


def other(port: int) -> int:
    return port + 1 if port < LAST_PORT else port - 1


def greeting(address: str, port: int) -> list[str]:
    """Return the lines that say where the pages are."""
    asked = ip_address(numeric(address))
    if asked.is_loopback:
        return [text("class.here", url=url_of(str(asked), port)), text("class.open"), end()]
    seen = address_for_others(asked.version) if asked.is_unspecified else str(asked)
    if not seen:
        return [text("class.no_network"), end()]
    return [text("class.room", url=url_of(seen, port)), end()]


def end() -> str:
    return text("class.end")
