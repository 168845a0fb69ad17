"""The table of texts.

Every text is used and can be filled in, and people see no words but these.
"""

import json
import math
import re
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.base import texts as table
from scalarviz.base.texts import text
from scalarviz.base.texts.decimals import rounded, short
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.program import KINDS, SCALAR
from scalarviz.pages.bundle import texts_of
from scalarviz.scene.canvas.canvas2d import Canvas2D
from scalarviz.stage.commands import COMMANDS
from scalarviz.stage.show import Show
from scalarviz.training.session.reading import caption
from tests.base.words_in_code import Use, uses_in, words_in, words_of_a_page, words_of_a_script
from tests.machine import GENERATED, ROOT
from tests.stage.test_displays import Drawn

PACKAGE = ROOT / "scalarviz"
FILES = sorted(PACKAGE.rglob("*.py"))
FOLDER = Path(table.__file__).parent
ENGLISH: dict[str, str] = json.loads((FOLDER / "english.json").read_text(encoding="utf-8"))

# What shows something to people.
SHOWS = [
    *["story/*", "scene/*", "stage/*", "pages/*", "base/progress.py", "faces/watch.py"],
    *["faces/controller/*", "faces/window/*", "faces/notebook/*"],
    *["faces/cli/doctor.py", "faces/cli/kernel_commands.py", "faces/cli/render_scene.py"],
    *["faces/cli/lessons.py"],
]
# Tables whose rows hold their own English words, as rows that are added from outside do.
ROW_TABLES = "ROWS", "FIRST_CONTROLS"
# What reads like words and is none: a pattern of files, patterns of literals, what they are.
NOT_WORDS = [
    ("faces/cli/doctor.py", "sudo *|brew *", "commands"),
    ("faces/controller/controller.py", "edit {}", "a name of what is done"),
    ("stage/displays/*", "*Network*|Perceptron|Session|Value", "names of classes"),
    ("stage/displays/html_tables.py", "*solid*", "a style"),
    ("stage/displays/svg.py", "*sans-serif", "fonts"),
    ("scene/canvas/fonts.py", "Bold|Regular", "styles of fonts"),
    ("stage/encoders.py", "Pillow", "the name of a package"),
    ("stage/commands.py", "Arrow", "a key of browsers"),
    ("stage/render_options.py", "*by default*", "a line of a docstring"),
    ("scene/canvas/palette.py", "answers on *", "names of maps"),
    ("scene/look.py", "*", "words of commands, whose keys test_commands has"),
    ("stage/show.py", "write sv.*|show the *|runs.*|sweeps have *", "parts of errors"),
    ("faces/watch.py", "sv.watch*|sv.picture*", "parts of errors"),
    ("faces/notebook/notebook_cells.py", "what*|copy*", "parts of errors"),
    ("faces/notebook/widget.js", "(prefers*|fullscreen*", "a query, and rights of a frame"),
    ("pages/addresses.py", "*[{]*", "parts of errors"),
    ("pages/engine_data.py", "a page*|the batches*|the kernels*", "parts of errors"),
    ("pages/plain_pages.py", "default-src*|*:root*|[*] {*", "the policy, and a style"),
    ("pages/page.py", "*:root*", "a style"),
    ("pages/page.py", "minus half|plus half", "classes of a style"),
    ("pages/token.html", "scalarviz", "a name"),
    ("pages/plain_pages.py", "scalarviz", "a name"),
    ("pages/plain_pages.py", "default-src*|[*] {*", "the policy, and a style"),
    ("pages/scene_data.py", "[a-z]* * *|begin foot|name size", "names of fields"),
    ("pages/web_server.py", "*-src *|*frame-ancestors*|GET, *|Host|Origin", "headers"),
    (
        "pages/web/*.js",
        "(prefers*|(hover*|Enter|Escape|Arrow*|input*|button, *|.bar > *",
        "selectors and keys",
    ),
    ("pages/web/*.js", "* gradient|last change|change since*", "kinds of moments, and channels"),
    ("pages/web/app.js", "first picture", "the name of a moment for measurements"),
    ("pages/web/lesson_answers.js", "scalarviz answers", "a format"),
    ("pages/web/cubes.js", "SEATED 1|FAR 1", "GLSL"),
    ("pages/web/paper.js", "bold ", "a style of letters"),
    ("pages/bundle.py", "const {*|return {*| as ", "JavaScript"),
    ("pages/web/python.js", "*", "names, and errors that no user sees"),
    ("pages/translat*.py", "*", "JavaScript, and parts of errors"),
    ("story/update.py", "as it is*|0, since*|its own rate*|lr [*]*", "formulas"),
    ("story/traced_weight.py", "weight gradient", "a kind of moments"),
    (
        "stage/channels.py",
        "last change|change since start|difference to first",
        "names typed by users",
    ),
    ("pages/lessons/lesson.py", "accent *", "names of attributes"),
    ("stage/motion.py", "weight gradient|operand gradient", "kinds of moments"),
    ("scene/layout/ways.py", "input gradient|weight gradient", "kinds of moments"),
    ("scene/pace.py", "input gradient|operand gradient|weight gradient", "kinds of moments"),
    ("scene/visuals/shaders.py", "*vec4 to_clip*", "GLSL"),
    ("scene/visuals/shaders.py", "#*|out*|precision*|*{}*", "GLSL"),
    ("faces/window/application.py", "Fusion", "a style of Qt"),
    ("faces/window/main_window.py", "* - scalarviz", "a title"),
    (
        "faces/window/display_check.py",
        "Qt|Gui|Widgets|* missing",
        "libraries, and a part of errors",
    ),
    ("faces/window/main_window.py", "File|Scenes|Time|View|Help", "menus by their names in rows"),
    ("faces/window/display_check.py", "sudo *", "a command in an error"),
    ("pages/web/take_to_python.js", "*", "a Python program"),
    ("pages/playground_data.py", "JOB *|aim *|dtype *|* gradient", "records, flags, keys, moments"),
    ("faces/controller/control.py", "option ", "the first part of names"),
    (
        "scene/layout/model_tree.py",
        "*Dropout*|*oss*|GRU *|* pool|* norm|* relu|* softmax",
        "functions",
    ),
    ("scene/offscreen.py", "sudo*|Platform|*doctor", "parts of errors, and of a module"),
]
# The tables that have texts in the table of texts itself.
ROWS = {"kinds": KINDS, "row_formulas": ROW_FORMULAS}


