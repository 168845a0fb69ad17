"""Link: answers the pages that look at a session, see `commands` for what they may ask.

All is called on one thread, that of the face. Each page gets a state when it has taken the last
one, at most 30 a second, and an answer to each of its commands when that is done.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, final

import numpy as np

from scalarviz.base.checks import shorten
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.browser.commands import COMMANDS, FOR_ALL, reals, rows_named, rows_of, whole
from scalarviz.faces.browser.light import NO_ROWS, Light, Rows, exact_of
from scalarviz.faces.browser.offers import offers_of
from scalarviz.faces.browser.wire import Buffers, Coded, Header, split
from scalarviz.faces.controller.clicks import as_sentence
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.group import Group
from scalarviz.pages.caption_data import spoken, told
from scalarviz.pages.page import description
from scalarviz.pages.scene_data import SHAPES
from scalarviz.pages.session_state import SessionState, as_sent, losses_from, metrics_from
from scalarviz.scene.overlay import LANDSCAPE
from scalarviz.stage.chart_view import CurveView, OverlayPointer
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.side_by_side import AnyStage
from scalarviz.stage.stage import Stage
from scalarviz.training.session.over_time import KINDS, ORDERS
from scalarviz.training.session.session import Session

BETWEEN_STATES = 1.0 / 30.0  # seconds
PNG, PNG_BEGINS = "data:image/png;base64,", b"\x89PNG\r\n\x1a\n"
LARGEST_PICTURE = 20_000_000  # letters
CHOICES = {"kind": KINDS, "order": ORDERS | {LANDSCAPE: LANDSCAPE}}  # of weights over time
BETWEEN_LOOKS = 0.25  # seconds; to look at a million weights takes 0.3 ms
Post = Callable[[Header, Buffers], object]


@final
@dataclass(eq=False)
class Reader:
    """A page: how it is reached, and what it has.

    looks     whether it may only look
    owns      whether it is the owner's of this machine
    asked     numbers of its commands that have not been answered
    taken     whether it has taken the last state
    place     jumps and branch of its last state; None: its next one has all losses again
    known     up to which steps it has the losses, and the metrics
    draws     whether it was asked for its picture
    rows      of weights whose exact numbers it writes
    """

    post: Post
    looks: bool = False
    owns: bool = True
    asked: list[int] = field(default_factory=list)
    opened: bool = False
    taken: bool = True
    number: int = 0
    sent: float = 0.0
    version: int = 0
    place: tuple[int, int] | None = None
    known: tuple[int, int] = (0, -1)
    offers: Any = None
    shown: Any = None
    told: tuple[str, ...] = ()
    draws: bool = False
    rows: Rows = field(default_factory=lambda: NO_ROWS)


@final
class Link:
    """The pages of a session.

    group   the controllers of a face
    number  that of the session among those of the group
    theme   of the pages; "": that of each reader's system
    tour    whether they begin with the tour
    drawn   the last picture that a page has sent, a PNG; empty: none was asked for

    `owner_asks` says whether the command that is done now is one of this machine's owner.
    """

    def __init__(
        self, group: Group, number: int = 0, *, theme: str = "", tour: bool = False
    ) -> None:
        self.group, self.number = group, number
        self._theme, self._tour = theme, tour
        self.readers: list[Reader] = []
        self.version = 1
        self.drawn = b""
        self.owner_asks = True
        self._looked = 0.0
        self._whole: dict[str, Any] = {}  # the last state that was sent, before it was made light
        self._begin()

    def _begin(self) -> None:
        self._show = self.controller.show
        self.state = SessionState(self.session)
        self.described = description(self._show, self._theme, tour=self._tour)
        self._tour = False  # of the first description alone
        self.described["spec"]["page"] |= looks_of(self.controller.stage)
        if self._is_told:
            self.stage.unfold()
        layout = layout_of(self.session, SHAPES[0], walks=True)  # as in the description
        apart = [each.parameters for each in self.session.network.program.affines]
        self._light = Light(layout, [slice(rows.start, rows.stop) for rows in apart])

    @property
    def controller(self) -> Controller:
        return self.group.members[self.number]

    @property
    def session(self) -> Session:
        return self.controller.session

    @property
    def _is_told(self) -> bool:
        """Whether pages show what Python says of moments: of compiled functions."""
        return bool(self.session.network.program.is_graph)

    @property
    def stage(self) -> Stage:
        stage = self.controller.stage
        assert isinstance(stage, Stage), "each session has its own stage"
        return stage

    def jump(self) -> None:
        """Note that the next states may be far from these."""
        self.group.jumps += 1

    # ---- pages ----------------------------------------------------------------------------------

    def join(self, post: Post, *, looks: bool = False, owns: bool = True) -> Reader:
        """Take in a page; `post` sends it a message, and must not wait."""
        reader = Reader(post, looks, owns)
        self.readers.append(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        with suppress(ValueError):
            self.readers.remove(reader)

    def receive(self, reader: Reader, message: object) -> None:
        """Take a message of a page; raise InputError if it is none of a page."""
        if not isinstance(message, Mapping):
            raise InputError(f"a message is an object, not {shorten(message)}")
        if "taken" in message:
            reader.taken = reader.taken or message["taken"] == reader.number
            return
        if "picture" in message:
            self._take_picture(reader, message["picture"])
            return
        number, name, args = (message.get(each) for each in ("id", "name", "args"))
        args = {} if args is None else args
        if type(number) is not int or not isinstance(name, str) or not isinstance(args, Mapping):
            raise InputError("a command has a number, a name and arguments")
        try:
            if reader.looks and name not in FOR_ALL:
                raise InputError("you are looking on: only the one who shows this can change it")
            answers = self._answers(reader, name, args)
            if answers is not None:
                self._post(reader, {"id": number, "answers": answers})
                return
            if name not in COMMANDS:
                raise InputError(f"a session has no command {shorten(name)}")
            if name == "open":
                reader.opened = reader.taken = True
                reader.place = reader.offers = reader.shown = None
                reader.version = args.get("version", 0)
                if reader.looks:
                    self._post(reader, {"looks": True})
            self.group.choose_number(self.number)
            self.owner_asks = reader.owns
            COMMANDS[name](self, args)
        except ScalarvizError as error:
            words = as_sentence(" ".join(error.lines))
            self._post(reader, {"id": number, "refused": words})
        else:
            reader.asked.append(number)

    def _answers(self, reader: Reader, name: str, args: Mapping[str, Any]) -> Any:
        """Return what answers a question, which changes nothing; None for other commands."""
        count = len(self.session.network.bank)
        if name in ("evaluate", "survey"):
            inputs = reals(args, "inputs", self.session.network.inputs)
            return as_sent(getattr(self.state, name)(inputs))
        if name == "exact":
            reader.rows = rows_named(args, count)
            return exact_of(self._whole or self._read(), reader.rows)
        if name == "moved":
            return {"words": self.stage.moved(whole(args, "row", 0, count - 1))}
        if name == "past":
            if reader.looks and args.get("order") == LANDSCAPE:  # there is one for all pages
                raise InputError("you are looking on: the landscape is for who shows this")
            return past_of(self.stage, args)
        return None

    @property
    def is_seen(self) -> bool:
        """Whether a page has the newest state."""
        mark = self._mark()
        return any(each.taken and each.shown == mark for each in self.readers)

    def ask_picture(self) -> None:
        """Ask a page for its picture, which is `drawn` later."""
        for reader in self.readers:
            if reader.opened and not reader.looks:
                reader.draws = True
                self._post(reader, {"picture": True})
                return

    def _take_picture(self, reader: Reader, address: object) -> None:
        asked, reader.draws = reader.draws, False
        if not (asked and isinstance(address, str) and len(address) <= LARGEST_PICTURE):
            raise InputError("a page sends its picture when it is asked for it")
        with suppress(ValueError):
            found = b64decode(address.removeprefix(PNG), validate=True)
            self.drawn = found if found.startswith(PNG_BEGINS) else self.drawn

    # ---- states ---------------------------------------------------------------------------------

    def attend(self) -> None:
        """Do what is due; called several times a second."""
        self.group.attend()
        self.controller.stage.tick(perf_counter())
        is_stale = self.session.network.program is not self.state.program
        if self.controller.show is not self._show or is_stale:
            own = self.state.own
            self._begin()
            self.version += 1
            self.jump()
            fits = own is not None and len(own) == self.session.network.inputs
            self.state.own = own if fits else None
        if not self.readers:
            return
        now, busy = perf_counter(), self.controller.hand.busy
        if not busy and now - self._looked > BETWEEN_LOOKS:
            self._looked = now
            self._see_writes()
        mark = self._mark()
        told = tuple(words for words, _ in self.controller.stage.chips())
        pages = [each for each in self.readers if each.opened]
        due = [each for each in pages if is_due(each, now, busy, mark)]
        for reader in pages:
            for words in told:
                if words not in reader.told:
                    self._post(reader, {"told": words})
            reader.told = told
        if due:
            self._send(due, now, mark)

    def _see_writes(self) -> None:
        """Journal what cells have written into weights, as the next command would."""
        session = self.session
        with session.still(0) as still, suppress(ScalarvizError):  # the next command says it
            if still and not session.playing and session.timeline.has_outside_writes:
                with session.doing():
                    pass

    def first(self) -> dict[str, Any]:
        """Return the present state for JSON: a page shows it until Python can answer."""
        buffers: Buffers = []
        state = self._read() | {"undoable": 0, "redoable": 0} | self._history(0, -1)
        head = split(self._lightened(state), buffers)
        return {"state": head, "buffers": [b64encode(each).decode() for each in buffers]}

    def _history(self, first: int, last: int) -> dict[str, Any]:
        """Return the losses from a step on, and the metrics after another one."""
        losses, measured = losses_from(self.session, first), metrics_from(self.session, last)
        return {"losses": losses, "measured": measured}

    def _lightened(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return a state as it is sent: of a large network, Python says what is written of it."""
        light, self._whole = self._light.of(state), state
        if "light" in light and not (self._is_told or state["playing"]):
            light |= spoken(self.stage, state["moment"], walks=state["moment"] >= 0)
        if isinstance(light["grad"], Coded):
            light["exact"] = exact_of(state, NO_ROWS)
        return light

    def _read(self) -> dict[str, Any]:
        """Return the present state, with what Python says of it."""
        state = self.state.read()
        if not self._is_told:
            return state
        if state["operation"]:
            self.stage.own = None  # a step that is under way has its sample
        walks = state["moment"] >= 0 and not state["playing"]
        return state | told(self.stage, state["moment"], walks=walks)

    def show_all(self) -> None:
        """Send the present state to all pages, whether they have taken the last one or not."""
        if readers := [each for each in self.readers if each.opened]:
            self._send(readers, perf_counter(), self._mark())

    def _mark(self) -> Any:
        """What changes whenever a state would show something else."""
        session, stage = self.session, self.controller.stage
        here = session.timeline.here
        undo = session.timeline.undo_log
        own = None if stage.own is None else stage.own.tobytes()
        known = [answer.known for answer in self.stage.reading.answers]
        return (
            here, session.playing, session.focus, own, len(undo.done), len(undo.undone),
            self.version, len(here.branch.journal), id(session.data), stage.pinned, stage.offered,
            self.group.together, stage.pinned_neuron, known,
        )  # fmt: skip

    def _send(self, readers: list[Reader], now: float, mark: Any) -> None:
        """Send the present state, which has a mark, to some pages, with what each has not."""
        self.state.own, self.state.jumps = self.controller.stage.own, self.group.jumps
        shown = replace(self.controller.state, together=self.group.together)
        state = self._read() | {"undoable": shown.undoable, "redoable": shown.redoable}
        offered = self.controller.stage.offered
        offers = offers_of(shown, offered, several=self.group.several)
        shared: Buffers = []
        light = self._lightened(state)
        head, place = split(light, shared), (state["jumps"], state["branch"])
        histories: dict[tuple[int, int], Any] = {}  # by the steps up to which a reader has it
        for reader in readers:
            if reader.version != self.version:
                self._post(reader, {"description": self.described, "version": self.version})
                reader.version, reader.place = self.version, None
            known = reader.known[0], min(reader.known[1], state["step"])
            if reader.place != place:
                known = 0, -1
            if known not in histories:
                histories[known] = self._history(*known)
            more = histories[known] | ({} if offers == reader.offers else {"offers": offers})
            if "exact" in light:
                more["exact"] = exact_of(state, reader.rows)
            reader.number += 1
            ids, reader.asked = reader.asked, []  # done together, they have one state
            buffers = [*shared]
            header = {"ids": ids, "state": {**head, **split(more, buffers)}, "n": reader.number}
            reader.place = place
            reader.known = state["last"], histories[known]["measured"]["to"]
            reader.offers, reader.shown = offers, mark
            reader.taken, reader.sent = False, now
            reader.post(header, buffers)

    def _post(self, reader: Reader, message: Header) -> None:
        buffers: Buffers = []
        reader.post(split(message, buffers), buffers)

    def close(self, words: str) -> None:
        """Tell all pages that the training is gone."""
        for reader in self.readers:
            self._post(reader, {"closed": words})
        self.readers.clear()


