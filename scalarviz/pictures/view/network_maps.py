"""NetworkMaps: draws maps of a network by the graphics card, from the texture of the cubes.

A map is drawn into a texture of its own, once for each new set of numbers. What the card is too
slow for is left to the grid of the cpu.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np
import numpy.typing as npt
from vispy import gloo

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.pictures.draw2d.batch import OnCard
from scalarviz.pictures.view.exhibits.on_card import MapLook, ShownNetwork, Size
from scalarviz.pictures.view.glsl_es import DIFFERENCE
from scalarviz.pictures.view.map_card import CORNERS, RESTING, MapCard, Target

PLAYING = 0.010  # seconds for a map while the network trains
FINER = 2  # pixels that the card has to draw for each cell of the cpu's grid, along a side


@final
class NetworkMaps:
    """Maps of one network at a time, in one OpenGL context.

    cubes  the node of the cubes, whose texture is read if it has the same numbers; or None
    drawn  how many maps were drawn
    """

    def __init__(self) -> None:
        self.cubes: Any = None
        self.drawn = 0
        self._network: ShownNetwork | None = None
        self._card: MapCard | None = None
        self._maps: dict[str, LearnedMap | Difference] = {}
        self._given: FloatArray | None = None
        self._numbers: FloatArray | None = None  # the same as long as those given are equal

    def show(self, network: ShownNetwork | None) -> None:
        """Set the network of the next picture; the viewport and other state of OpenGL may change.

        network  None: there are no maps
        """
        self._network = network
        if network is None:
            return
        if self._card is None or not self._card.is_of(network):
            self._drop()
            self._card = MapCard(network)
        if network.values is not self._given:
            self._given, known = network.values, self._numbers
            if known is None or not np.array_equal(known, self._given, equal_nan=True):
                self._numbers = self._given
        self._card.prepare(network)

    def release(self) -> None:
        """Free the memory on the graphics card."""
        self._drop()
        self.cubes = self._network = self._given = self._numbers = None

    def _drop(self) -> None:
        for each in self._maps.values():
            each.release()
        self._maps.clear()
        if self._card is not None:
            self._card.release()
            self._card = None

    def map(self, name: str, look: MapLook, size: Size, cells: Size) -> OnCard | None:
        """Return a map of the network; see `NetworkOnCard`."""
        network, card = self._network, self._card
        if network is None or card is None or not card.works or min(size) < 1:
            return None
        fitted = card.fit(size, PLAYING if network.playing else RESTING)
        sides = zip(fitted, size, cells, strict=True)
        if any(side < min(whole, FINER * cell) for side, whole, cell in sides):
            return None
        found = self._maps.get(name)
        if not isinstance(found, LearnedMap):
            found = self._maps[name] = LearnedMap()
        found.ask(self, look, fitted)
        return found

    def difference(self, name: str, of: OnCard, target: npt.NDArray[np.uint8]) -> OnCard:
        """Return how a map differs from its target; see `NetworkOnCard`."""
        assert isinstance(of, LearnedMap)
        found = self._maps.get(name)
        if not isinstance(found, Difference):
            found = self._maps[name] = Difference()
        found.ask(of, target)
        return found

    def draw(self, look: MapLook, target: Target) -> FloatArray:
        """Draw a map, from the texture of the cubes if it has the numbers; return the numbers."""
        network, card = self._network, self._card
        assert network is not None and card is not None and self._numbers is not None
        held = self.cubes.held_texture(network.values) if self.cubes is not None else None
        card.draw(network, look, target, held)
        self.drawn += 1
        return self._numbers

    def is_stale(self, numbers: FloatArray | None) -> bool:
        """Return whether a map of these numbers is not that of the next picture."""
        return numbers is not self._numbers


@final
class LearnedMap:
    """A map of the network, drawn again when its numbers, its look or its size change.

    times  how often it was drawn
    """

    def __init__(self) -> None:
        self.target = Target()
        self.times = 0
        self._wanted: tuple[NetworkMaps, MapLook, Size] | None = None
        self._look: MapLook | None = None
        self._numbers: FloatArray | None = None

    def ask(self, maps: NetworkMaps, look: MapLook, size: Size) -> None:
        """Set what the next picture shows."""
        self._wanted = maps, look, size

    def release(self) -> None:
        """Free the memory on the graphics card."""
        self.target.release()

    def texture(self) -> Any:
        """Draw it, if it has changed, and return it."""
        assert self._wanted is not None
        maps, look, size = self._wanted
        if self.target.resize(size) or maps.is_stale(self._numbers) or look != self._look:
            self._numbers, self._look = maps.draw(look, self.target), look
            self.times += 1
        return self.target.pixels


@final
class Difference:
    """How a map differs from a target."""

    def __init__(self) -> None:
        self.target = Target()
        self._program: Any = None
        self._image: Any = None
        self._of: npt.NDArray[np.uint8] | None = None  # the pixels of that image
        self._times = 0  # of the map
        self._wanted: tuple[LearnedMap, npt.NDArray[np.uint8]] | None = None

    def ask(self, of: LearnedMap, target: npt.NDArray[np.uint8]) -> None:
        """Set what the next picture shows."""
        self._wanted = of, target

    def release(self) -> None:
        """Free the memory on the graphics card."""
        self.target.release()
        for part in (self._program, self._image):
            if part is not None:
                part.delete()
        self._program = self._image = self._of = None

    def texture(self) -> Any:
        """Draw it, if it has changed, and return it."""
        assert self._wanted is not None
        of, pixels = self._wanted
        output = of.texture()
        if self._program is None:
            self._program = gloo.Program(*DIFFERENCE)
            self._program["a_corner"] = CORNERS
        if pixels is not self._of:
            if self._image is not None:
                self._image.delete()
            self._image = gloo.Texture2D(
                pixels, format="rgba", interpolation="nearest", wrapping="clamp_to_edge"
            )
            self._of, self._times = pixels, 0
        if self.target.resize(of.target.size) or self._times != of.times:
            self._program["u_output"], self._program["u_target"] = output, self._image
            self.target.paint(self._program)
            self._times = of.times
        return self.target.pixels
