"""The list of some pages that train: one small page of links."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib import import_module
from string import Template
from typing import NamedTuple
from urllib.parse import quote

from scalarviz.package_files import text_beside
from scalarviz.pages.inline import fingerprint
from scalarviz.texts import text

INDEX = "index.html"
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 40rem; margin: 0 auto; padding: 1rem 1.5rem;
  font: 18px/1.5 system-ui, sans-serif; }
li { margin: .4rem 0; } a { display: inline-block; padding: .5rem .6rem .5rem 0; }
"""
POLICY = "default-src 'none'; style-src {style}; img-src data:; base-uri 'none'; form-action 'none'"


class Entry(NamedTuple):
    """A page in the list: its name, which its file has, and one sentence about it."""

    name: str
    about: str

    @property
    def file(self) -> str:
        return f"{self.name}.html"


def index_of(entries: Iterable[Entry]) -> bytes:
    """Return the page that links to pages, which lie beside it."""
    links = ((escape(quote(each.file)), *map(escape, each)) for each in entries)
    rows = "\n".join(f'<li><a href="{to}">{name}</a> {about}</li>' for to, name, about in links)
    words = {name: escape(text(f"page.index.{name}")) for name in ("language", "title", "about")}
    return (
        Template(text_beside(__file__, INDEX))
        .substitute(
            {f"say_{name}": said for name, said in words.items()},
            policy=POLICY.format(style=fingerprint(STYLE)),
            version=version(),
            style=STYLE,
            rows=rows,
        )
        .encode()
    )


def version() -> str:
    """Return the version of scalarviz that makes a page."""
    found: str = import_module("scalarviz").__version__
    return found
