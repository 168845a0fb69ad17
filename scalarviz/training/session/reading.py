"""Read the Facts and the State of a session, from which captions, cards and pages are made."""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any, NamedTuple, cast, final
from weakref import WeakKeyDictionary

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.messages import shortened, visible
from scalarviz.base.texts import plural, row_text, text
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.formula_trees import ExpressionFunction
from scalarviz.core.formulas.formula_words import (
    LONGEST,
    POINTS,
    PRODUCT,
    formula_of,
    same,
    value_at,
    written,
    written_cases,
)
from scalarviz.core.formulas.layer_formulas import PARAMETRIC_FORMULAS
from scalarviz.core.formulas.losses import Loss, LossRow, RowLossRow, by_nothing
from scalarviz.core.program import NONE, Buffer, Moment, Operation, Program
from scalarviz.core.trace_program import TraceProgram, sign_of_node
from scalarviz.data import DataSet
from scalarviz.data.batches import Batches, Pair
from scalarviz.engines.engine import HostSnapshot, Run, SnapshotValues
from scalarviz.errors import EngineError, InputError
from scalarviz.story.caption import BACKWARD, ERROR, FORWARD, STEP, Caption, Cell, label
from scalarviz.story.captions import caption_of_state, with_line
from scalarviz.story.equations import change_between
from scalarviz.story.facts import (
    ActivationFacts,
    BatchNumbers,
    BufferFacts,
    Cases,
    Explained,
    Facts,
    FormulaCase,
    LossFacts,
    LossPart,
    MomentFacts,
    Neuron,
    OperationFacts,
    ParametricFacts,
    State,
)
from scalarviz.story.formats import said
from scalarviz.story.forward_captions import is_met, is_small
from scalarviz.story.names import NAMED_BY_ENDS, sentence
from scalarviz.training.network.model import Model
from scalarviz.training.session.actions import ACTIONS
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.explanation import done_in, explain, last_edit, numbers_at
from scalarviz.training.session.node_captions import TELLERS, node_name
from scalarviz.training.session.replays import rows_of_batch
from scalarviz.training.session.session import Session
from scalarviz.training.session.stops import Stops
from scalarviz.training.session.timeline import Origin, Position, Timeline
from scalarviz.training.session.value_session import VALUE

LONGEST_END = 28  # characters of an input or output name, which has two lines in a picture
ELEMENTWISE = ("activation", "row")  # kinds after which an output is still the same output


def names_of(session: Session | TrainingState) -> Mapping[str, Sequence[str]]:
    """Return the names of the input and output neurons, by buffer name."""
    program, data = session.network.program, session.data
    ends = (program.inputs, input_names(data)), (program.outputs, output_names(data))
    return {
        buffer.name: tuple(shortened(name, LONGEST_END) for name in names)
        for buffer, names in ends
        if 0 < len(names) <= buffer.size
    }


def writer_of(program: Program, buffer: str) -> Operation | None:
    """Return the operation that computes a named buffer; None for the inputs."""
    return next((each for each in program.operations if each.target.name == buffer), None)


def is_output(program: Program, buffer: Buffer) -> bool:
    """Return whether a buffer contains the outputs, or the sums from which they are computed."""
    for operation in reversed(program.operations):
        if operation.target == buffer:
            return True
        is_same = operation.source.size == operation.target.size
        if operation.kind not in ELEMENTWISE or not is_same:
            return False
    return False


def came_from(session: Session | TrainingState) -> str:
    """Return a sentence about the session from which this one was made, or ""."""
    origin = session.origin
    return text("page.came", did=sentence(origin.did), step=origin.step) if origin else ""


# Names of inputs, outputs and classes come from tables and files: here invisible letters are made
# visible.


def input_names(data: DataSet) -> Sequence[str]:
    """Return the names of all inputs; empty if they have no names."""
    return [visible(str(name)) for name in data.input_names]


def output_names(data: DataSet) -> Sequence[str]:
    """Return the names of all outputs or classes; empty if they have no names."""
    return [visible(str(name)) for name in data.output_names]


