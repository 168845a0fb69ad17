"""Face: what a user can do to one training, or to several on one clock, whoever shows them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller.control import DIGITS, Control, FaceState, FaceUnit
from scalarviz.faces.controller.controls import CONTROLS, walk
from scalarviz.faces.controller.guide import Walk
from scalarviz.faces.controller.playing import Playing
from scalarviz.stage.side_by_side import AnyStage, SideBySide
from scalarviz.training.session.session import Session
from scalarviz.training.session.shared_clock import SharedClock
from scalarviz.training.session.timeline import Position

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

CHANNELS = {"color": "color", "size": "size"}
MOST_STEPS = 100  # most steps taken by a command; for more, it plays
WHOLE = "step", "epoch"  # units of whole steps


class Face(ABC):
    """One training with its picture, a Controller, or several side by side, a Group.

    members   a controller for each session
    names     of several sessions
    chosen    the number of the session that commands on one session mean
    together  whether commands on time, rates and samples are for all of several
    stage     the picture
    playing   plays the session, or the clock of several
    walk      the operations that are done one after the other
    unit      of `step`
    measured  the speed while it plays, in steps a second, else 0
    jumps     how often pages were told that the next moment may be far from the last
    """

    members: Sequence[Controller]
    together = False
    stage: AnyStage
    playing: Playing
    walk: Walk
    unit: FaceUnit = "step"
    measured = 0.0
    jumps = 0

    # Which sessions.

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @property
    def chosen(self) -> int:
        return 0

    def choose_number(self, number: int) -> None:
        """Choose a session by its number."""
        if isinstance(self.stage, SideBySide):
            self.stage.chosen = number

    def choose_at(self, x: float, y: float) -> None:
        """Choose the session at a pixel of the picture, if there are several."""
        if isinstance(self.stage, SideBySide):
            self.stage.choose_at(x, y)

    @property
    def several(self) -> bool:
        return len(self.members) > 1

    @property
    def lead(self) -> Controller:
        """The controller of the chosen session."""
        return self.members[self.chosen]

    @property
    def time(self) -> Face:
        """What commands on time are for: all sessions that go together, or the chosen one."""
        return self if self.together else self.lead

    @property
    def clock(self) -> Session | SharedClock:
        """What such commands move."""
        return self.playing.session

    @property
    def is_playing(self) -> bool:
        """Whether a session plays."""
        return any(member.session.playing for member in self.members)

    @property
    def flat_out(self) -> bool:
        """Whether a session plays as fast as it can, so that drawing slows it down."""
        return self.playing.flat_out or any(each.playing.flat_out for each in self.members)

    @property
    def held(self) -> bool:
        """Whether a session waits for kernels, so that nothing may be computed."""
        return any(member.warming.held for member in self.members)

    def waits(self) -> bool:
        """Return whether kernels are compiled first, and say so."""
        for member in self.members:
            member.look_at_kernels()
        if self.held:
            self.tell(text("notices.wait"))
        return self.held

    # What faces do.

    def act(self, row: Control, value: Any, setter: Callable[..., object] | None = None) -> None:
        """Do what a control does with a value: with the chosen session, with each, or with all.

        setter  the setter of the row; None, the default: `set`
        """
        act: Callable[..., object] = setter or row.set
        if row.acts_on == "each":
            self.change(lambda member: act(member, value))
        else:
            act({"one": self.lead, "time": self.time, "all": self}[row.acts_on], value)

    @abstractmethod
    def change(self, act: Callable[[Controller], object]) -> None:
        """Change the commanded sessions, which `undo` takes back together."""

    def press(self, key: str, shift: bool = False) -> bool:
        """Execute the command of a key; return whether it has one."""
        self.finish()
        if self.lead.guessing.press(key) or walk(self.lead, key):
            return True
        if found := command_of(self.state, key, shift):
            self.act(*found)
        return found is not None

    def click(self, x: float, y: float) -> None:
        """Pin the cube at a position, or press a button there."""
        if self.waits():
            return
        self.finish()
        with self.reporting_errors():
            self.stage.click(x, y)
        for member in self.members:
            member.guide.interrupt()
            member.look_at_kernels()

    @abstractmethod
    def undo(self) -> None:
        """Undo the last change."""

    @abstractmethod
    def redo(self) -> None:
        """Do the change that was undone last again."""

    @abstractmethod
    def attend(self) -> None:
        """Handle what happens by itself: results, errors, end of a run, opening speed."""

    @abstractmethod
    def quit(self) -> None:
        """Stop everything but files that are to be written, after the current command."""

    @abstractmethod
    def rest(self) -> None:
        """Wait until everything has stopped, and what is kept is done."""

    def finish(self) -> None:
        """Show the end of the operation of a slow step that is under way."""
        for member in self.members if self.walk.slow else ():
            member.stage.finish()

    def drawing(self, work: Callable[[], None]) -> None:
        """Call `work`, such as drawing, while nothing computes in parallel."""
        for member in self.members:
            member.warming.settle()  # code that bypasses faces may have moved the session
        self.playing.undisturbed(work)

    @property
    def state(self) -> FaceState:
        """Everything that controls show; does not wait for the training."""
        return self.state_at()

    @abstractmethod
    def state_at(self, here: Position | None = None) -> FaceState:
        """Return everything that controls show; see `state_of`."""

    @abstractmethod
    def tell(self, words: str) -> None:
        """Show a message."""

    @abstractmethod
    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error."""

    @contextmanager
    def reporting_errors(self) -> Iterator[None]:
        """Report ScalarvizErrors of this block."""
        try:
            yield
        except ScalarvizError as error:
            self.tell_error(error)

    def detach(self) -> None:
        """Detach from the sessions, each on its own engine."""
        for member in self.members:
            member.warming.leave()

    def each(self, name: str, value: object) -> None:
        """Set what the face does for a controller, such as `start_editing`, in all of them."""
        for member in self.members:
            setattr(member, name, value)

    def set_channel(self, which: str, name: str) -> None:
        """Set the channel of the cubes' "color" or "size"."""
        with self.reporting_errors():
            pick(dict.fromkeys(self.stage.channels), name, "channel")
            setattr(self.stage, pick(CHANNELS, which, "property of a cube"), name)

    # Time.

    def toggle_play(self) -> None:
        if self.is_playing:
            self.pause()
        else:
            self.play()

    def play(self, *, anew: bool = True) -> None:
        """Play in the background; `anew`: beyond the step where it pauses, if it is there."""
        if self.waits():
            return
        self.walk.stop()
        for member in self.members:
            member.guide.stop()
            member.show_whole_operations()
        with self.reporting_errors():
            self.playing.play(anew=anew)

    @abstractmethod
    def pause(self) -> None:
        """Pause; report the error that has stopped a training, if there is one."""

    def stop(self, pause: Callable[[], None]) -> None:
        """Call what pauses, and report its error."""
        try:
            with self.reporting_errors():
                pause()
        except Exception as error:  # an error of the training's thread must be reported
            self.tell(text("notices.broken", kind=type(error).__name__, error=error))

    def stand_still(self) -> None:
        """Pause, remove the large buttons, and show whole operations."""
        self.pause()
        for member in self.members:
            member.show_whole_operations()

    def attend_playing(self) -> None:
        """Handle what playing does by itself: it comes to an end, or fails."""
        playing = self.playing
        self.measured = playing.measured() if self.clock.playing else 0.0
        if playing.arrived:
            is_errand = playing.errand
            self.pause()
            playing.until = None
            self.arrive(is_errand=is_errand)
        elif playing.ended:
            self.pause()
            self.tell_stop()
        elif not self.clock.playing:  # the last portion may have failed after the pause
            self.stop(partial(self.clock.pause, 0.0))

    @abstractmethod
    def arrive(self, *, is_errand: bool) -> None:
        """Say what is to be said where it pauses by itself."""

    @abstractmethod
    def tell_stop(self, _: object = None) -> None:
        """Say why a training has stopped by itself, if one has."""

    def step(self, direction: int, times: int = 1) -> None:
        """Go forward (+1) or back (-1), `times` times the chosen unit."""
        self.go(direction, times, self.unit)

    def operation(self, direction: int) -> None:
        """Go forward or back by one operation, or by one neuron if that is the unit."""
        self.go(direction, 1, "neuron" if self.unit == "neuron" else "operation")

    def go(self, direction: int, times: int, unit: FaceUnit) -> None:
        if self.waits():
            return None
        if unit == "neuron":
            return self.go_by_neuron(direction * times)
        self.stand_still()
        batches, clock = self.members[0].session.trainer.batches, self.clock
        each = batches.steps_an_epoch if unit == "epoch" else 1
        if direction < 0:
            return self.do(partial(clock.back, times, unit))
        if unit not in WHOLE or times * each <= MOST_STEPS:
            return self.do(partial(clock.advance, times, unit), self.tell_stop)
        with self.reporting_errors():
            self.playing.run_to((clock.step_index // each + times) * each)
        return None

    @abstractmethod
    def go_by_neuron(self, by: int) -> None:
        """Show more neurons of the last operation, or fewer; go on where there are no others."""

    @property
    @abstractmethod
    def end(self) -> tuple[int, int]:
        """Step and operation that the training has come to."""

    def seek(self, step: int, operation: int = 0) -> None:
        """Go to a step, of those that it has come to, and on to an operation of it."""
        if self.waits():
            return
        self.stand_still()
        place = min((max(0, step), operation), self.end)
        self.do(partial(go_to, self.clock, *place), name="seek")

    def reset(self) -> None:
        """Start again with the same initial weights, and scales that fit them; the speed stays."""
        if self.waits():
            return
        self.stand_still()
        self.do(self.clock.reset, self.fit)

    def slow_step(self) -> None:
        """Do the operations up to the end of a step slowly; then go on if it plays."""
        if self.waits():
            return
        plays = self.is_playing or self.walk.then == self.play_on
        self.stand_still()
        done = max(member.session.clock.operation for member in self.members)
        left = self.pauses()[done:]
        self.walk.begin(len(left), left, self.play_on if plays else None)
        self.attend_walk()

    @abstractmethod
    def pauses(self) -> Sequence[float]:
        """Return the seconds that a slow step gives to each of its operations."""

    def play_on(self) -> None:
        """Play as before, up to the same step."""
        self.play(anew=False)

    def attend_walk(self) -> None:
        """Do the operation that is due, if one is."""
        if self.members[0].hand.busy or self.held:
            return
        if direction := self.walk.due():
            go = self.clock.advance if direction > 0 else self.clock.back
            self.do(partial(go, 1, "operation"))
        else:
            self.walk.end()
        for member in self.members:
            member.stage.given = self.walk.given

    def fit(self, _: object = None) -> None:
        """Fit the scales to the numbers."""
        self.stage.rescale(anew=True)

    def set_speed(self, speed: float | None) -> None:
        """Set the steps a second; None for as fast as possible."""
        for member in self.members:
            member.guide.interrupt()
        with self.reporting_errors():
            for each in dict.fromkeys([self.playing, *(x.playing for x in self.members)]):
                each.set_speed(speed)

    @abstractmethod
    def do(
        self, command: Callable[[], Any], then: Callable[[Any], None] = ..., *, name: str = ""
    ) -> None:
        """Execute a command on the clock, and then call `then` with its result on this thread."""


def go_to(clock: Session | SharedClock, step: int, operation: int) -> None:
    """Go to the moment of arrival at an operation."""
    clock.seek(step)
    if operation:
        clock.advance(operation, "operation")


# Keys: their commands and their help, from the rows of CONTROLS.

TIMES_WITH_SHIFT = 10
ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}
NAMED_KEYS = ("space", "enter", "escape", "f2", "f11")
# Alternative keys, known from other programs.
ALIASES = {"t": "space"}


def keys_of(row: Control, names: Sequence[str]) -> tuple[str, ...]:
    """Return the keys of a control; `names` are the names of a choice."""
    return tuple(DIGITS[: len(names)]) if row.key == DIGITS else (row.key,) * bool(row.key)


def command_of(state: FaceState, key: str, shift: bool) -> tuple[Control, Any] | None:
    """Return the control that a key belongs to, and the value for its setter; None without one."""
    key = ALIASES.get(key, key)
    for row in rows_for(state):
        names = tuple(row.names(state))
        if key in keys_of(row, names):
            return row, value_of_key(row, names, state, key, shift)
    return None


def rows_for(state: FaceState) -> list[Control]:
    """Return the controls that there are: some only where several sessions are shown."""
    return [row for row in CONTROLS.values() if state.names or not row.several]


def value_of_key(
    row: Control, names: Sequence[str], state: FaceState, key: str, shift: bool
) -> Any:
    """Return the value that a key passes to the setter of a control."""
    if row.kind == "tick":
        return not row.get(state)
    if row.kind == "choice":
        return names[DIGITS.index(key)] if row.key == DIGITS else following(names, row.get(state))
    return TIMES_WITH_SHIFT if shift else 1


def following(names: Sequence[str], name: str) -> str:
    """Return the name after `name`; the first after the last."""
    return names[(names.index(name) + 1) % len(names)] if name in names else names[0]


def either(names: Iterable[str]) -> str:
    *most, last = names
    return text("keys.or", most=", ".join(most), last=last) if most else last


def name_of_key(key: str) -> str:
    """Return a key as text."""
    return text(f"keys.name.{key}") if key in NAMED_KEYS else ARROWS.get(key, key)


def written_key(key: str) -> str:
    """Return a key as text for a menu or a tooltip, with letters as capitals."""
    return name_of_key(key).upper() if len(key) == 1 else name_of_key(key)


def help_rows(state: FaceState) -> list[tuple[str, str]]:
    """Return the rows of the help; keys with the same text share a row."""
    found: dict[str, list[str]] = {}
    for row in rows_for(state):
        names = tuple(row.names(state))
        about, help = row.words("about", state), row.words("help", state)
        help = help.replace("{}", either(names)) if names else help
        help = help or about[:1].lower() + about[1:]
        for key in keys_of(row, names):
            other = [f", {alias}" for alias, meant in ALIASES.items() if meant == key]
            found.setdefault(help, []).append("".join([name_of_key(key), *other]))
    return [(" ".join(keys), about) for about, keys in found.items()]
