"""Source of row formulas for a team of threads: their loops over a row are spread over the threads.

A row formula computes one sample. A team computes up to TEAM_SAMPLES at a time: a loop whose rounds
do not depend on each other, but for sums, is divided into TEAM_SHARES; each share of each sample is
the job of one thread. The shares of a sum are added in order, so that it is the same for every
number of threads. All other statements are run by one thread for each sample. After each of these
phases the threads synchronize; variables that several phases use are in the memory of the block.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scalarviz.engines.codegen.kernel_source import (
    AnyFunction,
    KernelWriter,
    assigned_names,
    expression,
    parse,
)
from scalarviz.engines.codegen.kernel_tiles import depending_names, depends

TEAM_SAMPLES = 8
TEAM_SHARES = 8
MOST_SUMS, MOST_VARIABLES = 2, 4  # of a loop, and of a formula
TEAM_ROOM = TEAM_SAMPLES * (MOST_VARIABLES + MOST_SUMS * TEAM_SHARES)  # numbers

# The parameters of a formula: rows of the workspaces of values or of gradients, with the name of
# their length; and the number per sample that its forward returned.
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

    The arguments are those of the formula, with the index of a row's first number for each row;
    then those of EXTRAS.
    """
    raise NotImplementedError


def write_team(writer: KernelWriter, function: AnyFunction) -> str:
    """Write the version of a row formula for a team of threads, and return its name."""
    key = (function, "team")
    if key not in writer.names:
        name = writer.names[key] = writer.new_name(function, "_team")
        (team,) = ast.parse(team_text(function, name)).body
        assert isinstance(team, ast.FunctionDef)
        writer.add(team, function)
    return writer.names[key]


def team_text(function: AnyFunction, name: str) -> str:
    """Return the source of the version of a row formula for a team of threads."""
    syntax = parse(function)
    parameters = [argument.arg for argument in syntax.args.args]
    lines = [f"def {name}({', '.join([*parameters, *EXTRAS])}):", *Team(syntax).lines()]
    return "\n".join(lines)


@dataclass
class Phase:
    """Statements between two synchronizations.

    spread  a loop, divided into shares; else `body` is run by one thread for each sample
    own     variables that every round of the loop sets before it reads them
    sums    variables that the loop adds to
    """

    body: list[ast.stmt] = field(default_factory=list)
    spread: ast.For | None = None
    own: set[str] = field(default_factory=set)
    sums: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """The variables of the formula that the phase reads or writes."""
        return {name for each in self.statements for name in names_in(each)} - self.own

    @property
    def set_here(self) -> set[str]:
        """The variables of the formula that the phase writes."""
        return {name for each in self.statements for name in assigned_names(each)} - self.own

    @property
    def statements(self) -> list[ast.stmt]:
        return [self.spread] if self.spread else self.body


class Team(ast.NodeTransformer):
    """Rewrites the body of a row formula in phases of a team."""

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
        """Put a statement of the formula into a phase."""
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
        """Return the variables that a loop adds to; None if a round depends on another one."""
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
        """Iterate over the lines of the function's body."""
        yield from written(self.uniform, 1)
        known: set[str] = set()
        added = Phase()  # the last loop, whose shares are to be added up
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
        """One thread for each sample adds up the shares of sums, and runs statements."""
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
        """One thread for each share of each sample runs a part of a loop."""
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
        """Read variables of earlier phases, and the number that forward returned."""
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
        assert node.id not in self.rows  # a row as a whole
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        assert node.value is not None
        return ast.parse(f"{NUMBER} = {ast.unparse(self.visit(node.value))}").body[0]


# ---- which loops can be divided -----------------------------------------------------------------


def own_names(loop: ast.For) -> set[str]:
    """Return the variables that every round of a loop sets before it reads them."""
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
    """Whether a row is read and written at other places in each round of a loop."""
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
    """Replaces variables by what is assigned to them."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def step_of(index: ast.expr, counter: str, inner: Mapping[str, str]) -> str:
    """Return how far places of different rounds are apart, if no two have the same; else "".

    For an index a * counter + b with 0 <= b < a that is a; for a * (counter * m + k) + b, where k
    is the counter of an inner loop over range(m), it is a * m.
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
    """Return the value of an integer in a source text."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) else None


def names_in(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    """Return the names in a syntax tree, or those that are read or written."""
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    return {each.id for each in names if isinstance(each.ctx, context)}


# ---- text ---------------------------------------------------------------------------------------


def share(i: int, job: str) -> str:
    """Return the text of a share of the sum i of a loop."""
    return f"room_[{TEAM_SAMPLES * (MOST_VARIABLES + i * TEAM_SHARES)} + {job}]"


def written(body: Sequence[ast.stmt], depth: int) -> Iterator[str]:
    """Iterate over the lines of statements."""
    for statement in body:
        for line in ast.unparse(statement).splitlines():
            yield "    " * depth + line
