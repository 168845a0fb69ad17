"""Texts of the panels below the output: the effect of another weight, and of a step.

They depend on plain numbers only; pages use them in JavaScript, see docs/TRANSLATOR.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import short, typeset
from scalarviz.story.facts import NONE
from scalarviz.story.formats import FINEST, TRIES, exact_sum, said, value_of
from scalarviz.story.names import color_name, number_word, sentence

if TYPE_CHECKING:
    from scalarviz.story.caption import Bent, Caption, Effect, Group, Miss, Outcome, Trial

FEW, FINE = 2, 3  # decimals of numbers, and of the errors of outputs
HALF_DIGIT = 1e-9  # beside an exact half, rounding is ambiguous
# A printed number that is computed from others: its index, theirs, and the computation.
PrintedStep = tuple[int, Sequence[int], Callable[[Sequence[float]], float]]
# A result of a formula: its buffer, its operation, and its operands.
FormulaStep = tuple[str, str, Sequence[str]]
UNITS = [0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0]  # of a scale
MOST_VOTES = 20  # samples that have a bar each
PARTS = 3  # units along a scale


@dataclass
class PanelRow:
    """A row of a panel: the name of a number, the number before and after, and its meaning.

    Attributes:
        place: index of the output in the row; NONE without an output
    """

    name: str
    before: str
    after: str
    words: str
    place: int = NONE


def number(value: float, digits: int = 2) -> str:
    """Return a number as captions write it, with a 0 before the decimal point."""
    words = short(value, digits)
    return words.replace(".", "0.") if words.lstrip("-").startswith(".") else words


def said_goal(value: float, digits: int = 2) -> str:
    """Return a target as text; whole numbers have no decimals."""
    is_whole = math.isfinite(value) and value == round(value)
    return f"{value:.0f}" if is_whole else number(value, digits)


def mean_off(outputs: Sequence[float], target: Sequence[float], power: float = 1.0) -> float:
    """Return the mean of the absolute errors of outputs, or of their powers."""
    found = [abs(each - goal) ** power for each, goal in zip(outputs, target, strict=True)]
    return exact_sum(found) / len(found)


def digits_of_off(
    outputs: Sequence[float],
    target: Sequence[float],
    digits: int = FINE,
    least: int = 0,
    loss: float = -1.0,
) -> int:
    """Return the decimals of outputs and targets from which their printed mean error follows.

    Args:
        digits: decimals of the mean error, and minimum
        least: a larger minimum
        loss: the loss; if it is the mean of their squares or half of it, it also follows
    """
    count, places = len(outputs), [*range(2 * len(outputs))]
    square = mean_off(outputs, target, 2.0)
    if not math.isfinite(square):  # without a target, or after an overflow
        return max(digits, least)
    share = max(0.0, min(1.0, round(2.0 * loss / (square or 1.0)) / 2.0))
    steps: list[PrintedStep] = [
        (2 * count, places, lambda v: mean_off(v[:count], v[count:])),
        (2 * count + 1, places, lambda v: share * mean_off(v[:count], v[count:], 2.0)),
    ]
    values = [*outputs, *target, mean_off(outputs, target), share * square]
    decimals = [*[max(digits, least) for _ in places], digits, FINE]
    return max(closing_digits(values, steps, decimals)[: 2 * count])


def digits_of_scores(scores: Sequence[float]) -> int:
    """Return the decimals of scores from which the printed lead of the largest one follows."""
    first = [0.0, 0.0, *sorted(scores)][-2:]
    lead: PrintedStep = (2, [0, 1], lambda v: v[1] - v[0])
    return max(closing_digits([*first, first[1] - first[0]], [lead], [2, 2, 2]))


def blame_words(gradient: float) -> str:
    """Return the negative gradient as text; captions call it blame."""
    return typeset(said(-gradient))


def percent(share: float) -> str:
    """Return a probability in whole percent: "<1 %" if below 1 % but not 0, likewise ">99 %"."""
    if 0.0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1.0 else f"{100.0 * share:.0f} %"


def percents(before: float, after: float) -> tuple[str, str]:
    """Return two probabilities in percent, with decimals if they would otherwise look equal."""
    words = percent(before), percent(after)
    for digits in (1, 2, 3, 4):
        if words[0] == words[1]:
            words = f"{100.0 * before:.{digits}f} %", f"{100.0 * after:.{digits}f} %"
    return words


def share_words(bent: Bent) -> str:
    """Return the loss of a probability as a formula for a calculator, or else what it means."""
    for digits in (2, 3, 4, 5):
        share, loss = short(bent.before, digits), short(bent.after)
        if float(share) > 0.0 and short(-math.log(float(share))) == loss:
            return text("captions.loss.small", share=typeset(share), loss=typeset(loss))
    return text("captions.loss.surer")


def said_in(miss: Miss, value: float, digits: int = 2) -> str:
    """Return an output, or its target, as text; probabilities in percent."""
    return percent(value) if miss.is_share else said_goal(value, digits)


def miss_title(miss: Miss) -> str:
    """Return an output and its target as a title."""
    if miss.is_share:
        goal = percent(miss.goal)
        return text("captions.miss.share", name=miss.name, out=percent(miss.out), goal=goal)
    out, goal = number(miss.out, FINE), said_goal(miss.goal, FINE)
    return text("captions.miss", name=miss.name, out=out, goal=goal)


def miss_words(miss: Miss) -> str:
    """Return the kind of error as a sentence: the output is too high, or too low."""
    color = color_name(miss.name)
    is_over = miss.out > miss.goal
    if color != miss.name or miss.is_share:
        return text("captions.miss.much" if is_over else "captions.miss.little", name=color)
    return text("captions.miss.high" if is_over else "captions.miss.low")


def trial_title(trial: Trial) -> str:
    """Return the title of a trial: by how much the weight is raised or lowered."""
    step = short(abs(trial.step), 1)
    return text("trial.higher", step=step) if trial.step > 0.0 else text("trial.lower", step=step)


def trial_end(trial: Trial) -> str:
    """Return the result of a trial as a sentence: the mean error before and after."""
    before, after = short(trial.off[0], FINE), short(trial.off[1], FINE)
    if trial.neuron is None:
        return text("trial.closer.shown", before=before, after=after)
    if trial.off[1] < trial.off[0]:
        return text("trial.closer", before=before, after=after)
    return text("trial.farther", before=before, after=after)


def trial_rows(trial: Trial) -> list[PanelRow]:
    """Return the rows of a trial: the weight of a formula or the neuron, and each output."""
    neuron, (before, after) = trial.neuron, trial.weight
    if neuron is None:
        name = text("trial.try")
        rows = [PanelRow(name, typeset(short(before)), typeset(short(after)), trial.name)]
    else:
        rows = []
        says = text("trial.up") if neuron.after > neuron.before else text("trial.down")
        one, other = typeset(short(neuron.before)), typeset(short(neuron.after))
        rows.append(PanelRow(neuron.name, one, other, says))
    for place, each in enumerate(trial.outputs):
        name = each.name
        if place < len(trial.between):
            name = f"× {typeset(short(trial.between[place]))}"
        one, other = pair_words(each.before, each.after, FINE)
        words = change_words(each, len(trial.outputs))
        rows.append(PanelRow(name, one, other, words, each.neuron[1]))
    return rows


def moved_rows(outcome: Outcome) -> list[PanelRow]:
    """Return the rows of a step: the numbers that it moved, if they are few, and each output."""
    rows: list[PanelRow] = []
    for each in outcome.moved:
        one, other = pair_words(each.before, each.after, pair_digits(each.before, each.after, 2))
        words = text("trial.up") if each.after > each.before else text("trial.down")
        rows.append(PanelRow(each.name, one, other, words))
    digits = outcome_digits(outcome)
    for place, each in enumerate(outcome.outputs):
        one, other = pair_words(each.before, each.after, digits)
        goal = f"{text('telling.goal')} {said_goal(outcome.goals[place], digits)}"
        rows.append(PanelRow(each.name, one, other, goal, place))
    return rows


def change_words(effect: Effect, count: int) -> str:
    """Return the direction in which one of `count` outputs changes, as text."""
    more = effect.after > effect.before
    if short(effect.before, FINE) == short(effect.after, FINE):
        return text("trial.hardly.more") if more else text("trial.hardly.less")
    if count == 1:
        return text("trial.up") if more else text("trial.down")
    name = color_name(effect.name)
    return text("reason.more", name=name) if more else text("reason.less", name=name)


def moved_title(caption: Caption) -> str:
    """Return a title on how the explained weights have moved in a step."""
    is_one = len(caption.rows) < 2
    return text("moved.title" if is_one else "moved.followed", change=caption.wish)


def group_title(group: Group, things: str) -> str:
    """Return a title with the number of samples of a step; `things` is their name."""
    return text("group.head", count=number_word(group.count), things=things)


def group_words(group: Group, weight: str) -> str:
    """Return how many samples ask for a higher and for a lower weight, and which side wins.

    Args:
        weight: the weight as text; "" counts the samples that are closer to their targets instead,
            for use after a step
    """
    up = len([each for each in group.amounts if each > 0.0])
    down = len([each for each in group.amounts if each < 0.0])
    if weight == "":
        away = group.count - up
        if up == 0 or away == 0:
            return text("group.near", near=up, count=group.count)
        if len(group.losses) > 0:
            old, new = group.losses
            return text("group.loss", near=up, count=away, of=group.count, old=old, new=new)
        return text("group.away", near=up, count=away, of=group.count)
    words = text("group.ask", up=up, down=down, count=group.count, weight=weight)
    if group.silent > 0:
        words += " " + plural("group.silent", group.silent)
    still = group.count - up - down - group.silent
    total, own = sum(group.amounts), group.amounts[group.place]
    if group.count > MOST_VOTES:
        way = text("captions.way.up") if total > 0.0 else text("captions.way.down")
        return f"{words} {text('group.added', way=way)}"
    if own * total < 0.0:
        return f"{words} {text('group.outvoted')}"
    if up > 0 and down > 0:
        return f"{words} {text('group.longer')}"
    return words + (" " + text("group.nothing", count=still) if still > 0 else "")


# The effect of a step on the outputs: a short scale with old value, new value and target.


@dataclass
class Scale:
    """A short number line around an output before and after a step, as fractions from 0 to 1.

    Attributes:
        ends: the numbers at its two ends
        goal: the target as a fraction; below 0 or above 1 if outside the scale
    """

    ends: tuple[float, float]
    before: float
    after: float
    goal: float


def scale_of(effect: Effect, goal: float) -> Scale:
    """Return the shortest scale that contains the change of an output."""
    low, high = min(effect.before, effect.after), max(effect.before, effect.after)
    for unit in UNITS:
        start = math.floor((low - 0.3 * unit) / unit) * unit
        long = PARTS * unit
        if start + long > high + 0.2 * unit:
            break
    parts = [(each - start) / long for each in (effect.before, effect.after, goal)]
    return Scale((start, start + long), parts[0], parts[1], parts[2])


def is_nearer(effect: Effect, goal: float) -> bool:
    """Return whether an output has moved closer to its target."""
    return abs(effect.after - goal) < abs(effect.before - goal)


def outcome_title(outcome: Outcome) -> str:
    """Return a title that says whether the outputs are closer to their targets."""
    count = len(outcome.outputs)
    pairs = zip(outcome.outputs, outcome.goals, strict=True)
    right = len([each for each, goal in pairs if is_nearer(each, goal)])
    if right == 0:
        return text("outcome.no")
    if outcome.wrong:
        return text("outcome.wrong")
    if right == count:
        all_of = number_word(count)
        return text("outcome.yes") if count == 1 else text("outcome.all", count=all_of)
    return text("outcome.some", right=sentence(number_word(right)), count=number_word(count))


def outcome_reason(outcome: Outcome, things: str) -> str:
    """Return as text which output moved away from its target, and why; "" if none did.

    Args:
        things: name of the samples
    """
    for each, goal in zip(outcome.outputs, outcome.goals, strict=True):
        if is_nearer(each, goal):
            continue
        if outcome.others > 0:
            count = number_word(outcome.others)
            if outcome.shares is not None:
                return text("outcome.pulled.share", name=each.name, count=count)
            return text("outcome.pulled", name=each.name, count=count, things=things)
        return text("outcome.away", name=each.name)
    return ""


def outcome_digits(outcome: Outcome) -> int:
    """Return the decimals of outputs from which their printed errors, before and after, follow."""
    off, goals = pair_digits(outcome.off[0], outcome.off[1]), outcome.goals
    outputs = [x.before for x in outcome.outputs], [x.after for x in outcome.outputs]
    least = max([pair_digits(x.before, x.after) for x in outcome.outputs])
    return max([digits_of_off(each, goals, off, least) for each in outputs])


def outcome_end(outcome: Outcome) -> str:
    """Return the mean error of all outputs, before and after, as text."""
    if outcome.shares is not None:
        own = outcome.outputs[0]
        before, after = percents(own.before, own.after)
        return text("outcome.share", name=own.name, before=before, after=after)
    digits = pair_digits(outcome.off[0], outcome.off[1])
    before, after = pair_words(outcome.off[0], outcome.off[1], digits)
    if len(outcome.moved) > 0:
        return text("outcome.off.shown", before=before, after=after)
    return text("outcome.off", before=before, after=after)


def with_score(caption: Caption, before: int, after: int) -> Caption:
    """Return the caption of a step, which also says if fewer answers are right than before."""
    if after >= before:
        return caption
    words = text("outcome.fewer", before=before, after=after)
    return replace(caption, why=" ".join([each for each in (words, caption.why) if each != ""]))


def pair_digits(before: float, after: float, least: int = FINE) -> int:
    """Return the fewest decimals, `least` or more, with which two numbers differ in print."""
    different = [
        digits for digits in range(least, FINE + 3) if short(before, digits) != short(after, digits)
    ]
    return [*different, max(least, FINE)][0]


def pair_words(before: float, after: float, digits: int) -> tuple[str, str]:
    """Return two numbers as text."""
    return typeset(short(before, digits)), typeset(short(after, digits))


# Digits with which printed results follow from printed numbers.


def in_print(value: float, digits: int) -> float:
    """Return a number as `short` prints it."""
    size = abs(value)
    if not size < LARGEST:  # as it is
        return value
    places = digits if size < 10.0 else max(0, digits + 1 - len(str(int(size))))
    return float(f"{value:.{places}f}")


def follows(values: Sequence[float], digits: Sequence[int], step: PrintedStep) -> bool:
    """Return whether a printed result follows from its printed operands."""
    result, operands, compute = step
    shown = [f"{in_print(values[i], digits[i]):.{FINEST}f}" for i in operands]
    found, places = value_of(compute, shown), digits[result]
    ends = [in_print(found + each, places) for each in (-HALF_DIGIT, HALF_DIGIT)]
    return all(each == in_print(values[result], places) for each in ends)


def closing_digits(
    values: Sequence[float], steps: Sequence[PrintedStep], digits: Sequence[int]
) -> list[int]:
    """Return the decimals with which each printed result follows from its printed operands.

    Args:
        values: all numbers, which are printed as by `short`
        steps: the results among them
        digits: minimum decimals of each number, returned if nothing helps; operands get more
            as necessary
    """
    found = [*digits]
    for _ in range(TRIES):
        raised = [i for step in steps if not follows(values, found, step) for i in step[1]]
        raised = [i for i in raised if in_print(values[i], found[i]) != values[i]]
        if len(raised) == 0:
            break
        found = [each + (1 if i in raised else 0) for i, each in enumerate(found)]
    return found if all(follows(values, found, step) for step in steps) else [*digits]


# Operations of formulas whose printed results follow from their printed numbers.
COMPUTE: dict[str, Callable[[Sequence[float]], float]] = {
    "add": exact_sum,
    "multiply": math.prod,
    "subtract": lambda v: v[0] - v[1],
    "divide": lambda v: v[0] / v[1],
    "exp": lambda v: math.exp(v[0]),
    "sin": lambda v: math.sin(v[0]),
}


def formula_digits(
    formula: Sequence[FormulaStep], values: Mapping[str, Any], weights: Any
) -> dict[str, int]:
    """Return the decimals with which the printed results of a formula follow from its numbers.

    Its steps and the keys are as in `Layout.steps`.
    """
    every = [each for step in formula for each in [step[0], *step[2]]]
    names = [*dict.fromkeys([x for x in every if x in values or x[:1] in ("=", "#")])]
    numbers = [
        values[x][0] if x in values else float(x[1:]) if x[:1] == "=" else weights[int(x[1:])]
        for x in names
    ]
    steps = [
        (names.index(result), [names.index(x) for x in operands], COMPUTE[kind])
        for result, kind, operands in formula
        if kind in COMPUTE and all(x in names for x in [result, *operands])
    ]
    digits = closing_digits([float(each) for each in numbers], steps, [FEW for _ in names])
    return dict(zip(names, digits, strict=True))


# Sums whose printed terms add up.

# Digits of two printed factors, fewest first.
DIGITS = [(2, 2), (2, 3), (3, 2), (3, 3), (2, 4), (3, 4), (4, 3), (4, 4), (5, 5)]
NEAREST = 0.499  # maximum rounding error in last digits; exact halves are ambiguous
LARGEST = 1e6  # maximum of sums whose terms are rounded to add up


def digits_of_factors(
    x: float, weight: float, units: int, digits: int = 2
) -> tuple[int, int] | None:
    """Return the digits that two factors need for their product to be as printed, or None.

    Args:
        units: the printed product, in units of its last digit
        digits: number of decimals of the printed product
    """
    for few, more in DIGITS:
        found = 10.0**digits * in_print(x, few) * in_print(weight, more)
        if abs(found - units) < NEAREST:
            return few, more
    return None


def adding_up(
    comes: Sequence[float],
    weights: Sequence[float],
    terms: Sequence[float],
    result: float,
    digits: int = 2,
) -> list[tuple[str, str, float]]:
    """Return the terms of a sum as printed: both factors, and their product.

    The products add up to the result: if necessary, those closest to it are rounded the other way.
    The factors have enough digits for the printed product to follow.
    """
    pairs, power = [*zip(comes, weights, strict=True)], 10.0**digits
    whole = [round(power * each) for each in terms]
    missing = round(power * result) - sum(whole)
    way = 1 if missing > 0 else -1
    rest = [way * (power * each - own) for each, own in zip(terms, whole, strict=True)]
    moved: list[int] = []
    others: list[int] = []  # terms without such factors come last
    for i in sorted(range(len(whole)), key=lambda i: -rest[i]) if missing != 0 else []:
        is_able = len(moved) < abs(missing) and rest[i] >= 0.0
        if is_able and digits_of_factors(*pairs[i], whole[i] + way, digits) is not None:
            moved.append(i)
        else:
            others.append(i)
    for i in [*moved, *others][: abs(missing)]:
        whole[i] += way
    found: list[tuple[str, str, float]] = []
    for i, (x, w) in enumerate(pairs):
        few, more = digits_of_factors(x, w, whole[i], digits) or (2, 2)
        found.append((short(x, few), short(w, more), whole[i] / power))
    return found


def closing(
    comes: Sequence[float], weights: Sequence[float], result: float
) -> list[tuple[str, str, str]]:
    """Return the terms of a sum as strings, two factors and their product each; last the result.

    They have the fewest digits with which each product follows from its factors, and the products
    add up to the result.
    """
    terms = [x * w for x, w in zip(comes, weights, strict=True)]
    if not sum([abs(each) for each in terms]) < LARGEST:
        pairs = [*zip(comes, weights, terms, strict=True), (0.0, 0.0, result)]
        return [(typeset(short(x)), typeset(short(w)), typeset(short(y))) for x, w, y in pairs]
    tries: list[list[tuple[str, str, str]]] = []
    for digits in (2, 3, 4):
        power = 10.0**digits
        lines = adding_up(comes, weights, terms, result, digits)
        units = [round(power * each[2]) for each in lines]
        given = zip(comes, weights, units, strict=True)
        follow = [digits_of_factors(x, w, own, digits) is not None for x, w, own in given]
        words = [(typeset(x), typeset(w), typeset(f"{y:.{digits}f}")) for x, w, y in lines]
        tries.append([*words, ("", "", typeset(f"{round(power * result) / power:.{digits}f}"))])
        is_fine = max([abs(each) for each in units]) >= 10  # the largest has two digits
        if is_fine and all(follow) and sum(units) == round(power * result):
            return tries[len(tries) - 1]
    return tries[0]
