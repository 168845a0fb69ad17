"""The camera, as a few numbers that can be interpolated, and the table of camera presets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.errors import InputError

STEEPEST = 85.0  # degrees to each side; the scene has no back
EDGE = 0.01  # share of the free stage that stays empty on each side
LEAST_FOV = 0.5  # degrees; smaller angles are drawn without perspective


@dataclass(frozen=True, slots=True)
class Camera:
    """A camera that looks at `target`; azimuth and elevation are 0 for straight on.

    target     the point in space at the middle of the picture
    azimuth    degrees to the right
    elevation  degrees upwards
    height     visible height at the target, in cells
    fov        vertical field of view in degrees; 0 for no perspective
    """

    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    azimuth: float = 0.0
    elevation: float = 0.0
    height: float = 10.0
    fov: float = 28.0

    @property
    def toward(self) -> FloatArray:
        """Unit vector from the target to the eye."""
        a, e = math.radians(self.azimuth), math.radians(self.elevation)
        return np.array([math.sin(a) * math.cos(e), math.sin(e), math.cos(a) * math.cos(e)])

    @property
    def axes(self) -> FloatArray:
        """Unit vectors to the right, up and towards the eye, one per row."""
        a, e = math.radians(self.azimuth), math.radians(self.elevation)
        right = np.array([math.cos(a), 0.0, -math.sin(a)])
        up = np.array([-math.sin(a) * math.sin(e), math.cos(e), -math.cos(a) * math.sin(e)])
        return np.stack([right, up, self.toward])

    @property
    def distance(self) -> float:
        """Distance from the eye to the target; large for a camera without perspective."""
        return 0.5 * self.height / math.tan(math.radians(max(self.fov, LEAST_FOV)) / 2.0)

    def matrix(self, aspect: float, reach: float = 1e4) -> FloatArray:
        """Return the (4, 4) matrix from space to clip coordinates; points are columns.

        aspect  width of the picture divided by its height
        reach   largest distance of anything in the scene from the target
        """
        axes, distance = self.axes, self.distance
        view = np.eye(4)
        view[:3, :3] = axes
        view[:3, 3] = -axes @ np.array(self.target)
        half = 0.5 * self.height
        lens = np.zeros((4, 4))
        lens[0, 0], lens[1, 1] = 1.0 / (half * aspect), 1.0 / half
        if self.fov < LEAST_FOV:
            lens[2, 2], lens[3, 3] = -1.0 / reach, 1.0
            return lens @ view
        # Scaled so that w is 1 at the target.
        lens[3, 2], lens[3, 3] = -1.0 / distance, 1.0
        near = max(distance - reach, 2e-3 * distance)
        far = distance + reach
        # Depth is (a + b * z) / w, -1 at `near` and 1 at `far`; z counts from the target.
        b = -(far + near) / (far - near) / distance
        a = (far + near) / (far - near) - 2.0 * far * near / (far - near) / distance
        lens[2, 2], lens[2, 3] = b, a
        return lens @ view

    def behind(self, points: FloatArray, far: float) -> FloatArray:
        """Return points, (n, 3), moved away from the eye: they are seen at the same places."""
        ways = np.tile(-self.toward, (len(points), 1))
        if self.fov >= LEAST_FOV:
            ways = points - (np.array(self.target) + self.distance * self.toward)
            ways = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        found: FloatArray = points + far * ways
        return found

    def orbited(self, right: float, up: float) -> Camera:
        """Return the camera turned around its target by degrees, up to STEEPEST to each side."""
        azimuth = min(STEEPEST, max(-STEEPEST, self.azimuth + right))
        elevation = min(STEEPEST, max(-STEEPEST, self.elevation + up))
        return replace(self, azimuth=azimuth, elevation=elevation)

    def moved(self, right: float, up: float) -> Camera:
        """Return the camera moved sideways by fractions of the height of the picture."""
        axes = self.axes
        target = np.array(self.target) + self.height * (right * axes[0] + up * axes[1])
        return replace(self, target=tuple(target.tolist()))

    def zoomed(self, factor: float, right: float = 0.0, up: float = 0.0) -> Camera:
        """Return the camera zoomed in by a factor.

        The point at (right, up) picture heights from the middle stays where it is.
        """
        height = min(1e6, max(1e-2, self.height / factor))
        kept = 1.0 - height / self.height
        return replace(self.moved(right * kept, up * kept), height=height)

    def framing(self, points: FloatArray, aspect: float, margin: float = 0.04) -> Camera:
        """Return a camera of the same direction, so near that all points just fit into the picture.

        points  (n, 3)
        aspect  width of the picture divided by its height
        margin  share of the picture that stays free on each side
        """
        axes = self.axes
        x, y, z = axes @ points.T
        room = 1.0 - 2.0 * margin
        slope = math.tan(math.radians(self.fov) / 2.0) if self.fov >= LEAST_FOV else 0.0
        middle, heights = [], []
        for places, part in ((x, room * aspect), (y, room)):
            # At a depth z the eye sees up to part * slope * (eye - z) to each side.
            first = float((places - part * slope * z).min())
            last = float((places + part * slope * z).max())
            middle.append((first + last) / 2.0)
            heights.append((last - first) / part)  # visible at a depth of 0
        deep = (float(z.min()) + float(z.max())) / 2.0
        nearest = 1.02 * (float(z.max()) - deep)
        height = max(max(heights) - 2.0 * slope * deep, 2.0 * slope * nearest, 1e-2)
        target = tuple((np.array([*middle, deep]) @ axes).tolist())
        return replace(self, target=target, height=height)

    def blended(self, other: Camera, part: float) -> Camera:
        """Return a camera between this one (part 0) and another one (1)."""
        part = part * part * (3.0 - 2.0 * part)

        def mix(a: float, b: float) -> float:
            return a + (b - a) * part

        target = tuple(map(mix, self.target, other.target))
        assert len(target) == 3
        return Camera(
            target,
            mix(self.azimuth, other.azimuth),
            mix(self.elevation, other.elevation),
            math.exp(mix(math.log(self.height), math.log(other.height))),
            mix(self.fov, other.fov),
        )


# The presets by name: the view at the start.
CAMERAS = {
    "perspective": Camera(azimuth=-18.0, elevation=16.0, fov=28.0),
    "orthographic": Camera(azimuth=-24.0, elevation=20.0, fov=0.0),
    "flat": Camera(fov=0.0),
}


def along_path(path: Sequence[Camera], part: float) -> Camera:
    """Return the camera at `part` of a path, 0 for its first camera and 1 for its last.

    Raise InputError if the path has no cameras.
    """
    cameras = list(path)
    if not cameras or not all(isinstance(camera, Camera) for camera in cameras):
        raise InputError("a camera path must be a list of at least one camera")
    place = min(max(part, 0.0), 1.0) * (len(cameras) - 1)
    first = min(int(place), len(cameras) - 2) if len(cameras) > 1 else 0
    return cameras[first].blended(cameras[min(first + 1, len(cameras) - 1)], place - first)
