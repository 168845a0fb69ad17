"""sv.lookup: a row of a table by its index, also by the input of a compiled function."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError
from tests.wording import refused


def table(rows: int = 4, columns: int = 3) -> list[list[sv.Value]]:
    numbers = np.random.default_rng(0).normal(size=(rows, columns)).tolist()
    return [[sv.Value(x) for x in row] for row in numbers]


@pytest.mark.parametrize("index", [2, np.int64(2), sv.Value(2), 2.0])
def test_a_known_index_gives_the_row_itself(index: Any) -> None:
    rows = table()
    assert sv.lookup(rows, index) is rows[2]
    assert sv.lookup(rows[0], index) is rows[0][2]


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_an_input_chooses_at_each_call(engine: str) -> None:
    rows = table()
    f = sv.compile(lambda i: sv.lookup(rows, i), 1, parameters={"rows": rows}, engine=engine)
    inputs = [[2.0], [0.0], [3.0], [2.0], [-5.0], [9.0]]
    wanted = [[x.data for x in rows[i]] for i in (2, 0, 3, 2, 0, 3)]
    np.testing.assert_array_equal(f.forward(np.array(inputs)), wanted)


def test_the_gradient_goes_to_the_row_alone() -> None:
    rows = table()
    f = sv.compile(lambda i: sv.lookup(rows, i)[1] * 5.0, 1, engine="python")
    f.forward(np.array([[2.0]]))
    f.backward()
    grads = [[row[1].grad] for row in rows]
    assert grads == [[0.0], [0.0], [5.0], [0.0]]


def test_sequences_of_different_lengths_are_a_batch() -> None:
    """A letter guesses the next one; -1 stands behind the end, where no loss is counted."""
    rows = table(3, 3)

    def surprise(*letters: Any) -> Any:
        total, count = sv.Value(0.0), sv.Value(0.0)
        for letter, following in pairwise(letters):
            scores = sv.lookup(rows, letter)
            weights = [each.exp() for each in scores]
            own = -(sv.lookup(weights, following) / (weights[0] + weights[1] + weights[2])).log()
            total = total + sv.where(following >= 0, own, 0.0)
            count = count + (following >= 0)
        return total / count

    words = [[0, 1, 2, 1], [2, 2], [1, 0, 0]]
    padded = np.array([[*word, *[-1] * (4 - len(word))] for word in words], float)
    f = sv.compile(surprise, 4, engine="python", parameters={"rows": rows})
    numbers = np.array([[x.data for x in row] for row in rows])
    shares = np.exp(numbers) / np.exp(numbers).sum(axis=1, keepdims=True)
    wanted = [[np.mean([-np.log(shares[a, b]) for a, b in pairwise(w)])] for w in words]
    np.testing.assert_allclose(f.forward(padded), wanted)


@pytest.mark.parametrize("index", [4, -1, 1.5, float("nan"), "a"])
def test_a_wrong_index_is_refused(index: Any) -> None:
    with refused(InputError, index):
        sv.lookup(table(), index)


@pytest.mark.parametrize("rows", [[], [[sv.Value(1.0)], [sv.Value(1.0), sv.Value(2.0)]]])
def test_rows_of_different_lengths_are_refused(rows: Any) -> None:
    with refused(InputError):
        sv.lookup(rows, 0)
