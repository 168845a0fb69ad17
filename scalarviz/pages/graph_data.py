"""Compiled functions in pages: names of nodes, and what Python says of each moment.

A page explains networks by itself; of a compiled function it shows what is told here, and of a
network that is too large to send all its numbers what is `spoken`.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from scalarviz.core.trace_program import TraceProgram
from scalarviz.scene.frame_data import Card, CardLine, CardTable, Drawing, History
from scalarviz.stage.stage import Stage
from scalarviz.story.names import entitled

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
        "gradientsBefore": {**stage.reading.buffers(moment).flows} if moment > 0 else {},
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
