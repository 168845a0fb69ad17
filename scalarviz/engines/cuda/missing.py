"""missing_for_cuda: what the cuda engine lacks on this machine, as a short text.

The driver is asked directly, so that numba's CUDA module is loaded only where it works.
"""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

INSTALL = "pip install 'scalarviz[cuda]'"
LEAST_CAPABILITY = (7, 5)  # compute capability; CUDA 13 supports no GPUs below
NO_DEVICE = 100  # result of cuInit without a visible GPU
MAJOR, MINOR = 75, 76  # device attributes of the compute capability


def missing_for_cuda() -> str:
    """Return what is missing, or "" if the engine can run, also in numba's simulator."""
    if find_spec("numba") is None or find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed ({INSTALL})"
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return ""
    driver = load_driver()
    if driver is None:
        return "no NVIDIA driver was found"
    return missing_in_driver(driver) or missing_in_libraries()


def load_driver() -> Any:
    """Return NVIDIA's driver as a library, or None."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def missing_in_driver(driver: Any) -> str:
    """Return what is wrong with the driver, or with the first GPU, or ""."""
    status = driver.cuInit(0)
    if status not in (0, NO_DEVICE):
        return f"the NVIDIA driver does not start (error {status})"
    found = ask(driver.cuDriverGetVersion)
    if found // 1000 < toolkit_version():
        had, needed = f"{found // 1000}.{found % 1000 // 10}", f"{toolkit_version()}.0"
        return f"the NVIDIA driver is too old: it knows CUDA {had}, and {needed} is needed"
    if status == NO_DEVICE or ask(driver.cuDeviceGetCount) == 0:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        return "no GPU is visible" + (
            "" if hidden is None else f" (CUDA_VISIBLE_DEVICES is {hidden!r})"
        )
    device = ask(driver.cuDeviceGet, 0)
    capability = tuple([ask(driver.cuDeviceGetAttribute, part, device) for part in (MAJOR, MINOR)])
    if capability < LEAST_CAPABILITY:
        had, needed = [".".join(map(str, pair)) for pair in (capability, LEAST_CAPABILITY)]
        return f"the GPU has compute capability {had}, and {needed} is needed"
    return ""


def ask(function: Any, *arguments: int) -> int:
    """Return what a function of the driver writes into its first argument; 0 if it fails."""
    answer = ctypes.c_int(0)
    return 0 if function(ctypes.byref(answer), *arguments) else answer.value


def toolkit_version() -> int:
    """Return the major version of the CUDA libraries installed for numba-cuda; 0 if unknown."""
    try:
        return int(version("cuda-toolkit").partition(".")[0])
    except PackageNotFoundError:  # they may be installed on the system
        return 0


def missing_in_libraries() -> str:
    """Return why numba's CUDA module cannot use the GPU, or ""."""
    try:
        import_module("numba.cuda").get_current_device()
    # Whatever the error is, the engine cannot run.
    except Exception as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        return f"numba-cuda cannot use the GPU: {said} ({INSTALL})"
    return ""
