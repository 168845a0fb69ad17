"""Values and compiled functions against fifty digits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value
from tests.proofs.report import Proof

if TYPE_CHECKING:
    from tests.proofs.fifty_digits import Expression

EPSILON = 2.0**-52
UNITS = 16.0  # of the last digit, by which an operation may be wrong
TRIES = 4  # with other noise; what changes most is the limit
WORST = 1e9  # a result that rounding changes by so many units in the last digit says nothing
LARGEST = 1e12
DIGITS = 1e-10  # of second derivatives, beside the noise


class Exact:
    """The value, the gradient and perhaps the second derivatives, and how far they may be off.

    A kernel does the sums of a compiled function in another order; so there they may be off by what
    rounding makes of their largest term.
    """

    def __init__(self, graph: Expression, chance: random.Random, second: bool) -> None:
        from tests.proofs.fifty_digits import NOISE, mpf

        leaves = [mpf(x) for x in graph.leaves]
        self.along = [chance.uniform(-1.0, 1.0) if second else 0.0 for _ in leaves]

        def numbers(*noise: Any) -> list[Any]:
            value, gradient = graph.exact(leaves, *noise)
            more = graph.exact_second(leaves, self.along, *noise) if second else []
            return [value, *gradient, *more]

        exact = numbers()
        self.numbers = [float(x) for x in exact]
        largest = max(map(abs, self.numbers))
        self.says_something = largest < LARGEST
        self.limits = {}
        for how in ("values", "kernels"):
            noise = [(random.Random(chance.random()), how == "kernels") for _ in range(TRIES)]
            most = zip(exact, *[numbers(*each) for each in noise], strict=True)
            units = [abs(x) + max(abs(y - x) for y in ys) / NOISE for x, *ys in most]
            limits = [UNITS * EPSILON * float(u) + 1e-290 for u in units]
            for i in range(1 + len(leaves), len(exact)):
                limits[i] += DIGITS * (1.0 + largest)
            self.limits[how] = limits
            wild = [u > WORST * (abs(x) + 1) for u, x in zip(units, exact, strict=True)]
            self.says_something &= not any(wild) and not any(u != u for u in units)

    def worst(self, how: str, found: Sequence[float]) -> float:
        """The largest error, as a part of what it may be."""
        errors = np.abs(np.subtract(found, self.numbers[: len(found)]))
        return float(np.max(errors / self.limits[how][: len(found)]))


def by_values(graph: Expression, exact: Exact, second: bool) -> list[float]:
    """What a Value says, the same each time that it is asked."""
    leaves = [Value(x) for x in graph.leaves]
    result = graph.build(leaves)
    result.backward()
    once = [float(x.grad) for x in leaves]
    result.zero_grad()
    result.backward()
    assert [float(x.grad) for x in leaves] == once
    if not second:
        return [result.data, *once]
    result.zero_grad()
    result.backward(create_graph=True)
    slopes = [x.grad for x in leaves]
    assert [float(getattr(x, "data", x)) for x in slopes] == pytest.approx(once, rel=1e-9, abs=1e-9)
    result.zero_grad()
    along = sum((a * x for a, x in zip(exact.along, slopes, strict=True)), Value(0.0))
    along.backward()
    return [result.data, *once, *[float(x.grad) for x in leaves]]


def by_kernels(graph: Expression, parameters: int) -> list[float]:
    """What the compiled function says to three equal samples; some leaves are parameters."""
    known = [Value(x) for x in graph.leaves[:parameters]]
    inputs = graph.leaves[parameters:]
    function = sv.compile(lambda *x: graph.build([*known, *x]), len(inputs), engine="cpu")
    results = function.forward([inputs] * 3)
    gradients = function.backward()
    assert (results == results[0]).all() and (gradients == gradients[0]).all()
    assert (function([inputs] * 3) == results).all()
    return [float(results[0, 0]), *[float(x.grad) / 3.0 for x in known], *gradients[0].tolist()]


@pytest.mark.slow
def test_random_scalar_graphs_against_50_digits(proof: Proof) -> None:
    from tests.proofs.fifty_digits import drawn  # mpmath, which the other tests do not need

    count, seed = proof.count(10_000), 14
    chance = random.Random(seed)
    worst = {"values": 0.0, "kernels": 0.0}
    done = redrawn = seconds = operations = 0
    while done < count:
        second = done % 5 == 0
        graph = drawn(chance, 6 if second else 30)
        exact = Exact(graph, chance, second)
        if not exact.says_something:
            redrawn += 1
            continue
        found = {
            "values": by_values(graph, exact, second),
            "kernels": by_kernels(graph, chance.randrange(len(graph.leaves))),
        }
        for name, numbers in found.items():
            error = exact.worst(name, numbers)
            assert error <= 1.0, f"graph {done}, {name}: {graph} is {numbers}, not {exact.numbers}"
            worst[name] = max(worst[name], error)
        done, seconds, operations = done + 1, seconds + second, operations + len(graph.operations)
    proof.seeds = str(seed)
    proof.tried = [
        f"{done:,} graphs of {operations:,} operations, each as Values and compiled on cpu in "
        f"float64: results and gradients; of {seconds:,} of them second derivatives"
    ]
    proof.found = [
        f"errors at most {worst['values']:.2f} of what rounding explains as Values, "
        f"{worst['kernels']:.2f} compiled",
        f"{redrawn:,} graphs drawn again, since rounding leaves none of their digits",
    ]
