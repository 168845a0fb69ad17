"""Check code written by learners against a reference Weight, Value, layer or optimizer."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from math import copysign, nan, sqrt
from operator import methodcaller
from pathlib import Path
from traceback import extract_tb, format_exception_only
from typing import Any

import numpy as np

from scalarviz.base.checks import (
    FloatArray,
    as_floats,
    check_signature,
    cut,
    number,
    require,
    shorten,
)
from scalarviz.base.messages import escaped
from scalarviz.base.package_files import PACKAGE
from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.arithmetic import OPERATIONS
from scalarviz.core.formulas.formula import Formula
from scalarviz.core.layers import Perceptron
from scalarviz.core.layers.dense import Dense
from scalarviz.core.optimizer import SGD, Optimizer
from scalarviz.core.value import Value
from scalarviz.core.value_graph import made_values
from scalarviz.core.weight import Weight
from scalarviz.errors import InputError
from scalarviz.training.network.gradcheck import MOST, TOLERANCE, Problem, difference


def scenario(mine: Any, like: Any, x: Any) -> tuple[str, Iterator[Comparison]]:
    """Return the kind of a learner's object, and an iterator over the comparisons of its check."""
    kind = mine if isinstance(mine, type) else type(mine)
    require(
        like is None or callable(like) or isinstance(like, Optimizer),
        "like must be an optimizer, a Perceptron, a Dense, or a function from inputs to outputs, "
        f"not {shorten(like)}",
    )
    if isinstance(like, Optimizer) and callable(getattr(mine, "step", mine)):
        return like.name, of_rule(mine, like)
    if hasattr(kind, "forward") and mine is not kind and not hasattr(mine, "value"):
        inputs = None if x is None else as_floats(x, "x of check")
        ours = None if isinstance(like, Optimizer) else like
        is_ours = isinstance(ours, Perceptron | Dense)
        return type(ours).__name__ if is_ours else "Layer", of_layer(mine, ours, inputs)
    if hasattr(kind, "forward"):
        check_signature(kind, ["value"], "the class of a weight", "sv.check(object) for a layer")
        return "Weight", of_weight(kind)
    if hasattr(kind, "backward"):
        return "Value", of_value(kind)
    raise InputError(
        "check takes a class with forward or backward, a perceptron or layer, or with like= an "
        f"optimizer, not {shorten(mine)}"
    )


LONGEST = 200  # characters of a quoted error
DOTS = re.compile(r"\.\.\.(?! *[],])")  # instead of code, not of an index
# Folders of code not written by the learner: this package, and Python's libraries.
OURS = tuple(f"{x}{os.sep}" for x in (PACKAGE, Path(os.__file__).parent))

Mistakes = Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """A number that a learner's code computed, or the error that it raised.

    Attributes:
        place: description of the number, such as "w.grad after backward(-4)", or the line with the
            error
        got: what the code returned, which should be a number; the message of an error; or `...` for
            code that is not written yet
        expected: the correct number; None for an error
        why: how the correct number is computed, or which mistake leads to this number; "" for an
            error
        graph: the reference Value at this point, and the node of its graph that has this number
    """

    place: str
    got: Any
    expected: Any
    why: str = ""
    graph: tuple[Value, Value] | None = None

    def __str__(self) -> str:
        if self.expected is None:
            return (
                text("check.dots", place=self.place)
                if self.got is ...
                else text("check.raised", place=self.place, error=self.got)
            )
        numbers = {"got": shown(self.got), "expected": shown(self.expected)}
        return text("check.wrong", place=self.place, why=self.why, **numbers)


def compared(
    place: str,
    got: Any,
    expected: Any,
    why: str,
    mistakes: Mistakes = (),
    graph: tuple[Value, Value] | None = None,
    **fields: object,
) -> Comparison:
    """Return a Comparison that explains a known mistake behind the learner's number.

    Args:
        why: key of the text if no known mistake explains the number
        mistakes: pairs of a text key and the result that this typical mistake would give
        fields: values to insert into the text
    """
    key = next((key for key, result in mistakes if near(got, result)), why)
    told = {name: shown(field) for name, field in fields.items()}
    return Comparison(place, got, expected, text(f"check.why.{key}", **told), graph)


