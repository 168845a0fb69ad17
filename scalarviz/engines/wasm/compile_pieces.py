"""Compile kernels to pieces of a WebAssembly module; several processes can share the work.

    python -m scalarviz.engines.wasm.compile_pieces FOLDER FILE ...

compiles the kernel in each file and writes its piece into the folder, except those begun by
another process with the same folder. If it fails, the last line of stderr is the reason. The
environment sets numba's target processor and disables optimization; see `module.py`.

numba compiles a kernel for the current machine, with wrappers for Python. Here it compiles without
optimization, the wrappers are removed, and the rest is converted for another target.

Few kernels allocate arrays. Their memory is a second stack: an array is freed when it is the last
one on that stack and is no longer referenced.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from scalarviz.base.checks import require
from scalarviz.base.kernel_files import run_file
from scalarviz.engines.codegen.compiling import end_with_parent
from scalarviz.engines.cpu import products
from scalarviz.engines.wasm.compile_module import piece_of, symbol_of, target
from scalarviz.errors import EngineError

# Functions of numba with versions for pages.
MEMORY_OF_NUMBA = ("NRT_incref", "NRT_decref", "NRT_MemInfo_alloc_aligned")
WRAPPER = "cfunc."
OF_PYTHON = "_ZN7cpython"
# C functions that are instructions of every target.
INSTRUCTIONS = re.compile(r"@(sqrt|floor|ceil|trunc|fabs|rint)(f?)\(")
NAME = re.compile(r'@("?)([^"(]+)\1\(')
DEFINITION = re.compile(r"^define (?:linkonce_odr |internal |private |hidden |dso_local )*")
# Three words of memory: the end of the arrays, the end of their memory, and the last array.
HEAP = 16
# A block begins with numba's record of an array: references, two pointers, the first one to the
# previous block, and a pointer to the data.
RECORD = "{ i64, ptr, ptr, ptr, i64 }"
MEMORY = f"""
define internal ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %alignment) {{
begin:
  %block = load i32, ptr inttoptr (i32 {HEAP} to ptr)
  %room = load i32, ptr inttoptr (i32 {HEAP + 4} to ptr)
  %last = load ptr, ptr inttoptr (i32 {HEAP + 8} to ptr)
  %first = zext i32 %block to i64
  %limit = zext i32 %room to i64
  %needed = add i64 %size, 127
  %whole = and i64 %needed, -64
  %end = add i64 %first, %whole
  %fits = icmp ule i64 %end, %limit
  %sane = icmp ult i64 %size, 2147483648
  %good = and i1 %fits, %sane
  br i1 %good, label %made, label %full
made:
  %next = trunc i64 %end to i32
  %info = inttoptr i32 %block to ptr
  %start = add i32 %block, 64
  %data = inttoptr i32 %start to ptr
  %before = getelementptr {RECORD}, ptr %info, i32 0, i32 1
  %place = getelementptr {RECORD}, ptr %info, i32 0, i32 3
  store i64 1, ptr %info
  store ptr %last, ptr %before
  store ptr %data, ptr %place
  store i32 %next, ptr inttoptr (i32 {HEAP} to ptr)
  store ptr %info, ptr inttoptr (i32 {HEAP + 8} to ptr)
  ret ptr %info
full:
  call void @llvm.trap()
  unreachable
}}
define internal void @NRT_incref(ptr %info) {{
begin:
  %none = icmp eq ptr %info, null
  br i1 %none, label %done, label %count
count:
  %old = load i64, ptr %info
  %new = add i64 %old, 1
  store i64 %new, ptr %info
  br label %done
done:
  ret void
}}
define internal void @NRT_decref(ptr %info) {{
begin:
  %none = icmp eq ptr %info, null
  br i1 %none, label %done, label %count
count:
  %old = load i64, ptr %info
  %new = add i64 %old, -1
  store i64 %new, ptr %info
  br label %look
look:
  %last = load ptr, ptr inttoptr (i32 {HEAP + 8} to ptr)
  %empty = icmp eq ptr %last, null
  br i1 %empty, label %done, label %test
test:
  %uses = load i64, ptr %last
  %used = icmp ne i64 %uses, 0
  br i1 %used, label %done, label %free
free:
  %where = getelementptr {RECORD}, ptr %last, i32 0, i32 1
  %before = load ptr, ptr %where
  %address = ptrtoint ptr %last to i32
  store i32 %address, ptr inttoptr (i32 {HEAP} to ptr)
  store ptr %before, ptr inttoptr (i32 {HEAP + 8} to ptr)
  br label %look
done:
  ret void
}}
"""
# Results of numba's code without an error: nothing, or None.
GOOD = (0, -2)


def compiled_text(path: Path) -> tuple[str, str]:
    """Compile the kernel in a file with numba; return its name and its LLVM text."""
    module = run_file(path)
    module.compiled.compile()
    return str(module.compiled.native_name), str(module.compiled.inspect_llvm())


def portable(name: str, text: str, symbol: str) -> str:
    """Convert the LLVM text of a kernel to a function `symbol` of integers without a result.

    The function stops the program if the kernel raises an error. Raises EngineError if the text is
    not in the expected form.
    """
    require(name.startswith(WRAPPER), f"a kernel is called {name}", unexpected)
    native = name.removeprefix(WRAPPER)
    kept, parameters = [], None
    for function in pieces(text):
        head = function[0]
        found = NAME.search(head)
        if found is not None and found.group(2) in MEMORY_OF_NUMBA:
            continue
        if not head.startswith("define "):
            if not head.startswith("target "):
                kept += function
            continue
        if found is None:
            raise unexpected(f"a function begins with {head[:80]}")
        called = found.group(2)
        if called == name:
            parameters = parameters_of(head[found.end() :])
        if not called.startswith((WRAPPER, OF_PYTHON)):
            kept += [DEFINITION.sub("define internal ", head), *function[1:]]
    if parameters is None:
        raise unexpected(f"{native} is not in it")
    body = (
        "\n".join(kept)
        .replace(" = common ", " = internal ")
        .replace(" = linkonce ", " = internal ")
    )
    body = INSTRUCTIONS.sub(lambda m: f"@llvm.{m[1]}.{'f32' if m[2] else 'f64'}(", body)
    return f"{body}\n{MEMORY}\n{wrapper(native, symbol, parameters)}"


def pieces(text: str) -> Iterator[list[str]]:
    """Yield the functions of an LLVM text, each as a list of lines, and the lines between them."""
    lines = iter(text.splitlines())
    for line in lines:
        piece = [line]
        if line.startswith("define "):
            while piece[-1] != "}":
                piece.append(next(lines))
        yield piece


def parameters_of(rest: str) -> int:
    """Return the number of integer arguments of a kernel, from the end of its wrapper's head."""
    kinds = [part.split()[0] for part in rest.partition(")")[0].split(", ")]
    require(set(kinds) == {"i64"}, f"a kernel takes {', '.join(kinds)}", unexpected)
    return len(kinds)


