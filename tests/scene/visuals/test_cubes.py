"""Cubes: each shows its own number, as a color and as a size."""

from itertools import permutations, product

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import DisplayError
from scalarviz.scene.canvas.palette import THEMES, contrast, faded, rgb
from scalarviz.scene.layout.camera import CAMERAS, Camera
from scalarviz.scene.layout.plates import (
    DOWN,
    HALF,
    LEAST,
    LEAST_ON_WALL,
    MOST,
    NEAR,
    RIGHT,
    UP,
    Plate,
)
from scalarviz.scene.layout.points import reach_of
from scalarviz.scene.visuals import opengl
from tests.studio import (
    BLACK,
    Studio,
    at,
    brightness,
    facing,
    framed,
    picked,
    place,
    plate,
    project,
    shade,
)
from tests.wording import refused

NETWORK = sv.Network([3, 8, 3], "tanh", output="sigmoid", seed=0)
PLATES = facing(NETWORK.program).plates
COUNT = len(NETWORK.bank)
BLUE, ORANGE = -1.0, 1.0


def cells(plates: list[Plate]) -> list[tuple[Plate, int, int, int]]:
    """Each cube's plate, row, column and row of the bank."""
    return [
        (each, row, column, each.index_of(row, column))
        for each in plates
        for row in range(each.rows)
        for column in range(each.columns)
    ]


def face(see, each: Plate, row: int, column: int, half: float = HALF) -> np.ndarray:
    """Where the middle of a cube's front is seen."""
    return see(each.point(column + 0.5, row + 0.5, half)).xy[0]


# Colors.


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("camera", CAMERAS)
def test_each_parameter_has_a_cube_in_the_color_of_its_value(
    studio: Studio, camera: str, theme: str
) -> None:
    values = np.random.default_rng(1).uniform(-1.5, 1.5, COUNT)
    values[7] = np.nan
    see = project(
        CAMERAS[camera].framing(reach_of(np.concatenate([p.corners() for p in PLATES])), 1.5),
        *(PLATES, 640, 480),
    )
    pixels = studio.look(studio.cubes(PLATES, values, theme=theme, scale=1.2), see)
    found = cells(PLATES)
    assert sorted(index for *_, index in found) == list(range(COUNT)) and COUNT == 59
    for each, row, column, index in found:
        seen = at(pixels, face(see, each, row, column))
        expected = brightness(see, NEAR) * shade(theme, values[index], 1.2)
        np.testing.assert_allclose(seen, np.minimum(expected, 255.0), atol=2)


def test_beyond_the_scale_is_the_color_of_the_end_and_no_number_is_magenta(studio: Studio) -> None:
    values = np.array([np.nan, np.inf, -np.inf, 1e30, -3.0, 1.0, -1.0, 1e-40, -0.0])
    flat = plate(1, len(values))
    see = framed([flat], fov=0.0)
    pixels = studio.look(studio.cubes([flat], values), see)
    seen = [at(pixels, face(see, flat, 0, i)) for i in range(len(values))]
    np.testing.assert_allclose(seen, shade("dark", np.clip(values, -1.0, 1.0)), atol=2)
    assert seen[0][1] == 0 and min(seen[0][0], seen[0][2]) > 250


@pytest.mark.parametrize("top", [1e38, 1e300])
def test_numbers_that_exceed_a_float_are_drawn_as_the_largest(studio: Studio, top: float) -> None:
    flat = plate(1, 3)
    see = framed([flat], fov=0.0)
    given = np.array([top, -top, 0.0])
    pixels = studio.look(studio.cubes([flat], given, given, scale=top, top=top), see)
    for i, value in enumerate((1.0, -1.0, 0.0)):
        np.testing.assert_allclose(at(pixels, face(see, flat, 0, i)), shade("dark", value), atol=2)
    highs = []
    for i, value in ((0, 1.0), (2, 0.0)):
        column = pixels[:, round(see(flat.point(i + 0.5, 0.5)).xy[0, 0])]
        highs.append((np.abs(column - shade("dark", value)) <= 30.0).all(axis=1).sum())
    assert highs[0] > 1.5 * highs[1] > 0.0


def test_each_plate_has_a_scale_of_its_own(studio: Studio) -> None:
    plates = [plate(1, 1), plate(1, 1, 1, origin=(2, 0, 0))]
    see = framed(plates, fov=0.0)
    pixels = studio.look(studio.cubes(plates, [0.5, 0.5], scale=[1.0, 0.5]), see)
    for each, value in zip(plates, (0.5, 1.0), strict=True):
        np.testing.assert_allclose(at(pixels, face(see, each, 0, 0)), shade("dark", value), atol=2)


