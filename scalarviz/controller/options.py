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
from scalarviz.data.colors import MAPS
from scalarviz.data.pictures import TRANSFORMS
from scalarviz.errors import InputError
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import pick
from scalarviz.model.precision import PRECISIONS
from scalarviz.presenter.show import Show
from scalarviz.scenefiles.find import Scene
from scalarviz.scenefiles.options import SHARED, as_kind, make_show, own_options, parsed
from scalarviz.session.session import Session
from scalarviz.session.trainer import Settings, settings_after

# Where the names come from that an option can have; a scene has the others in a table of its own,
# called like the option: SHAPES for `shape`.
TABLES: Mapping[str, Mapping[str, object]] = {
    "map": MAPS,
    "transform": TRANSFORMS,
    "activation": ACTIVATIONS,
    "precision": PRECISIONS,
}
CONTROLS = ("lr", "engine")  # these have controls of their own


def settings_now(session: Session) -> Settings:
    """What is set, with what was asked for within a step and is not in force before the next."""
    course = session.course
    clock, settings = course.clock, course.trainer.settings
    if clock.operation:
        noted = course.branch.actions_at((clock.step + 1, 0))
    else:
        noted = course.branch.actions_at(clock.place)[clock.actions :]
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

    def names(self, option: str) -> tuple[str, ...]:
        """What an option can be called; nothing if it takes any value."""
        own = getattr(self.scene, "__globals__", {}).get(f"{option.upper()}S")
        names = own if isinstance(own, Mapping) else TABLES.get(option, ())
        return tuple(names)


@dataclass(frozen=True, eq=False)
class AppliedChoice:
    """A choice that was made: what it led to, all options then, and what the show was called."""

    data: DataSet
    activations: tuple[str, ...]
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
        settings = show.session.course.trainer.settings
        self._note(settings, self.recipe.values if self.recipe else {}, show.title)

    def choices(self, settings: Settings) -> tuple[OptionChoice, ...]:
        """Everything there is to choose."""
        recipe, values = self.recipe, self.values(settings)
        if recipe is None:
            return tuple(
                OptionChoice(name, str, values[name], tuple(choice.names), choice.help, False)
                for name, choice in settings.data.choices.items()
            )
        return tuple(
            OptionChoice(
                name,
                option.kind,
                values[name],
                recipe.names(name) if option.kind is str else (),
                option.help,
                name not in LIVE,
            )
            for name, option in recipe.own.items()
            if name not in CONTROLS
        )

    def values(self, settings: Settings) -> dict[str, Any]:
        """All options as they are under these settings."""
        found = dict(self.recipe.values) if self.recipe else {}
        known = next((made.values for made in self._made if made.data is settings.data), {})
        known = known or settings_of(settings.data)
        of_data = {*DATA, *settings.data.choices}
        found |= {name: value for name, value in known.items() if name in of_data}
        for made in self._made:
            if made.activations == settings.activations and "activation" in made.values:
                found["activation"] = made.values["activation"]
        found |= {n: getattr(settings.optimizer, n) for n in ("l1", "l2") if n in found}
        return found

    def title(self, settings: Settings) -> str:
        """What it is called under these settings."""
        now = settings.data, settings.activations
        titles = (m.title for m in self._made if (m.data, m.activations) == now and m.title)
        return next(titles, self._show.title)

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
        if name in LIVE and alike(session, made.session):
            chosen = made.session.course.trainer.settings
            LIVE[name](session, settings, chosen)
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
        self._made.append(AppliedChoice(settings.data, settings.activations, values, title))


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


DATA = ("map", "shape", "noise", "share", "picture")
LIVE: Mapping[str, Callable[[Session, Settings, Settings], None]] = {
    **dict.fromkeys(DATA, take_data),
    "activation": take_activations,
    "l1": take_penalties,
    "l2": take_penalties,
}


def alike(session: Session, made: Session) -> bool:
    """Whether two trainings differ at most in what can be set in a training that goes on."""
    now, then = session.course.trainer, made.course.trainer
    layers = len(now.settings.activations), len(then.settings.activations)
    return (
        now.batch == then.batch
        and repr(now.loss) == repr(then.loss)
        and len(now.bank) == len(then.bank)
        and layers[0] == layers[1]
    )
