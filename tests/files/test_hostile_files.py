"""Files of networks and runs that are spoiled in any place: refused, or loaded without harm."""

import copy
import random
import warnings
from collections.abc import Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.errors import FileError, ScalarvizError
from scalarviz.files.checked_safetensors import read, write
from scalarviz.training.session.actions import ACTIONS
from tests.files.test_networks import Spoil, setting
from tests.sessions import advanced
from tests.wording import refused

MOST_SECONDS = 20.0  # of the processor; a file that costs too much would take minutes
Whole = tuple[dict[str, Any], dict[str, Any]]


def eventful() -> sv.Session:
    """A session in which a user did everything that there is, in two branches."""
    again = sv.Dense(3, 3, "tanh")
    layers = [sv.Dense(2, 3, "tanh"), again, sv.BatchNorm(3), again, sv.Dense(3, 1, "sigmoid")]
    net = sv.Network(layers, init=sv.Init("uniform", low=-0.5, high=0.5), seed=4)
    optimizer = sv.Adam(0.01, schedule=sv.Schedule("cosine", steps=900), clip_norm=1.0)
    s = advanced(sv.Session(net, data.Xor(), "mse", optimizer, 2, "python", memory=10_000), 20)
    s.learning_rate = 0.02
    s.edit([3, 4], [0.5, -0.5])
    s.advance(10)
    s.freeze(net.layers[0])
    s.optimizer = sv.Momentum(0.05, momentum=0.8)
    s.advance(3, "operation")
    s.data = data.Circle(samples=20)
    s.advance(10)
    s.set_rate([10, 11], 0.01)
    s.add_samples([[0.1, 0.2]], [[1.0]])
    s.batch = 3
    s.loss_function = sv.Loss("huber", factor=0.5)
    s.stop_when("grad norm > 1e9 or loss < 0")
    s.advance(2)
    s.back(20)
    s.advance(3, "operation")
    s.set_activation(1, "relu")
    s.to("cpu", "mixed")
    s.to("python", "full")
    s.edit(7, 0.25)
    s.advance(12)
    net.train_step([[0.0, 1.0]], [[1.0]], optimizer=sv.SGD(0.1))
    s.advance(5)
    s.advance(4, "operation")
    s.branches[1].name = "other way"
    assert {a.kind for branch in s.branches for a in branch.journal} == {*ACTIONS}
    return s


@pytest.fixture(scope="module")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    path = tmp_path_factory.mktemp("runs") / "run"
    eventful().save(path)
    return read(path, "run")


# What stands in the place of anything: other types, and numbers that are out of every range.
OTHERS: list[Any] = [
    None, True, False, 0, 1, -1, 3, 5, 7, 2**31, 10**12, 2**53, 2**63, 10**400, 0.0, -0.5, 1e308,
    "", "x", "relu", "cpu", "cuda", "auto", "full", "mixed", "\0", "x" * 5000,
    [], [0], [0, 0], [0, 0, 0], [5, 1, 0], [-1, 0, 0], [10**12, 10**12, 10**12], [[]], [None] * 5,
    {}, {"x": 1}, {"array": "array 0"}, {"array": "losses 0"}, {"array": "frames 0 value"},
    {"loss": {}}, {"loss": {"name": "mae"}}, {"loss": {"name": "softmax_cross_entropy"}},
    {"array": 1}, {"data": {}}, {"optimizer": {}}, {"precision": {}}, {"precision": {"dynamic": 3}},
    {"data": {"name": "xor", "settings": {}}}, {"data": {"name": "moons", "settings": {}}},
    {"data": {"name": "digits", "settings": {"folder": "/"}}}, {"data": {"name": "code"}},
]  # fmt: skip