@pytest.mark.parametrize("theme", THEMES)
def test_a_weight_near_zero_stands_out_from_the_ground(theme: str) -> None:
    look, ground = THEMES[theme], rgb((THEMES[theme].ground,))[0]
    assert contrast(look.map(np.array([-0.04, 0.04])), ground).min() >= 1.8
    assert contrast(faded(look.map(0.0), 0.6, 1.0 - ground), ground) >= 3.0  # its edges


@pytest.mark.parametrize("index", [0, 10, 23, 25, 31, 40, 57])
def test_a_changed_weight_changes_its_own_cube_and_no_other(studio: Studio, index: int) -> None:
    rng = np.random.default_rng(index)
    values, sizes = rng.uniform(-1.0, 1.0, COUNT), 10.0 ** rng.uniform(-4.0, 0.0, COUNT)
    see = framed(PLATES, azimuth=-25.0, elevation=20.0)
    cubes = studio.cubes(PLATES, values, sizes)
    before = studio.look(cubes, see)
    values[index] += 0.7
    sizes[index] = 1.0
    cubes.numbers(values, sizes)
    after = studio.look(cubes, see)
    own = studio.ids(cubes, see) == index
    changed = (before != after).any(axis=2)
    assert changed.sum() > 20 and not (changed & ~own).any()
    (box,) = [
        see(each.point(column + 0.5, row + 0.5) + HALF * np.array(list(product((-1, 1), repeat=3))))
        for each, row, column, found in cells(PLATES)
        if found == index
    ]
    y, x = np.nonzero(changed)
    assert (box.xy.min(axis=0) - 1.0 <= [x.min(), y.min()]).all()
    assert (box.xy.max(axis=0) + 1.0 >= [x.max(), y.max()]).all()


# Sizes.


def widths(pixels: np.ndarray, see, each: Plate, theme: str = "dark") -> list[int]:
    """How many pixels the cubes of the first row are wide, in their middle."""
    found = []
    for column in range(each.columns):
        left, y = see(each.point(column, 0.5)).xy[0]
        right = see(each.point(column + 1.0, 0.5)).xy[0, 0]
        run = pixels[int(y), round(left) : round(right)]
        found.append(int((run != BLACK).any(axis=1).sum()))
    return found


def test_the_side_of_a_cube_follows_the_cube_root_of_its_size(studio: Studio) -> None:
    sizes = np.array([0.0, 0.01, -0.04, 0.512, 1.0, 1e-9, -50.0, 3e-38, np.inf, np.nan])
    line = plate(1, len(sizes))
    see = framed([line], 1200, 120, fov=0.0)
    cubes = studio.cubes([line], np.full(len(sizes), 0.6), sizes)
    parts = np.array([0.0, 0.2, 0.3, 0.8, 1.0, 0.0, MOST, 0.0, MOST, 1.0])
    unit = see(line.point(0, 0)).unit[0]
    expected = 2.0 * HALF * unit * np.maximum(parts, LEAST_ON_WALL)
    assert unit > 80.0
    np.testing.assert_allclose(widths(studio.look(cubes, see), see, line), expected, atol=1.1)
    cubes.scales(1.0, 4.0)
    parts = np.minimum(np.cbrt(np.abs(np.nan_to_num(sizes, nan=4.0)) / 4.0), MOST)
    expected = 2.0 * HALF * unit * np.maximum(parts, LEAST_ON_WALL)
    np.testing.assert_allclose(widths(studio.look(cubes, see), see, line), expected, atol=1.1)


@pytest.mark.some("axes1-0.0-0.0", "axes0-0.5-50.0")
@pytest.mark.parametrize("azimuth", [0.0, 50.0])
@pytest.mark.parametrize("seat", [0.0, 0.5])
@pytest.mark.parametrize("axes", [(1.3 * RIGHT, DOWN, NEAR), (0.9 * DOWN, 1.7 * RIGHT, NEAR)])
def test_cubes_stay_cubes_in_cells_that_are_not_square(
    studio: Studio, axes: tuple[np.ndarray, ...], azimuth: float, seat: float
) -> None:
    values = np.linspace(-1.0, 1.0, 12)
    seat *= float(np.linalg.norm(axes[1]))
    each = Plate(0, 3, 4, 4, np.zeros(3), *axes, seat=seat)
    largest, least = HALF * min(1.0, *each.cell), LEAST_ON_WALL
    if seat:
        largest, least = 0.45 * min(each.cell), LEAST
    see = framed([each], azimuth=azimuth, elevation=0.3 * azimuth)
    seen = studio.ids(studio.cubes([each], values, values), see)

    def half_of(plate: Plate, index: int) -> float:
        return float(plate.halves(values[index], 1.0))

    for row, column in np.ndindex(3, 4):
        index = each.index_of(row, column)
        half = largest * max(least, np.cbrt(abs(values[index])))
        place = each.point(column + 0.5, row + 0.5)
        if seat:
            place = place + (seat - half) * (each.toward + each.across / each.cell[1])
        y, x = np.nonzero(seen == index)
        box = see(place + half * np.array(list(product((-1, 1), repeat=3)))).xy
        found = [x.min(), y.min(), x.max() + 1, y.max() + 1]
        if not azimuth:  # else a neighbor may hide a part
            np.testing.assert_allclose(found, [*box.min(axis=0), *box.max(axis=0)], atol=1.2)
        rng = np.random.default_rng(index)
        for at_x, at_y in rng.uniform(box.min(axis=0), box.max(axis=0), (8, 2)):
            around = seen[int(at_y) - 1 : int(at_y) + 2, int(at_x) - 1 : int(at_x) + 2]
            if len(np.unique(around)) == 1:
                assert picked([each], see, at_x, at_y, half_of) == around[1, 1]


