"""A storyboard as one page of HTML: a picture, its caption, and a slider through the operations.

Everything is in the page, pictures included, and it asks nobody for anything. It is the same text
for the same stills. Without scripts, and on paper, all stills stand one below the other.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from string import Template

from scalarviz.draw2d.colors import MAPS
from scalarviz.errors import InputError
from scalarviz.package_files import text_beside
from scalarviz.presenter.captions.operations import Caption

PNG = b"\x89PNG\r\n\x1a\n"

# The page has no hue: in the pictures hue says the sign of a number, and nothing else.
COLORS = {
    "dark": f"""--back: {MAPS["dark"].background}; --raised: #1b2027; --line: #3a424d;
  --edge: #8b95a1; --quiet: #aeb7c2; --text: #eceff3; --strong: #ffffff; --on-strong: #0e1116;""",
    "light": f"""--back: {MAPS["light"].background}; --raised: #f1f3f5; --line: #cdd3da;
  --edge: #6b7480; --quiet: #4d5661; --text: #1a1e24; --strong: #000000; --on-strong: #ffffff;""",
}

STYLE = "\n" + text_beside(__file__, "storyboard_page.css")
SCRIPT = "\n" + text_beside(__file__, "storyboard_page.js")
PAGE = Template(text_beside(__file__, "storyboard_page.html"))
FRAME = Template(text_beside(__file__, "storyboard_frame.html").rstrip("\n"))


@dataclass(frozen=True)
class Still:
    """One operation: what it is called and what is said; its picture, PNG or SVG, also in words."""

    name: str
    caption: Caption
    picture: bytes
    alt: str


def page(stills: Sequence[Still], title: str, dark: bool = True) -> str:
    """A storyboard as one HTML document, to step through in any browser, or to print."""
    if not stills:
        raise InputError("a page shows at least one still, and here is none: pass some")
    theme = "dark" if dark else "light"
    style = f"\n:root {{ {COLORS[theme]} }}{STYLE}"
    style = style.replace("color-scheme: dark", f"color-scheme: {theme}")
    style = style.replace("/* colors of paper */", COLORS["light"])
    steps = [f'<li><button type="button">{escape(still.name)}</button></li>' for still in stills]
    return PAGE.substitute(
        title=escape(title),
        policy=policy(style),
        style=style,
        script=SCRIPT,
        last=len(stills) - 1,
        steps="\n".join(steps),
        frames="\n".join(frame(still, i, len(stills)) for i, still in enumerate(stills)),
    )


def frame(still: Still, place: int, count: int) -> str:
    """One still as it stands on paper: the picture, and its caption below."""
    caption = still.caption
    formula = f'<p class="formula"><code>{escape(caption.formula)}</code></p>'
    numbers = [f"<li><code>{escape(line)}</code></li>" for line in caption.numbers]
    return FRAME.substitute(
        picture=as_link(still.picture),
        sides=sides(still.picture),
        alt=escape(still.alt),
        number=place + 1,
        count=count,
        name=escape(still.name),
        title=escape(caption.title),
        formula=formula if caption.formula else "",
        numbers="".join(numbers),
    )


def as_link(picture: bytes) -> str:
    """A picture that is part of the page."""
    kind = "image/png" if picture.startswith(PNG) else "image/svg+xml"
    return f"data:{kind};base64,{base64.b64encode(picture).decode()}"


def sides(picture: bytes) -> str:
    """Width and height as attributes, so that nothing jumps while a picture is decoded."""
    if picture.startswith(PNG) and len(picture) >= 24:
        width, height = struct.unpack(">II", picture[16:24])
        return f' width="{width}" height="{height}"'
    return ""


def policy(style: str) -> str:
    """What the page may do: use its own style and script, and the pictures in it; nothing else."""
    return (
        f"default-src 'none'; img-src data:; style-src {fingerprint(style)}; "
        f"script-src {fingerprint(SCRIPT)}; base-uri 'none'; form-action 'none'"
    )


def fingerprint(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
