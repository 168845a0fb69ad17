"""Files of kernels on disk: where they are, what is trusted, and what is removed."""

import hashlib
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from scalarviz.engines.codegen import cache_files
from scalarviz.errors import EngineError
from tests.wording import refused

SMALL = "ANSWER = 42\n"


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "small.py"
    assert cache_files.write(path, SMALL)
    assert not cache_files.write(path, SMALL)
    for damaged in ("", SMALL[:6], SMALL.replace("42", "41")):
        path.write_text(damaged)
        assert cache_files.write(path, SMALL)
        assert path.read_text() == SMALL
    assert [file.name for file in tmp_path.iterdir()] == ["small.py"]


def test_a_file_is_named_by_its_text() -> None:
    one, other = (cache_files.path_of(text, "kind") for text in (SMALL, SMALL + "\n"))
    assert one == cache_files.path_of(SMALL, "kind") != other
    assert one.name.startswith("kind_") and one.parent == cache_files.cache_folder()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["beside", "elsewhere"])
def test_a_kernel_is_compiled_if_its_index_and_its_code_are_there_and_whole(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, folder = tmp_path / "small.py", tmp_path / "__pycache__"
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    if elsewhere:
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
        source = hashlib.sha1(str(tmp_path).encode()).hexdigest()
        folder = tmp_path / "numba" / f"a_{source}"
    folder.mkdir(parents=True)
    files = [folder / f"small.answer-1.py312.{ending}" for ending in ("nbi", "1.nbc")]
    other = folder / "other.answer-1.py312.nbi"
    other.write_bytes(b"cut sho")
    assert not cache_files.is_compiled(path)
    for file, complete in zip(files, (False, True), strict=True):
        file.write_bytes(b"a pickle.")
        assert cache_files.is_compiled(path) is complete
    cache_files.drop_damaged(path)
    assert cache_files.is_compiled(path)
    files[1].write_bytes(b"a pick")
    cache_files.drop_damaged(path)
    assert [*folder.iterdir()] == [other]


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
    cache_files.check_names(text)
    with refused(EngineError, "two meanings", varies="LOW|HIGH"):
        cache_files.write(tmp_path / "twice.py", "\n".join([text, KERNEL.format(*second)]))
    assert not list(tmp_path.iterdir())


# ---- the folder ---------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    home = tmp_path / "home"
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(blocked / "cache"))
    monkeypatch.setattr(cache_files, "user_cache", lambda: home)
    assert cache_files.cache_folder() == home
    monkeypatch.setattr(cache_files, "user_cache", lambda: blocked / "home")
    monkeypatch.setattr(cache_files.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = cache_files.cache_folder()
    assert folder.parent == tmp_path
    assert cache_files.cache_folder() == folder
    assert cache_files.write(cache_files.path_of(SMALL, "blocked"), SMALL)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_a_folder_that_others_can_write_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    monkeypatch.delenv("SCALARVIZ_CACHE_DIR", raising=False)
    monkeypatch.setattr(cache_files, "user_cache", lambda: shared)
    monkeypatch.setattr(cache_files.tempfile, "gettempdir", lambda: str(tmp_path))
    assert cache_files.cache_folder() == shared
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    shared.chmod(0o777)
    folder = cache_files.cache_folder()
    assert folder != shared
    folder.chmod(0o777)
    monkeypatch.setattr(cache_files.tempfile, "tempdir", str(tmp_path))
    assert cache_files.cache_folder() not in (folder, shared)


def test_old_generations_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    names = ["kind_old", "kind_new", "kind_now", "other_old"]
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    kept = tmp_path / "__pycache__"
    kept.mkdir()
    for name in names:
        (kept / f"{name}.answer-1.py312.nbi").write_text("")
    killed = [tmp_path / "a.new", tmp_path / "b.new"]  # left by processes that were killed
    for file in (*killed, kept / "kind_old.answer-1.py312.1.nbc.tmp.0123"):
        file.write_text("")
    path = tmp_path / "kind_now.py"
    long_ago = time.time() - 30 * 24 * 3600
    for old in (tmp_path / "kind_old.py", tmp_path / "other_old.py", path, killed[0]):
        os.utime(old, (long_ago, long_ago))
    cache_files.remove_old(path, "kind")
    assert [*tmp_path.glob("*.new")] == [killed[1]]
    left = ["kind_new", "kind_now", "other_old"]
    assert sorted(file.stem for file in tmp_path.glob("*.py")) == left
    assert sorted(file.name.partition(".")[0] for file in kept.iterdir()) == left
