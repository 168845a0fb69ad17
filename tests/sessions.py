"""Networks, data and sessions for tests in several folders, fixed or drawn at random."""

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.activations import ACTIVATIONS
from scalarviz.core.program import Program
from scalarviz.data.batches import Pair
from scalarviz.data.data_set import TableSet
from scalarviz.engines.registry import ENGINES

both_engines = pytest.mark.parametrize("engine", ["python", "cpu"])
Trained = TypeVar("Trained", bound=Any)


def advanced(session: Trained, *count: Any, **options: Any) -> Trained:
    """Return the session after `session.advance(*count, **options)`; also for sweeps and clocks."""
    session.advance(*count, **options)
    return session


def as_if_by_kernels(session: sv.Session) -> None:
    """Turn what the objects have computed into a past of the cpu engine, without its kernels."""
    timeline = session.timeline
    on_cpu = replace(timeline.trainer.settings, engine="cpu")
    frames = timeline.branch.frames
    frames[:] = [replace(frame, settings=on_cpu) for frame in frames]
    timeline.trainer.adopt(on_cpu)


@contextmanager
def at_work(session: Any) -> Iterator[threading.Event]:
    """Keep a session busy in another thread until the event is set or the block ends."""
    taken, done = threading.Event(), threading.Event()

    def work() -> None:
        with session.doing():
            taken.set()
            done.wait(30.0)

    thread = threading.Thread(target=work)
    thread.start()
    assert taken.wait(30.0)
    try:
        yield done
    finally:
        done.set()
        thread.join()


def session_on(
    table: Any, layers: Sequence[Any], activation: str | None = None, output: str | None = None,
    *, first: int = 0, dtype: str = "float32", engine: str = "python", **options: Any,
) -> sv.Session:  # fmt: skip
    """Return a session of a new network on this data; `first` is the seed of its weights."""
    net = sv.Network(layers, activation, output, seed=first, dtype=dtype)
    return sv.Session(net, table, engine=engine, **options)


def colours(table: Any = None, sizes: Sequence[int] = (3, 8, 3), **options: Any) -> sv.Session:
    """A 3-8-3 network that learns colors, by default to invert 64 of them."""
    options = {"optimizer": sv.SGD(0.5), "batch": 8} | options
    return session_on(table or data.Rgb(levels=4), sizes, "tanh", "sigmoid", **options)


def inverting(engine: str = "python", batch: int = 8) -> sv.Session:
    """A 3-4-3 network that learns to invert colors."""
    return colours(data.Rgb("invert"), (3, 4, 3), engine=engine, batch=batch)


def plane() -> sv.Session:
    """A 2-3-1 network that learns xor."""
    return session_on(data.Xor(), [2, 3, 1], "tanh", optimizer=sv.SGD(0.5))


def image() -> sv.Session:
    """A convolution that classifies five pictures; the first ones are black and white."""
    net = sv.Network([sv.Conv2d((1, 6, 6), 2, 3, activation="relu"), sv.Dense(32, 2)], seed=0)
    rows = np.random.default_rng(0).uniform(size=(5, 36))
    rows[:2] = [[0.0], [1.0]]
    return sv.Session(net, (rows, np.eye(2)[[0, 1, 0, 1, 0]]), "mse", sv.SGD(0.1), engine="python")


def bits(s: sv.Session) -> dict[str, Any]:
    """Return the complete state of a session at a moment."""
    bank = s.network.bank
    slots = {" ".join(k): v.tobytes() for k, v in sorted(bank.blocks.items()) if v.any()}
    return {
        "place": s.clock.place,
        "value": bank.value.tobytes(),
        "grad": bank.grad.tobytes(),
        "frozen": bank.frozen.tobytes(),
        "state": bank.state.tobytes(),
        "slots": slots,
        "steps": bank.step_count,
        "has gradients": bank.has_gradients,
        "loss": str(s.loss),
        "losses": s.losses.tobytes(),
        "rate": s.learning_rate,
        "optimizer": repr(s.optimizer),
        "own rates": s.trainer.settings.optimizer.own_rates,
        "loss function": repr(s.loss_function),
        "batch": s.batch,
        "data": repr(s.data),
        "engine": (s.engine, s.network.precision),
        "activations": s.network.activations,
    }


