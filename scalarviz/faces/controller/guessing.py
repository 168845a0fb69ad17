"""Guessing: time stops before an operation, and the learner says where a weight goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import hypot
from typing import TYPE_CHECKING, final

from scalarviz.base.texts import text
from scalarviz.faces.controller.computing import computes
from scalarviz.faces.controller.guess_rules import (
    Question,
    can_guess,
    is_near,
    question_of,
    way_of,
)
from scalarviz.pictures.presenter.captions.format import both, said
from scalarviz.pictures.presenter.captions.names import sentence, weight_name
from scalarviz.pictures.presenter.side_by_side import AnyStage
from scalarviz.pictures.view.frame_data import Guess
from scalarviz.training.session.session import Session

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

WAYS = {"up": 1, "down": -1, "stays": 0}  # by their keys, and the names of their texts
TYPED = "0123456789.-"
LONGEST = 12  # letters of a typed number
REACH = 110.0  # pixels from the cube within which an arrow is dragged
LEAST = 14.0  # pixels of a drag from which on it is an arrow


@final
class Guessing:
    """What is asked, and how many guesses were right.

    on       whether one guesses
    number   of the next question, from 0
    right    how many of those that were `asked` and answered were right
    """

    def __init__(self) -> None:
        self.on = False
        self.number = self.right = self.asked = 0
        self.question: Question | None = None
        self.at: tuple[object, ...] = ()  # where it was asked, or answered
        self.offered: tuple[str, ...] = ()


def here(controller: Controller) -> tuple[object, ...]:
    session, here = controller.session, controller.session.timeline.here
    return session, here.branch, here.clock


def turn(controller: Controller, on: bool) -> None:
    """Begin with the first question, or end."""
    if not on:
        return end(controller)
    controller.guessing = Guessing()
    return ask(controller)


def end(controller: Controller) -> None:
    """Guess no more; the session stays where it is."""
    stage, guessing = controller.stage, controller.guessing
    if stage.offered == guessing.offered:
        controller.withdraw()
    guessing.on, stage.guess = False, None


@computes
def ask(controller: Controller) -> None:
    """Go to the moment before the next operation that is asked about, and ask."""
    controller.stand_still()
    session, guessing = controller.session, controller.guessing
    controller.stage.guess, guessing.on = None, can_guess(session)
    if not guessing.on:
        return controller.tell(text("guess.not_here"))
    found = question_of(session, guessing.number, controller.stage.pinned)
    go = partial(session.advance, found.ahead, "operation")
    return controller.do(go, lambda _: pose(controller, found))


def pose(controller: Controller, question: Question) -> None:
    """Ask, unless the session has stopped on the way."""
    session, guessing = controller.session, controller.guessing
    if not guessing.on or session.clock.operation != question.at:
        return
    guessing.question, guessing.at = question, here(controller)
    guessing.number += 1
    name = text(f"guess.{question.kind}", name=named(session, question.row))
    controller.stage.guess = Guess(question.row, name)
    attend(controller)


def named(session: Session, row: int) -> str:
    """Return the name of a weight, at the start of a sentence."""
    uses = (each for each in session.network.program.operations if row in each.parameters)
    return sentence(weight_name(session, next(uses, None), row))


def lean(controller: Controller, way: int, typed: str = "") -> None:
    """Say which way it goes, and to which number; "" for none."""
    guess, question = controller.stage.guess, controller.guessing.question
    if guess is not None and guess.result is None and question is not None:
        now = said(number_of(controller.session, question), 3)
        title = f"{text(f'guess.number.{question.kind}', now=now)} {typed}_"
        label = label_of(question, way)
        controller.stage.guess = replace(guess, way=way, label=label, typed=typed, title=title)
        attend(controller)


@computes
def show(controller: Controller) -> None:
    """Do the operation, and show what came."""
    session, question = controller.session, controller.guessing.question
    if question is None or controller.guessing.at != here(controller):
        return
    old = number_of(session, question)

    def come() -> tuple[float, float]:
        session.advance(1, "operation")
        return old, number_of(session, question)

    controller.do(come, lambda numbers: tell(controller, question, *numbers))


def number_of(session: Session, question: Question) -> float:
    bank = session.network.bank
    return float((bank.value if question.kind == "value" else bank.grad)[question.row])


def tell(controller: Controller, question: Question, old: float, new: float) -> None:
    """Say what came, and whether the guess was right."""
    guess, guessing = controller.stage.guess, controller.guessing
    if guess is None:
        return
    came, kind = way_of(old, new), question.kind
    before, after = both(old, new)
    is_number = guess.typed.strip("-.") != ""
    is_right = guess.way == came and (not is_number or is_near(guess.typed, old, new))
    guessing.asked, guessing.right = guessing.asked + 1, guessing.right + is_right
    guessing.at = here(controller)
    words = "stays" if came == 0 and kind == "value" else kind
    fields = {"before": before, "after": after}
    wrong = guess.label.lower() if guess.way != came else guess.typed
    said_so = "right" if is_right else "wrong"
    title = text(f"guess.{said_so}", came=text(f"guess.came.{words}", **fields), guess=wrong)
    tally = text("guess.tally", right=guessing.right, asked=guessing.asked)
    title = f"{title} {tally}."
    controller.stage.guess = replace(guess, came=came, result=after, title=title)
    attend(controller)


def label_of(question: Question, way: int) -> str:
    """Return what an arrow means."""
    name = next(name for name, each in WAYS.items() if each == way)
    return text(f"guess.{name}.{question.kind}")


def offers_of(controller: Controller) -> dict[str, Callable[[], None]]:
    """Return the large buttons, by their labels."""
    guess, question = controller.stage.guess, controller.guessing.question
    found: dict[str, Callable[[], None]] = {}
    if guess is None or question is None or guess.result is not None:
        found[text("guess.next")] = partial(ask, controller)
    else:
        if guess.way is not None:
            found[text("guess.show")] = partial(show, controller)
        for way in WAYS.values():
            found[label_of(question, way)] = partial(lean, controller, way, guess.typed)
    found[text("guess.end")] = partial(end, controller)
    return found


def attend(controller: Controller) -> None:
    """End, or forget the question, where something else goes on; offer the buttons."""
    guessing, stage, guide = controller.guessing, controller.stage, controller.guide
    if not guessing.on or controller.hand.busy:
        return
    if controller.session.playing or stage.own is not None or guide.tour is not None:
        return end(controller)
    if guessing.at != here(controller):
        stage.guess = None
    offers = offers_of(controller)
    guessing.offered = tuple(offers)
    return stage.offer(offers)


def press(controller: Controller, key: str) -> bool:
    """Do what a key does while one guesses; return whether it does something then."""
    guess, guessing = controller.stage.guess, controller.guessing
    if not guessing.on or key not in (*WAYS, *TYPED, ",", "\b", "enter", "escape"):
        return False
    if key == "escape":
        end(controller)
    elif guess is None or guess.result is not None:
        if key != "enter":
            return False
        ask(controller)
    elif key in WAYS:
        lean(controller, WAYS[key], guess.typed)
    elif guess.way is None:
        return key == "enter"
    elif key == "enter":
        show(controller)
    else:
        typed = guess.typed[:-1] if key == "\b" else written(guess.typed, key.replace(",", "."))
        lean(controller, guess.way, typed)
    return True


def written(typed: str, letter: str) -> str:
    """Return a number with one more letter; the same if it would be none."""
    fits = letter.isdigit() or (letter == "-" and not typed) or (letter == "." not in typed)
    return typed + letter if fits and len(typed) < LONGEST else typed


def holds(stage: AnyStage, x: float, y: float) -> bool:
    """Return whether an arrow is dragged from a pixel on."""
    guess = stage.guess
    at = None if guess is None or guess.result is not None else stage.place_of(guess.row)
    return at is not None and hypot(at[0] - x, at[1] - y) <= REACH


def drag(controller: Controller, up: float) -> None:
    """Turn the arrow by a drag of so many pixels upwards."""
    guess = controller.stage.guess
    if guess is not None and abs(up) >= LEAST:
        lean(controller, 1 if up > 0.0 else -1, guess.typed)
