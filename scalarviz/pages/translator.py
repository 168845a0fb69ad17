"""Python as JavaScript: the modules of scalarviz/story for pages.

    python -m scalarviz.pages.translator FOLDER

writes the modules of SOURCES into a folder. docs/TRANSLATOR.md says what Python they may be of:
functions and classes of fields, over plain numbers, texts and containers. What is not known here is
refused with its file and line; nothing is guessed.
"""

from __future__ import annotations

import ast
import os
import posixpath
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from scalarviz.base.package_files import PACKAGE
from scalarviz.pages.translated_expressions import (
    ATOM,
    DICTS,
    ERRORS,
    ITERABLES,
    NUMBERS,
    Class,
    Expressions,
    Meaning,
    Refused,
    Scope,
    Signature,
    item_of,
    js_name,
    signature_of,
    text_of,
    type_text,
)

# The modules of a page that are made, and the files of Python that they are made of.
SOURCES = {
    "story/decimals.js": "base/texts/decimals.py",
    "story/formats.js": "story/formats.py",
    "story/facts.js": "story/facts.py",
    "story/caption.js": "story/caption.py",
    "story/names.js": "story/names.py",
    "story/traced_weight.js": "story/traced_weight.py",
    "story/equations.js": "story/equations.py",
    "story/forward_captions.js": "story/forward_captions.py",
    "story/backward_captions.js": "story/backward_captions.py",
    "story/captions.js": "story/captions.py",
    "story/cards.js": "story/cards.py",
    "story/weight_card.js": "story/weight_card.py",
    "story/guide.js": "story/guide.py",
}
# Names that a module written for pages has, by the module of Python.
BY_HAND = {"scalarviz.base.texts": ("texts.js", ("text", "plural", "row_text"))}
FIELDS = Signature(("key",), 1, fields=True, result="str")
COUNTED = Signature(("key", "count"), 2, fields=True, result="str")
SIGNATURES = {
    "text": FIELDS,
    "plural": COUNTED,
    "row_text": Signature(("key", "words"), 2, result="str"),
}
LIBRARIES = ("math", "re", "dataclasses", "functools", "contextvars")
ONLY_TYPES = ("__future__", "typing", "collections.abc")
EMPTY = {"list": "[]", "dict": "new py.Dict()", "set": "py.set()"}


class TranslationError(ValueError):
    """Why a module of Python has no JavaScript: file, line and reason."""


# ---- names of a function -------------------------------------------------------------------------


def names_bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds, each time, without those of functions in it."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        yield from (each.target.id for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
    elif not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
        for child in ast.iter_child_nodes(node):
            yield from names_bound(child)


@cache
def names_free(node: ast.AST) -> frozenset[str]:
    """Return the names that a node uses or binds, without those of functions in it."""
    found: set[str] = {node.id} if isinstance(node, ast.Name) else set()
    inner: set[str] = set()
    for child in ast.iter_child_nodes(node):
        found |= names_free(child)
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        inner = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        body = node.body if isinstance(node.body, list) else [node.body]
        inner |= {name for each in body for name in names_bound(each)}
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        inner = {name for each in node.generators for name in names_bound(each.target)}
        return frozenset(found - inner | names_free(node.generators[0].iter))
    own = {node.name} if isinstance(node, ast.FunctionDef) else set()
    return frozenset(found - inner | own)


def blocks_of(node: ast.stmt) -> list[list[ast.stmt]]:
    """Return the blocks in a statement."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return []
    blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    return [*filter(None, blocks), *(each.body for each in getattr(node, "handlers", []))]


def is_in_head(node: ast.stmt, name: str) -> bool:
    """Whether a statement has a name outside its blocks, the target of a loop left out."""
    inner = {id(each) for block in blocks_of(node) for each in block}
    inner |= {id(each) for each in getattr(node, "handlers", [])}
    inner |= {id(node.target)} if isinstance(node, ast.For) else set()
    heads = (each for each in ast.iter_child_nodes(node) if id(each) not in inner)
    return any(name in names_free(each) for each in heads)


def is_set_by(node: ast.stmt, name: str) -> bool:
    """Whether a statement is `name = ...`, without the name in what it is set to."""
    if isinstance(node, ast.FunctionDef):
        return node.name == name
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    is_bound = any(name in names_bound(each) for each in targets)
    return is_bound and name not in names_free(node.value)


def is_inside(node: ast.stmt, name: str) -> bool:
    """Whether a statement with blocks has a name for itself: it sets it before it is used."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef)) or is_in_head(node, name):
        return False
    if isinstance(node, ast.For) and name in names_bound(node.target):
        return True
    return all(is_set_first(block, name) for block in blocks_of(node))


