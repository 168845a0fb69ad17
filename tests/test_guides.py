"""The pages of docs/guide: their examples run, and their links lead somewhere."""

import re
import tempfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scalarviz.faces.cli.class_pages import named
from scalarviz.faces.cli.commands import application
from scalarviz.pages.lessons.questions import Question, question
from tests.guides import examples, run
from tests.lessons import is_check, read
from tests.root import ROOT

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


TERM = re.compile(
    r"^\*\*`?(.+?)`?( \(.+?\))?\*\*: (.+?)\s\[Lesson\s(\d+b?)\]\((.+?)\)$", re.M | re.S
)
GLOSSARY = ROOT / "docs" / "guide" / "glossary.md"


def terms() -> list[tuple[str, str, str, Path]]:
    """The terms of the glossary, with what is said of each, and number and file of its lesson."""
    _, _, *parts = GLOSSARY.read_text(encoding="utf-8").strip().split("\n\n")
    found = [TERM.fullmatch(part) for part in parts]
    assert all(found), parts[found.index(None)] if None in found else ""
    return [(each[1], each[3], each[4], GLOSSARY.parent / each[5]) for each in found if each]


def test_the_glossary_is_sorted_and_says_each_term_in_two_sentences_at_most() -> None:
    names = [name.lower() for name, *_ in terms()]
    assert names == sorted(names) and len({*names}) >= 40
    for name, said, _, _ in terms():
        assert len(re.findall(r"[.?](?:\s|$)", said)) <= 2, name


def test_each_term_of_the_glossary_links_to_a_lesson_that_has_the_word() -> None:
    for name, _, number, path in terms():
        assert path.stem.lstrip("0").startswith(f"{number}-"), name
        shown = " ".join(cell.source for cell in read(path).cells if not is_check(cell))
        assert re.search(rf"\b{re.escape(name)}", " ".join(shown.split()), re.I), (
            f"{path.stem} does not say {name}: link another lesson in the glossary"
        )


def test_an_example_that_is_wrong_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```python\nx = 1\n```\n\n```python\n>>> x + 1\n3\n\n```\n")
    with pytest.raises(AssertionError, match="line 8"):
        run(page)
    page.write_text("```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        run(page)


TEACHING = ROOT / "docs" / "guide" / "teaching.md"
GUESS = re.compile(r"`(\d\d\w?/\w+)`: ([^;|]+?) *(?=[;|])")


def test_each_wrong_guess_of_the_page_for_teachers_has_a_reply_in_its_lesson() -> None:
    guesses = GUESS.findall(TEACHING.read_text(encoding="utf-8"))
    assert len(guesses) >= 20 and len({place.partition("/")[0] for place, _ in guesses}) >= 5
    for place, guess in guesses:
        asked = question(place)
        assert guess in asked.replies and not asked.is_right(guess), (place, guess)


def test_the_key_of_the_ten_questions_has_what_is_right_and_each_wrong_choice() -> None:
    words = TEACHING.read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (\d+) \| ([^|]+) \| ([^|]+:[^|]+) \|$", words.rpartition("\n## ")[2], re.M
    )
    asked = [each for each in named("questions-before").parts if isinstance(each, Question)]
    assert [int(number) for number, _, _ in rows] == [*range(1, 11)]
    for (_, right, told), each in zip(rows, asked, strict=True):
        assert right == each.answer
        wrong = {choice for choice in each.choices if choice not in (right, "no idea")}
        assert {part.partition(":")[0] for part in re.split(r"\. ", told)} == wrong


def test_the_plans_name_sections_and_exercises_that_their_lessons_have() -> None:
    said, names = "", 0
    for row in re.findall(r"^\| \d+ \| .+$", TEACHING.read_text(encoding="utf-8"), re.M):
        here = re.findall(r"\b\d\d\w?-[a-z-]+\b", row)
        paths = [ROOT / "notebooks" / f"{name}.ipynb" for name in here]
        cells = [cell.source for path in paths for cell in read(path).cells]
        said = "\n".join(cells) or said
        headings = re.findall(r"^## (.+)$", said, re.M)
        for name in re.findall(r'"([A-Z][^"]+)"', row):
            assert any(each.startswith(name) for each in headings), (name, headings)
            names += 1
        exercises = re.search(r"## Exercises\n(.+?)(?=\n<details>|\n#|\Z)", said, re.S)
        for number in re.findall(r"exercises? (\d)", row):
            assert exercises and f"{number}. " in exercises[1], (number, row)
    assert names >= 10


def test_the_commands_of_the_page_for_teachers_are_understood() -> None:
    lines = re.findall(r"^ +\.venv/bin/scalarviz (.+)$", TEACHING.read_text(encoding="utf-8"), re.M)
    assert len(lines) >= 8
    for line in map(str.split, lines):
        arguments = [*line, "--help"]
        done = CliRunner().invoke(application(arguments), arguments)
        options = {each for each in line if each.startswith("--")}
        assert done.exit_code == 0 and all(each in done.output for each in options), line
