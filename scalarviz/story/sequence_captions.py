"""Captions of a network that reads a sequence: a sentence with numbers for each operation.

All sentences are about one place; `Caption.uses` has a weight and its slope at each place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded, short, typeset
from scalarviz.base.texts.sums import DIGITS, largest, share_words, sum_words, top_of
from scalarviz.story.caption import Caption, Uses
from scalarviz.story.facts import NONE, Facts, Neuron, OperationFacts, State, sample_of
from scalarviz.story.formats import agreeing
from scalarviz.story.names import homes_of, number_name, sign_of_letter, wall_of, weight_name
from scalarviz.story.traced_weight import TracedWeight, read_answers

USUAL = 3  # place of which captions are if none is chosen
WRITTEN, FEW, TRIED = 6, 3, 12  # most terms of a sum; weights of which one is explained
SEEN, TRIED_SEEN = 0.05, 36  # least weight whose cube is easily seen; most of them that are tried
PART_DIGITS = 3, 4, 5, 6  # of what the rate is multiplied by: the first that give the written step
FAINT = 1e-9  # slope that is 0 in print


@dataclass(frozen=True)
class Told:
    """A moment of a network that reads a sequence, and the place that captions are about."""

    ctx: TracedWeight
    at: Neuron | None

    @property
    def facts(self) -> Facts:
        return self.ctx.facts

    @property
    def state(self) -> State:
        return self.ctx.state

    @property
    def operation(self) -> OperationFacts:
        return self.ctx.operation

    @property
    def places(self) -> int:
        return self.facts.buffers[self.facts.inputs].size

    def numbers(self, name: str, *, slopes: bool = False) -> list[float]:
        """Return the numbers of a buffer, or their slopes, of the shown sample; [] if unknown."""
        state = self.state
        known = state.gradients if slopes else state.values
        if state.operation == 0 and state.all is not None:
            known = state.all.gradients if slopes else state.all.values
        if name not in known:
            return []
        size = self.facts.buffers[name].size
        first = sample_of(state) * size if len(known[name]) > size else 0
        return [float(known[name][first + i]) for i in range(size)]

    def here(self, name: str, *, slopes: bool = False) -> list[float]:
        """Return the numbers of a buffer at the place, or their slopes; [] if unknown."""
        found = self.numbers(name, slopes=slopes)
        return [found[i] for i in range(self.place, len(found), self.places)]

    @cached_property
    def read(self) -> list[int]:
        """The letters of the sequence."""
        return [round(each) for each in self.numbers(self.facts.inputs) if each >= 0.0]

    @cached_property
    def place(self) -> int:
        place = USUAL if self.at is None else self.at[1] % self.places
        return max(0, min(place, len(self.read) - 1))

    @cached_property
    def goal(self) -> int:
        """The letter that comes next; NONE if unknown."""
        known = self.state.target
        first = range(0 if known is None else self.facts.buffers[self.facts.outputs].size)
        found = [i for i in first if i % self.places == self.place and self.target(i) > 0.0]
        return found[0] // self.places if found else NONE

    def target(self, number: int) -> float:
        known = self.state.target
        return 0.0 if known is None else float(known[number])

    def sign(self, letter: int) -> str:
        return sign_of_letter(self.facts, letter)

    @property
    def letter(self) -> str:
        """The letter at the place."""
        return self.sign(self.read[self.place])

    @property
    def attention(self) -> OperationFacts:
        return next(each for each in self.facts.operations if each.formula == "attention")

    @cached_property
    def attended(self) -> list[float]:
        """The queries, keys and values of all places."""
        return self.numbers(self.attention.source)

    # Weights and their uses.

    def row(self, first: int, count: int) -> list[float]:
        """Return the values of weights that follow each other in the bank."""
        return [float(self.state.value[first + i]) for i in range(count)]

    def row_told(self, operation: OperationFacts) -> int:
        """Return the weight with the largest slope at the place, of the sign of its whole slope."""
        x, deltas = self.here(operation.source), self.here(operation.target, slopes=True)
        if operation.kind == "embedding":
            size = operation.shape[1]
            return operation.weights + self.read[self.place] * size + largest(deltas)
        units, wall = range(len(deltas)), wall_of(self.facts, operation)
        each = int(self.attention.settings[1])
        if wall == "scores" and self.goal != NONE:
            units = range(self.goal, self.goal + 1)
        found: list[tuple[float, int]] = []
        for unit in units:
            if wall == "qkv" and unit % (3 * each) < 2 * each:
                continue  # values: what they do is followed easily
            for column, number in enumerate(x):
                row = operation.weights + unit * len(x) + column
                found.append((-abs(number * deltas[unit]), row))
        rows = [row for _, row in sorted(found)]
        seen = [row for row in rows if abs(self.before(row)) >= SEEN]
        rows = [*seen[:TRIED_SEEN], *rows[:TRIED]]
        agree = [row for row in rows if self.parts(row)[self.place] * sum(self.parts(row)) > 0.0]
        moved = [row for row in agree if self.moves_down(row)]
        reasoned = [row for row in moved if len(self.reason(row)[0]) > 0]
        return [*reasoned, *moved, *agree, *rows][0]

    def moves_down(self, row: int) -> bool:
        """Return whether a step moves a weight against its slope, as slopes before allow."""
        old, new = self.beats(row, 0.0)[2:]
        return (new - old) * sum(self.parts(row)) < 0.0

    def parts(self, row: int) -> list[float]:
        """Return what each place adds to the slope of a weight; [] if unknown."""
        homes = homes_of(self.facts, row)
        if len(homes) == 0:
            return []
        home, places = homes[0], self.places
        deltas = self.numbers(home.target, slopes=True)
        if len(deltas) == 0:
            return []
        if home.kind == "embedding":
            is_place = home.biases != NONE and row >= home.biases
            number, place = divmod(row - home.biases, places)
            letter, feature = divmod(row - home.weights, home.shape[1])
            feature = number if is_place else feature
            used = [
                own == place if is_place else each == letter for own, each in enumerate(self.read)
            ]
            slopes = [deltas[feature * places + own] for own in range(len(self.read))]
            return [slope if is_used else 0.0 for slope, is_used in zip(slopes, used, strict=True)]
        x = self.numbers(home.source)
        unit, column = divmod(row - home.weights, len(x) // places)
        return [
            x[column * places + own] * deltas[unit * places + own] for own in range(len(self.read))
        ]

    def uses_told(self) -> Uses | None:
        """Return the explained weight, with its slope at each place; None if it is unknown."""
        kind = self.ctx.moment.kind
        row = self.ctx.row if self.ctx.chosen and self.ctx.neuron is None else NONE
        if row == NONE and kind == "weight gradient":
            row = self.row_told(self.operation)
        if row == NONE and kind == "step":
            before = [each for each in self.facts.operations if wall_of(self.facts, each) == "qkv"]
            row = self.row_told(before[len(before) - 1])
        parts = [] if row == NONE or self.ctx.moment.phase not in PHASES else self.parts(row)
        is_idle = len(parts) == 0 or (not self.ctx.chosen and parts[self.place] == 0.0)
        if is_idle:
            return None
        words = tuple(sum_words(parts, digits_of(parts)))
        name = weight_name(self.facts, homes_of(self.facts, row)[0], row)
        beats, is_known = self.beats(row, sum(parts)), kind != "step" or self.moves_down(row)
        links = self.reason(row) if is_known else NO_REASON
        return Uses(row, self.place, tuple(parts), words, name, *beats, *links, self.moved())

    def beats(self, row: int, slope: float) -> tuple[tuple[str, ...], str, float, float]:
        """Return a step of Adam in two beats, what it does, and the weight before and after it."""
        found = None if self.state.explained is None else self.state.explained(row)
        known = {} if found is None else {each.name: each.value for each in found.lines}
        if found is None or any(name not in known for name in BEATS):
            return (), "", 0.0, 0.0
        mean, usual = (
            known["m"] / known["correction1"],
            math.sqrt(known["v"] / known["correction2"]),
        )
        rate, old, new = known["lr"], found.value, known["w"]
        part = mean / usual if usual > 0.0 else 0.0
        places = digits_of([new - old])[1]
        start, change, end = sum_words(
            [old, new - old], [places, places + 1, places + 2, places + 3]
        )
        few, step = len(change.partition(".")[2]), rounded(rate, 4)
        fits = [
            each
            for each in PART_DIGITS
            if typeset(f"{-float(step) * float(rounded(part, each)):.{few}f}") == change
        ]
        digits = [*fits, PART_DIGITS[0]][0]
        said = agreed([mean, usual], ratio, float(rounded(part, digits)), digits)
        beats = f"{said[0]} / {said[1]} = {said[2]}", f"{typeset(step)} × {said[2]} = {change}"
        way = "larger" if abs(new) > abs(old) else "smaller" if new != old else "none"
        pulled = "before" if (new - old) * slope > 0.0 else way
        return beats, text(f"captions.sequence.step.{pulled}", old=start, new=end), old, new

    def moved(self) -> str:
        """Return what the step of all weights does to the share of the goal; "" if unknown."""
        state, result = self.state, self.here(self.facts.outputs)
        if state.operation != 0 or state.answer is None or self.goal == NONE:
            return ""
        shares = result[self.goal], float(state.answer[self.goal * self.places + self.place])
        before, after = [math.exp(each) for each in shares]
        if before == after:
            return ""
        digits = 3 if short(before, 3) != short(after, 3) else 6
        fields = {"old": number(before, digits), "new": number(after, digits)}
        sign, count = self.sign(self.goal), len(state.value)
        return text("captions.sequence.moved", letter=sign, count=count, **fields)

    def reason(self, row: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return why a change of a weight against its slope makes the goal likelier at the place.

        These are the links from the weight to the score of the goal, and the number of the road
        and what is before it on this way. Without a weight of which each link has the right sign,
        such as a query or a key, both are empty.
        """
        homes, goal, here = homes_of(self.facts, row), self.goal, self.place
        wall = "" if len(homes) == 0 else wall_of(self.facts, homes[0])
        slopes = [] if wall in ("", "letters") or goal == NONE else self.parts(row)
        sums = [each.target for each in self.facts.operations if each.kind == "sum"]
        if len(slopes) == 0 or len(sums) != 2:
            return NO_REASON
        home, x = homes[0], self.numbers(homes[0].source)
        unit, column = divmod(row - home.weights, home.shape[1])
        first, made = column * self.places, home.target
        comes = x[first + here]
        if wall == "qkv":
            each = int(self.attention.settings[1])
            head, rest = divmod(unit, 3 * each)
            shares = shares_of(self, head, here)
            comes = sum([share * x[first + place] for place, share in enumerate(shares)])
            unit, made = head * each + rest - 2 * each, self.attention.target
            goal = goal if rest >= 2 * each else NONE
        move = -comes if sum(slopes) > 0.0 else comes
        is_other = goal == NONE or (wall == "scores" and unit != goal)
        is_silent = wall == "wide" and self.here(made)[unit] <= 0.0
        if is_other or is_silent or move * self.here(made, slopes=True)[unit] >= 0.0:
            return NO_REASON
        likelier = text("captions.sequence.likelier", letter=self.sign(goal))
        most, number = 0.0, NONE
        begin = text(f"captions.sequence.if.{'lower' if move * comes < 0.0 else 'higher'}")
        if wall == "scores":
            return (begin, link(comes, likelier)), (column, NONE)
        walls = {wall_of(self.facts, each): each for each in self.facts.operations}
        over = walls["join" if wall == "qkv" else "narrow"] if wall in ("qkv", "wide") else None
        deltas = self.here(sums[0 if wall in ("qkv", "join") else 1], slopes=True)
        for each in [unit] if over is None else range(len(deltas)):
            moved = move if over is None else move * self.weight(over, each, unit)
            gain = moved * self.weight(walls["scores"], goal, each)
            if gain > most and moved * deltas[each] < 0.0:
                most, number = gain, each
        if number == NONE:
            return NO_REASON
        end = link(self.weight(walls["scores"], goal, number), likelier)
        if over is None:
            return (begin, link(comes, self.way("road", move)), end), (number, column)
        weight = self.weight(over, number, unit)
        taken = link(comes, self.way(wall, move, unit))
        on_road = link(weight, self.way("road", move * weight))
        return (begin, taken, on_road, end), (number, unit)

    def weight(self, operation: OperationFacts, row: int, column: int) -> float:
        """Return a weight before the step."""
        return self.before(operation.weights + row * operation.shape[1] + column)

    def before(self, row: int) -> float:
        """Return the weight of a bank index before the step."""
        value = self.state.value if self.state.before is None else self.state.before
        return float(value[row])

    def way(self, kind: str, move: float, unit: int = 0) -> str:
        """Return what becomes higher or lower: the road, what the letter takes, or a neuron."""
        fields = {"letter": self.letter, "neuron": unit + 1}
        return text(f"captions.sequence.{kind}.{'higher' if move > 0.0 else 'lower'}", **fields)


