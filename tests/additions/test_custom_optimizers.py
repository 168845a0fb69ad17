"""Custom optimizers: a class such as sv.Adam, on every engine, in pages and in scenes."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.elementary import power, sqrt
from scalarviz.core.formulas.losses import LOSSES
from scalarviz.core.formulas.optimizers import OPTIMIZERS, SCHEDULES
from scalarviz.errors import FileError, InputError, UnknownNameError
from scalarviz.faces.cli.commands import main
from tests.additions.test_custom_losses import poisson, same_bits
from tests.pages.node import InPage
from tests.sessions import advanced, every_engine
from tests.wording import refused


def constants(
    step: float, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> tuple[float, ...]:
    return 1.0 - beta1, 1.0 - beta2, 1.0 - power(beta1, step), 1.0 - power(beta2, step)


def my_adam(
    w: float, g: float, m: float, v: float,
    lr: float, beta1: float, beta2: float, eps: float,
    fresh1: float, fresh2: float, correction1: float, correction2: float,
) -> tuple[float, float, float]:  # fmt: skip
    m = beta1 * m + fresh1 * g
    v = beta2 * v + fresh2 * g * g
    return w - lr * (m / correction1) / (sqrt(v / correction2) + eps), m, v


def lion(
    w: float, g: float, m: float, lr: float, beta1: float = 0.9, beta2: float = 0.99
) -> tuple[float, float]:
    """Lion: every weight moves by lr, in the direction of a mean of gradients."""
    c = beta1 * m + (1.0 - beta1) * g
    direction = 1.0 if c > 0.0 else (-1.0 if c < 0.0 else 0.0)
    return w - lr * direction, beta2 * m + (1.0 - beta2) * g


@pytest.fixture
def kind() -> Any:
    return sv.optimizer(lion, ("m",))


def shared(w: float, g: float, lr: float, share: float = 0.5) -> float:
    if g == 0.0:
        return w
    return w - share * lr * g


def plain(w: float, g: float, lr: float = 0.1) -> float:
    return w - lr * g


def session(optimizer: Any, engine: str, steps: int = 20, **options: Any) -> sv.Session:
    net = sv.Network([2, 3, 1], seed=1, dtype=options.pop("dtype", "float64"))
    return advanced(
        sv.Session(net, data.Xor(), "mse", optimizer, batch=4, seed=3, engine=engine, **options),
        steps,
    )


# ---- training -----------------------------------------------------------------------------------


@pytest.mark.some("cpu", "cuda")
@every_engine
def test_an_optimizer_with_the_formula_of_adam_has_its_bits(engine: str) -> None:
    kind = sv.optimizer(my_adam, ("m", "v"), constants=constants)
    given: dict[str, Any] = {"clip_norm": 1.0, "l2": 0.01, "schedule": sv.Schedule("step", every=7)}
    assert same_bits(session(kind(0.02, **given), engine), session(sv.Adam(0.02, **given), engine))


@pytest.mark.some("python", "cuda")
@every_engine
def test_one_without_slots_returns_a_number(engine: str) -> None:
    assert same_bits(session(sv.optimizer(plain)(), engine), session(sv.SGD(0.1), engine))
    found = session(sv.optimizer(shared)(0.2, share=0.25), engine)
    assert found.network.bank.value == pytest.approx(
        session(sv.SGD(0.05), engine).network.bank.value, rel=1e-12
    )


@pytest.mark.slow  # more kernels are compiled, the first time
def test_mixed_precision_and_float32_take_it() -> None:
    kind, mixed = sv.optimizer(plain), {"precision": "mixed", "dtype": "float32"}
    assert same_bits(session(kind(0.1), "cpu", **mixed), session(sv.SGD(0.1), "cpu", **mixed))


def test_engines_agree_and_every_way_of_a_step_takes_it(kind: Any) -> None:
    found = session(kind(0.01), "python"), session(kind(0.01), "cpu")
    assert found[0].network.bank.value == pytest.approx(found[1].network.bank.value, rel=1e-12)
    net = sv.Network([1, 1], seed=0)
    before = net.bank.value.tolist()
    net.forward([1.0])
    net.backward([1.0])
    net.parameters()[0].step(kind(0.5))
    net.step(kind(0.25))
    assert net.bank.value.tolist() == pytest.approx([before[0] - 0.75, before[1] - 0.25])
    w = sv.Value(1.0)
    sv.compile(lambda x: w * x, inputs=1, engine="cpu").train_step([1.0], [0.0], "mse", kind(0.125))
    assert w.data == 0.875


@pytest.mark.slow  # kernels for many networks are compiled
def test_replicas_take_it(kind: Any) -> None:
    net = sv.Network([2, 3, 1], seed=1)
    s = sv.Session(net, data.Xor(), "mse", kind(0.01), engine="cpu", seed=3)
    assert np.isfinite(advanced(sv.replicate(s, seeds=[3, 4]), 10).networks[1].bank.value).all()


def test_time_runs_back_over_edits_of_the_optimizer_and_branches(kind: Any) -> None:
    s = session(sv.Adam(0.01), "cpu", 5)
    s.optimizer = kind(0.02, beta1=0.5)
    s.advance(10)
    s.learning_rate = 0.005
    s.advance(5)
    after = s.network.bank.value.copy()
    s.seek(3)
    assert type(s.optimizer) is sv.Adam
    s.advance(17)
    assert np.array_equal(s.network.bank.value, after)
    assert type(s.optimizer) is kind and s.optimizer.lr == 0.005
    s.seek(8)
    s.optimizer = kind(0.01, beta1=0.25)
    s.advance(3)
    assert repr(s.optimizer) == "Lion(lr=0.01, beta1=0.25, beta2=0.99)"


# ---- the class ----------------------------------------------------------------------------------


def test_its_class_is_one_as_those_of_scalarviz(kind: Any) -> None:
    assert issubclass(kind, sv.Optimizer) and kind.__name__ == "Lion"
    assert kind.__doc__ == inspect.getdoc(lion)
    assert list(inspect.signature(kind).parameters)[:4] == ["lr", "beta1", "beta2", "schedule"]
    made = kind(lr=0.1, beta1=0.5, not_finite="zero")
    assert repr(made) == "Lion(lr=0.1, beta1=0.5, beta2=0.99, not_finite='zero')"
    assert repr(copy.deepcopy(made)) == repr(made)
    refused(InputError, "beta1").by(kind, 0.1, beta1=1.0)
    refused(UnknownNameError, "beta3").by(kind, 0.1, beta3=0.5)
    refused(InputError, "lr").by(kind)
    assert sv.optimizer(plain, name="my_own_sgd").__name__ == "MyOwnSgd"


def test_one_that_stands_in_a_module_can_be_pickled(
    kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "Lion", kind)
    again = pickle.loads(pickle.dumps(kind(0.5)))
    assert repr(again) == repr(kind(0.5)) and again.row is kind(0.5).row


def test_a_replaced_optimizer_holds_for_what_is_made_afterwards() -> None:
    def plain_too(w: float, g: float, lr: float = 0.1) -> float:
        return w - 2.0 * lr * g

    kind = sv.optimizer(plain, name="mine")
    other = sv.optimizer(plain_too, name="mine")
    w = sv.Weight(1.0)
    w.grad = 1.0
    w.step(kind(0.25))
    assert w.value == 0.75
    w.step(other(0.25))
    assert w.value == 0.25
    assert sv.Optimizer("mine", 0.1).row is OPTIMIZERS["mine"]


# ---- the checks ---------------------------------------------------------------------------------


def too_few(w: float, g: float, m: float, lr: float) -> tuple[float]:
    return (w - lr * g,)


def divides(w: float, g: float, lr: float) -> float:
    return w - lr * g / abs(g)


def no_default(w: float, g: float, lr: float, beta: float) -> float:
    return w - lr * beta * g


def starred(w: float, *numbers: float) -> float:
    return w


def infinite(w: float, g: float, lr: float) -> float:
    return w - 1e308 * 1e308 * g


def one_more(w: float, g: float, lr: float, beta: float, more: float) -> float:
    return w - lr * g * beta * more


def nine(
    w: float, g: float, lr: float, a: float = 1.0, b: float = 1.0, c: float = 1.0, d: float = 1.0,
    e: float = 1.0, f: float = 1.0, h: float = 1.0, i: float = 1.0, j: float = 1.0,
) -> float:  # fmt: skip
    return w - lr * g


def l1_too(w: float, g: float, lr: float, l1: float = 0.1) -> float:
    return w - lr * g * l1


@pytest.mark.parametrize(
    ("update", "slots"),
    [
        (3, ()),
        (lion, ()),
        (lion, "m"),
        (lion, ("m", "m")),
        (lion, ("lr",)),
        (lion, ("m", "v")),
        (too_few, ("m",)),
        (divides, ()),
        (no_default, ()),
        (starred, ()),
        (infinite, ()),
        (nine, ()),
        (l1_too, ()),
    ],
)
def test_what_is_no_update_is_refused_in_a_sentence(update: Any, slots: Any) -> None:
    refused(InputError).by(sv.optimizer, update, slots, "mine")
    assert "mine" not in OPTIMIZERS


def one_number(step: float, beta: float = 0.5) -> float:
    return beta


def two_numbers(step: float, beta: float = 0.5) -> tuple[float, float]:
    return beta, step


@pytest.mark.parametrize("constants", [one_number, two_numbers])
def test_constants_are_a_tuple_of_as_many_as_the_update_takes(constants: Any) -> None:
    refused(InputError, "one_more").by(sv.optimizer, one_more, constants=constants)


def test_names_of_scalarviz_are_not_replaced() -> None:
    for name in ("adam", "SGD"):
        refused(InputError, name).by(sv.optimizer, plain, name=name)


def test_a_function_in_the_place_of_an_optimizer_leads_to_it() -> None:
    refused(InputError, "sv.optimizer").by(
        sv.Session, sv.Network([2, 1]), data.Xor(), "mse", plain, engine="python"
    )


@pytest.mark.slow  # kernels are compiled for the page
def test_a_page_learns_by_a_loss_and_an_optimizer_of_the_user(kind: Any, tmp_path: Path) -> None:
    sv.loss(poisson)

    def training() -> sv.Session:
        net = sv.Network([2, 3, 1], seed=0, dtype="float64")
        return sv.Session(net, data.Xor(), "poisson", kind(0.01), engine="cpu")

    session = advanced(training(), 20)
    page = InPage(training(), tmp_path)
    found = page.run("const {losses} = engine.train(20); return {losses, value: engine.value}")
    np.testing.assert_allclose(found["value"], session.network.bank.value, rtol=1e-12)
    np.testing.assert_allclose(found["losses"], session.losses, rtol=1e-12)


SCENE = '''
"""A scene with formulas of its own."""

import math

import scalarviz as sv

SMALL = 0.01


def bend(x):
    return x / (1.0 + abs(x))


def bend_derivative(x, y):
    return (1.0 - abs(y)) ** 2


def smooth(p, t):
    return math.sqrt((p - t) ** 2 + SMALL)


def nudge(w, g, lr, most=0.5):
    move = lr * g
    if abs(move) > most:
        return w - (most if move > 0.0 else -most)
    return w - move


sv.activation(bend, bend_derivative)
sv.loss(smooth)
Nudge = sv.optimizer(nudge)


def scene():
    """Learn xor."""
    net = sv.Network([2, 3, 1], "bend", seed=0)
    return sv.Session(net, sv.data.Xor(), "smooth", Nudge(0.1), engine="cpu")
'''


@pytest.mark.slow  # kernels are compiled, the first time
def test_a_scene_trains_is_saved_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SCENE, encoding="utf-8")
    kept = str(tmp_path / "run.safetensors")
    train(path, capsys, "--steps", "20", "--save", kept)
    for table in (ACTIVATIONS, LOSSES, OPTIMIZERS):
        table.popitem()
    train(path, capsys, "--steps", "10", "--resume", kept, "--save", kept)
    loaded = sv.Session.load(kept)
    assert repr(loaded.optimizer) == "Nudge(lr=0.1, most=0.5)"
    assert loaded.step_index > 20


def train(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", str(path), *options])
    assert ended.value.code in (0, None), capsys.readouterr().err


# ---- schedules ----------------------------------------------------------------------------------


def stairs(step: float) -> float:
    return math.pow(0.5, step // 7.0)


class Stairs:
    def __call__(self, step: float) -> float:
        return stairs(step)


@pytest.mark.some("cpu", "cuda")
@every_engine
def test_a_schedule_of_ones_own_has_the_bits_of_the_same_one(engine: str, tmp_path: Path) -> None:
    own = session(sv.Adam(0.02, schedule=sv.schedule(stairs)), engine)
    step = sv.Schedule("step", every=7, factor=0.5)
    assert same_bits(own, session(sv.Adam(0.02, schedule=step), engine))
    own.save(tmp_path / "own.safetensors")
    again = advanced(sv.Session.load(tmp_path / "own.safetensors"), 10)
    own.advance(10)
    assert same_bits(own, again) and again.learning_rate == 0.02 * 0.5**4
    SCHEDULES.pop("stairs")
    refused(FileError, "sv.schedule(...)").by(sv.Session.load, tmp_path / "own.safetensors")


def test_a_run_does_not_go_on_with_another_schedule(tmp_path: Path) -> None:
    s = session(sv.SGD(0.1), "python", 5)
    s.optimizer = sv.SGD(0.1, schedule=sv.schedule(stairs))
    s.advance(5)
    s.save(tmp_path / "own.safetensors")

    def lower(step: float) -> float:
        return math.pow(0.25, step // 7.0)

    sv.schedule(lower, "stairs")
    refused(FileError, "a different schedule").by(sv.Session.load, tmp_path / "own.safetensors")
    sv.schedule(stairs)
    assert same_bits(s, sv.Session.load(tmp_path / "own.safetensors"))


def test_a_run_does_not_go_on_with_another_optimizer(tmp_path: Path) -> None:
    session(sv.optimizer(plain, name="mine")(0.1), "python", 5).save(tmp_path / "own.safetensors")
    sv.optimizer(shared, name="mine")
    refused(FileError, "a different optimizer").by(sv.Session.load, tmp_path / "own.safetensors")


def test_a_run_does_not_go_on_with_another_activation(tmp_path: Path) -> None:
    def bent(x: float) -> float:
        return 2.0 * x

    def straight(x: float) -> float:
        return 3.0 * x

    net = sv.Network([2, 3, 1], sv.activation(bent).name, seed=0)
    s = sv.Session(net, data.Xor(), optimizer=sv.SGD(0.1), engine="python")
    s.save(tmp_path / "own.safetensors")
    sv.activation(straight, name="bent")
    refused(FileError, "a different activation").by(sv.Session.load, tmp_path / "own.safetensors")


def test_what_is_no_schedule_is_refused() -> None:
    def negative(step: float) -> float:
        return 1.0 - step

    def two(step: float, more: float) -> float:
        return step + more

    for wrong, said in ((0.5, 0.5), (negative, "negative(1000)"), (two, "def halved(step)")):
        refused(InputError, said).by(sv.schedule, wrong)
    refused(InputError, "'cosine'").by(sv.schedule, stairs, "cosine")
    assert "negative" not in SCHEDULES
    refused(InputError, "plain def").by(sv.schedule, Stairs())
    refused(InputError, "plain def").by(sv.schedule, Stairs(), "of_a_class")
    refused(InputError, "sv.schedule(function)").by(sv.Adam, 0.01, schedule=stairs)


def test_a_custom_schedule_is_pickled_by_its_name() -> None:
    optimizer = sv.Adam(0.02, schedule=sv.schedule(stairs))
    pickled = pickle.dumps(optimizer)
    assert pickle.loads(pickled).rate(8) == optimizer.rate(8) == 0.01

    def slower(step: float) -> float:
        return 0.25

    sv.schedule(slower, "stairs")
    assert copy.deepcopy(optimizer).rate(8) == 0.01
    refused(InputError, "call sv.schedule(stairs)").by(pickle.loads, pickled)
    SCHEDULES.pop("stairs")
    refused(InputError, "call sv.schedule(stairs)").by(pickle.loads, pickled)
