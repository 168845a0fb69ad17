"""Files of networks.

They come back bit for bit, with custom formulas by their digest, or not at all.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from safetensors import safe_open

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.engines.custom.user_functions import digest
from scalarviz.errors import EngineError, FileError, InputError
from scalarviz.faces.controller.train import Autosave
from scalarviz.files import checked_safetensors
from scalarviz.files.checked_safetensors import read, write
from scalarviz.files.networks import describe, numbers, save_network
from tests.sessions import advanced, examples, networks, reloaded
from tests.wording import refused

X = np.array([[0.5, -0.25], [1.0, 0.75], [-1.0, 0.1]])


def example() -> sv.Network:
    """One of every kind of layer, one of them shared, with more than one initializer."""
    again = sv.Dense(4, 4, "tanh", init=sv.Init("uniform", low=-0.5, high=0.25))
    layers = [
        sv.FrequencyEncoding(2, octaves=3),
        sv.Dense(12, 4, "gelu", bias=False),
        again,
        sv.LayerNorm(4, eps=1e-3),
        again,
        sv.RMSNorm(4),
        sv.Dense(4, 2, "sigmoid", init="he_normal"),
    ]
    return sv.Network(layers, init=sv.Init("xavier_uniform", bias="fan_out"), seed=2**64 - 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.safetensors"


def bits(net: sv.Network) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in numbers(net).items()}


def assert_same(one: sv.Network, other: sv.Network) -> None:
    assert repr(one) == repr(other)
    assert [repr(layer) for layer in one.layers] == [repr(layer) for layer in other.layers]
    assert (repr(one.init), one.seed, one.dtype) == (repr(other.init), other.seed, other.dtype)
    assert bits(one) == bits(other)
    assert one.bank.step_count == other.bank.step_count
    assert one.bank.has_gradients == other.bank.has_gradients


@given(networks())
@examples(10, 30)
def test_a_network_comes_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, made: tuple[sv.Network, Any]
) -> None:
    net, batch = made
    loaded = reloaded(net, tmp_path_factory.getbasetemp())
    assert_same(loaded, net)
    np.testing.assert_array_equal(loaded(batch), net(batch))


@pytest.mark.parametrize(
    "optimizer", [sv.SGD, sv.Momentum, sv.Nesterov, sv.RMSProp, sv.Adam, sv.AdamW]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_goes_on_as_if_it_had_not_stopped(
    optimizer: Callable[[float], sv.Optimizer], dtype: str, tmp_path: Path
) -> None:
    net = sv.Network([2, 3, 2], "tanh", dtype=dtype)
    net.layers[0].perceptrons[1].freeze()
    net.train(X, X, "mse", optimizer(0.01), steps=3)
    loaded = reloaded(net, tmp_path)
    assert_same(loaded, net)
    assert (loaded.bank.frozen == net.bank.frozen).all()
    for each in (net, loaded):
        each.train(X, X, "mse", optimizer(0.01), steps=3)
    assert_same(loaded, net)


@pytest.mark.parametrize("wrong", [{"dynamic": 1}, {"dynamic": "yes"}, {"loss_scale": True}])
def test_a_precision_that_no_file_could_hold_is_refused(wrong: dict[str, Any]) -> None:
    (value,) = wrong.values()
    refused(InputError, value).by(sv.Precision, "mixed", **wrong)


def test_an_engine_that_cannot_run_here_is_not_called_a_bad_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.engines.python import PythonEngine
    from scalarviz.engines.registry import ENGINES, EngineRow

    monkeypatch.setitem(
        ENGINES, "far", EngineRow("far", PythonEngine, lambda: "a cable is missing")
    )
    save_network(sv.Network([2, 2]), path)
    refused(EngineError, "a cable").by(sv.load, path, "far")


# ---- files that describe no network -------------------------------------------------------------

Spoil = Callable[[dict[str, Any], dict[str, Any]], None]


def setting(*keys: Any, to: Any) -> Spoil:
    """Put something else into the description."""

    def spoil(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        *way, last = keys
        place = reduce(getitem, way, description)
        if to is KeyError:
            del place[last]
        else:
            place[last] = to

    return spoil


def replacing(name: str, array: Any) -> Spoil:
    """Put another array in the place of one, or none."""

    def spoil(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays.pop(name, None)
        if array is not None:
            arrays[name] = array

    return spoil


def renaming(name: str, to: str) -> Spoil:
    """Give an array another name."""

    def spoil(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[to] = arrays.pop(name)

    return spoil


def without_values(description: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Take all values out."""
    for name in [name for name in arrays if "." in name]:
        del arrays[name]


