"""Compiles kernels to one WebAssembly module, in a process of its own.

    python -m scalarviz.engines.wasm.compile_module MODULE FILE ...

writes the module of the kernels of the files. If that fails, the last line of its errors says why.
The environment tells numba for which processor it compiles and not to optimize; see `module`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]  # it has no types

from scalarviz.engines.codegen.compile_kernel import end_with_parent
from scalarviz.engines.cpu import simd
from scalarviz.engines.wasm.linking import linked
from scalarviz.engines.wasm.llvm_text import symbol_of, texts
from scalarviz.errors import EngineError

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
SPEED = 3  # level of optimization
# Four sums of as many bits are in registers at once: a page has 16, of 128 bits each.
LINE_BITS = 256


def module_of(texts: Iterable[str]) -> bytes:
    """Return the module of texts; number k defines the kernel `symbol_of(k)`."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(
        opt=SPEED, features=FEATURES, reloc="static"
    )
    whole: Any = None
    count = 0
    for text in texts:
        count += 1
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
    return linked(machine.emit_object(whole), [symbol_of(k) for k in range(count)])


def main(words: Sequence[str]) -> None:
    """Write a module; end with an error and its reason if that fails."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    simd.LINE_BITS = LINE_BITS
    try:
        content = module_of(texts([Path(word) for word in words[1:]]))
    except EngineError as error:
        sys.exit(str(error))
    Path(words[0]).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
