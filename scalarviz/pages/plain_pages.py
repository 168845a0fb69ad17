"""Pages that do not train: the index of pages, and the form that asks for a token."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from string import Template
from urllib.parse import quote

from scalarviz.base import __version__
from scalarviz.base.package_files import fingerprint
from scalarviz.base.texts import text
from scalarviz.pages.bundle import markup_of

INDEX, PLAYGROUND = "index.html", "playground.html"
COLORS = """
:root { color-scheme: light dark; --ground: #fff; --ink: #1b1f27; --quiet: #565e6c; --rim: #d5dae2;
  --panel: #f5f6f9; --accent: #6845d8; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --ink: #e8ebf0; --quiet: #9aa3b2;
  --rim: #2a313d; --panel: #151b24; --accent: #b49cff; } }
"""
STYLE = (
    COLORS
    + """* { box-sizing: border-box; }
body { max-width: 80rem; margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 3rem;
  background: var(--ground); color: var(--ink); font: 17px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: clamp(1.6rem, 4vw, 2.4rem); line-height: 1.2; }
.about { max-width: 44rem; margin: .6rem 0 1.8rem; color: var(--quiet); }
ul { display: grid; gap: 1.5rem; margin: 0; padding: 0; list-style: none;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
a { display: block; color: inherit; text-decoration: none; background: var(--panel);
  border: 1px solid var(--rim); border-radius: 12px; }
a:hover, a:focus-visible { border-color: var(--accent); outline: 2px solid var(--accent); }
h2 { margin: 0; padding: .9rem 1.1rem 1.1rem; font-size: 1.15rem; color: var(--accent); }
"""
)
POLICY = "default-src 'none'; img-src data:; style-src {style}; base-uri 'none'; form-action 'none'"


def index_of(files: Iterable[str]) -> bytes:
    """Return the index page with links to pages in the same folder, by their file names."""
    rows = "\n".join(map(card_of, files))
    words = {name: escape(text(f"page.index.{name}")) for name in ("language", "title", "about")}
    return (
        Template(markup_of(INDEX))
        .substitute(
            {f"say_{name}": said for name, said in words.items()},
            policy=POLICY.format(style=fingerprint(STYLE)),
            version=__version__,
            title=words["title"],
            style=STYLE,
            rows=rows,
        )
        .encode()
    )


def card_of(file: str) -> str:
    """Return the HTML of an entry of the index, which is one large link."""
    name = escape(file.removesuffix(".html"))
    return f'<li><a href="{escape(quote(file))}"><h2>{name}</h2></a></li>'


def build_link(settings: str) -> str:
    """Return the link from a page to the playground beside it.

    Args:
        settings: settings of its network, see story/build_link.py; the page adds its weights
    """
    address = escape(f"{PLAYGROUND}#{settings}")
    words = escape(text("page.build_on"))
    return f'<nav class="links"><a class="build" target="_blank" href="{address}">{words}</a></nav>'


# The login page for the token of a session.

TOKEN_STYLE = (
    COLORS
    + """* { box-sizing: border-box; font: inherit; }
body { display: flex; flex-direction: column; justify-content: center; min-height: 90vh;
  max-width: 26rem; margin: 0 auto; padding: 1.5rem; background: var(--ground); color: var(--ink);
  font: 17px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 .6rem; font-size: 2rem; font-weight: 650; line-height: 1.2; }
form { display: grid; gap: 1rem; }
label { color: var(--quiet); }
input { width: 100%; padding: .7rem; border: 1px solid var(--quiet); border-radius: 12px;
  background: var(--panel); color: inherit; font-size: 2rem; letter-spacing: .15em;
  text-align: center; text-transform: uppercase; }
input:focus { outline: 2px solid var(--accent); }
button { padding: .8rem; border: 0; border-radius: 12px; background: var(--accent);
  color: var(--ground); font-weight: 650; cursor: pointer; }
"""
)
TOKEN_POLICY = (
    "default-src 'none'; img-src data:; style-src {style}; base-uri 'none'; form-action 'self'"
)


def token_page(words: str) -> bytes:
    """Return the page that asks for a token, with a sentence above the input field."""
    shown = Template(markup_of("token.html")).substitute(
        title="scalarviz",
        version=__version__,
        say_language=text("page.html.language"),
        policy=TOKEN_POLICY.format(style=fingerprint(TOKEN_STYLE)),
        style=TOKEN_STYLE,
        words=escape(words),
        send=escape(text("browser.send")),
    )
    return shown.encode()
