"""The first minute of `on_gpu`: whether the cuda engine runs, its correctness and its speed."""

from __future__ import annotations

import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.cases import Case
from benchmarks.on_gpu import tell
from benchmarks.on_gpu_machine import SIMULATED
from benchmarks.rivals import torch_model
from benchmarks.sides import seconds_of

Steps = Callable[[int], object]  # takes so many steps, and waits until the card has ended

MAIN = [3, 5, 2] if SIMULATED else [12, 64, 64, 64, 64, 3]
SMALL = [3, 2, 1] if SIMULATED else [3, 16, 16, 3]
WIDE = [3, 5, 2] if SIMULATED else [12, 512, 512, 512, 512, 3]
BATCH, LARGE = (5, 7) if SIMULATED else (1024, 65_536)
SECONDS, ROUNDS = (0.0, 1) if SIMULATED else (0.3, 3)  # of one measurement, and how many
NEAR = 1e-4  # relative to the largest gradient, after three steps in float32
DEVICE = "cpu" if SIMULATED else "cuda"  # of PyTorch
WARM_UP = 11  # steps before one is captured


# ---- trainings ----------------------------------------------------------------------------------


def network(sizes: Sequence[int], dtype: str = "float32", norm: bool = False) -> Any:
    """The network that all sides train; norm: with batch norm before activations."""
    import scalarviz as sv

    if not norm:
        return sv.Network(list(sizes), "leaky_relu", "sigmoid", dtype=dtype, seed=1)
    layers: list[Any] = []
    for a, b in pairwise(sizes[:-1]):
        layers += [sv.Dense(a, b, bias=False), sv.BatchNorm(b), sv.Activation(b, "leaky_relu")]
    return sv.Network([*layers, sv.Dense(*sizes[-2:], "sigmoid")], dtype=dtype, seed=1)


def samples(sizes: Sequence[int], batch: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(batch, sizes[0])), rng.random((batch, sizes[-1]))


def case_of(sizes: Sequence[int], batch: int) -> Case:
    """The same network and training, for the sides that are not ours."""
    return Case(sizes, "leaky_relu", "sigmoid", "Adam", 1e-3, (batch,))


def adam() -> Any:
    import scalarviz as sv

    return sv.Adam(1e-3)


def run_of(net: Any, batches: Any, engine: str = "cuda") -> Any:
    """A training on an engine."""
    import scalarviz as sv

    return net.to(engine)._engine.run(batches, sv.Loss("mse"))


def apart(a: Any, b: Any) -> float:
    """The largest difference over the largest value; infinite if all of these are 0."""
    most = float(abs(a).max(initial=0.0))
    return float(abs(a - b).max(initial=0.0)) / most if most else float("inf")


# ---- a side that is timed -----------------------------------------------------------------------


class Ours:
    """scalarviz: many steps of one batch that is on the card.

    Args:
        whole: False: kernel by kernel
        graphs: False: each by a launch of its own
    """

    def __init__(
        self, sizes: Sequence[int], batch: int, engine: str = "cuda", whole: bool = True,
        graphs: bool = True, norm: bool = False,
    ) -> None:  # fmt: skip
        from scalarviz.data.batches import InOrder

        self.net, self.optimizer = network(sizes, norm=norm), adam()
        self.run = run_of(self.net, InOrder(*samples(sizes, batch)), engine)
        if engine == "cuda":
            self.run.whole_steps &= whole
            self.run._work.steps.graphs &= graphs

    def __call__(self, count: int) -> Any:
        return self.run.steps(self.optimizer, 0, count)

    def facts(self) -> dict[str, Any]:
        """On which path it was."""
        work = getattr(self.run, "_work", None)
        if not hasattr(self.run, "whole_steps"):
            return {}
        found = {"whole": self.run.whole_steps}
        return found | {"blocks": work._together, "refused": work.steps.refused}


def calls(sizes: Sequence[int], batch: int) -> Steps:
    """scalarviz, a step a call."""
    ours = Ours(sizes, batch)
    return lambda count: [ours(1) for _ in range(count)]


def by_torch(
    sizes: Sequence[int], batch: int, graph: bool = False, compiled: str = "", **how: Any
) -> Steps:
    """PyTorch as in its tutorials; graph: a step recorded once as a CUDA graph."""
    import torch

    model, graph = torch_model(case_of(sizes, batch)).to(DEVICE), graph and not SIMULATED
    how |= {"capturable": True} if graph else {}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **how)
    pair = [torch.tensor(x, dtype=torch.float32, device=DEVICE) for x in samples(sizes, batch)]
    criterion, forward = torch.nn.MSELoss(), model
    if compiled:
        forward = torch.compile(model, backend=compiled)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        criterion(forward(pair[0]), pair[1]).backward()
        optimizer.step()

    again: Callable[[], object] = step
    if graph:
        aside, recorded = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                step()
        torch.cuda.current_stream().wait_stream(aside)
        with torch.cuda.graph(recorded):
            step()
        again = recorded.replay

    def steps(count: int) -> None:
        for _ in range(count):
            again()
        if not SIMULATED:
            torch.cuda.synchronize()

    return steps


