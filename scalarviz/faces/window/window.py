"""watch: opens the desktop window; Qt is loaded only then."""

from __future__ import annotations

import threading
from functools import partial

from scalarviz.base.interrupt import Stop
from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.faces.controller.export import Exports
from scalarviz.faces.controller.face import Face
from scalarviz.faces.controller.group import WatchOptions
from scalarviz.faces.controller.train import Autosave, closing
from scalarviz.faces.window.display_check import check_window
from scalarviz.stage.show import Several, Show


def watch(show: object, options: WatchOptions) -> int:
    """Open a window on a Show, a Session or Several, until it is closed; return the exit code.

    Files that the user wants to have finished without the window are waited for.

    Returns 0, or 130 after Ctrl-C. An error of drawing is raised after the training was saved, if
    `options.keep` has a file for it. Raises DisplayError where no window can be opened.
    """
    shown = show if isinstance(show, Several) else Show.of(show)
    keep = options.keep
    check_window()
    from scalarviz.faces.controller.group import Opening
    from scalarviz.faces.window.application import (
        application,
        ending_without_display,
        quick_turns,
        reduces_motion,
        theme_of,
    )
    from scalarviz.faces.window.main_window import MainWindow

    application()
    group = options.group(shown, theme_of(options.theme), reduced_motion=reduces_motion())
    shows = [member.show for member in group.members]
    starts = [show.session.step_index for show in shows]
    save = partial(save_at_once, group, keep)
    with quick_turns(), Stop() as stop, ending_without_display(save):
        window = MainWindow(group, stop, keep)
        if options.size is not None:
            window.resize(*options.size)
        tour = True if options.tour else None  # the first time on this machine
        opening = Opening(group, tour, play=options.play is not False)
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
    group.detach()
    controller = group.lead
    if keep.path is not None and controller.session is not controller.own_session:
        say(text("saving.other", path=keep.path))
    if saved := keep.at_end(controller.own_session, stop.asked):
        say(saved)
    if window.error is not None:
        group.lead.exports.stop()
        raise window.error
    return stop.code or finish(group.lead.exports)


def save_at_once(group: Face, keep: Autosave) -> None:
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
