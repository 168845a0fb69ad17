"""`scalarviz bench`: steps a second of some scenes, on each available engine.

The full benchmark, against micrograd and PyTorch, is `make bench`.
"""

from __future__ import annotations

import math
import sys
from time import perf_counter

from rich import box
from rich.console import Console, JustifyMethod
from rich.table import Table

from scalarviz.base.messages import say
from scalarviz.base.texts import text
from scalarviz.engines.registry import ENGINES
from scalarviz.faces.scenefiles.find import find, load
from scalarviz.stage.background import Portions
from scalarviz.stage.show import Show
from scalarviz.training.session.session import Session

SCENES = ("rgb", "xor", "circle", "texture")
SECONDS = 1.5  # for each scene
ROUNDS = 3  # the best counts, because other programs only slow it down
LARGEST = 1_000_000  # most weights times samples for the python engine


def measure() -> None:
    """Print steps a second, one row per scene, one column per engine."""
    console = Console()
    engines = [name for name, row in ENGINES.items() if not row.lack()]
    table = Table(box=box.SIMPLE_HEAD, title=text("bench.title"), title_justify="left")
    for head in ("scene", "weights", "batch"):
        justify: JustifyMethod = "left" if head == "scene" else "right"
        table.add_column(text(f"bench.column.{head}"), justify=justify)
    for engine in engines:
        table.add_column(engine, justify="right")
    for name in SCENES:
        scene = load(find(name))
        session = Show.of(scene(engine="python")).session
        weights, batch = len(session.network.bank), session.trainer.batches.size
        rates = []
        for engine in engines:
            if engine == "python" and weights * batch > LARGEST:
                rates.append(text("bench.slow"))
                continue
            say(text("bench.now", scene=name, engine=engine), file=sys.stderr)
            rates.append(words_for(steps_a_second(Show.of(scene(engine=engine)).session)))
        table.add_row(name, f"{weights:,}", f"{batch:,}", *rates)
    console.print(table)
    for name, row in ENGINES.items():
        if name not in engines:
            say(text("bench.lack", engine=name, lack=row.lack()))


def words_for(rate: float) -> str:
    """Return a rate with three significant digits."""
    digits = max(0, 2 - math.floor(math.log10(rate)))
    return f"{round(rate, digits):,.{digits}f}"


def steps_a_second(session: Session) -> float:
    """Return the best rate of several rounds, after compiling, without what a scene measures."""
    session.visits.metrics = None
    portions, best = Portions(session), 0.0
    portions.take(1)
    for _ in range(ROUNDS):
        start, first = perf_counter(), session.step_index
        while perf_counter() - start < SECONDS / ROUNDS:
            portions.take(math.inf)
        best = max(best, (session.step_index - first) / (perf_counter() - start))
    return best
