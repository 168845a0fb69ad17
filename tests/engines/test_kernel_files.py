"""Files of kernels on disk.

Where they are, what is trusted, what is loaded, and what is removed.
"""

import errno
import os
import stat
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from scalarviz.base import kernel_files
from scalarviz.base.kernel_files import KernelFile
from scalarviz.base.messages import inform_once
from scalarviz.engines.codegen import kernel_units
from scalarviz.engines.cpu.table import TRAINING
from scalarviz.errors import EngineError
from scalarviz.scene.visuals import mip_means
from tests.machine import output_of
from tests.wording import refused

SMALL = "ANSWER = 42\n"


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    assert kernel_files.write(path, SMALL)
    assert not kernel_files.write(path, SMALL)
    for damaged in ("", SMALL[:6], SMALL.replace("42", "41")):
        path.write_text(damaged)
        assert kernel_files.write(path, SMALL)
        assert path.read_text() == SMALL
    assert [file.name for file in tmp_path.iterdir()] == ["small.py"]


def test_a_file_is_named_by_its_text() -> None:
    one, other = (kernel_files.path_of(text, "kind") for text in (SMALL, SMALL + "\n"))
    assert one == kernel_files.path_of(SMALL, "kind") != other
    assert one.name.startswith("kind_") and one.parent == kernel_files.cache_folder()


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        PermissionError(errno.EACCES, "Permission denied"),
    ],
)
def test_a_full_disk_is_said_once_and_nothing_is_left(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: OSError,
) -> None:
    monkeypatch.setattr(kernel_files.os, "replace", Mock(side_effect=error))
    for name in ("one.py", "other.py"):
        assert not kernel_files.write(tmp_path / name, SMALL)
    kernel_files.keep(tmp_path / "third.nbc", b"code")
    assert not [*tmp_path.iterdir()]
    (said,) = caplog.messages
    assert str(tmp_path) in said and str(error.strerror) in said
    assert kernel_files.run_file(tmp_path / "one.py", SMALL).ANSWER == 42
    del sys.modules["one"]


# ---- one meaning for each name ------------------------------------------------------------------

KERNEL = "import numba\n{}\n\n\n@kernel\ndef {}(x):\n    {}\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("LIMIT = 1", "one", "return x"), ("LIMIT = 2", "two", "return x")),
        (("LOW, HIGH = 1, 2", "one", "return x"), ("HIGH, LOW = 1, 2", "two", "return x")),
        (("", "same", "return x"), ("", "same", "return x + 1")),
        (("", "load_tile", "return x"), ("load_tile = 2", "two", "return x")),
    ],
    ids=["constant", "several", "kernel", "kernel and constant"],
)
def test_a_file_gives_no_name_two_meanings(
    first: tuple[str, ...], second: tuple[str, ...], tmp_path: Path
) -> None:
    text = "\n".join([KERNEL.format(*first), "kernel = numba.njit"])
    kernel_files.check_names(text)
    refused(EngineError, "two meanings", varies="LOW|HIGH").by(
        kernel_files.write, tmp_path / "twice.py", "\n".join([text, KERNEL.format(*second)])
    )
    assert not list(tmp_path.iterdir())


