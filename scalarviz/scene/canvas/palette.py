"""The palette: colors of signed numbers, of classes, and of everything else in a picture.

Numbers below zero are blue, zero is gray, and numbers above zero are orange. The largest magnitudes
have the strongest colors; hue shows only the sign. The two hues and the colors of classes are
distinguishable with every kind of color blindness.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.base.scales import FEW_NUMBERS, HIGH_PERCENTILE, SAMPLE
from scalarviz.core.formulas.formula import table

NUMBER, HALO = "#ffffff", "#0d1117c0"  # of numbers on colors, in every theme
DARK_NUMBER = "#000000"  # on faces of cubes with higher contrast
NOT_A_NUMBER = (1.0, 0.0, 1.0)  # magenta, not part of any map


@dataclass(frozen=True)
class ColorMap:
    """A diverging color map: sRGB colors of zero and of negative and positive magnitudes.

    Attributes:
        stops: magnitudes raised to `power`, each with its negative and positive color; the last
            magnitude is 1
        power: exponent of magnitudes; below 1, small numbers get a visible hue
    """

    name: str
    background: str
    zero: str
    stops: tuple[tuple[float, str, str], ...]
    power: float

    def __call__(self, values: object, scale: float = 1.0) -> FloatArray:
        """Return the sRGB color of each value, from 0 to 1, in an additional last axis of length 3.

        Values beyond +-scale get the color at the end of the map. NaN is magenta.
        """
        x = np.asarray(values, dtype=np.float64) / scale
        strength = np.sign(x) * np.minimum(np.abs(x), 1.0) ** self.power
        places, colors, slopes = self._lines
        line = places[1:-1].searchsorted(strength, "right")
        beyond = np.asarray(strength - places[line])[..., np.newaxis]
        return number_or_not(slopes[line] * beyond + colors[line])

    @cached_property
    def _lines(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions in the color table, their colors, and the slopes to the next position."""
        places, colors = np.array(self.table[0]), rgb(self.table[1])
        return places, colors, np.diff(colors, axis=0) / np.diff(places)[:, np.newaxis]

    @cached_property
    def table(self) -> tuple[tuple[float, ...], tuple[str, ...]]:
        """Positions from -1 to 1, and the color at each position."""
        up, down = self.stops, self.stops[::-1]
        places = *(-place for place, _, _ in down), 0.0, *(place for place, _, _ in up)
        return places, (*(each[1] for each in down), self.zero, *(each[2] for each in up))

    @property
    def negative(self) -> str:
        """The color of the largest negative number."""
        return self.stops[-1][1]

    @property
    def positive(self) -> str:
        """The color of the largest positive number."""
        return self.stops[-1][2]


STOPS_ON_DARK = (0.5, "#246aba", "#bc6824"), (1.0, "#1c92ff", "#ff8a14")
STOPS_ON_LIGHT = (0.5, "#4f8fd8", "#d9843a"), (1.0, "#0a5fd0", "#c95500")
# Answers such as yes and no have separate colors: teal below the boundary, lime above it.
YES_ON_DARK = (0.35, "#226c6c", "#78803a"), (0.8, "#1c9e98", "#c4d038"), (1.0, "#60dcce", "#e8f26c")
YES_ON_LIGHT = (
    (0.35, "#7cbcb8", "#c0c67c"),
    (0.8, "#1c928c", "#929a1c"),
    (1.0, "#007a74", "#788200"),
)
MAPS = table(
    [
        ColorMap("answers on dark", "#0d1117", "#4a5260", YES_ON_DARK, 1.0),
        ColorMap("answers on light", "#f6f8fb", "#ced4dc", YES_ON_LIGHT, 1.0),
        ColorMap("dark", "#0d1117", "#464d5a", STOPS_ON_DARK, 0.6),
        ColorMap("light", "#f6f8fb", "#a3abb9", STOPS_ON_LIGHT, 0.6),
    ]
)


