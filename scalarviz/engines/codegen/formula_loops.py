"""Source of the functions of `dispatch.py` for the compiler, with a loop for each row of a table.

The body of a function, with `row.value(z[i])`, is repeated for every row, with the name of its
formula; rows with the same text share one branch.

A row formula computes one sample. In a tile the numbers of a sample are far apart, but the same
number of consecutive samples is contiguous, so loops over samples can be vectorised. A scalar
variable of the formula becomes an array with one number per sample, and each statement a loop over
samples.

On a GPU a team of threads computes up to TEAM_SAMPLES samples together. A loop whose iterations are
independent, apart from sums, is divided into TEAM_SHARES shares; one thread computes one share of
one sample. The shares of a sum are added in a fixed order, so the result does not depend on the
number of threads. All other statements are run by one thread per sample. The threads synchronize
after each of these phases; variables used in several phases are in shared memory.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalarviz.base.kernel_files import assigned_names
from scalarviz.engines.codegen.kernel_source import (
    AnyFunction,
    KernelWriter,
    expression,
    function_in,
    parse,
    variables,
)

INDENT = "    "


@dataclass(frozen=True, slots=True)
class InUse:
    """The table rows that a kernel supports; it has no branches for other rows.

    Attributes:
        rows: pairs of a table's name in the source, such as "LOSSES", and a row's name; None for
            all rows of all tables
    """

    rows: frozenset[tuple[str, str]] | None = None

    def numbered(self, name: str, table: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
        """Yield the used rows of a table, each with its index in the full table."""
        for number, (row_name, row) in enumerate(table.items()):
            if self.rows is None or (name, row_name) in self.rows:
                yield number, row


EVERYTHING = InUse()


def write_dispatcher(
    writer: KernelWriter, function: AnyFunction, mark: str = "kernel", row: Any = None,
    used: InUse = EVERYTHING,
) -> str:  # fmt: skip
    """Return the kernel source of a dispatch function, for one table row if `row` is given."""
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
    """Expand a first line `run = chosen(KERNELS, kind)[PURPOSE]`, and return the kernels by name.

    The remaining statements are repeated for every used row, with the name of its kernel.
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
    syntax.body = ast.parse(textwrap.dedent(question + branches(bodies, "chosen_kind"))).body
    return kernels


def renamed(text: str, others: Mapping[str, str]) -> str:
    """Return a source text with its variables renamed according to `others`."""
    names: dict[str, ast.expr] = {name: ast.Name(other) for name, other in others.items()}
    return ast.unparse(Inserted(names).visit(ast.parse(text)))


class Lengths(ast.NodeTransformer):
    """Replace `len(TABLE)` with the number of rows of the table."""

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
    """Yield the indices and rows of the table in `row = nth(TABLE, formula, OTHER)`."""
    assert isinstance(first, ast.Assign) and isinstance(first.value, ast.Call)
    table, _, *before = [ast.unparse(argument) for argument in first.value.args]
    start = sum(len(known[other]) for other in before)
    return ((start + number, row) for number, row in used.numbered(table, known[table]))


