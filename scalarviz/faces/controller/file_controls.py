"""Controls of files and of the window as a whole."""

from __future__ import annotations

from scalarviz.base.texts import text
from scalarviz.faces.controller.control import Control
from scalarviz.faces.controller.links import copy_link
from scalarviz.faces.controller.scenes import choose_scene, entries, entry_of
from scalarviz.faces.controller.state import State


def scene_names(state: State) -> tuple[str, ...]:
    """Return the scenes, and before them an entry for a training that is none."""
    return (*(() if state.scene else (text("controls.choose"),)), *entries())


FILE_CONTROLS = [
    Control(
        "scenes",
        "choice",
        "Open a scene; Undo leads back",
        choose_scene,
        lambda state: entry_of(state.scene) or text("controls.choose"),
        names=scene_names,
        menu="Scenes",
        room=40,
    ),
    Control(
        "cancel",
        "button",
        "Cancel what is being written",
        lambda controller, _: controller.cancel_exports(),
        enabled=lambda state: state.work is not None,
        menu="File",
        window=True,
    ),
    Control(
        "copy link",
        "button",
        "Copy a link to this moment",
        lambda controller, _: copy_link(controller),
        menu="File",
        text="Copy a link",
        key="k",
        help="copy a link to this moment, which `scalarviz open` follows",
    ),
    Control(
        "quit",
        "button",
        "Quit",
        lambda controller, _: controller.leave(),
        menu="File",
        window=True,
        key="q",
    ),
]
