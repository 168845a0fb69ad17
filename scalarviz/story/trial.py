"""Outputs for the shown sample if one weight is changed, and after a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.story.caption import Bar, Bars, Effect, Miss, Outcome, Trial
from scalarviz.story.facts import NONE, TERMS, Facts, State
from scalarviz.story.names import homes_of
from scalarviz.story.panel_words import mean_off
from scalarviz.story.traced_weight import (
    TracedWeight,
    answers_with,
    following,
    read_answers,
    right_output,
    values_of,
    weights_from,
)

STEPS = (0.2, 0.1, 0.5)  # changes of a weight; the first that is visible in printed digits is used
FINE = 3  # digits of the errors of outputs
MOST, MOST_BARS = 4, 10  # maximum number of listed outputs, and of bars
MOST_SAMPLES = 20  # maximum samples of a step whose outputs are computed
MOST_WORK = 100_000  # maximum of weights times samples of such a step


def trial_of(facts: Facts, state: State, row: int, way: float) -> Trial | None:
    """Return the effect of a higher or a lower weight on the shown sample.

    Args:
        way: direction of the change: 1 is higher, -1 is lower

    The size of the change is one of STEPS, preferably one that improves the outputs. Returns None
    if no change is visible, or if the network has unsupported layers.
    """
    found = [trial_by(facts, state, row, way * step) for step in STEPS]
    seen = [each for each in found if each is not None and is_seen(each)]
    closer = [each for each in seen if each.off[1] < each.off[0]]
    return closer[0] if len(closer) > 0 else seen[0] if len(seen) > 0 else None


def is_seen(trial: Trial) -> bool:
    """Return whether a change is visible in the printed neuron, in an output, and in the error."""
    moved = [short(each.before) != short(each.after) for each in trial.outputs]
    own = trial.neuron
    is_neuron = own is not None and short(own.before) != short(own.after)
    return is_neuron and any(moved) and short(trial.off[0], FINE) != short(trial.off[1], FINE)


def trial_by(facts: Facts, state: State, row: int, step: float) -> Trial | None:
    """Return the outputs of the network with a weight increased by `step`."""
    homes, goals = homes_of(facts, row), state.target
    if goals is None or len(goals) > MOST or len(homes) != 1 or homes[0].kind != "affine":
        return None
    weights = [float(each) for each in state.value]
    weights[row] += step
    passed = answers_with(facts, state, weights)
    if len(passed) == 0:
        return None
    home = homes[0]
    unit = (row - home.weights) // home.shape[1]
    after = following(facts, home.target)
    name = home.target if after == NONE else facts.operations[after].source
    said = float(state.values[name][unit])
    called = text("card.neuron.fact.sum") if after == NONE else text("trial.neuron")
    neuron = Effect((name, unit), called, said, passed[name][unit])
    misses, now = misses_of(facts, state), read_answers(passed[facts.outputs], facts.loss.logits)
    outputs = [Effect(x.neuron, x.name, x.out, now[i]) for i, x in enumerate(misses)]
    between: list[float] = []
    if after != NONE and following(facts, facts.operations[after].target) == NONE:
        rows = weights_from(facts, facts.operations[after], unit)[0]
        between = [float(state.value[each]) for each in rows]
    value = float(state.value[row])
    off = off_of(outputs, misses)
    outputs = outputs[unit : unit + 1] if after == NONE else outputs  # all others are unchanged
    return Trial(step, (value, value + step), neuron, tuple(outputs), tuple(between), off)


def share_with(facts: Facts, state: State, row: int, step: float) -> tuple[float, float] | None:
    """Return the probability of the right class before and after a weight increases by `step`."""
    right = right_output(facts, state)
    if right is None:
        return None
    weights = [float(each) for each in state.value]
    weights[row] += step
    passed = answers_with(facts, state, weights)
    if len(passed) == 0:
        return None
    both = values_of(facts, state, facts.outputs), passed[facts.outputs]
    before, after = [read_answers(each, facts.loss.logits)[right[1]] for each in both]
    return before, after


def misses_of(facts: Facts, state: State) -> list[Miss]:
    """Return the outputs of the shown sample and their targets; empty if unknown.

    After a step, the outputs before it are returned.
    """
    goals = state.target
    if goals is None or facts.outputs not in state.values:
        return []
    is_graph, name = facts.is_graph, facts.outputs
    outputs = state.values[name] if is_graph else values_of(facts, state, name)
    names, count = facts.buffers[facts.outputs].names, len(outputs)
    is_share = right_output(facts, state) is not None
    found: list[Miss] = []
    for place, out in enumerate(read_answers(outputs, facts.loss.logits)):
        name = text("picture.out") if count == 1 else f"{place}"
        name = names[place] if count > 1 and place < len(names) else name
        goal = float(goals[place])
        found.append(Miss((facts.outputs, place), name, out, goal, is_share))
    return found


def outcome_of(ctx: TracedWeight) -> Outcome | None:
    """Return the effect of a step on the shown sample, or on the right class of many."""
    facts, state = ctx.facts, ctx.state
    misses, right = misses_of(facts, state), right_output(facts, state)
    if state.answer is None or len(misses) == 0:
        return None
    after = read_answers(state.answer, facts.loss.logits)
    every = [Effect(x.neuron, x.name, x.out, after[i]) for i, x in enumerate(misses)]
    places = [*range(len(every))] if len(every) <= TERMS else []
    shares: Bars | None = None
    if right is not None:
        places = [right[1]]
        shares = bars_among([Bar(x.name, x.after, NONE, x.before) for x in every], right[1])
    targets, is_wrong = ctx.of_batch("targets"), False
    kinds = [] if targets is None or len(every) > 1 else sorted({float(each) for each in targets})
    if len(kinds) == 2:
        border = 0.5 * (kinds[0] + kinds[1])
        is_wrong = (every[0].after > border) != (misses[0].goal > border)
    learning = [each for each in state.frozen if not each]
    return Outcome(
        tuple([every[place] for place in places]),
        tuple([misses[place].goal for place in places]),
        off_of(every, misses),
        state.batch - 1,
        len(learning) if len(state.frozen) > 0 else len(state.value),
        shares,
        wrong=is_wrong,
    )


def nearer_of(ctx: TracedWeight) -> list[float]:
    """Return how much the mean error of each sample fell in a step; empty if unknown."""
    facts, state, name = ctx.facts, ctx.state, ctx.facts.outputs
    outputs, goals = ctx.of_batch("values", name), ctx.of_batch("targets")
    is_known = state.answer is not None and state.all is not None
    is_small = state.batch <= MOST_SAMPLES and state.batch * len(state.value) <= MOST_WORK
    if not (is_known and is_small) or right_output(facts, state) is not None:
        return []
    size, found = facts.buffers[name].size, []
    for sample in range(state.batch):
        passed = answers_with(facts, replace(state, focus=sample), state.value)
        if outputs is None or goals is None or len(passed) == 0:
            return []
        first, last = sample * size, sample * size + size
        target = [float(each) for each in goals[first:last]]
        before = read_answers(outputs[first:last], facts.loss.logits)
        after = read_answers(passed[name], facts.loss.logits)
        found.append(mean_off(before, target) - mean_off(after, target))
    return found


def bars_among(bars: Sequence[Bar], marked: int, unit: str = "share") -> Bars:
    """Return the first MOST_BARS bars, and the explained bar if it comes later."""
    kept = [i for i in range(len(bars)) if i < MOST_BARS or i == marked]
    place = kept.index(marked) if marked != NONE else NONE
    return Bars(tuple([bars[i] for i in kept]), None, place, unit)


def off_of(outputs: Sequence[Effect], misses: Sequence[Miss]) -> tuple[float, float]:
    """Return the mean absolute error of outputs, before and after a change."""
    goals = [each.goal for each in misses]
    before, after = [each.before for each in outputs], [each.after for each in outputs]
    return mean_off(before, goals), mean_off(after, goals)