def class_names(data: DataSet, count: int) -> list[str]:
    """Return the names of `count` classes, or numbered names if the outputs have no names."""
    names = [*output_names(data)]
    numbered = [text("exhibits.plane.class", number=i) for i in range(count)]
    return names if len(names) == count else numbered


def side_names(data: DataSet) -> list[str]:
    """Return the names of the two classes that one output separates, lower values first; or []."""
    return [text(f"exhibits.side.{name}") for name in data.side_names]


def axis_names(data: DataSet) -> list[str]:
    """Return the names of all inputs; without names, they are x1, x2, ..., or x if there is one."""
    names = input_names(data)
    numbered = [text("exhibits.axis.input", number=i + 1) for i in range(data.inputs)]
    if data.inputs == 1:
        numbered = [text("exhibits.axis.only_input")]
    return [*names, *numbered[len(names) :]]


# The operations of a step in plain words, for the strip below the picture.

PARTS_OF_STEP = {
    "zero_grad": FORWARD,
    "forward": FORWARD,
    "loss": ERROR,
    "step": STEP,
}  # all others are in the backward pass


@lru_cache(maxsize=8)
def cells_of(program: Program) -> Sequence[Cell]:
    """Return one cell of the strip below the picture for each operation of a step."""
    return tuple(
        Cell(
            PARTS_OF_STEP.get(moment.phase, BACKWARD),
            "" if moment.layer == NONE else text("plates.layer", label=moment.layer),
            name_of_moment(program, moment),
            moment.name,
            done,
        )
        for done, moment in enumerate(program.moments, 1)
    )


def name_of_moment(program: Program, moment: Moment) -> str:
    """Return the name of an operation in plain words, such as "add up", without its layer."""
    if isinstance(program, TraceProgram) and moment.operation != NONE:
        return sign_of_node(program.trace, program.nodes[moment.operation])
    if moment.kind == "forward" and moment.operation != NONE:
        operation = program.operations[moment.operation]
        name = operation.formula or operation.kind
        return row_text(f"rows.kinds.{operation.kind}.plain", name.replace("_", " "))
    return text(f"strip.{moment.kind.replace(' ', '_')}")


# ---- Facts --------------------------------------------------------------------------------------

SLOPES_AT = -2.0, -0.5, 0.0, 0.5, 2.0
_known: WeakKeyDictionary[Session, tuple[Any, Facts]] = WeakKeyDictionary()


def facts_of(session: Session) -> Facts:
    """Return the Facts of a session, cached until its network, data or loss change."""
    program, loss = session.network.program, session.timeline.trainer.loss
    names = names_of(session)
    key = program, loss, loss.row, {**names}, session.data.input_tint
    before = _known.get(session)
    if before is not None and before[0][:3] == key[:3] and before[0][3:] == key[3:]:
        return before[1]
    found = make_facts(session, program, loss, names)
    _known[session] = key, found
    return found


def make_facts(
    session: Session, program: Program, loss: Loss, names: Mapping[str, Sequence[str]]
) -> Facts:
    """Build the Facts of a session; `names` contains the names of input and output neurons."""
    is_graph = isinstance(program, TraceProgram)
    operations = [] if is_graph else program.operations
    formulas = {each.formula for each in operations}
    titles = [label(cell) for cell in cells_of(program)]  # such as "layer 0: add up"
    return Facts(
        program.inputs.name,
        program.outputs.name,
        nodes(program) if isinstance(program, TraceProgram) else buffers_of(program, names),
        [operation_facts(program, each) for each in operations],
        [
            MomentFacts(
                moment.kind,
                moment.phase,
                moment.name,
                moment.operation,
                moment.layer,
                [each.name for each in moment.values],
                [each.name for each in moment.gradients],
                title,
            )
            for moment, title in zip(program.moments, titles, strict=True)
        ],
        program.first_parameters,
        next(iter(row_numbers(session.network)), NONE),
        RowNames(session),
        (),
        any(each.about.learning for each in program.operations),
        {name: activation_facts(name) for name in sorted(formulas & set(ACTIVATIONS))},
        {
            name: ParametricFacts(row.parameters, row.value, row.derivative)
            for name, row in PARAMETRIC_FORMULAS.items()
            if name in formulas
        },
        loss_facts(loss, program.outputs.size),
        is_graph,
        session.trainer.run.named_arrays,
        session.data.input_tint,
        program if is_graph else None,
        session.trainer.batches.steps_an_epoch > 1,
    )


