"""What the network answers to the shown sample with one weight changed, and after a step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import short
from scalarviz.story.caption import Effect, Miss, Outcome, Trial
from scalarviz.story.facts import NONE, TERMS, Facts, Numbers, State
from scalarviz.story.formats import exact_sum
from scalarviz.story.names import homes_of
from scalarviz.story.traced_weight import TracedWeight, following, right_output, weights_from

STEPS = (0.2, 0.1, 0.5)  # by which a weight is changed: the first that is seen in printed digits
FINE = 3  # digits of how far outputs are off
MOST = 4  # outputs that are listed


def trial_of(facts: Facts, state: State, row: int, way: float) -> Trial | None:
    """Return what a higher or a lower weight makes of the shown sample.

    way  1: higher, -1: lower

    The change brings the outputs closer, if one of STEPS does. It is None where the network has
    other layers, and where no change is seen.
    """
    found = [trial_by(facts, state, row, way * step) for step in STEPS]
    seen = [each for each in found if each is not None and is_seen(each)]
    closer = [each for each in seen if each.off[1] < each.off[0]]
    return closer[0] if len(closer) > 0 else seen[0] if len(seen) > 0 else None


def is_seen(trial: Trial) -> bool:
    """Return whether a change is seen in the printed neuron, an output, and the error."""
    moved = [short(each.before) != short(each.after) for each in trial.outputs]
    neuron = short(trial.neuron.before) != short(trial.neuron.after)
    return neuron and any(moved) and short(trial.off[0], FINE) != short(trial.off[1], FINE)


def trial_by(facts: Facts, state: State, row: int, step: float) -> Trial | None:
    """Return what the network answers with a weight higher by a step."""
    homes, goals = homes_of(facts, row), state.target
    passed = values_with(facts, state, row, float(state.value[row]) + step)
    if passed is None or goals is None or len(goals) > MOST or len(homes) != 1:
        return None
    home = homes[0]
    unit = (row - home.weights) // home.shape[1]
    after = following(facts, home.target)
    name = home.target if after == NONE else facts.operations[after].source
    said = float(state.values[name][unit])
    neuron = Effect((name, unit), "", said, passed[name][unit])
    misses, now = misses_of(facts, state), read_answers(passed[facts.outputs], facts.loss.logits)
    outputs = [Effect(x.neuron, x.name, x.out, now[i]) for i, x in enumerate(misses)]
    between: list[float] = []
    if after != NONE and following(facts, facts.operations[after].target) == NONE:
        rows = weights_from(facts, facts.operations[after], unit)[0]
        between = [float(state.value[each]) for each in rows]
    value = float(state.value[row])
    off = off_of(outputs, misses)
    return Trial(step, (value, value + step), neuron, tuple(outputs), tuple(between), off)


def values_with(
    facts: Facts, state: State, row: int, value: float
) -> dict[str, list[float]] | None:
    """Return the numbers of the shown sample with another value of a weight.

    None where a layer is not dense, or its activation cannot be computed here.
    """
    found: dict[str, list[float]] = {
        facts.inputs: [float(each) for each in state.values[facts.inputs]]
    }
    for each in facts.operations:
        known = found.get(each.source)
        activation = facts.activations.get(each.formula)
        if known is None:
            return None
        if each.kind == "affine":
            count = each.shape[1]
            sums: list[float] = []
            for unit in range(each.shape[0]):
                first = each.weights + unit * count
                total = 0.0 if each.biases == NONE else float(state.value[each.biases + unit])
                for place in range(count):
                    at = first + place
                    total += (value if at == row else float(state.value[at])) * known[place]
                sums.append(total)
            found[each.target] = sums
        elif each.kind == "activation" and activation is not None and activation.value is not None:
            function = activation.value
            found[each.target] = [function(number) for number in known]
        else:
            return None
    return found


def misses_of(facts: Facts, state: State) -> list[Miss]:
    """Return the outputs of the shown sample and their goals; none where these are not known."""
    goals, outputs = state.target, state.values.get(facts.outputs)
    if goals is None or outputs is None:
        return []
    names, count = facts.buffers[facts.outputs].names, len(outputs)
    found: list[Miss] = []
    for place, out in enumerate(read_answers(outputs, facts.loss.logits)):
        name = text("picture.out") if count == 1 else f"{place}"
        name = names[place] if count > 1 and place < len(names) else name
        found.append(Miss((facts.outputs, place), name, out, float(goals[place])))
    return found


def outcome_of(ctx: TracedWeight) -> Outcome | None:
    """Return what a step makes of the outputs of the shown sample; of many, the right class."""
    facts, state = ctx.facts, ctx.state
    misses, right = misses_of(facts, state), right_output(facts, state)
    if state.answer is None or len(misses) == 0:
        return None
    after = read_answers(state.answer, facts.loss.logits)
    every = [Effect(x.neuron, x.name, x.out, after[i]) for i, x in enumerate(misses)]
    places = [*range(len(every))] if len(every) <= TERMS else [] if right is None else [right[1]]
    learning = [each for each in state.frozen if not each]
    return Outcome(
        tuple([every[place] for place in places]),
        tuple([misses[place].goal for place in places]),
        off_of(every, misses),
        state.batch - 1,
        len(learning) if len(state.frozen) > 0 else len(state.value),
    )


def off_of(outputs: Sequence[Effect], misses: Sequence[Miss]) -> tuple[float, float]:
    """Return how far outputs are off in the mean, before and after."""
    goals = [each.goal for each in misses]
    before, after = [each.before for each in outputs], [each.after for each in outputs]
    return mean_off(before, goals), mean_off(after, goals)


def read_answers(outputs: Numbers, logits: str) -> list[float]:
    """Return outputs as the loss reads them.

    logits  the activation that the loss applies to them, or ""
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


def mean_off(outputs: Sequence[float], target: Sequence[float]) -> float:
    """Return how far outputs are off in the mean."""
    found = [abs(each - goal) for each, goal in zip(outputs, target, strict=True)]
    return exact_sum(found) / len(found)
