"""Loads damaged files of one kind in a process of its own, and reports the result of each.

    python -m tests.proofs.load_mutants KIND SEED COUNT FOLDER

The last line is JSON: how many were refused, how many loaded, how long the slowest took, by how
much the memory grew, and what should not have been. A process that dies says so by its exit code.
"""

from __future__ import annotations

import faulthandler
import json
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz import data
from scalarviz.data import DataSet
from tests.proofs.mutants import FORMATS, Format, mutant

MOST_SECONDS = 2.0  # of the processor, for one file
HANGS = 60.0  # seconds after which a file is given up, and the process with it
MOST_BYTES = 300 * 2**20
MOST_SPACE = 8 * 2**30
MOST_STEPS = 300  # that are replayed of a run that was loaded
WARM = 40  # files that are loaded before memory is looked at and code is watched

CONTROL = {chr(i) for i in range(32)} - {"\n"} | {chr(127)}
MOST_LETTERS = 10_000  # of an error

NEVER = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "subprocess.", "socket.",
    "pickle.find_class", "os.remove", "os.rename", "os.mkdir", "shutil.", "webbrowser.",
)  # fmt: skip


class Watch:
    """What a file makes the program do, as Python's own audit tells it."""

    def __init__(self, folder: Path) -> None:
        self.on = False
        self.seen: list[str] = []
        self.secret = str(folder.parent / "secret")
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event.startswith(NEVER):
            self.seen.append(event)
        elif event == "exec" and getattr(arguments[0], "co_filename", "").startswith("<string"):
            self.seen.append("exec of a text")
        elif event == "open":
            path, mode, flags = (*arguments, None, None)[:3]
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (
                mode is None and isinstance(flags, int) and flags & 3
            )
            if writes or Path(str(path)).resolve() == Path(self.secret):
                self.seen.append(f"open of {Path(str(path)).name} as {mode}")

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.on = True
        try:
            yield
        finally:
            self.on = False


def memory() -> int:
    """The most memory that this process has had, in bytes."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def limit_memory() -> None:
    """A file that takes all memory shall end this process and not the machine."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MOST_SPACE, MOST_SPACE))


# ---- what was loaded -----------------------------------------------------------------------------


def print_of(thing: Any) -> list[Any]:
    """Everything that two equal loads have in common."""
    if isinstance(thing, DataSet):
        held = () if thing.held_out is None else thing.held_out
        batches = [array.tobytes() for array in thing.batches(None, 0).at(0)]
        return [repr(thing), *[array.tobytes() for array in held], *batches]
    net = thing.network if isinstance(thing, sv.Session) else thing
    bank = net.bank
    arrays = [bank.value, bank.grad, bank.frozen, bank.state, *bank.blocks.values()]
    found = [repr(net), bank.step_count, net.names, *[array.tobytes() for array in arrays]]
    if isinstance(thing, sv.Session):
        found += [thing.clock, repr(thing), thing.losses.tobytes(), len(thing.branches)]
        found += [repr(action) for branch in thing.branches for action in branch.journal]
    return found


def check(thing: Any, path: Path) -> None:
    """What loaded is a valid thing of its kind: it can be used and kept; errors are ours."""
    if isinstance(thing, DataSet):
        assert thing.samples > 0
        inputs, targets = thing.batches(1, 0).at(0)
        assert inputs.shape == (1, thing.inputs) and targets.shape == (1, thing.outputs)
        assert np.isfinite(inputs).all() and np.isfinite(targets).all()
        if isinstance(thing, (data.Texture, data.Digits)):
            assert targets.min() >= 0.0 and targets.max() <= 1.0
        return
    again = path.with_name("again")
    with np.errstate(all="ignore"):
        if isinstance(thing, sv.Session):
            use(thing)
            thing.save(again)
            assert print_of(sv.Session.load(again)) == print_of(thing)
            return
        assert thing(np.zeros(thing.inputs)).shape == (thing.outputs,)
        thing.save(again)
        assert print_of(sv.load(again)) == print_of(thing)


def use(s: sv.Session) -> None:
    """Go through a session; it may refuse."""
    with suppress(sv.ScalarvizError):
        for i, branch in enumerate(s.branches):
            if branch.end.step < MOST_STEPS:
                s.switch(i)
                s.seek(0)
                s.advance(max(1, branch.end.step))
        s.advance(1)


# ---- one file after the other --------------------------------------------------------------------


class Trial:
    """Spoils a file so many times."""

    def __init__(self, form: Format, folder: Path) -> None:
        self.form = form
        self.path = form.make(folder)
        self.raw = self.path.read_bytes()
        self.original = print_of(form.load(self.path))
        self.watch = Watch(folder)
        self.refused = self.loaded = self.same = 0
        self.slowest = 0.0
        self.wrong: list[str] = []

    def run(self, seed: int, count: int) -> dict[str, Any]:
        for i in range(WARM):  # what is first needed is imported now
            faulthandler.dump_traceback_later(HANGS, exit=True)
            self.one(random.Random(f"warm {seed} {i}"), f"warm {i}")
        self.refused = self.loaded = self.same = 0
        self.slowest = 0.0
        self.wrong.clear()
        before = memory()
        for i in range(count):
            faulthandler.dump_traceback_later(HANGS, exit=True)
            print(f"file {i}", flush=True)
            self.one(random.Random(f"{seed} {i}"), f"file {i}")
        faulthandler.cancel_dump_traceback_later()
        grown = memory() - before
        if grown > MOST_BYTES:
            self.wrong.append(f"memory grew by {grown / 2**20:.0f} MiB")
        return {
            "refused": self.refused, "loaded": self.loaded, "same": self.same,
            "slowest": self.slowest, "grown": grown, "wrong": self.wrong,
        }  # fmt: skip

    def one(self, chance: random.Random, name: str) -> None:
        changed, untouched = mutant(self.form, self.raw, chance)
        self.path.write_bytes(changed)
        thing, found = None, ""
        start = time.process_time()
        try:
            with self.watch.watching():
                thing = self.form.load(self.path)
        except sv.ScalarvizError as error:
            self.refused += 1
            if set(str(error)) & CONTROL or len(str(error)) > MOST_LETTERS:
                found = f"the error is {str(error)[:200]!r}"
        except BaseException as error:
            found = f"{type(error).__name__}: {str(error)[:200]}"
        seconds = time.process_time() - start
        self.slowest = max(self.slowest, seconds)
        if thing is not None:
            found = self.look(thing, untouched)
        if seconds > MOST_SECONDS:
            found += f" it took {seconds:.1f} s"
        found += " ".join(self.watch.seen)
        self.watch.seen.clear()
        if found:
            self.wrong.append(f"{name}: {found}")

    def look(self, thing: Any, untouched: bool) -> str:
        """What is wrong with what was loaded."""
        try:
            if print_of(thing) == self.original:
                self.same += 1
                return ""
            self.loaded += 1
            check(thing, self.path)
        except Exception as error:
            return f"loaded, then {type(error).__name__}: {str(error)[:200]}"
        return "a change went unnoticed" if untouched and self.form.sealed else ""


def main(kind: str, seed: str, count: str, folder: str) -> None:
    limit_memory()
    trial = Trial(FORMATS[kind], Path(folder))
    found = trial.run(int(seed), int(count))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
