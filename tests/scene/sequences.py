"""A small GPT that reads names, for tests of its picture."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

import scalarviz as sv

LETTERS, SIZE, PLACES, HEADS, HIDDEN = 27, 16, 16, 4, 64
WORDS = ("mario", "christopher", "ann", "bertha")


def at_each_place(inputs: int, outputs: int, activation: str = "linear") -> sv.Conv1d:
    """Return a Dense layer at each place."""
    return sv.Conv1d((inputs, PLACES), outputs, kernel=1, activation=activation, bias=False)


def gpt(engine: str = "python") -> sv.Network:
    """Return a network of one block with 4,192 weights."""
    norm = sv.RMSNorm((SIZE, PLACES), gain=False)
    attention = sv.Attention(SIZE, HEADS, places=PLACES)
    return sv.Network(
        [
            sv.Embedding(LETTERS, SIZE, PLACES, positions=True),
            norm,
            sv.Residual(at_each_place(SIZE, 3 * SIZE), attention, at_each_place(SIZE, SIZE)),
            sv.Residual(
                sv.RMSNorm((SIZE, PLACES), gain=False),
                at_each_place(SIZE, HIDDEN, "relu"),
                at_each_place(HIDDEN, SIZE),
            ),
            at_each_place(SIZE, LETTERS),
            sv.LogSoftmax((LETTERS, PLACES)),
        ],
        seed=3,
        engine=engine,
        init=sv.Init("normal", deviation=0.3, bias="zeros"),
    )


def reading(words: Sequence[str] = WORDS, engine: str = "python") -> sv.Session:
    """Return a session whose samples are these names in turn; the first one is shown."""
    inputs = np.full((len(words), PLACES), -1.0)
    targets = np.zeros((len(words), LETTERS, PLACES))
    for row, word in enumerate(words):
        codes = [0, *(ord(each) - ord("a") + 1 for each in word), 0][: PLACES + 1]
        for place, (code, after) in enumerate(pairwise(codes)):
            inputs[row, place] = code
            targets[row, after, place] = 1.0 / (len(codes) - 1)
    data = sv.data.Arrays(inputs, targets.reshape(len(words), -1), order="in_order")
    return sv.Session(gpt(engine), data, loss="negative_log_likelihood", batch=1)
