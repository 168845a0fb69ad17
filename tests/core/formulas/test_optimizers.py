"""Optimizers, schedules, initializers, and the random generator that they draw from."""

import math
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES, clip, regularize
from scalarviz.core.formulas.randomness import check_seed, philox, shuffled, unit_pairs
from scalarviz.core.optimizer import NAMED, Optimizer
from scalarviz.errors import GradientError, InputError, UnknownNameError
from scalarviz.files.run_settings import build_optimizer, describe_optimizer
from tests.wording import refused

ALL = [getattr(sv, kind.__name__) for kind in NAMED.values()]
every_optimizer = pytest.mark.parametrize("make", ALL)


def bank_with(grads: list[float], values: list[float] | None = None) -> sv.Bank:
    bank = sv.Bank(len(grads), "float64")
    bank.value[:] = values or [1.0] * len(grads)
    bank.grad[:] = grads
    return bank


def step(
    optimizer: Optimizer, grads: list[float], values: list[float] | None = None
) -> list[float]:
    bank = bank_with(grads, values)
    before = bank.value.copy()
    bank.step(optimizer, slice(None))
    return (before - bank.value).tolist()


def test_every_row_has_its_class() -> None:
    assert set(NAMED) == set(OPTIMIZERS), "each has a class in core/optimizer.py, in NAMED"


@every_optimizer
def test_steps_in_float32_follow_those_in_float64(
    make: type[Optimizer], rng: np.random.Generator
) -> None:
    banks = [sv.Bank(50, dtype) for dtype in ("float32", "float64")]
    for _ in range(20):
        grads = rng.normal(size=50).astype(np.float32)
        for bank in banks:
            bank.grad[:] = grads
            bank.step(make(0.01), slice(None))
    single, double = [bank.value for bank in banks]
    assert single == pytest.approx(double, rel=1e-5, abs=1e-6)


def test_clip_norm_looks_at_moving_weights_only() -> None:
    bank = bank_with([3.0, 1000.0])
    bank.frozen[1] = True
    bank.step(sv.SGD(1.0, clip_norm=3.0), slice(None))
    assert bank.value.tolist() == pytest.approx([-2.0, 1.0], rel=1e-5)


@pytest.mark.parametrize("w", [-2.0, 0.5])
def test_regularization_is_the_gradient_of_its_penalty(w: float) -> None:
    def penalty(w: float) -> float:
        return 0.3 * abs(w) + 0.7 / 2 * w * w

    h = 1e-6
    slope = (penalty(w + h) - penalty(w - h)) / (2 * h)
    assert regularize(0.0, w, 0.3, 0.7) == pytest.approx(slope)
    assert regularize(0.0, 0.0, 0.3, 0.7) == 0.0


