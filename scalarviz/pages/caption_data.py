"""Data that a page needs for captions and cards: operations, names, formulas, optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass, replace
from typing import Any

import numpy as np

from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.formula_trees import function_tree
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import Program
from scalarviz.core.trace_program import TraceProgram
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.frame_data import History
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.pointing import neuron_lines
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Card, CardLine, CardTable
from scalarviz.story.facts import Facts
from scalarviz.training.session.node_captions import entitled
from scalarviz.training.session.optimizer_facts import optimizer_facts
from scalarviz.training.session.reading import cells_of, facts_of
from scalarviz.training.session.session import Session

Data = dict[str, Any]  # values supported by JSON


def caption_data(session: Session) -> Data:
    """Return the facts of a session for a page, with formulas as expression trees.

    The result contains only dictionaries, lists, numbers, strings and None.
    """
    program: Program = session.network.program
    trainer, bank, facts = session.trainer, session.network.bank, facts_of(session)
    lines = neuron_lines(layout_of(session, walks=True))
    found: Data = as_data(
        replace(facts, program=None, row_names=row_names(session, facts), lines=lines)
    )
    if isinstance(program, TraceProgram):  # `told` explains a compiled function
        found["buffers"] = nodes_data(program)
    return {
        **found,
        "first": bank.step_count - session.step_index,
        "rows": len(bank),
        "frozen": np.flatnonzero(bank.frozen).tolist(),
        "cells": as_data(cells_of(program)),
        "optimizer": optimizer_data(
            trainer.settings.optimizer, mixed=session.network.precision.mixed
        ),
    }


def row_names(session: Session, facts: Facts) -> dict[int, str]:
    """Return the names of the parameters whose names a page cannot derive from their neurons."""
    program: Program = session.network.program
    own = [each for each in program.operations if each.kind not in ("affine", "convolution")]
    rows = [row for each in own for row in each.parameters]
    if facts.arrays:
        return {}
    named = row_numbers(session.network) if program.is_graph else rows
    return {row: facts.row_names[row] for row in named}


def optimizer_data(optimizer: Optimizer, *, mixed: bool) -> Data:
    """Return the facts of an optimizer, with separate rates and decays; see `optimizer_facts`."""
    found: Data = as_data(optimizer_facts(optimizer, mixed=mixed))
    own = {"own_rates": optimizer.own_rates, "own_decays": optimizer.own_decays}
    return found | {name: [list(span) for span in each.spans] for name, each in own.items()}


def as_data(value: Any) -> Any:
    """Convert facts for JSON; functions become trees, or None if they cannot be converted."""
    if is_dataclass(value):
        return {each.name: as_data(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: as_data(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        found = [as_data(each) for each in value]
        # Leave out a case that a page cannot compute.
        return [each for each in found if not (isinstance(each, dict) and lacks(each))]
    if callable(value):
        return value.tree if hasattr(value, "tree") else function_tree(value)
    return value


def lacks(data: Data) -> bool:
    """Return whether data describe a case of a formula that could not be converted to trees."""
    return "tests" in data and None in (data["compute"], *(test for test, _ in data["tests"]))


# Compiled functions in pages: names of nodes, and texts from Python for each moment. A page
# explains networks by itself; for a compiled function, and for a network too large to send all its
# numbers, it shows the results of these functions.

MOST_PIECES = 1000  # pieces in the complete lines of a caption; if it has more, these are left out


def nodes_data(program: TraceProgram) -> dict[str, Any]:
    """Return the inputs, nodes and outputs of a compiled function as buffers for `caption_data`."""
    about = {"size": 1, "shape": [], "role": "node", "layer": "", "wave": False}
    places = {**program.place_of, program.outputs.name: program.trace.outputs[0]}
    return {name: {**about, "names": [entitled(program, at)]} for name, at in places.items()}


def told(stage: Stage, moment: int, *, walks: bool) -> dict[str, Any]:
    """Return the state of a compiled function for a page, without its parameters.

    Args:
        stage: the view of the session
        moment: index of the last executed moment in the shown step, or -1
        walks: whether to include the caption that explains this moment
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
    """Return the caption and the card of the pinned item, as parts of a state for a page."""
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
    """Return the content of a card for JSON, without its drawings."""
    return {
        "row": card.row,
        "name": card.name,
        "facts": [[*each] for each in card.facts],
        "blocks": [block_data(each) for each in card.blocks if not isinstance(each, Exhibit)],
    }


def block_data(block: CardLine | CardTable | History) -> dict[str, Any]:
    if isinstance(block, History):
        return {"steps": block.steps.tolist(), "values": block.values.tolist()}
    return asdict(block)
