"""predict: which answers count as right, and its form."""

from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.faces.notebook.exercises import form_of, stored_answers
from tests.wording import refused


@pytest.mark.parametrize("guess", [0.25, "0.25", " .25 ", "1/4", "2.5e-1", 0.2549])
def test_a_number_is_right_if_it_is_near(guess: Any) -> None:
    assert sv.predict("?", 0.25).check(guess)


@pytest.mark.parametrize("guess", [0.256, 0.2, "-1/4", 0])
def test_others_are_not(guess: Any) -> None:
    assert not sv.predict("?", 0.25).check(guess)


def test_what_is_negative_may_be_typed_with_a_real_minus() -> None:
    assert sv.predict("?", -3).check("−3")


def test_near_zero_is_absolute_as_no_number_is_relatively_near_it() -> None:
    for answer in (0.0, 0, -1e-17):  # a sum in floats
        assert sv.predict("?", answer).check("0")
        assert sv.predict("?", answer).check(0.0001)
        assert not sv.predict("?", answer).check("-0.03")
    assert not sv.predict("?", 0.0, near=0).check(0.0001)
    assert not sv.predict("?", 2.2e-8).check(0.0001)


def test_how_near_can_be_said() -> None:
    assert sv.predict("?", 100, near=0.5).check(60)


def test_an_answer_may_be_computed_when_it_is_asked_for() -> None:
    w = sv.Weight(0.5)
    guess = sv.predict("the gradient?", lambda: w.grad)
    w.forward(3.0)
    w.backward(2.0)
    assert guess.check(6)


def test_words_can_be_chosen_from() -> None:
    guess = sv.predict("which way?", "up", choices=["up", "down"])
    assert not guess.check("down")
    assert guess.check("up")
    assert guess.guesses == ["down", "up"]
    assert guess.choices == ("up", "down")


def test_a_typical_wrong_guess_has_its_reply_and_the_answer_its_reason() -> None:
    guess = sv.predict("2 * -3?", -6, replies={6: "Mind the sign."}, why="Plus times minus.")
    guess.check(6)
    assert guess.said == "Not 6. Mind the sign."
    guess.check(-6)
    assert guess.said == "Yes: -6. Plus times minus."
    assert ("2 * -3?", "6, -6", "-6", "Plus times minus.") in sv.predictions().rows


def test_the_answer_may_be_a_word_that_is_typed() -> None:
    for answer in ("green", lambda: "green"):
        guess = sv.predict("which colour?", answer)
        assert guess.check(" Green")
        assert not guess.check("red")
        assert guess.said == "Not red."
        assert guess.guesses == [" Green", "red"]
    field, _, said, _ = parts(sv.predict("which colour?", "green"))
    field.value = "green"
    assert "Yes: green." in said.value


@pytest.mark.parametrize("typed", ["two", "", "1/0", "1,500"])
def test_what_is_no_number_is_said_to_be_none(typed: str) -> None:
    with refused(InputError):
        sv.predict("?", 2).check(typed)


def test_an_answer_that_cannot_be_given_is_refused() -> None:
    with refused(InputError, "'left'"):
        sv.predict("?", "left", choices=["up", "down"])
    with refused(InputError, "''"):
        sv.predict("?", "")
    with refused(InputError, "(1, 2)"):
        sv.predict("?", 1.0, choices=[1, 2])
    with refused(InputError, "3"):
        sv.predict(3, 3)  # type: ignore[arg-type]
    with refused(InputError, "3"):
        sv.predict(3)  # type: ignore[arg-type]
    with refused(InputError, "'less'"):
        sv.predict("?", 3, replies=["less"])  # type: ignore[arg-type]


def test_the_name_of_a_notebook_may_be_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    stored_answers.cache_clear()
    monkeypatch.setenv("JPY_SESSION_NAME", f"/{'a' * 300}.ipynb")
    assert stored_answers() == {}
    stored_answers.cache_clear()


def parts(guess: Any) -> tuple[Any, Any, Any, Any]:
    """The field, the last button and the words of its form, and the question."""
    question, row, said, _ = form_of(guess).children
    return row.children[0], row.children[-1], said, question


def test_a_form_says_whether_it_is_right() -> None:
    field, button, said, question = parts(sv.predict("what is $2 < 3$?", 6, hint="Count."))
    assert "what is $2 &lt; 3$?" in question.value
    assert button.layout.display == "none"
    field.value = "5"
    assert "Not 5. Count." in said.value
    assert button.layout.display == ""
    field.value = "6"
    assert "Yes: 6." in said.value
    assert button.layout.display == "none"


def test_a_form_shows_the_answer_to_those_who_have_tried() -> None:
    field, button, said, _ = parts(sv.predict("?", 1 / 3))
    field.value = "5"
    button.click()
    assert "It is 0.3333." in said.value


def test_a_form_says_what_to_type() -> None:
    field, _, said, _ = parts(sv.predict("?", 6))
    field.value = "<b>"
    assert "type a number" in said.value


def test_a_form_says_that_cells_must_be_run_first() -> None:
    made: dict[str, float] = {}
    field, _, said, _ = parts(sv.predict("?", lambda: made["weight"]))
    field.value = "1"
    assert "Run the cells above first (KeyError: 'weight')." in said.value
    made["weight"] = 2.0
    field.value = "2"
    assert "Yes: 2." in said.value


def test_an_answer_is_computed_once_a_guess() -> None:
    asked: list[int] = []

    def answer() -> float:
        asked.append(1)
        return 2.0

    field, button, said, _ = parts(sv.predict("?", answer))
    field.value = "3"
    button.click()
    assert "It is 2." in said.value
    assert len(asked) == 1


def test_a_form_offers_choices() -> None:
    field, _, said, _ = parts(sv.predict("?", "up", choices=["up", "down"]))
    field.value = "down"
    assert "Not “down”." in said.value
    field.value = "up"
    assert "Yes: “up”." in said.value


def test_in_a_terminal_it_is_a_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    sv.predict("What is 2 times 3?", 6)._ipython_display_()
    assert capsys.readouterr().out == "Predict: What is 2 times 3?\n"


def test_a_notebook_keeps_the_question() -> None:
    bundle = sv.predict("is `<b>` bold?", 1).bundle()
    assert bundle["text/html"] == "<p><b>Predict:</b> is <code>&lt;b&gt;</code> bold?</p>"


def test_outside_of_a_notebook_nothing_is_shown_by_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sv.predict("3 * -3?", -9).show()
    sv.predictions().show()
    assert capsys.readouterr().out == ""
