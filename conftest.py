"""Hooks and fixtures shared by all tests, including docstrings; see also tests/conftest.py."""

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.core.layers.custom_layers import OWN

# URL grammars, which lessons do not use, and which nbformat takes seconds to build.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # it is not to be found

TABLES: tuple[dict[str, Any], ...] = (
    ACTIVATIONS, LOSSES, ROW_LOSSES, OPTIMIZERS, SCHEDULES, PARAMETRIC_FORMULAS, OWN,
)  # fmt: skip


QUICK_LESSONS = ("14-convolution",)  # run by `make test`
KERNEL = pytest.StashKey[Any]()  # shared by all lessons: starting one takes seconds


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".ipynb":
        return None
    return LessonFile.from_parent(parent, path=file_path)


class LastFirst(pytest.Dir):
    """A folder whose files are collected in reverse order."""

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        yield from reversed([*super().collect()])


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Let the second of two workers start with the last test, to share compiled kernels.

    pytest compiles the asserts of tests with their output, which is the slowest part of collection,
    and caches them.
    """
    is_second = os.environ.get("PYTEST_XDIST_WORKER", "gw0")[-1] in "13579"
    if not is_second or (path / "__init__.py").exists():
        return None
    return LastFirst.from_parent(parent, path=path)


class LessonFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        item = LessonItem.from_parent(self, name="it runs and draws the pictures that are stored")
        if self.path.stem not in QUICK_LESSONS:
            item.add_marker("slow")
        yield item


class LessonItem(pytest.Item):
    """Runs a lesson with its hidden checks, and compares its stored pictures with new ones."""

    def runtest(self) -> None:
        from tests import lessons  # nbformat and nbclient are slow to import

        stored, book = lessons.read(self.path), lessons.read(self.path)
        if KERNEL not in self.config.stash:
            self.config.stash[KERNEL] = lessons.WarmKernel()
        self.config.stash[KERNEL].run(book)
        found = lessons.former(stored, book)
        assert not found, f"pictures have changed, {found}: make pictures stores them"


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Close the kernel after the last of some lessons."""
    if KERNEL in item.config.stash and not isinstance(nextitem, LessonItem):
        item.config.stash[KERNEL].close()
        del item.config.stash[KERNEL]


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest) -> None:
    """Redirect temporary folders of doctests to a folder that pytest removes."""
    if isinstance(request.node, pytest.DoctestItem):
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr(tempfile, "tempdir", str(request.getfixturevalue("tmp_path")))


@pytest.fixture(autouse=True)
def tables_as_before(tables_of_modules: None) -> Iterator[None]:
    """Restore the tables after a test that adds formulas or layer classes."""
    yield from kept_tables()


@pytest.fixture(autouse=True, scope="module")
def tables_of_modules() -> Iterator[None]:
    """Restore the tables after the fixtures of a module, which may run lessons."""
    yield from kept_tables()


def kept_tables() -> Iterator[None]:
    before = [dict(table) for table in TABLES]
    yield
    for table, rows in zip(TABLES, before, strict=True):
        if table != rows:
            table.clear()
            table.update(rows)
