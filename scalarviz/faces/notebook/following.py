"""Following: what stays below a cell and keeps up with sessions until it is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scalarviz.base.process.surroundings import shell
from scalarviz.base.texts import text
from scalarviz.base.visible_text import say
from scalarviz.faces.controller.group import Group
from scalarviz.faces.notebook.place import Shown, loop_of_cells, run_of

AFTER_AN_ERROR = 1.0  # seconds

_open: list[Following] = []


class Following(Shown):
    """What shows the sessions of a group below a cell.

    A class of it has `attend`, which does what is due and returns the seconds until the next time,
    `let_go`, which ends it, and `image`, the bytes of a PNG.
    """

    def __init__(self, group: Group, size: tuple[int, int]) -> None:
        loop = loop_of_cells()
        self.later: Callable[[Callable[[], None]], object] = loop.call_soon_threadsafe
        self._wait = loop.call_later
        self.group, self.size, self.closed = group, size, False
        self._cell_run = run_of(shell())
        for member in group.members:  # the notebook may be closed before they are compiled
            member.await_kernels()

    def begin(self) -> None:
        """Follow from now on, in place of what an earlier run of this cell has shown."""
        _open.append(self)
        cell, run = self._cell_run
        for each in list(_open):
            before = each._cell_run
            if cell and before[0] == cell and before[1] != run:
                each.end()  # the notebook has cleared what is stored of it
        self.later(self._tick)

    def snapshot(self) -> Any:
        """Return the current picture as an image for the notebook; it is drawn by OpenGL."""
        from IPython.display import Image

        image: Any = Image
        return image(self.image(), width=self.size[0], height=self.size[1])

    def close(self) -> None:
        """Leave the present picture in its place; pause what nothing else shows."""
        if not self.closed:
            self._publish(update=True)
            self.end()

    def end(self) -> None:
        """Follow no longer."""
        if self.closed:
            return
        self.closed = True
        _open.remove(self)
        for name in self.group.lead.exports.let_go():
            say(text("notices.still_written", file=name))
        elsewhere = {member.session for each in _open for member in each.group.members}
        if not elsewhere & {member.session for member in self.group.members}:
            self.group.quit()
        self.group.leave()
        self.let_go()

    def attend(self) -> float:
        raise NotImplementedError

    def let_go(self) -> None:
        raise NotImplementedError

    def image(self) -> bytes:
        raise NotImplementedError

    def _tick(self) -> None:
        if self.closed:
            return
        wait = AFTER_AN_ERROR
        try:
            wait = self.attend()
        finally:
            self._wait(wait, self._tick)

    def __repr__(self) -> str:
        state = self.group.state()
        return f"{state.title or text('notebook.training')}, {state.where}"
