"""Data for the result plot of a page: inputs to evaluate, how to draw the outputs, metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula_trees import function_tree
from scalarviz.core.formulas.metric_formulas import HELD_OUT, LOSS, is_one_hot
from scalarviz.core.formulas.metric_functions import METRIC_ROWS
from scalarviz.data import DataSet, Digits, Rgb, Texture
from scalarviz.data.batches import Pair
from scalarviz.data.plane import FEATURES, PlaneSet
from scalarviz.pages.bundle import packed
from scalarviz.scene.canvas.canvas2d import image_bytes
from scalarviz.scene.exhibits.plots import CORNER_PART
from scalarviz.stage.curves import drawn_of, measured_of
from scalarviz.stage.data_exhibits import (
    ASKED_DIGITS,
    FEW_WRITTEN,
    PlanePoints,
    answer_names,
    graph,
    held_out_points,
    middle_and_reach,
    needs_batch,
    places_of,
    plane_points,
    samples_of,
    some_digits,
    some_pixels,
    varying_inputs,
)
from scalarviz.stage.network_layout import reads_signs
from scalarviz.training.session.branches import Series
from scalarviz.training.session.measurements import Metrics
from scalarviz.training.session.reading import class_names, output_names, side_names
from scalarviz.training.session.session import Session

SIDE = 24  # cells along a map
MOST_PIXELS = 40_000  # maximum pixels of digits in a page, beside those in columns
DOTS, HELD = 256, 80  # maximum samples on a map, and maximum held-out samples
MOST_NUMBERS = 40_000  # maximum numbers of samples for numeric or class predictions
PIXELS, FINE_PIXELS = 40, 256  # longer side of a learned picture: always, when paused

Made = tuple[dict[str, Any], FloatArray]  # an exhibit, and its inputs


def probe_of(session: Session) -> FloatArray:
    """Return the inputs, shape (samples, inputs), whose outputs the result plot shows."""
    made = exhibit_of(session)
    return made[1] if made is not None else np.zeros((0, session.data.inputs))


def exhibit_data(session: Session) -> dict[str, Any] | None:
    """Return the data for drawing the result plot of a session; None if it has no result plot.

    Args:
        session: session of the page

    The result has these keys, and others that depend on the kind of plot:

    - kind: "swatches" for colors; "plane" for a map over two inputs, or a curve over one;
      "pictures" for a picture and the learned picture; "sorting" for pictures sorted by predicted
      class; "answers" for numbers or classes
    - things: key of the text that names the samples
    - reads: "sigmoid" or "softmax" if the loss applies this function to the outputs, otherwise ""
    - output: name of the buffer that contains the outputs
    - outputs: number of outputs
    """
    made = exhibit_of(session)
    if made is None or reads_signs(session.network.program):
        return None
    return {
        "things": session.data.things,
        **made[0],
        "reads": session.trainer.loss.row.logits or "",
        "output": session.network.program.outputs.name,
        "outputs": session.network.program.outputs.size,
    }


def exhibit_of(session: Session) -> Made | None:
    """Return the data of the result plot that depend on its kind, and the inputs to evaluate."""
    data = session.data
    if session.trainer.recorded is not None:  # the targets are unknown
        return None
    if data.name in EXHIBITS:
        return EXHIBITS[data.name](data)
    inputs, targets = (np.asarray(part, np.float64) for part in samples_of(session))
    plane = plane_points(data, (inputs, targets))
    if plane is not None:
        return plane_of(data, plane)
    varying = varying_inputs(inputs)
    if len(varying) == 1 and not is_one_hot(targets):
        return plane_of(data, curve_points(data, (inputs, targets), int(varying[0])))
    count = max(FEW_WRITTEN, MOST_NUMBERS // inputs.shape[1])
    return {
        "kind": "answers",
        "names": answer_names(data, targets),
        "sorts": is_one_hot(targets),
        "targets": targets[:count].tolist(),
    }, inputs[:count]


def swatches_of(data: Rgb) -> Made:
    """Return a result plot that shows colors next to the predicted and the target colors."""
    inputs, targets = data.palette
    return {
        "kind": "swatches",
        "inputs": inputs.tolist(),
        "targets": targets.tolist(),
    }, np.asarray(inputs)


def curve_points(data: DataSet, samples: Pair, axis: int) -> PlanePoints:
    """Return the positions of samples in a plot of the targets over one input."""
    plot = graph(np.asarray, data, samples, axis)
    low, high = np.stack([(plot.low, plot.high), plot.range()], axis=1)
    return PlanePoints(samples, plot.points, low, high, plot.names, (axis,))


def plane_of(data: DataSet, plane: PlanePoints) -> Made:
    """Return a result plot over the plane of the samples, or a curve over one input."""
    inputs, targets = plane.samples
    count, low, high = targets.shape[1], plane.low, plane.high
    part = (np.arange(SIDE) + 0.5) / SIDE
    across, up = low[0] + part * (high[0] - low[0]), high[1] - part * (high[1] - low[1])
    is_curve, shown = len(plane.axes) == 1, min(len(plane.points), DOTS)
    grid = plane.inputs_of(
        np.linspace(low[:1], high[:1], SIDE**2)
        if is_curve
        else np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    )
    points, others, goals = held_out_points(data, plane, 0 if is_curve else HELD)
    points = np.concatenate([plane.points[:shown], points.reshape(-1, 2)])
    targets = np.concatenate([targets[:shown], goals])
    classes = count if is_one_hot(targets) else 0
    wanted = targets.argmax(axis=1) if classes else targets[:, 0]
    middle, reach = middle_and_reach(wanted)
    title = text("exhibits.plane.one") if count == 1 else text("exhibits.plane.many")
    title = text("exhibits.plane.classes") if classes else title
    return {
        "kind": "plane",
        "title": text("exhibits.plane.curve") if is_curve else title,
        "side": SIDE,
        "names": list(plane.names),
        **where_of(data, plane),
        "classes": classes,
        "classNames": class_names(data, classes),
        "sides": side_names(data),
        **({"things": "dots"} if is_curve else {}),
        "corner": None if is_curve else plane.free_corner(),
        "part": CORNER_PART[0],
        "sorts": bool(classes) or (count == 1 and len(np.unique(wanted)) == 2 and not is_curve),
        "middle": middle,
        "reach": reach,
        "dots": plane.placed(points).tolist(),
        "targets": wanted.tolist(),
        "held": shown,
    }, np.concatenate([grid, inputs[:shown], others])


def where_of(data: DataSet, plane: PlanePoints) -> dict[str, Any]:
    """Return which inputs span a plane, its range, and the values of the other inputs."""
    named = data.features if isinstance(data, PlaneSet) else ()  # else the inputs are coordinates
    return {
        "axes": list(plane.axes),
        "rest": plane.samples[0][0].tolist(),
        "features": [function_tree(FEATURES[name].formula) for name in named],
        "low": plane.low.tolist(),
        "high": plane.high.tolist(),
    }


def places_data(session: Session) -> dict[str, Any] | None:
    """Return the plane or line over which neurons are drawn; a line has the range of each input."""
    data = session.data
    batch = session.trainer.batches.at(0) if needs_batch(data) else None
    places = places_of(session, batch, np.zeros(data.inputs), 0)
    if places is None or len(places.axes) != 1:
        return places and where_of(data, places)
    inputs = samples_of(session, batch)[0]
    low, high = inputs.min(axis=0).tolist(), inputs.max(axis=0).tolist()
    return {**where_of(data, places), "low": low, "high": high}


def pictures_of(data: Texture) -> Made:
    """Return a result plot that compares a picture with the learned picture."""
    points, goals, (rows, columns) = some_pixels(data, PIXELS)
    fine, colors, (high, wide) = some_pixels(data, FINE_PIXELS)
    return {
        "kind": "pictures",
        "size": [columns, rows],
        "fine": [wide, high],
        "target": packed(image_bytes(colors.reshape(high, wide, 3))[..., :3]),
        "goals": packed(image_bytes(goals.reshape(rows, columns, 3))[..., :3]),
        "across": packed(np.asarray(fine[:wide, 0], np.float32)),
        "down": packed(np.asarray(fine[::wide, 1], np.float32)),
    }, np.asarray(points, np.float64)


def sorting_of(data: Digits) -> Made:
    """Return a result plot that sorts pictures of digits by predicted class."""
    inputs, labels, pictures, chosen = some_digits(data, ASKED_DIGITS)
    kept = np.arange(len(labels)) if pictures.size <= MOST_PIXELS else chosen
    return {
        "kind": "sorting",
        "shape": [*data.shape[1:]],
        "pictures": packed(np.rint(255.0 * pictures[kept]).astype(np.uint8)),
        "kept": kept.tolist(),
        "shown": chosen.tolist(),
        "labels": labels.tolist(),
        "names": [*output_names(data)],
        "of": "training" if data.held_out is None else "held_out",
    }, np.asarray(inputs, np.float64)


# The exhibits of data sets by name, as in `presenter.exhibits_of`.
EXHIBITS: dict[str, Callable[[Any], Made]] = {
    "rgb": swatches_of,
    "digits": sorting_of,
    "texture": pictures_of,
}


# Metrics of a page: their values so far, and the data for measuring them in the worker.

NONE: Series = np.zeros(0, np.int64), np.zeros(0)


class MetricData(NamedTuple):
    """The metrics of a page that trains.

    Attributes:
        shown: entry "measured" in the spec of the page, see `measured_data`
        engine: entry "metrics" in the spec of the engine: names, and steps between measurements
        held: bytes of the held-out samples: inputs in the precision of the weights, then targets in
            float64
        left_out: names of metrics that a page cannot measure because they are Python functions
    """

    shown: dict[str, Any]
    engine: dict[str, Any]
    held: bytes
    left_out: tuple[str, ...]


def metric_data(session: Session, loss: Mapping[str, Any]) -> MetricData | None:
    """Return the metrics of a page that trains; None if the session has no metrics.

    Args:
        session: the session
        loss: the loss, as in the result of `caption_data`
    """
    metrics: Metrics | None = session.visits.metrics
    if metrics is None:
        return None
    past, held_out = session.metrics, session.data.held_out
    left_out = tuple(name for name, row in metrics.rows.items() if row not in METRIC_ROWS)
    prefix = "" if held_out is None else HELD_OUT
    names = [prefix + name for name in metrics.rows if name not in left_out]
    if held_out is not None and is_known(loss):
        names.append(HELD_OUT + LOSS)
    drawn = drawn_of({name: past.get(name, NONE) for name in names})
    inputs, targets = held_out if held_out is not None else (np.zeros((0, 0)), np.zeros((0, 0)))
    dtype = np.dtype(session.network.bank.dtype)
    held = np.asarray(inputs, dtype).astype(dtype.newbyteorder("<")).tobytes()
    held += np.asarray(targets, "<f8").tobytes()
    shown = measured_data({name: past.get(name, NONE) for name in drawn})
    engine = {
        "names": [name.removeprefix(HELD_OUT) for name in drawn],
        "every": metrics.every,
        "held": len(inputs),
        "loss": loss,
    }
    return MetricData(shown, engine, held, left_out)


def is_known(loss: Mapping[str, Any]) -> bool:
    """Return whether a page can compute a loss; formulas.js has the same function."""
    if loss["scalar"]:
        return loss["error"]["compute"] is not None
    return loss["name"] in ("softmax_cross_entropy", "negative_log_likelihood")


def measured_data(metrics: Mapping[str, Series]) -> dict[str, Any]:
    """Return the metrics that a page draws, with their values.

    Args:
        metrics: steps and values by name
    """
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
    }
