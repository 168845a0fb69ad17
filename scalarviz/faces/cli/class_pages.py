"""`scalarviz class`, `lesson`, `lessons` and `collect`: pages for a class, and its answers.

Records of answers are stored without the address of the sender. The size, rate and total of the
records from visitors are limited.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, cast, final
from urllib.parse import urlencode

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request

from scalarviz.base.checks import require, shorten
from scalarviz.base.interrupt import INTERRUPTED
from scalarviz.base.messages import say, shortened
from scalarviz.base.package_files import top_folder
from scalarviz.base.shell_commands import pip_command, program
from scalarviz.base.texts import plural, text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.faces.browser.link_server import MOST_VISITORS, Denied, Tokens, read
from scalarviz.faces.links import read_link
from scalarviz.faces.scene_file import about, find, load, scenes
from scalarviz.faces.scene_options import played
from scalarviz.files.atomic import as_path, check_place, replace_file, shown, unsaved
from scalarviz.pages.addresses import is_loopback, listening, numeric, seen_by_others, url_of
from scalarviz.pages.lessons.answers import (
    FILES,
    LARGEST_RECORD,
    AnswerTable,
    LessonRecord,
    record_of,
    records_in,
    table_in,
)
from scalarviz.pages.lessons.lesson import (
    Lesson,
    LessonPicture,
    handouts,
    lesson_of,
    lessons,
    solutions_of,
    without_solutions,
)
from scalarviz.pages.lessons.lesson_page import lesson_page
from scalarviz.pages.page import page_of, size_words, trains
from scalarviz.pages.plain_pages import INDEX, Entry, index_of, links_of
from scalarviz.pages.web_server import ASKING, Answer, File, PageServer
from scalarviz.training.session.session import Session

SCENES = ("rgb", "xor", "circle")


def serve(
    scenes: Sequence[str],
    address: str,
    port: int | None,
    collect: str | None = None,
    *,
    without: bool = False,
) -> int:
    """Create the pages of scenes and serve them until Ctrl-C; return the exit code.

    Args:
        scenes: names or paths of scenes, numbers of lessons, paths of .md files, or "lessons" for
            all lessons; if empty, SCENES
        address: an address of this machine; 0.0.0.0 for all
        port: port number, see `listening`
        collect: .jsonl file for the answers sent by pages; None disables sending
        without: whether to leave out the solutions of lessons

    Raises:
        InputError: if a scene is unknown, if the address or port is not available, or if `collect`
            exists and contains something other than answers.
    """
    paths = paths_of(scenes or SCENES)
    is_open = not is_loopback(address)
    collecting = None if collect is None else Collecting(collect, is_open=is_open)
    with bound(address, port, collecting) as server:
        collects = collecting is not None
        entries = [entry_of(name, path) for name, path in paths.items()]
        pages = {
            f"{name}.html": made(
                path, collects=collects, without=without, links=links_of(entries, name)
            )
            for name, path in paths.items()
        }
        pages[INDEX] = index_of(entries, collects=collects)
        if collecting is None:
            return until_ctrl_c(server, pages, address)
        collecting.entries = entries

        with board(collecting.path):
            until_ctrl_c(server, pages, address, collecting)
    collect_answers(str(collecting.path))
    return INTERRUPTED


def until_ctrl_c(
    server: PageServer,
    pages: Mapping[str, bytes],
    address: str,
    collecting: Collecting | None = None,
) -> int:
    """Print the URLs of pages, and serve them until Ctrl-C; return the exit code."""
    say(*greeting(address, server.port, collecting))
    try:
        server.start(pages)
        server.wait()
    except KeyboardInterrupt:
        say(plural("class.ended", len({visitor for visitor, _ in server.visitors})))
    return INTERRUPTED


def paths_of(scenes: Sequence[str]) -> dict[str, Path]:
    """Return the files of scenes and lessons, by page name.

    The glossary is included if a lesson of the package links to it. Raises InputError if two pages
    would have the same name.
    """
    found: dict[str, Path] = {}
    for each in all_named(scenes):
        path = path_of_lesson(each) or find(each)
        require(
            path.stem not in found and f"{path.stem}.html" != INDEX,
            f"the page of {shorten(each)} would have the same name as another one, "
            f"{path.stem}.html: rename the file",
        )
        found[path.stem] = path
    return found


def entry_of(name: str, path: Path) -> Entry:
    """Return the entry for a page in the index page."""
    if path.suffix == ".py":
        return Entry(name, about(path))
    lesson = lesson_of(path)
    has_picture = any(isinstance(part, LessonPicture) for part in lesson.parts)
    return Entry(name, text("class.lesson" if has_picture else "class.text"), lesson.title)


def made(path: Path, *, collects: bool = False, without: bool = False, links: str = "") -> bytes:
    """Create the page of a scene or lesson, print its size, and return it."""
    if path.suffix != ".py":
        lesson = without_solutions(lesson_of(path)) if without else lesson_of(path)
        page = page_of_lesson(lesson, collects=collects, links=links)
        say(text("lesson.written", file=f"{path.stem}.html", size=size_words(len(page))))
        return page
    show = played(load(path), {})
    trains(show.session)
    trained = page_of(show, links=links)
    say(trained.words(f"{path.stem}.html"))
    return trained.text


def bound(address: str, port: int | None, collecting: Collecting | None = None) -> PageServer:
    """Return a server that prints visitors; raise InputError if it cannot listen at the address."""
    hooks = (collecting.gate, collecting.visit) if collecting else ()
    return PageServer(
        listening(address, port),
        lambda who, page: say(text("class.came", who=who, page=page)),
        *hooks,
    )


def greeting(address: str, port: int, collecting: Collecting | None = None) -> list[str]:
    """Return the lines that state the URL of the pages and who can send answers."""
    lines = [text("class.here", url=url_of(numeric(address), port)), text("class.open")]
    if not is_loopback(address):
        query = collecting.query if collecting else ""
        seen = seen_by_others(address)
        url = url_of(seen, port) + query
        lines = [text("class.room", url=url) if seen else text("class.no_network")]
    if collecting is not None:
        who = "room" if collecting.tokens else "here"
        lines.append(text(f"class.collects.{who}", file=collecting.path))
    return [*lines, text("class.end")]


# `scalarviz lesson`: lessons as pages, built-in or written by a teacher.


def write_lessons(
    names: Sequence[str], out: str | None, *, without: bool = False, solutions: bool = False
) -> None:
    """Write the pages of lessons; raise InputError for an unknown one.

    Args:
        names: numbers of lessons, such as 01, names of handouts, or paths of .md files; if empty,
            all lessons. The glossary is also written if there are lessons of the package
        out: output folder; None: the current folder
        without: whether to leave out the solutions
        solutions: whether to write one page with all solutions instead of the lessons
    """
    folder, chosen = Path(out or "."), [*map(named, all_named(names or ["lessons"]))]
    if solutions:
        chosen = [solutions_of(chosen)]
    elif without:
        chosen = [*map(without_solutions, chosen)]
    for name, count in Counter(each.name for each in chosen).items():
        require(count == 1, f"{count} lessons would be written to {name}.html: rename a file")
    for lesson in chosen:
        page = page_of_lesson(lesson)
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"{lesson.name}.html"
        replace_file(place, page)
        say(text("lesson.written", file=place, size=size_words(len(page))))


def all_named(names: Iterable[str]) -> list[str]:
    """Replace "lessons" with all lesson names, and "1" with "01"; remove duplicates.

    The glossary is added at the end if there are lessons of the package, since they link to it.
    """
    numbers = {number.removeprefix("0"): (number,) for number in lessons()} | {"lessons": lessons()}
    found = [each for name in names for each in numbers.get(name, (name,))]
    is_linked = not lessons().keys().isdisjoint(found)
    return [*dict.fromkeys([*found, *["glossary"] * is_linked])]


def path_of_lesson(name: str) -> Path | None:
    """Return the file of a lesson given by number or path, or None for anything else."""
    return Path(name) if name.endswith(".md") else (lessons() | handouts()).get(name)


def named(name: str) -> Lesson:
    """Return the lesson with this number or .md file; raise UnknownNameError if it is unknown."""
    return lesson_of(path_of_lesson(name) or pick(lessons() | handouts(), name, "lesson"))


def page_of_lesson(lesson: Lesson, *, collects: bool = False, links: str = "") -> bytes:
    """Return the page of a lesson; its pictures show scenes of the package, or saved runs.

    Raises:
        InputError: if a picture refers to an invalid moment.
    """
    for each in lesson.parts:
        if isinstance(each, LessonPicture):
            try:
                read_link(f"{lesson.name}#{urlencode(each.moment)}")
            except InputError as error:
                raise InputError(f"a picture in {lesson.name}: {error}") from error

    def shown(name: str) -> Any:
        if name.endswith(".safetensors"):
            return Session.load(name)
        return played(load(pick(scenes(), name, "scene")), {})

    return lesson_page(lesson, shown, collects=collects, links=links)


# `scalarviz lessons`: copy the lessons and the guide out of the package, and open them.

PARTS = "notebooks", "docs/guide"  # copied with their relative paths, which their links use


def copy_lessons(folder: str) -> None:
    """Copy the lessons and the guide into a folder; in a terminal, also open them in JupyterLab.

    Existing files are not overwritten.
    """
    parts = [(part, each) for part in PARTS for each in sorted(top_folder(part).iterdir())]
    found = {Path(folder, part, each.name): each for part, each in parts if each.is_file()}
    new = [place for place in found if not place.exists()]
    for place in new:
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, found[place].read_bytes())
    say(text("lessons.copied", folder=Path(folder)))
    if kept := len(found) - len(new):
        say(text("lessons.kept", count=kept))
    if find_spec("jupyterlab") is None:
        say(text("lessons.install", command=pip_command("lessons"), program=program()))
    elif sys.stdout.isatty():
        import_module("jupyterlab.labapp").main(["--allow-root", f"--notebook-dir={folder}"])
    else:
        say(text("lessons.open", folder=shlex.quote(str(Path(folder)))))


# `scalarviz collect`: the answers of a class as a table, in the terminal and as a file.

LONGEST_CELL = 36  # letters of a cell in the terminal
USUAL_CELL = 18  # width including the gap
HEADS = ("pupil", "question", "first", "frequent")


def collect_answers(place: str, out: str | None = None) -> None:
    """Print the table of the answers in a folder or file, and optionally write it to a file.

    Args:
        out: a .csv file, or None

    Raises:
        InputError: if the folder contains no answers.
        FileError: if a file cannot be read or written.
    """
    if out is not None:
        require(
            as_path(out).suffix.lower() == ".csv",
            f"the table is written as .csv, not as {shorten(out)}",
        )
        check_place(out)
    table, console = table_in(as_path(place)), Console()
    if out is not None:  # written first: a pipe of the printed table may be closed early
        replace_file(out, table.sheet().encode("utf-8-sig"))  # Excel recognizes UTF-8 by the mark
    for each in tables(table, console.width):
        console.print(each)
    say(*table.remarks)
    if out is not None:
        say(text("answers.written", file=out))


def board(path: Path) -> Live:
    """Return a live view of a file's answers, a table in the terminal that grows as they arrive."""
    console = Console()

    def now() -> Group:
        begun = path.is_file() and path.stat().st_size
        return Group(*reversed([*tables(table_in(path), console.width)] if begun else []))

    return Live(get_renderable=now, console=console, refresh_per_second=1, transient=True)


