"""The pages in docs/pages: which there are, how large, of which version, and the same each time."""

import io
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import scalarviz as sv
from scalarviz.pages import page as module
from scalarviz.pages.index_page import Entry, Still, index_of
from scalarviz.scenefiles.find import find

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pages"
PAGES = sorted(FOLDER.glob("*.html"))
MARK = f'<meta name="generator" content="scalarviz {sv.__version__}">'


STILL = Still(b"RIFF", (960, 376), "A network")


def maker(still: Still | None = STILL) -> dict[str, Any]:
    """What the script defines; its pictures are `still`, if there is one."""
    found = runpy.run_path(str(ROOT / "docs" / "build_demo_pages.py"))
    if still is not None:
        found["main"].__globals__["still_of"] = lambda *_: still
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_of_this_version_and_small(page: Path) -> None:
    assert MARK in page.read_text(encoding="utf-8"), "run `make pages`"
    assert page.stat().st_size < (5_000_000 if page.stem in ("texture", "digits") else 1_000_000)


def test_there_are_those_that_are_made_and_the_list_and_readme_link_to_each() -> None:
    made = {f"{name}.html" for name in maker()["SCENES"]}
    assert {page.name for page in PAGES} == made | {"index.html"}
    listed = re.findall(r'<a href="([^"]*)"', (FOLDER / "index.html").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(made)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.startswith("# scalarviz\n\nTry it: ")
    assert {*re.findall(r"\(docs/pages/([^)]*)\)", readme)} == made | {"index.html"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rgb", "digits"])
def test_a_picture_in_the_list_is_small_and_the_same_each_time(name: str) -> None:
    made = maker(None)
    one, other = (made["still_of"](find(name), made["SCENES"][name]) for _ in range(2))
    assert one == other and 5_000 < len(one.image) <= 60_000
    image = Image.open(io.BytesIO(one.image))
    assert image.format == "WEBP" and image.size == one.size
    assert len(image.convert("RGB").getcolors(1_000_000)) > 1000  # not an empty one


def test_the_list_has_a_card_for_each_with_picture_and_words_that_are_no_html() -> None:
    nasty = '<img src=x onerror=alert(1)>"'
    card = Entry("a b", nasty, nasty, nasty, Still(b"\0", (4, 3), nasty))
    page = index_of([card, Entry("xor", "Learns XOR.")]).decode()
    assert page.count("<li>") == 2 and page.count("<img ") == 1 and "onerror=alert(1)>" not in page
    assert 'href="a%20b.html"' in page and "<h2>xor</h2><p>Learns XOR.</p></a>" in page
    assert 'src="data:image/webp;base64,AA==" width="4" height="3" alt="&lt;img' in page


@pytest.mark.slow
def test_the_same_code_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: (b"\0asm", b"numbers", {}))
    monkeypatch.setattr(module, "spare_of", lambda *_: None)  # test_spare.py has that
    for name in ("first", "second"):
        maker()["main"](tmp_path / name)
    first, second = (
        {f.name: f.read_bytes() for f in (tmp_path / n).iterdir()} for n in ("first", "second")
    )
    assert first == second and len(first) == 6
    assert re.search(r"^xor\.html: \d+ kB$", capsys.readouterr().out, re.M)


def test_a_page_that_is_no_longer_made_goes_and_one_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: (b"\0asm", b"numbers", {}))
    monkeypatch.setattr(module, "spare_of", lambda *_: None)  # test_spare.py has that
    (tmp_path / "older.html").touch()
    main = maker()["main"]
    main(tmp_path)
    assert not (tmp_path / "older.html").exists()
    made = {file.name for file in tmp_path.iterdir()}
    for name in made - {"index.html"}:  # each leads to the list and to the others
        links = re.findall(r'<a href="([^"]*)"', (tmp_path / name).read_text(encoding="utf-8"))
        assert links[0] == "index.html" and {*links} == made - {name}
    main.__globals__["LARGEST"] = 10_000
    with pytest.raises(ValueError, match="rgb"):
        main(tmp_path / "other")
    assert not (tmp_path / "other").exists()
