"""The public names in `help`, tab completion and type checkers, and their arguments."""

from __future__ import annotations

import doctest
import inspect
import os
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data, errors
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.initializers import INITIALIZERS
from scalarviz.core.formulas.optimizers import SCHEDULES
from scalarviz.errors import InputError, UnknownNameError
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.scene_file import find, load
from scalarviz.scene.look import OFFERS
from scalarviz.stage import render
from scalarviz.stage.render_options import RenderOptions
from tests.lessons import examples, with_prompts
from tests.machine import ROOT
from tests.public_names import callables, parameters
from tests.scene.test_look import other
from tests.sessions import session_on
from tests.wording import refused

CALLABLES = {name: (function, home) for name, function, home in callables()}


def test_the_walk_finds_what_is_public() -> None:
    known = {"watch", "Session", "Session.advance", "data.Rgb", "data.from_csv", "onnx.load"}
    assert known <= {*CALLABLES}


def test_help_shows_every_option_by_name_and_type() -> None:
    for name, (function, _) in CALLABLES.items():
        for each in parameters(function):
            is_free = (name, each.name) == ("follow", "models")  # the names of models
            assert is_free or each.kind != each.VAR_KEYWORD, (
                f"**{each.name} of {name} hides options"
            )
            assert each.annotation is not each.empty, f"{each.name} of {name} has no type"


def test_the_docstring_says_what_each_argument_is() -> None:
    for name, (function, home) in CALLABLES.items():
        inherited = getattr(home, function.__name__, function)  # an overriding one is not repeated
        text = inspect.getdoc(function) or inspect.getdoc(inherited) or ""
        assert text, f"{name} has no docstring"
        for each in parameters(function):
            line = rf"^ *(\*?\w+, )*\*?{each.name}(, \*?\w+)*: \S"
            within = rf"`[^`\n]*\b{each.name}\b[^`\n]*`"
            assert re.search(f"{line}|{within}", text, re.M), f"{name} is silent about {each.name}"


def lines_of(thing: Any) -> dict[str, str]:
    """Return the description of each argument in a docstring, without its default."""
    text = re.sub(r"\n {8,}(?=\S)", " ", inspect.getdoc(thing) or "")  # continuation lines
    found = re.findall(r"^ {4}(\w[\w, ]*?): (\S.*)$", text, re.M)
    return {name: re.split("; by default|, the default", said)[0] for name, said in found}


OPTIMIZERS = [sv.SGD, sv.Momentum, sv.Nesterov, sv.RMSProp, sv.Adam, sv.AdamW]


@pytest.mark.parametrize("things", [[sv.Optimizer, *OPTIMIZERS], [sv.picture, sv.record]])
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
    "groups": {"0": {"lr": 0.5}},
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_an_optimizer_has_the_options_that_it_was_given(kind: Any) -> None:
    given = {each.name: OF_OPTIMIZERS[each.name] for each in parameters(kind) if each.name != "lr"}
    made = kind(0.1, **given)
    assert {name: made.settings.get(name, getattr(made, name, None)) for name in given} == given


LOOKS: dict[str, Any] = {name: other(name) for name in OFFERS}
LOOKS |= {"size": (64, 48), "ratio": 2.0, "samples": 3, "pin": 3, "past": "distance"}


@pytest.mark.parametrize("verb", ["picture", "record"])
@pytest.mark.parametrize("option", LOOKS)
def test_an_option_of_a_picture_reaches_what_draws_it(
    verb: str, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Reached(Exception):
        """Raised by the drawing function with its look."""

    def drawing(look: RenderOptions) -> None:
        raise Reached(look)

    monkeypatch.setattr(RenderOptions, "canvas", drawing)
    monkeypatch.setattr(render, "encoder_for", lambda *_: None)
    s = sv.Session(sv.Network([2, 1]), sv.data.Xor(), engine="python")
    paths: dict[str, Any] = {"picture": (), "record": ("a.mp4", 1)}
    base = {"picture": RenderOptions(), "record": RenderOptions(size=(1280, 720))}
    expected = replace(base[verb], **{option: LOOKS[option]})
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
        (lambda: sv.watch(None, tourr=True), "'tourr'"),
        (lambda: sv.watch(None, present=True), "F11"),
        (lambda: sv.predict("1 + 1?", 2, nearly=1), "'nearly'"),
        (lambda: sv.where(1.0, 2.0, z=3.0), "'z'"),
        (lambda: sv.maximum(1.0, other=3.0), "'other'"),
        (lambda: sv.minimum(1.0, other=3.0), "'other'"),
        (lambda: sv.SGD(0.1, sched=None), "'sched'"),
        (lambda: sv.Schedule("cosine", T_max=9), "'T_max'"),
    ],
)
def test_a_wrong_keyword_is_answered_by_a_sentence(call: Callable[[], Any], value: str) -> None:
    refused(UnknownNameError, value).by(call)


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


def value(x):  # type: ignore[no-untyped-def]  # as users write it
    return x * x


def slope(x, y):  # type: ignore[no-untyped-def]  # as users write it
    return 2.0 * x


def batch(step: int, batch: int, seed: int) -> Any:
    return np.zeros((batch, 2)), np.zeros((batch, 1))


