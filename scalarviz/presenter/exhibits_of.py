"""What there is to see of a session, found from its data and its network: numbers, not pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from scalarviz.checks.numbers import FloatArray
from scalarviz.data import DataSet, Rgb, Texture, psnr
from scalarviz.data.base import TableSet
from scalarviz.data.batches import Pair
from scalarviz.draw2d.text_blocks import TextPlate
from scalarviz.layers import Dense, Layer
from scalarviz.model.operations import Operation
from scalarviz.presenter.sorting import sorting
from scalarviz.session.session import Session
from scalarviz.view.exhibits.exhibit import Exhibit
from scalarviz.view.exhibits.graph import FunctionPlot
from scalarviz.view.exhibits.pictures import Pictures
from scalarviz.view.exhibits.plane import Plane
from scalarviz.view.exhibits.swatches import Swatches

SMALL = 2000  # weights; those of a larger network are too many to be looked at one by one
SIDE = 40  # cells of a map, points of a graph: SIDE * SIDE of them are asked at every picture
FEW = 8  # samples whose answers are spelled out
MOST = 256  # samples that are looked at
PIXELS = 64  # along the longer side of a picture


Ask = Callable[[FloatArray], FloatArray]  # a network: inputs to outputs


def exhibit_of(
    session: Session, ask: Ask | None = None, batch: Pair | None = None
) -> Exhibit | None:
    """What is learned, as something to look at; None if there is no way to show it.

    `ask` is the session's network, or a copy of it that can be asked at any time; `batch` is the
    first one of data that code makes, if it is there already.
    """
    ask, data = ask or session.network, session.data
    make = EXHIBITS.get(getattr(data, "name", ""))
    if make is not None:
        return make(ask, data, session.engine)
    samples = samples_of(session, batch)
    varying = np.flatnonzero(np.ptp(samples[0], axis=0) > 0.0)
    if len(varying) == 1:
        return graph(ask, samples, int(varying[0]))
    if len(varying) == 2:
        return plane(ask, data, samples, varying)
    return None


def samples_of(session: Session, batch: Pair | None = None) -> Pair:
    """Some of the samples that a session trains on."""
    data = session.data
    if isinstance(data, TableSet):
        batch = data.training
    inputs, targets = batch or session.course.trainer.batches.at(0)
    return inputs[:MOST], targets[:MOST]


def plane(ask: Ask, data: DataSet, samples: Pair, axes: Any) -> Plane:
    """What the network says over the plane of two inputs; the others stay as they are."""
    inputs, targets = samples
    low, high = bounds_of(data, inputs[:, axes])
    across = low[0] + (np.arange(SIDE) + 0.5) / SIDE * (high[0] - low[0])
    up = high[1] - (np.arange(SIDE) + 0.5) / SIDE * (high[1] - low[1])
    grid = np.repeat(inputs[:1], SIDE * SIDE, axis=0)
    grid[:, axes] = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    least, most = float(targets[:, 0].min()), float(targets[:, 0].max())
    return Plane(
        ask(grid)[:, 0].reshape(SIDE, SIDE),
        middle=(least + most) / 2.0,
        reach=(most - least) / 2.0 or 1.0,
        points=(inputs[:, axes] - low) / (high - low),
        targets=targets[:, 0],
        answers=answers(ask, inputs, targets),
        title="output over the plane" if targets.shape[1] == 1 else "output 0 over the plane",
    )


def bounds_of(data: DataSet, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The lower left and the upper right corner of what is worth showing."""
    if data.bounds is not None:
        return np.full(2, data.bounds[0]), np.full(2, data.bounds[1])
    low, high = points.min(axis=0), points.max(axis=0)
    room = 0.1 * (high - low)
    return low - room, high + room


def answers(ask: Ask, inputs: FloatArray, targets: FloatArray) -> list[str]:
    """A line for each sample, where there are few: inputs, what is said, what should be said."""
    if len(inputs) > FEW:
        return []
    said = ask(inputs)
    return [
        f"{numbers(x, 'g')} -> {numbers(y, '.3f')}, should be {numbers(t, 'g')}"
        for x, y, t in zip(inputs, said, targets, strict=True)
    ]


def numbers(row: FloatArray, style: str) -> str:
    return " ".join(f"{value:{style}}" for value in row.tolist())


def graph(ask: Ask, samples: Pair, axis: int) -> FunctionPlot:
    """What the network says along one input."""
    inputs, targets = samples
    low, high = float(inputs[:, axis].min()), float(inputs[:, axis].max())
    places = np.repeat(inputs[:1], SIDE * 4, axis=0)
    places[:, axis] = np.linspace(low, high, len(places))
    points = np.stack([inputs[:, axis], targets[:, 0]], axis=1)
    title = "output and samples" if targets.shape[1] == 1 else "output 0 and samples"
    return FunctionPlot(ask(places)[:, 0], low, high, points, title)


def swatches(ask: Ask, data: Rgb, engine: str) -> Swatches:
    """The palette: colours that go in, that come out, and that should."""
    inputs, targets = data.palette
    return Swatches(inputs, ask(inputs), targets)


