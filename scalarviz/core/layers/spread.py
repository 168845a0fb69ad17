"""Spread: one number for each channel becomes a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from scalarviz.core.formulas.rowwise import ROW_FORMULAS
from scalarviz.core.layers.rowwise import Rowwise
from scalarviz.core.layers.shapes import shape_of


@final
class Spread(Rowwise):
    """Write the number of each channel to all its pixels; no parameters.

    With a Product it is a gate for each channel, as in networks that squeeze and excite:

        sv.Product(sv.Activation(shape, "linear"), [sv.AvgPool2d(shape, 8), ..., sv.Spread(shape)])

    shape  channels, height and width of the picture that it makes

    Raises ShapeError for another shape.

    >>> Spread((2, 1, 3))([5, 7]).tolist()
    [5.0, 5.0, 5.0, 7.0, 7.0, 7.0]
    """

    def __init__(self, shape: Sequence[int]) -> None:
        channels, height, width = shape_of(shape, "Spread")
        pixels = height * width
        formula = ROW_FORMULAS["spread"]
        super().__init__(channels, channels * pixels, formula, (float(pixels),))
        self.input_shape = channels, 1, 1
        self.output_shape = channels, height, width

    def settings(self) -> dict[str, Any]:
        return {"shape": list(self.output_shape)}
