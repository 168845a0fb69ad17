"""TracedWeight: the weight or neuron that captions follow through a step.

In operations that do not use the weight, captions follow a neuron on its signal path.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from scalarviz.base.texts import text
from scalarviz.story.facts import (
    NONE,
    Facts,
    MomentFacts,
    Neuron,
    Numbers,
    OperationFacts,
    State,
    sample_of,
)
from scalarviz.story.names import (
    first_channel,
    homes_of,
    neuron_name,
    owns,
    per_unit,
    reads_sequence,
    sentence,
    unraveled,
    uses_of,
    weight_name,
)

PUSHING = ("weight gradient", "step")  # moments at which gradients are known
MOST_THREADED = 3_000  # maximum weights of a network whose thread is computed for each caption
Path = list[tuple[int, int]]  # output and input of each operation


@dataclass(frozen=True)
class TracedWeight:
    """A followed weight, given by bank index or NONE, at one moment of a step.

    Attributes:
        neuron: the neuron that is followed instead, or None
        chosen: whether the user chose it, so that its term in a sum is always shown
    """

    facts: Facts
    state: State
    moment: MomentFacts
    row: int
    neuron: Neuron | None = None
    chosen: bool = True

    @property
    def operation(self) -> OperationFacts:
        return self.facts.operations[self.moment.operation]

    @property
    def is_last(self) -> bool:
        return self.moment.operation == len(self.facts.operations) - 1

    @cached_property
    def path(self) -> Path:
        if self.neuron is not None:
            return path_of_neuron(self.facts, self.neuron)
        return path_of_weight(self.facts, self.row)

    @property
    def place(self) -> tuple[int, int]:
        """Indices of the output and the input of this operation on the signal path."""
        return self.path[self.moment.operation]

    @property
    def letter(self) -> str:
        """Symbol of the inputs of this operation in formulas: x for network inputs, else a."""
        return "x" if self.moment.operation == self.facts.first_parameters else "a"

    @property
    def before(self) -> Neuron:
        """The input of this operation on the signal path, as buffer name and index."""
        output, column = self.place
        return sources_for(self.facts, self.operation, output)[0], column

    @property
    def behind(self) -> Neuron:
        """The output of this operation on the signal path, as buffer name and index."""
        return self.operation.target, self.place[0]

    # Inputs, outputs and their gradients of the operation, for the focus sample.

    @property
    def inputs(self) -> Numbers:
        return self.state.values[self.operation.source]

    @property
    def outputs(self) -> Numbers:
        return self.state.values[self.operation.target]

    @property
    def through(self) -> tuple[float, float]:
        """Input and output of an elementwise operation on the signal path."""
        place = self.place[0]
        return float(self.inputs[place]), float(self.outputs[place])

    @property
    def upstream(self) -> Numbers:
        return self.state.gradients[self.operation.target]

    @property
    def gradient(self) -> Numbers:
        return self.state.gradients[self.operation.source]

    @property
    def answers(self) -> tuple[Numbers, Numbers]:
        """Outputs and targets of the focus sample."""
        target = self.state.target
        return self.state.values[self.facts.outputs], () if target is None else target

    @property
    def averaged(self) -> int:
        """The number of samples by which the loss is divided; 1 for a summed loss."""
        return 1 if self.facts.loss.mean == "none" else self.state.batch

    def of_batch(self, kind: str, name: str = "") -> Numbers | None:
        """Return the numbers of a buffer for all samples, in sample order.

        Args:
            kind: "values", "gradients" or "targets"

        Returns None if the state has only the focus sample.
        """
        state = self.state
        if state.all is None and self.state.batch > 1:
            return None
        if kind == "targets":
            return state.target if state.all is None else state.all.targets
        if kind == "values":
            return state.values[name] if state.all is None else state.all.values[name]
        return state.gradients[name] if state.all is None else state.all.gradients[name]

    def opened(self, words: str) -> str:
        """Return the beginning of a sentence, capitalized unless it is the name of a parameter."""
        is_named = self.facts.is_graph or len(self.facts.arrays) > 0
        return words if is_named else sentence(words)

    def called(self, neuron: Neuron) -> str:
        """Return the name of a neuron."""
        return neuron_name(self.facts, neuron)

    def named(self, neuron: Neuron) -> str:
        """Return the name of a framed neuron in sentences: "this neuron" if it is hidden."""
        buffer = self.facts.buffers[neuron[0]]
        is_plain = buffer.role == "hidden" and not buffer.shape and not buffer.wave
        return text("captions.unit.this") if is_plain else self.called(neuron)

    @property
    def own_row(self) -> int:
        """The followed weight if this operation uses it, else a weight on the signal path."""
        if owns(self.operation, self.row):
            return self.row
        output, column = self.place
        rows, read = weights_into(self.facts, self.operation, output)
        found = [row for row, i in zip(rows, read, strict=True) if i == column]
        return (*found, *rows, self.operation.weights)[0]

    def uses(self, row: int) -> tuple[list[int], list[int] | None]:
        """Return the outputs of this operation that a weight adds to, and inputs it multiplies."""
        return uses_of(self.facts, self.operation, row)

    def name_of(self, row: int) -> str:
        """Return the name of a weight."""
        homes = [i for i, each in enumerate(self.facts.operations) if owns(each, row)]
        home = self.moment.operation if self.moment.operation in homes else (*homes, NONE)[0]
        operation = None if home == NONE else self.facts.operations[home]
        return weight_name(self.facts, operation, row)


def row_beside(facts: Facts, neuron: Neuron) -> int:
    """Return a weight in a neuron's sum, else a weight that multiplies the neuron, else NONE."""
    steps = list(zip(facts.operations, path_of_neuron(facts, neuron), strict=True))
    names = [operation.target for operation in facts.operations]
    home = names.index(neuron[0]) if neuron[0] in names else -1
    for operation, (output, column) in reversed(steps[: home + 1]):
        if operation.multiplies:
            rows, read = weights_into(facts, operation, output)
            return rows[read.index(column)] if column in read else operation.weights
    for operation, (_, column) in steps[home + 1 :]:
        if operation.multiplies:
            rows, _ = weights_from(facts, operation, column)
            return rows[0] if rows else operation.weights
    return NONE


