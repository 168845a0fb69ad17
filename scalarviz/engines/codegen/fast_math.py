"""Elementary functions (exp, tanh, sin, ...) that LLVM can vectorise.

The compiler's own functions take one number at a time. These have no branches and no tables: they
reduce the range of x, evaluate a polynomial, and construct powers of two from bits. They are
compiled like formulas, but without reordering of sums.

The polynomials are Chebyshev fits, accurate to the last bits of their type. NaN stays NaN, and the
limits at infinity are exact. Subnormal results may become 0. sin and cos are accurate unless x is
so large that the spacing of floats exceeds a radian.

A function whose name ends in 32 or in 64 is for that type; any other serves both. Adding and
subtracting ROUND rounds a number to the nearest integer n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.elementary import exp, log, pi

# Functions on the bits of a float: powers of two, signs, exponents and fractions. An integer n is
# passed as the float `rounded` = n + ROUND, whose lowest bits are those of n.

ROUND32 = 1.5 * 2.0**23
ROUND64 = 1.5 * 2.0**52

# The bits of sqrt(1/2), and the mask of a number's fraction.
SQRT_HALF32, FRACTION32 = 0x3F3504F3, 0x7FFFFF
SQRT_HALF64, FRACTION64 = 0x3FE6A09E667F3BCD, 0xFFFFFFFFFFFFF


def times_power_of_two32(x: Any, rounded: Any) -> Any:
    """Return x times 2**n, where rounded = n + ROUND."""
    bits = np.float32(x).view(np.int32) + (np.float32(rounded).view(np.int32) << 23)
    return np.int32(bits).view(np.float32)


def times_power_of_two64(x: Any, rounded: Any) -> Any:
    bits = np.float64(x).view(np.int64) + (np.float64(rounded).view(np.int64) << 52)
    return np.int64(bits).view(np.float64)


def negated_if_odd32(x: Any, rounded: Any) -> Any:
    """Return x if n is even, -x if it is odd, where rounded = n + ROUND."""
    bits = np.float32(x).view(np.int32) ^ (np.float32(rounded).view(np.int32) << 31)
    return np.int32(bits).view(np.float32)


def negated_if_odd64(x: Any, rounded: Any) -> Any:
    bits = np.float64(x).view(np.int64) ^ (np.float64(rounded).view(np.int64) << 63)
    return np.int64(bits).view(np.float64)


def exponent32(x: Any) -> Any:
    """Return the integer n for which x / 2**n is between sqrt(1/2) and sqrt(2)."""
    n = (np.float32(x).view(np.int32) - SQRT_HALF32) >> 23
    return np.int32(n + np.float32(ROUND32).view(np.int32)).view(np.float32) - ROUND32


def exponent64(x: Any) -> Any:
    n = (np.float64(x).view(np.int64) - SQRT_HALF64) >> 52
    return np.int64(n + np.float64(ROUND64).view(np.int64)).view(np.float64) - ROUND64


def fraction32(x: Any) -> Any:
    """Return x / 2**n for the n of `exponent32`."""
    bits = ((np.float32(x).view(np.int32) - SQRT_HALF32) & FRACTION32) + SQRT_HALF32
    return np.int32(bits).view(np.float32)


def fraction64(x: Any) -> Any:
    bits = ((np.float64(x).view(np.int64) - SQRT_HALF64) & FRACTION64) + SQRT_HALF64
    return np.int64(bits).view(np.float64)


def upper_half32(x: Any) -> Any:
    """Return x with the lower half of its digits set to 0, so that its square is exact."""
    return np.int32(np.float32(x).view(np.int32) & -0x1000).view(np.float32)


def upper_half64(x: Any) -> Any:
    return np.int64(np.float64(x).view(np.int64) & -0x8000000).view(np.float64)


INF = math.inf
NAN = math.nan
LOG2_E = 1.4426950408889634
ONE_OVER_PI = 1.0 / pi

# log 2 and pi split in parts: the product of an integer n and all parts but the last is exact.
LN2_32, LN2_LOW_32 = 0.693145751953125, 1.428606765330187e-06
LN2_64, LN2_LOW_64 = 0.6931471803691238, 1.9082149292705877e-10
PI_32, PI_MIDDLE_32, PI_LOW_32 = 3.140625, 0.0009675025939941406, 1.5099579909783765e-07
PI_64, PI_MIDDLE_64, PI_LOW_64 = 3.1415926534682512, 1.215420100718692e-10, 5.825464112186712e-20

# Bounds of x between which exp(x) is a normal number, and the smallest normal number.
LOWEST32, HIGHEST32, SMALLEST32 = -87.33654, 88.72283, 1.1754943508222875e-38
LOWEST64, HIGHEST64, SMALLEST64 = -708.3964185322641, 709.782712893384, 2.2250738585072014e-308


def divide(x: float, y: float) -> float:
    return x / y


def power(x: float, y: float) -> Any:
    return x**y


def within(x: float, low: float, high: float) -> float:
    """Clip x to the bounds; the lower one for NaN."""
    x = x if x > low else low
    return x if x < high else high


# These three are replaced by the function for the working type.
def short_expm1(x: float) -> float:
    raise NotImplementedError


def scaled_erfc(t: float) -> float:
    raise NotImplementedError


def upper_half(x: float) -> float:
    raise NotImplementedError


# ---- exponentials -------------------------------------------------------------------------------


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


def exp32(x: float) -> float:
    c = within(x, LOWEST32, HIGHEST32)
    rounded = c * LOG2_E + ROUND32
    n = rounded - ROUND32
    y = times_power_of_two32(1.0 + power_series32((c - n * LN2_32) - n * LN2_LOW_32), rounded)
    y = 0.0 if x < LOWEST32 else y
    y = INF if x > HIGHEST32 else y
    return y if x == x else x


def exp64(x: float) -> float:
    c = within(x, LOWEST64, HIGHEST64)
    rounded = c * LOG2_E + ROUND64
    n = rounded - ROUND64
    y = times_power_of_two64(1.0 + power_series64((c - n * LN2_64) - n * LN2_LOW_64), rounded)
    y = 0.0 if x < LOWEST64 else y
    y = INF if x > HIGHEST64 else y
    return y if x == x else x


def short_expm1_32(x: float) -> Any:
    """Return exp(x) - 1 for x between -80 and 80."""
    rounded = x * LOG2_E + ROUND32
    n = rounded - ROUND32
    scale = times_power_of_two32(1.0, rounded)
    return scale * power_series32((x - n * LN2_32) - n * LN2_LOW_32) + (scale - 1.0)


def short_expm1_64(x: float) -> Any:
    """Return exp(x) - 1 for x between -700 and 700."""
    rounded = x * LOG2_E + ROUND64
    n = rounded - ROUND64
    scale = times_power_of_two64(1.0, rounded)
    return scale * power_series64((x - n * LN2_64) - n * LN2_LOW_64) + (scale - 1.0)


def expm1(x: float) -> float:
    long = exp(x)
    short = short_expm1(within(x, -40.0, 40.0))
    y = long if x > 40.0 else short
    return y if x == x else x


def tanh(x: float) -> float:
    e = short_expm1(2.0 * within(x, -20.0, 20.0))
    return e / (e + 2.0) if x == x else x


# ---- logarithms ---------------------------------------------------------------------------------


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


def log32(x: float) -> float:
    c = x if x >= SMALLEST32 else x * 33554432.0  # 2**25
    n = exponent32(c)
    y = log_series32(fraction32(c) - 1.0)
    n = n if x >= SMALLEST32 else n - 25.0
    return log_limits(x, (n * LN2_LOW_32 + y) + n * LN2_32)


def log64(x: float) -> float:
    c = x if x >= SMALLEST64 else x * 18014398509481984.0  # 2**54
    n = exponent64(c)
    y = log_series64(fraction64(c) - 1.0)
    n = n if x >= SMALLEST64 else n - 54.0
    return log_limits(x, (n * LN2_LOW_64 + y) + n * LN2_64)


def log_limits(x: float, y: float) -> float:
    """Return y, or log(x) where x is not positive, infinite or NaN."""
    y = y if x > 0.0 else NAN
    y = -INF if x == 0.0 else y
    return y if x < INF else x


def log1p(x: float) -> float:
    u = 1.0 + x
    lost = x - (u - 1.0)  # rounding error of u
    y = log(u)
    exact = y + lost / u
    exact = exact if u > 0.0 else y
    return exact if u < INF else y


# ---- sine, cosine, error function ---------------------------------------------------------------


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


def sin32(x: float) -> float:
    rounded = x * ONE_OVER_PI + ROUND32
    n = rounded - ROUND32
    r = ((x - n * PI_32) - n * PI_MIDDLE_32) - n * PI_LOW_32
    y = negated_if_odd32(sine_series32(r), rounded)
    return y if x - x == 0.0 else NAN


def sin64(x: float) -> float:
    rounded = x * ONE_OVER_PI + ROUND64
    n = rounded - ROUND64
    r = ((x - n * PI_64) - n * PI_MIDDLE_64) - n * PI_LOW_64
    y = negated_if_odd64(sine_series64(r), rounded)
    return y if x - x == 0.0 else NAN


# cos(x) = -sin(x - pi/2): an odd multiple of pi/2 is subtracted from x.
def cos32(x: float) -> float:
    rounded = (x * ONE_OVER_PI - 0.5) + ROUND32
    n = (rounded - ROUND32) + 0.5
    r = ((x - n * PI_32) - n * PI_MIDDLE_32) - n * PI_LOW_32
    y = -negated_if_odd32(sine_series32(r), rounded)
    return y if x - x == 0.0 else NAN


def cos64(x: float) -> float:
    rounded = (x * ONE_OVER_PI - 0.5) + ROUND64
    n = (rounded - ROUND64) + 0.5
    r = ((x - n * PI_64) - n * PI_MIDDLE_64) - n * PI_LOW_64
    y = -negated_if_odd64(sine_series64(r), rounded)
    return y if x - x == 0.0 else NAN


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


def erfc(x: float) -> float:
    a = within(abs(x), 0.0, 28.0)
    h = upper_half(a)
    y = exp(-h * h) * exp((h - a) * (h + a)) * scaled_erfc(3.0 / (3.0 + a))
    y = 2.0 - y if x < 0.0 else y
    return y if x == x else x


# ---- replacements of the functions of formulas --------------------------------------------------


STANDARD: Mapping[Callable[..., Any], Callable[..., Any]] = {
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
BOTH = {
    **STANDARD,
    elementary.erfc: erfc,
    elementary.expm1: expm1,
    elementary.log1p: log1p,
    elementary.tanh: tanh,
}
FAST: Mapping[str, Mapping[Callable[..., Any], Callable[..., Any]]] = {
    "float32": {
        **BOTH,
        elementary.cos: cos32,
        elementary.exp: exp32,
        elementary.log: log32,
        elementary.sin: sin32,
        short_expm1: short_expm1_32,
        scaled_erfc: scaled_erfc32,
        upper_half: upper_half32,
    },
    "float64": {
        **BOTH,
        elementary.cos: cos64,
        elementary.exp: exp64,
        elementary.log: log64,
        elementary.sin: sin64,
        short_expm1: short_expm1_64,
        scaled_erfc: scaled_erfc64,
        upper_half: upper_half64,
    },
}
