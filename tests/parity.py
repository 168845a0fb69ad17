"""The parity sheet, tests/parity.tsv: what a user can do, one feature a line.

    python -m tests.parity             writes the sheet, and prints what tests each feature
    python -m tests.parity layer key   prints features of these kinds

A feature that is taken away keeps its line; the reason and the message that its users get follow
its name, behind tabs. Names of tests are not in the sheet: tests may move.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tests.features import features
from tests.uses import uses_of
from tests.wording import GOLDEN

SHEET = Path(__file__).with_name("parity.tsv")
CHANGELOG = SHEET.parent.parent / "CHANGELOG.md"
MOST = 2  # tests that are named
# Features that no test uses, and why.
NOT_TESTED: dict[tuple[str, str], str] = {}
# Kinds that are seen or pressed, not typed: nobody asks for one by name when it is gone. Users of
# the others are answered by a sentence.
SILENT = {
    "control", "key", "menu File", "page control", "page key", "page change", "example", "lesson",
    "exhibit", "column of several",
}  # fmt: skip
# Kinds whose end CHANGELOG need not tell: many members are for the package itself.
UNTOLD = {"member", "argument", "example"}

Key = tuple[str, str]  # kind and name


class Gone(NamedTuple):
    """Why a feature was taken away, and the message that its users get; "" while it is here."""

    reason: str = ""
    sentence: str = ""


def rows_now() -> dict[Key, list[str]]:
    """The features, and what tests each."""
    found: dict[Key, list[str]] = {}
    for each in features():
        tests = uses_of(each)
        if tests or not each.inner:
            found.setdefault((each.kind, each.name), []).extend(tests)
    return dict(sorted(found.items()))


def read() -> dict[Key, Gone]:
    """The rows of the sheet."""
    rows = [line.split("\t") for line in SHEET.read_text(encoding="utf-8").splitlines()]
    return {(kind, name): Gone(*gone) for kind, name, *gone in rows}


def write(now: Collection[Key]) -> None:
    """Write the sheet; a row that is gone keeps its reason and its sentence."""
    known = {key: gone for key, gone in read().items() if gone.reason or key not in now}
    rows = {**dict.fromkeys(now, Gone()), **known}
    lines = ["\t".join([*key, *gone]).rstrip("\t") + "\n" for key, gone in sorted(rows.items())]
    SHEET.write_text("".join(lines), encoding="utf-8")


def faults(
    now: Mapping[Key, Collection[str]],
    sheet: Mapping[Key, Gone],
    said: Collection[str],
    changes: str,
) -> Iterator[str]:
    """What is wrong: `said` are the messages that tests know, `changes` is the CHANGELOG."""
    for key in sorted({*now, *sheet}):
        kind, name = key
        gone = sheet.get(key)
        if gone is None:
            wrong = "is new"
        elif key in now:
            wrong = "is here again: clear its line" if gone.reason else ""
            if bool(now[key]) == (key in NOT_TESTED):
                wrong = "is in NOT_TESTED, and tested" if now[key] else "is tested by nothing"
        elif not gone.reason:
            wrong = "is gone, or no test uses it any more: its line says why"
        elif kind not in UNTOLD and last_word(name) not in changes:
            wrong = "is gone: CHANGELOG.md says so"
        elif kind not in UNTOLD | SILENT and gone.sentence not in said:
            wrong = "is gone: its line has the message that its users get, as tests/wording.json"
        else:
            wrong = ""
        if wrong:
            yield f"{kind} {name} {wrong}"


def last_word(name: str) -> str:
    """Such as "--speed" of "watch --speed", which a line of CHANGELOG is sure to have."""
    return [name, *re.findall(r"[\w-]+", name)][-1]


def messages() -> set[str]:
    """The messages of errors that tests know."""
    known = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return {said for tests in known.values() for rows in tests.values() for said in rows}


def show(kinds: Collection[str]) -> None:
    """Print features, by kind, with tests that use each."""
    for kind, rows in groupby(rows_now().items(), key=lambda row: row[0][0]):
        listed = [(name, tests[:MOST]) for (_, name), tests in rows]
        if not kinds or kind in kinds:
            print(f"{kind}: {len(listed)}")
            for name, tests in listed:
                print(f"  {name:40}  {'  '.join(tests) or NOT_TESTED.get((kind, name), 'nothing')}")


if __name__ == "__main__":
    if not sys.argv[1:]:
        write(rows_now())
    show(sys.argv[1:])