def explained_row(facts: Facts, state: State, moment: MomentFacts, neuron: Neuron) -> int:
    """Return the default weight to explain for a neuron.

    If the neuron is one of `thread_of`, the weight connects it to the previous one. Otherwise it is
    the result of `row_beside` or, once gradients are known, the weight in the neuron's sum with the
    largest gradient, preferably one whose gradient has the same sign for the shown sample and
    for the batch.
    """
    row = row_beside(facts, neuron)
    homes = homes_of(facts, row)
    is_known = moment.kind in PUSHING  # whether the gradient is known
    if not is_known or not homes or len(homes[0].shape) < 2:
        return row
    home, count = homes[0], per_unit(homes[0])
    unit = (row - home.weights) // count
    first = home.weights + unit * count
    thread, places = thread_of(facts, state), summing(facts)
    at = [facts.operations[place].weights for place in places].index(home.weights)
    if len(thread) > 0 and neuron == (home.target, thread[at]) and has_filters(facts):
        known = values_of(facts, state, home.source)
        told = input_told(facts, state, known, places[at], thread[at])[1]
        if float(state.grad[told]) != 0.0:
            return told
    elif at > 0 and len(thread) > 0 and thread[at] == unit:
        return first + thread[at - 1]
    pushes = [float(each) for each in state.grad[first : first + count]]
    if home.kind == "affine" and home.target in state.gradients:
        delta = float(state.gradients[home.target][unit])
        sent = [delta * each for each in values_of(facts, state, home.source)]
        own = [x if x * y > 0.0 else 0.0 for x, y in zip(pushes, sent, strict=True)]
        pushes = own if max([abs(each) for each in own]) > 0.0 else pushes
    return first + place_of_largest(pushes)


def values_of(facts: Facts, state: State, name: str) -> list[float]:
    """Return the numbers of the focus sample in a buffer; after a step, from before the step."""
    if state.operation != 0 or state.all is None:
        return [float(each) for each in state.values[name]]
    size = facts.buffers[name].size
    first = sample_of(state) * size
    return [float(each) for each in state.all.values[name][first : first + size]]


def place_of_largest(numbers: Numbers) -> int:
    """Return the index of the largest magnitude; NaN counts as largest."""
    return largest_place([float("inf") if each != each else abs(each) for each in numbers])


def largest_place(numbers: Numbers) -> int:
    """Return the index of the first maximum."""
    best = 0
    for i, each in enumerate(numbers):
        if each > numbers[best]:
            best = i
    return best


