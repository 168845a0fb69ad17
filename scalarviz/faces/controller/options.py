"""Options of scenes and sessions that the user can change in an interface.

Scenes define their own options. In addition, every session has options such as the optimizer, the
loss and the batch size. Some options change the running session, for example its data; for others,
the Show or its session is created again.
"""

from __future__ import annotations

import copy
import re
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, final

from scalarviz.base.checks import require
from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS, activation_row
from scalarviz.core.formulas.formula import pick
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES, Loss
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.core.layers import Dense
from scalarviz.core.precision import PRECISIONS
from scalarviz.data import DataSet
from scalarviz.errors import InputError
from scalarviz.faces.scene_file import Scene, name_of
from scalarviz.faces.scene_options import (
    BY_NAME,
    SHARED,
    another_optimizer,
    as_kind,
    as_number,
    hidden_places,
    make_show,
    own_options,
    parsed,
    with_penalty,
)
from scalarviz.stage.show import Show
from scalarviz.story.names import sentence
from scalarviz.training.network.grown_networks import has_biases
from scalarviz.training.session.growth import reinitialize, set_biases
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import Settings, settings_now


def rate_now(session: Session) -> float:
    """Return the learning rate of the next step whose learning rate can still be changed."""
    return settings_now(session).optimizer.rate(session.network.bank.step_count)


@dataclass(frozen=True)
class OptionChoice:
    """An option, its current value and its valid values.

    If `choices` is empty, any value of type `kind` is valid. `restarts` states whether a new value
    restarts training. `offer` labels a button that switches to the next value, or is "". `label`
    is the name of the option in plain words.
    """

    name: str
    kind: type
    value: Any
    choices: tuple[str, ...]
    help: str
    restarts: bool = False
    offer: str = ""
    label: str = ""


@final
class Recipe:
    """A scene and its option values; creates the Show again with other values.

    `given` contains option values by name, including the options that every scene has. `name` is
    the name of a built-in scene, or "".
    """

    def __init__(self, scene: Scene, given: Mapping[str, Any] | None = None) -> None:
        given = given or {}
        self.scene = scene
        self.name = name_of(scene)
        self.own = own_options(scene)
        self.values = {name: given.get(name, option.default) for name, option in self.own.items()}
        self.values |= parsed(given.get("set") or [], self.own)
        self._given = {**dict.fromkeys(SHARED), **given, "set": None, "resume": None}

    @property
    def unusual(self) -> dict[str, Any]:
        """All options whose values differ from their defaults, by name."""
        own = {name: self.values[name] for name in self.own}
        found = {name: value for name, value in own.items() if value != self.own[name].default}
        shared = {name: self._given[name] for name in SHARED if name not in self.own}
        return found | {name: value for name, value in shared.items() if value is not None}

    def changed(self, values: dict[str, Any]) -> Recipe:
        """Return a copy of the recipe with other option values."""
        found = copy.copy(self)
        found.values = values
        return found

    def make(self, values: Mapping[str, Any]) -> Show:
        """Create the Show with `values` replacing the values of some options, and return it."""
        return make_show(self.scene, {**self._given, **self.values, **values})


@dataclass(frozen=True, eq=False)
class AppliedChoice:
    """A choice of the user: the resulting parts of the settings, all option values, and texts."""

    parts: Mapping[str, Any]
    values: Mapping[str, Any]
    words: Mapping[str, Any]


