"""The function of each neuron of a session over all inputs, computed while it learns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.program import NONE, Operation
from scalarviz.core.trace_program import Chain, TraceProgram, chain_of
from scalarviz.scene.exhibits.plots import cells
from scalarviz.scene.frame_data import NeuronMaps
from scalarviz.stage.background import Refreshed
from scalarviz.stage.data_exhibits import PlanePoints, places_of
from scalarviz.stage.live_values import LiveValues
from scalarviz.story.facts import Neuron
from scalarviz.training.network.model import Model
from scalarviz.training.session.reading import TrainingState
from scalarviz.training.session.session import Session

SIDES = 32, 16, 8  # cells along a map: the first one at which all maps take a few milliseconds
MOST = 1e8  # maximum products of all maps together; a neuron costs as much as KEPT of them
KEPT, SLOWER = 50, 20  # and relative cost of the python engine
APART = 0.2  # minimum seconds between maps during playback


@final
class SessionMaps:
    """The maps of all neurons of a session, for its current numbers."""

    def __init__(self, reading: LiveValues) -> None:
        self._reading = reading
        self._axis = 0  # the input of curves
        self._places: PlanePoints | None = None
        self._maps: Refreshed[NeuronMaps | None] = Refreshed(None, APART)

    def now(self, chosen: Neuron | None = None) -> NeuronMaps | None:
        """Return the maps for the shown numbers; during playback, possibly older ones.

        Args:
            chosen: a neuron, or None; an input becomes the axis over which curves are drawn

        Return None if the data have no positions, or if the network is too large.
        """
        reading, now, sample = self._reading, self._reading.now, self._reading.shown_inputs
        if sample is None:
            return None
        if chosen is not None and chosen[0] == reading.program.inputs.name:
            self._axis = chosen[1]
        numbers = reading.numbers.value, reading.numbers.state, sample
        of = now.data, reading.program, self._axis, *(each.tobytes() for each in numbers)
        maps = (
            self._maps.value
            if reading.asleep
            else self._maps.get(None, of, partial(self._make, sample), may_wait=now.playing)
        )
        if maps is None or self._places is None:
            return None
        return replace(maps, dot=self._places.at(sample))

    def _make(self, sample: FloatArray) -> NeuronMaps | None:
        reading, now = self._reading, self._reading.now
        batch = reading.answers["first"].value  # of generated data, once an exhibit requested it
        self._places = places = places_of(now, batch, sample, self._axis)
        side = side_of(now.network)
        if places is None or not side:
            return None
        is_plane = len(places.low) == 2
        points = cells(side) if is_plane else np.linspace(0.0, 1.0, 2 * side)[:, np.newaxis]
        inputs = places.inputs_of(places.low + points * (places.high - places.low))
        found = surveyed(reading.copy, inputs)
        shape = (-1, side, side) if is_plane else (-1, 1, 2 * side)
        maps = {name: numbers.reshape(shape) for name, numbers in found.items()}
        value = reading.numbers.value
        paints = {each.source.name: weights_of(each, value) for each in painting(now)}
        return NeuronMaps(maps, not is_plane, paints=paints)


def side_of(network: Model) -> int:
    """Return the number of cells on a side of each map; 0 if even the smallest map is too slow."""
    cost = max(network.program.products, KEPT * sum(buffers_of(network).values()))
    cost *= SLOWER if network.engine == "python" else 1
    return next((side for side in SIDES if side * side * cost <= MOST), 0)


def layers_in(network: Model) -> Chain | None:
    """Return the layers of an expression that is a network made of Values; None for others."""
    program = network.program
    return chain_of(program, network.all_walls) if isinstance(program, TraceProgram) else None


def buffers_of(network: Model) -> dict[str, int]:
    """Return the sizes of the buffers that `surveyed` returns, by name."""
    program, chain = network.program, layers_in(network)
    if chain is not None:
        return {name: len(places) for name, places in chain.places.items()}
    return {} if program.is_graph else {each.name: each.size for each in program.buffers}


def surveyed(network: Model, inputs: FloatArray) -> dict[str, FloatArray]:
    """Return the values of all neurons for some inputs, by buffer, shape (neurons, samples)."""
    found, chain = network.survey(inputs), layers_in(network)
    if chain is not None:
        return chain.numbers(found["values"].T)
    return {name: found[name].T for name in buffers_of(network)}


def painting(session: Session | TrainingState) -> list[Operation]:
    """Return a list of the last affine operation if its outputs are colors, otherwise []."""
    weighted = [each for each in session.network.program.operations if each.weights != NONE][-1:]
    is_color = session.data.output_tint == "rgb"
    return [each for each in weighted if is_color and each.kind == "affine"]


def weights_of(operation: Operation, value: FloatArray) -> FloatArray:
    """Return the weights of an operation as an array of shape (inputs, outputs)."""
    shape = operation.target.size, operation.source.size
    return value[operation.weights :][: shape[0] * shape[1]].reshape(shape).T
