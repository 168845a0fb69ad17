"""Facts of an optimizer: its update as a list of steps, for each outcome of its conditions.

The source code of an update is traced once for each path through its conditions. `story/update.py`
then selects the path that applies to the numbers of a weight.
"""

from __future__ import annotations

import ast
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
from scalarviz.core.formulas.formula_trees import (
    OPERATORS,
    ExpressionFunction,
    Tree,
    UnwritableError,
    function_tree,
    read,
    syntax_of,
)
from scalarviz.core.formulas.formula_words import DEEPEST, Choices, all_choices, in_words, sign
from scalarviz.core.formulas.optimizers import OptimizerRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.story.facts import (
    Correction,
    NamedFormula,
    OptimizerFacts,
    UpdateCase,
    UpdateLine,
    UpdateStep,
)
from scalarviz.story.update import STEP

NAME = re.compile(r"\b[A-Za-z_]\w*\b")
NUMBER = re.compile(rf"{NAME.pattern}(?!\()")  # a name, except of a function
DIVIDED = re.compile(r"\b(\w+) / (correction\d?)\b")
ALONE = re.compile(r"(?<!\w)\((\w+)\)")  # brackets around a name, except of a function call
CORRECTION = re.compile(r"1(?:\.0)? - power\((\w+), step\)")
Calls = Mapping[str, Callable[..., Any]]  # functions, by their names in a formula


def optimizer_facts(optimizer: Optimizer, *, mixed: bool) -> OptimizerFacts:
    """Return the facts of an optimizer that captions need.

    Args:
        mixed: whether the network uses mixed precision, in which no step is rejected
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
        [FunctionResult(row.update, place) for place in range(len(row.slots) + 1)],
        cases,
        whole,
    )


def clip(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@lru_cache(maxsize=16)
def steps_before(clips: bool, limit: float, l1: float, l2: float) -> Sequence[UpdateStep]:
    """Return the steps before the update: clipping of the gradient and weight penalties."""
    penalties = "g" + " + l1 * sign(w)" * (l1 > 0.0) + " + l2 * w" * (l2 > 0.0)
    formulas = ["g * scale"] * clips + ["clip(g, -limit, limit)"] * (limit < math.inf)
    names = {name: name for name in ("g", "scale", "limit", "w", "l1", "l2")}
    calls: Calls = {"clip": clip, "sign": sign}
    numbers = {"limit": limit, "l1": l1, "l2": l2}
    return [
        step_of("g", "g", each, names, {}, calls, numbers=numbers)
        for each in [*formulas, *[penalties] * (penalties != "g")]
    ]


class FunctionResult:
    """A function that returns one element of another function's result, or NaN if that fails."""

    def __init__(self, function: Callable[..., Any], place: int, name: str = "") -> None:
        self.function, self.place, self.__name__ = function, place, name

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
    """Return one step of an update, with its text and the functions that compute it.

    place   key under which the result is stored; `places`: keys of readable numbers, by name
    calls   functions that the formula calls, by name
    powers  settings whose powers form bias corrections, by the name of the correction
    numbers settings to write as numbers instead of names
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
    return UpdateStep(place, names, own, constants, ExpressionFunction(formula, names, calls), line)


def named_formula(formula: str, known: set[str], calls: Calls) -> NamedFormula:
    """Return a formula as it is displayed on a card."""
    names = [each for each in dict.fromkeys(NAME.findall(formula)) if each in known]
    words = in_words(formula, names, calls) or formula
    return NamedFormula(words, names, ExpressionFunction(formula.replace("^", "**"), names, calls))


def numbered_formula(formula: str, calls: Calls) -> NamedFormula:
    """Return a formula with the placeholders _0_, _1_, ... instead of the names of numbers."""
    names = NUMBER.findall(formula)
    places = [f"_{i}_" for i in range(len(names))]
    code = NUMBER.sub("{}", formula).format(*places)
    return NamedFormula(
        in_words(code, places, calls), names, ExpressionFunction(code, places, calls)
    )


@lru_cache(maxsize=64)
def steps_of(
    row: OptimizerRow,
) -> tuple[Sequence[str], Sequence[UpdateStep], Sequence[UpdateCase], UpdateStep]:
    """Return the names, the constants, the cases and a one-line summary of an update.

    An update that cannot be traced, such as one with a loop, has no cases.
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
            case = UpdatePath(choices, powers).update(row, renames)
            for each in case.steps:
                if each.compute is not None:  # an error unless it is a number, such as a tuple
                    each.compute(*map(len, each.names))
            cases.append(case)
        except (UnwritableError, ArithmeticError, TypeError, ValueError, RecursionError):
            continue
    formula, calls = (
        f"{row.name}({', '.join(own)})",
        {row.name: FunctionResult(row.update, 0, row.name)},
    )
    whole = step_of("w", "w", formula, dict(zip(own, own, strict=True)), {}, calls)
    return own, constants, cases, whole


def constants_of(row: OptimizerRow, names: Sequence[str]) -> list[UpdateStep]:
    """Return the constants of an update, such as Adam's bias corrections, as steps."""
    settings = ["step", *(name for name, _ in row.settings)]
    formulas = returned(row.constants, len(names))
    lines = [
        UpdateLine(name, formula, 0.0, words=formula, same=True)
        for name, formula in zip(names, formulas, strict=True)
    ]
    return [
        UpdateStep(
            line.name, settings, [STEP, *settings[1:]], {}, FunctionResult(row.constants, i), line
        )
        for i, line in enumerate(lines)
    ]


def returned(function: Callable[..., Any], count: int) -> list[str]:
    """Return the source of each element of the tuple that a function returns; "" if unknown."""
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
    """The traced result of a function: syntax trees, and where the named numbers are stored."""

    elements: list[Tree]
    places: Mapping[str, str]


