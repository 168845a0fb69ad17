"""The lists of features and of error messages: whole, tested, and without what is gone."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scalarviz.errors import InputError, UnknownNameError
from tests import parity, wording
from tests.parity import Gone, Key, faults, units
from tests.wording import TESTS, function, golden, refused

SPEED = ("option", "watch --speed")
GONE = Gone("nobody used it", "InputError: --speed is --pace now")


def test_every_feature_is_in_the_sheet_and_is_tested() -> None:
    changes = parity.CHANGELOG.read_text(encoding="utf-8")
    wrong = "\n".join(faults(parity.rows_now(), parity.read(), parity.messages(), changes))
    assert not wrong, f"{wrong}\npython -m tests.parity writes the sheet anew"


@pytest.mark.parametrize(
    ("now", "sheet", "changes", "wrong"),
    [
        ({SPEED: ["a test"]}, {SPEED: Gone()}, "", ""),
        ({SPEED: ["a test"]}, {}, "", "is new"),
        ({SPEED: []}, {SPEED: Gone()}, "", "is tested by nothing"),
        ({SPEED: ["a test"]}, {SPEED: GONE}, "", "is here again"),
        ({}, {SPEED: Gone()}, "", "is gone, or no test uses it"),
        ({}, {SPEED: GONE}, "- `watch --pace` is new", "CHANGELOG"),
        ({}, {SPEED: Gone("nobody used it", "a lie")}, "- `watch --speed` is gone", "message"),
        ({}, {SPEED: GONE}, "- `watch --speed` is gone", ""),
        ({}, {("key", "s: slow step"): Gone("rare")}, "the key s of the slow step", ""),
        ({}, {("member", "Bank.moved"): Gone("inlined")}, "", ""),
    ],
)
def test_a_feature_goes_with_a_reason_and_a_sentence(
    now: dict[Key, list[str]], sheet: dict[Key, Gone], changes: str, wrong: str
) -> None:
    found = [*faults(now, sheet, {GONE.sentence}, changes)]
    assert wrong in "".join(found) and bool(found) == bool(wrong)


def test_a_sheet_that_is_written_anew_keeps_what_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parity, "SHEET", tmp_path / "parity.tsv")
    other, new = ("key", "s: slow step"), ("scene", "moons")
    parity.SHEET.write_text("\t".join([*SPEED, *GONE]) + "\nkey\ts: slow step\n")
    parity.write([new])
    assert parity.read() == {SPEED: GONE, other: Gone(), new: Gone()}


@pytest.mark.parametrize(
    ("code", "token"),
    [
        ("view.play(3, speed=2)", "play(speed="),
        ("view.play(3, 2)", "play(2"),
        ("partial(view.play, speed=2)", "play(speed="),
        ("view.press('s')", 'press("s"'),
        ("for row in ROWS.values():\n    pass", "@ROWS"),
        ("@parametrize('key', ['s'])\ndef test(key): ...", '@"s"'),
        ("run('xor --steps 5')", '"--steps"'),
        ("page.click('#more button')", '"#more"'),
        ("given = {'seed': 1}", '{"seed"'),
        ("def test(kind):\n    kind(seed=1)", "*(seed="),
        ("def helper(**given): ...\nhelper(seed=1)", "*(seed="),
    ],
)
def test_a_use_has_its_token(code: str, token: str) -> None:
    assert any(token in found for _, found in units("a.py", ast.parse(code)))


MOST_WORDS = 3
# What Python says, and a warning.
OTHERS = {
    "'Bank' object has no attribute 'nothing'",
    "'NoneType' object is not callable",
    "can't start new thread",
    "does not support item assignment",
    "the disk is gone",
    "unsupported operand type.*'Value' and 'Celsius'",
    "start of step 7 now, as half of so",
}


def patterns(tree: ast.Module) -> Iterator[str]:
    """What pytest.raises and pytest.warns are to match, as far as it is written out."""
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
    """Of files that this run has collected, with the very cases that there are."""
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
