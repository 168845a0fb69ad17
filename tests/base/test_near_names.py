"""Unknown names and arguments of other libraries are answered with the names used here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import near_names
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.schedules import SCHEDULES
from scalarviz.engines.registry import AUTO, ENGINES
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused


def network() -> sv.Network:
    return sv.Network([2, 3, 1], seed=0)


PAIR = ([[0.0, 1.0]], [[1.0]])


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("Linear", r"write sv\.Dense\(inputs, outputs\)"),
        ("ReLU", r"an activation is a word: write sv\.Dense\(3, 8, 'relu'\)"),
        ("LeakyReLU", r"write sv\.Dense\(3, 8, 'leaky_relu'\)"),
        ("SiLU", r"write sv\.Dense\(3, 8, 'swish'\)"),
        ("tanh", r"write sv\.Dense\(3, 8, 'tanh'\)"),
        ("Sequential", r"write sv\.Network\(\["),
        ("nn", r"layers are in sv itself"),
        ("optim", r"the optimizers are sv\.SGD"),
        ("CrossEntropyLoss", r"write sv\.Loss\('softmax_cross_entropy'\)"),
        ("MSELoss", r"write sv\.Loss\('mse'\)"),
        ("StepLR", r"write sv\.Schedule\('step', every=step_size, factor=gamma\)"),
        ("BatchNorm2d", r"did you mean 'BatchNorm'\?"),
        ("RMSprop", r"did you mean 'RMSProp'\?"),
        ("Parameter", r"did you mean 'Weight'\?"),
        ("DataLoader", r"write sv\.data\.Arrays\(inputs, targets\)"),
        ("Xor", r"it is in sv\.data: write sv\.data\.Xor"),
        ("ReduceLROnPlateau", r"did you mean 'ReduceOnPlateau'\?"),
        ("ModelCheckpoint", r"write s\.on_step\(f"),
        ("Netwrok", r"did you mean 'Network'\?"),
    ],
)
def test_a_name_of_another_library_is_answered_by_ours(name: str, ours: str) -> None:
    with refused(AttributeError, name):
        getattr(sv, name)


class MSELoss:
    """As PyTorch's: an object, where ours is a name."""


def relu(x: float) -> float:
    return max(x, 0.0)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: network().layers[0].set_activation("ReLU"), "'ReLU'"),
        (lambda: sv.Network([2, 3, 1], "lrelu"), "'lrelu'"),
        (lambda: sv.Network([2, 3, 1], "SiLU"), "'SiLU'"),
        (lambda: sv.Network([2, 3, 1], "identity"), "'identity'"),
        (lambda: sv.Network([2, 3, 1], relu), "relu"),  # type: ignore[arg-type]  # on purpose
        (lambda: sv.Network([2, 3, 1], "selu"), "'selu'"),
        (lambda: sv.Network([2, 3, 1], "tan"), "'tan'"),
        (lambda: sv.Loss("cross_entropy"), "'cross_entropy'"),
        (lambda: sv.Loss("crossentropy"), "'crossentropy'"),
        (lambda: sv.Loss("BCEWithLogitsLoss"), "'BCEWithLogitsLoss'"),
        (lambda: sv.Loss("L1Loss"), "'L1Loss'"),
        (lambda: sv.Loss(MSELoss()), "<tests.base"),  # type: ignore[arg-type]  # on purpose
        (lambda: sv.Schedule("CosineAnnealingLR"), "'CosineAnnealingLR'"),
        (lambda: sv.Schedule("step", step_size=3), "'step_size'"),
        (lambda: sv.Schedule("cosine", T_max=3), "'T_max'"),
        (lambda: sv.Init("kaiming_uniform_"), "'kaiming_uniform_'"),
        (lambda: sv.Init("glorot_normal"), "'glorot_normal'"),
        (lambda: network().to("gpu"), "'gpu'"),
        (lambda: network().to("cuda:0"), "'cuda:0'"),
        (lambda: sv.Network([2, 1], dtype=np.float32), "'numpy.float32'"),  # type: ignore[arg-type]  # on purpose
        (lambda: sv.Network([2, 1], dtype=np.dtype("float64")), "float64"),  # type: ignore[arg-type]  # on purpose
        (lambda: sv.Network([2, 1], dtype="half"), "'half'"),
    ],
)
def test_a_word_of_another_library_is_answered_by_ours(call: Callable[[], Any], value: str) -> None:
    with refused(UnknownNameError, value):
        call()


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: sv.Adam(weight_decay=0.1), "'weight_decay'"),
        (lambda: sv.AdamW(weight_decay=0.1), "'weight_decay'"),
        (lambda: sv.SGD(weight_decay=0.1), "'weight_decay'"),
        (lambda: sv.SGD(0.1, momentum=0.9), "'momentum'"),
        (lambda: sv.SGD(0.1, nesterov=True), "'nesterov'"),
        (lambda: sv.Momentum(0.1, nesterov=True), "'nesterov'"),
        (lambda: sv.Adam(betas=(0.9, 0.99)), "'betas'"),
        (lambda: sv.Adam(beta_1=0.9), "'beta_1'"),
        (lambda: sv.Adam(epsilon=1e-7), "'epsilon'"),
        (lambda: sv.Adam(amsgrad=True), "'amsgrad'"),
        (lambda: sv.Adam(learning_rate=0.1), "'learning_rate'"),
        (lambda: sv.Adam(max_norm=1.0), "'max_norm'"),
        (lambda: sv.Dense(in_features=2, out_features=3), "'in_features'"),
        (lambda: sv.Conv2d((1, 8, 8), 8, kernel_size=3), "'kernel_size'"),
        (lambda: sv.BatchNorm(num_features=3), "'num_features'"),
        (lambda: sv.Dropout(8, p=0.5), "'p'"),
        (lambda: sv.Session(network(), PAIR, batch_size=1), "'batch_size'"),
        (lambda: sv.Session(network(), PAIR, device="cpu"), "'device'"),
        (lambda: sv.Session(network(), PAIR, callbacks=[]), "'callbacks'"),
        (lambda: sv.Session(network(), PAIR, validation_data=PAIR), "held_out=(inputs, targets)"),
        (lambda: sv.EarlyStopping(monitor="mae"), "'monitor'"),
        (lambda: sv.ReduceOnPlateau(min_lr=0.1), "'min_lr'"),
        (lambda: sv.Network([2, 1], device="cpu"), "'device'"),
        (lambda: network().train(*PAIR, epochs=3), "'epochs'"),
        (lambda: network().train(*PAIR, steps=3, lr=1), "'lr'"),
        (
            lambda: sv.Loss("mse", reduction="sum"),
            "'reduction'",
        ),
        (lambda: data.Rgb("grey", level=3), "'level'"),
    ],
)
def test_an_argument_of_another_library_is_answered_by_ours(
    call: Callable[[], Any], value: str
) -> None:
    with refused(UnknownNameError, value):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: sv.Adam(network().parameters(), lr=0.1),
        lambda: sv.SGD(network().parameters(), 0.1),
        lambda: sv.SGD(network().parameters()),
        lambda: sv.SGD(iter([1.0])),
    ],
)
def test_an_optimizer_is_not_given_the_parameters(call: Callable[[], Any]) -> None:
    with refused(InputError, "parameters"):
        call()


