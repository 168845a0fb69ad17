"""`sv.page` and `scalarviz page`: what is in the file, how large it is, how it is packed."""

from __future__ import annotations

import base64
import json
import random
import re
from base64 import b64decode, b64encode
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import texts
from scalarviz.errors import FileError, InputError, UnknownNameError
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import page as module
from scalarviz.pages.bundle import (
    POLICY,
    as_json,
    bundle,
    declared_in,
    html,
    module_of,
    packed,
    packed_bytes,
    texts_of,
)
from scalarviz.pages.engine_data import engine_data
from scalarviz.pages.exhibit_data import exhibit_data, probe_of
from scalarviz.pages.page import (
    Page,
    description,
    first_speed,
    first_style,
    module_for,
    module_text,
    page_of,
    parts_of,
    rules_of_page,
    size_words,
)
from scalarviz.pages.plain_pages import index_of
from scalarviz.pages.scene_data import flat_parts, plain, programs, scene_data
from scalarviz.pages.translator import SOURCES
from scalarviz.scene.exhibits.answers import Answers
from scalarviz.scene.visuals.shaders import PROGRAMS, as_es
from scalarviz.stage.commands import COMMANDS, in_browser, page_keys
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.show import Show
from tests.machine import ROOT
from tests.pages.node import data_in, in_web, run_script, script_in, unpacked
from tests.wording import refused

NASTY = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
VOID = set("meta link input".split())
WORDS = re.compile(r"[A-Za-z]{2,}")


def small() -> sv.Session:
    """A session of a page that is made quickly."""
    return sv.Session(sv.Network([2, 3, 1], "tanh", seed=0), data.Xor(), "mse", sv.SGD(0.5))


@pytest.fixture
def _quick(request: pytest.FixtureRequest) -> None:
    if "slow" not in request.keywords:
        request.getfixturevalue("no_kernels")


@cache
def page_made(_slow: bool) -> Page:
    """A page, whose engine has all its kernels in slow tests."""
    return page_of(sv.Show(small(), title=NASTY, about=NASTY))


@pytest.fixture
def made(request: pytest.FixtureRequest) -> Page:
    return page_made("slow" in request.keywords)


class Reader(HTMLParser):
    """The elements of a page in order, and the text directly in each."""

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and self.open:
            self.texts.append((self.open[-1], data))


@pytest.mark.usefixtures("_quick")
def test_a_page_is_one_file_that_asks_for_nothing(made: Page) -> None:
    reader = Reader(made.text)
    assert reader.open == []
    assert [attrs.get("type") for tag, attrs in reader.elements if tag == "script"] == [
        "application/json", "application/gzip", "application/gzip", "module",
    ]  # fmt: skip
    for tag, attributes in reader.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        links = [attributes[name] for name in ("src", "href", "action") if name in attributes]
        assert all(link == "data:," for link in links), tag
    assert b"@import" not in made.text and b"url(" not in made.text
    text = made.text.decode() + script_in(made.text) + data_in(made.text)["worker"]
    addresses = {*re.findall(r"https?://[\w./]+", text)}
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of a language, not a place


@pytest.mark.usefixtures("_quick")
def test_what_users_wrote_is_text(made: Page) -> None:
    reader = Reader(made.text)
    for tag in ("title", "h1"):
        assert (tag, NASTY) in reader.texts
    assert data_in(made.text)["spec"]["page"]["title"] == NASTY
    assert made.text.count(b"<img") == 0 and made.text.count(b"<script") == 4


@pytest.mark.usefixtures("_quick")
def test_a_page_carries_its_engine_its_worker_and_the_texts_it_uses(made: Page) -> None:
    found = data_in(made.text)
    assert unpacked(found["module"]).startswith(b"\0asm")
    assert len(found["module"]) == made.engine
    assert "class Engine {" in found["worker"] and "class Client" not in found["worker"]
    table = texts()
    assert found["texts"].items() <= table.items()
    assert {"captions.tour.stand", "page.lack.webgl", "chart.title", "strip.part.error"} <= {
        *found["texts"]
    }
    others = "doctor.", "bench.", "captions.batch_norm.", "captions.pool_back."  # kinds it lacks
    assert not any(key.startswith(others) for key in found["texts"])
    assert "captions.weighted_back.sum.title" in found["texts"]
    assert {*found["spec"]} == {"fixed", "engine", "scene", "facts", "page"}


@pytest.mark.usefixtures("_quick")
def test_a_page_has_the_modules_of_its_own_exhibit_alone(made: Page) -> None:
    script = script_in(made.text)
    assert "class PlaneMap {" in script and "class Sorting {" not in script
    assert "exhibits.sorting.right" not in data_in(made.text)["texts"]
    kinds = {"plane": "PlaneMap", "pictures": "Pictures", "sorting": "Sorting", "answers": "none"}
    for kind, name in kinds.items():
        text = module_for({"kind": kind}, "exhibit_kinds.js")
        assert {each for each in kinds.values() if each in text} == {name} - {"none"}
    assert "import" not in text and "LARGE_KINDS = {\n};" in text
    assert module_for(None, "exhibit_kinds.js") == text


