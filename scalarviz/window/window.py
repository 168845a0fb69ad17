"""watch: opens the desktop window; Qt is loaded only then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scalarviz.controller.autosave import Keep
from scalarviz.controller.controller import Controller
from scalarviz.controller.export import Exports
from scalarviz.controller.group import Group
from scalarviz.controller.options import Recipe
from scalarviz.controller.picture import PictureProtocol
from scalarviz.errors.visible_text import say
from scalarviz.presenter.several import Several
from scalarviz.presenter.show import Show
from scalarviz.process.interrupt import Stop
from scalarviz.terminal.train import closing
from scalarviz.texts import text
from scalarviz.window.display import check_window


def watch(
    show: object,
    steps: int | None = None,
    speed: float | None = None,
    theme: str = "auto",
    keep: Keep | None = None,
    recipe: Recipe | Sequence[Recipe | None] | None = None,
    *,
    tour: bool = False,
    reduced_motion: bool = False,
    play: bool = True,
    size: tuple[int, int] | None = None,
    present: bool = False,
    nodes: Callable[[Any], object] | None = None,
    color: str = "value",
    cubes: str = "value",
    pin: Any = None,
) -> int:
    """Open a window on a training, until it is closed; return the exit code.

    Files that the user wants to have finished without the window are waited for.

    show            a Show or a Session, or Several
    steps           number of steps after which it pauses, the first time; None: those of the show
    speed           steps a second, 0 for as fast as possible; None: the speed of the show
    theme           "dark", "light", or "auto" for the system's
    keep            saves the session
    recipe          makes the options of the scene available; of several, one for each
    tour            True: show the tour of ten seconds; else only the first time on this
                    machine
    reduced_motion  True: no animations; else as the system is set
    play            whether it plays by itself; the default
    size            width and height of the window in pixels
    present         True: larger letters, and no controls until the mouse is at the lower end
    nodes           called with the view of each picture that is made
    color           what the colors of cubes show; `cubes` what their sizes show
    pin             what is pinned at first, as for `Stage.pin`; None: nothing

    Returns 0, or 130 after Ctrl-C. An error of drawing is raised after the training was saved, if
    `keep` has a file for it. Raises DisplayError where no window can be opened.
    """
    shown = show if isinstance(show, Several) else Show.of(show)
    keep = keep or Keep()
    check_window()
    from scalarviz.controller.startup import Opening
    from scalarviz.window.application import application, quick_turns
    from scalarviz.window.frame import MainWindow
    from scalarviz.window.look import reduces_motion, theme_of
    from scalarviz.window.lost_display import ending_without_display

    application()
    stage = make_stage(shown, theme_of(theme), reduced_motion or reduces_motion())
    stage.present, stage.nodes = present, nodes
    stage.color, stage.size = color, cubes
    if pin is not None:
        stage.pin(pin)
    group = make_group(shown, stage, recipe, steps, speed)
    shows = [member.show for member in group.members]
    starts = [show.session.step_index for show in shows]
    save = partial(save_at_once, group, keep)
    with quick_turns(), Stop() as stop, ending_without_display(save):
        window = MainWindow(group, stop, keep)
        if size is not None:
            window.resize(*size)
        opening = Opening(group, True if tour else None, play=play)
        try:
            window.run(opening)
        finally:
            group.quit()
            window.release()
    group.rest()
    for member, show, start in zip(group.members, shows, starts, strict=True):
        say(*member.last_words)
        if window.error is None:
            end = member.session.step_index
            begins = min(start, end) if member.session is show.session else 0
            said = closing(member.show, begins, end)
            say(f"{member.show.title}: {said}" if group.several else said)
    group.leave()
    controller = group.lead
    if keep.path is not None and controller.session is not controller.own_session:
        say(text("saving.other", path=keep.path))
    if saved := keep.at_end(controller.own_session, stop.asked):
        say(saved)
    if window.error is not None:
        group.lead.exports.stop()
        raise window.error
    return stop.code or finish(group.lead.exports)


def save_at_once(group: Group, keep: Keep) -> None:
    """Save, though the thread that draws never goes on."""
    session = group.lead.own_session
    session.inherit(threading.main_thread().ident)
    if saved := keep.at_end(session, False):
        say(saved)


def finish(exports: Exports) -> int:
    """Wait for files that are to be written without the window; return the exit code."""
    say(*(text("notices.still_written", file=file) for file in exports.going))
    code = exports.finish()
    say(*exports.told)
    return code


def make_stage(show: Show | Several, theme: str, reduced_motion: bool) -> PictureProtocol:
    """Return the stage of a show, or of several."""
    from scalarviz.presenter.answers import AT_ONCE
    from scalarviz.presenter.side_by_side import SideBySide
    from scalarviz.presenter.stage import Stage

    stage: SideBySide | Stage
    if isinstance(show, Several):
        stage = SideBySide(show, theme, reduced_motion=reduced_motion, patience=AT_ONCE)
    else:
        stage = Stage(show, theme, reduced_motion=reduced_motion, patience=AT_ONCE)
    stage.by_card = True
    return stage


def make_group(
    show: Show | Several,
    stage: PictureProtocol,
    recipe: Any,
    steps: int | None,
    speed: float | None,
) -> Group:
    """Return the controllers of a show, or of several."""
    if isinstance(show, Show):
        return Group.of(Controller(show, stage, recipe, steps=steps, speed=speed))
    return Group.side_by_side(stage, recipe or (), steps=steps, speed=speed)
