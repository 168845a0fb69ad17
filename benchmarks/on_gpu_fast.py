"""Speed of the cuda engine on a GPU, after the first minute: parts of `on_gpu`."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.on_gpu import tell
from benchmarks.on_gpu_first import (
    BATCH,
    MAIN,
    PATHS,
    SMALL,
    WIDE,
    Ours,
    Steps,
    adam,
    by_torch,
    case_of,
    compare,
    graph,
    kernels,
    launches,
    network,
    on_cpu,
    samples,
    there,
)
from benchmarks.on_gpu_machine import SIMULATED
from benchmarks.on_gpu_right import command, digest, tool_of_nvidia
from benchmarks.rivals import jax_update
from benchmarks.sides import seconds_of

# Sizes, and the batch: of the second one the bank has 4 million rows, 84 MB with Adam's slots.
HELD = [(MAIN, BATCH)] if SIMULATED else [(MAIN, BATCH), ([12, 2048, 2048, 3], 256)]
PLAYED = 0.2 if SIMULATED else 1.0  # seconds
FRAME = 1 / 60
WAYS = "nobody looks", "60 snapshots a second"
DECIBELS = 10.0 if SIMULATED else 21.0
# Of a launch: duration, instructions, share of cycles in which one was issued, bytes of the L2.
TIME = "gpu__time_duration.sum"
METRICS = (
    "gpu__time_duration.sum,sm__inst_executed.sum,lts__t_bytes.sum,"
    "smsp__issue_active.avg.pct_of_peak_sustained_active"
)


def growth() -> None:
    """A step of ours over sizes of batches and widths, on every path and on the cpu engine."""
    shapes = [(MAIN, 4**i) for i in range(2 if SIMULATED else 9)]
    if not SIMULATED:
        shapes += [([16, width, width, width, 3], 256) for width in (16, 64, 256, 1024, 2048)]
    for sizes, batch in shapes:
        compare("growth", {"default": Ours, **PATHS, "engine cpu": on_cpu}, sizes, batch)


def session_of(sizes: list[int], batch: int) -> Any:
    import scalarviz as sv

    data = sv.data.Arrays(*samples(sizes, 4 * batch))
    return sv.Session(network(sizes), data, "mse", adam(), batch=batch, engine="cuda")


def held() -> None:
    """Milliseconds a step of each way; and that the numbers are the same."""
    for sizes, batch in HELD:
        sessions = {way: session_of(sizes, batch) for way in WAYS}
        for way, session in sessions.items():
            session.advance(3, progress=False)
            steps, late = zip(*(played(session, way) for _ in range(3)), strict=True)
            arrived = sorted(each for some in late for each in some)
            waited = {"ms_to_arrive": [arrived[len(arrived) // 2], arrived[-1]]} if arrived else {}
            tell("held", sizes=sizes, way=way, ms=round(statistics.median(steps), 5), **waited)
        last = min(session.step_index for session in sessions.values())
        for session in sessions.values():
            session.seek(last)
        found = {digest(session.network.bank) for session in sessions.values()}
        tell("held", sizes=sizes, step=last, good=len(found) == 1)


def played(session: Any, way: str) -> tuple[float, list[float]]:
    """Play for some seconds: milliseconds a step, and those until each snapshot arrived."""
    shot, arrived = session.snapshot(), []
    first, start = session.step_index, time.perf_counter()
    session.play()
    while (now := time.perf_counter()) < start + PLAYED:
        if way == WAYS[1]:
            shot.request()
            while not shot.ready:
                time.sleep(1e-4)
            arrived.append(round(1e3 * (time.perf_counter() - now), 3))
            shot.read()
        time.sleep(max(0.0, now + FRAME - time.perf_counter()))
    session.pause()
    seconds = time.perf_counter() - start
    return 1e3 * seconds / max(1, session.step_index - first), arrived


def texture_of(seed: int) -> Any:
    """A training of a picture."""
    import scalarviz as sv
    from benchmarks.cases import picture, texture_session

    if not SIMULATED:
        session = texture_session(picture(), seed)
        session.to("cuda")
        return session
    net = sv.Network([sv.FrequencyEncoding(2, octaves=1), sv.Dense(4, 3, "sigmoid")], seed=seed)
    loss, task = sv.Loss("mse", mean="samples"), sv.data.Texture(np.full((4, 4, 3), 0.4))
    return sv.Session(net, task, loss, sv.Adam(0.1), batch=4, engine="cuda", seed=seed)


def texture() -> None:
    """Seconds of training until a picture is learnt to 21 dB; the PSNR is not timed."""
    from scalarviz import data

    many = 2 if SIMULATED else 250
    texture_of(0).advance(many, progress=False)  # loads the kernels
    for seed in range(1 if SIMULATED else 3):
        session, spent, decibels = texture_of(seed), 0.0, 0.0
        points, colors = session.data.pixels()
        while decibels < DECIBELS and session.step_index < 80 * many:
            spent += seconds_of(session.advance, many, progress=False)
            decibels = float(data.psnr(session.network(points), colors))
        about = {"steps": session.step_index, "seconds": round(spent, 3)}
        tell("texture", decibels=round(decibels, 2), good=decibels >= DECIBELS, seed=seed, **about)


def rivals() -> None:
    """Batch norm by a graph and without, other ways of PyTorch, and JAX."""
    for name, make in {"a graph": kernels, "single launches": launches}.items():
        compare("rivals", {f"batch norm, {name}": partial(make, norm=True)}, MAIN, BATCH)
    if there("rivals", "torch"):
        backend = "eager" if SIMULATED else "inductor"  # whose compiler takes a minute
        sides = {
            "PyTorch eager, fused Adam": partial(by_torch, fused=True),
            "PyTorch graph, plain Adam": partial(by_torch, graph=True),
            "PyTorch graph, compiled": partial(graph, compiled=backend),
        }
        compare("rivals", sides, MAIN, BATCH)
    if there("rivals", "jax"):
        for sizes, batch in ((MAIN, BATCH), (SMALL, 32), (WIDE, BATCH)):
            compare("rivals", {"JAX loop": by_jax}, sizes, batch)


def by_jax(sizes: list[int], batch: int) -> Steps:
    """JAX: all steps in one call. It may round factors to tf32, to its advantage."""
    import jax

    update, state = jax_update(case_of(sizes, batch), batch)
    loop = jax.jit(
        lambda state, count: jax.lax.fori_loop(0, count, lambda _, each: update(each), state)
    )

    def steps(count: int) -> None:
        nonlocal state
        state = jax.block_until_ready(loop(state, count))

    return steps


def profile() -> None:
    """The second launch of a step, and of each kernel of one that is wide, by Nsight Compute.

    What a card forbids is no error.
    """
    tool = tool_of_nvidia("profile", "ncu")
    if tool:
        for step, metrics, most in (("one_step", METRICS, "5"), ("wide_step", TIME, "100")):
            words = [tool, "--clock-control", "none", "-k", "regex:train|_all|_grad|sum|draw|look"]
            words += ["-c", most, "--csv", "--metrics", metrics, *command(step)]
            done = subprocess.run(words, capture_output=True, text=True)
            rows = [line.split('","') for line in (done.stderr + done.stdout).splitlines()]
            # The kernel's name without its types, the metric, its unit, and what was measured.
            found = [[row[4].partition("[")[0], *row[-3:]] for row in rows if len(row) > 9]
            tell("profile", what=step, lines=[" ".join(row).strip('"') for row in found])


def watched(make: Any, sizes: Sequence[int]) -> None:
    """What the profile watches: two steps."""
    ours = make(sizes, BATCH)
    for _ in range(2):
        ours(1)


one_step, wide_step = partial(watched, Ours, MAIN), partial(watched, launches, WIDE)
