"""Networks made from other networks: grown and shrunk, drawn anew, with or without biases.

Only Dense layers grow and shrink, and the layer after them has to be Dense as well: it takes their
outputs. All other layers of the network stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import require, shorten, size
from scalarviz.core.bank import Bank
from scalarviz.core.bank_arrays import is_like
from scalarviz.core.formulas.activations import ACTIVATIONS, activation_row
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.layers import Dense, Layer
from scalarviz.core.layers.dense import PerceptronLayer
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
LARGEST = 2**16  # neurons of a layer, as in scenes
PROBES = np.linspace(-8.0, 8.0, 33).tolist()  # inputs at which activations are compared with x
NEAR = 0.5, 0.1  # up to this |x|, an activation within this share of |x| is nearly the identity


@dataclass(frozen=True, eq=False)
class GrownLayer:
    """A layer of a network to be made.

    Attributes:
        layer: of the new network, without a bank
        rows: for each of its rows the row of the old bank, or NONE
        old: the layer of the old network whose state it takes; None: none
    """

    layer: Layer
    rows: Places
    old: Layer | None = None


@final
@dataclass(frozen=True, eq=False)
class GrownNetwork:
    """A network that was made from another one.

    Attributes:
        network: the new one, with initial numbers on the rows that are new
        rows: int64: for each row of its bank the row of the old bank, or -1 for a new weight
        states: indices of its bank's state, and of the old one's, that belong together
        fresh: mask of rows whose numbers are drawn anew, so that the optimizer also begins anew;
            None, the default: all rows go on, except for those that are new
    """

    network: Network
    rows: Places
    states: tuple[Places, Places]
    fresh: npt.NDArray[np.bool_] | None = None

    def take_numbers(self, bank: Bank) -> None:
        """Copy values, frozen marks, slots, step count and states that stay from the old bank.

        The slots of new weights begin at 0. Gradients are those after `zero_grad`.
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


def with_neurons(net: Network, layer: int, count: int, start: Start, seed: int) -> GrownNetwork:
    """Return a network with `count` further perceptrons in a layer, after the others.

    With the start "same", weights from them to the next layer are 0. Raises InputError.
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
    """Return a network without one perceptron of a layer; raise InputError if it has only one."""
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
    """Return a network with a further Dense layer at an index, before the layer that is there.

    With the start "same" its weights are those of the identity, if its activation is the identity
    or nearly so on what arrives, and those from its further neurons to the next layer are 0.
    Raises InputError.
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
    """Return a network without a layer, whose inputs the next layer takes; raise InputError.

    The weights of the next layer stay by the index of their input, as far as there are such.
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
    """Return a whole number as an int; None for anything else."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return int(value) if is_whole else None  # type: ignore[call-overload]  # it is one


def check_width(neurons: int) -> int:
    """Return a number of neurons; raise InputError if it is too large."""
    require(neurons <= LARGEST, f"a layer grows to {LARGEST:,} neurons at most, not to {neurons:,}")
    return neurons


def inner_dense(net: Network, layer: object, fails: str) -> tuple[int, Dense, Dense]:
    """Return index, Dense layer and the Dense layer after it; raise InputError for others.

    `fails` begins the message about the last layer.
    """
    index, count = whole(layer), len(net.layers)
    if index is None or not 0 <= index < count:
        raise InputError(f"the network has layers 0 to {count - 1}, and no {shorten(layer)}")
    require(
        index != count - 1,
        f"{fails} layer {index}, which gives the outputs of the network, as many as the data "
        "has: choose a layer before it",
    )
    old = dense_at(net, index, "only Dense layers can grow and shrink")
    only = f"layer {index} can only grow and shrink before a Dense layer"
    return index, old, dense_at(net, index + 1, only)


def dense_at(net: Network, index: int, only: str) -> Dense:
    """Return a Dense layer in one place; raise InputError, which begins with `only`, for others."""
    layer: Layer = net.layers[index]
    if not isinstance(layer, Dense):
        raise InputError(f"{only}, and layer {index} is {layer}: choose another layer")
    require(
        net.layers.count(layer) <= 1,
        f"{only} with weights of its own, and those of layer {index} are shared with another "
        "one: choose another layer",
    )
    return layer


def keeps(name: str, before: str) -> bool:
    """Whether an activation is the identity, or nearly so about 0, on results of another one."""
    own, other = ACTIVATIONS[name].value, ACTIVATIONS[before].value
    results = [other(x) for x in PROBES]  # of a formula of the user's own, too
    if all(own(y) == y for y in results):
        return True
    within, share = NEAR
    return all(abs(own(y) - y) <= share * abs(y) for y in results if abs(y) <= within)


# ---- making the network -------------------------------------------------------------------------


def as_they_are(net: Network) -> list[GrownLayer]:
    """Return the layers of a network as they are."""
    # A shared layer is in several places.
    twins = {layer: layer.again() for layer in dict.fromkeys(net.layers)}
    return [GrownLayer(twins[old], rows_of(old), old) for old in net.layers]


def reshaped(old: Dense, perceptrons: Places, inputs: Places) -> GrownLayer:
    """Return a Dense layer with parts of one; given the index of each in `old`, or NONE."""
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
    """Return a Dense layer with other inputs, given the index of each in `old`, or NONE."""
    return reshaped(old, np.arange(old.outputs), inputs)


