"""New controls, actions, options of scenes, channels, layouts, themes and cameras: a row each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.core.bank import Bank
from scalarviz.errors import FileError, SceneError, UnknownNameError
from scalarviz.faces.controller.control import Control, LogScale, Scale
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.keys import help_rows
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.stopping import offers_of
from scalarviz.faces.scene_file import load
from scalarviz.faces.scene_options import WATCHING, Option, OptionInfo, own_options
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.scene.look import DIGITS, Look
from scalarviz.stage.channels import CHANNELS, Channel
from scalarviz.stage.commands import COMMANDS, KINDS, Command
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.training.session.actions import ACTIONS, ActionKind
from tests.faces.browser.pages import FakePage, linked
from tests.faces.controller.fake_stage import FakeStage, patient
from tests.sessions import advanced, colours, reloaded
from tests.studio import Studio
from tests.wording import refused

SMALL = LogScale(0.001, 1.0)
PAINTED = text("keys.or", most=", ".join([*THEMES][:-1]), last=[*THEMES][-1])


def set_focus(controller: Controller, number: Any) -> None:
    controller.session.focus = int(float(number))


def set_small(controller: Controller, number: Any) -> None:
    controller.session.learning_rate = number


def rows() -> dict[str, tuple[Command, Control]]:
    """Commands of each kind, and what they do; two buttons are a group."""
    made = [
        (
            Command(
                "painted",
                "choice",
                "How the picture is painted",
                label="Paint",
                key="j",
                help="paint as {}",
            ),
            Control(
                "painted",
                lambda controller, name: controller.face.take("theme", name),
                lambda state: state.look.theme,
                lambda state: tuple(THEMES),
            ),
        ),
        (
            Command(
                "per layer",
                "tick",
                "A separate colour scale for each layer",
                label="Scale",
                text="by layer",
                key="k",
            ),
            Control(
                "per layer",
                lambda controller, on: controller.face.take("per_layer", on),
                lambda state: state.look.per_layer,
            ),
        ),
        (
            Command(
                "sample in numbers", "number", "The sample that is followed", label="Sample number"
            ),
            Control("sample in numbers", set_focus, lambda state: float(state.focus)),
        ),
        (
            Command("sample whole", "whole", "The sample by its number", label="Sample whole"),
            Control("sample whole", set_focus, lambda state: state.focus),
        ),
        (
            Command("sample slid", "slider", "The sample, slid", label="Sample slid"),
            Control(
                "sample slid",
                set_focus,
                lambda state: state.focus,
                scale=lambda state: Scale(state.samples - 1),
            ),
        ),
        (
            Command("small rate", "slider", "A small learning rate", label="Small rate"),
            Control("small rate", set_small, lambda state: state.rate, scale=lambda state: SMALL),
        ),
        (
            Command("time again", "timeline", "Every step so far, once more", primary=True),
            Control(
                "time again",
                lambda controller, step: controller.time.seek(step),
                lambda state: state.step,
                scale=lambda state: Scale(max(1, state.end)),
                marks=lambda state: [1],
            ),
        ),
        (
            Command("condition", "entry", "Where it stops", label="Condition", page="offer"),
            Control(
                "condition",
                lambda controller, words: controller.session.stop_when(words),
                lambda state: state.stops,
                lambda state: ["not finite", "loss < 0.01"],
            ),
        ),
        (
            Command("step in words", "text", "Where it stands", label="Step in words"),
            Control("step in words", get=lambda state: f"step {state.step}"),
        ),
        (
            Command("again", "button", "Start once more", label="Run", text="Again", page="offer"),
            Control(
                "again",
                lambda controller, _: controller.time.reset(),
                enabled=lambda state: state.step > 0,
            ),
        ),
        (
            Command(
                "one on", "button", "One step on", label="Run", text="On", menu="Extras", key="v"
            ),
            Control("one on", lambda controller, times: controller.time.step(+1, times)),
        ),
        (
            Command("side", "choice", "The side of it", menu="Extras"),
            Control(
                "side",
                lambda controller, name: controller.tell(name),
                names=lambda state: ("left", "right"),
            ),
        ),
    ]
    return {row.name: (row, control) for row, control in made}


@contextmanager
def added() -> Iterator[None]:
    """The tables have the rows, and afterwards their own again, in their order."""
    tables: tuple[dict[str, Any], dict[str, Any]] = COMMANDS, CONTROLS
    before = [dict(each) for each in tables]
    for name, pair in rows().items():
        assert not any(name in each for each in tables)
        for table, row in zip(tables, pair, strict=True):
            table[name] = row
    try:
        yield
    finally:
        for table, known in zip(tables, before, strict=True):
            table.clear()
            table.update(known)


@pytest.fixture
def controller() -> Iterator[Controller]:
    network = sv.Network([3, 8, 3], "tanh", seed=0)
    session = advanced(
        sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python"), 2
    )
    stage: Any = FakeStage(Show(session))
    with added():
        yield Face(Stages([stage])).lead


def test_there_is_one_of_each_kind() -> None:
    assert {row.kind for row, _ in rows().values()} == set(KINDS)


def test_its_key_does_the_same_and_is_in_the_help(controller: Controller) -> None:
    stage: Any = controller.stage
    for key in "jkk":
        assert controller.face.press(key)
    assert (stage.look.theme, stage.look.per_layer) == ("light", False)
    assert controller.face.press("v", shift=True)
    assert controller.session.step_index == 12
    assert stage.common.keys == help_rows(controller.face.state)
    assert {
        ("j", f"paint as {PAINTED}"),
        ("k", "a separate colour scale for each layer"),
        ("v", "one step on"),
    } <= set(stage.common.keys)


def test_pages_of_a_session_in_python_have_it() -> None:
    """It is offered, done, and refused what its kind does not take."""
    network = sv.Network([3, 4, 3], "tanh", seed=0)
    session = sv.Session(network, data.Rgb(levels=4), "mse", sv.SGD(0.5), batch=8, engine="python")
    with added():
        COMMANDS["painted"] = replace(COMMANDS["painted"], page="key")
        page = FakePage(linked(session))
        offers = {x["name"]: x for x in page.ask("open", {"version": 1})["state"]["offers"]}
        assert offers["condition"]["label"] == "Condition" and not offers["again"]["enabled"]
        assert page.link.described["spec"]["page"]["keys"]["j"] == "painted"
        page.ask("condition", {"value": "loss < 0.01"})
        assert [str(each) for each in session.stop_conditions] == ["loss < 0.01"]
        assert "takes a text" in page.ask("condition", {"value": 3})["refused"]
        page.ask("advance", {"count": 2})
        page.ask("again")
        assert session.step_index == 0
        assert "no control" in page.ask("per layer", {"value": True})["refused"]


def test_of_a_choice_with_digits_each_name_has_one(controller: Controller) -> None:
    del CONTROLS["camera"]
    COMMANDS["painted"] = replace(COMMANDS["painted"], key=DIGITS)
    assert controller.face.press("2") and not controller.face.press(str(len(THEMES) + 1))
    assert controller.stage.look.theme == list(THEMES)[1]
    assert (" ".join("123456789"[: len(THEMES)]), f"paint as {PAINTED}") in help_rows(
        controller.face.state
    )


@pytest.mark.parametrize("wrong", [{"kind": "dial"}, {"kind": "number", "menu": "View"}])
def test_a_row_that_no_face_can_build_is_refused_at_once(wrong: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=wrong["kind"]):
        Command(**{"name": "it", "about": "what it is for", **wrong})


@pytest.mark.parametrize("number", [0.001, 0.5, 1.0])
def test_a_place_of_a_slider_is_that_of_its_number(number: float) -> None:
    assert SMALL.number(SMALL.place(number)) == number


@pytest.mark.parametrize(
    ("number", "place"), [(None, 90), (7.0, 60), (float("nan"), 0), (0.0, 0), (float("inf"), 60)]
)
def test_what_is_off_a_slider_stands_at_its_end(number: float | None, place: int) -> None:
    assert LogScale(0.1, 1.0, endless=True).last == 90
    assert LogScale(0.1, 1.0, endless=True).place(number) == place


def shrink(bank: Bank, factor: float) -> None:
    bank.value[:] *= factor


SHRINK = ActionKind(shrink, "times {factor}".format, {"factor": float}, on="bank", waits=False)


@pytest.fixture
def shrunk(monkeypatch: pytest.MonkeyPatch) -> sv.Session:
    monkeypatch.setitem(ACTIONS, "shrink", SHRINK)
    s = advanced(sv.Session(sv.Network([2, 3, 1], seed=0), data.Xor(), engine="python"), 2)
    s._do("shrink", factor=0.5)
    s.advance(2)
    return s


def test_it_is_replayed_saved_and_loaded(shrunk: sv.Session, tmp_path: Path) -> None:
    numbers = shrunk.network.bank.value.copy()
    for s in (shrunk, reloaded(shrunk, tmp_path)):
        s.seek(1)
        s.seek(4)
        assert s.network.bank.value.tolist() == numbers.tolist()


def test_a_wrong_detail_is_refused_when_it_is_loaded(shrunk: sv.Session, tmp_path: Path) -> None:
    shrunk.branches[0].journal[0].details["factor"] = True
    shrunk.save(tmp_path / "run")
    refused(FileError, "factor is True").by(sv.Session.load, tmp_path / "run")


def test_a_file_with_an_action_that_has_no_row_is_refused(
    shrunk: sv.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shrunk.save(tmp_path / "run")
    monkeypatch.delitem(ACTIONS, "shrink")
    refused(FileError, "unknown action 'shrink'").by(sv.Session.load, tmp_path / "run")


__all__ = ["patient"]  # a fixture

SCENE = '''"""Two numbers are added or multiplied."""

from typing import Annotated

import numpy as np

import scalarviz as sv
from scalarviz.faces.scene_options import OptionInfo

GOALS = {"sum": np.add, "product": np.multiply}
BENDS = "tanh", "relu"
STARTS = {"he_uniform": 1, "normal": 2}


def scene(
    goal: Annotated[str, OptionInfo(GOALS, changes="data", offer="goal")] = "sum",
    bend: Annotated[str, OptionInfo(BENDS, changes="activations")] = "tanh",
    decay: Annotated[float, OptionInfo(changes="penalties")] = 0.0,
    pace: Annotated[float, OptionInfo(changes="rate")] = 0.5,
    start: Annotated[str, OptionInfo(STARTS)] = "he_uniform",
    plain: str = "",
):
    """A 2-3-1 network learns to calculate."""
    x = np.linspace(-1.0, 1.0, 12).reshape(6, 2)
    network = sv.Network([2, 3, 1], bend, init=start, seed=0)
    pair = x, GOALS[goal](x[:, :1], x[:, 1:])
    optimizer = sv.SGD(pace, l2=decay)
    session = sv.Session(network, pair, "mse", optimizer, batch=3, engine="python", seed=0)
    return sv.Show(session, title=f"learns the {goal}")
'''


@pytest.fixture(params=["", "from __future__ import annotations\n\n"], ids=["", "as text"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    about, _, code = SCENE.partition("\n\n")
    (tmp_path / "mine.py").write_text(f"{about}\n\n{request.param}{code}", encoding="utf-8")
    return load(tmp_path / "mine.py")


@pytest.mark.usefixtures("in_tmp_path")
def test_a_value_that_is_none_of_its_names_is_refused_before_anything_is_done(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(SCENE.replace("GOALS[goal]", "np.add"), encoding="utf-8")
    monkeypatch.setitem(WATCHING, "camera", Option(str, "flat", "", info=OptionInfo(CAMERAS)))
    told = "choose one of perspective, orthographic, flat; did you mean 'flat'?"
    mine = "unknown goal 'products': choose one of sum, product; did you mean 'product'?"
    assert told in run("watch", "xor", "--camera", "flatt").err
    assert told in run("open", "xor", "--camera", "flatt").err
    assert mine in run("train", "mine.py", "--goal", "products").err
    assert mine in run("train", "mine.py", "--set", "goal=products").err
    assert mine in run("sweep", "mine.py", "--grid", "goal=sum,products").err
    refused(UnknownNameError, mine).by(
        Recipe(load(tmp_path / "mine.py")).make, {"goal": "products"}
    )
    assert [each.name for each in tmp_path.iterdir()] == ["mine.py"]


@pytest.fixture
def scene_controller(scene: Any, patient: None) -> Controller:
    recipe = Recipe(scene)
    stage: Any = FakeStage(recipe.make({}))
    return Face(Stages([stage]), [recipe]).lead


def options(scene_controller: Controller) -> dict[str, Any]:
    return {choice.name: choice for choice in scene_controller.face.state.options}


def test_its_names_are_offered_and_it_says_what_restarts(scene_controller: Controller) -> None:
    found = options(scene_controller)
    assert {name: (choice.choices, choice.restarts) for name, choice in found.items()} == {
        "goal": (("sum", "product"), False),
        "bend": (("tanh", "relu"), False),
        "decay": ((), False),
        "start": (("he_uniform", "normal"), True),
        "plain": ((), True),
    }


def test_another_name_changes_the_data_of_the_session(scene_controller: Controller) -> None:
    session = scene_controller.session
    scene_controller.time.step(+1, 3)
    weights = session.network.bank.value.copy()
    scene_controller.set_option("goal", "product")
    assert scene_controller.session is session and (session.network.bank.value == weights).all()
    assert scene_controller.stage.notices == ["Changing the target keeps the weights"]
    scene_controller.time.step(+1)
    scene_controller.face.attend()
    assert (options(scene_controller)["goal"].value, scene_controller.face.state.title) == (
        "product",
        "learns the product",
    )
    scene_controller.time.seek(2)
    assert options(scene_controller)["goal"].value == "sum"


def test_activations_penalties_and_the_rate_change_in_the_session(
    scene_controller: Controller,
) -> None:
    session = scene_controller.session
    scene_controller.set_option("bend", "relu")
    scene_controller.set_option("decay", "0.25")
    scene_controller.set_option("pace", "0.125")
    scene_controller.time.step(+1)
    assert scene_controller.session is session
    assert session.network.layers[0].activation == "relu"
    assert (session.optimizer.l2, session.learning_rate) == (0.25, 0.125)
    found = options(scene_controller)
    assert (found["bend"].value, found["decay"].value) == ("relu", 0.25)
    scene_controller.time.seek(0)
    assert (options(scene_controller)["bend"].value, options(scene_controller)["decay"].value) == (
        "tanh",
        0.0,
    )


def test_what_changes_nothing_in_a_session_restarts(scene_controller: Controller) -> None:
    session = scene_controller.session
    scene_controller.set_option("start", "normal")
    assert scene_controller.session is not session
    assert options(scene_controller)["start"].value == "normal"


def test_the_end_of_a_run_offers_another(scene_controller: Controller) -> None:
    offers = offers_of(scene_controller)
    assert "Another goal" in offers
    offers["Another goal"]()
    scene_controller.face.rest()
    assert options(scene_controller)["goal"].value == "product"


def test_a_change_that_there_is_not_is_refused(tmp_path: Path) -> None:
    wrong = SCENE.replace('changes="rate"', 'changes="rates"')
    (tmp_path / "mine.py").write_text(wrong, encoding="utf-8")
    refused(SceneError, "'rates'").by(load, tmp_path / "mine.py")


def test_a_scene_file_of_an_earlier_version_keeps_its_choices(tmp_path: Path) -> None:
    plain = """def scene(activation="tanh", noise=0.1, shape="round", SHAPES={}):
    pass
