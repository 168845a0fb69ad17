"""What a change of the code's shape must leave as it is: numbers, captions and pictures.

    python -m tests.proofs.unchanged write FOLDER      on the commit before
    python -m tests.proofs.unchanged compare FOLDER    after each commit

`compare` prints a line for all that differs, and then ends with exit status 1. Hashes of numbers
are those of one machine with one set of packages, so they are compared, and not committed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import scalarviz as sv
from scalarviz.faces.scene_file import find, load, scenes
from scalarviz.faces.scene_options import own_options, played
from scalarviz.stage.show import Show
from scalarviz.training.session.reading import caption
from tests.kept.make_kept import FOLDER as KEPT
from tests.kept.make_kept import SAMPLES, moments

STEPS = {"cpu": 500, "python": 3}  # a step of the largest scene takes python six seconds
CAPTIONS = 60  # of each scene
NOISE = 0.001  # share of pixels that differs from run to run: one pinned picture had 0.00068
LOOKS: tuple[dict[str, Any], ...] = (
    {"size": (640, 400)},
    {"size": (1280, 800), "pin": 0, "theme": "light"},
    {"size": (1280, 800), "color": "gradient", "cubes": "gradient", "camera": "flat"},
)

Facts = dict[str, str]


def made(scene: str, engine: str = "cpu") -> Show:
    """The show of a scene of the package."""
    code = load(find(scene))
    chosen = {name: option.default for name, option in own_options(code).items()}
    return played(code, chosen | {"engine": engine})


def digest(*arrays: Any) -> str:
    """A hash of arrays and numbers."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def bank_of(session: sv.Session) -> str:
    bank = session.network.bank
    return digest(session.loss, bank.value, bank.grad, *bank.slots.values())


def banks() -> Iterator[tuple[str, str]]:
    """Each scene after many steps, on the engines that run here."""
    for scene in scenes():
        for engine, steps in STEPS.items():
            session = made(scene, engine).session
            session.advance(steps)
            yield f"bank: {scene}, {engine}, {steps} steps", bank_of(session)


def walks() -> Iterator[tuple[str, str]]:
    """A way back and forth through each scene, with an edit that is undone and done again."""
    for scene in scenes():
        session = made(scene).session
        ways: dict[str, Callable[[], object]] = {
            "7 operations": lambda s=session: s.advance(7, "operation"),
            "back 3": lambda s=session: s.back(3, "operation"),
            "120 steps": lambda s=session: s.advance(120),
            "an edit": lambda s=session: s.edit([0], [0.125]),
            "40 steps": lambda s=session: s.advance(40),
            "undone": lambda s=session: s.undo(),
            "done again": lambda s=session: s.redo(),
            "at 33": lambda s=session: s.seek(33),
            "at 150": lambda s=session: s.seek(150),
        }
        for name, go in ways.items():
            go()
            yield f"walk: {scene}, {name}", f"{session.clock} {bank_of(session)}"


def kept() -> Iterator[tuple[str, str]]:
    """The files of an earlier version."""
    yield "kept: network", digest(sv.load(KEPT / "network.safetensors")(SAMPLES))
    for branch, values in moments(sv.Session.load(KEPT / "run.safetensors")).items():
        yield f"kept: run, {branch}", digest(values)


def captions() -> Iterator[tuple[str, str]]:
    """Each operation of the third step and the fourth, about weights all over the network."""
    for scene in scenes():
        session = made(scene).session
        session.advance(2)
        rows = [None, *np.linspace(0, len(session.network.bank) - 1, 8).astype(int).tolist()]
        for number in range(CAPTIONS):
            if number % 2 == 0:
                session.advance(1, "operation")
            row = rows[number % len(rows)]
            name = f"caption: {scene}, {number}, {session.done} of {row}"
            yield name, str(caption(session, row))


def pictures() -> Iterator[tuple[str, np.ndarray]]:
    """Pictures of each scene, at rest and in the middle of a step."""
    for scene in scenes():
        show = made(scene)
        show.session.advance(30)
        for number, look in enumerate(LOOKS):
            show.session.advance(4 * number, "operation")
            yield f"{scene} {number}", sv.picture(show, **look)


def write(folder: Path) -> None:
    """Write what is so now."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "facts.json").write_text(json.dumps(facts(), indent=1), encoding="utf-8")
    np.savez_compressed(folder / "pictures.npz", **dict(pictures()))


def facts() -> Facts:
    return {**dict(banks()), **dict(walks()), **dict(kept()), **dict(captions())}


def compare(folder: Path) -> list[str]:
    """A line for each thing that is not as it was written."""
    before: Facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
    now = facts()
    found = [
        f"{name}\n    was {before.get(name)}\n    is  {now.get(name)}"
        for name in before | now
        if before.get(name) != now.get(name)
    ]
    with np.load(folder / "pictures.npz") as was:
        for name, picture in pictures():
            share = different(was[name], picture) if name in was else 1.0
            if share > NOISE:
                found.append(f"picture: {name}: {share:.3%} of the pixels are others")
    return found


def different(one: np.ndarray, other: np.ndarray) -> float:
    """The share of pixels of two pictures that are not equal."""
    return 1.0 if one.shape != other.shape else float((one != other).any(axis=2).mean())


def main(way: str, folder: Path) -> int:
    warnings.simplefilter("ignore")
    if way == "write":
        write(folder)
        return 0
    found = compare(folder)
    print("\n".join(found) or "All is as it was.")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
