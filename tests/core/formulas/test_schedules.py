"""Schedules: the factor of the learning rate at each step, and errors."""

import pytest

import scalarviz as sv
from scalarviz.core.formulas.optimizers import SCHEDULES
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused


def factors(schedule: sv.Schedule, *steps: int) -> list[float]:
    return [schedule.factor(step) for step in steps]


def test_cosine_falls_smoothly_to_its_floor_and_stays() -> None:
    cosine = sv.Schedule("cosine", steps=100, floor=0.2)
    assert factors(cosine, 0, 50, 100, 1000) == pytest.approx([1.0, 0.6, 0.2, 0.2])
    falling = factors(cosine, *range(101))
    assert falling == sorted(falling, reverse=True)


def test_warmup_rises_in_a_line_and_then_follows_the_cosine() -> None:
    warm = sv.Schedule("warmup_cosine", warmup=4, steps=104)
    assert factors(warm, 0, 1, 3, 4, 54, 104, 200) == pytest.approx(
        [0.25, 0.5, 1.0, 1.0, 0.5, 0.0, 0.0], abs=1e-12
    )


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_factor_leaves_the_range_from_0_to_1(name: str) -> None:
    settings = {"every": 7.0, "steps": 30.0, "warmup": 5.0}
    known = dict(SCHEDULES[name].settings)
    schedule = sv.Schedule(name, **{k: v for k, v in settings.items() if k in known})
    assert all(0.0 <= factor <= 1.0 for factor in factors(schedule, *range(60)))


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"name": "cosine"}, "steps="),
        ({"name": "cosine", "steps": 0}, "steps=0"),
        ({"name": "warmup_cosine", "warmup": 10, "steps": 10}, "warmup=10"),
        ({"name": "step", "every": 10, "factor": -1}, "-1"),
    ],
)
def test_a_bad_setting_is_refused(arguments: dict[str, object], value: str) -> None:
    with refused(InputError, value):
        sv.Schedule(**arguments)  # type: ignore[arg-type]  # on purpose


def test_an_unknown_name_is_refused() -> None:
    with refused(UnknownNameError, "'cosin'"):
        sv.Schedule("cosin", steps=10)
    with refused(UnknownNameError, "'step'"):
        sv.Schedule("cosine", step=10)  # type: ignore[call-arg]  # on purpose
    with refused(UnknownNameError, "'every'"):
        sv.Schedule("cosine", every=10)
