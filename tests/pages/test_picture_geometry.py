"""The geometry of the page's picture, in Node.

Camera, layout, picking, faces of cubes, terms of sums.
"""

from dataclasses import asdict, astuple, replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text, texts
from scalarviz.base.texts.decimals import typeset
from scalarviz.faces.scene_file import find, load
from scalarviz.pages.scene_data import colors_of, layout_data, scene_data
from scalarviz.scene.bead_arrays import behind
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.scene.cube_numbers import numbers_on_cubes
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.scene.layout.division import Box, Projection
from scalarviz.scene.pace import SUM, longest
from scalarviz.stage.camera_control import CameraController
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.pointing import next_target, target_at
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.pages.node import floats, in_web
from tests.pages.states import SEE, box_data, convolved, made, state_of, told_data
from tests.scene.measures import BESIDE, DARK, drawn_terms, projection, stage_of, trained
from tests.sessions import advanced

SIZE = 1280.0, 640.0
BOX = Box(20.0, 30.0, 900.0, 560.0)
SEEN = [
    Camera((1.0, 2.0, -3.0), 47.0, 15.0, 14.0, 20.0),
    Camera((0.0, 0.5, 0.0), -85.0, 80.0, 3.0, 28.0),
    CAMERAS["orthographic"],
]


@pytest.mark.parametrize("camera", SEEN)
def test_points_are_seen_where_a_window_shows_them(camera: Camera) -> None:
    points = np.random.default_rng(1).normal(0.0, 6.0, (40, 3))
    seen = Projection(camera, BOX, *SIZE, 20.0)(points)
    found = in_web(
        "story/camera projection",
        f"{SEE} return see.see(data.points.flat());",
        box=box_data(BOX),
        camera=astuple(camera),
        size=SIZE,
        reach=20.0,
        points=points,
    )
    expected = {"x": seen.xy[:, 0], "y": seen.xy[:, 1], "depth": seen.depth, "unit": seen.unit}
    for name, numbers in expected.items():
        np.testing.assert_allclose(floats(found[name]), numbers, rtol=1e-9)


def test_wires_go_behind_everything_as_in_a_window() -> None:
    points = np.random.default_rng(2).normal(0.0, 6.0, (40, 3))
    body = "return data.points.map((point) => behind(new Camera(...data.camera), point));"
    for camera in SEEN:
        found = in_web("story/camera beads", body, camera=astuple(camera), points=points)
        np.testing.assert_allclose(found, behind(camera, points), rtol=1e-9)


