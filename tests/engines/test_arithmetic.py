"""Arithmetic of kernels.

Matrix products, exp, tanh and sin against numpy's, row formulas for teams of threads.
"""

import math
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.formulas import elementary
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, typed
from scalarviz.engines.codegen import formula_loops
from scalarviz.engines.codegen.formula_loops import TEAM_ROOM, TeamWriter, team_text
from scalarviz.engines.codegen.kernel_source import parse, variables, versions
from scalarviz.engines.codegen.kernel_units import HEAD, Dtype, UnitWriter
from scalarviz.engines.cpu.table import units_of
from tests.engines.conftest import import_text
from tests.sessions import advanced

INF = math.inf

ERFC = np.vectorize(math.erfc)

# The function, numpy's, and over what range it is compared there.
RANGES = [
    ("exp", np.exp, -87.0, 88.0),
    ("exp", np.exp, -1e-3, 1e-3),
    ("expm1", np.expm1, -87.0, 88.0),
    ("expm1", np.expm1, -1e-3, 1e-3),
    ("tanh", np.tanh, -20.0, 20.0),
    ("tanh", np.tanh, -1e-3, 1e-3),
    ("log", np.log, 0.0, 3.0),
    ("log", np.log, 0.999, 1.001),
    ("log", np.log, 0.0, 1e30),
    ("log1p", np.log1p, -0.99, 2.0),
    ("log1p", np.log1p, -1e-3, 1e-3),
    ("log1p", np.log1p, 0.0, 1e30),
    ("erfc", ERFC, -6.0, 9.0),
]
# In units of the last place: tanh in float32 is wrong by 1.8e-7 at most. numpy's own results in
# float64 may be wrong by a unit, too.
BOUNDS = {"tanh": 1.5, "erfc": 4.5}

LIMITS = {
    "exp": [(1000.0, INF), (-1000.0, 0.0), (INF, INF), (-INF, 0.0), (0.0, 1.0)],
    "expm1": [(1000.0, INF), (-1000.0, -1.0), (INF, INF), (-INF, -1.0), (0.0, 0.0)],
    "tanh": [(1000.0, 1.0), (-1000.0, -1.0), (INF, 1.0), (-INF, -1.0), (0.0, 0.0)],
    "log": [(0.0, -INF), (INF, INF), (-1.0, math.nan), (-INF, math.nan), (1.0, 0.0)],
    "log1p": [(-1.0, -INF), (INF, INF), (-2.0, math.nan), (-INF, math.nan), (0.0, 0.0)],
    "erfc": [(1000.0, 0.0), (-1000.0, 2.0), (INF, 0.0), (-INF, 2.0)],
    "sin": [(INF, math.nan), (-INF, math.nan), (0.0, 0.0)],
    "cos": [(INF, math.nan), (-INF, math.nan), (0.0, 1.0)],
}

FILL = """
@numba.njit(fastmath=REORDERED, cache=True, **OPTIONS)
def fill_{name}(x, y):
    for i in range(len(x)):
        y[i] = {function}(x[i])
"""


class Functions:
    """The elementary functions of one type, in loops over arrays as in a kernel."""

    def __init__(self, dtype: Dtype) -> None:
        self.dtype = dtype
        writer = UnitWriter(dtype, None).formulas
        loops = [
            FILL.format(name=name, function=writer.name(getattr(elementary, name)))
            for name in LIMITS
        ]
        head = HEAD.format(versions=versions(), dtype=dtype)
        parts = [head, *writer.constants.values(), *writer.sources, *loops]
        self.module = import_text("\n\n".join(parts) + "\n", f"test_elementary_{dtype}")

    def __call__(self, name: str, x: Any) -> Any:
        x = np.asarray(x).astype(self.dtype)
        y = np.zeros_like(x)
        getattr(self.module, f"fill_{name}")(x, y)
        return y.astype(np.float64)


@pytest.fixture(scope="module", params=["float32", "float64"])
def functions(request: pytest.FixtureRequest) -> Functions:
    return Functions(request.param)


def points(functions: Functions, low: float, high: float) -> Any:
    x = np.random.default_rng(0).uniform(low, high, 20_001)
    return x.astype(functions.dtype).astype(np.float64)


@pytest.mark.parametrize(
    ("name", "exact", "low", "high"), RANGES, ids=[f"{n} {a:g} to {b:g}" for n, _, a, b in RANGES]
)
def test_a_function_is_right_to_the_last_place(
    functions: Functions, name: str, exact: Any, low: float, high: float
) -> None:
    x = points(functions, low, high)
    x = x[exact(x) != 0.0]
    error = np.abs(functions(name, x) / exact(x) - 1.0) / np.finfo(functions.dtype).eps
    assert error.max() < BOUNDS.get(name, 1.1) + (functions.dtype == "float64")


