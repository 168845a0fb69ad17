"""Curves: what the chart of the losses shows of a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from scalarviz.formulas.metrics import HELD_OUT, LOSS, METRICS
from scalarviz.session.metrics import Series
from scalarviz.texts import text
from scalarviz.view.frame_data import Measured

SHARES = ("accuracy", "binary_accuracy")
MOST = 2  # metrics in a chart


def measured_of(metrics: Mapping[str, Series]) -> Sequence[Measured]:
    """Return the metrics of a session that are drawn, see `drawn_of`."""
    return [
        Measured(name_of(name), is_share(name, metrics), steps.astype(np.float64), values)
        for name in drawn_of(metrics)
        for steps, values in [metrics[name]]
    ]


def drawn_of(metrics: Mapping[str, Series]) -> list[str]:
    """Return the names of the metrics that are drawn, at most two.

    The loss of held-out samples comes first, then a share such as the accuracy, that of held-out
    samples if it is measured, then others.
    """
    plain = [name for name in metrics if HELD_OUT + name not in metrics]
    ranked = sorted(plain, key=lambda name: (name != HELD_OUT + LOSS, not is_share(name, metrics)))
    return ranked[:MOST]


def is_share(name: str, metrics: Mapping[str, Series]) -> bool:
    """Whether a metric is drawn on a scale from 0 to 1: an accuracy, or one of the user's own."""
    plain, values = name.removeprefix(HELD_OUT), metrics[name][1]
    if plain in SHARES:
        return True
    is_own = plain != LOSS and plain not in METRICS
    return is_own and bool(((values >= 0.0) & (values <= 1.0)).all())


def name_of(name: str) -> str:
    """Return what a metric is called in the chart."""
    if name == HELD_OUT + LOSS:
        return text("chart.held_out")
    plain = name.removeprefix(HELD_OUT).replace("_", " ")
    return text("chart.held_out.metric", name=plain) if name.startswith(HELD_OUT) else plain