def test_the_whole_network_is_framed() -> None:
    layout, inner = layout_of(made(2, 4, 1)), Box(16.0, 16.0, 358.0, 468.0)
    body = """
    const eyes = new CameraController(new Layout(unpackedAll(data.layout)));
    const { x, y, width, height } = data.inner;
    eyes.frame(data.size, new Box(x, y, width, height));
    return { camera: eyes.camera, extent: eyes.layout.extent };"""
    found = in_web(
        "arrays layout story/camera story/camera_control",
        body,
        layout=layout_data(layout),
        size=(390.0, 500.0),
        inner=box_data(inner),
    )
    eyes = CameraController(layout)
    eyes.frame((390.0, 500.0), inner)
    for part, number in asdict(eyes.camera).items():
        np.testing.assert_allclose(found["camera"][part], number, rtol=1e-5, atol=1e-5)
    extent = np.sort(np.reshape(found["extent"], (-1, 3)), axis=0)
    np.testing.assert_allclose(extent, np.sort(layout.extent, axis=0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [convolved, lambda: made(3, 4, 2)], ids=["cubes", "bars"])
@pytest.mark.parametrize("half", [0.2, -0.3])
def test_every_cube_of_a_plate_is_in_its_cell(make: Any, half: float) -> None:
    layout = layout_of(make())
    body = """
    return new Layout(unpackedAll(data.layout)).plates.map((plate) => {
      const { rows, columns, indices } = plate.cells();
      const cube = plate.corners_of(rows.at(-1), columns.at(-1), data.half, 0.1);
      const solids = { cube, corners: plate.corners(0.3), middles: plate.middles() };
      return { rows, columns, indices, ...solids };
    });"""
    web = in_web("arrays layout", body, layout=layout_data(layout), half=half)
    for plate, found in zip(layout.plates, web, strict=True):
        row, column, indices = plate.cells()
        assert (found["rows"], found["columns"]) == (row.tolist(), column.tolist())
        assert found["indices"] == indices.tolist()
        solids = {
            "cube": plate.corners_of(int(row[-1]), int(column[-1]), half, 0.1),
            "middles": plate.middle(row, column),
        }
        for name, points in solids.items():
            np.testing.assert_allclose(np.reshape(found[name], (-1, 3)), points, atol=1e-9)
        ours, theirs = np.reshape(found["corners"], (8, 3)), plate.corners(0.3)
        assert {*map(tuple, ours.round(6))} == {*map(tuple, theirs.round(6))}


@pytest.mark.parametrize("make", [convolved, lambda: made(3, 4, 2)], ids=["cubes", "bars"])
def test_the_same_things_are_under_the_pointer_and_next_to_others(make: Any) -> None:
    session = advanced(make(), 1)
    stage = Stage(session, reduced_motion=True)
    stage.resize(*SIZE)
    stage.frame_data()  # the scale follows the new layout
    seen = stage.frame_data()
    division = seen.division(*SIZE)
    see = Projection(stage.eyes.camera, division.inner, *SIZE, 30.0)
    places = np.random.default_rng(3).uniform((0.0, 0.0), SIZE, (2000, 2)).tolist()
    expected = [target_at(seen, see, x, y) for x, y in places]
    expected.append(next_target(seen, see, see.box, expected[-1], "left"))
    body = f"""{SEE}
    const scene = unpackedAll(data.scene);
    const layout = new Layout(unpackedAll(data.layout));
    const state = unpackedAll(data.state);
    const scales = new Scales();
    scales.take(state, ["value", "value"], 0, layout.plates);
    const frame = frameOf(scene, layout, state, {{}}, scales, 0);
    const found = data.places.map(([x, y]) => targetAt(frame, see, x, y));
    return [...found, nextTarget(layout, see, found.at(-1), wayOf("ArrowLeft"))];"""
    found = in_web(
        "arrays events layout story/camera projection scales frame_data pointing",
        body,
        box=box_data(division.inner),
        camera=astuple(stage.eyes.camera),
        size=SIZE,
        reach=30.0,
        places=places,
        state=state_of(stage, seen),
        scene=scene_data(session),
        layout=layout_data(stage.plan),
    )
    rows = [None if each is None else each.get("row") for each in found]
    neurons = [each and each.get("neuron") and tuple(each["neuron"]) for each in found]
    assert rows == [target.row for target in expected]
    assert neurons == [target.neuron for target in expected]
    assert len(set(rows)) > 8 and len(set(neurons)) > 5


class Even(Canvas2D):
    """A canvas whose letters have one width."""

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        return 0.62 * size * len(words)


def stages() -> dict[str, Stage]:
    pinned = stage_of(trained("normalized"), (1000, 640))
    pinned.pin(17)
    layers = [layer for n in (3, 9) for layer in (sv.Dense(n, 9, "tanh"), sv.RMSNorm(9))]
    inputs = np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    deep = sv.Session(sv.Network([*layers, sv.Dense(9, 2)], seed=1), (inputs, inputs[:, :2]))
    return {"normalized": pinned, "deep": stage_of(Show.of(deep), (1280, 800))}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["normalized", "deep"])
@pytest.mark.parametrize("turn", [(0.0, 0.0), (35.0, 12.0)], ids=str)
def test_numbers_stand_on_the_same_faces_as_in_a_window(name: str, turn: Any) -> None:
    stage = stages()[name]
    stage.take(numbers=True)
    data, see = stage.frame_data(), projection(stage)
    see = replace(see, camera=see.camera.orbited(*turn))
    expected = numbers_on_cubes(Even(see.width, see.height), see, data)
    cubes, pinned = data.cubes, None if data.pinned is None else {"row": data.pinned.row}
    stage.pin(None)
    body = f"""{SEE}
    const layout = new Layout(unpackedAll(data.layout));
    const none = {{ hover: null, hover_neuron: null, pinned_neuron: null, moment: null }};
    const all = {{ told: null, walked: null, beside: [], ...none }};
    const about = {{ cubes: {{ moved: [[], 1] }}, words: {{ caption: null }}, part: 1 }};
    Object.assign(about, {{ before: null, held: null, buffers: {{ values: {{}} }} }});
    const frame = {{ ...all, ...about, look: {{ numbers: true }}, ...data.frame, layout }};
    frame.sizeScaleAt = () => data.frame.sizeScale;
    frame.scaleAt = frame.sizeScaleAt;
    frame.numberAt = (row) => data.frame.colors[row];
    const paper = {{ scale: 1, measure: (words, {{ size }}) => 0.62 * size * words.length }};
    const found = numbers_on_cubes(paper, see, frame);
    const fields = ({{ words, x, y, size, depth }}) => [words, x, y, size, depth];
    return [...found].map(([row, each]) => [row, ...fields(each)]);"""
    frame = {
        "colors": cubes.colors.tolist(),
        "sizes": cubes.sizes.tolist(),
        "sizeScale": float(cubes.size_scales[0]),
        "pinned": pinned,
    }
    found = in_web(
        "arrays layout story/camera projection story/cube_numbers",
        body,
        layout=layout_data(data.layout),
        frame=frame,
        box=box_data(see.box),
        camera=astuple(see.camera),
        size=[see.width, see.height],
        reach=see.reach,
    )
    assert len(found) > 20
    assert [(row, words) for row, words, *_ in found] == [
        (row, each.words) for row, each in expected.items()
    ]
    places = [[each.x, each.y, each.size, each.depth] for each in expected.values()]
    np.testing.assert_allclose([each[2:] for each in found], places, atol=1e-4)


