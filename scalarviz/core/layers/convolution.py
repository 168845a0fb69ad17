"""Conv2d: two-dimensional convolution, with one perceptron for each kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, final

from scalarviz.base.checks.numbers import size
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers.base import Batch
from scalarviz.core.layers.perceptron_layer import PerceptronLayer
from scalarviz.core.layers.shapes import padding_of, shape_of
from scalarviz.core.model.operations import Shape, Windows
from scalarviz.core.model.program import Program
from scalarviz.core.model.weight import Weight
from scalarviz.errors import ShapeError

OUTSIDE = -1  # index for numbers beyond the edge


@final
class Conv2d(PerceptronLayer):
    """Two-dimensional convolution: each kernel is a perceptron for every window of a picture.

    Each weight is one `Weight`, however many windows it is used on: it keeps its input on each of
    them, and its gradient is the sum. In the bank the weights are ordered (kernel, channel, line,
    column), then come the biases.

    shape       channels, height and width of the picture, whose numbers are in that order
    channels    number of kernels, and so of channels of the result
    kernel      pixels along a side of a window, or (height, width); by default 3
    stride      pixels from one window to the next; by default 1
    padding     pixels by which the first window reaches beyond the edge, where all is 0; by
                default 0
    activation  name of a row of core/formulas/activations.py; by default "linear"
    bias        whether each kernel has one; by default True
    init        initializer of this layer, a name or an Init; None, the default: that of the network

    Raises ShapeError if no window fits into the picture, or one could lie beyond its edge.

    >>> layer = Conv2d((1, 3, 3), 1, kernel=2, bias=False)
    >>> layer.kernel[0, 0] = [[1, 0], [0, -1]]
    >>> layer([[1, 2, 3, 4, 5, 6, 7, 8, 0]]).tolist()
    [[-4.0, -4.0, -4.0, 5.0]]
    >>> layer.perceptrons[0].weights[3].name
    'kernel 0, weight of channel 0 at 1, 1'
    """

    def __init__(
        self,
        shape: Sequence[int],
        channels: int,
        kernel: int | Sequence[int] = 3,
        stride: int = 1,
        padding: int = 0,
        activation: str = "linear",
        *,
        bias: bool = True,
        init: str | Init | None = None,
    ) -> None:
        self.shape = shape_of(shape, "Conv2d")
        self.channels = size(channels, "the channels of Conv2d")
        self.kernel_size = kernel_of(kernel)
        self.stride = size(stride, "stride")
        self.padding = padding_of(padding)
        self.windows = Windows(*self.shape, *self.kernel_size, self.stride, self.padding)
        check_fit(self.windows)
        fan_in = self.shape[0] * prod(self.kernel_size)
        outputs = self.channels * self.windows.pixels
        super().__init__(prod(self.shape), outputs, self.channels, fan_in, activation, bias, init)
        self.input_shape = self.shape
        self.output_shape = self.channels, self.windows.out_height, self.windows.out_width

    def fans(self) -> tuple[int, int]:
        return self.fan_in, self.channels * prod(self.kernel_size)

    def window_shape(self) -> Shape:
        return self.shape[0], *self.kernel_size

    def part_name(self, perceptron: int) -> str:
        return f"kernel {perceptron}"

    def weight_name(self, place: int) -> str:
        channel, at = divmod(place, prod(self.kernel_size))
        line, column = divmod(at, self.kernel_size[1])
        return f"weight of channel {channel} at {line}, {column}"

    def settings(self) -> dict[str, Any]:
        return {
            "shape": list(self.shape),
            "channels": self.channels,
            "kernel": list(self.kernel_size),
            "stride": self.stride,
            "padding": self.padding,
            "activation": self.activation,
            "bias": self.has_bias,
        }

    def lower(self, program: Program) -> None:
        program.set_shape(self.shape)
        numbers = (*self.shape, *self.kernel_size, self.stride, self.padding)
        self.lower_sums(program, "convolution", tuple(map(float, numbers)))

    def forward_rows(self, batch: Batch) -> Batch:
        perceptrons, places = self.perceptrons.all(), self._places()
        rows = []
        for sample in batch:
            windows = seen(sample, places)
            rows.append([p.forward_sample(window) for p in perceptrons for window in windows])
        return rows

    def backward_rows(self, upstream: Batch) -> Batch:
        places, pixels = self._places(), self.windows.pixels
        parts = list(enumerate(self.perceptrons.all()))
        gradients = []
        for sample in reversed(upstream):
            gradient = [0.0] * (self.inputs + 1)  # the last is for what lies beyond the edge
            for k, p in reversed(parts):
                for pixel in range(pixels - 1, -1, -1):
                    delta = p.delta(sample[k * pixels + pixel])
                    if p.bias is not None:
                        p.bias.backward(delta)
                    for weight, place in zip(p.weights, places[pixel], strict=True):
                        gradient[place] += Weight.backward(weight, delta)
            gradients.append(gradient[:-1])
        gradients.reverse()
        return gradients

    def evaluate_rows(self, batch: Batch) -> Batch:
        perceptrons, places = self.perceptrons.all(), self._places()
        rows = []
        for sample in batch:
            windows = seen(sample, places)
            rows.append([p.evaluate_sample(window) for p in perceptrons for window in windows])
        return rows

    def _places(self) -> list[list[int]]:
        """Return for each window the indices of its inputs, in the order of a kernel's weights."""
        windows = self.windows
        found = [[OUTSIDE] * self.fan_in for _ in range(windows.pixels)]
        for weight in range(self.fan_in):
            channel, at = divmod(weight, prod(self.kernel_size))
            line, column = divmod(at, self.kernel_size[1])
            pixels, places = windows.inputs_of(channel, line, column)
            for pixel, place in zip(pixels.tolist(), places.tolist(), strict=True):
                found[pixel][weight] = place
        return found


def seen(sample: list[float], places: list[list[int]]) -> list[list[float]]:
    """Return the numbers of each window, each followed by 1 as the input of the bias."""
    padded = [*sample, 0.0]
    return [[*[padded[i] for i in window], 1.0] for window in places]


def kernel_of(kernel: object) -> tuple[int, int]:
    """Return height and width of a window."""
    if isinstance(kernel, Sequence) and not isinstance(kernel, str) and len(kernel) == 2:
        return size(kernel[0], "the height of a kernel"), size(kernel[1], "the width of a kernel")
    side = size(kernel, "kernel")
    return side, side


def check_fit(windows: Windows) -> None:
    """Raise ShapeError if no window fits into the picture, or one could lie beyond its edge."""
    kernel = windows.kernel_height, windows.kernel_width
    if min(windows.out_height, windows.out_width) < 1:
        raise ShapeError(
            f"a window of {kernel[0]} x {kernel[1]} does not fit into a picture of "
            f"{windows.height} x {windows.width}: choose a smaller kernel, or some padding"
        )
    if windows.padding >= min(kernel):
        raise ShapeError(
            f"with a padding of {windows.padding} a window of {kernel[0]} x {kernel[1]} would see "
            "nothing of the picture: choose a smaller padding"
        )
