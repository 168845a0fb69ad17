"""Results of a sweep for its picture: means, columns, and thumbnails of networks."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.metric_formulas import is_one_hot, predictions_of
from scalarviz.core.program import NONE, Program
from scalarviz.scene.sweep_panels import (
    CUBES,
    LOSSES,
    MAPS,
    SWATCHES,
    SmallPictures,
)
from scalarviz.stage.data_exhibits import (
    PlanePoints,
    largest,
    middle_and_reach,
    plane_points,
)
from scalarviz.sweeps.results import (
    in_words,
    interquartile_mean,
    plain,
)
from scalarviz.sweeps.sweep import Sweep
from scalarviz.sweeps.tasks import NEVER, Outcome, samples_of
from scalarviz.training.session.session import Session


def means_of(outcome: Outcome) -> FloatArray:
    """Return the interquartile mean of the losses at each check.

    A stopped network counts with its last loss, a failed one as infinite.
    """
    losses = outcome.losses.copy()
    for check in range(1, losses.shape[1]):
        missing = np.isnan(losses[:, check])
        losses[missing, check] = losses[missing, check - 1]
    failed = outcome.failed[:, np.newaxis] != NEVER
    losses[(failed & (outcome.checks > outcome.failed[:, np.newaxis])) | np.isnan(losses)] = np.inf
    mean = interquartile_mean(losses.T)
    return np.where(np.isfinite(mean), mean, np.nan)


def values_in_a_row(sweep: Sweep) -> int:
    """Return the number of values of the last parameter if the settings are a full grid, else 0."""
    names = list(sweep.settings[0])
    if not names:
        return 1
    words = [in_words(plain(setting[names[-1]])) for setting in sweep.settings]
    last = list(dict.fromkeys(words))
    whole = last * -(-len(words) // len(last))
    return len(last) if words == whole[: len(words)] else 0


# Thumbnails of the networks of a setting: their weights, maps, or swatches.

COARSEST = 48  # weights along a side of a wall
# Points of all maps of a sweep, and weights times points: during playback they take tens of
# milliseconds. When paused, both limits are multiplied by AT_REST.
POINTS, WORK, AT_REST = 1e5, 1e7, 10.0
SIDES = 8, 32  # minimum and maximum cells along a map
MOST_SAMPLES = 24  # swatches of a network

Cells = npt.NDArray[np.int64]


@final
class Maker:
    """Creates the thumbnails of one setting, from the weights of its networks.

    Args:
        session: an untrained session of the setting; its network is used to evaluate others
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.samples = getattr(session.data, "palette", samples_of(session)[:2])

    @cached_property
    def cells(self) -> Cells:
        """The bank index shown by each cube; NONE for empty cells."""
        cells = layers_side_by_side(self.session.network.program)
        step = math.ceil(max(cells.shape) / COARSEST)  # larger ones are subsampled
        return cells[::step, ::step]

    @cached_property
    def plane(self) -> PlanePoints | None:
        """The plane that contains the samples, or None."""
        return plane_points(self.session.data, self.samples)

    @cached_property
    def network(self) -> Any:
        """A network that takes the weights of other networks to compute their outputs."""
        own = self.session.network
        network = own.fresh(0)
        return network.to("cpu", own.precision) if self.session.engine == "cpu" else network

    @cached_property
    def kinds(self) -> list[str]:
        """The available kinds of thumbnails."""
        program, targets = self.session.network.program, self.samples[1]
        found = [CUBES, LOSSES]
        if any(operation.state != NONE for operation in program.operations):
            return found  # sweeps do not store running statistics
        if self.plane is not None:
            found.insert(1, MAPS)
        if targets.shape[1] == 3 and targets.min() >= 0.0 and targets.max() <= 1.0:
            found.insert(1, SWATCHES)
        return found

    def make(self, kind: str, values: FloatArray, networks: int, *, playing: bool) -> SmallPictures:
        """Return thumbnails of networks with these weights, as cubes if `kind` is not available.

        Args:
            values: shape (networks, parameters)
            networks: number of networks of the sweep, which are all drawn
            playing: whether the sweep trains, so that maps must be computed quickly
        """
        if kind == MAPS and MAPS in self.kinds:
            classes = is_one_hot(self.samples[1])
            times = (1.0 if playing else AT_REST) / max(networks, len(values))
            side = math.sqrt(times * min(POINTS, WORK / values.shape[1]))
            side = int(min(max(side, SIDES[0]), SIDES[1]))
            return SmallPictures(MAPS, self._maps(values, side), classes)
        if kind == SWATCHES and SWATCHES in self.kinds:
            return SmallPictures(SWATCHES, self._swatches(values))
        known = self.cells != NONE
        found = np.full((len(values), *self.cells.shape), np.nan)
        found[:, known] = values[:, self.cells[known]]
        return SmallPictures(CUBES, found)

    def _outputs(self, values: FloatArray, inputs: FloatArray) -> FloatArray:
        """Return the outputs of each network, shape (networks, samples, outputs)."""
        loss, found = self.session.trainer.loss, []
        for weights in values:
            self.network.bank.value[:] = weights
            found.append(self.network(inputs))
        outputs = np.array(found)
        return predictions_of(loss, outputs.reshape(-1, outputs.shape[2])).reshape(outputs.shape)

    def _swatches(self, values: FloatArray) -> FloatArray:
        inputs, targets = self.samples
        some = np.linspace(0, len(inputs) - 1, min(len(inputs), MOST_SAMPLES)).round()
        rows = some.astype(np.intp)
        outputs = np.clip(self._outputs(values, inputs[rows]), 0.0, 1.0)
        return np.stack([outputs, np.broadcast_to(targets[rows], outputs.shape)], axis=2)

    def _maps(self, values: FloatArray, side: int) -> FloatArray:
        plane, targets = self.plane, self.samples[1]
        assert plane is not None, "it is among the kinds"
        outputs = self._outputs(values, plane.grid(side))
        if is_one_hot(targets):
            return np.array([largest(each) for each in outputs]).reshape(len(values), side, side)
        middle, reach = middle_and_reach(targets[:, 0])
        with np.errstate(over="ignore", invalid="ignore"):
            parts = (outputs[:, :, 0] - middle) / reach
        return np.asarray(parts.reshape(len(values), side, side))


