"""Trace: the recorded table of a function, its formula, and its operations folded into nodes."""

import math
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.core import value_graph
from scalarviz.core.trace import Trace, record_function, recorded_inputs, write_down
from scalarviz.core.trace_program import (
    DEEP,
    Bound,
    Node,
    cones_of,
    folded,
    formula_of,
    merged,
    numbers_within,
    operands_of_node,
    slopes_of_node,
)
from scalarviz.core.value import Value
from scalarviz.errors import InputError
from scalarviz.training.network.expression import compile
from scalarviz.training.session.value_session import session_of
from tests.sessions import reloaded
from tests.wording import refused


def test_dead_code_is_dropped_and_a_leaf_used_twice_is_one_row() -> None:
    w, unused = Value(1.0), Value(2.0)

    def function(x: Any, y: Any) -> Any:
        (unused * x).exp()
        return w * x + w * 2.0 + x * 2.0

    recording = record_function(function, recorded_inputs(2))
    assert recording.parameters == [w]
    assert [formula.name for formula in recording.formulas].count("exp") == 0
    assert recording.constants.tolist() == [2.0]


def test_a_recording_prints_as_a_table() -> None:
    w = Value(1.0, label="w")
    assert repr(record_function(lambda x: (w * x - 2.5).tanh(), recorded_inputs(1))) == (
        "Trace: 1 inputs, 1 parameters, 3 operations; results [2]\n"
        "     operation  of\n"
        "[0]  multiply   w, x0\n"
        "[1]  subtract   [0], 2.5\n"
        "[2]  tanh       [1]"
    )


def test_parameters_are_the_same_objects_in_the_order_of_first_use() -> None:
    a, b, c = Value(1.0), Value(2.0), Value(3.0)
    before = a * b  # made outside: it is computed anew, from a and b

    def function(x: Any) -> Any:
        first = before * x
        second = c * x * before
        return second + first

    f = compile(function, 1, engine="python")
    assert [id(p) for p in f.parameters] == [id(a), id(b), id(c)]
    a.data = 10.0
    assert f([1.0]) == pytest.approx([80.0])


def test_another_thread_compares_while_one_records() -> None:
    seen: list[object] = []

    def function(x: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append(Value(1.0) < Value(2.0)))
        thread.start()
        thread.join()
        return x * 2.0

    compile(function, 1, engine="python")
    assert seen == [True]


# What is refused

KEPT: list[Any] = []


def keep(x: Any) -> Any:
    """Leaves a Value behind that depends on the input."""
    KEPT.append(x * 2.0)
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x > 0 else -x,
        lambda x: x if x == 1.0 else -x,
        lambda x: x if x else -x,
        lambda x: x * float(x),
        lambda x: x * int(x),
        lambda x: x * x.data,
        lambda x: x * math.sin(x),
        lambda x: max(x, 0.0),
        lambda x: x * (1.0 if Value(2.0) > 1.0 else 0.0),
    ],
)
def test_a_function_that_asks_for_a_number_is_pointed_to_where(function: Any) -> None:
    refused(InputError, "Recorded(").by(compile, function, 1)


@pytest.mark.parametrize(
    ("function", "inputs", "options", "value"),
    [
        (lambda x: 3.0, 1, {}, "gave 3.0"),
        (lambda x: None, 1, {}, "gave None"),
        (lambda x: [], 1, {}, "gave []"),
        (lambda x: [x, 1.0], 1, {}, "gave 1.0"),
        (lambda x: x, 0, {}, "not 0"),
        (lambda x: x, 1.5, {}, "not 1.5"),
        ("x * x", 1, {}, "'x * x'"),
        (lambda x: x, 1, {"dtype": "float16"}, "'float16'"),
        (lambda x: Value(x.label == "", (x,), "own"), 1, {}, "'own'"),
        (lambda x: KEPT[0] + x, 1, {}, "Recorded(x0)"),
    ],
)
def test_what_cannot_be_compiled(function: Any, inputs: Any, options: Any, value: str) -> None:
    compile(keep, 1, engine="python")
    refused(InputError, value).by(compile, function, inputs, **options)


def test_a_leaf_of_a_class_of_the_users_own() -> None:
    class Own(Value):
        pass

    refused(InputError, "Value(data=1.0, grad=0)").by(compile, lambda x: Own(1.0) * x, 1)


A, B = sv.Value(2.0, label="a"), sv.Value(3.0, label="b")


