"""Derive networks from others: with more or fewer neurons, new initial weights, or biases.

Only a Dense layer that is followed by a Dense layer can grow or shrink. All other layers are
unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import answered, require, shorten, size
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import is_like
from scalarviz.core.formulas.activations import ACTIVATIONS, activation_row
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers import Dense, Layer, Residual
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.layers.nested import through
from scalarviz.core.layers.normalization import Affine
from scalarviz.core.layers.parameters import is_in_use, leave_bank
from scalarviz.core.program import NONE
from scalarviz.data import DataSet
from scalarviz.engines.registry import choose
from scalarviz.errors import InputError, OrderError
from scalarviz.training.network.network import Network

Places = npt.NDArray[np.int64]
Start = Literal["same", "init"]
STARTS = {name: name for name in ("same", "init")}
LARGEST = 2**16  # neurons of a layer, the same limit as in scenes
PROBES = np.linspace(-8.0, 8.0, 33).tolist()  # inputs at which activations are compared with x
NEAR = 0.5, 0.1  # up to this |x|, an activation this close to x is nearly the identity


@dataclass(frozen=True, eq=False)
class GrownLayer:
    """A layer of a derived network, and where its numbers come from.

    Attributes:
        layer: layer of the new network, without a bank
        rows: for each bank row of the layer, the row of the old bank to copy, or NONE if new
        old: layer of the old network whose state is copied, or None
    """

    layer: Layer
    rows: Places
    old: Layer | None = None


@final
@dataclass(frozen=True, eq=False)
class GrownNetwork:
    """A network derived from another one.

    Attributes:
        network: the new network, whose new weights have initial values
        rows: for each row of the new bank, the row of the old bank to copy, int64; -1 for a new
            weight
        states: indices in the state of the new bank, and corresponding indices in the old bank
        fresh: mask of redrawn rows; if given, the whole optimizer state restarts. None (default):
            existing weights keep their values and optimizer state
    """

    network: Network
    rows: Places
    states: tuple[Places, Places]
    fresh: npt.NDArray[np.bool_] | None = None

    def take_numbers(self, bank: Bank) -> None:
        """Copy values, frozen flags, optimizer slots, step count and states from the old bank.

        The slots of new weights start at 0. Gradients are 0, as after `zero_grad`.
        """
        new, stay = self.network.bank, self.rows != NONE
        new.frozen[stay] = bank.frozen[self.rows[stay]]
        if self.fresh is not None:
            stay &= ~self.fresh
        rows = self.rows[stay]
        new.value[stay] = bank.value[rows]
        if self.fresh is None:
            for names, block in bank.blocks.items():
                new.slot_block(names)[:, stay] = block[:, rows]
            new.restart_count(bank.step_count)
        here, there = self.states
        new.state[here] = bank.state[there]
        new.scaling[:] = bank.scaling


@answered
def ablated(network: Network, *layers: int) -> Network:
    """Return a copy of a network in which Residual layers pass on their inputs, without f(x).

    The loss of the copy shows how much these layers are worth. In the copy, the last weights of f
    are 0.

    Args:
        network: a network, which is not changed
        layers: indices of Residual layers, at least one

    Raises InputError for another layer, or if f(x) is not 0 without its last weights, as with a
    sigmoid after them.

    >>> import scalarviz as sv
    >>> net = sv.Network([sv.Residual(sv.Dense(2, 3, "relu"), sv.Dense(3, 2))], seed=0)
    >>> ablated(net, 0)([3, 4]).tolist()
    [3.0, 4.0]
    """
    require(isinstance(network, Network), f"ablated takes a network, not {shorten(network)}")
    require(layers, "pass the index of at least one Residual layer, as in sv.ablated(net, 2)")
    copy = network.copy()
    for place in layers:
        every: tuple[Layer, ...] = copy.layers
        found = {i: each for i, each in enumerate(every) if isinstance(each, Residual)}
        layer = found.get(NONE if whole(place) is None else place)
        if layer is None:
            raise InputError(
                f"layer {shorten(place)} is not a Residual, and only these can be switched off: "
                f"{', '.join(map(str, found)) or 'this network has none'}"
            )
        branch = layer.branches[0]
        last = max((i for i, each in enumerate(branch) if each.size), default=0)
        copy.bank.value[branch[last].rows] = 0.0
        silent = through(branch[last:], Layer.evaluate_rows, [[0.0] * branch[last].inputs])
        require(
            branch[last].size and not np.any(silent),
            f"layer {place} cannot be switched off by weights: end it with a linear layer",
        )
    return copy


def with_neurons(net: Network, layer: int, count: int, start: Start, seed: int) -> GrownNetwork:
    """Return a network with `count` additional perceptrons at the end of a layer.

    If `start` is "same", the weights from the new perceptrons to the next layer are 0. Raises
    InputError.
    """
    index, old, after = inner_dense(net, layer, "neurons cannot be added to")
    count = size(count, "count")
    check_width(old.outputs + count)
    everyone = np.append(np.arange(old.outputs), np.full(count, NONE))
    places = as_they_are(net)
    places[index] = reshaped(old, everyone, np.arange(old.inputs))
    places[index + 1] = with_inputs(after, everyone)
    grown = made(net, places, seed)
    if start == "same":
        clear_unknown_inputs(grown, index + 1)
    return grown


def without_neuron(net: Network, layer: int, neuron: int, seed: int) -> GrownNetwork:
    """Return a network without one perceptron of a layer; raise InputError if it has no other."""
    index, old, after = inner_dense(net, layer, "no neuron can be removed from")
    gone = whole(neuron)
    if gone is None or not 0 <= gone < old.outputs:
        raise InputError(
            f"layer {index} has neurons 0 to {old.outputs - 1}, and no {shorten(neuron)}"
        )
    require(
        old.outputs != 1,
        f"neuron 0 is the only one of layer {index}, and cannot be removed: remove the layer",
    )
    left = np.delete(np.arange(old.outputs), gone)
    places = as_they_are(net)
    places[index] = reshaped(old, left, np.arange(old.inputs))
    places[index + 1] = with_inputs(after, left)
    return made(net, places, seed)


def with_layer(
    net: Network, layer: int, neurons: int | None, activation: str | None, start: Start, seed: int
) -> GrownNetwork:
    """Return a network with a new Dense layer at index `layer`.

    If `start` is "same", and the activation is nearly the identity on its inputs, the weights form
    the identity, and weights from any further neurons to the next layer are 0. Raises InputError.
    """
    count, index = len(net.layers), whole(layer)
    if index is None or not 0 <= index < count:
        last = "; the last layer gives the outputs, so insert one before it" * (index == count)
        raise InputError(
            f"a layer is inserted at an index from 0 to {count - 1}, not {shorten(layer)}{last}"
        )
    after = dense_at(net, index, "a layer can only be inserted before a Dense layer")
    width = after.inputs
    outputs = width if neurons is None else check_width(size(neurons, "neurons"))
    name = net[max(index - 1, 0)].activation if activation is None else activation
    name = activation_row(name).name
    new = Dense(width, outputs, name, bias=after.has_bias, init=after.init)
    stay = np.full(outputs, NONE)
    stay[:width] = np.arange(min(width, outputs))
    places = as_they_are(net)
    if outputs != width:
        places[index] = with_inputs(after, stay)
    places.insert(index, GrownLayer(new, np.full(new.size, NONE)))
    grown = made(net, places, seed)
    if start == "same" and keeps(name, net[index - 1].activation if index else "linear"):
        inserted = grown.network[index]
        known = min(width, outputs)
        inserted.kernel[:known] = np.eye(known, width)
        if inserted.has_bias:
            inserted.bias[:known] = 0.0
        clear_unknown_inputs(grown, index + 1)
    return grown


def without_layer(net: Network, layer: int, seed: int) -> GrownNetwork:
    """Return a network without a layer, whose inputs go to the next layer; raise InputError.

    The next layer keeps each weight whose input index still exists.
    """
    index, old, after = inner_dense(net, layer, "this layer cannot be removed:")
    stay = np.full(old.inputs, NONE)
    known = min(old.inputs, old.outputs)
    stay[:known] = np.arange(known)
    places = as_they_are(net)
    if old.inputs != old.outputs:
        places[index + 1] = with_inputs(after, stay)
    del places[index]
    return made(net, places, seed)


# ---- checks -------------------------------------------------------------------------------------


def whole(value: object) -> int | None:
    """Return an integer as an int; None for anything else."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return int(value) if is_whole else None  # type: ignore[call-overload]  # it is one


