"""Branches of a page have the names that those of a session have."""

import json
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import texts as texts_module
from tests.pages.in_web import in_web
from tests.sessions import advanced

ENGLISH = json.loads(
    Path(texts_module.__file__).with_name("english.json").read_text(encoding="utf-8")
)
NAME = """
    setTexts(data.english);
    const branch = {journal: data.journal, fork: data.fork, parent: data.parent};
    const {step: start, operation} = data.fork;
    return branchName({start, operation, isFirst: branch.parent === null, done: begunBy(branch)},
        {optimizers: [{title: "Adam"}]});
"""
Change = dict[str, Any]


def name_in_page(step: int, changes: list[Change], before: int = 0, operation: int = 0) -> str:
    """The name of a branch whose journal has some changes after those of the branch before."""
    place = {"step": step, "operation": operation}
    journal = [{"kind": "rate", "rate": 9.0, "step": 0, "operation": 0}] * before
    journal += [place | change for change in changes]
    found: str = in_web(
        "changes texts",
        NAME,
        english=ENGLISH,
        journal=journal,
        fork=place | {"applied": before},
        parent=0,
    )
    return found


def name_in_session(step: int, changes: list[Change], operation: int = 0) -> str:
    """The name of the branch of a session in which a user does the same."""
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    s = advanced(sv.Session(net, data.Xor(), batch=1, engine="python"), 6)
    s.seek(step)
    if operation:
        s.advance(operation, "operation")
    for change in changes:
        if change["kind"] == "edit":
            s.edit(change["row"], change["value"])
        elif change["kind"] == "freeze":
            s.freeze(change["rows"], change["on"])
        elif change["kind"] == "rate":
            s.learning_rate = change["rate"]
        else:
            s.batch = change["size"]
    return s.current_branch.name


RATE, SIZE = {"kind": "rate", "rate": 0.3}, {"kind": "size", "size": 4}
EDIT = {"kind": "edit", "row": 3, "value": -0.123456}
FREEZE = {"kind": "freeze", "rows": [1], "on": True}


@pytest.mark.parametrize(
    ("step", "changes", "operation"),
    [
        (2, [RATE], 0),
        (0, [SIZE], 0),
        (2, [EDIT, EDIT | {"value": 0.5}], 0),
        (2, [EDIT], 3),
        (1, [EDIT, EDIT | {"row": 4}, RATE], 0),
        (1, [FREEZE, RATE, SIZE, EDIT], 0),
        (3, [{"kind": "freeze", "rows": [0, 1, 2], "on": False}], 0),
    ],
)
def test_names_are_those_of_a_session(step: int, changes: list[Change], operation: int) -> None:
    wanted = name_in_session(step, changes, operation)
    assert name_in_page(step, changes, 2 if step else 0, operation) == wanted


def test_what_only_a_page_does_has_its_words() -> None:
    assert name_in_page(0, [{"kind": "weights", "seed": 4}]) == "from the start: other weights"
    assert name_in_page(7, [{"kind": "optimizer", "number": 0}]) == "from step 7: Adam"
    assert name_in_page(7, []) == "from step 7"
