"""Sessions on the cuda engine in numba's simulator, against the python engine; by `test_cuda.py`.

Class labels, metrics, callbacks, early stopping, and a learning rate that falls on a plateau.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.registry import ENGINES
from scalarviz.errors import EngineError, FileError
from scalarviz.faces.controller import precompile
from scalarviz.training.session.callbacks import StepView
from scalarviz.training.session.replicas import Replicas
from tests.engines.agreement import TOLERANCE, difference
from tests.engines.simulator import one_type_or_both
from tests.wording import refused

LOSSES = pytest.mark.parametrize(
    "loss",
    ["softmax_cross_entropy", pytest.param("sigmoid_cross_entropy", marks=pytest.mark.slow)],
)
RATE = 0.2


def largest(predictions: Any, targets: Any) -> float:
    """A metric of the user."""
    return float(predictions.max())


def labelled() -> data.Arrays:
    """Samples in the plane, in three classes; some are held out."""
    points = np.random.default_rng(2).uniform(-1.0, 1.0, (36, 2))
    labels = (points[:, 0] > 0.0).astype(int) + (points[:, 1] > 0.2)
    return data.Arrays(points, labels, share=0.75, classes=3)


def both(loss: str, dtype: Any, train: Callable[[sv.Session], object]) -> list[sv.Session]:
    """The same training on python and on cuda, which agree in losses, metrics and weights."""
    sessions = []
    for engine in ("python", "cuda"):
        net = sv.Network([2, 4, 3], "tanh", "linear", dtype=dtype, seed=3)
        metrics = ["accuracy", largest]
        session = sv.Session(
            *(net, labelled(), loss, sv.SGD(RATE)), batch=8, engine=engine, metrics=metrics, every=2
        )
        train(session)
        sessions.append(session)
    plain, cuda = sessions
    assert (plain.engine, cuda.engine) == ("python", "cuda")
    near = TOLERANCE[dtype]
    assert plain.step_index == cuda.step_index and plain.stopped == cuda.stopped
    assert difference(plain.losses, cuda.losses) < near
    assert difference(plain.network.bank.value, cuda.network.bank.value) < near
    assert list(plain.metrics) == list(cuda.metrics)
    for name, (steps, values) in plain.metrics.items():
        assert cuda.metrics[name][0].tolist() == steps.tolist()
        assert difference(values, cuda.metrics[name][1]) < near
    return sessions


@LOSSES
def test_what_a_callback_sees_and_changes(loss: str) -> None:
    seen: list[list[float]] = []

    def watch(view: StepView) -> None:
        numbers = [view.step, view.loss, view.learning_rate, view.metrics["accuracy"][1][-1]]
        seen.append([*numbers, *view.values, *view.gradients])
        if view.step == 4:
            view.set_rate(0.5 * view.learning_rate)
            view.edit(1, 0.25)
            view.freeze(1)
        if view.step == 8:
            view.stop("enough")

    def train(session: sv.Session) -> None:
        session.on_step(watch, every=2)
        session.advance(12)

    _, cuda = both(loss, "float64", train)
    half = len(seen) // 2
    assert half and difference(seen[:half], seen[half:]) < TOLERANCE["float64"]
    assert (cuda.step_index, cuda.stopped, cuda.learning_rate) == (8, "enough", 0.5 * RATE)
    assert cuda.network.bank.value[1] == 0.25
    before = cuda.network.bank.value.copy()
    cuda.seek(0)
    cuda.seek(8)
    assert (cuda.network.bank.value == before).all(), "replayed without the callback"


def test_a_rate_that_falls_on_a_plateau() -> None:
    def train(session: sv.Session) -> None:
        session.on_step(sv.ReduceOnPlateau("held_out_loss", factor=0.5, patience=2, min_delta=0.02))
        session.advance(30)

    plain, cuda = both("sigmoid_cross_entropy", "float64", train)
    assert plain.learning_rate == cuda.learning_rate < RATE
    falls = [
        [(action.step, action.details["rate"]) for action in session.timeline.branch.journal]
        for session in (plain, cuda)
    ]
    assert falls[0] == falls[1] and len(falls[0]) > 1


@one_type_or_both
def test_it_stops_by_itself_at_the_same_step(dtype: str) -> None:
    def train(session: sv.Session) -> None:
        session.stop_when("weight 3 changes sign", "loss falls 1.2x", "grad norm < 0.2")
        while session.step_index < 24:
            session.advance(24 - session.step_index)

    plain, cuda = both("softmax_cross_entropy", dtype, train)
    twin = cuda.copy()
    for session in (plain, cuda):
        session.seek(0)
        stops = []
        while session.step_index < 24:
            session.advance(24 - session.step_index)
            stops += [session.step_index] * bool(session.stopped)
        assert stops and stops[0] == session.first("loss falls 1.2x", "grad norm < 0.2")
    assert twin.network.bank.value.tobytes() == cuda.network.bank.value.tobytes()


def replicated(rate: float) -> Replicas:
    """Three networks on cuda, of which a large rate stops some."""
    net = sv.Network([2, 4, 3], "tanh", "linear", seed=3)
    session = sv.Session(net, labelled(), "mse", sv.SGD(rate), batch=8, engine="cuda")
    return sv.replicate(session, seeds=[3, 5, 8])


def test_replicas_have_the_numbers_of_sessions_of_their_own() -> None:
    many = replicated(RATE)
    many.advance(3, progress=False)
    many.advance(4, progress=False)
    assert many.taken.tolist() == [7, 7, 7] and many.losses.shape == (3, 7)
    x = np.zeros((2, 2))
    for i, seed in enumerate(many.seeds):
        net = sv.Network([2, 4, 3], "tanh", "linear", seed=seed)
        session = sv.Session(
            net, labelled(), "mse", sv.SGD(RATE), batch=8, engine="cuda", seed=seed
        )
        session.advance(7)
        assert (many.banks[i].value == net.bank.value).all()
        assert (many.losses[i] == session.losses).all()
        assert many.banks[i].step_count == 7
        assert (many.outputs(x)[i] == net(x)).all()


def test_a_replica_that_overflows_stops_before_that_step_and_the_others_go_on() -> None:
    many = replicated(1e30)
    many.advance(1, progress=False)
    many.end(np.array([False, True, False]))
    many.advance(5, progress=False)
    assert many.taken.tolist()[1] == 1
    assert (many.taken < 6).all()
    for bank, losses, taken in zip(many.banks, many.losses, many.taken, strict=True):
        assert np.isfinite(bank.value).all()
        assert np.isfinite(losses[:taken]).all() and np.isnan(losses[taken:]).all()
        assert bank.step_count == taken


def test_no_training_takes_a_kernel_that_its_kind_does_not_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A window compiles what kinds name before it trains; a sweep trains replicas."""
    monkeypatch.setattr(cuda_file, "_modules", {})
    net = sv.Network([2, 3, 3], "tanh", "linear", seed=3)
    s = sv.Session(net, labelled(), "softmax_cross_entropy", sv.SGD(RATE), batch=8, engine="cuda")
    named = set(precompile.paths_of(precompile.kind_of(s, "cuda")))
    sv.replicate(s, range(2)).advance(2)
    s.advance(2)
    s.advance(len(s.operations), "operation")
    net([[0.0, 1.0]] * 5)
    s.optimizer = sv.Adam(0.1)
    named |= set(precompile.paths_of(precompile.kind_of(s, "cuda")))
    s.advance(1)
    s.back(2)
    taken = cuda_file._modules.values()
    others = {module.NAME for module in taken if Path(str(module.__file__)) not in named}
    assert not others and len(taken) > 5


