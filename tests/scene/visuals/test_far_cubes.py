"""Cubes from far away and from the side, and pictures whose pixels are the mean of four.

No holes, no shimmer.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from vispy import gloo

from scalarviz.scene.canvas.palette import THEMES
from scalarviz.scene.layout.camera import Camera
from scalarviz.scene.layout.plates import HALF, LEAST_ON_WALL, Plate
from scalarviz.scene.offscreen import drawing
from scalarviz.scene.picture import Canvas
from scalarviz.scene.visuals import mip_levels, opengl
from scalarviz.scene.visuals.cubes import nearness
from scalarviz.scene.visuals.mip_levels import fill, levels_of, place_of, room_of, strength_of
from scalarviz.scene.visuals.nearness import ANYHOW, Near
from scalarviz.scene.visuals.opengl import Smooth
from scalarviz.scene.visuals.shaders import FLAT_TO
from tests.studio import BLACK, Studio, framed, ground_of, plate, project, shade

GREEN = (0.0, 1.0, 0.0)
GROUND = ground_of("dark")
SIDE = 1000
RNG = np.random.default_rng(0)
VALUES = RNG.uniform(-1.0, 1.0, SIDE * SIDE)
SIZES = 10.0 ** RNG.uniform(-5.0, 0.0, SIDE * SIDE)


@pytest.fixture(scope="module")
def million(studio: Studio):
    """A plate of a million cubes, all different."""
    return studio.cubes([plate(SIDE, SIDE)], VALUES, SIZES)


def inside(see, each: Plate, margin: float = 1.5) -> np.ndarray:
    """Which pixels look at a plate, so many pixels from its edge at least."""
    columns, rows = np.array([0, 1, 1, 0]) * each.columns, np.array([0, 0, 1, 1]) * each.rows
    outline = see(each.point(columns, rows)).xy
    y, x = np.mgrid[0 : see.height, 0 : see.width] + 0.5
    found = np.ones(y.shape, bool)
    after = np.roll(outline, -1, axis=0)
    turn = np.sign(np.sum(outline[:, 0] * after[:, 1] - after[:, 0] * outline[:, 1]))
    for a, b in zip(outline, after, strict=True):
        along = turn * (b - a) / np.linalg.norm(b - a)
        found &= along[0] * (y - a[1]) - along[1] * (x - a[0]) > margin
    return found


VIEWS = [
    *((azimuth, elevation) for azimuth in (0, 80, 89) for elevation in (0, 80, 85, 89)),
    *((30, 84), (84, 30), (60, 60)),
]


def test_independent_numbers_have_one_strength_at_all_levels_if_cubes_fill_their_cells() -> None:
    numbers = np.random.default_rng(0).normal(0.0, 0.3, (256, 256))
    for level in range(1, 5):
        side = 2**level
        means = numbers.reshape(256 // side, side, -1, side).mean((1, 3))
        spread = float(np.std(means * strength_of(level, 0.3, even=True)))
        assert spread == pytest.approx(0.3, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("side", [60, 1000])
@pytest.mark.parametrize("fov", [0.0, 28.0, 60.0])
def test_a_plate_has_no_holes_from_wherever_it_is_seen(
    studio: Studio, side: int, fov: float
) -> None:
    each = plate(side, side)
    looked_at = 0
    for size in (1.0, 0.0):
        cubes = studio.cubes([each], np.full(each.size, 0.8), np.full(each.size, size))
        for number, (azimuth, elevation) in enumerate(VIEWS):
            whole = framed([each], azimuth=azimuth, elevation=elevation, fov=fov).camera
            height = whole.height * (1.0, 0.3, 3.0, 0.05)[number % 4]
            see = project(Camera(whole.target, azimuth, elevation, height, fov), [each], 100, 75)
            if nearness([each], see.matrix.T, (100, 75))[0].fine < FLAT_TO:
                continue  # one sees through between near cubes
            pixels, own = studio.look(cubes, see, GREEN), inside(see, each)
            looked_at += own.sum()
            assert not ((pixels == [0, 255, 0]).all(axis=2) & own).any()
            # Nor is there a seam of the ground's color around it, over what may be behind.
            assert (np.abs(pixels - GROUND).max(axis=2) > 3).all()
    assert looked_at > 5_000


def moved(studio: Studio, cubes, camera: Camera) -> float:
    """How much a pixel changes on average while the plate moves by parts of a pixel."""
    frames = []
    for part in range(3):
        x, y, z = camera.target
        step = camera.height / 120.0 * part
        here = replace(camera, target=(x + 0.13 * step, y + 0.21 * step, z))
        frames.append(studio.look(cubes, project(here, cubes.plates, 160, 120)))
    shown = (np.array(frames) != BLACK).any(axis=3).all(axis=0)
    assert shown.sum() > 300
    return float(np.abs(np.diff(frames, axis=0)).mean(axis=(0, 3))[shown].mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("azimuth", "elevation", "fov"), [(0, 0, 0), (-40, 30, 28), (0, 75, 0), (60, 20, 40)]
)
def test_a_distant_plate_does_not_shimmer(
    studio: Studio, million, azimuth: float, elevation: float, fov: float
) -> None:
    for height, most in ((150.0, 0.4), (300.0, 0.18), (1200.0, 0.13)):
        camera = Camera((500.0, -500.0, 0.0), azimuth, elevation, height, fov)
        calm = moved(studio, million, camera)
        with_means = million._table[:, 2, 2].copy()
        million._table[:, 2, 2] = 0.0  # cube by cube, however small they are
        million._changed = True
        wild = moved(studio, million, camera)
        million._table[:, 2, 2] = with_means
        million._changed = True
        assert wild > 5.0 and calm < most * wild


def expected(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The mean color of a plate that is seen from the front, 0 to 255."""
    cover = (2.0 * HALF * np.clip(np.cbrt(np.abs(sizes)), LEAST_ON_WALL, 1.0)) ** 2
    return (cover[:, None] * shade("dark", values) + (1.0 - cover[:, None]) * GROUND).mean(axis=0)