class UpdatePath:
    """One path through an optimizer's update, traced as steps: assignments and conditions."""

    def __init__(self, choices: Choices, powers: Mapping[str, str]) -> None:
        self.choices, self.powers = choices, powers
        self.steps: list[UpdateStep] = []
        self.defaults: dict[str, float] = {}  # of parameters left out in a call
        self.depth = 0

    def update(self, row: OptimizerRow, renames: Mapping[str, str]) -> UpdateCase:
        """Trace an update along this path; `renames` maps its parameters to names in captions."""
        names, tree = read(row.update, renames)
        found = self.followed(tree, {name: name for name in names})
        last, assigned = None, [each for each in self.steps if each.line]
        for target, element in zip(("w", *row.slots), found.elements, strict=True):
            own = [each for each in assigned if each.line and each.line.name == element]
            if target == "w":
                last = own[-1] if own else self.step(target, element, found.places)
            elif not own and element != target:
                self.step(target, element, found.places)
        assert last is not None and last.line is not None
        new = replace(last, line=replace(last.line, name="w"))
        steps = [new if each is last else each for each in self.steps]
        return UpdateCase(steps, [each for each in steps if each.line].index(new))

    def followed(self, tree: Tree, places: Mapping[str, str]) -> Returned:
        """Trace the body of a function, and return its result."""
        match tree:
            case ["let", str(name), given, rest]:
                return self.followed(rest, {**places, name: self.step(name, given, places).place})
            case ["let", tuple(names), ["tuple", *given], rest] if len(names) == len(given):
                pairs = zip(names, given, strict=True)
                new = {name: self.step(name, each, places).place for name, each in pairs}
                return self.followed(rest, {**places, **new})
            case ["let", *_]:
                raise UnwritableError
            case ["if", test, yes, no]:
                return self.followed(yes if self.holds(test, places) else no, places)
            case ["tuple", each]:  # a number in a tuple
                return self.followed(each, places)
            case ["tuple", *elements]:
                return Returned(elements, places)
            case ["call", FunctionType() as function, *given]:
                steps, taken = [*self.steps], [*self.choices.taken]
                try:
                    return self.called(function, given, places)
                except UnwritableError:
                    self.steps, self.choices.taken = steps, taken
        return Returned([tree], places)

    def called(
        self, function: Callable[..., Any], given: Sequence[Tree], places: Mapping[str, str]
    ) -> Returned:
        """Trace a function call, and return its result."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnwritableError
        names, tree = read(function)
        own: dict[str, str] = {}
        for name, each in zip(names, given, strict=True):
            match each:
                case ["default", _, value]:
                    own[name] = f"{name} of {function.__name__}"
                    self.defaults[own[name]] = float(value)
                case str() if each in places:
                    own[name] = places[each]
                case _:
                    own[name] = self.step(name, each, places).place
        return self.followed(tree, own)

    def step(self, name: str, tree: Tree, places: Mapping[str, str]) -> UpdateStep:
        """Add a step that evaluates one expression, and return it."""
        found = StraightExpression(self, places)
        formula = ast.unparse(found.syntax(tree))
        given = {each: self.defaults[at] for each, at in places.items() if at in self.defaults}
        place, constants = f"#{len(self.steps)}", {**found.constants, **given}
        step = step_of(name, place, formula, places, constants, found.calls, self.powers)
        self.steps.append(step)
        return step

    def holds(self, test: Tree, places: Mapping[str, str]) -> bool:
        """Add a step for a condition, and return the outcome of the condition on this path."""
        step = self.step("", test, places)
        holds = self.choices.next()
        self.steps[-1] = replace(step, line=None, holds=holds)
        return holds


class StraightExpression:
    """An expression whose conditions are resolved by a traced path.

    Attributes:
        constants: values of names defined outside the expression
        calls: functions that the expression calls, by name
    """

    def __init__(self, path: UpdatePath, places: Mapping[str, str]) -> None:
        self.path, self.places = path, places
        self.constants: dict[str, float] = {}
        self.calls: dict[str, Callable[..., Any]] = {}

    def syntax(self, tree: Tree) -> ast.expr:
        """Convert a tree to Python syntax."""
        match tree:
            case str() if tree in self.places:
                return ast.Name(tree, ast.Load())
            case int() | float():
                return ast.Constant(tree)
            case ["constant", name, int() | float() as value] if name not in self.places:
                if self.constants.setdefault(name, value) != value:
                    raise UnwritableError
                return ast.Name(name, ast.Load())
            case ["default", _, value]:
                return ast.Constant(value)
            case ["if", test, yes, no]:
                return self.syntax(yes if self.path.holds(test, self.places) else no)
            case ["call", function, *given] if function is where:
                return self.syntax(["if", *given])
            case ["call", function, *given]:
                name = str(getattr(function, "__name__", ""))
                if self.calls.setdefault(name, function) is not function or name in self.places:
                    raise UnwritableError
                return ast.Call(ast.Name(name, ast.Load()), [*map(self.syntax, given)], [])
            case ["compare", signs, first, *others]:
                operators = [OPERATORS[each]() for each in signs]
                return ast.Compare(self.syntax(first), operators, [*map(self.syntax, others)])
            case ["and" | "or" as word, *parts]:
                return ast.BoolOp(OPERATORS[word](), [*map(self.syntax, parts)])
            case [word, inner] if word in OPERATORS:
                return ast.UnaryOp(OPERATORS[word](), self.syntax(inner))
            case [word, left, right] if word in OPERATORS:
                return ast.BinOp(self.syntax(left), OPERATORS[word](), self.syntax(right))
        raise UnwritableError