class StepLR:
    """As PyTorch's: an object."""


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: sv.SGD(0.1, schedule=StepLR()), "schedule takes a Schedule"),  # type: ignore[typeddict-item]  # on purpose
        (lambda: sv.SGD(0.1, schedule="cosine"), "'cosine'"),  # type: ignore[typeddict-item]  # on purpose
        (lambda: network().train(*PAIR, "mse", "adam", steps=1), "'adam'"),  # type: ignore[arg-type]  # on purpose
        (lambda: network().train(*PAIR, "mse", sv.RMSProp, steps=1), "izer.RMSProp'>"),  # type: ignore[arg-type]  # on purpose
    ],
)
def test_objects_of_another_library_are_answered_too(call: Callable[[], Any], value: str) -> None:
    with refused(InputError, value):
        call()


def test_what_is_missing_is_said_too() -> None:
    with refused(InputError, "'shape'"):
        sv.Flatten()  # type: ignore[call-arg]  # on purpose
    with refused(InputError, "'inputs'"):
        network().train()  # type: ignore[call-arg]  # on purpose


def test_a_mistake_within_a_call_keeps_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TypeError("ours")

    monkeypatch.setattr("scalarviz.core.layers.dense.size", broken)
    with pytest.raises(TypeError, match=r"^ours$"):
        sv.Dense(2, 3)


# The table itself.


def test_every_name_in_the_table_is_one_of_ours() -> None:
    known = {
        "activation": {*ACTIVATIONS},
        "loss": {*LOSSES, *ROW_LOSSES},
        "schedule": {*SCHEDULES},
        "initializer": {*INITIALIZERS},
        "engine": {*ENGINES, AUTO},
        "dtype": {"float32", "float64"},
        "public name": {*sv.__all__},
    }
    for kind, names in known.items():
        for word, meant in near_names.KINDS[kind].items():
            assert word == near_names.plain(word)
            assert meant in names or " " in meant, (kind, word, meant)


def test_what_a_table_tells_to_write_can_be_written() -> None:
    sv.Schedule("step", every=10, factor=0.1), sv.Schedule("cosine", steps=10, floor=0.1)
    sv.Momentum(0.1, momentum=0.9), sv.Nesterov(0.1, momentum=0.9)
    sv.Adam(l2=0.1), sv.AdamW(decay=0.1), sv.Adam(beta1=0.9, beta2=0.999)
    sv.Init("uniform", low=0, high=0), sv.Network([sv.Dense(3, 8, "tanh"), sv.Dense(8, 3)])
    s = sv.Session(network(), data.Arrays(*PAIR), optimizer=sv.SGD(0.1), engine="python")
    s.advance(1, "epoch")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: sv.data.Circle(n_samples=3), "'n_samples'"),
        (lambda: sv.data.Circle(3), "too many positional"),
        (lambda: sv.data.Xor(n=3), "'n'"),
        (lambda: sv.data.from_csv("a.csv", sep=";"), "'sep'"),
        (lambda: sv.data.from_csv(), "'path'"),
        (lambda: sv.data.from_npz("a.npz", random_state=1), "'random_state'"),
        (lambda: sv.data.psnr([1.0]), "'target'"),
        (lambda: sv.load("net", device="cpu"), "'device'"),
        (lambda: sv.replicate(seeds=3), "'session'"),
        (lambda: sv.compile(abs, 1, lr=1), "'lr'"),
        (lambda: sv.gradcheck(abs, 1.0, tol=1), "'tol'"),
        (lambda: sv.activation(abs), "'derivative'"),
        (lambda: sv.Perceptron(3, use_bias=False), "'use_bias'"),
    ],
)
def test_wrong_arguments_are_answered_by_the_name_that_was_called(call: Any, value: str) -> None:
    with refused(InputError, value):
        call()
