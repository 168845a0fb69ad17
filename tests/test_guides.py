"""The pages of docs/guide.

Their examples run, their links are valid, and their lists of names match the tables.
"""

import random
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from benchmarks import microgpt as benchmark
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import BIASES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.data import DATA_SETS
from scalarviz.faces.cli import watch_scene
from scalarviz.faces.cli.commands import EXAMPLES, help_of, help_of_several, obey
from scalarviz.faces.cli.lessons import named
from scalarviz.faces.controller.changes import preset_names
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.files.onnx.operators import OPERATORS
from scalarviz.pages.lessons.questions import Question, question
from scalarviz.stage.channels import CHANNELS
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session
from tests.lessons import examples, is_check, read, run_examples
from tests.machine import ROOT

PAGES = sorted((ROOT / "docs" / "guide").glob("*.md"))
README = ROOT / "README.md"
INSTALL = ROOT / "docs" / "install.md"
GUIDE = ROOT / "docs" / "guide"
GALLERY = ROOT / "docs" / "gallery.md"


SLOW = ("gallery", "compare", "extending", "pictures", "sessions", "values", "microgpt")


@pytest.mark.usefixtures("in_tmp_path")
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(path, marks=pytest.mark.slow if path.stem in SLOW else ())
        for path in (README, *PAGES, GALLERY)
    ],
    ids=lambda page: page.stem,
)
def test_the_examples_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.syspath_prepend(page.parent)  # microgpt.py
    run_examples(page)


def test_readme_begins_with_a_moving_picture_and_a_sentence_for_each_of_three_people() -> None:
    text = README.read_text(encoding="utf-8")
    first = text.partition("\n## ")[0]
    picture, _, people = first.partition("(docs/rgb.webp)")
    assert len(text.splitlines()) <= 180 and picture.count("\n") < 5 and "![" in picture
    assert re.findall(r"^- \*\*(.+?)\*\*", people, re.M) == ["Watch", "Follow your model", "Teach"]
    assert "`sv.follow(model)`" in people


def test_two_commands_set_up_everything_and_test_it_in_the_minutes_that_make_names() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (minutes,) = re.findall(r"^test: .*## (.+)$", makefile, re.M)
    for page in (README, INSTALL):
        commands = dict(re.findall(r"^    make (\w+) +# (.+)$", page.read_text("utf-8"), re.M))
        assert commands["test"] == minutes and "minutes" in commands["watch"]


