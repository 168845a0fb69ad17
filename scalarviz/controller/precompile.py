"""Compiles kernels in a process of its own before they are needed.

    python -m scalarviz.controller.precompile float32 expression-float64 means

compiles these kinds and marks them on disk. Compiled kernels load quickly.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from scalarviz.autograd.value import Value
from scalarviz.engines.codegen import kernel_file
from scalarviz.engines.codegen.kernel_file import Target
from scalarviz.engines.cpu.calls import TEMPLATE
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import ScalarvizError
from scalarviz.files.runs import needs_of_run
from scalarviz.layers import Conv2d, Dense, LayerNorm
from scalarviz.model.bank import Dtype
from scalarviz.model.optimizer import SGD
from scalarviz.network.expression import compile as compile_function
from scalarviz.network.network import Network
from scalarviz.presenter.scene_layout import layout_of
from scalarviz.session.replicas import replicate
from scalarviz.session.session import Session
from scalarviz.texts import text
from scalarviz.view.cubes import mip_levels

COMMAND = ("-m", "scalarviz.controller.precompile")
EXPRESSION = "scalarviz.engines.expression.kernels"
CUDA = "scalarviz.engines.cuda.kernels", "scalarviz.engines.cuda.steps"
DTYPES: tuple[Dtype, ...] = ("float32", "float64")

# The templates of the kernels of each kind.
KINDS: dict[str, tuple[tuple[str, Dtype, Target], ...]] = {
    **{each: ((TEMPLATE, each, "cpu"),) for each in DTYPES},
    "replicas": ((TEMPLATE, "float32", "cpu"),),
    **{f"expression-{each}": ((EXPRESSION, each, "cpu"),) for each in DTYPES},
    **{f"cuda-{each}": tuple((template, each, "cuda") for template in CUDA) for each in DTYPES},
    "means": (),
}


def name_of(kind: str) -> str:
    """Return the name of a kind."""
    family, _, dtype = kind.rpartition("-")
    if dtype in DTYPES:
        return text(f"compiling.kinds.{family or 'network'}", dtype=dtype)
    return text(f"compiling.{kind}")


def kind_of(session: Session, engine: str) -> str:
    """Return the kind of kernels that a session needs on an engine; "" for python."""
    if engine == "python":
        return ""
    dtype = session.network.bank.dtype
    if not session.network.layers:
        return f"expression-{dtype}"
    return dtype if engine == "cpu" else f"{engine}-{dtype}"


def kinds_of_run(path: object) -> list[str]:
    """Return the kinds that a saved run needs; [] if the file cannot be read."""
    try:
        dtype, engines = needs_of_run(path)
    except (ScalarvizError, OSError):
        return []
    here = {name for name, row in ENGINES.items() if not row.lack()} - {"python"}
    found = [dtype if each == "cpu" else f"{each}-{dtype}" for each in engines & here]
    return [kind for kind in found if kind in KINDS]


def is_ready(kind: str) -> bool:
    """Return whether a kind is compiled for the current formulas."""
    if kind.startswith("cuda") and os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        return True  # the simulator compiles nothing
    try:
        files = mark_of(kind).read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return bool(files) and all(Path(file).exists() for file in files)


def mark_of(kind: str) -> Path:
    """Return the file that marks a kind as compiled, and lists its compiled files."""
    texts = [kernel_file.text_of(*template) for template in KINDS[kind]]
    texts = texts or [
        kernel_file.module_text(mip_levels.__name__),
        kernel_file.versions(),
        kept_means(),
    ]
    texts.append(os.environ.get("NUMBA_CACHE_DIR", ""))
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()[:20]
    return kernel_file.cache_folder() / f"compiled_{kind}_{digest}.txt"


def words_for(kind: str) -> str:
    """Return the argument for another process, so that it compiles the same kernels."""
    paths = [str(kernel_file.written(*template)) for template in KINDS[kind]]
    return f"{kind}={os.pathsep.join(paths)}"


def compile_kind(word: str) -> None:
    """Compile a kind, from source files of another process if the word names them."""
    kind, _, paths = word.partition("=")
    templates = KINDS[kind]
    for path, template in zip(paths.split(os.pathsep) if paths else (), templates, strict=False):
        kernel_file.adopt(Path(path), *template)
    family, _, dtype = kind.rpartition("-")
    if kind == "replicas":
        compile_replicas()
    elif kind == "means":
        compile_means()
    elif family == "expression":
        compile_expression(dtype)
    else:
        compile_network(dtype, family or "cpu")
    files = [str(file) for file in files_of(templates)]
    with suppress(OSError):
        mark_of(kind).write_text("\n".join(files), encoding="utf-8")


def files_of(templates: Sequence[tuple[str, Dtype, Target]]) -> list[Path]:
    """Return the compiled files."""
    if not templates:
        return list(Path(kept_means()).glob("mip_levels.*.nb?"))
    return [
        file
        for template in templates
        for file in kernel_file.compiled_files(kernel_file.written(*template))
    ]


def kept_means() -> str:
    """Return the folder of numba's cache for the module `mip_levels`."""
    kernel: Any = mip_levels.block_means
    return str(kernel._cache.cache_path)


