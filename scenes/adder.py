"""A transformer of 872 weights adds numbers of two digits."""

import numpy as np
from scalarviz.scenes.names import gpt

import scalarviz as sv
from scalarviz import data
from scalarviz.stage.show import Show, whole_number

SIGNS = "0123456789="
ASKED = 5  # places of the digits of both numbers, and of "="
ANSWER = 3  # digits of the sum


def sums(seed=0):
    """Return all sums of two numbers from 0 to 99 as data, a fifth of them held out.

    The inputs are the indices of signs: 4 digits, "=", then the sum from its last digit on. From
    "=" on, the next digit is to be predicted. If a + b is held out, b + a is also held out.
    """
    a, b = np.divmod(np.arange(100 * 100), 100)
    answer = [(a + b) // 10**power % 10 for power in range(ANSWER)]
    inputs = np.stack([a // 10, a % 10, b // 10, b % 10, np.full_like(a, 10), *answer[:-1]], axis=1)
    targets = np.zeros((len(a), len(SIGNS), inputs.shape[1]))
    for place, digits in enumerate(answer, ASKED - 1):
        targets[np.arange(len(a)), digits, place] = 1.0 / ANSWER
    groups = 100 * np.minimum(a, b) + np.maximum(a, b)
    return data.Arrays(
        inputs.astype(float),
        targets.reshape(len(a), -1),
        share=0.8,
        seed=seed,
        groups=groups,
        output_names=np.repeat([*SIGNS], inputs.shape[1]).tolist(),
        input_names=["a, tens", "a, ones", "b, tens", "b, ones", "=", "ones", "tens"],
    )


def right(network, samples):
    """Return the share of sums of which a network predicts each digit."""
    inputs, targets = samples
    shape = -1, len(SIGNS), inputs.shape[1]
    found, wanted = [
        each.reshape(shape)[:, :, ASKED - 1 :].argmax(axis=1) for each in (network(inputs), targets)
    ]
    return (found == wanted).all(axis=1).mean()


def scene(
    width=8, heads=2, hidden=24, decay_steps=20_000, lr=0.01, batch=64, engine="auto", seed=0
):
    """A GPT of one block adds two numbers of two digits, digit by digit.

    Args:
        width: numbers at each place
        heads: heads of the attention; they share the width
        hidden: perceptrons of the MLP at each place
        decay_steps: steps until the learning rate has fallen to 0
        lr: learning rate of the first step
        batch: sums per step
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the held-out sums, the initial weights and the order
    """
    width, heads = whole_number(width, "width"), whole_number(heads, "heads")
    hidden = whole_number(hidden, "hidden")
    steps = whole_number(decay_steps, "decay_steps", high=10**9)
    learned = sums(seed)
    network = gpt(len(SIGNS), learned.inputs, width, heads, hidden, seed=seed, deviation=0.3)
    session = sv.Session(
        network,
        learned,
        loss="negative_log_likelihood",
        optimizer=sv.Adam(lr, 0.9, 0.99, schedule=sv.Schedule("linear", steps=steps)),
        batch=batch,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        about=f"Each cube is one weight. This network of {len(network.bank):,} weights learns to "
        "add: the last digit comes first.",
        title="A small transformer adds two numbers",
        task="Task: add two numbers, the last digit first.",
        hint="scalarviz watch adder --width 6 --hidden 16",
        speed=250,
        steps=steps,
    )


if __name__ == "__main__":
    sv.watch(scene())
