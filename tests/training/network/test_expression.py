"""Compiled functions and named parameters.

Values, gradients, sessions, and their graph step by step.
"""

import inspect
import math
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import micrograd.nn
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.arithmetic import COMPARISONS, OPERATIONS
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.trace import Recorded
from scalarviz.core.trace_program import DEEP, MOST_NODES
from scalarviz.core.value import Value
from scalarviz.core.value_functions import maximum, minimum, where
from scalarviz.core.weight import Weight
from scalarviz.engines import registry
from scalarviz.errors import (
    EngineError,
    FileError,
    GradientError,
    InputError,
    NotFiniteError,
    OrderError,
    OwnershipError,
    ShapeError,
    UpdateError,
)
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.network.expression import compile
from tests.files.test_hostile_files import spoiled
from tests.sessions import OPERATORS, examples
from tests.wording import refused

ENGINES = ["python", "cpu"]
every_engine = pytest.mark.parametrize("engine", ENGINES)

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


@pytest.mark.some(20)
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

    check(
        lambda x, y: [
            where(call(name, x, w), x * y, w + y),
            where(call(name, 1.0, x), y, w),
            where(call(name, w * 1.0, w), x, w),
            where(call(name, x, 1.0) * call(name, y, 2), x, y),
        ],
        [w], batch, engine,
    )  # fmt: skip


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
    refused(OrderError).by(f.backward)


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
    refused(GradientError, "slope is nan").by(f.step, sv.SGD(0.1))
    assert w.data == 1.0
    f.zero_grad()
    refused(OrderError).by(f.step, sv.SGD(0.1))


@every_engine
def test_an_update_that_overflows_is_refused_and_nothing_moves(engine: str) -> None:
    w = Value(1.0, label="slope")
    f = compile(lambda x: w * x, 1, engine=engine)
    f.forward([1e10])
    f.backward()
    refused(UpdateError, "slope").by(f.step, sv.SGD(1e300))
    assert w.data == 1.0 and f.bank.step_count == 0