def made(net: Network, places: Sequence[GrownLayer], seed: int) -> GrownNetwork:
    """Return the network of these layers, with initial numbers of a seed on new rows."""
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
    """Return a network that has taken its numbers from `net`.

    Args:
        rows, fresh: as in GrownNetwork
        kept: pairs of its layers and those of `net` whose states stay
    """
    states = [np.zeros((2, 0), np.int64)]
    states += [np.array([states_of(layer), states_of(old)]) for layer, old in kept]
    here, there = np.concatenate(states, axis=1)
    grown = GrownNetwork(network, rows, (here, there), fresh)
    grown.take_numbers(net.bank)
    return grown


def rows_of(layer: Layer) -> Places:
    """Return the rows of a layer in its bank."""
    return np.arange(layer.first_row, layer.first_row + layer.size)


def clear_unknown_inputs(grown: GrownNetwork, index: int) -> None:
    """Set the new weights of a layer that is otherwise an old one to 0."""
    rows = np.arange(len(grown.rows))[grown.network.layers[index].rows]
    grown.network.bank.value[rows[grown.rows[rows] == NONE]] = 0.0


# Networks made again: with other initial numbers, or with or without biases.


def redrawn(net: Network, init: Init, seed: int) -> GrownNetwork:
    """Return a network whose weights are drawn anew by an initializer, but for frozen ones.

    Statistics of a layer stay if all of its weights are frozen.
    """
    network = remade(net, seed, init=init)
    frozen = net.bank.frozen
    kept = [
        (old, old)  # the new one has its state in the same place
        for old in dict.fromkeys(net.layers)
        if old.size and frozen[old.rows].all()
    ]
    return with_numbers(network, net, np.arange(len(net.bank)), kept, ~frozen)


def with_biases(net: Network, on: bool, seed: int) -> GrownNetwork:
    """Return a network whose perceptrons have biases, which begin at 0, or have none.

    Raises:
        InputError: if it has no perceptrons that lack them or have them.
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
    """Return whether any perceptrons in a row of layers have biases; None without such layers."""
    found = [layer.has_bias for layer in net.layers if isinstance(layer, PerceptronLayer)]
    return any(found) if found else None


def check_biases(net: Network, on: bool) -> None:
    """Raise InputError unless biases can be added to a network, or removed from it."""
    require(
        not any(layer.layers for layer in net.layers),
        "biases come and go in networks of layers in a row, and this one has a Residual: make "
        "its layers with bias= instead",
    )
    found = {layer.has_bias for layer in net.layers if isinstance(layer, PerceptronLayer)}
    require(found, "this network has no perceptrons, whose biases could come or go")
    if (not on) not in found:
        raise InputError(
            f"all perceptrons of this network {'have' if on else 'lack'} biases already: pass "
            f"on={not on} for the other way"
        )


def remade(
    net: Network, seed: int, *, init: Init | None = None, bias: bool | None = None
) -> Network:
    """Return a network like another one, with the initial numbers of a seed.

    Args:
        init: initializer of all layers; None, the default: as in the other network
        bias: whether perceptrons have biases; None, the default: as they have them
    """
    twins = {layer: another_layer(layer, init, bias) for layer in dict.fromkeys(net.layers)}
    layers = [twins[layer] for layer in net.layers]
    made = Network(layers, init=net.init if init is None else init, seed=seed, dtype=net.dtype)
    made.names = net.names if bias is None else None
    made.input_widths = net.input_widths
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


# Networks for data with `standardize=True`: they begin with an Affine.


def begin_with_affine(network: Any, data: DataSet) -> bool:
    """Put the Affine of `data` before the first layer, if they ask for it; return whether it was.

    Args:
        network: a Model; one that begins with an Affine stays as it is

    Raises:
        OrderError: for a network that is not as it was made.
        InputError: for an expression.
    """
    if not data.standardize or any(isinstance(each, Affine) for each in network.layers[:1]):
        return False
    require(
        network.layers,
        "data with standardize=True put an Affine before the layers of a network, and a "
        "compiled function has none: scale its inputs in the function, or leave it out",
    )
    require(
        is_as_made(network),
        "data with standardize=True put an Affine before the first layer of a new network, and "
        "this one was computed with, changed or read already: make it with that layer, "
        "sv.Network([data.affine(), 16, 3]), say",
        OrderError,
    )
    shape = network.input_shape or (network.inputs,)
    begin_with(network, Affine.standardizing(data.batches().at(0)[0].reshape(-1, *shape)))
    return True


def is_as_made(net: Network) -> bool:
    """Return whether nothing was computed, changed or handed out, and no session trains it."""
    used = net._waiting or net.bank.session or any(map(is_in_use, net._parts))
    return not used and is_like(net.bank, net.fresh(net.seed).bank)


def begin_with(net: Network, layer: Layer) -> None:
    """Put a `layer` before the first one of a network that is as it was made.

    The others get the initial numbers of their new rows, as if it had been made with it.
    """
    for each in net._parts:
        leave_bank(each, net.bank)
    vars(net).pop("program", None)
    row, layers = choose(net.engine, precision=net.precision), (layer, *net.layers)
    net._begin(layers, net.init, net.seed, row, net.precision, net.dtype)
