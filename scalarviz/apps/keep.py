"""Keep: where a session is saved, at the end and now and then."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic
from typing import final

from scalarviz.checks import number
from scalarviz.errors import FileError, InputError
from scalarviz.files.runs import check_saving
from scalarviz.session import Session


@final
class Keep:
    """Saves a session to `path` at the end, and every `seconds` seconds; None: not at all."""

    def __init__(self, path: Path | None = None, seconds: float | None = None) -> None:
        if seconds is not None:
            number(seconds, "the seconds of --autosave", 0.0, open_low=True)
            if path is None:
                raise InputError("--autosave needs a file: add --save run.safetensors")
        if path is not None and not path.absolute().parent.is_dir():
            raise FileError(f"there is no folder {str(path.parent)!r} to save in: make it first")
        if path is not None and path.is_dir():
            raise FileError(f"{str(path)!r} is a folder: pass the name of a file in it")
        self.path = path
        self.seconds = seconds
        self._last = monotonic()

    def check(self, session: Session) -> None:
        """Refuse what could not be saved at the end, before anything is trained."""
        if self.path is None:
            return
        check_saving(session.course)
        try:
            with TemporaryFile(dir=self.path.absolute().parent):
                pass
        except OSError as error:
            raise FileError(
                f"nothing can be saved in {str(self.path.parent)!r} ({error.strerror}): choose "
                "another folder"
            ) from error

    def now_and_then(self, session: Session) -> None:
        """Save if it is time."""
        if self.path is None or self.seconds is None or monotonic() - self._last < self.seconds:
            return
        session.save(self.path)
        self._last = monotonic()

    def at_end(self, session: Session, stopped: bool) -> str:
        """Save, and say where; or how one could have."""
        if self.path is not None:
            session.save(self.path)
            return f"Saved to {self.path}; --resume {self.path} goes on from there."
        return "Nothing was saved: --save run.safetensors keeps it." if stopped else ""
