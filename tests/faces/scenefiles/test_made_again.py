"""Options that every scene has, applied to the trainings of scenes that do not know them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, ScalarvizError, UnknownNameError
from scalarviz.faces.cli import commands
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import RUNNING, SHARED, USUAL_RATES, make_show, own_options
from tests.wording import refused

NOTHING: dict[str, Any] = dict.fromkeys(SHARED | RUNNING)
SMALL = {"texture": {"hidden": 4, "depth": 2, "size": 16}}


def bare() -> sv.Session:
    """Learns XOR."""
    net = sv.Network([2, 4, 3, 1], "tanh", "sigmoid", seed=7)
    schedule = sv.Schedule("cosine", steps=50)
    optimizer = sv.SGD(0.5, schedule=schedule, l2=0.01, clip_norm=2.0)
    return sv.Session(
        net, data.Xor(), sv.Loss("mse", factor=0.5), optimizer, 2, "python", seed=7,
        metrics=["mae"], every=5, memory=10**6,
    )  # fmt: skip


def show(scene: Any, *typed: str, **given: Any) -> sv.Session:
    defaults = {name: option.default for name, option in own_options(scene).items()}
    return make_show(scene, NOTHING | defaults | given, typed).session


def test_another_optimizer_keeps_schedule_and_penalties_and_has_a_usual_rate() -> None:
    s = show(bare, optimizer="adam")
    assert repr(s.optimizer).startswith("Adam(lr=0.01") and s.step_index == 0
    assert (s.optimizer.l2, s.optimizer.clip_norm) == (0.01, 2.0)
    assert s.optimizer.schedule.name == "cosine"
    assert show(bare, optimizer="adam", lr=0.25).optimizer.lr == 0.25
    assert show(bare, optimizer="sgd").optimizer.lr == 0.5  # that of the scene
    assert set(USUAL_RATES) <= {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"}


def test_the_rate_of_a_scene_that_was_typed_is_that_of_the_other_optimizer() -> None:
    scene = load(find("rgb"))
    assert show(scene, optimizer="adam", engine="python").optimizer.lr == 0.01
    assert show(scene, optimizer="adam", engine="python", lr=0.2).optimizer.lr == 0.2
    assert show(scene, "lr", optimizer="adam", engine="python", lr=0.5).optimizer.lr == 0.5


def test_another_loss_and_another_activation_leave_the_weights() -> None:
    s, usual = show(bare, loss="mae", activation="relu"), bare()
    assert s.trainer.loss.name == "mae"
    assert s.network.activations == ("relu", "relu", "sigmoid")
    assert np.array_equal(s.network.bank.value, usual.network.bank.value)
    assert show(bare, loss="mse").timeline.trainer.loss.factor == 0.5
    assert "mae" in s.visits.metrics.rows and s.timeline.keyframes.budget == 10**6


def test_first_weights_and_biases_are_those_of_a_network_made_so() -> None:
    s = show(bare, init="he_uniform", bias=False)
    layers = [sv.Dense(2, 4, "tanh", bias=False), sv.Dense(4, 3, "tanh", bias=False)]
    layers += [sv.Dense(3, 1, "sigmoid", bias=False)]
    wanted = sv.Network(layers, init="he_uniform", seed=7)
    assert np.array_equal(s.network.bank.value, wanted.bank.value)
    other = show(bare, init="he_uniform", seed=3).network.bank.value
    assert np.array_equal(
        other, sv.Network([2, 4, 3, 1], "tanh", init="he_uniform", seed=3).bank.value
    )
    assert len(show(bare, bias=True).network.bank) == len(bare().network.bank)


@pytest.mark.parametrize("name", sorted(scenes()))
@pytest.mark.parametrize(
    "given",
    [{"optimizer": "nesterov"}, {"loss": "huber"}, {"activation": "elu"}, {"init": "normal"},
     {"bias": False}, {"l1": 0.02, "l2": 0.0}, {"batch": 2, "seed": 4, "lr": 0.01}],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_every_scene_takes_every_option_or_says_why_not(name: str, given: dict[str, Any]) -> None:
    scene = load(find(name))
    usual = SMALL.get(name, {}) | {"engine": "python"}
    own = own_options(scene)
    formula = {"activation", "init", "bias", "seed"}
    only = {"expression": formula, "micrograd": formula, "retrain": {"init", "bias"}}
    refuses = [each for each in given if each in only.get(name, ()) and each not in own]
    if refuses:
        with refused(InputError, refuses[0]):
            show(scene, **usual, **given)
        return
    s = show(scene, **usual, **given)
    assert s.step_index == 0 and np.isfinite(s.network.bank.value).all()
    if "optimizer" in given:
        assert s.optimizer.name == "nesterov"
    if "l1" in given:
        assert (s.optimizer.l1, s.optimizer.l2) == (0.02, 0.0)


@pytest.mark.parametrize(
    ("option", "value"),
    [("optimizer", "adma"), ("loss", "mes"), ("activation", "tan"), ("init", "he")],
)
def test_unknown_names_are_refused(option: str, value: str) -> None:
    with refused(UnknownNameError, repr(value)):
        show(bare, **{option: value})


def test_what_a_network_cannot_have_is_refused() -> None:
    def pretrained() -> sv.Session:
        net = sv.Network([2, 1], seed=0)
        net.bank.value[0] = 3.0
        return sv.Session(net, data.Xor(), engine="python")

    def residual() -> sv.Session:
        net = sv.Network([sv.Residual(sv.Dense(2, 2)), sv.Dense(2, 1)], seed=0)
        return sv.Session(net, data.Xor(), engine="python")

    for scene, given, value in (
        (pretrained, {"init": "normal"}, "--init"),
        (pretrained, {"bias": False}, "--bias"),
        (pretrained, {"activation": "relu"}, "hidden"),
        (residual, {"bias": False}, "Residual"),
        (bare, {"loss": "sigmoid_cross_entropy"}, "sigmoid"),
        (bare, {"l2": -0.5}, "l2"),
    ):
        with refused(ScalarvizError, value):
            show(scene, **given)
    assert show(residual, init="normal").network.init.row.name == "normal"


def test_a_training_that_goes_on_has_them_from_its_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.safetensors"
    bare().save(kept)
    for given in ({"optimizer": "adam"}, {"activation": "relu"}, {"bias": True}, {"loss": "mae"}):
        with refused(InputError, next(iter(given))):
            show(bare, resume=kept, **given)


def test_the_first_setup_of_rgb_is_that_of_the_first_visualiser() -> None:
    """Weights and biases from U(0, 1), step size .01, no activation, one layer, one sample."""
    scene = load(find("rgb"))
    s = show(scene, first_setup=True, engine="python")
    (layer,) = s.network.layers
    assert (layer.inputs, layer.outputs, layer.activation, layer.has_bias) == (3, 3, "linear", True)
    assert repr(s.network.init) == "Init('uniform', low=0, high=1)"
    many = np.concatenate(
        [
            show(scene, first_setup=True, engine="python", seed=i).network.bank.value
            for i in range(99)
        ]
    )
    assert 0.0 <= many.min() < 0.01 and 0.99 < many.max() <= 1.0
    assert abs(many.mean() - 0.5) < 0.03 and abs(many.std() - 12**-0.5) < 0.02
    assert repr(s.optimizer) == "SGD(lr=0.01)" and s.trainer.batches.size == 1
    before = s.network.bank.value.copy()
    s.advance(1)
    moved = before - np.float32(0.01) * s.network.bank.grad
    assert np.allclose(s.network.bank.value, moved, rtol=1e-6)
    for given in ({"hidden": 4}, {"lr": 0.1}, {"batch": 2}):
        with refused(InputError, "first_setup"):
            show(scene, first_setup=True, **given)


def test_the_options_are_those_of_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("watch", "train", "render", "page"):
        with pytest.raises(SystemExit):
            commands.main([verb, "xnor", "--help"])
        text = capsys.readouterr().out
        assert all(f"--{name}" in text for name in SHARED), verb
