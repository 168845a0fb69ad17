"""Layers over windows of a picture: convolutions, with one perceptron per kernel, and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from math import prod
from typing import Any, ClassVar, final

import numpy as np

from scalarviz.base.checks import require, size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS, RowFormula
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.layers.layer import Batch
from scalarviz.core.layers.rowwise_layers import Rowwise
from scalarviz.core.layers.shapes import groups_of, shape_of
from scalarviz.core.perceptron import Perceptron
from scalarviz.core.program import Program, Windows
from scalarviz.core.weight import Weight
from scalarviz.errors import ShapeError

OUTSIDE = -1  # index of padding


class Convolution(PerceptronLayer):
    """A convolution: each kernel is a perceptron applied to every window of a picture or sequence.

    A sequence is a picture 1 pixel high. Each weight is one `Weight` shared by all windows: it
    stores its input for each window, and its gradient is the sum over all windows. In the bank the
    weights are ordered (kernel, channel, line, column), followed by the biases.

    `shape, channels, kernel, stride, padding, activation, bias, init, dilation, groups` are as in
    Conv2d.
    """

    _sides: ClassVar[int]  # 2 of a picture, 1 of a sequence

    def __init__(
        self,
        shape: Sequence[int],
        channels: int,
        kernel: int | Sequence[int] = 3,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        activation: str = "linear",
        *,
        bias: bool = True,
        init: str | Init | Callable[..., Any] | None = None,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> None:
        sides = self._sides
        self.shape = shape_of(shape, type(self).__name__, sides)
        self.channels = size(channels, f"the channels of {type(self).__name__}")
        self.kernel_size = pair_of(kernel, "kernel", sides)
        self.stride = pair_of(stride, "stride", sides)
        self.padding = pair_of(padding, "padding", sides, 0)
        self.dilation = pair_of(dilation, "dilation", sides)
        self.groups = groups_of(groups, self.shape[0], self.channels)
        self.windows = Windows(
            *self.shape, *self.kernel_size, *self.stride, self.padding[0], *self.dilation,
            self.groups, self.padding[1],
        )  # fmt: skip
        check_fit(self.windows)
        window = self.windows.seen_channels, *self.kernel_size[-sides:]
        made = self.channels, self.windows.out_height, self.windows.out_width
        super().__init__(self.shape, made, self.channels, window, activation, bias, init)

    def fans(self) -> tuple[int, int]:
        return self.fan_in, self.channels * prod(self.kernel_size)

    def part_name(self, perceptron: int) -> str:
        return f"kernel {perceptron}"

    def weight_name(self, row: int) -> str:
        kernel, place = divmod(row, self.fan_in)
        channel, pixel = divmod(place, prod(self.kernel_size))
        line, column = divmod(pixel, self.kernel_size[1])
        channel += self.windows.first_channel(kernel, self.channels)
        down = f"{line}, " if self._sides > 1 else ""
        return f"weight of channel {channel} at {down}{column}"

    def settings(self) -> dict[str, Any]:
        sides = self._sides
        found: dict[str, Any] = {
            "shape": [self.shape[0], *self.shape[-sides:]],
            "channels": self.channels,
            "kernel": list(self.kernel_size) if sides > 1 else self.kernel_size[-1],
            "stride": in_short(self.stride[-sides:]),
            "padding": in_short(self.padding[-sides:]),
            "activation": self.activation,
            "bias": self.has_bias,
        }
        # Earlier versions read the files of plain convolutions.
        rare = {"dilation": in_short(self.dilation[-sides:]), "groups": self.groups}
        return found | {name: value for name, value in rare.items() if value != 1}

    def lower(self, program: Program) -> None:
        program.set_shape(self.shape)
        self.lower_sums(program, "convolution", tuple(map(float, astuple(self.windows))))

    def forward_rows(self, batch: Batch) -> Batch:
        return self._sums(batch, Perceptron.forward_sample)

    def backward_rows(self, upstream: Batch) -> Batch:
        all_places, pixels = self._places(), self.windows.pixels
        parts = list(enumerate(self.all_perceptrons))
        gradients = []
        for sample in reversed(upstream):
            gradient = [0.0] * (self.inputs + 1)  # the last one is for padding
            for k, p in reversed(parts):
                places = all_places[self._group(k)]
                for pixel in range(pixels - 1, -1, -1):
                    delta = p.delta(sample[k * pixels + pixel])
                    if p.bias is not None:
                        p.bias.backward(delta)
                    for weight, place in zip(p.weights, places[pixel], strict=True):
                        gradient[place] += Weight.backward(weight, delta)
            gradients.append(gradient[:-1])
        return gradients[::-1]

    def evaluate_rows(self, batch: Batch) -> Batch:
        return self._sums(batch, Perceptron.evaluate_sample)

    def _sums(self, batch: Batch, verb: Callable[[Perceptron, list[float]], float]) -> Batch:
        """Return, for each sample, the results of a method for all perceptrons and windows."""
        parts, places = list(enumerate(self.all_perceptrons)), self._places()
        rows = []
        for sample in batch:
            windows = [seen(sample, each) for each in places]
            rows.append([verb(p, x) for k, p in parts for x in windows[self._group(k)]])
        return rows

    def _group(self, kernel: int) -> int:
        return kernel * self.groups // self.channels

    def _places(self) -> list[list[list[int]]]:
        """Return, per group and window, the input indices in the order of the kernel's weights."""
        windows = self.windows
        found = np.full((self.groups, windows.pixels, self.fan_in), OUTSIDE)
        for weight, (channel, line, column) in enumerate(
            np.ndindex(windows.seen_channels, *self.kernel_size)
        ):
            for group in range(self.groups):
                here = group * windows.seen_channels + channel
                pixels, places = windows.inputs_of(here, line, column)
                found[group, pixels, weight] = places
        return found.tolist()


