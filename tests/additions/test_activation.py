"""A new activation is one row: engines, files, captions and errors take `erf` from the table."""

import os
import subprocess
import sys

import pytest

from tests.engines.test_cuda import needs_numba_cuda
from tests.root import ROOT

WITH_ERF = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "erf", "-m", ""]
WITH_ERF += ["-p", "tests.additions.erf"]


def run(*options: str, **settings: str) -> str:
    """Run the tests that are about erf in a process that has it in its table; what it printed."""
    done = subprocess.run(
        [*WITH_ERF, *options],
        cwd=ROOT,
        env=os.environ | settings | {"WITH_ERF": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow  # kernels with one more formula are compiled, the first time
def test_everything_knows_an_activation_by_its_row() -> None:
    names = """
        additions/with_erf.py core/formulas/test_activations.py core/formulas/test_compiled.py
        core/autograd/test_gradients.py engines/test_one_answer.py files/onnx/test_saving.py
        pictures/presenter/test_captions.py files/shaders/test_glsl.py
    """
    for name in names.split():
        assert " passed" in run(f"tests/{name}"), name


@pytest.mark.slow
@needs_numba_cuda
def test_the_cuda_engine_knows_it_too() -> None:
    simulated = "-p", "tests.engines.simulator", "-W", "ignore::RuntimeWarning"
    assert " passed" in run(
        "tests/engines/simulated_matrix.py", *simulated, NUMBA_ENABLE_CUDASIM="1"
    )