class RowNames(Mapping[int, str]):
    """The names of a network's parameters by bank row, each computed on demand."""

    def __init__(self, session: Session) -> None:
        self.network = session.network

    def __getitem__(self, row: int) -> str:
        return str(self.network.name_of(row))

    def __iter__(self) -> Iterator[int]:
        return iter(row_numbers(self.network))

    def __len__(self) -> int:
        return len(row_numbers(self.network))


def nodes(program: TraceProgram) -> dict[str, BufferFacts]:
    """Return facts about the inputs, nodes and outputs of a compiled function, by name."""
    known = {*program.place_of, program.outputs.name}
    return {name: BufferFacts(1, (), "node", [node_name(program, name)]) for name in known}


def buffers_of(program: Program, given: Mapping[str, Sequence[str]]) -> dict[str, BufferFacts]:
    """Return facts about all buffers, by name; `given` contains names of inputs and outputs."""
    outputs = {each for each in program.buffers if is_output(program, each)}
    hidden = {each.label for each in program.operations if each.target not in outputs}
    return {
        each.name: buffer_facts(program, each, given, each in outputs, len(hidden) > 1)
        for each in program.buffers
    }


def buffer_facts(
    program: Program,
    buffer: Buffer,
    given: Mapping[str, Sequence[str]],
    is_end: bool,
    has_layers: bool,
) -> BufferFacts:
    """Return facts about one buffer of a network.

    Args:
        given: names of inputs and outputs, by buffer name
        is_end: whether the buffer contains the outputs, or the sums from which they are computed
        has_layers: whether neurons of several layers must be distinguished
    """
    writer = writer_of(program, buffer.name)
    role, named = "hidden", buffer
    if buffer == program.inputs:
        role = "input"
    elif is_end:
        role, named = "output", program.outputs
    return BufferFacts(
        buffer.size,
        buffer.shape,
        role,
        () if role == "hidden" else given.get(named.name, ()),
        str(writer.label or writer.layer) if writer and has_layers else "",
        writer is not None and writer.formula == "frequency_encoding",
    )


def operation_facts(program: Program, operation: Operation) -> OperationFacts:
    """Return facts about an operation: its position in the bank, its names and its texts."""
    name, kind = operation.formula or operation.kind, operation.about
    around = way_around(program, operation) if operation.kind == "branch" else None
    return OperationFacts(
        operation.kind,
        operation.formula,
        operation.name,
        operation.source.name,
        operation.target.name,
        [source.name for source in operation.sources],
        None if around is None else around.name,
        operation.weights,
        operation.biases,
        operation.shape,
        operation.outputs_per_bias,
        len(operation.parameters),
        [*map(float, operation.settings)],
        operation.state,
        kind.multiplies,
        (operation.held_by.start, operation.held_by.stop),
        operation.layer,
        operation.label,
        kind.meaning,
        row_text(f"rows.kinds.{kind.name}.plain", name),
        row_text(f"rows.row_formulas.{name}.caption", text("captions.row", name=name)),
        row_text(f"rows.row_formulas.{name}.formula", f"y = {name}(x)"),
        None if operation.kind in NAMED_BY_ENDS else uses_by(operation),
    )


def uses_by(operation: Operation) -> Callable[[int], tuple[list[int], list[int] | None]]:
    """Return a function that maps a bank row to the outputs and inputs that use it."""

    def uses(row: int) -> tuple[list[int], list[int] | None]:
        written, read = operation.uses(row)
        return written.tolist(), None if read is None else read.tolist()

    return uses