@final
class Options:
    """The options of a Show, and the values that the user has chosen.

    Args:
        recipe: scene of the Show and its option values, or None
        show: the Show
        elsewhere: whether the session differs from the one for which the interface was opened
        basis: initial values of the common options; None (default) means the current values
        chosen: values of common options that were chosen in the previous session

    Going back in time can restore earlier data and activations. Therefore each choice and its texts
    are stored with the resulting settings, and looked up by the current settings.
    """

    def __init__(
        self,
        recipe: Recipe | None,
        show: Show,
        *,
        elsewhere: bool = False,
        basis: Mapping[str, Any] | None = None,
        chosen: Mapping[str, Any] | None = None,
    ) -> None:
        self.recipe = recipe
        self.elsewhere = elsewhere
        self.show = show
        self._basis = basis or basis_of(show.session)
        self._chosen = dict(chosen or {})
        self._made: list[AppliedChoice] = []
        settings = show.session.trainer.settings
        self._note(settings, self.recipe.values if self.recipe else {}, show)

    def anew(self, show: Show) -> Options:
        """Return the same options for a Show whose session was created from the current session."""
        basis, chosen, recipe = self._basis, self._chosen, self.recipe
        if recipe is not None:
            recipe = recipe.changed(recipe.values | sizes_now(recipe, show.session))
        return Options(recipe, show, elsewhere=self.elsewhere, basis=basis, chosen=chosen)

    def changes(self, name: str) -> str:
        """Return which part of a session an option changes, such as "data"; "" for a restart."""
        if self.recipe is not None and name in self.recipe.own:
            return self.recipe.own[name].info.changes
        return BY_NAME[name].changes if name in SHARED and name in BY_NAME else "data"

    def common(self, session: Session, settings: Settings) -> tuple[OptionChoice, ...]:
        """Return the options that every session has, with their values and choices."""
        values = {name: row.value(session, settings) for name, row in TRAINING.items()}
        return tuple(
            OptionChoice(
                name,
                row.kind,
                values[name],
                tuple(row.names),
                text(f"training.about.{name}"),
                label=text(f"training.label.{name}"),
            )
            for name, row in TRAINING.items()
            if values[name] is not None
        )

    def choices(self, settings: Settings, common: Collection[str] = ()) -> tuple[OptionChoice, ...]:
        """Return the options of the scene, or else of the data set, except those in `common`."""
        recipe, values = self.recipe, self.values(settings)
        if recipe is None:
            return tuple(
                OptionChoice(n, str, values[n], tuple(c.names), c.help, offer=c.offer, label=n)
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
                label=option.info.label or name.replace("_", " "),
            )
            for name, option in recipe.own.items()
            if option.info.changes not in HAVE_CONTROLS and name not in common
        )

    def values(self, settings: Settings) -> dict[str, Any]:
        """Return the values of all options that correspond to these settings."""
        found = dict(self.recipe.values) if self.recipe else {}
        names = {*found, *settings.data.choices}
        for change, live in LIVE.items():
            part = live.part(settings)
            made = (m.values for m in self._made if m.parts[change] == part)
            known = next(made, {}) or live.known(settings)
            own = settings.data.choices if change == "data" else ()
            of_it = {n for n in names if n in own or self.changes(n) == change}
            found |= {n: known[n] for n in of_it if n in known}
        return found

    def words(self, settings: Settings) -> Mapping[str, Any]:
        """Return the texts of a Show for these settings: "title", "task" and "about"."""
        now = parts_of(settings)
        of_it = "data", "activations"
        same = (m for m in self._made if all(m.parts[part] == now[part] for part in of_it))
        return next((m.words for m in same if m.words), words_of(self.show))

    def set(self, session: Session, settings: Settings, name: str, value: object) -> Options | None:
        """Set an option in the running session and return None, or return Options for a new Show.

        Raises:
            UnknownNameError: if the option is unknown.
            InputError: if the value is invalid.
        """
        recipe = self.recipe
        data = settings.data
        kinds = {key: option.kind for key, option in recipe.own.items()} if recipe else {}
        kinds = kinds or dict.fromkeys(data.choices, str)
        value = as_kind(str(value), pick(kinds, name, "option of the scene"), name)
        values = self.values(settings) | {name: value}
        if recipe is None:
            self._take_data(session, data.changed(name, value), values)
            return None
        common = self._chosen | chosen_since(session, self._basis)
        try:
            made = recipe.make(values | common)
        except InputError:  # it may not be compatible with earlier choices
            made, common = recipe.make(values), {}
        change = self.changes(name)
        if change in LIVE and alike(session, made.session):
            LIVE[change].take(session, settings, made.session.trainer.settings)
            self._note(settings_now(session), values, made)
            return None
        return Options(recipe.changed(values), made, elsewhere=self.elsewhere, chosen=common)

    def set_picture(self, session: Session, settings: Settings, path: str) -> None:
        """Train on another picture file, with the same transform of the data."""
        data = settings.data
        require(
            data.picture_setting,
            "this network does not learn a picture: drop the picture on `scalarviz watch texture`",
        )
        learned = data.changed(data.picture_setting, path)
        self._take_data(session, learned, self.values(settings) | {data.picture_setting: path})

    def _take_data(self, session: Session, data: DataSet, values: dict[str, Any]) -> None:
        session.data = data
        self._note(settings_now(session), values)

    def _note(self, settings: Settings, values: dict[str, Any], made: Show | None = None) -> None:
        words = {} if made is None else words_of(made)
        self._made.append(AppliedChoice(parts_of(settings), values, words))


def words_of(show: Show) -> Mapping[str, Any]:
    """Return the texts that describe a Show: "title", "task" and "about"."""
    return {name: getattr(show, name) for name in ("title", "task", "about")}


