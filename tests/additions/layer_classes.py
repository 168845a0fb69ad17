"""Layers as users write them, who do not say how they lower, and sessions that train them."""

from collections.abc import Callable
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import data

X = np.random.default_rng(0).normal(size=(300, 2))
Y = np.sin(3.0 * X[:, :1]) * X[:, 1:]


class Radial(sv.Layer):
    """y[j] = exp(-|x - c[j]|**2), with centres c that are learned."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, parameters={"centres": (outputs, inputs)})

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}

    def forward_rows(self, batch: Any) -> Any:
        away = np.array(batch)[:, None] - self.parameter("centres").value
        y = np.exp(-np.square(away).sum(axis=2))
        self.kept.append((away, y))
        return y

    def backward_rows(self, upstream: Any) -> Any:
        away, y = self.kept.pop()
        pull = 2.0 * away * (upstream * y)[..., None]
        self.parameter("centres").grad += pull.sum(axis=0)
        return -pull.sum(axis=1)


class Sines(sv.Layer):
    """y = sin(W x + b), parameters as Dense has them."""

    def __init__(self, inputs: int, outputs: int) -> None:
        shapes = {"weight": (outputs, inputs), "bias": (outputs,)}
        super().__init__(inputs, outputs, parameters=shapes)

    def settings(self) -> dict[str, Any]:
        return {"inputs": self.inputs, "outputs": self.outputs}

    def forward_rows(self, batch: Any) -> Any:
        x = np.array(batch)
        z = x @ self.parameter("weight").value.T + self.parameter("bias").value
        self.kept.append((x, z))
        return np.sin(z)

    def backward_rows(self, upstream: Any) -> Any:
        x, z = self.kept.pop()
        delta = upstream * np.cos(z)
        self.parameter("weight").grad += delta.T @ x
        self.parameter("bias").grad += delta.sum(axis=0)
        return delta @ self.parameter("weight").value


class Scaled(sv.Layer):
    """y = x times a number that is a setting and that a user changes; no parameters."""

    def __init__(self, features: int, factor: float = 2.0) -> None:
        super().__init__(features, features)
        self.factor = factor

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs, "factor": self.factor}

    def forward_rows(self, batch: Any) -> Any:
        return [[self.factor * x for x in sample] for sample in batch]

    def backward_rows(self, upstream: Any) -> Any:
        return [[self.factor * g for g in sample] for sample in upstream]


class Odd(Scaled):
    """y = x times two numbers for each feature, and one for all."""

    def __init__(self, features: int) -> None:
        sv.Layer.__init__(self, features, features, parameters={"pair": (2, features), "all": ()})

    def settings(self) -> dict[str, Any]:
        return {"features": self.inputs}

    def forward_rows(self, batch: Any) -> Any:
        self.kept.append(np.array(batch))
        (a, b), every = self.parameter("pair").value, self.parameter("all").value
        return self.kept[-1] * a * b * every

    def backward_rows(self, upstream: Any) -> Any:
        g, (a, b), every = upstream, self.parameter("pair").value, self.parameter("all").value
        gx = upstream * self.kept.pop()
        self.parameter("pair").grad += np.sum([gx * b * every, gx * a * every], axis=1)
        self.parameter("all").grad += (gx * a * b).sum()
        return g * (a * b * every)


class Trouble(Scaled):
    """Does what `act` does at its n-th forward in training of many samples, n counting from 1."""

    act: Callable[[], object] = staticmethod(int)
    at, count = 0, 0

    def forward_rows(self, batch: Any) -> Any:
        Trouble.count += 1
        if Trouble.count == Trouble.at:
            Trouble.act()
        return super().forward_rows(batch)


def radial() -> list[sv.Layer]:
    return [sv.Dense(2, 4, "tanh"), Radial(4, 6), sv.Dense(6, 1)]


def twice() -> list[sv.Layer]:
    shared = Radial(3, 3)
    return [sv.Dense(2, 3), shared, sv.Dense(3, 3), shared, sv.Dense(3, 1)]


PLACES: dict[str, Callable[[], list[sv.Layer]]] = {
    "between": radial,
    "first": lambda: [Radial(2, 5), sv.Dense(5, 1)],
    "with biases": lambda: [sv.Dense(2, 3), Sines(3, 4), sv.Dense(4, 1)],
    "of other shapes": lambda: [sv.Dense(2, 3), Odd(3), sv.Dense(3, 1)],
    "last": lambda: [sv.Dense(2, 3), Radial(3, 1)],
    "in a residual": lambda: [sv.Residual(sv.Dense(2, 3), Radial(3, 2)), sv.Dense(2, 1)],
    "in branches": lambda: [sv.Product(Radial(2, 3), sv.Dense(2, 3)), sv.Dense(3, 1)],
    "used twice": twice,
    "without parameters": lambda: [sv.Dense(2, 3), Scaled(3), sv.Dense(3, 1)],
    "alone": lambda: [Scaled(2, 0.5), sv.Dense(2, 1)],
    "before a batch norm": lambda: [Radial(2, 5), sv.BatchNorm(5), sv.Dense(5, 1)],
}


def session(engine: str, *layers: sv.Layer, batch: int = 16, **options: Any) -> sv.Session:
    net = sv.Network([*(layers or radial())], seed=1, dtype=options.pop("dtype", "float64"))
    samples = data.Arrays(X, Y)
    return sv.Session(net, samples, "mse", sv.Momentum(0.1), batch=batch, engine=engine, **options)


def same_bits(a: sv.Session, b: sv.Session) -> bool:
    return a.network.bank.value.tobytes() == b.network.bank.value.tobytes()


def raw(value: Any) -> Callable[[Any, Any], Any]:
    return lambda self, rows: value
