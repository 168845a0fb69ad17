"""Norms: how large the parameters of a layer are, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scalarviz.core.layers import Layer
from scalarviz.core.layers.parameters import first_places
from scalarviz.errors import InputError


class Norms(NamedTuple):
    """Euclidean norms: the root of the sum of squares over all parameters of a layer."""

    value: float
    gradient: float


def norms_of(layers: Sequence[Layer]) -> dict[str, Norms]:
    """Return the norms of each layer with parameters, by its index as a string."""
    if not layers:
        raise InputError("a compiled function has no layers: its numbers are in f.bank.grad")
    return {
        str(i): Norms(*[norm(array[layer.rows]) for array in (layer.bank.value, layer.bank.grad)])
        for layer, i in first_places(layers).items()
        if layer.size
    }


def norm(numbers: np.ndarray) -> float:
    """Return the Euclidean norm, in float64."""
    return float(np.linalg.norm(numbers.astype(np.float64)))
