"""The picture of a followed model: its frames, its cubes under the mouse, and what it says."""

import json
import lzma
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import UnknownNameError
from scalarviz.pages import scene_data as scene_data_module
from scalarviz.pages.page import page_of_followed
from scalarviz.pages.scene_data import scene_data
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.frame_data import ScalarCharts
from scalarviz.scene.health_strip import rows_shown
from scalarviz.scene.layout.plates import DiagramMark
from scalarviz.scene.legend import news_of
from scalarviz.scene.look import Look
from scalarviz.scene.loss_chart import CurveView
from scalarviz.scene.past_images import LOST, NOT_KNOWN, STRIPES, STRONGEST
from scalarviz.scene.scalar_charts import scalar_scale, words_of_scalars
from scalarviz.stage.curves import scalar_curves
from scalarviz.stage.health_rows import health_of, label_of
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.follow import followed_session
from tests.faces.browser.pages import opened
from tests.pages.node import in_web
from tests.studio import Studio
from tests.wording import refused

SIZE = (1280, 800)
FILE = Path(__file__).parents[1] / "scene" / "layout" / "structures.json.xz"
STRUCTURES = json.loads(lzma.decompress(FILE.read_bytes()))


def tree(name: str, **other: Any) -> bytes:
    """A structure as in a record."""
    return zlib.compress(json.dumps({"version": 1} | STRUCTURES[name] | other).encode())


def recorded(path: Path, name: str, numbers: Mapping[str, float] = MappingProxyType({})) -> Any:
    """A record of one step with the arrays of a model, whose numbers are 1 or given by name."""
    arrays = {
        array: np.full(size, numbers.get(array, 1.0), np.float32)
        for node in STRUCTURES[name]["nodes"]
        for array, size in zip(node["arrays"], node["sizes"], strict=True)
    }
    with sv.follow(None, path / "night.sv", show=None) as run:
        run.step(arrays, 0.5)
    return sv.load(path / "night.sv")


@pytest.fixture
def followed(tmp_path: Path) -> Any:
    """A record of a VAE with its structure."""
    found = recorded(tmp_path, "vae")
    found.record.tree = tree("vae")
    return found


@pytest.fixture
def stage(followed: Any) -> Stage:
    return Stage(Show(followed.session, title="night"), Look(), reduced_motion=True)


def middle(stage: Stage, points: Any) -> tuple[float, float]:
    """The middle of some points in space in the picture."""
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *SIZE)
    x, y = see(np.array(points)).xy.mean(axis=0).tolist()
    return x, y


def frames(stage: Stage, look: str) -> dict[str, DiagramMark]:
    return {each.key: each for each in stage.plan.marks if each.key and each.look == look}


def test_a_click_on_the_title_of_a_frame_closes_it_and_on_a_closed_one_opens_it(
    studio: Studio, stage: Stage
) -> None:
    studio.stage(stage, 0.0, SIZE)
    assert {*frames(stage, "frame")} == {".encode", ".reparameterize", ".decode"}
    (left, top, depth), (right, _, _) = frames(stage, "frame")[".encode"].points
    title = [(left, top, depth), (right, top - 1.0, depth)]
    stage.click(*middle(stage, title))
    studio.stage(stage, 1.0, SIZE)
    assert {*frames(stage, "closed")} == {".encode"} and stage.opened == {".encode": False}
    names = {each.name: each.first for each in stage.session.trainer.run.named_arrays}
    plate = next(each for each in stage.plan.plates if each.first == names["fc1.weight"])
    stage.click(*middle(stage, [plate.point(3.5, 10.5)]))  # on one of its cubes
    studio.stage(stage, 2.0, SIZE)
    assert ".encode" in frames(stage, "frame") and stage.pinned is None


def test_a_click_on_a_badge_shows_the_next_of_the_repetitions(
    studio: Studio, tmp_path: Path
) -> None:
    found = recorded(tmp_path, "vit")
    found.record.tree = tree("vit")
    stage = Stage(Show(found.session), Look(), reduced_motion=True)
    seen = []
    for now in range(7):
        studio.stage(stage, float(now), SIZE)
        seen += [x.words for x in stage.plan.marks if x.look == "badge" and x.words]
        stage.click(*middle(stage, frames(stage, "badge")["enc.layers.0"].points))
    assert seen == [f"{number} of 6" for number in (1, 2, 3, 4, 5, 6, 1)]
    assert "layers.1" in [x.words for x in stage.plan.marks]


