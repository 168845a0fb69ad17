"""Facts of an optimizer: the statements of its update as steps, for each case of its conditions.

An update is followed from its source, once for each way through its conditions. With the numbers
of a weight, `story/update.py` finds the way that these numbers take.
"""

from __future__ import annotations

import ast
import copy
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np

from scalarviz.core.formulas.arithmetic import where
from scalarviz.core.formulas.formula_trees import Choices, Tree, all_choices, function_tree
from scalarviz.core.formulas.formula_words import (
    DEEPEST,
    ExpressionFunction,
    UnwritableError,
    arguments_of,
    assignment,
    called,
    in_words,
    sign,
    syntax_of,
    variables,
)
from scalarviz.core.formulas.optimizers import OptimizerRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.story.facts import (
    Correction,
    NamedFormula,
    NumberedFormula,
    OptimizerFacts,
    UpdateCase,
    UpdateLine,
    UpdateStep,
)
from scalarviz.story.update import STEP

NAME = re.compile(r"\b[A-Za-z_]\w*\b")
DIVIDED = re.compile(r"\b(\w+) / (correction\d?)\b")
ALONE = re.compile(r"(?<!\w)\((\w+)\)")  # brackets around a name, not those of a function
CORRECTION = re.compile(r"1(?:\.0)? - power\((\w+), step\)")
Calls = Mapping[str, Callable[..., Any]]  # functions, by their names in a formula


def optimizer_facts(optimizer: Optimizer, *, mixed: bool) -> OptimizerFacts:
    """Return the facts of an optimizer.

    mixed  whether the network has mixed precision, where no step is refused
    """
    row, schedule, limit = optimizer.row, optimizer.schedule, optimizer.clip_value
    names, constants, cases, whole = steps_of(row)
    clips, given = optimizer.clip_norm < math.inf, {"l1": optimizer.l1, "l2": optimizer.l2}
    return OptimizerFacts(
        optimizer.lr,
        dict(optimizer.settings),
        row.slots,
        given if limit == math.inf else given | {"limit": limit},
        optimizer.clip_norm if clips else None,
        optimizer.not_finite == "error" and not mixed,
        ""
        if schedule.name == "constant"
        else (schedule.name if schedule.name.isidentifier() else "schedule"),
        repr(schedule),
        schedule.row.factor,
        [*schedule.settings.values()],
        steps_before(clips, limit, optimizer.l1, optimizer.l2),
        constants,
        names,
        [Result(row.update, place) for place in range(len(row.slots) + 1)],
        cases,
        whole,
    )


def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@lru_cache(maxsize=16)
def steps_before(clips: bool, limit: float, l1: float, l2: float) -> Sequence[UpdateStep]:
    """Return the steps from a gradient to that of the update."""
    penalties = "g" + " + l1 * sign(w)" * (l1 > 0.0) + " + l2 * w" * (l2 > 0.0)
    formulas = ["g * scale"] * clips + ["clip(g, -limit, limit)"] * (limit < math.inf)
    names = {name: name for name in ("g", "scale", "limit", "w", "l1", "l2")}
    calls: Calls = {"clip": clip, "sign": sign}
    numbers = {"limit": limit, "l1": l1, "l2": l2}
    return [
        step_of("g", "g", each, names, {}, calls, numbers=numbers)
        for each in [*formulas, *[penalties] * (penalties != "g")]
    ]


class Result:
    """What a function returns at a place; NaN where it fails."""

    def __init__(self, function: Callable[..., Any], place: int) -> None:
        self.function, self.place = function, place

    @property
    def tree(self) -> Tree:
        return function_tree(self.function, self.place)

    def __call__(self, *numbers: float) -> float:
        try:
            with np.errstate(all="ignore"):  # as kernels, which do not raise
                found = self.function(*map(np.float64, numbers))
            return float((found if isinstance(found, tuple) else (found,))[self.place])
        except (ArithmeticError, LookupError):
            return math.nan


