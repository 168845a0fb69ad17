"""The file format.

What is written comes back, replaces a file whole or not at all, and shows its progress.
"""

import hashlib
import json
import os
import random
import re
import signal
import stat
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

import scalarviz as sv
from scalarviz import data
from scalarviz.base import progress
from scalarviz.base.progress import Progress
from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.files import atomic, checked_safetensors
from scalarviz.files.atomic import check_place, replace_file
from scalarviz.files.checked_safetensors import encode, read, write
from tests.base.test_progress import REMOVED, Clock, Tty, clock, tty
from tests.machine import output_of
from tests.wording import refused

DESCRIPTION: dict[str, Any] = {"text": 'é "quoted" \\ \n', "tiny": 5e-324, "nested": [{"a": None}]}
ARRAYS = {
    "uint8": np.arange(5, dtype=np.uint8),
    "int64": np.array([[-(2**63), 2**63 - 1]]),
    "float32": np.array([0.1, -0.0, np.nan, np.inf, 1e-45], np.float32),
    "float64": np.arange(24.0).reshape(2, 3, 4),
    "bool": np.array([True, False, True]),
    "no numbers": np.zeros((0, 3), np.float32),
    "one number": np.array(2.5),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.safetensors"


def message_of(path: Path, data: bytes | bytearray, kind: str = "network") -> str:
    """The message of the error that these bytes are refused with."""
    path.write_bytes(data)
    with pytest.raises(FileError) as caught:
        read(path, kind)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def test_description_and_arrays_come_back_bit_for_bit(path: Path) -> None:
    write(path, "run", DESCRIPTION, ARRAYS)
    description, arrays = read(path, "run")
    assert description == DESCRIPTION
    assert set(arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        assert (arrays[name].dtype, arrays[name].shape) == (array.dtype, array.shape)
        assert arrays[name].tobytes() == array.tobytes()
        assert arrays[name].flags.writeable


def test_arrays_in_any_order_of_memory_travel(path: Path) -> None:
    table = np.arange(12.0).reshape(3, 4)
    write(path, "run", {}, {"a": table.T, "b": table[::2, ::-1], "c": table.astype(">f8")})
    _, arrays = read(path, "run")
    np.testing.assert_array_equal(arrays["a"], table.T)
    np.testing.assert_array_equal(arrays["b"], table[::2, ::-1])
    np.testing.assert_array_equal(arrays["c"], table)


def test_the_same_content_gives_the_same_bytes() -> None:
    assert encode("run", DESCRIPTION, ARRAYS) == encode("run", DESCRIPTION, ARRAYS)


def test_every_reader_of_safetensors_sees_the_arrays(path: Path) -> None:
    write(path, "run", DESCRIPTION, ARRAYS)
    with safe_open(path, framework="np") as file:
        assert set(file.keys()) == set(ARRAYS)
        np.testing.assert_array_equal(file.get_tensor("float64"), ARRAYS["float64"])
        assert json.loads(file.metadata()["scalarviz"])["version"] == checked_safetensors.VERSION


def test_one_changed_byte_anywhere_is_noticed(path: Path) -> None:
    data = encode("network", {"a": [1.5]}, {"value": np.arange(3.0), "mask": np.ones(2, bool)})
    chance = random.Random(0)
    for place in range(len(data)):
        for change in {32, chance.randrange(1, 256)}:
            changed = data.copy()
            changed[place] ^= change
            message_of(path, changed)


def test_a_file_that_was_cut_short_is_refused_at_every_length(path: Path) -> None:
    data = encode("network", {}, {"value": np.arange(3.0)})
    for length in range(len(data)):
        message_of(path, data[:length])
    message_of(path, data + b"\0")


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(tmp_path_factory: Any, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any bytes"
    message_of(path, data)
    message_of(path, struct.pack("<Q", len(data)) + data)


def test_a_newer_version_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked_safetensors, "VERSION", 7)
    data = encode("network", {}, {})
    monkeypatch.undo()
    assert "newer scalarviz, in format version 7" in message_of(path, data)


def test_another_kind_says_which(path: Path) -> None:
    message = message_of(path, encode("run", {}, {}))
    assert message.endswith("holds a run, not a network: read it with sv.Session.load(path)")
    other = encode("run", {}, {}).replace(b'\\"kind\\":\\"run\\"', b'\\"kind\\":\\"fun\\"')
    place = checked_safetensors.place_of_checksum(other)
    other[place] = b"0" * 64
    other[place] = hashlib.sha256(other).hexdigest().encode()
    assert "holds a fun, not a network: pass the path of a network" in message_of(path, other)


def test_a_safetensors_file_of_somebody_else_says_so(path: Path) -> None:
    arrays = {"a": np.zeros(3)}
    assert "not from scalarviz" in message_of(path, save(arrays))
    assert "not from scalarviz" in message_of(path, save(arrays, {"format": "pt"}))


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    refused(FileError, "nowhere").by(read, tmp_path / "nowhere", "network")
    refused(FileError, "'tmp_path'").by(read, tmp_path, "network")
    refused(InputError, "3").by(read, 3, "network")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are as on Unix")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(FileError, "'tmp_path/pipe'").by(read, tmp_path / "pipe", "network")


def test_a_file_that_may_not_be_read_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, "network", {}, {})

    monkeypatch.setattr(Path, "open", Mock(side_effect=PermissionError(13, "Permission denied")))
    refused(FileError, "Permission denied").by(read, path, "network")


def test_a_file_that_is_larger_than_the_memory_is_not_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, "network", {}, {"a": np.zeros(100)})
    monkeypatch.setattr(checked_safetensors, "memory_size", lambda: 2 * path.stat().st_size)
    refused(FileError, "some.safetensors").by(read, path, "network")


