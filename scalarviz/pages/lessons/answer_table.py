"""The table of answers: a row a pupil, a column a question, and what each question shows."""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, final

from scalarviz.base.messages import visible
from scalarviz.base.texts import plural, text
from scalarviz.errors import FileError
from scalarviz.files.atomic import shown
from scalarviz.pages.lessons.answers import FILES, Given, Record, records_in

MOST_COLUMNS = 500  # those that most pupils have answered
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
FORMULA = re.compile(r"(^|;)([\s\"]*[=+\-@＝＋－＠])")  # also where a semicolon parts cells


class Column(NamedTuple):
    """A question of a lesson; the key "" stands for the guesses in its picture."""

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
    """What pupils have answered: of a page the newest record, of several pages of one name each.

    records  with the name of the pupil each, the newest last
    remarks  sentences about what they were made of
    """

    def __init__(self, records: Iterable[tuple[str, Record]], remarks: Iterable[str] = ()) -> None:
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
        """Return a cell."""
        cell = self.rows[pupil].get(column, "")
        return cell.words if isinstance(cell, Given) else cell

    def summary(self, column: Column) -> tuple[str, str]:
        """Return how many were right at first, and the most frequent wrong guess."""
        rows = self.rows.values()
        given = [cell for row in rows if isinstance(cell := row.get(column), Given)]
        first = sum(each.is_first for each in given)
        missed = (each.guesses[: -1 if each.right else None] for each in given)
        wrong = Counter(guess for guesses in missed for guess in dict.fromkeys(guesses))
        [(guess, count)] = wrong.most_common(1) or [("", 0)]
        said = text("answers.of", count=first, all=len(given)) if given else ""
        return said, plural("answers.frequent", count, guess=guess) if count else ""

    def sheet(self) -> str:
        """Return the table with a summary below; a spreadsheet finds no formula in it."""
        rows = [[name, *(self.words(name, each) for each in self.columns)] for name in self.rows]
        titles = [text(f"answers.column.{each}") for each in ("pupil", "first", "frequent")]
        rows.insert(0, [titles[0], *(each.words for each in self.columns)])
        below = [titles[1:], *map(self.summary, self.columns)]
        rows += [[*cells] for cells in zip(*below, strict=True)]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([as_cell(cell) for cell in row] for row in rows)
        return file.getvalue()


def cells_of(record: Record) -> Mapping[Column, Given | str]:
    """Return the cells of a record."""
    answers = record.answers.items()
    cells: dict[Column, Given | str] = {Column(record.lesson, key): each for key, each in answers}
    right, asked = record.guessed or (0, 0)
    if asked:
        cells[Column(record.lesson, "")] = text("answers.of", count=right, all=asked)
    return cells


def as_cell(words: str) -> str:
    """Return a text that a spreadsheet does not run; numbers stay."""
    return words if NUMBER.fullmatch(words) else FORMULA.sub(r"\1'\2", words)


def table_in(place: Path) -> AnswerTable:
    """Return the table of the records in a folder and those below it, or in one file.

    Raises FileError if there is no such place, or nothing to read in it.
    """
    if not (found := list(files_in(place))):
        raise FileError(
            f"there are no answers in {shown(place)}: name a folder with files of the kinds "
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
    """Yield the files that may hold answers: one, or those of folders, without hidden ones."""
    found = [place]
    for here, folders, names in os.walk(place):
        folders[:] = [each for each in folders if not each.startswith(".")]
        found += [Path(here, each) for each in names if not each.startswith(".")]
    return (path for path in found if path.suffix.lower() in FILES and os.path.isfile(path))


def pupil_of(path: Path, place: Path, lesson: str) -> str:
    """Return whose file it is: its name without the lesson, else the folder that it is in."""
    part = rf"[\s_-]*{re.escape(lesson)}[\s_-]*(\(\d+\))?" if lesson else r"\Z"
    rest = re.sub(part, "", path.stem)
    folder = path.relative_to(place).parts[0] if path.parent != place and path != place else ""
    return visible((rest if rest != path.stem else "") or folder or path.stem)
