"""The machine that `on_gpu` runs on: its card, its packages, and where its CUDA libraries are.

    python -m tests.benchmarks.on_gpu_machine

downloads what a machine without a network may lack, 39 MB, into build/on_gpu/carried: libnvvm with
libdevice, the compiler that numba-cuda calls, and the newest numpy that numba-cuda compiles with.
`on_gpu` unpacks there what it does not find on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

BUILD = Path("build/on_gpu").resolve()
CARRIED = BUILD / "carried"
KERNELS = BUILD / "kernels"
KEPT_KERNELS = "kernels.tar.xz"  # in `CARRIED`, from another machine; and among the results
TOOLKIT = Path("/usr/local/cuda")
NVVM = "nvvm.tar.xz"

PACKAGES = (
    "numba", "numba-cuda", "llvmlite", "numpy", "cuda-core", "cuda-bindings", "cuda-pathfinder",
    "cuda-toolkit", "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime",
    "torch", "triton", "jax", "jaxlib", "pytest", "pytest-xdist", "scikit-image",
)  # fmt: skip
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")

# What is downloaded, for Python 3.12 on Linux: libnvvm of CUDA 13.0 writes PTX that every driver
# of CUDA 13 reads.
WHEELS = ("numpy==2.4.6", "numba-cuda==0.30.4")
NVVM_WHEEL = "nvidia-nvvm==13.0.88"
PLATFORMS = (
    "manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux_2_17_x86_64",
    "manylinux2014_x86_64", "manylinux_2_12_x86_64", "manylinux2010_x86_64",
)  # fmt: skip
INSIDE = {"libnvvm.so.4": "nvvm/lib64", "libdevice.10.bc": "nvvm/libdevice"}

# numba-cuda 0.30.4 uses a name that numpy 2.5 has not.
SHIM = "import numpy\n\nnumpy.row_stack = numpy.vstack\n"
# A kernel as `probe` runs it, with the whole traceback of what goes wrong.
ATTEMPT = """
import numpy
from numba import cuda
from scalarviz.engines.cuda.probe import SIZE, kernel_on
out = cuda.device_array(SIZE, numpy.float32)
cuda.jit(kernel_on(cuda))[1, SIZE](out)
print(out.copy_to_host())
"""


class Tell(Protocol):
    """Prints a result of a part, and appends it to the file of results."""

    def __call__(self, part: str, **found: Any) -> None: ...


# ---- what there is ------------------------------------------------------------------------------


def versions(tell: Tell) -> bool:
    """Card and packages; False if the engine cannot run."""
    from scalarviz.engines.cuda.missing import missing_for_cuda

    tell("versions", card=card("driver_version,clocks.max.sm,power.limit,memory.total"))
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    known = {name: os.environ.get(name) for name in ("CUDA_HOME", "SCALARVIZ_CACHE_DIR")}
    tell("versions", python=sys.version.split()[0], cores=os.cpu_count(), **found, **known)
    tell("versions", libraries=libraries())
    lack = missing_for_cuda()
    tell("versions", can_run=not lack, lack=lack)
    if lack:
        done = subprocess.run([sys.executable, "-c", ATTEMPT], capture_output=True, text=True)
        tell("versions", status=done.returncode, last=done.stderr.strip().splitlines()[-25:])
    return not lack


def card(asked: str) -> str:
    """What nvidia-smi says of the GPU, its name and its clocks first."""
    if not shutil.which("nvidia-smi"):
        return "nvidia-smi is not installed"
    fields = f"name,clocks.sm,clocks.mem,temperature.gpu,{asked}".rstrip(",")
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip()


def libraries() -> dict[str, str]:
    """Where numba-cuda finds the CUDA libraries."""
    if SIMULATED:
        return {}
    try:
        from numba.cuda.cuda_paths import get_cuda_paths

        return {name: str(found.info) for name, found in get_cuda_paths().items()}
    except Exception as error:  # whatever is missing: a line says so
        return {"error": f"{type(error).__name__}: {error}"}


# ---- what the parts find ------------------------------------------------------------------------


def environment(tell: Tell) -> dict[str, str]:
    """The environment of the parts: their kernels, their CUDA libraries, and numba-cuda's name."""
    found = dict(os.environ)
    if "SCALARVIZ_CACHE_DIR" not in found:
        found["SCALARVIZ_CACHE_DIR"] = str(KERNELS)
        kept = CARRIED / KEPT_KERNELS
        if kept.exists() and not KERNELS.exists():
            unpack(kept, BUILD)
            tell("versions", kernels=f"{len(list(KERNELS.glob('*.py')))} of another machine")
    found.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    home = "" if "CUDA_HOME" in found or SIMULATED else toolkit()
    if home:
        found["CUDA_HOME"] = home
    site = BUILD / "site"
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    if tuple([int(each) for each in version("numpy").split(".")[:2]]) >= (2, 5):
        (site / "sitecustomize.py").write_text(SHIM)
        tell("versions", shim="numpy.row_stack is numpy.vstack, for numba-cuda")
    found["PYTHONPATH"] = os.pathsep.join([str(site), found.get("PYTHONPATH", "")])
    return found


