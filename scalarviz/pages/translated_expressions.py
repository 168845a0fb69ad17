"""Expressions of Python as JavaScript, for translator.py: names, types, operators, calls, texts.

A type is an annotation as text, "" if it is not known. mypy has checked that values have them.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

# Words of JavaScript, and names that a generated module uses: a name of Python gets a "_".
RESERVED = set(
    "arguments await break case catch class const continue debugger default delete do else enum "
    "eval export extends false finally for function if implements import in instanceof interface "
    "let new null package private protected public static super switch this throw true try typeof "
    "undefined var void while with yield Infinity Math NaN Number caught py".split()
)
NUMBERS = ("int", "float", "bool")
LISTS = ("list", "tuple", "Sequence")
DICTS = ("dict", "Mapping")
ITERABLES = (*LISTS, "set", "frozenset", "Collection", "Iterable", "Iterator", "Container")
ERRORS = set(
    "ArithmeticError AssertionError IndexError KeyError LookupError OverflowError ValueError "
    "ZeroDivisionError".split()
)

# How strongly operators of JavaScript bind; what needs no brackets is an ATOM.
ARROW, CHOICE, OR, AND, EQUAL, LESS, SUM, PRODUCT, SIGN, ATOM = range(10)
# Operators of Python: that of JavaScript for numbers, and the function for all else.
OPERATORS: Mapping[type[ast.operator], tuple[str, int, str]] = {
    ast.Add: ("+", SUM, "add"),
    ast.Sub: ("-", SUM, "minus"),
    ast.Mult: ("*", PRODUCT, "mul"),
    ast.Div: ("/", PRODUCT, "div"),
    ast.Mod: ("", ATOM, "mod"),
    ast.FloorDiv: ("", ATOM, "floordiv"),
    ast.Pow: ("", ATOM, "pow"),
    ast.BitOr: ("", ATOM, "or"),
}
COMPARED: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "py.less({}, {})"),
    ast.LtE: ("<=", "py.less_or_equal({}, {})"),
    ast.Gt: (">", "py.less({1}, {0})"),
    ast.GtE: (">=", "py.less_or_equal({1}, {0})"),
}
# Functions of Python: what they are in JavaScript, the names of their arguments, and the type of
# what they return, where T is that of the items of the first one.
FUNCTIONS = {
    "abs": ("Math.abs", "x", "="),
    "bool": ("py.truth", "x", "bool"),
    "dict": ("py.dict", "given", "dict"),
    "enumerate": ("py.enumerate", "found start", "list[tuple[int, T]]"),
    "float": ("py.float", "x", "float"),
    "int": ("py.int", "x", "int"),
    "len": ("py.len", "found", "int"),
    "list": ("py.list", "found", "list[T]"),
    "map": ("py.map", "make *", "list"),
    "max": ("py.max", "found key default", "T"),
    "min": ("py.min", "found key default", "T"),
    "next": ("py.next", "found other", "T"),
    "pow": ("py.pow", "a b", ""),
    "range": ("py.range", "first end step", "list[int]"),
    "reversed": ("py.reversed", "found", "list[T]"),
    "round": ("py.round", "x digits", ""),
    "set": ("py.set", "found", "set[T]"),
    "sorted": ("py.sorted", "found key reverse", "list[T]"),
    "str": ("py.str", "x", "str"),
    "sum": ("py.sum", "found start", ""),
    "tuple": ("py.list", "found", "list[T]"),
    "dict.fromkeys": ("py.fromkeys", "found value", "dict"),
    "functools.partial": ("py.partial", "make *", ""),
    "math.cos": ("py.math.cos", "x", "float"),
    "math.ceil": ("py.ceil", "x", "int"),
    "math.exp": ("py.math.exp", "x", "float"),
    "math.floor": ("py.floor", "x", "int"),
    "math.fsum": ("py.fsum", "found", "float"),
    "math.hypot": ("py.math.hypot", "*", "float"),
    "math.isfinite": ("Number.isFinite", "x", "bool"),
    "math.isnan": ("Number.isNaN", "x", "bool"),
    "math.log": ("py.math.log", "x", "float"),
    "math.log10": ("py.math.log10", "x", "float"),
    "math.prod": ("py.prod", "found start", ""),
    "math.sin": ("py.math.sin", "x", "float"),
    "math.sqrt": ("py.math.sqrt", "x", "float"),
    "math.tanh": ("py.math.tanh", "x", "float"),
}
NAMED = {"math.nan": "NaN", "math.inf": "Infinity", "math.pi": "Math.PI"}
# Methods of texts and containers, by name and number of arguments.
METHODS = {
    ("add", 1): ("{}.add({})", ""),
    ("append", 1): ("{}.push({})", ""),
    ("clear", 0): ("{}.clear()", ""),
    ("endswith", 1): ("{}.endsWith({})", "bool"),
    ("extend", 1): ("py.add_to({}, {})", ""),
    ("get", 1): ("py.get({}, {})", "V | None"),
    ("get", 2): ("py.get({}, {}, {})", "V"),
    ("index", 1): ("py.index({}, {})", "int"),
    ("insert", 2): ("{}.splice({}, 0, {})", ""),
    ("items", 0): ("py.items({})", "list[tuple[T, V]]"),
    ("join", 1): ("py.each({1}).join({0})", "str"),
    ("keys", 0): ("py.keys({})", "list[T]"),
    ("lower", 0): ("{}.toLowerCase()", "str"),
    ("lstrip", 0): ("py.lstrip({})", "str"),
    ("lstrip", 1): ("py.lstrip({}, {})", "str"),
    ("partition", 1): ("py.partition({}, {})", "tuple[str, str, str]"),
    ("pop", 0): ("py.pop({})", "T"),
    ("pop", 1): ("py.pop({}, {})", ""),
    ("pop", 2): ("py.pop({}, {}, {})", ""),
    ("replace", 2): ("{}.replaceAll({}, () => {})", "str"),
    ("rpartition", 1): ("py.rpartition({}, {})", "tuple[str, str, str]"),
    ("rstrip", 0): ("py.rstrip({})", "str"),
    ("rstrip", 1): ("py.rstrip({}, {})", "str"),
    ("setdefault", 2): ("py.setdefault({}, {}, {})", "V"),
    ("split", 1): ("{}.split({})", "list[str]"),
    ("startswith", 1): ("{}.startsWith({})", "bool"),
    ("strip", 0): ("py.strip({})", "str"),
    ("strip", 1): ("py.strip({}, {})", "str"),
    ("update", 1): ("py.update({}, {})", ""),
    ("upper", 0): ("{}.toUpperCase()", "str"),
    ("values", 0): ("py.values({})", "list[V]"),
}
METHODS_OF = {
    "Pattern": {
        ("findall", 1): ("py.findall({}, {})", "list"),
        ("fullmatch", 1): ("py.fullmatch({}, {})", "Match | None"),
        ("match", 1): ("py.match({}, {})", "Match | None"),
        ("search", 1): ("py.search({}, {})", "Match | None"),
        ("sub", 2): ("py.sub({}, {}, {})", "str"),
    },
    "Match": {
        ("start", 0): ("{}.index", "int"),
        ("end", 0): ("py.end({})", "int"),
        ("group", 1): ("py.at({}, {})", "str"),
    },
    "ContextVar": {
        ("get", 0): ("{}.get()", ""),
        ("set", 1): ("{}.set({})", ""),
        ("reset", 1): ("{}.reset({})", ""),
    },
}
KNOWN_METHODS = {name for kind in (str, list, dict, set, float) for name in dir(kind)}
UNKNOWN_METHODS = KNOWN_METHODS | {name for known in METHODS_OF.values() for name, _ in known}

# What a regular expression may be of: what Python and JavaScript read alike.
TOKEN = re.compile(
    r"\(\?P<\w+>|\(\?(?::|=|!|<=|<!)|\((?!\?)|[).|^]|\[\^?(?!\])|(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![+*?])"
    r"|\\[.^$*+?()\[\]{}|/\\nrt1-9wWdDbB]|[^\\.^$*+?()\[\]{}|]"
)
IN_BRACKETS = re.compile(r"\\[\]\[\\^.\-/*+?(){}|$nrtwWdD]|[^\\\[\]]")


class Refused(Exception):
    """Why a piece of Python cannot be translated."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.line = getattr(node, "lineno", 0)


