"""Repeat the changes in the link of a playground in a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scalarviz.faces.scene_options import made_again
from scalarviz.files.run_settings import classes_of_optimizers
from scalarviz.stage.curves import earlier_losses
from scalarviz.story.journal import Change
from scalarviz.training.session.growth import (
    add_neurons,
    insert_layer,
    reinitialize,
    remove_layer,
    remove_neuron,
)
from scalarviz.training.session.reading import input_names
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import Origin

Make = Callable[[Mapping[str, Any]], Session]


def with_changes(session: Session, changes: Sequence[Change], make: Make) -> Session:
    """Train a session up to its last change; return it, or the one that follows from the changes.

    Args:
        session: a session at step 0
        changes: changes of a link
        make: returns a new session with settings
    """
    for change in changes:
        session.advance(change.step - len(earlier_losses(session)) - session.step_index)
        session.advance(max(0, change.operation - session.clock.operation), "operation")
        session = changed(session, change, make)
    return session


def changed(session: Session, change: Change, make: Make) -> Session:
    """Change a session; return it, or the one that was made from it."""
    now, kind = change.settings, change.kind
    if kind == "edit":
        session.edit(change.first, change.value)
    elif kind in ("freeze", "free"):
        session.freeze(list(range(change.first, change.last + 1)), kind == "freeze")
    elif kind == "weights":
        return reinitialize(session, now["init"], seed=change.first)
    elif kind == "drop":
        return remove_layer(session, change.first)
    elif kind == "hidden":
        return resized(session, now["hidden"], now["activation"])
    elif kind == "features":
        return with_inputs(session, make(now))
    elif kind == "lr":
        session.learning_rate = now["lr"]
    elif kind in ("opt", "l1", "l2"):
        kind = classes_of_optimizers()[now["opt"]]
        session.optimizer = kind(now["lr"], l1=now["l1"], l2=now["l2"])
    elif kind == "activation":
        for layer, name in enumerate(now["activation"]):
            session.set_activation(layer, name)
    else:
        session.batch = now["batch"]
        session.data = make(now).data
    return session


def resized(session: Session, sizes: Sequence[int], names: Sequence[str]) -> Session:
    """Return a session with hidden layers of these sizes, of which the last one may be new."""
    for layer, size in enumerate(sizes):
        old = session.network.layers[layer].outputs
        if layer == len(session.network.layers) - 1:
            session = insert_layer(session, layer, size, names[layer])
        elif size > old:
            session = add_neurons(session, layer, size - old)
        else:
            for neuron in range(old - 1, size - 1, -1):
                session = remove_neuron(session, layer, neuron)
    return session


def with_inputs(session: Session, made: Session) -> Session:
    """Return a session with other inputs; existing weights stay, and new ones are 0."""
    old, new = [[*input_names(each.data)] for each in (session, made)]
    layer, before = made.network.layers[0], session.network.layers[0]
    made.network.bank.value[layer.kernel.size :] = session.network.bank.value[before.kernel.size :]
    layer.kernel[:] = 0.0
    for place, name in enumerate(new):
        if name in old:
            layer.kernel[:, place] = before.kernel[:, old.index(name)]
    made = made_again(made, {})
    made.timeline.origin = Origin("other inputs", *session.clock.place, session)
    return made