def tables(table: AnswerTable, width: int) -> Iterator[Table]:
    """Yield tables that fit into `width`: the answers of each lesson, then a table of questions."""
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
    """Return a rich Table with plain text in its cells."""
    table = Table(box=box.SIMPLE_HEAD, title=Text(title), title_justify="left")
    for each in heads:
        table.add_column(Text(shortened(each, LONGEST_CELL)))
    for row in rows:
        table.add_row(*(Text(shortened(each, LONGEST_CELL)) for each in row))
    return table


KIND = ".jsonl"
MOST_RECORDS = 1000
AT_ONCE = 60  # records of a visitor: a room may share one address
EVERY = 10.0  # seconds after which a visitor may send another one
USUAL = 4096  # bytes of a record; a larger one counts as several
MOST_OF_ONE = MOST_RECORDS // 2  # stored records per visitor


@final
class Collecting:
    """Receives records from pages and appends them to a file.

    Attributes:
        path: the .jsonl file; records are appended to an existing file
        is_open: whether other machines can reach the server, so that a token is required
        entries: the pages listed for holders of the token
        now: a clock in seconds

    Raises:
        InputError: if the file contains something other than answers.
        FileError: if the file cannot be written.
    """

    def __init__(self, path: str, *, is_open: bool, now: Callable[[], float] = monotonic) -> None:
        self.path = as_path(path)
        require(
            self.path.suffix == KIND,
            f"answers are saved in a {KIND} file, not in {shown(self.path)}",
        )
        check_place(self.path)
        try:
            with self._opened() as file:
                size = file.seek(0, os.SEEK_END)
                old, faults = records_in(self.path)
                if size and not old:
                    raise InputError(
                        f"{shown(self.path)} cannot be continued, since {faults[0]}: name another "
                        "file"
                    )
                self.path.chmod(0o600)
                file.seek(max(0, size - 1))
                if file.read(1) not in (b"", b"\n"):  # truncated line
                    file.write(b"\n")
        except OSError as error:
            raise unsaved(self.path, error) from error

        self.tokens = Tokens(is_open=True, controls=False) if is_open else None
        self.entries: Sequence[Entry] = ()
        self._count, self._now = len(old), now
        self._left: dict[str, tuple[float, float]] = {}  # remaining records and time, by visitor
        self._kept: Counter[str] = Counter()  # by visitor

    @property
    def query(self) -> str:
        """The query string that the URL of a page needs to send answers."""
        return f"?token={self.tokens.short}" if self.tokens else ""

    async def gate(self, request: Request, who: str) -> Answer | None:
        """Return the index page if a request has the token, otherwise a form that asks for it."""
        if self.tokens is None or request.path.partition("?")[0] not in ("/", f"/{INDEX}"):
            return None
        wrong = text("class.token.wrong")
        if refused := self.tokens.refusal(request, who, text("class.token.ask"), wrong, wrong):
            return refused
        entries = (each._replace(query=self.query) for each in self.entries)
        return HTTPStatus.OK, File.of(INDEX, index_of(entries, collects=True))

    async def visit(self, connection: ServerConnection, who: str) -> None:
        """Receive a record of answers from a page, and reply {"ok": true} or {"error": message}."""
        with suppress(ConnectionClosed, TimeoutError):
            try:
                self._charge(who, 1)
                record = self._take(await asyncio.wait_for(connection.recv(), ASKING), who)
            except InputError as error:
                return await connection.send(json.dumps({"error": str(error)}))
            await connection.send(json.dumps({"ok": True}))  # sent first: printing may fail
            name = record.name or text("class.nameless")
            say(text("class.record", name=name, lesson=record.lesson))

    def _charge(self, who: str, count: int) -> None:
        """Count records of USUAL bytes from a visitor; raise InputError if there are too many."""
        now = self._now()
        left, since = self._left.pop(who, (AT_ONCE, now))
        left = min(AT_ONCE, left + (now - since) / EVERY)
        rest = left - count
        self._left[who] = rest if rest >= 0.0 else left, now
        if len(self._left) > MOST_VISITORS:
            del self._left[next(iter(self._left))]
        if rest < 0.0:
            wait = ceil(-rest * EVERY)
            raise InputError(f"too many answers from this device: send them again in {wait} s")

    def _take(self, sent: str | bytes, who: str) -> LessonRecord:
        """Store a record and return it; raise InputError if it is invalid or its token is wrong."""
        found = read(sent) if len(sent) <= LARGEST_RECORD else None
        if found is None:
            raise InputError(
                f"answers are JSON of at most {LARGEST_RECORD:,} characters: reload the page"
            )
        try:
            if self.tokens is not None:
                self.tokens.looks(who, str(found.get("token", "")))
        except Denied as denied:
            raise InputError(denied.words(text("class.token.elsewhere"))) from None
        record = record_of(found.get("record"))
        line = record.line()
        count = ceil(len(line) / USUAL)
        require(
            self._kept[who] + count <= MOST_OF_ONE,
            "no more answers are saved from this device: tell your teacher",
        )
        self._charge(who, -1)  # one was charged on arrival
        self._charge(who, count)
        self._add(line)
        self._kept[who] += count
        return record

    def _add(self, line: bytes) -> None:
        """Append a record to the file as one line, completely or not at all."""
        try:
            with self._opened() as file:
                size = file.seek(0, os.SEEK_END)
                require(
                    self._count < MOST_RECORDS and size + len(line) <= FILES[KIND][0],
                    "the file of your teacher is full: tell your teacher, and send again",
                )
                if file.write(line) != len(line):
                    file.truncate(size)
                    raise OSError("the disk is full")
        except OSError as error:
            say(*unsaved(self.path, error).lines)
            raise InputError(
                "your teacher's machine cannot save answers: tell your teacher"
            ) from None
        self._count += 1

    def _opened(self) -> BinaryIO:
        """Open the file for appending; only its owner can read a new file."""
        opener = partial(os.open, mode=0o600)
        return cast(BinaryIO, open(self.path, "a+b", buffering=0, opener=opener))
