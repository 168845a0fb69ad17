"""The check of a learner's weight: a short scenario beside `Weight`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scalarviz.base.texts import text
from scalarviz.core.optimizer import SGD
from scalarviz.core.value import Value
from scalarviz.core.weight import Weight
from scalarviz.training.checking.moment import Moment, compared, shown


class Rate(float):
    """A learning rate: a number, and also an object with `lr`, as an optimizer."""

    lr = property(float)


START = 0.5
WAITING = (1.5, 10.0)  # inputs of two forwards before their backwards
CALLS: tuple[tuple[str, *tuple[float, ...]], ...] = (
    *(("forward", 2.0), ("backward", -4.0), ("forward", 3.0), ("backward", 2.0)),
    *(("forward", WAITING[0]), ("forward", WAITING[1]), ("backward", 1.0), ("backward", 3.0)),
    *(("step", Rate(0.125)), ("zero_grad",), ("forward", 2.0), ("backward", 1.0)),
)


def of_weight(kind: Callable[[float], Any]) -> Iterator[Moment]:
    """Call the methods that a learner's weight has, each beside ours."""
    ours, mine = Weight(START), kind(START)
    yield compared("w.value", mine.value, START, "weight_value")
    for name, *args in CALLS:
        if hasattr(mine, name):
            yield from called(ours, mine, name, *args)


def called(ours: Weight, mine: Any, name: str, *args: float) -> Iterator[Moment]:
    """Call a method of both, and compare what it returns or changes."""
    w, grad = ours.value, ours.grad
    g = (*args, 0.0)[0]
    x = ours._inputs[-1] if name == "backward" else g
    right = getattr(ours, name)(*[SGD(g)] if name == "step" else args)
    now = {"result": getattr(mine, name)(*args), "grad": mine.grad, "value": mine.value}
    rights = {"result": right, "grad": ours.grad, "value": ours.value}
    mistakes: dict[str, list[tuple[str, float]]] = {  # of each number that is compared
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
    """Return y = w x as a graph, and the node that has the number that is compared."""
    w, seen = Value(ours.value, label="w"), Value(x, label="x")
    y = w * seen
    if name == "backward":
        w.grad, seen.grad, y.grad = ours.grad, ours.value * g, g
    return y, {"grad": w, "result": seen}[what] if name == "backward" else y
