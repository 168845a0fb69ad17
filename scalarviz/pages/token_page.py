"""The page that asks for the token of a training."""

from __future__ import annotations

from html import escape
from string import Template

from scalarviz.base.package_files import fingerprint, text_beside
from scalarviz.base.texts import text
from scalarviz.pages.index_page import COLORS

STYLE = (
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
POLICY = "default-src 'none'; style-src {style}; img-src data:; base-uri 'none'; form-action 'self'"


def token_page(words: str) -> bytes:
    """Return the page with a sentence above the field."""
    shown = Template(text_beside(__file__, "token.html")).substitute(
        language=text("page.html.language"),
        policy=POLICY.format(style=fingerprint(STYLE)),
        style=STYLE,
        words=escape(words),
        send=escape(text("browser.send")),
    )
    return shown.encode()