@pytest.mark.some("300.0-holey", "1800.0-warm")
@pytest.mark.parametrize("kind", ["none", "holey", "warm", "cold"])
@pytest.mark.parametrize("height", [300.0, 1800.0])
def test_from_far_one_sees_what_is_alike(studio: Studio, kind: str, height: float) -> None:
    values, color = {
        "none": (np.full(SIDE * SIDE, np.nan), [255, 0, 255]),
        "holey": (np.where(np.arange(SIDE * SIDE) % 3 == 0, np.nan, VALUES), [255, 0, 255]),
        "warm": (np.full(SIDE * SIDE, 1.0), shade("dark", 1.0)),
        "cold": (np.full(SIDE * SIDE, -1.0), shade("dark", -1.0)),
    }[kind]
    each = plate(SIDE, SIDE)
    see = project(Camera((500.0, -500.0, 0.0), height=height, fov=0.0), [each])
    own = studio.look(studio.cubes([each], values, SIZES), see)[inside(see, each, 6.0)].mean(axis=0)
    cover = ((2.0 * HALF * np.maximum(np.cbrt(SIZES), LEAST_ON_WALL)) ** 2).mean()
    np.testing.assert_allclose(own, cover * np.array(color) + (1.0 - cover) * GROUND, atol=3)


def test_from_far_independent_numbers_keep_their_contrast(studio: Studio) -> None:
    # A plain mean would be the same grey everywhere.
    values, each = 0.4 * VALUES, plate(SIDE, SIDE)
    cubes = studio.cubes([each], values)
    spread = []
    for height in (400.0, 800.0, 1600.0):
        see = project(Camera((500.0, -500.0, 0.0), height=height, fov=0.0), [each])
        spread.append(studio.look(cubes, see)[inside(see, each, 6.0)].std(axis=0).max())
    assert min(spread) > 8.0 and max(spread) < 1.5 * min(spread)


