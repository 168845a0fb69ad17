"""Options that every training has, besides its engine and its rate: optimizer, loss, batch, ...

Choosing one changes the session, or makes another one of it, from which Undo leads back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS, activation_row
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.precision import PRECISIONS
from scalarviz.faces.scenefiles.made_again import another_optimizer, hidden_places, with_penalty
from scalarviz.faces.scenefiles.making import as_kind, as_number
from scalarviz.training.network.grown_networks import has_biases
from scalarviz.training.session.growth import reinitialize, set_biases
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import Settings, settings_now


@dataclass(frozen=True)
class TrainingOption:
    """An option of every training.

    kind    type of its values
    value   its value now, for a session and its settings; None: this training has no such option
    choose  takes another value, in the session or by returning another session
    names   names to choose from; by default any value of its kind is valid
    anew    whether `choose` returns another session
    """

    kind: type
    value: Callable[[Session, Settings], Any]
    choose: Callable[[Session, Any], Session | None]
    names: Callable[[], Iterable[str]] = tuple
    anew: bool = False


# ---- values --------------------------------------------------------------------------------------


def batch_now(session: Session, settings: Settings) -> str:
    return text("training.all") if settings.batch is None else str(settings.batch)


def activation_now(session: Session, settings: Settings) -> str | None:
    """Return the activation of the hidden layers; None without any."""
    names = {settings.activations[place] for place in hidden_places(session.network)}
    return text("training.several") if len(names) > 1 else next(iter(names), None)


def precision_now(session: Session, settings: Settings) -> str | None:
    if session.network.bank.dtype != "float32":
        return None
    return "mixed" if settings.precision.mixed else "full"


def init_now(session: Session, settings: Settings) -> str | None:
    return str(session.network.init.row.name) if session.network.layers else None


def bias_now(session: Session, settings: Settings) -> bool | None:
    layers = session.network.layers
    return has_biases(session.network) if not any(each.layers for each in layers) else None


# ---- choosing ------------------------------------------------------------------------------------


def choose_optimizer(session: Session, name: str) -> None:
    now = settings_now(session).optimizer
    if name != now.name:
        session.optimizer = another_optimizer(now, name)


def choose_loss(session: Session, name: str) -> None:
    now = settings_now(session).loss
    if name != now.name:
        session.loss_function = Loss(name, factor=now.factor, mean=now.mean)


def choose_batch(session: Session, count: object) -> None:
    words = str(count).strip()
    is_all = words.lower() in ("", text("training.all"))
    session.batch = None if is_all else as_kind(words, int, "batch")


def choose_activation(session: Session, name: str) -> None:
    """Set the activation of all hidden layers, as one change."""
    activation_row(name)
    with session.doing(as_one=True):
        for place in hidden_places(session.network):
            session.set_activation(place, name)


def choose_penalty(name: str, session: Session, value: object) -> None:
    session.optimizer = with_penalty(settings_now(session).optimizer, name, as_number(value))


def choose_precision(session: Session, name: str) -> None:
    session.precision = name


def choose_bias(session: Session, on: object) -> Session:
    return set_biases(session, as_kind(str(on), bool, "bias"))


TRAINING: Mapping[str, TrainingOption] = {
    "precision": TrainingOption(str, precision_now, choose_precision, lambda: PRECISIONS),
    "optimizer": TrainingOption(
        str, lambda session, now: now.optimizer.name, choose_optimizer, lambda: OPTIMIZERS
    ),
    "batch": TrainingOption(str, batch_now, choose_batch),
    "loss": TrainingOption(
        str, lambda session, now: now.loss.name, choose_loss, lambda: (*LOSSES, *ROW_LOSSES)
    ),
    "activation": TrainingOption(str, activation_now, choose_activation, lambda: ACTIVATIONS),
    "l1": TrainingOption(
        float, lambda session, now: now.optimizer.l1, partial(choose_penalty, "l1")
    ),
    "l2": TrainingOption(
        float, lambda session, now: now.optimizer.l2, partial(choose_penalty, "l2")
    ),
    "init": TrainingOption(str, init_now, reinitialize, lambda: INITIALIZERS, anew=True),
    "bias": TrainingOption(bool, bias_now, choose_bias, anew=True),
}


# ---- from one training of a scene to the next ----------------------------------------------------


class Basis(NamedTuple):
    """What a training began with, to find what its user has chosen since."""

    settings: Settings
    init: str | None
    bias: bool | None


def basis_of(session: Session) -> Basis:
    """Return what a training has now."""
    now = settings_now(session)
    return Basis(now, init_now(session, now), bias_now(session, now))


def chosen_since(session: Session, basis: Basis) -> dict[str, Any]:
    """Return what a user has chosen since then, as options that every scene has."""
    now, init, bias = basis_of(session)
    before, found = basis.settings, dict[str, Any]()
    if now.batch != before.batch:
        found["batch"] = now.data.samples if now.batch is None else now.batch
    if now.loss.name != before.loss.name:
        found["loss"] = now.loss.name
    if now.optimizer.name != before.optimizer.name:
        found["optimizer"] = now.optimizer.name
    if found.get("optimizer") or now.optimizer.lr != before.optimizer.lr:
        found["lr"] = now.optimizer.lr
    for name in ("l1", "l2"):
        if getattr(now.optimizer, name) != getattr(before.optimizer, name):
            found[name] = getattr(now.optimizer, name)
    activation = activation_now(session, now)
    if activation in ACTIVATIONS and activation != activation_now(session, before):
        found["activation"] = activation
    found |= {"init": init} if init != basis.init else {}
    return found | ({"bias": bias} if bias is not None and bias != basis.bias else {})
