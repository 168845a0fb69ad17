"""Metrics of a page: their values up to now, and what its worker needs to measure more of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.metrics import HELD_OUT, LOSS
from scalarviz.pages.packed import packed
from scalarviz.stage.curves import drawn_of, measured_of
from scalarviz.training.session.branches import Series
from scalarviz.training.session.measurements import Metrics
from scalarviz.training.session.session import Session

MOST_LOSSES = 10_000  # from before the page

NONE: Series = np.zeros(0, np.int64), np.zeros(0)


class MetricData(NamedTuple):
    """The metrics of a page that trains.

    shown     part `measured` of the page's spec, see `measured_data`
    engine    part `metrics` of the engine's spec: names, and steps from one measurement to the next
    held      the held-out samples: inputs in the precision of the weights, then targets in float64
    left_out  names of metrics that a page cannot measure: functions in Python
    """

    shown: dict[str, Any]
    engine: dict[str, Any]
    held: bytes
    left_out: tuple[str, ...]


def metric_data(session: Session, loss: Mapping[str, Any]) -> MetricData | None:
    """Return the metrics of a page that trains; None: the session measures none.

    loss  as `loss_data` describes it
    """
    metrics: Metrics | None = session.visits.metrics
    if metrics is None:
        return None
    past, held_out = session.metrics, session.data.held_out
    left_out = tuple(name for name, row in metrics.rows.items() if row.is_own)
    prefix = "" if held_out is None else HELD_OUT
    names = [prefix + name for name in metrics.rows if name not in left_out]
    if held_out is not None and is_known(loss):
        names.append(HELD_OUT + LOSS)
    drawn = drawn_of({name: past.get(name, NONE) for name in names})
    inputs, targets = held_out if held_out is not None else (np.zeros((0, 0)), np.zeros((0, 0)))
    dtype = np.dtype(session.network.bank.dtype)
    held = np.asarray(inputs, dtype).astype(dtype.newbyteorder("<")).tobytes()
    held += np.asarray(targets, "<f8").tobytes()
    now = session.step_index
    engine = {
        "names": [name.removeprefix(HELD_OUT) for name in drawn],
        "every": metrics.every,
        "held": len(inputs),
        "loss": loss,
    }
    shown = measured_data({name: past.get(name, NONE) for name in drawn}, session.losses[:now])
    return MetricData(shown, engine, held, left_out)


def is_known(loss: Mapping[str, Any]) -> bool:
    """Return whether a page can compute a loss; as `isKnownLoss` of formulas.js."""
    if loss["scalar"]:
        return loss["error"]["tree"] is not None
    return bool(loss["name"] == "softmax_cross_entropy")


def measured_data(metrics: Mapping[str, Series], losses: FloatArray) -> dict[str, Any]:
    """Return the metrics that a page draws, with their values, and the losses beside them.

    metrics  steps and values by name
    losses   of the steps from 0 on; of many, some are left out, but not the last one
    """
    apart = -(-len(losses) // MOST_LOSSES)
    kept = np.append(losses[apart - 1 :: apart], losses[-1]) if apart else losses
    return {
        "series": [
            {
                "name": each.name,
                "share": each.share,
                "steps": packed(np.asarray(each.steps, np.float64)),
                "values": packed(np.asarray(each.values, np.float64)),
            }
            for each in measured_of(metrics)
        ],
        "apart": apart,
        "losses": packed(np.asarray(kept, np.float32)),
    }
