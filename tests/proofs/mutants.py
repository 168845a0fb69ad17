"""Files of every kind that is read, and ways to damage them.

Any byte of any file can be changed, cut or doubled. Beside that each kind has changes of its own,
which get past its checksums: a header that says something else, with the checksum made anew.
"""

from __future__ import annotations

import faulthandler
import gzip
import hashlib
import io
import json
import random
import struct
import sys
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.data import DataSet
from scalarviz.files import checked_safetensors
from tests.data.test_files import idx
from tests.machine import ROOT
from tests.sessions import session_on

Chance = random.Random
Change = Callable[[bytes, Chance], bytes]

ODD: list[Any] = [
    None, -1, 0, 1, 10**12, 2**63, -(2**31), 1.5, 1e308, "", "x", "\x1b[31m", [], {}, True, [0, 0],
    [[]], {"array": "value"}, "array 0", "a" * 5000, list(range(300)),
]  # fmt: skip


@dataclass(frozen=True)
class Format:
    """A kind of file.

    Attributes:
        make: writes one into a folder; its path
        load: what is in it
        changes: ways to spoil it that get past its checksums
        sealed: whether a change of any byte is noticed, so that what loads is the original
    """

    make: Callable[[Path], Path]
    load: Callable[[Path], Any]
    changes: tuple[Change, ...]
    sealed: bool = False


# ---- any bytes -----------------------------------------------------------------------------------


def flip(raw: bytes, chance: Chance) -> bytes:
    """Some bits."""
    found = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 8))):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def cut(raw: bytes, chance: Chance) -> bytes:
    return raw[: chance.randrange(len(raw))]


def insert(raw: bytes, chance: Chance) -> bytes:
    at = chance.randrange(len(raw) + 1)
    return raw[:at] + chance.randbytes(chance.choice((1, 2, 4, 100))) + raw[at:]


def remove(raw: bytes, chance: Chance) -> bytes:
    at = chance.randrange(len(raw))
    return raw[:at] + raw[at + chance.choice((1, 2, 4, 100)) :]


def double(raw: bytes, chance: Chance) -> bytes:
    """A piece stands twice."""
    a, b = sorted(chance.randrange(len(raw) + 1) for _ in range(2))
    return raw[:b] + raw[a:]


