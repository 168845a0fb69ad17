"""Data for training in a page: a module with kernels, its memory image, and memory addresses.

`web/engine.js` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from scalarviz.base.checks import FloatArray
from scalarviz.core.bank import SCALING, Bank
from scalarviz.core.formulas.initializers import Init, Law
from scalarviz.core.layers import Dropout, Layer
from scalarviz.core.layers.dense import PerceptronLayer
from scalarviz.data.batches import Batches, TableBatches
from scalarviz.engines.codegen.kernel_units import Unit
from scalarviz.engines.registry import ENGINES, missing_for_cpu
from scalarviz.engines.wasm.compile_module import STACK, end_of_data
from scalarviz.engines.wasm.module import module_of, shared_module
from scalarviz.engines.wasm.page_memory import PAGE, PageMemory, PageTraining, others_than
from scalarviz.errors import EngineError
from scalarviz.training.network.network import Network
from scalarviz.training.session.branches import Clock
from scalarviz.training.session.reading import NetworkCopy
from scalarviz.training.session.session import Session
from scalarviz.training.session.trainer import Trainer

LARGEST = 2**30  # maximum bytes of memory of a page
MOST_STARTED = 5_000  # maximum initial parameters in a page that starts at a later step


class EngineData(NamedTuple):
    """A WebAssembly module, its memory image, and the entry "engine" in the spec of a page."""

    module: bytes
    image: bytes
    spec: dict[str, Any]


def engine_data(
    session: Session,
    probe: FloatArray | None = None,
    check: Callable[[bytes], object] = len,
) -> EngineData:
    """Return the data with which a page continues a session from its current step.

    Args:
        session: the session
        probe: inputs, shape (samples, inputs), whose outputs the page always shows; by default None
        check: function that checks the memory image, called before the slow compilation of kernels;
            afterwards only addresses in the image change

    Raises:
        EngineError: if a page cannot train this session, or if it would need more than LARGEST
            bytes of memory.
    """
    reason = why_not(session)
    if reason:
        raise EngineError(reason)
    trainer = session.trainer
    asked = np.zeros((0, session.network.inputs)) if probe is None else probe
    units, module = shared_of(trainer) or (training_of(trainer, 0).units(), b"")

    def memory_from(first: int) -> PageMemory:
        with session.doing():
            timeline = session.timeline
            step, operation = timeline.clock.place
            now = timeline.clock.actions
            done = len(timeline.branch.actions_at((step, 0))) if operation else now
            with timeline.visit(Clock(step, 0, done)), own_slots_only(trainer.bank):
                return PageMemory(training_of(trainer, step), units, asked, first)

    before = memory_from(STACK)
    refuse_large_memory(before)
    check(before.image)
    module = module or module_of(units, trainer.bank.dtype)
    memory = memory_from(end_of_data(module))
    refuse_large_memory(memory)
    is_table = isinstance(trainer.batches, TableBatches)
    spec = memory.spec | {"initial": initial_data(session.network), "table": is_table}
    spec |= {"start": start_of(session)}
    return EngineData(module, memory.image, spec)


def start_of(session: Session) -> dict[str, list[float]] | None:
    """Return the parameters with which a training run began.

    The result is None at step 0, or if the parameters are unknown or too many.
    """
    network = NetworkCopy(session).begun() if session.step_index else None
    if network is None or len(network.bank.value) > MOST_STARTED:
        return None
    return {"value": network.bank.value.tolist(), "state": network.bank.state.tolist()}


@contextmanager
def own_slots_only(bank: Bank) -> Iterator[None]:
    """Remove the slots that are added in this context, as other optimizers may use their names."""
    known = set(bank.blocks)
    try:
        yield
    finally:
        for names in bank.blocks.keys() - known:
            del bank.blocks[names]


def refuse_large_memory(memory: PageMemory) -> None:
    """Raise EngineError if a page would need more than LARGEST bytes of memory."""
    needed = PAGE * memory.spec["pages"]
    if needed > LARGEST:
        raise EngineError(
            f"a page would need {needed / 1e6:,.0f} MB of memory for this session, and "
            f"{LARGEST / 1e6:,.0f} MB is the limit: use smaller batches, a smaller network or "
            "fewer samples"
        )


def training_of(trainer: Trainer, step: int) -> PageTraining:
    """Return the state of a trainer before a step, in the form for pages."""
    settings = trainer.settings
    return PageTraining(
        trainer.network.program,
        trainer.bank,
        trainer.batches,
        trainer.loss,
        settings.optimizer,
        settings.precision,
        step,
        others_than(settings.optimizer),
    )


def why_not(session: Session) -> str:
    """Return a sentence that explains why a page cannot train a session; "" if it can."""
    if not session.network.layers:
        return (
            f"a page trains networks of layers, not {type(session.network).__name__}: make the "
            "function a Network, or record a video of it"
        )
    if session.trainer.recorded is not None:
        return "a page cannot run the steps of a followed training run: record it with engine=False"
    if session.trainer.batches.weights is not None:
        return (
            "the kernels of a page do not support sample weights: record this training run with "
            "engine=False, or leave out sample_weight and class_weight"
        )
    for operation in ENGINES["cpu"].lacking(session.network.program):
        return (
            f"a page has no kernels for {operation.owner}, which runs as Python: record this "
            "training run with engine=False, or make it of layers that lower to operations with "
            "kernels"
        )
    if type(session.trainer.batches).block is not Batches.block:
        return (
            f"the batches of {type(session.data).__name__} are made by Python during training, "
            "which a page does not have: train on a table, such as sv.data.Arrays, or record it "
            "with engine=False"
        )
    if (lack := missing_for_cpu()) and shared_of(session.trainer) is None:
        return (
            f"the kernels of a page cannot be compiled here: {lack}; record this training run "
            "with engine=False"
        )
    return ""


def shared_of(trainer: Trainer) -> tuple[list[Unit], bytes] | None:
    """Return the shared module with the kernels of a trainer; None if it lacks a kernel."""
    return shared_module(training_of(trainer, 0).units(), trainer.bank.dtype)


# Drawing of initial parameters for another seed in a page.

LARGEST_SEED = 2**52  # larger seeds are not exact in JavaScript
Draw = tuple[int, int, bool, float, float]  # first row, count, whether normal, two parameters


def initial_data(network: Network) -> dict[str, Any]:
    """Return data from which a page computes the parameters of `Network(seed=k)` for any seed k.

    seed    seed of the network; 0 if it is too large for JavaScript
    draws   ranges of random rows: first row, count, whether the distribution is normal, and its
            parameters (mean and deviation if normal, otherwise low and high)
    fixed   ranges of nonzero rows that do not depend on the seed: first row, count, number
    state   the non-parameter state without the loss scale
    seeds   indices into `state` where the two halves of a seed are stored
    """
    layers = [*all_layers(network.layers)]
    draws = [draw for layer in layers for draw in draws_of(layer, network.init)]
    plain = network.fresh(0)
    fixed = plain.bank.value.astype(np.float64)
    for first, count, *_ in draws:
        fixed[first : first + count] = 0.0
    places = [layer.first_state for layer in layers if isinstance(layer, Dropout)]
    return {
        "seed": network.seed if network.seed < LARGEST_SEED else 0,
        "draws": [list(draw) for draw in draws],
        "fixed": runs_of(fixed),
        "state": plain.bank.state[SCALING:].tolist(),
        "seeds": [place - SCALING for place in places],
    }


def all_layers(layers: Iterable[Layer]) -> Iterator[Layer]:
    """Yield all layers without duplicates; a layer that contains others is replaced by these."""
    for layer in dict.fromkeys(layers):
        if layer.layers:
            yield from all_layers(layer.layers)
        else:
            yield layer


def draws_of(layer: Layer, init: Init) -> Iterator[Draw]:
    """Yield the random draws that initialize a layer: first its weights, then its biases."""
    if not isinstance(layer, PerceptronLayer):
        return
    own, count = layer.init or init, layer.fan_in * layer.count
    first, end = layer.first_row, layer.rows.stop
    for law, low, high in (
        (own.weight, first, first + count),
        (own.bias, first + count, end),
    ):
        if high > low and law.kind != "function":
            yield (low, high - low, law.kind == "normal", *spread(own, law, layer))


def spread(init: Init, law: Law, layer: PerceptronLayer) -> Any:
    """Return the two parameters of the distribution that initializes a layer."""
    fan_in, fan_out = layer.fans()
    return law.spread(float(fan_in), float(fan_out), *init.settings.values())


def runs_of(numbers: Any) -> list[list[float]]:
    """Return the first index, count and value of each run of equal nonzero numbers."""
    starts = np.flatnonzero(np.diff(numbers, prepend=np.nan) != 0.0)
    counts = np.diff(starts, append=len(numbers))
    runs = zip(starts.tolist(), counts.tolist(), numbers[starts].tolist(), strict=True)
    return [[*run] for run in runs if run[2] != 0.0]
