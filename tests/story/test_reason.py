"""The chain of a reason says what a step of its weight does to the shown sample."""

import math
import re
from typing import Any

import numpy as np
import pytest

import scalarviz as sv
from scalarviz.base.texts import text
from scalarviz.core.program import Program
from scalarviz.scene.telling import wish_words
from scalarviz.story.caption import Caption, head_of
from scalarviz.training.session.reading import caption, state_of
from tests.story.caption_reader import closes

NETWORKS = [
    (sizes, kinds)
    for sizes in ((3, 8, 3), (2, 4, 2, 1), (2, 6, 2), (1, 5, 1), (4, 3, 3, 3, 2))
    for kinds in (("tanh", "sigmoid"), ("leaky_relu", "linear"))
]
FORMULAS: dict[str, Any] = {
    "tanh": np.tanh,
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "leaky_relu": lambda z: np.where(z > 0.0, z, 0.01 * z),
    "linear": lambda z: z,
}
STEP = 1e-7


def session_of(sizes: tuple[int, ...], kinds: tuple[str, str], seed: int) -> sv.Session:
    rng = np.random.default_rng(seed)
    inputs, targets = rng.normal(size=(8, sizes[0])), rng.uniform(0.1, 0.9, size=(8, sizes[-1]))
    network = sv.Network([*sizes], *kinds, seed=seed, dtype="float64")
    return sv.Session(network, (inputs, targets), optimizer=sv.SGD(0.2), batch=4, engine="python")


def passed(program: Program, bank: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    """What each buffer holds, by numpy."""
    held = {program.inputs.name: x}
    for each in program.operations:
        source = held[each.sources[0].name]
        if each.kind == "activation":
            held[each.target.name] = FORMULAS[each.formula](source)
            continue
        count = each.target.size * len(source)
        weights = bank[each.weights : each.weights + count].reshape(each.target.size, -1)
        biases = bank[each.biases : each.biases + each.target.size]
        held[each.target.name] = weights @ source + biases
    return held


def is_true(session: sv.Session, row: int, found: Caption) -> bool:
    """Whether a small step of this weight alone does what its reason says."""
    program, state = session.network.program, state_of(session)
    bank, x = np.array(state.value), np.array(state.values[program.inputs.name])
    moved = bank.copy()
    moved[row] -= math.copysign(STEP, state.grad[row])
    old, new = (passed(program, numbers, x) for numbers in (bank, moved))
    off = [np.abs(held[program.outputs.name] - state.target) for held in (old, new)]
    if not found.why.startswith("Then "):
        way = text("captions.way.up" if moved[row] > bank[row] else "captions.way.down")
        others = found.why.endswith(f"{way}.")
        return others and bool((off[1] ** 2).sum() >= (off[0] ** 2).sum() - 1e-12)
    name, unit = found.neurons[0]
    words = found.why.removeprefix("Then ").partition(":")[0]
    rises = new[name][unit] > old[name][unit]
    more = words.startswith(text("reason.more", name="")) or words.endswith(
        text("reason.rises", name="")
    )
    return bool(rises == more and off[1][unit] < off[0][unit])


def checked(network: int, steps: int) -> tuple[int, int, int]:
    """Chains that were true, those of other samples among them, and weights without a chain."""
    sizes, kinds = NETWORKS[network]
    session, true, others, none = session_of(sizes, kinds, network), 0, 0, 0
    rng = np.random.default_rng(0)
    for _ in range(steps):
        for moment in session.operations:
            session.advance(1, "operation")
            if not moment.startswith("weight gradient"):
                continue
            operation = session.network.program.operations[int(moment.split()[-1]) * 2]
            row = int(rng.choice(operation.parameters))
            found = caption(session, row)
            is_reason = found.why != ""
            none += not is_reason
            if is_reason:
                assert is_true(session, row, found), (row, found.why)
                true += 1
                others += not found.why.startswith("Then ")
    return true, others, none


def test_a_reason_at_an_output_has_its_blame_as_input_times_error() -> None:
    why, comes = "Then less green: closer to the goal.", "input .68 × blame .10 = .07, mean .02"
    words = wish_words(Caption("Lower.", why=why, comes=comes), -0.3, 0.5)
    assert words[1] == comes and words[-1] == why and len(words) == 4
    session = session_of(*NETWORKS[0], 0)
    session.advance(session.operations.index("weight gradient 1") + 1, "operation")
    said, state = caption(session, None), state_of(session)
    assert said.why.startswith("Then ") and len(said.misses) == 1
    found = re.match(
        r"input (\S+) × blame (\S+) = (\S+)\. Mean \(of \d+\) (\S+) × rate", said.comes
    )
    assert found is not None
    came, error, blame, mean = (each.replace("−", "-") for each in found.groups())
    digits = len(blame.partition(".")[2])
    assert round(float(came) * float(error), digits) == float(blame)  # as a calculator has it
    (target, unit), (source, place) = said.neurons
    assert float(came) == pytest.approx(state.values[source][place], abs=0.006)
    assert float(error) == pytest.approx(-state.gradients[target][unit] * state.batch, rel=0.06)
    assert float(mean) == pytest.approx(-state.grad[said.rows[0]], rel=0.06)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    "optimizer",
    [sv.SGD(0.2), sv.SGD(0.05), sv.SGD(0.2, l2=0.1), sv.Momentum(0.2), sv.Adam(0.01)],
    ids=str,
)
def test_a_plain_step_is_blame_times_rate_in_numbers_that_close(optimizer: Any, batch: int) -> None:
    rng, told = np.random.default_rng(0), 0
    data = rng.normal(size=(8, 3)), rng.uniform(size=(8, 2))
    network = sv.Network([3, 4, 2], "tanh", "sigmoid", seed=1, dtype="float64")
    session = sv.Session(network, data, optimizer=optimizer, batch=batch, engine="python")
    for _ in range(5):
        for moment in network.program.moments:
            session.advance(1, "operation")
            words = caption(session, None).comes
            if moment.kind != "weight gradient" or " × rate " not in words:
                continue
            row, rule = caption(session, None).rows[0], words.partition(". ")[2]
            change = closes(rule)
            old, new = (float(each.replace("−", "-")) for each in rule.split(": ")[1].split(" → "))
            assert old + change == pytest.approx(new, abs=1e-9) and change != 0.0
            assert change == pytest.approx(-optimizer.lr * session.network.bank.grad[row], rel=0.07)
            assert old == pytest.approx(session.network.bank.value[row], abs=0.006)
            assert head_of(caption(session, None)).endswith(("lower.", "higher."))  # said once
            told += 1
    assert (told > 8) if type(optimizer) is sv.SGD and optimizer.l2 == 0.0 else told == 0


