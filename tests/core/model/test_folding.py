"""Graphs of many operations are folded into nodes that are shown as one."""

import random

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import nn
from scalarviz.core.model.folding import cones_of, folded, merged, operands_of_node
from scalarviz.core.model.trace import Trace, recorded_inputs, write_down
from scalarviz.training.session.of_value import session_of


def trace_of(value: sv.Value) -> Trace:
    return write_down(recorded_inputs(0), [value])


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
    ours = network(400, 400, 1)
    trace = trace_of(ours([1.0, 2.0]))
    nodes = folded(trace, 300)
    assert [node.count for node in nodes] == [400, 400, 1]
    deep = sv.Value(0.5, label="deep")
    value = deep
    for i in range(400):
        value = (value * deep).tanh() if i % 2 else value.exp()
    assert folded(trace_of(value), 300) == []  # as deep as that, no nodes are equal


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