def explained_neuron(facts: Facts, state: State, moment: MomentFacts) -> Neuron | None:
    """Return the default neuron to explain at a moment; None before the first sum and in a step.

    It is one of `thread_of`. If these are unknown, it is the result of `thread_at` or, in the
    backward pass, the neuron with the largest gradient.
    """
    at = summing(facts)
    if moment.operation != NONE:
        end = moment.operation + (0 if moment.kind == "input gradient" else 1)
        at = [i for i in at if i < end]
    if moment.kind in ("zero_grad", "step") or not at:
        return None
    target, thread = facts.operations[at[-1]].target, thread_of(facts, state)
    if len(thread) > 0:
        return target, thread[len(at) - 1]
    blamed = NONE if moment.kind in ("forward", "loss") else most_blamed(facts, state, target)
    return thread_at(facts, state, at[-1]) if blamed == NONE else (target, blamed)


def summing(facts: Facts) -> list[int]:
    """Return the indices of the operations that have weights."""
    return [i for i, each in enumerate(facts.operations) if each.weights != NONE]


def thread_of(facts: Facts, state: State) -> list[int]:
    """Return one neuron per layer with which all moments of a step are explained; [] if unknown.

    In dense layers before the last, it is the neuron with the largest gradient for the shown
    sample. In the last layer, it is the output that contributes most to this gradient, or the
    right class.
    """
    goals, places = state.target, summing(facts)
    if goals is None or facts.is_graph or len(places) < 2 or len(state.value) > MOST_THREADED:
        return []
    weights = state.value if state.before is None else state.before
    values = answers_with(facts, state, weights)
    if len(values) == 0:
        return []
    if any(each.kind not in ("affine", "activation") for each in facts.operations):
        return thread_of_filters(facts, state, values)
    answers, right = (
        read_answers(values[facts.outputs], facts.loss.logits),
        right_output(facts, state),
    )
    blames = [out - float(goal) for out, goal in zip(answers, goals, strict=True)]
    found: list[int] = []
    for each in reversed(facts.operations):
        slope = None if each.kind == "affine" else facts.activations[each.formula].derivative
        if each.kind != "affine" and slope is None:
            return []
        if slope is not None:
            pairs = zip(blames, values[each.source], values[each.target], strict=True)
            blames = [blame * slope(z, a) for blame, z, a in pairs]
            continue
        ways: list[list[float]] = []  # by neuron of the layer before, from each neuron of the next
        for column in range(each.shape[1]):
            first = each.weights + column
            ways.append(
                [x * float(weights[first + i * each.shape[1]]) for i, x in enumerate(blames)]
            )
        blames = [sum(way) for way in ways]
        most = place_of_largest(blames)
        if len(found) == 0:
            asked = [way * blames[most] for way in ways[most]]
            found.append(largest_place(asked) if right is None else right[1])
        if len(found) < len(places):
            found.append(most)
    return [*reversed(found)]


def read_answers(outputs: Numbers, logits: str) -> list[float]:
    """Return outputs with the activation of the loss applied.

    Args:
        logits: the activation that the loss applies to the outputs, or ""
    """
    p = [float(each) for each in outputs]
    if logits == "sigmoid":
        return [0.5 + 0.5 * math.tanh(0.5 * each) for each in p]
    if logits != "softmax":
        return p
    top = max(p)
    shares = [math.exp(each - top) for each in p]
    total = sum(shares)
    return [each / total for each in shares]


def answers_with(facts: Facts, state: State, weights: Numbers) -> dict[str, list[float]]:
    """Return the numbers of the shown sample, by buffer, for other weights.

    The result is empty unless all layers are dense, convolution, activation or max pooling.
    """
    found: dict[str, list[float]] = {facts.inputs: values_of(facts, state, facts.inputs)}
    for each in facts.operations:
        known = found.get(each.source)
        activation = facts.activations.get(each.formula)
        if known is None:
            return {}
        if each.kind == "affine":
            count = each.shape[1]
            sums: list[float] = []
            for unit in range(each.shape[0]):
                first = each.weights + unit * count
                total = 0.0 if each.biases == NONE else float(weights[each.biases + unit])
                for place in range(count):
                    total += float(weights[first + place]) * known[place]
                sums.append(total)
            found[each.target] = sums
        elif each.kind == "convolution":
            sums = [0.0] * facts.buffers[each.target].size
            for row in range(each.weights, each.weights + each.count):
                written, read = uses_of(facts, each, row)
                weight = float(weights[row])
                for i, place in enumerate(written):
                    sums[place] += weight if read is None else weight * known[read[i]]
            found[each.target] = sums
        elif each.formula == "max_pool":
            places = range(facts.buffers[each.target].size)
            found[each.target] = [max([known[i] for i in window(each, x)]) for x in places]
        elif each.kind == "activation" and activation is not None and activation.value is not None:
            function = activation.value
            found[each.target] = [function(number) for number in known]
        else:
            return {}
    return found


