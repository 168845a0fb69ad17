"""Facts and State: what the words of a picture are made of, in plain numbers and texts.

Facts do not change while a network trains; a State is one moment. `training.session.reading`
makes both of a session; a page has them as JSON, with these names. Formulas are functions of
numbers: in Python those of the tables, in a page made of their trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NONE = -1  # in place of an index
TERMS = 6  # terms of a sum that stand for themselves
Neuron = tuple[str, int]  # the name of a buffer, and the place in it
Function = Callable[..., float]
Numbers = Sequence[float]


# ---- Facts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BufferFacts:
    """Some numbers of each sample: the neurons of a layer, or their sums.

    Attributes:
        shape: (channels, height, width) if they are a picture, else ()
        role: "input", "output" (or the sums that the outputs are computed from), "hidden"; "node"
            of a compiled function
        names: those of its neurons, if they have some of their own
        layer: label of the layer, if neurons of several layers must be distinguished, else ""
        wave: whether a frequency encoding writes it
    """

    size: int
    shape: Sequence[int]
    role: str
    names: Sequence[str]
    layer: str = ""
    wave: bool = False


@dataclass(frozen=True)
class OperationFacts:
    """An operation on every sample of a batch.

    source, target   names of the first buffer that it reads, and of the one that it writes
    sources          all that it reads
    around           of a branch: the sum that its other way leads to at once, as in a Residual
    weights, biases  first rows of its parameters in the bank, or NONE; `count` of both
    shape            of the weights, perceptrons first
    each             number of consecutive outputs that share a bias
    state            first of its numbers in the state of the bank, or NONE
    multiplies       whether its weights are factors of what it reads
    held             rows of its layer, first and end, if running statistics stop while all of them
                     are frozen
    meaning          of its kind; `plain` its name in plain words
    caption, written of a formula on a whole sample: its sentence, and its formula
    uses             of a kind of a user's own: the outputs that a row adds to, and the inputs it
                     multiplies, None of a bias
    """

    kind: str
    formula: str
    name: str
    source: str
    target: str
    sources: Sequence[str]
    around: str | None
    weights: int
    biases: int
    shape: Sequence[int]
    each: int
    count: int
    settings: Numbers
    state: int
    multiplies: bool
    held: Sequence[int]
    layer: int
    label: str
    meaning: str
    plain: str
    caption: str
    written: str
    uses: Callable[[int], tuple[list[int], list[int] | None]] | None = None


@dataclass(frozen=True)
class MomentFacts:
    """A moment of a step: "layer 0: add up", and the buffers whose numbers it writes."""

    kind: str
    phase: str
    name: str
    operation: int
    layer: int
    values: Sequence[str]
    gradients: Sequence[str]
    title: str


@dataclass(frozen=True)
class FormulaCase:
    """What captions write of a formula where its conditions hold.

    Attributes:
        tests: functions of all names, each with whether it holds
        text: as a factor of others: a sum has brackets; `alone` without them
        compute: a function of all names
    """

    tests: Sequence[tuple[Function, bool]]
    text: str
    alone: str
    compute: Function


Cases = Sequence[Sequence[FormulaCase]]  # with the formulas of functions that it calls, and without


@dataclass(frozen=True)
class ActivationFacts:
    """An activation a = f(z).

    value, derivative  functions of z, and of z and a; None where a page cannot compute it
    steepest           largest slope, at most 1
    alone              its formula; "" if it has captions of its own
    cases, slope_cases texts of both, by the numbers
    slope              the formula of the slope; `slope_text` if it has one written by hand
    caption, zero, back sentences, with {unit} for the neuron; "" for the usual ones
    """

    value: Function | None
    derivative: Function | None
    steepest: float
    alone: str
    cases: Cases
    slope: str
    slope_text: str
    slope_cases: Cases
    caption: str
    zero: str
    back: str


@dataclass(frozen=True)
class ParametricFacts:
    """A formula with parameters: functions of the input and of these.

    Attributes:
        value, derivative: None where a page cannot compute it
    """

    parameters: Sequence[str]
    value: Function | None
    derivative: Function | None


@dataclass(frozen=True)
class LossPart:
    """The error of a loss, or its slope: a text, its cases, a function of prediction and target.

    Attributes:
        compute: with the weight of the target; None where a page cannot compute it, and of a loss
            that takes all outputs together
    """

    text: str
    cases: Cases
    compute: Function | None


@dataclass(frozen=True)
class LossFacts:
    """A loss.

    Attributes:
        factor, mean, divisor: as in `Loss`; the divisor is that of a sample
        logits: the activation that it applies to the outputs, or ""
        scalar: whether each output has an error of its own
        of_row: else the error of a sample by its outputs and targets, lists; None where a page
            cannot compute it
        is_value: whether it is the number itself that a compiled function returns
    """

    name: str
    factor: float
    mean: str
    divisor: int
    logits: str
    scalar: bool
    error: LossPart
    slope: LossPart
    of_row: Callable[[Numbers, Numbers], float] | None
    is_value: bool = False


@dataclass(frozen=True)
class ArrayFacts:
    """An array of a followed model.

    Attributes:
        first: the first of its parameters
        shape: of the array; `kept` of its parameters that are there
        steps: if those are every n-th row and column only: how many; else ()
    """

    name: str
    first: int
    shape: Sequence[int]
    kept: Sequence[int]
    steps: Sequence[int]


@dataclass(frozen=True)
class NeuronLine:
    """A row of neurons of the picture, by its buffers."""

    values: str
    sums: str
    also: Sequence[str]
    count: int


@dataclass(frozen=True)
class Facts:
    """What does not change while a network trains.

    Attributes:
        inputs, outputs: names of the buffers
        buffers: by name
        first_parameters: the first operation with weights
        first_row: the first parameter of the network, or NONE
        row_names: of parameters that are not named by the neurons that they join, by row
        arrays: of a followed model: its parameters are named by them
        lines: rows of neurons of the picture
        learning: whether an operation differs in training and evaluation
        is_graph: whether it is a compiled function; `program` is its TraceProgram then
        tint: of the inputs: "rgb", "grey" or ""
    """

    inputs: str
    outputs: str
    buffers: Mapping[str, BufferFacts]
    operations: Sequence[OperationFacts]
    moments: Sequence[MomentFacts]
    first_parameters: int
    first_row: int
    row_names: Mapping[int, str]
    lines: Sequence[NeuronLine]
    learning: bool
    activations: Mapping[str, ActivationFacts]
    parametrics: Mapping[str, ParametricFacts]
    loss: LossFacts
    is_graph: bool = False
    arrays: Sequence[ArrayFacts] = ()
    tint: str = ""
    program: Any = None


# ---- how a weight moves -------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedFormula:
    """A formula of names: its words, the names in their order, and a function of their numbers.

    One that is numbered has _0_, _1_ ... in its words, in place of the names.
    """

    words: str
    names: Sequence[str]
    compute: Function


@dataclass(frozen=True)
class Correction:
    """A number that a line divides by a correction, such as Adam's m, and how a card writes it."""

    name: str
    by: str
    card: NamedFormula


