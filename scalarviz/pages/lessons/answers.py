"""Answers of learners: the record for a lesson, files with records, and the table of all answers.

Files are only parsed as data and never executed. Control characters in texts are escaped.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

from scalarviz.base.checks import shorten
from scalarviz.base.messages import visible
from scalarviz.base.texts import plural, text
from scalarviz.errors import FileError, InputError
from scalarviz.files.atomic import shown

FORMAT, VERSION = "scalarviz answers", 1
MIME = "application/vnd.scalarviz.answer+json"
LARGEST_RECORD = 65_536  # bytes
LINK = re.compile(rb"#answers=([\w-]*)")
# Type of each part of a record, and its maximum length or value.
LIMITS: dict[str, tuple[type, int]] = {
    "name": (str, 60),
    "lesson": (str, 100),
    "id": (str, 40),
    "key": (str, 200),
    "guess": (str, 1000),
    "right": (bool, 1),
    "shown": (bool, 1),
    "guesses": (list, 1000),
    "answers": (dict, 200),
    "right in the picture": (int, 1_000_000),
    "asked in the picture": (int, 1_000_000),
}
KINDS = {str: "a text", bool: "true or false", list: "a list", dict: "an object", int: "a number"}


@final
@dataclass(frozen=True)
class Given:
    """The answers of a learner to one question; for a check of code, `guesses` is empty.

    Attributes:
        guesses: all guesses in order
        right: whether the last guess was right
        shown: whether the learner has requested the answer
    """

    guesses: tuple[str, ...]
    right: bool
    shown: bool = False

    @property
    def is_first(self) -> bool:
        """Whether the first guess was right, without a request for the answer."""
        return self.right and not self.shown and len(self.guesses) <= 1

    @property
    def words(self) -> str:
        if self.shown:
            return text("answers.shown")
        if self.right:
            count = len(self.guesses)
            return text("answers.first" if self.is_first else "answers.later", count=count)
        guess = self.guesses[-1:]
        return text("answers.wrong", guess=guess[0]) if guess else text("answers.none")


@final
@dataclass(frozen=True)
class LessonRecord:
    """The answers of a learner to the questions of a lesson.

    Attributes:
        lesson: name of the lesson
        name: name of the learner, or ""
        answers: answers by key of the question
        guessed: number of right guesses and of all guesses in the picture, or None
        id: random ID of the page, or ""; it distinguishes learners with the same name
    """

    lesson: str
    name: str
    answers: Mapping[str, Given]
    guessed: tuple[int, int] | None = None
    id: str = ""

    def line(self) -> bytes:
        """Return the record as one line of JSON that contains only known fields."""
        answers = {key: asdict(each) for key, each in self.answers.items()}
        found = {"format": FORMAT, "version": VERSION, "lesson": self.lesson, "name": self.name}
        found |= {"id": self.id} if self.id else {}
        found |= {"answers": answers}
        if self.guessed is not None:
            found["guessed"] = dict(zip(("right", "asked"), self.guessed, strict=True))
        return json.dumps(found, ensure_ascii=False).encode() + b"\n"


def record_of(found: object) -> LessonRecord:
    """Return a record from parsed JSON; raise InputError if it is invalid."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError("it contains no answers of scalarviz")
    if found.get("version") != VERSION:
        raise InputError(
            f"its version is {shorten(found.get('version'))}, and this scalarviz reads {VERSION}: "
            "update scalarviz"
        )
    answers = checked("answers", found.get("answers"))
    picture = found.get("guessed")
    counts = [
        checked(f"{each} in the picture", inner(picture, each)) for each in ("right", "asked")
        if picture is not None
    ]  # fmt: skip
    return LessonRecord(
        checked("lesson", found.get("lesson")),
        checked("name", found.get("name", "")),
        {checked("key", key): given_of(each) for key, each in answers.items()},
        (counts[0], counts[1]) if counts else None,
        checked("id", found.get("id", "")),
    )


def given_of(found: object) -> Given:
    """Return the answers to a question from parsed JSON; raise InputError if they are invalid."""
    return Given(
        tuple(checked("guess", each) for each in checked("guesses", inner(found, "guesses"))),
        checked("right", inner(found, "right")),
        checked("shown", inner(found, "shown") or False),
    )


def inner(found: object, name: str) -> Any:
    """Return an entry of parsed JSON, or None if it is missing."""
    return found.get(name) if isinstance(found, dict) else None


