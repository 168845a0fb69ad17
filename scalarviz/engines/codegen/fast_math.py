"""Elementary functions (exp, tanh, sin, ...) that LLVM can vectorise.

The compiler's built-in functions process one number at a time. These have no branches or tables:
they reduce the range of x, evaluate a polynomial, and construct powers of two from bits. They are
compiled like formulas, but without reordering of sums.

The polynomials are Chebyshev fits, accurate to the last bits of their type. NaN stays NaN, and the
limits at infinity are exact. Subnormal results may become 0. sin and cos are accurate unless x is
so large that the spacing of floats exceeds a radian.

Polynomials whose names end in 32 or 64 are for that type; `functions_of` creates all functions for
a type. Adding and then subtracting `rounding` rounds a number to the nearest integer n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.elementary import pi

Function = Callable[..., Any]

INF = math.inf
NAN = math.nan
LOG2_E = 1.4426950408889634
ONE_OVER_PI = 1.0 / pi


def divide(x: float, y: float) -> float:
    return x / y


def power(x: float, y: float) -> Any:
    return x**y


def within(x: float, low: float, high: float) -> float:
    """Clip x to the interval from `low` to `high`; NaN becomes `low`."""
    x = x if x > low else low
    return x if x < high else high


# ---- polynomials ---------------------------------------------------------------------------------


def power_series32(r: float) -> float:
    """Return exp(r) - 1 for r between -log(2)/2 and log(2)/2."""
    p = 0.008363179052722578 + r * 0.0013926183587713494
    p = 0.16666576989698775 + r * (0.041666554617204574 + r * p)
    return r + r * r * (0.5 + r * p)


def power_series64(r: float) -> float:
    p = 2.7557268459997064e-06 + r * (2.7620088445409746e-07 + r * 2.510038549551032e-08)
    p = 0.0013888888917213717 + r * (0.00019841269863053618 + r * (2.4801521295954376e-05 + r * p))
    p = 0.16666666666666669 + r * (0.04166666666662413 + r * (0.008333333333330062 + r * p))
    return r + r * r * (0.5 + r * p)


def log_series32(f: float) -> float:
    """Return log(1 + f) for 1 + f between sqrt(1/2) and sqrt(2)."""
    s = f / (2.0 + f)
    z = s * s
    p = 0.6666668509542907 + z * (0.39988757716604845 + z * 0.29580985929974424)
    return f - s * (f - z * p)


def log_series64(f: float) -> float:
    s = f / (2.0 + f)
    z = s * s
    p = 0.1818289243253687 + z * (0.15331611722055008 + z * 0.14617807153417325)
    p = 0.39999999999898890 + z * (0.28571428626253836 + z * (0.22222211089379496 + z * p))
    return f - s * (f - z * (0.666666666666667 + z * p))


def log_limits(x: float, y: float) -> float:
    """Return y for positive finite x; otherwise log(x), which is -inf, inf or NaN."""
    y = y if x > 0.0 else NAN
    y = -INF if x == 0.0 else y
    return y if x < INF else x


def sine_series32(r: float) -> float:
    """Return sin(r) for r between -pi/2 and pi/2."""
    r = within(r, -1.7, 1.7)
    z = r * r
    p = -0.00019822735835019672 + z * 2.6347445557912756e-06
    return r + r * z * (-0.1666666596354223 + z * (0.00833324210801853 + z * p))


def sine_series64(r: float) -> float:
    r = within(r, -1.7, 1.7)
    z = r * r
    p = 1.6058977292642743e-10 + z * (-7.643969663988074e-13 + z * 2.7314368769379893e-15)
    p = -0.00019841269841254966 + z * (
        2.7557319219160833e-06 + z * (-2.505210761669045e-08 + z * p)
    )
    return r + r * z * (-0.16666666666666666 + z * (0.008333333333333316 + z * p))


def scaled_erfc32(t: float) -> float:
    """Return exp(x * x) * erfc(x) for x >= 0, where t = 1 / (1 + x / 3)."""
    p = 0.5654842475499057 + t * (-0.20351408123958475 + t * 0.016103269631383248)
    p = 0.468647035649463 + t * (-0.45258044240491896 + t * p)
    p = 0.208175526591456 + t * (0.02527628786656114 + t * p)
    return t * (0.188277804309766 + t * (0.1841303126163092 + t * p))


def scaled_erfc64(t: float) -> float:
    p = 0.10491710932328446 + t * (-0.021860267835157005 + t * 0.00204218066600869)
    p = 0.523080175973428 + t * (-0.2941852845462106 + t * p)
    p = 0.37103913472515165 + t * (-0.5895014816972336 + t * p)
    p = -0.2110660931628105 + t * (-0.021884292813639624 + t * p)
    p = -0.19464530590628537 + t * (0.2635151077427174 + t * p)
    p = -0.045712732615574916 + t * (0.08787713063889906 + t * p)
    p = 0.02348229838989852 + t * (0.015615405734792894 + t * p)
    p = 0.09221923740481533 + t * (0.057482943219917565 + t * p)
    p = 0.1567187486448523 + t * (0.12712432831441128 + t * p)
    p = 0.18806319354223786 + t * (0.17761526972632272 + t * p)
    return t * (0.1880631945301739 + t * p)


# ---- functions -----------------------------------------------------------------------------------


STANDARD: dict[Function, Function] = {
    elementary.cos: math.cos,
    elementary.divide: divide,
    elementary.erfc: math.erfc,
    elementary.exp: math.exp,
    elementary.expm1: math.expm1,
    elementary.log: math.log,
    elementary.log1p: math.log1p,
    elementary.power: power,
    elementary.sin: math.sin,
    elementary.sqrt: math.sqrt,
    elementary.tanh: math.tanh,
}


def functions_of(
    real: Any, integer: Any, digits: int, *, rounding: float, sqrt_half: int, upper_digits: int,
    smallest: float, lowest: float, highest: float, ln2: tuple[float, float],
    pi_in_parts: tuple[float, float, float], power_series: Function, log_series: Function,
    sine_series: Function, scaled_erfc: Function,
) -> Mapping[Function, Function]:  # fmt: skip
    """Return fast functions for a floating-point type, keyed by the functions that they replace.

    Args:
        real, integer: numpy types of floats and integers, of equal size
        digits: number of stored bits of the significand
        rounding: 1.5 * 2**digits
        sqrt_half: the bits of sqrt(1/2)
        upper_digits: mask of all bits except the lower half of the digits
        smallest: the smallest normal number
        lowest, highest: bounds of x between which exp(x) is a normal number
        ln2: log 2 as a sum of two floats; the first one times an integer n is exact
        pi_in_parts: pi as a sum of three floats; the first two times an integer n are exact
    """
    sign, fraction_bits = 8 * real().itemsize - 1, 2**digits - 1
    grown, exponent_grown = 2.0 ** (digits + 2), digits + 2.0  # for numbers below the smallest
    ln2_high, ln2_low = ln2
    pi_high, pi_middle, pi_low = pi_in_parts

    # Functions on the bits of a float: powers of two, signs, exponents and fractions. An integer n
    # is passed as the float `rounded` = n + rounding, whose lowest bits are those of n.

    def times_power_of_two(x: Any, rounded: Any) -> Any:
        """Return x times 2**n, where rounded = n + rounding."""
        bits = real(x).view(integer) + (real(rounded).view(integer) << digits)
        return integer(bits).view(real)

    def negated_if_odd(x: Any, rounded: Any) -> Any:
        """Return x if n is even, -x if it is odd, where rounded = n + rounding."""
        bits = real(x).view(integer) ^ (real(rounded).view(integer) << sign)
        return integer(bits).view(real)

    def exponent(x: Any) -> Any:
        """Return the integer n for which x / 2**n is between sqrt(1/2) and sqrt(2)."""
        n = (real(x).view(integer) - sqrt_half) >> digits
        return integer(n + real(rounding).view(integer)).view(real) - rounding

    def fraction(x: Any) -> Any:
        """Return x / 2**n, where n is the `exponent` of x."""
        bits = ((real(x).view(integer) - sqrt_half) & fraction_bits) + sqrt_half
        return integer(bits).view(real)

    def upper_half(x: Any) -> Any:
        """Return x with the lower half of its digits set to 0, so that its square is exact."""
        return integer(real(x).view(integer) & upper_digits).view(real)

    def exp(x: float) -> float:
        c = within(x, lowest, highest)
        rounded = c * LOG2_E + rounding
        n = rounded - rounding
        y = times_power_of_two(1.0 + power_series((c - n * ln2_high) - n * ln2_low), rounded)
        y = 0.0 if x < lowest else y
        y = INF if x > highest else y
        return y if x == x else x

    def short_expm1(x: float) -> Any:
        """Return exp(x) - 1 for x between -80 and 80."""
        rounded = x * LOG2_E + rounding
        n = rounded - rounding
        scale = times_power_of_two(1.0, rounded)
        return scale * power_series((x - n * ln2_high) - n * ln2_low) + (scale - 1.0)

    def expm1(x: float) -> float:
        long = exp(x)
        short = short_expm1(within(x, -40.0, 40.0))
        y = long if x > 40.0 else short
        return y if x == x else x

    def tanh(x: float) -> float:
        e = short_expm1(2.0 * within(x, -20.0, 20.0))
        return e / (e + 2.0) if x == x else x

    def log(x: float) -> float:
        c = x if x >= smallest else x * grown
        n = exponent(c)
        y = log_series(fraction(c) - 1.0)
        n = n if x >= smallest else n - exponent_grown
        return log_limits(x, (n * ln2_low + y) + n * ln2_high)

    def log1p(x: float) -> float:
        u = 1.0 + x
        lost = x - (u - 1.0)  # rounding error of u
        y = log(u)
        exact = y + lost / u
        exact = exact if u > 0.0 else y
        return exact if u < INF else y

    def sin(x: float) -> float:
        rounded = x * ONE_OVER_PI + rounding
        n = rounded - rounding
        r = ((x - n * pi_high) - n * pi_middle) - n * pi_low
        y = negated_if_odd(sine_series(r), rounded)
        return y if x - x == 0.0 else NAN

    # cos(x) = -sin(x - pi/2): an odd multiple of pi/2 is subtracted from x.
    def cos(x: float) -> float:
        rounded = (x * ONE_OVER_PI - 0.5) + rounding
        n = (rounded - rounding) + 0.5
        r = ((x - n * pi_high) - n * pi_middle) - n * pi_low
        y = -negated_if_odd(sine_series(r), rounded)
        return y if x - x == 0.0 else NAN

    def erfc(x: float) -> float:
        a = within(abs(x), 0.0, 28.0)
        h = upper_half(a)
        y = exp(-h * h) * exp((h - a) * (h + a)) * scaled_erfc(3.0 / (3.0 + a))
        y = 2.0 - y if x < 0.0 else y
        return y if x == x else x

    made = (cos, erfc, exp, expm1, log, log1p, sin, tanh)
    return STANDARD | {getattr(elementary, each.__name__): each for each in made}


FAST: Mapping[str, Mapping[Function, Function]] = {
    "float32": functions_of(
        np.float32,
        np.int32,
        23,
        rounding=1.5 * 2.0**23,
        sqrt_half=0x3F3504F3,
        upper_digits=-0x1000,
        smallest=1.1754943508222875e-38,
        lowest=-87.33654,
        highest=88.72283,
        ln2=(0.693145751953125, 1.428606765330187e-06),
        pi_in_parts=(3.140625, 0.0009675025939941406, 1.5099579909783765e-07),
        power_series=power_series32,
        log_series=log_series32,
        sine_series=sine_series32,
        scaled_erfc=scaled_erfc32,
    ),
    "float64": functions_of(
        np.float64,
        np.int64,
        52,
        rounding=1.5 * 2.0**52,
        sqrt_half=0x3FE6A09E667F3BCD,
        upper_digits=-0x8000000,
        smallest=2.2250738585072014e-308,
        lowest=-708.3964185322641,
        highest=709.782712893384,
        ln2=(0.6931471803691238, 1.9082149292705877e-10),
        pi_in_parts=(3.1415926534682512, 1.215420100718692e-10, 5.825464112186712e-20),
        power_series=power_series64,
        log_series=log_series64,
        sine_series=sine_series64,
        scaled_erfc=scaled_erfc64,
    ),
}
