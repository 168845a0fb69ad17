"""The demo of micrograd: an MLP of single Values learns the moons, compiled to kernels."""

import random
from typing import Annotated

import scalarviz as sv
from scalarviz import data
from scalarviz.base.checks import number
from scalarviz.faces.scene_options import OptionInfo
from scalarviz.nn import MLP
from scalarviz.stage.show import Show, whole_number


def margin(p, t):
    """Return the hinge loss max(0, 1 - p t), as in micrograd's demo."""
    return sv.where(p * t < 1.0, 1.0 - p * t, 0.0)


def scene(
    noise: Annotated[float, OptionInfo(changes="data")] = 0.1,
    hidden=16,
    samples=100,
    lr=1.0,
    engine="auto",
    seed=1337,
):
    """An MLP of 337 Values learns which of two moons a point is on, in a hundred steps.

    Each neuron is a sum of products of Values, and relu. Its function is recorded once; kernels run
    it on all samples. Loss, learning rate and weight decay are those of micrograd's demo.

    Args:
        noise: noise of the points
        hidden: neurons of each of the two hidden layers
        samples: number of points
        lr: learning rate of the first step; the last step has a tenth of it
        engine: the engine: python, cpu, or auto for the faster
        seed: seed of the weights and of the points
    """
    noise = number(noise, "noise", 0.0)
    hidden, samples = whole_number(hidden, "hidden"), whole_number(samples, "samples")
    seed = whole_number(seed, "seed", 0, 2**32 - 1)
    before = random.getstate()
    random.seed(seed)
    model = MLP(2, [hidden, hidden, 1])
    random.setstate(before)  # the generator is shared with other code
    neurons = {
        f"layer {i}": [neuron.parameters() for neuron in layer.neurons]
        for i, layer in enumerate(model.layers)
    }
    score = sv.compile(lambda x, y: model([x, y]), inputs=2, parameters=neurons)
    session = sv.Session(
        score,
        data.Moons(noise=noise, samples=samples, share=1.0, signed=True, seed=seed, scale=1.5),
        loss=sv.loss(margin),
        optimizer=sv.SGD(lr, l2=1e-4, schedule=sv.Schedule("cosine", steps=100, floor=0.1)),
        batch=samples,
        engine=engine,
        seed=seed,
    )
    return Show(
        session,
        about="Each cube is one Value, and each line of cubes a neuron; its bias is the last.",
        title="A network learns two moons",
        task="Task: say of every point: upper moon (teal) or lower moon (lime)?",
        hint="scalarviz watch micrograd --hidden 4",
        speed=10,
        steps=100,
    )


if __name__ == "__main__":
    sv.watch(scene())
