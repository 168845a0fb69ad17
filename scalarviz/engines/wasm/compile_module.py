"""Kernels of LLVM text become optimized pieces, and pieces become one WebAssembly module.

    python -m scalarviz.engines.wasm.compile_module MODULE PIECE ...

writes the module of pieces, in a process of its own. If that fails, the last line of its errors
says why, and the status is DAMAGED if LLVM cannot read a piece.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scalarviz.base.messages import say
from scalarviz.engines.codegen.compile_kernel import end_with_parent
from scalarviz.engines.cpu.emitting import llvm
from scalarviz.engines.wasm.linking import linked
from scalarviz.errors import EngineError

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
DAMAGED = 3  # status of this process
SPEED = 3  # level of optimization


def symbol_of(path: Path) -> str:
    """Return the name of the function of a kernel, given its file or its piece."""
    return f"kernel.{path.stem}"


def target() -> Any:
    """Return what LLVM calls the machine: WebAssembly with the features that pages need."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(
        opt=SPEED, features=FEATURES, reloc="static"
    )


def piece_of(text: str, machine: Any) -> bytes:
    """Return a text as optimized bitcode."""
    part = llvm.parse_assembly(text)
    part.triple, part.data_layout = TRIPLE, str(machine.target_data)
    part.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(part, builder)
    content: bytes = part.as_bitcode()
    return content


def module_of(pieces: Iterable[bytes], symbols: Sequence[str], machine: Any) -> bytes:
    """Return the module of pieces; function k of `symbols` has the place FIRST + k in its table."""
    first, *others = map(llvm.parse_bitcode, pieces)
    for other in others:
        first.link_in(other)
    first.verify()
    return linked(machine.emit_object(first), symbols)


def main(words: Sequence[str]) -> None:
    """Write a module; end with an error and its reason if that fails."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    paths = [Path(word) for word in words[1:]]
    try:
        pieces = [path.read_bytes() for path in paths]
        content = module_of(pieces, [symbol_of(path) for path in paths], target())
    except EngineError as error:
        sys.exit(str(error))
    except RuntimeError as error:  # of LLVM
        say(str(error).strip(), file=sys.stderr)  # which the process that waits reads
        sys.exit(DAMAGED)
    Path(words[0]).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
