"""Captions of the moments of a step, with their numbers, and of training during playback."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from scalarviz.base.texts import plural, text
from scalarviz.base.texts.decimals import rounded, typeset
from scalarviz.story.backward_captions import BACKWARD_KINDS, delta, row_back
from scalarviz.story.caption import Bars, Caption, Piece, plain_lines
from scalarviz.story.equations import (
    LONGEST_FORMULA,
    PRODUCT,
    CaptionLine,
    EquationTerm,
    bars_of,
    equation,
    in_brackets,
    is_exact,
    is_long,
    sum_line,
    whole_line,
)
from scalarviz.story.facts import (
    NONE,
    Explained,
    Facts,
    Neuron,
    Numbers,
    State,
    UpdateLine,
    sample_of,
)
from scalarviz.story.formats import (
    FEW,
    both,
    digits_between,
    exact_sum,
    figures,
    fill,
    pretty,
    said,
    written_alike,
    written_apart,
)
from scalarviz.story.forward_captions import (
    RESULT,
    CaptionFn,
    activation,
    batch_norm,
    caption_of,
    dropout,
    floats,
    group_of,
    joined,
    loss,
    mean,
    parametric,
    plain,
    product,
    row_formula,
    unchanged,
    weighted,
)
from scalarviz.story.names import homes_of, number_word, reads_sequence, sentence, short_name
from scalarviz.story.panel_words import blame_words, percents
from scalarviz.story.reason import blame_of, change_of, reason_of, stepped, written_change
from scalarviz.story.sequence_captions import told_of_sequence
from scalarviz.story.traced_weight import (
    TracedWeight,
    explained_neuron,
    explained_row,
    right_output,
    row_beside,
    summing,
    thread_at,
    thread_of,
    threaded_rows,
    window,
)
from scalarviz.story.trial import misses_of, nearer_of, outcome_of, share_with, trial_of

# The step: the optimizer's arithmetic for one weight, and the new loss.

RATE_DIGITS = 6
ALMOST, HALF = 1e-2, 0.499  # relative error in half precision; rounding error in last digits
CLOSE = 0.06  # maximum relative rounding error of a printed change
FEW_INPUTS = 4  # maximum inputs that are framed at the start of a step
PLACE_OF_NUMBER = re.compile(r"_(\d+)_", re.ASCII)  # index of a name in a numbered formula


def step(ctx: TracedWeight) -> Caption:
    """Explain a step: the optimizer's arithmetic, and the new loss."""
    state = ctx.state
    if ctx.row == NONE or state.explained is None:
        return Caption(text("captions.step.empty"))
    found = state.explained(ctx.row)
    caption = moved(found, float(state.value[ctx.row]), ctx.name_of(ctx.row))
    if caption.lines:
        who = text(f"captions.step.{'some' if found.is_any_frozen else 'all'}")
        caption = with_line(caption, plural("captions.step.together", ctx.state.batch, who=who))
    rows = [] if ctx.chosen else threaded_rows(ctx.facts, state, ctx.moment)
    rows = rows if len(rows) > 0 else [ctx.row]
    changes = [written_change(found.value, float(state.value[ctx.row]))]
    if state.before is not None:
        before, after = state.before, state.value
        changes = [written_change(float(before[row]), float(after[row])) for row in rows]
    wish = ", ".join([each for each in changes if each != ""])
    caption = replace(caption, title=ctx.opened(caption.title), wish=wish)
    if state.again is not None:
        old, new = both(state.loss, state.again)
        words = plural("captions.step.loss", ctx.state.batch, old=old, new=new)
        caption = replace(with_line(caption, words), losses=(old, new))
    group = None if ctx.facts.is_graph else group_of(ctx, nearer_of(ctx))
    if group is not None and caption.losses is not None:
        group = replace(group, losses=caption.losses)
    rows_told, why = tuple(rows), rolling_words(state, rows)
    return replace(caption, outcome=outcome_of(ctx), rows=rows_told, group=group, why=why)


def rolling_words(state: State, rows: Sequence[int]) -> str:
    """Return a sentence about a weight that momentum moved up its gradient, or ""."""
    before = state.before
    for row in rows if before is not None and len(state.slots_before) > 0 else []:
        assert before is not None
        old, new = float(before[row]), float(state.value[row])
        if (new - old) * float(state.grad[row]) > 0.0:
            return text("captions.step.rolls", change=written_change(old, new))
    return ""


