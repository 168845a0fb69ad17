"""Every option of every scene with absurd values: an error that names the option."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from scalarviz.errors import ScalarvizError, UnknownNameError
from scalarviz.faces.cli import commands
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import RUNNING, SHARED, make_show, own_options
from tests.wording import refused

ABSURD: dict[type, tuple[Any, ...]] = {
    int: (-2, 10**30),
    float: (float("nan"), float("inf"), -1.0),
    str: ("", "-3", "no such", "8,-1", "0,,0", "9" * 30, "a" * 5000),
    bool: (),
}
# What looks absurd and means something.
FINE = {
    ("texture", "picture", ""),  # the landscape that comes with it
    ("digits", "folder", ""),  # the digits of the package
    ("digits", "channels", ""),  # no convolution at all
    ("retrain", "freeze", ""),  # nothing stands still
    ("retrain", "digits", "9" * 30),  # nines
}
AT_MOST_ALL = {"batch": 10**30, "size": 10**30}  # more than there are is all of them
# 0 is absurd for these too; a rate, a penalty, a noise of 0 is none, and `rgb --hidden 0` has none.
ABOVE_0 = {"depth", "batch", "octaves", "size", "samples", "hidden", "share"}
WITH_0 = {("rgb", "hidden")}

SMALL: dict[str, dict[str, Any]] = {"texture": {"hidden": 4, "depth": 1, "size": 16}}


def show(name: str, **given: Any) -> None:
    scene = load(find(name))
    usual = {each: option.default for each, option in own_options(scene).items()}
    nothing = dict.fromkeys(SHARED | RUNNING)
    make_show(scene, nothing | usual | {"engine": "python"} | SMALL.get(name, {}) | given)


def cases(name: str) -> list[tuple[str, Any]]:
    found = []
    for option, row in own_options(load(find(name))).items():
        values = [*ABSURD[row.kind]]
        values += [row.kind(0)] if option in ABOVE_0 and (name, option) not in WITH_0 else []
        found += [
            (option, value)
            for value in values
            if (name, option, value) not in FINE and AT_MOST_ALL.get(option) != value
        ]
    return found


@pytest.mark.parametrize("name", sorted(scenes()))
def test_an_absurd_value_is_refused_by_the_name_of_its_option(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    found = cases(name)
    assert len(found) >= 8
    for option, value in found:
        with pytest.raises(ScalarvizError) as caught:
            show(name, **{option: value})
        text = str(caught.value)
        assert option in re.findall(r"\w+", text), (option, value, text)
        assert len(text) < 400


@pytest.mark.parametrize("name", sorted(scenes()))
def test_what_looks_absurd_and_means_something_is_taken(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for scene, option, value in FINE:
        if scene == name:
            show(name, **{option: value})


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("rgb --hidden -2", "hidden must be a whole number from 0 to 65,536, not -2"),
        ("rgb --depth 0", "depth must be a whole number from 1 to 100, not 0"),
        ("rgb --batch 0", "batch must be an integer of at least 1, not 0"),
        ("rgb --lr -1", "lr=-1.0: the learning rate must be a finite number of at least 0"),
        ("rgb --set hidden=-2", "hidden must be a whole number from 0 to 65,536, not -2"),
        ("rgb --hidden 65536 --depth 100", "hidden=65536, depth=100: "),
        ("circle --hidden=", "hidden takes whole numbers, such as 8,4, not ''"),
        ("circle --hidden 8,0", "hidden takes whole numbers from 1 to 65,536, such as 8,4, not 0"),
        ("texture --picture none.png", "picture='none.png': there is no file 'none.png'"),
    ],
)
def test_a_command_line_is_answered_so(
    words: str,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as left:
        commands.main(["train", *words.split()])
    assert left.value.code == 1
    err = capsys.readouterr().err
    assert err.startswith(f"scalarviz: {sentence}") and err.count("\n") == 1


def test_a_name_of_an_option_stays_an_unknown_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    with refused(UnknownNameError, "'conv9'"):
        show("retrain", freeze="conv9")


def test_an_error_that_no_option_caused_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    (tmp_path / "picture.png").touch()
    with refused(ScalarvizError, "Pillow") as caught:
        show("texture", picture=str(tmp_path / "picture.png"), lr=0.5)
    assert str(caught.value).startswith("reading pictures needs")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["render", "rgb", "-o", "a.mp4", "--fps", "1000000000"], "fps must be a whole number"),
        (["watch", "a" * 5000 + ".py"], "there is no file 'aaa"),
        (["train", "rgb", "--save", "a" * 5000], "File name too long"),
        (["render", "rgb", "--steps", "1", "-o", "a" * 5000 + ".png"], "File name too long"),
    ],
)
def test_what_every_scene_takes_is_refused_too(
    words: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as left:
        commands.main(words)
    assert left.value.code == 1
    err = capsys.readouterr().err
    assert err.startswith("scalarviz: ") and sentence in err
    assert err.count("\n") == 1 and len(err) < 400
