"""Compiles kernels to one WebAssembly module, in a process of its own.

    python -m scalarviz.engines.wasm.compile_module MODULE FILE ...

writes the module of the kernels of the files. If that fails, the last line of its errors says why.
The environment tells numba for which processor it compiles and not to optimize; see `module`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # it has no types

from scalarviz.engines.codegen.compile_kernel import end_with_parent
from scalarviz.engines.wasm.linking import linked
from scalarviz.engines.wasm.llvm_text import symbol_of, texts
from scalarviz.errors import EngineError

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
SPEED = 3  # level of optimization


def module_of(paths: Sequence[Path]) -> bytes:
    """Return the module of the kernels of files, in order."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        opt=SPEED, features=FEATURES, reloc="static"
    )
    whole: Any = None
    for text in texts(paths):
        part = llvm.parse_assembly(text)
        part.triple, part.data_layout = TRIPLE, str(machine.target_data)
        if whole is None:
            whole = part
        else:
            whole.link_in(part)
    whole.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(whole, builder)
    return linked(machine.emit_object(whole), [symbol_of(k) for k in range(len(paths))])


def main(words: Sequence[str]) -> None:
    """Write a module; end with an error and its reason if that fails."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        content = module_of([Path(word) for word in words[1:]])
    except EngineError as error:
        sys.exit(str(error))
    Path(words[0]).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
