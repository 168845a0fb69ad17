"""Compiled expressions: the same numbers as plain Values, the four verbs, and what is refused."""

import inspect
import math
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from types import ModuleType
from typing import Any

import micrograd.nn
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.formulas.arithmetic import COMPARISONS, OPERATIONS
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.trace import Recorded
from scalarviz.core.value import Value
from scalarviz.core.value_functions import maximum, minimum, where
from scalarviz.core.weight import Weight
from scalarviz.engines import registry
from scalarviz.errors import (
    EngineError,
    GradientError,
    InputError,
    NotFiniteError,
    OrderError,
    OwnershipError,
    ShapeError,
    UpdateError,
)
from scalarviz.training.network.expression import compile
from tests.strategies import examples
from tests.wording import refused

ENGINES = ["python", "cpu"]
every_engine = pytest.mark.parametrize("engine", ENGINES)

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": lambda x, y: x**y,
    "negate": lambda x: -x,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y,
    "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y,
    "not_equal": lambda x, y: x != y,
}
BATCH = np.random.default_rng(0).uniform(0.2, 1.5, (300, 3))  # more than two tiles


def call(name: str, *operands: Any) -> Any:
    """An operation, as a user writes it."""
    if name in OPERATORS:
        return OPERATORS[name](*operands)
    first, *others = operands
    if isinstance(first, Value):
        return getattr(first, name)(*others)
    return getattr(Value, name)(first, *others)


