"""A short benchmark: how many steps a second some scenes take, on each engine that runs here.

The large one, beside micrograd and PyTorch, is `make bench`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from time import perf_counter

from rich import box
from rich.console import Console
from rich.table import Table

from scalarviz.apps.pace import Portions
from scalarviz.apps.scenes import find, load
from scalarviz.apps.show import Show
from scalarviz.engines import ENGINES
from scalarviz.session import Session

SCENES = ("rgb", "xor", "circle", "texture")
SECONDS = 1.5  # of each
ROUNDS = 3  # the best of them counts, as other programs can only make it slower


def measure() -> None:
    """Print steps a second, a row a scene, a column an engine."""
    console = Console()
    engines = [name for name, row in ENGINES.items() if not row.lack()]
    table = Table(box=box.SIMPLE_HEAD, title="steps a second", title_justify="left")
    for head in ("scene", "weights", "batch"):
        table.add_column(head, justify="left" if head == "scene" else "right")
    for engine in engines:
        table.add_column(engine, justify="right")
    for name in SCENES:
        rates, session = [], None
        for engine in engines:
            print(f"{name} on {engine} ...", file=sys.stderr, flush=True)
            session = Show.of(load(find(name))(engine=engine)).session
            rates.append(words_for(steps_a_second(session)))
        assert session is not None
        batch = session.course.trainer.batches.size
        table.add_row(name, f"{len(session.network.bank):,}", f"{batch:,}", *rates)
    console.print(table)
    for name, row in ENGINES.items():
        if name not in engines:
            console.print(f"{name} cannot run here: {row.lack()}", highlight=False, markup=False)


def words_for(rate: float) -> str:
    """A rate with three digits that count."""
    digits = max(0, 2 - math.floor(math.log10(rate)))
    return f"{round(rate, digits):,.{digits}f}"


def steps_a_second(session: Session, clock: Callable[[], float] = perf_counter) -> float:
    """The best of some rounds, what is compiled first left out."""
    portions, best = Portions(session), 0.0
    start = clock()
    portions.take(1)
    if clock() - start > SECONDS and session.engine == "python":  # it compiles nothing
        return 1.0 / (clock() - start)
    for _ in range(ROUNDS):
        start, first = clock(), session.step_index
        while clock() - start < SECONDS / ROUNDS:
            portions.take(math.inf)
        best = max(best, (session.step_index - first) / (clock() - start))
    return best
