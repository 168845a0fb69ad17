"""Rgb: a map from colours to colours, with red, green and blue from 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any, ClassVar, final

import numpy as np

from scalarviz.base.checks import (
    FloatArray,
    as_batch,
    as_floats,
    check_signature,
    number,
    require,
    shorten,
)
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.randomness import check_seed, unit_pairs
from scalarviz.data.data_set import DOUBLE, STREAM_COLORS, DataChoice, TableSet, whole
from scalarviz.data.samples import check_shares, count_of
from scalarviz.errors import InputError, NotFiniteError, ShapeError

ColorMap = Callable[[FloatArray], object]

# Eight colours to show the result of a network.
PALETTE = np.array(
    [
        [0.90, 0.20, 0.20],
        [0.95, 0.60, 0.15],
        [0.90, 0.85, 0.20],
        [0.20, 0.70, 0.30],
        [0.15, 0.65, 0.75],
        [0.20, 0.30, 0.85],
        [0.60, 0.25, 0.75],
        [0.35, 0.35, 0.35],
    ]
)

GREEN = 3  # shown first: neither it nor its target looks like a sign

PORTION = 2**16  # colours made at once
HELD_OUT = 512  # number of random test colours
LEVELS, LARGEST_LEVELS = 16, 128  # per channel


def grey(rgb: FloatArray) -> FloatArray:
    return mix(rgb, [[0.299, 0.587, 0.114]] * 3)


def sepia(rgb: FloatArray) -> FloatArray:
    brown = [[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]]
    return mix(rgb, brown)


def hue(rgb: FloatArray, angle: float = 90.0) -> FloatArray:
    """Rotate colours about the grey axis by an angle in degrees; 120 turns red into green."""
    turn = math.radians(angle)
    on = [(1.0 + 2.0 * math.cos(turn + shift * 2.0 * math.pi / 3.0)) / 3.0 for shift in range(3)]
    a, b, c = (round(part, 12) for part in on)  # machines differ in the last place of a cosine
    return mix(rgb, [[a, b, c], [c, a, b], [b, c, a]])


MAPS: dict[str, ColorMap] = {
    "invert": lambda rgb: 1.0 - rgb,
    "grey": grey,
    "sepia": sepia,
    "hue": hue,
    "swap": lambda rgb: rgb[:, [2, 0, 1]],  # blue, red, green
    "copy": lambda rgb: rgb,
}


@final
class Rgb(TableSet):
    """Samples of a map from colours to colours, such as `Rgb("invert")`.

    Args:
        map: "invert" (default), "grey", "sepia", "hue", "swap" (red, green and blue become blue,
            red and green) or "copy"; or a function of an array of colours, shape (n, 3), that
            returns another one; or a lookup table with linear interpolation: shape (n, 3) has the
            results for n evenly spaced values of each channel, shape (n, n, n, 3) the results for a
            regular grid of colours, indexed by red, green and blue
        levels: number of values per channel in the regular grid of training colours; by default 16
        samples: number of random training colours; None (default) means the grid instead
        angle: degrees by which "hue" rotates; by default 90.0
        seed: seed of the random colours; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        answers: results of the map for training colours, held-out colours and palette; files store
            them instead of a function; None (default) means that they are computed

    512 random colours are held out. `palette` has eight colours to show, with their targets; added
    samples replace the first ones. Raises InputError, ShapeError or NotFiniteError for an invalid
    map.
    """

    things = "colours"
    name = "rgb"
    input_names = output_names = "RGB"
    input_tint = output_tint = "rgb"
    choices: ClassVar = {
        "map": DataChoice(MAPS, "what becomes of a colour", ("angle", "answers"), "colour map")
    }

    def __init__(
        self,
        map: str | FloatArray | ColorMap = "invert",
        *,
        levels: int = LEVELS,
        samples: int | None = None,
        angle: float = 90.0,
        seed: int = 0,
        order: str = "shuffled",
        answers: object = None,
    ) -> None:
        angle, seed = number(angle, "angle"), check_seed(seed)
        levels = count_of(levels, "levels", 2, LARGEST_LEVELS)
        if samples is None:
            colors = grid(levels)
        else:
            samples = count_of(samples, "samples")
            colors = random_colors(samples, seed, 0)
        held_out = random_colors(HELD_OUT, seed, 1)
        first, second = len(colors), len(colors) + HELD_OUT
        asked = np.concatenate([colors, held_out, PALETTE])

        kept = answers is not None
        if answers is None:
            color_map, map, kept = as_map(map, angle)
            answers = color_map(asked)
            self.rule = color_map  # unknown if only its results are stored
        del asked  # uses half of the memory
        targets = as_answers(answers, second + len(PALETTE))
        settings = {
            "map": map,
            "samples": samples,
            "levels": levels,
            "angle": angle,
            "seed": seed,
            "answers": targets if kept else None,
        }
        self.palette = PALETTE.copy(), targets[second:]
        self.first_shown = PALETTE[GREEN].copy(), targets[second + GREEN]
        super().__init__(
            (colors, targets[:first]), settings, (held_out, targets[first:second]), order
        )

    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        check_shares(inputs, "red, green and blue of a colour")
        check_shares(targets, "red, green and blue of a colour")

    def show_added(self, inputs: FloatArray, targets: FloatArray) -> None:
        pairs = zip(self.palette, (inputs, targets), strict=True)
        count = len(self.palette[0])
        colors, answers = [np.concatenate(pair)[-count:] for pair in pairs]
        self.palette = colors, answers

    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        levels = whole(settings.get("levels"), LEVELS)
        colors = whole(settings.get("samples"), levels**3) + HELD_OUT
        return super().cost(settings) + 6 * DOUBLE * colors


def as_map(map: object, angle: float) -> tuple[ColorMap, str | FloatArray, bool]:
    """Return a map as a function, its setting for files, and whether files must store results."""
    if callable(map):
        check_signature(map, ["colors"], "a map of colours", "lambda colors: 1.0 - colors")
        return map, str(getattr(map, "__name__", type(map).__name__)), True
    if isinstance(map, str):
        row = pick(MAPS, map, "map")
        return (partial(hue, angle=angle) if map == "hue" else row), map, False
    if not isinstance(map, (list, tuple)) and not hasattr(map, "__array__"):
        raise InputError(
            f"a map of colours is one of {', '.join(MAPS)}, a function or an array to look up in, "
            f"not {shorten(map)}"
        )
    table = as_floats(map, "a map of colours")
    shape, n = table.shape, len(np.atleast_1d(table))
    require(
        shape in ((n, 3), (n, n, n, 3)) and n >= 2,
        f"an array to look up colours in has the shape (n, 3), one row for each of n values, "
        f"or (n, n, n, 3), and n is at least 2; not {shape}",
        ShapeError,
    )
    require(
        np.isfinite(table).all(),
        "an array to look up colours in contains NaN or infinity: replace these values",
        NotFiniteError,
    )
    return partial(look_up if table.ndim == 4 else look_up_channels, table), table, False


def as_answers(answers: object, count: int) -> FloatArray:
    """Return the results of a map as an array, one colour per row; raise an error if invalid."""
    array = as_floats(answers, "a map of colours gives numbers: the data set")
    require(
        array.shape == (count, 3),
        f"the map turned {count:,} colours, an array of shape {(count, 3)}, into the shape "
        f"{array.shape}: it must return one row of red, green and blue per row",
        ShapeError,
    )
    if not np.isfinite(array).all():
        as_batch(array, 3, "the map gave no colour: the data set")  # raises an error with its place
    return array


def mix(rgb: FloatArray, matrix: list[list[float]]) -> FloatArray:
    """Mix the channels by a 3 x 3 matrix, and clip the results to the range from 0 to 1."""
    r, g, b = rgb.T
    channels = [row[0] * r + row[1] * g + row[2] * b for row in matrix]
    mixed: FloatArray = np.stack(channels, axis=1)
    return np.clip(mixed, 0.0, 1.0, out=mixed)


def look_up_channels(table: FloatArray, rgb: FloatArray) -> FloatArray:
    """Map each channel separately by linear interpolation in a column of `table`, shape (n, 3)."""
    places = np.linspace(0.0, 1.0, len(table))
    return np.stack([np.interp(rgb[:, i], places, table[:, i]) for i in range(3)], axis=1)


def look_up(table: FloatArray, rgb: FloatArray) -> FloatArray:
    """Map colours by linear interpolation in a regular grid of colours, shape (n, n, n, 3)."""
    last = len(table) - 1
    low = np.minimum(np.floor(rgb * last), last - 1).astype(int)
    part = rgb * last - low
    result = np.zeros_like(rgb)
    for corner in product((0, 1), repeat=3):
        weight = np.prod(np.where(corner, part, 1.0 - part), axis=1)
        result += weight[:, np.newaxis] * table[tuple((low + corner).T)]
    return result


def grid(levels: int) -> FloatArray:
    """Return a regular grid of colours with `levels` values per channel; blue varies fastest."""
    values = np.arange(levels) / (levels - 1.0)
    return np.stack(np.meshgrid(values, values, values, indexing="ij"), axis=-1).reshape(-1, 3)


def random_colors(count: int, seed: int, step: int) -> FloatArray:
    """Return `count` random colours, distributed uniformly."""
    colors = np.empty((count, 3))
    for first in range(0, count, PORTION):
        some = colors[first : first + PORTION]
        pairs = unit_pairs(seed, STREAM_COLORS, step, 2 * first, 2 * len(some))
        some[:] = np.stack(pairs, axis=1).reshape(-1, 4)[:, :3]
    return colors
