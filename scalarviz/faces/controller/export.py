"""Files, scenes and links that a face opens and writes; exports drawn by other processes.

    python -m scalarviz.faces.controller.export FOLDER OUT.mp4 '{"what": "video", ...}'

draws a video or a page while training continues. The folder has a saved run for each session,
0.safetensors and so on; the process removes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
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
from scalarviz.faces.controller.precompile import computes, kinds_of_run
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


# Files: trainings, networks, pictures to learn, exports.


@computes
def drop(controller: Controller, path: str | Path) -> None:
    """Open a dropped file: a picture to learn, or a saved training."""
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
    """Load a training from a file, as soon as its kernels are compiled."""
    controller.do(partial(kinds_of_run, path), partial(open_with, controller, path))


def open_with(controller: Controller, path: str | Path, kinds: list[str]) -> None:
    """Load a training that needs these kinds of kernels."""
    for kind in kinds:
        if controller.warming.later("load", kind, partial(open_run, controller, path)):
            return controller.tell(text("notices.opens_later", file=Path(path).name))

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
    return controller.do(partial(Session.load, path), begin, said=said)


@computes
def save(controller: Controller, path: str | Path) -> None:
    """Save the session, though the window is closed meanwhile."""
    controller.do(
        partial(controller.session.save, path),
        lambda _: controller.tell(text("notices.saved", path=path)),
        kept=True,
        said=text("notices.saving", file=Path(path).name),
    )


@computes
def save_network(controller: Controller, path: str | Path) -> None:
    """Save the network as it is now; the ending of the path says how."""
    session = controller.session

    def act() -> None:
        network = check_saving(session.timeline)
        with session.doing():
            network.save(path)

    controller.do(act, lambda _: controller.tell(text("notices.saved", path=path)), kept=True)


def export_to(face: Face, path: str | Path, what: str = "") -> None:
    """Draw it into a file in the background, all sessions side by side; see `export_of`.

    A page, or a step as one, is of the chosen session.
    """
    controller = face.lead
    panes = [controller] if what in ("step", "page") else face.panes
    if controller.time.waits():
        return
    shows = [pane.show for pane in panes]
    pin: Any = [pane.stage.pinned_part for pane in panes]
    if len(panes) > 1:
        shows = [replace(show, title=name) for show, name in zip(shows, face.names, strict=True)]
    else:
        (pin,) = pin
    with reporting_errors(controller):
        export = export_of(shows, face.stage, Path(path), what, pin)
        controller.exports.expect(export)
        controller.do(partial(controller.exports.start, export), kept=True)


# The menu of scenes: another scene is opened in place of the training that is shown.

TAKEN_OVER = ("engine",)  # options that another scene takes over if they were given


@cache
def entries() -> dict[str, str]:
    """Return the scenes of the package: how a menu names each, and its name."""
    found = scenes().items()
    return {text("scenes.entry", name=name, about=about(path)): name for name, path in found}


def entry_of(name: str) -> str:
    """Return how the menu names a scene; "" for none of the package."""
    return next((entry for entry, each in entries().items() if each == name), "")


def choose_scene(controller: Controller, entry: str) -> None:
    """Open the scene of an entry of the menu."""
    if entry in entries():
        open_scene(controller, entries()[entry])


def open_scene(controller: Controller, name: str) -> None:
    """Open a scene of the package and play it; Undo leads back to the training before."""
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
    """Return a scene's show with its options, made anew."""
    recipe = Recipe(load(find(name)), given)
    return Options(recipe, recipe.make({}), elsewhere=True)


# Links: the present moment as a text that `scalarviz open` follows.


