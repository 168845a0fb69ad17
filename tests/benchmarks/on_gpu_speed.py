"""The speed of the cuda engine beside PyTorch and JAX on the same card; a part of `on_gpu`.

Each side is a process of its own, so that none compiles or allocates for another. All have trained
some hundred steps, and so compiled, before the first is measured; then they take turns, and a time
is the median of the rounds. All sides train the same network on one batch that is on the card, by
Adam, in float32, and a measurement ends when the card has finished. PyTorch eager is written as in
its tutorials, without `capturable`. Precision is what each library does by default: PyTorch does
not round the factors of products, JAX may round them to tf32, which is to its advantage.

In the simulator the others run on the processor, without graphs: so their code is tested.
"""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from tests.benchmarks.on_gpu_machine import SIMULATED, Tell, card

Step = Callable[[], object]

DEVICE = "cpu" if SIMULATED else "cuda"  # of PyTorch
MAIN = [2, 3, 1] if SIMULATED else [12, 64, 64, 64, 64, 3]
SMALL = [3, 2, 1] if SIMULATED else [3, 16, 16, 3]
WIDE = [2, 3, 1] if SIMULATED else [12, 512, 512, 512, 512, 3]
BATCHES = (1, 3) if SIMULATED else (1, 32, 1024)
STEPS = 1 if SIMULATED else 500  # in one measurement
WARM_UP = 20
ANSWER = "answer:"  # begins the lines of a side
ROUNDS = 1 if SIMULATED else 9
START_SECONDS = 100.0  # for a side to import, compile and train its first steps
ROUND_SECONDS = 30.0


def samples(sizes: list[int], batch: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(batch, sizes[0])), rng.random((batch, sizes[-1]))


# ---- the sides: functions that take STEPS steps and wait for the card ---------------------------


def network(sizes: list[int], norm: bool = False) -> Any:
    """The network that all sides train; norm: with batch norm before activations."""
    import scalarviz as sv

    if not norm:
        return sv.Network(sizes, "leaky_relu", "sigmoid", seed=1)
    layers: list[Any] = []
    for a, b in pairwise(sizes[:-1]):
        layers += [sv.Dense(a, b, bias=False), sv.BatchNorm(b), sv.Activation(b, "leaky_relu")]
    return sv.Network([*layers, sv.Dense(*sizes[-2:], "sigmoid")], seed=1)


def ours(
    sizes: list[int], batch: int, a_call: int = STEPS, norm: bool = False, graphs: bool = True
) -> Step:  # fmt: skip
    """scalarviz; graphs: False: kernel by kernel."""
    import scalarviz as sv
    from scalarviz.data.batches import InOrder
    from scalarviz.engines.cuda.fused.launch import is_on

    net = network(sizes, norm)
    net.to("cuda")
    run = net._engine.run(InOrder(*samples(sizes, batch)), sv.Loss("mse"))
    run._work.steps.graphs = run._work.steps.graphs and graphs
    optimizer = sv.Adam(1e-3)

    def steps() -> None:
        for first in range(0, STEPS, a_call):
            run.steps(optimizer, first, a_call)
        kernel = run._work._fused
        if kernel.wrong is not None:  # else the other kernels would be measured
            raise kernel.wrong
        if is_on() and not kernel.launches and not SIMULATED:
            raise RuntimeError("the fused kernel does not take this network")

    return steps


def ours_fused(sizes: list[int], batch: int) -> Step:
    from scalarviz.engines.cuda.fused.launch import SWITCH

    os.environ[SWITCH] = "1"
    return ours(sizes, batch)


def torch_parts(
    sizes: list[int], batch: int, norm: bool = False, **how: Any
) -> tuple[Any, Any, Any, Any]:
    import torch

    layers: list[Any] = []
    for i, (a, b) in enumerate(pairwise(sizes)):
        last = i == len(sizes) - 2
        layers += [torch.nn.Linear(a, b, bias=last or not norm)]
        layers += [torch.nn.BatchNorm1d(b)] if norm and not last else []
        layers += [torch.nn.Sigmoid() if last else torch.nn.LeakyReLU()]
    model = torch.nn.Sequential(*layers).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **how)
    on_card = [torch.tensor(x, dtype=torch.float32, device=DEVICE) for x in samples(sizes, batch)]
    return model, optimizer, *on_card


