"""An activation added before the package reads its table; pytest loads this file as a plugin.

It is added only where WITH_ERF is set: pytest also imports this file to look for doctests.
"""

import os

from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula, OnnxOperator
from scalarviz.core.formulas.elementary import erfc, exp, pi, sqrt

TWO_OVER_SQRT_PI = 2.0 / sqrt(pi)


def erf(x: float) -> float:
    return 1.0 - erfc(x)


def erf_derivative(x: float, y: float) -> float:
    return TWO_OVER_SQRT_PI * exp(-x * x)


if os.environ.get("WITH_ERF"):
    ACTIVATIONS["erf"] = ActivationFormula(
        "erf",
        erf,
        (erf_derivative,),
        limits=(-1.0, 1.0, 0.0, 0.0),
        slope="1.12838 * exp(-z^2)",
        caption="erf is almost tanh.",
        onnx=OnnxOperator("Erf"),
    )