def way_around(program: Program, branch: Operation) -> Buffer | None:
    """Return the sum to which the skip connection of a branch leads, as in a Residual, or None."""
    before, last = program.readers(branch.source)[-2:]
    return last.target if before is branch and last.kind == "sum" else None


def activation_facts(name: str) -> ActivationFacts:
    """Return facts about an activation: its formulas and captions."""
    row = ACTIVATIONS[name]
    slopes = (abs(row.derivative(x, row.value(x))) for x in SLOPES_AT)
    caption = row.caption or text("captions.activation", unit="{unit}", name=name)
    own = None if row.caption or row.slope else formula_of(row.value, ("z",))
    return ActivationFacts(
        row.value,
        row.derivative,
        min(1.0, max(slopes)),
        own.alone if own is not None else "",
        [] if row.caption or row.slope else formula_cases(row.value, ("z",)),
        row.slope or written(row.derivative, ("z", "a")),
        "" if " if " in row.slope else row.slope,
        [] if row.slope else formula_cases(row.derivative, ("z", "a")),
        caption,
        row.zero_caption,
    )


@lru_cache(maxsize=256)
def formula_cases(function: Callable[..., float], names: tuple[str, ...]) -> Cases:
    """Return the text of a function for captions, for each case of its conditions."""
    return [[*cases(function, names, inline=inline)] for inline in (True, False)]


def cases(
    function: Callable[..., float], names: tuple[str, ...], *, inline: bool
) -> Iterator[FormulaCase]:
    """Yield the cases of a function; the text of a wrong or too long case is left empty."""
    for writer, part in written_cases(function, names, inline=inline):
        tests = [
            (writer.code_function(code), holds)
            for code, holds in zip(writer.tests, writer.choices.taken, strict=True)
        ]
        compute, words = writer.code_function(part.code), part.within(PRODUCT)
        case = FormulaCase(tests, words, part.text, compute)
        points = [each for each in product(POINTS, repeat=len(names)) if is_met(case, each)]
        agrees = all(same(value_at(compute, *at), value_at(function, *at)) for at in points)
        yield case if agrees and len(words) <= LONGEST else replace(case, text="")


def loss_facts(loss: Loss, outputs: int) -> LossFacts:
    """Return facts about a loss of `outputs` outputs: its settings, formulas and texts."""
    row = loss.row
    return LossFacts(
        row.name,
        loss.factor,
        loss.mean,
        loss.divisor(outputs),
        row.logits,
        isinstance(row, LossRow),
        loss_part(row, "error"),
        loss_part(row, "derivative"),
        None if isinstance(row, LossRow) else lambda p, t: row.value([*p], [*t]),
        row is VALUE,
    )


def loss_part(row: LossRow | RowLossRow, part: str) -> LossPart:
    """Return the text and formula of the part "error" or "derivative" of a loss."""
    words = loss_text(row, part)
    if not isinstance(row, LossRow):
        return LossPart(words, [], None)
    function = row.value if part == "error" else row.derivative
    is_own = words == written(function, ("p", "t"))

    functions = {"value": function, "weight": row.weight}
    compute = ExpressionFunction("value(p, t) * weight(p, t)", ("p", "t"), functions)
    return LossPart(words, formula_cases(function, ("p", "t")) if is_own else [], compute)


def loss_text(row: LossRow | RowLossRow, part: str) -> str:
    """Return the "error" or "derivative" of a loss for captions, as a formula of p and t."""
    by_hand, mark = (row.error, "") if part == "error" else (row.slope, "'")
    if not by_hand and isinstance(row, LossRow) and row.weight is by_nothing:
        by_hand = written(row.value if part == "error" else row.derivative, ("p", "t"))
    return by_hand or f"{row.name}{mark}(p, t)"


# ---- State --------------------------------------------------------------------------------------

FEW_INPUTS = 4  # inputs of a compiled function up to which its values in a whole step are read
# Actions after a step that do not change the outputs of the network.
HARMLESS = {name for name, kind in ACTIONS.items() if kind.changes != "outputs"}