# Where numbers come from.


BANK = 17_000_000
LARGE = [  # side by side, far enough apart
    plate(3, 5000),
    plate(40, 30, 4_194_304 + 17, 4097, origin=(6000, 0, 0)),
    plate(40, 30, 16_777_216 - 100, 5000, origin=(7000, 0, 0)),
    plate(30, 7, 16_777_216 + 4095, 33, origin=(8000, 0, 0)),
    plate(3390, 5000, 5_000, 5000, origin=(0, -100, 0)),
    plate(5600, 3001, 0, 3001, origin=(6000, -100, 0)),
]


@pytest.mark.slow
def test_the_right_number_is_found_however_far_into_the_bank(studio: Studio) -> None:
    numbers = np.random.default_rng(0).uniform(-1.0, 1.0, BANK).astype(np.float32)
    cubes = studio.cubes(LARGE, numbers)
    for number, each in enumerate(LARGE):
        rng = np.random.default_rng(number)
        rows, columns = each.rows - 1, each.columns - 1
        places = [
            (0, 0),
            (rows, columns),
            (0, columns),
            (rows // 2, columns // 3),
            *((int(rng.integers(each.rows)), int(rng.integers(each.columns))) for _ in "123"),
        ]
        for row, column in places:
            middle = tuple(each.point(column + 0.5, row + 0.5).tolist())
            see = project(Camera(middle, height=7.0, fov=0.0), [each], 320, 240)
            pixels = studio.look(cubes, see)
            for y, x in product(range(row - 3, row + 4), range(column - 3, column + 4)):
                if 0 <= y <= rows and 0 <= x <= columns:
                    value = numbers[each.index_of(y, x)]
                    seen = at(pixels, face(see, each, y, x))
                    np.testing.assert_allclose(seen, shade("dark", value), atol=2)


@pytest.mark.slow
def test_only_what_is_near_is_sent_and_it_is_there_when_one_comes_near(studio: Studio) -> None:
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 2 * 400 * 400)
    plates = [plate(400, 400), plate(400, 400, 160_000, origin=(500, 0, 0))]
    cubes = studio.cubes(plates, values)
    studio.look(cubes, framed(plates, fov=0.0))  # as means only
    for each in plates:
        for row, column in ((0, 0), (399, 399), (123, 321)):
            middle = tuple(each.point(column + 0.5, row + 0.5).tolist())
            see = project(Camera(middle, height=5.0, fov=0.0), plates)
            seen = at(studio.look(cubes, see), (160, 120))
            value = values[each.index_of(row, column)]
            np.testing.assert_allclose(seen, shade("dark", value), atol=2)
    values[160_000 + 123 * 400 + 321] = ORANGE
    cubes.numbers(values, np.ones(len(values)))
    np.testing.assert_allclose(
        at(studio.look(cubes, see), (160, 120)), shade("dark", ORANGE), atol=2
    )


# In space.


def orientations() -> list[np.ndarray]:
    """All ways to put a plate along the axes, mirrored ones included."""
    return [
        np.array(axes) * np.array(signs)[:, np.newaxis]
        for axes in permutations((RIGHT, UP, NEAR))
        for signs in product((1.0, -1.0), repeat=3)
    ]


@pytest.mark.some(1)
@pytest.mark.parametrize("fov", [0.0, 40.0])
def test_plates_that_are_turned_or_mirrored_are_drawn_right_side_out(
    studio: Studio, fov: float
) -> None:
    values = np.linspace(-1.0, 1.0, 4)
    for axes in orientations():
        each = plate(2, 2, axes=axes)
        see = framed([each], 120, 90, azimuth=30.0, elevation=25.0, fov=fov)
        pixels = studio.look(studio.cubes([each], values), see)
        # Of the four, the cube that is nearest to the eye is wholly seen: its three outer faces.
        places = [each.point(c + 0.5, r + 0.5)[()] for r in (0, 1) for c in (0, 1)]
        nearest = int(np.argmax([place @ np.array(see.camera.toward) for place in places]))
        for axis in (RIGHT, UP, NEAR):
            outward = axis * np.sign(axis @ np.array(see.camera.toward))
            bright = brightness(see, outward) * (1.0 + 0.1 * outward[1])
            seen = at(pixels, see(places[nearest] + HALF * outward).xy[0])
            expected = np.minimum(bright * shade("dark", values[nearest]), 255.0)
            np.testing.assert_allclose(seen, expected, atol=2.5)


