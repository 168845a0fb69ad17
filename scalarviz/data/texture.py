"""Texture: a picture as a function from points (u, v) of the unit square to colours."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray, answered, as_floats, require, shorten
from scalarviz.base.checks import size as whole_size
from scalarviz.base.limits import MOST_SCANS, Budget
from scalarviz.base.shell_commands import needed
from scalarviz.core.formulas.formula import pick
from scalarviz.data.batches import Batches, Pair, PictureTransform, Points
from scalarviz.data.data_set import DataSet
from scalarviz.data.samples import count_of
from scalarviz.data.table_files import called, readable, unreadable
from scalarviz.errors import InputError, NotFiniteError, ShapeError

if TYPE_CHECKING:
    from PIL.Image import Image


COLOR = 24  # bytes of a pixel as three float64
DECODED = 8  # bytes of a pixel while it is decoded and rotated
BAND = 2**18  # pixels converted at once
LARGEST_EPOCH = 2**31  # samples
EPOCH = 128 * 1024

Rows = Callable[[int, int], FloatArray]  # rows from one index up to another

TRANSFORMS = {
    "identity": PictureTransform(),
    "zoom": PictureTransform(0.5, 0.0, 0.0, 0.5, 0.25, 0.25),
    "flip": PictureTransform(0.0, 1.0, 1.0, 0.0),
}
COLOR_SPACES = {"srgb": "srgb", "linear": "linear"}


@final
class Texture(DataSet):
    """A picture to learn from random points (u, v): `Texture("photo.jpg")`.

    (0, 0) is the upper left corner; u points right and v points down. The colour of a point is the
    colour of the pixel that contains it.

    Args:
        picture: path of a PNG or JPEG file; an array of shape (height, width, 3), or (height,
            width) for grey; or None (default) for a built-in picture
        transform: part of the picture: "identity" (default) for all of it, "zoom" for its middle,
            twice as large, or "flip" to swap u and v
        color_space: "srgb" (default): colours are the 8-bit values of a file divided by 255;
            "linear": colours are linear light, to which files and arrays of 8-bit integers are
            converted; arrays of floats are not converted
        size: maximum length of the longer side in pixels; larger pictures are reduced by averaging;
            None (default) means no limit
        samples: number of random points per epoch; by default 131072
        limit: maximum bytes of a file's numbers, 24 per pixel; None (default) means 640 MB

    Raises:
        InputError: if a file cannot be read.
        ShapeError, NotFiniteError: if an array is not a picture.
    """

    things = "pixels"
    name = "texture"
    input_names, output_names = "uv", "RGB"
    output_tint = "rgb"
    picture_setting = "picture"

    def __init__(
        self,
        picture: str | os.PathLike[str] | FloatArray | None = None,
        *,
        transform: str = "identity",
        color_space: str = "srgb",
        size: int | None = None,
        samples: int = EPOCH,
        limit: int | None = None,
    ) -> None:
        self.window = pick(TRANSFORMS, transform, "transform")
        pick(COLOR_SPACES, color_space, "color space")
        samples = count_of(samples, "samples", 1, LARGEST_EPOCH)
        self.picture = as_picture(picture, color_space == "linear", size, limit)
        settings = {
            "picture": None if picture is None else self.picture,
            "transform": transform,
            "color_space": color_space,
            "size": size,
            "samples": samples,
        }
        super().__init__(2, 3, samples, settings)

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        picture: Any = settings.get("picture")
        height, width = (*np.shape(picture), 1, 1)[:2]
        return COLOR * (height * width if "picture" in settings else SIZE**2)

    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Return batches of random points with the colours of the picture.

        Args:
            batch: number of points per batch; None (default) means a whole epoch
            seed: seed of the points; by default 0
        """
        count = self.samples if batch is None else batch
        return Points(self.picture, count, self.samples, seed, self.window)

    def pixels(self) -> Pair:
        """Return the centres of all pixels and the transformed colours there, e.g. for the PSNR."""
        height, width, _ = self.picture.shape
        points = pixel_centres(width, height)
        looked_up = Points(self.picture, 1, 1, 0, self.window)
        return points, looked_up.targets[looked_up.texels(points[:, 0], points[:, 1])]