def is_set_first(block: Sequence[ast.stmt], name: str) -> bool:
    """Whether a block sets a name before it uses it, or does not have it."""
    found = [each for each in block if name in names_free(each)]
    return not found or is_set_by(found[0], name) or all(is_inside(each, name) for each in found)


# ---- modules -------------------------------------------------------------------------------------


class Module:
    """A module of Python: its statements, and what the names at its top stand for.

    name      of the module of JavaScript
    path      of the file of Python, in scalarviz/
    top       the names that it defines and imports
    imported  the modules of JavaScript where imported names come from, and their names there
    left_out  classes of which no module makes anything
    """

    def __init__(self, name: str, path: str, source: str) -> None:
        self.name, self.path = name, path
        self.tree = ast.parse(source)
        self.top: Scope = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.classes: dict[str, Class] = {}
        self.left_out: set[str] = set()
        for node in self.tree.body:
            self.define(node)

    def define(self, node: ast.stmt) -> None:
        """Take in what a statement at the top defines."""
        if isinstance(node, ast.FunctionDef):
            self.top[node.name] = Meaning("function", thing=signature_of(node))
        elif isinstance(node, ast.ClassDef):
            self.classes[node.name] = class_of(node)
            self.top[node.name] = Meaning("class", thing=self.classes[node.name])

    def take_imports(self, modules: Mapping[str, Module]) -> None:
        """Take in what the module imports, of `modules` a table by name in Python."""
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for each in node.names:
                    self.top[each.asname or each.name] = Meaning("library", name=each.name)
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    name = each.asname or each.name
                    self.top[name] = self.meaning(node.module or "", each.name, name, modules)

    def meaning(
        self, module: str, name: str, known_as: str, modules: Mapping[str, Module]
    ) -> Meaning:
        """Return what an imported name stands for."""
        whole = f"{module}.{name}"
        if module in LIBRARIES:
            return Meaning("library", name=whole)
        if module in ONLY_TYPES:
            return Meaning("type", name=whole)
        if whole in modules:
            self.imported[known_as] = modules[whole].name, "*"
            return Meaning("module", thing=modules[whole].top)
        if module in modules and name in modules[module].top:
            self.imported[known_as] = modules[module].name, name
            return modules[module].top[name]
        if module in BY_HAND and name in BY_HAND[module][1]:
            self.imported[known_as] = BY_HAND[module][0], name
            return Meaning("function", thing=SIGNATURES[name])
        return Meaning("import", name=module)


def class_of(node: ast.ClassDef) -> Class:
    """Return what a class has: fields, properties and methods."""
    types: dict[str, str] = {}
    methods: dict[str, Signature] = {}
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            types[each.target.id] = type_text(each.annotation)
        elif isinstance(each, ast.FunctionDef):
            kinds = set(map(ast.unparse, each.decorator_list))
            if kinds & {"property", "cached_property"}:
                types[each.name] = type_text(each.returns)
            else:
                methods[each.name] = signature_of(each, is_method="staticmethod" not in kinds)
    made = methods.pop("__init__", Signature(tuple(types_of_fields(node)), len(types)))
    signature = Signature(made.names, made.positional, made.rest, made.fields, node.name)
    return Class(node.name, signature, types, methods)


def types_of_fields(node: ast.ClassDef) -> dict[str, str]:
    fields = (each for each in node.body if isinstance(each, ast.AnnAssign))
    return {ast.unparse(each.target): type_text(each.annotation) for each in fields}


def names_used(node: ast.AST) -> Iterator[str]:
    """Yield names by which a class may be made: what is called, its arguments, what has fields."""
    if isinstance(node, ast.Call):
        yield from (each.id for each in (node.func, *node.args) if isinstance(each, ast.Name))
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id


