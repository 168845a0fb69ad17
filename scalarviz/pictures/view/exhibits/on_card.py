"""What exhibits have the graphics card draw: maps of a network, evaluated at each pixel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from scalarviz.base.checks.numbers import FloatArray
from scalarviz.core.model.program import Program
from scalarviz.files.shaders.live import LiveShader
from scalarviz.pictures.draw2d.batch import OnCard

COLORS, ANSWERS, CLASSES = 0.0, 1.0, 2.0  # kinds of maps, as in network_map.frag
MOST_CLASSES = 8  # with colors of their own there
NO_COLORS = ((0.0, 0.0, 0.0),) * 4

Formula = Callable[[float, float], float]
Color = tuple[float, ...]
Size = tuple[int, int]


@dataclass(frozen=True)
class MapLook:
    """What a map of a network shows: three outputs as a color, one answer, or the largest output.

    kind       COLORS, ANSWERS or CLASSES
    low, high  points of the plane at the lower left and the upper right corner
    axes       which two inputs the points are, unless formulas give the inputs
    range      the middle of answers, and their distance from it at full color
    share      of a color on the ground
    colors     of zero, of negative and of positive numbers, and of the ground
    classes    colors of the classes, at most MOST_CLASSES
    """

    kind: float
    low: tuple[float, float]
    high: tuple[float, float]
    axes: tuple[int, int] = (0, 1)
    range: tuple[float, float] = (0.0, 1.0)
    share: float = 1.0
    colors: tuple[Color, ...] = NO_COLORS
    classes: tuple[Color, ...] = ()


def as_colors(colors: FloatArray) -> tuple[Color, ...]:
    """Return rows of red, green, blue as colors of a MapLook."""
    return tuple([tuple(color) for color in np.asarray(colors, np.float64).tolist()])


@dataclass(frozen=True)
class ShownNetwork:
    """The network that maps show, with the parameters of this moment.

    shader     its text; the same object as long as the network is the same
    program    its operations
    values     its parameters, in bank order
    rest       the inputs, of which two vary; empty if formulas give them
    reads      what the loss applies to the outputs: "sigmoid", "softmax" or ""
    playing    whether it trains meanwhile, so that a map has to be quick
    formulas   of the coordinates, which give the inputs
    inputs_of  returns the inputs of points, if there are formulas
    """

    shader: LiveShader
    program: Program
    values: FloatArray
    rest: tuple[float, ...]
    reads: str = ""
    playing: bool = False
    formulas: tuple[Formula, ...] = ()
    inputs_of: Callable[[FloatArray], FloatArray] | None = None


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
