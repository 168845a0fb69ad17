"""Training several sessions on one clock, with their results in words."""

from __future__ import annotations

from dataclasses import replace

from scalarviz.base.checks import size
from scalarviz.base.interrupt import Stop
from scalarviz.base.messages import say
from scalarviz.base.progress import Progress
from scalarviz.faces.terminal.train import closing
from scalarviz.stage.background import Portions
from scalarviz.stage.show import Several
from scalarviz.training.session.shared_clock import SharedClock

INTERRUPTED = 130


def steps_of(several: Several, steps: int | None, least: int = 0) -> int:
    """Return how many steps several sessions take; None: as many as their shows say."""
    taken: int = several.steps if steps is None else size(steps, "steps", least)
    return taken


def train_all(several: Several, steps: int | None) -> int:
    """Train several sessions on one clock, and print their results; return the exit code."""
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
