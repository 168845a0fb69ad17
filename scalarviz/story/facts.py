"""Facts and State: the inputs of all texts of a picture, in plain numbers and strings.

Facts do not change while a network trains; a State is one moment. `training.session.reading`
creates both from a session; a page has them as JSON, under the same names. Formulas are functions
of numbers: in Python from the tables, in a page compiled from their expression trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NONE = -1  # missing index
TERMS = 6  # separate terms of a sum
Neuron = tuple[str, int]  # the name of a buffer, and the index in it
Function = Callable[..., float]
Numbers = Sequence[float]


# ---- Facts --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BufferFacts:
    """An array with numbers of each sample: the neurons of a layer, or their sums.

    Attributes:
        shape: (channels, height, width) if it is a picture, else ()
        role: "input", "output" (or the sums from which outputs are computed), "hidden"; "node" in a
            compiled function
        names: names of its neurons, if they have any
        layer: label of the layer if needed to distinguish neurons of several layers, else ""
        wave: whether it is the output of a frequency encoding
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

    Attributes:
        source, target: names of the first buffer that it reads, and of the buffer that it writes
        sources: names of all buffers that it reads
        around: for a branch: name of the sum to which its other path leads directly, as in a
            Residual; else None
        weights, biases: bank index of the first weight and of the first bias, or NONE; `count` is
            the number of both together
        shape: shape of the weights, perceptrons first
        each: number of consecutive outputs that share a bias
        state: index of its first number in the bank state, or NONE
        multiplies: whether its weights are factors of its inputs
        held: first bank index of its layer and the index after the last, if running statistics stop
            while all these parameters are frozen
        meaning: description of its kind; `plain` is its name in plain words
        caption, written: for a formula on a whole sample: its sentence, and its formula
        uses: for a custom kind: function from a bank index to the outputs that it adds to, and the
            inputs that it multiplies (None for a bias)
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
    """A moment of a step, such as "layer 0: add up", and the buffers that it writes."""

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
    """The text of a formula in captions, and the conditions under which it is used.

    Attributes:
        tests: conditions as functions of all names, each with its required result
        text: the formula as a factor, with brackets if it is a sum; `alone` is without brackets
        compute: the formula as a function of all names
    """

    tests: Sequence[tuple[Function, bool]]
    text: str
    alone: str
    compute: Function


Cases = Sequence[Sequence[FormulaCase]]  # with called functions inlined, and without


@dataclass(frozen=True)
class ActivationFacts:
    """An activation a = f(z).

    Attributes:
        value, derivative: functions of z, and of z and a; None if a page cannot compute them
        steepest: largest slope, but at most 1
        alone: its formula; "" if it has custom captions
        cases, slope_cases: cases of the formula of the value, and of the slope
        slope: the formula of the slope; `slope_text` is the formula if it was written manually
        caption, zero: sentences, with {unit} for the neuron; "" means the default sentence
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


@dataclass(frozen=True)
class ParametricFacts:
    """A formula with parameters: functions of the input and the parameters.

    Attributes:
        value, derivative: the functions; None if a page cannot compute them
    """

    parameters: Sequence[str]
    value: Function | None
    derivative: Function | None


@dataclass(frozen=True)
class LossPart:
    """The error of a loss, or its slope: the formula, its cases, and a function.

    Attributes:
        compute: function of prediction and target, which includes the weight of the target; None if
            a page cannot compute it, and for a loss that combines all outputs
    """

    text: str
    cases: Cases
    compute: Function | None


@dataclass(frozen=True)
class LossFacts:
    """The facts about a loss function.

    Attributes:
        factor, mean, divisor: as in `Loss`, with the divisor for one sample
        logits: the activation that it applies to the outputs, or ""
        scalar: whether each output has a separate error
        of_row: if not scalar, the error of a sample as a function of two lists, its outputs and
            targets; None if a page cannot compute it
        is_value: whether it is the number returned by a compiled function
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
        first: index of its first parameter
        shape: shape of the array; `kept` is the shape of its recorded parameters
        steps: row and column strides if only every n-th parameter is recorded; else ()
    """

    name: str
    first: int
    shape: Sequence[int]
    kept: Sequence[int]
    steps: Sequence[int]


@dataclass(frozen=True)
class NeuronLine:
    """A row of neurons in the picture, with its buffers."""

    values: str
    sums: str
    also: Sequence[str]
    count: int


@dataclass(frozen=True)
class Facts:
    """Properties that do not change while a network trains.

    Attributes:
        inputs, outputs: names of the input and the output buffer
        buffers: all buffers by name
        first_parameters: index of the first operation with weights
        first_row: bank index of the first parameter, or NONE
        row_names: names of parameters that are not named after two neurons, by bank index
        arrays: arrays of a followed model, which name its parameters
        lines: rows of neurons of the picture
        learning: whether an operation differs in training and evaluation
        is_graph: whether it is a compiled function, with the TraceProgram `program`
        tint: color of the inputs: "rgb", "grey" or ""
        is_part: whether each step trains on another part of the samples
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
    is_part: bool = False