@pytest.mark.usefixtures("_quick")
def test_only_a_page_with_rows_of_kernels_has_what_opens_them(made: Page) -> None:
    assert "function draw_opened_rows(" not in script_in(made.text)
    assert "opened.row" not in data_in(made.text)["texts"]
    assert "draw_diagram" not in script_in(made.text)
    for name in ("story/long_rows.js", "picture.js", "neuron_images.js"):
        assert module_for(None, name, parts=[]) != module_for(None, name)
    digits = load(find("digits"))(engine="cpu")
    assert parts_of(description(Show.of(digits))["spec"]) == ["opens", "painted"]


@pytest.mark.usefixtures("_quick")
def test_what_a_module_exports_is_used_by_others_or_by_tests() -> None:
    names = {path.name for path in Path(module.__file__).with_name("web").glob("*.js")}
    names -= {"python.js"}  # see test_translator.py
    modules = [module_of(name, module_text(name)) for name in names]
    users = [*modules, *(module_of(name, module_text(name)) for name in SOURCES)]
    taken = {name for each in users for names in each.imports.values() for name in names}
    folder = ROOT / "tests"
    tests = (path for path in folder.rglob("*") if path.suffix in (".py", ".js", ".mjs"))
    taken |= {word for path in tests for word in re.findall(r"\w+", path.read_text("utf-8"))}
    for each in modules:
        assert {name for name, is_exported in each.names.items() if is_exported} <= taken, each.name


@pytest.mark.usefixtures("_quick")
def test_every_text_that_the_page_names_exists() -> None:
    for name in (path.name for path in Path(module.__file__).with_name("web").glob("*.js")):
        for key in re.findall(r'\b(?:text|plural)\("([\w.]+)"', module_text(name)):
            assert key in texts() or f"{key}.one" in texts(), f"{name}: {key}"


@pytest.mark.usefixtures("_quick")
def test_equal_sessions_give_equal_pages(made: Page) -> None:
    assert page_of(sv.Show(small(), title=NASTY, about=NASTY)).text == made.text


@pytest.mark.usefixtures("_quick")
def test_a_page_too_large_is_refused_before_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "engine_data", engine_data)
    monkeypatch.setattr(
        "scalarviz.pages.engine_data.module_of",
        Mock(side_effect=AssertionError("kernels are compiled")),
    )
    monkeypatch.setattr(module, "LARGEST", 200_000)
    wide = sv.Network([2, 30_000, 1], "tanh", seed=0)
    refused(InputError, "more than 200 kB", varies=r"\d+ kB").by(
        page_of, sv.Session(wide, data.Xor(), "mse", sv.SGD(0.5), engine="cpu")
    )


@pytest.mark.usefixtures("_quick")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["rgb", "xor"])
def test_pages_of_the_small_scenes_are_small(name: str) -> None:
    scene = load(find(name))
    page = page_of(Show.of(scene(), scene))
    assert page.engine < len(page.text) < 410_000


@pytest.mark.usefixtures("_quick")
def test_the_size_is_told_before_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, bool]] = []
    file = tmp_path / "a.html"
    monkeypatch.setattr(module, "inform", lambda words: said.append((words, file.exists())))
    assert sv.page(small(), file) == file.stat().st_size
    ((words, was_there),) = said
    assert not was_there
    assert re.fullmatch(r"a\.html: \d{3} kB, including \d+ kB for the engine", words)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "1 kB"),
        (640_400, "640 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (10**7, "10.0 MB"),
    ],
)
def test_sizes_in_words(size: int, words: str) -> None:
    assert size_words(size) == words


@pytest.mark.usefixtures("_quick")
def test_a_page_that_is_too_large_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST", 50_000)
    refused(InputError, "50 kB", varies=r"\d+ kB").by(sv.page, small(), tmp_path / "a.html")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("_quick")
def test_a_wrong_name_theme_place_or_session_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: pytest.fail("the page was made"))
    refused(InputError, "a.png").by(sv.page, small(), tmp_path / "a.png")
    refused(UnknownNameError, "'blue'").by(sv.page, small(), tmp_path / "a.html", theme="blue")
    refused(FileError, "none").by(sv.page, small(), tmp_path / "none" / "a.html")
    refused(InputError, 3).by(sv.page, 3, tmp_path / "a.html")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("_quick")
