"""What exhibits have the graphics card draw: maps of a network, evaluated at each pixel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.program import Program
from scalarviz.files.shaders.live import LiveShader
from scalarviz.pictures.draw2d.batch import OnCard

Size = tuple[int, int]


@dataclass(frozen=True)
class MapLook:
    """Where the points of a picture lie, at which outputs of a network are a color.

    low, high  points at the lower left and the upper right corner
    """

    low: tuple[float, float]
    high: tuple[float, float]


@dataclass(frozen=True)
class ShownNetwork:
    """The network that pictures show, with the parameters of this moment.

    shader   its text; the same object as long as the network is the same
    program  its operations
    values   its parameters, in bank order
    playing  whether it trains meanwhile, so that a picture has to be quick
    """

    shader: LiveShader
    program: Program
    values: FloatArray
    playing: bool = False


class NetworkOnCard(Protocol):
    """The network of a picture, as far as the graphics card can draw it in time."""

    def map(self, name: str, look: MapLook, size: Size, cells: Size) -> OnCard | None:
        """Return a map of the network; None if the card cannot draw it, or not finer than a grid.

        name   of the map, one for each place of a picture
        size   in device pixels, width and height
        cells  of the grid that the cpu computes, likewise
        """

    def difference(self, name: str, of: OnCard, target: npt.NDArray[np.uint8]) -> OnCard:
        """Return five times the difference of a map and a target, around grey.

        name    of the map, one for each place of a picture
        of      the map, which was asked for before
        target  pixels of an image, the first row on top
        """