def compile_network(dtype: Any, engine: str) -> None:
    """Take steps of each kind, in one go and operation by operation."""
    for batch in (1, 8):
        layers = [Dense(2, 3, "tanh"), LayerNorm(3), Dense(3, 1, "sigmoid")]
        network = Network(layers, dtype=dtype)
        data = [[0.0, 1.0]] * 8, [[1.0]] * 8
        session = Session(network, data, "mse", SGD(0.1), batch=batch, engine=engine)
        session.advance(2)
        session.advance(len(session.operations), "operation")
        network([[0.0, 1.0]] * 200)
    wide = [[0.0] * 64] * 128  # large enough for two cores
    Session(Network([64, 64], dtype=dtype), (wide, wide), "mse", SGD(0.1), engine=engine).advance(1)


def compile_replicas() -> None:
    """Take a step of two replicas."""
    session = Session(Network([2, 3, 1], "tanh"), ([[0.0, 1.0]] * 4, [[1.0]] * 4), engine="cpu")
    replicate(session, seeds=range(2)).advance(1)


def compile_expression(dtype: str) -> None:
    """Take steps of a compiled function, and call its four verbs."""
    slope, shift = Value(1.0), Value(0.0)
    line = compile_function(lambda x: slope * x + shift, inputs=1, dtype=dtype, engine="cpu")
    session = Session(line, ([[0.0]] * 4, [[1.0]] * 4), "mse", SGD(0.1), engine="cpu")
    session.advance(2)
    session.advance(len(session.operations), "operation")
    line.forward([[1.0]])
    line.backward()
    line.step(SGD(0.1))


def compile_means() -> None:
    """Fill the mip levels of a plate, and of a tiled one."""
    wide, pair = Network([64, 64]), ([[0.0] * 64], [[0.0] * 64])
    kernels = Network([Conv2d((16, 4, 4), 16, 3)])
    pictures = [[0.0] * kernels.inputs], [[0.0] * kernels.outputs]
    palette = np.zeros((4, 3), np.float32)
    for network, data in ((wide, pair), (kernels, pictures)):
        numbers = np.zeros(len(network.bank), np.float32)
        for plate in layout_of(Session(network, data, engine="python")).plates:
            if mip_levels.levels_of(plate):
                rows, columns = mip_levels.room_of(plate)
                table = np.zeros((rows, 4 * columns, 4), np.uint8)
                mip_levels.fill(table, plate, numbers, numbers, (1.0, 0.0, 1.0), palette, 1)


if __name__ == "__main__":
    for each in sys.argv[1:] or ["float32"]:
        compile_kind(each)
