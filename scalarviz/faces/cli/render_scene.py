"""`scalarviz render` and `page`: a picture, a video or a page of a scene."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scalarviz.base.checks import require, size
from scalarviz.base.interrupt import INTERRUPTED, Stop
from scalarviz.base.messages import say
from scalarviz.base.progress import Progress
from scalarviz.base.texts import text
from scalarviz.core.formulas.formula import pick
from scalarviz.errors import InputError
from scalarviz.faces.controller.train import (
    Autosave,
    closing,
    end_of,
    steps_of,
    take_steps,
    train,
    train_all,
    why_lost,
)
from scalarviz.faces.scene_options import RENDERING
from scalarviz.files.atomic import check_place, replace_file
from scalarviz.pages.page import STEPS, check_name, page_of, trains
from scalarviz.pages.playground import playground_page
from scalarviz.scene.look import AUTO, OFFERS, Look
from scalarviz.stage.background import Portions
from scalarviz.stage.render import picture, record
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Several, Show

PICTURE, VIDEO = (1280, 800), (1280, 720)  # default sizes
KINDS = (".png", ".mp4", ".gif")
VIDEOS = (".mp4", ".gif")
OF_VIDEOS = ("every", "operations", "film", "hold", "fps", "move")


def render(show: Show, given: Mapping[str, Any], name: str, keep: Autosave) -> int:
    """Train a scene, draw it to a file, and save the session; return the exit code."""
    try:
        with keep.kept(show.session):
            draw(show, given, name, keep)
    except KeyboardInterrupt:
        say(text("render.stopped"))
        code = INTERRUPTED
    else:
        code = 0
    keep.end(show.session, False)
    return code


def draw(show: Show, given: Mapping[str, Any], name: str, keep: Autosave) -> None:
    """Draw a Show to the output file given in the options, and print a summary."""
    chosen, path, kind, look = wanted(given, name)
    start = show.session.step_index
    end = end_of(show, given["steps"], least=int(kind in VIDEOS))
    if kind in VIDEOS:
        with saving(keep, show) as progress:
            write_video(show, path, given["steps"], end - start, chosen, look, progress)
        if why := why_lost(show.session):
            say(why)
        return
    check_place(path)
    look.check(show)
    with Stop() as stop, Progress(end - start) as bar:
        take_steps(Portions(show.session), end, keep, stop, bar)
    if stop.asked:
        raise KeyboardInterrupt
    picture(show, path, look=look)
    say(f"{path}: {closing(show, start, end)}")


def render_several(several: Several, given: Mapping[str, Any]) -> int:
    """Train several scenes in lockstep and draw them side by side; return the exit code."""
    name = "-".join(show.title for show in several.shows)
    chosen, path, kind, look = wanted(given, name)
    if kind in VIDEOS:
        steps = steps_of(several, given["steps"], 1)
        write_video(several, path, given["steps"], steps, chosen, look)
        return 0
    check_place(path)
    look.check(several)
    if code := train_all(several, given["steps"]):
        return code
    picture(several, path, look=look)
    say(str(path))
    return 0


def wanted(given: Mapping[str, Any], name: str) -> tuple[dict[str, Any], Path, str, RenderOptions]:
    """Return all options, the path and kind of the output file, and the render options.

    Args:
        given: options that were given
        name: default name of the file

    Raises:
        InputError: if the kind of file does not support these options.
    """
    chosen = {each: given.get(each, option.default) for each, option in RENDERING.items()}
    path = Path(chosen["out"] or f"{name}.png")
    kind = pick({each: each for each in KINDS}, path.suffix.lower(), "kind of file")
    check_kind(chosen, path.name, kind)
    look = RenderOptions(
        size=pixels(chosen["pixels"]) or (VIDEO if kind in VIDEOS else PICTURE),
        samples=chosen["samples"],
        pin=chosen["pin"],
        past=chosen["past"] or None,
        **{name: chosen[name] for name in OFFERS},
    )
    return chosen, path, kind, look


def write_video(
    shown: object,
    path: Path,
    given: int | None,
    most: int,
    chosen: Mapping[str, Any],
    look: RenderOptions,
    progress: bool | Callable[[int, int], None] = True,
) -> None:
    """Train one or several sessions, write a video of the training, and print its length.

    Args:
        given: number of steps; None means one step if operations are shown, otherwise `most`; a
            film ignores it
    """
    steps = given or (None if chosen["film"] else 1 if chosen["operations"] else most)
    count = record(
        *(shown, path, steps),
        every=chosen["every"],
        unit="operation" if chosen["operations"] else "step",
        film=chosen["film"],
        hold=chosen["hold"],
        fps=chosen["fps"],
        move=chosen["move"],
        progress=progress,
        look=look,
    )
    say(text("render.video", path=path, count=count, seconds=count / chosen["fps"]))


@contextmanager
def saving(keep: Autosave, show: Show) -> Iterator[Callable[[int, int], None]]:
    """Yield a progress callback for a video that draws a bar and autosaves the session."""
    with Progress(0, unit="pictures") as bar:

        def tell(done: int, total: int) -> None:
            bar.total = total
            bar.tell(done, show.session.loss)
            keep.now_and_then(show.session)

        yield tell


def check_kind(chosen: Mapping[str, Any], name: str, kind: str) -> None:
    """Raise InputError if an option is not supported by this kind of file."""
    given = [each for each in OF_VIDEOS if chosen[each] != RENDERING[each].default]
    if given and kind not in VIDEOS:
        raise InputError(
            f"--{given[0]} is for videos, .mp4 or .gif, but {name} is not a video: leave it out"
        )
    require(
        "hold" not in given or chosen["operations"],
        "--hold is the time of an operation: add --operations, or leave it out",
    )
    require(
        not ("every" in given and chosen["operations"]),
        "--every counts steps, and --operations shows every operation of each: leave out one",
    )


def pixels(size: str) -> tuple[int, int] | None:
    """Return the width and height given as a text such as "1280x720"; None for ""."""
    if not size:
        return None
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", size.strip())
    if found is None:
        raise InputError(f"--pixels takes width x height, such as 1280x720, not {size!r}")
    return int(found[1]), int(found[2])


# A web page that trains.


def write_page(show: Show, given: Mapping[str, Any], name: str, keep: Autosave) -> int:
    """Write a scene as a page, after training if steps are given; return the exit code.

    Args:
        show: the Show of the scene
        given: options: out, theme, steps, no_engine, record, every
        name: name of the scene, used as the default file name
        keep: autosave of the session
    """
    path = Path(given.get("out") or f"{name}.html")
    for option in [each for each in ("record", "every") if given.get(each) is not None]:
        size(given[option], f"--{option}")
    check_name(path.name)
    check_place(path)
    theme = Look(theme=given.get("theme", AUTO)).theme
    engine = False if given.get("no_engine") else None
    trains(show.session, engine)
    if given["steps"] is not None and (code := train(show, given["steps"], keep)):
        say(text("page.stopped"))
        return code
    try:
        made = page_of(
            show,
            theme=None if theme == AUTO else theme,
            engine=engine,
            steps=STEPS if given.get("record") is None else given["record"],
            every=1 if given.get("every") is None else given["every"],
        )
    except KeyboardInterrupt:  # nothing is written yet
        say(text("page.stopped"))
        return INTERRUPTED
    say(made.words(path.name))
    replace_file(path, made.text)
    if given["steps"] is None:
        keep.end(show.session, False)
    return 0


def write_playground(make: Callable[..., Show], path: Path, theme: str) -> None:
    """Write the page in which visitors build networks.

    Args:
        make: the scene `circle`
        path: output file
        theme: "dark", "light" or "auto"
    """
    check_name(path.name)
    check_place(path)
    chosen = Look(theme=theme).theme
    made = playground_page(make, "" if chosen == AUTO else chosen)
    say(made.words(path.name))
    replace_file(path, made.text)
