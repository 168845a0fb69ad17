"""Diagnosis: find faults of a training run in its history.

`measures_of` visits some moments of a session and returns their statistics as arrays, from which
`judge` derives faults. Each kind of fault is a row of FAULTS with a function that detects it. The
same functions judge statistics from other sources, such as a training run outside scalarviz.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import pairwise
from math import prod
from typing import Any, final
from warnings import catch_warnings, simplefilter

import numpy as np

from scalarviz.base.checks import FloatArray, answered, require, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.program import NONE, Operation, Program
from scalarviz.data.batches import Batches, TableBatches
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.over_time import layers_of
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import check_end
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer

# Measures and findings.


unknown = partial(np.zeros, 0)  # default of an unknown array


@dataclass(frozen=True, eq=False)
class Measures:
    """Statistics at some moments of a training run, from which `judge` derives its faults.

    Arrays with two axes have a row for each moment and a column for each group of parameters. NaN
    means unknown; every non-finite number is stored as infinity.

    Attributes:
        steps: index of the step taken at each moment, increasing
        losses: loss of each step from step 0; NaN if unknown
        names: names of the parameter groups, such as "layer 0", from the inputs to the outputs
        values: root mean square of the weights of a group before the step; `gradients` and
            `updates`: root mean square of their gradients and of their changes in the step
        dead: fraction of the units (rows of a weight matrix) whose gradient is 0 for all samples
        saturated: fraction of the activations in a flat part of a function such as tanh

    Optional attributes, by default unknown:

    Attributes:
        alike: fraction of the units of a group that duplicate another unit; two axes; 1 if all
            units have the same weights
        gains: mean norm of the weights of a unit, two axes: the factor by which a unit scales the
            spread of its inputs
        takes_turns: whether steps have losses of several optimizers, which are not compared
        first: number of the step with index 0
        remedies: by kind of fault, instead of the remedies of FAULTS
        batch: number of samples per step; `samples`: number of training samples
        loss: name of the loss; `activation`: name of the output activation
        targets: smallest and largest target
        scales: largest absolute value of each input column
        ties: fraction of the variance of each input column that the targets explain
        numbers: indices of some training samples
        sample_losses: current losses of these samples; `constants`: their losses if the network
            gave the best constant output
        oddness: squared distance between the target of each of these samples and the mean target of
            its nearest neighbours, relative to the variance of the targets
    """

    steps: Any
    losses: FloatArray
    names: Sequence[str]
    values: FloatArray
    gradients: FloatArray
    updates: FloatArray
    dead: FloatArray
    saturated: FloatArray
    alike: FloatArray = field(default_factory=unknown)
    gains: FloatArray = field(default_factory=unknown)
    takes_turns: bool = False
    first: int = 0
    remedies: Mapping[str, str] = field(default_factory=dict)
    batch: int = 0
    samples: int = 0
    loss: str = ""
    activation: str = ""
    targets: tuple[float, float] = (np.nan, np.nan)
    scales: FloatArray = field(default_factory=unknown)
    ties: FloatArray = field(default_factory=unknown)
    numbers: FloatArray = field(default_factory=unknown)
    sample_losses: FloatArray = field(default_factory=unknown)
    constants: FloatArray = field(default_factory=unknown)
    oddness: FloatArray = field(default_factory=unknown)

    @cached_property
    def reference(self) -> float:
        """Mean loss of the best constant output; if unknown, the first loss of the run."""
        known = self.losses[np.isfinite(self.losses)][:1]
        found = self.constants if len(self.constants) else known
        return max(float(np.nanmean(found)), TINY)

    @property
    def compared(self) -> str:
        """What `reference` is."""
        return "the loss of a constant answer" if len(self.constants) else "the first loss"

    @cached_property
    def level(self) -> float:
        """Mean loss of the last steps divided by `reference`; 1 is as bad as without training.

        NaN if losses of several optimizers take turns, or some are negative: then a ratio of two
        losses says nothing, as in reinforcement learning.
        """
        known = self.losses[~np.isnan(self.losses)]
        if self.takes_turns or (known < 0.0).any():
            return np.nan
        recent = max(RECENT, self.samples // max(1, self.batch), len(known) // 10)
        return float(np.mean([*known[-recent:]] or np.inf)) / self.reference

    @property
    def extent(self) -> str:
        """How many losses and moments are known, in words."""
        count, moments = int(np.isfinite(self.losses).sum()), len(self.steps)
        weights = f"the weights at {moments} moment{'s' * (moments != 1)}"
        return (
            f"{count:,} loss{'es' * (count != 1)}, and in {weights}"
            if count
            else f"{weights} of {len(self.losses):,} steps; no loss was reported"
        )

    @property
    def is_high(self) -> bool:
        """Whether the loss has hardly fallen, although there were enough steps to judge."""
        return len(self.losses) >= RECENT and self.level > HIGH

    @cached_property
    def ratios(self) -> FloatArray:
        """Size of each update divided by the size of the weights.

        Weights that are far smaller than in other groups, such as a class token that starts
        near 0, may take larger steps.
        """
        least = SMALLEST * np.nanmedian(self.values, axis=1, keepdims=True)
        return self.updates / np.maximum(np.fmax(self.values, least), TINY)


@final
@dataclass(frozen=True)
class Finding:
    """A fault found in a training run.

    Attributes:
        kind: name of a row of FAULTS, such as "dead"
        where: the affected layer, module, input or samples; "" for the whole run
        step: the step at which the fault was first seen
        text: description with numbers
        remedy: suggested fix
    """

    kind: str
    where: str
    step: int
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"step {self.step:,}{self.where and ', '}{self.where}: {self.text}. {self.remedy}."


@final
class Diagnosis(tuple[Finding, ...]):
    """The faults of a training run, earliest first; `looked_at` describes the examined data."""

    looked_at = ""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or f"Nothing wrong was found in {self.looked_at}."


@answered
def diagnose(shown: object) -> Diagnosis:
    """Find the faults of a training run; report when each began and how to fix it.

    Args:
        shown: a Session, which is not changed, or an object with a method `measures()` that returns
            Measures; a followed training run has the findings of its `health()`

    The run is examined at 24 equally spaced moments and where the loss rises most, so a reported
    step may be late by up to the spacing of the moments. Returns a Diagnosis. Raises OrderError
    before the first step, and InputError for any other object.
    """
    measures: Any = getattr(shown, "measures", None)
    if not isinstance(shown, Session) and not callable(measures):
        raise InputError(
            f"diagnose takes a session that has trained, not {shorten(shown)}: pass "
            "s = sv.Session(net, data) after s.advance(1000)"
        )
    m: Measures = measures_of(shown) if isinstance(shown, Session) else measures()
    health: Any = getattr(shown, "health", None)
    with np.errstate(all="ignore"), catch_warnings():
        simplefilter("ignore", RuntimeWarning)  # about means of unknown numbers
        found = Diagnosis(judge(m) if health is None else health().findings)
    found.looked_at = m.extent
    return found


# Faults. Each function returns where and at which step it finds one, and numbers for the text.

RECENT = 20  # least steps to average a loss over; before, nothing is judged
TINY = 1e-30  # instead of a division by 0
FLAT_LOSS = 0.8  # level of a loss that has fallen to a plateau, if a constant output is unknown
HIGH = 0.5  # level of a loss that has hardly fallen: half of a constant output's
LOW = 0.1  # level below which training succeeds, so that faults do not matter
MOST = 0.5  # share of a layer, or of the moments, that counts as most of it
LARGE_STEP = 0.1  # update per weight: ten steps replace it; about 0.001 is usual
SMALLEST = 0.25  # of the usual size of weights, with which an update is compared
LASTING = 5  # moments with a large step
REPLACED = 0.5  # update per weight in half of the groups: one step replaces them
SMALL_STEP = 1e-4  # update per weight: 10,000 steps change it by its size
OVERSHOOT = 3.0  # times the initial loss: batches differ less, and descent only lowers it
APART = 1e3  # ratio of the gradients of the first and last layer: one rate cannot suit both
LARGE = 4.0  # gain: initializers have 0.6 to 1.4, and tanh is flat above 2.2; initial level
SPREAD = 30.0  # ratio of inputs: curvatures differ by its square, about 1,000
TIED = 0.995  # explained share of a column: measured data has more noise
FEW = 20  # samples below which a column can fit the targets by chance
GAP = 4.0  # ratio of losses of wrong samples to others: near a border they are closer
RARE = 0.05  # share of the samples: more would not be exceptions


def not_finite(m: Measures) -> list[Any]:
    moments, groups = np.nonzero(np.isinf(m.gradients) | np.isinf(m.values))
    bad = np.flatnonzero(np.isinf(m.losses)).tolist()
    where = ["", *[m.names[int(i)] for i in groups[moments == min(moments, default=0)]]][-1]
    return [(where, min([*bad, *m.steps[moments]]))] if bad or where else []  # the last layer first


def scale(m: Measures) -> list[Any]:
    sizes = np.append(m.scales[m.scales > 0.0], 1.0)
    usual = min(1.0, float(np.exp(np.percentile(np.log(sizes), 25))))
    is_large = (m.scales > SPREAD * usual) & (m.scales == sizes.max())
    return [(f"input {i}", 0, m.scales[i], usual) for i in np.flatnonzero(is_large)]


def leak(m: Measures) -> list[Any]:
    tied = np.flatnonzero(m.ties > TIED).tolist()
    others = np.sum(m.scales > 0.0) - len(tied)  # none if targets are a map of all inputs
    return [(f"input {i}", 0, 100.0 * m.ties[i]) for i in tied if others]


def reach(m: Measures) -> list[Any]:
    low, high = (0.0, 1.0) if m.activation == "softmax" else ends(m.activation)
    found = [("outputs", 0, *m.targets, m.activation, low, high)]
    return found if m.targets[0] < low or m.targets[1] > high else []


def loss(m: Measures) -> list[Any]:
    return [("outputs", 0, m.loss)] if m.activation == "softmax" and m.loss else []


def alike(m: Measures) -> list[Any]:
    shares = zip(m.names[:-1], m.alike[:1].ravel(), strict=False)  # outputs may start equal
    return [(name, 0, 100.0 * share) for name, share in shares if share > MOST]


def large_weights(m: Measures) -> list[Any]:
    is_bad = (m.saturated[0] > MOST).any() or m.losses[0] > LARGE * m.reference
    gains = zip(m.names, m.gains[:1].ravel(), strict=False)
    return [(name, 0, gain) for name, gain in gains if is_bad and gain > LARGE]


def still(m: Measures) -> list[Any]:
    marks = (m.updates == 0.0).all(axis=0) & (m.gradients != 0.0).any(axis=0)
    found = [(m.names[int(i)], m.steps[0]) for i in np.flatnonzero(marks)]
    return found if len(m.steps) > 2 and (m.ratios > TINY).any(axis=1).all() else []


def rate(m: Measures) -> list[Any]:
    largest = np.nan_to_num(np.nanmax(m.ratios, axis=1), posinf=np.inf)
    over = np.flatnonzero(m.losses > OVERSHOOT * max(m.reference, float(m.losses[0])))
    begun = int([*over, *m.steps[largest > LARGE_STEP], 0][0])
    is_later = np.isfinite(largest) & (m.steps >= min(begun, m.steps[-1]) - 1)
    moment = int(np.argmax(np.where(is_later, largest, 0.0)))
    is_large = largest > LARGE_STEP
    is_often = (
        is_large[is_later].any()
        if len(over)
        else is_large.mean() > MOST and is_large.sum() >= LASTING
    )
    is_lasting = len(m.losses) >= 5 * RECENT or not m.losses[-1] <= m.reference
    found = (
        m.names[int(np.argmax(np.nan_to_num(m.ratios[moment])))],
        begun,
        largest[moment],
        np.nanmax(m.losses) / m.reference,
        m.compared,
    )
    ratios = np.sort(np.nan_to_num(m.ratios[:, m.values[0] > 0.0]), axis=1)  # none starts at 0
    is_replaced = (ratios[:, : ratios.shape[1] // 2][:, -1:] > REPLACED).any()  # most groups
    return [found] if ((is_often and is_lasting) or is_replaced) and m.level > HIGH else []


def standing(kind: str, level: float, m: Measures) -> list[Any]:
    """If the loss is high, return the groups in which most units now have the fault `kind`."""
    shares: FloatArray = getattr(m, kind)
    marks = (shares > MOST) & (m.level > level)
    groups = np.flatnonzero(marks[-1]).tolist()
    return [(m.names[i], m.steps[np.argmax(marks[:, i])], 100 * shares[-1, i]) for i in groups]


def apart(small: int, large: int, m: Measures) -> list[Any]:
    """Return the first group if its gradients and the last group's differ by a large factor."""
    ratios = m.gradients[:, large] / np.maximum(m.gradients[:, small], TINY)
    found = m.names[0], m.steps[np.argmax(ratios > APART)], np.median(ratios), m.names[-1]
    return [found] if m.level > HIGH and np.mean(ratios > APART) > MOST else []