def check_width(neurons: int) -> int:
    """Return a number of neurons unchanged; raise InputError if it is too large."""
    require(neurons <= LARGEST, f"a layer grows to {LARGEST:,} neurons at most, not to {neurons:,}")
    return neurons


def inner_dense(net: Network, layer: object, fails: str) -> tuple[int, Dense, Dense]:
    """Return a layer's index, the layer and the next one; raise InputError unless both are Dense.

    `fails` is the beginning of the error message for the last layer.
    """
    index, count = whole(layer), len(net.layers)
    if index is None or not 0 <= index < count:
        raise InputError(f"the network has layers 0 to {count - 1}, and no {shorten(layer)}")
    require(
        index != count - 1,
        f"{fails} layer {index}, which gives the outputs of the network, as the data requires: "
        "choose an earlier layer",
    )
    old = dense_at(net, index, "only Dense layers can grow and shrink")
    only = f"layer {index} can only grow and shrink before a Dense layer"
    return index, old, dense_at(net, index + 1, only)


def dense_at(net: Network, index: int, only: str) -> Dense:
    """Return an unshared Dense layer; raise InputError, beginning with `only`, for others."""
    layer: Layer = net.layers[index]
    if not isinstance(layer, Dense):
        raise InputError(f"{only}, and layer {index} is {layer}: choose another layer")
    require(
        net.layers.count(layer) <= 1,
        f"{only} with unshared weights, and layer {index} shares its weights with another one: "
        "choose another layer",
    )
    return layer


