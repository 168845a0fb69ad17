"""Functions of PTX as generators in Python: read from their text, and run by each thread."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.engines.ptx import arithmetic

FUNCTION = re.compile(
    r"\.(?P<kind>entry|func)\s+(\(\s*\.param\s+\.\w+\s+(?P<result>\w+)\s*\)\s*)?(?P<name>\w+)\s*"
    r"\((?P<parameters>[^)]*)\)(?P<rest>[^{};]*)\{"
)
SHARED = re.compile(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[(\d*)\]")
CONSTANT = re.compile(r"\.global\s+\.align\s+\d+\s+\.b8\s+(\w+)\[\d+\]\s*=\s*\{([^}]*)\}")
LOCAL = re.compile(r"\.local\s+\.align\s+\d+\s+\.b8\s+(\w+)\[(\d+)\]")
STATEMENT = re.compile(
    r"(@(?P<not>!?)%(?P<guard>\w+)\s+)?(?P<name>[\w.:]+)\s*(?P<operands>.*)", re.S
)


@dataclass(frozen=True)
class Instruction:
    """An instruction.

    Attributes:
        guard: "p3" or "not p3": the condition under which it runs; "" if there is none
        name: with its suffixes, such as "ld.global.f32"
        operands: as they are written
    """

    guard: str
    name: str
    operands: tuple[str, ...]

    @property
    def parts(self) -> list[str]:
        return self.name.split(".")


@dataclass(frozen=True)
class Function:
    """A function or kernel; its body consists of instructions, and of labels as written."""

    name: str
    is_kernel: bool
    parameters: tuple[str, ...]
    result: str
    body: tuple[Instruction | str, ...]
    local: dict[str, int]  # bytes of the arrays that each thread has


@dataclass(frozen=True)
class Text:
    """All functions, and arrays that all threads have.

    Attributes:
        shared: where arrays in shared memory begin; those without a size are last
        constants: bytes of arrays that nobody writes
    """

    functions: tuple[Function, ...]
    shared: dict[str, int]
    shared_size: int
    constants: dict[str, bytes]


def read(text: str) -> Text:
    """Return what is in a PTX text."""
    text = re.sub(r"//[^\n]*", "", text)
    places, end = {}, 0
    for alignment, name, size in sorted(SHARED.findall(text), key=lambda found: not found[2]):
        end = -(-end // int(alignment)) * int(alignment) if size else -(-end // 16) * 16
        places[name] = end
        end += int(size or 0)
    constants = {name: bytes(map(int, each.split(","))) for name, each in CONSTANT.findall(text)}
    return Text(tuple(functions(text)), places, end, constants)


def functions(text: str) -> Iterator[Function]:
    for found in FUNCTION.finditer(text):
        body = text[found.end() : closing(text, found.end())]
        yield Function(
            found["name"],
            found["kind"] == "entry",
            tuple(re.findall(r"(\w+)\s*(?:,|$)", found["parameters"].strip())),
            found["result"] or "",
            tuple(statements(body)),
            {name: int(size) for name, size in LOCAL.findall(body)},
        )


def closing(text: str, start: int) -> int:
    """Return where the brace closes that was opened before `start`."""
    depth = 1
    for found in re.finditer("[{}]", text[start:]):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return start + found.start()
    raise ValueError("a brace is not closed")


def statements(body: str) -> Iterator[Instruction | str]:
    """Yield instructions and labels. Registers of inner scopes have names of their own."""
    for piece in body.split(";"):
        rest = piece.strip(" \t\n{}") if "," not in piece else piece.lstrip(" \t\n{}").rstrip()
        while label := re.match(r"(\$?\w+):\s*", rest):
            yield label[1]
            rest = rest[label.end() :].lstrip(" \t\n{}")
        if rest and not rest.startswith("."):
            yield instruction(rest)


def instruction(text: str) -> Instruction:
    found = STATEMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"no instruction: {text!r}")
    guard = f"not {found['guard']}" if found["not"] else found["guard"] or ""
    # At commas outside of brackets.
    operands = re.findall(r"(?:[^,\[({]|\[[^\]]*\]|\([^)]*\)|\{[^}]*\})+", found["operands"])
    return Instruction(guard, found["name"], tuple(each.strip() for each in operands))


WIDTHS = {"pred": 1, **{f"{kind}{width}": width for kind in "usbf" for width in (8, 16, 32, 64)}}

OF_FLOATS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "divided({}, {})",
    "rcp": "divided(1.0, {})", "sqrt": "root({})", "ex2": "power_of_two({})",
    "lg2": "logarithm({})", "min": "smaller({}, {})", "max": "larger({}, {})",
    "neg": "-{}", "abs": "abs({})", "mov": "{}", "copysign": "math.copysign({1}, {0})",
}  # fmt: skip
OF_WHOLE = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "mad": "{} * {} + {}", "neg": "-{}",
    "div": "quotient({}, {})", "rem": "remainder({}, {})", "min": "min({}, {})",
    "max": "max({}, {})", "abs": "abs({})", "shl": "{} << {}", "shr": "{} >> {}",
    "and": "{} & {}", "or": "{} | {}", "xor": "{} ^ {}", "not": "~{}", "mov": "{}", "cvta": "{}",
    "bfi": "({1} & ~((1 << {3}) - 1 << {2})) | (({0} & (1 << {3}) - 1) << {2})",
}  # fmt: skip
OF_PREDICATES = {
    "and": "{} and {}", "or": "{} or {}", "xor": "{} != {}", "not": "not {}", "mov": "{}"
}  # fmt: skip
NEED_NO_MASK = {"mov", "and", "or", "xor", "cvta"}

COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPPOSITE = {"ltu": ">=", "leu": ">", "gtu": "<=", "geu": "<", "neu": "=="}  # also true of NaN
TOWARDS = {"rm": "_down", "rz": "_to_zero"}
FUSED_LATER = {"add", "sub", "mul"}  # where they are not rounded
ROUNDED = {"rzi": "{}", "rni": "round({})", "rmi": "math.floor({})", "rpi": "math.ceil({})"}
BITS = {
    ("f", "r"): "single_of_bits", ("r", "f"): "bits_of_single",
    ("fd", "rd"): "double_of_bits", ("rd", "fd"): "bits_of_double",
}  # fmt: skip


def name_of(operand: str) -> str:
    """Return the variable of a register, a special register or an array."""
    return operand.removeprefix("%").replace(".", "_")


def operand_of(text: str, kind: str) -> str:
    """Return an operand as a number of a kind, such as "s64"."""
    if text.startswith(("0d", "0f")):
        of_bits = arithmetic.double_of_bits if text[1] == "d" else arithmetic.single_of_bits
        return arithmetic.literal(of_bits(int(text[2:], 16)))
    if re.match(r"-?\d", text):
        number = int(text.rstrip("U"), 0)
        return str(number if kind[0] == "s" else number % (1 << WIDTHS[kind]))
    name, sign = name_of(text), 1 << WIDTHS[kind] - 1
    return f"(({name} ^ {sign}) - {sign})" if kind[0] == "s" else name  # registers are unsigned


def masked(expression: str, width: int) -> str:
    return f"({expression}) & {(1 << width) - 1}"


def value_of(instruction: Instruction) -> str:
    """Return what is assigned to the first operand."""
    name, *flags, kind = instruction.parts
    target, *texts = instruction.operands
    if name == "setp":
        return comparison(flags[0], kind, *[operand_of(text, kind) for text in texts])
    if name == "cvt":
        return conversion(flags, kind, operand_of(texts[0], kind))
    if name == "selp":
        first, second = [operand_of(text, kind.replace("s", "u")) for text in texts[:2]]
        return f"{first} if {name_of(texts[2])} else {second}"
    if name == "mov" and texts[0].startswith("%"):
        return moved(target, texts[0])
    numbers = [operand_of(text, kind) for text in texts]
    if kind == "pred":
        return OF_PREDICATES[name].format(*numbers)
    return (of_floats if kind[0] == "f" else of_whole)(name, flags, kind, numbers)


def of_floats(name: str, flags: list[str], kind: str, numbers: list[str]) -> str:
    if name == "fma" and kind == "f64":
        return f"fma_double({', '.join(numbers)})"
    if name in FUSED_LATER and not {"rn", *TOWARDS} & {*flags}:
        raise ValueError("the next compiler may fuse it with another one")
    # The product of two numbers of 24 digits is exact in float64.
    found = "{} * {} + {}" if name == "fma" else OF_FLOATS[name]
    if kind == "f64" or name in ("neg", "abs", "mov"):
        return found.format(*numbers)
    return f"single{TOWARDS.get(flags[0] if flags else '', '')}({found.format(*numbers)})"


def of_whole(name: str, flags: list[str], kind: str, numbers: list[str]) -> str:
    width = WIDTHS[kind]
    if name in ("shl", "shr"):
        numbers[1] = f"min({numbers[1]}, {width})"
    found = OF_WHOLE[name].format(*numbers)
    if "hi" in flags:
        return masked(f"{found} >> {width}", width)
    if name in NEED_NO_MASK or (name == "shr" and kind[0] == "u"):
        return found
    return masked(found, 2 * width if "wide" in flags else width)


def moved(target: str, source: str) -> str:
    """Return the bits of a register in one of another type."""
    types = [name_of(each).rstrip("0123456789") for each in (target, source)]
    change = BITS.get((types[0], types[1]))
    return f"{change}({name_of(source)})" if change else name_of(source)


def comparison(test: str, kind: str, a: str, b: str) -> str:
    if kind[0] == "f" and test in ("num", "nan"):
        return f"({a} == {a} and {b} == {b})" if test == "num" else f"({a} != {a} or {b} != {b})"
    if kind[0] == "f" and test in ("ne", "equ"):
        return f"{'not ' * (test == 'equ')}({a} < {b} or {a} > {b})"
    return f"not {a} {OPPOSITE[test]} {b}" if test in OPPOSITE else f"{a} {COMPARED[test]} {b}"


def conversion(flags: list[str], source: str, x: str) -> str:
    """Return a number of the type `source` in that of the last flag."""
    target = flags[-1]
    width, of_float = WIDTHS[target], source[0] == "f"
    if target[0] != "f" and not of_float:
        return masked(x, width)
    if target[0] != "f":
        low = 0 if target[0] == "u" else -(1 << width - 1)
        rounded = ROUNDED[flags[0]].format(x)
        return masked(f"whole({rounded}, {low}, {low + (1 << width) - 1})", width)
    if "rzi" in flags:
        return f"truncated({x})"
    x = f"min(max({x}, 0.0), 1.0)" if "sat" in flags else x if of_float else f"float({x})"
    return x if target == "f64" or source == "f32" else f"single({x})"


BLOCK, GRID = "block", "grid"  # who waits at a barrier
NO_NUMBERS = "fence", "membar", "griddepcontrol", "prefetch"
KINDS = "u8", "u16", "u32", "u64", "f32", "f64"  # of loads and stores
# Variables of every function, which are attributes of its thread.
OF_THREAD = [
    "tid_x", "ntid_x", "ctaid_x", "nctaid_x", "dynamic_smem_size", "atomic", "load_constant",
    "jump_back",
    *[f"{verb}_{kind}" for verb in ("load", "store") for kind in KINDS],
]  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A kernel that can be launched.

    Attributes:
        entry: the generator: its arguments are a thread and those of the kernel
        shared_size: bytes of shared arrays of a fixed size
        constants: bytes of arrays that nobody writes, by name
        barriers: the kind of each, in the order of the text
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
        if name in ("atom", "red"):
            return [atomic(each)]
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
    """Return an atomic operation."""
    *target, place, number = each.operands
    kind, rule = each.parts[-1], each.parts[-2]
    found = f"atomic({address(place)}, {operand_of(number, kind)}, {rule!r}, {kind!r})"
    return f"{name_of(target[0])} = {found}" if target else found


def halves(target: str, source: str) -> list[str]:
    """Return a move between a register and its two halves."""
    if target.startswith("{"):
        low, high = map(name_of, words(target))
        bits = f"bits_of_double({name_of(source)})" if source.startswith("%fd") else name_of(source)
        return [f"bits = {bits}", f"{low} = bits & {2**32 - 1}", f"{high} = bits >> 32"]
    low, high = [operand_of(word, "b32") for word in words(source)]
    bits = f"({low} | {high} << 32)"
    return [f"{name_of(target)} = {'double_of_bits' * target.startswith('%fd')}{bits}"]
