"""The cuda engine where there is no GPU: in numba's simulator, which wants a process of its own."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.root import ROOT

NAMES = ("matrix", "cuda", "layers", "own", "graphs", "sessions", "away")
FILES = [f"tests/engines/simulated_{name}.py" for name in NAMES]

needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None,
    reason="numba-cuda is not available for this system or Python",
)


def simulate(*words: str, blocks: str = "turns") -> None:
    """Run tests in the simulator; its blocks are those of `simulated_blocks`, or numba's."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tests.engines.simulator"]
    # Numbers there are numpy's, and numpy warns where a GPU overflows.
    command += ["-W", "ignore::RuntimeWarning", *words]
    settings = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "SIMULATED_BLOCKS": blocks}
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@needs_numba_cuda
def test_the_cuda_engine_gives_what_the_objects_give() -> None:
    simulate(*FILES)


@pytest.mark.slow
@needs_numba_cuda
def test_long_runs_on_the_cuda_engine_stay_with_the_objects() -> None:
    simulate(*FILES, "-m", "slow")


@pytest.mark.slow
@needs_numba_cuda
def test_threads_that_are_interrupted_anywhere_give_the_same() -> None:
    simulate(*FILES, blocks="numba")
