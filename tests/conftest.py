"""Shared fixtures: settings of hypothesis, a CUDA compiler, a session, a canvas."""

import gc
import importlib.util
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import settings

import scalarviz as sv
from scalarviz.errors import DisplayError
from scalarviz.faces.cli import commands
from scalarviz.stage.show import Show
from tests import cases, sessions, wording
from tests.studio import Studio

# `make test` uses the same few examples each time; `make test-all` generates new ones. There is no
# deadline, since a first call may compile.
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("steady")

# A shell that starts the tests in the background makes them, and their children, ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# The slowest test files: several workers start with these, so that none is left for the end.
LONGEST = (
    "tests/engines/test_dispatch.py",
    "tests/engines/test_one_answer.py",
    "tests/engines/test_cuda.py",
    "tests/engines/test_cuda_interpreted.py",
    "notebooks/",
    "tests/faces/window/test_window.py",
    "tests/engines/test_arithmetic.py",
)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(cases)
    config.pluginmanager.register(wording)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=place_of)


def place_of(item: pytest.Item) -> tuple[bool, bool, str]:
    """Return the sort key of test files: the slowest first, then by name."""
    file = item.nodeid.partition("::")[0]
    return not file.startswith(LONGEST), not file.startswith("tests/"), file


def pytest_collection_finish() -> None:
    """Make later garbage collections rarer, and exclude the objects of test files: saves 12 %."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.fixture(scope="session")
def compile_ptx() -> Iterator[Callable[..., str]]:
    """Return compile_ptx(function, *argument_types): the PTX text of a device function."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not available for this system or Python")
    from numba import cuda
    from numba.cuda import dispatcher

    from tests.engines.machine_code import FakeDevice

    def compile_for_device(function: Callable[..., Any], *argument_types: Any) -> str:
        text, _ = cuda.compile_ptx(
            function,
            argument_types,
            device=True,
            # Without it, the library's sin and cos reduce huge arguments in float64.
            fastmath=True,
            cc=FakeDevice.compute_capability,
        )
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatcher, "get_current_device", lambda: FakeDevice)
        yield compile_for_device


@pytest.fixture(scope="session")
def studio() -> Iterator[Studio]:
    """A studio for drawing pictures without a window; shared by all tests."""
    try:
        made = Studio()
    except DisplayError as error:
        pytest.skip(str(error))
    yield made
    made.canvas.close()


@pytest.fixture(scope="session")
def opengl() -> None:
    """Skip a test without OpenGL."""
    from scalarviz.scene.offscreen import make_canvas

    try:
        make_canvas(8, 8)
    except DisplayError as error:
        pytest.skip(str(error))


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same ones in each test."""
    return np.random.default_rng(0)


@pytest.fixture
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `tmp_path` the current folder."""
    monkeypatch.chdir(tmp_path)


class Ran(NamedTuple):
    """The result of a command line: its exit code and its output."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Return run(*words): the result of `scalarviz`, in lines of 200 letters without colors."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "path", list(sys.path))

    def answer(*words: str) -> Ran:
        with pytest.raises(SystemExit) as left:
            commands.main(words)
        return Ran(int(left.value.code or 0), *capsys.readouterr())

    return answer


@pytest.fixture
def colours() -> sv.Session:
    return sessions.colours()


@pytest.fixture
def show(colours: sv.Session) -> Show:
    return Show(colours, title="colours", hint="more")
