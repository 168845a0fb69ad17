"""optimizer and schedule: add user-defined rows to their tables; each optimizer gets a class."""

from __future__ import annotations

import ast
import inspect
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import Parameter
from typing import Any

from scalarviz.base.checks import answered, check_signature, number, require, shorten
from scalarviz.base.near_names import plain
from scalarviz.core.formulas.optimizers import (
    OPTIMIZERS,
    SCHEDULES,
    OptimizerRow,
    Schedule,
    ScheduleRow,
    no_constants,
)
from scalarviz.core.optimizer import Optimizer, common_arguments
from scalarviz.engines.codegen.kernel_source import parse, variables
from scalarviz.engines.custom.custom_formulas import attempt
from scalarviz.engines.custom.user_functions import (
    check_callable,
    check_plain,
    check_source,
    checked_name,
    digest,
    freezing,
    function_of,
    on_numbers,
)
from scalarviz.errors import InputError

BUILT_IN = frozenset(OPTIMIZERS)
COMMON = {each.name: each for each in common_arguments()}
RESERVED = ("self", "name", "lr", "w", "g", *COMMON)
MOST_SETTINGS = 8  # maximum in kernels of the cuda engine
MOST_ARGUMENTS = 16  # the learning rate, the settings and the constants
HOW_OF_A_SCHEDULE = "def halved(step): return 0.5 ** (step // 100)"
HOW = "def update(w, g, m, lr, beta=0.9): ... return w_new, m_new, with slots=('m',)"

CLASSES: dict[str, type[Optimizer]] = {}  # keeps them alive for files that refer to their rows

ASKED_OF_AN_UPDATE = (
    "an update must return finite numbers for all weights and gradients, also for g = 0"
)

# Weights, gradients and steps of the checks.
WEIGHTS = (0.5, -2.0, 0.0)
GRADIENTS = (0.1, -3.0, 0.0)
STEPS = (1, 2, 10)


@answered
def optimizer(
    update: Any, slots: Any = (), name: str = "", constants: Any = None
) -> Callable[..., Optimizer]:
    """Register a custom optimizer: the update of one weight w, given its gradient g.

    The returned class is used like sv.Adam: `Lion(lr=0.001, beta1=0.9, l2=0.01)`. The functions
    must be defined by a plain def, since kernels are generated from their source.

    An optimizer with an existing name replaces the existing one for new objects; existing
    optimizers keep the old functions. On cuda they raise an EngineError unless both have the same
    source.

    Args:
        update: function of w, g, one number per slot, the learning rate lr, the settings, and the
            constants of a step. It returns a tuple of the new w and the new slots; without slots it
            may return just the new w. Settings have defaults, and become arguments of the class
        slots: names of the numbers that are kept for each weight, initially 0; by default (). When
            optimizers are exchanged during training, slots with the same names keep their numbers
        name: name of the optimizer; "" (default) means the name of the function. The class name is
            derived from it, such as Lion for "lion"
        constants: function of the step (counted from 1.0) and the settings that returns a tuple of
            numbers shared by all weights. They are computed in float64 once per step. The function
            may define the defaults of the settings. None (default) means no constants

    Returns a subclass of Optimizer. Raises InputError for functions with other arguments or without
    readable source, and for functions that raise an error or return non-finite numbers.

    >>> def heavy_ball(w, g, velocity, lr, keep=0.9):
    ...     velocity = keep * velocity - lr * g
    ...     return w + velocity, velocity
    >>> HeavyBall = optimizer(heavy_ball, slots=("velocity",))
    >>> HeavyBall(lr=0.1, keep=0.5)
    HeavyBall(lr=0.1, keep=0.5)
    """
    check_callable(update, constants, "an optimizer is a function", f": write {HOW}")
    name = checked_name(name, update, "an optimizer", BUILT_IN)
    require(
        plain(name) not in BUILT_IN,
        f"{name!r} is too similar to {plain(name)!r}: choose another name",
    )
    names = checked_slots(slots)
    settings, rate = settings_of(name, update, len(names), constants)
    update, constants = map(freezing(), (update, constants))
    for function in (update, constants):
        check_plain(function)
    row = OptimizerRow(
        name,
        on_numbers(update),
        names,
        tuple(settings.items()),
        no_constants if constants is None else on_numbers(constants),
        digest(update, constants),
    )
    row = checked_row(row)
    check_source(row.update, *([] if constants is None else [row.constants]))
    kind = class_of(row, rate, update)
    OPTIMIZERS[name], CLASSES[name] = row, kind
    return kind


BUILT_IN_SCHEDULES = frozenset(SCHEDULES)


