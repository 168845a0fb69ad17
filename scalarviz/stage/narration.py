"""Narration and Cards: the texts of a picture: title, step, caption, cards of pinned items."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import final

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.base.texts import text
from scalarviz.core.trace_program import TraceProgram, numbers_within, slopes_of_node
from scalarviz.errors import ScalarvizError
from scalarviz.scene.exhibits.exhibit import Exhibit
from scalarviz.scene.exhibits.plots import NeuronMap, Plane
from scalarviz.scene.frame_data import (
    History,
    NeuronMaps,
    PictureWords,
)
from scalarviz.scene.layout.plates import Layout
from scalarviz.stage.channels import ChannelSource
from scalarviz.stage.live_values import LiveValues
from scalarviz.stage.motion import Motion
from scalarviz.stage.pointing import PointerTarget, neuron_lines
from scalarviz.stage.show import Show
from scalarviz.story.caption import Caption, Card, CardLine, CardTable
from scalarviz.story.captions import progress_of, rest_of
from scalarviz.story.cards import NeuronNumbers, neuron_card, neuron_facts, numbers_of
from scalarviz.story.equations import ProductRow, product_table
from scalarviz.story.facts import NONE, Facts, Neuron, State
from scalarviz.story.formats import digits_between, said
from scalarviz.story.names import weight_title
from scalarviz.story.past_words import MOVED, words_of_samples
from scalarviz.story.weight_card import DIGITS, Blocks, blocks_about, line_beside, value_now
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.node_captions import computed, entitled, named
from scalarviz.training.session.reading import came_from, caption_at, facts_of, state_of
from scalarviz.training.session.replays import POINTS
from scalarviz.training.session.session import Session
from scalarviz.training.session.user_changes import OF_THE_LOSS, changed_at

NO_CAPTION = Caption("")
KEPT_CAPTIONS = 64  # captions of operations


@final
class Narration:
    """The texts of a picture of a session.

    Attributes:
        lesson: function that returns a hint shown above the progress during playback, or ""
    """

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self.lesson: Callable[[], str] = lambda: ""
        self._kept: dict[object, Caption] = {}
        self._first: Clock | None = None  # the first shown moment

    def caption(
        self,
        pinned: int | None,
        neuron: Neuron | None = None,
        place: tuple[int, int] | None = None,
    ) -> Caption:
        """Return the caption of the last operation, or of the operation before a clock position."""
        place = place or self.reading.place[:2]
        key = self.reading.key, place, pinned, neuron, self.reading.now.focus
        question = partial(caption_at, place=place, row=pinned, neuron=neuron)
        return self.reading.ask("caption", key, question) or NO_CAPTION

    def _lit(self, motion: Motion, pinned: int | None, neuron: Neuron | None) -> Caption:
        """Return the caption of the animated operation, even if the clock is already past it."""
        *here, branch = self.reading.place
        about = motion.place, branch, pinned, neuron, self.reading.now.focus
        said = self._kept.pop(about, None) if motion.place != tuple(here) else None
        said = said or self.caption(pinned, neuron, motion.place)
        if said is not NO_CAPTION:
            self._kept[about] = said
        while len(self._kept) > KEPT_CAPTIONS:
            del self._kept[next(iter(self._kept))]
        return said

    def words(
        self,
        show: Show,
        motion: Motion,
        pinned: int | None,
        neuron: Neuron | None = None,
        *,
        hint: bool,
        instead: Caption | None = None,
    ) -> PictureWords:
        """Return all texts of a picture.

        Args:
            show: the show
            motion: the animation, which determines the shown operation
            pinned: bank index of the pinned weight, or None
            neuron: the pinned neuron, or None
            hint: whether the caption may include suggestions
            instead: caption that replaces the one of the operation, or None
        """
        caption = instead or self._caption(show, motion, pinned, neuron, hint=hint)
        is_new = instead is None and self.reading.here.clock == Clock()
        moves = self.reading.now.playing or (motion.walking and motion.current)
        rests = instead is None and not (is_new or moves)
        things = self.reading.now.data.things
        words = show.title, show.about, caption, is_new, rests
        here = self.reading.here.clock
        self._first = self._first or here
        is_first = here == self._first and not moves
        return PictureWords(*words, show.task, things, is_first)

    def _caption(
        self,
        show: Show,
        motion: Motion,
        pinned: int | None,
        neuron: Neuron | None,
        *,
        hint: bool,
    ) -> Caption:
        """Return the caption of the shown operation or, without one, of the training run."""
        here, now = self.reading.here, self.reading.now
        # Captions that change too quickly cannot be read.
        is_read = not self.reading.asleep and not (now.playing and motion.hasty)
        if is_read and motion.walking and motion.current:
            return self._lit(motion, pinned, neuron)
        hint_words = text("captions.rest.hint") if hint else ""
        if here.clock == Clock() and not now.playing:
            return Caption(came_from(now) or text("captions.before"), hint_words)
        if now.playing:
            lesson, words = self.lesson(), progress_in(self.reading)
            return Caption(lesson, words) if lesson else Caption(words)
        is_edited = any(action.kind in OF_THE_LOSS for action in self.reading.actions)
        if math.isnan(here.loss):
            return Caption(show.about, hint_words)
        step, is_alone = here.clock.step, now.data.writes  # a mean is beside it
        return Caption(rest_of(step, here.loss, is_edited, is_alone=is_alone), hint_words)


def progress_in(reading: LiveValues) -> str:
    """Return the progress of training as text: right samples or loss, with the trend."""
    here, verdict = reading.here, reading.learned.verdict() if reading.learned else ""

    def losses(start: int, end: int) -> list[float]:
        return [*here.branch.losses_between(start, end)]

    is_alone = reading.now.data.writes
    return progress_of(
        here.clock.step, here.loss, changed_at(here), losses, verdict, is_alone=is_alone
    )


# Cards of hovered and pinned weights and neurons.

REPEATED, QUICK = (
    30,
    30_000_000,
)  # maximum replayed steps, and multiplications
DENSE = 4  # records further apart than this multiple of the usual distance leave a gap


def hover_card(reading: LiveValues, row: int | None, source: ChannelSource) -> Card | None:
    """Return the card shown next to a hovered cube, with its last change; None without a cube."""
    if row is None:
        return None
    value, before = float(source.numbers.value[row]), float(source.before[row])
    change = value - before
    facts = [
        (text("card.value"), said(value, max(DIGITS, digits_between(before, value)))),
        (text("card.change"), f"{'+' * (change > 0.0)}{said(change)}"),
        (text("card.gradient"), said(float(source.numbers.grad[row]))),
    ]
    if reading.now.frozen[row]:
        facts.append((text("card.frozen"), text("card.frozen.meaning")))
    return Card(row, weight_title(reading.facts, row), facts)


@final
class Cards:
    """Cards of hovered and pinned items; their arithmetic is renewed when the clock has moved."""

    def __init__(self, reading: LiveValues) -> None:
        self.reading = reading
        self._asked: tuple[object, ...] = ()

    def hovered(
        self,
        hovered: PointerTarget,
        pinned: PointerTarget,
        source: ChannelSource,
        layout: Layout,
        done: int,
    ) -> Card | None:
        """Return the card to show next to a hovered item; None if the item is pinned.

        Args:
            source: values of the bank
            layout: positions of the neurons
            done: number of shown operations of the step; 0 means all
        """
        if not hovered or hovered == pinned:
            return None
        if hovered.neuron is None:
            return hover_card(self.reading, hovered.row, source)
        card = node_card(self.reading, hovered.neuron, done)
        if card is not None:
            return Card(NONE, card.name, card.facts)
        known = numbers_of(*moment_of(self.reading, layout, done), hovered.neuron)
        if known is None or known.name not in known.facts.buffers:  # of a graph of values
            return None
        into = layout.fan_into(hovered.neuron)
        first = NONE if into is None else into[0].weights
        layers = [each for each in layout.labels if each.rows.start <= first < each.rows.stop]
        about = [(each.name, each.about) for each in layers]
        return Card(NONE, known.title, [*neuron_facts(known), *about])

    def pinned(
        self,
        pinned: PointerTarget,
        source: ChannelSource,
        layout: Layout,
        done: int,
        learned: tuple[NeuronMaps | None, Exhibit | None] = (None, None),
        beside: Sequence[int] = (),
    ) -> Card | None:
        """Return the card of the pinned item, with the same arguments as `hovered`.

        Args:
            learned: maps of the neurons over the plane, and the exhibit, for the card of a neuron
            beside: additionally pinned weights, whose numbers are on the card of a weight
        """
        if self.reading.asleep or not pinned:
            return None
        if pinned.neuron is None:
            return self._weight(pinned.row, source, beside)
        card = node_card(self.reading, pinned.neuron, done)
        if card is not None:
            return card
        moment = moment_of(self.reading, layout, done)
        return neuron_card(*moment, pinned.neuron, lambda known: drawing_of(known, *learned))

    def _weight(self, row: int | None, source: ChannelSource, beside: Sequence[int]) -> Card | None:
        """Return the card of a weight: the reason for its value, and its history.

        During playback, the arithmetic of the step at which playback started is kept.
        """
        if row is None:
            return None
        now, key = self.reading.now, self.reading.key
        if not now.playing or self._asked[:1] != (row,):
            self._asked = row, key, now.focus
        about = partial(blocks_of_weight, row=row)
        found = self.reading.ask("card", self._asked, about)
        blocks: list[CardLine | CardTable | History | Exhibit] = [
            *([CardLine(text("explanation.pending"), "quiet")] if found is None else found)
        ]
        if now.playing:
            blocks.insert(0, value_now(float(source.numbers.value[row])))
        history = self._history(row, source)
        if history is not None:
            blocks.insert(before_heading(blocks), history)
        if not now.playing and (moved := self.moved(row)):
            blocks.insert(before_heading(blocks), CardLine(moved, "quiet"))
        blocks[:0] = [self._beside(other, source) for other in beside]
        return Card(row, weight_title(self.reading.facts, row), blocks=blocks)

    def _beside(self, row: int, source: ChannelSource) -> CardLine:
        """Return the line of an additionally pinned weight."""
        value = float(source.numbers.value[row])
        since = value - float(self.reading.now.begun[row])
        return line_beside(self.reading.facts, row, value, since)

    def moved(self, row: int) -> str | None:
        """Return as text which samples moved a weight most; "" if none did, None until known."""
        return self.reading.ask("moved", (row, self.reading.key), partial(moved_most, row=row))

    def _history(self, row: int, source: ChannelSource) -> History | None:
        """Return the history of a weight so far, or None."""
        if self.reading.history is None:
            return None
        now = self.reading.place[0], float(source.numbers.value[row])
        return history_of(*self.reading.history, float(self.reading.now.begun[row]), now)


def moment_of(reading: LiveValues, layout: Layout, done: int) -> tuple[Facts, State]:
    """Return the facts and state of `reading.moment`, with the lines of neurons of a layout."""
    facts, state = reading.moment(done)
    return replace(facts, lines=neuron_lines(layout)), state


def history_of(
    steps: FloatArray, values: FloatArray, first: float, now: tuple[int, float]
) -> History | None:
    """Return a history with the value at step 0 and the current value; None before the first step.

    Args:
        steps, values: the recorded steps, in order, and their values
        first: the value at step 0
        now: the current step and value
    """
    step, value = now
    good = steps <= step
    steps, values = steps[good].astype(np.float64), values[good]
    if not len(steps) or steps[0] > 0:
        steps, values = np.append(0.0, steps), np.append(first, values)
    if steps[-1] < step or values[-1] != value:  # the same step again, after an edit
        steps, values = np.append(steps, float(step)), np.append(values, value)
    if step == 0:
        return None
    dense = max(1, DENSE * (step // POINTS))
    return History(steps, values, np.diff(steps) <= dense)


def before_heading(blocks: Sequence[object]) -> int:
    """Return the index of the first heading in a card's blocks, or the number of blocks."""
    heads = [isinstance(each, CardLine) and each.look == "strong" for each in blocks]
    return heads.index(True) if True in heads else len(blocks)


