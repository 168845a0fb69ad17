"""A fake browser: it sends the messages of a page from another thread, and counts frames."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from tests.patience import HANG

PAGE = {"buttons": [], "modifiers": [], "timestamp": 0.0}


class Browser:
    """A page on which a live canvas stands; all of it speaks on a thread of its own."""

    def __init__(self, canvas: Any) -> None:
        self.canvas = canvas
        self.threads: set[int] = set()  # on which pictures were drawn
        self.frames: list[bytes] = []
        self.copied: list[str] = []  # texts for the clipboard
        canvas.send = self._take
        draw = canvas.get_frame

        def drawn() -> Any:
            self.threads.add(threading.get_ident())
            return draw()

        canvas.get_frame = drawn

    def _take(self, message: Any, buffers: Any = None) -> None:
        if message["type"] == "copy":
            self.copied.append(message["text"])
            return
        self.frames.append(buffers[0])
        feedback = {"index": message["index"], "timestamp": message["timestamp"], "localtime": 0.0}
        self.elsewhere(lambda: setattr(self.canvas, "_frame_feedback", feedback))

    def elsewhere(self, act: Callable[[], object]) -> None:
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()

    def say(self, kind: str, **event: Any) -> None:
        told = {**PAGE, "type": kind, **event}
        self.elsewhere(lambda: self.canvas._rfb_handle_msg(self.canvas, told, []))

    def opens(self, width: float = 400.0, height: float = 300.0, ratio: float = 1.0) -> None:
        self.say("theme", light=True)
        self.say("view")
        self.say("resize", width=width, height=height, ratio=ratio)
        self.elsewhere(lambda: setattr(self.canvas, "_has_visible_views", True))

    def clicks(self, x: float, y: float) -> None:
        self.say("pointer_down", button=1, x=x, y=y)
        self.say("pointer_up", button=1, x=x, y=y)


async def until(true: Callable[[], object], seconds: float = HANG) -> None:
    """Let the kernel do what is due until something is the case."""
    for _ in range(round(seconds / 0.01)):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")