def copy_link(controller: Controller) -> None:
    """Put a link to this moment on the clipboard, and say so."""
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
    """Return the link to the present moment of a session.

    recipe  how the session was made, if it is that of a scene
    pinned  the row of a weight, or a neuron

    Raises InputError for a session that neither a scene nor a file leads to.
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
            "a link leads to a scene as it comes, or to a file, and this training "
            f"{'was changed' if was_changed else 'is neither'}: save it first"
        )
    here = session.clock
    left = timeline.branch.actions_at(here.place)[here.actions :]
    require(
        not any(action.kind != "engine" for action in left),
        "a link leads past the changes that were made at this very moment, which are not done "
        "yet: go back or on by an operation first",
    )
    return link_to(session, str(kept.path), None, pinned)


# Processes of our own that read copies of sessions: a window with the branches of a training, side
# by side, as `replay --branches` opens, and exports, which draw into a file.

REPLAY = "-m", "scalarviz", "replay"
ANY = 2**62  # bytes: our own process has just written a run


@final
class RunProcess:
    """A process of Python with copies of sessions; `done` of `total` pictures are drawn.

    sessions  saved in a temporary folder as 0.safetensors and so on
    words     returns the arguments of Python, given the path of the folder

    `total` is 0 while nobody knows it.
    """

    def __init__(self, sessions: Sequence[Session], words: Callable[[str], Sequence[str]]) -> None:
        self.done = self.total = 0
        self.began = monotonic()
        self._first = (0.0, 0)  # time and number of the first picture
        self.folder = TemporaryDirectory(ignore_cleanup_errors=True)
        try:
            for number, session in enumerate(sessions):
                run = Path(self.folder.name) / f"{number}.safetensors"
                with session.doing():
                    save_timeline(session.timeline, run)  # a file that is gone soon
        except ScalarvizError:
            self.folder.cleanup()
            raise
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.child = processes.start(
            words(self.folder.name), **streams, text=True, errors="replace"
        )
        self._last_line = ""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Read how far the process is; what else it says last is why it failed."""
        for line in self.child.stdout:
            words = line.split()
            if len(words) == 2 and all(word.isdecimal() for word in words):
                if not self.total:
                    self._first = monotonic(), int(words[0])
                self.done, self.total = map(int, words)
            elif words:
                self._last_line = line.strip()

    @property
    def goes_on(self) -> bool:
        return self.child.poll() is None

    @property
    def seconds_left(self) -> float:
        """How long the rest will take if it goes on as before; 0.0 if nobody knows."""
        since, first = self._first
        if self.done <= first:
            return 0.0
        return (self.total - self.done) * (monotonic() - since) / (self.done - first)

    def failure(self) -> str:
        """Wait for its end and return why it has failed; "" if it has not."""
        code = self.child.wait()
        self._listener.join()
        self.child.stdout.close()
        self.folder.cleanup()
        return (without_code(self._last_line) or text("exports.ended", code=code)) if code else ""

    def let_go(self) -> None:
        """Let it continue alone; its temporary files are removed when it ends."""
        processes.let_go(self.child)
        threading.Thread(target=self.failure, daemon=True).start()


@final
class BranchWindows:
    """The windows with branches that are open; each ends with this process."""

    def __init__(self) -> None:
        self._open: list[RunProcess] = []

    def open(self, session: Session, theme: str) -> None:
        """Open a window with the newest branches of a session, as they are now."""
        more = "--branches", "--theme", theme, "--limit", str(ANY)

        def words(folder: str) -> Sequence[str]:
            return [*REPLAY, f"{folder}/0.safetensors", *more]

        self._open.append(RunProcess([session], words))

    def failures(self) -> list[str]:
        """Return why windows have failed since the last call."""
        ended = [each for each in self._open if not each.goes_on]
        self._open = [each for each in self._open if each not in ended]
        reasons = filter(None, (each.failure() for each in ended))
        return [text("notices.no_branch_window", why=why) for why in reasons]


def open_branches(controller: Controller) -> None:
    """Open a window with the branches side by side."""
    if len(controller.session.branches) == 1:
        return controller.tell(text("notices.one_branch"))
    return controller.do(
        partial(controller.branch_windows.open, controller.session, controller.stage.look.theme),
        lambda _: controller.tell(text("notices.branch_window")),
        branching=False,
    )


