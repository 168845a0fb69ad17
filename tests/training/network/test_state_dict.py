"""Parameters by name: state dicts, those of PyTorch too, named parameters, and layers by index."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from tests.machine import ROOT
from tests.sessions import both_engines
from tests.wording import refused

PYTORCH = ROOT / "tests" / "reference" / "pytorch.json"
REFERENCE = json.loads(PYTORCH.read_text(encoding="utf-8"))["state_dicts"]


def dense(**options: Any) -> sv.Network:
    return sv.Network([3, 5, 2], "tanh", **{"dtype": "float64"} | options)


def pictures(**options: Any) -> sv.Network:
    layers = [
        sv.Conv2d((2, 4, 4), channels=3, kernel=(2, 3)),
        sv.BatchNorm((3, 3, 2)),
        sv.Activation((3, 3, 2), "relu"),
        sv.Flatten((3, 3, 2)),
        sv.Dense(18, 4),
        sv.LayerNorm(4),
        sv.Dense(4, 2, bias=False),
    ]
    return sv.Network(layers, **{"dtype": "float64"} | options)


NETWORKS: dict[str, Callable[..., sv.Network]] = {"dense": dense, "pictures": pictures}
every_network = pytest.mark.parametrize("name", NETWORKS)


class Tensor:
    """An array that must be detached before numpy takes it, as PyTorch's parameters."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = np.asarray(numbers)
        self.shape = self.numbers.shape

    def detach(self) -> np.ndarray:
        return self.numbers

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("this tensor requires a gradient: call detach()")


# Names.


def test_names_are_indices_of_layers_and_the_roles_of_pytorch() -> None:
    net = sv.Network(
        [
            sv.FrequencyEncoding(1, octaves=2),
            sv.Dense(4, 4, "tanh"),
            sv.BatchNorm(4),
            sv.Dropout(4, 0.5),
            sv.Residual(sv.RMSNorm(4), sv.Dense(4, 4)),
        ]
    )
    assert {name: array.shape for name, array in net.state_dict().items()} == {
        "1.weight": (4, 4),
        "1.bias": (4,),
        "2.weight": (4,),
        "2.bias": (4,),
        "2.running_mean": (4,),
        "2.running_var": (4,),
        "4.0.weight": (4,),
        "4.1.weight": (4, 4),
        "4.1.bias": (4,),
    }


class Shift(sv.Layer):
    """A layer of a user, with parameters and state, that says nothing of arrays."""

    def __init__(self, features: int) -> None:
        super().__init__(features, features)
        self.size, self.state_size = features, 2

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def row_name(self, row: int) -> str:
        return f"shift {row}"

    def lower(self, program: Any) -> None:
        program.add("activation", "tanh", size=self.outputs)

    def forward_rows(self, batch: Any) -> Any:
        return batch

    backward_rows = evaluate_rows = forward_rows


def test_a_layer_of_a_user_is_one_array() -> None:
    net = sv.Network([sv.Dense(2, 3, bias=False), Shift(3)])
    net.bank.value[6:] = [1.0, 2.0, 3.0]
    net.layers[1].state[:] = 4.0, 5.0
    found = net.state_dict()
    assert [*found] == ["0.weight", "1.weight", "1.state"]
    assert found["1.weight"].tolist() == [1.0, 2.0, 3.0]
    assert found["1.state"].tolist() == [4.0, 5.0]


@every_network
def test_named_parameters_are_all_rows_of_the_bank_in_order(name: str) -> None:
    net = NETWORKS[name]()
    rows = [row for _, each in net.named_parameters() for row in range(10**6)[each.rows]]
    assert rows == [*range(len(net.bank))]
    for each, parameter in net.named_parameters():
        assert parameter.name == each and len(parameter) == parameter.shape[0]
        assert np.shares_memory(parameter.value, net.bank.value)
        assert (parameter.value == net.state_dict()[each]).all()
        assert parameter.grad.shape == parameter.shape
        assert np.shares_memory(parameter.grad, net.bank.grad)


def test_a_named_parameter_is_a_part_of_the_network() -> None:
    net = dense()
    weight = dict(net.named_parameters())["1.weight"]
    s = sv.Session(net, ([[1.0, 2.0, 3.0]], [[0.0, 1.0]]), optimizer=sv.SGD(0.1), engine="python")
    s.freeze(weight)
    s.pin(weight)
    assert s.pinned == [*range(20, 30)] and weight.frozen
    before = weight.value.copy()
    s.advance(2)
    assert (weight.value == before).all() and net.bank.grad.any()
    weight.unfreeze()
    weight.value = before + 1.0
    s.advance(1)
    assert [action.kind for action in s.current_branch.journal] == ["freeze", "edit", "freeze"]
    assert repr(weight) == "ParameterArray(1.weight: shape (2, 5))"
    with refused(ShapeError, "1.weight", "(5, 2)"):
        weight.value = before.T


# Layers by index.