@answered
def pixel_centres(width: int, height: int) -> FloatArray:
    """Return the coordinates of all pixel centres, from 0 to 1, row by row from the upper left.

    `width` and `height` are in pixels. Returns an array of shape (height * width, 2) with u and v.
    """
    u = (np.arange(whole_size(width, "width")) + 0.5) / width
    v = (np.arange(whole_size(height, "height")) + 0.5) / height
    return np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)


@answered
def psnr(prediction: object, target: object) -> float:
    """Return the peak signal-to-noise ratio (PSNR) in decibels, for numbers from 0 to 1.

    Args:
        prediction, target: arrays of the same shape, with values from 0 to 1

    Returns infinity for equal arrays. Raises ShapeError if their shapes differ. When you report a
    result, state the colour space and the points; `Texture.pixels()` returns all pixel centres.
    """
    said = as_floats(prediction, "psnr")
    wanted = as_floats(target, "psnr")
    require(
        said.shape == wanted.shape and said.size != 0,
        f"psnr compares two arrays of equal shape, not of {said.shape} and {wanted.shape}: pass "
        "the same pixels twice",
        ShapeError,
    )
    error = float(np.mean((said - wanted) ** 2))
    return -10.0 * math.log10(error) if error else math.inf


def as_picture(
    picture: object, linear: bool, size: int | None = None, limit: int | None = None
) -> FloatArray:
    """Return a picture as numbers from 0 to 1, shape (height, width, 3), in sRGB or linear light.

    `size` is the maximum length of the longer side, to which the picture is reduced; `limit` is the
    maximum number of bytes of a file.
    """
    require(
        not callable(picture),
        f"a picture is a path or an array, not the function {shorten(picture)}: pass its value at "
        "every pixel, an array of shape (height, width, 3)",
    )
    if isinstance(picture, (str, os.PathLike)):
        return read_picture(picture, linear, size, Budget(limit))
    if picture is None:
        picture = landscape()
    encoded = getattr(picture, "dtype", None) == np.uint8
    colors = as_floats(picture, "a picture")
    if colors.ndim == 2:
        colors = np.repeat(colors[:, :, np.newaxis], 3, axis=2)
    if encoded:
        colors /= 255.0
    check_picture(colors)
    if linear and encoded:
        colors = to_linear(colors)
    return drawn(lambda low, high: colors[low:high], colors.shape[0], colors.shape[1], size)


def check_picture(colors: FloatArray) -> None:
    """Raise ShapeError, NotFiniteError or InputError for an array that is not a picture."""
    require(
        colors.ndim == 3 and colors.shape[2] == 3 and colors.size != 0,
        "a picture is an array of shape (height, width, 3), or (height, width) if it is grey, "
        f"not {colors.shape}: keep only red, green and blue",
        ShapeError,
    )
    require(
        np.isfinite(colors).all(),
        "the picture contains NaN or infinity: replace these values",
        NotFiniteError,
    )
    require(
        not (colors.min() < 0.0 or colors.max() > 1.0),
        f"a picture of floats has numbers from 0 to 1, not from {colors.min():g} to "
        f"{colors.max():g}: divide it by its largest value, or pass 8-bit integers (numpy.uint8)",
    )


def read_picture(
    path: str | os.PathLike[str], linear: bool, size: int | None, budget: Budget
) -> FloatArray:
    """Read a PNG or JPEG file as numbers from 0 to 1; reduce it if `size` is given."""
    file = readable(path, budget)
    pillow = needed("PIL.Image", "reading pictures needs Pillow", "images")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pillow.DecompressionBombWarning)  # see check_cost
            with pillow.open(file, formats=("PNG", "JPEG")) as image:
                check_cost(image.width, image.height, size, called(file), budget)
                scans = file.read_bytes().count(b"\xff\xda") if image.format != "PNG" else 0
                require(  # a progressive JPEG may take long
                    scans <= MOST_SCANS,
                    f"{called(file)} has {scans:,} passes: save it again with a few",
                )
                return colors_of(image, linear, size)
    except InputError:
        raise
    except pillow.DecompressionBombError as error:
        raise InputError(
            f"{called(file)} has more pixels than Pillow reads: make it smaller"
        ) from error
    except PermissionError as error:
        raise unreadable(file, error) from error
    except Exception as error:  # decoders raise errors of many kinds for malicious files
        raise InputError(
            f"{called(file)} is damaged or not a PNG or JPEG picture: save it again as one of these"
        ) from error