def slow(m: Measures) -> list[Any]:
    return [("", m.steps[0], m.ratios.max())] if m.is_high and m.ratios.max() < SMALL_STEP else []


def labels(m: Measures) -> list[Any]:
    return [("", 0, m.level)] if m.is_high and m.oddness.sum() > len(m.oddness) else []


def samples(m: Measures) -> list[Any]:
    worst = np.argsort(-m.sample_losses[: len(m.oddness)])[: int(RARE * len(m.oddness)) + 1]
    gaps = np.append(-np.diff(np.log(np.maximum(m.sample_losses[worst], TINY))), 0.0)
    wrong = worst[: np.argmax(gaps) + 1]
    is_odd = (m.oddness[wrong] > 1.0) & (m.sample_losses[wrong] > m.constants[wrong])
    names = ", ".join(map(str, m.numbers[wrong[:5]].tolist()))
    found = (f"samples {names}", m.steps[-1], len(wrong), len(m.oddness), np.exp(gaps.max()))
    return [found] if is_odd.all() and np.exp(gaps.max()) > GAP else []


def batch(m: Measures) -> list[Any]:
    is_long = FEW <= m.samples <= len(m.losses)
    return [("", 0)] if m.batch == 1 and is_long and m.level > LOW else []


def stuck(m: Measures) -> list[Any]:
    least = 0.98 * max(1.0, float(np.nanmean(m.losses)) / m.reference)  # 2 %: noise of batches
    known = m.losses[~np.isnan(m.losses)]
    means = np.convolve([*known, np.inf], np.full(RECENT, 1.0 / RECENT), "valid")
    _, before, _, now = known[: len(known) // 4 * 4].reshape(4, -1)
    noise = 3.0 * float(known.std()) / max(1, len(now)) ** 0.5  # of their difference, twice
    is_flat = before.mean() - now.mean() < max(0.01 * now.mean(), noise)
    is_high = m.level > (
        FLAT_LOSS if is_flat and len(now) >= RECENT and not len(m.constants) else least
    )
    found = ("", m.steps[0], m.level, m.compared)
    has_fallen = not len(m.constants) and means.min() < FLAT_LOSS * m.reference
    return [found] if len(m.losses) >= 10 * RECENT and is_high and not has_fallen else []


# For each kind: its function, the text of a finding with its numbers, a remedy, and the kinds that
# cause it: if one of these is found, it is not reported.
FAULTS: dict[str, tuple[Callable[[Measures], list[Any]], str, str, str]] = {
    "not finite": (
        not_finite,
        "the loss, a weight or a gradient is NaN or infinite",
        "Try a rate that is 10 times lower, or clip_norm=1.0",
        "",
    ),
    "scale": (
        scale,
        "its numbers reach {:.3g}, the numbers of others {:.3g}, so no learning rate suits both",
        "Try sv.data.Arrays(..., standardize=True)",
        "",
    ),
    "leak": (
        leak,
        "the target explains {:.4g} % of this column, which reveals the answer",
        "Leave it out, unless it is known before the answer",
        "",
    ),
    "reach": (
        reach,
        "targets go from {:.3g} to {:.3g}, and {} only from {:.3g} to {:.3g}",
        "Try linear outputs, or scale the targets",
        "",
    ),
    "loss": (
        loss,
        "{} has hardly any gradient where softmax is sure and wrong",
        "Try linear outputs and the loss softmax_cross_entropy",
        "",
    ),
    "alike": (
        alike,
        "{:.0f} % of its neurons start with equal weights, and stay equal",
        "Try random weights, such as init='he_normal'",
        "",
    ),
    "large weights": (
        large_weights,
        "its initial weights make sums {:.3g} times as large as its inputs",
        "Try init='he_normal' or 'xavier_normal'",
        "scale",
    ),
    "still": (
        still,
        "its weights have never moved, unlike the weights of other layers",
        "Try s.freeze(part, on=False), or a higher rate for it",
        "",
    ),
    "rate": (
        rate,
        "a step changes its weights by {:.2g} times their size, and losses reach {:.3g} times {}",
        "Try a rate that is 10 times lower, or clip_norm=1.0",
        "scale, large weights",
    ),
    "dead": (
        partial(standing, "dead", LOW),
        "{:.0f} % of its neurons are dead: no sample moves their weights",
        "Try leaky_relu, a lower rate, or sv.reinitialize",
        "scale, alike",
    ),
    "saturated": (
        partial(standing, "saturated", HIGH),
        "{:.0f} % of its activations are saturated: they pass on hardly any gradient",
        "Try smaller initial weights, a lower rate, or relu",
        "scale, reach, large weights",
    ),
    "vanishing": (
        partial(apart, 0, -1),
        "its gradients are {:.2g} times smaller than the gradients of {}",
        "Try relu, fewer layers, BatchNorm or Residual",
        "not finite, scale, alike, large weights, still, dead, saturated",
    ),
    "exploding": (
        partial(apart, -1, 0),
        "its gradients are {:.2g} times larger than the gradients of {}",
        "Try smaller initial weights, clip_norm=1.0 or BatchNorm",
        "not finite, scale, large weights, rate",
    ),
    "slow": (
        slow,
        "no step has changed a layer by more than {:.2g} of its weights",
        "Try a rate that is 100 times higher",
        "scale, alike, large weights, dead, saturated, vanishing",
    ),
    "labels": (
        labels,
        "targets of similar samples are as different as any, and the loss is {:.2g} times the "
        "loss of a constant answer",
        "Check whether rows of inputs and targets still match",
        "",
    ),
    "samples": (
        samples,
        "the losses of {} of {} samples are {:.2g} times the losses of all others, and "
        "their targets differ from the targets of similar samples",
        "Correct their targets",
        "not finite, scale, reach, labels",
    ),
    "batch": (
        batch,
        "each step follows a single sample, and the next one undoes much of it",
        "Try batch=16, or a lower rate",
        "",
    ),
    "stuck": (
        stuck,
        "the loss does not fall: it is {:.2g} times {}",
        "Try another rate, or a larger network",
        "not finite, scale, leak, reach, loss, alike, large weights, still, rate, dead, "
        "saturated, vanishing, exploding, slow, labels, samples, batch",
    ),
}


def judge(measures: Measures) -> list[Finding]:
    """Return the faults that the measures of a training run reveal, earliest first."""
    found: list[Finding] = []
    for kind, (find, text, remedy, causes) in FAULTS.items():
        if not {each.kind for each in found}.intersection(causes.split(", ")):
            remedy = measures.remedies.get(kind, remedy)
            found += [
                Finding(
                    kind,
                    where,
                    int(step) + measures.first,
                    text.format(*numbers).replace("inf times", "infinitely many times"),
                    remedy,
                )
                for where, step, *numbers in find(measures)
            ]
    return sorted(found, key=lambda finding: finding.step)


# Measures of a session.

MOMENTS = 24  # past moments visited, besides the one after which the loss rises most
SURVEYED = 256  # samples of which activations are read
SAMPLES = 1024  # samples compared with each other in a distance matrix
NEIGHBOURS = 5  # nearest samples, by distance of inputs
FLAT = 0.0125  # share of the range of an activation: tanh has a slope of 0.05 there


def measures_of(session: Session) -> Measures:
    """Return Measures of the history of a session, which is not changed.

    Raises:
        OrderError: before the first step.
    """
    with session.doing():
        losses, bank = session.losses, session.network.bank
        if session.next == "step" and not np.isfinite(bank.grad).all():
            losses = np.append(losses, session.loss)  # of the rejected step
        require(
            len(losses),
            "nothing was trained yet, so nothing can be diagnosed: advance first",
            OrderError,
        )
        rises = np.diff(np.nan_to_num(losses), append=0.0)
        losses = without_nan(losses)
        steps = np.unique([*np.linspace(0, len(losses) - 1, MOMENTS).astype(int), rises.argmax()])
        groups = groups_of(session.network.program, len(bank))
        found = np.stack([*visits(session.timeline, steps.tolist(), groups)], axis=1)
        facts = facts_of(session.trainer) | dict(
            zip("values gradients updates dead saturated alike gains".split(), found, strict=True)
        )
        return Measures(steps, losses, [name for name, _ in groups], **facts)


def without_nan(numbers: FloatArray) -> FloatArray:
    """Replace NaN by infinity, since NaN means unknown in Measures."""
    return np.where(np.isnan(numbers), np.inf, numbers)


def groups_of(program: Program, count: int) -> list[tuple[str, Any]]:
    """Return the name and bank rows of each layer with weights, except constant Affine layers."""
    fixed = [each.label for each in program.affines]
    return [
        (f"layer {label}" if label else "all weights", rows)
        for label, rows in layers_of(program, count)
        if label not in fixed
    ]


def visits(timeline: Timeline, steps: list[int], groups: list[Any]) -> Iterator[FloatArray]:
    """Yield the fields `values` to `gains` of Measures at each step, for all parameter groups."""
    now, bank = timeline.clock, timeline.trainer.bank
    with timeline.visit(Clock()):
        try:
            for step in steps:
                timeline.restore(step)
                timeline.enter(step)
                timeline.forward(Clock(step, len(timeline.trainer.moments) - 1))
                before = bank.value.copy(), bank.grad.copy(), of_units(timeline.trainer, groups)
                timeline.forward(min(Clock(step + 1), now))  # not beyond a rejected step
                whole = np.array([*before[:2], bank.value - before[0]], np.float64)
                sizes = [np.sqrt(np.mean(whole[:, rows] ** 2, axis=1)) for _, rows in groups]
                yield np.vstack([without_nan(np.transpose(sizes)), before[2]])
                check_end()
        finally:
            timeline.restore(now.step)


def of_units(trainer: Trainer, groups: list[Any]) -> FloatArray:
    """Return the fractions of dead, saturated and duplicate units and the gain of each group.

    The numbers are NaN for groups without an activation.
    """
    known = trainer.network.survey(samples_of(trainer.batches, SURVEYED)[0])
    bank, found = trainer.bank.value.astype(np.float64), np.full((4, len(groups)), np.nan)
    # Those of BatchNorm, with one axis, start equal.
    for operation, still_ones in [pair for pair in still_neurons(trainer) if pair[0].shape[1:]]:
        after = trainer.network.program.readers(operation.target)[0]
        units = bank[rows_of_neurons(operation)]
        found[:, [operation.weights in rows for _, rows in groups].index(True)] = (
            dead_share(still_ones, after, known),
            flat_share(after.formula, known[after.target.name]),
            1.0 - (len(np.unique(units, axis=0)) - 1.0) / max(1.0, len(units) - 1.0),
            np.sqrt(np.sum(units[:, : prod(operation.shape[1:])] ** 2) / len(units)),
        )
    return found


def still_neurons(trainer: Trainer) -> Iterator[tuple[Operation, Any]]:
    """Yield each operation before an activation, and a mask of its neurons with zero gradient."""
    for operation, after in pairwise(trainer.network.program.operations):
        is_one = after.kind == "activation" and after.source == operation.target
        if is_one and operation.weights != NONE:
            yield operation, ~trainer.bank.grad[rows_of_neurons(operation)].any(axis=1)


def rows_of_neurons(operation: Operation) -> FloatArray:
    """Return the bank rows of each neuron of an operation, shape (neurons, rows)."""
    has_bias = operation.biases != NONE
    count = operation.target.size // operation.outputs_per_bias
    rows = np.array(operation.parameters)
    weights = len(rows) - has_bias * count
    return np.hstack([rows[:weights].reshape(count, -1), rows[weights:].reshape(count, -1)])


def dead_share(still: Any, after: Operation, known: dict[str, FloatArray]) -> float:
    """Return the fraction of units with zero gradient and zero slope for all samples.

    Args:
        still: bool array, True for units whose weights all have zero gradient
    """
    x, y = [known[each.name].T.reshape(len(still), -1) for each in (after.source, after.target)]
    slopes = [
        map(ACTIVATIONS[after.formula].derivative, x[i].tolist(), y[i].tolist())
        for i in np.flatnonzero(still)
    ]
    return [*map(any, slopes)].count(False) / len(still)


def ends(activation: str) -> tuple[float, float]:
    """Return the lower and the upper bound of an activation, which may be infinite."""
    value = ACTIVATIONS.get(activation, ACTIVATIONS["linear"]).value
    low, *_, high = sorted(value(float(x)) for x in (-1000, *np.linspace(-10, 10, 401), 1000))
    return low if low > -10.0 else -np.inf, high if high < 10.0 else np.inf


def flat_share(activation: str, y: FloatArray) -> float:
    """Return the fraction of results near an activation's bounds; NaN if it cannot saturate."""
    (low, high), value = ends(activation), ACTIVATIONS[activation].value
    is_flat = low < value(0.0) < high == value(1000.0)
    return (
        float(np.mean(np.minimum(y - low, high - y) < FLAT * (high - low))) if is_flat else np.nan
    )


def samples_of(batches: Batches, most: int) -> tuple[FloatArray, FloatArray]:
    """Return the inputs and targets of the training samples, evenly thinned to `most`.

    For data that is generated in each step, return the samples of step 0.
    """
    is_table = isinstance(batches, TableBatches)
    inputs, targets = (batches.inputs, batches.targets) if is_table else batches.at(0)
    rows: Any = slice(None)
    if len(inputs) > most:
        rows = np.arange(most) * len(inputs) // most
    return inputs[rows], targets[rows]


def facts_of(trainer: Trainer) -> dict[str, Any]:
    """Return the Measures that describe the data, the current loss and the current outputs."""
    inputs, targets = samples_of(trainer.batches, SAMPLES)
    program = trainer.network.program
    seen = trainer.network.survey(inputs).get(  # standardized if the first layer is an Affine
        program.raw.get(program.inputs.name, ""), inputs
    )
    return {
        "batch": trainer.batches.size,
        "samples": trainer.batches.samples,
        "loss": trainer.loss.name,
        "activation": program.operations[-1].formula if trainer.network.layers else "",
        "targets": (float(targets.min()), float(targets.max())),
        "scales": np.abs(seen).max(axis=0),
        "ties": ties_of(seen, targets) if len(inputs) >= FEW else unknown(),
        "numbers": np.arange(len(inputs)) * trainer.batches.samples // len(inputs),
        "oddness": oddness_of(seen, targets) if len(inputs) >= FEW else unknown(),
        **losses_of(trainer, inputs, targets),
    }


def losses_of(trainer: Trainer, inputs: FloatArray, targets: FloatArray) -> dict[str, Any]:
    """Return the current loss of each sample, and its loss for the best constant output."""
    loss, answer = trainer.loss, targets.mean(axis=0)
    if loss.row.logits:  # sigmoid's are differences
        answer = np.log(answer + 1e-6) - (loss.row.logits == "sigmoid") * np.log1p(1e-6 - answer)
    whole = trainer.batches.size if loss.mean == "none" else 1
    return {
        "sample_losses": whole * loss.of_each(trainer.network(inputs), targets),
        "constants": whole * loss.of_each(np.tile(answer, (len(targets), 1)), targets),
    }


def ties_of(inputs: FloatArray, targets: FloatArray) -> Any:
    """Return the fraction of the variance of each input column that the targets explain.

    The unexplained part is the variance within a class or, for many target values, between samples
    with neighbouring targets. Ranks are used instead of numbers, so that outliers do not dominate.
    """
    columns = np.array([np.unique(column, return_inverse=True)[1] for column in inputs.T])
    classes = np.unique(targets, axis=0, return_inverse=True)[1].ravel()
    keys, furthest = (targets.T, np.inf) if classes.max() > MOST * len(inputs) else ([classes], 0)
    left = [
        np.mean(np.diff(columns[:, np.argsort(key)])[:, np.diff(np.sort(key)) <= furthest] ** 2, 1)
        for key in keys
    ]
    return 1.0 - (np.min(left, axis=0) + TINY) / (2.0 * columns.var(axis=1) + TINY)


def oddness_of(inputs: FloatArray, targets: FloatArray) -> Any:
    """Return how far each target is from the targets of its nearest neighbours; see Measures."""
    x = (inputs - inputs.mean(axis=0)) / np.maximum(inputs.std(axis=0), TINY)
    distances = np.sum(x**2, axis=1) - 2.0 * x @ x.T  # squared, minus a constant of each row
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    return np.sum((targets - targets[nearest].mean(axis=1)) ** 2, axis=1) / max(
        float(targets.var(axis=0).sum()), TINY
    )
