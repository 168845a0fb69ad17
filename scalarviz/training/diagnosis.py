"""Diagnosis: what is wrong with a training, found in its past.

`measures_of` visits some moments of a session and returns plain arrays, `judge` reads these. Each
kind of fault is a row of FAULTS with a function that yields findings. Whatever else can fill in
Measures, such as a training outside of scalarviz, is judged by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, final, overload

import numpy as np

from scalarviz.base.checks import FloatArray, answered, shorten
from scalarviz.core.formulas.activations import ACTIVATIONS, ActivationFormula
from scalarviz.core.formulas.losses import EVERYWHERE, Loss
from scalarviz.core.program import NONE, Program
from scalarviz.errors import InputError, OrderError
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.conditions import rows_of_neurons
from scalarviz.training.session.landscape import samples_of
from scalarviz.training.session.over_time import layers_of
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import check_end
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer


# What is measured, and what is found.


def unknown() -> FloatArray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Measures:
    """Numbers about some moments of a training, from which `judge` reads what is wrong.

    Arrays with two axes have a row for each moment and a column for each group of parameters.

    steps      number of the step that was taken at each moment, increasing
    losses     loss of each step, from step 0 on; NaN where unknown
    names      names of the groups, from the inputs to the outputs, such as "layer 0"
    values     root mean square of the weights of a group before the step; `gradients` of their
               gradients, `updates` of their change by the step
    dead       share of the units, rows of a weight matrix, that no sample can move; NaN: unknown
    saturated  share of the activations whose slope is nearly 0, though it is steep elsewhere, such
               as those of tanh; NaN: unknown

    The others have defaults, which mean unknown:

    alike          share of the units whose weights are those of another unit of their layer, before
                   the first step, one number a group
    gains          factor by which a group scales the spread of its inputs before the first step:
                   root mean square of its weights times the root of the inputs of a unit
    batch          samples of a step, of `samples` that there are for training
    loss           name of the loss, `activation` of the activation of the outputs
    targets        smallest and largest target
    constant       loss of the best answer that is the same for all samples
    scales         size of each input column: its largest absolute value
    ties           share of each column's variance that the target explains
    numbers        rows of some training samples; `sample_losses` are their losses at present
    oddness        squared distance of their targets from the mean of their nearest neighbours,
                   relative to the variance of the targets
    held_out       loss of held-out samples at each moment
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
    batch: int = 0
    samples: int = 0
    loss: str = ""
    activation: str = ""
    targets: tuple[float, float] = (np.nan, np.nan)
    constant: float = np.nan
    scales: FloatArray = field(default_factory=unknown)
    ties: FloatArray = field(default_factory=unknown)
    numbers: FloatArray = field(default_factory=unknown)
    sample_losses: FloatArray = field(default_factory=unknown)
    oddness: FloatArray = field(default_factory=unknown)
    held_out: FloatArray = field(default_factory=unknown)

    @cached_property
    def reference(self) -> float:
        """Loss of the best constant answer, or of the first steps if that is unknown."""
        is_known = np.isfinite(self.constant) and self.constant > 0.0
        return self.constant if is_known else float(np.nanmean(self.losses[:RECENT]))

    @cached_property
    def level(self) -> float:
        """Mean loss of the last steps, relative to the reference: 1 is as good as no training."""
        recent = max(RECENT, self.samples // max(1, self.batch), len(self.losses) // 10)
        known = self.losses[-recent:][~np.isnan(self.losses[-recent:])]
        return float(np.mean(known)) / self.reference if len(known) else np.inf

    @cached_property
    def ratios(self) -> FloatArray:
        """Size of each update relative to that of the weights."""
        return self.updates / np.maximum(self.values, TINY)


@final
@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a training.

    kind    short name of the kind of fault, a row of FAULTS, such as "dead"
    where   the layer, module, column or samples; "" for the training as a whole
    step    the step at which it was first seen
    text    what is wrong, with numbers
    remedy  what to try
    """

    kind: str
    where: str
    step: int
    text: str
    remedy: str

    def __str__(self) -> str:
        where = f", {self.where}" if self.where else ""
        return f"step {self.step:,}{where}: {self.text}. {self.remedy}."


@final
class Diagnosis(Sequence[Finding]):
    """The findings about a training, the earliest first, and the `measures` that they come from."""

    def __init__(self, measures: Measures) -> None:
        self.measures = measures
        self._findings = judge(measures)

    def __len__(self) -> int:
        return len(self._findings)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        return self._findings[index]

    def __repr__(self) -> str:
        measures = self.measures
        return "\n".join(map(str, self)) or (
            f"Nothing wrong was found in {len(measures.losses):,} losses, at {len(measures.steps)} "
            f"moments of {len(measures.names)} layers and in {len(measures.numbers):,} samples."
        )


@answered
def diagnose(shown: object) -> Diagnosis:
    """Return what is wrong with a training, with the step at which it began and what to try.

    shown  a Session, which stays as it is; or an object with a method `measures()` that returns
           Measures

    The past is visited at 24 moments at equal distances, so that a step is known as exactly as
    these are apart. Raises OrderError before the first step, InputError for another object.
    """
    measures = getattr(shown, "measures", None)
    if isinstance(shown, Session):
        return Diagnosis(measures_of(shown))
    if not callable(measures):
        raise InputError(
            f"diagnose takes a session that has trained, not {shorten(shown)}: pass "
            "s = sv.Session(net, data) after s.advance(1000)"
        )
    return Diagnosis(measures())


# Faults: one function for each kind, which yields what it finds.

RECENT = 20  # steps at least that a loss is averaged over, and before which it judges nothing
TINY = 1e-30  # instead of a division by 0
HIGH = 0.5  # level of a loss that has hardly fallen: half of what a constant answer has
LOW = 0.1  # level below which a training does well, so that its faults do not matter
MOST = 0.5  # share of a layer that counts as most of it
LARGE_STEP = 0.3  # of the weights a step: three steps turn them over; about 0.001 is usual
STEP_TO_RISE = 0.1  # of the weights a step, by which a loss can be made to rise
SMALL_STEP = 1e-4  # of the weights a step: it takes 10,000 steps to move them by their size
SLOPE = 0.01  # gradient relative to the weights: a smaller one would excuse small steps
OVERSHOOT = 3.0  # times the loss at first: batches differ by less, and descent only lowers it
APART = 1e3  # between gradients of first and last layer: one rate cannot suit both
LARGE_GAIN = 4.0  # initializers have 0.6 to 1.4, and tanh is flat from 2.2 on
LARGE_START = 10.0  # level of a first loss that small weights cannot have
SPREAD = 30.0  # between inputs: curvatures differ by its square, about 1,000
TIED = 0.999  # share of a column explained by the target: what is measured has more noise
FEW = 20  # samples below which a column can fit the targets by chance
GAP = 4.0  # between losses of wrong samples and of others: near a border they are closer
RARE = 0.05  # share of the samples: more of them are no exceptions
LISTED = 5  # samples that a finding names
Found = Iterator[Finding]


def since(marks: Any) -> int | None:
    """Return the index from which on all marks are True; None if the last one is not."""
    no = np.flatnonzero(~np.asarray(marks, np.bool_))
    first = int(no[-1]) + 1 if len(no) else 0
    return first if first < len(marks) else None


def not_finite(m: Measures) -> Found:
    steps = [*np.flatnonzero(np.isinf(m.losses)), *m.steps[np.isnan(m.losses[m.steps])]]
    lost = ~np.isfinite(m.gradients) & np.isfinite(m.values)
    lost[:, np.isnan(m.gradients).all(axis=0)] = False  # never known, as of frozen modules
    moments = np.flatnonzero(lost.any(axis=1))
    steps += m.steps[moments].tolist()
    if steps:
        groups = np.flatnonzero(lost[moments[0]]) if len(moments) else ()
        where = m.names[groups[-1]] if len(groups) else ""  # backward comes from the outputs
        text = f"the loss or a gradient is NaN or infinite from {min(steps):,} on"
        yield Finding("not finite", where, int(min(steps)), text, CALM)


def scale(m: Measures) -> Found:
    sizes = m.scales[m.scales > 0.0]
    if not len(sizes):
        return
    usual = min(1.0, float(np.exp(np.percentile(np.log(sizes), 25))))
    largest = int(np.argmax(m.scales))
    if m.scales[largest] > SPREAD * usual:
        text = (
            f"its numbers reach {m.scales[largest]:.3g}, where others end at {usual:.3g}, so that "
            "no rate suits the weights of both"
        )
        yield Finding("scale", f"input {largest}", 0, text, STANDARDIZE)


def leak(m: Measures) -> Found:
    tied, varies = m.ties > TIED, m.scales > 0.0
    if m.samples < FEW or len(tied) == 0 or tied[varies].all():  # a map of the inputs themselves
        return
    for column in np.flatnonzero(tied):
        text = f"the target explains {100 * m.ties[column]:.4g} % of this column: it gives it away"
        remedy = "Try without it, unless it is known before the answer"
        yield Finding("leak", f"input {column}", 0, text, remedy)


def reach_of_outputs(m: Measures) -> Found:
    row = ACTIVATIONS.get(m.activation)
    low, high = (0.0, 1.0) if m.activation == "softmax" else reach(row) if row else EVERYWHERE
    smallest, largest = m.targets
    if smallest < low or largest > high:
        text = (
            f"targets go from {smallest:.3g} to {largest:.3g}, and {m.activation} only from "
            f"{low:.3g} to {high:.3g}"
        )
        remedy = f"Try linear outputs, or targets scaled to {low:.3g} .. {high:.3g}"
        yield Finding("reach", "outputs", 0, text, remedy)


def loss_of_outputs(m: Measures) -> Found:
    if m.activation == "softmax" and m.loss:  # the losses on logits refuse it
        text = f"{m.loss} has hardly any gradient where softmax is sure and wrong"
        remedy = "Try linear outputs with the loss softmax_cross_entropy"
        yield Finding("loss", "outputs", 0, text, remedy)


def alike(m: Measures) -> Found:
    for name, share in zip(m.names[:-1], m.alike, strict=False):  # outputs may begin alike
        if share > MOST:
            text = f"{100 * share:.0f} % of its neurons begin with the same weights, and so stay the same"
            yield Finding("alike", name, 0, text, "Try random weights, such as init='he_normal'")


def large_weights(m: Measures) -> Found:
    gains = np.nan_to_num(m.gains, nan=1.0)
    if not len(gains) or m.steps[0] or m.names[0] == "":
        return
    is_flat = bool((m.saturated[0] > MOST).any()) and gains.max() > LARGE_GAIN
    whole = float(np.prod(np.maximum(gains, 1.0)))
    if is_flat or (whole > LARGE_GAIN and m.losses[0] > LARGE_START * m.reference):
        text = f"the first weights make sums {gains.max():.3g} times as large as inputs"
        where = m.names[int(np.argmax(gains))]
        yield Finding("large weights", where, 0, text, "Try init='he_normal' or 'xavier_normal'")


def still(m: Measures) -> Found:
    others_move = (m.ratios > TINY).any(axis=1).all()
    for group in np.flatnonzero((m.updates == 0.0).all(axis=0) & (m.gradients != 0.0).any(axis=0)):
        if others_move and len(m.steps) > 2:
            text = "its weights have never moved, while those of other layers do"
            yield Finding("still", m.names[group], int(m.steps[0]), text, UNFREEZE)


def rate(m: Measures) -> Found:
    first, largest = max(m.reference, float(m.losses[0])), np.nanmax(m.ratios, axis=1)
    over = np.flatnonzero(m.losses > OVERSHOOT * first)
    recovers = len(m.losses) < 5 * RECENT and m.losses[-1] <= first  # it still may
    begun = int(np.argmax(largest > LARGE_STEP)) if np.median(largest) > LARGE_STEP else -1
    if len(over) and (largest > STEP_TO_RISE).any():
        begun = min(int(np.searchsorted(m.steps, over[0])), len(m.steps) - 1)
    if begun < 0 or recovers or m.level < HIGH:
        return
    moment = begun + int(np.argmax(largest[begun:]))
    rises = f", and the loss rises to {np.nanmax(m.losses) / first:.2g} times the first one"
    text = f"a step changes its weights by {largest[moment]:.2g} of their size"
    step = min([int(m.steps[begun]), *over[:1].tolist()])
    where = m.names[int(np.nanargmax(m.ratios[moment]))]
    yield Finding("rate", where, step, text + rises * len(over[:1]), CALM)


def dead(m: Measures) -> Found:
    for group, name in enumerate(m.names):
        share, start = m.dead[-1, group], since(m.dead[:, group] >= MOST)
        if start is not None and (m.level > LOW or share > 0.9):
            text = f"{100 * share:.0f} % of its neurons are dead: no sample moves their weights any more"
            yield Finding("dead", name, int(m.steps[start]), text, REVIVE)


def saturated(m: Measures) -> Found:
    for group, name in enumerate(m.names):
        start = since(m.saturated[:, group] > MOST)
        if start is not None and m.level > HIGH:
            share = m.saturated[-1, group]
            text = f"{100 * share:.0f} % of its activations are saturated: they pass on hardly any gradient"
            remedy = "Try smaller initial weights, a lower rate, or relu"
            yield Finding("saturated", name, int(m.steps[start]), text, remedy)


def vanishing(m: Measures) -> Found:
    marks = m.gradients[:, 0] * APART < m.gradients[:, -1]
    if marks.mean() > MOST and m.level > HIGH:
        apart = np.median(m.gradients[:, -1] / np.maximum(m.gradients[:, 0], TINY))
        text = f"its gradients are {apart:.2g} times smaller than those of {m.names[-1]}"
        remedy = "Try relu, fewer layers, BatchNorm or Residual layers"
        yield Finding("vanishing", m.names[0], int(m.steps[np.argmax(marks)]), text, remedy)


def exploding(m: Measures) -> Found:
    marks = m.gradients[:, 0] > APART * m.gradients[:, -1]
    if marks.mean() > MOST and m.level > HIGH:
        apart = np.median(m.gradients[:, 0] / np.maximum(m.gradients[:, -1], TINY))
        text = f"its gradients are {apart:.2g} times larger than those of {m.names[-1]}"
        remedy = "Try smaller initial weights, clip_norm=1.0 or BatchNorm"
        yield Finding("exploding", m.names[0], int(m.steps[np.argmax(marks)]), text, remedy)


def slow(m: Measures) -> Found:
    largest, slope = np.nanmax(m.ratios), np.nanmax(m.gradients / np.maximum(m.values, TINY))
    if len(m.losses) >= RECENT and m.level > HIGH and largest < SMALL_STEP and slope > SLOPE:
        text = f"no step has changed a layer by more than {largest:.2g} of its weights"
        yield Finding("slow", "", int(m.steps[0]), text, "Try a rate that is 100 times as high")


def labels(m: Measures) -> Found:
    level = m.held_out[-1] / m.reference if np.isfinite(m.held_out[-1:]).any() else m.level
    if len(m.losses) >= RECENT and len(m.oddness) and m.oddness.mean() > 1.0 and level > HIGH:
        text = (
            "targets have nothing to do with inputs: those of similar samples are as different as "
            f"any, and the loss is {level:.2g} times that of a constant answer"
        )
        yield Finding("labels", "", 0, text, "Try to find out whether rows were shuffled apart")


def samples(m: Measures) -> Found:
    order = np.argsort(-m.sample_losses)
    levels = m.sample_losses[order] / m.reference
    few = int(RARE * len(order))
    if not few or not len(m.oddness) or not np.isfinite(levels).all():
        return
    gaps = levels[:few] / np.maximum(levels[1 : few + 1], TINY)
    wrong = order[: int(np.argmax(gaps)) + 1]
    if gaps.max() > GAP and levels[len(wrong) - 1] > 1.0 and (m.oddness[wrong] > 1.0).all():
        text = (
            f"the losses of {len(wrong)} of {len(order):,} samples are {gaps.max():.2g} times those "
            "of all others, and their targets are unlike those of similar samples"
        )
        where = f"samples {', '.join(map(str, m.numbers[wrong[:LISTED]].tolist()))}"
        yield Finding("samples", where, int(m.steps[-1]), text, "Try to correct their targets")


def batch(m: Measures) -> Found:
    if m.batch == 1 and FEW <= m.samples <= len(m.losses) and m.level > LOW:
        text = "each step follows a single sample, so that the next one undoes much of it"
        yield Finding("batch", "", 0, text, "Try batch=16, or a lower rate")


def overfitting(m: Measures) -> Found:
    if not np.isfinite(m.held_out[-1:]).any() or len(m.losses) < RECENT:
        return
    best, now = float(np.nanmin(m.held_out)) / m.reference, float(m.held_out[-1]) / m.reference
    if m.level < LOW and (now > best + HIGH or (now > HIGH and m.level < LOW * now)):
        text = (
            f"the loss is {m.level:.2g} times that of a constant answer in training, and {now:.2g} "
            "times for held-out samples"
        )
        step = int(m.steps[int(np.nanargmin(m.held_out))])
        yield Finding(
            "overfitting", "", step, text, "Try more samples, decay=0.01 or EarlyStopping"
        )


def stuck(m: Measures) -> Found:
    first, second = np.array_split(m.losses, 2)
    is_level = 0.95 < m.level and np.nanmean(second) > 0.99 * np.nanmean(first)
    if len(m.losses) >= 10 * RECENT and is_level:
        text = f"the loss does not fall: it is {m.level:.2g} times that of a constant answer"
        yield Finding("stuck", "", int(m.steps[0]), text, "Try another rate or a larger network")


CALM = "Try a rate that is 10 times lower, or clip_norm=1.0"
STANDARDIZE = "Try sv.data.Arrays(..., standardize=True)"
UNFREEZE = "Try s.freeze(part, on=False), or a higher rate of its own"
REVIVE = "Try leaky_relu, a lower rate, or sv.reinitialize"


class Fault(NamedTuple):
    """A kind of fault, and other kinds that it is a consequence of: then it is not reported."""

    find: Callable[[Measures], Found]
    causes: str = ""


FAULTS = {
    "not finite": Fault(not_finite),
    "scale": Fault(scale),
    "leak": Fault(leak),
    "reach": Fault(reach_of_outputs),
    "loss": Fault(loss_of_outputs),
    "alike": Fault(alike),
    "large weights": Fault(large_weights, "scale"),
    "still": Fault(still),
    "rate": Fault(rate, "scale, large weights"),
    "dead": Fault(dead, "scale, alike"),
    "saturated": Fault(saturated, "scale, reach, large weights"),
    "vanishing": Fault(vanishing, "scale, alike, large weights, still, dead, saturated"),
    "exploding": Fault(exploding, "scale, large weights, rate"),
    "slow": Fault(slow, "scale, alike, large weights, dead, saturated, vanishing"),
    "labels": Fault(labels),
    "samples": Fault(samples, "scale, reach, labels"),
    "batch": Fault(batch),
    "overfitting": Fault(overfitting, "labels"),
}


def judge(measures: Measures) -> list[Finding]:
    """Return what is wrong with a training by its measures, the earliest first."""
    found: list[Finding] = []
    for fault in FAULTS.values():
        if not {each.kind for each in found}.intersection(fault.causes.split(", ")):
            found += fault.find(measures)
    found += stuck(measures) if not found else ()
    return sorted(found, key=lambda finding: finding.step)


# Measures of a session.

MOMENTS = 24  # of the past that are visited
SEEN = 256  # samples whose activations are looked at there
SAMPLES = 1024  # samples that are compared with each other, a matrix of their distances
NEIGHBOURS = 5  # of a sample, by distance of inputs
FLAT = 0.0125  # of the way between both ends of an activation: tanh has a slope of 0.05 there
EPS = 1e-6  # smallest probability


def measures_of(session: Session) -> Measures:
    """Return Measures of the past of a session, which stays as it is.

    Raises OrderError before the first step.
    """
    with session.doing():
        timeline, trainer = session.timeline, session.trainer
        now, last = timeline.clock, len(trainer.moments) - 1
        is_refused = now.operation == last and not np.isfinite(trainer.bank.grad).all()
        end = now.step - (not is_refused)
        if end < 0:
            raise OrderError("nothing was trained yet, so nothing can be wrong: advance first")
        losses = session.losses
        if is_refused:
            losses = np.append(losses, timeline.loss)
        facts = facts_of(timeline)
        steps = np.unique(np.linspace(0, end, MOMENTS).astype(np.int64))
        found = [*visits(timeline, steps.tolist(), now.step)]
        rows = {name: np.array(each) for name, each in zip(BY_VISIT, zip(*found), strict=True)}
        names = [name for name, _ in groups_of(trainer.network.program, len(trainer.bank))]
        first = {name: rows.pop(name)[0] for name in ("alike", "gains")}
        return Measures(steps, losses, names, **rows, **first, **facts)


Groups = Sequence[tuple[str, Any]]
BY_VISIT = "values gradients updates dead saturated alike gains held_out".split()


def groups_of(program: Program, count: int) -> Groups:
    """Return name and rows of each layer with weights; those of Affine layers are constants."""
    fixed = {row for each in program.affines for row in each.parameters}
    found = [
        (f"layer {label}" if label else "all", rows) for label, rows in layers_of(program, count)
    ]
    return [(name, rows) for name, rows in found if not fixed.issuperset(rows.tolist())]


def visits(timeline: Timeline, steps: Sequence[int], now: int) -> Iterator[tuple[Any, ...]]:
    """Yield the numbers of BY_VISIT at each step, on a way through the past that ends at `now`."""
    trainer = timeline.trainer
    bank, network, data = trainer.bank, trainer.network, trainer.settings.data
    groups, (inputs, _) = groups_of(network.program, len(bank)), samples_of(trainer.batches, SEEN)
    held_out: Callable[[], float] = lambda: np.nan
    if data.held_out is not None:
        held_out = network.loss_on(*[each[:SAMPLES] for each in data.held_out], trainer.loss)
    with timeline.visit(Clock()):
        try:
            for step in steps:
                frame = timeline.branch.frame_before(step)
                if frame is not None and frame.step > timeline.clock.step:
                    timeline.restore(frame.step)
                timeline.enter(step)
                timeline.forward(Clock(step, len(trainer.moments) - 1))
                before, about = bank.value.copy(), of_units(trainer, groups, inputs)
                sizes = [spread(each, groups) for each in (before, bank.grad)]
                outside = held_out()
                if step < now:
                    timeline.forward(Clock(step + 1))
                moved = spread(bank.value - before, groups) if step < now else np.inf * sizes[0]
                yield *sizes, moved, *about, outside
                check_end()
        finally:
            timeline.restore(now)


def spread(numbers: FloatArray, groups: Groups) -> FloatArray:
    """Return the root mean square of the numbers of each group."""
    parts = [numbers[rows].astype(np.float64) for _, rows in groups]
    return np.array([np.sqrt(np.mean(part * part)) for part in parts])


def of_units(trainer: Trainer, groups: Groups, inputs: FloatArray) -> FloatArray:
    """Return the shares of units that are dead, saturated and alike, and the gain of each group."""
    program, bank, found = trainer.network.program, trainer.bank, np.full((4, len(groups)), np.nan)
    if program.is_graph:
        return found
    known = trainer.network.survey(inputs)
    for operation, after in pairwise([*program.operations, *program.operations[-1:]]):
        group = [i for i, (_, rows) in enumerate(groups) if operation.weights in rows]
        if not group or not operation.about.multiplies or operation.kind == "scale":
            continue
        units = rows_of_neurons(operation)
        weights = bank.value[units[:, : units.shape[1] - (operation.biases != NONE)]]
        _, place, count = np.unique(weights, axis=0, return_inverse=True, return_counts=True)
        found[2:, group[0]] = (
            np.mean(count[place] > 1) if weights.shape[1] > 1 else np.nan,
            np.sqrt(np.mean(weights.astype(np.float64) ** 2) * weights.shape[1]),
        )
        if after.kind == "activation" and after.source == operation.target:
            x, y = [
                known[each.name].reshape(len(inputs), len(units), -1)
                for each in (after.source, after.target)
            ]
            row = ACTIVATIONS[after.formula]
            still = ~bank.grad[units].any(axis=1)
            dead = [
                still[i]
                and not any(map(row.derivative, x[:, i].ravel().tolist(), y[:, i].ravel().tolist()))
                for i in range(len(units))
            ]
            found[:2, group[0]] = np.mean(dead), flat_share(row, y)
    return found


def flat_share(row: ActivationFormula, y: FloatArray) -> float:
    """Return the share of results near the ends of an activation that has two; else NaN."""
    low, high = reach(row)
    ends = [abs(row.derivative(x, row.value(x))) for x in (-1000.0, 1000.0)]
    if max(ends) > FLAT or not low < row.value(0.0) < high or not np.isfinite(high - low):
        return np.nan
    return float(np.mean((y < low + FLAT * (high - low)) | (y > high - FLAT * (high - low))))


def reach(row: ActivationFormula) -> tuple[float, float]:
    """Return the smallest and the largest result of an activation; infinity if it has no end."""
    results = [row.value(float(x)) for x in (-1000, *np.linspace(-10, 10, 401), 1000)]
    low, high = min(results), max(results)
    return low if low > -10.0 else -np.inf, high if high < 10.0 else np.inf


def facts_of(timeline: Timeline) -> dict[str, Any]:
    """Return what Measures say of the data, the loss and the outputs, as they are at present."""
    trainer, program = timeline.trainer, timeline.trainer.network.program
    loss, (inputs, targets) = trainer.loss, samples_of(trainer.batches, SAMPLES)
    outputs, count = trainer.network(inputs), trainer.batches.samples
    whole = trainer.batches.size if loss.mean == "none" else 1  # of samples in a loss
    if not program.is_graph and program.inputs.name in program.raw:  # standardized by an Affine
        inputs = trainer.network.survey(inputs)[program.raw[program.inputs.name]]
    answers = zip([*outputs, *[best_constant(loss, targets)] * len(targets)], [*targets] * 2)
    losses = whole * np.array([loss(p, t) for p, t in answers]).reshape(2, -1)
    return {
        "batch": trainer.batches.size,
        "samples": count,
        "loss": loss.name,
        "activation": "" if program.is_graph else program.operations[-1].formula,
        "targets": (float(targets.min()), float(targets.max())),
        "constant": float(losses[1].mean()),
        "scales": np.abs(inputs).max(axis=0),
        "ties": ties_of(inputs, targets),
        "numbers": np.arange(len(inputs)) * count // len(inputs),
        "sample_losses": losses[0],
        "oddness": oddness_of(inputs, targets),
    }


def best_constant(loss: Loss, targets: FloatArray) -> FloatArray:
    """Return about the best answer that is the same for all samples: their mean, or its logits."""
    mean = targets.mean(axis=0)
    if loss.row.logits:
        share = np.clip(mean, EPS, 1.0 - EPS)
        mean = np.log(share) - (np.log1p(-share) if loss.row.logits == "sigmoid" else 0.0)
    return mean


def ties_of(inputs: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the share of the variance of each input column that the targets explain.

    Targets of few kinds explain it by the mean of each kind, others by a straight line.
    """
    kinds, place, counts = np.unique(targets, axis=0, return_inverse=True, return_counts=True)
    x = inputs - inputs.mean(axis=0)
    whole = (x**2).sum(axis=0)
    if len(kinds) * 5 <= len(targets):
        sums = np.zeros((len(kinds), inputs.shape[1]))
        np.add.at(sums, place.ravel(), x)
        explained = (sums**2 / counts[:, np.newaxis]).sum(axis=0)
    else:
        t = targets - targets.mean(axis=0)
        explained = ((x.T @ t) ** 2 / np.maximum((t**2).sum(axis=0), TINY)).max(axis=1)
    return np.divide(explained, whole, out=np.zeros_like(whole), where=whole > 0)


def oddness_of(inputs: FloatArray, targets: FloatArray) -> FloatArray:
    """Return how far each target is from those of the nearest neighbours; see Measures."""
    if len(inputs) < 4 * NEIGHBOURS:
        return unknown()
    deviations = inputs.std(axis=0)
    x = inputs / np.where(deviations > 0.0, deviations, 1.0)
    squares = (x**2).sum(axis=1)
    distances = squares[:, np.newaxis] + squares - 2.0 * x @ x.T
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
    off = ((targets - targets[nearest].mean(axis=1)) ** 2).sum(axis=1)
    return off / (targets.var(axis=0).sum() or 1.0)
