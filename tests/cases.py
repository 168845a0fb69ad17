"""Selection of the test cases that `make test` runs; the full matrix is left to `make test-all`.

    @pytest.mark.some(3)                        three cases, evenly spread
    @pytest.mark.some("relu-2", "tanh-1")       the cases with these ids

conftest.py registers this file as a plugin of pytest.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

Cases = dict[str, list[pytest.Item]]  # by test
MATRICES = pytest.StashKey[Cases]()


@pytest.hookimpl(tryfirst=True)  # before slow tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tests: Cases = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        if chosen := chosen_of(cases[0]):
            for item in cases:
                if item not in representatives(cases, chosen):
                    item.add_marker("slow")
    config.stash[MATRICES] = {name: cases for name, cases in tests.items() if is_matrix(cases)}


def chosen_of(item: pytest.Item) -> tuple[Any, ...]:
    """Return the arguments of the mark `some`: a number of cases, or their ids."""
    mark = item.get_closest_marker("some")
    return mark.args if mark is not None else ()


def representatives(cases: list[pytest.Item], chosen: tuple[Any, ...]) -> list[pytest.Item]:
    """Return the chosen cases."""
    if isinstance(chosen[0], int):
        return [cases[len(cases) * place // chosen[0]] for place in range(chosen[0])]
    return [item for item in cases if id_of(item) in chosen]


def id_of(item: pytest.Item) -> str:
    """Return the part of a name in brackets."""
    return item.name.partition("[")[2].removesuffix("]")


def is_matrix(cases: list[pytest.Item]) -> bool:
    """Return whether some cases of a test are slow, but not the test, its class or its file."""
    marks = [
        mark for item in cases for mark in getattr(getattr(item, "callspec", None), "marks", [])
    ]
    is_cut = any(chosen_of(item) for item in cases) or any(mark.name == "slow" for mark in marks)
    return is_cut and not any(
        mark.name == "slow"
        for item in cases
        for mark in [
            *getattr(getattr(item, "obj", None), "pytestmark", []),
            *(item.parent.iter_markers() if item.parent else ()),
        ]
    )