def sizes_now(recipe: Recipe, session: Session) -> dict[str, Any]:
    """Return values for the options "hidden" and "depth" that match the network of a session."""
    layers = session.network.layers
    if "hidden" not in recipe.own or not all(isinstance(each, Dense) for each in layers):
        return {}
    widths = [layer.outputs for layer in layers[:-1]]
    if recipe.own["hidden"].kind is str:
        return {"hidden": ",".join(map(str, widths))} if widths else {}
    if len(set(widths)) > 1:  # not a single number
        return {}
    found = {"hidden": widths[0] if widths else 0}
    return found | ({"depth": len(widths)} if widths and "depth" in recipe.own else {})


def settings_of_data(now: Settings) -> dict[str, Any]:
    """Return the settings of the data set by name; {} if it has no settings."""
    try:
        return now.data.settings()
    except InputError:
        return {}


# Changes that a running session adopts from a newly created one.


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
    """How an option changes a running session.

    Attributes:
        part: function that returns the part of the settings that the option changes
        known: function that returns option values, by name, that follow from the settings
        take: function that copies this part of the settings from another session
    """

    part: Callable[[Settings], Any]
    known: Callable[[Settings], Mapping[str, Any]]
    take: Callable[[Session, Settings, Settings], None]


LIVE = {
    "data": LiveChange(attrgetter("data"), settings_of_data, take_data),
    "activations": LiveChange(attrgetter("activations"), lambda now: {}, take_activations),
    "penalties": LiveChange(
        lambda now: (now.optimizer.l1, now.optimizer.l2),
        lambda now: {"l1": now.optimizer.l1, "l2": now.optimizer.l2},
        take_penalties,
    ),
}
HAVE_CONTROLS = "rate", "engine"  # changes with separate controls


def parts_of(settings: Settings) -> dict[str, Any]:
    """Return the parts of the settings that options can change, by the keys of LIVE."""
    return {name: change.part(settings) for name, change in LIVE.items()}


def alike(session: Session, made: Session) -> bool:
    """Return whether `session` can adopt the settings of `made` without a restart."""
    now, then = session.trainer, made.trainer
    return (
        now.settings.batch == then.settings.batch
        and repr(now.loss) == repr(then.loss)
        and len(now.bank) == len(then.bank)
        and len(now.settings.activations) == len(then.settings.activations)
    )


# Options of every session. Choosing one changes the session, or creates another one, and Undo
# returns.


@dataclass(frozen=True)
class TrainingOption:
    """An option that every session has.

    Attributes:
        kind: type of the values
        value: function that returns the current value; None if the option is not applicable
        choose: function that sets a value in a session, or returns another session with it
        names: valid names, or a table of them; if empty (default), all values are valid
        anew: whether `choose` returns another session
    """

    kind: type
    value: Callable[[Session, Settings], Any]
    choose: Callable[[Session, Any], Session | None]
    names: Iterable[str] = ()
    anew: bool = False


# ---- values --------------------------------------------------------------------------------------


def activation_now(session: Session, settings: Settings) -> str | None:
    """Return the name of the activation of the hidden layers; None if there are no such layers."""
    names = {settings.activations[place] for place in hidden_places(session.network)}
    return text("training.several") if len(names) > 1 else next(iter(names), None)


def precision_now(session: Session, settings: Settings) -> str | None:
    if session.network.bank.dtype != "float32":
        return None
    return "mixed" if settings.precision.mixed else "full"


def bias_now(session: Session, settings: Settings) -> bool | None:
    layers = session.network.layers
    return has_biases(session.network) if not any(each.layers for each in layers) else None


# ---- choosing ------------------------------------------------------------------------------------


def choose_loss(session: Session, name: str) -> None:
    now = settings_now(session).loss
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


TRAINING: Mapping[str, TrainingOption] = {
    "precision": TrainingOption(
        str,
        precision_now,
        lambda session, name: setattr(session, "precision", name),
        PRECISIONS,
    ),
    "optimizer": TrainingOption(
        str,
        lambda session, now: now.optimizer.name,
        lambda session, name: setattr(
            session, "optimizer", another_optimizer(settings_now(session).optimizer, name)
        ),
        OPTIMIZERS,
    ),
    "batch": TrainingOption(
        str,
        lambda session, now: text("training.all") if now.batch is None else str(now.batch),
        choose_batch,
    ),
    "loss": TrainingOption(
        str, lambda session, now: now.loss.name, choose_loss, ChainMap[str, Any](ROW_LOSSES, LOSSES)
    ),
    "activation": TrainingOption(str, activation_now, choose_activation, ACTIVATIONS),
    "l1": TrainingOption(
        float, lambda session, now: now.optimizer.l1, partial(choose_penalty, "l1")
    ),
    "l2": TrainingOption(
        float, lambda session, now: now.optimizer.l2, partial(choose_penalty, "l2")
    ),
    "init": TrainingOption(
        str,
        lambda session, now: session.network.init.row.name if session.network.layers else None,
        reinitialize,
        INITIALIZERS,
        anew=True,
    ),
    "bias": TrainingOption(
        bool,
        bias_now,
        lambda session, on: set_biases(session, as_kind(str(on), bool, "bias")),
        anew=True,
    ),
}


