"""The lists of features, of removed ones, and of error messages are correct and complete."""

import ast
import re
from collections.abc import Iterator

import pytest

from scalarviz.errors import InputError, UnknownNameError
from tests import listed, parity, wording
from tests.machine import ROOT
from tests.wording import TESTS, function, golden, refused

GONE = parity.SHEET.with_name("gone.tsv")
# Features that are seen or pressed, not typed: nobody requests a removed one by name.
SEEN = {
    "control", "key", "menu File", "page control", "page key", "page change", "lesson", "exhibit",
}  # fmt: skip
INNER = {"member", "argument", "example"}  # removal need not be in CHANGELOG


def test_the_sheet_of_features_is_current() -> None:
    now, then = parity.lines(), {*parity.SHEET.read_text(encoding="utf-8").splitlines()}
    wrong = [*(f"new: {row}" for row in now - then), *(f"gone: {row}" for row in then - now)]
    assert not wrong, "\n".join([*sorted(wrong), "python -m tests.parity writes the sheet anew"])


def test_the_names_of_rows_that_stand_in_other_files_are_current() -> None:
    for path, text in listed.files():
        assert text == path.read_text(encoding="utf-8"), f"{path.name}: python -m tests.parity"


def test_what_is_gone_has_a_reason_and_the_message_that_its_users_get() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    known = {said for rows in golden().values() for messages in rows.values() for said in messages}
    now = parity.lines()
    for line in GONE.read_text(encoding="utf-8").splitlines():
        kind, name, reason, *said = line.split("\t")
        assert reason and f"{kind}\t{name}" not in now, f"{name} is here again: take out its line"
        word = re.findall(r"[\w-]+", name)[-1]  # such as "--speed" of "watch --speed"
        assert kind in INNER or word in changes, f"CHANGELOG.md says that {name} is gone"
        assert kind in SEEN | INNER or {*said} & known, f"no test knows the message of {name}"


MOST_WORDS = 3
# Errors of Python, and a warning.
OTHERS = {
    "'Bank' object has no attribute 'nothing'",
    "'NoneType' object is not callable",
    "can't start new thread",
    "does not support item assignment",
    "the disk is gone",
    "unsupported operand type.*'Value' and 'Celsius'",
    "start of step 7 now, since such",
}


def patterns(tree: ast.Module) -> Iterator[str]:
    """Yield the literal patterns of pytest.raises and pytest.warns."""
    for call in ast.walk(tree):
        for keyword in call.keywords if isinstance(call, ast.Call) else []:
            if keyword.arg == "match":
                for part in ast.walk(keyword.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value
                if isinstance(keyword.value, ast.Name):
                    yield f"whatever is in {keyword.value.id}"


def test_no_test_repeats_the_wording_of_an_error() -> None:
    found = {
        (str(path.relative_to(TESTS)), pattern)
        for path in TESTS.rglob("*.py")
        if "match" in (text := path.read_text(encoding="utf-8"))
        for pattern in patterns(ast.parse(text))
        if len(re.findall(r"[A-Za-z]{2,}", pattern)) > MOST_WORDS
    }
    assert {pattern for _, pattern in found} == OTHERS, sorted(found)


def test_all_wording_is_that_of_a_test() -> None:
    """For files collected in this run, with all their cases."""
    for path, messages in golden().items():
        text = (TESTS / path).read_text(encoding="utf-8")
        tests = ast.FunctionDef, ast.AsyncFunctionDef
        there = {each.name for each in ast.parse(text).body if isinstance(each, tests)}
        cases = {name for at, name in map(wording.parts, wording.RUN.collected) if at == path}
        for name in messages:
            assert function(name) in there, f"{path}::{name}"
            assert not cases or name in cases | {*map(function, cases)}, f"{path}::{name}"


def test_a_class_a_value_and_a_wording_are_asserted(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_input_error() -> None:
        raise InputError("3 is not what it should be: pass 4")

    refused(InputError, 3, "4").by(raise_input_error)
    monkeypatch.setattr(wording, "WRITES", False)
    with pytest.raises(AssertionError, match="is not in"), refused(InputError, "5"):
        raise_input_error()
    with pytest.raises(InputError), refused(UnknownNameError):
        raise_input_error()
    with pytest.raises(AssertionError, match="was said"), refused(InputError, "pass 4"):
        raise_input_error()