# ---- the folder ---------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    home = tmp_path / "home"
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(blocked / "cache"))
    monkeypatch.setattr(kernel_files, "user_cache", lambda: home)
    assert kernel_files.cache_folder() == home
    monkeypatch.setattr(kernel_files, "user_cache", lambda: blocked / "home")
    monkeypatch.setattr(kernel_files.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = kernel_files.cache_folder()
    assert folder.parent == tmp_path
    assert kernel_files.cache_folder() == folder
    assert kernel_files.write(kernel_files.path_of(SMALL, "blocked"), SMALL)


def test_where_nothing_can_be_written_kernels_are_compiled_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (blocked := tmp_path / "a file").write_text("")

    monkeypatch.delenv("SCALARVIZ_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_files, "user_cache", lambda: blocked / "cache")
    monkeypatch.setattr(
        kernel_files.tempfile,
        "gettempdir",
        Mock(side_effect=FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")),
    )
    inform_once.cache_clear()
    path = kernel_files.path_of(SMALL, "nowhere")
    assert not kernel_files.write(path, SMALL) and not path.exists()
    assert vars(kernel_files.run_file(path, SMALL))["__file__"] == str(path)
    assert "cannot be stored" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_folder_that_others_can_write_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.delenv("SCALARVIZ_CACHE_DIR", raising=False)
    monkeypatch.setattr(kernel_files, "user_cache", lambda: shared)
    monkeypatch.setattr(kernel_files.tempfile, "gettempdir", lambda: str(tmp_path))
    assert kernel_files.cache_folder() == shared
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    shared.chmod(0o777)
    folder = kernel_files.cache_folder()
    assert folder != shared
    folder.chmod(0o777)
    monkeypatch.setattr(kernel_files.tempfile, "tempdir", str(tmp_path))
    kernel_files.own_folder.cache_clear()
    own = kernel_files.cache_folder()
    assert own not in (folder, shared) and kernel_files.cache_folder() == own
    kernel_files.own_folder.cache_clear()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_folder_that_is_asked_for_is_not_trusted_either_if_others_can_write_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked, home = tmp_path / "asked", tmp_path / "home"
    monkeypatch.setattr(kernel_files, "user_cache", lambda: home)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(asked))
    assert kernel_files.cache_folder() == asked
    asked.chmod(0o777)
    for _ in range(2):
        assert kernel_files.cache_folder() == home
    (said,) = caplog.messages
    assert str(asked) in said and "chmod go-w" in said
    link = tmp_path / "link"
    link.symlink_to(home)
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(link))
    assert kernel_files.cache_folder() == link


def test_old_generations_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["kind_old", "kind_new", "kind_now", "other_old"]
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    for name in names:
        (kept / f"{name}.answer-1.py312.nbi").write_text("")
    killed = [kept / "a.new", tmp_path / "b.new"]  # left by processes that were killed
    for file in killed:
        file.write_text("")
    path = tmp_path / "kind_now.py"
    long_ago = time.time() - 30 * 24 * 3600
    for old in (tmp_path / "kind_old.py", tmp_path / "other_old.py", path, killed[0]):
        os.utime(old, (long_ago, long_ago))
    kernel_files.remove_old(path, "kind")
    assert [*tmp_path.rglob("*.new")] == [killed[1]]
    left = ["kind_new", "kind_now", "other_old"]
    assert sorted(file.stem for file in tmp_path.glob("*.py")) == left
    assert sorted(file.name.partition(".")[0] for file in kept.iterdir()) == left


PROGRAM = """
import sys
from pathlib import Path
from scalarviz.engines.codegen.machine_code import object_path
print(object_path(Path(sys.argv[1])))
"""


class Numbas:
    """What numba would keep the files of a kernel by."""

    _index_name, _source_stamp, _version = "small.answer-1.py312.nbi", (0.0, 1), "0.62"

    def _dump(self, data: object) -> bytes:
        import pickle

        return pickle.dumps(data)


def test_every_kernel_has_a_file_for_each_set_of_arguments(tmp_path: Path) -> None:
    file = KernelFile(Numbas(), tmp_path)
    for number in range(3):
        file.save(("uint64", number), f"code {number}")
    assert [file.load(("uint64", number)) for number in range(4)] == [
        "code 0", "code 1", "code 2", None,
    ]  # fmt: skip
    assert len([*tmp_path.iterdir()]) == 3


def test_what_was_planted_is_not_unpickled(tmp_path: Path) -> None:
    file = KernelFile(Numbas(), tmp_path)
    file.save("a key", "code")
    path = file.path("a key")
    whole = path.read_bytes()
    for damaged in (
        whole[32:],
        whole[:-1],
        whole[:40] + b"\0" * (len(whole) - 40),
        b"cos\nsystem\n",
    ):
        path.write_bytes(damaged)
        assert file.load("a key") is None
    file.path("another key").write_bytes(whole)  # a copy that went wrong
    assert file.load("another key") is None


def test_all_kernels_that_are_kept_are_kept_so() -> None:
    kernels = [each for each in vars(mip_means).values() if hasattr(each, "_cache")]
    kernels = [each for each in kernels if hasattr(each._cache, "_cache_file")]
    assert len(kernels) == 5
    files = [each._cache._cache_file for each in kernels]
    assert all(isinstance(file, KernelFile) for file in files)
    assert not any(isinstance(file.own, KernelFile) for file in files)


@pytest.mark.slow
def test_all_processes_look_for_the_same_file() -> None:
    path = kernel_units.path_of_unit(TRAINING["move"], "float64")
    names = [output_of("-c", PROGRAM, str(path)) for _ in range(2)]
    assert names[0] == names[1]
    assert names[0].rstrip().endswith(".o")


@pytest.mark.slow
def test_without_a_folder_to_keep_them_in_they_are_compiled_each_time() -> None:
    """As for a user without a home, in an installation of somebody else."""
    program = """
import numpy as np
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []
from scalarviz.scene.visuals import mip_means
means, table = np.ones((2, 2, 2), np.float32), np.zeros((2, 2, 4), np.uint8)
colors, strengths = np.zeros((4, 3), np.float32), np.ones(1, np.float32)
mip_means.write_levels(means, colors, strengths, table, np.zeros(1, np.int64))
"""
    output_of("-c", program)
