"""Serve a session to browsers on this or other machines, by WebSocket, until Ctrl-C."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from html import escape
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryDirectory
from time import monotonic

from scalarviz.base.interrupt import INTERRUPTED
from scalarviz.base.messages import say
from scalarviz.base.processes import VIEWER, has_display
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.browser.link import BETWEEN_STATES, links_of
from scalarviz.faces.browser.link_server import LinkServer, Tokens
from scalarviz.faces.controller.face import Opening, WatchOptions
from scalarviz.pages.addresses import is_loopback, listening, numeric, seen_by_others, url_of
from scalarviz.pages.page import linked_page
from scalarviz.stage.background import quick_turns
from scalarviz.stage.show import Show

SHARES = {"look": False, "control": True}  # permissions of others: whether they have control
HERE = "127.0.0.1"
ABANDONED = 600.0  # seconds without readers after which the viewer of a finished training run ends
SWITCH = 5e-4  # seconds that training waits for a Python thread that serves many readers


def watch(
    show: Show,
    options: WatchOptions,
    address: str = HERE,
    port: int | None = None,
    share: str = "look",
) -> int:
    """Serve the page of a session until Ctrl-C; return the exit code.

    The viewer of a training run in another process stops some time after that process has ended,
    unless a page is connected.

    Args:
        address: a numeric address of this machine; any address other than HERE lets other machines
            connect, with a token of six characters
        port: port number; 0 means any free port; None (default) means any free port if only this
            machine has access, otherwise see `listening`
        share: "look" (default) lets others watch; "control" also lets them make changes

    Raises:
        InputError: if the address or the port is not available.
    """
    controls, parent = pick(SHARES, share, "share"), os.getppid()
    is_viewer = VIEWER in os.environ
    calls: SimpleQueue[Callable[[], object]] = SimpleQueue()
    is_open = not is_loopback(address)
    with listening(address, port if is_open or port is not None else 0) as listener:
        face = options.face(show, "dark")
        (link,) = links_of(face, options)
        number = listener.getsockname()[1]

        def page() -> bytes:
            reached = {"channel": "socket", "path": "socket", "version": link.version}
            return linked_page(link.controller.show, reached, link.described).encode()

        tokens = Tokens(is_open=is_open, controls=controls)
        server = LinkServer(link, page, listener, tokens, calls.put)
        with server, quick_turns(SWITCH), ExitStack() as stack:
            near = HERE if ip_address(numeric(address)).is_unspecified else numeric(address)
            own = f"{url_of(near, number)}?token={tokens.own}"
            say(text("browser.here", url=own))
            seen = seen_by_others(address)
            if not seen:
                say(text("serve.no_network"))
            elif is_open:
                url = url_of(seen, number)
                may = text(f"browser.may.{share}")
                say(text("browser.room", url=url, token=tokens.short, may=may))
                if sys.stdout.isatty():
                    say(*qr_code(f"{url}?token={tokens.short}"))
            if not is_viewer:
                say(text("browser.end"))
            if not is_open and has_display():
                folder = stack.enter_context(TemporaryDirectory(prefix="scalarviz-"))
                webbrowser.open(forwarding(own, Path(folder, "open.html")))
            opening = Opening(face, False, play=options.play is not False)
            try:
                left = monotonic()  # time of the last reader
                while not is_viewer or os.getppid() == parent or monotonic() < left + ABANDONED:
                    began = monotonic()
                    if link.readers:
                        left = began
                        opening.attend()
                    link.attend()
                    options.keep.now_and_then(face.lead.own_session)
                    work(calls, began + BETWEEN_STATES)
                return 0
            except KeyboardInterrupt:
                return INTERRUPTED
            finally:
                face.quit()
                link.close(text("browser.closed"))
                face.lead.rest()
                options.keep.end(face.lead.own_session, True)


def forwarding(url: str, path: Path) -> str:
    """Write a file that redirects a browser to a URL; return the URL of the file.

    Other users of this machine can see command lines, so the token must not be part of one.
    """
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(f'<meta http-equiv="refresh" content="0; url={escape(url)}">')
    return path.as_uri()


def work(calls: SimpleQueue[Callable[[], object]], until: float) -> None:
    """Execute queued functions until the time `until`."""
    while (rest := until - monotonic()) > 0.0:
        try:
            calls.get(timeout=rest)()
        except Empty:
            return


# The URL as a QR code of text characters, for phones in front of a terminal.

BLOCKS = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}
BORDER = 2  # modules; phones accept less than the standard four


def qr_code(address: str) -> list[str]:
    """Return the text lines of a QR code, light on dark; empty if segno is not installed."""
    if find_spec("segno") is None:
        return []
    code = import_module("segno").make(address, micro=False)
    rows = [[not dark for dark in row] for row in code.matrix_iter(border=BORDER)]
    rows += [[False] * len(rows[0])] * (len(rows) % 2)
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(BLOCKS[pair] for pair in zip(*both, strict=True)) for both in pairs]