# ---- from one session of a scene to the next -----------------------------------------------------


def basis_of(session: Session) -> dict[str, Any]:
    """Return the current values of the options that every scene has, by name."""
    now = settings_now(session)
    rows = {name: row for name, row in TRAINING.items() if name != "precision"}
    found = {name: row.value(session, now) for name, row in rows.items()}
    return found | {"batch": now.batch, "lr": now.optimizer.lr}


def chosen_since(session: Session, basis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a session whose values differ from those in `basis`, by name."""
    now = basis_of(session)
    found = {name: value for name, value in now.items() if value != basis[name]}
    if "optimizer" in found:
        found["lr"] = now["lr"]
    if "batch" in found:
        found["batch"] = now["batch"] or session.data.samples
    if found.get("activation") not in ACTIVATIONS:  # none, or several
        found.pop("activation", None)
    return {name: value for name, value in found.items() if value is not None}


# ---- errors in plain words: what to click, in place of code to write -----------------------------

# Parts of errors that only a programmer understands, and the text `clicks.NAME` that replaces each.
# The named groups of a pattern are the fields of its text.
CLICKS = {
    re.compile(r"write s\.freeze\(part, False\) first"): "unfreeze",
    re.compile(
        r"lower the learning rate \(it is (?P<rate>[^)]*)\), l1 or l2, clip with clip_norm=, "
        r"or scale the data down"
    ): "lower_from",
    re.compile(
        r"lower the learning rate, clip with clip_norm=, or count such gradients as 0 with "
        r'not_finite="zero"'
    ): "lower",
    re.compile(r"write a finite number there, such as net\.bank\.value\[\d+\] = 0\.0"): "type",
    re.compile(r"pass a session of a Network"): "scene",
    re.compile(r"(?P<layer>layer \d+) is (?P<kind>\w+)\([^()]*\)"): "kind",
    re.compile(r"choose an earlier layer"): "earlier_layer",
    re.compile(r"choose another layer"): "another_layer",
    re.compile(
        r"make a new one of all samples, sv\.data\.Arrays\(inputs, targets\)"
    ): "fewer_samples",
    re.compile(r"runs on the cpu engine, as in net\.to\('cpu', precision='mixed'\)"): "on_cpu",
    re.compile(
        r"write sv\.Session\(\.\.\., metrics=\['\w+'\], every=100\)"
        r"(, with data that hold samples out)?"
    ): "unmeasured",
    re.compile(
        r"write s\.on_step\(f\), where f\(view\) sees the step and calls view\.stop\(reason\)"
    ): "condition",
    re.compile(r"drop the picture on `scalarviz watch texture`"): "texture",
    re.compile(
        r"register (it|the original) with sv\.\w+\(\.\.\.\) before loading"
        r"|pass it again, with data=|define this class, a subclass of sv\.Layer, before loading"
        r"|pass them with data=\(inputs, targets\), or .*"
    ): "program",
    re.compile(r"rename yours, and make the network again"): "program_saves",
    re.compile(
        r"pass a (complete )?file saved by scalarviz"
        r"|make the network, and write net\.load_state_dict\(safetensors\.numpy\.load_file\("
        r"path\)\)"
    ): "saved_here",
}
PLAIN_WORD = re.compile(r"[a-z]+(?: |, |: |$)")  # not part of a name, as in "a.png"
# Options before an error about their values: "features='z', batch=3: unknown ...".
OPTIONS_BEFORE = re.compile(r"(?:\w+=(?:'[^']*'|[^\s',]+)(?:, |: ))+")


def without_code(message: str) -> str:
    """Return an error message that suggests what to click instead of code to write."""
    if found := OPTIONS_BEFORE.match(message):
        message = found[0].replace("=", " ") + message[found.end() :]
    for pattern, name in CLICKS.items():
        message = pattern.sub(partial(click_words, name), message)
    return message


def as_sentence(message: str) -> str:
    """Return an error message for users of an interface: without code, and capitalized.

    A message that begins with a name, such as a file name, is not capitalized.
    """
    message = without_code(message)
    return sentence(message) if PLAIN_WORD.match(message) else message


def click_words(name: str, found: re.Match[str]) -> str:
    """Return the text that replaces the matched part of an error message."""
    return text(f"clicks.{name}", **found.groupdict())
