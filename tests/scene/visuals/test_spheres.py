"""Spheres, wires and picking.

In their place, with true depth, and found under the pixel where they are seen.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scalarviz.core.program import NONE
from scalarviz.scene.bead_arrays import behind
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import DOWN, HALF, MOST, NEAR, RIGHT, UP, Plate
from scalarviz.scene.visuals.shaders import POOL
from scalarviz.scene.visuals.spheres import GroundsVisual, SpheresVisual, WiresVisual
from tests.studio import WHITE, Studio, framed, picked, plate, project

WIDTH, HEIGHT = 320, 240
GREY, RED = (0.5, 0.5, 0.5), (1.0, 0.0, 0.0)
SOLID = (1.0, 1.0, 1.0, -1.0)
STAGE = [plate(9, 12, origin=(-6.0, 4.5, 0.0))]
every_fov = pytest.mark.parametrize("fov", [0.0, 30.0, 70.0])


def seen_from(fov: float, azimuth: float = 0.0, elevation: float = 0.0) -> Projection:
    return project(Camera(azimuth=azimuth, elevation=elevation, fov=fov), STAGE, WIDTH, HEIGHT)


@pytest.fixture
def see() -> Projection:
    return seen_from(0.0)


def spheres(centers: Any, radii: Any, fills: Any = GREY, ring: Any = SOLID) -> Any:
    count = len(centers)
    visual = SpheresVisual()
    visual.set_data(
        np.array(centers, float),
        np.broadcast_to(radii, count).astype(float),
        np.broadcast_to(fills, (count, 3)),
        np.broadcast_to(ring, (count, 4)),
    )
    visual.paint(glass="#222630", shadow="#00000000")
    return visual


def wires(starts: Any, ends: Any, color: Any = (1, 1, 1, 1), width: Any = 1.0) -> Any:
    count = len(starts)
    visual = WiresVisual()
    visual.set_data(
        np.array(starts, float),
        np.array(ends, float),
        np.broadcast_to(color, (count, 4)),
        np.broadcast_to(width, count).astype(float),
    )
    return visual


def outline(see: Projection, center: np.ndarray, radius: float) -> np.ndarray:
    """Many points of the surface of a sphere, projected: their hull is its outline."""
    way = np.random.default_rng(0).normal(size=(40_000, 3))
    return see(center + radius * way / np.linalg.norm(way, axis=1, keepdims=True)).xy


@pytest.mark.some(1)
@every_fov
def test_a_sphere_is_seen_where_its_surface_is(studio: Studio, fov: float) -> None:
    see = seen_from(fov, 25.0, 15.0)
    for center in ([0.0, 0.0, 0.0], [3.0, 2.0, 1.0], [-3.0, -2.0, -2.0]):
        pixels = studio.look(spheres([center], 1.1), see)[:, :, 0]
        points = outline(see, np.array(center), 1.1)
        rows, columns = np.nonzero(pixels > 60)  # half covered, of a grey of 128
        found = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
        np.testing.assert_allclose(found, [*points.min(axis=0), *points.max(axis=0)], atol=1.1)


def test_its_edge_is_smooth_and_its_ring_has_a_width_in_logical_pixels(
    studio: Studio, see: Projection
) -> None:
    radius = 30.0 / see(np.zeros((1, 3))).unit[0]
    plain = studio.look(spheres([[0, 0, 0]], radius, WHITE), see)[:, :, 0] / 255.0
    assert (plain > 0.2).sum() == pytest.approx(np.pi * 900.0, rel=0.03)
    assert ((plain > 0.02) & (plain < 0.2)).sum() > 30
    for ratio in (1, 2):
        pixels = studio.look(spheres([[0, 0, 0]], radius, RED, (0, 1, 0, 0)), see, ratio=ratio)
        row = pixels[HEIGHT * ratio // 2, :, 1].astype(float)
        assert row[: (WIDTH // 2 - 30) * ratio].sum() / 255.0 == pytest.approx(2.4 * ratio, abs=0.5)


@pytest.mark.some(1)
@every_fov
def test_spheres_that_cross_are_cut_where_their_surfaces_meet(studio: Studio, fov: float) -> None:
    see = seen_from(fov, 20.0, 10.0)
    centers = np.array([[-0.9, 0.0, 0.0], [0.9, 0.3, 0.4]])
    for order in ([0, 1], [1, 0]):
        fills = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])[order]
        pixels = studio.look(spheres(centers[order], 2.0, fills), see)
        points = first_hits(see, centers, 2.0)
        wrong = sum(np.argmax(pixels[y, x, [0, 2]]) != i for (y, x), i in points.items())
        assert len(points) > 300 and wrong <= 0.02 * len(points)


def first_hits(see: Projection, centers: np.ndarray, radius: float) -> dict[tuple[int, int], int]:
    """Which of two spheres a ray meets first, by pixel; pixels near their outlines are left out."""
    found = {}
    for y in range(2, HEIGHT, 4):
        for x in range(2, WIDTH, 4):
            start, ray = map(np.array, see.ray(x + 0.5, y + 0.5))
            ray = ray / np.linalg.norm(ray)
            hits = []
            for center in centers:
                along = float((center - start) @ ray)
                inside = radius**2 - float((center - start) @ (center - start)) + along**2
                hits.append(along - np.sqrt(inside) if inside > 0.1 else np.inf)
            if abs(hits[0] - hits[1]) > 0.05 and min(hits) < np.inf:
                found[y, x] = int(np.argmin(hits))
    return found


def test_a_sphere_stands_in_a_plate_as_deep_as_it_is(studio: Studio) -> None:
    see = seen_from(30.0)
    cubes = studio.cubes(STAGE, np.full(108, -1.0))
    for height, covers in ((-1.0, False), (1.0, True)):
        for order in (0, 1):
            ball = spheres([[0.5, 0.0, height]], 0.4, RED)
            pixels = studio.look([cubes, ball] if order else [ball, cubes], see)
            x, y = see(np.array([[0.5, 0.0, height]])).xy[0]
            assert (pixels[int(y), int(x), 0] > 200) == covers


def test_nothing_is_drawn_of_a_sphere_around_or_behind_the_eye(studio: Studio) -> None:
    see = seen_from(30.0)
    eye = see.camera.distance * NEAR
    assert not studio.look(spheres([eye, eye + 3.0 * NEAR], [2.0, 1.0]), see).any()


# The ground.


def on_ground(studio: Studio, see: Projection, size: list[float]) -> np.ndarray:
    ground = GroundsVisual()
    ground.paint(tray="#ffffff80", shadow="#ffffffff")
    ground.set_data(np.zeros((1, 3)), np.array([size]))
    return studio.look(ground, see)[:, :, 0].astype(float)


def test_a_shadow_is_soft_and_lies_right_below_the_outline_of_its_cube(studio: Studio) -> None:
    see = seen_from(0.0, -42.0, 6.0)
    seen = on_ground(studio, see, [1.0, 1.0, 1.0])
    box = see(np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])).xy
    low, high = box.min(axis=0), box.max(axis=0)
    rows, columns = np.nonzero(seen > 128)
    moved = np.array([columns.mean(), rows.mean()]) - 0.5 * (low + high)
    np.testing.assert_allclose(moved, np.array([0.05, 0.1]) * max(high - low), atol=2.0)
    np.testing.assert_allclose(np.ptp(columns), high[0] - low[0], atol=4.0)
    assert ((seen > 10) & (seen < 245)).sum() > 400 and seen.max() == 255


def test_a_tray_is_flat_and_its_front_edge_a_line(studio: Studio) -> None:
    see = seen_from(0.0, -42.0, 30.0)
    seen = on_ground(studio, see, [1.0, 0.0, 3.0])
    front, middle, back = (
        seen[int(y), int(x)] for x, y in see(np.array([2.97 * NEAR, 0.0 * UP, -2.7 * NEAR])).xy
    )
    assert middle == back == pytest.approx(128, abs=2) and front > 180
    for beyond in (-1.2 * RIGHT, 1.2 * RIGHT, 3.2 * NEAR, UP):
        x, y = see(beyond).xy[0].astype(int)
        assert seen[y, x] == 0


def test_the_ground_is_lighter_in_a_pool_left_of_the_middle(studio: Studio) -> None:
    ground = GroundsVisual(POOL)
    ground.paint(ground="#101010", pool="#202020")
    ground.set_data(np.zeros((1, 3)), np.full((1, 3), -1.0))
    seen = studio.look(ground, seen_from(0.0))[:, :, 0].astype(float)
    assert abs(seen[:4, -4:].mean() - 16.0) < 1.5
    assert np.argmax(seen.mean(axis=0)) == pytest.approx(0.4375 * WIDTH, abs=20)
    assert seen[HEIGHT // 2 - 5 : HEIGHT // 2 + 5].max() == pytest.approx(48.0, abs=1.0)


# Wires.


@every_fov
@pytest.mark.parametrize("width", [1.0, 3.0, 8.0])
def test_a_wire_is_as_wide_near_as_far(studio: Studio, fov: float, width: float) -> None:
    see = seen_from(fov, 40.0, 10.0)
    start, end = np.array([-6.0, 0.0, 4.0]), np.array([6.0, 0.0, -4.0])
    for ratio in (1, 2):
        pixels = studio.look(wires([start], [end], width=width), see, ratio=ratio)[:, :, 0] / 255.0
        ends = see(np.array([start, end])).xy * ratio
        way = ends[1] - ends[0]
        slope = abs(way[0]) / np.linalg.norm(way)
        first, last = sorted(ends[:, 0].clip(0, WIDTH * ratio))
        for x in np.linspace(first, last, 7)[1:-1]:
            assert pixels[:, int(x)].sum() * slope == pytest.approx(width * ratio, rel=0.12)


def test_a_wire_thinner_than_a_pixel_is_fainter(studio: Studio, see: Projection) -> None:
    line = [-5 * RIGHT], [5 * RIGHT]
    for width in (0.25, 0.5, 1.0):
        pixels = studio.look(wires(*line, width=width), see)[:, WIDTH // 2, 0]
        assert pixels.sum() / 255.0 == pytest.approx(width, abs=0.03)
    half = studio.look(wires(*line, color=(1.0, 0.5, 0.0, 0.5), width=5.0), see)
    assert half[HEIGHT // 2, WIDTH // 2].tolist() == pytest.approx([128, 64, 0], abs=1)


@every_fov
def test_wires_end_in_spheres_and_pass_before_and_behind_them(studio: Studio, fov: float) -> None:
    see = seen_from(fov)
    ball = spheres([[0, 0, 0]], 1.0, RED)
    for height, visible in ((1.5, True), (0.0, False), (-1.5, False)):
        line = wires([[-4.0, 0.0, height]], [[4.0, 0.0, height]], (0, 0, 1, 1), 5.0)
        pixels = studio.look([ball, line], see)
        y = int(see(np.array([[0.0, 0.0, height]])).xy[0, 1])
        assert (pixels[y, WIDTH // 2, 2] > 200) == visible
        beside = see(np.array([[-2.5, 0.0, height]])).xy[0]
        assert pixels[int(beside[1]), int(beside[0]), 2] > 200


def test_wires_that_cross_mix_and_leave_the_depth_to_others(
    studio: Studio, see: Projection
) -> None:
    first = [-4 * RIGHT + NEAR], [4 * RIGHT + NEAR]
    second = [-4 * UP - NEAR], [4 * UP - NEAR]
    both = wires([*first[0], *second[0]], [*first[1], *second[1]], (1, 1, 1, 0.5), 7.0)
    assert studio.look(both, see)[HEIGHT // 2, WIDTH // 2, 0] == pytest.approx(191, abs=1)
    after = studio.look([both, spheres([[0, 0, 0]], 1.0, RED)], see)
    assert after[HEIGHT // 2, WIDTH // 2].tolist()[1:] == [0, 0]


def test_a_wire_from_behind_the_eye_is_seen_from_where_it_comes_into_view(studio: Studio) -> None:
    see = seen_from(40.0)
    eye = see.camera.distance * NEAR
    start, end = eye + 5.0 * NEAR - 0.5 * UP, -0.5 * UP + 2.0 * RIGHT
    pixels = studio.look(wires([start], [end], width=3.0), see)
    x, y = see(end[np.newaxis]).xy[0]
    assert pixels[int(y) - 3 : int(y) + 4, int(x) - 3 : int(x) + 1].max() > 200
    assert not pixels[: HEIGHT // 2 - 5].any() and pixels[HEIGHT // 2 + 20 :].any()
    assert not studio.look(wires([start], [start + NEAR]), see).any()


@every_fov
def test_a_wire_beyond_the_far_plane_is_behind_everything(studio: Studio, fov: float) -> None:
    see = seen_from(fov)
    places = np.array([[-4.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    line = wires(*behind(see.camera, places)[:, np.newaxis], (0, 0, 1, 1), 5.0)
    pixels = studio.look([spheres([[0, 0, -4]], 1.0, RED), line], see)
    left, middle = see(np.array([[-2.5, 0.0, 0.0], [0.0, 0.0, 0.0]])).xy.astype(int)
    assert pixels[left[1], left[0]].tolist() == [0, 0, 255]
    assert pixels[middle[1], middle[0], 2] < 100 < pixels[middle[1], middle[0], 0]


def test_a_visual_is_uploaded_again_only_where_it_changed(studio: Studio, see: Projection) -> None:
    ball = spheres([[0, 0, 0]], 1.0, RED)
    first = studio.look(ball, see)
    assert not ball._stale
    same = np.zeros((1, 3)), np.ones(1), np.array([RED]), np.array([SOLID])
    ball.set_data(*same)
    assert not ball._stale
    ball.set_data(*same[:2], np.array([[0.0, 0.0, 1.0]]), *same[3:])
    assert ball._stale == {"a_fill"}
    np.testing.assert_array_equal(studio.look(ball, see)[:, :, 2], first[:, :, 0])
    ball.release()
    np.testing.assert_array_equal(studio.look(ball, see)[:, :, 2], first[:, :, 0])
    assert ball.bounds(0) == (0.0, 0.0)


AXES = [
    *((RIGHT, DOWN, NEAR), (DOWN, RIGHT, NEAR), (RIGHT, UP, NEAR), (DOWN, -RIGHT, NEAR)),
    *((NEAR, DOWN, RIGHT), (UP, NEAR, -RIGHT), (RIGHT, DOWN, -NEAR)),
]
RATIOS = (1.0, 1.25, 1.5, 2.0)
PICK_WIDTH, PICK_HEIGHT = 96, 64


def world(rng: np.random.Generator, first: int) -> tuple[list[Plate], int]:
    """Some plates, turned and mirrored, near each other and through each other.

    Their cells are square, or wider than high; cubes in cells below 1 are smaller, and those with a
    seat stand flush.
    """
    plates = []
    for _ in range(rng.integers(1, 5)):
        rows, columns = rng.integers(1, 9, 2).tolist()
        stride = columns + int(rng.integers(0, 5))
        origin = rng.normal(size=3) * [4.0, 4.0, 3.0]
        axes = np.array(AXES[rng.integers(len(AXES))])
        wide = np.array([rng.choice([1.0, 1.3, 0.62]), rng.choice([1.0, 0.62]), 1.0])
        each = plate(rows, columns, first, stride, origin, axes * wide[:, np.newaxis])
        plates.append(replace(each, seat=float(rng.choice([0.0, 0.48])) * min(each.cell)))
        first += rows * stride + int(rng.integers(0, 20))
    return plates, first


def camera_at(rng: np.random.Generator, plates: list[Plate], *, near: bool) -> Camera:
    azimuth, elevation = rng.uniform(-85.0, 85.0, 2).tolist()
    fov = float(rng.choice([0.0, 28.0, 60.0]))
    whole = framed(
        plates, PICK_WIDTH, PICK_HEIGHT, azimuth=azimuth, elevation=elevation, fov=fov
    ).camera
    if not near:
        return whole.zoomed(float(rng.uniform(0.3, 1.2)))
    each = plates[rng.integers(len(plates))]
    place = each.point(rng.uniform(0, each.columns), rng.uniform(0, each.rows)).tolist()
    height = max(0.6, whole.height * float(rng.uniform(0.05, 0.6)))
    return Camera(tuple(place), azimuth, elevation, height, fov)


class Eye:
    """Who asks what is at a pixel, by logical or device pixels."""

    def __init__(self, plates: list[Plate], see: Projection, sizes: np.ndarray, ratio: float):
        self.plates, self.see, self.ratio = plates, see, ratio
        self.sizes = sizes.astype(np.float64)

    def __call__(self, x: float, y: float) -> int:
        place = x / self.ratio, y / self.ratio
        return picked(
            self.plates, self.see, *place, lambda plate, i: float(plate.halves(self.sizes[i], 1.0))
        )

    def around(self, x: float, y: float) -> set[int]:
        return {self(x + dx, y + dy) for dx in (-0.5, 0.0, 0.5) for dy in (-0.5, 0.0, 0.5)}


def disagreements(studio: Studio, seeds: range, samples: int) -> tuple[int, int, int]:
    """How many pixels there were, on how many of them a cube, and at how many edges they differ."""
    asked = hits = edges = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        plates, count = world(rng, 70_000 if seed % 3 == 0 else 0)
        sizes = (10.0 ** rng.uniform(-5.0, 0.0, count)).astype(np.float32)
        ratio = RATIOS[seed % 4]
        see = project(camera_at(rng, plates, near=seed % 2 == 1), plates, PICK_WIDTH, PICK_HEIGHT)
        seen = studio.ids(studio.cubes(plates, sizes, sizes), see, ratio)
        eye = Eye(plates, see, sizes, ratio)
        pixels = rng.integers((0, 0), seen.shape, (samples, 2)).tolist()
        there = np.argwhere(seen != NONE)
        if len(there):
            pixels += there[rng.integers(len(there), size=samples)].tolist()
        for row, column in pixels:
            found = eye(column + 0.5, row + 0.5)
            if found != seen[row, column]:
                assert len(eye.around(column + 0.5, row + 0.5)) > 1, (seed, row, column)
                edges += 1
            hits += found != NONE
        asked += len(pixels)
    return asked, hits, edges


@pytest.mark.slow
def test_what_is_picked_is_what_is_seen(studio: Studio) -> None:
    asked, hits, edges = disagreements(studio, range(36), 60)
    assert asked > 4_000 and hits > 0.5 * asked and edges < 0.005 * asked


@pytest.mark.slow
def test_what_is_picked_is_what_is_seen_from_a_thousand_places(studio: Studio) -> None:
    asked, hits, edges = disagreements(studio, range(1_000, 2_000), 100)
    assert hits > 0.5 * asked and edges < 0.001 * asked


@pytest.mark.some(1)
@pytest.mark.parametrize("first", [65_530, 1_000_003, 8_388_700])
def test_rows_far_into_the_bank_are_picked(studio: Studio, first: int) -> None:
    each = plate(4, 4, first, 5)
    see = framed([each], 64, 64, azimuth=20.0, elevation=15.0)
    sizes = np.ones(first + 30, np.float32)
    seen = studio.ids(studio.cubes([each], sizes), see)
    eye = Eye([each], see, sizes, 1.0)
    for row, column in np.ndindex(4, 4):
        x, y = see(each.point(column + 0.5, row + 0.5, HALF)).xy[0]
        index = each.index_of(row, column)
        assert seen[int(y), int(x)] == index == eye(int(x) + 0.5, int(y) + 0.5)


def test_a_large_plate_is_picked_from_a_flat_angle(studio: Studio) -> None:
    each = plate(700, 900)
    sizes = np.random.default_rng(0).uniform(0.0, 1.0, each.size).astype(np.float32) ** 8
    for elevation in (0.0, 60.0, 84.0):
        camera = Camera((450.0, -350.0, 0.0), 0.0, elevation, 60.0, 20.0)
        see = project(camera, [each], PICK_WIDTH, PICK_HEIGHT)
        seen = studio.ids(studio.cubes([each], sizes, sizes), see)
        eye = Eye([each], see, sizes, 1.0)
        pixels = np.random.default_rng(1).integers((0, 0), seen.shape, (150, 2)).tolist()
        same = [eye(x + 0.5, y + 0.5) == seen[y, x] for y, x in pixels]
        apart = [len(eye.around(x + 0.5, y + 0.5)) > 1 for y, x in pixels]
        assert all(a or b for a, b in zip(same, apart, strict=True))
        assert sum(same) >= 148 or elevation > 60.0  # there a pixel has many cubes


@pytest.mark.parametrize("axes", [(RIGHT, DOWN, NEAR), (RIGHT, UP, NEAR)])
def test_an_eye_between_the_cubes_sees_the_ones_around_it(studio: Studio, axes: object) -> None:
    each = plate(9, 9, axes=axes)
    sizes = np.zeros(81, np.float32)
    cubes = studio.cubes([each], sizes, sizes)
    for angles in ((80.0, 0.0), (-70.0, 20.0), (0.0, 80.0)):
        target = tuple(each.point(5.0, 5.0).tolist())
        see = project(Camera(target, *angles, 0.3, 40.0), [each], 64, 64)
        eye = target + see.camera.distance * np.array(see.camera.toward)
        assert abs(eye[2]) < HALF
        seen, picked = studio.ids(cubes, see), Eye([each], see, sizes, 1.0)
        places = [(x, y) for x in range(1, 64, 6) for y in range(1, 64, 6)]
        same = [picked(x + 0.5, y + 0.5) == seen[y, x] for x, y in places]
        assert np.mean(same) > 0.97 and (seen != NONE).mean() > 0.1


def test_half_a_side_is_what_the_shader_draws() -> None:
    sizes = np.array([2.0, -2.0, 2e-2, 2e-4, 0.0, 1e-300, 100.0, np.inf, -np.inf, np.nan])
    parts = np.array([1.0, 1.0, 0.215, 0.046, 0.0, 0.0, MOST, MOST, MOST, 1.0])
    for seat, half, least in ((0.0, HALF, 0.58), (0.5, 0.45, 0.3), (0.42, 0.4, 0.3)):
        found = replace(plate(1, 1), seat=seat).halves(sizes, 2.0)
        np.testing.assert_allclose(found, half * np.maximum(parts, least), atol=1e-12)


@pytest.mark.parametrize("cell", [(1.42, 1.98), (0.98, 1.37), (4.4, 1.5)])
def test_the_largest_cubes_with_a_seat_stand_apart(cell: tuple[float, float]) -> None:
    each = Plate(0, 2, 2, 2, np.zeros(3), cell[0] * NEAR, cell[1] * DOWN, -RIGHT, seat=0.9)
    first, beside, below = (each.corners_of(*at, each.half) for at in ((0, 0), (0, 1), (1, 0)))
    assert beside[:, 2].min() - first[:, 2].max() >= 0.1 * cell[0] - 1e-12
    assert first[:, 1].min() - below[:, 1].max() >= 0.1 * cell[1] - 1e-12
    assert max(np.ptp(first, axis=0)) == pytest.approx(0.9 * min(cell))
