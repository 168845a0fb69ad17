"""Arrays from users.

Targets, tensors of other packages, numbers that are not finite, and what exceeds memory.
"""

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import checks, limits
from scalarviz.base.checks import BLOCK, as_batch, shorten
from scalarviz.core import bank
from scalarviz.core.bank import Bank
from scalarviz.core.formulas.initializers import PORTION, Init
from scalarviz.errors import InputError, NotFiniteError, ShapeError
from tests.sessions import advanced
from tests.wording import refused

SAMPLES, CLASSES = 6, 3
X = np.arange(12.0).reshape(SAMPLES, 2) / 12.0
LABELS = np.array([0, 1, 2, 2, 1, 0])
ROWS = np.eye(CLASSES)[LABELS]
SOFTMAX, SIGMOID = "softmax_cross_entropy", "sigmoid_cross_entropy"


def net(outputs: int = CLASSES, dtype: Any = "float64") -> sv.Network:
    return sv.Network([2, 4, outputs], "tanh", seed=0, dtype=dtype)


def expression(outputs: int) -> Any:
    functions = {3: lambda a, b: [a, b, a + b], 1: lambda a, b: a + b}
    return sv.compile(functions[outputs], inputs=2, engine="python")


def session(pair: Any, outputs: int, loss: str, engine: str = "python") -> float:
    return advanced(sv.Session(net(outputs), pair, loss, sv.SGD(0.1), engine=engine), 2).loss


def exchanged(targets: Any, outputs: int, loss: str) -> float:
    s = sv.Session(net(outputs), (X, np.zeros((SAMPLES, outputs))), loss, engine="python")
    s.data = (X, targets)
    s.advance(1)
    return s.loss


def made(targets: Any, outputs: int, loss: str) -> float:
    make = data.Generated(lambda *_: (X, targets), inputs=2, outputs=outputs, samples=SAMPLES)
    return session(make, outputs, loss)


def replicated(targets: Any, outputs: int, loss: str) -> float:
    s = sv.Session(net(outputs), (X, targets), loss, sv.SGD(0.1), engine="cpu")
    return float(advanced(sv.replicate(s, [0]), 2).losses[0, 1])


# Wherever targets come in.
Way = Callable[[Any, int, str], Any]
WAYS: dict[str, Way] = {
    "train": lambda t, n, loss: net(n).train(X, t, loss, steps=2)[1],
    "train on cpu": lambda t, n, loss: net(n).to("cpu").train(X, t, loss, steps=2)[1],
    "train_step": lambda t, n, loss: net(n).train_step(X, t, loss),
    "a session": lambda t, n, loss: session((X, t), n, loss),
    "a session on cpu": lambda t, n, loss: session((X, t), n, loss, "cpu"),
    "a data set": lambda t, n, loss: session(data.Arrays(X, t), n, loss),
    "data that is exchanged": exchanged,
    "a loss": lambda t, n, loss: sv.Loss(loss).forward(net(n)(X), t),
    "a loss, called": lambda t, n, loss: sv.Loss(loss)(net(n)(X), t),
    "an expression": lambda t, n, loss: expression(n).train_step(X, t, loss),
    "replicas": replicated,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
every_kind = pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS.tolist(), LABELS[:, np.newaxis], LABELS.astype(float), LABELS.astype("u1")],
    ids=["n", "list", "n x 1", "floats", "bytes"],
)


@pytest.mark.some(11)
@every_kind
@every_way
def test_labels_are_what_their_rows_are(way: Way, labels: Any) -> None:
    for loss in (SOFTMAX, SIGMOID):
        assert way(labels, CLASSES, loss) == way(ROWS, CLASSES, loss), loss


@pytest.mark.some(11)
@every_way
@pytest.mark.parametrize("targets", [LABELS > 0, LABELS / 2.0, (LABELS > 0).tolist()])
def test_one_output_takes_one_number_a_sample(way: Way, targets: Any) -> None:
    for loss in (SIGMOID, "mse"):
        assert way(targets, 1, loss) == way(np.reshape(targets, (-1, 1)), 1, loss), loss


def test_a_function_that_makes_batches_takes_one_number_a_sample_too() -> None:
    assert made(LABELS / 2.0, 1, "mse") == made(np.reshape(LABELS / 2.0, (-1, 1)), 1, "mse")


def test_a_table_of_a_class_of_ones_own_takes_one_number_a_sample_too() -> None:
    class Mine(data.data_set.TableSet):
        def __init__(self) -> None:
            super().__init__((X, LABELS / 2.0), {}, (X[:2], LABELS[:2] / 2.0))

    own = Mine()
    assert own.held_out is not None
    assert (own.outputs, own.training[1].shape, own.held_out[1].shape) == (1, (6, 1), (2, 1))