def test_what_is_nearer_hides_what_is_behind_it(studio: Studio) -> None:
    flat, behind = plate(3, 3), plate(3, 3, 9, origin=(0.5, -0.5, -3.0))
    through = plate(3, 3, 18, origin=(1.5, 0.0, 1.5), axes=(-NEAR, DOWN, RIGHT))
    values = np.repeat([BLUE, ORANGE, 0.0], 9)
    for order in permutations((flat, behind, through)):
        for fov in (0.0, 50.0):
            see = framed(order, azimuth=35.0, elevation=10.0, fov=fov)
            found = studio.ids(studio.cubes(list(order), values), see)
            seen = see(np.concatenate([each.corners() for each in order]))
            assert np.nanmax(np.abs(seen.depth)) <= 1.0
            # The front of the middle cube of the first plate is half inside the third.
            for each, row, column, index in cells(list(order)):
                x, y = face(see, each, row, column)
                own = float(see(each.point(column + 0.5, row + 0.5, HALF)).depth[0])
                top = int(found[int(y), int(x)])
                if top not in (index, -1):
                    (other,) = [p for p in order if p.place_of(top)]
                    r, c = other.place_of(top)
                    box = other.point(c + 0.5, r + 0.5) + HALF * np.array(
                        list(product((-1, 1), repeat=3))
                    )
                    assert see(box).depth.min() < own
    assert at(studio.look(studio.cubes([flat], values), framed([flat])), (160, 120))[2] > 200


def test_an_eye_among_the_cubes_sees_them_in_a_mirror_too(studio: Studio) -> None:
    from vispy import gloo

    each = plate(7, 7)
    cubes = studio.cubes([each], np.random.default_rng(0).uniform(-1.0, 1.0, 49))
    see = project(Camera((5.0, -4.0, 0.0), 70.0, 5.0, height=1.0, fov=60.0), [each])

    def draw() -> None:
        gloo.set_viewport(0, 0, 320, 240)
        gloo.set_state(depth_test=True, blend=False, cull_face=False)
        gloo.clear(color=(0.0, 0.0, 0.0, 1.0), depth=True)
        place(cubes, np.diag([-1.0, 1.0, 1.0, 1.0]) @ see.matrix, 320, 240)
        cubes.draw()

    direct, mirrored = studio.look(cubes, see), studio.shoot(draw, 320, 240)
    assert len(np.unique(direct.reshape(-1, 3), axis=0)) > 50
    assert (np.abs(direct - mirrored[:, ::-1]).max(axis=2) > 2).mean() < 0.01


def test_cubes_far_into_a_bank_are_counted_exactly(studio: Studio) -> None:
    plates = [
        plate(60, 40, 4_194_304 + 17, 4097),
        plate(60, 40, 8_388_608 + 4095, 5000, origin=(50, 0, 0)),
    ]
    visual = studio.cubes(plates, np.ones(9_000_000, np.float32))
    for each in plates:
        for row, column in ((0, 0), (59, 39), (31, 17)):
            middle = tuple(each.point(column + 0.5, row + 0.5).tolist())
            see = project(Camera(middle, height=7.0, fov=0.0), plates, 80, 60)
            assert studio.ids(visual, see)[30, 40] == each.index_of(row, column)


@pytest.mark.parametrize(
    ("version", "extensions", "enough"),
    [
        ("4.5 (Compatibility Profile) Mesa 25.0.7", "", True),
        ("3.0 Mesa 25.0.7", "", True),
        ("2.1 Mesa 25.0.7", "GL_ARB_texture_float GL_ARB_texture_rg", True),
        ("2.1 Mesa 25.0.7", "GL_ARB_texture_rg", False),
    ],
)
def test_a_driver_without_float_textures_is_refused(
    studio: Studio, version: str, extensions: str, enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {opengl.gl.GL_VERSION: version, opengl.gl.GL_EXTENSIONS: extensions}
    ask = opengl.gl.glGetParameter
    monkeypatch.setattr(opengl.gl, "glGetParameter", lambda which: known.get(which) or ask(which))
    cubes = studio.cubes([plate(1, 1)], np.ones(1))
    if enough:
        assert studio.look(cubes, framed([plate(1, 1)])).any()
    else:
        refused(DisplayError, "2.1", "float textures").by(studio.look, cubes, framed([plate(1, 1)]))
