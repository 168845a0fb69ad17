"""Controls and options of every face do what they show, and their messages name what to click."""

import ast
import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as safetensors

import scalarviz as sv
from scalarviz import data
from scalarviz.base import texts
from scalarviz.base.texts import text
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.data import data_set
from scalarviz.faces.controller import files_and_links
from scalarviz.faces.controller.changes import learn_input, set_learning_rate
from scalarviz.faces.controller.control import Control
from scalarviz.faces.controller.controller import Controller
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.faces.controller.options import CLICKS, as_sentence, without_code
from scalarviz.scene.look import DIGITS
from scalarviz.stage.stage import Stage
from tests.faces.controller.conftest import Open
from tests.faces.controller.fake_stage import patient
from tests.sessions import inverting, session_on

ALONE = [each for each in CONTROLS.values() if each.name != "session"]
TICKS = [each for each in ALONE if each.row.kind == "tick"]


@pytest.fixture
def controller(opened: Open) -> Any:
    """Of a network over a plane, which has all there is to see, with two branches and a pin."""
    net = sv.Network([2, 22, 1], "tanh", "sigmoid", seed=0)
    session = sv.Session(net, data.Circle(), "mse", sv.SGD(0.5), batch=8, engine="python")
    session.advance(4)
    session.seek(2)
    session.edit(0, 0.5)
    made = opened(session, Stage)
    made.stage.pin(net.layers[0].perceptrons[0].weights[0])
    return made


def used(controller: Controller, control: Control, value: Any) -> Any:
    """What a control shows after its key was pressed, or without one after it was set."""
    key = control.row.key
    if not key or key == DIGITS:
        controller.face.act(control, value)
    else:
        assert controller.face.press(key)
    return control.get(controller.face.state)


@pytest.mark.some(3)
@pytest.mark.parametrize("row", TICKS, ids=lambda row: row.name)
def test_a_tick_shows_that_it_was_flipped(controller: Controller, row: Control) -> None:
    controller.stage.frame_data()
    before = row.get(controller.face.state)
    assert row.enabled(controller.face.state)
    assert used(controller, row, not before) == (not before)
    assert used(controller, row, before) == before


@pytest.mark.parametrize("name", ["go wrong", "scenes"])
def test_a_choice_that_begins_something_else_does_so_and_leads_back(
    controller: Controller, name: str
) -> None:
    row, session = CONTROLS[name], controller.session
    before = session.network.bank.value.copy()
    row.set(controller, [*row.names(controller.face.state)][-1])
    controller.time.pause()
    now = controller.session.network.bank.value
    assert now.shape != before.shape or (now != before).any()
    stage: Any = controller.stage
    stage.press(text("notices.earlier"))
    assert controller.session is session and (session.network.bank.value == before).all()


def test_a_button_fits_the_scales_to_the_numbers_of_now(controller: Controller) -> None:
    stage: Any = controller.stage
    controller.edit(0, 40.0)
    assert stage.frame_data().cubes.color_scales.max() >= 40.0
    controller.edit(0, 0.5)
    assert stage.frame_data().cubes.color_scales.max() >= 40.0
    CONTROLS["fit colours"].set(controller, 1)
    assert stage.frame_data().cubes.color_scales.max() < 40.0


__all__ = ["patient"]  # a fixture

Make = Callable[..., Controller]


@pytest.fixture
def patiently_opened(patient: None, opened: Open) -> Open:
    return opened


def session(**options: Any) -> sv.Session:
    net = sv.Network([3, 4, 4, 3], "tanh", "sigmoid", seed=0)
    loss = sv.Loss("mse", factor=0.5)
    options = {"batch": 4, "engine": "python"} | options
    return sv.Session(net, data.Rgb(levels=3), loss, sv.SGD(0.5), **options)


def shown(controller: Controller) -> dict[str, Any]:
    return {choice.name: choice.value for choice in controller.face.state.choices}


def last_notice(controller: Controller) -> str:
    stage: Any = controller.stage
    return str(stage.notices[-1]) if stage.notices else ""


