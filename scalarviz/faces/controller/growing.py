"""Networks that grow and shrink: each change is a training of its own, and the way back stays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from scalarviz.core.program import Operation
from scalarviz.faces.controller import trail
from scalarviz.training.session.caption import Neuron
from scalarviz.training.session.growth import add_neurons, insert_layer, remove_layer, remove_neuron
from scalarviz.training.session.session import Session

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def grow(
    controller: Controller,
    make: Callable[[Session], Session],
    seen: Callable[[Session], Neuron | None] = lambda made: None,
) -> None:
    """Go on with the session that a function makes of this one.

    seen  returns the neuron to point at then, until the mouse points at something
    """
    session = controller.session

    def begin(made: Session) -> None:
        did = go_on_with(controller, made)
        controller.stage.hover_neuron = seen(made)
        trail.tell(controller, did)

    controller.do(lambda: make(session), begin)


def go_on_with(controller: Controller, session: Session) -> str:
    """Show a session that was made from the one that is shown; return what was done."""
    origin = session.origin
    assert origin is not None, "a session that was made from another one has an origin"
    trail.go_on(controller, *trail.with_session(controller, session), origin.did)
    return origin.did


# The commands.


def one_more(controller: Controller) -> None:
    """Add a neuron to the layer that is pointed at, by default the first hidden one."""
    place = layer_at(controller)
    grow(controller, lambda session: add_neurons(session, place), partial(last_neuron, place))


def one_less(controller: Controller) -> None:
    """Remove the neuron that is pinned, by default the last one of the first hidden layer."""
    neuron = controller.stage.pinned_neuron
    operation = None if neuron is None else writer_of(controller.session, neuron[0])
    place = layer_at(controller)
    layers = controller.session.network.layers
    last = layers[place].outputs - 1 if layers else 0  # a compiled function is refused below
    number = neuron[1] if neuron and operation else last
    grow(controller, lambda session: remove_neuron(session, place, number))


def layer_more(controller: Controller) -> None:
    """Add a layer before the one that is pointed at, by default before the last one."""
    place = layer_at(controller, len(controller.session.network.layers) - 1)
    grow(controller, lambda session: insert_layer(session, place))


def layer_less(controller: Controller) -> None:
    """Remove the layer that is pointed at, by default the one before the last one."""
    place = layer_at(controller, max(0, len(controller.session.network.layers) - 2))
    grow(controller, lambda session: remove_layer(session, place))


def layer_at(controller: Controller, default: int = 0) -> int:
    """Return the index of the layer of the neuron or the weight that is pinned, else `default`."""
    stage = controller.stage
    found = operation_of(controller.session, stage.pinned, stage.pinned_neuron)
    return default if found is None else found.layer


def operation_of(session: Session, row: int | None, neuron: Neuron | None) -> Operation | None:
    """Return the operation that writes a neuron, or else has a weight; None if there is none."""
    if neuron is not None:
        return writer_of(session, neuron[0])
    operations = session.network.program.operations
    return next((each for each in operations if row in each.parameters), None)


def last_neuron(place: int, session: Session) -> Neuron:
    """Return the last neuron of a layer, given by its index."""
    operations = session.network.program.operations
    target = next(each.target for each in reversed(operations) if each.layer == place)
    return target.name, target.size - 1


def writer_of(session: Session, name: str) -> Operation | None:
    """Return the operation that writes a buffer; None for the inputs."""
    operations = session.network.program.operations
    return next((each for each in operations if each.target.name == name), None)
