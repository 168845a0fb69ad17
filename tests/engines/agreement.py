"""What the tests of all engines share: numbers to compute with, and how near answers must be."""

from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.optimizers import SCHEDULES
from scalarviz.core.optimizer import Optimizer

Array = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
MAKERS: dict[str, Any] = {make(0.1).name: make for make in Optimizer.__subclasses__()}


def difference(a: object, b: object) -> float:
    """The largest difference over the largest value."""
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(abs(x - y).max(initial=0.0) / max(abs(x).max(initial=0.0), 1e-30))


def numbers(*shape: int) -> Array:
    return np.random.default_rng(len(shape) + sum(shape)).normal(size=shape)


def schedule_of(name: str, **given: float) -> sv.Schedule:
    """A schedule with those of the settings that it has."""
    known = dict(SCHEDULES[name].settings)
    return sv.Schedule(name, **{k: v for k, v in given.items() if k in known})


def bits_of(bank: Any) -> list[bytes]:
    """All numbers of a bank, or of a snapshot of one."""
    slots = [bank.slots[name] for name in sorted(bank.slots)]
    return [each.tobytes() for each in (bank.value, bank.grad, bank.state, *slots)]


def banks_agree(reference: Bank, other: Bank, steps: int) -> None:
    """Two banks after so many steps, in float64."""
    assert difference(reference.value, other.value) < 1e-9
    assert difference(reference.grad, other.grad) < 1e-8
    for name, slot in reference.slots.items():
        assert difference(slot, other.slots[name]) < 1e-8
    assert reference.step_count == other.step_count == steps
    assert difference(reference.state, other.state) < 1e-9