def window(operation: OperationFacts, place: int) -> list[int]:
    """Return the indices of the inputs in the window of a pooling's output."""
    settings = [int(each) for each in operation.settings[:10]]
    height, width, tall, broad, down, across, above, beside, high, wide = settings
    channel, line, column = place // (high * wide), place // wide % high, place % wide
    top, left = line * down - above, column * across - beside
    return [
        (channel * height + i) * width + j
        for i in range(max(top, 0), min(top + tall, height))
        for j in range(max(left, 0), min(left + broad, width))
    ]


def thread_at(facts: Facts, state: State, number: int) -> Neuron:
    """Return the default neuron to explain in an operation with weights, if `thread_of` is [].

    It is the neuron with the largest sum by magnitude or, before relu, the largest positive sum. In
    the last layer of a classifier, it is the output of the right class.
    """
    right, target = right_output(facts, state), facts.operations[number].target
    if right is not None and number == summing(facts)[-1]:
        return right
    sums = values_of(facts, state, target)
    if any(each.source == target and each.formula == "relu" for each in facts.operations):
        sums = [max(each, 0.0) for each in sums]
    return target, place_of_largest(sums)


def thread_of_filters(facts: Facts, state: State, values: Mapping[str, Numbers]) -> list[int]:
    """Return the result of `thread_of` for a convolutional classifier; [] if it has branches.

    From the right class backward, each neuron is the input that adds most to the next one.
    """
    right, at = right_output(facts, state), summing(facts)
    if right is None:
        return []
    found = [right[1]]
    for i in range(len(at) - 1, 0, -1):
        known = values[facts.operations[at[i]].source]
        column = input_told(facts, state, known, at[i], found[0])[0]
        pixel = pixel_before(facts, values, at[i], at[i - 1], column)
        if pixel == NONE:
            return []
        found = [pixel, *found]
    return found


def input_told(
    facts: Facts, state: State, known: Numbers, number: int, unit: int
) -> tuple[int, int]:
    """Return the index of the input that adds most to an output, and its weight's bank index.

    Args:
        known: the inputs of the operation
        number: index of the operation
        unit: index of the output
    """
    value = state.value if state.before is None else state.before
    rows, read = weights_into(facts, facts.operations[number], unit)
    if len(rows) == 0:
        return NONE, NONE
    added = [float(known[i]) * float(value[row]) for row, i in zip(rows, read, strict=True)]
    most = largest_place(added)
    return read[most], rows[most]


def has_filters(facts: Facts) -> bool:
    """Return whether the network has a convolution that is not one at each place of a sequence."""
    has_any = any(each.kind == "convolution" for each in facts.operations)
    return has_any and not reads_sequence(facts)


def pixel_before(
    facts: Facts, values: Mapping[str, Numbers], behind: int, number: int, column: int
) -> int:
    """Return the output of operation `number` that leads to an input of operation `behind`.

    It is NONE if there is a branch between them, or an operation that mixes several numbers.
    """
    name, place = facts.operations[behind].source, column
    for each in facts.operations[number + 1 : behind][::-1]:
        if each.target != name or len(each.sources) > 1 or place == NONE:
            return NONE
        if each.formula == "max_pool":
            inside = window(each, place)
            place = inside[largest_place([values[each.source][i] for i in inside])]
        elif facts.buffers[each.source].size != facts.buffers[name].size:
            return NONE
        name = each.source
    return place if name == facts.operations[number].target else NONE


def is_stop(facts: Facts, moment: MomentFacts) -> bool:
    """Return whether stepping by operation stops after this moment.

    In a network with filters, it skips activations, and all gradients except weight gradients and
    the input gradients of dense layers.
    """
    if moment.operation == NONE or not has_filters(facts):
        return True
    kind = facts.operations[moment.operation].kind
    if moment.kind == "forward":
        return kind != "activation"
    return moment.kind == "weight gradient" or (
        moment.kind == "input gradient" and kind == "affine"
    )