class Code(str):
    """JavaScript, with how strongly its operator binds."""

    level = ATOM


def code(text: str, level: int = ATOM) -> Code:
    made = Code(text)
    made.level = level
    return made


@dataclass(frozen=True)
class Signature:
    """What a function or a class can be called with.

    names       its arguments, those by position first
    positional  how many of them can be given by position
    rest        whether more can be given by position
    fields      whether more can be given by name
    result      the type of what it returns
    """

    names: tuple[str, ...]
    positional: int
    rest: bool = False
    fields: bool = False
    result: str = ""

    @property
    def is_mixed(self) -> bool:
        """Whether JavaScript has the arguments in another order: the rest is last there."""
        return self.rest and (self.fields or len(self.names) > self.positional)


def signature_of(function: ast.FunctionDef, *, is_method: bool = False) -> Signature:
    given = function.args
    positional = [each.arg for each in (*given.posonlyargs, *given.args)][is_method:]
    named = [each.arg for each in given.kwonlyargs]
    result = type_text(function.returns)
    kinds = given.vararg is not None, given.kwarg is not None
    return Signature((*positional, *named), len(positional), *kinds, result)


@dataclass
class Class:
    """A class of a module: what its objects have, by name; types of fields and properties."""

    name: str
    signature: Signature
    types: dict[str, str] = field(default_factory=dict)
    methods: dict[str, Signature] = field(default_factory=dict)


@dataclass
class Meaning:
    """What a name stands for: the kind is variable, function, class, module, library or builtin.

    thing  the Signature, the Class, or what a module has at its top
    """

    kind: str
    type: str = ""
    thing: Any = None
    name: str = ""


Scope = dict[str, Meaning]


def js_name(name: str) -> str:
    return f"{name}_" if name in RESERVED else name


