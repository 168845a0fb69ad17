"""Links: strings that refer to a moment of a session, for `scalarviz open`.

    rgb#step=120&op=7&pin=42
    rgb?hidden=4&map=grey#step=120
    run.safetensors#step=20
    play?v=1&shape=spiral&hidden=6,4#step=120

The part before the # is a built-in scene, with options after a ?, or the file of a saved session.
The part after the # is the same as in URLs of pages, see story/moments.py. A link never refers to
code.

`play` is a network built in a playground, with its settings, see story/build_link.py. The address
of the page opens the same network: only the part after the # is read.
"""

from __future__ import annotations

import re
import zlib
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os.path import lexists
from typing import Any, final
from urllib.parse import parse_qsl, quote, unquote

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require, shorten
from scalarviz.base.shell_commands import program
from scalarviz.base.texts import text as words_of
from scalarviz.errors import InputError
from scalarviz.scene.look import IS_TICK, OFFERS
from scalarviz.stage.commands import link_words
from scalarviz.story.build_link import (
    LONGEST,
    count_of,
    is_setting,
    read_build,
    shortest,
    write_build,
)
from scalarviz.story.facts import Neuron
from scalarviz.story.moments import read_part

# Option values: neither URLs nor paths, nor names of files in the same folder.
PLAIN_VALUE = re.compile(r"([\w ,+-]|\.(?=\d))*", re.ASCII)
GRAMMAR = "write a link such as rgb#step=120&op=7&pin=42"
PLAY = "play"
OPTION = {"opt": "optimizer"}  # options of scenes with other names than settings


@final
@dataclass(frozen=True)
class Link:
    """A link: a scene or a saved session, and a moment of its training.

    Attributes:
        target: name of a built-in scene, or path of a saved session
        options: options of the scene, as strings
        step: number of finished steps; None means the start, or the saved moment of a file
        operation: number of finished operations in the next step
        pin: bank row of the pinned weight, or None
        neuron: buffer name and index of the pinned neuron, or None
        sample: index of the shown sample in the batch, or None
        play: speed of playback in steps per second; None means paused
        hide: parts of a page that are hidden
        tour: "no" to leave out the tour, otherwise ""
        look: view options, fields of Look
        weights: initial weights; None means drawn from the seed
        bad: sentences about parts of a built network that are left out
    """

    target: str
    options: Mapping[str, str] = field(default_factory=dict)
    step: int | None = None
    operation: int = 0
    pin: int | None = None
    neuron: Neuron | None = None
    sample: int | None = None
    play: float | None = None
    hide: tuple[str, ...] = ()
    tour: str = ""
    look: Mapping[str, Any] = field(default_factory=dict)
    weights: npt.NDArray[np.float32] | None = field(default=None, compare=False)
    bad: tuple[str, ...] = ()

    @property
    def names_moment(self) -> bool:
        """Whether the link contains more than a scene or a file."""
        return any((self.step is not None, self.operation, self.pin is not None, self.neuron))

    @property
    def fragment(self) -> str:
        """The part after the #, in the form that pages use; "" if it is empty."""
        parts = {
            "step": self.step,
            "op": self.operation or None,
            "pin": self.pin,
            "neuron": self.neuron and f"{self.neuron[0]}:{self.neuron[1]}",
            "sample": self.sample or None,
            "hide": ",".join(self.hide) or None,
            "play": None if self.play is None else f"{self.play:g}",
            "tour": self.tour or None,
            **{
                name: {True: "yes", False: "no"}.get(each, each) for name, each in self.look.items()
            },
        }
        known = {name: value for name, value in parts.items() if value is not None}
        return "&".join(f"{name}={quote(str(each), safe=',:')}" for name, each in known.items())

    def __str__(self) -> str:
        options = "&".join(
            f"{quote(name, safe='')}={quote(value, safe=',')}"
            for name, value in self.options.items()
        )
        text = quote(self.target, safe="/\\: ") + (f"?{options}" if options else "")
        return f"{text}#{self.fragment}" if self.fragment else text


