"""The camera, given by a few numbers that can be interpolated, and the camera presets.

This module uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

# Azimuth and elevation from which rows of cubes are seen first, and squares.
FRONT, LEVEL = (11.0, 11.0), (0.0, 0.0)
LAG = 11.0  # degrees by which the plane of the picture is turned less than the eye, at most
STEEPEST = 85.0  # degrees to each side; the scene has no back
EDGE = 0.01  # fraction of the free stage that stays empty on each side
LEAST_FOV = 0.5  # degrees; smaller angles are drawn without perspective
RADIANS: float = math.pi / 180.0  # radians per degree

Reach = Callable[[tuple[float, ...]], float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of the picture, in logical pixels from the upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def place(self) -> tuple[float, float, float, float]:
        """x, y, width and height of the box."""
        return self.x, self.y, self.width, self.height

    @property
    def corners(self) -> list[tuple[float, float]]:
        return [(x, y) for x in (self.x, self.right) for y in (self.y, self.bottom)]

    def inside(self, margin: float) -> Box:
        """Return the box reduced by a margin on each side."""
        wide, high = max(0.0, self.width - 2.0 * margin), max(0.0, self.height - 2.0 * margin)
        return Box(self.x + margin, self.y + margin, wide, high)

    def around(self, other: Box | None) -> Box:
        """Return the smallest box that contains this box and another one, if given."""
        if other is None:
            return self
        x, y = min(self.x, other.x), min(self.y, other.y)
        return Box(x, y, max(self.right, other.right) - x, max(self.bottom, other.bottom) - y)

    def has(self, x: float, y: float) -> bool:
        return self.x <= x < self.right and self.y <= y < self.bottom

    def meets(self, other: Box) -> bool:
        """Return whether two boxes overlap."""
        beside = self.right <= other.x or other.right <= self.x
        return not (beside or self.bottom <= other.y or other.bottom <= self.y)

    def shortest(self, other: Box) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the ends of the shortest line to another box, or the middle of their overlap."""
        across = nearest(self.x, self.right, other.x, other.right)
        down = nearest(self.y, self.bottom, other.y, other.bottom)
        return (across[0], down[0]), (across[1], down[1])


def nearest(low: float, high: float, first: float, last: float) -> tuple[float, float]:
    """Return the closest points of two intervals, or twice the middle of their intersection."""
    if high < first:
        return high, first
    if last < low:
        return low, last
    shared = 0.5 * (max(low, first) + min(high, last))
    return shared, shared