@final
class Conv2d(Convolution):
    """2-D convolution: each kernel is a perceptron applied to all windows of a picture.

    With `groups`, the channels of the picture and the kernels are split into equal groups, in
    order, and each kernel reads only the channels of its group. With one channel per group the
    convolution is depthwise.

    Attributes:
        shape: shape (channels, height, width) of the picture
        channels: number of kernels, which is the number of output channels
        kernel: size of the window in pixels, or (height, width); by default 3
        stride: pixels from one window to the next, or (down, across); by default 1
        padding: number of zero pixels added on each side, or (vertical, horizontal); by default 0
        activation: name of a row of core/formulas/activations.py; by default "linear"
        bias: whether each kernel has a bias; by default True
        init: initializer of this layer, a name or an Init; None (default) means the initializer of
            the network
        dilation: distance between the pixels of a window, or (down, across); by default 1
        groups: number of groups, a divisor of the picture's channels and of `channels`; by default
            1

    Raises:
        ShapeError: if no window fits into the picture, if a window could contain padding only, or
            if `groups` does not divide the channels.

    >>> layer = Conv2d((1, 3, 3), 1, kernel=2, bias=False)
    >>> layer.kernel[0, 0] = [[1, 0], [0, -1]]
    >>> layer([[1, 2, 3, 4, 5, 6, 7, 8, 0]]).tolist()
    [[-4.0, -4.0, -4.0, 5.0]]
    >>> layer.perceptrons[0].weights[3].name
    'kernel 0, weight of channel 0 at 1, 1'
    """

    _sides = 2


@final
class Conv1d(Convolution):
    """1-D convolution: each kernel is a perceptron applied to all windows of a sequence.

    The next layer gets the result as a picture 1 pixel high, of shape (channels, 1, length); a
    Dense layer gets a row of numbers.

    Attributes:
        shape: shape (channels, length) of the sequence
        channels: number of kernels, which is the number of output channels
        kernel: length of the window; by default 3
        stride: distance from one window to the next; by default 1
        padding: number of zeros added at each end; by default 0
        activation: name of a row of core/formulas/activations.py; by default "linear"
        bias: whether each kernel has a bias; by default True
        init: initializer of this layer, a name or an Init; None (default) means the initializer of
            the network
        dilation: distance between the numbers of a window; by default 1
        groups: number of groups, as in Conv2d; by default 1

    Raises:
        ShapeError: as in Conv2d.

    >>> layer = Conv1d((1, 4), 1, kernel=2, bias=False)
    >>> layer.kernel = [[[-1, 1]]]
    >>> layer([1, 2, 4, 8]).tolist(), layer.output_shape
    ([1.0, 2.0, 4.0], (1, 1, 3))
    """

    _sides = 1


