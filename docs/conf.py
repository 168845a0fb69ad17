"""Sphinx configuration of the site, which `make docs` builds in build/docs.

The source folder is the root of the repository, so links between the README, the guide and the
lessons use the same paths on the site, in a clone and on a code host. Formulas are MathML, and
pages load nothing from other servers.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from contextlib import suppress
from functools import partial
from html import escape, unescape
from pathlib import Path
from textwrap import shorten
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

import scalarviz
from scalarviz.base import __version__
from scalarviz.errors import EngineError
from scalarviz.faces.cli.lessons import write_lessons
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import played
from scalarviz.pages.lessons.lesson import formula
from scalarviz.pages.page import page_of
from tests.public_names import callables, public_objects

ROOT = Path(__file__).parent.parent
for name in ("metrics", "onnx", "sklearn"):  # modules by their public names
    sys.modules[f"scalarviz.{name}"] = getattr(scalarviz, name)
project, version = "scalarviz", __version__
copyright = "the authors of scalarviz, MIT licence"
root_doc = "docs/index"
extensions = [
    *("myst_nb", "sphinx_copybutton", "sphinx_design"),
    *("sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"),
]
include_patterns = ["docs/**", "notebooks/*.ipynb", "*.md"]
exclude_patterns = ["docs/pages/**", "docs/_templates/**", "README.md"]
templates_path = ["_templates", "docs/_templates"]
default_role = "code"

nb_execution_mode = "off"
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence", "dollarmath"]
napoleon_use_param = napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_ignore_module_all = False

html_theme = "furo"
html_title = f"scalarviz {version}"
html_favicon = "_static/cube.svg"
html_search_scorer = str(ROOT / "docs" / "_static" / "scorer.js")
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
highlight_options = {"python": {"stripnl": True}}
copybutton_exclude = ".linenos, .gp, .go"

FIRST = (
    '<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">'
    '<title>scalarviz</title><link rel="icon" href="data:,">'
)
TAGS = """<meta name="description" content="{words}">
<meta property="og:title" content="{title}">
<meta property="og:description" content="{words}">
<meta property="og:image" content="{image}">
"""
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
SIGN = re.compile(
    r"(`[^`]+`|^ *\.\. .*|^ *:\w+(?: [^:]*)?: *(?:\* )?|\*\*[^*]+\*\*(?= )|^ *\* )|([*_|])"
)  # markup by napoleon, or a character to escape
MATH = re.compile(r"\$([^$<>]+)\$")
NAME = re.compile(r"(?:sv\.)?([A-Za-z_][\w.]*)(?:\(.*\))?", re.DOTALL)


def setup(app: Sphinx) -> None:
    """Register the formula renderer, the text transforms, and the writer of interactive pages."""
    app.add_html_math_renderer(
        "mathml", (partial(write_math, False), None), (partial(write_math, True), None)
    )
    app.add_transform(LinkNames)
    app.add_transform(Questions)
    app.add_post_transform(QuietOutputs)
    app.connect("autodoc-process-docstring", plain)
    app.connect("html-page-context", describe)
    app.connect("build-finished", add_pages)


def write_math(mode: bool, writer: Any, node: nodes.Element) -> None:
    """Write a formula as MathML, on a separate line if `mode` is true."""
    writer.body.append(formula(node.astext(), {"display_mode": mode}))
    raise nodes.SkipNode


class LinkNames(SphinxTransform):
    """Links each public name in inline code to its entry in the reference."""

    default_priority = 400
    names = {name for name, _ in public_objects()} | {name for name, _, _ in callables()}

    def apply(self, **_: object) -> None:
        for node in list(self.document.findall(nodes.literal)):
            found = NAME.fullmatch(node.astext())
            if not found or isinstance(node.parent, nodes.reference | pending_xref):
                continue
            if found[1] in self.names and (
                node.astext().startswith("sv.") or found[1][0].isupper()
            ):
                target = f"scalarviz.{found[1]}"
                link = pending_xref(
                    "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True
                )
                node.replace_self(link)
                link += node


class Questions(SphinxTransform):
    """Writes each question block as text with its choices; only lesson pages accept answers."""

    default_priority = 200

    def apply(self, **_: object) -> None:
        for node in list(self.document.findall(nodes.literal_block)):
            if node.get("language") == "question":
                given = tomllib.loads(node.astext())
                rows = [nodes.list_item("", self.line(each)) for each in given.get("choices", [])]
                node.replace_self([self.line(given["ask"]), nodes.bullet_list("", *rows)])

    def line(self, text: str) -> nodes.paragraph:
        """Return a paragraph for a text with formulas between dollar signs."""
        parts = text.split("$")
        kinds = (nodes.Text, lambda tex: nodes.math(tex, tex))
        return nodes.paragraph(
            "", "", *(kinds[k % 2](part) for k, part in enumerate(parts) if part)
        )


class QuietOutputs(SphinxTransform):
    """Removes scripts from stored outputs of lessons, and writes their formulas as MathML.

    Pictures link to the page of the lesson, which is interactive.
    """

    default_priority = 900

    def apply(self, **_: object) -> None:
        if self.env.docname.startswith("notebooks/"):
            for node in list(self.document.findall(nodes.raw)):
                text = MATH.sub(in_output, SCRIPT.sub("", node.astext()))
                node.replace_self(nodes.raw("", text, format="html"))
            page = f"../docs/pages/{Path(self.env.docname).name}.html"
            for node in list(self.document.findall(nodes.image)):
                node.replace_self(nodes.reference("", "", node.deepcopy(), refuri=page))
            link = nodes.reference("", "Open this lesson with pictures that train", refuri=page)
            self.document[0].insert(2, nodes.paragraph("", "", link))


def in_output(found: re.Match[str]) -> str:
    return formula(unescape(found[1]), {"display_mode": False})


def plain(*given: Any) -> None:
    """Escape characters of a docstring that are not markup: in products, |x|, and names with _."""
    lines = given[-1]
    lines[:] = [line if ">>>" in line else SIGN.sub(escaped, line) for line in lines]


def escaped(found: re.Match[str]) -> str:
    return found[1] or f"\\{found[2]}"


def describe(app: Sphinx, name: str, _: str, context: dict[str, Any], tree: Any) -> None:
    """Add title, description and picture of a page, for search engines and link previews.

    The picture's address is a full URL if `html_baseurl` is set.
    """
    if tree is not None:
        first = next((each.astext() for each in tree.findall(nodes.paragraph)), project)
        words = escape(shorten(" ".join(first.split()), 200, placeholder=" ..."))
        used = [Path(each["uri"]).name for each in tree.findall(nodes.image)]
        picture = next((each for each in used if each.endswith(".png")), "step.png")
        image = f"{app.config.html_baseurl or context['pathto']('', 1)}_images/{picture}"
        context["metatags"] += TAGS.format(
            title=escape(app.env.titles[name].astext()), words=words, image=image
        )


def add_pages(app: Sphinx, error: Exception | None) -> None:
    """Write the interactive pages, pictures, and an index.html that redirects to the start page."""
    if error is None:
        pages = Path(app.outdir) / "docs" / "pages"
        shutil.copytree(ROOT / "docs" / "pages", pages, dirs_exist_ok=True)
        (Path(app.outdir) / "index.html").write_text(FIRST, encoding="utf-8")
        for kind in ("png", "webp"):  # to which the description and an installed guide link
            for path in (ROOT / "docs").glob(f"*.{kind}"):
                shutil.copy(path, pages.parent)
        for name in scenes() if app.tags.has("pages") else ():
            with suppress(EngineError):  # an expression has no page
                (pages / f"{name}.html").write_bytes(page_of(played(load(find(name)), {})).text)
        if app.tags.has("pages"):
            write_lessons([], str(pages))
