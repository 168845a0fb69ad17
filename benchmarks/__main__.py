"""Run all benchmarks: `make bench`, or `python -m benchmarks [rounds] [--long]`.

`python -m benchmarks start` runs one part, the module of that name in this folder; several can be
named. --long adds parts that take many minutes.
"""

from __future__ import annotations

import sys

from benchmarks import (
    batched_step,
    busy,
    calls,
    conditions,
    digits,
    evaluate,
    followed,
    frames,
    from_nothing,
    growth,
    memory,
    microgpt,
    names,
    notebook,
    page,
    products,
    replicas,
    sessions,
    shapes,
    start,
    sweeps,
    tensorflow_js,
    texture,
    training_step,
    watched,
    xor,
)
from benchmarks.sides import heading, options

PARTS = {
    part.__name__.rpartition(".")[2]: part
    for part in (
        training_step,
        start,
        from_nothing,
        calls,
        batched_step,
        busy,
        products,
        shapes,
        evaluate,
        growth,
        microgpt,
        names,
        memory,
        replicas,
        sweeps,
        sessions,
        conditions,
        xor,
        texture,
        digits,
        frames,
        watched,
        followed,
        page,
        tensorflow_js,
        notebook,
    )
}

if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = options([word for word in words if word not in PARTS])
    print(heading(chosen))
    for name in [word for word in words if word in PARTS] or PARTS:
        PARTS[name].report(chosen)
