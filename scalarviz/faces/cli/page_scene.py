"""`scalarviz page`: a scene becomes a web page that trains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.faces.controller.autosave import Keep
from scalarviz.faces.terminal.train import train
from scalarviz.files.atomic import check_place, replace_file
from scalarviz.pages.page import STEPS, check_name, page_of, trains
from scalarviz.scene.canvas.palette import THEMES
from scalarviz.stage.show import Show

INTERRUPTED = 130


def write(show: Show, given: Mapping[str, Any], name: str, keep: Keep) -> int:
    """Train if steps are given, and write the page; return the exit code.

    show   of the scene
    given  options: out, theme, steps, no_engine, record, every
    name   of the scene, for the name of the file
    keep   saves the training
    """
    path = Path(given.get("out") or f"{name}.html")
    check_name(path.name)
    check_place(path)
    theme = given.get("theme", "auto")
    pick({"auto": "", **THEMES}, theme, "theme")
    engine = False if given.get("no_engine") else None
    trains(show.session, engine)
    if given["steps"] is not None and (code := train(show, given["steps"], keep)):
        say(text("page.stopped"))
        return code
    try:
        made = page_of(
            show,
            theme=None if theme == "auto" else theme,
            engine=engine,
            steps=STEPS if given.get("record") is None else given["record"],
            every=1 if given.get("every") is None else given["every"],
        )
    except KeyboardInterrupt:  # nothing is written yet
        say(text("page.stopped"))
        return INTERRUPTED
    say(made.words(path.name))
    replace_file(path, made.text)
    if given["steps"] is None and (saved := keep.at_end(show.session, False)):
        say(saved)
    return 0
