"""Command-line options of a scene, and the Show that they make.

The parameters of a scene are its options: `def scene(lr=0.5)` defines `--lr`, with the type of the
default. A line of the scene's docstring that begins with the name is the help text. Common options
(rate, batch, seed, engine, precision) exist even if a scene has no such parameter.

An annotation says more: `shape: Annotated[str, OptionInfo(SHAPES, changes="data")] = "circle"`
offers the names of SHAPES, and changes the data of a session without a restart.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from scalarviz.checks.numbers import shorten
from scalarviz.data.colors import MAPS
from scalarviz.data.pictures import TRANSFORMS
from scalarviz.draw2d.theme import THEMES
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import FileError, InputError, SceneError
from scalarviz.formulas.activations import ACTIVATIONS
from scalarviz.formulas.table import pick
from scalarviz.model.precision import PRECISIONS
from scalarviz.presenter.show import Show
from scalarviz.scenefiles.find import Scene
from scalarviz.scenefiles.user_code import place_of, told_by_line
from scalarviz.session.session import Session
from scalarviz.view.scene.camera import CAMERAS
from scalarviz.view.scene.layout import LAYOUTS

TYPES = (bool, int, float, str)
YES_OR_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


CHANGES = dict.fromkeys(("", "data", "activations", "penalties", "rate", "engine", "precision"))


@dataclass(frozen=True)
class OptionInfo:
    """Metadata of an option, written in the annotation of a scene's parameter.

    names    names to choose from, in a table or a list; by default any value is valid
    changes  what a new value changes in a running session: "data", "activations", "penalties" (l1
             and l2), "rate" (the learning rate) or "engine"; by default "", a new value restarts
    offer    noun for what is chosen, such as "colour map": at the end of a run, a button offers
             the next one; by default there is no such button

    Raises UnknownNameError for an unknown `changes`.
    """

    names: Iterable[str] = ()
    changes: str = ""
    offer: str = ""

    def __post_init__(self) -> None:
        pick(CHANGES, self.changes, "change")


@dataclass(frozen=True)
class Option:
    """An option: its type, its default, its help text and its OptionInfo.

    `short` is another name for it, such as "-o".
    """

    kind: Any
    default: Any
    help: str
    short: str = ""
    info: OptionInfo = OptionInfo()


# For parameters without OptionInfo, as in the scene files of version 0.1.
BY_NAME = {
    "map": OptionInfo(MAPS, "data", "colour map"),
    "shape": OptionInfo((), "data", "shape"),
    "noise": OptionInfo(changes="data"),
    "share": OptionInfo(changes="data"),
    "picture": OptionInfo(changes="data"),
    "transform": OptionInfo(TRANSFORMS),
    "activation": OptionInfo(ACTIVATIONS, "activations"),
    "l1": OptionInfo(changes="penalties"),
    "l2": OptionInfo(changes="penalties"),
    "lr": OptionInfo(changes="rate"),
    "engine": OptionInfo(changes="engine"),
    "precision": OptionInfo(PRECISIONS, "precision"),
}
# Passed to the scene if it has a parameter of that name, else applied to the session.
SHARED = {
    "lr": Option(float | None, None, "the learning rate"),
    "batch": Option(int | None, None, "how many samples a step sees"),
    "seed": Option(int | None, None, "decides on the first weights and on the batches"),
    "engine": Option(str | None, None, f"what it runs on: {', '.join(ENGINES)} or auto"),
    "precision": Option(str | None, None, "full, or mixed: half precision where that is enough"),
}
RUNNING = {
    "steps": Option(int | None, None, "how many steps to take; each scene has its own number"),
    "save": Option(Path | None, None, "a file to keep the training in at the end, or on Ctrl-C"),
    "resume": Option(Path | None, None, "a file of a training to go on with"),
    "limit": Option(int | None, None, "bytes that data may take which such a file only describes"),
    "autosave": Option(float | None, None, "save every so many seconds too"),
    "set": Option(list[str], [], "NAME=VALUE: an option of the scene by its name"),
}
WATCHING = {
    "speed": Option(float | None, None, "steps a second, 0 for flat out; else the scene's own way"),
    "theme": Option(str, "auto", f"{', '.join(THEMES)} or auto"),
    "terminal": Option(bool, False, "draw in the terminal, not in a window"),
    "tour": Option(bool, False, "show the tour of ten seconds, as the first time"),
    "present": Option(
        bool, False, "for an audience: larger letters, and few of them; controls at the lower end"
    ),
    "reduced_motion": Option(bool, False, "no smooth moves: one picture, then the next"),
}
# A scene may have parameters of these names, which replace the options.
RENDERING = {
    "out": Option(Path | None, None, "the file: .png, .mp4, .gif or .html (one step)", "-o"),
    "every": Option(int | None, None, "steps from one picture of a video to the next"),
    "operations": Option(bool, False, "a video of every operation of each step"),
    "hold": Option(float | None, None, "seconds for each operation with --operations, else 1.5"),
    "pixels": Option(str, "", "width and height of the picture, such as 1280x720"),
    "fps": Option(int, 30, "pictures a second"),
    "theme": Option(str, "dark", " or ".join(THEMES)),
    "camera": Option(str, "", f"{', '.join(CAMERAS)}; if not said, flat in a page"),
    "move": Option(str, "still", "how the camera of a video goes: still, orbit or approach"),
    "layout": Option(str, "", f"{', '.join(LAYOUTS)}; if not said, crossbar in a page"),
    "color": Option(str, "value", "what colors stand for: value, gradient, last change, ..."),
    "cubes": Option(str, "value", "what sizes stand for"),
    "pin": Option(int | None, None, "the row of a weight whose arithmetic is shown"),
    "samples": Option(int, 2, "a pixel is the mean of so many squared"),
}

PAGING = {
    "out": Option(Path | None, None, "the file: .html", "-o"),
    "theme": Option(str, "auto", f"{', '.join(THEMES)} or auto, as the reader's system has it"),
    "steps": Option(int | None, None, "how many steps to take before; if not said, none"),
    "no_engine": Option(bool, False, "a recording, which plays but does not train", "--no-engine"),
    "record": Option(int | None, None, "steps of the recording; if not said, 500"),
    "every": Option(int | None, None, "steps between two that are kept; if not said, 1"),
}


def own_options(scene: Scene) -> dict[str, Option]:
    """Return the parameters of a scene that are options; raise SceneError for invalid ones."""
    where = place_of(scene)
    lines = dict(re.findall(r"^(\w+)  +(\S.*)$", inspect.getdoc(scene) or "", re.MULTILINE))
    infos, found = annotated(scene), {}
    for name, parameter in inspect.signature(scene).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty:
            raise SceneError(f"{where}: the scene's parameter {name!r} has no default: give it one")
        if name in RUNNING | WATCHING:
            raise SceneError(
                f"{where}: the scene's parameter {name!r} is called like an option that every "
                "scene has: give it another name"
            )
        if type(parameter.default) in TYPES:
            kind = type(parameter.default)
            info = infos.get(name) or known_by_name(scene, name)
            found[name] = Option(kind, parameter.default, lines.get(name, ""), info=info)
    return found


def annotated(scene: Scene) -> dict[str, OptionInfo]:
    """Return the OptionInfo of each parameter that has one in its annotation."""
    try:
        hints = get_type_hints(scene, include_extras=True)
    except (NameError, TypeError):  # an annotation for type checkers alone, or no function
        return {}
    return {
        name: each
        for name, hint in hints.items()
        for each in getattr(hint, "__metadata__", ())
        if isinstance(each, OptionInfo)
    }


def known_by_name(scene: Scene, name: str) -> OptionInfo:
    """Return the OptionInfo of a parameter without one; SHAPES of the file lists any `shape`."""
    info = BY_NAME.get(name, OptionInfo())
    table = getattr(scene, "__globals__", {}).get(f"{name.upper()}S")
    return replace(info, names=table) if isinstance(table, Mapping) else info


@contextmanager
def told_by_option(given: Mapping[str, Any]) -> Iterator[None]:
    """Name the option in an error about its value.

    If the message does not name an option, it is the one whose value the message contains, else
    all, unless the cause is a missing package.
    """
    try:
        yield
    except (InputError, FileError, SceneError) as error:
        own = error.__cause__ if isinstance(error, SceneError) else error
        text = str(error)
        guilty = {name: value for name, value in given.items() if is_in(value, text)}
        if not guilty and own is not None and not isinstance(own.__cause__, ImportError):
            guilty = dict(given)
        named = given.keys() & set(re.findall(r"\w+", text))
        if guilty and not named and isinstance(own, (InputError, FileError)):
            told = ", ".join(f"{name}={shorten(value)}" for name, value in guilty.items())
            error.args = (f"{told}: {error.lines[0]}", *error.lines[1:])
        raise


def is_in(value: object, text: str) -> bool:
    """Return whether a value stands in a text as a separate word."""
    return re.search(rf"(?<![\w.]){re.escape(str(value))}(?![\w.])", text) is not None


def played(scene: Scene, chosen: Mapping[str, Any]) -> Show:
    """Return the Show of a scene; raise SceneError if its code fails or returns something else."""
    with told_by_line():
        shown = scene(**chosen)
    if not isinstance(shown, (Session, Show)):
        raise SceneError(
            f"{place_of(scene)}: the scene returned {shorten(shown)}: return a Show, or just a "
            "Session"
        )
    return Show.of(shown, scene)


def make_show(scene: Scene, given: Mapping[str, Any], typed: Collection[str] = ()) -> Show:
    """Return the Show of a scene with these options, or one resumed from a file.

    scene  the function of a scene file
    given  option values by name
    typed  names of options that were given explicitly, even if equal to the default
    """
    own = own_options(scene)
    chosen = {name: given[name] for name in own}
    by_name = parsed(given.get("set") or [], own)
    chosen |= by_name
    changed = [
        name
        for name in own
        if name in typed or name in by_name or chosen[name] != own[name].default
    ]
    extra = {name: given[name] for name in SHARED if name not in own and given[name] is not None}
    values = {name: chosen[name] for name in changed} | extra
    if given.get("resume") is None:
        with told_by_option(values):
            return with_extra(played(scene, chosen), extra)
    refused = [n for n in [*changed, *extra] if n not in SHARED or n not in BY_NAME]
    if refused:
        raise InputError(
            f"a training that goes on has its {refused[0]} from the file: "
            f"leave out --{refused[0]}, or --resume"
        )
    session = Session.load(given["resume"], limit=given.get("limit"))
    show = played(scene, chosen)
    if session.data.name != show.session.data.name:
        raise InputError(
            f"{str(given['resume'])!r} holds a training on the data {session.data.name}, and this "
            f"scene trains on {show.session.data.name}: name the scene that it came from"
        )
    show = replace(show, session=session)
    with told_by_option(values):
        if "lr" in values and session.clock.operation:
            session.back(1)  # within a step, a new rate would take effect only after it
        return with_extra(show, values)


def with_extra(show: Show, extra: Mapping[str, Any]) -> Show:
    """Return the show after applying options that the scene has no parameter for."""
    if "seed" in extra or "batch" in extra:
        show = replace(show, session=made_again(show.session, **extra))
    session = show.session
    if "lr" in extra:
        session.learning_rate = extra["lr"]
    if "engine" in extra or "precision" in extra:
        session.to(extra.get("engine") or session.engine, extra.get("precision"))
    return show


def made_again(
    session: Session, seed: int | None = None, batch: int | None = None, **others: Any
) -> Session:
    """Return the same training at its start, with another seed or batch."""
    trainer = session.timeline.trainer
    network = session.network
    if seed is not None:
        if not network.layers:
            raise InputError("the scene trains an expression, which has no seed: leave out --seed")
        network = network.fresh(seed)
    return Session(
        network,
        session.data,
        trainer.loss,
        session.optimizer,
        trainer.batch if batch is None else batch,
        others.get("engine") or session.engine,
        trainer.seed if seed is None else seed,
        precision=trainer.settings.precision,
    )


def parsed(pairs: Sequence[str], own: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values of `--set name=value`, converted to the options' types."""
    found = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign:
            raise InputError(f"--set takes NAME=VALUE, not {pair!r}: write --set lr=0.1")
        option = pick(own, name, "option of the scene")
        found[name] = as_kind(text, option.kind, name)
    return found


def as_kind(text: str, kind: Any, name: str) -> Any:
    """Convert a text to a number, a bool, or leave it a string."""
    try:
        return YES_OR_NO[text.lower()] if kind is bool else kind(text)
    except (KeyError, ValueError):
        wanted = {bool: "true or false", int: "a whole number", float: "a number"}[kind]
        raise InputError(f"the option {name} takes {wanted}, not {text!r}") from None