def places(thing: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a description."""
    if way:
        yield way
    items: Any = enumerate(thing) if isinstance(thing, list) else ()
    for key, value in thing.items() if isinstance(thing, dict) else items:
        yield from places(value, (*way, key))


def spoiled(description: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """A description in which one part is another, is missing, stands twice, or is more."""
    changed = copy.deepcopy(description)
    *way, last = chance.choice(list(places(changed)))
    holder = reduce(getitem, way, changed)
    how = chance.random()
    if how < 0.7:
        holder[last] = chance.choice(OTHERS)
    elif how < 0.8:
        del holder[last]
    elif isinstance(holder, list):
        holder.insert(chance.randrange(len(holder) + 1), copy.deepcopy(holder[last]))
    else:
        holder[chance.choice(["x", "rows", "name", "layer", "self", "bank"])] = holder[last]
    return changed


def load_and_seek(path: Path) -> str:
    """Load a run and go everywhere: what it was refused with, if it was, at load or later."""
    began, refused = process_time(), ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            s = sv.Session.load(path)
        except FileError as error:
            return str(error)
        finally:
            assert process_time() - began < MOST_SECONDS
        try:
            for branch in list(s.branches):
                s.switch(branch)
                for action in branch.journal:
                    s.seek(action.step)
                    s.advance(3, "operation")
                s.advance(3)
                repr(s), repr(s.data), str(branch.journal), branch.losses
            s.save(path)
            sv.Session.load(path)
        except ScalarvizError as error:
            refused = " ".join(error.lines)  # our own, of which none may be broken
    return refused


def spoil_often(good_run: Whole, path: Path, seeds: range) -> list[str]:
    """What many spoiled files were refused with."""
    told = []
    for seed in seeds:
        chance = random.Random(seed)
        changed = spoiled(good_run[0], chance)
        if chance.random() < 0.2:
            changed = spoiled(changed, chance)
        write(path, "run", changed, good_run[1])
        try:
            told.append(load_and_seek(path))
            assert "\n" not in told[-1] and len(told[-1]) < 700
        except BaseException as error:
            error.add_note(f"seed {seed} makes {path}")
            raise
    return told


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 300, 600, 900, 1200])
def test_a_spoiled_run_is_refused_when_it_is_loaded_or_goes_on(
    good_run: Whole, first: int, tmp_path: Path
) -> None:
    seeds = range(first, first + (300 if first else 120))
    told = spoil_often(good_run, tmp_path / "run", seeds)
    assert sum("does not hold a run" in text for text in told) > len(seeds) / 2


def test_what_is_spoiled_above_was_a_good_run(good_run: Whole, tmp_path: Path) -> None:
    write(tmp_path / "run", "run", *good_run)
    assert load_and_seek(tmp_path / "run") == ""


# ---- one by one ---------------------------------------------------------------------------------


def action(
    kind: str,
    details: dict[str, Any],
    place: int = 0,
    asked: Any = None,
    step: int = 15,
    operation: int = 0,
) -> Spoil:
    """One action more."""

    def spoil(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        description["branches"][0]["journal"].insert(place, [step, operation, kind, details, asked])

    return spoil


def at_place(operation: int, actions: int) -> Spoil:
    """A clock that stands elsewhere in its step."""

    def spoil(description: dict[str, Any], arrays: dict[str, Any]) -> None:
        description["clock"][1:] = operation, actions
        branch = description["branches"][description["branch"]]
        branch["end"] = max(branch["end"], description["clock"])

    return spoil


ARRAY = {"array": "array 0"}  # the rows of the first edit
VALUES = {"array": "array 1"}
FULL = {"precision": {"name": "full", "loss_scale": 1.0, "dynamic": False, "patience": 1}}
MIXED = {"precision": {**FULL["precision"], "name": "mixed"}}
ONE: dict[str, Spoil] = {
    "a branch out of range": setting("branch", to=2),
    "a branch before the first": setting("branch", to=-1),
    "a branch that is no number": setting("branch", to=True),
    "a clock after the end": setting("clock", to=[10**6, 0, 0]),
    "an operation that no step has": at_place(900, 0),
    "actions that were not done": at_place(0, 9),
    "a parent that is none": setting("branches", 1, "parent", to=1),
    "a fork after its end": setting("branches", 1, "fork", to=[10**6, 0, 0]),
    "a step that was lost": setting("branches", 0, "end", to=[44, 0, 0]),
    "an unknown action": action("sell", {}),
    "no rows": action("edit", {"values": VALUES}),
    "rows that are numbers": action("edit", {"rows": 3, "values": VALUES}),
    "rows that are values": action("freeze", {"rows": VALUES, "on": True}),
    "no values": action("edit", {"rows": ARRAY, "values": 0.5}),
    "values that are rows": action("edit", {"rows": ARRAY, "values": ARRAY}),
    "a key more": action("freeze", {"rows": ARRAY, "on": True, "x": 1}),
    "a key of ours": action("freeze", {"rows": ARRAY, "on": True, "bank": 1}),
    "on that is no truth": action("freeze", {"rows": ARRAY, "on": 1}),
    "a rate that is none": action("learning rate", {"rate": "0.5"}),
    "a rate below 0": action("learning rate", {"rate": -1.0}),
    "an own rate that is none": action("own rate", {"rows": ARRAY, "rate": "0.5"}),
    "a batch that is none": action("batch", {"size": 2.5}),
    "an optimizer that is none": action("optimizer", {"optimizer": FULL}),
    "data that is none": action("data", {"data": FULL}),
    "data of another width": action(
        "data", {"data": {"data": {"name": "rgb", "settings": {"levels": 2}}}}
    ),
    "an unknown engine": action("engine", {"name": "gpu", "precision": FULL}),
    "an engine by itself": action("engine", {"name": "cpu", "precision": 1}),
    "mixed on python": action("engine", {"name": "python", "precision": MIXED}),
    "a layer out of range": action("activation", {"layer": 5, "name": "relu"}),
    "a layer from the end": action("activation", {"layer": -1, "name": "relu"}),
    "an unknown activation": action("activation", {"layer": 0, "name": "x"}),
    "an activation in another spelling": action("activation", {"layer": 0, "name": "elu(0.50)"}),
    "one place of two": action("activation", {"layer": 1, "name": "relu"}),
    "no activation": action("activation", {"layer": 2, "name": "relu"}),
    "numbers without arrays": action("numbers", {"count": 1, "has_gradients": False}),
    "numbers that do not fit": action(
            "numbers",
            {"count": 1, "has_gradients": True, "value": ARRAY, "grad": ARRAY, "state": ARRAY},
        ),
    "steps before the first": action("numbers", {"count": -1, "has_gradients": True}),
    "an edit that waits": action("edit", {"rows": ARRAY, "values": VALUES}, asked=[14, 3]),
    "a wait for the past": action("learning rate", {"rate": 1.0}, asked=[20, 3]),
    "a setting in the middle of a step": action("learning rate", {"rate": 1.0}, operation=1),
    "an action after the end": action("learning rate", {"rate": 1.0}, place=99, step=10**6),
    "no order": action("learning rate", {"rate": 1.0}, place=3),
    "no optimizer at the start": setting("start", "optimizer", to=FULL),
    "no data at the start": setting("start", "data", to=FULL),
    "no precision at the start": setting("start", "precision", to=1),
    "too few activations": setting("start", "activations", to=["relu"]),
    "a path in a data set": setting(
        "start", "data", to={"data": {"name": "digits", "settings": {"folder": "/"}}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_what_is_wrong_is_said_when_it_is_loaded(
    name: str, good_run: Whole, tmp_path: Path
) -> None:
    changed = copy.deepcopy(good_run[0])
    ONE[name](changed, {})
    write(tmp_path / "run", "run", changed, good_run[1])
    refused(FileError, "tmp_path/run").by(sv.Session.load, tmp_path / "run")


@pytest.mark.parametrize("number", [np.inf, np.nan, -1.0, 0.5, 2.0**40])
@pytest.mark.parametrize("where", ["an action", "a keyframe"])
def test_a_state_that_no_layer_has_is_refused_when_it_is_loaded(
    where: str, number: float, tmp_path: Path
) -> None:
    layers = [sv.Dense(2, 3, "tanh"), sv.Residual(sv.Dropout(3)), sv.Dense(3, 1)]
    s = advanced(sv.Session(sv.Network(layers), data.Xor(), engine="python", seed=0), 3)
    layers[0].bank.step_count += 1  # past the session, which journals all numbers
    s.advance(3)
    s.save(tmp_path / "run")
    about, arrays = read(tmp_path / "run", "run")
    (action,) = about["branches"][0]["journal"]
    name = action[3]["state"]["array"] if where == "an action" else "frames 0 state"
    arrays[name] = arrays[name].copy()
    arrays[name][..., -1] = number  # a half of the seed of Dropout
    write(tmp_path / "run", "run", about, arrays)
    refused(FileError, "tmp_path/run").by(sv.Session.load, tmp_path / "run")


@pytest.mark.some(20)
@pytest.mark.parametrize("seed", range(60))
def test_arrays_in_place_of_others_are_refused_or_harmless(
    seed: int, good_run: Whole, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    changed = dict(good_run[1])
    name, other = chance.sample(sorted(changed), 2)
    array = changed[name]
    wrong = [
        changed[other], array[:0], array[:-1], array.astype(np.float64), array.ravel(),
        array[np.newaxis], array[::-1].copy(), np.zeros(0), np.full(array.shape, 2**62),
        np.full(array.shape, np.nan, np.float32), np.full(array.shape, -(2**63)),
    ]  # fmt: skip
    if chance.random() < 0.2:
        del changed[name]
    else:
        changed[name] = chance.choice(wrong)
    write(tmp_path / "run", "run", good_run[0], changed)
    load_and_seek(tmp_path / "run")


@pytest.fixture(scope="module")
def good_network(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A network of every kind of layer."""
    path = tmp_path_factory.mktemp("networks") / "net"
    inner = sv.Residual(sv.Activation((2, 3, 3), "tanh"))
    layers = [
        sv.Conv2d((1, 6, 6), 2, 3, padding=1, activation="relu"),
        sv.MaxPool2d((2, 6, 6)),
        sv.BatchNorm((2, 3, 3)),
        sv.Residual(sv.Conv2d((2, 3, 3), 2, padding=1), inner),
        sv.Flatten((2, 3, 3)),
        sv.Dropout(18, 0.2),
        sv.LayerNorm(18),
        sv.Dense(18, 4, "tanh", init=sv.Init("uniform", low=-0.5, high=0.5)),
        sv.FrequencyEncoding(4, 2),
        sv.RMSNorm(16),
        sv.Dense(16, 3),
        sv.Softmax(3),
    ]
    net = sv.Network(layers, seed=3)
    net.train_step(np.full((2, 36), 0.5), np.eye(3)[:2], "mse", sv.Adam(0.1))
    net.save(path)
    return read(path, "network")


def load_and_save(path: Path, engine: str) -> str:
    """Load a network and keep it again: what it was refused with, if it was."""
    try:
        net = sv.load(path, engine)
    except FileError as error:
        return str(error)
    net(np.zeros((2, net.inputs)))
    net.save(path)
    sv.load(path)
    return ""


def count_refused(good_network: Whole, path: Path, seeds: range) -> int:
    """How many of many spoiled files are refused; the others make a network that can be kept."""
    refused = 0
    for seed in seeds:
        chance = random.Random(seed)
        write(path, "network", spoiled(good_network[0], chance), good_network[1])
        began = perf_counter()
        said = load_and_save(path, chance.choice(["python", "cpu"]))
        assert perf_counter() - began < MOST_SECONDS, f"seed {seed}"
        assert "\n" not in said
        refused += bool(said)
    return refused


def test_a_spoiled_network_is_refused_or_made(good_network: Whole, tmp_path: Path) -> None:
    assert count_refused(good_network, tmp_path / "net", range(120)) > 80


@pytest.mark.slow
def test_many_spoiled_networks_are_refused_or_made(good_network: Whole, tmp_path: Path) -> None:
    assert count_refused(good_network, tmp_path / "net", range(1000, 6000)) > 3500


@pytest.mark.parametrize(
    ("place", "settings"),
    [
        (1, {"shape": [1, 10**400, 2]}),
        (1, {"shape": [1, 2, 2], "kernel": 2**63}),
        (8, {"inputs": 3, "octaves": 10**400}),
        (5, {"shape": 2**64, "rate": 0.5}),
        (0, {"shape": [2**40, 2**40, 2**40], "channels": 2**40, "kernel": 2**40}),
    ],
)
def test_sizes_beyond_all_measure_are_refused(
    place: int, settings: dict[str, Any], good_network: Whole, tmp_path: Path
) -> None:
    changed = copy.deepcopy(good_network[0])
    changed["layers"][place]["settings"] = settings
    write(tmp_path / "net", "network", changed, good_network[1])
    refused(FileError, "tmp_path/net").by(sv.load, tmp_path / "net")


def test_what_is_spoiled_above_was_a_good_network(good_network: Whole, tmp_path: Path) -> None:
    write(tmp_path / "net", "network", *good_network)
    assert len(sv.load(tmp_path / "net").layers) == 12
