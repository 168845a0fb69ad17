"""Functions that kernels contain get no machine code of their own where kernels are compiled."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from scalarviz.engines.codegen import kernel_units
from scalarviz.engines.cpu.table import TRAINING

# numba writes a set of options into the names of functions.
STEADY = {**os.environ, "PYTHONHASHSEED": "0"}
PROGRAM = """
import sys
from hashlib import sha256
from pathlib import Path
from numba.core import codegen
from scalarviz.engines.codegen.compiling import import_file
from scalarviz.engines.codegen.compiling import compile_for_kernels_only
made, finish = [], codegen.JITCodeLibrary._finalize_specific
codegen.JITCodeLibrary._finalize_specific = lambda library: made.append(finish(library))
if sys.argv[1] == "kernels only":
    compile_for_kernels_only()
kernel = import_file(Path(sys.argv[2])).compiled
kernel.compile()
print(len(made), sha256(kernel._library.get_asm_str().encode()).hexdigest())
"""


def test_a_kernel_has_the_same_machine_code_and_its_functions_none(tmp_path: Path) -> None:
    path = kernel_units.path_of_unit(TRAINING["move"], "float64")
    file = tmp_path / path.name
    file.write_bytes(path.read_bytes())
    libraries, hashes = [], []
    for way in ("all", "kernels only"):
        command = [sys.executable, "-c", PROGRAM, way, str(file)]
        child = subprocess.run(command, check=True, capture_output=True, env=STEADY)
        count, number = child.stdout.split()
        libraries.append(int(count))
        hashes.append(number)
        shutil.rmtree(tmp_path / "__pycache__")
    assert hashes[0] == hashes[1]
    assert libraries[0] > libraries[1] == 2  # the kernel, and one that numba begins with
