"""Links: the present moment as a text that `scalarviz open` follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.base.shell_commands import program
from scalarviz.base.texts import text
from scalarviz.errors import InputError
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scenefiles.links import Link, is_plain, link_to, option_text
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import actions_of

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller


def copy_link(controller: Controller) -> None:
    """Put a link to this moment on the clipboard, and say so."""
    stage, recipe = controller.stage, controller.options.recipe
    pinned = stage.pinned if stage.pinned_neuron is None else stage.pinned_neuron

    def made() -> Link:
        with controller.session.doing():
            return link_here(controller.session, recipe, pinned)

    def copy(link: Link) -> None:
        controller.copy_text(str(link))
        controller.tell(text("notices.link", link=link, program=program()))

    controller.do(made, copy)


def link_here(
    session: Session, recipe: Recipe | None, pinned: int | tuple[str, int] | None
) -> Link:
    """Return the link to the present moment of a session.

    recipe  how the session was made, if it is that of a scene
    pinned  the row of a weight, or a neuron

    Raises InputError for a session that neither a scene nor a file leads to.
    """
    timeline = session.timeline
    name, kept = recipe.name if recipe else "", timeline.kept
    options = {} if recipe is None else recipe.unusual
    was_changed = bool(actions_of(timeline.branch))
    is_made = not (was_changed or timeline.was_loaded or session.origin)
    if name and is_made and all(is_plain(option_text(value)) for value in options.values()):
        return link_to(session, name, options, pinned)
    if kept is None or not kept.has(timeline.branch):
        if was_changed:
            raise InputError(
                "a link leads to a scene as it comes, or to a file, and this training was changed: "
                "save it first"
            )
        raise InputError(
            "a link leads to a scene as it comes, or to a file, and this training is neither: save "
            "it first"
        )
    here = session.clock
    left = timeline.branch.actions_at(here.place)[here.actions :]
    if any(action.kind != "engine" for action in left):
        raise InputError(
            "a link leads past the changes that were made at this very moment, which are not done "
            "yet: go back or on by an operation first"
        )
    return link_to(session, str(kept.path), None, pinned)