def text_of(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def as_list(node: ast.expr) -> ast.expr:
    """Return a generator as a list: for what takes all of it at once."""
    return ast.ListComp(node.elt, node.generators) if isinstance(node, ast.GeneratorExp) else node


def template_text(node: ast.expr) -> str:
    """Return the words of an f-string."""
    assert isinstance(node, ast.Constant)
    return (
        json.dumps(node.value, ensure_ascii=False)[1:-1]
        .replace('\\"', '"')
        .replace("`", "\\`")
        .replace("${", "\\${")
    )


def regex_text(node: ast.expr, pattern: str, *, is_ascii: bool) -> str:
    """Return a regular expression; raise Refused for what JavaScript reads in another way."""
    parts, at, in_brackets = [], 0, False
    while at < len(pattern):
        found = (IN_BRACKETS if in_brackets else TOKEN).match(pattern, at)
        token = "]" if in_brackets and pattern[at] == "]" else found[0] if found else ""
        if not token:
            raise Refused(node, f"the regular expression from {pattern[at:]!r} on is not known")
        if token in (r"\w", r"\W", r"\d", r"\D", r"\b", r"\B") and not is_ascii:
            raise Refused(node, f"{token} has other letters in JavaScript: add the flag re.ASCII")
        parts.append(REGEX.get(token, token) if not in_brackets else token)
        at += len(token)
        in_brackets = token != "]" and (in_brackets or token.startswith("["))
    return f"/{''.join(parts).replace('(?P<', '(?<')}/gu"


REGEX = {".": r"[^\n]", "/": r"\/", "\n": r"\n"}


# ---- types ---------------------------------------------------------------------------------------


def type_text(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return "" if annotation is None else ast.unparse(annotation)


@cache
def parts_of(kind: str) -> tuple[str, tuple[str, ...]]:
    """Return the name of a type and those in its brackets: ("dict", ("str", "int"))."""
    if "[" not in kind:
        return kind.rpartition(".")[2], ()
    tree = ast.parse(kind, mode="eval").body
    if not isinstance(tree, ast.Subscript):
        return "", ()
    inner = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
    return ast.unparse(tree.value).rpartition(".")[2], tuple(map(ast.unparse, inner))


def bare(kind: str) -> str:
    """Return a type without None: where a value is used, mypy knows that it is there."""
    return kind.removesuffix(" | None")


def item_of(kind: str) -> str:
    """Return the type of what a loop over a type goes over."""
    name, inner = parts_of(bare(kind))
    if name == "str":
        return "str"
    if name == "tuple" and inner and inner[-1] != "...":
        return inner[0] if len(set(inner)) == 1 else ""
    return inner[0] if inner and name in (*ITERABLES, *DICTS) else ""


def value_of(kind: str) -> str:
    """Return the type of the values of a dictionary."""
    name, inner = parts_of(bare(kind))
    return inner[1] if name in DICTS and inner else ""


def filled(kind: str, given: str) -> str:
    """Return a type of a table, with T and V of the type of an argument."""
    if kind == "=":
        return given
    item, value = item_of(given), value_of(given)
    if (re.search(r"\bT\b", kind) and not item) or (re.search(r"\bV\b", kind) and not value):
        return kind.partition("[")[0] if "[" in kind else ""
    return re.sub(r"\b[TV]\b", lambda found: item if found[0] == "T" else value, kind)


# ---- expressions ---------------------------------------------------------------------------------


class Expressions:
    """The expressions of a module.

    scopes  names that are known, those of the module first, with what they stand for
    used    names of other modules that are used
    """

    def __init__(self, top: Scope, classes: Mapping[str, Class]) -> None:
        self.scopes = [top]
        self.classes = classes
        self.used: set[str] = set()
        self.owner = ""
        self.methods: dict[str, list[Signature]] = {}
        for one in classes.values():
            for name, signature in one.methods.items():
                self.methods.setdefault(name, []).append(signature)

    def write(self, node: ast.expr, level: int = ARROW) -> str:
        """Return JavaScript, in brackets if its operator binds less than a level."""
        make: Callable[[Any], str] | None = getattr(self, f"write_{type(node).__name__}", None)
        if make is None:
            raise Refused(node, f"`{ast.unparse(node)}` is not known")
        made = make(node)
        return f"({made})" if isinstance(made, Code) and made.level < level else made

    def writes(self, nodes: Sequence[ast.expr]) -> list[str]:
        return [
            f"...{self.each(node.value)}" if isinstance(node, ast.Starred) else self.write(node)
            for node in nodes
        ]

    def each(self, node: ast.expr) -> str:
        """Return what a loop goes over, as an iterable of JavaScript."""
        is_array = isinstance(node, (ast.List, ast.Tuple, ast.ListComp))
        is_known = parts_of(bare(self.type_of(node)))[0] in ("list", "tuple")
        return self.write(node, ATOM) if is_array or is_known else f"py.each({self.write(node)})"

    # names

    def meaning(self, node: ast.Name) -> Meaning:
        for scope in reversed(self.scopes):
            if node.id in scope:
                return scope[node.id]
        if node.id in FUNCTIONS or node.id in ERRORS or hasattr(builtins, node.id):
            return Meaning("builtin", name=node.id)
        raise Refused(node, f"the name {node.id} is not known")

    def library_name(self, node: ast.expr) -> str:
        """Return the name of something of Python itself, such as "len" and "math.exp", else ""."""
        if isinstance(node, ast.Name):
            found = self.meaning(node)
            return found.name if found.kind in ("builtin", "library") else ""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            start = self.library_name(node.value)
            return f"{start}.{node.attr}" if start else ""
        return ""

    def write_Name(self, node: ast.Name) -> str:
        found = self.meaning(node)
        if found.kind in ("builtin", "library"):
            return self.write_library(node, found.name)
        if found.kind == "function" and found.thing.is_mixed:
            raise Refused(node, f"{node.id} can only be called, since it has *args and names")
        if found.kind == "import":
            raise Refused(node, f"{node.id} is of {found.name}, which pages do not have")
        self.used.add(node.id)
        return "this" if node.id == "self" else js_name(node.id)

    def write_library(self, node: ast.expr, name: str) -> str:
        if name in NAMED:
            return NAMED[name]
        if name in ERRORS:
            return f"py.{name}"
        if name in FUNCTIONS and " " not in FUNCTIONS[name][1]:
            return FUNCTIONS[name][0]
        raise Refused(node, f"{name} is not known, or can only be called")

    def write_Constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, str):
            return text_of(node.value)
        if isinstance(node.value, bool) or node.value is None:
            return {True: "true", False: "false", None: "null"}[node.value]
        if isinstance(node.value, (int, float)) and node.value == node.value:
            return repr(node.value)
        raise Refused(node, f"the constant {node.value!r} is not known")

    def write_Attribute(self, node: ast.Attribute) -> str:
        name = self.library_name(node)
        if name:
            return self.write_library(node, name)
        if node.attr == "format":
            return f"py.filler({self.write(node.value)})"
        kind = parts_of(bare(self.type_of(node.value)))[0]
        if kind == "Match" and node.attr == "string":
            return f"{self.write(node.value, ATOM)}.input"
        if node.attr in KNOWN_METHODS and kind not in self.classes:
            raise Refused(node, f"the method {node.attr} can only be called")
        if node.attr in self.methods and node.attr not in self.types_of(kind):
            raise Refused(node, f"the method {node.attr} can only be called: write a lambda")
        return f"{self.write(node.value, ATOM)}.{node.attr}"

    def types_of(self, kind: str) -> Mapping[str, str]:
        """Return the types of fields by name: of a class, of all classes if it is not known."""
        if kind in self.classes:
            return self.classes[kind].types
        return {name: "" for one in self.classes.values() for name in one.types}

    # operators

    def write_BinOp(self, node: ast.BinOp) -> str:
        return self.operation(node, node.op, node.left, node.right)

    def operation(self, node: ast.AST, op: ast.operator, left: ast.expr, right: ast.expr) -> str:
        if type(op) not in OPERATORS:
            raise Refused(node, f"the operator {type(op).__name__} is not known")
        sign, level, name = OPERATORS[type(op)]
        kinds = [bare(self.type_of(each)) for each in (left, right)]
        are_plain = all(kind in NUMBERS for kind in kinds)
        if name == "add" and kinds == ["str", "str"]:
            are_plain = True
        if name == "div" and not (isinstance(right, ast.Constant) and right.value):
            are_plain = False
        if not sign or not are_plain:
            return f"py.{name}({self.write(left)}, {self.write(right)})"
        return code(f"{self.write(left, level)} {sign} {self.write(right, level + 1)}", level)

    def write_UnaryOp(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return code(f"!{self.test(node.operand, ATOM)}", SIGN)
        if isinstance(node.op, ast.USub):
            if bare(self.type_of(node.operand)) == "int" and not isinstance(
                node.operand, ast.Constant
            ):
                return code(f"0 - {self.write(node.operand, PRODUCT)}", SUM)  # never -0
            return code(f"-{self.write(node.operand, ATOM)}", SIGN)
        raise Refused(node, f"the operator {type(node.op).__name__} is not known")

    def test(self, node: ast.expr, level: int = ARROW) -> str:
        """Return whether Python takes an expression as true, as a condition."""
        if isinstance(node, ast.BoolOp):
            made = self.joined(node, self.test)
            return f"({made})" if made.level < level else made
        kind = self.type_of(node)
        if bare(kind) in ("bool", "int", "str") or parts_of(bare(kind))[0] in self.classes:
            return self.write(node, level)
        if parts_of(kind)[0] in LISTS:
            made = code(f"{self.write(node, ATOM)}.length > 0", LESS)
            return f"({made})" if level > LESS else made
        return f"py.truth({self.write(node)})"

    def joined(self, node: ast.BoolOp, write: Callable[[ast.expr, int], str]) -> Code:
        sign, level = ("&&", AND) if isinstance(node.op, ast.And) else ("||", OR)
        return code(f" {sign} ".join(write(each, level + 1) for each in node.values), level)

    def write_BoolOp(self, node: ast.BoolOp) -> str:
        """Return `a or b`, whose value is that of a or of b."""
        first = node.values[0]
        if all(bare(self.type_of(each)) in ("bool", "int", "str") for each in node.values[:-1]):
            return self.joined(node, self.write)
        rest = ast.BoolOp(node.op, node.values[1:]) if len(node.values) > 2 else node.values[1]
        if not isinstance(first, ast.Name):
            name = "or_else" if isinstance(node.op, ast.Or) else "and_then"
            return f"py.{name}({self.write(first)}, () => {self.write(rest)})"
        found, other = self.write(first, CHOICE), self.write(rest, CHOICE)
        pair = (found, other) if isinstance(node.op, ast.Or) else (other, found)
        return code(f"{self.test(first, OR)} ? {pair[0]} : {pair[1]}", CHOICE)

    def write_IfExp(self, node: ast.IfExp) -> str:
        parts = self.test(node.test, OR), self.write(node.body, CHOICE), self.write(node.orelse)
        return code("{} ? {} : {}".format(*parts), CHOICE)

    def write_NamedExpr(self, node: ast.NamedExpr) -> str:
        made = self.write(node.value)
        self.bind(node.target, self.type_of(node.value))
        return code(f"{js_name(node.target.id)} = {made}", ARROW - 1)

    def write_Compare(self, node: ast.Compare) -> str:
        parts, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(self.comparison(op, left, right, AND + 1 if len(node.ops) > 1 else ARROW))
            left = right
        for middle in node.comparators[:-1]:
            if any(isinstance(each, (ast.Call, ast.NamedExpr)) for each in ast.walk(middle)):
                raise Refused(middle, f"`{ast.unparse(middle)}` would be computed twice: name it")
        return parts[0] if len(parts) == 1 else code(" && ".join(parts), AND)

    def comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr, level: int) -> str:
        kinds = [bare(self.type_of(each)) for each in (left, right)]
        made = self.compared(op, left, right, kinds)
        return f"({made})" if isinstance(made, Code) and made.level < level else made

    def compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr, kinds: Sequence[str]) -> str:
        if isinstance(op, (ast.In, ast.NotIn)):
            sign = "!" if isinstance(op, ast.NotIn) else ""
            return code(f"{sign}{self.contained(left, right, kinds)}", SIGN if sign else ATOM)
        if type(op) in COMPARED:
            sign, call = COMPARED[type(op)]
            if any(kind in (*NUMBERS, "str") for kind in kinds):
                return self.pair(left, sign, right, LESS)
            return call.format(self.write(left), self.write(right))
        is_not = isinstance(op, (ast.NotEq, ast.IsNot))
        is_plain = "str" in kinds or "None" in kinds or set(kinds) <= {"int", "float"}
        if isinstance(op, (ast.Is, ast.IsNot)) or is_plain or kinds == ["bool", "bool"]:
            return self.pair(left, "!==" if is_not else "===", right, EQUAL)
        made = f"py.equal({self.write(left)}, {self.write(right)})"
        return code(f"!{made}", SIGN) if is_not else made

    def pair(self, left: ast.expr, sign: str, right: ast.expr, level: int) -> Code:
        return code(f"{self.write(left, level + 1)} {sign} {self.write(right, level + 1)}", level)

    def contained(self, left: ast.expr, right: ast.expr, kinds: Sequence[str]) -> str:
        are_texts = isinstance(right, (ast.Tuple, ast.List)) and all(map(is_text, right.elts))
        if are_texts or kinds == ["str", "str"]:
            return f"{self.write(right, ATOM)}.includes({self.write(left)})"
        return f"py.has({self.write(right)}, {self.write(left)})"

    # containers

    def write_Tuple(self, node: ast.Tuple | ast.List) -> str:
        return f"[{', '.join(self.writes(node.elts))}]"

    write_List = write_Tuple

    def write_Set(self, node: ast.Set) -> str:
        return f"py.set([{', '.join(self.writes(node.elts))}])"

    def write_Dict(self, node: ast.Dict) -> str:
        pairs = [
            f"...py.items({self.write(value)})"
            if key is None
            else f"[{self.write(key)}, {self.write(value)}]"
            for key, value in zip(node.keys, node.values, strict=True)
        ]
        return f"new py.Dict([{', '.join(pairs)}])" if pairs else "new py.Dict()"

    def write_Subscript(self, node: ast.Subscript) -> str:
        found = self.write(node.value)
        if not isinstance(node.slice, ast.Slice):
            return f"py.at({found}, {self.write(node.slice)})"
        parts = node.slice.lower, node.slice.upper, node.slice.step
        limits = ["null" if each is None else self.write(each) for each in parts]
        return f"py.slice({found}, {', '.join(limits[: 3 if parts[2] else 2])})"

    # comprehensions

    def write_ListComp(self, node: ast.ListComp) -> str:
        return self.comprehension(node.generators, lambda: self.write(node.elt))

    def write_SetComp(self, node: ast.SetComp) -> str:
        return f"py.set({self.comprehension(node.generators, lambda: self.write(node.elt))})"

    def write_DictComp(self, node: ast.DictComp) -> str:
        def pair() -> str:
            return f"[{self.write(node.key)}, {self.write(node.value)}]"

        return f"new py.Dict({self.comprehension(node.generators, pair)})"

    def comprehension(self, loops: Sequence[ast.comprehension], make: Callable[[], str]) -> str:
        first, *others = loops
        found = self.each(first.iter)
        self.scopes.append({})
        name = self.bind(first.target, item_of(self.type_of(first.iter)))
        tests = [self.test(each, AND) for each in first.ifs]
        body = self.comprehension(others, make) if others else make()
        self.scopes.pop()
        way = (
            "flatMap"
            if others or (tests and ":=" in "".join(map(ast.unparse, first.ifs)))
            else "map"
        )
        if tests and way == "flatMap":
            body = f"{' && '.join(tests)} ? {body if others else f'[{body}]'} : []"
        elif tests:
            found += f".filter(({name}) => {' && '.join(tests)})"
        is_same = body == name and way == "map"
        return found if is_same else f"{found}.{way}(({name}) => {body})"

    def write_GeneratorExp(self, node: ast.GeneratorExp) -> str:
        """Return a generator; what takes all of it has a list instead, see `items`."""
        first, *others = node.generators
        if others:
            raise Refused(node, "a generator of two loops: write a list")
        found = self.write(first.iter)
        self.scopes.append({})
        name = self.bind(first.target, item_of(self.type_of(first.iter)))
        body = [self.write(node.elt), *(self.test(each, AND) for each in first.ifs)]
        self.scopes.pop()
        parts = [found, f"({name}) => {body[0]}"]
        if first.ifs:
            parts.append(f"({name}) => {' && '.join(body[1:])}")
        return f"py.lazy({', '.join(parts)})"

    def items(self, node: ast.expr) -> str:
        """Return an argument that a function goes through at once, to its end."""
        if isinstance(node, ast.GeneratorExp):
            return self.comprehension(node.generators, lambda: self.write(node.elt))
        return self.write(node)

    # functions

    def write_Lambda(self, node: ast.Lambda) -> str:
        self.scopes.append({})
        parameters = self.parameters(node.args)
        body = self.write(node.body)
        self.scopes.pop()
        return code(f"({parameters}) => {body}", ARROW)

    def parameters(self, given: ast.arguments, *, is_method: bool = False) -> str:
        """Return the parameters of a function, which are known from here on."""
        positional = [*given.posonlyargs, *given.args]
        defaults = [None] * (len(positional) - len(given.defaults)) + given.defaults
        pairs = [*zip(positional, defaults, strict=True)][is_method:]
        pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
        parts = [
            js_name(each.arg) + (f" = {self.write(default)}" if default else "")
            for each, default in pairs
        ]
        for each, _ in pairs:
            self.scopes[-1][each.arg] = Meaning("variable", type_text(each.annotation))
        if given.kwarg:
            parts.append(f"{js_name(given.kwarg.arg)} = {{}}")
            self.scopes[-1][given.kwarg.arg] = Meaning("variable", "dict")
        if given.vararg:
            parts.append(f"...{js_name(given.vararg.arg)}")
            kind = type_text(given.vararg.annotation)
            self.scopes[-1][given.vararg.arg] = Meaning(
                "variable", f"list[{kind}]" if kind else "list"
            )
        return ", ".join(parts)

    def write_Call(self, node: ast.Call) -> str:
        name = self.library_name(node.func)
        if name:
            return self.library_call(node, name)
        if isinstance(node.func, ast.Attribute):
            return self.method_call(node, node.func)
        signature, new = None, ""
        if isinstance(node.func, ast.Name):
            found = self.meaning(node.func)
            signature = self.signature(found)
            new = "new " if found.kind == "class" else ""
            self.used.add(node.func.id)
            if found.kind in ("function", "class"):
                return f"{new}{js_name(node.func.id)}({self.arguments(node, signature)})"
        return f"{self.write(node.func, ATOM)}({self.arguments(node, signature)})"

    def signature(self, found: Meaning) -> Signature | None:
        if found.kind == "class":
            return found.thing.signature  # type: ignore[no-any-return]
        return found.thing if found.kind == "function" else None

    def arguments(self, node: ast.Call, signature: Signature | None) -> str:
        """Return the arguments of a call in the order of JavaScript."""
        if not node.keywords and not (signature and signature.is_mixed):
            return ", ".join(self.writes(node.args))
        if signature is None:
            raise Refused(
                node, f"`{ast.unparse(node.func)}` has arguments by name, and is not known"
            )
        by_place = node.args[: signature.positional]
        if any(isinstance(each, ast.Starred) for each in by_place):
            raise Refused(node, "arguments by name beside *arguments")
        known = dict(zip(signature.names, by_place, strict=False))
        known |= {each.arg: each.value for each in node.keywords if each.arg in signature.names}
        made = [
            self.write(known[each]) if each in known else "undefined" for each in signature.names
        ]
        more = [each for each in node.keywords if each.arg not in signature.names]
        if more and not signature.fields:
            raise Refused(node, f"`{ast.unparse(node.func)}` has no argument {more[0].arg}")
        if signature.fields:
            made.append(self.fields(more))
        made += self.writes(node.args[signature.positional :])
        while made and made[-1] in ("undefined", "{}"):
            made.pop()
        return ", ".join(made)

    def fields(self, given: Sequence[ast.keyword]) -> str:
        """Return arguments by name as an object."""
        parts = []
        for each in given:
            if each.arg is not None and bare(self.type_of(each.value)) == "float":
                self.check_text(each.value)
            made = self.write(each.value)
            parts.append(f"...py.fields({made})" if each.arg is None else f"{each.arg}: {made}")
        return f"{{ {', '.join(parts)} }}" if parts else "{}"

    def library_call(self, node: ast.Call, name: str) -> str:
        special = SPECIAL.get(name)
        if special is not None:
            return special(self, node)
        if name in ERRORS:
            return f"new py.{name}({', '.join(self.writes(node.args))})"
        if name not in FUNCTIONS:
            raise Refused(node, f"{name} is not known")
        call, names, _ = FUNCTIONS[name]
        listed = names.split()
        signature = Signature(
            tuple(each for each in listed if each != "*"), len(listed), "*" in listed
        )
        if len(node.args) > len(listed) and "*" not in listed:
            raise Refused(node, f"{name} with {len(node.args)} arguments is not known")
        if name in ("max", "min") and len(node.args) > 1:
            if self.common(node.args) == "int" and not node.keywords:
                return f"Math.{name}({', '.join(self.writes(node.args))})"
            made = ast.Call(node.func, [ast.Tuple(node.args, ast.Load())], node.keywords)
            return self.library_call(made, name)
        if name == "len" and parts_of(bare(self.type_of(node.args[0])))[0] in (*LISTS, "str"):
            return f"{self.write(node.args[0], ATOM)}.length"
        if name == "str":
            self.check_text(node.args[0])
        if node.args and isinstance(node.args[0], ast.GeneratorExp) and name != "next":
            node = ast.Call(node.func, [as_list(node.args[0]), *node.args[1:]], node.keywords)
        return f"{call}({self.arguments(node, signature)})"

    def method_call(self, node: ast.Call, func: ast.Attribute) -> str:
        kind, name = parts_of(bare(self.type_of(func.value)))[0], func.attr
        found = isinstance(func.value, ast.Name) and self.meaning(func.value)
        if found and found.kind == "module":
            return self.module_call(node, func, found)
        if found and found.kind == "class":
            kind = found.thing.name
        if kind in self.classes and name in self.classes[kind].methods:
            given = self.arguments(node, self.classes[kind].methods[name])
        elif (name, len(node.args)) in METHODS_OF.get(kind, METHODS) and not node.keywords:
            return self.known_method(node, func, METHODS_OF.get(kind, METHODS))
        elif name == "format":
            fields = self.fields(node.keywords)
            given = f"[{', '.join(self.writes(node.args))}]"
            return f"py.filled({self.write(func.value)}, {given}, {fields})"
        elif name in UNKNOWN_METHODS or kind in METHODS_OF:
            raise Refused(node, f"the method {name} is not known, or that of an unknown type")
        else:
            signatures = self.methods.get(name, [])
            given = self.arguments(node, signatures[0] if len(set(signatures)) == 1 else None)
        return f"{self.write(func.value, ATOM)}.{name}({given})"

    def module_call(self, node: ast.Call, func: ast.Attribute, found: Meaning) -> str:
        inner = found.thing.get(func.attr)
        if inner is None:
            raise Refused(node, f"`{ast.unparse(func)}` is not known")
        new = "new " if inner.kind == "class" else ""
        return f"{new}{self.write(func)}({self.arguments(node, self.signature(inner))})"

    def known_method(
        self,
        node: ast.Call,
        func: ast.Attribute,
        methods: Mapping[tuple[str, int], tuple[str, str]],
    ) -> str:
        form = methods[func.attr, len(node.args)][0]
        given = [self.items(each) for each in node.args]
        if func.attr in ("startswith", "endswith") and isinstance(node.args[0], ast.Tuple):
            raise Refused(node, f"{func.attr} of one of several texts is not known")
        if func.attr == "join" and self.each(node.args[0]) == given[0]:
            form = "{1}.join({0})"
        if func.attr == "replace" and is_text(node.args[1]) and "$" not in given[1]:
            form = "{}.replaceAll({}, {})"
        level = ATOM if form.startswith("{}") else ARROW
        return form.format(self.write(func.value, level), *given)

    # texts

    def check_text(self, node: ast.expr) -> None:
        if bare(self.type_of(node)) == "float":
            words = ast.unparse(node)
            raise Refused(
                node, f"`{words}` is a float, of which JavaScript writes 3.0 as 3: format it"
            )

    def write_JoinedStr(self, node: ast.JoinedStr) -> str:
        if len(node.values) == 1 and not isinstance(node.values[0], ast.FormattedValue):
            return self.write(node.values[0])
        parts = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                if len(node.values) == 1 and each.format_spec is not None:
                    return self.formatted(each)
                parts.append(f"${{{self.formatted(each)}}}")
            else:
                parts.append(template_text(each))
        return f"`{''.join(parts)}`"

    def formatted(self, node: ast.FormattedValue) -> str:
        if node.conversion != -1:
            raise Refused(node, "!r and !s are not known")
        made = self.write(node.value)
        if node.format_spec is not None:
            spec = self.write(node.format_spec)
            return f"py.format({made}, {spec})"
        self.check_text(node.value)
        return made if self.type_of(node.value) in ("str", "int") else f"py.str({made})"

    # types

    def bind(self, target: ast.expr, kind: str = "") -> str:
        """Let names stand for something of a type; return them as JavaScript has them."""
        if isinstance(target, ast.Name):
            known = self.scopes[-1].setdefault(target.id, Meaning("variable", kind))
            if known.type == "None" != kind:
                known.type = f"{bare(kind)} | None" if kind else ""
            return js_name(target.id)
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Refused(target, f"`{ast.unparse(target)}` cannot be bound here")
        inner = parts_of(kind)[1]
        kinds = inner if len(inner) == len(target.elts) and "..." not in inner else ()
        parts = []
        for i, each in enumerate(target.elts):
            is_rest = isinstance(each, ast.Starred)
            if isinstance(each, ast.Starred):
                parts.append(f"...{self.bind(each.value, 'list')}")
            else:
                parts.append(self.bind(each, kinds[i] if kinds else item_of(kind)))
            if is_rest and i + 1 < len(target.elts):
                raise Refused(target, "what stands behind *names cannot be bound here")
        return f"[{', '.join(parts)}]"

    def type_of(self, node: ast.expr) -> str:
        make: Callable[[Any], str] | None = getattr(self, f"type_{type(node).__name__}", None)
        return make(node) if make else ""

    def type_Constant(self, node: ast.Constant) -> str:
        return "None" if node.value is None else type(node.value).__name__

    def type_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "str"

    def type_Compare(self, node: ast.Compare) -> str:
        return "bool"

    def type_NamedExpr(self, node: ast.NamedExpr) -> str:
        return self.type_of(node.value)

    def type_Tuple(self, node: ast.Tuple) -> str:
        kinds = [self.type_of(each) for each in node.elts]
        return f"tuple[{', '.join(kinds)}]" if kinds and all(kinds) else "tuple"

    def type_List(self, node: ast.List) -> str:
        return self.list_of([self.type_of(each) for each in node.elts])

    def type_ListComp(self, node: ast.ListComp) -> str:
        return "list"

    def list_of(self, kinds: Sequence[str]) -> str:
        return f"list[{kinds[0]}]" if len(set(kinds)) == 1 and kinds[0] else "list"

    def type_Name(self, node: ast.Name) -> str:
        found = self.meaning(node)
        return self.owner if node.id == "self" else found.type if found.kind == "variable" else ""

    def type_Attribute(self, node: ast.Attribute) -> str:
        if isinstance(node.value, ast.Name):
            found = self.meaning(node.value)
            if found.kind == "module" and node.attr in found.thing:
                return str(found.thing[node.attr].type)
        kind = parts_of(bare(self.type_of(node.value)))[0]
        return self.classes[kind].types.get(node.attr, "") if kind in self.classes else ""

    def type_UnaryOp(self, node: ast.UnaryOp) -> str:
        kind = bare(self.type_of(node.operand))
        return "bool" if isinstance(node.op, ast.Not) else "int" if kind == "bool" else kind

    def type_BoolOp(self, node: ast.BoolOp) -> str:
        return self.common(node.values)

    def type_IfExp(self, node: ast.IfExp) -> str:
        return self.common([node.body, node.orelse])

    def common(self, nodes: Sequence[ast.expr]) -> str:
        kinds = {self.type_of(each) for each in nodes}
        if kinds <= set(NUMBERS) and len(kinds) > 1:
            return "float" if "float" in kinds else "int"
        return kinds.pop() if len(kinds) == 1 else ""

    def type_BinOp(self, node: ast.BinOp) -> str:
        kinds = [bare(self.type_of(each)) for each in (node.left, node.right)]
        if "str" in kinds and isinstance(node.op, (ast.Add, ast.Mult)):
            return "str"
        if not set(kinds) <= set(NUMBERS) or isinstance(node.op, ast.BitOr):
            return kinds[0] if kinds[0] == kinds[1] else ""
        is_whole = "float" not in kinds and not isinstance(node.op, (ast.Div, ast.Pow))
        return "int" if is_whole else "float"

    def type_Subscript(self, node: ast.Subscript) -> str:
        kind = bare(self.type_of(node.value))
        name, inner = parts_of(kind)
        if isinstance(node.slice, ast.Slice):
            return kind if name in ("str", "list", "Sequence") else "list"
        if name == "tuple" and "..." not in inner:
            place = node.slice.value if isinstance(node.slice, ast.Constant) else None
            return inner[place] if isinstance(place, int) and place < len(inner) else ""
        if name in DICTS:
            return value_of(kind)
        return "str" if name == "Match" else item_of(kind)

    def type_Call(self, node: ast.Call) -> str:
        name = self.library_name(node.func)
        first = self.type_of(node.args[0]) if node.args else ""
        if name in ("max", "min") and len(node.args) > 1:
            return self.common(node.args)
        if name == "zip":
            return self.type_of_zip(node.args)
        if name:
            return filled(RESULTS.get(name) or FUNCTIONS.get(name, ("", "", ""))[2], first)
        if isinstance(node.func, ast.Name):
            found = self.meaning(node.func)
            signature = self.signature(found)
            return signature.result if signature else ""
        if isinstance(node.func, ast.Attribute):
            return self.type_of_method(node, node.func)
        return ""

    def type_of_zip(self, nodes: Sequence[ast.expr]) -> str:
        kinds = [item_of(self.type_of(each)) for each in nodes]
        return f"list[tuple[{', '.join(kinds)}]]" if all(kinds) else "list"

    def type_of_method(self, node: ast.Call, func: ast.Attribute) -> str:
        found = isinstance(func.value, ast.Name) and self.meaning(func.value)
        if found and found.kind == "module":
            inner = found.thing.get(func.attr)
            signature = inner and self.signature(inner)
            return signature.result if signature else ""
        kind = bare(self.type_of(func.value))
        name = found.thing.name if found and found.kind == "class" else parts_of(kind)[0]
        if name in self.classes and func.attr in self.classes[name].methods:
            return self.classes[name].methods[func.attr].result
        _, result = METHODS_OF.get(name, METHODS).get((func.attr, len(node.args)), ("", ""))
        return "str" if func.attr == "format" else filled(result, kind)


