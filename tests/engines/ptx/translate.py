"""Functions of PTX as generators in Python, one of which each thread runs.

A register is a local variable. A generator yields the index of a barrier where its thread waits,
and is sent whether that barrier is left out. Basic blocks are the leaves of a tree of comparisons;
each says which one comes next.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.engines.ptx import arithmetic
from tests.engines.ptx.expressions import WIDTHS, name_of, operand_of, value_of
from tests.engines.ptx.text import Function, Instruction, Text, read

BLOCK, GRID, POLL = "block", "grid", "poll"  # who waits at a barrier; POLL: one thread
NO_NUMBERS = "fence", "membar", "griddepcontrol", "prefetch"
KINDS = "u8", "u16", "u32", "u64", "f32", "f64"  # of loads and stores
# Variables of every function, which are attributes of its thread.
OF_THREAD = [
    "tid_x", "ntid_x", "ctaid_x", "nctaid_x", "dynamic_smem_size", "atomic", "acquire", "copy",
    "wait_for_copies", "load_constant", "jump_back",
    *[f"{verb}_{kind}" for verb in ("load", "store") for kind in KINDS],
]  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A kernel that can be launched.

    entry        the generator: its arguments are a thread and those of the kernel
    shared_size  bytes of shared arrays of a fixed size
    constants    bytes of arrays that nobody writes, by name
    barriers     the kind of each, in the order of the text
    """

    name: str
    entry: Callable[..., Any]
    parameters: int
    shared_size: int
    constants: dict[str, bytes]
    barriers: tuple[str, ...]


def translate(ptx: str) -> Program:
    """Return the kernel of a PTX text."""
    text = read(ptx)
    (kernel,) = [each for each in text.functions if each.is_kernel]
    barriers: list[str] = []
    lines = [line for each in text.functions for line in Translator(each, text, barriers).lines()]
    known: dict[str, Any] = {**vars(arithmetic)}
    source, file = "\n".join(lines), f"<{kernel.name[:60]}>"
    exec(compile(source, file, "exec"), known)
    linecache.cache[file] = len(source), None, source.splitlines(True), file  # for tracebacks
    size, entry = text.shared_size, known[kernel.name]
    parameters = len(kernel.parameters)
    return Program(kernel.name, entry, parameters, size, text.constants, tuple(barriers))


@dataclass
class Translator:
    """Translates a function; adds the barriers that it finds to `barriers`."""

    function: Function
    text: Text
    barriers: list[str]

    def lines(self) -> Iterator[str]:
        yield f"def {self.function.name}({', '.join(['thread', *self.function.parameters])}):"
        body = list(tree(self.blocks(), 0, "  "))
        used = set(re.findall(r"[a-z_]\w*", " ".join(body)))
        yield from (f" {name} = thread.{name}" for name in OF_THREAD if name in used)
        for name, place in self.text.shared.items():
            yield f" {name} = thread.shared + {place}"
        yield from (f" {name} = thread.constants[{name!r}]" for name in self.text.constants)
        for name, size in self.function.local.items():
            yield f" {name} = thread.take_local({size})"
        yield " block = 0"
        yield " while True:"
        yield from body
        yield " yield"  # which makes a generator of it

    def blocks(self) -> list[list[str]]:
        """Return the lines of each basic block, which end with the choice of the next one."""
        blocks, places = basic_blocks(self.function)
        found = []
        for i, block in enumerate(blocks):
            lines = [line for each in block for line in self.guarded(each)]
            jump = block[-1] if block and block[-1].parts[0] == "bra" else None
            target = places[jump.operands[0]] if jump else i + 1
            rule = f" if {jump.guard} else {i + 1}" if jump and jump.guard else ""
            back = ["jump_back()"] if target <= i else []
            found.append([*lines, *back, f"block = {target}{rule}"])
        return found

    def guarded(self, each: Instruction) -> list[str]:
        try:
            lines = self.statements(each)
        except (KeyError, ValueError) as error:  # most likely where no test comes
            lines = [f"raise NotImplementedError({f'{each}: {error!r}'!r})"]
        return [f"if {each.guard}: {line}" for line in lines] if each.guard else lines

    def statements(self, each: Instruction) -> list[str]:
        """Return an instruction as statements."""
        name = each.parts[0]
        if name == "bra" or name in NO_NUMBERS:
            return []
        if name == "ret":
            return [f"return {self.function.result}"]
        if name in ("bar", "barrier"):
            return [f"yield {self.barrier(BLOCK)}"]
        if name == "call":
            return [self.call(*each.operands)]
        if name == "cp":
            return [copied(each)]
        if name in ("atom", "red"):
            return [atomic(each)]
        if "acquire" in each.parts:
            place, target = address(each.operands[1]), name_of(each.operands[0])
            return [f"{target} = acquire({place}, (yield {self.barrier(POLL)}))"]
        if name in ("ld", "st"):
            return moves(each)
        if name == "mov" and "{" in "".join(each.operands):
            return halves(*each.operands)
        return [f"{name_of(each.operands[0])} = {value_of(each)}"]

    def barrier(self, kind: str) -> int:
        self.barriers.append(kind)
        return len(self.barriers) - 1

    def call(self, result: str, name: str, arguments: str = "") -> str:
        """Return a call of another function; what it gets and gives are variables."""
        if name == "cudaCGGetIntrinsicHandle":
            found = "1"  # the only one: the grid
        elif name == "cudaCGSynchronize":
            found = f"yield {self.barrier(GRID)}"
        else:
            found = f"yield from {name}({', '.join(['thread', *words(arguments)])})"
        return f"{words(result)[0]} = {found}"


