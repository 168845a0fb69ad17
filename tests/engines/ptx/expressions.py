"""What an instruction of PTX computes, as an expression in Python."""

from __future__ import annotations

import re

from tests.engines.ptx import arithmetic
from tests.engines.ptx.text import Instruction

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
