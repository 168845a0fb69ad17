"""NetworkReading: the network of a reading as a graphics card draws it, beside what is learned."""

from __future__ import annotations

from typing import final

from scalarviz.base.messages import inform
from scalarviz.core.model.program import Program
from scalarviz.errors import InputError
from scalarviz.files.shaders.live import LiveShader, live_shader
from scalarviz.pictures.presenter.live_values import LiveValues
from scalarviz.pictures.view.exhibits.exhibit import Exhibit
from scalarviz.pictures.view.exhibits.on_card import ShownNetwork
from scalarviz.pictures.view.exhibits.pictures import Pictures
from scalarviz.training.network.network import Network


@final
class NetworkReading:
    """The network of one reading, for pictures; None where a shader cannot have it."""

    def __init__(self, reading: LiveValues) -> None:
        self._reading = reading
        self._known: tuple[Program | None, LiveShader | None] = (None, None)

    def now(self, exhibit: Exhibit | None) -> ShownNetwork | None:
        """Return the network with the numbers that are shown, for the picture of an exhibit."""
        reading = self._reading
        session = reading.session
        network = session.network
        is_drawn = isinstance(exhibit, Pictures) and exhibit.fine is not None
        if not is_drawn or not network.layers or reading.asleep:
            return None
        shader = self._shader(network)
        if shader is None or network.program is not reading.program:
            return None
        return ShownNetwork(shader, reading.program, reading.numbers.value, session.playing)

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
