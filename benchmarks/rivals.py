"""The same training steps in PyTorch and JAX, written as in their tutorials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import Case, multiplications, steps_a_call


def torch_step(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """PyTorch eager, a call a step."""
    import torch

    torch.set_num_threads(threads)
    model = torch_model(case)
    optimizer = getattr(torch.optim, case.optimizer)(model.parameters(), lr=case.rate)
    inputs, targets = map(torch.from_numpy, case.samples(batch))
    criterion = torch.nn.MSELoss()

    def step() -> float:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def torch_model(case: Case) -> Any:
    """The network of a case."""
    import torch

    kinds = {
        "relu": torch.nn.ReLU,
        "leaky_relu": torch.nn.LeakyReLU,
        "tanh": torch.nn.Tanh,
        "sigmoid": torch.nn.Sigmoid,
        "linear": torch.nn.Identity,
    }
    layers: list[Any] = []
    last = len(case.sizes) - 2
    for i, (a, b) in enumerate(zip(case.sizes, case.sizes[1:], strict=False)):
        layers += [torch.nn.Linear(a, b), kinds[case.output if i == last else case.activation]()]
    return torch.nn.Sequential(*layers)


def jax_step(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """JAX, jitted, a call a step. How many threads it takes, no setting of it decides."""
    import jax

    update, state = jax_update(case, batch)
    jitted = jax.jit(update, donate_argnums=0)

    def step() -> None:
        nonlocal state
        state = jax.block_until_ready(jitted(state))

    return step


def jax_loop(case: Case, batch: int, threads: int) -> Callable[[], object]:
    """JAX, jitted, as many steps a call as the cpu engine takes."""
    import jax

    update, state = jax_update(case, batch)
    count = steps_a_call(batch, multiplications(case.sizes, batch))
    jitted = jax.jit(
        lambda state: jax.lax.fori_loop(0, count, lambda _, each: update(each), state),
        donate_argnums=0,
    )

    def steps() -> None:
        nonlocal state
        state = jax.block_until_ready(jitted(state))

    return steps


def jax_update(case: Case, batch: int) -> tuple[Callable[[Any], Any], Any]:
    """One step, from a state to the next; and the first state: parameters, optimizer's, loss."""
    import jax
    import jax.numpy as jnp

    inputs, targets = map(jnp.asarray, case.samples(batch))
    every = jax.tree_util.tree_map
    model = jax_model(case)

    def loss(parameters: Any) -> Any:
        return jnp.mean((model(parameters, inputs) - targets) ** 2)

    def sgd(state: Any) -> Any:
        parameters, _ = state
        value, gradient = jax.value_and_grad(loss)(parameters)
        return every(lambda w, g: w - case.rate * g, parameters, gradient), value

    def adam(state: Any) -> Any:
        parameters, (first, second, count), _ = state
        value, gradient = jax.value_and_grad(loss)(parameters)
        count = count + 1
        first = every(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = every(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
        rate = case.rate / (1 - 0.9**count)
        root = jnp.sqrt(1 - 0.999**count)
        moved = every(
            lambda w, m, v: w - rate * m / (jnp.sqrt(v) / root + 1e-8), parameters, first, second
        )
        return moved, (first, second, count), value

    parameters = first_parameters(case)
    start = every(jnp.asarray, parameters)
    if case.optimizer == "SGD":
        return sgd, (start, jnp.float32(0))
    moments = [every(jnp.zeros_like, start) for _ in range(2)]
    return adam, (start, (*moments, jnp.float32(0)), jnp.float32(0))


def jax_model(case: Case) -> Callable[[Any, Any], Any]:
    """The network of a case, as a function of its parameters and inputs."""
    import jax
    import jax.numpy as jnp

    kinds: dict[str, Callable[[Any], Any]] = {
        "relu": jax.nn.relu,
        "leaky_relu": jax.nn.leaky_relu,
        "tanh": jnp.tanh,
        "sigmoid": jax.nn.sigmoid,
        "linear": lambda x: x,
    }

    def model(parameters: Any, x: Any) -> Any:
        for i, (weights, biases) in enumerate(parameters):
            last = i == len(parameters) - 1
            x = kinds[case.output if last else case.activation](x @ weights + biases)
        return x

    return model


def first_parameters(case: Case) -> list[Any]:
    """Weights and biases of every layer, drawn as PyTorch draws them, for x @ W + b."""
    rng = np.random.default_rng(0)
    layers = []
    for a, b in zip(case.sizes, case.sizes[1:], strict=False):
        bound = 1 / math.sqrt(a)
        shapes = [(a, b), (b,)]
        layers.append([rng.uniform(-bound, bound, s).astype(np.float32) for s in shapes])
    return layers
