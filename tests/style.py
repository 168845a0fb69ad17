"""Turns of phrase that are out of style, and how often each may still occur: tests/style.tsv.

    python -m tests.style           prints how often each occurs, and what to write instead
    python -m tests.style PHRASE    prints the places of one
    python -m tests.style write     lowers the limits to the present counts, and never raises one

Counted are docstrings and comments of Python and JavaScript, Markdown, texts of notebooks and the
English texts; by rows "said: ..." the English texts, and messages, options and words of commands in
Python. Text in `backquotes` is left out. A row with a pattern in its column "where" counts only
files whose paths begin with it: README, the guide and the lessons have stricter limits.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.machine import GENERATED, ROOT

TABLE = Path(__file__).with_suffix(".tsv")
TEXTS = "scalarviz/base/texts/english.json"
FOLDERS = "scalarviz", "scenes", "benchmarks", "tests", "docs", "notebooks"
SUFFIXES = ".py", ".js", ".md", ".ipynb"
HEAD = "phrase\tpattern\twrite instead\tat most\twhere"
DOCSTRING = re.compile(r'(^[ \t]*r?)?"""(.*?)"""', re.DOTALL | re.MULTILINE)  # with group 1
COMMENT = re.compile(r"(?:^|(?<=\s))#\s(.*)")
SCRIPT_COMMENT = re.compile(r"//\s([^\n]*)|/\*(.*?)\*/", re.DOTALL)
SAID = "said: "  # how the names of rows begin that are counted in messages
SLACK = 5  # places by which a count may be below its limit
CODE = re.compile(r"`[^`\n]*`")


Prose = Mapping[str, list[tuple[int, str]]]  # line and text of each piece, by file


class Phrase(NamedTuple):
    """A row of the table: a turn of phrase, and its maximum count."""

    name: str
    pattern: str
    instead: str
    most: int
    where: str = ""

    def places(self, prose: Prose) -> list[str]:
        """Return file and line of each place."""
        compiled = re.compile(self.pattern, re.IGNORECASE)
        return [
            f"{path}:{line + text.count(chr(10), 0, found.start())}"
            for path, texts in prose.items()
            if path.startswith(SAID) == self.name.startswith(SAID) and re.match(self.where, path)
            for line, text in texts
            for found in compiled.finditer(text)
        ]


def excess(phrases: list[Phrase], prose: Prose) -> list[str]:
    """Return a sentence for each phrase that occurs more often than allowed, or far less."""
    found = []
    for row in phrases:
        places = row.places(prose)
        if len(places) > row.most:
            found.append(f"{row.name!r} occurs {len(places)} times, not {row.most}: {row.instead}")
        elif row.most - len(places) > max(SLACK, row.most // 10):
            found.append(f"{row.name!r} occurs {len(places)} times: lower its limit {row.most}")
    return found


def read(path: Path = TABLE) -> list[Phrase]:
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:])
    return [
        Phrase(name, pattern, instead, int(most), where)
        for name, pattern, instead, most, where in rows
    ]


def write(phrases: list[Phrase], path: Path = TABLE) -> None:
    rows = ["\t".join(map(str, phrase)) for phrase in phrases]
    path.write_text("\n".join([HEAD, *rows, ""]), encoding="utf-8")


def prose_of(root: Path = ROOT, *, quoted: bool = False) -> Prose:
    """Return the prose of the repository; `quoted` includes text in backquotes."""
    files = [root / TEXTS, *root.glob("*.md")]
    for folder in FOLDERS:
        files += [
            each
            for each in (root / folder).rglob("*")
            if each.suffix in SUFFIXES and "node_modules" not in each.parts
        ]
    found = {}
    left_out = {root / each.relative_to(ROOT) for each in GENERATED.glob("*")}
    for path in sorted({*files} - left_out):
        name = path.relative_to(root).as_posix()
        readers = {name: PIECES[path.suffix]}
        if path.suffix in SAYING and name.startswith(("scalarviz", "scenes")):
            readers[SAID + name] = SAYING[path.suffix]
        for key, read_in in readers.items():
            pieces = read_in(path.read_text(encoding="utf-8"))
            found[key] = [(line, text if quoted else CODE.sub("``", text)) for line, text in pieces]
    return found


def of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings, and the comments, one per line."""
    for each in DOCSTRING.finditer(text):
        if each[1] is not None:
            yield text.count("\n", 0, each.start(2)) + 1, each[2]
    lines = [COMMENT.search(line) for line in text.split("\n")]
    yield 1, "\n".join(each[1] if each else "\0" for each in lines)


def written(node: ast.expr) -> str | None:
    """The text of a literal, an f-string with {} for what is computed; None: not a literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        return "".join(map(str, parts))
    return None


def of_messages(text: str) -> Iterator[tuple[int, str]]:
    """Yield the literals that are no docstrings, the fields of f-strings as {}."""
    for node in ast.walk(ast.parse(text)):
        for each in (
            [] if isinstance(node, ast.Expr | ast.JoinedStr) else ast.iter_child_nodes(node)
        ):
            if isinstance(each, ast.expr) and " " in (words := written(each) or ""):
                yield each.lineno, words


def of_scripts(text: str) -> Iterator[tuple[int, str]]:
    for each in SCRIPT_COMMENT.finditer(text):
        yield text.count("\n", 0, each.start()) + 1, each[1] or each[2] or ""


def of_texts(text: str) -> Iterator[tuple[int, str]]:
    yield 1, "\n".join(["", *map(str, json.loads(text).values())])


PIECES = {
    ".py": of_python,
    ".js": of_scripts,
    ".md": lambda text: iter([(1, text)]),
    ".ipynb": lambda text: (
        (1, "".join(cell["source"]))
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "markdown"
    ),
    ".json": of_texts,
}
SAYING = {".py": of_messages, ".json": of_texts}


def main(words: list[str]) -> int:
    phrases, prose = read(), prose_of()
    if words == ["write"]:
        write([row._replace(most=min(row.most, len(row.places(prose)))) for row in phrases])
    elif chosen := [row for row in phrases if row.name in words]:
        print(*chosen[0].places(prose), f"Write: {chosen[0].instead}", sep="\n")
    else:
        for row in phrases:
            print(f"{len(row.places(prose)):5} of {row.most:4}  {row.name:22} {row.instead}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
