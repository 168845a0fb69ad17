"""Canvas2D: a canvas for shapes, text and small images, independent of OpenGL.

Shapes are drawn in the order of the calls. Coordinates are logical pixels from the top left corner,
x to the right and y down. Depths are window depths, from -1 (in front of everything) to 1. A canvas
can be filled and tested without a display.

Each shape is a quadrilateral, a row of 24 numbers, which the shaders of
`scalarviz.scene.canvas.renderer` turn into a shape with smooth edges: discs, lines, letters and
images are drawn by one program from one array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from math import cos, inf, isfinite, isnan, sin
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from scalarviz.errors import InputError
from scalarviz.scene.canvas.fonts import TextLayout, layout, shortened, width_of
from scalarviz.scene.canvas.palette import NOT_A_NUMBER, to_bytes

Floats = npt.NDArray[np.float32]
Color = str | Sequence[float] | npt.NDArray[np.floating] | None
Packed = tuple[float, float]
T = TypeVar("T")
Numbers = float | Sequence[float] | Sequence[Sequence[float]] | npt.NDArray[np.floating]

# One corner of a quadrilateral, in logical pixels. vispy supports only float32 attributes.
VERTEX = np.dtype(
    [
        ("a_place", np.float32, 4),  # centre, half of width and height
        ("a_axis", np.float32, 4),  # direction of its x axis, depth at its start and its end
        ("a_extra", np.float32, 4),  # depends on the kind
        ("a_style", np.float32, 4),  # corner radius, outline width, kind + corner, hatch
        ("a_clip", np.float32, 4),  # left, top, right, bottom
        ("a_color", np.float32, 4),  # fill and outline: 256 * red + green, 256 * blue + alpha
    ]
)
MIDDLE, HALF, AXIS, DEPTH = slice(0, 2), slice(2, 4), slice(4, 6), slice(6, 8)
EXTRA, CLIP, FILL, OUTLINE = slice(8, 12), slice(16, 20), slice(20, 22), slice(22, 24)
RADIUS, LINE, KIND, HATCH = range(12, 16)
COLUMNS = VERTEX.itemsize // 4

# Kinds of shapes, in steps of four: the number of the corner is added.
BOX = 0.0
CAPSULE = 4.0  # extra: at start and end, normal of the line that cuts it off
ARROW = 8.0  # extra: length of the head, half of the width of the shaft
LETTER = 12.0  # extra: left, top, right and bottom in the atlas, in pixels
# extra: left, top, right and bottom of the visible part of the image, each from 0 to 1; corner
# radius and outline width contain the direction of its y axis, hatch the corner radius
IMAGE = 16.0
SMOOTH = 20.0  # an image interpolated between its pixels
CORNERS = np.arange(4, dtype=np.float32)
TRIANGLES = np.array([0, 1, 2, 2, 1, 3], np.uint32)
WHOLE = np.array([2, 3, 2, 3])  # indices of width and height of a sheet position, twice


Pixels = npt.NDArray[np.uint8]  # (rows, columns, 3 or 4), colors premultiplied by alpha


class Quads:
    """A growing list of quadrilaterals."""

    def __init__(self) -> None:
        self.count = 0
        # Texts are expanded to letters at the end; each is stored with its first quadrilateral.
        self._groups: list[tuple[int, Floats]] = []
        self._texts: list[Floats] = []
        self._text_at: list[int] = []
        self._layouts: list[TextLayout] = []
        self.images: list[tuple[int, int, Pixels]] = []  # first and last quadrilateral + 1

    def put_images(self, rows: Floats, image: Pixels) -> None:
        """Append one quadrilateral per row, each showing a part of the same image."""
        before = self.count
        self.put_many(rows)
        self.images += [(before, self.count, image)] * (self.count > before)

    def put_many(self, rows: Floats) -> None:
        """Append one quadrilateral for each row with a finite position."""
        if not isfinite(np.add.reduce(rows[:, :6], None)):
            rows = rows[np.isfinite(rows[:, :6]).all(axis=1)]
        if len(rows):
            self._groups += [(self.count, rows)]
            self.count += len(rows)

    def put_texts(self, rows: Floats, words: list[TextLayout]) -> None:
        """Append one quadrilateral per letter; each text is anchored at the center in its row."""
        if not isfinite(np.add.reduce(rows[:, MIDDLE], None)):
            there = np.flatnonzero(np.isfinite(rows[:, MIDDLE]).all(axis=1)).tolist()
            rows, words = rows[there], [words[i] for i in there]
        counts = [len(each.glyphs) for each in words]
        self._texts += [rows]
        self._text_at += [*accumulate(counts[:-1], initial=self.count)][: len(words)]
        self._layouts += words
        self.count += sum(counts)

    def put_part(self, rows: Floats, images: list[tuple[int, int, Pixels]]) -> None:
        """Append quadrilaterals of another list, given as rows and images."""
        self.images += [(self.count + at, self.count + end, image) for at, end, image in images]
        self._groups.append((self.count, rows))
        self.count += len(rows)

    def rows(self, ratio: float) -> Floats:
        """Return all rows, shape (count, 24); `ratio` is the device pixels per logical pixel."""
        rows = np.empty((self.count, COLUMNS), np.float32)
        for start, group in self._groups:
            rows[start : start + len(group)] = group
        if self._texts:
            letters_of = [words.glyphs for words in self._layouts]
            counts, glyphs = np.array([*map(len, letters_of)]), np.concatenate(letters_of)
            letters = np.repeat(np.concatenate(self._texts), counts, axis=0)
            letters[:, MIDDLE] += glyphs[:, :2] / np.float32(ratio)
            letters[:, HALF] = glyphs[:, 2:4] / np.float32(ratio)
            letters[:, EXTRA] = glyphs[:, 4:]
            first = np.array(self._text_at) - np.cumsum(counts) + counts
            rows[np.repeat(first, counts) + np.arange(len(glyphs))] = letters
        return rows

    def vertices(self, ratio: float, places: Sequence[Floats] = ()) -> npt.NDArray[np.void]:
        """Return four vertices (`VERTEX`) per quadrilateral.

        Args:
            places: left, top, width and height of each image as fractions of a common texture; by
                default each image has its own texture
        """
        rows = self.rows(ratio)
        for (first, stop, _), place in zip(self.images, places, strict=False):
            rows[first:stop, EXTRA] = place[[0, 1, 0, 1]] + rows[first:stop, EXTRA] * place[WHOLE]
        corners = np.repeat(rows, 4, axis=0)
        corners.reshape(-1, 4, COLUMNS)[:, :, KIND] += CORNERS
        return corners.view(VERTEX)[:, 0]


def column(numbers: Numbers) -> npt.NDArray[np.float64]:
    """Return a 1D array as a column, for assignment to several columns; leave others unchanged."""
    values = np.asarray(numbers, np.float64)
    return values[:, None] if values.ndim == 1 else values


def rows_at(
    middle: object,
    clip: tuple[float, float, float, float],
    fill: Color,
    outline: Color,
    line: Numbers,
) -> Floats:
    """Return rows for boxes with the given centers, shape (n, 2), in front of everything."""
    xy = np.asarray(middle, np.float64).reshape(-1, 2)
    rows = np.zeros((len(xy), COLUMNS), np.float32)
    rows[:, MIDDLE] = xy
    rows[:, AXIS] = (1.0, 0.0)
    rows[:, DEPTH] = -1.0
    rows[:, CLIP] = clip
    rows[:, FILL] = packed_many(fill)
    if outline is not None:
        rows[:, OUTLINE] = packed_many(outline)
        rows[:, LINE] = line
    return rows


def parallelograms(rows: Floats, corners: npt.NDArray[np.floating]) -> Floats:
    """Set image rows to corners, shape (n, 3, 2): upper left, upper right and lower left."""
    first, right, down = corners[:, 0], corners[:, 1], corners[:, 2]
    across, below = right - first, down - first
    wide, high = np.hypot(*across.T)[:, None], np.hypot(*below.T)[:, None]
    rows[:, MIDDLE] = (right + down) / 2
    rows[:, HALF.start : HALF.start + 1], rows[:, HALF.start + 1 : HALF.stop] = wide / 2, high / 2
    with np.errstate(invalid="ignore", divide="ignore"):  # edge-on: not finite, not drawn
        rows[:, AXIS], rows[:, [RADIUS, LINE]] = across / wide, below / high
    return rows


def color(value: Color) -> tuple[float, float, float, float]:
    """Convert "#rrggbb", "#rrggbbaa" or 3 or 4 numbers to red, green, blue, alpha, 0 to 1.

    None is transparent. Raises InputError for anything else.
    """
    if value is None:
        return (0.0, 0.0, 0.0, 0.0)
    try:
        if isinstance(value, str):
            parts = [byte / 255.0 for byte in bytes.fromhex(value[1:] if value[0] == "#" else "")]
        else:
            parts = [float(part) for part in value]
        red, green, blue, alpha = parts if len(parts) == 4 else (*parts, 1.0)
    except (TypeError, ValueError, IndexError):
        raise InputError(
            f'{value!r} is not a colour: write "#rrggbb", "#rrggbbaa" or 3 or 4 numbers from 0 to 1'
        ) from None
    return (red, green, blue, alpha)


def packed(value: Color) -> Packed:
    """Return a color as (256 * red + green, 256 * blue + alpha), each channel from 0 to 255."""
    parts = value.tolist() if isinstance(value, np.ndarray) else value
    return packed_name(tuple(parts) if isinstance(parts, list) else parts)


@lru_cache(maxsize=4096)
def packed_name(value: Color) -> Packed:
    """Return `packed(value)` of a hashable color, cached."""
    parts = color(value)
    if any(map(isnan, parts)):
        parts = (*NOT_A_NUMBER, 1.0)
    red, green, blue, alpha = (round(255.0 * min(max(part, 0.0), 1.0)) for part in parts)
    return (256.0 * red + green, 256.0 * blue + alpha)


@lru_cache(maxsize=4096)
def packed_pair(fill: Color, outline: Color) -> tuple[float, ...]:
    """Return the concatenated `packed` values of two hashable colors."""
    return packed(fill) + packed(outline)


def packed_many(value: Color) -> Packed | Floats:
    """Return `packed(value)` of one color; for an array (n, 3) or (n, 4), its shape is (n, 2)."""
    if value is None or isinstance(value, str):
        return packed_name(value)
    if np.ndim(value) == 1:
        return packed(value)
    parts = color_bytes(value).astype(np.float32)
    return 256.0 * parts[..., ::2] + parts[..., 1::2]


def color_bytes(colors: object) -> npt.NDArray[np.uint8]:
    """Convert colors from 0 to 1, shape (..., 3 or 4), to uint8, shape (..., 4)."""
    values = np.asarray(colors, np.float64)
    if values.ndim < 2 or values.shape[-1] not in (3, 4):
        raise InputError(f"an array of colours is (..., 3 or 4), not {values.shape}")
    parts = np.empty((*values.shape[:-1], 4), np.uint8)
    parts[..., :3], parts[..., 3] = to_bytes(values[..., :3]), 255
    if values.shape[-1] == 4:
        parts[..., 3] = np.round(255.0 * np.clip(values[..., 3], 0.0, 1.0))
    return parts


def image_bytes(colors: object) -> npt.NDArray[np.uint8]:
    """Return an image, shape (rows, columns, 3 or 4) from 0 to 1, as premultiplied bytes.

    A uint8 array is taken as already converted and returned unchanged.
    """
    if isinstance(colors, np.ndarray) and colors.dtype == np.uint8:
        return colors
    pixels = color_bytes(colors)
    if pixels.ndim != 3 or not pixels.size:
        raise InputError(
            f"an image is (rows, columns, 3 or 4) with pixels, not {np.asarray(colors).shape}"
        )
    if pixels[..., 3].min() < 255:
        pixels[..., :3] = np.round(pixels[..., :3] * (pixels[..., 3:] / 255.0))
    return pixels


def sheet_of(tiles: npt.NDArray[Any], columns: int) -> npt.NDArray[Any]:
    """Tile images, shape (n, rows, columns, channels), in `columns` columns; return one image."""
    count, high, wide, depth = tiles.shape
    columns = min(columns, count)
    rows = -(-count // columns)
    whole = np.pad(tiles, ((0, rows * columns - count), (0, 0), (0, 0), (0, 0)))
    placed = whole.reshape(rows, columns, high, wide, depth).swapaxes(1, 2)
    return placed.reshape(rows * high, columns * wide, depth)


def joins(xy: npt.NDArray[np.float64], width: float) -> npt.NDArray[np.float64]:
    """Return where each segment of a polyline, given as (n, 2) points, is cut at its joins.

    Segments have round ends. At a join, both segments are cut along the bisector of their angle.
    Otherwise a transparent line would be darker there, and the edge of a thin line jagged. Returns
    shape (n - 1, 4): the normals of the cuts at start and end, in the coordinates of each segment.
    The normals are zero if the next segment is too short for a sharp turn.
    """
    ahead = xy[1:] - xy[:-1]
    length = np.hypot(*ahead.T)
    ahead /= length[:, None]
    before, after = ahead[:-1], ahead[1:]
    normal = before + after
    size = np.hypot(*normal.T)
    straight = size / 2  # cosine of half the turn
    room = np.minimum(length[:-1], length[1:]) * straight
    cut = room > width * np.sqrt(np.clip(1.0 - straight**2, 0.0, None))
    normal = np.where(cut[:, None], normal / np.where(cut, size, 1.0)[:, None], 0.0)
    cuts = np.zeros((len(ahead), 4))
    for column, pieces, of in [(0, slice(1, None), after), (2, slice(-1), before)]:
        cuts[pieces, column] = normal[:, 0] * of[:, 0] + normal[:, 1] * of[:, 1]
        cuts[pieces, column + 1] = normal[:, 1] * of[:, 0] - normal[:, 0] * of[:, 1]
    return cuts


# The canvas.

Four = tuple[float, float, float, float]
Cuts = npt.NDArray[np.float64] | float

EVERYWHERE = (-1e9, -1e9, 1e9, 1e9)
HALO = 2.5  # logical pixels around a letter
TURN = 0.2  # seconds; a number that changes more often is unreadable
SPREAD = 0.618  # offset between the turns of successive parts, in turns
HEAD = 0.42  # half the width of an arrowhead, relative to its length


class Canvas2D:
    """A canvas of width x height logical pixels; `ratio` is the device pixels per logical pixel.

    `scale` is its text size relative to a picture of 1280 x 800. `parts` caches parts of earlier
    pictures. `now` is the time in seconds, used to update cached parts in turn, or None.
    """

    def __init__(
        self,
        width: float,
        height: float,
        ratio: float = 1.0,
        scale: float = 1.0,
        parts: dict[str, Any] | None = None,
        now: float | None = None,
    ) -> None:
        self.parts, self.now, self._turns = parts, now, 0.0
        self.width = width
        self.height = height
        self.ratio = ratio
        self.scale = scale
        self.words: list[str] = []
        self._clip = EVERYWHERE
        self._quads = Quads()

    @property
    def images_in(self) -> list[Pixels]:
        """The images of the canvas, in drawing order."""
        return [image for _, _, image in self._quads.images]

    def vertices(self, places: Sequence[Floats] = ()) -> npt.NDArray[np.void]:
        """Return four vertices (`VERTEX`) per shape; `places` is as in `Quads.vertices`."""
        return self._quads.vertices(self.ratio, places)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: Color,
        *,
        radius: float = 0.0,
        outline: Color = None,
        line: float = 1.0,
        depth: float = -1.0,
        angle: float = 0.0,
    ) -> None:
        """Draw a rectangle with rounded corners, rotated clockwise by `angle` radians.

        The outline is inside the edge.
        """
        place = (x + width / 2, y + height / 2, width / 2, height / 2)
        axis = (cos(angle), sin(angle)) if angle else (1.0, 0.0)
        style = (radius, line if outline is not None else 0.0, BOX, 0.0)
        self._quads.put_many(self._row(place, style, fill, outline, depth, axis))

    def image(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colors: npt.NDArray[np.floating | np.uint8],
        *,
        smooth: bool = False,
        outline: Color = None,
        depth: float = -1.0,
    ) -> None:
        """Draw an image, shape (rows, columns, 3 or 4) from 0 to 1, with the first row at the top.

        If an image is drawn often, convert it once with `image_bytes`. `smooth` interpolates
        between pixels. The outline is inside the edge and one pixel wide.
        """
        corners = np.array([[(x, y), (x + width, y), (x, y + height)]])
        self.images(corners, colors, np.array([[0.0, 0.0, 1.0, 1.0]]), depth=depth, smooth=smooth)
        if outline is not None:
            self.box(x, y, width, height, None, outline=outline, depth=depth)

    def images(
        self,
        corners: npt.NDArray[np.floating],
        colors: npt.NDArray[np.floating | np.uint8],
        parts: npt.NDArray[np.floating],
        *,
        depth: Numbers = -1.0,
        radius: Numbers = 0.0,
        smooth: bool = False,
    ) -> None:
        """Draw parts of one image; `parts`, (n, 4), has left, top, right and bottom from 0 to 1.

        Corners are as in `parallelograms`. `depth` may be (n, 2), for left and right. `radius`
        rounds the corners of rectangles. `smooth` interpolates between pixels.
        """
        rows = parallelograms(rows_at(corners[:, 0], self._clip, "#ffffff", None, 0.0), corners)
        rows[:, DEPTH] = column(depth)
        rows[:, EXTRA] = parts
        rows[:, KIND] = SMOOTH if smooth else IMAGE
        rows[:, HATCH] = radius
        self._quads.put_images(rows, image_bytes(colors))

    def discs(
        self,
        xy: Numbers,
        radius: Numbers,
        fill: Color,
        *,
        outline: Color = None,
        line: Numbers = 1.0,
        depth: Numbers = -1.0,
        hatch: Numbers = 0.0,
    ) -> None:
        """Draw discs around (n, 2) points; other arguments are scalars or have n rows.

        The outline is inside the edge. `hatch` is the strength of the stripes.
        """
        self._put(xy, column(radius), fill, radius, outline, line, depth, hatch)

    def boxes(
        self,
        xy: Numbers,
        size: Numbers,
        fill: Color,
        *,
        radius: Numbers = 0.0,
        outline: Color = None,
        line: Numbers = 1.0,
        depth: Numbers = -1.0,
    ) -> None:
        """Draw boxes given by their (n, 2) top left corners; `size` is (2,) or (n, 2)."""
        half = np.asarray(size) / 2
        self._put(np.asarray(xy) + half, half, fill, radius, outline, line, depth)

    def arrows(
        self,
        start: Numbers,
        end: Numbers,
        color: Color,
        *,
        width: Numbers = 1.5,
        head: Numbers = 6.0,
        depth: Numbers = -1.0,
    ) -> None:
        """Draw arrows from (n, 2) to (n, 2) points; other arguments are scalars or have n rows.

        Arrowheads have the length `head`; an arrow shorter than that is drawn as a head only.
        """
        rows, length = self._rows_between(start, end, color, depth)
        heads = np.minimum(np.asarray(head, np.float64), length)
        half = np.asarray(width, np.float64) / 2.0
        rows[:, HALF.start], rows[:, HALF.start + 1] = length / 2.0, np.maximum(HEAD * heads, half)
        rows[:, EXTRA.start] = heads
        rows[:, EXTRA.start + 1] = half
        rows[:, KIND] = ARROW
        self._quads.put_many(rows[length > 0.0])

    def segments(
        self,
        start: Numbers,
        end: Numbers,
        color: Color,
        *,
        width: Numbers = 1.0,
        depth: Numbers = -1.0,
    ) -> None:
        """Draw straight lines with round ends between (n, 2) points; depth may be per end."""
        self._capsules(start, end, color, width, depth, 0.0)

    def line(
        self, points: Numbers, color: Color, *, width: float = 1.0, depth: Numbers = -1.0
    ) -> None:
        """Draw a polyline through (n, 2) points with round joins and ends; NaN interrupts it."""
        xy = np.array(points, np.float64).reshape(-1, 2)
        xy[~np.isfinite(xy)] = np.nan
        depths = np.broadcast_to(np.asarray(depth, np.float64), len(xy))
        moved = np.ones(len(xy), np.bool_)
        moved[1:] = (xy[1:] != xy[:-1]).any(axis=1)
        xy, depths = xy[moved], depths[moved]
        if len(xy) > 1:
            ends = np.empty((len(depths) - 1, 2))
            ends[:, 0], ends[:, 1] = depths[:-1], depths[1:]
            self._capsules(xy[:-1], xy[1:], color, width, ends, joins(xy, width))

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 13.0,
        color: Color = "#ffffff",
        bold: bool = False,
        anchor: str = "left",
        depth: float = -1.0,
        outline: Color = None,
        room: float = inf,
    ) -> float:
        """Draw text with its baseline at y; return its width.

        `anchor` is the position of x in the text: "left", "center" or "right". A line feed starts a
        new line. `outline` is the color of a soft halo. Text wider than `room` is truncated by
        `fit`.
        """
        words = words if room == inf else self.fit(words, room, size=size, bold=bold)
        self.words += [words]
        ratio = self.ratio
        pixels = round(size * ratio) or 1
        letters = layout(words, pixels, bold, anchor, 0)
        if isfinite(x + y):
            # Letters are sharp only on whole device pixels.
            place = (round(x * ratio) / ratio, round(y * ratio) / ratio, 0.0, 0.0)
            style = (0.0, 0.0, LETTER, 0.0)
            if outline is not None:
                halo = layout(words, pixels, bold, anchor, round(HALO * ratio))
                self._quads.put_texts(self._row(place, style, outline, None, depth), [halo])
            self._quads.put_texts(self._row(place, style, color, None, depth), [letters])
        return letters.width / ratio

    def texts(
        self,
        xy: Numbers,
        words: Sequence[str],
        *,
        size: float,
        color: Color,
        bold: bool = False,
        anchor: str = "left",
        depth: Numbers = -1.0,
        outline: Color = None,
    ) -> None:
        """Draw texts at (n, 2) baseline positions, like `text`; `depth` may have n rows."""
        self.words += words
        ratio, pixels = self.ratio, round(size * self.ratio) or 1
        looks = [(color, 0)] if outline is None else [(outline, round(HALO * ratio)), (color, 0)]
        many, places = len(looks), np.asarray(xy, np.float64).reshape(-1, 2)
        rows = rows_at(np.rint(places * ratio) / ratio, self._clip, None, None, 0.0)
        rows[:, DEPTH] = column(depth)
        rows[:, KIND] = LETTER
        rows = np.repeat(rows, many, axis=0)
        for number, (ink, _) in enumerate(looks):
            rows[number::many, FILL] = packed(ink)
        halos = [halo for _, halo in looks]
        letters = [layout(each, pixels, bold, anchor, halo) for each in words for halo in halos]
        self._quads.put_texts(rows, letters)

    def by_turns(
        self, name: str, key: object, draw: Callable[[Canvas2D], T], *, steady: bool = False
    ) -> T:
        """Draw a part of the picture, or reuse it from the cache if it was drawn recently.

        The parts are redrawn in turn, once per `TURN` or when their key changes. If `now` is None,
        each part is redrawn in every picture.

        Args:
            name: name of the part; each part is drawn once per picture
            draw: function that draws on the given canvas; its result is returned
            steady: whether the part changes only with the key
        """
        if self.parts is None or self.now is None:
            return draw(self)
        self._turns += SPREAD
        turn = 0 if steady else int(self.now / TURN + self._turns)
        key = key, turn, self._clip, self.width, self.height, self.ratio
        found = self.parts.get(name)
        if found is None or found[0] != key:
            part = Canvas2D(self.width, self.height, self.ratio, self.scale)
            part._clip = self._clip
            result = draw(part)
            found = key, part.words, part._quads.rows(self.ratio), part._quads.images, result
            self.parts[name] = found
        self.words += found[1]
        self._quads.put_part(found[2], found[3])
        return found[4]

    def measure(self, words: str, *, size: float = 13.0, bold: bool = False) -> float:
        """Return the width of a text, which is the width of its widest line."""
        return width_of(words, round(size * self.ratio) or 1, bold) / self.ratio

    def widest(self, texts: Sequence[str], *, size: float = 13.0, bold: bool = False) -> float:
        """Return the width of the widest text."""
        pixels = round(size * self.ratio) or 1
        return max([width_of(each, pixels, bold) for each in texts]) / self.ratio

    def fit(
        self,
        words: str,
        width: float,
        *,
        size: float = 13.0,
        bold: bool = False,
    ) -> str:
        """Return the text, truncated with "..." to this width if necessary."""
        return shortened(words, width * self.ratio, round(size * self.ratio) or 1, bold)

    def first_fit(
        self, texts: Sequence[str], width: float, *, size: float = 13.0, bold: bool = False
    ) -> str:
        """Return the first text that fits in this width, or the last one if none fits."""
        fits = (each for each in texts if self.measure(each, size=size, bold=bold) <= width)
        return next(fits, texts[-1])

    def wrap(self, words: str, width: float, most: int, *, size: float = 13.0) -> list[str]:
        """Wrap text to at most `most` lines of this width; the last one may end in "..."."""
        lines = self.broken(words.strip(), width, most, size=size)
        return [self.fit(line, width, size=size) for line in lines]

    def broken(
        self,
        words: str,
        width: float,
        most: int | None = None,
        *,
        size: float = 13.0,
        bold: bool = False,
        indent: str = "",
    ) -> list[str]:
        """Wrap text to lines of this width; a single long word may exceed it.

        Args:
            most: maximum number of lines, the last of which contains the rest at any width; None
                means unlimited
            indent: prefix of all lines except the first
        """
        lines = [words[: len(words) - len(words.lstrip())]]
        for word in words.split():
            is_begun = bool(lines[-1].strip())
            longer = f"{lines[-1]} {word}" if is_begun else lines[-1] + word
            fits = not is_begun or self.measure(longer, size=size, bold=bold) <= width
            if fits or len(lines) == most:
                lines[-1] = longer
            else:
                lines.append(indent + word)
        return lines

    @contextmanager
    def clip(self, x: float, y: float, width: float, height: float) -> Iterator[None]:
        """Context manager that clips drawing to this box and to enclosing clips."""
        before = left, top, right, bottom = self._clip
        self._clip = (max(left, x), max(top, y), min(right, x + width), min(bottom, y + height))
        try:
            yield
        finally:
            self._clip = before

    def _row(
        self,
        place: Four,
        style: Four,
        fill: Color,
        outline: Color,
        depth: float,
        axis: tuple[float, float] = (1.0, 0.0),
        extra: Four = (0.0, 0.0, 0.0, 0.0),
    ) -> Floats:
        try:
            colors = packed_pair(fill, outline)  # type: ignore[arg-type]  # or an error
        except TypeError:  # an array or a list is no key
            colors = packed(fill) + packed(outline)
        row = (*place, *axis, depth, depth, *extra, *style, *self._clip, *colors)
        return np.array([row], np.float32)

    def _put(
        self,
        middle: Numbers,
        half: Numbers,
        fill: Color,
        radius: Numbers,
        outline: Color,
        line: Numbers,
        depth: Numbers,
        hatch: Numbers = 0.0,
    ) -> None:
        """Add boxes with rounded corners around (n, 2) points; a large radius gives discs."""
        rows = rows_at(middle, self._clip, fill, outline, line)
        rows[:, DEPTH] = column(depth)
        rows[:, HALF] = half
        rows[:, RADIUS] = radius
        rows[:, HATCH] = hatch
        self._quads.put_many(rows)

    def _capsules(
        self,
        start: Numbers,
        end: Numbers,
        color: Color,
        width: Numbers,
        depth: Numbers,
        cuts: Cuts,
    ) -> None:
        rows, length = self._rows_between(start, end, color, depth)
        radius = np.asarray(width, np.float64) / 2
        rows[:, HALF.start], rows[:, HALF.start + 1] = length / 2 + radius, radius
        rows[:, EXTRA] = cuts
        rows[:, KIND] = CAPSULE
        self._quads.put_many(rows)

    def _rows_between(
        self, start: Numbers, end: Numbers, color: Color, depth: Numbers
    ) -> tuple[Floats, npt.NDArray[np.float64]]:
        """Return rows for shapes along lines between (n, 2) points, and the line lengths."""
        first, last = np.array(start, np.float64, ndmin=2), np.array(end, np.float64, ndmin=2)
        with np.errstate(invalid="ignore"):  # infinity minus infinity gives NaN, which is not drawn
            along, middle = last - first, (first + last) / 2
        length = np.hypot(along[:, 0], along[:, 1])
        rows = rows_at(middle, self._clip, color, None, 0.0)
        is_point = length == 0.0
        along[is_point] = (1.0, 0.0)
        rows[:, AXIS] = along / (length + is_point)[:, None]
        rows[:, DEPTH] = column(depth)
        return rows, length
