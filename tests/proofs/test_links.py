"""Links of any text: `scalarviz open` and pages lead to their moment, or refuse them."""

from __future__ import annotations

import random
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.cli import watch_scene
from scalarviz.faces.links import HIDEABLE, LONGEST, Link, pairs_of, read_link
from tests.pages.in_web import in_web
from tests.proofs.mutants import Chance
from tests.proofs.report import Proof

SEED = 16
SIZES = {"tanh 0": 9, "a:b": 2, "sigmoid 1": 3}
# Of a page, whose sizes are SIZES.
LIMITS = """
const sizes = new Map(Object.entries(data.sizes));
const limits = {first: 0, last: 1e9 - 1, operations: 12, rows: 99, batch: 8, sizes};
"""
LETTERS = string.printable + "\0\x1b\x85\ufeff\u202e\ud7ff\U0001f600é١²½－"
PIECES = [
    "#", "?", "&", "=", ";", "%", "%00", "%zz", "%ff", "%F0%9F%98%80", "+", "//", "../", "\\\\x",
    "http://host/x", "file:", "$(id)", "`id`", "<script>", "';--", "__proto__=1", "constructor=2",
    "step=", "step=1e3", "step=-1", "step=1_0", "step=٣", "op=0x2", "pin=", "pin=1.5", "play=inf",
    "play=nan", "play=1e9", "play=.", "hide=", "hide=,", "neuron=:", "neuron=tanh 0:-1",
    "op=13", "9" * 30, "a" * 500, "scene.py", "engine=cuda", "hidden=99999999999", "\n", "\0",
]  # fmt: skip

UNSEEN = {"Cc", "Cf", "Zl", "Zp"}  # categories of letters that steer a terminal, or turn others
GIVEN = {"limit": None, "save": None, "autosave": None, "speed": None, "theme": "auto"}


def link(chance: Chance) -> Link:
    """A link to a moment that the network of rgb and a page have."""
    parts: dict[str, Any] = {
        "step": chance.randrange(40), "operation": chance.randint(1, 5), "pin": chance.randrange(9),
        "neuron": ("tanh 0", chance.randrange(4)), "sample": chance.randint(1, 7),
        "hide": tuple(chance.sample(HIDEABLE, chance.randint(1, 3))), "tour": "no",
        "play": chance.choice((0.5, 7.0, 30.0)), "theme": chance.choice(("dark", "light")),
    }  # fmt: skip
    named = [name for name in parts if chance.random() < 0.4]
    if "pin" in named and "neuron" in named:  # a link has one of them, in Python both can be read
        named.remove("pin")
    options = {"hidden": chance.choice(("4", "3,3")), "map": "grey"}
    kept = {"engine": "python"}
    kept |= {name: value for name, value in options.items() if chance.random() < 0.3}
    return Link("rgb", kept, **{name: parts[name] for name in named})


def other_writing(made: Link, chance: Chance) -> str:
    """Another text of the same link: parts in another order, letters written as %41, doubled."""
    parts = made.fragment.split("&") if made.fragment else []
    chance.shuffle(parts)
    if parts and chance.random() < 0.3:  # the last one holds
        name, _, value = chance.choice(parts).partition("=")
        if name == "step":
            parts.insert(0, f"step={int(value) + 1}")
    written = []
    for part in parts:
        name, _, value = part.partition("=")
        if "%" not in value and chance.random() < 0.3:
            value = "".join(f"%{ord(c):02x}" if chance.random() < 0.5 else c for c in value)
        written.append(f"{name}={value}")
    return f"{str(made).partition('#')[0]}#{'&'.join(written)}"


def spoilt(text: str, chance: Chance) -> str:
    """A text with some letters or pieces more, less, doubled or exchanged."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        at, end = sorted(chance.randrange(len(text) + 1) for _ in range(2))
        way = chance.randrange(5)
        if way == 0:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif way == 1:
            text = text[:at] + "".join(chance.choices(LETTERS, k=3)) + text[at + 1 :]
        elif way == 2:
            text = text[:at] + text[min(end, at + 4) :]
        elif way == 3:
            text = text[:end] + text[at:]
        else:
            text = text[:at] + "&" + chance.choice(PIECES) + "&" + text[at:]
    return text


def texts(count: int) -> list[tuple[str, Link | None]]:
    """Texts of links, each with the link that it is, if that is known."""
    chance = random.Random(SEED)
    found: list[tuple[str, Link | None]] = []
    for _ in range(count):
        made, way = link(chance), chance.random()
        if way < 0.3:
            found.append((other_writing(made, chance), made))
        elif way < 0.9:
            found.append((spoilt(str(made), chance), None))
        else:
            found.append(("".join(chance.choices(LETTERS, k=chance.randrange(60))), None))
    return found


def is_sentence(words: str) -> bool:
    """Whether some words are short, on one line, and have no letter that steers a terminal."""
    return not UNSEEN & {unicodedata.category(each) for each in words} and 10 < len(words) < 600


def fault_of_reader(text: str, expected: Link | None) -> tuple[str, Link | None]:
    """What is wrong with what Python reads in a text, and what it reads."""
    try:
        read = read_link(text)
    except InputError as error:
        told = "" if is_sentence(str(error)) else f"refused by {str(error)!r}"
        return (told if expected is None else f"refused: {error}"), None
    if expected is not None and read != expected:
        return f"read as {read}", read
    written = str(read)
    if len(written) <= LONGEST and plain(read_link(written)) != plain(read):
        return f"written as {written!r}, which is {read_link(written)}", read
    return "", read


def plain(read: Link) -> Link:
    """A link without what its text need not have: the first sample, and digits of a speed."""
    play = None if read.play is None else float(f"{read.play:g}")
    return replace(read, sample=read.sample or None, play=play, target=read.target.strip())


def pages_read_otherwise(fragments: Sequence[str]) -> list[str]:
    """What the reader of pages and that of Python say otherwise of what follows a #."""
    body = LIMITS + "return data.links.map((hash) => readLink(`#${hash}`, limits));"
    wrong = []
    for fragment, page in zip(
        fragments, in_web("links", body, links=fragments, sizes=SIZES), strict=True
    ):
        if not all(is_part(each) for each in page["bad"] + page["over"]):
            wrong.append(f"a page names parts of {fragment!r} as {page['bad'] + page['over']}")
        try:
            ours = read_link(f"rgb#{fragment}")
        except InputError:
            if not page["bad"] and len(fragment) < LONGEST - 4:
                wrong.append(f"a page reads {fragment!r}, Python refuses it")
            continue
        pairs = pairs_of(fragment)
        if has_page(ours) and page["bad"] and len(dict(pairs)) == len(pairs):
            wrong.append(f"a page leaves out {page['bad']} of {fragment!r}, Python reads it")
        elif has_page(ours) and not page["bad"] and shown(page) != shown_by(ours):
            wrong.append(f"{fragment!r} is {shown(page)} for a page, {shown_by(ours)} for Python")
    return wrong


