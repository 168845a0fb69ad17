"""Graphs of many operations are folded into nodes that are shown as one."""

import random
from pathlib import Path

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.core import value_graph
from scalarviz.core.trace import Trace, recorded_inputs, write_down
from scalarviz.core.trace_program import (
    DEEP,
    Node,
    cones_of,
    folded,
    merged,
    numbers_within,
    operands_of_node,
    slopes_of_node,
)
from scalarviz.training.session.value_session import session_of
from tests.wording import refused


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
    every = sorted(i for node in nodes for i in node.members)
    assert every == list(range(len(trace.operations)))
    parameters = range(trace.first_parameter, trace.first_made)
    counts = [sum(x in parameters for x in operands_of_node(trace, node)) for node in nodes]
    assert sorted(counts) == [3] * 16 + [17] * 17


def test_a_result_with_a_label_is_a_node() -> None:
    a = sv.Value(2.0)
    inner = a * 3.0
    without = cones_of(trace_of(inner + 1.0))
    inner.label = "inner"
    assert (len(without), len(cones_of(trace_of(inner + 1.0)))) == (1, 2)


def test_equal_nodes_of_samples_are_one() -> None:
    ours, samples = network(16, 1), [(0.1 * i, 1.0) for i in range(40)]
    trace = trace_of(sum((ours(pair) ** 2 for pair in samples), sv.Value(0.0)))
    nodes = folded(trace, 300)
    assert [node.count for node in nodes] == [40] * 16 + [1]
    assert len(cones_of(trace)) == 40 * 16 + 1


def test_equal_nodes_with_other_parameters_are_one_if_there_are_too_many() -> None:
    ours = network(160, 160, 1)
    trace = trace_of(ours([1.0, 2.0]))
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
    ours = network(16, 16, 1)
    value = (ours([0.3, -1.0]) - 2.0) ** 2
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
        leaf = trace.parameters[place - trace.first_parameter]
        assert slope == pytest.approx(leaf.grad)
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
    made.save(tmp_path / "f.safetensors")
    trace, again = made.program.trace, sv.load(tmp_path / "f.safetensors").program.trace
    assert [again.labels, again.names] == [trace.labels, trace.names]
    assert again.names == ["square", "square"]
