"""Captions of the moments of a session, with their numbers."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import plural, text
from scalarviz.core.bank_arrays import row_numbers
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.formula_words import in_words, value_at
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE, Moment, Program
from scalarviz.stage.live_values import LiveValues
from scalarviz.story.backward_captions import BACKWARD_KINDS, delta, row_back
from scalarviz.story.caption import Caption, Neuron, Piece, plain_lines
from scalarviz.story.equations import (
    FIRST_ON_CUBE,
    LONGEST_FORMULA,
    PRODUCT,
    CaptionLine,
    EquationTerm,
    change_between,
    ending_on,
    equation,
    in_brackets,
    is_exact,
    is_long,
    sum_line,
    whole_line,
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
)
from scalarviz.story.forward_captions import (
    CaptionFn,
    activation,
    batch_norm,
    caption_of,
    dropout,
    is_small,
    joined,
    loss,
    parametric,
    plain,
    predicted,
    product,
    row_formula,
    unchanged,
    weighted,
)
from scalarviz.story.names import sentence
from scalarviz.training.session.node_captions import itself, node_back, node_forward
from scalarviz.story.traced_weight import (
    TracedWeight,
    explained_neuron,
    explained_row,
    first_row,
    old_gradient,
    row_beside,
)
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.explanation import Explanation, FormulaLine, explain, last_edit
from scalarviz.training.session.session import Session
from scalarviz.training.session.stops import KIND
from scalarviz.training.session.timeline import Position
from scalarviz.training.session.value_session import VALUE

# The step: the optimizer's arithmetic for one weight, and the new loss.

# Actions after a step that do not change the network's outputs.
HARMLESS = {
    *("learning rate", "own rate", "optimizer", "data", "samples", "batch", "engine", "freeze"),
    KIND,
}
RATE_DIGITS = 6
PLACE_OF_NUMBER = re.compile(r"_(\d+)_")  # its place in what `Numbered` has found


def clip(g: float, low: float, high: float) -> float:
    return min(max(g, low), high)


def sign(w: float) -> float:
    return float((w > 0.0) - (w < 0.0))


FUNCTIONS_BEFORE = {"sqrt": sqrt, "clip": clip, "sign": sign}  # of lines before the update


def step(ctx: TracedWeight) -> Caption:
    """The optimizer's arithmetic, and the new loss."""
    if ctx.row == NONE:
        return Caption(text("captions.step.empty"))
    timeline, trainer = ctx.session.timeline, ctx.session.timeline.trainer
    actions = timeline.branch.actions_at(timeline.clock.place)[: timeline.clock.actions]
    # Within at_work the session must not be used: it would journal the older numbers as edits.
    with timeline.at_work():
        found = explain(trainer, ctx.row, timeline.clock.operation)
        optimizer = trainer.settings.optimizer
        inputs, targets = trainer.batches.at(timeline.clock.step)
        slots = optimizer.row.slots
        block = trainer.bank.slot_block(slots)
        kept = {name: float(slot[ctx.row]) for name, slot in zip(slots, block, strict=True)}
    caption = moved(found, optimizer, kept, ctx.name_of(ctx.row))
    count = len(inputs)
    if caption.lines:
        who = text(f"captions.step.{'some' if ctx.network.bank.frozen.any() else 'all'}")
        together = plural("captions.step.together", count, who=who)
        caption = with_line(caption, together)
    caption = replace(caption, title=ctx.opened(caption.title))
    # Dropout and the like differ in training and evaluation mode.
    is_plain = not any(operation.about.learning for operation in ctx.network.program.operations)
    few = is_small(count, targets.size)
    if is_plain and few and all(action.kind in HARMLESS for action in actions):
        again = ctx.once(lambda: value_at(lambda: trainer.loss(ctx.network(inputs), targets)))
        if again == again or timeline.loss != timeline.loss:  # else a function of users raised
            old, new = both(timeline.loss, again)
            words = plural("captions.step.loss", count, old=old, new=new)
            caption = with_line(caption, words)
    return caption