# Exports: files that such processes draw.

COMMAND = ("-m", "scalarviz.faces.controller.export")
HTML = (".html", ".htm")
KINDS = {"video": (".mp4", ".gif"), "step": HTML, "page": HTML}  # endings of what can be made
STANDARD_OUTPUT, STANDARD_ERROR = 1, 2  # file descriptors
FRAME = 0.05  # seconds between two looks at processes that are waited for


@final
@dataclass(eq=False)
class Export:
    """A file that a process draws of sessions; `about` says as JSON what, and how it looks.

    process  None until copies of the sessions are saved
    failed   whether it has ended without the file
    """

    sessions: Sequence[Session]
    path: Path
    about: str
    process: RunProcess | None = None
    failed: bool = False
    _replaces: bool = False

    def begin(self) -> None:
        """Save the sessions and start the process; raise InputError if they cannot be saved."""
        self._replaces = self.path.exists()
        more = str(self.path), self.about
        self.process = RunProcess(self.sessions, lambda folder: [*COMMAND, folder, *more])

    def result(self, process: RunProcess) -> str:
        """Return the result in one sentence; a failure leaves an existing file as it was."""
        why = process.failure()
        self.failed = bool(why)
        if not why:
            return text("notices.exported", path=self.path)
        return text("notices.not_made", file=self.path.name, why=why)

    def stop(self) -> str:
        """End the process; return the result in a sentence."""
        if self.process is not None:
            ended = not self.process.goes_on
            processes.end(self.process.child)
            told = self.result(self.process)
            if ended or not self.failed:
                return told
        kept = "replaced" if self._replaces else "new"
        return text(f"notices.not_finished.{kept}", file=self.path.name)


def export_of(
    shows: Sequence[Show], stage: Stages, path: Path, what: str = "", pin: object = None
) -> Export:
    """Return the export that draws a show as it is seen, or several side by side.

    what  "video": the history so far, as a video; "step": the next step, as a page; "page": a page
          that trains; "": a video or the next step, by the ending of the path; several shows have
          videos only
    pin   what is pinned, as `sv.record` takes it

    Raises InputError for another ending, or if there are no steps for a video, EngineError for a
    session that no page can have, FileError if nothing can be written there.
    """
    kind, sessions = path.suffix.lower(), [show.session for show in shows]
    if not what:
        pick({each: each for each in (*KINDS["video"], *HTML)}, kind, "kind of file")
        what = "video" if kind in KINDS["video"] else "step"
    pick({each: each for each in KINDS[what]}, kind, "kind of file")
    require(
        what != "video" or last_step(sessions),
        "there is nothing to make a video of yet: let it play first",
    )
    if what == "page":
        from scalarviz.pages.page import trains  # slow to import

        trains(sessions[0])
    check_place(path)
    look: dict[str, Any] = {"theme": stage.look.theme}
    if what != "page":
        look = {
            **replace(stage.look, camera=stage.look.preset).unusual,
            "pin": pin,
            "past": stage.common.curve_view.past,
        }
    about = {"what": what, "titles": [show.title for show in shows], "look": look}
    return Export(sessions, path, json.dumps(about))


def last_step(sessions: Sequence[Session]) -> int:
    """Return the last step that one of the sessions has come to, on its branch."""
    return max(session.timeline.branch.end.step for session in sessions)