def layers_side_by_side(program: Program) -> Cells:
    """Return the bank indices of all parameters as a grid: layers side by side, centered.

    A perceptron is a row of cells with its bias last, or a column if it has more inputs than its
    layer has perceptrons. Parameters of other kinds fill a square.
    """
    blocks = [block for block in map(block_of, program.operations) if block.size]
    if not blocks:
        return np.full((1, 1), NONE, np.int64)
    height = max(map(len, blocks))
    free = [height - len(block) for block in blocks]
    columns = [
        np.pad(block, ((rows // 2, rows - rows // 2), (0, 1)), constant_values=NONE)
        for block, rows in zip(blocks, free, strict=True)
    ]
    return np.hstack(columns)[:, :-1]  # a gap follows each but the last


def block_of(operation: Any) -> Cells:
    """Return the bank indices of an operation's parameters as a matrix, not wider than high."""
    rows = np.array(operation.parameters, np.int64)
    shape = operation.shape
    if len(shape) == 2 and len(rows) in (shape[0] * shape[1], shape[0] * (shape[1] + 1)):
        weights = rows[: shape[0] * shape[1]].reshape(shape)
        biases = rows[shape[0] * shape[1] :]
        block = np.column_stack([weights, biases]) if len(biases) else weights
        return block if len(block) >= block.shape[1] else block.T
    side = math.ceil(math.sqrt(len(rows)))
    return np.pad(rows, (0, side * side - len(rows)), constant_values=NONE).reshape(side, side)
