"""Correctness of the cuda engine on a GPU, after the first minute: parts of `on_gpu`."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.on_gpu import RESULTS, left, tell
from benchmarks.on_gpu_first import (
    BATCH,
    MAIN,
    adam,
    apart,
    network,
    run_of,
    there,
)
from benchmarks.on_gpu_machine import SIMULATED, TOOLKIT
from tests.engines.machine_code import all_formulas
from tests.engines.on_card import OUTCOMES

DTYPES = {"float32": 1e-5, "float64": 1e-12}  # and how near gradients are to those of the cpu
STEPS = 2 if SIMULATED else 60
FEW = 3 if SIMULATED else 24  # samples that the sanitizer watches
# The last line of each tool of the sanitizer if it found nothing.
CLEAN = {
    "memcheck": r"ERROR SUMMARY: 0 errors",
    "synccheck": r"ERROR SUMMARY: 0 errors",
    "racecheck": r"RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)",
}
# Formulas of users would be compiled anew; graphs have a part of their own.
FILES = (
    "simulated_matrix", "simulated_cuda", "test_engines", "test_one_answer", "test_runs",
    "simulated_away",
)  # fmt: skip
# Those of cuda, but what says that the simulator runs.
OF_CUDA = "(simulated or cuda]) and not simulator_is_what"
# In the simulator only the command is tried.
TRIED = "(bad_gradient or schedule or what_is_refused or several) and not slow and "


# ---- compile ------------------------------------------------------------------------------------


def compile() -> None:
    """The kernels for all formulas, and those of the sessions, in many processes."""
    jobs = [(dtype, i) for dtype in DTYPES for i in range(len(functions()))]
    names = ["0", "-1", "texture", "cpu"]
    spawn, many = multiprocessing.get_context("spawn"), min(16, os.cpu_count() or 1)
    with ProcessPoolExecutor(many, spawn) as pool:
        going = [pool.submit(compile_one, *job) for job in jobs]
        going += [pool.submit(train_one, name) for name in names]
        for each in as_completed(going):
            try:
                tell("compile", **each.result())
            except Exception as error:  # the others are compiled nevertheless
                tell("compile", wrong=f"{type(error).__name__}: {error}"[:400])


def functions() -> list[Any]:
    from scalarviz.engines.cuda.launches import GROUPS

    return [each for group in GROUPS for each in group]


def compile_one(dtype: Any, i: int) -> dict[str, Any]:
    from scalarviz.engines.codegen import cuda_file
    from scalarviz.engines.codegen.cuda_file import CudaUnit
    from scalarviz.engines.codegen.formula_loops import EVERYTHING

    start, function = time.perf_counter(), functions()[i]
    module: Any = cuda_file.load([CudaUnit(function, EVERYTHING)], dtype)[0]
    kernel = getattr(module, module.NAME)
    registers = [] if SIMULATED else list(kernel.get_regs_per_thread().values())
    seconds = round(time.perf_counter() - start, 1)
    return {"kernel": function.__name__, "dtype": dtype, "registers": registers, "seconds": seconds}


def train_one(name: str) -> dict[str, Any]:
    """What later parts train, a step."""
    from benchmarks import on_gpu_fast

    start = time.perf_counter()
    if name == "cpu":
        run_of(network(MAIN, "float64"), tables(MAIN, 3), "cpu").steps(adam(), 0, 1)
    elif name == "texture":
        on_gpu_fast.texture_of(0).advance(1, progress=False)
    else:
        on_gpu_fast.session_of(*on_gpu_fast.HELD[int(name)]).advance(1, progress=False)
    return {"training": name, "seconds": round(time.perf_counter() - start, 1)}


# ---- numbers ------------------------------------------------------------------------------------


def tables(sizes: Sequence[int], batch: int) -> Any:
    """Shuffled batches of random samples."""
    from scalarviz.data.batches import Shuffled

    rng, count = np.random.default_rng(0), batch + batch // 3 + 1
    inputs, targets = rng.normal(size=(count, sizes[0])), rng.random((count, sizes[-1]))
    return Shuffled(inputs, targets, batch, seed=2**63 + 5)


def agreement() -> None:
    """Gradients of a step beside the cpu engine: what does not divide, and what is wide or long."""
    cases = [([3, 5, 2], 7)]
    if not SIMULATED:
        cases = [(MAIN, batch) for batch in (1, 31, 1024, 1025, 65_536)]
        cases += [([16, width, width, 3], 256) for width in (33, 128, 512, 2048)]
    for dtype, near in DTYPES.items():
        for sizes, batch in cases:
            found = []
            for engine in ("cpu", "cuda"):
                net = network(sizes, dtype)
                with all_formulas():
                    run_of(net, tables(sizes, batch), engine).steps(adam(), 0, 1)
                found.append(net.bank.grad)
            far, about = apart(*found), {"dtype": dtype, "sizes": sizes, "batch": batch}
            tell("agreement", apart=far, near=near, good=far < near, **about)


def digest(bank: Any) -> str:
    """A few letters for all numbers of a bank."""
    found = hashlib.sha256(bank.value.tobytes() + bank.grad.tobytes())
    for slot in bank.slots.values():
        found.update(slot.tobytes())
    return found.hexdigest()[:12]


def trained(
    net: Any, batches: Any, optimizer: Any = None, steps: int = STEPS, path: str = "whole",
    grid: Any = None, graphs: bool = True,
) -> str:  # fmt: skip
    """The digest after some steps: whole, kernel by kernel, or moment by moment."""
    copy, optimizer = net.copy(), optimizer or adam()
    run = run_of(copy, batches)
    device = run.engine.device
    device.blocks, device.threads = grid or (device.blocks, device.threads)
    assert run.whole_steps or path != "whole", "a block has no room: whole steps are not looked at"
    run.whole_steps = path == "whole"
    run._work.steps.graphs &= graphs
    if path == "moments":
        for step in range(steps):
            run.begin(step)
            for moment in run.engine.program.moments:
                run.perform(moment, optimizer)
    else:
        run.steps(optimizer, 0, steps)
    assert np.isfinite(copy.bank.value).all() and digest(copy.bank) != digest(net.bank)
    return digest(copy.bank)


def same_bits(part: str, what: str, digests: Sequence[str]) -> None:
    tell(part, what=what, digests=sorted(set(digests)), good=len(set(digests)) == 1)


def bits() -> None:
    """Digests of the same training in many ways."""
    net, batches = network(MAIN), tables(MAIN, BATCH)
    runs, grids = 2 if SIMULATED else 10, [(2, 3)]
    if not SIMULATED:
        grids = [(1, 64), (7, 128), (66, 256), (128, 256), (528, 128)]
    with all_formulas():  # else each row would be compiled for itself
        found = [trained(net, batches) for _ in range(runs)]
        same_bits("bits", f"{runs} runs", found)
        for grid in grids:
            each = [trained(net, batches, path=path, grid=grid) for path in ("whole", "kernels")]
            same_bits("bits", f"grid {grid}", [found[0], *each])
        for name, net, optimizer in rows():
            few = tables([net.inputs, net.outputs], 5 if SIMULATED else 24)
            paths = "whole", "kernels", "moments"
            found = [trained(net, few, optimizer, 2, path) for path in paths]
            same_bits("bits", name, found)
        for name, net in without_room():
            few = tables([net.inputs, net.outputs], 5 if SIMULATED else 300)
            found = [trained(net, few, None, STEPS, "kernels", graphs=on) for on in (True, False)]
            same_bits("bits", f"{name}, with a graph and without", found)


def rows() -> Iterator[tuple[str, Any, Any]]:
    """Networks with every activation, one with most kinds of layers, and each optimizer."""
    import scalarviz as sv
    from scalarviz.core.formulas.activations import ACTIVATIONS
    from scalarviz.core.optimizer import Optimizer

    names = ["tanh", "relu"] if SIMULATED else list(ACTIVATIONS)
    net = sv.Network([sv.Dense(5, 5, name) for name in names], dtype="float32", seed=1)
    yield "activations", net, adam()
    for make in [sv.Adam] if SIMULATED else Optimizer.__subclasses__():
        yield f"optimizer {make.__name__}", network([3, 9, 2]), make(1e-3, clip_norm=0.1)
    yield "kinds of layers", every_layer(), adam()


def every_layer() -> Any:
    """A network of most kinds of layers that fits into whole steps."""
    import scalarviz as sv

    shared = sv.Dense(9, 9, "swish")
    layers = [
        sv.FrequencyEncoding(2, octaves=3), sv.Dense(12, 9, "leaky_relu"), sv.LayerNorm(9), shared,
        sv.RMSNorm(9), shared, sv.Dense(9, 3, "gelu", bias=False),
    ]  # fmt: skip
    return sv.Network(layers, dtype="float32", seed=3)


def without_room() -> Iterator[tuple[str, Any]]:
    """Networks that run kernel by kernel."""
    import scalarviz as sv

    norm = [sv.Dense(12, 33, "tanh"), sv.BatchNorm(33), sv.Dropout(33, 0.2), sv.Dense(33, 3)]
    yield "batch norm", sv.Network(norm, seed=1)
    picture = [
        sv.Conv2d((2, 6, 5), 5, 3, padding=1, activation="tanh"), sv.BatchNorm((5, 6, 5)),
        sv.Conv2d((5, 6, 5), 3, (3, 2), stride=2), sv.Dense(3 * 2 * 2, 3),
    ]  # fmt: skip
    yield "convolution", sv.Network(picture, seed=1)
    if not SIMULATED:
        yield "wide", network([12, 512, 512, 512, 512, 3])


# ---- elsewhere ----------------------------------------------------------------------------------


def command(part: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.on_gpu", "parts", part]


def a_digest() -> str:
    """For another process: a digest after some steps."""
    found = trained(network(MAIN), tables(MAIN, BATCH))
    tell("elsewhere", digest=found)
    return found


def elsewhere() -> None:
    """Digests in another process, and of a session that goes back and on again."""
    import scalarviz as sv

    expected = a_digest()
    done = subprocess.run(command("a_digest"), capture_output=True, text=True)
    same_bits(
        "elsewhere", "another process", [expected, *re.findall(r'digest": "(\w+)', done.stdout)]
    )
    inputs, targets = np.random.default_rng(0).random((2, FEW, 3))
    net = network([3, 4 if SIMULATED else 16, 3])
    session = sv.Session(net, sv.data.Arrays(inputs, targets), optimizer=adam(), engine="cuda")
    session.advance(STEPS, progress=False)
    found = [digest(session.network.bank)]
    session.back(STEPS - 1)
    session.advance(STEPS - 1, progress=False)
    same_bits("elsewhere", "back and on again", [*found, digest(session.network.bank)])


# ---- other programs -----------------------------------------------------------------------------


def tool_of_nvidia(part: str, name: str) -> str:
    """The path of a tool; "" if it is not installed, which is told."""
    found = shutil.which(name) or str(TOOLKIT / "bin" / name)
    if Path(found).exists():
        return found
    tell(part, left_out=f"{name} is not installed")
    return ""


def sanitizer() -> None:
    """A few small steps under the tools of compute-sanitizer, which run side by side."""
    tool, going = tool_of_nvidia("sanitizer", "compute-sanitizer"), {}
    for kind in CLEAN if tool else ():
        # A call of the driver that fails is an answer to a question of ours, as for more memory.
        words = [tool, "--tool", kind, "--error-exitcode", "3"]
        words += ["--report-api-errors", "no"] if kind == "memcheck" else []
        going[kind] = subprocess.Popen(
            [*words, *command("few_steps")],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    limit = time.monotonic() + min(90.0, left() - 5.0)
    for kind, process in going.items():
        try:
            said = process.communicate(timeout=max(limit - time.monotonic(), 0.1))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            tell("sanitizer", tool=kind, left_out="it did not end in time")
            continue
        good = process.returncode == 0 and bool(re.search(CLEAN[kind], said))
        lines = [line for line in said.splitlines() if line.startswith("====")][:30]
        about = {} if good else {"status": process.returncode, "lines": lines}
        tell("sanitizer", tool=kind, good=good, **about)


def few_steps() -> None:
    """What the sanitizer watches: each path, three steps."""
    with all_formulas():  # which are compiled
        for path in ("whole", "kernels", "moments"):
            trained(every_layer(), tables([2, 3], FEW), adam(), 3, path)


def matrix() -> None:
    """The tests of the simulator; what is done when the time is over counts."""
    if not there("matrix", "pytest"):
        return
    names = FILES if importlib.util.find_spec("freetype") else FILES[:-1]  # `away` draws
    words = [sys.executable, "-m", "pytest", "-v", "--noconftest", "--tb=short", "-o", "addopts="]
    words += ["-o", "filterwarnings=", "-p", "no:cacheprovider", "--import-mode=importlib"]
    for plugin in ("tests.wording", "tests.engines.simulator", "tests.engines.on_card"):
        words += ["-p", plugin]
    if importlib.util.find_spec("xdist"):
        words += ["-p", "xdist.plugin", "-n", "2" if SIMULATED else "8"]
    words += ["--continue-on-collection-errors", "-k", TRIED * SIMULATED + OF_CUDA]
    words += [f"tests/engines/{name}.py" for name in names]
    outcomes = Path(os.environ[RESULTS]).with_name("matrix.jsonl")
    outcomes.unlink(missing_ok=True)
    known = os.environ | {OUTCOMES: str(outcomes), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with outcomes.with_suffix(".txt").open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file, env=known)
        try:
            status: int | str = process.wait(left() if SIMULATED else min(140.0, left() - 5.0))
        except subprocess.TimeoutExpired:
            status = "out of time"
            process.kill()
    text = outcomes.read_text(encoding="utf-8") if outcomes.exists() else ""
    found = [json.loads(line) for line in text.splitlines()]
    failed = {row["test"]: row["said"] for row in found if row["outcome"] == "failed"}
    counts = Counter(row["outcome"] for row in found)
    good = not failed and counts["passed"] > 0 and status in (0, "out of time")
    tell("matrix", status=status, lines=dict(counts), failed=failed, good=good)
