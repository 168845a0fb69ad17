"""watch in a notebook: a page of the session; where that is impossible, what comes nearest."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from html import escape
from importlib.util import find_spec
from typing import Any, final

from scalarviz.base.texts import text
from scalarviz.errors import DisplayError, EngineError, InputError
from scalarviz.faces.controller.watch_options import WatchOptions
from scalarviz.faces.notebook.place import Shown, in_marimo
from scalarviz.faces.notebook.still import Still
from scalarviz.pages.page import page_of
from scalarviz.pictures.draw2d.png import png
from scalarviz.pictures.export.render import picture, story
from scalarviz.pictures.export.render_options import PAGE
from scalarviz.pictures.export.step_page_2d import plain_story
from scalarviz.pictures.presenter.several import Several
from scalarviz.pictures.presenter.show import Show

SIZE = 800, 500
FRAME = "width: 100%; height: 800px; border: 0; border-radius: 6px"
PICTURE = 1000, 620
PACKAGES = "ipywidgets", "anywidget"


def watch(show: Show | Several, options: WatchOptions) -> Any:
    """Show a training below the running cell; return what shows it.

    It is a page of its session, or of each; where no page can show it, a picture that follows the
    sessions, and where nothing can be linked with the kernel, a page that trains by itself.
    """
    if why := lack():
        return told(show, why, options.theme)
    if fits(show, options):
        from scalarviz.faces.notebook import cell

        return cell.watch(show, options)
    group = options.group(show, chosen_theme(options.theme))
    try:
        shown = Still(group, options.size or SIZE, play=bool(options.play))
    except DisplayError as error:
        return told(show, str(error), options.theme)
    shown.show()
    return shown


def fits(show: Show | Several, options: WatchOptions) -> bool:
    """Whether pages can show this: sessions of networks with layers, and no nodes of vispy."""
    sessions = show.sessions if isinstance(show, Several) else [show.session]
    has_layers = all(session.network.layers for session in sessions)
    return has_layers and options.nodes is None and not options.present


def lack() -> str:
    """Return why no page can be linked with the kernel here; "" if one can."""
    if in_marimo():
        return text("notebook.marimo")
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        return text("notebook.lack", package=missing[0])
    return ""


def chosen_theme(theme: str) -> str:
    """Return the theme of a picture that cannot follow that of a page."""
    return "light" if theme == "auto" else theme


@final
class Told(Shown):
    """A page in place of a live picture, and why there is none.

    why      the reason
    content  the page in its frame, as HTML
    shows    what it shows: "page" a page that trains, "step" the next step, "state" the session
    png      the present picture, for where a stored notebook shows no frames; None if there is none
    """

    def __init__(self, why: str, content: str, shows: str, png: bytes | None = None) -> None:
        self.why = why
        self._content = content
        self._shows = shows
        self._png = png

    def bundle(self) -> dict[str, Any]:
        picture = {} if self._png is None else {"image/png": b64encode(self._png).decode()}
        return {"text/plain": repr(self), "text/html": self._repr_html_(), **picture}

    def _repr_html_(self) -> str:
        """Return what marimo shows of a cell's last value, where there is no IPython."""
        return f"<p>{escape(repr(self))}</p>{self._content}"

    def __repr__(self) -> str:
        return text(f"notebook.told.{self._shows}", why=self.why)


def told(show: Show | Several, why: str, theme: str) -> Told:
    """Show in the cell a page that trains, else the next step: in 3-D, or in 2-D without OpenGL.

    Of several, show their picture, or without OpenGL their states.
    """
    chosen = chosen_theme(theme)
    if isinstance(show, Several):
        made = told_of_several(show, why, chosen)
        made.show()
        return made
    page = page_that_trains(show, theme)
    try:
        if page:
            made = Told(why, page, "page", png(picture(show, size=PICTURE, theme=chosen)))
        else:
            _, step = story(show, replace(PAGE, theme=chosen, size=PICTURE))
            made = Told(why, framed(step, text("notebook.frame")), "step")
    except DisplayError:
        if page:
            made = Told(why, page, "page")
        elif show.session.network.layers:
            made = Told(why, framed(plain_story(show, chosen), text("notebook.frame")), "step")
        else:
            made = Told(why, show.session._repr_html_(), "state")
    made.show()
    return made


def told_of_several(show: Several, why: str, theme: str) -> Told:
    """Return the picture of several sessions, or their states, and why they are not live."""
    states = "".join(session._repr_html_() for session in show.sessions)
    try:
        named = dict(zip(show.names, show.shows, strict=True))
        image = png(picture(named, size=PICTURE, theme=theme))
    except DisplayError:
        return Told(why, states, "state")
    width, code = PICTURE[0], b64encode(image).decode()
    alt = escape(show.title)
    content = f'<img alt="{alt}" width="{width}" src="data:image/png;base64,{code}">'
    return Told(why, content, "picture", image)


def page_that_trains(show: Show, theme: str) -> str:
    """Return a page that trains, in its frame; "" if none can be made of this session."""
    try:
        page = page_of(show, theme=None if theme == "auto" else theme)
    except (EngineError, InputError):  # it cannot be trained by a page, or is too large for one
        return ""
    title = text("notebook.page", title=show.title)
    # Its script may run, without the rights of the notebook that it stands in.
    return framed(page.text.decode(), title, 'sandbox="allow-scripts"')


def framed(page: str, title: str, rights: str = "") -> str:
    """Return a page as an iframe."""
    more = f'style="{FRAME}" title="{escape(title)}" {rights}'
    return f'<iframe srcdoc="{escape(page)}" {more}></iframe>'