WORDS = [b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80"]


def overwrite(raw: bytes, chance: Chance) -> bytes:
    """Some bytes next to each other, by those that numbers are spoilt by."""
    word = chance.choice(WORDS)
    at = chance.randrange(len(raw))
    return raw[:at] + word + raw[at + len(word) :]


ANY: tuple[Change, ...] = (flip, flip, cut, insert, remove, double, overwrite)


# ---- networks and runs ---------------------------------------------------------------------------


def make_network(folder: Path) -> Path:
    layers = [
        sv.Conv2d((1, 4, 4), 2, activation="tanh"), sv.BatchNorm((2, 2, 2)), sv.Flatten((2, 2, 2)),
        sv.Residual(sv.Dense(8, 3, "relu"), sv.Dense(3, 8)), sv.Dropout(8, 0.2), sv.Dense(8, 2),
    ]  # fmt: skip
    net = sv.Network(layers, seed=1)
    rng = np.random.default_rng(0)
    net.train(rng.normal(size=(5, 16)), rng.random((5, 2)), optimizer=sv.Adam(0.01), steps=3)
    net.save(folder / "network")
    return folder / "network"


def make_run(folder: Path) -> Path:
    s = session_on(
        data.Rgb(levels=3), [3, 4, 3], "tanh", "sigmoid", first=1, optimizer=sv.Adam(0.01), batch=4
    )
    s.advance(6)
    s.learning_rate = 0.02
    s.edit([0, 3], [0.5, -0.5])
    s.advance(3, "operation")
    s.set_activation(0, "relu")
    s.advance(2)
    s.back(4)
    s.freeze([1, 2])
    s.data = data.Rgb("sepia", levels=3)
    s.advance(3)
    s.save(folder / "run")
    return folder / "run"


def load_run(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it was made by other versions
        return sv.Session.load(path)


def seal(raw: bytes) -> bytes:
    """The checksum made anew."""
    found = bytearray(raw)
    place = checked_safetensors.place_of_checksum(found)
    if place.stop > place.start and place.stop <= len(found):
        found[place] = checked_safetensors.NO_CHECKSUM.encode()
        found[place] = hashlib.sha256(found).hexdigest().encode()
    return bytes(found)


def sealed(change: Change) -> Change:
    return lambda raw, chance: seal(change(raw, chance))


def opened(raw: bytes) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Kind, description and arrays of a file."""
    from safetensors.numpy import load

    length = checked_safetensors.header_length(raw)
    head = json.loads(
        raw[checked_safetensors.LENGTH_BYTES : checked_safetensors.LENGTH_BYTES + length]
    )
    about = json.loads(head["__metadata__"][checked_safetensors.NAME])
    return about["kind"], about["description"], load(raw)


def leaves(thing: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in lists and objects."""
    items: Any = ()
    if isinstance(thing, dict):
        items = list(thing.items())
    elif isinstance(thing, list):
        items = list(enumerate(thing))
    found = []
    for key, value in items:
        found += [(thing, key), *leaves(value)]
    return found


def other_description(raw: bytes, chance: Chance) -> bytes:
    """Something in the description is odd, missing, doubled or exchanged."""
    kind, description, arrays = opened(raw)
    for _ in range(chance.choice((1, 1, 2))):
        holder, key = chance.choice(leaves(description))
        way = chance.randrange(5)
        if way == 0 and isinstance(holder, dict):
            del holder[key]
        elif way == 1:
            other, name = chance.choice(leaves(description))
            holder[key] = json.loads(json.dumps(other[name]))
        elif way == 2 and isinstance(holder[key], list) and holder[key]:
            holder[key] = holder[key] * chance.choice((2, 50, 3000))
        elif way == 3 and type(holder[key]) in (int, float):
            holder[key] = type(holder[key])(holder[key] * chance.choice((-1, 2, 10**6, 2**31)))
        else:
            holder[key] = chance.choice(ODD)
    return bytes(checked_safetensors.encode(kind, description, arrays))


def other_arrays(raw: bytes, chance: Chance) -> bytes:
    """An array has other numbers, another shape or type, or is missing."""
    kind, description, arrays = opened(raw)
    name = chance.choice(sorted(arrays))
    array = arrays[name]
    with np.errstate(all="ignore"):
        spoilt = [
            array[:-1], array.ravel(), array.reshape(1, *array.shape), array[::-1].copy(),
            array.astype("float64"), array.astype("bool"), array.astype("int64"),
            np.zeros((0, 3)), np.zeros(0, array.dtype), np.full_like(array, 1),
            np.full(array.shape, np.nan).astype(array.dtype, casting="unsafe"),
            np.full(array.shape, 1e300).astype(array.dtype, casting="unsafe"),
            np.full(array.shape, -(2**62)).astype(array.dtype, casting="unsafe"),
        ]  # fmt: skip
    arrays[name] = chance.choice(spoilt)
    if chance.random() < 0.1:
        arrays[chance.choice(ODD[9:12])] = arrays.pop(name)
    return bytes(checked_safetensors.encode(kind, description, arrays))


# ---- ONNX ----------------------------------------------------------------------------------------

MODELS = ROOT / "tests" / "files" / "onnx" / "models"


def make_onnx(folder: Path) -> Path:
    (folder / "model.onnx").write_bytes((MODELS / "torch_batchnorm.onnx").read_bytes())
    (folder.parent / "secret").write_bytes(bytes(4096))
    return folder / "model.onnx"


def other_model(raw: bytes, chance: Chance) -> bytes:
    """Something in the graph is odd."""
    import onnx

    model = onnx.load_from_string(raw)
    graph = model.graph
    node, tensor = chance.choice(graph.node), chance.choice(graph.initializer)
    ways: list[Callable[[], Any]] = [
        lambda: node.input.append(node.output[0]),
        lambda: node.input.__setitem__(0, chance.choice(graph.node).output[0]),
        lambda: graph.node.remove(node),
        lambda: graph.node.extend([node] * chance.choice((1, 500))),
        lambda: setattr(node, "op_type", chance.choice(["Relu", "Mul", "Loop", "\x1b[2J", ""])),
        lambda: node.attribute.append(onnx.helper.make_attribute("pads", [2**31] * 4)),
        lambda: node.attribute.append(onnx.helper.make_attribute("strides", [0, -1])),
        lambda: tensor.dims.append(chance.choice([0, -1, 2**40])),
        lambda: tensor.dims.__setitem__(0, chance.choice([0, -1, 2**40, 3])),
        lambda: setattr(tensor, "raw_data", chance.choice([b"", b"\xff" * 4096])),
        lambda: setattr(tensor, "data_type", chance.randrange(-1, 30)),
        lambda: setattr(tensor, "name", graph.initializer[0].name),
        lambda: outside(tensor),
        lambda: shape_of(graph).append(shape_of(graph)[0]),
        lambda: setattr(shape_of(graph)[-1], "dim_value", chance.choice([0, -4, 2**31, 10**12])),
        lambda: graph.output.extend(list(graph.output)),
        lambda: setattr(model.opset_import[0], "version", chance.choice([-1, 0, 1, 10**6])),
    ]
    chance.choice(ways)()
    return bytes(model.SerializeToString())


def outside(tensor: Any) -> None:
    """The numbers are said to be in another folder."""
    import onnx

    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.append(onnx.StringStringEntryProto(key="location", value="../secret"))


def shape_of(graph: Any) -> Any:
    return graph.input[0].type.tensor_type.shape.dim


# ---- data ----------------------------------------------------------------------------------------


def make_npz(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    inputs, targets = rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 2)).astype(bool)
    np.savez_compressed(folder / "table.npz", inputs=inputs, targets=targets)
    return folder / "table.npz"


SHAPES = [b"(40,)", b"(2, 2**30)", b"(1099511627776, 3)", b"(-1, 3)", b"(40, 3, 0)"]
TYPES = [b"'|O'", b"'<f4'", b"'|b1'", b"'<c16'", b"'<U9'", b"[('a', '<f8')]", b"''"]


def other_npz(raw: bytes, chance: Chance) -> bytes:
    """A member that says something else of itself, in an archive that is whole."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = {item.filename: archive.read(item) for item in archive.infolist()}
    name = chance.choice(sorted(members))
    at = members[name].index(b"\n") + 1
    head, body = members[name][:at], members[name][at:]
    shape, kind = chance.choice(SHAPES), chance.choice(TYPES)
    text = chance.choice(
        [
            b"{'descr': " + kind + b", 'fortran_order': False, 'shape': (40, 3), }",
            b"{'descr': '<f8', 'fortran_order': True, 'shape': " + shape + b", }",
            b"__import__('os').system('true')",
            head[10:].replace(b"40", b"41"),
            b"{" * 3000,
        ]
    )
    body = chance.choice([body, body, b"", bytes(20_000_000), body + b"more", b"\xff" * len(body)])
    members[name] = head[:8] + struct.pack("<H", len(text) + 1) + text + b"\n" + body
    if chance.random() < 0.1:
        members |= {f"member {i}.npy": b"" for i in range(chance.choice((10, 3000)))}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return packed.getvalue()


def make_csv(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(60, 4))]
    (folder / "table.csv").write_text("\n".join(["a,b,c,kind", *lines, ""]), encoding="utf-8")
    return folder / "table.csv"


CELLS = [
    "", "nan", "inf", "-1e999", "1e400", "1_000", "0x10", '"', '"1.5"', "\0", "1;2", "\t", "ü",
    "９", "1.5\r", "9" * 5000, " 1 ", "=1+1", "\ufeff1", "None", "--1", "\x1b[31m1",
]  # fmt: skip


def other_cell(raw: bytes, chance: Chance) -> bytes:
    lines = raw.decode().split("\n")
    at = chance.randrange(len(lines) - 1)
    cells = lines[at].split(",")
    cells[chance.randrange(len(cells))] = chance.choice(CELLS)
    lines[at] = ",".join(cells) + chance.choice(["", "", "", ",1", "," * 3000])
    return "\n".join(lines).encode(chance.choice(["utf-8", "utf-8", "utf-16"]), "replace")


def make_idx(folder: Path) -> Path:
    pictures = np.random.default_rng(0).integers(0, 256, (12, 5, 4), dtype=np.uint8)
    labels = (np.arange(12) % 10).astype(np.uint8)
    (folder / "train-images-idx3-ubyte").write_bytes(idx(pictures))
    (folder / "train-labels-idx1-ubyte").write_bytes(idx(labels))
    return folder / "train-images-idx3-ubyte"


def make_idx_gz(folder: Path) -> Path:
    raw = make_idx(folder)
    packed = folder / "train-images-idx3-ubyte.gz"
    packed.write_bytes(gzip.compress(raw.read_bytes(), mtime=0))
    raw.unlink()
    return packed


def other_sizes(raw: bytes, chance: Chance) -> bytes:
    """Another number of pictures, lines or columns."""
    sizes = [0, 1, 2**16, 2**20, 2**31, 2**32 - 1, chance.randrange(100)]
    at = 4 + 4 * chance.randrange(3)
    return raw[:at] + struct.pack(">I", chance.choice(sizes)) + raw[at + 4 :]


def packed(change: Change) -> Change:
    return lambda raw, chance: gzip.compress(change(gzip.decompress(raw), chance), mtime=0)


def blown(raw: bytes, chance: Chance) -> bytes:
    """Many zeros behind, which take no room while they are compressed."""
    return gzip.compress(gzip.decompress(raw) + bytes(chance.choice((1, 10**7))), mtime=0)


def load_digits(path: Path) -> Any:
    return data.Digits(path.parent)


# ---- pictures ------------------------------------------------------------------------------------


def make_picture(folder: Path, kind: str) -> Path:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    path = folder / f"picture.{kind}"
    Image.fromarray(pixels).save(path)
    return path


def chunks(raw: bytes) -> list[tuple[bytes, bytes]]:
    """The kinds and contents of what a PNG file is made of."""
    found, at = [], 8
    while at + 8 <= len(raw):
        (length,) = struct.unpack(">I", raw[at : at + 4])
        found.append((raw[at + 4 : at + 8], raw[at + 8 : at + 8 + length]))
        at += 12 + length
    return found


def joined(parts: list[tuple[bytes, bytes]]) -> bytes:
    """A PNG file of such chunks, with their checksums."""
    made = b"\x89PNG\r\n\x1a\n"
    for kind, content in parts:
        checksum = struct.pack(">I", zlib.crc32(kind + content))
        made += struct.pack(">I", len(content)) + kind + content + checksum
    return made


def other_chunk(raw: bytes, chance: Chance) -> bytes:
    """A chunk that is changed, added or missing, with its checksum made anew."""
    parts = chunks(raw)
    at = chance.randrange(len(parts))
    kind, content = parts[at]
    way = chance.randrange(6)
    if way == 0:
        del parts[at]
    elif way == 1 and content:
        parts[at] = kind, chance.choice(ANY)(content, chance)
    elif way == 2:
        size = struct.pack(">I", chance.choice([0, 1, 40_000, 2**31 - 1, 2**32 - 1]))
        parts[0] = parts[0][0], size + parts[0][1][4:]
    elif way == 3:
        bits, colors = chance.choice([1, 2, 8, 16, 77]), chance.choice([0, 2, 3, 4, 6, 99])
        parts[0] = parts[0][0], parts[0][1][:8] + bytes((bits, colors)) + parts[0][1][10:]
    elif way == 4:
        names = [b"tEXt", b"zTXt", b"iTXt", b"iCCP", b"eXIf", b"gAMA", b"tRNS", b"PLTE", b"acTL"]
        bomb = zlib.compress(bytes(chance.choice((10, 10**7))))
        content = chance.choice([b"", b"a\0\0" + bomb, chance.randbytes(50), bytes(13)])
        parts.insert(chance.randrange(1, len(parts)), (chance.choice(names), content))
    else:
        pixels = zlib.decompress(dict(parts)[b"IDAT"])
        spoilt = chance.choice([flip, cut, double])(pixels, chance)
        parts = [(k, zlib.compress(spoilt) if k == b"IDAT" else c) for k, c in parts]
    return joined(parts)


FORMATS: dict[str, Format] = {
    "network": Format(
        make_network,
        lambda path: sv.load(path),
        (other_description, other_arrays, *map(sealed, ANY)),
        sealed=True,
    ),
    "run": Format(
        make_run, load_run, (other_description, other_arrays, *map(sealed, ANY)), sealed=True
    ),
    "onnx": Format(make_onnx, lambda path: sv.onnx.load(path), (other_model,)),
    "npz": Format(make_npz, lambda path: data.from_npz(path), (other_npz,), sealed=True),
    "csv": Format(make_csv, lambda path: data.from_csv(path), (other_cell,)),
    "idx": Format(make_idx, load_digits, (other_sizes,)),
    "idx.gz": Format(make_idx_gz, load_digits, (*map(packed, (other_sizes, *ANY)), blown)),
    "png": Format(
        lambda folder: make_picture(folder, "png"), lambda path: data.Texture(path), (other_chunk,)
    ),
    "jpeg": Format(
        lambda folder: make_picture(folder, "jpeg"), lambda path: data.Texture(path), ()
    ),
}


def mutant(form: Format, raw: bytes, chance: Chance) -> tuple[bytes, bool]:
    """A spoilt file; whether its checksums were left as they were."""
    if form.changes and chance.random() < 0.5:
        return chance.choice(form.changes)(raw, chance), False
    return chance.choice(ANY)(raw, chance), True


MOST_SECONDS = 2.0  # of the processor, for one file
HANGS = 60.0  # seconds after which a file is given up, and the process with it
MOST_BYTES = 300 * 2**20
MOST_SPACE = 8 * 2**30
MOST_STEPS = 300  # that are replayed of a run that was loaded
WARM = 40  # files that are loaded before memory is looked at and code is watched

CONTROL = {chr(i) for i in range(32)} - {"\n"} | {chr(127)}
MOST_LETTERS = 10_000  # of an error

NEVER = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "subprocess.", "socket.",
    "pickle.find_class", "os.remove", "os.rename", "os.mkdir", "shutil.", "webbrowser.",
)  # fmt: skip


class Watch:
    """What a file makes the program do, as Python's own audit tells it."""

    def __init__(self, folder: Path) -> None:
        self.on = False
        self.seen: list[str] = []
        self.secret = str(folder.parent / "secret")
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event.startswith(NEVER):
            self.seen.append(event)
        elif event == "exec" and getattr(arguments[0], "co_filename", "").startswith("<string"):
            self.seen.append("exec of a text")
        elif event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
                mode is None and isinstance(flags, int) and flags & 3
            )
            if writes or Path(str(path)).resolve() == Path(self.secret):
                self.seen.append(f"open of {Path(str(path)).name} as {mode}")

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.on = True
        try:
            yield
        finally:
            self.on = False


