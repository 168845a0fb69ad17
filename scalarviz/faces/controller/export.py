"""Exports of videos and pages, drawn by another process while training continues.

python -m scalarviz.faces.controller.export FOLDER OUT.mp4 '{"what": "video", ...}'

The folder has a saved run for each session, 0.safetensors and so on; the process removes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, final

from scalarviz.base import processes
from scalarviz.base.interrupt import Stop
from scalarviz.base.progress import Progress, duration
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.faces.controller.clicks import without_code
from scalarviz.files.atomic import check_place
from scalarviz.files.runs import save_timeline
from scalarviz.scene.frame_data import Work
from scalarviz.stage.show import Several, Show
from scalarviz.stage.side_by_side import AnyStage
from scalarviz.training.session.session import Session

COMMAND = ("-m", "scalarviz.faces.controller.export")
HTML = (".html", ".htm")
KINDS = {"video": (".mp4", ".gif"), "step": HTML, "page": HTML}  # endings of what can be made
ANY = 2**62  # bytes
STANDARD_OUTPUT, STANDARD_ERROR = 1, 2  # file descriptors
FRAME = 0.05  # seconds between two looks at processes that are waited for


@final
@dataclass(frozen=True)
class Task:
    """What is to be drawn: a session, or several, the file, and the look as JSON."""

    sessions: Sequence[Session]
    path: Path
    about: str


def task_of(
    shows: Sequence[Show], stage: AnyStage, path: Path, what: str = "", pin: object = None
) -> Task:
    """Return the task to draw a show as it is seen, or several side by side.

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
    if what == "video" and not last_step(sessions):
        raise InputError("there is nothing to make a video of yet: let it play first")
    if what == "page":
        from scalarviz.pages.page import trains  # slow to import

        trains(sessions[0])
    check_place(path)
    look: dict[str, Any] = {"theme": stage.theme}
    if what != "page":
        look |= {"per_layer": stage.per_layer, "pin": pin}
        look |= {"color": stage.color, "cubes": stage.size, "past": stage.curve_view.past}
        names = "neuron_maps", "test_points", "discrete"
        look |= {name: getattr(stage, name) for name in names}
    about = {"what": what, "titles": [show.title for show in shows], "look": look}
    return Task(sessions, path, json.dumps(about))


def last_step(sessions: Sequence[Session]) -> int:
    """Return the last step that one of the sessions has come to, on its branch."""
    return max(session.timeline.branch.end.step for session in sessions)


