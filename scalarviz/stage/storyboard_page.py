"""A storyboard as one HTML page: pictures, captions, and a slider through the operations.

The page is self-contained, pictures included, and loads nothing. Equal stills give equal HTML.
Without scripts, and in print, all stills are shown one below the other.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from string import Template

from scalarviz.base.checks import require
from scalarviz.base.package_files import fingerprint, text_beside
from scalarviz.base.texts import text
from scalarviz.scene.canvas.palette import MAPS
from scalarviz.story.caption import Caption

# The page is gray: in the pictures, hue shows the sign of a number.
COLORS = {
    "dark": f"""--back: {MAPS["dark"].background}; --raised: #1b2027; --line: #3a424d;
  --edge: #8b95a1; --quiet: #aeb7c2; --text: #eceff3; --strong: #ffffff; --on-strong: #0e1116;""",
    "light": f"""--back: {MAPS["light"].background}; --raised: #ffffff; --line: #cdd3da;
  --edge: #6b7480; --quiet: #49525d; --text: #1a1e24; --strong: #000000; --on-strong: #ffffff;""",
}

STYLE = "\n" + text_beside(__file__, "storyboard_page.css")
SCRIPT = "\n" + text_beside(__file__, "storyboard_page.js")
PAGE = Template(text_beside(__file__, "storyboard_page.html"))
SAY = "say_"  # prefix of names in the page that represent texts
FRAME = Template(text_beside(__file__, "storyboard_frame.html").rstrip("\n"))


@dataclass(frozen=True)
class StoryboardStill:
    """One operation of a storyboard: its name, caption, picture (PNG) and alt text."""

    name: str
    caption: Caption
    picture: bytes
    alt: str


def page(stills: Sequence[StoryboardStill], title: str, dark: bool = True) -> str:
    """Return a storyboard as an HTML document; raise InputError if there are no stills.

    Args:
        stills: the pictures with their captions, in order
        title: title of the document
        dark: whether to use the dark theme; by default True
    """
    require(stills, "a storyboard page needs at least one still")
    theme = "dark" if dark else "light"
    style = f"\n:root {{ {COLORS[theme]} }}{STYLE}"
    style = style.replace("color-scheme: dark", f"color-scheme: {theme}")
    style = style.replace("/* colors of paper */", COLORS["light"])
    steps = [f'<li><button type="button">{escape(still.name)}</button></li>' for still in stills]
    words = [name for name in PAGE.get_identifiers() if name.startswith(SAY)]
    return PAGE.substitute(
        {name: escape(text(f"storyboard.page.{name.removeprefix(SAY)}")) for name in words},
        title=escape(title),
        policy=policy(style),
        style=style,
        script=SCRIPT,
        last=len(stills) - 1,
        steps="\n".join(steps),
        frames="\n".join(frame(still, i, len(stills)) for i, still in enumerate(stills)),
    )


def frame(still: StoryboardStill, place: int, count: int) -> str:
    """Return the HTML of one still: the picture, and its caption below."""
    caption = still.caption
    formula = f'<p class="formula"><code>{escape(caption.formula)}</code></p>'
    numbers = [f"<li><code>{escape(line)}</code></li>" for line in caption.numbers]
    width, height = struct.unpack(">II", still.picture[16:24])  # for a stable layout
    return FRAME.substitute(
        picture=f"data:image/png;base64,{base64.b64encode(still.picture).decode()}",
        width=width,
        height=height,
        alt=escape(still.alt),
        which=text("storyboard.which", number=place + 1, count=count, name=escape(still.name)),
        title=escape(caption.title),
        formula=formula if caption.formula else "",
        numbers="".join(numbers),
    )


def policy(style: str) -> str:
    """Return the content security policy: only the included style, script and pictures."""
    return (
        f"default-src 'none'; img-src data:; style-src {fingerprint(style)}; "
        f"script-src {fingerprint(SCRIPT)}; base-uri 'none'; form-action 'none'"
    )