def basic_blocks(function: Function) -> tuple[list[list[Instruction]], dict[str, int]]:
    """Return the parts of a function that are entered at the first instruction only, and labels."""
    blocks: list[list[Instruction]] = [[]]
    places: dict[str, int] = {}
    for each in function.body:
        if isinstance(each, str):
            if blocks[-1]:
                blocks.append([])
            places[each] = len(blocks) - 1
        else:
            blocks[-1].append(each)
            if each.parts[0] in ("bra", "ret"):
                blocks.append([])
    return blocks, places


def tree(blocks: list[list[str]], first: int, space: str) -> Iterator[str]:
    """Yield the lines that run one of some blocks, of which the first has the number `first`."""
    if len(blocks) == 1:
        yield from (space + line for line in blocks[0])
        return
    half = len(blocks) // 2
    yield f"{space}if block < {first + half}:"
    yield from tree(blocks[:half], first, space + " ")
    yield f"{space}else:"
    yield from tree(blocks[half:], first + half, space + " ")


# ---- memory -------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    return re.findall(r"%?[\w.]+", text)


def address(text: str) -> str:
    """Return an address such as "[%rd3+-16]"."""
    base, _, offset = text.strip("[]").partition("+")
    return f"{operand_of(base, 'u64')} + {int(offset or 0)}"


def moves(each: Instruction) -> list[str]:
    """Return loads or stores, of several numbers at neighbouring places or of one.

    What is passed to a function is a variable.
    """
    kind = each.parts[-1]
    place, numbers = each.operands if each.parts[0] == "st" else each.operands[::-1]
    if each.parts[1] == "param":
        variable = words(place)[0]
        stores = f"{variable} = {operand_of(numbers, kind)}", f"{name_of(numbers)} = {variable}"
        return [stores[each.parts[0] == "ld"]]
    width, kind = WIDTHS[kind] // 8, kind.replace("s", "u").replace("b", "u")
    found = []
    for i, number in enumerate(words(numbers)):
        where = f"{address(place)} + {i * width}" if i else address(place)
        if "nc" in each.parts:
            found.append(f"load_constant({where})")
        if each.parts[0] == "ld":
            found.append(f"{name_of(number)} = load_{kind}({where})")
        else:
            found.append(f"store_{kind}({where}, {operand_of(number, kind)})")
    return found


def atomic(each: Instruction) -> str:
    """Return an atomic operation, which may release what its thread has written before."""
    *target, place, number = each.operands
    kind, rule = each.parts[-1], each.parts[-2]
    found = f"atomic({address(place)}, {operand_of(number, kind)}, {rule!r}, {kind!r}"
    found += f", {'release' in each.parts})"
    return f"{name_of(target[0])} = {found}" if target else found


def copied(each: Instruction) -> str:
    """Return a copy to shared memory that goes on beside the thread, or the end of them all."""
    if "shared" not in each.parts:
        return "wait_for_copies()"
    target, source, size = each.operands
    return f"copy({address(target)}, {address(source)}, {int(size)})"


def halves(target: str, source: str) -> list[str]:
    """Return a move between a register and its two halves."""
    if target.startswith("{"):
        low, high = map(name_of, words(target))
        bits = f"bits_of_double({name_of(source)})" if source.startswith("%fd") else name_of(source)
        return [f"bits = {bits}", f"{low} = bits & {2**32 - 1}", f"{high} = bits >> 32"]
    low, high = [operand_of(word, "b32") for word in words(source)]
    bits = f"({low} | {high} << 32)"
    return [f"{name_of(target)} = {'double_of_bits' * target.startswith('%fd')}{bits}"]
