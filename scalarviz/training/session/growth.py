"""Growing: a new session of a network with a neuron or a layer more or less, or begun otherwise.

The weights that stay go on from where they stand; the earlier session stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from scalarviz.base.checks import answered, require, shorten, true_or_false
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.randomness import check_seed
from scalarviz.core.optimizer import NO_OWN_RATES
from scalarviz.errors import InputError
from scalarviz.training.network import grown_networks
from scalarviz.training.network.grown_networks import STARTS, GrownNetwork, Start
from scalarviz.training.network.network import Network
from scalarviz.training.session.actions import after
from scalarviz.training.session.conditions import with_rows
from scalarviz.training.session.session import Session
from scalarviz.training.session.stops import in_force
from scalarviz.training.session.timeline import Origin, Timeline
from scalarviz.training.session.trainer import Trainer, settings_now

Change = Callable[[Network, int], GrownNetwork]


@answered
def add_neurons(session: Session, layer: int, count: int = 1, *, start: Start = "same") -> Session:
    """Return a new session whose network has further neurons in a hidden layer, after the others.

    The new session stands at step 0. All weights that stay keep their values, frozen marks and
    optimizer slots, and the optimizer's count of steps goes on, and with it a schedule; the slots
    of new weights begin at 0. Data, loss, optimizer, batch, seed, precision, engine, metrics,
    conditions to stop at and pinned weights are those of the earlier session at its present moment,
    callbacks are not. The earlier session stays as it is, and is `origin.session` of the new one.

    Args:
        session: a Session of a Network
        layer: index of the layer: a Dense layer that a Dense layer follows
        count: number of neurons to add; by default 1
        start: "same", the default: the weights from new neurons to the next layer begin at 0, so
            that the network computes what it did until it learns; "init": all new weights are drawn

    New weights are drawn by the initializer of their layer, from a seed that follows from those of
    session and network, the moment and the change. Raises InputError for a session of a compiled
    expression and for a layer that cannot grow.
    """
    pick(STARTS, start, "start")
    neurons = "1 neuron" if count == 1 else f"{shorten(count)} neurons"
    return changed(
        session,
        f"{neurons} added to layer {shorten(layer)}",
        lambda net, seed: grown_networks.with_neurons(net, layer, count, start, seed),
    )


@answered
def remove_neuron(session: Session, layer: int, neuron: int) -> Session:
    """Return a new session whose network lacks a neuron, with its weights in and out.

    Args:
        session: a Session of a Network
        layer: index of the layer: a Dense layer that a Dense layer follows
        neuron: index of the neuron in it; those after it move up by one

    What stays is as for `add_neurons`. Raises InputError for the last neuron of a layer, and for a
    layer that cannot shrink.
    """
    return changed(
        session,
        f"neuron {shorten(neuron)} removed from layer {shorten(layer)}",
        lambda net, seed: grown_networks.without_neuron(net, layer, neuron, seed),
    )


@answered
def insert_layer(
    session: Session,
    layer: int,
    neurons: int | None = None,
    activation: str | None = None,
    *,
    start: Start = "same",
) -> Session:
    """Return a new session whose network has a further Dense layer.

    Args:
        session: a Session of a Network
        layer: index that the new layer gets, as in `list.insert`; a Dense layer must be there now,
            which comes after it
        neurons: number of its neurons; None, the default: as many as its inputs
        activation: name of its activation; None, the default: that of the layer before it
        start: "same", the default: the new layer hands its inputs on, if its activation allows it:
            exactly with "linear", and with "relu" after results that are not negative, nearly with
            "tanh" and "sin", which bend large inputs; other activations start as with "init": all
            new weights are drawn

    What stays is as for `add_neurons`. With fewer neurons than inputs, the next layer loses the
    weights of the last inputs; with more, it has new ones. Raises InputError for another index and
    for another kind of layer there, UnknownNameError for an unknown activation.
    """
    pick(STARTS, start, "start")
    wide = "" if neurons is None else f" of {shorten(neurons)} neurons"
    kind = "" if activation is None else f", {shorten(activation)},"
    return changed(
        session,
        f"a layer{wide}{kind} inserted as layer {shorten(layer)}",
        lambda net, seed: grown_networks.with_layer(net, layer, neurons, activation, start, seed),
    )


@answered
def remove_layer(session: Session, layer: int) -> Session:
    """Return a new session whose network lacks a layer; the next one takes its inputs.

    Args:
        session: a Session of a Network
        layer: index of the layer: a Dense layer that a Dense layer follows

    What stays is as for `add_neurons`. Weights of the next layer stay by the index of their input;
    where the removed layer had more inputs than neurons, further ones are drawn. Raises InputError
    for the last layer and for other kinds of layers.
    """
    return changed(
        session,
        f"layer {shorten(layer)} removed",
        lambda net, seed: grown_networks.without_layer(net, layer, seed),
    )


@answered
def reinitialize(
    session: Session, init: str | Init | Callable[..., Any] = "pytorch", *, seed: int | None = None
) -> Session:
    """Return a new session whose network has other initial weights; frozen ones stay.

    The optimizer begins anew, with empty slots and its schedule at its start. The rest, the rates
    of weights included, stays as for `add_neurons`, and the earlier session stays as it is.

    Args:
        session: a Session of a Network
        init: initializer of all layers, a name or an Init; by default "pytorch"
        seed: seed of the draws, an integer from 0; None, the default: that of the network

    Raises:
        UnknownNameError: for an unknown initializer.
        InputError: for a compiled expression.
    """
    chosen = Init.of(init)
    wanted = None if seed is None else check_seed(seed)
    return changed(
        session,
        f"weights drawn by {chosen.row.name}",
        lambda net, _: grown_networks.redrawn(net, chosen, net.seed if wanted is None else wanted),
    )


@answered
def set_biases(session: Session, on: bool = True) -> Session:
    """Return a new session whose perceptrons all have biases, or have none.

    New biases begin at 0, so that the network computes what it did until it learns. What stays is
    as for `add_neurons`.

    Args:
        session: a Session of a Network
        on: False: without biases; by default True

    Raises:
        InputError: if all perceptrons are so already, and for layers inside others.
    """
    on = true_or_false(on, "on")
    return changed(
        session,
        f"biases {'added' if on else 'removed'}",
        lambda net, seed: grown_networks.with_biases(net, on, seed),
    )


def changed(session: Session, did: str, change: Change) -> Session:
    """Return a new session at step 0 of the network that `change` makes, given a seed.

    `did` says what was done. Raises InputError, with nothing changed.
    """
    if not isinstance(session, Session):
        raise InputError(
            f"a network grows in a session, and this is {shorten(session)}: pass the session that "
            "trains it"
        )
    network = cast(Network, session.network)
    require(
        network.layers,
        "a compiled expression has no layers that could grow: pass a session of a Network",
    )
    with session.doing():
        clock, trainer = session.clock, session.trainer
        # The seed follows from all that this is about.
        words = "|".join(map(str, (trainer.seed, network.seed, *clock.place, did)))
        digest = hashlib.sha256(words.encode()).digest()
        grown = change(network, int.from_bytes(digest[:8], "big"))
        network = grown.network
        now = settings_now(session)
        rates = NO_OWN_RATES
        own = now.optimizer.own_rates.at(grown.rows)
        own[grown.rows < 0] = np.nan
        for rate in np.unique(own[~np.isnan(own)]).tolist():
            rates = rates.changed(np.flatnonzero(own == rate), rate)
        kept = {old: row for row, old in enumerate(grown.rows.tolist()) if old >= 0}
        settings = replace(
            now,
            stops=tuple(with_rows(in_force(now), kept)),
            activations=network.activations,
            optimizer=now.optimizer.on(network._rows_named).with_own_rates(rates),
        )
        made = Trainer(network, settings, trainer.seed)
        grown.take_numbers(trainer.bank)
        before = trainer.settings
        for action in session.timeline.branch.waiting_at(clock):
            before = after(before, action, made.bank)
        timeline = Timeline(made, session.timeline.keyframes.budget)
        timeline.visits.metrics = session.visits.metrics
        timeline.origin = Origin(did, *clock.place, session, grown.rows)
        found = Session.of(timeline)
        found.focus = session.focus
        pinned = np.flatnonzero(np.isin(grown.rows, session.pinned))
    if pinned.size:
        found.pin(pinned.tolist())
    return found
