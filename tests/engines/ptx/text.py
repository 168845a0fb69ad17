"""PTX as Python reads it: the functions of a text, with their instructions and memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

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

    guard     "p3" or "not p3": the condition under which it runs; "" if there is none
    name      with its suffixes, such as "ld.global.f32"
    operands  as they are written
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

    shared     where arrays in shared memory begin; those without a size are last
    constants  bytes of arrays that nobody writes
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