@pytest.mark.parametrize(("name", "exact"), [("sin", np.sin), ("cos", np.cos)])
@pytest.mark.parametrize("high", [3.2, 1000.0, 1e6])
def test_a_wave_is_right_far_out(functions: Functions, name: str, exact: Any, high: float) -> None:
    x = points(functions, -high, high)
    assert np.abs(functions(name, x) - exact(x)).max() < 2.5 * np.finfo(functions.dtype).eps


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_a_wave_never_leaves_its_range(functions: Functions, name: str) -> None:
    assert (np.abs(functions(name, np.array([1e7, 1e9, 1e20, 1e37, -1e12]))) <= 1.0 + 1e-6).all()


@pytest.mark.parametrize("name", LIMITS)
def test_the_limits_are_right(functions: Functions, name: str) -> None:
    x, expected = zip(*LIMITS[name], strict=True)
    assert functions(name, x) == pytest.approx(np.array(expected), rel=1e-6, nan_ok=True)


def test_the_logarithm_of_the_smallest_numbers(functions: Functions) -> None:
    x = 3e-41 if functions.dtype == "float32" else 3e-310
    assert functions("log", [x]) == pytest.approx(math.log(x), rel=1e-5)


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_not_a_number_stays_so(functions: Functions, name: str) -> None:
    assert np.isnan(functions(name, [math.nan] * 40)).all()


def test_a_number_is_the_same_anywhere_in_an_array(functions: Functions) -> None:
    x = np.linspace(-3.0, 3.0, 37)
    for name in LIMITS:
        whole = functions(name, x)
        one_by_one = [functions(name, x[i : i + 1])[0] for i in range(len(x))]
        assert whole == pytest.approx(one_by_one, rel=1e-15, nan_ok=True), name


# More inputs than a panel has; whole blocks and remainders; layers too narrow for blocks.
WIDTHS = [[530, 130, 140, 3], [16, 16, 40, 33], [7, 9, 33], [3, 8, 64, 1]]
BATCHES = [1, 2, 3, 16, 17, 33, 128, 150]


@cache
def linear(*widths: int) -> sv.Network:
    return sv.Network(list(widths), "linear", seed=1, engine="cpu", dtype="float64")


@pytest.mark.some(3)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("widths", WIDTHS, ids=lambda widths: "-".join(map(str, widths)))
def test_products_are_those_of_numpy(widths: list[int], batch: int) -> None:
    net = linear(*widths)
    net.zero_grad()
    rng = np.random.default_rng(batch)
    x, g = rng.normal(size=(batch, widths[0])), rng.normal(size=(batch, widths[-1]))
    matrices, at = [], 0
    for inputs, outputs in pairwise(widths):
        weights = net.bank.value[at : at + inputs * outputs].reshape(outputs, inputs)
        at += weights.size
        matrices.append((weights, net.bank.value[at : at + outputs]))
        at += outputs
    values = [x]
    for weights, biases in matrices:
        values.append(values[-1] @ weights.T + biases)
    assert net.forward(x) == pytest.approx(values[-1], rel=1e-9, abs=1e-9)
    gradients = []
    by_inputs = net.backward(g)
    for (weights, _), x in zip(matrices[::-1], values[-2::-1], strict=True):
        gradients[:0] = [(g.T @ x).ravel(), g.sum(axis=0)]
        g = g @ weights
    assert by_inputs == pytest.approx(g, rel=1e-9, abs=1e-9)
    assert net.bank.grad == pytest.approx(np.concatenate(gradients), rel=1e-9, abs=1e-9)


