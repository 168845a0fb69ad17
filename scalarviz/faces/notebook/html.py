"""Words as HTML, as questions and tables of a notebook show them."""

from __future__ import annotations

import re
from html import escape


def as_html(words: str) -> str:
    """Return a text as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(words, quote=False))
