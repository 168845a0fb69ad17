"""The weight of the package by room: a room may not exceed its row in tests/weight.tsv.

    python -m tests.weight                     prints the table
    python -m tests.weight changes             prints the rooms that differ from the last release
    python -m tests.weight write               lowers rows to the present weights
    python -m tests.weight write ROOM REASON   raises the row of a room, or adds it

A room is a folder of scalarviz/, the JavaScript of pages, or another folder of the repository. The
table contains its limit and its weight at the last release; if the limit is higher, the reason.
Statements are those of Python, without imports and docstrings; an assignment to several names
counts each, and a lambda is one. Lines are those of JavaScript, CSS, HTML, shaders and CUDA,
without blank lines and comments.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.machine import ROOT, syntax_of

TABLE = Path(__file__).with_suffix(".tsv")
SUFFIXES = set(".py .js .mjs .ts .css .html .cu .cuh .frag .vert .glsl .c .cpp .h".split())
FOLDERS = "scalarviz", "tests", "benchmarks", "docs", "scenes"
BESIDE = "conftest.py", "setup.py"
WEB = "scalarviz/pages/web"
LEFT_OUT = "docs/pages/", f"{WEB}/story/", f"{WEB}/node_modules/"  # generated, installed
SUMS = {"scalarviz/": ("scalarviz",), "tests and benchmarks": ("tests", "benchmarks", *BESIDE)}


class Weight(NamedTuple):
    """The size of a room."""

    statements: int = 0
    lines: int = 0
    files: int = 0

    def __add__(self, other: object) -> Weight:
        assert isinstance(other, Weight)
        return Weight(*(a + b for a, b in zip(self, other, strict=True)))


class Row(NamedTuple):
    """The row of a room: its limit, its weight at the last release, and the reason for more."""

    most: Weight
    released: Weight = Weight()
    reason: str = ""


Weights = Mapping[str, Weight]
Rows = Mapping[str, Row]


# ---- counting ------------------------------------------------------------------------------------


def weights(root: Path = ROOT) -> Weights:
    """Count the rooms below a folder."""
    found: dict[str, Weight] = defaultdict(Weight)
    for path in files_of(root):
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".py":
            size = Weight(statements(syntax_of(text)), 0, 1)
        else:
            size = Weight(0, sum(map(is_counted, text.split("\n"))), 1)
        found[room_of(path.relative_to(root).as_posix())] += size
    return dict(sorted(found.items()))


def files_of(root: Path) -> Iterator[Path]:
    """Yield the files that are counted."""
    yield from (root / name for name in BESIDE if (root / name).is_file())
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            is_left_out = path.relative_to(root).as_posix().startswith(LEFT_OUT)
            if path.suffix in SUFFIXES and path.is_file() and not is_left_out:
                yield path


def room_of(path: str) -> str:
    """Return the room of a file, given its path from the root."""
    parts = path.split("/")
    if path.startswith(f"{WEB}/"):
        return WEB
    return "/".join(parts[: 2 if parts[0] == "scalarviz" and len(parts) > 2 else 1])


def statements(tree: ast.AST) -> int:
    """Count the statements of a module."""
    counted = ast.stmt, ast.Lambda
    return sum(size_of(node) for node in ast.walk(tree) if isinstance(node, counted))


def size_of(node: ast.stmt | ast.Lambda) -> int:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return 0
        case ast.Assign(targets=[ast.Tuple(), *_], value=ast.Tuple(elts=values)):
            return len(values)
    return 1


def is_counted(line: str) -> bool:
    """Return whether a line of another language is neither blank nor a comment."""
    line = line.strip()
    return bool(line) and not line.startswith(("//", "/*", "*"))


# ---- the table -----------------------------------------------------------------------------------


HEAD = (
    "room\tstatements\tother lines\tfiles"
    "\tstatements released\tother lines released\tfiles released\twhy more than released"
)


def read(path: Path = TABLE) -> Rows:
    """Return the rows of the table."""
    rows = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        room, *numbers, reason = line.split("\t")
        counts = [*map(int, numbers)]
        rows[room] = Row(Weight(*counts[:3]), Weight(*counts[3:]), reason)
    return rows


def write(rows: Rows, path: Path = TABLE) -> None:
    """Write the table."""
    lines = ["\t".join(map(str, (room, *rows[room].most, *rows[room].released, rows[room].reason)))
             for room in sorted(rows)]  # fmt: skip
    path.write_text("\n".join([HEAD, *lines, ""]), encoding="utf-8")


def lowered(now: Weights, rows: Rows) -> Rows:
    """Return rows lowered to the present weights, without removed rooms."""
    return {
        room: row._replace(most=Weight(*map(min, row.most, now[room])))
        for room, row in rows.items()
        if room in now
    }


def faults(now: Weights, rows: Rows) -> list[str]:
    """Return a sentence for each room above its row, and for each row without a reason."""
    found = []
    for room, weight in now.items():
        row = rows.get(room)
        if row is None:
            found.append(f"{room} has no row")
            continue
        found += [
            f"{room} has {count:,} {name}, and its row allows {most:,}"
            for name, count, most in zip(Weight._fields, weight, row.most, strict=True)
            if count > most
        ]
        if any(map(int.__gt__, row.most, row.released)) and not row.reason:
            found.append(f"the row of {room} is above that of the last release, without a reason")
    return found


# ---- printing ------------------------------------------------------------------------------------


def summed(now: Weights, folders: tuple[str, ...]) -> Weight:
    """Return the sum over the rooms in some folders."""
    return sum((now[room] for room in now if room.split("/")[0] in folders), Weight())


def changes(now: Weights, rows: Rows) -> Iterator[str]:
    """Yield a line for each room that differs from the last release, and for the sums."""
    before = {room: rows[room].released for room in rows}
    both = [
        (room, now.get(room, Weight()), before.get(room, Weight())) for room in {**before, **now}
    ]
    both += [(f"all of {name}", summed(now, f), summed(before, f)) for name, f in SUMS.items()]
    for room, weight, former in both:
        if weight != former:
            yield f"{room:24}" + ",".join(
                f"{count:7,} {name} ({count - past:+,})"
                for name, count, past in zip(Weight._fields, weight, former, strict=True)
                if count or past
            )


def table(now: Weights, rows: Rows) -> Iterator[str]:
    """Yield the lines of the printed table."""
    yield f"{'room':24}{'statements':>18}{'other lines':>18}{'files':>14}"
    for room, weight in now.items():
        row = rows.get(room, Row(Weight()))
        pairs = zip(weight, row.most, (18, 18, 14), strict=True)
        cells = (f"{f'{count:,} of {most:,}':>{width}}" for count, most, width in pairs)
        yield f"{room:24}{''.join(cells)}  {row.reason}".rstrip()
    for name, folders in SUMS.items():
        counts = zip(summed(now, folders), (18, 18, 14), strict=True)
        yield f"{name:24}" + "".join(f"{count:{width},}" for count, width in counts)


def main(words: list[str]) -> int:
    now, rows = weights(), read()
    match words:
        case []:
            print("\n".join(table(now, rows)))
        case ["changes"]:
            print("Changed since the last release:", *changes(now, rows), sep="\n")
        case ["write"]:
            write(lowered(now, rows))
        case ["write", room, reason] if room in now and reason.strip():
            row = rows.get(room, Row(Weight()))
            write({**rows, room: row._replace(most=now[room], reason=reason.strip())})
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