AT_FIRST = {
    "optimizer": "sgd",
    "loss": "mse",
    "batch": "4",
    "activation": "tanh",
    "l1": 0.0,
    "l2": 0.0,
    "precision": "full",
    "init": "pytorch",
    "bias": True,
}
CHOICES = [
    ("optimizer", "adam", "adam", lambda s: type(s.optimizer).__name__ == "Adam"),
    ("loss", "huber", "huber", lambda s: s.loss_function.key[::2] == ("huber", 0.5)),
    ("batch", "16", "16", lambda s: s.batch == 16),
    ("batch", "all", "all", lambda s: s.batch is None),
    ("batch", "", "all", lambda s: s.batch is None),
    ("activation", "relu", "relu", lambda s: s.network.activations == ("relu", "relu", "sigmoid")),
    ("l1", "0.25", 0.25, lambda s: (s.optimizer.l1, s.learning_rate) == (0.25, 0.5)),
    ("l2", "1e-3", 0.001, lambda s: s.optimizer.l2 == 0.001),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "then", "holds"), CHOICES)
def test_a_choice_changes_the_session_and_undo_takes_it_back(
    patiently_opened: Make, name: str, value: str, then: Any, holds: Callable[[sv.Session], bool]
) -> None:
    controller = patiently_opened(session())
    first = controller.session
    controller.time.step(+1, 3)
    controller.set_option(name, value)
    assert controller.session is first and holds(first), last_notice(controller)
    assert shown(controller)[name] == then
    controller.undo()
    assert shown(controller) | {"engine": ""} == {**shown(controller), **AT_FIRST, "engine": ""}
    assert first.step_index == 3
    controller.redo()
    assert holds(first)


@pytest.mark.parametrize(("name", "value"), [("init", "he_normal"), ("bias", False)])
def test_another_network_is_one_of_its_own_and_its_message_leads_back(
    patiently_opened: Make, name: str, value: Any
) -> None:
    controller = patiently_opened(session())
    first = controller.session
    controller.time.step(+1, 3)
    controller.set_option(name, value)
    made = controller.session
    assert made is not first and made.origin is not None and made.origin.session is first
    assert shown(controller)[name] == value
    assert "The previous training run is unchanged" in last_notice(controller)
    stage: Any = controller.stage
    stage.press(text("notices.earlier"))
    assert controller.session is first and shown(controller)[name] == AT_FIRST[name]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("optimizer", "adma", "'adma'"),
        ("loss", "softmax_cross_entropy", "'sigmoid'"),
        ("batch", "many", "'many'"),
        ("batch", "0", "not 0"),
        ("batch", "28", "27 samples"),
        ("activation", "tan", "'tan'"),
        ("l1", "-1", "l1"),
        ("l2", "much", "'much'"),
        ("precision", "mixed", "python"),
        ("init", "he", "'he'"),
        ("bias", "perhaps", "'perhaps'"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    patiently_opened: Make, name: str, value: str, words: str
) -> None:
    controller = patiently_opened(session())
    controller.set_option(name, value)
    assert words in last_notice(controller)
    assert shown(controller)[name] == AT_FIRST[name]
    assert not controller.session.current_branch.journal


def test_within_a_step_the_choice_is_seen_at_once_though_it_waits(patiently_opened: Make) -> None:
    controller = patiently_opened(session())
    controller.time.operation(+1)
    controller.set_option("loss", "mae")
    controller.set_option("batch", "2")
    assert (shown(controller)["loss"], shown(controller)["batch"]) == ("mae", "2")
    assert controller.session.loss_function.name == "mse"


def test_with_several_samples_a_step_there_is_no_going_by_samples(patiently_opened: Make) -> None:
    controller = patiently_opened(session(batch=1))
    controller.time.set_unit("sample")
    controller.set_option("batch", "4")
    controller.face.attend()
    assert controller.time.unit == "step"


def test_only_what_a_training_has_is_offered(patiently_opened: Make) -> None:
    wave = sv.compile(lambda x: sv.Value(0.5) * x, inputs=1)
    found = shown(patiently_opened(sv.Session(wave, ([[1.0]], [[2.0]]), engine="python")))
    assert {"activation", "init", "bias"}.isdisjoint(found) and "loss" in found
    found = shown(
        patiently_opened(
            session_on(data.Xor(), [sv.Residual(sv.Dense(2, 2)), sv.Dense(2, 1)], dtype="float64")
        )
    )
    assert {"activation", "precision", "bias"}.isdisjoint(found) and "init" in found


