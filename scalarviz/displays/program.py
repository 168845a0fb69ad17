"""Display of a Program as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scalarviz.displays.page import count_text, never_raises, table
from scalarviz.displays.svg import escaped

if TYPE_CHECKING:
    from scalarviz.model.program import Program

MOST = 200  # operations that are listed


@never_raises
def program_html(program: Program) -> str:
    """Return the operations as a table, in the order of execution."""
    lines = [("", "operation", "reads", "writes", "shape", "parameters")]
    for i, operation in enumerate(program.operations[:MOST]):
        rows = operation.parameters
        shape = f"{operation.source.size:,} → {operation.target.size:,}"
        parameters = f"{rows.start:,} to {rows.stop - 1:,}" if rows else "–"
        names = operation.name, operation.source.name, operation.target.name
        lines.append((str(i), *names, shape, parameters))
    if len(program.operations) > MOST:
        lines.append(("…", f"and {len(program.operations) - MOST:,} more", "", "", "", ""))
    head = (
        f"{count_text(len(program.operations), 'operation')}, "
        f"{program.inputs.size:,} → {program.outputs.size:,}, "
        f"workspace of {count_text(program.workspace, 'number')} a sample"
    )
    return f"<div><b>Program</b>: {escaped(head)}</div>{table(lines)}"
