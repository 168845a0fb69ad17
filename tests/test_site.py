"""The site of `make docs`: its links lead somewhere, and nothing comes from another server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pages.browser import chromium

LINKS = "all => all.map(each => each.href)"


@pytest.fixture(scope="module")
def builder() -> Any:
    pytest.importorskip("pdoc", reason="pip install 'scalarviz[docs]'")
    from docs import build_pages

    return build_pages


@pytest.fixture(scope="module")
def site(builder: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    builder.main(folder)
    return folder


@pytest.mark.slow
def test_what_a_browser_opens_fetches_nothing_and_every_link_finds_its_place(site: Path) -> None:
    places: dict[str, set[str]] = {}
    links: list[tuple[str, str]] = []
    with chromium() as browser:
        page, asked = browser.new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        for path in sorted(site.rglob("*.html")):
            page.goto(f"{path.as_uri()}#tour=no")
            url = path.as_uri()
            places[url] = {*page.locator("[id]").evaluate_all("all => all.map(each => each.id)")}
            found = page.locator("a[href]").evaluate_all(LINKS)
            links += [(url, each.replace("#tour=no", "")) for each in found]
            assert path.parent.name != "notebooks" or page.locator("math").count(), path.name
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    lost = []
    for url, link in links:
        target, _, name = link.partition("#")
        if target.startswith("file:") and (
            not Path(target.removeprefix("file://")).exists()
            or (name and "=" not in name and name not in places[target])
        ):
            lost.append((Path(url).name, link))
    assert len(links) > 1000 and lost == []


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
def test_a_lost_link_or_a_stranger_ends_the_build(
    builder: Any, tmp_path: Path, html: str, wrong: str
) -> None:
    good = '<p id="there"><a href="page.html#there"><a href="https://a.example">'
    (tmp_path / "page.html").write_text(good)
    builder.check_links(tmp_path)
    (tmp_path / "page.html").write_text(html)
    with pytest.raises(LookupError) as found:
        builder.check_links(tmp_path)
    assert wrong in str(found.value)
