"""OverlayPointer: the mouse over the strip of operations, the caption and the loss curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from scalarviz.session.caption import Piece

if TYPE_CHECKING:
    from scalarviz.view.picture import Picture


@final
class OverlayPointer:
    """What the mouse does with what lies below the network on the last picture.

    cell     how many operations are done after the one of the strip that is under it, or 0
    piece    the piece of the caption under it, or None
    opened   whether all terms are shown in a panel, which a click on "... 5 more" opens
    step     the step under it in the chart of the losses, or None
    """

    def __init__(self) -> None:
        self.cell = 0
        self.piece: Piece | None = None
        self.opened = False
        self.step: int | None = None

    def hover(self, picture: Picture | None, x: float, y: float) -> bool:
        """Point at what is at a pixel; return whether it is on the caption or its panel."""
        over = piece_at(picture, x, y)
        self.piece = over if over is not None and over.words else None
        self.cell = cell_at(picture, x, y)
        self.step = step_at(picture, x, y)
        return over is not None

    def click(self, picture: Picture | None, x: float, y: float) -> bool:
        """Open the panel for a click on what opens it, close it for any; return whether it did."""
        over = piece_at(picture, x, y)
        if self.opened or (over is not None and over.opens):
            self.opened = not self.opened
            return True
        return False

    def close(self) -> bool:
        """Close the panel; return whether it was open."""
        was, self.opened = self.opened, False
        return was


def piece_at(picture: Picture | None, x: float, y: float) -> Piece | None:
    """Return the piece at a pixel, one without words for the panel; None if there is none."""
    told = [] if picture is None else picture.told
    return next((piece for box, piece in told if box.has(x, y)), None)


def cell_at(picture: Picture | None, x: float, y: float) -> int:
    """Return how many operations are done after the one in the strip at a pixel, or 0."""
    cells = [] if picture is None else picture.cells
    return next((done for box, done in cells if box.has(x, y)), 0)


def step_at(picture: Picture | None, x: float, y: float, *, held: bool = False) -> int | None:
    """Return the step at a pixel of the chart of the losses; None outside, unless it is `held`."""
    chart = None if picture is None else picture.chart
    return chart.step_at(x) if chart is not None and (held or chart.grip.has(x, y)) else None
