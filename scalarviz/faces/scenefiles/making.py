"""Making: the Show of a scene with its options and those that every scene has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.base.texts import row_text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import FileError, InputError, ScalarvizError, SceneError
from scalarviz.faces.scenefiles.find import Scene, name_of
from scalarviz.faces.scenefiles.made_again import RESTARTS, made_again
from scalarviz.faces.scenefiles.options import SHARED, YES_OR_NO, Option, own_options
from scalarviz.faces.scenefiles.user_code import place_of, told_by_line
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session

GOING_ON = "lr", "engine", "precision"  # options of a training that goes on from a file


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
        if not guilty and own is not None:
            guilty = dict(given)
        if isinstance(own, ScalarvizError) and isinstance(own.__cause__, ImportError):
            guilty = {}
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
    show, name = Show.of(shown, scene), name_of(scene)  # "" for a user's scene, which has no rows
    title = row_text(f"rows.scenes.{name}.title", show.title)
    return replace(show, title=title, about=row_text(f"rows.scenes.{name}.about", show.about))


def make_show(scene: Scene, given: Mapping[str, Any], typed: Collection[str] = ()) -> Show:
    """Return the Show of a scene with these options, or one resumed from a file.

    scene  the function of a scene file
    given  option values by name
    typed  names of options that were given explicitly, even if equal to the default
    """
    show = show_of(scene, given, typed)
    if conditions := given.get("stop_when"):
        show.session.stop_when(*conditions)
    return show


def show_of(scene: Scene, given: Mapping[str, Any], typed: Collection[str]) -> Show:
    """`make_show` without the conditions at which it stops."""
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
            show = with_extra(played(scene, chosen), extra | rate_for(extra, values))
        return replace(show, hint=hint_with(show.hint, values))
    refused = [name for name in [*changed, *extra] if name not in GOING_ON]
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
    show = replace(show, session=session, title=session.timeline.title or show.title)
    with told_by_option(values):
        if "lr" in values and session.clock.operation:
            session.back(1)  # within a step, a new rate would take effect only after it
        return with_extra(show, values)


def hint_with(hint: str, values: Mapping[str, Any]) -> str:
    """Return a command that a scene proposes, with these options where it has no others for them.

    A hint that is no command stays as it is; one that has just these options becomes "".
    """
    words = hint.split()
    if words[:1] != ["scalarviz"]:
        return hint
    given = {name: option_words(name.replace("_", "-"), value) for name, value in values.items()}
    if words[3:] and set(words[3:]) <= {word for each in given.values() for word in each}:
        return ""
    for name, each in given.items():
        option = name.replace("_", "-")
        if not {f"--{option}", f"--no-{option}"} & set(words):
            words += each
    return " ".join(words)


def option_words(option: str, value: object) -> list[str]:
    """Return what to type for an option with a value."""
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    return [f"--{option}", shlex.quote(str(value))]


def rate_for(extra: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rate of a scene's own option, if it was given beside another optimizer."""
    return {"lr": values["lr"]} if "optimizer" in extra and "lr" in values else {}


def with_extra(show: Show, extra: Mapping[str, Any]) -> Show:
    """Return the show after applying options that the scene has no parameter for."""
    if extra.keys() & RESTARTS:
        show = replace(show, session=made_again(show.session, extra))
    session = show.session
    if "lr" in extra:
        session.learning_rate = extra["lr"]
    if "engine" in extra or "precision" in extra:
        session.to(extra.get("engine") or session.engine, extra.get("precision"))
    return show


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
        raise InputError(f"the option {name} takes {wanted}, not {shorten(text)}") from None


def as_number(value: object) -> float:
    """Return a typed number; raise InputError if it is not one."""
    try:
        return float(str(value).replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        raise InputError(f"a number is wanted, such as 0.5, not {shorten(str(value))}") from None
