"""Translate Python expressions to JavaScript for translator.py: names, operators, calls, texts.

A type is the text of an annotation, or "" if unknown; mypy has verified that values match it. The
translation of an expression depends on types: `a + b` is unchanged for two numbers, and becomes
`py.add(a, b)` of web/python.js if the values may be lists.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

# Reserved words of JavaScript, and names used in generated modules: a "_" is appended to them.
RESERVED = set(
    "arguments await break case catch class const continue debugger default delete do else enum "
    "eval export extends false finally for function if implements import in instanceof interface "
    "let new null package private protected public static super switch this throw true try typeof "
    "undefined var void while with yield Array Infinity Math NaN Number caught py".split()
)
ERRORS = set(
    "ArithmeticError AssertionError IndexError KeyError LookupError OverflowError ValueError "
    "ZeroDivisionError".split()
)
NUMBERS = {"int", "float", "bool"}
ARRAYS = "FloatArray"  # numpy arrays, with METHODS and elementwise operators
# Types of containers, with the types of their loop items, and of the values of a dictionary.
ITEM = re.compile(
    r"(?:list|set|frozenset|Sequence|Collection|Iterable|Iterator|dict|Mapping)\[(\w+)[\],]"
    r"|tuple\[(\w+), \.\.\.\]"
)
VALUE = re.compile(r"(?:dict|Mapping)\[\w+, (\w+)\]")
ARRAY = re.compile(r"(?:list|tuple)\b(?!.* \| None)")

# Precedence of JavaScript operators; an ATOM needs no brackets.
ARROW, CHOICE, OR, AND, EQUAL, LESS, SUM, PRODUCT, SIGN, ATOM = range(10)
# Operators of numbers, and the function for all other types.
OPERATORS: Mapping[type[ast.operator], tuple[str, int, str]] = {
    ast.Add: ("+", SUM, "add"),
    ast.Sub: ("-", SUM, "minus"),
    ast.Mult: ("*", PRODUCT, "mul"),
    ast.Div: ("/", PRODUCT, "div"),
    ast.Mod: ("", ATOM, "mod"),
    ast.FloorDiv: ("", ATOM, "floordiv"),
    ast.Pow: ("", ATOM, "pow"),
}
# Comparisons of numbers and texts, and the function for all other types; > and >= swap sides.
COMPARED: Mapping[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "py.less"),
    ast.LtE: ("<=", "py.less_or_equal"),
    ast.Gt: (">", "py.less"),
    ast.GtE: (">=", "py.less_or_equal"),
}
# Functions of Python: their JavaScript, the names of their arguments, and their result type; T is
# the item type of the first argument, S the type of the argument itself.
FUNCTIONS = {
    "abs": ("Math.abs", "x", "S"),
    "all": ("py.all", "found", "bool"),
    "any": ("py.any", "found", "bool"),
    "bool": ("py.truth", "x", "bool"),
    "dict": ("py.dict", "given", "dict"),
    "divmod": ("py.divmod", "a b", "list[int]"),
    "enumerate": ("py.enumerate", "found start", "list"),
    "float": ("py.float", "x", "float"),
    "int": ("py.int", "x", "int"),
    "isinstance": ("", "*", "bool"),
    "len": ("py.len", "found", "int"),
    "list": ("py.list", "found", "list[T]"),
    "map": ("py.map", "make *", "list"),
    "max": ("py.max", "found key default", "T"),
    "min": ("py.min", "found key default", "T"),
    "next": ("py.next", "found other", "T"),
    "range": ("py.range", "first end step", "list[int]"),
    "reversed": ("py.reversed", "found", "list[T]"),
    "round": ("py.round", "x digits", ""),
    "set": ("py.set", "found", "set[T]"),
    "slice": ("py.span", "start stop", "slice"),
    "sorted": ("py.sorted", "found key reverse", "list[T]"),
    "str": ("py.str", "x", "str"),
    "sum": ("py.sum", "found start", ""),
    "tuple": ("py.list", "found", "list[T]"),
    "zip": ("py.zip", "strict *", "list"),
    "dict.fromkeys": ("py.fromkeys", "found value", "dict"),
    "contextvars.ContextVar": ("", "*", "ContextVar"),
    "dataclasses.replace": ("", "*", "S"),
    "itertools.pairwise": ("py.pairwise", "found", "list"),
    "math.ceil": ("py.ceil", "x", "int"),
    "math.cos": ("py.math.cos", "x", "float"),
    "math.exp": ("py.math.exp", "x", "float"),
    "math.floor": ("py.floor", "x", "int"),
    "math.hypot": ("py.math.hypot", "*", "float"),
    "math.isfinite": ("Number.isFinite", "x", "bool"),
    "math.isnan": ("Number.isNaN", "x", "bool"),
    "math.log": ("py.math.log", "x", "float"),
    "math.log10": ("py.math.log10", "x", "float"),
    "math.prod": ("py.prod", "found start", ""),
    "math.sin": ("py.math.sin", "x", "float"),
    "math.sqrt": ("py.math.sqrt", "x", "float"),
    "math.tan": ("py.math.tan", "x", "float"),
    "math.tanh": ("py.math.tanh", "x", "float"),
    "re.compile": ("", "*", "Pattern"),
}
NAMED = {"math.nan": "NaN", "math.inf": "Infinity", "math.pi": "Math.PI"}
# Methods of texts, containers, patterns, matches and variables: name, number of arguments, and
# result type; V is the type of the values of a dictionary.
METHODS = {
    ("add", 1): ("{}.add({})", ""),
    ("all", 0): ("{}.flat().every(py.truth)", "bool"),
    ("any", 0): ("{}.flat().some(py.truth)", "bool"),
    ("append", 1): ("{}.push({})", ""),
    ("argmax", 1): ("py.along({}, {}, py.argmax)", ARRAYS),
    ("clear", 0): ("py.clear({})", ""),
    ("endswith", 1): ("{}.endsWith({})", "bool"),
    ("extend", 1): ("py.add_to({}, {})", ""),
    ("findall", 1): ("py.findall({}, {})", "list"),
    ("fullmatch", 1): ("py.fullmatch({}, {})", "Match | None"),
    ("get", 0): ("{}.get()", ""),
    ("get", 1): ("py.get({}, {})", "V | None"),
    ("get", 2): ("py.get({}, {}, {})", "V"),
    ("index", 1): ("py.index({}, {})", "int"),
    ("items", 0): ("py.items({})", "list"),
    ("join", 1): ("{1}.join({0})", "str"),
    ("keys", 0): ("py.keys({})", "list[T]"),
    ("lower", 0): ("{}.toLowerCase()", "str"),
    ("lstrip", 1): ("py.lstrip({}, {})", "str"),
    ("max", 0): ("py.max({}.flat())", "float"),
    ("max", 1): ("py.along({}, {}, (x) => x[py.argmax(x)])", ARRAYS),
    ("min", 0): ("py.min({}.flat())", "float"),
    ("partition", 1): ("py.partition({}, {})", "tuple[str, ...]"),
    ("pop", 0): ("py.pop({})", "T"),
    ("pop", 1): ("py.pop({}, {})", ""),
    ("replace", 2): ("py.replace({}, {}, {})", "str"),
    ("reset", 1): ("{}.reset({})", ""),
    ("rstrip", 0): ("py.rstrip({})", "str"),
    ("rstrip", 1): ("py.rstrip({}, {})", "str"),
    ("set", 1): ("{}.set({})", ""),
    ("setdefault", 2): ("py.setdefault({}, {}, {})", "V"),
    ("split", 1): ("{}.split({})", "list[str]"),
    ("start", 0): ("{}.index", "int"),
    ("startswith", 1): ("{}.startsWith({})", "bool"),
    ("sum", 1): ("py.along({}, {}, py.total)", ARRAYS),
    ("transpose", 0): ("py.transposed({})", ARRAYS),
    ("strip", 0): ("py.strip({})", "str"),
    ("strip", 1): ("py.strip({}, {})", "str"),
    ("sub", 2): ("py.sub({}, {}, {})", "str"),
    ("update", 1): ("py.update({}, {})", ""),
    ("upper", 0): ("{}.toUpperCase()", "str"),
    ("values", 0): ("py.values({})", "list[V]"),
}
KNOWN = {name for kind in (str, list, dict, set, float, re.Pattern, re.Match) for name in dir(kind)}

# Regular expressions that Python and JavaScript read alike; letter classes need re.ASCII.
LETTERS = re.compile(r"\\[wWdDbB]")
ALIKE = re.compile(
    r"(?:\((?!\?)|\(\?(?::|=|!|<=|<!|P<\w+>)|[).|^]|(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![+*?])"
    r"|\\[.^$*+?()\[\]{}|/\\nrt1-9wWdDbB]|[^\\.^$*+?()\[\]{}|]"
    r"|\[\^?(?!\])(?:\\[\]\[\\^.\-/*+?(){}|$nrtwWdD]|[^\\\[\]])+\])*"
)
UNLIKE = re.compile(r"\\.|\[(?:\\.|[^\]])*\]|\(\?P<|[./\n]", re.DOTALL)
REWRITTEN = {".": r"[^\n]", "/": r"\/", "\n": r"\n", "(?P<": "(?<"}


class Refused(Exception):
    """Raised for Python code that cannot be translated, with the reason and the line."""

    def __init__(self, node: ast.AST, why: str) -> None:
        super().__init__(why)
        self.line = getattr(node, "lineno", 0)


def check(is_known: object, node: ast.AST, why: str) -> None:
    """Raise Refused if `is_known` is false."""
    if not is_known:
        raise Refused(node, why)


class Code(str):
    """JavaScript code, with the precedence `level` of its outermost operator."""

    level = ATOM


def code(text: str, level: int) -> Code:
    made = Code(text)
    made.level = level
    return made


@dataclass(frozen=True)
class Signature:
    """The call signature of a function or a class.

    Attributes:
        names: names of the arguments, positional ones first
        positional: number of positional arguments
        rest: whether there is *args
        fields: whether there is **kwargs
        result: type of the result
    """

    names: tuple[str, ...] = ()
    positional: int = 0
    rest: bool = False
    fields: bool = False
    result: str = ""

    @property
    def is_mixed(self) -> bool:
        """Whether there are *args and keyword arguments, which need another order in JavaScript."""
        return self.rest and (self.fields or len(self.names) > self.positional)


@dataclass(frozen=True)
class Class:
    """A class: the types of its fields and properties, and its methods."""

    types: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, Signature] = field(default_factory=dict)


@dataclass
class Meaning:
    """What a name refers to.

    Attributes:
        kind: "variable", "function", "class", "type", "library" for Python's built-ins and modules,
            or "elsewhere" for objects that are not available in pages
        type: type of a variable
        name: original name of the object, such as "math.exp"
        signature: signature of a function or a class
    """

    kind: str = "variable"
    type: str = ""
    name: str = ""
    signature: Signature | None = None


Scope = dict[str, Meaning]


def js_name(name: str) -> str:
    return f"{name}_" if name in RESERVED else name


def text_of(words: str) -> str:
    return json.dumps(words, ensure_ascii=False)


def type_text(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant):
        return str(annotation.value)
    return ast.unparse(annotation).replace("re.", "") if annotation else ""


def bare(kind: str) -> str:
    """Return a type without None, as mypy has verified that used values are not None."""
    return kind.removesuffix(" | None")


def item_of(kind: str) -> str:
    found = ITEM.match(kind)
    return "str" if kind == "str" else (found[1] or found[2]) if found else ""


def value_of(kind: str) -> str:
    found = VALUE.match(kind)
    return found[1] if found else ""


def filled(result: str, given: str) -> str:
    """Replace T, V and S in a type by the item type, value type and type of `given`."""
    known = {"T": item_of(bare(given)), "V": value_of(bare(given)), "S": given}
    return re.sub(r"\b[TVS]\b", lambda found: known[found[0]] or "?", result)


def signature_of(function: ast.FunctionDef, *, skips: bool = False) -> Signature:
    """Return the signature of a function; if `skips` is true, without its first argument."""
    given = function.args
    names = [each.arg for each in [*given.posonlyargs, *given.args][skips:]]
    named = [each.arg for each in given.kwonlyargs]
    more = given.vararg is not None, given.kwarg is not None
    return Signature((*names, *named), len(names), *more, type_text(function.returns))


class Expressions:
    """Translates the expressions of a module to JavaScript.

    Attributes:
        scopes: names and their meanings in each scope, the module scope first
        used: all names that were used
        owner: name of the class whose methods are being translated
    """

    def __init__(self, top: Scope, classes: Mapping[str, Class]) -> None:
        self.scopes, self.classes = [top], classes
        self.used: set[str] = set()
        self.owner = ""

    def write(self, node: ast.expr, level: int = ARROW) -> str:
        """Translate an expression to JavaScript, in brackets if its precedence is below `level`."""
        made = self.written(node)
        return f"({made})" if isinstance(made, Code) and made.level < level else made

    def written(self, node: ast.expr) -> str:
        match node:
            case ast.Name():
                return self.name(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Call():
                return self.call(node)
            case ast.Constant(value=str(words)):
                return text_of(words)
            case ast.Constant(value=bool() | None as value):
                return {True: "true", False: "false", None: "null"}[value]
            case ast.Constant(value=int() | float()):
                return repr(node.value).removesuffix(".0")
            case ast.BinOp(op=op, left=left, right=right):
                return self.operation(node, op, left, right)
            case ast.UnaryOp(op=ast.Not()):
                return code(f"!{self.test(node.operand, ATOM)}", SIGN)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return code(f"-{self.write(node.operand)}", SIGN)
            case ast.UnaryOp(op=ast.USub()):
                return self.negative(node.operand)
            case ast.BoolOp():
                return self.choice(node)
            case ast.Compare():
                return self.comparisons(node)
            case ast.IfExp():
                parts = self.test(node.test, OR), self.write(node.body, CHOICE)
                return code(f"{parts[0]} ? {parts[1]} : {self.write(node.orelse)}", CHOICE)
            case ast.Tuple() | ast.List():
                return f"[{self.list_of(node.elts)}]"
            case ast.Set():
                return f"py.set([{self.list_of(node.elts)}])"
            case ast.Dict(keys=keys, values=values):
                pairs = [
                    f"[{self.list_of([key, each])}]" if key else f"...py.items({self.write(each)})"
                    for key, each in zip(keys, values, strict=True)
                ]
                return f"new py.Dict([{', '.join(pairs)}])" if pairs else "new py.Dict()"
            case ast.ListComp():
                return self.comprehension(node.generators, node.elt)
            case ast.SetComp():
                return f"py.set({self.comprehension(node.generators, node.elt)})"
            case ast.DictComp():
                pair = ast.Tuple([node.key, node.value])
                return f"new py.Dict({self.comprehension(node.generators, pair)})"
            case ast.GeneratorExp():
                return self.generator(node)
            case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper, step=step)):
                limits = ["null" if each is None else self.write(each) for each in (lower, upper)]
                by = [self.write(step)] if step else []
                return f"py.slice({', '.join([self.write(node.value), *limits, *by])})"
            case ast.Subscript():
                return f"py.at({self.list_of([node.value, node.slice])})"
            case ast.Lambda():
                self.scopes.append({})
                made = f"({self.parameters(node.args)}) => {self.write(node.body)}"
                self.scopes.pop()
                return code(made, ARROW)
            case ast.JoinedStr():
                return self.joined_text(node)
        raise Refused(node, f"`{ast.unparse(node)}` is not known")

    def list_of(self, nodes: Sequence[ast.expr]) -> str:
        """Return expressions in JavaScript, separated by commas."""
        return ", ".join(
            f"...{self.each(node.value)}" if isinstance(node, ast.Starred) else self.write(node)
            for node in nodes
        )

    def each(self, node: ast.expr) -> str:
        """Return the iterable of a loop as a JavaScript array."""
        is_array = isinstance(node, (ast.List, ast.Tuple, ast.ListComp))
        if is_array or ARRAY.match(self.type_of(node)):
            return self.write(node, ATOM)
        return f"py.each({self.write(node)})"

    # ---- names ----

    def meaning(self, node: ast.Name) -> Meaning:
        """Return what a name refers to."""
        for scope in reversed(self.scopes):
            if node.id in scope:
                return scope[node.id]
        check(hasattr(builtins, node.id), node, f"the name {node.id} is not known")
        return Meaning("library", name=node.id)

    def library_name(self, node: ast.expr) -> str:
        """Return the name of a Python library object, such as "len" or "math.exp"; "" otherwise."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            start = self.library_name(node.value)
            return f"{start}.{node.attr}" if start else ""
        found = self.meaning(node) if isinstance(node, ast.Name) else Meaning()
        return found.name if found.kind == "library" else ""

    def name(self, node: ast.Name) -> str:
        found = self.meaning(node)
        if found.kind == "library":
            return self.library(node, found.name)
        check(found.kind != "type", node, f"{node.id} is a type")
        is_there = found.kind != "elsewhere"
        check(is_there, node, f"{node.id} is of {found.name}, which pages do not have")
        is_mixed = found.signature is not None and found.signature.is_mixed
        check(not is_mixed, node, f"{node.id} can only be called, since it has *args and names")
        self.used.add(node.id)
        return "this" if node.id == "self" else js_name(node.id)

    def library(self, node: ast.expr, name: str) -> str:
        """Return the JavaScript for a Python library object that is used without a call."""
        if name in NAMED or name in ERRORS:
            return NAMED.get(name, f"py.{name}")
        is_known = name in FUNCTIONS and "*" not in FUNCTIONS[name][1]
        check(is_known and name not in ("max", "min"), node, f"{name} is not known here")
        return FUNCTIONS[name][0]

    def attribute(self, node: ast.Attribute) -> str:
        name = self.library_name(node)
        if name:
            return self.library(node, name)
        if node.attr == "format":
            return f"py.filler({self.write(node.value)})"
        kind = bare(self.type_of(node.value))
        is_field = any(node.attr in x.types for x in self.classes.values()) or kind[:5] == "Match"
        is_field |= kind[:1].isupper() and kind not in (ARRAYS, "Pattern")  # manual in pages
        is_method = node.attr in KNOWN or any(node.attr in x.methods for x in self.classes.values())
        is_apart = kind[:1].isupper() and kind not in self.classes  # manual in pages
        why = f"`.{node.attr}` may be a method: call it, or annotate `{ast.unparse(node.value)}`"
        check(is_field or is_apart or not is_method, node, why)
        return f"{self.write(node.value, ATOM)}.{'input' if kind[:5] == 'Match' else node.attr}"

    # ---- operators ----

    def operation(
        self, node: ast.AST, op: ast.operator, left: ast.expr, right: ast.expr, in_place: str = ""
    ) -> str:
        """Return `left op right` in JavaScript; `in_place="_to"` makes it modify a list."""
        check(type(op) in OPERATORS, node, f"the operator {type(op).__name__} is not known")
        sign, level, name = OPERATORS[type(op)]
        kinds = [bare(self.type_of(each)) for each in (left, right)]
        if ARRAYS in kinds:
            return self.of_each(lambda a, b: ast.BinOp(a, op, b), left, right)
        check(
            "str" not in kinds or name in ("add", "mul"), node, "texts have no such operator here"
        )
        is_plain = {*kinds} <= NUMBERS or (name == "add" and kinds == ["str", "str"])
        is_safe = name != "div" or (isinstance(right, ast.Constant) and bool(right.value))
        if sign and is_plain and is_safe:
            return code(f"{self.write(left, level)} {sign} {self.write(right, level + 1)}", level)
        return f"py.{name}{in_place * (name == 'add')}({self.list_of([left, right])})"

    def of_each(self, make: Callable[..., ast.expr], *arrays: ast.expr) -> str:
        """Return JavaScript that applies the expression of `make` elementwise to arrays."""
        names = ["a", "b"][: len(arrays)]
        self.scopes.append({name: Meaning(type="float") for name in names})
        made = self.write(make(*(ast.Name(name, ast.Load()) for name in names)))
        self.scopes.pop()
        return f"py.elementwise(({', '.join(names)}) => {made}, {self.list_of(arrays)})"

    def negative(self, node: ast.expr) -> str:
        if self.type_of(node) == "int":
            return code(f"0 - {self.write(node, PRODUCT)}", SUM)  # integers have no -0
        return code(f"-{self.write(node, ATOM)}", SIGN)

    def test(self, node: ast.expr, level: int = ARROW) -> str:
        """Return a JavaScript condition that is true if an expression is true in Python."""
        kind = bare(self.type_of(node))
        if isinstance(node, ast.BoolOp):
            made = self.joined(node, self.test)
            return f"({made})" if made.level < level else made
        if kind in ("bool", "int", "str") or kind in self.classes:
            return self.write(node, level)
        return f"py.truth({self.write(node)})"

    def joined(self, node: ast.BoolOp, write: Callable[[ast.expr, int], str]) -> Code:
        sign, level = ("&&", AND) if isinstance(node.op, ast.And) else ("||", OR)
        return code(f" {sign} ".join(write(each, level + 1) for each in node.values), level)

    def choice(self, node: ast.BoolOp) -> str:
        """Return `a or b`, or `a and b`, in JavaScript, with the value that Python returns."""
        if all(bare(self.type_of(each)) in ("bool", "int", "str") for each in node.values[:-1]):
            return self.joined(node, self.write)
        rest = node.values[1] if len(node.values) == 2 else ast.BoolOp(node.op, node.values[1:])
        name = "or_else" if isinstance(node.op, ast.Or) else "and_then"
        return f"py.{name}({self.write(node.values[0])}, () => {self.write(rest)})"

    def comparisons(self, node: ast.Compare) -> str:
        lefts = [node.left, *node.comparators[:-1]]
        for each in (inner for middle in lefts[1:] for inner in ast.walk(middle)):
            is_once = isinstance(each, ast.Call) and ast.unparse(each)[:4] != "len("
            check(not is_once, node, f"`{ast.unparse(each)}` would be computed twice: name it")
        parts = [*map(self.comparison, node.ops, lefts, node.comparators)]
        return parts[0] if len(parts) == 1 else code(" && ".join(parts), AND)

    def comparison(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> str:
        kinds = {bare(self.type_of(each)) for each in (left, right)}
        is_not = isinstance(op, (ast.NotIn, ast.NotEq, ast.IsNot))
        is_same = isinstance(op, (ast.Is, ast.IsNot))
        if ARRAYS in kinds and not is_same:
            return self.of_each(lambda a, b: ast.Compare(a, [op], [b]), left, right)
        is_plain = kinds & {"str", "NoneType"} or kinds <= {"int", "float"} or kinds == {"bool"}
        if type(op) in COMPARED:
            sign, called = COMPARED[type(op)]
            if not kinds & {*NUMBERS, "str"}:
                return f"{called}({self.list_of([left, right] if '<' in sign else [right, left])})"
            return code(f"{self.write(left, SUM)} {sign} {self.write(right, SUM)}", LESS)
        if isinstance(op, (ast.In, ast.NotIn)):
            made = f"py.has({self.list_of([right, left])})"
        elif is_plain or is_same:
            sign = "!==" if is_not else "==="
            return code(f"{self.write(left, LESS)} {sign} {self.write(right, LESS)}", EQUAL)
        else:
            made = f"py.equal({self.list_of([left, right])})"
        return code(f"!{made}", SIGN) if is_not else made

    # ---- containers and loops ----

    def loop(self, node: ast.comprehension) -> tuple[str, str]:
        """Bind the names of a comprehension; return names and conditions in JavaScript."""
        self.scopes.append({})
        names = self.bind_loop(node.target, node.iter)
        return names, " && ".join(self.test(each, AND + 1) for each in node.ifs)

    def comprehension(self, loops: Sequence[ast.comprehension], part: ast.expr) -> str:
        first, *others = loops
        found = self.each(first.iter)
        names, test = self.loop(first)
        made = self.comprehension(others, part) if others else self.write(part)
        self.scopes.pop()
        if test:
            inner = made if others else f"[{made}]"
            return f"{found}.flatMap(({names}) => ({test} ? {inner} : []))"
        if made == names:
            return f"[...{found}]"
        return f"{found}.{'flatMap' if others else 'map'}(({names}) => {made})"

    def generator(self, node: ast.GeneratorExp) -> str:
        """Return a generator in JavaScript; if it is consumed completely, `as_list` is simpler."""
        check(len(node.generators) == 1, node, "a generator of two loops: write a list")
        found = self.write(node.generators[0].iter)
        names, test = self.loop(node.generators[0])
        made = f"py.lazy({found}, ({names}) => {self.write(node.elt)}"
        self.scopes.pop()
        return f"{made}, ({names}) => {test})" if test else f"{made})"

    def bind_loop(self, target: ast.expr, iterable: ast.expr) -> str:
        """Bind the names of a loop as variables; return them in JavaScript."""
        match iterable:
            case ast.Call(func=ast.Name(id="enumerate"), args=[found, *_]):
                kinds = ["int", self.item_of(found)]
            case ast.Call(func=ast.Name(id="zip"), args=lists):
                kinds = [self.item_of(each) for each in lists]
            case ast.Call(func=ast.Name(id="pairwise"), args=[found]):
                kinds = [self.item_of(found)] * 2
            case ast.Call(func=ast.Attribute(attr="items", value=found)):
                kinds = [self.item_of(found), value_of(bare(self.type_of(found)))]
            case _:
                return self.bind(target, self.item_of(iterable))
        return self.bind(target, "", kinds)

    def bind(self, target: ast.expr, kind: str, kinds: Sequence[str] = ()) -> str:
        """Bind names as variables of a type, or of several types.

        The first value of a name determines its type; if that is None, the second one.
        """
        if isinstance(target, ast.Name):
            known = self.scopes[-1].setdefault(target.id, Meaning(type=kind))
            if known.type == "NoneType" != kind:
                known.type = f"{kind} | None" if kind else ""
            return js_name(target.id)
        check(isinstance(target, (ast.Tuple, ast.List)), target, "only names are bound here")
        assert isinstance(target, (ast.Tuple, ast.List))
        each_of = kinds if len(kinds) == len(target.elts) else [item_of(kind)] * len(target.elts)
        return f"[{', '.join(map(self.bind, target.elts, each_of))}]"

    def item_of(self, node: ast.expr) -> str:
        return item_of(bare(self.type_of(node)))

    # ---- calls ----

    def parameters(self, given: ast.arguments, *, skips: bool = False) -> str:
        """Bind the parameters of a function; return them in JavaScript."""
        names = [*given.posonlyargs, *given.args]
        defaults = [*[None] * (len(names) - len(given.defaults)), *given.defaults]
        pairs = [*zip(names, defaults, strict=True)][skips:]
        pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
        parts = [
            js_name(each.arg) + (f" = {self.write(default)}" if default else "")
            for each, default in pairs
        ]
        self.scopes[-1] |= {each.arg: Meaning(type=type_text(each.annotation)) for each, _ in pairs}
        if given.kwarg:
            self.scopes[-1][given.kwarg.arg] = Meaning(type="dict")
            parts.append(f"{js_name(given.kwarg.arg)} = {{}}")
        if given.vararg:
            kind = type_text(given.vararg.annotation) or "?"
            self.scopes[-1][given.vararg.arg] = Meaning(type=f"list[{kind}]")
            parts.append(f"...{js_name(given.vararg.arg)}")
        return ", ".join(parts)

    def call(self, node: ast.Call) -> str:
        if name := self.library_name(node.func):
            return self.library_call(node, name)
        if isinstance(node.func, ast.Attribute):
            return self.method_call(node, node.func)
        found = self.meaning(node.func) if isinstance(node.func, ast.Name) else Meaning()
        if isinstance(node.func, ast.Name) and found.signature:
            self.used.add(node.func.id)
            name = f"{'new ' if found.kind == 'class' else ''}{js_name(node.func.id)}"
            return f"{name}({self.arguments(node, found.signature)})"
        return f"{self.write(node.func, ATOM)}({self.arguments(node, None)})"

    def arguments(self, node: ast.Call, known: Signature | None) -> str:
        """Return the arguments of a call in the order that JavaScript needs."""
        if not node.keywords and not (known and known.is_mixed):
            return self.list_of(node.args)
        check(known, node, f"`{ast.unparse(node.func)}` is not known, but has arguments by name")
        assert known is not None
        first = node.args[: known.positional]
        has_star = any(isinstance(each, ast.Starred) for each in first)
        check(not has_star, node, "arguments by name beside *arguments")
        values = dict(zip(known.names, first, strict=False))
        values |= {each.arg: each.value for each in node.keywords if each.arg in known.names}
        made = [self.write(values[x]) if x in values else "undefined" for x in known.names]
        more = [each for each in node.keywords if each.arg not in known.names]
        check(known.fields or not more, node, f"`{ast.unparse(node)}` has unknown names")
        rest = self.list_of(node.args[known.positional :])
        made += [self.fields(more)] * known.fields + [rest] * bool(rest)
        while made and made[-1] in ("undefined", "{}"):
            made.pop()
        return ", ".join(made)

    def fields(self, given: Sequence[ast.keyword]) -> str:
        """Return keyword arguments as a JavaScript object."""
        pairs = [
            made
            if made == each.arg
            else f"{each.arg}: {made}"
            if each.arg
            else f"...py.fields({made})"
            for each in given
            for made in [self.write(each.value)]
        ]
        return f"{{ {', '.join(pairs)} }}" if pairs else "{}"

    def library_call(self, node: ast.Call, name: str) -> str:
        match name, node.args:
            case "isinstance", [thing, ast.Name(id="str")]:
                return code(f'typeof {self.write(thing, ATOM)} === "string"', EQUAL)
            case "dataclasses.replace", [thing]:
                return f"py.replace_fields({self.write(thing)}, {self.fields(node.keywords)})"
            case "re.compile", [ast.Constant(value=str(pattern)), *flags]:
                return self.regex(node, pattern, flags)
            case "contextvars.ContextVar", [_]:
                return f"new py.ContextVar({self.list_of([each.value for each in node.keywords])})"
            case "zip", lists:
                strict = [self.write(each.value) for each in node.keywords]
                return f"py.zip({', '.join([f'[{self.list_of(lists)}]', *strict])})"
            case (("max" | "min"), [_, _, *_]):
                if self.common(node.args) == "int" and not node.keywords:
                    return f"Math.{name}({self.list_of(node.args)})"
                together = ast.Call(node.func, [ast.Tuple(node.args)], node.keywords)
                return self.library_call(together, name)
            case "abs", [value] if self.type_of(value) == ARRAYS:
                return self.of_each(lambda a: ast.Call(node.func, [a], []), value)
            case "str", [value]:
                self.check_text(value)
            case "len", [value] if bare(self.type_of(value)).startswith(("str", "list", "tuple")):
                return f"{self.write(value, ATOM)}.length"
            case _, [ast.GeneratorExp() as first, *others] if name not in ("next", "any", "all"):
                return self.library_call(
                    ast.Call(node.func, [as_list(first), *others], node.keywords), name
                )
        if name in ERRORS:
            return f"new py.{name}({self.list_of(node.args)})"
        called, listed, _ = FUNCTIONS.get(name, ("", "", ""))
        check(called, node, f"{name} is not known")
        names = tuple(listed.replace("*", "").split())
        is_known = "*" in listed or len(node.args) <= len(names)
        check(is_known, node, f"{name} with {len(node.args)} arguments is not known")
        return f"{called}({self.arguments(node, Signature(names, len(names), '*' in listed))})"

    def method_call(self, node: ast.Call, func: ast.Attribute) -> str:
        """Return the call of a method, or of a function in a field, in JavaScript."""
        name, form = func.attr, METHODS.get((func.attr, len(node.args)))
        known = self.class_of(func.value)
        is_theirs = any(name in each.methods for each in self.classes.values())
        if known and name in known.methods:
            given = self.arguments(node, known.methods[name])
        elif name == "format":
            given = f"[{self.list_of(node.args)}], {self.fields(node.keywords)}"
            return f"py.filled({self.write(func.value)}, {given})"
        elif form and not known and not node.keywords:
            check(not is_theirs, node, f"`.{name}` of an unknown type: annotate it")
            return self.method_of_python(node, func, form[0])
        else:
            is_free = bool(known) or (name not in KNOWN and not is_theirs)
            check(is_free, node, f"the method {name} is unknown, or its object has an unknown type")
            given = self.arguments(node, None)
        return f"{self.write(func.value, ATOM)}.{name}({given})"

    def class_of(self, node: ast.expr) -> Class | None:
        """Return the class of the value of an expression; None if it is not known."""
        return self.classes.get(bare(self.type_of(node)))

    def method_of_python(self, node: ast.Call, func: ast.Attribute, form: str) -> str:
        given = [self.write(as_list(each)) for each in node.args]
        if (
            func.attr == "replace"
            and isinstance(node.args[1], ast.Constant)
            and "$" not in given[1]
        ):
            form = "{}.replaceAll({}, {})"
        if func.attr == "join":
            given = [self.each(as_list(node.args[0]))]
        is_one = func.attr[-4:] != "with" or not isinstance(node.args[0], ast.Tuple)
        check(is_one, node, f"{func.attr} of several texts is not known")
        return form.format(self.write(func.value, ATOM), *given)

    # ---- texts ----

    def check_text(self, node: ast.expr) -> None:
        """Raise Refused if an expression is a number whose text would differ in JavaScript."""
        is_float = bare(self.type_of(node)) == "float"
        why = "is a float, and JavaScript writes 3.0 as 3: give it a format"
        check(not is_float, node, f"`{ast.unparse(node)}` {why}")

    def joined_text(self, node: ast.JoinedStr) -> str:
        """Return an f-string as a template literal, or as a string if it consists of one text."""
        parts = [
            self.formatted(each)
            if isinstance(each, ast.FormattedValue)
            else text_of(ast.literal_eval(each))
            for each in node.values
        ]
        if len(parts) == 1 and parts[0].startswith(("py.format", '"')):
            return parts[0]
        words = [
            part[1:-1].replace('\\"', '"').replace("`", "\\`").replace("${", "\\${")
            if isinstance(each, ast.Constant)
            else f"${{{part}}}"
            for each, part in zip(node.values, parts, strict=True)
        ]
        return f"`{''.join(words)}`"

    def formatted(self, node: ast.FormattedValue) -> str:
        check(node.conversion == -1, node, "!r and !s are not known")
        if node.format_spec is not None:
            return f"py.format({self.list_of([node.value, node.format_spec])})"
        self.check_text(node.value)
        made = self.write(node.value)
        return made if self.type_of(node.value) in ("str", "int") else f"py.str({made})"

    def regex(self, node: ast.Call, pattern: str, flags: Sequence[ast.expr]) -> str:
        """Return a Python regular expression in JavaScript."""
        is_ascii = [*map(ast.unparse, flags)] == ["re.ASCII"]
        check(is_ascii or not flags, node, "re.ASCII is the only flag that is known")
        check(ALIKE.fullmatch(pattern), node, f"{pattern!r} has parts that are not known")
        letters = None if is_ascii else LETTERS.search(pattern)
        why = "means other letters in JavaScript: add the flag re.ASCII"
        check(not letters, node, f"{letters and letters[0]} in {pattern!r} {why}")
        return f"/{UNLIKE.sub(lambda found: REWRITTEN.get(found[0], found[0]), pattern)}/gu"

    # ---- types ----

    def type_of(self, node: ast.expr) -> str:
        """Return the type of an expression; "" if unknown."""
        match node:
            case ast.Constant():
                return type(node.value).__name__
            case ast.JoinedStr():
                return "str"
            case ast.Compare(left=left, comparators=others):
                return ARRAYS if ARRAYS in map(self.type_of, (left, *others)) else "bool"
            case ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.UnaryOp(op=ast.USub()):
                return self.type_of(node.operand).replace("bool", "int")
            case ast.ListComp() | ast.List() | ast.Tuple():
                return "list"
            case ast.Name(id="self"):
                return self.owner
            case ast.Name():
                return self.meaning(node).type
            case ast.Attribute():
                return self.classes.get(bare(self.type_of(node.value)), Class()).types.get(
                    node.attr, ""
                )
            case ast.BoolOp():
                return self.common(node.values)
            case ast.IfExp():
                return self.common([node.body, node.orelse])
            case ast.BinOp():
                return self.type_of_operation(node)
            case ast.Subscript(slice=ast.Slice()):
                kind = bare(self.type_of(node.value))
                is_list = kind.startswith(("list", "tuple", "Sequence"))
                return "list" if is_list else kind if kind == "str" else ""
            case ast.Subscript():
                kind = bare(self.type_of(node.value))
                return value_of(kind) or (item_of(kind) if "dict" not in kind else "")
            case ast.Call():
                return self.type_of_call(node)
        return ""

    def type_of_operation(self, node: ast.BinOp) -> str:
        kinds = {bare(self.type_of(each)) for each in (node.left, node.right)}
        if "str" in kinds:
            return "str"
        if ARRAYS in kinds:
            return ARRAYS
        if not kinds <= NUMBERS:
            return kinds.pop() if len(kinds) == 1 else ""
        is_whole = "float" not in kinds and not isinstance(node.op, (ast.Div, ast.Pow))
        return "int" if is_whole else "float"

    def type_of_call(self, node: ast.Call) -> str:
        name, first = self.library_name(node.func), self.type_of(node.args[0]) if node.args else ""
        if name in ("max", "min") and len(node.args) > 1:
            return self.common(node.args)
        if name:
            return filled(FUNCTIONS.get(name, ("", "", ""))[2], first)
        if isinstance(node.func, ast.Name):
            signature = self.meaning(node.func).signature
            return signature.result if signature else ""
        if not isinstance(node.func, ast.Attribute):
            return ""
        known = self.class_of(node.func.value)
        if known and node.func.attr in known.methods:
            return known.methods[node.func.attr].result
        _, result = METHODS.get((node.func.attr, len(node.args)), ("", ""))
        return (
            "str" if node.func.attr == "format" else filled(result, self.type_of(node.func.value))
        )

    def common(self, nodes: Sequence[ast.expr]) -> str:
        """Return the type that expressions have in common."""
        kinds = {self.type_of(each) for each in nodes}
        if len(kinds) > 1 and kinds <= NUMBERS:
            return "float" if "float" in kinds else "int"
        return kinds.pop() if len(kinds) == 1 else ""


def as_list(node: ast.expr) -> ast.expr:
    """Return a generator expression as a list, for use where it is consumed completely."""
    return ast.ListComp(node.elt, node.generators) if isinstance(node, ast.GeneratorExp) else node
