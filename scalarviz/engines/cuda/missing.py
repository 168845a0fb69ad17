"""What the cuda engine needs and does not find here, in a few words.

It asks the driver itself, so that numba's CUDA part is loaded only where it will work.
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
LEAST_CAPABILITY = (7, 5)  # of a GPU; CUDA 13 knows none below
NO_DEVICE = 100  # what cuInit says where no GPU is visible
MAJOR, MINOR = 75, 76  # the attributes of a device that tell its compute capability


def missing_for_cuda() -> str:
    """What is missing; nothing if the engine can run, be it in numba's simulator."""
    if find_spec("numba") is None or find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed ({INSTALL})"
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return ""
    driver = load_driver()
    if driver is None:
        return "no NVIDIA driver was found"
    return driver_lack(driver) or library_lack()


def load_driver() -> Any:
    """NVIDIA's driver as a library, or None."""
    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def driver_lack(driver: Any) -> str:
    """What is wrong with the driver, or with the first GPU that it shows."""
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
    """What a function of the driver writes into its first argument; 0 if it fails."""
    answer = ctypes.c_int(0)
    return 0 if function(ctypes.byref(answer), *arguments) else answer.value


def toolkit_version() -> int:
    """The main version of the CUDA libraries that are installed for numba-cuda."""
    try:
        return int(version("cuda-toolkit").partition(".")[0])
    except PackageNotFoundError:  # they may come from the system
        return 0


def library_lack() -> str:
    """Whether numba's CUDA part finds the libraries that it needs."""
    try:
        import_module("numba.cuda").get_current_device()
    # Whatever it may raise, the engine cannot run, and another one can.
    except Exception as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        return f"numba-cuda cannot use the GPU: {said} ({INSTALL})"
    return ""
