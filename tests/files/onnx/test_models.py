"""Stored and hostile ONNX models: the same outputs, or a clear error at little cost."""

import random
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
from tests.engines.test_cuda import needs_numba_cuda, simulate
from tests.files.onnx.models import (
    FOLDER,
    MODELS,
    batch,
    floats,
    graph,
    load,
    node,
    run,
    saved,
    trained,
)
from tests.machine import ROOT, traced_memory
from tests.wording import refused

every_model = pytest.mark.parametrize("name", MODELS)


@every_model
def test_a_model_gives_what_onnxruntime_gives(name: str) -> None:
    net = load(name)
    x = batch(net, 16)
    assert net.names is not None
    expected = run(FOLDER / f"{name}.onnx", x, net.names["output"])
    np.testing.assert_allclose(net(x), expected, rtol=0, atol=1e-5)


@pytest.mark.some(3)
@every_model
def test_a_model_learns_the_same_on_each_engine(name: str) -> None:
    nets = [load(name), load(name)]
    losses = [trained(net, engine) for net, engine in zip(nets, ("python", "cpu"), strict=True)]
    assert losses[0][-1] < losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)
    np.testing.assert_allclose(nets[1].bank.value, nets[0].bank.value, rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@needs_numba_cuda
def test_a_model_learns_the_same_on_cuda() -> None:
    simulate("tests/files/onnx/simulated_cuda.py")


@every_model
def test_a_model_that_has_learned_comes_back(name: str, tmp_path: Path) -> None:
    net = load(name)
    before = net(batch(net))
    trained(net, "cpu")
    path = tmp_path / "again.onnx"
    sv.onnx.save(net, path)
    x = batch(net, 16)
    np.testing.assert_allclose(run(path, x), net(x), rtol=0, atol=1e-5)
    again = sv.onnx.load(path)
    np.testing.assert_array_equal(again.bank.value, net.bank.value)
    # What a BatchNorm has seen is float64 in a network, and float32 in the file.
    np.testing.assert_allclose(again(x), net.to("python")(x), rtol=0, atol=1e-7)
    assert again.names == net.names
    assert not np.allclose(again(batch(net)), before)


def parts(path: Path) -> tuple[set[str], set[tuple[str, str]]]:
    """The names of numbers, and of nodes with their operators."""
    found = onnx.load(path).graph
    return {each.name for each in found.initializer}, {(n.op_type, n.name) for n in found.node}


def test_numbers_keep_their_names_where_nodes_cannot(tmp_path: Path) -> None:
    sv.onnx.save(load("torch_mlp"), tmp_path / "again.onnx")
    numbers, nodes = parts(tmp_path / "again.onnx")
    assert numbers == {"0.weight", "0.bias", "2.weight", "4.weight", "4.bias"}
    assert ("Gemm", "/2/MatMul") in nodes  # it was a Transpose and a MatMul
    sv.onnx.save(load("sklearn_classifier"), tmp_path / "again.onnx")
    numbers, nodes = parts(tmp_path / "again.onnx")
    assert numbers == {"coefficient", "intercepts", "coefficient1", "intercepts1"}
    assert {("Gemm", "Add"), ("Tanh", "Tanh")} < nodes  # it was a MatMul and an Add


def test_the_probability_of_the_first_of_two_classes_is_1_minus_the_other() -> None:
    file = FOLDER / "sklearn_binary.onnx"
    net = sv.onnx.load(file)
    assert [type(layer).__name__ for layer in net.layers][-1] == "Concatenate"
    np.testing.assert_allclose(net(batch(net)), run(file, batch(net), "probabilities"), atol=1e-6)


def test_a_batch_norm_keeps_what_it_has_seen() -> None:
    norm = load("torch_batchnorm").layers[1]
    assert isinstance(norm, sv.BatchNorm)
    stored = {t.name: t for t in onnx.load(FOLDER / "torch_batchnorm.onnx").graph.initializer}
    expected = onnx.numpy_helper.to_array(stored["1.running_var"])
    np.testing.assert_array_equal(norm.running_variance.astype(np.float32), expected)
    assert norm.momentum == pytest.approx(0.1)


def test_the_stored_models_are_small() -> None:
    assert len(MODELS) >= 15
    for name in MODELS:
        assert (FOLDER / f"{name}.onnx").stat().st_size < 5000


def test_the_model_of_the_scene_retrain_is_one_of_them(tmp_path: Path) -> None:
    model = ROOT / "scenes" / "digits_0_to_7.onnx"
    net = sv.onnx.load(model)
    x = batch(net, 16)
    np.testing.assert_allclose(net(x), run(model, x), rtol=1e-5, atol=1e-5)
    sv.onnx.save(net, tmp_path / "again.onnx")
    assert parts(tmp_path / "again.onnx") == parts(model)
    assert model.stat().st_size < 5000


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


@pytest.mark.some(2)
@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MODELS)
def test_a_damaged_file_is_read_or_refused(name: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / "damaged.onnx"
    sv.onnx.load(FOLDER / f"{name}.onnx", output=None if "binary" not in name else "add_result1")
    refused = 0
    with traced_memory() as memory:
        for data in damaged(name, count):
            path.write_bytes(data)
            began = process_time()
            try:
                sv.onnx.load(path)
            except FileError:
                refused += 1
            assert process_time() - began < MOST_SECONDS
        assert memory()[1] < MOST_BYTES
    assert refused > 10


def refuse(model: onnx.ModelProto, folder: Path, why: str) -> None:
    """It is refused for this reason, at once."""
    began = process_time()
    with traced_memory() as memory:
        refused(FileError, why).by(sv.onnx.load, saved(model, folder))
        assert memory()[1] < MOST_BYTES and process_time() - began < MOST_SECONDS


def tensor(*dims: int, kind: int = TensorProto.FLOAT, data: bytes = b"") -> onnx.TensorProto:
    return onnx.TensorProto(name="w", dims=dims, data_type=kind, raw_data=data)


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (tensor(2**40, 2**40), "which is too large"),
        (tensor(2**20, 2**20), "which is too large"),
        (tensor(3, 2), "but 0 values"),
        (tensor(3, 2, data=b"\0" * 23), "not a whole number"),
        (tensor(3, 2, data=b"\0" * 28), "but 7 values"),
        (tensor(-3, -2), "have the shape (-3, -2)"),
        (tensor(*[1] * 20, data=b"\0" * 4), "have the shape"),
        (tensor(3, 2, data=b"\xff" * 24), "are not all finite"),
        (tensor(3, 2, kind=TensorProto.STRING), "not a plain number type"),
        (tensor(3, 2, kind=77), "not a plain number type"),
    ],
)
def test_numbers_that_are_none_are_refused(odd: onnx.TensorProto, why: str, tmp_path: Path) -> None:
    refuse(graph(node("MatMul", "x w", "y"), numbers={"w": odd}), tmp_path, why)


