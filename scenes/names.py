"""A small GPT learns names, letter by letter."""

from typing import Annotated

import scalarviz as sv
from scalarviz import data
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.stage.show import Show, whole_number


def gpt(signs, places, width=16, heads=4, hidden=64, blocks=1, seed=0, deviation=0.08):
    """Return a GPT without biases: in each block, a place looks back, then an MLP answers."""

    def dense(inputs, outputs, activation="linear"):
        """A Dense layer at each place."""
        return sv.Conv1d((inputs, places), outputs, 1, activation=activation, bias=False)

    def norm():
        return sv.RMSNorm((width, places), gain=False)

    layers = [sv.Embedding(signs, width, places, positions=True), norm()]
    for _ in range(blocks):
        attention = sv.Attention(width, heads, places=places)
        layers += [
            sv.Residual(dense(width, 3 * width), attention, dense(width, width)),
            sv.Residual(norm(), dense(width, hidden, "relu"), dense(hidden, width)),
        ]
    layers += [dense(width, signs), sv.LogSoftmax((signs, places))]
    return sv.Network(layers, init=sv.Init("normal", deviation=deviation), seed=seed)


def scene(
    file: Annotated[str, OptionInfo(changes="data")] = "",
    width=16,
    heads=4,
    hidden=64,
    blocks=1,
    decay_steps=16_000,
    lr=0.01,
    batch=1,
    engine="auto",
    seed=0,
):
    """A GPT of one block learns names letter by letter, one name per step.

    Args:
        file: a text file with one name per line; by default 2,000 names of many languages
        width: numbers at each place
        heads: heads of the attention; they share the width
        hidden: perceptrons of the MLP at each place
        blocks: number of blocks of attention and MLP
        decay_steps: steps until the learning rate has fallen to 0
        lr: learning rate of the first step
        batch: names per step
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the held-out names, the initial weights and the order
    """
    width, heads = whole_number(width, "width"), whole_number(heads, "heads")
    hidden, blocks = whole_number(hidden, "hidden"), whole_number(blocks, "blocks", 1, 100)
    steps = whole_number(decay_steps, "decay_steps", high=10**9)
    names = data.Names(file or None, seed=seed)
    network = gpt(len(names.letters), names.places, width, heads, hidden, blocks, seed)
    session = sv.Session(
        network,
        names,
        loss="negative_log_likelihood",
        optimizer=sv.Adam(lr, 0.85, 0.99, schedule=sv.Schedule("linear", steps=steps)),
        batch=batch,
        metrics="loss",
        every=200,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        about=f"Each cube is one weight. This network of {len(network.bank):,} weights learns "
        "names: at each letter it says which one comes next.",
        title="A small GPT learns names",
        task="Task: say the next letter of a name.",
        hint="scalarviz watch names --decay-steps 1000",
        steps=steps,
        film=True,
    )


if __name__ == "__main__":
    sv.watch(scene())
