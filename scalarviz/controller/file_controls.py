"""Controls of files and of the window as a whole."""

from __future__ import annotations

from scalarviz.controller.control import Control
from scalarviz.controller.links import copy_link

FILE_CONTROLS = [
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
