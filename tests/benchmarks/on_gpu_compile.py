"""Compiles, on all cores, every kernel that the parts of `on_gpu` launch; a part of it.

So the time of the parts is not that of compilers: they find the kernels on disk.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from scalarviz.engines.codegen import cuda_file
from scalarviz.engines.codegen.cuda_file import CudaUnit
from scalarviz.engines.codegen.kernel_choice import EVERYTHING
from tests.benchmarks.on_gpu import (
    DTYPES,
    SIMULATED,
    adam,
    every_layer,
    fused_rows,
    network,
    one_of_each,
    run_of,
    tables,
)
from tests.benchmarks.on_gpu_machine import Tell

MOST_WORKERS = 16
PART = "tests.benchmarks.on_gpu", "part", "compile_share"


def compile_all(tell: Tell) -> bool:
    """Each process compiles its share."""
    start, workers = time.perf_counter(), min(os.cpu_count() or 1, MOST_WORKERS)
    shares = [[sys.executable, "-m", *PART, str(i), str(workers)] for i in range(workers)]
    going = [subprocess.Popen(share) for share in shares]
    statuses = [child.wait() for child in going]
    seconds = round(time.perf_counter() - start, 1)
    tell("compile", processes=workers, seconds=seconds, good=not any(statuses))
    return not any(statuses)


def compile_share(tell: Tell, i: str, workers: str) -> bool:
    """Compile one kernel in `workers`, and tell what each took."""
    good = True
    for name, compile_one in jobs()[int(i) :: int(workers)]:
        start = time.perf_counter()
        try:
            found = compile_one()
        except Exception as error:  # the others are compiled nevertheless
            found, good = {"wrong": f"{type(error).__name__}: {error}", "good": False}, False
        tell("compile", what=name, seconds=round(time.perf_counter() - start, 2), **found)
    return good


Job = tuple[str, Callable[[], dict[str, Any]]]


def jobs() -> list[Job]:
    """All that is to be compiled; what takes longest first."""
    units = dict.fromkeys([*units_in_use(), *units_of_all_formulas()])
    slow, quick = list[Job](), list[Job]()
    for unit, dtype in units:
        name = unit.function.__name__
        which = "all" if unit.used.rows is None else f"{len(unit.used.rows)} rows"
        precision = " mixed" if unit.used.mixed else ""
        job = f"{name} {dtype}{precision}, {which}", partial(compile_unit, unit, dtype)
        (slow if name in ("train", "samples_alone") else quick).append(job)
    for row in fused_trainings():
        slow.append((f"fused {row[0]}", partial(compile_fused, row)))
    slow += [(f"cpu {dtype}", partial(compile_cpu, dtype)) for dtype in DTYPES]
    return [*slow, *quick]


def trainings() -> Iterator[tuple[Any, Any]]:
    """Networks that parts train by Adam, and their batches."""
    from scalarviz.data.batches import InOrder
    from tests.benchmarks import on_gpu_checks, on_gpu_held, on_gpu_speed

    main, small = on_gpu_checks.MAIN, [3, 5, 2]
    for dtype in DTYPES:
        yield network(main, dtype), tables(main, 24)
    for net in (one_of_each(), every_layer("float32")):
        yield net, tables([net.inputs, net.outputs], 24)
    for _, net, sizes in on_gpu_checks.without_room():
        yield net, tables(sizes, 24)
    for net in (on_gpu_speed.network(main), on_gpu_speed.network(main, norm=True)):
        yield net, InOrder(*on_gpu_speed.samples([main[0], main[-1]], 3))
    yield network(small, "float32"), tables(small, 24)
    sessions = [on_gpu_held.session_of(*each, engine="cpu") for each in on_gpu_held.NETWORKS]
    for session in (*sessions, on_gpu_checks.a_session("cpu"), on_gpu_speed.texture_of(0)):
        yield session.network, session.timeline.trainer.batches


def units_in_use() -> Iterator[tuple[CudaUnit, Any]]:
    """The kernels of these trainings."""
    import scalarviz as sv
    from scalarviz.engines.cuda.units import units_of_training
    from scalarviz.model.precision import Precision

    for net, batches in trainings():
        pairs = [(sv.Loss.of("mse"), adam())]
        for unit in units_of_training(net.program, net.bank, batches, pairs, Precision()):
            yield unit, net.dtype


def units_of_all_formulas() -> Iterator[tuple[CudaUnit, Any]]:
    """The kernels that `bits`, and the tests of `matrix`, launch."""
    from scalarviz.engines.cuda.units import GROUPS

    for dtype in DTYPES:
        for function in [each for group in GROUPS for each in group]:
            yield CudaUnit(function, EVERYTHING), dtype


def compile_unit(unit: CudaUnit, dtype: Any) -> dict[str, Any]:
    module: Any = cuda_file.load([unit], dtype)[0]
    kernel = getattr(module, module.NAME)
    return {"registers": [] if SIMULATED else list(kernel.get_regs_per_thread().values())}


def fused_trainings() -> list[tuple[Any, ...]]:
    """What the fused kernel takes."""
    from tests.benchmarks import on_gpu_checks

    watched = "the sanitizer", network([3, 17, 2], "float32"), adam(), on_gpu_checks.FEW, 3
    return [*fused_rows(), watched]


def compile_fused(row: tuple[Any, ...]) -> dict[str, Any]:
    from scalarviz.engines.cuda.fused.launch import SWITCH

    _, net, optimizer, batch, _ = row
    os.environ[SWITCH] = "1"
    try:
        run = run_of(net.copy(), tables([net.inputs, net.outputs], batch))
        run.steps(optimizer, 0, 1)
    finally:
        del os.environ[SWITCH]
    return {"launches": run._work._fused.launches}


def compile_cpu(dtype: str) -> dict[str, Any]:
    sizes = [3, 5, 2]
    run_of(network(sizes, dtype), tables(sizes, 7), "cpu").steps(adam(), 0, 1)
    return {}
