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


@every_cloud
def test_half_of_the_points_are_held_out(kind: type[PlaneSet]) -> None:
    known = kind(samples=200)
    assert known.held_out is not None
    assert known.samples == len(known.held_out[0]) == 100
    assert kind(samples=200, share=1.0).held_out is None


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
def test_the_seed_decides_which_points(kind: type[PlaneSet]) -> None:
    assert (whole(kind)[0] == whole(kind, seed=0)[0]).all()
    assert not (whole(kind)[0] == whole(kind, seed=1)[0]).any()


@every_cloud
def test_more_points_begin_with_the_same(kind: type[PlaneSet]) -> None:
    assert (whole(kind, samples=50, noise=0.1)[0] == whole(kind, noise=0.1)[0][:50]).all()


@every_cloud
def test_coordinates_are_multiples_of_a_millionth_or_so(kind: type[PlaneSet]) -> None:
    inputs, _ = whole(kind, noise=0.1)
    assert (inputs * 2**20 % 1.0 == 0.0).all()


def test_a_circle_is_inside_and_a_ring_outside() -> None:
    inputs, targets = whole(data.Circle)
    radius = np.hypot(*inputs.T)
    assert radius[targets == 1.0].max() <= 0.5 + 1e-6
    assert radius[targets == 0.0].min() >= 0.7 - 1e-6


def test_gaussians_have_their_middles_and_deviation() -> None:
    inputs, targets = whole(data.Gaussians, samples=10_000)
    for value, middle in ((1.0, 0.4), (0.0, -0.4)):
        cloud = inputs[targets == value]
        assert cloud.mean(axis=0) == pytest.approx([middle, middle], abs=0.01)
        assert cloud.std(axis=0) == pytest.approx([0.14, 0.14], abs=0.005)


def test_the_arms_of_a_spiral_are_each_others_mirror() -> None:
    inputs, targets = whole(data.Spiral)
    radius = np.hypot(*inputs.T)
    turns = np.arctan2(inputs[:, 1], inputs[:, 0]) / (2 * np.pi) - 1.75 * radius - 0.5 * targets
    assert abs(np.exp(2j * np.pi * turns) - 1.0)[radius > 0.01].max() < 1e-3


def test_moons_are_half_circles() -> None:
    inputs, targets = whole(data.Moons)
    for value, middle, side in ((0.0, (-1 / 3, -1 / 6), 1), (1.0, (1 / 3, 1 / 6), -1)):
        arm = inputs[targets == value] - middle
        assert np.hypot(*arm.T) == pytest.approx(2 / 3, abs=1e-5)
        assert (side * arm[:, 1] > -1e-5).all()


def test_quadrants_are_xor_of_the_signs() -> None:
    inputs, targets = whole(data.Quadrants)
    assert ((inputs[:, 0] * inputs[:, 1] < 0) == (targets == 1.0)).all()
    assert abs(inputs).min() > 0.059
    assert {*map(tuple, np.sign(inputs))} == {(1, 1), (1, -1), (-1, 1), (-1, -1)}


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


def test_a_data_set_of_features_is_made_again_from_its_settings() -> None:
    made = data.Spiral(features=["siny", "x2"], noise=0.1)
    again = data.remake("spiral", made.settings())
    np.testing.assert_array_equal(again.training[0], made.training[0])
    assert list(again.input_names) == ["sin y", "x²"]
    assert "features=['siny', 'x2']" in repr(made)


def test_x_and_y_themselves_are_no_features() -> None:
    plain = data.Circle()
    for features in ("x,y", ["x", "y"], None):
        made = data.Circle(features=features)
        assert made.settings() == plain.settings() and made.inputs_of(made.points) is made.points
    assert data.Circle(features="y,x").training[0].tolist() == plain.training[0][:, ::-1].tolist()


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
