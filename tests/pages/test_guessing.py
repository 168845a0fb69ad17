"""The rules of guessing in pages, run by Node, by the table guesses.json."""

from __future__ import annotations

import json
from pathlib import Path

from tests.pages.in_web import in_web

CASES = json.loads(Path(__file__).with_name("guesses.json").read_text(encoding="utf-8"))


def test_the_weight_of_a_question_is_the_pinned_one_or_follows_from_step_and_number() -> None:
    body = """return data.cases.map(([{ count, ...given }]) =>
        rowAsked({ ...given, rows: Array.from({ length: count }, (_, i) => i) }))"""
    assert in_web("guess_rules", body, cases=CASES["row"]) == [row for _, row in CASES["row"]]
    for given, row in CASES["row"]:
        if given["pinned"] < 0:
            assert row == (given["step"] * 7919 + given["k"] * 104729) % given["count"]


def test_questions_ask_in_turn_for_a_value_before_the_step_and_a_gradient_before_its_push() -> None:
    body = """
    const kinds = [["zero_grad"], ["forward"], ["loss"], ["weight gradient", 8, 17],
      ["delta"], ["weight gradient", 0, 8], ["weight gradient", 8, 12], ["step"]];
    const moments = kinds.map(([kind, first = 0, end = 0]) => ({ kind, rows: [first, end] }));
    return [[0, 3], [1, 0], [1, 3], [1, 8], [3, 16], [1, 17]].map(
      ([k, row]) => Object.values(questionAbout(moments, k, row)))"""
    # Row 8 belongs to two operations: its gradient is whole after the last one. Row 17 to none.
    asked = [("value", 7), ("gradient", 5), ("gradient", 5), ("gradient", 6), ("gradient", 3)]
    assert [tuple(each) for each in in_web("guess_rules", body)] == [*asked, ("value", 7)]


def test_a_number_that_hardly_changes_stays() -> None:
    body = "return data.cases.map(([before, after]) => wayBetween(before, after))"
    assert in_web("guess_rules", body, cases=CASES["way"]) == [each[-1] for each in CASES["way"]]


def test_a_number_is_right_within_a_tenth_of_the_change_or_if_its_digits_agree() -> None:
    body = "return data.cases.map((each) => isRightNumber(...each.slice(0, 3)))"
    found = in_web("guess_rules", body, cases=CASES["number"])
    for given, is_right in zip(CASES["number"], found, strict=True):
        assert is_right == given[-1], given


def test_a_question_is_right_if_the_arrow_and_the_number_if_any_are() -> None:
    body = """
    const about = { before: 0.5, after: 0.6 };
    return [[1, ""], [1, "0.6"], [1, "0.9"], [-1, "0.6"], [0, ""]].map(
      ([way, typed]) => judged({ way, typed, ...about }))"""
    found = in_web("guess_rules", body)
    assert [each["truth"] for each in found] == [1] * 5
    assert [each["isRight"] for each in found] == [True, True, False, False, False]
    assert [each["isWay"] for each in found] == [True, True, True, False, False]
