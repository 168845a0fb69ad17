"""Makes the files that all later versions have to read: python -m tests.kept.make_kept

They are made once, by the version that first writes a format. A later change of the package must
not make them anew.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import scalarviz as sv
from scalarviz import data

FOLDER = Path(__file__).parent
SAMPLES = np.random.default_rng(7).normal(size=(5, 64)).round(3)


def network() -> sv.Network:
    """A network with a layer of nearly every kind."""
    return sv.Network(
        [
            sv.Reshape(64, (1, 8, 8)),
            sv.Conv2d((1, 8, 8), 2, 3, padding=1, activation="relu"),
            sv.MaxPool2d((2, 8, 8)),
            sv.AvgPool2d((2, 4, 4)),
            sv.Flatten((2, 2, 2)),
            sv.BatchNorm(8),
            sv.Residual(sv.Dense(8, 8, "tanh"), sv.LayerNorm(8)),
            sv.RMSNorm(8),
            sv.Activation(8, "gelu"),
            sv.Dropout(8, 0.25),
            sv.FrequencyEncoding(8, octaves=2),
            sv.Dense(32, 3, bias=False),
            sv.Softmax(3),
        ],
        seed=3,
        dtype="float64",
    )


def run() -> sv.Session:
    """A session in which everything was done that a journal can hold."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(24, 3)).round(3), rng.random((24, 2)).round(3)
    layers = [
        sv.Dense(3, 5, "tanh"),
        sv.BatchNorm(5),
        sv.Dropout(5, 0.2),
        sv.Dense(5, 2, "sigmoid"),
    ]
    net = sv.Network(layers, seed=1, dtype="float64")
    s = sv.Session(net, data.Arrays(x, y), "mse", sv.Adam(0.01), 4, "python", 6)
    s.advance(6)
    s.edit(net.weight(3), 0.5)
    s.learning_rate = 0.02
    s.advance(4)
    s.freeze(net.weight(1))
    s.optimizer = sv.Momentum(0.05)
    s.advance(5)
    net.bank.value[7] = -0.25
    s.set_activation(0, "relu")
    s.data = data.Arrays(y @ np.ones((2, 3)), y)
    s.advance(5)
    s.back(8)
    s.edit(net.weight(2), 0.125)
    s.advance(8)
    return s


def moments(s: sv.Session) -> dict[str, np.ndarray]:
    """The weights at every step of each branch: arrays (steps, weights)."""
    found = {}
    for i, branch in enumerate(s.branches):
        s.switch(branch)
        values = []
        for step in range(branch.end.step + 1):
            s.seek(step)
            values.append(np.array(s.network.bank.value))
        found[f"branch {i}"] = np.array(values)
    return found


def main() -> None:
    net = network()
    net.forward(np.random.default_rng(4).normal(size=(16, 64)))  # statistics of BatchNorm
    net.save(FOLDER / "network.safetensors")
    s = run()
    s.save(FOLDER / "run.safetensors")
    np.savez(FOLDER / "expected.npz", outputs=net(SAMPLES), **moments(s))


if __name__ == "__main__":
    main()