def with_line(caption: Caption, words: str) -> Caption:
    """Return a caption with one more line."""
    line = plain_lines(words)
    whole = (*caption.whole, *line) if caption.whole else ()
    return replace(caption, lines=(*caption.lines, *line), whole=whole)


def moved(
    found: Explanation, optimizer: Optimizer, kept: Mapping[str, float], name: str
) -> Caption:
    """Return how a weight moves: the optimizer's formula, and the same with its numbers."""
    row, old = found.row, found.value
    if not found.lines:
        kind = "frozen" if found.frozen else "still"
        title = text(f"captions.stays.{kind}", name=name, value=said(old, 3))
        return Caption(title, rows=(row,))
    exactly = {line.name for line in found.lines if is_exact(line)} | set(optimizer.settings)
    names = {"g": "gradient", "w": "w"}
    before: list[CaptionLine] = []
    for line in found.lines[:-1]:
        if line.is_same:
            continue
        if line.is_own_rate:
            rate = said(line.value, RATE_DIGITS)
            before += plain_lines(text("captions.step.own_rate", rate=rate))
            continue
        key = {"g": "clipped", "w": "decayed"}.get(line.name, "")
        name_now = text(f"captions.computed.{key}") if key else line.name
        if not line.pattern and line.name in kept:  # of an update that cannot be followed
            change = "{}: {} → {}".format(name_now, *both(kept[line.name], line.value))
            before += plain_lines(change)
        else:
            before.append(formula_line(line, exactly=exactly, start=f"{name_now} = "))
        names[line.name] = name_now
    last = found.lines[-1]
    digits = digits_between(old, last.value)
    ended, shown = ending(found, exactly, digits)
    if figures(shown) > digits:  # the new number needs as many, so that the two can be compared
        ended, shown = ending(found, exactly, figures(shown))
    new = ended[-1].words
    title = text("captions.step.title", name=name, old=shown, new=new)
    mark = f"{shown}\n→ {new}"
    ended = tuple(replace(piece, mark=mark) if piece.row == row else piece for piece in ended)
    if not any(piece.row == row for piece in ended):
        ended = *ended[:-1], replace(ended[-1], row=row, mark=mark)
    formula = in_words(last.formula, last.known, last.calls) or last.formula
    formula = text("captions.step.formula", formula=pretty(fill(formula, names)))
    whole = (ended, *before)
    lines = tuple(map(folded, whole))
    return Caption(title, formula, lines, whole if lines != whole else (), rows=(row,))


def ending(found: Explanation, exactly: Collection[str], digits: int) -> tuple[CaptionLine, str]:
    """Return the last line of an optimizer, and the old number as it is written."""
    line = formula_line(found.lines[-1], exactly=exactly, row=found.row, least=digits)
    if "w" not in {line.name for line in found.lines[:-1]}:  # else that after decay
        for piece in line:
            if piece.row == found.row:
                return line, piece.words
    return line, said(found.value, digits)


def folded(line: CaptionLine) -> CaptionLine:
    """Return a line that is short enough: of a long one the weight, "..." and the result."""
    if sum(len(piece.words) for piece in line) <= LONGEST_FORMULA:
        return line
    own = [replace(piece, words=f"{piece.words} ") for piece in line[:-1] if piece.row != NONE][:1]
    start = line[0].words.partition(" = ")
    head = [Piece("".join(start[:2]))] if start[1] else []
    return (*head, *own, Piece("...", opens=True), *line[-2:])


