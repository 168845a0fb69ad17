"""Everything that is to be known about the cuda engine on a real GPU, in two commands.

    python -m tests.benchmarks.on_gpu [FOLDER] [right | fast | PART ...]

`right` says whether it is right, `fast` how fast it is; each takes less than ten minutes, and all
parts, without a word, have ten minutes together. Each part is a process of its own with a limit of
time. It appends its results, an object of JSON a line, to on_gpu.jsonl in FOLDER (by default
build/on_gpu/results) as soon as it has them; what it prints besides is in on_gpu.txt. If `versions`
or `smoke` fails, the others are not tried. The last lines printed are the summary: whatever was
wrong, left out or measured.

On a machine with a GPU, in the root of the repository:

    python -m tests.benchmarks.on_gpu results right
    python -m tests.benchmarks.on_gpu results fast

No network is needed, and scalarviz need not be installed: numba, numba-cuda and numpy are enough.
PyTorch, JAX, pytest, compute-sanitizer and ncu are used where they are installed, and a
line says which were not. What else such a machine may lack, `on_gpu_machine` downloads before, for
build/on_gpu/carried. Compiled kernels stay in build/on_gpu/kernels for the next command, and
kernels.tar.xz of the results has them for another machine of this kind: in build/on_gpu/carried
it is unpacked there. Results are at most seven files, without folders.

    versions   card, driver, clocks, packages; whether a kernel of three lines runs
    smoke      a few steps in two processes: grid barrier, shared memory beyond 48 KiB
    compile    all kernels that the other parts launch, on all cores; their registers
    agreement  gradients and steps against the engine cpu, at real sizes
    bits       the same bits in every run, on every path, with every size of the grid
    fused      the same bits by the fused kernel, off by default
    graphs     the same bits by CUDA graphs and by single launches
    elsewhere  the same bits in another process, on a busy card, and back and on in a session
    sanitizer  memory errors, races and barriers of a few small steps, by compute-sanitizer
    matrix     the tests of the simulator, on the card
    speed      a step beside PyTorch and JAX on the same card, see `on_gpu_speed`
    large      networks that run kernel by kernel, with graphs and without, beside PyTorch
    texture    seconds of training until a picture is learnt to 21 dB
    growth     a step over sizes of batches and networks, on both paths
    held       a step while a session plays and somebody takes snapshots, see `on_gpu_held`
    profile    instructions and stalls of one launch, by Nsight Compute

In numba's simulator (NUMBA_ENABLE_CUDASIM=1) all parts run on tiny networks, with PyTorch and JAX
on the processor: so the script itself is tested. No number has been taken by it on a card yet.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.benchmarks.on_gpu_machine import (
    BUILD,
    SIMULATED,
    environment,
    install_carried,
    keep_kernels,
)

FOLDER = BUILD / "results"
RESULTS = "ON_GPU_RESULTS"  # environment variable: the file that parts append to
DTYPES = ("float32", "float64")


def tell(part: str, **found: Any) -> None:
    """Print a result, and append it to the file of results."""
    line = json.dumps({"part": part, **found})
    print(line, flush=True)
    path = os.environ.get(RESULTS)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


# ---- trainings ----------------------------------------------------------------------------------


def network(sizes: Sequence[int], dtype: str, activation: str = "tanh") -> Any:
    import scalarviz as sv

    return sv.Network(list(sizes), activation, "sigmoid", dtype=dtype, seed=1)


def every_layer(dtype: str) -> Any:
    """A network of most kinds of layers that fits into whole steps."""
    import scalarviz as sv

    shared = sv.Dense(9, 9, "swish")
    layers = [
        sv.FrequencyEncoding(2, octaves=3), sv.Dense(12, 9, "leaky_relu"), sv.LayerNorm(9), shared,
        sv.RMSNorm(9), shared, sv.Dense(9, 3, "gelu", bias=False),
    ]  # fmt: skip
    return sv.Network(layers, dtype=dtype, seed=3)


def tables(sizes: Sequence[int], batch: int, samples: int | None = None) -> Any:
    """Shuffled batches of random samples."""
    import numpy as np

    from scalarviz.data.batches import Shuffled

    rng, count = np.random.default_rng(0), samples or batch + batch // 3 + 1
    inputs, targets = rng.normal(size=(count, sizes[0])), rng.random((count, sizes[-1]))
    return Shuffled(inputs, targets, batch, seed=2**63 + 5)


def adam() -> Any:
    import scalarviz as sv

    return sv.Adam(1e-3)


def run_of(net: Any, batches: Any, engine: str = "cuda") -> Any:
    """A training on an engine."""
    import scalarviz as sv

    net.to(engine)
    return net._engine.run(batches, sv.Loss("mse"))


def step_by_moments(run: Any, steps: int, optimizer: Any = None, first: int = 0) -> None:
    for step in range(first, first + steps):
        run.begin(step)
        for moment in run.engine.program.moments:
            run.perform(moment, optimizer or adam())


def difference(a: Any, b: Any) -> float:
    """The largest difference over the largest value; infinite if all of these are 0."""
    import numpy as np

    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    most = abs(x).max(initial=0.0)
    return float(abs(x - y).max(initial=0.0) / most) if most else float("inf")


def agreement() -> bool:
    """Gradients of one step and, in float64, weights of many, against the engine cpu."""
    good = True
    for dtype, near in (("float32", 1e-5), ("float64", 1e-12)):
        for sizes, batch in cases():
            banks = []
            for engine in ("cpu", "cuda"):
                net = network(sizes, dtype)
                run_of(net, tables(sizes, batch), engine).steps(adam(), 0, 1)
                banks.append(net.bank)
            apart = difference(banks[0].grad, banks[1].grad)
            good = good and apart < near  # not so if one of them is not a number
            tell(
                "agreement", what="gradient of step 1", dtype=dtype, sizes=sizes, batch=batch,
                apart=apart, near=near, good=apart < near,
            )  # fmt: skip
    for sizes, batch in cases()[:2]:
        banks = []
        for engine in ("cpu", "cuda"):
            net = network(sizes, "float64")
            steps = 4 if SIMULATED else 100
            run_of(net, tables(sizes, batch), engine).steps(adam(), 0, steps)
            banks.append(net.bank)
        apart = difference(banks[0].value, banks[1].value)
        good = good and apart < 1e-9
        tell("agreement", what="weights", sizes=sizes, batch=batch, apart=apart, good=apart < 1e-9)
    return good


def cases() -> list[tuple[list[int], int]]:
    """Networks and batches: what does not divide, and what is wide or long."""
    if SIMULATED:
        return [([3, 5, 2], 7), ([3, 4, 2], 1)]
    main = [12, 64, 64, 64, 64, 3]
    found = [(main, batch) for batch in (1, 31, 1024, 1025, 65_536)]
    return found + [([16, width, width, 3], 256) for width in (16, 33, 128, 512, 2048)]


# ---- the same bits ------------------------------------------------------------------------------


def digest(bank: Any) -> str:
    """A few letters for all numbers of a bank."""
    found = hashlib.sha256(bank.value.tobytes() + bank.grad.tobytes())
    for slot in bank.slots.values():
        found.update(slot.tobytes())
    return found.hexdigest()[:12]


def trained(net: Any, batches: Any, optimizer: Any, steps: int, **how: Any) -> str:
    """The digest after some steps: whole, kernel by kernel, or moment by moment."""
    import numpy as np

    copy, path = net.copy(), how.get("path", "whole")
    run = run_of(copy, batches)
    device = run.engine.device
    device.blocks, device.threads = how.get("grid", (device.blocks, device.threads))
    assert run.whole_steps or path != "whole", "a block has no room: whole steps are not looked at"
    run.whole_steps = path == "whole"
    if path == "moments":
        step_by_moments(run, steps, optimizer)
    else:
        run.steps(optimizer, 0, steps)
    assert np.isfinite(copy.bank.value).all() and digest(copy.bank) != digest(net.bank)
    return digest(copy.bank)


def formulas() -> Iterator[tuple[str, Any, Any]]:
    """A network and an optimizer for each activation, optimizer, and for the kinds of layers."""
    import scalarviz as sv
    from scalarviz.formulas.activations import ACTIVATIONS
    from scalarviz.model.optimizer import Optimizer

    names = ["tanh"] if SIMULATED else list(ACTIVATIONS)
    for name in names:
        yield f"activation {name}", network([3, 17, 5, 2], "float32", name), sv.Adam(1e-3)
    makers = [sv.Adam] if SIMULATED else Optimizer.__subclasses__()
    for make in makers:
        yield f"optimizer {make.__name__}", network([3, 9, 2], "float32"), make(1e-3, clip_norm=0.1)
    if SIMULATED:
        return
    yield "kinds of layers", every_layer("float32"), sv.Adam(1e-3)


def bits() -> bool:
    """Whether all digests of a training are equal."""
    import scalarviz as sv
    from tests.engines.every_formula import all_formulas

    main = [3, 5, 2] if SIMULATED else [12, 64, 64, 64, 64, 3]
    batch, steps, runs = (7, 2, 2) if SIMULATED else (1024, 200, 10)
    net, batches = network(main, "float32"), tables(main, batch)
    each_run = [trained(net, batches, sv.Adam(1e-3), steps) for _ in range(runs)]
    good = same_bits(f"{runs} runs", sorted(set(each_run)))
    grids: list[tuple[int, int]] = (
        [(2, 3)] if SIMULATED else [(1, 64), (7, 128), (66, 256), (128, 256), (528, 128)]
    )
    few_steps = min(steps, 20)
    expected = trained(net, batches, sv.Adam(1e-3), few_steps)
    for grid in grids:
        for path in ("whole", "kernels"):
            each = trained(net, batches, sv.Adam(1e-3), few_steps, grid=grid, path=path)
            good = same_bits(f"{path}, grid {grid}", [expected, each]) and good
    rows = [("every activation", one_of_each(), adam()), ("layers", every_layer("float32"), adam())]
    found = [same_bits_on_every_path(f"{name}, in use", *row) for name, *row in rows]
    with all_formulas():  # else each optimizer would be compiled for itself
        each = trained(net, batches, sv.Adam(1e-3), few_steps)
        good = same_bits("kernels for all formulas", [expected, each]) and good
        found += [same_bits_on_every_path(*row) for row in formulas()]
    return good and all(found)


def same_bits_on_every_path(name: str, net: Any, optimizer: Any) -> bool:
    batch, count = (5, 1) if SIMULATED else (24, 3)
    few, paths = tables([net.inputs, net.outputs], batch), ("whole", "kernels", "moments")
    return same_bits(name, [trained(net, few, optimizer, count, path=path) for path in paths])


def same_bits(what: str, digests: Sequence[str]) -> bool:
    good = len(set(digests)) == 1
    tell("bits", what=what, digests=digests, good=good)
    return good


def one_of_each() -> Any:
    """A network with a layer for each activation, whose kernels are compiled once."""
    import scalarviz as sv
    from scalarviz.formulas.activations import ACTIVATIONS

    names = ["tanh", "relu"] if SIMULATED else list(ACTIVATIONS)
    return sv.Network([sv.Dense(5, 5, name) for name in names], dtype="float32", seed=1)


def fused_rows() -> list[tuple[str, Any, Any, int, int]]:
    """What the fused kernel takes: a name, a network, its optimizer, a batch, and steps."""
    sizes, batch, steps = ([3, 5, 2], 7, 2) if SIMULATED else ([12, 64, 64, 64, 64, 3], 1024, 200)
    optimizers = [each for each in formulas() if each[0].startswith("optimizer")]
    rows = [("every activation", one_of_each(), adam()), *optimizers]
    return [("the floors", network(sizes, "float32"), adam(), batch, steps)] + [
        (*row, 7 if SIMULATED else 24, 3) for row in rows
    ]


def fused() -> bool:
    """Whether the fused kernel runs, and has the bits of the other ones."""
    from scalarviz.engines.cuda.fused.launch import SWITCH
    from tests.engines.every_formula import all_formulas

    good = True
    for name, net, optimizer, size, count in fused_rows():
        batches = tables([net.inputs, net.outputs], size)
        os.environ[SWITCH] = "0"
        with all_formulas():
            found = [trained(net, batches, optimizer, count)]
        os.environ[SWITCH] = "1"
        copy = net.copy()
        run = run_of(copy, batches)
        run.steps(optimizer, 0, count)
        found.append(digest(copy.bank))
        kernel = run._work._fused
        same = len(set(found)) == 1 and (SIMULATED or kernel.launches > 0)
        good = good and same
        tell(
            "fused", what=name, digests=found, launches=kernel.launches, wrong=str(kernel.wrong),
            good=same,
        )  # fmt: skip
    return good


def of(module: str, name: str, *words: str) -> bool:
    """Run a part of another file."""
    return bool(getattr(import_module(f"tests.benchmarks.{module}"), name)(tell, *words))


# ---- all of them --------------------------------------------------------------------------------

MACHINE, COMPILE, MATRIX = "on_gpu_machine", "on_gpu_compile", "on_gpu_matrix"
CHECKS, SPEED = "on_gpu_checks", "on_gpu_speed"
# Parts in their order: the seconds that are kept for each, and the most that it may take.
PARTS: dict[str, tuple[Callable[..., bool], int, int]] = {
    "versions": (partial(of, MACHINE, "versions"), 10, 60),
    "smoke": (partial(of, CHECKS, "smoke"), 30, 80),
    "compile": (partial(of, COMPILE, "compile_all"), 40, 200),
    "agreement": (agreement, 30, 80),
    "bits": (bits, 30, 100),
    "fused": (fused, 20, 60),
    "graphs": (partial(of, CHECKS, "graphs"), 20, 60),
    "elsewhere": (partial(of, CHECKS, "elsewhere"), 20, 60),
    "sanitizer": (partial(of, CHECKS, "sanitizer"), 40, 150),
    "matrix": (partial(of, MATRIX, "matrix"), 60, 240),
    "speed": (partial(of, SPEED, "speed"), 90, 240),
    "large": (partial(of, SPEED, "large"), 40, 100),
    "texture": (partial(of, SPEED, "texture"), 20, 60),
    "growth": (partial(of, SPEED, "growth"), 20, 80),
    "held": (partial(of, "on_gpu_held", "held"), 30, 60),
    "profile": (partial(of, CHECKS, "profile"), 10, 60),
}
RIGHT = list(PARTS)[: list(PARTS).index("matrix")]
GROUPS = {"right": RIGHT, "fast": ["versions", *[name for name in PARTS if name not in RIGHT]]}
FIRST = ("versions", "smoke")  # without these no other part can be right
ALONE: dict[str, Callable[..., bool]] = {
    **{name: run for name, (run, _, _) in PARTS.items()},
    "compile_share": partial(of, COMPILE, "compile_share"),
    **{name: partial(of, CHECKS, name) for name in ("few_steps", "smoke_once", "print_digest")},
    "one_step": partial(of, CHECKS, "one_step"),
}
MOST_SECONDS = 570.0  # and some for what is kept
SLOWER = 20 if SIMULATED else 1
LAST = 30  # lines that a part printed which are shown if it was wrong
# Whose results are in the summary.
SHOWN = ("speed", "large", "texture", "growth", "held", "profile")


def run_part(name: str, known: dict[str, str], limit: float, log: Path) -> int | str:
    """Run a part with all the processes that it starts; return its status."""
    command = [sys.executable, "-u", "-m", "tests.benchmarks.on_gpu", "part", name]
    with log.open("a", encoding="utf-8") as file:
        process = subprocess.Popen(
            command, env=known, start_new_session=True, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        with suppress(ProcessLookupError):  # none is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def limit_of(name: str, later: Sequence[str], left: float) -> float:
    """The seconds that a part may take, so that each later one has those that are kept for it."""
    kept = sum(PARTS[each][1] for each in later)
    return min(PARTS[name][2], left, max(left - kept, PARTS[name][1])) * SLOWER


def summary(lines: Sequence[str]) -> list[str]:
    """The results that matter at first sight: what was not good, left out, or measured."""
    found = []
    for line in lines:
        row = json.loads(line)
        wrong = row.get("good") is False or row.get("status") or row.get("wrong", "None") != "None"
        if wrong or "left_out" in row or row["part"] in SHOWN:
            found.append(line if len(line) < 600 else line[:600] + " ...")
    return found


def main(words: Sequence[str]) -> int:
    """Run the parts; the status is 0 if all were right."""
    if words[:1] == ["part"]:
        return 0 if ALONE[words[1]](*words[2:]) else 1
    chosen = [part for word in words for part in GROUPS.get(word, [word] if word in PARTS else [])]
    chosen = [name for name in PARTS if name in chosen] or list(PARTS)
    others = [word for word in words if word not in PARTS and word not in GROUPS]
    folder = Path(next(iter(others), FOLDER)).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    results, log = folder / "on_gpu.jsonl", folder / "on_gpu.txt"
    before = len(results.read_text(encoding="utf-8")) if results.exists() else 0
    os.environ[RESULTS] = str(results)
    known, start, wrong = environment(tell), time.monotonic(), []
    for i, name in enumerate(chosen):
        limit = limit_of(name, chosen[i + 1 :], MOST_SECONDS - (time.monotonic() - start))
        if limit < 5:
            tell(name, left_out="no time is left")
            continue
        began = time.monotonic()
        status = run_part(name, known, limit, log)
        if status and name == "versions" and (wheels := install_carried(known)):
            tell(name, status=status, again_with=wheels)
            status = run_part(name, known, limit, log)
        tell(name, status=status, seconds=round(time.monotonic() - began, 1))
        if status:
            wrong.append(name)
            print(*log.read_text(errors="replace").splitlines()[-LAST:], sep="\n", flush=True)
        if name in FIRST and status:
            break
    print("\n", *summary(results.read_text(encoding="utf-8")[before:].splitlines()), sep="\n")
    said = f"WRONG: {', '.join(wrong)}" if wrong else "all right"
    print(f"{results}: {said}", flush=True)
    keep_kernels(folder)  # takes some seconds, for which there may be no time
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