# ---- updates of a weight -------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedFormula:
    """A formula: its text, its names in order, and a function of the numbers with these names.

    A numbered formula has _0_, _1_ ... in its text in place of the names.
    """

    words: str
    names: Sequence[str]
    compute: Function


@dataclass(frozen=True)
class Correction:
    """A number that is divided by a correction, such as Adam's m, and its text on a card."""

    name: str
    by: str
    card: NamedFormula


@dataclass(frozen=True)
class UpdateLine:
    """One line of an optimizer's arithmetic.

    Attributes:
        name: name of the result: "w", "g", "lr", a slot, or a name defined by the optimizer
        formula: the formula with numbers, or a sentence
        value: the result
        known: the numbers by name
        words: the formula as captions write it
        numbered: the formula with placeholders for the numbers; None for a sentence
        card: the formula on a card, or None
        corrections: corrections that a card writes before it
        same: whether the result is the same for all weights, such as the learning rate
        own_rate: whether it is a learning rate of only some weights
        follows: whether it is known how the result was computed
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

    __repr__ = __str__  # for prompts and notebooks


@dataclass(frozen=True)
class UpdateStep:
    """A line of an optimizer's formula, before numbers are inserted, or a condition.

    Attributes:
        place: index of its result among the numbers of the update
        names: names in its formula, and the indices of their numbers
        constants: numbers that a custom function uses but does not define, by name
        compute: a function of the numbers in `names`; None if a page cannot compute it
        holds: required result of a condition
        line: the line; None for a condition
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
    """The steps and conditions of an update; line `last` is the new weight."""

    steps: Sequence[UpdateStep]
    last: int


@dataclass(frozen=True)
class OptimizerFacts:
    """An optimizer: its settings, and the steps of its update for each case.

    Attributes:
        given: its further settings: l1, l2, and the gradient limit
        clip_norm: limit of the norm of all gradients, or None
        refuses: whether it refuses a non-finite gradient
        schedule: name of its schedule; "" for a constant rate. `schedule_text` has the settings
        factor: factor of the rate as a function of the number of steps and `factor_settings`
        before: the steps from the gradient to the update
        constants: numbers that are equal for all weights
        names: names of the numbers of the update
        results: functions of these numbers for the new weight and the new slots; None if a page
            cannot compute them
        whole: the line of the weight if the update cannot be traced
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
    """A weight with its numbers before the shown step.

    Attributes:
        value, new: its value before the step, and its current value if known
        grad: its gradient; `scale` is the factor applied to all gradients
        kept: optimizer slots of the weight before the step, by name
        own_rate: separate learning rate of the weight, or None
        own: separate settings of the weight, by name
        taken: number of steps taken before this one
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
    """The update of one weight in the shown step.

    Attributes:
        value: its value before the step
        grad: its gradient
        kept: optimizer slots of the weight before the step, by name
        settings: names of the optimizer's settings
        frozen: whether it is frozen; `is_any_frozen` whether any weight is
        lines: the optimizer's arithmetic, from the gradient to the new value; empty if the weight
            is frozen or the numbers before the step are unknown
        clips: whether all gradients are clipped together, so that the update needs all of them
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
        step: number of entire steps after the change, including the step that made it
        is_edit: whether the user made the change, not a step
        old, new: its values before and after
    """

    step: int
    is_edit: bool
    old: float
    new: float


# ---- State --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchNumbers:
    """Values and gradients of all samples by buffer, and the targets, flat in sample order.

    Attributes:
        weights: weight of each sample, as in `State.weight`; None for equal weights
    """

    values: Mapping[str, Numbers]
    gradients: Mapping[str, Numbers]
    targets: Numbers
    weights: Numbers | None = None


@dataclass(frozen=True)
class State:
    """One moment of training.

    Attributes:
        step, operation: the clock: finished steps, and finished operations of the next step;
            `moment` is the index of the last finished moment, NONE between steps during playback
        loss: loss of the batch
        value, grad: values and gradients of the bank; `bank_state` is its state, and `frozen` is 1
            or 0 for each parameter
        grad_before: gradients at the start of the step, before they are cleared
        before: values before the step; None before the first step. During a step, `earlier` has
            the values before the previous step
        slots_before: the optimizer slots before the step, by name
        values: computed values of the focus sample by buffer
        gradients: gradients of the focus sample by buffer
        target: targets of the sample, or None
        weight: weight of the sample, scaled to a mean of 1 in the batch, or as given if the loss is
            a sum; None for equal weights
        batch, focus: number of samples, and index of the focus sample
        all: numbers of all samples; None if there are too many
        again, answer: the loss of the same batch after the step, and the outputs of the focus
            sample; None if unknown
        edited: values before the user's changes since the last step, by bank index
        explained: function that returns the update of a weight, or None
        run: the object with the numbers of a compiled function, or None
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
    """Return the index of the focus sample, or of the last sample of a smaller batch."""
    return min(state.focus, state.batch - 1)
