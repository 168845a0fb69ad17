"""Memory used by training on the cpu engine, and a check that it does not grow.

    python -m benchmarks memory
    python -m benchmarks.sides benchmarks.memory peak WIDTH BATCH
    python -m benchmarks.sides benchmarks.memory network|session
    python -m benchmarks.sides benchmarks.memory making

The second prints the number of parameters and the peak memory in bytes, as counted by tracemalloc,
which sees every array: while the network is created and takes its first steps, and during further
steps. The report divides the difference between two sizes by the difference in parameters. The
third prints the memory of the process (RSS), in bytes, after every 1,000 of 11,000 steps. The
fourth prints the number of parameters, processor seconds, bytes of the arrays of a network of ten
million parameters, and the peak memory during its creation.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc

import numpy as np

from benchmarks.sides import Options, answer

WIDTHS = (256, 1024)
BATCHES = (4096, 65536)
STEPS = 10_000
EVERY = 1000
BUDGET = 2 * 2**20  # of the session's keyframes
LARGE = (1000, 3000, 2000, 500)


def network(width: int, batch: int):
    """12-width-width-3 and a batch."""
    import scalarviz as sv

    net = sv.Network([12, width, width, 3], "leaky_relu", "sigmoid", engine="cpu")
    rng = np.random.default_rng(0)
    inputs = rng.random((batch, 12), dtype=np.float32)
    return net, inputs, rng.random((batch, 3), dtype=np.float32)


def peak(width: str, batch: str) -> list[int]:
    """Parameters, and the most bytes in use in the beginning and later, with Adam."""
    import scalarviz as sv

    net, *pair = network(4, 8)
    net.train(*pair, "mse", sv.Adam(1e-3), steps=2)  # loads the kernels
    tracemalloc.start()
    net, *pair = network(int(width), int(batch))
    net.train(*pair, "mse", sv.Adam(1e-3), steps=2)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    net.train(*pair, "mse", sv.Adam(1e-3), steps=2)
    return [len(net.bank), most, tracemalloc.get_traced_memory()[1]]


def network_grows() -> list[int]:
    """Bytes held while a network trains by itself."""
    import scalarviz as sv

    net, *pair = network(64, 256)
    optimizer = sv.Adam(1e-3)
    return held(lambda: net.train(*pair, "mse", optimizer, steps=EVERY))


def session_grows() -> list[int]:
    """Bytes held while a session trains, which keeps its past within a budget."""
    import scalarviz as sv

    net, *pair = network(64, 256)
    session = sv.Session(net, pair, "mse", sv.Adam(1e-3), 64, "cpu", memory=BUDGET)
    return held(lambda: session.advance(EVERY))


def making() -> list[float]:
    """Parameters, seconds, bytes held and most bytes of a network of ten million parameters."""
    import scalarviz as sv

    sv.Network([4, 4])  # loads the modules
    start = time.process_time()
    net = sv.Network(LARGE)
    seconds = time.process_time() - start
    tracemalloc.start()
    net = sv.Network(LARGE)  # again, since counting bytes takes time
    return [len(net.bank), seconds, *tracemalloc.get_traced_memory()]


def held(train) -> list[int]:
    """Bytes held after every 1,000 steps."""
    found = []
    for _ in range(STEPS // EVERY + 1):
        train()
        found.append(resident())
    return found


def resident() -> int:
    """How much memory this process holds; where that is not to be had, the most it ever held."""
    try:
        import resource
    except ImportError:
        return 0
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


SIDES = {"peak": peak, "network": network_grows, "session": session_grows, "making": making}


def report(options: Options) -> None:
    """Bytes per parameter and per sample, and before and after many steps."""
    print("\nMemory of a training, cpu engine, float32, Adam")
    low, high = [answer([__name__, "peak", str(width), "1"]) for width in WIDTHS]
    first, later = [(b - a) / (high[0] - low[0]) for a, b in zip(low[1:], high[1:], strict=True)]
    print(f"    {later:6.1f} bytes a parameter (value, gradient, two moments: 16)", end="; ")
    print(f"{first:.1f} while the network is made")
    low, high = [answer([__name__, "peak", "64", str(batch)]) for batch in BATCHES]
    later = (high[2] - low[2]) / (BATCHES[1] - BATCHES[0])
    print(f"    {later:6.1f} bytes a sample (12 inputs and 3 targets: 60)")
    made = [answer([__name__, "making"]) for _ in range(options.rounds)]
    count, seconds, own, most = (statistics.median(each) for each in zip(*made, strict=True))
    print(
        f"    a network of {count:,.0f} parameters is made in {seconds:.2f} s of processor time; "
        f"{own / count:.1f} bytes a parameter, {(most - own) / 2**20:.1f} MiB more while it is made"
    )
    for side in ("network", "session"):
        found = answer([__name__, side])
        grown = (found[-1] - found[0]) / 2**20
        budget = f", keyframes {BUDGET / 2**20:.0f} MiB at most" if side == "session" else ""
        print(
            f"    {side}: {found[0] / 2**20:.1f} MiB after {EVERY:,} steps, {grown:+.1f} MiB "
            f"after {STEPS:,} more{budget}"
        )
