"""The schedules: factors of the learning rate at each step.

`step` counts the steps already taken: the first one is step 0. Setting `optimizer.lr` ends the
schedule; the new rate holds from the next step on.
"""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.base.checks import answered, number
from scalarviz.core.formulas.elementary import cos, pi, power
from scalarviz.core.formulas.settings import given
from scalarviz.core.formulas.table import FloatFunction, pick, table
from scalarviz.errors import InputError


def constant(step: float) -> float:
    return 1.0


def staircase(step: float, every: float, factor: float) -> float:
    return power(factor, step // every)


def cosine(step: float, steps: float, floor: float) -> float:
    if step >= steps:
        return floor
    return floor + (1.0 - floor) * (0.5 + 0.5 * cos(pi * step / steps))


def warmup_cosine(step: float, warmup: float, steps: float, floor: float) -> float:
    if step < warmup:
        return (step + 1.0) / warmup
    return cosine(step - warmup, steps - warmup, floor)


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """The factor at a step, and its settings with their defaults (None: required)."""

    name: str
    factor: FloatFunction
    settings: tuple[tuple[str, float | None], ...] = ()


SCHEDULES = table(
    [
        ScheduleRow("constant", constant),
        ScheduleRow("step", staircase, (("every", None), ("factor", 0.1))),
        ScheduleRow("cosine", cosine, (("steps", None), ("floor", 0.0))),
        ScheduleRow(
            "warmup_cosine", warmup_cosine, (("warmup", None), ("steps", None), ("floor", 0.0))
        ),
    ]
)


class Schedule:
    """The learning rate over the steps, as a factor: `Schedule("cosine", steps=10_000)`.

    name    "constant", the default: always 1
            "step": multiplied by `factor` after `every` steps
            "cosine": half a cosine from 1 down to `floor`, reached after `steps` steps
            "warmup_cosine": linear up over `warmup` steps, then the cosine, which ends after
            `steps` steps
    every   number of steps, at least 1
    factor  at least 0; by default 0.1
    steps   number of steps, at least 1
    warmup  number of steps, at least 1 and less than `steps`
    floor   share of the rate, at least 0; by default 0.0

    Raises UnknownNameError for a setting of another schedule, InputError for one that is missing or
    bad.

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
    ) -> None:
        self.row = pick(SCHEDULES, name, "schedule")
        known = dict(self.row.settings)
        settings = given(every=every, factor=factor, steps=steps, warmup=warmup, floor=floor)
        for setting in settings:
            pick(known, setting, f"setting of the schedule {name!r}:")
        for setting, default in known.items():
            if default is None and setting not in settings:
                raise InputError(f"the schedule {name!r} needs {setting}=: give it a number")
        self.settings: dict[str, float] = {
            key: number(settings.get(key, default), f"{key} of the schedule {name!r}", 0.0)
            for key, default in known.items()
        }
        if any(self.settings.get(key, 1.0) < 1.0 for key in ("every", "steps", "warmup")):
            raise InputError(f"every, warmup and steps must be at least 1 in {self!r}")
        if self.settings.get("warmup", 0.0) >= self.settings.get("steps", float("inf")):
            raise InputError(f"warmup must be shorter than steps in {self!r}")

    @property
    def name(self) -> str:
        return self.row.name

    def factor(self, step: int) -> float:
        """Return the factor of the learning rate at `step`, counted from 0."""
        return self.row.factor(float(step), *self.settings.values())

    def __repr__(self) -> str:
        settings = "".join(f", {key}={value:g}" for key, value in self.settings.items())
        return f"Schedule({self.name!r}{settings})"
