"""docs/RELIABILITY.md: one row for each proof, written by the run that made it."""

from __future__ import annotations

import ast
import os
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from tests.machine import ROOT

FILE = ROOT / "docs" / "RELIABILITY.md"

INTRODUCTION = """# Results of the proofs

The proofs in `tests/proofs` generate this page. `make test-all` runs them with all
other tests, `make proofs` runs them alone. A row is the last complete run of one proof; a run of
some proofs leaves the other rows unchanged. All draws follow from the seeds; only the times of
kills and the order of threads vary.
"""

HEAD = ("proof", "what was tried", "seeds", "outcome", "took", "date", "machine")
CPU_INFO = Path("/proc/cpuinfo")


@dataclass
class Proof:
    """What one proof tried and found: it is filled in while the proof runs.

    Attributes:
        share: the part of the usual count that is run; less than all is not reported
        tried: what was tried, each with its count
        found: what was measured on the way
    """

    name: str
    share: float = 1.0
    seeds: str = ""
    tried: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def count(self, usual: int) -> int:
        """How many to try in this run."""
        return max(1, round(usual * self.share))

    def row(self, passed: bool, seconds: float, date: str, machine: str) -> Row:
        """The row of the report."""
        outcome = ("; ".join(self.found) or "as it should be") if passed else "**failed**"
        took = f"{seconds:.0f} s" if seconds >= 1.0 else "under 1 s"
        cells = (self.name, "; ".join(self.tried), self.seeds, outcome, took, date, machine)
        return tuple([cell.replace("|", "/").replace("\n", " ") for cell in cells])


Row = tuple[str, ...]


def merged(text: str, new: Iterable[Row], known: Iterable[str]) -> str:
    """The report with new rows in the place of the old ones of these names.

    `known` are the names of all proofs in their order; rows of other names are left out.
    """
    rows = {row[0]: row for row in rows_of(text)} | {row[0]: row for row in new}
    return page([rows[name] for name in known if name in rows])


def rows_of(text: str) -> list[Row]:
    """The rows of a report, with the machines in words."""
    machines = dict(re.findall(r"^- ([A-Z]+): (.*)$", text, re.MULTILINE))
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = [tuple(line.strip("| ").split(" | ")) for line in lines[2:]]
    return [(*row[:-1], machines[row[-1]]) for row in rows]


def page(rows: list[Row]) -> str:
    """The whole report."""
    machines = {text: letters(i) for i, text in enumerate(dict.fromkeys(row[-1] for row in rows))}
    table = [HEAD, tuple("-" * len(HEAD)), *[(*row[:-1], machines[row[-1]]) for row in rows]]
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join(
        [INTRODUCTION, *lines, "", *[f"- {name}: {text}" for text, name in machines.items()], ""]
    )


def letters(number: int) -> str:
    """A, B, ... for 0, 1, ..."""
    return chr(ord("A") + number)


def names() -> list[str]:
    """The names of all proofs, in the order in which they run."""
    found = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and "proof" in [a.arg for a in node.args.args]:
                found.append(name_of(node.name))
    return found


def name_of(test: str) -> str:
    """What a test is called in the report."""
    return test.removeprefix("test_").replace("_", " ")


def machine() -> str:
    """The kind of machine that this is, and what the numbers depend on besides."""
    model = platform.processor() or platform.machine()
    if CPU_INFO.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", CPU_INFO.read_text(), re.MULTILINE)
        model = named[1].strip() if named else model
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    return (
        f"{model}, {cores} cores, {platform.system()} on {platform.machine()}, "
        f"Python {platform.python_version()}, {packages}"
    )
