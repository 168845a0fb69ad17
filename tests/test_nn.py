"""scalarviz.nn: programs for micrograd run with the import changed."""

import random

import micrograd.nn
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.nn import MLP, Layer, Module, Neuron
from tests.wording import refused


def test_weights_are_drawn_in_order_and_biases_are_zero() -> None:
    random.seed(1337)
    drawn = [random.uniform(-1.0, 1.0) for _ in range(9)]
    random.seed(1337)
    model = MLP(2, [3, 1])
    neurons = [neuron for layer in model.layers for neuron in layer.neurons]
    assert [w.data for neuron in neurons for w in neuron.w] == drawn
    assert all(neuron.b.data == 0 for neuron in neurons)


def test_numbers_are_those_of_micrograd() -> None:
    found = []
    for module in (micrograd.nn, sv.nn):
        random.seed(1337)
        model = module.MLP(3, [4, 4, 1])
        result = model([0.5, -1.5, 2.0])
        result.backward()
        found.append((str(model), result.data, [each.grad for each in model.parameters()]))
    theirs, ours = found
    assert ours[0] == theirs[0] and ours[1] == theirs[1]
    # micrograd goes through a set, whose order is that of addresses: last bits vary by the run.
    assert ours[2] == pytest.approx(theirs[2], rel=1e-12, abs=1e-15) and any(ours[2])


def test_its_result_and_gradients_are_those_of_the_formulas() -> None:
    random.seed(5)
    model, x = MLP(2, [4, 1]), [0.5, -1.5]
    hidden, last = model.layers
    sums = [n.w[0].data * x[0] + n.w[1].data * x[1] + n.b.data for n in hidden.neurons]
    active = [max(0.0, each) for each in sums]
    (end,) = last.neurons
    result = model(x)
    assert result.data == pytest.approx(sum(w.data * a for w, a in zip(end.w, active, strict=True)))
    result.backward()
    for neuron, total, w in zip(hidden.neurons, sums, end.w, strict=True):
        slope = w.data * (total > 0.0)
        grads = [each.grad for each in neuron.parameters()]
        assert grads == pytest.approx([slope * x[0], slope * x[1], slope])
    model.zero_grad()
    assert all(each.grad == 0 for each in model.parameters())


def test_its_demo_learns_the_moons() -> None:
    random.seed(1337)
    moons = sv.data.Moons(noise=0.05, samples=40, share=1.0, signed=True, seed=1)
    points, targets = moons.training
    model = MLP(2, [8, 1])
    for step in range(40):
        losses = [(1 + -t * model(list(x))).relu() for x, (t,) in zip(points, targets, strict=True)]
        total = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(p * p for p in model.parameters())
        model.zero_grad()
        total.backward()
        for p in model.parameters():
            p.data -= (0.5 - 0.4 * step / 40) * p.grad
    right = [(model(list(x)).data > 0) == (t > 0) for x, (t,) in zip(points, targets, strict=True)]
    assert sum(right) >= 0.85 * len(right)


def test_a_compiled_one_has_its_values_as_parameters() -> None:
    random.seed(1)
    model = MLP(3, [4, 4, 1])
    f = sv.compile(lambda *x: model(x), inputs=3)
    assert set(f.parameters) == set(model.parameters())
    assert f([0.1, 0.2, 0.3])[0] == pytest.approx(model([0.1, 0.2, 0.3]).data, rel=1e-14)


def test_names_and_shapes_are_those_of_micrograd() -> None:
    layer = Layer(2, 3, nonlin=False)
    assert str(layer) == "Layer of [LinearNeuron(2), LinearNeuron(2), LinearNeuron(2)]"
    assert len(layer([1.0, 2.0])) == 3 and isinstance(Layer(2, 1)([1.0, 2.0]), sv.Value)
    assert str(MLP(1, [1])) == "MLP of [Layer of [LinearNeuron(1)]]"
    assert Module().parameters() == [] and isinstance(Neuron(1), Module)
    assert str(Neuron(nin=2, nonlin=False)) == "LinearNeuron(2)"


def test_a_wrong_number_of_inputs_is_told() -> None:
    with refused(InputError, "ReLUNeuron(2)", "3"):
        Neuron(2)([1.0, 2.0, 3.0])


def test_layers_of_pytorch_are_answered_by_where_they_are() -> None:
    with refused(AttributeError, "Linear"):
        _ = sv.nn.Linear
