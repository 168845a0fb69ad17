"""The wording of errors, stored once in wording.json; tests assert class and values of an error.

    def test_a_bad_step_is_refused() -> None:
        refused(InputError, "-1.0").by(sv.SGD, -1.0)

    def test_a_bad_rate_is_refused() -> None:
        with refused(InputError, "-1.0"):
            session.learning_rate = -1.0

The file contains the complete messages of each test in order. A test with different, fewer or more
messages fails. For a message that lists all rows of a table, the file contains the name of the
table, so that a new row changes no line of it. `WORDING=write python -m pytest tests/core/formulas`
rewrites the messages of these tests.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from scalarviz.base.checks import shorten
from scalarviz.base.shell_commands import PROGRAM, called, joined, program
from tests.rows import without_rows

TESTS = Path(__file__).parent
GOLDEN = TESTS / "wording.json"
WRITES = os.environ.get("WORDING") == "write"

OF_CUDA = re.compile(r"(?<=[\[-])cuda(?=])")  # the case of an engine

Messages = dict[str, dict[str, list[str]]]  # by file and test


@dataclass
class Run:
    """All tests of the files of this run, and the messages of the passed ones."""

    collected: set[str] = field(default_factory=set)
    passed: dict[str, list[str]] = field(default_factory=dict)
    test: pytest.Function | None = None  # the running test
    messages: list[str] = field(default_factory=list)  # messages of that test


RUN = Run()


class refused:
    """Assert that an error of a class is raised, with values and the known wording.

    Args:
        kind: class of the error
        values: required parts of its message: texts unchanged, other objects as `shorten` shows
            them
        varies: regular expression of machine-dependent parts
    """

    def __init__(self, kind: type[BaseException], *values: object, varies: str = "") -> None:
        self.raises, self.values, self.varies = pytest.raises(kind), values, varies

    def by(self, call: Callable[..., object], /, *arguments: Any, **named: Any) -> Any:
        """Assert that a call with these arguments raises the error, and return it."""
        __tracebackhide__ = True
        with self as caught:
            call(*arguments, **named)
        return caught.value

    def __enter__(self) -> pytest.ExceptionInfo[BaseException]:
        return self.raises.__enter__()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        __tracebackhide__ = True
        raised = self.raises.__exit__(kind, error, traceback)
        if raised:
            check(f"{kind.__name__}: {error}", self.values, self.varies)
        return raised


def check(message: str, values: tuple[object, ...], varies: str) -> None:
    """Assert that an error, its class and its message, has the values and the known wording."""
    __tracebackhide__ = True
    assert RUN.test, "only a test has known messages"
    folder = str(RUN.test.funcargs.get("tmp_path", ""))
    message = without_rows(without_place(message, folder))
    for value in values:
        shown, text = (without_place(each, folder) for each in (shorten(value), str(value)))
        assert shown in message or (text and text in message), f"{value} is not in: {message}"
        message = "{}".join(message.rsplit(shown, 1))  # one sentence for all cases
    message = re.sub(varies, "...", message) if varies else message
    again = RUN.messages[-1:] == [message]  # repeated, as in a loop
    known = messages_of(RUN.test.nodeid)[len(RUN.messages) :][:1]
    assert WRITES or again or [message] == known, (
        f"not {known}, as in {GOLDEN.name}, was said: {message!r}; WORDING=write stores it"
    )
    RUN.messages += [] if again else [message]


def without_place(message: str, folder: str) -> str:
    """Return a message without machine-dependent parts.

    These are addresses of objects, paths of programs, and the folder of the test, complete or in
    part.
    """

    def in_folder(quoted: re.Match[str]) -> str:
        head, _, tail = quoted[1].partition("...")
        for end in [len(tail), *reversed([k for k, letter in enumerate(tail) if letter == "/"])]:
            if folder.startswith(head) and tail[:end] and folder.endswith(tail[:end]):
                return f"'tmp_path{tail[end:]}'"
        return quoted[0]

    message = re.sub(r"x[0-9a-f]{6,16}>", "x0>", message)
    message = message.replace(program(), PROGRAM).replace(joined(called(sys.executable)), "python")
    if not folder:
        return message
    return re.sub(r"'([^']*\.\.\.[^']*)'", in_folder, message.replace(folder, "tmp_path"))


@cache
def golden() -> Messages:
    """Return the contents of the file."""
    return json.loads(GOLDEN.read_text(encoding="utf-8"))


def messages_of(test: str, known: Messages | None = None) -> list[str]:
    """Return the known messages of a test; cases with equal messages share one entry.

    The cuda engine has the same messages as the cpu engine.
    """
    path, name = parts(test)
    of_file = (known or golden()).get(path, {})
    names = name, OF_CUDA.sub("cpu", name), function(name)
    return next((of_file[each] for each in names if each in of_file), [])


def parts(test: str) -> tuple[str, str]:
    """Return the file of a test, relative to tests/, and its name."""
    path, _, name = test.removeprefix("tests/").partition("::")
    return path, name


def function(name: str) -> str:
    """Return the name of a test without its case."""
    return name.partition("[")[0]


def write(run: Run) -> None:
    """Write the messages of the files of a run, and keep those of other files and skipped tests."""
    golden.cache_clear()  # a test may have run others, which wrote theirs
    known = {path: rows for path, rows in golden().items() if (TESTS / path).exists()}
    tests = {test: run.passed.get(test, messages_of(test, known)) for test in run.collected}
    for path, of_file in groupby(sorted(tests), lambda test: parts(test)[0]):
        known[path] = {}
        for name, cases in groupby(of_file, lambda test: function(parts(test)[1])):
            rows = {parts(case)[1]: tests[case] for case in cases}
            first = next(iter(rows.values()))
            same = len(rows) > 1 and all(row == first for row in rows.values())
            known[path].update({name: first} if same else rows)
        known[path] = {name: row for name, row in known[path].items() if row}
    known = {path: rows for path, rows in sorted(known.items()) if rows}
    GOLDEN.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# ---- hooks of pytest; conftest.py registers this file
# ----------------------------------------------


@pytest.hookimpl(tryfirst=True)  # before tests are deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if WRITES and any("::" in str(part) for part in config.args):
        raise pytest.UsageError("WORDING=write takes whole files")
    RUN.collected = {item.nodeid for item in items if isinstance(item, pytest.Function)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if not isinstance(item, pytest.Function):
        return (yield)
    RUN.test, RUN.messages = item, []
    yield
    rest = messages_of(item.nodeid)[len(RUN.messages) :]
    assert WRITES or not rest, f"{GOLDEN.name} has messages that this test has not met: {rest}"
    RUN.passed[item.nodeid] = RUN.messages


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)  # of an xdist worker
    if output is not None:
        output["wording"] = [list(RUN.collected), RUN.passed]
    elif WRITES:
        write(RUN)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    output = getattr(node, "workeroutput", {})  # missing after a crash
    collected, passed = output.get("wording", ([], {}))
    RUN.collected |= set(collected)
    RUN.passed |= passed
