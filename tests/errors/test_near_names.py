"""Unknown names and arguments of other libraries are answered with the names used here."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.registry import AUTO, ENGINES
from scalarviz.errors import InputError, UnknownNameError, near_names
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.initializers import INITIALIZERS
from scalarviz.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.formulas.schedules import SCHEDULES


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
        ("Netwrok", r"did you mean 'Network'\?"),
    ],
)
def test_a_name_of_another_library_is_answered_by_ours(name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=f"no public name '{name}'.*{ours}"):
        getattr(sv, name)


class MSELoss:
    """As PyTorch's: an object, where ours is a name."""


def relu(x: float) -> float:
    return max(x, 0.0)


@pytest.mark.parametrize(
    ("call", "ours"),
    [
        (lambda: network().layers[0].set_activation("ReLU"), r"did you mean 'relu'\?"),
        (lambda: sv.Network([2, 3, 1], "lrelu"), r"did you mean 'leaky_relu'\?"),
        (lambda: sv.Network([2, 3, 1], "SiLU"), r"did you mean 'swish'\?"),
        (lambda: sv.Network([2, 3, 1], "identity"), r"did you mean 'linear'\?"),
        (lambda: sv.Network([2, 3, 1], relu), r"did you mean 'relu'\?"),  # type: ignore[arg-type]
        (lambda: sv.Network([2, 3, 1], "selu"), r"sv\.activation\(function, derivative\) adds"),
        (lambda: sv.Network([2, 3, 1], "tan"), r"did you mean 'tanh'\?"),
        (lambda: sv.Loss("cross_entropy"), r"did you mean 'softmax_cross_entropy'\?"),
        (lambda: sv.Loss("crossentropy"), r"did you mean 'softmax_cross_entropy'\?"),
        (lambda: sv.Loss("BCEWithLogitsLoss"), r"did you mean 'sigmoid_cross_entropy'\?"),
        (lambda: sv.Loss("L1Loss"), r"did you mean 'mae'\?"),
        (lambda: sv.Loss(MSELoss()), r"did you mean 'mse'\?"),  # type: ignore[arg-type]
        (lambda: sv.Schedule("CosineAnnealingLR"), r"write Schedule\('cosine', steps=T_max"),
        (lambda: sv.Schedule("step", step_size=3), r"did you mean 'every'\?"),
        (lambda: sv.Schedule("cosine", T_max=3), r"did you mean 'steps'\?"),
        (lambda: sv.Init("kaiming_uniform_"), r"did you mean 'he_uniform'\?"),
        (lambda: sv.Init("glorot_normal"), r"did you mean 'xavier_normal'\?"),
        (lambda: network().to("gpu"), r"did you mean 'cuda'\?"),
        (lambda: network().to("cuda:0"), r"did you mean 'cuda'\?"),
        (lambda: sv.Network([2, 1], dtype=np.float32), r"did you mean 'float32'\?"),  # type: ignore[arg-type]
        (lambda: sv.Network([2, 1], dtype=np.dtype("float64")), r"did you mean 'float64'\?"),  # type: ignore[arg-type]
        (lambda: sv.Network([2, 1], dtype="half"), r"precision='mixed' computes in half"),
    ],
)
def test_a_word_of_another_library_is_answered_by_ours(call: Callable[[], Any], ours: str) -> None:
    with pytest.raises(UnknownNameError, match=ours):
        call()