def toolkit() -> str:
    """A folder for CUDA_HOME, in which numba-cuda finds libnvvm; "" if there is none, or no need.

    It looks in nvvm/lib64; packages of the toolkit for Python have it in lib.
    """
    if installed("nvidia-nvvm"):
        return ""
    if (TOOLKIT / "nvvm/lib64").exists():
        return str(TOOLKIT)
    made, library = BUILD / "cuda", next(TOOLKIT.glob("lib*/libnvvm.so.4"), None)
    if library is not None:
        shutil.rmtree(made, ignore_errors=True)
        (made / "nvvm/lib64").mkdir(parents=True)
        (made / "nvvm/lib64" / library.name).symlink_to(library)
        (made / "nvvm/libdevice").symlink_to(TOOLKIT / "nvvm/libdevice")
    elif (CARRIED / NVVM).exists():
        unpack(CARRIED / NVVM, made)
    return str(made) if made.exists() else ""


def installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


def unpack(path: Path, folder: Path) -> None:
    with tarfile.open(path) as file:
        # The argument `filter` came with Python 3.11.4; before, this attribute is ignored.
        file.extraction_filter = getattr(tarfile, "data_filter", None)
        file.extractall(folder)


def install_carried(known: dict[str, str]) -> list[str]:
    """Put the carried wheels first in the path of the parts; return their names."""
    wheels, site = sorted(CARRIED.glob("*.whl")), BUILD / "site"
    if wheels:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        command += ["--upgrade", "--target", str(site), *map(str, wheels)]
        subprocess.run(command, check=True, env=known)
    return [wheel.name for wheel in wheels]


def keep_kernels(folder: Path) -> None:
    """Pack the compiled kernels for another machine, with the times of their files."""
    if KERNELS.exists():
        with tarfile.open(folder / KEPT_KERNELS, "w:xz", preset=3) as file:
            file.add(KERNELS, KERNELS.name)


# ---- what is carried there ----------------------------------------------------------------------


def download() -> None:
    """Download what a machine without a network may lack."""
    CARRIED.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp"]
        for platform in PLATFORMS:
            command += ["--platform", platform]
        subprocess.run([*command, "--dest", str(CARRIED), *WHEELS], check=True)
        subprocess.run([*command, "--dest", name, NVVM_WHEEL], check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            for member in wheel.namelist():
                place = INSIDE.get(Path(member).name)
                if place:
                    path = folder / place / Path(member).name
                    path.parent.mkdir(parents=True)
                    path.write_bytes(wheel.read(member))
        with tarfile.open(CARRIED / NVVM, "w:xz") as file:
            file.add(folder / "nvvm", "nvvm")
    for path in sorted(CARRIED.iterdir()):
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path}")


if __name__ == "__main__":
    download()
