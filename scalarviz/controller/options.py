"""The options of a scene as controls: what can be chosen, and what becomes of a choice.

Some options change a training that goes on, such as the data it learns; the others make the show
again from its scene.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from scalarviz.data import DataSet
from scalarviz.errors import InputError
from scalarviz.formulas.table import pick
from scalarviz.presenter.show import Show
from scalarviz.scenefiles.find import Scene
from scalarviz.scenefiles.options import BY_NAME, SHARED, as_kind, make_show, own_options, parsed
from scalarviz.session.session import Session
from scalarviz.session.trainer import Settings, settings_after


def settings_now(session: Session) -> Settings:
    """What is set, with what was asked for within a step and is not in force before the next."""
    timeline = session.timeline
    clock, settings = timeline.clock, timeline.trainer.settings
    if clock.operation:
        noted = timeline.branch.actions_at((clock.step + 1, 0))
    else:
        noted = timeline.branch.actions_at(clock.place)[clock.actions :]
    waiting = [a for a in noted if a.asked is not None and a.asked <= clock.place]
    return settings_after(settings, waiting) if waiting else settings


def rate_now(session: Session) -> float:
    """The learning rate of the next step that can still be changed."""
    return settings_now(session).optimizer.rate(session.network.bank.step_count)


@dataclass(frozen=True)
class OptionChoice:
    """An option, what it is now and what it can be; if it `restarts`, another training begins.

    Without `choices`, any value of its kind.
    """

    name: str
    kind: type
    value: Any
    choices: tuple[str, ...]
    help: str
    restarts: bool
    offer: str = ""


@final
class Recipe:
    """A scene and its options, from which its show can be made again with others.

    `given` is what was typed: the options by their names, those that every scene has among them.
    """

    def __init__(self, scene: Scene, given: Mapping[str, Any] | None = None) -> None:
        given = given or {}
        self.scene = scene
        self.own = own_options(scene)
        self.values = {name: given.get(name, option.default) for name, option in self.own.items()}
        self.values |= parsed(given.get("set") or [], self.own)
        self._given = {**dict.fromkeys(SHARED), **given, "set": None, "resume": None}

    def make(self, values: Mapping[str, Any]) -> Show:
        """The show with these options."""
        return make_show(self.scene, {**self._given, **self.values, **values})


@dataclass(frozen=True, eq=False)
class AppliedChoice:
    """A choice that was made: what it led to, all options then, and what the show was called."""

    parts: Mapping[str, Any]
    values: Mapping[str, Any]
    title: str


@final
class Options:
    """What can be chosen for a session, and how it is told which choice is in force.

    Data and activations can be those of a past that was gone back to. So the choices are kept with
    the data set and the activations they led to, and looked up there; and so is the title.
    """

    def __init__(self, recipe: Recipe | None, show: Show) -> None:
        self.recipe = recipe
        self.begin(show)

    def begin(self, show: Show) -> None:
        """Take up another training, made with the options as they are now."""
        self._show = show
        self._made: list[AppliedChoice] = []
        settings = show.session.timeline.trainer.settings
        self._note(settings, self.recipe.values if self.recipe else {}, show.title)

    def changes(self, name: str) -> str:
        """What an option changes in a session; "" if it restarts. Without a scene, the data."""
        if self.recipe is not None and name in self.recipe.own:
            return self.recipe.own[name].info.changes
        return BY_NAME[name].changes if name in SHARED and name in BY_NAME else "data"

    def choices(self, settings: Settings) -> tuple[OptionChoice, ...]:
        """Everything there is to choose."""
        recipe, values = self.recipe, self.values(settings)
        if recipe is None:
            return tuple(
                OptionChoice(n, str, values[n], tuple(c.names), c.help, False, c.offer)
                for n, c in settings.data.choices.items()
            )
        return tuple(
            OptionChoice(
                name,
                option.kind,
                values[name],
                tuple(option.info.names) if option.kind is str else (),
                option.help,
                option.info.changes not in LIVE,
                option.info.offer,
            )
            for name, option in recipe.own.items()
            if option.info.changes not in HAVE_CONTROLS
        )

    def values(self, settings: Settings) -> dict[str, Any]:
        """All options as they are under these settings."""
        found = dict(self.recipe.values) if self.recipe else {}
        names = {*found, *settings.data.choices}
        for change, live in LIVE.items():
            part = live.part(settings)
            known = next((m.values for m in self._made if m.parts[change] == part), {})
            known = known or live.known(settings)
            of_it = {n for n in names if self.changes(n) == change}
            of_it |= {*settings.data.choices} if change == "data" else set()
            found |= {n: known[n] for n in of_it if n in known}
        return found

    def title(self, settings: Settings) -> str:
        """What it is called under these settings."""
        now = parts_of(settings)
        of_it = "data", "activations"
        same = (m for m in self._made if all(m.parts[part] == now[part] for part in of_it))
        return next((m.title for m in same if m.title), self._show.title)

    def set(self, session: Session, settings: Settings, name: str, value: object) -> Show | None:
        """Choose: in the session if it can go on so, else the show that begins is returned."""
        recipe = self.recipe
        data = settings.data
        kinds = {key: option.kind for key, option in recipe.own.items()} if recipe else {}
        kinds = kinds or dict.fromkeys(data.choices, str)
        value = as_kind(str(value), pick(kinds, name, "option of the scene"), name)
        values = self.values(settings) | {name: value}
        if recipe is None:
            self._take_data(session, data.changed(name, value), values)
            return None
        made = recipe.make(values)
        change = self.changes(name)
        if change in LIVE and alike(session, made.session):
            chosen = made.session.timeline.trainer.settings
            LIVE[change].take(session, settings, chosen)
            self._note(settings_now(session), values, made.title)
            return None
        recipe.values = values
        return made

    def set_picture(self, session: Session, settings: Settings, path: str) -> None:
        """Learn another picture, looked at as the one before."""
        data = settings.data
        if not data.picture_setting:
            raise InputError(
                "this network does not learn a picture: drop one on `scalarviz watch texture`"
            )
        learned = data.changed(data.picture_setting, path)
        self._take_data(session, learned, self.values(settings) | {data.picture_setting: path})

    def _take_data(self, session: Session, data: DataSet, values: dict[str, Any]) -> None:
        session.data = data
        self._note(settings_now(session), values, "")

    def _note(self, settings: Settings, values: dict[str, Any], title: str) -> None:
        self._made.append(AppliedChoice(parts_of(settings), values, title))


def settings_of(data: DataSet) -> dict[str, Any]:
    """How a data set was made; of code, nothing is known."""
    try:
        return data.settings()
    except InputError:
        return {}


# What a training takes over from the one that a choice would begin, and goes on with its weights.


def take_data(session: Session, now: Settings, made: Settings) -> None:
    session.data = made.data


def take_activations(session: Session, now: Settings, made: Settings) -> None:
    for layer, (before, after) in enumerate(zip(now.activations, made.activations, strict=True)):
        if before != after:
            session.set_activation(layer, after)


def take_penalties(session: Session, now: Settings, made: Settings) -> None:
    optimizer = copy.copy(now.optimizer)
    optimizer.l1, optimizer.l2 = made.optimizer.l1, made.optimizer.l2
    session.optimizer = optimizer


@dataclass(frozen=True)
class LiveChange:
    """What an option can change in a training that goes on.

    part   the part of the settings that it changes
    known  values of options that follow from the settings alone, by their names
    take   gives a session this part of the settings of another one
    """

    part: Callable[[Settings], Any]
    known: Callable[[Settings], Mapping[str, Any]]
    take: Callable[[Session, Settings, Settings], None]


LIVE = {
    "data": LiveChange(lambda now: now.data, lambda now: settings_of(now.data), take_data),
    "activations": LiveChange(lambda now: now.activations, lambda now: {}, take_activations),
    "penalties": LiveChange(
        lambda now: (now.optimizer.l1, now.optimizer.l2),
        lambda now: {"l1": now.optimizer.l1, "l2": now.optimizer.l2},
        take_penalties,
    ),
}
HAVE_CONTROLS = "rate", "engine"  # changes that have controls of their own


def parts_of(settings: Settings) -> dict[str, Any]:
    """The parts of the settings that options can change, by LIVE."""
    return {name: change.part(settings) for name, change in LIVE.items()}


def alike(session: Session, made: Session) -> bool:
    """Whether two trainings differ at most in what can be set in a training that goes on."""
    now, then = session.timeline.trainer, made.timeline.trainer
    layers = len(now.settings.activations), len(then.settings.activations)
    return (
        now.batch == then.batch
        and repr(now.loss) == repr(then.loss)
        and len(now.bank) == len(then.bank)
        and layers[0] == layers[1]
    )