def whole(array: Any) -> Spoil:
    """Put one array in the place of all values, as version 2 did."""

    def spoil(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        without_values(description, arrays)
        arrays["value"] = array

    return spoil


def names(**other: Any) -> Spoil:
    """Put in names that a file of ONNX had, some of them odd ones."""
    plain = {"graph": "g", "input": "i", "output": "o", "layers": [{}, {}]}
    return setting("names", to=plain | other)


ROWS = 12
WRONG: dict[str, Spoil] = {
    "an unknown layer": setting("layers", 0, "kind", to="Evil"),
    "a layer that is no object": setting("layers", 0, to=[]),
    "an unknown activation": setting("layers", 0, "settings", "activation", to="sine"),
    "settings of an activation": setting("layers", 0, "settings", "activation", to="elu(nan)"),
    "an unknown setting": setting("layers", 0, "settings", "file", to="x"),
    "another size": setting("layers", 1, "settings", "inputs", to=9),
    "a huge size": setting("layers", 0, "settings", "outputs", to=10**15),
    "a size that is no number": setting("layers", 0, "settings", "inputs", to=[2]),
    "sizes that do not fit": setting("layers", 1, "settings", to={"inputs": 5, "outputs": 1}),
    "a layer that is not there": setting("order", to=[0, 5]),
    "a layer by a negative number": setting("order", to=[0, -1]),
    "no layers": setting("order", to=[]),
    "no order": setting("order", to=KeyError),
    "another type": setting("dtype", to="float64"),
    "an unknown type": setting("dtype", to="float16"),
    "an unknown initializer": setting("init", "name", to="x"),
    "an initializer's unknown setting": setting("init", "settings", to={"name": 1.0}),
    "a seed that is none": setting("seed", to=-1),
    "a truth that is none": setting("has_gradients", to=1),
    "steps before the first": setting("step_count", to=-1),
    "an unknown precision": setting("precision", "name", to="half"),
    "a loss scale of 0": setting("precision", "loss_scale", to=0.0),
    "unknown slots": setting("slots", to=[["m", "w"]]),
    "slots that are no names": setting("slots", to=[3]),
    "slots twice": setting("slots", to=[["m", "v"]] * 2),
    "slots without an array": setting("slots", to=[["m", "v"], ["velocity"]]),
    "an array without slots": setting("slots", to=[]),
    "no values": without_values,
    "values of another type": replacing("0.weight", np.zeros((2, 2))),
    "values in another shape": replacing("0.weight", np.zeros((1, 4), np.float32)),
    "values by another name": renaming("0.weight", "0.kernel"),
    "values of a layer that is not there": renaming("1.bias", "2.bias"),
    "values twice": replacing("value", np.zeros(ROWS, np.float32)),
    "values as one array, of another type": whole(np.zeros(ROWS)),
    "values as one array, in another shape": whole(np.zeros((1, ROWS), np.float32)),
    "frozen numbers": replacing("frozen", np.ones(ROWS, np.uint8)),
    "no state": replacing("state", None),
    "a scale of nothing": replacing("state", np.zeros(3)),
    "inputs by no name": setting("input_widths", to=[2]),
    "inputs of another size": setting("input_widths", to={"u": 1, "x": 2}),
    "an array more": replacing("more", np.zeros(1)),
    "formulas of one's own that are a number": setting("own", to=3),
    "losses that are a number": setting("own", to={"loss": 3}),
    "formulas of another kind": setting("own", to={"song": {}}),
    "a loss with another digest": setting("own", to={"loss": {"mse": "0"}}),
    "no names": setting("names", to={}),
    "names of no layers": names(layers=[]),
    "names of one layer": names(layers=[{}]),
    "a name that is a number": names(input=1),
    "a name of two lines": names(input="i\n"),
    "a name that is a list": names(layers=[{"node": ["x"]}, {}]),
    "a long name": names(layers=[{"node": "x" * 2000}, {}]),
    "names of inner layers": names(layers=[{"layers": [{}]}, {}]),
    **{
        f"the shape {odd!r:.20}": names(shape=odd)
        for odd in ([3], [1, 3], ["a"], "2", [-1, -2], [1, 2.0], [1] * 50 + [2], 2)
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    path = tmp_path_factory.mktemp("good") / "net.safetensors"
    net = sv.Network([sv.Dense(2, 2, "tanh"), sv.Dense(2, 2)])
    net.train_step(X, X, "mse", sv.Adam(0.1))
    save_network(net, path)
    return read(path, "network")


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_describes_no_network_says_why(
    name: str, good: tuple[dict[str, Any], dict[str, Any]], path: Path
) -> None:
    description, arrays = copy.deepcopy(good)
    WRONG[name](description, arrays)
    write(path, "network", description, arrays)
    refused(FileError, "net.safetensors").by(sv.load, path)


def test_names_of_inputs_are_in_the_file_in_their_order(path: Path) -> None:
    net = sv.Network([2, 1])
    net.input_widths = {"x": 1, "a": 1}
    assert [*reloaded(net, path.parent).input_widths.items()] == [("x", 1), ("a", 1)]
    s = reloaded(sv.Session(net, ({"x": X[:, 0], "a": X[:, 1]}, X[:, 0])), path.parent)
    assert [*s.network.input_widths] == ["x", "a"]
    assert s.data.training[0].tolist() == X.tolist()


def test_arrays_have_the_names_and_shapes_of_the_parameters(path: Path) -> None:
    net = sv.Network(
        [sv.Conv2d((1, 3, 3), 2, kernel=2), sv.Residual(sv.Dense(8, 8), sv.RMSNorm(8))]
    )
    save_network(net, path)
    with safe_open(path, framework="numpy") as file:  # as other programs read it
        found = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert {name: array.shape for name, array in found.items()} == {
        "0.weight": (2, 1, 2, 2), "0.bias": (2,), "1.0.weight": (8, 8), "1.0.bias": (8,),
        "1.1.weight": (8,), "state": (3,),
    }  # fmt: skip
    assert all((found[name] == each.value).all() for name, each in net.named_parameters())


class Scale(sv.Layer):
    """A layer of a user that names only some of its parameters."""

    def __init__(self, features: int) -> None:
        super().__init__(features, features)
        self.size = 2 * features

    def parameter_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"weight": (self.inputs,)}

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def lower(self, program: Any) -> None:
        program.add("activation", "tanh", size=self.outputs)

    def forward_rows(self, batch: Any) -> Any:
        return batch

    backward_rows = evaluate_rows = forward_rows


def test_a_layer_that_names_too_few_arrays_is_saved_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.core.layers import LAYERS

    monkeypatch.setitem(LAYERS, "Scale", Scale)
    net = sv.Network([sv.Dense(2, 2), Scale(2)])
    net.bank.value[:] = np.arange(10)
    assert reloaded(net, tmp_path).bank.value.tolist() == net.bank.value.tolist()


def test_the_file_that_is_spoiled_above_was_a_good_one(
    good: tuple[dict[str, Any], dict[str, Any]], path: Path
) -> None:
    write(path, "network", *good)
    assert len(sv.load(path).bank) == ROWS


@pytest.mark.parametrize("ending", [".onnx", ".ONNX", ".npz", ".glsl", ".hlsl"])
def test_the_ending_of_the_name_chooses_the_writer(ending: str, tmp_path: Path) -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=1)
    net.save(tmp_path / f"one{ending}")
    other = str(tmp_path / f"other{ending}")
    sv.onnx.save(net, other) if ending.lower() == ".onnx" else net.export(other)
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"other{ending}").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["net.pt", "net.bin", "net.gguf", "net.h5", "net.CSV", "net.onnx ", "net.safetensor"],
)
def test_the_ending_of_another_program_is_refused(name: str, tmp_path: Path) -> None:
    net = sv.Network([2, 1])
    refused(InputError, name, ".onnx", varies=r"'.*?(?=net\.)").by(net.save, tmp_path / name)
    refused(InputError, name, varies=r"'.*?(?=net\.)").by(
        sv.Session(net, sv.data.Xor(), "mse").save, tmp_path / name
    )
    refused(InputError, name, varies=r"'.*?(?=net\.)").by(Autosave, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_of_arrays_is_no_safetensors_file(tmp_path: Path) -> None:
    sv.Network([2, 1]).save(tmp_path / "net.npz")
    refused(FileError, "net.npz", "is not a safetensors file", varies=r"'.*?(?=net\.)").by(
        sv.load, tmp_path / "net.npz"
    )


def bend(x: float) -> float:
    return x / (1.0 + abs(x))


def bend_derivative(x: float, y: float) -> float:
    return 1.0 / ((1.0 + abs(x)) * (1.0 + abs(x)))


def quartic(p: float, t: float) -> float:
    return (p - t) ** 4


def lion(w: float, g: float, m: float, lr: float, beta: float = 0.9) -> tuple[float, float]:
    c = beta * m + (1.0 - beta) * g
    return w - lr * (1.0 if c > 0.0 else (-1.0 if c < 0.0 else 0.0)), c


def register() -> Callable[..., sv.Optimizer]:
    sv.activation(bend, bend_derivative)
    sv.loss(quartic)
    return sv.optimizer(lion, ("slow",))


def saved(folder: Path, engine: str) -> tuple[sv.Session, Path]:
    """A training with three formulas of the user, one of them since step 5, and its file."""
    kind, path = register(), folder / "run.safetensors"
    net = sv.Network([2, 3, 1], "bend", seed=1)
    s = advanced(sv.Session(net, data.Xor(), "quartic", sv.SGD(0.1), engine=engine, seed=2), 5)
    s.optimizer = kind(0.01, beta=0.5)
    s.advance(10)
    s.save(path)
    return s, path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return saved(tmp_path, "python")[1]


@pytest.mark.some(3)
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_run_goes_on_with_the_same_bits(engine: str, tmp_path: Path) -> None:
    s, path = saved(tmp_path, engine)
    register()  # again, from the same source
    loaded = sv.Session.load(path)
    assert repr(loaded.optimizer) == "Lion(lr=0.01, beta=0.5)"
    loaded.seek(3)
    loaded.seek(15)
    for each in (s, loaded):
        each.advance(5)
    assert np.array_equal(s.network.bank.value, loaded.network.bank.value)
    assert np.array_equal(s.losses, loaded.losses)


def test_another_formula_of_that_name_is_refused(run: Path) -> None:
    def other(p: float, t: float) -> float:
        return (p - t) ** 6

    sv.loss(other, name="quartic")
    refused(FileError, "a different loss").by(sv.Session.load, run)


def test_a_network_needs_its_activations_and_the_slots_of_its_optimizer(tmp_path: Path) -> None:
    kind, path = register(), tmp_path / "net.safetensors"
    net = sv.Network([sv.Residual(sv.Dense(2, 2, "bend")), sv.Dense(2, 1)], seed=1)
    net.train([[0.1, 0.2]], [[0.3]], optimizer=kind(0.1), steps=2)
    net.save(path)
    assert np.array_equal(sv.load(path).bank.slots["slow"], net.bank.slots["slow"])
    OPTIMIZERS.popitem()
    refused(FileError, "slow").by(sv.load, path)
    ACTIVATIONS.popitem()
    refused(FileError, "bend").by(sv.load, path)


def test_a_file_from_before_there_were_digests_goes_by_the_name(tmp_path: Path) -> None:
    register()
    path = tmp_path / "net.safetensors"
    sv.Network([2, 1], "bend", seed=1).save(path)
    assert "own" not in read(path, "network")[0]
    sv.Network([2, 1, 1], "bend", seed=1).save(path)
    description, arrays = read(path, "network")
    assert set(description.pop("own")["activation"]) == {"bend"}
    write(path, "network", description, arrays)
    assert sv.load(path).layers[0].activation == "bend"


# ---- digests ------------------------------------------------------------------------------------


def made(text: str, **known: Any) -> Callable[..., Any]:
    """A function from a source, which is found as that of a file would be."""
    from scalarviz.engines.custom.user_functions import function_of

    return function_of(text, text.partition("(")[0].removeprefix("def "), __name__, known)


FORMULA = made("def f(p, t):\n    return (p - t) * (p - t)\n")


def test_a_digest_is_of_what_is_computed() -> None:
    annotated = (
        'def f(p: float, t) -> float:\n    """A docstring."""\n    return (p-t) * (p-t)  # so\n'
    )
    assert digest(made(annotated)) == digest(FORMULA)
    assert digest(made("def f(p, t):\n    return (p - t) * (t - p)\n")) != digest(FORMULA)
    assert digest(FORMULA, FORMULA) == digest(FORMULA) != digest(FORMULA, bend)


def test_a_digest_counts_helpers_and_constants() -> None:
    text = "def f(p, t):\n    return helper(p - t) * FACTOR\n"
    helpers = [made(f"def helper(x):\n    return x * {factor}\n") for factor in (1.0, 1.0, 2.0)]
    first, same, other = (digest(made(text, helper=each, FACTOR=1.0)) for each in helpers)
    assert first == same != other
    assert first != digest(made(text, helper=helpers[0], FACTOR=2.0))


def test_a_subclass_of_optimizer_does_not_concern_files(tmp_path: Path) -> None:
    class Nameless(sv.Optimizer):
        """Its constructor needs a name."""

    class Lazy(sv.Optimizer):
        """A class of the user's own with the row of SGD."""

        def __init__(self, lr: float = 0.5) -> None:
            super().__init__("sgd", lr)

    s = sv.Session(sv.Network([2, 1]), data.Xor(), "mse", sv.SGD(0.1))
    assert type(reloaded(s, tmp_path).optimizer) is sv.SGD
    made = lambda seed: sv.Session(sv.Network([2, 1], seed=seed), data.Xor(), "mse")  # noqa: E731
    sweep = advanced(sv.sweep(made, [{}], seeds=range(2)), 10)
    assert not sweep.errors and len(sweep.runs().columns["seed"]) == 2
    del Nameless, Lazy


def write_as_version_1(path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a file once more as version 1 did, where `Bank.state` was called scaling."""
    description, arrays = read(path, kind)
    old = {name.replace("state", "scaling"): array for name, array in arrays.items()}
    text = json.dumps(description)
    assert set(old) != set(arrays)
    with monkeypatch.context() as patch:
        patch.setattr(checked_safetensors, "VERSION", 1)
        write(path, kind, json.loads(text.replace('"state":', '"scaling":')), old)
    assert b'\\"version\\":1' in path.read_bytes() and b"state" not in path.read_bytes()


def test_a_network_of_version_1_has_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    net = sv.Network([sv.Dense(2, 3), sv.BatchNorm(3)])
    net.forward(np.random.default_rng(0).normal(size=(8, 2)))
    net.save(path)
    write_as_version_1(path, "network", monkeypatch)
    loaded = sv.load(path)
    assert loaded.bank.state.tolist() == net.bank.state.tolist()
    assert describe(loaded) == describe(net) and set(numbers(loaded)) == set(numbers(net))


def test_a_run_of_version_1_replays_to_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its keyframes have a state, and so has an action that wrote all numbers."""
    path = tmp_path / "run.safetensors"
    net = sv.Network([sv.Dense(2, 3, "tanh"), sv.Dropout(3, 0.2), sv.Dense(3, 1)])
    s = advanced(sv.Session(net, data.Xor(), engine="python"), 3)
    net.bank.step_count += 1  # past the session, which journals all numbers
    s.advance(3)
    s.save(path)
    write_as_version_1(path, "run", monkeypatch)
    loaded = sv.Session.load(path)
    for step in (4, 6):
        s.seek(step)
        loaded.seek(step)
        assert loaded.network.bank.value.tolist() == s.network.bank.value.tolist()
        assert loaded.network.bank.step_count == s.network.bank.step_count


@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_run_of_kernels_with_another_order_of_sums_says_so(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.safetensors"
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Xor(), engine=engine), 3)
    s.save(path)
    assert sv.Session.load(path).step_index == 3  # warnings are errors
    description, arrays = read(path, "run")
    del description["order_of_sums"]
    write(path, "run", description, arrays)
    if engine == "python":
        sv.Session.load(path)
        return
    with pytest.warns(UserWarning, match="another summation order") as caught:
        loaded = sv.Session.load(path)
    assert caught[0].filename == __file__
    assert loaded.network.bank.value.tolist() == s.network.bank.value.tolist()
