"""What all tests share, those in docstrings and in README too; see also tests/conftest.py."""

import tempfile
from collections.abc import Iterator
from typing import Any

import pytest

from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.optimizers import OPTIMIZERS

TABLES: tuple[dict[str, Any], ...] = (ACTIVATIONS, LOSSES, ROW_LOSSES, OPTIMIZERS)


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest) -> None:
    """An example that makes a temporary folder makes it where pytest removes it."""
    if isinstance(request.node, pytest.DoctestItem):
        patch = request.getfixturevalue("monkeypatch")
        patch.setattr(tempfile, "tempdir", str(request.getfixturevalue("tmp_path")))


@pytest.fixture(autouse=True)
def tables_as_before() -> Iterator[None]:
    """After a test that adds formulas of its own the tables are as before."""
    before = [dict(table) for table in TABLES]
    yield
    for table, rows in zip(TABLES, before, strict=True):
        if table != rows:
            table.clear()
            table.update(rows)
