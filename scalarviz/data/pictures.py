"""Pictures as textures: a point (u, v) of the unit square goes in, the colour there comes out."""

from __future__ import annotations

import math
import os
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np

from scalarviz.batches import Batches, Pair, Points, Window
from scalarviz.checks import FloatArray, as_floats, shorten, size
from scalarviz.data.base import DataSet, count_of
from scalarviz.data.files import called, readable, unreadable
from scalarviz.data.landscape import landscape
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from scalarviz.formulas.table import pick

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_PICTURE = 2**26  # pixels, 64 megapixels
LARGEST_EPOCH = 2**31  # samples
EPOCH = 128 * 1024

TRANSFORMS = {
    "identity": Window(),
    "zoom": Window(0.5, 0.0, 0.0, 0.5, 0.25, 0.25),
    "flip": Window(0.0, 1.0, 1.0, 0.0),
}
COLOR_SPACES = {"srgb": "srgb", "linear": "linear"}


@final
class Texture(DataSet):
    """A picture to learn, at random points (u, v): `Texture("photo.jpg")`.

    (0, 0) is the upper left corner, u goes right and v down; the colour of a point is that of the
    pixel it lies in.

    picture      a path to a PNG or JPEG, an array, or None for a picture made by code
    transform    where the picture is looked at: identity, zoom (its middle, twice as large) or flip
                 (u and v swapped)
    color_space  what the numbers of a colour mean, which go from 0 to 1: "srgb" are the 8-bit
                 numbers of a file divided by 255; "linear" are amounts of light, so that files and
                 arrays of 8-bit integers are converted; an array of floats is taken as it is
    size         a picture whose longer side has more pixels is reduced to so many, by averages
    samples      how many random points an epoch has

    An array has the shape (height, width, 3), or (height, width) if it is grey.
    """

    name = "texture"

    def __init__(
        self,
        picture: str | os.PathLike[str] | FloatArray | None = None,
        *,
        transform: str = "identity",
        color_space: str = "srgb",
        size: int | None = None,
        samples: int = EPOCH,
    ) -> None:
        self.window = pick(TRANSFORMS, transform, "transform")
        pick(COLOR_SPACES, color_space, "color space")
        samples = count_of(samples, "samples", 1, LARGEST_EPOCH)
        self.picture = as_picture(picture, color_space == "linear")
        if size is not None:
            self.picture = reduced(self.picture, size)
        settings = {
            "picture": None if picture is None else self.picture,
            "transform": transform,
            "color_space": color_space,
            "size": size,
            "samples": samples,
        }
        super().__init__(2, 3, samples, settings)

    def batches(self, batch: int | None = None, seed: int = 0) -> Batches:
        """Batches of so many random points; None: a whole epoch of them."""
        count = self.samples if batch is None else batch
        return Points(self.picture, count, self.samples, seed, self.window)

    def pixels(self) -> Pair:
        """The middles of all pixels and the colours there, transformed: where PSNR is measured."""
        height, width, _ = self.picture.shape
        points = pixel_centres(width, height)
        looked_up = Points(self.picture, 1, 1, 0, self.window)
        return points, looked_up.targets[looked_up.texels(points[:, 0], points[:, 1])]


def pixel_centres(width: int, height: int) -> FloatArray:
    """(u, v) of the middle of every pixel, one row each, row after row from the upper left one."""
    u = (np.arange(size(width, "width")) + 0.5) / width
    v = (np.arange(size(height, "height")) + 0.5) / height
    return np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)


def psnr(prediction: object, target: object) -> float:
    """Peak signal-to-noise ratio in decibels, for numbers from 0 to 1; infinite for equal ones.

    Say with it in which colour space, and at which points: `Texture.pixels()` has all middles.
    """
    said = as_floats(prediction, "psnr")
    wanted = as_floats(target, "psnr")
    if said.shape != wanted.shape or said.size == 0:
        raise ShapeError(
            f"psnr compares two arrays of one shape, not of {said.shape} and {wanted.shape}: "
            "pass the same pixels twice"
        )
    error = float(np.mean((said - wanted) ** 2))
    return -10.0 * math.log10(error) if error else math.inf


def as_picture(picture: object, linear: bool) -> FloatArray:
    """A picture as (height, width, 3) numbers from 0 to 1, in the colour space asked for."""
    if callable(picture):
        raise InputError(
            f"a picture is a path or an array, not the function {shorten(picture)}: pass what it "
            "gives for every pixel, an array of shape (height, width, 3)"
        )
    if picture is None:
        picture = landscape()
    encoded = True
    if isinstance(picture, (str, os.PathLike)):
        colors = read_picture(picture)
    else:
        encoded = getattr(picture, "dtype", None) == np.uint8
        colors = as_floats(picture, "a picture")
        if colors.ndim == 2:
            colors = np.repeat(colors[:, :, np.newaxis], 3, axis=2)
        colors = colors / 255.0 if encoded else colors
        check_picture(colors)
    return to_linear(colors) if linear and encoded else colors


