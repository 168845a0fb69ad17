"""A session in a page, without the page: its engine, run by Node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import scalarviz as sv
from scalarviz.checks.numbers import FloatArray
from scalarviz.pages.engine_data import engine_data
from tests.pages.node import run_script

SCRIPT = Path(__file__).with_name("in_page.mjs")


class InPage:
    """The engine of a session in a page.

    session  the Session, as it stands
    folder   an empty folder
    probe    inputs to which the page shows the answers
    """

    def __init__(self, session: sv.Session, folder: Path, probe: FloatArray | None = None) -> None:
        self.folder = folder
        self.data = engine_data(session, probe)
        for name in ("module", "image"):
            (folder / name).write_bytes(getattr(self.data, name))
        (folder / "spec.json").write_text(json.dumps(self.data.spec))

    def run(self, body: str) -> Any:
        """Return what the body of a function of JavaScript returns; it uses `engine` and `spec`."""
        return run_script(SCRIPT, str(self.folder), given=body)