def python_name(path: str) -> str:
    return "scalarviz." + path.removesuffix(".py").replace("/", ".")


@cache
def translated() -> Mapping[str, str]:
    """Return the text of each module of SOURCES."""
    return translate(
        {
            name: (path, (PACKAGE / path).read_text(encoding="utf-8"))
            for name, path in SOURCES.items()
        }
    )


def translate(sources: Mapping[str, tuple[str, str]]) -> Mapping[str, str]:
    """Return modules of JavaScript, a table by name.

    sources  the path in scalarviz/ and the text of a file of Python for each, in such an order that
             a file stands behind those that it imports

    Raises TranslationError, with file, line and reason, for what is not known.
    """
    modules = {
        python_name(path): Module(name, path, text) for name, (path, text) in sources.items()
    }
    classes = {name: one for each in modules.values() for name, one in each.classes.items()}
    trees = [each.tree for each in modules.values()]
    used = {name for tree in trees for each in ast.walk(tree) for name in names_used(each)}
    for each in modules.values():
        each.left_out = each.classes.keys() - used
    translations = [Translation(each, classes, modules) for each in modules.values()]
    made = {each.module.name: each.text() for each in translations}
    names_free.cache_clear()
    return made


# ---- statements ----------------------------------------------------------------------------------


class Translation:
    """A module that is being translated.

    counts  how often names are bound in the function that is written
    """

    def __init__(
        self, module: Module, classes: Mapping[str, Class], modules: Mapping[str, Module]
    ) -> None:
        module.take_imports(modules)
        self.module = module
        self.x = Expressions(module.top, classes)
        self.counts: Counter[str] = Counter()
        for node in module.tree.body:
            self.take_constant(node)

    def take_constant(self, node: ast.stmt) -> None:
        """Take in the names and types of constants at the top."""
        if isinstance(node, ast.AnnAssign):
            self.x.bind(node.target, type_text(node.annotation))
        elif isinstance(node, ast.Assign) and not is_for_types(node, self.module.top):
            self.x.bind(node.targets[0], self.x.type_of(node.value))

    def text(self) -> str:
        """Return the module; raise TranslationError for what is not known."""
        try:
            lines = [line for node in self.module.tree.body for line in self.at_top(node)]
        except Refused as refused:
            raise TranslationError(
                f"{self.module.path}, line {refused.line}: {refused}"
            ) from refused
        head = f"// Made of scalarviz/{self.module.path} by scalarviz/pages/translator.py."
        checked = "// @ts-nocheck: mypy has checked its types"
        return "\n".join([head, checked, "", *self.import_lines("\n".join(lines)), "", *lines, ""])

    def import_lines(self, body: str) -> list[str]:
        """Return the imports of what is used."""
        above = "../" * self.module.name.count("/")
        lines = [f'import * as py from "{above}python.js";'] if "py." in body else []
        for known_as in sorted(self.x.used & self.module.imported.keys()):
            home, name = self.module.imported[known_as]
            path = posixpath.relpath(home, posixpath.dirname(self.module.name))
            path = path if path.startswith(".") else f"./{path}"
            new = js_name(known_as) if name in (known_as, "*") else f"{name} as {js_name(known_as)}"
            lines.append(
                f'import {f"* as {new}" if name == "*" else f"{{ {new} }}"} from "{path}";'
            )
        return lines

    def at_top(self, node: ast.stmt) -> list[str]:
        """Return a statement at the top of the module, with what it exports."""
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_for_types(node, self.module.top):
            return []
        if isinstance(node, ast.FunctionDef):
            return ["", *comment(node), *self.function(node, "export function")]
        if isinstance(node, ast.ClassDef):
            is_left_out = node.name in self.module.left_out
            return [] if is_left_out else ["", *comment(node), *self.class_lines(node)]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return []
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            raise Refused(node, "only imports, constants, functions and classes stand at the top")
        names = set(names_bound(node))
        self.counts.update(names)
        return [f"export {line}" for line in self.statement(node, set(), names)]

    def block(self, body: Sequence[ast.stmt], names: set[str]) -> list[str]:
        """Return statements, and the declarations of names that no block above has declared."""
        firsts: dict[str, ast.stmt] = {}
        for name in names:
            found = [each for each in body if name in names_free(each)]
            if found and not all(is_inside(each, name) for each in found):
                firsts[name] = found[0]
        lines = []
        for each in body:
            fresh = {name for name, first in firsts.items() if first is each}
            lines += self.statement(each, names - firsts.keys(), fresh)
        return lines

    def statement(self, node: ast.stmt, names: set[str], fresh: set[str]) -> list[str]:
        """Return the lines of a statement.

        names  those that its blocks are to declare
        fresh  those that are to be declared here
        """
        make = getattr(self, f"write_{type(node).__name__}", None)
        if make is None:
            raise Refused(node, f"a statement `{type(node).__name__}` is not known".lower())
        try:
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.FunctionDef)):
                late = sorted(name for name in fresh if not is_set_by(node, name))
                lines = make(node, fresh - {*late})
            else:
                late = sorted(fresh)
                lines = make(node, names)
        except Refused as refused:
            refused.line = refused.line or node.lineno
            raise
        return [*([f"let {', '.join(map(js_name, late))};"] if late else []), *lines]

    # assignments

    def write_Assign(self, node: ast.Assign, fresh: set[str]) -> list[str]:
        first, *others = node.targets
        lines = self.assigned(first, node.value, fresh)
        for each in others:
            if not isinstance(first, ast.Name):
                raise Refused(node, "a = b = ... begins with a name here")
            lines += self.assigned(each, ast.Name(first.id, ast.Load()), fresh)
        return lines

    def write_AnnAssign(self, node: ast.AnnAssign, fresh: set[str]) -> list[str]:
        if isinstance(node.target, ast.Name):
            self.x.bind(node.target, type_text(node.annotation))
        if node.value is None:
            return [f"let {js_name(name)};" for name in sorted(fresh)]
        return self.assigned(node.target, node.value, fresh)

    def assigned(self, target: ast.expr, value: ast.expr, fresh: set[str]) -> list[str]:
        if isinstance(target, (ast.Tuple, ast.List)):
            return self.unpacked(target, value, fresh)
        made, kind = self.x.write(value), self.x.type_of(value)
        if isinstance(target, ast.Name):
            return [f"{self.declare({target.id}, fresh)}{self.x.bind(target, kind)} = {made};"]
        return [self.set_to(target, made)]

    def set_to(self, target: ast.expr, made: str) -> str:
        """Return the assignment to a field or an item."""
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            found, place = self.x.write(target.value), self.x.write(target.slice)
            return f"py.put({found}, {place}, {made});"
        if isinstance(target, ast.Attribute):
            return f"{self.x.write(target.value, ATOM)}.{target.attr} = {made};"
        raise Refused(target, f"an assignment to `{ast.unparse(target)}` is not known")

    def declare(self, names: set[str], fresh: set[str]) -> str:
        """Return how names are declared: "const ", "let ", or "" if they are known."""
        if not names & fresh:
            return ""
        return "const " if all(self.counts[name] == 1 for name in names) else "let "

    def unpacked(self, target: ast.Tuple | ast.List, value: ast.expr, fresh: set[str]) -> list[str]:
        """Return the assignment to several names."""
        names = set(names_bound(target))
        stars = [isinstance(each, ast.Starred) for each in target.elts]
        if isinstance(value, ast.Tuple) and names <= fresh and not any(stars):
            pairs = zip(target.elts, value.elts, strict=True)
            return [line for pair in pairs for line in self.assigned(*pair, fresh)]
        if True in stars[:-1]:
            return self.unpacked_around(target, value, fresh)
        if any(isinstance(each, (ast.Attribute, ast.Subscript)) for each in ast.walk(target)):
            raise Refused(target, "several fields or items are set at once: write two lines")
        kind = self.x.type_of(value)
        made = self.x.each(value)
        late = [f"let {js_name(name)};" for name in sorted(names & fresh) if not names <= fresh]
        way = self.declare(names, fresh) if names <= fresh else ""
        return [*late, f"{way}{self.x.bind(target, kind)} = {made};"]

    def unpacked_around(
        self, target: ast.Tuple | ast.List, value: ast.expr, fresh: set[str]
    ) -> list[str]:
        """Return the assignment to names of which `*some` is not the last."""
        if not isinstance(value, ast.Name):
            raise Refused(value, "give this a name, since *names stands before others")
        lines, count = [], len(target.elts)
        for i, each in enumerate(target.elts):
            is_star = isinstance(each, ast.Starred)
            is_behind = any(isinstance(other, ast.Starred) for other in target.elts[:i])
            place = i - count if is_behind else i
            part = (
                ast.Slice(*(ast.Constant(i), ast.Constant(i + 1 - count)))
                if is_star
                else ast.Constant(place)
            )
            name = each.value if isinstance(each, ast.Starred) else each
            lines += self.assigned(name, ast.Subscript(value, part, ast.Load()), fresh)
        return lines

    def write_AugAssign(self, node: ast.AugAssign, names: set[str]) -> list[str]:
        if any(isinstance(each, ast.Call) for each in ast.walk(node.target)):
            raise Refused(node, "a call would be made twice: give it a name")
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        made = self.x.operation(node, node.op, read, node.value)
        for name in ("add", "or"):
            made = (
                made.replace(f"py.{name}(", f"py.{name}_to(", 1)
                if made.startswith(f"py.{name}(")
                else made
            )
        if isinstance(node.target, ast.Name):
            return [f"{js_name(node.target.id)} = {made};"]
        return [self.set_to(node.target, made)]

    def write_Delete(self, node: ast.Delete, names: set[str]) -> list[str]:
        lines = []
        for each in node.targets:
            if not isinstance(each, ast.Subscript) or isinstance(each.slice, ast.Slice):
                raise Refused(node, "only items can be deleted")
            lines.append(f"py.pop({self.x.write(each.value)}, {self.x.write(each.slice)});")
        return lines

    # control flow

    def braced(self, head: str, body: Sequence[ast.stmt], names: set[str]) -> list[str]:
        return [f"{head} {{", *indented(self.block(body, names)), "}"]

    def write_If(self, node: ast.If, names: set[str]) -> list[str]:
        lines = self.braced(f"if ({self.x.test(node.test)})", node.body, names)
        if not node.orelse:
            return lines
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            first, *rest = self.block(node.orelse, names)
            if first.startswith("if "):
                return [*lines[:-1], f"}} else {first}", *rest]
        return [*lines[:-1], *self.braced("} else", node.orelse, names)]

    def write_For(self, node: ast.For, names: set[str]) -> list[str]:
        if node.orelse:
            raise Refused(node, "a `for ... else` is not known")
        targets = set(names_bound(node.target))
        found, kind = self.x.each(node.iter), item_of(self.x.type_of(node.iter))
        if targets & names and not targets <= names:
            raise Refused(node, f"of {', '.join(sorted(targets))} some are used after the loop")
        inner = {name for each in node.body for name in names_bound(each)}
        way = "" if not targets <= names else "let " if targets & inner else "const "
        head = f"for ({way}{self.x.bind(node.target, kind)} of {found})"
        return self.braced(head, node.body, names - targets)

    def write_While(self, node: ast.While, names: set[str]) -> list[str]:
        if node.orelse:
            raise Refused(node, "a `while ... else` is not known")
        return self.braced(f"while ({self.x.test(node.test)})", node.body, names)

    def write_Try(self, node: ast.Try, names: set[str]) -> list[str]:
        if node.orelse:
            raise Refused(node, "a `try ... else` is not known")
        lines = self.braced("try", node.body, names)
        if node.handlers:
            found = [line for each in node.handlers for line in self.handler(each, names)]
            chain = [
                found[0].removeprefix("} else "),
                *found[1:],
                "} else {",
                "  throw caught;",
                "}",
            ]
            lines = [*lines[:-1], "} catch (caught) {", *indented(chain), "}"]
        if node.finalbody:
            lines = [*lines[:-1], *self.braced("} finally", node.finalbody, names)]
        return lines

    def handler(self, node: ast.ExceptHandler, names: set[str]) -> list[str]:
        """Return what is done with errors of some kinds, without its last bracket."""
        if node.type is None:
            raise Refused(node, "an `except` names its errors")
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        tests = [f"caught instanceof {self.x.write(each)}" for each in kinds]
        name = [f"const {js_name(node.name)} = caught;"] if node.name else []
        if node.name:
            self.x.scopes[-1][node.name] = Meaning("variable")
        lines = [*name, *self.block(node.body, names)]
        return [f"}} else if ({' || '.join(tests)}) {{", *indented(lines)]

    def write_Return(self, node: ast.Return, names: set[str]) -> list[str]:
        return ["return null;" if node.value is None else f"return {self.x.write(node.value)};"]

    def write_Raise(self, node: ast.Raise, names: set[str]) -> list[str]:
        if node.exc is None:
            return ["throw caught;"]
        is_class = isinstance(node.exc, ast.Name) and node.exc.id in ERRORS
        made = self.x.write(node.exc)
        return [f"throw new {made}();" if is_class else f"throw {made};"]

    def write_Assert(self, node: ast.Assert, names: set[str]) -> list[str]:
        why = self.x.write(node.msg) if node.msg else text_of(ast.unparse(node.test))
        return [f"if (!{self.x.test(node.test, ATOM)}) throw new py.AssertionError({why});"]

    def write_Expr(self, node: ast.Expr, names: set[str]) -> list[str]:
        return [] if isinstance(node.value, ast.Constant) else [f"{self.x.write(node.value)};"]

    def write_Pass(self, node: ast.Pass, names: set[str]) -> list[str]:
        return []

    def write_Break(self, node: ast.Break, names: set[str]) -> list[str]:
        return ["break;"]

    def write_Continue(self, node: ast.Continue, names: set[str]) -> list[str]:
        return ["continue;"]

    # functions and classes

    def write_FunctionDef(self, node: ast.FunctionDef, fresh: set[str]) -> list[str]:
        """Return a function in a function: an arrow, in which `this` is that of the method."""
        self.x.scopes[-1][node.name] = Meaning("function", thing=signature_of(node))
        way = self.declare({node.name}, fresh)
        lines = self.function(node, f"{way}{js_name(node.name)} =")
        return [*lines[:-1], "};"]

    def function(self, node: ast.FunctionDef, head: str, *, is_method: bool = False) -> list[str]:
        """Return a function; an arrow if its head ends with "=", else with its name behind it."""
        if node.decorator_list and not is_method:
            raise Refused(node, "a decorator of a function is not known")
        self.x.scopes.append({})
        if is_method:
            self.x.scopes[-1]["self"] = Meaning("variable", type="self")
        parameters = f"({self.x.parameters(node.args, is_method=is_method)})"
        before, self.counts = (
            self.counts,
            Counter(n for each in node.body for n in names_bound(each)),
        )
        lines = self.block(node.body, {*self.counts} - self.x.scopes[-1].keys())
        self.counts = before
        self.x.scopes.pop()
        is_arrow = head.endswith("=")
        if is_generator(node):
            if is_arrow:
                raise Refused(node, "a generator in a function: put it at the top")
            head = f"*{head}" if is_method else f"{head}*"
        name = "" if is_arrow or is_method else f" {js_name(node.name)}"
        return [
            f"{head}{name}{' ' * is_arrow}{parameters}{' =>' * is_arrow} {{",
            *indented(lines),
            "}",
        ]

    def class_lines(self, node: ast.ClassDef) -> list[str]:
        """Return a class: its fields are the arguments of its constructor."""
        made = [*map(ast.unparse, node.decorator_list)]
        unknown = [each for each in made if each not in KINDS_OF_CLASS]
        if unknown or node.bases or node.keywords:
            raise Refused(node, f"a class with {', '.join(unknown) or 'a base'} is not known")
        is_data = any(each.startswith("dataclass") for each in made)
        lines = ["static is_data = true;"] if is_data else []
        fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
        if is_data:
            lines += ["", *self.constructor(fields)]
        for each in node.body:
            if isinstance(each, ast.FunctionDef):
                lines += ["", *comment(each), *self.method(each, node.name)]
            elif not (is_docstring(each) or (each in fields and is_data) or is_slots(each)):
                raise Refused(each, f"`{ast.unparse(each)}` in a class is not known")
        return [f"export class {js_name(node.name)} {{", *indented(lines), "}"]

    def constructor(self, fields: Sequence[ast.AnnAssign]) -> list[str]:
        parts, lines = [], []
        for each in fields:
            name = ast.unparse(each.target)
            default = "" if each.value is None else f" = {self.default(each.value)}"
            parts.append(f"{js_name(name)}{default}")
            lines.append(f"this.{name} = {js_name(name)};")
        return [f"constructor({', '.join(parts)}) {{", *indented(lines), "}"]

    def default(self, node: ast.expr) -> str:
        """Return the default of a field."""
        if not (
            isinstance(node, ast.Call) and self.x.library_name(node.func) == "dataclasses.field"
        ):
            return self.x.write(node)
        known = {each.arg: each.value for each in node.keywords}
        if known.keys() == {"default"}:
            return self.x.write(known["default"])
        name = ast.unparse(known.get("default_factory", node))
        if known.keys() != {"default_factory"} or name not in EMPTY:
            raise Refused(node, f"`{ast.unparse(node)}` is not known")
        return EMPTY[name]

    def method(self, node: ast.FunctionDef, owner: str) -> list[str]:
        kinds = [*map(ast.unparse, node.decorator_list)]
        if node.name == "__str__":  # what a prompt of Python shows
            return []
        if (node.name.startswith("__") and node.name != "__init__") or len(kinds) > 1:
            raise Refused(node, f"the method {node.name} is not known")
        self.x.owner = owner
        name = "constructor" if node.name == "__init__" else node.name
        if kinds == ["staticmethod"]:
            undecorated = ast.FunctionDef(node.name, node.args, node.body, [], node.returns)
            return self.function(undecorated, f"static {name}", is_method=False)
        head = "get " + name if kinds in (["property"], ["cached_property"]) else name
        lines = self.function(node, head, is_method=True)
        if kinds == ["cached_property"]:
            made = ["const make = () => {", *lines[1:-1], "};"]
            lines = [
                lines[0],
                *indented([*made, f'return py.cached(this, "{name}", make());']),
                "}",
            ]
        return lines


