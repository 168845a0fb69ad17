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

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, pairwise
from math import log, prod, sqrt
from typing import Any, final

from scalarviz.base.texts import text
from scalarviz.scene.canvas.fonts import width_of
from scalarviz.scene.layout.model_tree import NAMES, RECURRENT, SIGNS, Edges, Item, tree_of
from scalarviz.scene.layout.model_walls import (
    FEW,
    HIGHEST,
    LARGEST_CELL,
    LARGEST_FEW,
    MARGIN,
    WIDEST,
    Arrays,
    Wall,
    closed_wall,
    wall_of,
)

MOST = 40  # items at once
# Rows, pixels between columns, and what the picture is worth relative to one wide row.
ROWS = (
    (1, 26.0, 1.0),
    (1, 18.0, 0.9),
    (1, 12.0, 0.75),
    (2, 26.0, 0.59),
    (2, 18.0, 0.53),
    (3, 20.0, 0.38),
)
AREAS = [120_000.0 * 0.82**i for i in range(22)]  # square pixels of the largest wall
CELL, ENOUGH = 2.0, 90.0  # least cell, or least root of the area of the largest wall
FINEST = 0.66  # pixels of cells below which several share a pixel
RATIO = 24.0  # largest area of a wall relative to the smallest
PAD, SIDE, TITLE, LANE, FIRST = 11.0, 10.0, 24.0, 12.0, 9.0  # of frames, and their lanes
NAME, LABEL = 18.0, 14.0  # words below a wall: its name, and each further line
STACKED, TURN = 12.0, 9.0  # between items of a column, before a turn
EDGES = 9.0  # above repetitions, for their edges behind
LOOP = 15.0  # below the label of an item that repeats
LETTERS, SMALL, LINE = 12, 11, 16.0  # pixels of text, and of a line in a chip
RING, ROW = 19.0, 30.0  # a function that is a sign; between rows
CLOSED = 10.0, 24.0, 20.0  # margin of closed repetitions, room for the title, for numbers
BRACKET = 26.0  # room for the skip connections of closed repetitions
CARD, LETTER = 8.0, 14.0  # margin of a closed frame; room for names of parts
Point = tuple[float, float]
Arc = tuple[Item, Item]
End = Item | int | None  # of a line in a frame: a child, the leaf outside it comes from, outside


