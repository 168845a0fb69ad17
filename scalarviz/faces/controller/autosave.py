"""Keep: saves a session at the end, at intervals, and after errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import gettempdir
from time import monotonic
from typing import Any, final

import numpy as np

from scalarviz.base.checks import number, size
from scalarviz.base.limits import in_units
from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.errors import FileError, GradientError, InputError, ScalarvizError
from scalarviz.files.atomic import check_place
from scalarviz.files.checked_safetensors import as_own_path
from scalarviz.files.runs import check_saving
from scalarviz.training.session.branches import KEYFRAMES
from scalarviz.training.session.session import Session


@final
class Keep:
    """Saves a session to `path` at the end, and every `seconds` seconds (None: only at the end).

    With a `name`, a session stopped by Ctrl-C is saved even without a path: in the current folder,
    as NAME-stopped.safetensors, NAME-stopped-2.safetensors, ...

    keyframes  bytes of the keyframes in a file; None: those of `Session.save`
    weights    whether the network alone is saved

    Raises InputError for seconds or weights without a path, FileError for a path that nothing can
    be saved in.
    """

    def __init__(
        self,
        path: Path | None = None,
        seconds: float | None = None,
        name: str = "",
        *,
        keyframes: int | None = None,
        weights: bool = False,
    ) -> None:
        if weights and path is None:
            raise InputError("--weights needs a file: add --save net.safetensors")
        if weights and keyframes is not None:
            raise InputError("--weights saves no keyframes: leave out --keyframes or --weights")
        if seconds is not None:
            number(seconds, "the seconds of --autosave", 0.0, open_low=True)
            if path is None:
                raise InputError("--autosave needs a file: add --save run.safetensors")
        if path is not None:
            check_place(path)
        self.path = None if path is None else as_own_path(path, "run")
        self.seconds = seconds
        self.keyframes = KEYFRAMES if keyframes is None else size(keyframes, "--keyframes", 0)
        self.weights = weights
        self.name = name
        self._last = monotonic()

    def check(self, session: Session) -> None:
        """Raise an error if the session could not be saved at the end."""
        if self.path is not None:
            check_saving(session.timeline)

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return self.seconds is not None and monotonic() - self._last >= self.seconds

    def now_and_then(self, session: Session) -> None:
        """Save if it is time; where that fails it is said, and tried again as seldom."""
        if self.due:
            try:
                self.now(session)
            except FileError as error:
                say(text("saving.later", why=error))

    def now(self, session: Session) -> None:
        """Save at once; raises FileError where that fails."""
        if self.path is not None:
            try:
                self._saved(session, self.path)
            finally:
                self._last = monotonic()

    def _saved(
        self,
        session: Session,
        path: Path,
        how: str = "saved",
        **more: float,
    ) -> str:
        """Save in a file, "thinned" without keyframes of the past; return the text `how`.

        more  fields of that text
        """
        if self.weights:
            how = "weights"
            with session.doing():
                session.network.save(path)
        else:
            session.save(path, keyframes=0 if how == "thinned" else self.keyframes)
        return text(f"saving.{how}", path=path, size=in_units(path.stat().st_size), **more)

    @contextmanager
    def kept(self, session: Session) -> Iterator[None]:
        """Save after an error in this block, too.

        After an overflow, the session is saved where a smaller rate can continue, and the error
        says so. After another error it is saved only if there is a path.
        """
        first = session.step_index
        try:
            yield
        except GradientError as error:
            try:
                saved = self._save_before(session, error.back)
            except ScalarvizError as lack:
                saved = text("saving.nothing", why=lack)
            error.args = (error.lines[0], saved)
            raise
        except Exception:  # saved, then raised again
            if self.path is not None and session.step_index > first:
                say(self.at_end(session, True))
            raise

    def _save_before(self, session: Session, back: int | None) -> str:
        """Go back to where a smaller rate can continue, and save; return how to resume."""
        rate = session.learning_rate / 10.0
        if back is not None:
            session.seek(back)
        path = self._place(session, True)
        if path is None:
            return text("saving.begin_again", rate=rate)
        return self._saved(session, path, "saved_before", step=session.step_index, rate=rate)

    def _place(self, session: Session, stopped: bool) -> Path | None:
        """Return the file to save in at the end; None if there is none."""
        if self.path is None and stopped and self.name and session.step_index:
            return unused(f"{self.name}-stopped")
        return self.path

    def at_end(self, session: Session, stopped: bool) -> str:
        """Save, and return where, or how to save next time.

        A session whose loss is not finite is first taken back to its smallest loss.
        """
        path = self._place(session, stopped)
        try:
            if lost_since(session) is not None:
                return self._save_before(session, step_of_smallest_loss(session))
            if path is not None:
                return self._saved(session, path)
        except ScalarvizError as error:
            if self.path is not None:
                error.args = (*error.lines, *self._saved_elsewhere(session))
                raise
            return text("saving.nothing", why=error)
        return text("saving.how") if stopped else ""

    def _saved_elsewhere(self, session: Session) -> list[str]:
        """Save a session that its path does not take elsewhere; return how to resume, if at all.

        What is too large for all places is saved without the keyframes of its past.
        """
        for how in ("saved", "thinned"):
            for folder in (Path.cwd, gettempdir):
                with suppress(ScalarvizError, OSError):
                    path = unused(Path(folder(), f"{self.name or 'training'}-kept"))
                    return [self._saved(session, path, how)]
        return []


def keep_of(given: Mapping[str, Any], name: str = "") -> Keep:
    """Return where a training is saved, by options of the command line.

    given  save and autosave; resume, keyframes and weights if there are these
    """
    seconds, weights = given["autosave"], given.get("weights", False)
    path = given["save"] or (given.get("resume") if seconds and not weights else None)
    return Keep(path, seconds, name, keyframes=given.get("keyframes"), weights=weights)


def lost_since(session: Session) -> int | None:
    """Return the step, from 0, since which the loss is not finite; None if the last one is."""
    here = session.timeline.here
    last = here.branch.losses_between(max(here.clock.step - 1, 0), here.clock.step)
    if np.isfinite(last).all():  # found without an array of all losses
        return None
    finite = np.isfinite(session.losses)
    return int(np.flatnonzero(finite)[-1]) + 1 if finite.any() else 0


def step_of_smallest_loss(session: Session) -> int:
    """Return the step, from 0, with the smallest loss; 0 if none was finite."""
    losses = session.losses
    return int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))


def unused(stem: str | Path) -> Path:
    """Return a file name, by default in the current folder, that does not exist yet."""
    names = (Path(f"{stem}{'' if i == 1 else f'-{i}'}.safetensors") for i in count(1))
    return next(path for path in names if not path.exists())
