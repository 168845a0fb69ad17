"""Steps become layers: an activation joins the layer before it, and weights used twice are one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from scalarviz.checks.numbers import shorten
from scalarviz.errors import InputError
from scalarviz.files.onnx_names import Names
from scalarviz.layers import Conv2d, Dense, Layer, Residual
from scalarviz.layers.activation import Activation
from scalarviz.layers.residual import MOST_DEPTH
from scalarviz.onnx.tensors import Array
from scalarviz.onnx.trace import LayerStep, Parameter


@dataclass(frozen=True, eq=False)
class BuiltLayer:
    """A layer of the network to be, with its names, its numbers, and its parts if it has some."""

    layer: Layer
    names: Names
    parameters: tuple[Parameter, ...] = ()
    state: Mapping[str, Array] = field(default_factory=dict)
    inner: tuple[BuiltLayer, ...] = ()


def join(steps: Sequence[LayerStep]) -> tuple[BuiltLayer, ...]:
    """The layers of a network."""
    known = Known()
    return tuple(known.once(each) for each in as_made(steps))


def as_made(steps: Sequence[LayerStep], depth: int = 0) -> list[BuiltLayer]:
    """One layer after the other, activations joined."""
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
            found.append(residual(step, depth + 1))
        else:
            found.append(BuiltLayer(step.layer, dict(step.names), step.parameters, step.state))
    return found


def joins(before: LayerStep, step: LayerStep, alike: Mapping[str, bool]) -> bool:
    """Whether an activation becomes that of the layer before it."""
    if not isinstance(before.layer, (Dense, Conv2d)) or not isinstance(step.layer, Activation):
        return False
    return alike[weights_of(before)]


def followed_alike(steps: Sequence[LayerStep]) -> dict[str, bool]:
    """For each matrix: whether the same activation follows wherever it is used."""
    found: dict[str, set[str]] = {}
    for step, after in zip(steps, (*steps[1:], None), strict=True):
        layer = after.layer if after is not None else None
        activation = layer.activation if isinstance(layer, Activation) else "linear"
        found.setdefault(weights_of(step), set()).add(activation)
    return {name: len(activations) == 1 for name, activations in found.items()}


def weights_of(step: LayerStep) -> str:
    """The name of the matrix of a step; empty if it has none."""
    return next((each.name for each in step.parameters if each.matrix), "")


def residual(step: LayerStep, depth: int) -> BuiltLayer:
    """A Residual, from what lies between a value and the Add."""
    if depth > MOST_DEPTH:
        raise InputError(f"Residuals stand in one another more than {MOST_DEPTH} deep")
    inner = tuple(as_made(step.inner, depth))
    try:
        layer = Residual(*[each.layer for each in inner])
    except InputError as error:
        raise InputError(f"{step.node}: {error}") from error
    return BuiltLayer(layer, dict(step.names), inner=inner)


class Known:
    """The layers so far, by their weights."""

    def __init__(self) -> None:
        self.layers: dict[
            str, tuple[BuiltLayer, BuiltLayer]
        ] = {}  # as it came, and with names of its own
        self.taken: set[str] = set()

    def once(self, made: BuiltLayer) -> BuiltLayer:
        """The layer, or the one before with the same weights: it then stands there twice."""
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
        """The layer with names for its numbers that no other has.

        Exporters store vectors that are alike once; to learn they must be two.
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
    """The names of all matrices of a layer and of its parts."""
    own = [each.name for each in made.parameters if each.matrix]
    return own + [name for part in made.inner for name in matrices_of(part)]


def are_one(first: BuiltLayer, second: BuiltLayer) -> bool:
    """Whether two layers are the same one: alike, with the same numbers under the same names."""
    return (
        type(first.layer) is type(second.layer)
        and len(first.inner) == len(second.inner)
        and all(map(are_one, first.inner, second.inner))
        and (bool(first.inner) or settings_of(first) == settings_of(second))
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
    """A layer with the names of a place for its nodes; those of its numbers are its own."""
    own = {each.role: each.name for each in made.parameters}
    names = {**place.names, **own}
    if made.inner:
        parts = zip(made.inner, place.inner, strict=True)
        names["layers"] = [renamed(part, there).names for part, there in parts]
    return replace(made, names=names)