def fields_of(words: str) -> set[str]:
    """The names of the fields of a text."""
    return {name for _, name, *_ in Formatter().parse(words) if name is not None}


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


SHOWN = [
    path
    for path in sorted({*PACKAGE.rglob("*")} - {*GENERATED.glob("*")})
    if path.suffix in (".py", ".html", ".js") and any(fnmatchcase(relative(path), x) for x in SHOWS)
]


def are_of(pattern: str) -> list[str]:
    """The keys of a pattern, whose * is one part between dots."""
    wanted = re.compile(re.escape(pattern).replace(r"\*", "[^.]+"))
    return [key for key in ENGLISH if wanted.fullmatch(key)]


def is_no_word(file: str, literal: str) -> bool:
    return literal in COMMANDS or any(
        fnmatchcase(file, files) and any(fnmatchcase(literal, each) for each in literals.split("|"))
        for files, literals, _ in NOT_WORDS
    )


@cache
def found_in(path: Path) -> list[str]:
    """The literals of a file that read like words."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return [literal for _, literal in words_in(source, ROW_TABLES)]
    return words_of_a_page(source) if path.suffix == ".html" else words_of_a_script(source)


def test_no_words_stand_outside_the_table() -> None:
    for path in SHOWN:
        found = [each for each in found_in(path) if not is_no_word(relative(path), each)]
        assert found == [], f"{path}: give each a key in scalarviz/base/texts/english.json"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 'Forget the old gradients.'", ["Forget the old gradients."]),
        ("x = f'{n} steps a second'", ["{} steps a second"]),
        ("x = f\"{'left out' if n else ''}\"", ["left out"]),
        ("button('Play')", ["Play"]),
        ("button(tooltip='undo')", ["undo"]),
        ("x = f'<b title=\"One step\">{n}</b>'", ['<b title="One step">{}</b>']),
        ("def f(x='last change'): pass", ["last change"]),
        ("x = {'a b': 'an entry'}", ["an entry"]),
        ("x = 'y = sign(p - t)', '<b class=\"some thing\">', 'color: red; border: 1px solid;'", []),
        ("def f() -> 'A type':\n    'A docstring.'\n    raise ValueError('No such thing.')", []),
        ("re.compile('some words'); warn('Look out!'); x == 'weight gradient'", []),
    ],
)
def test_words_are_told_from_other_literals(code: str, words: list[str]) -> None:
    assert [literal for _, literal in words_in(code)] == words


def test_words_of_pages_and_scripts_are_told_from_the_rest() -> None:
    page = '<p class="keys">$say_keys <b>One step</b></p><img alt="A picture" title="$title">'
    assert words_of_a_page(page) == ["A picture", "One step"]
    script = "one('.now img'); p.alt = 'net'\np.setAttribute('aria-label', go ? 'play' : x.y)"
    assert words_of_a_script(script)[:2] == ["net", "play"]


def test_every_exception_is_needed() -> None:
    found = [(relative(path), literal) for path in SHOWN for literal in found_in(path)]
    for files, literals, reason in NOT_WORDS:
        for each in literals.split("|"):
            hits = [x for x in found if fnmatchcase(x[0], files) and fnmatchcase(x[1], each)]
            assert hits, f"no {each!r} ({reason}) is in {files} any more"


@cache
def uses() -> list[tuple[str, Use]]:
    return [
        (relative(path), use) for path in FILES for use in uses_in(path.read_text(encoding="utf-8"))
    ]


def test_every_key_that_is_used_exists_and_gets_its_fields() -> None:
    for file, use in uses():
        where = f"{file}:{use.line}"
        assert use.keys, f"{where}: the key must be a literal or an f-string"
        fields = set()
        for pattern in use.keys:
            matching = are_of(pattern)
            assert matching or use.function == "row_text", f"{where}: there is no {pattern}"
            fields |= {name for key in matching for name in fields_of(ENGLISH[key])}
        given = use.fields
        if use.function == "plural":
            fields.discard("count")
        if use.function != "row_text" and given is not None:
            assert given == fields, f"{where}: {use.keys} has the fields {fields}, not {given}"


def test_every_text_is_used() -> None:
    used = {key for _, use in uses() for pattern in use.keys for key in are_of(pattern)}
    scripts = [path.read_text(encoding="utf-8") for path in PACKAGE.glob("pages/web/*.js")]
    used |= texts_of("\n".join(scripts), ENGLISH).keys()
    assert ENGLISH.keys() - used == set()


def test_a_text_is_words_with_named_fields() -> None:
    for key, words in ENGLISH.items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+", key), key
        assert words.strip(), key
        assert all(name.isidentifier() for name in fields_of(words)), key


def test_the_table_is_sorted_and_has_no_key_twice() -> None:
    source = (FOLDER / "english.json").read_text(encoding="utf-8")
    keys = re.findall(r'^"([^"]+)":', source, re.MULTILINE)
    assert keys == sorted(set(keys))


def test_texts_of_rows_belong_to_rows() -> None:
    for key in ENGLISH:
        if key.startswith("rows."):
            _, name, row, _ = key.split(".")
            assert row in ROWS[name], key


def test_an_unknown_key_or_field_is_a_warning_and_no_error() -> None:
    with pytest.warns(UserWarning, match=r"no\.such\.key"):
        assert text("no.such.key") == "no.such.key"
    with pytest.warns(UserWarning, match="step"):
        assert text("chart.step") == ENGLISH["chart.step"]


def test_no_text_names_a_table_of_the_code() -> None:
    meanings = [each.meaning for each in (*KINDS.values(), SCALAR)]
    assert not re.findall(
        r"\b[A-Z]+_[A-Z]+\b|ACTIVATIONS|OPERATIONS", " ".join([*ENGLISH.values(), *meanings])
    )


# Names of weights, operations, functions, engines and data sets, and what stands in formulas.
NAMES = set(
    "layer perceptron weight bias from input affine tanh sigmoid delta signal gradient grad zero "
    "loss step zero_grad forward backward python".split()
)


def in_capitals(words: str) -> str:
    return re.sub(r"(\{[^}]*\})|([^{]+)", lambda part: part[1] or part[2].upper(), words)


@pytest.fixture
def capitals(monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts in capitals, but formulas of losses, into which numbers are put."""
    large = {key: in_capitals(words) for key, words in ENGLISH.items()}
    monkeypatch.setattr(table, "texts", lambda: large)


