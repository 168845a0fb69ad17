"""PlaneMaps: what each neuron answers over the plane, made again while the session learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.formulas.metrics import predictions_of
from scalarviz.engines.reference import program_forward
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.presenter.throttle import Throttle
from scalarviz.pictures.view.exhibits.exhibit import Exhibit
from scalarviz.pictures.view.exhibits.plane import Plane, cells
from scalarviz.pictures.view.frame_data import NeuronMaps

SIDES = 40, 20  # cells along a map, of small networks at rest; of larger ones, and while it plays
REST = 100.0  # pause after maps while it plays, relative to the time they take
MOST = 120_000  # numbers of all maps together, which take some 20 ms
FAINT = 0.05  # of the strongest map of a line: weaker ones are not made to look like it


@final
class PlaneMaps:
    """The maps of the neurons of one reading; None if its data lie in no plane."""

    def __init__(self, reading: LiveValues) -> None:
        self._reading = reading
        self._throttle = Throttle(REST)
        self._of: Exhibit | None = None
        self._made: NeuronMaps | None = None
        self._played = False  # whether they were made while it played

    def now(self) -> NeuronMaps | None:
        """Return the maps of the numbers that are shown; while it plays, older ones for a time."""
        reading = self._reading
        plane = reading.learned
        if not isinstance(plane, Plane) or plane.inputs_of is None or not reading.has_layers:
            return None
        playing = reading.session.playing
        is_new = plane is not self._of or (self._played and not playing)
        if is_new and not reading.asleep and not (playing and not self._throttle.due):
            with self._throttle.doing():
                self._of, self._made = plane, self._make(plane, SIDES[playing:])
            self._played = playing
        return self._made

    def _make(self, plane: Plane, sides: Sequence[int]) -> NeuronMaps | None:
        reading, program = self._reading, self._reading.program
        size = sum(buffer.size for buffer in program.buffers)
        side = next((side for side in sides if side * side * size <= MOST), 0)
        if not side or plane.inputs_of is None:
            return None
        low, high = np.array(plane.low), np.array(plane.high)
        inputs = plane.inputs_of(low + cells(side) * (high - low))
        found = program_forward(
            program, reading.numbers.value, reading.session.network.bank.state, inputs
        )
        end = program.outputs
        found[end.name] = predictions_of(reading.session.trainer.loss, found[end.name])
        scales = {name: scales_of(values) for name, values in found.items()}
        if end.size == 1 and not plane.classes:  # in the colors of what is learned
            scales[end.name] = np.array([[plane.middle, plane.reach]])
        maps = {name: values.T.reshape(-1, side, side) for name, values in found.items()}
        return NeuronMaps(maps, scales)


def scales_of(values: FloatArray) -> FloatArray:
    """Return the scale of the map of each neuron: zero, and its own largest number."""
    tops = np.abs(np.where(np.isfinite(values), values, 0.0)).max(axis=0, initial=0.0)
    tops = np.maximum(tops, FAINT * tops.max(initial=0.0))
    return np.stack([np.zeros(len(tops)), np.where(tops > 0.0, tops, 1.0)], axis=1)
