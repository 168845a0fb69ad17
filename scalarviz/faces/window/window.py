"""watch: open the desktop window; only this function loads Qt."""

from __future__ import annotations

import threading
from functools import partial

from scalarviz.base.interrupt import Stop
from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.faces.controller.face import Face, WatchOptions
from scalarviz.faces.controller.train import Autosave, closing
from scalarviz.faces.window.display_check import check_window
from scalarviz.stage.background import quick_turns
from scalarviz.stage.show import Several, Show


def watch(shown: Show | Several, options: WatchOptions) -> int:
    """Show sessions in a window until it is closed; return the exit code.

    Returns 0, or 130 after Ctrl-C. If drawing raises an error, the session is first saved if
    `options.keep` has a file for it. Raises DisplayError if no window can be opened.
    """
    keep = options.keep
    check_window()
    from scalarviz.faces.controller.face import Opening
    from scalarviz.faces.window.application import (
        application,
        ending_without_display,
        reduces_motion,
        theme_of,
    )
    from scalarviz.faces.window.main_window import MainWindow

    application()
    face = options.face(shown, theme_of(options.look.theme), reduced_motion=reduces_motion())
    shows = [pane.show for pane in face.panes]
    starts = [show.session.step_index for show in shows]
    save = partial(save_at_once, face, keep)
    with quick_turns(), Stop() as stop, ending_without_display(save):
        window = MainWindow(face, stop, keep)
        if options.size is not None:
            window.resize(*options.size)
        tour = True if options.tour else None  # the first time on this machine
        opening = Opening(face, tour, play=options.play is not False)
        try:
            window.run(opening)
        finally:
            face.quit()
            window.release()
    face.rest()
    for pane, show, start in zip(face.panes, shows, starts, strict=True):
        say(*pane.last_words)
        if window.error is None:
            end = pane.session.step_index
            begins = min(start, end) if pane.session is show.session else 0
            said = closing(pane.show, begins, end)
            say(f"{pane.show.title}: {said}" if face.several else said)
    controller = face.lead
    if keep.path is not None and controller.session is not controller.own_session:
        say(text("saving.other", path=keep.path))
    keep.end(controller.own_session, stop.asked)
    if window.error is not None:
        raise window.error
    return stop.code


def save_at_once(face: Face, keep: Autosave) -> None:
    """Save the session even though the thread that draws hangs."""
    session = face.lead.own_session
    session.timeline.lock.inherit(threading.main_thread().ident)
    keep.end(session, False)
