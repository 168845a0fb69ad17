"""expm1, log1p, tanh, erfc and power for shaders, which have only exp, log, pow and floor.

`shader_functions` translates them like any formula. They are accurate to float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.elementary import exp, log


def divide(x: float, y: float) -> float:
    return x / y


def expm1(x: float) -> float:
    """exp(x) - 1, computed by a series near 0, where the subtraction would lose digits."""
    if abs(x) > 0.35:
        return exp(x) - 1.0
    p = 1.0 / 24.0 + x * (1.0 / 120.0 + x * (1.0 / 720.0 + x / 5040.0))
    return x + x * x * (0.5 + x * (1.0 / 6.0 + x * p))


def log1p(x: float) -> float:
    """log(1 + x), computed by the series of atanh near 0."""
    if x < -0.5 or x > 1.0:
        return log(1.0 + x)
    s = x / (2.0 + x)
    q = s * s
    p = 1.0 / 7.0 + q * (1.0 / 9.0 + q * (1.0 / 11.0 + q * (1.0 / 13.0 + q / 15.0)))
    return 2.0 * s * (1.0 + q * (1.0 / 3.0 + q * (1.0 / 5.0 + q * p)))


def tanh(x: float) -> float:
    """Hyperbolic tangent; its exponential never overflows."""
    t = expm1(-2.0 * abs(x))
    y = -t / (2.0 + t)
    return y if x >= 0.0 else -y


def erfc(x: float) -> float:
    """Complementary error function, by a polynomial of a rational argument (after W. J. Cody)."""
    a = abs(x)
    t = 1.0 / (1.0 + 0.5 * a)
    p = -0.82215223 + t * 0.17087277
    p = 0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * p))
    p = 1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * p)))
    y = t * exp(p * t - 1.26551223 - a * a)
    return y if x >= 0.0 else 2.0 - y


def power(x: float, y: float) -> float:
    """x to the power y, also for x < 0 and y = 0, where a shader's pow is undefined."""
    if y == 0.0 or x == 1.0:
        return 1.0
    size = math.pow(abs(x), y)
    if x >= 0.0:
        return size
    odd = y - 2.0 * math.floor(0.5 * y)
    if odd == 0.0:
        return size
    return -size if odd == 1.0 else log(x)


# Functions of shaders, by their name there, and functions written for them.
BUILT_IN: Mapping[Callable[..., Any], str] = {
    elementary.exp: "exp",
    elementary.log: "log",
    elementary.sqrt: "sqrt",
    elementary.sin: "sin",
    elementary.cos: "cos",
    math.pow: "pow",
    math.floor: "floor",
    abs: "abs",
    min: "min",
    max: "max",
}
WRITTEN: Mapping[Callable[..., Any], Callable[..., Any]] = {
    elementary.divide: divide,
    elementary.expm1: expm1,
    elementary.log1p: log1p,
    elementary.tanh: tanh,
    elementary.erfc: erfc,
    elementary.power: power,
}
