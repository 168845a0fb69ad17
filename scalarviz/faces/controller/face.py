"""Face: a user interface for one or several sessions, and the state that they share.

WatchOptions are the options of an interface; an Opening shows the tour or starts playback.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

from scalarviz.base.checks import FloatArray, number, require, shorten, true_or_false
from scalarviz.base.checks import size as count_of
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import ScalarvizError
from scalarviz.faces.controller import guide as tours
from scalarviz.faces.controller.clock_control import ClockControl, reporting_errors
from scalarviz.faces.controller.control import Control, FaceState, state_of
from scalarviz.faces.controller.controller import CommandQueue, Controller
from scalarviz.faces.controller.controls import walk
from scalarviz.faces.controller.keys import command_of, help_rows
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.controller.train import Autosave
from scalarviz.scene.look import Look
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several, Show
from scalarviz.stage.stages import Stages, stages_of
from scalarviz.training.follow.followed_session import is_at_end
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.shared_clock import SharedClock


@final
class Face:
    """A user interface for one session, or for several sessions side by side.

    Args:
        stage: the picture, with a pane for each session
        recipes: how the Shows were created, one for each session; by default empty
        steps: number of steps before the first pause; None: the number of steps in the Shows
        speed: steps per second, 0 for as fast as possible; None: the speed of the first Show

    Attributes:
        panes: a controller for each session
        time: playback control of all panes, for the clock of a single session or a shared clock
        jumps: number of jumps in time so far; pages use it to detect a jump

    The window or page sets some functions. `start_editing` opens the field of a control, given its
    name, `leave` closes everything, `fill_screen` toggles full screen, and `copy_text` copies a
    text to the clipboard. `ask_color` is optional: it opens a dialog that starts with a color and
    calls a function for each color that is picked.
    """

    def __init__(
        self,
        stage: Stages,
        recipes: Sequence[Recipe | None] = (),
        *,
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.stage = stage
        self.start_editing: Callable[[str], None] = nothing
        self.leave: Callable[[], object] = nothing
        self.fill_screen: Callable[[], None] = nothing
        self.copy_text: Callable[[str], None] = nothing
        self.ask_color: Callable[[FloatArray, Callable[[FloatArray], None]], None] | None = None
        self.hand = CommandQueue()
        self.jumps = 0
        known = recipes or [None] * len(stage.panes)
        self.panes = [
            Controller(self, each, recipe) for each, recipe in zip(stage.panes, known, strict=True)
        ]
        self.time = ClockControl(self, self.panes, steps, speed)
        stage.still = self.still
        stage.common.keys = help_rows(self.state)

    # Selection of panes.

    @property
    def several(self) -> bool:
        return len(self.panes) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sessions if there are several."""
        return tuple(self.stage.names) if self.several else ()

    @property
    def lead(self) -> Controller:
        """The controller of the selected session."""
        return self.panes[self.stage.chosen]

    def choose(self, name: str) -> None:
        """Select a session by name."""
        self.stage.chosen = pick({each: i for i, each in enumerate(self.names)}, name, "session")

    def still(self) -> Any:
        """Return a context in which a shared clock is paused, so that one moment can be drawn."""
        clock = self.time.clock
        return clock.still(AT_ONCE) if isinstance(clock, SharedClock) else nullcontext(True)

    # Actions.

    def act(self, row: Control, value: Any, setter: Callable[..., object] | None = None) -> None:
        """Apply a control to the sessions that it acts on.

        Args:
            row: the control
            value: value that is passed to the setter
            setter: setter of the control to use; None (default) means `row.set`
        """
        self.time.end_film()
        act: Callable[..., object] = setter or row.set
        act({"one": self.lead, "time": self.time, "all": self}[row.row.acts_on], value)

    def next_sample(self, direction: int = 1) -> None:
        """Show the sample that is `direction` positions after the shown one, in all panes."""
        for pane in self.panes:
            pane.next_sample(direction)

    def press(self, key: str, shift: bool = False) -> bool:
        """Execute the command of a key; return False if the key has no command."""
        self.time.end_film()
        self.time.finish()
        if walk(self.lead, key, shift=shift):
            return True
        if found := command_of(self.state, key, shift):
            self.act(*found)
        return found is not None

    def click(self, x: float, y: float) -> None:
        """Pin the cube at a position, or press the button there."""
        if self.time.waits():
            return
        self.time.finish()
        with reporting_errors(self):
            self.stage.click(x, y)
        for pane in self.panes:
            pane.guide.interrupt()
            pane.look_at_kernels()

    def attend(self) -> None:
        """Do pending work of all panes: report results and errors, and continue guided playback."""
        self.hand.attend()
        for pane in self.panes:
            pane.attend()
        self.time.attend()

    @property
    def state(self) -> FaceState:
        """The state of all controls; reading it does not wait for training."""
        return state_of(self.lead)

    def tell(self, words: str) -> None:
        """Show a message."""
        (self.stage.notice if self.several else self.lead.tell)(words)

    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error."""
        self.lead.tell_error(error)

    def take(self, field: str, value: object) -> None:
        """Change a view option, given as a field of Look, in all panes."""
        with reporting_errors(self):
            self.stage.take(**{field: value})

    def quit(self) -> None:
        """Stop everything except the files that the user wants to keep writing."""
        for pane in self.panes:
            pane.quit()

    def rest(self) -> None:
        """Wait until everything has stopped and the commands marked as kept are done."""
        self.time.stop(self.time.clock.pause)
        for pane in self.panes:
            pane.rest()


# Options of a window or a notebook.


@final
@dataclass(frozen=True)
class WatchOptions:
    """The arguments of `sv.watch` for a window or notebook; invalid ones raise InputError.

    Attributes:
        recipes: how the scenes were created, one for each session; empty if unknown
        look: initial options of the view
    """

    steps: int | None = None
    speed: float | None = None
    keep: Autosave = field(default_factory=Autosave)
    recipes: Sequence[Recipe | None] = ()
    size: tuple[int, int] | None = None
    play: bool | None = None
    tour: bool = False
    reduced_motion: bool = False
    nodes: Callable[[Any], object] | None = None
    look: RenderOptions = field(default_factory=RenderOptions)

    def __post_init__(self) -> None:
        if self.steps is not None:
            count_of(self.steps, "steps", 0)
        for name in ("tour", "reduced_motion", *("play",) * (self.play is not None)):
            true_or_false(getattr(self, name), name)
        require(
            isinstance(self.keep, Autosave), f"keep takes an Autosave, not {shorten(self.keep)}"
        )
        for recipe in self.recipes:
            require(
                recipe is None or isinstance(recipe, Recipe),
                f"recipe takes a Recipe, not {shorten(recipe)}: leave it out",
            )
        if self.speed is not None:
            number(self.speed, "the speed", 0.0)
        if self.size is not None:
            object.__setattr__(self, "size", RenderOptions(size=self.size).size)

    def face(self, show: Show | Several, theme: str, *, reduced_motion: bool = False) -> Face:
        """Return the interface for one or several Shows; `theme` is the default theme.

        Args:
            reduced_motion: if True, disable animations even if the options do not
        """
        still = self.reduced_motion or reduced_motion
        if self.speed is not None and isinstance(show, Show):
            show = replace(show, film=False)
        look = self.look.in_theme(theme)
        first = Look(theme=look.theme, camera=look.preset)
        stages = stages_of(show, first, reduced_motion=still, patience=AT_ONCE)
        stages.common.nodes = self.nodes
        look.choose(stages)
        return Face(stages, self.recipes, steps=self.steps, speed=self.speed)


# The start, until training plays.


@final
class Opening:
    """Waits until the kernels are compiled, then shows the tour or starts playback.

    Args:
        face: the interface
        tour: whether to show the tour, which is not available for several sessions; None means only
            the first time on this machine, and only at the start of a session without a film
        play: whether to play if there is no tour, and after it; a film never plays with reduced
            motion
    """

    def __init__(self, face: Face, tour: bool | None = None, *, play: bool = True) -> None:
        self.face = face
        lead = face.lead
        begins = lead.session.clock.place == (0, 0) and lead.stage.pinned is None
        self._film = begins and lead.show.film and not face.several
        wanted = begins and not self._film and not tours.was_seen() if tour is None else tour
        self._tours = wanted and not face.several
        is_over = is_at_end(lead.session, grows=False)
        self._plays = play and not is_over and not (self._film and lead.stage.reduced_motion)

    def attend(self) -> None:
        """Do pending work; called several times per second after the first picture."""
        face = self.face
        if face.time.held or not (self._tours or self._plays):
            return
        tours, plays = self._tours, self._plays
        self._tours = self._plays = False
        with reporting_errors(face):
            if face.time.is_playing:
                return
            if tours:
                film = face.time.films and not face.lead.stage.reduced_motion
                play = partial(face.time.play, anew=False, film=film)
                face.lead.guide.show_tour(play if plays else nothing)
            else:
                face.time.play(film=self._film)
