"""More checks of the cuda engine on a real GPU: parts of `on_gpu`.

The first contact, CUDA graphs, the same bits in other processes, on a busy card and by a session
that goes back; what compute-sanitizer says, and a profile of one launch.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.on_gpu import (
    adam,
    digest,
    every_layer,
    network,
    run_of,
    tables,
    trained,
)
from tests.benchmarks.on_gpu_machine import SIMULATED, TOOLKIT, Tell

MAIN = [3, 5, 2] if SIMULATED else [12, 64, 64, 64, 64, 3]
BATCH, STEPS = (5, 2) if SIMULATED else (1024, 60)
DIGEST = "digest:"
FEW = 3 if SIMULATED else 24  # samples that the sanitizer watches
SANITIZER_SECONDS = 120.0
# The last line of each tool of the sanitizer if it found nothing.
CLEAN = {
    "memcheck": r"ERROR SUMMARY: 0 errors",
    "racecheck": r"RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)",
    "synccheck": r"ERROR SUMMARY: 0 errors",
}
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
    """A few whole steps: all threads wait for each other, more than 48 KiB a block."""
    run = run_of(network(MAIN, "float32"), tables(MAIN, BATCH))
    losses, work = run.steps(adam(), 0, 3).losses, run._work
    # In how many blocks the one kernel ran; 0: kernel by kernel, since they cannot wait.
    blocks = 1 if SIMULATED else work._together
    good = len(losses) == 3 and bool(np.isfinite(losses).all()) and blocks > 0
    tell(
        "smoke", whole_steps=run.whole_steps, shared=work.shared, blocks=blocks,
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
        batches = tables(sizes, 5 if SIMULATED else 300, 12 if SIMULATED else 1000)
        found = []
        for captured in (True, False):
            copy = net.copy()
            run = run_of(copy, batches)
            run.whole_steps = False
            steps = run._work.steps
            steps.graphs = steps.graphs and captured
            run.steps(adam(), 0, STEPS - 1)
            run.steps(adam(), STEPS - 1, 1)
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
def busy() -> Iterator[list[int]]:
    """Let PyTorch multiply matrices on the card meanwhile; the list grows as it does."""
    import torch

    begun, ended, products = threading.Event(), threading.Event(), list[int]()

    def work() -> None:
        size, device = (64, "cpu") if SIMULATED else (4096, "cuda")
        stream, x = None if SIMULATED else torch.cuda.Stream(), torch.randn(size, size)
        with torch.cuda.stream(stream):  # its own: ours would wait for the default one
            x = x.to(device)
            while not ended.is_set():
                torch.mm(x, x)
                if stream is not None:
                    stream.synchronize()
                products.append(1)
                begun.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        begun.wait(60.0)
        yield products
    finally:
        ended.set()
        thread.join()


def a_session(engine: str) -> Any:
    import scalarviz as sv

    inputs, targets = np.random.default_rng(0).random((2, 8 if SIMULATED else 64, 3))
    net = sv.Network([3, 4 if SIMULATED else 16, 3], "tanh", seed=1)
    return sv.Session(net, sv.data.Arrays(inputs, targets), optimizer=adam(), engine=engine)


def elsewhere(tell: Tell) -> bool:
    """Digests in another process, on a busy card, and of a session that goes back and on again."""
    expected = a_digest()
    found = {"another process": part("print_digest").stdout.rpartition(DIGEST)[2].strip()}
    good = True
    if importlib.util.find_spec("torch") is None:
        tell("elsewhere", what="a busy card", left_out="PyTorch is not installed")
    else:
        with busy() as products:
            before = len(products)
            found["a busy card"] = a_digest()
            meanwhile = len(products) - before
        good = meanwhile > 0
        tell("elsewhere", what="products of matrices meanwhile", count=meanwhile, good=good)
    for name, each in found.items():
        good = good and each == expected
        tell("elsewhere", what=name, digests=[expected, each], good=each == expected)
    session = a_session("cuda")
    session.advance(STEPS)
    there_and_back = [digest(session.network.bank)]
    session.back(STEPS - 1)
    session.advance(STEPS - 1)
    there_and_back.append(digest(session.network.bank))
    same = there_and_back[0] == there_and_back[1]
    tell("elsewhere", what="back and on again", digests=there_and_back, good=same)
    return good and same


# ---- tools of NVIDIA -----------------------------------------------------------------------------


def tool_of_nvidia(name: str) -> str:
    """The path of a tool; "" if it is not installed."""
    found = shutil.which(name) or str(TOOLKIT / "bin" / name)
    return found if Path(found).exists() else ""


def sanitizer(tell: Tell) -> bool:
    """A few small steps under the tools of compute-sanitizer, which run side by side."""
    tool, good, going = tool_of_nvidia("compute-sanitizer"), True, []
    if not tool:
        tell("sanitizer", left_out="compute-sanitizer is not installed")
        return True
    for kind in CLEAN:
        # A call of the driver that fails is an answer to a question of ours, as for more memory.
        command = [tool, "--tool", kind, "--error-exitcode", "3"]
        command += ["--report-api-errors", "no"] if kind == "memcheck" else []
        command += [sys.executable, "-m", "tests.benchmarks.on_gpu", "part", "few_steps"]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        going.append((kind, subprocess.Popen(command, **streams)))  # type: ignore[call-overload]  # of many types
    limit = time.monotonic() + SANITIZER_SECONDS
    for kind, process in going:
        try:
            said = process.communicate(timeout=max(limit - time.monotonic(), 0.1))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[0]
            tell("sanitizer", tool=kind, left_out=f"it did not end in {SANITIZER_SECONDS:.0f} s")
            continue
        lines = said.strip().splitlines()
        clean = process.returncode == 0 and bool(re.search(CLEAN[kind], said))
        good = good and clean
        tell(
            "sanitizer", tool=kind, status=process.returncode, good=clean,
            last=lines[-1:] if clean else [line for line in lines if line.startswith("====")][:40],
        )  # fmt: skip
    return good


def few_steps(tell: Tell) -> bool:
    """What the sanitizer watches: each path, three steps; then the fused kernel."""
    from scalarviz.engines.cuda.fused.launch import SWITCH

    for path in ("whole", "kernels", "moments"):
        trained(every_layer("float32"), tables([2, 3], FEW), adam(), 3, path=path)
    os.environ[SWITCH] = "1"
    trained(network([3, 17, 2], "float32"), tables([3, 2], FEW), adam(), 3)
    return True


def profile(tell: Tell) -> bool:
    """The second launch of a whole step, by Nsight Compute; what a card forbids is no error."""
    tool = tool_of_nvidia("ncu")
    if not tool:
        tell("profile", left_out="ncu is not installed")
        return True
    command = [tool, "--clock-control", "none", "-k", "regex:train", "-s", "1", "-c", "1", "--csv"]
    command += ["--metrics", ",".join(METRICS)]
    command += [sys.executable, "-m", "tests.benchmarks.on_gpu", "part", "one_step"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    measured = {
        row[-3]: f"{row[-1]} {row[-2]}".strip()
        for row in csv.reader(lines)
        if len(row) > 3 and row[-3] in METRICS
    }
    if measured:
        tell("profile", **measured)
    else:
        tell("profile", left_out="ncu measured nothing", last=lines[-len(METRICS) :])
    return True


def one_step(tell: Tell) -> bool:
    """What the profile watches."""
    run = run_of(network(MAIN, "float32"), tables(MAIN, BATCH))
    for step in range(2):
        run.steps(adam(), step, 1)
    return True
