"""The window of a sweep: every case of sweep_cases.py, in a process of its own."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.root import ROOT

SOURCE = Path(__file__).with_name("sweep_cases.py").read_text(encoding="utf-8")
CASES = [
    node.name
    for node in ast.parse(SOURCE).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("case_")
]


QUICK = "case_it_trains_and_every_network_can_be_pointed_at"


@pytest.mark.parametrize(
    "case",
    [case if case == QUICK else pytest.param(case, marks=pytest.mark.slow) for case in CASES],
)
def test_the_window_of_a_sweep(case: str, screen: Mapping[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faces.window.sweep_cases", case],
        cwd=ROOT,
        env=dict(screen),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
