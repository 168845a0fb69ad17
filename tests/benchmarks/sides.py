"""Two or more programs timed in turn, each run in a process of its own.

A machine is shared and noisy, so a time by itself says little: what counts is the ratio of medians
of programs that took turns.
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


def in_turn(
    programs: Mapping[str, Sequence[str]], rounds: int, **environment: str
) -> dict[str, list[float]]:
    """Run every program `rounds` times, A B C A B C; each prints one number."""
    settings = os.environ | environment
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, arguments in programs.items():
            command = [sys.executable, "-m", *arguments]
            printed = subprocess.run(
                command, check=True, capture_output=True, text=True, env=settings
            ).stdout
            seconds[name].append(float(json.loads(printed)))
    return seconds


def median_time(step: Callable[[], object], warm_up: int = 3, least_seconds: float = 2.5) -> float:
    """The median time of a call, after warming up, over at least so many seconds."""
    for _ in range(warm_up):
        step()
    times: list[float] = []
    while sum(times) < least_seconds or len(times) < 8:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def spread(seconds: Sequence[float]) -> str:
    """The median and, in brackets, the least and the most, in milliseconds."""
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    return f"{1e3 * middle:8.2f} ms  ({1e3 * low:.2f} to {1e3 * high:.2f})"


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