def test_a_file_is_replaced_whole_or_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Page
) -> None:
    file = tmp_path / "a.html"
    file.write_text("before")
    monkeypatch.setattr(module, "page_of", lambda *_, **__: made)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", Mock(side_effect=OSError("the disk is gone")))
        refused(FileError).by(sv.page, small(), file)
    assert file.read_text() == "before" and [*tmp_path.iterdir()] == [file]
    sv.page(small(), file)
    assert file.read_bytes() == made.text and [*tmp_path.iterdir()] == [file]


@pytest.mark.usefixtures("_quick")
@pytest.mark.slow
def test_the_theme_is_that_of_the_reader_unless_one_is_asked_for(made: Page) -> None:
    assert data_in(made.text)["spec"]["page"]["theme"] == ""
    assert data_in(page_of(small(), theme="dark").text)["spec"]["page"]["theme"] == "dark"
    style = first_style() + rules_of_page()
    assert style.count("color-scheme: dark;") == 2 and style.count("color-scheme: light;") == 2


# What is learned.


def learned(sizes: list[int], table: Any, kind: str) -> tuple[dict[str, Any], np.ndarray]:
    """The exhibit of a page on a data set, which is of this kind, and its probe."""
    session = sv.Session(sv.Network(sizes), table, engine="python")
    shown = exhibit_data(session)
    assert shown is not None and shown["kind"] == kind
    return shown, probe_of(session)


@pytest.mark.usefixtures("_quick")
def test_colours_are_shown_as_swatches() -> None:
    shown, probe = learned([3, 3], data.Rgb(), "swatches")
    np.testing.assert_array_equal(probe, data.Rgb().palette[0])
    np.testing.assert_array_equal(shown["targets"], data.Rgb().palette[1])
    assert shown["output"] == sv.Network([3, 3]).program.outputs.name


@pytest.mark.usefixtures("_quick")
def test_inputs_that_never_change_are_no_axes_of_the_map() -> None:
    shown, probe = learned([3, 1], data.Xor(bias=True), "plane")
    assert probe.shape == (shown["side"] ** 2 + 4, 3) and (probe[:, 2] == 1.0).all()
    assert shown["names"] == ["x", "y"] and np.shape(shown["dots"]) == (4, 2)
    assert shown["sorts"] and shown["sides"] == [] and shown["corner"] is None


@pytest.mark.usefixtures("_quick")
def test_two_inputs_are_a_map_with_its_samples_of_which_those_held_out_come_last() -> None:
    table = data.Circle(samples=40, share=0.75)
    shown, probe = learned([2, 3, 1], table, "plane")
    side, dots = shown["side"], np.array(shown["dots"])
    low, high = np.array(shown["low"]), np.array(shown["high"])
    assert probe.shape == (side * side + len(dots), 2)
    np.testing.assert_allclose(low + dots * (high - low), probe[side * side :])
    assert (probe[0] < probe[side - 1])[0] and (probe[0] > probe[side * side - 1])[1]  # up is up
    assert shown["title"] == "output over the plane"
    assert shown["sides"] == ["outside", "inside"]
    assert (shown["held"], len(dots)) == (30, 40) and table.held_out is not None
    np.testing.assert_allclose(probe[-10:], table.held_out[0])


@pytest.mark.usefixtures("_quick")
def test_one_input_is_a_curve_over_samples_that_stand_at_their_targets() -> None:
    xs = np.linspace(-1.0, 3.0, 20)[:, np.newaxis]
    table = data.Arrays(xs, (xs > 1.0).astype(float))
    shown, probe = learned([1, 2, 1], table, "plane")
    ends = [np.array(shown[name]) for name in ("low", "high")]
    points = ends[0] + np.array(shown["dots"]) * (ends[1] - ends[0])
    np.testing.assert_allclose(points, np.concatenate(table.training, axis=1))
    np.testing.assert_allclose(probe[:-20, 0], np.linspace(-1.0, 3.0, shown["side"] ** 2))
    assert shown["axes"] == [0] and shown["names"] == ["x", "y"] and not shown["sorts"]


@pytest.mark.usefixtures("_quick")
def test_digits_are_sorted() -> None:
    shown, probe = learned([64, 10], data.Digits(), "sorting")
    wanted = data.Digits().held_out[1][: len(probe)].argmax(axis=1)
    assert shown["labels"] == wanted.tolist() and len(wanted) == len(probe)
    assert not [each for each in shown.values() if isinstance(each, str) and each in texts()]


@pytest.mark.usefixtures("_quick")
def test_pictures_are_shown_beside_what_is_learned() -> None:
    texture = data.Texture(np.linspace(0.0, 1.0, 6 * 8 * 3).reshape(6, 8, 3))
    shown, probe = learned([2, 3], texture, "pictures")
    assert shown["size"] == shown["fine"] == [8, 6] and shown["target"]["shape"] == [6, 8, 3]
    axes = [np.frombuffer(b64decode(shown[way]["data"]), "<f4") for way in ("across", "down")]
    lines = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    assert probe.shape == (48, 2)
    np.testing.assert_array_equal(lines, probe.astype("<f4"))
    assert shown["goals"] == shown["target"]


