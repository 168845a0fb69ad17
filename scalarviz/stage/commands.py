"""COMMANDS: all user commands for a session and its picture, one row each.

A row has the texts, the key and the position of a command, and the arguments that a page sends with
it. Window, menus, keyboard and help, the keys of pages, and the requests of pages to a Python
session are derived from it. Its implementation is looked up by name in CONTROLS of
faces/controller/controls.py and, for a page that trains by itself, in pages/web/app.js.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from scalarviz.scene.look import IS_TICK, OFFERS, Look
from scalarviz.stage.channels import CHANNELS

KINDS = "button", "tick", "choice", "number", "whole", "slider", "timeline", "text", "entry"
REQUIRED: Any = ...  # default of a required argument
MOST = 2**53  # largest exact integer in a page


@final
@dataclass(frozen=True)
class Argument:
    """An argument of a command that a page sends.

    Attributes:
        kind: "whole" or "real" for numbers, "flag", "unit" of steps, "inputs" of a sample
        low: minimum integer
        high: maximum, or the name of the items that it indexes
        default: default value; REQUIRED if it must be given
    """

    name: str
    kind: str
    low: int = 0
    high: int | str = MOST
    default: Any = REQUIRED


COUNT = Argument("count", "whole", default=1)
UNIT = Argument("unit", "unit", default="step")
ROW = Argument("row", "whole", high="weights")
BY = Argument("by", "whole", -MOST, default=1)  # offset in a list

# The initial controls of window and page, by the title of their group; all others are under "More".
# A page that trains by itself cannot add neurons, and shows its optimizer, its batch and new
# weights in their place.
FIRST_CONTROLS = {
    "Look": ("color", "theme", "neuron maps"),
    "Change": (
        *("add neuron", "remove neuron", "add layer", "remove layer", "own input"),
        *("undo", "redo", "optimizer", "batch", "new weights"),
    ),
    "Go wrong": ("go wrong",),
}


@final
@dataclass(frozen=True)
class Command:
    """A command: its texts, its key and its position.

    Attributes:
        name: unique name of the row; for a choice in a menu also its label there
        kind: type of its field: "button", "tick" (checkbox), "choice" (one of several names),
            "number" (typed or, in a window, dragged), "whole" (an integer), "slider", "timeline" (a
            full-width slider with marks), "text" (read only) or "entry" (typed text with completion
            of its names)
        about: tooltip, accessible name and menu entry; "" if a Control has one for each state
        label: label in front of it; rows with the same label form a group
        text: text on a button or next to a checkbox; by default `about`
        help: text in the list of keys, by default `about`; {} becomes the names of a choice
        icon: icon of a button instead of the text: a Font Awesome name; some are available in
            windows
        example: placeholder of an empty text field
        menu: menu for buttons, ticks and choices without a label: "Scenes" and "File" at the end of
            the title, "Time", "View", ... in the panel
        acts_on: target if several sessions are shown: "one", the selected session; "time", the
            clock of all; or "all", all sessions and their picture
        key: key that presses the button, toggles the tick or selects the next name of the choice;
            DIGITS assigns a digit to each name of a choice
        also: alternative key, known from other programs
        ctrl: letters of shortcuts with Ctrl; capitals with Shift
        primary: whether it is in the line below the picture; otherwise it is in the panel that the
            last button there opens or, without a label, only in its menu or only a key
        on_cube: whether it opens on the pinned cube
        strong: whether it is the button in the theme color
        window: whether it is available only in windows
        room: width of a number or a text, in characters
        page: availability in pages: "key", "field" (without a key), "offer" (a field behind "…", if
            its session is in Python) or "" for none
        takes: arguments that a page sends to its session with it; None if the page handles the
            command itself or does not offer it
        jumps: whether it can change the shown numbers abruptly
    """

    name: str
    kind: str
    about: str = ""
    label: str = ""
    text: str = ""
    help: str = ""
    icon: str = ""
    example: str = ""
    menu: str = ""
    acts_on: str = "one"
    key: str = ""
    also: str = ""
    ctrl: str = ""
    primary: bool = False
    on_cube: bool = False
    strong: bool = False
    window: bool = False
    room: int = 8
    page: str = ""
    takes: tuple[Argument, ...] | None = None
    jumps: bool = False

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"no face knows the kind {self.kind!r}"
        assert self.acts_on in ("one", "time", "all"), self.acts_on
        pressed = self.kind in ("button", "tick", "choice")
        assert pressed or not (self.menu or self.key), f"a {self.kind} has no menu and no key"

    @property
    def place(self) -> str:
        """Position: "bar" (the line below the picture), "panel", "cube", or "" if nowhere."""
        in_panel = self.label or self.group
        return "cube" if self.on_cube else "bar" if self.primary else "panel" if in_panel else ""

    @property
    def group(self) -> str:
        """Group of the command in FIRST_CONTROLS; "" if it is under "More"."""
        return next((group for group, names in FIRST_CONTROLS.items() if self.name in names), "")


def of_look(name: str) -> Command:
    """Return the command that sets a field of Look in all pictures of an interface."""
    offer, kind = OFFERS[name], "tick" if IS_TICK[name] else "choice"
    return Command(offer.control, kind, offer.about, acts_on="all", **offer.words)


ROWS = (
    # Time: play, backward and forward, speed and rate.
    Command(
        "play",
        "button",
        help="play and pause",
        acts_on="time",
        key="space",
        also="t",
        primary=True,
        strong=True,
        page="key",
        takes=(Argument("speed", "real", default=None),),
    ),
    Command(
        "back",
        "button",
        help="back and forward by the unit; by ten with Shift",
        icon="backward",
        acts_on="time",
        key="left",
        primary=True,
        page="key",
        takes=(COUNT, UNIT),
    ),
    Command(
        "advance",
        "button",
        help="back and forward by the unit; by ten with Shift",
        icon="forward",
        acts_on="time",
        key="right",
        primary=True,
        page="key",
        takes=(COUNT, UNIT),
    ),
    Command(
        "seek",
        "timeline",
        "Every step so far",
        acts_on="time",
        primary=True,
        page="field",
        takes=(
            Argument("step", "whole"),
            Argument("operation", "whole", high="operations", default=0),
        ),
    ),
    Command("where", "text", "Position in the training", primary=True, room=12),
    Command("speed", "slider", label="Speed", acts_on="time", primary=True, page="field"),
    Command("pace", "text", "Measured steps per second", label="Speed", primary=True),
    Command(
        "learning rate in numbers",
        "number",
        "Learning rate as a number",
        label="Rate",
        primary=True,
        page="field",
    ),
    Command(
        "start",
        "button",
        "Back to the start",
        label="Move by",
        icon="step-backward",
        acts_on="time",
    ),
    Command(
        "unit",
        "choice",
        "Step size of the arrows; at neuron or operation, Play runs one operation at a time",
        label="Move by",
        acts_on="time",
        room=5,
        page="field",
    ),
    Command(
        "operation back",
        "button",
        "One operation back",
        help="back and forward by one operation, or neuron if that is the unit",
        menu="Time",
        acts_on="time",
        key=",",
        page="key",
    ),
    Command(
        "operation on",
        "button",
        "One operation forward",
        help="back and forward by one operation, or neuron if that is the unit",
        menu="Time",
        acts_on="time",
        key=".",
        page="key",
    ),
    Command(
        "slow step",
        "button",
        "Run the next step slowly, then continue",
        text="Slow step",
        help="run the next step slowly, then continue",
        menu="Time",
        acts_on="time",
        key="s",
        page="key",
    ),
    Command(
        "reset",
        "button",
        "Start again",
        help="start again with the same initial weights",
        menu="Time",
        acts_on="time",
        key="r",
        page="key",
        takes=(),
        jumps=True,
    ),
    Command(
        "double rate",
        "button",
        "Double the learning rate",
        help="double and halve the learning rate",
        key="up",
        page="key",
        takes=(),
    ),
    Command(
        "halve rate",
        "button",
        "Halve the learning rate",
        help="double and halve the learning rate",
        key="down",
        page="key",
        takes=(),
    ),
    Command(
        "learning rate",
        "slider",
        "Learning rate",
        label="Rate",
        page="field",
        takes=(Argument("rate", "real"),),
    ),
    # The chosen one of several sessions side by side.
    Command(
        "session",
        "choice",
        "The session on which single-session commands act",
        label="Session",
        help="choose the next session",
        acts_on="all",
        key="x",
    ),
    # Quantities shown by cubes, and other options of the view.
    *(of_look(name) for name in OFFERS),
    # The shown sample.
    Command(
        "before",
        "button",
        "Previous sample",
        label="Sample",
        text="<",
        help="show another sample of the batch",
        icon="angle-left",
        acts_on="all",
        key="<",
        page="key",
    ),
    Command(
        "sample",
        "text",
        "The shown sample",
        label="Sample",
        room=6,
        page="field",
        takes=(Argument("sample", "whole", high="batch", default=None), BY),
    ),
    Command(
        "after",
        "button",
        "Next sample",
        label="Sample",
        text=">",
        help="show another sample of the batch",
        icon="angle-right",
        acts_on="all",
        key=">",
        page="key",
    ),
    Command(
        "add up",
        "button",
        "Add up the batch, sample by sample",
        text="Add up the batch",
        help="add up the gradients of the batch, sample by sample",
        menu="Time",
        key="a",
    ),
    # Changes: the pinned weight, undo, branches, inputs, conditions, neurons and layers.
    Command(
        "undo",
        "button",
        "Undo the last change",
        label="Changes",
        text="Undo",
        icon="undo",
        key="z",
        ctrl="z",
        page="key",
        takes=(),
        jumps=True,
    ),
    Command(
        "redo",
        "button",
        "Redo the last undone change",
        label="Changes",
        text="Redo",
        icon="redo",
        key="y",
        ctrl="yZ",
        page="key",
        takes=(),
        jumps=True,
    ),
    Command(
        "branches",
        "choice",
        "Switch to another branch",
        label="Branch",
        help="switch to the next branch",
        key="b",
        room=20,
        page="key",
        takes=(Argument("key", "whole", high="branches", default=None), BY),
        jumps=True,
    ),
    Command(
        "branch name",
        "entry",
        "Name of this branch; if empty, its first change",
        label="Branch name",
        room=20,
        page="offer",
    ),
    Command(
        "rename",
        "button",
        "Rename this branch",
        text="Rename the branch",
        menu="Time",
        key="f2",
    ),
    Command(
        "edit",
        "number",
        on_cube=True,
        room=12,
        page="field",
        takes=(ROW, Argument("value", "real")),
    ),
    Command("type a value", "button", "Type a value for the pinned weight", key="e", page="key"),
    Command(
        "weight rate",
        "number",
        "Learning rate of this weight; if empty, the global rate",
        label="Rate of the weight",
        page="offer",
    ),
    Command(
        "freeze",
        "tick",
        "Keep this weight from moving",
        label="Rate of the weight",
        text="frozen",
        page="field",
        takes=(ROW, Argument("on", "flag"), Argument("layer", "flag", default=False)),
    ),
    Command(
        "layer rate",
        "number",
        "Learning rate of its layer; if empty, the global rate",
        label="Rate of its layer",
        page="offer",
    ),
    Command(
        "freeze layer",
        "tick",
        "Keep its layer from moving",
        label="Rate of its layer",
        text="frozen",
        page="offer",
    ),
    Command(
        "own input",
        "button",
        "Enter your own input",
        label="Input",
        text="Your own",
        help="enter your own input: drag an input, click the map, draw a digit",
        key="o",
        page="field",
        takes=(Argument("inputs", "inputs", default=None),),
    ),
    Command(
        "stop when",
        "entry",
        "Stop when this condition holds; if empty, never",
        label="Stop when",
        example="loss < 0.01",
        room=20,
        page="offer",
    ),
    Command("type a stop", "button", "Type a condition at which training stops", key="u"),
    Command(
        "first time",
        "entry",
        "Find the first past step at which this condition held",
        label="First time",
        example="loss < 0.1",
        room=20,
        page="offer",
    ),
    Command(
        "type a first time", "button", "Find the first step at which a condition held", key="i"
    ),
    Command(
        "go wrong",
        "choice",
        "Typical failures of training: choose one to see it, and what to look for",
        room=16,
        page="offer",
    ),
    Command(
        "add neuron",
        "button",
        "Add a neuron to the layer of the pinned item, or to the first layer",
        label="Neurons",
        text="+ neuron",
        page="offer",
    ),
    Command(
        "remove neuron",
        "button",
        "Remove the pinned neuron, or the last neuron of the first layer",
        label="Neurons",
        text="- neuron",
        page="offer",
    ),
    Command(
        "add layer",
        "button",
        "Add a layer before the layer of the pinned item, or before the last layer",
        label="Layers",
        text="+ layer",
        page="offer",
    ),
    Command(
        "remove layer",
        "button",
        "Remove the layer of the pinned item, or the last hidden layer",
        label="Layers",
        text="- layer",
        page="offer",
    ),
    # The picture: pinned weight, loss curve, help and window.
    Command(
        "look at pinned",
        "button",
        "Zoom to the pinned weight, or show everything",
        text="Zoom to pinned",
        help="zoom to the pinned weight, or show everything",
        menu="View",
        acts_on="all",
        key="f",
    ),
    Command(
        "point",
        "button",
        "Point at a cube or a neuron, and pin it",
        text="Point with keys",
        help="point at cubes and neurons: arrow keys move, Enter pins, Esc ends",
        menu="View",
        key="enter",
        page="key",
    ),
    Command(
        "look at everything",
        "button",
        "Reset the view",
        text="Reset the view",
        help="close open panels and reset the view",
        menu="View",
        acts_on="all",
        key="escape",
        page="key",
    ),
    Command(
        "fit colours",
        "button",
        "Fit the colours to the numbers",
        text="Fit colours",
        menu="View",
        acts_on="all",
    ),
    Command(
        "smooth",
        "tick",
        "Draw means over 1/25 of the shown steps, and the losses themselves faintly",
        label="Loss curve",
        text="Smooth",
        acts_on="all",
    ),
    Command(
        "large curve",
        "tick",
        "Show the loss curve over half of the picture, with all weights over time",
        label="Loss curve",
        text="Large",
        help="enlarge or shrink the loss curve, with all weights over time",
        acts_on="all",
        key="l",
        page="key",
    ),
    Command(
        "tour", "button", "The tour: a step in ten seconds", text="Tour", menu="Help", page="field"
    ),
    Command(
        "keys", "button", "Keys", help="this help", menu="Help", acts_on="all", key="?", page="key"
    ),
    Command(
        "marks",
        "tick",
        "What the marks in the picture mean",
        text="Marks",
        help="what the marks in the picture mean; the legend shows it under the mouse",
        menu="Help",
        key="h",
        page="key",
    ),
    Command(
        "full screen",
        "button",
        "Full screen",
        help="full screen; Esc leaves it",
        menu="View",
        key="f11",
        acts_on="all",
        window=True,
    ),
    # Files, and the window as a whole.
    Command("scenes", "choice", "Open a scene", menu="Scenes", room=40),
    Command("cancel", "button", "Cancel the search", menu="File", window=True),
    Command(
        "copy link",
        "button",
        "Copy a link to this moment",
        text="Copy a link",
        help="copy a link to this moment, for `scalarviz open`",
        menu="File",
        key="k",
        page="field",
    ),
    Command("quit", "button", "Quit", menu="File", key="q", acts_on="all", window=True),
    # Commands of pages only: a window has options instead.
    Command("optimizer", "choice", page="field"),
    Command("batch", "choice", page="field", takes=(Argument("size", "whole", 1),)),
    Command("new weights", "button", page="field"),
)
COMMANDS = {row.name: row for row in ROWS}
# Buttons in the sheet of a page, by their ids, which are also the keys of their texts: their
# commands.
PAGE_BUTTONS = {
    "theme": "theme",
    "tour": "tour",
    "slow": "slow step",
    "sample-before": "before",
    "sample-after": "after",
    "undo": "undo",
    "redo": "redo",
    "weights": "new weights",
    "link": "copy link",
    "enlarge": "large curve",
    "home": "whole-network",
}


def page_ticks() -> dict[str, Command]:
    """Return the commands for the fields of Look that a page toggles, by field."""
    return {
        name: row
        for name, offer in OFFERS.items()
        if IS_TICK[name] and (row := COMMANDS[offer.control]).page == "key"
    }


def page_look(look: Look) -> dict[str, Any]:
    """Return the view options as data for a page: fields, ticks, and the words of links."""
    return {
        "now": {name: getattr(look, name) for name in OFFERS if name != "camera"},
        "ticks": {name: row.name for name, row in page_ticks().items()},
        "words": {
            name: words
            for name, words in link_words().items()
            if COMMANDS[OFFERS[name].control].page
        },
    }


def link_words() -> dict[str, tuple[str, ...]]:
    """Return the valid words in links for the fields of Look."""
    return {
        name: ("yes", "no") if IS_TICK[name] else tuple(offer.names or CHANNELS)
        for name, offer in OFFERS.items()
    }


def in_browser(key: str) -> str:
    """Return the name that browsers use for a key."""
    if key in ("left", "right", "up", "down"):
        return "Arrow" + key.capitalize()
    return " " if key == "space" else key.capitalize() if len(key) > 1 else key


# Commands of a session that trains here, unlike the record of one.
OF_TRAININGS = (
    *("operation back", "operation on", "slow step", "tour", "before", "after", "add up"),
    *("learning rate in numbers", "learning rate", "double rate", "halve rate", "weight rate"),
    *("edit", "type a value", "freeze", "layer rate", "freeze layer", "own input", "go wrong"),
    *("add neuron", "remove neuron", "add layer", "remove layer", "stop when", "type a stop"),
    *("undo", "redo", "branches", "branch name", "rename", "reset"),
)


def page_keys(*, recorded: bool = False) -> dict[str, dict[str, str]]:
    """Return the names of commands by key in pages: "keys" without Ctrl, and "ctrl" with it.

    Args:
        recorded: whether the page shows the record of a followed training run
    """
    left_out = OF_TRAININGS if recorded else ()
    rows = [row for row in COMMANDS.values() if row.page == "key" and row.name not in left_out]
    ctrl = {key: row.name for row in rows for key in row.ctrl}
    keys = [(key, row.name) for row in rows for key in (row.key, row.also) if key]
    return {"keys": {in_browser(key): name for key, name in keys} | ctrl, "ctrl": ctrl}