def with_line(caption: Caption, words: str) -> Caption:
    """Return a caption with an additional line."""
    line = plain_lines(words)
    whole = (*caption.whole, *line) if caption.whole else ()
    return replace(caption, lines=(*caption.lines, *line), whole=whole)


def moved(found: Explained, now: float, name: str) -> Caption:
    """Return the update of a weight: the optimizer's formula, without and with numbers.

    Args:
        now: the weight at the shown moment
        name: name of the weight
    """
    row, old = found.row, found.value
    if not found.lines and (found.frozen or now == old):
        kind = "frozen" if found.frozen else "still"
        title = text(f"captions.stays.{kind}", name=name, value=said(old, 3))
        return Caption(title, rows=(row,))
    if not found.lines or not found.lines[-1].follows:
        return changed(found, found.lines[-1].value if found.lines else now, name)
    exactly = [*found.settings, *(line.name for line in found.lines if is_exact(line))]
    names = {"g": "gradient", "w": "w"}
    before: list[CaptionLine] = []
    for line in found.lines[:-1]:
        if line.same:
            continue
        if line.own_rate:
            rate = said(line.value, RATE_DIGITS)
            before += plain_lines(text("captions.step.own_rate", rate=rate))
            continue
        key = {"g": "clipped", "w": "decayed"}.get(line.name, "")
        name_now = text(f"captions.computed.{key}") if key else line.name
        if line.card is None and line.name in found.kept:  # of an update that cannot be traced
            change = "{}: {} → {}".format(name_now, *both(found.kept[line.name], line.value))
            before += plain_lines(change)
        else:
            before.append(formula_line(line, exactly=exactly, start=f"{name_now} = "))
        names[line.name] = name_now
    last = found.lines[-1]
    digits = max(3, digits_between(old, last.value))  # enough for the subtracted number
    ended, shown = ending(found, exactly, digits)
    if figures(shown) > digits:  # also for the new number, for comparison
        ended, shown = ending(found, exactly, figures(shown))
    new = ended[-1].words
    title = text("captions.step.title", name=name, old=shown, new=new)
    if not any(piece.row == row for piece in ended):
        ended = *ended[:-1], replace(ended[-1], row=row)
    formula = text("captions.step.formula", formula=pretty(fill(last.words, names)))
    whole = (ended, *before)
    lines = tuple(folded(line) for line in whole)
    return Caption(title, formula, lines, whole if any(map(is_folded, whole)) else (), rows=(row,))


def changed(found: Explained, now: float, name: str) -> Caption:
    """Return the change of a weight whose update is unknown."""
    old, new = both(found.value, now)
    title = text("captions.step.title", name=name, old=old, new=new)
    line = Piece(old, found.row), Piece(f" → {new}")
    return Caption(title, "", (line,), rows=(found.row,))


def ending(found: Explained, exactly: Collection[str], digits: int) -> tuple[CaptionLine, str]:
    """Return the last line of an optimizer, and the old weight as written in it."""
    line = formula_line(found.lines[-1], exactly=exactly, row=found.row, least=digits)
    if not any(each.name == "w" for each in found.lines[:-1]):  # otherwise the one after decay
        for piece in line:
            if piece.row == found.row:
                return line, piece.words
    return line, said(found.value, digits)


def is_folded(line: CaptionLine) -> bool:
    """Return whether a line is too long to be shown in full."""
    return sum(len(piece.words) for piece in line) > LONGEST_FORMULA


def folded(line: CaptionLine) -> CaptionLine:
    """Return a line, shortened to the weight, "..." and the result if it is long."""
    if not is_folded(line):
        return line
    own = [replace(piece, words=f"{piece.words} ") for piece in line[:-1] if piece.row != NONE][:1]
    start, sign, _ = line[0].words.partition(" = ")
    head = [Piece(start + sign)] if sign else []
    return (*head, *own, Piece("...", opens=True), *line[-2:])


