"""Two or more programs timed alternately, each run in a separate process.

A machine is shared and noisy, so absolute times mean little: the ratio of medians of alternating
programs counts.

`python -m benchmarks MODULE` prints the whole report of a module of this folder, and `python -m
benchmarks.sides benchmarks.MODULE SIDE ...` the result of one side, as JSON.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Options:
    """How often, and whether the long ones too."""

    rounds: int = 3
    long: bool = False


Side = Callable[..., object]


def options(words: Sequence[str]) -> Options:
    """What the words of a command line ask for: [rounds] [--long]."""
    chosen: dict[str, Any] = {}
    for word in words:
        if word == "--long":
            chosen["long"] = True
        elif word.isdigit() and int(word):
            chosen["rounds"] = int(word)
        else:
            sys.exit(f"{word!r} is neither [rounds] nor [--long]: leave it out")
    return Options(**chosen)


def heading(chosen: Options) -> str:
    """What comes before all numbers."""
    return (
        f"{machine()}\n{chosen.rounds} rounds, every side in a process of its own, taking turns; "
        "medians"
    )


def in_turn(
    programs: Mapping[str, Sequence[str]], rounds: int, **environment: str
) -> dict[str, list[Any]]:
    """Run every program `rounds` times, A B C A B C: what each printed."""
    printed: dict[str, list[Any]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, arguments in programs.items():
            printed[name].append(answer(arguments, **environment))
    return printed


def answer(arguments: Sequence[str], **environment: str) -> Any:
    """Run one program, the words MODULE SIDE ...: what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sides", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def seconds_of(call: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """The seconds of a call."""
    start = time.perf_counter()
    call(*arguments, **options)
    return time.perf_counter() - start


def median_time(step: Callable[[], object], warm_up: int = 3, least_seconds: float = 2.5) -> float:
    """The median time of a call, after warming up, over at least so many seconds."""
    for _ in range(warm_up):
        step()
    times: list[float] = []
    while sum(times) < least_seconds or len(times) < 8:
        times.append(seconds_of(step))
    return statistics.median(times)


def spread(values: Sequence[float], unit: str = "ms", factor: float = 1e3, digits: int = 2) -> str:
    """The median and, in brackets, the least and the most; by default of seconds."""
    middle, low, high = [factor * each(values) for each in (statistics.median, min, max)]
    return f"{middle:8.{digits}f} {unit}  ({low:.{digits}f} to {high:.{digits}f})"


def short_spread(seconds: Sequence[float]) -> str:
    """The same in microseconds."""
    return spread(seconds, "us", 1e6, 1)


def print_beside(
    names: Mapping[str, str], times: Mapping[str, Sequence[float]], of_cpu: str
) -> None:
    """A line for each side, and how many times as fast the cpu engine is.

    Args:
        of_cpu: what else there is to say of the cpu engine
    """
    width = max(map(len, names.values())) + 1
    for side, seconds in times.items():
        ratio = statistics.median(seconds) / statistics.median(times["cpu"])
        beside = f"the cpu engine is {ratio:.2f} times as fast"
        remark = of_cpu if side == "cpu" else beside
        print(f"    {names[side]:{width}} {short_spread(seconds):38} {remark}".rstrip())


def machine() -> str:
    """What these numbers were measured on."""
    processor = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            models = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
        processor = models[0] if models else processor
    return (
        f"{processor}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}"
    )


if __name__ == "__main__":
    module, side, *arguments = sys.argv[1:]
    print(json.dumps(import_module(module).SIDES[side](*arguments)))
