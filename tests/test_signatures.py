"""Functions of the user with a wrong signature are refused when they are passed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError
from scalarviz.formulas.activations import ACTIVATIONS


def value(x):  # type: ignore[no-untyped-def]
    return x * x


def slope(x, y):  # type: ignore[no-untyped-def]
    return 2.0 * x


def batch(step: int, batch: int, seed: int) -> Any:
    return np.zeros((batch, 2)), np.zeros((batch, 1))


def compiled(function: Callable[..., Any], inputs: int) -> sv.compile:  # type: ignore[valid-type]
    return sv.compile(function, inputs=inputs, engine="python")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: data.Rgb(lambda r, g, b: (b, g, r)),
            r"a map of colours is called with colors, and lambda\(r, g, b\) cannot be: write "
            r"lambda colors: 1\.0 - colors",
        ),
        (lambda: data.Rgb(lambda: 1.0), r"called with colors, and lambda\(\) cannot be"),
        (
            lambda: data.Generated(lambda step: None, inputs=2, outputs=1),  # type: ignore[arg-type,misc]
            r"what makes batches is called with step, batch, seed, and lambda\(step\) cannot be: "
            r"write def make\(step, batch, seed\)",
        ),
        (
            lambda: sv.activation(lambda: 1.0, slope, "none"),
            r"an activation is called with x, and lambda\(\) cannot be",
        ),
        (
            lambda: sv.activation(value, value, "once"),
            r"the derivative of an activation is called with x, y, and value\(x\) cannot be: "
            r"write def derivative\(x, y\)",
        ),
        (
            lambda: compiled(lambda x, y: x * y, 1),
            r"a compiled function is called with x0, and lambda\(x, y\) cannot be: write lambda "
            r"x0: \.\.\., or the number of its inputs as inputs=",
        ),
        (lambda: compiled(lambda x: x, 2), r"is called with x0, x1, and lambda\(x\) cannot be"),
        (lambda: compiled(lambda x: x, 784), r"is called with x0, x1, \.\.\., x783, and lambda"),
        (
            lambda: sv.gradcheck(lambda x: x * x, [1.0, 2.0]),
            r"a function of Values is called with x0, x1, and lambda\(x\) cannot be: write as many "
            "numbers in x as it takes",
        ),
        (
            lambda: data.Texture(lambda u, v: (u, v, 0.0)),  # type: ignore[arg-type]
            r"a picture is a path or an array, not the function .*: pass what it gives for every",
        ),
    ],
)
def test_a_function_of_another_form_is_refused_by_how_it_is_called(
    call: Callable[[], Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
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
