"""Every dispatcher, for every row of its table: compiled, it computes what it says in Python."""

import math
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.engines.codegen import dispatch
from tests.engines.agreement import MAKERS
from tests.engines.conftest import Kernels, body

# Each value, both infinities' neighbours, what is not a number, and enough to fill vectors.
POINTS = [-1000.0, 1000.0, math.nan, 0.0, *np.linspace(-6.0, 6.0, 59)]
RANDOM = np.random.default_rng(0)


def tile(rows: int, samples: int = 21) -> Any:
    return RANDOM.normal(size=(rows, samples))


@pytest.mark.some(4)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_is_the_formula_of_its_row(kernels: Kernels, name: str) -> None:
    z = np.array(POINTS)
    kernels.check("activation_forward", list(ACTIVATIONS).index(name), z, np.zeros_like(z))


@pytest.mark.some(4)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_multiplies_the_gradient(kernels: Kernels, name: str) -> None:
    z = np.array(POINTS)
    with np.errstate(all="ignore"):
        y = np.array([ACTIVATIONS[name].value(x) for x in POINTS])
    gradient = np.linspace(0.5, 2.0, len(z))
    number = list(ACTIVATIONS).index(name)
    kernels.check("activation_backward", number, z, np.minimum(y, 1e30), gradient, near=32)


SETTINGS = {
    "layer_norm": [5.0, 1e-5],
    "group_norm": [5.0, 5.0, 0.1],
    "rms_norm": [5.0, 1e-5],
    "frequency_encoding": [3.0],
    "softmax": [5.0],
    "log_softmax": [5.0],
    "spread": [6.0],
    "slice": [2.0],
    "max_pool": [1.0, 5.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.0 / 9.0],
    "attention": [1.0, 1.0, 2.0, 1.0, 0.5],
    "average_pool": [1.0, 5.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.0 / 9.0],
}


@pytest.mark.some("float32-layer_norm-row", "float32-log_softmax-row")
@pytest.mark.parametrize("rows", ["row", "all"])
@pytest.mark.parametrize("name", ROW_FORMULAS)
def test_a_row_formula_does_the_samples_that_count(kernels: Kernels, name: str, rows: str) -> None:
    if rows == "row":  # those of one row are soon compiled
        kernels = Kernels(kernels.dtype, ROW_FORMULAS[name])
    number, settings = list(ROW_FORMULAS).index(name), np.array(SETTINGS[name])
    outputs = {"frequency_encoding": 30, "spread": 30, "slice": 3, "attention": 2}.get(name, 5)
    inputs = 6 if name == "attention" else 5
    x, y, memo = tile(inputs), tile(outputs), RANDOM.normal(size=21)
    arguments = (number, x, y, memo, settings, 19)
    kernels.check("row_forward", *arguments, near=64)
    _, after, *_ = kernels.compiled("row_forward", *arguments)
    assert (after[:, 19:] == y[:, 19:].astype(kernels.dtype)).all()
    backward = (number, x, y, memo, tile(outputs), tile(inputs), settings, 19)
    kernels.check("row_backward", *backward, near=256)


@pytest.mark.some(3)
@pytest.mark.parametrize("name", [*LOSSES, *ROW_LOSSES])
def test_a_loss_adds_up_the_samples_that_count(kernels: Kernels, name: str) -> None:
    number = [*LOSSES, *ROW_LOSSES].index(name)
    kind = "scalar" if name in LOSSES else "row"
    p, t = tile(4), tile(4) ** 2
    kernels.check(f"{kind}_loss_forward", number, p, t, 19, near=64)
    kernels.check(f"{kind}_loss_backward", number, p, t, 0.25, tile(4), 19, near=64)


@pytest.mark.some(6)
@pytest.mark.parametrize(
    "optimizer",
    [make(0.1) for make in MAKERS.values()],
    ids=str,
)
@pytest.mark.parametrize("frozen", ["none", "some", "all"])
def test_an_optimizer_moves_what_is_not_frozen(
    kernels: Kernels, optimizer: sv.Optimizer, frozen: str
) -> None:
    rows = 150
    mask = {"none": np.zeros, "all": np.ones}.get(frozen, np.zeros)(rows, bool)
    if frozen == "some":
        mask[[0, 7, 8, 90, 91, 92, 149]] = True
    arguments = (
        list(OPTIMIZERS).index(optimizer.name),
        RANDOM.normal(size=rows),
        RANDOM.normal(size=rows),
        RANDOM.random((len(optimizer.row.slots), rows)),
        np.array(optimizer.arguments(3)),
        mask,
    )
    kernels.check("optimizer_update", *arguments, 3, 149, near=16)
    kernels.check("optimizer_update", *arguments, np.uint64(0), np.uint64(rows), near=16)
    value, _, slots, *_ = kernels.compiled("optimizer_update", *arguments, 3, 149)
    kept = mask | (np.arange(rows) < 3) | (np.arange(rows) >= 149)
    assert (value[kept] == arguments[1][kept].astype(kernels.dtype)).all()
    assert (slots[:, kept] == arguments[3][:, kept].astype(kernels.dtype)).all()
    assert (value[~kept] != arguments[1][~kept].astype(kernels.dtype)).all()