@dataclass(frozen=True)
class UpdateLine:
    """One line of an optimizer's arithmetic.

    Attributes:
        name: what it computes: "w", "g", "lr", a slot, or a name of the optimizer's
        formula: with numbers, or a sentence
        value: its result
        known: the numbers of the names
        words: the formula as captions write it
        numbered: the same with places for the numbers; None of a sentence
        card: the formula of a card; None for none
        corrections: that a card writes before it
        same: whether it is the same for all weights, as the learning rate is
        own_rate: whether it is the learning rate that only some weights have
        follows: whether it is known how the number comes about
    """

    name: str
    formula: str
    value: float
    known: Mapping[str, float] = field(default_factory=dict)
    words: str = ""
    numbered: NamedFormula | None = None
    card: NamedFormula | None = None
    corrections: Sequence[Correction] = ()
    same: bool = False
    own_rate: bool = False
    follows: bool = True

    def __str__(self) -> str:
        value = f"{self.value:.6g}"
        formula = [] if self.formula in ("", value) else [self.formula]
        return " = ".join([self.name, *formula, value])

    __repr__ = __str__  # a prompt and a notebook also show it


@dataclass(frozen=True)
class UpdateStep:
    """A line of an optimizer before it has numbers, or a condition.

    Attributes:
        place: where its number is kept
        names: in its formula, and the places of their numbers
        constants: numbers that a user's function has from outside, by name
        compute: a function of the numbers of the names; None if a page cannot compute it
        holds: whether the condition is to hold
        line: its text; None of a condition
    """

    place: str
    names: Sequence[str]
    places: Sequence[str]
    constants: Mapping[str, float]
    compute: Function | None
    line: UpdateLine | None = None
    holds: bool = True


@dataclass(frozen=True)
class UpdateCase:
    """The steps of an update where its conditions hold; `last` of its lines is the new weight."""

    steps: Sequence[UpdateStep]
    last: int