def near(got: Any, expected: Any) -> bool:
    """Return whether a learner's number equals the expected one up to rounding."""
    try:
        return bool(np.isclose(number(got, "", finite=False), expected, rtol=1e-5, atol=1e-8))
    except (InputError, TypeError):  # not numbers
        return False


def shown(x: object) -> str:
    """Format a number or `...` as text, keep a string, and shorten the repr of anything else."""
    if isinstance(x, (float, np.floating)):
        return f"{x:.6g}"
    if x is ...:
        return "..."  # as written
    return x if isinstance(x, str) else shorten(x)


def first_wrong(moments: Iterable[Comparison], name: str) -> Comparison | None:
    """Return the first wrong number or error, or None; `name` is the name of the learner's code."""
    try:
        return next((each for each in moments if not near(each.got, each.expected)), None)
    except Exception as error:  # learners' code raises anything
        frames = extract_tb(error.__traceback__)
        theirs = [each for each in frames if not each.filename.startswith(OURS)]
        if isinstance(error, InputError) and not theirs:
            raise
        told = escaped(" ".join("".join(format_exception_only(error)).split()))
        dots = "llipsis" in told  # whose type and value are written differently
        for each in theirs[-1:]:
            name = text("check.line", line=each.lineno, code=escaped(each.line or each.name))
            dots = dots or bool(DOTS.search((each.line or "").partition("#")[0]))
        return Comparison(name, ... if dots else cut(told, LONGEST), None)


class Rate(float):
    """A learning rate that is a float and also has an attribute `lr`, like an optimizer."""

    lr = property(float)


START = 0.5
WAITING = (1.5, 10.0)  # inputs of two forwards before their backwards
CALLS: tuple[tuple[str, *tuple[float, ...]], ...] = (
    *(("forward", 2.0), ("backward", -4.0), ("forward", 3.0), ("backward", 2.0)),
    *(("forward", WAITING[0]), ("forward", WAITING[1]), ("backward", 1.0), ("backward", 3.0)),
    *(("step", Rate(0.125)), ("zero_grad",), ("forward", 2.0), ("backward", 1.0)),
)


def of_weight(kind: Callable[[float], Any]) -> Iterator[Comparison]:
    """Call the methods of a learner's weight and of the reference, and compare the results."""
    ours, mine = Weight(START), kind(START)
    yield compared("w.value", mine.value, START, "weight_value")
    for name, *args in CALLS:
        if hasattr(mine, name):
            yield from called(ours, mine, name, *args)


def called(ours: Weight, mine: Any, name: str, *args: float) -> Iterator[Comparison]:
    """Call the same method of both weights, and compare the result, the gradient or the value."""
    w, grad = ours.value, ours.grad
    g = (*args, 0.0)[0]
    x = ours._inputs[-1] if name == "backward" else g
    right = getattr(ours, name)(*[SGD(g)] if name == "step" else args)
    now = {"result": getattr(mine, name)(*args), "grad": mine.grad, "value": mine.value}
    rights = {"result": right, "grad": ours.grad, "value": ours.value}
    mistakes: dict[str, list[tuple[str, float]]] = {  # of each compared number
        "forward result": [],
        "zero_grad grad": [],
        "backward grad": [
            *[("weight_assigned", g * x), ("weight_no_input", grad + g)],
            *[("weight_no_upstream", grad + x), ("weight_by_value", grad + g * w)],
            *[("weight_sign", grad - g * x), ("weight_nothing", grad)],
            *[("weight_stack", grad + g * other) for other in WAITING],
        ],
        "backward result": [("weight_not_for_input", g * x)],
        "step value": [("weight_uphill", w + g * grad), ("weight_no_rate", w - grad)],
    }
    call = f"{name}({', '.join(map(shown, args))})"
    for key, known in mistakes.items():
        verb, what = key.split()
        if verb == name:
            place = text("check.after", name=f"w.{what}", call=call)
            place = text("check.result", call=call) if what == "result" else place
            graph = graph_of(name, what, ours, x, g) if name in ("forward", "backward") else None
            why, told = f"weight_{name}_{what}", {"w": w, "grad": grad, "x": x, "g": g}
            yield compared(place, now[what], rights[what], why, known, graph, **told)


