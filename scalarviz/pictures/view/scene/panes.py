"""Panes: the boxes of a picture of several networks, and of the table below them."""

from __future__ import annotations

from dataclasses import dataclass

from scalarviz.pictures.view.scene.frame import (
    HEIGHT,
    LOW,
    MARGIN,
    PRESENTED,
    SHALLOW,
    WIDTH,
    Box,
    Division,
)

SHAPE = 1.5  # width by height of a pane that suits a network best
ROW, LOW_ROW = 19.0, 17.0  # height of a row of the table, and in a low picture
PAD = 8.0  # pixels above and below the table
LEAST_BAND = 92.0  # height of the band, in which the loss curves stand beside the table
LINE = 28.0  # height of the line with legend and caption
MOST_BAND = 0.45  # share of the height that line and band take at most
PARTLY = 0.9  # how much the last row may cost that lacks panes
CHART = 0.38  # share of the width that the chart takes, if it leaves TABLE pixels to the table
TABLE = 380.0


@dataclass(frozen=True, slots=True)
class Panes:
    """The boxes of a picture of several networks, in logical pixels.

    whole  the picture
    panes  one for each network, row by row
    line   legend and caption
    table  a row for each network
    chart  the loss curves
    row    height of a row of the table
    scale  size of letters and margins, relative to a picture of 1280 x 800

    Parts without room have no height.
    """

    whole: Box
    panes: tuple[Box, ...]
    line: Box
    table: Box
    chart: Box
    row: float
    scale: float

    @property
    def band(self) -> Box:
        """Table and chart together."""
        return Box(0.0, self.table.y, self.whole.width, self.table.height)

    @property
    def division(self) -> Division:
        """The picture as the boxes of one network: all panes are its stage."""
        high = self.line.y if self.line.height else self.table.y
        scene = Box(0.0, 0.0, self.whole.width, high)
        none = Box(0.0, high, self.whole.width, 0.0)
        at_end = Box(scene.right, 0.0, 0.0, high)
        inner = scene.inside(min(MARGIN * self.scale, scene.width / 8.0, high / 8.0))
        head = Box(0.0, 0.0, self.whole.width, 0.0)
        parts = (self.whole, head, scene, at_end, at_end, inner, none, self.band)
        return Division(*parts, self.scale, legend=False)

    def at(self, x: float, y: float) -> int | None:
        """Return the number of the pane at a pixel, or None."""
        return next((i for i, box in enumerate(self.panes) if box.has(x, y)), None)

    def row_at(self, x: float, y: float) -> int | None:
        """Return the number of the network whose row of the table is at a pixel, or None."""
        count = len(self.panes)
        top = self.table.y + 0.5 * (self.table.height - (count + 1) * self.row) + self.row
        if not self.table.height or not self.table.x <= x < self.table.right or y < top:
            return None
        number = int((y - top) // self.row)
        return number if number < count else None

    @staticmethod
    def of(count: int, width: float, height: float, *, present: bool = False) -> Panes:
        """Divide a picture of this size, in logical pixels.

        count    number of networks
        present  True: letters are larger; by default False
        """
        scale = max(1.0, min(width / WIDTH, height / HEIGHT)) * (PRESENTED if present else 1.0)
        row = (LOW_ROW if height < LOW else ROW) * scale
        band = max((count + 1) * row + PAD * scale, LEAST_BAND * scale)
        line = LINE * scale
        if height < SHALLOW or band > MOST_BAND * height:
            band = line = 0.0
        elif line + band > MOST_BAND * height:
            line = 0.0
        high = max(1.0, height - line - band)
        panes = panes_of(count, width, high)
        chart = CHART * width if (1.0 - CHART) * width >= TABLE * scale else 0.0
        beside = Box(width - chart, high + line, chart, band)
        if panes[-1].right < width:  # in place of the panes that the last row lacks
            end, chart = panes[-1], 0.0
            pad = PAD * scale
            beside = Box(end.right, end.y + pad, width - end.right, end.height - 2.0 * pad)
        return Panes(
            Box(0.0, 0.0, width, height),
            panes,
            Box(0.0, high, width, line),
            Box(0.0, high + line, width - chart, band),
            beside,
            row,
            scale,
        )


def panes_of(count: int, width: float, height: float) -> tuple[Box, ...]:
    """Return as many equal boxes in rows, of the shape that suits a network best.

    The last row may have fewer. Edges are whole pixels.
    """

    def room(columns: int) -> float:
        rows = -(-count // columns)
        full = 1.0 if columns * rows == count else PARTLY
        return full * min(width / columns, SHAPE * height / rows)

    columns = max(range(count, 0, -1), key=room)
    rows = -(-count // columns)
    xs = [float(round(i * width / columns)) for i in range(columns)] + [width]
    ys = [float(round(i * height / rows)) for i in range(rows)] + [height]
    boxes = []
    for number in range(count):
        i, j = divmod(number, columns)
        boxes.append(Box(xs[j], ys[i], xs[j + 1] - xs[j], ys[i + 1] - ys[i]))
    return tuple(boxes)
