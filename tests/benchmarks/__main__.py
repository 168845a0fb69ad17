"""All benchmarks: `make bench`, or `python -m tests.benchmarks [rounds] [--long] [file.png]`.

--long adds what takes many minutes; file.png is where the plot of `growth` goes.
"""

from __future__ import annotations

import sys

from tests.benchmarks import (
    batched_step,
    digits,
    frames,
    growth,
    memory,
    notebook,
    replicas,
    sessions,
    start,
    texture,
    training_step,
    watched,
    xor,
)
from tests.benchmarks.sides import heading, options

if __name__ == "__main__":
    chosen = options(sys.argv[1:])
    print(heading(chosen))
    for part in (
        training_step,
        start,
        batched_step,
        growth,
        memory,
        replicas,
        sessions,
        xor,
        texture,
        digits,
        frames,
        watched,
        notebook,
    ):
        part.report(chosen)
