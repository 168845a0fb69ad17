"""Four threads that call random methods of one session, for some time.

    python -m tests.proofs.at_once SECONDS SEED FOLDER

The last line is JSON: how many calls there were, how many of them were refused, and what should not
have been.
"""

from __future__ import annotations

import faulthandler
import json
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from tests.proofs.user import OPTIMIZERS, TRAININGS, by_journal, differences
from tests.sessions import bits

THREADS = 4
FARTHEST = 20_000  # steps; who is beyond goes back, so that a replay at the end is short
TRAINING = TRAININGS["colours"]
STUCK = 120.0  # seconds after the end of time
COMPARED = 20  # branches

Call = Callable[[sv.Session, random.Random, Path], Any]


def rows(chance: random.Random) -> list[int]:
    return chance.sample(range(40), chance.randint(1, 3))


def back_a_little(s: sv.Session, chance: random.Random, _: Path) -> None:
    if s.step_index > FARTHEST:
        s.reset()
    else:
        s.back(chance.randint(1, 200))


def read(s: sv.Session, chance: random.Random, _: Path) -> None:
    """Whatever can be read at any time."""
    snapshot = s.snapshot()
    snapshot.request()
    while not snapshot.ready:
        time.sleep(1e-4)
    assert np.isfinite(snapshot.read().value).all()
    assert repr(s) and s._repr_html_() and s.operations and s.epoch >= 0.0
    assert s.loss is not None and s.learning_rate >= 0.0 and s.done is not None and s.phase
    len(s.losses), s.current_branch.curve(), repr(s.data), s.playing, s.pinned


def write(s: sv.Session, chance: random.Random, _: Path) -> None:
    s.network.weight(chance.randrange(40)).value = chance.gauss(0.0, 0.3)


def keep(s: sv.Session, chance: random.Random, folder: Path) -> None:
    path = folder / f"run {threading.get_ident()}"
    s.save(path)
    sv.Session.load(path).advance(2)


def exchange(s: sv.Session, chance: random.Random, _: Path) -> None:
    """Take two steps on the slow engine, then return to the quick one."""
    s.to("python", "full")
    s.advance(2)
    s.to("cpu")


CALLS: list[Call] = [
    lambda s, chance, _: s.advance(chance.randint(1, 30)),
    lambda s, chance, _: s.advance(chance.randint(1, 20), "operation"),
    lambda s, chance, _: s.advance(1, "phase"),
    lambda s, chance, _: s.back(chance.randint(1, 20), "operation"),
    back_a_little,
    back_a_little,
    lambda s, chance, _: s.seek(chance.randint(0, s.step_index)),
    lambda s, chance, _: s.play(chance.choice([None, 50.0, 2000.0])),
    lambda s, chance, _: s.play(chance.choice([None, 300.0]), "operation"),
    lambda s, *_: s.pause(),
    lambda s, *_: s.pause(),
    lambda s, chance, _: s.edit(rows(chance), chance.gauss(0.0, 0.3)),
    lambda s, chance, _: s.freeze(rows(chance), chance.random() < 0.5),
    lambda s, chance, _: setattr(s, "learning_rate", chance.uniform(0.0, 0.02)),
    lambda s, chance, _: setattr(s, "optimizer", chance.choice(OPTIMIZERS)()),
    lambda s, chance, _: setattr(s, "data", chance.choice(TRAINING.sets)()),
    lambda s, chance, _: setattr(s, "loss_function", chance.choice(TRAINING.losses)),
    lambda s, chance, _: setattr(s, "batch", chance.choice([None, 1, 5, 8])),
    lambda s, chance, _: s.set_activation(0, chance.choice(["tanh", "relu", "sin"])),
    lambda s, chance, _: s.to("cpu", chance.choice(["full", "mixed"])),
    lambda s, chance, _: s.switch(chance.choice(s.branches)),
    lambda s, *_: s.branch(),
    lambda s, chance, _: s.numbers(chance.choice(["affine 0", "affine 1"])),
    lambda s, chance, _: s.explain(chance.randrange(40)),
    lambda s, chance, _: s.caption(chance.randrange(40)),
    lambda s, *_: sv.replicate(s, range(2)).advance(2),
    lambda s, *_: s.reset(),
    exchange,
    lambda s, chance, _: s.pin(rows(chance), chance.random() < 0.5),
    lambda s, chance, _: [s.history(row) for row in s.pinned[:2]],
    lambda s, chance, _: setattr(s, "focus", chance.randrange(8)),
    lambda s, *_: s.copy().advance(3),
    write,
    keep,
    read,
    read,
]


class Crowd:
    """Threads that call at random until the time is over."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.s = TRAINING.session("cpu", 2**20)
        self.seed = seed
        self.folder = folder
        self.calls = self.refused = 0
        self.wrong: list[str] = []
        self.lock = threading.Lock()

    def live(self, number: int, end: float) -> None:
        chance = random.Random(f"{self.seed} {number}")
        while time.monotonic() < end:
            call, refused, wrong = chance.choice(CALLS), 0, ""
            try:
                call(self.s, chance, self.folder)
            except sv.ScalarvizError:
                refused = 1
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{Path(last.filename).name}, line {last.lineno}"
                wrong = f"{type(error).__name__} in {place}: {error}"
            with self.lock:
                self.calls += 1
                self.refused += refused
                if wrong:
                    self.wrong.append(wrong)

    def check(self) -> None:
        """Nothing is left running, and the numbers are those of the straight way."""
        s = self.s
        while s.playing:
            try:
                s.pause()
            except sv.ScalarvizError:
                self.refused += 1
        for row in s.pinned:
            s.history(row, wait=True)
        others = [each.name for each in threading.enumerate()[1:]]
        if others:
            self.wrong.append(f"still running: {others}")
        with s.doing():  # what was written at the end is noticed
            before = bits(s)
        self.compare()
        place, path = s.clock.place, self.folder / "run at the end"
        s.save(path)
        wrong = differences(s, sv.Session.load(path))
        if wrong or bits(s) != before:
            self.wrong.append(f"{wrong} at {place} are not those that were saved")

    def compare(self) -> None:
        """Compare this moment and the ends of some branches with the straight way."""
        s, chance = self.s, random.Random(self.seed)
        here = s.current_branch, s.clock
        others = chance.sample(s.branches, min(COMPARED, len(s.branches)))
        for branch, clock in [here, *[(each, each.end) for each in others], here]:
            s.switch(branch)
            with s.doing():
                s.timeline.go(clock)
            straight = TRAINING.session("cpu", 2**20)
            by_journal(straight, branch, clock)
            if wrong := differences(s, straight):
                self.wrong.append(f"{wrong} at {clock.place} are not those of the straight way")


def main(seconds: str, seed: str, folder: str) -> None:
    crowd = Crowd(int(seed), Path(folder))
    end = time.monotonic() + float(seconds)
    faulthandler.dump_traceback_later(float(seconds) + STUCK, exit=True)
    threads = [threading.Thread(target=crowd.live, args=(number, end)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    crowd.check()
    found = {
        "calls": crowd.calls, "refused": crowd.refused, "wrong": crowd.wrong,
        "branches": len(crowd.s.branches), "steps": crowd.s.step_index,
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
