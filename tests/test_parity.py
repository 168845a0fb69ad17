"""The parity sheet has every feature, something tests each, and none goes without a reason."""

import ast
from pathlib import Path

import pytest

from tests import parity
from tests.parity import Gone, Key, faults
from tests.uses import units

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
