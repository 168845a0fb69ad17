"""Sweeps: five shapes, fifty seeds each, compared with JAX and PyTorch; clusters; many networks.

    python -m benchmarks sweeps [rounds] [--long]
    python -m benchmarks.sides benchmarks.sweeps ours|replicas|jax|torch xor|rgb
    python -m benchmarks.sides benchmarks.sweeps cluster STEPS
    python -m benchmarks.sides benchmarks.sweeps many

The networks have one hidden layer of 2 to 20 neurons, tanh, then sigmoid, and take 2,000 steps of
SGD on all samples, in float32. JAX trains the seeds of a shape together by `vmap`, all steps in one
call that is compiled for each shape. PyTorch trains one network after the other; a few with eight
hidden neurons are measured, and their time is scaled to all.

--long also measures the cluster with larger tasks.
"""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import time
from importlib.util import find_spec

import numpy as np

from benchmarks.sides import Options, answer, in_turn, seconds_of

WIDTHS = 2, 4, 8, 12, 20
SEEDS = 50
STEPS = 2000
RATE = 0.5
TORCH_NETWORKS = 4
CASES = {
    "xor": ([[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]]),
    "rgb": (
        [[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)],
        [[i & 1, i >> 2 & 1, i >> 1 & 1] for i in range(8)],
    ),
}


def make(case: str, hidden: int = 2, seed: int = 0):
    """One session."""
    import scalarviz as sv

    inputs, targets = CASES[case]
    sizes = [len(inputs[0]), hidden, len(targets[0])]
    net = sv.Network(sizes, "tanh", output="sigmoid", seed=seed)
    return sv.Session(net, (inputs, targets), optimizer=sv.SGD(RATE), engine="cpu", seed=seed)


def xor(hidden: int = 2, seed: int = 0):
    return make("xor", hidden, seed)


def rgb(hidden: int = 2, seed: int = 0):
    return make("rgb", hidden, seed)


MAKERS = {"xor": xor, "rgb": rgb}


def twice(train) -> list[float]:
    """Seconds of the first and of the second call, then of their processor time."""
    times = []
    for _ in range(2):
        start, processor = time.perf_counter(), time.process_time()
        train()
        times.append((time.perf_counter() - start, time.process_time() - processor))
    return [*(wall for wall, _ in times), *(processor for _, processor in times)]


def ours(case: str) -> list[float]:
    import scalarviz as sv

    def train() -> None:
        runs = sv.sweep(MAKERS[case], {"hidden": WIDTHS}, range(SEEDS))
        runs.advance(STEPS, progress=False)

    return twice(train)


def replicas(case: str) -> list[float]:
    import scalarviz as sv

    def train() -> None:
        for hidden in WIDTHS:
            networks = sv.replicate(MAKERS[case](hidden), range(SEEDS))
            networks.advance(STEPS, progress=False)

    return twice(train)


def jax(case: str) -> list[float]:
    import jax as library
    import jax.numpy as jnp

    inputs, targets = (jnp.array(table, jnp.float32) for table in CASES[case])

    def loss(net, x, t):
        (w1, b1), (w2, b2) = net
        y = library.nn.sigmoid(jnp.tanh(x @ w1 + b1) @ w2 + b2)
        return jnp.mean((y - t) ** 2)

    def steps(net):
        def step(_, net):
            slopes = library.grad(loss)(net, inputs, targets)
            return library.tree.map(lambda w, g: w - RATE * g, net, slopes)

        return library.lax.fori_loop(0, STEPS, step, net)

    trained = library.jit(library.vmap(steps))

    def begin(key, hidden):
        keys = library.random.split(key, 4)
        sizes = [
            (inputs.shape[1], hidden),
            (hidden,),
            (hidden, targets.shape[1]),
            (targets.shape[1],),
        ]
        drawn = [
            library.random.uniform(k, s, minval=-0.5, maxval=0.5)
            for k, s in zip(keys, sizes, strict=True)
        ]
        return (drawn[0], drawn[1]), (drawn[2], drawn[3])

    def train() -> None:
        keys = library.random.split(library.random.key(0), SEEDS)
        for hidden in WIDTHS:
            nets = library.vmap(lambda key, hidden=hidden: begin(key, hidden))(keys)
            library.block_until_ready(trained(nets))

    return twice(train)


