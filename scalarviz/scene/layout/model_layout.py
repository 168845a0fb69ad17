"""The places of a followed model's items in a picture, and the lines between them, in pixels.

Columns are the longest paths in the order of the calls. In each frame the spine, the path with most
columns, is one level line; other items are below it, and a frame is aligned by its spine. Lines
that pass other items run in lanes above them. While a picture has too many items, or walls would be
too small, the deepest frames are closed. `model_tree` makes the items.

A structure is plain data, the dict of `Followed.structure`. Therefore these modules need nothing of
the training; the stage reads the structure from the Run of a session.

Coordinates are pixels of a picture with text of 12 pixels, x to the right and y down.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from itertools import chain, pairwise
from math import log, prod, sqrt
from typing import Any, final

from scalarviz.base.texts import text
from scalarviz.scene.layout.model_tree import NAMES, RECURRENT, SIGNS, Edges, Item, Node, tree_of
from scalarviz.scene.layout.model_walls import (
    FEW,
    HIGHEST,
    LABEL,
    LARGEST_CELL,
    LARGEST_FEW,
    MARGIN,
    SMALL,
    THIN,
    WIDEST,
    Arrays,
    Wall,
    closed_wall,
    is_turned,
    text_width,
    wall_of,
)
from scalarviz.scene.layout.plates import FRAME_TITLE

MOST = 40  # items at once
# Rows, pixels between columns, and what the picture is worth relative to one wide row.
ROWS = (
    (1, 26.0, 1.0),
    (1, 18.0, 0.9),
    (1, 12.0, 0.75),
    (2, 26.0, 0.59),
    (2, 18.0, 0.53),
    (3, 20.0, 0.38),
    (4, 20.0, 0.3),
    (5, 20.0, 0.25),
)
AREAS = [120_000.0 * 0.82**i for i in range(22)]  # square pixels of the largest wall
CELL, ENOUGH = 2.0, 90.0  # least cell, or least root of the area of the largest wall
LEAST_SCALE = 0.7  # at which all words are legible
FINEST = 0.66  # pixels of cells below which several share a pixel
RATIO = 24.0  # largest area of a wall relative to the smallest
PAD, SIDE, LANE, FIRST = 11.0, 10.0, 12.0, 9.0  # of frames, and their lanes
NAME = 18.0  # below a wall: its name, to which further lines are added
STACKED, TURN = 12.0, 9.0  # between items of a column, before a turn
EDGES = 9.0  # above repetitions, for their edges behind
LOOP = 15.0  # above an item that repeats, or below the words of several
PORT = 14.0  # most pixels between the ends of lines at one item
LINE = 16.0  # pixels of a line in a chip
RING, ROW, SHORTEST = 19.0, 30.0, 0.35  # a function that is a sign; between rows; of the longest
NUMBERS = 20.0  # below closed repetitions
BRACKET = 14.0  # room for the skip connections of a closed frame
CARD, LETTER = 9.0, 14.0  # margin of a closed frame; room for names of parts
MAP, HEAD_MAP, BESIDE_MAP = 27.0, 40.0, 3.0  # pixels of the maps of a probe, and between them
FOOT = 0.0, 6.0  # corner of the outputs of a probe, from the lower end of their item
ATTENDING = frozenset(("attention", "softmax", "MultiheadAttention"))
JOINING = ["+"], [NAMES["cat"]]  # what skip connections end in
MAPPED = frozenset(("Conv2d", "ConvTranspose2d"))
Point = tuple[float, float]
Arc = tuple[Item, Item]
End = Item | int | None  # of a line in a frame: a child, the leaf outside it comes from, outside


@dataclass(frozen=True)
class Maps:
    """The maps of a probe at an item, as small squares in rows.

    Attributes:
        path: the module that has them; `part`: "maps", "attention" or "output"
        side: pixels of a square
        corners: upper left corners of the squares, which have words above them if there is room
    """

    path: str
    part: str
    side: float
    corners: Sequence[Point]

    @property
    def width(self) -> float:
        return max(x for x, _ in self.corners) + self.side

    @property
    def height(self) -> float:
        return self.corners[-1][1] + self.side


@dataclass
class Place:
    """The place of an item.

    Attributes:
        x, y: left end, and height of the level line through the item
        width, height, up: size, and the part of the height above that line
        wall: the arrays, or None
        corner: the corner of the arrays, from the upper left one of the item
        maps: the maps of a probe, or None; they are centered at the foot of the item
        columns: left end, width, height above and below the line of each column of a frame
        lanes: lane of each line over the content
        row: row of the whole picture
    """

    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    up: float = 0.0
    wall: Wall | None = None
    corner: Point = (0.0, 0.0)
    maps: Maps | None = None
    columns: list[tuple[float, float, float, float]] = field(default_factory=list)
    lanes: dict[tuple[End, End], int] = field(default_factory=dict)
    row: int = 0

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.y - self.up

    @property
    def low(self) -> float:
        """Lower end."""
        return self.y - self.up + self.height

    @property
    def middle(self) -> float:
        return self.x + 0.5 * self.width

    @property
    def top(self) -> float:
        """Height of the content above the level line."""
        return max((up for _, _, up, _ in self.columns), default=0.0)


@dataclass(frozen=True)
class Order:
    """The order of the children of a frame.

    Attributes:
        forward: lines between children, without those back to an earlier one
        entering: lines into children from a leaf outside the frame
        leaving: children with lines out of the frame
        ranks: column of each child; columns: the same, as lists from left to right
        spine: the path with most columns
        is_loop: whether a line leads back to an earlier child
    """

    forward: list[Arc]
    entering: set[tuple[int, Item]]
    leaving: set[Item]
    ranks: dict[Item, int]
    columns: list[list[Item]]
    spine: list[Item]
    is_loop: bool


@dataclass(frozen=True)
class Path:
    """A line from the right end of an item to another item.

    Attributes:
        kind: "wire", "around" (a skip connection) or "loop" (back to an earlier item)
        word: what goes over other items, or ""
    """

    start: Item
    end: Item
    points: Sequence[Point]
    kind: str
    word: str = ""


@final
class ModelLayout:
    """The places of the items of a recorded structure in a box of `width` x `height` pixels.

    Args:
        structure: the recorded structure
        kept: shapes of the recorded arrays by name
        opened: frames that the user opened or closed, by `Item.key`: 0 for a closed frame, else
            the number of the shown repetition, counted from 1 and again after the last one

    Attributes:
        root: the whole model
        places: place of each visible item, and of the root
        tied: which earlier module has an array of an item, in words
        flow: pairs of nodes with a tensor between them, of repetitions only in the first one
        paths: the lines
    """

    def __init__(
        self,
        structure: Mapping[str, Any],
        kept: Arrays,
        width: float = 1232.0,
        height: float = 570.0,
        opened: Mapping[str, int] | None = None,
    ) -> None:
        self.root, self.edges = tree_of(structure)
        self._paths_of = [each["path"] for each in structure["frames"]]
        self._probed: Mapping[str, Arrays] = structure.get("probed", {})
        self.kept, self.width, self.height = kept, width, height
        self.opened = opened or {}
        self.places: dict[Item, Place] = {self.root: Place()}
        self._show_units(self.root)
        self._leaves = {each.id: each for each in self.root.leaves()}
        self.flow = self._edges_shown()
        self.tied = self._names_tied()
        self._order, self._wall = cache(self._made_order), cache(self._made_wall)
        self._choose()
        self.paths = self._paths() if structure["edges"] else []

    # Which frames are open, and how large walls are.

    def _show_units(self, frame: Item) -> None:
        """Choose which repetition of each frame is shown."""
        if frame.units:
            frame.number = ((self.opened.get(frame.key) or 1) - 1) % frame.times
            frame.children = frame.units[frame.number]
        for each in frame.children:
            self._show_units(each)

    def _choose(self) -> None:
        """Close frames, level by level, until the picture has few items of sufficient size."""
        frames = [each for each in self.root.frames() if each is not self.root]
        for each in frames:
            each.is_open = bool(self.opened.get(each.key, True))
        depths = {each: len(each.parents()) for each in frames}
        for level in sorted({*depths.values()}, reverse=True):
            if self.count <= MOST and self._fit() >= 1.0 and self._is_large():
                return
            for each in frames:
                if depths[each] == level:
                    each.is_open = any(self.opened.get(x.key, False) for x in each.frames())
        is_small = self._fit() < LEAST_SCALE and self._probed
        for probed in ({}, self._probed) if is_small else ():  # without maps, if that helps
            self._probed = probed
            self._wall.cache_clear()
            if self._fit() >= LEAST_SCALE:
                break

    @property
    def count(self) -> int:
        """Number of visible items, without open frames."""
        return sum(each.node is not None or not each.is_open for each in self.root.visible())

    def _is_large(self) -> bool:
        """Return whether the cells, or at least the area, of the largest wall can be seen well."""
        walls = [each.wall for each in self.places.values() if each.wall is not None]
        area, cell = max(((x.width * x.height, x.cell) for x in walls), default=(0.0, CELL))
        return cell >= CELL or sqrt(area) >= ENOUGH

    def _fit(self) -> float:
        """Place all items with the largest walls that fit; return the scale, below 1 if none do."""
        best, most = None, 0.0
        for rows, gap, worth in ROWS:
            larger = [area for area in AREAS if sqrt(area) * worth > most]
            scale = partial(self._place, gap=gap, rows=rows)
            first = bisect_left(larger, 1.0, key=scale)
            if first < len(larger):
                best, most = (larger[first], gap, rows), sqrt(larger[first]) * worth
        smallest = [(AREAS[-1], gap, rows) for rows, gap, _ in ROWS]
        return self._place(*(best or max(smallest, key=lambda each: self._place(*each))))

    # Sizes.

    def _areas(self, largest: float) -> dict[Item, float]:
        """Return the area of each visible item with arrays; it grows with their number."""
        shown = [x for x in self.root.visible() if x.kind == "wall" or x.is_closed]
        counts = {x: x.weights for x in shown if x.weights and (x.is_closed or x.has_matrices)}
        most, least = max(counts.values(), default=1), min(counts.values(), default=1)
        power = min(1.0, log(RATIO) / log(most / least)) if most > least else 1.0
        return {each: largest * (count / most) ** power for each, count in counts.items()}

    def _measure(self, item: Item, areas: Mapping[Item, float]) -> Place:
        """Return the place of an item, with its size only."""
        if item.kind in ("wall", "frame"):
            return self._measure_wall(item, areas.get(item, 1.0))
        maps, is_output = self._maps(item, 0.0), item.kind == "output"
        if maps is not None and not is_output:
            up = 0.5 * (maps.height + maps.corners[0][1])
            return Place(width=maps.width, height=maps.height, up=up, maps=maps)
        margin = 14.0 if item.kind == "function" else 16.0
        wide, high = max(map(text_width, item.words)) + margin, LINE * len(item.words) + margin - 10
        wide, high = (RING, RING) if is_ring(item) else (wide, high)
        if maps is not None:
            size = max(wide, maps.width + margin), high + maps.height + BESIDE_MAP
            return Place(width=size[0], height=size[1], up=0.5 * high, maps=maps, corner=FOOT)
        return Place(width=wide, height=high, up=0.5 * high)

    def _measure_wall(self, item: Item, area: float) -> Place:
        """Return the place of a wall or a closed frame, with its size only."""
        made = self._wall(item, area)
        margin = CARD if item.node is None else MARGIN
        left = margin + LETTER * bool(made.parts) + BRACKET * bool(self.skips(item))
        top = low = margin
        if item.units:
            names = (text_width(label, SMALL) for _, _, label in made.labels)
            left, top, low = left + max(names, default=0.0) + 4.0, FRAME_TITLE, NUMBERS
        height = made.height + top + low
        width, maps = made.width + left + margin, self._maps(item, made.width)
        if maps is not None:
            wider = max(0.0, maps.width + 2.0 * margin - width)
            width, height, left = width + wider, height + maps.height + low, left + 0.5 * wider
        return Place(
            width=width, height=height, up=0.5 * height, wall=made, corner=(left, top), maps=maps
        )

    def _maps(self, item: Item, width: float) -> Maps | None:
        """Return the maps of a probe that are shown at an item, or None.

        Args:
            width: width of the arrays of the item
        """
        attends, node = bool(ATTENDING & {item.name, *item.words}), item.node
        is_output = item.kind == "output"
        if item.units or not (attends or is_output or item.is_closed or item.name in MAPPED):
            return None
        path, parts = item.path, ("attention",) if attends else ("maps", "attention")
        parts = ("maps", "output") if is_output else parts
        if node is not None:
            frame = self._paths_of[node["frame"]] if node["frame"] >= 0 else ""
            path = node["path"] if node["path"] or node["arrays"] else frame
        known = self._probed.get(path, {})
        part = next((each for each in parts if each in known), "")
        if not part:
            return None
        side, label = (MAP if part == "maps" else HEAD_MAP), LABEL * (part == "attention")
        count, step = 1 if part == "output" else known[part][0], side + BESIDE_MAP
        columns = 4 if part == "maps" and count * step - BESIDE_MAP <= width else 2
        places = [divmod(number, columns) for number in range(count)]
        corners = [(column * step, row * (step + label) + label) for row, column in places]
        return Maps(path, part, side, corners)

    def _made_wall(self, item: Item, area: float) -> Wall:
        """Return the arrays of an item, or of a closed frame."""
        if item.node is None:
            maps = self._maps(item, 0.0)
            return closed_wall(item, self.kept, area, THIN if maps is None else 0.75 * maps.width)
        room = max(WIDEST, 0.3 * self.width), min(HIGHEST, 0.72 * self.height)
        largest = LARGEST_FEW if self.root.weights <= FEW else LARGEST_CELL
        return wall_of(item.node, self.kept, area, room, largest)

    # Places.

    def _place(self, largest: float, gap: float, rows: int) -> float:
        """Compute all places, with a largest wall of this area.

        Return the scale at which they fit, 0 if this number of rows is impossible.
        """
        self.places = {}
        self._place_frame(self.root, self._areas(largest), gap)
        place = self.places[self.root]
        is_even = rows == 1 or self._wrap(place, rows)
        place.y = place.up
        self._move(self.root)
        return is_even * min(self.width / place.width, self.height / place.height)

    def _place_frame(self, frame: Item, areas: Mapping[Item, float], gap: float) -> None:
        """Place the children of an open frame relative to its left end and its level line."""
        for each in frame.children:
            if each.node is None and each.is_open:
                self._place_frame(each, areas, gap)
            else:
                self.places[each] = self._measure(each, areas)
        place, found, x = Place(), self._order(frame), 0.0
        self.places[frame] = place
        for column in found.columns:
            width = max(max(self.places[each].width, self._label(each)) for each in column)
            place.columns.append((x, width, *self._stack(column, found.spine)))
            for each in column:
                self.places[each].x = x + 0.5 * (width - self.places[each].width)
            x += width + gap
        place.width = max(0.0, x - gap)
        lanes = self._choose_lanes(place, found)
        place.up = place.top + (LANE * lanes + 8.0 if lanes else 0.0)
        bottom = max((down for *_, down in place.columns), default=0.0) + LOOP * found.is_loop
        if frame is not self.root:
            place.up, bottom = place.up + FRAME_TITLE + 0.5 * PAD, bottom + 0.5 * PAD
            place.width = max(place.width + 2.0 * SIDE, self._label(frame) + 16.0)
        place.height = place.up + bottom

    def _stack(self, column: Sequence[Item], spine: Sequence[Item]) -> tuple[float, float]:
        """Place the items of a column, the one on the spine first; return heights up and down."""
        first = next((each for each in column if each in spine), column[0])
        up = self.places[first].up + self._above(first)
        down = -up - STACKED
        for each in sorted(column, key=lambda each: each is not first):
            place = self.places[each]
            place.y = down + STACKED + self._above(each) + place.up
            down = place.low + self._below(each)
        shift = 0.0 if first in spine else 0.5 * (up + down) - up  # centered
        for each in column:
            self.places[each].y -= shift
        return up + shift, down - shift

    def _choose_lanes(self, place: Place, found: Order) -> int:
        """Assign a lane to each line over the content, short lines first; return their number."""
        ranks = found.ranks
        last = max(ranks.values(), default=0)
        entering = sorted(found.entering, key=lambda x: x[0])
        spans: list[tuple[int, int, End, End]] = [
            *((ranks[a], ranks[b], a, b) for a, b in found.forward if ranks[b] - ranks[a] > 1),
            *((-1, ranks[b], a, b) for a, b in entering if ranks[b] > 0),
            *(
                (ranks[a], last + 1, a, None)
                for a in ranks
                if a in found.leaving and ranks[a] < last
            ),
        ]
        used: list[list[tuple[int, int]]] = []
        for first, end, a, b in sorted(spans, key=lambda span: (span[1] - span[0], span[0])):
            if isinstance(a, Item) and self._is_free(ranks, a, end):
                continue
            apart = [all(stop <= first or start >= end for start, stop in lane) for lane in used]
            number = apart.index(True) if True in apart else len(used)
            used += [[]] * (number == len(used))
            used[number] = [*used[number], (first, end)]
            place.lanes[a, b] = number
        return len(used)

    def _is_free(self, ranks: Mapping[Item, int], source: Item, end: int) -> bool:
        """Return whether a level line from a child that is not on the spine meets no other."""
        y = self.places[source].y
        between = [x for x, rank in ranks.items() if ranks[source] < rank < end]
        ends = [(self.places[x].high, self.places[x].low + self._below(x)) for x in between]
        return y > 0.5 and not any(high - LOOP < y < low + 4.0 for high, low in ends)

    @cached_property
    def _breaks(self) -> list[int]:
        """Columns of the root before which one leaf is read, and only there."""
        found = self._order(self.root)
        column = {x: found.ranks[(leaf, *leaf.parents())[-2]] for x, leaf in self._leaves.items()}
        ends = [(a, *sorted((column[a], column[b])), column[b]) for a, b in self.flow]
        over = [
            {(a, end) for a, low, high, end in ends if low < i <= high}
            for i in range(len(found.columns))
        ]
        return [i for i in range(1, len(over)) if [end for _, end in over[i]] in ([], [i])]

    def _wrap(self, root: Place, rows: int) -> bool:
        """Break the columns of the root into rows, where a single line leads to the next one.

        Return False if that is impossible, or a row would be nearly empty.
        """
        cuts = [0]
        for part in range(1, rows):
            free = [each for each in self._breaks if each > cuts[-1]]
            if not free:
                return False
            goal = root.width * part / rows
            cuts.append(min(free, key=lambda column: abs(root.columns[column][0] - goal)))
        head, y, widths = root.up - root.top, 0.0, list[float]()
        for row, (first, end) in enumerate(pairwise([*cuts, len(root.columns)])):
            columns = root.columns[first:end]
            left = columns[0][0] - (16.0 if row else 0.0)
            up, down = max(each[2] for each in columns), max(each[3] for each in columns)
            for each in chain(*self._order(self.root).columns[first:end]):
                place = self.places[each]
                place.row, place.x, place.y = row, place.x - left, place.y + y + up + head - root.up
            widths.append(columns[-1][0] + columns[-1][1] - left + 14.0)
            y += up + down + head + ROW
        root.width, root.height = max(widths), y - ROW
        return min(widths) > SHORTEST * root.width

    def _move(self, frame: Item) -> None:
        """Make the places of the items in a frame absolute."""
        place, side = self.places[frame], 0.0 if frame is self.root else SIDE
        for each in frame.children:
            inner = self.places[each]
            inner.x, inner.y = inner.x + place.x + side, inner.y + place.y
            if each.node is None and each.is_open:
                self._move(each)

    def _label(self, item: Item) -> float:
        """Return the width of the words at an item."""
        if item.node is None and item.is_open:
            badge = 76.0 if item.units else 0.0
            return text_width(" ".join(self.title(item)), bold=True) + badge
        if item.kind in ("wall", "frame") and not item.units:
            small = (text_width(each, SMALL) for each in self.about(item))
            return max([text_width(self.title(item)[0]), *small])
        return 0.0

    def _below(self, item: Item) -> float:
        """Return the height of the words below an item."""
        is_named = item.kind == "wall" or (item.is_closed and not item.units)
        return NAME + LABEL * len(self.about(item)) if is_named else 0.0

    def _above(self, item: Item) -> float:
        """Return the height of a loop above an item, or of the edges behind repetitions."""
        return LOOP if self.repeats(item) else EDGES * bool(item.units)

    # Words.

    def title(self, item: Item) -> tuple[str, str]:
        """Return the name of an item in its model, and its kind."""
        parts = item.path.split(".")
        kind = NAMES.get(item.name, item.name)
        if item.method or not item.path:
            return item.method or kind, ""
        short = parts[-1]
        if short.isdigit():
            short = ".".join([*parts[-2:-1], str(int(short) + item.number)])
            if item.is_closed and item.units:
                short = f"{short}–{int(parts[-1]) + item.times - 1}"
        if item.node is not None and item.name in SIGNS:
            short = f"{item.name} {short}"
        return short, kind if kind.lower() != short.lower() else ""

    def about(self, item: Item) -> list[str]:
        """Return the lines below the name of a wall: its size, and how it is drawn."""
        if item.node is None:
            said = [f"{item.weights:,}"] if item.weights else []
            return [*said, *dict.fromkeys(name for _, _, name in self.skips(item) if name)]
        if item in self.tied:
            return [self.tied[item]]
        settings, times, made = item.node["settings"], item.node["times"], self.places[item].wall
        assert made is not None
        layers, heads = settings.get("num_layers", 1), settings.get("num_heads", 0)
        notes = {
            text("structure.layers", count=layers): layers > 1,
            text("structure.heads", count=heads): heads > 1,
            text("structure.lines", count=made.lines): made.lines > 1,
            text("structure.tiles", count=round(1.0 / made.cell)): made.cell < FINEST,
            text("structure.loop.times", count=times): times > 1 and not self.repeats(item),
        }
        noted = ", ".join(each for each, is_so in notes.items() if is_so)
        return [size_words(item.node), *([noted] if noted else [])]

    def _names_tied(self) -> dict[Item, str]:
        """Return which earlier module has an array of an item, for items with such arrays."""
        first: dict[str, Item] = {}
        pairs = [(x, first.setdefault(name, x)) for x in self.root.leaves() for name in x.arrays]
        named = {x: self.title(other)[0] for x, other in pairs if x is not other}
        return {each: text("structure.tied", name=name) for each, name in named.items()}

    def repeats(self, item: Item) -> bool:
        """Return whether an item reads its own results."""
        return (item.id, item.id) in self.flow

    def skips(self, item: Item) -> list[tuple[int, int, str]]:
        """Return the skip connections in a closed frame.

        Each has the first and the last of the matrices that it goes around, and the words about
        the matrices on the skip connection itself, or "".
        """
        leaves = {each.id: each for each in item.leaves()} if item.is_closed else {}
        matrices = {
            name: index
            for index, each in leaves.items()
            for name, shape in each.arrays.items()
            if len(shape) > 1 and 0 not in shape
        }
        # Each leaf and those from which tensors come to it, the last ones outside of the frame.
        before: dict[int, set[int]] = {}
        found: list[tuple[int, int, str]] = []
        for index, leaf in leaves.items():
            ways = [before.get(a, {a}) for a, b in self.flow if b == index]
            before[index] = {index}.union(*ways)
            if leaf.words[:1] != ["+"] or len(ways) != 2:
                continue
            outer = [way - {*leaves} for way in ways]
            short, long = sorted((a - b for a, b in (ways, ways[::-1])), key=len)
            around = [row for row, i in enumerate(matrices.values()) if i in long]
            if around and (not all(outer) or outer[0] & outer[1]):  # else two inputs meet
                inner = [x for x in item.inside() if {each.id for each in x.leaves()} <= short]
                said = [
                    text("structure.skip.through", name=self.title(x)[0])
                    for x in inner
                    if x.weights
                ]
                found.append((around[0], around[-1], said[0] if said else ""))
        return found

    # Lines.

    def _edges_shown(self) -> Edges:
        """Return the edges of the leaves, without those between repetitions."""
        first: dict[int, int] = {}
        number: dict[tuple[int, Item], int] = {}  # of the repetition with a leaf
        folded = [each for each in self.root.frames() if each.units]
        for frame in folded:
            units = [[x.id for each in y for x in each.leaves(every=True)] for y in frame.units]
            heads = [first.get(x, x) for x in units[frame.number]]
            first |= {x: head for unit in units for x, head in zip(unit, heads, strict=True)}
            number |= {(x, frame): i for i, unit in enumerate(units) for x in unit}
        found: Edges = {(x, x): () for x, each in self._leaves.items() if each.name in RECURRENT}
        for (a, b), shape in self.edges.items():
            start, end = first.get(a, a), first.get(b, b)
            ends = [[number.get((x, frame)) for x in (a, b)] for frame in folded]
            is_within = all(None in each or each[0] == each[1] for each in ends)
            if is_within and start in self._leaves and end in self._leaves:
                found.setdefault((start, end), shape)
        return found

    def _made_order(self, frame: Item) -> Order:
        """Return the order of the children of a frame."""
        leaves = [(a, self._leaves[a], self._leaves[b]) for a, b in self.flow]
        lines = [(a, child_of(frame, x), child_of(frame, y)) for a, x, y in leaves]
        inner = [(one, other) for _, one, other in lines if one and other and one is not other]
        entering = {(a, other) for a, one, other in lines if other and not one}
        leaving = {one for _, one, other in lines if one and not other}
        order = called_order(frame.children, inner)
        number = {each: i for i, each in enumerate(order)}
        forward = [(a, b) for a, b in dict.fromkeys(inner) if number[a] < number[b]]
        ranks, spine = ranked(order, forward, {each for _, each in entering})
        columns = [
            [x for x in order if ranks[x] == i] for i in range(1 + max(ranks.values(), default=-1))
        ]
        is_loop = len(forward) < len({*inner})
        return Order(forward, entering, leaving, ranks, columns, spine, is_loop)

    def _paths(self) -> list[Path]:
        """Return the lines, one for each pair of visible items."""
        pairs: dict[Arc, tuple[int, int]] = {}
        for a, b in self.flow:
            start, end = (shown(self._leaves[x]) for x in (a, b))
            if start is not end or a == b:
                pairs.setdefault((start, end), (a, b))
        return [self._path(*ends, *pair) for pair, ends in pairs.items()]

    def _joins(self, source: int, reader: int) -> bool:
        """Return whether a line ends in a sum or concat with what is made from its source."""
        behind = {a for a, b in self.flow if b == reader} - {source, reader}
        while found := {a for a, b in self.flow if b in behind} - {reader, *behind}:
            behind |= found
        return self._leaves[reader].words[:1] in JOINING and source in behind

    def _lane(self, frame: Item, start: End, end: End) -> float | None:
        """Return the height of the lane of a line in a frame, or None."""
        place = self.places[frame]
        number = place.lanes.get((start, end))
        return None if number is None else place.y - place.top - FIRST - LANE * number

    def _path(self, source: int, reader: int, start: Item, end: Item) -> Path:
        """Return the line between two visible items, through the frames around them.

        It leaves the frames of its start, goes to the frame `other` of the common frame, and enters
        the frames of its end, each time in a lane over other items if there are any.
        """
        out, into = start.parents(), end.parents()
        common = next(each for each in out if each in into)
        out, into = out[: out.index(common)], into[: into.index(common)][::-1]
        one, other = [start, *out][-1], [*into, end][0]
        ranks = self._order(common).ranks
        if start is end or ranks[other] <= ranks[one]:
            return Path(start, end, self._loop(start, end), "loop")
        place = self.places[start]
        points = [(place.right, place.y)]
        ends = [(a, shown(self._leaves[a]), shown(self._leaves[b])) for a, b in self.flow]
        sources = {a for a, one, other in ends if other is end and one is not end}
        port = min(PORT, 0.3 * self.places[end].height) if len(sources) > 1 else 0.0
        hops: list[tuple[Item, End, Item | None]] = [
            *((frame, child, None) for frame, child in zip(out, [start, *out], strict=False)),
            (common, one, other),
            *((frame, source, child) for frame, child in pairwise([*into, end])),
        ]
        is_over = False
        for frame, begin, goal in hops:
            lane, place, (x, y) = self._lane(frame, begin, goal), self.places[frame], points[-1]
            if frame is common and self.places[one].row != self.places[other].row:
                points += self._to_next_row(one, self.places[other], y)
            elif lane is not None:
                is_over = True
                if (
                    frame is other
                    and len([a for a, _ in self._order(frame).entering if a == source]) == 1
                ):
                    points.pop()  # enters the frame in its lane
                    points.append((max(points[-1][0], place.x - 2.0 * TURN + 2.0), points[-1][1]))
                else:
                    right = self._column(begin)[1] if isinstance(begin, Item) else x
                    points.append((right + SIDE - 4.0, y))
                points.append((points[-1][0], lane))
            if goal is not None:
                self._arrive(points, goal, port)
            elif lane is not None:
                right = place.right - 6.0
                points += [(right, lane), (right, place.y), (place.right, place.y)]
            else:
                points.append((place.right, y))
        is_over = is_over and sum(a == source for a, _ in self.flow) > 1
        is_skip = is_over and one in self._order(common).spine and self._joins(source, reader)
        name = self.title(start if start.weights else one)[0]
        word = text("structure.skip") if is_skip else name if is_over else ""
        return Path(start, end, points, "around" if is_skip else "wire", word)

    def _arrive(self, points: list[Point], item: Item, port: float) -> None:
        """Lead a line to an item: to its left end, or from above or below to a function.

        A line from above or below ends up to `port` beside the level line.
        """
        place, (x, y) = self.places[item], points[-1]
        high, low = sorted((y, place.y))
        found = self._order(item.parents()[0])
        column = [self.places[x] for x in found.columns[found.ranks[item]] if x is not item]
        is_free = not any(high < each.low and each.high < low for each in column)
        if item.kind == "function" and abs(y - place.y) > 1.0:
            if is_free:
                end = place.high if y < place.y else place.low
                points += [(place.middle, y), (place.middle, end)]
                return
            port = min(PORT, 0.3 * place.height)  # apart from a line on the level
        end = min(max(y, place.y - port), place.y + port)
        if abs(y - end) > 0.5:
            x = max(self._column(item)[0] - TURN, x)
            points += [(x, y), (x, end)]
        points.append((place.x, end))

    def _column(self, item: Item) -> tuple[float, float]:
        """Return the left and the right end of the column of an item, with its words."""
        assert item.parent is not None
        frame, rank = self.places[item.parent], self._order(item.parent).ranks[item]
        middle, half = self.places[item].middle, 0.5 * frame.columns[rank][1]
        return middle - half, middle + half

    def _to_next_row(self, before: Item, after: Place, y: float) -> list[Point]:
        """Return the points from the end of a row to the beginning of the next one."""
        below = [self.places[x] for x in self.root.children if self.places[x].row == after.row]
        above = min(each.high for each in below) - 18.0
        x, left = self._column(before)[1] + 8.0, after.x - 14.0
        return [(x, y), (x, above), (left, above), (left, after.y)]

    def _loop(self, start: Item, end: Item) -> list[Point]:
        """Return the points of a line over an item to its top, or below items to an earlier one."""
        first, last = self.places[start], self.places[end]
        right, left = first.right + TURN, last.x - TURN
        level = max(self.places[x].low + self._below(x) for x in (start, end)) + LOOP - 8.0
        ends = [(left, last.y), (last.x, last.y)]
        if start is end:
            left = first.x + first.corner[0] + min(12.0, 0.25 * first.width)
            level, ends = first.high - LOOP, [(left, first.high)]
        corners = [(right, first.y), (right, level), (left, level)]
        return [(first.right, first.y), *corners, *ends]


# Order of the children of a frame.


def called_order(children: Sequence[Item], arcs: Sequence[Arc]) -> list[Item]:
    """Return the children in topological order; in a loop, the first call is first."""
    calls = {x: -1 if x.kind == "input" else min(each.id for each in x.leaves()) for x in children}
    order: list[Item] = []
    left = dict.fromkeys(children)
    while left:
        waiting = {b for a, b in arcs if a in left}
        ready = [each for each in left if each not in waiting] or [*left]
        order.append(min(ready, key=calls.__getitem__))
        del left[order[-1]]
    return order


def ranked(
    order: Sequence[Item], forward: Sequence[Arc], entered: set[Item]
) -> tuple[dict[Item, int], list[Item]]:
    """Return the column of each child, and the spine.

    A column is the longest path to a child; sources are next to their goals. The spine is the path
    with most columns, and among these with most weights.
    """
    best: dict[Item, tuple[int, int, list[Item]]] = {}
    for each in order:
        before = [best[a] for a, b in forward if b is each]
        length, weight, path = max(before, key=lambda x: x[:2], default=(0, 0, []))
        is_source = each.node is not None and each.node["kind"] in ("input", "noise")
        best[each] = length + 1, weight + each.weights + (not is_source), [*path, each]
    ranks = {each: length - 1 for each, (length, _, _) in best.items()}
    for each in reversed(order):
        after = [ranks[b] for a, b in forward if a is each]
        if after and each not in entered and len(best[each][2]) == 1:
            ranks[each] = max(ranks[each], min(after) - 1)
    return ranks, max(best.values(), key=lambda x: x[:2])[2] if best else []


def child_of(frame: Item, item: Item) -> Item | None:
    """Return the child of a frame that contains an item, or None."""
    return next((x for x in (item, *item.parents()) if x.parent is frame), None)


def shown(leaf: Item) -> Item:
    """Return the visible item that contains a leaf."""
    return next((each for each in leaf.parents()[::-1] if each.is_closed), leaf)


def is_ring(item: Item) -> bool:
    return item.kind == "function" and item.words[0] in SIGNS


def size_words(node: Node) -> str:
    """Return the size of the largest array, units first: 16×8×3² for kernels of 3×3."""
    shape = [*max(node["sizes"], key=prod, default=())]
    if is_turned(node):
        shape[:2] = shape[1::-1]
    is_square = len(shape) == 4 and shape[2] == shape[3]
    return "×".join(map(str, [*shape[:2], f"{shape[2]}²"] if is_square else shape))
