"""Faults are put into code where they change it, and a test that fails on one is named."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from tests.proofs import code_mutants
from tests.proofs.code_mutants import GONE, Mutant, pieces, tried
from tests.root import ROOT

CODE = """
def scaled(x: "int | None", by=2):
    if x is not None and by < 3:
        return (x + 1) * by
    return None
"""


def test_every_fault_changes_one_piece_of_the_code() -> None:
    found = [mutant for _, mutant in pieces("a.py", CODE)]
    told = {(each.words, each.other) for each in found}
    assert told >= {
        ("x is not None", "x is None"), ("by < 3", "by <= 3"), ("x + 1", "x - 1"), ("3", "4"),
        ("(x + 1) * by", "(x + 1) / by"), ("return (x + 1) * by", "return None"),
    }  # fmt: skip
    for each in found:
        assert Mutant.read(str(each)) == each
        assert ast.unparse(ast.parse(each.applied(CODE))) != ast.unparse(ast.parse(CODE))


def test_a_piece_that_is_no_more_is_said_to_be_gone() -> None:
    mutant = next(mutant for _, mutant in pieces("a.py", CODE))
    with pytest.raises(LookupError, match=r"a\.py"):
        mutant.applied(CODE.replace("by", "factor"))


def test_what_no_test_has_found_is_tried_first_and_what_is_explained_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    names = "test_a", "untried", "equivalent: why", "the time limit", "other"
    before = [Mutant(f"{i}.py", "f", "1", 0, "2", found) for i, found in enumerate(names)]
    asked: list[str] = []

    def tried(mutant: Mutant) -> Mutant:
        asked.append(mutant.found)
        return replace(mutant, found=GONE if mutant.found == "other" else "test_b")

    monkeypatch.setattr(code_mutants, "LIST", tmp_path / "list")
    monkeypatch.setattr(code_mutants, "tried", tried)
    code_mutants.write(before)
    code_mutants.run("")
    assert asked == ["untried", "the time limit", "test_a", "other"]
    found = [Mutant.read(line).found for line in (tmp_path / "list").read_text().splitlines()]
    assert found == ["test_b", "test_b", "equivalent: why", "test_b"]


@pytest.mark.parametrize(
    ("path", "first", "last"),
    [
        ("data/rgb.py", ["scalarviz/data/rgb.py", "tests/data/test_colors.py"], "data"),
        ("engines/cuda/gpu_layout.py", ["scalarviz/engines/cuda/gpu_layout.py"], "engines"),
    ],
)
def test_near_tests_come_first_and_then_a_folder_that_there_is(
    path: str, first: list[str], last: str
) -> None:
    groups = code_mutants.tests_for(f"scalarviz/{path}")
    assert {str(ROOT / each) for each in first} <= {*groups[0]}
    assert groups[-1] == [str(ROOT / "tests" / last)]


@pytest.mark.slow
def test_the_test_that_finds_a_fault_is_named() -> None:
    path = "scalarviz/data/rgb.py"
    text = (ROOT / path).read_text(encoding="utf-8")
    mutant = next(each for _, each in pieces(path, text) if each.function == "sepia")
    found = tried(mutant).found
    assert found.partition("::")[0] in {"scalarviz/data/rgb.py", "tests/data/test_colors.py"}
    assert tried(replace(mutant, number=99)).found == GONE
