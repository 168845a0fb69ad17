"""Display of a Session: its current operation, its losses, and its settings.

It does not wait for the session's lock, so a playing session is not slowed down.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.pictures.displays.page import never_raises, number_text, table
from scalarviz.pictures.displays.svg import LARGE, LOOK, SMALL, SvgDrawing, image, shorten, width_of
from scalarviz.training.session.branches import means_of

if TYPE_CHECKING:
    from scalarviz.core.model.program import Moment
    from scalarviz.training.session.session import Session

WIDTH = 620.0
MOMENT, HIGH, GAP = 30.0, 14.0, 3.0  # of an operation: largest width, height, and gap
NARROWEST = 3.0
CURVE = 110.0  # height in pixels
POINTS = 600
LOGARITHMIC = 20.0  # ratio of largest to smallest loss from which on the scale is logarithmic
LONGEST = 160  # characters in the table


@never_raises
def session_html(session: Session) -> str:
    """Return the step, the current and next operation, the losses, and a table of settings."""
    timeline, clock = session.timeline, session.timeline.clock
    moments = timeline.trainer.moments
    following = moments[clock.operation].name
    done = moments[clock.operation - 1].name if clock.operation or clock.step else ""
    done = done or text("status.nothing")
    playing = bool(getattr(session, "playing", False))
    losses = np.asarray(session.losses, dtype=float)
    drawing = SvgDrawing()
    drawing.text(0, 13, "Session", LARGE, bold=True)
    place = text(f"displays.session.{'playing' if playing else 'paused'}", step=clock.step)
    drawing.text(width_of("Session", LARGE, bold=True) + 10, 13, place, LARGE)
    loss = text("displays.session.loss", loss=number_text(timeline.loss))
    if np.isnan(timeline.loss) and not len(losses):
        loss = text("chart.none")
    drawing.text(WIDTH, 13, loss, LARGE, anchor="end", bold=True)
    draw_moments(drawing, 46.0, moments, clock.operation)
    words = f"{text('status.done')} {done}", f"{text('status.next')} {following}"
    drawing.text(0, 86, words[0], color=LOOK.quiet)
    drawing.text(width_of(words[0]) + 22, 86, words[1])
    told = draw_losses(drawing, 118.0, losses)
    drawing.reach(WIDTH, drawing.bottom)
    around = {"place": place, "loss": loss, "operations": ", ".join(words)}
    alt = text("displays.session.alt", **around, losses=told)
    return image(drawing, alt) + table(lines(session), head="column")


def lines(session: Session) -> list[tuple[str, str]]:
    """Return the network, the data and the settings of the training."""
    timeline, trainer = session.timeline, session.trainer
    settings, network = trainer.settings, trainer.network
    engine = settings.engine
    if settings.precision.mixed:
        engine = text("displays.session.mixed", engine=engine)
    branches = plural("counts.branches", len(timeline.branches))
    if len(timeline.branches) > 1:
        here = timeline.branch
        fields = {"number": here.number, "name": here.name}
        branches = text("displays.session.branches", branches=branches, **fields)
    size = plural("counts.samples", trainer.batches.size)
    batch = text("displays.session.batch", samples=size, all=settings.data.samples)
    model = repr(network).splitlines()[0].replace("->", "→")
    rate = settings.optimizer.rate(trainer.bank.step_count)
    optimizer = shorten(f"{settings.optimizer!r}", LONGEST)
    if rate != settings.optimizer.lr:
        optimizer = text("displays.session.rate", optimizer=optimizer, rate=number_text(rate))
    if own := len(settings.optimizer.own_rates):
        optimizer = plural("displays.session.own_rates", own, optimizer=optimizer)
    found = {
        "trains": shorten(model, LONGEST),
        "data": shorten(settings.data.describe(), LONGEST).replace("->", "→"),
        "batch": batch,
        "loss": shorten(repr(trainer.loss), LONGEST),
        "optimizer": optimizer,
        "engine": engine,
        "branches": branches,
    }
    return [(text(f"displays.session.row.{name}"), value) for name, value in found.items()]


def draw_moments(drawing: SvgDrawing, y: float, moments: tuple[Moment, ...], now: int) -> None:
    """Draw the operations of a step by phase: completed ones filled, the next one with a rim."""
    wide = max(NARROWEST, min(MOMENT, (WIDTH - 60) / len(moments)))
    x, i = 0.0, 0
    for phase, group in groupby(moments, key=lambda moment: moment.phase):
        count = len(list(group))
        for _ in range(count):
            fill = LOOK.quiet if i < now else LOOK.rim
            rim = LOOK.ink if i == now else None
            drawing.rect(x, y, wide - 2, HIGH, fill, rim=rim, thick=1.6, radius=2.0, kind="moment")
            x, i = x + wide, i + 1
        name = phase.replace("_", " ")
        start = x - count * wide
        drawing.text(start, y - 7, name, SMALL, color=LOOK.quiet)
        x = max(x, start + width_of(name, SMALL)) + 4 * GAP


def draw_losses(drawing: SvgDrawing, y: float, losses: FloatArray) -> str:
    """Draw the loss curve, and return it in words."""
    with np.errstate(invalid="ignore", over="ignore"):
        xs, ys = means_of(losses, max(1, -(-len(losses) // POINTS)))
    finite = ys[np.isfinite(ys)]
    drawing.rect(0, y, WIDTH, CURVE, LOOK.panel[:7], radius=5.0, kind="curve field")
    if not len(finite):
        words = text(f"displays.session.{'infinite' if len(losses) else 'no_losses'}")
        drawing.text(WIDTH / 2, y + CURVE / 2, words, color=LOOK.quiet, anchor="middle")
        return words
    low, high = float(finite.min()), float(finite.max())
    is_log = low > 0 and high / low > LOGARITHMIC
    shares = heights(ys, low, high, is_log)
    steps = xs / max(1, len(losses) - 1)
    for run in runs(shares):
        points = [
            f"{6 + steps[i] * (WIDTH - 12):.1f} {y + 8 + (1 - shares[i]) * (CURVE - 16):.1f}"
            for i in run
        ]
        points = points if len(points) > 1 else points * 2  # a single point is a line of length 0
        drawing.path("M" + "L".join(points), LOOK.ink, thick=1.6, kind="curve")
    label = text(f"displays.session.{'curve' if len(xs) == len(losses) else 'means'}")
    if is_log:
        label = text("displays.session.logarithmic", curve=label)
    drawing.text(WIDTH - 8, y + 16, label, SMALL, color=LOOK.quiet, anchor="end")
    ends = [
        text("displays.session.first", loss=number_text(losses[0])),
        text("displays.session.last", loss=number_text(losses[-1])),
    ]
    at = int(np.nanargmin(finite_or_nan(losses)))
    least = text("displays.session.least", loss=number_text(losses[at]), step=at)
    under = y + CURVE + 17
    drawing.text(0, under, ends[0], SMALL, color=LOOK.quiet)
    drawing.text(WIDTH / 2, under, least, SMALL, color=LOOK.quiet, anchor="middle")
    drawing.text(WIDTH, under, ends[1], SMALL, color=LOOK.quiet, anchor="end")
    count = plural("counts.losses", len(losses))
    return f"{count}: {ends[0]}, {least}, {ends[1]}."


def heights(ys: FloatArray, low: float, high: float, is_log: bool) -> FloatArray:
    """Return heights of losses from 0 to 1; NaN where not finite."""
    ys = finite_or_nan(ys)
    if low == high:
        return np.where(np.isnan(ys), np.nan, 0.5)
    if is_log:
        ys, low, high = np.log(ys), float(np.log(low)), float(np.log(high))
    return np.clip((ys - low) / (high - low), 0.0, 1.0)


def finite_or_nan(losses: FloatArray) -> FloatArray:
    return np.where(np.isfinite(losses), losses, np.nan)


def runs(shares: FloatArray) -> list[list[int]]:
    """Return the stretches of indices without NaN."""
    places = groupby(range(len(shares)), key=lambda i: bool(np.isnan(shares[i])))
    return [list(group) for is_gap, group in places if not is_gap]