def checked(what: str, value: object) -> Any:
    """Return a field of a record; raise InputError if its type is wrong or it is too large."""
    kind, most = LIMITS[what]
    if type(value) is not kind:
        raise InputError(f"{what!r} is {shorten(value)}, not {KINDS[kind]}")
    size = len(value) if isinstance(value, (str, list, dict)) else value
    if not 0 <= size <= most:  # type: ignore[operator]  # a number
        raise InputError(f"{what!r} is too large: {shorten(size)}, and {most:,} is the limit")
    return visible(" ".join(value.split()), most) if isinstance(value, str) else value


def in_notebook(notebook: object) -> list[LessonRecord]:
    """Return the records in the outputs of a notebook, one for each lesson.

    Checks of code do not name a lesson; they are assigned to the first lesson of the notebook.
    """
    found: dict[str, dict[str, Given]] = {}
    for cell in listed(notebook, "cells"):
        for output in listed(cell, "outputs"):
            answer = inner(inner(output, "data"), MIME)
            if answer is not None:
                key = checked("key", inner(answer, "key"))
                lesson = checked("lesson", inner(answer, "lesson"))
                found.setdefault(lesson, {})[key] = given_of(answer)
    first = next(filter(None, found), "")
    whole: dict[str, dict[str, Given]] = {}
    for lesson, answers in found.items():
        whole.setdefault(lesson or first, {}).update(answers)
    return [LessonRecord(each, "", checked("answers", answers)) for each, answers in whole.items()]


def listed(found: object, name: str) -> list[Any]:
    part = inner(found, name)
    return part if isinstance(part, list) else []


def linked(data: bytes) -> Iterator[bytes]:
    """Yield the decoded data of links that contain "#answers="."""
    for each in LINK.findall(data):
        yield base64.urlsafe_b64decode(each + b"A" * (-len(each) % 4)).rstrip(b"\0")


# Maximum size of a file by its suffix, and a function that splits it into JSON texts.
FILES: dict[str, tuple[int, Callable[[bytes], Iterable[bytes]]]] = {
    ".json": (LARGEST_RECORD, lambda data: [data]),
    ".ipynb": (5_000_000, lambda data: [data]),
    ".txt": (1_000_000, linked),
    ".jsonl": (8_000_000, lambda data: filter(bytes.strip, data.splitlines())),
}


def records_in(path: Path) -> tuple[list[LessonRecord], list[str]]:
    """Return the records in a file, and the reasons why other parts were left out."""
    most, parts = FILES[path.suffix.lower()]
    records: list[LessonRecord] = []
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        return [], [error.strerror or str(error)]
    if len(data) > most:
        return [], [text("answers.too_large", most=most)]
    faults = []
    for piece in parts(data):
        try:
            found = json.loads(piece)
            records += in_notebook(found) if listed(found, "cells") else [record_of(found)]
        except (ValueError, RecursionError) as error:
            faults.append(str(error) if isinstance(error, InputError) else text("answers.damaged"))
    return records, faults if records or faults else [text("answers.nothing")]


# The table of answers: a row per pupil, a column per question, and a summary of each.

MOST_COLUMNS = 500  # the columns with the most answers
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
FORMULA = re.compile(r"(^|;)([\s\"]*[=+\-@＝＋－＠])")  # also where a semicolon separates cells


class Column(NamedTuple):
    """A column of the table: a question of a lesson; the key "" means guesses in the picture."""

    lesson: str
    key: str

    @property
    def short(self) -> str:
        return self.key or text("answers.picture")

    @property
    def words(self) -> str:
        return f"{self.lesson}/{self.short}"


