"""Picking: what is under a pixel is exactly what is seen there."""

import numpy as np
import pytest

from scalarviz.core.program import NONE
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.division import Projection
from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, UP, Plate
from scalarviz.scene.visuals.picking import half_sides, pick
from scalarviz.scene.visuals.shaders import HALF, LEAST
from tests.studio import WHITE, Studio, framed, ids_of, plate, project

AXES = [
    *((RIGHT, DOWN, NEAR), (DOWN, RIGHT, NEAR), (RIGHT, UP, NEAR), (DOWN, -RIGHT, NEAR)),
    *((NEAR, DOWN, RIGHT), (UP, NEAR, -RIGHT), (RIGHT, DOWN, -NEAR)),
]
RATIOS = (1.0, 1.25, 1.5, 2.0)
WIDTH, HEIGHT = 96, 64


def world(rng: np.random.Generator, first: int) -> tuple[list[Plate], int]:
    """Some plates, turned and mirrored, near each other and through each other.

    Their cells are square, or wider than high; cubes in cells below 1 are smaller.
    """
    plates = []
    for _ in range(rng.integers(1, 5)):
        rows, columns = rng.integers(1, 9, 2).tolist()
        stride = columns + int(rng.integers(0, 5))
        origin = rng.normal(size=3) * [4.0, 4.0, 3.0]
        axes = np.array(AXES[rng.integers(len(AXES))])
        wide = np.array([rng.choice([1.0, 1.3, 0.62]), rng.choice([1.0, 0.62]), 1.0])
        plates.append(plate(rows, columns, first, stride, origin, axes * wide[:, np.newaxis]))
        first += rows * stride + int(rng.integers(0, 20))
    return plates, first


def camera_at(rng: np.random.Generator, plates: list[Plate], *, near: bool) -> Camera:
    azimuth, elevation = rng.uniform(-85.0, 85.0, 2).tolist()
    fov = float(rng.choice([0.0, 28.0, 60.0]))
    whole = framed(plates, WIDTH, HEIGHT, azimuth=azimuth, elevation=elevation, fov=fov).camera
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
        self.halves = half_sides(sizes.astype(np.float64), 1.0)
        self.matrix = see.matrix

    def __call__(self, x: float, y: float) -> int:
        place = self.see.across(x / self.ratio, y / self.ratio)
        return pick(self.plates, self.matrix, *place, lambda _, index: self.halves[index])

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
        see = project(camera_at(rng, plates, near=seed % 2 == 1), plates, WIDTH, HEIGHT)
        cubes = studio.cubes(plates, sizes, sizes)
        cubes.ids = True
        seen = ids_of(studio.look(cubes, see, WHITE, ratio))
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
    cubes = studio.cubes([each], sizes)
    cubes.ids = True
    seen = ids_of(studio.look(cubes, see, WHITE))
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
        see = project(camera, [each], WIDTH, HEIGHT)
        cubes = studio.cubes([each], sizes, sizes)
        cubes.ids = True
        seen = ids_of(studio.look(cubes, see, WHITE))
        eye = Eye([each], see, sizes, 1.0)
        pixels = np.random.default_rng(1).integers((0, 0), seen.shape, (150, 2)).tolist()
        same = [eye(x + 0.5, y + 0.5) == seen[y, x] for y, x in pixels]
        apart = [len(eye.around(x + 0.5, y + 0.5)) > 1 for y, x in pixels]
        assert all(a or b for a, b in zip(same, apart, strict=True)) and sum(same) >= 148


@pytest.mark.parametrize("axes", [(RIGHT, DOWN, NEAR), (RIGHT, UP, NEAR)])
def test_an_eye_between_the_cubes_sees_the_ones_around_it(studio: Studio, axes: object) -> None:
    each = plate(9, 9, axes=axes)
    sizes = np.zeros(81, np.float32)
    cubes = studio.cubes([each], sizes, sizes)
    cubes.ids = True
    for angles in ((80.0, 0.0), (-70.0, 20.0), (0.0, 80.0)):
        target = tuple(each.point(5.0, 5.0).tolist())
        see = project(Camera(target, *angles, 0.3, 40.0), [each], 64, 64)
        eye = target + see.camera.distance * see.camera.toward
        assert abs(eye[2]) < HALF
        seen, picked = ids_of(studio.look(cubes, see, WHITE)), Eye([each], see, sizes, 1.0)
        places = [(x, y) for x in range(1, 64, 6) for y in range(1, 64, 6)]
        same = [picked(x + 0.5, y + 0.5) == seen[y, x] for x, y in places]
        assert np.mean(same) > 0.97 and (seen != NONE).mean() > 0.1


def test_half_a_side_is_what_the_shader_draws() -> None:
    sizes = np.array([2.0, -2.0, 2e-2, 2e-4, 0.0, 1e-300, 100.0, np.inf, -np.inf, np.nan])
    parts = np.array([1.0, 1.0, 0.1, 0.01, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    expected = HALF * (LEAST + (1.0 - LEAST) * parts)
    np.testing.assert_allclose(half_sides(sizes, 2.0), expected, atol=1e-12)