def test_a_huge_sample_is_refused(tmp_path: Path) -> None:
    nodes = [node("GlobalAveragePool", "x", "y")]
    refuse(graph(*nodes, shape=(1, 1, 10**6, 10**6), out=None), tmp_path, "numbers")
    octaves = np.pi * 2.0 ** np.arange(32).reshape(32, 1)
    waves = [
        node("Unsqueeze", "x a", "z"), node("Mul", "z f", "m"), node("Sin", "m", "s"),
        node("Cos", "m", "c"), node("Concat", "s c", "y", axis=-1),
    ]  # fmt: skip
    numbers = {"a": np.array([2, 3]), "f": octaves.astype(np.float32)}
    refuse(graph(*waves, numbers=numbers, shape=(1, 10**6), out=None), tmp_path, "numbers")


def test_numbers_that_scale_many_large_samples_count(tmp_path: Path) -> None:
    nodes = [node("Sub", "x c", "v0")]
    for i in range(4):
        nodes += [node("Relu", f"v{i}", f"w{i}"), node("Sub", f"w{i} c", f"v{i + 1}")]
    model = graph(*nodes, node("Relu", "v4", "y"), numbers={"c": floats(1)}, shape=(1, 10**5))
    path = saved(model, tmp_path)
    refused(FileError, "what scales (100000,)").by(sv.onnx.load, path, limit=10 * 2**20)
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
    assert len(sv.onnx.load(saved(graph(*nodes, out=None), tmp_path), limit=2**30).layers) == 5000


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    for data in (b"", b"hello", b"\x08", b"{}" * 5000):
        path.write_bytes(data)
        refused(FileError, "model.onnx'").by(sv.onnx.load, path)
    refused(FileError, "none.onnx'").by(sv.onnx.load, tmp_path / "none.onnx")
    refused(FileError, "'tmp_path'").by(sv.onnx.load, tmp_path)


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
        ("../weights.bin", {}, "which is not a file in the model's folder"),
        ("inner/../../weights.bin", {}, "which is not a file in the model's folder"),
        ("/etc/passwd", {}, "which is not a file in the model's folder"),
        ("C:\\\\weights.bin", {}, "which is not a file in the model's folder"),
        ("", {}, "which is not a file in the model's folder"),
        ("link.bin", {}, "outside of the model's folder"),
        ("linked/weights.bin", {}, "outside of the model's folder"),
        (".", {}, "which is not a file in the model's folder"),
        ("inner", {}, "which is too short"),
        ("short.bin", {}, "which is too short"),
        ("long.bin", {"offset": 100}, "which is too short"),
        ("long.bin", {"offset": -8}, "take 24 bytes"),
        ("long.bin", {"length": 12}, "is said to have 12"),
        ("long.bin", {"offset": "x"}, "not a number"),
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
    refuse(
        graph(helper.make_node("Relu", ["x"], ["y"], name="n" * 10**6)), tmp_path, "is not a name"
    )