def wrapper(native: str, symbol: str, parameters: int) -> str:
    """Return the LLVM text of a function that calls a kernel and stops the program if it fails."""
    given = [f"i64 %{k}" for k in range(parameters)]
    quoted = f'@"{native}"'
    return f"""
define void @{symbol}({", ".join(given)}) {{
begin:
  %result = alloca ptr
  %error = alloca ptr
  %status = call i32 {quoted}({", ".join(["ptr %result", "ptr %error", *given])})
  switch i32 %status, label %bad [{" ".join(f"i32 {good}, label %good" for good in GOOD)}]
good:
  ret void
bad:
  call void @llvm.trap()
  unreachable
}}
declare void @llvm.trap()
"""


def unexpected(what: str) -> EngineError:
    """Return the error to raise for an LLVM text in an unexpected form."""
    return EngineError(
        f"this version of numba writes kernels in a form that cannot become WebAssembly: {what}"
    )


# ---- pieces -------------------------------------------------------------------------------------

# Four sums of this many bits are in registers at once: a page has 16, of 128 bits each.
LINE_BITS = 256
PIECE, BEGUN = ".bc", ".begun"  # suffixes in the folder


def has_begun(path: Path) -> bool:
    """Return whether another process has begun a piece; if not, mark it as begun."""
    try:
        os.close(os.open(path.with_suffix(BEGUN), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return True
    return False


def main(words: Sequence[str]) -> None:
    """Write pieces; if that fails, exit with the reason as error."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    gc.disable()  # takes a tenth of the time; the process ends soon
    products.LINE_BITS = LINE_BITS
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
