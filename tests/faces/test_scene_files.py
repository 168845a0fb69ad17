"""Scene files: options that can be typed, hints, links to moments, and scenes that fail."""

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import (
    FileError,
    GradientError,
    InputError,
    ScalarvizError,
    SceneError,
    UnknownNameError,
)
from scalarviz.faces.cli import commands
from scalarviz.faces.cli.watch_scene import opened
from scalarviz.faces.controller.options import Recipe
from scalarviz.faces.links import Link, link_to, read_link
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import (
    RUNNING,
    SHARED,
    USUAL_RATES,
    hint_with,
    make_show,
    own_options,
)
from tests.pages.node import in_web
from tests.sessions import advanced, session_on
from tests.wording import refused

NOTHING: dict[str, Any] = dict.fromkeys(SHARED | RUNNING)


def bare() -> sv.Session:
    """Learns XOR."""
    return session_on(
        data.Xor(), [2, 3, 1], "tanh", first=7, optimizer=sv.SGD(0.1), batch=2, seed=7
    )


def with_options(map: str = "invert", deep: bool = False, lr: float = 0.5) -> sv.Session:
    """Learns colours.

    Args:
        deep: two layers more
    """
    assert isinstance(deep, bool)
    sizes = [3, 2, 2, 2, 3] if deep else [3, 2, 3]
    return sv.Session(sv.Network(sizes), data.Rgb(map, levels=2), "mse", sv.SGD(lr), 4, "python")


def show(scene: Any, *typed: str, **given: Any) -> sv.Session:
    defaults = {name: option.default for name, option in own_options(scene).items()}
    return make_show(scene, NOTHING | defaults | given, typed).session


def test_options_have_the_type_of_their_default_and_the_help_of_their_line() -> None:
    options = own_options(with_options)
    assert {name: option.kind for name, option in options.items()} == {
        "map": str,
        "deep": bool,
        "lr": float,
    }
    assert options["deep"].help == "two layers more"


def test_what_a_scene_has_no_parameter_for_is_set_in_its_session() -> None:
    s = show(bare, lr=0.25, precision="full")
    assert s.learning_rate == 0.25 and s.step_index == 0
    assert show(with_options, lr=0.25).optimizer.lr == 0.25


def test_another_seed_gives_the_network_that_it_would_have_had() -> None:
    s = show(bare, seed=9)
    assert (s.network.bank.value == sv.Network([2, 3, 1], "tanh", seed=9).bank.value).all()
    assert s.trainer.batches.at(0)[0].tolist() == (data.Xor().batches(2, 9).at(0)[0].tolist())
    assert s.trainer.batches.size == 2


def test_another_batch_leaves_the_rest_as_it_was() -> None:
    s, usual = show(bare, batch=3), show(bare)
    assert s.trainer.batches.size == 3
    assert (s.network.bank.value == usual.network.bank.value).all()
    assert (repr(s.optimizer), s.engine) == (repr(usual.optimizer), "python")


def test_an_expression_has_no_seed() -> None:
    def line() -> sv.Session:
        slope = sv.Value(1.0)
        f = sv.compile(lambda x: slope * x, inputs=1, engine="python")
        return sv.Session(f, ([[0.0], [1.0]], [[0.0], [2.0]]), engine="python")

    assert show(line, batch=1).timeline.trainer.batches.size == 1
    refused(InputError).by(show, line, seed=1)


def test_options_can_be_set_by_name() -> None:
    s = show(with_options, set=["deep=yes", "lr=0.125", "map=grey"])
    assert len(s.network.layers) == 4 and s.learning_rate == 0.125
    assert "grey" in repr(s.data)
    for wrong in ("deep=perhaps", "lr=much"):
        refused(InputError, wrong.partition("=")[2]).by(show, with_options, set=[wrong])
    refused(UnknownNameError).by(show, with_options, set=["depth=3"])


