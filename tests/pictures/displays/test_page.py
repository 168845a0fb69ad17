"""What is around a drawing: numbers, tables, and what is shown where a display fails."""

import math

import numpy as np
import pytest

from scalarviz.core.value import Value
from scalarviz.stage.displays.html_tables import HEAD, SIDE, never_raises, number_text, table
from tests.pictures.displays.drawn import cells_of


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (-1.5, "−1.5"),
        (1 / 3, "0.3333"),
        (1.25e-5, "1.25e−5"),
        (12345.6, "12,346"),
        (1e30, "1e30"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (None, "none"),
        (np.float32(0.5), "0.5"),
        (np.float64(-2), "−2"),
        (Value(3.0), "3"),
        ("word", "word"),
        (10**400, "100000000000000000000000"[:23] + "…"),
    ],
)
def test_a_number_is_shown_as_one_reads_it(number: object, text: str) -> None:
    assert number_text(number) == text


def test_a_table_says_what_it_was_given() -> None:
    lines = [["a", "<b>"], ["1 & 2", '"q"']]
    html = table(lines)
    assert cells_of(html) == lines
    assert "<b>" not in html


def test_the_head_of_a_table_is_its_first_row_or_its_first_column() -> None:
    lines = [["a", "b"], ["c", "d"]]
    assert table(lines).count("<th") == table(lines, head="column").count("<th") == 2
    assert ">b</th>" in table(lines) and ">b</td>" in table(lines, head="column")
    assert table(lines).count(f'<th style="{HEAD}"') == 2
    assert table(lines, head="column").count(f'<th style="{SIDE}"') == 2


def test_a_display_that_fails_shows_the_plain_text() -> None:
    @never_raises
    def broken(thing: object) -> str:
        raise RuntimeError

    class Thing:
        def __repr__(self) -> str:
            return "<thing>"

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert broken(Thing()) == "<pre>&lt;thing&gt;</pre>"
    assert broken(Broken()) == "<pre>a Broken</pre>"
