"""A stand-in for PyTorch, and a following that keeps every step."""

import sys
from collections.abc import Iterator
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


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Threads of small products in PyTorch wait for each other."""
    torch: Any = pytest.importorskip("torch")
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(count)
