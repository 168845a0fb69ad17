"""Names of neurons and weights in captions and on cards, and where weights are used."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from scalarviz.base.texts import text
from scalarviz.story.facts import NONE, ArrayFacts, BufferFacts, Facts, Neuron, OperationFacts

COLORS = {"R": "red", "G": "green", "B": "blue"}  # channels
WORDED = 9  # largest number written as a word
NAMED_BY_ENDS = ("affine", "scale", "convolution")  # kinds whose weights are named by neurons
SIGNS = "·abcdefghijklmnopqrstuvwxyz"  # of the 27 letters of a sequence; others are numbers
KINDS = "query", "key", "value"


def neuron_name(facts: Facts, neuron: Neuron) -> str:
    """Return the name of a neuron, such as "input R", "neuron 3" or "pixel 4, 4 of map 2"."""
    name, place = neuron
    buffer = facts.buffers[name]
    if reads_sequence(facts):
        places = facts.buffers[facts.inputs].size
        at = {"name": number_name(facts, name, place // places), "place": place % places}
        return text("captions.sequence.at", **at)
    if buffer.role == "node":
        return buffer.names[0]
    if buffer.role == "hidden":
        return buffer.names[place] if place < len(buffer.names) else hidden_name(buffer, place)
    if place < len(buffer.names):
        return text(f"captions.end.{buffer.role}", name=buffer.names[place])
    if buffer.shape:
        return pixel_name(buffer, place)
    if buffer.size == 1:
        return text(f"captions.end.{buffer.role}.only")
    return text(f"captions.end.{buffer.role}", name=place)


def reads_sequence(facts: Facts) -> bool:
    """Return whether a network looks up letters and lets each place look at others."""
    operations = facts.operations
    has_rows = len(operations) > 0 and operations[0].kind == "embedding"
    return has_rows and any(each.formula == "attention" for each in operations)


def sign_of_letter(facts: Facts, letter: int) -> str:
    """Return how a letter of a sequence is written."""
    return SIGNS[letter] if facts.operations[0].shape[0] == len(SIGNS) else f"{letter}"


def wall_of(facts: Facts, operation: OperationFacts) -> str:
    """Return the role of the weights of an operation in a network that reads a sequence.

    It is "letters", "qkv", "join", "wide", "narrow", "scores", or "" without weights.
    """
    operations = facts.operations
    if operation.kind != "convolution":
        return "letters" if operation.kind == "embedding" else ""
    i = [each.target for each in operations].index(operation.target)
    before, after = operations[i - 1], operations[min(i + 1, len(operations) - 1)]
    if "attention" in (before.formula, after.formula):
        return "qkv" if after.formula == "attention" else "join"
    if after.kind == "activation":
        return "wide"
    return "narrow" if before.kind == "activation" else "scores"


def number_name(facts: Facts, buffer: str, number: int) -> str:
    """Return the name of a number that each place of a sequence has, counted from 1."""
    operations = [each for each in facts.operations if each.target == buffer]
    operation = operations[0] if len(operations) > 0 else None
    wall = "" if operation is None else wall_of(facts, operation)
    if wall == "scores":
        return text("captions.sequence.score", letter=sign_of_letter(facts, number))
    if wall == "qkv":
        attention = next(each for each in facts.operations if each.formula == "attention")
        each = int(attention.settings[1])
        head, rest = divmod(number, 3 * each)
        kind = KINDS[rest // each]
        return f"{text(f'sequence.row.{kind}')} {head * each + rest % each + 1}"
    is_neuron = wall == "wide" or (operation is not None and operation.kind == "activation")
    return text(f"captions.sequence.{'neuron' if is_neuron else 'number'}", number=number + 1)


def short_name(facts: Facts, place: int) -> str:
    """Return the custom name of an output without the word "output", else its full name."""
    names = facts.buffers[facts.outputs].names
    return names[place] if place < len(names) else neuron_name(facts, (facts.outputs, place))


def color_name(name: str) -> str:
    """Return the word for a color channel, such as "red" for "R"; other names are unchanged."""
    return text(f"color.{COLORS[name]}") if name in COLORS else name


def number_word(count: int) -> str:
    """Return a small number as a word, a larger one in digits."""
    return text(f"number.{count}") if 0 < count <= WORDED else f"{count:,}"


def hidden_name(buffer: BufferFacts, place: int) -> str:
    if buffer.shape and buffer.shape[0] > 1:
        return pixel_name(buffer, place)
    if buffer.shape:
        name = pixel_name(buffer, place)
    elif buffer.wave:
        return text("captions.unit.wave", number=place)
    else:
        name = text("captions.unit.neuron", number=place)
    return text("captions.unit.of_layer", unit=name, layer=buffer.layer) if buffer.layer else name


def pixel_name(buffer: BufferFacts, place: int) -> str:
    """Return the name of a pixel, with its channel if there are several."""
    channel, line, column = unraveled(place, buffer.shape)
    if buffer.shape[0] == 1:
        return text("captions.unit.only_pixel", row=line, column=column)
    return text("captions.unit.pixel", number=channel, row=line, column=column)


def place_in_array(arrays: Sequence[ArrayFacts], row: int) -> str:
    """Return the name of a parameter of a followed model, such as "fc1.weight[3, 4]"."""
    array = [each for each in arrays if each.first <= row][-1]
    places = unraveled(row - array.first, array.kept)
    if len(array.steps) > 0:
        inner = unraveled(places[1] * array.steps[1], array.shape[1:])
        places = [places[0] * array.steps[0], *inner]
    return f"{array.name}[{', '.join([str(place) for place in places])}]"


def weight_name(facts: Facts, operation: OperationFacts | None, row: int) -> str:
    """Return the name of a weight, such as "the weight from input R to neuron 3"."""
    if len(facts.arrays) > 0:
        return place_in_array(facts.arrays, row)
    if operation is not None and operation.kind == "embedding" and reads_sequence(facts):
        letter, number = divmod(row - operation.weights, operation.shape[1])
        if operation.biases == NONE or row < operation.biases:
            sign = sign_of_letter(facts, letter)
            return text("captions.sequence.of_letter", number=number + 1, letter=sign)
        number, place = divmod(row - operation.biases, facts.buffers[facts.inputs].size)
        return text("captions.sequence.of_place", number=number + 1, place=place)
    if operation is None or operation.kind not in NAMED_BY_ENDS:
        return facts.row_names[row]
    is_bias = operation.biases != NONE and row >= operation.biases
    if operation.kind == "convolution":
        if is_bias:
            return text("captions.unit.kernel_bias", kernel=row - operation.biases)
        kernel, channel, line, column = unraveled(row - operation.weights, operation.shape)
        if operation.shape[1] == 1:
            return text("captions.unit.kernel_weight", kernel=kernel, row=line, column=column)
        if reads_sequence(facts):
            result = number_name(facts, operation.target, kernel)
            return text("captions.sequence.weight", number=channel + 1, name=result)
        at = {"kernel": kernel, "row": line, "column": column}
        channel += first_channel(operation, kernel)
        return text("captions.unit.map_weight", channel=channel, **at)
    written, read = uses_of(facts, operation, row)
    unit = neuron_name(facts, (operation.target, written[0]))
    if operation.each > 1:
        unit = text("captions.unit.map", number=written[0] // operation.each)
        unit = text("captions.unit.of_layer", unit=unit, layer=operation.label)
    if operation.kind == "scale":
        return text(f"captions.unit.{'shift' if is_bias else 'gain'}", unit=unit)
    if read is None:
        return text("captions.unit.bias", unit=unit)
    before = neuron_name(facts, (operation.source, read[0]))
    return text("captions.unit.weight", unit=unit, before=before)


def weight_title(facts: Facts, row: int) -> str:
    """Return the title of the card of a weight: the neurons that it connects, else its name."""
    if len(facts.arrays) > 0:
        return place_in_array(facts.arrays, row)
    homes = homes_of(facts, row)
    if homes and homes[0].kind == "convolution":
        return sentence(weight_name(facts, homes[0], row))
    if not homes or homes[0].kind != "affine":
        return facts.row_names[row]
    written, read = uses_of(facts, homes[0], row)
    unit = neuron_name(facts, (homes[0].target, written[0]))
    if read is None:
        return text("card.title.bias", unit=unit)
    before = neuron_name(facts, (homes[0].source, read[0]))
    return text("card.title.weight", before=before, unit=unit)


def name_of_row(facts: Facts, row: int) -> str:
    """Return the name of a weight in the first operation that uses it."""
    homes = homes_of(facts, row)
    return weight_name(facts, homes[0] if homes else None, row)


def sentence(words: str) -> str:
    """Return a text with a capital first letter."""
    return words[:1].upper() + words[1:]


# Where weights are used.


def owns(operation: OperationFacts, row: int) -> bool:
    """Return whether the parameter at a bank index belongs to an operation."""
    first = operation.weights
    return first != NONE and first <= row < first + operation.count


def homes_of(facts: Facts, row: int) -> list[OperationFacts]:
    """Return the operations that use a weight; several if layers share it."""
    return [each for each in facts.operations if owns(each, row)]


def unraveled(place: int, shape: Sequence[int]) -> list[int]:
    """Convert a flat index to one index per axis of an array of this shape."""
    found: list[int] = []
    for side in reversed(shape):
        found = [place % side, *found]
        place //= side
    return found


def per_unit(operation: OperationFacts) -> int:
    """Return the number of weights of a perceptron or kernel."""
    return prod(operation.shape[1:])


def uses_of(
    facts: Facts, operation: OperationFacts, row: int
) -> tuple[list[int], list[int] | None]:
    """Return the outputs a parameter adds to, and the inputs it multiplies; None for a bias."""
    if not operation.multiplies:
        return [], []
    if operation.uses is not None:
        return operation.uses(row)
    each = operation.each
    if operation.biases != NONE and row >= operation.biases:
        first = (row - operation.biases) * each
        return list(range(first, first + each)), None
    place = row - operation.weights
    if operation.kind == "affine":
        size = facts.buffers[operation.source].size
        return [place // size], [place % size]
    if operation.kind == "scale":
        numbers = list(range(place * each, (place + 1) * each))
        return numbers, numbers
    return convolved(operation, place)


def first_channel(operation: OperationFacts, kernel: int) -> int:
    """Return the first channel that a kernel reads."""
    groups = int(operation.settings[10])
    return kernel * groups // operation.shape[0] * operation.shape[1]


def convolved(operation: OperationFacts, place: int) -> tuple[list[int], list[int]]:
    """Return the outputs and inputs that a weight of a kernel connects, one pair per window."""
    settings = [int(each) for each in operation.settings[1:12]]
    height, width, high, wide, down, right, above, gap_y, gap_x, _, beside = settings
    rows = (height + 2 * above - (high - 1) * gap_y - 1) // down + 1
    columns = (width + 2 * beside - (wide - 1) * gap_x - 1) // right + 1
    kernel, channel, line, column = unraveled(place, operation.shape)
    channel += first_channel(operation, kernel)
    written: list[int] = []
    read: list[int] = []
    for i in range(rows):
        y = i * down - above + line * gap_y
        for j in range(columns):
            x = j * right - beside + column * gap_x
            if 0 <= y < height and 0 <= x < width:
                written.append((kernel * rows + i) * columns + j)
                read.append((channel * height + y) * width + x)
    return written, read