def test_a_gpu_runs_no_compiled_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where there is one."""
    monkeypatch.setitem(registry.ENGINES, "cuda", replace(registry.ENGINES["cuda"], lack=str))
    slope = Value(0.5)

    def line(x: Value) -> Value:
        return slope * x

    refused(EngineError, "'cuda'").by(compile, line, inputs=1, engine="cuda")
    f = compile(line, inputs=1)
    assert f.engine == "cpu"
    refused(EngineError, "'cuda'").by(f.to, "cuda")
    samples = [[1.0]], [[2.0]]
    refused(EngineError, "'cuda'").by(sv.Session, f, samples, engine="cuda")
    s = sv.Session(f, samples)
    refused(EngineError, "'cuda'").by(s.to, "cuda")
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
    refused(OwnershipError).by(compile, lambda x: a * x + new, 1)
    assert type(new) is Value
    refused(InputError, "float64").by(compile, lambda x: a * x, 1, dtype="float32")


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


@pytest.mark.some(1)
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
        refused(ShapeError).by(verb, [[1.0, 2.0, 3.0]])
        refused(NotFiniteError, "nan at row 0, column 1").by(verb, [1.0, math.nan])
    f.forward([[1.0, 2.0], [3.0, 4.0]])
    refused(ShapeError, "2 samples").by(f.backward, [[1.0]])
    refused(ShapeError).by(f.train_step, [[1.0, 2.0]], [[1.0], [2.0]])
    assert w.grad == 0.0
    f.backward()
    assert w.grad == 14.0
    f.forward([1.0, 2.0])
    f.forget()
    refused(OrderError).by(f.backward)


def test_it_prints_what_it_is() -> None:
    w = Value(1.0)

    def line(x: Value) -> Value:
        return maximum(w * x, minimum(x, 1.0))

    f = compile(line, 1, engine="python")
    assert repr(f) == "Expression line: 1 -> 1, 1 parameters, 3 operations, float64, engine python"


def made_of_names(engine: str = "python", dtype: str = "float64") -> tuple[Any, dict[str, Any]]:
    draw = random.Random(0)
    names: dict[str, Any] = {
        "w": [[sv.Value(draw.uniform(-1.0, 1.0)) for _ in range(2)] for _ in range(3)],
        "b": [sv.Value(0.0), sv.Value(0.1), sv.Value(0.2, label="third")],
        "unused": sv.Value(9.0),
    }
    w, b, scale = names["w"], names["b"], sv.Value(2.0)

    return sv.compile(
        lambda x, y: [(w[i][0] * x + w[i][1] * y + b[i]).tanh() * scale for i in range(3)],
        2,
        dtype,
        engine,
        parameters=names,
    ), names


@pytest.fixture
def f() -> Any:
    return made_of_names()[0]


def test_parameters_have_names_by_their_places() -> None:
    f, names = made_of_names()
    assert [f.name_of(row) for row in (0, 5, 6, 8, 9, 10)] == [
        *("w[0, 0]", "w[2, 1]", "b[0]", "third", "unused", "p10")
    ]
    assert f.parameters[0] is names["w"][0][0] and f.parameters[9] is names["unused"]
    assert {name: wall.shape for name, wall in f.walls.items()} == {
        "w": (3, 2),
        "b": (3,),
        "unused": (),
    }


def test_a_state_dict_has_an_array_for_each_name_and_one_for_the_rest() -> None:
    f, names = made_of_names()
    found = f.state_dict()
    assert {name: array.shape for name, array in found.items()} == {
        "w": (3, 2),
        "b": (3,),
        "unused": (),
        "parameters": (1,),
    }
    assert found["w"].tolist() == [[v.data for v in row] for row in names["w"]]
    found["w"][:] = 1.0  # a copy
    assert names["w"][0][0].data != 1.0


def test_a_state_dict_is_loaded_whole_or_not_at_all() -> None:
    f, names = made_of_names()
    before = f.bank.value.copy()
    refused(InputError, "3, 2").by(f.load_state_dict, {**f.state_dict(), "w": np.ones((2, 3))})
    refused(InputError, "unused").by(f.load_state_dict, {"w": np.ones((3, 2))})
    assert (f.bank.value == before).all()
    lacking = f.load_state_dict({"w": np.ones((3, 2))}, strict=False).missing_keys
    assert lacking == ["b", "unused"] or set(lacking) == {"b", "unused", "parameters"}
    assert names["w"][2][1].data == 1.0 and names["b"][1].data == 0.1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_moves_all_named_parameters_of_all_functions(engine: str) -> None:
    f, names = made_of_names(engine)
    g = sv.compile(lambda x: names["w"][0][0] * x, 1, engine=engine, parameters=names)
    assert g.bank is f.bank
    assert np.isfinite(f.forward([1.0, 2.0]).sum() + g.forward([3.0])[0])
    f.backward()
    f.step(sv.Adam(0.1))
    first = names["w"][2][1].data
    g.zero_grad()
    g.forward([3.0])
    g.backward()
    g.step(sv.Adam(0.1))  # has no gradient for this one, and goes on as Adam does
    assert names["w"][2][1].data != first


@pytest.mark.some("float64-python", "float64-cpu")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_copy_has_numbers_of_its_own(engine: str, dtype: str) -> None:
    f, names = made_of_names(engine, dtype)
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    g = f.copy()
    assert (g.walls, g.dtype, g.engine) == (f.walls, dtype, engine)
    assert [g.name_of(row) for row in range(11)] == [f.name_of(row) for row in range(11)]
    for each in (f, g):
        each.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    assert (g.bank.value == f.bank.value).all()
    f.parameters[0].data = 5.0
    assert g.parameters[0].data != 5.0 and f.parameters[0] is names["w"][0][0]
    assert f.copy("float32").dtype == "float32"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_has_the_function_and_its_numbers(engine: str, tmp_path: Path) -> None:
    f, _ = made_of_names(engine)
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    f.save(tmp_path / "f.safetensors")
    g: Any = sv.load(tmp_path / "f.safetensors", engine)
    assert (g.walls, g.name, g.engine, repr(g)) == (f.walls, f.name, engine, repr(f))
    assert [g.name_of(row) for row in (0, 9, 10)] == [f.name_of(row) for row in (0, 9, 10)]
    batch = np.random.default_rng(0).normal(size=(5, 2))
    assert (g(batch) == f(batch)).all()
    for each in (f, g):  # the optimizer goes on, too
        each.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    assert (g.bank.value == f.bank.value).all()


def test_a_file_goes_to_no_engine_that_cannot_run_it(tmp_path: Path, f: Any) -> None:
    f.save(tmp_path / "f")
    refused(EngineError, "cuda").by(sv.load, tmp_path / "f", "cuda")
    refused(InputError, ".onnx").by(f.save, tmp_path / "f.onnx")


WRONG: dict[str, dict[str, Any]] = {
    "an operation of another name": {"operations": ["add", "system", "tanh"]},
    "no outputs": {"outputs": []},
    "an output that is not there": {"outputs": [10_000]},
    "inputs below 1": {"inputs": 0},
    "a wall beyond all parameters": {"walls": {"w": [1000, 1000]}},
    "a wall of no shape": {"walls": {"w": "big"}},
    "more inputs than memory": {"inputs": 10**12},
    "steps below 0": {"step_count": -1},
    "labels of others": {"labels": ["a", "b", "c", "d", "e"]},
    "another dtype": {"dtype": "float16"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_says_what_cannot_be_is_refused(name: str, tmp_path: Path, f: Any) -> None:
    f.save(tmp_path / "f")
    description, arrays = read(tmp_path / "f", "expression")
    write(tmp_path / "f", "expression", description | WRONG[name], arrays)
    refused(FileError, "f").by(sv.load, tmp_path / "f")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("operands", lambda a: np.full_like(a, 10**9)),
        ("operands", lambda a: a[:, :2].copy()),
        ("operands", lambda a: a[::-1].copy()),  # each would take what comes later
        ("operations", lambda a: a + 1000),
        ("operations", lambda a: a.astype(np.float64)),
        ("constants", lambda a: np.zeros((2, 2))),
        ("value", lambda a: a[:-1].copy()),
        ("slots m v", lambda a: a[:, :-1].copy()),
        ("slots m v", lambda a: a[:, :1].copy()),  # would fit any length
        ("grad", lambda a: a[:1].copy()),
    ],
)
def test_arrays_that_cannot_be_are_refused(name: str, change: Any, tmp_path: Path, f: Any) -> None:
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    f.save(tmp_path / "f")
    description, arrays = read(tmp_path / "f", "expression")
    write(tmp_path / "f", "expression", description, arrays | {name: change(arrays[name])})
    refused(FileError, "f").by(sv.load, tmp_path / "f")


def is_refused(path: Path) -> bool:
    try:
        sv.load(path)([1.0, 2.0])
    except FileError:
        return True
    return False


def test_a_spoiled_file_is_refused_or_a_function(tmp_path: Path, f: Any) -> None:
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    f.save(tmp_path / "good")
    description, arrays = read(tmp_path / "good", "expression")
    count = 0
    for seed in range(150):
        write(tmp_path / "f", "expression", spoiled(description, random.Random(seed)), arrays)
        with suppress(ShapeError):  # one of other inputs
            count += is_refused(tmp_path / "f")
    assert count > 60


def test_names_that_cannot_be_are_refused() -> None:
    a, b, c = sv.Value(1.0), sv.Value(2.0), sv.Value(3.0)

    def product(x: Any) -> Any:
        return a * b * c * x

    wrongs: list[Any] = [[a], {1: a}, {"w": 3.0}, {"w": [[a], [b, c]]}, {"w": []}, {"w": a * b}]
    for wrong in wrongs:
        refused(InputError).by(sv.compile, product, 1, parameters=wrong)
    refused(InputError, "'w'", "'v'").by(sv.compile, product, 1, parameters={"w": [a, b], "v": b})
    refused(InputError, "'w'").by(sv.compile, product, 1, parameters={"w": [a, a]})
    assert sv.compile(product, 1)([1.0])[0] == 6.0  # nothing was moved to a bank
    refused(OwnershipError, "'w'").by(sv.compile, product, 1, parameters={"w": [b, a]})


def test_a_call_that_is_refused_leaves_no_labels() -> None:
    a, b = sv.Value(1.0), sv.Value(2.0)
    refused(InputError, "'w'").by(
        sv.compile, lambda x: a * x, 1, parameters={"w": [a, b], "v": [b]}
    )
    # The name of those that have none.
    refused(InputError, "'parameters'").by(
        sv.compile, lambda x: a * b * x, 1, parameters={"parameters": [a]}
    )
    assert (a.label, b.label) == ("", "")


def test_max_of_values_says_what_to_write() -> None:
    refused(InputError, "sv.maximum(a, b)").by(sv.compile, lambda x, y: max(x, y), 2)


def test_gradients_of_a_compiled_function_are_checked(f: Any) -> None:
    assert sv.gradcheck(f, [[1.0, 2.0], [0.5, -1.0]]).error < 1e-6


X, Y = np.array([[1.0], [2.0], [-0.5]]), np.array([[1.0], [0.5], [2.0]])


def made(engine: str = "python") -> tuple[sv.Value, sv.Value, Any]:
    """A session of relu(a b + a²) x + b tanh(x)."""
    a, b = sv.Value(2.0, label="a"), sv.Value(-1.5, label="b")
    f = sv.compile(lambda x: (a * b + a**2).relu() * x + b * x.tanh(), 1, engine=engine)
    return a, b, sv.Session(f, (X, Y), optimizer=sv.SGD(0.1), engine=engine)


def test_each_node_has_the_number_and_the_gradient_that_values_have() -> None:
    a, b, s = made()
    s.advance(len(s.operations) - 1, "operation")
    leaves = a.data, b.data
    v, w = (sv.Value(each) for each in leaves)
    nodes: dict[str, list[sv.Value]] = {name: [] for name in s.operations}
    total = sv.Value(0.0)
    for (x,), (y,) in zip(X.tolist(), Y.tolist(), strict=True):
        product, square = v * w, v**2
        added = product + square
        bent = added.relu()
        first, t = bent * x, sv.Value(x).tanh()
        second = w * t
        out = first + second
        total = total + (out - y) ** 2 * (1.0 / 3.0)
        own = (product, square, added, bent, first, t, second, out)
        for name, node in zip(s.operations[1:9], own, strict=True):
            nodes[name].append(node)
    total.backward()
    for name in s.operations[1:9]:
        found = s.numbers(name)
        np.testing.assert_allclose(found.outputs[:, 0], [each.data for each in nodes[name]])
        wanted = [each.grad for each in nodes[name]]
        np.testing.assert_allclose(found.upstream[:, 0], wanted, atol=1e-14)
    np.testing.assert_allclose(s.network.bank.grad, [v.grad, w.grad])
    assert s.explain(a).total == pytest.approx(v.grad)


def test_a_shared_parameter_adds_up_node_by_node() -> None:
    a, b, s = made()
    kinds = [each.kind for each in s.trainer.moments]
    s.advance(kinds.index("operand gradient"), "operation")
    seen = [(a.grad, b.grad)]
    for _ in range(kinds.count("operand gradient")):
        s.advance(1, "operation")
        seen.append((a.grad, b.grad))
    assert seen[0] == (0.0, 0.0) and len({first for first, _ in seen}) == 3
    assert len({second for _, second in seen}) == 3
    s.back(1, "operation")
    assert (a.grad, b.grad) == seen[-2]


def test_an_edit_within_a_step_counts_from_the_next_node_on() -> None:
    a, _, s = made()
    s.advance(2, "operation")  # a b is computed
    s.edit(a, 3.0)
    s.advance(1, "operation")
    assert s.numbers("multiply 0").outputs[0, 0] == -3.0
    assert s.numbers("power 1").outputs[0, 0] == 9.0


def test_nodes_of_a_deep_function_stand_for_some_that_follow_each_other() -> None:
    a = sv.Value(0.5)

    def deep(x: sv.Value) -> sv.Value:
        y = x
        for i in range(MOST_NODES + 1):
            x, y = y, x + 0.01 * ((a * y).tanh() if i % 2 else (a * y).sin())
        return y

    f = sv.compile(deep, 1, engine="python")
    s = sv.Session(f, (X, Y), engine="python")
    assert len(s.operations) == 3 + 2 * len(f.program.nodes) <= 3 + 2 * DEEP
    s.advance(len(s.operations), "operation")
    stepped = a.data
    s.seek(0)
    s.advance(1)
    assert a.data == stepped != 0.5
    s.advance(1, "operation")
    for _ in s.operations[1:-1]:
        s.advance(1, "operation")
        assert s.caption().title
    grad, row = a.grad, int(row_numbers(f)[0])
    assert s.explain(row).total == grad
    sv.picture(s, size=(320, 200), pin=row)
    f.zero_grad()
    f.forward(X)
    f.backward(2.0 * (f(X) - Y) / len(X))
    assert a.grad == pytest.approx(grad)


@pytest.mark.parametrize("make", [lambda x, w: w, lambda x, w: x])
def test_a_function_without_operations_is_stepped_and_drawn_too(make: Any) -> None:
    w = sv.Value(0.5, label="w")
    s = sv.Session(sv.compile(lambda x: make(x, w), 1, engine="python"), (X, Y), engine="python")
    assert s.operations == ["zero_grad", "loss", "step"]
    s.advance(3, "operation")
    stepped = s.network.bank.value.tolist()
    s.seek(0)
    s.advance(1)
    assert s.network.bank.value.tolist() == stepped != [0.5]
    sv.picture(s, size=(320, 200))


# A Value is shown as the session of its graph.


def test_a_value_is_recorded_and_falls(tmp_path: Any) -> None:
    a, b = sv.Value(2.0, label="a"), sv.Value(-3.0, label="b")
    value = (a * b + a**2) * b
    size = (320, 200)
    count = sv.record(value, tmp_path / "film.gif", steps=2, size=size)
    assert count is not None and (tmp_path / "film.gif").stat().st_size > 1000
    sv.picture(value, tmp_path / "value.png", size=size)
    sv.picture((value + 1.0) * a, tmp_path / "again.png", size=size)  # its leaves are of nobody
    assert (a.data, b.data, a.grad, b.grad) == (2.0, -3.0, 0, 0)


@pytest.mark.parametrize("value", [sv.Value(1.0), sv.Value(float("nan"))])
def test_a_value_that_nothing_made_has_no_graph(value: sv.Value, tmp_path: Any) -> None:
    refused(sv.errors.InputError, value).by(sv.picture, value, tmp_path / "value.png")