def test_options_of_the_scene_of_the_same_name_are_these(patiently_opened: Make) -> None:
    controller = patiently_opened("circle", hidden="3")
    names = [choice.name for choice in controller.face.state.choices]
    assert len(names) == len(set(names)) and {"batch", "l1", "activation"} <= set(names)
    assert {"batch", "l1", "activation"}.isdisjoint(
        each.name for each in controller.face.state.options
    )
    first = controller.session
    controller.set_option("batch", "20")
    assert controller.session is first and first.batch == 20
    controller.set_option("noise", "0.25")
    assert controller.session is first and first.data.settings()["noise"] == 0.25


def test_a_training_that_begins_anew_has_what_was_chosen(patiently_opened: Make) -> None:
    controller = patiently_opened("rgb")
    for name, value in (
        ("optimizer", "adam"), ("loss", "huber"), ("batch", "3"), ("l2", "0.5"),
        ("activation", "relu"), ("lr", "0.125"),
    ):  # fmt: skip
        controller.set_option(name, value)
    controller.set_option("bias", False)
    for hidden in ("4", "5"):
        controller.set_option("hidden", hidden)
        s = controller.session
        assert s.network.layers[0].outputs == int(hidden), last_notice(controller)
        assert (s.optimizer.name, s.loss_function.name, s.batch) == ("adam", "huber", 3)
        assert (s.optimizer.l2, s.learning_rate) == (0.5, 0.125)
        assert s.network.activations == ("relu", "sigmoid") and s.network.layers[0].bias is None
    controller.set_option("optimizer", "sgd")
    controller.set_option("hidden", "6")
    assert controller.session.optimizer.name == "sgd"


ENGLISH = json.loads(Path(texts.__file__).with_name("english.json").read_text(encoding="utf-8"))
PACKAGE = Path(sv.__file__).parent
# Methods, attributes and calls, arguments by name, options of the command line.
CODE = re.compile(r"\b(s|sv|net|np|session)\.\w|\w\(|\w=[\w'\"\[({]|\w=( |$)|(?<!\S)--\w|`")
ENTRIES = ["", "zzz", "loss <", "accuracy > 2", "grad norm > 999", "loss < 0.01", "not finite"]
NUMBERS = ["", "abc", "nan", "inf", "-1", "0", "1e39", "0.1", -1.0, 1e9, math.nan, math.inf]


def frozen() -> sv.Session:
    session = inverting()
    session.freeze(range(31))
    return session


def convolution() -> sv.Session:
    layers = [sv.Conv2d((1, 4, 4), 2, padding=1), sv.Flatten((2, 4, 4)), sv.Dense(32, 2)]
    samples = np.random.default_rng(0).random((6, 16)), np.eye(2)[[0, 1, 0, 1, 0, 1]]
    return sv.Session(sv.Network(layers, seed=0), samples, batch=2, engine="python")


def single() -> sv.Session:
    optimizer = sv.SGD(0.5, schedule=sv.Schedule("step", every=10, factor=0.5))
    return sv.Session(sv.Network([2, 1], seed=0), data.Xor(), "mse", optimizer, engine="python")


def expression() -> sv.Session:
    a = sv.Value(0.5, label="a")
    rule = sv.compile(lambda x: (a * x).tanh(), inputs=1)
    samples = np.linspace(0.0, 1.0, 5)[:, np.newaxis], np.zeros((5, 1))
    return sv.Session(rule, samples, "mse", sv.SGD(0.1), engine="python")


SESSIONS = inverting, frozen, convolution, single, expression


def notices_of(controller: Controller) -> Any:
    stage: Any = controller.stage
    return stage.notices


