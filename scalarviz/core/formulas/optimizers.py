"""Formulas of optimizers: the update of one weight w, given its gradient g and learning rate.

An update is called with w, g, the slots of this weight (the velocity, or Adam's m and v), the
learning rate, the settings, and constants shared by all weights in a step; it returns the new w and
the new slots. The constants are computed once per step, always in float64: 1 - .999 in float32
would be wrong in the fifth digit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scalarviz.base.checks import answered, number, require
from scalarviz.core.formulas.elementary import cos, pi, power, sqrt
from scalarviz.core.formulas.formula import FloatFunction, given, pick, table
from scalarviz.errors import InputError

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
    """Multiply a gradient by `scale`, the factor for the norm, and limit it to +-limit."""
    g = g * scale
    return -limit if g < -limit else (limit if g > limit else g)


def regularize(g: float, w: float, l1: float, l2: float) -> float:
    """Add the derivative of the penalties l1 * |w| + l2 / 2 * w * w to a gradient."""
    return g + l2 * w + l1 * (1.0 if w > 0.0 else (-1.0 if w < 0.0 else 0.0))


@dataclass(frozen=True, slots=True)
class OptimizerRow:
    """An update, its slot names, its default settings, and the constants of a step.

    `digest` is a hash of the source of a custom optimizer, otherwise "".
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


# Schedules: factors of the learning rate at each step. `step` is the number of steps taken, so the
# first is 0. Setting `optimizer.lr` ends the schedule; the new rate applies from the next step.


def constant(step: float) -> float:
    return 1.0


def staircase(step: float, every: float, factor: float) -> float:
    return power(factor, step // every)


def linear(step: float, steps: float, floor: float) -> float:
    return floor if step >= steps else 1.0 - (1.0 - floor) * (step / steps)


def cosine(step: float, steps: float, floor: float) -> float:
    if step >= steps:
        return floor
    return floor + (1.0 - floor) * (0.5 + 0.5 * cos(pi * step / steps))


def warmup_cosine(step: float, warmup: float, steps: float, floor: float) -> float:
    if step < warmup:
        return (step + 1.0) / warmup
    return cosine(step - warmup, steps - warmup, floor)


def warmup(step: float, warmup: float) -> float:
    return 1.0 if step >= warmup else (step + 1.0) / warmup


def one_cycle(
    step: float, warmup: float, steps: float, factor: float, floor: float, first: float
) -> float:
    if step + first < warmup:
        return factor + (1.0 - factor) * (0.5 - 0.5 * cos(pi * step / (warmup - first)))
    return cosine(step + first - warmup, steps - warmup, floor)


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """A function that returns the factor at a step, and its default settings (None: required).

    `digest` is a hash of the source of a custom schedule, otherwise "".
    """

    name: str
    factor: FloatFunction
    settings: tuple[tuple[str, float | None], ...] = ()
    digest: str = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name, as custom functions cannot be pickled."""
        return schedule_called, (self.name, self.digest)

    def __deepcopy__(self, memo: object) -> ScheduleRow:
        return self


def schedule_called(name: str, digest: str) -> ScheduleRow:
    """Return the row of a pickled schedule; raise InputError if it is unknown or has changed."""
    if name in SCHEDULES and SCHEDULES[name].digest == digest:
        return SCHEDULES[name]
    raise InputError(
        f"a pickle names the schedule {name!r}, which this process lacks or has with another "
        f"source: call sv.schedule({name}) before it is loaded; workers that load it must be "
        "threads"
    )


SCHEDULES = table(
    [
        ScheduleRow("constant", constant),
        ScheduleRow("step", staircase, (("every", None), ("factor", 0.1))),
        ScheduleRow("linear", linear, (("steps", None), ("floor", 0.0))),
        ScheduleRow("cosine", cosine, (("steps", None), ("floor", 0.0))),
        ScheduleRow(
            "warmup_cosine", warmup_cosine, (("warmup", None), ("steps", None), ("floor", 0.0))
        ),
        ScheduleRow("warmup", warmup, (("warmup", None),)),
        ScheduleRow(
            "one_cycle",
            one_cycle,
            (
                ("warmup", None),
                ("steps", None),
                ("factor", 0.04),
                ("floor", 4e-6),
                ("first", 1.0),  # 0 in files without it
            ),
        ),
    ]
)


class Schedule:
    """A learning rate schedule: a factor for each step, as in `Schedule("cosine", steps=10_000)`.

    Args:
        name: "constant" (default): always 1; "step": multiplied by `factor` after every `every`
            steps; "linear": from 1 down to `floor`, reached after `steps` steps; "cosine": half a
            cosine from 1 down to `floor`, reached after `steps` steps; "warmup": linear up to 1
            over `warmup` steps; "warmup_cosine": "warmup", then half a cosine that ends after
            `steps` steps; "one_cycle": half a cosine from `factor` up to 1 at step `warmup`, then
            half a cosine down to `floor` at the last step, `steps`, like PyTorch's
            OneCycleLR(total_steps=steps)
        every: number of steps between two multiplications, at least 1
        factor: factor of the rate, at least 0; by default 0.1, for "one_cycle" 0.04
        steps: number of steps of the schedule, at least 1
        warmup: number of warmup steps, at least 1 and less than `steps`; by default 30 percent of
            `steps` for "one_cycle"; required otherwise
        floor: share of the rate, at least 0; by default 0.0, for "one_cycle" 4e-6
        first: number of the first step in "one_cycle", by default 1

    `sv.schedule` adds custom schedules. Raises UnknownNameError for a setting that the schedule
    does not have, and InputError for a missing or invalid setting.

    >>> Schedule("step", every=100, factor=0.5).factor(250)
    0.25
    """

    @answered
    def __init__(
        self,
        name: str = "constant",
        *,
        every: float | None = None,
        factor: float | None = None,
        steps: float | None = None,
        warmup: float | None = None,
        floor: float | None = None,
        first: float | None = None,
    ) -> None:
        self.row = pick(SCHEDULES, name, "schedule")
        known = dict(self.row.settings)
        settings = given(
            every=every, factor=factor, steps=steps, warmup=warmup, floor=floor, first=first
        )
        for setting in settings:
            pick(known, setting, f"setting of the schedule {name!r}:")
        if name == "one_cycle" and steps is not None:
            settings.setdefault("warmup", max(1.0, 0.3 * number(steps, "steps of a schedule")))
        for setting, default in known.items():
            require(
                default is not None or setting in settings,
                f"the schedule {name!r} needs {setting}=: give it a number",
            )
        self.settings: dict[str, float] = {
            key: number(settings.get(key, default), f"{key} of the schedule {name!r}", 0.0)
            for key, default in known.items()
        }
        require(
            all(self.settings.get(key, 1.0) >= 1.0 for key in ("every", "steps", "warmup")),
            f"every, warmup and steps must be at least 1 in {self!r}",
        )
        require(
            self.settings.get("warmup", 0.0) < self.settings.get("steps", float("inf")),
            f"warmup must be shorter than steps in {self!r}",
        )

    @property
    def name(self) -> str:
        return self.row.name

    def factor(self, step: int) -> float:
        """Return the factor of the learning rate at `step`, counted from 0."""
        return self.row.factor(float(step), *self.settings.values())

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value:g}" for key, value in self.settings.items())
        return f"Schedule({self.name!r}{settings})"