def graph_of(name: str, what: str, ours: Weight, x: float, g: float) -> tuple[Value, Value]:
    """Return the graph of y = w x, and the node that has the compared number."""
    w, seen = Value(ours.value, label="w"), Value(x, label="x")
    y = w * seen
    if name == "backward":
        w.grad, seen.grad, y.grad = ours.grad, ours.value * g, g
    return y, {"grad": w, "result": seen}[what] if name == "backward" else y


LEAVES = {"a": 0.5, "b": 3.0, "c": -2.0}
BINARY = (operator.add, operator.mul, operator.sub, operator.truediv)
UNARY = [row.name for row in OPERATIONS.values() if len(row.partials) == 1 and not row.symbol]
# Expressions with an operator f, and with g, which is * or another operator.
FORMS: list[Callable[..., Any]] = [
    lambda f, g, a, b, c: f(a, b),
    lambda f, g, a, b, c: f(a, a),
    lambda f, g, a, b, c: g(f(a, b), c),
    lambda f, g, a, b, c: g(f(a, b), f(a, b)),
    lambda f, g, a, b, c: (lambda d: g(g(d, c), d))(f(a, b)),  # d is used at once and again later
    lambda f, g, a, b, c: (lambda d: g(d, g(d, c)))(f(a, b)),
]


def expressions(kind: type) -> Iterator[tuple[Any, ...]]:
    """Yield expressions made of a class's operators as (form, f, g), the simplest first."""
    binary = [each for each in BINARY if hasattr(kind, f"__{each.__name__}__")]
    unary: list[Any] = [methodcaller(name) for name in UNARY if hasattr(kind, name)]
    unary += [operator.neg] * hasattr(kind, "__neg__")
    unary += [methodcaller("__pow__", 3)] * hasattr(kind, "__pow__")
    operators = [*binary, *[lambda a, b, f=f: f(a) for f in unary]]
    require(operators, f"{kind.__name__} has no operator yet: write one, such as __mul__ or tanh")
    g = operator.mul if operator.mul in binary else [*binary, None][0]
    for form in FORMS if g else FORMS[:1]:
        yield from [(form, f, g) for f in operators]
        if form is FORMS[0] and hasattr(kind, "relu"):
            yield lambda f, g, a, b, c: c.relu(), None, None


def of_value(kind: type) -> Iterator[Comparison]:
    """Evaluate expressions with a learner's Value class, and compare them with the reference."""
    for form, f, g in expressions(kind):
        leaves = [Value(data, label=name) for name, data in LEAVES.items()]
        theirs = [kind(data) for data in LEAVES.values()]
        ours, mine = form(f, g, *leaves), form(f, g, *theirs)
        place = text("check.of", name="data", formula=ours)
        yield compared(
            place, getattr(mine, "data", mine), ours.data, "value_data", (), (ours, ours)
        )
        ours.backward()
        mine.backward()
        for leaf, other in zip(leaves, theirs, strict=True):
            yield of_gradient(other.grad, ours, leaf)


def of_gradient(got: Any, root: Value, leaf: Value) -> Comparison:
    """Compare a leaf's gradient with the correct one and with results of typical mistakes."""
    made = made_values(root)
    sources = [id(x) for node in made for x in node._inputs]
    terms = []  # for each use: gradient of the result, derivative, and wrong derivatives
    for node in made:
        inputs, y = [x._data for x in node._inputs], node._data
        for x, partial in zip(node._inputs, node._formula.partials, strict=True):
            if x is leaf:
                ends = [(inputs[0],) * 2, (y, y), (y, node._formula.value(*[y] * len(inputs)))]
                wrong = [partial(*end) for end in ends if len(inputs) == 1]
                terms.append((float(node.grad), partial(*inputs, y), wrong))
    mistakes = [
        *[("value_assigned", g * slope) for g, slope, _ in terms],
        *[("value_no_upstream", sum(slope for _, slope, _ in terms))],
        *[("value_no_derivative", sum(g for g, _, _ in terms))],
        *[("value_own_number", sum(g * leaf._data for g, _, _ in terms))],
        *[("value_sign", -leaf.grad), ("value_nothing", 0.0)],
        *[("value_wrong_place", g * slope) for g, _, wrong in terms for slope in wrong],
    ]
    is_shared = any(sources.count(id(node)) > 1 for node in made)
    place = text("check.of", name=f"{leaf.label}.grad", formula=root)
    told = " + ".join(f"{shown(float(g))} * {shown(float(slope))}" for g, slope, _ in terms)
    why = "value_order" if is_shared else "value_terms"
    known = () if is_shared else mistakes
    fields = {"name": leaf.label, "own": leaf.data, "terms": told}
    return compared(place, got, leaf.grad, why, known, (root, leaf), **fields)


