"""Translation of formulas from Python to shader functions that are valid in GLSL and HLSL.

A formula is a Python function of floats, or of rows of floats. Supported are arithmetic,
comparisons, conditional expressions, `if`, `for` over a range, and calls of other formulas;
anything else raises InputError.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any, NoReturn

import numpy as np

from scalarviz.base.checks import require
from scalarviz.core.formulas.arithmetic import where
from scalarviz.core.formulas.elementary import power
from scalarviz.core.formulas.formula_trees import variables
from scalarviz.engines.codegen.kernel_source import parse
from scalarviz.errors import InputError
from scalarviz.files.onnx_names import unused
from scalarviz.files.shaders.shader_math import BUILT_IN, WRITTEN

AnyFunction = Callable[..., Any]
Typed = tuple[str, str]  # code of an expression, and its type: float, int, bool or row

ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
LARGEST_POWER = 4  # x**2 to x**4 become products


def plain(name: str) -> str:
    """Return a name with only letters, digits and single underscores, as shaders require."""
    return re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z]", "_", name)).strip("_")


def literal(value: float) -> str:
    """Return the shortest shader literal that gives the same float32."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    require(
        np.isfinite(single),
        f"{value} cannot be written into a shader: its numbers are finite float32",
    )
    text = str(single)
    return text if "." in text or "e" in text else f"{text}.0"


