"""How a page draws the initial numbers of a network for another seed: `web/initial.js`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from scalarviz.core.bank import SCALING
from scalarviz.core.formulas.initializers import Init, Law
from scalarviz.core.layers import Dropout, Layer
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.training.network.network import Network

LARGEST_SEED = 2**52  # the seeds from there on are not all numbers of JavaScript
Draw = tuple[int, int, bool, float, float]  # first row, count, whether normal, two parameters


def initial_data(network: Network) -> dict[str, Any]:
    """Return how the numbers of `Network(seed=k)` follow from the seed k.

    seed    that of the network; 0 if it is too large for a number of JavaScript
    draws   rows that are drawn: the first one, how many, whether normally, low and high or mean
            and deviation
    fixed   rows whose numbers are the same for all seeds, and are not 0: first, count, number
    state   the non-parameter state without the loss scale
    seeds   places in it of the two halves of the seed
    """
    layers = [*all_layers(network.layers)]
    draws = [draw for layer in layers for draw in draws_of(layer, network.init)]
    plain = network.fresh(0)
    fixed = plain.bank.value.astype(np.float64)
    for first, count, *_ in draws:
        fixed[first : first + count] = 0.0
    places = [layer.first_state for layer in layers if isinstance(layer, Dropout)]
    return {
        "seed": network.seed if network.seed < LARGEST_SEED else 0,
        "draws": [list(draw) for draw in draws],
        "fixed": runs_of(fixed),
        "state": plain.bank.state[SCALING:].tolist(),
        "seeds": [place - SCALING for place in places],
    }


def all_layers(layers: Iterable[Layer]) -> Iterator[Layer]:
    """Yield layers with those inside others, each once."""
    for layer in dict.fromkeys(layers):
        if layer.layers:
            yield from all_layers(layer.layers)
        else:
            yield layer


def draws_of(layer: Layer, init: Init) -> Iterator[Draw]:
    """Yield the draws of a layer: its weights, then its biases."""
    if not isinstance(layer, PerceptronLayer):
        return
    own, count = layer.init or init, layer.fan_in * layer.count
    first, end = layer.first_row, layer.rows.stop
    for law, low, high in (
        (own.weight, first, first + count),
        (own.bias, first + count, end),
    ):
        if high > low:
            yield (low, high - low, law.kind == "normal", *spread(own, law, layer))


def spread(init: Init, law: Law, layer: PerceptronLayer) -> tuple[float, float]:
    """Return the two parameters of a law for a layer."""
    settings = tuple(init.settings.values()) if law.takes_settings else ()
    fan_in, fan_out = layer.fans()
    return law.spread(float(fan_in), float(fan_out), *settings)


def runs_of(numbers: Any) -> list[list[float]]:
    """Return stretches of equal numbers that are not 0: first place, count, number."""
    found: list[list[float]] = []
    for place in np.flatnonzero(numbers).tolist():
        number = float(numbers[place])
        if found and found[-1][0] + found[-1][1] == place and found[-1][2] == number:
            found[-1][1] += 1
        else:
            found.append([place, 1, number])
    return found
