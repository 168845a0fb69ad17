"""Controller: everything that a user can do to a training and its picture, without any toolkit.

A window or a widget is a thin face of it: it calls a command where something is clicked, asks for
`state` some times a second, and calls `attend` about as often. All of that is one thread, which
never waits for a training longer than a moment (answers.AT_ONCE): the training that plays has a
thread of its own, what is done to it is done by a `Hand`, and a picture asks by an `Answer`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeVar, cast, final

from scalarviz.controller import keys
from scalarviz.controller.end_of_run_actions import offers_of
from scalarviz.controller.export import Exports
from scalarviz.controller.hand import Hand
from scalarviz.controller.options import Options, Recipe, rate_now, settings_now
from scalarviz.controller.picture import PictureProtocol
from scalarviz.controller.play import Playing
from scalarviz.controller.precompile import kind_of, kinds_of_run
from scalarviz.controller.state import UNITS, State, state_of, units_of
from scalarviz.controller.undo import Undo, as_number
from scalarviz.controller.warming import Warming
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import GradientError, ScalarvizError
from scalarviz.errors.visible_text import LONGEST_LINE, visible
from scalarviz.formulas.table import pick
from scalarviz.presenter.show import Show
from scalarviz.session.branches import Branch
from scalarviz.session.session import Session, Unit
from scalarviz.texts import text

CHANNELS = {"color": "color", "size": "size"}
AT_ONCE = 100  # steps that a hand may wait for; more are taken while the picture goes on


CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def computes(command: CommandT) -> CommandT:
    """What is done to a training: refused while it is held, because its kernels are compiled."""

    @wraps(command)
    def done(controller: Controller, *given: Any, **named: Any) -> Any:
        controller.look_at_kernels()
        if controller.warming.held:
            return controller.tell(text("notices.wait"))
        try:
            return command(controller, *given, **named)
        finally:
            controller.warming.settle()

    return cast(CommandT, done)


@final
class Controller:
    """A show, the picture of it, and what is done to both.

    recipe  how the show was made, so that it can be made again with other options
    steps   after how many it pauses by itself, the first time; None: as many as the show says
    speed   steps a second, 0 for flat out; None: the show's own way

    `start_editing` and `leave` belong to the face: they open the field for the pinned weight's
    value, and close everything.
    """

    def __init__(
        self,
        show: Show,
        stage: PictureProtocol,
        recipe: Recipe | None = None,
        *,
        steps: int | None = None,
        speed: float | None = None,
    ) -> None:
        self.show = show
        self.stage: PictureProtocol = stage
        self.unit: Unit = "step"
        self.message = ""
        self.start_editing: Callable[[], None] = lambda: None
        self.leave: Callable[[], None] = lambda: None
        self.hand = Hand()
        self.playing = Playing(show, steps, speed)
        self.options = Options(recipe, show)
        self.changes = Undo(show.session)
        self.exports = Exports()
        self.engines = tuple(name for name, row in ENGINES.items() if not row.lack())
        self.warming = Warming()
        self.look_at_kernels()
        stage.keys = keys.help_rows(self.state)

    @property
    def session(self) -> Session:
        return self.show.session

    def look_at_kernels(self) -> None:
        """See to it that no kernel is called here that is not compiled."""
        self.warming.take(self.session)
        self.stage.asleep = self.warming.held

    def drawing(self, work: Callable[[], None]) -> None:
        """Draw, say, while nothing is computed that would disturb it."""
        self.warming.settle()  # code past the controller may have gone anywhere
        self.playing.undisturbed(work)

    # Going on, and back.

    def toggle_play(self) -> None:
        if self.session.playing:
            self.pause()
        else:
            self.play()

    @computes
    def play(self) -> None:
        """Go on in the background."""
        self.stage.offer({})
        with self._report_errors():
            self.playing.play()

    def pause(self) -> None:
        """Stop; an error that has stopped it already is told."""
        self._stop(self.playing.pause)

    def _stop(self, pause: Callable[[], None]) -> None:
        try:
            pause()
        except ScalarvizError as error:
            self.tell_error(error)
        except Exception as error:  # what happened in its thread must not be lost with it
            self.tell(text("notices.broken", kind=type(error).__name__, error=error))

    def attend(self) -> None:
        """See to what happens by itself: an error, the end of a run, the speed of an opening."""
        playing = self.playing
        self.hand.attend()
        self.stage.rate = playing.measured()
        self._rename()
        if self.warming.attend():
            self.tell(text("notices.ready", engine=settings_now(self.session).engine))
        self.stage.asleep = self.warming.held
        self.stage.status = self.warming.said
        for result in self.exports.results():
            self.tell(result)
        if playing.ended:
            self.pause()
        elif playing.arrived:
            goal = playing.until if playing.errand else None
            self.pause()
            playing.until = None
            if goal is None:
                self.stage.offer({name: partial(self.take, name) for name in offers_of(self)})
            else:
                self.seek(goal)
        elif self.session.playing:
            playing.quicken()
        else:  # its last portion may have ended after it was paused, with an error
            self._stop(partial(self.session.pause, 0.0))

    def take(self, offer: str) -> None:
        """Do what was offered at the end of a run."""
        self.stage.offer({})
        pick(offers_of(self), offer, "offer")()

    def step(self, direction: int, times: int = 1) -> None:
        """Go on (+1) or back (-1), so many times the chosen unit."""
        self._go(direction, times, self.unit)

    def operation(self, direction: int) -> None:
        """Go on or back by one operation, whatever the unit."""
        self._go(direction, 1, "operation")

    @computes
    def _go(self, direction: int, times: int, unit: Unit) -> None:
        self._stand_still()
        session = self.session
        each = session.timeline.trainer.batches.steps_an_epoch if unit == "epoch" else 1
        if direction < 0:
            self.do(partial(session.back, times, unit))
        elif times * each <= AT_ONCE:
            self.do(partial(session.advance, times, unit))
        else:
            with self._report_errors():
                self.playing.run_to((session.step_index // each + times) * each)

    @computes
    def seek(self, step: int) -> None:
        """Go to a step that this branch has been at."""
        self._stand_still()
        session = self.session
        end = session.current_branch.end.step
        self.do(partial(session.seek, max(0, min(step, end))), name="seek")

    @computes
    def reset(self) -> None:
        """Start again with the same first weights."""
        self._stand_still()
        self.playing.restart()
        self.do(self.session.reset)

    def set_unit(self, unit: str) -> None:
        """Choose what the arrows move by."""
        with self._report_errors():
            self.session.timeline.check_unit(unit)
            self.unit = pick(UNITS, unit, "unit")

    def set_speed(self, speed: float | None) -> None:
        """So many steps a second from now on; None: flat out."""
        with self._report_errors():
            self.playing.set_speed(speed)

    def _stand_still(self) -> None:
        self.pause()
        self.stage.offer({})

    def _rename(self) -> None:
        """Another target has another title, also in a past that was gone back to."""
        title = self.options.title(settings_now(self.session))
        if title != self.show.title:
            self.show = self.stage.show = replace(self.show, title=title)

    def quit(self) -> None:
        """Leave nothing behind that goes on, after what is under way; see `rest`."""
        self.hand.drop()
        self.pause()
        self.exports.stop()
        self.warming.stop()

    def rest(self) -> None:
        """Wait until nothing goes on any more; for who has no face to look after."""
        self.hand.finish()
        self._stop(self.session.pause)

    # What the user changes.

    @computes
    def set_rate(self, rate: float | str) -> None:
        session = self.session
        self.do(lambda: setattr(session, "learning_rate", as_number(rate)), name="rate")

    @computes
    def scale_rate(self, factor: float) -> None:
        """So many times the learning rate of the next step that can still be changed."""
        session = self.session
        self.do(lambda: setattr(session, "learning_rate", factor * rate_now(session)))

    def set_engine(self, name: str) -> None:
        """Run on another engine: from the next step on, or as soon as its kernels are there."""
        kind = kind_of(self.session, name) if name in self.engines else ""
        if self.warming.later("engine", kind, partial(self.set_engine, name)):
            return self.tell(text("notices.engine_later", engine=name))
        return self._set_engine(name)

    @computes
    def _set_engine(self, name: str) -> None:
        self.do(partial(self.session.to, name))

    @computes
    def set_activation(self, layer: int, name: str) -> None:
        self.do(partial(self.session.set_activation, layer, name))

    @computes
    def edit(self, row: int, value: float | str, *, dragged: bool = False) -> None:
        """Give a weight another value; the many of a number that is dragged are undone at once."""
        changes, name = self.changes, f"edit {row}" if dragged else ""
        self.do(lambda: changes.edit(row, as_number(value), dragged=dragged), name=name)

    @computes
    def freeze(self, row: int, on: bool) -> None:
        """Keep a weight from moving, or let it move again."""
        self.do(partial(self.changes.freeze, row, on))

    @computes
    def undo(self) -> None:
        """Do the reverse of the last edit or freeze that was done in this past."""
        self.do(self.changes.undo)

    @computes
    def set_option(self, name: str, value: object) -> None:
        """Choose an option of the scene; some of them begin another training."""
        session, options = self.session, self.options
        change = options.changes(name)
        if change == "engine":
            return self.set_engine(str(value))
        if change == "rate":
            return self.set_rate(str(value))

        def begin(made: Show | None) -> None:
            if made is not None:
                self._replace(made, options)
            elif change == "data":
                self.tell(text("notices.target"))

        return self.do(lambda: options.set(session, settings_now(session), name, value), begin)

    @computes
    def drop(self, path: str | Path) -> None:
        """Take a file that was dropped on the picture: a picture to learn, or a training."""
        if str(path).endswith(".safetensors"):
            return self.load(path)
        session, options = self.session, self.options
        return self.do(lambda: options.set_picture(session, settings_now(session), str(path)))

    # The numbers, the branches, the files.

    @computes
    def next_sample(self, direction: int = 1) -> None:
        """Show the numbers of another sample of the batch."""
        with self._report_errors():
            count = self.session.timeline.trainer.batches.size
            self.session.focus = (self.session.focus + direction) % count

    def previous_sample(self) -> None:
        self.next_sample(-1)

    @computes
    def switch(self, branch: int) -> None:
        """Go over to another branch."""
        self._stand_still()
        self.do(partial(self.session.switch, branch), branching=False)

    @computes
    def save(self, path: str | Path) -> None:
        """Keep everything in a file."""
        self.do(
            partial(self.session.save, path), lambda _: self.tell(text("notices.saved", path=path))
        )

    @computes
    def export(self, path: str | Path) -> None:
        """Draw what was done so far into a video, or the next step into a page, meanwhile."""
        said = text("notices.drawing", file=Path(path).name)
        start = partial(self.exports.start, self.show, self.stage, Path(path))
        self.do(start, lambda _: self.tell(said))

    def load(self, path: str | Path) -> None:
        """Go on with a training from a file, as soon as the kernels that it takes are there."""
        self.do(partial(kinds_of_run, path), partial(self._load_with, path))

    def _load_with(self, path: str | Path, kinds: list[str]) -> None:
        for kind in kinds:
            if self.warming.later("load", kind, partial(self.load, path)):
                return self.tell(text("notices.opens_later", file=Path(path).name))

        def begin(session: Session) -> None:
            same = session.data.name == self.session.data.name
            show = replace(self.show, session=session) if same else Show.of(session)
            self._replace(show, Options(self.options.recipe if same else None, show))
            self.tell(text("notices.resumed", path=path))

        return self.do(partial(Session.load, path), begin)

    def _replace(self, show: Show, options: Options) -> None:
        """Go over to another training, and go on with it if this one was playing."""
        plays = self.session.playing
        self.pause()
        self.show, self.options = show, options
        self.options.begin(show)
        self.changes = Undo(show.session)
        self.playing.begin(show)
        self.warming.take(show.session)
        self.set_unit(self.unit if self.unit in units_of(show.session) else "step")
        self.stage.replace(show)
        self.stage.asleep = self.warming.held
        if plays:
            self.play()

    # The picture.

    def set_channel(self, which: str, name: str) -> None:
        """Choose what the "color" or "size" of the cubes stands for."""
        with self._report_errors():
            pick(dict.fromkeys(self.stage.channels), name, "channel")
            setattr(self.stage, pick(CHANNELS, which, "property of a cube"), name)

    @computes
    def click(self, x: float, y: float) -> None:
        """Pin the cube at a place of the picture, or press what can be pressed there."""
        with self._report_errors():
            self.stage.click(x, y)

    def press(self, key: str, shift: bool = False) -> bool:
        """Do what a key does; whether it does anything."""
        return keys.press(self, key, shift)

    def edit_pinned(self) -> None:
        """Open the field of the pinned weight's value, or say how a weight is pinned."""
        if self.stage.pinned is None:
            self.tell(text("notices.pin_first"))
        else:
            self.start_editing()

    # What is said and shown.

    def tell(self, words: str, action: str = "", then: Callable[[], None] | None = None) -> None:
        """Say something on the picture, perhaps with something to click."""
        self.message = visible(words, LONGEST_LINE)
        self.stage.notice(self.message, action, then)

    def tell_error(self, error: ScalarvizError) -> None:
        """Say what was wrong; with the way back, if a step was refused."""
        if isinstance(error, GradientError) and error.back is not None:
            back = error.back
            action = text("notices.back", step=back)
            self.tell(error.lines[0], action, lambda: self.seek(back))
        else:
            self.tell(" ".join(error.lines))

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any], None] = lambda _: None,
        *,
        name: str = "",
        branching: bool = True,
    ) -> None:
        """Do something to the training, and `then`, with its result, something here.

        What takes longer than a moment is done while the face goes on. Of what waits to be done
        under one `name` the newest is done. An error is told, and a branch that has begun.
        """
        session, warming = self.session, self.warming
        branches: list[Branch] = []  # before, and after

        def done() -> Any:
            branches.append(session.current_branch)
            try:
                return command()
            finally:
                branches.append(session.current_branch)
                warming.settle(math.inf)

        def finish(result: Any, error: BaseException | None) -> None:
            with self._report_errors():
                if error is not None:
                    raise error
                then(result)
            if branching and session is self.session:
                self._tell_branch(*branches)

        self.hand.do(done, finish, name)

    @contextmanager
    def _report_errors(self) -> Iterator[None]:
        """Tell an error."""
        try:
            yield
        except ScalarvizError as error:
            self.tell_error(error)

    def _tell_branch(self, before: Branch, now: Branch) -> None:
        """Tell that a branch has begun, if one has: with a way back."""
        if now is not before:
            words, action = text("notices.branch", step=now.fork.step), text("notices.return")
            self.tell(words, action, partial(self.switch, before.number))

    @property
    def state(self) -> State:
        """What controls show; training is not held up."""
        return state_of(self)
