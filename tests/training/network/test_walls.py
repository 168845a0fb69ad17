"""Parameters of compiled functions by name: walls, state dicts, copies, files."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import EngineError, FileError, InputError, OwnershipError, ShapeError
from scalarviz.files.checked_safetensors import read, write
from tests.files.test_hostile_runs import spoiled
from tests.wording import refused

ENGINES = ["python", "cpu"]


def made(engine: str = "python", dtype: str = "float64") -> tuple[Any, dict[str, Any]]:
    draw = random.Random(0)
    names: dict[str, Any] = {
        "w": [[sv.Value(draw.uniform(-1.0, 1.0)) for _ in range(2)] for _ in range(3)],
        "b": [sv.Value(0.0), sv.Value(0.1), sv.Value(0.2, label="third")],
        "unused": sv.Value(9.0),
    }
    w, b, scale = names["w"], names["b"], sv.Value(2.0)

    def layer(x: Any, y: Any) -> Any:
        return [(w[i][0] * x + w[i][1] * y + b[i]).tanh() * scale for i in range(3)]

    return sv.compile(layer, 2, dtype, engine, parameters=names), names


def test_parameters_have_names_by_their_places() -> None:
    f, names = made()
    assert [f.name_of(row) for row in (0, 5, 6, 8, 9, 10)] == [
        *("w[0, 0]", "w[2, 1]", "b[0]", "third", "unused", "p10")
    ]
    assert f.parameters[0] is names["w"][0][0] and f.parameters[9] is names["unused"]
    assert {name: wall.shape for name, wall in f.walls.items()} == {
        "w": (3, 2),
        "b": (3,),
        "unused": (),
    }


def test_a_state_dict_has_an_array_for_each_name_and_one_for_the_rest() -> None:
    f, names = made()
    found = f.state_dict()
    assert {name: array.shape for name, array in found.items()} == {
        "w": (3, 2),
        "b": (3,),
        "unused": (),
        "parameters": (1,),
    }
    assert found["w"].tolist() == [[v.data for v in row] for row in names["w"]]
    found["w"][:] = 1.0  # a copy
    assert names["w"][0][0].data != 1.0


def test_a_state_dict_is_loaded_whole_or_not_at_all() -> None:
    f, names = made()
    before = f.bank.value.copy()
    with refused(InputError, "3, 2"):
        f.load_state_dict({**f.state_dict(), "w": np.ones((2, 3))})
    with refused(InputError, "unused"):
        f.load_state_dict({"w": np.ones((3, 2))})
    assert (f.bank.value == before).all()
    lacking = f.load_state_dict({"w": np.ones((3, 2))}, strict=False).missing_keys
    assert lacking == ["b", "unused"] or set(lacking) == {"b", "unused", "parameters"}
    assert names["w"][2][1].data == 1.0 and names["b"][1].data == 0.1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_moves_all_named_parameters_of_all_functions(engine: str) -> None:
    f, names = made(engine)
    g = sv.compile(lambda x: names["w"][0][0] * x, 1, engine=engine, parameters=names)
    assert g.bank is f.bank
    both = f.forward([1.0, 2.0]).sum() + g.forward([3.0])[0]
    assert np.isfinite(both)
    f.backward()
    f.step(sv.Adam(0.1))
    first = names["w"][2][1].data
    g.zero_grad()
    g.forward([3.0])
    g.backward()
    g.step(sv.Adam(0.1))  # has no gradient for this one, and goes on as Adam does
    assert names["w"][2][1].data != first


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_copy_has_numbers_of_its_own(engine: str, dtype: str) -> None:
    f, names = made(engine, dtype)
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    g = f.copy()
    assert (g.walls, g.dtype, g.engine) == (f.walls, dtype, engine)
    assert [g.name_of(row) for row in range(11)] == [f.name_of(row) for row in range(11)]
    for each in (f, g):
        each.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    assert (g.bank.value == f.bank.value).all()
    f.parameters[0].data = 5.0
    assert g.parameters[0].data != 5.0 and f.parameters[0] is names["w"][0][0]
    assert f.copy("float32").dtype == "float32"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_has_the_function_and_its_numbers(engine: str, tmp_path: Path) -> None:
    f, _ = made(engine)
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    f.save(tmp_path / "f.safetensors")
    g: Any = sv.load(tmp_path / "f.safetensors", engine)
    assert (g.walls, g.name, g.engine, repr(g)) == (f.walls, f.name, engine, repr(f))
    assert [g.name_of(row) for row in (0, 9, 10)] == [f.name_of(row) for row in (0, 9, 10)]
    batch = np.random.default_rng(0).normal(size=(5, 2))
    assert (g(batch) == f(batch)).all()
    for each in (f, g):  # the optimizer goes on, too
        each.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    assert (g.bank.value == f.bank.value).all()


def test_a_file_goes_to_no_engine_that_cannot_run_it(tmp_path: Path) -> None:
    f, _ = made()
    f.save(tmp_path / "f")
    with refused(EngineError, "cuda"):
        sv.load(tmp_path / "f", "cuda")
    with refused(InputError, ".onnx"):
        f.save(tmp_path / "f.onnx")


WRONG: dict[str, dict[str, Any]] = {
    "an operation of another name": {"operations": ["add", "system", "tanh"]},
    "no outputs": {"outputs": []},
    "an output that is not there": {"outputs": [10_000]},
    "inputs below 1": {"inputs": 0},
    "a wall beyond all parameters": {"walls": {"w": [1000, 1000]}},
    "a wall of no shape": {"walls": {"w": "big"}},
    "more inputs than memory": {"inputs": 10**12},
    "steps below 0": {"step_count": -1},
    "labels of others": {"labels": ["a", "b", "c", "d", "e"]},
    "another dtype": {"dtype": "float16"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_says_what_cannot_be_is_refused(name: str, tmp_path: Path) -> None:
    f, _ = made()
    f.save(tmp_path / "f")
    description, arrays = read(tmp_path / "f", "expression")
    write(tmp_path / "f", "expression", description | WRONG[name], arrays)
    with refused(FileError, "f"):
        sv.load(tmp_path / "f")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("operands", lambda a: np.full_like(a, 10**9)),
        ("operands", lambda a: a[:, :2].copy()),
        ("operands", lambda a: a[::-1].copy()),  # each would take what comes later
        ("operations", lambda a: a + 1000),
        ("operations", lambda a: a.astype(np.float64)),
        ("constants", lambda a: np.zeros((2, 2))),
        ("value", lambda a: a[:-1].copy()),
        ("slots m v", lambda a: a[:, :-1].copy()),
        ("slots m v", lambda a: a[:, :1].copy()),  # would fit any length
        ("grad", lambda a: a[:1].copy()),
    ],
)
def test_arrays_that_cannot_be_are_refused(name: str, change: Any, tmp_path: Path) -> None:
    f, _ = made()
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    f.save(tmp_path / "f")
    description, arrays = read(tmp_path / "f", "expression")
    write(tmp_path / "f", "expression", description, arrays | {name: change(arrays[name])})
    with refused(FileError, "f"):
        sv.load(tmp_path / "f")


def is_refused(path: Path) -> bool:
    try:
        sv.load(path)([1.0, 2.0])
    except FileError:
        return True
    return False


def test_a_spoiled_file_is_refused_or_a_function(tmp_path: Path) -> None:
    f, _ = made()
    f.train_step([[1.0, 2.0]], [[0.1, 0.2, 0.3]], "mse", sv.Adam(0.1))
    f.save(tmp_path / "good")
    description, arrays = read(tmp_path / "good", "expression")
    count = 0
    for seed in range(150):
        write(tmp_path / "f", "expression", spoiled(description, random.Random(seed)), arrays)
        with suppress(ShapeError):  # one of other inputs
            count += is_refused(tmp_path / "f")
    assert count > 60


def test_names_that_cannot_be_are_refused() -> None:
    a, b, c = sv.Value(1.0), sv.Value(2.0), sv.Value(3.0)

    def product(x: Any) -> Any:
        return a * b * c * x

    wrongs: list[Any] = [[a], {1: a}, {"w": 3.0}, {"w": [[a], [b, c]]}, {"w": []}, {"w": a * b}]
    for wrong in wrongs:
        with refused(InputError):
            sv.compile(product, 1, parameters=wrong)
    with refused(InputError, "'w'", "'v'"):
        sv.compile(product, 1, parameters={"w": [a, b], "v": b})
    with refused(InputError, "'w'"):
        sv.compile(product, 1, parameters={"w": [a, a]})
    assert sv.compile(product, 1)([1.0])[0] == 6.0  # nothing was moved to a bank
    with refused(OwnershipError, "'w'"):
        sv.compile(product, 1, parameters={"w": [b, a]})


def test_a_call_that_is_refused_leaves_no_labels() -> None:
    a, b = sv.Value(1.0), sv.Value(2.0)
    with refused(InputError, "'w'"):
        sv.compile(lambda x: a * x, 1, parameters={"w": [a, b], "v": [b]})
    with refused(InputError, "'parameters'"):  # the name of those that have none
        sv.compile(lambda x: a * b * x, 1, parameters={"parameters": [a]})
    assert (a.label, b.label) == ("", "")


def test_max_of_values_says_what_to_write() -> None:
    with refused(InputError, "sv.maximum(a, b)"):
        sv.compile(lambda x, y: max(x, y), 2)


def test_gradients_of_a_compiled_function_are_checked() -> None:
    f, _ = made()
    assert sv.gradcheck(f, [[1.0, 2.0], [0.5, -1.0]]).error < 1e-6
