"""Everything that is to be known about the cuda engine on a real GPU, in one command.

    python -m tests.benchmarks.on_gpu [FOLDER] [PART ...]

First whether it is right, then how fast it is; less than ten minutes in all. Each part is a process
of its own with a limit of time, and appends its results, one JSON object a line, to on_gpu.jsonl in
FOLDER (by default build/on_gpu) as soon as it has them. If one of the first two parts fails, the
others are not tried. No network is needed: PyTorch, JAX, pytest and compute-sanitizer are used
where they are installed, and a line says which were not. Wheels in FOLDER/wheels, such as an older
numpy, are unpacked beside the results and found first; without one of numpy before 2.5, the name
that numba-cuda misses in it is defined anew for the parts, and a line says so.

    versions   card, driver, clocks, packages; whether a kernel of three lines runs
    smoke      a few steps in two processes: grid barrier, shared memory beyond 48 KiB, halves
    compile    seconds until the first step, and registers, in both types
    matrix     the tests of the simulator, on the card
    agreement  gradients and steps against the engine cpu, at real sizes, and in mixed precision
    bits       the same bits in every run, on every path, with every size of the grid
    fused      the same bits by the fused kernel, which is off by default
    graphs     the same bits by CUDA graphs and by single launches
    elsewhere  the same bits in another process, on a busy card, and back and on in a session
    sanitizer  memory errors, races and barriers of a few small steps, by compute-sanitizer
    speed      a step beside PyTorch and JAX on the same card, see `on_gpu_speed`
    large      networks that run kernel by kernel, with graphs and without, beside PyTorch
    texture    seconds of training until a picture is learnt to 21 dB
    growth     a step over sizes of batches and networks, on both paths
    profile    instructions and stalls of one launch, by Nsight Compute

In numba's simulator (NUMBA_ENABLE_CUDASIM=1) most parts run on tiny networks: so the script itself
was tried. No number has been taken by it on a card yet.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path("build/on_gpu")
RESULTS = "ON_GPU_RESULTS"  # environment variable: the file that parts append to
PACKAGES = (
    "numba", "numba-cuda", "numpy", "cuda-core", "cuda-bindings", "cuda-toolkit", "torch", "jax",
    "pytest", "scikit-image",
)  # fmt: skip
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
DTYPES = ("float32", "float64")
MATRIX_SECONDS = {"not slow": 100.0, "slow": 45.0}


def tell(part: str, **found: Any) -> None:
    """Print a result, and append it to the file of results."""
    line = json.dumps({"part": part, **found})
    print(line, flush=True)
    path = os.environ.get(RESULTS)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


# ---- what there is ------------------------------------------------------------------------------


def versions() -> bool:
    """Card and packages; False if the engine cannot run."""
    from scalarviz.engines.cuda.missing import missing_for_cuda

    asked = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.limit,memory.total"
    if shutil.which("nvidia-smi"):
        command = ["nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True)
        tell("versions", card=done.stdout.strip() or done.stderr.strip())
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    tell("versions", python=sys.version.split()[0], **found)
    lack = missing_for_cuda()
    tell("versions", can_run=not lack, lack=lack)
    return not lack


def compile_all() -> bool:
    """Both types at the same time."""
    command = [sys.executable, "-m", "tests.benchmarks.on_gpu", "part"]
    going = [subprocess.Popen([*command, f"compile_{dtype}"]) for dtype in DTYPES]
    codes = [child.wait() for child in going]
    return not any(codes)


def compile_type(dtype: str) -> bool:
    """Seconds until a first step, and the registers of the kernels that it took."""
    start, sizes = time.perf_counter(), [3, 4, 2] if SIMULATED else [12, 64, 64, 3]
    run = run_of(network(sizes, dtype), tables(sizes, 64))
    run.steps(adam(), 0, 1)
    whole = time.perf_counter() - start
    step_by_moments(run, 1)
    tell(
        "compile", dtype=dtype, whole_steps=round(whole, 1),
        single_kernels=round(time.perf_counter() - start - whole, 1),
    )  # fmt: skip
    for module in run._work.kernels.modules:
        kernel: Any = getattr(module, module.NAME)
        used = [] if SIMULATED else list(kernel.get_regs_per_thread().values())
        tell("compile", dtype=dtype, kernel=module.NAME, file=module.__name__, registers=used)
    if importlib.util.find_spec("pytest") is not None:
        from tests.engines.simulator import all_formulas

        start = time.perf_counter()
        with all_formulas():  # for the tests of `matrix`
            run = run_of(network(sizes, dtype), tables(sizes, 64))
            run.steps(adam(), 0, 1)
            step_by_moments(run, 1)
        tell("compile", dtype=dtype, all_formulas=round(time.perf_counter() - start, 1))
    return True


def matrix() -> bool:
    """The tests of the simulator, on the card."""
    if importlib.util.find_spec("pytest") is None:
        tell("matrix", left_out="pytest is not installed")
        return True
    names = (
        "cuda",
        "expressions",
        "layers",
        "sessions",
    )  # formulas of users would compile everything anew
    files = [f"tests/engines/simulated_{name}.py" for name in names]
    command = [sys.executable, "-m", "pytest", "-v", "--noconftest", "-o", "addopts="]
    command += ["-o", "filterwarnings=", "-p", "no:cacheprovider", "-p", "tests.engines.simulator"]
    command += ["--import-mode=importlib", "-k", "not simulator_is_what", "--tb=short", *files]
    good = True
    for which in ("not slow", "slow"):  # results so far are in the file if the time is over
        path = Path(os.environ.get(RESULTS, "on_gpu.jsonl")).with_name(f"matrix_{which[:3]}.txt")
        with path.open("w") as file:
            process = subprocess.Popen([*command, "-m", which], stdout=file, stderr=file)
            with suppress(subprocess.TimeoutExpired):
                process.wait(MATRIX_SECONDS[which])
            process.kill()
        text = path.read_text(errors="replace")
        ends = re.findall(r"^(\S+::.*?) (PASSED|FAILED|ERROR)", text, re.MULTILINE)
        failed = [name for name, end in ends if end != "PASSED"]
        good = good and process.wait() in (0, -signal.SIGKILL) and not failed
        tell(
            "matrix", which=which, status=process.returncode, passed=len(ends) - len(failed),
            failed=failed, last=text.splitlines()[-1:],
        )  # fmt: skip
    return good


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


def run_of(net: Any, batches: Any, engine: str = "cuda", mixed: bool = False) -> Any:
    """A training on an engine."""
    import scalarviz as sv

    net.to(engine, precision="mixed" if mixed else "full")
    return net._engine.run(batches, sv.Loss("mse"))


def step_by_moments(run: Any, steps: int, optimizer: Any = None, first: int = 0) -> None:
    for step in range(first, first + steps):
        run.begin(step)
        for moment in run.engine.program.moments:
            run.perform(moment, optimizer or adam())


def difference(a: Any, b: Any) -> float:
    """The largest difference over the largest value."""
    import numpy as np

    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(abs(x - y).max(initial=0.0) / max(abs(x).max(initial=0.0), 1e-300))


def agreement() -> bool:
    """Gradients of one step and, in float64, weights of many, against the engine cpu."""
    good = True
    for dtype, mixed, near in (
        ("float32", False, 1e-5), ("float64", False, 1e-12), ("float32", True, 2e-3)
    ):  # fmt: skip
        for sizes, batch in cases():
            banks = []
            for engine in ("cpu", "cuda"):
                net = network(sizes, dtype)
                run_of(net, tables(sizes, batch), engine, mixed).steps(adam(), 0, 1)
                banks.append(net.bank)
            apart = difference(banks[0].grad, banks[1].grad)
            good = good and apart < near
            tell(
                "agreement", what="gradient of step 1", dtype=dtype, mixed=mixed, sizes=sizes,
                batch=batch, apart=apart, near=near, good=apart < near,
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
    copy = net.copy()
    run = run_of(copy, batches, mixed=how.get("mixed", False))
    device = run.engine.device
    device.blocks, device.threads = how.get("grid", (device.blocks, device.threads))
    run.whole_steps = run.whole_steps and how.get("path", "whole") == "whole"
    if how.get("path") == "moments":
        step_by_moments(run, steps, optimizer)
    else:
        run.steps(optimizer, 0, steps)
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

    main = [3, 5, 2] if SIMULATED else [12, 64, 64, 64, 64, 3]
    batch, steps, runs = (7, 2, 2) if SIMULATED else (1024, 200, 10)
    net, batches = network(main, "float32"), tables(main, batch)
    found = [trained(net, batches, sv.Adam(1e-3), steps) for _ in range(runs)]
    good = len(set(found)) == 1
    tell("bits", what=f"{runs} runs", digests=sorted(set(found)), good=good)
    grids: list[tuple[int, int]] = (
        [(2, 3)] if SIMULATED else [(1, 64), (7, 128), (66, 256), (128, 256), (528, 128)]
    )
    for grid in grids:
        for path in ("whole", "kernels"):
            each = trained(net, batches, sv.Adam(1e-3), min(steps, 20), grid=grid, path=path)
            same = each == trained(net, batches, sv.Adam(1e-3), min(steps, 20))
            good = good and same
            tell("bits", what=f"{path}, grid {grid}", digests=[each], good=same)
    for name, each_net, optimizer in formulas():
        few = tables([each_net.inputs, each_net.outputs], 24)
        for mixed in (False, True):
            three = [
                trained(each_net, few, optimizer, 3, path=path, mixed=mixed)
                for path in ("whole", "kernels", "moments")
            ]
            same = len(set(three)) == 1
            good = good and same
            tell("bits", what=f"{name}, mixed: {mixed}", digests=three, good=same)
    return good


def one_of_each() -> Any:
    """A network with a layer for each activation, whose kernels are compiled once."""
    import scalarviz as sv
    from scalarviz.formulas.activations import ACTIVATIONS

    names = ["tanh", "relu"] if SIMULATED else list(ACTIVATIONS)
    return sv.Network([sv.Dense(5, 5, name) for name in names], dtype="float32", seed=1)


def fused() -> bool:
    """Whether the fused kernel runs, and has the bits of the other ones."""
    import scalarviz as sv
    from scalarviz.engines.cuda.fused.launch import SWITCH

    sizes, batch, steps = ([3, 5, 2], 7, 2) if SIMULATED else ([12, 64, 64, 64, 64, 3], 1024, 200)
    rows = [("the floors", network(sizes, "float32"), sv.Adam(1e-3), batch, steps)]
    every = [each for each in formulas() if not each[0].startswith("activation")]
    rows += [
        (*each, 24, 3) for each in [("every activation", one_of_each(), sv.Adam(1e-3)), *every]
    ]
    good = True
    for name, net, optimizer, size, count in rows:
        batches, found, run = tables([net.inputs, net.outputs], size), [], None
        for switch in ("0", "1"):
            os.environ[SWITCH] = switch
            copy = net.copy()
            run = run_of(copy, batches)
            run.steps(optimizer, 0, count)
            found.append(digest(copy.bank))
        same, kernel = len(set(found)) == 1, run._work._fused
        taken = SIMULATED or kernel.launches > 0 or name == "kinds of layers"
        good = good and same and taken
        tell(
            "fused", what=name, digests=found, good=same, launches=kernel.launches,
            wrong=str(kernel.wrong),
        )  # fmt: skip
    return good


def of(module: str, name: str) -> bool:
    """Run a part of another file."""
    return bool(getattr(import_module(f"tests.benchmarks.{module}"), name)(tell))


# ---- all of them --------------------------------------------------------------------------------

CHECKS, SPEED = "on_gpu_checks", "on_gpu_speed"
# Parts in their order: the seconds that are kept for each, and the most that it may take.
PARTS: dict[str, tuple[Callable[[], bool], int, int]] = {
    "versions": (versions, 20, 60),
    "smoke": (partial(of, CHECKS, "smoke"), 30, 80),
    "compile": (compile_all, 40, 120),
    "matrix": (matrix, 60, 150),
    "agreement": (agreement, 40, 80),
    "bits": (bits, 40, 80),
    "fused": (fused, 20, 60),
    "graphs": (partial(of, CHECKS, "graphs"), 20, 40),
    "elsewhere": (partial(of, CHECKS, "elsewhere"), 20, 40),
    "sanitizer": (partial(of, CHECKS, "sanitizer"), 40, 100),
    "speed": (partial(of, SPEED, "speed"), 90, 200),
    "large": (partial(of, SPEED, "large"), 40, 80),
    "texture": (partial(of, SPEED, "texture"), 20, 40),
    "growth": (partial(of, SPEED, "growth"), 20, 60),
    "profile": (partial(of, CHECKS, "profile"), 10, 40),
}
# What takes a card, or too long without one.
ON_A_CARD = ("smoke", "matrix", "sanitizer", "texture", "growth", "profile")
ALONE: dict[str, Callable[[], bool]] = {
    **{name: run for name, (run, _, _) in PARTS.items()},
    **{f"compile_{dtype}": partial(compile_type, dtype) for dtype in DTYPES},
    "few_steps": partial(of, CHECKS, "few_steps"),
    "smoke_once": partial(of, CHECKS, "smoke_once"),
    "print_digest": partial(of, CHECKS, "print_digest"),
    "one_step": partial(of, CHECKS, "one_step"),
}
MOST_SECONDS = 585.0
SLOWER = 20 if SIMULATED else 1
# numba-cuda 0.30.4 uses a name that numpy 2.5 has not.
SHIM = "import numpy\n\nnumpy.row_stack = numpy.vstack\n"


def environment(folder: Path) -> dict[str, str]:
    """The environment of the parts: results, kernels and wheels are in FOLDER."""
    found = dict(os.environ)
    found.setdefault("SCALARVIZ_CACHE_DIR", str(folder / "kernels"))
    found.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    found["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    if "CUDA_HOME" not in found and Path("/usr/local/cuda/nvvm").exists():
        found["CUDA_HOME"] = "/usr/local/cuda"
    wheels = sorted((folder / "wheels").glob("*.whl"))
    site = folder / "site"
    if wheels:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*command, "--target", str(site), *map(str, wheels)], check=True)
    newest = tuple([int(each) for each in version("numpy").split(".")[:2]])
    if newest >= (2, 5) and not list((folder / "wheels").glob("numpy-*.whl")):
        site.mkdir(exist_ok=True)
        (site / "sitecustomize.py").write_text(SHIM)
        tell("versions", shim="numpy.row_stack is numpy.vstack, for numba-cuda")
    found["PYTHONPATH"] = os.pathsep.join([str(site), found.get("PYTHONPATH", "")])
    return found


def run_part(name: str, known: dict[str, str], limit: float) -> int | str:
    """Run a part with all the processes that it starts; return its status."""
    command = [sys.executable, "-m", "tests.benchmarks.on_gpu", "part", name]
    process = subprocess.Popen(command, env=known, start_new_session=True)
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        return "out of time"
    finally:
        with suppress(ProcessLookupError):  # none is left
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main(words: Sequence[str]) -> int:
    """Run the parts; the status is 0 if all were right."""
    if words[:1] == ["part"]:
        return 0 if ALONE[words[1]]() else 1
    chosen = [word for word in words if word in PARTS] or list(PARTS)
    folder = Path(next((word for word in words if word not in PARTS), FOLDER)).resolve()
    (folder / "wheels").mkdir(parents=True, exist_ok=True)
    os.environ[RESULTS] = str(folder / "on_gpu.jsonl")
    known, start, wrong = environment(folder), time.monotonic(), []
    for i, name in enumerate(chosen):
        kept = sum(PARTS[later][1] for later in chosen[i + 1 :])
        left = MOST_SECONDS - (time.monotonic() - start)
        limit = min(PARTS[name][2], left, max(left - kept, PARTS[name][1])) * SLOWER
        if SIMULATED and name in ON_A_CARD:
            tell(name, left_out="this is the simulator")
            continue
        if limit < 5:
            tell(name, left_out="no time is left")
            continue
        began = time.monotonic()
        status = run_part(name, known, limit)
        tell(name, status=status, seconds=round(time.monotonic() - began, 1))
        wrong += [name] if status else []
        if wrong in (["versions"], ["smoke"]):
            break
    print(f"{folder / 'on_gpu.jsonl'}: " + (f"WRONG: {', '.join(wrong)}" if wrong else "all right"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
