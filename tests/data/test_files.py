"""Data from CSV, NPZ and IDX files.

By all their names, compressed or not, and everything that can be wrong.
"""

import gzip
import io
import pickle
import struct
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.base.limits import LIMIT, Budget
from scalarviz.data import table_files
from scalarviz.data.digits import IMAGES, read_folder, read_idx
from scalarviz.errors import (
    InputError,
    NotFiniteError,
    ScalarvizError,
    ShapeError,
    UnknownNameError,
)
from tests.machine import traced_memory
from tests.wording import refused

X, Y = np.arange(6.0).reshape(3, 2), np.array([[1.0], [0.5], [0.0]])


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """written(content): the path of a file with this text or these bytes."""

    def write(content: str | bytes, name: str = "some.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def rows(known: data.Arrays) -> Any:
    """Inputs and targets, side by side."""
    return np.hstack(known.training).tolist()


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n0,1,2\n3,4,5\n",
        "0,1,2\n3,4,5",
        "a;b;c\r\n0;1;2\r\n3;4;5\r\n",
        "a\tb,\tc\n0\t1\t2\n3\t4\t5\n",
        "\ufeff a , b,c\n\n 0, 1 ,2\n3,4,5e0\n \n",
        '"a, with a comma",b,c\n"0",1,2\n3,4,5\n',
        "\ufeff0,1,2\n3,4,5",
        "\n\na;b;c\n0;1;2\n3;4;5",
    ],
)
def test_a_table_of_text_is_read(written: Any, text: str) -> None:
    known = data.from_csv(written(text))
    assert rows(known) == [[0, 1, 2], [3, 4, 5]]
    assert (known.inputs, known.outputs) == (2, 1)
    assert repr(known).startswith("Arrays(source='some.csv',")


def test_names_in_line_1_are_those_of_the_inputs(written: Any) -> None:
    path = written("length, width,kind\n1,2,0\n3,4,1\n")
    known = data.from_csv(path, targets="kind")
    assert list(known.input_names) == ["length", "width"]
    assert list(data.from_csv(path, inputs=["width"]).input_names) == ["width"]
    assert list(known.with_classes(2, 2).input_names) == ["length", "width"]
    assert list(data.remake(known.name, known.settings()).input_names) == ["length", "width"]
    assert not data.from_csv(written("1,2\n")).input_names


def test_a_share_of_a_file_is_held_out(written: Any) -> None:
    known = data.from_csv(written("1,2\n" * 10), share=0.8, order="picked")
    assert known.held_out is not None
    assert (known.samples, len(known.held_out[0]), known.order) == (8, 2, "picked")


GAPS = "a,b,other,kind\n1,2,,x\n,3,5,y\n3,NA,5,x\n4,5,5, ? \n5,6,?,y\nNaN,6,5,y\n6,nan,5,y\n"


