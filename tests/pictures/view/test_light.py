"""Light: fronts keep the color of their number; sides, edges, gaps and distance give depth."""

import itertools
from typing import Any

import numpy as np
import pytest

from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.plates import HALF, UP
from scalarviz.scene.visuals.picking import half_sides
from scalarviz.scene.visuals.shaders import FOG
from tests.pictures.draw2d.perception import cielab, difference
from tests.pictures.view.measures import projection, stage_of, trained
from tests.studio import WHITE, Studio, at, framed, ground_of, ids_of, plate, shade

SCENES = ["rgb", "xor", "xnor", "circle", "expression"]
MORE = ["normalized", "retrain", "digits", "texture"]


def fronts(studio: Studio, name: str, theme: str, value: float, **turned: Any) -> list[np.ndarray]:
    """For each wall, the colors of the largest faces in sight, where all cubes have one number."""
    stage = stage_of(trained(name), (1280, 800), theme=theme)
    stage.orbit(turned.get("right", 0.0), turned.get("up", 0.0))
    see, layout = projection(stage), stage.frame_data().layout
    count = max(each.indices.stop for each in layout.plates)
    cubes = studio.cubes(layout.plates, np.full(count, value), theme=theme)
    cubes.fog(see.deep(layout.points()))
    pixels = studio.look(cubes, see)
    cubes.ids = True
    ids = ids_of(studio.look(cubes, see, WHITE))
    toward = see.camera.toward
    way = np.eye(3)[np.abs(toward).argmax()] * np.sign(toward)
    found = []
    for each in layout.plates:
        row, column, indices = each.cells()
        x, y = see(each.point(column + 0.5, row + 0.5) + HALF * each.unit * way).xy.astype(int).T
        own = (x >= 0) & (x < 1280) & (y >= 0) & (y < 800)
        own[own] = ids[y[own], x[own]] == indices[own]
        found.append(pixels[y[own], x[own]] / 255.0)
    assert sum(len(each) > 0 for each in found) > 1
    return [each for each in found if len(each)]


def test_the_difference_of_colors_is_that_of_published_pairs() -> None:
    one = np.array(
        [(50, 2.6772, -79.7751), (50, -1.0, 2.0), (50, 2.5, 0), (2.0776, 0.0795, -1.1350)]
    )
    other = np.array([(50, 0, -82.7485), (50, 0, 0), (73, 25, -18), (0.9033, -0.0636, -0.5514)])
    np.testing.assert_allclose(difference(one, other), [2.0425, 2.3669, 27.1492, 0.9082], atol=1e-4)


# Large networks as they open: turned until two faces look almost equally large, both are lit.
@pytest.mark.some(6)
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize(
    ("name", "turned"),
    [
        *itertools.product(SCENES, [{}, {"right": 150.0}, {"right": -150.0}, {"up": 200.0}]),
        *((each, {}) for each in MORE),
    ],
    ids=str,
)
def test_fronts_of_equal_values_have_the_color_of_the_legend_on_all_walls(
    studio: Studio, name: str, turned: dict[str, float], theme: str
) -> None:
    for value in (-1.0, -0.3, 0.0, 0.8):
        square = cielab(shade(theme, value) / 255.0)
        walls = [cielab(colors) for colors in fronts(studio, name, theme, value, **turned)]
        assert all(difference(each, square).max() <= 3.0 for each in walls)
        apart = [difference(a, b[:, np.newaxis]).max() for a in walls for b in walls]
        assert max(apart) <= 3.0


def test_an_edge_is_lit_toward_the_light_and_dark_away_from_it(studio: Studio) -> None:
    flat = plate(1, 1)
    see = framed([flat], fov=0.0, azimuth=20.0, elevation=15.0)
    pixels = studio.look(studio.cubes([flat], [0.0]), see)
    places = [(0.5, 0.5 + 0.97 * side * HALF, HALF) for side in (-1.0, 0.0, 1.0)]
    upper, middle, lower = (at(pixels, see(flat.point(*each)).xy[0]).sum() for each in places)
    assert upper > 1.1 * middle and lower < 0.8 * middle


@pytest.mark.parametrize("theme", THEMES)
def test_sides_are_darker_deep_between_cubes_and_the_less_room_these_leave(
    studio: Studio, theme: str
) -> None:
    line = plate(1, 3)
    see = framed([line], 640, 240, fov=0.0, azimuth=10.0)

    def seen(size: float, column: int) -> np.ndarray:
        pixels = studio.look(studio.cubes([line], np.zeros(3), [size] * 3, theme=theme), see)
        half = half_sides(np.array([size]), 1.0)[0]
        places = [line.point(column + 0.5 + half, 0.5, part * half) for part in (-0.5, 0.5)]
        return np.array([at(pixels, see(each).xy[0]).sum() for each in places], float)

    (deep, ahead), last = seen(1.0, 0), seen(1.0, 2)
    small = seen(0.1, 0)
    assert last[0] == last[1] and deep < 0.85 * ahead < 0.95 * last[1]
    assert deep < small[0] < small[1]


@pytest.mark.parametrize("theme", THEMES)
def test_sides_fade_into_the_ground_with_the_distance(studio: Studio, theme: str) -> None:
    walls = [plate(1, 1, i, origin=(1.5 * i, 0, -5.0 * i)) for i in range(3)]
    see = framed(walls, 640, 240, fov=10.0, azimuth=30.0)
    cubes = studio.cubes(walls, np.full(3, 0.7), theme=theme)
    cubes.fog(see.deep(np.concatenate([each.corners() for each in walls])))
    pixels = studio.look(cubes, see)
    sides = [at(pixels, see(each.point(0.5 + HALF, 0.5)).xy[0]) for each in walls]
    clear, ground = 0.66 * shade(theme, 0.7), ground_of(theme)
    parts = [
        float((side - clear) @ (ground - clear) / ((ground - clear) @ (ground - clear)))
        for side in sides
    ]
    assert -0.02 < parts[0] < 0.1 * FOG + 0.05 and parts[0] < parts[1] - 0.05 < parts[2] - 0.1
    assert parts[2] <= FOG + 0.02


def test_wires_fade_as_far_as_sides_do() -> None:
    from scalarviz.scene.bead_arrays import clear

    layout = stage_of(trained("rgb"), (1280, 800)).frame_data().layout
    points, camera = layout.points(), Camera(azimuth=-50.0, elevation=15.0)
    order = np.argsort(-(points @ camera.toward))
    np.testing.assert_allclose(clear(layout, camera, points[order])[[0, -1]], [1.0, 1.0 - FOG])
    assert (np.diff(clear(layout, camera, points[order])) <= 1e-12).all()


def test_a_sphere_has_the_light_of_cubes(studio: Studio) -> None:
    from scalarviz.scene.visuals.spheres import SpheresVisual

    studio.canvas.set_current()
    for azimuth, left in ((-50.0, True), (-20.0, False)):
        see = framed(
            [plate(1, 1, origin=(-0.5, 0.5, 0.0))], 200, 200, azimuth=azimuth, elevation=15
        )
        ball = SpheresVisual()
        grey = np.full((1, 3), 0.5)
        ball.set_data(np.zeros((1, 3)), np.array([HALF]), grey, grey, np.ones(1))
        pixels = studio.look(ball, see).sum(axis=2)
        x, y = see(np.zeros((1, 3))).xy[0].astype(int)
        away = int(0.6 * HALF * see(UP[np.newaxis]).unit[0])
        assert pixels[y - away, x] > pixels[y, x] > pixels[y + away, x]
        assert (pixels[y, x - away] > pixels[y, x + away]) == left
