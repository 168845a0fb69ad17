"""The WebAssembly module of some kernels: compiled once, in child processes, and cached on disk.

The piece of each kernel is cached as well, so that another network compiles only its new kernels.

    python -m scalarviz.engines.wasm.module

writes modules of all built-in kernels of pages, one per working type, to `modules/` in this folder.
Wheels include them, so that pages need not compile. The file name contains a hash of the texts of
all kernels, so that a page never uses outdated kernels. A page gets only the kernels of its
network; the others are empty.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scalarviz.base import processes
from scalarviz.base.kernel_files import cache_folder, keep, kept, path_of
from scalarviz.base.progress import Progress
from scalarviz.core.formulas.activations import WithSettings
from scalarviz.engines.codegen import compiling
from scalarviz.engines.codegen.compiling import folders_of_modules, workers_for
from scalarviz.engines.codegen.kernel_source import versions
from scalarviz.engines.codegen.kernel_units import Dtype, Unit, announce, path_of_unit, text_of
from scalarviz.engines.cpu.table import every_unit
from scalarviz.engines.wasm import compile_module, compile_pieces
from scalarviz.engines.wasm.compile_module import only
from scalarviz.errors import EngineError

STEM = "page"
FOLDER = f"{STEM}-"  # prefix of the names of folders in which modules are compiled
LEFT = 3600.0  # seconds without a change after which such a folder belongs to a killed process
SECONDS = 0.4  # of a core to compile a kernel, on average
START = 1.5  # seconds to start compiling
FEW = 3  # kernels below which another process does not pay

# numba lowers every kernel for the same plain processor, and leaves optimization to
# `compile_module`. Other numba settings of the user are not passed on.
FOR_NUMBA = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_OPT": "0"}
MAKERS = compile_pieces, compile_module


def module_of(units: Sequence[Unit], dtype: Dtype) -> bytes:
    """Return a module of kernels; kernel k has the index FIRST + k in its function table.

    A progress bar counts the compiled kernels. Raises EngineError on failure.
    """
    path = path_of_module(units, dtype)
    content = kept(path)
    if content is None:
        content = compiling.counted(compiled, units, dtype)
        keep(path, content, STEM)
    return content


def made_of(texts: Iterable[str]) -> str:
    """Return the texts of kernels, and everything else that their compilation depends on."""
    return "".join(
        [version("llvmlite"), *map(inspect.getsource, MAKERS), *FOR_NUMBA.values(), *texts]
    )


def path_of_module(units: Sequence[Unit], dtype: Dtype) -> Path:
    """Return the path of a cached module, with a hash of everything that the module depends on."""
    return path_of(made_of(text_of(unit, dtype) for unit in units), STEM, ".wasm")


def stem_of(unit: Unit, dtype: Dtype) -> str:
    return f"{STEM}_{unit.name}_{dtype}"


def path_of_piece(unit: Unit, dtype: Dtype) -> Path:
    """Return the path of a kernel's cached piece."""
    return path_of(made_of([text_of(unit, dtype)]), stem_of(unit, dtype), ".piece")


def remove_left_folders(cache: Path) -> None:
    """Remove the folders of processes that were killed during compilation."""
    limit = time.time() - LEFT
    for folder in cache.glob(f"{FOLDER}*"):
        with suppress(OSError):  # another process may be faster
            if folder.is_dir() and not folder.is_symlink() and folder.stat().st_mtime < limit:
                shutil.rmtree(folder, ignore_errors=True)


def compiled(units: Sequence[Unit], dtype: Dtype, bar: Progress) -> bytes:
    """Compile a module of kernels in child processes.

    The total of `bar` is set to the number of kernels to compile.
    """
    pieces = [kept(path_of_piece(unit, dtype)) for unit in units]
    try:
        return module_of_pieces(units, dtype, pieces, bar)
    except OSError as error:  # such as a full disk
        raise failed(str(error)) from None


