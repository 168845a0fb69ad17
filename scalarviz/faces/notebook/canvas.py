"""LiveCanvas: the live picture in a notebook, based on jupyter_rfb.

It adds to jupyter_rfb: events arrive on any thread of the kernel and are moved to the thread that
runs the cells; a ring shows the keyboard focus; errors appear below the picture only.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, final

import numpy as np
import numpy.typing as npt
from IPython.utils.capture import capture_output
from jupyter_rfb import RemoteFrameBuffer

from scalarviz.base.package_files import text_beside
from scalarviz.base.texts import text
from scalarviz.base.visible_text import say
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.pointer import Pointer
from scalarviz.pictures.view.canvas import Canvas

COARSEST = 0.1
SHARPEST = 2.0  # device pixels per pixel; more take time without visible gain
SMALLEST, LARGEST = 16, 4096  # pixels along a side
# The largest numbers of a message that has an effect.
LIMITS = dict.fromkeys(("x", "y", "dx", "dy"), 1e4)
LIMITS |= dict.fromkeys(("width", "height", "ratio", "button"), 1e12)
NOTCH = 100.0  # scroll distance of a wheel notch
KEYS = {
    " ": "space",
    "ArrowLeft": "left",
    "ArrowRight": "right",
    "ArrowUp": "up",
    "ArrowDown": "down",
    "Escape": "escape",
    "Enter": "enter",
}
OTHERS = {"Control", "Alt", "Meta"}
MADE = "export default"

# Wraps the script of jupyter_rfb: keys while the ring is shown, Tab to enter and leave, counting of
# views, and the page's theme. It also labels sliders and number fields for screen readers:
# ipywidgets puts the names of controls without a visible label elsewhere.
PICTURE = f"\nconst PICTURE = {json.dumps(text('notebook.picture'))}"
SCRIPT = f"{PICTURE}\n{text_beside(__file__, 'canvas.js')}"
STYLE = "\n" + text_beside(__file__, "canvas.css")


def is_in_reach(item: tuple[str, object]) -> bool:
    """Whether a field of a message is none of LIMITS, or a number within its limit."""
    name, value = item
    if name not in LIMITS:
        return True
    return isinstance(value, (int, float)) and abs(value) <= LIMITS[name]  # NaN is not


@final
class LiveCanvas(RemoteFrameBuffer):  # type: ignore[misc]  # it has no types
    """Draws the stage of a controller, or of a group, and forwards mouse and keys to it.

    later    schedules a call on the thread that runs the cells
    changed  called when a new picture is due
    draws    called before a picture is drawn
    light    called with whether the page is light
    """

    _esm = RemoteFrameBuffer._esm.replace(MADE, "const framebuffer =", 1) + SCRIPT
    _css = RemoteFrameBuffer._css + STYLE

    def __init__(
        self,
        controller: Controller | Group,
        size: tuple[int, int],
        later: Callable[[Callable[[], None]], None],
        changed: Callable[[], None],
        draws: Callable[[], None],
        light: Callable[[bool], None],
    ) -> None:
        self.group = Group.of(controller)
        self.pointer = Pointer(self.group)
        self.views = 0  # number of views on pages
        self.seen = False  # whether it was ever on a page
        self.spent = 0.0  # seconds for the last picture
        self._later = later
        self._changed = changed
        self._draws = draws
        self._light = light
        self._ratio = 1.0
        self._copied = ""
        self._canvas = Canvas(*size)
        width, height = (f"{side}px" for side in size)
        with capture_output():  # the output of errors would be shown immediately, and stored
            super().__init__(css_width=width, css_height=height, max_buffered_frames=4)
        self._event_compatibility = 2
        self._rfb_last_frame = self.get_frame()

    @property
    def errors(self) -> Any:
        """The widget that shows errors of drawing."""
        return self._output_context

    def copy(self, words: str) -> None:
        """Put a text on the clipboard of the browser; without permission it is printed below."""
        self._copied = words
        self.send({"type": "copy", "text": words})

    @property
    def size(self) -> tuple[int, int]:
        return self._canvas.width, self._canvas.height

    @property
    def visible(self) -> bool:
        return bool(self._has_visible_views)

    def get_frame(self) -> npt.NDArray[np.uint8]:
        """Return the rendered stage."""
        frames: list[npt.NDArray[np.uint8]] = []
        self.group.drawing(lambda: frames.append(self._draw()))
        return frames[0]

    def _draw(self) -> npt.NDArray[np.uint8]:
        began = perf_counter()
        self._draws()
        frame = self._canvas.frame(self.group.stage.draw, self._ratio)
        self.spent = perf_counter() - began
        return frame

    def release(self) -> None:
        """Free the memory of the picture; the next one allocates it again."""
        self.group.stage.release()
        self._canvas.close()

    # Calls of jupyter_rfb, moved to the right thread.

    def _rfb_schedule_maybe_draw(self, *args: object) -> None:
        self._later(self._rfb_maybe_draw)

    def _rfb_handle_msg(self, widget: object, content: dict[str, Any], buffers: object) -> None:
        # "close" is also sent from here, without a listener
        if content.get("type") != "close" and all(map(is_in_reach, content.items())):
            self._later(partial(super()._rfb_handle_msg, widget, content, buffers))

    def handle_event(self, event: dict[str, Any]) -> None:
        """Handle an event of the mouse or keyboard."""
        kind = event["type"]
        if kind == "view":
            self.views, self.seen = self.views + 1, True
        elif kind == "gone":
            self.views -= 1
        elif kind == "resize":
            self._canvas.width = min(max(SMALLEST, round(event["width"])), LARGEST)
            self._canvas.height = min(max(SMALLEST, round(event["height"])), LARGEST)
            self._ratio = min(max(event["ratio"], COARSEST), SHARPEST)
        elif kind == "theme":
            self._light(event["light"])
        elif kind == "not_copied":
            with self.errors:
                say(self._copied)
        elif kind == "key_down":
            self._press(event["key"], set(event["modifiers"]))
        elif kind == "pointer_down":
            shift = "Shift" in event.get("modifiers", ())
            self.pointer.press(event["button"], event["x"], event["y"], shift=shift)
        elif kind == "pointer_move":
            self.pointer.move(event["x"], event["y"])
        elif kind == "pointer_up":
            self.pointer.release(event["button"], event["x"], event["y"])
        elif kind == "pointer_leave":
            self.pointer.leave()
        elif kind == "wheel":
            self.pointer.wheel(-event["dy"] / NOTCH, event["x"], event["y"])
        else:
            return
        self._changed()

    def _press(self, key: str, modifiers: set[str]) -> None:
        if not modifiers & OTHERS:
            self.group.press(KEYS.get(key, key.lower()), "Shift" in modifiers)
