"""A network that PyTorch taught the digits 0 to 7 learns 8 and 9; its first layers stand still."""

from pathlib import Path

import scalarviz as sv
from scalarviz import data
from scalarviz.presenter.show import Show

MODEL = Path(__file__).with_name("digits_0_to_7.onnx")


def scene(freeze="conv1,conv2", digits="0123456789", lr=0.01, batch=64, engine="auto", seed=0):
    """A small network of convolutions, trained by PyTorch on eight digits, learns two more.

    freeze  which layers keep what they have learned: some of conv1, conv2 and fc, or none
    digits  which it is shown now: with 89 alone it forgets the others
    lr      the learning rate
    batch   how many digits it sees in a step
    engine  what it runs on: python, cpu, cuda, or auto for the fastest
    seed    decides on the order of the digits
    """
    frozen = [name for name in freeze.replace("none", "").split(",") if name]
    network = sv.onnx.load(MODEL, freeze=frozen)
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
        about=f"{still:,} of its {len(network.bank):,} weights stand still: {parts}.",
        title="A network that knows the digits 0 to 7 learns 8 and 9",
        hint="scalarviz watch retrain " + ("--digits 89" if digits != "89" else "--freeze none"),
        speed=10,
        steps=600,
    )


if __name__ == "__main__":
    sv.watch(scene())
