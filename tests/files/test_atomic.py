"""A file is replaced whole or not at all."""

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scalarviz.errors import FileError, InputError
from scalarviz.files import atomic
from scalarviz.files.atomic import replace_file

ROOT = Path(__file__).parent.parent.parent
on_posix = pytest.mark.skipif(os.name != "posix", reason="permissions and links are as on Unix")
not_as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere"
)


def test_a_file_is_written_and_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a file, näme.bin"
    replace_file(path, b"old")
    replace_file(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_in_the_middle_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="file' cannot be saved: No space left on device: choose"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@on_posix
def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    for permissions in (0o640, 0o666):  # less than a new file has, and more
        path.chmod(permissions)
        replace_file(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == permissions


@on_posix
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    replace_file(tmp_path / "ours", b"")
    (tmp_path / "any").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "any").stat().st_mode


@on_posix
def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_folder_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is a folder: choose the name of a file"):
        replace_file(tmp_path, b"")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be saved: No such file or directory: choose"):
        replace_file(tmp_path / "nowhere" / "file", b"")


@on_posix
@not_as_root
def test_a_protected_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(FileError, match="protected against writing"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"


@on_posix
def test_a_file_that_says_it_may_not_be_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(FileError, match="protected against writing"):
        replace_file(path, b"new")
    assert path.read_bytes() == b"old"


@on_posix
def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is no ordinary file"):
        replace_file(tmp_path / "pipe", b"")


@pytest.mark.parametrize("path", [None, 3, "", "a\0b"])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(InputError, match="a path is a text or a Path"):
        replace_file(path, b"")


def test_a_name_may_be_as_long_as_the_system_permits(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 240)
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"


def test_what_a_killed_program_left_is_removed_after_an_hour(tmp_path: Path) -> None:
    path = tmp_path / "file [1]*"
    old, fresh = atomic.part_of(path, "11111111"), atomic.part_of(path, "22222222")
    other = atomic.part_of(tmp_path / "file 1", "33333333")
    for part in (old, fresh, other):
        part.write_bytes(b"half")
    for part in (old, other):
        os.utime(part, (time.time() - 2 * atomic.ABANDONED,) * 2)
    replace_file(path, b"new")
    assert sorted(tmp_path.iterdir()) == sorted([path, fresh, other])


SAVES_FOR_EVER = """
import sys
import numpy as np
from scalarviz.files.container import write
arrays = [{"value": np.full(50_000, i, np.float64)} for i in range(2)]
for i in range(10**9):
    write(sys.argv[1], "network", {"i": i}, arrays[i % 2])
    if i == 0:
        print("saved", flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills a process as Unix does")
def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    from scalarviz.files.container import read

    path = tmp_path / "net.safetensors"
    chance = random.Random(0)
    seen, halves = set(), 0
    for _ in range(40):
        command = [sys.executable, "-c", SAVES_FOR_EVER, str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        description, arrays = read(path, "network")
        assert (arrays["value"] == description["i"] % 2).all()
        seen.add(description["i"])
        halves += len(list(tmp_path.glob(".*.part")))
        for part in tmp_path.glob(".*.part"):
            part.unlink()
    assert len(seen) > 3  # kills came at different moments ...
    assert halves > 3  # ... and many of them in the middle of a save
