"""The WebAssembly module of some kernels: compiled once, in a child process, and kept on disk."""

from __future__ import annotations

import hashlib
import inspect
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

from scalarviz.engines.codegen.cache_files import cache_folder, remove_old, replace_file
from scalarviz.engines.codegen.compile_kernel import LOOK, ROOT
from scalarviz.engines.codegen.compiling import aside
from scalarviz.engines.codegen.kernel_units import path_of_unit, text_of
from scalarviz.engines.codegen.unit_source import Dtype, Unit
from scalarviz.engines.wasm import compile_module, linking, llvm_text
from scalarviz.errors import EngineError
from scalarviz.errors.messages import inform
from scalarviz.process import children

STEM = "page"
DIGEST = hashlib.sha256().digest_size
SECONDS = 0.5  # to compile a kernel, on average
START = 2.0  # seconds to start compiling

# numba lowers every kernel for the same plain processor, and leaves optimizing to `compile_module`.
# Other settings of numba's, which the user may have, are not passed on.
FOR_NUMBA = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_OPT": "0"}
MAKERS = llvm_text, linking, compile_module


def module_of(units: Sequence[Unit], dtype: Dtype) -> bytes:
    """Return the module of kernels; kernel k has the place FIRST + k in its table of functions.

    Raises EngineError if it cannot be compiled.
    """
    path = path_of_module(units, dtype)
    content = kept(path)
    if content is None:
        content = aside(compiled, units, dtype)
        replace_file(path, hashlib.sha256(content).digest() + content)
        remove_old(path, STEM)
    return content


def path_of_module(units: Sequence[Unit], dtype: Dtype) -> Path:
    """Return where a module is kept; its name has a hash of everything that it depends on."""
    found = hashlib.sha256()
    for text in (version("llvmlite"), *map(inspect.getsource, MAKERS), *FOR_NUMBA.values()):
        found.update(text.encode())
    for unit in units:
        found.update(text_of(unit, dtype).encode())
    return cache_folder() / f"{STEM}_{found.hexdigest()[:20]}.wasm"


def kept(path: Path) -> bytes | None:
    """Return the module in a file; None if there is none, or the file is damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, module = content[:DIGEST], content[DIGEST:]
    return module if hashlib.sha256(module).digest() == digest else None


def compiled(units: Sequence[Unit], dtype: Dtype) -> bytes:
    """Return the module of kernels, compiled in a child process."""
    seconds = round(START + SECONDS * len(units))
    inform(
        f"scalarviz compiles {len(units)} kernels for a page, once; this takes about {seconds} s"
    )
    paths = [path_of_unit(unit, dtype) for unit in units]
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        module, said = Path(folder) / "module", Path(folder) / "errors"
        if run(module, paths, said) and module.is_file():
            return module.read_bytes()
        reason = said.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise EngineError(
        "the kernels of this page could not be compiled to WebAssembly: "
        + (reason[-1] if reason else "the process that compiles them was ended")
    )


def run(module: Path, paths: Sequence[Path], said: Path) -> bool:
    """Return whether a child process has written a module; its errors are in the file `said`."""
    words = ["-P", "-W", "ignore", "-m", "scalarviz.engines.wasm.compile_module"]
    folders = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    env |= {**FOR_NUMBA, "PYTHONPATH": os.pathsep.join(folders), "PYTHONIOENCODING": "utf-8"}
    with ExitStack() as opened:
        errors = opened.enter_context(said.open("wb"))
        try:
            child = children.start(
                [*words, str(module), *map(str, paths)],
                stdin=subprocess.PIPE, stderr=errors, env=env,
            )  # fmt: skip
        except OSError as error:
            raise EngineError(f"no process can be started to compile a page: {error}") from None
        opened.callback(children.end, child)
        while child.poll() is None:
            time.sleep(LOOK)
    return bool(child.returncode == 0)
