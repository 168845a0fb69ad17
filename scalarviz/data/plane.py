"""Data sets in the plane: the inputs are two coordinates, the target is one of two classes.

Xor and Xnor contain the four corners of a square. The other sets contain points, as in TensorFlow
Playground, and their inputs can be FEATURES computed from the coordinates.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from scalarviz.base.checks import FloatArray, number, require, shorten, true_or_false
from scalarviz.core.formulas.elementary import sin
from scalarviz.core.formulas.formula import Target, pick
from scalarviz.core.formulas.randomness import check_seed, unit_pairs
from scalarviz.data.data_set import DOUBLE, STREAM_NOISE, STREAM_PLACES, TableSet, whole
from scalarviz.data.samples import count_of, cut, same_bits, share_of
from scalarviz.errors import InputError

PORTION = 2**16  # points made at once
SAMPLES = 500  # default size of a point set
MOST = 1e6  # largest noise and scale: far beyond visible, and far below an overflow
PLANE = ("x", "y")


class Feature(NamedTuple):
    """An input computed from the coordinates of a point.

    Attributes:
        label: name of the input in pictures
        formula: function of x and y, which pages and shaders translate to other languages
        rounds: whether inputs are rounded, because machines differ in the last digits; by default
            False
    """

    label: str
    formula: Callable[[float, float], float]
    rounds: bool = False

    def of(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the input for arrays of coordinates."""
        found: FloatArray = ON_ARRAYS.retarget(self.formula)(x, y)
        return same_bits(found) if self.rounds else found


def x_itself(x: float, y: float) -> float:
    return x


def y_itself(x: float, y: float) -> float:
    return y


def square_of_x(x: float, y: float) -> float:
    return x * x


def square_of_y(x: float, y: float) -> float:
    return y * y


def product(x: float, y: float) -> float:
    return x * y


def sine_of_x(x: float, y: float) -> float:
    return sin(x)


def sine_of_y(x: float, y: float) -> float:
    return sin(y)


# The available inputs, as in TensorFlow Playground.
FEATURES = {
    "x": Feature("x", x_itself),
    "y": Feature("y", y_itself),
    "x2": Feature("x²", square_of_x),
    "y2": Feature("y²", square_of_y),
    "xy": Feature("xy", product),
    "sinx": Feature("sin x", sine_of_x, rounds=True),
    "siny": Feature("sin y", sine_of_y, rounds=True),
}
ON_ARRAYS = Target({"sin": np.sin})
CORNERS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


class TwoClasses(TableSet):
    """Points of two classes, with targets 0 and 1, or -1 and 1 if `signed`.

    The arguments `training, settings, held_out` and `order` are as in TableSet.
    """

    @final
    def check_sample(self, inputs: FloatArray, targets: FloatArray) -> None:
        low = -1.0 if self.settings()["signed"] else 0.0
        wrong = targets[(targets != low) & (targets != 1.0)]
        if wrong.size:
            raise InputError(
                f"the target of a point is its class, {low:g} or 1, not {wrong.flat[0]:g}"
            )


class CornerSet(TwoClasses):
    """The four corners of the unit square, each with a target of 0 or 1.

    Args:
        bias: whether to add a third input that is always 1; by default False
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        order: "shuffled" (default), "in_order", or "picked", as in Arrays
    """

    things = "questions"
    truth: ClassVar[tuple[float, ...]]
    input_names: Sequence[str] = PLANE
    bounds = (0.0, 1.0)

    @final
    def __init__(
        self, *, bias: bool = False, signed: bool = False, order: str = "shuffled"
    ) -> None:
        bias, signed = true_or_false(bias, "bias"), true_or_false(signed, "signed")
        inputs = np.hstack([CORNERS, np.ones((4, 1))]) if bias else CORNERS.copy()
        targets = as_targets(np.array(self.truth), signed)
        super().__init__((inputs, targets), {"bias": bias, "signed": signed}, None, order)
        self.input_names = (*PLANE, "1") if bias else PLANE


@final
class Xor(CornerSet):
    """XOR: the target is 1 at the corners (0, 1) and (1, 0), and 0 at the other two.

    Attributes:
        bias: whether to add a third input that is always 1; by default False
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        order: "shuffled" (default), "in_order", or "picked", as in Arrays
    """

    name = "xor"
    truth = (0.0, 1.0, 1.0, 0.0)


@final
class Xnor(CornerSet):
    """XNOR: the target is 1 at the corners (0, 0) and (1, 1), and 0 at the other two.

    Attributes:
        bias: whether to add a third input that is always 1; by default False
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        order: "shuffled" (default), "in_order", or "picked", as in Arrays
    """

    name = "xnor"
    truth = (1.0, 0.0, 0.0, 1.0)