NO_REASON: tuple[tuple[str, ...], tuple[int, ...]] = ((), ())
PHASES = "backward", "step"
BEATS = "lr", "m", "v", "correction1", "correction2", "w"


def number(value: float, digits: int = 2) -> str:
    return typeset(short(value, digits))


def slope_words(value: float) -> str:
    return typeset(rounded(value, 2))


def link(factor: float, what: str) -> str:
    return f"× {slope_words(factor)}: {what}"


def digits_of(terms: Sequence[float]) -> list[int]:
    """Return decimal places with which the largest of small terms has two digits."""
    most: float = max([FAINT, *[abs(each) for each in terms]])
    first = max(2, 1 - math.floor(math.log10(most))) if most > FAINT else 2
    return [first, first + 1]


def added(terms: Sequence[float], digits: Sequence[int] = DIGITS, written: int = WRITTEN) -> str:
    """Return a sum as text: the largest terms, the sum of the others, and the result."""
    order = sorted(range(len(terms)), key=lambda each: -abs(terms[each]))
    shown = sorted(order[: written - 1] if len(terms) > written else order)
    own = [terms[each] for each in shown]
    rest = len(terms) - len(shown)
    words = sum_words([*own, sum(terms) - sum(own)] if rest > 0 else own, digits)
    total, words = words[-1], words[:-1]
    if rest > 0:
        words = [*words[:-1], text("captions.sequence.more", count=rest, sum=words[-1])]
    return f"{' + '.join(words)} = {total}".replace("+ −", "− ")


