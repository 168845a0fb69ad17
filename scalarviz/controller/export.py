"""Exports of videos and pages, drawn by another process while training continues.

python -m scalarviz.controller.export RUN.safetensors OUT.mp4 '{"title": "...", "look": {...}}'
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, final

from scalarviz.controller.clicks import without_code
from scalarviz.controller.picture import PictureProtocol
from scalarviz.errors import InputError, ScalarvizError
from scalarviz.export.render import record, storyboard
from scalarviz.formulas.table import pick
from scalarviz.presenter.show import Show
from scalarviz.process import children
from scalarviz.session.session import Session
from scalarviz.texts import text

COMMAND = ("-m", "scalarviz.controller.export")
VIDEOS = (".mp4", ".gif")
ANY = 2**62  # bytes
PAGES = (".html", ".htm")


@final
class Export:
    """A process that draws a run into a file."""

    def __init__(self, session: Session, path: Path, about: dict[str, Any]) -> None:
        self.path = path
        self.failed = False
        self._replaces = path.exists()
        self._folder = TemporaryDirectory(ignore_cleanup_errors=True)
        run = Path(self._folder.name) / "run.safetensors"
        try:
            session.save(run)
        except ScalarvizError:
            self._folder.cleanup()
            raise
        words = [*COMMAND, str(run), str(path), json.dumps(about)]
        self._child = children.start(words, stderr=subprocess.PIPE, text=True)

    @property
    def goes_on(self) -> bool:
        return self._child.poll() is None

    def result(self) -> str:
        """Return the result in one sentence; a failure leaves an existing file as it was."""
        _, said = self._child.communicate()
        self._folder.cleanup()
        self.failed = self._child.returncode != 0
        if not self.failed:
            return text("notices.exported", path=self.path)
        why = without_code((said.strip().splitlines() or ["?"])[-1])
        return text("notices.not_made", file=self.path.name, why=why)

    def stop(self) -> str:
        """End the process; return the result in a sentence."""
        ended = not self.goes_on
        children.end(self._child)
        told = self.result()
        if ended or not self.failed:
            return told
        kept = "replaced" if self._replaces else "new"
        return text(f"notices.not_finished.{kept}", file=self.path.name)

    def let_go(self) -> None:
        """Let the process continue alone; its temporary files are removed when it ends."""
        children.let_go(self._child)
        threading.Thread(target=self.result, daemon=True).start()


@final
class Exports:
    """All exports in progress.

    failures  number of failed exports
    told      results of the stopped ones
    """

    def __init__(self) -> None:
        self.failures = 0
        self.told: list[str] = []
        self._made: list[Export] = []

    @property
    def going(self) -> list[str]:
        """Names of the files being written."""
        return [export.path.name for export in self._made if export.goes_on]

    def start(self, show: Show, stage: PictureProtocol, path: Path) -> None:
        """Draw the history into a video, or the next step into a page.

        Raise InputError for another suffix, or if there are no steps for a video.
        """
        kind = path.suffix.lower()
        pick({each: each for each in (*VIDEOS, *PAGES)}, kind, "kind of file")
        if kind in VIDEOS and show.session.timeline.branch.end.step == 0:
            raise InputError("there is nothing to make a video of yet: let it play first")
        pinned = stage.pinned if stage.pinned_neuron is None else stage.pinned_neuron
        look = {"theme": stage.theme, "layout": stage.layout, "per_layer": stage.per_layer}
        look |= {"color": stage.color, "cubes": stage.size, "pin": pinned}
        names = "neuron_maps", "test_points", "discrete"
        look |= {name: getattr(stage, name) for name in names}
        self._made.append(Export(show.session, path, {"title": show.title, "look": look}))

    def results(self) -> list[str]:
        """Return the results of the exports that have ended since the last call."""
        ended = [export for export in self._made if not export.goes_on]
        self._made = [export for export in self._made if export not in ended]
        told = [export.result() for export in ended]
        self.failures += sum(export.failed for export in ended)
        return told

    def stop(self) -> None:
        """End all exports."""
        self.told += [export.stop() for export in self._made]
        self._made.clear()

    def let_go(self) -> list[str]:
        """Let all exports continue alone; return the names of their files."""
        going = self.going
        for export in self._made:
            export.let_go()
        self._made.clear()
        return going


def main(run: str, path: str, about: str) -> None:
    """Draw a saved run into a file."""
    told = json.loads(about)
    session = Session.load(run, limit=ANY)  # no limit: our own process has just written it
    shutil.rmtree(Path(run).parent, ignore_errors=True)  # the process that wrote it may have ended
    show = Show(session, title=told["title"])
    if Path(path).suffix.lower() in VIDEOS:
        steps = session.timeline.branch.end.step
        session.seek(0)
        record(show, path, steps, progress=False, **told["look"])
    else:
        storyboard(show, path, **told["look"])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except ScalarvizError as error:
        sys.exit(str(error))
