"""Runs saved without their samples: they go on with the same ones, and with no others."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.files.checked_safetensors import read, write
from tests.files.test_hostile_runs import OTHERS
from tests.wording import refused

X = np.random.default_rng(0).random((40, 6), np.float32)
KINDS = np.array(["cat", "dog", "owl"])[np.arange(40) % 3]
ENGINES = pytest.mark.parametrize("engine", ["python", "cpu"])


def table(x: object = X, kinds: object = KINDS, **options: Any) -> data.Arrays:
    return data.Arrays(x, kinds, **{"share": 0.75, **options})


def trained(engine: str = "python", known: object = None) -> sv.Session:
    """A session that has trained on arrays, went back, and did something else."""
    net = sv.Network([6, 4, 3], "tanh", seed=0)
    chosen = table() if known is None else known
    s = sv.Session(net, chosen, "softmax_cross_entropy", sv.Adam(0.01), batch=8, engine=engine)
    s.advance(6)
    s.back(2)
    s.learning_rate = 0.1
    s.add_samples(X[0] + 1.0, 1)
    s.advance(3)
    return s


@pytest.fixture
def path(tmp_path: Path) -> Path:
    trained().save(tmp_path / "run", data=False)
    return tmp_path / "run"


@ENGINES
def test_it_goes_on_with_the_same_data(engine: str, tmp_path: Path) -> None:
    s, given = trained(engine), table()
    s.save(tmp_path / "run", data=False)
    z = sv.Session.load(tmp_path / "run", given)
    assert str(z.data) == str(s.data)
    assert z.data.output_names == ["cat", "dog", "owl"]
    for each in (s, z):
        each.advance(5)
        each.seek(2)
        each.advance(4)
    assert (s.network.bank.value == z.network.bank.value).all()


def test_samples_are_neither_in_the_file_nor_copied_when_it_is_loaded(path: Path) -> None:
    description, arrays = read(path, "run")
    assert all(40 not in array.shape for array in arrays.values())
    assert X[20].tobytes() not in path.read_bytes()
    given = table()
    start = sv.Session.load(path, given).branches[0].frames[0].settings.data
    assert isinstance(start, data.Arrays)
    assert np.shares_memory(start.training[0], given.training[0])
    assert description["start"]["data"]["data"]["samples"]["inputs"] == "40 x 6 float32"


def test_a_pair_of_arrays_does_as_well(tmp_path: Path) -> None:
    pair = X, np.arange(40.0) % 3
    s = trained(known=pair)
    s.save(tmp_path / "run", data=False)
    z = sv.Session.load(tmp_path / "run", (X.copy(), [i % 3 for i in range(40)]))
    s.advance(3)
    z.advance(3)
    assert (s.network.bank.value == z.network.bank.value).all()


def test_data_of_a_file_and_of_the_session_are_the_same(tmp_path: Path) -> None:
    text = "\n".join(
        ",".join([*map(repr, map(float, row)), name]) for row, name in zip(X, KINDS, strict=True)
    )
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    known = sv.data.from_csv(tmp_path / "t.csv")
    s = trained(known=known)
    s.save(tmp_path / "csv", data=False)
    for given in (sv.data.from_csv(tmp_path / "t.csv"), s.data):
        z = sv.Session.load(tmp_path / "csv", given)
        assert (z.network.bank.value == s.network.bank.value).all()
        assert z.data.samples == s.data.samples


def test_names_and_classes_are_those_of_the_file(path: Path) -> None:
    given = table(kinds=np.arange(40) % 3, classes=3)
    given.output_names = ["a", "b", "c"]
    z = sv.Session.load(path, given)
    assert z.data.output_names == ["cat", "dog", "owl"]
    assert given.output_names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (None, "data=(inputs, targets)"),
        (data.Xor(), "not Xor"),
        (table(X.astype(np.float64)), "float64"),
        (table(X[1:], KINDS[1:]), "39 x 6"),
        (table(X[:, :5]), "40 x 5"),
        (table(share=0.5), "20 samples"),
        (table(order="picked"), "picked"),
        (table(seed=1), "inputs of the data passed have other numbers"),
        (table(X + 1.0), "inputs of the data passed have other numbers"),
        (table(kinds=KINDS[::-1]), "targets of the data passed have other numbers"),
    ],
)
def test_other_data_are_refused_by_what_differs(given: object, value: str, path: Path) -> None:
    with refused(FileError, value):
        sv.Session.load(path, given)


def test_what_the_package_makes_itself_is_saved_as_ever(tmp_path: Path) -> None:
    for known in (data.Xor(), data.Rgb(np.zeros((2, 2, 2, 3)), levels=2)):
        s = sv.Session(sv.Network([known.inputs, known.outputs]), known, engine="python")
        s.save(tmp_path / "all")
        s.save(tmp_path / "less", data=False)
        assert (tmp_path / "all").read_bytes() == (tmp_path / "less").read_bytes()


def test_a_run_of_two_data_sets_is_saved_whole_or_not_at_all(tmp_path: Path) -> None:
    s = trained()
    s.data = table(X + 1.0)
    with refused(InputError, "2 data sets"):
        s.save(tmp_path / "run", data=False)
    assert not [*tmp_path.iterdir()]
    with refused(InputError, "None"):
        s.save(tmp_path / "run", data=None)  # type: ignore[arg-type]  # wrong on purpose


def test_an_unsuitable_entry_is_refused_or_does_no_harm(path: Path) -> None:
    description, arrays = read(path, "run")
    entry = description["start"]["data"]["data"]
    for where in (entry, entry["settings"], entry["samples"]):
        for key in [*where]:
            kept = where[key]
            for other in OTHERS:
                where[key] = other
                write(path, "run", description, arrays)
                with suppress(ScalarvizError):
                    sv.Session.load(path, table())
            where[key] = kept


def test_many_classes_in_a_file_take_no_memory(path: Path) -> None:
    description, arrays = read(path, "run")
    description["start"]["data"]["data"]["settings"]["classes"] = 2**24
    write(path, "run", description, arrays)
    with refused(FileError, "the rows of its labels"):
        sv.Session.load(path, table())
