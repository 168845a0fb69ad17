"""Kernels of compiled expressions on a GPU: a thread takes samples one by one through the table.

The plan has the sizes, then a row of COLUMNS for each operation, then the numbers of the outputs;
see `model/trace.py` for the numbers of values. `arena` has the constants and parameters, then the
gradients of the parameters, then all values of each sample, and their gradients: value v of sample
n is at v * SAMPLES + n of its part. The last part is the gradients of the outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engines.codegen.cuda_dispatch import (
    Real,
    binary_slope,
    binary_value,
    kernel,
    launched,
    ternary_slope,
    ternary_value,
    unary_slope,
    unary_value,
)
from scalarviz.engines.cuda.api import cuda

Numbers = Any
Whole = Any
Index = Any

# Fields of the plan; FIRST_PARAMETER and FIRST_MADE are numbers of values.
(
    SAMPLES, INPUTS, FIRST_PARAMETER, FIRST_MADE, OPERATIONS, RESULTS, GRADIENTS, VALUES, FLOWS,
    UPSTREAM, FIELDS,
) = range(11)  # fmt: skip
# Columns of an operation: number of operands, formula in the table of that number, its first
# partial derivative in the table of those, and the operands.
OPERANDS, FORMULA, PARTIAL, X, Y, Z = range(6)
COLUMNS = 6


@kernel
def row_of_value(plan: Whole, value: Index, n: Index) -> Index:
    """Return where a value of a sample is, counted from the beginning of its part."""
    return value * plan[SAMPLES] + n


@kernel
def evaluated(plan: Whole, op: Index, arena: Numbers, n: Index) -> Any:
    """Return the result of an operation for a sample."""
    first, count = plan[VALUES], plan[op + OPERANDS]
    x = arena[first + row_of_value(plan, plan[op + X], n)]
    if count == 1:
        return unary_value(plan[op + FORMULA], x)
    y = arena[first + row_of_value(plan, plan[op + Y], n)]
    if count == 2:
        return binary_value(plan[op + FORMULA], x, y)
    z = arena[first + row_of_value(plan, plan[op + Z], n)]
    return ternary_value(plan[op + FORMULA], x, y, z)


@kernel
def slope(plan: Whole, op: Index, arena: Numbers, made: Index, i: Index, n: Index) -> Any:
    """Return the partial derivative by operand i of an operation, whose result is value `made`."""
    first, count = plan[VALUES], plan[op + OPERANDS]
    result = arena[first + row_of_value(plan, made, n)]
    x = arena[first + row_of_value(plan, plan[op + X], n)]
    if count == 1:
        return unary_slope(plan[op + FORMULA], x, result)
    y = arena[first + row_of_value(plan, plan[op + Y], n)]
    if count == 2:
        return binary_slope(plan[op + PARTIAL] + i, x, y, result)
    z = arena[first + row_of_value(plan, plan[op + Z], n)]
    return ternary_slope(plan[op + PARTIAL] + i, x, y, z, result)


@launched
def expression_forward(plan: Whole, arena: Numbers) -> None:
    """Compute all values of each sample from its inputs."""
    for n in range(cuda.grid(1), plan[SAMPLES], cuda.gridsize(1)):
        for value in range(plan[INPUTS], plan[FIRST_MADE]):
            place = plan[VALUES] + row_of_value(plan, value, n)
            arena[place] = arena[value - plan[INPUTS]]
        for i in range(plan[OPERATIONS]):
            place = plan[VALUES] + row_of_value(plan, plan[FIRST_MADE] + i, n)
            arena[place] = evaluated(plan, FIELDS + i * COLUMNS, arena, n)


@launched
def expression_backward(plan: Whole, arena: Numbers) -> None:
    """Compute the gradients of all values of each sample; constants have none."""
    outputs = FIELDS + plan[OPERATIONS] * COLUMNS
    for n in range(cuda.grid(1), plan[SAMPLES], cuda.gridsize(1)):
        for value in range(plan[FIRST_MADE] + plan[OPERATIONS]):
            arena[plan[FLOWS] + row_of_value(plan, value, n)] = Real(0)
        for i in range(plan[RESULTS]):
            place = plan[FLOWS] + row_of_value(plan, plan[outputs + i], n)
            arena[place] += arena[plan[UPSTREAM] + row_of_value(plan, i, n)]
        for i in range(plan[OPERATIONS] - 1, -1, -1):
            op, made = FIELDS + i * COLUMNS, plan[FIRST_MADE] + i
            g = arena[plan[FLOWS] + row_of_value(plan, made, n)]
            for k in range(plan[op + OPERANDS]):
                value = plan[op + X + k]
                if value < plan[INPUTS] or value >= plan[FIRST_PARAMETER]:
                    place = plan[FLOWS] + row_of_value(plan, value, n)
                    arena[place] += g * slope(plan, op, arena, made, k, n)


@launched
def expression_sums(plan: Whole, arena: Numbers) -> None:
    """Sum the gradients of each parameter over the samples, in order and in float64."""
    parameters = plan[FIRST_MADE] - plan[FIRST_PARAMETER]
    for i in range(cuda.grid(1), parameters, cuda.gridsize(1)):
        first, total = plan[FLOWS] + row_of_value(plan, plan[FIRST_PARAMETER] + i, 0), 0.0
        for n in range(plan[SAMPLES]):
            total += np.float64(arena[first + n])
        arena[plan[GRADIENTS] + i] = Real(total)
