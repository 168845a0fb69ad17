"""Numbers as people read them: plain decimals, and in few letters on cubes and spheres."""

import math

import pytest

from scalarviz.base.texts.decimals import on_cube, rounded, short


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.43, "0.43"),
        (-0.5, "-0.5"),
        (0.000012, "0.000012"),
        (1.2e-7, "1.2e-7"),
        (-0.0, "0"),
        (999_999.0, "1e6"),
        (12_345.0, "12345"),
        (math.inf, "inf"),
    ],
)
def test_a_number_of_a_sentence_has_a_zero_before_the_point(value: float, words: str) -> None:
    assert rounded(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.43, ".43"),
        (-0.5, "-.50"),
        (1.234, "1.23"),
        (0.004, ".00"),
        (-0.0049, ".00"),
        (8e-5, ".00"),
        (-0.0, "0"),
        (12.34, "12.3"),
        (-123.4, "-123"),
        (12_345.6, "12346"),
        (-4.31e27, "-4e27"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_a_number_of_a_cube_has_few_letters(value: float, words: str) -> None:
    assert short(value) == words


def test_fewer_digits_make_more_numbers_zero() -> None:
    assert [short(0.04, digits) for digits in (1, 2, 3)] == [".0", ".04", ".040"]


def test_words_on_a_cube_have_their_numbers_so_too() -> None:
    assert on_cube("0.27\n× -0.105") == ".27\n× -.105"
    assert on_cube("10.5 and 0") == "10.5 and 0"
