"""A training step as an ONNX graph trains the network in a program that knows no gradients."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import scalarviz as sv
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.errors import InputError
from scalarviz.files.onnx.training_step import KINDS, LOSSES
from tests.files.onnx.models import runner
from tests.wording import refused

STEPS = 200
Dense = sv.Dense


def session(
    *layers: sv.Layer, optimizer: Any = "adam", loss: str = "mse", **options: Any
) -> sv.Session:
    net = sv.Network([*layers], seed=1, **options)
    random = np.random.default_rng(0)
    inputs = random.normal(size=(96, net.inputs))
    targets = 0.5 * random.normal(size=(96, net.outputs))
    if loss == "softmax_cross_entropy":
        targets = np.eye(net.outputs)[random.integers(net.outputs, size=96)]
    return sv.Session(net, (inputs, targets), loss, optimizer, batch=32, engine="cpu", seed=3)


def trained(s: sv.Session, path: Path, steps: int = STEPS) -> tuple[list[float], dict[str, Any]]:
    """Losses, and all that the graph changes, of steps in onnxruntime."""
    sv.onnx.save_step(s, path)
    graph = runner(path)
    names = [each.name for each in graph.get_outputs()]
    losses, kept = [], {}
    for step in range(s.step_index, s.step_index + steps):
        inputs, targets = (each.astype(s.network.dtype) for each in s.trainer.batches.at(step))
        found = graph.run(None, {**kept, "inputs": inputs, "targets": targets})
        kept = {name.removeprefix("new "): each for name, each in zip(names, found, strict=True)}
        losses.append(float(kept.pop("loss")))
    return losses, kept


def agrees(s: sv.Session, path: Path, steps: int = STEPS) -> None:
    """The graph has the losses and the numbers of the session."""
    losses, kept = trained(s, path, steps)
    start = s.step_index
    s.advance(steps)
    np.testing.assert_allclose(losses, s.losses[start:], rtol=1e-5, atol=1e-6)
    arrays = dict(s.network.named_parameters())
    assert arrays.keys() <= kept.keys()
    for name, array in arrays.items():
        np.testing.assert_allclose(kept[name], array.value, rtol=1e-3, atol=1e-5)
    assert kept["steps"] == s.network.bank.step_count


NETWORKS: dict[str, tuple[list[sv.Layer], dict[str, Any]]] = {
    "pictures": (
        [
            sv.Conv2d((1, 6, 6), 3, 3, padding=1, activation="relu"),
            sv.Conv2d((3, 6, 6), 4, 2, stride=2, bias=False),
            sv.Flatten((4, 3, 3)),
            Dense(36, 3),
        ],
        {"loss": "softmax_cross_entropy"},
    ),
    "groups": (
        [
            sv.Conv2d((4, 7, 6), 6, (3, 2), (2, 1), 1, dilation=(1, 2), groups=2),
            sv.Conv2d((6, 4, 6), 6, 3, (1, 2), 1, bias=False, dilation=(2, 1), groups=6),
            Dense(36, 3),
        ],
        {"optimizer": sv.SGD(0.01)},
    ),
    "sequence": (
        [sv.Conv1d((3, 8), 4, 3, 2, 1, activation="tanh"), Dense(16, 8), Dense(8, 2, bias=False)],
        {"optimizer": sv.SGD(0.01)},
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_learn_as_in_the_session(name: str, tmp_path: Path) -> None:
    layers, options = NETWORKS[name]
    agrees(session(*[each.again() for each in layers], **options), tmp_path / "step.onnx")


def test_each_kind_of_operation_is_among_them() -> None:
    networks = [sv.Network([each.again() for each in layers]) for layers, _ in NETWORKS.values()]
    assert {each.kind for net in networks for each in net.program.operations} == {*KINDS}


@pytest.mark.some("relu", "tanh", "swish")
@pytest.mark.parametrize("name", [*ACTIVATIONS, "celu(2)"])
def test_activations_learn_as_in_the_session(name: str, tmp_path: Path) -> None:
    s = session(Dense(3, 8, name), Dense(8, 3), optimizer=sv.SGD(0.02))
    agrees(s, tmp_path / "step.onnx", 40)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_the_session(loss: str, tmp_path: Path) -> None:
    rate = sv.SGD(1e-3)
    agrees(
        session(Dense(3, 4, "tanh"), Dense(4, 3), optimizer=rate, loss=loss),
        tmp_path / "s.onnx",
        40,
    )


@pytest.mark.parametrize(
    "optimizer", [sv.SGD(0.1), sv.Adam(0.01)], ids=lambda optimizer: optimizer.name
)
def test_optimizers_move_as_in_the_session(optimizer: sv.Optimizer, tmp_path: Path) -> None:
    s = session(Dense(3, 8, "tanh"), Dense(8, 3), optimizer=optimizer)
    s.advance(3)  # what it has kept goes along
    agrees(s, tmp_path / "step.onnx")


def test_in_float64_all_digits_agree(tmp_path: Path) -> None:
    s = session(Dense(3, 8, "sigmoid"), Dense(8, 3), dtype="float64")
    losses, kept = trained(s, tmp_path / "step.onnx")
    s.advance(STEPS)
    np.testing.assert_allclose(losses, s.losses, rtol=1e-12)
    np.testing.assert_allclose(kept["0.weight"], s.network.layers[0].kernel, rtol=1e-11)


def test_a_layer_in_two_places_gets_both_gradients(tmp_path: Path) -> None:
    shared = Dense(4, 4, "tanh")
    agrees(session(Dense(4, 4), shared, shared, Dense(4, 1)), tmp_path / "step.onnx")


def test_nodes_are_named_after_what_they_compute_and_none_is_in_vain(tmp_path: Path) -> None:
    sv.onnx.save_step(session(Dense(3, 4, "tanh"), Dense(4, 3)), tmp_path / "step.onnx")
    graph = onnx.load(tmp_path / "step.onnx").graph
    names = [node.name for node in graph.node]
    assert {"forward/affine 0/Gemm", "forward/tanh 0/Tanh", "backward/affine 1/Gemm"} <= {*names}
    assert len({*names}) == len(names)
    read = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    assert all(read.intersection(node.output) for node in graph.node)
    # The inputs' own gradient, which nobody needs, is not among them.
    assert not any(name.startswith("backward/affine 0/MatMul") for name in names)


def test_the_rate_is_an_input(tmp_path: Path) -> None:
    s = session(Dense(3, 3), optimizer=sv.SGD(0.1))
    sv.onnx.save_step(s, tmp_path / "step.onnx")
    graph = runner(tmp_path / "step.onnx")
    inputs, targets = (each.astype(np.float32) for each in s.trainer.batches.at(0))
    given = {"inputs": inputs, "targets": targets, "learning_rate": np.array(0.0, np.float32)}
    (found,) = graph.run(["new 0.weight"], given)
    np.testing.assert_array_equal(found, s.network.layers[0].kernel)


def with_own_rate() -> sv.Session:
    s = session(Dense(3, 3))
    s.set_rate(s.network.layers[0], 0.5)
    return s


def frozen() -> sv.Session:
    s = session(Dense(3, 3), Dense(3, 3))
    s.freeze(s.network.layers[0].perceptrons[1])
    return s


def compiled() -> sv.Session:
    f = sv.compile(lambda x: x * sv.Value(2.0), inputs=1)
    return sv.Session(f, (np.ones((4, 1)), np.ones((4, 1))), "mse", "sgd")


def of_mixed_precision() -> sv.Session:
    s = session(Dense(3, 3))
    s.to("cpu", precision="mixed")
    return s


def of_custom_activation() -> sv.Session:
    sv.activation(remainder, one, check=False)
    return session(Dense(3, 3, "remainder"))


def remainder(x: float) -> float:
    return math.fmod(x, 2.0)


def one(x: float, y: float) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: session(Dense(3, 3), sv.Dropout(3, 0.5)), "dropout 1"),
        (lambda: session(Dense(3, 3), sv.BatchNorm(3)), "batch_norm 1"),
        (lambda: session(sv.Residual(Dense(3, 3))), "branch 0"),
        (lambda: session(sv.MaxPool2d((1, 2, 2), 2), Dense(1, 3)), "max_pool 0"),
        (of_custom_activation, "remainder 0"),
        (lambda: session(Dense(3, 3), loss="mae"), "'mae'"),
        (lambda: session(Dense(3, 3), optimizer="rmsprop"), "'rmsprop'"),
        (lambda: session(Dense(3, 3), optimizer=sv.SGD(0.1, clip_norm=1.0)), "clipped"),
        (lambda: session(Dense(3, 3), optimizer=sv.Adam(0.1, clip_value=1.0)), "clipped"),
        (lambda: session(Dense(3, 3), optimizer=sv.SGD(0.1, l2=1e-3)), "penalties"),
        (with_own_rate, "rates"),
        (frozen, "frozen"),
        (compiled, "compiled function"),
        (of_mixed_precision, "mixed precision"),
    ],
)
def test_other_steps_are_refused(make: Any, words: str, tmp_path: Path) -> None:
    refused(InputError, words).by(sv.onnx.save_step, make(), tmp_path / "step.onnx")
    assert not (tmp_path / "step.onnx").exists()


def test_it_takes_a_session(tmp_path: Path) -> None:
    refused(InputError, "Network").by(sv.onnx.save_step, sv.Network([3, 3]), tmp_path / "step.onnx")
