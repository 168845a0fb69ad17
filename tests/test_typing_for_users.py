"""mypy in a project of a user: it accepts the lines of README and the guide, and finds mistakes."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.root import ROOT

PAGES = "README", *(f"docs/guide/{name}" for name in ("networks", "sessions", "pictures", "values"))
MISTAKES = """
import scalarviz as sv

net = sv.Network([3, 8, 3], activatoin="tanh")
s = sv.Session(net, ([[0.0] * 3], [[0.0] * 3]), batch="all")
s.advance(1, "week")
s.leraning_rate = 0.1
sv.Dense(3, 8).kernl
rate: str = s.learning_rate
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project, and of mypy's cache."""
    return tmp_path_factory.mktemp("project")


def errors_in(code: str, folder: Path) -> list[str]:
    """What mypy says of a file of a user, who has installed scalarviz."""
    (folder / "mine.py").write_text(code, encoding="utf-8")
    # vispy has no types. Whether a user gives types to functions of their own is up to them.
    (folder / "mypy.ini").write_text(
        "[mypy]\nstrict = True\nallow_untyped_defs = True\nallow_untyped_calls = True\n"
        "[mypy-vispy.*]\nignore_missing_imports = True\n",
        encoding="utf-8",
    )
    # mypy takes a folder of PYTHONPATH as one of installed packages, which need a py.typed.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "mine.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert not done.stderr and done.returncode in (0, 1)
    return [line for line in done.stdout.splitlines() if "error:" in line]


@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_a_page_are_accepted(page: str, folder: Path) -> None:
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    lines = [example.source for example in doctest.DocTestParser().get_examples(text)]
    assert len(lines) > 10
    assert errors_in("".join(lines), folder) == []


def test_mistakes_are_found(folder: Path) -> None:
    lines = [int(error.split(":")[1]) for error in errors_in(MISTAKES, folder)]
    assert lines == [i for i, line in enumerate(MISTAKES.splitlines(), 1) if i > 3]
