"""Turns steps into layers: joins activations with the layers before, and shares tied weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.layers import Conv2d, Dense, Layer, Residual
from scalarviz.core.layers.elementwise_layers import Activation
from scalarviz.core.layers.nested import MOST_DEPTH
from scalarviz.errors import InputError
from scalarviz.files.onnx.tensors import Array
from scalarviz.files.onnx.trace import LayerStep, Parameter
from scalarviz.files.onnx_names import Names


@dataclass(frozen=True, eq=False)
class BuiltLayer:
    """A layer before it is built: its names, parameters, state and inner layers."""

    layer: Layer
    names: Names
    parameters: tuple[Parameter, ...] = ()
    state: Mapping[str, Array] = field(default_factory=dict)
    inner: tuple[BuiltLayer, ...] = ()


def join(steps: Sequence[LayerStep]) -> tuple[BuiltLayer, ...]:
    """Return the layers of a network."""
    known = Known()
    return tuple(known.once(each) for each in as_made(steps))


def as_made(steps: Sequence[LayerStep], depth: int = 0) -> list[BuiltLayer]:
    """Return one layer per step, with activations joined."""
    found: list[BuiltLayer] = []
    alike = followed_alike(steps)
    for before, step in zip((None, *steps), steps, strict=False):
        if before is not None and step.layer is not None and joins(before, step, alike):
            last = found[-1].layer
            last.set_activation(step.layer.activation)
            parts = {role: name for role, name in step.names.items() if role != "node"}
            names = {**found[-1].names, "activation": step.names["node"], **parts}
            found[-1] = replace(found[-1], names=names)
        elif step.layer is None:
            found.append(nested(step, depth + 1))
        else:
            found.append(BuiltLayer(step.layer, dict(step.names), step.parameters, step.state))
    return found


def joins(before: LayerStep, step: LayerStep, alike: Mapping[str, bool]) -> bool:
    """Return whether an activation becomes that of the layer before it."""
    if not isinstance(before.layer, (Dense, Conv2d)) or not isinstance(step.layer, Activation):
        return False
    return alike[weights_of(before)]


def followed_alike(steps: Sequence[LayerStep]) -> dict[str, bool]:
    """Return for each matrix whether the same activation follows every use of it."""
    found: dict[str, set[str]] = {}
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        layer = after.layer if after is not None else None
        activation = layer.activation if isinstance(layer, Activation) else "linear"
        found.setdefault(weights_of(step), set()).add(activation)
    return {name: len(activations) == 1 for name, activations in found.items()}


def weights_of(step: LayerStep) -> str:
    """Return the name of a step's matrix; "" if it has none."""
    return next((each.name for each in step.parameters if each.matrix), "")


def nested(step: LayerStep, depth: int) -> BuiltLayer:
    """Return the layer of inner steps; raise InputError if they are nested too deep."""
    if depth > MOST_DEPTH:
        name = "Residual" if step.kind is None else step.kind.__name__
        raise InputError(f"{name}s are nested more than {MOST_DEPTH} deep")
    first = as_made(step.inner[: step.first], depth) if step.first else []
    inner = (*first, *as_made(step.inner[step.first :], depth))
    layers = [each.layer for each in inner]
    try:
        layer = (
            Residual(layers=layers)
            if step.kind is None
            else step.kind(layers=layers, first=len(first))
        )
    except InputError as error:
        raise InputError(f"{step.node}: {error}") from error
    return BuiltLayer(layer, dict(step.names), inner=inner)


class Known:
    """The layers so far, by the names of their weights."""

    def __init__(self) -> None:
        self.layers: dict[str, tuple[BuiltLayer, BuiltLayer]] = {}  # as read, and with unique names
        self.taken: set[str] = set()

    def once(self, made: BuiltLayer) -> BuiltLayer:
        """Return the layer, or the earlier layer with the same weights."""
        matrices = matrices_of(made)
        if not matrices or matrices[0] not in self.layers:
            found = self.apart(made)
            for name in matrices:
                self.layers[name] = (made, found)
            return found
        first, before = self.layers[matrices[0]]
        if not are_one(first, made):
            raise InputError(
                f"its weights {shorten(matrices[0])} are used by two layers that differ in more "
                "than their place: save them under two names"
            )
        return renamed(before, made)

    def apart(self, made: BuiltLayer) -> BuiltLayer:
        """Return the layer with unique names for its parameters.

        Exporters merge equal vectors, but they are trained separately.
        """
        parameters = []
        for each in made.parameters:
            if each.matrix and each.name in self.taken:
                raise InputError(
                    f"its weights {shorten(each.name)} are used twice, once in a Residual: save "
                    "them under two names"
                )
            parameters.append(replace(each, name=self._free(each.name)))
        inner = tuple(map(self.apart, made.inner))
        return renamed(replace(made, parameters=tuple(parameters), inner=inner), made)

    def _free(self, name: str) -> str:
        wanted, count = name, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name


def matrices_of(made: BuiltLayer) -> list[str]:
    """Return the names of all matrices of a layer and its inner layers."""
    own = [each.name for each in made.parameters if each.matrix]
    return own + [name for part in made.inner for name in matrices_of(part)]


def are_one(first: BuiltLayer, second: BuiltLayer) -> bool:
    """Return whether two layers have equal settings, names and numbers."""
    return (
        type(first.layer) is type(second.layer)
        and len(first.inner) == len(second.inner)
        and all(map(are_one, first.inner, second.inner))
        and settings_of(first) == settings_of(second)
        and [p.name for p in first.parameters] == [p.name for p in second.parameters]
        and all(
            p.values is q.values or np.array_equal(p.values, q.values)
            for p, q in zip(first.parameters, second.parameters, strict=True)
        )
        and first.state.keys() == second.state.keys()
        and all(np.array_equal(first.state[name], second.state[name]) for name in first.state)
    )


def settings_of(made: BuiltLayer) -> str:
    return repr(sorted(made.layer.settings().items()))


def renamed(made: BuiltLayer, place: BuiltLayer) -> BuiltLayer:
    """Return a layer with the node names of `place`, and its own parameter names."""
    own = {each.role: each.name for each in made.parameters}
    names = {**place.names, **own}
    if made.inner:
        parts = zip(made.inner, place.inner, strict=True)
        names["layers"] = [renamed(part, there).names for part, there in parts]
    return replace(made, names=names)
