"""Learning rates, of all weights and of pinned weights and layers; layers that are frozen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.faces.controller.computing import computes
from scalarviz.faces.controller.growing import operation_of
from scalarviz.faces.controller.options import rate_now
from scalarviz.faces.scenefiles.making import as_number
from scalarviz.training.session.caption import Neuron
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

HIGHEST_RATE = 100.0


@dataclass(frozen=True)
class PinnedLayer:
    """The layer of what is pinned: its index, rows of the bank, and what controls show of it.

    rate  learning rate before the schedule; NaN if its weights have several
    """

    index: int
    rows: range
    frozen: bool
    rate: float


def pinned_layer(session: Session, row: int | None, neuron: Neuron | None) -> PinnedLayer | None:
    """Return the layer of a pinned weight or neuron; None without one, or if it has no weights."""
    found = operation_of(session, row, neuron)
    if found is None:
        return None
    operations = session.network.program.operations
    parts = [each.parameters for each in operations if each.layer == found.layer]
    rows = [part for part in parts if len(part)]
    if not rows:
        return None
    whole = range(min(part.start for part in rows), max(part.stop for part in rows))
    frozen = session.network.bank.frozen[whole.start : whole.stop]
    own = settings_now(session).optimizer.own_rates.of_all(whole)
    rate = rate_of(session, whole.start) if own is None else own
    return PinnedLayer(found.layer, whole, bool(np.all(frozen)), rate)


def rate_of(session: Session, row: int) -> float:
    """Return the learning rate of a weight: its own before the schedule, or the session's."""
    optimizer = settings_now(session).optimizer
    own = optimizer.own_rates.of(row)
    return optimizer.rate(session.network.bank.step_count) if own is None else own


# The commands. A rate of a part that is left empty is that of the session again.


@computes
def set_learning_rate(controller: Controller, rate: float | str) -> None:
    session = controller.session
    controller.do(lambda: setattr(session, "learning_rate", as_number(rate)), name="rate")


@computes
def scale_learning_rate(controller: Controller, factor: float) -> None:
    """Multiply the learning rate of the next step that can still be changed."""
    session = controller.session
    controller.do(lambda: setattr(session, "learning_rate", factor * rate_now(session)))


def set_weight_rate(controller: Controller, rate: float | str) -> None:
    """Give the pinned weight a learning rate of its own."""
    row = controller.stage.pinned
    if row is not None:
        set_rate(controller, range(row, row + 1), rate)


def set_layer_rate(controller: Controller, rate: float | str) -> None:
    """Give the layer of what is pinned a learning rate of its own."""
    layer = controller.state.pinned_layer
    if layer is not None:
        set_rate(controller, layer.rows, rate)


def set_rate(controller: Controller, rows: range, rate: float | str) -> None:
    session = controller.session
    own = None if isinstance(rate, str) and not rate.strip() else rate
    controller.do(lambda: session.set_rate(list(rows), None if own is None else as_number(own)))


def freeze_layer(controller: Controller, on: bool) -> None:
    """Freeze or unfreeze the layer of what is pinned."""
    layer = controller.state.pinned_layer
    if layer is not None:
        controller.do(partial(controller.session.freeze, list(layer.rows), on))