@pytest.mark.parametrize("loss", ["mse", "mae", "huber", sv.Loss("mse", factor=0.5, mean="none")])
@pytest.mark.parametrize("steps", [0, 7])
def test_an_error_begins_at_its_miss_and_passes_curves_as_products_that_close(
    loss: Any, steps: int
) -> None:
    rng, count = np.random.default_rng(steps), 0
    network = sv.Network([3, 4, 2], "tanh", "sigmoid", seed=1, dtype="float64")
    data = rng.normal(size=(8, 3)) + 3.0, rng.uniform(size=(8, 2))
    session = sv.Session(network, data, loss=loss, optimizer=sv.SGD(0.2), batch=4, engine="python")
    session.advance(steps)
    for moment in network.program.moments:
        session.advance(1, "operation")
        said, state = caption(session, None), state_of(session)
        if moment.kind != "delta":
            continue
        error = -float(state.gradients[moment.gradients[-1].name][said.neurons[0][1]])
        error *= 4 if isinstance(loss, str) else 1
        words = said.comes or said.why
        assert closes(words) == pytest.approx(abs(error) if said.comes else error, rel=0.06)
        way = text(f"captions.error.{'up' if error > 0.0 else 'down'}", product="", error="")
        assert said.comes.endswith(way[-10:] if said.comes else "")
        count += 1
    assert count == 2


@pytest.mark.some(3)
@pytest.mark.parametrize("network", range(len(NETWORKS)))
def test_a_chain_says_what_a_step_does(network: int) -> None:
    true, others, none = checked(network, 20)
    assert 0 < others < true and none <= 2 * true


@pytest.mark.slow
@pytest.mark.parametrize("network", range(len(NETWORKS)))
def test_a_thousand_chains_say_what_a_thousand_steps_do(network: int) -> None:
    true, others, _ = checked(network, 1000)
    assert true > 1000 and others < true