def test_a_resumed_training_has_its_numbers_from_the_file(tmp_path: Path) -> None:
    kept = tmp_path / "kept.safetensors"
    s = advanced(show(with_options, lr=0.25), 5)
    s.save(kept)
    again = show(with_options, resume=kept)
    assert (again.step_index, again.learning_rate) == (5, 0.25)
    assert (again.network.bank.value == s.network.bank.value).all()
    assert show(with_options, resume=kept, lr=0.0625).learning_rate == 0.0625
    # What is typed counts, though the scene has it anyway.
    assert show(with_options, resume=kept, set=["lr=0.5"]).learning_rate == 0.5
    usual = NOTHING | {"resume": kept, "map": "invert", "deep": False, "lr": 0.5}
    assert make_show(with_options, usual, typed={"lr"}).session.learning_rate == 0.5
    assert make_show(with_options, usual).session.learning_rate == 0.25
    for given in ({"map": "grey"}, {"seed": 3}, {"batch": 2}, {"set": ["deep=yes"]}):
        (name,) = given if "set" not in given else ("deep",)
        refused(InputError, name).by(show, with_options, resume=kept, **given)


def test_a_rate_holds_from_the_step_in_which_a_resumed_training_stands(tmp_path: Path) -> None:
    s = show(with_options, lr=1e300)
    refused(GradientError).by(s.advance, 5)
    s.save(tmp_path / "kept")
    again = show(with_options, resume=tmp_path / "kept", lr=0.25)
    assert again.clock.place == (0, 0) and again.learning_rate == 0.25
    again.advance(5)
    s.seek(0)
    s.advance(1, "operation")
    s.save(tmp_path / "kept")
    assert show(with_options, resume=tmp_path / "kept").clock.place == (0, 1)