@final
class AnswerTable:
    """The table of answers, with a row for each pupil and a column for each question.

    Of several records from the same page, the latest one is used.

    Args:
        records: names of pupils with their records, the latest record last
        remarks: sentences about the files from which the records come
    """

    def __init__(
        self, records: Iterable[tuple[str, LessonRecord]], remarks: Iterable[str] = ()
    ) -> None:
        newest = {(name, each.lesson, each.id or each.line()): each for name, each in records}
        rows: dict[str, dict[Column, Given | str]] = {}
        taken: set[tuple[str, str]] = set()
        counts: Counter[tuple[str, str]] = Counter()
        for (name, lesson, _), record in newest.items():
            row = name
            while (row, lesson) in taken:
                counts[name, lesson] += 1
                row = f"{name} ({counts[name, lesson] + 1})"
            taken.add((row, lesson))
            rows.setdefault(row, {}).update(cells_of(record))
        self.rows = dict(sorted(rows.items(), key=lambda row: (row[0].casefold(), row[0])))
        self.remarks = [
            *remarks,
            *(
                text("answers.again", name=name, lesson=lesson, count=more + 1)
                for (name, lesson), more in counts.items()
            ),
        ]
        # A record of many answers has the order of the lesson.
        ordered = sorted(newest.values(), key=lambda each: -len(each.answers))
        columns = dict.fromkeys(column for record in ordered for column in cells_of(record))
        answered = Counter(column for row in self.rows.values() for column in row)
        kept = dict(answered.most_common(MOST_COLUMNS))
        self.columns = [each for each in columns if each in kept]
        self.columns.sort(key=lambda each: (each.lesson, not each.key))
        if len(kept) < len(columns):
            self.remarks.append(text("answers.columns", count=len(columns), kept=len(kept)))

    def words(self, pupil: str, column: Column) -> str:
        """Return the text of a cell of the table."""
        cell = self.rows[pupil].get(column, "")
        return cell.words if isinstance(cell, Given) else cell

    def summary(self, column: Column) -> tuple[str, str]:
        """Return the number of right first guesses and the most frequent wrong one, as strings."""
        given = [cell for row in self.rows.values() if isinstance(cell := row.get(column), Given)]
        first = sum(each.is_first for each in given)
        missed = (each.guesses[: -1 if each.right else None] for each in given)
        wrong = Counter(guess for guesses in missed for guess in dict.fromkeys(guesses))
        [(guess, count)] = wrong.most_common(1) or [("", 0)]
        said = text("answers.of", count=first, all=len(given)) if given else ""
        return said, plural("answers.frequent", count, guess=guess) if count else ""

    def sheet(self) -> str:
        """Return the table and its summary as CSV that is safe to open in a spreadsheet."""
        rows = [[name, *(self.words(name, each) for each in self.columns)] for name in self.rows]
        titles = [text(f"answers.column.{each}") for each in ("pupil", "first", "frequent")]
        rows.insert(0, [titles[0], *(each.words for each in self.columns)])
        below = [titles[1:], *map(self.summary, self.columns)]
        rows += [[*cells] for cells in zip(*below, strict=True)]
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows(map(as_cell, row) for row in rows)
        return file.getvalue()


def cells_of(record: LessonRecord) -> Mapping[Column, Given | str]:
    """Return the cells of the table that a record fills."""
    cells: dict[Column, Given | str] = {
        Column(record.lesson, key): each for key, each in record.answers.items()
    }
    right, asked = record.guessed or (0, 0)
    if asked:
        cells[Column(record.lesson, "")] = text("answers.of", count=right, all=asked)
    return cells


def as_cell(words: str) -> str:
    """Return a text in a form that a spreadsheet does not evaluate; numbers are unchanged."""
    return words if NUMBER.fullmatch(words) else FORMULA.sub(r"\1'\2", words)


def table_in(place: Path) -> AnswerTable:
    """Return the table of all records in a file, or in a folder and its subfolders.

    Raises:
        FileError: if the path does not exist, or contains no file that can contain answers.
    """
    if not (found := list(files_in(place))):
        raise FileError(
            f"no answers in {shown(place)}: pass a folder with files of the kinds "
            f"{', '.join(FILES)}, or one of them"
        )
    given, remarks = [], []
    for path in sorted(found, key=lambda each: (each.stat().st_mtime, each)):
        records, faults = records_in(path)
        name = visible(str(path.relative_to(place)) if path != place else path.name)
        if faults:
            told = {"file": name, "why": faults[0], "faults": len(faults)}
            remarks.append(plural("answers.left_out", len(records) + len(faults), **told))
        for number, record in enumerate(records, 1):
            several = f" {number}" if len(records) > 1 and path.suffix != ".ipynb" else ""
            given.append((record.name or pupil_of(path, place, record.lesson) + several, record))
    return AnswerTable(given, remarks)


def files_in(place: Path) -> Iterable[Path]:
    """Return the files that may contain answers, except hidden files."""
    found = [place]
    for here, folders, names in os.walk(place):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [Path(here, each) for each in names if not each.startswith(".")]
    return (path for path in found if path.suffix.lower() in FILES and os.path.isfile(path))


def pupil_of(path: Path, place: Path, lesson: str) -> str:
    """Return the pupil to whom a file belongs, from the name of the file or of its folder."""
    part = rf"[\s_-]*{re.escape(lesson)}[\s_-]*(\(\d+\))?" if lesson else r"\Z"
    rest = re.sub(part, "", path.stem)
    folder = path.relative_to(place).parts[0] if path.parent != place and path != place else ""
    return visible((rest if rest != path.stem else "") or folder or path.stem)
