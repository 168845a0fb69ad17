"""IDX files, made here: by all their names, compressed or not, and everything that can be wrong."""

import gzip
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scalarviz import data
from scalarviz.base.limits import LIMIT, Budget
from scalarviz.data.digits import IMAGES, LABELS, read_folder, read_idx
from scalarviz.errors import InputError, ShapeError
from tests.wording import refused

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


def test_what_is_compressed_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "unpacked.gz"
    path.write_bytes(idx(PIXELS))
    assert (read_idx(path, IMAGES, Budget()) == PIXELS).all()
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(idx(NAMED)))
    assert (read_idx(path, LABELS, Budget()) == NAMED).all()


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
    tracemalloc.start()
    with refused(InputError, value):
        read_idx(path, IMAGES, Budget())
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_what_is_compressed_and_cut_short_or_changed_is_refused(tmp_path: Path) -> None:
    path, whole = tmp_path / "pictures.gz", bytearray(gzip.compress(idx(PIXELS)))
    changed = whole.copy()
    changed[-6] ^= 1  # of the checksum
    for content in (whole[:-20], whole[:12], changed):
        path.write_bytes(content)
        with refused(InputError, "pictures.gz"):
            read_idx(path, IMAGES, Budget())


def test_a_small_file_that_unpacks_to_a_large_one_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(idx(PIXELS) + bytes(2**26)))
    assert path.stat().st_size < 2**17
    tracemalloc.start()
    with refused(InputError, "140 numbers"):
        read_idx(path, IMAGES, Budget())
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_large_file_is_not_read_at_all(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(LIMIT + 1)
    with refused(InputError, "large"):
        read_idx(path, IMAGES, Budget())


def test_pictures_and_labels_must_belong_together(tmp_path: Path) -> None:
    mnist(tmp_path, "train", PIXELS, NAMED[:6])
    with refused(ShapeError, "6 labels"):
        read_folder(tmp_path)
    mnist(tmp_path, "train", PIXELS, np.where(NAMED == 8, 12, NAMED).astype(np.uint8))
    with refused(InputError, "label 12"):
        read_folder(tmp_path)
    mnist(tmp_path, "train", PIXELS, NAMED)
    mnist(tmp_path, "t10k", PIXELS[:, :4], NAMED)
    with refused(ShapeError, "4 x 5"):
        read_folder(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with refused(InputError, "train-labels-idx1-ubyte"):
        read_folder(tmp_path)


def test_a_folder_without_the_files_is_refused(tmp_path: Path) -> None:
    with refused(InputError, "train-images-idx3-ubyte"):
        read_folder(tmp_path)
    with refused(InputError, "nowhere'"):
        read_folder(tmp_path / "nowhere")
    with refused(InputError, "3"):
        read_folder(3)  # type: ignore[arg-type]  # on purpose
