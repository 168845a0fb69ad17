"""What is said of changes by hand: how answers go when a cube is dragged, and to custom inputs."""

from __future__ import annotations

import math

from scalarviz.base.texts import text
from scalarviz.story.cards import read_answers
from scalarviz.story.facts import Facts, Numbers
from scalarviz.story.formats import both, said
from scalarviz.story.names import neuron_name

MOST_SAID = 4  # numbers that a sentence names


def moved_answer(facts: Facts, before: Numbers, after: Numbers, old: str, new: str) -> str:
    """Return how the output goes that a change between two steps has moved most, or ""."""
    moved = [abs(float(b) - float(a)) for a, b in zip(before, after, strict=True)]
    if not all(math.isfinite(each) for each in moved):
        return ""
    place = moved.index(max(moved))
    start, end = both(float(before[place]), float(after[place]))
    if start == end:
        return ""
    unit = neuron_name(facts, (facts.outputs, place))
    what = text("notices.dragged.answer") if len(moved) == 1 else unit
    return text("notices.dragged.moves", old=old, new=new, what=what, start=start, end=end)


def custom_answer(facts: Facts, inputs: Numbers, outputs: Numbers, what: str = "") -> str:
    """Return the sentence about the answer to a custom input.

    outputs  of the network
    what     the name of the input; "": it has none
    """
    answers = read_answers(outputs, facts.loss.logits)
    answer = listed(facts, facts.outputs, answers)
    if not answer:
        name = neuron_name(facts, (facts.outputs, answers.index(max(answers))))
        return text("own.answered.largest" if what else "own.says.largest", what=what, name=name)
    given = listed(facts, facts.inputs, inputs)
    if given:
        return text("own.answered" if what else "own.says", what=what, inputs=given, outputs=answer)
    return text("own.answered.short" if what else "own.says.short", what=what, outputs=answer)


def listed(facts: Facts, buffer: str, values: Numbers) -> str:
    """Return the numbers of a few neurons, with their names; "" for many."""
    names = facts.buffers[buffer].names
    if len(values) > MOST_SAID:
        return ""
    if len(values) == 1 and not names:
        return said(float(values[0]))
    known = names or [neuron_name(facts, (buffer, i)) for i in range(len(values))]
    return ", ".join(f"{name} {said(float(x))}" for name, x in zip(known, values, strict=True))
