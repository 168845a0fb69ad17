"""Texts of lessons as HTML: Markdown, with formulas between dollars as MathML."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

from scalarviz.base.shell_commands import pip_command
from scalarviz.errors import InputError

# HTML that texts may have: what folds, and line breaks. All else is shown as it is written.
FOLDING = re.compile(r"</?(details|summary|br|sub|sup)>")
TAG = re.compile(r"<[^<>]*>|[^<]+|<")
# Attributes that formulas need; TeX could also give their elements links, classes and styles.
MATH = frozenset(
    "accent columnalign columnlines columnspacing depth display displaystyle fence form height "
    "largeop linebreak linethickness lspace mathbackground mathcolor mathsize mathvariant maxsize "
    "minsize movablelimits notation rowlines rowspacing rspace scriptlevel separator stretchy "
    "voffset width xmlns".split()
)
ATTRIBUTE = re.compile(r' ([^\s="]+)="[^"]*"')
ELEMENT = re.compile(rf"<m[a-z]+({ATTRIBUTE.pattern})+")
LONGEST = 2000  # letters of a formula; the time for one grows with their square
# A minus after a sign that closes nothing, as in (-4) and = -2: of a number, not between two.
MINUS = re.compile(r"(?<!&#x000(?:29|5D|7C|7D);</mo>)(?<=</mo>)<mo>(?=&#x02212;</mo>)")
# The name of a function, or log with its base, right before what it is taken of, as in \ln 2.
NAMED = re.compile(
    r"((?<!<ms..>)<mi>[a-z]{2,}</mi>|<msub><mi>log</mi>(?:(?!</msub>).)*</msub>)(?=<m(?!o|space))"
)
SPACE = '<mspace width="0.167em" />'
# A formula and the sign behind it, which browsers would part at the end of a line.
SIGNED = re.compile(r'(<span class="math inline">(?:(?!</span>).)*</span>[.,;:!?)]+)')


def html_of(words: str) -> str:
    """Return Markdown as HTML."""
    return SIGNED.sub(r'<span class="tied">\1</span>', parser().render(words))


def inline_of(words: str) -> str:
    """Return one paragraph of Markdown as HTML that stands in a line."""
    return SIGNED.sub(r'<span class="tied">\1</span>', parser().renderInline(words))


@cache
def parser() -> Any:
    """Return what reads Markdown; raise InputError if it is not installed."""
    try:
        import latex2mathml.converter  # noqa: F401  # which formulas need
        from markdown_it import MarkdownIt
        from mdit_py_plugins.dollarmath import dollarmath_plugin
    except ImportError as error:
        raise InputError(
            "pages of lessons need markdown-it-py, mdit-py-plugins and latex2mathml: "
            f"{pip_command('serve')}"
        ) from error
    made = MarkdownIt("commonmark").enable("table")
    # Without labels, which become ids: the page finds its own parts by theirs.
    dollarmath_plugin(
        made, allow_space=False, allow_labels=False, double_inline=True, renderer=formula
    )
    for kind in ("html_block", "html_inline"):
        made.add_render_rule(kind, folding)
    return made


def formula(tex: str, options: dict[str, bool]) -> str:
    """Return a formula as MathML; one that is not understood as it is written."""
    from latex2mathml.converter import convert

    try:
        if len(tex) > LONGEST:
            raise ValueError
        plain = tex.replace("<", "< ")  # texts in it come out as they are: no element begins
        display = "block" if options["display_mode"] else "inline"
        made = ELEMENT.sub(needed, convert(plain, display=display))
        made = MINUS.sub('<mo form="prefix">', made)
        return NAMED.sub(rf"\1{SPACE}", made)
    except Exception:  # its parser raises errors of many kinds
        return f"<code>{escape(tex)}</code>"


def needed(element: re.Match[str]) -> str:
    """Return the beginning of an element with the attributes of MATH alone."""
    return ATTRIBUTE.sub(lambda each: each[0] if each[1] in MATH else "", element[0])


def folding(_: object, tokens: Any, index: int, *rest: object) -> str:
    """Return HTML of a text with the tags of FOLDING alone."""
    parts = TAG.findall(tokens[index].content)
    return "".join(each if FOLDING.fullmatch(each) else escape(each, quote=False) for each in parts)
