"""The page that README links to, and those of `make pages`: small, and the same each time."""

import io
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import scalarviz as sv
from scalarviz.faces.scene_file import find
from scalarviz.pages import page as module
from scalarviz.pages.plain_pages import Entry, Still, index_of
from tests.root import ROOT

FOLDER = ROOT / "docs" / "pages"
MARK = f'<meta name="generator" content="scalarviz {sv.__version__}">'


STILL = Still(b"RIFF", (960, 376), "A network")


def maker(still: Still | None = STILL) -> dict[str, Any]:
    """What the script defines; its pictures are `still`, if there is one."""
    found = runpy.run_path(str(ROOT / "docs" / "build_demo_pages.py"))
    if still is not None:
        found["main"].__globals__["still_of"] = lambda *_: still
    return found


def test_readme_links_to_one_page_of_this_version_that_is_small_and_stands_alone() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.match(r"# scalarviz\n\nTry it: \[[^]]*\]\(docs/pages/rgb\.html\)", readme)
    assert [page.name for page in FOLDER.iterdir()] == ["rgb.html"]
    page = (FOLDER / "rgb.html").read_text(encoding="utf-8")
    assert MARK in page and "<a href" not in page and len(page) < 400_000


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
@pytest.mark.usefixtures("no_kernels")
def test_the_same_code_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "spare_of", lambda *_: None)  # test_spare.py has that
    for name in ("first", "second"):
        maker()["main"](tmp_path / name)
    first, second = (
        {f.name: f.read_bytes() for f in (tmp_path / n).iterdir()} for n in ("first", "second")
    )
    assert first == second and len(first) == 6
    assert re.search(r"^xor\.html: \d+ kB$", capsys.readouterr().out, re.M)


@pytest.mark.slow
@pytest.mark.usefixtures("no_kernels")
def test_pages_lead_to_their_list_and_to_each_other_and_one_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "spare_of", lambda *_: None)  # test_spare.py has that
    main = maker()["main"]
    main(tmp_path)
    made = {file.name for file in tmp_path.iterdir()}
    assert made == {f"{name}.html" for name in [*main.__globals__["SCENES"], "index"]}
    for name in made:
        links = re.findall(r'<a href="([^"]*)"', (tmp_path / name).read_text(encoding="utf-8"))
        assert {*links} == made - {name} and (name == "index.html" or links[0] == "index.html")
    main.__globals__["LARGEST"] = 10_000
    with pytest.raises(ValueError, match="rgb"):
        main(tmp_path / "other")
    assert not (tmp_path / "other").exists()