def formula_line(
    line: UpdateLine,
    *,
    exactly: Collection[str] = (),
    start: str = "",
    row: int = NONE,
    least: int = FEW,
) -> CaptionLine:
    """Return a line of the optimizer with numbers in place of its names.

    Args:
        line: a line of the optimizer's formula
        exactly: names whose numbers are not rounded
        start: words before the formula
        row: bank index of the weight `w` in the formula; NONE without a weight
        least: minimum number of digits; by default 2
    """
    numbered = line.numbered
    if numbered is None:  # a sentence
        return plain_lines(f"{start}{line.formula}")[0]
    parts: list[EquationTerm | str] = [start] if start else []
    order: list[int] = []  # indices in the formula, in text order
    pieces = PLACE_OF_NUMBER.sub("\n\\1\n", numbered.words).split("\n")  # text, place, text ...
    for i, piece in enumerate(pieces):
        if i % 2 == 0:
            parts += [pretty(piece)] if piece else []
            continue
        name = numbered.names[int(piece)]
        holds = pieces[i - 1].rstrip().endswith("-") or pieces[i + 1].startswith("^")
        words = in_brackets if holds else "{}".format
        own = row if name == "w" else NONE
        parts.append(EquationTerm((line.known[name],), words, own, exact=name in exactly))
        order.append(int(piece))
    if len(order) < len(numbered.names):  # it cannot be written
        return plain_lines(f"{start}{said(line.value)}")[0]

    def compute(v: Sequence[float]) -> float:
        return numbered.compute(*[v[order.index(i)] for i in range(len(order))])

    return equation(parts, compute, line.value, least=least)


# The moments.


def caption_of_state(
    facts: Facts,
    state: State,
    row: int | None = None,
    neuron: Neuron | None = None,
    tellers: Mapping[str, CaptionFn] | None = None,
) -> Caption:
    """Return the caption of the last moment of a state.

    Args:
        row: bank index of the weight whose numbers are shown; None selects one automatically
        neuron: the neuron whose numbers are shown instead, as buffer and index; or None; in a
            sequence, captions are about its place
        tellers: functions that return captions, by kind of moment; by default those for networks
    """
    if state.moment == NONE:
        return Caption(text("captions.before"))
    moment = facts.moments[state.moment]
    tell = (CAPTIONS if tellers is None else tellers).get(moment.kind)
    if tell is None:
        return Caption(f"{sentence(moment.name)}.")
    given, is_sequence = neuron, tellers is None and reads_sequence(facts)
    if neuron is not None and is_sequence and neuron[0] == facts.inputs:
        neuron = None
    chosen = row is not None or neuron is not None
    if row is not None or facts.is_graph:
        neuron = None
    elif neuron is None:
        neuron = explained_neuron(facts, state, moment)
    if neuron is not None:
        row = row_beside(facts, neuron) if chosen else explained_row(facts, state, moment, neuron)
    if row is None:
        moved_rows = threaded_rows(facts, state, moment) if moment.kind == "step" else []
        row = moved_rows[0] if len(moved_rows) > 0 else first_row(facts, state)
    traced = TracedWeight(facts, state, moment, row, neuron, chosen)
    caption = written_alike(lambda: tell(traced))
    if is_sequence:
        return told_of_sequence(traced, given, caption)
    is_followed = neuron is not None or (moment.kind == "step" and not chosen)
    if is_followed and right_output(facts, state) is not None:
        at = [i for i in summing(facts) if moment.kind != "forward" or i <= moment.operation]
        at = [i for i in at if facts.operations[i].target in state.values]
        known = thread_of(facts, state)
        thread = [thread_at(facts, state, i) for i in at[len(known) :]]
        named = [(facts.operations[i].target, unit) for i, unit in zip(at, known, strict=False)]
        caption = replace(caption, thread=(*named, *thread))
    if moment.kind in ("zero_grad", "forward") and math.isfinite(state.loss):
        return replace(caption, losses=(said(state.loss, 3),))
    return caption


def first_row(facts: Facts, state: State) -> int:
    """Return the first trainable weight, else the first weight; NONE without weights."""
    learning = (row for row, frozen in enumerate(state.frozen) if not frozen)
    return next(learning, facts.first_row)


# Captions of a network's moments.

GRADIENT = "gradient = "


