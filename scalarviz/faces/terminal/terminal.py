"""Watching a session in a terminal, and stepping through it by keys.

    session = sv.Session(network, data, "mse", sv.SGD(0.5), batch=8)
    watch(session)

The picture only reads the session; keys call the session's methods.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter, sleep
from typing import Any, final

from rich.console import Console, RenderableType
from rich.live import Live

from scalarviz.base.process.interrupt import Stop
from scalarviz.base.progress import Progress
from scalarviz.base.texts import text
from scalarviz.base.visible_text import LONGEST_LINE, visible
from scalarviz.faces.controller.autosave import Keep
from scalarviz.faces.controller.warming import Compiling, kinds_of
from scalarviz.faces.terminal.keys import Keys, NoKeys, keyboard
from scalarviz.faces.terminal.picture import TerminalFrame, picture
from scalarviz.faces.terminal.train import can_draw, closing, end_of, train
from scalarviz.pictures.export.rate import FRAME, Pace
from scalarviz.pictures.presenter.captions.strip import cells_of
from scalarviz.pictures.presenter.exhibits_of import exhibit_of, held_out_loss
from scalarviz.pictures.presenter.show import Show
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.session import Session

DRAWING = 1 / 4  # largest share of the time spent on drawing
HANDLE = ("step", "operation", "rate", "reset", "leave")


def watch(
    show: object,
    steps: int | None = None,
    speed: float | None = None,
    keep: Keep | None = None,
    *,
    play: bool | None = None,
) -> int:
    """Train a session with a live picture in the terminal; return the exit code.

    show   a Show or a Session
    steps  number of steps; None: those of the show
    speed  steps a second, 0 for as fast as possible; None: the speed of the show
    keep   saves the training
    play   False: start paused, and leave at once where there is no keyboard

    Returns 0, or 130 after Ctrl-C. Raises InputError for an invalid option.
    """
    show, keep = Show.of(show), keep or Keep()
    pace, end = Pace(show, speed), end_of(show, steps)
    console = Console()
    if not can_draw(console):
        return train(show, steps, keep)
    return TerminalSession(show, pace, end, console, keep, paused=play is False).run()


@final
class TerminalSession:
    """Shows a session on the alternate screen of a terminal."""

    def __init__(
        self,
        show: Show,
        pace: Pace,
        end: int,
        console: Console,
        keep: Keep,
        *,
        paused: bool = False,
    ) -> None:
        self.show = show
        self.session = show.session
        self.pace = pace
        self.end = end
        self.console = console
        self.keep = keep
        self.start = self.session.step_index
        self.paused = paused
        self.leave = False
        self.suspend = False
        self.keys: Keys = NoKeys()

    def run(self) -> int:
        """Run until the last step, or until the user quits; return the exit code."""
        compile_kernels(self.session, self.console)
        if not self.paused:
            warm_up(self.session, self.end)
        with Stop() as stop, Progress(0, wanted=False):  # no bars in the picture
            while not self.leave:
                self.suspend = False
                if not self.paused:
                    self.pace.start()
                screen = Live(console=self.console, screen=True, auto_refresh=False)
                with self.keep.kept(self.session), screen as live, keyboard() as self.keys:
                    self.go(live, stop)
                rate = self.pace.rate
                if not self.paused:
                    self.pace.stop()
                if self.suspend:
                    stop_here()
            height = self.console.height - 3  # leaves room for the closing lines and the prompt
            moment = replace(self.moment(""), speed=rate)
            last = picture(moment, self.console.width, height)
            self.console.print(last, height=height)
            self.tell(closing(self.show, self.start, self.end))
            self.tell(self.keep.at_end(self.session, stop.asked))
        return stop.code

    def tell(self, line: str) -> None:
        if line:
            self.console.print(visible(line, LONGEST_LINE), highlight=False, markup=False)

    def go(self, live: Live, stop: Stop) -> None:
        """Loop: draw, handle keys, train; twenty frames a second, fewer if drawing is slow."""
        while not (self.leave or self.suspend):
            began = perf_counter()
            if not self.paused:
                self.pace.measure()
            live.update(self.picture(), refresh=True)
            for key in self.keys.read():
                self.obey(key)
            at_end = self.session.step_index >= self.end
            done = not self.keys.there if self.paused else at_end
            self.leave = self.leave or stop.asked or done
            drawn = perf_counter()
            if not (self.paused or self.leave or self.suspend):
                self.pace.take(max(began + FRAME, drawn + (drawn - began) / DRAWING), self.end)
                self.keep.now_and_then(self.session)
            sleep(max(0.0, began + FRAME - perf_counter()))

    def obey(self, key: str) -> None:
        """Execute the command of a key."""
        verbs: dict[str, Callable[[Session], None]] = {
            "right": lambda s: s.advance(1),
            "left": lambda s: s.back(1),
            ".": lambda s: s.advance(1, "operation"),
            ",": lambda s: s.back(1, "operation"),
            "r": lambda s: s.reset(),
        }
        if key == "q":
            self.leave = True
        elif key == "suspend":
            self.suspend = True
        elif key == "space":
            self.pause(not self.paused)
        elif key in ("up", "down"):
            self.session.learning_rate *= 2.0 if key == "up" else 0.5
        elif key in verbs:
            self.pause(True)
            verbs[key](self.session)

    def pause(self, paused: bool) -> None:
        """Pause or continue."""
        if paused and not self.paused:
            self.pace.stop()
        elif self.paused and not paused:
            self.end = max(self.end, self.session.step_index + 1)
            self.pace.start()
        self.paused = paused

    def picture(self) -> RenderableType:
        """Return the current picture."""
        moment = self.moment(self.note())
        return picture(moment, *self.console.size)

    def note(self) -> str:
        """Return the reason for the speed; in a pause, the current operation."""
        if not self.paused:
            return self.pace.note
        done = self.session.done or text("status.nothing")
        return text("terminal.paused", done=done, next=self.session.next)

    def handle(self) -> tuple[str, ...]:
        """Return the help on keys."""
        if not self.keys.there:
            return (text("terminal.keys.stop"),)
        space = text(f"terminal.keys.{'go_on' if self.paused else 'pause'}")
        return (space, *(text(f"terminal.keys.{name}") for name in HANDLE))

    def moment(self, note: str) -> TerminalFrame:
        """Return what the picture shows of the session now."""
        session = self.session
        with session.doing():
            told = self.operations(note)
            return TerminalFrame(
                title=self.show.title,
                step=session.step_index,
                steps=self.end,
                losses=session.losses,
                speed=self.pace.rate,
                learning_rate=session.learning_rate,
                epoch=session.epoch,
                engine=session.engine,
                exhibit=None if told else exhibit_of(session),  # the caption takes its place
                held_out=held_out_loss(session),
                note=note,
                keys=self.handle(),
                **told,
            )

    def operations(self, note: str) -> dict[str, Any]:
        """Return the strip and the caption, in a pause; nothing for the picture that stays."""
        session = self.session
        if not (self.paused and note) or session.clock == Clock():
            return {}
        done = session.clock.operation or len(session.operations)
        cells = cells_of(session.network.program, session.timeline.here.moments)
        return {"strip": cells, "current": done, "caption": session.caption()}


def stop_here() -> None:
    """Suspend the process as Ctrl-Z does; `fg` continues."""
    if sys.platform != "win32":
        os.kill(0, signal.SIGTSTP)


def compile_kernels(session: Session, console: Console) -> None:
    """Compile all kernels that the session needs, with a status line."""
    compiling = Compiling()
    try:
        if compiling.lacking(kinds_of(session)):
            with console.status("") as status:
                while compiling.going_on:
                    status.update(compiling.said)
                    sleep(FRAME)
    finally:
        compiling.stop()


def warm_up(session: Session, end: int) -> None:
    """Load everything that a step and a picture need, before the screen is switched."""
    if session.engine != "python" and session.step_index < end:
        exhibit_of(session)
        session.advance(1)
