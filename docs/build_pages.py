"""Builds the documentation: README, the guide, other texts, the lessons, the reference.

    python -W error -m docs.build_pages          into build/docs; open build/docs/index.html

Needs the extra `docs`. It is an error if a docstring cannot be rendered, a link leads nowhere, a
page would fetch something from another server, or a public name has no entry.
"""

from __future__ import annotations

import re
import shutil
import sys
import warnings
from html import escape, unescape
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pdoc.doc
import pdoc.docstrings
import pdoc.render
import pdoc.render_helpers
from nbconvert import HTMLExporter

from scalarviz.faces.cli.class_pages import page_of_lesson
from scalarviz.pages.lessons.lesson import formula, html_of, lesson_of
from tests.public_names import callables, public_objects

ROOT = Path(__file__).parent.parent
HOMES = {"onnx": "files.onnx", "metrics": "training.metrics", "sklearn": "training.sklearn"}
MODULES = (
    *("scalarviz", "scalarviz.nn", "scalarviz.data"),
    *(f"scalarviz.{home}" for home in HOMES.values()),
)
TEXTS = (
    *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "BENCHMARKS.md"),
    *(f"docs/{name}.md" for name in ("RELIABILITY", "RELEASE", "GLOSSARY", "TRANSLATOR")),
)
PICTURES = ".png", ".webp"
ARGUMENT = re.compile(r"(\*?\w+(?:, \*?\w+)*)  +(\S.*)")  # argument names, description
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
MATH = re.compile(r"\$([^$<>]+)\$")  # in an output
# What a browser fetches by itself: all but links that somebody clicks.
FETCHED = re.compile(
    r"""<(?!a\b)\w+\b[^>]*?\b(?:src|href|data|poster)="((?:https?:)?//[^"]*)"""
    r"""|(?:@import\s+|url\()["']?((?:https?:)?//[^"')]*)"""
)
STYLE = """
body { max-width: 54rem; margin: 0 auto; padding: 1rem 1.5rem; color: #212529;
  font: 16px/1.55 system-ui, sans-serif; }
nav { padding-bottom: .6rem; border-bottom: 1px solid #ddd; } nav a { margin-right: 1.2rem; }
a { color: #0969da; } img { max-width: 100%; }
pre { background: #f6f8fa; padding: .7rem; overflow-x: auto; } code { font-size: 88%; }
table { border-collapse: collapse; } td, th { padding: .3rem .7rem; border: 1px solid #ddd; }
"""
ARGUMENTS_STYLE = """
dl.arguments { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; }
dl.arguments dt { font-family: monospace; } dl.arguments dd { margin: 0; }
"""


def main(folder: Path) -> None:
    """Write all pages into a folder, which is emptied first, and check them."""
    shutil.rmtree(folder, ignore_errors=True)
    write_texts(folder)
    for lesson in sorted((ROOT / "notebooks").glob("*.ipynb")):
        put(folder / "notebooks" / f"{lesson.stem}.html", lesson_page(lesson))
    write_reference(folder)
    check_names(folder)
    check_links(folder)


def write_texts(folder: Path) -> None:
    """Write README, the guide and other texts, with the pictures and pages that they show."""
    (folder / "docs" / "guide").mkdir(parents=True)
    for picture in [each for each in (ROOT / "docs").iterdir() if each.suffix in PICTURES]:
        shutil.copy(picture, folder / "docs")
    shutil.copytree(ROOT / "docs" / "pages", folder / "docs" / "pages")
    for name in TEXTS:
        text = (ROOT / name).read_text(encoding="utf-8")
        target = "index.html" if name == "README.md" else name.replace(".md", ".html")
        put(folder / target, page(markdown(text), "../" * name.count("/")))
    write_guide(folder / "docs" / "guide")


