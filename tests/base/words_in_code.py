"""Finds what people read in source files: literals like words, and uses of keys of the table."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from tests.machine import syntax_of

FIELD = "{}"
# Arguments of these are read by a program, or belong to another table: errors, logs, patterns.
NOT_SHOWN = set(
    "warn debug info warning inform compile sub match fullmatch search findall finditer getattr "
    "hasattr setattr namedtuple TypeVar NewType cast text_beside number whole_number size pick "
    "count_of shorten require as_count".split()
)
SHOWN = set("label title tooltip text caption placeholder description about status".split())
MATHS = set("gradient signal".split())  # names in formulas
WORD = re.compile(r"[(\"'«]*([^\W\d_]{2,})[)\"'».,;:!?…]*")
CAPITALISED = re.compile(r"[A-Z][a-z]+[:.!?…]?")
# What HTML shows of a tag.
ATTRIBUTE = re.compile(r"\b(?:title|alt|aria-label|placeholder)=[\"']([^\"'{}$]*)")
LABEL = re.compile(r"(?:(?:aria-label|title|alt)',|\.(?:title|alt|textContent) =)([^;\n]*)")
TAG = re.compile(r"<[^<>]*>")
STYLE = re.compile(r"[\w-]+\s*:[^;:]*;")

# The functions that look up a text, and the keys for which each one's first argument stands.
LOOKS_UP = {
    "text": ("{}",),
    "plural": ("{}.one", "{}.many"),
    "row_text": ("{}",),
    "caption_of": ("captions.{}.title", "captions.{}.formula"),
}


@dataclass(frozen=True)
class Use:
    """A use of the table: patterns of its keys, and the names of the fields that are given."""

    line: int
    function: str
    keys: list[str]
    fields: frozenset[str] | None  # None: a dict of fields is among the arguments


def name_of(function: ast.expr) -> str:
    """The last part of the name of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def written(node: ast.expr) -> str | None:
    """The text of a literal, an f-string with {} for what is computed; None: not a literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else FIELD for part in node.values]
        return "".join(map(str, parts))
    return None


def reads_like_words(text: str) -> bool:
    """Whether a literal is for people: some letters beside a space, or one capitalised word."""
    return any(
        CAPITALISED.fullmatch(each) or (re.search(r"\s", each) and any(map(is_word, each.split())))
        for part in [*ATTRIBUTE.findall(text), *TAG.split(text)]
        for each in [STYLE.sub("", part)]
    )


def is_word(part: str) -> bool:
    found = WORD.fullmatch(part)
    return found is not None and found[1] not in MATHS


def words_in(source: str, row_tables: tuple[str, ...] = ()) -> Iterator[tuple[int, str]]:
    """Line and text of each literal of a Python file that people may read.

    Args:
        row_tables: names of tables at the top of a file whose rows hold their own words
    """
    yield from _words(syntax_of(source), row_tables, False)


def _words(node: ast.AST, row_tables: tuple[str, ...], is_shown: bool) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.expr):
        text = written(node)
        if text is not None:
            letters = re.search(r"[^\W\d_]{2}", text.replace(FIELD, ""))
            if reads_like_words(text) or (is_shown and letters and text.islower()):
                yield node.lineno, text
            # Of an f-string the computed parts may have literals of their own.
            if isinstance(node, ast.JoinedStr):
                for part in node.values:
                    if isinstance(part, ast.FormattedValue):
                        yield from _words(part.value, row_tables, False)
            return
    for child, shown in _read_by_people(node, row_tables):
        yield from _words(child, row_tables, shown)


def _read_by_people(node: ast.AST, row_tables: tuple[str, ...]) -> Iterator[tuple[ast.AST, bool]]:
    """The parts of a node that can hold words, and whether each is certainly shown."""
    match node:
        case ast.Raise() | ast.Assert() | ast.Compare():
            return
        case ast.Expr(value=ast.Constant()):  # a docstring
            return
        case ast.Assign(targets=[ast.Name(id=name)]) if name in row_tables:
            return
        case ast.AnnAssign(target=ast.Name(id=name)) if name in row_tables:
            return
        case ast.AnnAssign(value=value):
            if value is not None:
                yield value, False
        case ast.arg():
            return
        case ast.FunctionDef(name="__repr__"):  # for who writes code
            return
        case ast.FunctionDef():
            for part in (*node.decorator_list, node.args, *node.body):
                yield part, False
        case ast.Subscript(value=value):
            yield value, False
        case ast.Dict():
            for part in node.values:
                yield part, False
        case ast.Call():
            name = name_of(node.func)
            if name in NOT_SHOWN or name.endswith(("Error", "Exit")):
                return
            yield node.func, False
            for part in node.args:
                yield part, False
            for keyword in node.keywords:
                yield keyword.value, keyword.arg in SHOWN
        case _:
            for part in ast.iter_child_nodes(node):
                yield part, False


def uses_in(source: str) -> Iterator[Use]:
    """Each use of the table in a Python file that imports its functions."""
    if "base.texts" not in source and "caption_of" not in source:
        return
    nodes = [*ast.walk(syntax_of(source))]
    imported = [
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "scalarviz.base.texts"
        for alias in node.names
    ]
    functions = {"caption_of", *imported} & LOOKS_UP.keys()
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id=function)) if function in functions:
                keys = [x.format(key) for x in LOOKS_UP[function] for key in keys_of(node.args[0])]
                names = [keyword.arg for keyword in node.keywords]
                fields = None if None in names else frozenset(map(str, names))
                yield Use(node.lineno, function, keys, fields)


def keys_of(node: ast.expr) -> list[str]:
    """The patterns that a literal or an f-string can be: * stands for what is computed."""
    match node:
        case ast.Constant(value=str(key)):
            return [key]
        case ast.IfExp(body=first, orelse=second):
            return [*keys_of(first), *keys_of(second)]
        case ast.JoinedStr(values=parts):
            return ["".join(each) for each in product(*map(keys_of, parts))]
        case ast.FormattedValue(value=value):
            return keys_of(value) or ["*"]
    return []


def words_of_a_page(source: str) -> list[str]:
    """What a page says without being handed it: text, and attributes that are shown."""
    shown = [
        re.sub(r"\$\w+", "", part) for part in [*ATTRIBUTE.findall(source), *TAG.split(source)]
    ]
    return [part.strip() for part in shown if re.search(r"[^\W\d_]{2}", part)]


def words_of_a_script(source: str) -> list[str]:
    """What a script says without being handed it: literals like words, and values of labels."""
    source = re.sub(r"^\s*(?://|/?\*|import ).*|\s// .*", "", source, flags=re.MULTILINE)
    found = LABEL.findall(source)
    literals = re.findall(r"'([^'\n]*)'", source)
    literals += re.findall(r'"([^"\n]*)"', re.sub(r"'[^'\n]*'", "", source))
    labels = [each for label in found for each in re.findall(r"'([^'\n]*)'", label)]
    return [*labels, *filter(reads_like_words, literals)]
