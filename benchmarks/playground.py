"""Steps per second of the playground, compared with TensorFlow Playground, in Node.

    git clone https://github.com/tensorflow/playground FOLDER
    python -m benchmarks.playground FOLDER [rounds]

TypeScript, which `make lint-js` installs in build/node, compiles nn.ts of FOLDER. One Node process
trains the same network on the same points by both programs, which alternate. Before that, it checks
that they agree: from equal weights, the same batches lead to equal weights.
"""

from __future__ import annotations

import base64
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sides import Options, machine, options, short_spread
from scalarviz.base.texts import texts
from scalarviz.faces.scene_file import find, load
from scalarviz.pages import playground
from scalarviz.pages.playground_data import playground_data
from scalarviz.story.build_link import DEFAULTS
from tests.pages.node import run_script

SCRIPT = Path(__file__).with_suffix(".mjs")
COMPILER = Path(__file__).parents[1] / "build/node/node_modules/.bin/tsc"
CASES: Sequence[Sequence[int]] = [4, 2], [8, 8, 8]  # hidden layers


def compiled(folder: Path, into: str) -> Path:
    """Compile TensorFlow Playground's network to a module in another folder."""
    how = ["--target", "es2015", "--module", "es2015", "--noCheck", "--ignoreConfig"]
    subprocess.run([COMPILER, folder / "src/nn.ts", *how, "--outDir", into], check=True)
    return (Path(into) / "nn.js").rename(Path(into) / "nn.mjs")


def report(folder: Path, chosen: Options) -> None:
    """Print the steps per second of both sides for each network, and the ratio."""
    make = load(find("circle"))
    module, tables = playground_data(make)
    given = {
        "module": base64.b64encode(module).decode(),
        "tables": tables,
        "base": playground.base_of(make(engine="python"), ""),
        "texts": texts(),
        "cases": [
            {**DEFAULTS, "hidden": hidden, "activation": ["tanh"] * len(hidden)} for hidden in CASES
        ],
        "rounds": chosen.rounds,
    }
    with tempfile.TemporaryDirectory() as into:
        nn = compiled(folder, into)
        found = run_script(SCRIPT, str(nn), given=json.dumps(given))
    print(f"{machine()}\nA step of the playground and of TensorFlow Playground (Node), batch 10")
    for hidden, seconds in zip(CASES, found, strict=True):
        ours, theirs = (statistics.median(seconds[side]) for side in ("page", "theirs"))
        print(
            f"    2-{'-'.join(map(str, hidden))}-1: {1 / ours:,.0f} steps per second "
            f"{short_spread(seconds['page'])}, TensorFlow Playground {1 / theirs:,.0f} "
            f"{short_spread(seconds['theirs'])}: {theirs / ours:.1f} times as many"
        )


if __name__ == "__main__":
    report(Path(sys.argv[1]), options(sys.argv[2:]))
