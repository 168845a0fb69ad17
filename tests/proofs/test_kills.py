"""A kill at any moment of a save leaves the old file or the new one, and no other file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs.kills import KINDS
from tests.proofs.report import Proof
from tests.root import ROOT

SEED = 5


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process as Unix does")
def test_kills_while_saving(proof: Proof, tmp_path: Path) -> None:
    count = proof.count(100) // len(KINDS) + 1
    litter, found = 0, set()
    for kind in KINDS:
        folder = tmp_path / kind
        folder.mkdir()
        command = [sys.executable, "-m", "tests.proofs.kills", kind, str(SEED), str(count)]
        done = subprocess.run(
            [*command, str(folder)], cwd=ROOT, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{kind}: {done.stderr[-3000:]}"
        result = json.loads(done.stdout.splitlines()[-1])
        litter += result["litter"]
        found |= set(result["found"])
    assert len(found) > 1 or proof.share < 1.0  # kills came before and after a save
    proof.seeds = str(SEED)
    proof.tried = [f"{count * len(KINDS)} kills of a process that saves {', '.join(KINDS)}"]
    proof.found = [
        "the old file or the new one each time, whole",
        f"{litter} kills left something beside it, and nothing was left after the next save",
    ]