def seen(sample: list[float], places: list[list[int]]) -> list[list[float]]:
    """Return the numbers of each window, followed by 1, which is the input of the bias."""
    padded = [*sample, 0.0]
    return [[*[padded[i] for i in window], 1.0] for window in places]


def pair_of(value: Any, name: str, sides: int, least: int = 1) -> tuple[int, int]:
    """Return (down, across) for a pair or a number, which for sequences is only across."""
    is_pair = isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2
    if is_pair and sides > 1:
        return size(value[0], f"{name}[0]", least), size(value[1], f"{name}[1]", least)
    across = size(value, name, least)
    return across if sides > 1 else least, across


def in_short(sizes: Sequence[int]) -> int | list[int]:
    """Return a single number if all sizes are equal, otherwise a list."""
    return sizes[0] if len({*sizes}) == 1 else list(sizes)


def check_fit(windows: Windows) -> None:
    """Raise ShapeError if no window fits into the picture, or if one could contain only padding."""
    size = " x ".join(map(str, windows.extent))
    if (windows.dilation_height, windows.dilation_width) != (1, 1):
        size += " with its dilation"
    require(
        min(windows.out_height, windows.out_width) >= 1,
        f"a window of {size} does not fit into a picture of "
        f"{windows.height} x {windows.width}: choose a smaller kernel, or some padding",
        ShapeError,
    )
    padding = windows.padding_height, windows.padding_width
    require(
        all(n < extent for n, extent in zip(padding, windows.extent, strict=True)),
        f"with a padding of {in_short(padding)} a window of {size} would cover only padding: "
        "choose a smaller padding",
        ShapeError,
    )


class Pool(Rowwise):
    """Apply a formula to each window of a picture; `output_shape` is the shape of the result.

    `shape`, `kernel`, `stride` and `padding` are as in MaxPool2d.
    """

    _formula: ClassVar[RowFormula]

    def __init__(
        self,
        shape: Sequence[int],
        kernel: int | Sequence[int] = 2,
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        self.shape = shape_of(shape, type(self).__name__)
        self.kernel = pair_of(kernel, "kernel", 2)
        self.stride = self.kernel if stride is None else pair_of(stride, "stride", 2)
        self.padding = pair_of(padding, "padding", 2, 0)
        require(
            all(n <= side // 2 for n, side in zip(self.padding, self.kernel, strict=True)),
            f"a padding of {in_short(self.padding)} is more than half a window of "
            f"{in_short(self.kernel)}: choose a smaller one",
            ShapeError,
        )
        self.windows = Windows(
            *self.shape, *self.kernel, *self.stride, self.padding[0], padding_width=self.padding[1]
        )
        check_fit(self.windows)
        made = self.shape[0], self.windows.out_height, self.windows.out_width
        numbers = *self.shape[1:], *self.kernel, *self.stride, *self.padding, *made[1:]
        super().__init__(
            self.shape, made, self._formula, (*map(float, numbers), 1.0 / prod(self.kernel))
        )

    @final
    def settings(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape),
            "kernel": in_short(self.kernel),
            "stride": in_short(self.stride),
            "padding": in_short(self.padding),
        }


@final
class MaxPool2d(Pool):
    """Max pooling: the largest number of each window of a picture, which gets the full gradient.

    Attributes:
        shape: shape (channels, height, width) of the picture
        kernel: size of the window in pixels, or (height, width); by default 2
        stride: pixels from one window to the next, or (down, across); None (default) means the
            size of `kernel`
        padding: number of ignored pixels added on each side, or (vertical, horizontal), at most
            half of `kernel`; by default 0

    >>> MaxPool2d((1, 2, 4))([1, 5, 2, 0, 3, 4, 2, 7]).tolist()
    [5.0, 7.0]
    """

    _formula = ROW_FORMULAS["max_pool"]


@final
class AvgPool2d(Pool):
    """Average pooling: the mean of each window of a picture; padding counts as 0.

    Attributes:
        shape: shape (channels, height, width) of the picture
        kernel: size of the window in pixels, or (height, width); by default 2
        stride: pixels from one window to the next, or (down, across); None (default) means the
            size of `kernel`
        padding: number of zero pixels added on each side, or (vertical, horizontal), at most half
            of `kernel`; by default 0

    >>> AvgPool2d((1, 2, 4))([1, 5, 2, 0, 3, 3, 2, 4]).tolist()
    [3.0, 2.0]
    """

    _formula = ROW_FORMULAS["average_pool"]