INPUTS = (0.5, -1.5, 2.0, -0.75, 1.25)
UPSTREAM = (2.0, -3.0, 0.5, 1.5, -1.0)
TINY = 1e-300  # the derivative of relu may be 0

Arrays = list[tuple[str, FloatArray]]  # by key of the text


class Learned:
    """A copy of a learner's layer, with access to its parameters by name.

    A parameter is an attribute such as `weights` (a number, a list or an array) whose gradient is
    in `weights_grad`, or an attribute that holds objects with `value` and `grad`.
    """

    def __init__(self, mine: Any) -> None:
        self.mine = deepcopy(mine)
        kept = {name: x for name, x in getattr(mine, "__dict__", {}).items() if x is not None}
        held = {name: objects_in(x) for name, x in kept.items()}
        self.names = [
            name
            for name, objects in held.items()
            if hasattr(mine, f"{name}_grad") or any(hasattr(each, "grad") for each in objects)
        ]
        require(
            self.names and {"weights", "bias"} & {*held} <= {*self.names},
            f"{type(mine).__name__} lacks a gradient: store the gradient of `weights` in "
            "`weights_grad`, of `bias` in `bias_grad`, and so on",
        )

    def numbers(self, kept: str, of: str = "value") -> FloatArray:
        """Return the numbers in an attribute; for objects, the attribute `of` of each object."""
        found = np.array(getattr(self.mine, kept), dtype=object)
        return np.array([getattr(x, of, x) for x in found.flat], float).reshape(found.shape)

    def gradient(self, name: str) -> tuple[str, FloatArray]:
        """Return the name of a parameter's gradient in the learner's code, and the gradient."""
        if hasattr(self.mine, f"{name}_grad"):
            return f"{name}_grad", self.numbers(f"{name}_grad")
        return f"{name}.grad", self.numbers(name, "grad")

    def given(self, array: FloatArray) -> Any:
        """Convert an array to the type of the learner's weights, an array or nested lists."""
        is_array = isinstance(getattr(self.mine, self.names[0]), np.ndarray)
        return array.copy() if is_array else array.tolist()

    def outputs(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.mine.forward(self.given(x)), float)

    def put(self, name: str, values: FloatArray) -> None:
        """Set the values of a parameter."""
        if hasattr(self.mine, f"{name}_grad"):
            setattr(self.mine, name, self.given(values))
            return
        objects = np.array(getattr(self.mine, name), dtype=object).flat
        for weight, value in zip(objects, values.ravel().tolist(), strict=True):
            weight.value = value


def objects_in(kept: Any) -> Any:
    """Return the objects stored in an attribute; empty for an array of numbers."""
    if isinstance(kept, np.ndarray) and kept.dtype != object:
        return ()
    try:
        return np.array(kept, dtype=object).flat
    except ValueError:  # arrays of several shapes cannot form a parameter
        return ()


