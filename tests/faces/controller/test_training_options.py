"""Options that every training has, in the panel of windows and in notebooks."""

from collections.abc import Callable
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.controller import Controller
from tests.faces.controller.conftest import Open
from tests.patience import patient

__all__ = ["patient"]  # a fixture

Make = Callable[..., Controller]


@pytest.fixture
def make(patient: None, opened: Open) -> Open:
    return opened


def session(**options: Any) -> sv.Session:
    net = sv.Network([3, 4, 4, 3], "tanh", "sigmoid", seed=0)
    loss = sv.Loss("mse", factor=0.5)
    options = {"batch": 4, "engine": "python"} | options
    return sv.Session(net, data.Rgb(levels=3), loss, sv.SGD(0.5), **options)


def shown(controller: Controller) -> dict[str, Any]:
    return {choice.name: choice.value for choice in controller.state.choices}


def told(controller: Controller) -> str:
    stage: Any = controller.stage
    return str(stage.notices[-1]) if stage.notices else ""


AT_FIRST = {
    "optimizer": "sgd",
    "loss": "mse",
    "batch": "4",
    "activation": "tanh",
    "l1": 0.0,
    "l2": 0.0,
    "precision": "full",
    "init": "pytorch",
    "bias": True,
}
CHOICES = [
    ("optimizer", "adam", "adam", lambda s: type(s.optimizer).__name__ == "Adam"),
    ("loss", "huber", "huber", lambda s: s.loss_function.key[::2] == ("huber", 0.5)),
    ("batch", "16", "16", lambda s: s.batch == 16),
    ("batch", "all", "all", lambda s: s.batch is None),
    ("batch", "", "all", lambda s: s.batch is None),
    ("activation", "relu", "relu", lambda s: s.network.activations == ("relu", "relu", "sigmoid")),
    ("l1", "0.25", 0.25, lambda s: (s.optimizer.l1, s.learning_rate) == (0.25, 0.5)),
    ("l2", "1e-3", 0.001, lambda s: s.optimizer.l2 == 0.001),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "then", "holds"), CHOICES)
def test_a_choice_changes_the_session_and_undo_takes_it_back(
    make: Make, name: str, value: str, then: Any, holds: Callable[[sv.Session], bool]
) -> None:
    controller = make(session())
    first = controller.session
    controller.step(+1, 3)
    controller.set_option(name, value)
    assert controller.session is first and holds(first), told(controller)
    assert shown(controller)[name] == then
    controller.undo()
    assert shown(controller) | {"engine": ""} == {**shown(controller), **AT_FIRST, "engine": ""}
    assert first.step_index == 3
    controller.redo()
    assert holds(first)


@pytest.mark.parametrize(("name", "value"), [("init", "he_normal"), ("bias", False)])
def test_another_network_is_one_of_its_own_and_undo_leads_back(
    make: Make, name: str, value: Any
) -> None:
    controller = make(session())
    first = controller.session
    controller.step(+1, 3)
    controller.set_option(name, value)
    made = controller.session
    assert made is not first and made.origin is not None and made.origin.session is first
    assert shown(controller)[name] == value
    assert "The training before stays as it is" in told(controller)
    controller.undo()
    assert controller.session is first and shown(controller)[name] == AT_FIRST[name]
    controller.redo()
    assert controller.session is made


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("optimizer", "adma", "'adma'"),
        ("loss", "softmax_cross_entropy", "'sigmoid'"),
        ("batch", "many", "'many'"),
        ("batch", "0", "not 0"),
        ("batch", "28", "27 samples"),
        ("activation", "tan", "'tan'"),
        ("l1", "-1", "l1"),
        ("l2", "much", "'much'"),
        ("precision", "mixed", "python"),
        ("init", "he", "'he'"),
        ("bias", "perhaps", "'perhaps'"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    make: Make, name: str, value: str, words: str
) -> None:
    controller = make(session())
    controller.set_option(name, value)
    assert words in told(controller)
    assert shown(controller)[name] == AT_FIRST[name]
    assert not controller.session.current_branch.journal


def test_within_a_step_the_choice_is_seen_at_once_though_it_waits(make: Make) -> None:
    controller = make(session())
    controller.operation(+1)
    controller.set_option("loss", "mae")
    controller.set_option("batch", "2")
    assert (shown(controller)["loss"], shown(controller)["batch"]) == ("mae", "2")
    assert controller.session.loss_function.name == "mse"


def test_with_several_samples_a_step_there_is_no_going_by_samples(make: Make) -> None:
    controller = make(session(batch=1))
    controller.set_unit("sample")
    controller.set_option("batch", "4")
    controller.attend()
    assert controller.unit == "step"


def test_only_what_a_training_has_is_offered(make: Make) -> None:
    wave = sv.compile(lambda x: sv.Value(0.5) * x, inputs=1)
    found = shown(make(sv.Session(wave, ([[1.0]], [[2.0]]), engine="python")))
    assert {"activation", "init", "bias"}.isdisjoint(found) and "loss" in found
    net = sv.Network([sv.Residual(sv.Dense(2, 2)), sv.Dense(2, 1)], dtype="float64")
    found = shown(make(sv.Session(net, data.Xor(), engine="python")))
    assert {"activation", "precision", "bias"}.isdisjoint(found) and "init" in found


def test_options_of_the_scene_of_the_same_name_are_these(make: Make) -> None:
    controller = make("circle", hidden="3")
    names = [choice.name for choice in controller.state.choices]
    assert len(names) == len(set(names)) and {"batch", "l1", "activation"} <= set(names)
    assert {"batch", "l1", "activation"}.isdisjoint(each.name for each in controller.state.options)
    first = controller.session
    controller.set_option("batch", "20")
    assert controller.session is first and first.batch == 20
    controller.set_option("noise", "0.25")
    assert controller.session is first and first.data.settings()["noise"] == 0.25


def test_a_training_that_begins_anew_has_what_was_chosen(make: Make) -> None:
    controller = make("rgb")
    for name, value in (
        ("optimizer", "adam"), ("loss", "huber"), ("batch", "3"), ("l2", "0.5"),
        ("activation", "relu"), ("lr", "0.125"),
    ):  # fmt: skip
        controller.set_option(name, value)
    controller.set_option("bias", False)
    for hidden in ("4", "5"):
        controller.set_option("hidden", hidden)
        s = controller.session
        assert s.network.layers[0].outputs == int(hidden), told(controller)
        assert (s.optimizer.name, s.loss_function.name, s.batch) == ("adam", "huber", 3)
        assert (s.optimizer.l2, s.learning_rate) == (0.5, 0.125)
        assert s.network.activations == ("relu", "sigmoid") and s.network.layers[0].bias is None
    controller.set_option("optimizer", "sgd")
    controller.set_option("hidden", "6")
    assert controller.session.optimizer.name == "sgd"
