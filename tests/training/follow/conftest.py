"""A stand-in for PyTorch, and a following that keeps every step."""

import sys
from typing import Any

import pytest

from scalarviz.training.follow import following
from tests.training.follow import stand_in


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stand-in, as if a program had imported PyTorch."""
    for name, module in stand_in.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    yield sys.modules["torch"]
    assert not any(stand_in.HOOKS.values()), "hooks are left"


@pytest.fixture
def dense(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is kept, however long it takes."""
    for name in ("PICTURES", "FEW", "ALONE"):
        monkeypatch.setattr(following, name, 1e12)
