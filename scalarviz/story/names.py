"""Names of neurons, weights, inputs, outputs, classes and operations, for captions and cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from scalarviz.base.messages import shortened, visible
from scalarviz.base.texts import row_text, text
from scalarviz.core.program import NONE, Buffer, Moment, Operation, Program, Windows
from scalarviz.core.trace_program import TraceProgram, formula_words, sign_of_node
from scalarviz.data import DataSet
from scalarviz.scene.neurons import LETTERS
from scalarviz.scene.strip import label
from scalarviz.story.caption import BACKWARD, ERROR, FORWARD, Cell, Neuron
from scalarviz.story.formats import pretty
from scalarviz.training.session.session import Session

LONGEST_FORMULA = 48  # letters of the formula of a node
LONGEST_END = 2 * LETTERS  # of the name of an input or output
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


def neuron_name(session: Session, neuron: Neuron) -> str:
    """Return the name of a neuron: "input R", "neuron 3", "pixel 4, 4 of map 2", "output 0"."""
    program: Program = session.network.program
    return name_in(program, names_of(session), neuron)


def name_in(program: Program, given: Mapping[str, Sequence[str]], neuron: Neuron) -> str:
    """Return the name of a neuron of a program; `given` are those of its inputs and outputs."""
    name, place = neuron
    if isinstance(program, TraceProgram):
        return node_name(program, name)
    buffer = next(buffer for buffer in program.buffers if buffer.name == name)
    if buffer == program.inputs:
        kind, named = "input", program.inputs
    elif is_output(program, buffer):
        kind, named = "output", program.outputs
    else:
        return hidden_name(program, buffer, place)
    names = given.get(named.name, ())
    if place < len(names):
        return text(f"captions.end.{kind}", name=names[place])
    if buffer.shape:
        return pixel_name(buffer, place)
    if buffer.size == 1:
        return text(f"captions.end.{kind}.only")
    return text(f"captions.end.{kind}", name=place)


def node_name(program: TraceProgram, name: str) -> str:
    """Return the name of a node of a compiled function, by the name of its buffer."""
    if name == program.outputs.name:
        return text("captions.end.output.only")
    return named(program, program.place_of[name])


def named(program: TraceProgram, place: int, most: int = LONGEST_FORMULA) -> str:
    """Return the label of a value, or its formula as sentences write it.

    What is too long for that is named as its operation, such as "relu 12".
    """
    label = program.trace.label(place - program.trace.first_made)
    words = label or formula_words(program.trace, place, most)
    if "…" in words and place in program.node_at:
        return program.operations[program.node_at[place]].name
    return pretty(words).replace("−", "-")


def entitled(program: TraceProgram, place: int) -> str:
    """Return the label of a value, and its formula; of many equal ones, how many they are."""
    label = program.trace.label(place - program.trace.first_made)
    found = pretty(formula_words(program.trace, place, LONGEST_FORMULA)).replace("−", "-")
    if label and "…" not in found:
        found = text("captions.node.label", label=label, formula=found)
    elif label or "…" in found:
        found = named(program, place)
    count = program.node(place).size
    return text("captions.node.equal", count=count, name=found) if count > 1 else found


def short_name(session: Session, place: int) -> str:
    """Return the name of an output, without the word if it has a name of its own."""
    program: Program = session.network.program
    names = names_of(session).get(program.outputs.name, ())
    if place < len(names):
        return names[place]
    return neuron_name(session, (program.outputs.name, place))


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


def hidden_name(program: Program, buffer: Buffer, place: int) -> str:
    writer = writer_of(program, buffer)
    assert writer is not None
    hidden = {each.label for each in program.operations if not is_output(program, each.target)}
    if buffer.shape and buffer.shape[0] > 1:
        return pixel_name(buffer, place)
    if buffer.shape:
        name = pixel_name(buffer, place)
    elif writer.formula == "frequency_encoding":
        return text("captions.unit.wave", number=place)
    else:
        name = text("captions.unit.neuron", number=place)
    if len(hidden) < 2:
        return name
    return text("captions.unit.of_layer", unit=name, layer=writer.label or writer.layer)


def pixel_name(buffer: Buffer, place: int) -> str:
    """Return the name of a pixel: with its map if there are several."""
    channel, line, column = (int(i) for i in np.unravel_index(place, buffer.shape))
    if buffer.shape[0] == 1:
        return text("captions.unit.only_pixel", row=line, column=column)
    return text("captions.unit.pixel", number=channel, row=line, column=column)


def weight_name(session: Session, operation: Operation | None, row: int) -> str:
    """Return the name of a weight: "the weight from input R to neuron 3"."""
    if operation is None or operation.kind not in ("affine", "scale", "convolution"):
        return str(session.network.name_of(row))
    written, read = operation.uses(row)
    is_bias = operation.biases != NONE and row >= operation.biases
    if operation.kind == "convolution":
        if is_bias:
            return text("captions.unit.kernel_bias", kernel=row - operation.biases)
        kernel, channel, line, column = np.unravel_index(row - operation.weights, operation.shape)
        channel += Windows.of(operation).first_channel(int(kernel), operation.shape[0])
        at = {"kernel": kernel, "row": line, "column": column}
        if operation.shape[1] == 1:
            return text("captions.unit.kernel_weight", **at)
        return text("captions.unit.map_weight", channel=channel, **at)
    unit = neuron_name(session, (operation.target.name, int(written[0])))
    if operation.outputs_per_bias > 1:
        unit = text("captions.unit.map", number=int(written[0]) // operation.outputs_per_bias)
        unit = text("captions.unit.of_layer", unit=unit, layer=operation.label)
    if operation.kind == "scale":
        return text(f"captions.unit.{'shift' if is_bias else 'gain'}", unit=unit)
    if read is None:
        return text("captions.unit.bias", unit=unit)
    before = neuron_name(session, (operation.source.name, int(read[0])))
    return text("captions.unit.weight", unit=unit, before=before)


def came_from(session: Session) -> str:
    """Return what a network has grown out of, in a sentence; "" if it began untrained."""
    origin = session.origin
    return text("page.came", did=sentence(origin.did), step=origin.step) if origin else ""


def sentence(words: str) -> str:
    """Return a sentence with a capital letter."""
    return words[:1].upper() + words[1:]


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
