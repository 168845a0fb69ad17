"""What small pictures of the networks of a setting show: their weights, maps, or swatches."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.metrics import predictions_of
from scalarviz.core.program import NONE, Program
from scalarviz.pictures.presenter.exhibits_of import is_one_hot, largest
from scalarviz.pictures.presenter.plane_points import PlanePoints, plane_points
from scalarviz.pictures.view.exhibits.plane import cells as cells_of_a_map
from scalarviz.pictures.view.sweep_networks import CUBES, LOSSES, MAPS, SWATCHES, SmallPictures
from scalarviz.sweeps.tasks import samples_of
from scalarviz.training.session.session import Session

COARSEST = 48  # weights along a side of a wall
# Points of all maps of a sweep, and weights times points: while it plays they take some tens of
# milliseconds. At rest they are so many times as many.
POINTS, WORK, AT_REST = 1e5, 1e7, 10.0
SIDES = 8, 32  # cells along a map, at least and at most
MOST_SAMPLES = 24  # swatches of a network

Cells = npt.NDArray[np.int64]


@final
class Maker:
    """Makes the small pictures of one setting, from the weights of its networks.

    session  a session of the setting, untrained; its network is used to evaluate others
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.samples = samples_of(session)
        self.samples = getattr(session.data, "palette", self.samples)

    @cached_property
    def cells(self) -> Cells:
        """The row of the bank that each cube shows, NONE for empty cells."""
        return coarser(layers_side_by_side(self.session.network.program))

    @cached_property
    def plane(self) -> PlanePoints | None:
        """The plane in which the data lie."""
        return plane_points(self.session.data, self.samples)

    @cached_property
    def network(self) -> Any:
        """A network that evaluates others, by their weights."""
        own = self.session.network
        network = own.fresh(0)
        return network.to("cpu", own.precision) if self.session.engine == "cpu" else network

    @cached_property
    def kinds(self) -> list[str]:
        """The kinds of pictures that there can be."""
        program, targets = self.session.network.program, self.samples[1]
        found = [CUBES, LOSSES]
        if any(operation.state != NONE for operation in program.operations):
            return found  # running statistics are not kept by sweeps
        if self.plane is not None:
            found.insert(1, MAPS)
        if targets.shape[1] == 3 and targets.min() >= 0.0 and targets.max() <= 1.0:
            found.insert(1, SWATCHES)
        return found

    def make(
        self, kind: str, values: FloatArray, networks: int = 1, *, playing: bool = False
    ) -> SmallPictures:
        """Return pictures of networks with these weights; cubes if there are none of this kind.

        values    shape (networks, parameters); without rows if weights are not known
        networks  number of networks of the sweep, all of which are drawn
        playing   whether the sweep trains, so that maps have to be quick
        """
        if not len(values) or kind == LOSSES:
            return SmallPictures(LOSSES)
        if kind == MAPS and MAPS in self.kinds:
            classes = is_one_hot(self.samples[1])
            times = (1.0 if playing else AT_REST) / max(networks, len(values))
            side = math.sqrt(times * min(POINTS, WORK / values.shape[1]))
            side = int(min(max(side, SIDES[0]), SIDES[1]))
            return SmallPictures(MAPS, parts=self._maps(values, side), classes=classes)
        if kind == SWATCHES and SWATCHES in self.kinds:
            return SmallPictures(SWATCHES, swatches=self._swatches(values))
        known = self.cells != NONE
        found = np.full((len(values), *self.cells.shape), np.nan)
        found[:, known] = values[:, self.cells[known]]
        return SmallPictures(CUBES, cells=found)

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
        points = plane.low + cells_of_a_map(side) * (plane.high - plane.low)
        outputs = self._outputs(values, plane.inputs_of(points))
        if is_one_hot(targets):
            classes = np.array([largest(each) for each in outputs])
            return classes.reshape(len(values), side, side)
        least, most = float(targets[:, 0].min()), float(targets[:, 0].max())
        reach = most / 2.0 - least / 2.0 or 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            parts = (outputs[:, :, 0] - (least / 2.0 + most / 2.0)) / reach
        return np.asarray(parts.reshape(len(values), side, side))


def layers_side_by_side(program: Program) -> Cells:
    """Return the rows of all parameters, layer beside layer, in the middle of the height.

    A row of cells is a perceptron with its bias last, or a column if it has more inputs than its
    layer has perceptrons. Parameters of other kinds fill a square.
    """
    blocks = [block for block in map(block_of, program.operations) if block.size]
    if not blocks:
        return np.full((1, 1), NONE, np.int64)
    height = max(len(block) for block in blocks)
    columns: list[Cells] = []
    for block in blocks:
        place = (height - len(block)) // 2
        whole = np.full((height, block.shape[1] + 1), NONE, np.int64)  # a gap behind it
        whole[place : place + len(block), :-1] = block
        columns.append(whole)
    return np.hstack(columns)[:, :-1]


def block_of(operation: Any) -> Cells:
    """Return the rows of an operation's parameters as a matrix, higher than wide."""
    rows = np.array(operation.parameters, np.int64)
    shape = operation.shape
    if len(shape) == 2 and len(rows) in (shape[0] * shape[1], shape[0] * (shape[1] + 1)):
        weights = rows[: shape[0] * shape[1]].reshape(shape)
        biases = rows[shape[0] * shape[1] :]
        block = np.column_stack([weights, biases]) if len(biases) else weights
        return block if len(block) >= block.shape[1] else block.T
    side = math.ceil(math.sqrt(len(rows)))
    whole = np.full(side * side, NONE, np.int64)
    whole[: len(rows)] = rows
    return whole.reshape(side, side)


def coarser(cells: Cells) -> Cells:
    """Return every so many of the cells of a picture that has too many of them."""
    step = math.ceil(max(cells.shape) / COARSEST)
    return cells[::step, ::step]
