"""Controller: all user actions on a session and its picture, independent of a GUI toolkit.

A window or widget calls a command for each user action. Several times per second it reads `state`
and calls `attend`. All these calls are made in one thread, which never blocks noticeably: playback
uses a second thread, a `CommandQueue` executes commands in a third one, and pictures use `Answer`.
The actions of keys and their help are derived from the rows of CONTROLS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, final

from scalarviz.base.kernel_threads import Guard
from scalarviz.base.messages import LONGEST_LINE, visible
from scalarviz.base.texts import text
from scalarviz.engines.registry import ENGINES, engines_for
from scalarviz.errors import GradientError, ScalarvizError
from scalarviz.faces.controller import changes, stopping
from scalarviz.faces.controller.changes import Edits
from scalarviz.faces.controller.clock_control import ClockControl, reporting_errors
from scalarviz.faces.controller.control import unit_for
from scalarviz.faces.controller.guide import Guide
from scalarviz.faces.controller.options import Options, Recipe, as_sentence
from scalarviz.faces.controller.precompile import Warming, computes, load_kernels
from scalarviz.faces.scene_options import as_number
from scalarviz.stage.background import AT_ONCE
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from scalarviz.training.session.actions import nothing
from scalarviz.training.session.branches import Branch
from scalarviz.training.session.session import Session
from scalarviz.training.session.threads import Background, Job
from scalarviz.training.session.trainer import settings_now
from scalarviz.training.session.user_changes import Change

if TYPE_CHECKING:
    from scalarviz.faces.controller.face import Face


@final
class Controller:
    """A pane of an interface: a Show, its picture, and the commands on both.

    Args:
        face: the interface that contains the pane
        stage: the picture of the Show
        recipe: how the Show was created, so that its options can be changed

    `last_words` are the messages after `quit`. `own_session` is the session for which the interface
    was opened. `preset` is the change made by the last preset, or None.
    """

    def __init__(self, face: Face, stage: Stage, recipe: Recipe | None = None) -> None:
        self.face = face
        self.show: Show = stage.show
        self.own_session = self.show.session
        self.stage: Stage = stage
        self.message = ""
        self.hand = face.hand
        self.guide: Guide = Guide(self)
        self.options = Options(recipe, self.show)
        self.edits = Edits(self.show.session)
        self.preset: Change | None = None
        self.search = stopping.Search()
        self.last_words: list[str] = []
        self._is_left = self._plays_soon = self._resumes = False
        self._engines = [name for name, row in ENGINES.items() if not row.lack()]
        self.warming = Warming()
        self.look_at_kernels()
        stage.travel, stage.end_work = self.travel, self.search.cancel

    @property
    def session(self) -> Session:
        return self.show.session

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that can run the session on this machine."""
        known = engines_for(self.session.network.program)
        return tuple(name for name in self._engines if name in known)

    def look_at_kernels(self) -> None:
        """Check which kernels are missing, so that they are not called before they are compiled."""
        self.warming.take(self.session)
        self.stage.reading.asleep = self.warming.held

    def await_kernels(self) -> None:
        """Compile the kernels of the session for its engine, and wait for them."""
        load_kernels(self.session)
        self.look_at_kernels()

    # Time.

    def show_whole_operations(self) -> None:
        """Remove the large buttons, and show complete operations instead of single neurons."""
        self.stage.motion.by_neuron.shown.clear()
        self.withdraw()

    @property
    def time(self) -> ClockControl:
        """The playback commands, for all panes."""
        return self.face.time

    def play_soon(self) -> None:
        """Play as soon as the kernels are compiled."""
        self._plays_soon, self._resumes = self.warming.held, False
        if not self._plays_soon:
            self.time.play()

    def stand_by(self) -> None:
        """Cancel everything that would start or continue automatically."""
        self._plays_soon = self._resumes = False
        self.guide.stop()

    def attend(self) -> None:
        """Do pending work: report results and errors, and continue guided playback."""
        self.guide.attend()
        words = self.options.words(settings_now(self.session))
        if words["title"] != self.show.title:  # other data, perhaps after going back in time
            self.show = self.stage.show = replace(self.show, **words)
        time = self.time
        if time.unit != (unit := unit_for(self.session, time.unit)):  # another batch, or layers
            time.set_unit(unit)
        self.warming.attend()
        self.stage.reading.asleep = self.warming.held
        self.stage.status = self.hand.said
        if self.stage.own is None and text("own.end") in self.stage.offered:
            self.stage.offer({})
            self.tell(text("own.left"))
        if self._plays_soon and not self.warming.held:
            self.play_soon()
        self.stage.work = self.search.work or self.warming.compiling.work

    @computes
    def travel(self, operations: int) -> None:
        """Show some operations one after the other; a negative number goes backward."""
        self.time.stand_still()
        self.time.walk.begin(operations)
        self.guide.attend()

    def withdraw(self) -> None:
        """Remove the large buttons, except those of a custom input."""
        if self.stage.own is None:
            self.stage.offer({})

    def quit(self) -> None:
        """Stop everything.

        `rest` waits until the current command has ended. Later messages are added to `last_words`.
        """
        self._is_left = True
        self.hand.drop()
        self.time.pause()
        self.warming.stop()

    def rest(self) -> None:
        """Wait until everything has stopped and the commands marked as kept are done."""
        self.hand.finish()
        self.hand.attend(kept=True)
        self.time.stop(self.session.pause)

    # Changes by the user.

    @computes
    def set_engine(self, name: str) -> None:
        """Switch to another engine, starting with the next step."""
        self.do(partial(self.session.to, name), changing=True)

    @computes
    def edit(self, row: int, value: float | str, *, dragged: bool = False) -> None:
        """Set a weight; all edits of one drag are undone together."""
        edits, name = self.edits, f"edit {row}" if dragged else ""
        self.do(lambda: edits.edit(row, as_number(value), dragged=dragged), name=name)

    @computes
    def freeze(self, row: int, on: bool) -> None:
        """Freeze or unfreeze a weight."""
        changes.freeze_rows(self, row, on)

    def undo(self) -> None:
        """Undo the last change."""
        changes.reverse(self, "undo")

    def redo(self) -> None:
        """Redo the last undone change."""
        changes.reverse(self, "redo")

    @computes
    def set_option(self, name: str, value: object) -> None:
        """Set an option of the session or the scene; some options start another session."""
        changes.set_option(self, name, value)

    # Samples, branches.

    @computes
    def next_sample(self, direction: int = 1) -> None:
        """Show the sample of the batch that is `direction` positions after the shown one."""
        with reporting_errors(self):
            count = self.session.trainer.batches.size
            self.session.focus = (self.session.focus + direction) % count

    @computes
    def switch(self, branch: int) -> None:
        """Switch to another branch."""
        self.time.stand_still()
        self.do(partial(self.session.switch, branch), self.time.fit, branching=False)

    def replace(self, show: Show, options: Options) -> None:
        """Show another session, and play it if this one was playing."""
        plays = self.session.playing or self._resumes
        self.time.pause()
        self.show, self.options = show, options
        self.own_session = self.own_session if options.elsewhere else show.session
        self.edits = Edits(show.session)
        self.time.begin(show.steps)
        self.warming.take(show.session)
        self.time.set_unit(unit_for(show.session, self.time.unit))
        self.stage.replace(show)
        self.stage.reading.asleep = self.warming.held
        if plays:
            self.play_soon()

    # Messages.

    def tell(self, words: str, action: str = "", then: Callable[[], None] | None = None) -> None:
        """Show a message, with a button labelled `action` that calls `then`."""
        self.message = visible(words, LONGEST_LINE)
        if self._is_left:
            self.last_words.append(self.message)
        self.stage.notice(self.message, action, then)

    def tell_error(self, error: ScalarvizError) -> None:
        """Show an error in plain words; for an invalid gradient, with a button to go back."""
        if isinstance(error, GradientError) and error.back is not None:
            action = text("notices.back", step=error.back)
            self.tell(as_sentence(error.lines[0]), action, partial(self.time.seek, error.back))
        else:
            self.tell(as_sentence(" ".join(error.lines)))

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any], None] = nothing,
        *,
        name: str = "",
        branching: bool = True,
        kept: bool = False,
        changing: bool = False,
        said: str = "",
        moving: bool = False,
    ) -> None:
        """Execute a command on the session, then call `then` with its result in this thread.

        A slow command runs while the interface stays responsive. Errors are reported.

        Args:
            command: called in the command thread
            then: called with the result of the command
            name: of several queued commands with the same name, only the latest is executed
            branching: whether to report a new branch
            kept: whether to execute the command even after the interface is closed
            changing: whether the command may need other kernels; playback then resumes when they
                are compiled
            said: description that is shown while the command is slow
            moving: whether the command moves the clock, and thus the sessions of all panes
        """
        moved = [(pane, pane.session) for pane in (self.face.panes if moving else [self])]
        branches: list[list[Branch]] = []  # of each session, before and after
        plays = changing and (self.session.playing or self._resumes)
        if plays:
            self._resumes = True
            self.time.stop(self.time.halt)

        def note() -> None:
            branches.append([session.current_branch for _, session in moved])

        def done() -> Any:
            note()
            try:
                return command()
            finally:
                note()

        def finish(result: Any, error: BaseException | None) -> None:
            if changing:
                self.look_at_kernels()
            with reporting_errors(self.time if moving else self):
                if error is not None:
                    raise error
                then(result)
            if plays and self._resumes:
                self.play_soon()
            for (pane, session), before, now in zip(moved, *branches, strict=True):
                if branching and session is pane.session:
                    pane.tell_branch(before, now)

        self.hand.do(done, finish, name and f"{name} {id(self)}", kept=kept, said=said)

    def tell_branch(self, before: Branch, now: Branch) -> None:
        """Report a new branch, with a button to return."""
        if now is not before:
            words, action = text("notices.branch", step=now.fork.step), text("notices.return")
            self.tell(words, action, partial(self.switch, before.number))


