"""Still: the picture of what no page shows, below a cell, drawn anew when the session has moved."""

from __future__ import annotations

from base64 import b64encode
from time import perf_counter
from typing import Any, final

from scalarviz.base.process.surroundings import shell
from scalarviz.base.texts import text
from scalarviz.base.visible_text import say
from scalarviz.faces.controller.group import Group
from scalarviz.faces.notebook.following import Following
from scalarviz.pictures.draw2d.png import png
from scalarviz.pictures.view.canvas import Canvas

BETWEEN = 0.5  # seconds between two pictures
SHARP = 2.0  # device pixels per pixel


@final
class Still(Following):
    """A picture of sessions that follows them; methods of a session, such as `s.play()`, move them.

    `snapshot()` returns the current picture, `refresh()` draws it anew within a running cell,
    `close()` lets it stay as it is.
    """

    def __init__(self, group: Group, size: tuple[int, int], *, play: bool) -> None:
        super().__init__(group, size)
        self._canvas = Canvas(*size)
        group.stage.silent = True  # nothing in it answers a click
        self._shown: object = None
        self._drawn = 0.0
        self.image()  # without OpenGL there is none
        if play:
            group.play()
        self.begin()

    @property
    def view(self) -> Any:
        """The view of the picture, a ViewBox of vispy: nodes with `parent=view.scene` are drawn."""
        return self.group.lead.stage.picture().scene.view

    def refresh(self) -> None:
        """Draw it anew, at most twice a second."""
        if not self.closed and perf_counter() - self._drawn > BETWEEN:
            self._publish(update=True)

    def let_go(self) -> None:
        self._canvas.close()

    def bundle(self) -> dict[str, Any]:
        return {"text/plain": repr(self), "image/png": b64encode(self.image()).decode()}

    def _details(self) -> dict[str, Any]:
        width, height = self.size
        return {"image/png": {"width": width, "height": height}}

    def show(self) -> None:
        found = shell()
        if found is not None:
            self._cell = found.execution_count
            say(text("notebook.still"))
            self._publish()

    def image(self) -> bytes:
        frames: list[Any] = []
        stage = self.group.stage
        stage.tick(perf_counter())
        self.group.drawing(lambda: frames.append(self._canvas.frame(stage.draw, SHARP)))
        self._shown, self._drawn = self._now(), perf_counter()
        return png(frames[0])

    def _now(self) -> object:
        members = self.group.members
        return [(each.session.timeline.here, each.session.playing) for each in members]

    def attend(self) -> float:
        self.group.attend()
        if self._shown != self._now():
            self.refresh()
        return BETWEEN