def there(part: str, package: str) -> bool:
    """Whether a package is installed; if not, it is told."""
    if importlib.util.find_spec(package) is None:
        tell(part, left_out=f"{package} is not installed")
        return False
    return True


def measure(part: str, side: str, make: Callable[[], Steps], **about: Any) -> float:
    """Tell the microseconds a step of a side, or what went wrong; return them, or NaN.

    Calls before the first measurement take as long, so that the card's clocks are up.
    """
    try:
        start = time.perf_counter()
        steps = make()
        steps(2)
        first, count = time.perf_counter() - start, 2
        while (seconds := seconds_of(steps, count)) < SECONDS:
            count = min(10 * count, max(2 * count, int(count * SECONDS / max(seconds, 1e-9)) + 1))
        times = sorted(1e6 * seconds_of(steps, count) / count for _ in range(ROUNDS))
    except Exception as error:  # the other sides are measured nevertheless
        tell(part, side=side, wrong=f"{type(error).__name__}: {error}"[:400], **about)
        return float("nan")
    found, us = getattr(steps, "facts", dict)(), round(statistics.median(times), 2)
    ends = [round(times[0], 2), round(times[-1], 2)]
    tell(
        part, side=side, us=us, from_to=ends, steps=count, first_s=round(first, 2), **about, **found
    )
    return us


# ---- the parts ----------------------------------------------------------------------------------


def barrier() -> None:
    """The kernel that `doctor` runs, in this process, and how long it took to compile."""
    from scalarviz.engines.cuda import probe

    start = time.perf_counter()
    wrong = "" if SIMULATED else probe.run()
    tell("barrier", good=not wrong, said=wrong, compiled_s=round(time.perf_counter() - start, 2))


def right() -> None:
    """Three steps whole, by kernels and on the cpu engine."""
    found = {}
    for side, make in (*PATHS.items(), ("cpu", on_cpu)):
        start = time.perf_counter()
        ours = make(MAIN, BATCH)
        losses, bank = ours(3).losses.tolist(), ours.net.bank
        found[side] = bank.value.copy(), bank.grad.copy()
        seconds = round(time.perf_counter() - start, 2)
        tell("right", side=side, losses=losses, first_s=seconds, **ours.facts())
    whole, kernels, cpu = (np.stack(each) for each in found.values())
    tell("right", what="whole = kernels", good=bool((whole == kernels).all()))
    gradients = apart(cpu[1], whole[1])
    tell("right", what="whole beside cpu", apart=gradients, good=gradients < NEAR)


def speed() -> None:
    """Ours; what is 512 wide runs kernel by kernel, also where a block would have room."""
    one = compare("speed", {"whole": Ours}, MAIN, BATCH)
    call = compare("speed", {"a step a call": calls}, MAIN, BATCH)
    tell("speed", what="host of a call", us=round(call - one, 1))
    for batch in (1, 32):
        compare("speed", {"whole": Ours, "engine cpu": on_cpu}, SMALL, batch)
    compare("speed", {"kernels": kernels, "engine cpu": on_cpu}, MAIN, BATCH)
    compare("speed", {"kernels": kernels, "single launches": launches}, WIDE, BATCH)
    compare("speed", {"whole": Ours}, MAIN, LARGE)


def pytorch() -> None:
    if there("pytorch", "torch"):
        for sizes, batch in ((MAIN, BATCH), (SMALL, 32), (WIDE, BATCH), (MAIN, LARGE)):
            compare("pytorch", {"PyTorch eager": by_torch, "PyTorch graph": graph}, sizes, batch)


def compare(part: str, sides: dict[str, Any], sizes: Sequence[int], batch: int) -> float:
    """Measure some sides; return the microseconds of the last one."""
    for name, make in sides.items():
        us = measure(part, name, partial(make, sizes, batch), sizes=sizes, batch=batch)
    return us


on_cpu = partial(Ours, engine="cpu")
kernels = partial(Ours, whole=False)
launches = partial(Ours, whole=False, graphs=False)
PATHS = {"whole": Ours, "kernels": kernels}  # which have the same bits
graph = partial(by_torch, graph=True, fused=True)
