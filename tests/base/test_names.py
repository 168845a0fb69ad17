"""Unknown names, attributes and arguments raise errors, with a hint at what to write instead."""

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data, errors
from scalarviz.base import near_names
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.formulas.metric_formulas import METRICS
from scalarviz.core.formulas.optimizers import SCHEDULES
from scalarviz.engines.registry import AUTO, ENGINES
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused

PAIR = ([[0.0, 1.0]], [[1.0]])


def network() -> sv.Network:
    return sv.Network([2, 3, 1], seed=0)


def session() -> sv.Session:
    return sv.Session(network(), PAIR, engine="python")


THINGS: dict[str, Callable[[], Any]] = {
    "Session": session,
    "Network": network,
    "Expression": lambda: sv.compile(lambda x: x * x, inputs=1, engine="python"),
    "Dense": lambda: sv.Dense(2, 3),
    "BatchNorm": lambda: sv.BatchNorm(3),
    "SGD": lambda: sv.SGD(0.1),
    "AdamW": lambda: sv.AdamW(0.1),
    "LossValue": lambda: sv.Loss("mse")([1.0], [0.0]),
}


# What is set.


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("Session", "learning_rte"),
        ("Session", "lr"),
        ("Session", "optimizr"),
        ("Session", "engin"),
        ("Session", "batch_size"),
        ("Session", "seed"),
        ("Expression", "engin"),
        ("Expression", "lr"),
        ("Network", "engin"),
        ("Network", "lr"),
        ("Dense", "activaton"),
        ("BatchNorm", "momentm"),
        ("SGD", "lrr"),
        ("SGD", "momentum"),
        ("AdamW", "learning_rate"),
        ("AdamW", "weight_decay"),
        ("AdamW", "beta1"),
    ],
)
def test_what_is_misspelt_is_not_set(make: str, name: str) -> None:
    thing = THINGS[make]()
    error = refused(UnknownNameError, f"{make} has no attribute {name!r}").by(
        setattr, thing, name, 3
    )
    assert isinstance(error, AttributeError) and not hasattr(thing, name)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("Session", "loss"),
        ("Session", "network"),
        ("Session", "current_branch"),
        ("Session", "step_index"),
        ("Session", "playing"),
        ("Session", "losses"),
        ("Session", "pause"),
        ("Network", "engine"),
        ("Network", "dtype"),
        ("Network", "activation"),
        ("Dense", "activation"),
        ("Dense", "frozen"),
        ("SGD", "name"),
        ("SGD", "settings"),
        ("Session", "timeline"),
        ("Network", "seed"),
        ("Network", "init"),
        ("Network", "layers"),
        ("Network", "inputs"),
        ("Network", "program"),
        ("BatchNorm", "momentum"),
        ("Expression", "engine"),
        ("Expression", "parameters"),
        ("Expression", "precision"),
    ],
)
def test_what_can_only_be_read_says_what_to_call(make: str, name: str) -> None:
    thing = THINGS[make]()
    error = refused(InputError, name).by(setattr, thing, name, "mae")
    assert isinstance(error, AttributeError)


def test_what_can_be_set_is_set() -> None:
    s = session()
    s.learning_rate, s.optimizer, s.focus, s.data = 0.5, sv.Adam(0.1), 0, PAIR
    s.engine = "python"
    optimizer = sv.AdamW(0.1)
    optimizer.lr, optimizer.l1, optimizer.clip_norm = 0.2, 0.3, 1.0
    assert (optimizer.lr, optimizer.l1, optimizer.clip_norm) == (0.2, 0.3, 1.0)
    s.advance = lambda n: n  # type: ignore[method-assign,assignment,misc]  # as mocks do
    assert s.advance(7) == 7


@pytest.mark.parametrize("make", [network, lambda: sv.Dense(2, 3), lambda: sv.Adam(0.1)])
def test_copies_and_pickles_have_all_that_the_original_has(make: Callable[[], Any]) -> None:
    thing = make()
    for each in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert {*vars(each)} == {*vars(thing)} and repr(each) == repr(thing)
        refused(UnknownNameError, "whatever").by(setattr, each, "whatever", 3)


def test_the_errors_go_through_a_pickle() -> None:
    for name in ("lr", "loss"):
        error = refused(InputError, name).by(setattr, session(), name, 3)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))


# What is asked for.


@pytest.mark.parametrize(
    ("make", "name"),
    [
        ("Network", "cuda"),
        ("Network", "eval"),
        ("Network", "save_weights"),
        ("Network", "weights"),
        ("Network", "fit"),
        ("Network", "paramters"),
        ("LossValue", "backward"),
        ("LossValue", "item"),
        ("SGD", "step"),
        ("SGD", "zero_grad"),
        ("AdamW", "param_groups"),
        ("AdamW", "state_dict"),
        ("Session", "train"),
        ("Session", "parameters"),
        ("Session", "state_dict"),
        ("Session", "advnce"),
    ],
)
def test_a_name_of_another_library_is_answered_by_ours(make: str, name: str) -> None:
    thing = THINGS[make]()
    assert not hasattr(thing, name) and getattr(thing, name, None) is None
    refused(AttributeError, f"{make} has no attribute {name!r}").by(getattr, thing, name)


