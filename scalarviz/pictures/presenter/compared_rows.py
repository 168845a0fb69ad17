"""The table of several networks: their losses, how many samples are right, sizes and times."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scalarviz.base.texts import text
from scalarviz.pictures.draw2d.class_colors import class_colors
from scalarviz.pictures.draw2d.colors import to_bytes
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.presenter.captions.format import said
from scalarviz.pictures.presenter.curves import is_share
from scalarviz.pictures.presenter.stage import Stage
from scalarviz.pictures.presenter.why import title_of
from scalarviz.pictures.view.compared import Head

NONE = "–"
# Numbers of classes whose colors the networks have: none is the orange or the blue of signs.
CLASSES = 0, 1, 2, 3, 4, 6
# Columns, and their ranks: where there is little room, those of the highest ranks are left out.
COLUMNS = (
    ("step", 1),
    ("loss", 0),
    ("accuracy", 3),
    ("weights", 5),
    ("time", 6),
    ("value", 2),
    ("gradient", 4),
    ("pinned", 7),
)
PLAIN = 5  # of them are there without a pinned weight, too
TIMES = (1.0, "s"), (1e-3, "ms"), (1e-6, "µs")


def colors_of(count: int, theme: Theme) -> list[str]:
    """Return different colors for so many networks, as "#rrggbb"."""
    colors = class_colors(np.array(CLASSES[:count]), theme.ground)
    return [f"#{bytes(color).hex()}" for color in to_bytes(colors)]


def loss_of(stage: Stage) -> str:
    """Return the loss of the step that is shown."""
    loss = stage.reading.here.loss
    return NONE if math.isnan(loss) else f"{loss:#.3g}"


def accuracy_of(stage: Stage) -> str:
    """Return the last measured share of the samples that are right, else how many are."""
    session, step = stage.session, stage.reading.place[0]
    metrics = session.metrics
    for name in reversed(metrics):
        steps, values = metrics[name]
        known = int(np.searchsorted(steps, step, side="right"))
        if known and is_share(name, metrics):
            return f"{100.0 * values[known - 1]:.3g}%"
    learned = stage.reading.learned
    score = None if learned is None else learned.score()
    return NONE if score is None else text("exhibits.right.short", right=score[0], count=score[1])


def time_of(stage: Stage) -> str:
    """Return the time that a step takes, as measured."""
    seconds = stage.session.timeline.seconds_a_step
    if math.isnan(seconds):
        return NONE
    unit, name = next((each for each in TIMES if seconds >= each[0]), TIMES[-1])
    return f"{seconds / unit:.3g} {name}"


def pinned_of(stage: Stage) -> tuple[str, str, str]:
    """Return the value, the gradient and the name of the pinned weight, if there is one."""
    row, reading = stage.pinned, stage.reading
    if row is None:
        return NONE, NONE, NONE
    numbers = float(reading.numbers.value[row]), float(reading.numbers.grad[row])
    name = title_of(stage.session, reading.program, row)
    return said(numbers[0], 3), said(numbers[1]), name


def heads_of(stages: Sequence[Stage]) -> list[Head]:
    """Return the heads of the columns, those of pinned weights if there are any."""
    pinned = any(stage.pinned is not None for stage in stages)
    columns = COLUMNS if pinned else COLUMNS[:PLAIN]
    return [Head(text(f"compared.head.{name}"), rank) for name, rank in columns]


def cells_of(stage: Stage, heads: Sequence[Head]) -> list[str]:
    """Return what the table says of a stage, in the order of its heads."""
    step, operation = stage.reading.place[:2]
    place = f"{step:,}" + (f" + {operation}" if operation else "")
    weights = f"{len(stage.reading.numbers.value):,}"
    plain = [place, loss_of(stage), accuracy_of(stage), weights, time_of(stage)]
    return [*plain, *pinned_of(stage)][: len(heads)]
