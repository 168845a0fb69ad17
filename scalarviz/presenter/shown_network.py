"""NetworkReading: the network of a reading as a graphics card draws it, beside what is learned."""

from __future__ import annotations

from typing import final

import numpy as np

from scalarviz.errors import InputError
from scalarviz.errors.messages import inform
from scalarviz.model.program import Program
from scalarviz.network.network import Network
from scalarviz.presenter.live_values import LiveValues
from scalarviz.shaders.live import LiveShader, live_shader
from scalarviz.view.exhibits.exhibit import Exhibit
from scalarviz.view.exhibits.on_card import ShownNetwork
from scalarviz.view.exhibits.pictures import Pictures
from scalarviz.view.exhibits.plane import Plane


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
        network, reads = session.network, ""
        if not network.layers or reading.asleep:
            return None
        if isinstance(exhibit, Plane) and len(exhibit.axes) == 2 and exhibit.inputs_of is not None:
            rest = exhibit.inputs_of(np.array([exhibit.low]))[0]
            reads = session.timeline.trainer.loss.row.logits or ""
        elif isinstance(exhibit, Pictures) and exhibit.fine is not None:
            rest = np.zeros(network.inputs)
        else:
            return None
        shader = self._shader(network)
        if shader is None or network.program is not reading.program:
            return None
        inputs = tuple(rest.tolist())
        values, playing = reading.numbers.value, session.playing
        return ShownNetwork(shader, reading.program, values, inputs, reads, playing)

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