# ---- hostile files, with a right checksum -------------------------------------------------------


def signed(header: str, body: bytes = b"", description: str = "{}") -> bytearray:
    """A file with this header, in which ABOUT stands for the beginning of a right one."""
    about = r'"__metadata__":{"scalarviz":"{\"checksum\":\"' + checked_safetensors.NO_CHECKSUM
    about += r"\",\"version\":1,\"kind\":\"network\",\"description\":"
    about += json.dumps(description)[1:-1] + '}"}'
    head = header.replace("ABOUT", about).encode()
    data = bytearray(struct.pack("<Q", len(head)) + head + body)
    place = checked_safetensors.place_of_checksum(data)
    data[place] = checked_safetensors.hashlib.sha256(data).hexdigest().encode()
    return data


def array(name: str, dtype: str, shape: list[int], begin: int, end: int) -> str:
    about = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    return f"{json.dumps(name)}:{json.dumps(about)}"


def test_what_the_hostile_files_are_made_of_is_a_right_file(path: Path) -> None:
    path.write_bytes(signed("{ABOUT," + array("a", "F64", [1], 0, 8) + "}", bytes(8)))
    assert read(path, "network")[1] == {"a": np.zeros(1)}


EIGHT = array("a", "F64", [1], 0, 8)


@pytest.mark.parametrize(
    ("arrays", "size"),
    [
        (EIGHT + "," + array("b", "F64", [1], 4, 12), 12),  # one over the other
        (EIGHT + "," + array("b", "F64", [1], 0, 8), 8),
        (array("a", "F64", [1], 8, 16), 16),  # a hole
        (array("a", "F64", [2], 0, 8), 8),  # a shape that does not fit
        (array("a", "F64", [2**61 + 1], 0, 8), 8),
        (array("a", "F64", [2**32, 2**32], 0, 0), 0),
        (array("a", "F64", [0] + [2**40] * 3, 0, 0), 0),
        (array("a", "U8", [1] * 100, 0, 1), 1),
        (array("a", "F64", [-1], 0, 8), 8),
        (array("a", "F64", [1], 0, 2**63), 8),
        (array("a", "BF16", [4], 0, 8), 8),  # types that do not travel
        (array("a", "F8_E4M3", [8], 0, 8), 8),
        (array("a", "U64", [1], 0, 8), 8),
        (array("a", "no type", [1], 0, 8), 8),
        ('"a":{"dtype":"F64","shape":[NaN],"data_offsets":[0,8]}', 8),
        ('"a":{}', 8),
        ('"a":1', 8),
        ('"a":' + "[" * 100_000 + "]" * 100_000, 8),  # deep
        ('"a":1' + "0" * 10_000, 8),
        ("", 0),  # no JSON
    ],
)
def test_arrays_that_cannot_be_are_refused(arrays: str, size: int, path: Path) -> None:
    message_of(path, signed("{ABOUT," + arrays + "}", bytes(size)))


def test_a_truth_that_is_neither_true_nor_false_is_refused(path: Path) -> None:
    data = signed("{ABOUT," + array("a", "BOOL", [2], 0, 2) + "}", b"\1\2")
    assert "other than true and false" in message_of(path, data)


