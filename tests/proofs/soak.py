"""A session that plays for a long time under random commands: memory and threads do not grow.

    python -m tests.proofs.soak SECONDS SEED FOLDER

The last line is JSON: what was done how often, what the process held in the beginning and at the
end, and what should not have been.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

import scalarviz as sv
from scalarviz.errors import DisplayError
from tests.proofs.user import COLORS, OPTIMIZERS, by_journal, differences
from tests.sessions import bits

SPEED = 400.0  # steps a second
MEMORY = 2 * 2**20
PAUSE = 0.03  # seconds between two things that are done
STUCK = 300.0
BETWEEN = 1.0  # seconds between two looks at the memory
SETTLED = 120.0  # seconds; in a shorter run all grows that is loaded for the first time
GROWTH = 8 * 2**20  # bytes that journal, losses and branches may take more
PIECES = 64 * 2**20  # bytes by which free pieces between those in use may grow besides


def session() -> sv.Session:
    net = sv.Network([3, 24, 24, 3], "tanh", "sigmoid", seed=1)
    return sv.Session(net, COLORS[0](), "mse", sv.Adam(0.003), 16, "cpu", seed=2, memory=MEMORY)


class Mallinfo(ctypes.Structure):
    """What glibc says of its memory: `uordblks` bytes are in use, and `hblkhd` in large pieces."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd",
            "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


# All memory of Python comes from the C library then, from one heap, which counts what is in use.
COUNTED = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"}


def in_use() -> int:
    """Bytes that this process uses; 0 where nobody says so.

    What the C library keeps for later is not counted: while one thread trains and another one makes
    a picture, ever more free pieces lie between those in use, up to a limit.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):  # another C library
        return 0
    library.mallinfo2.restype = Mallinfo
    found = library.mallinfo2()
    return int(found.uordblks + found.hblkhd)


def held() -> int:
    """Bytes of the machine's memory that this process holds; 0 where nobody says so.

    What a driver of OpenGL takes for itself is counted too. Free memory is given back before, as
    far as nothing in use lies behind it.
    """
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except FileNotFoundError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def threads() -> int:
    """Threads of this process, those of the kernels too."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.exists() else threading.active_count()


class Soak:
    """Someone at a session that plays."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.s = session()
        self.chance = random.Random(seed)
        self.folder = folder
        self.done: Counter[str] = Counter()
        self.sets = [make() for make in COLORS]  # a journal keeps each that it names
        self.pictures = True
        self.lost = 0  # looks into the past after which the present was another

    # What is done.

    def edit(self) -> None:
        rows = self.chance.sample(range(len(self.s.network.bank)), 2)
        self.s.edit(rows, self.chance.gauss(0.0, 0.3))

    def set_rate(self) -> None:
        self.s.learning_rate = self.chance.uniform(0.0005, 0.005)

    def freeze(self) -> None:
        self.s.freeze(self.chance.randrange(len(self.s.network.bank)), self.chance.random() < 0.5)

    def exchange(self) -> None:
        self.s.data = self.chance.choice(self.sets)
        self.s.optimizer = self.chance.choice(OPTIMIZERS)()

    def write(self) -> None:
        row = self.chance.randrange(len(self.s.network.bank))
        self.s.network.weight(row).value = self.chance.gauss(0.0, 0.3)

    def look_back(self) -> None:
        """Into the past and, bit for bit, to where it was."""
        s = self.s
        s.pause()
        s.advance(1)
        now, before = s.step_index, bits(s)
        s.seek(max(0, now - self.chance.randint(1, 3000)))
        s.advance(3, "operation")
        s.seek(now)
        self.lost += bits(s) != before
        s.play(SPEED)

    def leave(self) -> None:
        """Another branch, from a while ago on."""
        self.s.pause()
        self.s.back(self.chance.randint(1, 500))
        self.edit()
        self.s.play(SPEED)

    def save(self) -> None:
        self.s.save(self.folder / "run")

    def load(self) -> None:
        self.save()
        sv.Session.load(self.folder / "run").advance(3)

    def copy(self) -> None:
        self.s.copy().advance(3)

    def picture(self) -> None:
        if self.pictures:
            sv.picture(self.s, size=(320, 200))

    def watch(self) -> None:
        snapshot = self.s.snapshot()
        snapshot.request()
        assert np.isfinite(snapshot.read().value).all() and self.s._repr_html_()
        self.s.explain(0)
        self.s.numbers("affine 1")

    def pin(self) -> None:
        row = self.chance.randrange(len(self.s.network.bank))
        self.s.pin(row)
        self.s.history(row, wait=True)
        self.s.pin(row, False)

    def live(self, seconds: float) -> tuple[list[int], list[int], list[int]]:
        """So long; the memory in use and held, and how many threads there were, once a second."""
        ways: dict[Callable[[], None], int] = {
            self.edit: 3, self.set_rate: 3, self.freeze: 3, self.exchange: 1, self.write: 3,
            self.look_back: 6, self.save: 2, self.load: 1, self.copy: 1, self.picture: 4,
            self.watch: 20, self.pin: 1,
        }  # fmt: skip
        total, used, running = [], [], []
        start = time.monotonic()
        looked = left = start
        self.s.advance(1)
        self.s.play(SPEED)
        while (now := time.monotonic()) < start + seconds:
            (way,) = self.chance.choices(list(ways), list(ways.values()))
            if now > left + seconds / 40:  # a branch takes some memory for good: not too many
                way, left = self.leave, now
            try:
                way()
            except DisplayError:
                self.pictures = False
            self.done[way.__name__.replace("_", " ")] += 1
            if now > looked + BETWEEN:
                looked = now
                total.append(held())
                used.append(in_use())
                running.append(threads())
            time.sleep(PAUSE)
        self.s.pause()
        return used, total, running


def fifth(numbers: list[int], which: int) -> list[int]:
    """One of five equal parts, or all if there are few."""
    length = len(numbers) // 5
    return numbers[which * length : (which + 1) * length] or numbers


def main(seconds: str, seed: str, folder: str) -> None:
    faulthandler.dump_traceback_later(float(seconds) + STUCK, exit=True)
    soak = Soak(int(seed), Path(folder))
    used, total, running = soak.live(float(seconds))
    # In the first fifth everything is loaded and caches fill.
    memory = {
        name: [round(float(np.median(fifth(numbers, i)))) for i in (1, 4)]
        for name, numbers in (("in use", used), ("held", total))
    }
    wrong = []
    for (name, (early, late)), limit in zip(memory.items(), (GROWTH, GROWTH + PIECES), strict=True):
        if float(seconds) >= SETTLED and late - early > limit:
            wrong.append(f"memory {name} grew from {early / 2**20:.0f} to {late / 2**20:.0f} MiB")
    if max(fifth(running, 4)) > max(fifth(running, 1)):
        wrong.append(f"threads grew from {max(fifth(running, 1))} to {max(fifth(running, 4))}")
    if soak.lost:
        wrong.append(f"{soak.lost} looks into the past changed the present")
    s = soak.s
    s.edit(0, 0.25)  # what was written last is noticed before
    straight = session()
    by_journal(straight, s.current_branch, s.clock)
    other = differences(s, straight)
    if other:
        wrong.append(f"{other} at {s.clock.place} are not those of the straight way")
    found = {
        "steps": s.step_index, "branches": len(s.branches), "done": dict(sorted(soak.done.items())),
        "memory": memory, "threads": max(fifth(running, 4)), "wrong": wrong,
        "actions": len(s.current_branch.journal), "pictures": soak.pictures,
    }  # fmt: skip
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
