"""The pages in docs/pages: which there are, how large, of which version, and the same each time."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.pages import page as module

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pages"
PAGES = sorted(FOLDER.glob("*.html"))
MARK = f'<meta name="generator" content="scalarviz {sv.__version__}">'


def maker() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "build_demo_pages.py"))


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
    assert readme.startswith("Try it: ")
    assert {*re.findall(r"\(docs/pages/([^)]*)\)", readme)} == made | {"index.html"}


def test_the_same_code_makes_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: (b"\0asm", b"numbers", {}))
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
    (tmp_path / "older.html").touch()
    main = maker()["main"]
    main(tmp_path)
    assert not (tmp_path / "older.html").exists()
    main.__globals__["LARGEST"] = 10_000
    with pytest.raises(ValueError, match="rgb"):
        main(tmp_path / "other")
    assert not (tmp_path / "other").exists()
