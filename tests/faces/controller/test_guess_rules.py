"""The rules of guessing: which weight, which moment, and what is right."""

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.stage.show import Show
from scalarviz.story.guess_rules import (
    OF_NUMBER,
    OF_STEP,
    GuessQuestion,
    can_guess,
    is_near,
    question_of,
    way_of,
)
from tests.pages.in_web import in_web


def session_of(**options: object) -> sv.Session:
    net = sv.Network([2, 3, 1], "tanh", "sigmoid", seed=0)
    return sv.Session(net, data.Xor(), "mse", sv.SGD(0.5), engine="python", **options)


@pytest.mark.parametrize(
    ("old", "new", "way"),
    [
        (0.5, 0.6, 1),
        (0.5, -0.6, -1),
        (0.5, 0.5, 0),
        (0.0, 0.0, 0),
        (1.0, 1.0 + 1e-13, 0),
        (0.0, 1e-13, 1),
        (0.0, -1e-300, -1),
        (0.5, math.nan, None),
    ],
)
def test_a_number_goes_up_or_down_or_stays(old: float, new: float, way: int | None) -> None:
    assert way_of(old, new) == way


@pytest.mark.parametrize(
    ("typed", "old", "new", "near"),
    [
        ("0.3", 0.2, 0.309, True),  # within a tenth of the change
        ("0.3", 0.2, 0.32, False),
        ("0.24", 0.242, 0.2397, True),  # to the digits typed
        ("0.2", 0.242, 0.2397, False),  # one digit is too few for that
        ("-0.67", -0.674, -0.672, True),
        ("0.67", -0.674, -0.672, False),
        ("0.5", 0.5, 0.5, True),
        ("0", 0.0, 0.0, True),
        ("0", 0.0, 0.01, False),
        (".0105", 0.0, 0.01, True),
        ("0.0115", 0.0, 0.01, False),
        ("-.5", 0.0, math.nan, False),
    ],
)
def test_a_number_is_near_by_a_tenth_or_by_its_digits(
    typed: str, old: float, new: float, near: bool
) -> None:
    assert is_near(typed, old, new) == near


def test_questions_are_about_a_value_and_a_gradient_by_turns() -> None:
    session = session_of()
    for step in range(3):
        for number in range(4):
            question = question_of(session, number, None)
            assert question.row == (step * OF_STEP + number * OF_NUMBER) % 13
            before = session.operations[question.at]
            layer = int(question.row >= 9)
            assert before == (f"weight gradient {layer}" if number % 2 else "step")
            assert question.kind == ("gradient" if number % 2 else "value")
        session.advance()


def test_a_question_is_about_the_pinned_weight_else_about_one_that_moves() -> None:
    session = session_of()
    session.freeze(range(12))
    assert can_guess(session)
    assert {question_of(session, number, None).row for number in range(9)} == {12}
    assert {question_of(session, number, 3).row for number in range(9)} == {3}
    session.freeze(12)
    assert not can_guess(session)


def test_there_is_nothing_to_guess_in_an_expression() -> None:
    assert not can_guess(Show.of(sv.Value(0.5) * 2.0).session)


def test_the_gradient_of_a_shared_weight_is_asked_about_before_its_last_sum() -> None:
    shared = sv.Dense(2, 2, "tanh")
    net = sv.Network([shared, shared, sv.Dense(2, 1, "sigmoid")], seed=0)
    session = sv.Session(net, data.Xor(), "mse", sv.SGD(0.5), engine="python")
    question = question_of(session, 1, 0)
    assert session.operations[question.at] == "weight gradient 0"
    session.advance(question.at + 1, "operation")
    grad = question.number(session)
    session.advance(1)
    assert grad == float(session.network.bank.grad[0]) != 0.0
    assert np.isfinite(GuessQuestion("value", 0, 0).number(session))


def test_pages_have_the_same_rules() -> None:
    rng = np.random.default_rng(0)
    cases = []
    for old, change in rng.normal(0.0, [1.0, 0.1], (200, 2)).tolist():
        new = old + change * rng.integers(0, 2)
        near = new + change * rng.uniform(-0.2, 0.2)
        cases.append((f"{near:.{rng.integers(1, 5)}f}", old, float(new)))
    body = """
        return data.cases.map(([typed, old, now]) =>
            [wayBetween(old, now), isRightNumber(typed, old, now)]);
    """
    pages = in_web("guess_rules", body, cases=cases)
    ours = [[way_of(old, new), is_near(typed, old, new)] for typed, old, new in cases]
    assert pages == ours and {near for _, near in ours} == {False, True}
    body = """
        return data.asks.map(([step, k]) => rowAsked({ step, k, pinned: -1, rows: data.rows }));
    """
    session, asks, found = session_of(), [], []
    for _ in range(4):
        for number in range(4):
            asks.append((session.step_index, number))
            found.append(question_of(session, number, None).row)
        session.advance()
    assert in_web("guess_rules", body, asks=asks, rows=[*range(13)]) == found
