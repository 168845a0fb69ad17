"""Which parameters may learn is chosen by the names that they have in a file."""

from typing import Any

import scalarviz as sv
from scalarviz.errors import InputError, UnknownNameError
from tests.files.onnx.models import FOLDER
from tests.wording import refused


def frozen(**options: Any) -> list[str]:
    """The names of what is frozen, which is so as a whole."""
    path = FOLDER / "torch_conv.onnx"
    net = sv.onnx.load(path, **options)
    assert net.names is not None
    found = []
    for layer, names in zip(net.layers, net.names["layers"], strict=True):
        biases = layer.rows.stop - getattr(layer, "count", 0)
        for role, rows in (
            ("weight", slice(layer.first_row, biases)),
            ("bias", slice(biases, layer.rows.stop)),
        ):
            if net.bank.frozen[rows].any():
                assert net.bank.frozen[rows].all()
                found.append(names[role])
    return found


def test_chosen_parameters_learn_and_the_others_stand_still() -> None:
    assert frozen() == []
    assert frozen(train=["7", "3.bias"]) == ["0.weight", "0.bias", "3.weight"]
    assert frozen(freeze=["0"]) == ["0.weight", "0.bias"]
    assert frozen(freeze=["*.bias"]) == ["0.bias", "3.bias", "7.bias"]
    assert frozen(train=["7.*"], freeze=["0", "3"]) == ["0.weight", "0.bias", "3.weight", "3.bias"]
    assert frozen(train=[]) == ["0.weight", "0.bias", "3.weight", "3.bias", "7.weight", "7.bias"]


def test_an_unknown_parameter_tells_the_nearest() -> None:
    with refused(UnknownNameError, "'3.wieght'"):
        frozen(train=["3.wieght"])
    with refused(UnknownNameError, "'3.b'"):
        frozen(freeze=["3.b"])
    with refused(InputError, "'7'"):
        frozen(train="7")


def test_both_lists_must_be_of_one_mind() -> None:
    with refused(InputError, "'7.bias'"):
        frozen(train=["7"], freeze=["0", "3", "7.bias"])
    with refused(InputError, "'3.bias'"):
        frozen(train=["7"], freeze=["0"])
