"""Control, a row of the table CONTROLS, and the scales of sliders.

A row has a label, a kind, a getter (from `State`), a setter (on `Controller`) and a tooltip. Window
and notebook choose their widget by the kind of a row alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, final

from scalarviz.base.texts import row_text
from scalarviz.faces.controller.state import State
from scalarviz.story.first_controls import FIRST_CONTROLS

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

KINDS = "button", "tick", "choice", "number", "slider", "timeline", "text", "entry"
DIGITS = "123456789"  # key of a choice whose names have a digit each
PER_DECADE = 60  # places of a slider per decade

Text = str | Callable[[State], str]


@final
@dataclass(frozen=True)
class Scale:
    """Linear scale of a slider: places 0 to `last` are the numbers from `low` to `high` by `step`.

    `small` and `large` are the steps of the arrow and page keys, in places.
    """

    low: float
    high: float
    step: float = 1
    small: int = 1
    large: int = 10

    @property
    def last(self) -> int:
        return round((self.high - self.low) / self.step)

    def number(self, place: int) -> float:
        """Return the number at a place; an int if `low` and `step` are."""
        found = self.low + place * self.step
        return found if isinstance(found, int) else float(f"{found:.9g}")

    def place(self, number: float) -> int:
        """Return the place nearest to a number."""
        return round((min(max(number, self.low), self.high) - self.low) / self.step)


@final
@dataclass(frozen=True)
class LogScale:
    """Logarithmic scale of a slider; if `endless`, its right end is None."""

    low: float
    high: float
    endless: bool = False
    small: int = PER_DECADE // 20
    large: int = PER_DECADE // 2

    @property
    def _most(self) -> int:
        return round(math.log10(self.high / self.low) * PER_DECADE)

    @property
    def last(self) -> int:
        return self._most + self.endless * PER_DECADE // 2

    def number(self, place: int) -> float | None:
        """Return the number at a place, rounded to two digits."""
        if self.endless and place > self._most:
            return None
        return float(f"{self.low * 10.0 ** (place / PER_DECADE):.2g}")

    def place(self, number: float | None) -> int:
        """Return the place nearest to a number."""
        if number is None:
            return self.last
        if number <= self.low or math.isnan(number):
            return 0
        return round(min(math.log10(number / self.low) * PER_DECADE, self._most))


class Shown(NamedTuple):
    """The fields of a Control evaluated for one state."""

    value: Any
    names: tuple[str, ...]
    enabled: bool
    about: str
    text: str
    icon: str
    scale: Scale | LogScale
    marks: tuple[int, ...]


def always(state: State) -> bool:
    return True


def nothing(state: State) -> Any:
    return None


def none(state: State) -> Sequence[Any]:
    return ()


def percents(state: State) -> Scale | LogScale:
    return Scale(0, 100)


def ignore(controller: Controller, value: Any) -> None:
    pass


@final
@dataclass(frozen=True)
class Control:
    """One control: where it stands, what it shows and what it does.

    name     unique name of the row; of a choice in a menu also its label there
    kind     "button", "tick" (on or off), "choice" (one of several names), "number" (typed or, in
             a window, dragged), "slider", "timeline" (a slider as wide as possible, with marks) or
             "text" (read only); "entry" is a typed text that its names complete
    about    tooltip, accessible name and menu entry; like `text` and `icon` a string or a function
             of the state
    set      setter: receives the chosen name, bool or number, a string if the number was typed; a
             button passes how many times, 1, or 10 for its key with shift
    get      getter of the displayed value; not used by buttons
    names    names of a choice, or texts that an entry completes
    enabled  whether the control can be used now; by default always
    label    label in front of it; rows of one label form a group
    text     text on a button or beside a tick; by default `about`
    icon     icon of a button instead of the text: a Font Awesome name; the window has a few of them
    key      key that presses the button, flips the tick or takes the next name of the choice;
             DIGITS gives each name of a choice its own digit
    help     text in the list of keys, by default `about`; {} stands for the names of a choice
    primary  whether it stands in the line below the picture; other rows with a label are in the
             panel behind its last button, a row without one only in its menu, or only a key
    on_cube  whether it opens on the pinned cube
    example  what a typed text may be, shown in its empty field
    strong   whether it is the button in the colour of the theme
    menu     menu for buttons, ticks and choices without a label: "Scenes" and "File" at the end of
             the title, "Time", "View", ... in the panel
    window   whether only a window has it
    acts_on  what it acts on where several sessions are shown: "one", the chosen one, "each" of
             them, or the "group", which has the picture and the clock of all
    several  whether it is only there where several sessions are shown
    scale    scale of a slider; by default 0 to 100
    marks    marked values of a timeline
    drag     setter while a number is dragged; by default `set`
    room     width of a number or a text, in letters
    """

    name: str
    kind: str
    about: Text
    set: Callable[[Controller, Any], object] = ignore
    get: Callable[[State], Any] = nothing
    names: Callable[[State], Iterable[str]] = none
    enabled: Callable[[State], bool] = always
    label: str = ""
    text: Text = ""
    icon: Text = ""
    key: str = ""
    help: Text = ""
    primary: bool = False
    on_cube: bool = False
    example: str = ""
    strong: bool = False
    menu: str = ""
    window: bool = False
    acts_on: str = "one"
    several: bool = False
    scale: Callable[[State], Scale | LogScale] = percents
    marks: Callable[[State], Iterable[int]] = none
    drag: Callable[[Controller, Any], object] | None = None
    room: int = 8

    def __post_init__(self) -> None:
        assert self.kind in KINDS, f"no face knows the kind {self.kind!r}"
        assert self.acts_on in ("one", "each", "group"), self.acts_on
        pressed = self.kind in ("button", "tick", "choice")
        assert pressed or not (self.menu or self.key), f"a {self.kind} has no menu and no key"

    @property
    def place(self) -> str:
        """Where it stands: "bar", the line below the picture, "panel", "cube", or "" for none."""
        in_panel = self.label or self.group
        return "cube" if self.on_cube else "bar" if self.primary else "panel" if in_panel else ""

    @property
    def group(self) -> str:
        """The group of FIRST_CONTROLS in which it stands; "" if it stands under "More"."""
        return next((group for group, names in FIRST_CONTROLS.items() if self.name in names), "")

    def words(self, field: str, state: State | None = None) -> str:
        """Return a text of the row, or its translation; a text that is a function needs `state`."""
        found = getattr(self, field)
        if callable(found):
            return str(found(state))
        return row_text(f"rows.controls.{self.name}.{field}", found)

    def shown(self, state: State) -> Shown:
        """Return all displayed fields for one state."""
        return Shown(
            self.get(state),
            tuple(self.names(state)),
            self.enabled(state),
            self.words("about", state),
            self.words("text", state),
            self.icon if isinstance(self.icon, str) else self.icon(state),
            self.scale(state),
            tuple(self.marks(state)),
        )


def groups(rows: Iterable[Control]) -> list[list[Control]]:
    """Return rows grouped by their labels, in order."""
    found: dict[str, list[Control]] = {}
    for row in rows:
        found.setdefault(row.label, []).append(row)
    return [*found.values()]
