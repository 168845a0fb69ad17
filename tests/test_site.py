"""The site: every page is built, every name has an entry, every link is valid."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

import pytest

from scalarviz.faces.scene_file import scenes
from scalarviz.pages.lessons.lesson import lessons
from tests.machine import ROOT
from tests.pages.browser import chromium
from tests.public_names import callables, public_objects

# Resources that a browser loads automatically, unlike links.
FETCHED = re.compile(
    r"""<(?!a\b|link rel="canonical")\w+\b[^>]*?\b(?:src|href|data|poster)="((?:https?:)?//[^"]*)"""
    r"""|(?:@import\s+|url\()["']?((?:https?:)?//[^"')]*)"""
)
FREEZING = "Layer", "Network", "Session", "Perceptron", "Weight", "Cubes"
LINK = re.compile(r'(?:href|src)="([^"#?]*)(?:\?[^"#]*)?#?([^"]*)"')


def built(folder: Path) -> Path:
    """Build the site into a folder, with warnings as errors and without the pages of scenes."""
    pytest.importorskip("sphinx", reason="pip install 'scalarviz[docs]'")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-qW",
        "--keep-going",
        "-c",
        "docs",
        ".",
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Written by `make docs` alone, which takes long.
    for name in (*scenes(), *(path.stem for path in lessons().values())):
        (folder / "docs" / "pages" / f"{name}.html").touch()
    return folder


def faults(folder: Path) -> list[str]:
    """Return invalid links, and resources loaded from other servers."""
    pages = {path: path.read_text(encoding="utf-8") for path in folder.resolve().rglob("*.html")}
    names = {path: {*re.findall(r'\bid="([^"]+)"', text)} for path, text in pages.items()}
    found = []
    for path, whole in pages.items():
        text = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", whole, flags=re.DOTALL)
        found += [f"{path.name} fetches {each[1] or each[2]}" for each in FETCHED.finditer(text)]
        for link, part in LINK.findall(text):
            if re.match(r"[a-z]+:|//", link):
                continue
            target = (path.parent / unquote(link)).resolve() if link else path
            is_name = part and "=" not in part and target.suffix == ".html"
            if not target.exists() or (is_name and unquote(part) not in names[target]):
                found.append(f"{path.name} links to {link}#{part}")
    return found


def entries(folder: Path) -> set[str]:
    """Return the names that have an entry in the reference."""
    index = (folder / "objects.inv").read_bytes().split(b"\n", 4)[4]
    return {line.split(" ", 1)[0] for line in zlib.decompress(index).decode().splitlines()}


def test_the_site_is_whole(tmp_path: Path) -> None:
    site = built(tmp_path)
    assert faults(site) == []
    public = {name for name, _ in public_objects()}
    methods = {name for name, _, _ in callables() if name.rpartition(".")[0] in public}
    assert {f"scalarviz.{name}" for name in public | methods} <= entries(site)
    # The search for a method finds the classes that have it, not each kind of layer.
    freezing = {name for name in entries(site) if name.endswith(".freeze")}
    assert freezing == {f"scalarviz.{kind}.freeze" for kind in FREEZING}
    gallery = (site / "docs" / "gallery.html").read_text(encoding="utf-8")
    assert all(f"scalarviz watch {name}" in gallery for name in scenes())
    first = (site / "docs" / "index.html").read_text(encoding="utf-8")
    assert 'src="pages/rgb.html' in first and "docs/index.html" in (site / "index.html").read_text()
    assert all(
        part in (site / "notebooks" / "05-xor.html").read_text(encoding="utf-8")
        for part in (
            "<math",
            '<a class="reference external image-reference" href="../docs/pages/05-xor.html"',
            '<meta property="og:description" content="20 minutes. Goal: see',
            '<meta property="og:image" content="../_images/',
        )
    )


@pytest.mark.slow
def test_a_browser_that_opens_the_site_fetches_nothing(tmp_path: Path) -> None:
    site = built(tmp_path)
    with chromium() as browser:
        page, asked = browser.new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        for path in sorted(site.rglob("*.html")):
            page.goto(f"{path.as_uri()}#tour=no")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize(
    ("html", "wrong"),
    [
        ('<a href="other.html">', "other.html"),
        ('<a href="#there">', "#there"),
        ('<p id="there"><a href="page.html#her">', "page.html#her"),
        ('<script src="https://a.example/b.js"></script>', "https://a.example/b.js"),
        ('<link rel="stylesheet" href="//a.example/b.css">', "//a.example/b.css"),
        ("<style>p { background: url(https://a.example/b.png) }</style>", "a.example/b.png"),
    ],
)
def test_a_lost_link_or_another_server_is_found(tmp_path: Path, html: str, wrong: str) -> None:
    page = tmp_path / "page.html"
    page.write_text('<p id="there"><a href="page.html#there"><a href="https://a.example">')
    assert faults(tmp_path) == []
    page.write_text(html)
    (found,) = faults(tmp_path)
    assert wrong in found