def zero_grad(ctx: TracedWeight) -> Caption:
    if ctx.row == NONE:
        return caption_of("zero_grad")
    before = ctx.state.grad_before
    old = 0.0 if before is None else float(before[ctx.row])
    is_first = old == 0.0 and ctx.state.step == 0
    words = "0" if is_first or before is None else f"{said(old)} → 0"
    start = ctx.opened(text("captions.zero_grad.of", name=ctx.name_of(ctx.row)))
    name, group = ctx.facts.inputs, None if ctx.facts.is_graph else group_of(ctx, [])
    framed: list[Neuron] = []  # the inputs of the shown neuron, if they are few
    if group is not None and not ctx.chosen:
        size = ctx.facts.buffers[name].size
        framed = [(name, place) for place in range(size if size <= FEW_INPUTS else 0)]
    row = ctx.row if len(framed) == 0 else NONE
    found = caption_of("zero_grad", (Piece(f"{start} "), Piece(words, row)))
    rows = tuple([row] if row != NONE else [])
    why = text("captions.zero_grad.first") if is_first else found.title
    found = replace(found, title=why, rows=rows, neurons=tuple(framed), group=group)
    if group is None:
        return found
    title = text("captions.zero_grad.group", count=number_word(group.count))
    why = text("captions.zero_grad.other") if ctx.facts.is_part and not is_first else why
    return replace(found, title=title, why=why)


def forward(ctx: TracedWeight) -> Caption:
    """Explain an operation of the forward pass, for the output on the signal path."""
    told = FORWARD_KINDS.get(ctx.operation.kind, plain)(ctx)
    formula = RESULT.sub("p =", told.formula) if ctx.is_last else told.formula
    return replace(told, formula=formula, neurons=(ctx.behind,))


def weight_gradient(ctx: TracedWeight) -> Caption:
    """Explain a weight's gradient: input times delta, for the focus sample and the whole batch."""
    operation, row = ctx.operation, ctx.own_row
    if not operation.multiplies:
        return slope_times_signal(ctx, row)
    written, read = ctx.uses(row)
    formula = "gradient = signal" if read is None else f"gradient = {ctx.letter} × signal"
    if not written:
        words = plain_lines(text("explanation.beyond"))
        title = asked_for(ctx, row, "none", 0.0)
        return Caption(title, formula, words, rows=(row,))
    products = products_of(ctx, row)
    total = products.total
    kind = products.lacking if total == 0.0 else "nan" if total != total else "title"
    title = asked_for(ctx, row, kind, total)
    lines, whole = gradient_lines(ctx, row, products)
    if len(written) > 1:
        formula = plural("captions.weight_gradient.used", len(written), formula=formula)
    neurons = [(operation.target, written[0])] if len(written) == 1 else []
    if len(written) == 1 and read is not None:
        neurons.append((operation.source, read[0]))
    caption = Caption(title, formula, lines, whole, (row,), tuple(neurons))
    blame = blame_of(ctx, row)
    way = -1.0 if total > 0.0 else 1.0
    agrees = added_up(products.own) * total > 0.0  # the shown sample and all together
    trial, tried = None, ""
    if agrees and read is not None:
        trial = trial_of(ctx.facts, ctx.state, row, way)
    wish = change_of(ctx.state, row)
    why = reason_of(ctx, row, total)
    is_sorted = right_output(ctx.facts, ctx.state) is not None
    if why == "" and blame is None and is_sorted and products.every is None:
        why = text("reason.together", count=number_word(ctx.state.batch))
    if agrees and trial is None:
        tried = tried_words(ctx, row, way)
    new, old = stepped(ctx.state, row), float(ctx.state.value[row])
    rolls = wish != "" and new is not None and (new - old) * total > 0.0
    moves = wish != "" and not rolls
    comes = "" if read is None else product_words(ctx, row, products, moves=moves)
    why = text("captions.step.rolls", change=wish) if rolls else why
    if len(ctx.state.frozen) > 0 and ctx.state.frozen[row]:
        why = text("reason.kept")
    group = group_of(ctx, [-each for each in products.sums])
    if group is not None and products.every is not None and read is not None:
        silent = [each for each in products.every if max([abs(x) for x, _ in each]) == 0.0]
        group = replace(group, silent=len(silent))
    caption = replace(
        caption,
        why=why,
        blame=blame,
        trial=trial,
        wish=wish,
        comes=comes,
        group=group,
        rolls=rolls,
        tried=tried,
        bars=places_of(ctx, products),
    )
    misses = misses_of(ctx.facts, ctx.state)
    is_last = ctx.moment.operation == summing(ctx.facts)[-1]
    if not is_last or len(written) != 1 or len(misses) != ctx.facts.buffers[operation.target].size:
        return caption
    return replace(caption, misses=tuple(misses[written[0] : written[0] + 1]))


PLACES = 3  # shown products of a weight of a filter
TRIED = 0.2  # change of a weight to see its effect on the right class


