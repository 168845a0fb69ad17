"""Quality of a learned picture: PSNR after 1,000 and after 5,000 steps.

    python -m benchmarks texture [--long]
    python -m benchmarks.sides benchmarks.texture psnr SEED

The picture is `astronaut` of scikit-image, reduced to 256 x 256 by averaging; without scikit-image,
the built-in landscape. Its numbers are sRGB, 8 bits / 255; PSNR is measured at the centers of all
pixels. --long uses three seeds instead of two.
"""

from __future__ import annotations

import statistics
from importlib.util import find_spec

from benchmarks.cases import texture_session
from benchmarks.sides import Options, answer, seconds_of

MEASURED = {1000: 19.3, 5000: 21.0}  # decibels of the astronaut, by a prototype, seed 0
SIZE = 256


def picture():
    """The astronaut, where scikit-image is installed."""
    from scalarviz import data

    if not find_spec("skimage"):
        return data.Texture()
    from skimage.data import astronaut

    return data.Texture(astronaut(), size=SIZE)


def psnr(seed: str) -> dict[str, list[float]]:
    """Decibels after each number of steps, and the seconds until then."""
    from scalarviz import data

    task = picture()
    session = texture_session(task, int(seed))
    points, colors = task.pixels()
    decibels, seconds, spent = [], [], 0.0
    for steps in MEASURED:
        spent += seconds_of(session.advance, steps - session.step_index)
        decibels.append(data.psnr(session.network(points), colors))
        seconds.append(spent)
    return {"decibels": decibels, "seconds": seconds}


SIDES = {"psnr": psnr}


def report(options: Options) -> None:
    """Decibels of every seed, and their mean."""
    there = bool(find_spec("skimage"))
    name = "astronaut" if there else "landscape (pip install scikit-image has the astronaut)"
    print(f"\nTexture, {name}, {SIZE} x {SIZE}, sRGB, PSNR at the middles of the pixels")
    seeds = range(3 if options.long else 2)
    found = [answer([__name__, "psnr", str(seed)]) for seed in seeds]
    for i, (steps, known) in enumerate(MEASURED.items()):
        decibels = [each["decibels"][i] for each in found]
        seconds = statistics.median(each["seconds"][i] for each in found)
        beside = f" (a prototype: {known})" if there else ""
        print(
            f"    {steps:5,} steps  {statistics.mean(decibels):.2f} dB{beside}, by seed "
            f"{', '.join(f'{each:.2f}' for each in decibels)}; {seconds:.1f} s"
        )
