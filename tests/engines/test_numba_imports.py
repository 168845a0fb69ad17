"""A kernel is compiled and loaded without the linear algebra of SciPy, used for products."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

FIRST_CALL = """
import sys
import scalarviz as sv
sv.Network([2, 3], engine="cpu")([1.0, 2.0])
print("scipy.linalg" in sys.modules)
"""
COMPILED = """
import sys
from scalarviz.engines.codegen import compiling, kernel_units
from scalarviz.engines.every_kernel import every_kernel
compiling.import_file(kernel_units.path_of_unit(*every_kernel()[0])).compiled.compile()
print("scipy.linalg" in sys.modules)
"""
PRODUCT = """
import numba, numpy as np
print(numba.njit(lambda a: a @ a)(np.array([[1.0, 2.0], [0.0, 1.0]])).tolist())
"""


@pytest.mark.some(1)
@pytest.mark.skipif(find_spec("scipy") is None, reason="without SciPy there is nothing to import")
@pytest.mark.parametrize("kernel", [FIRST_CALL, COMPILED], ids=["called", "compiled"])
def test_a_kernel_is_loaded_without_scipy_and_a_user_has_products(kernel: str) -> None:
    words = [sys.executable, "-c", kernel + PRODUCT]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["False", "[[1.0, 4.0], [0.0, 1.0]]"]
