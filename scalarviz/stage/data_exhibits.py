"""EXHIBITS: the result plots of sessions, chosen by their data."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any, final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.formulas.losses import Loss
from scalarviz.core.formulas.metric_formulas import is_one_hot, predictions_of
from scalarviz.data import DataSet, Digits, Rgb, Texture, psnr
from scalarviz.data.batches import Pair
from scalarviz.data.data_set import TableSet
from scalarviz.data.plane import PLANE, PlaneSet
from scalarviz.scene.canvas.canvas2d import image_bytes
from scalarviz.scene.exhibits.answers import Answers
from scalarviz.scene.exhibits.classified import Classes, ConfusionMatrix, Sorting
from scalarviz.scene.exhibits.exhibit import Exhibit, mean_error
from scalarviz.scene.exhibits.images import Pictures, Swatches
from scalarviz.scene.exhibits.plots import CORNER_PART, FunctionPlot, Plane, cells
from scalarviz.stage.network_layout import reads_signs
from scalarviz.training.session.reading import (
    TrainingState,
    axis_names,
    class_names,
    output_names,
    side_names,
)
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import check_end

# The plane of a session's data, its samples, and a grid over it.

FAR = 0.15  # minimum distance of samples from a label in a corner, as a fraction of the map
MAP_SIDE = 40  # cells along a map; each picture evaluates their square


@final
@dataclass(frozen=True)
class PlanePoints:
    """Samples in a plane, or on a line along one input.

    Attributes:
        samples: inputs and targets
        points: positions of the samples, shape (samples, 2), in axis units
        low, high: the lower left and the upper right corner of the map
        names: names of the axes
        axes: indices of the inputs used as coordinates; empty if inputs are features of points
        features: function that returns the inputs of points; None if the coordinates are inputs
            themselves and all other inputs are constant
    """

    samples: Pair
    points: FloatArray
    low: FloatArray
    high: FloatArray
    names: tuple[str, ...]
    axes: tuple[int, ...]
    features: Callable[[FloatArray], FloatArray] | None = None

    def grid(self) -> FloatArray:
        """Return the inputs of all cell centers of a map, row by row from the top left."""
        return self.inputs_of(self.low + cells(MAP_SIDE) * (self.high - self.low))

    def inputs_of(self, points: FloatArray) -> FloatArray:
        """Return the network inputs for points of the plane."""
        if self.features is not None:
            return self.features(points)
        inputs = np.repeat(self.samples[0][:1], len(points), axis=0)
        inputs[:, list(self.axes)] = points
        return inputs

    def placed(self, points: FloatArray) -> FloatArray:
        """Return points as fractions of the map; (0, 0) is its lower left corner."""
        return np.asarray((points - self.low) / (self.high - self.low))

    def at(self, inputs: FloatArray) -> FloatArray | None:
        """Return the position of a sample as fractions of the map; None if inputs are features."""
        return self.placed(inputs[list(self.axes)]) if self.axes else None

    def about(self) -> dict[str, Any]:
        """Return the keyword arguments of an exhibit that describe the plane."""
        return {
            "points": self.placed(self.points),
            "names": self.names,
            "axes": self.axes,
            "low": (float(self.low[0]), float(self.low[1])),
            "high": (float(self.high[0]), float(self.high[1])),
            "inputs_of": self.inputs_of,
            "corner": self.free_corner(),
        }

    def free_corner(self) -> tuple[bool, bool] | None:
        """Return the map corner farthest from all samples, as the pair (is right, is upper).

        None if there are few samples, or if one is closer than FAR to the label in that corner.
        """
        found: dict[tuple[bool, bool], float] = {}
        for right, up in product((False, True), repeat=2):
            apart = np.abs(self.placed(self.points) - [right, up]) - CORNER_PART
            found[right, up] = float(np.hypot(*np.maximum(apart, 0.0).T).min())
        best = max(found, key=lambda corner: found[corner])
        return best if found[best] >= FAR and len(self.points) > FEW_WRITTEN else None


def plane_points(data: DataSet, samples: Pair) -> PlanePoints | None:
    """Return the plane that contains the samples of a data set, or None.

    A plane exists for data sets of points in a plane, and for data with exactly two varying inputs.
    """
    inputs, _ = samples
    if isinstance(data, PlaneSet) and data.features:
        points = data.points[: len(inputs)]
        low, high = bounds_of(data, points)
        return PlanePoints(samples, points, low, high, PLANE, (), data.inputs_of)
    varying = varying_inputs(inputs)
    if len(varying) != 2:
        return None
    points, names = inputs[:, varying], axis_names(data)
    low, high = bounds_of(data, points)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(high - low).all():  # too large for a map
            return None
    axes = int(varying[0]), int(varying[1])
    return PlanePoints(samples, points, low, high, (names[axes[0]], names[axes[1]]), axes)


def places_of(
    session: Session | TrainingState, batch: Pair | None, sample: FloatArray, axis: int
) -> PlanePoints | None:
    """Return the plane over which neurons are drawn, or the line along one of several inputs.

    Args:
        batch: the first batch of generated data, or None
        sample: inputs of the shown sample, which fix the other inputs of a line
        axis: index of the input along the line, used if that input varies

    Return None if the data are not known yet, or if no input varies.
    """
    data, here = session.data, (sample[np.newaxis], np.zeros((1, 0)))
    if data.picture_setting:  # inputs are positions in a picture, whose first row is the top
        corners = np.array([0.0, 1.0]), np.array([1.0, 0.0])
        return PlanePoints(here, np.zeros((0, 2)), *corners, ("u", "v"), (0, 1))
    if batch is None and needs_batch(data):
        return None
    samples = samples_of(session, batch)
    plane, varying = plane_points(data, samples), varying_inputs(samples[0])
    if plane is not None or not len(varying):
        return plane
    axis = axis if axis in varying else int(varying[0])
    points, name = samples[0][:, [axis]], axis_names(data)[axis]
    return PlanePoints(here, points, points.min(axis=0), points.max(axis=0), (name,), (axis,))


def held_out_points(
    data: DataSet, plane: PlanePoints, most: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return positions in a plane, inputs and targets of at most `most` held-out samples."""
    if not isinstance(data, TableSet) or data.held_out is None:
        return np.zeros((0, 2)), np.zeros((0, data.inputs)), np.zeros((0, data.outputs))
    inputs, targets = (part[:most] for part in data.held_out)
    if plane.features is not None and isinstance(data, PlaneSet):
        return data.held_out_points[:most], inputs, targets
    return inputs[:, list(plane.axes)], inputs, targets


