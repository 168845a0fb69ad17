"""The path of the signal of a weight or neuron through the outputs and inputs of all operations."""

from __future__ import annotations

from math import isqrt, prod

import numpy as np

from scalarviz.core.program import Buffer, Operation, Places, Program, Windows
from scalarviz.training.session.caption import Neuron

Path = list[tuple[int, int]]  # output and input of each operation


def path(program: Program, row: int) -> Path:
    """Return the output and input of each operation that a weight's signal passes."""
    operations = program.operations
    homes = [i for i, operation in enumerate(operations) if row in operation.parameters]
    home = homes[0] if homes else 0
    return through(program, home, place_in(operations[home], row) if homes else (0, 0))


def path_of_neuron(program: Program, neuron: Neuron) -> Path:
    """Return the output and input of each operation that a neuron's signal passes."""
    name, place = neuron
    for home, operation in enumerate(program.operations):
        if operation.target.name == name:
            return through(program, home, (place, input_for(operation, place)))
    return through(program, 0, (output_for(program.operations[0], place), place))


def through(program: Program, home: int, place: tuple[int, int]) -> Path:
    """Return the path that passes an output and input of the operation `home`."""
    operations = program.operations
    places = {home: place}
    at = {operations[home].target: place[0]}
    for i in range(home, -1, -1):
        output = at.get(operations[i].target)
        if output is not None:
            places.setdefault(i, (output, input_for(operations[i], output)))
            at.update(dict.fromkeys(sources_for(operations[i], output), places[i][1]))
    behind = {operations[home].target}
    for i, operation in enumerate(operations):
        if i not in places:  # the path goes on behind its home, and into branches beside it
            source = next((each for each in operation.sources if each in behind), operation.source)
            column = at[source]
            places[i] = output_for(operation, column, source), column
            at.setdefault(operation.target, places[i][0])
        if not behind.isdisjoint(operation.sources):
            behind.add(operation.target)
    return [places[i] for i in range(len(operations))]


def sources_for(operation: Operation, output: int) -> tuple[Buffer, ...]:
    """Return the buffers that an output depends on."""
    if operation.kind == "concatenation":
        return (operation.sources[output >= operation.source.size],)
    return operation.sources


def place_in(operation: Operation, row: int) -> tuple[int, int]:
    """Return the output and input of a parameter; those in the middle for a shared one."""
    if not operation.about.multiplies:
        return (0, 0)
    written, read = operation.uses(row)
    if not len(written):  # a kernel's corner that always lies in the padding
        output = (row - operation.weights) // per_unit(operation) * operation.outputs_per_bias
        return output, input_for(operation, output)
    at = middle(len(written))
    output = int(written[at])
    if read is not None:
        return output, int(read[at])
    if operation.outputs_per_bias > 1:
        return output, input_for(operation, output)
    return output, 0 if len(operation.shape) > 1 else output  # beside a bias


def middle(count: int) -> int:
    """Return the middle of `count` places; for a square, that of the middle row."""
    return min(count - 1, (count + isqrt(count)) // 2)


def per_unit(operation: Operation) -> int:
    """Return the number of weights per perceptron or kernel."""
    return prod(operation.shape[1:])


def output_for(operation: Operation, column: int, source: Buffer | None = None) -> int:
    """Return an output that depends on an input of `source`, by default the first buffer."""
    if operation.kind == "concatenation":
        return column + (source == operation.sources[1]) * operation.source.size
    if not operation.about.multiplies:
        return across(operation, column, forward=True)
    _, written = weights_from(operation, column)
    if not len(written):  # no window covers it
        return column % operation.target.size
    units = len(units_on(operation, column)) if len(operation.shape) > 1 else 1
    return int(written.reshape(units, -1)[column % units, middle(len(written) // units)])


def input_for(operation: Operation, output: int) -> int:
    """Return an input that an output depends on."""
    if operation.kind == "concatenation":
        return output - (output >= operation.source.size) * operation.source.size
    if not operation.about.multiplies:
        return across(operation, output, forward=False)
    rows, read = weights_into(operation, output)
    if not len(rows):
        return output % operation.source.size
    count = len(rows)
    return int(read[output % count if operation.outputs_per_bias == 1 else count // 2])


def across(operation: Operation, place: int, *, forward: bool) -> int:
    """Return the corresponding index on the other side of an operation without weights."""
    buffers = operation.source, operation.target
    here, there = buffers if forward else buffers[::-1]
    if here.size == there.size or not (here.shape and there.shape):
        return place % there.size
    at = np.unravel_index(place, here.shape)
    sides = zip(at, here.shape, there.shape, strict=True)
    return int(np.ravel_multi_index([int(i) * new // old for i, old, new in sides], there.shape))


def weights_into(operation: Operation, output: int) -> tuple[Places, Places]:
    """Return the weights that an output depends on, and the input of each."""
    unit, count = output // operation.outputs_per_bias, per_unit(operation)
    rows, inputs = [], []
    for row in range(operation.weights + unit * count, operation.weights + (unit + 1) * count):
        written, read = operation.uses(row)
        if read is not None:
            found = read[written == output]
            rows += [row] * len(found)
            inputs += found.tolist()
    return np.array(rows, np.intp), np.array(inputs, np.intp)


def units_on(operation: Operation, column: int) -> range:
    """Return the perceptrons that see an input, or the kernels of its group."""
    units = operation.shape[0]
    if operation.kind != "convolution":
        return range(units)
    windows = Windows.of(operation)
    share = units // windows.groups
    group = column // (windows.height * windows.width) // windows.seen_channels
    return range(group * share, (group + 1) * share)


def weights_from(operation: Operation, column: int) -> tuple[Places, Places]:
    """Return the weights that multiply an input, and the output of each.

    All perceptrons, or kernels, that see an input use it in the same way: the first is looked up.
    """
    each, count = operation.outputs_per_bias, per_unit(operation)
    if len(operation.shape) == 1:
        return np.array([operation.weights + column // each]), np.array([column])
    units = units_on(operation, column)
    first_row = operation.weights + units.start * count
    rows, outputs = [], []
    for row in range(first_row, first_row + count):
        written, read = operation.uses(row)
        if read is not None:
            found = written[read == column]
            rows += [row] * len(found)
            outputs += found.tolist()
    order = np.argsort(outputs, kind="stable")
    first, into = np.array(rows, np.intp)[order], np.array(outputs, np.intp)[order]
    unit = np.arange(len(units))[:, np.newaxis]
    return (first + unit * count).ravel(), (into + unit * each).ravel()
