"""A stage.

Channels, words and buttons, pinning, other sessions and sizes, and names with any letters.
"""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts.decimals import typeset
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.train import train
from scalarviz.faces.scene_file import find, load
from scalarviz.scene import picture
from scalarviz.scene.canvas.palette import THEMES, rgb
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.look import Look
from scalarviz.scene.picture import write_ends
from scalarviz.stage.channels import CHANNELS
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.show import Show, whole_numbers
from scalarviz.stage.stage import Stage
from scalarviz.stage.stages import Stages
from scalarviz.training.session.reading import names_of
from tests.scene.measures import Words, projection, stage_of
from tests.sessions import advanced
from tests.stage.conftest import SIZE, go, words
from tests.studio import Studio, between, ground_of, places, shade
from tests.wording import refused


def assert_right_colors(
    studio: Studio,
    stage: Stage,
    size: tuple[int, int] = SIZE,
) -> None:
    """Each cube has the color of its number, on the scale that the legend gives."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(picture, "draw_numbers", lambda *_: None)  # they stand where colors are read
        pixels, frame_data = studio.stage(stage, 0.0, size), stage.frame_data()
    scales = {
        each.index_of(row, column): scale
        for each, scale in zip(stage.plan.plates, frame_data.cubes.color_scales, strict=True)
        for row, column in np.ndindex(each.rows, each.columns)
    }
    found = places(stage, size)
    assert sorted(found) == list(range(len(frame_data.cubes.colors)))
    for index, place in found.items():
        expected = shade(stage.look.theme, frame_data.cubes.colors[index], scales[index])
        np.testing.assert_allclose(between(pixels, place), expected, atol=2)


# What is written.


def test_the_legend_has_the_numbers_of_the_scales(studio: Studio, stage: Stage) -> None:
    said = words(studio, stage, (1280, 800))
    scale = float(stage.frame_data().cubes.color_scales[0])
    assert {typeset(f"{sign * scale:g}") for sign in (-1, 1)} <= set(said)
    assert {"blue: negative", "orange: positive"} <= set(said)
    stage.take(color="gradient", cubes="value", per_layer=True)
    said = words(studio, stage, (1280, 800))
    assert "color: gradient, size: |value| (here the scale of the first layer)" in said


def test_a_caption_is_there_while_someone_goes_by_operations(studio: Studio, stage: Stage) -> None:
    stage.session.advance(2, "operation")
    before = words(studio, stage)  # it had jumped
    stage.session.advance(1, "operation")
    stage.tick(10.0)
    after = words(studio, stage, (1280, 800))
    assert stage.motion.walking and len(after) > len(before)
    said = stage.captioned()
    assert said.title in after
    stage.session.advance(1)
    assert said.title not in words(studio, stage, (1280, 800))


def test_help_lists_the_keys_over_everything(studio: Studio, stage: Stage) -> None:
    stage.common.keys = [("Space", "go on, or pause"), ("?", "these keys")]
    assert "Space" not in words(studio, stage)
    stage.common.help = True
    assert {"Keys", "Space", "go on, or pause", "?", "these keys"} <= set(words(studio, stage))
    stage.restore()
    assert not stage.common.help


def test_at_rest_and_while_it_plays_there_is_a_caption(stage: Stage) -> None:
    caption = stage.frame_data().words.caption
    assert caption.title == f"After 3 steps the loss is {stage.session.loss:.3g}."
    assert caption.formula
    stage.common.silent = True
    assert stage.frame_data().words.caption.formula == ""
    stage.session.edit([3], [0.5])
    words = f"After 3 steps the loss was {stage.session.loss:.3g}, before your change."
    assert stage.frame_data().words.caption.title == words
    stage.session.undo()
    assert stage.frame_data().words.caption.title == caption.title
    stage.session.data = data.Rgb("grey", levels=4)
    assert stage.frame_data().words.caption.title == words
    stage.session.play(20.0)
    try:
        assert stage.frame_data().words.caption.title.startswith("Step 3: ")
    finally:
        stage.session.pause()


# Channels and scales.


@pytest.mark.some(1)
@pytest.mark.parametrize("theme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
@pytest.mark.parametrize("per_layer", [False, True])
def test_each_channel_is_what_it_says(
    studio: Studio, colours: sv.Session, faced: None, theme: str, per_layer: bool
) -> None:
    colours.optimizer = sv.Adam(0.01)
    colours.advance(3)
    stage = Stage(colours, Look(theme=theme, camera="flat"))
    stage.take(per_layer=per_layer)
    bank = colours.network.bank
    of_one = {name for name, row in CHANNELS.items() if not row.of_several}
    assert set(stage.channels) == {*of_one, "m", "v"}
    known = {"value": bank.value, "gradient": bank.grad, **bank.slots}
    for name in stage.channels:
        stage.take(color=name)
        assert_right_colors(studio, stage)
        shown = stage.frame_data().cubes
        if name in known:
            np.testing.assert_array_equal(shown.colors, known[name])
        assert (np.abs(shown.colors) <= max(shown.color_scales)).all() and not shown.clipped
        assert len(set(shown.color_scales.tolist())) <= (2 if per_layer else 1)


def test_an_unknown_channel_is_refused(stage: Stage) -> None:
    refused(InputError, "'colour'").by(stage.take, color="colour")
    refused(InputError, "'m'").by(stage.take, cubes="m")  # SGD has none
    assert (stage.look.color, stage.look.cubes) == ("value", "value")


@pytest.mark.some(1)
@pytest.mark.parametrize("per_layer", [False, True])
def test_another_theme_or_step_keeps_the_scales(
    studio: Studio, stage: Stage, per_layer: bool
) -> None:
    stage.take(per_layer=per_layer)
    stage.session.edit([3, 40], [50.0, -60.0])
    studio.stage(stage, 0.0, SIZE)
    studio.stage(stage, 9.0, SIZE)  # the scale of the other layer grows some seconds later
    first = stage.frame_data().cubes
    assert set(first.color_scales.tolist()) == ({50.0, 70.0} if per_layer else {70.0})
    stage.session.edit([3, 40], [0.01, 0.02])
    session = stage.session
    stage.take(theme="light")
    for thing, *change in (
        (session, "seek", 0),
        (session, "advance", 5),
        (stage, "pin", 7),
        (stage, "restore"),
    ):
        go(thing, change)
        studio.stage(stage, 20.0, SIZE)
        shown = stage.frame_data().cubes
        assert len(shown.color_scales) == len(stage.plan.plates)
        assert set(shown.color_scales.tolist()) == set(first.color_scales.tolist())
        assert set(shown.size_scales.tolist()) == set(first.size_scales.tolist())
    np.testing.assert_array_equal(shown.color_scales, first.color_scales)
    stage.rescale()
    assert stage.frame_data().cubes.color_scales.max() < 5.0


def test_a_scale_that_has_grown_is_said_in_the_legend(studio: Studio, stage: Stage) -> None:
    def said(now: float) -> list[str]:
        studio.stage(stage, now, (1280, 800))
        return stage.picture().words

    before = float(stage.frame_data().cubes.color_scales[0])
    assert typeset(f"{before:g}") in said(0.0)
    stage.session.edit([3], [1.9])
    words = f"scale {before:g} → 2"
    assert {words, "−2", "2"} <= set(said(1.0))
    assert stage.frame_data().cubes.grown == (before, 2.0)
    stage.session.edit([3], [4.5])
    assert words in said(2.9) and words not in said(3.1)
    assert "2" in said(5.9)  # too soon to grow again
    assert stage.frame_data().cubes.clipped == 1
    assert {"scale 2 → 5", "5"} <= set(said(6.1))
    assert "scale 2 → 5" not in said(12.0)


def test_escape_closes_what_is_open_and_then_restores_the_view_with_its_angle(
    stage: Stage,
) -> None:
    stage.take(camera="perspective")
    stage.tick(0.0), stage.tick(5.0)
    first = stage.eyes.camera
    stage.eyes.orbit(90.0, 30.0), stage.eyes.zoom(3.0, 100.0, 100.0), stage.eyes.move(40.0, 0.0)
    stage.pin(7)
    stage.common.help = True
    moved = stage.eyes.camera
    stage.restore()
    assert not stage.common.help and stage.pinned == 7
    stage.restore()
    assert stage.pinned is None and stage.eyes.camera == moved
    stage.restore()
    stage.tick(10.0), stage.tick(20.0)
    assert stage.eyes.camera == first


def test_escape_goes_back_to_the_camera_that_was_chosen(stage: Stage) -> None:
    stage.eyes.orbit(50.0, 0.0)  # a flat camera is rotated as an orthographic one
    assert stage.eyes.name == "orthographic"
    stage.restore()
    assert stage.eyes.name == "flat"


def test_no_number_is_magenta_and_nothing_breaks(
    studio: Studio, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture, "draw_numbers", lambda *_: None)
    bank = stage.session.network.bank
    bank.value[5] = np.nan
    pixels = studio.stage(stage, 0.0, SIZE)
    np.testing.assert_allclose(between(pixels, places(stage, SIZE)[5]), [255, 0, 255], atol=2)
    bank.value[:] = np.nan
    bank.grad[:] = np.nan
    stage.rescale()
    pixels = studio.stage(stage, 1.0, SIZE)
    seen = [between(pixels, xy) for xy in places(stage, SIZE).values()]
    np.testing.assert_allclose(seen, [[255, 0, 255]] * len(seen), atol=2)
    monkeypatch.undo()
    for by in range(len(stage.reading.moments) - 1):
        stage.session.advance(1, "operation")
        for part in (0.0, 0.4):
            studio.stage(stage, 5.0 + by + part, SIZE)


# Other sessions, other sizes.


def test_a_session_can_be_exchanged_for_another(studio: Studio, stage: Stage) -> None:
    studio.stage(stage, 0.0, SIZE)
    stage.pin(50)
    other = sv.Network([2, 6, 4, 1], "tanh", output="tanh", seed=1)
    stage.replace(sv.Session(other, data.Xor(), optimizer=sv.SGD(0.1), engine="python"))
    assert stage.pinned is None
    said = words(studio, stage, (1280, 800))
    assert {"x", "y"} <= {*said} and "R" not in said
    assert_right_colors(studio, stage)
    stage.session.advance(1)
    assert_right_colors(studio, stage)


def test_a_theme_can_be_exchanged(studio: Studio, stage: Stage) -> None:
    dark = studio.stage(stage, 0.0, SIZE)
    stage.take(theme="light")
    light = studio.stage(stage, 0.0, SIZE)
    for theme, pixels in (("dark", dark), ("light", light)):
        lit = ground_of(theme) + 0.277 * 255.0 * rgb((THEMES[theme].pool,))[0]  # by the pool
        np.testing.assert_allclose(pixels[300, 5], lit, atol=1)
    assert_right_colors(studio, stage)


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_the_parameters_of_an_expression_are_cubes_too(studio: Studio, engine: str) -> None:
    show = load(find("expression"))(engine=engine)
    stage = Stage(show, Look(camera="flat"))
    show.session.advance(3)
    assert {"height", "growth", "speed", "phase"} <= set(words(studio, stage))
    assert stage.channels == ["value", "gradient", "last change", "change since start", "m", "v"]
    assert_right_colors(studio, stage)
    for step in range(4):
        show.session.advance(1, "operation")
        studio.stage(stage, 3.0 + step, SIZE)
        stage.tick(3.9 + step)
        assert_right_colors(studio, stage) if not stage.motion.walking else None
    x, y = places(stage, SIZE)[1]
    stage.click(x, y)
    assert stage.pinned == 1 and "growth" in " ".join(words(studio, stage))


@pytest.mark.slow
def test_a_window_may_become_as_small_as_nothing_and_large_again(
    studio: Studio, stage: Stage
) -> None:
    before = studio.stage(stage, 0.0, SIZE)
    for size in ((1, 1), (2, 2), (3, 200), (200, 3), (40, 30), (161, 97)):
        assert studio.stage(stage, 0.0, size).shape == (size[1], size[0], 3)
    stage.draw(0, 0, 1.0)
    stage.draw(0, 500, 2.0)
    assert (studio.stage(stage, 0.0, SIZE) == before).all()


@pytest.mark.parametrize("ratio", [2])
def test_twice_the_pixels_show_the_same(studio: Studio, stage: Stage, ratio: int) -> None:
    once = studio.stage(stage, 0.0, SIZE).astype(float)
    twice = studio.stage(stage, 0.0, SIZE, ratio)
    halved = twice.reshape(SIZE[1], 2, SIZE[0], 2, 3).mean(axis=(1, 3))
    assert np.abs(halved - once).mean() < 3.0


@pytest.mark.slow
def test_the_eye_may_stand_in_the_middle_of_the_scene(
    studio: Studio, rng: np.random.Generator
) -> None:
    net = sv.Network([3, *[8, 5, 9, 4] * 4, 3], "tanh", output="sigmoid", seed=0)
    session = sv.Session(net, data.Rgb(levels=4), batch=4, optimizer=sv.SGD(0.1), engine="python")
    stage = Stage(session, Look(camera="perspective"))
    session.advance(1)
    stage.pin(3)
    stage.hover = 400
    studio.stage(stage, 0.0, SIZE)
    behind = 0
    for now in range(24):
        session.advance(1, "operation")
        each = stage.plan.plates[rng.integers(len(stage.plan.plates))]
        place = tuple(each.point(0.0, 0.0, 0.3).tolist())
        angles = rng.choice([-85.0, -60.0, 0.0, 60.0, 85.0], 2).tolist()
        stage.eyes.camera = Camera(place, *angles, float(10.0 ** rng.uniform(-2, 1)), 28.0)
        stage.eyes.orbit(0.0, 0.0)
        studio.stage(stage, now + 0.4, (200, 150))
        see = stage.picture().see(stage.frame_data(), stage.eyes.camera, 200, 150)
        points = np.concatenate([line.points for line in stage.plan.neurons])
        behind += not np.isfinite(see(points).unit).all()
    assert behind > 2


def test_cubes_show_the_change_since_the_start_across_branches() -> None:
    net = sv.Network([2, 4, 1], "tanh", seed=0)
    s = sv.Session(net, sv.data.Xor(), optimizer=sv.SGD(0.5), engine="python")
    begun = net.bank.value.copy()
    stage = Stage(s)
    stage.take(color="change since start", cubes="change since start")
    assert not stage.frame_data().cubes.colors.any()
    s.advance(3)
    s.seek(1)
    net.bank.value[0] += 1.0
    s.advance(2)
    colors = stage.frame_data().cubes.colors
    np.testing.assert_array_equal(colors, net.bank.value - begun)
    assert colors.all() and len(s.branches) == 2


def scene() -> None:
    """Learns colours.

    And more.
    """


@pytest.mark.parametrize(
    ("given", "about", "title"),
    [
        ({}, scene, "Learns colours"),
        ({"hint": "more"}, lambda: None, "Network 3 -> 8 -> 3"),
        ({"title": "mine"}, scene, "mine"),
    ],
)
def test_a_session_is_called_by_a_docstring_or_its_network_unless_it_has_a_title(
    colours: sv.Session, given: dict[str, str], about: Any, title: str
) -> None:
    show = Show(colours, **given)
    assert Show.of(show, about) == replace(show, title=title)


def test_a_network_that_standardizes_is_called_by_its_sizes_and_what_learns_is_explained() -> None:
    inputs = np.array([[3.0, 500.0], [4.0, 100.0], [5.0, 300.0]])
    data = sv.data.Arrays(inputs, inputs[:, :1] > 3.5, standardize=True)
    s = sv.Session(sv.Network([2, 6, 1], "tanh", "sigmoid", seed=0), data, engine="python")
    s.advance(len(s.operations), "operation")
    assert Show.of(s).title == "Network 2 -> 6 -> 1"
    assert s.caption().rows == (27,) and "frozen" not in s.caption().title  # it moved most
    s.freeze([*range(len(s.network.bank))])
    assert "frozen" in s.caption().title


def test_what_is_no_show_is_refused(colours: sv.Session) -> None:
    refused(InputError, "3").by(Show.of, 3)
    refused(InputError, "None").by(Show, None)
    for wrong in ({"speed": 0}, {"steps": 0}):
        refused(InputError, "0").by(Show, colours, **wrong)
    refused(UnknownNameError, "frame").by(Show, colours, frame=128)  # it is gone with the terminal


def test_sizes_are_read_from_a_text() -> None:
    assert whole_numbers("8,4", "hidden") == [8, 4]
    assert whole_numbers("", "channels", least=0) == []
    refused(InputError, "'8,x'").by(whole_numbers, "8,x", "hidden")


def test_parameters_of_an_expression_stand_in_the_order_of_its_formula() -> None:
    height, damping, speed, phase = (sv.Value(1.0, label=name) for name in "hdsp")
    made = sv.compile(lambda x: height * (-damping * x).exp() * (speed * x + phase).sin(), inputs=1)
    layout = layout_of(sv.Session(made, ([[0.0], [1.0]], [[0.0], [1.0]])))
    words = [each for each in layout.written if each.least > 0.0]
    assert [each.words for each in words][:6] == ["h", "d", "x", "s", "x", "p"]
    names = [each for each in words if each.words in [*"hdsp"]]
    for plate, name in zip(layout.plates, names, strict=True):
        assert made.name_of(plate.first) == name.words
        assert np.allclose(plate.point(0.5, 0.5)[0], name.middle[0])


def test_names_of_neurons_show_their_control_characters() -> None:
    known = sv.data.Arrays([[1.0, 2.0]], [[1.0]], input_names=["\x1b[31mred", "a\nb"])
    (shown,) = names_of(sv.Session(sv.Network([2, 1]), known)).values()
    assert all(name.isprintable() for name in shown) and "red" in shown[0]


def test_a_network_without_walls_says_which_line_is_the_input_and_which_the_output() -> None:
    session = sv.Session(sv.Network([sv.LayerNorm(4), sv.Softmax(4)]), (np.eye(4), np.eye(4)))
    stage = stage_of(session, (1280, 800))
    see, frame_data = projection(stage), stage.frame_data()
    for seen in (frame_data, replace(frame_data, exhibit=None)):  # the result says OUT
        canvas = Words(1280, 800)
        write_ends(canvas, see, seen, THEMES["dark"])
        ends = ["IN"] if seen.exhibit else ["IN", "OUT"]
        assert [words for words, _ in canvas.found] == ends


def test_in_and_out_are_not_cut_where_spheres_are_near_the_edge() -> None:
    samples = np.zeros((4, 3)), np.zeros((4, 3))
    stage = stage_of(sv.Session(sv.Network([3, 8, 3]), samples), (800, 500))
    middle, data = projection(stage), replace(stage.frame_data(), exhibit=None)
    outputs = data.layout.neurons[-1]
    for up in np.linspace(0.0, 1.0, 1001):
        see = replace(middle, camera=middle.camera.moved(0.0, -up))
        seen = see(outputs.points)
        top = float((seen.xy[:, 1] - outputs.radius * seen.unit).min())
        margin = data.division(see.width, see.height).margin
        if top < see.box.y - margin + 17.0:  # no room for the word above it
            break
        canvas = Words(800, 500)
        write_ends(canvas, see, data, THEMES["dark"])
        assert "OUT" in [words for words, _ in canvas.found], top
    else:
        raise AssertionError("the spheres never came near the edge")


# A name that reverses what follows, one that ends a line of C, one that colours a terminal.
HOSTILE = ["a\u202eb", "c\0d", "\x1b[31me\u2066", "f\u200f\ng"]


def session_of(inputs: int, outputs: int, *, classes: bool = False) -> sv.Session:
    rng = np.random.default_rng(0)
    x = rng.random((8, inputs))
    y = np.eye(outputs)[np.arange(8) % outputs] if classes else rng.random((8, outputs))
    names = {"input_names": HOSTILE[:inputs], "output_names": HOSTILE[:outputs]}
    net = sv.Network([inputs, 4, outputs], "tanh", seed=0)
    return advanced(
        sv.Session(net, data.Arrays(x, y, **names), "mse", sv.SGD(0.1), batch=4, engine="python"), 3
    )


def expression() -> sv.Session:
    made = [sv.Value(0.5, label=name) for name in HOSTILE]
    rule = sv.compile(lambda x: made[0] * x + made[1] * made[2] + made[3], inputs=1)
    samples = np.linspace(0.0, 1.0, 5)[:, np.newaxis], np.zeros((5, 1))
    return advanced(sv.Session(rule, samples, "mse", sv.SGD(0.1), engine="python"), 3)


SESSIONS = {
    "a map of classes": partial(session_of, 2, 3, classes=True),
    "a map": partial(session_of, 2, 1),
    "a curve": partial(session_of, 1, 1),
    "a table": partial(session_of, 4, 4),
    "an expression": expression,
}


@pytest.fixture(params=SESSIONS, ids=[name.replace(" ", "-") for name in SESSIONS])
def session(request: pytest.FixtureRequest) -> sv.Session:
    return SESSIONS[request.param]()


def texts_in(thing: Any, seen: set[int] | None = None) -> Iterator[str]:
    """All texts in dataclasses, sequences and mappings."""
    seen = set() if seen is None else seen
    if isinstance(thing, str):
        yield thing
    elif id(thing) in seen or isinstance(thing, np.ndarray):
        return
    elif dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        seen.add(id(thing))
        for name in getattr(thing, "_fields", None) or [f.name for f in dataclasses.fields(thing)]:
            yield from texts_in(getattr(thing, name), seen)
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from texts_in(key, seen)
            yield from texts_in(value, seen)
    elif isinstance(thing, (list, tuple, set)):
        for each in thing:
            yield from texts_in(each, seen)


def hidden(texts: Iterator[str], *, lines: bool = False) -> list[str]:
    """Texts with letters that cannot be seen; with `lines`, they may have several."""
    return [t for t in texts if not (t.replace("\n", "") if lines else t).isprintable()]


def parts(session: sv.Session) -> Iterator[Any]:
    """What can be pinned: weights, inputs, hidden neurons, outputs."""
    yield None
    yield from (0, len(session.network.bank) - 1)
    for buffer in session.network.program.buffers if session.network.layers else ():
        yield buffer.name, 0


@pytest.mark.some(1)
def test_pictures_show_all_letters(session: sv.Session) -> None:
    stage = Stage(Show(session))
    for operation in range(len(session.operations) + 1):
        for part in parts(session):
            stage.pin(part)
            stage.hover, stage.hover_neuron = stage.pinned, stage.pinned_neuron
            stage.tick(float(operation))
            stage.motion.tick(operation + 0.99)
            assert hidden(texts_in(stage.frame_data()), lines=True) == []
        session.advance(1, "operation")


def test_controls_show_all_letters(session: sv.Session) -> None:
    controller = Face(Stages([Stage(Show(session))])).lead
    for part in parts(session):
        controller.stage.pin(part)
        assert hidden(texts_in(controller.face.state)) == []


def test_terminals_show_all_letters(
    session: sv.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(Show(session), 2) == 0
    assert hidden(iter([capsys.readouterr().out]), lines=True) == []


@pytest.mark.some(2)
def test_notebooks_show_all_letters(session: sv.Session) -> None:
    shown = [session, session.network, session.data]
    if session.network.layers:
        layer = session.network.layers[0]
        shown += [layer, layer.perceptrons[0], layer.perceptrons[0].weights[0]]
    else:
        shown += [(sv.Value(0.5, label=HOSTILE[0]) * 2.0).tanh()]
    for each in shown:
        page = each._repr_html_() if hasattr(each, "_repr_html_") else ""
        drawn = [
            base64.b64decode(data).decode() for data in re.findall(r"xml;base64,([^\"]+)", page)
        ]
        assert hidden(iter([repr(each), page, *drawn]), lines=True) == [], type(each)


def test_faces_read_the_names_of_data_in_one_place() -> None:
    package = Path(sv.__file__).parent
    readers = {
        file.relative_to(package).as_posix()
        for folder in ("story", "scene", "stage", "pages", "faces")
        for file in (package / folder).glob("**/*.py")
        if re.search(r"\.(input|output)_names", file.read_text(encoding="utf-8"))
    }
    assert readers == set(), "training/session/reading.py is where they are read"
