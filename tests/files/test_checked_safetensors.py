"""The file format: what is written comes back, and nothing else is believed."""

import hashlib
import json
import os
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save

from scalarviz.errors import FileError, InputError, ScalarvizError
from scalarviz.files import checked_safetensors
from scalarviz.files.checked_safetensors import encode, read, write
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
    assert "newer scalarviz, in version 7 of the format" in message_of(path, data)


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
    with refused(FileError, "nowhere"):
        read(tmp_path / "nowhere", "network")
    with refused(FileError, "'tmp_path'"):
        read(tmp_path, "network")
    with refused(InputError, "3"):
        read(3, "network")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are as on Unix")
def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with refused(FileError, "'tmp_path/pipe'"):
        read(tmp_path / "pipe", "network")


def test_a_file_that_may_not_be_read_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, "network", {}, {})

    def closed(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", closed)
    with refused(FileError, "Permission denied"):
        read(path, "network")


def test_a_file_that_is_larger_than_the_memory_is_not_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, "network", {}, {"a": np.zeros(100)})
    monkeypatch.setattr(checked_safetensors, "memory_size", lambda: 2 * path.stat().st_size)
    with refused(FileError, "some.safetensors"):
        read(path, "network")


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
        (EIGHT + "," + EIGHT, 8),  # one name twice
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
    assert "more than true and false" in message_of(path, data)


@pytest.mark.parametrize(
    "about",
    [
        "1",
        "[]",
        "{}",
        '{"checksum":1}',
        '{"checksum":"","version":true,"kind":"network","description":{}}',
        '{"checksum":"","version":0,"kind":"network","description":{}}',
        '{"checksum":"","version":"1","kind":"network","description":{}}',
        '{"checksum":"","version":NaN}',
        '{"checksum":"","version":1,"version":1}',
        '{"checksum":"","version":1,"kind":"network","description":' + "[" * 99_999,
        '{"checksum":"","version":1,"kind":"network","description":{"a":1,"a":1}}',
    ],
)
def test_metadata_that_cannot_be_is_refused(about: str, path: Path) -> None:
    message_of(path, save({"a": np.zeros(1)}, {"scalarviz": about}))


@pytest.mark.parametrize("description", ["1", "[]", '"text"', "null"])
def test_a_description_that_is_no_object_is_refused(description: str, path: Path) -> None:
    assert "it has no description" in message_of(path, signed("{ABOUT}", description=description))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json_is_refused(number: str, path: Path) -> None:
    data = signed("{ABOUT}", description=f'{{"a":{number}}}')
    assert "is damaged, or no file of scalarviz" in message_of(path, data)


@pytest.mark.parametrize("length", [0, 1, 2**24 + 1, 2**31, 2**63, 2**64 - 1])
def test_a_header_of_any_length_is_read_only_if_it_is_there(length: int, path: Path) -> None:
    message_of(path, struct.pack("<Q", length) + b'{"__metadata__":{}}')


def test_a_large_file_of_another_kind_is_not_read(path: Path) -> None:
    with path.open("wb") as file:
        file.write(struct.pack("<Q", 2) + b"{}")
        file.truncate(2**40)  # a terabyte, of which the disk holds nothing
    with refused(FileError, "some.safetensors"):
        read(path, "network")


def test_what_cannot_be_read_back_is_not_written(path: Path) -> None:
    with refused(InputError, "float16"):
        write(path, "run", {}, {"a": np.zeros(1, np.float16)})
    with refused(InputError, "object"):
        write(path, "run", {}, {"a": np.array([None])})
    with refused(ScalarvizError, "'net'"):
        write(path, "net", {}, {})
    with pytest.raises(ValueError, match="JSON"):
        write(path, "run", {"a": float("nan")}, {})
    with refused(InputError, "bytes"):
        write(path, "run", {"a": "x" * checked_safetensors.LARGEST_HEADER}, {})
    assert not path.exists()
