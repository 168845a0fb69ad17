"""MaxPool2d and AvgPool2d: the largest number, or the mean, of each window of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from scalarviz.base.checks import size
from scalarviz.core.formulas.rowwise import ROW_FORMULAS, RowFormula
from scalarviz.core.layers.rowwise import Rowwise
from scalarviz.core.layers.shapes import padding_of, shape_of
from scalarviz.errors import ShapeError


class Pool(Rowwise):
    """A row formula on windows of a picture; `output_shape` is the shape of the result.

    shape    channels, height and width of the picture
    kernel   pixels along a side of a window
    stride   pixels from one window to the next; None: equal to `kernel`
    padding  pixels by which the first window reaches beyond the edge, at most half of `kernel`
    formula  row of core/formulas/pooling.py
    more     further settings of the formula
    """

    def __init__(
        self,
        shape: Sequence[int],
        kernel: int,
        stride: int | None,
        padding: int,
        formula: RowFormula,
        *more: float,
    ) -> None:
        self.shape = shape_of(shape, type(self).__name__)
        self.kernel = size(kernel, "kernel")
        self.stride = self.kernel if stride is None else size(stride, "stride")
        self.padding = checked_padding(padding, self.kernel)
        channels, height, width = self.shape
        sides = [
            (side + 2 * self.padding - self.kernel) // self.stride + 1 for side in (height, width)
        ]
        if min(sides) < 1:
            raise ShapeError(
                f"a window of {self.kernel} x {self.kernel} does not fit into a picture of "
                f"{height} x {width}: choose a smaller kernel"
            )
        numbers = (*self.shape, self.kernel, self.stride, self.padding, *more)
        super().__init__(
            channels * height * width,
            channels * sides[0] * sides[1],
            formula,
            tuple(map(float, numbers)),
        )
        self.input_shape = self.shape
        self.output_shape = (channels, sides[0], sides[1])

    @final
    def settings(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape),
            "kernel": self.kernel,
            "stride": self.stride,
            "padding": self.padding,
        }


@final
class MaxPool2d(Pool):
    """The largest number of each window of a picture, which receives the whole gradient.

    shape    channels, height and width of the picture, whose numbers are in that order
    kernel   pixels along a side of a window; by default 2
    stride   pixels from one window to the next; None, the default: equal to `kernel`
    padding  pixels by which the first window reaches beyond the edge, at most half of `kernel`; by
             default 0

    >>> MaxPool2d((1, 2, 4))([1, 5, 2, 0, 3, 4, 2, 7]).tolist()
    [5.0, 7.0]
    """

    def __init__(
        self, shape: Sequence[int], kernel: int = 2, stride: int | None = None, padding: int = 0
    ) -> None:
        super().__init__(shape, kernel, stride, padding, ROW_FORMULAS["max_pool"])


@final
class AvgPool2d(Pool):
    """The mean of each window of a picture; numbers beyond the edge count as 0.

    shape    channels, height and width of the picture, whose numbers are in that order
    kernel   pixels along a side of a window; by default 2
    stride   pixels from one window to the next; None, the default: equal to `kernel`
    padding  pixels by which the first window reaches beyond the edge, at most half of `kernel`; by
             default 0

    >>> AvgPool2d((1, 2, 4))([1, 5, 2, 0, 3, 3, 2, 4]).tolist()
    [3.0, 2.0]
    """

    def __init__(
        self, shape: Sequence[int], kernel: int = 2, stride: int | None = None, padding: int = 0
    ) -> None:
        share = 1.0 / size(kernel, "kernel") ** 2
        super().__init__(shape, kernel, stride, padding, ROW_FORMULAS["average_pool"], share)


def checked_padding(padding: object, kernel: int) -> int:
    """Return a padding; raise ShapeError above half a window, which could miss the picture."""
    found = padding_of(padding)
    if found > kernel // 2:
        raise ShapeError(
            f"a padding of {found} is more than half a window of {kernel}: choose a smaller one"
        )
    return found
