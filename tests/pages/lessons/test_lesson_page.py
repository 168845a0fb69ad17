"""Lessons as pages: what they are made of, and what they refuse."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from typer.testing import CliRunner

import scalarviz as sv
from scalarviz.errors import InputError
from scalarviz.faces.cli.commands import application
from scalarviz.faces.cli.lessons import all_named, named, page_of_lesson, write_lessons
from scalarviz.pages.lessons.lesson import (
    HANDOUTS,
    LessonPicture,
    html_of,
    is_left_out,
    lesson_of,
    lessons,
    parser,
    solutions_of,
    without_solutions,
)
from scalarviz.pages.lessons.lesson_page import LARGEST, shown_by
from scalarviz.pages.lessons.questions import Question
from tests.wording import refused

MINE = """# My lesson

Some $x^2$, and a table:

| a | b |
|---|---|
| 1 | `2` |

```question
ask = "What is 2 times 3?"
answer = 6
[replies]
"5" = "That is a sum."
```

After it.

```python
print(6)
```
"""


def written(folder: Path, content: str, name: str = "mine.md") -> Path:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return path


def test_a_lesson_of_ones_own_is_a_text_with_questions(tmp_path: Path) -> None:
    lesson = lesson_of(written(tmp_path, MINE))
    assert lesson.title == "My lesson" and lesson.name == "mine"
    assert [type(each).__name__ for each in lesson.parts] == ["Text", "Question", "Text"]
    page = page_of_lesson(lesson).decode()
    for part in ("<h1>My lesson</h1>", "<math", "<table>", "<code>2</code>", "print(6)"):
        assert part in page
    assert page.index("<h1>") < page.index('class="question"') < page.index("After it.")
    assert "That is a sum" not in page  # answers and replies are packed


@pytest.mark.parametrize("moment", ["hidden = 3", 'step = "x"'])
def test_a_moment_that_no_picture_understands_is_refused(moment: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine.md"
    mine.write_text(f'# A\n\n```picture\nscene = "rgb"\n{moment}\n```\n')
    refused(InputError, "a picture in mine").by(page_of_lesson, named(str(mine)))


def test_a_picture_shows_a_scene_or_a_saved_run(tmp_path: Path) -> None:
    session = sv.Session(sv.Network([2, 1]), sv.data.Xor(), "mse", sv.SGD(0.5), engine="python")
    session.advance(3)
    run = tmp_path / "run.safetensors"
    session.save(run)
    block = f'# A\n\n```picture\nscene = "{run}"\nstep = 2\npin = 1\n```\n'
    page = page_of_lesson(named(str(written(tmp_path, block)))).decode()
    assert 'class="picture"' in page
    assert "frame-src blob:" in page and len(page) < LARGEST
    refused(InputError, "'rgbb'", "'rgb'").by(
        page_of_lesson, named(str(written(tmp_path, block.replace(str(run), "rgbb"))))
    )


@pytest.mark.parametrize(
    ("content", "name", "wrong"),
    [
        ("no title", "mine.md", "title"),
        ("# A\n```question\nask = 1\n```\n", "mine.md", "answer"),
        ("# A\n```question\n[[\n```\n", "mine.md", "TOML"),
        ('# A\n```question\nask = "$2 \\cdot 3$"\n```\n', "mine.md", "single quotes"),
        ("# A\n![a plot](plot.png)", "mine.md", "plot.png"),
        ("# A\n```picture\nstep = 1\n```\n", "mine.md", "scene"),
        ('# A\n``` question\nask = "a"\nanswer = 3\n', "mine.md", "no end"),
        (f"# A\n```question\nanswer = {'9' * 5000}\n```\n", "mine.md", "TOML"),
        ("{}", "mine.ipynb", "notebook"),
        ('{"cells": []}', "mine.ipynb", "title"),
        ("[" * 100_000, "mine.ipynb", "notebook"),
        ("# A", "mine.txt", ".md"),
        ("# A" * 2_000_000, "mine.md", "bytes"),
    ],
    ids="title answer toml slash file scene open digits empty cells deep ending large".split(),
)
def test_what_is_no_lesson_is_refused(content: str, name: str, wrong: str, tmp_path: Path) -> None:
    refused(InputError, wrong).by(lesson_of, written(tmp_path, content, name))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    refused(InputError, "none.md").by(named, str(tmp_path / "none.md"))
    (tmp_path / "mine.md").write_bytes(b"# \xff")
    refused(InputError, "UTF-8").by(named, str(tmp_path / "mine.md"))


def test_two_lessons_of_one_name_are_refused_before_either_is_written(tmp_path: Path) -> None:
    places = [tmp_path / name for name in ("a", "b")]
    for place in places:
        place.mkdir()
        written(place, MINE)
    refused(InputError, "mine.html").by(
        write_lessons, [str(place / "mine.md") for place in places], str(tmp_path / "out")
    )
    assert not (tmp_path / "out").exists()


def test_a_question_is_found_behind_any_fence(tmp_path: Path) -> None:
    fences = (f'# A\n{each}question\nask = "a"\nanswer = 3\n```\n' for each in ("``` ", "````"))
    for content in fences:
        lesson = lesson_of(written(tmp_path, f"\ufeff{content}"))
        assert [type(each).__name__ for each in lesson.parts] == ["Text", "Question", "Text"]


@pytest.mark.some(3)
@pytest.mark.parametrize("content", ["```python\n", "<div\n" + "<" * 30, f"$\\text{{{'{' * 30}$ "])
def test_a_long_text_of_any_kind_is_read(content: str, tmp_path: Path) -> None:
    """In seconds; they were minutes, in which a test ends."""
    assert lesson_of(written(tmp_path, "# A\n" + content * 5_000)).parts


@pytest.mark.parametrize(
    "lack", ["markdown_it", "mdit_py_plugins.dollarmath", "latex2mathml.converter"]
)
def test_without_a_package_it_says_what_to_install(
    lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser.cache_clear()
    monkeypatch.setitem(sys.modules, lack, None)
    refused(InputError, "pip install").by(html_of, "$x$")
    parser.cache_clear()


def test_without_a_package_of_a_lesson_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    refused(InputError, "matplotlib", varies="install .*").by(page_of_lesson, named("01"))


def test_no_part_of_a_text_has_an_id() -> None:
    assert "id=" not in html_of("$$x$$ (data)\n")  # where the page has its data


def test_html_in_a_text_is_shown_as_it_is_written() -> None:
    made = html_of(
        "a <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n"
        "[x](javascript:alert(1))\n\n"
        "$\\text{<script>alert(1)</script>}$\n\n"
        "<details><summary>More</summary>\n\n**b**\n</details>"
    )
    assert "<script" not in made and "<img" not in made and "href" not in made
    assert "<details><summary>More</summary>" in made and "<strong>b</strong>" in made
    assert "<code>\\unknown{</code>" in html_of("$\\unknown{$")


def test_the_sign_behind_a_formula_stays_with_it() -> None:
    first, _, last = html_of("The numbers $a$ and $b$, the leaves").partition(" and ")
    assert "tied" not in first and last.startswith('<span class="tied"><span class="math')
    assert "</math></span>,</span> the leaves" in last


@pytest.mark.parametrize(
    ("formula", "spaces"),
    [
        ("-\\ln p_r", 1),
        ("\\log_{10} 0.01 = -2", 1),
        ("\\sin \\pi x, \\cos 16 \\pi x", 2),
        ("\\ln (a + b)", 0),
        ("\\ln\\,(a)", 1),
        ("\\sin^2 x", 0),
        ("w x + \\text{sum}", 0),
    ],
)
def test_a_function_and_what_it_is_taken_of_are_apart(formula: str, spaces: int) -> None:
    assert html_of(f"${formula}$").count("<mspace") == spaces


@pytest.mark.parametrize(
    ("formula", "kept"),
    [
        ("\\href{javascript:alert(1)}{x}", "<mrow><mrow><mi>x</mi>"),
        ('\\href{a>b" onload="c}{x}', "<mrow><mrow><mi>x</mi>"),
        ("\\style{position:fixed}{x}", "<mrow><mi>x</mi>"),
        ("\\class{button}{x}", "<mrow><mi>x</mi>"),
        ("\\color{a href=}{x}", '<mstyle mathcolor="a href="><mrow><mi>x</mi>'),
        ("\\begin{array}{l|c} a & b \\end{array}", '<mtable columnlines="solid">'),
        ('\\text{ href="a"}', '<mtext>&#x000A0;href="a"</mtext>'),
        ("\\left( x", "<code>\\left( x</code>"),  # not understood: as it is written
        *[  # a minus after a sign stands close to its number
            (formula, '<mo form="prefix">&#x02212;</mo>')
            for formula in ("w \\cdot (-4)", "y = -2", "a \\le -1", "(1, -2)")
        ],
    ],
)
def test_a_formula_has_attributes_of_mathml_alone(formula: str, kept: str) -> None:
    assert kept in html_of(f"${formula}$")


@pytest.mark.parametrize("formula", ["y - 3", "(y) - 3", "|x| - 1", "-8"])
def test_a_minus_between_two_numbers_keeps_its_room(formula: str) -> None:
    assert "form=" not in html_of(f"${formula}$")


@pytest.mark.parametrize("number", list(lessons()))
def test_a_lesson_has_the_questions_and_pictures_of_its_notebook(number: str) -> None:
    path = lessons()[number]
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if not is_left_out(cell)]
    asked = [found[1] for each in sources if (found := re.match(r'sv\.predict\("(.+)"\)', each))]
    parts = lesson_of(path).parts
    keys = [f"{number}/{each.key}" for each in parts if isinstance(each, Question)]
    assert keys == asked and len(keys) >= 5
    assert sum(isinstance(each, LessonPicture) for each in parts) == sum(
        each.split("\n")[-1].startswith("sv.watch(") for each in sources
    )
    texts = "".join(each.html for each in parts if hasattr(each, "html"))
    assert "<h1>" in texts and "A check; you need not read it" not in texts


def texts_of(lesson: Any) -> str:
    return "".join(each.html for each in lesson.parts if hasattr(each, "html"))


@pytest.mark.parametrize("number", list(lessons()))
def test_a_lesson_without_solutions_has_all_else_and_they_are_a_page_apart(number: str) -> None:
    whole = lesson_of(lessons()[number])
    short, apart = texts_of(without_solutions(whole)), texts_of(solutions_of([whole]))
    folded = re.findall("<summary>.*?</summary>", texts_of(whole))
    assert len(folded) >= 2 and re.findall("<summary>.*?</summary>", apart) == folded
    assert "<details>" not in short and "Exercises</h2>" in short
    links = [re.findall(r'href="([\w-]+\.html)"', each) for each in (texts_of(whole), short)]
    assert links[0] == links[1]  # to the next lesson, too
    assert whole.title in apart and without_solutions(whole).name == whole.name


def test_the_command_line_leaves_solutions_out_or_writes_them_alone(tmp_path: Path) -> None:
    words = (
        MINE + "\n## Answers\n\n<details><summary>1</summary>\n\nforty-two\n</details>\n\nEnd.\n"
    )
    mine = str(written(tmp_path, words))
    for more in ("--without-solutions", "--solutions"):
        arguments = ["lesson", mine, "-o", str(tmp_path / "out"), more]
        done = CliRunner().invoke(application(arguments), arguments)
        assert done.exit_code == 0, done.output
    page = (tmp_path / "out" / "mine.html").read_text(encoding="utf-8")
    assert "forty-two" not in page and "End." in page
    apart = (tmp_path / "out" / "solutions.html").read_text(encoding="utf-8")
    assert "forty-two" in apart and "End." not in apart and "My lesson" in apart


def test_lessons_lead_to_the_glossary_which_leads_to_their_pages() -> None:
    assert 'href="glossary.html"' in page_of_lesson(without_pictures(named("01"))).decode()
    assert all_named(["lessons"]) == [*lessons(), "glossary"]
    assert all_named(["1", "4b", "14"]) == ["01", "04b", "14", "glossary"]
    for names, beside in [(["01"], 1), (["01", "glossary"], 0), (["questions-before"], 0)]:
        assert all_named(names) == [*names, *["glossary"] * beside]
    page = page_of_lesson(named("glossary")).decode()
    links = {*re.findall(r'href="([^"]+)"', page)} - {"data:,"}
    assert len(links) >= 10 and links <= {f"{path.stem}.html" for path in lessons().values()}


def without_pictures(lesson: Any) -> Any:
    """The lesson in a page that is made in no time."""
    parts = tuple(each for each in lesson.parts if not isinstance(each, LessonPicture))
    return replace(lesson, parts=parts)


def test_the_ten_questions_are_the_same_before_and_after() -> None:
    before, after = (
        [each for each in named(f"questions-{when}").parts if isinstance(each, Question)]
        for when in ("before", "after")
    )
    assert len(before) == 10 and {each.lesson for each in before} == {"questions-before"}
    assert [replace(each, lesson="questions-before") for each in after] == before
    assert all("no idea" in each.choices and not each.why for each in before)
    assert {*HANDOUTS} == {"glossary", "questions-before", "questions-after"}


@pytest.mark.some(1)
@pytest.mark.parametrize("number", ["01", "02", "03", "04", "05", "10"])
def test_its_pictures_train_from_where_the_notebook_shows_them(number: str) -> None:
    lesson = lesson_of(lessons()[number])
    pictures = [each for each in lesson.parts if isinstance(each, LessonPicture)]
    shown = [shown_by(lesson.code, each.cell) for each in pictures]
    sessions: list[Any] = [each for each in shown if isinstance(each, sv.Session)]
    assert any(each.network.layers for each in sessions)


def test_the_cubes_of_a_picture_have_their_numbers_if_its_lesson_says_so() -> None:
    found = {number: lesson_of(lessons()[number]).parts for number in ("01", "04")}
    moments = {
        number: [each.moment for each in parts if isinstance(each, LessonPicture)]
        for number, parts in found.items()
    }
    assert moments == {"01": [{"numbers": "yes"}] * 2, "04": [{}] * 2}


@pytest.mark.slow
@pytest.mark.parametrize("number", list(lessons()))
def test_a_moment_that_a_question_shows_is_one_of_its_picture(number: str) -> None:
    """A page cannot go back before the step that its session stands at."""
    lesson = lesson_of(lessons()[number])
    shown = [
        shown_by(lesson.code, each.cell) for each in lesson.parts if isinstance(each, LessonPicture)
    ]
    first = min(getattr(each, "step_index", 0) for each in shown)
    asked = [each for each in lesson.parts if isinstance(each, Question) and each.see]
    steps = [int(parse_qs(each.see)["step"][0]) for each in asked]
    assert steps and min(steps) >= first


@pytest.mark.slow
@pytest.mark.parametrize("number", list(lessons()))
def test_its_page_is_one_file_that_is_not_large(number: str, tmp_path: Path) -> None:
    write_lessons([number], str(tmp_path))
    (path,) = tmp_path.glob("[0-9]*.html")  # beside it lies the glossary
    assert 100_000 < path.stat().st_size <= LARGEST
    page = path.read_text(encoding="utf-8")
    outside = [each for each in re.findall(r'(?:src|href)="([^"]+)"', page) if "://" in each]
    assert all(each.startswith("https://github.com/karpathy/micrograd") for each in outside)
    assert 'class="picture"' in page
