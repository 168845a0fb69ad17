"""Formulas are written from the source of functions: a calculator gives what the function gives."""

import linecache
import math
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import exp, expm1, log, log1p, power, sqrt
from scalarviz.core.formulas.formula_words import formula_of, in_words, written
from scalarviz.core.formulas.losses import LOSSES
from scalarviz.engines.custom.user_functions import on_numbers, recorded_derivative
from scalarviz.errors import InputError
from scalarviz.story.formats import fill, pretty
from scalarviz.story.forward_captions import case_of
from scalarviz.training.session.reading import formula_cases
from tests.story.caption_reader import FUNCTIONS, as_python

NUMBERS = count()


def half(x: float) -> float:
    return 0.5 * x


def made(source: str) -> Any:
    """The function of a source, which `inspect` finds as it finds that of a cell of a notebook."""
    name = f"<written {next(NUMBERS)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    known: dict[str, Any] = {"exp": exp, "half": half, "math": math, "FLOOR": 0.01, "sv": sv}
    exec(compile(source, name, "exec"), known)
    return known["loss"]


def of_body(body: str) -> Callable[..., float]:
    return made("def loss(p, t):\n" + "".join(f"    {line}\n" for line in body.split("\n")))


def read(formula: str) -> float:
    """What a calculator gives for a formula with its numbers."""
    return float(eval(as_python(formula).replace(", else", " else"), {**FUNCTIONS, "half": half}))


@pytest.mark.parametrize(
    ("body", "formula"),
    [
        ("return (p - t) * (p - t)", "(p - t)^2"),
        ("return 2.0 * p * p * p", "2 * p^3"),
        ("return p * p ** 2", "p^3"),
        ("return p * (t * p)", "p * t * p"),
        ("return p * (t / 2)", "p * t / 2"),
        ("return p / (t / 2)", "p / (t / 2)"),
        ("return p - (t - 1)", "(p - (t - 1))"),
        ("return p + (t - 1)", "(p + t - 1)"),
        ("return p - -t", "(p + t)"),
        ("return p + -2 * t", "(p - 2 * t)"),
        ("return -(p - t)", "-(p - t)"),
        ("return -p ** 2", "-p^2"),
        ("return (-p) ** 2", "(-p)^2"),
        ("return p ** -2", "p^(-2)"),
        ("return abs(p - t) / (abs(p) + FLOOR)", "|p - t| / (|p| + 0.01)"),
        ("return abs(p - abs(t))", "abs(p - |t|)"),
        ("return math.log(1 + math.exp(p)) - t * p", "(log(1 + e^p) - t * p)"),
        ("return math.exp(-p * p)", "exp(-p^2)"),
        ("return half(p - t)", "0.5 * (p - t)"),
        ("return 1.0 if p > t else 0.0", "(1 if p > t, else 0)"),
        ("return 1 if p > t else (-1 if p < t else 0)", "(1 if p > t, else -1 if p < t, else 0)"),
        ("return 2 * p if 0 < p <= t else p + t", "(2 * p if 0 < p <= t, else p + t)"),
        ("return p if not (p > t or t > 1) else t", "(p if not (p > t or t > 1), else t)"),
        ("e = p - t\nreturn e * e", "(p - t)^2"),
        ("e: float = p - t\ne *= 2\nreturn e", "(p - t) * 2"),
        ("'It is documented.'\npass\nreturn p", "p"),
        ("if p > t:\n    return p\nreturn t", "(p if p > t, else t)"),
        ("e = p\nif p < t:\n    e = t\nreturn 2 * e", "(2 * t if p < t, else 2 * p)"),
        ("return math.pi * p", "3.14159 * p"),
        ("return max(p, t, 0)", "max(p, t, 0)"),
        *[
            (body, "")
            for body in (
                "for i in range(3):\n    p = p * t\nreturn p",
                "while p > 1.0:\n    p = p / 2.0\nreturn p",
                "p, t = t, p\nreturn p",
                "return sum(x for x in (p, t))",
                "return p if p else [t][0]",
                "return p // t",
                "return loss(t, p)",
                "return " + " + ".join(["p * t"] * 12),
                "p = p * t + t\n" * 40 + "return p",
                "assert p > -100.0\nreturn p",
                "return (lambda x: x)(p)",
                "return unknown(p)",
                "return 'p'",
                "return FLOOR if p is t else 0.0",
            )
        ],
    ],
)
def test_a_function_is_written_as_captions_write_or_not(body: str, formula: str) -> None:
    assert written(of_body(body)) == formula