class Numbered(ast.NodeTransformer):
    """An expression with a name of its own in place of each number.

    numbers  these numbers: a name, or a constant
    """

    def __init__(self, *, constants: bool) -> None:
        self.constants = constants
        self.numbers: list[str | float] = []

    def next(self, number: str | float) -> ast.expr:
        self.numbers.append(number)
        return ast.Name(f"_{len(self.numbers) - 1}_", ast.Load())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.next(node.id)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if self.constants and isinstance(node.value, (int, float)):
            return self.next(float(node.value))
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        arguments = [self.visit(each) for each in node.args]
        return ast.Call(node.func, arguments, [])


def formula_line(
    line: FormulaLine,
    *,
    exactly: Collection[str] = (),
    start: str = "",
    row: int = NONE,
    least: int = FEW,
) -> CaptionLine:
    """Return a line of the optimizer with numbers in place of its names.

    line     the line, a formula of Python
    exactly  names whose numbers are not rounded
    start    words before the formula
    row      bank index of the weight that `w` in it is; NONE for none
    least    fewest digits; by default 2
    """
    functions = {**FUNCTIONS_BEFORE, **line.calls}
    numbered = Numbered(constants=line.formula != line.pattern)
    try:
        code = ast.unparse(numbered.visit(ast.parse(line.formula, mode="eval")))
    except SyntaxError:  # a sentence
        return plain_lines(f"{start}{line.formula}")[0]
    names = [f"_{i}_" for i in range(len(numbered.numbers))]
    parts: list[EquationTerm | str] = [start] if start else []
    order = []
    pieces = PLACE_OF_NUMBER.split(in_words(code, names, functions))
    for i, piece in enumerate(pieces):
        if not i % 2:
            parts += [pretty(piece)] if piece else []
            continue
        number = numbered.numbers[int(piece)]
        value = line.known[number] if isinstance(number, str) else number
        holds = pieces[i - 1].rstrip().endswith("-") or pieces[i + 1].startswith("^")
        words = in_brackets if holds else "{}".format
        own = row if number == "w" else NONE
        parts.append(EquationTerm((value,), words, own, exact=number in exactly))
        order.append(names[int(piece)])
    if len(order) < len(names):  # it cannot be written
        return plain_lines(f"{start}{said(line.value)}")[0]
    compiled = compile(code, "<formula>", "eval")

    def compute(v: Sequence[float]) -> float:
        numbers = dict(zip(order, v, strict=True))
        return float(eval(compiled, {"__builtins__": {}, **functions}, numbers))

    return equation(parts, compute, line.value, least=least)


# The moments.


def caption(session: Session, row: int | None = None, neuron: Neuron | None = None) -> Caption:
    """Return the caption of the last moment; the session does not change.

    session  the session
    row      bank index of the weight whose numbers are shown; None: one of `explained_neuron`
    neuron   the neuron whose numbers are shown instead, as buffer and place; None: no neuron
    """
    with session.doing(), np.errstate(all="ignore"):  # infinities are shown as they are
        step, operation = session.timeline.clock.place
        if (step, operation) == (0, 0):
            return Caption(text("captions.before"))
        moment = session.trainer.moments[operation - 1]
        program = session.network.program
        tellers = OF_EXPRESSIONS if program.is_graph else CAPTIONS
        if moment.kind not in tellers:
            return Caption(f"{moment.name[:1].upper()}{moment.name[1:]}.")
        chosen = row is not None or neuron is not None
        if neuron is not None and is_one(program, neuron):
            row, neuron = bias_behind(program, neuron), None
        if row is not None or program.is_graph:
            neuron = None
        elif neuron is None:
            neuron = explained_neuron(session, moment, step - (operation == 0))
            row = None if neuron is None else explained_row(session, moment, neuron)
        if chosen and neuron is not None:
            row = row_beside(program, neuron)
        followed = row_followed(session, moment) if row is None else int(row)
        traced = TracedWeight(session, moment, followed, neuron, chosen)
        return written_alike(lambda: tellers[moment.kind](traced))