@final
class Exports:
    """All exports in progress.

    failures  number of failed exports
    told      results of those that ended after the face was closed
    lasting   whether they go on when the face is closed
    """

    def __init__(self) -> None:
        self.failures = 0
        self.told: list[str] = []
        self.lasting = False
        self._all: list[Export] = []

    @property
    def going(self) -> list[str]:
        """Names of the files being written, or whose result is not known yet."""
        return [each.path.name for each in self._all]

    @property
    def _processes(self) -> list[RunProcess]:
        return [each.process for each in self._all if each.process is not None]

    @property
    def counts(self) -> tuple[int, int]:
        """Number of pictures drawn, and of all; 0 of 0 while one of the numbers is not known."""
        found = self._processes
        if len(found) < len(self._all) or not all(each.total for each in found):
            return 0, 0
        return sum(each.done for each in found), sum(each.total for each in found)

    @property
    def said(self) -> str:
        """What is being written, and how far it is; "" for nothing."""
        names, found = named(self.going), self._processes
        done, total = self.counts
        if not total:
            since = min((each.began for each in found), default=monotonic())
            return names and text("exports.begins", files=names, seconds=monotonic() - since)
        left = max(each.seconds_left for each in found)
        counted = text("exports.pictures", files=names, done=done, total=total)
        return text("exports.left", counted=counted, time=duration(left)) if left else counted

    @property
    def work(self) -> Work | None:
        """What a picture shows of it."""
        said, (done, total) = self.said, self.counts
        return Work(said, text("exports.cancel"), done / total if total else None) if said else None

    def expect(self, export: Export) -> None:
        """Note what `start` will be called with; until then it can be cancelled."""
        self._all.append(export)

    def start(self, export: Export) -> None:
        """Begin to draw, unless that was cancelled; raise InputError if it cannot be saved."""
        try:
            if export in self._all:
                export.begin()
        except ScalarvizError:
            with suppress(ValueError):  # it may be cancelled
                self._all.remove(export)
            raise
        if export not in self._all and export.process is not None:  # cancelled meanwhile
            export.stop()

    def results(self) -> dict[str, bool]:
        """Return the results of the exports that have ended since the last call.

        These are sentences, and whether the export failed.
        """
        told: dict[str, bool] = {}
        for export in [*self._all]:
            if export.process is not None and not export.process.goes_on:
                self._all.remove(export)
                told |= {export.result(export.process): export.failed}
        self.failures += sum(told.values())
        return told

    def stop(self) -> list[str]:
        """End all exports; return the results."""
        everything, self._all = self._all, []
        return [each.stop() for each in everything]

    def finish(self) -> int:
        """Wait until all are written, with a bar in a terminal; return the exit code.

        Ctrl-C ends them instead.
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
        """Let all exports continue alone; return the names of their files."""
        begun = [each for each in self._all if each.process is not None]
        for process in self._processes:
            process.let_go()
        self._all = [each for each in self._all if each not in begun]
        return [each.path.name for each in begun]


def named(files: Sequence[str]) -> str:
    """Return the names of files as a part of a sentence."""
    *others, last = files or [""]
    return text("exports.and", most=", ".join(others), last=last) if others else last


def main(folder: str, path: str, about: str) -> None:
    """Draw the saved runs of a folder into a file, and print how far it is."""
    from scalarviz.pages.page import page
    from scalarviz.stage.render import (
        record,  # slow to import
        storyboard,  # slow to import
    )

    told = json.loads(about)
    runs = [Path(folder) / f"{number}.safetensors" for number in range(len(told["titles"]))]
    # No limit: our own process has just written them.
    sessions = [Session.load(run, limit=ANY) for run in runs]
    shutil.rmtree(folder, ignore_errors=True)  # the process that wrote it may have ended
    shows = [Show(each, title=title) for each, title in zip(sessions, told["titles"], strict=True)]
    if told["what"] == "video":
        steps = last_step(sessions)
        for session in sessions:
            session.stops.are_ignored = True  # it may have gone on afterwards
            session.seek(0)
        several = replace(Several.of(shows), replays=True)
        record(several, path, steps, progress=tell, **told["look"])
    elif told["what"] == "step":
        storyboard(shows[0], path, progress=tell, **told["look"])
    else:
        page(shows[0], path, progress=False, **told["look"])


def tell(done: int, total: int) -> None:
    """Print how many pictures are drawn, for the process that waits; it may have ended."""
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