# ---- calls that are written in their own way -----------------------------------------------------

RESULTS = {"isinstance": "bool", "any": "bool", "all": "bool", "re.compile": "Pattern"}


def write_any(self: Expressions, node: ast.Call) -> str:
    """Return any(...) or all(...), which end at the first that decides."""
    (given,) = node.args
    way = "some" if ast.unparse(node.func) == "any" else "every"
    if (
        not isinstance(given, ast.GeneratorExp)
        or len(given.generators) > 1
        or given.generators[0].ifs
    ):
        return f"{self.each(as_list(given))}.{way}(py.truth)"
    (loop,) = given.generators
    found = self.each(loop.iter)
    self.scopes.append({})
    name = self.bind(loop.target, item_of(self.type_of(loop.iter)))
    body = self.test(given.elt)
    self.scopes.pop()
    return f"{found}.{way}(({name}) => {body})"


def write_zip(self: Expressions, node: ast.Call) -> str:
    given = f"[{', '.join(self.writes(node.args))}]"
    strict = [self.write(each.value) for each in node.keywords if each.arg == "strict"]
    return f"py.zip({', '.join([given, *strict])})"


def write_isinstance(self: Expressions, node: ast.Call) -> str:
    found, kind = node.args
    name = ast.unparse(kind)
    if name == "str":
        return code(
            f'typeof {self.write(found, ATOM)} === "str"'.replace('"str"', '"string"'), EQUAL
        )
    if isinstance(kind, ast.Name) and name in self.classes:
        return code(f"{self.write(found, LESS)} instanceof {self.write(kind)}", LESS)
    if name in ("tuple", "list", "Sequence"):
        return f"Array.isArray({self.write(found)})"
    raise Refused(node, f"isinstance of {name} is not known")


