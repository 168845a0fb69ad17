"""Every kernel of networks in a page, in Node, against the cpu engine.

All kernels are compiled to one module; each case has a memory of its own for it.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.engines.codegen.kernel_units import Dtype
from scalarviz.engines.cpu.table import every_unit
from scalarviz.engines.wasm.module import NOT_IN_PAGES
from tests.core.layers.test_layers import MAKERS
from tests.pages.node import InPage
from tests.pages.test_engine import STEPS

pytestmark = pytest.mark.slow

# Of the error of a gradient or a loss, relative to the largest.
DIGITS = {"float32": 1e-5, "float64": 1e-12}
UNITS = [
    unit
    for unit in dict.fromkeys(every_unit())
    if not any(word in unit.name for word in NOT_IN_PAGES)
]
Make = Callable[[Dtype], sv.Session]


def table(samples: int = 60, outputs: int = 2) -> data.Arrays:
    """Samples of four numbers and targets between 0.2 and 0.8, not far from a smooth map."""
    x = np.random.default_rng(2).uniform(-1.0, 1.0, (samples, 4))
    mixed = np.tanh(x @ np.random.default_rng(3).normal(size=(4, outputs)))
    return data.Arrays(x, 0.5 + 0.3 * mixed)


def session(
    *middle: sv.Layer,
    dtype: Dtype,
    loss: object = "mse",
    optimizer: sv.Optimizer | None = None,
    samples: object = None,
    batch: int | None = 16,
    output: str = "sigmoid",
    **more: object,
) -> sv.Session:
    """A session on a network with some layers between two dense ones."""
    layers = [sv.Dense(4, 4, "tanh"), *middle]
    network = sv.Network([*layers, sv.Dense(layers[-1].outputs, 2, output)], seed=3, dtype=dtype)
    optimizer = optimizer or sv.SGD(0.1)
    samples = table() if samples is None else samples
    return sv.Session(network, samples, loss, optimizer, batch, engine="cpu", seed=5, **more)


def of_layers() -> dict[str, Make]:
    cases: dict[str, Make] = {
        name: lambda dtype, make=make: session(make(), dtype=dtype)  # type: ignore[misc]  # mypy infers no defaults of a lambda
        for name, make in MAKERS.items()
    }
    cases["wide"] = lambda dtype: session(
        sv.Dense(4, 80, "tanh"), sv.Dense(80, 40, "relu"), dtype=dtype
    )
    cases["wide, one sample"] = lambda dtype: session(
        sv.Dense(4, 80, "tanh"), sv.Dense(80, 40), dtype=dtype, batch=1
    )
    cases["groups with holes"] = lambda dtype: session(
        sv.Conv2d((2, 1, 2), 4, (1, 2), padding=(0, 1), dilation=(1, 2), groups=2), dtype=dtype
    )
    cases["several chunks"] = lambda dtype: session(
        sv.BatchNorm(4), dtype=dtype, samples=table(700), batch=300
    )
    cases["twice"] = lambda dtype: session(*[sv.Dense(4, 4, "tanh")] * 2, dtype=dtype)
    return cases


def of_formulas() -> dict[str, Make]:
    def with_optimizer(name: str, schedule: object = None) -> Make:
        given = {} if schedule is None else {"schedule": schedule}
        return lambda dtype: session(
            dtype=dtype,
            optimizer=sv.Optimizer(name, lr=0.02, clip_norm=0.3, l2=1e-3, **given),
        )

    cases: dict[str, Make] = {}
    for name in ACTIVATIONS:
        cases[name] = lambda dtype, name=name: session(sv.Dense(4, 4, name), dtype=dtype)  # type: ignore[misc]  # mypy infers no defaults of a lambda
    for name in {**LOSSES, **ROW_LOSSES}:
        output = "linear" if "cross_entropy" in name else "sigmoid"
        cases[name] = lambda dtype, name=name, output=output: session(  # type: ignore[misc]  # mypy infers no defaults of a lambda
            dtype=dtype, loss=name, output=output
        )
    settings = {"steps": 15, "every": 4, "warmup": 5}
    for name, row in SCHEDULES.items():
        given = {key: settings[key] for key, _ in row.settings if key in settings}
        cases[f"{name} rate"] = with_optimizer("sgd", sv.Schedule(name, **given))
    for name in OPTIMIZERS:
        cases[name] = with_optimizer(name)
    return cases


def of_batches() -> dict[str, Make]:
    inputs, targets = table().training
    cases: dict[str, Make] = {
        order: lambda dtype, order=order: session(  # type: ignore[misc]  # mypy infers no defaults of a lambda
            dtype=dtype, samples=data.Arrays(inputs, targets, order=order)
        )
        for order in ("shuffled", "in_order", "picked")
    }
    cases["all at once"] = lambda dtype: session(dtype=dtype, batch=None)
    return cases


CASES = {**of_layers(), **of_formulas(), **of_batches()}


def close(found: object, wanted: object, digits: float) -> None:
    """Assert that numbers agree relative to the largest of them."""
    whole = np.asarray(wanted, np.float64)
    np.testing.assert_allclose(found, whole, rtol=0, atol=digits * max(np.abs(whole).max(), 1e-3))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_it_learns_in_a_page_as_it_does_here(case: str, dtype: Dtype, tmp_path: Path) -> None:
    here, digits = CASES[case](dtype), DIGITS[dtype]
    network, steps = here.network, 20 if dtype == "float32" else 200
    page = InPage(here, tmp_path, units=UNITS)
    here.advance(len(network.program.moments) - 1, "operation")
    grad = network.bank.grad.copy()
    here.seek(0)
    here.advance(steps)
    found = page.run(f"""
        const other = await open();
        engine.begin();
        {STEPS};
        const grad = engine.grad.slice();
        for (let step = 1; step < 20; step++) {{
            engine.begin();
            {STEPS};
        }}
        const {{losses}} = other.train({steps});
        const alike = {steps} > 20 || same(engine.save(), other.save());
        return {{grad, losses, value: other.value, state: other.state, alike,
                 look: other.look([0.1, -0.2, 0.3, 0.4])}};
    """)
    close(found["grad"], grad, digits)
    close(found["losses"], here.timeline.branch.losses, digits)
    close(found["value"], network.bank.value, digits)
    close(found["state"], network.bank.state, digits)
    assert found["alike"], "moment by moment the bits differ from those of whole steps"
    answer = network(np.array([[0.1, -0.2, 0.3, 0.4]]))[0]
    close(found["look"][network.program.outputs.name], answer, digits)


@pytest.mark.parametrize("dynamic", [False, True])
def test_mixed_precision_learns_in_a_page(dynamic: bool, tmp_path: Path) -> None:
    # A dynamic scale begins so large that steps are skipped, and statistics restored.
    precision = sv.Precision(
        "mixed", dynamic=dynamic, **({"loss_scale": 2.0**24} if dynamic else {})
    )
    layers = sv.BatchNorm(4), sv.Dense(4, 4, "relu")
    here = session(*layers, dtype="float32", precision=precision)
    page = InPage(here, tmp_path, units=UNITS)
    here.advance(20)
    found = page.run(f"""
        const other = await open();
        for (let step = 0; step < 20; step++) {{
            engine.begin();
            {STEPS};
        }}
        const {{losses}} = other.train(20);
        return {{losses, value: other.value, state: other.state,
                 alike: same(engine.save(), other.save())}};
    """)
    assert (here.network.bank.scaling[2] > 0) == dynamic
    close(found["losses"], here.timeline.branch.losses, 2e-3)
    close(found["value"], here.network.bank.value, 2e-3)
    assert found["state"][:3] == here.network.bank.scaling.tolist()
    close(found["state"], here.network.bank.state, 1e-3)
    assert found["alike"]


def test_points_of_a_picture_are_drawn_in_a_page(tmp_path: Path) -> None:
    network = sv.Network([2, 6, 3], "tanh", "sigmoid", seed=1)
    here = sv.Session(network, data.Texture(size=32), optimizer=sv.SGD(0.2), batch=12, engine="cpu")
    page = InPage(here, tmp_path, units=UNITS)
    here.advance(20)
    found = page.run("""
        const {losses} = engine.train(20);
        engine.begin();
        return {losses, sample: engine.sample(4)};
    """)
    close(found["losses"], here.timeline.branch.losses, 1e-5)
    inputs, targets = here.trainer.batches.at(20)
    close(found["sample"]["inputs"], inputs[4], 1e-6)
    close(found["sample"]["targets"], targets[4], 1e-6)


def log_cosh(p: float, t: float) -> float:
    d = abs(p - t)
    return d + math.log1p(math.exp(-2.0 * d)) - math.log(2.0)


def leaning(
    w: float, g: float, m: float, lr: float, beta: float = 0.9, left: float = 1.0
) -> tuple[float, float]:
    m = beta * m + (1.0 - beta) * g
    return w - lr * m / left, m


def left_over(step: float, beta: float = 0.9) -> tuple[float, ...]:
    return (1.0 - math.pow(beta, step),)


def test_formulas_of_the_user_learn_in_a_page(tmp_path: Path) -> None:
    sv.loss(log_cosh)
    kind = sv.optimizer(leaning, ("m",), constants=left_over)
    here = session(dtype="float64", loss="log_cosh", optimizer=kind(0.1))
    page = InPage(here, tmp_path)
    here.advance(200)
    found = page.run("const {losses} = engine.train(200); return {losses, m: engine.slots.m}")
    close(found["losses"], here.timeline.branch.losses, 1e-12)
    close(found["m"], here.network.bank.slots["m"], 1e-12)