def test_functions_without_a_source_are_not_written() -> None:
    for function in (math.sqrt, lambda p, t: p - t, eval("lambda p: p"), exp):
        assert written(function) == ""


def test_a_source_that_was_edited_since_is_not_shown() -> None:
    function = of_body("return p - t")
    name = function.__code__.co_filename
    source = "def loss(p, t):\n    return p + t\n"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    assert written(function) == ""


def test_arguments_are_called_as_captions_call_them() -> None:
    function = made("def loss(lambda_, x1):\n    return abs(lambda_ - x1) * lambda_")
    assert written(function, ("p", "t")) == "|p - t| * p"
    assert written(function) == "|lambda_ - x1| * lambda_"


def test_a_function_around_it_lends_its_names() -> None:
    def weighted(weight: float) -> Callable[..., float]:
        def loss(p: float, t: float) -> float:
            return weight * (p - t)

        return loss

    assert written(weighted(0.3)) == "0.3 * (p - t)"
    assert written(weighted(0.7)) == "0.7 * (p - t)"


def test_a_long_formula_calls_its_functions_by_their_names() -> None:
    source = """
def smooth(x):
    return 0.123 * x * x + 0.456 * x + 0.789 * abs(x) if abs(x) < 0.321 else abs(x) - 0.654
def loss(p, t):
    return smooth(p - t)
"""
    assert written(made(source)) == "smooth(p - t)"


def test_numbers_choose_the_case() -> None:
    function = of_body("e = p - t\nreturn 0.5 * e * e if abs(e) <= 1 else abs(e) - 0.5")
    for p, case in ((0.5, "0.5 * (p - t)^2"), (3.0, "(|p - t| - 0.5)")):
        found = case_of(formula_cases(function, ("p", "t")), {"p": p, "t": 0.0})
        assert found is not None and found.text == case
        assert found.compute(p, 0.0) == function(p, 0.0)


@pytest.mark.parametrize("name", LOSSES)
def test_the_formulas_of_losses_are_those_of_their_functions(name: str) -> None:
    """What a row says by hand is shorter where it knows a sign, a limit, or a weight."""
    row = LOSSES[name]
    found = pretty(written(row.value, ("p", "t"))), pretty(written(row.derivative, ("p", "t")))
    by_hand = pretty(row.error), pretty(row.slope)
    same = {"mse": (True, True), "mae": (True, False), "sigmoid_cross_entropy": (False, True)}
    assert tuple(map(str.__eq__, found, by_hand)) == same.get(name, (False, False))
    assert all(found)


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "exp", "sin", "tanh", "elu", "relu"])
def test_the_slopes_of_activations_are_those_of_their_functions(name: str) -> None:
    row = ACTIVATIONS[name]
    found = written(row.derivative, ("z", "a"))
    for z in (-0.7, 0.3):
        numbers = {"z": f"{z}", "a": f"{row.value(z)}"}
        by_hand = read(fill(row.slope, numbers))
        assert read(fill(found, numbers)) == pytest.approx(by_hand, rel=1e-12)


def test_lines_of_an_optimizer_keep_their_form() -> None:
    known = {"w", "g", "v", "lr"}
    line = "w - lr * (g * g / v) / (sqrt(abs(v)) + 1e-08)"
    words = "w - lr * (g * g / v) / (sqrt(|v|) + 1e-08)"
    assert in_words(line, known, {"sqrt": sqrt, "abs": abs}) == words
    assert in_words("0, since it is not finite", known, {}) == ""
    assert in_words("other + w", known, {}) == ""