def caption_at(
    place: tuple[int, int], session: Session, row: int | None, neuron: Neuron | None
) -> Caption:
    """Return the caption of the operation before a place of the clock, as `caption` does.

    place  step and operation, a moment of this branch; the session is there, or visits it
    """
    timeline = session.timeline
    with session.doing():
        if timeline.clock.place == place:
            return caption(session, row, neuron)
        with timeline.visit(Clock(*place)):
            timeline.remember()  # else the numbers there would be journalled as edits
            return caption(session, row, neuron)


def row_followed(session: Session, moment: Moment) -> int:
    """Return the weight that is followed by default: of a graph that moves, the one pushed most."""
    rows = row_numbers(session.network)
    if not rows or moment.kind != "step" or not session.network.program.is_graph:
        return first_row(session.network)
    pushes = np.nan_to_num(np.abs(session.network.bank.grad[np.array(rows)]))
    return int(rows[int(pushes.argmax())])


def is_one(program: Program, neuron: Neuron) -> bool:
    """Return whether a neuron is the 1 of the biases, which stands behind the last place."""
    sizes = {buffer.name: buffer.size for buffer in program.buffers}
    return neuron[1] >= sizes.get(neuron[0], neuron[1] + 1)


def bias_behind(program: Program, neuron: Neuron) -> int:
    """Return the first bias that a 1 is multiplied by."""
    found = [each.biases for each in program.operations if each.source.name == neuron[0]]
    return next((row for row in found if row != NONE), program.operations[0].weights)


# Captions of a network's moments.


def zero_grad(ctx: TracedWeight) -> Caption:
    if ctx.row == NONE:
        return caption_of("zero_grad")
    old = old_gradient(ctx.session.timeline, ctx.row)
    is_first = old == 0.0 and ctx.session.timeline.clock.step == 0
    words = "0" if is_first else f"{said(old)} → 0"
    start = ctx.opened(text("captions.zero_grad.of", name=ctx.name_of(ctx.row)))
    line = Piece(f"{start} "), Piece(words, ctx.row, mark="gradient\n0")
    found = caption_of("zero_grad", line)
    title = text("captions.zero_grad.first") if is_first else found.title
    callout = text("captions.callout.grad", grad=words)
    return replace(found, title=title, rows=(ctx.row,), callout=callout)


def forward(ctx: TracedWeight) -> Caption:
    plainly = FORWARD_KINDS.get(ctx.operation.kind, plain)(ctx)
    return predicted(ctx, plainly) if ctx.is_last else plainly


