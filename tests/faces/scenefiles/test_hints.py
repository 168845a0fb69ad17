"""What a scene proposes to try next: a command that has the options that were given."""

import shlex
from typing import Any

import pytest

from scalarviz.faces.scene_file import find, load
from scalarviz.faces.scene_options import RUNNING, SHARED, hint_with, make_show, own_options


def made(name: str, **given: Any) -> Any:
    scene = load(find(name))
    options = RUNNING | SHARED | own_options(scene)
    usual = {each: option.default for each, option in options.items()}
    return make_show(scene, usual | {"engine": "python"} | given, typed=given)


def given_by(hint: str) -> dict[str, Any]:
    """The options of a command, for `made`."""
    _, verb, name, *words = shlex.split(hint)
    assert verb == "watch"
    scene = load(find(name))
    options = RUNNING | SHARED | own_options(scene)
    found: dict[str, Any] = {}
    while words:
        option = words.pop(0).removeprefix("--").replace("-", "_")
        if option not in options:
            found[option.removeprefix("no_")] = False
        elif options[option].kind in (bool, bool | None):
            found[option] = True
        else:
            kind = next(
                kind for kind in (int, float, str) if kind in kinds_of(options[option].kind)
            )
            found[option] = kind(words.pop(0))
    return found


def kinds_of(kind: Any) -> tuple[Any, ...]:
    return getattr(kind, "__args__", (kind,))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rgb", {}),
        ("rgb", {"first_setup": True}),
        ("rgb", {"first_setup": True, "map": "grey", "seed": 3}),
        ("rgb", {"optimizer": "adam", "bias": False, "lr": 0.01}),
        ("rgb", {"hidden": 4, "depth": 2, "map": "sepia"}),
        ("xor", {}),
        ("xor", {"as_posted": True}),
        ("xor", {"seed": 2, "activation": "relu"}),
        ("xnor", {"hidden": 4}),
        ("circle", {"shape": "moons", "features": "x,y,xy"}),
        ("normalized", {}),
        ("expression", {"noise": 0.1}),
    ],
)
def test_the_next_command_has_what_was_given_and_can_be_run(name: str, given: Any) -> None:
    hint = made(name, **given).hint
    options = given_by(hint)
    assert given.keys() <= options.keys(), hint
    assert any(given.get(each) != value for each, value in options.items()), "nothing new"
    assert made(name, **options).session.step_index == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("rgb", {"map": "grey", "lr": 2.0, "seed": 3}),
        ("circle", {"shape": "spiral", "hidden": "16,16", "activation": "relu", "lr": 0.1}),
    ],
)
def test_what_was_just_run_is_not_proposed(name: str, given: dict[str, Any]) -> None:
    assert made(name, **given).hint == ""
    assert made(name, **given | {"lr": 0.25}).hint


def test_a_value_that_a_shell_would_split_is_quoted() -> None:
    hint = hint_with("scalarviz watch texture", {"picture": "my cat.png", "bias": True})
    assert hint == "scalarviz watch texture --picture 'my cat.png' --bias"


def test_a_hint_that_is_no_command_stays() -> None:
    assert hint_with("look at the loss", {"lr": 1.0}) == "look at the loss"
    assert hint_with("", {"lr": 1.0}) == ""
