"""Source of the functions of `dispatch.py` for the compiler: a loop for each row of a table.

The body of a function, with `row.value(z[i])`, is repeated for every row with the name of that
row's formula; rows with the same text share one branch.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scalarviz.engines.codegen.kernel_source import (
    AnyFunction,
    KernelWriter,
    expression,
    parse,
    variables,
)
from scalarviz.engines.codegen.kernel_teams import write_team
from scalarviz.engines.codegen.kernel_tiles import ROW, SAMPLE, WHOLE, write_tile

INDENT = "    "


@dataclass(frozen=True, slots=True)
class InUse:
    """The rows of tables that a kernel is made for: it has no branch for any other row.

    rows  pairs of the name of a table in the source, such as "LOSSES", and the name of a row; None
          for all rows of all tables
    """

    rows: frozenset[tuple[str, str]] | None = None

    def numbered(self, name: str, table: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
        """Iterate over the rows in use of a table, each with its index among all of them."""
        for number, (row_name, row) in enumerate(table.items()):
            if self.rows is None or (name, row_name) in self.rows:
                yield number, row


EVERYTHING = InUse()


def write_dispatcher(
    writer: KernelWriter, function: AnyFunction, mark: str = "kernel", row: Any = None,
    used: InUse = EVERYTHING,
) -> str:  # fmt: skip
    """Return the source of a function of dispatch.py or cuda_dispatch.py; of one row if given."""
    writer.names[function] = function.__name__
    syntax, known = parse(function), variables(function)
    head = f"@{mark}\ndef {syntax.name}({ast.unparse(syntax.args)}):\n"
    if not ast.unparse(syntax.body[0]).startswith("row = nth("):
        choose(syntax, known, used)
        return head + body_text(writer, Lengths(known).visit(syntax), known)
    bodies: dict[str, list[int]] = {}
    rows = numbered_rows(syntax.body[0], known, used) if row is None else [(0, row)]
    for number, each in rows:
        branch = parse(function)
        choice = RowBody(writer, each)
        body = [choice.visit(statement) for statement in branch.body[1:]]
        branch.body = [*choice.read_before(), *body]
        bodies.setdefault(body_text(writer, branch, known), []).append(number)
    return head + branches(bodies)


def choose(
    syntax: ast.FunctionDef, known: Mapping[str, Any], used: InUse = EVERYTHING
) -> dict[str, AnyFunction]:
    """Expand a first line `run = chosen(KERNELS, kind)[PURPOSE]`; return kernels by their names.

    The statements after it are repeated for every row in use, with the name of its kernel.
    """
    first, *rest = syntax.body
    if not ast.unparse(first).startswith("run = chosen("):
        return {}
    assert isinstance(first, ast.Assign) and isinstance(first.value, ast.Subscript)
    call = first.value.value
    assert isinstance(call, ast.Call) and rest
    table, kind = map(ast.unparse, call.args)
    purpose = ast.unparse(first.value.slice)
    column = known[purpose] if purpose in known else int(purpose)
    body = "\n".join(ast.unparse(statement) for statement in rest)
    kernels: dict[str, AnyFunction] = {}
    bodies: dict[str, list[int]] = {}
    for number, row in used.numbered(table, known[table]):
        kernels[row[column].__name__] = row[column]
        own = textwrap.indent(renamed(body, {"run": row[column].__name__}), INDENT)
        bodies.setdefault(own, []).append(number)
    question = f"{INDENT}chosen_kind = {kind}\n" if len(bodies) > 1 else ""
    text = question + branches(bodies, "chosen_kind")
    syntax.body = ast.parse(textwrap.dedent(text)).body
    return kernels


def renamed(text: str, others: Mapping[str, str]) -> str:
    """Return a source text with variables renamed: `others` has their new names."""
    syntax = ast.parse(text)
    for node in ast.walk(syntax):
        if isinstance(node, ast.Name):
            node.id = others.get(node.id, node.id)
    return ast.unparse(syntax)


class Lengths(ast.NodeTransformer):
    """Replaces `len(TABLE)` by the number of its rows."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = known

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        table = self.known.get(ast.unparse(node.args[0])) if node.args else None
        return ast.Constant(len(table)) if isinstance(table, Mapping) else node


def body_text(writer: KernelWriter, syntax: ast.FunctionDef, known: Mapping[str, Any]) -> str:
    """Return the source of a function without its first line."""
    return writer.translate(syntax, known).partition("\n")[2]


def numbered_rows(
    first: ast.stmt, known: Mapping[str, Any], used: InUse = EVERYTHING
) -> Iterator[tuple[int, Any]]:
    """Iterate over indices and rows of the table of `row = nth(TABLE, formula, OTHER)`."""
    assert isinstance(first, ast.Assign) and isinstance(first.value, ast.Call)
    table, _, *before = [ast.unparse(argument) for argument in first.value.args]
    start = sum(len(known[other]) for other in before)
    return ((start + number, row) for number, row in used.numbered(table, known[table]))


