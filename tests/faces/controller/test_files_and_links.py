"""Files and links that a face writes."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.faces.cli import watch_scene
from scalarviz.faces.controller.changes import one_more
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.files_and_links import save, save_network
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.links import read_link
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.stages import Stages
from scalarviz.training.session.session import Session
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import FakeStage


def test_a_training_is_saved_though_one_leaves_meanwhile(controller: Any, tmp_path: Path) -> None:
    path, hand, moved = tmp_path / "run.safetensors", controller.hand, []
    hand.patience = 0.0
    controller.do(lambda: time.sleep(0.2), moved.append)
    save(controller, path)
    controller.do(lambda: None, moved.append)
    controller.face.quit()
    controller.face.rest()
    assert path.exists() and controller.last_words == [f"Saved to {path}"] and not moved


def test_a_network_is_saved_as_its_ending_says(controller: Any, tmp_path: Path) -> None:
    for name in ("net.safetensors", "net.npz", "net.glsl", "net.hlsl"):
        save_network(controller, tmp_path / name)
        assert controller.message == f"Saved to {tmp_path / name}"
        assert (tmp_path / name).stat().st_size > 100
    save_network(controller, tmp_path / "net.doc")
    assert "'.doc'" in controller.message or "net.doc" in controller.message
    assert not (tmp_path / "net.doc").exists()


def test_a_compiled_function_cannot_be_saved(opened: Open, tmp_path: Path) -> None:
    import scalarviz as sv

    slope = sv.Value(0.0)
    line = sv.compile(lambda x: slope * x, inputs=1)
    controller = opened(sv.Session(line, ([[1.0]], [[2.0]]), "mse", sv.SGD(0.1), engine="python"))
    for act in (save, save_network):
        act(controller, tmp_path / "it.gif")
        assert "A session of a compiled function cannot be saved" in controller.message


Make = Callable[..., Any]


@pytest.fixture
def make(opened: Open) -> Make:
    """make("scene", option=...): a controller, whose clipboard is `copied`."""

    def make(name: str, **given: Any) -> Any:
        controller = opened(name, **given)
        controller.copied = ""
        controller.face.copy_text = lambda text: setattr(controller, "copied", text)
        return controller

    return make


def opened(link: str) -> tuple[Session, Any]:
    """The session at the moment of a link, and what is pinned in it, as `scalarviz open` has it."""
    found = read_link(link)
    show, _ = watch_scene.opened(found, {"limit": None})
    pinned = watch_scene.pinned_by(show.session, found)
    assert watch_scene.go_to_moment(show.session, found, watch_scene.Autosave())
    return show.session, pinned


def leads_back(controller: Any) -> bool:
    """Whether the link of the present moment leads to the same one."""
    controller.copied = ""
    assert controller.face.press("k")
    assert controller.message.startswith(f"Copied: {controller.copied}"), controller.message
    session, pinned = opened(controller.copied)
    here, stage = controller.session, controller.stage
    assert session.clock.place == here.clock.place
    assert pinned == (stage.pinned if stage.pinned_neuron is None else stage.pinned_neuron)
    return bool(np.array_equal(session.network.bank.value, here.network.bank.value))


def refuses(controller: Any, sentence: str) -> bool:
    before = controller.copied = "as before"
    controller.face.press("k")
    return sentence in controller.message and bool(controller.copied == before)


def test_a_scene_is_found_again_with_its_options(make: Make) -> None:
    controller = make("rgb", hidden=4, optimizer="adam", seed=3)
    assert leads_back(controller)
    controller.time.step(+1, 12)
    controller.time.set_unit("operation")
    controller.time.step(+1, 7)
    controller.stage.pinned = 5
    assert leads_back(controller)
    options = "hidden=4&engine=python&seed=3&optimizer=adam"
    assert controller.copied == f"rgb?{options}#step=12&op=7&pin=5&sample=6"
    controller.stage.pinned_neuron = ("tanh 0", 3)
    controller.next_sample()
    assert leads_back(controller)
    assert controller.copied.endswith("#step=12&op=7&neuron=tanh%200:3&sample=7")


def test_what_was_changed_is_found_again_in_its_file_only(make: Make, tmp_path: Path) -> None:
    controller, path = make("rgb"), tmp_path / "a run.safetensors"
    controller.time.step(+1, 3)
    controller.edit(4, 0.5)
    assert refuses(controller, "this training run was changed: save it first")
    save(controller, path)
    assert leads_back(controller) and str(path) in controller.copied
    controller.time.step(+1, 4)
    assert leads_back(controller)
    controller.freeze(7, True)
    assert refuses(controller, "save it first")
    controller.undo()
    assert leads_back(controller)
    controller.time.seek(2)
    assert leads_back(controller)
    controller.edit(4, 0.25)  # another branch
    assert refuses(controller, "save it first")
    controller.undo()
    controller.time.seek(3)
    assert refuses(controller, "first go back or forward by one operation")
    controller.time.step(+1, 2)
    assert leads_back(controller)
    path.unlink()
    assert refuses(controller, "save it first")


def test_without_scene_and_file_it_says_what_to_do(make: Make, tmp_path: Path) -> None:
    controller = make("rgb")
    one_more(controller)
    assert refuses(controller, "this training run is neither: save it first")
    own = tmp_path / "custom_layers.py"
    own.write_text(Path(find("rgb")).read_text(encoding="utf-8"), encoding="utf-8")
    recipe = Recipe(load(own))
    controller = Face(Stages([FakeStage(recipe.make({"engine": "python"}))]), [recipe]).lead
    assert refuses(controller, "this training run is neither: save it first")


def test_an_option_that_a_link_cannot_have_is_no_reason_for_a_wrong_one(
    make: Make, tmp_path: Path
) -> None:
    from PIL import Image

    picture = tmp_path / "a.png"
    Image.new("RGB", (4, 4), "red").save(picture)
    controller = make("texture", picture=str(picture), hidden=4)
    assert refuses(controller, "this training run is neither: save it first")
