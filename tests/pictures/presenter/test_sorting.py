"""Which digits are asked for and shown, and what is counted."""

from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.scene.exhibits.classified import Sorting
from scalarviz.stage.data_exhibits import (
    ASKED_DIGITS,
    ASKED_SLOWLY,
    SHOWN_DIGITS,
    exhibit_of,
    resized,
    sorting,
)

RNG = np.random.default_rng(0)
NAMED = RNG.integers(0, 10, 900)
PICTURES = RNG.integers(0, 256, (900, 8, 8))


def digits(**settings: Any) -> data.Digits:
    return data.Digits(**{"pictures": PICTURES, "labels": NAMED, "held_out": 500} | settings)


def knowing(known: data.Digits, *, mistakes: int = 0) -> Any:
    """A network that knows what is held out by heart, but for the first so many."""
    inputs, targets = known.held_out or known.training
    answers = {row.tobytes(): target for row, target in zip(inputs, targets, strict=True)}

    def ask(asked: np.ndarray) -> np.ndarray:
        said = np.array([answers[row.tobytes()] for row in asked])
        said[:mistakes] = np.roll(said[:mistakes], 1, axis=1)  # one digit further, 9 becomes 0
        return said

    return ask


def test_held_out_digits_are_counted_and_eight_of_each_are_shown() -> None:
    known = digits()
    shown = sorting(knowing(known), known, "cpu")
    assert shown.confusion.all == shown.confusion.right == ASKED_DIGITS
    assert np.bincount(shown.labels).tolist() == [SHOWN_DIGITS // 10] * 10
    assert (shown.said == shown.labels).all()
    assert (shown.title, shown.aside) == ("by prediction  held-out 100.0%", "held-out 100.0%")
    assert shown.of == "held-out digits"


def test_what_is_shown_are_the_pictures_of_what_is_said() -> None:
    known = digits()
    shown = sorting(knowing(known, mistakes=ASKED_DIGITS), known, "cpu")
    assert ((shown.labels + 1) % 10 == shown.said).all() and shown.confusion.accuracy == 0.0
    assert known.held_out is not None
    rows = {row.tobytes(): label for row, label in zip(*known.held_out, strict=True)}
    for picture, label in zip(shown.pictures, shown.labels, strict=True):
        assert rows[np.float32(picture.ravel()).tobytes()][label] == 1.0


def test_mistakes_are_counted_by_what_it_is_and_what_is_said() -> None:
    known = digits()
    counts = sorting(knowing(known, mistakes=100), known, "cpu").confusion.counts
    labels = NAMED[400:800]
    wanted = np.zeros((10, 10), int)
    for i, label in enumerate(labels):
        wanted[label, (label + 1) % 10 if i < 100 else label] += 1
    assert counts.tolist() == wanted.tolist()


def test_without_held_out_digits_it_is_asked_for_those_it_trains_on() -> None:
    known = digits(held_out=0.0)
    shown = sorting(knowing(known), known, "cpu")
    assert shown.aside == "training 100.0%" and shown.of == "training digits"


def test_a_large_picture_is_reduced_to_averages() -> None:
    large = RNG.integers(0, 256, (900, 56, 56))
    known = digits(pictures=large)
    shown = sorting(knowing(known), known, "cpu")
    assert shown.pictures.shape[1:] == (28, 28)
    place = np.flatnonzero(NAMED[400:] == NAMED[400])[0] + 400
    first = np.flatnonzero(shown.labels == NAMED[place])[0]
    wanted = large[place].reshape(28, 2, 28, 2).mean(axis=(1, 3)) / 255.0
    np.testing.assert_allclose(shown.pictures[first], wanted, atol=1e-6)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none_are_sorted_too(odd: float) -> None:
    known = digits()
    shown = sorting(lambda inputs: np.full((len(inputs), 10), odd), known, "cpu")
    assert (shown.said == 0).all() and shown.confusion.all == ASKED_DIGITS
    outputs = np.full((ASKED_DIGITS, 10), np.nan)
    outputs[:, 7] = -5.0
    assert (sorting(lambda inputs: outputs, known, "cpu").said == 7).all()


def test_a_session_that_learns_digits_shows_them() -> None:
    network = sv.Network([sv.Dense(64, 10)], seed=0)
    session = sv.Session(network, digits(), "softmax_cross_entropy", engine="python")
    shown = exhibit_of(session)
    assert isinstance(shown, Sorting) and shown.confusion.all == ASKED_SLOWLY
    assert isinstance(exhibit_of(session, knowing(session.data)), Sorting)  # a copy may be asked
    assert exhibit_of(session, knowing(session.data)).aside == "held-out 100.0%"


def test_a_smaller_picture_is_made_of_averages_and_a_larger_one_of_the_nearest() -> None:
    small = np.arange(16.0).reshape(4, 4)
    assert resized(small, 2, 2).tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert resized(small[:2, :2], 4, 2).tolist() == [[0, 1], [0, 1], [4, 5], [4, 5]]
