"""Growth: make sessions with neurons or layers added or removed, or with new initial weights.

Weights that remain keep their values, unless they are drawn again. The earlier session is not
changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np

from scalarviz.base.checks import answered, require, shorten, true_or_false
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.randomness import check_seed, growth_seed
from scalarviz.core.optimizer import NO_OWN_RATES
from scalarviz.errors import InputError
from scalarviz.training.network import grown_networks
from scalarviz.training.network.grown_networks import STARTS, GrownNetwork, Start
from scalarviz.training.network.network import Network
from scalarviz.training.session.actions import after
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Origin, Timeline
from scalarviz.training.session.trainer import Trainer, settings_now

Change = Callable[[Network, int], GrownNetwork]


@answered
def add_neurons(session: Session, layer: int, count: int = 1, *, start: Start = "same") -> Session:
    """Append neurons to a hidden layer, and return a new session.

    The new session is at step 0. Existing weights keep their values, frozen flags and optimizer
    slots. The step count of the optimizer continues, and so does its schedule. The slots of new
    weights start at 0. Data, loss, optimizer, batch, seed, precision, engine, metrics, stop
    conditions and pinned weights are copied from the current moment of the earlier session;
    callbacks are not copied. The earlier session is not changed, and is available as
    `origin.session`.

    Args:
        session: a Session of a Network
        layer: index of a Dense layer that is followed by a Dense layer
        count: number of neurons to add; 1 by default
        start: "same" (default) sets the weights from the new neurons to the next layer to 0, so
            that the outputs are unchanged at first; "init" draws all new weights at random

    New weights are drawn by the initializer of their layer, with a seed that depends on the seeds
    of the session and the network, and the current moment. Raises InputError for a session of a
    compiled expression, or a layer that cannot grow.
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
    """Remove a neuron with its incoming and outgoing weights, and return a new session.

    Args:
        session: a Session of a Network
        layer: index of a Dense layer that is followed by a Dense layer
        neuron: index of the neuron in the layer

    Everything else is kept as in `add_neurons`. Raises InputError if the layer cannot shrink or has
    only this neuron.
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
    """Insert a Dense layer, and return a new session.

    Args:
        session: a Session of a Network
        layer: index of the new layer, as in `list.insert`; there must be a Dense layer at this
            index
        neurons: number of neurons; None (default) means the number of inputs
        activation: name of the activation; None (default) means the activation of the previous
            layer
        start: "same" (default) makes the new layer the identity if its activation allows that:
            exactly for "linear", and for "relu" with non-negative inputs; approximately for "tanh"
            and "sin" with small inputs. "init", and "same" with any other activation, draw all new
            weights at random

    Everything else is kept as in `add_neurons`. If the new layer has fewer neurons than inputs, the
    next layer loses the weights of its last inputs; if it has more, the next layer gets new
    weights. Raises InputError for an invalid index or another kind of layer there, and
    UnknownNameError for an unknown activation.
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
    """Remove a layer, so that its inputs go to the next layer, and return a new session.

    Args:
        session: a Session of a Network
        layer: index of a Dense layer that is followed by a Dense layer

    Everything else is kept as in `add_neurons`. The next layer keeps each weight whose input index
    still exists. If the removed layer had more inputs than neurons, the additional weights are
    drawn at random. Raises InputError for the last layer and for other kinds of layers.
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
    """Draw new initial weights, except for frozen ones, and return a new session.

    The optimizer restarts with empty slots and at the start of its schedule. Everything else,
    including separate learning rates, is kept as in `add_neurons`.

    Args:
        session: a Session of a Network
        init: initializer of all layers: a name, a function or an Init; "pytorch" by default
        seed: seed of the new weights, a non-negative integer; None (default) means the seed of the
            network

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
    """Add biases to all perceptrons, or remove them, and return a new session.

    New biases start at 0, so the outputs are unchanged at first. Everything else is kept as in
    `add_neurons`.

    Args:
        session: a Session of a Network
        on: True (default) adds biases; False removes them

    Raises:
        InputError: if nothing would change, or if the network has layers inside other layers.
    """
    on = true_or_false(on, "on")
    return changed(
        session,
        f"biases {'added' if on else 'removed'}",
        lambda net, seed: grown_networks.with_biases(net, on, seed),
    )


def changed(session: Session, did: str, change: Change) -> Session:
    """Return a new session at step 0 for the network that `change(network, seed)` returns.

    `did` is a description of the change. If it is impossible, raises InputError and changes
    nothing.
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
        grown = change(network, growth_seed(trainer.seed, network.seed, *clock.place))
        network = grown.network
        now = settings_now(session)
        rates = NO_OWN_RATES
        own = now.optimizer.own_rates.at(grown.rows)
        own[grown.rows < 0] = np.nan
        for rate in np.unique(own[~np.isnan(own)]).tolist():
            rates = rates.changed(np.flatnonzero(own == rate), rate)
        settings = replace(
            now,
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
