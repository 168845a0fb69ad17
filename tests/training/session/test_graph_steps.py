"""A compiled function of few operations steps from node to node, forward and back."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.trace_program import DEEP, MOST_NODES
from tests.wording import refused

X, Y = np.array([[1.0], [2.0], [-0.5]]), np.array([[1.0], [0.5], [2.0]])


def made(engine: str = "python") -> tuple[sv.Value, sv.Value, Any]:
    """A session of relu(a b + a²) x + b tanh(x)."""
    a, b = sv.Value(2.0, label="a"), sv.Value(-1.5, label="b")
    f = sv.compile(lambda x: (a * b + a**2).relu() * x + b * x.tanh(), 1, engine=engine)
    return a, b, sv.Session(f, (X, Y), optimizer=sv.SGD(0.1), engine=engine)


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_walking_leads_to_the_bits_of_whole_steps(engine: str) -> None:
    _, _, walked = made(engine)
    _, _, whole = made(engine)
    for _ in range(3):
        walked.advance(len(walked.operations), "operation")
        whole.advance(1)
        assert walked.network.bank.value.tobytes() == whole.network.bank.value.tobytes()
        assert walked.loss == whole.loss
    walked.back(5, "operation")
    walked.advance(5, "operation")
    assert walked.network.bank.value.tobytes() == whole.network.bank.value.tobytes()


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
    with refused(sv.errors.InputError, value):
        sv.picture(value, tmp_path / "value.png")
