"""Compiles all kernels for the processors of a wheel for Linux.

    python -m docs.build_kernels [LEVEL]...

writes build/kernels/x86-64-v3.zip and x86-64-v4.zip, or those named. This takes some 3 minutes a
level on two cores, and needs Linux on an x86-64 processor, which may lack a level.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from scalarviz.base.kernel_files import kept, with_digest
from scalarviz.engines.codegen import kernel_units, machine_code
from scalarviz.engines.codegen.kernel_units import Dtype, Unit

FOLDER = Path(__file__).parent.parent / "build" / "kernels"


def main(levels: list[str]) -> None:
    """Build the archives of levels, each in a separate process."""
    if unknown := set(levels) - {*machine_code.LEVELS}:
        sys.exit(f"unknown level {min(unknown)}: choose {' or '.join(machine_code.LEVELS)}")
    for level in levels:
        cache = FOLDER / level
        cache.mkdir(parents=True, exist_ok=True)
        features = ",".join(f"+{name}" for name in machine_code.LEVELS[level])
        settings = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": features}
        environment = {**os.environ, **settings, "SCALARVIZ_CACHE_DIR": str(cache)}
        command = [sys.executable, "-m", "docs.build_kernels", "--into", f"{cache}.zip"]
        subprocess.run(command, check=True, env=environment)


def build(path: Path) -> None:
    """Compile all kernels for the processor that the environment names, and write the archive."""
    from scalarviz.engines import every_kernel

    said = 0
    for done, count in every_kernel.compile_all():
        if done >= said:
            print(f"{path.stem}: {done} of {count} kernels", flush=True)
            said = done + 100
    count = write(path, every_kernel.every_kernel())
    print(f"{path.stem}: {count} kernels, {path.stat().st_size / 1e6:.2f} MB")


def write(path: Path, units: Iterable[tuple[Unit, Dtype]]) -> int:
    """Write an archive of compiled kernels, and return their number."""
    kernels = {kernel_units.text_of(*each): each for each in units}
    temporary = path.with_suffix(".new")
    with ZipFile(temporary, "w") as archive:  # uncompressed: the wheel compresses it as one file
        archive.comment = machine_code.compilers().encode()
        for text, each in kernels.items():
            key = machine_code.key_of(text)
            content = kept(machine_code.object_path(kernel_units.path_of_unit(*each)))
            if content is None:
                raise FileNotFoundError(f"the kernel {each[0].name} is not compiled")
            # Each is dated 1980, so that equal kernels make equal archives.
            archive.writestr(ZipInfo(key), with_digest(key, content))
    os.replace(temporary, path)
    return len(kernels)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--into"]:
        build(Path(sys.argv[2]))
    else:
        main(sys.argv[1:] or list(machine_code.LEVELS))
