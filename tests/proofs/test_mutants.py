"""Damaged files of every kind: a one-sentence error or a valid result, at little cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.load_mutants import MOST_SECONDS
from tests.proofs.mutants import FORMATS
from tests.proofs.report import Proof
from tests.root import ROOT

SEED = 4
LONGEST = 600.0  # seconds for all files of one kind


def loaded(kind: str, count: int, folder: Path) -> dict[str, Any]:
    """What came of so many spoilt files, in a process of its own."""
    inside = folder / kind / "inside"
    inside.mkdir(parents=True)
    command = [sys.executable, "-m", "tests.proofs.load_mutants", kind, str(SEED), str(count)]
    done = subprocess.run(
        [*command, str(inside)], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST
    )
    lines = done.stdout.splitlines()
    last = f"at {lines[-1]}" if lines else "at its start"
    assert done.returncode == 0, f"{kind} ended by {done.returncode} {last}: {done.stderr[-3000:]}"
    found: dict[str, Any] = json.loads(lines[-1])
    return found


@pytest.mark.slow
def test_spoilt_files_are_refused_or_valid(proof: Proof, tmp_path: Path) -> None:
    count = proof.count(1000)
    results = {kind: loaded(kind, count, tmp_path) for kind in FORMATS}
    wrong = [f"{kind}, {each}" for kind, found in results.items() for each in found["wrong"]]
    assert not wrong, f"{len(wrong)} of them:\n" + "\n".join(wrong[:40])
    proof.seeds = str(SEED)
    proof.tried = [f"{count:,} spoilt files each of the kinds {', '.join(FORMATS)}"]
    for outcome, name in (
        ("refused by a sentence", "refused"),
        ("loaded what the original holds", "same"),
        ("loaded something else that is valid", "loaded"),
    ):
        proof.found.append(f"{sum(found[name] for found in results.values()):,} {outcome}")
    slowest = max(found["slowest"] for found in results.values())
    grown = max(found["grown"] for found in results.values())
    proof.found.append(
        f"the slowest took {slowest:.2f} s of the {MOST_SECONDS:g} that are allowed, and memory "
        f"grew by {grown / 2**20:.0f} MiB at most"
    )
