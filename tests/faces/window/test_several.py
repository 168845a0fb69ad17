"""Several sessions in a window on a screen of its own: every case of several_cases.py."""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faces.window.test_window import run

SOURCE = Path(__file__).with_name("several_cases.py").read_text(encoding="utf-8")
CASES = [
    node.name
    for node in ast.parse(SOURCE).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("case_")
]
QUICK = [
    "case_space_and_arrows_move_all_at_once",
    "case_a_click_chooses_and_the_tick_lets_one_go_alone",
]


@pytest.fixture(scope="module")
def quickly(screen: Mapping[str, str]) -> dict[str, str]:
    return run(QUICK, screen, "several_cases")


@pytest.mark.slow
@pytest.mark.parametrize("case", QUICK)
def test_several_sessions_in_one_window(case: str, quickly: Mapping[str, str]) -> None:
    assert not quickly[case], quickly[case]


@pytest.fixture(scope="module")
def thoroughly(screen: Mapping[str, str]) -> dict[str, str]:
    return run([case for case in CASES if case not in QUICK], screen, "several_cases")


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in QUICK])
def test_all_of_several_sessions_in_one_window(case: str, thoroughly: Mapping[str, str]) -> None:
    assert not thoroughly[case], thoroughly[case]
