"""A field of Look is offered wherever a user decides of the view, and checked there."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.cli.commands import main
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.face import WatchOptions
from scalarviz.faces.links import Link, read_link
from scalarviz.faces.scene_options import RENDERING, WATCHING
from scalarviz.pages.page import markup_of_page
from scalarviz.scene.look import IS_TICK, OFFERS, Look, LookArgs
from scalarviz.stage.commands import COMMANDS, page_look
from scalarviz.stage.render_options import RenderOptions
from scalarviz.stage.show import Show
from tests.wording import refused

OTHER: dict[str, Any] = {
    "color": "gradient",
    "cubes": "gradient",
    "camera": "flat",
    "theme": "light",
}


def other(field: str) -> Any:
    """Another value of a field than it usually has."""
    return not getattr(Look(), field) if IS_TICK[field] else OTHER[field]


def test_arguments_have_the_names_and_types_of_the_fields() -> None:
    assert LookArgs.__annotations__.keys() == OFFERS.keys()
    assert all(
        each.__forward_arg__ == inspect.get_annotations(Look)[name]
        for name, each in vars(LookArgs)["__annotations__"].items()
    )


@pytest.mark.parametrize("field", OFFERS)
def test_a_field_is_an_argument_an_option_a_control_and_a_word_of_links(field: str) -> None:
    value = other(field)
    for function in (sv.watch, sv.picture, sv.record):
        assert inspect.signature(function).parameters[field].default == getattr(Look(), field)
        assert f"        {field}: " in (function.__doc__ or "")
    for table in (WATCHING, RENDERING):
        assert (
            table[field].default == getattr(Look(), field)
            and OFFERS[field].help in table[field].help
        )
    word = value if isinstance(value, str) else "yes" if value else "no"
    assert read_link(f"rgb#{field}={word}") == Link("rgb", look={field: value})
    assert str(Link("rgb", look={field: value})) == f"rgb#{field}={word}"
    session = sv.Session(sv.Network([2, 2, 1]), sv.data.Xor(), engine="python")
    face = WatchOptions(look=RenderOptions(**{field: value})).face(Show.of(session), "dark")
    control = CONTROLS[OFFERS[field].control]
    assert control.row is COMMANDS[OFFERS[field].control] and control.get(face.state) == value
    face.act(control, getattr(Look(), field) if field != "theme" else "dark")
    assert control.get(face.state) != value


def test_a_page_has_a_button_for_each_tick_that_it_knows() -> None:
    look = page_look(Look(numbers=True))
    assert look["now"]["numbers"] and look["ticks"]
    assert all(f'data-row="{name}"' in markup_of_page() for name in look["ticks"].values())


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"camera": "flatt"}, UnknownNameError, "'flat'"),
        ({"theme": "dim"}, UnknownNameError, "'dim'"),
        ({"numbers": "yes"}, InputError, "'yes'"),
        ({"number": True}, UnknownNameError, "'number'"),
        ({"color": "flavour"}, UnknownNameError, "'flavour'"),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_trained_or_written(
    given: dict[str, Any], error: type[InputError], words: str, tmp_path: Path
) -> None:
    session = sv.Session(sv.Network([2, 2, 1]), sv.data.Xor(), engine="python")
    refused(error, words).by(
        sv.record, session, tmp_path / "a.mp4", steps=3, progress=False, **given
    )
    assert session.step_index == 0 and not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("in_tmp_path")
@pytest.mark.parametrize("words", ["--camera flatt", "--color flavour", "--theme dim"])
def test_the_command_line_refuses_it_before_training(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["watch", "xor", *words.split()])
    assert ended.value.code == 2 and words.split()[1] in capsys.readouterr().err
    assert not [*tmp_path.iterdir()]
