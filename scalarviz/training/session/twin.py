"""A twin of a timeline: a copy of the training that can be looked at while the session goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scalarviz.core.bank import Bank
from scalarviz.training.network.model import Model
from scalarviz.training.session.branches import Clock, copies_of
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer


def copy_at_start(timeline: Timeline, network: Model, clock: Clock, memory: int) -> Timeline:
    """Return an independent timeline on a copy of the network, at a moment of the same branch."""
    trainer, start = timeline.trainer, timeline.branches[0].frames[0].settings
    copied = Trainer(network.copy(), start, trainer.seed)
    twin, branches = Timeline(copied, memory), copies_of(timeline.branches)
    twin.origin = timeline.origin
    twin.take_over(branches, branches[timeline.branches.index(timeline.branch)], clock)
    same = dict(zip(timeline.branches, branches, strict=True))
    twin.stops.marks = tuple(
        mark._replace(branch=same[mark.branch]) for mark in timeline.stops.marks
    )
    return twin


def arrivals(twin: Timeline, steps: Iterable[int]) -> Iterator[tuple[int, Bank | None]]:
    """Go to steps in increasing order; yield each with the bank on arrival, None on the way there.

    A keyframe that is nearer than the present moment is restored.
    """
    for step in steps:
        frame = twin.branch.frame_before(step)
        if frame is not None and frame.step > twin.clock.step:
            twin.restore(step)
        while twin.clock.step < step:
            twin.forward(Clock(min(step, twin.clock.step + max(1, int(twin.pace)))))
            yield step, None
        yield step, twin.trainer.bank