def moved_most(session: Session, row: int) -> str:
    """Return as text which samples moved a weight most in recent steps that are fast to replay."""
    count = len(session.operations) * session.timeline.trainer.batches.size
    steps = max(1, min(REPEATED, QUICK // (count * len(session.network.bank))))
    try:
        found = session.samples_that_moved(row, steps, MOVED, progress=False)
    except ScalarvizError:
        return ""
    amounts = [(each.sample, each.amount) for each in found.samples]
    return words_of_samples(amounts, found.total, found.last + 1 - found.first)


def blocks_of_weight(session: Session, row: int) -> Blocks:
    """Return the lines and tables of the card of a weight; the session is unchanged."""
    program = session.network.program
    is_graph = isinstance(program, TraceProgram)
    try:
        with session.doing(), np.errstate(all="ignore"):
            return blocks_about(
                facts_of(session),
                state_of(session),
                row,
                first_use=partial(first_use, program) if is_graph else None,
            )
    except ScalarvizError:
        return [CardLine(text("explanation.none"), "quiet")]


def drawing_of(known: NeuronNumbers, maps: NeuronMaps | None, plane: object) -> Exhibit | None:
    """Return the function of a neuron over the plane, as an exhibit.

    Args:
        known: the neuron
        maps: maps of all neurons, or None
        plane: the exhibit, with samples and axes
    """
    buffers = known.line.values, *known.line.also, known.line.sums
    name = next((each for each in buffers if known.array(each) is not None), "")
    if maps is None or name not in maps.values or not isinstance(plane, Plane):
        return None
    place = known.place
    return NeuronMap(maps.values[name][place], maps.parts(name)[place], plane)


# Nodes of a compiled function.

NODE_DIGITS, MOST_READERS = 3, 4  # minimum digits; maximum named nodes


def node_card(reading: LiveValues, neuron: Neuron, done: int) -> Card | None:
    """Return the card of an input or a node of a compiled function; None for anything else.

    Args:
        done: number of shown operations of the step; 0 means all
    """
    program = reading.program
    if not isinstance(program, TraceProgram) or neuron[0] not in program.place_of:
        return None
    place, first = program.place_of[neuron[0]], program.trace.first_made
    known, flows = known_numbers(reading, program, done)
    value = known.get(place)
    written = text("card.neuron.empty") if value is None else said(value, NODE_DIGITS)
    facts = [(text("card.value"), written)]
    about = text("card.neuron.sample", number=reading.now.focus)
    blocks: list[CardLine | CardTable | Exhibit] = [CardLine(written, "large", about)]
    readers = [
        i for i, each in enumerate(program.operations) if program.node(place) in each.sources
    ]
    node = next((each for each in program.nodes if first + each.root == place), None)
    if node is not None and node.count > 1:
        blocks.append(CardLine(text("card.node.equal", count=node.count)))
    elif node is not None and value is not None:
        lines, whole, _ = computed(program, node, known, least=NODE_DIGITS)
        shown = [*lines[:-1], *(whole or lines[-1:])]
        blocks += [CardLine("".join(piece.words for piece in line)) for line in shown]
    if node is not None and place in flows:
        facts.append((text("card.gradient"), said(flows[place], NODE_DIGITS)))
        way = "up" if flows[place] > 0.0 else "down" if flows[place] < 0.0 else "none"
        blocks.append(CardLine(text(f"card.node.gradient.{way}", gradient=said(flows[place]))))
        passed = [i for i in reversed(readers) if has_passed(reading, i, done)]
        blocks += came_back(program, place, passed, known, flows)
        readers = [i for i in readers if i not in passed]
    if len(readers) > MOST_READERS:
        blocks.append(CardLine(text("card.node.into_many", count=len(readers))))
        readers = []
    for i in readers:
        name = named(program, program.operations[i].target.offset)
        blocks.append(CardLine(text("card.neuron.into", name=name)))
    return Card(NONE, entitled(program, place), facts, blocks)


def known_numbers(
    reading: LiveValues, program: TraceProgram, done: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the values and gradients of the focus sample known so far, by index in the trace."""
    buffers, trace, places = reading.buffers(done), program.trace, program.place_of
    numbers = dict(enumerate(reading.numbers.value[program.rows].tolist(), trace.first_parameter))
    flows = buffers.flows if done else reading.way.flows
    numbers |= {places[name]: float(x[0]) for name, x in buffers.values.items() if name in places}
    return numbers, {places[name]: float(x[0]) for name, x in flows.items() if name in places}


def came_back(
    program: TraceProgram,
    place: int,
    readers: Sequence[int],
    known: Mapping[int, float],
    flows: Mapping[int, float],
) -> list[CardTable]:
    """Return a list with the table of gradients that come from the nodes reading a value.

    The list is empty if a node represents several nodes of which only the mean is known.
    """
    products, trace = list[ProductRow](), program.trace
    for node in map(program.nodes.__getitem__, readers):
        numbers, result = numbers_within(trace, node, known), trace.first_made + node.root
        if node.count > 1 or result not in numbers or program.node(place).size > 1:
            return []
        slopes = [slope for each, slope in slopes_of_node(trace, node, numbers) if each == place]
        products += [ProductRow(named(program, result), slope, flows[result]) for slope in slopes]
    head = text("card.node.into"), text("card.node.slope"), text("card.gradient")
    total = text("card.gradient")
    table = product_table((*head, text("card.node.back")), products, total, least=NODE_DIGITS)
    return [table] if products else []


def has_passed(reading: LiveValues, node: int, done: int) -> bool:
    """Return whether a node has passed its gradient to all its operands."""
    past = reading.moments[:done] if done else reading.moments
    return any(each.kind == "operand gradient" and each.operation == node for each in past)


def first_use(program: TraceProgram, row: int) -> str:
    """Return the name of the first node that uses the parameter at `row`, or ""."""
    uses = (each for i, each in enumerate(program.operations) if row in program.rows_read(i))
    return next((named(program, each.target.offset) for each in uses), "")