def module_of_pieces(
    units: Sequence[Unit], dtype: Dtype, pieces: Sequence[bytes | None], bar: Progress
) -> bytes:
    """Compile a module of kernels; existing pieces are reused, None means a missing one."""
    paths = [path_of_unit(unit, dtype) for unit in units]
    missing = [path for path, piece in zip(paths, pieces, strict=True) if piece is None]
    cache = cache_folder()
    remove_left_folders(cache)
    with tempfile.TemporaryDirectory(prefix=FOLDER, dir=cache, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        files = [folder / (path.stem + compile_pieces.PIECE) for path in paths]
        for file, piece in zip(files, pieces, strict=True):
            if piece is not None:
                file.write_bytes(piece)
        if missing:
            workers = workers_for(len(missing), FEW)
            announce(len(missing), START + SECONDS * len(missing) / workers, bar, " for a page")
            before = len(units) - len(missing)

            def look() -> None:
                compiling.done = len([*folder.glob(f"*{compile_pieces.PIECE}")]) - before

            run(compile_pieces.__name__, [folder, *missing], folder, workers, look)
            for unit, file, piece in zip(units, files, pieces, strict=True):
                if piece is None:
                    keep(path_of_piece(unit, dtype), read(file), stem_of(unit, dtype))
        run(compile_module.__name__, [folder / "module", *files], folder)
        return read(folder / "module")


def read(path: Path) -> bytes:
    """Return the result that a child process has written; raise EngineError if missing."""
    try:
        return path.read_bytes()
    except OSError:
        raise failed("") from None


def failed(reason: str) -> EngineError:
    return EngineError(
        "the kernels of this page could not be compiled to WebAssembly: "
        + (reason or "the process that compiles them was ended")
    )


def run(
    module: str,
    words: Sequence[object],
    folder: Path,
    workers: int = 1,
    look: Callable[[], object] | None = None,
) -> None:
    """Run a module in child processes until all have exited; raise EngineError if one fails.

    Args:
        words: command-line arguments of the module
        folder: folder for the error output of the processes
        look: called repeatedly while the processes run
    """
    line = ["-P", "-W", "ignore", "-m", module, *map(str, words)]
    env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    env |= {**FOR_NUMBA, "PYTHONPATH": folders_of_modules(), "PYTHONIOENCODING": "utf-8"}
    said = [folder / f"errors.{k}" for k in range(workers)]

    def starting() -> Iterator[Any]:
        for path in said:
            with path.open("wb") as errors:
                try:
                    child = processes.start(line, stdin=subprocess.PIPE, stderr=errors, env=env)
                except OSError as error:
                    if path is not said[0]:
                        return  # the others compile everything
                    raise EngineError(
                        f"no process can be started to compile a page: {error}"
                    ) from None
            yield child

    for children in compiling.running(starting()):
        for child, path in zip(children, said, strict=False):
            if child.poll():
                text = path.read_text(encoding="utf-8", errors="replace")
                raise failed(text.strip().rpartition("\n")[2])
        if look is not None:
            look()


# ---- the module of all built-in kernels, made for a release -------------------------------------

SHARED_FOLDER = Path(__file__).with_name("modules")
DTYPES: tuple[Dtype, ...] = "float32", "float64"
# In the names of kernels.
NOT_IN_PAGES = "all_cores", "by_parts", "networks", "turn"


def units_of_pages() -> list[Unit]:
    """Return the kernels that pages may use, except for user-defined formulas."""
    return [
        unit
        for unit in dict.fromkeys(every_unit())
        if not any(word in unit.name for word in NOT_IN_PAGES)
        and not getattr(unit.row, "digest", "")  # only user-defined rows have one
        and not isinstance(unit.row, WithSettings)
    ]


def name_of(units: Sequence[Unit], dtype: Dtype) -> str:
    """Return the file name of a module, which does not depend on the installed compiler."""
    texts = [text_of(unit, dtype).replace(versions(), "", 1) for unit in units]
    return f"kernels_{dtype}_{hashlib.sha256(''.join(texts).encode()).hexdigest()[:20]}.wasm"


def shared_module(wanted: Sequence[Unit], dtype: Dtype) -> tuple[list[Unit], bytes] | None:
    """Return a prebuilt module, reduced to some kernels, and its kernels in order; None if missing.

    It is looked up in this folder and in the cache folder.
    """
    units = units_of_pages()
    places = {units.index(unit) for unit in wanted if unit in units}
    if len(places) < len(wanted):
        return None
    name = name_of(units, dtype)
    for folder in (SHARED_FOLDER, cache_folder()):
        content = kept(folder / name)
        if content is not None:
            return units, only(content, places)
    return None


def main(folder: Path = SHARED_FOLDER) -> None:
    """Write the modules of this version to a folder, and remove other ones."""
    units = units_of_pages()
    for other in folder.glob("*.wasm"):
        other.unlink()
    for dtype in DTYPES:
        keep(folder / name_of(units, dtype), module_of(units, dtype))


if __name__ == "__main__":
    main()