ODD = (
    "1",
    "[]",
    "{}",
    '{"checksum":1}',
    '{"checksum":"","version":true,"kind":"network","description":{}}',
    '{"checksum":"","version":0,"kind":"network","description":{}}',
    '{"checksum":"","version":"1","kind":"network","description":{}}',
    '{"checksum":"","version":NaN}',
    '{"checksum":"","version":1,"kind":"network","description":' + "[" * 99_999,
)


@pytest.mark.parametrize(
    "data",
    [
        *[save({"a": np.zeros(1)}, {"scalarviz": about}) for about in ODD],
        *[
            struct.pack("<Q", length) + b'{"__metadata__":{}}'
            for length in (0, 1, 2**24 + 1, 2**31, 2**63, 2**64 - 1)
        ],
    ],
)
def test_metadata_that_cannot_be_or_is_not_there_is_refused(data: bytes, path: Path) -> None:
    message_of(path, data)


@pytest.mark.parametrize(
    ("description", "said"),
    [
        *[(each, "it has no description") for each in ("1", "[]", '"text"', "null")],
        *[
            (f'{{"a":{number}}}', "is damaged or not a scalarviz file")
            for number in ("NaN", "Infinity", "-Infinity")
        ],
    ],
)
def test_a_description_of_another_form_is_refused(description: str, said: str, path: Path) -> None:
    assert said in message_of(path, signed("{ABOUT}", description=description))


def test_a_large_file_of_another_kind_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 2) + b"{}")
        file.truncate(2**40)  # a terabyte, of which the disk holds nothing
    refused(FileError, "some.safetensors").by(read, path, "network")


def test_what_cannot_be_read_back_is_not_written(path: Path) -> None:
    refused(InputError, "float16").by(write, path, "run", {}, {"a": np.zeros(1, np.float16)})
    refused(InputError, "object").by(write, path, "run", {}, {"a": np.array([None])})
    refused(ScalarvizError, "'net'").by(write, path, "net", {}, {})
    with pytest.raises(ValueError, match="JSON"):
        write(path, "run", {"a": float("nan")}, {})
    refused(InputError, "bytes").by(
        write, path, "run", {"a": "x" * checked_safetensors.LARGEST_HEADER}, {}
    )
    assert not path.exists()


on_posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links are as on Unix")


