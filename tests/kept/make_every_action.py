"""Makes a run with every kind of action, and links: python -m tests.kept.make_every_action

They are made once, by version 0.2. A later change of the package must not make them anew.
"""

from __future__ import annotations

import contextlib
import platform
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import data
from scalarviz.faces import watch as faces
from scalarviz.faces.cli import commands
from tests.kept.make_kept import FOLDER, moments

RUN = FOLDER / "every_action.safetensors"
EXPECTED = FOLDER / "every_action.npz"
LINKS = (FOLDER / "links.txt").read_text(encoding="utf-8").split("\n")[:-1]
# What computes exponentials: on another one, last bits may differ.
MACHINE = " ".join([platform.machine(), *platform.libc_ver()])


def every_action(engine: str = "python") -> sv.Session:
    """A session with every kind of action, between two steps, within one, and in branches."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(12, 3)).round(3), rng.random((12, 2)).round(3)
    layers = [sv.Dense(3, 4, "relu"), sv.BatchNorm(4), sv.Dense(4, 2)]
    net = sv.Network(layers, seed=1, dtype="float64")
    start = data.Arrays(x, y, input_names=["a", "b", "c"], output_names=["p", "q"])
    s = sv.Session(net, start, "mse", sv.Momentum(0.05), 4, engine, 6, metrics=["mae"], every=2)
    s.set_rate(net.weight(2), 0.01)
    s.stop_when("loss > 50")
    s.advance(3)
    s.edit(net.weight(3), 0.5)
    s.learning_rate = 0.02
    s.freeze("0.bias")
    s.advance(2)
    s.batch = 3
    s.set_activation(0, "leaky_relu(0.2)")
    s.advance(2)
    _in_the_middle_of_a_step(s)
    s.advance(3)
    _other_data(s, x, y)
    s.advance(3)
    s.to("cpu" if engine == "python" else "python")
    s.to(engine)
    s.advance(2)
    s.back(9)
    s.branch("without the step")
    s.loss_function = sv.Loss("huber", factor=0.5)
    s.advance(6)
    s.undo()
    s.edit([0, 1], [0.125, -0.125])
    s.advance(4)
    s.switch(0)
    s.advance(1)
    s.advance(5, "operation")
    return s


def _in_the_middle_of_a_step(s: sv.Session) -> None:
    """Changes within a step: some take effect there, others wait for the next step."""
    net = s.network
    s.advance(5, "operation")
    s.edit(net.weight(8), -0.25)
    s.optimizer = sv.Adam(0.01, schedule=sv.Schedule("step", every=4), l2=1e-3)
    s.freeze("0.bias", False)
    s.batch = None
    s.advance(3, "operation")
    s.set_rate(net.weight(2), None)
    s.advance(1)
    net.bank.value[7] = -0.75  # journalled as an edit
    net.bank.step_count = 2  # and as all numbers
    s.advance(1)


def _other_data(s: sv.Session, x: np.ndarray, y: np.ndarray) -> None:
    s.data = data.Arrays(x[:8] * 2.0, y[:8])
    s.add_samples([[1.0, 0.5, -1.0]], [[0.25, 0.75]])
    s.stop_when()
    s.advance(2)
    s.loss_function = "mae"
    s.optimizer = sv.AdamW(0.02)  # its numbers continue
    s.stop_when("loss rises 3x")


def numbers(s: sv.Session) -> dict[str, np.ndarray]:
    """The numbers at the present moment, and weights and losses at every step of each branch."""
    found = numbers_now(s) | moments(s)
    for i, branch in enumerate(s.branches):
        s.switch(branch)
        s.seek(branch.end.step)
        found[f"losses {i}"] = np.array(s.losses)
    return found


def numbers_now(s: sv.Session) -> dict[str, np.ndarray]:
    """Clock and numbers of the present moment."""
    bank = s.network.bank
    found = {
        "clock": np.array(s.clock),
        "loss": np.array(s.loss),
        "rate": np.array(s.learning_rate),
    }
    return found | {name: np.array(getattr(bank, name)) for name in ("value", "grad", "state")}


def opened(link: str) -> sv.Session:
    """The session of the window that `scalarviz open` shows for a link, in the folder of files."""
    seen: list[sv.Session] = []

    def watch(show: sv.Show, *given: object, **more: object) -> int:
        seen.append(show.session)
        return 0

    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(FOLDER):
        patch.setattr(faces, "watch", watch)
        with pytest.raises(SystemExit) as left:
            commands.obey(["open", link])
        assert left.value.code == 0
    return seen[0]


def main() -> None:
    s = every_action()
    s.save(RUN)
    found: dict[str, Any] = numbers(s)
    for i, link in enumerate(LINKS):
        found |= {f"link {i} {name}": array for name, array in numbers_now(opened(link)).items()}
    np.savez_compressed(EXPECTED, machine=np.array(MACHINE), **found)


if __name__ == "__main__":
    main()
