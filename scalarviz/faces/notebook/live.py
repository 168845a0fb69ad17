"""Live: a training in a notebook: picture, controls, and their timer."""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, final

import ipywidgets
import numpy as np
import numpy.typing as npt
from IPython.display import Image

from scalarviz.base.process.surroundings import shell
from scalarviz.base.texts import text
from scalarviz.base.visible_text import say
from scalarviz.errors import InputError
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.group import Group
from scalarviz.faces.controller.keys import name_of
from scalarviz.faces.controller.startup import Opening
from scalarviz.faces.notebook.canvas import LiveCanvas
from scalarviz.faces.notebook.controls import NotebookControls
from scalarviz.faces.notebook.place import Shown, run_of
from scalarviz.faces.notebook.widgets import close
from scalarviz.pictures.draw2d.png import png

FRAME = 1.0 / 40.0  # seconds between updates while visible
UNSEEN = 0.5  # while not visible
LOOKS = 3  # frames between updates of the controls
REST = 0.6  # pause after a picture while training at full speed, relative to the picture's duration
AFTER_AN_ERROR = 1.0
MOST = 12  # hidden pictures that stay open

OF_WINDOWS = [name_of(row.key) for row in CONTROLS.values() if row.window]

_open: list[Live] = []  # all open ones, oldest first


