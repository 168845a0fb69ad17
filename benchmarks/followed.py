"""Overhead of following a PyTorch training run, and the size of its record.

    python -m benchmarks followed [rounds] [--long]
    python -m benchmarks.sides benchmarks.followed SIDE PARAMETERS SECONDS

On one thread of PyTorch. A side is bare, followed, browser, window, blocks or busy, and PARAMETERS
and SECONDS are its arguments. The second line prints seconds per step, processor seconds, and for a
followed run the recorded moments and the bytes of the record. --long adds 1,000 steps of the
largest network. A viewer is a low-priority process; nobody opens its page.

Two identical processes differ by a few percent. Therefore the overhead without a viewer is measured
within one process: two runs alternate in blocks of half a second, and one of them is followed.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.sides import Options, answer, in_turn, spread

NETWORKS = {  # width, batch
    5_000: (50, 16), 1_000_000: (700, 16), 8_000_000: (2000, 64), 25_000_000: (3500, 32)
}  # fmt: skip
BLOCK, TURNS = 0.5, 80.0  # seconds of a block, and of all of them
SECONDS, PART = 12.0, 0.25  # of a measurement, of which the first part warms up


def step_of(parameters: int, optimizer: str = "Adam", batch: int = 0):
    """A network of two square layers, and a function that takes a training step with it."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    width, usual = NETWORKS[parameters]
    model = torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    )
    inputs, targets = torch.randn(2, batch or usual, width)
    moved = getattr(torch.optim, optimizer)(model.parameters(), 1e-4)

    def step():
        moved.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        moved.step()
        return loss

    return model, step


def measured(parameters: str, seconds: str, *, follows: bool = True, show: str | None = None):
    """Seconds a step, and those of the processor; if it is followed, also moments and bytes."""
    import scalarviz as sv
    from scalarviz.base import processes
    from scalarviz.training.follow import following

    viewers: list[Any] = []
    following.start = lambda words, **streams: processes.start(words)  # it prints nothing
    following.let_go = viewers.append
    model, step = step_of(int(parameters))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.sv"
        run = sv.follow(model, path, show=show) if follows else None
        begun, count = time.perf_counter(), -1
        while (passed := time.perf_counter() - begun) < float(seconds):
            if count < 0 and passed > PART * float(seconds):
                first, worked, count = time.perf_counter(), time.process_time(), 0
            step()
            count += count >= 0
        each = [(time.perf_counter() - first) / count, (time.process_time() - worked) / count]
        if run:
            run.close()
            each += [len(run.followed.steps), path.stat().st_size]
    for viewer in viewers:
        processes.end(viewer)
    return each


def blocks(parameters: str, seconds: str):
    """Ratios of wall and processor time of followed blocks to bare ones, medians; errors.

    Also seconds a step, moments and bytes. During a bare block, no hook of the followed run is set.
    """
    import torch
    from torch.optim import optimizer as every

    import scalarviz as sv

    (_, bare), (model, followed) = step_of(int(parameters)), step_of(int(parameters))
    hooks = every._global_optimizer_pre_hooks, every._global_optimizer_post_hooks
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.sv"
        run = sv.follow(model, path, show=None)

        def bare_block(count: int) -> Any:
            """Seconds of a block, which are none of the followed training."""
            kept, backward = [{**each} for each in hooks], torch.Tensor.backward
            for each in hooks:
                each.clear()
            torch.Tensor.backward = getattr(backward, "__wrapped__", backward)
            passed = timed(bare, count)
            for each, own in zip(hooks, kept, strict=True):
                each.update(own)
            torch.Tensor.backward = backward
            run._begun = tuple(np.add(run._begun, passed))
            run._next, run._flushed = run._next + passed[0], run._flushed + passed[0]
            return passed

        timed(followed, 3)
        count = max(1, round(BLOCK / (bare_block(5)[0] / 5)))
        ratios: list[Any] = []
        begun, each = time.perf_counter(), np.zeros(2)
        while (passed := time.perf_counter() - begun) < float(seconds):
            each = bare_block(count)
            ratio = timed(followed, count) / each
            ratios += [ratio] if passed > PART * float(seconds) else []
        run.close()
        low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75), axis=0)
        error = 0.93 * (high - low) / len(ratios) ** 0.5  # of a median of normal numbers
        size = path.stat().st_size
        return [*middle, *error, each[0] / count, len(run.followed.steps), size]


