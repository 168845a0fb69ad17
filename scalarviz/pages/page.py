"""A page that trains: one HTML file, which opens from disk in any browser and fetches nothing.

sv.page(session, "rgb.html")
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scalarviz.checks.numbers import answered
from scalarviz.draw2d.class_colors import ON_DARK, ON_LIGHT
from scalarviz.draw2d.colors import POWER, rgb, to_bytes
from scalarviz.draw2d.theme import THEMES, Theme
from scalarviz.errors import EngineError, InputError
from scalarviz.errors.messages import inform
from scalarviz.files.atomic import as_path, check_place, replace_file
from scalarviz.formulas.table import pick
from scalarviz.package_files import text_beside
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.engine_data import engine_data, why_not
from scalarviz.pages.exhibit_data import exhibit_data, probe_of
from scalarviz.pages.index_page import version
from scalarviz.pages.inline import bundle, html, names_of, packed_bytes, texts_of
from scalarviz.pages.scene_data import scene_data
from scalarviz.presenter.show import Show
from scalarviz.session.session import Session
from scalarviz.texts import text, texts

LARGEST = 10_000_000  # bytes of a page
SAY = "say_"  # names in page.html with this prefix stand for texts
ENDINGS = (".html", ".htm")
GOOD_ON_LIGHT = "#00775e"  # letters; the first colour of classes is too pale for them
WEB = str(Path(__file__).with_name("web") / "main.js")  # beside the modules of the page


@dataclass(frozen=True)
class Page:
    """A page before it is written: its text, and how many bytes of it are the engine."""

    text: bytes
    engine: int

    def words(self, name: str) -> str:
        """Return how large the file of a name is."""
        sizes = {"size": size_words(len(self.text)), "engine": size_words(self.engine)}
        return text("page.size", name=name, **sizes)


@answered
def page(session: object, path: object, *, title: str = "", theme: str | None = None) -> int:
    """Write a session as a web page that trains, plays back and explains; return its size in bytes.

    The page has the kernels of the cpu engine as WebAssembly, and goes on where the session stands.
    It is one file without a server, and asks for nothing over a network. The session stays as it
    is. The size is reported before the file is written.

    session  a Session or a Show, whose network has layers
    path     the file, .html
    title    of the page; by default that of the Show
    theme    "dark" or "light"; None, the default: that of the reader's system

    Raises EngineError for a session that a page cannot train, InputError if the page would be
    larger than 10 MB or the theme is unknown, and FileError if the file cannot be written.
    """
    place = as_path(path)
    check_name(place.name)
    check_place(place)
    made = page_of(session, title=title, theme=theme)
    inform(made.words(place.name))
    replace_file(place, made.text)
    return len(made.text)


def check_name(name: str) -> None:
    """Raise InputError if a file's name does not end as that of a page."""
    if not name.lower().endswith(ENDINGS):
        raise InputError(f"a page is kept as .html, not as {name!r}: rename it")


def check_session(session: Session) -> None:
    """Raise EngineError, with the reason, if a page cannot train a session."""
    if reason := why_not(session):
        raise EngineError(reason)


def page_of(session: object, *, title: str = "", theme: str | None = None) -> Page:
    """Return the page of a session; see `page`. Raise InputError if it is too large."""
    if theme is not None:
        pick(THEMES, theme, "theme")
    show = Show.of(session)
    check_session(show.session)
    markup = text_beside(__file__, "page.html")
    module, image, engine = engine_data(show.session, probe_of(show.session))
    script, worker = bundle("main.js", module_text), bundle("worker.js", module_text)
    spec = {
        "engine": engine,
        "scene": scene_data(show),
        "say": caption_data(show.session, show),
        "page": {
            "title": title or show.title,
            "about": show.about,
            "theme": theme or "",
            "speed": show.speed,
            "tint": show.session.data.input_tint,
            "exhibit": exhibit_data(show.session),
        },
    }
    data = {
        "spec": spec,
        "texts": texts_of(script, texts()),
        "worker": worker,
        "module": packed_bytes(module),
        "image": packed_bytes(image),
    }
    said = [name for name in names_of(markup) if name.startswith(SAY)]
    words = {name: text(f"page.html.{name.removeprefix(SAY)}") for name in said}
    words |= {"title": title or show.title, "about": show.about, "version": version()}
    whole = html(markup, words, style_of_page(), script, data).encode()
    if len(whole) > LARGEST:
        raise InputError(
            f"the page of this session would have {size_words(len(whole))}, and "
            f"{size_words(LARGEST)} are the most: take fewer samples or a smaller network"
        )
    return Page(whole, len(packed_bytes(module)))


def module_text(name: str) -> str:
    """Return the text of a module of the page."""
    return text_beside(WEB, name)


def style_of_page() -> str:
    """Return the style, with the colours of the themes in properties."""
    dark, light = (properties(THEMES[name]) for name in ("dark", "light"))
    return (
        f"\n:root {{ {dark} }}\n"
        f"@media (prefers-color-scheme: light) {{ :root {{ {light} }} }}\n"
        f':root[data-theme="dark"] {{ {dark} }}\n:root[data-theme="light"] {{ {light} }}\n'
        + text_beside(__file__, "page.css")
        + text_beside(__file__, "exhibits.css")
    )


def properties(theme: Theme) -> str:
    """Return the colours of a theme as custom properties."""
    own, map = theme.controls, theme.map
    colors = {
        "ground": theme.ground,
        "panel": theme.panel[:7],
        "raised": own.raised if theme.is_dark else theme.rim,
        "rim": theme.rim,
        "faint": own.edge,
        "ink": theme.ink,
        "quiet": theme.quiet,
        "accent": theme.accent,
        "on-accent": own.on_accent,
        "lit": theme.light,
        "push": theme.push,
        "good": ON_DARK[0] if theme.is_dark else GOOD_ON_LIGHT,
        "negative": map.negative,
        "zero": map.zero,
        "positive": map.positive,
        "negative-half": between(map.zero, map.negative),
        "positive-half": between(map.zero, map.positive),
        "classes": " ".join(ON_DARK if theme.is_dark else ON_LIGHT),
    }
    scheme = "dark" if theme.is_dark else "light"
    return f"color-scheme: {scheme}; " + " ".join(f"--{name}: {c};" for name, c in colors.items())


def between(zero: str, end: str) -> str:
    """Return the colour of half the largest number."""
    first, last = rgb((zero, end))
    return "#" + to_bytes(first + 0.5**POWER * (last - first)).tobytes().hex()


def size_words(size: int) -> str:
    """Return a size in bytes with two or three digits: 640 kB, 1.2 MB."""
    if size < 999_500:
        return text("page.kilobytes", count=max(1, round(size / 1000)))
    return text("page.megabytes", count=size / 1e6)
