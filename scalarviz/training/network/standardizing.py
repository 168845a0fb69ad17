"""Networks for data with `standardize=True`: they begin with an Affine."""

from __future__ import annotations

from typing import Any

from scalarviz.core.layers.normalization import Affine
from scalarviz.data import DataSet
from scalarviz.errors import InputError, OrderError


def begin_with_affine(network: Any, data: DataSet) -> bool:
    """Put the Affine of `data` before the first layer, if they ask for it; return whether it was.

    network  a Model; one that begins with an Affine stays as it is

    Raises OrderError for a network that is not as it was made, InputError for an expression.
    """
    if not data.standardize or any(isinstance(each, Affine) for each in network.layers[:1]):
        return False
    if not network.layers:
        raise InputError(
            "data with standardize=True put an Affine before the layers of a network, and a "
            "compiled function has none: scale its inputs in the function, or leave it out"
        )
    if not network.is_as_made():
        raise OrderError(
            "data with standardize=True put an Affine before the first layer of a new network, and "
            "this one was computed with, changed or read already: make it with that layer, "
            "sv.Network([data.affine(), 16, 3]), say"
        )
    shape = network.input_shape or (network.inputs,)
    network.begin_with(Affine.standardizing(data.batches().at(0)[0].reshape(-1, *shape)))
    return True
