"""Small faults put into the package, one at a time, to see whether the tests notice.

    python -m tests.proofs.code_mutants draw           write a new list, code_mutants.tsv
    python -m tests.proofs.code_mutants run [PART]     try those whose path contains PART

`run` tries each mutant in a copy of the package: first the tests that import the mutated module,
then those of its folder. It writes into the list the first test that failed, or that none did, and
drops a mutant whose piece is no more. Those that no test has found come first. Write in place of
"none" in one sentence why a mutant is "equivalent: ..." or "harmless: ...": it is not tried again.
Who deletes tests runs the mutants of that part before and after: what was found must still be
found.
"""

from __future__ import annotations

import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.machine import ROOT
from tests.nearest import LISTS, near_tests

LIST = Path(__file__).with_name("code_mutants.tsv")
COUNT, SEED = 200, 39
LONGEST = 300  # seconds for the tests of one mutant; a loop without end is noticed, too
UNTRIED, NONE, GONE, TIME = "untried", "none", "gone", "the time limit"
EXPLAINED = "equivalent: ", "harmless: "
NO_TESTS = 5  # what pytest returns where all are slow, or a file has no examples

# Each operator, how it is written, and what stands instead.
SIGNS: dict[type, tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A fault: a piece of a function in other words.

    Attributes:
        path: the file
        function: its name, with that of its class, or "" at the top of the file
        words: the piece as it stands
        number: which of several equal pieces of the function it is
        other: what stands there instead
        found: the first test that failed, "none", "untried", "the time limit", why none need fail,
            or "gone" when the piece is no more
    """

    path: str
    function: str
    words: str
    number: int
    other: str
    found: str = UNTRIED

    @classmethod
    def read(cls, line: str) -> Mutant:
        path, function, words, number, other, found = line.split("\t")
        return cls(path, function, words, int(number), other, found)

    def __str__(self) -> str:
        parts = self.path, self.function, self.words, str(self.number), self.other, self.found
        return "\t".join(parts)

    def applied(self, text: str) -> str:
        """The text of the file with the fault in it."""
        for place, each in pieces(self.path, text):
            if replace(self, found=UNTRIED) == each:
                start, end = place
                return text[:start] + self.other + text[end:]
        raise LookupError(f"{self.path} has no longer {self.words!r} in {self.function!r}")


def pieces(path: str, text: str) -> Iterator[tuple[tuple[int, int], Mutant]]:
    """Each fault that a file can have, with the place of its piece in the text."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    raw, seen = text.encode(), dict[tuple[str, str, str], int]()
    for function, node, other in faults(ast.parse(text), text):
        begin = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        words = raw[begin:end].decode()
        if "\n" in words or "\t" in words or words == other:
            continue
        number = seen[function, words, other] = seen.get((function, words, other), -1) + 1
        place = len(raw[:begin].decode()), len(raw[:end].decode())
        yield place, Mutant(path, function, words, number, other)


def faults(
    tree: ast.AST, text: str, function: str = ""
) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Each node that is put in other words, with the function that it is in, and these words."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            for part in node.body:
                yield from faults(
                    ast.Module([part], []), text, f"{function}.{node.name}".strip(".")
                )
        elif isinstance(node, (ast.arg, ast.Import, ast.ImportFrom, ast.JoinedStr)):
            continue
        else:
            if isinstance(node, (ast.expr, ast.stmt)) and (other := other_words(node, text)):
                yield function, node, other
            value = node.value if isinstance(node, ast.AnnAssign) else node
            if value is not None and not is_for_types(node):
                yield from faults(value, text, function)


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def other_words(node: ast.expr | ast.stmt, text: str) -> str:
    """What stands instead of a node; "" if it stays."""
    match node:
        case ast.Compare(left, [operator], [right]):
            return swapped(node, left, operator, right, text)
        case ast.BinOp(left, operator, right) if type(operator) in SIGNS:
            return swapped(node, left, operator, right, text)
        case ast.BoolOp(operator, [left, right]):
            return swapped(node, left, operator, right, text)
        case ast.UnaryOp(ast.Not(), part):
            return f"bool({ast.unparse(part)})"
        case ast.IfExp(test, part, other):
            return f"{ast.unparse(part)} if not ({ast.unparse(test)}) else {ast.unparse(other)}"
        case ast.Constant(bool() as value):
            return str(not value)
        case ast.Constant(int() as value):
            return str(value + 1)
        case ast.Constant(float() as value):
            return repr(value * 2 + 1)
        case ast.Expr(ast.Call()) | ast.Assign([ast.Attribute()]):
            return "pass"
        case ast.Return(ast.expr()):
            return "return None"
    return ""


def swapped(node: ast.expr, left: ast.expr, operator: object, right: ast.expr, text: str) -> str:
    """The words of a node with another operator; parentheses stay."""
    words = (ast.get_source_segment(text, node) or "").encode()
    between = (left.end_col_offset or 0) - node.col_offset, right.col_offset - node.col_offset
    if left.end_lineno != node.lineno or right.lineno != node.lineno:
        return ""
    own = words[slice(*between)].decode()
    other = own.replace(*SIGNS[type(operator)], 1)
    return (words[: between[0]] + other.encode() + words[between[1] :]).decode()


def draw() -> list[Mutant]:
    """So many faults all over the package, each file's share by its length."""
    found: list[Mutant] = []
    for path in sorted((ROOT / "scalarviz").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        found += [mutant for _, mutant in pieces(name, path.read_text(encoding="utf-8"))]
    return sorted(random.Random(SEED).sample(found, COUNT), key=str)


def tests_for(path: str) -> list[list[str]]:
    """Arguments of pytest for those tests that are likely to notice a fault in this file.

    First the examples of the file and the tests beside its mirror that import it, then those
    elsewhere that do, then the mirrored folder, or the nearest one above it.
    """
    folder = ROOT / "tests" / Path(path).relative_to("scalarviz").parent
    while not folder.is_dir():
        folder = folder.parent
    near = [each for each in near_tests(path) if each not in LISTS]  # which compute nothing
    beside = [each for each in near if each.parent in (folder, (ROOT / path).parent)]
    groups = beside, [each for each in near if each not in beside], [folder]
    return [[str(each) for each in group] for group in groups if group]


def tried(mutant: Mutant) -> Mutant:
    """The mutant with the first test that finds it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("scalarviz", "scenes", "tests", "benchmarks", "docs", "notebooks"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("conftest.py", "setup.cfg", "setup.py", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, copy / name)
        file = copy / mutant.path
        try:
            file.write_text(mutant.applied(file.read_text(encoding="utf-8")), encoding="utf-8")
        except (LookupError, FileNotFoundError):
            return replace(mutant, found=GONE)
        options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        for near in tests_for(mutant.path):
            tests = [each.replace(str(ROOT), str(copy)) for each in near]
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "pytest", *options, *tests], cwd=copy, timeout=LONGEST,
                    env=os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
                    capture_output=True, text=True, stdin=subprocess.DEVNULL,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                return replace(mutant, found=TIME)
            if done.returncode not in (0, NO_TESTS):
                failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
                return replace(mutant, found=failed[1] if failed else "the start of pytest")
    return replace(mutant, found=NONE)


def run(part: str) -> None:
    mutants = [Mutant.read(line) for line in LIST.read_text(encoding="utf-8").splitlines()]
    open_first = sorted(mutants, key=lambda each: each.found not in (UNTRIED, NONE, TIME))
    for mutant in open_first:
        if part in mutant.path and not mutant.found.startswith(EXPLAINED):
            number = mutants.index(mutant)
            mutants[number] = tried(mutant)
            print(mutants[number], flush=True)
            write(mutants)


def write(mutants: list[Mutant]) -> None:
    lines = [f"{each}\n" for each in mutants if each.found != GONE]
    LIST.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["draw"]:
        write(draw())
    else:
        run(sys.argv[2] if len(sys.argv) > 2 else "")
