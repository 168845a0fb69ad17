"""PageLink: sends the state of a session to pages, and executes their commands.

The names and arguments of commands are defined in COMMANDS of stage/commands.py, and in OTHERS
below.

All calls are made in the thread of the interface. A page gets a new state when it has received
the previous one, at most 30 per second. It gets a reply to each command when the command has
finished.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, final, get_args

import numpy as np

from scalarviz.base.checks import FloatArray, require, shorten
from scalarviz.base.scales import HEALTH, SCALARS, WEIGHTS
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.browser.wire import (
    MOST_ROWS,
    NO_ROWS,
    Buffers,
    Coded,
    Header,
    Rows,
    StateReducer,
    exact_of,
    split,
)
from scalarviz.faces.controller.changes import pinned_layer, put_in, take_out
from scalarviz.faces.controller.clock_control import WHOLE
from scalarviz.faces.controller.control import OPTION, Control, FaceState, control_of, state_of
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import Face, WatchOptions
from scalarviz.faces.controller.keys import controls_for
from scalarviz.faces.controller.options import as_sentence
from scalarviz.faces.links import check_plain
from scalarviz.pages.caption_data import spoken, told
from scalarviz.pages.page import description
from scalarviz.pages.scene_data import SHAPES
from scalarviz.pages.session_state import SessionState, as_sent, losses_from, metrics_from
from scalarviz.scene.loss_chart import CurveView
from scalarviz.stage.commands import COMMANDS, REQUIRED, ROW, Argument, page_look
from scalarviz.stage.curves import scalar_numbers
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.stage import Stage
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.session import Session, Unit

BETWEEN_STATES = 1.0 / 30.0  # seconds
PNG, PNG_BEGINS = "data:image/png;base64,", b"\x89PNG\r\n\x1a\n"
LARGEST_PICTURE = 20_000_000  # letters of an encoded picture
CHARTS = WEIGHTS, SCALARS, HEALTH  # below the loss curve of a page
BETWEEN_LOOKS = 0.25  # seconds; checking a million weights takes 0.3 ms
Post = Callable[[Header, Buffers], object]


@final
@dataclass(eq=False)
class PageReader:
    """A connected page, and a record of the data that was already sent to it.

    Attributes:
        looks: whether the page may only watch, without control of the session
        owns: whether the page belongs to the owner of this machine
        asked: ids of the commands that have no reply yet
        taken: whether the page has received the last state
        place: number of jumps and branch of the last sent state; None: the next state contains
            all losses again
        known: steps of the last loss and of the last metrics that the page has
        draws: whether a picture of the page was requested
        rows: bank indices of the weights whose exact numbers the page shows
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
class PageLink:
    """Connects a session to all pages that show it.

    Attributes:
        face: the user interface of the session
        number: index of the session in the interface
        theme: theme of the pages; "" for the theme of each reader's system
        tour: whether the pages begin with the tour
        drawn: the last PNG picture sent by a page; empty if none was requested
    """

    def __init__(self, face: Face, number: int = 0, *, theme: str = "", tour: bool = False) -> None:
        self.face, self.number = face, number
        self._theme, self._tour = theme, tour
        self.readers: list[PageReader] = []
        self.version = 1
        self.drawn = b""
        self._looked = 0.0
        self._whole: dict[str, Any] = {}  # the last sent state, before reduction
        self._begin()

    def _begin(self) -> None:
        self._show = self.controller.show
        self.state = SessionState(self.session)
        self._marked = self._marks_now()
        opened = self.stage.opened
        self.described = description(self._show, self._theme, tour=self._tour, opened=opened)
        self._tour = False  # of the first description only
        self.described["spec"]["page"] |= looks_of(self.controller.stage)
        if self._is_told:
            self.stage.unfold()
        # As in the description.
        layout = layout_of(self.session, SHAPES[0], walks=True, opened=opened)
        apart = [each.parameters for each in self.session.network.program.apart.values()]
        self._light = StateReducer(layout, [slice(rows.start, rows.stop) for rows in apart])

    @property
    def controller(self) -> Controller:
        return self.face.panes[self.number]

    @property
    def session(self) -> Session:
        return self.controller.session

    @property
    def _is_told(self) -> bool:
        """Whether Python writes all texts of the pages, as for compiled functions."""
        return bool(self.session.network.program.is_graph)

    @property
    def stage(self) -> Stage:
        return self.controller.stage

    def _marks_now(self) -> Any:
        """Return a value that changes with the frames and lines of a followed model."""
        return id(self.session.trainer.run.structure), {**self.stage.opened}

    # ---- pages ----------------------------------------------------------------------------------

    def join(self, post: Post, *, looks: bool = False, owns: bool = True) -> PageReader:
        """Add a page. The function `post` sends a message to it, and must not block."""
        reader = PageReader(post, looks, owns)
        self.readers.append(reader)
        return reader

    def leave(self, reader: PageReader) -> None:
        with suppress(ValueError):
            self.readers.remove(reader)

    def receive(self, reader: PageReader, message: object) -> None:
        """Process a message from a page; raise InputError if the message is invalid."""
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
            require(
                name in FOR_ALL or not reader.looks,
                "you are a viewer: only the presenter can change it",
            )
            answers = self._answers(reader, name, args)
            if answers is not None:
                self._post(reader, {"id": number, "answers": answers})
                return
            if name == "open":
                reader.opened = reader.taken = True
                reader.place = reader.offers = reader.shown = None
                reader.version = args.get("version", 0)
                if reader.looks:
                    self._post(reader, {"looks": True})
            self.face.stage.chosen = self.number
            do(self, name, args, owns=reader.owns)
        except ScalarvizError as error:
            self._post(reader, {"id": number, "refused": as_sentence(" ".join(error.lines))})
        else:
            reader.asked.append(number)

    def _answers(self, reader: PageReader, name: str, args: Mapping[str, Any]) -> Any:
        """Return the reply to a query; None for a command that is not a query."""
        count = len(self.session.network.bank)
        if name in ("evaluate", "survey"):
            inputs = reals(args.get("inputs"), "inputs", self.session.network.inputs)
            return as_sent(getattr(self.state, name)(inputs))
        if name == "exact":
            reader.rows = rows_named(args, count)
            return exact_of(self._whole or self._read(), reader.rows)
        if name == "moved":
            return {"words": self.stage.moved(taken(self.session, ROW, args))}
        if name == "past":
            return past_of(self.stage, args)
        return None

    @property
    def is_seen(self) -> bool:
        """Whether at least one page has received the latest state."""
        mark = self._mark()
        return any(each.taken and each.shown == mark for each in self.readers)

    def ask_picture(self) -> None:
        """Request a picture from a page; it is stored in `drawn` when it arrives."""
        for reader in self.readers:
            if reader.opened and not reader.looks:
                reader.draws = True
                self._post(reader, {"picture": True})
                return

    def _take_picture(self, reader: PageReader, address: object) -> None:
        asked, reader.draws = reader.draws, False
        if not (asked and isinstance(address, str) and len(address) <= LARGEST_PICTURE):
            raise InputError("a page sends its picture on request")
        with suppress(ValueError):
            found = b64decode(address.removeprefix(PNG), validate=True)
            self.drawn = found if found.startswith(PNG_BEGINS) else self.drawn

    # ---- states ---------------------------------------------------------------------------------

    def attend(self) -> None:
        """Do pending work and send new states; called several times per second."""
        self.face.attend()
        self.controller.stage.tick(perf_counter())
        is_stale = self.session.network.program is not self.state.program
        is_stale = is_stale or self._marks_now() != self._marked
        if self.controller.show is not self._show or is_stale:
            self._begin()
            self.version += 1
            self.face.jumps += 1
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
        """Record weights that notebook cells have changed, as the next command would do."""
        session = self.session
        with session.still(0) as still, suppress(ScalarvizError):  # the next command reports it
            if still and not session.playing and session.timeline.has_outside_writes:
                with session.doing():
                    pass

    def first(self) -> dict[str, Any]:
        """Return the current state for JSON; a page shows it until Python replies."""
        buffers: Buffers = []
        state = self._read() | {"undoable": 0, "redoable": 0} | self._history(0, -1)
        head = split(self._lightened(state), buffers)
        return {"state": head, "buffers": [b64encode(each).decode() for each in buffers]}

    def _history(self, first: int, last: int) -> dict[str, Any]:
        """Return the losses from step `first` onward, and the metrics after step `last`."""
        losses, measured = losses_from(self.session, first), metrics_from(self.session, last)
        return {"losses": losses, "measured": measured}

    def _lightened(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return a state reduced for sending; for a large network, add texts written by Python."""
        light, self._whole = self._light.of(state), state
        if "light" in light and not (self._is_told or state["playing"]):
            light |= spoken(self.stage, state["moment"], walks=state["moment"] >= 0)
        if isinstance(light["grad"], Coded):
            light["exact"] = exact_of(state, NO_ROWS)
        return light

    def _read(self) -> dict[str, Any]:
        """Return the current state, with texts if Python writes them for the pages."""
        state = self.state.read(self.stage.own, self.face.jumps)
        if not self._is_told:
            return state
        if state["operation"]:
            self.stage.own = None  # a step in progress has its sample
        walks = state["moment"] >= 0 and not state["playing"]
        return state | told(self.stage, state["moment"], walks=walks)

    def _mark(self) -> Any:
        """Return a value that changes whenever the shown state changes."""
        session, stage = self.session, self.controller.stage
        here = session.timeline.here
        undo = session.timeline.undo_log
        own = None if stage.own is None else stage.own.tobytes()
        known = [answer.known for answer in self.stage.reading.answers.values()]
        return (
            here, session.playing, session.focus, own, len(undo.done), len(undo.undone),
            self.version, len(here.branch.journal), id(session.data), stage.pinned, stage.offered,
            stage.pinned_neuron, known,
        )  # fmt: skip

    def _send(self, readers: list[PageReader], now: float, mark: Any) -> None:
        """Send the current state, identified by `mark`, to pages, with the losses they lack."""
        shown = state_of(self.controller)
        state = self._read() | {"undoable": shown.undoable, "redoable": shown.redoable}
        offers = offers_of(shown)
        shared: Buffers = []
        light = self._lightened(state)
        head, place = split(light, shared), (state["jumps"], state["branch"])
        histories: dict[tuple[int, int], Any] = {}  # by the last steps that a reader has
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
            ids, reader.asked = reader.asked, []  # commands finished together share a state
            buffers = [*shared]
            header = {"ids": ids, "state": {**head, **split(more, buffers)}, "n": reader.number}
            reader.place = place
            reader.known = state["last"], histories[known]["measured"]["to"]
            reader.offers, reader.shown = offers, mark
            reader.taken, reader.sent = False, now
            reader.post(header, buffers)

    def _post(self, reader: PageReader, message: Header) -> None:
        buffers: Buffers = []
        reader.post(split(message, buffers), buffers)

    def close(self, words: str) -> None:
        """Send a final message to all pages, and disconnect them."""
        for reader in self.readers:
            self._post(reader, {"closed": words})
        self.readers.clear()


def links_of(face: Face, options: WatchOptions) -> list[PageLink]:
    """Wait for the kernels of all panes of an interface, and return a link for each pane.

    If the options contain no number of steps, training continues until it is paused.
    """
    if options.steps is None:
        face.time.until = None
    for pane in face.panes:
        pane.await_kernels()
    theme = "" if options.look.theme == "auto" else options.look.theme
    return [PageLink(face, i, theme=theme, tour=options.tour) for i in range(len(face.panes))]


def past_of(stage: Stage, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the history of all weights, in the form that the worker of a page computes."""
    order = pick({each: each for each in CHARTS}, args.get("order"), "order")
    stage.refresh()
    reading = stage.reading
    past = reading.curves.past
    if order == HEALTH:
        health = past.health(reading.now)
        require(health is not None, "only followed models have a health")
        return {"health": vars(health), "more": False}
    if order == SCALARS:
        scalars = past.scalars(CurveView(), reading.now)
        return {"scalars": scalar_numbers(scalars), "more": False}
    seen = past.seen(reading.now)
    return {
        "steps": seen.steps,
        "groups": seen.groups,
        "tiles": seen.tiles,
        "heads": seen.rows[seen.starts].astype(np.int32),
        "counts": np.diff(np.append(seen.starts, len(seen.rows))).astype(np.int32),
        "more": past.filled.background.busy,
    }


def is_due(reader: PageReader, now: float, busy: bool, mark: Any) -> bool:
    """Return whether to send a state to a page now; `mark` identifies the current state."""
    is_ready = reader.taken and now - reader.sent >= BETWEEN_STATES
    return bool(reader.asked and not busy) or (is_ready and bool(reader.shown != mark))


def looks_of(stage: Stage) -> dict[str, Any]:
    """Return the initial view settings of a page: channels, pinned item, reduced motion."""
    parts = ("row", stage.pinned), ("neuron", stage.pinned_neuron)
    pin = next(({name: part} for name, part in parts if part is not None), None)
    return {"look": page_look(stage.look), "pin": pin, "calm": stage.reduced_motion}


# Offers: controls that a page does not have itself, options, and the large buttons.

BUTTON = "button "  # prefix for the label of a large button
OWN = "rate", "batch", "seed"  # options with separate fields or buttons in a page
LONGEST = 500  # maximum letters of typed text
Offer = dict[str, Any]


def offered_controls(state: FaceState) -> dict[str, Control]:
    """Return the controls that a page gets from Python, by name."""
    rows = [each for each in controls_for(state) if each.row.page == "offer"]
    options = [control_of(choice) for choice in state.choices if choice.name not in OWN]
    return {each.name: each for each in (*options, *rows)}


def offers_of(state: FaceState) -> list[Offer]:
    """Return all buttons and controls that a page gets from Python, for JSON."""
    controls = offered_controls(state).values()
    return [*map(button_of, state.offered), *(offer_of(each, state) for each in controls)]


def button_of(label: str) -> Offer:
    return {"name": BUTTON + label, "kind": "button", "label": "", "text": label, "about": label,
            "value": None, "names": [], "enabled": True, "menu": "own"}  # fmt: skip


def offer_of(control: Control, state: FaceState) -> Offer:
    shown, row = control.shown(state), control.row
    value = shown.value if row.kind == "tick" else "" if shown.value is None else str(shown.value)
    label = row.label
    alone = row.kind == "tick" and bool(label and shown.text)  # without the number beside it
    of_scene = control.name in {OPTION + each.name for each in state.options}
    return {"name": row.name, "kind": "entry" if row.kind == "whole" else row.kind,
            "label": shown.about if alone else label, "text": "" if alone else shown.text,
            "about": shown.about, "value": value, "names": [*shown.names],
            "enabled": shown.enabled, "menu": row.group or ("Scene" if of_scene else "Training"),
            "example": row.example}  # fmt: skip


def use(link: PageLink, name: str, value: object, *, owns: bool) -> None:
    """Use a control that a page got from Python; raise InputError for a wrong name or value.

    Args:
        owns: whether the page belongs to the owner of this machine
    """
    state = link.face.state
    if name.startswith(BUTTON) and name.removeprefix(BUTTON) in state.offered:
        link.face.lead.stage.press(name.removeprefix(BUTTON))
        return
    controls = offered_controls(state)
    require(name in controls, f"this training run has no control {shorten(name)}")
    control = controls[name]
    shown, kind = control.shown(state), control.row.kind
    label = control.row.label or name
    check(kind != "tick" or isinstance(value, bool), label, "true or false", value)
    is_typed = isinstance(value, str) and len(value) <= LONGEST
    require(is_typed or kind in ("tick", "button"), f"{label} takes a text, not {shorten(value)}")
    require(kind != "choice" or value in shown.names, f"{label} has no choice {shorten(value)}")
    option = name.removeprefix(OPTION)
    if option != name and kind == "entry" and not owns:  # others cannot set a path
        check_plain(option, str(value), "from another machine", names_files=False)
    if shown.enabled:
        link.face.act(control, 1 if kind == "button" else value)


# Arguments come from outside and are validated with InputError.

Args = Mapping[str, Any]
MOST_WITHIN = 1000  # maximum operations, phases or samples at once
MOST_INPUTS = 100_000  # maximum numbers of a query
COUNTS: dict[str, Callable[[Session], int]] = {  # sizes for the validation of indices
    "weights": lambda session: len(session.network.bank),
    "operations": lambda session: len(session.operations),
    "batch": lambda session: session.trainer.batches.size,
    "branches": lambda session: 1 + max(branch.number for branch in session.branches),
}


def taken(session: Session, argument: Argument, args: Args) -> Any:
    """Return the validated value of an argument; raise InputError if it is missing or invalid."""
    name, high = argument.name, argument.high
    value = args.get(name)
    if value is None and argument.default is not REQUIRED:
        return argument.default
    match argument.kind:
        case "whole":
            last = high if isinstance(high, int) else COUNTS[high](session) - 1
            return whole(value, name, argument.low, last)
        case "real":
            return real(value, name)
        case "inputs":
            return reals(value, name, session.network.inputs)[0]
        case "unit":
            return pick({each: each for each in get_args(Unit)}, value, name)
    check(isinstance(value, bool), name, "true or false", value)
    return value


def check(fits: bool, name: str, wanted: str, value: object) -> None:
    """Raise InputError, with the expected kind of value, unless `fits` is true."""
    require(fits, f"{name} is {wanted}, not {shorten(value)}")


def whole(value: Any, name: str, low: int, high: int) -> int:
    if type(value) is float and value.is_integer():
        value = int(value)
    wanted = f"a whole number from {low:,} to {high:,}"
    check(type(value) is int and low <= value <= high, name, wanted, value)
    return int(value)


def real(value: Any, name: str) -> float:
    check(is_real(value), name, "a number", value)
    return float(value)


def is_real(value: Any) -> bool:
    """Return whether a value is a number within the range of float; JSON integers can exceed it."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def reals(value: Any, name: str, width: int) -> FloatArray:
    """Return an array or list of numbers as an array with `width` columns."""
    value = value.tolist() if isinstance(value, np.ndarray) else value
    fits = isinstance(value, list) and 0 < len(value) <= MOST_INPUTS and not len(value) % width
    check(fits, name, f"a list of numbers, {width} for each sample", value)
    check(all(map(is_real, value)), name, "a list of numbers", value)
    return np.array(value, np.float64).reshape(-1, width)


def rows_named(args: Args, count: int) -> Rows:
    """Return the argument "rows": up to MOST_ROWS indices into a bank with `count` rows."""
    rows: Any = args.get("rows")
    fits = isinstance(rows, np.ndarray | list) and len(rows) <= MOST_ROWS
    fits = fits and all(type(row) in (int, np.uint32) and 0 <= row < count for row in rows)
    check(fits, "rows", f"a list of up to {MOST_ROWS:,} bank indices", rows)
    return np.array(rows, np.uint32)


# Rows that a page sends with arguments; other rows with `takes` call CONTROLS.


def play(link: PageLink, speed: float | None) -> None:
    link.face.time.set_speed(speed)
    link.face.time.play()


def advance(link: PageLink, count: int, unit: Unit, direction: int = 1) -> None:
    fits = unit in WHOLE or count <= MOST_WITHIN
    check(fits, "count", f"a whole number from 0 to {MOST_WITHIN:,}", count)
    if count:
        link.face.time.go(direction, count, unit)


def seek(link: PageLink, step: int, operation: int) -> None:
    if step != link.session.step_index:
        link.face.jumps += 1
    link.face.time.seek(step, operation)


def switch(link: PageLink, key: int | None, by: int) -> None:
    """Switch to the branch with a given key, or to the one `by` positions after the shown one."""
    branches = [branch.number for branch in link.session.branches]
    now = branches.index(link.session.current_branch.number)
    link.controller.switch(branches[(now + by) % len(branches)] if key is None else key)


def show_sample(link: PageLink, sample: int | None, by: int) -> None:
    """Show a sample of the batch, given its index, or its distance `by` from the shown one."""
    by = by if sample is None else sample - link.session.focus
    link.face.next_sample(by)


def show_input(link: PageLink, inputs: FloatArray | None) -> None:
    """Show the network's output for a custom input; None shows the samples again."""
    if inputs is None:
        take_out(link.controller)
    else:
        put_in(link.controller, inputs)


def freeze(link: PageLink, row: int, on: bool, layer: bool) -> None:
    """Freeze a weight or its whole layer if `on` is true, otherwise unfreeze it."""
    whole = pinned_layer(link.session, row, None) if layer else None
    rows = [row] if whole is None else list(whole.rows)
    link.controller.do(partial(link.session.freeze, rows, on))


ACTS: dict[str, Callable[..., None]] = {
    "play": play,
    "advance": advance,
    "back": partial(advance, direction=-1),
    "seek": seek,
    "branches": switch,
    "sample": show_sample,
    "own input": show_input,
    "edit": lambda link, row, value: link.controller.edit(row, value, dragged=True),
    "freeze": freeze,
    "batch": lambda link, size: link.controller.set_option("batch", size),
}


# Commands without a row.


def look(link: PageLink, args: Args) -> None:
    """Pin a weight given by its row, or a neuron given by buffer and index; without both, unpin."""
    row, neuron = args.get("row"), args.get("neuron")
    if row is not None:
        link.controller.stage.pin(taken(link.session, ROW, args))
    elif neuron is None:
        link.controller.stage.pin(None)
    elif isinstance(neuron, list) and len(neuron) == 2 and isinstance(neuron[0], str):
        lines = [line for line in link.stage.plan.neurons if neuron[0] in line.buffers]
        if lines:
            link.stage.pin((neuron[0], whole(neuron[1], "place", 0, len(lines[0].points) - 1)))


def open_frame(link: PageLink, args: Args) -> None:
    """Open or close a frame of a followed model."""
    key, opens = args.get("key"), args.get("opens")
    marks = [
        x for each in link.described["spec"]["scene"]["layouts"] for x in each.get("marks", ())
    ]
    require(
        isinstance(key, str) and key in {each["key"] for each in marks} - {""},
        f"this model has no frame {shorten(key)}",
    )
    link.stage.open_frame(str(key), opens is True)


OTHERS: dict[str, Callable[[PageLink, Args], None]] = {
    "open": nothing,
    "state": nothing,
    "pause": lambda link, args: link.face.time.pause(),
    "look": look,
    "frame": open_frame,
}
# Queries allowed for readers who may only watch.
FOR_ALL = "open", "state", "evaluate", "survey", "past", "exact"


def do(link: PageLink, name: str, args: Args, *, owns: bool) -> None:
    """Execute a command of a page, given its name and arguments.

    Args:
        owns: whether the command comes from the owner of this machine
    """
    row = COMMANDS.get(name)
    if name in OTHERS:
        OTHERS[name](link, args)
    elif row is None or row.takes is None:
        use(link, name, args.get("value"), owns=owns)
    else:
        given = [taken(link.session, each, args) for each in row.takes]
        if row.jumps:
            link.face.jumps += 1
        if name in ACTS:
            ACTS[name](link, *given)
        else:
            link.face.act(CONTROLS[name], *given or [1])
