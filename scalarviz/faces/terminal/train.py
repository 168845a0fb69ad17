"""Training with a progress bar in a terminal, or with lines of text elsewhere."""

from __future__ import annotations

import math
from contextlib import closing as closed_after
from time import perf_counter

from rich.console import Console

from scalarviz.base.checks import size
from scalarviz.base.interrupt import Stop
from scalarviz.base.limits import check_losses
from scalarviz.base.messages import say
from scalarviz.base.progress import Bar, Progress, words
from scalarviz.base.shell_commands import pasted
from scalarviz.base.texts import plural, text
from scalarviz.faces.controller.autosave import Keep, lost_since
from scalarviz.faces.controller.precompile import load_kernels
from scalarviz.stage.background import Portions
from scalarviz.stage.data_exhibits import exhibit_of, held_out_loss
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session

FRAME = 1 / 20  # seconds from one update of the bar to the next
LINES = 10  # lines of progress without a bar


def train(show: object, steps: int | None = None, keep: Keep | None = None) -> int:
    """Train a session with a progress bar; return the exit code.

    show   a Show or a Session
    steps  number of steps; None: those of the show
    keep   saves the training

    Returns 0, 130 on Ctrl-C, or 1 if the last loss is not finite. Raises InputError if `steps` is
    not a positive number.
    """
    show, keep = Show.of(show), keep or Keep()
    end = end_of(show, steps)
    console = Console()
    say(show.title, about(show.session))
    with Stop() as stop:
        start = show.session.step_index
        with keep.kept(show.session), Progress(0):  # no bars of steps but its own
            load_kernels(show.session)
            if can_draw(console):
                with_bar(show.session, end, keep, stop, console)
            else:
                with_lines(show.session, end, keep, stop)
        failed = bool(why_lost(show.session))
        finish(show, start, end, keep, stop)
    return stop.code or int(failed)


def can_draw(console: Console) -> bool:
    """Return whether the output is a terminal that can position text and show a bar."""
    looking = console.file.isatty() and console.is_terminal and not console.is_dumb_terminal
    return looking and console.encoding.startswith("utf")


def end_of(show: Show, steps: int | None, least: int = 1) -> int:
    """Return the last step of a training.

    steps  number of its steps; None: those of the show
    least  the smallest number that is permitted; by default 1
    """
    steps = show.steps if steps is None else size(steps, "steps", least)
    check_losses(show.session.step_index + steps)
    return show.session.step_index + steps


def about(session: Session) -> str:
    """Return parameters, optimizer and engine in one line."""
    about = {"optimizer": f"{session.optimizer!r}", "engine": session.engine}
    return text("terminal.about", count=len(session.network.bank), **about)


def with_bar(session: Session, end: int, keep: Keep, stop: Stop, console: Console) -> None:
    """Train with a progress bar, the loss, steps a second, and the remaining time."""
    portions = Portions(session)
    with closed_after(Bar(console, is_kept=True)) as bar:
        first, start, drawn = 0, math.inf, -math.inf
        while session.step_index < end and not stop.asked:
            portions.take(end - session.step_index)
            keep.now_and_then(session)
            if session.stopped:
                end = session.step_index
            now = perf_counter()
            if start == math.inf:  # what is compiled at the first steps is no part of the pace
                first, start = session.step_index, now
            if now - drawn > FRAME or session.step_index == end:
                done = session.step_index
                pace = (done - first) / (now - start) if now > start else 0.0
                count = text("progress.count.training", done=done, total=end)
                bar.show(done, end, count, words("steps", session.loss, pace, end - done))
                drawn = now


def with_lines(session: Session, end: int, keep: Keep, stop: Stop) -> None:
    """Train with ten lines of progress, evenly spaced in steps."""
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
    portions: Portions[Session], goal: int, keep: Keep, stop: Stop, bar: Progress | None = None
) -> None:
    """Train to the step `goal`, or until stopped; autosave meanwhile.

    bar  shows how many steps have been taken
    """
    session, first = portions.session, portions.session.step_index
    while session.step_index < goal and not stop.asked:
        portions.take(goal - session.step_index)
        keep.now_and_then(session)
        if bar is not None:
            bar.tell(session.step_index - first, session.loss)
        if session.stopped:
            break


def finish(show: Show, start: int, end: int, keep: Keep, stop: Stop) -> None:
    """Print the result, and where it was saved."""
    exhibit = exhibit_of(show.session)
    say(*exhibit.words() if exhibit else ())
    say(*[show.session.stopped] if show.session.stopped else ())
    say(closing(show, start, end))
    if saved := keep.at_end(show.session, stop.asked):
        say(saved)


def closing(show: Show, start: int, end: int) -> str:
    """Return the result in words, and a hint on what to try next."""
    session = show.session
    branch, step = session.current_branch, session.step_index
    course = text("terminal.closing.nothing")
    learned = step or (session.origin.step if session.origin else 0)
    if learned:  # a kept training, or one that was made of another, that was only looked at
        course = text("terminal.closing.since", step=learned)
    if step > start:
        first, last = branch.loss_at(start), branch.loss_at(step - 1)
        course = text("terminal.closing.loss", first=first, last=last)
    held_out = held_out_loss(session, None) if step > start else None
    if held_out is not None:
        course = text("terminal.closing.held_out", course=course, loss=held_out)
    taken = plural("counts.steps", step - start)
    if step < end:
        taken = text("terminal.closing.stopped", step=step, end=end)
    more, few = why_lost(session), min(100, -(-(step - start) // 10))
    early, late = (sum(branch.loss_at(k + i) for i in range(few)) for k in (start, step - few))
    if not more and few >= 10 and late > early:  # a few steps rise and fall
        more = text("terminal.closing.worse", rate=session.learning_rate)
    if show.hint and not more:
        more = text("terminal.closing.next", hint=pasted(show.hint))
    return f"{taken}: {course}. {more}".rstrip()


def why_lost(session: Session) -> str:
    """Return since when the loss is not finite, and why; "" if it is finite."""
    step = lost_since(session)
    if step is None:
        return ""
    numbers = {"loss": session.losses[step], "rate": session.learning_rate}
    return text("terminal.closing.lost", step=step + 1, **numbers)
