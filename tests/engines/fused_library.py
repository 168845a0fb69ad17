"""The fused kernel compiled for the host by g++, see fused_host.h."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from scalarviz.engines.cuda.fused import compiling
from scalarviz.engines.cuda.fused.compiling import Choice

HERE = Path(__file__).parent
OPTIONS = ("-std=c++20", "-O1", "-ffp-contract=off", "-pthread", "-Wall", "-Wno-unknown-pragmas")


def needs_a_compiler() -> None:
    """Skip tests where there is no g++, or one whose libraries Python may not be able to load."""
    if shutil.which("g++") is None or sys.platform == "win32":
        pytest.skip("the fused kernel runs on the host by g++", allow_module_level=True)


def source_of(choice: Choice, threads: int, lanes: int, last: str) -> str:
    """Return the source: constants, host, kernel, and the file `last`."""
    host = (HERE / "fused_host.h").read_text()
    kernel = compiling.source_of(host)
    return compiling.constants_of(choice, threads, lanes) + kernel + (HERE / last).read_text()


@cache
def folder() -> Path:
    """Return a folder that is removed when the tests have ended."""
    made = Path(tempfile.mkdtemp(prefix="scalarviz-fused-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def build(choice: Choice, threads: int, lanes: int) -> Path:
    """Return the path of a library with the kernel."""
    return compiled(source_of(choice, threads, lanes, "fused_run.cpp"), "-shared", "-fPIC")


def compiled(source: str, *options: str) -> Path:
    """Compile a source without a warning; return the path of the result."""
    name = hashlib.sha256("\n".join([source, *options]).encode()).hexdigest()[:20]
    text, made = folder() / f"{name}.cpp", folder() / f"{name}.so"
    text.write_text(source)
    command = ["g++", *OPTIONS, *options, str(text), "-o", str(made)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    assert not done.stderr, done.stderr[-4000:]
    return made
