"""standardize=True: the network of a session begins with the Affine of its training samples."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.bank import Bank
from scalarviz.data import DATA_SETS, remake
from scalarviz.errors import InputError, OrderError, ShapeError, UnknownNameError
from scalarviz.training.network.grown_networks import is_as_made
from tests.strategies import RUNNABLE
from tests.wording import refused

RANDOM = np.random.default_rng(0)
X = RANDOM.normal([3.0, -50.0, 1e4], [0.1, 7.0, 900.0], (60, 3))
LABELS = (X[:, 1] > -50.0).astype(int) + (X[:, 2] > 1e4)
PICTURES = RANDOM.normal(np.reshape([5.0, 400.0], (2, 1, 1)), 3.0, (30, 2, 4, 4))
Table = Callable[[], sv.data.DataSet]


def table(**more: Any) -> sv.data.Arrays:
    return sv.data.Arrays(X, LABELS, share=0.8, standardize=True, **more)


def session(net: sv.Network, data: object, engine: str = "python") -> sv.Session:
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
    for wrong in (lambda: table().changed("standardize", 2), lambda: made_with("yes")):
        with refused(InputError, "standardize"):
            wrong()


def made_with(standardize: Any) -> sv.data.DataSet:
    return sv.data.Generated(make, inputs=2, outputs=1, standardize=standardize)


def test_pictures_are_scaled_channel_by_channel() -> None:
    data = sv.data.Arrays(PICTURES, np.arange(30) % 2, standardize=True)
    assert data.affine().input_shape == (2, 4, 4)
    grey = sv.data.Arrays(PICTURES[:, 0], np.arange(30) % 2)
    assert grey.affine().input_shape == (1, 4, 4)
    rows = sv.data.Arrays(PICTURES.reshape(30, -1), np.arange(30) % 2, standardize=True)
    for each in (data, rows):
        net = sv.Network([sv.Conv2d((2, 4, 4), 3, 3), sv.Dense(12, 2)])
        session(net, each).advance(2)
        assert net.input_shape == (2, 4, 4) and net.layers[0].features == 2
    assert rows.affine().features == 32


# ---- the session --------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", RUNNABLE)
def test_the_network_is_the_one_that_would_have_been_written(engine: str) -> None:
    data, layers = table(), [sv.Dense(3, 8, "tanh", init="he_normal"), sv.Dense(8, 3)]
    net = sv.Network(layers, seed=5, init="xavier_normal")
    s = session(net, data, engine)
    assert net.layers[1:] == tuple(layers) and s.network is net
    explicit = [data.affine(), sv.Dense(3, 8, "tanh", init="he_normal"), sv.Dense(8, 3)]
    other = sv.Network(explicit, seed=5, init="xavier_normal")
    t = session(other, data, engine)
    s.advance(30)
    t.advance(30)
    assert net.bank.value.tobytes() == other.bank.value.tobytes()
    assert np.array_equal(s.losses, t.losses) and s.losses[-1] < s.losses[0]
    assert [layer.bank is net.bank for layer in net] == [True] * 3
    assert net.name_of(0) == "layer 0, gain of feature 0"


def test_it_learns_what_it_would_not_learn_without() -> None:
    found = []
    for on in (True, False):
        data = sv.data.Arrays(X, LABELS, share=0.8, standardize=on)
        net = sv.Network([3, 16, 3], "tanh")
        session(net, data, RUNNABLE[-1]).advance(300)
        found.append(sv.metrics.accuracy(net(data.training[0]), data.training[1]))
    assert found[0] > 0.95 and found[1] < 0.7


def test_going_back_gives_the_same_bits() -> None:
    s = session(sv.Network([3, 8, 3], "tanh"), table())
    s.advance(20)
    value, frozen = s.network.bank.value.copy(), s.network.bank.frozen.copy()
    s.reset()
    assert s.network.layers[0].frozen
    s.seek(20)
    assert np.array_equal(s.network.bank.value, value)
    assert np.array_equal(s.network.bank.frozen, frozen) and frozen.sum() == 6
    s.back(3)
    s.advance(3)
    assert np.array_equal(s.network.bank.value, value)


def test_a_network_that_begins_with_an_affine_keeps_it() -> None:
    net = sv.Network([sv.Affine(3, 0.01), 3])
    s = session(net, table())
    assert len(net) == 2 and net.layers[0].kernel.tolist() == pytest.approx([0.01] * 3)
    s.data = table(order="in_order")
    session(net.copy(), s.data).advance(1)
    assert len(net) == 2


def read(net: sv.Network) -> None:
    net(X)


def handed_out(net: sv.Network) -> None:
    assert net.layers[0].kernel.any()


def trained(net: sv.Network) -> sv.Session:
    return session(net, (X / 1e4, LABELS))


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
    with refused(OrderError, "data.affine()"):
        session(net, table())
    assert len(net) == 2 and np.array_equal(net.bank.value, before)


def test_a_session_cannot_take_such_data_later() -> None:
    s = session(sv.Network([3, 3]), (X, LABELS))
    with refused(OrderError, "data.affine()"):
        s.data = table()
    s.advance(1)


def test_a_compiled_function_is_refused() -> None:
    w = sv.Value(0.5)
    f = sv.compile(lambda a, b, c: w * a + b + c, 3)
    data = sv.data.Arrays(X, X[:, :1], standardize=True)
    with refused(InputError, "compiled function"):
        sv.Session(f, data)


def test_data_that_does_not_fit_changes_no_network() -> None:
    net = sv.Network([4, 3])
    with pytest.raises(ShapeError):
        session(net, table())
    fits = sv.Network([3, 3])
    with pytest.raises(UnknownNameError):
        session(fits, table(), "fast")
    with pytest.raises(InputError):
        sv.Session(fits, table(), "softmax_cross_entropy", metrics="best", engine="python")
    assert len(net) == len(fits) == 1 and is_as_made(net) and is_as_made(fits)


def test_what_was_handed_out_before_cannot_be_written_in_vain() -> None:
    net = sv.Network([3, 3])
    bank: Bank = net.bank
    s = session(net, table())
    with pytest.raises(ValueError, match="read-only"):
        bank.value[0] = 1.0
    assert s.network.bank is net.bank is not bank and not is_as_made(net)


def test_settings_of_the_network_stay() -> None:
    mixed = sv.Network([3, 3], seed=9, engine="cpu", precision="mixed")
    double = sv.Network([3, 3], seed=9, dtype="float64")
    for net, dtype in ((mixed, "float32"), (double, "float64")):
        session(net, table(), "cpu").advance(1)
        assert (net.dtype, net.seed, len(net)) == (dtype, 9, 2)


# ---- what it goes into --------------------------------------------------------------------------


def test_a_run_is_saved_with_it(tmp_path: Path) -> None:
    s = session(sv.Network([3, 8, 3], "tanh"), table())
    s.advance(20)
    s.save(tmp_path / "run.safetensors")
    s.save(tmp_path / "small.safetensors", data=False)
    again = sv.Session.load(tmp_path / "run.safetensors")
    plain = sv.data.Arrays(X, LABELS, share=0.8)
    small = sv.Session.load(tmp_path / "small.safetensors", data=plain)
    for each in (again, small):
        assert each.data.standardize and each.network.layers[0].frozen
        each.seek(0)
        each.seek(20)
        assert np.array_equal(each.network.bank.value, s.network.bank.value)
        assert repr(each.network.layers[0]) == repr(s.network.layers[0])


def test_replicas_and_sweeps_have_it(tmp_path: Path) -> None:
    s = session(sv.Network([3, 4, 3]), table(), "cpu")
    replicas = sv.replicate(s, range(3))
    replicas.advance(10)
    for net in replicas.networks:
        assert net.layers[0].frozen
        assert np.array_equal(net.layers[0].kernel, s.network.layers[0].kernel)
    s.freeze(s.network.layers[0], False)
    s.freeze(s.network.layers[1])
    other = sv.replicate(s, [1]).networks[0]
    assert not other.layers[0].frozen and other.layers[1].frozen


def test_a_network_that_was_grown_or_drawn_again_has_it() -> None:
    s = session(sv.Network([3, 4, 3], "tanh"), table())
    s.advance(5)
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