def branches(bodies: Mapping[str, list[int]], name: str = "formula") -> str:
    """Return the text of `if formula == 0: ... elif ...: ... else: ...`, one branch per body."""
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
    """Rewrite the body of a dispatch function for one row.

    `row.value` becomes the name of the formula. `*slots[:, i]` becomes one number per slot of the
    row. `*(each[i] for each in operands)` and `*arguments` become one number per remaining
    parameter of the formula; `arguments` are read before the loop.
    """

    def __init__(self, writer: KernelWriter, row: Any) -> None:
        self.writer = writer
        self.row = row
        self.read: dict[str, str] = {}

    def read_before(self) -> list[ast.stmt]:
        """Return the statements that read arguments before the loop."""
        return [ast.parse(f"{name} = {value}").body[0] for name, value in self.read.items()]

    def visit_For(self, node: ast.For) -> Any:
        """Replace a loop over samples that only calls a row formula by one call for all samples.

        A loop over slots is unrolled.
        """
        if ast.unparse(node.iter) == "slots":
            body, name = "\n".join(map(ast.unparse, node.body)), ast.unparse(node.target)
            slots = [{name: f"slots[{i}]"} for i in range(len(self.row.slots))]
            return [each for slot in slots for each in ast.parse(renamed(body, slot)).body]
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
        """Return the formula named by an expression such as `row.value`, or None."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "in_team":
            (node,) = node.args
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "row":
            function: AnyFunction = getattr(self.row, node.attr)
            return function
        return None

    def _spread(self, items: list[ast.expr], function: AnyFunction | None) -> Iterator[ast.expr]:
        """Yield the arguments of a call, with starred ones expanded."""
        parameters = list(inspect.signature(function).parameters.values()) if function else []
        done = 0
        for item in items:
            if not isinstance(item, ast.Starred):
                done += 1
                yield self.visit(item)
                continue
            if isinstance(item.value, ast.GeneratorExp):  # over arrays, one for each parameter
                (loop,) = item.value.generators
                for i in range(len(parameters)):
                    array_name = {ast.unparse(loop.target): f"{ast.unparse(loop.iter)}[{i}]"}
                    yield expression(renamed(ast.unparse(item.value.elt), array_name))
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
        """Return the length of the row's field `name`, or `still_taken` if it has no such field."""
        found = getattr(self.row, name, None)
        if callable(found):
            found = found(1.0, *[value for _, value in self.row.settings])
        return still_taken if found is None else len(found)


def kind_of(argument: ast.expr, sample: str) -> str:
    """Classify an argument: a column of a tile, one number per sample, or a constant."""
    if isinstance(argument, ast.Subscript):
        index = ast.unparse(argument.slice).strip("()")
        return {f":, {sample}": ROW, sample: SAMPLE}.get(index, WHOLE)
    return WHOLE


# ---- row formulas on a tile ---------------------------------------------------------------------

# Kinds of arguments: a column of a tile, one number per sample, or one value for all.
ROW, SAMPLE, WHOLE = "row", "sample", "whole"

LANE = "sample_"
RESULT = "result_"
COUNT = "samples_"


class NotByTileError(Exception):
    """Raised for a formula that cannot be applied to a whole tile, only sample by sample."""


def write_tile(writer: KernelWriter, function: AnyFunction, kinds: Sequence[str]) -> str | None:
    """Write the version of a row formula for a tile, and return its name.

    Returns None if the formula must be called once per sample. The new function takes the formula's
    parameters, with arrays for rows and for numbers per sample; an array for the results, if the
    formula returns a number; and the number of samples.
    """
    key = (function, *kinds)
    if key not in writer.names:
        syntax = parse(function)
        parameters = [argument.arg for argument in syntax.args.args]
        kinds = [*kinds, *[WHOLE] * len(parameters)][: len(parameters)]
        try:
            tile = TileWriter(writer, function, syntax, dict(zip(parameters, kinds, strict=True)))
        except NotByTileError:
            return None
        syntax.name = writer.names[key] = writer.new_name(function, "_tile")
        names = [*parameters, *([RESULT] if tile.returns else []), COUNT]
        syntax.args.args = [ast.arg(name) for name in names]
        syntax.args.defaults = []
        syntax.body = tile.body
        writer.add(syntax, function)
    return writer.names[key]


class TileWriter(ast.NodeTransformer):
    """Rewrite the body of a row formula as loops over samples."""

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
        """Rewrite `number = function(row)` to call the tile version of that function."""
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
        """Return a loop that runs a statement for each sample."""
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
    """Return the variables that differ between samples; `found` are those already known."""
    found = set(found)
    while True:
        before = len(found)
        for node in ast.walk(syntax):
            if isinstance(node, ast.Assign | ast.AugAssign) and depends(node.value, found):
                found |= assigned_names(node)
        if len(found) == before:
            return found