def test_from_far_a_row_of_one_sign_stands_out(studio: Studio) -> None:
    values, each = 0.4 * VALUES.reshape(SIDE, SIDE), plate(SIDE, SIDE)
    values[400:420] += 0.1  # a fourth of what they differ by
    see = project(Camera((500.0, -500.0, 0.0), height=2400.0, fov=0.0), [each])
    pixels = studio.look(studio.cubes([each], values.ravel()), see)
    x, y = see(each.point(500.0, 410.0)).xy[0].astype(int)
    line, other = pixels[y, x - 30 : x + 30], pixels[y - 20, x - 30 : x + 30]
    assert (line[:, 0] - line[:, 2]).mean() > 60 + (other[:, 0] - other[:, 2]).mean()


@pytest.mark.parametrize("side", [30, 150])
def test_cubes_of_about_a_pixel_have_smooth_edges(studio: Studio, side: int) -> None:
    # Else stripes would run over the plate wherever its rows and those of the pixels beat together.
    each = plate(side, side)
    sizes = 10.0 ** np.random.default_rng(side).uniform(-4.0, 0.0, each.size)
    values = np.full(each.size, 0.8)
    cubes = studio.cubes([each], values, sizes)
    for cells in (0.51, 0.57, 0.66, 0.73, 0.8, 0.9, 0.97):
        middle = side / 2.0 + 0.3
        see = project(Camera((middle, -middle, 0.0), height=240.0 * cells, fov=0.0), [each])
        own = studio.look(cubes, see, tuple(GROUND / 255.0))[inside(see, each, 3.0)]
        np.testing.assert_allclose(own.mean(axis=0), expected(values, sizes), atol=5)


def test_there_is_no_jump_in_brightness_on_the_way_from_cubes_to_means(studio: Studio) -> None:
    each = plate(400, 400)
    cubes = studio.cubes([each], VALUES[: each.size], SIZES[: each.size])
    found = []
    for height in np.geomspace(41.0, 500.0, 28):  # of no whole number of pixels a cube
        see = project(Camera((203.0, -191.0, 0.0), -11.0, 7.0, height, 0.0), [each])
        pixels = studio.look(cubes, see, tuple(GROUND / 255.0))
        found.append(pixels[inside(see, each, 8.0)].mean(axis=0))
    found = np.array(found)
    assert np.abs(np.diff(found, axis=0)).max() < 4.0
    assert np.ptp(found, axis=0).max() < 13.0


@pytest.mark.some(1)
@pytest.mark.parametrize("elevation", [60.0, 75.0, 82.0])
def test_means_are_sent_as_fine_as_they_are_looked_at(studio: Studio, elevation: float) -> None:
    # At a flat angle a pixel is long and narrow, and the finer level is needed.
    each = plate(2000, 2000)
    values = np.full(each.size, 0.9)
    for height in (3_000.0, 6_000.0, 12_000.0):
        see = project(Camera((1000.0, -1000.0, 0.0), 0.0, elevation, height, 0.0), [each])
        own = studio.look(studio.cubes([each], values), see)[inside(see, each, 2.0)]
        assert len(own) > 30
        assert (own[:, 0] > own[:, 1] + 20).all() and (own[:, 1] > own[:, 2] + 20).all()


@pytest.mark.parametrize("theme", THEMES)
def test_means_follow_numbers_scales_and_theme(studio: Studio, theme: str) -> None:
    each = plate(300, 300)
    see = project(Camera((150.0, -150.0, 0.0), height=500.0, fov=0.0), [each])
    cubes = studio.cubes([each], np.full(each.size, 1.0), scale=1.0)
    look = THEMES[theme]
    ground = ground_of(theme)
    cover = (2.0 * HALF) ** 2

    def middle() -> np.ndarray:
        return studio.look(cubes, see)[110:130, 150:170].mean(axis=(0, 1))

    middle()
    cubes.set_map(look.map, look.ground)
    np.testing.assert_allclose(middle(), cover * shade(theme, 1.0) + (1.0 - cover) * ground, atol=2)
    for value, scale in ((0.3, 1.0), (0.3, 0.9), (-0.3, 0.9)):
        cubes.numbers(np.full(each.size, value), np.ones(each.size))
        cubes.scales(scale, 1.0)
        level = np.log2(500.0 / 240.0) + 0.5  # as in the shader: between two levels
        parts = [shade(theme, value * strength_of(k, abs(value) / scale), scale) for k in (1, 2)]
        seen = parts[0] + (level - 1.0) * (parts[1] - parts[0])
        np.testing.assert_allclose(middle(), cover * seen + (1.0 - cover) * ground, atol=2)