def reloaded(trained: Trained, folder: Path) -> Trained:
    """Return a session or a network after saving and loading."""
    path = folder / "reloaded.safetensors"
    trained.save(path)
    load: Any = sv.Session.load if isinstance(trained, sv.Session) else sv.load
    return load(path)


def training_of(session: sv.Session) -> Pair:
    """Return its inputs and targets, one row per sample."""
    assert isinstance(session.data, TableSet)
    return session.data.training


# Engines available on this machine. Without a GPU, `test_cuda.py` of tests/engines runs those of
# cuda in a simulator.
RUNNABLE = [name for name, row in ENGINES.items() if not row.lack()]
FAST = [name for name in RUNNABLE if name != "python"]
every_engine = pytest.mark.parametrize("engine", RUNNABLE)
fast_engines = pytest.mark.parametrize("engine", FAST)

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negate": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
LAYER_KINDS = st.sampled_from(
    [
        "dense", "layer_norm", "rms_norm", "encoding", "softmax", "pool", "convolution", "residual",
        "activation", "reshape", "product", "concatenation",
    ]
)  # fmt: skip
# These depend on the whole batch, or on chance.
LEARNING_KINDS = ["batch_norm", "dropout"]


def examples(few: int, many: int) -> settings:
    """Return settings of a slow test: `few` examples in `make test`, `many` in `make test-all`."""
    return settings(max_examples=few if settings.default.max_examples < 100 else many)


