"""Programs for micrograd with the import changed, and mistakes that cause a warning."""

import math
import pickle
import random
from collections.abc import Callable
from math import tanh
from typing import Any

import micrograd.nn
import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, UnknownAttributeError
from scalarviz.nn import MLP, Layer, Module, Neuron
from tests.wording import refused


def test_weights_are_drawn_in_order_and_biases_are_zero() -> None:
    random.seed(1337)
    drawn = [random.uniform(-1.0, 1.0) for _ in range(9)]
    random.seed(1337)
    neurons = [neuron for layer in MLP(2, [3, 1]).layers for neuron in layer.neurons]
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
    # micrograd iterates over a set in address order: the last bits vary between runs.
    assert ours[2] == pytest.approx(theirs[2], rel=1e-12, abs=1e-15) and any(ours[2])


def test_names_and_shapes_are_those_of_micrograd() -> None:
    layer = Layer(2, 3, nonlin=False)
    assert str(layer) == "Layer of [LinearNeuron(2), LinearNeuron(2), LinearNeuron(2)]"
    assert len(layer([1.0, 2.0])) == 3 and isinstance(Layer(2, 1)([1.0, 2.0]), sv.Value)
    assert str(MLP(1, [1])) == "MLP of [Layer of [LinearNeuron(1)]]"
    assert Module().parameters() == [] and isinstance(Neuron(1), Module)
    assert str(Neuron(nin=2, nonlin=False)) == "LinearNeuron(2)"


def test_a_wrong_number_of_inputs_is_told() -> None:
    refused(InputError, "ReLUNeuron(2)", "3").by(Neuron(2), [1.0, 2.0, 3.0])


def test_layers_of_pytorch_are_answered_by_where_they_are() -> None:
    with refused(AttributeError, "Linear"):
        _ = sv.nn.Linear


INPUTS, ROWS = np.arange(8.0).reshape(4, 2), np.eye(3)[[0, 1, 2, 0]]
V = sv.Value(0.5)


def network(output: str = "linear", engine: str = "python") -> sv.Network:
    return sv.Network([2, 4, 3], "relu", output, engine=engine)


@pytest.mark.parametrize("output", ["relu", "relu_right", "softplus", "exp"])
@pytest.mark.parametrize("loss", ["softmax_cross_entropy", "sigmoid_cross_entropy"])
def test_logits_without_a_sign(output: str, loss: str) -> None:
    with pytest.warns(UserWarning, match=f"'{loss}' .*'{output}'.* 'linear'") as found:
        sv.Session(network(output), (INPUTS, ROWS), loss, sv.SGD(0.01))
    assert {each.filename for each in found} == {__file__}
    with pytest.warns(UserWarning, match=f"'{output}'"):
        network(output).train_step(INPUTS, ROWS, loss, sv.SGD(0.01))


@pytest.mark.parametrize("output", ["linear", "leaky_relu", "tanh", "gelu", "swish", "elu"])
def test_logits_of_both_signs_are_no_mistake(output: str) -> None:
    network(output).train_step(INPUTS, ROWS, "softmax_cross_entropy", sv.SGD(0.01))
    network("relu").train_step(INPUTS, ROWS, "mse", sv.SGD(0.01))


def test_a_batch_larger_than_the_data() -> None:
    refused(InputError, "4 samples", "not 5: None").by(
        sv.Session, network(), (INPUTS, ROWS), batch=5
    )
    sv.Session(network(), (INPUTS, ROWS), batch=4)


def called_again() -> float:
    exp = math.exp
    return exp(V)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: math.exp(V), "exp"),
        (lambda: math.log(V + 1.0) * 2.0, "log"),
        (lambda: tanh(-V), "tanh"),
        (lambda: [math.sqrt(v) for v in (V, V)], "sqrt"),
        (called_again, "exp"),
    ],
    ids=["exp", "log", "tanh", "sqrt", "local"],
)
def test_functions_of_math_on_values(call: Callable[[], object], name: str) -> None:
    with pytest.warns(UserWarning, match=rf"math\.{name} .* v\.{name}\(\)") as found:
        call()
    assert found[0].filename == __file__


def test_numbers_of_values_may_be_taken() -> None:
    assert math.exp(float(V)) == math.exp(V.data) == V.exp().data
    assert [float(v) for v in (V, V)] == [0.5, 0.5] and f"{V:.1f}" == "0.5"
    assert not math.isnan(V) and math.isclose(V, 0.5)
    assert np.array([V, math.exp(0.0)], float).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("keeps", [False, True], ids=["call", "forward"])
def test_backward_without_the_gradient_of_a_loss(engine: str, keeps: bool) -> None:
    net, mse = network(engine=engine), sv.Loss("mse")
    (mse.forward if keeps else mse)(outputs := net.forward(INPUTS), ROWS)
    with pytest.warns(UserWarning, match=r"loss\.backward") as found:
        net.backward()
    assert found[0].filename == __file__ and outputs.shape == (4, 3)
    net.forward(INPUTS)
    net.backward()


def test_backward_with_the_gradient_of_a_loss_or_without_a_loss() -> None:
    net, mse = network(), sv.Loss("mse")
    mse.forward(net.forward(INPUTS), ROWS)
    net.backward(mse.backward())
    mse(net(INPUTS), ROWS)
    net.forward(INPUTS)
    net.backward()
    mse(net.forward(INPUTS).copy(), ROWS)
    again = pickle.loads(pickle.dumps(net))
    again.forward(INPUTS)
    again.backward()


def test_a_loss_says_where_its_backward_is() -> None:
    mse = sv.Loss("mse")
    for loss in (mse(INPUTS, INPUTS + 1.0), mse.forward(INPUTS, INPUTS + 1.0)):
        assert repr(loss) == "1.0" and isinstance(loss, float)
        with refused(UnknownAttributeError, "net.backward(loss.backward())"):
            _ = loss.backward  # type: ignore[attr-defined]  # on purpose


def test_what_cannot_be_shown_says_what_can() -> None:
    s = sv.Session(network(), (INPUTS, ROWS))
    shown: list[tuple[Any, str]] = [
        (sv.replicate(s, range(2)), "networks[0]"),
        (s.network.weight(0), "pin="),
        (s.network[0], "pin="),
        (s.network, "sv.Session(network, data)"),
        (V, "no operation made it"),
    ]
    for thing, remedy in shown:
        refused(InputError, remedy).by(sv.picture, thing)
