"""Links: strings that refer to a moment of a session, for `scalarviz open`.

    rgb#step=120&op=7&pin=42
    rgb?hidden=4&map=grey#step=120
    run.safetensors#step=20
    play?v=1&shape=spiral&hidden=6,4#step=120

The part before the # is a built-in scene, with options after a ?, or the file of a saved session.
The part after the # is the same as in URLs of pages, see story/moments.py. A link never refers to
code.

`play` is a network built in a playground, with its settings, see story/build_link.py. The address
of the page opens the same network: only the part after the # is read. With c=4 or a packed c it is
the start of a challenge.
"""

from __future__ import annotations

import json
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
from scalarviz.base.package_files import PACKAGE
from scalarviz.base.shell_commands import program
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.scene.look import IS_TICK, OFFERS
from scalarviz.stage.commands import link_words
from scalarviz.story.build_link import (
    COLOURS,
    DEFAULTS,
    LONGEST,
    MOST_BYTES,
    TABLE,
    count_of,
    is_setting,
    largest_batch,
    lines_in,
    read_build,
    sentence_on,
    shortest,
    task_of,
    write_build,
    written,
)
from scalarviz.story.facts import Neuron
from scalarviz.story.journal import MOST_STEPS, Change, changes_in
from scalarviz.story.moments import read_part

# Option values: neither URLs nor paths, nor names of files in the same folder.
PLAIN_VALUE = re.compile(r"([\w ,+-]|\.(?=\d))*", re.ASCII)
GRAMMAR = "write a link such as rgb#step=120&op=7&pin=42"
PLAY = "play"
CHALLENGES = PACKAGE / "pages" / "challenges.json"
OPTION = {"opt": "optimizer"}  # options of scenes with other names than settings
RGB = "colours activation init bias optimizer lr l1 l2".split()  # options of `rgb` named alike


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
        changes: changes during training, in the order of their steps
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
    changes: tuple[Change, ...] = field(default=(), compare=False)
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
    if name == PLAY or ("://" in name and any(key == "c" or is_setting(key) for key, _ in moment)):
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
    challenge = dict(parts).get("c")  # the number of one in pages, or a packed one
    starts = json.loads(CHALLENGES.read_text(encoding="utf-8")) if challenge else []
    numbered = {f"{number}": each["start"] for number, each in enumerate(starts, start=1)}
    start = pairs_of(numbered.get(challenge or "", ""))
    settings, bad = read_build(start or parts)
    rest = [] if start else [each for each in parts if not is_setting(each[0]) and each[0] != "c"]
    found, unknown = read_moment(rest)
    packed, words, kernels = [settings.pop(name) for name in ("w", "do", "k")]
    if settings["table"]:
        lines, wrong = lines_of(settings)
        bad += sentences_on(wrong)
        settings |= {} if lines else {name: DEFAULTS[name] for name in TABLE}
        settings["batch"] = min(settings["batch"], largest_batch(settings, len(lines)))
    weights, wrong = unpacked(packed, count_of(settings)) if packed else (None, "")
    changes = changes_in(settings, words) if words else []
    bad += sentences_on(wrong)
    bad += [sentence_on("do", words)] if changes is None else []
    bad += [text("build.kernels")] if kernels else []
    bad += [text("page.link.bad", parts=", ".join(unknown))] if unknown else []
    is_lost = challenge is not None and challenge.isdigit() and not start
    if challenge:
        bad.append(text("challenge.bad") if is_lost else text("challenge.python"))
    last = found.get("step", MOST_STEPS)
    found["changes"] = tuple([each for each in changes or () if each.step <= last])
    return Link(*scene_of(settings), weights=weights, bad=tuple(bad), **found)


def scene_of(settings: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the scene of a network that was built in a playground, and its options."""
    words = write_build({**settings, "w": "", "do": "", "k": ""})
    options = dict(pairs_of(words)[1:]) | {"lr": shortest(settings["lr"])}
    options = {OPTION.get(name, name): value for name, value in options.items()}
    is_colours = task_of(settings) == "colours"
    return ("rgb", of_rgb(options, settings)) if is_colours else ("circle", options)


def of_rgb(options: Mapping[str, str], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return options of the scene `rgb` for settings of colours."""
    sizes = settings["hidden"]
    same = {name: options[name] for name in RGB if name in options}
    same |= {"map": settings["shape"]} if settings["shape"] in COLOURS else {}
    same |= {"sizes": written("hidden", sizes)} if len(sizes) > 1 else {"hidden": f"{sum(sizes)}"}
    return {**same, "batch": f"{settings['batch']}", "seed": f"{settings['seed']}"}


def unpacked(words: str, count: int | None = None) -> tuple[npt.NDArray[np.float32] | None, str]:
    """Return packed numbers, or None and the key of a sentence that says what is wrong.

    Without `count` there may be any number of them, up to MOST_BYTES.
    """
    most = MOST_BYTES if count is None else 4 * count
    letters = words[:-1] if len(words) % 4 == 1 else words  # one alone means nothing
    opener = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        packed = urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
        opened = opener.decompress(packed, most + 1)
    except (ValueError, zlib.error):
        return None, "damaged"
    value = np.frombuffer(opened[: len(opened) // 4 * 4], "<f4")
    checks = {
        "cut": not opener.eof and len(opened) <= most,
        "damaged": opener.unused_data,
        "miscounted": len(opened) > most or len(opened) % 4 or count not in (None, len(value)),
        "not_finite": not np.isfinite(value).all(),
    }
    wrong = next((key for key, is_wrong in checks.items() if is_wrong), "")
    return None if wrong else value, wrong


def sentences_on(wrong: str) -> list[str]:
    """Return the sentence about packed numbers, given its key; none for ""."""
    said = {
        "cut": text("build.cut"),
        "damaged": text("build.damaged"),
        "miscounted": text("build.miscounted"),
        "not_finite": text("build.not_finite"),
        "cut.table": text("build.cut.table"),
    }
    return [said[wrong]] if wrong else []


def lines_of(settings: Mapping[str, Any]) -> tuple[list[list[float]], str]:
    """Return the lines of a packed table; none, and the key of a sentence, if it is damaged."""
    numbers, _ = unpacked(settings["table"])
    lines = [] if numbers is None else lines_in(numbers.tolist(), settings)
    return lines, "" if lines else "cut.table"


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the names and values in a query string such as "a=1&b=2"."""
    return parse_qsl(text, keep_blank_values=True)