def test_the_first_pages_name_this_version_and_how_many_times_as_fast_it_is() -> None:
    version = ".".join(sv.__version__.split(".")[:2])
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(\d+\.\d+)", changes, re.M)[0] == version
    measured = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
    line = r"^ +(values|compiled) .* 1/(\S+) of micrograd"
    fast, fastest, slow, faster = (float(each) for _, each in re.findall(line, measured, re.M))
    times = f"{slow:.0f} to {fast:.0f} times as", f"{faster:.0f} to {fastest:,.0f} times"
    for page in (README, ROOT / "docs" / "index.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert all(each in text for each in (*times, f"scalarviz {version} is young")), page
    most = max(map(int, re.findall(r"^\| \d[^|]+\|[^|]+\|[^|]+\| (\d+) \|", measured, re.M)))
    assert f"{most} times as fast as PyTorch" in README.read_text(encoding="utf-8")


def test_in_blocks_of_readme_an_empty_line_ends_what_is_indented_as_a_prompt_wants_it() -> None:
    blocks = [code for _, code in examples(README.read_text(encoding="utf-8"))]
    assert len(blocks) >= 5 and not re.search(r">>> |^ .*\n\S", "".join(blocks), re.M)


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
    """Return the terms of the glossary, with definition, and number and file of the lesson."""
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
        run_examples(page)
    page.write_text("```python\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError):
        run_examples(page)


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


# Commands in code, except generic ones in the text.
COMMAND = re.compile(
    r"(?:^ {4,}|`)(?:\S*/)?scalarviz (?!(?:watch|open|open LINK|render)[`\n])"
    r"([a-z]+(?: [^`\n]*)?)",
    re.M,
)
# The point after parsing at which the slow part of a command begins.
LONG = (
    *("cli.watch_scene.faces.watch", "cli.watch_scene.in_files", "cli.render_scene.take_steps"),
    *("cli.render_scene.train", "cli.render_scene.train_all", "cli.render_scene.record"),
    *("cli.render_scene.page_of", "cli.sweep_scene.sweep"),
    *("cli.lessons.page_of_lesson", "cli.doctor.examine"),
    *("cli.kernel_commands.warm", "controller.train.train"),
)
HELPS = (help_of("train", name, "") for name in scenes())
TEXTS = {"help": "\n".join([*EXAMPLES, help_of_several("watch", ["rgb", "xor"]), *HELPS])} | {
    path.name: path.read_text(encoding="utf-8") for path in (README, *PAGES)
}


@pytest.fixture
def files_of_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Create the files named by commands, and stop each command before its slow part."""
    monkeypatch.chdir(tmp_path)
    Show.of(load(find("texture"))()).session.save("it.safetensors")
    with sv.follow(path="followed.sv", show=None) as run:
        run.step({"kernel": np.ones((2, 2))}, loss=0.5)
    sources = dict.fromkeys(("night.sv", "yesterday.sv", "other.sv"), "followed.sv")
    sources |= {"run.safetensors": "it.safetensors"}
    sources |= {"mine.md": GUIDE / "questions-before.md"}
    for name, source in (sources | dict.fromkeys(("mine.py", "my-scene.py"), find("xor"))).items():
        shutil.copy(source, name)
    Path("teacher").mkdir()
    for place in LONG:
        monkeypatch.setattr(f"scalarviz.faces.{place}", Mock(side_effect=SystemExit(0)))
    for owner, name in ((watch_scene, "take_steps"), (Session, "advance")):
        monkeypatch.setattr(owner, name, Mock())


@pytest.mark.usefixtures("files_of_commands")
@pytest.mark.parametrize("name", [name for name, words in TEXTS.items() if COMMAND.search(words)])
def test_the_commands_of_a_text_are_understood_as_they_stand_there(name: str) -> None:
    for line in dict.fromkeys(COMMAND.findall(TEXTS[name])):
        with pytest.raises(SystemExit) as end:
            obey(shlex.split(line, comments=True))
        assert end.value.code == 0, line


LISTING_PAGES = "networks", "pictures", "data"
LISTING_TEXT = "".join((GUIDE / f"{name}.md").read_text(encoding="utf-8") for name in LISTING_PAGES)
WORD = r"\w+(?![^(|]*\))"  # not in parentheses
CODE = r"`(\w+)`"
QUOTED = r'"(\w+)"'


def between(start: str, end: str, names: str = WORD) -> list[str]:
    """Return the names of the text from `start` to `end`."""
    assert LISTING_TEXT.count(start) == 1, f"the guide has no {start!r}"
    return re.findall(names, LISTING_TEXT.partition(start)[2].partition(end)[0])


ONNX = {row.onnx.name for row in ACTIVATIONS.values() if row.onnx is not None} | {
    name.removeprefix("ai.onnx.ml.") for name in OPERATORS
}
# Lists that use other words than the tables; tests/listed.py writes the others.
LISTS = {
    "optimizers": ([n.lower() for n in between("| optimizers |", "; each", CODE)], OPTIMIZERS),
    "schedules": (between("`sv.Schedule(", ", ...", QUOTED), SCHEDULES),
    "biases": (between("`sv.Init(name, bias=", "`", QUOTED), BIASES),
    "data sets": (
        between("`sv.data` contains", "A pair of arrays", r"\b([A-Z]\w+)`"),
        {kind.__name__ for kind in DATA_SETS.values()},
    ),
    "operators of ONNX": (
        between("These operators are read:", "If a model contains", r"\b[A-Z]\w+"),
        ONNX,
    ),
    "channels": (between("what colours and sizes show:", "|", r'"([^"]+)"'), CHANNELS),
}


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_has_the_rows_of_its_table(kind: str) -> None:
    listed, table = LISTS[kind]
    assert len(listed) == len(set(listed))
    wrong = set(listed) ^ set(table)
    assert not wrong, f"{wrong}: not in the list of {kind} in docs/guide, or not in the table"


PAGE = ROOT / "docs" / "guide" / "window.md"
WINDOW_TEXT = PAGE.read_text(encoding="utf-8")


def table(heading: str) -> list[tuple[str, ...]]:
    """Return the rows of the first table below a heading."""
    part = WINDOW_TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [
        tuple(cell.strip() for cell in row) for row in re.findall(r"^\|(.*)\|(.*)\|$", part, re.M)
    ]
    return rows[2:]


def test_controls_without_a_key_are_named() -> None:
    text = WINDOW_TEXT.lower()
    for each in CONTROLS.values():
        row = each.row
        if row.key or not (row.label or row.menu):
            continue
        words = row.label or row.text or row.name
        assert words.lower() in text, row.name


def test_what_goes_wrong_is_what_can_be_set_up() -> None:
    assert [name for name, _ in table("What goes wrong")] == list(preset_names(shallow=True))


@pytest.fixture
def microgpt(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(benchmark.FOLDER)
    return __import__("microgpt")


@pytest.mark.slow
def test_twenty_losses_are_the_same(microgpt: Any) -> None:
    names = ["nel", "ova", "tarn", "dalmo"]
    trained = names * 5
    plain = microgpt.learn(microgpt.Scalar, trained)
    assert len(plain) == 20 and max(plain[-4:]) < min(plain[:4])
    ours = microgpt.learn(sv.Value, trained)
    assert max(abs(a - b) for a, b in zip(plain, ours, strict=True)) <= 4e-16
    gpt = microgpt.Gpt(sv.Value)
    fast = microgpt.Compiled(gpt, names, sv.Adam(0.01))
    kernels = [fast.step(name) for name in trained]
    assert kernels == pytest.approx(plain, rel=1e-14, abs=0.0)
    assert {*gpt.invent(random.Random(0))} < {*microgpt.LETTERS}


@pytest.mark.slow
def test_its_gradients_are_those_of_finite_differences(microgpt: Any) -> None:
    gpt, draw = microgpt.Gpt(microgpt.Scalar), random.Random(1)
    numbers = gpt.parameters()
    assert len(numbers) == 4192
    gpt.loss("ova").backward()
    for number in draw.sample([each for each in numbers if each.grad], 4):
        before, slopes = number.data, []
        for step in (1e-5, -1e-5):
            number.data = before + step
            slopes.append(gpt.loss("ova").data / step)
        number.data = before
        assert sum(slopes) / 2.0 == pytest.approx(number.grad, rel=1e-4, abs=1e-8)


@pytest.mark.slow
def test_the_benchmark_times_each_side() -> None:
    assert [*benchmark.SIDES] == ["plain", "value", "compiled", "layers"]
    assert benchmark.milliseconds("plain", "1") > 0.0
