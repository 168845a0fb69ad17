"""Another loss, batch or precision of a running session: `s.loss_function`, `s.batch`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.losses import LOSSES
from scalarviz.errors import (
    EngineError,
    FileError,
    InputError,
    ReadOnlyError,
    UnknownAttributeError,
    UnknownNameError,
)
from scalarviz.faces.controller.precompile import kind_of
from scalarviz.files.checked_safetensors import read, write
from tests.sessions import advanced, reloaded
from tests.wording import refused

ENGINES = ("python", "cpu")


def session(engine: str = "python", output: str = "sigmoid", **options: Any) -> sv.Session:
    net = sv.Network([3, 8, 3], "tanh", output=output, seed=0, dtype="float64")
    options = {"batch": 8, "optimizer": sv.SGD(0.1)} | options
    return sv.Session(net, data.Rgb(levels=3), "mse", engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_both_are_replayed_saved_and_undone(engine: str, tmp_path: Path) -> None:
    s = advanced(session(engine), 6)
    s.loss_function = sv.Loss("mae", factor=2.0, mean="samples")
    s.advance(5)
    s.batch = None
    s.advance(4)
    s.batch = 3
    s.advance(5)
    end, losses = s.network.bank.value.tobytes(), s.losses.tobytes()
    for again in (s, reloaded(s, tmp_path), s.copy()):
        assert (again.loss_function.mean, again.batch) == ("samples", 3)
        again.seek(3)
        assert (again.loss_function.name, again.batch) == ("mse", 8)
        again.seek(12)
        assert (again.loss_function.factor, again.batch) == (2.0, None)
        again.seek(20)
        assert (again.network.bank.value.tobytes(), again.losses.tobytes()) == (end, losses)
    del again
    s = advanced(session(engine), 2)
    s.loss_function = "huber"
    s.batch = 2
    s.undo()
    assert (s.loss_function.name, s.batch) == ("huber", 8)
    s.undo()
    assert (s.loss_function.name, s.batch, s.step_index) == ("mse", 8, 2)
    s.redo()
    s.redo()
    assert (s.loss_function.name, s.batch) == ("huber", 2)


def test_a_run_keeps_the_loss_that_it_began_with(tmp_path: Path) -> None:
    s = advanced(session(), 3)
    s.loss_function, s.batch = "mape", 4
    s.advance(2)
    s.save(tmp_path / "run")
    description, _ = read(tmp_path / "run", "run")
    assert (description["loss"]["name"], description["batch"]) == ("mse", 8)


WRONG: dict[str, Callable[[sv.Session], object]] = {
    "softmax_cross_entropy": lambda s: setattr(s, "loss_function", "softmax_cross_entropy"),
    "'hubr'": lambda s: setattr(s, "loss_function", "hubr"),
    "28": lambda s: setattr(s, "batch", 28),
    "not 0": lambda s: setattr(s, "batch", 0),
    "not 2.5": lambda s: setattr(s, "batch", 2.5),
    "True": lambda s: setattr(s, "batch", True),
    "'huber'": lambda s: setattr(s, "loss", "huber"),
    "batch_size": lambda s: setattr(s, "batch_size", 4),
    "criterion": lambda s: setattr(s, "criterion", "mae"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_refused_in_one_sentence(wrong: str) -> None:
    s = session()
    kinds = InputError, UnknownNameError, ReadOnlyError, UnknownAttributeError
    with pytest.raises(kinds) as caught:
        WRONG[wrong](s)
    with refused(type(caught.value)):
        WRONG[wrong](s)
    assert not s.current_branch.journal and (s.loss_function.name, s.batch) == ("mse", 8)


def test_class_labels_are_checked_for_a_new_loss() -> None:
    net = sv.Network([2, 4, 1], seed=0)
    s = sv.Session(net, ([[0.0, 1.0], [1.0, 0.0]], [0.0, 2.0]), engine="python")
    with refused(InputError, "2"):
        s.loss_function = "sigmoid_cross_entropy"
    assert s.loss_function.name == "mse"


def test_the_precision_is_a_setting_of_the_engine() -> None:
    s = sv.Session(sv.Network([3, 3], seed=0), data.Rgb(levels=3), engine="cpu")
    s.precision = "mixed"
    assert s.precision.mixed and s.engine == "cpu"
    s.undo()
    assert not s.precision.mixed
    s.engine = "python"
    with refused(EngineError, "mixed"):
        s.precision = "mixed"


def test_kernels_of_all_its_losses_belong_to_what_it_needs() -> None:
    s = session("cpu")
    before = kind_of(s, "cpu")
    s.advance(2)
    s.loss_function = "mae"
    s.advance(2)
    both = kind_of(s, "cpu")
    assert both != before
    s.loss_function = "mse"
    assert kind_of(s, "cpu") == both


@pytest.fixture
def cubed() -> Iterator[str]:
    def cubed(p: float, t: float) -> float:
        return abs(p - t) ** 3.0

    yield sv.loss(cubed)
    del LOSSES["cubed"]


def test_a_file_names_a_loss_of_ones_own_that_came_later(cubed: str, tmp_path: Path) -> None:
    s = session()
    s.loss_function = cubed
    s.advance(2)
    s.save(tmp_path / "run")
    row = LOSSES["cubed"]
    try:
        del LOSSES["cubed"]
        with refused(FileError, "cubed"):
            sv.Session.load(tmp_path / "run")
    finally:
        LOSSES["cubed"] = row
    assert sv.Session.load(tmp_path / "run").loss_function.name == "cubed"


DETAILS: dict[str, tuple[str, Any]] = {
    "no loss": ("loss", {"loss": "mse"}),
    "an unknown loss": ("loss", {"loss": {"loss": {"name": "hubr"}}}),
    "a loss on logits": ("loss", {"loss": {"loss": {"name": "softmax_cross_entropy"}}}),
    "a text": ("batch", {"size": "8"}),
    "no samples": ("batch", {"size": 0}),
    "a truth": ("batch", {"size": True}),
}


@pytest.mark.parametrize("what", DETAILS)
def test_a_file_with_wrong_details_is_refused(what: str, tmp_path: Path) -> None:
    s = session()
    s.loss_function, s.batch = "huber", 4
    s.save(tmp_path / "run")
    description, arrays = read(tmp_path / "run", "run")
    kind, details = DETAILS[what]
    place = ("loss", "batch").index(kind)
    description["branches"][0]["journal"][place][3] = details
    write(tmp_path / "run", "run", description, arrays)
    with refused(FileError, kind):
        sv.Session.load(tmp_path / "run")