# Forward.


def forward_words(told: Told) -> str:
    """Return what an operation does at the place."""
    operation, kind = told.operation, told.operation.kind
    result, x = told.here(operation.target), told.here(operation.source)
    if kind == "embedding":
        return embedding_words(told, result)
    if kind == "activation":
        active = [each for each in result if each > 0.0]
        if len(active) == 0:
            return text("captions.sequence.silent.all", count=len(result))
        best = top_of(result, 1.0)
        fields = {"neuron": best + 1, "sum": number(result[best])}
        silent = len(result) - len(active)
        return text("captions.sequence.speaks", silent=silent, count=len(result), **fields)
    if kind == "convolution":
        return products_words(told, x, result)
    if operation.formula == "rms_norm":
        at = largest(result)
        usual = x[at] / result[at] if result[at] else 1.0
        words = agreed([x[at], usual], ratio, result[at], 3)
        return text("captions.sequence.norm", before=words[0], usual=words[1], after=words[2])
    if operation.formula == "log_softmax":
        best = top_of(result, 1.0)
        score, part, total, share = share_words(x, best)
        said = {"score": score, "part": part, "total": total, "share": share}
        letter, count = told.sign(best), len(x)
        return text("captions.sequence.softmax", letter=letter, count=count, **said)
    if operation.formula == "attention":
        return look_words(told)
    if kind == "sum":
        other = told.here(operation.sources[1])
        at = largest(result)
        return text("captions.sequence.road", sum=added([other[at], x[at]]))
    return text("captions.sequence.branch") if kind == "branch" else ""