def depends(node: ast.AST, by_sample: set[str]) -> bool:
    """Return whether an expression differs between samples; len(x) does not."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
        return False
    if isinstance(node, ast.Name):
        return node.id in by_sample
    return any(depends(child, by_sample) for child in ast.iter_child_nodes(node))


def statement(text: str) -> ast.stmt:
    """Return the syntax tree of a statement."""
    return ast.parse(text).body[0]


# ---- row formulas by a team of threads ----------------------------------------------------------

TEAM_SAMPLES = 8
TEAM_SHARES = 8
MOST_SUMS, MOST_VARIABLES = 2, 4  # sums of a loop, and variables of a formula
TEAM_ROOM = TEAM_SAMPLES * (MOST_VARIABLES + MOST_SUMS * TEAM_SHARES)  # numbers

# The parameters of a formula: rows of the workspaces of values or of gradients, with the name of
# their length; and the number per sample returned by its forward.
SPACE, FLOW, MEMO = "space_", "flow_", "memo_"
SETTING = ast.Assign, ast.AugAssign  # statements
NUMBER = f"{SPACE}[{MEMO} + np.uint64(n_)]"
FORWARD = ((SPACE, "inputs_"), (SPACE, "outputs_"))
BACKWARD = (*FORWARD, (MEMO, ""), (FLOW, "outputs_"), (FLOW, "inputs_"))
EXTRAS = [
    SPACE, FLOW, MEMO, "step_", "inputs_", "outputs_", "room_", "samples_", "worker_", "workers_"
]  # fmt: skip


def in_team(function: Callable[..., Any]) -> Callable[..., None]:
    """Mark a call of a row formula by a team of threads; `RowBody` replaces it.

    The call has the arguments of the formula, with the index of its first number in place of each
    row, followed by EXTRAS.
    """
    raise NotImplementedError


def write_team(writer: KernelWriter, function: AnyFunction) -> str:
    """Write the version of a row formula for a team of threads, and return its name."""
    key = (function, "team")
    if key not in writer.names:
        name = writer.names[key] = writer.new_name(function, "_team")
        writer.add(function_in(team_text(function, name)), function)
    return writer.names[key]


def team_text(function: AnyFunction, name: str) -> str:
    """Return the source of the version of a row formula for a team of threads."""
    syntax = parse(function)
    parameters = [argument.arg for argument in syntax.args.args]
    lines = [f"def {name}({', '.join([*parameters, *EXTRAS])}):", *TeamWriter(syntax).lines()]
    return "\n".join(lines)


@dataclass
class Phase:
    """Statements of a formula between two thread synchronizations.

    Attributes:
        spread: loop that is divided into shares; if None, one thread per sample runs `body`
        own: variables that every iteration sets before reading them
        sums: variables that the loop adds up
    """

    body: list[ast.stmt] = field(default_factory=list)
    spread: ast.For | None = None
    own: set[str] = field(default_factory=set)
    sums: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """Variables of the formula that the phase reads or writes."""
        return {name for each in self.statements for name in names_in(each)} - self.own

    @property
    def set_here(self) -> set[str]:
        """Variables of the formula that the phase writes."""
        return {name for each in self.statements for name in assigned_names(each)} - self.own

    @property
    def statements(self) -> list[ast.stmt]:
        return [self.spread] if self.spread else self.body


class TeamWriter(ast.NodeTransformer):
    """Rewrite the body of a row formula as phases that a team of threads runs."""

    def __init__(self, syntax: ast.FunctionDef) -> None:
        parameters = [argument.arg for argument in syntax.args.args]
        kinds = BACKWARD if "upstream" in parameters else FORWARD
        taken = dict(zip(parameters, kinds, strict=False))
        self.rows = {name: kind for name, kind in taken.items() if kind[0] != MEMO}
        self.memos = taken.keys() - self.rows.keys()
        self.by_sample = depending_names(syntax, set(taken)) - set(taken)
        self.uniform: list[ast.stmt] = []
        self.phases: list[Phase] = []
        for statement in syntax.body:
            self._place(statement)
        used = [name for phase in self.phases for name in phase.names & self.by_sample]
        shared = {name for name in used if used.count(name) > 1}
        shared |= {name for phase in self.phases for name in phase.sums}
        assert len(shared) <= MOST_VARIABLES
        assert not any(phase.own & shared for phase in self.phases)
        self.shared = {name: i for i, name in enumerate(sorted(shared))}

    def _place(self, statement: ast.stmt) -> None:
        """Assign a statement of the formula to a phase."""
        if isinstance(statement, ast.For):
            own = own_names(statement)
            sums = self._sums(statement, own)
            if sums is not None and len(sums) <= MOST_SUMS:
                self.phases.append(Phase(spread=statement, own=own, sums=sums))
                return
        elif assigned_names(statement) and not assigned_names(statement) & self.by_sample:
            self.uniform.append(statement)
            return
        if not self.phases or self.phases[-1].spread:
            self.phases.append(Phase())
        self.phases[-1].body.append(statement)

    def _sums(self, loop: ast.For, own: set[str]) -> list[str] | None:
        """Return the variables that a loop adds up; None if its iterations depend on each other."""
        counter = ast.unparse(loop.target)
        if depends(loop.iter, {*self.by_sample, *self.rows, *self.memos}):
            return None
        sums: list[str] = []
        for node in ast.walk(loop):
            if not isinstance(node, SETTING):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Subscript):
                    if not is_own_place(loop, counter, ast.unparse(target.value)):
                        return None
                elif isinstance(target, ast.Name) and target.id not in own:
                    adds = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
                    if not adds or target.id in {*names_in(loop, ast.Load), *sums}:
                        return None
                    sums.append(target.id)
        return sums

    # ---- the text

    def lines(self) -> Iterator[str]:
        """Yield the lines of the rewritten function body."""
        yield from written(self.uniform, 1)
        known: set[str] = set()
        added = Phase()  # the last loop, whose shares are added up next
        for phase in [*self.phases, Phase()]:
            if added.sums and phase.spread:
                yield from self._each(added.sums, Phase(), known)
            elif phase.body or added.sums:
                yield from self._each(added.sums, phase, known)
            if phase.spread:
                yield from self._spread(phase.spread, phase, known)
            known |= phase.set_here
            added = phase

    def _each(self, sums: Sequence[str], phase: Phase, known: set[str]) -> Iterator[str]:
        """Yield code by which one thread per sample adds up shares of sums and runs statements."""
        yield "    for n_ in range(worker_, samples_, workers_):"
        yield from self._loaded((phase.names | set(sums)) & (known | self.memos))
        for i, name in enumerate(sums):
            yield f"        for share_ in range({TEAM_SHARES}):"
            yield f"            {name} += {share(i, 'share_ * samples_ + n_')}"
        yield from written([self.visit(each) for each in phase.body], 2)
        for name in sorted((phase.set_here | set(sums)) & self.shared.keys()):
            yield f"        {self._variable(name)} = {name}"
        yield "    cuda.syncthreads()"

    def _spread(self, loop: ast.For, phase: Phase, known: set[str]) -> Iterator[str]:
        """Yield code in which each thread runs one share of a loop for one sample."""
        assert isinstance(loop.iter, ast.Call)
        end = ast.unparse(self.visit(loop.iter.args[-1]))
        yield f"    for job_ in range(worker_, samples_ * {TEAM_SHARES}, workers_):"
        yield "        share_ = np.int64(np.uint32(job_) // np.uint32(samples_))"
        yield "        n_ = job_ - share_ * samples_"
        yield from self._loaded(phase.names & (known | self.memos) - set(phase.sums))
        for name in phase.sums:
            yield f"        {name} = 0.0"
        yield f"        for {ast.unparse(loop.target)} in range(share_, {end}, {TEAM_SHARES}):"
        yield from written([self.visit(each) for each in loop.body], 3)
        for i, name in enumerate(phase.sums):
            yield f"        {share(i, 'job_')} = {name}"
        yield "    cuda.syncthreads()"

    def _loaded(self, names: set[str]) -> Iterator[str]:
        """Yield code that reads variables of earlier phases, and the number saved by forward."""
        for name in sorted(names & (self.shared.keys() | self.memos)):
            kept = NUMBER if name in self.memos else self._variable(name)
            yield f"        {name} = {kept}"

    def _variable(self, name: str) -> str:
        return f"room_[{self.shared[name] * TEAM_SAMPLES} + n_]"

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        row = ast.unparse(node.value)
        if row not in self.rows:
            return node
        index = ast.unparse(self.visit(node.slice))
        place = f"{row} + np.uint64({index}) * step_ + np.uint64(n_)"
        found = expression(f"{self.rows[row][0]}[{place}]")
        assert isinstance(found, ast.Subscript)
        found.ctx = node.ctx
        return found

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if ast.unparse(node.func) == "len":
            return expression(self.rows[ast.unparse(node.args[0])][1])
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        assert node.id not in self.rows  # a whole row
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        assert node.value is not None
        return ast.parse(f"{NUMBER} = {ast.unparse(self.visit(node.value))}").body[0]


# ---- which loops can be divided -----------------------------------------------------------------


def own_names(loop: ast.For) -> set[str]:
    """Return the variables that every iteration of a loop sets before reading them."""
    found, before = {ast.unparse(loop.target)}, set[str]()
    for statement in loop.body:
        if isinstance(statement, ast.Assign):
            found |= assigned_names(statement) - before - names_in(statement.value)
        elif isinstance(statement, ast.For):
            others = [names_in(each) for each in loop.body if each is not statement]
            found |= own_names(statement) - set().union(*others)
        before |= names_in(statement)
    return found


def is_own_place(loop: ast.For, counter: str, row: str) -> bool:
    """Return whether each iteration of a loop accesses different items of a row."""
    nodes = list(ast.walk(loop))
    names = [name for n in nodes if isinstance(n, SETTING) for name in assigned_names(n)]
    values = {
        ast.unparse(n.targets[0]): n.value
        for n in nodes
        if isinstance(n, ast.Assign) and names.count(ast.unparse(n.targets[0])) == 1
    }
    inner = {ast.unparse(n.target): ast.unparse(n.iter) for n in nodes if isinstance(n, ast.For)}
    steps = {
        step_of(Inserted(values).visit(copy.deepcopy(node.slice)), counter, inner)
        for node in nodes
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == row
    }
    return len(steps) == 1 and "" not in steps


class Inserted(ast.NodeTransformer):
    """Replace variables with the expressions assigned to them."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def step_of(index: ast.expr, counter: str, inner: Mapping[str, str]) -> str:
    """Return the distance between the indices of two iterations, or "" if indices may be equal.

    For an index a * counter + b with 0 <= b < a the distance is a. For a * (counter * m + k) + b,
    where k is the counter of an inner loop over range(m), it is a * m.
    """
    plus: Any = 0
    step: Any = 1
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Add):
        number = constant(index.right)
        if number is not None:
            plus, index = number, index.left
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.Mult):
        number = constant(index.left)
        if number is not None:
            step, index = number, index.right
    if not 0 <= plus < step:
        return ""
    text = ast.unparse(index)
    if text == counter:
        return str(step)
    for name, times in inner.items():
        size = times.removeprefix("range(").removesuffix(")")
        if text == f"{counter} * {size} + {name}" and size.isidentifier():
            return f"{step} * {size}"
    return ""


def constant(node: ast.expr) -> int | None:
    """Return the value of an integer literal; None for other expressions."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) else None


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Return the names in a syntax tree, optionally only names that are read or written."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    return {each.id for each in names if isinstance(each.ctx, context)}


# ---- text ---------------------------------------------------------------------------------------


def share(i: int, job: str) -> str:
    """Return the source of the array item that stores a thread's share of sum number i."""
    return f"room_[{TEAM_SAMPLES * (MOST_VARIABLES + i * TEAM_SHARES)} + {job}]"


def written(body: Sequence[ast.stmt], depth: int) -> Iterator[str]:
    """Yield the source lines of statements, indented by `depth` levels."""
    for statement in body:
        for line in ast.unparse(statement).splitlines():
            yield "    " * depth + line
