"""All benchmarks: `make bench`, or `python -m tests.benchmarks [rounds]`."""

from __future__ import annotations

import os
import statistics
import sys
from importlib.util import find_spec

from tests.benchmarks.batched_step import BATCHES, CASES, multiplications
from tests.benchmarks.sides import in_turn, machine, spread
from tests.benchmarks.start import PROGRAMS
from tests.benchmarks.training_step import BATCH, SIDES, SIZES


def training_step(rounds: int) -> None:
    """The objects and Value beside micrograd, with the garbage collector on and off."""
    print(f"\nOne training step of {'-'.join(map(str, SIZES))}, batch {BATCH}")
    for collector, flag in (("on", []), ("off", ["nogc"])):
        module = "tests.benchmarks.training_step"
        times = in_turn({side: [module, side, *flag] for side in SIDES}, rounds)
        reference = statistics.median(times["micrograd"])
        print(f"  garbage collector {collector}")
        for side, seconds in times.items():
            ratio = reference / statistics.median(seconds)
            rounds_apart = [a / b for a, b in zip(times["micrograd"], seconds, strict=True)]
            print(
                f"    {side:10} {spread(seconds):42} 1/{ratio:.1f} of micrograd's time "
                f"(by round: 1/{min(rounds_apart):.1f} to 1/{max(rounds_apart):.1f})"
            )


def batched_step(rounds: int) -> None:
    """The cpu engine beside PyTorch, where PyTorch is installed, on one thread and on all."""
    if find_spec("torch") is None:
        print("\nPyTorch is not installed: pip install '.[bench]' compares the cpu engine with it")
        return
    module = "tests.benchmarks.batched_step"
    for threads in sorted({1, os.cpu_count() or 1}):
        product = {"matrix": [module, "matrix", "-", "1", str(threads)]}
        matrix = in_turn(product, 3, OPENBLAS_NUM_THREADS=str(threads))["matrix"]
        rate = statistics.median(matrix)
        print(f"\nWhole training steps, {threads} threads; matrix product {rate / 1e9:.0f} GFLOP/s")
        for name, case in CASES.items():
            for batch in BATCHES.get(name, (1024,)):
                arguments = [name, str(batch), str(threads)]
                sides = {side: [module, side, *arguments] for side in ("torch", "cpu")}
                times = in_turn(sides, rounds)
                ours = statistics.median(times["cpu"])
                ratio = statistics.median(times["torch"]) / ours
                speed = multiplications(case, batch) / ours
                print(
                    f"    {name:15} batch {batch:5}  PyTorch {spread(times['torch'])}  "
                    f"cpu {1e6 * ours:7.1f} us  {ratio:5.1f} times faster, "
                    f"{speed / 1e9:5.1f} GFLOP/s, {100 * speed / rate:.0f}% of the matrix product"
                )


def start(rounds: int) -> None:
    """Whole processes: Python alone, with the import, with a first training step."""
    print("\nFrom nothing, whole processes")
    times = in_turn({name: ["tests.benchmarks.start", name] for name in PROGRAMS}, rounds)
    for name, seconds in times.items():
        print(f"    {name:10} {spread(seconds)}")
    alone = statistics.median(times["python"])
    cost = statistics.median(times["import"]) - alone
    print(f"    import scalarviz costs {1e3 * cost:.0f} ms (asked for: under 300)")


if __name__ == "__main__":
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    print(
        f"{machine()}\n{rounds} rounds, every side in a process of its own, taking turns; medians"
    )
    training_step(rounds)
    start(rounds)
    batched_step(rounds)