def walk_to(facts: Facts, done: int, by: int) -> int:
    """Return the number of operations to a moment that is `by` stops away; negative if backward.

    Args:
        done: number of finished operations, over all steps
        by: number of stops; negative values go backward
    """
    count, at = len(facts.moments), done
    way = 1 if by > 0 else -1
    for _ in range(abs(by)):
        at += way
        while at > 0 and not is_stop(facts, facts.moments[(at - 1) % count]):
            at += way
    return at - done


def threaded_rows(facts: Facts, state: State, moment: MomentFacts) -> list[int]:
    """Return the weights that moved in a step and are explained, one for each layer."""
    before, thread = state.before, thread_of(facts, state)
    found: list[int] = []
    if before is None or facts.is_graph:
        return []
    for at, number in enumerate(summing(facts)):
        neuron = thread_at(facts, state, number)
        if len(thread) > 0:
            neuron = neuron[0], thread[at]
        row = explained_row(facts, state, moment, neuron)
        if not state.frozen[row] and float(state.value[row]) != float(before[row]):
            found.append(row)
    return found if len(thread) > 0 else found[len(found) - 1 :]


def following(facts: Facts, name: str) -> int:
    """Return the dense operation that reads a buffer, directly or after activations; else NONE."""
    for number, each in enumerate(facts.operations):
        if name in each.sources:
            if each.kind == "affine":
                return number
            if each.kind != "activation":
                return NONE
            name = each.target
    return NONE


def most_blamed(facts: Facts, state: State, name: str) -> int:
    """Return the index of the neuron with the largest gradient; NONE if unknown."""
    number = following(facts, name)
    source = "" if number == NONE else facts.operations[number].source
    known = source in state.gradients
    return place_of_largest(state.gradients[source]) if known else NONE


def right_output(facts: Facts, state: State) -> Neuron | None:
    """Return the output for the right class of the focus sample; None without classes."""
    is_classes = facts.loss.logits == "softmax" and facts.buffers[facts.outputs].size > 1
    if state.target is None or not is_classes:
        return None
    return facts.outputs, largest_place(state.target)


# The path of a signal through the outputs and inputs of all operations.


def path_of_weight(facts: Facts, row: int) -> Path:
    """Return the signal path of a weight: indices of output and input of each operation."""
    homes = [i for i, each in enumerate(facts.operations) if owns(each, row)]
    if not homes:
        return through(facts, 0, (0, 0))
    return through(facts, homes[0], place_in(facts, facts.operations[homes[0]], row))


def path_of_neuron(facts: Facts, neuron: Neuron) -> Path:
    """Return the signal path of a neuron: indices of output and input of each operation."""
    name, place = neuron
    for home, operation in enumerate(facts.operations):
        if operation.target == name:
            return through(facts, home, (place, input_for(facts, operation, place)))
    return through(facts, 0, (output_for(facts, facts.operations[0], place, ""), place))


def through(facts: Facts, home: int, place: tuple[int, int]) -> Path:
    """Return the signal path through an output and an input of the operation `home`."""
    operations = facts.operations
    places = {home: place}
    at = {operations[home].target: place[0]}
    for i in range(home, -1, -1):
        output = at.get(operations[i].target)
        if output is not None:
            places.setdefault(i, (output, input_for(facts, operations[i], output)))
            for source in sources_for(facts, operations[i], output):
                at[source] = places[i][1]
    behind = {operations[home].target}
    for i, operation in enumerate(operations):
        if i not in places:  # the path continues after its start, and into parallel branches
            source = next((each for each in operation.sources if each in behind), operation.source)
            column = at[source]
            places[i] = output_for(facts, operation, column, source), column
            at.setdefault(operation.target, places[i][0])
        if any(each in behind for each in operation.sources):
            behind.add(operation.target)
    return [places[i] for i in range(len(operations))]


def sources_for(facts: Facts, operation: OperationFacts, output: int) -> list[str]:
    """Return the names of the buffers on which an output depends."""
    if operation.kind == "concatenation":
        is_second = output >= facts.buffers[operation.source].size
        return [operation.sources[1 if is_second else 0]]
    return list(operation.sources)