class PlaneSet(TwoClasses):
    """Points of two classes in the square from -1 to 1; half of the points are in each class.

    `points` are the training points, shape (samples, 2), and `held_out_points` the held-out ones.

    Normal noise is added to both coordinates of a point, without changing its class. TensorFlow
    Playground uses uniform noise, which differs between its data sets.

    Args:
        noise: standard deviation of the noise, at most a million; by default 0.0
        samples: number of points; by default 500
        share: share of the points used for training; the rest is held out; by default 0.5
        scale: factor of all coordinates, at most a million, e.g. 5 as in TensorFlow Playground; by
            default 1.0
        signed: whether targets are -1 and 1 (for tanh) instead of 0 and 1 (for sigmoid); by default
            False
        seed: seed of the points; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        features: inputs computed from the coordinates: names of FEATURES, such as "x,y,x2" or a
            list; None (default) means x and y
    """

    things = "dots"

    @final
    def __init__(
        self,
        *,
        noise: float = 0.0,
        samples: int = SAMPLES,
        share: float = 0.5,
        scale: float = 1.0,
        signed: bool = False,
        seed: int = 0,
        order: str = "shuffled",
        features: str | Sequence[str] | None = None,
    ) -> None:
        noise = number(noise, "noise", 0.0, MOST)
        scale = number(scale, "scale", 0.0, MOST, open_low=True)
        samples, seed = count_of(samples, "samples"), check_seed(seed)
        share, signed = share_of(share), true_or_false(signed, "signed")
        settings: dict[str, Any] = {
            "noise": noise,
            "samples": samples,
            "share": share,
            "scale": scale,
            "signed": signed,
            "seed": seed,
            "features": features_in(features) or None,
        }
        self.features: list[str] = settings["features"] or []
        self.input_names = [FEATURES[name].label for name in self.features or PLANE]
        self.bounds = (-1.2 * scale, 1.2 * scale)
        classes = np.arange(samples) % 2.0
        points = np.empty((samples, 2))
        for first in range(0, samples, PORTION):
            some = classes[first : first + PORTION]
            drawn, shifts = [
                unit_pairs(seed, stream, 0, first, len(some))
                for stream in (STREAM_PLACES, STREAM_NOISE)
            ]
            moved = self.places(some, *drawn) + noise * normals(*shifts)
            points[first : first + PORTION] = same_bits(moved) * scale
        tests = samples - max(1, round(share * samples))
        training, held_out = cut((points, as_targets(classes, signed)), tests)
        self.points = training[0]
        self.held_out_points = np.zeros((0, 2)) if held_out is None else held_out[0]
        if held_out is not None:
            held_out = self.inputs_of(held_out[0]), held_out[1]
        super().__init__((self.inputs_of(self.points), training[1]), settings, held_out, order)

    @final
    def inputs_of(self, points: FloatArray) -> FloatArray:
        """Return the inputs (features) for `points` of the plane, which have shape (samples, 2)."""
        if not self.features:
            return points
        x, y = points.T
        return np.stack([FEATURES[name].of(x, y) for name in self.features], axis=1)

    @final
    @classmethod
    def cost(cls, settings: Mapping[str, Any]) -> int:
        features = settings.get("features")
        inputs = len(features) if isinstance(features, (str, list, tuple)) else 0
        return (3 + inputs) * DOUBLE * whole(settings.get("samples"), SAMPLES)

    @abstractmethod
    def places(self, classes: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        """Return points for `classes`, 0 or 1, from random numbers `u` and `v` in (0, 1)."""


@final
class Circle(PlaneSet):
    """Circle: target 1 inside a circle of radius .5, target 0 in the ring from .7 to 1.

    Attributes:
        noise: standard deviation of normal noise on both coordinates; by default 0.0
        samples: number of points; by default 500
        share: share of the points used for training; the rest is held out; by default 0.5
        scale: factor of all coordinates; by default 1.0
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        seed: seed of the points; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        features: inputs computed from the coordinates: names of FEATURES, such as "x,y,x2" or a
            list; None (default) means x and y
    """

    name = "circle"
    side_names = ("outside", "inside")

    def places(self, classes: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        radius = np.where(classes == 1.0, 0.5 * u, 0.7 + 0.3 * u)
        return around(radius, v)


@final
class Gaussians(PlaneSet):
    """Two normal distributions (deviation .14): target 1 at (.4, .4), target 0 at (-.4, -.4).

    Attributes:
        noise: standard deviation of normal noise on both coordinates; by default 0.0
        samples: number of points; by default 500
        share: share of the points used for training; the rest is held out; by default 0.5
        scale: factor of all coordinates; by default 1.0
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        seed: seed of the points; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        features: inputs computed from the coordinates: names of FEATURES, such as "x,y,x2" or a
            list; None (default) means x and y
    """

    name = "gaussians"

    def places(self, classes: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        centre = 0.8 * classes - 0.4
        return centre[:, np.newaxis] + 0.14 * normals(u, v)


@final
class Spiral(PlaneSet):
    """Two spiral arms around the origin, each with one and three quarter turns.

    Attributes:
        noise: standard deviation of normal noise on both coordinates; by default 0.0
        samples: number of points; by default 500
        share: share of the points used for training; the rest is held out; by default 0.5
        scale: factor of all coordinates; by default 1.0
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        seed: seed of the points; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        features: inputs computed from the coordinates: names of FEATURES, such as "x,y,x2" or a
            list; None (default) means x and y
    """

    name = "spiral"
    side_names = ("left", "right")

    def places(self, classes: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        return around(u, 1.75 * u + 0.5 * classes)


@final
class Moons(PlaneSet):
    """Two interleaved half circles: the upper one has target 0, the lower one target 1.

    Attributes:
        noise: standard deviation of normal noise on both coordinates; by default 0.0
        samples: number of points; by default 500
        share: share of the points used for training; the rest is held out; by default 0.5
        scale: factor of all coordinates; by default 1.0
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        seed: seed of the points; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        features: inputs computed from the coordinates: names of FEATURES, such as "x,y,x2" or a
            list; None (default) means x and y
    """

    name = "moons"
    side_names = ("upper", "lower")

    def places(self, classes: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        upper = around(np.ones_like(u), 0.5 * u)
        lower = np.array([1.0, 0.5]) - upper
        moon = np.where(classes[:, np.newaxis] == 1.0, lower, upper)
        centred: FloatArray = (moon - np.array([0.5, 0.25])) / 1.5
        return centred


@final
class Quadrants(PlaneSet):
    """XOR as regions: target 1 if the signs of the two coordinates differ, else 0.

    Without noise, points are at least .06 away from the axes.

    Attributes:
        noise: standard deviation of normal noise on both coordinates; by default 0.0
        samples: number of points; by default 500
        share: share of the points used for training; the rest is held out; by default 0.5
        scale: factor of all coordinates; by default 1.0
        signed: whether targets are -1 and 1 instead of 0 and 1; by default False
        seed: seed of the points; by default 0
        order: "shuffled" (default), "in_order" or "picked", as in Arrays
        features: inputs computed from the coordinates: names of FEATURES, such as "x,y,x2" or a
            list; None (default) means x and y
    """

    name = "quadrants"

    def places(self, classes: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
        side = np.where(u < 0.5, -1.0, 1.0)
        x = side * (0.06 + 0.94 * abs(2.0 * u - 1.0))
        y = side * (1.0 - 2.0 * classes) * (0.06 + 0.94 * v)
        return np.stack([x, y], axis=1)


def features_in(names: object) -> list[str]:
    """Return a list of FEATURES names, given as text or list; an empty list means x and y.

    Raises InputError or UnknownNameError for invalid names.
    """
    if names is None:
        return []
    given = names.replace(" ", "").split(",") if isinstance(names, str) else names
    if not isinstance(given, (list, tuple)) or not given:
        raise InputError(
            f'features are names such as "x,y,x2" or ["x", "y", "x2"], not {shorten(names)}'
        )
    for name in given:
        pick(FEATURES, name, "feature")
    require(
        len(set(given)) == len(given),
        f"each feature can be an input once, not {shorten(names)}: leave one out",
    )
    return [] if tuple(given) == PLANE else list(given)


def around(radius: FloatArray, turns: FloatArray) -> FloatArray:
    """Return points at the given distances from the origin and angles, measured in turns."""
    angle = 2.0 * np.pi * turns
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def normals(u: FloatArray, v: FloatArray) -> FloatArray:
    """Return two standard normal numbers per row (Box-Muller transform)."""
    return around(np.sqrt(-2.0 * np.log(u)), v)


def as_targets(classes: FloatArray, signed: bool) -> FloatArray:
    """Return a column of targets: the classes 0 and 1, or -1 and 1 if `signed`."""
    return (2.0 * classes - 1.0 if signed else classes)[:, np.newaxis]
