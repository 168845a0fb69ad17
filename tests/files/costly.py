"""Small files that would cost much, and what they do cost: python -m tests.files.costly FOLDER

Prints one line of JSON for each: its name, its size, what came of it, seconds of the processor, and
by how many bytes the process grew.
"""

import gc
import gzip
import json
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import onnx

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import ScalarvizError
from scalarviz.files.checked_safetensors import read, write
from tests.sessions import advanced

Spoil = Callable[[dict[str, Any], dict[str, Any]], None]


# ---- files of data ------------------------------------------------------------------------------


def booleans(path: Path) -> None:
    """45 million booleans in each of two arrays, 720 MB as numbers."""
    about = b"{'descr': '|b1', 'fortran_order': False, 'shape': (45000000, 1), }"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in ("x.npy", "y.npy"):
            with archive.open(name, "w") as file:
                file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(about)) + about)
                for _ in range(45):
                    file.write(bytes(10**6))


def members(path: Path) -> None:
    """An archive that lists 200,000 members."""
    listed = b"".join(
        struct.pack("<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 11, *[0] * 6)
        + b"inputs%05d" % (i % 100_000)
        for i in range(200_000)
    )
    path.write_bytes(listed + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, len(listed), 0, 0))


def idx(folder: Path, pictures: int, side: int, there_are: int) -> None:
    """MNIST's files with very many pictures, of which some are there, or random bytes."""
    folder.mkdir()
    parts = ("images-idx3", (pictures, side, side)), ("labels-idx1", (pictures,))
    noise = np.random.default_rng(0).bytes(300_000)
    for name, shape in parts:
        with gzip.open(folder / f"train-{name}-ubyte.gz", "wb", 1) as file:
            file.write(bytes((0, 0, 8, len(shape))) + struct.pack(f">{len(shape)}I", *shape))
            file.write(bytes(there_are) or noise)