def place_in(facts: Facts, operation: OperationFacts, row: int) -> tuple[int, int]:
    """Return an output and an input that use a parameter; the middle ones if there are several."""
    if not operation.multiplies:
        return 0, 0
    written, read = uses_of(facts, operation, row)
    if not written:  # the corner of a kernel, always in the padding
        output = (row - operation.weights) // per_unit(operation) * operation.each
        return output, input_for(facts, operation, output)
    at = middle(len(written))
    output = written[at]
    if read is not None:
        return output, read[at]
    if operation.each > 1:
        return output, input_for(facts, operation, output)
    return output, 0 if len(operation.shape) > 1 else output  # beside a bias


def middle(count: int) -> int:
    """Return the middle of `count` indices; for a square image, the middle of a row."""
    return min(count - 1, (count + int(math.sqrt(count))) // 2)


def output_for(facts: Facts, operation: OperationFacts, column: int, source: str) -> int:
    """Return an output that depends on an input in buffer `source`; "" is the first buffer."""
    if operation.kind == "concatenation":
        is_second = source == operation.sources[1]
        return column + (facts.buffers[operation.source].size if is_second else 0)
    if not operation.multiplies:
        return across(facts, operation.source, operation.target, column)
    _, written = weights_from(facts, operation, column)
    if not written:  # no window covers it
        return column % facts.buffers[operation.target].size
    units = len(units_on(operation, column)) if len(operation.shape) > 1 else 1
    width = len(written) // units
    return written[column % units * width + middle(width)]


def input_for(facts: Facts, operation: OperationFacts, output: int) -> int:
    """Return an input on which an output depends."""
    size = facts.buffers[operation.source].size
    if operation.kind == "concatenation":
        return output if output < size else output - size
    if not operation.multiplies:
        return across(facts, operation.target, operation.source, output)
    _, read = weights_into(facts, operation, output)
    if not read:
        return output % size
    return read[output % len(read) if operation.each == 1 else len(read) // 2]


def across(facts: Facts, start: str, end: str, place: int) -> int:
    """Return the corresponding index on the other side of an operation without weights."""
    here, there = facts.buffers[start], facts.buffers[end]
    if here.size == there.size or not here.shape or not there.shape:
        return place % there.size
    found = 0
    for i, old, new in zip(unraveled(place, here.shape), here.shape, there.shape, strict=True):
        found = found * new + i * new // old
    return found


def weights_into(
    facts: Facts, operation: OperationFacts, output: int
) -> tuple[list[int], list[int]]:
    """Return the weights on which an output depends, and the input that each multiplies."""
    count = per_unit(operation)
    first = operation.weights + output // operation.each * count
    rows: list[int] = []
    inputs: list[int] = []
    for row in range(first, first + count):
        written, read = uses_of(facts, operation, row)
        if read is not None:
            found = [i for place, i in zip(written, read, strict=True) if place == output]
            rows += [row] * len(found)
            inputs += found
    return rows, inputs


def units_on(operation: OperationFacts, column: int) -> list[int]:
    """Return the perceptrons, or the kernels of a channel group, that read an input."""
    units = list(range(operation.shape[0]))
    if operation.kind != "convolution":
        return units
    seen = operation.shape[1]
    channel = column // int(operation.settings[1] * operation.settings[2])
    first = channel // seen * seen
    return [unit for unit in units if first_channel(operation, unit) == first]


def weights_from(
    facts: Facts, operation: OperationFacts, column: int
) -> tuple[list[int], list[int]]:
    """Return the weights that multiply an input, and the output that each adds to.

    All perceptrons or kernels that read an input use it in the same way: only the first is
    examined.
    """
    each, count = operation.each, per_unit(operation)
    if len(operation.shape) == 1:
        return [operation.weights + column // each], [column]
    units = units_on(operation, column)
    first = operation.weights + units[0] * count
    pairs: list[tuple[int, int]] = []
    for row in range(first, first + count):
        written, read = uses_of(facts, operation, row)
        if read is not None:
            pairs += [(out, row) for out, i in zip(written, read, strict=True) if i == column]
    pairs = sorted(pairs, key=lambda pair: pair[0])
    rows = [row + unit * count for unit in range(len(units)) for _, row in pairs]
    return rows, [output + unit * each for unit in range(len(units)) for output, _ in pairs]
