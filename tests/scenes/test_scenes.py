"""Every scene, for a few steps.

What it is, what it shows, how it can be run, and options that are absurd.
"""

import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scalarviz.scenes.retrain import MODEL

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, ScalarvizError, UnknownNameError
from scalarviz.faces.controller.train import train
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import RUNNING, SHARED, make_show, own_options
from scalarviz.scene.exhibits.classified import Sorting
from scalarviz.scenes import adder
from scalarviz.stage.data_exhibits import exhibit_of, plane_points
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.threads import FILM, PICTURE
from tests.sessions import advanced
from tests.wording import refused

SMALL: dict[str, dict[str, Any]] = {
    "texture": {"hidden": 4, "depth": 1, "batch": 8, "size": 16},
    "digits": {"channels": "1,1", "batch": 2},
    "retrain": {"batch": 4},
    "names": {"width": 4, "heads": 1, "hidden": 4},
    "adder": {"batch": 2},
}

every_scene = pytest.mark.parametrize("name", sorted(scenes()))


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What scenes add to the path of modules is removed after a test."""
    monkeypatch.setattr(sys, "path", list(sys.path))


def play(name: str, **options: Any) -> Show:
    scene = load(find(name))
    return Show.of(scene(**SMALL.get(name, {}) | {"engine": "python"} | options), scene)


@pytest.mark.some(2)
@every_scene
def test_a_scene_trains_and_says_what_came_of_it(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show = play(name)
    assert train(show, 12) == 0
    text = capsys.readouterr().out
    assert text.isascii() and text.startswith(show.title) and "12 steps: loss from" in text
    assert np.isfinite(show.session.losses).all() and show.hint.startswith("scalarviz watch")
    assert exhibit_of(show.session) is not None


@pytest.mark.some("circle", "digits", "rgb")
@every_scene
def test_a_seed_decides_on_everything(name: str) -> None:
    def course(seed: int) -> list[float]:
        session = advanced(play(name, seed=seed).session, 3)
        return [*session.losses.tolist(), *session.network.bank.value.tolist()]

    assert course(1) == course(1) != course(2)


@every_scene
def test_every_option_of_a_scene_has_its_help(name: str) -> None:
    options = own_options(load(find(name)))
    assert {"engine", "seed", "lr"} <= set(options)
    assert [option for option, row in options.items() if not row.help] == []
    assert options["engine"].default == "auto"


def test_a_scene_is_a_script_too(tmp_path: Path) -> None:
    command = [sys.executable, str(find("rgb"))]
    hidden = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=hidden)
    assert done.returncode == 1 and "DisplayError" in done.stderr  # it came as far as a window
    assert not list(tmp_path.iterdir())


ALIKE = 0.98  # cosine of what two neurons of a layer have or say, from which on one is wasted


def error_of(session: sv.Session) -> float:
    """The share of samples that are wrong, or how far the answers are off."""
    if session.trainer.loss.name == "negative_log_likelihood":  # outputs are logarithms
        return 1.0 - float(adder.right(session.network, session.data.held_out))
    shown = exhibit_of(session)
    assert shown is not None
    score, off = shown.score(), shown.off()
    return float(off or 0.0) if score is None else 1.0 - score[0] / score[1]


def most_alike(session: sv.Session) -> float:
    """The largest cosine of two neurons of a layer: of their weights, and of their maps.

    Two whose maps are constant are alike. There are no layers in expression, and in micrograd,
    where two of 16 lines through a point are always that near to each other.
    """
    network, rows, maps = session.network.copy().to("python"), [], []
    training = getattr(session.data, "training", None)
    plane = training and plane_points(session.data, training)
    values = plane.grid() if plane else None
    for layer in network.layers:
        values = None if values is None else np.asarray(layer.forward(values))
        if isinstance(layer, (sv.Dense, sv.Conv2d)):
            parts = [(*each.weights, each.bias) for each in layer.perceptrons]
            rows.append(np.array([[part.value for part in each] for each in parts]))
            maps += [] if values is None else [(values - values.mean(axis=0)).T]
    cosines = [0.0]
    for each in (
        row / np.linalg.norm(row, axis=1, keepdims=True).clip(1e-9) for row in rows + maps
    ):
        still = np.linalg.norm(each, axis=1) < 0.5
        both = abs(each @ each.T) + np.outer(still, still)
        cosines.append(np.triu(both, 1).max())
    return max(cosines)


# The next letter of a name is never certain: see test_names.py.
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*scenes()} - {"names"}))
def test_a_scene_is_learned_in_a_minute_and_no_neuron_has_a_twin(name: str) -> None:
    scene = load(find(name))
    show = Show.of(scene(engine="cpu"), scene)
    session, seconds = show.session, (10, 60)
    film = [FILM[int(seconds[0] / PICTURE)], show.steps]
    times = [int(show.speed * each) for each in seconds] if show.speed else film
    errors, alike = [], []
    for step in (0, 20, *times, show.steps):
        session.advance(max(0, step - session.step_index))
        errors.append(error_of(session))
        alike.append(most_alike(session))
    assert errors[2] < 0.8 * errors[0] and errors[3] < max(0.05, 0.1 * errors[0]), errors
    assert max(alike) < ALIKE, alike


# What each of them says about itself.


def test_rgb_opens_slowly_with_the_network_and_the_rate_that_it_began_with() -> None:
    show = play("rgb")
    assert show.speed == 10 and show.session.learning_rate == 0.5
    assert [repr(layer) for layer in show.session.network.layers] == [
        "Dense(inputs=3, outputs=8, activation='tanh', bias=True)",
        "Dense(inputs=8, outputs=3, activation='sigmoid', bias=True)",
    ]
    assert show.session.trainer.batches.size == 8
    single = play("rgb", hidden=0).session.network
    assert (len(single.layers), single.layers[0].activation) == (1, "sigmoid")
    assert len(play("rgb", depth=3).session.network.layers) == 4


@pytest.mark.some(1)
@pytest.mark.parametrize("name", data.MAPS)
def test_every_map_of_colours_is_learned(name: str) -> None:
    session = play("rgb", map=name, lr=2.0).session
    before = session.sample_losses(held_out=True).mean()
    session.advance(800)
    assert session.sample_losses(held_out=True).mean() < before / 5.0


def test_xor_moves_as_it_was_posted() -> None:
    session = play("xor", as_posted=True).session
    weights = session.network.bank.value.astype(np.float64)
    assert len(weights) == 12 and (np.abs(weights) < 1.0).all()
    x, t = (part[0] for part in session.trainer.batches.at(0))
    first, second = weights[:9].reshape(3, 3), weights[9:]
    h = 1 / (1 + np.exp(-first @ x))
    o = 1 / (1 + np.exp(-second @ h))
    delta = (t - o) * o * (1 - o)  # without the factor 2
    moved = [first + 0.1 * np.outer(delta * second * h * (1 - h), x), second + 0.1 * delta * h]
    session.advance(1)
    np.testing.assert_allclose(
        session.network.bank.value, np.concatenate([part.ravel() for part in moved]), rtol=1e-5
    )


def test_xor_is_learned_within_ten_seconds_by_nine_of_ten_seeds() -> None:
    learned = 0
    for seed in range(10):
        show = play("xor", seed=seed, engine="cpu")
        session = advanced(show.session, 10 * show.speed)
        inputs, targets = session.data.training
        assert session.step_index <= 500 and len(inputs) == 4
        learned += bool(((session.network(inputs) > 0.5) == (targets > 0.5)).all())
    assert learned >= 9


def test_xor_as_posted_has_its_own_settings() -> None:
    for given in ({"hidden": 3}, {"lr": 0.1}, {"activation": "sigmoid"}):
        refused(InputError, "as_posted").by(play, "xor", as_posted=True, **given)


def test_xnor_is_the_network_of_the_array_language() -> None:
    session = play("xnor").session
    assert [layer.activation for layer in session.network.layers] == ["relu_right"] * 2 + ["linear"]
    second = session.network.layers[1]
    assert max(abs(p.bias.value) for p in second.perceptrons) > np.sqrt(1 / 8)  # +-sqrt(6/8)
    loss = session.trainer.loss
    assert loss([[1.0], [0.0]], [[0.0], [0.0]]) == 0.25 and session.learning_rate == 0.01
    session.advance(1000)
    inputs, targets = session.data.training
    assert np.abs(session.network(inputs) - targets).max() < 0.25


@pytest.mark.parametrize("shape", ["circle", "gaussians", "spiral", "moons", "quadrants"])
def test_circle_has_the_other_shapes_and_holds_half_back(shape: str) -> None:
    session = play("circle", shape=shape, noise=0.1).session
    assert shape in repr(session.data).lower() and len(session.data.held_out[0]) == 250
    assert len(session.sample_losses(held_out=True)) == 250


@pytest.mark.parametrize("name", ["circle", "digits"])
def test_the_loss_and_the_accuracy_of_what_is_held_out_are_curves(name: str) -> None:
    show = play(name, engine="cpu")
    session, steps = show.session, show.steps // 20
    session.advance(steps)
    curve = Stage(session).frame_data().curve
    assert [each.name for each in curve.metrics] == ["new data: loss", "new data: right"]
    predictions = session.network(session.data.held_out[0])
    targets = session.data.held_out[1]
    right = predictions.argmax(axis=1) == targets.argmax(axis=1)
    if name == "circle":
        right = (predictions[:, 0] > 0.0) == (targets[:, 0] > 0.0)
    assert curve.metrics[1].values[-1] == right.mean()
    assert curve.metrics[1].steps.tolist() == [steps]  # twenty times in a training


def test_a_circle_learned_from_all_points_has_no_such_curve() -> None:
    session = advanced(play("circle", share=1.0).session, 100)
    assert all("held" not in each.name for each in Stage(session).frame_data().curve.metrics)


def test_circle_has_the_playgrounds_defaults() -> None:
    session = play("circle").session
    assert [layer.outputs for layer in session.network.layers] == [4, 2, 1]
    assert {layer.activation for layer in session.network.layers} == {"tanh"}
    assert (session.learning_rate, session.trainer.batches.size) == (0.03, 10)
    assert set(np.unique(session.data.training[1])) == {-1.0, 1.0}
    assert play("circle", l1=0.1, l2=0.2).session.optimizer.l2 == 0.2


def test_texture_is_the_network_of_neural_shading(tmp_path: Path) -> None:
    show = load(find("texture"))(engine="python")
    assert len(show.session.network.bank) == 13_507
    assert show.session.trainer.batches.size == 1024
    assert show.session.optimizer.not_finite == "zero"
    loss = show.session.trainer.loss
    loss.forward(np.ones((4, 3)), np.zeros((4, 3)))
    assert (loss.backward() == 2.0 / 4.0).all()  # not divided by the channels


@pytest.mark.parametrize(("norm", "kinds"), [("layer", 2), ("rms", 2), ("none", 0)])
def test_normalized_has_norms_or_none(norm: str, kinds: int) -> None:
    layers = play("normalized", norm=norm).session.network.layers
    assert sum("Norm" in type(layer).__name__ for layer in layers) == kinds


@pytest.mark.slow
def test_the_expression_finds_the_numbers() -> None:
    session = advanced(play("expression", noise=0.0).session, 400)
    found = {p.label: p.data for p in session.network.parameters}
    wanted = {"height": 1.5, "growth": -0.7, "speed": 6.0, "phase": 0.4}
    assert found == pytest.approx(wanted, abs=0.05)


def test_digits_are_told_apart_by_convolutions() -> None:
    show = load(find("digits"))(engine="python")
    kinds = [type(layer).__name__ for layer in show.session.network.layers]
    assert kinds == ["Conv2d", "MaxPool2d", "Conv2d", "MaxPool2d", "Dense"]
    assert len(show.session.network.bank) == 80 + 1168 + 650
    assert show.session.trainer.loss.name == "softmax_cross_entropy"
    assert len(play("digits", channels="").session.network.bank) == 650


def test_digits_of_mnist_have_the_same_network_on_larger_pictures(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    for part, count in (("train", 30), ("t10k", 20)):
        pictures = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = np.arange(count, dtype=np.uint8) % 10
        head = bytes((0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 28, 0, 0, 0, 28))
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(head + pictures.tobytes())
        head = bytes((0, 0, 8, 1, 0, 0, 0, count))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())
    session = play("digits", folder=str(tmp_path)).session
    assert session.network.inputs == 784 and session.network.layers[-1].inputs == 49
    assert session.data.samples == 30 and len(session.data.held_out[0]) == 20
    session.advance(1)
    shown = exhibit_of(session)
    assert isinstance(shown, Sorting) and shown.confusion.all == 20


def test_an_mlp_of_values_learns_two_moons_in_the_steps_of_its_demo() -> None:
    options, before = {"noise": 0.05, "samples": 60, "hidden": 8}, random.getstate()
    session = play("micrograd", engine="cpu", **options).session
    assert random.getstate() == before  # others draw from it, too
    session.advance(100)
    inputs, targets = session.data.training
    assert len(inputs) == 60 and (session.network(inputs) * targets > 0.0).mean() >= 0.95
    assert play("micrograd").session.network.name_of(336) == "layer 2[0, 16]"


def play_retrain(**options: Any) -> Show:
    show = load(find("retrain"))(engine="cpu", **options)
    assert isinstance(show, Show)
    return show


def shares(show: Show) -> tuple[float, float]:
    """How much of the held-out digits it gets right: of 0 to 7, and of 8 and 9."""
    pictures, truth = play_retrain().session.data.held_out
    label = truth.argmax(axis=1)
    right = show.session.network(pictures).argmax(axis=1) == label
    return float(right[label < 8].mean()), float(right[label >= 8].mean())


def test_it_knows_eight_digits_and_learns_two() -> None:
    show = play_retrain()
    old, new = shares(show)
    assert old > 0.95 and new == 0.0
    show.session.advance(500)
    old, new = shares(show)
    assert old > 0.9 and new > 0.85


def test_its_first_layers_stand_still() -> None:
    show = play_retrain()
    bank = show.session.network.bank
    before = bank.value.copy()
    show.session.advance(20)
    assert "500 of its 830 weights" in show.about
    assert bank.frozen.tolist() == [True] * 500 + [False] * 330
    assert (bank.value[:500] == before[:500]).all()
    assert (bank.value[500:] != before[500:]).sum() > 250


def test_it_forgets_what_it_is_not_shown() -> None:
    show = play_retrain(digits="89")
    show.session.advance(200)
    old, new = shares(show)
    assert old < 0.1 and new > 0.8


def test_any_of_its_layers_can_stand_still() -> None:
    assert not play_retrain(freeze="none").session.network.bank.frozen.any()
    assert play_retrain(freeze="fc").session.network.bank.frozen.sum() == 330
    refused(UnknownNameError, "'conv3'").by(play_retrain, freeze="conv3")


def test_it_needs_no_onnx_and_has_the_network_of_the_file_for_onnx(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = sv.onnx.load(MODEL, freeze=["conv1", "conv2"])
    monkeypatch.setitem(sys.modules, "onnx", None)
    network = play_retrain().session.network
    assert repr(network) == repr(read.to("cpu")) and network.names == read.names
    np.testing.assert_array_equal(network.bank.value, read.bank.value)
    np.testing.assert_array_equal(network.bank.frozen, read.bank.frozen)


def test_a_seed_decides_on_the_order_and_not_on_what_is_held_out() -> None:
    one, other = play_retrain(seed=1).session, play_retrain(seed=2).session
    assert np.array_equal(one.data.held_out[0], other.data.held_out[0])
    one.advance(1), other.advance(1)
    assert one.loss != other.loss


ABSURD: dict[type, tuple[Any, ...]] = {
    int: (-2, 10**30),
    float: (float("nan"), float("inf"), -1.0),
    str: ("", "-3", "no such", "8,-1", "0,,0", "9" * 30, "a" * 5000),
    bool: (),
}
# What looks absurd and means something.
FINE = {
    ("texture", "picture", ""),  # the landscape that comes with it
    ("circle", "points", ""),  # the points of the shape
    *(("circle", each, "") for each in ("table", "names", "classes")),
    ("circle", "hidden", ""),  # no hidden layer
    *(("rgb", each, "") for each in ("sizes", "colours")),  # the sizes of hidden, and the map
    ("digits", "folder", ""),  # the digits of the package
    ("names", "file", ""),  # the names of the package
    ("digits", "channels", ""),  # no convolution at all
    ("retrain", "freeze", ""),  # nothing stands still
    ("retrain", "digits", "9" * 30),  # nines
}
AT_MOST_ALL = {"batch": 10**30, "size": 10**30}  # more than there are is all of them
# 0 is absurd for these too; a rate, a penalty, a noise of 0 is none, and `rgb --hidden 0` has none.
ABOVE_0 = {"depth", "batch", "octaves", "size", "samples", "hidden", "share"}
WITH_0 = {("rgb", "hidden")}


def show(name: str, **given: Any) -> None:
    scene = load(find(name))
    usual = {each: option.default for each, option in own_options(scene).items()}
    nothing = dict.fromkeys(SHARED | RUNNING)
    make_show(scene, nothing | usual | {"engine": "python"} | SMALL.get(name, {}) | given)


def cases(name: str) -> list[tuple[str, Any]]:
    found = []
    for option, row in own_options(load(find(name))).items():
        values = [
            *ABSURD[row.kind],
            *([row.kind(0)] if option in ABOVE_0 and (name, option) not in WITH_0 else []),
        ]
        found += [
            (option, value)
            for value in values
            if (name, option, value) not in FINE and AT_MOST_ALL.get(option) != value
        ]
    return found


@pytest.mark.some(4)
@every_scene
def test_an_absurd_value_is_refused_by_the_name_of_its_option(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cases(name)
    assert len(found) >= 8
    for option, value in found:
        with pytest.raises(ScalarvizError) as caught:
            show(name, **{option: value})
        text = str(caught.value)
        assert option in re.findall(r"\w+", text), (option, value, text)
        assert len(text) < 400


@every_scene
def test_what_looks_absurd_and_means_something_is_taken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scene, option, value in FINE:
        if scene == name:
            show(name, **{option: value})


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("rgb --hidden -2", "hidden must be a whole number from 0 to 65,536, not -2"),
        ("rgb --depth 0", "depth must be a whole number from 1 to 100, not 0"),
        ("rgb --batch 0", "batch must be an integer of at least 1, not 0"),
        ("rgb --lr -1", "lr=-1.0: the learning rate must be a finite number of at least 0"),
        ("rgb --set hidden=-2", "hidden must be a whole number from 0 to 65,536, not -2"),
        ("rgb --hidden 65536 --depth 100", "hidden=65536, depth=100: "),
        ("circle --hidden=x", "hidden takes whole numbers, such as 8,4, not 'x'"),
        ("circle --hidden 8,0", "hidden takes whole numbers from 1 to 65,536, such as 8,4, not 0"),
        ("texture --picture none.png", "picture='none.png': file not found: 'none.png'"),
    ],
)
def test_a_command_line_is_answered_so(run: Any, words: str, sentence: str) -> None:
    code, _, err = run("train", *words.split())
    assert code == 1
    assert err.startswith(f"scalarviz: {sentence}") and err.count("\n") == 1


def test_a_name_of_an_option_stays_an_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    refused(UnknownNameError, "'conv9'").by(show, "retrain", freeze="conv9")


def test_an_error_that_no_option_caused_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    (tmp_path / "picture.png").touch()
    error = refused(ScalarvizError, "Pillow").by(
        show, "texture", picture=str(tmp_path / "picture.png"), lr=0.5
    )
    assert str(error).startswith("reading pictures needs")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["render", "rgb", "-o", "a.mp4", "--fps", "1000000000"], "fps must be a whole number"),
        (["watch", "a" * 5000 + ".py"], "file not found: 'aaa"),
        (["train", "rgb", "--save", "a" * 5000], "File name too long"),
        (["render", "rgb", "--steps", "1", "-o", "a" * 5000 + ".png"], "File name too long"),
    ],
)
def test_what_every_scene_takes_is_refused_too(run: Any, words: list[str], sentence: str) -> None:
    code, _, err = run(*words)
    assert code == 1
    assert err.startswith("scalarviz: ") and sentence in err
    assert err.count("\n") == 1 and len(err) < 400