@pytest.mark.usefixtures("_quick")
def test_other_data_have_answers_beside_their_goals() -> None:
    inputs = np.random.default_rng(0).random((20, 5))
    shown, probe = learned([5, 2], (inputs, inputs[:, :2]), "answers")
    np.testing.assert_allclose(probe, inputs)
    assert shown["targets"] == inputs[:, :2].tolist() and not shown["sorts"]
    many = data.Arrays(np.zeros((20, 9000)), np.eye(2)[np.arange(20) % 2], output_names=["a", "b"])
    shown, probe = learned([9000, 2], many, "answers")
    assert len(probe) == len(shown["targets"]) == 8 and shown["names"] == ["a", "b"]
    assert shown["sorts"]


@pytest.mark.usefixtures("_quick")
def test_a_page_says_how_right_answers_are_as_pictures_do() -> None:
    outputs = np.random.default_rng(0).normal(size=(30, 2))
    targets = np.eye(2)[np.arange(30) % 2]
    body = """
        setTexts(data.texts);
        const flat = data.outputs.flat();
        const found = [offBy(flat, data.targets.flat()), rightOf(data.right), offBy([NaN], [0])];
        return found.map(({ words, number }) => [words, number]);
    """
    right = outputs.argmax(axis=1) == targets.argmax(axis=1)
    given = {"outputs": outputs, "targets": targets, "right": right, "texts": dict(texts())}
    found = in_web("result texts", body, **given)
    answers = Answers(outputs, targets, ["", ""])
    kinds = [replace(answers, sorts=sorts, first=replace(answers, sorts=sorts)) for sorts in (0, 1)]
    wanted = [[each.verdict(), (each.headline("") or [])[2]] for each in kinds]
    assert found == [*wanted, ["", ""]]


# The command line.


@pytest.fixture
def run(run: Any, in_tmp_path: None) -> Any:
    """What `scalarviz page` answers in a folder of its own: exit code, output, errors."""
    return partial(run, "page")


@pytest.mark.usefixtures("_quick")
def test_a_scene_is_written_as_a_page_with_its_options(run: Any, tmp_path: Path) -> None:
    code, out, _ = run("rgb", "--map", "grey", "--hidden", "2", "--steps", "3", "--theme", "light")
    assert code == 0 and re.search(
        r"^rgb\.html: \d+ kB, including \d+ kB for the engine$", out, re.M
    )
    assert "3 steps" in out
    spec = data_in((tmp_path / "rgb.html").read_bytes())["spec"]
    assert spec["page"]["theme"] == "light" and "grey" in spec["page"]["title"]
    assert spec["engine"]["step"] == 3


@pytest.mark.slow
@pytest.mark.usefixtures("_quick")
def test_without_steps_a_page_begins_untrained(run: Any, tmp_path: Path) -> None:
    assert run("xor", "-o", "a.html")[0] == 0
    assert data_in((tmp_path / "a.html").read_bytes())["spec"]["engine"]["step"] == 0


