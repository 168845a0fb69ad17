"""More checks of the cuda engine on a real GPU: parts of `on_gpu`.

The first contact, CUDA graphs, the same bits in other processes, on a busy card and by a session
that goes back; what compute-sanitizer says, and a profile of one launch.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.on_gpu import (
    SIMULATED,
    adam,
    digest,
    every_layer,
    network,
    run_of,
    tables,
    trained,
)

Tell = Callable[..., None]
MAIN = [3, 5, 2] if SIMULATED else [12, 64, 64, 64, 64, 3]
BATCH, STEPS = (7, 3) if SIMULATED else (1024, 60)
DIGEST = "digest:"
# Of a launch: duration, instructions, share of cycles in which one was issued, bytes of the L2.
METRICS = (
    "gpu__time_duration.sum", "sm__inst_executed.sum", "lts__t_bytes.sum",
    "smsp__issue_active.avg.pct_of_peak_sustained_active",
)  # fmt: skip


def part(name: str) -> subprocess.CompletedProcess[str]:
    """Run a part in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.on_gpu", "part", name]
    return subprocess.run(command, capture_output=True, text=True)


# ---- the first contact --------------------------------------------------------------------------


def smoke(tell: Tell) -> bool:
    """Two processes, one after the other: the second finds the kernels of the first."""
    good = True
    for which in ("first process", "second process"):
        start = time.perf_counter()
        done = part("smoke_once")
        print(done.stdout, end="")
        seconds, good = round(time.perf_counter() - start, 1), good and done.returncode == 0
        last = done.stderr.strip().splitlines()[-12:] if done.returncode else []
        tell("smoke", which=which, seconds=seconds, status=done.returncode, last=last)
        if not good:
            break
    return good


def smoke_once(tell: Tell) -> bool:
    """A few whole steps: all threads wait for each other, more than 48 KiB a block; and halves."""
    good = True
    for mixed in (False, True):
        run = run_of(network(MAIN, "float32"), tables(MAIN, BATCH), mixed=mixed)
        losses = run.steps(adam(), 0, 3).losses
        good = good and len(losses) == 3 and bool(np.isfinite(losses).all())
        tell(
            "smoke", mixed=mixed, whole_steps=run.whole_steps, shared=run._work.shared,
            losses=losses.tolist(), good=good,
        )  # fmt: skip
    return good


# ---- graphs -------------------------------------------------------------------------------------


def without_room() -> Iterator[tuple[str, Any, list[int]]]:
    """Networks that run kernel by kernel, and the sizes of their samples."""
    import scalarviz as sv

    norm = [sv.Dense(12, 33, "tanh"), sv.BatchNorm(33), sv.Dropout(33, 0.2), sv.Dense(33, 3)]
    yield "batch norm", sv.Network(norm, seed=1), [12, 3]
    shape = (2, 6, 5)
    picture = [
        sv.Conv2d(shape, 5, 3, padding=1, activation="tanh"), sv.BatchNorm((5, 6, 5)),
        sv.Conv2d((5, 6, 5), 3, (3, 2), stride=2), sv.Dense(3 * 2 * 2, 3),
    ]  # fmt: skip
    yield "convolution", sv.Network(picture, seed=1), [60, 3]
    if not SIMULATED:
        yield "wide", network([12, 512, 512, 512, 512, 3], "float32"), [12, 3]


def graphs(tell: Tell) -> bool:
    """Whether steps launched as graphs have the bits of kernels launched one by one."""
    good = True
    for name, net, sizes in without_room():
        batches = tables(sizes, 9 if SIMULATED else 300, 24 if SIMULATED else 1000)
        found = []
        for captured in (True, False):
            copy = net.copy()
            run = run_of(copy, batches)
            run.whole_steps = False
            steps = run._work.steps
            steps.graphs = steps.graphs and captured
            run.steps(adam(), 0, STEPS)
            run.steps(adam(), STEPS, 1)
            found.append(digest(copy.bank))
            if captured and not SIMULATED:
                good = good and steps.graphs and steps.refused == ""
                tell("graphs", network=name, captured=steps.graphs, refused=steps.refused)
        same = found[0] == found[1]
        good = good and same
        tell("graphs", network=name, digests=found, good=same)
    return good