def varying_inputs(inputs: FloatArray) -> Any:
    """Return the indices of the inputs that vary between samples."""
    return np.flatnonzero(inputs.max(axis=0) > inputs.min(axis=0))


def bounds_of(data: DataSet, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the lower left and the upper right corner of the map."""
    if data.bounds is not None:
        return np.full(2, data.bounds[0]), np.full(2, data.bounds[1])
    low, high = points.min(axis=0), points.max(axis=0)
    with np.errstate(over="ignore"):
        room = 0.1 * (high - low)
        return low - room, high + room


# The exhibit of digits: images sorted by predicted class, and a larger confusion matrix.

SHOWN_DIGITS, SHOWN_WRONG = 80, 12  # number of drawn digits, and of misclassified ones among them
ASKED_DIGITS = 400  # number of classified digits
ASKED_SLOWLY = 100  # number of digits classified by the python engine
DIGIT_PIXELS = 32  # pixels along a side; larger images are reduced


def sorting(ask: Callable[[FloatArray], FloatArray], data: Digits, engine: str) -> Sorting:
    """Return the exhibit of held-out digits, or of training digits without held-out ones."""
    inputs, labels, pictures, shown = some_digits(
        data, ASKED_SLOWLY if engine == "python" else ASKED_DIGITS
    )
    said = np.nan_to_num(np.asarray(ask(inputs)), nan=-np.inf).argmax(axis=1)
    counts = np.zeros((data.outputs, data.outputs), np.int64)
    np.add.at(counts, (labels, said), 1)
    wrong = np.flatnonzero(said != labels)[:SHOWN_WRONG]
    of = "training" if data.held_out is None else "held_out"
    return Sorting(
        pictures[shown],
        labels[shown],
        said[shown],
        ConfusionMatrix(counts),
        of=text(f"exhibits.sorting.of.{of}"),
        names=class_names(data, data.outputs),
        wrong=[(pictures[i], int(labels[i]), int(said[i])) for i in wrong],
    )


def erased(ask: Callable[[FloatArray], FloatArray], inputs: FloatArray) -> FloatArray:
    """Return the outputs for an image, and for the image with each of its pixels erased in turn."""
    rows = np.repeat(inputs[np.newaxis], len(inputs) + 1, axis=0)
    np.fill_diagonal(rows[1:], 0.0)
    return np.asarray(ask(rows), np.float64)


@lru_cache(maxsize=2)
def some_digits(data: Digits, count: int) -> tuple[FloatArray, Classes, FloatArray, Classes]:
    """Return inputs, labels and images of digits, and the indices of the digits to draw."""
    inputs, targets = data.training if data.held_out is None else data.held_out
    inputs, labels = inputs[:count], targets[:count].argmax(axis=1)
    kinds = np.unique(labels)
    each = SHOWN_DIGITS // len(kinds)
    shown = np.sort(np.concatenate([np.flatnonzero(labels == kind)[:each] for kind in kinds]))
    _, height, width = data.shape
    pictures = inputs.reshape(-1, height, width).astype(np.float64)
    return inputs, labels, shrunk(pictures), shown


def shrunk(pictures: FloatArray) -> FloatArray:
    """Return images of shape (n, height, width); large images are reduced by averaging."""
    for _ in ("width", "height"):
        side = pictures.shape[2]
        count = side // -(-side // DIGIT_PIXELS)
        starts = np.arange(count) * side // count
        means = np.add.reduceat(pictures, starts, axis=2) / np.diff(starts, append=side)
        pictures = means.swapaxes(1, 2)
    return pictures


# The table.

FEW_WRITTEN = 8  # maximum samples with written outputs
MOST_SAMPLES = 256  # maximum shown samples
PIXELS, FINE_PIXELS = 64, 512  # maximum pixels along the longer side of an image
PORTION, WHOLE = 4096, 65536  # pixels evaluated at once, in the background and elsewhere
LITTLE = 5e7  # weights times points that take a few milliseconds

Ask = Callable[[FloatArray], FloatArray]  # a network: inputs to outputs


def exhibit_of(
    session: Session | TrainingState,
    ask: Ask | None = None,
    batch: Pair | None = None,
    *,
    fine: bool = False,
) -> Exhibit | None:
    """Return the exhibit of a session, as determined by its data.

    Args:
        session: the session, or its state
        ask: function from inputs to outputs: by default the session's network; or a copy of the
            network, which can be called at any time
        batch: the first batch of generated data, if known
        fine: whether to use full resolution, which may be slow; see `can_be_finer`
    """
    now = TrainingState.of(session)
    ask, data = ask or now.network, now.data
    name = getattr(data, "name", "")
    make = FINE[name] if fine else EXHIBITS.get(name)
    if make is not None:
        return make(ask, data, now.engine)
    if now.loss_function.row.logits:
        ask = with_predictions(ask, now.loss_function)
    samples = samples_of(now, batch)
    if reads_signs(now.network.program) and not is_one_hot(samples[1]):
        return following_signs(ask, samples)
    where = plane_points(data, samples)
    if where is not None:
        return plane(ask, data, where)
    varying = varying_inputs(samples[0])
    if len(varying) == 1:
        return graph(ask, data, samples, int(varying[0]))
    inputs, targets = samples
    names = answer_names(data, targets)
    return Answers(np.asarray(ask(inputs)), targets, names, is_one_hot(targets))


def following_signs(ask: Ask, samples: Pair) -> Answers | None:
    """Return the likeliest next sign of each place whose error counts; None without places."""
    inputs, targets = samples
    if targets.shape[1] % inputs.shape[1]:
        return None
    shape = len(inputs), -1, inputs.shape[1]
    outputs, goals = (np.reshape(each, shape).transpose(0, 2, 1) for each in (ask(inputs), targets))
    counted = goals.any(axis=2)
    return Answers(outputs[counted], goals[counted], [""] * goals.shape[2], sorts=True)


def answer_names(data: DataSet, targets: FloatArray) -> list[str]:
    """Return the names of the outputs or, if targets are one-hot, of the classes."""
    count = targets.shape[1]
    outputs = [*output_names(data)] or [""] * count
    return class_names(data, count) if is_one_hot(targets) else outputs


def with_predictions(ask: Ask, loss: Loss) -> Ask:
    """Return a function like `ask` that also applies the activation of the loss to the outputs."""
    return lambda inputs: predictions_of(loss, ask(inputs))


def can_be_finer(session: Session | TrainingState) -> bool:
    """Return whether `exhibit_of` can return a finer exhibit of a session."""
    return getattr(session.data, "name", "") in FINE and session.engine != "python"


def is_quick(session: Session | TrainingState) -> bool:
    """Return whether the finer exhibit of a session takes only a few milliseconds."""
    points, _, _ = some_pixels(session.data, FINE_PIXELS)
    return len(points) * len(session.network.bank) <= LITTLE


def needs_batch(data: DataSet) -> bool:
    """Return whether the exhibit of a data set needs a batch, since its samples are generated."""
    return getattr(data, "name", "") not in EXHIBITS and not isinstance(data, TableSet)


def samples_of(session: Session | TrainingState, batch: Pair | None = None) -> Pair:
    """Return some training samples of a session."""
    data = session.data
    if isinstance(data, TableSet):
        batch = data.training
    inputs, targets = batch or TrainingState.of(session).batches.at(0)
    return inputs[:MOST_SAMPLES], targets[:MOST_SAMPLES]


def plane(ask: Ask, data: DataSet, where: PlanePoints) -> Plane:
    """Return the exhibit that shows the output or the predicted class over a plane."""
    inputs, targets = where.samples
    others, _, goals = held_out_points(data, where, MOST_SAMPLES)
    sorts = is_one_hot(targets)
    read: Ask = largest if sorts else lambda rows: rows[:, 0]
    wanted = read(targets)
    middle, reach = (0.0, 1.0) if sorts else middle_and_reach(wanted)
    has_sides = targets.shape[1] == 1 and len(np.unique(wanted)) == 2
    return Plane(
        read(ask(where.grid())).reshape(MAP_SIDE, MAP_SIDE),
        middle,
        reach,
        targets=wanted,
        outputs=np.asarray(read(ask(inputs))),
        sorts=sorts or has_sides,
        sides=side_names(data) if has_sides else (),
        classes=class_names(data, targets.shape[1]) if sorts else (),
        tests=where.placed(others),
        test_targets=read(goals),
        **where.about(),
    )


def middle_and_reach(targets: FloatArray) -> tuple[float, float]:
    """Return the middle of the range of the targets, and half its width; 1 if that is zero."""
    least, most = float(targets.min()) / 2.0, float(targets.max()) / 2.0
    return least + most, most - least or 1.0


def largest(rows: FloatArray) -> FloatArray:
    """Return the index of the largest number of each row; NaN if the row has NaN."""
    return np.where(np.isnan(rows).any(axis=1), np.nan, np.argmax(rows, axis=1))


def graph(ask: Ask, data: DataSet, samples: Pair, axis: int) -> FunctionPlot:
    """Return the exhibit that plots the output over one input."""
    inputs, targets = samples
    low, high = float(inputs[:, axis].min()), float(inputs[:, axis].max())
    places = np.repeat(inputs[:1], MAP_SIDE * 4, axis=0)
    places[:, axis] = np.linspace(low, high, len(places))
    points = np.stack([inputs[:, axis], targets[:, 0]], axis=1)
    names = axis_names(data)[axis], (*output_names(data), text("exhibits.axis.output"))[0]
    return FunctionPlot(ask(places)[:, 0], low, high, points, names, axis)


def swatches(ask: Ask, data: Rgb, engine: str) -> Swatches:
    """Return the exhibit of the palette, with inputs, outputs and targets as colors."""
    inputs, targets = data.palette
    return Swatches(inputs, ask(inputs), targets)


def pictures(ask: Ask, data: Texture, engine: str, side: int = PIXELS) -> Pictures:
    """Return the exhibit with output and target as images, at most `side` pixels on a side."""
    points, target, (rows, columns) = some_pixels(data, side)
    output = in_portions(ask, points)
    noise = text("exhibits.pictures.noise", psnr=psnr(output, target))
    said = text("exhibits.pictures.said", noise=noise, count=len(points))
    images = [image_bytes(each.reshape(rows, columns, 3)) for each in (output, target)]
    return Pictures((images[0], images[1]), mean_error(output, target), said)


def in_portions(ask: Ask, points: FloatArray) -> FloatArray:
    """Return the outputs, in portions; background threads use small ones, to leave cores free."""
    size = WHOLE if threading.current_thread() is threading.main_thread() else PORTION
    outputs = []
    for start in range(0, len(points), size):
        check_end()
        outputs.append(np.asarray(ask(points[start : start + size]), np.float64))
    return np.concatenate(outputs)


@lru_cache(maxsize=4)
def some_pixels(data: Texture, side: int) -> tuple[FloatArray, FloatArray, tuple[int, int]]:
    """Return the centers and colors of evenly spaced pixels, and the number of rows and columns."""
    height, width, _ = data.picture.shape
    apart = -(-max(height, width) // side)
    points, colors = [part.reshape(height, width, -1) for part in data.pixels()]
    chosen = (slice(apart // 2, None, apart), slice(apart // 2, None, apart))
    rows, columns, _ = points[chosen].shape
    return points[chosen].reshape(-1, 2), colors[chosen].reshape(-1, 3), (rows, columns)


# Exhibits by the name of a data set: functions of the network, the data and the engine's name.
# Other data sets are shown by their samples, over a plane or as a function, if one or two inputs
# vary.
EXHIBITS: dict[str, Callable[[Ask, Any, str], Exhibit]] = {
    "rgb": swatches,
    "digits": sorting,
    "texture": pictures,
}


# Finer exhibits, by the same names, for a paused session.
FINE: dict[str, Callable[[Ask, Any, str], Exhibit]] = {
    "texture": partial(pictures, side=FINE_PIXELS)
}
