"""An activation added before the package reads its table; pytest loads this file as a plugin.

It is added only where WITH_MISH is set: pytest also imports this file to look for doctests.
"""

import os

from scalarviz.core.formulas.activations import (
    ACTIVATIONS,
    ActivationFormula,
    OnnxOperator,
    sigmoid,
    softplus,
)
from scalarviz.core.formulas.elementary import tanh


def mish(x: float) -> float:
    return x * tanh(softplus(x))


def mish_derivative(x: float, y: float) -> float:
    t = tanh(softplus(x))
    return t + x * sigmoid(x) * (1.0 - t * t)


if os.environ.get("WITH_MISH"):
    ACTIVATIONS["mish"] = ActivationFormula(
        "mish",
        mish,
        (mish_derivative,),
        limits=(0.0, 1000.0, 0.0, 1.0),
        slope="(tanh(softplus(z)) + z * sigmoid(z) * (1 - tanh(softplus(z))^2))",
        caption="mish is almost relu.",
        onnx=OnnxOperator("Mish"),
    )
