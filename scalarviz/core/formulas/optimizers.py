"""The optimizers: how one weight w moves, given its gradient g.

An update is called with w, g, the optimizer's own numbers for this weight (its slots: the velocity,
or Adam's m and v), the learning rate, its settings, and constants that are the same for all weights
in one step; it returns the new w and the new slots. The constants are computed once a step, always
in float64: 1 - .999 in float32 would be wrong in the fifth digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scalarviz.core.formulas.elementary import power, sqrt
from scalarviz.core.formulas.table import table

UpdateFunction = Callable[..., tuple[float, ...]]


def no_constants(step: float, *settings: float) -> tuple[float, ...]:
    return ()


def sgd(w: float, g: float, lr: float) -> tuple[float]:
    return (w - lr * g,)


def momentum(
    w: float, g: float, velocity: float, lr: float, momentum: float
) -> tuple[float, float]:
    velocity = momentum * velocity + g
    return w - lr * velocity, velocity


def nesterov(
    w: float, g: float, velocity: float, lr: float, momentum: float
) -> tuple[float, float]:
    velocity = momentum * velocity + g
    return w - lr * (g + momentum * velocity), velocity


def rmsprop_constants(step: float, alpha: float, eps: float) -> tuple[float]:
    return (1.0 - alpha,)


def rmsprop(
    w: float, g: float, square: float, lr: float, alpha: float, eps: float, fresh: float
) -> tuple[float, float]:
    square = alpha * square + fresh * g * g
    return w - lr * g / (sqrt(square) + eps), square


def adam_constants(
    step: float, beta1: float, beta2: float, eps: float
) -> tuple[float, float, float, float]:
    return 1.0 - beta1, 1.0 - beta2, 1.0 - power(beta1, step), 1.0 - power(beta2, step)


def adam(
    w: float, g: float, m: float, v: float,
    lr: float, beta1: float, beta2: float, eps: float,
    fresh1: float, fresh2: float, correction1: float, correction2: float,
) -> tuple[float, float, float]:  # fmt: skip
    m = beta1 * m + fresh1 * g
    v = beta2 * v + fresh2 * g * g
    return w - lr * (m / correction1) / (sqrt(v / correction2) + eps), m, v


def adamw_constants(
    step: float, beta1: float, beta2: float, eps: float, decay: float
) -> tuple[float, float, float, float]:
    return 1.0 - beta1, 1.0 - beta2, 1.0 - power(beta1, step), 1.0 - power(beta2, step)


def adamw(
    w: float, g: float, m: float, v: float,
    lr: float, beta1: float, beta2: float, eps: float, decay: float,
    fresh1: float, fresh2: float, correction1: float, correction2: float,
) -> tuple[float, float, float]:  # fmt: skip
    w = w - lr * decay * w
    return adam(w, g, m, v, lr, beta1, beta2, eps, fresh1, fresh2, correction1, correction2)


def clip(g: float, scale: float, limit: float) -> float:
    """Scale a gradient, so that the norm of all fits, then limit it to +-limit."""
    g = g * scale
    return -limit if g < -limit else (limit if g > limit else g)


def regularize(g: float, w: float, l1: float, l2: float) -> float:
    """Add the gradient of l1 * |w| + l2 / 2 * w * w to a gradient."""
    return g + l2 * w + l1 * (1.0 if w > 0.0 else (-1.0 if w < 0.0 else 0.0))


@dataclass(frozen=True, slots=True)
class OptimizerRow:
    """An update, the names of its slots, defaults of its settings, the constants of a step.

    `digest` is a hash of the source of an optimizer of the user's own, else "".
    """

    name: str
    update: UpdateFunction
    slots: tuple[str, ...] = ()
    settings: tuple[tuple[str, float], ...] = ()
    constants: Callable[..., tuple[float, ...]] = no_constants
    digest: str = ""


MOMENTUM = (("momentum", 0.9),)
ADAM = (("beta1", 0.9), ("beta2", 0.999), ("eps", 1e-8))

OPTIMIZERS = table(
    [
        OptimizerRow("sgd", sgd),
        OptimizerRow("momentum", momentum, ("velocity",), MOMENTUM),
        OptimizerRow("nesterov", nesterov, ("velocity",), MOMENTUM),
        OptimizerRow(
            "rmsprop", rmsprop, ("square",), (("alpha", 0.99), ("eps", 1e-8)), rmsprop_constants
        ),
        OptimizerRow("adam", adam, ("m", "v"), ADAM, adam_constants),
        OptimizerRow("adamw", adamw, ("m", "v"), (*ADAM, ("decay", 0.01)), adamw_constants),
    ]
)
