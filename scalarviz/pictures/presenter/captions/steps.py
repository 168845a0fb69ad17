"""Captions of a step: the optimizer's arithmetic for one weight, and the new loss."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scalarviz.base.texts import plural, text
from scalarviz.core.formulas.elementary import sqrt
from scalarviz.core.formulas.formula_words import in_words, value_at
from scalarviz.core.optimizer import Optimizer
from scalarviz.core.program import NONE
from scalarviz.pictures.presenter.arithmetic import LONGEST, is_exact
from scalarviz.pictures.presenter.captions.format import (
    FEW,
    both,
    digits_between,
    figures,
    fill,
    pretty,
    said,
)
from scalarviz.pictures.presenter.captions.lines import Line, Term, equation, in_brackets
from scalarviz.pictures.presenter.captions.losses import is_small
from scalarviz.pictures.presenter.traced_weight import TracedWeight
from scalarviz.training.session.caption import Caption, Piece, plain_lines
from scalarviz.training.session.explanation import Explanation, FormulaLine, explain
from scalarviz.training.session.stops import KIND

# Actions after a step that do not change the network's outputs.
HARMLESS = {
    *("learning rate", "own rate", "optimizer", "data", "samples", "batch", "engine", "freeze"),
    KIND,
}
RATE_DIGITS = 6
NUMBER = re.compile(r"_(\d+)_")  # its place in what `Numbered` has found


def clip(g: float, low: float, high: float) -> float:
    return min(max(g, low), high)


def sign(w: float) -> float:
    return float((w > 0.0) - (w < 0.0))


FUNCTIONS = {"sqrt": sqrt, "clip": clip, "sign": sign}  # of lines before the update


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
    before: list[Line] = []
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


def ending(found: Explanation, exactly: Collection[str], digits: int) -> tuple[Line, str]:
    """Return the last line of an optimizer, and the old number as it is written."""
    line = formula_line(found.lines[-1], exactly=exactly, row=found.row, least=digits)
    if "w" not in {line.name for line in found.lines[:-1]}:  # else that after decay
        for piece in line:
            if piece.row == found.row:
                return line, piece.words
    return line, said(found.value, digits)


def folded(line: Line) -> Line:
    """Return a line that is short enough: of a long one the weight, "..." and the result."""
    if sum(len(piece.words) for piece in line) <= LONGEST:
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
) -> Line:
    """Return a line of the optimizer with numbers in place of its names.

    line     the line, a formula of Python
    exactly  names whose numbers are not rounded
    start    words before the formula
    row      bank index of the weight that `w` in it is; NONE for none
    least    fewest digits; by default 2
    """
    functions = {**FUNCTIONS, **line.calls}
    numbered = Numbered(constants=line.formula != line.pattern)
    try:
        code = ast.unparse(numbered.visit(ast.parse(line.formula, mode="eval")))
    except SyntaxError:  # a sentence
        return plain_lines(f"{start}{line.formula}")[0]
    names = [f"_{i}_" for i in range(len(numbered.numbers))]
    parts: list[Term | str] = [start] if start else []
    order = []
    pieces = NUMBER.split(in_words(code, names, functions))
    for i, piece in enumerate(pieces):
        if not i % 2:
            parts += [pretty(piece)] if piece else []
            continue
        number = numbered.numbers[int(piece)]
        value = line.known[number] if isinstance(number, str) else number
        holds = pieces[i - 1].rstrip().endswith("-") or pieces[i + 1].startswith("^")
        words = in_brackets if holds else "{}".format
        own = row if number == "w" else NONE
        parts.append(Term((value,), words, own, exact=number in exactly))
        order.append(names[int(piece)])
    if len(order) < len(names):  # it cannot be written
        return plain_lines(f"{start}{said(line.value)}")[0]
    compiled = compile(code, "<formula>", "eval")

    def compute(v: Sequence[float]) -> float:
        numbers = dict(zip(order, v, strict=True))
        return float(eval(compiled, {"__builtins__": {}, **functions}, numbers))

    return equation(parts, compute, line.value, least=least)