@final
class Live(Shown):
    """The view of a controller, or of a group, in a notebook.

    `snapshot()` returns the current picture, `refresh()` updates it from within a long-running
    cell, `close()` leaves the stored picture in its place. It does not update by itself while a
    cell runs; a playing training continues.
    """

    def __init__(
        self,
        controller: Controller | Group,
        size: tuple[int, int],
        *,
        play: bool,
        tour: bool,
        follow: bool,
    ) -> None:
        group = self.group = Group.of(controller)
        for member in group.members:  # the notebook may be closed before they are compiled
            member.await_kernels()
        self.closed = False
        self._follow = follow  # whether it follows the page's theme
        self._begin: Callable[[], Opening] = lambda: Opening(group, tour, play=play)
        self._opening: Opening | None = None
        self._state: object = None
        self._count = 0
        self._stale = True
        self._sent = 0.0
        self._told = ""  # the last reported error
        self._cell_run = run_of(shell())
        loop = loop_of_cells()
        self._later, self._wait = loop.call_soon_threadsafe, loop.call_later
        self.controls = NotebookControls(group, self._soon)
        calls = self._soon, self._changed, self._show_moment, self._set_light
        self.canvas = LiveCanvas(group, size, *calls)
        group.stage.keys = [row for row in group.stage.keys if row[0] not in OF_WINDOWS]
        group.each("start_editing", lambda name: self.controls.made[name].focus())
        group.each("leave", group.pause)
        group.each("copy_text", self.canvas.copy)
        controls = [] if group.stage.present else [self.controls.box]
        parts = [self.canvas, *controls, self.canvas.errors]
        self.widget = ipywidgets.VBox(parts).add_class("scalarviz")
        self.controls.show_state(group.state())
        _open.append(self)
        make_room(*self._cell_run)
        self._soon(self._tick)

    @property
    def controller(self) -> Controller:
        """The controller of the chosen session."""
        return self.group.lead

    # Public methods.

    def snapshot(self) -> Any:
        """Return the current picture as an image for the notebook."""
        width, height = self.canvas.size
        image: Any = Image
        return image(self._whole_picture(), width=width, height=height)

    @property
    def view(self) -> Any:
        """The view of the picture, a ViewBox of vispy: nodes with `parent=view.scene` are drawn.

        Another scene has another view. `refresh()` draws what was added while nothing moves.
        """
        return self.controller.stage.picture().scene.view

    def refresh(self) -> None:
        """Update the picture within a running cell, at most once per FRAME."""
        if perf_counter() - self._sent > FRAME and not self.closed:
            self.group.stage.tick(perf_counter())
            self.canvas.send_frame(self._newest())
            if not self.group.is_playing:  # else they are shown with the picture
                self.controls.show_state(self.group.state())
            self._sent = perf_counter()

    def close(self) -> None:
        """Leave the stored picture; pause the training unless another picture shows it."""
        if self.closed:
            return
        self.closed = True
        _open.remove(self)
        for name in self.controller.exports.let_go():
            say(text("notices.still_written", file=name))
        if not self._watched_elsewhere:
            self.group.quit()
        self.group.leave()
        close(self.widget)
        self.canvas.release()

    @property
    def _watched_elsewhere(self) -> bool:
        return any(o.shows(self.group) for o in _open if o is not self)

    def shows(self, group: Group) -> bool:
        """Return whether it shows a session of another group."""
        own = [member.session for member in self.group.members]
        return any(member.session is each for member in group.members for each in own)

    def bundle(self) -> dict[str, Any]:
        """Return the picture that the notebook stores."""
        picture = base64.b64encode(self._whole_picture()).decode()
        return {"text/plain": repr(self), "image/png": picture}

    def live(self) -> Any:
        return self.widget

    def _whole_picture(self) -> bytes:
        """Return a complete picture as PNG, however long that takes."""
        stage, before = self.group.stage, self.group.stage.patience
        stage.patience = math.inf
        try:
            return png(self._newest())
        finally:
            stage.patience = before

    def _newest(self) -> npt.NDArray[np.uint8]:
        """Return a picture of the last operation, to which the light jumps."""
        motions = [each.motion for each in self.group.stage.stages]
        before = [motion.cuts for motion in motions]
        try:
            for motion in motions:
                motion.cuts = True
            return self.canvas.get_frame()
        finally:
            for motion, cuts in zip(motions, before, strict=True):
                motion.cuts = cuts

    def __repr__(self) -> str:
        state = self.group.state()
        return f"{state.title or text('notebook.training')}, {state.where}"

    # The timer.

    def _tick(self) -> None:
        """Update everything that has changed, leaving time for training."""
        if self.closed:
            return
        wait = AFTER_AN_ERROR
        try:
            began = perf_counter()
            if self.canvas.views == 0 and self.canvas.seen:
                self._unseen()
            else:
                self._attend(began)
            wait = self._rest(perf_counter() - began)
        finally:
            self._wait(wait, self._guarded(self._tick))

    def _rest(self, spent: float) -> float:
        """Return the seconds until the next update."""
        if not self.canvas.visible:
            return UNSEEN
        rest = REST * self.canvas.spent if self.group.flat_out else 0.0
        return max(FRAME - spent, rest, 0.001)

    def _attend(self, now: float) -> None:
        if self.canvas.visible:
            self._opening = self._opening or self._begin()
            self._opening.attend()
        self.group.attend()
        self.group.drawing(partial(self._refresh, now))

    def _refresh(self, now: float) -> None:
        self._count += 1
        moves = self.group.stage.tick(now)
        plays = self.group.is_playing  # then they are shown with each picture
        if (self._count % LOOKS == 0 and not plays) or not self.canvas.visible:
            state = self.group.state()
            if state != self._state:
                self._state, self._stale = state, True
            self.controls.show_state(state)
        if moves or self._stale or plays:
            self._stale = moves  # what has moved is drawn once more, where it stands at last
            self.canvas.request_draw()

    def _show_moment(self) -> None:
        """While it plays, show below the picture the moment that is drawn next."""
        if self.group.is_playing:
            self.controls.show_state(self.group.state(self.group.stage.read()))

    def _unseen(self) -> None:
        """Its output was removed: pause, or close if another picture shows the session."""
        if self._watched_elsewhere:
            self.close()
        elif self.group.is_playing:
            self.group.pause()

    def _changed(self) -> None:
        self._stale = True

    def _set_light(self, light: bool) -> None:
        if self._follow:
            self.group.stage.theme = "light" if light else "dark"

    def _soon(self, command: Callable[[], None]) -> None:
        self._later(self._guarded(command))

    def _guarded(self, command: Callable[[], None]) -> Callable[[], None]:
        """Return a command that reports its error below the picture, repeated ones once."""

        def guarded() -> None:
            try:
                command()
            except Exception as error:  # the event loop has no caller to raise it to
                said = f"{type(error).__name__}: {error}"
                if said != self._told:
                    self._told = said
                    with self.canvas.errors:
                        raise

        return guarded


def make_room(cell: str, run: int) -> None:
    """Close what an earlier run of this cell has shown, and the oldest hidden pictures."""
    for live in list(_open):
        before = live._cell_run
        if cell and before[0] == cell and before[1] != run:
            live.close()
    unseen = [each for each in _open if each.canvas.views == 0]
    for live in unseen[: max(0, len(_open) - MOST)]:
        live.close()


def loop_of_cells() -> asyncio.AbstractEventLoop:
    """Return the event loop of the thread that runs cells; raise InputError on another thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise InputError(
            "a live picture is made by a cell: call sv.watch there, not on a thread of your own"
        ) from None