# A thread that executes commands, so that an interface does not wait for them.


@dataclass(eq=False)
class QueuedCommand:
    """A command, and the callback for its result or error.

    Of consecutive queued commands with the same `name`, only the latest is executed; commands
    without a name are always executed. A `kept` command is executed and reported even after `drop`.
    """

    do: Callable[[], Any]
    then: Callable[[Any, BaseException | None], None]
    name: str = ""
    kept: bool = False
    said: str = ""
    result: Any = None
    error: BaseException | None = None


@final
class CommandQueue:
    """A queue that executes commands one after the other in a separate thread.

    A quick command has finished when `do` returns. A command that takes longer than `patience`
    seconds continues, and a later call of `attend` passes its result to the callback. The interface
    calls `do` and `attend` in its own thread.
    """

    def __init__(self) -> None:
        self.patience = AT_ONCE
        self._lock = Guard()
        self._waiting: deque[QueuedCommand] = deque()
        self._done: deque[QueuedCommand] = deque()
        self._thread = Background()
        self._now: tuple[str, float] = "", 0.0  # name of the current command, and its start

    @property
    def busy(self) -> bool:
        """Whether a command is running, or has a result that was not reported yet."""
        return self._thread.busy or bool(self._done)

    @property
    def said(self) -> str:
        """Text with the current command and its duration; "" if it has no description."""
        words, since = self._now
        return words and text("notices.busy", what=words, seconds=monotonic() - since)

    def do(
        self,
        command: Callable[[], Any],
        then: Callable[[Any, BaseException | None], None],
        name: str = "",
        *,
        kept: bool = False,
        said: str = "",
    ) -> None:
        """Queue a command for execution.

        Args:
            command: the function to call
            then: called with the result and the error of the command; one of them is None
            name: queued commands with the same name replace each other
            kept: whether the command remains in the queue after `drop`
            said: description of the command, used by the property `said`
        """
        patience = 0.0 if self._thread.busy else self.patience
        with self._lock:
            if name and self._waiting and self._waiting[-1].name == name:
                self._waiting.pop()
            self._waiting.append(QueuedCommand(command, then, name, kept, said))
        self._thread.start(self._work())
        self._thread.wait(patience)
        self.attend()

    def attend(self, *, kept: bool = False) -> None:
        """Call the callbacks of all commands that have finished, or only of kept ones."""
        while self._done:
            command = self._done.popleft()
            if command.kept or not kept:
                command.then(command.result, command.error)

    def drop(self) -> None:
        """Discard the queued commands that are not kept."""
        with self._lock:
            self._waiting = deque(each for each in self._waiting if each.kept)

    def finish(self) -> None:
        """Wait until all commands are done."""
        self._thread.wait()

    def _work(self) -> Job:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                command = self._waiting.popleft()
            self._now = command.said, monotonic()
            try:
                command.result = command.do()
            except BaseException as error:
                command.error = error
            self._now = "", 0.0
            self._done.append(command)
            yield 0.0