@dataclass(frozen=True)
class OptimizerFacts:
    """An optimizer: its settings, and the steps of its update in each case of its conditions.

    Attributes:
        given: its other numbers: l1, l2, and the limit of gradients
        clip_norm: to which all gradients are limited together; None for no limit
        refuses: whether it refuses a gradient that is not finite
        schedule: what its factor is called; "" for a constant rate. `schedule_text` has its
            settings
        factor: of the rate, by the number of steps taken and by `factor_settings`
        before: the steps from the gradient to that of the update
        constants: those of the numbers that are the same for all weights
        names: of the numbers of the update
        results: functions of these: the new weight, and the new slots; None as `compute`
        whole: of an update that cannot be followed: the line of the weight
    """

    lr: float
    settings: Mapping[str, float]
    slots: Sequence[str]
    given: Mapping[str, float]
    clip_norm: float | None
    refuses: bool
    schedule: str
    schedule_text: str
    factor: Function
    factor_settings: Numbers
    before: Sequence[UpdateStep]
    constants: Sequence[UpdateStep]
    names: Sequence[str]
    results: Sequence[Function | None]
    cases: Sequence[UpdateCase]
    whole: UpdateStep


@dataclass(frozen=True)
class MovingWeight:
    """A weight in the step that a state shows.

    Attributes:
        value, new: before the step; and now, as far as it is known
        grad: its gradient; `scale` by which all gradients are multiplied
        kept: the optimizer's own numbers for it before the step, by slot
        own_rate: the learning rate that only some weights have; None of others
        own: settings that only some weights have, by name
        taken: number of steps taken before
    """

    value: float
    new: float
    grad: float
    scale: float
    kept: Mapping[str, float]
    own_rate: float | None
    own: Mapping[str, float]
    taken: int


@dataclass(frozen=True)
class Explained:
    """How one weight moves in the step that a state shows.

    Attributes:
        value: before the step
        grad: its gradient
        kept: the optimizer's own numbers for it before the step, by slot
        settings: names of the optimizer's settings
        frozen: whether it is frozen; `is_any_frozen` whether any weight is
        lines: the optimizer's arithmetic, from the gradient to the new value; empty if the weight
            is frozen, or the numbers before the step are not known
        clips: whether all gradients are limited together, so that a step waits for all of them
    """

    row: int
    value: float
    grad: float
    kept: Mapping[str, float]
    settings: Sequence[str]
    frozen: bool
    is_any_frozen: bool
    lines: Sequence[UpdateLine]
    clips: bool


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change of one weight.

    Attributes:
        step: number of whole steps done when it was made, the one that moved it included
        is_edit: whether a user set it, else the step moved it
        old, new: its values before and after
    """

    step: int
    is_edit: bool
    old: float
    new: float


# ---- State --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchNumbers:
    """Values and gradients of all samples by buffer, and the targets: sample after sample, flat.

    Attributes:
        weights: the weight of each sample, as `State.weight`; None: all count alike
    """

    values: Mapping[str, Numbers]
    gradients: Mapping[str, Numbers]
    targets: Numbers
    weights: Numbers | None = None


@dataclass(frozen=True)
class State:
    """One moment of a training.

    Attributes:
        step, operation: the clock: whole steps done, and operations of the next one; `moment` is
            the last moment done, NONE between steps that play
        loss: of the batch
        value, grad: numbers of the bank; `bank_state` its other ones; `frozen` 1 or 0 for each row
        grad_before: gradients at the start of the step, before they are cleared
        before: values before the step; None before the first one. While a step is walked, `earlier`
            are those before the step that was the last
        slots_before: the optimizer's numbers before the step, by name
        values: numbers of the focus sample by buffer, as far as they are computed
        gradients: theirs
        target: targets of the sample, or None
        weight: how much the sample counts, where those of the batch count 1 on average, or in a sum
            as it was given; None: all count alike
        batch, focus: number of samples, and which of them is the focus
        all: those of all samples; None if they are too many
        again, answer: the loss of the same batch after the step, and the outputs of the focus
            sample; None where they are not known
        edited: what a user has changed since the last step: the values before, by row
        explained: how a weight moves
        run: of a compiled function: what holds its numbers
    """

    step: int = 0
    operation: int = 0
    moment: int = NONE
    playing: bool = False
    loss: float = float("nan")
    value: Numbers = ()
    grad: Numbers = ()
    bank_state: Numbers = ()
    frozen: Sequence[Any] = ()
    grad_before: Numbers | None = None
    before: Numbers | None = None
    earlier: Numbers | None = None
    slots_before: Mapping[str, Numbers] = field(default_factory=dict)
    values: Mapping[str, Numbers] = field(default_factory=dict)
    gradients: Mapping[str, Numbers] = field(default_factory=dict)
    target: Numbers | None = None
    weight: float | None = None
    batch: int = 1
    focus: int = 0
    all: BatchNumbers | None = None
    again: float | None = None
    answer: Numbers | None = None
    edited: Mapping[int, float] = field(default_factory=dict)
    explained: Callable[[int], Explained] | None = None
    run: Any = None


def sample_of(state: State) -> int:
    """Return the index of the focus sample, or of the last one of a smaller batch."""
    return min(state.focus, state.batch - 1)
