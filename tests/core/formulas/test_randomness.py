"""The one random generator."""

import numpy as np
import pytest

from scalarviz.core.formulas.initializers import Init
from scalarviz.core.formulas.randomness import check_seed, philox, shuffled, unit_pairs
from scalarviz.errors import InputError
from tests.wording import refused

# Published with the generator (Random123's known-answer tests).
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_it_is_philox(counter: str, key: str, result: str) -> None:
    assert list(philox(*words(counter), *words(key))) == words(result)


def test_arrays_give_the_same_words_as_integers() -> None:
    index = np.arange(1000, dtype=np.int64) * 4_294_967  # up to 2**32
    on_array = philox(index, 5, 6, 7, 8, 2**32 - 1)
    for i in (0, 1, 999):
        assert [int(word[i]) for word in on_array] == list(
            philox(int(index[i]), 5, 6, 7, 8, 2**32 - 1)
        )


def test_a_draw_depends_on_its_number_alone() -> None:
    whole, _ = unit_pairs(3, 0, 0, 0, 100)
    part, _ = unit_pairs(3, 0, 0, 40, 10)
    assert (whole[40:50] == part).all()


def test_the_draws_are_uniform_and_independent() -> None:
    u, v = unit_pairs(0, 0, 0, 0, 100_000)
    counts = np.histogram(u, 100, (0.0, 1.0))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 160  # chi-square, 99 degrees: .01% above
    assert abs(np.corrcoef(u, v)[0, 1]) < 0.015
    assert u.min() > 0.0 and u.max() < 1.0


def test_normal_draws_have_their_mean_and_deviation() -> None:
    init = Init("normal", mean=2.0, deviation=0.5)
    draws = init.draw(init.weight, (3, 4), 0, 0, 100_000)
    assert draws.mean() == pytest.approx(2.0, abs=0.01)
    assert draws.std() == pytest.approx(0.5, abs=0.01)
    assert ((draws > 1.5) & (draws < 2.5)).mean() == pytest.approx(0.6827, abs=0.01)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "0", None, True])
def test_a_seed_must_be_an_integer_of_64_bits(seed: object) -> None:
    with refused(InputError, seed):
        check_seed(seed)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 100, 1000, 1025])
def test_shuffling_visits_every_sample_once(count: int) -> None:
    places = np.arange(count)
    for epoch in range(5):
        order = shuffled(3, epoch, places, count)
        assert sorted(order) == list(places)
        assert (shuffled(3, epoch, places[-3:], count) == order[-3:]).all()


def test_a_sample_comes_anywhere_and_says_nothing_about_its_neighbour() -> None:
    orders = np.array([shuffled(1, epoch, np.arange(100), 100) for epoch in range(2000)])
    gaps = np.bincount((orders[:, 1] - orders[:, 0]) % 100, minlength=100)[1:]
    for counts in (np.bincount(orders[:, 0], minlength=100), gaps):
        expected = 2000 / len(counts)
        assert ((counts - expected) ** 2 / expected).sum() < 170  # chi-square: under .01% above


def test_three_samples_come_in_all_orders() -> None:
    orders = [tuple(shuffled(0, epoch, np.arange(3), 3)) for epoch in range(3000)]
    assert all(400 < orders.count(order) < 600 for order in set(orders))
    assert len(set(orders)) == 6