def compiled(function: Callable[..., Any], inputs: int) -> sv.compile:  # type: ignore[valid-type]  # compile is a class and a function
    return sv.compile(function, inputs=inputs, engine="python")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (
            lambda: data.Rgb(lambda r, g, b: (b, g, r)),
            "lambda(r, g, b)",
        ),
        (lambda: data.Rgb(lambda: 1.0), "lambda()"),
        (
            lambda: data.Generated(lambda step: None, inputs=2, outputs=1),  # type: ignore[arg-type,misc]  # on purpose
            "lambda(step)",
        ),
        (
            lambda: sv.activation(lambda: 1.0, slope, "none"),
            "lambda()",
        ),
        (
            lambda: sv.activation(value, value, "once"),
            "value(x)",
        ),
        (
            lambda: compiled(lambda x, y: x * y, 1),
            "lambda(x, y)",
        ),
        (lambda: compiled(lambda x: x, 2), "lambda(x)"),
        (lambda: compiled(lambda x: x, 784), "x783"),
        (
            lambda: sv.gradcheck(lambda x: x * x, [1.0, 2.0]),
            "lambda(x)",
        ),
        (
            lambda: data.Texture(lambda u, v: (u, v, 0.0)),  # type: ignore[arg-type]  # on purpose
            "the function",
        ),
    ],
)
def test_a_function_of_another_form_is_refused_by_how_it_is_called(
    call: Callable[[], Any], value: str
) -> None:
    refused(InputError, value).by(call)
    assert not {"none", "once"} & set(ACTIVATIONS)


class Halves:
    """A callable object that is not a function."""

    def __call__(self, colors: Any) -> Any:
        return colors / 2.0


def test_what_can_be_called_so_is_taken() -> None:
    for each in (
        lambda colors: colors,
        lambda *anything: anything[0],
        lambda colors, by=0.5: colors * by,
        partial(np.power, 2.0),  # without a known signature
        np.sqrt,
        Halves(),
    ):
        assert data.Rgb(each, levels=2).samples == 8
    assert data.Generated(batch, inputs=2, outputs=1).batches(3).at(0)[0].shape == (3, 2)
    assert data.Generated(lambda *seen: batch(*seen), inputs=2, outputs=1).samples == 1024
    assert compiled(lambda *x: x[0] * x[1] * x[2], 3)([1.0, 2.0, 3.0]).tolist() == [6.0]
    assert compiled(lambda x, power=2: x**power, 1)([3.0]).tolist() == [9.0]


def test_options_of_a_session_reach_its_window(
    monkeypatch: pytest.MonkeyPatch, colours: sv.Session
) -> None:
    pytest.importorskip("PySide6", reason="a window takes PySide6")
    monkeypatch.setattr("scalarviz.faces.window.window.watch", lambda _, options: options)
    options: dict[str, Any] = {
        "size": (64, 48),
        "play": False,
        "tour": True,
        "reduced_motion": True,
        "nodes": print,
    }
    look = {"color": "gradient", "cubes": "gradient", "pin": 3}
    reached = sv.watch(colours, **options, **look)
    assert {name: getattr(reached, name) for name in options} == options
    assert {name: getattr(reached.look, name) for name in look} == look
    recipe = Recipe(load(find("rgb")))
    assert sv.watch(colours, recipe=recipe).recipes == [recipe]


def test_the_terminal_that_is_gone_is_answered_with_what_to_use(colours: sv.Session) -> None:
    refused(InputError, "terminal").by(sv.watch, colours, terminal=True)


@pytest.mark.parametrize("option", ["networks", "order", "group", "against"])
def test_pictures_of_sweeps_that_are_gone_are_answered_with_what_to_use(option: str) -> None:
    sweep = sv.sweep(xor, {"lr": [0.1, 0.2]}, seeds=[0, 1])
    for function in (sv.picture, sv.watch):
        refused(InputError, "runs.table()").by(function, sweep, **{option: "lr"})
        refused(InputError, "runs.table()").by(function, sweep)


def xor(lr: float, seed: int) -> sv.Session:
    return session_on(sv.data.Xor(), [2, 2, 1], first=seed, optimizer=sv.SGD(lr))


PAGES = "README", *(f"docs/guide/{name}" for name in ("networks", "sessions", "pictures", "values"))
MISTAKES = """
import scalarviz as sv

net = sv.Network([3, 8, 3], activatoin="tanh")
s = sv.Session(net, ([[0.0] * 3], [[0.0] * 3]), batch="all")
s.advance(1, "week")
s.leraning_rate = 0.1
sv.Dense(3, 8).kernl
rate: str = s.learning_rate
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a project, and of mypy's cache."""
    return tmp_path_factory.mktemp("project")


def errors_in(code: str, folder: Path) -> list[str]:
    """Return mypy's errors for a file of a user who has installed scalarviz."""
    (folder / "mine.py").write_text(code, encoding="utf-8")
    # vispy has no types. Users may leave their functions untyped.
    (folder / "mypy.ini").write_text(
        "[mypy]\nstrict = True\nallow_untyped_defs = True\nallow_untyped_calls = True\n"
        "[mypy-vispy.*]\nignore_missing_imports = True\n",
        encoding="utf-8",
    )
    # mypy treats a folder of PYTHONPATH as installed packages, which need a py.typed.
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "mine.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert not done.stderr and done.returncode in (0, 1)
    return [line for line in done.stdout.splitlines() if "error:" in line]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_lines_of_a_page_are_accepted(page: str, folder: Path) -> None:
    text = (ROOT / f"{page}.md").read_text(encoding="utf-8")
    text = "\n".join(with_prompts(code) for _, code in examples(text)) if page == "README" else text
    lines = [example.source for example in doctest.DocTestParser().get_examples(text)]
    assert len(lines) > 10
    assert errors_in("".join(lines), folder) == []


@pytest.mark.slow
def test_mistakes_are_found(folder: Path) -> None:
    lines = [int(error.split(":")[1]) for error in errors_in(MISTAKES, folder)]
    assert lines == [i for i, line in enumerate(MISTAKES.splitlines(), 1) if i > 3]
