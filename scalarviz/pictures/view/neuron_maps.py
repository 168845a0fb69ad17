"""Maps on spheres: what each neuron answers over the plane in which the data lie."""

from __future__ import annotations

import math

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.pictures.draw2d.canvas import Canvas2D
from scalarviz.pictures.draw2d.colors import rgb
from scalarviz.pictures.draw2d.theme import Theme
from scalarviz.pictures.view.frame_data import FrameData
from scalarviz.pictures.view.neuron_colors import faded
from scalarviz.pictures.view.scene.plates import Neurons

PART = 0.86  # radius of the map, relative to the sphere; around it the sphere keeps its color
LEAST = 6.0  # least radius of a sphere in pixels for a map
STRONG = 0.8  # color strength of the map


def shown_map(line: Neurons, frame_data: FrameData) -> str:
    """Return the buffer whose maps stand on the spheres of a line; "" for none."""
    maps, values = frame_data.maps, frame_data.buffers.values
    name = line.values if line.values in values else line.sums
    known = maps is not None and name in values and name in maps.values
    return name if known and not line.shape else ""


def draw_maps(
    canvas: Canvas2D,
    xy: FloatArray,
    radius: FloatArray,
    depth: FloatArray,
    good: FloatArray,
    bright: FloatArray,
    line: Neurons,
    frame_data: FrameData,
    theme: Theme,
) -> bool:
    """Draw the map of each neuron as a disc on its sphere; return whether there is one.

    xy, radius, depth  of the spheres that are seen, those where `good`
    bright             brightness of each, (n, 1)
    """
    name, maps = shown_map(line, frame_data), frame_data.maps
    if not name or maps is None or radius.min() < LEAST:
        return False
    parts, count = maps.parts(name), len(frame_data.buffers.values[name])
    if count < len(good) and line.sums in frame_data.buffers.values:  # these have no outputs yet
        parts = np.append(parts[:count], maps.parts(line.sums)[count:], axis=0)
        count = len(frame_data.buffers.values[line.sums])
    seen = good[:count]
    parts = parts[:count][seen]
    xy, radius, depth, bright = (each[: len(parts)] for each in (xy, radius, depth, bright))
    if not len(parts):
        return False
    ground = rgb((theme.ground,))[0]
    colors = theme.map(STRONG * parts.ravel()).reshape(*parts.shape, 3)
    image, places = tiled(faded(colors, bright[..., np.newaxis, np.newaxis], ground))
    reach = PART * radius[:, np.newaxis]
    corners = [xy + reach * way for way in ((-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0))]
    canvas.images(
        np.stack(corners, axis=1), image, places, depth=depth, radius=reach[:, 0], smooth=True
    )
    return True


def tiled(images: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return images, (n, rows, columns, 3), as one image, and the places that they have in it.

    A place is left, top, right and bottom from 0 to 1. It leaves out half a pixel at each edge, so
    that nothing of its neighbours is mixed in.
    """
    count, rows, columns, _ = images.shape
    wide = math.ceil(math.sqrt(count))
    high = -(-count // wide)
    filled = np.zeros((high * wide, rows, columns, 3))
    filled[:count] = images
    whole = filled.reshape(high, wide, rows, columns, 3).swapaxes(1, 2)
    down, across = np.divmod(np.arange(count), wide)
    left, top = across * columns + 0.5, down * rows + 0.5
    places = np.stack([left, top, left + columns - 1.0, top + rows - 1.0], axis=1)
    size = [wide * columns, high * rows] * 2
    return whole.reshape(high * rows, wide * columns, 3), places / size
