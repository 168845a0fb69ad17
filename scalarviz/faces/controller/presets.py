"""PRESETS: what goes wrong in trainings, each set up by one click and mended by an undo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import table
from scalarviz.core.layers import Dense
from scalarviz.errors import InputError
from scalarviz.faces.controller import growing
from scalarviz.faces.controller.parts import HIGHEST_RATE
from scalarviz.training.session.growth import remove_layer
from scalarviz.training.session.session import Session

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

TIMES = 100.0  # how much larger a rate is that is too large
FAR = -10.0  # biases with which no sum is positive


@dataclass(frozen=True)
class Preset:
    """Something that goes wrong: its name, and what it does to a session.

    `act` changes the session, or returns another one, which is shown instead. The texts
    `presets.NAME` say what it is called and what to look for.
    """

    name: str
    act: Callable[[Session], Session | None]


def too_fast(session: Session) -> None:
    """Make the learning rate too large."""
    session.learning_rate = min(TIMES * session.learning_rate, HIGHEST_RATE)


def all_zero(session: Session) -> None:
    """Set all weights and biases to zero."""
    rows = np.arange(len(session.network.bank)).tolist()
    session.edit(rows, 0.0)


def dead(session: Session) -> None:
    """Make the neurons of the first hidden layer never positive, with relu."""
    layers = hidden_layers(session)
    with session.doing(as_one=True):
        session.set_activation(layers[0], "relu")
        found = session.network.layers[layers[0]]
        session.edit([each.bias.index for each in found.perceptrons], FAR)


def shallow(session: Session) -> Session:
    """Remove all hidden layers."""
    hidden_layers(session)
    made = session
    while len(made.network.layers) > 1:
        made = remove_layer(made, 0)
    origin = made.origin
    assert origin is not None
    words = text("presets.shallow.did")
    made.timeline.origin = replace(origin, did=words, session=session, rows=None)
    return made


def hidden_layers(session: Session) -> list[int]:
    """Return the indices of the hidden layers; raise InputError unless all layers are Dense."""
    layers = session.network.layers
    if len(layers) < 2 or not all(isinstance(each, Dense) for each in layers):
        raise InputError("this takes a network of two or more Dense layers: try it on rgb or xor")
    return list(range(len(layers) - 1))


PRESETS = table(
    [
        Preset("rate", too_fast),
        Preset("zero", all_zero),
        Preset("dead", dead),
        Preset("shallow", shallow),
    ]
)


def preset_names(shallow: bool) -> dict[str, str]:
    """Return the presets by the names that people read.

    shallow  whether no hidden layer is one of them, see `needs_hidden_layers`
    """
    return {text(f"presets.{name}"): name for name in PRESETS if shallow or name != "shallow"}


def go_wrong(controller: Controller, name: str) -> None:
    """Set up what goes wrong, say what to look for, and play."""
    preset, session = PRESETS[name], controller.session
    log = session.undo_log

    def act() -> Session | None:
        if log.done and log.done[-1] is controller.preset:  # one at a time
            session.undo()
        before = session.current_branch
        made = preset.act(session)
        if session.current_branch is not before:
            session.current_branch.given_name = text(f"presets.{name}")
        controller.preset = log.done[-1] if made is None else None
        return made

    def begin(made: Session | None) -> None:
        if made is not None:
            growing.go_on_with(controller, made)
        teach(controller, text(f"presets.{name}.look"))
        controller.tell(text(f"presets.{name}"), text("controls.undo"), controller.undo)
        controller.play_soon()

    said = text("notices.sets_up", name=text(f"presets.{name}"))
    controller.do(act, begin, branching=False, changing=True, said=said)


def teach(controller: Controller, words: str) -> None:
    """Let the caption say what to look for while the branch of the last preset is shown."""
    session, change = controller.session, controller.preset
    branch = session.current_branch

    def lesson() -> str:
        is_done = change is None or change in session.undo_log.done
        return words if is_done and session.current_branch is branch else ""

    for stage in controller.stage.stages:
        if stage.session is session:
            stage.narration.lesson = lesson