@dataclass
class Place:
    """The place of an item.

    Attributes:
        x, y: left end, and height of the level line through the item
        width, height, up: size, and the part of the height above that line
        wall: the arrays, or None
        columns: left end, width, height above and below the line of each column of a frame
        lanes: lane of each line over the content; None for a line below it
        row: row of the whole picture
    """

    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    up: float = 0.0
    wall: Wall | None = None
    columns: list[tuple[float, float, float, float]] = field(default_factory=list)
    lanes: dict[tuple[End, End], int | None] = field(default_factory=dict)
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
        kind: "wire", "around" (over other items) or "loop" (back to an earlier item)
    """

    start: Item
    end: Item
    points: Sequence[Point]
    kind: str


@final
class ModelLayout:
    """The places of the items of a recorded structure in a box of `width` x `height` pixels.

    Args:
        structure: the recorded structure
        kept: shapes of the recorded arrays by name
        opened: frames that the user opened (True) or closed (False), by `Item.key`

    Attributes:
        root: the whole model
        places: place of each visible item, and of the root
        flow: pairs of nodes with a tensor between them, of repetitions only in the first one
        paths: the lines
        rows: number of rows
    """

    def __init__(
        self,
        structure: Mapping[str, Any],
        kept: Arrays,
        width: float = 1232.0,
        height: float = 570.0,
        opened: Mapping[str, bool] | None = None,
    ) -> None:
        self.root, self.edges = tree_of(structure)
        self.kept, self.width, self.height = kept, width, height
        self.opened = opened or {}
        self.places: dict[Item, Place] = {self.root: Place()}
        self.gap, self.rows = ROWS[0][1], 1
        self._leaves = {each.id: each for each in self.root.leaves()}
        self.flow = self._edges_shown()
        self._tied = self._names_tied()
        self._orders: dict[Item, Order] = {}
        self._walls: dict[tuple[Item, bool, float], Wall] = {}
        self._choose()
        self.paths = [*self._paths()] if structure["edges"] else []

    # Which frames are open, and how large walls are.

    def _choose(self) -> None:
        """Close frames, level by level, until the picture has few items of sufficient size."""
        frames = [each for each in self.root.frames() if each is not self.root]
        for each in frames:
            each.is_open = self.opened.get(each.key, True)
        for level in sorted({each.depth for each in frames}, reverse=True):
            if self.count <= MOST and self._fit() and self._is_large():
                return
            for each in frames:
                if each.depth == level:
                    each.is_open = any(self.opened.get(x.key, False) for x in each.frames())
        self._fit()

    @property
    def count(self) -> int:
        """Number of visible items, without open frames."""
        return sum(each.node is not None or not each.is_open for each in self.root.visible())

    def _is_large(self) -> bool:
        """Return whether the cells, or at least the area, of the largest wall can be seen well."""
        walls = [place.wall for place in self.places.values() if place.wall is not None]
        areas = [(each.width * each.height, each.cell) for each in walls]
        area, cell = max(areas, default=(0.0, CELL))
        return cell >= CELL or sqrt(area) >= ENOUGH

    def _fit(self) -> bool:
        """Place all items with the largest walls that fit; return False if none do."""
        best, most = (AREAS[-1], 12.0, 1), 0.0
        for rows, gap, worth in ROWS:
            first, end = 0, sum(sqrt(area) * worth > most for area in AREAS)
            while first < end:
                middle = (first + end) // 2
                if self._place(AREAS[middle], gap, rows):
                    end = middle
                else:
                    first = middle + 1
            if first < len(AREAS) and self._place(AREAS[first], gap, rows):
                better = sqrt(AREAS[first]) * worth
                best, most = ((AREAS[first], gap, rows), better) if better > most else (best, most)
        return self._place(*best)

    # Sizes.

    def _areas(self, largest: float) -> dict[Item, float]:
        """Return the area of each visible item with arrays; it grows with their number."""
        shown = [x for x in self.root.visible() if x.kind == "wall" or x.is_closed]
        counts = {each: weights_of(each) for each in shown}
        counts = {each: count for each, count in counts.items() if count}
        most, least = max(counts.values(), default=1), min(counts.values(), default=1)
        power = min(1.0, log(RATIO) / log(most / least)) if most > least else 1.0
        return {each: largest * (count / most) ** power for each, count in counts.items()}

    def _measure(self, item: Item, areas: Mapping[Item, float]) -> Place:
        """Return the place of an item, with its size only."""
        if item.kind == "input":
            size = text_width(item.name) + 16.0, 24.0
        elif item.kind == "function":
            wide = max(map(text_width, item.words))
            is_ring = item.words[0] in SIGNS
            size = (RING, RING) if is_ring else (wide + 14.0, LINE * len(item.words) + 4.0)
        else:
            return self._measure_wall(item, areas.get(item, 1.0))
        return Place(width=size[0], height=size[1], up=0.5 * size[1])

    def _measure_wall(self, item: Item, area: float) -> Place:
        """Return the place of a wall or a closed frame, with its size only."""
        made = self._wall(item, area)
        if item.node is not None:
            width = made.width + 2.0 * MARGIN + LETTER * bool(made.parts)
            height = made.height + 2.0 * MARGIN
        elif item.units:
            margin, title, numbers = CLOSED
            names = max((text_width(each, SMALL) for each in row_names(item)), default=0.0)
            width = made.width + 2.0 * margin + names + BRACKET
            height = made.height + title + numbers
        else:
            width, height = made.width + 2.0 * CARD, made.height + 2.0 * CARD
        return Place(width=width, height=height, up=0.5 * height, wall=made)

    def _wall(self, item: Item, area: float) -> Wall:
        """Return the arrays of an item, cached by their area."""
        key = item, item.is_open, area
        if key not in self._walls:
            room = max(WIDEST, 0.3 * self.width), min(HIGHEST, 0.72 * self.height)
            largest = LARGEST_FEW if self.root.weights <= FEW else LARGEST_CELL
            self._walls[key] = (
                wall_of(item.node, self.kept, area, room, largest)
                if item.node is not None
                else closed_wall(item, self.kept, area)
            )
        return self._walls[key]

    # Places.

    def _place(self, largest: float, gap: float, rows: int) -> bool:
        """Compute all places, with a largest wall of this area; return whether they fit."""
        self.gap, self.rows, self.places = gap, rows, {}
        self._place_frame(self.root, self._areas(largest))
        place = self.places[self.root]
        self._wrap(place)
        place.y = place.up
        self._move(self.root)
        return place.width <= self.width and place.height <= self.height

    def _place_frame(self, frame: Item, areas: Mapping[Item, float]) -> None:
        """Place the children of an open frame relative to its left end and its level line."""
        for each in frame.children:
            if each.node is None and each.is_open:
                self._place_frame(each, areas)
            else:
                self.places[each] = self._measure(each, areas)
        place, found, x = Place(), self._order(frame), 0.0
        self.places[frame] = place
        for column in found.columns:
            width = max(max(self.places[each].width, self._label(each)) for each in column)
            place.columns.append((x, width, *self._stack(column, found.spine)))
            for each in column:
                self.places[each].x = x + 0.5 * (width - self.places[each].width)
            x += width + self.gap
        place.width = max(0.0, x - self.gap)
        lanes = self._choose_lanes(place, found)
        place.up = place.top + (LANE * lanes + 8.0 if lanes else 0.0)
        bottom = max((down for *_, down in place.columns), default=0.0) + LOOP * found.is_loop
        if frame is not self.root:
            place.up, bottom = place.up + TITLE + 0.5 * PAD, bottom + 0.5 * PAD
            place.width = max(place.width + 2.0 * SIDE, self._label(frame) + 16.0)
        place.height = place.up + bottom

    def _stack(self, column: Sequence[Item], spine: Sequence[Item]) -> tuple[float, float]:
        """Place the items of a column, the one on the spine first; return heights up and down."""
        first = next((each for each in column if each in spine), column[0])
        inputs = len(column) > 1 and all(each.kind == "input" for each in column)
        down = 0.0
        for each in sorted(column, key=lambda each: each is not first):
            place = self.places[each]
            place.y = down + STACKED + place.up if each is not first else 0.0
            down = place.y - place.up + place.height + self._below(each)
        up = self.places[first].up + EDGES * bool(first.units)
        if inputs or first not in spine:  # centered
            shift = 0.5 * (up + down) - up
            for each in column:
                self.places[each].y -= shift
            return up + shift, down - shift
        return up, down

    def _choose_lanes(self, place: Place, found: Order) -> int:
        """Assign a lane to each line over the content, short lines first; return their number."""
        ranks = found.ranks
        last = max(ranks.values(), default=0)
        spans: list[tuple[int, int, End, End]] = []
        spans += [(ranks[a], ranks[b], a, b) for a, b in found.forward if ranks[b] - ranks[a] > 1]
        spans += [
            (-1, ranks[b], a, b)
            for a, b in sorted(found.entering, key=lambda x: x[0])
            if ranks[b] > 0
        ]
        spans += [
            (ranks[a], last + 1, a, None) for a in ranks if a in found.leaving and ranks[a] < last
        ]
        used: list[list[tuple[int, int]]] = []
        for first, end, a, b in sorted(spans, key=lambda span: (span[1] - span[0], span[0])):
            if isinstance(a, Item) and self._is_free(ranks, a, end):
                place.lanes[a, b] = None
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
        between = [self._outer(x) for x, rank in ranks.items() if ranks[source] < rank < end]
        return y > 0.5 and not any(high - 4.0 < y < low + 4.0 for high, low in between)

    def _outer(self, item: Item) -> tuple[float, float]:
        """Return the upper and lower end of an item with its words."""
        place = self.places[item]
        return place.high, place.low + self._below(item)

    @cached_property
    def _breaks(self) -> list[int]:
        """Columns of the root before which one leaf is read, and only there."""
        found, over = self._order(self.root), defaultdict[int, set[tuple[int, int]]](set)
        for leaf, reader in self.flow:
            one, other = (child_of(self.root, self._leaves[x]) for x in (leaf, reader))
            if one is not None and other is not None:
                start, end = found.ranks[one], found.ranks[other]
                for column in range(1 + min(start, end), 1 + max(start, end)):
                    over[column].add((leaf, end))
        columns = range(1, len(found.columns))
        return [each for each in columns if [end for _, end in over[each]] in ([], [each])]

    def _wrap(self, root: Place) -> None:
        """Break the columns of the root into rows, where a single line leads to the next one."""
        if self.rows == 1 or not root.columns:
            return
        cuts = [0]
        for part in range(1, self.rows):
            free = [each for each in self._breaks if each > cuts[-1]]
            if not free:
                return
            goal = root.width * part / self.rows
            cuts.append(min(free, key=lambda column: abs(root.columns[column][0] - goal)))
        head, wide, y = root.up - root.top, 0.0, 0.0
        for row, (first, end) in enumerate(pairwise([*cuts, len(root.columns)])):
            columns = root.columns[first:end]
            left = columns[0][0] - (16.0 if row else 0.0)
            up, down = max(each[2] for each in columns), max(each[3] for each in columns)
            for each in chain(*self._order(self.root).columns[first:end]):
                place = self.places[each]
                place.row, place.x, place.y = row, place.x - left, place.y + y + up + head - root.up
            wide = max(wide, columns[-1][0] + columns[-1][1] - left + 14.0)
            y += up + down + head + ROW
        root.width, root.height = wide, y - ROW

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
            badge = 46.0 if item.units else 0.0
            return text_width(" ".join(self.title(item)), bold=True) + badge
        if item.kind in ("wall", "frame") and not item.units:
            small = (text_width(each, SMALL) for each in self.about(item))
            return max([text_width(self.title(item)[0]), *small])
        return 0.0

    def _below(self, item: Item) -> float:
        """Return the height of the words below an item."""
        loop = LOOP if self.repeats(item) else 0.0
        if item.kind == "wall" or (item.is_closed and not item.units):
            return NAME + LABEL * len(self.about(item)) + loop
        return loop

    # Words.

    def words_width(self, words: str) -> float:
        """Return the width of a bold text."""
        return text_width(words, bold=True)

    def title(self, item: Item) -> tuple[str, str]:
        """Return the name of an item in its model, and its kind."""
        name = item.method or item.path
        parts = name.split(".")
        kind = NAMES.get(item.name, item.name)
        if item.method or not item.path:
            return item.method or kind, ""
        short = ".".join(parts[-2:]) if parts[-1].isdigit() else parts[-1]
        if item.units and parts[-1].isdigit():
            short = f"{'.'.join(parts[-2:])}–{int(parts[-1]) + item.times - 1}"
        if item.node is not None and item.name in SIGNS:
            short = f"{item.name} {short}"
        return short, kind if kind.lower() != short.lower() else ""

    def about(self, item: Item) -> list[str]:
        """Return the lines below the name of a wall: its size, and how it is drawn."""
        if item.node is None:
            return [f"{item.weights:,}"] if item.weights else []
        tied = self.tied(item)
        if tied:
            return [text("structure.tied", name=tied)]
        found = [size_words(max(item.node["sizes"], key=prod, default=()))]
        if "num_heads" in item.node["settings"]:
            found.append(text("structure.heads", count=item.node["settings"]["num_heads"]))
        made = self.places[item].wall
        assert made is not None
        if made.lines > 1:
            found.append(text("structure.lines", count=made.lines))
        if made.cell < FINEST:
            found.append(f"1 : {round(1.0 / made.cell)}²")
        if item.node["times"] > 1 and not self.repeats(item):
            found.append(text("structure.loop.times", count=item.node["times"]))
        return [found[0], *([", ".join(found[1:])] if found[1:] else [])]

    def tied(self, item: Item) -> str:
        """Return the name of an earlier module that has the same array, or ""."""
        return self._tied.get(item, "")

    def _names_tied(self) -> dict[Item, str]:
        first: dict[str, Item] = {}
        pairs = [
            (each, first.setdefault(x, each)) for each in self.root.leaves() for x in each.arrays
        ]
        return {each: self.title(other)[0] for each, other in pairs if each is not other}

    def repeats(self, item: Item) -> bool:
        """Return whether an item reads its own results."""
        index = -1 if item.node is None else item.node["id"]
        return (index, index) in self.flow

    # Lines.

    def _edges_shown(self) -> Edges:
        """Return the edges of the leaves, without those between repetitions."""
        first: dict[int, int] = {}
        unit: dict[int, dict[Item, int]] = defaultdict(dict)
        for frame in self.root.frames():
            leaves = [[x.id for each in group for x in each.all_leaves()] for group in frame.units]
            for number, group in enumerate(leaves):
                for leaf, head in zip(group, leaves[0], strict=True):
                    unit[leaf][frame] = number
                    first[leaf] = first.get(head, head)
        found: Edges = {(x, x): () for x, each in self._leaves.items() if each.name in RECURRENT}
        for (a, b), shape in self.edges.items():
            start, end = first.get(a, a), first.get(b, b)
            is_within = all(unit[b].get(frame, n) == n for frame, n in unit[a].items())
            if is_within and start in self._leaves and end in self._leaves:
                found.setdefault((start, end), shape)
        return found

    def _order(self, frame: Item) -> Order:
        """Return the order of the children of a frame, cached."""
        if frame not in self._orders:
            inner: dict[Arc, None] = {}
            entering: set[tuple[int, Item]] = set()
            leaving: set[Item] = set()
            for a, b in self.flow:
                one, other = (child_of(frame, self._leaves[x]) for x in (a, b))
                if one is not None and other is not None:
                    inner |= {(one, other): None} if one is not other else {}
                elif other is not None:
                    entering.add((a, other))
                elif one is not None:
                    leaving.add(one)
            order = called_order(frame.children, inner)
            number = {each: i for i, each in enumerate(order)}
            forward = [(a, b) for a, b in inner if number[a] < number[b]]
            ranks = ranked(order, forward, {each for _, each in entering})
            columns = [
                [x for x in order if ranks[x] == i]
                for i in range(1 + max(ranks.values(), default=-1))
            ]
            self._orders[frame] = Order(
                forward, entering, leaving, ranks, columns, spine_of(order, forward),
                len(forward) < len(inner),
            )  # fmt: skip
        return self._orders[frame]

    def _paths(self) -> Iterator[Path]:
        """Yield the lines, one for each pair of visible items."""
        seen = set()
        for a, b in self.flow:
            start, end = (shown(self._leaves[x]) for x in (a, b))
            if (start, end) not in seen and (start is not end or a == b):
                seen.add((start, end))
                yield self._path(a, start, end)

    def _lane(self, frame: Item, start: End, end: End) -> float | None:
        """Return the height of the lane of a line in a frame, or None."""
        place = self.places[frame]
        number = place.lanes.get((start, end))
        return None if number is None else place.y - place.top - FIRST - LANE * number

    def _path(self, source: int, start: Item, end: Item) -> Path:
        """Return the line between two visible items, through the frames around them.

        It leaves the frames of its start, goes to the frame `other` of the common frame, and enters
        the frames of its end, each time in a lane over other items if there are any.
        """
        out, into = parents_of(start), parents_of(end)
        common = next(each for each in out if each in into)
        out, into = out[: out.index(common)], into[: into.index(common)][::-1]
        one, other = [start, *out][-1], [*into, end][0]
        ranks = self._order(common).ranks
        if start is end or ranks[other] <= ranks[one]:
            return Path(start, end, self._loop(start, end), "loop")
        leaving = [
            (frame, self._lane(frame, x, None))
            for frame, x in zip(out, [start, *out], strict=False)
        ]
        inner = [*into[1:], end]
        entering = [
            (frame, x, self._lane(frame, source, x)) for frame, x in zip(into, inner, strict=False)
        ]
        middle = self._lane(common, one, other)
        before, after = self.places[one], self.places[other]
        x, y = self.places[start].right, self.places[start].y
        points = [(x, y)]
        for frame, lane in leaving:
            place = self.places[frame]
            if lane is not None:
                x, right = x + TURN, place.right - 6.0
                points += [(x, y), (x, lane), (right, lane), (right, place.y)]
                y = place.y
            x = place.right
            points.append((x, y))
        if before.row != after.row:
            points += self._to_next_row(before, after, y)
        elif middle is not None:
            x = max(x, before.right) + TURN
            points += [(x, y), (x, middle)]
        self._arrive(points, other)
        for frame, child, lane in entering:
            place, (x, y) = self.places[frame], points[-1]
            if lane is not None and frame is other and self._is_only(source, frame):
                points.pop()  # enters the frame in its lane
                x = max(points[-1][0], place.x - 2.0 * TURN + 2.0)
                points += [(x, points[-1][1]), (x, lane)]
            elif lane is not None:
                x = max(x, place.x) + 6.0
                points += [(x, y), (x, lane)]
            self._arrive(points, child)
        is_over = any(
            each is not None for each in (middle, *(x[-1] for x in (*leaving, *entering)))
        )
        is_skip = is_over and sum(a == source for a, _ in self.flow) > 1
        return Path(start, end, points, "around" if is_skip else "wire")

    def _arrive(self, points: list[Point], item: Item) -> None:
        """Lead a line to an item: to its left end, or from above or below to a function."""
        place, (x, y) = self.places[item], points[-1]
        if item.kind == "function" and abs(y - place.y) > 1.0:
            points += [(place.middle, y), (place.middle, place.high if y < place.y else place.low)]
            return
        if abs(y - place.y) > 0.5:
            x = max(self._left(item) - TURN, x)
            points += [(x, y), (x, place.y)]
        points.append((place.x, place.y))

    def _is_only(self, source: int, frame: Item) -> bool:
        """Return whether a single item of a frame reads a leaf outside."""
        return sum(a == source for a, _ in self._order(frame).entering) == 1

    def _left(self, item: Item) -> float:
        """Return the left end of the column of an item, with its words."""
        assert item.parent is not None
        frame, rank = self.places[item.parent], self._order(item.parent).ranks[item]
        return self.places[item].middle - 0.5 * frame.columns[rank][1]

    def _to_next_row(self, before: Place, after: Place, y: float) -> list[Point]:
        """Return the points from the end of a row to the beginning of the next one."""
        below = [self.places[x] for x in self.root.children if self.places[x].row == after.row]
        above = min(each.high for each in below) - 18.0
        x, left = before.right + 10.0, after.x - 14.0
        return [(x, y), (x, above), (left, above), (left, after.y)]

    def _loop(self, start: Item, end: Item) -> list[Point]:
        """Return the points of a line below the words of two items, back to the earlier one."""
        first, last = self.places[start], self.places[end]
        low = max(self._outer(start)[1], self._outer(end)[1])
        low += -6.0 if start is end else LOOP - 8.0
        x, left = first.right + TURN, last.x - TURN
        return [(first.right, first.y), (x, first.y), (x, low), (left, low), (left, last.y),
                (last.x, last.y)]  # fmt: skip


# Order of the children of a frame.


def weights_of(item: Item) -> int:
    """Return the number of weights, or 0 for an item that has only vectors."""
    is_matrix = item.node is None or any(len(shape) > 1 for shape in item.arrays.values())
    return item.weights if is_matrix else 0


def called_order(children: Sequence[Item], arcs: Mapping[Arc, None]) -> list[Item]:
    """Return the children in topological order; in a loop, the first call is first."""
    calls: dict[Item, tuple[int, int]] = {}
    for number, each in enumerate(children):
        first = min((x.id for x in each.leaves()), default=0)
        calls[each] = (-1 if each.kind == "input" else first), number
    order: list[Item] = []
    left = dict.fromkeys(children)
    while left:
        waiting = {b for a, b in arcs if a in left}
        ready = [each for each in left if each not in waiting] or [*left]
        order.append(min(ready, key=lambda each: calls[each]))
        del left[order[-1]]
    return order


def ranked(order: Sequence[Item], forward: Sequence[Arc], entered: set[Item]) -> dict[Item, int]:
    """Return the column of each child: the longest path to it; sources are next to their goals."""
    ranks: dict[Item, int] = {}
    for each in order:
        ranks[each] = max((ranks[a] + 1 for a, b in forward if b is each), default=0)
    for each in reversed(order):
        after = [ranks[b] for a, b in forward if a is each]
        is_source = each not in entered and not any(b is each for _, b in forward)
        if after and is_source:
            ranks[each] = max(ranks[each], min(after) - 1)
    return ranks


def spine_of(order: Sequence[Item], forward: Sequence[Arc]) -> list[Item]:
    """Return the path with most columns, and among these with most weights."""
    best: dict[Item, tuple[int, int, list[Item]]] = {}
    for each in order:
        before = [best[a] for a, b in forward if b is each]
        length, weight, path = max(before, key=lambda x: x[:2], default=(0, 0, []))
        is_source = each.node is not None and each.node["kind"] in ("input", "noise")
        more = each.weights + (not is_source)
        best[each] = length + 1, weight + more, [*path, each]
    return max(best.values(), key=lambda x: x[:2])[2] if best else []


def parents_of(item: Item) -> list[Item]:
    """Return the frames around an item, inner ones first."""
    return [] if item.parent is None else [item.parent, *parents_of(item.parent)]


def child_of(frame: Item, item: Item) -> Item | None:
    """Return the child of a frame that contains an item, or None."""
    return next((x for x in (item, *parents_of(item)) if x.parent is frame), None)


def shown(leaf: Item) -> Item:
    """Return the visible item that contains a leaf."""
    return next((each for each in parents_of(leaf)[::-1] if each.is_closed), leaf)


def is_ring(item: Item) -> bool:
    return item.kind == "function" and item.words[0] in SIGNS


def size_words(shape: Sequence[int]) -> str:
    """Return the size of an array as text, such as 16×8×3² for kernels of 3×3."""
    if len(shape) == 4 and shape[2] == shape[3]:
        return f"{shape[0]}×{shape[1]}×{shape[2]}²"
    return "×".join(map(str, shape))


@lru_cache(maxsize=4096)
def text_width(words: str, letters: int = LETTERS, *, bold: bool = False) -> float:
    return width_of(words, letters, bold) if words else 0.0


def row_names(item: Item) -> list[str]:
    """Return the names of the rows of closed repetitions."""
    names: dict[str, str] = {}
    for leaf in (leaf for each in item.units[0] for leaf in each.all_leaves()):
        for array, size in leaf.arrays.items():
            if len(size) > 1:
                names.setdefault(array, ".".join(leaf.path.split(".")[-2:]))
    return [*names.values()]