@pytest.mark.some(2)
@pytest.mark.parametrize("batch", [1, 2, 20, 100])
def test_a_wide_layer_on_all_cores_has_the_bits_of_one_core(
    batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of one chunk: several cores do some rows each."""
    rng = np.random.default_rng(batch)
    x, y = rng.normal(size=(batch, 70)), rng.normal(size=(batch, 33))
    found, kernels = [], []
    for worth in (0, 10**12):
        monkeypatch.setattr("scalarviz.engines.cpu.table.WORTH_CORES", worth)
        monkeypatch.setattr("scalarviz.engines.cpu.calls.is_parallel", lambda: True)
        net = sv.Network([70, 130, 33], "tanh", "linear", seed=0, engine="cpu")
        kernels.append(units_of(net.program.operations[0], batch)["forward"].name)
        s = advanced(sv.Session(net, (x, y), "mse", sv.Adam(0.01), batch=batch, engine="cpu"), 3)
        s.advance(len(s.operations), "operation")
        found.append([net.bank.value.tobytes(), net(x).tobytes(), s.losses.tobytes()])
    assert kernels == [f"cpu_wide_affine_forward_on_{each}" for each in ("all_cores", "one_core")]
    assert found[0] == found[1]


STEP, SAMPLES = 4, 3  # of a workspace

# Numbers of a sample and of its result, and the settings of the formula.
SIZES: dict[str, tuple[int, int, list[float]]] = {
    "layer_norm": (19, 19, [19.0, 1e-5]),
    "group_norm": (18, 18, [6.0, 6.0, 0.1]),
    "rms_norm": (19, 19, [19.0, 1e-5]),
    "frequency_encoding": (5, 30, [3.0]),
    "softmax": (19, 19, [19.0]),
    "log_softmax": (19, 19, [19.0]),
    "spread": (5, 30, [6.0]),
    "slice": (7, 3, [2.0]),
    "max_pool": (40, 12, [4.0, 5.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 2.0, 3.0, 1.0 / 9.0]),
    "attention": (24, 8, [2.0, 2.0, 2.0, 1.0, 0.7]),
    "average_pool": (40, 12, [4.0, 5.0, 3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 2.0, 3.0, 1.0 / 9.0]),
}


def team(function: Any) -> Any:
    found: dict[str, Any] = {
        **variables(function), "np": np, "cuda": SimpleNamespace(syncthreads=lambda: None)
    }  # fmt: skip
    exec(team_text(function, "team"), found)
    return found["team"]


@pytest.mark.parametrize("name", ROW_FORMULAS)
def test_a_team_computes_what_the_formula_says(name: str, rng: np.random.Generator) -> None:
    row, (inputs, outputs, settings) = ROW_FORMULAS[name], SIZES[name]
    x, y, memo = rng.normal(size=(inputs, STEP)), np.zeros((outputs, STEP)), np.zeros(STEP)
    g, h = rng.normal(size=(outputs, STEP)), np.zeros((inputs, STEP))
    # Values, the number for backward and what comes after them; then gradients.
    places = [np.uint64(n) for n in np.cumsum([0, x.size, y.size, 0, g.size])]
    space, flow = np.concatenate([x.ravel(), y.ravel(), memo]), np.append(g.ravel(), h.ravel())
    at_x, at_y, at_memo = places[:3]
    rest = np.uint64(STEP), inputs, outputs, np.full(TEAM_ROOM, np.nan), SAMPLES, 0, 1
    team(row.forward)(at_x, at_y, *typed(row.forward, settings), space, space, at_memo, *rest)
    team(row.backward)(
        at_x, at_y, at_memo, np.uint64(0), np.uint64(g.size), *typed(row.backward, settings),
        space, flow, at_memo, *rest,
    )  # fmt: skip
    found_y = space[x.size : x.size + y.size].reshape(y.shape)
    found_h = flow[g.size :].reshape(h.shape)
    for n in range(SAMPLES):
        memo[n] = row.forward(x[:, n], y[:, n], *typed(row.forward, settings))
        row.backward(x[:, n], y[:, n], memo[n], g[:, n], h[:, n], *typed(row.backward, settings))
    assert space[-STEP:] == pytest.approx(memo, rel=1e-12)
    assert found_y == pytest.approx(y, rel=1e-12, abs=1e-12)
    assert found_h == pytest.approx(h, rel=1e-12, abs=1e-12)


# Of all loops of forward and of backward, those that are divided; those of windows that overlap
# and the largest number of a row are not.
DIVIDED = {
    "layer_norm": ("3 of 3", "2 of 2"),
    "group_norm": ("1 of 1", "1 of 1"),
    "rms_norm": ("2 of 2", "2 of 2"),
    "frequency_encoding": ("1 of 1", "1 of 1"),
    "softmax": ("2 of 3", "2 of 2"),
    "log_softmax": ("2 of 3", "2 of 2"),
    "spread": ("1 of 1", "1 of 1"),
    "slice": ("1 of 1", "1 of 1"),
    "max_pool": ("1 of 1", "1 of 2"),
    "average_pool": ("1 of 1", "1 of 2"),
    "attention": ("0 of 1", "1 of 2"),
}


@pytest.mark.parametrize("name", ROW_FORMULAS)
def test_loops_whose_rounds_do_not_depend_on_each_other_are_divided(name: str) -> None:
    row = ROW_FORMULAS[name]
    found = []
    for function in (row.forward, row.backward):
        syntax = parse(function)
        loops = [each for each in syntax.body if isinstance(each, formula_loops.ast.For)]
        divided = [phase for phase in TeamWriter(syntax).phases if phase.spread]
        found.append(f"{len(divided)} of {len(loops)}")
    assert tuple(found) == DIVIDED[name]


def last_of_all(x: Any, y: Any) -> float:
    last = 0.0
    for i in range(len(x)):
        last = x[i] - last
        y[i] = last
    return last


def neighbours(x: Any, y: Any) -> float:
    for i in range(len(x)):
        y[i] = x[i]
        y[i + 1] = y[i] + 1.0
    return 0.0


def read_later(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        y[i] = total
    return total


def twice_set(x: Any, y: Any) -> float:
    for i in range(len(x)):
        j = i // 2
        y[j] = x[i]
        j = 2 * i
    return 0.0


def twice_added(x: Any, y: Any) -> float:
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        total += y[i]
    return total


ONE_BY_ONE = [last_of_all, neighbours, read_later, twice_set, twice_added]


@pytest.mark.parametrize("function", ONE_BY_ONE)
def test_a_loop_whose_rounds_depend_on_each_other_is_not_divided(function: Any) -> None:
    assert not any(phase.spread for phase in TeamWriter(parse(function)).phases)
