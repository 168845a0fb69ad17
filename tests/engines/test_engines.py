"""What all engines share: matching of forward and backward, errors, frozen weights, bits."""

import math
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import NoReturn

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.core.optimizer import Optimizer
from scalarviz.engines import python as python_engine
from scalarviz.engines.registry import ENGINES, LARGE, EngineRow, choose
from scalarviz.errors import EngineError, GradientError, OrderError, ShapeError, UnknownNameError
from scalarviz.training.network.model_queries import check_engine
from tests.sessions import advanced
from tests.strategies import RUNNABLE
from tests.wording import refused

COLOURS = np.random.default_rng(0).random((8, 3))

every_engine = pytest.mark.parametrize("engine", RUNNABLE)


def rgb(engine: str, **options: object) -> sv.Network:
    return sv.Network([3, 8, 3], "tanh", "sigmoid", engine=engine, **options)  # type: ignore[arg-type]  # of many types


@every_engine
def test_two_forwards_before_a_backward_give_the_right_sum(engine: str) -> None:
    nested, plain = rgb(engine, dtype="float64"), rgb(engine, dtype="float64")
    g = np.random.default_rng(1).normal(size=(4, 3))
    nested.forward(COLOURS[:4])
    nested.forward(COLOURS[4:])
    newest, oldest = nested.backward(g), nested.backward(2 * g)
    plain.forward(COLOURS[4:])
    assert plain.backward(g) == pytest.approx(newest)
    plain.forward(COLOURS[:4])
    assert plain.backward(2 * g) == pytest.approx(oldest)
    assert nested.bank.grad == pytest.approx(plain.bank.grad, rel=1e-12)


@every_engine
def test_a_single_sample_gives_vectors(engine: str) -> None:
    net = rgb(engine)
    assert net(COLOURS[0]).shape == net.forward(COLOURS[0]).shape == (3,)
    assert net.backward([1.0, 2.0, 3.0]).shape == (3,)
    assert net(COLOURS[0]).dtype == np.float32


@every_engine
def test_zero_grad_between_forward_and_backward_does_no_harm(engine: str) -> None:
    net = rgb(engine)
    net.forward(COLOURS)
    net.zero_grad()
    net.backward()
    net.step(sv.SGD(0.1))
    assert net.bank.grad.all()


@every_engine
def test_a_backward_that_does_not_fit_is_refused_and_changes_nothing(engine: str) -> None:
    net = rgb(engine)
    with refused(OrderError):
        net.backward()
    net.forward(COLOURS)
    with refused(ShapeError, "8 samples"):
        net.backward(np.ones((7, 3)))
    assert not net.bank.grad.any()
    net.backward()
    with pytest.raises(OrderError):
        net.backward(np.ones((8, 3)))


@every_engine
def test_evaluation_and_training_leave_nothing_behind(engine: str) -> None:
    net = rgb(engine)
    net(COLOURS)
    net.train_step(COLOURS, 1 - COLOURS)
    net.forward(COLOURS)
    net.forget()
    with pytest.raises(OrderError):
        net.backward(np.ones((8, 3)))


@every_engine
def test_a_written_weight_counts_at_once(engine: str) -> None:
    net = rgb(engine)
    before = net(COLOURS)
    net.parameters()[5].value = 2.0
    assert (net(COLOURS) != before).any()


@every_engine
def test_a_frozen_weight_stands_still(engine: str) -> None:
    net = rgb(engine)
    net.parameters()[10].freeze()
    before = net.bank.value.copy()
    net.train_step(COLOURS, 1 - COLOURS, "mse", sv.Adam(0.1))
    changed = net.bank.value != before
    assert changed.sum() == len(net.bank) - 1
    assert not changed[10]
    assert net.bank.slots["m"][10] == 0.0


@every_engine
def test_the_arrays_of_the_bank_stay_the_same_objects(engine: str) -> None:
    net = rgb("python")
    value, grad = net.bank.value, net.bank.grad
    net.to(engine)
    net.train_step(COLOURS, 1 - COLOURS, "mse", sv.Adam(0.1))
    assert net.bank.value is value and net.bank.grad is grad
    assert net.engine == engine


@every_engine
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_bad_gradient_is_refused_by_name_before_anything_changes(engine: str, dtype: str) -> None:
    net = sv.Network([2, 3, 1], "linear", engine=engine, dtype=dtype)
    net.train_step([0.5, 0.5], [1.0], "mse", sv.Adam(0.1))
    net.bank.value[4] = 1e30 if dtype == "float32" else 1e200
    before = net.bank.value.copy(), net.bank.slots["m"].copy(), net.bank.step_count
    with refused(GradientError, "inf"):
        net.train_step([1e20 if dtype == "float32" else 1e200, 0.5], [1.0], "mse", sv.Adam(0.1))
    assert (net.bank.value == before[0]).all()
    assert (net.bank.slots["m"] == before[1]).all()
    assert net.bank.step_count == before[2]