def timed(work: Any, count: int) -> Any:
    """Seconds and processor seconds of some calls."""
    begun = np.array((time.perf_counter(), time.process_time()))
    for _ in range(count):
        work()
    return (time.perf_counter(), time.process_time()) - begun


def busy(parameters: str, steps: str, batch: str):
    """Seconds, processor seconds and moments of a followed run beside two other jobs."""
    import scalarviz as sv

    model, step = step_of(int(parameters), batch=int(batch))
    jobs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        with tempfile.TemporaryDirectory() as folder:
            with sv.follow(model, Path(folder) / "a.sv", show=None) as run:
                each = timed(step, int(steps))
            return [*each, len(run.followed.steps)]
    finally:
        for job in jobs:
            job.kill()


def long(steps: str):
    """Seconds, moments and bytes of many steps of the largest network."""
    import scalarviz as sv

    model, step = step_of(max(NETWORKS), "SGD", 8)
    with tempfile.TemporaryDirectory() as folder:
        path, begun = Path(folder) / "a.sv", time.perf_counter()
        with sv.follow(model, path, show=None) as run:
            for _ in range(int(steps)):
                step()
        seconds = time.perf_counter() - begun
        whole = run.followed.whole_steps.tolist()
        return [seconds, run.overhead, len(run.followed.steps), len(whole), path.stat().st_size]


@contextmanager
def screen():
    """A display, if there is none: Xvfb's."""
    if os.environ.get("DISPLAY"):
        yield os.environ["DISPLAY"]
        return
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-screen", "0", "1400x900x24"]
    server = subprocess.Popen(command, pass_fds=[write], stderr=subprocess.DEVNULL)
    os.close(write)
    with os.fdopen(read) as answer:
        number = answer.readline().strip()
    try:
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


SIDES = {
    "bare": partial(measured, follows=False),
    "followed": measured,
    "browser": partial(measured, show="browser"),
    "window": partial(measured, show="window"),
    "blocks": blocks,
    "busy": busy,
    "long": long,
}


def report(options: Options) -> None:
    """The part of the time that following takes, without a viewer and with one."""
    print("\nA training in PyTorch on one thread, and the same one while it is followed")
    for parameters in NETWORKS:
        wall, work, spread_of_wall, spread_of_work, each, moments, size = answer(
            [__name__, "blocks", str(parameters), str(TURNS)]
        )
        print(
            f"    {parameters:10,} parameters  in blocks  {1e3 * each:8.2f} ms a step;  time "
            f"{wall:.4f} +- {spread_of_wall:.4f}, of the processor {work:.4f} +- "
            f"{spread_of_work:.4f};  {moments:,} moments, {size:,} bytes",
            flush=True,
        )
    for batch in (16, 8192):
        _, work, moments = answer([__name__, "busy", "5000", "3000", str(batch)])
        print(
            f"         5,000 parameters  beside two jobs  {moments:,} moments in 3,000 steps of "
            f"{work / 3:.2f} ms of the processor",
            flush=True,
        )
    with screen() as display:
        for parameters, side in product(NETWORKS, ("browser", "window")):
            words = [str(parameters), str(SECONDS)]
            sides = {name: [__name__, name, *words] for name in ("bare", side)}
            found = in_turn(sides, options.rounds, DISPLAY=display, OMP_NUM_THREADS="1")
            alone = statistics.median(each[0] for each in found["bare"])
            pairs = [*zip(found["bare"], found[side], strict=True)]
            times, work = ([with_[i] / without[i] for without, with_ in pairs] for i in (0, 1))
            *_, moments, size = found[side][-1]
            print(
                f"    {parameters:10,} parameters  {side:8}  {1e3 * alone:8.2f} ms a step;  time "
                f"{spread(times, '', 1.0, 4)}, of the processor {spread(work, '', 1.0, 4)};  "
                f"{moments:,} moments, {size:,} bytes",
                flush=True,
            )
    if options.long:
        seconds, share, moments, whole, size = answer([__name__, "long", "1000"])
        print(
            f"    1,000 steps of the largest: {seconds:.0f} s, {share:.2%} of them for following, "
            f"{moments:,} moments, {whole} whole ones, {size:,} bytes (at most 200,000,000)"
        )
