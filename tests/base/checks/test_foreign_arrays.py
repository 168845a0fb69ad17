"""Tensors and tables of other packages as data: accepted, or refused with a remedy."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base import checks
from scalarviz.errors import InputError
from tests.wording import refused

NUMBERS = [[0.0, 1.0], [1.0, 0.0]]


@dataclass
class Device:
    type: str


@dataclass
class Tensor:
    """What numpy sees of a PyTorch tensor: its attributes, and what its `__array__` raises."""

    numbers: Any = field(default_factory=lambda: np.array(NUMBERS, np.float32))
    requires_grad: bool = False
    dtype: str = "torch.float32"
    device: Device = field(default_factory=lambda: Device("cpu"))
    layout: str = "torch.strided"
    is_quantized: bool = False

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        if self.device.type != "cpu":
            raise TypeError(
                f"can't convert {self.device.type}:0 device type tensor to numpy. Use Tensor.cpu() "
                "to copy the tensor to host memory first."
            )
        if self.layout != "torch.strided":
            raise TypeError("can't convert Sparse layout tensor to numpy. Use Tensor.to_dense()")
        if self.requires_grad:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()"
            )
        if self.dtype != "torch.float32":
            raise TypeError(f"Got unsupported ScalarType {self.dtype}")
        return self.numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def detach(self) -> "Tensor":
        return replace(self, requires_grad=False)

    def float(self) -> "Tensor":
        return replace(self, dtype="torch.float32")

    def cpu(self) -> "Tensor":
        return replace(self, device=Device("cpu"))

    def to_dense(self) -> "Tensor":
        return replace(self, layout="torch.strided")

    def dequantize(self) -> "Tensor":
        return replace(self, dtype="torch.float32", is_quantized=False)


TENSORS = {
    "requires a gradient: pass x.detach()": Tensor(requires_grad=True),
    "holds torch.bfloat16, which numpy does not have: pass x.float()": Tensor(
        dtype="torch.bfloat16"
    ),
    "requires a gradient and holds torch.float8_e4m3fn, which numpy does not have: "
    "pass x.detach().float()": Tensor(requires_grad=True, dtype="torch.float8_e4m3fn"),
    "is not in the memory of the CPU: pass x.cpu()": Tensor(device=Device("cuda")),
    "is sparse: pass x.to_dense()": Tensor(layout="torch.sparse_coo"),
    "is quantized: pass x.dequantize()": Tensor(is_quantized=True, dtype="torch.qint8"),
    "requires a gradient and is not in the memory of the CPU: pass x.detach().cpu()": Tensor(
        requires_grad=True, device=Device("cuda")
    ),
}


def net() -> sv.Network:
    return sv.Network([2, 3, 2], seed=0)


# Wherever numbers come in.
TAKEN: dict[str, Callable[[Any], Any]] = {
    "a call": lambda x: net()(x),
    "forward": lambda x: net().forward(x),
    "train inputs": lambda x: net().train(x, NUMBERS, steps=1),
    "train targets": lambda x: net().train(NUMBERS, x, steps=1),
    "a session": lambda x: sv.Session(net(), (x, x), engine="python"),
    "arrays": lambda x: sv.data.Arrays(x, NUMBERS),
    "a loss": lambda x: sv.Loss("mse")(x, NUMBERS),
    "generated": lambda x: (
        sv.data.Generated(lambda *_: (x, x), inputs=2, outputs=2).batches(2).at(0)
    ),
    "a layer": lambda x: sv.Dense(2, 2)(x),
    "an expression": lambda x: sv.compile(lambda a, b: a * b, inputs=2, engine="python")(x),
}


@pytest.mark.parametrize("way", TAKEN)
def test_a_tensor_is_taken_as_it_is(way: str) -> None:
    TAKEN[way](Tensor())


@pytest.mark.parametrize("way", TAKEN)
@pytest.mark.parametrize("said", TENSORS)
def test_what_numpy_cannot_read_is_answered_by_what_to_call(way: str, said: str) -> None:
    with refused(InputError, said):
        TAKEN[way](TENSORS[said])


def test_other_places_say_it_too() -> None:
    loose = Tensor(np.array(1.0), requires_grad=True)
    session = sv.Session(net(), (NUMBERS, NUMBERS), engine="python")
    with refused(InputError, "Tensor"):
        session.edit([0], loose)
    with refused(InputError, "Tensor"):
        session.network.bank.value = Tensor(np.zeros(17), requires_grad=True)
    picture = Tensor(np.zeros((4, 4, 3)))
    assert sv.data.Texture(picture).picture.shape == (4, 4, 3)
    with refused(InputError, "Tensor"):
        sv.data.Texture(replace(picture, requires_grad=True))
    table = Tensor(np.zeros((4, 3)))
    assert sv.data.Rgb(table, levels=2).samples == 8
    with refused(InputError, "Tensor"):
        sv.data.Rgb(replace(table, requires_grad=True), levels=2)


def test_an_array_that_raises_anything_is_answered() -> None:
    class Odd:
        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            raise KeyError("odd")

    with refused(InputError, "Odd"):
        net()(Odd())


def test_a_list_that_is_in_itself_is_no_array() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with refused(InputError, endless):
        net()(endless)


# Types that other packages add to numpy: bfloat16 and its like, of ml_dtypes.


class Added:
    """What numpy says of such a type."""

    kind = "V"

    def __init__(self, isbuiltin: int) -> None:
        self.isbuiltin = isbuiltin


def test_types_that_are_added_to_numpy_are_known_by_what_they_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for casts in (True, False):
        monkeypatch.setattr(checks.np, "can_cast", lambda *_, casts=casts: casts)
        assert checks.is_numeric(Added(2)) is casts  # type: ignore[arg-type]  # objects that say how they are cast
        assert not checks.is_numeric(Added(1))  # type: ignore[arg-type]  # objects that say how they are cast
    for kind in ("V4", "U3", "M8[D]", "c8", [("a", "f4")]):
        assert not checks.is_numeric(np.dtype(kind))


# Masked arrays.

MASKED = np.ma.array(NUMBERS, mask=[[True, False], [False, False]])


@pytest.mark.parametrize("way", TAKEN)
def test_a_masked_array_is_answered_by_what_to_write(way: str) -> None:
    with refused(InputError, "1 masked number"):
        TAKEN[way](MASKED)
    with refused(InputError, "1 masked number"):
        TAKEN[way](list(MASKED))
    TAKEN[way](MASKED.filled(0.0))
    TAKEN[way](np.ma.array(NUMBERS))  # nothing is masked


def test_a_mask_is_seen_wherever_numbers_are_written() -> None:
    session = sv.Session(net(), (NUMBERS, NUMBERS), engine="python")
    bank, rows = session.network.bank, np.arange(17) == 3
    before = bank.value.tolist()
    for name in ("value", "grad", "frozen"):
        with refused(InputError, f"bank.{name}"):
            setattr(bank, name, np.ma.array(np.zeros(17, getattr(bank, name).dtype), mask=rows))
    with refused(InputError, "1 masked number"):
        session.edit([0, 1], MASKED[0])
    picture = np.ma.array(np.zeros((1, 8, 8), np.uint8))
    picture[0, 0, 0] = np.ma.masked
    with refused(InputError, "1 masked number"):
        sv.data.Digits(pictures=picture, labels=[3])
    with refused(InputError, "masked"):
        session.network.weight(0).value = np.ma.masked
    assert bank.value.tolist() == before


# Tables.


class Table:
    """What one can ask a table of pandas or polars for."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns
        self.columns = list(columns)
        self.dtypes = ["object"] * len(columns)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return np.array(list(self._columns.values()), object).T


@pytest.mark.parametrize("wrong", ["red", {}, date(2020, 1, 1)])
def test_a_column_that_has_no_numbers_is_named(wrong: object) -> None:
    with refused(InputError, wrong):
        net()(Table(a=[1.0, 2.0], b=[3.0, wrong]))


# What makes batches.


@pytest.mark.parametrize("made", [None, 3, (NUMBERS,), (NUMBERS, NUMBERS, NUMBERS)])
def test_batches_that_are_no_pair_are_refused(made: object) -> None:
    data = sv.data.Generated(lambda *_: made, inputs=2, outputs=2)  # type: ignore[arg-type]  # on purpose
    with refused(InputError, "step 0"):
        data.batches(2).at(0)