@pytest.mark.usefixtures("_quick")
def test_a_scene_is_written_as_a_recording(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: pytest.fail("kernels were compiled"))
    code, out, _ = run("xor", "--no-engine", "--record", "20", "--every", "5", "--steps", "3")
    assert code == 0 and "a recording of 20 steps, values rounded to 1 part in 30,000" in out
    found = data_in((tmp_path / "xor.html").read_bytes())
    assert found["spec"]["recording"]["steps"] == [3, 4, 8, 9, 13, 14, 18, 19, 23]
    assert not {"module", "image", "worker"} & found.keys()


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("rgb -o a.png", 1, "a page is saved as .html, not as 'a.png'"),
        ("rgb -o none/a.html", 1, "folder not found: 'none'"),
        ("rgb --theme blue", 2, "unknown theme 'blue'"),
        ("rgb --steps 0", 1, "steps must be an integer of at least 1, not 0"),
        ("rgbb", 2, "unknown scene 'rgbb'"),
        ("expression --steps 9", 1, "a page trains networks of layers, not Expression"),
    ],
)
def test_what_is_refused_is_said_in_a_sentence_before_any_work(
    run: Any, tmp_path: Path, words: str, code: int, sentence: str
) -> None:
    left, _, said = run(*words.split())
    assert left == code and sentence in said
    assert said.startswith("scalarviz: ") and len(said.splitlines()) <= 2
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("_quick")
def test_ctrl_c_writes_no_page(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scalarviz.faces.cli.render_scene.train", lambda *_: 130)
    code, out, _ = run("rgb", "--steps", "5")
    assert code == 130 and "no page was written" in out
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("title", [5, None, ["a"], b"a"])
def test_a_title_is_a_text(title: Any, tmp_path: Path) -> None:
    refused(InputError, "title").by(sv.page, small(), tmp_path / "x.html", title=title)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_quick")
@pytest.mark.slow
def test_strange_letters_do_no_harm() -> None:
    for title in ("a\ud800", "a\x00b", "\u202eabc", "x" * 100_000):
        made = page_of(small(), title=title)
        assert len(made.text) < 1_000_000 and b"\x00" not in made.text
        assert "\u202e" not in made.text.decode()


@pytest.mark.usefixtures("_quick")
def test_a_small_network_is_played_so_that_one_can_follow() -> None:
    shows = [sv.Show(small()), sv.Show(small(), speed=300.0)]
    assert [first_speed(show) for show in shows] == [30.0, 300.0]
    assert first_speed(sv.Show(sv.Session(sv.Network([2, 60, 60, 1], seed=0), data.Xor()))) is None


NASTY_SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--\u2028"


def bundled(**modules: str) -> str:
    """The script of modules by their names, beginning with `main`."""
    return bundle("main.js", lambda name: modules[name.removesuffix(".js")])


def test_a_module_stands_after_all_that_it_imports_and_once() -> None:
    script = bundled(
        main='import { a } from "./a.js";\nimport {\n  b,\n  c as d,\n} from "./b.js"\na(b, d);\n',
        a='import { b } from "./b.js";\nexport function a() { return b; }\n',
        b="export const b = 1;\nexport class c {}\n",
    )
    assert script.endswith("\n//# sourceURL=scalarviz/main.js\n")
    assert [line for line in script.splitlines() if line and line[0] != "/"] == [
        "(() => {",
        "const $b=(()=>{", "const b=1;", "class c {}", "return {b,c};", "})();",
        "const {b}=$b;",
        "function a(){return b; }",
        "const $main=(()=>{", "const {c: d}=$b;", "a(b,d);", "})();",
        "})();",
    ]  # fmt: skip


def test_modules_of_folders_and_whole_modules_are_found() -> None:
    modules = {
        "main.js": 'import * as d from "./a/b.js";\nd.e();\n',
        "a/b.js": 'import { c } from "../c.js";\nexport const e = c;\n',
        "c.js": "export const c = 1, e = 2;\n",
    }
    lines = bundle("main.js", modules.__getitem__).splitlines()
    assert "const {c}=$c;" in lines and "$a_b.e();" in lines


@pytest.mark.parametrize(
    "import_used",
    ['import * as a from "./a.js";\na.used();\n', 'import { used } from "./a.js";\nused();\n'],
)
def test_of_a_module_of_definitions_only_what_is_used_is_there(import_used: str) -> None:
    modules = {
        "main.js": import_used,
        "a.js": "// b\nconst c = 1;\nexport function used() {\n  return [c, ...d()];\n}\n"
        "export const e = 2;\nfunction d() {\n  return 1;\n}\nexport class f {}\n"
        "const g = h();\nconst k = new Map();\n",
    }
    script = bundle("main.js", modules.__getitem__)
    assert re.findall(r"^(?:const|function|class) (\w)\b", script, re.MULTILINE) == ["c", "d", "g"]
    modules["a.js"] += "h(2);\n"
    assert "class f" in bundle("main.js", modules.__getitem__)


def test_of_two_modules_with_a_name_for_others_one_is_a_function() -> None:
    script = bundled(
        main='import { n } from "./b.js";\nimport { m } from "./c.js";\nrun(n, m);\n',
        a="export const n = 1;\n",
        b="export const n = 2;\n",
        c='import { n } from "./a.js";\nexport const m = n;\n',
    )
    lines = script.splitlines()
    assert "const $a=(()=>{" in lines and "const {n}=$a;" in lines
    assert "const $b=(()=>{" not in lines and "const {n}=$b;" not in lines


# Each name stands for a function that says where it is from, also in browsers.
MEANT = "abcdefgh"


def random_modules(draw: random.Random) -> dict[str, str]:
    """Modules with names of each other, of browsers and of functions."""
    modules: dict[str, str] = {}
    exported: dict[str, list[str]] = {}
    for home in "vwxyz":
        lines, known, given = [], set[str](), []
        for other, names in exported.items():
            if draw.random() < 0.2:
                lines.append(f'import * as {other} from "./{other}.js";')
                given += [f"...{other}.{name}()" for name in names]
                continue
            for name in draw.sample(names, draw.randint(0, len(names))):
                here = draw.choice([name, name, *MEANT])
                if here not in known:
                    words = name if name == here else f"{name} as {here}"
                    lines.append(f'import {{ {words} }} from "./{other}.js";')
                    known.add(here)
        exported[home], inner = [], list[str]()
        for name in draw.sample(MEANT, draw.randint(0, 3)):
            if name not in known:
                is_exported = draw.random() < 0.6
                start = "export " if is_exported else ""
                lines.append(f'{start}const {name} = () => "{home}.{name}";')
                (exported[home] if is_exported else inner).append(name)
        if draw.random() < 0.1:
            first, second = draw.sample(MEANT, 2)
            if not {first, second} & {*known, *exported[home], *inner}:
                lines.append(f'const {first} =\n    () => "{home}",\n  {second} = () => "{home}";')
        used = [name for name in MEANT if draw.random() < (0.7 if name in known else 0.1)]
        given += [f"{name}()" for name in used]
        local = draw.choice(MEANT)
        given.append(f'(({local}) => {local}())(() => "local")')
        lines.append(f"export function say_{home}() {{\n  return [{', '.join(given)}];")
        lines.append("}")
        modules[f"{home}.js"] = "\n".join([*lines, ""])
    says = [f"say_{home}" for home in exported]
    imports = [f'import {{ {say} }} from "./{say[-1]}.js";' for say in says]
    calls = ", ".join(f"{say}()" for say in says)
    return {**modules, "main.js": "\n".join([*imports, f"tell([{calls}]);", ""])}


def test_a_name_in_the_script_means_what_it_means_in_its_module(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"type": "module"}')
    for number in range(150):
        folder = tmp_path / str(number)
        folder.mkdir()
        modules = random_modules(random.Random(number))
        modules["script.txt"] = bundle("main.js", modules.__getitem__)
        for name, content in modules.items():
            (folder / name).write_text(content)
    (tmp_path / "all.js").write_text(f"""
        import {{ readFileSync }} from "node:fs";
        const said = [];
        globalThis.tell = (found) => said.push(found);
        for (const name of "{MEANT}") globalThis[name] = () => `browser.${{name}}`;
        for (let i = 0; i < 150; i++) {{
          await import(`./${{i}}/main.js`);
          (0, eval)(readFileSync(new URL(`./${{i}}/script.txt`, import.meta.url), "utf-8"));
        }}
        console.log(JSON.stringify(said));
    """)
    said = run_script(tmp_path / "all.js")
    assert said[1::2] == said[::2]
    found = {word.split(".")[0] for each in said for words in each for word in words}
    assert found >= {"browser", "local", *"vwxyz"}


def test_comments_and_indents_are_left_out() -> None:
    code = 'const a = "http://a; // b";\n/** c */ function d() {\n  return a; /* e */\n}\n'
    behind = code.replace("() {", "() { // it is `a`")
    script = bundled(main=f"// f\n/** g\n *\n * h\n */\n{behind}  // i\n  /** j */\nd(); // k\n")
    code = code.replace("\n  ", "\n")
    wanted = f"\n(() => {{\nconst $main=(()=>{{\n{code}d();\n}})();\n}})();"
    assert script.partition("\n//# ")[0] == wanted


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ({"main": 'import a from "./a.js";\n'}, "import a from"),
        ({"main": 'import { a } from "https://a.org/a.js";\n'}, "import { a } from"),
        ({"main": "export default 1;\n"}, "export default 1;"),
        ({"main": "export { a };\n"}, "export { a };"),
        ({"main": "const { a } = b;\n"}, "const { a } = b;"),
        ({"main": 'import { a } from "./a.js";\n', "a": "const a = 1;"}, "imports a,"),
        ({"main": 'import { b } from "./a.js";\n', "a": "export const a = 1;"}, "imports b,"),
        ({"main": 'import { a } from "./a.js";', "a": 'import { b } from "./main.js";'}, "import"),
        ({"main": 'import { a } from "./a.js";\n', "a": 'import { b } from "./main.js";\n'}, "->"),
        ({"main": "const a = '</script>';\n"}, "</script"),
        ({"main": "const a = '<!-- b';\n"}, "<!--"),
    ],
)
def test_what_cannot_be_one_script_is_an_error(modules: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        bundled(**modules)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("a = f(b, c), d = 1;", ["a", "d"]),
        ("run(a, b = 2) {", ["run"]),
        ("a = { b: 1, c },", ["a"]),
        ('a = "x, y = 2", b = [1, 2]', ["a", "b"]),
        ("a = (b, c) => ({ d: b, e: c });", ["a"]),
        ("TABLE = [", ["TABLE"]),
        ("Motion extends Other {", ["Motion"]),
    ],
)
def test_names_that_a_line_declares(line: str, names: list[str]) -> None:
    assert declared_in(line) == names


