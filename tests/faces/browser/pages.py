"""A page in tests: what it has got of a link, and how it asks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.faces.browser.link import PageLink
from scalarviz.faces.browser.wire import Buffers, Header
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.controller.options import Recipe
from scalarviz.stage.show import Show

KINDS = {"f4": "<f4", "f8": "<f8", "u1": "u1", "i1": "i1", "u4": "<u4"}
SECONDS = 20.0
LINKS: list[PageLink] = []  # those of a test


def joined(message: Any, buffers: Buffers) -> Any:
    """A message with its arrays in it, as web/arrays.js joins them."""
    if isinstance(message, list):
        return [joined(each, buffers) for each in message]
    if not isinstance(message, dict):
        return message
    if "$n" in message:
        return float(message["$n"])
    if "$" in message:
        array = np.frombuffer(buffers[message["$"]], KINDS[message["t"]])
        more = {name: each for name, each in message.items() if name not in ("$", "t")}
        return {"codes": array, **more} if more else array
    return {name: joined(each, buffers) for name, each in message.items()}


class FakePage:
    """A page of a link, which takes each state at once."""

    def __init__(self, link: PageLink, *, looks: bool = False, owns: bool = True) -> None:
        self.link = link
        self.messages: list[Any] = []
        self.bytes = 0
        self.state: Any = None
        self.reader = link.join(self.take, looks=looks, owns=owns)
        self.number = 0

    def take(self, header: Header, buffers: Buffers) -> None:
        self.bytes = len(json.dumps(header)) + sum(map(len, buffers))
        message = joined(json.loads(json.dumps(header)), buffers)
        self.messages.append(message)
        if "state" in message:
            self.state = message["state"]
            self.link.receive(self.reader, {"taken": message["n"]})

    def ask(self, name: str, args: dict[str, Any] | None = None) -> Any:
        """Ask, and return the message that answers."""
        self.number += 1
        number, known = self.number, len(self.messages)
        self.link.receive(self.reader, {"id": number, "name": name, "args": args})
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            self.link.attend()
            for message in self.messages[known:]:
                if message.get("id") == number or number in message.get("ids", ()):
                    return message
            time.sleep(0.002)
        raise AssertionError(f"{name} was not answered")


def ended_links() -> Iterator[None]:
    """The links that are made meanwhile end."""
    yield
    for link in LINKS:
        link.controller.face.quit()
        link.controller.face.rest()
    LINKS.clear()


def linked(session: object, *recipes: Recipe, theme: str = "dark") -> PageLink:
    """The link of a session or a show, and of the scene that it was made by."""
    group = WatchOptions(recipes=recipes).face(Show.of(session), theme)
    group.lead.await_kernels()
    LINKS.append(PageLink(group))
    return LINKS[-1]


def opened(session: sv.Session) -> FakePage:
    """A page that has its first state."""
    page = FakePage(linked(session))
    page.ask("open", {"version": 1})
    return page
