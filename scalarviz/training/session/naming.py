"""Names that Facts have: of inputs, outputs, classes, nodes, and the moments of a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from scalarviz.base.messages import shortened, visible
from scalarviz.base.texts import row_text, text
from scalarviz.core.program import NONE, Buffer, Moment, Operation, Program
from scalarviz.core.trace_program import TraceProgram, sign_of_node
from scalarviz.data import DataSet
from scalarviz.story.caption import BACKWARD, ERROR, FORWARD, Cell, label
from scalarviz.story.names import sentence
from scalarviz.training.session.session import Session

LONGEST_END = 28  # of the name of an input or output, which has two lines in a picture
ELEMENTWISE = ("activation", "row")  # kinds after which an output is still that output


def names_of(session: Session) -> Mapping[str, Sequence[str]]:
    """Return the names of input and output neurons, by name of the buffer."""
    return names_in(session.network.program, session.data)


def names_in(program: Program, data: DataSet) -> Mapping[str, Sequence[str]]:
    """Return the names of input and output neurons of a program, by name of the buffer."""
    ends = (program.inputs, input_names(data)), (program.outputs, output_names(data))
    return {
        buffer.name: tuple(shortened(name, LONGEST_END) for name in names)
        for buffer, names in ends
        if 0 < len(names) <= buffer.size
    }


def writer_of(program: Program, buffer: Buffer) -> Operation | None:
    """Return the operation that writes a buffer; None for the inputs."""
    return next((each for each in program.operations if each.target == buffer), None)


def is_output(program: Program, buffer: Buffer) -> bool:
    """Return whether a buffer holds the outputs, or the sums that they are computed from."""
    for operation in reversed(program.operations):
        if operation.target == buffer:
            return True
        is_same = operation.source.size == operation.target.size
        if operation.kind not in ELEMENTWISE or not is_same:
            return False
    return False


def came_from(session: Session) -> str:
    """Return what a network has grown out of, in a sentence; "" if it began untrained."""
    origin = session.origin
    return text("page.came", did=sentence(origin.did), step=origin.step) if origin else ""


# Names of inputs, outputs and classes come from tables and files: here all their letters become
# visible.


def input_names(data: DataSet) -> Sequence[str]:
    """Return the names of the inputs; none, or one each."""
    return [visible(str(name)) for name in data.input_names]


def output_names(data: DataSet) -> Sequence[str]:
    """Return the names of the outputs, or of the classes; none, or one each."""
    return [visible(str(name)) for name in data.output_names]


def class_names(data: DataSet, count: int) -> list[str]:
    """Return the names of so many classes, numbered ones where the outputs have no names."""
    names = output_names(data)
    if len(names) == count:
        return [*names]
    return [text("exhibits.plane.class", number=i) for i in range(count)]


def axis_names(data: DataSet) -> list[str]:
    """Return the names of all inputs: x1, x2 and so on, or x alone, for those without a name."""
    names = input_names(data)
    numbered = [text("exhibits.axis.input", number=i + 1) for i in range(data.inputs)]
    if data.inputs == 1:
        numbered = [text("exhibits.axis.only_input")]
    return [*names, *numbered[len(names) :]]


# The operations of a step in plain words, for the strip below the stage.

PARTS_OF_STEP = {
    "zero_grad": FORWARD,
    "forward": FORWARD,
    "loss": ERROR,
}  # all others are the way back


@lru_cache(maxsize=8)
def cells_of(program: Program, moments: tuple[Moment, ...]) -> Sequence[Cell]:
    """Return a cell for each moment of a step."""
    return tuple(
        Cell(
            PARTS_OF_STEP.get(moment.phase, BACKWARD),
            "" if moment.layer == NONE else text("plates.layer", label=moment.layer),
            name_of_moment(program, moment),
            moment.name,
            done,
        )
        for done, moment in enumerate(moments, 1)
    )


def names_of_cells(program: Program, moments: tuple[Moment, ...]) -> list[str]:
    """Return the name of each moment, such as "layer 0: add up", as the strip writes it."""
    return [label(cell) for cell in cells_of(program, moments)]


def name_of_moment(program: Program, moment: Moment) -> str:
    """Return a plain name of a moment, such as "add up", without its layer."""
    if isinstance(program, TraceProgram) and moment.operation != NONE:
        return sign_of_node(program.trace, program.nodes[moment.operation])
    if moment.kind == "forward" and moment.operation != NONE:
        operation = program.operations[moment.operation]
        name = operation.formula or operation.kind
        return row_text(f"rows.kinds.{operation.kind}.plain", name.replace("_", " "))
    return text(f"strip.{moment.kind.replace(' ', '_')}")
