"""How long `import scalarviz` takes, and how long until a network has made its first step.

    python -m tests.benchmarks.start [rounds]
    python -m tests.benchmarks.start import|first_step|python

The second prints the seconds of one whole process.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from functools import partial

from tests.benchmarks.sides import Options, in_turn, main, spread

PROGRAMS = {
    "python": "pass",
    "import": "import scalarviz",
    "first_step": (
        "import scalarviz as sv; sv.Network([3, 8, 3], 'tanh').train_step([.1, .2, .3], [1, 0, 0])"
    ),
}


def whole_process(program: str) -> float:
    """Seconds from nothing to the end of a program."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return time.perf_counter() - start


SIDES = {name: partial(whole_process, program) for name, program in PROGRAMS.items()}


def report(options: Options) -> None:
    """Whole processes: Python alone, with the import, with a first training step."""
    print("\nFrom nothing, whole processes")
    sides = {name: ["tests.benchmarks.start", name] for name in PROGRAMS}
    times = in_turn(sides, options.rounds)
    for name, seconds in times.items():
        print(f"    {name:10} {spread(seconds)}")
    alone = statistics.median(times["python"])
    cost = statistics.median(times["import"]) - alone
    print(f"    import scalarviz costs {1e3 * cost:.0f} ms (asked for: under 300)")


if __name__ == "__main__":
    main(SIDES, report)
