"""Files that a controller opens and writes: trainings, networks, pictures to learn, exports."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.faces.controller.computing import computes
from scalarviz.faces.controller.export import Task, task_of
from scalarviz.faces.controller.options import Options
from scalarviz.faces.controller.precompile import kinds_of_run
from scalarviz.faces.controller.trail import go_on
from scalarviz.files.runs import check_saving
from scalarviz.stage.show import Show
from scalarviz.stage.side_by_side import AnyStage
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller
    from scalarviz.faces.controller.group import Group


@computes
def drop(controller: Controller, path: str | Path) -> None:
    """Open a dropped file: a picture to learn, or a saved training."""
    if str(path).endswith(".safetensors"):
        return open_run(controller, path)
    session, options, name = controller.session, controller.options, Path(path).name

    def learned(_: object) -> None:
        words = text("own.picture.learned", name=name)
        controller.tell(words, text("controls.undo"), controller.undo)

    return controller.do(
        lambda: options.set_picture(session, settings_now(session), str(path)),
        learned,
        changing=True,
        said=text("scenes.opening", name=name),
    )


def open_run(controller: Controller, path: str | Path) -> None:
    """Load a training from a file, as soon as its kernels are compiled."""
    controller.do(partial(kinds_of_run, path), partial(open_with, controller, path))


def open_with(controller: Controller, path: str | Path, kinds: list[str]) -> None:
    """Load a training that needs these kinds of kernels."""
    for kind in kinds:
        if controller.warming.later("load", kind, partial(open_run, controller, path)):
            return controller.tell(text("notices.opens_later", file=Path(path).name))

    def begin(session: Session) -> None:
        same = session.data.name == controller.session.data.name
        controller.pause()
        if same:
            title = session.timeline.title or controller.show.title
            show = replace(controller.show, session=session, title=title)
        else:
            show = Show.of(session)
        recipe = controller.options.recipe if same else None
        options = Options(recipe, show, elsewhere=not same or controller.options.elsewhere)
        go_on(controller, show, options, text("changes.file", file=Path(path).name))
        controller.tell(text("notices.resumed", path=path, step=session.step_index))

    said = text("scenes.opening", name=Path(path).name)
    return controller.do(partial(Session.load, path), begin, said=said)


@computes
def save(controller: Controller, path: str | Path) -> None:
    """Save the session, though the window is closed meanwhile."""
    session = controller.session
    controller.do(
        partial(session.save, path),
        lambda _: controller.tell(text("notices.saved", path=path)),
        kept=True,
        said=text("notices.saving", file=Path(path).name),
    )


@computes
def save_network(controller: Controller, path: str | Path) -> None:
    """Save the network as it is now; the ending of the path says how."""
    session = controller.session

    def act() -> None:
        network = check_saving(session.timeline)
        with session.doing():
            network.save(path)

    controller.do(act, lambda _: controller.tell(text("notices.saved", path=path)), kept=True)


@computes
def export_to(controller: Controller, path: str | Path, what: str = "") -> None:
    """Draw it into a file in the background; see `task_of`."""
    with controller.reporting_errors():
        pin = pinned_of(controller.stage)
        begin(controller, task_of([controller.show], controller.stage, Path(path), what, pin))


def export_video(group: Group, path: str | Path) -> None:
    """Draw the history into a video in the background: of all sessions, if there are several."""
    if group.several:
        export_several(group.lead, group, path)
    else:
        export_to(group.lead, path, "video")


@computes
def export_several(controller: Controller, group: Group, path: str | Path) -> None:
    """Draw the history of all sessions of a group side by side; a controller reports on it."""
    shows = [
        replace(member.show, title=name)
        for member, name in zip(group.members, group.names, strict=True)
    ]
    with controller.reporting_errors():
        pins = [pinned_of(member.stage) for member in group.members]
        begin(controller, task_of(shows, group.stage, Path(path), "video", pins))


def begin(controller: Controller, task: Task) -> None:
    """Start a process that draws, as soon as nothing else is computed."""
    exports = controller.exports
    exports.expect(task)
    controller.do(partial(exports.start, task), kept=True)


def pinned_of(stage: AnyStage) -> object:
    """Return what is pinned, as the `pin` of a picture."""
    return stage.pinned if stage.pinned_neuron is None else stage.pinned_neuron
