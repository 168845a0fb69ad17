"""Data sets that come with the package.

Points of the plane, colours, digits, pictures as textures.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.data import texture
from scalarviz.data.digits import built_in
from scalarviz.data.plane import PlaneSet
from scalarviz.data.texture import landscape
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError
from tests.data.test_files import damaged
from tests.wording import refused

CLOUDS = [data.Circle, data.Gaussians, data.Spiral, data.Moons, data.Quadrants]
every_cloud = pytest.mark.parametrize("kind", CLOUDS)


def whole(kind: type[PlaneSet], **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """All points of a cloud and their classes."""
    inputs, targets = kind(share=1.0, **settings).training
    return inputs, targets[:, 0]


def test_xor_is_1_where_one_input_is() -> None:
    inputs, targets = data.Xor().training
    assert inputs.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert targets.tolist() == [[0], [1], [1], [0]]


def test_xnor_is_1_where_both_inputs_agree() -> None:
    assert data.Xnor().training[1].ravel().tolist() == [1, 0, 0, 1]


def test_the_third_input_of_xor_can_be_1() -> None:
    inputs, _ = data.Xor(bias=True).training
    assert inputs[:, 2].tolist() == [1, 1, 1, 1]
    assert data.Xor(bias=True).inputs == 3


def test_signed_targets_are_minus_1_and_1() -> None:
    assert data.Xor(signed=True).training[1].ravel().tolist() == [-1, 1, 1, -1]
    assert set(whole(data.Moons, signed=True)[1]) == {-1.0, 1.0}


def test_one_random_corner_a_step() -> None:
    batches = data.Xor(order="picked").batches(1, seed=3)
    corners = [batches.at(step)[0][0].tolist() for step in range(400)]
    for corner in ([0, 0], [0, 1], [1, 0], [1, 1]):
        assert 70 < corners.count(corner) < 130


@every_cloud
def test_half_of_the_points_belong_to_each_class(kind: type[PlaneSet]) -> None:
    inputs, targets = whole(kind, samples=200)
    assert inputs.shape == (200, 2)
    assert set(targets) == {0.0, 1.0}
    assert targets.mean() == 0.5


def test_each_arm_of_a_spiral_makes_one_and_three_quarter_turns_opposite_to_the_other() -> None:
    inputs, classes = whole(data.Spiral, samples=4000)
    radius = np.hypot(*inputs.T)
    angle = 2.0 * np.pi * (1.75 * radius + 0.5 * classes)
    np.testing.assert_allclose(inputs.T, radius * [np.cos(angle), np.sin(angle)], atol=1e-4)
    assert radius.min() < 0.01 and radius.max() > 0.99


@every_cloud
def test_the_square_worth_showing_holds_the_points(kind: type[PlaneSet]) -> None:
    low, high = kind(scale=5.0).bounds
    inputs, _ = whole(kind, scale=5.0)
    assert (low, high) == (-6.0, 6.0)
    assert low < inputs.min() < -2.0
    assert 2.0 < inputs.max() < high


@every_cloud
def test_noise_is_normal_and_moves_no_class(kind: type[PlaneSet]) -> None:
    clean, classes = whole(kind, samples=4000)
    noisy, same = whole(kind, samples=4000, noise=0.2)
    assert (classes == same).all()
    shift = noisy - clean
    assert abs(shift.mean()) < 0.01
    assert abs(np.corrcoef(shift.ravel(), clean.ravel())[0, 1]) < 0.05
    assert shift.std() == pytest.approx(0.2, abs=0.01)
    assert (abs(shift) < 0.2).mean() == pytest.approx(0.6827, abs=0.02)


@every_cloud
def test_coordinates_are_multiples_of_a_millionth_or_so(kind: type[PlaneSet]) -> None:
    inputs, _ = whole(kind, noise=0.1)
    assert (inputs * 2**20 % 1.0 == 0.0).all()


@every_cloud
def test_features_are_computed_of_the_coordinates(kind: type[PlaneSet]) -> None:
    plain = kind(scale=5.0, samples=40)
    made = kind(scale=5.0, samples=40, features="x, y,x2,y2,xy,sinx,siny")
    assert made.inputs == 7 and made.held_out is not None and plain.held_out is not None
    assert list(made.input_names) == ["x", "y", "x²", "y²", "xy", "sin x", "sin y"]
    for inputs, points in (
        (made.training[0], plain.training[0]),
        (made.held_out[0], plain.held_out[0]),
    ):
        x, y = points.T
        wanted = np.stack([x, y, x * x, y * y, x * y, np.sin(x), np.sin(y)], axis=1)
        np.testing.assert_allclose(inputs, wanted, rtol=0.0, atol=2.0**-20)
        np.testing.assert_array_equal(made.inputs_of(points), inputs)
    np.testing.assert_array_equal(made.training[1], plain.training[1])
    np.testing.assert_array_equal(made.points, plain.training[0])
    np.testing.assert_array_equal(made.held_out_points, plain.held_out[0])


def test_a_data_set_of_features_counts_their_bytes() -> None:
    settings = {"samples": 1000, "features": ["x", "x2", "xy"]}
    assert data.Circle.cost(settings) == data.Circle.cost({"samples": 1000}) + 3 * 8000


RED, GREEN, BLUE = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
WHITE, DARK = [1.0, 1.0, 1.0], [0.2, 0.4, 0.6]


def answer(known: data.Rgb, color: list[float]) -> Any:
    """What a colour of the table becomes."""
    inputs, targets = known.training
    row = int(abs(inputs - color).sum(axis=1).argmin())
    assert inputs[row] == pytest.approx(color)
    return targets[row].tolist()


@pytest.mark.parametrize(
    ("name", "color", "becomes"),
    [
        ("copy", DARK, DARK),
        ("invert", DARK, [0.8, 0.6, 0.4]),
        ("grey", RED, [0.299] * 3),
        ("grey", GREEN, [0.587] * 3),
        ("grey", WHITE, WHITE),
        ("sepia", DARK, [0.4996, 0.4450, 0.3466]),
        ("sepia", WHITE, [1.0, 1.0, 0.937]),
        ("swap", DARK, [0.6, 0.2, 0.4]),
        ("hue", WHITE, WHITE),
    ],
)
def test_a_map_turns_colours_into_others(
    name: str, color: list[float], becomes: list[float]
) -> None:
    assert answer(data.Rgb(name), color) == pytest.approx(becomes)


@pytest.mark.parametrize("name", data.MAPS)
def test_a_map_stays_inside_the_cube_of_colours(name: str) -> None:
    _, targets = data.Rgb(name, levels=5).training
    assert targets.min() >= 0.0
    assert targets.max() <= 1.0


def test_the_table_can_be_random_colours() -> None:
    inputs, targets = data.Rgb("invert", samples=2000).training
    assert inputs.mean(axis=0) == pytest.approx([0.5] * 3, abs=0.03)
    assert abs(np.corrcoef(inputs.T)[~np.eye(3, dtype=bool)]).max() < 0.08
    assert (targets == 1.0 - inputs).all()
    assert (inputs != data.Rgb(samples=2000, seed=1).training[0]).all()


def test_a_named_map_is_kept_by_its_name() -> None:
    settings = {"map": "grey", "levels": 16, "angle": 90.0, "seed": 0, "order": "shuffled"}
    assert data.Rgb("grey").settings() == settings


def test_any_function_is_a_map() -> None:
    def darken(rgb: np.ndarray) -> np.ndarray:
        rgb *= 0.5  # a careless function, which spoils only a copy
        return rgb

    known = data.Rgb(darken, levels=6)
    assert answer(known, WHITE) == [0.5, 0.5, 0.5]
    assert known.settings()["map"] == "darken"
    assert (known.palette[1] == data.PALETTE / 2).all()
    assert known.held_out is not None
    assert (known.held_out[1] == known.held_out[0] / 2).all()


def test_a_curve_for_each_channel_is_a_map() -> None:
    known = data.Rgb(np.array([[0.0, 1.0, 0.0], [1.0, 0.5, 0.0], [0.0, 0.0, 1.0]]), levels=5)
    assert answer(known, [0.25, 0.25, 0.25]) == pytest.approx([0.5, 0.75, 0.0])
    assert answer(known, WHITE) == [0.0, 0.0, 1.0]


PIXELS = np.random.default_rng(0).integers(0, 256, (20, 3, 2))
NAMED = np.arange(20) % 10


@pytest.fixture
def learn() -> Any:
    return pytest.importorskip("sklearn.datasets", reason="the digits are inside scikit-learn")


def rows(table: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(table)}


def test_their_file_has_every_number_of_scikit_learn(learn: Any) -> None:
    known, (pictures, labels) = learn.load_digits(), built_in()
    assert pictures.dtype == labels.dtype == np.uint8
    np.testing.assert_array_equal(pictures, known.images)
    np.testing.assert_array_equal(labels, known.target)


def test_the_digits_are_those_of_scikit_learn(learn: Any) -> None:
    known, digits = learn.load_digits(), data.Digits()
    assert digits.shape == (1, 8, 8) and (digits.inputs, digits.outputs) == (64, 10)
    assert digits.held_out is not None
    assert (digits.samples, len(digits.held_out[0])) == (1438, 359)
    inputs, targets = (
        np.concatenate(parts) for parts in zip(digits.training, digits.held_out, strict=True)
    )
    assert inputs.dtype == targets.dtype == np.float32
    assert (targets.sum(axis=1) == 1.0).all() and set(np.unique(targets)) == {0.0, 1.0}
    found = {
        (row.tobytes(), label) for row, label in zip(inputs, targets.argmax(axis=1), strict=True)
    }
    wanted = {
        (np.float32(row / 16.0).tobytes(), label)
        for row, label in zip(known.data, known.target, strict=True)
    }
    assert found == wanted


def test_which_are_held_out_depends_on_the_seed_alone(learn: Any) -> None:
    whole, again, other = data.Digits(), data.Digits(), data.Digits(seed=1)
    assert whole.held_out is not None and again.held_out is not None and other.held_out is not None
    assert whole.held_out[0].tobytes() == again.held_out[0].tobytes()
    assert rows(whole.held_out[0]) != rows(other.held_out[0])
    assert not rows(whole.training[0]) & rows(whole.held_out[0])
    few = data.Digits(digits=range(8))
    assert few.held_out is not None
    assert rows(few.held_out[0]) < rows(whole.held_out[0])
    assert rows(few.training[0]) < rows(whole.training[0])


@pytest.mark.parametrize("chosen", ["89", [9, 8], {8, 9}, range(8, 10), np.array([8, 9])])
def test_only_some_digits_can_be_chosen_and_targets_stay_ten(learn: Any, chosen: Any) -> None:
    digits = data.Digits(digits=chosen)
    assert digits.held_out is not None
    for _, targets in (digits.training, digits.held_out):
        assert targets.shape[1] == 10
        assert set(targets.argmax(axis=1)) == {8, 9}
    assert repr(digits) == "Digits(digits='89'): 64 -> 10, 276 samples, 78 held out"


def test_digits_of_ones_own() -> None:
    digits = data.Digits(pictures=PIXELS, labels=NAMED, held_out=4)
    assert digits.shape == (1, 3, 2) and digits.held_out is not None
    np.testing.assert_array_equal(
        digits.training[0], np.float32(PIXELS[:16].reshape(16, 6)) / np.float32(255)
    )
    assert digits.held_out[1].argmax(axis=1).tolist() == [6, 7, 8, 9]
    assert repr(digits).startswith("Digits(held_out=4, pictures=20 x 3 x 2, labels=20): 6 -> 10")


# A picture of 2 rows and 3 columns, every channel of every pixel another number.
SMALL = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 14


def saved(path: Path, array: np.ndarray, mode: str | None = None, **settings: Any) -> Path:
    """The path of a picture, written by Pillow."""
    images = pytest.importorskip("PIL.Image", reason="Pillow reads pictures; it is an extra")
    image = images.fromarray(array)
    (image.convert(mode) if mode else image).save(path, **settings)
    return path


def test_the_first_row_of_a_picture_is_at_v_0() -> None:
    points, colors = data.Texture(SMALL).batches(200, seed=1).at(0)
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


def test_psnr_is_in_decibels() -> None:
    target = np.linspace(0.1, 0.8, 30).reshape(10, 3)
    assert data.psnr(target + 0.1, target) == pytest.approx(20.0)
    assert data.psnr(target, target + 0.01) == pytest.approx(40.0)
    assert data.psnr(target, target) == np.inf
    refused(ShapeError, "(10, 3) and (3,)").by(data.psnr, target, target[0])


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


def test_the_built_in_picture_has_many_colours_edges_and_detail() -> None:
    picture = landscape()
    assert picture.shape == (256, 256, 3)
    assert picture.dtype == np.uint8
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 2000
    assert picture.min() < 20
    assert picture.max() > 240
    assert 0.01 < (abs(np.diff(picture.astype(int), axis=1)).max(axis=2) > 60).mean() < 0.2
    assert (data.Texture().picture == picture / 255.0).all()


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


def test_a_picture_is_weighed_as_the_numbers_that_it_becomes(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    path = saved(tmp_path / "a.png", rng.integers(0, 256, (50, 30, 3), dtype=np.uint8))
    needed = 50 * 30 * 24
    refused(InputError, f"limit={needed}").by(data.Texture, path, limit=needed - 1)
    whole = data.Texture(path, limit=needed)
    small = data.Texture(path, limit=needed // 2, size=10)
    assert (small.picture == data.Texture(whole.picture, size=10).picture).all()
    refused(InputError, "0").by(data.Texture, path, limit=0)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "LA", "1"])
def test_a_picture_that_is_read_in_bands_is_that_of_the_whole(
    tmp_path: Path,
    mode: str,
    linear: bool,
    monkeypatch: pytest.MonkeyPatch,
    rng: np.random.Generator,
) -> None:
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
    refused(InputError, "a.jpg", varies=r"\d+ passes").by(data.Texture, path)


@pytest.mark.parametrize("width", [9_000, 12_000, 30_000])
def test_a_decompression_bomb_is_one_sentence(tmp_path: Path, width: int) -> None:
    import struct
    import zlib

    path = saved(tmp_path / "a.png", SMALL)
    content = path.read_bytes()
    size = b"IHDR" + struct.pack(">II", width, width) + content[24:29]
    path.write_bytes(content[:12] + size + struct.pack(">I", zlib.crc32(size)) + content[33:])
    refused(InputError, "a.png").by(data.Texture, path)


@pytest.mark.parametrize("kind", ["png", "jpg"])
def test_a_damaged_picture_is_one_sentence_or_a_picture(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path / f"a.{kind}", SMALL)
    content = path.read_bytes()
    for broken in damaged(content):
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
    refused(InputError, path.name).by(data.Texture, path)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "EPS"])
def test_other_formats_are_refused(tmp_path: Path, kind: str) -> None:
    path = saved(tmp_path / "a.png", SMALL, format=kind)
    refused(InputError, "a.png").by(data.Texture, path)


def test_without_pillow_the_error_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"a picture")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    refused(InputError, "Pillow").by(data.Texture, path)
    assert data.Texture().picture.shape == (256, 256, 3)


OWN_DIGITS = {"pictures": PIXELS, "labels": NAMED}


# One of the maps divides by zero on purpose, and numpy says so.
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
@pytest.mark.parametrize(
    ("kind", "settings", "error", "value"),
    [
        (data.Circle, {"noise": -0.1}, InputError, "-0.1"),
        (data.Circle, {"noise": 1e308}, InputError, "1e+308"),
        (data.Circle, {"scale": 2e6}, InputError, "2000000.0"),
        (data.Circle, {"samples": 0}, InputError, "not 0"),
        (data.Circle, {"samples": 10**9}, InputError, "1,000,000,000"),
        (data.Circle, {"scale": 0}, InputError, "scale"),
        (data.Circle, {"share": 2}, InputError, "not 2"),
        (data.Circle, {"signed": 1}, InputError, "not 1"),
        (data.Circle, {"seed": -1}, InputError, "-1"),
        (data.Circle, {"order": "random"}, InputError, "'random'"),
        (data.Circle, {"features": "x,z"}, UnknownNameError, "'z'"),
        (data.Circle, {"features": "x,x"}, InputError, "'x,x'"),
        (data.Circle, {"features": []}, InputError, "[]"),
        (data.Circle, {"features": 3}, InputError, "3"),
        (data.Rgb, {"map": "inverse"}, UnknownNameError, "'inverse'"),
        (data.Rgb, {"map": None}, InputError, "None"),
        (data.Rgb, {"map": np.zeros((1, 3))}, ShapeError, "not (1, 3)"),
        (data.Rgb, {"map": np.zeros((2, 2, 3, 3))}, ShapeError, "not (2, 2, 3, 3)"),
        (data.Rgb, {"map": np.float64(3.0)}, InputError, "look up"),
        (data.Rgb, {"map": np.array(3.0)}, ShapeError, "not ()"),
        (data.Rgb, {"map": np.full((2, 3), np.inf)}, NotFiniteError, "NaN or infinity"),
        (data.Rgb, {"map": lambda rgb: rgb[:, 0]}, ShapeError, "(4616,)"),
        (data.Rgb, {"map": lambda rgb: rgb / 0.0}, NotFiniteError, "nan at row 0, column 0"),
        (data.Rgb, {"map": lambda rgb: "red"}, InputError, "str 'red'"),
        (data.Rgb, {"levels": 1}, InputError, "1"),
        (data.Rgb, {"levels": 129}, InputError, "129"),
        (data.Rgb, {"levels": 2.0}, InputError, "2.0"),
        (data.Digits, {"held_out": 20}, InputError, "not 20"),
        (data.Digits, {"held_out": 1.5}, InputError, "1.5"),
        (data.Digits, {"held_out": -0.1}, InputError, "-0.1"),
        (data.Digits, {"held_out": 0.99}, InputError, "0123456789"),
        (data.Digits, {"digits": "12x"}, InputError, "'12x'"),
        (data.Digits, {"digits": [10]}, InputError, "not [10]"),
        (data.Digits, {"digits": []}, InputError, "not []"),
        (data.Digits, {"digits": 7}, InputError, "not 7"),
        (data.Digits, {"seed": -1}, InputError, "-1"),
        (data.Digits, {"order": "random"}, InputError, "'random'"),
        (data.Digits, {"folder": "."}, InputError, "not both"),
        (data.Digits, {"labels": NAMED[:3]}, ShapeError, "3 labels"),
        (data.Digits, {"labels": NAMED + 1}, InputError, "not 10"),
        (data.Digits, {"labels": None}, ShapeError, "of shape ()"),
        (data.Digits, {"pictures": PIXELS[0]}, ShapeError, "of shape (3, 2)"),
        (data.Digits, {"pictures": PIXELS / 2.0}, InputError, "float64 such as 108.5"),
        (data.Digits, {"pictures": PIXELS + 1}, InputError, "int64"),
        (data.Digits, {"pictures": PIXELS - 1}, InputError, "int64"),
        (data.Texture, {"transform": "mirror"}, UnknownNameError, "'mirror'"),
        (data.Texture, {"color_space": "sRGB"}, UnknownNameError, "'sRGB'"),
        (data.Texture, {"picture": np.zeros((2, 2, 4))}, ShapeError, "(2, 2, 4)"),
        (data.Texture, {"picture": np.zeros(5)}, ShapeError, "(5,)"),
        (data.Texture, {"picture": np.zeros((0, 5))}, ShapeError, "(0, 5, 3)"),
        (data.Texture, {"picture": np.full((2, 2), np.nan)}, NotFiniteError, "NaN or infinity"),
        (data.Texture, {"picture": np.full((2, 2), 255.0)}, InputError, "255 to 255"),
        (data.Texture, {"picture": np.full((2, 2), -0.1)}, InputError, "-0.1 to -0.1"),
        (data.Texture, {"picture": np.full((2, 2), "a")}, InputError, "takes numbers"),
        (data.Texture, {"picture": object()}, InputError, "takes numbers"),
        (data.Texture, {"picture": SMALL, "size": 0}, InputError, "0"),
    ],
)
def test_bad_settings_are_refused(
    kind: type[data.DataSet], settings: dict[str, Any], error: type[Exception], value: str
) -> None:
    refused(error, value).by(kind, **(OWN_DIGITS if kind is data.Digits else {}) | settings)