def weight_gradient(ctx: TracedWeight) -> Caption:
    """Input times delta: of the focus sample, over its places, and added up over the batch."""
    operation, row = ctx.operation, ctx.own_row
    if not operation.about.multiplies:
        return slope_times_signal(ctx, row)
    written, read = operation.uses(row)
    name, bias = ctx.name_of(row), read is None
    formula = "gradient = signal" if bias else f"gradient = {ctx.letter} × signal"
    if not len(written):
        words = plain_lines(text("explanation.beyond"))
        title = sentence(text("captions.weight_gradient.none", name=name))
        return Caption(title, formula, words, rows=(row,))
    inputs, upstream = ctx.numbers.inputs, ctx.numbers.upstream
    assert inputs is not None and upstream is not None
    deltas = upstream[:, written].astype(np.float64)
    x = np.ones_like(deltas) if read is None else inputs[:, read].astype(np.float64)
    total = float((x * deltas).sum())
    kind = "bias_title" if bias else "title"
    if total == 0.0:
        kind = "no_delta" if not deltas.any() else "no_input" if not x.any() else "none"
    elif total != total:
        kind = "nan"
    way = text(f"captions.way.{'down' if total > 0.0 else 'up'}")
    title = sentence(text(f"captions.weight_gradient.{kind}", name=name, way=way))
    lines, whole = gradient_lines(ctx, row, x, deltas)
    if len(written) > 1:
        formula = plural("captions.weight_gradient.used", len(written), formula=formula)
    middle = ctx.operation.target.name, int(written[len(written) // 2])
    neurons = [middle] if len(written) == 1 else []
    if len(written) == 1 and read is not None:
        neurons.append((operation.source.name, int(read[0])))
    callout = text("captions.callout.grad", grad=lines[-1][-1].words)
    return Caption(title, formula, lines, whole, (row,), tuple(neurons), callout)


def slope_times_signal(ctx: TracedWeight, row: int) -> Caption:
    """The gradient of a parameter that is no factor of an input."""
    name, grad = ctx.name_of(row), float(ctx.network.bank.grad[row])
    kind = "none" if grad == 0.0 else "nan" if grad != grad else "slope"
    way = text(f"captions.way.{'down' if grad > 0.0 else 'up'}")
    title = sentence(text(f"captions.weight_gradient.{kind}", name=name, way=way))
    line = Piece("gradient = "), Piece(said(grad), row)
    formula = text("captions.weight_gradient.by_slope")
    callout = text("captions.callout.grad", grad=said(grad))
    return Caption(title, formula, (line,), rows=(row,), callout=callout)


def gradient_lines(
    ctx: TracedWeight, row: int, x: FloatArray, deltas: FloatArray
) -> tuple[tuple[CaptionLine, ...], tuple[CaptionLine, ...]]:
    """Return the gradient of a weight in lines, and with all samples if some are left out.

    x, deltas  factors of the products, shape (samples, places)
    """
    operation, sample, (samples, places) = ctx.operation, ctx.sample, x.shape
    written, read = operation.uses(row)
    behind = [(operation.target.name, int(i)) for i in written]
    before: Sequence[Neuron | None] = [None] * places
    if read is not None:
        before = [(operation.source.name, int(i)) for i in read]

    def products(index: int) -> list[EquationTerm]:
        """The products of a sample; the neurons have the numbers of the focus sample only."""
        numbers = [*zip(x[index].tolist(), deltas[index].tolist(), strict=True)]
        if index != sample:
            return [EquationTerm(pair, PRODUCT) for pair in numbers]
        ends = zip(numbers, before, behind, strict=True)
        return [EquationTerm(pair, PRODUCT, neuron=a, behind=b) for pair, a, b in ends]

    own = products(sample)
    sums = (x * deltas).sum(axis=1)
    total = float(sums.sum())
    grad = total if len(homes_of(ctx, row)) > 1 else float(ctx.network.bank.grad[row])
    first = own[0]
    if places == 1:  # it stands on the cube
        own = [replace(first, row=row, mark=FIRST_ON_CUBE)]
    if samples == 1:
        line = sum_line(own, grad, start="gradient = ")
        whole = whole_line(own, grad, start="gradient = ")
        if places > 1:
            line, whole = ending_on(line, row), ending_on(whole, row)
        return (line,), ((whole,) if is_long(own) else ())
    start = text("captions.sample", sample=sample) + ": "
    line = sum_line(own, float(sums[sample]), start=start)
    rest = exact_sum(sums[i] for i in range(samples) if i != sample)
    more = plural("captions.more_samples", samples - 1, rest="{}").format
    added = sum_line(
        [EquationTerm((float(sums[sample]),)), EquationTerm((rest,), more, opens=True)],
        grad,
        start="gradient = ",
    )
    if places > 1:
        every = [EquationTerm((float(each),)) for each in sums]
    else:
        every = [own[0] if i == sample else products(i)[0] for i in range(samples)]
    whole = whole_line(every, grad, keep=sample, start="gradient = ")
    if places > 1:
        added, whole = ending_on(added, row), ending_on(whole, row)
    return (line, added), (whole,)


def homes_of(ctx: TracedWeight, row: int) -> list[int]:
    """Return the operations that a weight belongs to; layers can share it."""
    return [i for i, each in enumerate(ctx.program.operations) if row in each.parameters]


def input_gradient(ctx: TracedWeight) -> Caption:
    """What arrives at one input of the focus sample, over all paths."""
    return BACKWARD_KINDS.get(ctx.operation.kind, row_back)(ctx)


def loss_or_value(ctx: TracedWeight) -> Caption:
    return itself(ctx) if ctx.loss.row is VALUE else loss(ctx)


# Kinds in neither table have the captions `plain` and `row_back`.
FORWARD_KINDS: dict[str, CaptionFn] = {
    "affine": weighted,
    "convolution": weighted,
    "scale": weighted,
    "parametric": parametric,
    "activation": activation,
    "row": row_formula,
    "branch": unchanged,
    "sum": joined,
    "product": product,
    "concatenation": unchanged,
    "dropout": dropout,
    "batch_norm": batch_norm,
    "own": plain,
}
CAPTIONS: dict[str, Callable[[TracedWeight], Caption]] = {
    "zero_grad": zero_grad,
    "forward": forward,
    "loss": loss,
    "delta": delta,
    "weight gradient": weight_gradient,
    "input gradient": input_gradient,
    "step": step,
}
OF_EXPRESSIONS: dict[str, Callable[[TracedWeight], Caption]] = {
    "zero_grad": zero_grad,
    "forward": node_forward,
    "loss": loss_or_value,
    "operand gradient": node_back,
    "step": step,
}


def caption_and_edit(session: Session, row: int | None) -> Caption:
    """Return the caption of the last moment, with the edit of the weight at `row`, if any, last."""
    with session.doing():
        found = caption(session, row)
        edit = None if row is None else last_edit(session.timeline, row)
    if edit is None:
        return found
    old, new, _ = change_between(edit.old, edit.new)
    return with_line(found, text("captions.edited", old=old, new=new, step=edit.step))


# A training that plays: how much is right, and how the loss has changed.

AVERAGED = 20  # losses whose mean is compared
OF_THE_LOSS = "edit", "numbers", "data", "samples", "loss", "activation"  # actions that change it
# Texts of changes of the loss, by the largest ratio to that of about half as many steps.
LOSS_CHANGES = {
    "tenth": 0.13,
    "quarter": 0.35,
    "half": 0.6,
    "third": 0.8,
    "less": 0.97,
    "same": 1.03,
}


def changed_at(here: Position) -> int:
    """Return the first step whose loss is computed after the last change of a user; 0 without."""
    place, branch = here.clock.place, here.branch
    coming = branch.actions_at(place)[here.clock.actions :]
    done = (each for each in reversed(branch.journal) if each.place <= place and each not in coming)
    changes = (each for each in done if each.kind in OF_THE_LOSS)
    return next((each.step + (each.operation > 0) for each in changes), 0)


def progress_of(reading: LiveValues) -> str:
    """Return how many samples are right, else the loss, and how the loss has changed."""
    here = reading.here
    step, verdict = here.clock.step, reading.learned.verdict() if reading.learned else ""
    if not (step or verdict):
        return text("captions.before")
    words = verdict or text("captions.playing.loss", loss=f"{here.loss:.3g}")
    first = changed_at(here)
    half = max(0, step - first) // 2
    unit = 10 ** (len(str(half)) - 1)
    since = first + half // unit * unit  # of one digit: it stays for a while
    count = min(AVERAGED, since - first)
    if count:
        ends = [here.branch.losses_between(end - count, end) for end in (since, step)]
        earlier, now = (float(np.mean(each)) for each in ends)
        if math.isfinite(now) and earlier > 0.0:
            way = next(
                (name for name, most in LOSS_CHANGES.items() if now <= most * earlier), "more"
            )
            it = text(f"captions.playing.it.{'verdict' if verdict else 'loss'}")
            words = text(f"captions.playing.since.{way}", said=words, it=it, since=since)
    return text("captions.playing", step=step, said=words)