def write_guide(folder: Path) -> None:
    """Write the pages of the guide, and a list of them."""
    rows = ["# Guide", ""]
    for example in (ROOT / "docs" / "guide").glob("*.py"):
        shutil.copy(example, folder)
    for path in sorted((ROOT / "docs" / "guide").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        asks = "\n```question\n" in text
        made = page_of_lesson(lesson_of(path)).decode() if asks else page(markdown(text), "../../")
        put(folder / f"{path.stem}.html", made)
        title, _, rest = text.removeprefix("# ").partition("\n")
        first = " ".join(rest.split("\n\n")[0].split())
        rows.append(f"- [{title}]({path.name}): {first}".replace("](#", f"]({path.name}#"))
    put(folder / "index.html", page(markdown("\n".join(rows)), "../../"))


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def markdown(text: str) -> str:
    """Return Markdown as HTML; links to texts and lessons lead to their pages, others end."""
    html = str(pdoc.render_helpers.to_html(text))
    html = re.sub(r'<a href="(?:\.\./)?tests/[^"]*">(.*?)</a>', r"\1", html)
    return linked(html).replace('href="README.html"', 'href="index.html"')


def linked(html: str) -> str:
    """Return HTML whose links to texts and notebooks lead to their pages."""
    return re.sub(r'(href="(?!https?:)[^"]*)\.(?:md|ipynb)([#"])', r"\1.html\2", html)


def page(body: str, up: str = "") -> str:
    """Return an HTML page; `up` is the path to the folder of all pages."""
    places = {
        "README": "index.html",
        "Guide": "docs/guide/index.html",
        "Reference": "scalarviz.html",
        "Data sets": "scalarviz/data.html",
        "Metrics": "scalarviz/training/metrics.html",
        "scikit-learn": "scalarviz/training/sklearn.html",
        "ONNX": "scalarviz/files/onnx.html",
        "Changes": "CHANGELOG.html",
    }
    links = "".join(f'<a href="{up}{place}">{name}</a>' for name, place in places.items())
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{view}<title>scalarviz</title><style>{STYLE}</style>'
    return f"<!doctype html><html lang=en>{head}<body><nav>{links}</nav>{body}</body></html>"


def lesson_page(path: Path) -> str:
    """Return a stored lesson as a page, without the cells that check it, and without scripts.

    Formulas are MathML: nothing is fetched to draw them.
    """
    book = nbformat.read(path, as_version=4)
    book.cells = [cell for cell in book.cells if "check" not in cell.metadata.get("tags", [])]
    for cell in book.cells:
        for data in [each.data for each in cell.get("outputs", []) if "data" in each]:
            if "sv.predict" in cell.source and "text/html" in data:
                data["text/html"] = MATH.sub(mathml, data["text/html"])
    exporter = HTMLExporter()
    exporter.register_filter("markdown2html", html_of)
    body, _ = exporter.from_notebook_node(book, {"metadata": {"name": path.stem}})
    return linked(SCRIPT.sub("", str(body)))


def mathml(found: re.Match[str]) -> str:
    """Return a formula in the HTML of an output as MathML."""
    return formula(unescape(found[1]), {"display_mode": False})


def write_reference(folder: Path) -> None:
    """Write the pages of the public names."""
    warnings.filterwarnings("ignore", ".*memoryview.float")  # that takes Python 3.14
    for _ in public_objects():
        pass  # pdoc shows loaded names only
    pdoc.docstrings.convert = converted
    pdoc.render.configure(
        docformat="markdown", footer_text="scalarviz", search=True, show_source=False
    )
    modules = {name: pdoc.doc.Module(import_module(name)) for name in MODULES}
    for name, module in modules.items():
        html = pdoc.render.html_module(module, modules)
        html = html.replace("</head>", f"<style>{ARGUMENTS_STYLE}</style></head>", 1)
        put(folder / f"{name.replace('.', '/')}.html", alive(html))
    put(folder / "search.js", pdoc.render.search_index(modules))


def alive(html: str) -> str:
    """Return a page of pdoc without its links to names that it shows nowhere."""
    names = {*re.findall(r'\bid="([^"]+)"', html)}
    link = re.compile(r'<a href="#([^"]+)">(.*?)</a>')
    return link.sub(lambda found: found[0] if found[1] in names else found[2], html)


def converted(docstring: str, docformat: str, source: Path | None) -> str:
    """Return a docstring as Markdown: its arguments as a list of terms, its examples as code."""
    return "\n\n".join(map(block, re.split(r"\n{2,}", docstring)))


def block(paragraph: str) -> str:
    """Return a paragraph of a docstring as Markdown."""
    if paragraph.lstrip().startswith(">>>"):
        return f"```python\n{paragraph}\n```"
    if all(line.startswith("    ") for line in paragraph.split("\n")):
        return paragraph  # code already
    if not ARGUMENT.match(paragraph):  # a star is a product, not emphasis
        return re.sub(r"(`[^`]+`)|[*_]", lambda found: found[1] or f"\\{found[0]}", paragraph)
    rows: list[tuple[str, str]] = []
    for line in paragraph.split("\n"):
        if found := ARGUMENT.match(line):
            rows.append((found[1], found[2]))
        else:
            rows[-1] = rows[-1][0], f"{rows[-1][1]}\n{line.strip()}"
    terms = "".join(f"<dt>{escape(name)}</dt><dd>{in_line(text)}</dd>" for name, text in rows)
    return f'<dl class="arguments">{terms}</dl>'


def in_line(text: str) -> str:
    """Return a line with `code` as HTML."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def check_names(folder: Path) -> None:
    """Raise an error unless every public name, and every method of a public class, has an entry."""
    pages = {name: read(folder / f"{name.replace('.', '/')}.html") for name in MODULES}
    public = {name for name, _ in public_objects()}
    wanted = public | {name for name, _, _ in callables() if name.rpartition(".")[0] in public}
    for name in wanted:
        whole = "scalarviz." + re.sub(r"^\w+(?=\.)", lambda head: HOMES.get(head[0], head[0]), name)
        home = next(each for each in reversed(MODULES) if whole.startswith(f"{each}."))
        if f'id="{whole.removeprefix(home)[1:]}"' not in pages[home]:
            raise LookupError(f"{name} has no entry in the reference")


def check_links(folder: Path) -> None:
    """Raise an error if a link leads nowhere, or a page fetches something from another server."""
    pages = {path: read(path) for path in folder.resolve().rglob("*.html")}
    names = {path: {*re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    for path, whole in pages.items():
        text = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", whole, flags=re.DOTALL)
        if fetched := FETCHED.search(text):
            raise LookupError(f"{path.name} fetches {fetched[1] or fetched[2]}")
        for link, part in re.findall(r'(?:href|src)="([^"#?]*)(?:\?[^"#]*)?#?([^"]*)"', text):
            if re.match(r"[a-z]+:|//", link):
                continue
            target = (path.parent / unquote(link)).resolve() if link else path
            is_name = part and "=" not in part  # not a moment of a page that trains
            if not target.exists() or (is_name and unquote(part) not in names[target]):
                raise LookupError(f"{path.name} links to {link}#{part}, which is not there")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or [ROOT / "build" / "docs"]))
