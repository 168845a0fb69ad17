"""CurveView: which steps the chart of the losses shows, and how."""

from __future__ import annotations

from typing import final

from scalarviz.pictures.view.charts import Chart
from scalarviz.pictures.view.overlay import ALONG
from scalarviz.training.session.over_time import KINDS

FEWEST = 10.0  # steps that are shown at least, if there are so many
LONG = 2_000  # steps from which on losses are smoothed by default


@final
class CurveView:
    """The steps shown by the chart of the losses, and how they are drawn.

    first   the first step shown
    last    the last one; None: the last step there is, also while the training goes on
    smooth  whether a mean around each step is drawn before the losses; None: for long trainings
    large   whether the chart stands below the network, with all weights over time
    kind    what is shown of the weights, and `order`, how they are sorted, or "norms"
    compared  two steps that are compared, or None
    along   what the directions of a landscape are: "main" or "two"
    pinned  the two weights that were pinned last, as rows of the bank
    """

    def __init__(self) -> None:
        self.first = 0.0
        self.last: float | None = None
        self.smooth: bool | None = None
        self.large = False
        self.kind, self.order = "value", "layer"
        self.compared: tuple[int, int] | None = None
        self.along = "main"
        self.pinned: tuple[int, ...] = ()

    @property
    def is_zoomed(self) -> bool:
        """Whether not all steps are shown."""
        return self.first > 0.0 or self.last is not None

    @property
    def key(self) -> tuple[float | None, ...]:
        """Changes with what is to be read."""
        return self.first, self.last, self.smooth, self.large

    @property
    def looks(self) -> tuple[object, ...]:
        """Changes with what stands below the network."""
        return self.large, self.kind, self.order, self.along, self.compared, self.pinned

    def smooths(self, steps: int) -> bool:
        """Whether the losses of so many steps are smoothed."""
        return steps > LONG if self.smooth is None else self.smooth

    def show_all(self) -> bool:
        """Show all steps; return whether that changes anything."""
        was, self.first, self.last = self.is_zoomed, 0.0, None
        return was

    def choose(self, name: str) -> None:
        """Show another kind or order of the weights over time, or a landscape."""
        if name in KINDS:
            self.kind = name
        elif name in ALONG:
            self.along = name
        else:
            self.order = name

    @property
    def past(self) -> str | None:
        """What stands below the network, as `RenderOptions` takes it."""
        return f"{self.kind} {self.order}" if self.large else None

    def pin(self, row: int) -> None:
        """Note that a weight was pinned."""
        self.pinned = (*(each for each in self.pinned if each != row), row)[-2:]

    def close(self) -> bool:
        """End a comparison, show all steps, or make a large chart small; return whether it did."""
        if self.compared is not None:
            self.compared = None
            return True
        was_large = self.large and not self.is_zoomed
        self.large = self.large and not was_large
        return self.show_all() or was_large

    def zoom(self, chart: Chart, factor: float, x: float) -> None:
        """Show fewer steps around those at a pixel's x, or more for a factor below 1."""
        now = chart.last - chart.first
        wide = max(now / factor, min(FEWEST, chart.end))
        at = chart.place_at(x)
        self._show(at - (at - chart.first) * wide / now, wide, chart.end)

    def move(self, chart: Chart, dx: float) -> None:
        """Move the curve by so many pixels to the right."""
        wide = chart.last - chart.first
        self._show(chart.first - dx / chart.plot.width * wide, wide, chart.end)

    def _show(self, first: float, wide: float, end: float) -> None:
        """Show so many steps from one on, but none outside of all."""
        self.first = max(0.0, min(first, end - wide))
        last = self.first + wide
        self.last = None if last >= end - 1e-6 * end else last