@every_engine
def test_a_bad_gradient_counts_as_0_on_request(engine: str) -> None:
    net = sv.Network([2, 1], engine=engine)
    net.bank.value[:] = [1e30, 1.0, 0.0]
    before = net.bank.value.copy()
    loss = net.train_step([1e20, 0.5], [1.0], "mse", sv.SGD(0.1, not_finite="zero"))
    assert not math.isfinite(loss)
    assert (net.bank.value == before).all()


@every_engine
def test_it_learns_to_invert_colours(engine: str) -> None:
    net = rgb(engine)
    losses = [net.train_step(COLOURS, 1 - COLOURS, "mse", sv.SGD(0.5)) for _ in range(1500)]
    assert losses[-1] < 0.03 * losses[0]


@every_engine
def test_stepping_by_hand_and_by_the_engine_mix(engine: str) -> None:
    mixed, reference = rgb(engine, dtype="float64"), rgb("python", dtype="float64")
    optimizer = sv.Adam(0.01)
    for net in (mixed, reference):
        net.train_step(COLOURS, 1 - COLOURS, "mse", optimizer)
        net.zero_grad()
        net.forward(COLOURS)
        net.backward(np.ones((8, 3)))
        for layer in net.layers:
            layer.step(optimizer)
        net.train_step(COLOURS, 1 - COLOURS, "mse", optimizer)
    assert mixed.bank.value == pytest.approx(reference.bank.value, rel=1e-10)
    assert mixed.bank.step_count == reference.bank.step_count == 3


# The choice.


def test_auto_says_nothing_of_a_card_that_nobody_asked_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("scalarviz.engines.registry._said", set())
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=lambda: "a card is missing"))
    assert choose("auto").name == "cpu"
    assert not caplog.messages
    with refused(EngineError, "a card is missing"):
        choose("cuda")


def test_a_worker_leaves_the_choice_to_be_said_by_its_parent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("scalarviz.engines.registry._said", set())
    monkeypatch.setattr("scalarviz.engines.registry.is_worker", lambda: True)
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=str))
    assert choose("auto").name == "cpu"
    assert not caplog.messages


def test_auto_takes_the_first_that_can_run_and_says_which_and_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("scalarviz.engines.registry._said", set())
    for name, lack in [("cuda", "a card is missing"), ("cpu", "a screwdriver is missing")]:
        row = EngineRow(name, ENGINES[name].make, lambda lack=lack: lack)  # type: ignore[misc]  # mypy infers no defaults of a lambda
        monkeypatch.setitem(ENGINES, name, row)
    assert choose("auto").name == choose("auto").name == "python"
    said = "scalarviz runs on the engine python (cpu cannot run here: a screwdriver is missing)"
    assert caplog.messages == [said]
    with refused(EngineError, "a screwdriver"):
        sv.Network([2, 2]).to("cpu")


def test_auto_takes_cuda_from_a_size_on_and_says_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("scalarviz.engines.registry._said", set())

    def make(*_: object) -> NoReturn:
        raise EngineError("cuda was chosen")

    monkeypatch.setitem(ENGINES, "cuda", EngineRow("cuda", make))
    xor = sv.Session(sv.Network([2, 4, 1]), sv.data.Xor(), batch=None)
    xor.to("auto")
    assert xor.engine == "cpu"
    large = sv.Network([100, 100, 100])  # 20,200 products: 165 samples are less than the bound
    assert 3 * 165 * large.program.products < LARGE <= 3 * 166 * large.program.products
    samples = np.zeros((300, 100)), np.zeros((300, 100))
    assert sv.Session(large.copy(), samples, batch=165).engine == "cpu"
    for batch in (166, None):
        with pytest.raises(EngineError, match="cuda was chosen"):
            sv.Session(large.copy(), samples, batch=batch)
    assert caplog.messages == [
        f"scalarviz runs on the engine {name} (cuda is the faster one from 10,000,000 "
        "multiply-adds a step on)"
        for name in ("cpu", "cuda")
    ]


