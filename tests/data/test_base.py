"""DataSet, TableSet and Arrays: batches, settings, held-out samples, errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.limits import Budget
from scalarviz.data.batches import GeneratedBatches, InOrder
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from tests.sessions import reloaded
from tests.wording import refused

TABLE = np.arange(20.0).reshape(10, 2), np.arange(10.0)[:, np.newaxis]

SETS = [
    data.Rgb("hue", samples=50, angle=30.0, seed=3),
    data.Rgb(lambda rgb: rgb**2, levels=3),
    data.Rgb(np.random.default_rng(0).random((4, 4, 4, 3)), levels=5),
    data.Xor(bias=True, order="picked"),
    data.Xnor(signed=True),
    data.Circle(noise=0.1, samples=40, share=0.25, seed=9),
    data.Gaussians(),
    data.Spiral(scale=5.0, order="in_order"),
    data.Moons(share=1.0),
    data.Quadrants(signed=True),
    data.Texture(transform="flip", size=16, samples=100),
    data.Texture(np.full((2, 3, 3), 200, np.uint8), color_space="linear"),
    data.Digits(pictures=np.arange(240).reshape(20, 4, 3), labels=np.arange(20) % 10, digits="358"),
    data.Arrays(*TABLE, share=0.5, seed=4, source="numbers.csv"),
]
every_set = pytest.mark.parametrize("known", SETS, ids=[str(known) for known in SETS])


def same(one: Any, other: Any) -> bool:
    """Whether two pairs of arrays, or None, have the same bits."""
    if one is None or other is None:
        return one is other
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


@every_set
def test_its_settings_make_the_same_data_again(known: data.DataSet) -> None:
    settings = known.settings()
    for value in settings.values():
        assert isinstance(value, (int, float, str, np.ndarray))
    again = data.remake(known.name, settings)
    assert again.describe() == known.describe()
    assert same(again.held_out, known.held_out)
    for step in range(4):
        assert same(again.batches(7, 5).at(step), known.batches(7, 5).at(step))


@every_set
def test_a_batch_has_the_widths_it_says_and_depends_on_seed_and_step(known: data.DataSet) -> None:
    for batch in (1, 3, None):
        batches = known.batches(batch, seed=2)
        inputs, targets = batches.at(11)
        assert inputs.shape[1:] == (known.inputs,)
        assert targets.shape[1:] == (known.outputs,)
        assert len(inputs) == len(targets) == batches.count(11)
        assert batches.size == (batch or known.samples)
    assert known.batches(3, 0).samples == known.samples


@every_set
def test_what_is_held_out_is_never_trained_on(known: data.DataSet) -> None:
    if known.held_out is not None:
        trained = {row.tobytes() for row in known.batches(None).at(0)[0]}
        assert trained.isdisjoint(row.tobytes() for row in known.held_out[0])


def test_the_table_of_data_sets_has_every_kind() -> None:
    assert {type(known).name for known in SETS} | {"generated"} == set(data.DATA_SETS)


def test_all_samples_at_each_step_come_in_order() -> None:
    table = data.Arrays(*TABLE)
    assert isinstance(table.batches(None), InOrder)
    assert same(table.batches(None, seed=1).at(3), TABLE)


@pytest.mark.parametrize("nothing", ["xor", None, TABLE[0], TABLE[:1], {"x": 1}, 3])
def test_what_is_no_data_is_told_what_to_pass(nothing: object) -> None:
    with refused(InputError, nothing):
        data.DataSet.of(nothing)


def test_a_class_in_place_of_a_data_set_is_named() -> None:
    with refused(InputError, "Xor"):
        data.DataSet.of(data.Xor)


@pytest.mark.parametrize(
    ("inputs", "targets", "error", "value"),
    [
        ([[1.0], [2.0]], [[1.0]], ShapeError, "2 rows"),
        ([1.0, 2.0], [1.0, 2.0], ShapeError, "(2,)"),
        ([[1.0]], np.zeros((1, 0)), ShapeError, "(1, 0)"),
        ([[1.0], [np.nan]], [[1.0], [2.0]], NotFiniteError, "nan at row 1, column 0"),
        ([["a"]], [[1.0]], InputError, "list [['a']]"),
    ],
)
def test_a_bad_table_is_refused(
    inputs: object, targets: object, error: type[Exception], value: str
) -> None:
    with refused(error, value):
        data.DataSet.of((inputs, targets))


def test_a_share_of_a_table_is_trained_on_and_the_seed_decides_which() -> None:
    one, other = data.Arrays(*TABLE, share=0.7), data.Arrays(*TABLE, share=0.7, seed=1)
    assert one.samples == 7
    assert one.held_out is not None
    together = np.concatenate([one.training[0], one.held_out[0]])
    assert sorted(together.tolist()) == TABLE[0].tolist()
    assert together.tolist() != TABLE[0].tolist()
    assert not same(one.held_out, other.held_out)
    assert (one.training[0][:, 0] == 2.0 * one.training[1][:, 0]).all()


def draw(step: int, batch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng([seed, step]).random((batch, 2))
    return x, x.sum(axis=1, keepdims=True)


def test_samples_that_are_added_once_more_make_the_set_that_they_made_before() -> None:
    pair = np.array([[2.0]]), np.array([[3.0]])
    table = data.Arrays([[0.0], [1.0]], [[0.0], [1.0]])
    grown = table.with_added(*pair)
    assert grown.training[0].ravel().tolist() == [0.0, 1.0, 2.0] and table.samples == 2
    assert table.with_added(*pair) is grown
    assert grown.with_added(*pair).training[1].ravel().tolist() == [0.0, 1.0, 3.0, 3.0]


def test_generated_data_come_from_step_batch_and_seed() -> None:
    batches = data.Generated(draw, inputs=2, outputs=1).batches(5, seed=8)
    assert isinstance(batches, GeneratedBatches)
    assert same(batches.at(3), draw(3, 5, 8))
    assert same(batches.block(2, 4).at(3), draw(3, 5, 8))
    assert len(data.Generated(draw, inputs=2, outputs=1, samples=6).batches(None).at(0)[0]) == 6


def test_generated_data_of_another_shape_are_refused() -> None:
    with refused(InputError, "(5, 1)"):
        data.Generated(draw, inputs=2, outputs=3).batches(5).at(0)


def test_code_is_not_kept_in_a_file() -> None:
    with refused(InputError, "make=draw"):
        data.Generated(draw, inputs=2, outputs=1).settings()
    with refused(InputError, "(array("):
        data.Generated(draw(0, 1, 0), inputs=2, outputs=1)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("name", "settings", "value"),
    [
        ("xorr", {}, "'xorr'"),
        ("xor", {"bios": True}, "'bios'"),
        ("arrays", {"inputs": [[1.0]]}, "targets"),
        ("texture", {"picture": "photo.png"}, "not a path"),
        ("generated", {"make": "os.remove", "inputs": 1, "outputs": 1}, "'os.remove'"),
        ("rgb", {"map": "f", "answers": np.zeros((7, 3))}, "(7, 3)"),
    ],
)
def test_bad_settings_make_nothing(name: str, settings: dict[str, Any], value: str) -> None:
    with refused(InputError, value):
        data.remake(name, settings)


def test_data_larger_than_its_budget_is_not_made() -> None:
    settings = {"samples": 1000}
    assert data.remake("gaussians", settings, Budget(10**6)).samples == 500
    with refused(InputError, "1,000"):
        data.remake("gaussians", settings, Budget(1000))


def test_a_source_is_a_text_or_a_path(tmp_path: Path) -> None:
    for bad in (object(), 3, ["a.csv"]):
        with refused(InputError, bad):
            data.Arrays([[1.0]], [1.0], source=bad)  # type: ignore[arg-type]  # on purpose
    s = sv.Session(sv.Network([1, 1]), data.Arrays([[1.0]], [1.0], source=Path("a.csv")))
    assert reloaded(s, tmp_path).data.settings()["source"] == "a.csv"
