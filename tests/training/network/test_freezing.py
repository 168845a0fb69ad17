"""Parameters are frozen and unfrozen by their names, by beginnings of names, and by patterns."""

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import InputError, UnknownNameError
from tests.wording import refused


@pytest.mark.parametrize(
    ("names", "frozen"),
    [
        ("0.weight", ["0.weight"]),
        ("0", ["0.weight", "0.bias"]),
        ("*.bias", ["0.bias", "1.0.bias", "2.bias"]),
        (["2", "1.0.w*"], ["1.0.weight", "2.weight", "2.bias"]),
        ([], []),
    ],
)
def test_parameters_are_frozen_by_name(names: str | list[str], frozen: list[str]) -> None:
    net = sv.Network([sv.Dense(2, 3), sv.Residual(sv.Dense(3, 3)), sv.Dense(3, 1)])
    net.freeze(names)
    assert [name for name, each in net.named_parameters() if each.frozen] == frozen
    assert net.bank.frozen.sum() == sum(
        each.value.size for _, each in net.named_parameters() if each.frozen
    )
    net.freeze()
    net.unfreeze(names)
    assert [name for name, each in net.named_parameters() if not each.frozen] == frozen


def test_an_unknown_name_to_freeze_is_refused_with_the_nearest() -> None:
    net = sv.Network([2, 3, 1])
    for call in (net.freeze, net.unfreeze):
        with refused(UnknownNameError, "'0.wieght'", "'0.weight'"):
            call("0.wieght")
    with refused(UnknownNameError, "''"):
        net.freeze("")
    with refused(InputError, "'weight'"):
        net[0].freeze("weight")
    assert not net.bank.frozen.any()


def test_a_session_takes_the_same_names() -> None:
    net = sv.Network([2, 3, 1])
    s = sv.Session(net, sv.data.Xor(), "mse", sv.SGD(0.1))
    s.freeze("0.weight")
    s.set_rate("1", 0.5)
    s.edit("1.bias", 0.25)
    assert net.bank.frozen.tolist() == [True] * 6 + [False] * 7
    assert s.own_rate("1.bias") == 0.5 and net[1].bias.tolist() == [0.25]
    s.freeze("0.weight", False)
    assert not net.bank.frozen.any()
    with refused(UnknownNameError, "'2.bias'"):
        s.freeze("2.bias")


@pytest.mark.parametrize("wrong", [None, 1, 0.5, {"0.bias": True}.keys()], ids=str)
def test_what_is_neither_a_name_nor_true_nor_false_freezes_nothing(wrong: object) -> None:
    net = sv.Network([2, 3, 1], "tanh", seed=0)
    with refused(InputError, wrong, "['0.weight']"):
        net.freeze(wrong)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError):
        net.freeze(net.layers[0])  # type: ignore[arg-type]  # on purpose
    assert not net.bank.frozen.any()
    net.freeze(np.bool_(True))
    assert net.bank.frozen.all()