def is_part(words: str) -> bool:
    """Whether a part of a link can stand in a sentence of a page."""
    return len(words) <= 26 * 2 and not UNSEEN & {unicodedata.category(each) for each in words}


def has_page(read: Link) -> bool:
    """Whether a page with LIMITS has what a link names; of two pins it holds the last one."""
    buffer, place = read.neuron or ("tanh 0", 0)
    inside = (read.operation <= 12, (read.pin or 0) < 99, place < SIZES.get(buffer, 0))
    return all(inside) and (read.sample or 0) < 8 and None in (read.pin, read.neuron)


def shown(page: Mapping[str, Any]) -> list[Any]:
    """The moment that a page reads."""
    return [page["step"] or 0, page["operation"] or 0, page["pinned"], page["sample"], page["play"],
            page["hide"], page["theme"] or "", page["tour"] or ""]  # fmt: skip


def shown_by(read: Link) -> list[Any]:
    """The moment that Python reads, as a page has it."""
    pinned = None if read.pin is None else {"row": read.pin}
    pinned = {"neuron": [*read.neuron]} if read.neuron else pinned
    return [read.step or 0, read.operation, pinned, read.sample, read.play, [*read.hide],
            read.theme, read.tour]  # fmt: skip


def is_quick(read: Link | None) -> bool:
    """Whether a link asks for a short training."""
    hidden = "" if read is None else read.options.get("hidden", "")
    return read is not None and (read.step or 0) < 100 and len(hidden) < 6


def opened_at(text: str, read: Link, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """What is wrong with where `scalarviz open` leads, and what came of it."""
    seen: list[Any] = []
    monkeypatch.setattr(
        watch_scene, "watch_anywhere", lambda show, *given, **more: seen.append((show, more)) or 0
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    try:
        watch_scene.open_link(text, GIVEN)
    except ScalarvizError as error:
        return ("" if is_sentence(str(error)) else f"refused by {str(error)!r}"), "refused"
    ((show, more),) = seen
    session = show.session
    count = len(session.operations)
    clock, step = session.clock, read.step or 0
    if clock.step * count + clock.operation != step * count + read.operation:
        return f"stands at {clock.place}", "elsewhere"
    pin = read.pin if read.neuron is None else read.neuron
    if more["pin"] != pin or session.focus != (read.sample or 0):
        return f"pins {more['pin']} and shows sample {session.focus}", "elsewhere"
    return "", "led to their moment"


@pytest.mark.slow
def test_links_of_any_text_lead_to_their_moment_or_are_refused(
    proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = texts(proof.count(20_000))
    wrong, reads = [], []
    for text, expected in tried:
        said, read = fault_of_reader(text, expected)
        reads.append(read)
        if said:
            wrong.append(f"{text!r}: {said}")
    wrong += pages_read_otherwise([text.strip().partition("#")[2] for text, _ in tried])
    few = [pair for pair in zip(tried, reads, strict=True) if is_quick(pair[1])]
    opened = Counter[str]()
    for (text, _), read in few[: proof.count(300)]:
        said, came = opened_at(text, read, monkeypatch)
        opened[came] += 1
        if said:
            wrong.append(f"scalarviz open {text!r}: {said}")
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    proof.seeds = str(SEED)
    refused = sum(read is None for read in reads)
    proof.tried = [
        f"{len(tried):,} texts as links, by the readers of `scalarviz open` and of pages, "
        f"{opened.total():,} of them opened"
    ]
    proof.found = [
        f"{len(tried) - refused:,} read, pages agree; {refused:,} refused by a sentence; of those "
        + "opened "
        + ", ".join(f"{number:,} {came}" for came, number in sorted(opened.items()))
    ]
