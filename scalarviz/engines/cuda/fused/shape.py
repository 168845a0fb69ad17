"""Which networks the fused kernel takes, and the table that it reads for one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from scalarviz.core.program import NONE, Operation, Program
from scalarviz.engines.cuda import places

THREADS = 256
# What the structs of network.cu hold: fields of 32 bits of the first two, and bytes of the third.
SHAPE_FIELDS, LAYER_FIELDS, HEAD_BYTES = 8, 13, 2048
MOST_LAYERS, MOST_TILE = 16, 32
MOST_OWN = 8  # rows of a thread, which are in its registers

Whole = npt.NDArray[np.int32]
Stack = list[tuple[Operation, Operation | None]]  # affine operations, and the activation after each


@dataclass(frozen=True, slots=True)
class Table:
    """A network as the kernel reads it.

    numbers  fields of `Shape`, then those of each `Layer`
    own      rows of a thread
    blocks   of the grid
    shared   bytes of a block
    """

    numbers: Whole
    own: int
    blocks: int
    shared: int


def table_of(
    program: Program, chunks: int, share: int, shared: int, blocks: int, clipped: bool
) -> Table | None:
    """Return the table of a network, or None if it is none of dense layers only, or too large.

    chunks   of a batch
    share    the most samples of a chunk
    shared   bytes that a block may have
    blocks   how many there are at the same time; it changes no bit
    clipped  whether squares of gradients are added up, in groups of `GROUP` rows in one block
    """
    stack = dense_layers(program)
    owned = rows_of_blocks(stack, blocks, clipped)
    if owned is None:
        return None
    each, own = owned
    fixed, a_sample = sizes(stack)
    room = (shared - HEAD_BYTES) // 4
    tile = min(share, MOST_TILE, (room - fixed) // a_sample)
    if tile < 1 or room < max(chunks, each):
        return None
    layers, shape = fill(stack, tile)
    used = max(fixed + tile * a_sample, min(each * chunks, room))
    piece = min(each, used // chunks)
    numbers = np.array([len(stack), tile, each, piece, *shape, *layers], np.int32)
    return Table(numbers, own, blocks, HEAD_BYTES + 4 * used)


def rows_of_blocks(stack: Stack, blocks: int, clipped: bool) -> tuple[int, int] | None:
    """Return how many rows of the bank a block has, and a thread; None if none or too many."""
    rows = sum(len(affine.parameters) for affine, _ in stack)
    step = places.GROUP if clipped else 4
    each = -(-rows // (blocks * step)) * step
    own = 1 << (-(-each // THREADS) - 1).bit_length()  # so that few kernels are compiled
    return (each, own) if rows and own <= MOST_OWN else None


def dense_layers(program: Program) -> Stack:
    """Return the affine operations, each with the activation after it, if there is no other kind.

    [] also if there are more than MOST_LAYERS, and where the gradients of a chunk are in another
    order than the rows of the bank, as where layers share weights.
    """
    stack: Stack = []
    before, rows = program.inputs, 0
    for operation in program.operations:
        if operation.source != before:
            return []
        before = operation.target
        if operation.kind == "affine" and operation.parameters.start == rows:
            stack.append((operation, None))
            rows = operation.parameters.stop
        elif operation.kind == "activation" and stack and stack[-1][1] is None:
            stack[-1] = stack[-1][0], operation
        else:
            return []
    return stack if before == program.outputs and len(stack) <= MOST_LAYERS else []


def row_step(width: int) -> int:
    """Return the step between rows of `width` numbers: they are read four at a time.

    An odd number of fours, so that eight neighbouring rows are in different memory banks.
    """
    fours = -(-width // 4)
    return 4 * (fours + 1 - fours % 2)


def sizes(stack: Stack) -> tuple[int, int]:
    """Return how many numbers a block holds: for all samples, and for each one."""
    fixed = a_sample = 0
    for affine, activation in stack:
        fixed += affine.target.size * row_step(affine.source.size) + row_step(affine.target.size)
        a_sample += row_step(affine.target.size) * (2 if activation else 1)
    widest = max(row_step(affine.target.size) for affine, _ in stack)
    first, last = stack[0][0].source.size, stack[-1][0].target.size
    return fixed, a_sample + 2 * widest + row_step(first) + row_step(last) + 4


def fill(stack: Stack, tile: int) -> tuple[list[int], list[int]]:
    """Return the fields of the layers, and those of the shape from `goals` on."""
    end = 0

    def take(numbers: int) -> int:
        nonlocal end
        end += numbers
        return end - numbers

    layers: list[int] = []
    x_step = row_step(stack[0][0].source.size)
    x = take(tile * x_step)
    for affine, activation in stack:
        inputs, outputs = affine.source.size, affine.target.size
        step, y_step = row_step(inputs), row_step(outputs)
        weights, biases = take(outputs * step), take(y_step)
        z = take(tile * y_step)
        y = take(tile * y_step) if activation else z
        formula = activation.formula_place if activation else NONE
        layers += [inputs, outputs, affine.biases != NONE, affine.weights, formula]
        layers += [weights, step, biases, x, x_step, z, y, y_step]
        x, x_step = y, y_step
    goals, errors = take(tile * x_step), take(tile * 4)
    widest = tile * max(row_step(affine.target.size) for affine, _ in stack)
    flow, other = take(widest), take(widest)
    return layers, [goals, errors, flow, other]
