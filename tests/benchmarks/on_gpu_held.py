"""What it costs to look at a training on a GPU: the part `held` of `on_gpu`.

A session plays in the background: nobody looks; somebody takes 60 snapshots a second; and, for
comparison, the bank is copied to the host after each portion. Milliseconds a step of each, taken in
turn, and how long a snapshot takes to arrive.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from scalarviz.model.away import Away
from tests.benchmarks.on_gpu import adam, digest, network
from tests.benchmarks.on_gpu_machine import SIMULATED, Tell

# Sizes, and the batch: of the second one the bank has 4 million rows, 84 MB with Adam's slots.
NETWORKS = (
    [([3, 5, 2], 7)] if SIMULATED else [([12, 64, 64, 64, 64, 3], 1024), ([12, 2048, 2048, 3], 256)]
)
SECONDS = 0.2 if SIMULATED else 1.0
ROUNDS = 1 if SIMULATED else 3
FRAME = 1 / 60
WAYS = "nobody looks", "60 snapshots a second", "copied after each portion"


class AtHome(Away):  # type: ignore[misc]  # final, but for this
    """Numbers that no engine may leave on a device."""

    allowed = property(lambda self: False, lambda self, on: None)  # type: ignore[assignment]  # of another kind


def session_of(sizes: list[int], batch: int, engine: str = "cuda") -> Any:
    import scalarviz as sv

    rng = np.random.default_rng(0)
    pair = rng.random((4 * batch, sizes[0])), rng.random((4 * batch, sizes[-1]))
    net = network(sizes, "float32")
    return sv.Session(net, sv.data.Arrays(*pair), "mse", adam(), batch=batch, engine=engine)


def played(session: Any, way: str) -> tuple[float, list[float]]:
    """Play for some seconds: milliseconds a step, and those until each snapshot arrived."""
    shot, arrived = session.snapshot(), []
    first, start = session.step_index, time.perf_counter()
    session.play()
    while (now := time.perf_counter()) < start + SECONDS:
        if way == WAYS[1]:
            shot.request()
            while not shot.ready:
                time.sleep(1e-4)
            arrived.append(1e3 * (time.perf_counter() - now))
            shot.read()
        time.sleep(max(0.0, now + FRAME - time.perf_counter()))
    session.pause()
    seconds = time.perf_counter() - start
    return 1e3 * seconds / max(1, session.step_index - first), arrived


def held(tell: Tell) -> bool:
    """Milliseconds a step of each way; and that the numbers are those of a plain run."""
    good = True
    for sizes, batch in NETWORKS:
        sessions = {way: session_of(sizes, batch) for way in WAYS}
        sessions[WAYS[2]].network.bank.away = AtHome()
        for session in sessions.values():
            session.advance(3, progress=False)
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        late: list[float] = []
        for _ in range(ROUNDS):
            for way, session in sessions.items():
                milliseconds, arrived = played(session, way)
                found[way].append(milliseconds)
                late += arrived
        for way, each in found.items():
            tell("held", network=sizes, way=way, ms_a_step=[round(ms, 5) for ms in sorted(each)])
        median = round(statistics.median(late), 3)
        worst = round(max(late), 3)
        tell("held", network=sizes, snapshots=len(late), ms_to_arrive=median, worst=worst)
        last = min(session.step_index for session in sessions.values())
        digests = []
        for session in sessions.values():
            session.seek(last)
            digests.append(digest(session.network.bank))
        same = len(set(digests)) == 1
        good = good and same
        tell("held", network=sizes, step=last, digests=digests, good=same)
    return good