def step_of(
    name: str,
    place: str,
    formula: str,
    places: Mapping[str, str],
    constants: Mapping[str, float],
    calls: Calls,
    powers: Mapping[str, str] = MappingProxyType({}),
    numbers: Mapping[str, float] = MappingProxyType({}),
) -> UpdateStep:
    """Return a step with its words, and with functions that compute it.

    place   where its number is kept, by what it computes; `places` those that it can read, by name
    calls   the functions that its formula calls
    powers  settings whose powers make the corrections that numbers are divided by, by the names of
            these corrections
    numbers settings that the line has in place of their names
    """
    known = {*places, *constants}
    names = [each for each in dict.fromkeys(NAME.findall(formula)) if each in known]
    divisions = [each for each in DIVIDED.findall(formula) if each[1] in powers]
    short = formula
    for number, by in divisions:
        short = re.sub(rf"\b{number} / {by}\b", f"{number}_corrected", short)
        known.add(f"{number}_corrected")
    line = UpdateLine(
        name,
        NAME.sub(lambda each: f"{numbers[each[0]]:g}" if each[0] in numbers else each[0], formula),
        0.0,
        words=in_words(formula, names, calls) or formula,
        numbered=numbered_formula(formula, calls),
        card=named_formula(ALONE.sub(r"\1", short), known, calls),
        corrections=[
            Correction(
                number,
                by,
                named_formula(
                    f"{number} / (1 - {powers[by]}^step)", {number, powers[by], "step"}, {}
                ),
            )
            for number, by in divisions
        ],
    )
    own = [places.get(each, "") for each in names]
    compute = ExpressionFunction(formula, names, calls)
    return UpdateStep(place, names, own, constants, compute, line)


def named_formula(formula: str, known: set[str], calls: Calls) -> NamedFormula:
    """Return the formula of a card."""
    names = [each for each in dict.fromkeys(NAME.findall(formula)) if each in known]
    words = in_words(formula, names, calls) or formula
    return NamedFormula(words, names, ExpressionFunction(formula.replace("^", "**"), names, calls))


def numbered_formula(formula: str, calls: Calls) -> NumberedFormula:
    """Return a formula with _0_, _1_ ... in place of its numbers."""
    numbered = Numbered()
    code = ast.unparse(numbered.visit(ast.parse(formula, mode="eval")))
    places = [f"_{i}_" for i in range(len(numbered.names))]
    compute = ExpressionFunction(code, places, calls)
    return NumberedFormula(in_words(code, places, calls), numbered.names, compute)


