"""The page's camera, projection, layout and picking, in Node, against those of Python."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.pages.scene_data import camera_data, layout_data, scene_data
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.scene.layout.division import Box, Division, Projection
from scalarviz.scene.layout.plates import Layout
from scalarviz.scene.legend import legend_box
from scalarviz.stage.camera_control import CameraController
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.pointing import target_at
from scalarviz.stage.stage import Stage
from tests.pages.in_web import floats, in_web
from tests.pages.samples import SEE, box_data, convolved, depthwise, made
from tests.pages.states import state_of
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
    see = Projection(camera, BOX, *SIZE, 20.0)
    seen = see(points)
    x, y = 333.0, 222.0
    body = f"""{SEE}
    return {{...see.see(data.points.flat()), matrix: see.matrix, ray: see.ray({x}, {y})}};"""
    found = in_web(
        "camera",
        body,
        box=box_data(BOX),
        camera=camera_data(camera),
        size=SIZE,
        reach=20.0,
        points=points,
    )
    np.testing.assert_allclose(floats(found["matrix"]).reshape(4, 4), see.matrix, atol=1e-12)
    for name, expected in zip(("x", "y"), seen.xy.T, strict=True):
        np.testing.assert_allclose(floats(found[name]), expected, rtol=1e-9)
    np.testing.assert_allclose(floats(found["depth"]), seen.depth, rtol=1e-9)
    np.testing.assert_allclose(floats(found["unit"]), seen.unit, rtol=1e-9)
    start, way = (np.array(found["ray"][name]) for name in ("start", "way"))
    on_ray = see(start + np.linspace(0.1, 0.9, 3)[:, np.newaxis] * way)
    np.testing.assert_allclose(on_ray.xy, [[x, y]] * 3, rtol=1e-6)


@pytest.mark.parametrize("camera", SEEN)
def test_a_camera_moves_as_that_of_a_window(camera: Camera) -> None:
    points = np.random.default_rng(2).normal(0.0, 6.0, (40, 3))
    body = """
    const camera = new Camera(data.camera);
    const points = data.points.flat();
    return {
      moves: [
        camera.orbited(-30, 200), camera.moved(0.2, -0.1), camera.zoomed(1.7, 0.1, 0.3),
        camera.zoomed(1e9), camera.framing(points, 1.6, 0.02), camera.blended(new Camera(), 0.3),
      ],
      behind: camera.behind(points, 3),
    };"""
    found = in_web("camera", body, camera=camera_data(camera), points=points)
    moves = [
        *(camera.orbited(-30.0, 200.0), camera.moved(0.2, -0.1), camera.zoomed(1.7, 0.1, 0.3)),
        *(camera.zoomed(1e9), camera.framing(points, 1.6, 0.02), camera.blended(Camera(), 0.3)),
    ]
    for move, expected in zip(found["moves"], moves, strict=True):
        for name, number in camera_data(expected).items():
            np.testing.assert_allclose(move[name], number, rtol=1e-9, atol=1e-9, err_msg=name)
    away = np.reshape(found["behind"], (-1, 3))
    np.testing.assert_allclose(away, camera.behind(points, 3.0), rtol=1e-9)


@pytest.mark.parametrize("shape", [(640.0, 300.0), (390.0, 500.0), (1280.0, 640.0)])
@pytest.mark.parametrize("sizes", [(2, 4, 1), (12, 40, 3)])
def test_the_whole_network_is_framed_and_the_legend_stays_free(
    shape: tuple[float, float], sizes: tuple[int, ...]
) -> None:
    layout = layout_of(made(*sizes))
    division = replace(Division.of(*shape), inner=Box(16.0, 16.0, shape[0] - 32, shape[1] - 32))
    legend = legend_box(division)
    eyes = CameraController(layout, cuts=True)
    eyes.frame(shape, division.inner, legend)
    eyes.orbit(40.0, 25.0)
    eyes.zoom(0.1, 100.0, 50.0)
    eyes.move(30.0, -20.0)
    body = """
    const layout = new Layout(unpackedAll(data.layout));
    const boxOf = (box) => box && new Box(box.x, box.y, box.width, box.height);
    const eyes = new Eyes(layout, data.cameras);
    eyes.cuts = true;
    eyes.frame(data.size, boxOf(data.inner), boxOf(data.legend));
    const first = eyes.camera;
    eyes.orbit(40, 25);
    eyes.zoom(0.1, 100, 50);
    eyes.pan(30, -20);
    const last = eyes.camera;
    eyes.look("flat");
    return {first, last, flat: eyes.camera, extent: layout.extent};"""
    found = in_web(
        "arrays layout camera camera_control",
        body,
        layout=layout_data(layout),
        cameras={name: camera_data(camera) for name, camera in CAMERAS.items()},
        size=shape,
        inner=box_data(division.inner),
        legend=None if legend is None else box_data(legend),
    )
    whole = CameraController(layout, cuts=True)
    whole.frame(shape, division.inner, legend)
    first, last = whole.camera, eyes.camera
    eyes.look("flat")
    for name, camera in (("first", first), ("last", last), ("flat", eyes.camera)):
        for part, number in camera_data(camera).items():
            np.testing.assert_allclose(found[name][part], number, rtol=1e-5, atol=1e-5)
    extent = np.sort(np.reshape(found["extent"], (-1, 3)), axis=0)
    np.testing.assert_allclose(extent, np.sort(layout.points(), axis=0), rtol=1e-5, atol=1e-5)


def plates_in_web(layout: Layout, count: int) -> Any:
    body = """
    const layout = new Layout(unpackedAll(data.layout));
    return layout.plates.map((plate) => {
      const {rows, columns, indices} = plate.cells();
      const places = Array.from({length: data.count}, (_, i) => plate.placeOf(i));
      const last = rows.length - 1;
      const back = places.map((place) => place && plate.indexOf(...place));
      const gap = plate.indexOf(plate.high, 0);
      const cube = plate.cornersOf(rows[last], columns[last], 0.2);
      return {rows, columns, indices, places, back, gap, cube, size: plate.size,
              corners: plate.corners(0.3), middles: plate.middles()};
    });"""
    return in_web("arrays layout", body, layout=layout_data(layout), count=count)


def test_every_cube_of_a_plate_is_in_its_cell() -> None:
    session = convolved()
    layout, count = layout_of(session), len(session.network.bank)
    for plate, found in zip(layout.plates, plates_in_web(layout, count), strict=True):
        row, column, indices = plate.cells()
        assert (found["rows"], found["columns"]) == (row.tolist(), column.tolist())
        assert found["indices"] == indices.tolist() and found["size"] == plate.size
        places = [plate.place_of(i) for i in range(count)]
        assert [place and tuple(place) for place in found["places"]] == places
        assert [i for i in found["back"] if i is not None] == sorted(indices.tolist())
        assert found["gap"] == plate.index_of(plate.grid.size[0], 0)
        corner = plate.corners_of(int(row[-1]), int(column[-1]), 0.2)
        np.testing.assert_allclose(np.reshape(found["cube"], (8, 3)), corner, atol=1e-9)
        middles = plate.point(column + 0.5, row + 0.5)
        np.testing.assert_allclose(np.reshape(found["middles"], (-1, 3)), middles, atol=1e-9)
        ours, theirs = np.reshape(found["corners"], (8, 3)), plate.corners(0.3)
        assert {*map(tuple, ours.round(6))} == {*map(tuple, theirs.round(6))}


@pytest.mark.parametrize("make", [lambda: made(3, 8, 3), convolved, depthwise])
def test_the_same_things_are_under_the_pointer(make: Any) -> None:
    session = advanced(make(), 1)
    stage = Stage(session, reduced_motion=True)
    stage.resize(*SIZE)
    seen = stage.frame_data()
    division = seen.division(*SIZE)
    see = Projection(stage.eyes.camera, division.inner, *SIZE, 30.0)
    places = np.random.default_rng(3).uniform((0.0, 0.0), SIZE, (2000, 2)).tolist()
    expected = [target_at(seen, see, x, y) for x, y in places]
    body = f"""{SEE}
    const scene = unpackedAll(data.scene);
    const layout = new Layout(unpackedAll(data.layout));
    const state = unpackedAll(data.state);
    const remembered = new Remembered(new Scales(scene.stops, 5));
    remembered.take(state, ["value"], 0);
    const frame = frameOf(scene, layout, state, {{}}, remembered, 0);
    return data.places.map(([x, y]) => targetAt(frame, see, x, y));"""
    found = in_web(
        "arrays layout camera scales frame_data pointing",
        body,
        box=box_data(division.inner),
        camera=camera_data(stage.eyes.camera),
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