# The table of means.


@pytest.mark.some(2)
@pytest.mark.parametrize(("rows", "columns"), [(48, 1), (50, 70), (3, 129), (333, 64), (1, 1000)])
@pytest.mark.parametrize("alone", [0, 100, mip_levels.ALONE])  # on some threads, then on one
def test_each_level_has_the_means_of_its_blocks(
    monkeypatch: pytest.MonkeyPatch, rows: int, columns: int, alone: int
) -> None:
    monkeypatch.setattr(mip_levels, "ALONE", alone)
    each = plate(rows, columns, 5, columns + 3)
    count = each.indices.stop + 4
    values = np.random.default_rng(rows).uniform(-1.0, 1.0, count).astype(np.float32)
    high, wide = room_of(each)
    table = np.zeros((high, 2 * wide, 4), np.uint8)
    palette = np.linspace(0.0, 1.0, 514, dtype=np.float32)[:, np.newaxis].repeat(3, axis=1)
    fill(table, each, values, np.ones(count, np.float32), (1.0, 1.0), palette, 1)
    grid = np.resize(values[5 : 5 + rows * (columns + 3)], (rows, columns + 3))[:, :columns]
    spread = np.sqrt((values[each.indices].astype(np.float64) ** 2).mean())
    for level in range(1, levels_of(each) + 1):
        left, side = place_of(level, wide), 2**level
        part = table[: high >> (level - 1), left : left + (wide >> (level - 1))]
        for i in range(rows // side):
            for j in range(columns // side):
                block = grid[i * side : i * side + side, j * side : j * side + side]
                number = block.mean() * strength_of(level, spread)
                number = float(np.clip(number, -1.0, 1.0)) * 0.5 + 0.5
                assert part[i, j, :3] == pytest.approx(number * 255.0, abs=1.6)
                assert part[i, j, 3] == pytest.approx((2.0 * HALF) ** 2 * 255.0, abs=1.0)


@pytest.mark.slow
def test_all_kernels_of_means_are_compiled_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    from scalarviz.faces.controller.precompile import compile_means
    from scalarviz.scene.visuals import mip_means

    used = set()
    for name in ("block_means", "tile_means", "write_bytes", "halved", "write_levels"):
        kernel = getattr(mip_means, name)
        monkeypatch.setattr(
            mip_means, name, lambda *a, name=name, kernel=kernel: [used.add(name), kernel(*a)][1]
        )
    compile_means()
    assert used == {"block_means", "tile_means", "write_bytes", "halved", "write_levels"}


# How near plates are.


def cells_a_pixel(see, each: Plate) -> tuple[float, float]:
    """At least and at most, along the longer side of a pixel: asked pixel by pixel."""
    y, x = np.mgrid[0 : see.height : 4, 0 : see.width : 4] + 0.5

    def place(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Where on the plate a pixel's ray goes through its middle; ahead of the eye only."""
        start, ray = (np.stack(ends, axis=-1) for ends in see.ray(x, y))
        start = start - each.origin
        part = -(start @ each.toward) / (ray @ each.toward)
        point = start + part[..., None] * ray
        found = np.stack([point @ each.along, point @ each.across], axis=-1)
        found[part < 0.0] = np.nan
        return found

    here = place(x, y)
    by_x, by_y = place(x + 0.5, y) - here, place(x, y + 0.5) - here
    longer = 2.0 * np.maximum(*(np.linalg.norm(by, axis=-1) for by in (by_x, by_y)))
    on = ((here >= 0.0) & (here <= [each.columns, each.rows])).all(axis=-1) & np.isfinite(longer)
    return (longer[on].min(), longer[on].max()) if on.any() else (np.inf, 0.0)


def test_how_near_a_plate_is_agrees_with_its_pixels() -> None:
    known = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        each = plate(*rng.integers(50, 900, 2).tolist())
        target = each.point(rng.uniform(0, each.columns), rng.uniform(0, each.rows)).tolist()
        angles = rng.uniform(-80.0, 80.0, 2).tolist()
        fov = (0.0, 28.0, 70.0)[seed % 3]
        camera = Camera(tuple(target), *angles, float(10.0 ** rng.uniform(-0.5, 3.5)), fov)
        see = project(camera, [each])
        (found,) = nearness([each], see.matrix.T, (320, 240))
        least, most = cells_a_pixel(see, each)
        known += most > 0.0 and found is not ANYHOW
        # Near the horizon cells get smaller within a pixel; what is far is far enough.
        if most:
            assert found.least <= least and min(most, 4.0) <= found.most
            assert found.fine <= found.least and (fov or found.most < 1.3 * most)
    assert known > 80


def test_a_plate_beside_the_picture_is_infinitely_far() -> None:
    here, beside = plate(50, 50), plate(50, 50, origin=(200, 0, 0))
    see = project(Camera((25.0, -25.0, 0.0), height=50.0), [here, beside])
    first, second = nearness([here, beside], see.matrix.T, (320, 240))
    assert second == Near() and first.least < 1.0 < 240.0 * first.most / 50.0
    behind = project(Camera((25.0, -25.0, -90.0), height=10.0), [here])
    assert nearness([here], behind.matrix.T, (320, 240)) == [Near()]
    assert nearness([], see.matrix.T, (320, 240)) == []


VERTEX = """
attribute vec2 a_corner;
void main() { gl_Position = vec4(a_corner, 0.0, 1.0); }
"""
FRAGMENT = """
void main() {
    vec2 place = floor(gl_FragCoord.xy);
    float light = mod(place.x + 2.0 * place.y, 16.0) / 16.0;
    gl_FragColor = vec4(light, mod(place.x, 2.0), mod(place.y, 4.0) / 4.0, 1.0);
}
"""


def pattern(sizes: list[tuple[int, int, float]]) -> Callable[[int, int, float], None]:
    """Draws another colour in each pixel."""
    corners = np.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], np.float32)

    def draw(width: int, height: int, ratio: float) -> None:
        sizes.append((width, height, ratio))
        gloo.set_viewport(0, 0, width, height)
        gloo.set_state(depth_test=False, blend=False, cull_face=False)
        program = gloo.Program(VERTEX, FRAGMENT)
        program["a_corner"] = corners
        program.draw("triangle_strip")

    return draw


def test_each_pixel_is_the_mean_of_four() -> None:
    sizes: list[tuple[int, int, float]] = []
    draw, made = pattern(sizes), Smooth()
    with Canvas(37, 21) as canvas, Canvas(74, 42) as larger:
        whole = larger.frame(draw).astype(float)
        for _ in range(2):  # the second time with the same framebuffer
            shown = canvas.frame(lambda *size: made.draw(draw, *size))
        with drawing():
            made.release()
    means = whole.reshape(21, 2, 37, 2, 3).mean(axis=(1, 3))
    assert np.abs(shown - means).max() <= 1.0 and np.ptp(means) > 100.0
    assert sizes[1:] == [(74, 42, 2.0)] * 2


def test_a_picture_larger_than_the_driver_can_draw_is_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[tuple[int, int, float]] = []
    monkeypatch.setattr(opengl, "largest_texture", lambda: 73)
    with Canvas(37, 21) as canvas:
        canvas.frame(lambda *size: Smooth().draw(pattern(sizes), *size))
    assert sizes == [(37, 21, 1.0)]


@pytest.mark.parametrize(
    ("maker", "quick"),
    [
        ("llvmpipe (LLVM 15.0.6, 256 bits)", False),
        ("ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)))", False),
        ("Microsoft Basic Render Driver", False),
        ("NVIDIA H100/PCIe/SSE2", True),
        ("Mesa Intel(R) UHD Graphics 620 (KBL GT2)", True),
    ],
)
def test_a_graphics_card_is_told_from_software(
    maker: str, quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gloo.gl, "glGetParameter", lambda name: maker)
    assert Smooth.is_quick() is quick
