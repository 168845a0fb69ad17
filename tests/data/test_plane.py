"""XOR, XNOR and the clouds of points."""

from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.data.plane import PlaneSet
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused

CLOUDS = [data.Circle, data.Gaussians, data.Spiral, data.Moons, data.Quadrants]
every_cloud = pytest.mark.parametrize("kind", CLOUDS)


def whole(kind: type[PlaneSet], **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """All points of a cloud and their classes."""
    inputs, targets = kind(share=1.0, **settings).training
    return inputs, targets[:, 0]


def test_xor_is_1_where_one_input_is() -> None:
    inputs, targets = data.Xor().training
    assert inputs.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert targets.tolist() == [[0], [1], [1], [0]]


def test_xnor_is_1_where_both_inputs_agree() -> None:
    assert data.Xnor().training[1].ravel().tolist() == [1, 0, 0, 1]


def test_the_third_input_of_xor_can_be_1() -> None:
    inputs, _ = data.Xor(bias=True).training
    assert inputs[:, 2].tolist() == [1, 1, 1, 1]
    assert data.Xor(bias=True).inputs == 3


def test_signed_targets_are_minus_1_and_1() -> None:
    assert data.Xor(signed=True).training[1].ravel().tolist() == [-1, 1, 1, -1]
    assert set(whole(data.Moons, signed=True)[1]) == {-1.0, 1.0}


def test_one_random_corner_a_step() -> None:
    batches = data.Xor(order="picked").batches(1, seed=3)
    corners = [batches.at(step)[0][0].tolist() for step in range(400)]
    for corner in ([0, 0], [0, 1], [1, 0], [1, 1]):
        assert 70 < corners.count(corner) < 130


@every_cloud
def test_half_of_the_points_belong_to_each_class(kind: type[PlaneSet]) -> None:
    inputs, targets = whole(kind, samples=200)
    assert inputs.shape == (200, 2)
    assert set(targets) == {0.0, 1.0}
    assert targets.mean() == 0.5


def test_each_arm_of_a_spiral_makes_one_and_three_quarter_turns_opposite_to_the_other() -> None:
    inputs, classes = whole(data.Spiral, samples=4000)
    radius = np.hypot(*inputs.T)
    angle = 2.0 * np.pi * (1.75 * radius + 0.5 * classes)
    np.testing.assert_allclose(inputs.T, radius * [np.cos(angle), np.sin(angle)], atol=1e-4)
    assert radius.min() < 0.01 and radius.max() > 0.99


@every_cloud
def test_the_square_worth_showing_holds_the_points(kind: type[PlaneSet]) -> None:
    low, high = kind(scale=5.0).bounds
    inputs, _ = whole(kind, scale=5.0)
    assert (low, high) == (-6.0, 6.0)
    assert low < inputs.min() < -2.0
    assert 2.0 < inputs.max() < high


@every_cloud
def test_noise_is_normal_and_moves_no_class(kind: type[PlaneSet]) -> None:
    clean, classes = whole(kind, samples=4000)
    noisy, same = whole(kind, samples=4000, noise=0.2)
    assert (classes == same).all()
    shift = noisy - clean
    assert abs(shift.mean()) < 0.01
    assert abs(np.corrcoef(shift.ravel(), clean.ravel())[0, 1]) < 0.05
    assert shift.std() == pytest.approx(0.2, abs=0.01)
    assert (abs(shift) < 0.2).mean() == pytest.approx(0.6827, abs=0.02)


@every_cloud
def test_coordinates_are_multiples_of_a_millionth_or_so(kind: type[PlaneSet]) -> None:
    inputs, _ = whole(kind, noise=0.1)
    assert (inputs * 2**20 % 1.0 == 0.0).all()


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"noise": -0.1}, "-0.1"),
        ({"noise": 1e308}, "1e+308"),
        ({"scale": 2e6}, "2000000.0"),
        ({"samples": 0}, "not 0"),
        ({"samples": 10**9}, "1,000,000,000"),
        ({"scale": 0}, "scale"),
        ({"share": 2}, "not 2"),
        ({"signed": 1}, "not 1"),
        ({"seed": -1}, "-1"),
        ({"order": "random"}, "'random'"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], value: str) -> None:
    with refused(InputError, value):
        data.Circle(**settings)


# Features.


@every_cloud
def test_features_are_computed_of_the_coordinates(kind: type[PlaneSet]) -> None:
    plain = kind(scale=5.0, samples=40)
    made = kind(scale=5.0, samples=40, features="x, y,x2,y2,xy,sinx,siny")
    assert made.inputs == 7 and made.held_out is not None and plain.held_out is not None
    assert list(made.input_names) == ["x", "y", "x²", "y²", "xy", "sin x", "sin y"]
    for inputs, points in (
        (made.training[0], plain.training[0]),
        (made.held_out[0], plain.held_out[0]),
    ):
        x, y = points.T
        wanted = np.stack([x, y, x * x, y * y, x * y, np.sin(x), np.sin(y)], axis=1)
        np.testing.assert_allclose(inputs, wanted, rtol=0.0, atol=2.0**-20)
        np.testing.assert_array_equal(made.inputs_of(points), inputs)
    np.testing.assert_array_equal(made.training[1], plain.training[1])
    np.testing.assert_array_equal(made.points, plain.training[0])
    np.testing.assert_array_equal(made.held_out_points, plain.held_out[0])


def test_a_data_set_of_features_counts_their_bytes() -> None:
    settings = {"samples": 1000, "features": ["x", "x2", "xy"]}
    assert data.Circle.cost(settings) == data.Circle.cost({"samples": 1000}) + 3 * 8000


@pytest.mark.parametrize(
    ("features", "error", "value"),
    [
        ("x,z", UnknownNameError, "'z'"),
        ("x,x", InputError, "'x,x'"),
        ([], InputError, "[]"),
        (3, InputError, "3"),
    ],
)
def test_wrong_features_are_refused(features: Any, error: type[Exception], value: str) -> None:
    with refused(error, value):
        data.Circle(features=features)