def check_picture(colors: FloatArray) -> None:
    """Refuse an array that is no picture."""
    if colors.ndim != 3 or colors.shape[2] != 3 or colors.size == 0:
        raise ShapeError(
            f"a picture is an array of shape (height, width, 3), or (height, width) if it is grey, "
            f"not {colors.shape}: leave out what is not red, green or blue"
        )
    check_size(colors.shape[1], colors.shape[0], "the picture")
    if not np.isfinite(colors).all():
        raise NotFiniteError("the picture has NaN or infinity in it: replace what is not finite")
    if colors.min() < 0.0 or colors.max() > 1.0:
        raise InputError(
            f"a picture of floats has numbers from 0 to 1, not from {colors.min():g} to "
            f"{colors.max():g}: divide it by its largest, or pass 8-bit integers (numpy.uint8)"
        )


def check_size(width: int, height: int, what: str) -> None:
    """Refuse a picture with too many pixels."""
    if width * height > LARGEST_PICTURE:
        raise InputError(
            f"{what} has {width:,} x {height:,} pixels, more than {LARGEST_PICTURE / 2**20:.0f} "
            "megapixels: make it smaller"
        )


def read_picture(path: str | os.PathLike[str]) -> FloatArray:
    """The sRGB numbers, from 0 to 1, of a PNG or JPEG file."""
    file = readable(path)
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError(
            "reading pictures takes Pillow, which is not installed: pip install 'scalarviz[images]'"
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # we count ourselves
            with Image.open(file, formats=("PNG", "JPEG")) as image:
                check_size(*image.size, called(file))
                return pixels_of(image)
    except InputError:
        raise
    except Image.DecompressionBombError as error:
        raise InputError(
            f"{called(file)} has more than {LARGEST_PICTURE / 2**20:.0f} megapixels: "
            "make it smaller"
        ) from error
    except PermissionError as error:
        raise unreadable(file, error) from error
    except Exception as error:  # whatever a hostile file makes the decoder stumble over
        raise InputError(
            f"{called(file)} is no PNG or JPEG picture, or is damaged: save it again as one of them"
        ) from error


def pixels_of(image: Image) -> FloatArray:
    """A picture the right way up, on white where it is transparent."""
    from PIL import Image, ImageOps

    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits a pixel, grey
        grey = np.asarray(upright, np.float64) / 65535.0
        return np.repeat(grey[:, :, np.newaxis], 3, axis=2)
    if upright.has_transparency_data:
        seen = upright.convert("RGBA")
        paper = Image.new("RGBA", seen.size, "white")
        upright = Image.alpha_composite(paper, seen)
    return np.asarray(upright.convert("RGB"), np.float64) / 255.0


def to_linear(colors: FloatArray) -> FloatArray:
    """sRGB numbers as amounts of light (IEC 61966-2-1)."""
    bright = ((colors + 0.055) / 1.055) ** 2.4
    return np.where(colors <= 0.04045, colors / 12.92, bright)


def reduced(colors: FloatArray, longest: int) -> FloatArray:
    """A picture whose longer side has at most so many pixels, averages of those they cover."""
    height, width, _ = colors.shape
    longest = size(longest, "the size of a picture")
    shrink = max(height, width) / longest
    if shrink <= 1.0:
        return colors
    for axis, length in enumerate((height, width)):
        colors = average(colors, axis, max(1, round(length / shrink)))
    return colors


def average(colors: FloatArray, axis: int, count: int) -> FloatArray:
    """So many averages along an axis, each of what it covers."""
    rows = np.moveaxis(colors, axis, 0)
    borders = np.arange(count + 1) * len(rows) / count
    means = [covered(rows, low, high) for low, high in pairwise(borders.tolist())]
    return np.moveaxis(np.clip(means, 0.0, 1.0), 0, axis)


def covered(rows: FloatArray, low: float, high: float) -> FloatArray:
    """The average of the rows from `low` to `high`; of one on the border, a part counts."""
    touched = np.arange(int(low), min(math.ceil(high), len(rows)))
    shares = np.minimum(touched + 1.0, high) - np.maximum(touched, low)
    weighted = shares[:, np.newaxis, np.newaxis] * rows[touched[0] : touched[-1] + 1]
    mean: FloatArray = weighted.sum(axis=0) / (high - low)
    return mean
