"""NetworkReading: the network of a reading as a graphics card draws it, beside what is learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.messages import inform
from scalarviz.core.model.program import Program
from scalarviz.errors import InputError
from scalarviz.files.shaders.live import LiveShader, live_shader
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.view.exhibits.exhibit import Exhibit
from scalarviz.pictures.view.exhibits.on_card import Formula, ShownNetwork
from scalarviz.pictures.view.exhibits.pictures import Pictures
from scalarviz.pictures.view.exhibits.plane import Plane
from scalarviz.training.network.network import Network

Inputs = tuple[tuple[float, ...], tuple[Formula, ...], Callable[[FloatArray], FloatArray] | None]


@final
class NetworkReading:
    """The network of one reading, for maps; None where a shader cannot have it."""

    def __init__(self, reading: LiveValues) -> None:
        self._reading = reading
        self._known: tuple[Program | None, LiveShader | None] = (None, None)

    def now(self, exhibit: Exhibit | None) -> ShownNetwork | None:
        """Return the network with the numbers that are shown, for the maps of an exhibit."""
        reading = self._reading
        session = reading.session
        network = session.network
        found = inputs_in(exhibit, network.inputs)
        if found is None or not network.layers or reading.asleep:
            return None
        shader = self._shader(network)
        if shader is None or network.program is not reading.program:
            return None
        reads = session.trainer.loss.row.logits if isinstance(exhibit, Plane) else ""
        rest, formulas, inputs_of = found
        return ShownNetwork(
            shader,
            reading.program,
            reading.numbers.value,
            rest,
            reads or "",
            session.playing,
            formulas,
            inputs_of,
        )

    def _shader(self, network: Network) -> LiveShader | None:
        """Return the text of a network; None, and say why once, if a shader cannot have it."""
        if network.precision.mixed:
            return None  # the engine rounds numbers
        if self._known[0] is not network.program:
            found = None
            try:
                found = live_shader(network)
            except InputError as error:
                why = str(error).partition(": export")[0]
                inform(f"maps are computed by the cpu, since {why}", is_shown=True)
            self._known = network.program, found
        return self._known[1]


def inputs_in(exhibit: Exhibit | None, count: int) -> Inputs | None:
    """Return the inputs of a network over the map of an exhibit; None if it has no map.

    They are those at rest, or formulas of the coordinates with what returns the inputs of points.
    """
    if isinstance(exhibit, Pictures) and exhibit.fine is not None:
        return (0.0,) * count, (), None
    if not isinstance(exhibit, Plane) or exhibit.inputs_of is None:
        return None
    if exhibit.formulas:
        return (), exhibit.formulas, exhibit.inputs_of
    if len(exhibit.axes) != 2:
        return None
    rest = exhibit.inputs_of(np.array([exhibit.low]))[0]
    return tuple(rest.tolist()), (), None