KINDS_OF_CLASS = (
    "dataclass",
    "dataclass(frozen=True)",
    "dataclass(frozen=True, slots=True)",
    "dataclass(slots=True)",
    "final",
)


def indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" if line else line for line in lines]


def comment(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    """Return the docstring of a function or a class as a comment."""
    words = (ast.get_docstring(node) or "").replace("*/", "* /").splitlines()
    if len(words) < 2:
        return [f"/** {each} */" for each in words]
    return ["/**", *(f" * {each}".rstrip() for each in words), " */"]


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_slots(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in (
        "__slots__",
        "__repr__",
    )


def is_generator(node: ast.FunctionDef) -> bool:
    inner = [each for each in ast.walk(node) if isinstance(each, (ast.FunctionDef, ast.Lambda))]
    yields = [each for each in ast.walk(node) if isinstance(each, (ast.Yield, ast.YieldFrom))]
    theirs = {id(each) for one in inner if one is not node for each in ast.walk(one)}
    return any(id(each) not in theirs for each in yields)


def is_for_types(node: ast.stmt, top: Scope) -> bool:
    """Whether a statement matters to type checkers alone."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if not isinstance(node, ast.Assign) or len(node.targets) > 1:
        return False
    if isinstance(node.value, ast.Call):
        return ast.unparse(node.value.func) == "TypeVar"
    is_union = isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.BitOr)
    return (is_union or isinstance(node.value, ast.Subscript)) and is_type(node.value, top)


def is_type(node: ast.expr, top: Scope) -> bool:
    """Whether an expression is a type, such as `tuple[Piece, ...] | None`."""
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        kind = top[node.id].kind if node.id in top else "builtin"
        return kind in ("type", "class", "import") or node.id in NAMES_OF_TYPES
    return all(
        is_type(each, top) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)
    )


NAMES_OF_TYPES = {*NUMBERS, *ITERABLES, *DICTS, "str", "object", "Callable"}


def main(folder: str) -> None:
    """Write the modules into a folder, those that are not there already."""
    for name, text in translated().items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            new = path.with_suffix(f".{os.getpid()}")  # another process may be reading it
            new.write_text(text, encoding="utf-8")
            new.replace(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
