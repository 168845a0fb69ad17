"""Hostile ONNX files are read or refused with a clear error, at little cost."""

import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import scalarviz as sv
from scalarviz.errors import FileError
from tests.files.onnx.models import FOLDER, MODELS, floats, graph, node, saved
from tests.wording import refused

MOST_SECONDS = 20.0  # of the processor; a file that costs too much would take minutes
MOST_BYTES = 200 * 2**20


def cut_short(data: bytes) -> Iterator[bytes]:
    """The beginnings of a file."""
    for length in range(0, len(data), 97):
        yield data[:length]


def with_other_bytes(data: bytes, count: int) -> Iterator[bytes]:
    """A file with one byte or some changed."""
    chance = random.Random(0)
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 2, 4))):
            changed[chance.randrange(len(data))] = chance.randrange(256)
        yield bytes(changed)


def damaged(name: str, count: int) -> Iterator[bytes]:
    data = (FOLDER / f"{name}.onnx").read_bytes()
    yield from cut_short(data)
    yield from with_other_bytes(data, count)


@pytest.mark.some(3)
@pytest.mark.parametrize("name", MODELS)
def test_a_damaged_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    sv.onnx.load(FOLDER / f"{name}.onnx", output=None if "binary" not in name else "add_result1")
    refused = 0
    tracemalloc.start()
    for data in damaged(name, 60):
        path.write_bytes(data)
        began = process_time()
        try:
            sv.onnx.load(path)
        except FileError:
            refused += 1
        assert process_time() - began < MOST_SECONDS
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES
    assert refused > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_many_damaged_files_are_read_or_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    for data in damaged(name, 3000):
        path.write_bytes(data)
        try:
            sv.onnx.load(path)
        except FileError:
            continue


def refuse(model: onnx.ModelProto, folder: Path, why: str) -> None:
    """It is refused for this reason, at once."""
    tracemalloc.start()
    began = process_time()
    with pytest.raises(FileError) as error:
        sv.onnx.load(saved(model, folder))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert why in str(error.value)
    assert peak < MOST_BYTES and process_time() - began < MOST_SECONDS


def tensor(*dims: int, kind: int = TensorProto.FLOAT, data: bytes = b"") -> onnx.TensorProto:
    return onnx.TensorProto(name="w", dims=dims, data_type=kind, raw_data=data)


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (tensor(2**40, 2**40), "which is too large"),
        (tensor(2**20, 2**20), "which is too large"),
        (tensor(3, 2), "but there are 0 of them"),
        (tensor(3, 2, data=b"\0" * 23), "no whole number"),
        (tensor(3, 2, data=b"\0" * 28), "but there are 7 of them"),
        (tensor(-3, -2), "have the shape (-3, -2)"),
        (tensor(*[1] * 20, data=b"\0" * 4), "have the shape"),
        (tensor(3, 2, data=b"\xff" * 24), "are not all finite"),
        (tensor(3, 2, kind=TensorProto.STRING), "none of plain numbers"),
        (tensor(3, 2, kind=77), "none of plain numbers"),
    ],
)
def test_numbers_that_are_none_are_refused(odd: onnx.TensorProto, why: str, tmp_path: Path) -> None:
    refuse(graph(node("MatMul", "x w", "y"), numbers={"w": odd}), tmp_path, why)


def test_a_huge_sample_is_refused(tmp_path: Path) -> None:
    nodes = [node("GlobalAveragePool", "x", "y")]
    refuse(graph(*nodes, shape=(1, 1, 10**6, 10**6), out=None), tmp_path, "numbers")
    wide = [node("Unsqueeze", "x a", "z"), node("Mul", "z f", "y")]
    numbers = {"a": np.array([2]), "f": floats(1, 1000)}
    refuse(graph(*wide, numbers=numbers, shape=(1, 10**5), out=None), tmp_path, "numbers")


def test_numbers_that_scale_many_large_samples_count(tmp_path: Path) -> None:
    nodes = [node("Sub", "x c", "v0")]
    for i in range(4):
        nodes += [node("Relu", f"v{i}", f"w{i}"), node("Sub", f"w{i} c", f"v{i + 1}")]
    model = graph(*nodes, node("Relu", "v4", "y"), numbers={"c": floats(1)}, shape=(1, 10**5))
    path = saved(model, tmp_path)
    with refused(FileError, "what scales (100000,)"):
        sv.onnx.load(path, limit=10 * 2**20)
    bare = {"Add": [["x"], ["c"], []], "Sub": [["x"]], "Div": [["x"], ["c", "x"]]}
    for operator, given in bare.items():
        for inputs in given:
            model = graph(node(operator, " ".join(inputs), "y"), numbers={"c": floats(1)})
            refuse(model, tmp_path, f"({operator}): ")


