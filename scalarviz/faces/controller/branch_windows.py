"""A window of its own for the branches of a training, side by side, as `replay --branches` opens.

It belongs to another process, which has a copy of the training, and ends with this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any, final

from scalarviz.base import processes
from scalarviz.base.texts import text
from scalarviz.faces.controller.clicks import without_code
from scalarviz.faces.controller.export import ANY
from scalarviz.files.runs import save_timeline
from scalarviz.training.session.session import Session

if TYPE_CHECKING:
    from scalarviz.faces.controller.controller import Controller

COMMAND = "-m", "scalarviz", "replay"
RUN, SAID = "run.safetensors", "said.txt"


@final
@dataclass(frozen=True)
class BranchWindow:
    """A process with a window, and the folder of what it was given and of what it says."""

    child: Any
    folder: TemporaryDirectory[str]

    def failure(self) -> str:
        """Return why it has failed, in a sentence; "" if it was closed."""
        with (Path(self.folder.name) / SAID).open(encoding="utf-8", errors="replace") as said:
            lines = [line.strip() for line in said if line.strip()]
        self.folder.cleanup()
        code = self.child.wait()
        if not code:
            return ""
        why = without_code(lines[-1] if lines else "") or text("exports.ended", code=code)
        return text("notices.no_branch_window", why=why)


@final
class BranchWindows:
    """The windows with branches that are open."""

    def __init__(self) -> None:
        self._open: list[BranchWindow] = []

    def open(self, session: Session, theme: str) -> None:
        """Open a window with the newest branches of a session, as they are now."""
        folder = TemporaryDirectory(ignore_cleanup_errors=True)
        run = Path(folder.name) / RUN
        with session.doing():
            save_timeline(session.timeline, run)  # a file that is gone soon
        words = [*COMMAND, str(run), "--branches", "--theme", theme]
        words += ["--limit", str(ANY)]  # our own process has just written it
        with (Path(folder.name) / SAID).open("w", encoding="utf-8") as said:
            streams: dict[str, IO[str]] = {"stdout": said, "stderr": said}
            self._open.append(BranchWindow(processes.start(words, **streams), folder))

    def failures(self) -> list[str]:
        """Return why windows have failed since the last call."""
        ended = [each for each in self._open if each.child.poll() is not None]
        self._open = [each for each in self._open if each not in ended]
        return [why for each in ended if (why := each.failure())]


def open_branches(controller: Controller) -> None:
    """Open a window with the branches side by side."""
    if len(controller.session.branches) == 1:
        return controller.tell(text("notices.one_branch"))
    return controller.do(
        partial(controller.branch_windows.open, controller.session, controller.stage.theme),
        lambda _: controller.tell(text("notices.branch_window")),
        branching=False,
    )
