"""Files and links that a face writes.

In the background, how far they are, how they end, what stays.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz.base import processes
from scalarviz.faces.cli import watch_scene
from scalarviz.faces.controller import export
from scalarviz.faces.controller.changes import one_more
from scalarviz.faces.controller.export import export_to, save, save_network
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.links import read_link
from scalarviz.faces.scene_file import find, load
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.training.session.session import Session
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import FakeStage, attended

# It draws two of four pictures, and the others when there is a file OUT.go.
SLOW = """
import os, sys, time
print("1 4", flush=True)
print("2 4", flush=True)
while not os.path.exists(sys.argv[3] + ".go"):
    time.sleep(0.01)
if "bad" in sys.argv[3]:
    sys.exit("no room")
open(sys.argv[3], "w").write("all")
"""


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "COMMAND", ("-c", SLOW, "-"))


def test_without_a_step_there_is_no_video(show: Show, tmp_path: Path) -> None:
    controller = Face(Stages([FakeStage(show)])).lead
    export_to(controller.face, tmp_path / "it.mp4")
    assert "Nothing to make a video of" in controller.message


def test_another_process_draws_what_is_seen(
    controller: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import sys; open(sys.argv[3], 'w').write(sys.argv[4])"
    monkeypatch.setattr(export, "COMMAND", ("-c", program, "-"))
    controller.stage.pinned_neuron = ("tanh 0", 1)
    export_to(controller.face, tmp_path / "it.mp4")
    attended(controller, lambda: controller.message.startswith("Exported"))
    told = json.loads((tmp_path / "it.mp4").read_text())
    assert told["look"]["pin"] == ["tanh 0", 1] and told["look"]["theme"] == "dark"
    assert told["titles"] == ["colours"]


@pytest.mark.usefixtures("slow")
def test_its_progress_is_shown_until_it_is_done(controller: Any, tmp_path: Path) -> None:
    path = tmp_path / "it.mp4"
    export_to(controller.face, path)
    controller.face.attend()
    assert (
        controller.face.state.work.text.startswith("it.mp4") and controller.face.state.work.action
    )
    attended(controller, lambda: controller.face.state.work.part == 0.5)
    assert controller.face.state.work.text.startswith("it.mp4: 2 of 4 pictures")
    controller.time.step(+1)  # the session goes on meanwhile
    Path(f"{path}.go").touch()
    attended(controller, lambda: controller.face.state.work is None)
    assert controller.message == f"Exported to {path}" and path.read_text() == "all"


@pytest.mark.usefixtures("slow")
def test_files_that_are_written_together_share_a_bar(controller: Any, tmp_path: Path) -> None:
    for name in ("a.mp4", "b.gif", "c.gif"):
        export_to(controller.face, tmp_path / name)
    attended(controller, lambda: controller.exports.counts == (6, 12))
    controller.face.attend()
    assert controller.face.state.work.text.startswith("a.mp4, b.gif and c.gif: 6 of 12 pictures")


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("existed", [False, True])
def test_cancel_leaves_no_half_file(controller: Any, tmp_path: Path, existed: bool) -> None:
    path = tmp_path / "it.mp4"
    if existed:
        path.write_text("before")
    export_to(controller.face, path)
    attended(controller, lambda: controller.exports.counts == (2, 4))
    controller.stage.end_work()
    controller.face.attend()
    assert controller.face.state.work is None and not controller.exports.going
    kept = ": the previous file is unchanged" if existed else " and does not exist"
    assert controller.message == f"it.mp4 was not finished{kept}"
    assert [each.name for each in tmp_path.iterdir()] == ["it.mp4"] * existed
    assert not existed or path.read_text() == "before"


def test_cancel_reaches_what_has_not_begun(
    controller: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(processes, "start", lambda *given, **named: started.append(given))
    monkeypatch.setattr(controller.hand, "patience", 0.0)
    controller.do(lambda: time.sleep(0.2))  # the hand is busy
    export_to(controller.face, tmp_path / "it.mp4")
    assert controller.exports.going == ["it.mp4"]
    controller.cancel_exports()
    assert controller.message == "it.mp4 was not finished and does not exist"
    attended(controller, lambda: not controller.hand.busy)
    assert not started and not controller.exports.going


@pytest.mark.usefixtures("slow")
def test_a_failure_is_one_sentence(
    controller: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bad.gif.go").touch()
    export_to(controller.face, tmp_path / "bad.gif")
    attended(controller, lambda: "was not written" in controller.message)
    assert controller.message == "bad.gif was not written: no room"
    assert controller.stage.action == "OK"  # so that no other message takes its place
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    monkeypatch.setattr(export, "COMMAND", ("-c", killed, "-"))
    export_to(controller.face, tmp_path / "it.gif")
    attended(controller, lambda: "it.gif was not written" in controller.message)
    assert controller.message.endswith("the drawing process was ended (-9)")


@pytest.mark.usefixtures("slow")
def test_what_lasts_is_finished_when_all_else_has_ended(controller: Any, tmp_path: Path) -> None:
    good, bad = tmp_path / "it.mp4", tmp_path / "bad.mp4"
    for path in (good, bad):
        export_to(controller.face, path)
        Path(f"{path}.go").touch()
    controller.exports.lasting = True
    controller.face.quit()
    controller.face.rest()
    assert controller.exports.finish() == 0 and good.read_text() == "all"
    told = [f"Exported to {good}", "bad.mp4 was not written: no room"]
    assert sorted(controller.exports.told) == sorted(told) and not controller.last_words


@pytest.mark.usefixtures("slow")
def test_without_an_answer_leaving_ends_it_and_says_so(controller: Any, tmp_path: Path) -> None:
    export_to(controller.face, tmp_path / "it.mp4")
    controller.face.quit()
    controller.face.rest()
    assert controller.last_words == ["it.mp4 was not finished and does not exist"]
    assert controller.exports.finish() == 0 and not list(tmp_path.iterdir())


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


def test_the_button_of_the_work_ends_it(colours: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, ended = Stage(colours), []
    controller = Face(Stages([stage])).lead
    monkeypatch.setattr(controller.exports, "stop", lambda: ended.append("it.mp4") or ["ended"])
    controller.exports.expect(export.RunProcess([], lambda _: []), Path("it.mp4"))
    controller.face.attend()
    work = stage.frame_data().work
    assert work is not None and work.text.startswith("it.mp4") and work.part is None
    assert stage.press(work.action) and ended and controller.message == "ended"


@pytest.mark.slow
def test_who_draws_a_run_removes_it(controller: Any, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    controller.session.save(tmp_path / "kept" / "0.safetensors")
    about = {"titles": ["it"], "look": {}}
    export.main(str(tmp_path / "kept"), str(tmp_path / "it.html"), json.dumps(about))
    assert [path.name for path in tmp_path.iterdir()] == ["it.html"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["it.gif", "net.html"])
def test_videos_and_pages_are_made_of_what_was_done(
    controller: Any, tmp_path: Path, name: str
) -> None:
    pytest.importorskip("av")
    seen: set[Any] = set()
    controller.message = ""
    export_to(controller.face, tmp_path / name)
    attended(
        controller,
        lambda: [seen.add(controller.exports.counts[1]), controller.message][1],
        120.0,
    )
    assert controller.message == f"Exported to {tmp_path / name}"
    assert (tmp_path / name).stat().st_size > 1000 and controller.session.step_index == 4
    assert bool(seen - {0}) is (name == "it.gif")  # nobody knows how far a page is that trains


def test_a_session_that_no_page_can_have_is_refused(opened: Open, tmp_path: Path) -> None:
    import scalarviz as sv

    slope = sv.Value(0.0)
    line = sv.compile(lambda x: slope * x, inputs=1)
    controller = opened(sv.Session(line, ([[1.0]], [[2.0]]), "mse", sv.SGD(0.1), engine="python"))
    export_to(controller.face, tmp_path / "it.html")
    assert "page" in controller.message and not controller.exports.going
    controller.time.step(+1)
    for act in (save, save_network, lambda it, path: export_to(it.face, path)):
        act(controller, tmp_path / "it.gif")
        assert "A session of a compiled function cannot be saved" in controller.message
    assert not controller.exports.going


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
