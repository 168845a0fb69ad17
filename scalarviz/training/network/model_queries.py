"""Checks of data, losses, engines and activations for a model, and its summary table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from scalarviz.base.checks import (
    FloatArray,
    as_batch,
    as_floats,
    has_channels_last,
    is_picture,
    labels_as_rows,
    one_or_all,
    require,
    shorten,
)
from scalarviz.base.messages import inform_once
from scalarviz.core.formulas.losses import EVERYWHERE, Loss
from scalarviz.core.formulas.metric_formulas import predictions_of
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.precision import Precision
from scalarviz.core.program import NONE, Operation, Program, columns
from scalarviz.data import DataSet
from scalarviz.data.batches import Batches
from scalarviz.data.data_set import TableSet
from scalarviz.errors import EngineError, InputError, ShapeError

if TYPE_CHECKING:
    from scalarviz.training.network.model import Model
    from scalarviz.training.network.network import Network

ENDS = "sigmoid", "softmax"  # with probabilities as results
UNSCALED = "affine", "convolution"  # first operations that read inputs unscaled
LARGE = 100.0  # larger inputs are not scaled
NOTHING = 1e-3  # share of a learning rate too low to learn anything
JOINS = "branch", "concatenation"  # they pass on their inputs


def check_fits(data: DataSet, network: Model) -> None:
    """Raise ShapeError if the inputs or outputs of the data do not match the network."""
    shape = data.sample_shape if isinstance(data, TableSet) else ()
    if shape and not is_picture(shape, network.input_shape):
        takes = network.input_shape or f"rows of {network.inputs} numbers"
        remedy = (
            "inputs.reshape(len(inputs), -1), one row per sample, if the order of the "
            "numbers matches"
        )
        if has_channels_last(shape, network.input_shape):
            remedy = "np.moveaxis(inputs, -1, 1), as the channels come first"
        raise ShapeError(
            f"the data has pictures of shape {shape}, and the network takes {takes}: pass {remedy}"
        )
    pairs = {"inputs": (data.inputs, network.inputs), "outputs": (data.outputs, network.outputs)}
    if differ := [name for name, (has, takes) in pairs.items() if has != takes]:
        hint = ""
        if isinstance(data, TableSet) and differ == ["outputs"] and data.outputs == 1:
            labels = data.training[1]
            hint = labels_as_rows(labels, len(labels), network.outputs)
        raise ShapeError(
            f"the data has samples of {data.inputs} -> {data.outputs} numbers, and the network "
            f"takes {network.inputs} -> {network.outputs}: make the {' and the '.join(differ)} "
            f"equal{hint}"
        )
    names, count = data.output_names, data.outputs
    require(
        len(names) in (0, count),
        f"output_names are {len(names)} names, {shorten(names)}, and the network has {count} "
        f"output{'s' * (count > 1)}: give each output one name, or each class an output, with "
        "the loss 'softmax_cross_entropy'",
        ShapeError,
    )


def remark(model: Model, data: DataSet, batches: Batches) -> None:
    """Log a hint once if a network can learn little from this data in these batches."""
    operations = model.program.operations
    if batches.size == 1 and any(
        each.kind == "batch_norm" and each.settings[1] == 1.0 for each in operations
    ):
        inform_once(
            "BatchNorm subtracts the mean of the batch, which is the sample itself for batch=1, "
            "so earlier layers learn nothing: pass batch=32, or use LayerNorm"
        )
    if isinstance(data, TableSet) and operations[:1] and operations[0].kind in UNSCALED:
        inputs = data.training[0]
        largest = max(float(inputs.max(initial=0.0)), -float(inputs.min(initial=0.0)))
        if largest > LARGE:
            inform_once(
                f"inputs as large as {largest:.6g} are hard to learn from: give them mean 0 and "
                "deviation 1, with sv.data.Arrays(inputs, targets, standardize=True) or a "
                "StandardScaler"
            )


def remark_of_schedule(optimizer: Optimizer, first: int, last: int) -> None:
    """Log a hint once if the schedule ends, with almost no rate left, before step `last`."""
    schedule = optimizer.schedule
    end = schedule.settings.get("steps", math.inf)
    if first <= end < last and schedule.factor(int(end)) < NOTHING:
        inform_once(
            f"the schedule {schedule.name!r} ends after {end:g} steps, and then the rate is "
            f"constant at {optimizer.lr * schedule.factor(int(end)):g}: set its steps= to the "
            "steps of the training run"
        )


def check_loss(model: Model, loss: Loss) -> None:
    """Raise InputError if a loss does not fit the activation of the last layer."""
    if model.layers and (loss.row.logits or loss.row.domain != EVERYWHERE):  # else any fits
        last = [each.formula for each in model.program.operations[-1:]]
        for name in {model.layers[-1].activation, *last, end_of(model.program, model._bank.value)}:
            loss.check_output(name)


def check_engine(
    model: Model,
    engine: str,
    precision: str | Precision | None = None,
    batches: Batches | None = None,
) -> tuple[str, Precision]:
    """Return the engine and precision with which a model would run, without changing the model.

    Args:
        engine: "python", "cpu", "cuda" or "auto"
        precision: "full", "mixed" or a Precision; None (default) means the model's precision
        batches: batches of the training run, or None. Their size matters for "auto", since small
            networks are faster on "cpu" than on a GPU; sample weights need an engine that supports
            them

    Raises:
        EngineError: if the engine cannot run the model in this precision.
    """
    chosen = model.precision if precision is None else Precision.of(precision)
    has_weights = batches is not None and batches.weights is not None
    row = model._choose(engine, 1 if batches is None or has_weights else batches.size, chosen)
    require(
        not has_weights or row.weighs,
        "sample weights need a Network on the 'cpu' or 'python' engine: choose one of these, or "
        "leave out sample_weight and class_weight",
        EngineError,
    )
    row.check(model._bank, chosen, model.program)
    return row.name, chosen


def evaluate_on_auto(model: Model, batch: FloatArray) -> FloatArray | None:
    """Evaluate a batch on the engine that "auto" chooses; None if that is the current engine."""
    with suppress(EngineError):
        row = model._choose("auto", len(batch), model.precision)
        if row.name != model.engine:
            row.check(model._bank, model.precision, model.program)
            engine = row.make(model.layers, model.program, model._bank, model.precision)
            return engine.evaluate(batch)
    return None


def check_activation(model: Model, layer: int, name: str) -> int:
    """Return the index of a layer; raise InputError if it cannot have the activation `name`."""
    count = len(model.layers)
    require(count, "a compiled function has no layers, so no activation to change")
    if not isinstance(layer, (int, np.integer)) or layer not in range(-count, count):
        raise InputError(f"the network has layers 0 to {count - 1}, and no {shorten(layer)}")
    model.layers[layer].check_activation(name)
    return int(layer) % count


def check_states(net: Model, states: FloatArray) -> None:
    """Raise InputError if a row of `states` is not a possible state of the network's bank."""
    require(np.isfinite(states).all(), "the state of the network must be finite numbers")
    for layer in net.layers:
        layer.check_states(states)


