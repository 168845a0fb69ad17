"""What captions and cards of a page know of a session: operations, names and formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.base.texts import row_text, text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula_trees import cases_of, function_tree
from scalarviz.core.formulas.formula_words import written
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import Loss, LossRow, RowLossRow
from scalarviz.core.program import KINDS, NONE, Buffer, Operation, Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.engines.wasm.page_memory import moment_data
from scalarviz.pages.graph_data import nodes_data
from scalarviz.pages.optimizer_data import optimizer_data
from scalarviz.scene.pace import TERMS
from scalarviz.stage.network_layout import layout_of
from scalarviz.story.backward_captions import way_around
from scalarviz.story.captions import AVERAGED, LOSS_CHANGES
from scalarviz.story.forward_captions import loss_text, own_formula
from scalarviz.story.names import cells_of, is_output, names_of, names_of_cells, writer_of
from scalarviz.training.session.session import Session

Data = dict[str, Any]  # what JSON can hold


def caption_data(session: Session) -> Data:
    """Return what the captions, cards and the strip of a page need to know of a session of layers.

    The result has only dictionaries, lists, numbers, texts and None.
    """
    program: Program = session.network.program
    trainer, bank = session.trainer, session.network.bank
    given = names_of(session)
    moments = program.moments
    titles = names_of_cells(program, moments)
    if isinstance(program, TraceProgram):
        operations, buffers = [], nodes_data(program)  # `told` explains them
    else:
        operations = program.operations
        buffers = {each.name: buffer_data(program, each, given) for each in program.buffers}
    return {
        "told": program.is_graph,
        "progress": {"mean": AVERAGED, "changes": LOSS_CHANGES},
        "first": bank.step_count - session.step_index,
        "inputs": program.inputs.name,
        "outputs": program.outputs.name,
        "tint": session.data.input_tint,
        "firstRow": next(iter(session.network.row_numbers), NONE),
        "firstParameters": program.first_parameters,
        "rows": len(bank),
        "rowNames": row_names(session),
        "frozen": np.flatnonzero(bank.frozen).tolist(),
        "buffers": buffers,
        "operations": [operation_data(program, each) for each in operations],
        "terms": TERMS,
        "moments": [
            {**moment_data(moment, {}), "title": title}
            for moment, title in zip(moments, titles, strict=True)
        ],
        "cells": [
            {
                "part": cell.part,
                "layer": cell.layer,
                "name": cell.name,
                "technical": cell.technical,
                "done": cell.done,
            }
            for cell in cells_of(program, moments)
        ],
        "lines": neuron_lines(session),
        "learning": any(each.about.learning for each in program.operations),
        "activations": activations_of(program),
        "parametrics": {
            name: {
                "parameters": row.parameters,
                "value": function_tree(row.value),
                "derivative": function_tree(row.derivative),
            }
            for name, row in PARAMETRIC_FORMULAS.items()
            if name in {each.formula for each in operations}
        },
        "loss": loss_data(trainer.loss, program.outputs.size),
        "optimizer": optimizer_data(
            trainer.settings.optimizer, mixed=session.network.precision.mixed
        ),
    }


def row_names(session: Session) -> dict[int, str]:
    """Return the names of the parameters that are not named by the neurons that they join."""
    program: Program = session.network.program
    own = [each for each in program.operations if each.kind not in ("affine", "convolution")]
    rows = [row for each in own for row in each.parameters]
    rows = session.network.row_numbers if program.is_graph else rows
    return {row: str(session.network.name_of(row)) for row in rows}


def buffer_data(program: Program, buffer: Buffer, given: Any) -> Data:
    """Return the size of a buffer, and how its neurons are called.

    role   "input", "output" or "hidden"
    names  those of its neurons, if they have some of their own
    layer  label of the layer, if neurons of several layers must be told apart, else ""
    """
    writer = writer_of(program, buffer)
    role, named = "hidden", buffer
    if buffer == program.inputs:
        role = "input"
    elif is_output(program, buffer):
        role, named = "output", program.outputs
    found: Data = {"size": buffer.size, "shape": list(buffer.shape), "role": role}
    found["names"] = [] if role == "hidden" else list(given.get(named.name, ()))
    hidden = {each.label for each in program.operations if not is_output(program, each.target)}
    found["layer"] = str(writer.label or writer.layer) if writer and len(hidden) > 1 else ""
    found["wave"] = writer is not None and writer.formula == "frequency_encoding"
    return found


def operation_data(program: Program, operation: Operation) -> Data:
    """Return an operation, its place in the bank, and its names and texts."""
    name = operation.formula or operation.kind
    row = f"rows.row_formulas.{name}"
    kind = KINDS[operation.kind]
    around = way_around(program, operation) if operation.kind == "branch" else None
    return {
        "kind": operation.kind,
        "formula": operation.formula,
        "name": operation.name,
        "source": operation.source.name,
        "target": operation.target.name,
        "sources": [source.name for source in operation.sources],
        "around": around and around.name,
        "weights": operation.weights,
        "biases": operation.biases,
        "shape": list(operation.shape),
        "each": operation.outputs_per_bias,
        "count": len(operation.parameters),
        "settings": list(map(float, operation.settings)),
        "state": operation.state,
        "multiplies": kind.multiplies,
        "held": [operation.held_by.start, operation.held_by.stop],
        "layer": operation.layer,
        "label": operation.label,
        "meaning": row_text(f"rows.kinds.{kind.name}.meaning", kind.meaning),
        "plain": row_text(f"rows.kinds.{kind.name}.plain", name),
        "caption": row_text(f"{row}.caption", text("captions.row", name=name)),
        "written": row_text(f"{row}.formula", f"y = {name}(x)"),
    }


def neuron_lines(session: Session) -> list[Data]:
    """Return the rows of neurons that the picture draws, with their buffers."""
    return [
        {
            "values": line.values,
            "sums": line.sums,
            "also": list(line.also),
            "count": len(line.points),
            "one": line.one is not None,
        }
        for line in layout_of(session, walks=True).neurons
    ]


def activations_of(program: Program) -> Data:
    """Return the activations that a network uses, with their formulas and captions."""
    found: Data = {}
    for name in sorted({each.formula for each in program.operations} & set(ACTIVATIONS)):
        row, key = ACTIVATIONS[name], f"rows.activations.{name}"
        slopes = (abs(row.derivative(x, row.value(x))) for x in (-2.0, -0.5, 0.0, 0.5, 2.0))
        caption = row.caption or text("captions.activation", unit="{unit}", name=name)
        own = own_formula(row)
        found[name] = {
            "value": function_tree(row.value),
            "derivative": function_tree(row.derivative),
            "steepest": min(1.0, max(slopes)),
            "alone": own.alone if own is not None else "",
            "cases": [] if row.caption or row.slope else cases_of(row.value, ("z",)),
            "slope": row.slope or written(row.derivative, ("z", "a")),
            "slopeText": "" if " if " in row.slope else row.slope,
            "slopeCases": [] if row.slope else cases_of(row.derivative, ("z", "a")),
            "caption": row_text(f"{key}.caption", caption),
            "zero": row.zero_caption and row_text(f"{key}.zero_caption", row.zero_caption),
            "back": row.backward_caption
            and row_text(f"{key}.backward_caption", row.backward_caption),
        }
    return found


def loss_data(loss: Loss, outputs: int) -> Data:
    """Return a loss: its settings, formulas, and captions."""
    row = loss.row
    return {
        "name": row.name,
        "factor": loss.factor,
        "mean": loss.mean,
        "divisor": loss.divisor(outputs),
        "logits": row.logits,
        "scalar": isinstance(row, LossRow),
        "error": part_of_loss(row, "error"),
        "slope": part_of_loss(row, "derivative"),
        "weight": function_tree(row.weight) if isinstance(row, LossRow) else None,
    }


def part_of_loss(row: LossRow | RowLossRow, part: str) -> Data:
    """Return the error of a loss, or its derivative: as text, as a tree, and in its cases."""
    words = loss_text(row, part)
    if not isinstance(row, LossRow):
        return {"text": words, "tree": None, "cases": []}
    function = row.value if part == "error" else row.derivative
    own = words == written(function, ("p", "t"))
    cases = cases_of(function, ("p", "t")) if own else []
    return {"text": words, "tree": function_tree(function), "cases": cases}