@answered
def schedule(factor: Any, name: str = "") -> Schedule:
    """Register a custom schedule: the factor of the learning rate at a step, counted from 0.

    It is used as in `sv.Adam(0.01, schedule=sv.schedule(halved))`. Files store its name, so call
    `sv.schedule` before loading them. A schedule with an existing name replaces it for new
    objects.

    Args:
        factor: function of the step, a float, that returns a non-negative float. It must be a plain
            def, since kernels are generated from its source; use `sv.where(condition, a, b)` for
            conditions
        name: name of the schedule; "" (default) means the name of the function

    Returns a Schedule. Raises InputError for a function that has other arguments, has no readable
    source, or returns an invalid number.

    >>> def halved(step):
    ...     return 0.5 ** (step // 100)
    >>> schedule(halved).factor(250)
    0.25
    """
    check_callable(factor, None, "a schedule is a function", f": write {HOW_OF_A_SCHEDULE}")
    check_signature(factor, ["step"], "a schedule", HOW_OF_A_SCHEDULE)
    check_plain(factor)
    name = checked_name(name, factor, "a schedule", BUILT_IN_SCHEDULES)
    row = ScheduleRow(name, on_numbers(freezing()(factor)), digest=digest(factor))
    check_source(row.factor)
    for step in (0.0, 1.0, 1e3, 1e6):
        place = f"{name}({step:g})"
        given = attempt(lambda step=step: float(row.factor(step)), place, hint=HOW_OF_A_SCHEDULE)
        number(given, place, 0.0)
    SCHEDULES[name] = row
    return Schedule(name)


# ---- arguments ----------------------------------------------------------------------------------


def checked_slots(slots: object) -> tuple[str, ...]:
    """Return the names of slots as a tuple; raise InputError if they are invalid."""
    names = tuple(slots) if isinstance(slots, Sequence) and not isinstance(slots, str) else (None,)
    words = [name for name in names if isinstance(name, str) and name.isidentifier()]
    require(
        len({*words}) == len(names) and not {*words} & {*RESERVED},
        f"slots are different names of numbers, such as slots=('m', 'v'), not {shorten(slots)}",
    )
    return tuple(words)


def settings_of(
    name: str, update: Callable[..., Any], slots: int, constants: Any
) -> tuple[dict[str, float], Any]:
    """Return the settings of an update with their defaults, and the default learning rate."""
    takes = parameters_of(update)
    rate, rest = takes[2 + slots : 3 + slots], takes[3 + slots :]
    names = [p.name for p in takes]
    if "lr" in names[2:] and names.index("lr") != 2 + slots:
        between = tuple(names[2 : names.index("lr")])
        raise InputError(
            f"the update of {name!r} takes {len(between)} numbers between g and lr, one per slot, "
            f"but {slots} are named: pass slots={between!r}"
        )
    if not rate:
        slots_too = ", one number for each slot" if slots else ""
        raise InputError(
            f"the update of {name!r} takes {', '.join(p.name for p in takes) or 'nothing'}, and is "
            f"called with w, g{slots_too}, lr and its settings: write {HOW}"
        )
    if constants is None:
        settings = rest
    else:
        settings = parameters_of(constants)[1:]
        by_name = {p.name: p for p in rest}
        settings = [by_name.get(p.name, p) if p.default is p.empty else p for p in settings]
    found = {}
    for parameter in settings:
        require(
            parameter.default is not parameter.empty,
            f"{parameter.name} of {name!r} has no default: write {parameter.name}=0.9, for "
            "example, after lr; constants of a step come from constants=",
        )
        require(
            parameter.name not in RESERVED,
            f"{parameter.name} cannot be a setting of {name!r}: this name is reserved",
        )
        found[parameter.name] = number(parameter.default, parameter.name)
    given = 0 if constants is None else len(computed(constants, name, 1.0, found))
    require(
        len(rest) == len(found) + given,
        f"the update of {name!r} takes {len(rest)} numbers after lr, and there are "
        f"{len(found)} settings and {given} constants",
    )
    require(
        len(found) <= MOST_SETTINGS and 1 + len(rest) <= MOST_ARGUMENTS,
        f"an optimizer has at most {MOST_SETTINGS} settings, and {MOST_ARGUMENTS - 1} settings "
        f"and constants, not {len(found)} and {len(rest)}",
    )
    return found, rate[0].default


def parameters_of(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a function; raise InputError for * and keyword-only parameters."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        found = []
    for parameter in found:
        require(
            parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.POSITIONAL_ONLY),
            f"{parameter} cannot be an argument of an optimizer: write {HOW}",
        )
    return found


