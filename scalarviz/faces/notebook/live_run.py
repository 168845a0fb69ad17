"""LiveRun: the page of a followed training run below a cell, also while another cell trains."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, final

from scalarviz.base.messages import say
from scalarviz.base.processes import shell
from scalarviz.base.texts import text
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.notebook import session_display
from scalarviz.faces.notebook.notebook_cells import SIZE, CellOutput, loop_of_cells, run_of
from scalarviz.stage.show import Show
from scalarviz.training.follow.followed import Followed

if TYPE_CHECKING:
    from scalarviz.faces.notebook.page_view import PageView
    from scalarviz.training.follow.following import Following

LATE = 0.2  # seconds after which cells are busy

_waiting: dict[str, LiveRun] = {}  # by the id of its cell


def show_followed(run: Any) -> None:
    """Show a followed run or a record as a live page below the running cell, if in a notebook."""
    if shell() is None:
        say(*repr(run).splitlines())
    elif getattr(run, "is_closed", True) or session_display.missing_packages():
        session_display.watch(Show.of(run), WatchOptions())
    else:
        LiveRun(run).show()


@final
class LiveRun(CellOutput):
    """The page of a training run that may be recorded by a later cell.

    Until the first step, a sentence is shown. While cells run, a thread sends its states. It ends
    with the page, or with a run without steps.
    """

    def __init__(self, run: Following) -> None:
        self._run = run
        self._view: PageView | None = None
        self._words = text("notebook.follow")
        self._cell_of_view = loop_of_cells(), run_of(shell())
        self._key = self._cell_of_view[1][0] or str(id(self))
        _waiting[self._key] = self
        Thread(target=self._work, daemon=True).start()

    def bundle(self) -> dict[str, Any]:
        return {"text/plain": repr(self)} if self._view is None else self._view.bundle()

    def live(self) -> Any:
        return self if self._view is None else self._view.widget

    def _repr_mimebundle_(self) -> dict[str, Any]:
        """Return the sentence that is shown until the first step."""
        return {"text/html": f"<p class='scalarviz-page'>{self._words}</p>"}

    def _work(self) -> None:
        from scalarviz.faces.notebook import page_view

        show, is_over = None, False
        while show is None:
            if _waiting.get(self._key) is not self:
                return  # the cell has run again
            if is_over:
                self._words = text("notebook.follow.none")
                self._publish_live(self, update=True)
                del _waiting[self._key]
                return
            is_over = self._run.is_closed  # then this is the last time
            sleep(LATE)
            with suppress(ScalarvizError, OSError):  # nothing can be shown yet
                if self._run.steps:  # before, the file may have an earlier run
                    show = Show.of(Followed(self._run.path))
        options = WatchOptions(play=True)
        face = options.face(show, "light")
        view = self._view = page_view.PageView(face, SIZE, options, self._cell_of_view)
        self._publish_live(view.widget, update=True)
        view.later(self.renew)  # a picture for readers without a kernel
        while not view.closed:
            sleep(LATE)
            if perf_counter() - view.attended > LATE:
                view.push()

    def __repr__(self) -> str:
        return self._words if self._view is None else repr(self._view)