def test_mixed_precision_is_refused_and_the_training_goes_on() -> None:
    one, other = [
        sv.Session(sv.Network([2, 4, 3], "tanh", seed=3), labelled(), batch=8, engine="cuda")
        for _ in range(2)
    ]
    one.advance(2)
    with refused(EngineError, "cuda engine"):
        one.precision = "mixed"
    assert (one.engine, one.precision, one.current_branch.journal) == ("cuda", sv.Precision(), [])
    one.advance(3)
    other.advance(5)
    assert one.network.bank.value.tobytes() == other.network.bank.value.tobytes()
    assert one.losses.tobytes() == other.losses.tobytes()


def test_a_file_in_mixed_precision_is_not_loaded_on_cuda(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.safetensors"
    sv.Network([2, 3, 3], engine="cpu", precision="mixed").save(path)
    with refused(FileError, "cuda engine"):
        sv.load(path, "cuda")
    assert sv.load(path, "auto").precision == sv.Precision("mixed")
    # A run of an earlier version.
    with monkeypatch.context() as patch:
        patch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], only_full=""))
        net = sv.Network([2, 4, 3], "tanh", seed=3)
        s = sv.Session(net, labelled(), batch=8, engine="cuda", precision="mixed")
        s.save(path)
    with refused(FileError, "cuda engine"):
        sv.Session.load(path)