def memory() -> int:
    """The most memory that this process has had, in bytes."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def limit_memory() -> None:
    """A file that takes all memory shall end this process and not the machine."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MOST_SPACE, MOST_SPACE))


# ---- what was loaded -----------------------------------------------------------------------------


def print_of(thing: Any) -> list[Any]:
    """Everything that two equal loads have in common."""
    if isinstance(thing, DataSet):
        held = () if thing.held_out is None else thing.held_out
        batches = [array.tobytes() for array in thing.batches(None, 0).at(0)]
        return [repr(thing), *[array.tobytes() for array in held], *batches]
    net = thing.network if isinstance(thing, sv.Session) else thing
    bank = net.bank
    arrays = [bank.value, bank.grad, bank.frozen, bank.state, *bank.blocks.values()]
    found = [repr(net), bank.step_count, net.names, *[array.tobytes() for array in arrays]]
    if isinstance(thing, sv.Session):
        found += [thing.clock, repr(thing), thing.losses.tobytes(), len(thing.branches)]
        found += [repr(action) for branch in thing.branches for action in branch.journal]
    return found


def check(thing: Any, path: Path) -> None:
    """What loaded is a valid thing of its kind: it can be used and kept; errors are ours."""
    if isinstance(thing, DataSet):
        assert thing.samples > 0
        inputs, targets = thing.batches(1, 0).at(0)
        assert inputs.shape == (1, thing.inputs) and targets.shape == (1, thing.outputs)
        assert np.isfinite(inputs).all() and np.isfinite(targets).all()
        if isinstance(thing, (data.Texture, data.Digits)):
            assert targets.min() >= 0.0 and targets.max() <= 1.0
        return
    again = path.with_name("again")
    with np.errstate(all="ignore"):
        if isinstance(thing, sv.Session):
            use(thing)
            thing.save(again)
            assert print_of(sv.Session.load(again)) == print_of(thing)
            return
        assert thing(np.zeros(thing.inputs)).shape == (thing.outputs,)
        thing.save(again)
        assert print_of(sv.load(again)) == print_of(thing)


