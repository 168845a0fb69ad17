"""Files, scenes and links that an interface opens and writes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from scalarviz.base.checks import require
from scalarviz.base.shell_commands import program
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.controller.changes import show_another, tell_another
from scalarviz.faces.controller.options import Options, Recipe
from scalarviz.faces.controller.precompile import computes
from scalarviz.faces.links import Link, is_plain, link_to, option_text
from scalarviz.faces.scene_file import about, find, load, scenes
from scalarviz.files.runs import check_saving
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import actions_of
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


# Files: sessions, networks, pictures to learn.


@computes
def drop(controller: Controller, path: str | Path) -> None:
    """Open a file that was dropped on the window: a picture to learn, or a saved session."""
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
    """Load a session from a file, and show it."""

    def begin(session: Session) -> None:
        same = session.data.name == controller.session.data.name
        controller.time.pause()
        if same:
            title = session.timeline.title or controller.show.title
            show = replace(controller.show, session=session, title=title)
        else:
            show = Show.of(session)
        recipe = controller.options.recipe if same else None
        options = Options(recipe, show, elsewhere=not same or controller.options.elsewhere)
        back = show_another(controller, show, options)
        said = text("notices.resumed", path=path, step=session.step_index)
        controller.tell(said, text("notices.earlier"), back)

    said = text("scenes.opening", name=Path(path).name)
    controller.do(partial(Session.load, path), begin, said=said)


@computes
def save(controller: Controller, path: str | Path) -> None:
    """Save the session to a file, even if the window is closed in the meantime."""
    controller.do(
        partial(controller.session.save, path),
        lambda _: controller.tell(text("notices.saved", path=path)),
        kept=True,
        said=text("notices.saving", file=Path(path).name),
    )


@computes
def save_network(controller: Controller, path: str | Path) -> None:
    """Save the current network; the suffix of the path determines the format."""
    session = controller.session

    def act() -> None:
        network = check_saving(session.timeline)
        with session.doing():
            network.save(path)

    controller.do(act, lambda _: controller.tell(text("notices.saved", path=path)), kept=True)


# The menu of scenes: open another scene in place of the shown session.

TAKEN_OVER = ("engine",)  # options kept by another scene if they were given


@cache
def entries() -> dict[str, str]:
    """Return the names of the built-in scenes, by menu entry."""
    found = scenes().items()
    return {text("scenes.entry", name=name, about=about(path)): name for name, path in found}


def entry_of(name: str) -> str:
    """Return the menu entry of a scene; "" if it is not built in."""
    return next((entry for entry, each in entries().items() if each == name), "")


def choose_scene(controller: Controller, entry: str) -> None:
    """Open the scene that was chosen in the menu."""
    if entry in entries():
        open_scene(controller, entries()[entry])


def open_scene(controller: Controller, name: str) -> None:
    """Open a built-in scene and play it."""
    recipe = controller.options.recipe
    given = {} if recipe is None else {k: v for k, v in recipe.unusual.items() if k in TAKEN_OVER}

    def begin(made: Options) -> None:
        did = text("changes.scene", name=name)
        tell_another(controller, did, show_another(controller, made.show, made))
        controller.play_soon()

    controller.guide.interrupt()
    said = text("scenes.opening", name=name)
    controller.do(partial(options_of, name, given), begin, said=said, name="scene")


def options_of(name: str, given: dict[str, object]) -> Options:
    """Create a built-in scene with the `given` options, and return the Options of its Show."""
    recipe = Recipe(load(find(name)), given)
    return Options(recipe, recipe.make({}), elsewhere=True)


# Links: the current moment as a text for `scalarviz open`.


def copy_link(controller: Controller) -> None:
    """Copy a link to this moment to the clipboard, and report it."""
    stage, recipe = controller.stage, controller.options.recipe
    pinned = stage.pinned_part

    def made() -> Link:
        with controller.session.doing():
            return link_here(controller.session, recipe, pinned)

    def copy(link: Link) -> None:
        controller.face.copy_text(str(link))
        controller.tell(text("notices.link", link=link, program=program()))

    controller.do(made, copy)


def link_here(
    session: Session, recipe: Recipe | None, pinned: int | tuple[str, int] | None
) -> Link:
    """Return the link to the current moment of a session.

    Args:
        recipe: how the session was created from a scene; None if it was not
        pinned: bank row of the pinned weight, or the pinned neuron

    Raises:
        InputError: if the session comes from neither a scene nor a file.
    """
    timeline = session.timeline
    name, kept = recipe.name if recipe else "", timeline.kept
    options = {} if recipe is None else recipe.unusual
    was_changed = bool(actions_of(timeline.branch))
    is_made = not (was_changed or timeline.was_loaded or session.origin)
    if name and is_made and all(is_plain(option_text(value)) for value in options.values()):
        return link_to(session, name, options, pinned)
    if kept is None or not kept.has(timeline.branch):
        raise InputError(
            "a link leads to an unchanged scene or to a file, but this training run "
            f"{'was changed' if was_changed else 'is neither'}: save it first"
        )
    here = session.clock
    left = timeline.branch.actions_at(here.place)[here.actions :]
    require(
        not any(action.kind != "engine" for action in left),
        "a link would leave out the changes of this moment, which are not done yet: first go "
        "back or forward by one operation",
    )
    return link_to(session, str(kept.path), None, pinned)