def of_layer(made: Any, like: Any, x: FloatArray | None) -> Iterator[Comparison]:
    """Compare the outputs and the gradients of a learner's layer with the correct ones.

    Outputs are compared with the reference `like`, if given: a Perceptron, a Dense, or a function
    of the inputs. Gradients are compared with finite differences. If the outputs are f(W x + b),
    the first parameter is the weight matrix W.
    """
    mine = Learned(made)
    parts = [mine.numbers(name) for name in mine.names]
    x = np.resize(INPUTS, parts[0].shape[-1:]) if x is None else x
    y, z = mine.outputs(x), sums(parts, x)
    if not np.isfinite(y).all():
        raise InputError(
            f"forward gives {shorten(y.tolist())}, where the slope is undefined: use other numbers"
        )
    call = f"forward({shorten(x.tolist())})"
    if like is None or isinstance(like, Perceptron | Dense):
        row = activation_of(like, z, y)
    else:
        row = None
        yield from entries("", call, y, as_floats(like(x), "the outputs of like"), "layer_like", [])
    if row is not None and like is not None:
        right, known = np.vectorize(row.value)(z), [("layer_no_activation", z)]
        yield from entries("", call, y, right, "layer_forward", known, activation=row.name)
    g = np.resize(UPSTREAM, y.shape)
    rights, slopes, fields = differences(mine, [*parts, x], g), [], {"g": g.flat[0]}
    if row is not None:
        slopes = wrong_slopes(row, z, y)
        fields |= {"activation": row.name, "slope": row.derivative(z.flat[0], y.flat[0])}
    wrong = mistakes(rights, parts, x, y, slopes)
    yield from of_backward(mine, x, g, rights, wrong, fields)


def of_backward(
    mine: Learned,
    x: FloatArray,
    g: FloatArray,
    rights: list[FloatArray],
    wrong: list[Arrays],
    fields: dict[str, Any],
) -> Iterator[Comparison]:
    """Compare the gradients after one backward, after a second one, and after zero_grad."""
    before = [mine.gradient(name)[1] for name in mine.names]
    once = f"backward({shorten(g.tolist())})"
    for call in (once, f"{once}, {once}"):
        returned = mine.mine.backward(mine.given(g))
        for i, name in enumerate(mine.names):
            known = [("layer_assigned", rights[i])]
            known += [(key, before[i] + each) for key, each in wrong[i]]
            before[i] = before[i] + rights[i]
            place, got = mine.gradient(name)
            yield from entries(place, call, got, before[i], "layer_grad", known, **fields)
        yield from entries("", call, returned, rights[-1], "layer_result", wrong[-1], **fields)
        mine.outputs(x)
    if hasattr(mine.mine, "zero_grad"):
        mine.mine.zero_grad()
        for name, right in zip(mine.names, rights, strict=False):
            place, got = mine.gradient(name)
            yield from entries(place, "zero_grad()", got, 0.0 * right, "layer_zero_grad", [])


def entries(
    name: str, call: str, got: Any, right: FloatArray, why: str, known: Arrays, **fields: Any
) -> Iterator[Comparison]:
    """Compare an array entry by entry: the gradient `name`, or a result if `name` is empty."""
    if got is ...:
        yield Comparison(name or call, got, None)
        return
    if np.shape(got) != right.shape:
        place, shape = text("check.shape", name=name or call), str(np.shape(got))
        is_plain = got is None or why == "layer_like"
        yield compared(place, shape, str(right.shape), why if is_plain else "layer_shape")
        return
    for at in np.ndindex(right.shape):
        index = "".join(f"[{i}]" for i in at)
        place = text("check.after", name=f"{name}{index}", call=call)
        place = place if name else text("check.result", call=f"{call}{index}")
        wrong = [(key, each[at]) for key, each in known]
        if not np.isnan(right[at]):  # at a kink
            number = np.asarray(got)[at].item()
            yield compared(place, number, float(right[at]), why, wrong, **fields)


def sums(parts: list[FloatArray], x: FloatArray) -> Any:
    """Return W x + b, or x W + b if that fits; None if the shapes do not fit."""
    weights, *others = parts
    try:
        return x @ (weights.T if weights.shape[-1:] == x.shape[-1:] else weights) + sum(others)
    except ValueError:
        return None


def activation_of(like: Perceptron | Dense | None, z: Any, y: FloatArray) -> Any:
    """Return the activation of the reference; without one, the first that maps z to y, or None."""
    if like is None:
        rows = ACTIVATIONS.values() if np.shape(z) == y.shape else ()
        return next((row for row in rows if np.allclose(np.vectorize(row.value)(z), y)), None)
    if z is None:
        raise InputError(f"the weights do not fit {like}: each row must give one output")
    return ACTIVATIONS[like.activation if isinstance(like, Dense) else like.activation.name]


