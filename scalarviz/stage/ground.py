"""The ground plan of a session: its layout, with the names that its neurons and layers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scalarviz.checks import FloatArray
from scalarviz.data import Rgb, Texture
from scalarviz.formulas.table import pick
from scalarviz.layers import Dense
from scalarviz.program import Program
from scalarviz.session import Session
from scalarviz.view.layout import LAYOUTS, of_values
from scalarviz.view.plates import Layout

PLANE = ("x", "y")


def layout_of(session: Session, name: str = "crossbar") -> Layout:
    """Where everything of a session's network stands."""
    network = session.network
    lay_out = pick(LAYOUTS, name, "layout")
    if getattr(network, "layers", None) is None:
        return expression_layout(network)
    return lay_out(network.program, lambda layer: about_layer(session, layer), names_of(session))


def about_layer(session: Session, index: int) -> tuple[str, str]:
    """What stands beside a layer's plate: its name; its shape and its activation."""
    layer = session.network.layers[index]
    kind = [] if isinstance(layer, Dense) else [type(layer).__name__]
    activation = getattr(layer, "activation", "")
    if isinstance(layer, Dense) or activation not in ("", "linear"):
        kind.append(activation)
    return f"layer {index}", f"{layer.inputs} → {layer.outputs}  {' '.join(kind)}"


def names_of(session: Session) -> Mapping[str, Sequence[str]]:
    """What is written on neurons of the first and the last line, by the buffer's name."""
    program: Program = session.network.program
    names: dict[str, Sequence[str]] = {}
    if isinstance(session.data, Rgb):
        names[program.inputs.name] = "RGB"
    elif isinstance(session.data, Texture):
        names[program.inputs.name] = "uv"
    elif getattr(session.data, "bounds", None) is not None:
        names[program.inputs.name] = PLANE
    if isinstance(session.data, (Rgb, Texture)) and program.outputs.size == 3:
        names[program.outputs.name] = "RGB"
    return names


def tints_of(session: Session, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The true colors of neurons that stand for red, green and blue."""
    program: Program = session.network.program
    buffers = []
    if isinstance(session.data, Rgb):
        buffers.append(program.inputs.name)
    if isinstance(session.data, (Rgb, Texture)):
        buffers.append(program.outputs.name)
    return {
        name: np.clip(np.nan_to_num(np.diag(values[name])), 0.0, 1.0)
        for name in buffers
        if len(values.get(name, ())) == 3
    }


def expression_layout(expression: Any) -> Layout:
    """The parameters of a compiled expression, with their names if they are few."""
    rows = np.arange(len(expression.bank))[expression.rows].tolist()
    names = [p.label or f"p{i}" for i, p in enumerate(expression.parameters)]
    return of_values(rows, names)