def values_of(control: Control, controller: Controller) -> list[Any]:
    """Values that a user can give a control, and some that none should."""
    state = controller.face.state
    scale = control.scale(state)
    return {
        "button": [1, 10],
        "tick": [True, False],
        "choice": [*control.names(state), "none of them"],
        "number": NUMBERS,
        "entry": ENTRIES,
        "text": [],
    }.get(control.row.kind) or [scale.number(place) for place in (0, scale.last // 2, scale.last)]


def pin(controller: Controller, what: str) -> None:
    program = controller.session.network.program
    if what == "weight":
        controller.stage.pinned = 0
    elif what:
        buffers = {"input": program.inputs, "output": program.outputs}
        controller.stage.pinned_neuron = (buffers[what].name, 0)


QUICK = [(inverting, "weight"), (expression, "")]
EACH = [(make, what) for make in SESSIONS for what in ("", "weight", "input", "output")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "what"),
    [*QUICK, *(pytest.param(*each, marks=pytest.mark.slow) for each in EACH if each not in QUICK)],
)
def test_no_control_speaks_of_code(make: Callable[[], sv.Session], what: str, opened: Open) -> None:
    for control in CONTROLS.values():
        if control.row.window or control.name == "session":
            continue
        controller = opened(make())
        pin(controller, what)
        for value in values_of(control, controller):
            controller.face.act(control, value)
            controller.time.pause()
        assert [said for said in notices_of(controller) if CODE.search(said)] == [], control.name


WRONG: dict[type, list[Any]] = {
    int: [-1, 0, 10**7],
    float: [-1.0, math.nan, "abc", 1e300],
    str: ["", "zzz", "16,16", "0", "1,x"],
    bool: [True, False],
}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("nothing to undo", "Nothing to undo"),
        ("features 'zzz': unknown", "Features 'zzz': unknown"),
        ("it.png is no picture", "it.png is no picture"),
        ("a_b is no name", "a_b is no name"),
        ("'zzz' is no name", "'zzz' is no name"),
        ("", ""),
    ],
)
def test_an_error_is_shown_with_a_capital_letter_unless_it_begins_with_a_name(
    message: str, shown: str
) -> None:
    assert as_sentence(message) == shown


def test_a_wrong_option_is_named_without_code(opened: Open) -> None:
    controller = opened("circle")
    controller.set_option("features", "zzz")
    assert notices_of(controller)[-1].startswith("Features 'zzz': unknown feature 'zzz'")


@pytest.mark.slow
@pytest.mark.parametrize("scene", ["circle", "rgb", "xor", "normalized"])
def test_no_option_of_a_scene_speaks_of_code(scene: str, opened: Open) -> None:
    controller = opened(scene)
    for choice in controller.face.state.choices:
        for value in (*choice.choices, *WRONG[choice.kind]):
            controller.set_option(choice.name, value)
            controller.time.pause()
    assert len(notices_of(controller)) > 5
    assert [said for said in notices_of(controller) if CODE.search(said)] == []


# Each row of the table, by what leads to it in a window.


def save(session: sv.Session, folder: Path, *, samples: bool = True) -> Path:
    session.save(folder / "run.safetensors", data=samples)
    return folder / "run.safetensors"


def bend(x: float) -> float:
    return x / (1.0 + abs(x))


def bend_derivative(x: float, y: float) -> float:
    return 1.0 / ((1.0 + abs(x)) * (1.0 + abs(x)))


class Bend(sv.Layer):
    """A layer of one's own, whose name another one takes."""

    def lower(self, program: Any) -> None:
        program.add("activation", "tanh", size=self.outputs)

    def settings(self) -> dict[str, Any]:
        return {"size": self.inputs}

    def forward_rows(self, batch: Any) -> Any:
        return batch

    backward_rows = evaluate_rows = forward_rows


def single_with(value: float) -> sv.Session:
    session = single()
    session.network.bank.value[:] = value
    return session


def use(name: str, value: Any = 1) -> Callable[[Any, Path], object]:
    """Sets a control while weight 0 is pinned."""

    def act(controller: Any, folder: Path) -> None:
        controller.stage.pinned = 0
        CONTROLS[name].set(controller, value)

    return act


def step(controller: Any, folder: Path) -> None:
    controller.time.step(+1)


def step_too_far(controller: Any, folder: Path) -> None:
    set_learning_rate(controller, 3e38)
    controller.time.step(+1, 10)


def too_many_samples(controller: Any, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_set, "MOST_ADDED", 0)
        controller.stage.own = np.full(3, 0.5)
        learn_input(controller, "")


def own_formula(controller: Any, folder: Path) -> None:
    sv.activation(bend, bend_derivative)
    path = save(session_on(data.Xor(), [2, 3, 1], "bend", first=1, optimizer=sv.SGD(0.1)), folder)
    ACTIVATIONS.popitem()
    files_and_links.open_run(controller, path)


def data_by_code(controller: Any, folder: Path) -> None:
    made = data.Generated(
        lambda step, batch, seed: (np.zeros((batch, 1)), np.zeros((batch, 1))), inputs=1, outputs=1
    )
    path = save(session_on(made, [1, 2, 1], first=1, optimizer=sv.SGD(0.1), batch=2), folder)
    files_and_links.open_run(controller, path)


def without_samples(controller: Any, folder: Path) -> None:
    made = sv.Session(sv.Network([1, 2, 1], seed=1), (np.eye(1), np.eye(1)), engine="python")
    files_and_links.open_run(controller, save(made, folder, samples=False))