# ---- the same bits elsewhere --------------------------------------------------------------------


def a_digest() -> str:
    net = network(MAIN, "float32")
    run_of(net, tables(MAIN, BATCH)).steps(adam(), 0, STEPS)
    return digest(net.bank)


def print_digest(tell: Tell) -> bool:
    """For another process: a digest after some steps."""
    print(DIGEST, a_digest())
    return True


@contextmanager
def busy() -> Iterator[bool]:
    """Let PyTorch multiply matrices on the card meanwhile; False without PyTorch."""
    if SIMULATED or importlib.util.find_spec("torch") is None:
        yield False
        return
    import torch

    ended = threading.Event()

    def work() -> None:
        stream, x = torch.cuda.Stream(), torch.randn(4096, 4096, device="cuda")
        with torch.cuda.stream(stream):
            while not ended.is_set():
                torch.mm(x, x)
                stream.synchronize()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield True
    finally:
        ended.set()
        thread.join()


def elsewhere(tell: Tell) -> bool:
    """Digests in another process, on a busy card, and of a session that goes back and on again."""
    import scalarviz as sv

    expected = a_digest()
    found = {"another process": part("print_digest").stdout.rpartition(DIGEST)[2].strip()}
    with busy() as there:
        if there:
            found["a busy card"] = a_digest()
        else:
            tell("elsewhere", what="a busy card", left_out="PyTorch is not installed")
    good = True
    for name, each in found.items():
        good = good and each == expected
        tell("elsewhere", what=name, digests=[expected, each], good=each == expected)
    inputs, targets = np.random.default_rng(0).random((2, 64, 3))
    net = sv.Network([3, 16, 3], "tanh", seed=1)
    session = sv.Session(net, sv.data.Arrays(inputs, targets), optimizer=adam(), engine="cuda")
    session.advance(STEPS)
    there_and_back = [digest(net.bank)]
    session.back(STEPS - 2)
    session.advance(STEPS - 2)
    there_and_back.append(digest(session.network.bank))
    same = there_and_back[0] == there_and_back[1]
    tell("elsewhere", what="back and on again", digests=there_and_back, good=same)
    return good and same


# ---- tools of NVIDIA -----------------------------------------------------------------------------


def sanitizer(tell: Tell) -> bool:
    """A few small steps under compute-sanitizer."""
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(tool).exists():
        tell("sanitizer", left_out="compute-sanitizer is not installed")
        return True
    good, going = True, []
    for kind in ("memcheck", "racecheck", "synccheck"):
        command = [tool, "--tool", kind, "--error-exitcode", "3", sys.executable, "-m"]
        command += ["tests.benchmarks.on_gpu", "part", "few_steps"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        going.append((kind, subprocess.Popen(command, **streams)))  # type: ignore[call-overload]  # of many types
    for kind, process in going:
        try:
            said = process.communicate(timeout=85)[0]
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            said, status = process.communicate()[0] + " (out of time)", None
        good = good and status in (0, None)
        tell("sanitizer", tool=kind, status=status, last=said.strip().splitlines()[-1:])
    return good


def few_steps(tell: Tell) -> bool:
    """What the sanitizer watches: each path, three steps."""
    for path in ("whole", "kernels", "moments"):
        trained(every_layer("float32"), tables([2, 3], 24), adam(), 3, path=path)
    return True


def profile(tell: Tell) -> bool:
    """One launch of one whole step by Nsight Compute; what a card forbids is not an error."""
    tool = shutil.which("ncu") or "/usr/local/cuda/bin/ncu"
    if not Path(tool).exists():
        tell("profile", left_out="ncu is not installed")
        return True
    command = [tool, "--clock-control", "none", "-k", "regex:train", "-c", "1", "--csv"]
    command += ["--metrics", ",".join(METRICS)]
    command += [sys.executable, "-m", "tests.benchmarks.on_gpu", "part", "one_step"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    tell("profile", status=done.returncode, last=lines[-len(METRICS) - 1 :])
    return True


def one_step(tell: Tell) -> bool:
    """What the profile watches."""
    run = run_of(network(MAIN, "float32"), tables(MAIN, BATCH))
    for step in range(2):
        run.steps(adam(), step, 1)
    return True
