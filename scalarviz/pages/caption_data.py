"""What captions and cards of a page know of a session: operations, names, formulas, optimizers."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from itertools import product
from typing import Any

import numpy as np

from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula_trees import cases_of, expression_tree, function_tree
from scalarviz.core.formulas.formula_words import in_words, variables
from scalarviz.core.formulas.losses import Loss, LossRow
from scalarviz.core.formulas.optimizers import OptimizerRow
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.scene.frame_data import Drawing, History
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.pointing import neuron_lines
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Card, CardLine, CardTable
from scalarviz.story.facts import ActivationFacts, Facts
from scalarviz.training.session.explanation import (
    FUNCTIONS,
    FormulaLine,
    Numbered,
    constant_lines,
    corrected,
    divisions_of,
    powers_of,
    schedule_name,
    update_lines,
)
from scalarviz.training.session.node_captions import entitled
from scalarviz.training.session.reading import cells_of, facts_of, loss_facts
from scalarviz.training.session.session import Session

# Fields of Facts that a page has as they are.
PLAIN = ("is_graph", "inputs", "outputs", "tint", "first_row", "first_parameters", "learning")
Data = dict[str, Any]  # what JSON can hold


def caption_data(session: Session) -> Data:
    """Return the facts of a session as a page has them, formulas as trees.

    The result has only dictionaries, lists, numbers, texts and None.
    """
    program: Program = session.network.program
    trainer, bank, facts = session.trainer, session.network.bank, facts_of(session)
    buffers = {name: asdict(each) for name, each in facts.buffers.items()}
    cells = cells_of(program, program.moments)
    return {
        **{name: getattr(facts, name) for name in PLAIN},
        "first": bank.step_count - session.step_index,
        "rows": len(bank),
        "row_names": row_names(session, facts),
        "frozen": np.flatnonzero(bank.frozen).tolist(),
        # `told` explains a compiled function.
        "buffers": nodes_data(program) if isinstance(program, TraceProgram) else buffers,
        "operations": [{**asdict(each), "uses": None} for each in facts.operations],
        "moments": [*map(asdict, facts.moments)],
        "cells": [*map(asdict, cells)],
        "lines": [*map(asdict, neuron_lines(layout_of(session, walks=True)))],
        "activations": {
            name: activation_data(name, each) for name, each in facts.activations.items()
        },
        "parametrics": {
            name: {"parameters": each.parameters, **both_trees(each.value, each.derivative)}
            for name, each in facts.parametrics.items()
        },
        "loss": loss_data(trainer.loss, program.outputs.size),
        "optimizer": optimizer_data(
            trainer.settings.optimizer, mixed=session.network.precision.mixed
        ),
    }


def row_names(session: Session, facts: Facts) -> dict[int, str]:
    """Return the names of the parameters that are not named by the neurons that they join."""
    program: Program = session.network.program
    own = [each for each in program.operations if each.kind not in ("affine", "convolution")]
    rows = [row for each in own for row in each.parameters]
    named = row_numbers(session.network) if program.is_graph else rows
    return {row: facts.row_names[row] for row in named}


def both_trees(value: Any, derivative: Any) -> Data:
    return {"value": function_tree(value), "derivative": function_tree(derivative)}


def fields_of(facts: Any) -> Data:
    return {each.name: getattr(facts, each.name) for each in fields(facts)}


def activation_data(name: str, facts: ActivationFacts) -> Data:
    """Return an activation, with its formulas as trees."""
    row = ACTIVATIONS[name]
    return {
        **fields_of(facts),
        **both_trees(row.value, row.derivative),
        "cases": cases_of(row.value, ("z",)) if facts.cases else [],
        "slope_cases": cases_of(row.derivative, ("z", "a")) if facts.slope_cases else [],
    }


def loss_data(loss: Loss, outputs: int) -> Data:
    """Return a loss for a number of outputs, with its formulas as trees."""
    row, facts = loss.row, loss_facts(loss, outputs)
    found = {name: each for name, each in fields_of(facts).items() if name != "of_row"}
    functions = {"error": row.value, "slope": row.derivative} if isinstance(row, LossRow) else {}
    for name, part in {"error": facts.error, "slope": facts.slope}.items():
        own = functions.get(name)
        found[name] = {
            "text": part.text,
            "tree": own and function_tree(own),
            "cases": cases_of(own, ("p", "t")) if own and part.cases else [],
        }
    return {**found, "weight": function_tree(row.weight) if isinstance(row, LossRow) else None}


# What a page knows of an optimizer: its settings, and the lines of its update as trees.

PROBES = 0.5, -2.0, 0.0  # numbers that take all ways of usual conditions


def optimizer_data(optimizer: Optimizer, *, mixed: bool) -> Data:
    """Return an optimizer: its settings, and the lines of its formulas.

    mixed  whether the network has mixed precision, where no step is refused

    `updates` are the lines that a weight can have, of which those hold whose result is that of
    `whole`, the update as a tree; there are none if they have more than arithmetic.
    """
    row, schedule = optimizer.row, optimizer.schedule
    constants, updates = lines_of(row, optimizer.settings)
    whole = function_tree(row.update)
    return {
        "name": row.name,
        "lr": optimizer.lr,
        "own_rates": [list(span) for span in optimizer.own_rates.spans],
        "settings": dict(optimizer.settings),
        "slots": list(row.slots),
        "l1": optimizer.l1,
        "l2": optimizer.l2,
        "clip_value": finite(optimizer.clip_value),
        "clip_norm": finite(optimizer.clip_norm),
        "refuses": optimizer.not_finite == "error" and not mixed,
        "schedule": schedule_name(schedule),
        "factor": function_tree(schedule.row.factor),
        "factor_settings": list(schedule.settings.values()),
        "constants": constants,
        "updates": updates if whole is not None else [],
        "whole": whole,
    }


def lines_of(row: OptimizerRow, settings: Mapping[str, float]) -> tuple[list[Data], list[Any]]:
    """Return the lines of the constants of an optimizer, and those of its update in all cases."""
    changing = ["w", "g", *row.slots]
    found: dict[tuple[str, ...], list[Data]] = {}
    constants: list[Data] = []
    for numbers in product(PROBES, repeat=len(changing)):
        known = dict(zip(changing, numbers, strict=True)) | {"lr": 0.5, **settings, "step": 1.0}
        lines = constant_lines(row, known)
        powers = powers_of(lines)
        update = update_lines(row, known)
        key = tuple(f"{each.name} = {each.pattern}" for each in update)
        if key not in found:
            constants = [constant_data(each, row) for each in lines]
            found[key] = [line_data(each, powers) for each in update]
    every = [*constants, *(line for lines in found.values() for line in lines)]
    if any(line["tree"] is None for line in every):
        return [], []
    return constants, [*found.values()]


def constant_data(line: FormulaLine, row: OptimizerRow) -> Data:
    """Return a number that is the same for all weights, and how it is computed."""
    tree = expression_tree(line.pattern, line.known, variables(row.constants))
    return {"name": line.name, "same": True, "tree": tree}


def line_data(line: FormulaLine, powers: Mapping[str, str]) -> Data:
    """Return a line: as it is written and as a tree, once with and once without numbers.

    powers  settings whose powers make the corrections that numbers are divided by, by the names of
            these corrections

    `numbered` has _0_, _1_ ... in place of its numbers, `card` the formula as cards write it, and
    what they write before it.
    """
    functions = {**FUNCTIONS, **line.calls}
    short = corrected(line, powers)
    return {
        "name": line.name,
        "formula": line.formula,
        "tree": expression_tree(line.pattern, line.known, functions),
        "words": in_words(line.formula, line.known, line.calls) or line.formula,
        "numbered": numbered_data(line),
        "card": formula_data(short.pattern, short.known, functions),
        "corrections": [
            {
                "name": name,
                "by": by,
                "card": formula_data(f"{name} / (1 - {powers[by]}^step)", line.known, FUNCTIONS),
            }
            for name, by in divisions_of(line, powers)
        ],
    }


def formula_data(formula: str, known: Mapping[str, float], functions: Mapping[str, Any]) -> Data:
    """Return a formula of a card: its text, its tree, and its names in their order."""
    code = formula.replace("^", "**")
    names = [node.id for node in nodes_of(code) if isinstance(node, ast.Name) and node.id in known]
    return {
        "words": in_words(formula, names, functions) or formula,
        "tree": expression_tree(code, known, functions),
        "names": list(dict.fromkeys(names)),
    }


def nodes_of(code: str) -> Sequence[ast.Name]:
    """Return the names in an expression, in the order of the text."""
    found = [node for node in ast.walk(ast.parse(code, mode="eval")) if isinstance(node, ast.Name)]
    return sorted(found, key=lambda node: node.col_offset)


def numbered_data(line: FormulaLine) -> Data:
    """Return a line with _0_, _1_ ... in place of its numbers, as text and as a tree."""
    numbered = Numbered(constants=line.formula != line.pattern)
    code = ast.unparse(numbered.visit(ast.parse(line.formula, mode="eval")))
    names = [f"_{i}_" for i in range(len(numbered.numbers))]
    functions = {**FUNCTIONS, **line.calls}
    return {
        "words": in_words(code, names, functions),
        "numbers": numbered.numbers,
        "tree": expression_tree(code, names, functions),
    }


def finite(value: float) -> float | None:
    """Return a limit; None for infinity, which JSON lacks."""
    return value if math.isfinite(value) else None


# Compiled functions in pages: names of nodes, and what Python says of each moment. A page
# explains networks by itself; of a compiled function, and of a network that is too large to send
# all its numbers, it shows what these functions return.

MOST_PIECES = 1000  # of the lines of a caption without gaps, which is left out where it has more


def nodes_data(program: TraceProgram) -> dict[str, Any]:
    """Return inputs, nodes and outputs by name, as `caption_data` has the buffers of neurons."""
    about = {"size": 1, "shape": [], "role": "node", "layer": "", "wave": False}
    places = {**program.place_of, program.outputs.name: program.trace.outputs[0]}
    return {name: {**about, "names": [entitled(program, at)]} for name, at in places.items()}


def told(stage: Stage, moment: int, *, walks: bool) -> dict[str, Any]:
    """Return what a page shows of a compiled function beside its parameters, as parts of a state.

    moment  the last one of the step that is shown; -1 without
    walks   whether it is explained
    """
    said = spoken(stage, moment, walks=walks)
    buffers = stage.reading.buffers((moment + 1) % len(stage.reading.moments))
    return {
        **said,
        "values": {**buffers.values},
        "gradients": {**buffers.flows},
        "gradients_before": {**stage.reading.buffers(moment).flows} if moment > 0 else {},
        "target": buffers.target,
    }


def spoken(stage: Stage, moment: int, *, walks: bool) -> dict[str, Any]:
    """Return caption and card of what is pinned, as parts of a state; arguments as `told`."""
    stage.read()
    card = stage.card((moment + 1) % len(stage.reading.moments))
    caption = stage.captioned() if walks else None
    if caption is not None and sum(map(len, caption.whole)) > MOST_PIECES:
        caption = replace(caption, whole=())
    return {
        "caption": caption and asdict(caption),
        "card": card and card_data(card),
        "about": stage.pinned if stage.pinned_neuron is None else [*stage.pinned_neuron],
    }


def card_data(card: Card) -> dict[str, Any]:
    """Return a card for JSON; what is drawn on it alone is left out."""
    blocks = [block_data(each) for each in card.blocks if not isinstance(each, Drawing)]
    facts = [[*each] for each in card.facts]
    return {"row": card.row, "name": card.name, "facts": facts, "blocks": blocks}


def block_data(block: CardLine | CardTable | History) -> dict[str, Any]:
    if isinstance(block, History):
        return {"steps": block.steps.tolist(), "values": block.values.tolist()}
    return asdict(block)
