"""missing_for_cuda: why the cuda engine cannot run on this machine, as a short text.

The driver is queried directly, so that numba's CUDA module is loaded only if there is a GPU. The
engine can run if a small kernel was compiled and returned the right numbers; see `probe.py`. That
takes seconds and is done once, in a separate process. A file in the cache folder stores the result
for these versions, this driver and this GPU. A failed probe is repeated by the next process.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scalarviz.base import processes
from scalarviz.base.kernel_files import path_of, replace_file
from scalarviz.base.shell_commands import pip_command, pip_install
from scalarviz.engines.codegen.kernel_source import is_simulated, version_of
from scalarviz.engines.cuda import probe

OLDER = 12  # CUDA version for the extra "cuda12"
LEAST_CAPABILITY = (7, 5)  # compute capability; CUDA 13 does not support older GPUs
NO_DEVICE = 100  # result of cuInit without a visible GPU
MAJOR, MINOR = 75, 76  # device attributes of the compute capability
SECONDS = 120.0  # timeout for a small kernel
PACKAGES = (
    "numba", "numba-cuda", "numpy", "cuda-bindings", "cuda-core", "cuda-toolkit", "nvidia-nvvm",
    "nvidia-nvjitlink",
)  # fmt: skip

# Meaning of an error of the small kernel: a pattern in its text, and a sentence.
CAUSES = (
    (
        r"no attribute 'row_stack'",
        "numba-cuda {numba_cuda} compiles no kernel with numpy {numpy} ({numpy_install})",
    ),
    (
        r"(?i)unsupported.ptx.version|unsupported toolchain",
        "the NVIDIA driver cannot read compiled kernels: nvJitLink is missing, or newer than the "
        "driver ({install})",
    ),
    (r"(?i)libnvvm|nvvm|libdevice", "numba-cuda finds no libnvvm to compile with ({install})"),
    (r"(?i)nvjitlink", "numba-cuda cannot link: nvJitLink is missing or too old ({install})"),
    (
        r"(?i)nvrtc|cudart|cudadevrt",
        "libraries of the CUDA toolkit are missing ({install}): {error}",
    ),
)


def missing_for_cuda() -> str:
    """Return the missing requirement, or "" if the engine can run (or numba simulates a GPU)."""
    if find_spec("numba") is None or find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed ({pip_command('cuda')})"
    if is_simulated():
        return ""
    driver = load_driver()
    if driver is None:
        return "no NVIDIA driver was found"
    return missing_in_driver(driver) or missing_in_libraries(machine(driver))


def load_driver() -> Any:
    """Load NVIDIA's driver library; return None if it is not installed."""
    try:
        return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return None


def missing_in_driver(driver: Any) -> str:
    """Return what is wrong with the driver or the first GPU, or ""."""
    status = driver.cuInit(0)
    if status not in (0, NO_DEVICE):
        return f"the NVIDIA driver does not start (error {status})"
    found = ask(driver.cuDriverGetVersion)
    if found // 1000 < toolkit_version():
        had, needed = f"{found // 1000}.{found % 1000 // 10}", f"{toolkit_version()}.0"
        older = f" ({pip_command('cuda12')} suits it)" if found // 1000 == OLDER else ""
        return f"the NVIDIA driver is too old: it knows CUDA {had}, and {needed} is needed{older}"
    if status == NO_DEVICE or ask(driver.cuDeviceGetCount) == 0:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        return "no GPU is visible" + (
            "" if hidden is None else f" (CUDA_VISIBLE_DEVICES is {hidden!r})"
        )
    capability = capability_of(driver)
    if capability < LEAST_CAPABILITY:
        had, needed = [".".join(map(str, pair)) for pair in (capability, LEAST_CAPABILITY)]
        return f"the GPU has compute capability {had}, and {needed} is needed"
    return ""


def capability_of(driver: Any) -> tuple[int, ...]:
    """Return the compute capability of the first GPU."""
    device = ask(driver.cuDeviceGet, 0)
    return tuple([ask(driver.cuDeviceGetAttribute, part, device) for part in (MAJOR, MINOR)])


def ask(function: Any, *arguments: int) -> int:
    """Call a driver function, and return the integer that it writes; 0 on failure."""
    answer = ctypes.c_int(0)
    return 0 if function(ctypes.byref(answer), *arguments) else answer.value


def toolkit_version() -> int:
    """Return the major version of the CUDA libraries installed for numba-cuda; 0 if unknown."""
    return int(version_of("cuda-toolkit").partition(".")[0] or 0)


def machine(driver: Any) -> str:
    """Return a text with everything that determines whether a kernel runs on this machine."""
    known = [f"{package} {version_of(package)}" for package in PACKAGES]
    places = [f"{name}={os.environ.get(name)}" for name in ("CUDA_HOME", "CUDA_VISIBLE_DEVICES")]
    card = [str(ask(driver.cuDriverGetVersion)), str(capability_of(driver))]
    return "\n".join([sys.version, sys.prefix, *known, *places, *card]) + "\n"


@cache
def missing_in_libraries(here: str) -> str:
    """Return why kernels do not run on the machine described by `here`, or ""."""
    path = path_of(here, "cuda_ran", ".txt")
    if path.exists():
        return ""
    wrong = error_of_a_kernel()
    if not wrong:
        replace_file(path, here.encode())  # otherwise the next process tries again
    return wrong and explained(wrong)


def error_of_a_kernel() -> str:
    """Run `probe.py` in a separate process; return its error message, or ""."""
    child = processes.start(["-P", str(Path(probe.__file__))], stdout=subprocess.PIPE)
    try:
        said = child.communicate(timeout=SECONDS)[0].decode(errors="replace").strip()
    except subprocess.TimeoutExpired:
        return f"a small kernel did not end within {SECONDS:.0f} s"
    finally:
        processes.end(child)
    last = said.rpartition("\n")[2]
    if child.returncode == 0 and last == probe.RAN:
        return ""
    return last or f"a small kernel ended its process (status {child.returncode})"


def explained(error: str) -> str:
    """Return a sentence that explains an error message of the small kernel."""
    for pattern, sentence in CAUSES:
        if re.search(pattern, error):
            return sentence.format(
                numba_cuda=version_of("numba-cuda"),
                numpy=version_of("numpy"),
                numpy_install=pip_install("numpy<2.5"),
                install=pip_command("cuda"),
                error=error[:200],
            )
    return f"numba-cuda runs no kernel on the GPU: {error[:200]} ({pip_command('cuda')})"