@st.composite
def networks(draw: st.DrawFn, learning: bool = False) -> tuple[sv.Network, np.ndarray]:
    """A random network, and a batch for it.

    With `learning`, layers that behave differently in training are included.
    """
    kinds = LAYER_KINDS | st.sampled_from(LEARNING_KINDS) if learning else LAYER_KINDS
    width = inputs = draw(st.integers(1, 4))
    layers: list[sv.Layer] = []
    for kind in draw(st.lists(kinds, min_size=1, max_size=4)):
        if kind == "dense" or width == 1:  # a norm of one number is constant
            after = draw(st.integers(1, 5))
            activation = draw(st.sampled_from(list(ACTIVATIONS)))
            layers.append(sv.Dense(width, after, activation, bias=draw(st.booleans())))
            width = after
        elif kind == "encoding":
            layers.append(sv.FrequencyEncoding(width, draw(st.integers(1, 2))))
            width = layers[-1].outputs
        elif kind == "softmax":
            layers.append(sv.Softmax(width))
        elif kind == "pool":
            pool = draw(st.sampled_from([sv.MaxPool2d, sv.AvgPool2d]))
            layers.append(pool((1, 1, width), kernel=2, stride=1, padding=1))
            width = layers[-1].outputs
        elif kind == "convolution":
            groups = draw(st.sampled_from([n for n in (1, 2, 3) if width % n == 0]))
            padding, stride = draw(st.integers(0, 1)), draw(st.integers(1, 2))
            shape = (groups, 1, width // groups)
            kernel = (3, 2) if padding else (1, min(2, shape[2]))
            dilation = (1, draw(st.integers(1, 2)) if padding else 1)
            layer = sv.Conv2d(
                shape, groups * draw(st.integers(1, 5)), kernel, (1, stride), padding, "tanh",
                dilation=dilation, groups=groups,
            )  # fmt: skip
            layers.append(layer)
            width = layers[-1].outputs
        elif kind == "residual":
            inner = draw(st.integers(1, 3))
            layers.append(sv.Residual(sv.Dense(width, inner, "tanh"), sv.Dense(inner, width)))
        elif kind in ("product", "concatenation"):
            inner = draw(st.integers(1, 3))
            branch = [sv.Dense(width, inner, "tanh"), sv.Dense(inner, width)]
            beside = draw(st.sampled_from([sv.Dense(width, width), sv.Activation(width, "linear")]))
            both = draw(st.permutations([branch, beside]))
            layers.append(sv.Product(*both) if kind == "product" else sv.Concatenate(*both))
            width = layers[-1].outputs
        elif kind == "activation":
            layers.append(sv.Activation(width, draw(st.sampled_from(list(ACTIVATIONS)))))
        elif kind == "reshape":
            layers.append(sv.Reshape(width, (width, 1, 1)))
        elif kind == "batch_norm":
            layers.append(sv.BatchNorm(draw(st.sampled_from([width, (1, 1, width)]))))
        elif kind == "dropout":
            layers.append(sv.Dropout(width, draw(st.sampled_from([0.0, 0.3]))))
        else:
            layers.append(sv.LayerNorm(width) if kind == "layer_norm" else sv.RMSNorm(width))
        if layers[-1].output_shape:
            layers.append(sv.Flatten(layers[-1].output_shape))
    seed = draw(st.integers(0, 2**32))
    net = sv.Network(layers, seed=seed, dtype="float64")
    net.bank.value[:] += 0.1 * np.random.default_rng(seed).normal(size=len(net.bank))
    return net, np.random.default_rng(seed + 1).normal(size=(draw(st.integers(1, 3)), inputs))


@st.composite
def deep_networks(draw: st.DrawFn) -> Program:
    """Networks of up to 16 layers, with wide and narrow ones side by side."""
    widest = draw(st.sampled_from([3, 12, 60]))
    width = inputs = draw(st.integers(1, widest))
    layers: list[sv.Layer] = []
    for kind in draw(st.lists(st.sampled_from("dddnre"), min_size=1, max_size=16)):
        if kind == "d" or width < 2 or (kind == "e" and width > 40):
            after, activation = (
                draw(st.integers(1, widest)),
                draw(st.sampled_from(["tanh", "linear"])),
            )
            layers.append(sv.Dense(width, after, activation, bias=draw(st.booleans())))
        else:
            kinds = {"n": sv.LayerNorm, "r": sv.RMSNorm}
            layers.append(kinds[kind](width) if kind in kinds else sv.FrequencyEncoding(width, 1))
        width = layers[-1].outputs
    assert inputs
    return sv.Network(layers, seed=0).program


@st.composite
def picture_networks(draw: st.DrawFn) -> Program:
    """Convolutions, pools, norms and residuals, and matrices between them."""
    shape: tuple[int, ...] = tuple(draw(st.tuples(*[st.integers(1, n) for n in (3, 6, 6)])))
    layers: list[sv.Layer] = []
    kinds = st.sampled_from(["conv", "pool", "norm", "residual", "layer", "dense", "drop", "act"])
    for kind in draw(st.lists(kinds, min_size=1, max_size=6)):
        if kind == "conv":
            channels, stride = draw(st.integers(1, 7)), draw(st.integers(1, 2))
            bias, activation = draw(st.booleans()), draw(st.sampled_from(["relu", "linear"]))
            groups = draw(st.sampled_from([1, shape[0]]))
            layer = sv.Conv2d(
                shape, channels * groups, 3, stride, 1, activation, bias=bias, groups=groups
            )
            layers.append(layer)
        elif kind == "pool":
            layers.append(sv.MaxPool2d(shape, 2, 2, 1))
        elif kind == "norm":
            layers.append(sv.BatchNorm(shape))
        elif kind == "residual":
            own = [sv.Conv2d(shape, shape[0], 3, 1, 1) for _ in range(draw(st.integers(0, 4)))]
            own = own or [sv.BatchNorm(shape)]
            layers.append(sv.Residual(*own))
        elif kind == "layer" and int(np.prod(shape)) > 1:
            layers.append(sv.LayerNorm(int(np.prod(shape))))
        elif kind == "dense":
            count, size = int(np.prod(shape)), draw(st.integers(1, 40))
            shape = (1, 1, size)
            layers += [sv.Dense(count, size), sv.Reshape(size, shape)]
            continue
        elif kind == "drop":
            layers.append(sv.Dropout(shape, 0.5))
        elif kind == "act":
            layers.append(sv.Activation(shape, "tanh"))
        else:
            continue
        shape = layers[-1].output_shape or shape
    layers.append(sv.Dense(int(np.prod(shape)), draw(st.integers(1, 12))))
    return sv.Network(layers, seed=0).program
