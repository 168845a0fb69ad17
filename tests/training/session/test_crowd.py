"""Threads that call random methods of one session: the result is consistent."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.errors import ScalarvizError
from scalarviz.training.session.branches import Branch
from scalarviz.training.session.timeline import Timeline
from scalarviz.training.session.trainer import Trainer
from tests.sessions import advanced
from tests.training.session.test_session import COLOURS, PAIR, session
from tests.training.session.test_threads import ours
from tests.waiting import until

THREADS = 4
PATIENCE = 120.0  # seconds more at most, on a busy machine
FURTHEST = 400  # steps; a straight replay of every branch must not take long
UNITS = ("operation", "phase", "step", "epoch")

Random = np.random.Generator
Deed = Callable[[sv.Session, Random, Path], object]


def count(rng: Random, most: int = 4) -> int:
    return int(rng.integers(1, most))


def row(rng: Random) -> int:
    return int(rng.integers(59))


def advance(s: sv.Session, rng: Random, path: Path) -> None:
    if s.step_index > FURTHEST:
        s.seek(int(rng.integers(FURTHEST)))
    s.advance(count(rng, 30), str(rng.choice(UNITS[:3])))  # type: ignore[arg-type]  # one of the units


def play(s: sv.Session, rng: Random, path: Path) -> None:
    s.play((50.0, 300.0, 2000.0)[rng.integers(3)], ("operation", "step")[rng.integers(2)])


def to(s: sv.Session, rng: Random, path: Path) -> None:
    s.to(("python", "cpu")[rng.integers(2)])


def set_data(s: sv.Session, rng: Random, path: Path) -> None:
    s.data = PAIR if rng.integers(2) else (COLOURS, COLOURS[:, ::-1])


def save(s: sv.Session, rng: Random, path: Path) -> None:
    s.save(path / f"{threading.get_ident()}.safetensors")


def read(s: sv.Session, rng: Random, path: Path) -> None:
    shot = s.snapshot()
    shot.request()
    assert not shot.ready or shot.read().value.shape == (59,)
    assert np.isfinite(s.snapshot().read().value).all()


def look(s: sv.Session, rng: Random, path: Path) -> None:
    repr(s), s._repr_html_(), s.branches, repr(s.current_branch), s.current_branch.curve(20)
    s.loss, s.losses, s.done, s.next, s.phase, s.operations, s.epoch, s.clock, s.pinned  # noqa: B018
    s.learning_rate, s.optimizer, s.data, s.engine, s.playing, s.focus  # noqa: B018


def copied(s: sv.Session, rng: Random, path: Path) -> None:
    s.copy().advance(2)


DEEDS: dict[str, Deed] = {
    "advance": advance,
    "back": lambda s, rng, path: s.back(count(rng), str(rng.choice(UNITS))),  # type: ignore[arg-type]  # one of the units
    "seek": lambda s, rng, path: s.seek(int(rng.integers(max(1, s.step_index)))),
    "reset": lambda s, rng, path: s.reset(),
    "edit": lambda s, rng, path: s.edit([row(rng), row(rng)], rng.normal()),
    "write": lambda s, rng, path: setattr(s.network.parameters()[row(rng)], "value", rng.normal()),
    "freeze": lambda s, rng, path: s.freeze(row(rng), bool(rng.integers(2))),
    "pin": lambda s, rng, path: s.pin(row(rng), bool(rng.integers(3))),
    "history": lambda s, rng, path: s.history(row(rng), wait=bool(rng.integers(2))),
    "branch": lambda s, rng, path: s.branch() if len(s.branches) < 40 else None,
    "switch": lambda s, rng, path: s.switch(int(rng.integers(len(s.branches)))),
    "play": play,
    "pause": lambda s, rng, path: s.pause((None, 0.0)[rng.integers(2)]),
    "read": read,
    "numbers": lambda s, rng, path: s.numbers(str(rng.choice(["affine 0", "tanh 0", "affine 1"]))),
    "explain": lambda s, rng, path: s.explain(row(rng)),
    "caption": lambda s, rng, path: s.caption(row(rng)),
    "copy": copied,
    "save": save,
    "rate": lambda s, rng, path: setattr(s, "learning_rate", rng.uniform(0.001, 0.02)),
    "optimizer": lambda s, rng, path: setattr(s, "optimizer", sv.Momentum(0.01)),
    "loss": lambda s, rng, path: setattr(s, "loss_function", str(rng.choice(["mse", "mae"]))),
    "batch": lambda s, rng, path: setattr(s, "batch", int(rng.integers(1, 9))),
    "activation": lambda s, rng, path: s.set_activation(0, str(rng.choice(["tanh", "relu"]))),
    "focus": lambda s, rng, path: setattr(s, "focus", int(rng.integers(8))),
    "data": set_data,
    "to": to,
    "look": look,
    "replicas": lambda s, rng, path: sv.replicate(s, range(2)).advance(2),
}
SELDOM = (
    *("save", "copy", "replicas", "reset", "to", "data", "activation", "optimizer", "branch"),
    *("loss", "batch"),
    *("seek", "switch", "edit", "write", "freeze", "rate"),
)


def is_poor(s: sv.Session) -> bool:
    """Whether too few kinds of actions were done, as on a busy machine, to mean much."""
    kinds = {action.kind for branch in list(s.branches) for action in list(branch.journal)}
    return not {"edit", "freeze", "learning rate"} <= kinds or len(s.branches) < 4


def crowd(s: sv.Session, seed: int, seconds: float, path: Path) -> list[str]:
    """What went wrong where it should not, when some threads did anything for some seconds."""
    wrong: list[str] = []
    end = time.perf_counter() + seconds
    often = [*(name for name in DEEDS if name not in SELDOM), *["advance"] * 3, *["play"] * 2]

    def one(number: int) -> None:
        rng = np.random.default_rng([seed, number])
        while time.perf_counter() < end or (is_poor(s) and time.perf_counter() < end + PATIENCE):
            name = str(rng.choice(SELDOM if rng.integers(20) == 0 else often))
            try:
                DEEDS[name](s, rng, path)
            except ScalarvizError:
                pass
            except BaseException as error:
                wrong.append(f"{name}: {error!r}")

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 2.0 * PATIENCE)
        wrong += ["a thread waits for ever"] if thread.is_alive() else []
    try:
        s.pause()
    except ScalarvizError:
        s.pause()
    return wrong


def numbers(timeline: Timeline) -> tuple[Any, ...]:
    bank = timeline.trainer.bank
    slots = [slot.tobytes() for _, slot in sorted(bank.slots.items()) if slot.any()]
    arrays = bank.value.tobytes(), bank.grad.tobytes(), bank.frozen.tobytes(), *slots
    return timeline.clock, str(timeline.loss), bank.step_count, arrays


def straight(s: sv.Session) -> list[tuple[Any, ...]]:
    """The end of every branch, by its journal alone: from step 0, without keyframes or losses."""
    timeline, start = s.timeline, s.timeline.branches[0].frames[0]
    trainer = timeline.trainer
    twin = Timeline(Trainer(s.network.copy(), start.settings, trainer.seed), 2**40)
    made: dict[Branch, Branch] = {}
    ends = []
    for branch in timeline.branches:
        parent = made.get(branch.parent) if branch.parent else None
        made[branch] = Branch(branch.number, parent, branch.fork, branch.journal, branch.end)
        if parent is None:
            made[branch].frames = [start]
        twin.branch = made[branch]
        twin.restore(0)
        twin.forward(branch.end)
        ends.append((numbers(twin), made[branch].losses.tobytes()))
        if parent is not None:
            made[branch].frames = []
        else:
            made[branch].frames = [start]
    return ends


def found(s: sv.Session) -> list[tuple[Any, ...]]:
    """The end of every branch, as the session goes there."""
    ends = []
    for branch in s.branches:
        with s.doing():
            s.switch(branch)
            s.timeline.go(branch.end)
        ends.append((numbers(s.timeline), branch.losses.tobytes()))
    return ends


def check(seed: int, seconds: float, path: Path) -> None:
    engine = ("cpu", "python")[seed % 2]
    first = advanced(session(engine, memory=2_000_000), 1)
    first.advance(len(first.network.program.moments), "operation")  # all kernels are compiled
    s = advanced(session(engine, memory=2_000_000), 1)
    assert crowd(s, seed, seconds, path) == []
    assert not is_poor(s)
    assert not s.playing
    assert found(s) == straight(s)
    s.switch(0)
    s.history(0, wait=True)
    until(lambda: not ours())


def test_four_threads_that_do_anything_leave_a_training_that_can_be_replayed(
    tmp_path: Path,
) -> None:
    check(0, 2.0, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_four_threads_that_do_anything_for_longer(seed: int, tmp_path: Path) -> None:
    check(seed, 8.0, tmp_path)
