"""Four threads at one session: only errors of ours, no thread left over, the right numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs.at_once import STUCK, THREADS
from tests.proofs.report import Proof
from tests.root import ROOT

SEED = 6
SHOWN = 20  # of what went wrong


@pytest.mark.slow
def test_threads_at_one_session(proof: Proof, tmp_path: Path) -> None:
    seconds = proof.count(60)
    command = [sys.executable, "-m", "tests.proofs.at_once", str(seconds), str(SEED), str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=seconds + 2 * STUCK
    )
    assert done.returncode == 0, f"it ended by {done.returncode}: {done.stderr[-5000:]}"
    found = json.loads(done.stdout.splitlines()[-1])
    wrong = found["wrong"]
    assert not wrong, f"{len(wrong)} of {found['calls']} calls:\n" + "\n".join(wrong[:SHOWN])
    assert not done.stderr or "Traceback" not in done.stderr, done.stderr[-5000:]
    proof.seeds = str(SEED)
    proof.tried = [
        f"{THREADS} threads with {found['calls']:,} public calls in {seconds} s, "
        f"{found['branches']:,} branches"
    ]
    proof.found = [
        f"{found['refused']:,} calls refused by a sentence, no other error, nothing left running, "
        "every bit that of a straight replay and of the saved file"
    ]