class Numbered(ast.NodeTransformer):
    """An expression with a name of its own in place of each number, whose `names` it keeps."""

    def __init__(self) -> None:
        self.names: list[str | float] = []

    def visit_Name(self, node: ast.Name) -> ast.expr:
        self.names.append(node.id)
        return ast.Name(f"_{len(self.names) - 1}_", ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        return ast.Call(node.func, [self.visit(each) for each in node.args], [])


@lru_cache(maxsize=64)
def steps_of(
    row: OptimizerRow,
) -> tuple[Sequence[str], Sequence[UpdateStep], Sequence[UpdateCase], UpdateStep]:
    """Return names of the numbers of an update, its constants, its cases, and its line as a whole.

    An update that cannot be followed, such as one with a loop, has no cases.
    """
    names = list(inspect.signature(row.update).parameters)
    own = ["w", "g", *row.slots, "lr", *(name for name, _ in row.settings)]
    constants = constants_of(row, names[len(own) :])
    own += names[len(own) :]
    found = {each.place: CORRECTION.fullmatch(each.line.formula) for each in constants if each.line}
    powers = {name: power[1] for name, power in found.items() if power}
    renames = dict(zip(names, own, strict=True))
    cases: list[UpdateCase] = []
    for choices in all_choices():
        try:
            case = Way(choices, powers).update(row, renames)
            for each in case.steps:
                if each.compute is not None:  # an error if there is more than numbers, as a tuple
                    each.compute(*map(len, each.names))
            cases.append(case)
        except (UnwritableError, ArithmeticError, TypeError, ValueError, RecursionError):
            continue
    formula, calls = f"{row.name}({', '.join(own)})", {row.name: Result(row.update, 0)}
    whole = step_of("w", "w", formula, dict(zip(own, own, strict=True)), {}, calls)
    return own, constants, cases, whole


def constants_of(row: OptimizerRow, names: Sequence[str]) -> list[UpdateStep]:
    """Return the constants of a step, such as Adam's bias corrections, as functions."""
    settings = ["step", *(name for name, _ in row.settings)]
    formulas = returned(row.constants, len(names))
    lines = [
        UpdateLine(name, formula, 0.0, words=formula, same=True)
        for name, formula in zip(names, formulas, strict=True)
    ]
    return [
        UpdateStep(line.name, settings, [STEP, *settings[1:]], {}, Result(row.constants, i), line)
        for i, line in enumerate(lines)
    ]


def returned(function: Callable[..., Any], count: int) -> list[str]:
    """Return the source of each element of the tuple that a function returns; "": unknown."""
    try:
        (last,) = syntax_of(function).body
    except (UnwritableError, ValueError):
        return [""] * count
    value = last.value if isinstance(last, ast.Return) else None
    found = [ast.unparse(each) for each in value.elts] if isinstance(value, ast.Tuple) else []
    return found if len(found) == count else [""] * count


# ---- following an update -------------------------------------------------------------------------


@dataclass(frozen=True)
class Returned:
    """What a function returns: expressions of names whose numbers have places, and of others."""

    elements: list[ast.expr]
    places: Mapping[str, str]
    outer: Mapping[str, Any]


class Way:
    """One way through an update, with a step for each assignment and for each condition."""

    def __init__(self, choices: Choices, powers: Mapping[str, str]) -> None:
        self.choices, self.powers = choices, powers
        self.steps: list[UpdateStep] = []
        self.defaults: dict[str, float] = {}  # of parameters that a call leaves out
        self.depth = 0

    def update(self, row: OptimizerRow, renames: Mapping[str, str]) -> UpdateCase:
        """Return the steps of an update; `renames` are what captions call its parameters."""
        self.renames = {name: own for name, own in renames.items() if own != name}
        found = self.function(row.update, {own: own for own in renames.values()})
        last, assigned = None, [each for each in self.steps if each.line]
        for target, element in zip(("w", *row.slots), found.elements, strict=True):
            given = element.id if isinstance(element, ast.Name) else ""
            own = [each for each in assigned if each.line and each.line.name == given]
            if target == "w":
                last = own[-1] if own else self.step(target, element, found.places, found.outer)
            elif not own and given != target:
                self.step(target, element, found.places, found.outer)
        assert last is not None and last.line is not None
        new = replace(last, line=replace(last.line, name="w"))
        steps = [new if each is last else each for each in self.steps]
        return UpdateCase(steps, [each for each in steps if each.line].index(new))

    def function(self, function: Callable[..., Any], places: dict[str, str]) -> Returned:
        """Follow the statements of a function; return what it returns."""
        self.depth += 1
        if self.depth > DEEPEST or not isinstance(function, FunctionType):
            raise UnwritableError
        outer, syntax = variables(function), syntax_of(function)
        if self.depth == 1 and self.renames:
            syntax = Renamed(self.renames).visit(copy.deepcopy(syntax))
        statements = list(syntax.body)
        while statements:
            statement = statements.pop(0)
            if isinstance(statement, ast.If):
                holds = self.holds(statement.test, places, outer)
                statements[:0] = statement.body if holds else statement.orelse
            elif isinstance(statement, ast.Return) and statement.value is not None:
                return self.ending(statement.value, places, outer)
            elif not isinstance(statement, ast.Pass):
                places |= self.assigned(statement, places, outer)
        raise UnwritableError

    def step(
        self, name: str, syntax: ast.expr, places: Mapping[str, str], outer: Mapping[str, Any]
    ) -> UpdateStep:
        """Add a step of one expression."""
        resolved = Resolved(self, places, outer)
        formula = ast.unparse(resolved.visit(copy.deepcopy(syntax)))
        given = {each: self.defaults[at] for each, at in places.items() if at in self.defaults}
        constants = {**resolved.constants, **given}
        place = f"#{len(self.steps)}"
        step = step_of(name, place, formula, places, constants, resolved.calls, self.powers)
        self.steps.append(step)
        return step

    def holds(self, test: ast.expr, places: Mapping[str, str], outer: Mapping[str, Any]) -> bool:
        """Add a condition; return whether it is to hold on this way."""
        step = self.step("", test, places, outer)
        holds = self.choices.next()
        self.steps[-1] = replace(step, line=None, holds=holds)
        return holds

    def assigned(
        self, statement: ast.stmt, places: Mapping[str, str], outer: Mapping[str, Any]
    ) -> dict[str, str]:
        """Follow one assignment, or several such as `m, v = v, m`; return the new places."""
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        pairs = [] if isinstance(target, ast.Tuple) else [assignment(statement)]
        if isinstance(target, ast.Tuple) and isinstance(statement, ast.Assign):
            each = statement.value
            if not isinstance(each, ast.Tuple) or len(each.elts) != len(target.elts):
                raise UnwritableError
            pairs = [*zip(map(ast.unparse, target.elts), each.elts, strict=True)]
        return {name: self.step(name, value, places, outer).place for name, value in pairs}

    def ending(
        self, value: ast.expr, places: Mapping[str, str], outer: Mapping[str, Any]
    ) -> Returned:
        """Return what a return returns; an update that it calls is followed as well."""
        if isinstance(value, ast.Tuple) and len(value.elts) == 1:  # a number in a tuple
            return self.ending(value.elts[0], places, outer)
        if isinstance(value, ast.Tuple):
            return Returned(value.elts, places, outer)
        if isinstance(value, ast.IfExp):
            holds = self.holds(value.test, places, outer)
            return self.ending(value.body if holds else value.orelse, places, outer)
        function = called(value.func, outer) if isinstance(value, ast.Call) else None
        if not isinstance(value, ast.Call) or not isinstance(function, FunctionType):
            return Returned([value], places, outer)
        steps, taken = [*self.steps], [*self.choices.taken]
        try:
            return self.called(value, function, places, outer)
        except UnwritableError:
            self.steps, self.choices.taken = steps, taken
            return Returned([value], places, outer)

    def called(
        self,
        call: ast.Call,
        function: Callable[..., Any],
        places: Mapping[str, str],
        outer: Mapping[str, Any],
    ) -> Returned:
        """Follow the function that a call calls; return what it returns."""
        given: dict[str, str] = {}
        for name, each in arguments_of(call, function).items():
            if not isinstance(each, ast.expr):
                given[name] = f"{name} of {function.__name__}"
                self.defaults[given[name]] = float(each)
            elif isinstance(each, ast.Name) and each.id in places:
                given[name] = places[each.id]
            else:
                given[name] = self.step(name, each, places, outer).place
        return self.function(function, given)


class Renamed(ast.NodeTransformer):
    """A function with other names; UnwritableError if one of them is taken."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names, self.new = names, {*names.values()} - {*names}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.new:
            raise UnwritableError
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


class Resolved(ast.NodeTransformer):
    """An expression with conditions decided by a way, and functions called by their own names.

    constants  numbers of names that are defined outside
    calls      the functions that it calls, by name
    """

    def __init__(self, way: Way, places: Mapping[str, str], outer: Mapping[str, Any]) -> None:
        self.way, self.places, self.outer = way, places, outer
        self.constants: dict[str, float] = {}
        self.calls: dict[str, Callable[..., Any]] = {}

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        holds = self.way.holds(node.test, self.places, self.outer)
        found: ast.expr = self.visit(node.body if holds else node.orelse)
        return found

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id in self.places else self.outside(node, node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.outside(node, node.attr)

    def outside(self, node: ast.expr, name: str) -> ast.expr:
        """Return the name of a number that is defined outside."""
        value = called(node, self.outer)
        is_known = isinstance(value, (int, float)) and name not in self.places
        if not is_known or self.constants.setdefault(name, value) != value:
            raise UnwritableError
        return ast.Name(name, ast.Load())

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = called(node.func, self.outer)
        arguments: list[Any] = node.args
        if function is where and len(arguments) == 3:
            return self.visit_IfExp(ast.IfExp(*arguments))
        if isinstance(function, FunctionType):
            arguments = [
                each if isinstance(each, ast.expr) else ast.Constant(each)
                for each in arguments_of(node, function).values()
            ]
        elif node.keywords:
            raise UnwritableError
        name = str(getattr(function, "__name__", ""))
        if self.calls.setdefault(name, function) is not function or name in self.places:
            raise UnwritableError
        return ast.Call(ast.Name(name, ast.Load()), [self.visit(each) for each in arguments], [])