def tried_words(ctx: TracedWeight, row: int, way: float) -> str:
    """Return how moving a weight raises the probability of the right class; "" if it does not."""
    found, right = (
        share_with(ctx.facts, ctx.state, row, way * TRIED),
        right_output(ctx.facts, ctx.state),
    )
    if found is None or right is None or not found[1] > found[0]:
        return ""
    before, after = percents(found[0], found[1])
    words = text("captions.way.up") if way > 0.0 else text("captions.way.down")
    fields = {"step": typeset(f"{TRIED:.1f}"), "way": words, "before": before, "after": after}
    return text("trial.share", name=short_name(ctx.facts, right[1]), **fields)


def blame_terms(ctx: TracedWeight, products: GradientProducts) -> list[EquationTerm]:
    """Return the products of input and negative delta, for the shown sample."""
    count = 1 if ctx.facts.loss.mean == "none" else ctx.state.batch  # of one sample
    factors = text("reason.factors", input="{}", error="{}").format
    return [EquationTerm((x, -count * delta), factors) for x, delta in products.own]


def places_of(ctx: TracedWeight, products: GradientProducts) -> Bars | None:
    """Return the largest gradient products of a weight that is used at many positions, or None."""
    terms = blame_terms(ctx, products)
    is_used = len(terms) > PLACES + 1
    return bars_of(terms, exact_sum([each.value for each in terms]), PLACES) if is_used else None


def sorted_words(ctx: TracedWeight) -> str:
    """Return which pixels get a gradient if relu and max pooling follow a filter; or ""."""
    first = ctx.moment.operation + 1
    after = ctx.facts.operations[first : first + 2]
    if [each.formula for each in after] != ["relu", "max_pool"]:
        return ""
    return text("reason.largest", count=len(window(after[1], 0)))


def product_words(ctx: TracedWeight, row: int, products: GradientProducts, *, moves: bool) -> str:
    """Explain the negative gradient of a weight for the shown sample, and its mean for all.

    Texts call it blame: the weight should be higher if it is positive. The negative gradient of a
    weighted sum is called an error.

    Args:
        moves: whether the weight moves against its gradient, so that its step is also written
    """
    own = blame_terms(ctx, products)
    blame, key = exact_sum([each.value for each in own]), "one" if len(own) == 1 else "many"
    line: CaptionLine = (Piece(said(blame)),)
    if key == "one":
        line = written_apart(lambda: sum_line(own, blame))
    words = typeset("".join([each.words for each in line]))
    rule = rule_words(ctx.state, row) if moves else ""
    if rule != "" and key == "one":
        return f"{words}. {rule}"
    mean = blame_words(products.total)
    if ctx.state.batch == 1:
        return words
    told = text(f"reason.product.{key}", line=words, places=len(own), mean=mean)
    return " ".join([each for each in (sorted_words(ctx), told) if each != ""])


def rule_words(state: State, row: int) -> str:
    """Return the step of a weight as negative gradient × rate; "" if it has another formula."""
    lines = [] if state.explained is None else list(state.explained(row).lines)
    if len(lines) == 0 or any(each.name != "lr" for each in lines[:-1]):
        return ""
    last = lines[len(lines) - 1]
    blame, rate = -last.known.get("g", 0.0), last.known.get("lr", 0.0)
    old, change = last.known.get("w", 0.0), blame * rate
    if not abs(old + change - last.value) <= ALMOST * abs(change):
        return ""
    for digits in range(2, RATE_DIGITS + 1):
        power = 10.0**digits
        parts = [round(power * each) for each in (change, old, last.value)]
        if abs(power * change - parts[0]) > CLOSE * abs(parts[0]) or sum(parts[:2]) != parts[2]:
            continue
        for few in range(FEW, RATE_DIGITS):
            mean, by = rounded(blame, few), rounded(rate, RATE_DIGITS)
            if abs(power * float(mean) * float(by) - parts[0]) < HALF:
                said_of = [f"{each / power:.{digits}f}" for each in parts]
                fields = {"change": said_of[0], "old": said_of[1], "new": said_of[2]}
                return typeset(plural("reason.rule", state.batch, mean=mean, rate=by, **fields))
    return ""


def asked_for(ctx: TracedWeight, row: int, kind: str, grad: float) -> str:
    """Return a text on the direction in which a weight should change; `kind` selects the text."""
    way = text(f"captions.way.{'down' if grad > 0.0 else 'up'}")
    return sentence(text(f"captions.weight_gradient.{kind}", name=ctx.name_of(row), way=way))


