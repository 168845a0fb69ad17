"""All benchmarks: `make bench`, or `python -m tests.benchmarks [rounds]`."""

from __future__ import annotations

import statistics
import sys

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
            print(f"    {side:10} {spread(seconds):42} 1/{ratio:.1f} of micrograd's time")


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
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(
        f"{machine()}\n{rounds} rounds, every side in a process of its own, taking turns; medians"
    )
    training_step(rounds)
    start(rounds)