def past_of(stage: Stage, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return all weights over time, for a page: as its worker does."""
    kind, order = (pick(table, args.get(name), name) for name, table in CHOICES.items())
    stage.refresh()
    reading = stage.reading
    past = reading.curves.past
    if order == LANDSCAPE:
        return landscape_of(stage, args)
    seen = past.seen(kind, order, reading.numbers, reading.here)
    return {
        "steps": seen.steps,
        "groups": seen.groups,
        "tiles": seen.tiles,
        "norms": seen.norms,
        "heads": seen.rows[seen.starts].astype(np.int32),
        "counts": np.diff(np.append(seen.starts, len(seen.rows))).astype(np.int32),
        "more": past.filled.busy,
    }


def landscape_of(stage: Stage, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the loss over a plane as far as it is computed, and the path of the branch in it."""
    reading, view = stage.reading, CurveView()
    for row in rows_of(args, "pins", len(reading.numbers.value)):
        view.pin(row)
    view.order, view.along = LANDSCAPE, "two" if view.pinned else "main"
    past, here = reading.curves.past, reading.here
    seen = past.terrain.read(view, OverlayPointer(), past.now(reading.numbers, here), here)
    if seen.says:
        raise InputError(seen.says)
    plane, found = seen.plane, {"heads": [], "steps": seen.steps, "at": seen.at}
    if plane is None:
        return {**found, "plane": None, "more": True}
    return {
        **found,
        "more": seen.done < 1.0 or past.filled.busy,
        "path": seen.path,
        "plane": {
            "span": plane.span,
            "shares": plane.shares,
            "rows": view.pinned if view.along == "two" else (),
            "losses": plane.losses,
            "done": seen.done,
        },
    }


def is_due(reader: Reader, now: float, busy: bool, mark: Any) -> bool:
    """Return whether a page gets a state now; `mark` is that of the present one."""
    is_ready = reader.taken and now - reader.sent >= BETWEEN_STATES
    return bool(reader.asked and not busy) or (is_ready and bool(reader.shown != mark))


def looks_of(stage: AnyStage) -> dict[str, Any]:
    """Return how a page looks at first: what its cubes show, what is pinned, whether it is calm."""
    pin: dict[str, Any] | None = None
    if stage.pinned is not None:
        pin = {"row": stage.pinned}
    elif stage.pinned_neuron is not None:
        pin = {"neuron": stage.pinned_neuron}
    return {"color": stage.color, "cubes": stage.size, "pin": pin, "calm": stage.reduced_motion}