def turned(
    azimuth: float, elevation: float, right: float, up: float, toward: float
) -> tuple[float, ...]:
    """Return a vector in space from its components right, up and towards a rotated viewer."""
    a, e = azimuth * RADIANS, elevation * RADIANS
    deep = toward * math.cos(e) - up * math.sin(e)
    x, z = right * math.cos(a), right * math.sin(a)
    return x + deep * math.sin(a), up * math.cos(e) + toward * math.sin(e), deep * math.cos(a) - z


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera that looks at `target`, straight from the front if azimuth and elevation are 0.

    Attributes:
        target: the point in space at the center of the picture
        azimuth: rotation to the right in degrees
        elevation: rotation upwards in degrees
        height: visible height at the target, in cells
        fov: vertical field of view in degrees; 0 for an orthographic camera
    """

    target: tuple[float, ...] = (0.0, 0.0, 0.0)
    azimuth: float = 0.0
    elevation: float = 0.0
    height: float = 10.0
    fov: float = 28.0

    @property
    def is_front(self) -> bool:
        """Whether rows are seen from the front, as in the initial view."""
        return (self.azimuth, self.elevation) in (FRONT, LEVEL)

    @property
    def plane(self) -> tuple[float, float]:
        """Angles of the projection plane: the camera's angles, up to LAG degrees closer to 0.

        Since the plane is not perpendicular to the view direction, vertical and horizontal edges
        remain vertical and horizontal in the picture, although they are seen from the side and from
        above.
        """
        right, up = self.azimuth, self.elevation
        return right - min(LAG, max(-LAG, right)), up - min(LAG, max(-LAG, up))

    def way(self, right: float, up: float, toward: float) -> tuple[float, ...]:
        """Return the vector with these components in the projection plane and out of it."""
        return turned(*self.plane, right, up, toward)

    @property
    def lean(self) -> tuple[float, float]:
        """Offset, left and down, at which a point one cell in front of the plane appears on it."""
        right, up, deep = self.in_plane(*self.toward)
        return right / deep, up / deep

    def in_plane(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Return a vector's components right and up in the projection plane, and out of it."""
        azimuth, elevation = self.plane
        a, e = azimuth * RADIANS, elevation * RADIANS
        deep = x * math.sin(a) + z * math.cos(a)
        right, up = x * math.cos(a) - z * math.sin(a), y * math.cos(e) - deep * math.sin(e)
        return right, up, y * math.sin(e) + deep * math.cos(e)

    def seen(self, x: float, y: float, z: float) -> tuple[float, ...]:
        """Return the projected components of a vector to the right and up, and its depth."""
        right, up, deep = self.in_plane(x, y, z)
        left, down = self.lean
        return right - left * deep, up - down * deep, deep

    @property
    def toward(self) -> tuple[float, ...]:
        """Unit vector from the target to the eye."""
        return turned(self.azimuth, self.elevation, 0.0, 0.0, 1.0)

    @property
    def slope(self) -> float:
        """Half the visible height divided by the distance; 0 for an orthographic camera."""
        return math.tan(0.5 * self.fov * RADIANS) if self.fov >= LEAST_FOV else 0.0

    @property
    def distance(self) -> float:
        """Distance from the eye to the target; a large number for an orthographic camera."""
        return 0.5 * self.height / (self.slope or math.tan(0.5 * LEAST_FOV * RADIANS))

    def matrix(self, aspect: float, reach: float = 1e4) -> list[list[float]]:
        """Return the rows of the matrix from space to clip coordinates, for column vectors.

        Args:
            aspect: width of the picture divided by its height
            reach: largest distance of any item in the scene from the target
        """
        middle, half, (left, down) = self.seen(*self.target), 0.5 * self.height, self.lean
        distance = self.distance * self.in_plane(*self.toward)[2]

        def row(way: tuple[float, ...], axis: int, factor: float, more: float) -> list[float]:
            return [*[factor * each for each in way], more - factor * middle[axis]]

        right, up, toward = self.way(1.0, 0.0, -left), self.way(0.0, 1.0, -down), self.way(0, 0, 1)
        sides = [row(right, 0, 1.0 / (half * aspect), 0.0), row(up, 1, 1.0 / half, 0.0)]
        if not self.slope:
            return [*sides, row(toward, 2, -1.0 / reach, 0.0), row(toward, 2, 0.0, 1.0)]
        near, far = max(distance - reach, 2e-3 * distance), distance + reach
        # Depth is (a + b * z) / w, -1 at `near` and 1 at `far`; z counts from the target, where w
        # is 1.
        b = -(far + near) / (far - near) / distance
        a = (far + near) / (far - near) - 2.0 * far * near / (far - near) / distance
        return [*sides, row(toward, 2, b, a), row(toward, 2, -1.0 / distance, 1.0)]

    def orbited(self, right: float, up: float) -> Camera:
        """Return the camera rotated around its target by degrees, at most to +-STEEPEST."""
        azimuth = min(STEEPEST, max(-STEEPEST, self.azimuth + right))
        elevation = min(STEEPEST, max(-STEEPEST, self.elevation + up))
        return replace(self, azimuth=azimuth, elevation=elevation)

    def moved(self, right: float, up: float) -> Camera:
        """Return the camera moved parallel to the picture, by fractions of the picture's height."""
        way = self.way(right * self.height, up * self.height, 0.0)
        return replace(self, target=tuple([a + b for a, b in zip(self.target, way, strict=True)]))

    def zoomed(self, factor: float, right: float = 0.0, up: float = 0.0) -> Camera:
        """Return the camera zoomed in by a factor.

        The point at (right, up) from the center, in picture heights, stays in place.
        """
        height = min(1e6, max(1e-2, self.height / factor))
        kept = 1.0 - height / self.height
        return replace(self.moved(right * kept, up * kept), height=height)

    def framing(self, reach: Reach, aspect: float, margin: float = 0.04) -> Camera:
        """Return a camera with the same direction, as close as possible with all points visible.

        Args:
            reach: function that returns the largest dot product of the points with a vector
            aspect: aspect ratio of the picture
            margin: fraction of the picture kept free on each side
        """
        room = 1.0 - 2.0 * margin
        wide = room * aspect
        # At a depth z the eye sees up to wide * slope * (distance - z) to each side.
        slope = self.slope / self.in_plane(*self.toward)[2]
        aside, below = self.lean
        left: float = reach(self.way(-1.0, 0.0, aside + wide * slope))
        right: float = reach(self.way(1.0, 0.0, wide * slope - aside))
        low: float = reach(self.way(0.0, -1.0, below + room * slope))
        high: float = reach(self.way(0.0, 1.0, room * slope - below))
        far: float = reach(self.way(0.0, 0.0, -1.0))
        near: float = reach(self.way(0.0, 0.0, 1.0))
        deep = (near - far) / 2.0
        height = max((right + left) / wide, (high + low) / room) - 2.0 * slope * deep
        nearest = 2.0 * slope * 1.02 * (near - deep)
        middle = 0.5 * (right - left) + aside * deep, 0.5 * (high - low) + below * deep
        target = self.way(*middle, deep)
        return replace(self, target=target, height=max(height, nearest, 1e-2))

    def blended(self, other: Camera, part: float) -> Camera:
        """Interpolate smoothly between this camera (part 0) and another one (part 1)."""
        part = part * part * (3.0 - 2.0 * part)

        def mix(a: float, b: float) -> float:
            return a + (b - a) * part

        return Camera(
            tuple([mix(a, b) for a, b in zip(self.target, other.target, strict=True)]),
            mix(self.azimuth, other.azimuth),
            mix(self.elevation, other.elevation),
            math.exp(mix(math.log(self.height), math.log(other.height))),
            mix(self.fov, other.fov),
        )


# The presets by name: the initial views.
CAMERAS = {
    "perspective": Camera(azimuth=-18.0, elevation=16.0, fov=28.0),
    "orthographic": Camera(azimuth=-24.0, elevation=20.0, fov=0.0),
    "flat": Camera(fov=0.0),
}