SHAPES = {"round": 1, "square": 2}
"""
    (tmp_path / "mine.py").write_text(plain, encoding="utf-8")
    found = {name: o.info for name, o in own_options(load(tmp_path / "mine.py")).items()}
    assert {name: info.changes for name, info in found.items()} == {
        "activation": "activations",
        "noise": "data",
        "shape": "data",
    }
    assert [*found["shape"].names] == ["round", "square"] and "tanh" in found["activation"].names


SEPIA = replace(THEMES["light"], name="sepia", tray="#f4ecd8", ink="#5b4636")


@pytest.fixture
def picture_controller() -> Controller:
    session = advanced(colours(), 2)
    return Face(Stages([Stage(Show(session), Look(camera="flat"), reduced_motion=True)])).lead


def test_a_channel_is_reached_by_its_key_and_drawn(
    picture_controller: Controller, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = Channel("sign", lambda source: np.sign(source.numbers.value))
    monkeypatch.setitem(CHANNELS, "sign", channel)
    stage: Any = picture_controller.stage
    assert "sign" in picture_controller.face.state.channels
    before = studio.stage(stage)
    while stage.look.color != "sign":
        picture_controller.face.press("c")
    assert not np.array_equal(studio.stage(stage), before)
    assert set(np.unique(stage.frame_data().cubes.colors)) == {-1.0, 1.0}


def test_a_theme_is_reached_by_its_key_and_everywhere(
    picture_controller: Controller, studio: Studio, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(THEMES, "sepia", SEPIA)
    stage: Any = picture_controller.stage
    for _ in range(2):
        picture_controller.face.press("d")
    assert stage.look.theme == "sepia"
    pixels = studio.stage(stage, 0.0, (1280, 800))
    assert (abs(pixels - 255.0 * rgb((SEPIA.ground,))[0]).max(axis=2) < 2).any()
    frame = sv.picture(
        picture_controller.session, tmp_path / "net.png", theme="sepia", size=(320, 200)
    )
    assert frame.shape == (200, 320, 3)


def test_a_camera_is_reached_by_the_next_digit(
    picture_controller: Controller, studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CAMERAS, "below", Camera(azimuth=10.0, elevation=-60.0))
    stage: Any = picture_controller.stage
    before = studio.stage(stage)
    assert picture_controller.face.press("4")
    assert stage.eyes.name == "below"
    assert not np.array_equal(studio.stage(stage, 1.0), before)
    keys, about = next(row for row in help_rows(picture_controller.face.state) if "flat" in row[1])
    assert keys == "1 2 3 4" and about.endswith("flat or below")