@final
class Export:
    """A process that draws a run into a file; `done` of `total` pictures are drawn.

    `total` is 0 while nobody knows it.
    """

    def __init__(self, task: Task) -> None:
        self.path = task.path
        self.failed = False
        self.done = self.total = 0
        self.began = monotonic()
        self._first = (0.0, 0)  # time and number of the first picture
        self._replaces = task.path.exists()
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        try:
            for number, session in enumerate(task.sessions):
                run = Path(self._folder.name) / f"{number}.safetensors"
                with session.doing():
                    save_timeline(session.timeline, run)  # a file that is gone soon
        except ScalarvizError:
            self._folder.cleanup()
            raise
        words = [*COMMAND, self._folder.name, str(task.path), task.about]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self._child = processes.start(words, **streams, text=True)
        self._last_line = ""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        """Read how far the process is; what else it says last is why it failed."""
        for line in self._child.stdout:
            words = line.split()
            if len(words) == 2 and all(word.isdecimal() for word in words):
                if not self.total:
                    self._first = monotonic(), int(words[0])
                self.done, self.total = map(int, words)
            elif words:
                self._last_line = line.strip()

    @property
    def goes_on(self) -> bool:
        return self._child.poll() is None

    @property
    def seconds_left(self) -> float:
        """How long the rest will take if it goes on as before; 0.0 if nobody knows."""
        since, first = self._first
        if self.done <= first:
            return 0.0
        return (self.total - self.done) * (monotonic() - since) / (self.done - first)

    def result(self) -> str:
        """Return the result in one sentence; a failure leaves an existing file as it was."""
        self._child.wait()
        self._listener.join()
        self._child.stdout.close()
        self._folder.cleanup()
        self.failed = self._child.returncode != 0
        if not self.failed:
            return text("notices.exported", path=self.path)
        why = without_code(self._last_line) or text("exports.ended", code=self._child.returncode)
        return text("notices.not_made", file=self.path.name, why=why)

    def stop(self) -> str:
        """End the process; return the result in a sentence."""
        ended = not self.goes_on
        processes.end(self._child)
        told = self.result()
        if ended or not self.failed:
            return told
        kept = "replaced" if self._replaces else "new"
        return text(f"notices.not_finished.{kept}", file=self.path.name)

    def let_go(self) -> None:
        """Let the process continue alone; its temporary files are removed when it ends."""
        processes.let_go(self._child)
        threading.Thread(target=self.result, daemon=True).start()


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
        self._made: list[Export] = []
        self._coming: list[Task] = []  # whose runs are not saved yet
        self._lock = threading.Lock()

    @property
    def going(self) -> list[str]:
        """Names of the files being written, or whose result is not known yet."""
        made, coming = [each.path.name for each in self._made], self._coming
        return [*made, *(each.path.name for each in coming)]

    @property
    def counts(self) -> tuple[int, int]:
        """Number of pictures drawn, and of all; 0 of 0 while one of the numbers is not known."""
        made = self._made
        if self._coming or not all(each.total for each in made):
            return 0, 0
        return sum(each.done for each in made), sum(each.total for each in made)

    @property
    def said(self) -> str:
        """What is being written, and how far it is; "" for nothing."""
        names, made = named(self.going), self._made
        done, total = self.counts
        if not total:
            since = min((each.began for each in made), default=monotonic())
            return names and text("exports.begins", files=names, seconds=monotonic() - since)
        left = max(each.seconds_left for each in made)
        counted = text("exports.pictures", files=names, done=done, total=total)
        return text("exports.left", counted=counted, time=duration(left)) if left else counted

    @property
    def work(self) -> Work | None:
        """What a picture shows of it."""
        said, (done, total) = self.said, self.counts
        return Work(said, text("exports.cancel"), done / total if total else None) if said else None

    def expect(self, task: Task) -> None:
        """Note a task that `start` will be called with; until then it can be cancelled."""
        self._coming.append(task)

    def start(self, task: Task) -> None:
        """Begin to draw, unless the task was cancelled; raise InputError if it cannot be saved."""
        try:
            made = Export(task) if task in self._coming else None
        except ScalarvizError:
            self._remove(task)
            raise
        with self._lock:
            if made is not None and task in self._coming:
                self._coming.remove(task)
                self._made.append(made)
            elif made is not None:
                made.stop()

    def _remove(self, task: Task) -> None:
        with self._lock, suppress(ValueError):
            self._coming.remove(task)

    def results(self) -> dict[str, bool]:
        """Return the results of the exports that have ended since the last call.

        These are sentences, and whether the export failed.
        """
        ended = [export for export in self._made if not export.goes_on]
        self._made = [export for export in self._made if export not in ended]
        told = {export.result(): export.failed for export in ended}
        self.failures += sum(told.values())
        return told

    def stop(self) -> list[str]:
        """End all exports; return the results."""
        with self._lock:
            coming, self._coming = self._coming, []
            made, self._made = self._made, []
        files = [each.path.name for each in coming]
        return [
            *(each.stop() for each in made),
            *(text("notices.not_finished.new", file=file) for file in files),
        ]

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
        made, self._made = self._made, []
        for export in made:
            export.let_go()
        return [export.path.name for export in made]


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
        several = Several.of(shows)
        assert several is not None, "a list is several"
        record(replace(several, replays=True), path, steps, progress=tell, **told["look"])
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