@pytest.mark.parametrize(
    ("function", "inputs", "wanted"),
    [
        (lambda x: A * (-B * x).exp(), 1, "a × exp(−b × x)"),
        (lambda x: A - (B - x), 1, "a − (b − x)"),
        (lambda x: (A - B) - x, 1, "a − b − x"),
        (lambda x: -((A + x) ** 2) / (B * x), 1, "−(a + x)^2 / (b × x)"),
        (lambda x: sv.maximum(A, x) * 3 + -A, 1, "maximum(a, x) × 3 + −a"),
        (lambda x, y: (x < A) * B + y, 2, "(x0 < a) × b + x1"),
        (lambda x: sv.where(x, A, B), 1, "where(x, a, b)"),
        (lambda x: [A * x, B * x], 1, ""),
        (lambda x: sum([A * x] * 40, x), 1, ""),  # too long
    ],
)
def test_it_reads_as_the_function_is_written(
    function: Callable[..., Any], inputs: int, wanted: str
) -> None:
    trace = sv.compile(function, inputs, engine="python").recording
    names = [value.label for value in trace.parameters]
    shown = [each for each in formula_of(trace) if not isinstance(each, Bound)]
    pieces = [names[each] if isinstance(each, int) else each for each in shown]
    assert "".join(pieces) == wanted


def trace_of(value: sv.Value) -> Trace:
    return write_down(recorded_inputs(0), [value])


def numbers_of(trace: Trace, node: Node) -> dict[int, float]:
    leaves = enumerate(trace.parameters, trace.first_parameter)
    return numbers_within(trace, node, {place: x.data for place, x in leaves})


def network(*shape: int) -> nn.MLP:
    random.seed(3)
    return nn.MLP(2, list(shape))


def test_a_graph_of_few_operations_has_a_node_for_each() -> None:
    trace = trace_of(network(4, 1)([1.0, 2.0]))
    nodes = folded(trace, 300)
    assert [node.members for node in nodes] == [(i,) for i in range(len(trace.operations))]


def test_the_neurons_of_a_network_are_nodes() -> None:
    trace = trace_of(network(16, 16, 1)([1.0, 2.0]))
    nodes = folded(trace, 300)
    assert len(nodes) == 16 + 16 + 1 and all(node.count == 1 for node in nodes)
    assert sorted(i for node in nodes for i in node.members) == list(range(len(trace.operations)))
    parameters = range(trace.first_parameter, trace.first_made)
    counts = [sum(x in parameters for x in operands_of_node(trace, node)) for node in nodes]
    assert sorted(counts) == [3] * 16 + [17] * 17


def test_a_result_with_a_label_is_a_node() -> None:
    inner = sv.Value(2.0) * 3.0
    without = cones_of(trace_of(inner + 1.0))
    inner.label = "inner"
    assert (len(without), len(cones_of(trace_of(inner + 1.0)))) == (1, 2)


def test_equal_nodes_of_samples_are_one() -> None:
    ours, samples = network(16, 1), [(0.1 * i, 1.0) for i in range(40)]
    trace = trace_of(sum((ours(pair) ** 2 for pair in samples), sv.Value(0.0)))
    assert [node.count for node in folded(trace, 300)] == [40] * 16 + [1]
    assert len(cones_of(trace)) == 40 * 16 + 1


@pytest.mark.slow
def test_equal_nodes_with_other_parameters_are_one_if_there_are_too_many() -> None:
    trace = trace_of(network(160, 160, 1)([1.0, 2.0]))
    nodes = folded(trace, 300)
    assert [node.count for node in nodes] == [160, 160, 1]
    deep = sv.Value(0.5, label="deep")
    value = deep
    for i in range(400):
        value = (value * deep).tanh() if i % 2 else value.exp()
    trace = trace_of(value)
    nodes = folded(trace, 300)  # as deep as that, no nodes are equal
    assert len(nodes) == DEEP and [each.count for each in nodes] == [1] * DEEP
    assert sorted(i for each in nodes for i in each.members) == [*range(len(trace.operations))]


@pytest.mark.parametrize("by_parameters", [True, False])
def test_merged_nodes_come_after_what_they_take(by_parameters: bool) -> None:
    ours, samples = network(6, 5, 1), [(0.1 * i, 1.0) for i in range(7)]
    trace = trace_of(sum((ours(pair).tanh() for pair in samples), sv.Value(0.0)))
    known = set(range(trace.first_made))
    nodes = merged(trace, cones_of(trace), by_parameters=by_parameters)
    for node in nodes:
        assert set(operands_of_node(trace, node)) <= known
        known |= {trace.first_made + i for i in node.members}
    assert sum(node.count for node in nodes) == len(cones_of(trace))


