"""Edits of a training: weights, learning rates of layers, growth, presets, Undo and Redo."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.package_files import top_folder
from scalarviz.base.texts import text
from scalarviz.data import Rgb
from scalarviz.errors import InputError
from scalarviz.faces.controller import files_and_links
from scalarviz.faces.controller.changes import (
    PRESETS,
    Edits,
    go_wrong,
    layer_less,
    layer_more,
    one_less,
    one_more,
    set_learning_rate,
    set_rate,
)
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scene_file import find, load
from scalarviz.faces.scene_file import scenes as all_scenes
from scalarviz.scene.exhibits.images import Swatches
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.sample_pass import forward
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Caption
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import chips_of, shown
from tests.sessions import advanced, inverting
from tests.studio import Studio
from tests.wording import refused

ROW = 6  # of the first layer, which is computed at operation 2


@pytest.fixture
def edits(colours: sv.Session) -> Edits:
    colours.advance(20)
    colours.advance(4, "operation")
    return Edits(colours)


def check_one_network(reading: LiveValues, value: float) -> None:
    """Check that cubes, spheres and chart are of the network with one value."""
    session = reading.session
    reading.refresh()
    assert reading.place[:2] == (20, 4) and reading.numbers.value[ROW] == pytest.approx(value)
    inputs, _ = session.trainer.batches.at(20)
    wanted = forward(reading.program, reading.numbers.value, inputs[0]).values
    seen = reading.buffers(4).values
    assert {"affine 0", "affine 1"} <= set(seen)
    for name, numbers in seen.items():
        np.testing.assert_allclose(numbers, wanted[name], atol=1e-6)
    exhibit = reading.exhibit()
    assert isinstance(exhibit, Swatches)
    data = session.data
    assert isinstance(data, Rgb)
    outputs = np.asarray(session.network(data.palette[0]))
    np.testing.assert_allclose(np.asarray(exhibit.outputs), outputs, atol=1e-6)


def test_a_drag_within_a_step_leaves_all_that_is_shown_of_one_network(edits: Edits) -> None:
    session = edits.session
    reading, old = LiveValues(session), float(session.network.bank.value[ROW])
    for value in (1.2, 1.6):
        edits.edit(ROW, value, dragged=True)
        check_one_network(reading, value)
    session.undo()
    assert session.network.bank.value[ROW] == old and session.clock.place == (20, 0)
    session.redo()
    assert session.network.bank.value[ROW] == 1.6 and len(session.branches) == 1
    session.advance(5, "operation")
    reading.refresh()
    session.back(1, "operation")
    check_one_network(reading, 1.6)


def test_a_value_that_is_refused_leaves_the_step_as_it_is(edits: Edits) -> None:
    before = edits.session.numbers("affine 1").outputs.copy()
    refused(InputError, "inf").by(edits.edit, ROW, float("inf"))
    assert edits.session.clock.place == (20, 4)
    np.testing.assert_array_equal(edits.session.numbers("affine 1").outputs, before)


def test_what_was_changed_within_a_step_before_an_edit_stays(edits: Edits) -> None:
    edits.session.freeze(3)
    edits.edit(ROW, 1.5)
    assert edits.session.clock == (20, 4, 2) and edits.session.network.bank.frozen[3]


def test_an_edit_in_an_earlier_step_begins_a_branch(edits: Edits) -> None:
    session = edits.session
    session.advance(10)
    session.seek(20)
    session.advance(4, "operation")
    edits.edit(ROW, 1.5)
    assert len(session.branches) == 2 and session.clock.place == (20, 4)
    check_one_network(LiveValues(session), 1.5)


@pytest.fixture
def inverting_controller(opened: Open) -> Any:
    return opened(inverting(batch=4), Stage)


def test_a_layer_is_frozen_by_what_is_pinned_in_it(inverting_controller: Controller) -> None:
    session = inverting_controller.session
    layer = session.network.layers[1]
    assert not shown(inverting_controller, "freeze layer").enabled
    inverting_controller.stage.pin(layer.perceptrons[0].weights[2])
    assert shown(inverting_controller, "freeze layer").enabled
    CONTROLS["freeze layer"].set(inverting_controller, True)
    assert (
        shown(inverting_controller, "freeze layer").value
        and shown(inverting_controller, "freeze").value
    )
    before = session.network.bank.value.copy()
    session.advance(3)
    moved = session.network.bank.value != before
    assert moved[:16].any() and not moved[16:].any()
    inverting_controller.undo()
    assert not session.network.bank.frozen.any()
    inverting_controller.stage.pin((session.network.program.operations[0].target.name, 2))
    CONTROLS["freeze layer"].set(inverting_controller, True)
    assert session.network.bank.frozen[:16].all() and not session.network.bank.frozen[16:].any()


def test_a_weight_and_a_layer_have_rates_of_their_own(inverting_controller: Controller) -> None:
    session = inverting_controller.session
    row = session.network.layers[0].perceptrons[1].weights[0].index
    inverting_controller.stage.pin(row)
    assert shown(inverting_controller, "weight rate").value == 0.5
    assert shown(inverting_controller, "layer rate").value == 0.5
    CONTROLS["weight rate"].set(inverting_controller, "0.125")
    assert session.own_rate(row) == 0.125 and session.own_rate(row + 1) is None
    assert shown(inverting_controller, "weight rate").value == 0.125
    assert shown(inverting_controller, "layer rate").value is None
    CONTROLS["layer rate"].set(inverting_controller, "0.25")
    assert {session.own_rate(each) for each in range(16)} == {0.25}
    assert session.own_rate(16) is None and shown(inverting_controller, "layer rate").value == 0.25
    CONTROLS["layer rate"].set(inverting_controller, " ")
    assert session.own_rate(row) is None and shown(inverting_controller, "layer rate").value == 0.5
    for _ in range(3):
        inverting_controller.undo()
    assert session.own_rate(row) is None


@pytest.fixture
def trained_controller(opened: Open) -> Any:
    return opened(Show(advanced(inverting(batch=4), 20), "A 3-4-3 network learns colours"), Stage)


def press(trained_controller: Controller, name: str) -> None:
    CONTROLS[name].set(trained_controller, 1)


def sizes(trained_controller: Controller) -> list[int]:
    return [layer.outputs for layer in trained_controller.session.network.layers]


def test_neurons_and_layers_are_added_and_removed_and_a_message_leads_back(
    trained_controller: Controller,
) -> None:
    first, stage = trained_controller.session, cast(Any, trained_controller.stage)
    before = first.network.bank.value.copy()
    colours = np.random.default_rng(0).random((5, 3))
    answers = first.network(colours)
    press(trained_controller, "add neuron")
    assert (
        sizes(trained_controller) == [5, 3]
        and trained_controller.show.title == "A 3-5-3 network learns colours"
    )
    assert (trained_controller.session.network(colours) == answers).all()
    press(trained_controller, "add layer")
    assert sizes(trained_controller) == [5, 5, 3]
    press(trained_controller, "remove layer")  # the one that was added
    assert sizes(trained_controller) == [5, 3]
    assert (trained_controller.session.network(colours) == answers).all()
    press(trained_controller, "remove neuron")
    assert sizes(trained_controller) == [4, 3]
    assert not trained_controller.face.state.undoable  # that is of one session
    stage.press(text("notices.earlier"))
    assert sizes(trained_controller) == [5, 3]
    assert trained_controller.show.title == "A 3-5-3 network learns colours"
    assert trained_controller.session is not first and (first.network.bank.value == before).all()


def test_undo_of_another_activation_lays_out_the_network_as_it_was(
    trained_controller: Controller, studio: Studio
) -> None:
    stage, session = trained_controller.stage, trained_controller.session
    studio.stage(stage, 0.0)
    titles = [label.about for label in stage.frame_data().layout.labels]
    session.set_activation(0, "relu")
    studio.stage(stage, 1.0)
    assert [label.about for label in stage.frame_data().layout.labels] != titles
    trained_controller.undo()
    studio.stage(stage, 2.0)
    assert [label.about for label in stage.frame_data().layout.labels] == titles


def test_what_is_pinned_says_which_layer_and_which_neuron(trained_controller: Controller) -> None:
    press(trained_controller, "add layer")
    program = trained_controller.session.network.program
    weight = trained_controller.session.network.layers[1].perceptrons[2].weights[0]
    trained_controller.stage.pin(weight)
    press(trained_controller, "add neuron")
    assert sizes(trained_controller) == [4, 5, 3]
    kept = trained_controller.session.network.layers[0].perceptrons[0].weights[0].value
    trained_controller.stage.pin(
        (trained_controller.session.network.program.operations[0].target.name, 1)
    )
    press(trained_controller, "remove neuron")
    assert sizes(trained_controller) == [3, 5, 3]
    assert trained_controller.session.network.layers[0].perceptrons[0].weights[0].value == kept
    assert program is not trained_controller.session.network.program


def test_what_cannot_be_is_refused_in_a_sentence(trained_controller: Controller) -> None:
    for _ in range(3):
        press(trained_controller, "remove neuron")
    session = trained_controller.session
    assert sizes(trained_controller) == [1, 3]
    press(trained_controller, "remove neuron")
    assert trained_controller.session is session
    words = chips_of(trained_controller)
    assert any("layer 0" in each for each in words), words


@pytest.mark.some(4)
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
    names = CONTROLS["go wrong"].names(controller.face.state)
    assert ("no hidden layer" in names) == offered
    assert "a rate too large" in names


def playing_caption(trained_controller: Controller) -> Caption:
    """Return the caption while it plays."""
    trained_controller.session.play(0.01)
    try:
        caption = trained_controller.stage.frame_data().words.caption
    finally:
        trained_controller.session.pause()
    assert caption is not None
    return caption


@pytest.mark.parametrize("name", ["shallow", "dead"])
def test_without_hidden_layers_what_goes_wrong_in_them_is_refused(name: str) -> None:
    refused(InputError, "two or more Dense layers").by(
        PRESETS[name], sv.Session(sv.Network([2, 1], seed=0), data.Xor(), engine="python")
    )


@pytest.mark.parametrize("name", PRESETS)
def test_what_goes_wrong_is_set_up_said_and_left(trained_controller: Controller, name: str) -> None:
    session = trained_controller.session
    before = session.network.bank.value.copy(), session.learning_rate, sizes(trained_controller)
    activations = session.network.activations
    go_wrong(trained_controller, name)
    trained_controller.time.pause()
    stage: Any = trained_controller.stage
    button = text("notices.earlier") if name == "shallow" else "Undo"
    assert (text(f"presets.{name}"), button) in stage.chips()
    now = trained_controller.session
    said = text(f"presets.{name}.look")
    assert playing_caption(trained_controller).title == said
    assert playing_caption(trained_controller).formula.startswith("Step ")
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
        assert sizes(trained_controller) == [3]
    stage.press(button)
    now = trained_controller.session
    assert now is session and now.step_index == 20 and now.network.activations == activations
    assert (now.network.bank.value == before[0]).all()
    assert (now.learning_rate, sizes(trained_controller)) == before[1:]
    assert playing_caption(trained_controller).title.startswith("Step ")


def test_one_thing_goes_wrong_at_a_time(trained_controller: Controller) -> None:
    session = trained_controller.session
    before = session.network.bank.value.copy()
    for name in ("rate", "dead", "zero"):
        go_wrong(trained_controller, name)
        trained_controller.time.pause()
    now = trained_controller.session
    assert now is session and now.learning_rate == 0.5
    assert now.network.activations == ("tanh", "sigmoid")
    trained_controller.undo()
    assert (now.network.bank.value == before).all() and now.step_index == 20


@pytest.mark.parametrize("name", ["rate", "zero", "dead"])
def test_a_branch_that_a_preset_begins_has_its_name(
    trained_controller: Controller, name: str
) -> None:
    trained_controller.session.seek(1)
    go_wrong(trained_controller, name)
    trained_controller.time.pause()
    assert trained_controller.session.current_branch.name == text(f"presets.{name}")
    assert trained_controller.session.branches[0].name == "from the start"


Act = Callable[[Any], object]


@pytest.fixture
def rgb_controller(opened: Open) -> Any:
    return opened("rgb")


def switch(rgb_controller: Any) -> None:
    """To the branch of before an edit."""
    rgb_controller.time.step(+1, 3)
    rgb_controller.time.seek(1)
    rgb_controller.edit(3, 0.5)
    rgb_controller.switch(0)


@pytest.mark.parametrize(
    ("act", "did"),
    [
        (lambda c: c.edit(3, 0.75), "weight 3 = 0.75"),
        (lambda c: [c.edit(3, x, dragged=True) for x in (0.1, 0.2, 0.3)], "weight 3 = 0.3"),
        (lambda c: set_learning_rate(c, 0.25), "rate 0.25"),
        (lambda c: set_rate(c, range(2, 4), 0.5), "rate 0.5 for 2 weights"),
        (lambda c: c.freeze(3, True), "weight 3 frozen"),
        (lambda c: c.set_option("activation", "relu"), "relu in layer 0"),
        (lambda c: c.set_option("map", "grey"), "data rgb grey"),
        (lambda c: (c.edit(3, 0.75), c.time.step(+1, 3), c.time.reset()), "restarted"),
        (lambda c: (c.time.step(+1, 3), c.session.branch()), "a new branch from step 3"),
        (switch, "switched to branch 0"),
        (lambda c: setattr(c.session.current_branch, "name", "mine"), "branch 0 renamed"),
    ],
)
def test_undo_and_redo_say_what_they_do(rgb_controller: Any, act: Act, did: str) -> None:
    act(rgb_controller)
    rgb_controller.undo()
    assert rgb_controller.message.partition(";")[0] == f"Undone: {did}"
    assert rgb_controller.stage.action == "Redo"
    rgb_controller.stage.then()
    assert rgb_controller.message.partition(";")[0] == f"Redone: {did}"
    assert rgb_controller.stage.action == "Undo"
    rgb_controller.stage.then()
    assert rgb_controller.message.partition(";")[0] == f"Undone: {did}"


def test_options_say_the_sizes_of_a_network_that_has_grown(rgb_controller: Any) -> None:
    def sizes() -> dict[str, Any]:
        return {choice.name: choice.value for choice in rgb_controller.face.state.options}

    assert (sizes()["hidden"], sizes()["depth"]) == (8, 1)
    one_more(rgb_controller)
    assert (sizes()["hidden"], sizes()["depth"]) == (9, 1)
    one_less(rgb_controller)
    layer_more(rgb_controller)
    assert (sizes()["hidden"], sizes()["depth"]) == (8, 2)
    rgb_controller.stage.then()  # the button of the message
    layer_less(rgb_controller)
    assert (sizes()["hidden"], sizes()["depth"]) == (0, 1)
    rgb_controller.stage.then()
    assert sizes()["hidden"] == 8
    one_more(rgb_controller)
    rgb_controller.set_option("depth", "2")  # of the sizes that are shown
    assert [layer.outputs for layer in rgb_controller.session.network.layers] == [9, 9, 3]


# Scenes.


def test_a_scene_is_opened_played_and_left_again(rgb_controller: Any) -> None:
    first = rgb_controller.session
    rgb_controller.time.step(+1, 4)
    rgb_controller.edit(3, 0.5)
    rgb_controller.set_option("map", "grey")
    files_and_links.open_scene(rgb_controller, "xor")
    assert (
        rgb_controller.session is not first and not first.playing and rgb_controller.session.playing
    )
    assert rgb_controller.face.state.scene == "xor" and "XOR" in rgb_controller.show.title
    assert rgb_controller.stage.show is rgb_controller.show
    assert rgb_controller.message.endswith("The previous training run is unchanged")
    assert rgb_controller.session.engine == "python"  # as it was chosen for the scene before
    rgb_controller.stage.then()  # the button of the message
    assert rgb_controller.session is first and rgb_controller.face.state.scene == "rgb"
    assert first.step_index == 4 and rgb_controller.face.state.undoable == 2
    values = {choice.name: choice.value for choice in rgb_controller.face.state.options}
    assert values["map"] == "grey"
    rgb_controller.undo()
    assert "data rgb grey" in rgb_controller.message and rgb_controller.face.state.redoable == 1


def test_the_menu_has_each_scene_with_a_line_about_it(rgb_controller: Any) -> None:
    found = files_and_links.entries()
    assert list(found.values()) == list(all_scenes())
    assert all(len(entry) > len(name) + 20 for entry, name in found.items())
    files_and_links.choose_scene(rgb_controller, next(iter(found)))
    first = next(iter(all_scenes()))
    assert rgb_controller.face.state.scene == first
    files_and_links.choose_scene(rgb_controller, "choose ...")
    assert rgb_controller.face.state.scene == first


def test_while_a_scene_is_made_it_says_so_and_nothing_waits(
    rgb_controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading
    import time

    gate, real = threading.Event(), files_and_links.options_of

    def slow(*given: Any) -> Any:
        gate.wait(20.0)
        return real(*given)

    monkeypatch.setattr(files_and_links, "options_of", slow)
    rgb_controller.hand.patience = 0.01
    before = rgb_controller.session
    files_and_links.open_scene(rgb_controller, "xor")
    rgb_controller.face.attend()
    assert (
        rgb_controller.stage.status.startswith("Opening xor: ") and rgb_controller.session is before
    )
    gate.set()
    end = time.monotonic() + 20.0
    while rgb_controller.session is before and time.monotonic() < end:
        rgb_controller.face.attend()
    rgb_controller.face.attend()
    assert rgb_controller.face.state.scene == "xor" and not rgb_controller.stage.status


def test_a_scene_of_ones_own_is_no_entry_of_the_menu(tmp_path: Any) -> None:
    own = tmp_path / "rgb.py"
    own.write_text((top_folder("scenes") / "rgb.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert Recipe(load(own)).name == "" and Recipe(load(find("rgb"))).name == "rgb"
    assert files_and_links.entry_of("") == ""


def test_what_another_scene_shows_does_not_take_the_place_of_what_is_kept(
    rgb_controller: Any,
) -> None:
    first = rgb_controller.session
    files_and_links.open_scene(rgb_controller, "xor")
    rgb_controller.time.pause()
    assert rgb_controller.own_session is first
    one_more(rgb_controller)
    assert rgb_controller.own_session is first
    files_and_links.open_scene(rgb_controller, "circle")
    assert rgb_controller.own_session is first


def test_what_grows_takes_the_place_of_what_is_kept(rgb_controller: Any) -> None:
    first = rgb_controller.session
    files_and_links.open_scene(rgb_controller, "xor")
    rgb_controller.time.pause()
    rgb_controller.stage.then()  # the button of the message
    one_more(rgb_controller)
    assert rgb_controller.own_session is rgb_controller.session is not first