def keeps(name: str, before: str) -> bool:
    """Return whether activation `name` is nearly the identity on the results of `before`."""
    own, other = ACTIVATIONS[name].value, ACTIVATIONS[before].value
    results = [other(x) for x in PROBES]  # also of a custom formula
    if all(own(y) == y for y in results):
        return True
    within, share = NEAR
    return all(abs(own(y) - y) <= share * abs(y) for y in results if abs(y) <= within)


# ---- construction -------------------------------------------------------------------------------


def as_they_are(net: Network) -> list[GrownLayer]:
    """Return unchanged copies of a network's layers."""
    # A shared layer is in several places.
    twins = {layer: layer.again() for layer in dict.fromkeys(net.layers)}
    return [GrownLayer(twins[old], rows_of(old), old) for old in net.layers]


def reshaped(old: Dense, perceptrons: Places, inputs: Places) -> GrownLayer:
    """Return a Dense layer with perceptrons and inputs of `old`, given by index, or NONE if new."""
    kernel = old.first_row + perceptrons[:, np.newaxis] * old.inputs + inputs
    kernel[perceptrons == NONE] = NONE
    kernel[:, inputs == NONE] = NONE
    rows = kernel.ravel()
    if old.has_bias:
        biases = old.first_row + old.inputs * old.outputs + perceptrons
        rows = np.append(rows, np.where(perceptrons == NONE, NONE, biases))
    new = Dense(len(inputs), len(perceptrons), old.activation, bias=old.has_bias, init=old.init)
    return GrownLayer(new, rows)


def with_inputs(old: Dense, inputs: Places) -> GrownLayer:
    """Return `old` with other inputs: each is an input index of `old`, or NONE for a new one."""
    return reshaped(old, np.arange(old.outputs), inputs)


def made(net: Network, places: Sequence[GrownLayer], seed: int) -> GrownNetwork:
    """Build the network of these layers, whose new weights are drawn with a seed."""
    layers = [place.layer for place in places]
    network = Network(layers, init=net.init, seed=seed, dtype=net.dtype)
    network.input_widths = net.input_widths
    rows = np.full(len(network.bank), NONE)
    for place in places:
        rows[place.layer.rows] = place.rows
    kept = [(place.layer, place.old) for place in places if place.old]
    return with_numbers(network, net, rows, kept)


def with_numbers(
    network: Network,
    net: Network,
    rows: Places,
    kept: Sequence[tuple[Layer, Layer]],
    fresh: npt.NDArray[np.bool_] | None = None,
) -> GrownNetwork:
    """Copy numbers of `net` to a new network; return both as a GrownNetwork.

    Args:
        rows, fresh: see GrownNetwork
        kept: pairs of a new layer and the layer of `net` whose state it keeps
    """
    states = [np.zeros((2, 0), np.int64)]
    states += [np.array([states_of(layer), states_of(old)]) for layer, old in kept]
    here, there = np.concatenate(states, axis=1)
    grown = GrownNetwork(network, rows, (here, there), fresh)
    grown.take_numbers(net.bank)
    return grown


def rows_of(layer: Layer) -> Places:
    """Return the bank rows of a layer."""
    return np.arange(layer.first_row, layer.first_row + layer.size)


def clear_unknown_inputs(grown: GrownNetwork, index: int) -> None:
    """Set the new weights of a layer that already existed to 0."""
    rows = np.arange(len(grown.rows))[grown.network.layers[index].rows]
    grown.network.bank.value[rows[grown.rows[rows] == NONE]] = 0.0


# Networks with other initial numbers, or with or without biases.


def redrawn(net: Network, init: Init, seed: int) -> GrownNetwork:
    """Return a network whose weights are drawn again, except frozen ones.

    A layer keeps its running statistics if all its weights are frozen.
    """
    network = remade(net, seed, init=init)
    frozen = net.bank.frozen
    kept = [
        (old, old)  # the state has the same place in the new one
        for old in dict.fromkeys(net.layers)
        if old.size and frozen[old.rows].all()
    ]
    return with_numbers(network, net, np.arange(len(net.bank)), kept, ~frozen)


