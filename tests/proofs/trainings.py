"""Trainings of every sort to try things on, and all that belongs to a moment, to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.core.optimizer import Optimizer
from scalarviz.training.session.branches import Branch, Clock
from scalarviz.training.session.trainer import set_numbers

ENGINES = ("python", "cpu")


@dataclass(frozen=True)
class Training:
    """How a session is made, and what can be chosen in it.

    sets         data sets of one width that can be exchanged
    losses       losses that can be exchanged
    activations  of each layer that can have another one
    most_steps   that it goes at once, on the engine python and on cpu
    expression   whether it is a compiled function, which can neither be copied nor saved
    """

    make: Callable[[], Any]
    sets: Sequence[Callable[[], data.DataSet]]
    batch: int | None = 8
    loss: str = "mse"
    losses: tuple[str, ...] = ("mse", "mae", "huber")
    precision: str = "full"
    engines: tuple[str, ...] = ENGINES
    activations: dict[int, tuple[str, ...]] = field(default_factory=dict)
    most_steps: tuple[int, int] = (4, 300)
    expression: bool = False

    def session(self, engine: str, memory: int) -> sv.Session:
        optimizer = sv.Adam(0.005, clip_norm=1.0)
        return sv.Session(
            self.make(), self.sets[0](), self.loss, optimizer, self.batch, engine, 5,
            precision=self.precision, memory=memory,
        )  # fmt: skip


def tables(inputs: int, outputs: int, samples: int) -> list[Callable[[], data.DataSet]]:
    """Three data sets of random numbers."""

    def table(seed: int) -> data.DataSet:
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(samples, inputs)), rng.random((samples, outputs))
        order = ("shuffled", "picked", "in_order")[seed]
        return data.Arrays(x.round(3), y.round(3), order=order)

    return [lambda seed=seed: table(seed) for seed in range(3)]  # type: ignore[misc]  # mypy infers no defaults of a lambda


def wave() -> Any:
    """A compiled function with three parameters."""
    a, b, c = (sv.Value(x, label=label) for x, label in ((0.5, "a"), (1.0, "b"), (-0.2, "c")))
    return sv.compile(lambda x, y: [(a * x + b * y).sin() + c, (b * x - y).tanh() * a], inputs=2)


def network(*layers: Any, dtype: str = "float32") -> Callable[[], sv.Network]:
    """A network of layers that are made anew each time; a function makes one."""
    return lambda: sv.Network([make() for make in layers], seed=2, dtype=dtype)


def shared() -> sv.Network:
    twice = sv.Dense(5, 5, "tanh")
    layers = [sv.FrequencyEncoding(2, 1), sv.Dense(4, 5, "swish"), twice, sv.RMSNorm(5), twice]
    return sv.Network([*layers, sv.Dense(5, 2)], seed=1, dtype="float64")


CURVED = ("tanh", "relu", "sigmoid", "swish", "sin", "linear")
COLORS: list[Callable[[], data.DataSet]] = [
    lambda: data.Rgb("invert", levels=4),
    lambda: data.Rgb("sepia", levels=4),
    lambda: data.Rgb("hue", levels=4, angle=120.0),
]

TRAININGS: dict[str, Training] = {
    "colours": Training(
        lambda: sv.Network([3, 8, 3], "tanh", "sigmoid", seed=1),
        COLORS,
        activations={0: CURVED, 1: ("sigmoid", "linear")},
    ),
    "one by one": Training(
        lambda: sv.Network([3, 4, 3], "leaky_relu", "sigmoid", seed=3),
        COLORS,
        batch=1,
        activations={0: CURVED},
        most_steps=(30, 400),
    ),
    "shared": Training(shared, tables(2, 2, 20), activations={1: CURVED, 2: CURVED}),
    "batch norm and dropout": Training(
        network(
            lambda: sv.Dense(4, 8, "relu"),
            lambda: sv.BatchNorm(8),
            lambda: sv.Dropout(8, 0.3),
            lambda: sv.Dense(8, 3),
        ),
        tables(4, 3, 24),
        loss="softmax_cross_entropy",
        losses=("softmax_cross_entropy", "mse", "sigmoid_cross_entropy"),
        activations={0: CURVED},
    ),
    "pictures": Training(
        network(
            lambda: sv.Conv2d((1, 5, 4), 3, 3, padding=1, activation="tanh"),
            lambda: sv.BatchNorm((3, 5, 4)),
            lambda: sv.MaxPool2d((3, 5, 4)),
            lambda: sv.Flatten((3, 2, 2)),
            lambda: sv.Dense(12, 2),
        ),
        tables(20, 2, 24),
        activations={0: CURVED},
        most_steps=(2, 60),
    ),
    "residual": Training(
        network(
            lambda: sv.Dense(3, 6, "swish"),
            lambda: sv.Residual(sv.Dense(6, 4, "tanh"), sv.LayerNorm(4), sv.Dense(4, 6)),
            lambda: sv.Dropout(6, 0.2),
            lambda: sv.Dense(6, 3, "sigmoid"),
            dtype="float64",
        ),
        tables(3, 3, 40),
        activations={0: CURVED},
    ),
    "mixed precision": Training(
        lambda: sv.Network([4, 16, 2], "tanh", seed=4),
        tables(4, 2, 64),
        batch=16,
        precision="mixed",
        engines=("cpu",),
        activations={0: CURVED},
    ),
    "wide": Training(
        lambda: sv.Network([32, 64, 8], "relu", "sigmoid", seed=5),
        tables(32, 8, 2048),
        batch=1024,
        engines=("cpu",),
        activations={0: CURVED},
        most_steps=(1, 12),
    ),
    "expression": Training(wave, tables(2, 2, 40), expression=True),
}
OPTIMIZERS: list[Callable[[], Optimizer]] = [
    lambda: sv.SGD(0.02),
    lambda: sv.Momentum(0.01, l2=0.01),
    lambda: sv.Nesterov(0.01, clip_value=0.5),
    lambda: sv.RMSProp(0.002, schedule=sv.Schedule("step", every=7, factor=0.9)),
    lambda: sv.Adam(0.004, schedule=sv.Schedule("cosine", steps=500)),
    lambda: sv.AdamW(0.004, l1=0.001),
]


def bits(s: sv.Session) -> dict[str, Any]:
    """All that belongs to a moment of a session."""
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
        "loss function": repr(s.loss_function),
        "batch": s.batch,
        "data": repr(s.data),
        "engine": (s.engine, s.network.precision),
        "activations": s.network.activations,
    }


def differences(a: sv.Session, b: sv.Session) -> str:
    """What of two moments is not the same; empty if all is."""
    x, y = bits(a), bits(b)
    return ", ".join(name for name in x if x[name] != y[name])


def by_journal(s: sv.Session, branch: Branch, clock: Clock) -> None:
    """Take a new session straight to a moment of another one's branch, by what its journal says."""
    actions = [action for action in branch.journal if action.place < clock.place]
    actions += branch.actions_at(clock.place)[: clock.actions]
    actions += [a for a in branch.journal if a.asked and a.asked <= clock.place < a.place]
    for action in sorted(actions, key=lambda action: action.asked or action.place):
        go_on(s, action.asked or action.place)
        AGAIN[action.kind](s, **action.details)
    go_on(s, clock.place)


def go_on(s: sv.Session, place: tuple[int, int]) -> None:
    """Go forward to a place."""
    step, operation = place
    while step > s.step_index:  # where it stops by itself, it goes on
        s.advance(step - s.step_index)
    while operation > s.clock.operation:
        s.advance(operation - s.clock.operation, "operation")
    assert s.clock.place == place


# What a journal holds, as a user would do it.
AGAIN: dict[str, Callable[..., Any]] = {
    "stop when": lambda s, conditions: s.stop_when(*conditions),
    "edit": lambda s, rows, values: s.edit(rows, values),
    "freeze": lambda s, rows, on: s.freeze(rows, on),
    "numbers": lambda s, **numbers: set_numbers(s.network.bank, **numbers),
    "learning rate": lambda s, rate: setattr(s, "learning_rate", rate),
    "optimizer": lambda s, optimizer, goes_on: setattr(s, "optimizer", optimizer),
    "data": lambda s, data: setattr(s, "data", data),
    "loss": lambda s, loss: setattr(s, "loss_function", loss),
    "batch": lambda s, size: setattr(s, "batch", size),
    "engine": lambda s, name, precision: s.to(name, precision),
    "activation": lambda s, layer, name: s.set_activation(layer, name),
}