def places_of(model: Model, layer: int) -> list[int]:
    """Return all indices at which the layer at index `layer` is used."""
    return [i for i, other in enumerate(model.layers) if other is model.layers[layer]]


def checked_widths(widths: object, inputs: int) -> dict[str, int]:
    """Return the width of each named input; raise InputError unless the sum is `inputs` or 0."""
    found = dict(widths) if isinstance(widths, Mapping) else {"": 0}
    fit = [
        bool(name) and isinstance(name, str) and type(n) is int and n > 0
        for name, n in found.items()
    ]
    require(
        all(fit) and sum(found.values()) in (0, inputs),
        "input_widths are names and whole numbers from 1, such as {'u': 4, 'x': 1}, that add up to "
        f"the {inputs} inputs of the network, not {shorten(widths)}",
    )
    return found


def side_by_side(named: Mapping[Any, object], widths: Mapping[str, int], who: str) -> FloatArray:
    """Implement `Model.input_rows`: join named inputs into rows; `who` is the model in errors."""
    require(
        widths,
        f"{who} has no names of inputs: pass an array, or first set net.input_widths to the names "
        "and widths, such as {'u': 4, 'x': 1}",
    )
    for name in (*named, *widths):
        require(
            name in named and name in widths,
            f"{who} takes the inputs {', '.join(map(shorten, widths))}, and {shorten(name)} is "
            f"{'unknown' if name in named else 'missing'}: pass a dict with an array for each",
        )
    given = {
        name: as_floats(named[name], f"the input {shorten(name)}", keep=True) for name in widths
    }
    single = any(given[name].ndim == (width > 1) for name, width in widths.items())
    tables = [
        as_batch(
            x.reshape(-1, 1) if widths[name] == 1 > x.ndim - 1 else x,
            widths[name],
            f"the input {shorten(name)}",
            copy=False,
        )[0]
        for name, x in given.items()
    ]
    counts = dict(zip(widths, map(len, tables), strict=True))
    require(
        len({*counts.values()}) == 1,
        f"the inputs differ in their samples, {shorten(counts)}: pass equal numbers of samples",
    )
    return one_or_all(np.hstack(tables), single)


def probabilities(model: Model, x: object) -> FloatArray:
    """Implement `Model.predict_proba`."""
    outputs = model(x)
    if end_of(model.program, model.bank.value):
        return outputs
    loss = Loss("sigmoid_cross_entropy" if model.outputs == 1 else "softmax_cross_entropy")
    found = predictions_of(loss, np.atleast_2d(outputs)).astype(outputs.dtype)
    return found[0] if outputs.ndim == 1 else found


def end_of(program: Program, values: FloatArray) -> str:
    """Return "sigmoid" or "softmax" if it computes all outputs (or p and 1 - p), otherwise ""."""
    end = ""
    makers = {each.target: each for each in program.operations}
    reached = [program.outputs]
    for buffer in reached:  # which grows
        made = makers.get(buffer)
        if made is not None and made.formula in ENDS:
            end = made.formula
        elif made is not None and (made.kind in JOINS or turns_round(made, values)):
            reached += [each for each in made.sources if each not in reached]
        else:
            return ""
    return end


def turns_round(made: Operation, values: FloatArray) -> bool:
    """Return whether an operation maps every p to 1 - p."""
    if made.kind != "scale" or made.biases == NONE:
        return False
    gains, shifts = np.split(values[made.weights :][: 2 * (made.biases - made.weights)], 2)
    return bool((gains == -1.0).all() and (shifts == 1.0).all())


def network_table(net: Network) -> str:
    """Return a summary of a network as text: its sizes, and a table of its layers."""
    sizes = " -> ".join(map(str, (net.inputs, *[layer.outputs for layer in net.layers])))
    count = f"{len(net.bank):,} parameters"
    head = f"Network {sizes}: {count}, {net.dtype}, engine {net.engine}"
    lines = [("layer", "kind", "shape", "activation", "parameters", "rows")]
    for i, layer in enumerate(net.layers):
        first, end = layer.first_row, layer.first_row + layer.size
        rows = f"{first} to {end - 1}" if layer.size else "-"
        again = net.layers.index(layer)
        shape = f"{layer.inputs} -> {layer.outputs}"
        count = f"{layer.size:,}" if again == i else f"shared with {again}"
        lines.append((str(i), type(layer).__name__, shape, layer.activation, count, rows))
    return "\n".join([head, *columns(lines)])