def pictures(ask: Ask, data: Texture, engine: str) -> Pictures:
    """Target and output at the middles of some pixels, and where they differ."""
    points, target, (rows, columns) = some_pixels(data)
    output = ask(points)
    shape = (rows, columns, 3)
    loss = np.clip((output - target) * 0.5 * 10.0 + 0.5, 0.0, 1.0)
    noise = f"{psnr(output, target):.1f} dB"
    shown = {
        "target": target.reshape(shape),
        "output": np.asarray(output, np.float64).reshape(shape),
        "loss: 5 (output - target) + .5": loss.reshape(shape),
    }
    said = f"PSNR {noise} at the middles of {len(points):,} pixels"
    return Pictures(shown, said, title=f"pictures  {said}", aside=noise)


@lru_cache(maxsize=2)
def some_pixels(data: Texture) -> tuple[FloatArray, FloatArray, tuple[int, int]]:
    """The middles of evenly spaced pixels, their colours, and how many rows and columns."""
    height, width, _ = data.picture.shape
    apart = -(-max(height, width) // PIXELS)
    points, colors = [part.reshape(height, width, -1) for part in data.pixels()]
    chosen = (slice(apart // 2, None, apart), slice(apart // 2, None, apart))
    rows, columns, _ = points[chosen].shape
    return points[chosen].reshape(-1, 2), colors[chosen].reshape(-1, 3), (rows, columns)


# What is shown of a data set, by its name: made of the network, the data and the engine's name. Any
# other data set is shown by its samples: over a plane, or as a function, where few inputs vary.
EXHIBITS: dict[str, Callable[[Ask, Any, str], Exhibit]] = {
    "rgb": swatches,
    "digits": sorting,
    "texture": pictures,
}


def held_out_loss(session: Session) -> float | None:
    """The loss on samples that are never trained on; None if there are none."""
    if session.data.held_out is None:
        return None
    inputs, targets = session.data.held_out
    return session.course.trainer.loss(session.network(inputs[:MOST]), targets[:MOST])


def plates_of(session: Session) -> list[TextPlate]:
    """The weights, layer by layer; none if they are too many to look at."""
    network = session.network
    if len(network.bank) > SMALL:
        return []
    layers = getattr(network, "layers", None)
    if layers is None:
        return [expression_plate(network)]
    found = []
    for i, layer in enumerate(layers):
        if isinstance(layer, Dense):
            found.append(plate(session, i, layer))
        else:
            found += [
                plate_of(session, operation, layer)
                for operation in network.program.operations
                if operation.layer == i and operation.parameters
            ]
    return found


def expression_plate(expression: Any) -> TextPlate:
    """The parameters of a compiled expression: one below the other if they are few."""
    values = np.asarray(expression.bank.value[expression.rows], np.float64)
    names = [p.label or f"p{i}" for i, p in enumerate(expression.parameters)]
    about = f"{len(names)} parameters"
    if len(names) <= FEW:
        return TextPlate("values", about, values[:, np.newaxis], np.zeros(0), [""], names)
    return TextPlate("values", about, values[np.newaxis], np.zeros(0), names, [""])


def plate(session: Session, index: int, layer: Layer) -> TextPlate:
    """The numbers of a Dense layer."""
    values = np.asarray(layer.bank.value[layer.rows], np.float64)
    is_last = layer is session.network.layers[-1]
    inputs = numbered(layer.inputs, session.data.input_names if index == 0 else ())
    outputs = numbered(layer.outputs, session.data.output_names if is_last else ())
    weights, biases = np.split(values, [layer.inputs * layer.outputs])
    return TextPlate(
        name=f"layer {index}",
        about=f"{layer.inputs} → {layer.outputs}  {layer.activation}",
        weights=weights.reshape(-1, layer.inputs),
        biases=biases,
        inputs=inputs,
        outputs=outputs,
    )


def numbered(count: int, names: Sequence[str]) -> list[str]:
    """Names for so many neurons; the numbers of those that have none."""
    return [*names[:count], *map(str, range(len(names), count))]


def plate_of(session: Session, operation: Operation, layer: Layer) -> TextPlate:
    """The numbers of an operation: of a norm its gains in a row, and its shifts below them.

    Of a convolution a row is a kernel; the number of a channel stands where its part begins.
    """
    own, shape = operation.parameters, operation.shape
    values = np.asarray(session.network.bank.value[own.start : own.stop], np.float64)
    weights, biases = np.split(values, [prod(shape)])
    sizes = operation.source.size, operation.target.size
    name, kind = f"layer {operation.label}", type(layer).__name__
    about = f"{sizes[0]} → {sizes[1]}  {kind}"
    if len(shape) == 1:
        columns = [str(i) for i in range(shape[0])]
        rows = np.stack([weights, biases]) if len(biases) else weights[np.newaxis]
        return TextPlate(name, about, rows, np.zeros(0), columns, ["gain", "shift"][: len(rows)])
    if len(shape) > 2:
        about = f"{shape[0]} kernels of {' × '.join(map(str, shape[1:]))}  {kind}"
    each = prod(shape[2:])
    columns = [str(i // each) if i % each == 0 else "" for i in range(prod(shape[1:]))]
    outputs = [str(i) for i in range(shape[0])]
    return TextPlate(name, about, weights.reshape(shape[0], -1), biases, columns, outputs)
