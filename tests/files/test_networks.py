"""A network comes back from a file bit for bit, or not at all."""

import copy
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
from scalarviz.errors import EngineError, FileError, InputError
from scalarviz.faces.controller.train import Autosave
from scalarviz.files.checked_safetensors import read, write
from scalarviz.files.networks import numbers, save_network
from tests.strategies import examples, networks
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
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    save_network(net, path)
    loaded = sv.load(path)
    assert_same(loaded, net)
    np.testing.assert_array_equal(loaded(batch), net(batch))


@pytest.mark.parametrize(
    "optimizer", [sv.SGD, sv.Momentum, sv.Nesterov, sv.RMSProp, sv.Adam, sv.AdamW]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_training_goes_on_as_if_it_had_not_stopped(
    optimizer: Callable[[float], sv.Optimizer], dtype: str, path: Path
) -> None:
    net = sv.Network([2, 3, 2], "tanh", dtype=dtype)
    net.layers[0].perceptrons[1].freeze()
    net.train(X, X, "mse", optimizer(0.01), steps=3)
    save_network(net, path)
    loaded = sv.load(path)
    assert_same(loaded, net)
    assert (loaded.bank.frozen == net.bank.frozen).all()
    for each in (net, loaded):
        each.train(X, X, "mse", optimizer(0.01), steps=3)
    assert_same(loaded, net)


@pytest.mark.parametrize("wrong", [{"dynamic": 1}, {"dynamic": "yes"}, {"loss_scale": True}])
def test_a_precision_that_no_file_could_hold_is_refused(wrong: dict[str, Any]) -> None:
    (value,) = wrong.values()
    with refused(InputError, value):
        sv.Precision("mixed", **wrong)


def test_an_engine_that_cannot_run_here_is_not_called_a_bad_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.engines.python import PythonEngine
    from scalarviz.engines.registry import ENGINES, EngineRow

    monkeypatch.setitem(
        ENGINES, "far", EngineRow("far", PythonEngine, lambda: "a cable is missing")
    )
    save_network(sv.Network([2, 2]), path)
    with refused(EngineError, "a cable"):
        sv.load(path, "far")


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
    "an array more": replacing("more", np.zeros(1)),
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
    with refused(FileError, "net.safetensors"):
        sv.load(path)


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
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.core.layers import LAYERS

    monkeypatch.setitem(LAYERS, "Scale", Scale)
    net = sv.Network([sv.Dense(2, 2), Scale(2)])
    net.bank.value[:] = np.arange(10)
    save_network(net, path)
    assert sv.load(path).bank.value.tolist() == net.bank.value.tolist()


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
    with refused(InputError, name, ".onnx", varies=r"'.*?(?=net\.)"):
        net.save(tmp_path / name)
    with refused(InputError, name, varies=r"'.*?(?=net\.)"):
        sv.Session(net, sv.data.Xor(), "mse").save(tmp_path / name)
    with refused(InputError, name, varies=r"'.*?(?=net\.)"):
        Autosave(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_of_arrays_is_no_safetensors_file(tmp_path: Path) -> None:
    sv.Network([2, 1]).save(tmp_path / "net.npz")
    with refused(FileError, "net.npz", "is no safetensors file", varies=r"'.*?(?=net\.)"):
        sv.load(tmp_path / "net.npz")
