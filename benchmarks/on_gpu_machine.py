"""The machine of `on_gpu`: its GPU, its packages, and the location of its CUDA libraries.

    python3 -m benchmarks.on_gpu_machine

downloads packages for a machine without a network, 39 MB, into build/on_gpu/carried: libnvvm with
libdevice, the compiler called by numba-cuda, and the newest numpy supported by numba-cuda. `on_gpu`
unpacks those that are missing on the machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

BUILD = Path("build/on_gpu").resolve()
CARRIED = BUILD / "carried"
KERNELS = BUILD / "kernels"
KEPT_KERNELS = "kernels.tar.xz"  # in `CARRIED`, from another machine; and among the results
TOOLKIT = Path("/usr/local/cuda")
NVVM = "nvvm.tar.xz"

PACKAGES = (
    "numba", "numba-cuda", "llvmlite", "numpy", "cuda-core", "cuda-bindings", "cuda-toolkit",
    "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "torch",
    "triton", "jax", "jaxlib", "pytest", "pytest-xdist", "scikit-image", "freetype-py",
)  # fmt: skip
ASKED = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,memory.total"
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

Tell = Callable[..., None]


def card() -> None:
    """Tell what there is; raise an error if the engine cannot run."""
    from benchmarks.on_gpu import tell
    from scalarviz.engines.cuda import probe
    from scalarviz.engines.cuda.missing import missing_for_cuda

    tell("card", card=clocks(), python=sys.version.split()[0], cores=os.cpu_count())
    tell("card", **{package: version_of(package) for package in PACKAGES})
    lack = missing_for_cuda()
    tell("card", good=not lack, lack=lack, home=os.environ.get("CUDA_HOME"))
    if lack:
        probe.attempt()  # here, for its traceback
        raise RuntimeError(lack)


def clocks() -> str:
    """What nvidia-smi says of the GPU."""
    if not shutil.which("nvidia-smi"):
        return "nvidia-smi is not installed"
    command = ["nvidia-smi", f"--query-gpu={ASKED}", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr.strip()


def version_of(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# ---- what the parts find ------------------------------------------------------------------------


def environment(tell: Tell) -> dict[str, str]:
    """The environment of the parts: their kernels, their CUDA libraries, and numba-cuda's name."""
    found, site = dict(os.environ), BUILD / "site"
    if "SCALARVIZ_CACHE_DIR" not in found:
        found["SCALARVIZ_CACHE_DIR"] = str(KERNELS)
        if (CARRIED / KEPT_KERNELS).exists() and not KERNELS.exists():
            unpack(CARRIED / KEPT_KERNELS, BUILD)
            tell("card", kernels_of_another_machine=len(list(KERNELS.glob("*.py"))))
    found.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    home = "" if "CUDA_HOME" in found or SIMULATED else toolkit()
    found |= {"CUDA_HOME": home} if home else {}
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    if [int(each) for each in version("numpy").split(".")[:2]] >= [2, 5]:
        (site / "sitecustomize.py").write_text(SHIM)
        tell("card", shim="numpy.row_stack is numpy.vstack, for numba-cuda")
    found["PYTHONPATH"] = os.pathsep.join([str(site), found.get("PYTHONPATH", "")])
    return found


def toolkit() -> str:
    """A folder for CUDA_HOME, in which numba-cuda finds libnvvm; "" if there is none, or no need.

    It looks in nvvm/lib64; packages of the toolkit for Python have it in lib.
    """
    if version_of("nvidia-nvvm"):
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


def unpack(path: Path, folder: Path) -> None:
    with tarfile.open(path) as file:
        # The argument `filter` came with Python 3.11.4; before, this attribute is ignored.
        file.extraction_filter = getattr(tarfile, "data_filter", None)
        file.extractall(folder)


def install_carried(known: dict[str, str], tell: Tell) -> list[str]:
    """Put the carried wheels first in the path of the parts; return their names, if pip did."""
    wheels = sorted(CARRIED.glob("*.whl"))
    if not wheels:
        return []
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    command += ["--upgrade", "--target", str(BUILD / "site"), *map(str, wheels)]
    done = subprocess.run(command, env=known, capture_output=True, text=True)
    if done.returncode:  # such as wheels of another Python
        tell("card", pip=done.stderr.strip().splitlines()[-3:])
        return []
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
