"""German is whole: each text is there, with the fields and the numbers of the English one."""

import json
import re
from collections.abc import Container, Iterator
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.base import texts as table
from scalarviz.base.texts import fields_of, text, texts
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.layer_formulas import ROW_FORMULAS
from scalarviz.core.formulas.losses import LOSSES, ROW_LOSSES
from scalarviz.core.program import KINDS
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.scene_file import scenes
from scalarviz.stage.channels import CHANNELS
from scalarviz.story.captions import caption
from scalarviz.story.first_controls import FIRST_CONTROLS

FOLDER = Path(table.__file__).parent
SOURCE = (FOLDER / "german.json").read_text(encoding="utf-8")
GERMAN: dict[str, str] = json.loads(SOURCE)
ENGLISH: dict[str, str] = json.loads((FOLDER / "english.json").read_text(encoding="utf-8"))
MENUS = ("File", "Scenes", "Time", "View", "Help")
OPTIONS = ("map", "shape", "first_setup")  # of scenes
ROWS: dict[str, Container[str]] = {
    "kinds": KINDS,
    "row_formulas": ROW_FORMULAS,
    "activations": ACTIVATIONS,
    "controls": CONTROLS,
    "losses": {**LOSSES, **ROW_LOSSES},
    "channels": CHANNELS,
    "scenes": scenes(),
    "groups": FIRST_CONTROLS,
    "menus": MENUS,
    "options": OPTIONS,
}
# Words that are German, too, and names of keys, functions and kinds of files.
SAME = set(
    "Pause Training Trainings Videos Values Value Enter Esc sigmoid sin cos gif safetensors"
    " node data grad mark".split()
)


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SCALARVIZ_LANGUAGE", "german")
    texts.cache_clear()
    yield
    monkeypatch.undo()
    texts.cache_clear()


def numbers_in(words: str) -> list[str]:
    return sorted(re.findall(r"(?<!\w)\d+(?:\.\d+)?", re.sub(r"\{[^}]*\}", "", words)))


def test_every_text_is_translated_and_has_the_same_fields_and_numbers() -> None:
    assert ENGLISH.keys() - GERMAN.keys() == set()
    for key, words in ENGLISH.items():
        assert fields_of(GERMAN[key]) == fields_of(words), key
        assert numbers_in(GERMAN[key]) == numbers_in(words), key


def test_no_text_stayed_english() -> None:
    for key, words in ENGLISH.items():
        if GERMAN[key] == words:
            plain = re.sub(r"\{[^}]*\}", " ", words)
            assert set(re.findall(r"[^\W\d_]{3,}", plain)) <= SAME, key


def test_other_texts_belong_to_rows() -> None:
    for key in GERMAN.keys() - ENGLISH.keys():
        _, name, row, _ = key.split(".")
        assert row in ROWS[name], key


def test_the_file_is_sorted_and_written_as_the_english_one() -> None:
    ordered = dict(sorted(GERMAN.items()))
    assert json.dumps(ordered, indent=0, ensure_ascii=False) + "\n" == SOURCE


@pytest.mark.usefixtures("german")
def test_a_step_is_told_in_german_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    s = sv.Session(sv.Network([2, 2, 1], output="sigmoid"), data.Xor(), engine="python")
    told = []
    for _ in s.operations:
        s.advance(1, "operation")
        told.append(caption(s).title)
    assert told[0] == "Der erste Schritt beginnt: Noch ist nichts geschoben."
    assert "Neuron 0 addiert, was ankommt." in told
    assert text("page.html.language") == "de"
    assert caplog.messages == []
