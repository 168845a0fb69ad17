"""Random sequences of commands: the numbers are those of the direct way to the same moment."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import numba
import pytest

from scalarviz.training.session import timeline
from tests.proofs.report import Proof
from tests.proofs.trainings import TRAININGS
from tests.proofs.user import THREADS, User

TIMES = (1e-7, 1e-4, 0.02)  # seconds


class Clock:
    """Stands for the time that a training takes, so that keyframes come where the seed says."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.threads = threading.local()

    def perf_counter(self) -> float:
        mine = self.threads.__dict__
        chance = mine.setdefault("chance", random.Random(self.seed))
        mine["now"] = mine.get("now", 0.0) + chance.choice(TIMES)
        return float(mine["now"])


LENGTH = 24  # things that are done before it is compared; twice in each sequence


@pytest.mark.slow
def test_random_sequences_against_a_straight_replay(
    proof: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count, names = proof.count(300), list(TRAININGS)
    begun: Counter[str] = Counter()
    done = branches = 0
    try:
        for seed in range(count):
            name = names[seed % len(names)]
            monkeypatch.setattr(timeline, "time", Clock(seed))
            user = User(TRAININGS[name], seed, tmp_path)
            begun[user.engine] += 1
            for _ in range(2):
                try:
                    user.live(LENGTH)
                    user.check()
                except Exception as error:
                    error.add_note(f"sequence {seed}, {name} on {user.engine}: {user.story()}")
                    raise
            done, branches = done + len(user.done), branches + len(user.courses)
    finally:
        numba.set_num_threads(THREADS)
    proof.seeds = f"0 to {count - 1}"
    proof.tried = [
        f"{count} sequences of {done:,} things that a user can do, with {branches:,} branches",
        "networks: " + ", ".join(names),
        "begun on " + ", ".join(f"{engine} ({n})" for engine, n in sorted(begun.items())),
    ]
    proof.found = [f"every bit is that of the straight way, replayed on 1 and on {THREADS} threads"]
