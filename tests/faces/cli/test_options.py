"""Every option of the command line arrives where it is used."""

from pathlib import Path
from typing import Any

import pytest

from scalarviz.faces.cli import commands, watch_scene
from scalarviz.faces.cli import sweep_scene as sweep_command
from scalarviz.faces.scene_options import (
    PAGING,
    RENDERING,
    RUNNING,
    SHARED,
    WATCHING,
    Option,
    kind_of,
)
from tests.faces.cli.test_commands import run as run

TYPED: dict[Any, tuple[str, Any]] = {
    int: ("7", 7),
    float: ("0.5", 0.5),
    str: ("words", "words"),
    Path: ("file", Path("file")),
}


def typed(name: str, option: Option) -> tuple[list[str], Any]:
    """An option on the command line, with a value that is not its default; and that value."""
    flag, kind = f"--{name.replace('_', '-')}", kind_of(option)
    if kind is bool:
        return [flag], True
    word, value = TYPED[kind]
    return [flag, word], [value] if option.kind == list[str] else value


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("verb", "own"), [("watch", WATCHING), ("train", {}), ("render", RENDERING), ("page", PAGING)]
)
def test_an_option_of_every_scene_arrives(
    run: Any, monkeypatch: pytest.MonkeyPatch, verb: str, own: dict[str, Option]
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setitem(commands.DEEDS, verb, lambda scene, known, *_: given.update(known) or 0)
    for name, option in (SHARED | RUNNING | own).items():
        words, value = typed(name, option)
        assert run(verb, "xor", *words).code == 0
        assert given[name] == value


@pytest.mark.parametrize(
    "name", [*WATCHING, "steps", "save", "autosave", "keyframes", "weights", "limit"]
)
def test_an_option_of_open_arrives(run: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(watch_scene, "open_link", lambda link, known: given.update(known) or 0)
    words, value = typed(name, (WATCHING | RUNNING)[name])
    assert run("open", "xor", *words).code == 0
    assert given[name] == value


def test_the_options_of_a_sweep_arrive(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(sweep_command, "sweep_scene", lambda *known: given.extend(known) or 0)
    words = (
        "--grid hidden=2,4 --seeds 3 --steps 20 --every 5 --success 0.1 --stop-at-success "
        "--executor processes --out a.csv --folder runs --picture a.png --watch --networks maps "
        "--order loss --group hidden"
    )
    assert run("sweep", "xor", *words.split()).code == 0
    look = {"networks": "maps", "order": "loss", "group": "hidden"}
    assert given == [
        "xor", ["hidden=2,4"], "3", 20, 5, "0.1", True, "processes", "a.csv", "runs", "a.png", True,
        look,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "name", "expected"),
    [(["bench"], "bench", []), (["doctor", "--class"], "doctor", [True])],
)
def test_a_command_is_called_with_its_options(
    run: Any, monkeypatch: pytest.MonkeyPatch, words: list[str], name: str, expected: list[Any]
) -> None:
    given: list[Any] = []
    taker = (lambda value: given.append(value)) if expected else (lambda: given.append(name))
    monkeypatch.setattr(commands, name, taker)
    assert run(*words).code == 0
    assert given == (expected or [name])