def test_a_network_is_a_sequence_of_its_layers() -> None:
    net = pictures()
    assert len(net) == 7 and [*net] == [*net.layers]
    assert net[0] is net.layers[0] and net[-1] is net.layers[6] and net[1:3] == net.layers[1:3]
    assert net[4] in net and sv.Dense(2, 2) not in net
    for index in (7, -8, "fc"):
        with pytest.raises(IndexError) as caught:
            net[index]
        assert "the network has layers 0 to 6" in str(caught.value)


# State dicts.


@both_engines
@every_network
def test_that_of_pytorch_gives_its_outputs(name: str, engine: str) -> None:
    expected = REFERENCE[name]
    net = NETWORKS[name](seed=1).to(engine)
    assert np.abs(net(expected["inputs"]) - expected["outputs"]).max() > 1e-3
    keys = net.load_state_dict({key: Tensor(each) for key, each in expected["arrays"].items()})
    assert keys.missing_keys == keys.unexpected_keys == []
    np.testing.assert_allclose(net(expected["inputs"]), expected["outputs"], rtol=0, atol=1e-14)


@every_network
def test_ours_goes_back_by_the_names_of_pytorch(name: str) -> None:
    net, theirs = NETWORKS[name](), REFERENCE[name]["arrays"]
    theirs = {key: np.array(each) for key, each in theirs.items()}
    net.load_state_dict(theirs)
    back = net.state_dict(like=theirs)
    assert [*back] == [key for key in theirs if not key.endswith("num_batches_tracked")]
    assert all((back[key] == theirs[key]).all() for key in back)


def test_what_both_have_is_loaded_if_that_is_wanted() -> None:
    net, kept = dense(seed=1), dense(seed=2).state_dict()
    before = net[0].bias.copy()
    del kept["0.bias"]
    kept["7.weight"] = np.zeros(3)
    keys = net.load_state_dict(kept, strict=False)
    assert keys.missing_keys == ["0.bias"] and keys.unexpected_keys == ["7.weight"]
    assert (net[0].bias == before).all() and (net[1].kernel == kept["1.weight"]).all()


def changed(**arrays: Any) -> dict[str, Any]:
    kept: dict[str, Any] = dict(pictures(seed=2).state_dict())
    for name, array in arrays.items():
        place = name[1:].replace("_", ".", 1)
        if array is None:
            del kept[place]
        else:
            kept[place] = array
    return kept


BAD_DICTS: list[tuple[Any, type[Exception], str]] = [
    (changed(_0_bias=None), InputError, "lacks 0.bias"),
    (changed(_9_gain=[1.0]), InputError, "also has 9.gain"),
    (changed(_0_bias=None, _9_gain=[1.0]), InputError, "lacks 0.bias; it also has 9.gain"),
    ({f"{'x' * 300}.{i}": i for i in range(50)}, InputError, "and 44 more"),
    (changed(_0_bias=[1.0] * 4, _4_weight=[[0.0] * 4] * 18), ShapeError, "(18, 4)"),
    (changed(_4_bias=[0.0, 1.0, np.nan, 0.0]), NotFiniteError, "4.bias"),
    (changed(_4_bias=["a"] * 4), InputError, "4.bias"),
    (changed(_1_running_var=[1.0, -1.0, 1.0]), InputError, "running variance"),
    ([1, 2], InputError, "[1, 2]"),
    ({0: [1.0]}, InputError, "{0: [1.0]}"),
]


@pytest.mark.parametrize(("bad", "error", "value"), BAD_DICTS)
def test_one_that_does_not_fit_is_refused_and_changes_nothing(
    bad: Any, error: type[Exception], value: str
) -> None:
    net = pictures(seed=1)
    before = net.bank.value.copy(), net.bank.state.copy()
    refused(error, value).by(net.load_state_dict, bad)
    assert (net.bank.value == before[0]).all() and (net.bank.state == before[1]).all()


@pytest.mark.parametrize(
    ("like", "value"),
    [
        ({"0.weight": np.zeros((5, 3))}, "lacks 0.bias, 1.weight, 1.bias"),
        (sv.Network([5, 3, 2]).state_dict(), "(3, 5)"),
        ("names", "'names'"),
    ],
)
def test_names_of_another_network_are_refused(like: Any, value: str) -> None:
    refused(InputError, value).by(dense().state_dict, like=like)


def test_a_wrong_shape_is_told_by_both_names() -> None:
    theirs = {f"{2 * int(name[0])}{name[1:]}": each for name, each in dense().state_dict().items()}
    refused(ShapeError, "1.bias, from 2.bias").by(
        dense().load_state_dict, theirs | {"2.bias": np.zeros(9)}
    )


@pytest.mark.parametrize(
    "names",
    [
        ["fc.weight", "fc.bias", "head.weight", "head.bias"],  # which is first?
        ["fc1.weight", "fc1.bias", "out1.weight", "out1.bias"],
        ["0.weight", "0.bias", "2.weight", "4.bias"],
        ["0.weight", "0.bias", "0.0.weight", "1.bias"],
    ],
)
def test_names_whose_order_is_not_certain_are_not_guessed(names: list[str]) -> None:
    arrays = dense().state_dict().values()
    refused(InputError, "does not fit").by(
        dense().load_state_dict, dict(zip(names, arrays, strict=True))
    )