def test_a_slot_that_shrinks_becomes_zero(kernels: Kernels) -> None:
    tiny, adam = np.finfo(kernels.dtype).tiny, sv.Adam(0.1, 0.85)
    slots = np.array([np.full(20, 1.1 * tiny), np.ones(20)])
    slots[0, ::2] = 2.0 * tiny
    arguments = list(OPTIMIZERS).index("adam"), np.ones(20), np.zeros(20), slots
    value, _, found, *_ = kernels.compiled(
        "optimizer_update", *arguments, np.array(adam.arguments(3)), np.zeros(20, bool), 0, 20
    )
    assert (value == 1.0).all() and (found[0, ::2] > tiny).all() and not found[0, 1::2].any()


@pytest.mark.parametrize("limit", [0.5, math.inf])
def test_gradients_are_clipped_and_regularized(kernels: Kernels, limit: float) -> None:
    g, w = RANDOM.normal(size=40), RANDOM.normal(size=40)
    w[7] = 0.0
    arguments = (g, w, 0.75, limit, 0.01, 0.1, 2, 39, np.zeros(40))
    kernels.check("condition_gradients", *arguments)


SCHEDULED = [
    sv.Schedule(),
    sv.Schedule("step", every=3, factor=0.5),
    sv.Schedule("cosine", steps=10, floor=0.1),
    sv.Schedule("warmup_cosine", warmup=3, steps=10),
]


@pytest.mark.parametrize("schedule", SCHEDULED, ids=str)
def test_a_schedule_is_exact(kernels: Kernels, schedule: sv.Schedule) -> None:
    number = list(SCHEDULES).index(schedule.name)
    settings = np.array([*schedule.settings.values(), 0.0])
    for step in range(15):
        found = kernels.function("schedule_factor")(number, float(step), settings)
        assert found == schedule.factor(step), step


@pytest.mark.parametrize("optimizer", [sv.SGD(), sv.RMSProp(), sv.Adam(), sv.AdamW()], ids=str)
def test_the_constants_of_a_step_are_exact(kernels: Kernels, optimizer: sv.Optimizer) -> None:
    settings = list(optimizer.settings.values())
    for step in (1.0, 7.0, 5000.0):
        expected = optimizer.row.constants(step, *settings)
        found = np.zeros(len(expected))
        number = list(OPTIMIZERS).index(optimizer.name)
        kernels.function("optimizer_constants")(number, step, np.array([*settings, 0.0]), found)
        assert tuple(found) == expected


def test_draws_are_those_of_every_engine(kernels: Kernels) -> None:
    def same(name: str, *arguments: Any) -> Any:
        found = kernels.function(name)(*arguments)
        assert found == getattr(dispatch, name)(*arguments), name
        return found

    words = same("philox", 1, 2, 3, 4, 5, 2**32 - 1)
    same("scramble", 77, 127, 4, *words)
    u, v = same("unit", words[0]), same("unit", words[1])
    same("uniform", u, -2.0, 3.0)
    same("normal", u, v, 1.0, 2.0)


@pytest.mark.slow
@pytest.mark.usefixtures("empty_cache")  # what is cached shows no code
def test_float32_stays_float32() -> None:
    fresh = Kernels("float32")
    test_an_activation_is_the_formula_of_its_row(fresh, "tanh")
    test_an_activation_multiplies_the_gradient(fresh, "tanh")
    test_a_row_formula_does_the_samples_that_count(fresh, "layer_norm", "all")
    test_a_loss_adds_up_the_samples_that_count(fresh, "mse")
    test_an_optimizer_moves_what_is_not_frozen(fresh, sv.Adam(), "none")
    assert len(fresh.functions) == 7
    for kernel in fresh.functions:
        for signature in kernel.signatures:
            assert "double" not in body(kernel.inspect_llvm(signature)), kernel.__name__
