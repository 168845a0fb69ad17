"""Names of tables, inputs and outputs are shown with all letters visible, wherever they are shown.

A name from a file may turn the text around it, end it, or move the cursor of a terminal.
"""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.train import train
from scalarviz.stage.show import Show
from scalarviz.stage.stage import Stage
from tests.sessions import advanced

# A name that reverses what follows, one that ends a line of C, one that colours a terminal.
HOSTILE = ["a\u202eb", "c\0d", "\x1b[31me\u2066", "f\u200f\ng"]


def session_of(inputs: int, outputs: int, *, classes: bool = False) -> sv.Session:
    rng = np.random.default_rng(0)
    x = rng.random((8, inputs))
    y = np.eye(outputs)[np.arange(8) % outputs] if classes else rng.random((8, outputs))
    names = {"input_names": HOSTILE[:inputs], "output_names": HOSTILE[:outputs]}
    net = sv.Network([inputs, 4, outputs], "tanh", seed=0)
    return advanced(
        sv.Session(net, data.Arrays(x, y, **names), "mse", sv.SGD(0.1), batch=4, engine="python"), 3
    )


def expression() -> sv.Session:
    made = [sv.Value(0.5, label=name) for name in HOSTILE]
    rule = sv.compile(lambda x: made[0] * x + made[1] * made[2] + made[3], inputs=1)
    samples = np.linspace(0.0, 1.0, 5)[:, np.newaxis], np.zeros((5, 1))
    return advanced(sv.Session(rule, samples, "mse", sv.SGD(0.1), engine="python"), 3)


SESSIONS = {
    "a map of classes": lambda: session_of(2, 3, classes=True),
    "a map": lambda: session_of(2, 1),
    "a curve": lambda: session_of(1, 1),
    "a table": lambda: session_of(4, 4),
    "an expression": expression,
}


@pytest.fixture(params=SESSIONS, ids=[name.replace(" ", "-") for name in SESSIONS])
def session(request: pytest.FixtureRequest) -> sv.Session:
    return SESSIONS[request.param]()


def texts_in(thing: Any, seen: set[int] | None = None) -> Iterator[str]:
    """All texts in dataclasses, sequences and mappings."""
    seen = set() if seen is None else seen
    if isinstance(thing, str):
        yield thing
    elif id(thing) in seen or isinstance(thing, np.ndarray):
        return
    elif dataclasses.is_dataclass(thing) or hasattr(thing, "_fields"):
        seen.add(id(thing))
        named = getattr(thing, "_fields", None) or [f.name for f in dataclasses.fields(thing)]
        for name in named:
            yield from texts_in(getattr(thing, name), seen)
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from texts_in(key, seen)
            yield from texts_in(value, seen)
    elif isinstance(thing, (list, tuple, set)):
        for each in thing:
            yield from texts_in(each, seen)


def hidden(texts: Iterator[str], *, lines: bool = False) -> list[str]:
    """Texts with letters that cannot be seen; with `lines`, they may have several."""
    return [t for t in texts if not (t.replace("\n", "") if lines else t).isprintable()]


def parts(session: sv.Session) -> Iterator[Any]:
    """What can be pinned: weights, inputs, hidden neurons, outputs."""
    yield None
    yield from (0, len(session.network.bank) - 1)
    for buffer in session.network.program.buffers if session.network.layers else ():
        yield buffer.name, 0


@pytest.mark.some(1)
def test_pictures_show_all_letters(session: sv.Session) -> None:
    stage = Stage(Show(session))
    for operation in range(len(session.operations) + 1):
        for part in parts(session):
            stage.pin(part)
            stage.hover, stage.hover_neuron = stage.pinned, stage.pinned_neuron
            stage.tick(float(operation))
            stage.motion.tick(operation + 0.99)
            assert hidden(texts_in(stage.frame_data()), lines=True) == []
        session.advance(1, "operation")


def test_controls_show_all_letters(session: sv.Session) -> None:
    controller = Controller(Show(session), Stage(Show(session)))
    for part in parts(session):
        controller.stage.pin(part)
        assert hidden(texts_in(controller.state)) == []


def test_terminals_show_all_letters(
    session: sv.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(Show(session), 2) == 0
    assert hidden(iter([capsys.readouterr().out]), lines=True) == []


def test_notebooks_show_all_letters(session: sv.Session) -> None:
    shown = [session, session.network, session.data]
    if session.network.layers:
        layer = session.network.layers[0]
        shown += [layer, layer.perceptrons[0], layer.perceptrons[0].weights[0]]
    else:
        shown += [(sv.Value(0.5, label=HOSTILE[0]) * 2.0).tanh()]
    for each in shown:
        page = each._repr_html_() if hasattr(each, "_repr_html_") else ""
        drawn = [
            base64.b64decode(data).decode() for data in re.findall(r"xml;base64,([^\"]+)", page)
        ]
        assert hidden(iter([repr(each), page, *drawn]), lines=True) == [], type(each)


def test_faces_read_the_names_of_data_in_one_place() -> None:
    package = Path(sv.__file__).parent
    readers = {
        file.relative_to(package).as_posix()
        for folder in ("story", "scene", "stage", "pages", "faces")
        for file in (package / folder).glob("**/*.py")
        if re.search(r"\.(input|output)_names", file.read_text(encoding="utf-8"))
    }
    assert readers == {"story/names.py"}