def largest(numbers: FloatArray) -> float:
    """Return the largest finite magnitude, or a high percentile of a sample if there are many."""
    if len(numbers) > SAMPLE:
        numbers = numbers[:: len(numbers) // SAMPLE]
    sizes = np.abs(numbers)
    sizes = sizes[np.isfinite(sizes)]
    if not len(sizes):
        return 0.0
    return float(np.percentile(sizes, HIGH_PERCENTILE) if len(sizes) > FEW_NUMBERS else sizes.max())


@lru_cache(maxsize=1024)
def rgb(colors: tuple[str, ...]) -> FloatArray:
    """Convert colors such as "#facc7e" to read-only rows of red, green, blue from 0 to 1."""
    found: FloatArray = np.array([list(bytes.fromhex(color[1:])) for color in colors]) / 255.0
    found.flags.writeable = False
    return found


def mixed(color: str, other: str, part: float) -> str:
    """Return a color such as "#facc7e", mixed with a part of another one, from 0 to 1."""
    pairs = [(int(color[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in pairs)


def with_opacity(color: str, part: float) -> str:
    """Return a color such as "#facc7e" with an opacity from 0 to 1."""
    return f"{color[:7]}{round(255 * part):02x}"


def to_bytes(colors: FloatArray) -> npt.NDArray[np.uint8]:
    """Convert colors, clipped to 0 to 1, to integers from 0 to 255."""
    found = np.minimum(np.maximum(number_or_not(colors), 0.0), 1.0)
    return np.rint(found * 255.0).astype(np.uint8)


def number_or_not(colors: FloatArray) -> FloatArray:
    """Return colors with NaN replaced by magenta."""
    return np.where(np.isnan(colors), NOT_A_NUMBER, colors)


def linear(colors: FloatArray) -> FloatArray:
    """Convert sRGB colors to linear light, 0 to 1."""
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def luminance(colors: FloatArray) -> FloatArray:
    """Return the relative luminance of sRGB colors (WCAG 2)."""
    return np.asarray(linear(colors) @ np.array([0.2126, 0.7152, 0.0722]))


def contrast(colors: FloatArray, others: FloatArray) -> FloatArray:
    """Return the contrast ratio of sRGB colors, from 1 to 21 (WCAG 2)."""
    a, b = luminance(colors), luminance(others)
    return np.asarray((np.maximum(a, b) + 0.05) / (np.minimum(a, b) + 0.05))


def faded(colors: FloatArray, bright: FloatArray | float, ground: FloatArray) -> FloatArray:
    """Blend colors with the background; `bright` is their weight, from 0 to 1."""
    return np.asarray(ground + bright * (colors - ground))


# On dark and on light backgrounds. The first ones are not the blue and orange of signed numbers.
CLASSES_ON_DARK = "#00cba5", "#a855b5", "#f6ea45", "#cf3f35", "#bd9cff", "#ff9a2a", "#e8f0ff"
CLASSES_ON_LIGHT = "#009a7a", "#8a1c6a", "#a88600", "#20242c", "#8f7cf5", "#7a4a10", "#003a90"


def class_colors(classes: object, ground: str) -> FloatArray:
    """Return the sRGB color of each class index, from 0 to 1, in an additional last axis.

    Classes beyond the available colors get lighter colors on dark `ground` and darker colors on
    light ground. NaN is magenta.
    """
    numbers = np.asarray(classes, np.float64)
    is_dark = bool(rgb((ground,)).mean() < 0.5)
    known = rgb(CLASSES_ON_DARK if is_dark else CLASSES_ON_LIGHT)
    times, place = np.divmod(np.nan_to_num(numbers).astype(np.int64), len(known))
    part = 0.5 ** times[..., np.newaxis]
    colors = part * known[place] + (1.0 - part) * float(is_dark)
    return number_or_not(np.where(np.isnan(numbers)[..., np.newaxis], np.nan, colors))


@dataclass(frozen=True)
class ControlColors:
    """Colors of the controls of a window."""

    ground: str
    panel: str
    raised: str
    edge: str
    ink: str
    quiet: str
    faint: str
    accent: str
    on_accent: str


@dataclass(frozen=True)
class Theme:
    """Colors of one theme, as "#rrggbb" or "#rrggbbaa".

    Attributes:
        map: color map of numbers, which also holds the background of the picture
        answers: color map of answers such as yes and no
        sides: colors of samples whose target is no or yes, on the map of answers
        pool: color of the pool of light in the middle, added to the background
        tray: background of empty items
        shelf: trays below cubes, with alpha
        glass: an empty glass sphere
        shadow: shadows of cubes and spheres, with alpha
        channels: red, green and blue
        ink: text
        soft: sentences
        quiet: less important text
        faint: minor lines
        former: previous values
        worse: a number that has not improved
        accent: pinned and selected items, and buttons
        light: the current computation
        push: gradient arrows on cubes
        wire: wires
        lit: highlighted wires
        panel: background of texts and curves
        rim: border of panels
        chip: background of buttons
        ghost: curve of another branch
        metric: curve of a metric such as the accuracy
        loss: curve of the loss
        controls: colors of the window's controls
    """

    name: str
    map: ColorMap
    answers: ColorMap
    sides: tuple[str, str]
    pool: str
    tray: str
    shelf: str
    glass: str
    shadow: str
    channels: tuple[str, str, str]
    ink: str
    soft: str
    former: str
    worse: str
    quiet: str
    faint: str
    accent: str
    light: str
    push: str
    lit: str
    wire: str
    panel: str
    rim: str
    chip: str
    ghost: str
    metric: str
    loss: str
    controls: ControlColors

    @cached_property
    def signs(self) -> tuple[str, str]:
        """The colors of the largest negative and the largest positive number."""
        return self.map.negative, self.map.positive

    @cached_property
    def ground(self) -> str:
        return self.map.background

    @property
    def no_yes(self) -> tuple[str, str]:
        """Colors of text and lines for no and yes."""
        return self.answers.negative, self.answers.positive

    number: ClassVar[str] = NUMBER
    halo: ClassVar[str] = HALO

    @cached_property
    def on_faces(self) -> tuple[str, str]:
        """Colors of numbers on cube faces: on weak colors, and on colors beyond `borders`."""
        return (NUMBER, DARK_NUMBER) if self.is_dark else (DARK_NUMBER, NUMBER)

    @cached_property
    def borders(self) -> tuple[float, float]:
        """Fractions of the strongest color beyond which the second color of `on_faces` is used.

        The first fraction is for negative values, the second for positive values; 2 means never.
        """
        places, (weak, strong) = np.linspace(0.0, 1.0, 501), rgb(self.on_faces)
        faces = self.map(np.stack([-places, places]))
        changes = contrast(faces, strong) > contrast(faces, weak)
        found = [float(places[row.argmax()]) if row.any() else 2.0 for row in changes]
        return found[0], found[1]

    def on_face(self, share: float) -> str:
        """Return the text color for a cube face that has `share` of the strongest color."""
        return self.on_faces[int(abs(share) >= self.borders[int(share > 0.0)])]

    @cached_property
    def is_dark(self) -> bool:
        return float(rgb((self.ground,)).mean()) < 0.5


THEMES = table(
    [
        Theme(
            "dark",
            MAPS["dark"],
            MAPS["answers on dark"],
            ("#2cb2aa", "#dee858"),
            pool="#0a0e18",
            tray="#131820",
            shelf="#96aad22b",
            glass="#222630",
            shadow="#020408bf",
            channels=("#ff5c5c", "#58dc6e", "#605cff"),
            ink="#f0f4fa",
            soft="#ced6e2",
            former="#bec6d2",
            worse="#ff8fa3",
            quiet="#9ea9b9",
            faint="#39424f",
            accent="#a78bfa",
            light="#f0f4fa",
            push="#a78bfa",
            lit="#fff0c8",
            wire="#556072",
            panel="#181e28e8",
            rim="#2b3442",
            chip="#1e2530",
            ghost="#6b7686",
            metric="#62cfa6",
            loss="#f08cbc",
            controls=ControlColors(
                ground="#0e1116",
                panel="#151a21",
                raised="#262e39",
                edge="#343d4a",
                ink="#e6e9ee",
                quiet="#9aa4b2",
                faint="#646e7c",
                accent="#8f6cf0",
                on_accent="#0e1116",
            ),
        ),
        Theme(
            "light",
            MAPS["light"],
            MAPS["answers on light"],
            ("#7adccf", "#e8ee78"),
            pool="#0c0a06",
            tray="#fafbfc",
            shelf="#4a62902e",
            glass="#e4e8ef",
            shadow="#1c284638",
            channels=("#d62839", "#15913a", "#4a3df0"),
            ink="#161c26",
            soft="#323a48",
            former="#68707e",
            worse="#ce1e46",
            quiet="#545e6e",
            faint="#c3cad4",
            accent="#6b46d9",
            light="#000000",
            push="#4a22c8",
            lit="#3d2f00",
            wire="#a2abb8",
            panel="#f6f7f9e8",
            rim="#dfe3e9",
            chip="#e8ecf2",
            ghost="#8d97a5",
            metric="#0b7350",
            loss="#b3266b",
            controls=ControlColors(
                ground="#ffffff",
                panel="#f4f5f7",
                raised="#ffffff",
                edge="#c9ced6",
                ink="#1c2128",
                quiet="#5c6672",
                faint="#969ea9",
                accent="#6b46d9",
                on_accent="#ffffff",
            ),
        ),
    ]
)


# Maps of neurons.

# Minus and plus by theme, at these fractions of the strongest number.
HEAT = {
    "dark": (
        ("#4a5260", "#2c5c96", "#2288f0", "#68b2ff"),
        ("#4a5260", "#96582c", "#f08422", "#ffb05c"),
    ),
    "light": (
        ("#ced4dc", "#92bce8", "#2f86e4", "#0a5fc8"),
        ("#ced4dc", "#ecc096", "#ee8a2c", "#c45e00"),
    ),
}
STOPS = (0.0, 0.35, 0.8, 1.0)
SHADES = 511  # including the shade of 0 in the middle


@lru_cache(maxsize=4)
def heat_of(theme: str) -> npt.NDArray[np.uint8]:
    """Return a color map of heat maps from -1 to 1 as bytes, (SHADES, 4); hue shows the sign."""
    parts = np.linspace(-1.0, 1.0, SHADES)
    minus, plus = (
        np.stack([np.interp(np.abs(parts), STOPS, each) for each in rgb(names).T], axis=1)
        for names in HEAT[theme]
    )
    colors = np.where(parts[:, np.newaxis] < 0.0, minus, plus)
    return np.column_stack([to_bytes(colors), np.full(SHADES, 255, np.uint8)])


def shaded(parts: FloatArray, table: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Look up the colors of numbers from -1 to 1 in an evenly spaced table."""
    places = 0.5 * (len(table) - 1) * (1.0 + parts) + 0.5
    return table[places.clip(0, len(table) - 1).astype(np.int16)]
