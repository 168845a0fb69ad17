"""Files of compiled functions, as tables of operations; `load` reads files of any model.

A table contains numbers and names of operations, but no code. Unmatched forwards and the engine are
not saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from scalarviz.base.checks import answered, require, shorten
from scalarviz.base.limits import Budget
from scalarviz.core.bank import DTYPES
from scalarviz.core.bank_arrays import block_name
from scalarviz.core.formulas.formula import pick
from scalarviz.core.trace import BYTES, EVERY_OPERATION, MOST_OPERANDS, NONE, NUMBERS, Trace
from scalarviz.core.value import Value
from scalarviz.data.data_set import DOUBLE
from scalarviz.engines.registry import EngineRow, choose, choose_for_expression
from scalarviz.errors import InputError
from scalarviz.files import networks
from scalarviz.files.checked_safetensors import Array, Description, read_one_of, write
from scalarviz.files.networks import beside_values, field, optional, slots_of, steps_of
from scalarviz.training.follow.followed import Followed
from scalarviz.training.follow.record import is_record
from scalarviz.training.network.expression import Expression
from scalarviz.training.network.named_arrays import as_arrays
from scalarviz.training.network.network import Network

KIND = "expression"


def save_expression(expression: Expression, path: object) -> None:
    """Save a compiled function; replace an existing file atomically."""
    bank, trace = expression.bank, expression.recording
    used = np.unique(trace.operations)
    names = [*EVERY_OPERATION]
    named = sum(prod(wall.shape) for wall in expression.walls.values())
    whole = len(expression.parameters) == len(bank)  # otherwise it also belongs to a network
    description = {
        "name": expression.name,
        "inputs": trace.inputs,
        "outputs": trace.outputs,
        "operations": [names[i] for i in used],
        "walls": {name: list(wall.shape) for name, wall in expression.walls.items()},
        "labels": [str(value.label) for value in expression.parameters[named:]],
        "results": {
            "labels": {str(i): label for i, label in enumerate(trace.labels) if label},
            "names": {str(i): name for i, name in enumerate(trace.names) if name},
        },
        "dtype": expression.dtype,
        "step_count": int(bank.step_count) if whole else 0,
        "has_gradients": bool(bank.has_gradients) and whole,
        "slots": [list(each) for each in bank.blocks if each and whole],
    }
    arrays = {
        "operations": np.searchsorted(used, trace.operations).astype(np.int64),
        "operands": trace.operands,
        "constants": trace.constants,
        "value": bank.value[expression.rows],
    }
    write(path, KIND, description, arrays | (beside_values(bank) if whole else {}))


@answered
def load(path: object, engine: str = "python", *, limit: int | None = None) -> Network | Any:
    """Load a network or a compiled function from a file written by its `save`.

    If the file is a record of a followed training run (see `sv.follow`), it returns a Followed.

    Args:
        path: the file, .safetensors or .sv
        engine: engine of the network: "python" (default), "cpu", "cuda" or "auto"
        limit: maximum bytes of the layers described in the file, and of the activations of one
            sample; None (default) means 640 MB

    Raises:
        FileError: if the file is damaged, of another kind or too large.
        EngineError: if the engine is not available.
    """
    budget = Budget(limit)
    if is_record(path):
        return Followed(path)
    kind, description, arrays = read_one_of(path, (networks.KIND, KIND))
    is_network = kind == networks.KIND
    row = choose(engine) if is_network else choose_for_expression(engine)
    build = networks.build_on if is_network else build_expression
    try:
        return build(description, arrays, row, budget)
    except Exception as error:  # also unexpected errors, in malicious files
        raise networks.not_made(path, f"a {kind} that can be made here", error) from error


def build_expression(
    description: Description, arrays: Mapping[str, Array], engine: EngineRow, budget: Budget
) -> Expression:
    """Return a compiled function on an engine; raise InputError for an invalid description."""
    value = array_of(arrays, "value", field(description, "dtype", str), None)
    budget.take(BYTES * len(value), f"{len(value):,} parameters as objects")
    leaves = [Value(float(number)) for number in value]
    left, named = iter(leaves), dict[str, Any]()
    for name, shape in field(description, "walls", dict).items():
        count = prod(shape) if is_shape(shape) else 0
        require(0 < count <= len(leaves), f"{shorten(name)} has the shape {shorten(shape)}")
        named[name] = np.array([*islice(left, count)], object).reshape(shape)
    walls = as_arrays(named)
    for leaf, label in zip(left, field(description, "labels", list), strict=True):
        leaf.label = str(label)
    made = Expression(
        field(description, "name", str),
        trace_of(description, arrays, leaves, budget),
        pick(DTYPES, description["dtype"], "dtype"),
        engine,
        walls,
    )
    bank = made.bank
    for names in slots_of(description):
        bank.slot_block(names)[:] = array_of(
            arrays, block_name(names), bank.dtype, len(names), len(bank)
        )
    for name, target in optional(bank).items():
        if name in arrays:
            target[:] = array_of(arrays, name, target.dtype.name, len(bank))
    bank.step_count = steps_of(description)
    bank.has_gradients = field(description, "has_gradients", bool)
    return made


def trace_of(
    description: Description, arrays: Mapping[str, Array], leaves: list[Value], budget: Budget
) -> Trace:
    """Return the table of operations; raise InputError unless each uses only earlier results."""
    names = field(description, "operations", list)
    numbers = [NUMBERS[pick(EVERY_OPERATION, name, "operation").name] for name in names]
    chosen = array_of(arrays, "operations", "int64", None)
    operands = array_of(arrays, "operands", "int64", len(chosen), MOST_OPERANDS)
    constants = array_of(arrays, "constants", "float64", None)
    inputs, outputs = field(description, "inputs", int), field(description, "outputs", list)
    first = inputs + len(constants) + len(leaves)
    made = first + len(chosen)
    require(inputs >= 1, f"it has {inputs} inputs")
    budget.take(DOUBLE * made, f"one sample on its way through {made:,} numbers")
    require(
        not len(chosen) or (chosen.min() >= 0 and chosen.max() < len(numbers)),
        "an operation is unknown",
    )
    operations = np.array(numbers, np.int64)[chosen]
    counts = np.array([len(row.partials) for row in EVERY_OPERATION.values()])[operations]
    taken = np.arange(MOST_OPERANDS) < counts[:, np.newaxis]
    later = first + np.arange(len(chosen))[:, np.newaxis]
    require(
        np.where(taken, (operands >= 0) & (operands < later), operands == NONE).all(),
        "an operation takes a missing value, or one not computed yet",
    )
    require(
        outputs and all(type(place) is int and 0 <= place < made for place in outputs),
        f"its results are {shorten(outputs)}, of {made:,} numbers",
    )
    results = description.get("results", {"labels": {}, "names": {}})  # missing in older files
    texts = [texts_of(field(results, each, dict), len(chosen)) for each in ("labels", "names")]
    return Trace(inputs, constants, leaves, operations, operands, outputs, *texts)


def texts_of(given: Mapping[str, Any], count: int) -> list[str]:
    """Return a string for each operation; `given` has the non-empty strings by operation number."""
    found = [""] * count
    for key, words in given.items():
        if not (key.isdecimal() and int(key) < count and isinstance(words, str)):
            raise InputError(f"{shorten(words)} is called as operation {shorten(key)} of {count:,}")
        found[int(key)] = words
    return found


def array_of(arrays: Mapping[str, Array], name: str, dtype: str, *shape: int | None) -> Array:
    """Return an array; raise InputError unless it has this dtype and shape (None: any size)."""
    found = arrays.get(name)
    fits = (
        found is not None
        and (found.dtype.name, found.ndim) == (dtype, len(shape))
        and all(a in (None, b) for a, b in zip(shape, found.shape, strict=True))
    )
    if found is None or not fits:
        said = "missing" if found is None else f"{found.dtype} of shape {found.shape}"
        raise InputError(f"the array {name} is {said}")
    return found


def is_shape(shape: object) -> bool:
    return isinstance(shape, list) and all(type(n) is int and n > 0 for n in shape)
