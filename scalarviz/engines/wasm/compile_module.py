"""Compile LLVM texts of kernels to optimized pieces, and link pieces to a WebAssembly module.

    python -m scalarviz.engines.wasm.compile_module MODULE PIECE ...

links the pieces into the file MODULE, in a separate process. If it fails, the last line of stderr
is the reason.

The module is made from the object file that LLVM emits: a module with relocation tables, which list
positions in its code that a linker fills in. Since there is a single object, indices of functions
and types are already correct; addresses of data are relocated. Kernels get indices in the function
table, by which they call each other. The memory, the table and the stack pointer are imported from
the page.

Memory begins with the stack. It grows down to address 0, so that a stack overflow is an access
outside the memory. It is followed by the constants of the module and the page's image.
"""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scalarviz.base.checks import require
from scalarviz.engines.codegen.compiling import end_with_parent
from scalarviz.engines.cpu.emitting import llvm
from scalarviz.errors import EngineError

STACK = 2**18  # bytes
FIRST = 1  # index of the first kernel in the function table; 0 means no kernel
ALIGNMENT = 64

# Functions provided by a page: C functions available in JavaScript.
IMPORTED = frozenset(
    "acos asin atan atan2 cos cosh exp expm1 fmod log log10 log1p log2 pow sin sinh tan tanh "
    "cosf expf fmodf logf powf sinf tanhf".split()
)
MEMORY, TABLE, POINTER = "__linear_memory", "__indirect_function_table", "__stack_pointer"

# Numbers of sections, of kinds of imports and symbols, and of relocations.
CUSTOM, TYPES, IMPORTS, FUNCTIONS, ELEMENTS, CODE, DATA, DATA_COUNT = 0, 1, 2, 3, 9, 10, 11, 12
SECTIONS = TYPES, IMPORTS, FUNCTIONS, ELEMENTS, DATA_COUNT, CODE, DATA  # of a module, in order
A_FUNCTION, A_TABLE, A_MEMORY, A_GLOBAL = range(4)
FUNCTION_SYMBOL, DATA_SYMBOL, GLOBAL_SYMBOL, SECTION_SYMBOL, TABLE_SYMBOL = 0, 1, 2, 3, 5
UNDEFINED, EXPLICIT_NAME = 0x10, 0x40
SYMBOL_TABLE = 8
FUNCTION_INDEX, ADDRESS_LEB, ADDRESS_SLEB, ADDRESS_I32, TYPE_INDEX, GLOBAL_INDEX = 0, 3, 4, 5, 6, 7
TABLE_NUMBER = 20
IN_PLACE = {FUNCTION_INDEX, TYPE_INDEX, GLOBAL_INDEX, TABLE_NUMBER}
CONSTANT, END = 0x41, 0x0B  # the instruction i32.const, and the end of an expression
STOP = bytes([3, 0, 0, END])  # a function of 3 bytes without variables: unreachable
DETAILS = 1, 3, 2, 2  # numbers that describe an import, by its kind
ADDRESSES = {ADDRESS_LEB, ADDRESS_SLEB, ADDRESS_I32}


@dataclass(slots=True)
class Symbol:
    """A symbol of an object file: a function, or data in a segment; `name` is "" if unnamed."""

    kind: int
    name: str
    index: int  # index of the function or of the segment
    offset: int = 0  # in the segment
    defined: bool = True


@dataclass(slots=True)
class Segment:
    """A data segment of an object file: its offset from the first one, first byte, and end."""

    offset: int
    low: int
    high: int


