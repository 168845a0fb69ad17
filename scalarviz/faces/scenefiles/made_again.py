"""The training of a scene made again with options that the scene itself does not have."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from scalarviz.base.checks import number
from scalarviz.core.formulas.activations import activation_row
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.layers import Activation
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.core.optimizer import Optimizer
from scalarviz.errors import InputError
from scalarviz.files.run_settings import classes_of_optimizers
from scalarviz.training.network.grown_networks import remade
from scalarviz.training.network.network import Network
from scalarviz.training.session.conditions import with_rows
from scalarviz.training.session.session import Session
from scalarviz.training.session.stops import KIND, in_force

# Options that make a training again; the others change it.
RESTARTS = {"batch", "seed", "optimizer", "loss", "activation", "init", "bias", "l1", "l2"}
REBUILDS = {"seed", "init", "bias"}
# Learning rates of an optimizer that is chosen without one.
RATES = {
    "sgd": 0.1,
    "momentum": 0.01,
    "nesterov": 0.01,
    "rmsprop": 0.001,
    "adam": 0.01,
    "adamw": 0.01,
}
PENALTIES = {"l1", "l2"}
KEPT = "l1", "l2", "clip_value", "clip_norm", "not_finite"  # settings of every optimizer


def made_again(session: Session, given: Mapping[str, Any]) -> Session:
    """Return the same training at its start, with other options by name, those of RESTARTS.

    The optimizer keeps schedule, penalties and clipping; its rate is `lr` if that is given.
    Raises InputError for options that this network cannot have.
    """
    trainer, network = session.trainer, session.network
    loss, optimizer = trainer.loss, trainer.settings.optimizer
    if "loss" in given and given["loss"] != loss.name:
        loss = Loss(given["loss"])
    if "optimizer" in given and given["optimizer"] != optimizer.name:
        optimizer = another_optimizer(optimizer, given["optimizer"])
    for name in given.keys() & PENALTIES:
        optimizer = with_penalty(optimizer, name, given[name])
    for name in given.keys() & (REBUILDS | {"activation"}):
        if not network.layers:
            raise InputError(
                f"the scene trains an expression, which has no {name}: leave out --{name}"
            )
    if given.keys() & REBUILDS:
        network = rebuilt(network, **{name: given.get(name) for name in REBUILDS})
    if "activation" in given:
        set_hidden_activations(network, given["activation"])
    found = Session(
        network,
        session.data,
        loss,
        optimizer,
        given.get("batch") or trainer.settings.batch,
        given.get("engine") or session.engine,
        trainer.seed if given.get("seed") is None else given["seed"],
        precision=trainer.settings.precision,
        memory=session.timeline.keyframes.budget,
    )
    found.visits.metrics = session.visits.metrics
    keep_stops(session, found)
    return found


def keep_stops(old: Session, new: Session) -> None:
    """Let a new session stop where an old one does, as far as its network has the same rows."""
    rows = {row: row for row in range(len(new.network.bank))}
    if stops := with_rows(in_force(old.trainer.settings), rows):
        with new.undo_log.off():
            new.timeline.note(KIND, {"conditions": stops})


def another_optimizer(old: Optimizer, name: str) -> Optimizer:
    """Return an optimizer of another kind, with the usual rate of that kind."""
    pick(OPTIMIZERS, name, "optimizer")
    kept = {key: getattr(old, key) for key in KEPT}
    kind = classes_of_optimizers()[name]
    made: Optimizer = kind(RATES.get(name, kind().lr), schedule=old.schedule, **kept)
    return made


def with_penalty(optimizer: Optimizer, name: str, value: float) -> Optimizer:
    """Return an optimizer with another l1 or l2; raise InputError unless it is 0 or more."""
    changed = copy.copy(optimizer)
    setattr(changed, name, number(value, name, 0.0))
    return changed


def rebuilt(network: Network, seed: int | None, init: str | None, bias: bool | None) -> Network:
    """Return a network with other initial numbers, or with or without biases.

    Raises InputError if its weights do not come from its initializer, or for biases of layers
    inside others.
    """
    seed = network.seed if seed is None else seed
    if init is None and bias is None:
        return network.fresh(seed)
    option = "--bias" if init is None else "--init"
    drawn = network.fresh(network.seed).bank.value
    if not np.array_equal(drawn, network.bank.value) or network.bank.frozen.any():
        raise InputError(
            f"the network of the scene comes with weights of its own: leave out {option}"
        )
    if bias is not None and any(layer.layers for layer in network.layers):
        raise InputError("--bias is for layers in a row, and this network has a Residual")
    return remade(network, seed, init=None if init is None else Init(init), bias=bias)


def hidden_places(network: Network) -> list[int]:
    """Return the indices of the layers before the last one that can have an activation."""
    return [
        place
        for place, layer in enumerate(network.layers[:-1])
        if isinstance(layer, (PerceptronLayer, Activation))
    ]


def set_hidden_activations(network: Network, name: str) -> None:
    """Set the activation of all layers but the last; raise InputError if none can have one."""
    activation_row(name)
    hidden = hidden_places(network)
    if not hidden:
        raise InputError(
            "the scene's network has no hidden layer with an activation: leave out --activation"
        )
    for place in hidden:
        network.set_activation(place, name)
