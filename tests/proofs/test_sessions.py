"""Sessions under random commands: in sequence, from four threads, and for many minutes."""

from __future__ import annotations

import json
import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numba
import pytest

import scalarviz as sv
from scalarviz.training.session import timeline
from scalarviz.training.session.branches import EXACT
from tests.machine import ended, output_of, traced_memory
from tests.proofs.at_once import STUCK as STUCK_CROWD
from tests.proofs.at_once import THREADS as CROWD_THREADS
from tests.proofs.report import Proof
from tests.proofs.soak import COUNTED, SPEED, STUCK
from tests.proofs.user import THREADS, TRAININGS, User
from tests.sessions import session_on

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


@pytest.fixture
def lived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, int], User]]:
    """A user who has done random things with a training and compared what came out."""

    def live(name: str, seed: int) -> User:
        monkeypatch.setattr(timeline, "time", Clock(seed))
        user = User(TRAININGS[name], seed, tmp_path)
        for _ in range(2):
            try:
                user.live(LENGTH)
                user.check()
            except Exception as error:
                error.add_note(f"sequence {seed}, {name} on {user.engine}: {user.story()}")
                raise
        return user

    yield live
    numba.set_num_threads(THREADS)


@pytest.mark.some("colours", "batch norm and dropout", "expression")
@pytest.mark.parametrize("name", TRAININGS)
def test_whatever_a_user_does_leads_where_the_straight_way_leads(
    lived: Callable[[str, int], User], name: str
) -> None:
    for seed in range(30, 33):
        lived(name, seed)


@pytest.mark.slow
def test_random_sequences_against_a_straight_replay(
    proof: Proof, lived: Callable[[str, int], User]
) -> None:
    count, names = proof.count(300), list(TRAININGS)
    begun: Counter[str] = Counter()
    done = branches = 0
    for seed in range(count):
        user = lived(names[seed % len(names)], seed)
        begun[user.engine] += 1
        done, branches = done + len(user.done), branches + len(user.courses)
    proof.seeds = f"0 to {count - 1}"
    proof.tried = [
        f"{count} sequences with {done:,} user actions and {branches:,} branches",
        "networks: " + ", ".join(names),
        "started on " + ", ".join(f"{engine} ({n})" for engine, n in sorted(begun.items())),
    ]
    proof.found = [f"every bit equals a direct replay on 1 and on {THREADS} threads"]


AT_ONCE_SEED = 6
SHOWN = 20  # of what went wrong


@pytest.mark.slow
def test_threads_at_one_session(proof: Proof, tmp_path: Path) -> None:
    seconds = proof.count(60)
    words = "-m", "tests.proofs.at_once", str(seconds), str(AT_ONCE_SEED), str(tmp_path)
    done = ended(*words, seconds=seconds + 2 * STUCK_CROWD)
    found = json.loads(done.stdout.splitlines()[-1])
    wrong = found["wrong"]
    assert not wrong, f"{len(wrong)} of {found['calls']} calls:\n" + "\n".join(wrong[:SHOWN])
    assert not done.stderr or "Traceback" not in done.stderr, done.stderr[-5000:]
    proof.seeds = str(AT_ONCE_SEED)
    proof.tried = [
        f"{CROWD_THREADS} threads with {found['calls']:,} public calls in {seconds} s, "
        f"{found['branches']:,} branches"
    ]
    proof.found = [
        f"{found['refused']:,} calls refused with an error message, no other error, nothing left "
        "running, every bit equals a direct replay and the saved file"
    ]


SOAK_SEED = 8
SECONDS = 600  # PROOFS_SHARE=0.1 makes it a minute


@pytest.mark.slow
def test_soak(proof: Proof, tmp_path: Path) -> None:
    seconds = proof.count(SECONDS)
    words = "-m", "tests.proofs.soak", str(seconds), str(SOAK_SEED), str(tmp_path)
    said = output_of(*words, env={**os.environ, **COUNTED}, seconds=seconds + 2 * STUCK)
    found = json.loads(said.splitlines()[-1])
    assert not found["wrong"], f"{found['wrong']}: {found}"
    proof.seeds = str(SOAK_SEED)
    proof.tried = [
        f"{seconds} s of a session that plays {SPEED:g} steps per second on cpu: "
        f"{found['steps']:,} steps, {found['branches']} branches",
        ", ".join(f"{name} ({count:,})" for name, count in found["done"].items()),
    ]
    memory = ", ".join(
        f"memory {name} {early / 2**20:.0f} MiB in the second fifth and {late / 2**20:.0f} MiB "
        "in the last"
        for name, (early, late) in found["memory"].items()
    )
    proof.found = [
        f"{memory}, {found['threads']} threads throughout",
        "at the end, every bit equals a direct replay",
    ]
    if not found["pictures"]:
        proof.found.append("no pictures, since there is no OpenGL here")


@pytest.mark.slow
def test_a_training_of_millions_of_steps_keeps_no_more_than_one_of_two() -> None:
    s = session_on(
        sv.data.Xor(), [2, 2, 1], "tanh", first=2, optimizer=sv.SGD(0.01), engine="cpu",
        memory=2**20,
    )  # fmt: skip
    s.advance(2 * EXACT + 1, progress=False)
    with traced_memory() as memory:
        before = memory()[0]
        s.advance(3 * EXACT, progress=False)
        s.current_branch.curve()
        after, most = memory()
    # Two times EXACT losses came into being meanwhile, and the room of as many before was freed.
    assert after - before < 17 * 2**20 and most - before < 50 * 2**20
    assert len(s.losses) == 5 * EXACT + 1