def test_each_module_has_its_own_scale_and_the_legend_shows_the_one_of_the_selected(
    studio: Studio, tmp_path: Path
) -> None:
    numbers = {"layer1.0.conv1.weight": 0.5, "bn1.weight": 3.0}
    found = recorded(tmp_path, "resnet18", numbers)
    found.record.tree = tree("resnet18")
    stage = Stage(Show(found.session), Look(), reduced_motion=True)
    studio.stage(stage, 0.0, SIZE)
    first = {each.name: each.first for each in found.session.trainer.run.named_arrays}
    cubes = stage.frame_data().cubes
    plates = stage.plan.plates
    scales = {
        name: cubes.color_scales[[x.first for x in plates].index(first[name])] for name in numbers
    }
    assert scales == numbers
    assert (cubes.common, cubes.module[:26]) == (1.0, "scale of layer4.0.conv2.we")
    stage.pin(first["bn1.weight"])
    studio.stage(stage, 1.0, SIZE)
    cubes = stage.frame_data().cubes
    words = "scale of bn1.weight; each module has its own"
    assert (cubes.common, cubes.module, news_of(cubes)) == (3.0, words, words)


def test_the_first_picture_of_closed_repetitions_has_the_scale_of_each(
    studio: Studio, tmp_path: Path
) -> None:
    numbers = {"transformer.h.5.attn.c_attn.weight": 0.5}
    found = recorded(tmp_path, "nanogpt", numbers)
    found.record.tree = tree("nanogpt")
    stage = Stage(Show(found.session), Look(), reduced_motion=True)
    stage.opened["transformer.h.0"] = 0
    studio.stage(stage, 0.0, (800, 500))
    first = {each.name: each.first for each in found.session.trainer.run.named_arrays}
    places = {each.first: at for at, each in enumerate(stage.plan.plates)}
    seen = stage._seen
    assert seen is not None and seen.layout is stage.plan
    assert seen.cubes.color_scales[places[first["transformer.h.5.attn.c_attn.weight"]]] == 0.5


def test_the_cube_under_the_mouse_is_the_weight_that_is_named(
    studio: Studio, stage: Stage, followed: Any
) -> None:
    studio.stage(stage, 0.0, SIZE)
    names = {each.name: each.first for each in followed.session.trainer.run.named_arrays}
    plate = next(each for each in stage.plan.plates if each.first == names["fc4.weight"])
    stage.hover_at(*middle(stage, [plate.point(3.5, 10.5)]))
    assert stage.hover == names["fc4.weight"] + 10 * 32 + 3
    assert "fc4.weight[10, 3]" in stage.session.network.bank.name_of(stage.hover)
    picture = studio.stage(stage, 1.0, SIZE).astype(int)
    x, y = middle(stage, [plate.point(8.5, 10.5)])
    red, _, blue = picture[int(y), int(x)]
    assert red > blue + 50  # of number 1


def test_equal_numbers_have_one_color_without_gaps_between_small_cells(
    studio: Studio, tmp_path: Path
) -> None:
    found = recorded(tmp_path, "resnet18")
    found.record.tree = tree("resnet18")
    stage = Stage(Show(found.session), Look(), reduced_motion=True)
    picture = studio.stage(stage, 0.0, SIZE, 2).astype(float)
    see = stage.picture().see(stage.frame_data(), stage.eyes.camera, *SIZE)
    walls = [x for x in stage.plan.plates if x.is_full and x.count == (1, 1) and x.size > 2000]
    assert len(walls) >= 12
    for plate in walls:
        (left, top), _, (right, low), _ = (2.0 * see(plate.face).xy).round().astype(int).tolist()
        if right - left > 20:
            inner = picture[top + 4 : low - 4, left + 4 : right - 4]
            assert inner.std(axis=(0, 1)).max() < 6.0


