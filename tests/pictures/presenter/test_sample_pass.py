"""One sample on its way: the same numbers as the session's, and products that add up."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import scalarviz as sv
from scalarviz.core.program import NONE
from scalarviz.scene.frame_data import CardTable
from scalarviz.stage.channels import ChannelSource, names_of, read
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.stage.sample_pass import (
    SampleContext,
    SamplePass,
    backward,
    forward,
    forward_products,
    gradient_products,
)
from scalarviz.training.session.session import Session
from tests.sessions import advanced
from tests.strategies import networks

LAYERS: dict[str, Callable[[], list[sv.Layer]]] = {
    "tanh": lambda: [sv.Dense(3, 5, "tanh"), sv.Dense(5, 2, "sigmoid")],
    "sigmoid": lambda: [sv.Dense(3, 4, "sigmoid"), sv.Dense(4, 2, "linear", bias=False)],
    "leaky_relu": lambda: [sv.Dense(3, 6, "leaky_relu"), sv.Dense(6, 2, "tanh")],
    "layer norm": lambda: [sv.Dense(3, 4, "tanh"), sv.LayerNorm(4), sv.Dense(4, 2)],
    "rms norm": lambda: [sv.RMSNorm(3), sv.Dense(3, 2, "tanh")],
    "softmax": lambda: [sv.Dense(3, 2, "tanh"), sv.Softmax(2)],
    "pool": lambda: [sv.Dense(3, 8, "tanh"), sv.MaxPool2d((2, 2, 2)), sv.AvgPool2d((2, 1, 1), 1)],
    "convolution": lambda: [
        sv.Dense(3, 18, "tanh"),
        sv.Conv2d((2, 3, 3), 3, padding=1),
        sv.Dense(27, 2),
    ],
    "dropout": lambda: [sv.Dense(3, 8, "tanh"), sv.Dropout(8), sv.Dense(8, 2)],
    "residual": lambda: [sv.Residual(sv.Dense(3, 4, "tanh"), sv.Dense(4, 3)), sv.Dense(3, 2)],
    "encoding": lambda: [sv.FrequencyEncoding(3, octaves=2), sv.Dense(12, 2, "sigmoid")],
}


def session_of(layers: list[sv.Layer], engine: str = "python", loss: str = "mse") -> Session:
    net = sv.Network(layers, init="xavier_uniform", seed=0, dtype="float64")
    rng = np.random.default_rng(1)
    net.bank.value[:] += 0.3 * rng.normal(size=len(net.bank))
    pairs = rng.normal(size=(7, 3)), rng.uniform(0.1, 0.9, size=(7, 2))
    return sv.Session(net, pairs, loss=loss, optimizer=sv.SGD(0.1), batch=7, engine=engine)


def before_the_step(session: Session) -> None:
    """Everything of the step is known, and the weights have not moved."""
    session.advance(len(session.network.program.moments) - 1, "operation")


def ways(session: Session) -> list[SamplePass]:
    """Of each sample of the batch."""
    net, trainer = session.network, session.trainer
    inputs, targets = trainer.batches.at(session.clock.step)
    found = []
    for i, (x, target) in enumerate(zip(inputs, targets, strict=True)):
        place = SampleContext(net.bank.state, session.clock.step, i)
        way = forward(net.program, net.bank.value, x, place)
        numbers = way, target, trainer.loss, len(inputs), place
        found.append(backward(net.program, net.bank.value, *numbers))
    return found


def assert_same(session: Session) -> None:
    for number, way in enumerate(ways(session)):
        for operation in session.network.program.operations:
            numbers = session.numbers(operation.name)
            for known, own in (
                (numbers.inputs, way.values[operation.source.name]),
                (numbers.outputs, way.values[operation.target.name]),
                (numbers.upstream, way.flows[operation.target.name]),
                (numbers.gradient, way.flows[operation.source.name]),
            ):
                if known is not None:
                    np.testing.assert_allclose(own, known[number], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("kind", LAYERS)
def test_every_buffer_holds_what_the_session_says(kind: str, engine: str) -> None:
    session = advanced(session_of(LAYERS[kind](), engine), 2)
    before_the_step(session)
    assert_same(session)
    program = session.network.program
    seen = [session.numbers(op.name) for op in program.operations]
    assert all(each.outputs is not None for each in seen)
    assert all(each.upstream is not None for each in seen[program.first_parameters :])


@given(made=networks())
def test_the_products_of_all_samples_add_up_to_the_gradient(
    made: tuple[sv.Network, np.ndarray],
) -> None:
    net, x = made
    target = np.random.default_rng(0).normal(size=(len(x), net.program.outputs.size))
    session = sv.Session(net, (x, target), optimizer=sv.SGD(0.01), engine="python")
    before_the_step(session)
    found = [gradient_products(net.program, len(net.bank), way) for way in ways(session)]
    np.testing.assert_allclose(np.sum(found, axis=0), net.bank.grad, rtol=1e-9, atol=1e-9)


@given(made=networks())
def test_the_products_of_weights_and_inputs_add_up_to_the_sums(
    made: tuple[sv.Network, np.ndarray],
) -> None:
    net, x = made
    way = forward(net.program, net.bank.value, x[0])
    products = forward_products(net.program, net.bank.value, way)
    for operation in net.program.operations:
        if operation.weights == NONE:
            continue
        if operation.outputs_per_bias > 1 or operation.kind == "convolution":
            continue  # a mean over several places adds up to no sum
        size, biased = operation.target.size, operation.biases != NONE
        count = len(operation.parameters) - biased * size
        found = products[operation.weights :][:count].reshape(size, -1).sum(axis=1)
        if biased:
            found += products[operation.biases :][:size]
        np.testing.assert_allclose(found, way.values[operation.target.name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("tanh", -1.82, 1.82),
        ("sigmoid", -3.63, 3.63),
        ("relu", 0.0, np.inf),
        ("leaky_relu", 0.0, np.inf),
    ],
)
def test_a_neuron_is_saturated_where_it_hardly_answers(name: str, low: float, high: float) -> None:
    net = sv.Network([sv.Dense(1, 1, name)], seed=0, dtype="float64")
    net.bank.value[:] = [1.0, 0.0]
    for z in (-9.0, low - 0.02, low + 0.02, 0.02, min(high, 9.0) - 0.02, min(high, 8.0) + 0.02):
        way = forward(net.program, net.bank.value, [z])
        (flat,) = way.saturated[net.program.outputs.name]
        assert bool(flat) == (not low < z < high)


# What the inspector says.


@pytest.mark.some(4)
@pytest.mark.parametrize("kind", LAYERS)
def test_the_terms_that_are_displayed_add_up_to_the_gradient(kind: str) -> None:
    session = advanced(session_of(LAYERS[kind]()), 1)
    before_the_step(session)
    bank = session.network.bank
    for row in range(len(bank)):
        said = session.explain(row)
        assert said.total == pytest.approx(bank.grad[row], abs=1e-6)
        (table,) = [
            block for block in blocks_of_weight(session, row) if isinstance(block, CardTable)
        ]
        total = float(table.total[-1])
        assert total == pytest.approx(bank.grad[row], rel=0.06, abs=1e-9)
        assert len(table.rows) == min(len(said.x), 40)
        shown = [float(cells[3]) for cells in table.rows]
        shown += [float(table.rests[-1][3])] if table.rests[-1] else []
        assert sum(shown) == pytest.approx(total, rel=0.06, abs=0.06 * np.abs(shown).max())
        for cells in table.rows:
            x, g, product = (float(cell) for cell in cells[1:])
            assert x * g == pytest.approx(product, abs=0.06 * np.abs(shown).max())


# Channels.


def test_channels_of_a_sample_are_zero_while_no_sample_is_followed() -> None:
    session = session_of(LAYERS["tanh"]())
    snapshot = session.snapshot()
    snapshot.request()
    numbers = snapshot.read()
    source = ChannelSource(numbers, numbers.value, session.network.program, SamplePass())
    for name in names_of([], has_layers=True):
        found = read(name, source)
        assert len(found) == len(numbers.value)
        assert name == "value" or not found.any()
    plain = "value", "gradient", "last change", "change since start"
    assert names_of(["m"], has_layers=False) == [*plain, "m"]
