"""`scalarviz open`: a link becomes a window at its moment."""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalarviz.base.checks import shorten
from scalarviz.base.interrupt import Stop
from scalarviz.base.limits import check_losses
from scalarviz.base.messages import say
from scalarviz.base.progress import Progress, opening_over
from scalarviz.base.shell_commands import program
from scalarviz.base.texts import text
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.cli.watching import watch_anywhere
from scalarviz.faces.controller.autosave import Keep, keep_of
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scenefiles.find import load, scenes
from scalarviz.faces.scenefiles.links import Link, Neuron, read_link
from scalarviz.faces.scenefiles.making import as_kind, make_show
from scalarviz.faces.scenefiles.options import RUNNING, SHARED, kind_of, own_options
from scalarviz.faces.terminal.train import take_steps
from scalarviz.stage.background import Portions
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import one_row

INTERRUPTED = 130


def open_link(words: str, given: Mapping[str, Any]) -> int:
    """Open a window at the moment of a link; return the exit code.

    words  the link
    given  options: those of WATCHING, steps, limit, and those of `keep_of`

    Raises InputError for what is wrong in the link.
    """
    opening_over()  # what the link asks for comes first, with a bar of its own
    link = read_link(words)
    show, recipe = opened(link, given)
    keep = keep_of(given)
    keep.check(show.session)
    pinned = pinned_by(show.session, link)
    if not go(show.session, link, keep):
        say(text("open.stopped", step=show.session.step_index))
        return INTERRUPTED
    if link.sample is not None:
        show.session.focus = link.sample
    speed = link.play if given["speed"] is None else given["speed"]
    plays = link.play is not None or given["speed"] is not None or not link.names_moment
    theme = link.theme if given["theme"] == "auto" and link.theme else given["theme"]
    name = Path(link.target).stem
    chosen = {**given, "speed": speed, "theme": theme}
    return watch_anywhere(show, chosen, name, keep, recipe, play=plays, pin=pinned)


def opened(link: Link, given: Mapping[str, Any]) -> tuple[Show, Recipe | None]:
    """Return the show of the scene or the file that a link names; raise InputError for others."""
    target = link.target
    if target in scenes():
        return of_scene(link)
    if target.lower().endswith(".py"):
        raise InputError(
            f"a link opens scenes of the package and files of trainings, and {shorten(target)} is "
            f"code: if you trust it, write `{program()} watch` and its path"
        )
    if "://" in target or target.startswith(("//", "\\\\")):
        raise InputError(f"a link opens what is on this machine, and not {shorten(target)}")
    if not is_file(target):
        if os.path.basename(target) == target and "." not in target:
            raise UnknownNameError("scene", target, scenes())
        raise InputError(f"there is no file {shorten(target)}: name a scene, or a training's file")
    if link.options:
        raise InputError(
            f"{shorten(target)} is a file, which has no options: leave out what follows its ?"
        )
    session = Session.load(target, limit=given["limit"])
    return Show(session, title=os.path.basename(target)), None


def is_file(path: str) -> bool:
    """Return whether a path is that of a file."""
    try:
        return os.path.isfile(path)
    except ValueError:  # no valid path
        return False


def of_scene(link: Link) -> tuple[Show, Recipe]:
    """Return the show of a scene with the options of a link; raise InputError for unknown ones."""
    scene = load(scenes()[link.target])
    own = own_options(scene)
    known = SHARED | own
    usual: dict[str, Any] = {name: option.default for name, option in (RUNNING | known).items()}
    values = {}
    for name, value in link.options.items():
        if name not in known:
            raise UnknownNameError(f"option of {link.target}", name, known)
        values[name] = as_kind(value, kind_of(known[name]), name)
    given = usual | values
    return make_show(scene, given, typed=values), Recipe(scene, given)


def pinned_by(session: Session, link: Link) -> int | Neuron | None:
    """Return what a link pins, checked; raise InputError for what the network does not have."""
    if link.neuron is not None:
        buffers = {each.name: each for each in session.network.program.buffers}
        buffer, place = link.neuron
        if buffer not in buffers or place >= buffers[buffer].size:
            raise InputError(f"the network has no neuron {shorten(f'{buffer}:{place}')}")
        return link.neuron
    return None if link.pin is None else one_row(session.network, link.pin)


def go(session: Session, link: Link, keep: Keep) -> bool:
    """Go to the moment of a link; return whether it was reached, and not stopped by Ctrl-C.

    A step beyond the end is trained up to, with a bar. Raises InputError for an operation that the
    step does not have.
    """
    step = session.step_index if link.step is None and link.operation else link.step
    if step is not None:
        check_losses(step)
        session.seek(min(step, session.current_branch.end.step))
        with Stop() as stop, Progress(step - session.step_index) as bar:
            take_steps(Portions(session), step, keep, stop, bar)
        if stop.asked:
            return False
    if link.operation:
        count = len(session.operations)
        if link.operation > count:
            raise InputError(f"a step has {count} operations here, and not {link.operation:,}")
        session.advance(link.operation, "operation")
    if step is not None:
        do_actions_here(session)
    return True


def do_actions_here(session: Session) -> None:
    """Do what the user of a file did at this moment, before the next operation."""
    with session.doing():
        timeline = session.timeline
        actions = timeline.branch.actions_at(timeline.clock.place)
        timeline.go(timeline.clock._replace(actions=len(actions)))
