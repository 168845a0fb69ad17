"""Files, scenes and links that an interface opens and writes; exports by other processes.

An export draws a video or a page in another process while training continues:

    python -m scalarviz.faces.controller.export FOLDER OUT.mp4 '{"titles": ["rgb"], ...}'

The folder contains a saved run for each session: 0.safetensors and so on. The process removes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, final

from scalarviz.base import processes
from scalarviz.base.checks import require
from scalarviz.base.interrupt import Stop
from scalarviz.base.progress import Progress, duration
from scalarviz.base.shell_commands import program
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.controller.changes import show_another, tell_another
from scalarviz.faces.controller.clock_control import reporting_errors
from scalarviz.faces.controller.options import Options, Recipe, without_code
from scalarviz.faces.controller.precompile import computes
from scalarviz.faces.links import Link, is_plain, link_to, option_text
from scalarviz.faces.scene_file import about, find, load, scenes
from scalarviz.files.atomic import check_place
from scalarviz.files.runs import check_saving, save_timeline
from scalarviz.scene.frame_data import Work
from scalarviz.stage.show import Several, Show
from scalarviz.stage.stages import Stages
from scalarviz.training.session.session import Session
from scalarviz.training.session.timeline import actions_of
from scalarviz.training.session.trainer import settings_now

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller
    from scalarviz.faces.controller.face import Face


# Files: sessions, networks, pictures to learn, exports.


@computes
def drop(controller: Controller, path: str | Path) -> None:
    """Open a file that was dropped on the window: a picture to learn, or a saved session."""
    if str(path).endswith(".safetensors"):
        return open_run(controller, path)
    session, options, name = controller.session, controller.options, Path(path).name

    def learned(_: object) -> None:
        words = text("own.picture.learned", name=name)
        controller.tell(words, text("controls.undo"), controller.undo)

    return controller.do(
        lambda: options.set_picture(session, settings_now(session), str(path)),
        learned,
        changing=True,
        said=text("scenes.opening", name=name),
    )


def open_run(controller: Controller, path: str | Path) -> None:
    """Load a session from a file, and show it."""

    def begin(session: Session) -> None:
        same = session.data.name == controller.session.data.name
        controller.time.pause()
        if same:
            title = session.timeline.title or controller.show.title
            show = replace(controller.show, session=session, title=title)
        else:
            show = Show.of(session)
        recipe = controller.options.recipe if same else None
        options = Options(recipe, show, elsewhere=not same or controller.options.elsewhere)
        show_another(controller, show, options, text("changes.file", file=Path(path).name))
        controller.tell(text("notices.resumed", path=path, step=session.step_index))

    said = text("scenes.opening", name=Path(path).name)
    controller.do(partial(Session.load, path), begin, said=said)


@computes
def save(controller: Controller, path: str | Path) -> None:
    """Save the session to a file, even if the window is closed in the meantime."""
    controller.do(
        partial(controller.session.save, path),
        lambda _: controller.tell(text("notices.saved", path=path)),
        kept=True,
        said=text("notices.saving", file=Path(path).name),
    )


@computes
def save_network(controller: Controller, path: str | Path) -> None:
    """Save the current network; the suffix of the path determines the format."""
    session = controller.session

    def act() -> None:
        network = check_saving(session.timeline)
        with session.doing():
            network.save(path)

    controller.do(act, lambda _: controller.tell(text("notices.saved", path=path)), kept=True)


def export_to(face: Face, path: str | Path) -> None:
    """Export all sessions side by side to a video, in the background; see `export_of`.

    A page contains only the selected session.
    """
    controller = face.lead
    panes = [controller] if is_page(Path(path)) else face.panes
    if controller.time.waits():
        return
    shows = [pane.show for pane in panes]
    pin: Any = [pane.stage.pinned_part for pane in panes]
    if len(panes) > 1:
        shows = [replace(show, title=name) for show, name in zip(shows, face.names, strict=True)]
    else:
        (pin,) = pin
    with reporting_errors(controller):
        export = export_of(shows, face.stage, Path(path), pin)
        controller.exports.expect(export, Path(path))
        controller.do(partial(controller.exports.start, export), kept=True)


# The menu of scenes: open another scene in place of the shown session.

TAKEN_OVER = ("engine",)  # options kept by another scene if they were given


@cache
def entries() -> dict[str, str]:
    """Return the names of the built-in scenes, by menu entry."""
    found = scenes().items()
    return {text("scenes.entry", name=name, about=about(path)): name for name, path in found}


def entry_of(name: str) -> str:
    """Return the menu entry of a scene; "" if it is not built in."""
    return next((entry for entry, each in entries().items() if each == name), "")


def choose_scene(controller: Controller, entry: str) -> None:
    """Open the scene that was chosen in the menu."""
    if entry in entries():
        open_scene(controller, entries()[entry])


def open_scene(controller: Controller, name: str) -> None:
    """Open a built-in scene and play it; Undo returns to the previous session."""
    recipe = controller.options.recipe
    given = {} if recipe is None else {k: v for k, v in recipe.unusual.items() if k in TAKEN_OVER}

    def begin(made: Options) -> None:
        did = text("changes.scene", name=name)
        show_another(controller, made.show, made, did)
        tell_another(controller, did)
        controller.play_soon()

    controller.guide.interrupt()
    said = text("scenes.opening", name=name)
    controller.do(partial(options_of, name, given), begin, said=said, name="scene")


def options_of(name: str, given: dict[str, object]) -> Options:
    """Create a built-in scene with the `given` options, and return the Options of its Show."""
    recipe = Recipe(load(find(name)), given)
    return Options(recipe, recipe.make({}), elsewhere=True)


# Links: the current moment as a text for `scalarviz open`.


def copy_link(controller: Controller) -> None:
    """Copy a link to this moment to the clipboard, and report it."""
    stage, recipe = controller.stage, controller.options.recipe
    pinned = stage.pinned_part

    def made() -> Link:
        with controller.session.doing():
            return link_here(controller.session, recipe, pinned)

    def copy(link: Link) -> None:
        controller.face.copy_text(str(link))
        controller.tell(text("notices.link", link=link, program=program()))

    controller.do(made, copy)


def link_here(
    session: Session, recipe: Recipe | None, pinned: int | tuple[str, int] | None
) -> Link:
    """Return the link to the current moment of a session.

    Args:
        recipe: how the session was created from a scene; None if it was not
        pinned: bank row of the pinned weight, or the pinned neuron

    Raises:
        InputError: if the session comes from neither a scene nor a file.
    """
    timeline = session.timeline
    name, kept = recipe.name if recipe else "", timeline.kept
    options = {} if recipe is None else recipe.unusual
    was_changed = bool(actions_of(timeline.branch))
    is_made = not (was_changed or timeline.was_loaded or session.origin)
    if name and is_made and all(is_plain(option_text(value)) for value in options.values()):
        return link_to(session, name, options, pinned)
    if kept is None or not kept.has(timeline.branch):
        raise InputError(
            "a link leads to an unchanged scene or to a file, but this training run "
            f"{'was changed' if was_changed else 'is neither'}: save it first"
        )
    here = session.clock
    left = timeline.branch.actions_at(here.place)[here.actions :]
    require(
        not any(action.kind != "engine" for action in left),
        "a link would leave out the changes of this moment, which are not done yet: first go "
        "back or forward by one operation",
    )
    return link_to(session, str(kept.path), None, pinned)


# Child processes that read copies of sessions: a window with the branches of a session, side by
# side, as opened by `replay --branches`, and exports to a file.

REPLAY = "-m", "scalarviz", "replay"
ANY = 2**62  # bytes: the run was just written by this process


@final
class RunProcess:
    """A Python process that works on copies of sessions; it has drawn `done` of `total` pictures.

    Args:
        sessions: sessions, which are saved in a temporary folder as 0.safetensors and so on
        words: function that returns the arguments for Python, given the path of the folder

    `child` is None until `start` has saved the copies, and `total` is 0 until it is known.
    """

    def __init__(self, sessions: Sequence[Session], words: Callable[[str], Sequence[str]]) -> None:
        self.sessions, self.words = sessions, words
        self.done = self.total = 0
        self.began = monotonic()
        self.child: Any = None
        self._first = (0.0, 0)  # time and number of the first picture
        self._last_line = ""

    def start(self) -> None:
        """Save the sessions and start the process; raise InputError if they cannot be saved."""
        self.folder = TemporaryDirectory(ignore_cleanup_errors=True)
        try:
            for number, session in enumerate(self.sessions):
                run = Path(self.folder.name) / f"{number}.safetensors"
                with session.doing():
                    save_timeline(session.timeline, run)  # temporary file
        except ScalarvizError:
            self.folder.cleanup()
            raise
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        words = self.words(self.folder.name)
        child = processes.start(words, **streams, text=True, errors="replace")
        self._listener = threading.Thread(target=self._listen, args=(child.stdout,), daemon=True)
        self._listener.start()
        self.child = child  # set last: readers may wait for the listener

    def _listen(self, said: Iterable[str]) -> None:
        """Read the output of the process: its progress, or the reason for a failure."""
        for line in said:
            words = line.split()
            if len(words) == 2 and all(word.isdecimal() for word in words):
                if not self.total:
                    self._first = monotonic(), int(words[0])
                self.done, self.total = map(int, words)
            elif words:
                self._last_line = line.strip()

    @property
    def has_ended(self) -> bool:
        return self.child is not None and self.child.poll() is not None

    @property
    def seconds_left(self) -> float:
        """The estimated remaining time in seconds; 0.0 if it is unknown."""
        since, first = self._first
        if self.done <= first:
            return 0.0
        return (self.total - self.done) * (monotonic() - since) / (self.done - first)

    def failure(self) -> str:
        """Wait for the process; return the reason why it failed, or "" if it succeeded."""
        code = self.child.wait()
        self._listener.join()
        self.child.stdout.close()
        self.folder.cleanup()
        return (without_code(self._last_line) or text("exports.ended", code=code)) if code else ""

    def let_go(self) -> None:
        """Let the process continue without the interface; its temporary files are removed later."""
        processes.let_go(self.child)
        threading.Thread(target=self.failure, daemon=True).start()


def open_branches(controller: Controller) -> None:
    """Open another window that shows the latest branches of the session side by side."""
    session, theme = controller.session, controller.stage.look.theme
    if len(session.branches) == 1:
        return controller.tell(text("notices.one_branch"))
    more = "--branches", "--theme", theme, "--limit", str(ANY)
    window = RunProcess([session], lambda folder: [*REPLAY, f"{folder}/0.safetensors", *more])

    def opened(_: object) -> None:
        controller.branch_windows.append(window)
        controller.tell(text("notices.branch_window"))

    return controller.do(window.start, opened, branching=False)


def attend_branches(controller: Controller) -> None:
    """Report windows of `open_branches` that have failed."""
    for window in [each for each in controller.branch_windows if each.has_ended]:
        controller.branch_windows.remove(window)
        if why := window.failure():
            controller.tell(text("notices.no_branch_window", why=why))


# Exports: files drawn by such processes.

COMMAND = ("-m", "scalarviz.faces.controller.export")
KINDS = {"video": (".mp4", ".gif"), "page": (".html", ".htm")}  # suffixes of each kind
STANDARD_OUTPUT, STANDARD_ERROR = 1, 2  # file descriptors
FRAME = 0.05  # seconds between two checks of awaited processes


def is_page(path: Path) -> bool:
    """Return whether a file is a page, by its suffix."""
    return path.suffix.lower() in KINDS["page"]


def export_of(shows: Sequence[Show], stage: Stages, path: Path, pin: object = None) -> RunProcess:
    """Return a process that draws one or several Shows to a file, as they are displayed.

    Args:
        path: a video of the training so far, or a page that trains; a page shows one Show
        pin: the pinned item, in the form that `sv.record` accepts

    Raises:
        InputError: if the suffix is not supported, or if there are no steps for a video.
        EngineError: if a page cannot train the session.
        FileError: if the file cannot be written.
    """
    kind, sessions = path.suffix.lower(), [show.session for show in shows]
    pick({each: each for each in chain(*KINDS.values())}, kind, "kind of file")
    require(
        is_page(path) or last_step(sessions),
        "nothing to make a video of yet: play it first",
    )
    if is_page(path):
        from scalarviz.pages.page import trains  # slow to import

        trains(sessions[0])
    check_place(path)
    look: dict[str, Any] = {"theme": stage.look.theme}
    if not is_page(path):
        look = {
            **replace(stage.look, camera=stage.look.preset).unusual,
            "pin": pin,
            "past": stage.common.curve_view.past,
        }
    about = json.dumps({"titles": [show.title for show in shows], "look": look})
    return RunProcess(sessions, lambda folder: [*COMMAND, folder, str(path), about])


def last_step(sessions: Sequence[Session]) -> int:
    """Return the largest number of steps that the current branches of the sessions have."""
    return max(session.timeline.branch.end.step for session in sessions)


@final
class Exports:
    """All exports in progress.

    Attributes:
        failures: number of failed exports
        told: results of exports that ended after the interface was closed
        lasting: whether exports continue when the interface is closed
    """

    def __init__(self) -> None:
        self.failures = 0
        self.told: list[str] = []
        self.lasting = False
        # The output file of each; `start`, in another thread, may remove one: iterate over copies.
        self._all: dict[RunProcess, Path] = {}

    @property
    def going(self) -> list[str]:
        """The names of the files that are being written, or whose result was not reported yet."""
        return [path.name for path in [*self._all.values()]]

    @property
    def counts(self) -> tuple[int, int]:
        """The number of drawn pictures and their total; (0, 0) until all totals are known."""
        found = [*self._all]
        if not all(each.total for each in found):
            return 0, 0
        return sum(each.done for each in found), sum(each.total for each in found)

    @property
    def work(self) -> Work | None:
        """The files being written and their progress, for display in the picture; or None."""
        found = [*self._all]
        if not found:
            return None
        names, (done, total) = named(self.going), self.counts
        if not total:
            since = min(each.began for each in found)
            said = text("exports.begins", files=names, seconds=monotonic() - since)
            return Work(said, text("exports.cancel"), None)
        said = text("exports.pictures", files=names, done=done, total=total)
        if left := max(each.seconds_left for each in found):
            said = text("exports.left", counted=said, time=duration(left))
        return Work(said, text("exports.cancel"), done / total)

    def expect(self, process: RunProcess, path: Path) -> None:
        """Register a process that `start` will start later, so that it can already be cancelled."""
        self._all[process] = path

    def start(self, process: RunProcess) -> None:
        """Start a process unless it was cancelled; raise InputError if sessions cannot be saved."""
        if (path := self._all.get(process)) is None:
            return
        try:
            process.start()
        except ScalarvizError:
            self._all.pop(process, None)  # it may be cancelled
            raise
        if process not in self._all:  # cancelled meanwhile
            stopped(process, path)

    def results(self) -> dict[str, bool]:
        """Return the results of the exports that have ended since the last call.

        The keys are the results in one sentence each; the values state whether the export failed.
        """
        ended = {process: path for process, path in [*self._all.items()] if process.has_ended}
        for process in ended:
            del self._all[process]
        told = dict(result_of(process, path) for process, path in ended.items())
        self.failures += sum(told.values())
        return told

    def stop(self) -> list[str]:
        """Stop all exports; return their results in one sentence each."""
        everything, self._all = self._all, {}
        return [stopped(process, path) for process, path in everything.items()]

    def finish(self) -> int:
        """Wait with a progress bar until all files are written; return the exit code.

        Ctrl-C stops the exports.
        """
        with Stop() as stop, Progress(0, unit="pictures") as bar:
            while self.going and not stop.asked:
                done, bar.total = self.counts
                bar.tell(done)
                sleep(FRAME)
                self.told += self.results()
            self.told += self.stop()
        return stop.code

    def let_go(self) -> list[str]:
        """Let all exports continue without the interface; return the names of their files."""
        begun = [each for each in [*self._all] if each.child is not None]
        for each in begun:
            each.let_go()
        return [self._all.pop(each).name for each in begun]


def result_of(process: RunProcess, path: Path) -> tuple[str, bool]:
    """Return the result of an export in one sentence, and whether it failed."""
    if why := process.failure():
        return text("notices.not_made", file=path.name, why=why), True
    return text("notices.exported", path=path), False


def stopped(process: RunProcess, path: Path) -> str:
    """Stop an export without changing an existing file; return the result as a sentence."""
    if process.child is not None:
        ended = process.has_ended
        processes.end(process.child)
        said, failed = result_of(process, path)
        if ended or not failed:
            return said
    kept = "replaced" if path.exists() else "new"
    return text(f"notices.not_finished.{kept}", file=path.name)


def named(files: Sequence[str]) -> str:
    """Return the names of files as a list in words, such as "a.mp4 and b.mp4"."""
    *others, last = files or [""]
    return text("exports.and", most=", ".join(others), last=last) if others else last


def main(folder: str, path: str, about: str) -> None:
    """Draw the runs that are saved in a folder to a file, and print the progress."""
    from scalarviz.pages.page import page
    from scalarviz.stage.render import record  # slow to import

    told = json.loads(about)
    runs = [Path(folder) / f"{number}.safetensors" for number in range(len(told["titles"]))]
    # No limit: they were just written by this program.
    sessions = [Session.load(run, limit=ANY) for run in runs]
    shutil.rmtree(folder, ignore_errors=True)  # the parent process may have ended
    shows = [Show(each, title=title) for each, title in zip(sessions, told["titles"], strict=True)]
    if is_page(Path(path)):
        page(shows[0], path, progress=False, **told["look"])
    else:
        steps = last_step(sessions)
        for session in sessions:
            session.stops.are_ignored = True  # it may have continued afterwards
            session.seek(0)
        several = replace(Several.of(shows), replays=True)
        record(several, path, steps, progress=tell, **told["look"])


def tell(done: int, total: int) -> None:
    """Print the progress for the parent process; no error is raised if it has ended."""
    try:
        sys.stdout.write(f"{done} {total}\n")
        sys.stdout.flush()
    except OSError:
        silence = os.open(os.devnull, os.O_WRONLY)
        for stream in (STANDARD_OUTPUT, STANDARD_ERROR):
            os.dup2(silence, stream)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except ScalarvizError as error:
        sys.exit(str(error))