def slope_times_signal(ctx: TracedWeight, row: int) -> Caption:
    """Explain the gradient of a parameter that is not multiplied by an input."""
    grad = float(ctx.state.grad[row])
    kind = "none" if grad == 0.0 else "nan" if grad != grad else "slope"
    title = asked_for(ctx, row, kind, grad)
    line = Piece("gradient = "), Piece(said(grad), row)
    formula = text("captions.weight_gradient.by_slope")
    return Caption(title, formula, (line,), rows=(row,))


Pairs = Sequence[tuple[float, float]]  # input and delta of a sample, at each position of a weight


@dataclass(frozen=True)
class GradientProducts:
    """The products whose sum is the gradient of a weight.

    Attributes:
        own: factors of the products of the focus sample
        every: factors of the products of each sample; None if only the focus sample is known
        grad: the gradient in the bank
    """

    own: Pairs
    every: Sequence[Pairs] | None
    grad: float

    @cached_property
    def sums(self) -> list[float]:
        """Sum of the products of each sample; empty if unknown."""
        return [] if self.every is None else [added_up(pairs) for pairs in self.every]

    @property
    def total(self) -> float:
        return self.grad if self.every is None else exact_sum(self.sums)

    @property
    def lacking(self) -> str:
        """Which factors are all 0, as key of a text: "no_delta", "no_input" or "none"."""
        pairs = [pair for each in self.every or () for pair in each]
        if pairs and all(delta == 0.0 for _, delta in pairs):
            return "no_delta"
        return "no_input" if pairs and all(x == 0.0 for x, _ in pairs) else "none"


def added_up(pairs: Pairs) -> float:
    """Return a sum of products."""
    return exact_sum(x * delta for x, delta in pairs)


def products_of(ctx: TracedWeight, row: int) -> GradientProducts:
    """Return the products that add up to the gradient of a weight of the operation."""
    source, target = ctx.operation.source, ctx.operation.target
    written, read = ctx.uses(row)

    def pairs(x: Numbers, deltas: Numbers, first: int, behind: int) -> Pairs:
        """Return input and delta at each position at which a sample uses the weight."""
        numbers = [1.0] * len(written) if read is None else [float(x[first + i]) for i in read]
        return [(a, float(deltas[behind + i])) for a, i in zip(numbers, written, strict=True)]

    own, grad = pairs(ctx.inputs, ctx.upstream, 0, 0), float(ctx.state.grad[row])
    x, deltas = ctx.of_batch("values", source), ctx.of_batch("gradients", target)
    if x is None or deltas is None:
        return GradientProducts(own, None, grad)
    sizes = ctx.facts.buffers[source].size, ctx.facts.buffers[target].size
    every = [pairs(x, deltas, i * sizes[0], i * sizes[1]) for i in range(ctx.state.batch)]
    return GradientProducts(own, every, grad)


def gradient_lines(
    ctx: TracedWeight, row: int, products: GradientProducts
) -> tuple[tuple[CaptionLine, ...], tuple[CaptionLine, ...]]:
    """Return the gradient of a weight as short lines, and as full lines if samples are omitted."""
    sample, own, every, start = (
        sample_of(ctx.state),
        terms_of(ctx, row, products.own),
        products.every,
        GRADIENT,
    )
    is_shared = len(homes_of(ctx.facts, row)) > 1
    grad = products.total if is_shared else products.grad
    if len(own) == 1:
        own = [replace(own[0], row=row)]

    def ended(line: CaptionLine) -> CaptionLine:
        return line if len(own) == 1 else (*line[:-1], replace(line[-1], row=row))

    if ctx.state.batch == 1:
        whole = (ended(whole_line(own, grad, start=start)),) if is_long(own) else ()
        return (ended(sum_line(own, grad, start=start)),), whole
    mine = added_up(products.own)
    line = sum_line(own, mine, start=text("captions.sample", sample=sample) + ": ")
    rest = grad - mine
    if every is not None:
        rest = exact_sum(each for i, each in enumerate(products.sums) if i != sample)
    more = plural("captions.more_samples", ctx.state.batch - 1, rest="{}").format
    both_parts = [EquationTerm((mine,)), EquationTerm((rest,), more, opens=True)]
    lines = line, ended(sum_line(both_parts, grad, start=start))
    if every is None:
        return lines, ()
    terms = [EquationTerm((each,)) for each in products.sums]
    if len(own) == 1:
        terms = [EquationTerm(pairs[0], PRODUCT) for pairs in every]
        terms[sample] = own[0]
    return lines, (ended(whole_line(terms, grad, keep=sample, start=start)),)