def agreed(
    numbers: Sequence[float],
    compute: Callable[[Sequence[float]], float],
    result: float,
    least: int = 2,
) -> list[str]:
    """Return numbers and their result as text, with the fewest digits that agree."""
    shown, ending, _ = agreeing(numbers, compute, result, least)
    return [typeset(each) for each in [*shown, ending]]


def ratio(numbers: Sequence[float]) -> float:
    return numbers[0] / numbers[1]


def embedding_words(told: Told, result: Sequence[float]) -> str:
    """Return how a row of letters and a row of places add up."""
    operation, value, at = told.operation, told.state.value, largest(result)
    own = float(value[operation.weights + told.read[told.place] * operation.shape[1] + at])
    if operation.biases == NONE:
        return text("captions.sequence.letter", letter=told.letter, number=number(own))
    other = float(value[operation.biases + at * told.places + told.place])
    words = added([own, other])
    return text("captions.sequence.rows", letter=told.letter, place=told.place, sum=words)


def products_words(told: Told, x: Sequence[float], result: Sequence[float]) -> str:
    """Return the largest product of a sum, or of which parts the best score consists."""
    operation, wall = told.operation, wall_of(told.facts, told.operation)
    unit = unit_told(told, result)
    weights = told.row(operation.weights + unit * len(x), len(x))
    joins = [each for each in told.facts.operations if each.kind == "sum"]
    joins = joins[max(0, len(joins) - 2) :]  # of the last block
    if wall == "scores" and len(joins) == 2 and not told.ctx.chosen:
        parts = [told.here(joins[0].sources[1]), *[told.here(each.sources[0]) for each in joins]]
        stays, back, neurons, score = sum_words(
            [sum([a * b for a, b in zip(each, weights, strict=True)]) for each in parts]
        )
        said = {"stays": stays, "back": back, "neurons": neurons, "score": score}
        return text("captions.sequence.parts", letter=told.sign(unit), **said)
    terms = [a * b for a, b in zip(x, weights, strict=True)]
    best = largest(terms)
    if terms[best] == 0.0:
        return text("captions.sequence.silent.all", count=len(x))
    words = agreed([x[best], weights[best]], math.prod, terms[best])
    said = {"product": f"{words[0]} × {words[1]} = {words[2]}", "sum": number(result[unit])}
    name = number_name(told.facts, operation.target, unit)
    return text("captions.sequence.products", count=len(x), name=name, **said)


