"""A GPT of 4,192 weights: one training step on a name, beside PyTorch and JAX.

    python -m benchmarks names
    python -m benchmarks.sides benchmarks.names cpu|torch|jax|jax_loop NAME

The network is scenes/names.py: Adam, one name per step. A NAME is read again and again; "" means
all names of the scene in turn, which have 6 letters in the mean. The result is the processor time
of a step in seconds, the minimum over some seconds, because a machine is shared. PyTorch and
JAX get a name without the empty places after it; JAX compiles one program for each length.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from benchmarks.batched_step import NAMES as TITLES
from benchmarks.batched_step import installed, keep_on_cores
from benchmarks.sides import Options, in_turn, print_beside

NAMES = ("tarn", "")
SHAPES = {
    "letters": (27, 16), "places": (16, 16), "query": (16, 16), "key": (16, 16), "value": (16, 16),
    "join": (16, 16), "wide": (64, 16), "narrow": (16, 64), "scores": (27, 16),
}  # fmt: skip
HEADS, RATE, BETAS = 4, 0.01, (0.85, 0.99)
SECONDS = 3.0
LOOP = 256  # steps of a call


def names(name: str) -> list[str]:
    """The names to read, in turn."""
    import scalarviz as sv

    return [name] if name else sv.data.Names().names


def codes(name: str) -> Any:
    """The indices of the signs of a name, from its beginning to its end."""
    return np.array([0, *(ord(letter) - 96 for letter in name), 0], np.int32)


def first_weights() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {key: 0.08 * rng.normal(size=s).astype(np.float32) for key, s in SHAPES.items()}


def cpu(name: str) -> Callable[[], int]:
    """The cpu engine: many steps a call, as in training."""
    from scalarviz.scenes.names import gpt

    import scalarviz as sv

    learned = sv.data.Names(names=names(name), held_out=0)
    net, adam = gpt(27, 16), sv.Adam(RATE, *BETAS)
    session = sv.Session(net, learned, "negative_log_likelihood", adam, batch=1, engine="cpu")

    def steps() -> int:
        session.advance(LOOP)
        return LOOP

    return steps


def torch(name: str) -> Callable[[], int]:
    """PyTorch eager, one call per step, with its own attention."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    w = {key: torch.tensor(each, requires_grad=True) for key, each in first_weights().items()}
    adam = torch.optim.Adam(w.values(), lr=RATE, betas=BETAS)
    read = cycle([torch.from_numpy(codes(each)).long() for each in names(name)])

    def step() -> int:
        signs = next(read)
        count = len(signs) - 1
        x = functional.rms_norm(w["letters"][signs[:-1]] + w["places"][:count], (16,), eps=1e-5)
        parts = [
            (x @ w[key].T).view(count, HEADS, -1).transpose(0, 1)
            for key in ("query", "key", "value")
        ]
        mix = functional.scaled_dot_product_attention(*parts, is_causal=True)
        h = x + mix.transpose(0, 1).reshape(count, 16) @ w["join"].T
        inner = functional.relu(functional.rms_norm(h, (16,), eps=1e-5) @ w["wide"].T)
        y = h + inner @ w["narrow"].T
        loss = functional.cross_entropy(y @ w["scores"].T, signs[1:])
        adam.zero_grad()
        loss.backward()
        adam.step()
        return 1

    return step


def jax_update() -> tuple[Callable[[Any, Any], Any], Any]:
    """One step of JAX, from a state and a name to the next state; and the first state."""
    import jax
    import jax.numpy as jnp

    every = jax.tree_util.tree_map

    def norm(x: Any) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def loss(w: Any, signs: Any) -> Any:
        count = len(signs) - 1
        x = norm(w["letters"][signs[:-1]] + w["places"][:count])
        query, key, value = [
            (x @ w[each].T).reshape(count, HEADS, -1) for each in ("query", "key", "value")
        ]
        scores = jnp.einsum("ihd,jhd->hij", query, key) / math.sqrt(query.shape[-1])
        shares = jax.nn.softmax(jnp.where(jnp.tri(count, dtype=bool), scores, -jnp.inf))
        mix = jnp.einsum("hij,jhd->ihd", shares, value).reshape(count, 16)
        h = x + mix @ w["join"].T
        y = h + jax.nn.relu(norm(h) @ w["wide"].T) @ w["narrow"].T
        logs = jax.nn.log_softmax(y @ w["scores"].T)
        return -logs[jnp.arange(count), signs[1:]].mean()

    def update(state: Any, signs: Any) -> Any:
        w, first, second, count = state
        gradient = jax.grad(loss)(w, signs)
        count, (a, b) = count + 1, BETAS
        first = every(lambda m, g: a * m + (1 - a) * g, first, gradient)
        second = every(lambda v, g: b * v + (1 - b) * g * g, second, gradient)
        rate, root = RATE / (1 - a**count), jnp.sqrt(1 - b**count)
        w = every(lambda p, m, v: p - rate * m / (jnp.sqrt(v) / root + 1e-8), w, first, second)
        return w, first, second, count

    w = every(jnp.asarray, first_weights())
    zeros = every(jnp.zeros_like, w)
    return update, (w, zeros, every(jnp.zeros_like, w), jnp.float32(0))


def jax_step(name: str) -> Callable[[], int]:
    """JAX, jitted, one call per step."""
    import jax

    update, state = jax_update()
    jitted = jax.jit(update)
    read = cycle([codes(each) for each in names(name)])

    def step() -> int:
        nonlocal state
        state = jax.block_until_ready(jitted(state, next(read)))
        return 1

    return step


def jax_loop(name: str) -> Callable[[], int]:
    """JAX, jitted, many steps a call, on names of one length: a loop has arrays of one shape.

    For all names it is one of 6 letters, in the mean of all.
    """
    import jax
    import jax.numpy as jnp

    update, state = jax_update()
    length = len(name) or 6
    read = [name] if name else [each for each in names("") if len(each) == length]
    table = jnp.asarray(np.stack([codes(each) for each in read]))
    jitted = jax.jit(
        lambda state: jax.lax.fori_loop(
            0, LOOP, lambda i, each: update(each, table[i % len(read)]), state
        )
    )

    def steps() -> int:
        nonlocal state
        state = jax.block_until_ready(jitted(state))
        return LOOP

    return steps


def seconds(make: Callable[[str], Callable[[], int]], name: str) -> float:
    """The least processor time of a step, over calls of at least LOOP steps, after warming up."""
    keep_on_cores(1)
    steps = make(name)
    warm = LOOP if name else 2000  # names of all lengths
    while warm > 0:
        warm -= steps()
    least, end = math.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        before, done = time.process_time(), 0
        while done < LOOP:
            done += steps()
        least = min(least, (time.process_time() - before) / done)
    return least


MAKERS = {"cpu": cpu, "torch": torch, "jax": jax_step, "jax_loop": jax_loop}
SIDES = {side: partial(seconds, make) for side, make in MAKERS.items()}


def report(options: Options) -> None:
    """Microseconds of a step on one core, and how many times as fast the cpu engine is."""
    print("\nA GPT of 4,192 weights, one name per step, 1 thread: least processor time")
    for name in NAMES:
        print(f"  {name!r}, again and again" if name else "  2,000 names in turn")
        programs = {side: [__name__, side, name] for side in installed(1)}
        print_beside(TITLES, in_turn(programs, options.rounds))
