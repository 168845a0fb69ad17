"""Growth: new sessions with a neuron or layer added or removed, or with new initial weights.

Existing weights keep their values; the earlier session is unchanged.
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
from scalarviz.training.session.conditions import with_rows
from scalarviz.training.session.session import Session
from scalarviz.training.session.stops import in_force
from scalarviz.training.session.timeline import Origin, Timeline
from scalarviz.training.session.trainer import Trainer, settings_now

Change = Callable[[Network, int], GrownNetwork]


@answered
def add_neurons(session: Session, layer: int, count: int = 1, *, start: Start = "same") -> Session:
    """Append neurons to a hidden layer; return the new session.

    The new session is at step 0. Existing weights keep their values, frozen marks and optimizer
    slots; the step count of the optimizer, and so its schedule, continues. The slots of new weights
    start at 0. Data, loss, optimizer, batch, seed, precision, engine, metrics, stop conditions and
    pinned weights are copied from the current moment of the earlier session; callbacks are not. The
    earlier session is unchanged, and available as `origin.session`.

    Args:
        session: a Session of a Network
        layer: index of a Dense layer followed by a Dense layer
        count: number of neurons to add; by default 1
        start: "same", the default: weights from new neurons to the next layer start at 0, so the
            outputs are unchanged at first; "init": all new weights are drawn

    New weights are drawn by the initializer of their layer, with a seed derived from the seeds of
    session and network, and the moment. Raises InputError for a session of a compiled expression,
    or a layer that cannot grow.
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
    """Remove a neuron with its incoming and outgoing weights; return the new session.

    Args:
        session: a Session of a Network
        layer: index of a Dense layer followed by a Dense layer
        neuron: index of the neuron in the layer

    Everything else is kept as in `add_neurons`. Raises InputError for the only neuron of a layer,
    or a layer that cannot shrink.
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
    """Insert a Dense layer; return the new session.

    Args:
        session: a Session of a Network
        layer: index of the new layer, as in `list.insert`, before an existing Dense layer
        neurons: number of neurons; None, the default: the number of its inputs
        activation: name of its activation; None, the default: the activation of the previous layer
        start: "same", the default: the new layer is the identity if its activation allows it:
            exactly for "linear", and for "relu" on non-negative inputs; approximately for "tanh"
            and "sin" on small inputs. Other activations start as with "init": all new weights are
            drawn

    Everything else is kept as in `add_neurons`. With fewer neurons than inputs, the next layer
    loses the weights of the last inputs; with more, it gets new ones. Raises InputError for an
    invalid index or another kind of layer there, UnknownNameError for an unknown activation.
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
    """Remove a layer; return the new session, in which the next layer takes its inputs.

    Args:
        session: a Session of a Network
        layer: index of a Dense layer followed by a Dense layer

    Everything else is kept as in `add_neurons`. The next layer keeps its weights by index of their
    input; if the removed layer had more inputs than neurons, additional weights are drawn. Raises
    InputError for the last layer and for other kinds of layers.
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
    """Draw new initial weights, except for frozen ones; return the new session.

    The optimizer restarts with empty slots and its schedule. Everything else, including separate
    learning rates, is kept as in `add_neurons`.

    Args:
        session: a Session of a Network
        init: initializer of all layers: a name or an Init; by default "pytorch"
        seed: seed of the draws, a non-negative integer; None, the default: the seed of the network

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
    """Add biases to all perceptrons, or remove them; return the new session.

    New biases start at 0, so the outputs are unchanged at first. Everything else is kept as in
    `add_neurons`.

    Args:
        session: a Session of a Network
        on: True, the default: add biases; False: remove them

    Raises:
        InputError: if nothing would change, or for layers inside other layers.
    """
    on = true_or_false(on, "on")
    return changed(
        session,
        f"biases {'added' if on else 'removed'}",
        lambda net, seed: grown_networks.with_biases(net, on, seed),
    )


def changed(session: Session, did: str, change: Change) -> Session:
    """Return a new session at step 0 for the network returned by `change`, given a seed.

    `did` describes the change. Raises InputError, with nothing changed.
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