def test_the_marks_are_explained_and_so_is_a_missing_structure(
    studio: Studio, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.stage(stage, 0.0, SIZE)
    assert stage.frame_data().words.task == "row: unit, column: input; frame: module or method"
    assert Show.of(stage.session).about.startswith("Each tile is one weight, or several")
    plain = recorded(tmp_path, "nanogpt")
    other = Stage(Show(plain.session, title="night"), Look(), reduced_motion=True)
    studio.stage(other, 0.0, SIZE)
    words = other.frame_data().words.task
    assert words == "structure unknown: no structure was recorded"
    marks = other.plan.marks
    assert not [x for x in marks if x.look in ("wire", "around")]
    assert {"1 of 12", "wte", "65×48"} <= {x.words for x in marks}
    lacking = recorded(tmp_path, "vae")
    lacking.record.tree = tree("vae", lack="it has too many nodes")
    third = Stage(Show(lacking.session), Look(), reduced_motion=True)
    studio.stage(third, 0.0, SIZE)
    assert third.frame_data().words.task == "structure unknown: it has too many nodes"
    monkeypatch.setattr(followed_session, "MOST_DRAWN", 2)
    large = Stage(Show(recorded(tmp_path, "vae").session), Look(), reduced_motion=True)
    studio.stage(large, 0.0, SIZE)
    assert large.frame_data().words.task.endswith("it has more than 2 modules and functions")
    assert large.plan.plates and not large.plan.marks


def test_a_structure_that_is_recorded_later_is_shown_then(studio: Studio, tmp_path: Path) -> None:
    found = recorded(tmp_path, "vae")
    stage = Stage(Show(found.session), Look(), reduced_motion=True)
    studio.stage(stage, 0.0, SIZE)
    assert not frames(stage, "frame")
    found.record.tree = tree("vae")
    studio.stage(stage, 1.0, SIZE)
    assert len(frames(stage, "frame")) == 3


TURNED = """
setTexts({ "page.frame.left_out": "not here", "page.frame.others": "others" });
const { shapes } = data.scene;
const layouts = data.scene.layouts;
const [picture, told] = [{ layouts, scene: data.scene, laid: null, eyes: {} }, []];
const app = { picture, spec: {}, tell: (words) => told.push(words), request: () => null };
const frames = Object.assign(Object.create(ModelFrames.prototype), { app, firsts: new Map() });
return data.clicks.map((key) => {
  picture.laid = layouts[shapes[0][1]];
  frames.turn([key, picture.laid.marks.find((each) => each.key === key).look === "frame"]);
  return [layouts[shapes[0][1]].marks, told.length];
});"""


def turned(session: Any, *clicks: str) -> list[tuple[dict[str, bool], int]]:
    """Which frames of a page are open after each click, and how often it said that it cannot."""
    data = scene_data(session, [1.75])
    found = in_web("model_frames texts", TURNED, scene=data, clicks=clicks)
    return [({x["key"]: x["look"] == "frame" for x in marks if x["key"]}, n) for marks, n in found]


def test_a_page_has_the_marks_of_a_window_and_opens_its_frames(
    followed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks = scene_data(followed.session, [1.75])["layouts"][0]["marks"]
    assert {"encode", "fc1", "32×64"} <= {each["words"] for each in marks}
    every = {".encode": True, ".reparameterize": True, ".decode": True}
    clicks = ".encode", ".decode", ".encode", ".decode"
    wanted: list[dict[str, bool]] = [every]
    for key in clicks:
        wanted.append({**wanted[-1], key: not wanted[-1][key]})
    assert turned(followed.session, *clicks) == [(each, 0) for each in wanted[1:]]
    monkeypatch.setattr(scene_data_module, "MOST_OPENED", 3)  # each by itself: others open again
    found = turned(followed.session, ".encode", ".decode", ".decode")
    assert found == [(every | {".encode": False}, 0), (every | {".decode": False}, 1), (every, 1)]
    monkeypatch.setattr(scene_data_module, "MOST_OPENED", 0)
    assert turned(followed.session, ".encode") == [(every, 1)]


def test_a_page_enlarges_an_opened_frame_with_small_words() -> None:
    script = """
    const mark = { key: "h.0", look: "frame", points: [[10, 20], [110, 70]] };
    const moves = [];
    const move = (...by) => moves.push(by);
    const eyes = { inner: { x: 0, y: 0, width: 400, height: 600 }, move };
    const see = { one: ([x, y]) => ({ x, y, unit: data.unit }) };
    const app = { picture: { see, placed: { marks: [mark] }, eyes }, move };
    Object.assign(Object.create(ModelFrames.prototype), { app }).enlarge("h.0");
    return moves;
    """
    found = in_web("model_frames", script, unit=10.0)
    assert found == [[140, 255], ["zoom", 0.95 * 4, 200, 300]]
    assert in_web("model_frames", script, unit=30.0) == []


def test_a_page_of_a_session_in_python_asks_for_its_frames(followed: Any) -> None:
    page = opened(followed.session)
    assert "no frame 'x'" in page.ask("frame", {"key": "x", "opens": False})["refused"]
    page.ask("frame", {"key": ".encode", "opens": False})
    page.link.attend()
    looks = [
        {each["key"]: each["look"] for each in layout["marks"]}
        for layout in page.link.described["spec"]["scene"]["layouts"]
    ]
    assert {each[".encode"] for each in looks} == {"closed"} and page.link.version == 2
    assert page.link.stage.opened == {".encode": False}  # as for a click in a window


# ---- health -------------------------------------------------------------------------------------


def dying(path: Path, count: int = 3) -> Any:
    """A record of modules "0", "1", ... of which the first dies at step 20, and NaN at step 30."""
    with sv.follow(None, path / "dying.sv", show=None) as run:
        run._next = 0.0
        for step in range(1, 41):
            size = [0.0 if step >= 20 and k == 0 else 0.01 * 10**k for k in range(count)]
            grads = {f"{k}": {"kernel": np.full((4, 3), size[k])} for k in range(count)}
            if step >= 30:
                grads["1"]["kernel"][0] = np.nan
            arrays = {f"{k}": {"kernel": np.full((4, 3), 1 + 1e-3 * step)} for k in range(count)}
            run._share = 1e9
            run._next = 0.0
            run.step(arrays, 1.0, grads)
    return sv.load(path / "dying.sv")


def test_the_health_is_drawn_over_the_steps_of_the_loss(studio: Studio, tmp_path: Path) -> None:
    night = dying(tmp_path)
    rows = health_of(night.session.trainer.run)
    assert rows is not None and rows.names[0].startswith("0") and len(rows.names) == 3
    assert rows.steps == [*range(1, 41)] and rows.faulty[:2] == [True, True]
    assert rows.causes == [True, True, False]
    assert label_of("0", "Linear", 1) == "0 Linear"
    assert label_of("encoder.layers.1.linear2", "Linear", 3) == "1.linear2"
    assert label_of("transformer.h.3.mlp.2", "Linear", 1) == "3.mlp.2"
    update, gradient, _, dead = (np.array(each).reshape(3, -1) for each in rows.shades)
    assert not gradient[0, 19:].any() and gradient[0, 0] == 1 and gradient[2, 0] == STRONGEST
    assert (gradient[1, 29:] == LOST).all() and gradient[1, 0] == 126
    assert update[0, 0] == NOT_KNOWN and dead[0].tolist() == [1] * 19 + [STRONGEST] * 21
    assert [step for step, *_ in rows.findings] == [20, 30]
    assert rows.findings[0][1] == "0 dead" and "Try LeakyReLU" in rows.findings[0][2]
    night.session.seek(40)
    stage = Stage(Show(night.session), Look(), reduced_motion=True)
    stage.common.curve_view.large = True
    stage.common.curve_view.choose("health")
    studio.stage(stage, 0.0, SIZE)
    chart = stage.chart
    assert chart is not None and [name for _, name in chart.tabs][-1] == "health"
    assert chart.strip is not None and chart.strip.height > 2.0 * chart.plot.height
    studio.stage(stage, 1.0, (800, 500))
    said = stage.picture().words
    assert {*rows.names} <= {*said} and not {"b", "Each cube is one weight."} & {*said}
    sentence = next(each for each in said if each.startswith("step 20, 0: 100 %"))
    assert said.index(sentence) < said.index(rows.names[0])
    assert rows_shown(rows, 3) == [0, 1, 2] and rows_shown(rows, 2) == [0, 1]
    names = [f"{k}" for k in range(9)]
    wrong = replace(rows, names=names, faulty=[k == 7 for k in range(9)], causes=[False] * 9)
    assert rows_shown(wrong, 3) == [0, 4, 7]


def test_a_picture_of_health_is_black_where_a_gradient_is_0_and_striped_at_nan(
    tmp_path: Path,
) -> None:
    night = dying(tmp_path)
    night.session.seek(40)
    frame = sv.picture(night, past="health", size=SIZE, samples=1).astype(int)
    black = (frame.max(axis=2) == 0).mean(axis=1)  # of each line, from step 20 to 40
    assert 0.3 < black.max() < 0.5 and (black > 0.3).sum() > 10
    for stripe in STRIPES:
        color = np.array([*bytes.fromhex(stripe[1:])])
        assert (np.abs(frame - color).max(axis=2) < 3).sum() > 300


def test_a_row_of_health_ends_at_its_last_look(tmp_path: Path) -> None:
    with sv.follow(None, tmp_path / "a.sv", show=None) as run:
        for step in range(40):
            grads = {"a": np.ones((4, 3)), "b": np.full((4, 3), 9.0)} if step < 20 else None
            run._share, run._next = 1e9, 0.0
            run.step({name: np.full((4, 3), 1 + 1e-3 * step) for name in "ab"}, 1.0, grads)
    night = sv.load(tmp_path / "a.sv")
    rows = health_of(night.session.trainer.run)
    assert rows is not None and rows.moments == [40, 20, 40, 20]
    night.session.seek(40)
    frame = sv.picture(night, past="health", size=SIZE, samples=1).astype(int)
    violet = np.array([*bytes.fromhex(THEMES["dark"].accent[1:])])
    lines = (np.abs(frame - violet).max(axis=2) < 3).mean(axis=1)
    assert 0.3 < lines.max() < 0.5, "half of the steps, without those after the last gradient"


def test_rows_of_many_modules_show_the_worst_of_them(tmp_path: Path) -> None:
    rows = health_of(dying(tmp_path, 60).session.trainer.run)
    assert rows is not None and len(rows.names) == 24 and rows.names[0].endswith(" + 1")
    gradient, dead = (np.array(rows.shades[k]).reshape(24, -1) for k in (1, 3))
    assert not gradient[0, 20:29].any() and (gradient[0, 29:] == LOST).all()
    assert (dead[0, 20:29] == STRONGEST).all() and (dead[1] == 1).all()


def test_pages_have_the_health_of_followed_models_only(tmp_path: Path) -> None:
    night = dying(tmp_path)
    found = page_of_followed(night.session)["health"]
    assert found is not None and json.dumps(found) and len(found["shades"]) == 4
    assert found["shades"][0]["dtype"] == "uint8" and found["names"][2].startswith("2")
    other = sv.Session(sv.Network([2, 2, 1]), sv.data.Xor(), "mse", engine="python")
    assert page_of_followed(other) == {"health": None, "scalars": {}}
    other.advance(1)
    stage = Stage(Show(other), Look(), reduced_motion=True)
    stage.common.curve_view.large = True
    for name in ("health", "scalars"):
        stage.common.curve_view.choose(name)  # for a session that was shown before
        assert stage.frame_data().curve.below is not None
        assert stage.common.curve_view.order == "value" and not stage.frame_data().curve.followed
    refused(UnknownNameError, "unknown past 'health'").by(sv.picture, other, past="health")


# ---- scalars ------------------------------------------------------------------------------------


def logged(path: Path, rate: float, **more: float) -> Any:
    """A record of 200 steps with a scalar at each, one at every 50th, and others at the last."""
    with sv.follow(None, path, show=None) as run:
        for step in range(200):
            run.step({"kernel": np.full((4, 3), 1.0)}, 1.0 + rate * step)
            run.log(accuracy=rate * step)
            if step % 50 == 49:
                run.log(rate=10.0 ** -(step // 50), lr=rate)
        run.log(**more)
    return sv.load(path)


def test_scalars_are_curves_over_the_steps_of_the_loss(studio: Studio, tmp_path: Path) -> None:
    night = logged(tmp_path / "a.sv", 0.004, zero=0.0)
    stage = Stage(Show(night.session), Look(), reduced_motion=True)
    view = stage.common.curve_view
    view.large = True
    view.choose("scalars")
    night.session.seek(200)
    studio.stage(stage, 0.0, SIZE)
    below: Any = stage.frame_data().curve.below
    assert below.names == ["accuracy", "rate", "zero", "lr"]  # learning rates are last
    accuracy = below.curves[0]
    assert accuracy.steps.tolist() == [*range(1, 201)] and len(accuracy.smoothed) == 200
    assert accuracy.losses[100] == pytest.approx(0.4)
    chart = stage.chart
    assert chart is not None and chart.strip is not None and chart.step_at(chart.plot.right) == 200
    names = [name for _, name in chart.tabs]
    assert names[:3] == ["raw", "log", "linear"] and names[-2:] == ["scalars", "health"]
    for name, settings in (
        ("raw", ["raw"]),
        ("log", ["raw", "log"]),
        ("linear", ["raw", "linear"]),
    ):
        box = next(box for box, each in chart.tabs if each == name)
        stage.click(box.x + 0.5 * box.width, box.y + 0.5 * box.height)
        assert stage.frame_data().curve.settings == view.settings == settings
    below = stage.frame_data().curve.below
    assert not len(below.curves[0].smoothed)
    view.choose("linear")
    assert view.settings == ["raw"]


@pytest.mark.parametrize(
    ("numbers", "settings", "scale"),
    [
        ([0.2, 0.93], [], (0.2, 1.0, True)),
        ([0.97, 0.99], [], (0.97, 0.99, True)),
        ([0.97, 0.99], ["log"], (0.1, 1.0, False)),
        ([0.0, 0.5], ["log"], (0.0, 0.5, True)),  # no logarithm
        ([1e-6] * 20 + [1.0], [], (1e-6, 1.0, False)),
        ([1e-6] * 20 + [1.0], ["linear"], (0.0, 1.0, True)),
        ([0.0, 0.0], [], (0.0, 0.2, True)),
        ([3.0], [], (3.0, 3.5, True)),
        ([-1e308, 1e308], [], (-1e300, 1e300, True)),
        ([], [], (0.0, 1.0, True)),
    ],
)
def test_the_axis_of_a_scalar_is_logarithmic_where_most_of_it_would_be_flat(
    numbers: list[float], settings: list[str], scale: tuple[float, float, bool]
) -> None:
    found = scalar_scale(np.array(numbers), settings)
    assert (found.low, found.high) == pytest.approx(scale[:2]) and found.is_linear == scale[2]


def test_scalars_without_room_are_named(tmp_path: Path) -> None:
    names = {f"scalar_{i}": float(i) for i in range(9)}
    curves = scalar_curves(logged(tmp_path / "a.sv", 0.1, **names).scalars, CurveView())
    charts = ScalarCharts([*curves], [*curves.values()])
    assert words_of_scalars(1000.0, charts, 1.0) == ""
    assert words_of_scalars(400.0, charts, 1.0) == "no room for scalar_8, lr"
    nothing = ScalarCharts([], [])
    assert "run.log(accuracy=0.93)" in words_of_scalars(400.0, nothing, 1.0)


def test_pages_have_the_scalars_of_followed_models(tmp_path: Path) -> None:
    night = logged(tmp_path / "a.sv", 1 / 3, bad=float("nan"))
    found = json.loads(json.dumps(page_of_followed(night.session)["scalars"], allow_nan=False))
    assert found["rate"] == [[50, 100, 150, 200], [1.0, 0.1, 0.01, 0.001]]
    assert found["accuracy"][1][1] == 0.333333 and found["bad"] == [[], []]