class Later(Sequence[float]):
    """A sequence of numbers that are computed when they are first used."""

    def __init__(self, make: Callable[[], FloatArray]) -> None:
        self.make: Callable[[], FloatArray] = cache(make)

    def __getitem__(self, place: Any) -> Any:
        return self.make()[place]

    def __len__(self) -> int:
        return len(self.make())


class Numbers(UserDict[str, Any]):
    """Arrays by buffer name, each read with `read` when it is first used."""

    def __init__(self, names: Iterable[str], read: Callable[[str], Any]) -> None:
        self.data, self.read = dict.fromkeys(names), read

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = self.read(name)
        return self.data[name]


def bank_now(session: Session) -> State:
    """Return a State with only the clock and the numbers of the bank."""
    timeline, bank = session.timeline, session.network.bank
    numbers = bank.value, bank.grad, bank.state, timeline.trainer.still
    return State(*timeline.clock.place, NONE, False, timeline.loss, *numbers)


def state_of(session: Session) -> State:
    """Return the State of a session at the current moment; the caller must hold its lock.

    Keep the lock while using the State. After a whole step, the numbers within the step are
    recomputed.
    """
    program, timeline, common = session.network.program, session.timeline, bank_now(session)
    step, operation = timeline.clock.place
    if (step, operation) == (0, 0) or not timeline.trainer.knows:
        return common
    moment = (operation or len(program.moments)) - 1
    with timeline.at_work():
        program = session.network.program  # an activation may have been changed since
        done = () if program.is_graph else program.moments[: operation or None]
        ends = [program.outputs if program.is_graph else program.inputs]
        if isinstance(program, TraceProgram):
            ends += [program.node(place) for place in range(min(FEW_INPUTS, program.trace.inputs))]
        written = {each.name: each for each in (*ends, *(b for m in done for b in m.values))}
        flows = {each.name: each for m in done for each in m.gradients}
        run, bank = timeline.trainer.run, timeline.trainer.bank
        values: Mapping[str, Any] = Numbers(written, lambda name: run.values(written[name]))
        gradients: Mapping[str, Any] = Numbers(flows, lambda name: run.gradients(flows[name]))
        slots: Mapping[str, Any] = bank.slots
        targets, before = run.targets(), bank.value
        weights = weights_in(timeline)
        if not operation:  # the session returns to its place
            values, gradients, slots = map(copies, (values, gradients, slots))
            targets, before = targets.copy(), before.copy()
    focus = min(session.focus, len(targets) - 1)
    is_done = not operation and session.trainer.recorded is None
    again, answer = after_step(session, focus) if is_done else (None, None)

    def own(numbers: FloatArray) -> list[float]:
        """Return the numbers of the displayed sample."""
        sample: list[float] = numbers[focus].astype(np.float64).tolist()
        return sample

    def flat(numbers: Mapping[str, FloatArray]) -> Numbers:
        return Numbers(numbers, lambda name: numbers[name].astype(np.float64).ravel())

    return replace(
        common,
        moment=moment,
        grad_before=Later(lambda: numbers_at(timeline, begun(timeline)).grad),
        before=cast(Any, before),
        earlier=Later(partial(values_earlier, timeline)) if operation and step else None,
        slots_before=slots,
        values=Numbers(values, lambda name: own(values[name])),
        gradients=Numbers(gradients, lambda name: own(gradients[name])),
        target=own(targets),
        weight=None if weights is None else float(weights[focus]),
        batch=len(targets),
        focus=focus,
        all=BatchNumbers(
            flat(values),
            flat(gradients),
            Later(lambda: targets.astype(np.float64).ravel()),
            weights,
        ),
        again=again,
        answer=answer,
        edited=edits(session),
        explained=partial(explained_now, session),
        run=run if operation else None,
    )


def weights_in(timeline: Timeline) -> Any:
    """Return the sample weights in the displayed step, relative to their mean, or None."""
    weights = timeline.trainer.batches.weights_at(begun(timeline).step)
    if weights is None or timeline.trainer.loss.mean == "none":
        return weights
    return weights / (weights.mean() or 1.0)


