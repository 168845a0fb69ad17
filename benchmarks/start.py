"""Time of `import scalarviz`, first steps and a first picture, from a cold start.

    python -m benchmarks start [rounds]
    python -m benchmarks.sides benchmarks.start SIDE
    python -m benchmarks.sides benchmarks.start wall import|python_step|python

The second prints the processor seconds of two processes, one after the other, with their children:
with an empty folder of kernels, and with the folder left by the first one. Processor time hardly
depends on other work of the machine. Children that a process does not wait for are not counted. The
third prints the seconds of a whole process.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial

from benchmarks.sides import Options, answer, in_turn, seconds_of, spread

RGB = (
    "import scalarviz as sv; net = sv.Network([3, 8, 3], 'tanh', 'sigmoid'); "
    "s = sv.Session(net, sv.data.Rgb('invert'), 'mse', sv.SGD(0.5), batch=8, engine={engine!r}); "
)
PROGRAMS = {
    "python": ["-c", "pass"],
    "import": ["-c", "import scalarviz"],
    "python_step": [
        "-c",
        "import scalarviz as sv; sv.Network([3, 8, 3], 'tanh').train_step([.1, .2, .3], [1, 0, 0])",
    ],
    "cpu_step": ["-c", RGB.format(engine="cpu") + "s.advance(1)"],
    "train": ["-m", "scalarviz", "train", "rgb", "--steps", "10"],
    "expression": [
        "-c",
        "import scalarviz as sv; w = sv.Value(0.5); b = sv.Value(0.1); "
        "f = sv.compile(lambda x: (w * x + b).tanh(), 1); f.to('cpu'); "
        "f.train_step([[1.0]], [[0.5]], 'mse', sv.SGD(0.1))",
    ],
    "replicas": ["-c", RGB.format(engine="cpu") + "sv.replicate(s, range(8)).advance(1)"],
    "picture": ["-c", RGB.format(engine="python") + "sv.picture(s, 'net.png')"],
}
TITLES = {
    "import": "import scalarviz",
    "python_step": "a first step, python engine",
    "cpu_step": "a first step of rgb, cpu engine",
    "train": "scalarviz train rgb --steps 10",
    "expression": "a first step of a compiled expression",
    "replicas": "a first step of replicas",
    "picture": "a first picture, PNG",
}
WALL = ("python", "import", "python_step")


def whole_process(name: str) -> float:
    """Seconds from nothing to the end of a program."""
    return seconds_of(subprocess.run, [sys.executable, *PROGRAMS[name]], check=True)


def from_empty_and_warm(name: str) -> list[float]:
    """Seconds of processor time with an empty folder of kernels, and with the one that it left."""
    with tempfile.TemporaryDirectory() as folder:
        return [processor_time(PROGRAMS[name], folder) for _ in ("empty", "warm")]


def processor_time(arguments: Sequence[str], folder: str) -> float:
    """Seconds of processor time of one program, with its children, that works in a folder."""
    here = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"SCALARVIZ_CACHE_DIR": folder, "PYTHONPATH": here}
    before = time_of_children()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
    )
    return time_of_children() - before


def time_of_children() -> float:
    """Seconds of processor time of all children that have ended, and of theirs."""
    import resource  # Windows has none

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SIDES = {"wall": whole_process} | {name: partial(from_empty_and_warm, name) for name in TITLES}


def report(options: Options) -> None:
    """Whole processes, then the processor time of first steps and of a first picture."""
    print("\nFrom nothing, whole processes")
    times = in_turn({name: [__name__, "wall", name] for name in WALL}, options.rounds)
    for name, seconds in times.items():
        print(f"    {name:12} {spread(seconds)}")
    alone = statistics.median(times["python"])
    cost = statistics.median(times["import"]) - alone
    print(f"    import scalarviz costs {1e3 * cost:.0f} ms (asked for: under 300)")
    print("\nFrom nothing, seconds of processor time with children: empty folder of kernels, warm")
    for name, title in TITLES.items():
        empty, warm = answer([__name__, name])
        print(f"    {title:40} {empty:7.2f} {warm:7.2f}", flush=True)