def unit_told(told: Told, result: Sequence[float]) -> int:
    """Return the number of a result that a sentence is about: the largest one, or the chosen one.

    Of scores and of neurons, it is the largest one above 0, which has an effect.
    """
    if told.ctx.chosen:
        return told.ctx.place[0] // told.places
    is_signed = wall_of(told.facts, told.operation) not in ("scores", "wide")
    return largest(result) if is_signed else top_of(result, 1.0)


def rows_told(told: Told) -> list[int]:
    """Return the weights whose numbers are in the sentence about an operation."""
    operation, result = told.operation, told.here(told.operation.target)
    if operation.kind == "embedding":
        at = largest(result)
        rows = [operation.weights + told.read[told.place] * operation.shape[1] + at]
        other = operation.biases + at * told.places + told.place
        return rows if operation.biases == NONE else [*rows, other]
    x = told.here(operation.source)
    if operation.kind != "convolution" or wall_of(told.facts, operation) == "scores":
        return []
    first = operation.weights + unit_told(told, result) * len(x)
    terms = [a * b for a, b in zip(x, told.row(first, len(x)), strict=True)]
    return [first + largest(terms)]


def look_words(told: Told) -> str:
    """Return how much the head that takes most takes of each place, and what this adds up to."""
    operation, here = told.attention, told.place
    result, at = told.here(operation.target), largest(told.here(operation.target))
    head, feature = divmod(at, int(operation.settings[1]))
    shares = shares_of(told, head, here)
    values = [head_number(told, head, 2, feature, place) for place in range(len(shares))]
    terms = [a * b for a, b in zip(shares, values, strict=True)]
    best = top_of(shares, 1.0)
    said = {"share": number(shares[best]), "other": told.sign(told.read[best])}
    words, total = added(terms), number(result[at])
    fields = {"letter": told.letter, "head": head + 1, "sum": words, "total": total}
    return text("captions.sequence.look", **said, **fields)


def head_number(told: Told, head: int, kind: int, number: int, place: int) -> float:
    """Return a number of the query (0), key (1) or value (2) of a head."""
    each = int(told.attention.settings[1])
    return told.attended[((3 * head + kind) * each + number) * told.places + place]


def shares_of(told: Told, head: int, here: int) -> list[float]:
    """Return the shares that a head takes of the places."""
    settings = told.attention.settings
    size, is_causal = int(settings[1]), settings[3] > 0.0
    scores: list[float] = []
    for place in range(here + 1 if is_causal else len(told.read)):
        terms = [
            head_number(told, head, 0, each, here) * head_number(told, head, 1, each, place)
            for each in range(size)
        ]
        scores.append(sum(terms) * float(settings[4]))
    return read_answers(scores, "softmax")


def loss_words(told: Told) -> str:
    """Return the loss of the place, and of the whole sequence."""
    result = told.here(told.facts.outputs)
    if told.goal == NONE or len(result) == 0:
        return ""
    lost, share = -result[told.goal], math.exp(result[told.goal])
    said = {"share": number(share), "loss": number(lost), "among": number(math.exp(lost), 1)}
    fields = {"letter": told.sign(told.goal), "mean": number(told.state.loss)}
    return text("captions.sequence.loss", count=len(told.read), **fields, **said)