@pytest.mark.some(1)
@pytest.mark.parametrize("samples", [1, 40])
def test_walking_over_folded_nodes_leads_to_the_same_bits(samples: int) -> None:
    ours, pairs = network(16, 16, 1), np.random.default_rng(0).normal(size=(samples, 2)).tolist()
    value = sum(((ours(pair) - pair[0]) ** 2 for pair in pairs), sv.Value(0.0))
    walked, whole = session_of(value), session_of(value)
    assert len(walked.operations) == 2 * 33 + 3
    for _ in range(2):
        walked.advance(len(walked.operations), "operation")
        whole.advance(1)
    assert walked.network.bank.value.tobytes() == whole.network.bank.value.tobytes()
    assert walked.loss == whole.loss
    walked.back(5, "operation")
    walked.advance(5, "operation")
    assert walked.network.bank.value.tobytes() == whole.network.bank.value.tobytes()


def test_the_gradients_of_folded_nodes_are_those_of_values() -> None:
    value = (network(16, 16, 1)([0.3, -1.0]) - 2.0) ** 2
    s = session_of(value)
    s.advance(len(s.operations) - 1, "operation")
    value.backward()
    program = s.network.program
    wanted = [p.grad for p in trace_of(value).parameters]  # in the same order
    np.testing.assert_allclose(s.network.bank.grad[program.rows], wanted, atol=1e-12)
    assert s.numbers(s.operations[1]).outputs.shape == (1, 1)


def softmax(numbers: list[sv.Value], name: str) -> list[sv.Value]:
    with sv.name(name):
        powers = [each.exp() for each in numbers]
        total = sum(powers, sv.Value(0.0))
        return [each / total for each in powers]


def test_a_block_with_a_name_is_a_node_with_all_that_is_used_in_it_alone() -> None:
    a, b = sv.Value(2.0, label="a"), sv.Value(-1.0, label="b")
    with sv.name("swish"):
        x = a * b + b
        y = x * x.sigmoid() + x.tanh()
    total = y * 3.0 + y
    assert all(len(each.members) == 1 for each in folded(trace_of(total), 300))  # so few are whole
    long = total
    for _ in range(40):
        long = long + total
    assert len(folded(trace_of(long), 300)) == 3
    trace = trace_of(total)
    nodes = cones_of(trace)
    assert [len(each.members) for each in nodes] == [6, 2]
    assert trace.label(nodes[0].root) == "swish" == y.label and x.label == ""
    for place, slope in slopes_of_node(trace, nodes[0], numbers_of(trace, nodes[0])):
        y.backward()
        assert slope == pytest.approx(trace.parameters[place - trace.first_parameter].grad)
        y.zero_grad()


def test_several_results_of_a_block_have_its_name() -> None:
    found = softmax([sv.Value(0.1 * i) for i in range(3)], "attention")
    assert [each.label for each in found] == ["attention"] * 3
    with sv.name("outer"):
        inner = softmax([found[0] * 2.0, found[1]], "inner")
        kept = inner[0] + inner[1]
        kept.label = "own"
        last = kept.relu()
    assert (inner[0].label, kept.label, last.label) == ("inner", "own", "outer")


def test_a_recorded_function_has_names_too() -> None:
    def f(x: sv.Value) -> sv.Value:
        with sv.name("square"):
            y = x * w
            found = y * y.exp()
        return found + 1.0

    w = sv.Value(2.0)
    trace = sv.compile(f, 1, engine="python").program.trace
    assert [trace.label(i) for i in range(len(trace.operations))] == ["", "", "square", ""]
    assert [each.members for each in cones_of(trace)] == [(0, 1, 2), (3,)]


def test_a_block_that_fails_names_nothing_and_leaves_no_trace() -> None:
    a, made = sv.Value(1.0), list[sv.Value]()

    def fails() -> None:
        with sv.name("lost"):
            made.append(a * 2.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert made[0].label == (a + 1.0).label == "" and not value_graph.naming
    for bad in ("", None, 3):
        with refused(sv.errors.InputError, "neuron 3"), sv.name(bad):  # type: ignore[arg-type]
            pass


def test_what_is_shown_within_a_block_keeps_its_name_and_so_does_what_is_saved(
    tmp_path: Path,
) -> None:
    a = sv.Value(2.0, label="outputs")
    with sv.name("n"):
        y = abs(a)
        session = session_of(y)
    assert y.label == "n"
    session.advance(2, "operation")
    assert session.caption().title == "abs(outputs) is 2."

    def f(x: sv.Value) -> sv.Value:
        with sv.name("square"):
            z = x * a
            return z * z

    made = sv.compile(f, 1, engine="python")
    trace, again = made.program.trace, reloaded(made, tmp_path).program.trace
    assert [again.labels, again.names] == [trace.labels, trace.names]
    assert again.names == ["square", "square"]
