"""Pictures as textures."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.data import texture
from scalarviz.data.texture import landscape
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError
from tests.wording import refused

# A picture of 2 rows and 3 columns, every channel of every pixel another number.
SMALL = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 14


def saved(path: Path, array: np.ndarray, mode: str | None = None, **settings: Any) -> Path:
    """The path of a picture, written by Pillow."""
    images = pytest.importorskip("PIL.Image", reason="Pillow reads pictures; it is an extra")
    image = images.fromarray(array)
    (image.convert(mode) if mode else image).save(path, **settings)
    return path


def test_the_first_row_of_a_picture_is_at_v_0() -> None:
    batches = data.Texture(SMALL).batches(200, seed=1)
    points, colors = batches.at(0)
    column, row = (points * [3, 2]).astype(int).T
    assert (colors == SMALL[row, column] / 255.0).all()
    assert {*zip(row, column, strict=True)} == {(i, j) for i in range(2) for j in range(3)}


def test_flip_swaps_u_and_v() -> None:
    _, colors = data.Texture(SMALL[:, :2], transform="flip").pixels()
    assert (colors.reshape(2, 2, 3) == SMALL[:, :2].transpose(1, 0, 2) / 255.0).all()


def test_batches_are_transformed_and_the_seed_decides_where_they_look() -> None:
    flipped = data.Texture(SMALL, transform="flip")
    points, colors = flipped.batches(50, seed=1).at(2)
    row, column = (points * [2, 3]).astype(int).T
    assert (colors == SMALL[row, column] / 255.0).all()
    assert (flipped.batches(50, seed=2).at(2)[0] != points).all()


def test_an_unknown_transform_lists_the_transforms() -> None:
    with refused(UnknownNameError, "'mirror'"):
        data.Texture(transform="mirror")
    with refused(UnknownNameError, "'sRGB'"):
        data.Texture(color_space="sRGB")


def test_psnr_is_in_decibels() -> None:
    target = np.linspace(0.1, 0.8, 30).reshape(10, 3)
    assert data.psnr(target + 0.1, target) == pytest.approx(20.0)
    assert data.psnr(target, target + 0.01) == pytest.approx(40.0)
    assert data.psnr(target, target) == np.inf
    with refused(ShapeError, "(10, 3) and (3,)"):
        data.psnr(target, target[0])


def test_linear_numbers_are_amounts_of_light() -> None:
    grey = np.array([[0, 10, 128, 255]], np.uint8)
    linear = data.Texture(grey, color_space="linear").picture[0, :, 0]
    assert linear == pytest.approx([0.0, 0.003035, 0.215861, 1.0], abs=1e-6)
    floats = np.array([[0.25, 0.5]])
    assert data.Texture(floats, color_space="linear").picture[0, :, 0].tolist() == [0.25, 0.5]


def test_a_reduced_picture_keeps_its_shape_and_a_small_one_its_size() -> None:
    assert data.Texture(np.zeros((30, 60)), size=20).picture.shape == (10, 20, 3)
    assert data.Texture(np.zeros((300, 1)), size=2).picture.shape == (2, 1, 3)
    assert data.Texture(SMALL, size=256).picture.shape == (2, 3, 3)
    with refused(InputError, "0"):
        data.Texture(SMALL, size=0)


def test_the_built_in_picture_has_many_colours_edges_and_detail() -> None:
    picture = landscape()
    assert picture.shape == (256, 256, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 2000
    assert picture.min() < 20
    assert picture.max() > 240
    steps = abs(np.diff(picture.astype(int), axis=1)).max(axis=2)
    assert 0.01 < (steps > 60).mean() < 0.2
    assert (data.Texture().picture == picture / 255.0).all()


@pytest.mark.parametrize(
    ("picture", "error", "value"),
    [
        (np.zeros((2, 2, 4)), ShapeError, "(2, 2, 4)"),
        (np.zeros(5), ShapeError, "(5,)"),
        (np.zeros((0, 5)), ShapeError, "(0, 5, 3)"),
        (np.full((2, 2), np.nan), NotFiniteError, "NaN or infinity"),
        (np.full((2, 2), 255.0), InputError, "255 to 255"),
        (np.full((2, 2), -0.1), InputError, "-0.1 to -0.1"),
        (np.full((2, 2), "a"), InputError, "takes numbers"),
        (object(), InputError, "takes numbers"),
    ],
)
def test_an_array_that_is_no_picture_is_refused(
    picture: Any, error: type[Exception], value: str
) -> None:
    with refused(error, value):
        data.Texture(picture)


def test_a_png_is_read_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.png", SMALL)
    for picture in (path, str(path)):
        assert (data.Texture(picture).picture == SMALL / 255.0).all()


def test_a_photo_is_turned_upright(tmp_path: Path) -> None:
    images = pytest.importorskip("PIL.Image", reason="Pillow reads pictures; it is an extra")
    turned = images.Exif()
    turned[0x0112] = 6  # the camera lay on its side: turn it to the right
    picture = data.Texture(saved(tmp_path / "a.png", SMALL, exif=turned)).picture
    assert (picture == np.rot90(SMALL, -1) / 255.0).all()


def test_sixteen_bits_keep_their_brightness(tmp_path: Path) -> None:
    deep = np.array([[0, 257, 65535]], np.uint16)
    picture = data.Texture(saved(tmp_path / "a.png", deep)).picture
    assert picture[0] == pytest.approx(np.array([[0.0] * 3, [1 / 255] * 3, [1.0] * 3]))


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    glass = np.array([[[255, 0, 0, 255], [9, 9, 9, 0]]], np.uint8)
    picture = data.Texture(saved(tmp_path / "a.png", glass)).picture
    assert picture.tolist() == [[[1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]]


def test_a_picture_is_weighed_as_the_numbers_that_it_becomes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = saved(tmp_path / "a.png", rng.integers(0, 256, (50, 30, 3), dtype=np.uint8))
    needed = 50 * 30 * 24
    with refused(InputError, f"limit={needed}"):
        data.Texture(path, limit=needed - 1)
    whole = data.Texture(path, limit=needed)
    small = data.Texture(path, limit=needed // 2, size=10)
    assert (small.picture == data.Texture(whole.picture, size=10).picture).all()
    with refused(InputError, "0"):
        data.Texture(path, limit=0)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "LA", "1"])
def test_a_picture_that_is_read_in_bands_is_that_of_the_whole(
    tmp_path: Path, mode: str, linear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    path = saved(tmp_path / "a.png", rng.integers(0, 256, (37, 23, 3), dtype=np.uint8), mode)
    options: Any = {"color_space": "linear" if linear else "srgb"}
    whole = [data.Texture(path, size=size, **options).picture for size in (None, 11)]
    monkeypatch.setattr(texture, "BAND", 60)
    bands = [data.Texture(path, size=size, **options).picture for size in (None, 11)]
    for a, b in zip(whole, bands, strict=True):
        assert (a == b).all()


def test_a_jpeg_that_is_drawn_over_and_over_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.jpg", SMALL, progressive=True)
    content = path.read_bytes()
    assert data.Texture(path).picture.shape == (2, 3, 3)
    last = content.rindex(b"\xff\xda")
    path.write_bytes(content[:last] + content[last:-2] * 100 + content[-2:])
    with refused(InputError, "a.jpg", varies=r"\d+ passes"):
        data.Texture(path)


@pytest.mark.parametrize("width", [9_000, 12_000, 30_000])
def test_a_decompression_bomb_is_one_sentence(tmp_path: Path, width: int) -> None:
    import struct
    import zlib

    path = saved(tmp_path / "a.png", SMALL)
    content = path.read_bytes()
    size = b"IHDR" + struct.pack(">II", width, width) + content[24:29]
    path.write_bytes(content[:12] + size + struct.pack(">I", zlib.crc32(size)) + content[33:])
    with refused(InputError, "a.png"):
        data.Texture(path)


@pytest.mark.parametrize("kind", ["png", "jpg"])
def test_a_damaged_picture_is_one_sentence_or_a_picture(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path / f"a.{kind}", SMALL)
    content = path.read_bytes()
    damaged = [content[:length] for length in range(0, len(content), 3)]
    for place in range(0, len(content), 2):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        damaged.append(bytes(flipped))
    for broken in damaged:
        path.write_bytes(broken)
        try:
            picture = data.Texture(path).picture
        except InputError as error:
            message = str(error)
        else:
            assert picture.ndim == 3
            message = ""
        assert "\n" not in message
    path.write_bytes(content[: len(content) // 2])
    with refused(InputError, path.name):
        data.Texture(path)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "EPS"])
def test_other_formats_are_refused(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path / "a.png", SMALL, format=kind)
    with refused(InputError, "a.png"):
        data.Texture(path)


def test_without_pillow_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"a picture")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with refused(InputError, "Pillow"):
        data.Texture(path)
    assert data.Texture().picture.shape == (256, 256, 3)
