"""Class labels as targets: the error shows the code that makes rows of them."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import ShapeError
from tests.wording import refused

SAMPLES, CLASSES = 6, 3
X = np.arange(12.0).reshape(SAMPLES, 2) / 12.0
LABELS = np.array([0, 1, 2, 2, 1, 0])


def net() -> sv.Network:
    return sv.Network([2, 4, CLASSES], "tanh", seed=0)


# Wherever targets come in.
WAYS: dict[str, Callable[[Any], Any]] = {
    "train": lambda t: net().train(X, t, "softmax_cross_entropy", steps=1),
    "train_step": lambda t: net().train_step(X, t, "softmax_cross_entropy"),
    "a session": lambda t: sv.Session(net(), (X, t), "softmax_cross_entropy", engine="python"),
    "a data set": lambda t: sv.Session(net(), data.Arrays(X, t), engine="python"),
    "data that is exchanged": lambda t: setattr(
        sv.Session(net(), (X, np.eye(CLASSES)[LABELS]), engine="python"), "data", (X, t)
    ),
    "a loss": lambda t: sv.Loss("softmax_cross_entropy").forward(net()(X), t),
    "an expression": lambda t: sv.compile(
        lambda a, b: [a, b, a + b], inputs=2, engine="python"
    ).train_step(X, t, "softmax_cross_entropy"),
}
every_way = pytest.mark.parametrize("way", WAYS)


@every_way
@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS.tolist(), LABELS[:, np.newaxis], LABELS.astype(float), LABELS.astype("u1")],
    ids=["n", "list", "n x 1", "floats", "bytes"],
)
def test_labels_are_answered_by_the_code_that_makes_rows(way: str, labels: Any) -> None:
    with refused(ShapeError, "rows of 3 numbers") as said:
        WAYS[way](labels)
    code = re.search(r"np\.eye\(.*$", str(said.value))
    assert code is not None
    WAYS[way](eval(code[0], {"np": np, "labels": labels}))


def test_plain_labels_get_the_short_code() -> None:
    with refused(ShapeError, "(6,)"):
        net().train(X, LABELS, "softmax_cross_entropy", steps=1)


def test_as_many_labels_as_classes_are_labels_too() -> None:
    with refused(ShapeError, "3 rows"):
        net().train(X[:3], [0, 1, 2], "softmax_cross_entropy", steps=1)


@every_way
def test_labels_beyond_the_outputs_are_told(way: str) -> None:
    with refused(ShapeError, "labels up to 9"):
        WAYS[way](LABELS + 7)


@every_way
@pytest.mark.parametrize("targets", [LABELS + 0.5, LABELS - 1.0, np.zeros((SAMPLES, 2))])
def test_what_is_no_label_gets_no_such_hint(way: str, targets: Any) -> None:
    with pytest.raises(ShapeError) as said:
        WAYS[way](targets)
    assert "label" not in str(said.value)


def test_one_output_takes_a_column() -> None:
    one = sv.Network([2, 1])
    with refused(ShapeError, "(6,)"):
        one.train(X, LABELS, steps=1)
    one.train(X, np.reshape(LABELS, (-1, 1)), steps=1)
    sv.Session(one, (X, LABELS), engine="python")  # a data set makes the column itself


def test_targets_that_fit_are_not_blamed_for_inputs_that_do_not() -> None:
    net = sv.Network([2, 1])
    for targets in (np.zeros(4), np.zeros((4, 1))):
        with refused(ShapeError, "3 -> 1"):
            sv.Session(net, (np.zeros((4, 3)), targets))
