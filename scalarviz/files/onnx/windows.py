"""Operators with windows: Conv, MaxPool, AveragePool, and global averages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from scalarviz.base.checks import shorten
from scalarviz.core.layers import AvgPool2d, Conv2d, MaxPool2d
from scalarviz.core.layers.rowwise_layers import PictureShape
from scalarviz.files.onnx.trace import PICTURE, At, Flow, Parameter, Refused


@dataclass(frozen=True)
class PoolingWindow:
    """Shape of a window, strides, padding on each side, and dilations; pairs are (down, across)."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: int
    dilation: tuple[int, int]

    @property
    def extent(self) -> list[int]:
        """Height and width in pixels of the picture."""
        pairs = zip(self.kernel, self.dilation, strict=True)
        return [(kernel - 1) * gap + 1 for kernel, gap in pairs]


def picture_of(flow: Flow) -> PictureShape:
    """Return the shape of a flow that is known to be an image."""
    channels, height, width = flow.shape
    return channels, height, width


def window_of(at: At, kernel: tuple[int, ...] | None = None) -> PoolingWindow:
    """Return the window of a node; raise Refused if it is unsupported."""
    given = tuple(at.get("kernel_shape", list(kernel or ())))
    if len(given) != 2 or (kernel and given != kernel) or min(given) < 1:
        raise Refused(f"its kernel has the shape {shorten(given)}, and not (height, width)")
    strides, dilations = pair_of(at, "strides"), pair_of(at, "dilations")
    found = PoolingWindow((given[0], given[1]), strides, 0, dilations)
    pads = pads_of(at, found)
    if len(set(pads)) != 1 or len(pads) != 4 or pads[0] < 0:
        raise Refused(f"its pads are {shorten(pads)}: they must be the same on all sides")
    found = replace(found, padding=pads[0])
    if at.get("ceil_mode", 0) and any(left_over(at, found)):
        raise Refused("its ceil_mode lets windows reach beyond the edge")
    return found


def pair_of(at: At, name: str) -> tuple[int, int]:
    """Return an attribute of two numbers of pixels; raise Refused for others."""
    found = at.get(name, [1, 1])
    if len(found) != 2 or min(found) < 1:
        raise Refused(f"its {name} are {shorten(found)}, and not two numbers of at least 1")
    return found[0], found[1]


def pads_of(at: At, window: PoolingWindow) -> list[int]:
    """Return the padding of all edges, in the order of `pads`."""
    auto = at.get("auto_pad", "NOTSET")
    if auto in ("NOTSET", ""):
        return list(at.get("pads", [0, 0, 0, 0]))
    if auto == "VALID":
        return [0, 0, 0, 0]
    at.only("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER")
    totals = []
    sides = zip(at.picture.shape[1:], window.extent, window.stride, strict=True)
    for side, extent, stride in sides:
        count = -(-side // stride)
        totals.append(max((count - 1) * stride + extent - side, 0))
    if any(total % 2 for total in totals):
        raise Refused(f"its auto_pad {auto} pads one side more than the other")
    return [total // 2 for total in totals] * 2


def left_over(at: At, window: PoolingWindow) -> list[int]:
    """Return the pixels that windows leave over, vertically and horizontally."""
    sides = zip(at.picture.shape[1:], window.extent, window.stride, strict=True)
    return [(side + 2 * window.padding - extent) % stride for side, extent, stride in sides]


def convolution(at: At) -> Flow:
    """Conv: kernels on an image."""
    flow, weights = at.picture, at.needed(1, "weights")
    groups = at.get("group", 1)
    shape = weights.shape
    if len(shape) != PICTURE + 1 or shape[1] * groups != flow.shape[0]:
        raise Refused(
            f"its weights {shorten(weights.name)} have the shape {shape}, for a picture of "
            f"{flow.shape} in {groups} group{'s' * (groups != 1)}"
        )
    window = window_of(at, shape[2:])
    bias = [at.parameter("bias", 2, shape[:1])] if at.constant(2) else []
    layer = Conv2d(
        picture_of(flow),
        shape[0],
        window.kernel,
        window.stride,
        window.padding,
        bias=bool(bias),
        dilation=window.dilation,
        groups=groups,
    )
    weight = Parameter("weight", weights.name, weights.array, matrix=True)
    return flow.then(layer, at.names, weight, *bias, shape=layer.output_shape)


def square(at: At) -> tuple[int, int, int]:
    """Return side, stride and padding of a window; raise Refused if it is not a square."""
    window = window_of(at)
    at.only("dilations", [1, 1])
    height, width = window.kernel
    if height != width:
        raise Refused(f"its window is {height} x {width}, and only squares can be had")
    if window.stride[0] != window.stride[1]:
        raise Refused(f"its strides are {shorten(list(window.stride))}: they must be equal")
    return height, window.stride[0], window.padding


def max_pool(at: At) -> Flow:
    """MaxPool."""
    flow, window = at.picture, square(at)
    at.only("storage_order", 0)
    layer = MaxPool2d(picture_of(flow), *window)
    return flow.then(layer, at.names, shape=layer.output_shape)


def average_pool(at: At) -> Flow:
    """AveragePool; if windows reach beyond the edge, padding must count as 0."""
    flow, window = at.picture, square(at)
    if window[2] and not at.get("count_include_pad", 0):
        raise Refused("its count_include_pad is 0, and what lies beyond the edge counts here")
    layer = AvgPool2d(picture_of(flow), *window)
    return flow.then(layer, at.names, shape=layer.output_shape)


def global_average_pool(at: At) -> Flow:
    """GlobalAveragePool: the mean of each channel, as an image of one pixel."""
    flow = at.picture
    channels, height, width = picture_of(flow)
    if height != width:
        raise Refused(f"its picture is {height} x {width}, and only squares can be had")
    layer = AvgPool2d((channels, height, width), height)
    return flow.then(layer, {**at.names, "form": "GlobalAveragePool"}, shape=layer.output_shape)


def reduce_mean(at: At) -> Flow:
    """ReduceMean over height and width, as PyTorch may write a global average."""
    flow = at.picture
    stored = at.constant(1)
    axes = at.few(1) if stored else at.get("axes", [])
    rank = len(flow.shape) + 1
    whole = isinstance(axes, list) and sorted(a % rank for a in axes if type(a) is int)
    if whole != [PICTURE - 1, PICTURE]:
        raise Refused(f"its axes are {shorten(axes)}, and only a whole picture has a mean here")
    found = global_average_pool(at)
    if at.get("keepdims", 1):
        return found
    return found.seen_as((prod(found.shape),), at.node)