def test_regularization_comes_after_clipping() -> None:
    optimizer = sv.SGD(1.0, clip_value=0.5, l1=0.1, l2=2.0)
    assert step(optimizer, [9.0], [3.0]) == pytest.approx([clip(9.0, 1.0, 0.5) + 0.1 + 6.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_bad_gradient_is_refused_by_name_before_anything_changes(bad: float) -> None:
    net = sv.Network([2, 3, 1], seed=1)
    net.train_step([0.5, 0.5], [1.0], "mse", sv.Adam(0.1))
    net.bank.grad[7] = bad
    before = net.bank.value.copy(), net.bank.slots["m"].copy(), net.bank.step_count
    refused(GradientError, "layer 0, perceptron 1, bias").by(net.step, sv.Adam(0.1))
    assert (net.bank.value == before[0]).all()
    assert (net.bank.slots["m"] == before[1]).all()
    assert net.bank.step_count == before[2]


def test_a_bad_gradient_counts_as_0_on_request() -> None:
    assert step(sv.SGD(1.0, not_finite="zero"), [math.nan, math.inf, 0.25]) == [0.0, 0.0, 0.25]


@pytest.mark.parametrize(
    ("make", "settings", "error", "value"),
    [
        (sv.Adam, {"lr": -1.0}, InputError, "-1.0"),
        (sv.Adam, {"lr": "fast"}, InputError, "'fast'"),
        (sv.Adam, {"lr": math.nan}, InputError, "nan"),
        (sv.Adam, {"beta2": 1.0}, InputError, "beta2"),
        (sv.Adam, {"eps": 0.0}, InputError, "eps"),
        (sv.Adam, {"clip_norm": 0.0}, InputError, "0.0"),
        (sv.Adam, {"l2": -0.1}, InputError, "-0.1"),
        (sv.SGD, {"lr": 0.1, "clip_nrm": 1.0}, UnknownNameError, "'clip_nrm'"),
        (sv.SGD, {"lr": 0.1, "not_finite": "skip"}, UnknownNameError, "'skip'"),
        (sv.Schedule, {"name": "cosine"}, InputError, "steps="),
        (sv.Schedule, {"name": "cosine", "steps": 0}, InputError, "steps=0"),
        (
            sv.Schedule,
            {"name": "warmup_cosine", "warmup": 10, "steps": 10},
            InputError,
            "warmup=10",
        ),
        (sv.Schedule, {"name": "step", "every": 10, "factor": -1}, InputError, "-1"),
        (sv.Schedule, {"name": "constant", "steps": 5}, UnknownNameError, "'steps'"),
        (sv.Schedule, {"name": "cosin", "steps": 10}, UnknownNameError, "'cosin'"),
        (sv.Schedule, {"name": "cosine", "step": 10}, UnknownNameError, "'step'"),
        (sv.Schedule, {"name": "cosine", "every": 10}, UnknownNameError, "'every'"),
        (sv.Network, {"layers": [2, 2], "init": "he_unifrm"}, UnknownNameError, "'he_unifrm'"),
        (sv.Init, {"name": "uniform", "hi": 2.0}, UnknownNameError, "'hi'"),
        (sv.Init, {"name": "uniform", "mean": 2.0}, UnknownNameError, "'mean'"),
        (sv.Init, {"name": "he_uniform", "bias": "fan"}, UnknownNameError, "'fan'"),
        (sv.Init, {"name": "uniform", "low": 2.0, "high": 1.0}, InputError, "low=2"),
        (sv.Init, {"name": "normal", "deviation": -1.0}, InputError, "deviation=-1"),
    ],
)
def test_a_bad_setting_is_refused(
    make: Any, settings: dict[str, Any], error: type[Exception], value: str
) -> None:
    refused(error, value).by(make, **settings)


def test_an_optimizer_prints_what_was_chosen() -> None:
    assert repr(sv.Momentum(0.1, l2=1e-4)) == "Momentum(lr=0.1, momentum=0.9, l2=0.0001)"


@pytest.mark.parametrize("bad", ["cosine", 3, sv.Schedule])
def test_a_schedule_must_be_one(bad: object) -> None:
    refused(InputError, bad).by(sv.SGD, 0.1, schedule=bad)
    optimizer = sv.SGD(0.1)
    refused(InputError, bad).by(setattr, optimizer, "schedule", bad)
    assert optimizer.schedule.name == "constant"


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


@pytest.mark.parametrize(
    ("total", "settings"),
    [(10, {}), (300, {}), (999, {"warmup": 60, "factor": 0.1, "floor": 1e-3})],
)
def test_one_cycle_is_that_of_pytorch_at_every_step(total: int, settings: dict[str, float]) -> None:
    torch = pytest.importorskip("torch", reason="compares with PyTorch")
    share, start = settings.get("warmup", 0.3 * total) / total, settings.get("factor", 0.04)
    rule = torch.optim.SGD([torch.zeros(1)], 1.0)
    divisor = start / settings.get("floor", 4e-6)
    more = {"div_factor": 1.0 / start, "final_div_factor": divisor, "cycle_momentum": False}
    rates = torch.optim.lr_scheduler.OneCycleLR(rule, 1.0, total, pct_start=share, **more)
    schedule = sv.Schedule("one_cycle", steps=total, **settings)
    for step in range(total):
        assert schedule.factor(step) == pytest.approx(rates.get_last_lr()[0], abs=1e-12, rel=0)
        rule.step()
        if step < total - 1:
            rates.step()


def test_a_kept_one_cycle_has_the_steps_that_it_had() -> None:
    made = describe_optimizer(sv.SGD(0.1, schedule=sv.Schedule("one_cycle", steps=10)))
    assert factors(build_optimizer(made).schedule, 2, 3, 9)[::2] == [1.0, 4e-6]
    del made["schedule"]["settings"]["first"]
    assert factors(build_optimizer(made).schedule, 2, 3, 9, 10)[1::2] == [1.0, 4e-6]


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_factor_leaves_the_range_from_0_to_1(name: str) -> None:
    settings = {"every": 7.0, "steps": 30.0, "warmup": 5.0}
    known = dict(SCHEDULES[name].settings)
    schedule = sv.Schedule(name, **{k: v for k, v in settings.items() if k in known})
    assert all(0.0 <= factor <= 1.0 for factor in factors(schedule, *range(60)))


# For a layer 30 -> 20: the high of a uniform distribution. PyTorch has all: test_against_pytorch.
UNIFORM = {
    "pytorch": math.sqrt(1 / 30),
    "xavier_uniform": math.sqrt(6 / 50),
    "he_uniform": math.sqrt(6 / 30),
    "lecun_uniform": math.sqrt(3 / 30),
    "uniform": 1.0,
}


def draw(init: str | sv.Init) -> tuple[np.ndarray, np.ndarray]:
    """The weights and biases of a layer 30 -> 20."""
    bank = sv.Network([30, 20], init=init, dtype="float64").bank
    return bank.value[:600], bank.value[600:]


@pytest.mark.parametrize("name", UNIFORM)
def test_a_uniform_row_fills_its_range(name: str) -> None:
    weights, _ = draw(name)
    bound = UNIFORM[name]
    assert abs(weights).max() <= bound
    assert weights.max() > 0.98 * bound
    assert weights.min() < -0.98 * bound
    assert weights.std() == pytest.approx(bound / math.sqrt(3), rel=0.06)


@pytest.mark.parametrize(
    ("init", "bound"),
    [
        ("pytorch", math.sqrt(1 / 30)),
        ("uniform", 1.0),
        (sv.Init("xavier_uniform", bias="fan_out"), math.sqrt(6 / 20)),  # neural shading
        (sv.Init("he_uniform", bias="fan_out"), math.sqrt(6 / 20)),  # the array network
        (sv.Init("he_uniform", bias="fan_in"), math.sqrt(1 / 30)),
        ("he_uniform", 0.0),
        ("normal", 0.0),
    ],
)
def test_the_biases_are_drawn_as_stated(init: str | sv.Init, bound: float) -> None:
    _, biases = draw(init)
    assert abs(biases).max() <= bound
    assert abs(biases).max() >= 0.8 * bound


def test_settings_move_the_distribution() -> None:
    weights, biases = draw(sv.Init("uniform", low=0.0, high=1.0, bias="zeros"))
    assert weights.min() > 0.0 and weights.max() < 1.0
    assert not biases.any()


# Published with the generator (Random123's known-answer tests).
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_it_is_philox(counter: str, key: str, result: str) -> None:
    assert list(philox(*words(counter), *words(key))) == words(result)


def test_arrays_give_the_same_words_as_integers() -> None:
    index = np.arange(1000, dtype=np.int64) * 4_294_967  # up to 2**32
    on_array = philox(index, 5, 6, 7, 8, 2**32 - 1)
    for i in (0, 1, 999):
        assert [int(word[i]) for word in on_array] == list(
            philox(int(index[i]), 5, 6, 7, 8, 2**32 - 1)
        )


def test_a_draw_depends_on_its_number_alone() -> None:
    whole, _ = unit_pairs(3, 0, 0, 0, 100)
    part, _ = unit_pairs(3, 0, 0, 40, 10)
    assert (whole[40:50] == part).all()


def test_the_draws_are_uniform_and_independent() -> None:
    u, v = unit_pairs(0, 0, 0, 0, 100_000)
    counts = np.histogram(u, 100, (0.0, 1.0))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 160  # chi-square, 99 degrees: .01% above
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.015
    assert u.min() > 0.0 and u.max() < 1.0


def test_normal_draws_have_their_mean_and_deviation() -> None:
    init = Init("normal", mean=2.0, deviation=0.5)
    draws = init.draw(init.weight, (3, 4), 0, 0, 100_000)
    assert draws.mean() == pytest.approx(2.0, abs=0.01)
    assert draws.std() == pytest.approx(0.5, abs=0.01)
    assert ((draws > 1.5) & (draws < 2.5)).mean() == pytest.approx(0.6827, abs=0.01)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "0", None, True])
def test_a_seed_must_be_an_integer_of_64_bits(seed: object) -> None:
    refused(InputError, seed).by(check_seed, seed)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 100, 1000, 1025])
def test_shuffling_visits_every_sample_once(count: int) -> None:
    places = np.arange(count)
    for epoch in range(5):
        order = shuffled(3, epoch, places, count)
        assert sorted(order) == list(places)
        assert (shuffled(3, epoch, places[-3:], count) == order[-3:]).all()


def test_a_sample_comes_anywhere_and_says_nothing_about_its_neighbour() -> None:
    orders = np.array([shuffled(1, epoch, np.arange(100), 100) for epoch in range(2000)])
    gaps = np.bincount((orders[:, 1] - orders[:, 0]) % 100, minlength=100)[1:]
    for counts in (np.bincount(orders[:, 0], minlength=100), gaps):
        expected = 2000 / len(counts)
        assert ((counts - expected) ** 2 / expected).sum() < 170  # chi-square: under .01% above


def test_three_samples_come_in_all_orders() -> None:
    orders = [tuple(shuffled(0, epoch, np.arange(3), 3)) for epoch in range(3000)]
    assert all(400 < orders.count(order) < 600 for order in set(orders))
    assert len(set(orders)) == 6
