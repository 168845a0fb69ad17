"""A long soak: a session plays for minutes while things are done with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

import scalarviz as sv
from scalarviz.training.session.branches import EXACT
from tests.proofs.report import Proof
from tests.proofs.soak import COUNTED, SPEED, STUCK
from tests.root import ROOT

SEED = 8
SECONDS = 600  # PROOFS_SHARE=0.1 makes it a minute


@pytest.mark.slow
def test_soak(proof: Proof, tmp_path: Path) -> None:
    seconds = proof.count(SECONDS)
    command = [sys.executable, "-m", "tests.proofs.soak", str(seconds), str(SEED), str(tmp_path)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **COUNTED},
        capture_output=True,
        text=True,
        timeout=seconds + 2 * STUCK,
    )
    assert done.returncode == 0, f"it ended by {done.returncode}: {done.stderr[-5000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["wrong"], f"{found['wrong']}: {found}"
    proof.seeds = str(SEED)
    proof.tried = [
        f"{seconds} s of a session that plays {SPEED:g} steps a second on cpu: {found['steps']:,} "
        f"steps, {found['branches']} branches",
        ", ".join(f"{name} ({count:,})" for name, count in found["done"].items()),
    ]
    memory = ", ".join(
        f"memory {name} {early / 2**20:.0f} MiB in the second fifth and {late / 2**20:.0f} MiB "
        "in the last"
        for name, (early, late) in found["memory"].items()
    )
    proof.found = [
        f"{memory}, {found['threads']} threads throughout",
        "every bit at the end that of a straight replay",
    ]
    if not found["pictures"]:
        proof.found.append("no pictures, since there is no OpenGL here")


@pytest.mark.slow
def test_a_training_of_millions_of_steps_keeps_no_more_than_one_of_two() -> None:
    net = sv.Network([2, 2, 1], "tanh", seed=2)
    s = sv.Session(net, sv.data.Xor(), "mse", sv.SGD(0.01), engine="cpu", memory=2**20)
    s.advance(2 * EXACT + 1, progress=False)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        s.advance(3 * EXACT, progress=False)
        s.current_branch.curve()
        after, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Two times EXACT losses came into being meanwhile, and the room of as many before was freed.
    assert after - before < 17 * 2**20 and most - before < 50 * 2**20
    assert len(s.losses) == 5 * EXACT + 1
