"""Layer classes of users, with parameters; without `lower` the cpu engine runs them as Python."""

from __future__ import annotations

import pickle
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import text
from scalarviz.core.layers import LAYERS
from scalarviz.core.layers.custom_layers import OWN
from scalarviz.core.precision import Precision
from scalarviz.engines.registry import ENGINES, choose_best
from scalarviz.errors import (
    EngineError,
    FileError,
    GradientError,
    InputError,
    Interrupted,
    OrderError,
    ShapeError,
    UnknownNameError,
)
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import CardLine
from scalarviz.training.session.reading import caption
from tests.engines.agreement import TOLERANCE, difference
from tests.sessions import advanced, fast_engines, reloaded
from tests.wording import refused

X = np.random.default_rng(0).normal(size=(300, 2))
Y = np.sin(3.0 * X[:, :1]) * X[:, 1:]


class Radial(sv.Layer):
    """y[j] = exp(-|x - c[j]|**2), with centres c that are learned."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, parameters={"centres": (outputs, inputs)})

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}

    def forward_rows(self, batch: Any) -> Any:
        away = np.array(batch)[:, None] - self.parameter("centres").value
        y = np.exp(-np.square(away).sum(axis=2))
        self.kept.append((away, y))
        return y

    def backward_rows(self, upstream: Any) -> Any:
        away, y = self.kept.pop()
        pull = 2.0 * away * (upstream * y)[..., None]
        self.parameter("centres").grad += pull.sum(axis=0)
        return -pull.sum(axis=1)


class Sines(sv.Layer):
    """y = sin(W x + b), parameters as Dense has them."""

    def __init__(self, inputs: int, outputs: int) -> None:
        shapes = {"weight": (outputs, inputs), "bias": (outputs,)}
        super().__init__(inputs, outputs, parameters=shapes)

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}

    def forward_rows(self, batch: Any) -> Any:
        x = np.array(batch)
        z = x @ self.parameter("weight").value.T + self.parameter("bias").value
        self.kept.append((x, z))
        return np.sin(z)

    def backward_rows(self, upstream: Any) -> Any:
        x, z = self.kept.pop()
        delta = upstream * np.cos(z)
        self.parameter("weight").grad += delta.T @ x
        self.parameter("bias").grad += delta.sum(axis=0)
        return delta @ self.parameter("weight").value


class Scaled(sv.Layer):
    """y = x times a number that is a setting and that a user changes; no parameters."""

    def __init__(self, features: int, factor: float = 2.0) -> None:
        super().__init__(features, features)
        self.factor = factor

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs, "factor": self.factor}

    def forward_rows(self, batch: Any) -> Any:
        return [[self.factor * x for x in sample] for sample in batch]

    def backward_rows(self, upstream: Any) -> Any:
        return [[self.factor * g for g in sample] for sample in upstream]


@pytest.fixture
def layer() -> Scaled:
    return Scaled(2)


class Odd(Scaled):
    """y = x times two numbers for each feature, and one for all."""

    def __init__(self, features: int) -> None:
        sv.Layer.__init__(self, features, features, parameters={"pair": (2, features), "all": ()})

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def forward_rows(self, batch: Any) -> Any:
        self.kept.append(np.array(batch))
        (a, b), every = self.parameter("pair").value, self.parameter("all").value
        return self.kept[-1] * a * b * every

    def backward_rows(self, upstream: Any) -> Any:
        g, (a, b), every = upstream, self.parameter("pair").value, self.parameter("all").value
        gx = upstream * self.kept.pop()
        self.parameter("pair").grad += np.sum([gx * b * every, gx * a * every], axis=1)
        self.parameter("all").grad += (gx * a * b).sum()
        return g * (a * b * every)


class Trouble(Scaled):
    """Does what `act` does at its n-th forward in training of many samples, n counting from 1."""

    act: Callable[[], object] = staticmethod(int)
    at, count = 0, 0

    def forward_rows(self, batch: Any) -> Any:
        Trouble.count += 1
        if Trouble.count == Trouble.at:
            Trouble.act()
        return super().forward_rows(batch)


def radial() -> list[sv.Layer]:
    return [sv.Dense(2, 4, "tanh"), Radial(4, 6), sv.Dense(6, 1)]


def twice() -> list[sv.Layer]:
    shared = Radial(3, 3)
    return [sv.Dense(2, 3), shared, sv.Dense(3, 3), shared, sv.Dense(3, 1)]


PLACES: dict[str, Callable[[], list[sv.Layer]]] = {
    "between": radial,
    "first": lambda: [Radial(2, 5), sv.Dense(5, 1)],
    "with biases": lambda: [sv.Dense(2, 3), Sines(3, 4), sv.Dense(4, 1)],
    "of other shapes": lambda: [sv.Dense(2, 3), Odd(3), sv.Dense(3, 1)],
    "last": lambda: [sv.Dense(2, 3), Radial(3, 1)],
    "in a residual": lambda: [sv.Residual(sv.Dense(2, 3), Radial(3, 2)), sv.Dense(2, 1)],
    "in branches": lambda: [sv.Product(Radial(2, 3), sv.Dense(2, 3)), sv.Dense(3, 1)],
    "used twice": twice,
    "without parameters": lambda: [sv.Dense(2, 3), Scaled(3), sv.Dense(3, 1)],
    "alone": lambda: [Scaled(2, 0.5), sv.Dense(2, 1)],
    "before a batch norm": lambda: [Radial(2, 5), sv.BatchNorm(5), sv.Dense(5, 1)],
}


def session(engine: str, *layers: sv.Layer, batch: int = 16, **options: Any) -> sv.Session:
    net = sv.Network([*(layers or radial())], seed=1, dtype=options.pop("dtype", "float64"))
    samples = data.Arrays(X, Y)
    return sv.Session(net, samples, "mse", sv.Momentum(0.1), batch=batch, engine=engine, **options)


@pytest.fixture
def s() -> sv.Session:
    return session("cpu")


def same_bits(a: sv.Session, b: sv.Session) -> bool:
    return a.network.bank.value.tobytes() == b.network.bank.value.tobytes()


def raw(value: Any) -> Callable[[Any, Any], Any]:
    return lambda self, rows: value


@pytest.fixture
def no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("act", "at", "count"):
        monkeypatch.setattr(Trouble, name, vars(Trouble)[name])


# ---- the numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLACES)
def test_its_gradients_agree_with_finite_differences(name: str) -> None:
    assert sv.gradcheck(sv.Network(PLACES[name](), seed=3), X[:3]).error < 1e-6


@fast_engines
@pytest.mark.some(11)
@pytest.mark.parametrize("batch", [1, 16, 300])
@pytest.mark.parametrize("name", PLACES)
def test_the_engines_agree(name: str, batch: int, engine: str) -> None:
    one, other = (session(each, *PLACES[name](), batch=batch) for each in ("python", engine))
    for each in (one, other):
        each.advance(10)
    assert other.engine == engine
    assert difference(one.network.bank.value, other.network.bank.value) < 1e-10
    assert difference(one.network.bank.grad, other.network.bank.grad) < 1e-10
    assert one.network(X[:7]) == pytest.approx(other.network(X[:7]))
    found = [each.network.forward(X[:5]) for each in (one, other)]
    assert found[0] == pytest.approx(found[1])
    found = [each.network.backward(np.ones((5, 1))) for each in (one, other)]
    assert found[0] == pytest.approx(found[1])
    assert difference(one.network.bank.grad, other.network.bank.grad) < 1e-10


def test_they_agree_where_a_chunk_has_several_tiles() -> None:
    x = np.random.default_rng(3).normal(size=(4000, 2))
    found = []
    for engine in ("python", "cpu"):
        net = sv.Network(radial(), seed=1, dtype="float64", engine=engine)
        net.train(x, x[:, :1], "mse", sv.SGD(0.1), steps=2)
        found.append(net.bank.value.copy())
    assert difference(*found) < 1e-10


def test_they_agree_in_float32_and_in_mixed_precision() -> None:
    found = {}
    for engine, precision in (("python", "full"), ("cpu", "full"), ("cpu", "mixed")):
        net = sv.Network(radial(), seed=1).to(engine, precision)
        found[engine, precision] = net.train(X, Y, "mse", sv.SGD(0.1), steps=20)
    wanted = found["python", "full"]
    assert difference(wanted, found["cpu", "full"]) < TOLERANCE["float32"]
    assert difference(wanted, found["cpu", "mixed"]) < 1e-2


@fast_engines
@pytest.mark.parametrize("name", PLACES)
def test_moments_and_going_back_have_the_bits_of_whole_steps(name: str, engine: str) -> None:
    batch = 200 if engine == "cpu" else 9  # more than a chunk of the cpu; a simulator is slow
    whole, parts = (session(engine, *PLACES[name](), batch=batch) for _ in range(2))
    whole.advance(6)
    parts.advance(6 * len(parts.operations), "operation")
    assert same_bits(whole, parts)
    whole.advance(20)
    whole.seek(6)
    assert same_bits(whole, parts)
    parts.back(3, "operation")
    parts.seek(6)
    assert same_bits(whole, parts)


def test_nothing_is_kept_from_one_step_to_the_next() -> None:
    class Counting(Radial):
        most = 0

        def backward_rows(self, upstream: Any) -> Any:
            Counting.most = max(Counting.most, len(self.kept))
            return super().backward_rows(upstream)

    s = advanced(session("cpu", sv.Dense(2, 4), Counting(4, 6), sv.Dense(6, 1)), 20)
    s.advance(20, "operation")
    assert Counting.most == 1


def test_no_bit_depends_on_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for worth in (0, 10**12):
        monkeypatch.setattr("scalarviz.engines.cpu.calls.WORTH_CORES", worth)
        s = session("cpu", batch=300)
        assert s.trainer.run._together is (worth == 0)  # type: ignore[attr-defined]
        s.advance(8)
        found.append(s)
    assert same_bits(*found)


def test_one_that_mixes_samples_or_draws_numbers_is_refused_where_tiles_are_computed(
    rng: np.random.Generator,
) -> None:
    wrong: dict[str, Callable[[Any, Any], Any]] = {
        "Centred": lambda self, rows: np.array(rows) - np.mean(rows, axis=0),
        "Noisy": lambda self, rows: rng.normal(size=(len(rows), self.outputs)),
    }
    for name, forward in wrong.items():
        made: Any = type(name, (Scaled,), {"forward_rows": forward})
        net = sv.Network([made(2)], engine="cpu")
        net(X[:1])
        for _ in range(2):
            refused(InputError, f"{name}(2 -> 2)").by(net, X[:5])
        assert net.to("python")(X[:5]).shape == (5, 2)


def test_a_setting_that_changes_is_seen_by_both_engines(layer: Scaled) -> None:
    net = sv.Network([layer, sv.Dense(2, 1)], seed=0, engine="cpu")
    before = net(X[:3])
    layer.factor = 0.0
    assert (net(X[:3]) == net.layers[1].bias).all() and (net(X[:3]) != before).all()


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_call_between_forward_and_backward_changes_nothing(engine: str) -> None:
    found = []
    for between in (0, 3):
        net = sv.Network(radial(), seed=0, engine=engine)
        net.forward(X[:4])
        for _ in range(between):
            net(X[4:8])
        net.backward()
        layer: Any = net.layers[1]
        found.append(net.bank.grad.copy())
        assert layer.kept == []
    assert (found[0] == found[1]).all()


def test_another_thread_may_ask_while_it_trains() -> None:
    alone, s = session("cpu", batch=300), session("cpu", batch=300)
    wanted, stopped = s.network.copy()(X), threading.Event()
    other = s.network.copy()
    found: list[Any] = []

    def ask() -> None:
        while not stopped.is_set():
            found.append(other(X))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for each in threads:
        each.start()
    s.advance(60)
    stopped.set()
    for each in threads:
        each.join()
    alone.advance(60)
    assert same_bits(alone, s) and found and all((each == wanted).all() for each in found)


# ---- what it costs ------------------------------------------------------------------------------


@fast_engines
def test_one_sentence_names_the_layer_and_what_it_costs_a_step(
    engine: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalarviz.engines.reference._said", set())
    for _ in range(2):
        s = session(engine, *radial())
        s.network(X)
        s.advance(30)
    (said,) = [each.message for each in caplog.records if "as Python" in each.message]
    start, _, end = said.partition(": as Python it takes ")
    assert start == f"the {engine} engine has no kernels for Radial(4 -> 6) of layer 1"
    python, whole = (float(each.split(" ms")[0]) for each in end.split(" of a step of "))
    assert 0.0 < python <= whole
    session(engine, Radial(2, 2), sv.Residual(Scaled(2)), sv.Dense(2, 1)).advance(30)
    assert "for Radial(2 -> 2) of layer 0 and Scaled(2 -> 2) of layer 1.0: " in caplog.text


# ---- errors and interruptions -------------------------------------------------------------------


def fail() -> None:
    raise ZeroDivisionError("in the layer")


@pytest.mark.usefixtures("no_trouble")
@pytest.mark.some("16-python", "300-cpu")
@pytest.mark.parametrize("engine", ["python", "cpu"])
@pytest.mark.parametrize("batch", [16, 300])
def test_an_error_of_its_python_leaves_whole_steps(engine: str, batch: int) -> None:
    def made() -> sv.Network:
        return sv.Network([sv.Dense(2, 3), Trouble(3), sv.Dense(3, 1)], seed=0, engine=engine)

    whole, broken = made(), made()
    x, y = X[:batch], Y[:batch]
    Trouble.act, Trouble.at = staticmethod(fail), 57
    with pytest.raises(ZeroDivisionError, match="in the layer"):
        broken.train(x, y, "mse", sv.Momentum(0.1), steps=100)
    steps = broken.bank.step_count
    assert 0 < steps < 57
    whole.train(x, y, "mse", sv.Momentum(0.1), steps=steps)
    assert whole.bank.value.tobytes() == broken.bank.value.tobytes()
    for each in (whole, broken):  # and it goes on
        each.train(x, y, "mse", sv.Momentum(0.1), steps=5)
    assert whole.bank.value.tobytes() == broken.bank.value.tobytes()


@pytest.mark.usefixtures("no_trouble")
@pytest.mark.parametrize("unit", ["step", "operation"])
def test_so_does_one_in_a_session(unit: str) -> None:
    layers = [sv.Dense(2, 3), Trouble(3), sv.Dense(3, 1)]
    s = session("cpu", *layers)
    Trouble.act, Trouble.at = staticmethod(fail), 30
    with pytest.raises(ZeroDivisionError):
        s.advance(1000, unit)
    other = session("cpu", *[each.again() for each in layers])
    other.seek(s.step_index)
    s.seek(s.step_index)
    assert s.step_index > 0 and same_bits(s, other)
    s.advance(5)
    other.advance(5)
    assert same_bits(s, other)


@pytest.mark.usefixtures("no_trouble")
def test_one_that_computes_with_its_own_network_is_refused() -> None:
    net = sv.Network([sv.Dense(2, 3), Trouble(3)], seed=0, engine="cpu")
    Trouble.act, Trouble.at = lambda: net(X[:2]), Trouble.count + 1
    refused(OrderError, "Trouble(3 -> 3) of layer 1 computes with its own network").by(net, X[:2])
    assert net(X[:2]).shape == (2, 3)


class Forgetful(Scaled):
    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}


def test_one_whose_settings_lack_something_is_refused() -> None:
    refused(InputError, "Forgetful(2 -> 2) computes different numbers").by(
        session("cpu", Forgetful(2, 5.0), sv.Dense(2, 1)).advance, 1
    )


class Tanhs(Scaled):
    """y = tanh(tanh(x)), as two operations; the factor says whether in two places."""

    def lower(self, program: Any) -> None:
        place = program.part
        for program.part in (place, f"{place}{'.1' * bool(self.factor)}"):
            program.add("activation", "tanh", size=self.outputs)
        program.part = place


def test_two_operations_of_one_name_are_refused_unless_in_two_places() -> None:
    refused(InputError, "'tanh 1.0'").by(sv.Network, [sv.Dense(2, 3), sv.Residual(Tanhs(3, 0.0))])
    s = advanced(session("cpu", sv.Dense(2, 3), *2 * [Tanhs(3)], sv.Dense(3, 1)), 3, "operation")
    assert "tanh" in caption(s, 0).formula


class Table(Scaled):
    def __init__(self, features: int, factor: Any) -> None:
        super().__init__(features, factor)

    def forward_rows(self, batch: Any) -> Any:
        return np.array(batch) * self.factor[2000]


def test_a_number_in_a_long_array_of_settings_can_change() -> None:
    layer = Table(2, np.ones(4000))
    net = sv.Network([layer], seed=0, engine="cpu")
    before = net(X[:3])
    layer.factor = np.where(np.arange(4000) == 2000, 1.001, 1.0)  # type: ignore[assignment]
    assert net(X[:3]) == pytest.approx(before * 1.001)


@pytest.mark.usefixtures("no_trouble")
def test_an_error_in_a_replica_is_raised() -> None:
    many = sv.replicate(session("cpu", sv.Dense(2, 3), Trouble(3), sv.Dense(3, 1)), seeds=[1, 2, 3])
    Trouble.act, Trouble.at = staticmethod(fail), Trouble.count + 40
    with pytest.raises(ZeroDivisionError):
        many.advance(100)


@pytest.mark.usefixtures("no_trouble")
def test_ctrl_c_in_its_python_ends_after_a_whole_step() -> None:
    net = sv.Network([sv.Dense(2, 3), Trouble(3), sv.Dense(3, 1)], seed=0, engine="cpu")
    other = net.copy()
    Trouble.act, Trouble.at = lambda: signal.raise_signal(signal.SIGINT), 57
    error = refused(Interrupted, "1,000 steps", varies=r"[\d,]+(?= of)").by(
        net.train, X[:8], Y[:8], steps=1000
    )
    taken = len(error.losses)
    assert 0 < taken == net.bank.step_count < 1000
    other.train(X[:8], Y[:8], steps=taken)
    assert net.bank.value.tobytes() == other.bank.value.tobytes()


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_nan_ends_the_training_as_in_every_layer(engine: str) -> None:
    s = session(engine, sv.Dense(2, 2), Scaled(2, float("nan")), sv.Dense(2, 1))
    refused(GradientError, "nan").by(s.advance, 2)
    assert s.step_index == 0


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "too few rows": lambda self, rows: [*rows][1:],
    "too many numbers": lambda self, rows: [[*row, 0.0] for row in rows],
    "one number": raw(1.0),
    "nothing": raw(None),
    "text": raw([["a", "b"], ["c", "d"]]),
    "ragged rows": raw([[1.0, 2.0], [3.0]]),
    "no list": raw({1, 2}),
}
ACTS: dict[str, Callable[[sv.Network], object]] = {
    "forward_rows": lambda net: net.train_step(X[:2], X[:2]),
    "backward_rows": lambda net: net.train_step(X[:2], X[:2]),
    "evaluate_rows": lambda net: net(X[:2]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_its_methods_return_is_checked(name: str) -> None:
    for method, act in ACTS.items():
        made: Any = type("Wrong", (Scaled,), {method: WRONG[name]})
        for engine in ("python", "cpu"):
            net = sv.Network([sv.Dense(2, 2), made(2)], seed=0, engine=engine)
            before = net.bank.value.copy()
            refused(ShapeError, f"{method} of Wrong(2 -> 2)").by(act, net)
            assert (net.bank.value == before).all()


# ---- its parameters -----------------------------------------------------------------------------


def test_its_parameters_have_names_shapes_and_initial_numbers() -> None:
    class Affine(sv.Layer):
        def __init__(self) -> None:
            super().__init__(2, 3, parameters={"weight": (3, 2), "bias": (3,), "one": ()})

        def settings(self) -> dict[str, Any]:
            return {}

        def forward_rows(self, batch: Any) -> Any:
            return np.zeros((len(batch), 3))

        def backward_rows(self, upstream: Any) -> Any:
            return np.zeros((len(upstream), 2))

    net = sv.Network([sv.Dense(2, 2), Affine()], init="pytorch", seed=4)
    assert {name: each.shape for name, each in dict(net.named_parameters()).items()} == {
        "0.weight": (2, 2), "0.bias": (2,), "1.weight": (3, 2), "1.bias": (3,), "1.one": (),
    }  # fmt: skip
    layer: Any = net.layers[1]
    assert layer.row_name(3) == "weight 1, 1" and layer.row_name(8) == "bias 2"
    assert layer.row_name(9) == "one"
    assert str(net.bank.name_of(9)) == "layer 1, weight 1, 1"
    assert len({*layer.parameter("weight").value.ravel().tolist()}) == 6
    zeros = sv.Network([Affine()], init=sv.Init("xavier_uniform", bias="zeros"), seed=4)
    assert not zeros.layers[0].parameter("bias").value.any()
    assert zeros.layers[0].parameter("weight").value.all()
    assert layer.weight(4) is layer.weight(4) and layer.weight(4).index == 10
    layer.parameter("weight").grad += 2.0
    assert layer.bank.grad[6:12].tolist() == [2.0] * 6 and layer.bank.has_gradients
    refused(UnknownNameError, "'wieght'").by(layer.parameter, "wieght")


def test_a_layer_that_was_tried_joins_a_network_but_not_one_whose_arrays_are_held() -> None:
    class Own(Radial):
        def initialize(self, init: Any, seed: int) -> None:
            self.parameter("centres").value = np.ones((self.outputs, self.inputs))

        def evaluate_rows(self, batch: Any) -> Any:
            return self.parameter("centres").value[:, 0] * np.array(batch)[:, :1]

    for kind in (Radial, Own):
        layer = kind(2, 3)
        layer(X[:2])
        sv.Network([layer])
    other = Radial(2, 3)
    other.parameter("centres")
    refused(sv.errors.OwnershipError, "Radial").by(sv.Network, [other])


@pytest.mark.parametrize(
    ("parameters", "value"),
    [
        ([3, 2], "[3, 2]"),
        ({"a": 3}, "{'a': 3}"),
        ({"a b": (3,)}, "{'a b': (3,)}"),
        ({"a": (3, 0)}, "not 0"),
        ({"a": (2.5,)}, "2.5"),
        ({3: (2,)}, "{3: (2,)}"),
    ],
)
def test_parameters_that_are_no_shapes_are_refused(parameters: Any, value: str) -> None:
    class Bad(Scaled):
        def __init__(self) -> None:
            sv.Layer.__init__(self, 2, 2, parameters=parameters)

    refused(InputError, value).by(Bad)


def test_a_layer_without_settings_is_refused() -> None:
    made: Any = type("Bare", (sv.Layer,), {"forward_rows": raw([]), "backward_rows": raw([])})
    with pytest.raises(TypeError, match="settings"):
        made(2, 2)


def test_one_that_keeps_numbers_of_its_batches_says_its_operations_itself(layer: Scaled) -> None:
    layer.state_size = 3
    refused(InputError, "Scaled(2 -> 2)").by(sv.Network, [layer])


def test_one_made_of_layers_says_itself_how_it_evaluates(layer: Scaled) -> None:
    layer.layers = (sv.Dense(2, 2),)
    refused(InputError, "Scaled(2 -> 2)").by(layer, X[:2])


# ---- files, copies, processes -------------------------------------------------------------------


def test_it_is_saved_and_loaded(tmp_path: Path, s: sv.Session) -> None:
    s.advance(20)
    net, other = reloaded(s.network, tmp_path), reloaded(s, tmp_path)
    assert type(net.layers[1]) is Radial
    assert net.bank.value.tobytes() == s.network.bank.value.tobytes()
    s.advance(10)
    other.advance(10)
    assert other.engine == "cpu" and same_bits(s, other)


def test_a_file_whose_class_is_not_defined_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session("cpu").network.save(tmp_path / "net.safetensors")
    monkeypatch.delitem(OWN, "Radial")
    refused(FileError, "'Radial'").by(sv.load, tmp_path / "net.safetensors")


@pytest.mark.parametrize("name", ["Dense", "Scaled"])
def test_a_name_that_another_class_has_is_not_saved(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(OWN, name, OWN.get(name))
    first: Any = type(name, (Scaled,), {})
    if name not in LAYERS:
        sv.Network([first(2)]).save(tmp_path / "net.safetensors")
        type(name, (Scaled,), {})
    refused(InputError, name).by(sv.Network([first(2)]).save, tmp_path / "net.safetensors")
    assert type(sv.Dense(2, 2).again()) is sv.Dense


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({}, "'features'"),
        ({"features": 2, "size": 3}, "'size'"),
        ({"features": 2, "factor": np.ones(2)}, "array([1., 1.])"),
        ({"features": 2, "factor": float("nan")}, "nan"),
    ],
)
def test_settings_that_do_not_make_it_again_are_not_saved(
    settings: Any, value: str, tmp_path: Path
) -> None:
    made: Any = type("Scant", (Scaled,), {"settings": lambda self: dict(settings)})
    refused(InputError, value).by(sv.Network([made(2)]).save, tmp_path / "net.safetensors")
    assert not (tmp_path / "net.safetensors").exists()


def test_copies_pickles_and_replicas_have_its_numbers(s: sv.Session) -> None:
    s.advance(10)
    for other in (s.copy().network, pickle.loads(pickle.dumps(s.network)), s.network.copy()):
        assert other.bank.value.tobytes() == s.network.bank.value.tobytes()
        assert other.to("cpu")(X).tobytes() == s.network(X).tobytes()
    many = advanced(sv.replicate(session("cpu"), seeds=[0, 1, 2]), 12)
    assert difference(many.losses[1], advanced(session("cpu", seed=1), 12).losses) < 1e-12
    assert len({*many.losses[:, -1].tolist()}) == 3


# ---- where it cannot run ------------------------------------------------------------------------


def test_auto_does_not_choose_cuda_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    net = sv.Network(radial(), seed=0)
    with monkeypatch.context() as patch:
        cuda = ENGINES["cuda"].__class__(
            "cuda", ENGINES["cuda"].make, str, lambda: ENGINES["cpu"].kernels()
        )
        patch.setitem(ENGINES, "cuda", cuda)
        assert choose_best(10**9, Precision(), net.program).name == "cpu"
        assert choose_best(10**9, Precision(), sv.Network([2, 3]).program).name == "cuda"
    assert net.to("auto").engine == "cpu"


def test_pictures_draw_a_matrix_and_biases_as_those_of_dense() -> None:
    shapes = {
        type(layer): sv.Network([layer]).program.operations[0]
        for layer in (Radial(4, 6), Sines(4, 6), Odd(3), Scaled(3))
    }
    assert {kind: (op.shape, op.biases) for kind, op in shapes.items()} == {
        Radial: ((6, 4), -1), Sines: ((6, 4), 24), Odd: ((7,), -1), Scaled: ((), -1),
    }  # fmt: skip


@pytest.mark.some(1)
@pytest.mark.parametrize("name", PLACES)
def test_it_is_drawn_and_told_at_each_moment(name: str) -> None:
    s = advanced(session("cpu", *PLACES[name]()), 2)
    stage: Any = Stage(Show(s), reduced_motion=True)
    every = np.arange(len(s.network.bank))
    drawn = [np.ravel(every[plate.indices]) for plate in stage.plan.plates]
    assert {*np.concatenate(drawn).tolist()} == {*every.tolist()}
    own = next(each for each in s.network.program.operations if each.own is not None)
    titles = set()
    for row in [None, *list(own.parameters)[-2:]]:
        stage.pinned = row
        for _ in s.operations:
            s.advance(1, "operation")
            stage.frame_data()
            titles.add(caption(s, row).title)
            if row is not None:
                grad = [f"grad = {s.network.bank.grad[row]:.6g}"]
                assert str(s.explain(row)).splitlines()[1:2] in ([], grad)
                told = [
                    each.words for each in blocks_of_weight(s, row) if isinstance(each, CardLine)
                ]
                assert told and text("explanation.beyond") not in told
    assert name == "last" or text("captions.plain", name=type(own.own).__name__) in titles


def test_a_page_trains_no_such_network_and_records_it(tmp_path: Path, s: sv.Session) -> None:
    refused(EngineError, "Radial(4 -> 6) of layer 1").by(
        sv.page, s, tmp_path / "a.html", engine=True
    )
    assert sv.page(s, tmp_path / "a.html", steps=10) > 100_000


@pytest.mark.parametrize("ending", ["glsl", "onnx"])
def test_other_formats_refuse_it_in_one_sentence(ending: str, tmp_path: Path) -> None:
    if ending == "onnx":
        pytest.importorskip("onnx", reason="the extra onnx is not installed")
    refused(InputError, "Radial").by(session("cpu").network.save, tmp_path / f"net.{ending}")
