"""Functions of the user with a wrong signature are refused when they are passed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.errors import InputError
from tests.wording import refused


def value(x):  # type: ignore[no-untyped-def]  # as users write it
    return x * x


def slope(x, y):  # type: ignore[no-untyped-def]  # as users write it
    return 2.0 * x


def batch(step: int, batch: int, seed: int) -> Any:
    return np.zeros((batch, 2)), np.zeros((batch, 1))


def compiled(function: Callable[..., Any], inputs: int) -> sv.compile:  # type: ignore[valid-type]  # compile is a class and a function
    return sv.compile(function, inputs=inputs, engine="python")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (
            lambda: data.Rgb(lambda r, g, b: (b, g, r)),
            "lambda(r, g, b)",
        ),
        (lambda: data.Rgb(lambda: 1.0), "lambda()"),
        (
            lambda: data.Generated(lambda step: None, inputs=2, outputs=1),  # type: ignore[arg-type,misc]  # on purpose
            "lambda(step)",
        ),
        (
            lambda: sv.activation(lambda: 1.0, slope, "none"),
            "lambda()",
        ),
        (
            lambda: sv.activation(value, value, "once"),
            "value(x)",
        ),
        (
            lambda: compiled(lambda x, y: x * y, 1),
            "lambda(x, y)",
        ),
        (lambda: compiled(lambda x: x, 2), "lambda(x)"),
        (lambda: compiled(lambda x: x, 784), "x783"),
        (
            lambda: sv.gradcheck(lambda x: x * x, [1.0, 2.0]),
            "lambda(x)",
        ),
        (
            lambda: data.Texture(lambda u, v: (u, v, 0.0)),  # type: ignore[arg-type]  # on purpose
            "the function",
        ),
    ],
)
def test_a_function_of_another_form_is_refused_by_how_it_is_called(
    call: Callable[[], Any], value: str
) -> None:
    with refused(InputError, value):
        call()
    assert not {"none", "once"} & set(ACTIVATIONS)


class Halves:
    """Something that can be called, and is no function."""

    def __call__(self, colors: Any) -> Any:
        return colors / 2.0


def test_what_can_be_called_so_is_taken() -> None:
    for each in (
        lambda colors: colors,
        lambda *anything: anything[0],
        lambda colors, by=0.5: colors * by,
        partial(np.power, 2.0),  # of which no signature is known
        np.sqrt,
        Halves(),
    ):
        assert data.Rgb(each, levels=2).samples == 8
    assert data.Generated(batch, inputs=2, outputs=1).batches(3).at(0)[0].shape == (3, 2)
    assert data.Generated(lambda *seen: batch(*seen), inputs=2, outputs=1).samples == 1024
    assert compiled(lambda *x: x[0] * x[1] * x[2], 3)([1.0, 2.0, 3.0]).tolist() == [6.0]
    assert compiled(lambda x, power=2: x**power, 1)([3.0]).tolist() == [9.0]