class Bytes:
    """Reader of the numbers and strings in a WebAssembly module."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content = content
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def unsigned(self) -> int:
        return self._groups()[0]

    def signed(self) -> int:
        result, bits, last = self._groups()
        return result - (1 << bits) if last & 64 else result

    def _groups(self) -> tuple[int, int, int]:
        """Read a LEB128 number (groups of 7 bits); return it, its bit count, and its last byte."""
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return result, shift, byte

    def text(self) -> str:
        size = self.unsigned()
        self.at += size
        return self.content[self.at - size : self.at].decode()


def groups(last: range, number: int, width: int = 0) -> bytes:
    """Encode a number in LEB128, padded to `width` bytes; `last` is the range of the last group."""
    out: list[int] = []
    while number not in last or len(out) + 1 < width:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number & 127])


unsigned = partial(groups, range(128))
signed = partial(groups, range(-64, 64))


def section(number: int, *parts: bytes) -> bytes:
    """Encode a section of a module, given its number and content."""
    content = b"".join(parts)
    return bytes([number]) + unsigned(len(content)) + content


def sections_of(content: bytes) -> list[tuple[int, str, int, int]]:
    """Return the sections of an object file: number, custom name, first byte and end of content."""
    require(content[:8] == b"\0asm\1\0\0\0", "it does not begin as one", strange)
    found, reader = [], Bytes(content, 8)
    while reader.at < len(content):
        number, size = reader.byte(), reader.unsigned()
        end = reader.at + size
        found.append((number, reader.text() if number == CUSTOM else "", reader.at, end))
        reader.at = end
    return found


def linked(content: bytes, kernels: Iterable[str]) -> bytes:
    """Link an object file to a module whose function table contains the kernels in order.

    Kernel k has the index FIRST + k. Raises EngineError if the object has unexpected parts.
    """
    found = {name or number: (low, high) for number, name, low, high in sections_of(content)}
    symbols = symbols_of(content, *found["linking"])
    functions = {s.name: s.index for s in symbols if s.kind == FUNCTION_SYMBOL and s.defined}
    kernels = [*kernels]
    missing = [name for name in kernels if name not in functions]
    if missing:
        raise strange(f"it lacks {missing[0]}")
    segments = segments_of(content, *found[DATA]) if DATA in found else []
    changed = bytearray(content)
    for part, base in (("reloc.CODE", CODE), ("reloc.DATA", DATA)):
        if part in found:
            relocate(changed, found[part], found[base][0], symbols, segments)
    imports = imports_of(content, *found[IMPORTS], len(kernels))
    places = b"".join(unsigned(functions[name]) for name in kernels)
    first = bytes([0, CONSTANT]) + signed(FIRST) + bytes([END])
    data = [segment(each.offset, bytes(changed[each.low : each.high])) for each in segments]
    parts = {n: [bytes(changed[slice(*found[n])])] for n in SECTIONS if n in found}
    parts[IMPORTS] = [imports]
    parts[ELEMENTS] = [unsigned(1), first, unsigned(len(kernels)), places]
    parts[DATA] = [unsigned(len(data)), *data]
    unknown = {n for n in found if isinstance(n, int)} - ({CUSTOM, *SECTIONS} - {ELEMENTS})
    if unknown:
        raise strange(f"it has a section {min(unknown)}")
    return content[:8] + b"".join(section(n, *parts[n]) for n in SECTIONS if n in parts)


def symbols_of(content: bytes, low: int, high: int) -> list[Symbol]:
    """Read the symbol table in the section "linking"."""
    reader, symbols = Bytes(content, low), []
    require(reader.unsigned() == 2, "its table of symbols has another version", strange)
    while reader.at < high:
        kind, size = reader.byte(), reader.unsigned()
        end = reader.at + size
        if kind == SYMBOL_TABLE:
            symbols = [symbol_at(reader) for _ in range(reader.unsigned())]
        reader.at = end
    return symbols


def symbol_at(reader: Bytes) -> Symbol:
    """Read the next entry of a symbol table."""
    kind, flags = reader.byte(), reader.unsigned()
    defined = not flags & UNDEFINED
    if kind in (FUNCTION_SYMBOL, GLOBAL_SYMBOL, TABLE_SYMBOL):
        index = reader.unsigned()
        name = reader.text() if defined or flags & EXPLICIT_NAME else ""
        return Symbol(kind, name, index, defined=defined)
    if kind == DATA_SYMBOL:
        name = reader.text()
        require(defined, f"it needs the data {name}", strange)
        index, offset = reader.unsigned(), reader.unsigned()
        reader.unsigned()  # size
        return Symbol(kind, name, index, offset)
    if kind == SECTION_SYMBOL:
        return Symbol(kind, "", reader.unsigned())
    raise strange(f"it has a symbol of kind {kind}")


def segments_of(content: bytes, low: int, high: int) -> list[Segment]:
    """Read the segments of the data section."""
    reader, segments = Bytes(content, low), []
    for _ in range(reader.unsigned()):
        require(
            reader.unsigned() == 0 and reader.byte() == CONSTANT,
            "its data has no fixed place",
            strange,
        )
        offset = reader.signed()
        require(reader.byte() == END, "its data has no fixed place", strange)
        length = reader.unsigned()
        segments.append(Segment(offset, reader.at, reader.at + length))
        reader.at += length
    return segments


def segment(offset: int, content: bytes) -> bytes:
    """Encode a data segment, with its address in the memory of a page."""
    place = bytes([0, CONSTANT]) + signed(STACK + offset) + bytes([END])
    return place + unsigned(len(content)) + content


def relocate(
    content: bytearray,
    table: tuple[int, int],
    start: int,
    symbols: Sequence[Symbol],
    segments: Sequence[Segment],
) -> None:
    """Write addresses of data to the section that begins at `start`, by its relocation table."""
    reader = Bytes(bytes(content), table[0])
    reader.unsigned()  # number of the section
    for _ in range(reader.unsigned()):
        kind, at, number = reader.byte(), start + reader.unsigned(), reader.unsigned()
        if kind in ADDRESSES:
            symbol = symbols[number]
            address = STACK + segments[symbol.index].offset + symbol.offset + reader.signed()
            wide = {ADDRESS_LEB: unsigned(address, 5), ADDRESS_SLEB: signed(address, 5)}
            written = wide.get(kind, struct.pack("<I", address))
            content[at : at + len(written)] = written
        elif kind not in IN_PLACE:
            raise strange(f"it has a relocation of kind {kind}")


def imports_of(content: bytes, low: int, high: int, kernels: int) -> bytes:
    """Return the section of imports, with a function table for `kernels` kernels.

    Raises:
        EngineError: if a function is imported that pages do not provide.
    """
    reader, parts, names = Bytes(content, low), [], set()
    count = reader.unsigned()
    for _ in range(count):
        head = reader.at
        reader.text()
        name, end = reader.text(), reader.at
        kind, detail = reader.byte(), reader.at
        names.add(name)
        if kind == A_FUNCTION:
            reader.unsigned()
            require(name in IMPORTED, f"it calls {name}, which pages do not have", strange)
        elif kind == A_GLOBAL and name == POINTER:
            reader.at += 2
        elif (kind, name) in ((A_MEMORY, MEMORY), (A_TABLE, TABLE)):
            reader.at += kind == A_TABLE  # its type
            require(reader.byte() == 0, f"its {name} is limited", strange)
            reader.unsigned()
        else:
            raise strange(f"it imports {name}")
        described = content[detail : reader.at]
        if kind == A_TABLE:
            described = bytes([content[detail], 0]) + unsigned(FIRST + kernels)
        parts.append(content[head:end] + bytes([kind]) + described)
    for name in (MEMORY, TABLE):
        require(name in names, f"it does without {name}", strange)
    return unsigned(count) + b"".join(parts)


def only(content: bytes, kernels: Container[int]) -> bytes:
    """Return a linked module in which only the given `kernels` have bodies; others are empty.

    All kernels keep their indices in the function table; calling an empty one stops the program.
    """
    found = {number: (low, high) for number, _, low, high in sections_of(content)}
    reader, imported = Bytes(content, found[IMPORTS][0]), 0
    for _ in range(reader.unsigned()):
        reader.text()
        reader.text()
        kind = reader.byte()
        imported += kind == A_FUNCTION
        for _ in range(DETAILS[kind]):
            reader.unsigned()
    reader = Bytes(content, found[ELEMENTS][0] + 3)  # after the header of its only segment
    reader.signed()
    reader.byte()
    functions = [reader.unsigned() - imported for _ in range(reader.unsigned())]
    left = {function for k, function in enumerate(functions) if k not in kernels}
    left -= {function for k, function in enumerate(functions) if k in kernels}
    reader = Bytes(content, found[CODE][0])
    bodies = [unsigned(count := reader.unsigned())]
    for k in range(count):
        size, start = reader.unsigned(), reader.at
        reader.at += size
        bodies.append(STOP if k in left else unsigned(size) + content[start : reader.at])
    parts = {number: [content[low:high]] for number, (low, high) in found.items()} | {CODE: bodies}
    return content[:8] + b"".join(section(number, *part) for number, part in parts.items())


def end_of_data(content: bytes) -> int:
    """Return the first address after a module's data, where a page's image can begin."""
    end = STACK
    for number, _, low, high in sections_of(content):
        if number == DATA:
            segments = segments_of(content, low, high)
            end = max([end, *[each.offset + each.high - each.low for each in segments]])
    return -(-end // ALIGNMENT) * ALIGNMENT


def strange(what: str) -> EngineError:
    """Return the error to raise for an object file with unexpected content."""
    return EngineError(
        f"this version of llvmlite writes WebAssembly in a form that is not known here: {what}"
    )


# ---- pieces and the module ----------------------------------------------------------------------

TRIPLE = "wasm32-unknown-unknown"
FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
SPEED = 3  # level of optimization


def symbol_of(path: Path) -> str:
    """Return the name of a kernel's function, given the path of its file or piece."""
    return f"kernel.{path.stem}"