def test_as_many_labels_as_classes_are_labels() -> None:
    labels, rows = [2, 1, 0], np.eye(3)[[2, 1, 0]]
    assert net().train_step(X[:3], labels, SOFTMAX) == net().train_step(X[:3], rows, SOFTMAX)


BEYOND = [0, 2, 3, 4, 1, 0], CLASSES


@every_way
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((*BEYOND, SOFTMAX), ("from 0 to 2", "not 3 at row 2", "5 outputs")),
        ((*BEYOND, SIGMOID), ("from 0 to 2", "not 3 at row 2", "5 outputs")),
        ((LABELS > 0, 1, SOFTMAX), ("from 0 to 0", "2 outputs")),
        ((LABELS + 0.5, CLASSES, SOFTMAX), ("not 0.5", "at row 0")),
        ((LABELS - 1.0, CLASSES, SOFTMAX), ("not -1", "at row 0")),
    ],
    ids=["beyond softmax", "beyond sigmoid", "one output", "half", "negative"],
)
def test_labels_without_an_output_are_refused(
    way: Way, given: tuple[Any, ...], said: tuple[str, ...]
) -> None:
    refused(InputError, *said).by(way, *given)


@every_way
def test_labels_that_are_not_finite_are_refused(way: Way) -> None:
    refused(NotFiniteError).by(way, [0, 1, np.nan, 2, 1, 0], CLASSES, SOFTMAX)


def test_the_classes_of_arrays_are_checked() -> None:
    assert data.Arrays(X, LABELS, classes=4).outputs == 4
    refused(InputError, "from 0 to 1", "3 outputs").by(data.Arrays, X, LABELS, classes=2)
    refused(ShapeError, "3 numbers").by(data.Arrays, X, ROWS, classes=3)
    refused(InputError, "'three'").by(data.Arrays, X, LABELS, classes="three")


# A loss that takes no labels.


def test_a_loss_without_labels_answers_with_the_code_that_makes_rows() -> None:
    for way in (WAYS["train"], WAYS["a session"], WAYS["a loss"], WAYS["an expression"]):
        said = refused(ShapeError, "rows of 3 numbers").by(way, LABELS, CLASSES, "mse")
        code = re.search(r"np\.eye\(.*$", str(said))
        assert code is not None
        way(eval(code[0], {"np": np, "labels": LABELS}), CLASSES, "mse")


def test_what_is_no_label_gets_no_such_hint() -> None:
    for targets in (LABELS + 0.5, LABELS - 1.0, np.zeros((SAMPLES, 2))):
        said = refused(ShapeError).by(net().train, X, targets, "mse", steps=1)
        assert "label" not in str(said)


def test_targets_that_fit_are_not_blamed_for_inputs_that_do_not() -> None:
    net = sv.Network([2, 1])
    for targets in (np.zeros(4), np.zeros((4, 1))):
        refused(ShapeError, "3 -> 1").by(sv.Session, net, (np.zeros((4, 3)), targets))


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
    "holds torch.bfloat16, which numpy does not support: pass x.float()": Tensor(
        dtype="torch.bfloat16"
    ),
    "requires a gradient and holds torch.float8_e4m3fn, which numpy does not support: "
    "pass x.detach().float()": Tensor(requires_grad=True, dtype="torch.float8_e4m3fn"),
    "is not in the memory of the CPU: pass x.cpu()": Tensor(device=Device("cuda")),
    "is sparse: pass x.to_dense()": Tensor(layout="torch.sparse_coo"),
    "is quantized: pass x.dequantize()": Tensor(is_quantized=True, dtype="torch.qint8"),
    "requires a gradient and is not in the memory of the CPU: pass x.detach().cpu()": Tensor(
        requires_grad=True, device=Device("cuda")
    ),
}


def small_net() -> sv.Network:
    return sv.Network([2, 3, 2], seed=0)