# ---- numbers ------------------------------------------------------------------------------------


def computed(
    constants: Callable[..., Any], name: str, step: float, settings: dict[str, float]
) -> tuple[float, ...]:
    """Return the constants of a step; raise InputError unless they are a finite tuple."""
    try:
        found = constants(step, *settings.values())
        if isinstance(found, tuple) and all(math.isfinite(x) for x in found):
            return found
    except Exception as error:  # any error of a custom function
        raise InputError(
            f"the constants of {name!r} at step {step:g} raise {type(error).__name__}: {error}"
        ) from error
    raise InputError(
        f"the constants of {name!r} at step {step:g} are {shorten(found)}, not a tuple of finite "
        "numbers: write return 1.0 - beta1, 1.0 - beta2"
    )


def checked_row(row: OptimizerRow) -> OptimizerRow:
    """Check that an optimizer's update returns tuples of finite numbers; else raise InputError.

    Returns the row. If an update without slots returns a number, it is wrapped to return a tuple.
    """
    settings = dict(row.settings)
    for w in WEIGHTS:
        for g in GRADIENTS:
            numbers: tuple[float, ...] = (w, *[0.0] * len(row.slots))
            for step in STEPS:
                fixed = computed(row.constants, row.name, float(step), settings)
                given = (numbers[0], g, *numbers[1:], 0.01, *settings.values(), *fixed)
                found = attempt(row.update, called(row, given), *given, hint=ASKED_OF_AN_UPDATE)
                if isinstance(found, int | float) and not row.slots:
                    return checked_row(in_tuple(row))
                numbers = checked_result(row, given, found)
    return row


def checked_result(row: OptimizerRow, given: Sequence[float], found: Any) -> tuple[float, ...]:
    """Return the result of an update unchanged; raise InputError if it is invalid."""
    wanted = 1 + len(row.slots)
    with suppress(TypeError):
        if isinstance(found, tuple) and len(found) == wanted and all(map(math.isfinite, found)):
            return found
    names = ", ".join(["w", *row.slots])
    raise InputError(
        f"{called(row, given)} is {shorten(found)}, and should be a tuple of {wanted} finite "
        f"numbers, the new {names}"
    )


def called(row: OptimizerRow, given: Sequence[float]) -> str:
    names = [p.name for p in parameters_of(row.update)]
    pairs = [f"{name}={x:g}" for name, x in zip(names, given, strict=True)]
    return f"{row.name}({', '.join(pairs[: 3 + len(row.slots)])})"


def in_tuple(row: OptimizerRow) -> OptimizerRow:
    """Return the row with an update that returns its number in a tuple, as kernels require."""
    syntax = parse(row.update)
    for node in ast.walk(syntax):
        if isinstance(node, ast.Return) and node.value is not None:
            node.value = ast.Tuple([node.value], ast.Load())
    text, known = f"{ast.unparse(syntax)}\n", variables(row.update)
    return replace(row, update=function_of(text, syntax.name, row.update.__module__, known))


# ---- the class ----------------------------------------------------------------------------------


def class_of(row: OptimizerRow, rate: Any, update: Callable[..., Any]) -> type[Optimizer]:
    """Create the subclass of Optimizer for a row; its arguments are the row's settings."""
    words = [part[:1].upper() + part[1:] for part in row.name.split("_")]
    name = "".join(words)
    by_name = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        Parameter("self", by_name),
        Parameter("lr", by_name, default=rate),
        *[Parameter(key, by_name, default=default) for key, default in row.settings],
        *COMMON.values(),
    ]
    signature = inspect.Signature(parameters)

    def __init__(self: Optimizer, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        arguments = dict(given.arguments)
        common = {key: arguments[key] for key in COMMON}
        settings = {key: arguments[key] for key, _ in row.settings}
        Optimizer.__init__(self, row.name, arguments["lr"], settings, **common)

    __init__.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    __init__.__qualname__ = f"{name}.__init__"

    def __getstate__(self: Optimizer) -> dict[str, Any]:
        """Leave out the row, whose functions are copies; the class keeps it."""
        return {k: v for k, v in Optimizer.__getstate__(self).items() if k != "row"}

    def __setstate__(self: Optimizer, state: dict[str, Any]) -> None:
        vars(self).update(state, row=row)

    members = {
        "__init__": __init__,
        "__getstate__": __getstate__,
        "__setstate__": __setstate__,
        "__doc__": inspect.getdoc(update) or f"The custom optimizer {row.name!r}.",
        "__module__": update.__module__,
        "_own": row,
    }
    return type(name, (Optimizer,), members)
