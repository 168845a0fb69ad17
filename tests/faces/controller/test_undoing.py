"""What Undo and Redo say, and the way back from one training to another."""

from collections.abc import Callable
from typing import Any

import pytest

from scalarviz.base.package_files import top_folder
from scalarviz.faces.controller import export
from scalarviz.faces.controller.changes import (
    layer_less,
    layer_more,
    one_less,
    one_more,
    set_learning_rate,
    set_rate,
)
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scene_file import find, load
from scalarviz.faces.scene_file import scenes as all_scenes
from tests.faces.controller.conftest import Open

Act = Callable[[Any], object]


@pytest.fixture
def controller(opened: Open) -> Any:
    return opened("rgb")


def switch(controller: Any) -> None:
    """To the branch of before an edit."""
    controller.step(+1, 3)
    controller.seek(1)
    controller.edit(3, 0.5)
    controller.switch(0)


@pytest.mark.parametrize(
    ("act", "did"),
    [
        (lambda c: c.edit(3, 0.75), "weight 3 = 0.75"),
        (lambda c: set_learning_rate(c, 0.25), "rate 0.25"),
        (lambda c: set_rate(c, range(2, 4), 0.5), "rate 0.5 of 2 weights"),
        (lambda c: c.freeze(3, True), "weight 3 frozen"),
        (lambda c: c.set_activation(0, "relu"), "relu in layer 0"),
        (lambda c: c.set_option("map", "grey"), "data rgb grey"),
        (lambda c: (c.step(+1, 3), c.reset()), "started again"),
        (lambda c: (c.step(+1, 3), c.session.branch()), "a new branch from step 3"),
        (switch, "over to branch 0"),
        (lambda c: setattr(c.session.current_branch, "name", "mine"), "branch 0 renamed"),
        (one_more, "1 neuron added to layer 0"),
        (lambda c: c.set_option("hidden", "3"), "hidden set to 3"),
        (lambda c: export.open_scene(c, "xor"), "scene xor opened"),
    ],
)
def test_undo_and_redo_say_what_they_do(controller: Any, act: Act, did: str) -> None:
    act(controller)
    controller.undo()
    assert controller.message.partition(";")[0] == f"Undone: {did}"
    assert controller.stage.action == "Redo"
    controller.stage.then()
    assert controller.message.partition(";")[0] == f"Done again: {did}"
    assert controller.stage.action == "Undo"
    controller.stage.then()
    assert controller.message.partition(";")[0] == f"Undone: {did}"


def test_options_say_the_sizes_of_a_network_that_has_grown(controller: Any) -> None:
    def sizes() -> dict[str, Any]:
        return {choice.name: choice.value for choice in controller.state.options}

    assert (sizes()["hidden"], sizes()["depth"]) == (8, 1)
    one_more(controller)
    assert (sizes()["hidden"], sizes()["depth"]) == (9, 1)
    one_less(controller)
    layer_more(controller)
    assert (sizes()["hidden"], sizes()["depth"]) == (8, 2)
    controller.undo()
    layer_less(controller)
    assert (sizes()["hidden"], sizes()["depth"]) == (0, 1)
    for _ in range(3):
        controller.undo()
    assert sizes()["hidden"] == 8
    one_more(controller)
    controller.set_option("depth", "2")  # of the sizes that are shown
    assert [layer.outputs for layer in controller.session.network.layers] == [9, 9, 3]


def test_a_drag_is_told_once(controller: Any) -> None:
    for value in (0.1, 0.2, 0.3):
        controller.edit(3, value, dragged=True)
    controller.undo()
    assert controller.message == "Undone: weight 3 = 0.3"


# Scenes.


def test_a_scene_is_opened_played_and_left_again(controller: Any) -> None:
    first = controller.session
    controller.step(+1, 4)
    controller.edit(3, 0.5)
    controller.set_option("map", "grey")
    export.open_scene(controller, "xor")
    assert controller.session is not first and not first.playing and controller.session.playing
    assert controller.state.scene == "xor" and "XOR" in controller.show.title
    assert controller.stage.show is controller.show
    assert controller.message.endswith("The training before stays as it is")
    assert controller.session.engine == "python"  # as it was chosen for the scene before
    controller.stage.then()  # the button of the message
    assert controller.session is first and controller.state.scene == "rgb"
    assert first.step_index == 4 and controller.state.undoable == 2
    values = {choice.name: choice.value for choice in controller.state.options}
    assert values["map"] == "grey"
    controller.undo()
    assert "data rgb grey" in controller.message and controller.state.redoable == 2
    controller.redo()
    controller.redo()
    assert controller.state.scene == "xor"


def test_the_menu_has_each_scene_with_a_line_about_it(controller: Any) -> None:
    found = export.entries()
    assert list(found.values()) == list(all_scenes())
    assert all(len(entry) > len(name) + 20 for entry, name in found.items())
    export.choose_scene(controller, next(iter(found)))
    assert controller.state.scene == "circle"
    export.choose_scene(controller, "choose ...")
    assert controller.state.scene == "circle"


def test_while_a_scene_is_made_it_says_so_and_nothing_waits(
    controller: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading
    import time

    gate, real = threading.Event(), export.options_of

    def slow(*given: Any) -> Any:
        gate.wait(20.0)
        return real(*given)

    monkeypatch.setattr(export, "options_of", slow)
    controller.hand.patience = 0.01
    before = controller.session
    export.open_scene(controller, "xor")
    controller.attend()
    assert controller.state.status.startswith("Opening xor: ") and controller.session is before
    gate.set()
    end = time.monotonic() + 20.0
    while controller.session is before and time.monotonic() < end:
        controller.attend()
    controller.attend()
    assert controller.state.scene == "xor" and not controller.state.status


def test_a_scene_of_ones_own_is_no_entry_of_the_menu(tmp_path: Any) -> None:
    own = tmp_path / "rgb.py"
    own.write_text((top_folder("scenes") / "rgb.py").read_text(encoding="utf-8"), encoding="utf-8")
    recipe = Recipe(load(own))
    assert recipe.name == "" and Recipe(load(find("rgb"))).name == "rgb"
    assert export.entry_of("") == ""


def test_what_another_scene_shows_does_not_take_the_place_of_what_is_kept(controller: Any) -> None:
    first = controller.session
    export.open_scene(controller, "xor")
    controller.pause()
    assert controller.own_session is first
    one_more(controller)
    assert controller.own_session is first
    controller.undo()
    controller.undo()
    one_more(controller)
    assert controller.own_session is controller.session is not first
