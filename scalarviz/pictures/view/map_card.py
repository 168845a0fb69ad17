"""MapCard: the program that draws the maps of a network, and how fast the graphics card is with it.

Whether the card, or its stand-in in software, computes rightly and fast enough is measured before
the first map: by a small network once for each context, so that no program is compiled in vain, and
by the network itself.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np
from vispy import gloo

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.base.messages import inform
from scalarviz.engines.common.reference import program_forward
from scalarviz.errors import InputError
from scalarviz.files.shaders.live import MAP, bank_reader, live_shader, map_fragment
from scalarviz.pictures.view.cubes.float_textures import (
    has_float_textures,
    largest_texture,
    texture_of,
)
from scalarviz.pictures.view.cubes.shaders import FLOATS, SPLIT
from scalarviz.pictures.view.exhibits.on_card import MapLook, ShownNetwork, Size
from scalarviz.training.network.network import Network

RESTING = 0.1  # seconds for a map at rest
LEAST = 80  # pixels along a side of the smallest maps that are worth while
SIDES = 8, 128  # of the pictures by which the speed is measured
TRIES = 3  # of each, of which the quickest counts: others may be busy
ENOUGH = 0.005  # seconds of a picture from which its time is a measure
AGAIN_AFTER = 10.0  # seconds after which the speed is measured again
UNSURE = 1.5  # the speed of a small network tells that of a large one within this factor
WRONG = 1e-3  # error relative to the largest output from which on the card is not used
CORNERS = np.array([[-1, -1], [3, -1], [-1, 3]], np.float32)
TRIED = [2, 16, 16, 1]  # a network by which a context is measured


class Target:
    """A texture of floats that is drawn into.

    size    width and height in pixels, 0 before the first `resize`
    pixels  the texture, and `frame` its framebuffer
    """

    def __init__(self) -> None:
        self.size: Size = (0, 0)
        self.pixels: Any = None
        self.frame: Any = None

    def resize(self, size: Size) -> bool:
        """Set the size; return whether it has changed."""
        if self.size == size:
            return False
        self.release()
        self.pixels = gloo.Texture2D(
            (size[1], size[0], 4),
            format="rgba",
            internalformat="rgba32f",
            interpolation="linear",
            wrapping="clamp_to_edge",
        )
        self.frame, self.size = gloo.FrameBuffer(color=self.pixels), size
        return True

    def release(self) -> None:
        """Free the memory on the graphics card."""
        for part in (self.frame, self.pixels):
            if part is not None:
                part.delete()
        self.frame, self.pixels, self.size = None, None, (0, 0)

    def paint(self, program: Any) -> None:
        """Fill it by a program."""
        with self.frame:
            gloo.set_viewport(0, 0, *self.size)
            gloo.set_state(depth_test=False, blend=False, cull_face=False, scissor_test=False)
            program.draw("triangles")


@final
class MapCard:
    """The program that draws the maps of a network, and how fast it is.

    works  whether it draws rightly
    """

    def __init__(self, network: ShownNetwork) -> None:
        self._shader = network.shader
        self.works = False
        self.cost = np.inf  # seconds for each pixel
        self._tried = False
        self._measured = 0.0
        self._program: Any = None
        self._own: Any = None  # a texture of parameters
        self._known: FloatArray | None = None  # the parameters in it

    def is_of(self, network: ShownNetwork) -> bool:
        """Return whether it draws this network, whatever its parameters are."""
        return network.shader is self._shader

    def release(self) -> None:
        """Free the memory on the graphics card."""
        for part in (self._program, self._own):
            if part is not None:
                part.delete()
        self._program = self._own = self._known = None

    def prepare(self, network: ShownNetwork) -> None:
        """Compile, check and measure it once; measure it again from time to time."""
        if not self._tried:
            self._tried = True
            try:
                flush()  # what fails now is ours
                if self._may_be_quick(network):
                    self._try(network)
                flush()
            except InputError as error:  # such as an input that is infinite in float32
                inform(f"maps are computed by the cpu: {error}", is_shown=True)
            except RuntimeError as error:  # raised by vispy for an error of the driver
                self.works = False
                said = next(iter(str(error).splitlines()), "")
                inform(f"maps are computed by the cpu: the driver draws none ({said})")
        elif self.works and perf_counter() - self._measured > AGAIN_AFTER:
            self._measure(network)

    def fit(self, size: Size, seconds: float) -> Size:
        """Return the largest size up to a given one that takes so many seconds."""
        wide, high = size
        part = min(1.0, np.sqrt(seconds / (self.cost * wide * high)))
        return max(1, int(part * wide)), max(1, int(part * high))

    def draw(
        self,
        network: ShownNetwork,
        look: MapLook,
        target: Target,
        held: tuple[Any, int] | None = None,
    ) -> None:
        """Draw a map; `held` is a texture that has the parameters, and the first line of them."""
        program = self._program
        texture, first = held or (self._uploaded(network.values), 0)
        program["u_numbers"] = texture
        program["u_numbers_size"] = texture.shape[1::-1]
        program["u_numbers_first"] = float(first)
        program["u_low"], program["u_high"] = look.low, look.high
        target.paint(program)

    def _uploaded(self, values: FloatArray) -> Any:
        """Return a texture of its own with the parameters, in lines as that of the cubes."""
        if self._own is None or self._known is not values:
            lines = np.zeros((max(1, -(-len(values) // SPLIT)), SPLIT, 1), np.float32)
            with np.errstate(over="ignore"):
                lines.reshape(-1)[: len(values)] = values
            if self._own is None:
                self._own = texture_of(lines)
            else:
                self._own.set_data(lines)
            self._known = values
        return self._own

    def _may_be_quick(self, network: ShownNetwork) -> bool:
        """Return whether it can be worth while to compile it, by a small network's speed."""
        count = len(network.values)
        if not has_float_textures() or count > SPLIT * largest_texture():
            return False
        return speed_of_context() * count * LEAST**2 < UNSURE * RESTING

    def _try(self, network: ShownNetwork) -> None:
        """Compile, check, measure."""
        reader = bank_reader(SPLIT) + FLOATS
        fragment = map_fragment(network.program, network.shader, reader)
        self._program = gloo.Program(MAP[0], f"#version 120\n{fragment}")
        self._program["a_corner"] = CORNERS
        self._program["u_squash"] = 0.0
        error = self._error(network)
        if not error <= WRONG:
            inform(
                "maps are computed by the cpu: this graphics card computes the network with a "
                f"relative error of {error:.1e}"
            )
            return
        self._measure(network)
        self.works = True

    def _error(self, network: ShownNetwork) -> float:
        """Return the largest error of some outputs, relative to the largest of them."""
        side, look = SIDES[0], MapLook((0.0, 0.0), (1.0, 1.0))
        pixels = self._timed(network, look, side)[1]
        part = (np.arange(side) + 0.5) / side
        points = np.stack(np.meshgrid(part, part), axis=-1).reshape(-1, 2)
        values, count = network.values, min(3, network.program.outputs.size)
        found = program_forward(network.program, values, np.zeros(0), points)
        wanted = found[network.program.outputs.name][:, :count]
        seen = pixels[::-1].reshape(-1, 4)[:, :count]
        known = np.isfinite(wanted) & (np.abs(wanted) < np.finfo(np.float32).max)
        known &= np.isfinite(found[network.program.outputs.name][:, :1])
        if not known.any():
            return 0.0
        return float(np.abs(seen - wanted)[known].max() / max(np.abs(wanted[known]).max(), 1e-30))

    def _measure(self, network: ShownNetwork) -> None:
        """Measure how long a pixel takes, by pictures that grow until they take long enough."""
        look = MapLook((0.0, 0.0), (1.0, 1.0))
        self._timed(network, look, 1)  # and what is under way
        side, took = SIDES[0] // 2, 0.0
        while took < ENOUGH and side < SIDES[1]:
            side *= 2
            took = min(self._timed(network, look, side)[0] for _ in range(TRIES))
        self.cost = took / side**2
        self._measured = perf_counter()

    def _timed(self, network: ShownNetwork, look: MapLook, side: int) -> tuple[float, Any]:
        """Return the seconds that a picture takes, and its pixels, the first row on top."""
        target = Target()
        target.resize((side, side))
        flush()
        start = perf_counter()
        self.draw(network, look, target)
        with target.frame:
            pixels = gloo.read_pixels((0, 0, side, side), out_type="float")
        took = perf_counter() - start
        target.release()
        return took, pixels


SPEEDS: WeakKeyDictionary[Any, float] = WeakKeyDictionary()


def speed_of_context() -> float:
    """Return the seconds for each parameter and pixel in the current context; measured once."""
    context = gloo.get_current_canvas().context
    if context not in SPEEDS:
        net = Network(TRIED, "tanh", seed=0)
        shown = ShownNetwork(live_shader(net), net.program, net.bank.value)
        card = MapCard(shown)
        SPEEDS[context] = 0.0  # of this one
        card.prepare(shown)
        SPEEDS[context] = card.cost / len(net.bank)
        card.release()
    return SPEEDS[context]


def flush() -> None:
    """Have the driver do what was queued."""
    gloo.get_current_canvas().context.flush_commands()