# Backward.


def backward_words(told: Told) -> str:
    """Return how slopes pass an operation backward, at the place."""
    operation, kind, moment = told.operation, told.operation.kind, told.ctx.moment.kind
    after = told.here(operation.target, slopes=True)
    if len(after) == 0:
        return ""
    if moment == "delta" and kind != "activation":
        return text("captions.sequence.delta", slope=slope_words(after[told.goal]),
                    letter=told.sign(told.goal)) if told.goal != NONE else ""  # fmt: skip
    before = told.here(operation.source, slopes=True)
    at = largest(before)
    if operation.formula == "log_softmax":
        goal, shares = told.goal, [math.exp(each) for each in told.here(operation.target)]
        if goal == NONE:
            return text("captions.sequence.none")
        others = [0.0 if each == goal else share for each, share in enumerate(shares)]
        best = largest(others)
        fields = {"letter": told.sign(goal), "share": number(shares[goal])}
        off, other = number(shares[goal] - 1.0), told.sign(best)
        named = {"off": off, "other": other, "more": number(shares[best])}
        return text("captions.sequence.share_back", **fields, **named)
    if max([abs(each) for each in before]) == 0.0:
        return text("captions.sequence.none")
    if kind == "activation":
        silent = len([each for each in told.here(operation.target) if each <= 0.0])
        return text("captions.sequence.silent_back", silent=silent, count=len(after))
    if kind == "convolution":
        first = operation.weights + at
        weights = [float(told.state.value[first + i * len(before)]) for i in range(len(after))]
        terms = [a * b for a, b in zip(after, weights, strict=True)]
        best = largest(terms)
        said = agreed([after[best], weights[best]], math.prod, terms[best])
        fields = {"product": f"{said[0]} × {said[1]} = {said[2]}", "sum": slope_words(before[at])}
        return text("captions.sequence.products_back", count=len(after), **fields)
    if operation.formula == "rms_norm":
        fields = {"before": slope_words(after[at]), "after": slope_words(before[at])}
        return text("captions.sequence.norm_back", count=len(after), **fields)
    if operation.formula == "attention":
        return text("captions.sequence.look_back")
    if kind == "sum":
        return text("captions.sequence.road_back", slope=slope_words(before[at]))
    if kind == "branch" and operation.around is not None:
        past = told.here(operation.around, slopes=True)
        terms = [past[at], before[at] - past[at]]
        return text("captions.sequence.branch_back", sum=added(terms, digits_of(terms)))
    return ""


def slope_title(told: Told, uses: Uses) -> str:
    """Return the slope of a weight as the sum over all places."""
    if told.operation.kind == "embedding":
        return text("captions.sequence.rows_back", letter=told.letter, place=told.place)
    words = added(uses.parts, digits_of(uses.parts), FEW)
    return text("captions.sequence.slope", count=len(uses.parts), sum=words)


def told_of_sequence(ctx: TracedWeight, at: Neuron | None, caption: Caption) -> Caption:
    """Return a caption about one place of a sequence in place of one about any number.

    Args:
        at: a neuron of the place, or None
    """
    told, kind = Told(ctx, at), ctx.moment.kind
    if len(told.read) == 0:
        return caption
    uses, title = told.uses_told(), ""
    if kind == "weight gradient":
        title = text("captions.sequence.none") if uses is None else slope_title(told, uses)
    elif kind == "step" and uses is not None and len(uses.beats) == 0 and not ctx.chosen:
        return caption  # about another weight
    elif kind == "step" and uses is not None and len(uses.beats) > 0:
        step = uses.beats[1].split(" = ")
        title = text("captions.sequence.step", change=step[1], way=uses.way)
    elif kind == "zero_grad":
        title = caption.title
    elif kind == "loss":
        title = loss_words(told)
    elif ctx.chosen and (kind != "forward" or ctx.operation.kind != "convolution"):
        return replace(caption, uses=uses)
    elif kind == "forward":
        title = forward_words(told)
    elif kind in ("delta", "input gradient"):
        title = backward_words(told)
    if title == "":
        return replace(caption, uses=uses)
    rows = rows_told(told) if kind == "forward" else []
    rows = rows if uses is None else [uses.row]
    formula = caption.formula if kind in ("forward", "step") else ""
    return Caption(title, formula, rows=tuple(rows), losses=caption.losses, uses=uses)