def torch(case: str) -> list[float]:
    import torch as library

    library.set_num_threads(1)  # the fastest for networks of this size
    inputs, targets = (library.tensor(table, dtype=library.float32) for table in CASES[case])

    def train() -> None:
        for seed in range(TORCH_NETWORKS):
            library.manual_seed(seed)
            net = library.nn.Sequential(
                library.nn.Linear(inputs.shape[1], 8), library.nn.Tanh(),
                library.nn.Linear(8, targets.shape[1]), library.nn.Sigmoid(),
            )  # fmt: skip
            optimizer = library.optim.SGD(net.parameters(), lr=RATE)
            for _ in range(STEPS):
                optimizer.zero_grad()
                library.nn.functional.mse_loss(net(inputs), targets).backward()
                optimizer.step()

    return [seconds * len(WIDTHS) * SEEDS / TORCH_NETWORKS for seconds in twice(train)]


def cluster(steps: str) -> list[float]:
    """Seconds of one process with all cores, and of a cluster that was started before."""
    import distributed

    import scalarviz as sv

    grid = {"hidden": [16, 17, 18, 19, 20, 21]}

    def train(executor: object) -> float:
        runs = sv.sweep(rgb, grid, range(100), executor=executor)
        return seconds_of(runs.advance, int(steps), progress=False)

    with (
        distributed.LocalCluster(
            n_workers=os.cpu_count(), threads_per_worker=1, dashboard_address=None
        ) as started,
        distributed.Client(started) as client,
    ):
        train(None), train(client)  # loads everything
        return [train(None), train(client)]


def many() -> list[float]:
    """Seconds of 10,000 networks, and megabytes that the process took in addition."""
    import scalarviz as sv

    sv.sweep(xor, {"hidden": [3]}, range(2)).advance(2, progress=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    sv.sweep(xor, {"hidden": [2, 4, 8, 16]}, range(2500)).advance(STEPS, progress=False)
    seconds = time.perf_counter() - start
    return [seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024]


SIDES = {
    "ours": ours, "replicas": replicas, "jax": jax, "torch": torch, "cluster": cluster,
    "many": many,
}  # fmt: skip


def report(options: Options) -> None:
    """Each case, the cluster, and many networks."""
    there = ["ours", "replicas", *(name for name in ("jax", "torch") if find_spec(name))]
    for case in CASES:
        print(f"\n{case}: {len(WIDTHS)} shapes, {SEEDS} seeds each, {STEPS:,} steps of all samples")
        times = in_turn({side: [__name__, side, case] for side in there}, options.rounds)
        with tempfile.TemporaryDirectory() as empty:
            cold = answer([__name__, "ours", case], SCALARVIZ_CACHE_DIR=empty)[0]
        names = {
            "ours": "sv.sweep, kernels compiled before", "jax": "JAX, vmap over seeds",
            "torch": "PyTorch, scaled", "replicas": "sv.replicate, the same",
        }  # fmt: skip
        for side in there:
            first, again, *processor = np.median(times[side], axis=0)
            print(
                f"    {names[side]:<34}  first {first:7.2f} s, again {again:6.2f} s; processor "
                f"time {processor[0]:7.2f} s, {processor[1]:6.2f} s"
            )
        print(f"    sv.sweep, kernels compiled in it    first {cold:7.2f} s")
    if find_spec("distributed"):
        for steps in (20_000, 60_000) if options.long else (20_000,):
            rounds = [answer([__name__, "cluster", str(steps)]) for _ in range(options.rounds)]
            here, there_ = map(statistics.median, zip(*rounds, strict=True))
            print(
                f"\n6 settings of 100 networks, {steps:,} steps: here {here:.2f} s, on a Dask "
                f"cluster of this machine {there_:.2f} s, {there_ / here:.2f} of that "
                "(asked for: 1.1)"
            )
    seconds, megabytes = answer([__name__, "many"])
    print(f"\n10,000 networks 2-h-1, {STEPS:,} steps: {seconds:.1f} s, {megabytes:.0f} MB more")
