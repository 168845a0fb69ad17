"""Networks that grow and shrink: each change is a training of its own, and the way back stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scalarviz.model.operations import Operation
from scalarviz.presenter.several import sizes_of
from scalarviz.session.caption import Neuron
from scalarviz.session.growing import add_neurons, insert_layer, remove_layer, remove_neuron
from scalarviz.session.session import Session
from scalarviz.texts import text

if TYPE_CHECKING:
    from scalarviz.controller.controller import Controller


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
        go_on_with(controller, made)
        controller.stage.hover_neuron = seen(made)
        assert made.origin is not None, "a session that was made from another one has an origin"
        did = made.origin.did
        controller.tell(text("notices.grown", did=did[:1].upper() + did[1:]), *way_back(controller))

    controller.do(lambda: make(session), begin)


def go_on_with(controller: Controller, session: Session) -> None:
    """Show another session in place of the one that is shown, under its own sizes."""
    show = controller.show
    sizes = sizes_of(show.session), sizes_of(session)
    title = show.title.replace(*sizes) if all(sizes) else show.title
    controller.replace(replace(show, session=session, title=title), controller.options)


def way_back(controller: Controller) -> tuple[str, Callable[[], None]]:
    """Return the label and the action of a button that leads to the network before."""
    return text("notices.earlier"), partial(earlier, controller)


def has_earlier(session: Session) -> bool:
    """Return whether the session is there that this one was made from."""
    return session.origin is not None and session.origin.session is not None


def earlier(controller: Controller) -> None:
    """Show the session that this one was made from."""
    origin = controller.session.origin
    if origin is None or origin.session is None:
        return controller.tell(text("notices.no_earlier"))
    controller.later.append(controller.session)
    kept = list(controller.later)
    go_on_with(controller, origin.session)
    controller.later = kept
    return None


def later(controller: Controller) -> None:
    """Show the session again that `earlier` has left."""
    *kept, session = controller.later
    go_on_with(controller, session)
    controller.later = kept


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
    """Remove the layer that is pointed at, by default the first hidden one."""
    place = layer_at(controller)
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