def test_mixed_precision_is_refused_on_cuda_and_nothing_changes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("scalarviz.engines.registry._said", set())
    monkeypatch.setitem(ENGINES, "cuda", replace(ENGINES["cuda"], lack=str, kernels=None))
    net = rgb("cpu")
    net.forward(COLOURS)
    with refused(EngineError, "cuda engine"):
        net.to("cuda", "mixed")
    assert net.engine == "cpu" and net.precision == sv.Precision()
    with refused(EngineError, "cuda engine"):
        sv.Session(net, (COLOURS, COLOURS), engine="cuda", precision="mixed")
    net.backward()
    assert net.bank.grad.any()
    s = advanced(sv.Session(net, (COLOURS, COLOURS), engine="cpu", precision="mixed"), 3)
    for change in (lambda: s.to("cuda"), lambda: setattr(s, "engine", "cuda")):
        with refused(EngineError, "cuda engine"):
            change()
    assert (s.engine, s.precision.name, s.current_branch.journal) == ("cpu", "mixed", [])
    large, samples = sv.Network([100, 100, 100]), np.zeros((300, 100))
    trained = sv.Session(large, (samples, samples), precision="mixed")
    assert (trained.engine, large.precision.name) == ("cpu", "mixed")
    why = "cuda computes in full precision only"
    assert caplog.messages[-1] == f"scalarviz runs on the engine cpu ({why})"


@every_engine
def test_asking_whether_an_engine_will_do_makes_none(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(*_: object) -> NoReturn:
        raise AssertionError("an engine was made")

    net, double = rgb("python"), rgb("python", dtype="float64")
    row = ENGINES[engine]
    monkeypatch.setitem(ENGINES, engine, replace(row, make=make))
    assert check_engine(net, engine, "full") == (engine, sv.Precision())
    with refused(EngineError, "mixed precision"):
        check_engine(double, engine, "mixed")


def test_cuda_without_a_gpu_says_what_is_missing() -> None:
    lack = ENGINES["cuda"].lack()
    if not lack:
        pytest.skip("there is a GPU here, on which cuda runs")
    with refused(EngineError, "'cuda'") as caught:
        sv.Network([2, 2]).to("cuda")
    assert lack in str(caught.value) and len(lack) > 10


def test_an_unknown_engine_is_refused_and_the_old_one_stays() -> None:
    net = rgb("python")
    with refused(UnknownNameError, "'pyton'"):
        net.to("pyton")
    assert net.engine == "python"


# The cpu engine's own promises.


def trained(optimizer: Optimizer, samples: int = 700) -> np.ndarray:
    rng = np.random.default_rng(5)
    net = sv.Network([12, 40, 40, 3], "leaky_relu", "sigmoid", engine="cpu")
    inputs, targets = rng.random((samples, 12)), rng.random((samples, 3))
    for _ in range(5):
        net.train_step(inputs, targets, "mse", optimizer)
    return net.bank.value


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    import numba

    threads = numba.get_num_threads()
    try:
        results = []
        for count in {1, min(2, threads), threads}:
            numba.set_num_threads(count)
            results.append(trained(sv.Adam(1e-3)))
    finally:
        numba.set_num_threads(threads)
    assert all((result == results[0]).all() for result in results)


@pytest.mark.parametrize(("width", "samples"), [(40, 700), (200, 700), (40, 2), (40, 100)])
def test_a_whole_step_has_the_bits_of_its_verbs(width: int, samples: int) -> None:
    """The gradients of 200 x 200 weights are added up by several threads, and those of a batch of
    one chunk where the bank has them."""
    rng = np.random.default_rng(5)
    inputs, targets = rng.random((samples, 12)), rng.random((samples, 3)).astype(np.float32)
    at_once, by_hand = [
        sv.Network([12, width, width, 3], "tanh", "linear", engine="cpu") for _ in range(2)
    ]
    at_once.train_step(inputs, targets, sv.Loss("mse", mean="none"), sv.SGD(1e-4))
    p = by_hand.forward(inputs)
    by_hand.backward(2 * (p - targets))
    assert (by_hand.bank.grad == at_once.bank.grad).all()


def test_it_lets_other_threads_run() -> None:
    net = sv.Network([64, 128, 128, 3], "tanh", engine="cpu")
    inputs, targets = np.random.default_rng(0).random((4000, 64)), np.zeros((4000, 3))
    net.train_step(inputs, targets)
    ticks, done = [0], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 0.3:
        net.train_step(inputs, targets)
    done.set()
    thread.join()
    assert ticks[0] > 20


def test_the_python_engine_does_not_load_numba() -> None:
    program = (
        "import sys, scalarviz as sv; sv.Network([2, 2]).train_step([1, 2], [3, 4]); "
        "print('numba' in sys.modules)"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, text=True).stdout.strip() == "False"


def test_what_takes_the_engine_python_long_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    net, samples = sv.Network([3, 4, 2], "tanh", seed=1), np.random.default_rng(0).random((40, 3))
    whole = net(samples)
    monkeypatch.setattr(python_engine, "_said", False)
    monkeypatch.setattr(python_engine, "PATIENCE", 0.0)
    with caplog.at_level("INFO"):
        for _ in range(2):
            assert (net(samples) == whole).all()
        net(samples[:8])
    (message,) = caplog.messages
    assert message.startswith("40 samples take") and "net.to('cpu')" in message
    assert all((net(samples[i]) == whole[i]).all() for i in (0, 9, 39))