# Wherever numbers come in.
TAKEN: dict[str, Callable[[Any], Any]] = {
    "a call": lambda x: small_net()(x),
    "forward": lambda x: small_net().forward(x),
    "train inputs": lambda x: small_net().train(x, NUMBERS, steps=1),
    "train targets": lambda x: small_net().train(NUMBERS, x, steps=1),
    "a session": lambda x: sv.Session(small_net(), (x, x), engine="python"),
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
    refused(InputError, said).by(TAKEN[way], TENSORS[said])


def test_other_places_say_it_too() -> None:
    loose = Tensor(np.array(1.0), requires_grad=True)
    session = sv.Session(small_net(), (NUMBERS, NUMBERS), engine="python")
    refused(InputError, "Tensor").by(session.edit, [0], loose)
    refused(InputError, "Tensor").by(
        setattr, session.network.bank, "value", Tensor(np.zeros(17), requires_grad=True)
    )
    picture = Tensor(np.zeros((4, 4, 3)))
    assert sv.data.Texture(picture).picture.shape == (4, 4, 3)
    refused(InputError, "Tensor").by(sv.data.Texture, replace(picture, requires_grad=True))
    table = Tensor(np.zeros((4, 3)))
    assert sv.data.Rgb(table, levels=2).samples == 8
    refused(InputError, "Tensor").by(sv.data.Rgb, replace(table, requires_grad=True), levels=2)


def test_an_array_that_raises_anything_is_answered() -> None:
    class Odd:
        def __array__(self, dtype: object = None, copy: object = None) -> Any:
            raise KeyError("odd")

    refused(InputError, "Odd").by(small_net(), Odd())


def test_a_list_that_is_in_itself_is_no_array() -> None:
    endless: list[Any] = []
    endless.append(endless)
    refused(InputError, endless).by(small_net(), endless)


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
    refused(InputError, "1 masked number").by(TAKEN[way], MASKED)
    refused(InputError, "1 masked number").by(TAKEN[way], list(MASKED))
    TAKEN[way](MASKED.filled(0.0))
    TAKEN[way](np.ma.array(NUMBERS))  # nothing is masked


def test_a_mask_is_seen_wherever_numbers_are_written() -> None:
    session = sv.Session(small_net(), (NUMBERS, NUMBERS), engine="python")
    bank, rows = session.network.bank, np.arange(17) == 3
    before = bank.value.tolist()
    for name in ("value", "grad", "frozen"):
        refused(InputError, f"bank.{name}").by(
            setattr, bank, name, np.ma.array(np.zeros(17, getattr(bank, name).dtype), mask=rows)
        )
    refused(InputError, "1 masked number").by(session.edit, [0, 1], MASKED[0])
    picture = np.ma.array(np.zeros((1, 8, 8), np.uint8))
    picture[0, 0, 0] = np.ma.masked
    refused(InputError, "1 masked number").by(sv.data.Digits, pictures=picture, labels=[3])
    refused(InputError, "masked").by(setattr, session.network.weight(0), "value", np.ma.masked)
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
    refused(InputError, wrong).by(small_net(), Table(a=[1.0, 2.0], b=[3.0, wrong]))


# What makes batches.


@pytest.mark.parametrize("made", [None, 3, (NUMBERS,), (NUMBERS, NUMBERS, NUMBERS)])
def test_batches_that_are_no_pair_are_refused(made: object) -> None:
    data = sv.data.Generated(lambda *_: made, inputs=2, outputs=2)  # type: ignore[arg-type]  # on purpose
    refused(InputError, "step 0").by(data.batches(2).at, 0)


# A batch below the size of a block, several blocks with a rest, and rows that exceed a block.
SHAPES = ((3, 5), (2 * BLOCK // 7 + 3, 7), (3, BLOCK + 1))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_that_is_not_finite_is_found_at_any_place(
    shape: tuple[int, int], dtype: str
) -> None:
    batch = np.full(shape, np.finfo(dtype).max, dtype)  # whose sum is infinite
    assert as_batch(batch, shape[1], "a network", copy=False)[0] is batch
    rows, columns = shape
    for row in (0, rows // 2, rows - 1):
        batch[row, columns - 1] = np.nan
        refused(NotFiniteError, columns - 1, row).by(
            as_batch, batch, shape[1], "a network", copy=False
        )
        batch[row, columns - 1] = -1.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (sv.Perceptron(20, "tanh"), "Perceptron(20 weights, bias, tanh)"),
        (sv.Adam(), "Adam(lr=0.001, beta1=0.9, ...)"),
        (sv.Network([2, 3]), "Network 2 -> 3: 9 parameters, ..."),
        ([1.0] * 40, "[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, ...]"),
        ("some words in a long sentence that goes on", "'some words in a long sentence that ...'"),
        ("x" * 60, f"'{'x' * 18}...{'x' * 17}'"),
        (b"short", "b'short'"),
        (2**20_000, f"0x1{'0' * 16}...{'0' * 18}"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_value_is_shortened_between_words_and_keeps_its_bracket(given: object, said: str) -> None:
    assert shorten(given) == said
    assert len(said) <= 40


GIGABYTE = 2**30


@pytest.fixture
def gigabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with so much memory."""
    monkeypatch.setattr(limits, "memory_size", lambda: GIGABYTE)


@pytest.mark.parametrize("sizes", [[10**6, 10**6], [10**5, 10**6, 1], [2, 10**17]])
def test_a_network_that_cannot_fit_is_refused(sizes: list[int]) -> None:
    count = sum(a * b + b for a, b in pairwise(sizes))
    refused(InputError, f"{count:,} parameters", varies=r"has [\d.]+ .B").by(sv.Network, sizes)


@pytest.mark.usefixtures("gigabyte")
def test_the_sentence_says_how_many_bytes_and_what_to_do() -> None:
    refused(InputError, "10.0 TB").by(sv.Network, [10**6, 10**6])
    refused(InputError, "17.3 TB").by(sv.Network, [10**6, 10**6], dtype="float64")
    with refused(InputError, "17.3 TB"):
        _ = sv.Dense(10**6, 10**6).bank


@pytest.mark.usefixtures("gigabyte")
def test_what_fits_is_taken_to_the_last_byte() -> None:
    rows = GIGABYTE // 11
    assert len(Bank(rows)) == rows
    refused(InputError, f"{rows + 1:,} parameters").by(Bank, rows + 1)


@pytest.mark.parametrize("steps", [2**27 + 1, 10**12, 2**62])
@pytest.mark.usefixtures("gigabyte")
def test_so_many_steps_are_refused_that_their_losses_cannot_fit(steps: int) -> None:
    net = sv.Network([2, 3, 1], "tanh")
    x, y = [[0.0, 1.0], [1.0, 1.0]], [[1.0], [0.0]]
    s = sv.Session(net, (x, y), batch=1, engine="cpu")
    runs = sv.replicate(s, range(2))
    refused(InputError, f"{steps:,} steps").by(net.train, x, y, steps=steps)
    refused(InputError, f"{steps:,} steps").by(s.seek, steps)
    refused(InputError, f"{steps:,} steps").by(s.advance, steps)
    refused(InputError, " steps would take").by(s.advance, steps, "epoch")
    refused(InputError, " steps would take").by(
        s.advance, min(steps * len(s.operations), 2**63 - 1), "operation"
    )
    refused(InputError, f"{steps:,} steps of 2 networks").by(runs.advance, steps)
    assert s.step_index == runs.step_index == 0


def test_a_step_that_no_kernel_can_count_to_is_no_step() -> None:
    s = sv.Session(sv.Network([2, 1]), ([[0.0, 1.0]], [[1.0]]), engine="python")
    refused(InputError, "1000000000000000000000000000000").by(s.seek, 10**30)
    refused(InputError, "-1").by(s.seek, -1)


def test_losses_that_the_system_has_no_room_for_are_told_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = sv.Network([2, 1])
    monkeypatch.setattr(limits.np, "empty", Mock(side_effect=MemoryError))
    refused(InputError, "1,000 steps").by(net.train, [[0.0, 1.0]], [[1.0]], steps=1000)


@pytest.mark.usefixtures("gigabyte")
@pytest.mark.parametrize("seeds", [range(10**6), range(10**30), itertools.count()])
def test_replicas_that_cannot_fit_are_refused_before_they_are_made(seeds: Any) -> None:
    s = sv.Session(sv.Network([2, 4, 1]), ([[0.0, 1.0]], [[1.0]]), "mse", sv.Adam(), engine="cpu")
    refused(InputError, shorten(seeds), varies=r"[\d.]+ KB|for [\d,]+").by(sv.replicate, s, seeds)


@pytest.mark.parametrize("inputs", [10**9, 2**62])
@pytest.mark.usefixtures("gigabyte")
def test_inputs_of_a_compiled_function_that_cannot_fit_are_refused(inputs: int) -> None:
    refused(InputError, f"{inputs:,} inputs").by(sv.compile, lambda *x: x[0], inputs=inputs)


@pytest.mark.usefixtures("gigabyte")
def test_weights_are_objects_only_where_these_fit() -> None:
    net = sv.Network([2 * 10**6, 1], init="pytorch")
    with refused(InputError, "2,000,000 weights"):
        _ = net.layers[0].perceptrons[0]
    refused(InputError, "2,000,000 weights").by(sv.Perceptron, 2 * 10**6)


def test_a_system_that_gives_less_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_size", lambda: 0)
    refused(InputError, "11.0 PB").by(Bank, 2**50)
    monkeypatch.setattr(bank.np, "zeros", Mock(side_effect=MemoryError))
    refused(InputError, "11.0 GB").by(Bank, 2**30)


def test_a_container_may_have_less_than_its_machine(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for said, bytes_ in (("123456\n", 123456), ("max\n", None)):
        (tmp_path / "limit").write_text(said)
        monkeypatch.setattr(limits, "LIMITS", (tmp_path / "none", tmp_path / "limit"))
        limits.memory_size.cache_clear()
        assert limits.memory_size() == bytes_ or (bytes_ is None and limits.memory_size() > 2**28)
    limits.memory_size.cache_clear()


def test_numbers_drawn_in_portions_are_those_drawn_at_once() -> None:
    init, count = Init("he_normal"), 2 * PORTION + 17
    rows = np.zeros(count, np.float32)
    init.fill(rows, init.weight, (30, 40), 7, 5)
    assert np.array_equal(rows, init.draw(init.weight, (30, 40), 7, 5, count).astype(np.float32))