def differences(mine: Learned, parts: list[FloatArray], g: FloatArray) -> list[FloatArray]:
    """Return the gradients of `parts` (the parameters and the inputs) by finite differences."""
    ends = np.cumsum([part.size for part in parts])[:-1]

    def pieces(point: FloatArray) -> list[FloatArray]:
        split = zip(np.split(point, ends), parts, strict=True)
        return [piece.reshape(part.shape) for piece, part in split]

    def loss(point: FloatArray) -> float:
        twin = Learned(mine.mine)
        *values, x = pieces(point)
        for name, value in zip(twin.names, values, strict=True):
            twin.put(name, value)
        return float((twin.outputs(x) * g).sum())

    point = np.concatenate([part.ravel() for part in parts])
    require(
        point.size <= MOST, f"{point.size:,} numbers take too long to check: check a smaller layer"
    )
    problem = Problem(loss, point, point, str)
    found = [difference(problem, i, TOLERANCE) for i in range(point.size)]
    return pieces(np.array(found, float))  # NaN at a kink


def mistakes(
    rights: list[FloatArray], parts: list[FloatArray], x: FloatArray, y: FloatArray, slopes: Arrays
) -> list[Arrays]:
    """Return the gradients that typical mistakes produce, for each parameter and the inputs."""
    samples = len(np.atleast_2d(x))
    found: list[Arrays] = [
        [("layer_sign", -right), ("layer_nothing", 0.0 * right), ("layer_mean", right / samples)]
        for right in rights
    ]
    if x.ndim == 1 and parts[0].shape[-1:] == x.shape:  # one sample, and one row per output
        found[0].append(("layer_no_input", rights[0] / (x + TINY)))
        for wrong, right in zip(found[:-1] if y.ndim else found, rights, strict=False):
            each = y.shape + (1,) * (right.ndim - y.ndim)
            wrong += [(key, right * ratio.reshape(each)) for key, ratio in slopes]
    if x.shape == y.shape and len(parts) == 2:
        found[0].append(("layer_transposed", rights[0].T))
        found[-1].append(("layer_transposed", parts[0] @ rights[1]))
    return found


def wrong_slopes(row: Formula, z: FloatArray, y: FloatArray) -> Arrays:
    """Return typical wrong derivatives of an activation, divided by the correct derivative."""
    slope = np.vectorize(row.derivative, otypes=[float])
    ends = ((z, z), (y, y), (y, np.vectorize(row.value)(y)))
    wrong = [("layer_no_derivative", 1.0), *[("layer_wrong_place", slope(*end)) for end in ends]]
    return [(key, np.asarray(each / (slope(z, y) + TINY))) for key, each in wrong]


GRADIENTS = (-8.0, 4.0, 1.0, -2.0)


def of_rule(mine: Any, like: Optimizer) -> Iterator[Comparison]:
    """Take steps of one weight with a learner's optimizer and the reference; compare the results.

    The optimizer is a function that takes w, its gradient and optionally the learning rate, or an
    object with a method `step(w, g)`, or the class of such an object, which is called with the
    learning rate. The function or method returns the new w.
    """
    made = mine(like.lr) if isinstance(mine, type) else deepcopy(mine)
    move: Callable[..., Any] = getattr(made, "step", made)
    needed = [each for each in signature(move).parameters.values() if each.default is each.empty]
    rate = [like.lr] * (len(needed) - 2)
    ours, lr, known = Weight(START), like.lr or nan, like.settings
    plain = (1.0 - known.get("beta1", 0.0)) / sqrt(1.0 - known.get("beta2", 0.0))
    plainly = "rule_no_decay" if like.l2 else "rule_no_state"
    for step, g in enumerate(GRADIENTS, 1):
        w = ours.value
        ours.grad = g
        ours.step(like)
        change = ours.value - w
        mistakes = [
            *[("rule_uphill", w - change), ("rule_change", change), ("rule_nothing", w)],
            *[("rule_no_rate", w + change / lr), (plainly, w - lr * g)],
            *[("rule_no_correction", w - lr * copysign(plain, g))] * ("beta2" in known),
        ]
        place = text("check.step", step=step, w=f"{w:.6g}", g=f"{g:g}")
        told = {"change": change, "name": like.name, "w": w, "l2": like.l2}
        yield compared(place, move(w, g, *rate), ours.value, "rule_step", mistakes, None, **told)