@pytest.mark.parametrize(
    ("call", "ours"),
    [
        (lambda: sv.Adam(weight_decay=0.1), r"argument of Adam 'weight_decay'.*write l2=.*AdamW"),
        (lambda: sv.AdamW(weight_decay=0.1), r"did you mean 'decay'\?"),
        (lambda: sv.SGD(weight_decay=0.1), r"write l2=, which adds the decay to the gradient"),
        (lambda: sv.SGD(0.1, momentum=0.9), r"write sv\.Momentum\(lr, momentum=0\.9\)"),
        (lambda: sv.SGD(0.1, nesterov=True), r"write sv\.Nesterov\(lr, momentum=0\.9\)"),
        (lambda: sv.Momentum(0.1, nesterov=True), r"write sv\.Nesterov\(lr, momentum=0\.9\)"),
        (lambda: sv.Adam(betas=(0.9, 0.99)), r"write beta1=0\.9, beta2=0\.999"),
        (lambda: sv.Adam(beta_1=0.9), r"did you mean 'beta1'\?"),
        (lambda: sv.Adam(epsilon=1e-7), r"did you mean 'eps'\?"),
        (lambda: sv.Adam(amsgrad=True), r"leave it out: there is no such variant here"),
        (lambda: sv.Adam(learning_rate=0.1), r"did you mean 'lr'\?"),
        (lambda: sv.Adam(max_norm=1.0), r"did you mean 'clip_norm'\?"),
        (lambda: sv.Dense(in_features=2, out_features=3), r"did you mean 'inputs'\?"),
        (lambda: sv.Conv2d((1, 8, 8), 8, kernel_size=3), r"did you mean 'kernel'\?"),
        (lambda: sv.BatchNorm(num_features=3), r"did you mean 'shape'\?"),
        (lambda: sv.Dropout(8, p=0.5), r"did you mean 'rate'\?"),
        (lambda: sv.Session(network(), PAIR, batch_size=1), r"did you mean 'batch'\?"),
        (lambda: sv.Session(network(), PAIR, device="cpu"), r"did you mean 'engine'\?"),
        (lambda: sv.Network([2, 1], device="cpu"), r"did you mean 'engine'\?"),
        (lambda: network().train(*PAIR, epochs=3), r"write s\.advance\(n, 'epoch'\) of a session"),
        (lambda: network().train(*PAIR, steps=3, lr=1), r"write optimizer=sv\.SGD\(lr\)"),
        (
            lambda: sv.Loss("mse", reduction="sum"),
            r"argument of Loss 'reduction': choose one of",
        ),
        (lambda: data.Rgb("grey", level=3), r"did you mean 'levels'\?"),
    ],
)
def test_an_argument_of_another_library_is_answered_by_ours(
    call: Callable[[], Any], ours: str
) -> None:
    with pytest.raises(UnknownNameError, match=ours):
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
    with pytest.raises(InputError, match="or the session, brings its parameters itself"):
        call()


class StepLR:
    """As PyTorch's: an object."""


@pytest.mark.parametrize(
    ("call", "ours"),
    [
        (lambda: sv.SGD(0.1, schedule=StepLR()), r"write Schedule\('step', every=step_size, fac"),  # type: ignore[typeddict-item]
        (lambda: sv.SGD(0.1, schedule="cosine"), r'write Schedule\("cosine", steps=1000\)'),  # type: ignore[typeddict-item]
        (lambda: network().train(*PAIR, "mse", "adam", steps=1), r"such as Adam\(0\.1\), with"),  # type: ignore[arg-type]
        (lambda: network().train(*PAIR, "mse", sv.RMSProp, steps=1), r"as RMSProp\(0\.1\), with"),  # type: ignore[arg-type]
    ],
)
def test_objects_of_another_library_are_answered_too(call: Callable[[], Any], ours: str) -> None:
    with pytest.raises(InputError, match=ours):
        call()


def test_what_is_missing_is_said_too() -> None:
    with pytest.raises(InputError, match=r"Flatten takes shape: missing a required argument: 'sh"):
        sv.Flatten()  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"Network\.train takes inputs, targets, .*: missing"):
        network().train()  # type: ignore[call-arg]


def test_a_mistake_within_a_call_keeps_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise TypeError("ours")

    monkeypatch.setattr("scalarviz.layers.dense.size", broken)
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
    ("call", "said"),
    [
        (lambda: sv.data.Circle(n_samples=3), "argument of Circle 'n_samples': .*'samples'"),
        (lambda: sv.data.Circle(3), "Circle takes noise, samples"),
        (lambda: sv.data.Xor(n=3), "unknown argument of Xor 'n'"),
        (lambda: sv.data.from_csv("a.csv", sep=";"), "of from_csv 'sep': .*; leave it out"),
        (lambda: sv.data.from_csv(), "from_csv takes path, inputs"),
        (lambda: sv.data.from_npz("a.npz", random_state=1), "of from_npz 'random_state': .*'seed'"),
        (lambda: sv.data.psnr([1.0]), "psnr takes prediction, target"),
        (lambda: sv.load("net", device="cpu"), "argument of load 'device': .*'engine'"),
        (lambda: sv.replicate(seeds=3), "replicate takes session, seeds"),
        (lambda: sv.compile(abs, 1, lr=1), "unknown argument of compile 'lr'"),
        (lambda: sv.gradcheck(abs, 1.0, tol=1), "argument of gradcheck 'tol': .*'tolerance'"),
        (lambda: sv.activation(abs), "activation takes value, derivative, name"),
        (lambda: sv.Perceptron(3, use_bias=False), "argument of Perceptron 'use_bias': .*'bias'"),
    ],
)
def test_wrong_arguments_are_answered_by_the_name_that_was_called(call: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        call()
