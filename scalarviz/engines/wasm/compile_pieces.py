"""Compiles kernels to pieces of a WebAssembly module, in a process of its own, beside others.

    python -m scalarviz.engines.wasm.compile_pieces FOLDER FILE ...

compiles the kernels of the files and writes the piece of each into the folder, except those that
another process with the same folder has begun. If that fails, the last line of its errors says why.
The environment tells numba for which processor it compiles and not to optimize; see `module`.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from scalarviz.engines.codegen.compile_kernel import end_with_parent
from scalarviz.engines.cpu import simd
from scalarviz.engines.wasm.compile_module import piece_of, symbol_of, target
from scalarviz.engines.wasm.llvm_text import compiled_text, portable
from scalarviz.errors import EngineError

# Four sums of as many bits are in registers at once: a page has 16, of 128 bits each.
LINE_BITS = 256
PIECE, BEGUN = ".bc", ".begun"  # suffixes in the folder


def has_begun(path: Path) -> bool:
    """Return whether a process has begun a piece; if none has, this one has now."""
    try:
        os.close(os.open(path.with_suffix(BEGUN), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return True
    return False


def main(words: Sequence[str]) -> None:
    """Write pieces; end with an error and its reason if that fails."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    gc.disable()  # a tenth of the time; the process ends soon
    simd.LINE_BITS = LINE_BITS
    machine = target()
    for word in words[1:]:
        path = Path(words[0], Path(word).name)
        if has_begun(path):
            continue
        try:
            text = portable(*compiled_text(Path(word)), symbol_of(path))
        except EngineError as error:
            sys.exit(str(error))
        unfinished = path.with_suffix(".new")
        unfinished.write_bytes(piece_of(text, machine))
        unfinished.replace(path.with_suffix(PIECE))


if __name__ == "__main__":
    main(sys.argv[1:])