def test_the_page_carries_the_texts_that_its_script_names() -> None:
    table = {
        "a.b": "1", "a.c": "2", "a.x.y": "3", "a.x.z": "4", "p.one": "5", "p.many": "6", "q": "7",
        "rows.x.y": "8", "a.xx.y": "9", "a.x.with blank": "10",
    }  # fmt: skip
    script = "text('a.b'); text(`a.x.${part}`); plural(\"p\", 3); text(`${other}.y`); text('q.r')"
    assert texts_of(script, table) == {
        "a.b": "1", "a.x.with blank": "10", "a.x.y": "3", "a.x.z": "4", "p.many": "6", "p.one": "5",
    }  # fmt: skip


def test_data_in_the_page_is_no_html() -> None:
    data = {"title": NASTY_SCRIPT, "numbers": [1, 0.5], "none": None}
    written = as_json(data)
    assert json.loads(written) == data
    assert "<" not in written and "\u2028" not in written
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"loss": float("nan")})


def test_bytes_are_unpacked_by_any_gzip_and_packed_alike() -> None:
    bytes_ = bytes(range(256)) * 50
    assert unpacked(packed_bytes(bytes_)) == bytes_
    assert packed_bytes(bytes_) == packed_bytes(bytes(bytes_))


MARKUP = (
    '<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="$policy"><title>$title'
    "</title><style>$style</style><p title='$say_a'>$say_a</p>"
    '<script type="application/gzip" id="rules">$rules</script>'
    '<script type="application/json">$data</script><script type="a/b">$script</script>'
    '<script type="module">$loader</script>'
)