def by_plain_values(
    function: Callable[..., Any], parameters: list[Value], batch: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The results, and the gradients of their sum by the inputs and by the parameters."""
    results, by_inputs = [], []
    for parameter in parameters:
        parameter.grad = 0.0
    for sample in batch.tolist():
        inputs = [Value(x) for x in sample]
        result = function(*inputs)
        outputs = list(result) if isinstance(result, (list, tuple)) else [result]
        for output in outputs:
            output.backward()
        results.append([output.data for output in outputs])
        by_inputs.append([x.grad for x in inputs])
    return np.array(results), np.array(by_inputs), np.array([p.grad for p in parameters])


def agree(found: Any, expected: Any) -> bool:
    """Equal to 1e-12 of the largest number, with the same infinities."""
    found, expected = np.asarray(found), np.asarray(expected)
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= 1e-12 * size
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    return found.shape == expected.shape and bool((near | same).all())


def check(function: Callable[..., Any], parameters: list[Value], batch: Any, engine: str) -> None:
    """The compiled function gives what plain Values give."""
    results, by_inputs, by_parameters = by_plain_values(function, parameters, batch)
    f = compile(function, batch.shape[1], engine=engine)
    f.zero_grad()
    assert agree(f(batch), results)
    assert agree(f.forward(batch), results)
    assert agree(f.backward(), by_inputs)
    assert agree([p.grad for p in parameters], by_parameters)


# The same numbers as plain Values


@pytest.mark.some(60)
@every_engine
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("kinds", ["inputs", "parameters", "constant first", "constant last"])
def test_every_operation_on_every_kind_of_operand(name: str, kinds: str, engine: str) -> None:
    count = len(OPERATIONS[name].partials)
    p = [Value(0.3), Value(0.7), Value(-0.4)]

    def function(*x: Any) -> Any:
        operands = {
            "inputs": [x[0], x[1], x[2]],
            "parameters": p,
            "constant first": [Value(0.6) if count == 1 else 0.6, x[0], p[1]],
            "constant last": [p[0] * x[1], 2, 0.5] if count < 3 else [x[0], x[1], 0.5],
        }[kinds]
        return call(name, *operands[:count]) * x[0] + p[2]

    check(function, p[2:] if kinds == "constant first" else p, BATCH, engine)


@every_engine
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_comparison_chooses_as_on_plain_values(name: str, engine: str) -> None:
    w = Value(1.0)
    batch = np.array([[0.5, 2.0], [1.0, 3.0], [1.5, 0.25]])  # below, at and above

    def function(x: Any, y: Any) -> Any:
        return [
            where(call(name, x, w), x * y, w + y),
            where(call(name, 1.0, x), y, w),
            where(call(name, w * 1.0, w), x, w),
            where(call(name, x, 1.0) * call(name, y, 2), x, y),
        ]

    check(function, [w], batch, engine)


@st.composite
def functions(draw: st.DrawFn) -> tuple[Callable[..., Any], list[Value]]:
    """A random function of two inputs and three parameters, with shared nodes."""
    parameters = [Value(draw(st.floats(-1.5, 1.5).map(lambda x: round(x, 3)))) for _ in range(3)]
    names = [*"add subtract multiply negate tanh sigmoid relu sin where maximum minimum".split()]
    steps = [
        (draw(st.sampled_from(names)), [draw(st.integers(-(j > 0), 4 + i)) for j in range(3)])
        for i in range(draw(st.integers(1, 14)))
    ]
    outputs = draw(st.lists(st.integers(0, 4 + len(steps)), min_size=1, max_size=3))

    def function(x: Any, y: Any) -> Any:
        made: list[Any] = [x, y, *parameters]
        for name, places in steps:
            a, b, c = [made[place] if place >= 0 else 0.75 for place in places]
            if name == "where":
                made.append(where(a > b, b, c))
            else:
                made.append(call(name, *[a, b, c][: len(OPERATIONS[name].partials)]))
        function.margin = margin(made)  # type: ignore[attr-defined]  # an attribute of one's own
        return [x * 0.5 + made[place] for place in outputs]

    return function, parameters


def margin(made: list[Any]) -> float:
    """How far apart the numbers are that differ: two that are nearly equal may change places."""
    if any(isinstance(value, Recorded) for value in made):
        return 1.0
    numbers = sorted({0.0, 0.75, *[float(value.data) for value in made]})
    return min(after - before for before, after in pairwise(numbers))


@given(functions(), st.integers(0, 1000))
@examples(20, 60)
def test_any_expression_has_the_numbers_and_the_gradients_of_plain_values(
    made: tuple[Callable[..., Any], list[Value]], seed: int
) -> None:
    function, parameters = made
    batch = np.random.default_rng(seed).normal(size=(3, 2)).round(3)
    for sample in batch.tolist():
        function(*map(Value, sample))
        assume(function.margin > 1e-9)  # type: ignore[attr-defined]  # an attribute of one's own
    expected = by_plain_values(function, parameters, batch)
    assume(all(np.abs(array).max(initial=0.0) < 1e6 for array in expected))
    for engine in ENGINES:
        check(function, parameters, batch, engine)


@every_engine
def test_a_sum_of_a_thousand_and_a_chain_of_a_thousand(engine: str) -> None:
    w = [Value(0.001 * i) for i in range(1000)]

    def function(x: Any) -> Any:
        long = x
        for i in range(1000):
            long = (long + 0.001) if i % 2 else -long
        return sum((v * x for v in w), long)

    check(function, w, BATCH[:5, :1], engine)


@pytest.mark.slow
def test_float32_stays_float32() -> None:
    w = Value(0.1)
    for engine in ENGINES:
        f = compile(lambda x: (w * x).tanh() / 3.0, 1, dtype="float32", engine=engine)
        assert f.forward(BATCH[:, :1]).dtype == f.backward().dtype == np.float32
        assert f.bank.dtype == "float32"
        assert w.data == np.float32(0.1)


# The verbs


@every_engine
def test_the_numbers_of_the_parameters_are_live(engine: str) -> None:
    w, b = Value(2.0), Value(1)
    w.grad = 5.0
    f = compile(lambda x: w * x + b, 1, engine=engine)
    assert (w.data, b.data, w.grad, b.grad) == (2.0, 1.0, 5.0, 0.0)
    w.data, w.grad = 3.0, 0.0
    assert f([2.0]) == [7.0]
    assert f.bank.value.tolist() == [3.0, 1.0]
    f.forward([[2.0], [5.0]])
    f.backward([[1.0], [10.0]])
    assert (w.grad, b.grad) == (52.0, 11.0)
    (w * w).backward()  # a plain expression still knows it, and adds to the same gradient
    assert f.bank.grad.tolist() == [58.0, 11.0]
    f.zero_grad()
    assert w.grad == 0.0
    w.grad = 0.0  # set by hand it counts as a gradient, and no step is refused
    f.step(sv.SGD(0.1))
    assert repr(w) == "Value(data=3.0, grad=0.0)"


@every_engine
def test_two_forwards_before_a_backward(engine: str) -> None:
    w = Value(0.5)
    f = compile(lambda x, y, z: (w * x * y).tanh() + z, 3, engine=engine)
    g = np.random.default_rng(1).normal(size=(300, 1))
    f.forward(BATCH)
    f.forward(BATCH[:7])
    newest, oldest = f.backward(g[:7]), f.backward(g)
    nested = w.grad
    f.zero_grad()
    f.forward(BATCH[:7])
    assert agree(f.backward(g[:7]), newest)
    f.forward(BATCH)
    assert agree(f.backward(g), oldest)
    assert nested == pytest.approx(w.grad, rel=1e-12)
    f(BATCH)  # leaves nothing behind
    with refused(OrderError):
        f.backward()


def xor(engine: str) -> tuple[list[float], np.ndarray]:
    """The losses of a small network that learns XOR, and its parameters."""
    draw = random.Random(3)
    w = [Value(draw.uniform(-1, 1)) for _ in range(17)]

    def network(x: Any, y: Any) -> Any:
        hidden = [(w[i] * x + w[i + 4] * y + w[i + 8]).tanh() for i in range(4)]
        return sum((w[i + 12] * h for i, h in enumerate(hidden)), w[16]).sigmoid()

    f = compile(network, 2, engine=engine)
    table = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    losses = [f.train_step(table, [[0], [1], [1], [0]], "mse", sv.Adam(0.1)) for _ in range(150)]
    return losses, f.bank.value


@every_engine
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_step_moves_as_a_weight_does(name: str, engine: str) -> None:
    optimizer = Optimizer(
        name, 0.1, l1=0.01, l2=0.02, clip_value=0.8, schedule=sv.Schedule("step", every=2)
    )
    leaves = [Value(0.3), Value(-0.6)]
    f = compile(lambda x: leaves[0] * x + leaves[1], 1, engine=engine)
    weights = [Weight(leaf.data) for leaf in leaves]
    for gradient in (1.0, -0.5, 0.25, 0.125):
        for leaf, weight in zip(leaves, weights, strict=True):
            leaf.grad = weight.grad = gradient
            weight.step(optimizer)
        f.step(optimizer)
        optimizer.l2 = 0.5 * gradient
    assert [leaf.data for leaf in leaves] == pytest.approx([w.value for w in weights], rel=1e-14)
    assert f.bank.step_count == 4


@every_engine
def test_a_bad_gradient_is_named_and_nothing_moves(engine: str) -> None:
    w = Value(1.0, label="slope")
    f = compile(lambda x: (w * x).log(), 1, engine=engine)
    f.forward([0.0])
    f.backward()
    with refused(GradientError, "slope is nan"):
        f.step(sv.SGD(0.1))
    assert w.data == 1.0
    f.zero_grad()
    with refused(OrderError):
        f.step(sv.SGD(0.1))


@every_engine
def test_an_update_that_overflows_is_refused_and_nothing_moves(engine: str) -> None:
    w = Value(1.0, label="slope")
    f = compile(lambda x: w * x, 1, engine=engine)
    f.forward([1e10])
    f.backward()
    with refused(UpdateError, "slope"):
        f.step(sv.SGD(1e300))
    assert w.data == 1.0 and f.bank.step_count == 0


def test_a_gpu_runs_no_compiled_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is one."""
    monkeypatch.setitem(registry.ENGINES, "cuda", replace(registry.ENGINES["cuda"], lack=str))
    slope = Value(0.5)

    def line(x: Value) -> Value:
        return slope * x

    with refused(EngineError, "'cuda'"):
        compile(line, inputs=1, engine="cuda")
    f = compile(line, inputs=1)
    assert f.engine == "cpu"
    with refused(EngineError, "'cuda'"):
        f.to("cuda")
    samples = [[1.0]], [[2.0]]
    with refused(EngineError, "'cuda'"):
        sv.Session(f, samples, engine="cuda")
    s = sv.Session(f, samples)
    with refused(EngineError, "'cuda'"):
        s.to("cuda")
    s.to("auto")
    assert s.engine == f.engine == "cpu"


# Parameters that are somewhere else already


@every_engine
def test_expressions_share_their_parameters(engine: str) -> None:
    a, b = Value(2.0), Value(3.0)
    model = compile(lambda x: a * x + b, 1, engine=engine)
    part = compile(lambda x: b * x, 1, engine=engine)
    assert part.bank is model.bank
    part.forward([5.0])
    part.backward()
    assert (a.grad, b.grad) == (0.0, 5.0)
    part.step(sv.SGD(1.0))
    assert (a.data, b.data) == (2.0, -2.0)
    assert model([1.0]) == [0.0]
    assert part.train_step([[1.0]], [[0.0]], "mse", sv.SGD(0.25)) == 4.0
    assert (a.data, b.data) == (2.0, -1.0)
    new = Value(1.0)
    with refused(OwnershipError):
        compile(lambda x: a * x + new, 1)
    assert type(new) is Value
    with refused(InputError, "float64"):
        compile(lambda x: a * x, 1, dtype="float32")


@every_engine
def test_the_gradient_of_a_weight_lands_in_its_bank(engine: str) -> None:
    net = sv.Network([2, 1], seed=0, dtype="float64")
    w0, w1, bias = net.parameters()
    f = compile(lambda x, y: (w0 * x + w1 * y + bias + w0 * 0.0).tanh(), 2, engine=engine)
    assert len(f.parameters) == 3
    assert f.bank is net.bank
    batch = np.array([[0.5, -1.0], [2.0, 0.25]])
    f.forward(batch)
    f.backward()
    found = net.bank.grad.copy()
    net.zero_grad()
    y = np.tanh(net.forward(batch))
    net.backward(1 - y * y)
    assert found == pytest.approx(net.bank.grad, rel=1e-12)


@pytest.fixture
def our_nn() -> ModuleType:
    """micrograd's nn.py with nothing but its import changed."""
    source = inspect.getsource(micrograd.nn)
    module = ModuleType("our_nn")
    changed = source.replace("from micrograd.engine import", "from scalarviz.core.value import")
    exec(changed, module.__dict__)
    return module


@every_engine
def test_a_network_of_micrograd_is_compiled_as_it_stands(our_nn: ModuleType, engine: str) -> None:
    random.seed(1)
    model = our_nn.MLP(3, [4, 4, 2])
    check(lambda *x: model(x), model.parameters(), BATCH[:10] - 1.0, engine)
    f = compile(lambda *x: model(x), 3, engine=engine)
    losses = [f.train_step(BATCH, BATCH[:, :2], "mse", sv.SGD(0.1)) for _ in range(20)]
    assert losses[-1] < losses[0]
    model.zero_grad()
    assert not f.bank.grad.any()


@every_engine
def test_wrong_batches_are_refused_and_change_nothing(engine: str) -> None:
    w = Value(2.0)
    f = compile(lambda x, y: w * x * y, 2, engine=engine)
    for verb in (f, f.forward):
        with pytest.raises(ShapeError):
            verb([[1.0, 2.0, 3.0]])
        with refused(NotFiniteError, "nan at row 0, column 1"):
            verb([1.0, math.nan])
    f.forward([[1.0, 2.0], [3.0, 4.0]])
    with refused(ShapeError, "2 samples"):
        f.backward([[1.0]])
    with pytest.raises(ShapeError):
        f.train_step([[1.0, 2.0]], [[1.0], [2.0]])
    assert w.grad == 0.0
    f.backward()
    assert w.grad == 14.0
    f.forward([1.0, 2.0])
    f.forget()
    with pytest.raises(OrderError):
        f.backward()


def test_it_prints_what_it_is() -> None:
    w = Value(1.0)

    def line(x: Value) -> Value:
        return maximum(w * x, minimum(x, 1.0))

    f = compile(line, 1, engine="python")
    assert repr(f) == "Expression line: 1 -> 1, 1 parameters, 3 operations, float64, engine python"