def with_biases(net: Network, on: bool, seed: int) -> GrownNetwork:
    """Return a copy of a network with a bias for each perceptron, initially 0, or without biases.

    Raises:
        InputError: if nothing would change.
    """
    check_biases(net, on)
    network = remade(net, seed, bias=on)
    rows = np.full(len(network.bank), NONE)
    new = network.bank
    pairs = [*zip(network.layers, net.layers, strict=True)]
    for layer, old in pairs:
        both = min(old.size, layer.size)  # biases come last
        rows[layer.first_row : layer.first_row + both] = np.arange(both) + old.first_row
    grown = with_numbers(network, net, rows, pairs)
    new.value[rows == NONE] = 0.0
    for layer in network.layers:
        own = rows_of(layer)
        known = own[rows[own] != NONE]
        if known.size and new.frozen[known].all():
            new.frozen[own] = True
    return grown


def has_biases(net: Network) -> bool | None:
    """Return whether any perceptron has a bias; None if the network has no perceptrons."""
    found = [layer.has_bias for layer in net.layers if isinstance(layer, PerceptronLayer)]
    return any(found) if found else None


def check_biases(net: Network, on: bool) -> None:
    """Raise InputError if biases cannot be added to a network, or removed from it."""
    require(
        not any(layer.layers for layer in net.layers),
        "biases can be added and removed only in sequential networks, and this one has a "
        "Residual: make its layers with bias= instead",
    )
    found = {layer.has_bias for layer in net.layers if isinstance(layer, PerceptronLayer)}
    require(found, "this network has no perceptrons with biases to add or remove")
    if (not on) not in found:
        raise InputError(
            f"all perceptrons of this network {'have' if on else 'lack'} biases already: pass "
            f"on={not on} for the opposite"
        )


def remade(
    net: Network, seed: int, *, init: Init | None = None, bias: bool | None = None
) -> Network:
    """Return a copy of a network with new initial values, drawn with a seed.

    Args:
        init: initializer of all layers; None (default) keeps the initializers
        bias: whether perceptrons have biases; None (default) keeps the biases
    """
    twins = {layer: another_layer(layer, init, bias) for layer in dict.fromkeys(net.layers)}
    layers = [twins[layer] for layer in net.layers]
    made = Network(layers, init=net.init if init is None else init, seed=seed, dtype=net.dtype)
    made.names = net.names if bias is None else None
    made.input_widths = net.input_widths
    return made


def another_layer(layer: Layer, init: Init | None, bias: bool | None) -> Layer:
    """Return a copy of a layer, without its own initializer if `init` is given."""
    if not isinstance(layer, PerceptronLayer):
        return layer.again()
    settings = layer.settings() | ({} if bias is None else {"bias": bias})
    return type(layer)(**settings, init=layer.init if init is None else None)


def states_of(layer: Layer) -> Places:
    """Return the indices of a layer's state in its bank."""
    first = layer.first_state if layer.state_size else 0
    return np.arange(first, first + layer.state_size)


# Networks for data with `standardize=True` begin with an Affine.


def begin_with_affine(network: Any, data: DataSet) -> bool:
    """Insert the Affine layer if `data` requests one; return whether it was inserted.

    Args:
        network: a Model; unchanged if its first layer is an Affine

    Raises:
        OrderError: if the network has already been used or changed.
        InputError: for a compiled expression.
    """
    if not data.standardize or any(isinstance(each, Affine) for each in network.layers[:1]):
        return False
    require(
        network.layers,
        "data with standardize=True put an Affine before the layers of a network, and a compiled "
        "function has no layers: scale its inputs in the function, or leave it out",
    )
    require(
        is_as_made(network),
        "data with standardize=True put an Affine before the first layer of a new network, and "
        "this network was already used, changed or read: make it with this layer, for example "
        "sv.Network([data.affine(), 16, 3])",
        OrderError,
    )
    shape = network.input_shape or (network.inputs,)
    begin_with(network, Affine.standardizing(data.batches().at(0)[0].reshape(-1, *shape)))
    return True


def is_as_made(net: Network) -> bool:
    """Return whether a network is unused: never run, changed or read, and without a session."""
    used = net._waiting or net.bank.session or any(map(is_in_use, net._parts))
    return not used and is_like(net.bank, net.fresh(net.seed).bank)


def begin_with(net: Network, layer: Layer) -> None:
    """Insert a `layer` before the first one of an unused network.

    The other layers get new initial values, as in a network that was made with this layer.
    """
    for each in net._parts:
        leave_bank(each, net.bank)
    vars(net).pop("program", None)
    row, layers = choose(net.engine, precision=net.precision), (layer, *net.layers)
    net._begin(layers, net.init, net.seed, row, net.precision, net.dtype)
