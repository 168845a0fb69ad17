"""Progress of long tasks: a bar in a terminal or notebook, and a line for a piped command."""

from __future__ import annotations

import math
import sys
import threading
from contextlib import AbstractContextManager, nullcontext, suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Self, final

from scalarviz.base.interrupt import is_program, uncut
from scalarviz.base.messages import inform
from scalarviz.base.processes import is_worker, shell
from scalarviz.base.texts import text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


DELAY = 1.0  # seconds before a bar appears
FRAME = 0.1  # seconds between updates of a bar
MEGABYTE = 1_000_000
FEW = 10  # units per second; a lower pace is shown with decimals
CLEAR = "\r\x1b[2K\x1b[?25h"  # an empty line and a visible cursor
ACCENT = "#8f6cf0"  # readable on black and white, and not a colour of weights
LOST = (OSError, ValueError)  # raised by a closed terminal, or a closed file

Work = Literal["steps", "pictures", "kernels", "megabytes", "networks", "points"]
ABOVE_OTHERS = ("kernels", "megabytes")  # they replace the bar of the work that waits for them

_running: Progress | None = None


@final
class Progress:
    """Context manager that shows the progress of a long task on standard error or below a cell.

    Args:
        total: total number of units, which can be set later; 0 shows no bar
        wanted: whether to show the progress of this task and of tasks inside it
        unit: "steps", "pictures", "networks", "points", "kernels" (being compiled) or "megabytes"
            (being saved)

    The bar shows the loss, the pace and the remaining time. It appears after DELAY, and is removed
    at the end. If standard error is a file or pipe, a command prints one line instead, with the
    progress and the remaining time. No bar appears in a worker process, outside of the main thread,
    or inside another Progress, except for kernels and megabytes.
    """

    __slots__ = ("_bar", "_due", "_first", "_outer", "_unit", "_wanted", "total")

    def __init__(self, total: int, wanted: bool = True, unit: Work = "steps") -> None:
        self.total, self._wanted, self._unit = total, wanted, unit
        self._outer: Progress | None = None  # the one it replaces
        self._due = math.inf  # time of the next update
        self._first = (math.inf, 0)  # time and count of the first `tell`, after kernels are loaded
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        global _running
        outer = _running
        is_here = threading.current_thread() is threading.main_thread()
        is_above = outer is None or (outer._wanted and self._unit in ABOVE_OTHERS)
        if is_here and is_above:
            _running, self._outer = self, outer
            if outer is not None:
                outer._remove()
            if self._wanted:
                self._begin()
        return self

    def _begin(self) -> None:
        self._due, self._first = perf_counter() + DELAY, (math.inf, 0)

    @property
    def will_be_seen(self) -> bool:
        """Return whether a bar appears if the work takes long."""
        return _running is self and self._wanted and place_of_bars() is not None

    def tell(self, done: int, loss: float = math.nan) -> None:
        """Update the bar if an update is due and the total is known.

        Args:
            done: number of units so far
            loss: the latest loss; NaN (default) if it is unknown
        """
        now = perf_counter()
        if self.total and now < self._first[0]:
            self._first = now, done
        if now >= self._due and done < self.total:
            self._due = now + FRAME
            try:
                self._draw(now, done, loss)
            except LOST:
                self._due = math.inf
                self._remove()

    @uncut  # rich would not write again after an interrupted update
    def _draw(self, now: float, done: int, loss: float) -> None:
        start, before = self._first
        pace = (done - before) / (now - start) if now > start else 0.0
        count = text(f"progress.count.{self._unit}", done=done, total=self.total)
        more = words(self._unit, loss, pace, self.total - done)
        if self._bar is None:
            place = place_of_bars()
            if place is None:
                if pace > 0.0:  # otherwise the remaining time is unknown
                    self._due = math.inf
                    if is_program():
                        inform(f"{count}  {more}")
                return
            self._bar = NotebookBar() if place == "notebook" else Bar(place)
        self._bar.show(done, self.total, count, more)

    def __exit__(self, *error: object) -> None:
        global _running
        if _running is self:
            _running = outer = self._outer
            self._remove()
            if outer is not None and outer._wanted:
                outer._begin()

    @uncut
    def _remove(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            with suppress(*LOST):
                bar.close()


def saving(size: int) -> AbstractContextManager[Progress]:
    """Return the Progress for writing `size` bytes: the current one if it counts megabytes."""
    total = -(-size // MEGABYTE)
    waiting, is_main = _running, threading.current_thread() is threading.main_thread()
    if waiting is not None and is_main and waiting._unit == "megabytes":
        waiting.total = total
        return nullcontext(waiting)
    return Progress(total, unit="megabytes")


class Bar:
    """A progress line drawn by rich, with a count, a bar, a percentage and a text.

    Args:
        console: rich console of a terminal, or None for `NotebookBar`
        is_kept: whether to keep the line at the end
    """

    def __init__(self, console: Console | None, *, is_kept: bool = False) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self.lines = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(complete_style=ACCENT, finished_style=ACCENT),
            TaskProgressColumn(),
            TextColumn("{task.fields[words]}", markup=False),
            console=console,
            auto_refresh=False,  # no thread
            transient=not is_kept,
            redirect_stdout=is_terminal(sys.stdout),  # printed text appears above the bar
        )
        self.task = self.lines.add_task("", words="")
        self.is_shown = False

    def show(self, done: int, total: int, count: str, words: str) -> None:
        """Draw the bar with `done` of `total` filled."""
        self.lines.update(
            self.task, completed=done, total=total, description=count, words=words, refresh=False
        )
        if self.is_shown:
            self.refresh()
        else:
            self.is_shown = True  # before `begin`, which Ctrl-C can interrupt
            self.begin()

    def begin(self) -> None:
        self.lines.start()
        self.lines.console.show_cursor(True)  # a killed process cannot show it again

    def refresh(self) -> None:
        self.lines.refresh()

    def close(self) -> None:
        """Remove the bar, or end its line if it is kept."""
        self.lines.stop()
        file = self.lines.console.file
        if self.lines.live.transient and not self.lines.console.legacy_windows:
            file.write(CLEAR)  # explicitly, since rich does not write after an interrupted print
            file.flush()


@final
class NotebookBar(Bar):
    """A progress bar below the running cell of a notebook, which is empty at the end."""

    def __init__(self) -> None:
        super().__init__(None)
        self.output: Any = None

    def begin(self) -> None:
        from IPython.display import display

        self.output = display(self._line(), display_id=True)  # type: ignore[no-untyped-call]  # of IPython

    def refresh(self) -> None:
        self.output.update(self._line())

    def _line(self) -> Table:
        return self.lines.make_tasks_table(self.lines.tasks)

    def close(self) -> None:
        if self.output is not None:
            self.output.update({"text/html": "", "text/plain": ""}, raw=True)


def place_of_bars() -> Console | Literal["notebook"] | None:
    """Return the console of this terminal, "notebook", or None if a bar would not be visible."""
    if is_worker():
        return None
    if shell() is not None:
        return "notebook"
    from rich.console import Console

    console = Console(stderr=True)
    return console if is_seen(console) else None


def is_seen(console: Console) -> bool:
    """Return whether a console writes to a terminal that can replace text."""
    return is_terminal(console.file) and console.is_terminal and not console.is_dumb_terminal


def is_terminal(file: Any) -> bool:
    """Return whether a file is a terminal; without a console, `file` is None."""
    return hasattr(file, "isatty") and bool(file.isatty())


def words(unit: str, loss: float, pace: float, left: int) -> str:
    """Return loss, pace and remaining time in words.

    Args:
        unit: unit of a `Progress`
        loss: latest loss, or NaN if it is unknown
        pace: units per second, or 0.0 if it is unknown
        left: number of remaining units
    """
    told = [] if math.isnan(loss) else [text("progress.loss", loss=loss)]
    if pace > 0.0:
        said = f"{pace:,.0f}" if pace >= FEW else f"{pace:.2g}"
        told.append(text(f"progress.pace.{unit}", pace=said))
        told.append(text("progress.left", time=duration(left / pace)))
    return "  ".join(told)


def duration(seconds: float) -> str:
    """Return a time such as 0:09, 12:30 or 3:05:00."""
    minutes, rest = divmod(math.ceil(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02}"
    return f"{minutes // 60:,}:{minutes % 60:02}:{rest:02}"
