"""The operations of a step in plain words, for the strip below the stage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from scalarviz.base.texts import row_text, text
from scalarviz.core.program import NONE, Moment, Program
from scalarviz.core.trace_program import TraceProgram, sign_of_node
from scalarviz.pictures.view.frame_data import BACKWARD, ERROR, FORWARD, Cell
from scalarviz.pictures.view.strip import label

PARTS = {"zero_grad": FORWARD, "forward": FORWARD, "loss": ERROR}  # all others are the way back


@lru_cache(maxsize=8)
def cells_of(program: Program, moments: tuple[Moment, ...]) -> Sequence[Cell]:
    """Return a cell for each moment of a step."""
    return tuple(
        Cell(
            PARTS.get(moment.phase, BACKWARD),
            "" if moment.layer == NONE else text("plates.layer", label=moment.layer),
            name_of(program, moment),
            moment.name,
            done,
        )
        for done, moment in enumerate(moments, 1)
    )


def names_of_cells(program: Program, moments: tuple[Moment, ...]) -> list[str]:
    """Return the name of each moment, such as "layer 0: add up", as the strip writes it."""
    return [label(cell) for cell in cells_of(program, moments)]


def name_of(program: Program, moment: Moment) -> str:
    """Return a plain name of a moment, such as "add up", without its layer."""
    if isinstance(program, TraceProgram) and moment.operation != NONE:
        return sign_of_node(program.trace, program.nodes[moment.operation])
    if moment.kind == "forward" and moment.operation != NONE:
        operation = program.operations[moment.operation]
        name = operation.formula or operation.kind
        return row_text(f"rows.kinds.{operation.kind}.plain", name.replace("_", " "))
    return text(f"strip.{moment.kind.replace(' ', '_')}")
