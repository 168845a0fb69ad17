"""The menu of scenes: another scene is opened in the place of the training that is shown."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from scalarviz.base.texts import text
from scalarviz.faces.controller import trail
from scalarviz.faces.controller.options import Options, Recipe
from scalarviz.faces.scenefiles.find import about, find, load, scenes

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

KEPT = ("engine",)  # options that another scene takes over if they were given


@cache
def entries() -> dict[str, str]:
    """Return the scenes of the package: how a menu names each, and its name."""
    found = scenes().items()
    return {text("scenes.entry", name=name, about=about(path)): name for name, path in found}


def entry_of(name: str) -> str:
    """Return how the menu names a scene; "" for none of the package."""
    return next((entry for entry, each in entries().items() if each == name), "")


def choose_scene(controller: Controller, entry: str) -> None:
    """Open the scene of an entry of the menu."""
    if entry in entries():
        open_scene(controller, entries()[entry])


def open_scene(controller: Controller, name: str) -> None:
    """Open a scene of the package and play it; Undo leads back to the training before."""
    recipe = controller.options.recipe
    given = {} if recipe is None else {k: v for k, v in recipe.unusual.items() if k in KEPT}

    def begin(made: Options) -> None:
        did = text("changes.scene", name=name)
        trail.go_on(controller, made.show, made, did)
        trail.tell(controller, did)
        controller.play_soon()

    controller.guide.interrupt()
    said = text("scenes.opening", name=name)
    controller.do(partial(options_of, name, given), begin, said=said, name="scene")


def options_of(name: str, given: dict[str, object]) -> Options:
    """Return a scene's show with its options, made anew."""
    recipe = Recipe(load(find(name)), given)
    return Options(recipe, recipe.make({}), elsewhere=True)
