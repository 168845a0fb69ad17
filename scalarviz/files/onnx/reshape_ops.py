"""Operators that keep the numbers of a value, and at most change its shape."""

from __future__ import annotations

from math import prod
from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.core.layers import Dropout
from scalarviz.files.onnx.tensors import FLOATS
from scalarviz.files.onnx.trace import PICTURE, At, Flow, Refused, Shape


def identity(at: At) -> Flow:
    """Return the input."""
    return at.flow


def cast(at: At) -> Flow:
    """Cast to a float type: the network's dtype is used instead."""
    at.only("to", 1, *FLOATS)
    return at.flow


def flatten(at: At) -> Flow:
    """Flatten each sample."""
    flow = at.flow
    at.only("axis", 1, 1, -len(flow.shape))
    return flow.seen_as((prod(flow.shape),), at.node)


def reshape(at: At) -> Flow:
    """Reshape that keeps samples apart."""
    flow = at.flow
    stored = at.needed(1, "sizes").array
    if stored.ndim != 1 or stored.dtype.kind != "i" or not stored.size:
        raise Refused("its sizes are no list of whole numbers")
    first, *rest = at.few(1)
    if not at.get("allowzero", 0):
        first = -1 if first == 0 else first
        rest = [flow.shape[i] if n == 0 and i < len(flow.shape) else n for i, n in enumerate(rest)]
    if rest.count(-1) == 1 and first in (at.batch, -1):
        known = prod(n for n in rest if n != -1)
        rest = [prod(flow.shape) // known if n == -1 and known > 0 else n for n in rest]
    whole = bool(rest) and min(rest) > 0 and prod(rest) == prod(flow.shape)
    if not whole or first not in (-1, at.batch):
        raise Refused(
            f"its sizes are {shorten(stored)}, which does not leave each sample its "
            f"{prod(flow.shape)} numbers"
        )
    return flow.seen_as(tuple(rest), at.node)


def transpose(at: At) -> Flow:
    """Transpose, if it does not reorder axes of size above 1."""
    flow = at.flow
    rank = len(flow.shape) + 1
    order = at.get("perm", list(range(rank))[::-1])
    moved = [axis for axis in order if axis == 0 or (0 < axis < rank and flow.shape[axis - 1] > 1)]
    if sorted(order) != list(range(rank)) or order[0] != 0 or moved != sorted(moved):
        raise Refused(f"its perm is {shorten(order)}, which puts the numbers in another order")
    return flow.seen_as(tuple(flow.shape[axis - 1] for axis in order[1:]), at.node)


def axes_of(at: At, rank: int) -> list[int]:
    """Return the axes of a node, from its attribute or input, counted from the batch."""
    stored = at.constant(1)
    found: Any = at.few(1) if stored else at.get("axes", [])
    if not isinstance(found, list) or not all(type(a) is int and -rank <= a < rank for a in found):
        raise Refused(f"its axes are {shorten(found)}")
    axes = sorted(a % rank for a in found)
    if not axes or axes[0] == 0 or len(set(axes)) < len(axes):
        raise Refused(f"its axes are {shorten(found)}")
    return axes


def unsqueeze(at: At) -> Flow:
    """Insert axes of size 1."""
    flow = at.flow
    stored = at.constant(1)
    count = len(at.few(1)) if stored else len(at.get("axes", []))
    shape = list(flow.shape)
    for axis in axes_of(at, min(len(shape) + 1 + count, 9)):
        shape.insert(axis - 1, 1)
    return flow.seen_as(tuple(shape), at.node)


def squeeze(at: At) -> Flow:
    """Remove axes of size 1."""
    flow = at.flow
    axes = axes_of(at, len(flow.shape) + 1)
    if any(flow.shape[axis - 1] != 1 for axis in axes):
        raise Refused(f"it takes out axes of {shorten(flow.shape)} that have more than one number")
    shape: Shape = tuple(n for i, n in enumerate(flow.shape, 1) if i not in axes)
    return flow.seen_as(shape, at.node)


def dropout(at: At) -> Flow:
    """Dropout: the identity in inference mode."""
    flow = at.flow.settled
    training = at.constant(2)
    if training is not None and training.array.any():
        raise Refused("it drops numbers in training mode: export the model in evaluation mode")
    stored = at.constant(1)
    rate = float(stored.array.ravel()[0]) if stored and stored.array.size == 1 else 0.5
    rate = at.get("ratio", rate)
    shape = flow.shape if len(flow.shape) == PICTURE else prod(flow.shape)
    layer = Dropout(shape, rate)
    names = at.names
    if stored:
        names["ratio"] = stored.name
    return flow.then(layer, names, shape=flow.shape)