def target() -> Any:
    """Return LLVM's target machine: WebAssembly with the features that pages require."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(
        opt=SPEED, features=FEATURES, reloc="static"
    )


def piece_of(text: str, machine: Any) -> bytes:
    """Compile an LLVM text to optimized bitcode."""
    part = llvm.parse_assembly(text)
    part.triple, part.data_layout = TRIPLE, str(machine.target_data)
    part.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=SPEED)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(part, builder)
    content: bytes = part.as_bitcode()
    return content


def module_of(pieces: Iterable[bytes], symbols: Sequence[str], machine: Any) -> bytes:
    """Link pieces to a module; the function symbols[k] has the index FIRST + k in its table."""
    first, *others = map(llvm.parse_bitcode, pieces)
    for other in others:
        first.link_in(other)
    first.verify()
    return linked(machine.emit_object(first), symbols)


def main(words: Sequence[str]) -> None:
    """Write a module; if that fails, exit with the reason as error."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    paths = [Path(word) for word in words[1:]]
    try:
        pieces = [path.read_bytes() for path in paths]
        content = module_of(pieces, [symbol_of(path) for path in paths], target())
    except (EngineError, RuntimeError) as error:  # raised by LLVM
        sys.exit(str(error).strip())
    Path(words[0]).write_bytes(content)


if __name__ == "__main__":
    main(sys.argv[1:])
