"""States of pages made from sessions in Python, and what a page says of them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import scalarviz as sv
from scalarviz.base.texts import texts
from scalarviz.pages import session_state
from scalarviz.pages.bundle import bundle, packed, texts_of
from scalarviz.pages.caption_data import caption_data
from scalarviz.pages.page import module_text
from scalarviz.pages.session_state import SessionState
from scalarviz.scene.frame_data import FrameData
from scalarviz.scene.layout.division import Box
from scalarviz.stage.narration import blocks_of_weight
from scalarviz.stage.network_layout import layout_of
from scalarviz.stage.pointing import neuron_lines
from scalarviz.stage.stage import Stage
from scalarviz.story.caption import Caption, Card
from scalarviz.story.cards import neuron_card
from scalarviz.story.names import weight_title
from scalarviz.training.session import reading
from scalarviz.training.session.reading import arrays, caption, facts_of
from tests.pages.node import run_script


def state_of(stage: Stage, seen: FrameData) -> dict[str, Any]:
    """The state that a stage shows, with all that its operation computes."""
    reading, motion, bank = stage.reading, stage.motion, stage.session.network.bank
    number = 0 if seen.moment is None else motion.current
    neurons, reading.neurons = reading.neurons, None  # a page leaves out neurons itself
    shown = reading.buffers(number)
    reading.neurons = neurons
    before, target = seen.cubes.before, (reading.held or reading.way).target
    step, operation, _ = reading.place
    return {
        "step": step,
        "operation": operation,
        "moment": number - 1,
        "value": numbers(bank.value),
        "grad": numbers(bank.grad),
        "grad_before": numbers(motion.ends[0].grad),
        "before": numbers(bank.value if before is None else before),
        "begun": numbers(reading.now.begun),
        "values": {name: numbers(v) for name, v in shown.values.items()},
        "gradients": {name: numbers(v) for name, v in shown.flows.items()},
        "gradients_before": reading.program.is_graph
        and {name: numbers(v) for name, v in reading.buffers(max(1, number - 1)).flows.items()},
        "target": None if target is None else numbers(target),
    }


def numbers(array: Any) -> dict[str, Any]:
    return packed(np.asarray(array, np.float64))


# The body of a function in which `see` is the projection that `data` describes.
SEE = """
const { x, y, width, height } = data.box;
const box = new Box(x, y, width, height);
const see = new Projection(new Camera(...data.camera), box, ...data.size, data.reach);
"""


def made(*sizes: int) -> sv.Session:
    network = sv.Network([*sizes], "tanh", seed=1)
    inputs = np.linspace(-1.0, 1.0, 4 * sizes[0]).reshape(4, -1)
    return sv.Session(network, (inputs, np.zeros((4, sizes[-1]))), "mse", engine="python")


def convolved() -> sv.Session:
    layers = [sv.Conv2d((1, 6, 6), 2, 3), sv.MaxPool2d((2, 4, 4)), sv.Dense(8, 3)]
    samples = np.linspace(0.0, 1.0, 72).reshape(2, 36), np.zeros((2, 3))
    return sv.Session(sv.Network(layers, seed=2), samples, "mse", engine="python")


def depthwise() -> sv.Session:
    few = sv.Conv2d((2, 6, 6), 4, 3, (2, 1), groups=2, dilation=(2, 1))
    layers = [few, sv.Conv2d((4, 1, 4), 4, 1, groups=4), sv.Dense(16, 3)]
    samples = np.linspace(0.0, 1.0, 144).reshape(2, 72), np.zeros((2, 3))
    return sv.Session(sv.Network(layers, seed=2), samples, "mse", engine="python")


def box_data(box: Box) -> dict[str, float]:
    return dict(zip(("x", "y", "width", "height"), box.place, strict=True))


SCRIPT = Path(__file__).with_name("say.mjs")
Asked = dict[str, Any]  # {} for the default, {"row": ...} or {"neuron": [buffer, place]}


def plain(value: Any) -> Any:
    """Return numbers as JSON has them: those that are not finite are words."""
    if isinstance(value, np.ndarray):
        return plain(value.astype(np.float64).ravel().tolist())
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    return value


def told_data(found: Caption) -> dict[str, Any]:
    """Return a caption for a picture, with what a page's Caption computes."""
    return caption_as_data(found) | {"subject": found.subject, "linked": found.linked}


def caption_as_data(found: Caption) -> dict[str, Any]:
    """Return a caption as a page has it."""
    return {**dataclasses.asdict(found), "pieces": [*map(dataclasses.asdict, found.pieces)]}