def check_cost(width: int, height: int, size: int | None, name: str, budget: Budget) -> None:
    """Raise InputError if a picture needs too much memory, decoded or as numbers."""
    what = f"{name}, {width:,} x {height:,} pixels,"
    lines, columns = reduced_shape(height, width, size)
    band = min(height, -(-height // lines) + 1)
    try:
        Budget(budget.limit).take(width * height * DECODED, what)
        budget.take((lines * columns + (band * width if lines < height else 0)) * COLOR, what)
    except InputError as error:
        hint = "" if size is not None else "; size=1024 shrinks it while reading"
        raise InputError(f"{error}{hint}") from None


def colors_of(image: Image, linear: bool, size: int | None) -> FloatArray:
    """Return the colours of an image, turned upright, with transparent parts on white."""
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image)
    width, height = upright.size

    def rows(low: int, high: int) -> FloatArray:
        colors = pixels_of(upright.crop((0, low, width, high)))
        return to_linear(colors) if linear else colors

    return drawn(rows, height, width, size)


def pixels_of(image: Image) -> FloatArray:
    """Convert an image to an array of colours from 0 to 1."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16 bits a pixel, grey
        grey = np.asarray(image, np.float64) / 65535.0
        return np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    if image.has_transparency_data:
        seen = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen)
    return np.asarray(image.convert("RGB"), np.float64) / 255.0


def to_linear(colors: FloatArray) -> FloatArray:
    """Convert sRGB values to linear light (IEC 61966-2-1)."""
    bright = ((colors + 0.055) / 1.055) ** 2.4
    return np.where(colors <= 0.04045, colors / 12.92, bright)


def drawn(rows: Rows, height: int, width: int, longest: int | None) -> FloatArray:
    """Return the picture with these `rows`, reduced to a longer side of at most `longest` pixels.

    Pixels of a reduced picture are averages of the pixels that they cover.
    """
    lines, columns = reduced_shape(height, width, longest)
    if (lines, columns) == (height, width):
        step = max(1, BAND // width)
        colors = np.empty((height, width, 3))
        for low in range(0, height, step):
            colors[low : low + step] = rows(low, min(low + step, height))
        return colors
    turned = np.moveaxis(average(rows, height, lines), 1, 0)
    return np.moveaxis(average(lambda low, high: turned[low:high], width, columns), 0, 1)


def reduced_shape(height: int, width: int, longest: int | None) -> tuple[int, int]:
    """Return the height and width of a picture after reducing its longer side to `longest`."""
    if longest is None:
        return height, width
    shrink = max(height, width) / whole_size(longest, "the size of a picture")
    if shrink <= 1.0:
        return height, width
    return max(1, round(height / shrink)), max(1, round(width / shrink))


def average(rows: Rows, length: int, count: int) -> FloatArray:
    """Reduce `length` rows to `count` rows; each is the average of the rows that it covers."""
    borders = (np.arange(count + 1) * length / count).tolist()
    means = [covered(rows, length, low, high) for low, high in pairwise(borders)]
    return np.clip(means, 0.0, 1.0)


def covered(rows: Rows, length: int, low: float, high: float) -> FloatArray:
    """Return the average of the rows from `low` to `high`; partly covered rows count less."""
    touched = np.arange(int(low), min(math.ceil(high), length))
    shares = np.minimum(touched + 1.0, high) - np.maximum(touched, low)
    weighted = shares[:, np.newaxis, np.newaxis] * rows(int(touched[0]), int(touched[-1]) + 1)
    mean: FloatArray = weighted.sum(axis=0) / (high - low)
    return mean


# The built-in picture, a sunset behind mountains and a lake, generated by a program. It contains
# details that are hard to learn: sharp edges, fine detail, and smooth colours; texture.npz has its
# pixels.

SIZE = 256


@cache
def landscape() -> npt.NDArray[np.uint8]:
    """Return the built-in picture as 8-bit sRGB, shape (256, 256, 3)."""
    with np.load(Path(__file__).with_suffix(".npz"), allow_pickle=False) as file:
        picture: npt.NDArray[Any] = file["picture"]
        return picture
