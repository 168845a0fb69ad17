"""The sample of a step that is easiest to follow, selected from the results of the step.

It uses plain numbers only; pages run it as JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalarviz.base.texts.decimals import short
from scalarviz.scene.telling import FEW_OUTPUTS, printed
from scalarviz.story.facts import NONE, Facts, Numbers, State
from scalarviz.story.panel_words import mean_off
from scalarviz.story.traced_weight import (
    explained_row,
    largest_place,
    read_answers,
    summing,
    thread_of,
    values_of,
)

# Maximum samples times weights of a step that is computed in advance; and with classes.
MOST, MOST_SORTED = 20_000, 400_000
# Points if the sample asks for the same direction as the batch, and if all numbers of its loss
# are printed differently; any other agreement is one point.
ASKED, APART = 4, 3
FAR = 2.0  # points for an error of 1, to prefer a sample with a large error


def can_choose(facts: Facts, weights: int, batch: int) -> bool:
    """Return whether a sample can be chosen: the step is fully explained and quick to compute."""
    places = summing(facts)
    most = MOST_SORTED if facts.loss.logits == "softmax" else MOST
    if facts.is_graph or facts.learning or len(places) == 0 or weights * batch > most:
        return False
    if facts.loss.logits == "softmax":
        return True
    is_told = facts.operations[places[-1]].kind == "affine"
    return is_told and facts.buffers[facts.outputs].size <= FEW_OUTPUTS


def clearest_sample(facts: Facts, state: State, fresh: Numbers) -> int | None:
    """Return the sample of a step that is easiest to follow; None if unknown or if no sample fits.

    Args:
        state: the state after the step
        fresh: the outputs of the samples with the weights after the step

    A sample fits if all of its outputs move toward their targets. Among these, the sample with the
    highest score is chosen: printed terms add up to the printed sum, the explained weight visibly
    changes in the direction that the sample asks for, the numbers of its loss are all printed
    differently, and its error is large.
    """
    batch, size = state.all, facts.buffers[facts.outputs].size
    if batch is None or state.before is None:
        return None
    if facts.loss.logits == "softmax":
        return least_sure(facts, state, fresh)
    names = [each for each in facts.buffers if each in batch.gradients]
    best, most = -1, -1.0
    for sample in range(state.batch):
        values = {each: part_of(facts, batch.values[each], each, sample) for each in facts.buffers}
        sent = {each: part_of(facts, batch.gradients[each], each, sample) for each in names}
        goals = [float(each) for each in batch.targets[sample * size : sample * size + size]]
        before = read_answers(values[facts.outputs], facts.loss.logits)
        after = read_answers(part_of(facts, fresh, facts.outputs, sample), facts.loss.logits)
        pairs = zip(before, after, goals, strict=True)
        if not all(abs(new - goal) < abs(out - goal) for out, new, goal in pairs):
            continue
        own = replace(state, focus=sample, values=values, gradients=sent, target=goals)
        agreed = agreements(facts, own)
        found = FAR * mean_off(before, goals) + (APART if are_apart(before, goals) else 0)
        for place, each in enumerate(agreed):
            found += (ASKED + 1 if place % 3 == 1 else 1) if each else 0
        if found > most:
            best, most = sample, found
    return best if best >= 0 else None


def least_sure(facts: Facts, state: State, fresh: Numbers) -> int | None:
    """Return the sample with the least probable right class, of those that a step improves.

    Its error is the easiest to explain. Returns None if the targets are not classes.
    """
    batch, name = state.all, facts.outputs
    best, least = -1, 1.0
    for sample in range(0 if batch is None else state.batch):
        assert batch is not None
        goals = part_of(facts, batch.targets, name, sample)
        before = read_answers(part_of(facts, batch.values[name], name, sample), facts.loss.logits)
        after = read_answers(part_of(facts, fresh, name, sample), facts.loss.logits)
        right = largest_place(goals)
        if goals[right] == 1.0 and before[right] < min(least, after[right]):
            best, least = sample, before[right]
    return best if best >= 0 else None


def agreements(facts: Facts, state: State) -> list[bool]:
    """Return three checks for the explained neuron of each layer, after a step.

    They are: the printed terms of its sum add up; the sample asks for the same direction of the
    explained weight as the batch; the printed weight changes.
    """
    thread, before, moment = thread_of(facts, state), state.before, facts.moments[state.moment]
    places = summing(facts)
    found: list[bool] = []
    if before is None:
        return found
    for layer, unit in enumerate(thread):
        each = facts.operations[places[layer]]
        x = values_of(facts, state, each.source)
        first = each.weights + unit * len(x)
        terms = [x[place] * float(before[first + place]) for place in range(len(x))]
        terms += [] if each.biases == NONE else [float(before[each.biases + unit])]
        row = explained_row(facts, state, moment, (each.target, unit))
        own = float(state.gradients[each.target][unit]) * x[row - first]
        found += [
            len(printed(terms, values_of(facts, state, each.target)[unit])) > 0,
            own * float(state.grad[row]) > 0.0,
            short(float(before[row])) != short(float(state.value[row])),
        ]
    return found


def part_of(facts: Facts, numbers: Numbers, name: str, sample: int) -> list[float]:
    """Return the numbers of one sample, from a buffer with all samples."""
    size = facts.buffers[name].size
    return [float(each) for each in numbers[sample * size : sample * size + size]]


def are_apart(outputs: Sequence[float], goals: Sequence[float]) -> bool:
    """Return whether outputs, targets, errors and their mean are all printed differently."""
    gaps = [abs(out - goal) for out, goal in zip(outputs, goals, strict=True)]
    mean = [sum(gaps) / len(gaps)] if len(gaps) > 1 else []
    words = [short(each) for each in [*outputs, *goals, *gaps, *mean]]
    return len({*words}) == len(words)