def test_lines_with_missing_cells_are_dropped_if_that_is_wanted(
    written: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        table = data.from_csv(written(GAPS), ["a", "b"], "kind", missing="drop")
    assert table.training[0].tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert table.output_names == ["x", "y"] and table.training[1].ravel().tolist() == [0.0, 1.0]
    assert [each.endswith(": 5") for each in caplog.messages] == [True]
    caplog.clear()
    whole = data.from_csv(written("a,b\n1,2\n3,4\n"), missing="drop")
    assert len(whole.training[0]) == 2 and not caplog.messages


def test_a_column_without_a_name_is_no_input_unless_it_is_asked_for(
    written: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(",a,b,kind\n0,1.5,2,0\n1,3,4,1\n")  # as pandas writes a table with its index
    with caplog.at_level("INFO"):
        table = data.from_csv(path, targets="kind")
    assert table.training[0].tolist() == [[1.5, 2.0], [3.0, 4.0]] and table.input_names == [
        "a",
        "b",
    ]
    assert ["without a name" in each and "0;" in each for each in caplog.messages] == [True]
    caplog.clear()
    assert data.from_csv(path, [0, "a"], "kind").training[0].tolist() == [[0.0, 1.5], [1.0, 3.0]]
    plain = data.from_csv(written("0,1.5,2,0\n1,3,4,1\n"))  # no names at all
    assert plain.training[0].shape == (2, 3)
    assert [each.partition(": ")[2] for each in caplog.messages] == [
        "columns '' and 'kind' are the same", "columns 0 and 3 are the same",
    ]  # fmt: skip


def test_columns_that_count_the_lines_or_repeat_another_are_named(
    written: Any, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [f"{i},{i % 3},{2 * i},{i % 3},7,7" for i in range(9)]
    with caplog.at_level("INFO"):
        table = data.from_csv(written("\n".join(["id,a,b,c,d,e", *lines])), targets="c")
    assert table.inputs == 5
    assert [each.partition(": ")[2] for each in caplog.messages] == [
        "column 'id' numbers the lines: leave it out", "columns 'a' and 'c' are the same",
    ]  # fmt: skip


def test_a_column_of_weights_may_count_the_lines(
    written: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = written("w,a,b\n1,1,0\n2,1,1\n3,0,0\n")
    with caplog.at_level("INFO"):
        assert data.from_csv(path, weights="w").weights.tolist() == [1.0, 2.0, 3.0]
        assert not caplog.messages
        data.from_csv(path)
    assert ["'w' numbers the lines" in each for each in caplog.messages] == [True]


LIKE_NAMES = {
    "years": "2020,2021,kind\n1.5,2,x\n2.5,3,y\n1,2,x\n",
    "as pandas names columns": "0,1,2,kind\n5.1,3.5,1.4,a\n4.9,3.0,1.4,a\n6.1,2.8,4.7,b\n",
}
LIKE_SAMPLES = {
    "a class that comes again": "1,2,x\n1.5,2,y\n2.5,3,x\n1,2,y\n",
    "numbers that do not count up": "5.1,3.5,z\n1.5,2,x\n2.5,3,y\n1,2,x\n",
    "each class once": "1,2,x\n3,5,y\n7,6,z\n",
    "a single input": "1,x\n2,y\n3.5,y\n",
    "no classes": "1,2,3\n1.5,2,4\n2.5,3,4\n",
    "names": "a,b,kind\n1,2,x\n1.5,2,y\n2.5,3,y\n",
}


@pytest.mark.parametrize("name", [*LIKE_NAMES, *LIKE_SAMPLES])
def test_line_1_is_asked_about_if_it_is_likely_to_hold_names(
    written: Any, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    path = written((LIKE_NAMES | LIKE_SAMPLES)[name])
    with caplog.at_level("INFO"):
        table = data.from_csv(path)
    assert any("header=True" in each for each in caplog.messages) == (name in LIKE_NAMES)
    caplog.clear()
    if name in LIKE_NAMES:
        named = data.from_csv(path, header=True)
        assert named.samples == table.samples - 1
        assert data.from_csv(path, header=False).samples == table.samples
        assert not caplog.messages


def test_names_of_a_header_of_numbers_are_asked_for(written: Any) -> None:
    path = written("0,1,y\n1,2,3\n4,5,7\n")  # as pandas writes an array
    refused(InputError, "'y'", "header=True").by(data.from_csv, path, targets="y")
    table = data.from_csv(path, targets="y", header=True)
    assert (list(table.input_names), table.samples) == (["0", "1"], 2)


THREE = "a,b,c\n0,1,2\n-3,4,5\n"


@pytest.mark.parametrize(
    ("text", "options", "error", "value"),
    [
        ("", {}, InputError, "some.csv"),
        ("\n \n", {}, InputError, "some.csv"),
        ("a,b\n", {}, InputError, "no samples"),
        ("a,b\n1,2\n\n3,x\n", {}, InputError, "'x'"),
        ("1,\n", {}, InputError, "line 1, column 2"),
        ("1,2\n1_000,2\n", {}, InputError, "'1_000'"),
        ("1;2\n1,5;2\n", {}, InputError, "'1,5'"),
        ("1,2\nNaN,2\n", {}, InputError, "column 1: 'NaN' marks"),
        ("1,2\ninf,2\n", {}, NotFiniteError, "column 1: inf"),
        ("1,2\n1,-1e999\n", {}, NotFiniteError, "column 2: -1e999"),
        ("1,2\n1,2,3\n", {}, ShapeError, "3 cells"),
        ("1\n2\n", {}, InputError, "1 column"),
        ('a,b\n"1,2\n', {}, InputError, "unexpected end"),
        ('a,b\n"' + "1" * 200_000 + '",2\n', {}, InputError, "field larger"),
        (b"\xff\xfe1\x00", {}, InputError, "UTF-8"),
        (b"a,b\n" + b"1,2\n" * 9000 + b"\xff", {}, InputError, "UTF-8"),
        (b"1,\x00\n", {}, InputError, "'\\x00'"),
        # Neither a name nor a number.
        ("1,a\n2,3\n", {}, InputError, "line 2, column 2: '3'"),
        ("1,a\n2,\n", {}, InputError, "line 2, column 2: the cell is empty"),
        ("1,a\n2,NA\n", {}, InputError, "line 2, column 2: 'NA' marks a missing name"),
        ("1,7\n2,b\n", {}, InputError, "line 2, column 2: 'b'"),
        ("x,1,5\n,2,6\n", {}, InputError, "line 1, column 1: 'x'"),
        ("1,5%\n", {}, InputError, "line 1, column 2: '5%'"),
        ("1;1,5\n", {}, InputError, "line 1, column 2: '1,5'"),
        ("NA,1\n", {}, InputError, "line 1, column 1: 'NA'"),
        (",1\n", {}, InputError, "line 1, column 1"),
        ("1,a,b\n", {"targets": [1, 2]}, InputError, "line 1, column 2: 'a'"),
        # Missing cells; a line that is too short is damaged, and lacks no number.
        (GAPS, {"inputs": ["a", "b"], "targets": "kind"}, InputError, "line 3, column 1"),
        (GAPS, {"missing": "skip"}, UnknownNameError, "'skip'"),
        ("a,b\n1,\n", {"missing": "drop"}, InputError, "no samples"),
        ("a,b\n1,2\n3\n", {"missing": "drop"}, ShapeError, "1 cells"),
        # The choice of columns.
        (THREE, {"inputs": "height", "targets": "b"}, UnknownNameError, "'height'"),
        (THREE, {"inputs": 3, "targets": "b"}, InputError, "no column 3"),
        (THREE, {"inputs": ["a", "b"], "targets": "b"}, InputError, "column 1"),
        (THREE, {"inputs": [], "targets": "b"}, InputError, "0 would be inputs"),
        (THREE, {"inputs": 1.5, "targets": "b"}, InputError, "1.5"),
        (THREE, {"inputs": [True], "targets": "b"}, UnknownNameError, "True"),
        (THREE, {"weights": ["a", "b"]}, InputError, "['a', 'b']"),
        (THREE, {"targets": "c", "weights": "c"}, InputError, "column 2"),
        (THREE, {"weights": "a"}, InputError, "1e-30"),
    ],
)
def test_a_bad_table_of_text_is_one_sentence(
    written: Any,
    text: str | bytes,
    options: dict[str, Any],
    error: type[Exception],
    value: str,
) -> None:
    said = refused(error, value).by(data.from_csv, written(text), **options)
    assert "\n" not in str(said)


def test_of_columns_with_one_name_none_is_taken_by_it(written: Any) -> None:
    path = written("a,a,b\n0,1,2\n")
    refused(InputError, "several columns 'a'").by(data.from_csv, path, targets="a")
    assert data.from_csv(path, targets=1).training[1].tolist() == [[1.0]]


READERS = data.from_csv, data.from_npz, data.Texture


@pytest.mark.parametrize("read", READERS)
def test_a_path_must_lead_to_a_file(read: Any, tmp_path: Path) -> None:
    refused(InputError, "x'").by(read, str(tmp_path / "x"))
    refused(InputError, "a folder").by(read, tmp_path)
    refused(InputError, r"'a\x00b'").by(read, "a\0b")


@pytest.mark.parametrize("read", [*READERS, partial(read_idx, dimensions=IMAGES, budget=Budget())])
def test_a_huge_file_is_not_read(read: Any, tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(LIMIT + 1)  # a hole, so that it takes no room
    refused(InputError, "huge").by(read, tmp_path / "huge")


def test_a_path_is_a_text() -> None:
    refused(InputError, "3").by(data.from_csv, 3)


@pytest.mark.parametrize(
    "arrays",
    [
        {"inputs": X, "targets": Y},
        {"x": X, "y": Y, "z": np.zeros(3)},
        {"inputs": X.astype(np.int16), "targets": (2 * Y).astype(np.float32) / 2},
        {"inputs": np.asfortranarray(X), "targets": Y[:, 0]},
        {"inputs": X.astype(">f8"), "targets": Y},
    ],
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read(tmp_path: Path, arrays: dict[str, np.ndarray], save: Any) -> None:
    save(tmp_path / "a.npz", **arrays)
    assert rows(data.from_npz(tmp_path / "a.npz")) == np.hstack([X, Y]).tolist()


@pytest.mark.parametrize("order", ["shuffled", "in_order", "picked"])
def test_arrays_are_visited_in_the_order_that_was_chosen(tmp_path: Path, order: str) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    read, known = data.from_npz(tmp_path / "a.npz", order=order), data.Arrays(X, Y, order=order)
    for step in range(4):
        np.testing.assert_array_equal(
            read.batches(1, 3).at(step)[0], known.batches(1, 3).at(step)[0]
        )


@pytest.mark.parametrize(
    ("arrays", "error", "value"),
    [
        (
            {"inputs": X},
            UnknownNameError,
            "'targets'",
        ),
        ({}, UnknownNameError, "'inputs'"),
        ({"x": X, "y": Y[:2]}, ShapeError, "3 rows"),
        ({"x": X[0], "y": Y}, ShapeError, "(2,)"),
        ({"x": X * np.nan, "y": Y}, NotFiniteError, "nan at row 0, column 0"),
        ({"x": X * 1j, "y": Y}, InputError, "complex128"),
        ({"x": X.astype(str), "y": Y}, InputError, "<U"),
        ({"x": np.zeros(3, [("a", "f8")]), "y": Y}, InputError, "[('a', '<f8')]"),
        ({"x": np.zeros((0, 2)), "y": Y}, ShapeError, "(0, 2)"),
    ],
)
def test_bad_arrays_are_one_sentence(
    tmp_path: Path, arrays: dict[str, np.ndarray], error: type[Exception], value: str
) -> None:
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]  # of many types
    refused(error, value).by(data.from_npz, tmp_path / "a.npz")


class Trap:
    """Unpickling this would run code."""

    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("code of the file ran",)


def test_loading_runs_no_code(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", inputs=np.array([[Trap()]], dtype=object), targets=Y)
    refused(InputError, "object").by(data.from_npz, tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Trap()))
    refused(InputError, "b.npz").by(data.from_npz, tmp_path / "b.npz")


def npz(header: bytes, content: bytes) -> bytes:
    """An NPZ file whose arrays have this header, true or not."""
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("x.npy", "y.npy"):
            archive.writestr(name, member)
    return file.getvalue()


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 2), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 1), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }" + b"(" * 9000,
        b"__import__('os').getpid()",
        b"",
    ],
)
def test_a_header_that_lies_does_no_harm(written: Any, header: bytes) -> None:
    refused(InputError, "damaged").by(data.from_npz, written(npz(header, b"12345678"), "a.npz"))


def test_arrays_are_weighed_as_the_numbers_that_they_become(written: Any) -> None:
    header = b"{'descr': '|b1', 'fortran_order': False, 'shape': (262144, 1), }"
    bomb = written(npz(header, bytes(2**18)), "a.npz")
    assert bomb.stat().st_size < 10_000
    refused(InputError, "x.npy in a.npz").by(data.from_npz, bomb, limit=2**20)
    refused(InputError, "4.0 MB in all").by(data.from_npz, bomb, limit=2**22 - 1)
    assert data.from_npz(bomb, limit=2**22).samples == 2**18


def test_a_table_of_text_is_weighed_while_it_is_read(written: Any) -> None:
    path = written("1,2\n" * 1000)
    refused(InputError, "some.csv", varies=r"line \d+|\d+$").by(data.from_csv, path, limit=10_000)
    assert data.from_csv(path, limit=16_000).samples == 1000


@pytest.mark.slow
def test_a_column_is_found_quickly_among_very_many(written: Any) -> None:
    names = [f"c{i}" for i in range(300_000)]
    path = written(",".join([*names, "c7"]) + "\n" + ",".join("1" * 300_001) + "\n")
    began = process_time()
    known = data.from_csv(path, targets=names[100:200_000:2])
    assert data.from_csv(path, inputs="c8", targets="c9").inputs == 1
    assert process_time() - began < 60.0  # one search for each name would take hours
    assert known.inputs == 300_001 - len(names[100:200_000:2])


def test_a_line_without_an_end_is_not_read(written: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "LONGEST_LINE", 1000)
    for text in ("1," * 1000, '"' + '\n","' * 1000, "\n" * 10 + "1" * 1001):
        refused(InputError, "1,000 letters").by(data.from_csv, written(text))
    assert data.from_csv(written("1,2\n" * 1000)).samples == 1000
    assert data.from_csv(written("1,2\n" + "\n" * 3000 + "1,2\n")).samples == 2


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_numpy_does_not_compress_so_is_refused(tmp_path: Path, kind: int) -> None:
    np.savez(tmp_path / "a.npz", x=X, y=Y)
    with (
        zipfile.ZipFile(tmp_path / "a.npz") as a,
        zipfile.ZipFile(tmp_path / "b.npz", "w", kind) as b,
    ):
        for name in a.namelist():
            b.writestr(name, a.read(name))
    refused(InputError, "x.npy in b.npz").by(data.from_npz, tmp_path / "b.npz")


def test_an_archive_of_very_many_members_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for i in range(20_000):
            archive.writestr(f"inputs {i}", b"")
    refused(InputError, "a.npz").by(data.from_npz, tmp_path / "a.npz")


def damaged(content: bytes) -> Iterator[bytes]:
    """A file that ends too early, and with one bit changed, here and there."""
    yield from (content[:length] for length in range(0, len(content), 3))
    for place in range(0, len(content), 2):
        flipped = bytearray(content)
        flipped[place] ^= 1 << place % 8
        yield bytes(flipped)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_damaged_arrays_are_one_sentence_or_unharmed(written: Any, save: Any) -> None:
    whole = io.BytesIO()
    save(whole, inputs=X, targets=Y)
    content = whole.getvalue()
    for broken in damaged(content):
        try:
            known = data.from_npz(written(broken, "a.npz"))
        except ScalarvizError as error:
            message = str(error)
        else:
            assert rows(known) == np.hstack([X, Y]).tolist()
            message = "a.npz"
        assert "a.npz" in message


def test_a_file_is_closed_where_a_line_of_it_is_refused(
    written: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    plain = Path.open

    def noted(self: Path, *words: Any, **named: Any) -> Any:
        opened.append(plain(self, *words, **named))
        return opened[-1]

    path = Path(written("a,b\n1,2\n3\n"))
    monkeypatch.setattr(Path, "open", noted)
    error = refused(ShapeError, "line 3").by(data.from_csv, path)
    assert error.__traceback__ is not None  # it holds what was read with
    assert all(file.closed for file in opened if file.name == str(path))


PIXELS = np.random.default_rng(0).integers(0, 256, (7, 5, 4), dtype=np.uint8)
NAMED = np.array([3, 0, 9, 1, 1, 8, 5], np.uint8)


def idx(array: np.ndarray, magic: bytes = b"\0\0\x08") -> bytes:
    """An array of bytes as it stands in such a file."""
    shape = struct.pack(f">{array.ndim}I", *array.shape)
    return magic + bytes([array.ndim]) + shape + array.tobytes()


def mnist(
    folder: Path, part: str, pictures: np.ndarray, labels: np.ndarray, dot: str = "-", end: str = ""
) -> None:
    """Both files of a part of MNIST."""
    pack: Any = gzip.compress if end else bytes
    (folder / f"{part}-images{dot}idx3-ubyte{end}").write_bytes(pack(idx(pictures)))
    (folder / f"{part}-labels{dot}idx1-ubyte{end}").write_bytes(pack(idx(labels)))


@pytest.mark.parametrize("end", ["", ".gz"])
@pytest.mark.parametrize("dot", ["-", "."])
def test_a_folder_is_read_by_any_of_the_names(tmp_path: Path, dot: str, end: str) -> None:
    mnist(tmp_path, "train", PIXELS, NAMED, dot, end)
    pictures, labels, tests = read_folder(tmp_path)
    assert (pictures == PIXELS).all() and (labels == NAMED).all() and tests == 0
    mnist(tmp_path, "t10k", PIXELS[:2] // 2, NAMED[:2], dot, end)
    pictures, labels, tests = read_folder(str(tmp_path))
    assert (pictures[7:] == PIXELS[:2] // 2).all() and len(labels) == 9 and tests == 2


@pytest.mark.parametrize(("name", "pack"), [("unpacked.gz", bytes), ("packed", gzip.compress)])
def test_what_is_compressed_is_known_by_its_bytes_and_not_by_its_name(
    written: Any, name: str, pack: Any
) -> None:
    assert (read_idx(written(pack(idx(PIXELS)), name), IMAGES, Budget()) == PIXELS).all()


def test_digits_of_a_folder_are_made_again_without_it(tmp_path: Path) -> None:
    mnist(tmp_path, "train", PIXELS, NAMED)
    digits = data.Digits(tmp_path, held_out=0.3, seed=4)
    for path in tmp_path.iterdir():
        path.unlink()
    again = data.remake("digits", digits.settings())
    for one, other in zip(digits.training, again.training, strict=True):
        assert one.tobytes() == other.tobytes()
    assert digits.held_out is not None and len(digits.held_out[0]) == 2


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (b"", "begins with nothing"),
        (idx(NAMED), "00 00 08 01"),
        (idx(PIXELS, b"\0\0\x0d"), "00 00 0d 03"),
        (b"\x89PNG" + idx(PIXELS), "89 50 4e 47"),
        (idx(PIXELS)[:9], "within its header"),
        (idx(PIXELS)[:-1], "fewer than the 140"),
        (idx(PIXELS) + b"x", "more than the 140"),
        (idx(PIXELS[:0]), "(0, 5, 4)"),
        (idx(PIXELS)[:4] + struct.pack(">3I", 2**31, 2**31, 2), "9,223,372,036,854,775,808"),
        (idx(PIXELS)[:4] + struct.pack(">3I", 2**20, 16, 16), "268,435,456 numbers"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "zipped"])
def test_a_bad_file_is_one_sentence(tmp_path: Path, content: bytes, value: str, pack: Any) -> None:
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(pack(content))
    with traced_memory() as memory:
        refused(InputError, value).by(read_idx, path, IMAGES, Budget())
        assert memory()[1] < 2**20


def test_what_is_compressed_and_cut_short_or_changed_is_refused(tmp_path: Path) -> None:
    path, whole = tmp_path / "pictures.gz", bytearray(gzip.compress(idx(PIXELS)))
    changed = whole.copy()
    changed[-6] ^= 1  # of the checksum
    for content in (whole[:-20], whole[:12], changed):
        path.write_bytes(content)
        refused(InputError, "pictures.gz").by(read_idx, path, IMAGES, Budget())


def test_a_small_file_that_unpacks_to_a_large_one_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(idx(PIXELS) + bytes(2**26)))
    assert path.stat().st_size < 2**17
    with traced_memory() as memory:
        refused(InputError, "140 numbers").by(read_idx, path, IMAGES, Budget())
        assert memory()[1] < 2**20


def test_pictures_and_labels_must_belong_together(tmp_path: Path) -> None:
    mnist(tmp_path, "train", PIXELS, NAMED[:6])
    refused(ShapeError, "6 labels").by(read_folder, tmp_path)
    mnist(tmp_path, "train", PIXELS, np.where(NAMED == 8, 12, NAMED).astype(np.uint8))
    refused(InputError, "label 12").by(read_folder, tmp_path)
    mnist(tmp_path, "train", PIXELS, NAMED)
    mnist(tmp_path, "t10k", PIXELS[:, :4], NAMED)
    refused(ShapeError, "4 x 5").by(read_folder, tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    refused(InputError, "train-labels-idx1-ubyte").by(read_folder, tmp_path)


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    refused(InputError, "train-images-idx3-ubyte").by(read_folder, tmp_path)
    refused(InputError, "nowhere'").by(read_folder, tmp_path / "nowhere")
    refused(InputError, "3").by(read_folder, 3)