def use(s: sv.Session) -> None:
    """Go through a session; it may refuse."""
    with suppress(sv.ScalarvizError):
        for i, branch in enumerate(s.branches):
            if branch.end.step < MOST_STEPS:
                s.switch(i)
                s.seek(0)
                s.advance(max(1, branch.end.step))
        s.advance(1)


# ---- one file after the other --------------------------------------------------------------------


class Trial:
    """Spoils a file so many times."""

    def __init__(self, form: Format, folder: Path) -> None:
        self.form = form
        self.path = form.make(folder)
        self.raw = self.path.read_bytes()
        self.original = print_of(form.load(self.path))
        self.watch = Watch(folder)
        self.refused = self.loaded = self.same = 0
        self.slowest = 0.0
        self.wrong: list[str] = []

    def run(self, seed: int, count: int) -> dict[str, Any]:
        for i in range(WARM):  # what is first needed is imported now
            faulthandler.dump_traceback_later(HANGS, exit=True)
            self.one(random.Random(f"warm {seed} {i}"), f"warm {i}")
        self.refused = self.loaded = self.same = 0
        self.slowest = 0.0
        self.wrong.clear()
        before = memory()
        for i in range(count):
            faulthandler.dump_traceback_later(HANGS, exit=True)
            print(f"file {i}", flush=True)
            self.one(random.Random(f"{seed} {i}"), f"file {i}")
        faulthandler.cancel_dump_traceback_later()
        grown = memory() - before
        if grown > MOST_BYTES:
            self.wrong.append(f"memory grew by {grown / 2**20:.0f} MiB")
        return {
            "refused": self.refused, "loaded": self.loaded, "same": self.same,
            "slowest": self.slowest, "grown": grown, "wrong": self.wrong,
        }  # fmt: skip

    def one(self, chance: random.Random, name: str) -> None:
        changed, untouched = mutant(self.form, self.raw, chance)
        self.path.write_bytes(changed)
        thing, found = None, ""
        start = time.process_time()
        try:
            with self.watch.watching():
                thing = self.form.load(self.path)
        except sv.ScalarvizError as error:
            self.refused += 1
            if set(str(error)) & CONTROL or len(str(error)) > MOST_LETTERS:
                found = f"the error is {str(error)[:200]!r}"
        except BaseException as error:
            found = f"{type(error).__name__}: {str(error)[:200]}"
        seconds = time.process_time() - start
        self.slowest = max(self.slowest, seconds)
        if thing is not None:
            found = self.look(thing, untouched)
        if seconds > MOST_SECONDS:
            found += f" it took {seconds:.1f} s"
        found += " ".join(self.watch.seen)
        self.watch.seen.clear()
        if found:
            self.wrong.append(f"{name}: {found}")

    def look(self, thing: Any, untouched: bool) -> str:
        """What is wrong with what was loaded."""
        try:
            if print_of(thing) == self.original:
                self.same += 1
                return ""
            self.loaded += 1
            check(thing, self.path)
        except Exception as error:
            return f"loaded, then {type(error).__name__}: {str(error)[:200]}"
        return "a change went unnoticed" if untouched and self.form.sealed else ""


def main(kind: str, seed: str, count: str, folder: str) -> None:
    limit_memory()
    found = Trial(FORMATS[kind], Path(folder)).run(int(seed), int(count))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
