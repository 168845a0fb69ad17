"""Reads a FrequencyEncoding from the nodes Mul, Sin, Cos and Concat."""

from __future__ import annotations

from math import prod

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.base.limits import WAVE
from scalarviz.files.onnx.tensors import Constant
from scalarviz.files.onnx.trace import READ, At, Flow, Refused, Shape, Waves, checked


def weigh(at: At, shape: Shape) -> None:
    """Raise InputError if an encoding has too many numbers for the budget."""
    at.budget.allow(prod(shape), "numbers of frequency encodings", WAVE)


def waves_of(at: At, flow: Flow) -> Waves:
    """Return a value as parts of an encoding; a plain value becomes waves without a function."""
    if flow.waves is not None:
        return flow.waves
    weigh(at, flow.shape)
    place = np.arange(prod(flow.shape)).reshape(flow.shape)
    return Waves(place, np.ones(flow.shape), np.full(flow.shape, "", "U3"), ())


def multiply(at: At) -> Flow:
    """Mul by a constant: the frequencies of an encoding."""
    flows = [each for each in at.inputs if isinstance(each, Flow)]
    stored = [each for each in at.inputs if isinstance(each, Constant)]
    if len(flows) != 1 or len(stored) != 1:
        kind = "computed" if flows else "stored"
        raise Refused(f"it multiplies two {kind} values: {READ}")
    flow, numbers, name = flows[0], stored[0].array, stored[0].name
    if len(flow.seen) != 1 and flow.waves is None:
        return at.scaled(flow, numbers, np.zeros(1), {"node": at.node.name, "weight": name})
    waves = waves_of(at, flow)
    if numbers.dtype.kind != "f" or flow.is_wave or len(flow.seen) != 1:
        raise Refused(f"it multiplies by numbers that are no frequencies: {READ}")
    if numbers.ndim > len(flow.shape) + 1 or prod(numbers.shape[: -len(flow.shape)]) != 1:
        raise Refused(f"it multiplies {shorten(flow.shape)} by the shape {numbers.shape}")
    if numbers.ndim > len(flow.shape):
        numbers = numbers[0]
    try:
        shape = np.broadcast_shapes(flow.shape, numbers.shape)
    except ValueError:
        raise Refused(f"it multiplies {shorten(flow.shape)} by the shape {numbers.shape}") from None
    weigh(at, checked(shape))
    factor = waves.factor * numbers
    place = np.broadcast_to(waves.place, factor.shape)
    made = Waves(place, factor, np.full(factor.shape, "", "U3"), (*waves.nodes, at.node), name)
    return Flow(factor.shape, flow.seen, flow.steps, waves=made)


def wave(f: str, at: At) -> Flow:
    """Sin or Cos of an encoding; elsewhere, Sin is an activation."""
    flow = at.flow
    if flow.waves is None or flow.is_wave:
        if f == "sin":
            return at.activated("sin")
        raise Refused("there is a cosine in the frequency encoding only")
    waves = flow.waves
    weigh(at, flow.shape)
    f_of_all = np.full(flow.shape, f, "U3")
    made = Waves(waves.place, waves.factor, f_of_all, (*waves.nodes, at.node), waves.stored)
    return Flow(flow.shape, flow.seen, flow.steps, waves=made)


def concat(at: At) -> Flow:
    """Concat of the parts of an encoding."""
    flows = [each for each in at.inputs if isinstance(each, Flow) and each.waves is not None]
    if not flows or len(flows) != len(at.inputs):
        raise Refused("it puts values side by side, and only those of an encoding can be")
    if any(flow.steps != flows[0].steps for flow in flows):
        raise Refused("it puts values of different layers side by side")
    rank = len(flows[0].shape) + 1
    axis = at.get("axis", 1)
    parts = [flow.waves for flow in flows if flow.waves is not None]
    if not (-rank < axis < rank and axis % rank):
        raise Refused(f"its axis is {axis}")
    weigh(at, (sum(part.place.size for part in parts),))
    try:
        place, factor, f = (
            np.concatenate([getattr(part, name) for part in parts], axis % rank - 1)
            for name in ("place", "factor", "f")
        )
    except ValueError:
        raise Refused("the shapes of what it puts side by side do not fit") from None
    nodes = dict.fromkeys(node for part in parts for node in part.nodes)
    made = Waves(place, factor, f, (*nodes, at.node), parts[0].stored)
    return Flow(factor.shape, flows[0].seen, flows[0].steps, waves=made)
