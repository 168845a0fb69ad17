"""Standard output and error that are closed or full end no command: it does its work."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.root import ROOT

TRAIN = ("train", "xor", "--engine", "python", "--steps", "20", "--save", "kept.safetensors")
PAGE = ("page", "xor", "--engine", "python", "--no-engine", "--record", "5", "-o", "xor.html")
SWEEP = ("sweep", "xor", "--seeds", "2", "--steps", "5", "--out", "runs.csv")
LOST = "scalarviz: standard output was lost: No space left on device\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is a device of Linux")


def ran(
    words: tuple[str, ...],
    folder: Path,
    out: int | str = subprocess.DEVNULL,
    first: Callable[[], None] | None = None,
) -> tuple[int, str]:
    """The exit code of a command line and its standard error; `out` is a number or a path."""
    command = [sys.executable, "-m", "scalarviz", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with open(out if isinstance(out, str) else os.devnull, "w") as file:
        stdout = file if isinstance(out, str) else out
        done = subprocess.run(
            command, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=folder,
            env=environment, preexec_fn=first, timeout=300, check=False,
        )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("list",), ""),
        (TRAIN, "kept.safetensors"),
        pytest.param(PAGE, "xor.html", marks=pytest.mark.slow),
        pytest.param(SWEEP, "runs.csv", marks=pytest.mark.slow),
    ],
)
def test_a_closed_or_full_output_is_lost_and_the_work_is_done(
    words: tuple[str, ...], file: str, tmp_path: Path
) -> None:
    code, error = ran(words, tmp_path, first=lambda: os.close(1))
    assert (code, "Traceback" in error) == (0, False), error
    assert not file or (tmp_path / file).stat().st_size
    for path in tmp_path.glob("*.*"):
        path.unlink(missing_ok=True) if path.is_file() else None
    code, error = ran(words, tmp_path, "/dev/full")
    assert (code, error.endswith(LOST), "Traceback" in error) == (1, True, False), error
    assert not file or (tmp_path / file).stat().st_size


def test_an_error_keeps_its_code_where_nobody_can_read_it(tmp_path: Path) -> None:
    def full() -> None:
        file = os.open("/dev/full", os.O_WRONLY)
        os.dup2(file, 1)
        os.dup2(file, 2)

    assert ran(("train", "rbg"), tmp_path, first=full)[0] == 2
    assert ran(("train", "rbg"), tmp_path, first=lambda: os.closerange(0, 3))[0] == 2


def test_files_do_not_get_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    code = """
import os, sys
from scalarviz.base.messages import lossy_streams
with lossy_streams():
    file = os.open("file", os.O_RDWR | os.O_CREAT)
    print("lost", flush=True)
    os.system("echo lost")
    sys.exit(os.fstat(file).st_size + 10 * (file < 3))
"""
    command = [sys.executable, "-c", code]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, preexec_fn=lambda: os.closerange(0, 3), check=False
    )
    assert done.returncode == 0


def test_what_a_full_disk_takes_again_is_written(tmp_path: Path) -> None:
    code = """
import os, resource, signal, sys
from scalarviz.base.messages import lossy_streams
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with lossy_streams():
    for line, limit in (("a", 100), ("b", 2), ("c", 100)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, 100))
        print(line, flush=True)
    sys.exit(0)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with open(tmp_path / "log", "wb") as log:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=log, stderr=subprocess.PIPE, text=True,
            env=environment, check=False,
        )  # fmt: skip
    assert (done.returncode, (tmp_path / "log").read_text()) == (1, "a\nc\n")
    assert done.stderr == "scalarviz: standard output was lost: File too large\n"


def test_output_without_a_buffer_stays_without_one() -> None:
    code = """
import os, sys
from scalarviz.base.messages import lossy_streams
with lossy_streams():
    print("said")
    os._exit(0)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert done.stdout == "said\n"


def test_letters_that_a_file_does_not_have_are_escaped() -> None:
    code = """
import sys
from scalarviz.base.messages import lossy_streams
with lossy_streams():
    print("\\u0416")
    sys.exit(0)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert (done.returncode, done.stdout) == (0, "\\u0416\n")


def test_a_reader_that_has_gone_ends_it_quietly(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    assert ran(TRAIN, tmp_path, writes) == (1, "")
    os.close(writes)
