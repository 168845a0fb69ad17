"""Samples of a session: added, moved, standardized, classified wrongly, drawn from pictures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.bank import Bank
from scalarviz.data import DATA_SETS, remake
from scalarviz.errors import InputError, NotFiniteError, OrderError, ShapeError, UnknownNameError
from scalarviz.training.network.grown_networks import is_as_made
from tests.sessions import (
    RUNNABLE,
    advanced,
    bits,
    both_engines,
    every_engine,
    session_on,
    training_of,
)
from tests.training.session.test_stops import session
from tests.wording import refused


def colours(engine: str = "cpu", batch: int | None = 8) -> sv.Session:
    return session_on(
        data.Rgb(levels=3), [3, 6, 3], "tanh", "sigmoid", optimizer=sv.Adam(0.02), batch=batch,
        engine=engine,
    )  # fmt: skip


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_an_added_sample_is_one_of_those_of_a_step(engine: str) -> None:
    s = advanced(colours(engine, batch=None), 2)
    s.add_samples([0.1, 0.2, 0.3], [0.9, 0.8, 0.7])
    s.add_samples([[0.0, 0.2, 0.3]] * 2, [[0.9, 0.8, 0.7]] * 2)
    s.advance()
    assert s.data.samples == 30
    np.testing.assert_array_equal(s.data.palette[1][-3], [0.9, 0.8, 0.7])
    assert len(s.data.palette[0]) == 8
    assert "30 samples, 3 of them added" in repr(s.data)
    np.testing.assert_array_equal(s.data.training[0][27], [0.1, 0.2, 0.3])
    x, t = [np.asarray(table) for table in s.data.training]
    again = advanced(sv.Session(s.network.copy(), (x, t), "mse", engine=engine))
    s.advance()
    assert s.losses[-1] == pytest.approx(again.losses[0], rel=1e-6)
    s.back(3)
    assert s.data.samples == 27


def test_a_label_stands_for_its_row() -> None:
    s = session_on(data.Digits(), [64, 10], loss="softmax_cross_entropy", batch=16)
    count = s.data.samples
    drawn = np.zeros(64)
    drawn[:9] = 1.0
    s.add_samples(drawn, 3)
    s.add_samples([drawn, drawn], [4, 5])
    assert s.data.training[1][count:].argmax(axis=1).tolist() == [3, 4, 5]
    refused(InputError, "is blank").by(s.add_samples, np.zeros(64), 3)
    refused(InputError, "10").by(s.add_samples, drawn, 10)


def test_what_the_data_could_not_have_is_refused_and_changes_nothing() -> None:
    s = colours()
    for inputs, targets, kind, wrong in [
        ([0.1, 0.2, 1.5], [0, 0, 0], InputError, "1.5"),
        ([0.1, 0.2], [0, 0, 0], ShapeError, "2"),
        ([0.1, 0.2, 0.3], [0, 0], ShapeError, "[0, 0]"),
        ([0.1, 0.2, float("nan")], [0, 0, 0], NotFiniteError, "nan"),
        ([0.1, 0.2, "red"], [0, 0, 0], InputError, "red"),
        (np.zeros((10_001, 3)), np.zeros((10_001, 3)), InputError, "10,001"),
    ]:
        refused(kind, wrong).by(s.add_samples, inputs, targets)
    assert s.data.samples == 27
    assert not s.current_branch.journal
    circle = sv.Session(sv.Network([2, 1]), data.Circle(), engine="python")
    refused(InputError, "0.5").by(circle.add_samples, [0.1, 0.2], 0.5)
    circle.add_samples([0.1, 0.2], 1)
    made = data.Generated(
        lambda step, batch, seed: (np.ones((4, 2)), np.ones((4, 1))), inputs=2, outputs=1
    )
    generated = sv.Session(sv.Network([2, 1]), made, batch=4, engine="python")
    refused(InputError, "Generated").by(generated.add_samples, [0.1, 0.2], 1)


def test_growths_of_one_set_do_not_write_into_each_other() -> None:
    base = data.Arrays([[0.0], [1.0]], [[0.0], [1.0]])
    one = base.with_added(np.array([[2.0]]), np.array([[2.0]]))
    two = one.with_added(np.array([[3.0]]), np.array([[3.0]]))
    other = one.with_added(np.array([[4.0]]), np.array([[4.0]]))
    assert [each.training[0][-1, 0] for each in (one, two, other)] == [2.0, 3.0, 4.0]
    assert np.shares_memory(one.training[0], two.training[0])


def test_samples_are_checked_against_data_that_waits_for_the_next_step() -> None:
    pair = ([[0.0, 1.0], [1.0, 0.0]], [[0.3], [0.4]])
    s = advanced(session_on(pair, [2, 3, 1], "tanh", optimizer=sv.SGD(0.1)), 2, "operation")
    s.data = sv.data.Xor()
    refused(InputError, "0 or 1").by(s.add_samples, [[0.6, 0.9]], [[0.8]])
    s.add_samples([[0.6, 0.9]], [[1.0]])
    rows = np.zeros((6000, 2))
    s.add_samples(rows, rows[:, :1])
    refused(InputError, "at most 10,000").by(s.add_samples, rows, rows[:, :1])
    s.advance(2)  # what was asked for within a step takes effect when the next one begins
    assert s.data.samples == 4 + 1 + 6000


def test_tables_that_grow_share_their_memory() -> None:
    rows = np.random.default_rng(0).random((500, 2))
    s = session_on((rows, rows[:, :1]), [2, 1], optimizer=sv.SGD(0.1))
    s.add_samples([[0.5, 0.5]], [[0.5]])
    s.advance(1)
    first = training_of(s)[0].base
    for _ in range(20):
        s.add_samples([[0.5, 0.5]], [[0.5]])
        s.advance(1)
    table = training_of(s)[0]
    assert len(table) == 521 and table.base is first


def by_explaining(s: sv.Session, row: int, first: int, rate: float) -> dict[int, list[float]]:
    """The parts of each sample in the steps up to now, by `explain` step by step."""
    found: dict[int, list[float]] = {}
    now = s.step_index
    for step in range(first, now):
        s.seek(step + 1)
        products = s.explain(row).products
        rows = s.trainer.batches.rows(step)  # type: ignore[attr-defined]  # of a table
        for i, part in zip(rows.tolist(), products.reshape(len(rows), -1).sum(axis=1), strict=True):
            found.setdefault(i, []).append(-rate * part)
    s.seek(now)
    return found


@both_engines
def test_with_sgd_it_is_what_each_sample_changed_the_weight_by(engine: str) -> None:
    s = advanced(session(engine), 40)
    s.advance(2, "operation")
    clock, numbers = s.clock, bits(s)
    found = s.samples_that_moved(4, steps=12, most=100)
    assert (s.clock, bits(s)) == (clock, numbers)
    s.seek(40)
    expected = by_explaining(s, 4, 28, 0.2)
    assert (found.unit, found.first, found.last, found.row) == ("change", 28, 39, 4)
    assert {each.sample for each in found.samples} == set(expected)
    for each in found.samples:
        parts = expected[each.sample]
        assert each.steps == len(parts)
        assert each.amount == pytest.approx(np.abs(parts).sum(), rel=1e-6, abs=1e-12)
        assert each.net == pytest.approx(np.sum(parts), rel=1e-6, abs=1e-12)
    amounts = [each.amount for each in found.samples]
    assert amounts == sorted(amounts, reverse=True)
    assert found.total == pytest.approx(sum(amounts))
    s.seek(28)
    before = float(s.network.bank.value[4])
    s.seek(40)
    change = float(s.network.bank.value[4]) - before
    assert sum(each.net for each in found.samples) == pytest.approx(change, rel=1e-4, abs=1e-7)
    few = s.samples_that_moved(s.network.weight(4), steps=12, most=2)
    assert few.samples == found.samples[:2] and few.total == found.total


def test_the_bias_of_a_kernel_sums_all_places_and_clipping_counts() -> None:
    net = sv.Network([sv.Conv2d((1, 4, 4), 2, activation="tanh"), sv.Dense(8, 1)], seed=0)
    pictures = np.random.default_rng(0).normal(size=(6, 16))
    targets = np.ones((6, 1))
    s = sv.Session(net, (pictures, targets), "mse", sv.SGD(0.5, clip_norm=0.1), engine="python")
    row = net.layers[0].perceptrons[1].bias.index
    before = net.bank.value[row]
    s.advance(5)
    found = s.samples_that_moved(row)
    assert (found.unit, found.first, found.last) == ("change", 0, 4)
    change = float(net.bank.value[row] - before)
    assert sum(each.net for each in found.samples) + 0.0 != 0.0
    whole = s.samples_that_moved(row, most=6)
    assert sum(each.net for each in whole.samples) == pytest.approx(change, rel=1e-3)


@pytest.mark.parametrize("options", [{"optimizer": sv.Adam(0.01)}, {"precision": "mixed"}])
def test_otherwise_it_is_the_part_of_the_gradient(options: dict[str, Any]) -> None:
    s = advanced(session("cpu", **options), 10)
    found = s.samples_that_moved(4, steps=1, most=100)
    assert found.unit == "gradient" and "gradients" in str(found)
    grad = float(s.network.bank.grad[4])
    assert sum(each.net for each in found.samples) == pytest.approx(grad, rel=1e-3, abs=1e-6)


def test_frozen_steps_and_those_of_another_data_set_do_not_count() -> None:
    s = advanced(session(), 10)
    s.data = data.Arrays([[1.0, 2.0], [0.5, 0.1]], [[0.1], [0.9]])
    s.advance(5)
    found = s.samples_that_moved(4)
    assert (found.first, found.last) == (10, 14)
    assert {each.sample for each in found.samples} <= {0, 1}
    s.freeze(4)
    s.advance(5)
    assert s.samples_that_moved(4, steps=5).total == 0.0
    assert "sample 0" in str(s.samples_that_moved(4, steps=6, most=2))


def test_what_has_no_samples_is_refused() -> None:
    s = session()
    refused(OrderError, "no step").by(s.samples_that_moved, 4)
    made = sv.Session(
        sv.Network([1, 1]),
        data.Generated(
            lambda step, batch, seed: ([[1.0]] * batch, [[2.0]] * batch), inputs=1, outputs=1
        ),
        batch=2,
        engine="python",
    )
    made.advance(3)
    refused(InputError, "new samples").by(made.samples_that_moved, 0)
    slope = sv.Value(0.0)
    straight: Any = sv.compile(lambda x: slope * x, inputs=1)
    compiled = advanced(sv.Session(straight, ([[1.0]], [[2.0]]), engine="python"), 3)
    refused(InputError, "compiled").by(compiled.samples_that_moved, 0)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal([3.0, -50.0, 1e4], [0.1, 7.0, 900.0], (60, 3))
LABELS = (X[:, 1] > -50.0).astype(int) + (X[:, 2] > 1e4)
PICTURES = RANDOM.normal(np.reshape([5.0, 400.0], (2, 1, 1)), 3.0, (30, 2, 4, 4))


def table(**more: Any) -> sv.data.Arrays:
    return sv.data.Arrays(X, LABELS, share=0.8, standardize=True, **more)


def standardized_session(net: sv.Network, data: object, engine: str = "python") -> sv.Session:
    return sv.Session(net, data, "softmax_cross_entropy", sv.Adam(0.02), batch=16, engine=engine)


def standardized(net: sv.Network, x: np.ndarray) -> np.ndarray:
    return sv.Network([net.layers[0].again()], dtype="float64")(x)


# ---- the data -----------------------------------------------------------------------------------


def test_held_out_samples_do_not_count() -> None:
    data = table()
    assert data.held_out is not None
    y = data.affine()(data.training[0])
    np.testing.assert_allclose(y.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(y.std(axis=0), 1.0)
    assert abs(data.affine()(data.held_out[0]).mean(axis=0)).min() > 1e-3
    assert data.affine() is not data.affine()


def test_the_samples_stay_as_they_are() -> None:
    data = table()
    rows = np.concatenate([data.training[0], data.held_out[0]])  # type: ignore[index]  # has some
    assert {*map(tuple, rows)} == {*map(tuple, X)}


def written(path: Path) -> Path:
    lines = [",".join(map(str, row)) for row in np.column_stack([X, LABELS])]
    (path / "x.csv").write_text("\n".join(["a,b,c,kind", *lines, "NA,1,2,0"]))
    np.savez(path / "x.npz", x=X, y=LABELS)
    return path


def make(step: int, batch: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng([seed, step]).normal(7.0, 3.0, (batch, 2))
    return x, x[:, :1]


MAKERS: dict[str, Callable[[Path], sv.data.DataSet]] = {
    "from_csv": lambda path: sv.data.from_csv(path / "x.csv", missing="drop", standardize=True),
    "from_npz": lambda path: sv.data.from_npz(path / "x.npz", standardize=True),
    "Generated": lambda path: sv.data.Generated(make, inputs=2, outputs=1, standardize=True),
    "Arrays": lambda path: sv.data.Arrays(X, LABELS, standardize=True),
}


@pytest.mark.parametrize("made", MAKERS.values(), ids=MAKERS)
def test_what_makes_data_passes_it_on(
    made: Callable[[Path], sv.data.DataSet], tmp_path: Path
) -> None:
    data = made(written(tmp_path))
    assert data.standardize
    x = data.batches().at(0)[0]
    np.testing.assert_allclose(data.affine()(x).std(axis=0), 1.0)
    net = sv.Network([data.inputs, data.outputs])
    sv.Session(net, data, engine="python")
    assert [type(layer) for layer in net] == [sv.Affine, sv.Dense]


def test_every_data_set_has_an_affine_and_none_is_standardized_by_itself() -> None:
    for kind in DATA_SETS.values():
        if kind not in (sv.data.Arrays, sv.data.Generated, sv.data.Texture):
            data = kind()  # type: ignore[call-arg]  # a base class needs arguments
            assert data.affine().inputs == data.inputs and not data.standardize


def test_it_is_a_setting() -> None:
    data = table(classes=3)
    assert "standardize=True" in repr(data)
    again = remake(data.name, data.settings())
    assert again.standardize and repr(again.affine()) == repr(data.affine())
    assert "standardize" not in sv.data.Arrays(X, LABELS).settings()
    for wrong in (
        lambda: table().changed("standardize", 2),
        lambda: sv.data.Generated(make, inputs=2, outputs=1, standardize="yes"),
    ):
        refused(InputError, "standardize").by(wrong)


def test_pictures_are_scaled_channel_by_channel() -> None:
    data = sv.data.Arrays(PICTURES, np.arange(30) % 2, standardize=True)
    assert data.affine().input_shape == (2, 4, 4)
    assert sv.data.Arrays(PICTURES[:, 0], np.arange(30) % 2).affine().input_shape == (1, 4, 4)
    rows = sv.data.Arrays(PICTURES.reshape(30, -1), np.arange(30) % 2, standardize=True)
    for each in (data, rows):
        net = sv.Network([sv.Conv2d((2, 4, 4), 3, 3), sv.Dense(12, 2)])
        standardized_session(net, each).advance(2)
        assert net.input_shape == (2, 4, 4) and net.layers[0].features == 2
    assert rows.affine().features == 32


# ---- the session --------------------------------------------------------------------------------


@every_engine
def test_the_network_is_the_one_that_would_have_been_written(engine: str) -> None:
    data, layers = table(), [sv.Dense(3, 8, "tanh", init="he_normal"), sv.Dense(8, 3)]
    net = sv.Network(layers, seed=5, init="xavier_normal")
    s = standardized_session(net, data, engine)
    assert net.layers[1:] == tuple(layers) and s.network is net
    explicit = [data.affine(), sv.Dense(3, 8, "tanh", init="he_normal"), sv.Dense(8, 3)]
    other = sv.Network(explicit, seed=5, init="xavier_normal")
    t = standardized_session(other, data, engine)
    s.advance(30)
    t.advance(30)
    assert net.bank.value.tobytes() == other.bank.value.tobytes()
    assert np.array_equal(s.losses, t.losses) and s.losses[-1] < s.losses[0]
    assert [layer.bank is net.bank for layer in net] == [True] * 3
    assert net.name_of(0) == "layer 0, gain of feature 0"


@pytest.mark.slow
def test_it_learns_what_it_would_not_learn_without() -> None:
    found = []
    for on in (True, False):
        data = sv.data.Arrays(X, LABELS, share=0.8, standardize=on)
        net = sv.Network([3, 16, 3], "tanh")
        standardized_session(net, data, RUNNABLE[-1]).advance(300)
        found.append(sv.metrics.accuracy(net(data.training[0]), data.training[1]))
    assert found[0] > 0.95 and found[1] < 0.7


def test_a_network_that_begins_with_an_affine_keeps_it() -> None:
    net = sv.Network([sv.Affine(3, 0.01), 3])
    s = standardized_session(net, table())
    assert len(net) == 2 and net.layers[0].kernel.tolist() == pytest.approx([0.01] * 3)
    s.data = table(order="in_order")
    standardized_session(net.copy(), s.data).advance(1)
    assert len(net) == 2


def read(net: sv.Network) -> None:
    net(X)


def handed_out(net: sv.Network) -> None:
    assert net.layers[0].kernel.any()


def trained(net: sv.Network) -> sv.Session:
    return standardized_session(net, (X / 1e4, LABELS))


def changed(net: sv.Network) -> None:
    net.bank.value[3] = 0.5


def thawed(net: sv.Network) -> None:
    net.freeze("1")


def forward(net: sv.Network) -> None:
    net.to("cpu").forward(X)


@pytest.mark.parametrize("use", [read, handed_out, trained, changed, thawed, forward])
def test_one_that_was_used_is_refused(use: Callable[[sv.Network], object]) -> None:
    net = sv.Network([3, 4, 3], engine="python")
    used = use(net), net.bank.value.copy()  # a session that is not kept trains nothing
    before = used[1]
    refused(OrderError, "data.affine()").by(standardized_session, net, table())
    assert len(net) == 2 and np.array_equal(net.bank.value, before)


def test_a_session_cannot_take_such_data_later() -> None:
    s = standardized_session(sv.Network([3, 3]), (X, LABELS))
    with refused(OrderError, "data.affine()"):
        s.data = table()
    s.advance(1)


def test_a_compiled_function_is_refused() -> None:
    w = sv.Value(0.5)
    f = sv.compile(lambda a, b, c: w * a + b + c, 3)
    data = sv.data.Arrays(X, X[:, :1], standardize=True)
    refused(InputError, "compiled function").by(sv.Session, f, data)


def test_data_that_does_not_fit_changes_no_network() -> None:
    net = sv.Network([4, 3])
    refused(ShapeError).by(standardized_session, net, table())
    fits = sv.Network([3, 3])
    refused(UnknownNameError).by(standardized_session, fits, table(), "fast")
    refused(InputError).by(
        sv.Session, fits, table(), "softmax_cross_entropy", metrics="best", engine="python"
    )
    assert len(net) == len(fits) == 1 and is_as_made(net) and is_as_made(fits)


def test_what_was_handed_out_before_cannot_be_written_in_vain() -> None:
    net = sv.Network([3, 3])
    bank: Bank = net.bank
    s = standardized_session(net, table())
    with pytest.raises(ValueError, match="read-only"):
        bank.value[0] = 1.0
    assert s.network.bank is net.bank is not bank and not is_as_made(net)


def test_settings_of_the_network_stay() -> None:
    mixed = sv.Network([3, 3], seed=9, engine="cpu", precision="mixed")
    double = sv.Network([3, 3], seed=9, dtype="float64")
    for net, dtype in ((mixed, "float32"), (double, "float64")):
        standardized_session(net, table(), "cpu").advance(1)
        assert (net.dtype, net.seed, len(net)) == (dtype, 9, 2)


# ---- what it goes into --------------------------------------------------------------------------


def test_a_run_is_saved_with_it(tmp_path: Path) -> None:
    s = advanced(standardized_session(sv.Network([3, 8, 3], "tanh"), table()), 20)
    s.save(tmp_path / "run.safetensors")
    s.save(tmp_path / "small.safetensors", data=False)
    again = sv.Session.load(tmp_path / "run.safetensors")
    plain = sv.data.Arrays(X, LABELS, share=0.8)
    for each in (again, sv.Session.load(tmp_path / "small.safetensors", data=plain)):
        assert each.data.standardize and each.network.layers[0].frozen
        each.seek(0)
        each.seek(20)
        assert np.array_equal(each.network.bank.value, s.network.bank.value)
        assert repr(each.network.layers[0]) == repr(s.network.layers[0])


def test_replicas_and_sweeps_have_it(tmp_path: Path) -> None:
    s = standardized_session(sv.Network([3, 4, 3]), table(), "cpu")
    replicas = advanced(sv.replicate(s, range(3)), 10)
    for net in replicas.networks:
        assert net.layers[0].frozen
        assert np.array_equal(net.layers[0].kernel, s.network.layers[0].kernel)
    s.freeze(s.network.layers[0], False)
    s.freeze(s.network.layers[1])
    other = sv.replicate(s, [1]).networks[0]
    assert not other.layers[0].frozen and other.layers[1].frozen


def test_a_network_that_was_grown_or_drawn_again_has_it() -> None:
    s = advanced(standardized_session(sv.Network([3, 4, 3], "tanh"), table()), 5)
    before = s.network.layers[0].kernel
    for made in (
        sv.add_neurons(s, 1, 2),
        sv.insert_layer(s, 1, 3),
        sv.reinitialize(s),
        sv.set_biases(s, False),
    ):
        first = made.network.layers[0]
        assert first.frozen and np.array_equal(first.kernel, before)
        made.advance(1)
    s.freeze(s.network.layers[0], False)
    assert not sv.reinitialize(s).network.layers[0].frozen


INPUTS = np.arange(8.0).reshape(4, 2)


def learn(targets: Any) -> sv.Session:
    return session_on((INPUTS, targets), [2, 3], "linear", loss="softmax_cross_entropy")


def test_targets_in_the_place_of_the_loss_ask_for_a_pair() -> None:
    targets: Any = np.ones((4, 3))
    for given in (targets, targets.tolist()):
        refused(InputError, given, "(inputs, targets)").by(
            sv.Session, sv.Network([2, 3], "linear"), INPUTS, given
        )


@pytest.mark.parametrize("kind", [list, np.array, lambda t: np.array(t, object)])
def test_names_of_classes_are_labels(kind: Any) -> None:
    s = learn(kind(["cat", "dog", "cow", "cat"]))
    same = learn([0, 2, 1, 0])
    s.advance(1)
    same.advance(1)
    assert (s.data.output_names, s.losses[0]) == (["cat", "cow", "dog"], same.losses[0])


def test_labels_that_begin_with_1_are_too_large_by_1() -> None:
    labels = np.array([1, 2, 3, 3])
    refused(InputError, "labels - 1").by(learn, labels)
    learn(labels - 1).advance(1)
    refused(InputError, "5 outputs").by(learn, [1, 2, 4, 4])


def test_a_metric_to_watch_that_is_not_known_lists_those_that_are() -> None:
    refused(InputError, "accuracy_held_out", "loss, accuracy", "prefix held_out_").by(
        sv.EarlyStopping, "accuracy_held_out"
    )


def test_a_weight_that_is_not_pinned_has_no_history_and_a_message_says_so(caplog: Any) -> None:
    s = advanced(learn([0, 1, 2, 2]), 2)
    assert [len(each) for each in s.history(4)] == [0, 0]
    assert "s.pin(4)" in caplog.text
    caplog.clear()
    s.pin(4)
    assert len(s.history(4, wait=True)[0]) == 3 and not caplog.text


UNIT_PICTURES = np.random.default_rng(0).random((12, 1, 4, 4))
ROWS = UNIT_PICTURES.reshape(12, -1)
KINDS = np.arange(12) % 3


def conv(engine: str = "python", channels: int = 1) -> sv.Network:
    layers = [
        sv.Conv2d((channels, 4, 4), 2, 3, activation="relu"),
        sv.Flatten((2, 2, 2)),
        sv.Dense(8, 3),
    ]
    return sv.Network(layers, seed=0, engine=engine)


@both_engines
def test_a_network_takes_pictures_as_the_rows_of_their_numbers(engine: str) -> None:
    net = conv(engine)
    rows = net(ROWS)
    assert net.input_shape == (1, 4, 4)
    for same in (
        UNIT_PICTURES,
        UNIT_PICTURES[:, 0],
        UNIT_PICTURES.tolist(),
        np.asfortranarray(UNIT_PICTURES),
    ):
        assert (net(same) == rows).all()
        assert (net.forward(same) == rows).all()
        assert (net.predict_proba(same) == net.predict_proba(ROWS)).all()
        assert (net.layers[0](same) == net.layers[0](ROWS)).all()
    assert net(UNIT_PICTURES[0]).shape == (1, 3)  # a batch of one picture without its channel


@both_engines
def test_a_step_on_pictures_is_that_on_rows(engine: str) -> None:
    one, other = conv(engine), conv(engine)
    loss = "softmax_cross_entropy"
    assert one.train_step(UNIT_PICTURES, KINDS, loss) == other.train_step(ROWS, KINDS, loss)
    assert (
        one.train(UNIT_PICTURES, KINDS, loss, steps=2) == other.train(ROWS, KINDS, loss, steps=2)
    ).all()
    assert (one.bank.value == other.bank.value).all()


@both_engines
@pytest.mark.parametrize("pooled", [sv.MaxPool2d, sv.AvgPool2d])
def test_channels_come_before_rows_and_columns(engine: str, pooled: Any) -> None:
    colours = np.random.default_rng(1).random((2, 3, 4, 4))
    net = sv.Network([pooled((3, 4, 4), 4), sv.Flatten((3, 1, 1))], engine=engine)
    wanted = colours.max((2, 3)) if pooled is sv.MaxPool2d else colours.mean((2, 3))
    assert net(colours) == pytest.approx(wanted, rel=1e-6)
    assert net(colours.transpose(0, 2, 3, 1).transpose(0, 3, 1, 2)) == pytest.approx(
        wanted, rel=1e-6
    )


@both_engines
@pytest.mark.parametrize(
    "options", [{}, {"share": 0.75}, {"held_out": (UNIT_PICTURES[:2], KINDS[:2])}]
)
def test_a_session_trains_on_pictures_as_on_rows(engine: str, options: dict[str, object]) -> None:
    told = dict(options)
    if "held_out" in told:
        told["held_out"] = (ROWS[:2], KINDS[:2])
    banks = []
    for table in (data.Arrays(UNIT_PICTURES, KINDS, **options), data.Arrays(ROWS, KINDS, **told)):  # type: ignore[arg-type]
        s = sv.Session(conv(engine), table, "softmax_cross_entropy", batch=4, engine=engine)
        s.advance(4)
        banks.append(s.network.bank.value)
    assert (banks[0] == banks[1]).all()


def test_data_remember_that_they_are_pictures() -> None:
    table = data.Arrays(UNIT_PICTURES, KINDS)
    assert table.sample_shape == (1, 4, 4)
    assert str(table) == "Arrays(inputs=12 x 1 x 4 x 4, targets=12 x 1): 16 -> 1, 12 samples"
    again = data.remake("arrays", table.settings())
    assert isinstance(again, data.Arrays)
    assert again.sample_shape == (1, 4, 4)
    assert data.Arrays(UNIT_PICTURES[:, 0], KINDS).sample_shape == (4, 4)
    assert data.Arrays(ROWS, KINDS).sample_shape == ()


def test_a_picture_is_added_to_a_session_of_pictures() -> None:
    s = sv.Session(conv(), (UNIT_PICTURES, KINDS), "softmax_cross_entropy")
    s.add_samples(UNIT_PICTURES[:2], [0, 1])
    assert isinstance(s.data, data.Arrays)
    assert (s.data.training[0][12:] == ROWS[:2]).all()


def test_replicas_take_pictures() -> None:
    many = sv.replicate(
        sv.Session(conv("cpu"), (UNIT_PICTURES, KINDS), "softmax_cross_entropy"), seeds=[0, 1]
    )
    assert (many.outputs(UNIT_PICTURES) == many.outputs(ROWS)).all()


def test_another_shape_is_told_both_shapes() -> None:
    net = conv()
    for wrong in (UNIT_PICTURES.transpose(0, 2, 3, 1), np.zeros((2, 1, 5, 5)), np.zeros((2, 5, 4))):
        refused(ShapeError, str(wrong.shape)).by(net, wrong)
    refused(ShapeError, "(0, 1, 4, 4)").by(net, UNIT_PICTURES[:0])
    refused(ShapeError, "(12, 1, 4, 4)").by(net.train_step, UNIT_PICTURES, UNIT_PICTURES)
    refused(ShapeError, "x[None] is a batch of this one").by(conv(channels=3), np.zeros((3, 4, 4)))
    refused(ShapeError, "(12, 1, 4, 4)").by(sv.Network([16, 3]), UNIT_PICTURES)
    refused(NotFiniteError, "row 1, column 5").by(
        net, np.where(np.arange(192).reshape(12, 1, 4, 4) == 21, np.nan, UNIT_PICTURES)
    )


def test_data_of_another_shape_are_refused() -> None:
    for net in (sv.Network([16, 3]), conv(channels=3)):
        refused(ShapeError, "(1, 4, 4)").by(
            sv.Session, net, (UNIT_PICTURES, KINDS), "softmax_cross_entropy"
        )
    refused(ShapeError, "(16,)").by(data.Arrays, UNIT_PICTURES, KINDS, held_out=(ROWS, KINDS))
    refused(ShapeError, "(1, 12, 1, 4, 4)").by(data.Arrays, UNIT_PICTURES[None], KINDS)
    s = sv.Session(conv(), (UNIT_PICTURES, KINDS), "softmax_cross_entropy")
    with refused(ShapeError, "(4, 4, 1)"):
        s.data = (UNIT_PICTURES.transpose(0, 2, 3, 1), KINDS)
