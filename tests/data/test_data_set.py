"""Data sets of arrays and tables.

Batches, settings, held-out samples, names of columns and classes, memory.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.limits import Budget
from scalarviz.data.batches import GeneratedBatches, InOrder
from scalarviz.errors import InputError, NotFiniteError, ShapeError, UnknownNameError
from tests.data.test_files import written
from tests.machine import traced_memory
from tests.sessions import advanced, both_engines, reloaded, session_on
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
    data.Names(names=["mara", "tarn", "ida", "bo"], held_out=1, seed=1, letters="abdimnort"),
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


@pytest.mark.parametrize(
    ("given", "error", "value"),
    [
        *[(each, InputError, each) for each in ("xor", None, TABLE[0], TABLE[:1], {"x": 1}, 3)],
        (data.Xor, InputError, "Xor"),
        (([[1.0], [2.0]], [[1.0]]), ShapeError, "2 rows"),
        (([1.0, 2.0], [1.0, 2.0]), ShapeError, "(2,)"),
        (([[1.0]], np.zeros((1, 0))), ShapeError, "(1, 0)"),
        (([[1.0], [np.nan]], [[1.0], [2.0]]), NotFiniteError, "nan at row 1, column 0"),
        (([["a"]], [[1.0]]), InputError, "list [['a']]"),
    ],
)
def test_what_is_no_data_is_told_what_to_pass(
    given: object, error: type[Exception], value: object
) -> None:
    refused(error, value).by(data.DataSet.of, given)


def test_a_share_of_a_table_is_trained_on_and_the_seed_decides_which() -> None:
    one, other = data.Arrays(*TABLE, share=0.7), data.Arrays(*TABLE, share=0.7, seed=1)
    assert one.samples == 7
    assert one.held_out is not None
    together = np.concatenate([one.training[0], one.held_out[0]])
    assert sorted(together.tolist()) == TABLE[0].tolist()
    assert together.tolist() != TABLE[0].tolist()
    assert not same(one.held_out, other.held_out)
    assert (one.training[0][:, 0] == 2.0 * one.training[1][:, 0]).all()


@pytest.mark.parametrize("share", [0.5, 0.8, 0.9, 0.97])
@pytest.mark.parametrize("form", ["labels", "texts", "rows", "classes"])
def test_of_each_class_the_same_share_is_held_out_and_at_least_one(form: str, share: float) -> None:
    counts = np.array([60, 36, 4])
    labels = np.random.default_rng(1).permutation(np.repeat(range(3), counts))
    targets: Any = np.eye(3)[labels] if form == "rows" else labels
    targets = [f"kind {each}" for each in labels] if form == "texts" else targets
    for seed in range(6):
        table = data.Arrays(
            np.arange(100.0)[:, None], targets, share=share, seed=seed,
            classes=3 if form == "classes" else None,
        )  # fmt: skip
        assert table.held_out is not None and table.samples == round(100 * share)
        held = np.bincount(labels[table.held_out[0][:, 0].astype(int)], minlength=3)
        assert (np.abs(held - (1.0 - share) * counts) <= 1.0).all() and held.min() >= 1
        whole = np.concatenate([table.training[0], table.held_out[0]])
        assert sorted(whole.ravel()) == list(range(100))


def test_targets_that_are_no_classes_are_held_out_at_random() -> None:
    counts = np.arange(100.0) % 50  # of which there are too few to be classes
    first = [
        data.Arrays(X, y, share=0.8, seed=3) for X in [counts[:, None]] for y in (counts, X / 7)
    ]
    assert first[0].held_out is not None and first[1].held_out is not None
    assert (first[0].held_out[0] == first[1].held_out[0]).all()


@pytest.mark.parametrize("kind", [int, str])
def test_a_group_is_trained_on_or_held_out_as_a_whole(kind: type) -> None:
    sizes = np.random.default_rng(2).permutation(np.repeat(range(10), range(1, 11)))
    groups = [kind(each) for each in sizes]
    parts = set()
    for seed in range(5):
        table = data.Arrays(
            np.arange(55.0)[:, None], sizes, share=0.7, seed=seed, groups=groups, classes=10
        )
        assert table.held_out is not None and 38 <= table.samples < 55
        ours, theirs = [
            {*sizes[part[:, 0].astype(int)].tolist()}
            for part in (table.training[0], table.held_out[0])
        ]
        assert not ours & theirs and len(ours | theirs) == 10
        parts.add(tuple(theirs))
    assert len(parts) > 1
    refused(InputError, "55", [1]).by(data.Arrays, X[:55], KINDS[:55], share=0.7, groups=[1])
    refused(InputError, "55").by(data.Arrays, X[:55], KINDS[:55], share=0.7, groups=[[0], [1, 2]])
    refused(InputError, "no group").by(data.Arrays, X[:2], KINDS[:2], share=0.5, groups=[0, 0])
    refused(InputError, "share=0.8").by(data.Arrays, X[:2], KINDS[:2], groups=[0, 1])


def test_targets_can_be_pictures() -> None:
    x, t = np.random.default_rng(0).random((2, 6, 1, 4, 4))
    table = data.Arrays(x, t)
    assert (table.inputs, table.outputs) == (16, 16)
    net = sv.Network([sv.Conv2d((1, 4, 4), 1, 3, padding=1)], seed=1)
    rows = t.reshape(6, -1)
    assert net.copy().train_step(x, t) == net.copy().train_step(x, rows) == sv.Loss()(net(x), rows)
    s = sv.Session(net, (x, t), batch=None)
    s.advance(1)
    refused(ShapeError, "(6, 2, 2, 2)").by(net.train_step, x, t.reshape(6, 2, 2, 4)[:, :, :, :2])


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
    refused(InputError, "(5, 1)").by(data.Generated(draw, inputs=2, outputs=3).batches(5).at, 0)


def test_code_is_not_kept_in_a_file() -> None:
    refused(InputError, "make=draw").by(data.Generated(draw, inputs=2, outputs=1).settings)
    refused(InputError, "(array(").by(data.Generated, draw(0, 1, 0), inputs=2, outputs=1)
    refused(InputError, "inputs= and outputs=").by(data.Generated, draw, 2, 1)


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
    refused(InputError, value).by(data.remake, name, settings)


def test_data_larger_than_its_budget_is_not_made() -> None:
    settings = {"samples": 1000}
    assert data.remake("gaussians", settings, Budget(10**6)).samples == 500
    refused(InputError, "1,000").by(data.remake, "gaussians", settings, Budget(1000))


def test_a_source_is_a_text_or_a_path(tmp_path: Path) -> None:
    for bad in (object(), 3, ["a.csv"]):
        refused(InputError, bad).by(data.Arrays, [[1.0]], [1.0], source=bad)
    s = sv.Session(sv.Network([1, 1]), data.Arrays([[1.0]], [1.0], source=Path("a.csv")))
    assert reloaded(s, tmp_path).data.settings()["source"] == "a.csv"


PAIRS, NUMBERED = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [0, 1, 2]
WEATHER, PETS = ["wind", "rain"], ["cat", "dog", "cow"]


def session_of(data: sv.data.Arrays) -> sv.Session:
    return sv.Session(sv.Network([2, 3], "linear"), data, "softmax_cross_entropy")


def test_names_that_are_set_before_the_session_reach_it() -> None:
    data = sv.data.Arrays(PAIRS, NUMBERED)
    data.input_names, data.output_names = WEATHER, PETS
    found = session_of(data).data
    assert (list(found.input_names), list(found.output_names)) == (WEATHER, PETS)


def test_names_can_be_arguments_and_are_kept_when_the_data_is_made_again() -> None:
    data = sv.data.Arrays(PAIRS, NUMBERED, input_names=WEATHER, output_names=PETS)
    assert list(session_of(data).data.output_names) == PETS
    again = sv.data.remake(data.name, data.settings())
    assert (list(again.input_names), list(again.output_names)) == (WEATHER, PETS)
    again.output_names = []
    assert not again.output_names
    assert "output_names" not in again.settings()


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", 1], 3])
def test_names_that_do_not_fit_the_inputs_are_refused(names: Any) -> None:
    refused(InputError, "2 inputs", names).by(sv.data.Arrays, [[1, 2]], [1], input_names=names)
    data = sv.data.Arrays([[1, 2]], [1])
    with refused(InputError, "2 inputs", names):
        data.input_names = names


@pytest.mark.parametrize("names", [["a", "b"], "abc", [1, 2, 3]])
@pytest.mark.parametrize(
    ("targets", "wanted"),
    [([[0.1, 0.2, 0.3]] * 3, "3 outputs"), (NUMBERED, "3 classes")],
    ids=["rows", "labels"],
)
def test_names_that_do_not_fit_the_outputs_are_refused(
    targets: Any, names: Any, wanted: str
) -> None:
    refused(InputError, wanted, names).by(sv.data.Arrays, PAIRS, targets, output_names=names)


class Frame:
    """What numpy takes from a data frame: its numbers, and the names of its columns."""

    def __init__(self, columns: list[Any], rows: Any) -> None:
        self.columns, self.rows = columns, np.array(rows, np.float64)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.rows.astype(dtype or np.float64)


def test_columns_of_a_data_frame_are_names() -> None:
    data = sv.data.Arrays(Frame(WEATHER, PAIRS), Frame(["sun"], [[0.5], [1.5], [2.5]]))
    assert (list(data.input_names), list(data.output_names)) == (WEATHER, ["sun"])
    of = sv.Session(sv.Network([2, 3]), (Frame(WEATHER, PAIRS), NUMBERED), "softmax_cross_entropy")
    assert (list(of.data.input_names), list(of.data.output_names)) == (WEATHER, [])
    labels = Frame(["pet"], [[0], [1], [2]])
    assert not sv.data.Arrays(Frame(WEATHER, PAIRS), labels).output_names
    own = sv.data.Arrays(Frame(WEATHER, PAIRS), NUMBERED, input_names=["a", "b"])
    assert list(own.input_names) == ["a", "b"]


@pytest.mark.parametrize("data", [sv.data.Xor, sv.data.Xnor])
def test_the_constant_input_of_corners_is_called_by_its_number(data: Any) -> None:
    assert [*data(bias=True).input_names] == ["x", "y", "1"]
    assert [*data().input_names] == ["x", "y"]


__all__ = ["written"]  # a fixture

SPECIES = ["setosa", "virginica", "setosa", "versicolor"]
LABELS = [[0.0], [2.0], [0.0], [1.0]]
SORTED = ["setosa", "versicolor", "virginica"]
INPUTS = np.arange(8.0).reshape(4, 2)
IRIS = "long,wide,kind\n" + "\n".join(f"{i},{i + 1}, {kind} " for i, kind in enumerate(SPECIES))


class Column:
    """A series of pandas or polars: numpy reads an array of objects from it."""

    def __init__(self, values: list[Any]) -> None:
        self.values = np.array(values, object)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)


@pytest.mark.parametrize("text", [IRIS, IRIS.partition("\n")[2], IRIS.replace(",", ";")])
def test_a_column_of_names_in_a_file(written: Any, text: str) -> None:
    data = sv.data.from_csv(written(text))
    assert data.training[1].tolist() == LABELS and data.output_names == SORTED
    assert data.training[0][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


def test_the_example_of_the_docstring_trains(written: Any) -> None:
    data = sv.data.from_csv(written(IRIS), targets="kind", share=0.75)
    s = sv.Session(sv.Network([2, 4, 3], "tanh"), data, "softmax_cross_entropy", metrics="accuracy")
    s.advance(3)
    assert s.data.output_names == SORTED and s.data.held_out[1].sum() == 1.0
    assert sv.data.remake(s.data.name, s.data.settings()).output_names == SORTED


def test_held_out_names_are_those_of_the_training() -> None:
    data = sv.data.Arrays(INPUTS, SPECIES, held_out=(INPUTS[:2], ["virginica", "setosa"]))
    assert data.held_out is not None and data.held_out[1].tolist() == [[2.0], [0.0]]
    refused(UnknownNameError, "'virginca'").by(
        sv.data.Arrays, INPUTS, SPECIES, held_out=(INPUTS[:1], ["virginca"])
    )


def test_one_output_is_named_by_the_second_of_two_classes() -> None:
    s = session_on(
        (INPUTS, ["no", "yes", "no", "yes"]), [2, 1], loss="sigmoid_cross_entropy", engine="auto"
    )
    assert s.data.output_names == ["yes"] and s.data.training[1].ravel().tolist() == [0, 1, 0, 1]


def test_names_of_classes_need_a_loss_that_takes_labels() -> None:
    refused(ShapeError, "setosa", "softmax_cross_entropy").by(
        sv.Session, sv.Network([2, 1]), (INPUTS, SPECIES), "mse"
    )


@pytest.mark.parametrize("missing", [None, float("nan"), 3])
def test_a_sample_without_a_name_is_refused(missing: object) -> None:
    refused(InputError, "row 1", missing).by(
        sv.data.Arrays, INPUTS, Column(["a", missing, "b", "b"])
    )


X = np.random.default_rng(0).random((20_000, 100), np.float32)
KINDS = np.arange(20_000) % 3


def trained(x: np.ndarray, kinds: np.ndarray, options: dict[str, Any]) -> data.Arrays:
    """The data of a session after some steps."""
    net, table = sv.Network([100, 4, 3]), data.Arrays(x, kinds, **options)
    loss = "softmax_cross_entropy"
    s = advanced(sv.Session(net, table, loss, sv.SGD(0.1), 64, "cpu", metrics=["accuracy"]), 3)
    assert isinstance(s.data, data.Arrays)
    return s.data


@pytest.mark.parametrize("options", [{}, {"share": 0.8}, {"held_out": 100}])
def test_a_session_takes_the_memory_of_one_copy(options: dict[str, Any]) -> None:
    trained(X[:200], KINDS[:200], options)  # compiles, which takes memory
    with traced_memory() as memory:
        table = trained(X, KINDS, options)
        assert memory()[1] < 1.5 * X.nbytes  # labels as rows and batches included
    assert table.training[0].dtype == np.float32
    assert np.shares_memory(table.training[0], table.settings()["inputs"])


@both_engines
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
    refused(InputError, "3 at row 2 of the held-out samples").by(
        data.Arrays, X[:9], [0, 1] * 4 + [0], classes=2, held_out=held_out
    )
    table = data.Arrays(X[:9], [0, 1] * 4 + [0], held_out=held_out)
    refused(InputError, "3 at row 2 of the held-out samples").by(
        sv.Session, sv.Network([X.shape[1], 2]), table, "softmax_cross_entropy"
    )


def test_labels_of_a_share_are_refused_with_their_row() -> None:
    labels = np.zeros(50)
    labels[17] = 5.0
    table = data.Arrays(X[:50], labels, share=0.5)
    refused(InputError, "5 at row 17").by(
        sv.Session, sv.Network([100, 3]), table, "softmax_cross_entropy"
    )


def test_a_number_that_is_not_finite_is_found_in_float32() -> None:
    wrong = X.copy()
    wrong[3999, 42] = np.inf
    refused(NotFiniteError, "inf at row 3999, column 42").by(data.Arrays, wrong, KINDS)


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
    kept = pickle.dumps(sv.Session(sv.Network([100, 3]), (X, KINDS), "softmax_cross_entropy").data)
    assert len(kept) < 1.5 * X.nbytes
    assert (pickle.loads(kept).training[0] == X).all()