def test_a_file_is_written_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a file, näme.bin"
    replace_file(path, b"old")
    replace_file(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_in_the_middle_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    replace_file(path, b"old")

    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    refused(FileError, "No space left on device").by(replace_file, path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@on_posix
def test_permissions_are_kept(path: Path) -> None:
    replace_file(path, b"old")
    for permissions in (0o640, 0o666):  # less than a new file has, and more
        path.chmod(permissions)
        replace_file(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == permissions


@on_posix
def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@on_posix
def test_a_file_that_says_it_may_not_be_written_stays(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    refused(FileError, path).by(replace_file, path, b"new")
    assert path.read_bytes() == b"old"


@on_posix
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused(FileError, "'tmp_path/pipe'").by(replace_file, tmp_path / "pipe", b"")


@pytest.mark.parametrize("path", [None, 3, "", "a\0b", "a\ud800"])
def test_what_is_no_path_is_refused(path: object) -> None:
    refused(InputError, path).by(replace_file, path, b"")


def test_a_name_may_be_as_long_as_the_system_permits(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 240)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


@on_posix
@pytest.mark.parametrize("write", [check_place, lambda path: replace_file(path, b"new")])
@pytest.mark.parametrize("name", [f"{'a' * 300}.html", "loop.html", "ring/a.html", "d/" * 3000])
@on_posix
def test_names_that_the_system_does_not_take_are_file_errors(
    write: Callable[[Path], None], name: str, tmp_path: Path
) -> None:
    (tmp_path / "loop.html").symlink_to("loop.html")
    (tmp_path / "ring").symlink_to("gnir")
    (tmp_path / "gnir").symlink_to("ring")
    refused(FileError, name[-9:].strip("/"), varies=r"'[^']*'").by(write, tmp_path / name)


def test_many_can_save_to_one_place_at_once(tmp_path: Path, path: Path) -> None:
    contents = [bytes([i]) * 10_000 for i in range(8)]

    def save(content: bytes) -> None:
        for _ in range(20):
            replace_file(path, content)

    with ThreadPoolExecutor(len(contents)) as threads:
        list(threads.map(save, contents))  # any error comes out here
    assert path.read_bytes() in contents
    assert list(tmp_path.iterdir()) == [path]


# A process that saves for ever is killed at a random moment, again and again.
KILLS = """
import os, random, signal, sys, time
import numpy as np
from scalarviz.files.checked_safetensors import read, write

folder, kills = sys.argv[1], int(sys.argv[2])
path = os.path.join(folder, "net.safetensors")
arrays = [{"value": np.full(200_000, i, np.float64)} for i in range(2)]
chance = random.Random(0)
seen = set()
write(path, "network", {"i": 0}, arrays[0])
for _ in range(kills):
    child = os.fork()
    if not child:
        for i in range(10**9):
            write(path, "network", {"i": i}, arrays[i % 2])
    time.sleep(chance.uniform(0.002, 0.05))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    description, found = read(path, "network")
    assert (found["value"] == description["i"] % 2).all()
    seen.add(description["i"])
    write(path, "network", {"i": 0}, arrays[0])
print(len(seen))
"""


@pytest.mark.some(1)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as Unix does")
@pytest.mark.parametrize("kills", [10, pytest.param(100, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_leaves_a_whole_file(kills: int, tmp_path: Path) -> None:
    seen = int(output_of("-c", KILLS, str(tmp_path), str(kills)))
    assert seen > 1 or kills < 100  # at different moments


__all__ = ["clock", "tty"]  # fixtures

NET = sv.Network([2, 4, 1], "tanh", seed=0)


def saves_network(folder: Path, **options: Any) -> None:
    NET.save(folder / "net.safetensors", **options)
    assert sv.load(folder / "net.safetensors").bank.value.tolist() == NET.bank.value.tolist()


def saves_session(folder: Path, **options: Any) -> None:
    sv.Session(NET.copy(), data.Xor(), engine="python").save(folder / "run.safetensors", **options)
    assert sv.Session.load(folder / "run.safetensors").step_index == 0


def saves_onnx(folder: Path, **options: Any) -> None:
    pytest.importorskip("onnx", reason="needs the extra onnx")
    sv.onnx.save(NET, folder / "net.onnx", **options)
    assert sv.onnx.load(folder / "net.onnx").bank.value.tolist() == NET.bank.value.tolist()


SAVES = pytest.mark.parametrize("save", [saves_network, saves_session, saves_onnx])


@pytest.fixture
def _large_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files, as if each byte were a megabyte that is written by itself."""
    monkeypatch.setattr(atomic, "PIECE", 50)
    for module in (atomic, progress):
        monkeypatch.setattr(module, "MEGABYTE", 1)


@pytest.mark.usefixtures("_large_files")
@SAVES
def test_a_large_file_has_a_bar_while_it_is_written(
    save: Callable[..., None], tmp_path: Path, clock: Clock, tty: Tty
) -> None:
    clock.each = 1.0
    save(tmp_path)
    (file,) = tmp_path.iterdir()
    said = rf"saving: 100 of {file.stat().st_size:,} MB [━╺╸]+ +\d+% 50 MB/s"
    assert re.search(said, tty.words) and tty.getvalue().endswith(REMOVED)


@pytest.mark.usefixtures("_large_files")
@SAVES
def test_quick_saving_and_progress_false_show_nothing(
    save: Callable[..., None], tmp_path: Path, clock: Clock, tty: Tty
) -> None:
    save(tmp_path)
    clock.each = 1.0
    save(tmp_path, progress=False)
    with Progress(9, wanted=False):
        save(tmp_path)
    assert tty.getvalue() == ""
    refused(InputError, "progress must be True or False, not 'no'").by(
        save, tmp_path, progress="no"
    )


@pytest.mark.usefixtures("_large_files")
def test_ctrl_c_keeps_the_old_file_and_removes_the_bar(
    tmp_path: Path, clock: Clock, tty: Tty, monkeypatch: pytest.MonkeyPatch
) -> None:
    NET.save(path := tmp_path / "net.safetensors")
    before, tell, clock.each = path.read_bytes(), Progress.tell, 1.0

    def interrupted(self: Progress, done: int, loss: float = 0.0) -> None:
        tell(self, done, loss)
        if done >= 100:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "tell", interrupted)
    other = sv.Network([2, 4, 1], "tanh", seed=1)
    with pytest.raises(KeyboardInterrupt):
        other.save(path)
    assert "100 of" in tty.words and tty.getvalue().endswith(REMOVED)
    assert path.read_bytes() == before and [*tmp_path.iterdir()] == [path]