def test_an_error_within_a_property_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sv.Network, "dtype", property(lambda self: self.bank.nothing))
    with pytest.raises(AttributeError, match="'Bank' object has no attribute 'nothing'"):
        _ = network().dtype


# The table itself.


def test_every_attribute_in_the_table_is_one_of_ours() -> None:
    things = THINGS | {"Part": THINGS["Dense"], "Optimizer": THINGS["SGD"]}
    for kind, names in near_names.ATTRIBUTES_OF.items():
        thing = things[kind]()
        for word, meant in names.items():
            assert word == near_names.plain(word)
            assert " " in meant or hasattr(thing, meant), (kind, word, meant)


def test_the_tree_of_errors_has_them() -> None:
    for kind in (errors.UnknownAttributeError, errors.ReadOnlyError):
        assert issubclass(kind, AttributeError) and issubclass(kind, InputError)
        assert kind.__name__ in str(errors.__doc__)


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        *[
            (sv, name)
            for name in (
                "Linear",
                "ReLU",
                "LeakyReLU",
                "SiLU",
                "tanh",
                "Sequential",
                "optim",
                "CrossEntropyLoss",
                "MSELoss",
                "StepLR",
                "OneCycleLR",
                "BatchNorm2d",
                "RMSprop",
                "Parameter",
                "DataLoader",
                "Xor",
                "ReduceLROnPlateau",
                "ModelCheckpoint",
                "shader",
                "SummaryWriter",
                "Netwrok",
                "storyboard",
            )
        ],
        (sv.Session(network(), PAIR), "dead_neurons"),
        (sv.Session(network(), PAIR), "gradients"),
        (sv.Session(network(), PAIR), "to_dataframe"),
        (network(), "to_onnx"),
    ],
)
def test_an_attribute_of_another_library_is_answered_by_ours(thing: object, name: str) -> None:
    refused(AttributeError, name).by(getattr, thing, name)


class MSELoss:
    """As PyTorch's: an object, where ours is a name."""


def relu(x: float) -> float:
    return max(x, 0.0)


SIZES = [2, 3, 1]


@pytest.mark.parametrize(
    ("make", "given", "named", "value"),
    [
        *[
            (sv.Network, (SIZES, each), {}, repr(each))
            for each in ("lrelu", "SiLU", "identity", "tanhshrink", "tan")
        ],
        (sv.Network, (SIZES, relu), {}, "relu"),
        *[(sv.Loss, (each,), {}, repr(each)) for each in ("cross_entropy", "crossentropy")],
        *[(sv.Loss, (each,), {}, repr(each)) for each in ("L1Loss", "BCEWithLogitsLoss")],
        (sv.Loss, (MSELoss(),), {}, "<tests.base"),
        (sv.Schedule, ("CosineAnnealingLR",), {}, "'CosineAnnealingLR'"),
        *[(sv.Init, (each,), {}, repr(each)) for each in ("kaiming_uniform_", "glorot_normal")],
        *[(sv.Network.to, (network(), each), {}, repr(each)) for each in ("gpu", "cuda:0")],
        (sv.Dense.set_activation, (network().layers[0], "ReLU"), {}, "'ReLU'"),
        *[
            (sv.Session, (network(), PAIR), {"metrics": [each]}, repr(each))
            for each in ("acc", "held_out_accuracy")
        ],
        (sv.Network, ([2, 1],), {"dtype": np.float32}, "'numpy.float32'"),
        (sv.Network, ([2, 1],), {"dtype": np.dtype("float64")}, "float64"),
        (sv.Network, ([2, 1],), {"dtype": "half"}, "'half'"),
    ],
)
def test_a_word_of_another_library_is_answered_by_ours(
    make: Callable[..., Any], given: Any, named: Any, value: str
) -> None:
    refused(UnknownNameError, value).by(make, *given, **named)


