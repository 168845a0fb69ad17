"""Row formulas as they are rewritten for a team of threads, run by one thread in plain Python."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, typed
from scalarviz.engines.codegen import formula_loops
from scalarviz.engines.codegen.formula_loops import TEAM_ROOM, TeamWriter, team_text
from scalarviz.engines.codegen.kernel_source import parse, variables

STEP, SAMPLES = 4, 3  # of a workspace

# Numbers of a sample and of its result, and the settings of the formula.
SIZES: dict[str, tuple[int, int, list[float]]] = {
    "layer_norm": (19, 19, [19.0, 1e-5]),
    "rms_norm": (19, 19, [19.0, 1e-5]),
    "frequency_encoding": (5, 30, [3.0]),
    "softmax": (19, 19, [19.0]),
    "log_softmax": (19, 19, [19.0]),
    "spread": (5, 30, [6.0]),
    "max_pool": (40, 12, [2.0, 4.0, 5.0, 3.0, 2.0, 1.0]),
    "average_pool": (40, 12, [2.0, 4.0, 5.0, 3.0, 2.0, 1.0, 1.0 / 9.0]),
}


def team(function: Any) -> Any:
    found: dict[str, Any] = {
        **variables(function), "np": np, "cuda": SimpleNamespace(syncthreads=lambda: None)
    }  # fmt: skip
    exec(team_text(function, "team"), found)
    return found["team"]


@pytest.mark.parametrize("name", ROW_FORMULAS)
def test_a_team_computes_what_the_formula_says(name: str) -> None:
    row, (inputs, outputs, settings) = ROW_FORMULAS[name], SIZES[name]
    random = np.random.default_rng(0)
    x, y, memo = random.normal(size=(inputs, STEP)), np.zeros((outputs, STEP)), np.zeros(STEP)
    g, h = random.normal(size=(outputs, STEP)), np.zeros((inputs, STEP))
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
        arguments = typed(row.backward, settings)
        row.backward(x[:, n], y[:, n], memo[n], g[:, n], h[:, n], *arguments)
    assert space[-STEP:] == pytest.approx(memo, rel=1e-12)
    assert found_y == pytest.approx(y, rel=1e-12, abs=1e-12)
    assert found_h == pytest.approx(h, rel=1e-12, abs=1e-12)


# Of all loops of forward and of backward, those that are divided; those of windows that overlap
# and the largest number of a row are not.
DIVIDED = {
    "layer_norm": ("3 of 3", "2 of 2"),
    "rms_norm": ("2 of 2", "2 of 2"),
    "frequency_encoding": ("1 of 1", "1 of 1"),
    "softmax": ("2 of 3", "2 of 2"),
    "log_softmax": ("2 of 3", "2 of 2"),
    "spread": ("1 of 1", "1 of 1"),
    "max_pool": ("1 of 1", "1 of 2"),
    "average_pool": ("1 of 1", "1 of 2"),
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