def copies(numbers: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return copies of arrays by name."""
    return {name: each.copy() for name, each in numbers.items()}


def begun(timeline: Timeline) -> Clock:
    """Return the start of the displayed step, after the user actions there."""
    step, operation = timeline.clock.place
    first = step if operation else step - 1
    return Clock(first, 0, len(timeline.branch.actions_at((first, 0))))


def values_earlier(timeline: Timeline) -> FloatArray:
    """Return the weights before the last completed step."""
    with timeline.visit_end(timeline.clock.step - 1):
        return timeline.trainer.bank.value.copy()


def edits(session: Session) -> dict[int, float]:
    """Return the earlier values of the weights edited since the last step, by bank row."""
    timeline = session.timeline
    made = [each.details["rows"] for each in done_in(timeline) if each.kind == "edit"]
    rows = sorted({int(row) for each in made for row in np.ravel(each)})
    before = numbers_at(timeline, Clock(timeline.clock.step)).value if rows else ()
    return {row: float(before[row]) for row in rows}


def after_step(session: Session, focus: int) -> tuple[float | None, list[float] | None]:
    """Return the batch's loss after the step, and the new outputs for one sample.

    Both are None if unknown, because layers such as dropout differ between training and evaluation,
    or because a custom function fails.
    """
    timeline, trainer, network = session.timeline, session.timeline.trainer, session.network
    actions = timeline.branch.actions_at(timeline.clock.place)[: timeline.clock.actions]
    with timeline.at_work():
        inputs, targets = trainer.batches.at(timeline.clock.step)
        weights = trainer.batches.weights_at(timeline.clock.step)
    is_plain = not any(each.about.learning for each in network.program.operations)
    few = is_small(len(inputs), targets.size)
    if not (is_plain and few and all(each.kind in HARMLESS for each in actions)):
        return None, None
    outputs = network(inputs)
    found = value_at(lambda: trainer.loss(outputs, targets, weights))
    if math.isnan(found) and not math.isnan(timeline.loss):
        return None, None
    answer: list[float] = outputs[focus].astype(np.float64).tolist()
    return found, answer


def explained_now(session: Session, row: int) -> Explained:
    """Return the explained update of a weight in the current step."""
    timeline = session.timeline
    # Within at_work the session must not be used: it would journal the older numbers as edits.
    with timeline.at_work():
        return explain(timeline.trainer, row, timeline.clock.operation)


# ---- captions -----------------------------------------------------------------------------------


def caption(session: Session, row: int | None = None, neuron: Neuron | None = None) -> Caption:
    """Return the caption of the last operation; the session is not changed.

    Args:
        session: the session
        row: bank row of the weight to explain; None (default) means a weight of `explained_neuron`
        neuron: neuron to explain instead, as (buffer, index); None (default) means no neuron
    """
    with session.doing(), np.errstate(all="ignore"):  # infinities are shown unchanged
        facts, state = facts_of(session), state_of(session)
        if state.moment == NONE and state.step:  # of a record without the numbers before the step
            return Caption(plural("captions.rest", state.step, loss=said(state.loss)))
        is_recorded = session.trainer.recorded is not None and state.before is not None
        if row is None and is_recorded:
            row = int(np.argmax(np.abs(np.subtract(state.value, cast(Any, state.before)))))
        if not facts.is_graph:
            return caption_of_state(facts, state, row, neuron)
        row = row_followed(session, facts.moments[state.moment]) if row is None else row
        return caption_of_state(facts, state, row, None, tellers=TELLERS)


def row_followed(session: Session, moment: MomentFacts) -> int:
    """Return the bank row of the parameter of a compiled function to explain by default.

    For the update, it is the parameter with the largest gradient.
    """
    rows = row_numbers(session.network)
    if not rows or moment.kind != "step":
        return first_row(session.network)
    pushes = np.nan_to_num(np.abs(session.network.bank.grad[np.array(rows)]))
    return int(rows[int(pushes.argmax())])


def first_row(network: Model) -> int:
    """Return the first parameter that is not frozen, or else the first; NONE without parameters."""
    rows = row_numbers(network)
    return next((row for row in rows if not network.bank.frozen[row]), next(iter(rows), NONE))


def caption_at(
    session: Session, place: tuple[int, int], row: int | None, neuron: Neuron | None
) -> Caption:
    """Return the caption of the operation before a given step and operation; see `caption`.

    Args:
        place: a step and an operation of this branch; the session visits it if necessary
    """
    timeline = session.timeline
    with session.doing():
        if timeline.clock.place == place:
            return caption(session, row, neuron)
        with timeline.visit(Clock(*place)):
            timeline.remember()  # else the numbers there would be journalled as edits
            return caption(session, row, neuron)


def caption_and_edit(session: Session, row: int | None) -> Caption:
    """Return the caption of the last operation, plus any later edit of the weight in `row`."""
    with session.doing():
        found = caption(session, row)
        edit = None if row is None else last_edit(session.timeline, row)
    if edit is None:
        return found
    old, new, _ = change_between(edit.old, edit.new)
    return with_line(found, text("captions.edited", old=old, new=new, step=edit.step))


# ---- state of a session for pictures, even if the session is busy
# ---------------------------------

LARGE = 300_000  # above this number, banks at rest are copied only if the clock has moved
NO_NUMBERS = SnapshotValues(np.zeros(0), np.zeros(0), {})


@final
class TrainingState(NamedTuple):
    """The state of a session that a picture needs, read at one moment.

    Attributes:
        numbers: values of the bank; empty if not requested
        here: Position of the session: clock, branch, end of the branch, and loss
        program: program of the network, which is replaced when an activation changes
        network: the network; `data`, `loss_function`, `engine`: data set, loss and engine of the
            session
        frozen: mask of the frozen parameters
        taken: number of steps counted by the bank
        batches: the batches, by step
        focus: index in the batch of the displayed sample
        recorded: whether the session is a recorded training run
        computes: whether the network computes the same function as the followed model
        playing: whether background play is running
        walked: (leaps, clock) after the last move by single operations, or None; see Position
        branches: all branches, in the order of their creation
        stops: Stops with the steps at which training stopped automatically
        measures: whether metrics are measured
        origin: the session from which this one was made, or None
        run: the Run that computes or reads the steps
    """

    numbers: SnapshotValues
    here: Position
    program: Program
    network: Any
    data: DataSet
    loss_function: Loss
    engine: str
    frozen: Any
    taken: int
    batches: Batches
    focus: int
    recorded: bool
    computes: bool
    playing: bool
    walked: tuple[int, Clock] | None
    branches: Sequence[Branch]
    stops: Stops
    measures: bool
    origin: Origin | None
    run: Run

    @staticmethod
    def of(session: Session | TrainingState, numbers: SnapshotValues = NO_NUMBERS) -> TrainingState:
        """Return the state of a session, with these numbers; return a TrainingState unchanged."""
        if isinstance(session, TrainingState):
            return session
        timeline, trainer = session.timeline, session.timeline.trainer
        network, settings, bank = trainer.network, trainer.settings, trainer.bank
        return TrainingState(
            numbers,
            timeline.here,
            network.program,
            network,
            settings.data,
            settings.loss,
            network.engine,
            np.asarray(bank.frozen),
            bank.step_count,
            trainer.batches,
            session.focus,
            trainer.recorded is not None,
            trainer.computes,
            session.playing,
            timeline.walked,
            [*timeline.branches],
            timeline.stops,
            timeline.visits.metrics is not None,
            timeline.origin,
            trainer.run,
        )

    @property
    def begun(self) -> FloatArray:
        """Values of all weights at the start of training."""
        return self.branches[0].frames[0].value


@final
class NewestNumbers:
    """Reads a session without waiting for it; `seen` is the latest state."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._snapshot = session.snapshot()
        self._snapshot.request()
        at_once = HostSnapshot(session.network.bank)  # immediately, even if the session is busy
        numbers = (self._snapshot if self._snapshot.ready else at_once).read()
        self.seen = TrainingState.of(session, numbers)

    def read(self) -> bool:
        """Update `seen`; return False while the session is looking up an earlier step."""
        now, shot = TrainingState.of(self.session), self._snapshot
        numbers, before, program, *_ = self.seen
        here, is_small = now.here, len(numbers.value) <= LARGE
        if now.playing:  # numbers and clock of the same moment
            here = before
            with suppress(EngineError):  # of a GPU that has failed: reported by the player
                if shot.ready:
                    numbers, here = shot.read(), shot.moment
                    shot.request()
                    if is_small and shot.ready:  # it is idle between two operations
                        numbers, here = shot.read(), shot.moment
        if program.moments != here.moments:
            if now.program.moments != here.moments:
                self.seen = self.seen._replace(playing=now.playing)
                return False
            program = now.program
        if not now.playing and (is_small or key_of(here) != key_of(before)):
            if shot.ready:  # else the copy already requested is used
                shot.request()
            if shot.ready:  # also detects writes from outside
                numbers = shot.read()
        self.seen = now._replace(numbers=numbers, here=here, program=program)
        return True


@final
class NetworkCopy:
    """A copy of a session's network that is usable at any time; an expression is not copied."""

    def __init__(self, session: Session) -> None:
        self.network = session.network
        first = session.timeline.branches[0].frames[0]
        is_known = len(first.value) == len(self.network.bank) and not session.timeline.steps_before
        self._first = first if is_known else None
        self._made: Any = None, None
        self._begun: Any = None, None

    def begun(self) -> Any:
        """Return a network copy with the weights of step 0, or None if these are unknown."""
        if self._first is None:
            return None
        if self._begun[0] != self.network.activations:
            self._begun = self.network.activations, free_copy(self.network)
            bank = self._begun[1].bank
            bank.value[:], bank.state[:] = self._first.value, self._first.numbers["state"]
        return self._begun[1]

    def with_numbers(self, numbers: SnapshotValues) -> Any:
        """Return the network copy after setting its numbers."""
        network = self.network
        if not network.layers:
            return network
        key = network.activations, network.engine
        if self._made[0] != key:
            self._made = key, free_copy(network)
        bank = self._made[1].bank
        bank.value[:], bank.state[:] = numbers.value, numbers.state
        return self._made[1]


def free_copy(network: Any) -> Any:
    """Return a copy of a network that another thread can use."""
    copied = network.copy()
    if network.engine == "cuda":
        copied.to("cpu")
    copied.bank.name_of = "row {}".format  # avoids a reference cycle
    return copied


def key_of(here: Position) -> tuple[int, ...]:
    """Return a key that changes with the position: clock, branch number, and move counter."""
    return (*here.clock, here.branch.number, here.leaps)


def in_focus(
    session: Session | TrainingState, batch: Pair, rests: int | None = None
) -> tuple[int, FloatArray, FloatArray, int]:
    """Return the displayed sample's index in a batch, its inputs and targets, and the batch size.

    Args:
        rests: step of the batch if none of its operations is displayed; in the first batch,
            `DataSet.first_shown` may then replace the first sample
    """
    inputs, targets = batch
    place, first = min(session.focus, len(inputs) - 1), session.data.first_shown
    if rests == 0 and place == 0 and first is not None:
        return 0, *first, len(inputs)
    return place, np.asarray(inputs[place]), np.asarray(targets[place], np.float64), len(inputs)


def row_in_focus(session: Session, step: int, *, rests: bool) -> int:
    """Return the row in the data of the sample displayed in a step; -1 for generated samples.

    Args:
        rests: whether none of the step's operations is displayed
    """
    if rests and step == session.focus == 0 and session.data.first_shown is not None:
        return -1
    with suppress(InputError):
        rows = rows_of_batch(session.trainer.batches, step)
        return int(rows[min(session.focus, len(rows) - 1)])
    return -1


def arrays(numbers: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Convert named numbers to new float64 arrays."""
    return {name: np.array(each, np.float64) for name, each in numbers.items()}