def spec_of(session: sv.Session) -> dict[str, Any]:
    """Return the part of a page's specification that captions need, and the texts of a page."""
    found = texts_of(bundle("main.js", module_text), texts())
    return {"facts": caption_data(session), "texts": found}


class Walk:
    """A session that goes on operation by operation, and its state after each."""

    def __init__(self, session: sv.Session) -> None:
        self.session = session
        self.reader = SessionState(session)

    def states(self, steps: int = 1) -> Iterator[dict[str, Any]]:
        """Yield the state after each operation of some steps."""
        for _ in range(steps * len(self.session.operations)):
            self.session.advance(1, "operation")
            yield self.state()

    def state(self) -> dict[str, Any]:
        """Return the state of a page, which explains the last operation also after a step."""
        more = mock.patch.object(session_state, "MOST_OF_BATCH", 400_000)  # as in web/state.js
        with self.session.doing(), more:
            moment = reading.state_of(self.session)
            found = self.reader.read() | self.reader.of_step(moment)
        found |= {"moment": moment.moment, "values": arrays(moment.values)}
        earlier = moment.earlier and np.array(moment.earlier[:])
        return found | {"edited": moment.edited, "earlier": earlier}


def questions(session: sv.Session) -> list[Asked]:
    """Return what captions are asked about: nothing, a weight of each layer, and some neurons."""
    program = session.network.program
    asked: list[Asked] = [{}]
    for operation in program.operations:
        rows = operation.parameters
        asked += [{"row": row} for row in {rows[len(rows) // 2], rows[-1]}] if rows else []
    for buffer in {program.inputs, program.operations[0].target, program.outputs}:
        asked.append({"neuron": [buffer.name, buffer.size - 1]})
    return asked


def expected(session: sv.Session, state: Mapping[str, Any], name: str, asked: Asked) -> Any:
    """Return the caption, or the card, of Python."""
    row, neuron = asked.get("row"), asked.get("neuron")
    neuron = None if neuron is None else tuple(neuron)
    if name == "caption":
        return plain(caption_as_data(caption(session, row, neuron)))
    if neuron is None:
        title = weight_title(facts_of(session), row)
        return plain(dataclasses.asdict(Card(row, title, blocks=blocks_of_weight(session, row))))
    facts = dataclasses.replace(facts_of(session), lines=neuron_lines(layout_of(session)))
    with session.doing():
        return plain(dataclasses.asdict(neuron_card(facts, reading.state_of(session), neuron)))


def said_by_node(task: dict[str, Any], folder: Path) -> Any:
    """Return what the JavaScript of a page makes of a task; see say.mjs."""
    file = folder / "task.json"
    file.write_text(json.dumps(plain(task)), encoding="utf-8")
    return run_script(SCRIPT, str(file))


def compared(session: sv.Session, folder: Path, steps: int = 2, skip: int = 0) -> int:
    """Compare all captions and cards of some steps; return how many there were."""
    session.advance(skip) if skip else None
    walk, asked = Walk(session), questions(session)
    every = [("caption", each) for each in asked]
    every += [("card", each) for each in asked if "row" in each]
    every += [("card", {"neuron": [line.buffer, 0]}) for line in layout_of(session).neurons]
    states: list[Any] = []
    wanted: list[Any] = []
    for state in walk.states(steps):
        states.append({"state": state, "asked": every})
        wanted.append([expected(session, state, *each) for each in every])
    compare(session, states, wanted, folder)
    return sum(map(len, wanted))


def compare(session: sv.Session, states: list[Any], wanted: list[Any], folder: Path) -> None:
    """Compare what a page says of states with what is wanted."""
    found = said_by_node({"spec": spec_of(session), "states": states}, folder)
    for place, (ours, theirs) in enumerate(zip(wanted, found, strict=True)):
        for question, mine, other in zip(states[place]["asked"], ours, theirs, strict=True):
            for name in ("bars", "bent", "changes", "group", "misses", "trial"):
                both = [each.pop(name, None) for each in (mine, other)]
                assert alike(*both), f"moment {place}, {question}: {both}"
            assert other == mine, f"moment {place}, {question}"


def alike(ours: Any, theirs: Any) -> bool:
    """Return whether data are the same, but for the digits of numbers that a page has."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(alike(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(ours, float):
        return math.isclose(ours, theirs, rel_tol=1e-5, abs_tol=1e-7)
    return bool(ours == theirs)
