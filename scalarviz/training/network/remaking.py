"""Networks made again: with other initial numbers, or with or without biases."""

from __future__ import annotations

import numpy as np

from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers import Layer
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.program import NONE
from scalarviz.errors import InputError
from scalarviz.training.network.growing import GrownNetwork, Places
from scalarviz.training.network.network import Network


def redrawn(net: Network, init: Init, seed: int) -> GrownNetwork:
    """Return a network whose weights are drawn anew by an initializer, but for frozen ones.

    Statistics of a layer stay if all of its weights are frozen.
    """
    network = remade(net, seed, init=init)
    kept = net.bank.frozen
    states = [
        states_of(old)
        for old in dict.fromkeys(net.layers)
        if old.size and kept[old.first_row : old.first_row + old.size].all()
    ]
    same = np.concatenate([np.zeros(0, np.int64), *states])
    grown = GrownNetwork(network, np.arange(len(net.bank)), (same, same), fresh=~kept)
    grown.take_numbers(net.bank)
    return grown


def with_biases(net: Network, on: bool, seed: int) -> GrownNetwork:
    """Return a network whose perceptrons have biases, which begin at 0, or have none.

    Raises InputError if it has no perceptrons that lack them or have them.
    """
    check_biases(net, on)
    network = remade(net, seed, bias=on)
    rows = np.full(len(network.bank), NONE)
    new = network.bank
    states: list[tuple[Places, Places]] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for old, layer in zip(net.layers, network.layers, strict=True):
        both = min(old.size, layer.size)  # biases come last
        rows[layer.first_row : layer.first_row + both] = np.arange(both) + old.first_row
        states.append((states_of(layer), states_of(old)))
    here, there = (np.concatenate(each) for each in zip(*states, strict=True))
    grown = GrownNetwork(network, rows, (here, there))
    grown.take_numbers(net.bank)
    new.value[rows == NONE] = 0.0
    for layer in network.layers:
        own = np.arange(layer.first_row, layer.first_row + layer.size)
        known = own[rows[own] != NONE]
        if known.size and new.frozen[known].all():
            new.frozen[own] = True
    return grown


def has_biases(net: Network) -> bool | None:
    """Return whether any perceptrons in a row of layers have biases; None without such layers."""
    found = [layer.has_bias for layer in net.layers if isinstance(layer, PerceptronLayer)]
    return any(found) if found else None


def check_biases(net: Network, on: bool) -> None:
    """Raise InputError unless biases can be added to a network, or removed from it."""
    if any(layer.layers for layer in net.layers):
        raise InputError(
            "biases come and go in networks of layers in a row, and this one has a Residual: make "
            "its layers with bias= instead"
        )
    found = {layer.has_bias for layer in net.layers if isinstance(layer, PerceptronLayer)}
    if not found:
        raise InputError("this network has no perceptrons, whose biases could come or go")
    if (not on) not in found:
        raise InputError(
            f"all perceptrons of this network {'have' if on else 'lack'} biases already: pass "
            f"on={not on} for the other way"
        )


def remade(
    net: Network, seed: int, *, init: Init | None = None, bias: bool | None = None
) -> Network:
    """Return a network like another one, with the initial numbers of a seed.

    init  initializer of all layers; None, the default: as in the other network
    bias  whether perceptrons have biases; None, the default: as they have them
    """
    twins = {layer: another_layer(layer, init, bias) for layer in dict.fromkeys(net.layers)}
    layers = [twins[layer] for layer in net.layers]
    start = net.init if init is None else init
    made = Network(layers, init=start, seed=seed, dtype=net.dtype)
    made.names = net.names if bias is None else None
    return made


def another_layer(layer: Layer, init: Init | None, bias: bool | None) -> Layer:
    """Return a layer such as this one, without an initializer of its own if there is a new one."""
    if not isinstance(layer, PerceptronLayer):
        return layer.again()
    settings = layer.settings() | ({} if bias is None else {"bias": bias})
    return type(layer)(**settings, init=layer.init if init is None else None)


def states_of(layer: Layer) -> Places:
    """Return the indices of a layer's state in its bank."""
    first = layer.first_state if layer.state_size else 0
    return np.arange(first, first + layer.state_size)
