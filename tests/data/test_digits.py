"""Digits: those of scikit-learn, and the user's own."""

from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.data.digits import built_in
from scalarviz.errors import InputError, ShapeError
from tests.wording import refused

PIXELS = np.random.default_rng(0).integers(0, 256, (20, 3, 2))
NAMED = np.arange(20) % 10


@pytest.fixture
def learn() -> Any:
    return pytest.importorskip("sklearn.datasets", reason="the digits are inside scikit-learn")


def rows(table: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in np.ascontiguousarray(table)}


def test_their_file_has_every_number_of_scikit_learn(learn: Any) -> None:
    known, (pictures, labels) = learn.load_digits(), built_in()
    assert pictures.dtype == labels.dtype == np.uint8
    np.testing.assert_array_equal(pictures, known.images)
    np.testing.assert_array_equal(labels, known.target)


def test_the_digits_are_those_of_scikit_learn(learn: Any) -> None:
    known, digits = learn.load_digits(), data.Digits()
    assert digits.shape == (1, 8, 8) and (digits.inputs, digits.outputs) == (64, 10)
    assert digits.held_out is not None
    assert (digits.samples, len(digits.held_out[0])) == (1438, 359)
    inputs, targets = (
        np.concatenate(parts) for parts in zip(digits.training, digits.held_out, strict=True)
    )
    assert inputs.dtype == targets.dtype == np.float32
    assert (targets.sum(axis=1) == 1.0).all() and set(np.unique(targets)) == {0.0, 1.0}
    found = {
        (row.tobytes(), label) for row, label in zip(inputs, targets.argmax(axis=1), strict=True)
    }
    wanted = {
        (np.float32(row / 16.0).tobytes(), label)
        for row, label in zip(known.data, known.target, strict=True)
    }
    assert found == wanted


def test_which_are_held_out_depends_on_the_seed_alone(learn: Any) -> None:
    whole, again, other = data.Digits(), data.Digits(), data.Digits(seed=1)
    assert whole.held_out is not None and again.held_out is not None and other.held_out is not None
    assert whole.held_out[0].tobytes() == again.held_out[0].tobytes()
    assert rows(whole.held_out[0]) != rows(other.held_out[0])
    assert not rows(whole.training[0]) & rows(whole.held_out[0])
    few = data.Digits(digits=range(8))
    assert few.held_out is not None
    assert rows(few.held_out[0]) < rows(whole.held_out[0])
    assert rows(few.training[0]) < rows(whole.training[0])


@pytest.mark.parametrize("chosen", ["89", [9, 8], {8, 9}, range(8, 10), np.array([8, 9])])
def test_only_some_digits_can_be_chosen_and_targets_stay_ten(learn: Any, chosen: Any) -> None:
    digits = data.Digits(digits=chosen)
    assert digits.held_out is not None
    for _, targets in (digits.training, digits.held_out):
        assert targets.shape[1] == 10
        assert set(targets.argmax(axis=1)) == {8, 9}
    assert repr(digits) == "Digits(digits='89'): 64 -> 10, 276 samples, 78 held out"


def test_digits_of_ones_own() -> None:
    digits = data.Digits(pictures=PIXELS, labels=NAMED, held_out=4)
    assert digits.shape == (1, 3, 2) and digits.held_out is not None
    np.testing.assert_array_equal(
        digits.training[0], np.float32(PIXELS[:16].reshape(16, 6)) / np.float32(255)
    )
    assert digits.held_out[1].argmax(axis=1).tolist() == [6, 7, 8, 9]
    assert repr(digits).startswith("Digits(held_out=4, pictures=20 x 3 x 2, labels=20): 6 -> 10")


@pytest.mark.parametrize(
    ("settings", "error", "value"),
    [
        ({"held_out": 20}, InputError, "not 20"),
        ({"held_out": 1.5}, InputError, "1.5"),
        ({"held_out": -0.1}, InputError, "-0.1"),
        ({"held_out": 0.99}, InputError, "0123456789"),
        ({"digits": "12x"}, InputError, "'12x'"),
        ({"digits": [10]}, InputError, "not [10]"),
        ({"digits": []}, InputError, "not []"),
        ({"digits": 7}, InputError, "not 7"),
        ({"seed": -1}, InputError, "-1"),
        ({"order": "random"}, InputError, "'random'"),
        ({"folder": "."}, InputError, "not both"),
        ({"labels": NAMED[:3]}, ShapeError, "3 labels"),
        ({"labels": NAMED + 1}, InputError, "not 10"),
        ({"labels": None}, ShapeError, "of shape ()"),
        ({"pictures": PIXELS[0]}, ShapeError, "of shape (3, 2)"),
        ({"pictures": PIXELS / 2.0}, InputError, "float64 such as 108.5"),
        ({"pictures": PIXELS + 1}, InputError, "int64"),
        ({"pictures": PIXELS - 1}, InputError, "int64"),
    ],
)
def test_bad_settings_are_refused(
    settings: dict[str, Any], error: type[Exception], value: str
) -> None:
    with refused(error, value):
        data.Digits(**{"pictures": PIXELS, "labels": NAMED} | settings)
