"""`sv.page` and `scalarviz page`: what is in the file, how large it is, and what is refused."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base.texts import texts
from scalarviz.errors import FileError, InputError, UnknownNameError
from scalarviz.faces.cli import commands
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import page as module
from scalarviz.pages.bundle import module_of
from scalarviz.pages.engine_data import engine_data
from scalarviz.pages.exhibit_data import exhibit_data, probe_of
from scalarviz.pages.page import Page, first_speed, module_text, page_of, size_words, style_of_page
from scalarviz.stage.show import Show
from tests.pages.pages import data_in, script_in
from tests.root import ROOT
from tests.sessions import advanced
from tests.wording import refused

NASTY = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
VOID = set("meta link input".split())
WORDS = re.compile(r"[A-Za-z]{2,}")


def small() -> sv.Session:
    """A session of a page that is made quickly."""
    return sv.Session(sv.Network([2, 3, 1], "tanh", seed=0), data.Xor(), "mse", sv.SGD(0.5))


@pytest.fixture(autouse=True)
def _quick(request: pytest.FixtureRequest) -> None:
    if "slow" not in request.keywords:
        request.getfixturevalue("no_kernels")


@pytest.fixture
def made() -> Page:
    return page_of(sv.Show(small(), title=NASTY, about=NASTY))


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


def test_a_page_is_one_file_that_asks_for_nothing(made: Page) -> None:
    reader = Reader(made.text)
    assert reader.open == []
    assert [attrs.get("type") for tag, attrs in reader.elements if tag == "script"] == [
        "application/json", "application/gzip", "module",
    ]  # fmt: skip
    for tag, attributes in reader.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        links = [attributes[name] for name in ("src", "href", "action") if name in attributes]
        assert all(link == "data:," for link in links), tag
    assert b"@import" not in made.text and b"url(" not in made.text
    text = made.text.decode() + script_in(made.text) + data_in(made.text)["worker"]
    addresses = {*re.findall(r"https?://[\w./]+", text)}
    assert addresses <= {"http://www.w3.org/2000/svg"}  # the name of a language, not a place


def test_what_users_wrote_is_text(made: Page) -> None:
    reader = Reader(made.text)
    for tag in ("title", "h1"):
        assert (tag, NASTY) in reader.texts
    assert data_in(made.text)["spec"]["page"]["title"] == NASTY
    assert made.text.count(b"<img") == 0 and made.text.count(b"<script") == 3


def test_a_page_carries_its_engine_its_worker_and_the_texts_it_uses(made: Page) -> None:
    found = data_in(made.text)
    assert gzip.decompress(b64decode(found["module"])).startswith(b"\0asm")
    assert len(found["module"]) == made.engine
    assert "class Engine {" in found["worker"] and "class Client" not in found["worker"]
    table = texts()
    assert found["texts"].items() <= table.items()
    assert {"captions.tour.stand", "page.lack.webgl", "chart.title", "strip.part.error"} <= {
        *found["texts"]
    }
    assert not any(key.startswith(("doctor.", "bench.")) for key in found["texts"])
    assert {*found["spec"]} == {"engine", "scene", "say", "page"}


def test_a_page_has_the_modules_of_its_own_exhibit_alone(made: Page) -> None:
    script = script_in(made.text)
    assert "class PlaneMap {" in script and "class Sorting {" not in script
    assert "exhibits.sorting.right" not in data_in(made.text)["texts"]
    whole, none = module_text("exhibit_kinds.js"), module_text("exhibit_kinds.js", {"answers"})
    assert module_text("exhibit_kinds.js", {"plane", "pictures", "sorting"}) == whole
    assert "import" not in none and "LARGE_KINDS = {\n};" in none


def test_what_a_module_exports_is_used_by_others_or_by_tests() -> None:
    names = (path.name for path in Path(module.__file__).with_name("web").glob("*.js"))
    modules = [module_of(name, module_text(name)) for name in names]
    taken = {name for each in modules for names in each.imports.values() for name in names}
    folder = ROOT / "tests"
    tests = (path for path in folder.rglob("*") if path.suffix in (".py", ".js", ".mjs"))
    taken |= {word for path in tests for word in re.findall(r"\w+", path.read_text("utf-8"))}
    for each in modules:
        assert {name for name, is_exported in each.names.items() if is_exported} <= taken, each.name


def test_every_text_that_the_page_names_exists() -> None:
    names = (path.name for path in Path(module.__file__).with_name("web").glob("*.js"))
    for name in names:
        for key in re.findall(r'\b(?:text|plural)\("([\w.]+)"', module_text(name)):
            assert key in texts() or f"{key}.one" in texts(), f"{name}: {key}"


def test_equal_sessions_give_equal_pages(made: Page) -> None:
    assert page_of(sv.Show(small(), title=NASTY, about=NASTY)).text == made.text


def test_a_page_too_large_is_refused_before_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*told: object) -> bytes:
        raise AssertionError("kernels are compiled")

    monkeypatch.setattr(module, "engine_data", engine_data)
    monkeypatch.setattr("scalarviz.pages.engine_data.module_of", never)
    monkeypatch.setattr(module, "LARGEST", 200_000)
    wide = sv.Network([2, 30_000, 1], "tanh", seed=0)
    with refused(InputError, "more than 200 kB", varies=r"\d+ kB"):
        page_of(sv.Session(wide, data.Xor(), "mse", sv.SGD(0.5), engine="cpu"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rgb", "xor"])
def test_pages_of_the_small_scenes_are_small(name: str) -> None:
    scene = load(find(name))
    page = page_of(Show.of(scene(), scene))
    assert page.engine < len(page.text) < 400_000


def test_the_size_is_told_before_the_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, bool]] = []
    file = tmp_path / "a.html"
    monkeypatch.setattr(module, "inform", lambda words: said.append((words, file.exists())))
    assert sv.page(small(), file) == file.stat().st_size
    ((words, was_there),) = said
    assert not was_there
    assert re.fullmatch(r"a\.html: \d{3} kB, of it \d+ kB the engine", words)


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


def test_a_page_that_is_too_large_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST", 50_000)
    with refused(InputError, "50 kB", varies=r"\d+ kB"):
        sv.page(small(), tmp_path / "a.html")
    assert [*tmp_path.iterdir()] == []


def test_a_wrong_name_theme_place_or_session_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: pytest.fail("the page was made"))
    with refused(InputError, "a.png"):
        sv.page(small(), tmp_path / "a.png")
    with refused(UnknownNameError, "'blue'"):
        sv.page(small(), tmp_path / "a.html", theme="blue")
    with refused(FileError, "none"):
        sv.page(small(), tmp_path / "none" / "a.html")
    with refused(InputError, 3):
        sv.page(3, tmp_path / "a.html")
    assert [*tmp_path.iterdir()] == []


def test_a_file_is_replaced_whole_or_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Page
) -> None:
    file = tmp_path / "a.html"
    file.write_text("before")
    monkeypatch.setattr(module, "page_of", lambda *_, **__: made)

    def fail(*_: object) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(FileError):
            sv.page(small(), file)
    assert file.read_text() == "before" and [*tmp_path.iterdir()] == [file]
    sv.page(small(), file)
    assert file.read_bytes() == made.text and [*tmp_path.iterdir()] == [file]


def test_the_session_stays_as_it_is() -> None:
    session = advanced(small(), 3)
    session.advance(2, "operation")
    before = session.clock, session.network.bank.value.tolist()
    page_of(session)
    assert (session.clock, session.network.bank.value.tolist()) == before


@pytest.mark.slow
def test_the_theme_is_that_of_the_reader_unless_one_is_asked_for(made: Page) -> None:
    assert data_in(made.text)["spec"]["page"]["theme"] == ""
    dark = page_of(small(), theme="dark")
    assert data_in(dark.text)["spec"]["page"]["theme"] == "dark"
    style = style_of_page()
    assert style.count("color-scheme: dark;") == 2 and style.count("color-scheme: light;") == 2


# What is learned.


def learned(sizes: list[int], table: Any, kind: str) -> tuple[dict[str, Any], np.ndarray]:
    """The exhibit of a page on a data set, which is of this kind, and its probe."""
    session = sv.Session(sv.Network(sizes), table, engine="python")
    shown = exhibit_data(session)
    assert shown is not None and shown["kind"] == kind
    return shown, probe_of(session)


def test_colours_are_shown_as_swatches() -> None:
    shown, probe = learned([3, 3], data.Rgb(), "swatches")
    np.testing.assert_array_equal(probe, data.Rgb().palette[0])
    np.testing.assert_array_equal(shown["targets"], data.Rgb().palette[1])
    assert shown["output"] == sv.Network([3, 3]).program.outputs.name


def test_few_samples_are_a_table_without_columns_that_never_change() -> None:
    shown, probe = learned([3, 1], data.Xor(bias=True), "answers")
    assert probe.shape == (4 + shown["map"]["side"] ** 2 + 4, 3)
    np.testing.assert_array_equal(probe[:4], probe[-4:])
    assert shown["names"] == ["x", "y"] and np.shape(shown["inputs"]) == (4, 2)
    assert shown["cut"] == 0.5


def test_two_inputs_are_a_map_with_its_samples_of_which_those_held_out_come_last() -> None:
    table = data.Circle(samples=40, share=0.75)
    shown, probe = learned([2, 3, 1], table, "plane")
    side, dots = shown["side"], np.array(shown["dots"])
    low, high = np.array(shown["low"]), np.array(shown["high"])
    assert probe.shape == (side * side + len(dots), 2)
    np.testing.assert_allclose(low + dots * (high - low), probe[side * side :])
    assert (probe[0] < probe[side - 1])[0] and (probe[0] > probe[side * side - 1])[1]  # up is up
    assert shown["title"] == "output over the plane"
    assert (shown["held"], len(dots)) == (30, 40) and table.held_out is not None
    np.testing.assert_allclose(probe[-10:], table.held_out[0])


def test_digits_are_sorted() -> None:
    shown, probe = learned([64, 10], data.Digits(), "sorting")
    wanted = data.Digits().held_out[1][: len(probe)].argmax(axis=1)
    assert shown["labels"] == wanted.tolist() and len(wanted) == len(probe)
    assert not [each for each in shown.values() if isinstance(each, str) and each in texts()]


def test_pictures_are_shown_beside_what_is_learned() -> None:
    texture = data.Texture(np.linspace(0.0, 1.0, 6 * 8 * 3).reshape(6, 8, 3))
    shown, probe = learned([2, 3], texture, "pictures")
    assert shown["size"] == shown["fine"] == [8, 6] and shown["target"]["shape"] == [6, 8, 3]
    axes = [np.frombuffer(b64decode(shown[way]["data"]), "<f4") for way in ("across", "down")]
    lines = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    assert probe.shape == (48, 2)
    np.testing.assert_array_equal(lines, probe.astype("<f4"))


def test_what_has_no_exhibit_yet_has_no_probe() -> None:
    inputs = np.random.default_rng(0).random((20, 5))
    session = sv.Session(sv.Network([5, 2]), (inputs, inputs[:, :2]), engine="python")
    assert exhibit_data(session) is None and probe_of(session).shape == (0, 5)


# The command line.


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """What `scalarviz page` answers in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def answer(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            commands.main(["page", *words])
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return answer


def test_a_scene_is_written_as_a_page_with_its_options(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, out, _ = run("rgb", "--map", "grey", "--hidden", "2", "--steps", "3", "--theme", "light")
    assert code == 0 and re.search(r"^rgb\.html: \d+ kB, of it \d+ kB the engine$", out, re.M)
    assert "3 steps" in out
    spec = data_in((tmp_path / "rgb.html").read_bytes())["spec"]
    assert spec["page"]["theme"] == "light" and "grey" in spec["page"]["title"]
    assert spec["engine"]["step"] == 3


def test_without_steps_a_page_begins_untrained(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    assert run("xor", "-o", "a.html")[0] == 0
    assert data_in((tmp_path / "a.html").read_bytes())["spec"]["engine"]["step"] == 0


def test_a_scene_is_written_as_a_recording(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "engine_data", lambda *_: pytest.fail("kernels were compiled"))
    code, out, _ = run("xor", "--no-engine", "--record", "20", "--every", "5", "--steps", "3")
    assert code == 0 and "a recording of 20 steps, values to 1 part in 30,000" in out
    found = data_in((tmp_path / "xor.html").read_bytes())
    assert found["spec"]["recording"]["steps"] == [3, 4, 8, 9, 13, 14, 18, 19, 23]
    assert not {"module", "image", "worker"} & found.keys()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("rgb -o a.png", 1, "a page is kept as .html, not as 'a.png'"),
        ("rgb -o none/a.html", 1, "there is no folder 'none' to save in"),
        ("rgb --theme blue", 2, "unknown theme 'blue'"),
        ("rgb --steps 0", 1, "steps must be an integer of at least 1, not 0"),
        ("rgbb", 2, "unknown scene 'rgbb'"),
        ("expression --steps 9", 1, "a page trains networks of layers, and Expression is none"),
    ],
)
def test_what_is_refused_is_said_in_a_sentence_before_any_work(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, words: str, code: int, sentence: str
) -> None:
    left, _, said = run(*words.split())
    assert left == code and sentence in said
    assert said.startswith("scalarviz: ") and len(said.splitlines()) <= 2
    assert [*tmp_path.iterdir()] == []


def test_ctrl_c_writes_no_page(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scalarviz.faces.cli.render_scene.train", lambda *_: 130)
    code, out, _ = run("rgb", "--steps", "5")
    assert code == 130 and "no page was written" in out
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("title", [5, None, ["a"], b"a"])
def test_a_title_is_a_text(title: Any, tmp_path: Path) -> None:
    with refused(InputError, "title"):
        sv.page(small(), tmp_path / "x.html", title=title)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_strange_letters_do_no_harm() -> None:
    for title in ("a\ud800", "a\x00b", "\u202eabc", "x" * 100_000):
        made = page_of(small(), title=title)
        assert len(made.text) < 1_000_000 and b"\x00" not in made.text
        assert "\u202e" not in made.text.decode()


def test_a_small_network_is_played_so_that_one_can_follow() -> None:
    shows = [sv.Show(small()), sv.Show(small(), speed=300.0)]
    assert [first_speed(show) for show in shows] == [30.0, 300.0]
    large = sv.Session(sv.Network([2, 60, 60, 1], seed=0), data.Xor())
    assert first_speed(sv.Show(large)) is None