def test_a_convolution_of_huge_padding_is_refused(tmp_path: Path) -> None:
    conv = node("Conv", "x k", "y", pads=[2**31] * 4)
    refuse(graph(conv, numbers={"k": floats(1, 1, 1, 1)}, shape=(1, 1, 2, 2)), tmp_path, "padding")


@pytest.mark.slow
def test_very_many_nodes_are_refused(tmp_path: Path) -> None:
    nodes = [node("Relu", f"v{i}", f"v{i + 1}") for i in range(5000)]
    refuse(graph(*nodes), tmp_path, "it has 5,000 nodes, and a limit of 640.0 MB permits 4,096")
    nodes = [node("Relu", "x", "v1"), *nodes[1:-1], node("Relu", "v4999", "y")]
    path = saved(graph(*nodes, out=None), tmp_path)
    assert len(sv.onnx.load(path, limit=2**30).layers) == 5000


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for data in (b"", b"hello", b"\x08", b"{}" * 5000):
        path.write_bytes(data)
        with refused(FileError, "model.onnx'"):
            sv.onnx.load(path)
    with refused(FileError, "none.onnx'"):
        sv.onnx.load(tmp_path / "none.onnx")
    with refused(FileError, "'tmp_path'"):
        sv.onnx.load(tmp_path)


# ---- numbers in a second file -------------------------------------------------------------------


def outside(location: str, **more: Any) -> onnx.ModelProto:
    """A model whose numbers are in another file."""
    made = onnx.TensorProto(
        name="w", dims=(3, 2), data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL
    )
    for key, value in {"location": location, **more}.items():
        made.external_data.append(onnx.StringStringEntryProto(key=key, value=str(value)))
    return graph(node("MatMul", "x w", "y"), numbers={"w": made})


def test_numbers_in_a_file_beside_it_are_read(tmp_path: Path) -> None:
    w = floats(3, 2)
    (tmp_path / "weights.bin").write_bytes(b"head" + w.tobytes() + b"tail")
    path = saved(outside("weights.bin", offset=4, length=24), tmp_path)
    np.testing.assert_array_equal(sv.onnx.load(path).bank.value, w.T.ravel())


@pytest.mark.parametrize(
    ("location", "more", "why"),
    [
        ("../weights.bin", {}, "which is no file in the model's folder"),
        ("inner/../../weights.bin", {}, "which is no file in the model's folder"),
        ("/etc/passwd", {}, "which is no file in the model's folder"),
        ("C:\\\\weights.bin", {}, "which is no file in the model's folder"),
        ("", {}, "which is no file in the model's folder"),
        ("link.bin", {}, "leads out of the model's folder"),
        ("linked/weights.bin", {}, "leads out of the model's folder"),
        (".", {}, "which is no file in the model's folder"),
        ("inner", {}, "which is too short"),
        ("short.bin", {}, "which is too short"),
        ("long.bin", {"offset": 100}, "which is too short"),
        ("long.bin", {"offset": -8}, "take 24 bytes"),
        ("long.bin", {"length": 12}, "is said to have 12"),
        ("long.bin", {"offset": "x"}, "no number"),
        ("none.bin", {}, "cannot be read"),
    ],
)
def test_numbers_elsewhere_are_refused(
    location: str, more: dict[str, Any], why: str, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "weights.bin").write_bytes(bytes(24))
    (folder / "short.bin").write_bytes(bytes(20))
    (folder / "long.bin").write_bytes(bytes(48))
    try:
        (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
        (folder / "linked").symlink_to(tmp_path)
    except OSError:
        pytest.skip("this system lets nobody make links")
    refuse(outside(location, **more), folder, why)


def test_names_of_a_hostile_length_are_refused(tmp_path: Path) -> None:
    model = graph(helper.make_node("Relu", ["x"], ["y"], name="n" * 10**6))
    refuse(model, tmp_path, "is no name")
