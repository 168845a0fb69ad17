"""Files name the formulas of users, with a digest of their source; they hold no code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.formulas.optimizers import OPTIMIZERS
from scalarviz.engines.custom.user_functions import digest
from scalarviz.errors import FileError
from scalarviz.files.checked_safetensors import read, write
from tests.sessions import advanced, reloaded
from tests.wording import refused


def bend(x: float) -> float:
    return x / (1.0 + abs(x))


def bend_derivative(x: float, y: float) -> float:
    return 1.0 / ((1.0 + abs(x)) * (1.0 + abs(x)))


def quartic(p: float, t: float) -> float:
    return (p - t) ** 4


def lion(w: float, g: float, m: float, lr: float, beta: float = 0.9) -> tuple[float, float]:
    c = beta * m + (1.0 - beta) * g
    return w - lr * (1.0 if c > 0.0 else (-1.0 if c < 0.0 else 0.0)), c


def register() -> Callable[..., sv.Optimizer]:
    sv.activation(bend, bend_derivative)
    sv.loss(quartic)
    return sv.optimizer(lion, ("slow",))


def saved(folder: Path, engine: str) -> tuple[sv.Session, Path]:
    """A training with three formulas of the user, one of them since step 5, and its file."""
    kind, path = register(), folder / "run.safetensors"
    net = sv.Network([2, 3, 1], "bend", seed=1)
    s = advanced(sv.Session(net, data.Xor(), "quartic", sv.SGD(0.1), engine=engine, seed=2), 5)
    s.optimizer = kind(0.01, beta=0.5)
    s.advance(10)
    s.save(path)
    return s, path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return saved(tmp_path, "python")[1]


@pytest.mark.some(1)
@pytest.mark.parametrize("engine", ["python", "cpu"])
def test_a_run_goes_on_with_the_same_bits(engine: str, tmp_path: Path) -> None:
    s, path = saved(tmp_path, engine)
    register()  # again, from the same source
    loaded = sv.Session.load(path)
    assert repr(loaded.optimizer) == "Lion(lr=0.01, beta=0.5)"
    loaded.seek(3)
    loaded.seek(15)
    for each in (s, loaded):
        each.advance(5)
    assert np.array_equal(s.network.bank.value, loaded.network.bank.value)
    assert np.array_equal(s.losses, loaded.losses)


def test_another_formula_of_that_name_is_refused(run: Path) -> None:
    def other(p: float, t: float) -> float:
        return (p - t) ** 6

    sv.loss(other, name="quartic")
    with refused(FileError, "another loss"):
        sv.Session.load(run)


def test_a_network_needs_its_activations_and_the_slots_of_its_optimizer(tmp_path: Path) -> None:
    kind, path = register(), tmp_path / "net.safetensors"
    net = sv.Network([sv.Residual(sv.Dense(2, 2, "bend")), sv.Dense(2, 1)], seed=1)
    net.train([[0.1, 0.2]], [[0.3]], optimizer=kind(0.1), steps=2)
    net.save(path)
    loaded = sv.load(path)
    assert np.array_equal(loaded.bank.slots["slow"], net.bank.slots["slow"])
    OPTIMIZERS.popitem()
    with refused(FileError, "slow"):
        sv.load(path)
    ACTIVATIONS.popitem()
    with refused(FileError, "bend"):
        sv.load(path)


def test_a_file_from_before_there_were_digests_goes_by_the_name(tmp_path: Path) -> None:
    register()
    path = tmp_path / "net.safetensors"
    sv.Network([2, 1], "bend", seed=1).save(path)
    assert "own" not in read(path, "network")[0]
    sv.Network([2, 1, 1], "bend", seed=1).save(path)
    description, arrays = read(path, "network")
    assert set(description.pop("own")["activation"]) == {"bend"}
    write(path, "network", description, arrays)
    assert sv.load(path).layers[0].activation == "bend"


@pytest.mark.parametrize("own", [3, {"loss": 3}, {"song": {}}, {"loss": {"mse": "0"}}])
def test_a_hostile_entry_is_refused(own: Any, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    sv.Network([2, 1]).save(path)
    description, arrays = read(path, "network")
    write(path, "network", description | {"own": own}, arrays)
    with refused(FileError):
        sv.load(path)


# ---- digests ------------------------------------------------------------------------------------


def made(text: str, **known: Any) -> Callable[..., Any]:
    """A function from a source, which is found as that of a file would be."""
    from scalarviz.engines.custom.user_functions import function_of

    return function_of(text, text.partition("(")[0].removeprefix("def "), __name__, known)


FORMULA = made("def f(p, t):\n    return (p - t) * (p - t)\n")


def test_a_digest_is_of_what_is_computed() -> None:
    annotated = (
        'def f(p: float, t) -> float:\n    """A docstring."""\n    return (p-t) * (p-t)  # so\n'
    )
    assert digest(made(annotated)) == digest(FORMULA)
    assert digest(made("def f(p, t):\n    return (p - t) * (t - p)\n")) != digest(FORMULA)
    assert digest(FORMULA, FORMULA) == digest(FORMULA) != digest(FORMULA, bend)


def test_a_digest_counts_helpers_and_constants() -> None:
    text = "def f(p, t):\n    return helper(p - t) * FACTOR\n"
    helpers = [made(f"def helper(x):\n    return x * {factor}\n") for factor in (1.0, 1.0, 2.0)]
    first, same, other = (digest(made(text, helper=each, FACTOR=1.0)) for each in helpers)
    assert first == same != other
    assert first != digest(made(text, helper=helpers[0], FACTOR=2.0))


def test_a_subclass_of_optimizer_does_not_concern_files(tmp_path: Path) -> None:
    class Nameless(sv.Optimizer):
        """Its constructor needs a name."""

    class Lazy(sv.Optimizer):
        """A class of the user's own with the row of SGD."""

        def __init__(self, lr: float = 0.5) -> None:
            super().__init__("sgd", lr)

    s = sv.Session(sv.Network([2, 1]), data.Xor(), "mse", sv.SGD(0.1))
    assert type(reloaded(s, tmp_path).optimizer) is sv.SGD
    made = lambda seed: sv.Session(sv.Network([2, 1], seed=seed), data.Xor(), "mse")  # noqa: E731
    sweep = advanced(sv.sweep(made, [{}], seeds=range(2)), 10)
    assert not sweep.errors and len(sweep.runs().columns["seed"]) == 2
    del Nameless, Lazy
