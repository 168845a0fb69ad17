"""Display of a Program as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.displays.page import never_raises, table
from scalarviz.displays.svg import escaped
from scalarviz.texts import plural, text

if TYPE_CHECKING:
    from scalarviz.model.program import Program

MOST = 200  # operations that are listed


@never_raises
def program_html(program: Program) -> str:
    """Return the operations as a table, in the order of execution."""
    columns = ("operation", "reads", "writes", "shape", "parameters")
    lines = [("", *(text(f"displays.column.{name}") for name in columns))]
    for i, operation in enumerate(program.operations[:MOST]):
        rows = operation.parameters
        shape = f"{operation.source.size:,} → {operation.target.size:,}"
        parameters = "–"
        if rows:
            parameters = text("displays.program.rows", first=rows.start, last=rows.stop - 1)
        names = operation.name, operation.source.name, operation.target.name
        lines.append((str(i), *names, shape, parameters))
    if len(program.operations) > MOST:
        more = text("displays.program.more", count=len(program.operations) - MOST)
        lines.append(("…", more, "", "", "", ""))
    head = text(
        "displays.program.about",
        operations=plural("counts.operations", len(program.operations)),
        shape=f"{program.inputs.size:,} → {program.outputs.size:,}",
        workspace=plural("counts.numbers", program.workspace),
    )
    return f"<div><b>Program</b>: {escaped(head)}</div>{table(lines)}"