def link_to(
    session: Any,
    target: str,
    options: Mapping[str, object] | None = None,
    pinned: int | Neuron | None = None,
) -> Link:
    """Return a link to the current moment of a session.

    Args:
        session: a Session; a link does not contain changes of weights or of the learning rate
        target: scene or file from which the session was created
        options: options of the scene that differ from their defaults; None (default) for no options
        pinned: bank row of the pinned weight, or the pinned neuron; None (default) for neither
    """
    clock = session.clock
    neuron = pinned if isinstance(pinned, tuple) else None
    row = None if pinned is None or isinstance(pinned, tuple) else int(pinned)
    texts = {name: option_text(value) for name, value in (options or {}).items()}
    return Link(target, texts, clock.step, clock.operation, row, neuron, session.focus or None)


def option_text(value: object) -> str:
    """Return the value of an option as a text that can be part of a link."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_plain(value: str) -> bool:
    """Return whether the value of an option is allowed in a link: neither a path nor a URL."""
    return PLAIN_VALUE.fullmatch(value) is not None


def check_plain(option: str, value: str, source: str, *, names_files: bool = True) -> None:
    """Raise InputError if the value of an option from an external source is a path or a URL.

    Args:
        option: name of the option
        value: value of the option
        source: origin of the value, for the message, such as "of a link"
        names_files: if False, also reject names of files or folders in the current folder
    """
    if not is_plain(value) or (not names_files and lexists(value)):
        raise InputError(
            f"the option {shorten(option)} {source} takes a number or a name, not "
            f"{shorten(value)}: pass paths and addresses to `{program()} watch`"
        )


def read_link(text: str) -> Link:
    """Parse a link; raise InputError if it is invalid.

    Nothing is opened or run, so the scene, file, options or rows need not exist.
    """
    require(len(text) <= LONGEST, f"a link has at most {LONGEST:,} characters, not {len(text):,}")
    place, _, fragment = text.strip().partition("#")
    name, _, query = place.partition("?")
    moment = pairs_of(fragment)
    if name == PLAY or ("://" in name and any(is_setting(key) for key, _ in moment)):
        return read_play((pairs_of(query) if name == PLAY else []) + moment)
    require(name, f"the link {shorten(text)} names no scene and no file: {GRAMMAR}")
    options = dict(pairs_of(query))
    for key, value in options.items():
        check_plain(key, value, "of a link")
    found, bad = read_moment(moment)
    if bad:
        raise InputError(f"{bad[0]} of a link is unknown: {GRAMMAR}")
    return Link(unquote(name), options, **found)


def read_moment(parts: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a Link that parts of a link name, and the invalid parts."""
    found: dict[str, Any] = {"look": {}}
    bad = []
    for key, value in parts:
        read = read_part(key, value.strip(), {"look": link_words()})
        if read is None:
            bad.append(shorten(f"{key}={value}"))
        elif key in OFFERS:
            found["look"][key] = read == "yes" if IS_TICK[key] else read
        else:
            found["operation" if key == "op" else key] = read
    return found, bad


def read_play(parts: Sequence[tuple[str, str]]) -> Link:
    """Return the link to a network built in a playground; invalid parts are left out."""
    settings, bad = read_build(parts)
    found, unknown = read_moment([(key, value) for key, value in parts if not is_setting(key)])
    packed, settings["w"] = settings["w"], ""
    weights = unpacked(packed, count_of(settings)) if packed else None
    bad += [words_of("build.cut")] if packed and weights is None else []
    bad += [words_of("page.link.bad", parts=", ".join(unknown))] if unknown else []
    options = dict(pairs_of(write_build(settings))[1:]) | {"lr": shortest(settings["lr"])}
    options = {OPTION.get(name, name): value for name, value in options.items()}
    return Link("circle", options, weights=weights, bad=tuple(bad), **found)


def unpacked(words: str, count: int) -> npt.NDArray[np.float32] | None:
    """Return packed numbers; None if they are damaged, not finite, or not `count` numbers."""
    try:
        opener = zlib.decompressobj(-zlib.MAX_WBITS)
        opened = opener.decompress(urlsafe_b64decode(words + "=" * (-len(words) % 4)), 4 * count)
    except (ValueError, zlib.error):
        return None
    value = np.frombuffer(opened[: len(opened) // 4 * 4], "<f4")
    is_whole = opener.eof and not opener.unused_data and len(opened) == 4 * count
    return value if is_whole and np.isfinite(value).all() else None


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the names and values in a query string such as "a=1&b=2"."""
    return parse_qsl(text, keep_blank_values=True)
