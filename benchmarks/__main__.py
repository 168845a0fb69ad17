"""Run all benchmarks: `make bench`, or `python -m benchmarks [rounds] [--long]`.

`python -m benchmarks frames` runs one part, the module of that name in this folder; several can be
named. --long adds parts that take many minutes.
"""

from __future__ import annotations

import sys

from benchmarks import (
    batched_step,
    followed,
    frames,
    from_nothing,
    memory,
    microgpt,
    page,
    training_step,
)
from benchmarks.sides import heading, options

PARTS = {
    part.__name__.rpartition(".")[2]: part
    for part in (
        training_step,
        from_nothing,
        batched_step,
        microgpt,
        memory,
        frames,
        followed,
        page,
    )
}

if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = options([word for word in words if word not in PARTS])
    print(heading(chosen))
    for name in [word for word in words if word in PARTS] or PARTS:
        PARTS[name].report(chosen)