WORDS = {
    "-.97": "−.97",
    "-0.3 × -12 = 3.6": "−.3 × −12 = 3.6",
    "0.05 of 10.5, v0.2, 1.0.3": ".05 of 10.5, v0.2, 1.0.3",
    "neuron 5 of layer 0.5: 0.5": "neuron 5 of layer 0.5: .5",
    "1.4e-8 - (-2)": "1.4e−8 − (−2)",
    "A 3-8-3 network, held-out, run-2": "A 3-8-3 network, held-out, run-2",
    "-inf": "−inf",
    "→ -.05": "→ −.05",
    "--steps": "--steps",
}


def test_numbers_are_drawn_with_true_minus_signs_and_no_zero_before_the_point() -> None:
    found = in_web(
        "story/decimals", "return data.words.map((each) => typeset(each));", words=list(WORDS)
    )
    assert found == [typeset(words) for words in WORDS] == list(WORDS.values())


STAGE_SIZE = 1280, 800
PARTS = [0.0, 0.1, 0.3, 0.42, 0.55, 0.79, 0.8, 1.0]
BODY = f"""{SEE}
const scene = unpackedAll(data.scene);
const layout = new Layout(unpackedAll(data.layout));
const state = unpackedAll(data.state);
setTexts(data.texts);
const scales = new Scales();
scales.take(state, ["value", "value"], 0, layout.plates);
return data.parts.map((part) => {{
  const frame = frameOf(scene, layout, state, {{ part, caption: data.caption }}, scales, 0);
  const [boxes, words] = [[], []];
  const paper = {{
    scale: 1,
    measure: (words, {{ size = 13 }} = {{}}) => 0.6 * size * words.length,
    widest: (all, {{ size }}) => 0.6 * size * Math.max(...all.map((each) => each.length)),
    box: (x, y, width, height, fill, {{ outline = null }} = {{}}) =>
      boxes.push([x, y, width, height, fill, outline]),
    text: (x, y, said) => words.push([x, y, said]),
    line: () => null,
    path: () => null,
    segments: () => null,
    fit: (words) => words,
    image: () => null,
  }};
  const palette = new Palette(data.theme);
  const {{ boxes: taken, spheres }} = data.taken;
  const at = taken.map(({{ x, y, width, height }}) => new Box(x, y, width, height));
  const known = {{ boxes: at, spheres }};
  draw_told(paper, see, frame, known, palette);
  const side = side_of(frame.told, data.things, Boolean(known.panel));
  if (side) draw_beside(paper, frame, new Box(...data.beside), side, palette);
  return {{ boxes, words }};
}});"""


@pytest.mark.some(1)
@pytest.mark.parametrize("name", ["rgb", "xor", "circle"])
def test_a_page_draws_the_terms_of_a_window(name: str) -> None:
    show, found = Show.of(load(find(name))(engine="cpu")), 0
    show.session.advance(2)
    for _ in show.session.operations:
        show.session.advance(1, "operation")
        stage = stage_of(show, STAGE_SIZE)
        seen = stage.frame_data()
        caption, see = seen.words.caption, projection(stage)
        if caption is None or seen.moment.kind in ("weight gradient", "step"):
            continue  # what is pushed, or moves, depends on the part
        plain = replace(seen, maps=None)  # squares are drawn from maps
        drawn = [drawn_terms(stage, part, plain) for part in PARTS]
        taken = drawn[0][2]
        known: dict[str, Any] = {"boxes": [*map(box_data, taken.boxes)], "spheres": taken.spheres}
        pictures = in_web(
            "arrays layout story/camera projection scales frame_data palette story/callout "
            "story/side_panel texts",
            BODY,
            box=box_data(see.box),
            camera=astuple(stage.eyes.camera),
            size=STAGE_SIZE,
            reach=30.0,
            state=state_of(stage, seen),
            scene=scene_data(show),
            layout=layout_data(stage.plan),
            caption=told_data(caption),
            theme=colors_of(DARK),
            taken=known,
            things=text(f"things.{seen.words.things}"),
            beside=BESIDE.place,
            parts=PARTS,
            texts=dict(texts()),
        )
        for part, (notes, _, _), picture in zip(PARTS, drawn, pictures, strict=True):
            assert [each[2] for each in picture["words"]] == [each[2] for each in notes.said], part
            assert len(picture["boxes"]) == len(notes.noted), part
            for ours, theirs in zip(notes.noted, picture["boxes"], strict=True):
                np.testing.assert_allclose(theirs[:4], ours[:4], atol=0.05)
                assert theirs[4:] == [*ours[4:]], part
        found += 1
    assert found >= 2


def test_a_page_knows_the_seconds_of_each_operation() -> None:
    session = load(find("rgb"))(engine="cpu").session
    program = session.network.program
    seconds = [longest(program, moment) for moment in program.moments]
    assert SUM in seconds and scene_data(session)["pace"]["longest"] == seconds
