"""Guessing: time stops before an operation, and the user says where a weight goes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, final

from scalarviz.base.texts import text
from scalarviz.faces.controller.computing import computes
from scalarviz.scene.frame_data import Guess
from scalarviz.story.formats import both, said
from scalarviz.story.guess_rules import GuessQuestion, can_guess, is_near, question_of, way_of
from scalarviz.story.names import sentence, weight_name
from scalarviz.training.session.session import Session

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

TYPED = "0123456789.,-\b"  # keys of a number; the last one takes a letter back
NUMBER = re.compile(r"-?\d{0,9}\.?\d{0,9}")
LEAST = 14.0  # pixels of a drag from which on it is an arrow


@final
class Guessing:
    """What is asked, and how many guesses were right.

    on     whether one guesses
    right  how many of those that were answered, `asked`, were right
    """

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.on = False
        self.right = self.asked = 0
        self._question = GuessQuestion("value", 0, 0)
        self._at: tuple[object, ...] = ()  # where that was asked, or answered

    def turn(self, on: bool) -> None:
        """Begin with the first question, or end; the session stays where it is then."""
        self.right = self.asked = 0
        if on:
            return self.ask()
        self.on, self.controller.stage.guess = False, None
        if text("guess.end") in self.controller.stage.offered:
            self.controller.withdraw()
        return None

    def ask(self) -> None:
        """Go to the moment before the next operation that is asked about, and ask."""
        controller, stage = self.controller, self.controller.stage
        if stage.own is not None:
            stage.own = None
            controller.tell(text("own.left"))
        self.on, stage.guess = can_guess(controller.session), None
        if not self.on:
            return controller.tell(text("guess.not_here"))
        go = partial(to_question, controller.session, self.asked, stage.pinned)
        return compute(controller, go, self._pose)

    def _pose(self, question: GuessQuestion) -> None:
        """Ask, unless the session has stopped on the way."""
        session = self.controller.session
        if self.on and session.clock.operation == question.at:
            self._question, self._at = question, session.timeline.here
            uses = [x for x in session.network.program.operations if question.row in x.parameters]
            name = sentence(weight_name(session, uses[0], question.row))
            title = text(f"guess.asks.{question.kind}", name=name)
            self.controller.stage.guess = Guess(question.row, question.kind, title)

    def _is_here(self) -> bool:
        return self._at == self.controller.session.timeline.here

    def lean(self, way: int, typed: str = "") -> None:
        """Say which way it goes, and to which number; "" for none."""
        if self.controller.stage.hidden is not None and self._is_here():
            question = self._question
            now = said(question.number(self.controller.session), 3)
            title = f"{text(f'guess.number.{question.kind}', now=now)} {typed}_"
            about = question.row, question.kind, title
            self.controller.stage.guess = Guess(*about, way, labels(question)[way], typed)
            self.attend()

    def show(self) -> None:
        """Do the operation, and show what came."""
        controller, guess = self.controller, self.controller.stage.hidden
        if guess is not None and guess.way is not None and self._is_here():
            self._at = ()  # it is done once, however long it takes
            go = partial(numbers_of, controller.session, self._question)
            compute(controller, go, partial(self._tell, guess))

    def _tell(self, guess: Guess, numbers: tuple[float, float]) -> None:
        """Say what came, and whether the guess was right."""
        came, (before, after) = way_of(*numbers), both(*numbers)
        kind = self._question.kind if came or self._question.kind == "gradient" else "stays"
        fact = text(f"guess.came.{kind}", before=before, after=after)
        words = text("guess.wrong", guess=guess.label.lower(), came=fact)
        if guess.way == came:
            words = text("guess.half", guess=guess.label, typed=guess.typed, came=fact)
        self.asked += 1
        if guess.way == came and (guess.typed.strip("-.") == "" or is_near(guess.typed, *numbers)):
            self.right += 1
            words = text("guess.right", came=fact)
        words += f" {text('guess.tally', right=self.right, asked=self.asked)}."
        self._at = self.controller.session.timeline.here
        self.controller.stage.guess = replace(guess, came=came, result=after, title=words)

    def attend(self) -> None:
        """End, or forget the question, where something else goes on; offer the buttons."""
        controller, stage = self.controller, self.controller.stage
        if not self.on or controller.hand.busy:
            return
        goes_on = controller.session.playing or controller.guide.tour is not None
        if goes_on or stage.own is not None:
            controller.tell(text("guess.over"))
            return self.turn(False)
        if not self._is_here():
            stage.guess = None
        return stage.offer({**self._offers(), text("guess.end"): partial(self.turn, False)})

    def _offers(self) -> dict[str, Callable[[], None]]:
        """Return the large buttons, by their labels."""
        asked = self.controller.stage.hidden
        if asked is None:
            return {text("guess.next"): self.ask}
        shows = {text("guess.show"): self.show} if asked.way is not None else {}
        ways = labels(self._question).items()
        return {**shows, **{label: partial(self.lean, way) for way, label in ways}}

    def press(self, key: str) -> bool:
        """Do what a key does while one guesses; return whether it does something then."""
        asked = self.controller.stage.hidden
        acts = {"escape": partial(self.turn, False), "enter": partial(self.ask)}
        if asked is not None:
            acts["enter"] = partial(self.show)
            acts |= {"up": partial(self.lean, 1), "down": partial(self.lean, -1)}
        if asked is not None and asked.way is not None and key in TYPED:
            typed = asked.typed[:-1] if key == "\b" else asked.typed + key.replace(",", ".")
            typed = typed if NUMBER.fullmatch(typed) else asked.typed
            acts[key] = partial(self.lean, asked.way, typed)
        if self.on and key in acts:
            acts[key]()
        return self.on and key in acts

    def drag(self, up: float) -> None:
        """Turn the arrow by a drag of so many pixels upwards."""
        if abs(up) >= LEAST:
            self.lean(1 if up > 0.0 else -1)


def labels(question: GuessQuestion) -> dict[int, str]:
    """Return what the arrows mean: 1 up, -1 down, 0 neither."""
    up, down = text(f"guess.up.{question.kind}"), text(f"guess.down.{question.kind}")
    return {1: up, -1: down, 0: text(f"guess.stays.{question.kind}")}


@computes
def compute(
    controller: Controller, command: Callable[[], Any], then: Callable[[Any], None]
) -> None:
    """Pause, compute something, and call `then` with it."""
    controller.stand_still()
    controller.do(command, then)


def to_question(session: Session, number: int, pinned: int | None) -> GuessQuestion:
    """Go to the moment at which a question is asked, and return it."""
    with session.doing():
        question = question_of(session, number, pinned)
        ahead = (question.at - session.clock.operation) % len(session.trainer.moments)
        session.advance(ahead, "operation")
    return question


def numbers_of(session: Session, question: GuessQuestion) -> tuple[float, float]:
    """Return the number that is asked about, before and after the operation, which is done."""
    before = question.number(session)
    session.advance(1, "operation")
    return before, question.number(session)
