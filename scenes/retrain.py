"""A network pretrained by PyTorch on the digits 0 to 7 learns 8 and 9, with frozen layers."""

from pathlib import Path

import scalarviz as sv
from scalarviz import data
from scalarviz.core.formulas.formula import pick
from scalarviz.stage.show import Show

MODEL = Path(__file__).with_name("digits_0_to_7.onnx")  # as PyTorch wrote it
NETWORK = MODEL.with_suffix(".safetensors")  # loadable without the package onnx
PARTS = {"conv1": "0", "conv2": "2", "fc": "5"}  # layers of the network


def scene(freeze="conv1,conv2", digits="0123456789", lr=0.01, batch=64, engine="auto", seed=0):
    """A small convolutional network, trained by PyTorch on eight digits, learns two more.

    Args:
        freeze: layers whose parameters are frozen: some of conv1, conv2 and fc, or none
        digits: digits to train on: with 89 alone, the network forgets the others
        lr: learning rate
        batch: digits per step
        engine: the engine: python, cpu, cuda, or auto for the fastest
        seed: seed of the order of the digits
    """
    network = sv.load(NETWORK)
    for name in freeze.replace("none", "").split(","):
        if name:
            network.freeze(pick(PARTS, name, "layer"))
    still = int(network.bank.frozen.sum())
    session = sv.Session(
        network,
        data.Digits(digits=digits),
        loss="softmax_cross_entropy",
        optimizer=sv.Adam(lr),
        batch=batch,
        engine=engine,
        seed=seed,
    )
    parts = freeze.replace(",", ", ")
    return Show(
        session,
        about=f"{still:,} of its {len(network.bank):,} weights are frozen: {parts}.",
        title="A network that knows 0 to 7 learns 8 and 9",
        task="Task: read the new digits and do not forget the old ones.",
        hint="scalarviz watch retrain " + ("--digits 89" if digits != "89" else "--freeze none"),
        speed=10,
        steps=600,
    )


if __name__ == "__main__":
    sv.watch(scene())