class ShaderTranslation:
    """The translation of one function: names of variables, their types, and statements."""

    def __init__(
        self, function: AnyFunction, syntax: ast.FunctionDef, name_of: Callable[[AnyFunction], str]
    ) -> None:
        self.name_of = name_of  # returns the shader name of a called function
        self.name = function.__name__
        self.syntax = syntax
        self.arguments = [argument.arg for argument in syntax.args.args]
        self.known = variables(function)
        self.names: dict[str, str] = {}
        self.types: dict[str, str] = {}
        self.sizes: dict[str, int] = {}
        self.declared: dict[str, str] = {}

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        raise InputError(
            f"the formula {self.name} cannot be written into a shader: {ast.unparse(node)!r} {why}"
        )

    # Names.

    def new(self, name: str, kind: str) -> str:
        """Return a new shader variable for a Python name, avoiding keywords of shader languages."""
        stem = f"v_{plain(name)}"
        while stem in self.names.values():
            stem += "x"
        self.names[name], self.types[name] = stem, kind
        return stem

    def parameter(self, name: str) -> str:
        return f"float {self.new(name, 'float')}"

    def row(self, name: str, way: str, size: int, length: int) -> str:
        self.sizes[name] = size
        return f"{way} float {self.new(name, 'row')}[{length}]"

    def constant(self, name: str, whole: bool, value: float) -> str:
        kind = "int" if whole else "float"
        text = str(int(value)) if whole else literal(value)
        return f"const {kind} {self.new(name, kind)} = {text};"

    # Statements.

    def block(self, statements: Sequence[ast.stmt], indent: str) -> list[str]:
        """Return the lines of shader code for some statements."""
        return [line for statement in statements for line in self.statement(statement, indent)]

    def statement(self, node: ast.stmt, indent: str) -> list[str]:
        inner = f"{indent}    "
        match node:
            case ast.Return(value=ast.expr() as value):
                return [f"{indent}return {self.number(value)};"]
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ):
                return [f"{indent}{self.assign(target, '=', value)}"]
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in ARITHMETIC:
                return [f"{indent}{self.assign(target, f'{ARITHMETIC[type(op)]}=', value)}"]
            case ast.If(test=test, body=body, orelse=orelse):
                lines = [f"{indent}if ({self.truth(test)}) {{", *self.block(body, inner)]
                if orelse:
                    lines += [f"{indent}}} else {{", *self.block(orelse, inner)]
                return [*lines, f"{indent}}}"]
            case ast.For(target=ast.Name(id=name), body=body, orelse=[]):
                return [self.loop(node, name, indent), *self.block(body, inner), f"{indent}}}"]
        self.refuse(node, "is a statement that shaders do not support")

    def assign(self, target: ast.expr, operator: str, value: ast.expr) -> str:
        text, kind = self.expression(value)
        if isinstance(target, ast.Subscript):
            return f"{self.element(target)} {operator} {self.number(value)};"
        if not isinstance(target, ast.Name):
            self.refuse(target, "is not one number")
        if target.id not in self.names:
            self.declared[self.new(target.id, kind)] = kind
        known = self.types[target.id]
        if known == "float":
            text = self.number(value)
        elif known != kind:
            self.refuse(
                target, f"is of the type {known} at first, and then {kind}: begin with a float"
            )
        return f"{self.names[target.id]} {operator} {text};"

    def loop(self, node: ast.For, name: str, indent: str) -> str:
        call = node.iter
        if not (isinstance(call, ast.Call) and self.value(call.func) is range and call.args):
            self.refuse(call, "is not a range")
        bounds = [self.whole(bound) for bound in call.args]
        first, end = (["0", *bounds] if len(bounds) == 1 else bounds)[:2]
        if len(bounds) > 2:
            self.refuse(call, "has steps other than 1")
        counter = self.names.get(name) or self.new(name, "int")
        return f"{indent}for (int {counter} = {first}; {counter} < {end}; {counter}++) {{"

    # Expressions.

    def number(self, node: ast.expr) -> str:
        """Return the shader code of an expression, converted to a float."""
        text, kind = self.expression(node)
        if kind == "int":
            return f"{text}.0" if text.isdigit() else f"float({text})"
        return text if kind == "float" else self.refuse(node, f"is a {kind}, and no number")

    def whole(self, node: ast.expr) -> str:
        text, kind = self.expression(node)
        return text if kind == "int" else self.refuse(node, "is not a whole number")

    def truth(self, node: ast.expr) -> str:
        text, kind = self.expression(node)
        return (
            text if kind == "bool" else self.refuse(node, "is neither true nor false: compare it")
        )

    def expression(self, node: ast.expr) -> Typed:
        """Return the shader code of an expression, and its type."""
        match node:
            case ast.Constant(value=value):
                return self.outside(node, value)
            case ast.Name(id=name) if name in self.names:
                return self.names[name], self.types[name]
            case ast.Name() | ast.Attribute():
                return self.outside(node, self.value(node))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!({self.truth(operand)})", "bool"
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expression(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                text, kind = self.expression(operand)
                return f"(-{text})", kind
            case ast.BinOp(op=ast.Pow()):
                return self.power(node)
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
                return self.quotient(node)
            case ast.BinOp():
                return self.arithmetic(node)
            case ast.Compare():
                return self.comparison(node)
            case ast.BoolOp(op=op, values=values):
                sign = " && " if isinstance(op, ast.And) else " || "
                return f"({sign.join(map(self.truth, values))})", "bool"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                kinds = {self.expression(each)[1] for each in (body, orelse)}
                read, kind = (self.whole, "int") if kinds == {"int"} else (self.number, "float")
                return f"({self.truth(test)} ? {read(body)} : {read(orelse)})", kind
            case ast.Subscript():
                return self.element(node), "float"
            case ast.Call():
                return self.call(node)
        self.refuse(node, "is not supported in shaders")

    def outside(self, node: ast.expr, value: object) -> Typed:
        """Return a literal, or the number that a global name refers to, and its type."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(node, "is not a number")
        if isinstance(value, int):
            return (str(value) if value >= 0 else f"({value})"), "int"
        if not math.isfinite(value):
            self.refuse(node, f"is {value}, which shaders do not support")
        return (literal(value) if value >= 0.0 else f"({literal(value)})"), "float"

    def arithmetic(self, node: ast.BinOp) -> Typed:
        if type(node.op) not in ARITHMETIC:
            self.refuse(node, "is arithmetic that shaders do not support")
        sign = ARITHMETIC[type(node.op)]
        left, right = self.expression(node.left), self.expression(node.right)
        if left[1] == right[1] == "int" and sign != "/":
            return f"({left[0]} {sign} {right[0]})", "int"
        return f"({self.number(node.left)} {sign} {self.number(node.right)})", "float"

    def quotient(self, node: ast.BinOp) -> Typed:
        """Return the shader code of // or % of nonnegative integers, and its type."""
        (left, one), (right, other) = self.expression(node.left), self.expression(node.right)
        if not one == other == "int":
            self.refuse(node, "is arithmetic that shaders do not support")
        whole = f"({left} / {right})"
        text = whole if isinstance(node.op, ast.FloorDiv) else f"({left} - {right} * {whole})"
        return text, "int"

    def power(self, node: ast.BinOp) -> Typed:
        times = node.right.value if isinstance(node.right, ast.Constant) else None
        base = self.number(node.left)
        if isinstance(times, int) and 2 <= times <= LARGEST_POWER:
            return f"({' * '.join([base] * times)})", "float"
        return f"{self.name_of(power)}({base}, {self.number(node.right)})", "float"

    def comparison(self, node: ast.Compare) -> Typed:
        sides = [node.left, *node.comparators]
        whole = all(self.expression(side)[1] == "int" for side in sides)
        texts = [self.whole(side) if whole else self.number(side) for side in sides]
        parts = []
        for i, operator in enumerate(node.ops):
            if type(operator) not in COMPARISONS:
                self.refuse(node, "is a comparison that shaders do not support")
            parts.append(f"{texts[i]} {COMPARISONS[type(operator)]} {texts[i + 1]}")
        return f"({' && '.join(parts)})", "bool"

    def element(self, node: ast.Subscript) -> str:
        row, kind = self.expression(node.value)
        if kind != "row":
            self.refuse(node, "is not a number of a row")
        return f"{row}[{self.whole(node.slice)}]"

    def call(self, node: ast.Call) -> Typed:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            self.refuse(node, "passes arguments by name or by star")
        function = self.value(node.func)
        if function is len and isinstance(node.args[0], ast.Name) and node.args[0].id in self.sizes:
            return str(self.sizes[node.args[0].id]), "int"
        typed = [self.expression(argument) for argument in node.args]
        if function in (max, min) and [kind for _, kind in typed] == ["int", "int"]:
            (left, _), (right, _) = typed
            return f"({left} {'>' if function is max else '<'} {right} ? {left} : {right})", "int"
        if function is where and typed[0][1] == "bool":
            return self.expression(ast.IfExp(*node.args))
        arguments = [self.number(argument) for argument in node.args]
        if function is float:
            return arguments[0], "float"
        if not callable(function):
            self.refuse(node, "calls something that is not a function")
        return f"{self.name_of(function)}({', '.join(arguments)})", "float"

    def value(self, node: ast.expr) -> Any:
        """Return the value of a global name, or of an attribute of a module."""
        if isinstance(node, ast.Name) and node.id in self.known and node.id not in self.names:
            return self.known[node.id]
        if isinstance(node, ast.Attribute):
            module = self.value(node.value)
            if isinstance(module, ModuleType) and hasattr(module, node.attr):
                return getattr(module, node.attr)
        self.refuse(node, "is not a known name")


class ShaderWriter:
    """The functions of one shader; all their names begin with `prefix`."""

    def __init__(self, prefix: str, taken: Sequence[str] = ()) -> None:
        self.prefix = prefix
        self.sources: list[str] = []
        self._names: dict[Any, str] = {name: name for name in taken}
        self._writing: set[Any] = set()  # formulas being translated, to detect recursion

    def scalar(self, function: AnyFunction) -> str:
        """Return the shader name of a formula on floats, translated on first use."""
        if function in BUILT_IN:
            return BUILT_IN[function]
        function = WRITTEN.get(function, function)
        require(
            function not in self._writing,
            f"the formula {function.__name__} cannot be written into a shader: it calls itself",
        )
        if function not in self._names:
            translation = self._translation(function)
            header = ", ".join(map(translation.parameter, translation.arguments))
            self._write(function, translation, header, [])
        return self._names[function]

    def row(
        self,
        function: AnyFunction,
        sizes: tuple[int, int],
        lengths: tuple[int, int],
        *settings: float,
    ) -> str:
        """Return the shader name of a formula on rows, for these sizes and settings.

        `lengths` are the lengths of the arrays, which may be padded.
        """
        key = (function, sizes, settings)
        if key not in self._names:
            translation = self._translation(function)
            x, y, *names = translation.arguments
            header = translation.row(x, "in", sizes[0], lengths[0])
            header += ", " + translation.row(y, "out", sizes[1], lengths[1])
            types = function.__annotations__
            constants = [
                translation.constant(name, types.get(name) in ("int", int), value)
                for name, value in zip(names, settings, strict=True)
            ]
            self._write(key, translation, header, constants)
        return self._names[key]

    def _translation(self, function: AnyFunction) -> ShaderTranslation:
        check_source(function)
        return ShaderTranslation(function, parse(function), self.scalar)

    def _write(
        self, key: object, translation: ShaderTranslation, header: str, constants: list[str]
    ) -> None:
        stem = f"{self.prefix}_{plain(translation.name)}"
        name = self._names[key] = unused(stem, set(self._names.values()))
        self._writing.add(key)
        body = translation.block(translation.syntax.body, "    ")
        self._writing.remove(key)
        declared = [f"{kind} {variable};" for variable, kind in translation.declared.items()]
        lines = [f"    {line}" for line in (*constants, *declared)]
        self.sources.append("\n".join([f"float {name}({header}) {{", *lines, *body, "}"]))


def check_source(function: AnyFunction) -> None:
    """Raise InputError if a function is not written in Python."""
    if isinstance(function, FunctionType):
        return
    raise InputError(
        f"{getattr(function, '__name__', function)!r} cannot be written into a shader: a formula "
        "may call other formulas, and what core/formulas/elementary.py has"
    )
