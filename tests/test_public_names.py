"""The public names, as `help` and tab completion show them: each option by its name and type."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import errors
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.optimizers import SCHEDULES
from scalarviz.errors import UnknownNameError
from scalarviz.stage import render
from scalarviz.stage.render_options import RenderOptions
from tests.public_names import callables, parameters
from tests.wording import refused

CALLABLES = {name: (function, home) for name, function, home in callables()}


def test_the_walk_finds_what_is_public() -> None:
    known = {"watch", "Session", "Session.advance", "data.Rgb", "data.from_csv", "onnx.load"}
    assert known <= {*CALLABLES}


def test_help_shows_every_option_by_name_and_type() -> None:
    for name, (function, _) in CALLABLES.items():
        for each in parameters(function):
            assert each.kind != each.VAR_KEYWORD, f"**{each.name} of {name} hides its options"
            assert each.annotation is not each.empty, f"{each.name} of {name} has no type"


def test_the_docstring_says_what_each_argument_is() -> None:
    for name, (function, home) in CALLABLES.items():
        inherited = getattr(
            home, function.__name__, function
        )  # an overriding one is not told again
        text = inspect.getdoc(function) or inspect.getdoc(inherited) or ""
        assert text, f"{name} has no docstring"
        for each in parameters(function):
            line = rf"^ *(\*?\w+, )*\*?{each.name}(, \*?\w+)*  +\S"  # name    what it is
            within = rf"`[^`\n]*\b{each.name}\b[^`\n]*`"
            assert re.search(f"{line}|{within}", text, re.M), f"{name} is silent about {each.name}"


def lines_of(thing: Any) -> dict[str, str]:
    """What a docstring says of each argument, without its default."""
    text = re.sub(r"\n {4,}(?=\S)", " ", inspect.getdoc(thing) or "")  # lines that go on
    found = re.findall(r"^(\w[\w, ]*?) {2,}(\S.*)$", text, re.M)
    return {name: re.split("; by default|, the default", said)[0] for name, said in found}


OPTIMIZERS = [sv.SGD, sv.Momentum, sv.Nesterov, sv.RMSProp, sv.Adam, sv.AdamW]


@pytest.mark.parametrize(
    "things", [[sv.Optimizer, *OPTIMIZERS], [sv.picture, sv.record, sv.storyboard]]
)
def test_an_argument_of_several_is_described_alike(things: list[Any]) -> None:
    every = [lines_of(thing) for thing in things]
    shared = set.intersection(*[{*lines} for lines in every]) - {"session", "path"}
    assert len(shared) > 5
    for name in shared:
        assert len({lines[name] for lines in every}) == 1, name


OF_OPTIMIZERS: dict[str, Any] = {
    "schedule": sv.Schedule("cosine", steps=9),
    "l1": 0.25,
    "l2": 0.5,
    "clip_value": 2.0,
    "clip_norm": 3.0,
    "not_finite": "zero",
    "momentum": 0.75,
    "alpha": 0.625,
    "beta1": 0.5,
    "beta2": 0.875,
    "eps": 0.125,
    "decay": 0.375,
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_optimizer_has_the_options_that_it_was_given(kind: Any) -> None:
    given = {each.name: OF_OPTIMIZERS[each.name] for each in parameters(kind) if each.name != "lr"}
    made = kind(0.1, **given)
    assert {name: made.settings.get(name, getattr(made, name, None)) for name in given} == given


@pytest.mark.parametrize("name", ["watch", "picture", "record", "storyboard"])
def test_options_of_pictures_are_arguments_of_what_draws_them(name: str) -> None:
    known = inspect.signature(getattr(sv, name)).parameters
    wanted = ["size"] if name == "watch" else [each.name for each in fields(RenderOptions)]
    assert {*wanted} <= {*known}


LOOKS: dict[str, Any] = {
    "size": (64, 48),
    "ratio": 2.0,
    "samples": 3,
    "theme": "light",
    "camera": "orthographic",
    "color": "gradient",
    "cubes": "value",
    "per_layer": True,
    "pin": 3,
    "neuron_maps": True,
    "test_points": True,
    "discrete": True,
}


@pytest.mark.parametrize("verb", ["picture", "record", "storyboard"])
@pytest.mark.parametrize("option", LOOKS)
def test_an_option_of_a_picture_reaches_what_draws_it(
    verb: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reached(Exception):
        """What would draw has the look."""

    def drawing(look: RenderOptions) -> None:
        raise Reached(look)

    monkeypatch.setattr(RenderOptions, "canvas", drawing)
    monkeypatch.setattr(render, "encoder_for", lambda *_: None)
    s = sv.Session(sv.Network([2, 1]), sv.data.Xor(), engine="python")
    paths: dict[str, Any] = {"picture": (), "record": ("a.mp4", 1), "storyboard": ("a.html",)}
    base = {"picture": RenderOptions(), "record": RenderOptions(size=(1280, 720))}
    expected = replace(base.get(verb, render.PAGE), **{option: LOOKS[option]})
    with pytest.raises(Reached) as found:
        getattr(sv, verb)(s, *paths[verb], **{option: LOOKS[option]})
    assert found.value.args == (expected,)
    own = RenderOptions(size=(100, 90), theme="light", pin=1)
    with pytest.raises(Reached) as found:
        getattr(sv, verb)(s, *paths[verb], look=own, **{option: LOOKS[option]})
    assert found.value.args == (replace(own, **{option: LOOKS[option]}),)


def test_every_setting_of_a_table_is_an_argument_of_what_takes_it() -> None:
    for taker, rows in ((sv.Init, INITIALIZERS), (sv.Schedule, SCHEDULES)):
        settings = {key for row in rows.values() for key, _ in row.settings}
        assert settings <= {*inspect.signature(taker).parameters}


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (lambda: sv.Value(1.0, lable="x"), "'lable'"),
        (lambda: sv.Weight(1.0, device="cpu"), "'device'"),
        (lambda: sv.Bank(3, dtyp="float64"), "'dtyp'"),
        (lambda: sv.Precision("mixed", scale=2.0), "'scale'"),
        (lambda: sv.Show(None, titel="a"), "'titel'"),
        (lambda: sv.picture(None, pins=3), "'pins'"),
        (lambda: sv.record(None, "a.mp4", evry=3), "'evry'"),
        (lambda: sv.storyboard(None, "a", titel=""), "'titel'"),
        (lambda: sv.watch(None, tourr=True), "'tourr'"),
        (lambda: sv.predict("1 + 1?", 2, nearly=1), "'nearly'"),
        (lambda: sv.where(1.0, 2.0, z=3.0), "'z'"),
        (lambda: sv.maximum(1.0, other=3.0), "'other'"),
        (lambda: sv.minimum(1.0, other=3.0), "'other'"),
        (lambda: sv.SGD(0.1, sched=None), "'sched'"),
        (lambda: sv.Schedule("cosine", T_max=9), "'T_max'"),
    ],
)
def test_a_wrong_keyword_is_answered_by_a_sentence(call: Callable[[], Any], value: str) -> None:
    with refused(UnknownNameError, value):
        call()


def test_numbers_in_an_expression_become_the_values_that_a_user_would_make() -> None:
    x = sv.Value(2.0)
    for made, known in ((x + 3, 3.0), (x + np.float32(0.5), 0.5), (4 - x, 4.0)):
        leaf = next(each for each in made._prev if each is not x)
        assert vars(leaf) == vars(sv.Value(known)) and type(leaf) is sv.Value
        assert (leaf.data, leaf.grad, leaf._op) == (known, 0, "")


def test_help_is_a_page_of_the_names_by_subject() -> None:
    page = pydoc.plain(pydoc.render_doc(sv)).partition("PACKAGE CONTENTS")
    assert len("".join(page).splitlines()) < 100
    assert {*sv.__all__} <= {*re.findall(r"\w+", page[0])}
    names: dict[str, object] = {}
    exec("from scalarviz import *", names)
    assert {*sv.__all__} <= {*names}


def test_completion_offers_data_sets_alone() -> None:
    assert dir(sv.data) == sorted(sv.data.__all__)


def test_completion_offers_the_errors() -> None:
    found = [getattr(errors, name) for name in dir(errors)]
    assert errors.ShapeError in found and all(issubclass(each, BaseException) for each in found)
    with refused(AttributeError, "sv.errors.ShapeError"):
        _ = sv.ShapeError