def terms_of(ctx: TracedWeight, row: int, pairs: Pairs) -> list[EquationTerm]:
    """Return the products of the focus sample as terms, each linked to its input neuron."""
    written, read = ctx.uses(row)
    before: list[Neuron | None] = [None] * len(written)
    if read is not None:
        before = [(ctx.operation.source, i) for i in read]
    return [
        EquationTerm(pair, PRODUCT, neuron=neuron)
        for pair, neuron in zip(pairs, before, strict=True)
    ]


def input_gradient(ctx: TracedWeight) -> Caption:
    """Explain the gradient of one input of the focus sample, over all paths."""
    told, (name, place) = BACKWARD_KINDS.get(ctx.operation.kind, row_back)(ctx), ctx.before
    came = float(ctx.state.gradients[name][place])
    way = "more" if came < 0.0 else "less" if came > 0.0 else "none"
    is_pixel = len(ctx.facts.buffers[name].shape) > 0
    unit = text("captions.unit.this_pixel") if is_pixel else ctx.named(ctx.before)
    title = sentence(text(f"captions.back.{way}", unit=unit))
    return replace(told, title=title, why=told.title, neurons=(ctx.before,))


# Kinds in neither table have the captions `plain` and `row_back`.
FORWARD_KINDS: dict[str, CaptionFn] = {
    "affine": weighted,
    "convolution": weighted,
    "scale": weighted,
    "parametric": parametric,
    "activation": activation,
    "row": row_formula,
    "each_place": plain,
    "embedding": plain,
    "branch": unchanged,
    "sum": joined,
    "product": product,
    "concatenation": unchanged,
    "dropout": dropout,
    "batch_norm": batch_norm,
    "own": plain,
}
CAPTIONS: dict[str, CaptionFn] = {
    "zero_grad": zero_grad,
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
    "step": step,
}


# A paused session: its progress.


def rest_of(step: int, loss: float, is_edited: bool, *, is_alone: bool = False) -> str:
    """Return the progress of training as text.

    Args:
        is_edited: whether the loss is from before an edit
        is_alone: whether it is shown next to a mean, since the loss of one step says little
    """
    words = f"{loss:.3g}"
    if is_alone and not is_edited:
        return plural("captions.rest.alone", step, loss=words)
    return plural("captions.rest.edited" if is_edited else "captions.rest", step, loss=words)


# Playback: how many samples are right, and how the loss has changed.

AVERAGED = 20  # losses averaged for the comparison
# Texts of changes of the loss, by the largest ratio to the loss after about half the steps.
LOSS_CHANGES = {
    "tenth": 0.13,
    "quarter": 0.35,
    "half": 0.6,
    "third": 0.8,
    "less": 0.97,
    "same": 1.03,
}


def progress_of(
    step: int,
    loss: float,
    changed: int,
    losses_between: Callable[[int, int], Numbers],
    verdict: str,
    *,
    is_alone: bool = False,
) -> str:
    """Return the progress during playback as text: right samples or loss, with the trend.

    Args:
        step: finished whole steps
        loss: loss of the last step
        changed: first step after the user's last change
        losses_between: function that returns the losses in a range of steps, without its end
        verdict: number of right samples as text; "" if unknown
        is_alone: as for `rest_of`
    """
    if not step and not verdict:
        return text("captions.before")
    known = "alone" if is_alone else "loss"
    words = verdict or text(f"captions.playing.{known}", loss=f"{loss:.3g}")
    what = "verdict" if verdict else known
    half = max(0, step - changed) // 2
    unit: int = 10 ** (len(str(half)) - 1)
    since = changed + half // unit * unit  # rounded to one digit, so that it rarely changes
    count = min(AVERAGED, since - changed)
    if count:
        ends = [losses_between(end - count, end) for end in (since, step)]
        earlier, now = (mean(floats(each)) for each in ends)
        if math.isfinite(now) and earlier > 0.0:
            way = next(
                (name for name, most in LOSS_CHANGES.items() if now <= most * earlier), "more"
            )
            it = text(f"captions.playing.it.{what}")
            words = text(f"captions.playing.since.{way}", said=words, it=it, since=since)
    return text("captions.playing", step=step, said=words)