def own_layer() -> sv.Session:
    type("Bend", (Bend,), {})
    return sv.Session(sv.Network([Bend(2, 2), sv.Dense(2, 1)], seed=1), data.Xor(), engine="python")


def open_bytes(content: bytes) -> Callable[[Any, Path], object]:
    """Opens a file with this content as a training."""

    def act(controller: Any, folder: Path) -> None:
        path = folder / "theirs.safetensors"
        path.write_bytes(content)
        files_and_links.open_run(controller, path)

    return act


# Messages of the table, the training in which each is met, and what the user does there.
LED_TO = [
    ("unfreeze", frozen, use("weight rate", "0.1")),
    ("unfreeze", frozen, use("layer rate", "0.1")),
    ("lower_from", single, step_too_far),
    ("lower", lambda: single_with(3e38), step),
    ("type", lambda: single_with(math.nan), step),
    ("scene", expression, use("remove neuron")),
    ("kind", convolution, use("add neuron")),
    ("another_layer", convolution, use("add neuron")),
    ("earlier_layer", single, use("add neuron")),
    ("fewer_samples", inverting, too_many_samples),
    (
        "on_cpu",
        inverting,
        lambda controller, folder: controller.do(lambda: controller.session.to("python", "mixed")),
    ),
    ("unmeasured", inverting, use("stop when", "held-out accuracy > 0.5")),
    ("condition", inverting, use("stop when", "weight 7 > 0")),
    ("condition", inverting, use("stop when", "loss < 1 and loss > 0")),
    (
        "texture",
        inverting,
        lambda controller, folder: files_and_links.drop(controller, folder / "a.png"),
    ),
    ("program", inverting, own_formula),
    ("program", inverting, data_by_code),
    ("program", inverting, without_samples),
    (
        "program_saves",
        own_layer,
        lambda controller, folder: files_and_links.save(controller, folder / "run.safetensors"),
    ),
    ("saved_here", inverting, open_bytes(safetensors({"w": np.zeros(2, np.float32)}))),
    ("saved_here", inverting, open_bytes(b"no")),
]


@pytest.mark.parametrize(("name", "make", "act"), LED_TO)
def test_errors_say_what_to_click(
    name: str, make: Any, act: Any, opened: Open, tmp_path: Path
) -> None:
    controller = opened(make())
    act(controller, tmp_path)
    said = notices_of(controller)[-1]
    assert not CODE.search(said), said
    assert re.search(re.sub(r"\\{\w+\\}", ".+", re.escape(ENGLISH[f"clicks.{name}"])), said), said


def test_every_row_has_something_that_leads_to_it() -> None:
    assert {name for name, *_ in LED_TO} == set(CLICKS.values())
    assert {name for name, *_ in LED_TO} == {
        key.split(".")[1] for key in ENGLISH if key.startswith("clicks.")
    }


# Errors of the files to which a mouse leads, also those that are raised seldom.

REACHED = """
    faces/controller/controller.py faces/controller/changes.py
    faces/controller/files_and_links.py faces/controller/options.py data/samples.py data/texture.py
    files/checked_safetensors.py files/networks.py files/runs.py files/run_settings.py
    core/bank_arrays.py training/network/grown_networks.py training/session/growth.py
    training/session/user_changes.py training/session/session.py
""".split()

# Beginnings of errors that only calls in a script raise: no control leads to them, no opened file.
OF_SCRIPTS = (
    "a session trains a",
    "the data is missing",
    "the loss is a name",
    "this network is now trained by another session",
    "pass only epochs=",
    "pass share=",
    "targets with classes=",
    "1 must be a number within float32",
    "all perceptrons of this network",
    "biases can be added and removed",
    "data with standardize=True",
)


def template(node: ast.expr) -> str:
    """The text of a literal, with 1 in place of what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(template, node.values))
    return "1"


def errors_in(file: Path) -> Iterator[str]:
    """The messages of the errors that a file raises, after the table was applied."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Error"):
            yield from map(without_code, map(template, node.args))


@pytest.mark.parametrize("file", REACHED)
def test_no_error_that_a_mouse_can_lead_to_speaks_of_code(file: str) -> None:
    errors = [said for said in errors_in(PACKAGE / file) if not said.startswith(OF_SCRIPTS)]
    assert [said for said in errors if CODE.search(said)] == []
