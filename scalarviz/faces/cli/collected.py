"""`scalarviz collect`: the answers of a class as a table, in the terminal and as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from scalarviz.base.checks import shorten
from scalarviz.base.messages import say, shortened
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.files.atomic import as_path, check_place, replace_file
from scalarviz.pages.lessons.answers import AnswerTable, table_in

LONGEST_CELL = 36  # letters in the terminal
USUAL_CELL = 18  # with the gap
HEADS = ("pupil", "question", "first", "frequent")


def collect(place: str, out: str | None = None) -> None:
    """Print the table of the answers in a folder or a file, and write it.

    out  a file .csv; None: none

    Raises InputError or FileError for a place without answers, or a file that cannot be written.
    """
    if out is not None:
        if as_path(out).suffix.lower() != ".csv":
            raise InputError(f"the table is written as .csv, not as {shorten(out)}")
        check_place(out)
    table = table_in(as_path(place))
    show(table)
    if out is not None:
        replace_file(out, table.sheet().encode("utf-8-sig"))  # by the mark Excel knows UTF-8
        say(text("answers.written", file=out))


def show(table: AnswerTable) -> None:
    """Print a table, lesson by lesson, and after it the questions."""
    console = Console()
    for each in tables(table, console.width):
        console.print(each)
    say(*table.remarks)


def board(path: Path) -> Live:
    """Return what shows the table of a file in a terminal while answers come, questions first."""
    console = Console()

    def now() -> Group:
        begun = path.is_file() and path.stat().st_size
        return Group(*reversed([*tables(table_in(path), console.width)] if begun else []))

    return Live(get_renderable=now, console=console, refresh_per_second=1, transient=True)


def tables(table: AnswerTable, width: int) -> Iterator[Table]:
    """Yield the parts of a table: of each lesson as many columns as usually fit, then questions."""
    heads = {each: text(f"answers.column.{each}") for each in HEADS}
    most = max(1, width // USUAL_CELL - 1)
    for lesson, columns in groupby(table.columns, lambda each: each.lesson):
        own = list(columns)
        for part in (own[i : i + most] for i in range(0, len(own), most)):
            rows = [[name, *(table.words(name, each) for each in part)] for name in table.rows]
            rows = [row for row in rows if any(row[1:])]
            yield printed(lesson, [heads["pupil"], *(each.short for each in part)], rows)
    rows = [[each.words, *table.summary(each)] for each in table.columns if each.key]
    if rows:
        yield printed(text("answers.summary"), list(heads.values())[1:], rows)


def printed(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table of rich, whose cells are plain text."""
    table = Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left")
    for each in heads:
        table.add_column(Text(shortened(each, LONGEST_CELL)))
    for row in rows:
        table.add_row(*(Text(shortened(each, LONGEST_CELL)) for each in row))
    return table
