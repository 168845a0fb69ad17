"""Source of row formulas for a whole tile: each statement becomes a loop over samples.

A row formula computes one sample. In a tile the numbers of a sample are far apart, but those of
neighbouring samples are adjacent, so loops over samples can be vectorised: a scalar variable of the
formula becomes an array with one number per sample, and each statement a loop over samples.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from scalarviz.engines.codegen.kernel_source import (
    AnyFunction,
    KernelWriter,
    assigned_names,
    expression,
    parse,
    variables,
)

# Kinds of arguments: a column of a tile, one number per sample, or one value for all.
ROW, SAMPLE, WHOLE = "row", "sample", "whole"

LANE = "sample_"
RESULT = "result_"
COUNT = "samples_"


class NotByTileError(Exception):
    """Raised for a formula that must be called for each sample."""


def write_tile(writer: KernelWriter, function: AnyFunction, kinds: Sequence[str]) -> str | None:
    """Write the version of a row formula for a whole tile, and return its name.

    Returns None if the formula must be called for each sample. The new function has the formula's
    parameters, with arrays for rows and for numbers per sample; then, if the formula returns a
    number, an array for the results; then the number of samples.
    """
    key = (function, *kinds)
    if key not in writer.names:
        syntax = parse(function)
        parameters = [argument.arg for argument in syntax.args.args]
        kinds = [*kinds, *[WHOLE] * len(parameters)][: len(parameters)]
        kind = dict(zip(parameters, kinds, strict=True))
        try:
            tile = Tile(writer, function, syntax, kind)
        except NotByTileError:
            return None
        syntax.name = writer.names[key] = writer.new_name(function, "_tile")
        names = [*parameters, *([RESULT] if tile.returns else []), COUNT]
        syntax.args.args = [ast.arg(name) for name in names]
        syntax.args.defaults = []
        syntax.body = tile.body
        writer.add(syntax, function)
    return writer.names[key]


class Tile(ast.NodeTransformer):
    """Rewrites the body of a row formula as loops over samples."""

    def __init__(
        self,
        writer: KernelWriter,
        function: AnyFunction,
        syntax: ast.FunctionDef,
        kind: dict[str, str],
    ) -> None:
        self.writer = writer
        self.known = variables(function)
        self.rows = {name for name in kind if kind[name] == ROW}
        samples = {name for name in kind if kind[name] == SAMPLE}
        self.by_sample = depending_names(syntax, samples | self.rows) - self.rows
        self.returns = False
        if assigned_names(syntax) & set(kind):
            raise NotByTileError
        arrays = sorted(self.by_sample - samples)
        number = writer.number
        self.body = [statement(f"{name} = np.empty({COUNT}, {number})") for name in arrays]
        self.body += list(self._statements(syntax.body))

    def _depends(self, node: ast.AST) -> bool:
        return depends(node, self.by_sample | self.rows)

    def _statements(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for node in body:
            if isinstance(node, ast.For):
                if self._depends(node.iter) or node.orelse:
                    raise NotByTileError
                node.body = list(self._statements(node.body))
                yield node
            elif isinstance(node, ast.Return) and node is body[-1] and node.value is not None:
                self.returns = True
                yield self._for_all(ast.Assign([expression(f"{RESULT}[{LANE}]")], node.value))
            elif isinstance(node, ast.Assign | ast.AugAssign):
                yield self._assignment(node)
            else:
                raise NotByTileError

    def _assignment(self, node: ast.Assign | ast.AugAssign) -> ast.stmt:
        (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(target, ast.Name) and target.id not in self.by_sample:
            return node
        call = node.value
        if isinstance(call, ast.Call) and any(self._is_row(argument) for argument in call.args):
            return self._call(target, call)
        return self._for_all(node)

    def _is_row(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self.rows

    def _call(self, target: ast.expr, call: ast.Call) -> ast.stmt:
        """Rewrite `number = function(row)` as a call of that function's version for a tile."""
        function = self.known.get(ast.unparse(call.func))
        kinds = [ROW if self._is_row(argument) else WHOLE for argument in call.args]
        others = [a for a in call.args if not self._is_row(a) and self._depends(a)]
        if function is None or others or not isinstance(target, ast.Name):
            raise NotByTileError
        tile = write_tile(self.writer, function, kinds)
        if tile is None:
            raise NotByTileError
        arguments = [*map(ast.unparse, call.args), target.id, COUNT]
        return statement(f"{tile}({', '.join(arguments)})")

    def _for_all(self, node: ast.stmt) -> ast.stmt:
        """Return a loop that runs a statement for every sample."""
        loop = ast.parse(f"for {LANE} in range({COUNT}): pass").body[0]
        assert isinstance(loop, ast.For)
        loop.body = [self.visit(node)]
        return loop

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == RESULT:
            return node
        if not self._is_row(node.value) or self._depends(node.slice):
            raise NotByTileError
        node.slice = ast.Tuple([node.slice, expression(LANE)], ast.Load())
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.unparse(node.func) != "len":
            self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.rows:
            raise NotByTileError
        if node.id in self.by_sample:
            return ast.Subscript(ast.Name(node.id, ast.Load()), expression(LANE), node.ctx)
        return node


def depending_names(syntax: ast.FunctionDef, found: set[str]) -> set[str]:
    """Return the names of variables that differ between samples; `found` are known ones."""
    found = set(found)
    while True:
        before = len(found)
        for node in ast.walk(syntax):
            if isinstance(node, ast.Assign | ast.AugAssign) and depends(node.value, found):
                found |= assigned_names(node)
        if len(found) == before:
            return found


def depends(node: ast.AST, by_sample: set[str]) -> bool:
    """Whether an expression differs between samples; len(x) does not."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
        return False
    if isinstance(node, ast.Name):
        return node.id in by_sample
    return any(depends(child, by_sample) for child in ast.iter_child_nodes(node))


def statement(text: str) -> ast.stmt:
    """Return the syntax tree of a statement."""
    return ast.parse(text).body[0]
