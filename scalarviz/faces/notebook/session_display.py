"""Show a session in a notebook: as a live page, a page that trains, or a picture."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from importlib.util import find_spec
from typing import Any, final

from scalarviz.base.shell_commands import pip_command
from scalarviz.base.texts import text
from scalarviz.errors import DisplayError, EngineError, InputError
from scalarviz.faces.controller import precompile
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.notebook.notebook_cells import SIZE, CellOutput
from scalarviz.pages.page import page_of
from scalarviz.scene.visuals import mip_levels
from scalarviz.stage.displays.html_tables import never_raises, session_table
from scalarviz.stage.displays.weight_display import PATIENCE, is_disturbed
from scalarviz.stage.encoders import png
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.render import picture
from scalarviz.stage.show import Several, Show
from scalarviz.training.session.session import Session

FRAME = "width: 100%; height: 800px; border: 0; border-radius: 6px"
PICTURE = 1000, 620
PACKAGES = "ipywidgets", "anywidget"


def watch(show: Show | Several, options: WatchOptions) -> Any:
    """Show sessions below the running cell; return the view.

    The view contains a live page for each session. Without the packages for widgets, it is a page
    that trains without the kernel.
    """
    if missing := missing_packages():
        why = text("notebook.lack", package=missing[0], command=pip_command("notebook"))
        return page_instead(show, why, options.look.theme)
    from scalarviz.faces.notebook import page_view

    return page_view.watch(show, options)


def missing_packages() -> list[str]:
    """Return the packages that live pages need and that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


@final
class PageInstead(CellOutput):
    """Content that replaces a live page, with the reason why it does.

    Args:
        why: the reason why there is no live page
        content: the content as HTML
        shows: kind of content: "page" for a page that trains, "picture", "state" for a summary
        png: the current picture, for notebook viewers that do not show frames; or None
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
        """Return the HTML that marimo shows if this object is the last value of a cell."""
        return f"<p>{escape(repr(self))}</p>{self._content}"

    def __repr__(self) -> str:
        return text(f"notebook.told.{self._shows}", why=self.why)


def page_instead(show: Show | Several, why: str, theme: str) -> PageInstead:
    """Show a page that trains without the kernel, or if impossible a picture, or a summary."""
    page = "" if isinstance(show, Several) else page_that_trains(show, theme)
    try:
        image = png(picture(show, size=PICTURE, theme="light" if theme == "auto" else theme))
    except DisplayError:
        image = None
    if page:
        made = PageInstead(why, page, "page", image)
    elif image is not None:
        made = PageInstead(why, image_of(image, PICTURE[0], show.title), "picture", image)
    else:
        sessions = show.sessions if isinstance(show, Several) else [show.session]
        made = PageInstead(why, "".join(map(session_table, sessions)), "state")
    made.show()
    return made


def page_that_trains(show: Show, theme: str) -> str:
    """Return a page that trains, in an HTML frame; "" if a page cannot train the session."""
    try:
        page = page_of(show, theme=None if theme == "auto" else theme).text.decode()
    except (EngineError, InputError):  # a page cannot train it, or it is too large
        return ""
    title = text("notebook.page", title=show.title)
    # Its script may run, without the rights of the notebook.
    rights = f'style="{FRAME}" title="{escape(title)}" sandbox="allow-scripts"'
    return f'<iframe srcdoc="{escape(page)}" {rights}></iframe>'


@never_raises
def session_html(session: Session) -> str:
    """Return a session as HTML: its picture, and below it a table of its settings.

    Only the table is returned if OpenGL is missing, if the session was changed externally, or if
    drawing would take seconds (session busy, kernels not compiled).
    """
    return still_of(session) + session_table(session)


def still_of(session: Session) -> str:
    """Return the picture of a session as HTML; "" in the cases listed in `session_html`."""
    if session.playing:
        return ""
    with session.still(PATIENCE) as is_free:
        if not is_free or is_disturbed(session.timeline):  # a picture would record that
            return ""
    kinds = {precompile.kind_of(session, session.engine)} - {""}
    if any(map(mip_levels.levels_of, layout_of(session).plates)):
        kinds.add(precompile.MEANS)
    if not all(map(precompile.is_ready, kinds)):
        return ""
    show = Show.of(session)
    try:
        image = png(picture(show, size=SIZE, theme="light"))
    except DisplayError:
        return ""
    return image_of(image, SIZE[0], show.title)


def image_of(image: bytes, width: int, title: str) -> str:
    """Return an HTML image that contains a PNG."""
    look = "display: block; max-width: 100%; margin-bottom: 6px"
    seen = f'alt="{escape(title)}" width="{width}" style="{look}"'
    return f'<img {seen} src="data:image/png;base64,{b64encode(image).decode()}">'
