"""`scalarviz open`: windows at the moments of links, and links that are refused."""

import sys
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, InputError, ScalarvizError, UnknownNameError
from scalarviz.faces import watch as faces
from scalarviz.faces.cli import commands, watch_scene
from tests.sessions import advanced
from tests.wording import refused


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch):
    """opened(link, *options): the session and the arguments that a window would have."""
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(link: str, *options: str) -> tuple[sv.Session, dict[str, Any]]:
        seen: list[Any] = []

        def watch(show: Any, *given: Any, **more: Any) -> int:
            seen.append((show.session, more))
            return 0

        monkeypatch.setattr(faces, "watch", watch)
        with pytest.raises(SystemExit) as left:
            commands.obey(["open", link, *options])
        assert left.value.code == 0
        return seen[0]

    return run


PYTHON = "engine=python"


def test_a_scene_opens_at_its_moment(opened) -> None:
    s, given = opened(f"rgb?hidden=4&map=grey&{PYTHON}#step=12&op=3&pin=5&sample=1&theme=light")
    assert s.clock.place == (12, 3) and s.focus == 1 and len(s.network.bank) == 31
    assert given["pin"] == 5 and given["theme"] == "light" and given["play"] is False
    assert given["recipe"].values["map"] == "grey"
    straight = sv.Session(
        sv.Network([3, 4, 3], "tanh", "sigmoid"),
        data.Rgb("grey"),
        "mse",
        sv.SGD(0.5),
        8,
        "python",
    )
    straight.advance(12, progress=False)
    assert (s.network.bank.value == straight.network.bank.value).all()


def test_options_of_every_scene_and_of_watch_hold(opened) -> None:
    s, given = opened(f"xnor?optimizer=adam&bias=no&{PYTHON}#step=2&play=5", "--present")
    assert s.optimizer.name == "adam" and s.network[0].bias is None
    assert given["present"] and given["play"] and given["speed"] == 5
    assert opened(f"rgb?{PYTHON}")[1]["play"]  # without a moment it plays, as watch does
    assert opened(f"rgb?{PYTHON}#step=1", "--speed", "3", "--theme", "dark")[1]["speed"] == 3


def test_a_file_of_a_training_opens_at_its_moment(opened, tmp_path: Path) -> None:
    path = tmp_path / "a run.safetensors"
    s = advanced(sv.Session(sv.Network([2, 3, 1]), data.Xor(), engine="python"), 9, progress=False)
    s.save(path)
    assert opened(f"{path}#step=4&op=2")[0].clock.place == (4, 2)
    assert opened(f"{path}#step=15")[0].step_index == 15  # beyond its end: trained up to
    assert opened(f"{path}#op=2")[0].clock.place == (9, 2)
    assert opened(str(path))[0].clock.place == (9, 0)
    _seen, given = opened(f"{path}#neuron=inputs:1")
    assert given["pin"] == ("inputs", 1) and given["recipe"] is None
    with refused(InputError, varies="'[^']*'"):
        watch_scene.opened(watch_scene.read_link(f"{path}?hidden=3"), {"limit": None})


@pytest.mark.parametrize(
    ("link", "kind", "value"),
    [
        ("mine.py#step=1", InputError, "'mine.py'"),
        ("../mine.PY", InputError, "'../mine.PY'"),
        ("https://example.org/rgb#step=1", InputError, "https"),
        ("//host/share/run.safetensors", InputError, "'//host"),
        ("\\\\host\\share\\run", InputError, "host"),
        ("none.safetensors", InputError, "'none.safetensors'"),
        ("rbg#step=1", UnknownNameError, "'rbg'"),
        ("rgb?hiden=4", UnknownNameError, "'hiden'"),
        ("rgb?hidden=many", InputError, "'many'"),
        (f"rgb?{PYTHON}#pin=59", ScalarvizError, "59"),
        (f"rgb?{PYTHON}#op=40", InputError, "40"),
        (f"rgb?{PYTHON}#neuron=tanh 0:8", InputError, "tanh 0:8"),
        (f"rgb?{PYTHON}#sample=9", InputError, "9"),
    ],
)
def test_a_wrong_link_is_refused_in_one_sentence(
    link: str, kind: type[ScalarvizError], value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    usual = {"limit": None, "save": None, "autosave": None, "speed": None}
    with refused(kind, value):
        watch_scene.open_link(link, usual)


def test_a_link_runs_no_code_and_reads_no_network_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = tmp_path / "evil.py"
    scene.write_text("open('ran', 'w').close()\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for link in ("evil.py", "./evil.py#step=1", f"{scene}", "evil%2Epy"):
        with pytest.raises(InputError, match="code"):
            watch_scene.opened(watch_scene.read_link(link), {"limit": None})
    (tmp_path / "text.safetensors").write_bytes(b"import os")
    with pytest.raises(FileError):
        watch_scene.opened(watch_scene.read_link("text.safetensors"), {"limit": None})
    assert not (tmp_path / "ran").exists()


def test_a_far_step_is_trained_up_to_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped:
        asked = False

        def __enter__(self) -> "Stopped":
            return self

        def __exit__(self, *error: object) -> None: ...

    stop = Stopped()
    monkeypatch.setattr(watch_scene, "Stop", lambda: stop)
    s = sv.Session(sv.Network([2, 3, 1]), data.Xor(), engine="python")
    s.on_step(lambda view: setattr(stop, "asked", view.step >= 8))
    link = watch_scene.read_link("xor#step=100000000")
    assert not watch_scene.go_to_moment(s, link, watch_scene.Autosave())
    assert 8 <= s.step_index < 10_000
