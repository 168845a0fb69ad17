"""Plates that are made of small plates: each cube in its place, and nothing between the plates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scalarviz.core.program import NONE
from scalarviz.scene.layout.plates import DOWN, NEAR, RIGHT, Plate, Tiles
from scalarviz.scene.visuals.mip_levels import fill, levels_of, room_of, strength_of
from scalarviz.scene.visuals.picking import pick
from scalarviz.scene.visuals.shaders import HALF, LEAST
from tests.studio import WHITE, Studio, at, framed, ids_of, shade


@st.composite
def kernel_plates(draw: st.DrawFn) -> tuple[Plate, int]:
    """A plate of kernels times channels, turned or not, and how many weights it has."""
    kernels, channels = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    high, wide = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    first, turned = draw(st.integers(0, 20)), draw(st.booleans())
    return plate_of(kernels, channels, high, wide, first, turned), kernels * channels * high * wide


def plate_of(
    kernels: int, channels: int, high: int, wide: int, first: int = 0, turned: bool = False
) -> Plate:
    pitch, each = max(high, wide) + 1, high * wide
    counts, stride = (kernels, channels), (channels * each, each)
    if turned:
        counts, stride = counts[::-1], stride[::-1]
    rows, columns = ((n - 1) * pitch + s for n, s in zip(counts, (high, wide), strict=True))
    tiles = Tiles((high, wide), (pitch, pitch), stride)
    about = np.zeros(3), RIGHT, DOWN, NEAR, "weight", 0, 0, tiles
    return Plate(first, rows, columns, wide, *about)


@given(made=kernel_plates())
def test_each_weight_has_one_cell_and_cells_between_small_plates_are_empty(
    made: tuple[Plate, int],
) -> None:
    plate, count = made
    rows = [plate.index_of(*cell) for cell in np.ndindex(plate.rows, plate.columns)]
    shown = [row for row in rows if row != NONE]
    assert sorted(shown) == list(range(plate.first, plate.first + count))
    assert plate.size == count and plate.indices == slice(plate.first, plate.first + count)
    for row, column, index in zip(*plate.cells(), strict=True):
        assert plate.index_of(int(row), int(column)) == index
        assert plate.place_of(int(index)) == (row, column)
    assert plate.place_of(plate.first - 1) is None and plate.place_of(plate.first + count) is None


@pytest.mark.parametrize("turned", [False, True])
def test_kernels_stand_upright_and_channels_beside_each_other(turned: bool) -> None:
    plate = plate_of(3, 2, 3, 2, turned=turned)
    for kernel, channel, line, column in np.ndindex(3, 2, 3, 2):
        row, at_column = plate.place_of(((kernel * 2 + channel) * 3 + line) * 2 + column)
        down, right = (channel, kernel) if turned else (kernel, channel)
        assert (row, at_column) == (4 * down + line, 4 * right + column)


@pytest.mark.parametrize("floats", [True, False])
@pytest.mark.parametrize("turned", [False, True])
def test_each_cube_has_the_color_of_its_number_and_the_ground_is_seen_between(
    studio: Studio, turned: bool, floats: bool
) -> None:
    plate = plate_of(4, 3, 3, 3, turned=turned)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, 108)
    cubes = studio.cubes([plate], values, np.ones(108), floats=floats)
    see = framed([plate], fov=0.0)
    pixels = studio.look(cubes, see)
    for row, column, index in zip(*plate.cells(), strict=True):
        seen = at(pixels, see(plate.point(column + 0.5, row + 0.5)).xy[0])
        np.testing.assert_allclose(seen, shade("dark", values[index]), atol=2)
    for row, column in np.ndindex(plate.rows, plate.columns):
        if plate.index_of(row, column) == NONE:
            assert not at(pixels, see(plate.point(column + 0.5, row + 0.5)).xy[0]).any()


@pytest.mark.parametrize("azimuth", [0.0, 50.0])
def test_what_is_picked_is_what_is_seen(studio: Studio, azimuth: float) -> None:
    plate = plate_of(3, 3, 2, 3)
    see = framed([plate], azimuth=azimuth, elevation=20.0)
    cubes = studio.cubes([plate], np.zeros(54), np.ones(54))
    cubes.ids = True
    seen = ids_of(studio.look(cubes, see, WHITE))
    rng, met = np.random.default_rng(1), 0
    for _ in range(200):
        x, y = int(rng.integers(320)), int(rng.integers(240))
        around = seen[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
        if len(np.unique(around)) == 1:  # not at an edge
            found = pick([plate], see.matrix, *see.across(x + 0.5, y + 0.5), lambda *_: HALF)
            assert found == (NONE if seen[y, x] == 0xFFFFFF else seen[y, x])
            met += found != NONE
    assert met > 20


@pytest.mark.slow
def test_means_leave_out_what_is_empty() -> None:
    plate = plate_of(20, 13, 3, 3, first=5)
    count = plate.size + 5
    values = np.random.default_rng(0).uniform(-1.0, 1.0, count).astype(np.float32)
    sizes = np.zeros(count, np.float32)  # the smallest cubes
    palette = np.linspace(0.0, 1.0, 513, dtype=np.float32)[:, np.newaxis].repeat(3, 1)
    rows, columns = room_of(plate)
    table = np.zeros((rows, 2 * columns, 4), np.uint8)
    assert levels_of(plate) > 2
    fill(table, plate, values, sizes, (0.25, 1.0), palette, 2)
    spread = 0.25 * np.sqrt((values[plate.indices].astype(np.float64) ** 2).mean())
    cover = (2.0 * HALF * LEAST) ** 2
    for i, j in np.ndindex(plate.rows // 4, plate.columns // 4):
        cells = [plate.index_of(4 * i + y, 4 * j + x) for y, x in np.ndindex(4, 4)]
        own = values[[row for row in cells if row != NONE]]
        color, share = table[i, columns + j, 0], table[i, columns + j, 3]
        assert len(own) == 9 and share == pytest.approx(255 * cover * 9 / 16, abs=1.0)
        number = np.clip(own.mean() * 0.25 * strength_of(2, spread), -1.0, 1.0)
        assert color == pytest.approx(255 * (0.5 + 0.5 * number), abs=2.0)