def write_replace(self: Expressions, node: ast.Call) -> str:
    parts = [f"{each.arg}: {self.write(each.value)}" for each in node.keywords]
    return f"py.replace_fields({self.write(node.args[0])}, {{ {', '.join(parts)} }})"


def write_variable(self: Expressions, node: ast.Call) -> str:
    default = [self.write(each.value) for each in node.keywords if each.arg == "default"]
    return f"new py.ContextVar({', '.join(default)})"


def write_partial(self: Expressions, node: ast.Call) -> str:
    """Return a function with some arguments; those between them are undefined."""
    func, *given = node.args
    signature = self.signature(self.meaning(func)) if isinstance(func, ast.Name) else None
    made = self.arguments(ast.Call(func, given, node.keywords), signature)
    return f"py.partial({', '.join(filter(None, [self.write(func), made]))})"


def write_regex(self: Expressions, node: ast.Call) -> str:
    (pattern, *flags) = node.args
    if not (isinstance(pattern, ast.Constant) and isinstance(pattern.value, str)):
        raise Refused(node, "a regular expression that is no constant text")
    if len(self.scopes) > 1 or [*map(ast.unparse, flags)] not in ([], ["re.ASCII"], ["re.A"]):
        raise Refused(node, "a regular expression stands at the top, with no flag but re.ASCII")
    return regex_text(node, pattern.value, is_ascii=bool(flags))


SPECIAL = {
    "any": write_any,
    "all": write_any,
    "zip": write_zip,
    "isinstance": write_isinstance,
    "dataclasses.replace": write_replace,
    "contextvars.ContextVar": write_variable,
    "functools.partial": write_partial,
    "re.compile": write_regex,
}