def branches(bodies: Mapping[str, list[int]], name: str = "formula") -> str:
    """Return the text of `if formula == 0: ... elif ...: ... else: ...`, one branch a body."""
    assert bodies, "a kernel calls a function for which nothing is in use"
    if len(bodies) == 1:
        return next(iter(bodies))
    parts = []
    for i, (body, formulas) in enumerate(bodies.items()):
        question = " or ".join(f"{name} == {formula}" for formula in formulas)
        head = "else:" if i == len(bodies) - 1 else f"{'elif' if i else 'if'} {question}:"
        parts.append(f"{INDENT}{head}\n{textwrap.indent(body, INDENT)}")
    return "\n".join(parts)


class RowBody(ast.NodeTransformer):
    """Rewrites the body of a function of dispatch.py for one row.

    `row.value` becomes the name of that formula. `*slots[:, i]` becomes as many numbers as the row
    has slots, and `*arguments` as many as its formula has parameters left; these are read before
    the loop.
    """

    def __init__(self, writer: KernelWriter, row: Any) -> None:
        self.writer = writer
        self.row = row
        self.read: dict[str, str] = {}

    def read_before(self) -> list[ast.stmt]:
        """Return the statements that read arguments before the loop."""
        return [ast.parse(f"{name} = {value}").body[0] for name, value in self.read.items()]

    def visit_For(self, node: ast.For) -> Any:
        """Replace a loop over samples around one call of a row formula by a call for the tile."""
        (statement, *more) = node.body
        call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
        if not more and isinstance(call, ast.Call) and ast.unparse(call.func).startswith("row."):
            sample = ast.unparse(node.target)
            kinds = [kind_of(argument, sample) for argument in call.args]
            function = self._formula(call.func)
            if ROW in kinds and function is not None:
                tile = write_tile(self.writer, function, kinds)
                if tile is not None:
                    return self._tile(tile, statement, call, node)
        return self.generic_visit(node)

    def _tile(self, tile: str, statement: ast.stmt, call: ast.Call, loop: ast.For) -> ast.stmt:
        arguments = [ast.unparse(a) for a in self._spread(call.args, self._formula(call.func))]
        results = statement.targets if isinstance(statement, ast.Assign) else []
        count = ast.unparse(loop.iter).removeprefix("range(").removesuffix(")")
        texts = [*arguments, *map(ast.unparse, results)]
        whole = [text.partition("[")[0] for text in texts]
        return ast.parse(f"{tile}({', '.join([*whole, count])})").body[0]

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        function = self._formula(node)
        return (
            self.generic_visit(node) if function is None else expression(self.writer.name(function))
        )

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.targets = [self.visit(target) for target in node.targets]
        target = node.targets[0]
        if isinstance(target, ast.Tuple) and not target.elts:
            return ast.Pass()
        node.value = self.visit(node.value)
        return node

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        node.elts = list(self._spread(node.elts, None))
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if ast.unparse(node.func) == "in_team":
            function = self._formula(node)
            assert function is not None
            return expression(write_team(self.writer, function))
        node.args = list(self._spread(node.args, self._formula(node.func)))
        node.func = self.visit(node.func)
        return node

    def _formula(self, node: ast.expr) -> AnyFunction | None:
        """Return the function of an expression such as `row.value`; None for anything else."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "in_team":
            (node,) = node.args
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "row":
            function: AnyFunction = getattr(self.row, node.attr)
            return function
        return None

    def _spread(self, items: list[ast.expr], function: AnyFunction | None) -> Iterator[ast.expr]:
        """Iterate over the items, starred ones expanded."""
        parameters = list(inspect.signature(function).parameters.values()) if function else []
        done = 0
        for item in items:
            if not isinstance(item, ast.Starred):
                done += 1
                yield self.visit(item)
                continue
            array = item.value.args[1] if isinstance(item.value, ast.Call) else item.value
            text = ast.unparse(array)
            for i in range(self._length(text.partition("[")[0], len(parameters) - done)):
                if isinstance(array, ast.Subscript):
                    yield expression(text.replace("[:", f"[{i}"))
                    done += 1
                    continue
                integer = done < len(parameters) and parameters[done].annotation in ("int", int)
                self.read[f"{text}_{i}"] = f"int({text}[{i}])" if integer else f"{text}[{i}]"
                yield expression(f"{text}_{i}")
                done += 1

    def _length(self, name: str, still_taken: int) -> int:
        """Return how many items the row has of `name`; `still_taken` if it has no such field."""
        found = getattr(self.row, name, None)
        if callable(found):
            found = found(1.0, *[value for _, value in self.row.settings])
        return still_taken if found is None else len(found)


def kind_of(argument: ast.expr, sample: str) -> str:
    """Return the kind of an argument: a column of a tile, a number per sample, or one for all."""
    if isinstance(argument, ast.Subscript):
        index = ast.unparse(argument.slice).strip("()")
        return {f":, {sample}": ROW, sample: SAMPLE}.get(index, WHOLE)
    return WHOLE