def test_other_functions_are_written_with_signs() -> None:
    calls = {"power": power, "log1p": log1p, "expm1": expm1, "log": log}
    assert in_words("power(x, 3) * log1p(x)", "x", calls) == "x^3 * log(1 + x)"
    assert in_words("2 * expm1(x) - log(x)", "x", calls) == "2 * (exp(x) - 1) - log(x)"


@pytest.mark.parametrize(
    ("body", "formula", "derivative"),
    [
        ("return (p - t) ** 2", "(p - t)^2", "2 * (p - t)"),
        ("return (p - t) ** 4", "(p - t)^4", "4 * (p - t)^3"),
        ("return abs(p - t)", "|p - t|", "sign(p - t)"),
        ("return -p * t", "-p * t", "-t"),
        ("return math.exp(p) / t", "e^p / t", "1 / t * e^p"),
        ("return sv.maximum(p, t)", "max(p, t)", "(0.5 if p == t, else 1 if p > t, else 0)"),
        (
            "return sv.where(p > t, 0.25 * (p - t), 3 * (t - p))",
            "(0.25 * (p - t) if p > t, else 3 * (t - p))",
            "(0.25 if p > t, else -3)",
        ),
        (
            "return sv.where(p > 0, p * p, 0.5 * p)",
            "(p^2 if p > 0, else 0.5 * p)",
            "(2 * p if p > 0, else 0.5)",
        ),
    ],
)
def test_derivatives_that_are_found_by_recording_are_short(
    body: str, formula: str, derivative: str
) -> None:
    function = of_body(body)
    assert written(on_numbers(function)) == formula
    assert written(recorded_derivative(function, "a loss")) == derivative


# Any expression.

LEAVES = st.sampled_from(["p", "t", "0.5", "2", "1.25", "FLOOR"])


def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(part, part)
    return st.one_of(
        st.tuples(part, st.sampled_from("+-*/"), part).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
        part.map("(-{})".format),
        part.map("abs({})".format),
        part.map("({} ** 2)".format),
        part.map("half({})".format),
        part.map("math.sin({})".format),
        part.map("math.log1p(abs({}))".format),
        part.map("math.exp(-abs({}))".format),
        pair.map(lambda x: f"max({x[0]}, {x[1]})"),
        st.tuples(part, part, part, part).map(lambda x: f"({x[0]} if {x[1]} > {x[2]} else {x[3]})"),
    )


@given(
    st.recursive(LEAVES, larger, max_leaves=6),
    st.sampled_from([-1.5, -0.25, 0.5, 2.0]),
    st.sampled_from([-0.5, 0.75, 1.0]),
)
def test_a_calculator_gives_what_the_function_gives(source: str, p: float, t: float) -> None:
    function = of_body(f"return {source}")
    try:
        value = function(p, t)
    except ZeroDivisionError:
        return
    assert_reads(function, p, t, value)
    try:
        derivative = recorded_derivative(function, "a loss")
        slope = derivative(p, t)
    except (InputError, ZeroDivisionError):  # it compares numbers
        return
    if math.isfinite(slope):
        assert_reads(derivative, p, t, slope)


def assert_reads(function: Callable[..., float], p: float, t: float, value: float) -> None:
    """Whether what is written is true, with all cases and with the case that is met."""
    numbers = {"p": f"{p:g}", "t": f"{t:g}"}
    known = {"p": p, "t": t}
    for found in (
        formula_of(function, ("p", "t")), case_of(formula_cases(function, ("p", "t")), known)
    ):  # fmt: skip
        if found is not None:
            assert found.compute(p, t) == pytest.approx(value, rel=1e-9, abs=1e-9)
            assert read(fill(found.text, numbers)) == pytest.approx(value, rel=1e-9, abs=1e-9)
