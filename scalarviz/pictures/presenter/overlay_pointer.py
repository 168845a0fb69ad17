"""OverlayPointer: the mouse over the strip of operations, the caption and the loss curve."""

from __future__ import annotations

from typing import final

from scalarviz.pictures.view.on_top import OnTop
from scalarviz.training.session.caption import Piece


@final
class OverlayPointer:
    """What the mouse does with what lies below the network on the last picture.

    cell     how many operations are done after the one of the strip that is under it, or 0
    piece    the piece of the caption under it, or None
    opened   whether all terms are shown in a panel, which a click on "... 5 more" opens
    step     the step under it in the chart of the losses, or None
    branch   the number of the branch whose line is under it there, or None
    tile     the tile under it of the strip of all weights over time, or None
    spot     the point of a landscape's plane under it, or None
    tab      the name of what can be chosen for the strip there, or None
    title    whether the title of this chart is under it
    legend   whether the legend is under it
    """

    def __init__(self) -> None:
        self.cell = 0
        self.piece: Piece | None = None
        self.opened = False
        self.step: int | None = None
        self.branch: int | None = None
        self.tile: int | None = None
        self.spot: tuple[float, float] | None = None
        self.tab: str | None = None
        self.title = False
        self.legend = False
        self._place = -1.0, -1.0  # of the mouse

    def hover(self, on_top: OnTop, x: float, y: float) -> bool:
        """Point at what is at a pixel; return whether it is on the caption or its panel."""
        self._place = x, y
        over, chart, legend = on_top.piece_at(x, y), on_top.chart, on_top.legend
        self.piece = over if over is not None and over.words else None
        self.cell = on_top.cell_at(x, y)
        self.step = None if chart is None else chart.step_under(x, y)
        self.branch = None if chart is None else chart.branch_at(x, y)
        self.tile = None if chart is None else chart.tile_at(x, y)
        self.spot = None if chart is None else chart.spot_at(x, y)
        self.tab = None if chart is None else chart.tab_at(x, y)
        self.title = chart is not None and chart.title.has(x, y)
        self.legend = legend is not None and legend.has(x, y)
        return over is not None

    def again(self, on_top: OnTop) -> None:
        """Point at what is under the mouse now: the picture moves, the mouse may rest."""
        self.hover(on_top, *self._place)

    def click(self, on_top: OnTop, x: float, y: float) -> bool:
        """Open the panel for a click on what opens it, close it for any; return whether it did."""
        over = on_top.piece_at(x, y)
        if self.opened or (over is not None and over.opens):
            self.opened = not self.opened
            return True
        return False

    def close(self) -> bool:
        """Close the panel; return whether it was open."""
        was, self.opened = self.opened, False
        return was