def test_words_in_the_page_are_escaped_and_the_policy_names_its_scripts_and_style() -> None:
    script, loader, style = "\nconst a = 1 < 2 && '$b';\n", "\nload('$b');\n", "p { color: red }"
    words = {"title": NASTY_SCRIPT, "say_a": NASTY_SCRIPT + "'\""}
    parts: tuple[Any, ...] = {"a": NASTY_SCRIPT}, {"part": "H4s="}, {"links": ""}
    make = partial(html, MARKUP, words, style, script, loader, *parts, rules="b { color: blue }")
    page = Reader(make().encode())
    assert [tag for tag, _ in page.elements] == ["meta", "title", "style", "p", *["script"] * 4]
    assert ("title", NASTY_SCRIPT) in page.texts
    assert page.elements[3][1]["title"] == NASTY_SCRIPT + "'\""
    rules, data, packed, plain = [inside for tag, inside in page.texts if tag == "script"]
    assert unpacked(rules) == b"b { color: blue }"
    assert unpacked(packed).decode() == script and plain == loader
    assert json.loads(data).keys() == {"plain", "part"} and json.loads(data)["part"] == "H4s="
    assert json.loads(unpacked(json.loads(data)["plain"])) == {"a": NASTY_SCRIPT}
    policy = page.elements[0][1]["content"]
    for source, codes in (("script", (loader, script)), ("style", (style, "b { color: blue }"))):
        digests = [b64encode(sha256(code.encode()).digest()).decode() for code in codes]
        assert f"{source}-src " + " ".join(f"'sha256-{each}'" for each in digests) in policy
    assert make() == make()


def test_the_policy_allows_no_network_and_no_code_but_its_own() -> None:
    assert POLICY["default-src"] == "'none'"
    allowed = " ".join(POLICY.values()).split()
    ours = {"{loader}", "{script}", "{style}", "{rules}"}
    assert {*allowed} == ours | {"'none'", "'wasm-unsafe-eval'", "blob:", "data:"}
    assert not {"connect-src", "frame-src", "font-src", "object-src"} & POLICY.keys()


def session(*sizes: int) -> sv.Session:
    network = sv.Network([*sizes], "tanh", seed=1)
    return sv.Session(network, sv.data.Xor(), "mse", sv.SGD(0.5), engine="python")


def arrays(data: object) -> list[np.ndarray]:
    """All arrays in some data."""
    if isinstance(data, dict) and "dtype" in data:
        return [np.frombuffer(base64.b64decode(data["data"]), data["dtype"]).reshape(data["shape"])]
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return [each for part in parts for each in arrays(part)]


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.uint8, np.int32])
def test_an_array_is_kept_with_its_shape(kind: type) -> None:
    numbers = (np.arange(24) * 7.5).astype(kind).reshape(2, 3, 4)[:, ::2]
    found = json.loads(json.dumps(packed(numbers)))
    assert found["dtype"] == np.dtype(kind).name
    np.testing.assert_array_equal(arrays(found)[0], numbers)


