"""The pages of docs/guide: their examples run, and their links lead somewhere."""

import re
import tempfile
from pathlib import Path

import pytest

from tests.guides import examples, run

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
README = ROOT / "README.md"


SLOW = ("microgpt", "sweeps")


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if p.stem in SLOW else ()) for p in PAGES],
    ids=lambda page: page.stem,
)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.syspath_prepend(page.parent)  # microgpt.py
    run(page)


def test_the_examples_of_readme_are_run_by_pytest() -> None:
    assert all(">>> " in code for _, code in examples(README.read_text(encoding="utf-8")))


def test_links_of_readme_to_pages_and_links_of_pages_lead_somewhere() -> None:
    linked = set(re.findall(r"\(docs/guide/([\w-]+)\.md\)", README.read_text(encoding="utf-8")))
    assert linked <= {page.stem for page in PAGES} and len(linked) > 2
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).is_file(), f"{page.name} links to {link}"


def test_an_example_that_is_wrong_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\n```python\n>>> x + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match="line 8"):
        run(page)
    page.write_text("```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        run(page)