def test_what_a_resumed_file_may_cost_can_be_said(run: Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept.safetensors"
    sv.Session(sv.Network([3, 3]), data.Rgb(levels=16), engine="python").save(kept)
    refused(FileError, "216.0 KB").by(show, with_options, resume=kept, limit=50_000)
    assert show(with_options, resume=kept, limit=10**9).step_index == 0
    assert "its data set rgb would take" in run("replay", str(kept), "--limit", "50000").err


def test_a_training_of_another_scene_is_not_resumed(tmp_path: Path) -> None:
    kept = tmp_path / "kept.safetensors"
    sv.Session(sv.Network([2, 3, 1], "tanh"), data.Xor(), engine="python").save(kept)
    refused(InputError, "xor").by(show, with_options, resume=kept)


def made(name: str, **given: Any) -> Any:
    scene = load(find(name))
    options = RUNNING | SHARED | own_options(scene)
    usual = {each: option.default for each, option in options.items()}
    return make_show(scene, usual | {"engine": "python"} | given, typed=given)


def given_by(hint: str) -> dict[str, Any]:
    """The options of a command, for `made`."""
    _, verb, name, *words = shlex.split(hint)
    assert verb == "watch"
    options = RUNNING | SHARED | own_options(load(find(name)))
    found: dict[str, Any] = {}
    while words:
        option = words.pop(0).removeprefix("--").replace("-", "_")
        if option not in options:
            found[option.removeprefix("no_")] = False
        elif options[option].kind in (bool, bool | None):
            found[option] = True
        else:
            kinds = get_args(options[option].kind) or (options[option].kind,)
            kind = next(kind for kind in (int, float, str) if kind in kinds)
            found[option] = kind(words.pop(0))
    return found


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


GOOD = {
    "rgb": Link("rgb"),
    "rgb#step=120&op=7&pin=42": Link("rgb", {}, 120, 7, 42),
    "rgb?hidden=4&map=grey#step=3": Link("rgb", {"hidden": "4", "map": "grey"}, 3),
    "circle?hidden=8,8#op=2": Link("circle", {"hidden": "8,8"}, None, 2),
    "a%20run%231.safetensors#step=20": Link("a run#1.safetensors", {}, 20),
    "rgb#neuron=tanh%200:3": Link("rgb", neuron=("tanh 0", 3)),
    "rgb#sample=2&play=0.5&theme=light&tour=no": Link(
        "rgb", sample=2, play=0.5, look={"theme": "light"}, tour="no"
    ),
    "rgb#hide=controls,strip": Link("rgb", hide=("controls", "strip")),
    "rgb#numbers=yes": Link("rgb", look={"numbers": True}),
}


@pytest.mark.parametrize("text", GOOD)
def test_a_link_says_what_to_open_and_where_and_reads_back_when_written(text: str) -> None:
    assert read_link(text) == GOOD[text] == read_link(str(GOOD[text]))


@pytest.mark.parametrize(
    "text",
    ["", "#step=1", "rgb#step=-1", "rgb#step=1e3", "rgb#step=1000000000", "rgb#step=", "rgb#op=x",
     "rgb#pin=1.5", "rgb#step=١٢", "rgb#neuron=tanh 0", "rgb#sample=-1", "rgb#play=0",
     "rgb#play=nan", "rgb#theme=blue", "rgb#tour=yes", "rgb#hide=all", "rgb#hide=", "rgb#hide=,",
     "rgb#alert(1)=2", "rgb#__proto__=1", "rgb?hidden=../x", "rgb?picture=/etc/passwd",
     "rgb?folder=\\\\host\\x", "rgb?picture=http://host/x", "rgb?hidden=$(id)", "x" * 8001,
     "rgb?picture=mine.png", "rgb?folder=..", "rgb#numbers=true", "rgb#camera=flatt"],
)  # fmt: skip
def test_what_means_nothing_is_refused_in_one_sentence(text: str) -> None:
    refused(InputError).by(read_link, text)


def test_pages_read_the_same_moments() -> None:
    fragments = [link.fragment for link in GOOD.values()]
    body = """
      const sizes = new Map([["tanh 0", 9]]);
      const look = new Map([["theme", ["dark", "light"]], ["numbers", ["yes", "no"]]]);
      const limits = {first: 0, end: 1e9 + 1, operations: 13, rows: 99, batch: 8, sizes, look};
      return data.links.map((hash) => writeLink(readLink(`#${hash}`, limits)));
    """
    for fragment, text in zip(fragments, in_web("links", body, links=fragments), strict=True):
        ours, theirs = read_link(f"rgb#{fragment}"), read_link(f"rgb{text}")
        if ours.operation and ours.step is None:  # a page writes the step that it stands at
            assert theirs.step == 0 and theirs.operation == ours.operation
        else:  # how it plays is in links that people write, not in those of pages
            assert theirs == replace(ours, play=None, tour=""), fragment


def test_a_session_has_a_link_to_its_moment(colours: sv.Session) -> None:
    colours.seek(0)
    colours.advance(2, progress=False)
    colours.advance(3, "operation")
    colours.focus = 1
    link = link_to(colours, "rgb", {"hidden": 4, "first_setup": True}, 7)
    assert str(link) == "rgb?hidden=4&first_setup=true#step=2&op=3&pin=7&sample=1"
    assert link_to(colours, "rgb", pinned=("tanh 0", 1)).fragment.endswith(
        "neuron=tanh%200:1&sample=1"
    )


def test_a_built_network_opens_in_a_terminal_by_its_address() -> None:
    fragment = "v=1&shape=moons&hidden=4,3&activation=relu,sin&init=he_uniform&bias=no&opt=adam"
    link = read_link(f"https://example.org/p/playground.html?x=1#{fragment}&seed=5&step=2&pin=3")
    assert (link.step, link.pin, link.bad) == (2, 3, ())
    session = opened(link, {})[0].session
    layers = [(each.outputs, each.activation, each.has_bias) for each in session.network.layers]
    assert layers == [(4, "relu", False), (3, "sin", False), (1, "tanh", False)]
    assert repr(session.network.init) == "Init('he_uniform')" and session.network.seed == 5
    assert (session.trainer.settings.optimizer.name, session.learning_rate) == ("adam", 0.001)
    assert len(opened(read_link("play?hidden=&features=x2,y2"), {})[0].session.network.layers) == 1
    for text in ("https://example.org/#step=1", "rgb#v=1"):
        with refused(InputError):
            opened(read_link(text), {})


SMALL = {"texture": {"hidden": 4, "depth": 2, "size": 16}}


def bare_of_two_layers() -> sv.Session:
    """Learns XOR."""
    net = sv.Network([2, 4, 3, 1], "tanh", "sigmoid", seed=7)
    optimizer = sv.SGD(0.5, schedule=sv.Schedule("cosine", steps=50), l2=0.01, clip_norm=2.0)
    return sv.Session(
        net, data.Xor(), sv.Loss("mse", factor=0.5), optimizer, 2, "python", seed=7,
        metrics=["mae"], every=5, memory=10**6,
    )  # fmt: skip


def test_another_optimizer_keeps_schedule_and_penalties_and_has_a_usual_rate() -> None:
    s = show(bare_of_two_layers, optimizer="adam")
    assert repr(s.optimizer).startswith("Adam(lr=0.01") and s.step_index == 0
    assert (s.optimizer.l2, s.optimizer.clip_norm) == (0.01, 2.0)
    assert s.optimizer.schedule.name == "cosine"
    assert show(bare_of_two_layers, optimizer="adam", lr=0.25).optimizer.lr == 0.25
    assert show(bare_of_two_layers, optimizer="sgd").optimizer.lr == 0.5  # that of the scene
    assert set(USUAL_RATES) <= {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"}


def test_the_rate_of_a_scene_that_was_typed_is_that_of_the_other_optimizer() -> None:
    scene = load(find("rgb"))
    assert show(scene, optimizer="adam", engine="python").optimizer.lr == 0.01
    assert show(scene, optimizer="adam", engine="python", lr=0.2).optimizer.lr == 0.2
    assert show(scene, "lr", optimizer="adam", engine="python", lr=0.5).optimizer.lr == 0.5


def test_another_loss_and_another_activation_leave_the_weights() -> None:
    s, usual = (
        show(bare_of_two_layers, loss="mae", activation="relu"),
        bare_of_two_layers(),
    )
    assert s.trainer.loss.name == "mae"
    assert s.network.activations == ("relu", "relu", "sigmoid")
    assert np.array_equal(s.network.bank.value, usual.network.bank.value)
    assert show(bare_of_two_layers, loss="mse").timeline.trainer.loss.factor == 0.5
    assert "mae" in s.visits.metrics.rows and s.timeline.keyframes.budget == 10**6


def test_first_weights_and_biases_are_those_of_a_network_made_so() -> None:
    s = show(bare_of_two_layers, init="he_uniform", bias=False)
    layers = [
        sv.Dense(2, 4, "tanh", bias=False),
        sv.Dense(4, 3, "tanh", bias=False),
        sv.Dense(3, 1, "sigmoid", bias=False),
    ]
    wanted = sv.Network(layers, init="he_uniform", seed=7)
    assert np.array_equal(s.network.bank.value, wanted.bank.value)
    other = show(bare_of_two_layers, init="he_uniform", seed=3).network.bank.value
    assert np.array_equal(
        other, sv.Network([2, 4, 3, 1], "tanh", init="he_uniform", seed=3).bank.value
    )
    assert len(show(bare_of_two_layers, bias=True).network.bank) == len(
        bare_of_two_layers().network.bank
    )


@pytest.mark.some(12)
@pytest.mark.parametrize("name", sorted(scenes()))
@pytest.mark.parametrize(
    "given",
    [{"optimizer": "nesterov"}, {"loss": "huber"}, {"activation": "elu"}, {"init": "normal"},
     {"bias": False}, {"l1": 0.02, "l2": 0.0}, {"batch": 2, "seed": 4, "lr": 0.01}],
    ids=lambda given: next(iter(given)),
)  # fmt: skip
def test_every_scene_takes_every_option_or_says_why_not(name: str, given: dict[str, Any]) -> None:
    scene = load(find(name))
    usual = SMALL.get(name, {}) | {"engine": "python"}
    own = own_options(scene)
    formula = {"activation", "init", "bias", "seed"}
    only = {"expression": formula, "micrograd": formula, "retrain": {"init", "bias"}}
    only |= {"adder": {"bias"}, "names": {"bias"}}  # a Residual is in their networks
    refuses = [each for each in given if each in only.get(name, ()) and each not in own]
    if refuses:
        refused(InputError, refuses[0]).by(show, scene, **usual, **given)
        return
    s = show(scene, **usual, **given)
    assert s.step_index == 0 and np.isfinite(s.network.bank.value).all()
    if "optimizer" in given:
        assert s.optimizer.name == "nesterov"
    if "l1" in given:
        assert (s.optimizer.l1, s.optimizer.l2) == (0.02, 0.0)


def test_what_a_network_cannot_have_is_refused() -> None:
    def pretrained() -> sv.Session:
        net = sv.Network([2, 1], seed=0)
        net.bank.value[0] = 3.0
        return sv.Session(net, data.Xor(), engine="python")

    def residual() -> sv.Session:
        return session_on(data.Xor(), [sv.Residual(sv.Dense(2, 2)), sv.Dense(2, 1)])

    for scene, given, value in (
        (pretrained, {"init": "normal"}, "--init"),
        (pretrained, {"bias": False}, "--bias"),
        (pretrained, {"activation": "relu"}, "hidden"),
        (residual, {"bias": False}, "Residual"),
        (bare_of_two_layers, {"loss": "sigmoid_cross_entropy"}, "sigmoid"),
        (bare_of_two_layers, {"l2": -0.5}, "l2"),
    ):
        refused(ScalarvizError, value).by(show, scene, **given)
    assert show(residual, init="normal").network.init.row.name == "normal"


def test_the_first_setup_of_rgb_is_that_of_the_first_visualiser() -> None:
    """Weights and biases from U(0, 1), step size .01, no activation, one layer, one sample."""
    scene = load(find("rgb"))
    s = show(scene, first_setup=True, engine="python")
    (layer,) = s.network.layers
    assert (layer.inputs, layer.outputs, layer.activation, layer.has_bias) == (3, 3, "linear", True)
    assert repr(s.network.init) == "Init('uniform', low=0, high=1)"
    many = np.concatenate(
        [
            show(scene, first_setup=True, engine="python", seed=i).network.bank.value
            for i in range(99)
        ]
    )
    assert 0.0 <= many.min() < 0.01 and 0.99 < many.max() <= 1.0
    assert abs(many.mean() - 0.5) < 0.03 and abs(many.std() - 12**-0.5) < 0.02
    assert repr(s.optimizer) == "SGD(lr=0.01)" and s.trainer.batches.size == 1
    before = s.network.bank.value.copy()
    s.advance(1)
    moved = before - np.float32(0.01) * s.network.bank.grad
    assert np.allclose(s.network.bank.value, moved, rtol=1e-6)
    for given in ({"hidden": 4}, {"lr": 0.1}, {"batch": 2}):
        refused(InputError, "first_setup").by(show, scene, first_setup=True, **given)


MAKES_A_SESSION = """
import scalarviz as sv


def scene(hidden=3):
    net = sv.Network([2, hidden, 1], engine="python")
    return sv.Session(net, sv.data.Xor(), engine="python")
"""

WRONG = {
    "a bracket that is open": (
        "import math\n\ndef scene(:\n    pass\n",
        "mine.py, line 3: SyntaxError: invalid syntax",
    ),
    "an indent that is none": (
        "def scene():\nreturn 3\n",
        "mine.py, line 2: IndentationError: expected an indented block after function definition "
        "on line 1",
    ),
    "a name that is not there": (
        "def scene():\n    return foo\n",
        "mine.py, line 2: NameError: name 'foo' is not defined",
    ),
    "a failure while it is read": (
        "import scalarviz as sv\n\nnumber = 1 / 0\n",
        "mine.py, line 3: ZeroDivisionError: division by zero",
    ),
    "a package that is missing": (
        "\nimport no_such_package_at_all\n",
        "mine.py, line 2: ModuleNotFoundError: No module named 'no_such_package_at_all': install "
        "the missing package, or correct the name",
    ),
    "a module of scalarviz that is gone": (
        "from scalarviz.view.show import Show\n",
        "mine.py, line 1: ModuleNotFoundError: No module named 'scalarviz.view': write `from "
        "scalarviz import Show` instead",
    ),
    "a mistake that scalarviz answers": (
        "import scalarviz as sv\n\n\ndef scene():\n    return sv.Network([3, -1])\n",
        "mine.py, line 5: each size of a network must be an integer of at least 1, not -1",
    ),
    "an error without words": (
        "def scene():\n    raise RuntimeError\n",
        "mine.py, line 2: RuntimeError",
    ),
    "an error of several lines": (
        "def scene():\n    raise ValueError('one\\n  two')\n",
        "mine.py, line 2: ValueError: one two",
    ),
    "no session": (
        "x = 1\n\n\ndef scene():\n    return 3\n",
        "mine.py, line 4: the scene returned 3: return a Show, or just a Session",
    ),
    "nothing": (
        "def scene():\n    pass\n",
        "mine.py, line 1: the scene returned None: return a Show, or just a Session",
    ),
    "a parameter without a default": (
        "\ndef scene(hidden):\n    pass\n",
        "mine.py, line 2: the scene's parameter 'hidden' has no default: give it one",
    ),
    "an end of the program": (
        "import sys\nsys.exit('done')\n",
        "mine.py, line 2: SystemExit: done",
    ),
    "bytes that are no text": (b"x = '\xff'\n", "mine.py.*SyntaxError: .*utf-8"),
    "no function": ("scene = 3\n", "mine.py has no function named scene"),
}
VERBS = ("watch", "render", "train")


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.py"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def said(run: Any, in_tmp_path: None):
    """What a command line prints on stderr, and its exit code."""

    def of(*words: str) -> tuple[str, int]:
        code, _, err = run(*words)
        return err, code

    return of


@pytest.mark.some(12)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_scene_that_fails_is_told_by_its_file_and_line(
    said, tmp_path: Path, verb: str, wrong: str
) -> None:
    text, sentence = WRONG[wrong]
    write(tmp_path, text)
    err, code = said(verb, "mine.py")
    assert re.match(f"scalarviz: {sentence}", err), err
    assert code == 1
    assert err.count("\n") == 1


@pytest.mark.slow
def test_a_terminal_shows_no_frames_of_ours(tmp_path: Path) -> None:
    write(tmp_path, "def scene():\n    return foo\n")
    command = [sys.executable, "-m", "scalarviz", "train", "mine.py"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 1
    assert ran.stderr == "scalarviz: mine.py, line 2: NameError: name 'foo' is not defined\n"


def test_the_files_that_led_there_are_shown_where_they_are_several(said, tmp_path: Path) -> None:
    (tmp_path / "other_of_mine.py").write_text("def half(x):\n    return x / 0\n", encoding="utf-8")
    write(tmp_path, "from other_of_mine import half\n\n\ndef scene():\n    return half(3)\n")
    err, _ = said("train", "mine.py")
    lines = [line for line in err.splitlines() if line.strip(" ~^")]  # as some Pythons point
    assert lines == [
        "scalarviz: other_of_mine.py, line 2: ZeroDivisionError: division by zero",
        f'  File "{tmp_path / "mine.py"}", line 5, in scene',
        "    return half(3)",
        f'  File "{tmp_path / "other_of_mine.py"}", line 2, in half',
        "    return x / 0",
    ]


def test_a_neighbour_with_a_mistake_in_its_syntax_is_named(said, tmp_path: Path) -> None:
    (tmp_path / "half_written.py").write_text("x = (\n", encoding="utf-8")
    write(tmp_path, "import half_written\n")
    err, _ = said("watch", "mine.py")
    assert err.startswith("scalarviz: half_written.py, line 1: SyntaxError: '(' was never closed\n")
    assert "scalarviz/" not in err.replace(str(tmp_path), "")


MISTYPED = MAKES_A_SESSION.replace("engine=", "activation='rulu', engine=", 1)
FAILING_DATA = """
import numpy as np
import scalarviz as sv

def make(step, batch, seed):
    if step == 3:
        raise RuntimeError("no more data")
    return np.zeros((batch, 2)), np.zeros((batch, 1))

def scene():
    data = sv.data.Generated(make, inputs=2, outputs=1)
    return sv.Session(sv.Network([2, 1]), data, batch=2, engine="python")
"""


@pytest.mark.parametrize(
    ("text", "words", "code", "told"),
    [
        ("def scene():\n    return scene()\n", [], 1, "mine.py, line 2: RecursionError: maximum"),
        (MISTYPED, [], 2, "mine.py, line 6: unknown activation 'rulu'"),
        (MAKES_A_SESSION, ["--hidden", "-2"], 1, "hidden=-2: mine.py, line 6: each size of"),
        (FAILING_DATA, ["--steps", "10"], 1, "mine.py, line 7: RuntimeError: no more data\n"),
    ],
)
def test_what_fails_as_it_is_made_or_trained_is_told_by_its_line(
    said, tmp_path: Path, text: str, words: list[str], code: int, told: str
) -> None:
    write(tmp_path, text)
    err, found = said("train", "mine.py", *words)
    assert err.startswith(f"scalarviz: {told}") and found == code
    assert err.count("\n") < 30  # endless recursion is cut


def test_a_mistake_of_ours_keeps_its_traceback(
    said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scalarviz.faces.controller import train

    write(tmp_path, MAKES_A_SESSION)
    monkeypatch.setattr(train, "Portions", None)
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        commands.main(["train", "mine.py"])


def test_a_scene_may_be_written_in_another_encoding(said, tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n'''Gr\xfcn.'''\n" + MAKES_A_SESSION
    write(tmp_path, text.encode("latin-1"))
    assert said("train", "mine.py", "--steps", "1") == ("", 0)


def test_replay_of_a_scene_says_what_it_takes(said, tmp_path: Path) -> None:
    write(tmp_path, MAKES_A_SESSION)
    err, code = said("replay", "mine.py")
    assert code == 1 and err.count("\n") == 1
    assert "'mine.py' is a scene, not a saved training run" in err
    assert re.search("scalarviz'? watch mine.py", err)  # a path with a space is in quotes


# From Python.


def test_from_python_the_cause_has_the_users_frames_only(tmp_path: Path) -> None:
    path = write(tmp_path, "def scene():\n    return foo\n")
    cause = refused(SceneError, "'foo'").by(sv.watch, str(path)).__cause__
    assert isinstance(cause, NameError) and cause.__traceback__ is not None
    assert cause.__traceback__.tb_frame.f_code.co_filename == str(path)
    assert cause.__traceback__.tb_next is None


def test_a_notebook_shows_the_sentence_and_the_users_frames(tmp_path: Path) -> None:
    shells = pytest.importorskip("IPython.core.interactiveshell", reason="it draws tracebacks")
    path = write(tmp_path, "def half(x):\n    return x / 0\n\ndef scene():\n    return half(3)\n")
    shell = shells.InteractiveShell()
    printed: list[str] = []
    shell._showtraceback = lambda kind, error, lines: printed.extend(lines)
    shell.run_cell(f"import scalarviz as sv\nsv.watch({str(path)!r})")
    text = "\n".join(printed)
    assert "mine.py, line 2: ZeroDivisionError: division by zero" in text
    assert "return half(3)" in text
    assert "watch.py" not in text and "runpy" not in text


def test_an_option_chosen_in_a_window_is_told_as_an_error_of_ours(tmp_path: Path) -> None:
    path = write(tmp_path, MAKES_A_SESSION.replace("[2, hidden", "[2, 6 // hidden"))
    recipe = Recipe(load(path))
    refused(SceneError, "line 6", varies=r"(?<=ZeroDivisionError: ).*").by(
        recipe.make, {"hidden": 0}
    )