def test_a_stage_of_each_shape_has_the_layout_of_a_window() -> None:
    layers = [sv.Dense(2, 6, "tanh"), sv.LayerNorm(6), sv.Dense(6, 1)]
    shown = sv.Session(sv.Network(layers, seed=1), sv.data.Xor(), "mse", engine="python")
    data = scene_data(shown)
    for shape, number in data["shapes"]:
        layout, found = layout_of(shown, shape=shape), data["layouts"][number]
        assert [plate["first"] for plate in found["plates"]] == [p.first for p in layout.plates]
        for line, other in zip(layout.neurons, found["neurons"], strict=True):
            np.testing.assert_allclose(arrays(other["points"])[0], line.points, rtol=1e-6)
    assert sorted({number for _, number in data["shapes"]}) == [*range(len(data["layouts"]))]
    assert len({json.dumps(each) for each in data["layouts"]}) == len(data["layouts"]) > 1
    assert not data["walls"]


def test_a_large_network_has_walls_as_well() -> None:
    shown = session(2, 30, 24, 1)
    data = scene_data(shown, (1.0, 2.0))
    assert [shape for shape, _ in data["walls"]] == [1.0, 2.0]
    for shape, number in data["walls"]:
        layout, found = layout_of(shown, shape=shape, every=True), data["layouts"][number]
        assert [plate["first"] for plate in found["plates"]] == [p.first for p in layout.plates]
        assert all(len(fan["top"]) == 3 for fan in found["fans"])


def test_shaders_lose_their_comments_only() -> None:
    for name, sources in programs().items():
        for text, source, fragment in zip(sources, PROGRAMS[name], (False, True), strict=True):
            assert "//" not in text
            whole = as_es(source, fragment=fragment)
            code = "".join(line.partition("//")[0] for line in whole.splitlines())
            assert "".join(text.split()) == "".join(code.split())
    assert plain("  a;  // b\n\n// c\n") == "a;\n"


def test_where_an_activation_is_flat() -> None:
    tanh = flat_parts(np.tanh, lambda x, y: 1.0 - y * y)
    edge = np.arctanh(np.sqrt(0.9))
    np.testing.assert_allclose([tanh[0][1], tanh[1][0]], [-edge, edge], rtol=1e-9)
    assert flat_parts(lambda x: x, lambda x, y: 1.0) == []
    relu = flat_parts(lambda x: max(x, 0.0), lambda x, y: float(x > 0.0))
    assert relu[0][0] < -1e200 and abs(relu[0][1]) < 1e-9 and len(relu) == 1


FOLDER = ROOT / "docs" / "pages"
MARK = f'<meta name="generator" content="scalarviz {sv.__version__}">'


def test_readme_links_to_pages_of_this_version_that_are_small_and_stand_alone() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    most = {"playground.html": 593_000, "rgb.html": 437_000}
    assert {page.name for page in FOLDER.iterdir()} == {*most}
    for name, size in most.items():
        page = (FOLDER / name).read_text(encoding="utf-8")
        assert f"](docs/pages/{name})" in readme
        assert MARK in page and "<a href" not in page and len(page) < size


# A key of the help, or two of them, and what the help says of it.
KEY_IN_HELP = re.compile(r"(?<!\S)(Space|Enter|Esc|[A-Z←→↑↓<>?,.])(?: and (\S))? ([^;,.(\n]+)")


NAMES_OF_KEYS = dict(
    zip(("←", "→", "↑", "↓", "Esc"), ("left", "right", "up", "down", "escape"), strict=True)
)


def stems(text: str) -> set[str]:
    return {word[:4] for word in re.findall(r"\w{4,}", text.lower())}


@pytest.mark.parametrize("recorded", [False, True])
def test_the_help_of_a_page_says_of_each_key_what_its_command_does(recorded: bool) -> None:
    help_of_page = texts()["page.keys.recorded" if recorded else "page.html.keys"]
    about = dict[str, str]()
    for *keys, words in KEY_IN_HELP.findall(help_of_page):
        for key in filter(None, keys):
            about[key] = f"{about.get(key, '')} {words}"
    rows = {name: COMMANDS[name] for name in page_keys(recorded=recorded)["keys"].values()}
    said = {name: stems(f"{name} {row.help or row.about}") for name, row in rows.items()}
    expected = {in_browser(row.key): name for name, row in rows.items()}
    for key, words in about.items():
        name = expected.pop(in_browser(NAMES_OF_KEYS.get(key, key.lower())))
        shared = {other: len(stems(words) & said[other]) for other in said}
        assert shared[name] == max(shared.values()) > 0, (key, words, shared)
    assert not expected  # each key is in the help


def test_the_list_has_a_card_for_each_with_words_that_are_no_html() -> None:
    page = index_of(['a b<img src=x onerror=alert(1)>".html', "xor.html"]).decode()
    assert page.count("<li>") == 2 and "<img " not in page
    assert 'href="a%20b%3Cimg' in page and '<a href="xor.html"><h2>xor</h2></a>' in page
