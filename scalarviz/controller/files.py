"""Files that a controller opens and writes: trainings, networks, pictures to learn, exports."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from scalarviz.controller.computing import computes
from scalarviz.controller.controller import Controller
from scalarviz.controller.export import task_of
from scalarviz.controller.options import Options
from scalarviz.controller.precompile import kinds_of_run
from scalarviz.controller.trail import go_on
from scalarviz.files.runs import check_saving
from scalarviz.presenter.show import Show
from scalarviz.session.session import Session
from scalarviz.session.settings_now import settings_now
from scalarviz.texts import text


@computes
def drop(controller: Controller, path: str | Path) -> None:
    """Open a dropped file: a picture to learn, or a saved training."""
    if str(path).endswith(".safetensors"):
        return open_run(controller, path)
    session, options = controller.session, controller.options
    return controller.do(
        lambda: options.set_picture(session, settings_now(session), str(path)),
        changing=True,
        said=text("scenes.opening", name=Path(path).name),
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
        show = replace(controller.show, session=session) if same else Show.of(session)
        recipe = controller.options.recipe if same else None
        options = Options(recipe, show, elsewhere=not same or controller.options.elsewhere)
        go_on(controller, show, options, text("changes.file", file=Path(path).name))
        controller.tell(text("notices.resumed", path=path))

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
    """Save the network as it is now: its weights (.safetensors), or as `Network.export` does."""
    session = controller.session

    def act() -> None:
        network, is_ours = check_saving(session.timeline), Path(path).suffix == ".safetensors"
        with session.doing():
            network.save(path) if is_ours else network.export(path)

    controller.do(act, lambda _: controller.tell(text("notices.saved", path=path)), kept=True)


@computes
def export_to(controller: Controller, path: str | Path, what: str = "") -> None:
    """Draw it into a file in the background; see `task_of`."""
    exports = controller.exports
    with controller.reporting_errors():
        task = task_of(controller.show, controller.stage, Path(path), what)
        exports.expect(task)
        controller.do(partial(exports.start, task), kept=True)
