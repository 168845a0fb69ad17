"""A window while kernels are compiled: every case of kernel_cases.py, in processes of their own."""

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faces.window.test_window import run

SOURCE = Path(__file__).with_name("kernel_cases.py").read_text(encoding="utf-8")
CASES = [
    node.name
    for node in ast.parse(SOURCE).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("case_")
]
QUICK = "case_the_keys_of_a_first_start"
LONG = "case_all_is_compiled_and_then_kernels_do_the_work"


@pytest.fixture(scope="module")
def bare(screen: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment of a program for which nothing was ever compiled."""
    folder = str(tmp_path_factory.mktemp("cache"))
    return {**screen, "SCALARVIZ_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder}


@pytest.mark.slow
def test_a_first_start_does_not_freeze(bare: Mapping[str, str]) -> None:
    wrong = run([QUICK], bare, "kernel_cases")[QUICK]
    assert not wrong, wrong


@pytest.fixture(scope="module")
def thoroughly(bare: Mapping[str, str]) -> dict[str, str]:
    return run([case for case in CASES if case not in (QUICK, LONG)], bare, "kernel_cases")


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case not in (QUICK, LONG)])
def test_it_never_freezes(case: str, thoroughly: Mapping[str, str]) -> None:
    assert not thoroughly[case], thoroughly[case]


@pytest.mark.slow
def test_in_the_end_the_kernels_do_the_work(bare: Mapping[str, str]) -> None:
    wrong = run([LONG], bare, "kernel_cases")[LONG]
    assert not wrong, wrong
