"""The activations: y = f(x), each with its derivative beside it.

A derivative is given x and the result y, and uses whichever makes it shortest. To add an
activation, write the two functions and one row of `ACTIVATIONS`: every engine, the gradient checks
and the error messages know it by being in the table.

Each is safe at any x: at +-1000 there is no exception, only the right limit.
"""

from __future__ import annotations

from scalarviz.formulas.elementary import cos, erfc, exp, expm1, log1p, pi, sin, sqrt, tanh
from scalarviz.formulas.table import Formula, table

LEAK = 0.01  # the slope of leaky_relu below zero
SQRT_HALF = sqrt(0.5)
INVERSE_SQRT_2_PI = 1.0 / sqrt(2.0 * pi)


def linear(x: float) -> float:
    return x


def linear_derivative(x: float, y: float) -> float:
    return 1.0


# A NaN must come out as a NaN, not as 0: hence "x <= 0" decides, and not "x > 0".
def relu(x: float) -> float:
    return 0.0 if x <= 0.0 else x


def relu_derivative(x: float, y: float) -> float:
    return 0.0 if x <= 0.0 else 1.0


def relu_right_derivative(x: float, y: float) -> float:
    return 0.0 if x < 0.0 else 1.0


def leaky_relu(x: float) -> float:
    return LEAK * x if x <= 0.0 else x


def leaky_relu_derivative(x: float, y: float) -> float:
    return LEAK if x <= 0.0 else 1.0


def elu(x: float) -> float:
    return expm1(x) if x <= 0.0 else x


def elu_derivative(x: float, y: float) -> float:
    return exp(x) if x <= 0.0 else 1.0


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + exp(-x))


def sigmoid_derivative(x: float, y: float) -> float:
    return y * (1.0 - y)


def tanh_derivative(x: float, y: float) -> float:
    return 1.0 - y * y


def softplus(x: float) -> float:
    return (0.0 if x <= 0.0 else x) + log1p(exp(-abs(x)))


def softplus_derivative(x: float, y: float) -> float:
    return sigmoid(x)


def swish(x: float) -> float:
    return x * sigmoid(x)


def swish_derivative(x: float, y: float) -> float:
    s = sigmoid(x)
    return s + y * (1.0 - s)


def gelu(x: float) -> float:
    return x * (0.5 * erfc(-x * SQRT_HALF))


def gelu_derivative(x: float, y: float) -> float:
    density = INVERSE_SQRT_2_PI * exp(-0.5 * x * x)
    return 0.5 * erfc(-x * SQRT_HALF) + x * density


def exp_derivative(x: float, y: float) -> float:
    return y


def sin_derivative(x: float, y: float) -> float:
    return cos(x)


ACTIVATIONS = table(
    [
        Formula("linear", linear, (linear_derivative,)),
        Formula("relu", relu, (relu_derivative,)),  # derivative 0 at 0, as in PyTorch
        Formula("relu_right", relu, (relu_right_derivative,)),  # derivative 1 at 0
        Formula("leaky_relu", leaky_relu, (leaky_relu_derivative,)),
        Formula("elu", elu, (elu_derivative,)),
        Formula("sigmoid", sigmoid, (sigmoid_derivative,)),
        Formula("tanh", tanh, (tanh_derivative,)),
        Formula("softplus", softplus, (softplus_derivative,)),
        Formula("swish", swish, (swish_derivative,)),
        Formula("gelu", gelu, (gelu_derivative,)),
        Formula("exp", exp, (exp_derivative,)),
        Formula("sin", sin, (sin_derivative,)),
    ]
)
