"""OnTop: where one can press and point beside the network; a drawing returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scalarviz.pictures.view.charts import Chart
from scalarviz.pictures.view.overlay import Button
from scalarviz.pictures.view.scene.frame import Box
from scalarviz.pictures.view.strip import Place
from scalarviz.pictures.view.told import Told
from scalarviz.training.session.caption import Piece


class OnTop(NamedTuple):
    """What a picture has over its stage and around it, with boxes in logical pixels.

    buttons  boxes and labels of the buttons
    chart    the chart of the losses, or None
    cells    boxes of the operations in the strip, with how many are done after each
    told     boxes of the pieces of the caption; the first one at a pixel counts
    legend   the box of the legend, or None
    """

    buttons: Sequence[Button] = ()
    chart: Chart | None = None
    cells: Sequence[Place] = ()
    told: Sequence[Told] = ()
    legend: Box | None = None

    def button_at(self, x: float, y: float) -> str | None:
        """Return the label of the topmost button at a pixel, or None."""
        return next((name for box, name in reversed(self.buttons) if box.has(x, y)), None)

    def cell_at(self, x: float, y: float) -> int:
        """Return how many operations are done after that of the cell at a pixel, or 0."""
        return next((done for box, done in self.cells if box.has(x, y)), 0)

    def piece_at(self, x: float, y: float) -> Piece | None:
        """Return the piece of the caption at a pixel, one without words for its panel, or None."""
        return next((piece for box, piece in self.told if box.has(x, y)), None)

    def on_chart(self, x: float, y: float) -> bool:
        """Return whether a pixel is on the chart."""
        return self.chart is not None and self.chart.box.has(x, y)
