"""The formula of a recorded function, as a textbook writes it."""

from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.core.trace_program import formula_of

A, B = sv.Value(2.0, label="a"), sv.Value(3.0, label="b")


@pytest.mark.parametrize(
    ("function", "inputs", "wanted"),
    [
        (lambda x: A * (-B * x).exp(), 1, "a × exp(−b × x)"),
        (lambda x: A - (B - x), 1, "a − (b − x)"),
        (lambda x: (A - B) - x, 1, "a − b − x"),
        (lambda x: -((A + x) ** 2) / (B * x), 1, "−(a + x)^2 / (b × x)"),
        (lambda x: sv.maximum(A, x) * 3 + -A, 1, "maximum(a, x) × 3 + −a"),
        (lambda x, y: (x < A) * B + y, 2, "(x0 < a) × b + x1"),
        (lambda x: sv.where(x, A, B), 1, "where(x, a, b)"),
        (lambda x: [A * x, B * x], 1, ""),
        (lambda x: sum([A * x] * 40, x), 1, ""),  # too long
    ],
)
def test_it_reads_as_the_function_is_written(
    function: Callable[..., Any], inputs: int, wanted: str
) -> None:
    trace = sv.compile(function, inputs, engine="python").recording
    names = [value.label for value in trace.parameters]
    pieces = [names[each] if isinstance(each, int) else each for each in formula_of(trace)]
    assert "".join(pieces) == wanted