def png(path: Path) -> None:
    """A picture of 36 megapixels."""
    side, packer = 6000, zlib.compressobj(1)
    row = bytes(1 + 3 * side)
    packed = b"".join([*[packer.compress(row) for _ in range(side)], packer.flush()])
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = [b"\x89PNG\r\n\x1a\n"]
    for kind, content in ((b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")):
        check = struct.pack(">I", zlib.crc32(kind + content))
        parts += [struct.pack(">I", len(content)), kind, content, check]
    path.write_bytes(b"".join(parts))


# ---- files of ours ------------------------------------------------------------------------------


def run(path: Path, spoil: Spoil, texture: bool = False) -> None:
    """A run of three steps, which says something else."""
    chosen: Any = data.Texture(np.zeros((2, 2, 3)), samples=4) if texture else data.Rgb(levels=2)
    net = sv.Network([chosen.inputs, 3], engine="python")
    advanced(sv.Session(net, chosen, batch=None if texture else 2, engine="python"), 3).save(path)
    description, arrays = read(path, "run")
    spoil(description, arrays)
    write(path, "run", description, arrays)


def many_samples(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    about["start"]["data"]["data"]["settings"] = {"samples": 2**24}


def many_sets(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Forty data sets of 48 MB, each of its own."""
    sets = [{"name": "rgb", "settings": {"levels": 100, "seed": i}} for i in range(40)]
    journal = [[1, 0, "data", {"data": {"data": each}}, None] for each in sets]
    about["branches"][0]["journal"] = journal


def large_batch(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    about["start"]["data"]["data"]["settings"]["samples"] = 2**31


def far_keyframe(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Two million steps behind the only keyframe."""
    steps = 2_000_000
    about["branches"][0]["end"] = about["clock"] = [steps, 0, 0]
    arrays["losses 0"] = np.zeros(steps)
    for name in [name for name in arrays if name.startswith("frames 0")]:
        arrays[name] = arrays[name][:1]


def half_a_step(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """A clock within a step of three million samples, on the slowest engine."""
    about["start"]["data"]["data"]["settings"]["samples"] = 3_000_000
    about["branches"][0]["end"] = about["clock"] = [3, 5, 0]


def many_branches(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Each leaves the one before."""
    for i in range(1, 3000):
        fork = {"parent": i - 1, "fork": [0, 0, 0], "end": [0, 0, 0], "journal": []}
        about["branches"].append(fork)
        arrays[f"losses {i}"] = np.zeros(0)
        for name, dtype in (("step", "int64"), ("count", "int64"), ("has_gradients", "bool")):
            arrays[f"frames {i} {name}"] = np.zeros(0, dtype)


def many_engines(about: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Twenty thousand engines at one moment."""
    full = {"precision": {"name": "full", "loss_scale": 1.0, "dynamic": False, "patience": 1}}
    about["branches"][0]["journal"] = [
        [3, 0, "engine", {"name": ("cpu", "python")[i % 2], "precision": full}, None]
        for i in range(20_000)
    ]
    about["branches"][0]["end"] = about["clock"] = [3, 0, 20_000]


def network(path: Path, spoil: Spoil) -> None:
    """A network, which says something else."""
    sv.Network([3, 3]).save(path)
    description, arrays = read(path, "network")
    spoil(description, arrays)
    write(path, "network", description, arrays)


def relus(path: Path, layers: int, order: int) -> None:
    """Very many layers, or one very often."""

    def spoil(about: dict[str, Any], arrays: dict[str, Any]) -> None:
        relu = {"kind": "Activation", "settings": {"shape": 3, "activation": "relu"}}
        about["layers"] += [relu] * layers
        about["order"] = [min(i, layers) for i in range(order)]

    network(path, spoil)


def one_layer(path: Path, kind: str, settings: dict[str, Any]) -> None:
    """A layer without parameters."""

    def spoil(about: dict[str, Any], arrays: dict[str, Any]) -> None:
        about["layers"], about["order"] = [{"kind": kind, "settings": settings}], [0]
        for name in [name for name in arrays if "." in name]:
            del arrays[name]

    network(path, spoil)


def header(path: Path, text: str) -> None:
    """A file with this description."""
    whole = json.dumps({"__metadata__": {"scalarviz": text}}).encode()
    path.write_bytes(struct.pack("<Q", len(whole)) + whole)


# ---- models -------------------------------------------------------------------------------------


def field(number: int, content: bytes) -> bytes:
    """A field of a message."""
    length, size = len(content), []
    while length > 127:
        size.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *size, length]) + content


def model(path: Path, nodes: list[Any], sizes: dict[str, list[Any]], **numbers: Any) -> None:
    """A model of these nodes, between two ports of some sizes, with some numbers."""
    make = onnx.helper
    ports = [make.make_tensor_value_info(name, 1, ["n", *each]) for name, each in sizes.items()]
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in numbers.items()]
    graph = make.make_graph(nodes, "g", ports[:1], ports[1:], stored)
    made = make.make_model(graph, opset_imports=[make.make_opsetid("", 17)])
    path.write_bytes(made.SerializeToString())


def products(path: Path, names: int) -> None:
    """A matrix of 4 MB that is used 600 times, under so many names."""
    matrix = np.random.default_rng(0).normal(size=(1000, 1000)).astype(np.float32)
    make, count = onnx.helper.make_node, 600
    nodes = [make("Identity", ["w"], [f"w{i}"]) for i in range(names)]
    for i in range(count):
        nodes.append(make("MatMul", [f"v{i}", f"w{i % names}" if names else "w"], [f"v{i + 1}"]))
    model(path, nodes, {"v0": [1000], f"v{count}": [1000]}, w=matrix)


def waves(path: Path) -> None:
    """An encoding of 4,096 numbers in 1,000 octaves."""
    make = onnx.helper.make_node
    nodes = [
        make("Unsqueeze", ["x", "a"], ["u"]),
        make("Mul", ["u", "f"], ["m"]),
        make("Sin", ["m"], ["s"]),
        make("Cos", ["m"], ["c"]),
        make("Concat", ["s", "c"], ["y"], axis=-1),
    ]
    f = np.ones((1000, 1), np.float32)
    model(path, nodes, {"x": [4096], "y": [4096, 1000, 2]}, a=np.array([2, 3]), f=f)


def sizes(path: Path) -> None:
    """A Reshape to 200,000 sizes, whose product has millions of digits."""
    node = onnx.helper.make_node("Reshape", ["x", "s"], ["y"])
    model(path, [node], {"x": [4], "y": [4]}, s=np.full(200_000, 2**62))


def words(path: Path, text: str) -> None:
    path.write_text(text)


def part(path: Path, content: bytes) -> None:
    """A model that has a graph of this content."""
    path.write_bytes(field(7, content))


# What makes the file, what it is given, and what loads it.
Case = tuple[Callable[..., None], tuple[Any, ...], Callable[[Path], object]]
REFUSED: dict[str, Case] = {
    "an NPZ of booleans": (booleans, (), data.from_npz),
    "a ZIP of 200,000 members": (members, (), data.from_npz),
    "an IDX.gz of pictures": (idx, (300_000, 28, 0), data.Digits),
    "an IDX.gz of labels": (idx, (30_000_000, 1, 30_000_000), data.Digits),
    "a PNG of 36 megapixels": (png, (), data.Texture),
    "a CSV of one line": (words, ("1," * 10**7,), data.from_csv),
    "a CSV of one row": (words, ('"' + '\n","' * 10**7,), data.from_csv),
    "a run of 2**24 samples": (run, (many_samples,), sv.Session.load),
    "a run of 40 data sets": (run, (many_sets,), sv.Session.load),
    "a run of a batch of 2**31": (run, (large_batch, True), sv.Session.load),
    "a run far from its keyframe": (run, (far_keyframe,), sv.Session.load),
    "100,000 layers": (relus, (100_000, 100_001), sv.load),
    "an order of a million": (relus, (1, 10**6), sv.load),
    "a layer of 2**50": (one_layer, ("Dropout", {"shape": 2**50, "rate": 0.5}), sv.load),
    "2**40 octaves": (
        one_layer,
        ("FrequencyEncoding", {"inputs": 3, "octaves": 2**40}),
        sv.load,
    ),
    "a description of lists": (header, ('{"a":[' + "[]," * 5_000_000 + "0]}",), sv.load),
    "a description of numbers": (header, ('{"a":[' + "1e1," * 4_000_000 + "0]}",), sv.load),
    "five million nodes": (part, (b"\x0a\x00" * 5_000_000,), sv.onnx.load),
    "a node of five million names": (part, (field(1, b"\x0a\x00" * 5_000_000),), sv.onnx.load),
    "a matrix of 600 names": (products, (600,), sv.onnx.load),
    "an encoding of 1,000 octaves": (waves, (), sv.onnx.load),
    "200,000 sizes": (sizes, (), sv.onnx.load),
}
LOADED: dict[str, Case] = {
    "a run in half of a large step": (run, (half_a_step, True), sv.Session.load),
    "a run of 3,000 branches": (run, (many_branches,), sv.Session.load),
    "a run of 20,000 engines": (run, (many_engines,), sv.Session.load),
    "10,000 layers": (relus, (9_999, 10_000), sv.load),
    "a matrix that is used 600 times": (products, (0,), sv.onnx.load),
}


def grown() -> int:
    """The most bytes that the process has had since it was last asked to forget."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def measure(name: str, case: Case, path: Path) -> dict[str, Any]:
    """What it costs to read a file."""
    make, given, load = case
    make(path, *given)
    parts = [path] if path.is_file() else list(path.iterdir())
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before, began = grown(), process_time()
    try:
        load(path)
        said = ""
    except ScalarvizError as error:
        said = str(error)
    return {
        "name": name,
        "size": sum(part.stat().st_size for part in parts),
        "said": said,
        "seconds": process_time() - began,
        "bytes": grown() - before,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    sv.Session(sv.Network([2, 1]), data.Xor(), engine="cpu").advance(1)  # what loads once
    for i, (name, case) in enumerate({**REFUSED, **LOADED}.items()):
        print(json.dumps(measure(name, case, folder / str(i))), flush=True)
