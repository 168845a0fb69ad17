"""Arrays of float32 are held once, whatever a session makes of them, and train as float64 does."""

import pickle
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import InputError, NotFiniteError
from tests.wording import refused

X = np.random.default_rng(0).random((20_000, 100), np.float32)
KINDS = np.arange(20_000) % 3
ENGINES = pytest.mark.parametrize("engine", ["python", "cpu"])


def trained(x: np.ndarray, kinds: np.ndarray, options: dict[str, Any]) -> data.Arrays:
    """The data of a session after some steps."""
    net, table = sv.Network([100, 4, 3]), data.Arrays(x, kinds, **options)
    loss = "softmax_cross_entropy"
    s = sv.Session(net, table, loss, sv.SGD(0.1), 64, "cpu", metrics=["accuracy"])
    s.advance(3)
    assert isinstance(s.data, data.Arrays)
    return s.data


@pytest.mark.parametrize("options", [{}, {"share": 0.8}, {"held_out": 100}])
def test_a_session_takes_the_memory_of_one_copy(options: dict[str, Any]) -> None:
    trained(X[:200], KINDS[:200], options)  # compiles, which takes memory
    tracemalloc.start()
    try:
        table = trained(X, KINDS, options)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1.5 * X.nbytes  # labels as rows and batches included
    assert table.training[0].dtype == np.float32
    assert np.shares_memory(table.training[0], table.settings()["inputs"])


@ENGINES
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_it_trains_as_on_the_same_numbers_in_float64(engine: str, dtype: str) -> None:
    found = set()
    for x in (X[:60], X[:60].astype(np.float64), np.asfortranarray(X[:60])):
        table = data.Arrays(x, KINDS[:60], share=0.8)
        net = sv.Network([100, 4, 3], "tanh", dtype=dtype, seed=1)
        loss = "softmax_cross_entropy"
        s = sv.Session(net, table, loss, batch=16, engine=engine, metrics=["loss"], every=2)
        s.advance(5)
        tested = s.metrics["held_out_loss"][1]
        found.add((net.bank.value.tobytes(), s.losses.tobytes(), tested.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("options", [{}, {"share": 0.5}, {"held_out": 1}])
def test_arrays_that_change_afterwards_do_not_change_the_data(
    dtype: type, options: dict[str, Any]
) -> None:
    x: np.ndarray = np.arange(12, dtype=dtype).reshape(6, 2)
    y: np.ndarray = np.arange(6, dtype=dtype)
    table = data.Arrays(x, y, **options)
    before = table.training[0].tobytes(), table.training[1].tobytes()
    x[:], y[:] = 7, 7
    assert (table.training[0].tobytes(), table.training[1].tobytes()) == before


def test_labels_of_held_out_samples_are_refused_with_their_own_row() -> None:
    held_out = X[:5], [0, 1, 3, 0, 1]
    with refused(InputError, "3 at row 2 of the held-out samples"):
        data.Arrays(X[:9], [0, 1] * 4 + [0], classes=2, held_out=held_out)
    table = data.Arrays(X[:9], [0, 1] * 4 + [0], held_out=held_out)
    with refused(InputError, "3 at row 2 of the held-out samples"):
        sv.Session(sv.Network([X.shape[1], 2]), table, "softmax_cross_entropy")


def test_labels_of_a_share_are_refused_with_their_row() -> None:
    labels = np.zeros(50)
    labels[17] = 5.0
    table = data.Arrays(X[:50], labels, share=0.5)
    with refused(InputError, "5 at row 17"):
        sv.Session(sv.Network([100, 3]), table, "softmax_cross_entropy")


def test_a_number_that_is_not_finite_is_found_in_float32() -> None:
    wrong = X.copy()
    wrong[3999, 42] = np.inf
    with refused(NotFiniteError, "inf at row 3999, column 42"):
        data.Arrays(wrong, KINDS)


def test_names_of_two_classes_lose_the_first_without_a_copy() -> None:
    table = data.Arrays(X, np.where(KINDS == 0, "no", "yes"))
    s = sv.Session(sv.Network([100, 1]), table, "sigmoid_cross_entropy")
    assert list(s.data.output_names) == ["yes"]
    assert list(table.output_names) == ["no", "yes"]
    assert isinstance(s.data, data.Arrays)
    assert s.data.training[0] is table.training[0]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "f8", "i8"])
def test_an_npz_file_of_pictures_keeps_float32(dtype: str, tmp_path: Path) -> None:
    pictures = np.arange(48).reshape(3, 1, 4, 4).astype(dtype)
    np.savez(tmp_path / "a.npz", x=pictures, y=[0, 1, 1])
    table = data.from_npz(tmp_path / "a.npz")
    assert table.sample_shape == (1, 4, 4)
    assert table.training[0].dtype == (np.float32 if dtype == "<f4" else np.float64)
    assert (table.training[0] == pictures.reshape(3, -1)).all()


def test_a_pickle_has_the_samples_once() -> None:
    table = sv.Session(sv.Network([100, 3]), (X, KINDS), "softmax_cross_entropy").data
    kept = pickle.dumps(table)
    assert len(kept) < 1.5 * X.nbytes
    again = pickle.loads(kept)
    assert (again.training[0] == X).all()