def compiled_forward(model: Any) -> Any:
    """The model by torch.compile; in the simulator without a compiler, which takes a minute."""
    import torch

    return torch.compile(model, backend="eager" if SIMULATED else "inductor")


def finish() -> None:
    """Wait until the card has done all that PyTorch asked of it."""
    import torch

    if not SIMULATED:
        torch.cuda.synchronize()


def torch_eager(sizes: list[int], batch: int, compiled: bool = False, **how: Any) -> Step:
    """PyTorch, a step a call."""
    import torch

    model, optimizer, inputs, targets = torch_parts(sizes, batch, **how)
    criterion, forward = torch.nn.MSELoss(), compiled_forward(model) if compiled else model

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            criterion(forward(inputs), targets).backward()
            optimizer.step()
        finish()

    return steps


def torch_autocast(sizes: list[int], batch: int) -> Step:
    """PyTorch's mixed precision, as its tutorials write it."""
    import torch

    model, optimizer, inputs, targets = torch_parts(sizes, batch)
    criterion, scaler = torch.nn.MSELoss(), torch.amp.GradScaler(DEVICE)

    def steps() -> None:
        for _ in range(STEPS):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(DEVICE, dtype=torch.float16):
                error = criterion(model(inputs), targets)
            scaler.scale(error).backward()
            scaler.step(optimizer)
            scaler.update()
        finish()

    return steps


def torch_graph(sizes: list[int], batch: int, compiled: bool = False, **how: Any) -> Step:
    """PyTorch, a step recorded once as a CUDA graph."""
    import torch

    how |= {} if SIMULATED else {"capturable": True}
    model, optimizer, inputs, targets = torch_parts(sizes, batch, **how)
    criterion, forward = torch.nn.MSELoss(), compiled_forward(model) if compiled else model

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        criterion(forward(inputs), targets).backward()
        optimizer.step()

    replay = step if SIMULATED else captured(step)

    def steps() -> None:
        for _ in range(STEPS):
            replay()
        finish()

    return steps


def captured(step: Step) -> Step:
    """A CUDA graph of a step, which it takes some times before, on another stream."""
    import torch

    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            step()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        step()
    replay: Step = graph.replay
    return replay


