"""Compiling kernels in another process, so that a window can be open meanwhile.

    python -m scalarviz.desk.warm float32 float64 replicas

compiles all that the cpu engine needs for these working types, and what many networks side by side
need besides, and notes on disk that it did.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, final

from scalarviz.apps import children
from scalarviz.bank import Dtype
from scalarviz.engines import kernel_file
from scalarviz.engines.cpu_work import TEMPLATE
from scalarviz.layers import Dense, LayerNorm
from scalarviz.network import Network
from scalarviz.optimizer import SGD
from scalarviz.replicas import replicate
from scalarviz.session import Session

COMMAND = ("-m", "scalarviz.desk.warm")
LIGHT = 3e5  # multiplications a step, up to which objects are quick enough until then
SAID = "The kernels are being compiled, once on this machine; until then the objects do the work"
DONE = "The kernels are ready: from now on the cpu engine does the work"


def mark_of(dtype: Dtype) -> Path:
    return kernel_file.compiled_mark(TEMPLATE, dtype)


def mark_of_replicas() -> Path:
    return mark_of("float32").with_suffix(".replicas")


def compile_all(dtype: Dtype) -> None:
    """Take each kind of step once, whole and operation by operation."""
    for batch in (1, 8):
        layers = [Dense(2, 3, "tanh"), LayerNorm(3), Dense(3, 1, "sigmoid")]
        network = Network(layers, dtype=dtype)
        data = [[0.0, 1.0]] * 8, [[1.0]] * 8
        session = Session(network, data, "mse", SGD(0.1), batch=batch, engine="cpu")
        session.advance(2)
        session.advance(len(session.operations), "operation")
        network([[0.0, 1.0]] * 200)
    wide = [[0.0] * 64] * 128  # worth two cores
    Session(Network([64, 64], dtype=dtype), (wide, wide), "mse", SGD(0.1), engine="cpu").advance(1)
    mark_of(dtype).touch()


def compile_replicas() -> None:
    """Take a step of two networks side by side."""
    session = Session(Network([2, 3, 1], "tanh"), ([[0.0, 1.0]] * 4, [[1.0]] * 4), engine="cpu")
    replicate(session, seeds=range(2)).advance(1)
    mark_of_replicas().touch()


@final
class Warming:
    """A child that compiles for a session; while it works, the session runs on its objects.

    waits  whether the session is too large for that, and stands still until then
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.waits = False
        self._child: Any = None
        network = session.network
        if session.engine != "cpu" or not hasattr(network, "layers"):
            return
        dtype = network.bank.dtype
        if mark_of(dtype).exists():
            return
        try:
            self._child = children.start([*COMMAND, dtype])
        except OSError:  # then it is compiled when it is needed, as ever
            return
        self.waits = len(network.bank) * session.course.trainer.batches.size > LIGHT
        if not self.waits:
            session.to("python")

    @property
    def going_on(self) -> bool:
        """Whether the child still works."""
        return self._child is not None and self._child.poll() is None

    def attend(self) -> bool:
        """Whether the child has ended just now; the session is on its engine again then."""
        if self._child is None or self.going_on:
            return False
        self._child = None
        self.waits = False
        if self.session.engine == "python":
            self.session.to("cpu")
        return True

    def wait(self) -> None:
        """Until the child has ended."""
        if self._child is not None:
            self._child.wait()

    def stop(self) -> None:
        """Nobody waits for it any more."""
        if self._child is not None:
            children.end(self._child)
        self._child = None


if __name__ == "__main__":
    for kind in sys.argv[1:] or ["float32"]:
        if kind == "replicas":
            compile_replicas()
        else:
            compile_all("float64" if kind == "float64" else "float32")