def small(shown: list[str]) -> set[str]:
    """The words with small letters, names left out."""
    return {word for each in shown for word in re.findall(r"\b[a-z]{3,}\b", each)} - NAMES


@pytest.mark.usefixtures("capitals")
def test_captions(colours: sv.Session) -> None:
    shown = []
    for _ in colours.operations:
        colours.advance(1, "operation")
        said = caption(colours)
        if not re.match("tanh|sigmoid|delta", colours.done):  # the words of a row of ACTIVATIONS
            shown += [said.title, said.formula, *said.numbers]
    assert small(shown) == set()


@pytest.mark.some(1)
@pytest.mark.usefixtures("capitals")
@pytest.mark.parametrize("done", [0, 5, 13])
def test_pictures(done: int, colours: sv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    draw = Canvas2D.text

    def noted(canvas: Canvas2D, x: float, y: float, words: str, **how: Any) -> float:
        drawn.append(words)
        return draw(canvas, x, y, words, **how)

    monkeypatch.setattr(Canvas2D, "text", noted)
    if done:
        colours.advance(done, "operation")
    show = Show(colours, title="TITLE")
    sv.picture(show, size=(1280, 800), samples=1, pin=3, color="value", cubes="gradient")
    assert len(drawn) > 20
    assert small(drawn) <= {"value"}  # a channel


@pytest.mark.usefixtures("capitals")
@pytest.mark.parametrize("steps", [0, 3])
def test_displays(steps: int, colours: sv.Session) -> None:
    network = colours.network
    perceptron = network.layers[0].perceptrons[0]
    network.bank.frozen[1] = True
    if steps:
        colours.advance(steps)
    for each in (colours, network, perceptron, perceptron.weights[1]):
        html = each._repr_html_()
        shown = re.findall(r"<th[^>]*>([^<>]+)<", html)
        if "svg+xml" in html:
            shown += [*Drawn(html).texts, Drawn(html).words]
        assert small(shown) == set(), type(each)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.43, "0.43"),
        (-0.5, "-0.5"),
        (0.000012, "0.000012"),
        (1.2e-7, "1.2e-7"),
        (-0.0, "0"),
        (999_999.0, "1e6"),
        (12_345.0, "12345"),
        (math.inf, "inf"),
    ],
)
def test_a_number_of_a_sentence_has_a_zero_before_the_point(value: float, words: str) -> None:
    assert rounded(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.43, ".43"),
        (-0.5, "-.50"),
        (1.234, "1.23"),
        (0.004, ".00"),
        (-0.0049, ".00"),
        (8e-5, ".00"),
        (-0.0, "0"),
        (12.34, "12.3"),
        (-123.4, "-123"),
        (12_345.6, "12,346"),
        (-4.31e27, "-4.3e27"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_a_number_of_a_cube_has_few_letters(value: float, words: str) -> None:
    assert short(value) == words


def test_fewer_digits_make_more_numbers_zero() -> None:
    assert [short(0.04, digits) for digits in (1, 2, 3)] == [".0", ".04", ".040"]