def jax_steps(sizes: list[int], batch: int, in_a_loop: bool) -> Step:
    """JAX, jitted: a step a call, or all steps in one."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(1)
    shapes = list(pairwise(sizes))
    weights = [jnp.asarray(rng.normal(size=s, scale=0.1), jnp.float32) for s in shapes]
    parameters = [(w, jnp.zeros(w.shape[1], jnp.float32)) for w in weights]
    inputs, targets = [jnp.asarray(x, jnp.float32) for x in samples(sizes, batch)]

    def loss(parameters: Any) -> Any:
        y = inputs
        for i, (w, b) in enumerate(parameters):
            z = y @ w + b
            y = jax.nn.sigmoid(z) if i == len(parameters) - 1 else jax.nn.leaky_relu(z)
        return jnp.mean((y - targets) ** 2)

    each = jax.tree_util.tree_map

    def update(state: Any) -> Any:
        now, m, v, count = state
        g = jax.grad(loss)(now)
        count = count + 1
        m = each(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = each(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate, root = 1e-3 / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
        now = each(lambda w, m, v: w - rate * m / (jnp.sqrt(v) / root + 1e-8), now, m, v)
        return now, m, v, count

    zeros = each(jnp.zeros_like, parameters)
    state: Any = parameters, zeros, zeros, jnp.float32(0)
    loop = jax.jit(lambda s: jax.lax.fori_loop(0, STEPS, lambda _, x: update(x), s))
    once = jax.jit(update)

    def steps() -> None:
        nonlocal state
        if in_a_loop:
            state = loop(state)
        else:
            for _ in range(STEPS):
                state = once(state)
        jax.block_until_ready(state)

    return steps


FUSED = "cuda, fused kernel"
KEPT = 1.5  # times faster than the other kernels, or it is taken out again
DECIBELS = 10.0 if SIMULATED else 21.0

SIDES: dict[str, tuple[str, Callable[[list[int], int], Step]]] = {
    "cuda, 500 steps a call": ("scalarviz", ours),
    FUSED: ("scalarviz", ours_fused),
    "cuda, a step a call": ("scalarviz", lambda s, b: ours(s, b, a_call=1)),
    "PyTorch eager": ("torch", torch_eager),
    "PyTorch eager, fused Adam": ("torch", lambda s, b: torch_eager(s, b, fused=True)),
    "PyTorch compiled, fused Adam": ("torch", lambda s, b: torch_eager(s, b, True, fused=True)),
    "PyTorch graph": ("torch", torch_graph),
    "PyTorch graph, fused Adam": ("torch", lambda s, b: torch_graph(s, b, fused=True)),
    "PyTorch graph, compiled": ("torch", lambda s, b: torch_graph(s, b, True, fused=True)),
    "PyTorch autocast": ("torch", torch_autocast),
    "JAX, a step a call": ("jax", lambda s, b: jax_steps(s, b, False)),
    "JAX, 500 steps a call": ("jax", lambda s, b: jax_steps(s, b, True)),
    "cuda, single launches": ("scalarviz", lambda s, b: ours(s, b, graphs=False)),
    "cuda, batch norm": ("scalarviz", lambda s, b: ours(s, b, norm=True)),
    "cuda, batch norm, single launches": (
        "scalarviz", lambda s, b: ours(s, b, norm=True, graphs=False)
    ),
    "PyTorch eager, batch norm": ("torch", lambda s, b: torch_eager(s, b, norm=True)),
    "PyTorch graph, batch norm": ("torch", lambda s, b: torch_graph(s, b, norm=True, fused=True)),
}  # fmt: skip


def side(name: str, sizes: list[int], batch: int) -> None:
    """Be one side: warm up, then measure whenever a line is read, and print the seconds a step."""
    steps = SIDES[name][1](sizes, batch)
    steps()
    print(f"{ANSWER} ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        steps()
        print(ANSWER, (time.perf_counter() - start) / STEPS, flush=True)


class Beside:
    """A side in a process of its own."""

    def __init__(self, name: str, sizes: list[int], batch: int) -> None:
        words = [name, json.dumps(sizes), str(batch)]
        self.name, self.times, self.wrong = name, list[float](), ""
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # read when the side has ended
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.on_gpu_speed", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        self.answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """Put each answer into the queue, and "" when the side has ended."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(ANSWER):  # others are those of libraries
                self.answers.put(line.removeprefix(ANSWER).strip())
        self.answers.put("")

    def answer(self, seconds: float) -> str:
        """What the side answers next; "" if it does not, which `wrong` explains."""
        try:
            found = self.answers.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            self.wrong = f"no answer in {seconds:.0f} s"
            return ""
        if not found:
            self.errors.seek(0)
            self.wrong = (self.errors.read().strip().splitlines() or ["it ended"])[-1]
        return found

    def measure(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = self.answer(ROUND_SECONDS)
        if found:
            self.times.append(float(found))


def compare(tell: Tell, what: str, names: list[str], sizes: list[int], batch: int) -> bool:
    """Measure some sides in turn, and tell each one's median and its ratio to ours."""
    there = [name for name in names if importlib.util.find_spec(SIDES[name][0])]
    for name in names:
        if name not in there:
            tell(what, side=name, left_out=f"{SIDES[name][0]} is not installed")
    sides = [Beside(name, sizes, batch) for name in there]
    start = time.monotonic()
    for each in sides:
        each.answer(START_SECONDS - (time.monotonic() - start))
    for _ in range(ROUNDS):
        for each in sides:
            if not each.wrong:
                each.measure()
    clocks = card("")
    for each in sides:
        each.process.kill()
        each.process.wait()
    medians = {each.name: statistics.median(each.times) for each in sides if each.times}
    mine = medians.get(names[0], float("nan"))
    for each in sides:
        if each.wrong:
            tell(what, side=each.name, sizes=sizes, batch=batch, wrong=each.wrong)
        else:
            middle, ends = medians[each.name], (min(each.times), max(each.times))
            ratio = round(middle / mine, 2)
            tell(
                what, side=each.name, sizes=sizes, batch=batch, us=round(1e6 * middle, 2),
                us_from_to=[round(1e6 * end, 2) for end in ends], times_ours=ratio,
            )  # fmt: skip
    if FUSED in medians:
        faster = round(mine / medians[FUSED], 2)
        tell(what, verdict_on=FUSED, times_faster=faster, kept=faster >= KEPT)
    tell(what, sizes=sizes, batch=batch, card_afterwards=clocks)
    return not any(each.wrong for each in sides if each.name.startswith("cuda"))


OURS = "cuda, 500 steps a call"
# Who is compared first, since time may run out: ours in three ways, and the likely best of others.
FIRST = [
    OURS, FUSED, "cuda, a step a call", "PyTorch eager", "PyTorch graph, fused Adam",
    "JAX, 500 steps a call",
]  # fmt: skip


# Of networks that run kernel by kernel.
WIDE_ONES = [OURS, "cuda, single launches", "PyTorch eager", "PyTorch graph, fused Adam"]
NORMED = [
    "cuda, batch norm", "cuda, batch norm, single launches", "PyTorch eager, batch norm",
    "PyTorch graph, batch norm",
]  # fmt: skip


def large(tell: Tell) -> bool:
    """Networks that run kernel by kernel: with a graph for a step, and without."""
    good = compare(tell, "large", NORMED, MAIN, BATCHES[-1])
    return compare(tell, "large", WIDE_ONES, WIDE, BATCHES[-1]) and good


def speed(tell: Tell) -> bool:
    """A step of the network of the floors, and of a small one, beside PyTorch and JAX."""
    good = compare(tell, "speed", FIRST, MAIN, BATCHES[-1])
    few = [OURS, FUSED, "PyTorch graph, fused Adam", "JAX, 500 steps a call"]
    for batch in BATCHES:
        good = compare(tell, "speed", few, SMALL, batch) and good
    others = [name for name in SIDES if name not in [*FIRST, *WIDE_ONES, *NORMED]]
    return compare(tell, "speed", [OURS, *others], MAIN, BATCHES[-1]) and good


def texture_of(seed: int, engine: str = "cpu") -> Any:
    """A training of a picture."""
    import scalarviz as sv
    from tests.benchmarks.cases import texture_session
    from tests.benchmarks.texture import picture

    if not SIMULATED:
        session = texture_session(picture(), seed)
        session.to(engine)
        return session
    net = sv.Network([sv.FrequencyEncoding(2, octaves=1), sv.Dense(4, 3, "sigmoid")], seed=seed)
    loss, task = sv.Loss("mse", mean="samples"), sv.data.Texture(np.full((4, 4, 3), 0.4))
    return sv.Session(net, task, loss, sv.Adam(0.1), batch=4, engine=engine, seed=seed)


def texture(tell: Tell) -> bool:
    """Seconds of training until a picture is learnt to 21 dB; the PSNR is not timed."""
    from scalarviz import data

    a_call, good = (2, True) if SIMULATED else (250, True)
    texture_of(0, "cuda").advance(a_call)  # loads the kernels
    for seed in range(1 if SIMULATED else 3):
        session = texture_of(seed, "cuda")
        points, colors = session.data.pixels()
        spent, decibels = 0.0, 0.0
        while decibels < DECIBELS and session.step_index < 80 * a_call:
            start = time.perf_counter()
            session.advance(a_call)
            spent += time.perf_counter() - start
            decibels = float(data.psnr(session.network(points), colors))
        good = good and decibels >= DECIBELS
        tell(
            "texture", seed=seed, decibels=round(decibels, 2), steps=session.step_index,
            seconds=round(spent, 3), good=decibels >= DECIBELS,
        )  # fmt: skip
    return good


def growth(tell: Tell) -> bool:
    """A step of ours over sizes of batches and widths, in microseconds."""
    import scalarviz as sv
    from scalarviz.data.batches import InOrder

    shapes = [(MAIN, 4**i) for i in range(2 if SIMULATED else 9)]
    if not SIMULATED:
        shapes += [([16, width, width, width, 3], 256) for width in (16, 64, 256, 1024, 2048)]
    for sizes, batch in shapes:
        net = network(sizes).to("cuda")
        run = net._engine.run(InOrder(*samples(sizes, batch)), sv.Loss("mse"))
        count, optimizer = 2 if SIMULATED else 20, sv.Adam(1e-3)
        for whole in [True, False][not run.whole_steps :]:
            run.whole_steps = whole
            run.steps(optimizer, 0, 2)
            times = []
            for _ in range(3):
                start = time.perf_counter()
                run.steps(optimizer, 0, count)
                times.append((time.perf_counter() - start) / count)
            tell(
                "growth", sizes=sizes, batch=batch, whole_steps=whole,
                us=round(1e6 * statistics.median(times), 1),
            )  # fmt: skip
    return True


if __name__ == "__main__":
    side(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]))
