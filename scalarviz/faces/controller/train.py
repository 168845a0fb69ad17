"""Train in a terminal, with a progress bar or lines of text, and save the session.

The session is saved at the end, at intervals, and after errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import closing as closed_after
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, perf_counter
from typing import Any, final

import numpy as np
from rich.console import Console

from scalarviz.base.checks import number, require, size
from scalarviz.base.interrupt import INTERRUPTED, Stop
from scalarviz.base.limits import check_losses, in_units
from scalarviz.base.messages import say
from scalarviz.base.progress import Bar, Progress, is_seen, words
from scalarviz.base.shell_commands import pasted
from scalarviz.base.texts import plural, text
from scalarviz.errors import FileError, GradientError, ScalarvizError
from scalarviz.faces.controller.precompile import load_kernels
from scalarviz.files.atomic import check_place
from scalarviz.files.checked_safetensors import as_own_path
from scalarviz.files.runs import check_saving
from scalarviz.stage.background import Portions
from scalarviz.stage.data_exhibits import exhibit_of
from scalarviz.stage.show import Several, Show
from scalarviz.training.session.branches import KEYFRAMES
from scalarviz.training.session.measurements import Metrics
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock

FRAME = 1 / 20  # seconds between two updates of the bar
LINES = 10  # lines of progress without a bar


def train(show: object, steps: int | None = None, keep: Autosave | None = None) -> int:
    """Train a session with a progress bar; return the exit code.

    Args:
        show: a Show or a Session
        steps: number of steps; None means the number of steps in the Show
        keep: where and when to save the session; None means not at all

    Returns:
        0, 130 after Ctrl-C, or 1 if the last loss is not finite.

    Raises:
        InputError: if `steps` is not a positive number.
    """
    show, keep = Show.of(show), keep or Autosave()
    end = end_of(show, steps)
    console = Console()
    say(show.title, about(show.session))
    with Stop() as stop:
        start = show.session.step_index
        with keep.kept(show.session), Progress(0):  # suppresses nested bars
            load_kernels(show.session)
            if is_seen(console) and console.encoding.startswith("utf"):  # a bar is supported
                with_bar(show.session, end, keep, stop, console)
            else:
                with_lines(show.session, end, keep, stop)
        failed = bool(why_lost(show.session))
        finish(show, start, end, keep, stop)
    return stop.code or int(failed)


def end_of(show: Show, steps: int | None, least: int = 1) -> int:
    """Return the step at which training will end.

    Args:
        show: the Show to train
        steps: number of training steps; None means the number of steps in the Show
        least: minimum valid number of steps; by default 1
    """
    end = show.session.step_index + steps_of(show, steps, least)
    check_losses(end)
    return end


def about(session: Session) -> str:
    """Return the number of parameters, the optimizer and the engine as one line of text."""
    about = {"optimizer": f"{session.optimizer!r}", "engine": session.engine}
    return text("terminal.about", count=len(session.network.bank), **about)


def with_bar(session: Session, end: int, keep: Autosave, stop: Stop, console: Console) -> None:
    """Train with a progress bar that shows the loss, the speed, and the remaining time."""
    portions = Portions(session)
    with closed_after(Bar(console, is_kept=True)) as bar:
        first, start, drawn = 0, math.inf, -math.inf
        while session.step_index < end and not stop.asked:
            portions.take(end - session.step_index)
            keep.now_and_then(session)
            if session.stopped:
                end = session.step_index
            now = perf_counter()
            if start == math.inf:  # compilation in the first steps does not count
                first, start = session.step_index, now
            if now - drawn > FRAME or session.step_index == end:
                done = session.step_index
                pace = (done - first) / (now - start) if now > start else 0.0
                count = text("progress.count.training", done=done, total=end)
                bar.show(done, end, count, words("steps", session.loss, pace, end - done))
                drawn = now


def with_lines(session: Session, end: int, keep: Autosave, stop: Stop) -> None:
    """Train, and print ten lines of progress after equal numbers of steps."""
    portions, first = Portions(session), session.step_index
    for part in range(1, LINES + 1):
        start, before = perf_counter(), session.step_index
        goal = first + (end - first) * part // LINES
        take_steps(portions, goal, keep, stop)
        if session.step_index > before:
            pace = (session.step_index - before) / (perf_counter() - start)
            loss = f"{session.loss:#.3g}"
            say(text("terminal.line", step=session.step_index, loss=loss, pace=pace))
        if session.stopped:
            break


def take_steps(
    portions: Portions[Session], goal: int, keep: Autosave, stop: Stop, bar: Progress | None = None
) -> None:
    """Train to the step `goal`, or until training is stopped; autosave in between.

    Args:
        bar: progress bar that shows the number of steps taken, or None
    """
    session, first = portions.session, portions.session.step_index
    while session.step_index < goal and not stop.asked:
        portions.take(goal - session.step_index)
        keep.now_and_then(session)
        if bar is not None:
            bar.tell(session.step_index - first, session.loss)
        if session.stopped:
            break


def finish(show: Show, start: int, end: int, keep: Autosave, stop: Stop) -> None:
    """Print the result of training, save the session, and print where."""
    exhibit = exhibit_of(show.session)
    say(*exhibit.words() if exhibit else ())
    say(*[show.session.stopped] if show.session.stopped else ())
    say(closing(show, start, end))
    keep.end(show.session, stop.asked)


def closing(show: Show, start: int, end: int) -> str:
    """Return the result of training as text, with a suggestion what to try next."""
    session = show.session
    branch, step = session.current_branch, session.step_index
    course = text("terminal.closing.nothing")
    learned = step or (session.origin.step if session.origin else 0)
    if learned:  # a loaded or derived session that was only viewed
        course = text("terminal.closing.since", step=learned)
    if step > start:
        first, last = branch.loss_at(start), branch.loss_at(step - 1)
        course = text("terminal.closing.loss", first=first, last=last)
    held_out = Metrics({}, 1).measure(session.trainer, step) if step > start else {}
    for loss in held_out.values():
        course = text("terminal.closing.held_out", course=course, loss=loss)
    taken = plural("counts.steps", step - start)
    if step < end:
        taken = text("terminal.closing.stopped", step=step, end=end)
    more, few = why_lost(session), min(100, -(-(step - start) // 10))
    early, late = (sum(branch.loss_at(k + i) for i in range(few)) for k in (start, step - few))
    if not more and few >= 10 and late > early:  # the loss of a few steps fluctuates
        more = text("terminal.closing.worse", rate=session.learning_rate)
    if show.hint and not more:
        more = text("terminal.closing.next", hint=pasted(show.hint))
    return f"{taken}: {course}. {more}".rstrip()


def why_lost(session: Session) -> str:
    """Return a text that explains why the loss is not finite and since when; "" if it is finite."""
    step = lost_since(session)
    if step is None:
        return ""
    numbers = {"loss": session.losses[step], "rate": session.learning_rate}
    return text("terminal.closing.lost", step=step + 1, **numbers)


# Several sessions on one clock, with their results as text.


def steps_of(shown: Show | Several, steps: int | None, least: int = 0) -> int:
    """Return the number of steps to train: `steps`, or if it is None, the number in the Shows."""
    return int(shown.steps) if steps is None else size(steps, "steps", least)


def train_all(several: Several, steps: int | None) -> int:
    """Train several sessions in lockstep, and print their results; return the exit code."""
    clock, steps = SharedClock(several.sessions), steps_of(several, steps)
    starts = [session.step_index for session in clock.sessions]
    end = clock.step_index + steps
    portions = Portions(clock)
    with Stop() as stop, Progress(steps) as bar:
        while clock.step_index < end and not stop.asked and not clock.halted:
            portions.take(end - clock.step_index)
            bar.tell(steps - (end - clock.step_index), clock.loss)
    if stop.asked:
        return INTERRUPTED
    say(
        *[
            f"{show.title}: {closing(replace(show, hint=''), start, end)}"
            for show, start in zip(several.shows, starts, strict=True)
        ]
    )
    return 0


# Saving at the end, at intervals, and after errors.


@final
class Autosave:
    """Saves a session at the end of training, at intervals, and after errors.

    With a `name`, a session stopped by Ctrl-C is saved even without a path: in the current folder,
    as NAME-stopped.safetensors, NAME-stopped-2.safetensors, ...

    Args:
        path: file to save to; None (default) means no file
        seconds: interval between two saves in seconds; None (default) means only at the end
        name: name of the scene; "" (default) disables saving without a path
        keyframes: maximum bytes of keyframes in a file; None: the default of `Session.save`
        weights: whether to save only the network

    Raises:
        InputError: if seconds or weights are given without a path.
        FileError: if nothing can be saved at the path.
    """

    def __init__(
        self,
        path: Path | None = None,
        seconds: float | None = None,
        name: str = "",
        *,
        keyframes: int | None = None,
        weights: bool = False,
    ) -> None:
        require(path or not weights, "--weights needs a file: add --save net.safetensors")
        require(
            keyframes is None or not weights,
            "--weights saves no keyframes: leave out --keyframes or --weights",
        )
        if seconds is not None:
            number(seconds, "the seconds of --autosave", 0.0, open_low=True)
            require(path, "--autosave needs a file: add --save run.safetensors")
        if path is not None:
            check_place(path)
        self.path = None if path is None else as_own_path(path, "run")
        self.seconds = seconds
        self.keyframes = KEYFRAMES if keyframes is None else size(keyframes, "--keyframes", 0)
        self.weights = weights
        self.name = name
        self._last = monotonic()

    def check(self, session: Session) -> None:
        """Raise an error now if it will not be possible to save the session at the end."""
        if self.path is not None:
            check_saving(session.timeline)

    @property
    def due(self) -> bool:
        """Whether it is time for the next save."""
        return self.seconds is not None and monotonic() - self._last >= self.seconds

    def now_and_then(self, session: Session) -> None:
        """Save if a save is due; report a failure, and try again after the next interval."""
        if self.due:
            try:
                self.now(session)
            except FileError as error:
                say(text("saving.later", why=error))

    def now(self, session: Session) -> None:
        """Save now; raise FileError if that fails."""
        if self.path is not None:
            try:
                self._saved(session, self.path)
            finally:
                self._last = monotonic()

    def _saved(
        self,
        session: Session,
        path: Path,
        how: str = "saved",
        **more: float,
    ) -> str:
        """Save to a file, and return a message about it.

        Args:
            session: the session
            path: the file
            how: key of the message; "thinned" also leaves out the keyframes of past steps
            more: fields of the message
        """
        if self.weights:
            how = "weights"
            with session.doing():
                session.network.save(path)
        else:
            session.save(path, keyframes=0 if how == "thinned" else self.keyframes)
        return text(f"saving.{how}", path=path, size=in_units(path.stat().st_size), **more)

    @contextmanager
    def kept(self, session: Session) -> Iterator[None]:
        """Save the session also after an error in this context.

        After an overflow, the session is saved at a step from which training can continue with a
        smaller learning rate, and the error message says so. After another error, the session is
        saved only if there is a path.
        """
        first = session.step_index
        try:
            yield
        except GradientError as error:
            try:
                saved = self._save_before(session, error.back)
            except ScalarvizError as lack:
                saved = text("saving.nothing", why=lack)
            error.args = (error.lines[0], saved)
            raise
        except Exception:  # saved, then raised again
            if self.path is not None and session.step_index > first:
                self.end(session, True)
            raise

    def _save_before(self, session: Session, back: int | None) -> str:
        """Go back to the step `back`, and save; return a text that explains how to resume."""
        rate = session.learning_rate / 10.0
        if back is not None:
            session.seek(back)
        path = self._place(session, True)
        if path is None:
            return text("saving.begin_again", rate=rate)
        return self._saved(session, path, "saved_before", step=session.step_index, rate=rate)

    def _place(self, session: Session, stopped: bool) -> Path | None:
        """Return the file for saving at the end, or None."""
        if self.path is None and stopped and self.name and session.step_index:
            return unused(f"{self.name}-stopped")
        return self.path

    def end(self, session: Session, stopped: bool) -> None:
        """Save at the end; print the name of the file, or how to save next time."""
        if words := self.at_end(session, stopped):
            say(words)

    def at_end(self, session: Session, stopped: bool) -> str:
        """Save at the end; return a text with the file, or with how to save next time.

        If the loss of the session is not finite, the session first goes back to its smallest loss.
        """
        path = self._place(session, stopped)
        try:
            if lost_since(session) is not None:
                losses = np.where(np.isfinite(session.losses), session.losses, np.inf)
                return self._save_before(session, int(losses.argmin()))  # 0 if none is finite
            if path is not None:
                return self._saved(session, path)
        except ScalarvizError as error:
            if self.path is not None:
                error.args = (*error.lines, *self._saved_elsewhere(session))
                raise
            return text("saving.nothing", why=error)
        return text("saving.how") if stopped and session.trainer.recorded is None else ""

    def _saved_elsewhere(self, session: Session) -> list[str]:
        """Save a session in another folder after its path has failed; return the message.

        If the session is too large for all folders, it is saved without keyframes of past steps.
        """
        for how in ("saved", "thinned"):
            for folder in (Path.cwd, gettempdir):
                with suppress(ScalarvizError, OSError):
                    path = unused(Path(folder(), f"{self.name or 'training'}-kept"))
                    return [self._saved(session, path, how)]
        return []


def autosave_of(given: Mapping[str, Any], name: str = "") -> Autosave:
    """Return the Autosave that corresponds to options of the command line.

    Args:
        given: the options save and autosave, and optionally resume, keyframes and weights
        name: see `Autosave`
    """
    seconds, weights = given["autosave"], given.get("weights", False)
    path = given["save"] or (given.get("resume") if seconds and not weights else None)
    return Autosave(path, seconds, name, keyframes=given.get("keyframes"), weights=weights)


def lost_since(session: Session) -> int | None:
    """Return the first step, from 0, after the last finite loss; None if the loss is finite."""
    here = session.timeline.here
    last = here.branch.losses_between(max(here.clock.step - 1, 0), here.clock.step)
    if np.isfinite(last).all():  # avoids an array of all losses
        return None
    finite = np.isfinite(session.losses)
    return int(np.flatnonzero(finite)[-1]) + 1 if finite.any() else 0


def unused(stem: str | Path) -> Path:
    """Return the path of a file that does not exist yet, with a number appended if necessary."""
    names = (Path(f"{stem}{'' if i == 1 else f'-{i}'}.safetensors") for i in count(1))
    return next(path for path in names if not path.exists())