@pytest.mark.parametrize(
    ("make", "given", "name", "value"),
    [
        (sv.Adam, (), "weight_decay", 0.1),
        (sv.AdamW, (), "weight_decay", 0.1),
        (sv.SGD, (), "weight_decay", 0.1),
        (sv.SGD, (0.1,), "momentum", 0.9),
        (sv.SGD, (0.1,), "nesterov", True),
        (sv.Momentum, (0.1,), "nesterov", True),
        (sv.Adam, (), "betas", (0.9, 0.99)),
        (sv.Adam, (), "beta_1", 0.9),
        (sv.Adam, (), "epsilon", 1e-7),
        (sv.Adam, (), "amsgrad", True),
        (sv.Adam, (), "learning_rate", 0.1),
        (sv.Adam, (), "max_norm", 1.0),
        (sv.Schedule, ("step",), "step_size", 3),
        (sv.Schedule, ("cosine",), "T_max", 3),
        (partial(sv.Dense, outputs=3), (), "in_features", 2),
        (sv.Conv2d, ((1, 8, 8), 8), "kernel_size", 3),
        (sv.BatchNorm, (), "num_features", 3),
        (sv.Dropout, (8,), "p", 0.5),
        (sv.Session, (network(), PAIR), "batch_size", 1),
        (sv.Session, (network(), PAIR), "device", "cpu"),
        (sv.Session, (network(), PAIR), "callbacks", []),
        (sv.Session, (network(), PAIR), "validation_data", PAIR),
        (sv.EarlyStopping, (), "monitor", "mae"),
        (sv.ReduceOnPlateau, (), "min_lr", 0.1),
        (sv.Network, ([2, 1],), "device", "cpu"),
        (network().train, PAIR, "epochs", 3),
        (partial(network().train, steps=3), PAIR, "lr", 1),
        (sv.Loss, ("mse",), "reduction", "sum"),
        (data.Rgb, ("grey",), "level", 3),
    ],
)
def test_an_argument_of_another_library_is_answered_by_ours(
    make: Callable[..., Any], given: Any, name: str, value: object
) -> None:
    refused(UnknownNameError, f"{name!r}").by(make, *given, **{name: value})


class StepLR:
    """As PyTorch's: an object."""


def test_a_mistake_within_a_call_keeps_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.core.layers.dense.size", Mock(side_effect=TypeError("ours")))
    with pytest.raises(TypeError, match=r"^ours$"):
        sv.Dense(2, 3)


# The table itself.


def test_every_name_in_the_table_is_one_of_ours() -> None:
    known = {
        "activation": {*ACTIVATIONS},
        "loss": {*LOSSES, *ROW_LOSSES},
        "metric": {*METRICS},
        "schedule": {*SCHEDULES},
        "initializer": {*INITIALIZERS},
        "engine": {*ENGINES, AUTO},
        "dtype": {"float32", "float64"},
        "public name": {*sv.__all__},
    }
    for kind, names in known.items():
        for word, meant in near_names.HINTS[kind].items():
            assert word == near_names.plain(word)
            assert meant in names or " " in meant, (kind, word, meant)


def test_what_a_table_tells_to_write_can_be_written() -> None:
    sv.Schedule("step", every=10, factor=0.1), sv.Schedule("cosine", steps=10, floor=0.1)
    sv.Momentum(0.1, momentum=0.9), sv.Nesterov(0.1, momentum=0.9)
    sv.Adam(l2=0.1), sv.AdamW(decay=0.1), sv.Adam(beta1=0.9, beta2=0.999)
    sv.Init("uniform", low=1, high=1), sv.Network([sv.Dense(3, 8, "tanh"), sv.Dense(8, 3)])
    s = sv.Session(network(), data.Arrays(*PAIR), optimizer=sv.SGD(0.1), engine="python")
    s.advance(1, "epoch")


@pytest.mark.parametrize(
    ("call", "given", "named", "value"),
    [
        (sv.data.Circle, (), {"n_samples": 3}, "'n_samples'"),
        (sv.data.Circle, (3,), {}, "too many positional"),
        (sv.data.Xor, (), {"n": 3}, "'n'"),
        (sv.data.from_csv, ("a.csv",), {"sep": ";"}, "'sep'"),
        (sv.data.from_csv, (), {}, "'path'"),
        (sv.data.from_npz, ("a.npz",), {"random_state": 1}, "'random_state'"),
        (sv.data.psnr, ([1.0],), {}, "'target'"),
        (sv.load, ("net",), {"device": "cpu"}, "'device'"),
        (sv.replicate, (), {"seeds": 3}, "'session'"),
        (sv.compile, (abs, 1), {"lr": 1}, "'lr'"),
        (sv.gradcheck, (abs, 1.0), {"tol": 1}, "'tol'"),
        (sv.activation, (), {}, "'value'"),
        (sv.Perceptron, (3,), {"use_bias": False}, "'use_bias'"),
        (sv.Flatten, (), {}, "'shape'"),
        (network().train, (), {}, "'inputs'"),
        (sv.Adam, (network().parameters(),), {"lr": 0.1}, "parameters"),
        (sv.SGD, (network().parameters(), 0.1), {}, "parameters"),
        (sv.SGD, (network().parameters(),), {}, "parameters"),
        (sv.SGD, (iter([1.0]),), {}, "parameters"),
        (sv.SGD, (0.1,), {"schedule": StepLR()}, "schedule takes a Schedule"),
        (sv.SGD, (0.1,), {"schedule": "cosine"}, "'cosine'"),
        (network().train, (*PAIR, "mse", "adams"), {"steps": 1}, "'adams'"),
        (network().train, (*PAIR, "mse", sv.RMSProp), {"steps": 1}, "izer.RMSProp'>"),
    ],
)
def test_wrong_arguments_are_answered_by_the_name_that_was_called(
    call: Callable[..., Any], given: Any, named: Any, value: str
) -> None:
    refused(InputError, value).by(call, *given, **named)
