"""Targets with one number a sample: numbers of one output, or class labels of a loss on logits."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from tests.sessions import advanced
from tests.wording import refused

SAMPLES, CLASSES = 6, 3
X = np.arange(12.0).reshape(SAMPLES, 2) / 12.0
LABELS = np.array([0, 1, 2, 2, 1, 0])
ROWS = np.eye(CLASSES)[LABELS]
SOFTMAX, SIGMOID = "softmax_cross_entropy", "sigmoid_cross_entropy"

# What torch.nn.functional.cross_entropy and binary_cross_entropy_with_logits return in float64, and
# their gradients for the logits, with LOGITS and LABELS, or the column 0 of LOGITS and LABELS > 0.
LOGITS = np.array(
    [[0.5, -1.0, 2.0], [0.0, 0.25, -0.5], [3.0, 1.0, -2.0], [-1.0, 0.0, 1.0], [2, 2, 2], [-4, 0, 4]]
)
TORCH = {
    SOFTMAX: 2.8683838306143996,
    "gradients of softmax": [0.05765903247039496, -0.09263100347305576, 0.03497197100266081],
    SIGMOID: 0.5290251904654665,
    "gradients of sigmoid": [
        0.10374322186697577,
        -0.08333333333333333,
        -0.007904312196261106,
        -0.12184309643833414,
        -0.01986715367035295,
        0.0029977016603485933,
    ],
}


def net(outputs: int = CLASSES, dtype: Any = "float64") -> sv.Network:
    return sv.Network([2, 4, outputs], "tanh", seed=0, dtype=dtype)


def expression(outputs: int) -> Any:
    functions = {3: lambda a, b: [a, b, a + b], 1: lambda a, b: a + b}
    return sv.compile(functions[outputs], inputs=2, engine="python")


def session(pair: Any, outputs: int, loss: str, engine: str = "python") -> float:
    s = advanced(sv.Session(net(outputs), pair, loss, sv.SGD(0.1), engine=engine), 2)
    return s.loss


def exchanged(targets: Any, outputs: int, loss: str) -> float:
    s = sv.Session(net(outputs), (X, np.zeros((SAMPLES, outputs))), loss, engine="python")
    s.data = (X, targets)
    s.advance(1)
    return s.loss


def made(targets: Any, outputs: int, loss: str) -> float:
    make = data.Generated(lambda *_: (X, targets), inputs=2, outputs=outputs, samples=SAMPLES)
    return session(make, outputs, loss)


def replicated(targets: Any, outputs: int, loss: str) -> float:
    s = sv.Session(net(outputs), (X, targets), loss, sv.SGD(0.1), engine="cpu")
    runs = advanced(sv.replicate(s, [0]), 2)
    return float(runs.losses[0, 1])


# Wherever targets come in.
Way = Callable[[Any, int, str], Any]
WAYS: dict[str, Way] = {
    "train": lambda t, n, loss: net(n).train(X, t, loss, steps=2)[1],
    "train on cpu": lambda t, n, loss: net(n).to("cpu").train(X, t, loss, steps=2)[1],
    "train_step": lambda t, n, loss: net(n).train_step(X, t, loss),
    "a session": lambda t, n, loss: session((X, t), n, loss),
    "a session on cpu": lambda t, n, loss: session((X, t), n, loss, "cpu"),
    "a data set": lambda t, n, loss: session(data.Arrays(X, t), n, loss),
    "data that is exchanged": exchanged,
    "a loss": lambda t, n, loss: sv.Loss(loss).forward(net(n)(X), t),
    "a loss, called": lambda t, n, loss: sv.Loss(loss)(net(n)(X), t),
    "an expression": lambda t, n, loss: expression(n).train_step(X, t, loss),
    "replicas": replicated,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
every_kind = pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS.tolist(), LABELS[:, np.newaxis], LABELS.astype(float), LABELS.astype("u1")],
    ids=["n", "list", "n x 1", "floats", "bytes"],
)


@every_kind
@every_way
def test_labels_are_what_their_rows_are(way: Way, labels: Any) -> None:
    for loss in (SOFTMAX, SIGMOID):
        assert way(labels, CLASSES, loss) == way(ROWS, CLASSES, loss), loss


@every_way
@pytest.mark.parametrize("targets", [LABELS > 0, LABELS / 2.0, (LABELS > 0).tolist()])
def test_one_output_takes_one_number_a_sample(way: Way, targets: Any) -> None:
    for loss in (SIGMOID, "mse"):
        assert way(targets, 1, loss) == way(np.reshape(targets, (-1, 1)), 1, loss), loss


def test_a_function_that_makes_batches_takes_one_number_a_sample_too() -> None:
    assert made(LABELS / 2.0, 1, "mse") == made(np.reshape(LABELS / 2.0, (-1, 1)), 1, "mse")


def test_a_table_of_a_class_of_ones_own_takes_one_number_a_sample_too() -> None:
    class Mine(data.data_set.TableSet):
        def __init__(self) -> None:
            super().__init__((X, LABELS / 2.0), {}, (X[:2], LABELS[:2] / 2.0))

    own = Mine()
    assert own.held_out is not None
    assert (own.outputs, own.training[1].shape, own.held_out[1].shape) == (1, (6, 1), (2, 1))


def test_as_many_labels_as_classes_are_labels() -> None:
    labels, rows = [2, 1, 0], np.eye(3)[[2, 1, 0]]
    assert net().train_step(X[:3], labels, SOFTMAX) == net().train_step(X[:3], rows, SOFTMAX)


def test_softmax_cross_entropy_of_labels_is_that_of_pytorch() -> None:
    loss = sv.Loss(SOFTMAX)
    assert loss.forward(LOGITS, LABELS) == pytest.approx(TORCH[SOFTMAX], abs=1e-15)
    assert loss.backward()[1] == pytest.approx(TORCH["gradients of softmax"], abs=1e-15)


def test_sigmoid_cross_entropy_of_labels_is_that_of_pytorch() -> None:
    loss = sv.Loss(SIGMOID)
    assert loss.forward(LOGITS[:, :1], LABELS > 0) == pytest.approx(TORCH[SIGMOID], abs=1e-15)
    assert loss.backward()[:, 0] == pytest.approx(TORCH["gradients of sigmoid"], abs=1e-15)


@every_way
@pytest.mark.parametrize("loss", [SOFTMAX, SIGMOID])
def test_labels_beyond_the_outputs_are_refused(way: Way, loss: str) -> None:
    with refused(InputError, "from 0 to 2", "not 3 at row 2", "5 outputs"):
        way([0, 2, 3, 4, 1, 0], CLASSES, loss)


@every_way
def test_softmax_needs_an_output_for_each_class(way: Way) -> None:
    with refused(InputError, "from 0 to 0", "2 outputs"):
        way(LABELS > 0, 1, SOFTMAX)


@every_way
@pytest.mark.parametrize("targets", [LABELS + 0.5, LABELS - 1.0])
def test_labels_that_are_no_class_are_refused(way: Way, targets: Any) -> None:
    with refused(InputError, "not -1" if targets[0] < 0 else "not 0.5", "at row 0"):
        way(targets, CLASSES, SOFTMAX)


@every_way
def test_labels_that_are_not_finite_are_refused(way: Way) -> None:
    with pytest.raises(NotFiniteError):
        way([0, 1, np.nan, 2, 1, 0], CLASSES, SOFTMAX)


def test_the_classes_of_arrays_are_checked() -> None:
    assert data.Arrays(X, LABELS, classes=4).outputs == 4
    with refused(InputError, "from 0 to 1", "3 outputs"):
        data.Arrays(X, LABELS, classes=2)
    with refused(ShapeError, "3 numbers"):
        data.Arrays(X, ROWS, classes=3)
    with refused(InputError, "'three'"):
        data.Arrays(X, LABELS, classes="three")  # type: ignore[arg-type]  # that is tested


# A loss that takes no labels.


def test_a_loss_without_labels_answers_with_the_code_that_makes_rows() -> None:
    for way in (WAYS["train"], WAYS["a session"], WAYS["a loss"], WAYS["an expression"]):
        with refused(ShapeError, "rows of 3 numbers") as said:
            way(LABELS, CLASSES, "mse")
        code = re.search(r"np\.eye\(.*$", str(said.value))
        assert code is not None
        way(eval(code[0], {"np": np, "labels": LABELS}), CLASSES, "mse")


def test_what_is_no_label_gets_no_such_hint() -> None:
    for targets in (LABELS + 0.5, LABELS - 1.0, np.zeros((SAMPLES, 2))):
        with pytest.raises(ShapeError) as said:
            net().train(X, targets, "mse", steps=1)
        assert "label" not in str(said.value)


def test_targets_that_fit_are_not_blamed_for_inputs_that_do_not() -> None:
    net = sv.Network([2, 1])
    for targets in (np.zeros(4), np.zeros((4, 1))):
        with refused(ShapeError, "3 -> 1"):
            sv.Session(net, (np.zeros((4, 3)), targets))
