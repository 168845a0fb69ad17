"""Networks that grow in the picture, and presets that show what goes wrong."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.controller.changes import PRESETS, go_wrong
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.caption import Caption
from tests.faces.controller.conftest import Open
from tests.faces.controller.stages import chips_of
from tests.sessions import advanced, inverting
from tests.studio import Studio
from tests.wording import refused


@pytest.fixture
def controller(opened: Open) -> Any:
    return opened(Show(advanced(inverting(batch=4), 20), "A 3-4-3 network learns colours"), Stage)


def press(controller: Controller, name: str) -> None:
    CONTROLS[name].set(controller, 1)


def sizes(controller: Controller) -> list[int]:
    return [layer.outputs for layer in controller.session.network.layers]


def test_neurons_and_layers_are_added_and_removed_and_the_way_leads_back(
    controller: Controller,
) -> None:
    first = controller.session
    before = first.network.bank.value.copy()
    colours = np.random.default_rng(0).random((5, 3))
    answers = first.network(colours)
    press(controller, "add neuron")
    assert sizes(controller) == [5, 3] and controller.show.title == "A 3-5-3 network learns colours"
    assert (controller.session.network(colours) == answers).all()
    press(controller, "add layer")
    assert sizes(controller) == [5, 5, 3]
    press(controller, "remove layer")  # the one that was added
    assert sizes(controller) == [5, 3]
    assert (controller.session.network(colours) == answers).all()
    press(controller, "remove neuron")
    assert sizes(controller) == [4, 3]
    for expected in ([5, 3], [5, 5, 3], [5, 3], [4, 3]):
        controller.undo()
        assert sizes(controller) == expected
    assert controller.session is first and (first.network.bank.value == before).all()
    assert controller.show.title == "A 3-4-3 network learns colours"
    for expected in ([5, 3], [5, 5, 3]):
        controller.redo()
        assert sizes(controller) == expected
    assert controller.state.redoable == 2 and controller.state.undoable == 1


def test_undo_of_another_activation_lays_out_the_network_as_it_was(
    controller: Controller, studio: Studio
) -> None:
    stage, session = controller.stage, controller.session
    studio.stage(stage, 0.0)
    titles = [label.about for label in stage.frame_data().layout.labels]
    session.set_activation(0, "relu")
    studio.stage(stage, 1.0)
    assert [label.about for label in stage.frame_data().layout.labels] != titles
    controller.undo()
    studio.stage(stage, 2.0)
    assert [label.about for label in stage.frame_data().layout.labels] == titles


def test_what_is_pinned_says_which_layer_and_which_neuron(controller: Controller) -> None:
    press(controller, "add layer")
    program = controller.session.network.program
    weight = controller.session.network.layers[1].perceptrons[2].weights[0]
    controller.stage.pin(weight)
    press(controller, "add neuron")
    assert sizes(controller) == [4, 5, 3]
    kept = controller.session.network.layers[0].perceptrons[0].weights[0].value
    controller.stage.pin((controller.session.network.program.operations[0].target.name, 1))
    press(controller, "remove neuron")
    assert sizes(controller) == [3, 5, 3]
    assert controller.session.network.layers[0].perceptrons[0].weights[0].value == kept
    assert program is not controller.session.network.program


def test_what_cannot_be_is_refused_in_a_sentence(controller: Controller) -> None:
    for _ in range(3):
        press(controller, "remove neuron")
    session = controller.session
    assert sizes(controller) == [1, 3]
    press(controller, "remove neuron")
    assert controller.session is session
    words = chips_of(controller)
    assert any("layer 0" in each for each in words), words


@pytest.mark.parametrize(
    ("name", "options", "offered"),
    [
        ("xor", {}, True),
        ("xor", {"as_posted": True}, True),
        ("xnor", {}, True),
        *[("circle", {"shape": shape}, True) for shape in ("circle", "spiral", "quadrants")],
        ("circle", {"shape": "gaussians"}, False),
        ("circle", {"features": "x,y,x2,y2"}, False),
        *[("rgb", {"map": name}, False) for name in ("invert", "sepia")],
        ("normalized", {}, False),
        ("normalized", {"norm": "none"}, True),
        *[(name, {}, False) for name in ("digits", "texture", "expression")],
    ],
)
def test_no_hidden_layer_is_offered_where_one_layer_cannot_learn_the_data(
    opened: Open, name: str, options: dict[str, Any], offered: bool
) -> None:
    controller = opened(load(find(name))(engine="python", **options), Stage)
    names = CONTROLS["go wrong"].names(controller.state)
    assert ("no hidden layer" in names) == offered
    assert "a rate too large" in names


def playing_caption(controller: Controller) -> Caption:
    """Return the caption while it plays."""
    controller.session.play(0.01)
    try:
        caption = controller.stage.stages[0].frame_data().words.caption
    finally:
        controller.session.pause()
    assert caption is not None
    return caption


@pytest.mark.parametrize("name", ["shallow", "dead"])
def test_without_hidden_layers_what_goes_wrong_in_them_is_refused(name: str) -> None:
    with refused(InputError, "two or more Dense layers"):
        PRESETS[name].act(sv.Session(sv.Network([2, 1], seed=0), data.Xor(), engine="python"))


@pytest.mark.parametrize("name", PRESETS)
def test_what_goes_wrong_is_set_up_said_and_undone(controller: Controller, name: str) -> None:
    session = controller.session
    before = session.network.bank.value.copy(), session.learning_rate, sizes(controller)
    activations = session.network.activations
    go_wrong(controller, name)
    controller.pause()
    stage: Any = controller.stage
    assert (text(f"presets.{name}"), "Undo") in stage.chips()
    now = controller.session
    said = text(f"presets.{name}.look")
    assert playing_caption(controller).title == said
    assert playing_caption(controller).formula.startswith("Step ")
    if name == "rate":
        assert now.learning_rate == 50.0
    elif name == "zero":
        now.seek(20)
        now.advance(30)
        layer = now.network.layers[0].kernel
        assert (layer == layer[0]).all(), "all neurons are alike"
    elif name == "dead":
        kernel = np.array(now.network.layers[0].kernel)
        now.advance(30)
        assert (np.array(now.network.layers[0].kernel) == kernel).all()
    else:
        assert sizes(controller) == [3]
    stage.press("Undo")
    now = controller.session
    assert now is session and now.step_index == 20 and now.network.activations == activations
    assert (now.network.bank.value == before[0]).all()
    assert (now.learning_rate, sizes(controller)) == before[1:]
    assert playing_caption(controller).title.startswith("Step ")


def test_one_thing_goes_wrong_at_a_time(controller: Controller) -> None:
    session = controller.session
    before = session.network.bank.value.copy()
    for name in ("rate", "dead", "zero"):
        go_wrong(controller, name)
        controller.pause()
    now = controller.session
    assert now is session and now.learning_rate == 0.5
    assert now.network.activations == ("tanh", "sigmoid")
    controller.undo()
    assert (now.network.bank.value == before).all() and now.step_index == 20


@pytest.mark.parametrize("name", ["rate", "zero", "dead"])
def test_a_branch_that_a_preset_begins_has_its_name(controller: Controller, name: str) -> None:
    controller.session.seek(1)
    go_wrong(controller, name)
    controller.pause()
    assert controller.session.current_branch.name == text(f"presets.{name}")
    assert controller.session.branches[0].name == "from the start"
