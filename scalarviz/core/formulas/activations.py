"""The activations y = f(x), each with its derivative.

A derivative is called with x and the result y, and uses whichever gives the shorter formula. To add
an activation, write the two functions and one row of `ACTIVATIONS`: every engine, `Value`, ONNX,
shaders, captions, tests and error messages take it from the table.

Each function is defined for every x: at +-1000 it returns the limit and raises no exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scalarviz.base.checks import require, shorten
from scalarviz.core.formulas.elementary import cos, erfc, exp, expm1, log1p, pi, sin, sqrt, tanh
from scalarviz.core.formulas.formula import FloatFunction, Formula, copy_of, pick, table
from scalarviz.errors import InputError

# Settings that a name can change, as in "leaky_relu(0.2)"; see `FAMILIES`.
LEAK = 0.01  # the slope of leaky_relu below zero
ALPHA = BETA = 1.0
LOW, HIGH = -1.0, 1.0
LAMBD = 0.5  # softshrink and hardshrink are 0 up to this distance from 0
SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
GELU_FIRST = 2.0 * sqrt(2.0 / pi)  # gelu_tanh is x sigmoid(GELU_FIRST x + GELU_THIRD x^3)
GELU_THIRD = 0.044715 * GELU_FIRST
SQRT_HALF = sqrt(0.5)
INVERSE_SQRT_2_PI = 1.0 / sqrt(2.0 * pi)
INFINITY = exp(1000.0)
Attributes = Mapping[str, tuple[float | str, float | str]]


@dataclass(frozen=True, slots=True)
class OnnxOperator:
    """The ONNX operator that computes an activation.

    Attributes:
        name: name of the operator, such as "Elu"
        attributes: required value and ONNX default of each attribute
        gate: operator g with activation(x) = x * g(x), if few programs support the operator yet
        inputs: constants that are inputs after x
        around: operators written before and after this one, each with its constants
    """

    name: str
    attributes: Attributes = field(default_factory=dict, hash=False)
    gate: str = ""
    inputs: tuple[float, ...] = ()
    around: tuple[tuple[str, tuple[float, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class ActivationFormula(Formula):
    """A row of `ACTIVATIONS`; only name, value and partials are required.

    Attributes:
        limits: values and derivatives at -1000 and at 1000, for tests
        slope: formula of the derivative in captions, in terms of the input z and the result a and
            in the notation of `LossRow` in losses.py; by default it is read from the code of the
            derivative, or is "slope of NAME" if it does not fit on a line
        caption: text about the effect on the sum of a neuron, whose name replaces "{unit}"
        zero_caption: the same text for a result of 0; by default `caption`
        onnx: operator in ONNX files; None writes the formula, which cannot be imported again
        digest: hash of the source of a custom activation, otherwise ""
    """

    limits: tuple[float, float, float, float] | None = None
    slope: str = ""
    caption: str = ""
    zero_caption: str = ""
    onnx: OnnxOperator | None = None
    digest: str = ""


def linear(x: float) -> float:
    return x


def linear_derivative(x: float, y: float) -> float:
    return 1.0


# NaN must give NaN, not 0: therefore the test is "x <= 0", not "x > 0".
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
    return ALPHA * expm1(x) if x <= 0.0 else x


def elu_derivative(x: float, y: float) -> float:
    return ALPHA * exp(x) if x <= 0.0 else 1.0


def celu(x: float) -> float:
    return ALPHA * expm1(x / ALPHA) if x <= 0.0 else x


def celu_derivative(x: float, y: float) -> float:
    return exp(x / ALPHA) if x <= 0.0 else 1.0


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + exp(-x))


def sigmoid_derivative(x: float, y: float) -> float:
    return y * (1.0 - y)


def tanh_derivative(x: float, y: float) -> float:
    return 1.0 - y * y


def softplus(x: float) -> float:
    return (0.0 if x <= 0.0 else x) + log1p(exp(-abs(BETA * x))) / BETA


def softplus_derivative(x: float, y: float) -> float:
    return sigmoid(BETA * x)


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


# The tanh in the paper, 0.5 (1 + tanh(u)), is sigmoid(2 u), which is accurate below zero.
def gelu_tanh(x: float) -> float:
    return x * sigmoid(x * (GELU_FIRST + GELU_THIRD * x * x))


def gelu_tanh_derivative(x: float, y: float) -> float:
    s = sigmoid(x * (GELU_FIRST + GELU_THIRD * x * x))
    return s + y * (1.0 - s) * (GELU_FIRST + 3.0 * GELU_THIRD * x * x)


def selu(x: float) -> float:
    return SELU_SCALE * (SELU_ALPHA * expm1(x) if x <= 0.0 else x)


def selu_derivative(x: float, y: float) -> float:
    return SELU_SCALE * (SELU_ALPHA * exp(x) if x <= 0.0 else 1.0)


def mish(x: float) -> float:
    return x * tanh(softplus(x))


def mish_derivative(x: float, y: float) -> float:
    t = tanh(softplus(x))
    return t + x * sigmoid(x) * (1.0 - t * t)


def hard_sigmoid(x: float) -> float:
    return 0.0 if x <= -3.0 else (1.0 if x >= 3.0 else x / 6.0 + 0.5)


def hard_sigmoid_derivative(x: float, y: float) -> float:
    return 0.0 if x <= -3.0 else (0.0 if x >= 3.0 else 1.0 / 6.0)


def hard_swish(x: float) -> float:
    return x * hard_sigmoid(x)


def hard_swish_derivative(x: float, y: float) -> float:
    return 0.0 if x <= -3.0 else (1.0 if x >= 3.0 else x / 3.0 + 0.5)


def hard_tanh(x: float) -> float:
    return LOW if x <= LOW else (HIGH if x >= HIGH else x)


def hard_tanh_derivative(x: float, y: float) -> float:
    return 0.0 if x <= LOW else (0.0 if x >= HIGH else 1.0)


def relu6(x: float) -> float:
    return 0.0 if x <= 0.0 else (6.0 if x >= 6.0 else x)


def relu6_derivative(x: float, y: float) -> float:
    return 0.0 if x <= 0.0 else (0.0 if x >= 6.0 else 1.0)


def softsign(x: float) -> float:
    return x / (1.0 + abs(x))


def softsign_derivative(x: float, y: float) -> float:
    return 1.0 / ((1.0 + abs(x)) * (1.0 + abs(x)))


def log_sigmoid(x: float) -> float:
    return (x if x <= 0.0 else 0.0) - log1p(exp(-abs(x)))


def log_sigmoid_derivative(x: float, y: float) -> float:
    return sigmoid(-x)


def softshrink(x: float) -> float:
    return 0.0 if abs(x) <= LAMBD else (x + LAMBD if x < 0.0 else x - LAMBD)


def hardshrink(x: float) -> float:
    return 0.0 if abs(x) <= LAMBD else x


def shrink_derivative(x: float, y: float) -> float:
    return 0.0 if abs(x) <= LAMBD else 1.0


def exp_derivative(x: float, y: float) -> float:
    return y


def sin_derivative(x: float, y: float) -> float:
    return cos(x)


ACTIVATIONS = table(
    [
        ActivationFormula(
            "linear", linear, (linear_derivative,), limits=(-1000.0, 1000.0, 1.0, 1.0)
        ),
        ActivationFormula(
            "relu",
            relu,
            (relu_derivative,),  # derivative 0 at 0, as in PyTorch
            limits=(0.0, 1000.0, 0.0, 1.0),
            slope="(1 if z > 0, else 0)",
            caption="The sum of {unit} is above 0: relu lets it through.",
            zero_caption="The sum of {unit} is not above 0: relu makes it 0.",
            onnx=OnnxOperator("Relu"),
        ),
        ActivationFormula(
            "relu_right",
            relu,
            (relu_right_derivative,),  # derivative 1 at 0
            limits=(0.0, 1000.0, 0.0, 1.0),
            slope="(1 if z >= 0, else 0)",
            caption="The sum of {unit} is above 0: relu lets it through.",
            zero_caption="The sum of {unit} is not above 0: relu makes it 0.",
            onnx=OnnxOperator("Relu"),
        ),
        ActivationFormula(
            "leaky_relu",
            leaky_relu,
            (leaky_relu_derivative,),
            limits=(-10.0, 1000.0, LEAK, 1.0),
            slope="(1 if z > 0, else 0.01)",
            onnx=OnnxOperator("LeakyRelu", {"alpha": (LEAK, 0.01)}),
        ),
        ActivationFormula(
            "elu",
            elu,
            (elu_derivative,),
            limits=(-1.0, 1000.0, 0.0, 1.0),
            slope="(1 if z > 0, else e^z)",
            onnx=OnnxOperator("Elu", {"alpha": (1.0, 1.0)}),
        ),
        ActivationFormula(
            "sigmoid",
            sigmoid,
            (sigmoid_derivative,),
            limits=(0.0, 1.0, 0.0, 0.0),
            slope="a (1 - a)",
            caption="{unit}: sigmoid squeezes it between 0 and 1.",
            onnx=OnnxOperator("Sigmoid"),
        ),
        ActivationFormula(
            "tanh",
            tanh,
            (tanh_derivative,),
            limits=(-1.0, 1.0, 0.0, 0.0),
            slope="(1 - a^2)",
            caption="{unit}: tanh squeezes it between -1 and 1.",
            onnx=OnnxOperator("Tanh"),
        ),
        ActivationFormula(
            "softplus",
            softplus,
            (softplus_derivative,),
            limits=(0.0, 1000.0, 0.0, 1.0),
            slope="sigmoid(z)",
            onnx=OnnxOperator("Softplus"),
        ),
        ActivationFormula(
            "swish",
            swish,
            (swish_derivative,),
            limits=(0.0, 1000.0, 0.0, 1.0),
            onnx=OnnxOperator("Swish", {"alpha": (1.0, 1.0)}, gate="Sigmoid"),
        ),
        ActivationFormula(
            "gelu",
            gelu,
            (gelu_derivative,),
            limits=(0.0, 1000.0, 0.0, 1.0),
            onnx=OnnxOperator("Gelu", {"approximate": ("none", "none")}),
        ),
        ActivationFormula(
            "gelu_tanh",
            gelu_tanh,
            (gelu_tanh_derivative,),
            limits=(0.0, 1000.0, 0.0, 1.0),
            onnx=OnnxOperator("Gelu", {"approximate": ("tanh", "none")}),
        ),
        ActivationFormula(
            "selu",
            selu,
            (selu_derivative,),
            limits=(-SELU_SCALE * SELU_ALPHA, 1000.0 * SELU_SCALE, 0.0, SELU_SCALE),
            onnx=OnnxOperator(
                "Selu",
                {"alpha": (SELU_ALPHA, SELU_ALPHA), "gamma": (SELU_SCALE, SELU_SCALE)},
            ),
        ),
        ActivationFormula(
            "celu",
            celu,
            (celu_derivative,),
            limits=(-1.0, 1000.0, 0.0, 1.0),
            slope="(1 if z > 0, else e^z)",
            onnx=OnnxOperator("Celu", {"alpha": (1.0, 1.0)}),
        ),
        ActivationFormula(
            "mish",
            mish,
            (mish_derivative,),
            limits=(0.0, 1000.0, 0.0, 1.0),
            onnx=OnnxOperator("Mish"),
        ),
        ActivationFormula(
            "hard_sigmoid",
            hard_sigmoid,
            (hard_sigmoid_derivative,),
            limits=(0.0, 1.0, 0.0, 0.0),
            onnx=OnnxOperator("HardSigmoid", {"alpha": (1.0 / 6.0, 0.2), "beta": (0.5, 0.5)}),
        ),
        ActivationFormula(
            "hard_swish",
            hard_swish,
            (hard_swish_derivative,),
            limits=(0.0, 1000.0, 0.0, 1.0),
            onnx=OnnxOperator("HardSwish"),
        ),
        ActivationFormula(
            "hard_tanh",
            hard_tanh,
            (hard_tanh_derivative,),
            limits=(-1.0, 1.0, 0.0, 0.0),
            onnx=OnnxOperator("Clip", inputs=(-1.0, 1.0)),
        ),
        ActivationFormula(
            "relu6",
            relu6,
            (relu6_derivative,),
            limits=(0.0, 6.0, 0.0, 0.0),
            onnx=OnnxOperator("Clip", inputs=(0.0, 6.0)),
        ),
        ActivationFormula(
            "softsign",
            softsign,
            (softsign_derivative,),
            limits=(-1000.0 / 1001.0, 1000.0 / 1001.0, 1001.0**-2, 1001.0**-2),
            onnx=OnnxOperator("Softsign"),
        ),
        ActivationFormula(
            "log_sigmoid",
            log_sigmoid,
            (log_sigmoid_derivative,),
            limits=(-1000.0, 0.0, 1.0, 0.0),
            onnx=OnnxOperator("Softplus", around=(("Neg", ()), ("Neg", ()))),
        ),
        ActivationFormula(
            "softshrink",
            softshrink,
            (shrink_derivative,),
            limits=(-999.5, 999.5, 1.0, 1.0),
            onnx=OnnxOperator("Shrink", {"lambd": (LAMBD, 0.5), "bias": (LAMBD, 0.0)}),
        ),
        ActivationFormula(
            "hardshrink",
            hardshrink,
            (shrink_derivative,),
            limits=(-1000.0, 1000.0, 1.0, 1.0),
            onnx=OnnxOperator("Shrink", {"lambd": (LAMBD, 0.5)}),
        ),
        ActivationFormula(
            "exp",
            exp,
            (exp_derivative,),
            limits=(0.0, INFINITY, 0.0, INFINITY),
            slope="a",
            onnx=OnnxOperator("Exp"),
        ),
        ActivationFormula(
            "sin",
            sin,
            (sin_derivative,),
            limits=(sin(-1000.0), sin(1000.0), cos(-1000.0), cos(1000.0)),
            slope="cos(z)",
            onnx=OnnxOperator("Sin"),
        ),
    ]
)


# Activations with settings, such as "leaky_relu(0.2)". Such a row is made at its first use, from
# the functions of its family with other constants, and is in the table from then on.

LEAST, MOST = 1e-30, 1e30  # limits of settings in float32
MOST_ROWS = 1000  # of ACTIVATIONS, which a file with many names would otherwise fill
LONGEST = 100  # characters of a name
WITH_SETTINGS = re.compile(r"\s*(\w+)\s*\(([^()]*)\)\s*")


# The row of ACTIVATIONS is 0 and 1 at -3 and 3, however 1/6 is rounded.
def hard_sigmoid_family(x: float) -> float:
    y = ALPHA * x + BETA
    return 0.0 if y <= 0.0 else (1.0 if y >= 1.0 else y)


def hard_sigmoid_family_derivative(x: float, y: float) -> float:
    return 0.0 if y <= 0.0 else (0.0 if y >= 1.0 else ALPHA)


@dataclass(frozen=True)
class Family:
    """Activations that differ only in their settings.

    Attributes:
        name: name of the row of `ACTIVATIONS` with the default settings
        settings: name of the constant in the functions, and default value, of each setting
        allowed: description of the valid settings, and a function that checks them
        onnx: function that returns the operator for given settings; None means the operator of the
            default row with the settings as attributes
        functions: the function and its derivative, or () for the functions of the default row
    """

    name: str
    settings: tuple[tuple[str, float], ...]
    allowed: tuple[str, Callable[..., bool]] = ("a number", lambda number: True)
    onnx: Callable[..., OnnxOperator] | None = None
    functions: tuple[FloatFunction, ...] = ()


ABOVE_0 = "a number above 0", lambda number: number >= LEAST
FROM_0 = "a number of at least 0", lambda number: number >= 0.0
FAMILIES = table(
    [
        Family("leaky_relu", (("LEAK", 0.01),)),
        Family("elu", (("ALPHA", 1.0),)),
        Family("celu", (("ALPHA", 1.0),), ABOVE_0),
        Family(
            "softplus",
            (("BETA", 1.0),),
            ABOVE_0,
            lambda beta: OnnxOperator("Softplus", around=(("Mul", (beta,)), ("Div", (beta,)))),
        ),
        Family(
            "hard_sigmoid",
            (("ALPHA", 1.0 / 6.0), ("BETA", 0.5)),
            ("two numbers, the slope and the result at 0", lambda slope, result: True),
            functions=(hard_sigmoid_family, hard_sigmoid_family_derivative),
        ),
        Family(
            "hard_tanh",
            (("LOW", -1.0), ("HIGH", 1.0)),
            ("two numbers, the lower one first", lambda low, high: low < high),
            lambda low, high: OnnxOperator("Clip", inputs=(low, high)),
        ),
        Family(
            "softshrink",
            (("LAMBD", 0.5),),
            FROM_0,
            lambda lambd: OnnxOperator("Shrink", {"lambd": (lambd, 0.5), "bias": (lambd, 0.0)}),
        ),
        Family("hardshrink", (("LAMBD", 0.5),), FROM_0),
    ]
)


@dataclass(frozen=True, slots=True)
class WithSettings(ActivationFormula):
    """An activation with settings, created on first use; pickles and copies store its name."""

    def __reduce__(self) -> tuple[Any, ...]:
        return activation_row, (self.name,)


def activation_row(name: object) -> ActivationFormula:
    """Return the row of an activation, with or without settings.

    Args:
        name: name of the activation, such as "relu" or "leaky_relu(0.2)"

    Raises:
        UnknownNameError: if the name is unknown.
        InputError: if the settings are invalid.
    """
    found = WITH_SETTINGS.fullmatch(name) if isinstance(name, str) and len(name) < LONGEST else None
    if found is None:
        return pick(ACTIVATIONS, name, "activation")
    family = pick(FAMILIES, found[1], "activation with settings")
    return with_settings(family, *numbers_in(family, found[2]))


def numbers_in(family: Family, text: str) -> list[float]:
    """Return the settings in a text, such as "0.2"; raise InputError if they are invalid."""
    words, fits = family.allowed
    try:
        numbers = [float(each) + 0.0 for each in text.split(",")]  # -0.0 becomes 0.0
        found = len(numbers) == len(family.settings) and fits(*numbers)
    except ValueError:
        found = False
    if not found or not all(abs(number) <= MOST for number in numbers):  # also true for NaN
        usual = ", ".join(written(value) for _, value in family.settings)
        raise InputError(
            f"{family.name} cannot have the settings {shorten(text)}: it takes {words}, "
            f"such as {family.name}({usual})"
        )
    return numbers


def written(number: float) -> str:
    """Return the shortest text that represents a number."""
    return repr(number).removesuffix(".0").replace("e+", "e")


def with_settings(family: Family, *numbers: float) -> ActivationFormula:
    """Return the row of `ACTIVATIONS` with these settings, which is created on first use."""
    usual = ACTIVATIONS[family.name]
    if numbers == tuple(value for _, value in family.settings):
        return usual
    name = f"{family.name}({','.join(map(written, numbers))})"
    if name not in ACTIVATIONS:
        require(
            len(ACTIVATIONS) < MOST_ROWS,
            f"there are {MOST_ROWS:,} activations already, too many for {name}",
        )
        functions = family.functions or (usual.value, usual.derivative)
        constants = dict(zip(dict(family.settings), numbers, strict=True))
        value, derivative = (with_constants(each, constants) for each in functions)
        low, high = value(-1000.0), value(1000.0)
        limits = low, high, derivative(-1000.0, low), derivative(1000.0, high)
        onnx = family.onnx(*numbers) if family.onnx else with_attributes(usual.onnx, numbers)
        ACTIVATIONS[name] = WithSettings(name, value, (derivative,), limits=limits, onnx=onnx)
    return ACTIVATIONS[name]


def with_constants(function: Any, constants: dict[str, float]) -> FloatFunction:
    """Return a copy of a function in which some global constants have other values."""
    known, code = function.__globals__ | constants, function.__code__
    used = {key: known[key] for key in ("__name__", *code.co_names) if key in known}
    return copy_of(function, used)


def with_attributes(usual: OnnxOperator | None, numbers: tuple[float, ...]) -> OnnxOperator:
    """Return an ONNX operator with these attribute values."""
    assert usual is not None
    given = zip(usual.attributes.items(), numbers, strict=True)
    attributes = {key: (number, default) for (key, (_, default)), number in given}
    return OnnxOperator(usual.name, attributes)
