"""Steps become layers: an activation joins the layer before it, and weights used twice are one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from scalarviz.checks import shorten
from scalarviz.errors import InputError
from scalarviz.layers import Conv2d, Dense, Layer, Residual
from scalarviz.layers.activation import Activation
from scalarviz.onnx.names import Names
from scalarviz.onnx.steps import Parameter, Step
from scalarviz.onnx.tensors import Array


@dataclass(frozen=True, eq=False)
class Made:
    """A layer of the network to be, with its names, its numbers, and its parts if it has some."""

    layer: Layer
    names: Names
    parameters: tuple[Parameter, ...] = ()
    state: Mapping[str, Array] = field(default_factory=dict)
    inner: tuple[Made, ...] = ()


def join(steps: Iterable[Step]) -> tuple[Made, ...]:
    """The layers of a network."""
    known = Known()
    return tuple(known.once(each) for each in as_made(steps, known))


def as_made(steps: Iterable[Step], known: Known) -> list[Made]:
    """One layer after the other, activations joined."""
    found: list[Made] = []
    for step in steps:
        before = found[-1].layer if found else None
        joins = isinstance(before, (Dense, Conv2d)) and before.activation == "linear"
        if isinstance(step.layer, Activation) and joins and before is not None:
            before.set_activation(step.layer.activation)
            parts = {role: name for role, name in step.names.items() if role != "node"}
            names = {**found[-1].names, "activation": step.names["node"], **parts}
            found[-1] = replace(found[-1], names=names)
        elif step.layer is None:
            found.append(residual(step, known))
        else:
            found.append(Made(step.layer, dict(step.names), step.parameters, step.state))
    return found


def residual(step: Step, known: Known) -> Made:
    """A Residual, from what lies between a value and the Add."""
    inner = tuple(known.apart(each) for each in as_made(step.inner, known))
    try:
        layer = Residual(*[each.layer for each in inner])
    except InputError as error:
        raise InputError(f"{step.node}: {error}") from error
    names = {**step.names, "layers": [each.names for each in inner]}
    return Made(layer, names, inner=inner)


class Known:
    """The layers so far, by their weights."""

    def __init__(self) -> None:
        self.layers: dict[str, tuple[object, Made]] = {}
        self.taken: set[str] = set()

    def once(self, made: Made) -> Made:
        """The layer, or the one before with the same weights: it then stands there twice."""
        matrices = [p.name for p in made.parameters if p.matrix]
        if not matrices or matrices[0] not in self.layers:
            found = self.apart(made)
            for name in matrices:
                self.layers[name] = (key_of(made), found)
            return found
        key, before = self.layers[matrices[0]]
        if key != key_of(made):
            raise InputError(
                f"its weights {shorten(matrices[0])} are used by two layers that differ in more "
                "than their place: save them under two names"
            )
        return replace(before, names={**made.names, **parameter_names(before)})

    def apart(self, made: Made) -> Made:
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
        found = replace(made, parameters=tuple(parameters))
        return replace(found, names={**made.names, **parameter_names(found)})

    def _free(self, name: str) -> str:
        wanted, count = name, 1
        while name in self.taken:
            count += 1
            name = f"{wanted}_{count}"
        self.taken.add(name)
        return name


def key_of(made: Made) -> object:
    """What must be equal for two layers to be one."""
    settings = sorted((name, repr(value)) for name, value in made.layer.settings().items())
    return type(made.layer), settings, [p.name for p in made.parameters]


def parameter_names(made: Made) -> Names:
    return {each.role: each.name for each in made.parameters}
