"""The tools of the proofs.

The report, the comparison of what must be unchanged, faults put into code.
"""

import ast
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from scalarviz.training.session.session import Session
from tests.machine import ROOT
from tests.proofs import code_mutants, report, unchanged
from tests.proofs.code_mutants import GONE, Mutant, pieces, tried


def row(name: str, outcome: str = "fine", machine: str = "a machine") -> report.Row:
    return (name, "1,000 things", "0", outcome, "3 s", "2030-01-01", machine)


def test_a_run_of_one_proof_leaves_the_rows_of_the_others() -> None:
    text = report.merged("", [row("one"), row("two"), row("three")], ["one", "two", "three"])
    text = report.merged(text, [row("two", "better", "another")], ["one", "two", "three"])
    assert report.rows_of(text) == [row("one"), row("two", "better", "another"), row("three")]


def test_a_proof_that_never_ran_has_no_row() -> None:
    assert report.rows_of(report.merged("", [row("two")], ["one", "two"])) == [row("two")]


def test_a_proof_that_is_gone_leaves_no_row() -> None:
    text = report.merged("", [row("one"), row("two")], ["one", "two"])
    assert report.rows_of(report.merged(text, [], ["two"])) == [row("two")]


def test_a_failure_is_not_told_as_a_finding() -> None:
    proof = report.Proof("one", tried=["5 things"], found=["all | fine"])
    assert proof.row(True, 2.0, "", "")[3] == "all / fine"
    assert proof.row(False, 2.0, "", "")[3] == "**failed**"


def test_a_share_of_a_proof_tries_less_but_something() -> None:
    assert report.Proof("one", 0.01).count(1000) == 10
    assert report.Proof("one", 0.0001).count(100) == 1


def test_the_report_has_only_rows_of_proofs_that_there_are(request: pytest.FixtureRequest) -> None:
    rows = report.rows_of(report.FILE.read_text(encoding="utf-8"))
    assert rows
    assert {name for name, *_ in rows} <= set(report.names())
    again = {report.name_of(item.name) for item in request.session.items}  # written at the end
    failed = [name for name, _, _, outcome, *_ in rows if "**failed**" in outcome]
    assert not [name for name in failed if name not in again]


def test_every_proof_is_found_once() -> None:
    names = report.names()
    assert len(set(names)) == len(names) > 6


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The facts of one small scene, written before a change."""
    monkeypatch.setattr(unchanged, "scenes", lambda: ["xor"])
    monkeypatch.setattr(unchanged, "STEPS", {"python": 3})
    monkeypatch.setattr(unchanged, "CAPTIONS", 4)
    unchanged.write(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_it_notices_what_changed(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert unchanged.compare(written) == []

    advance, caption = Session.advance, unchanged.caption

    def advance_and_err(session: Session, *way: object) -> None:
        advance(session, *way)  # type: ignore[arg-type]  # passed on as they came
        session.network.bank.value[0] = np.nextafter(session.network.bank.value[0], 9.0)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "advance", advance_and_err)
        found = unchanged.compare(written)
    assert {each.split(":")[0] for each in found} >= {"bank", "walk"}

    monkeypatch.setattr(unchanged, "caption", lambda *given: f"{caption(*given)}!")
    found = unchanged.compare(written)
    assert len(found) == unchanged.CAPTIONS
    assert "!" in found[0]


def test_a_picture_with_one_other_pixel_is_another() -> None:
    one = np.zeros((4, 5, 3), np.uint8)
    other = one.copy()
    other[1, 2, 0] = 1
    assert unchanged.different(one, one) == 0.0
    assert unchanged.different(one, other) == 1 / 20
    assert unchanged.different(one, one[1:]) == 1.0


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


def test_each_fault_of_the_list_is_found_by_a_test_that_exists() -> None:
    rows = code_mutants.LIST.read_text(encoding="utf-8")
    for path, name in re.findall(r"\t(tests/[\w/.]+)::(\w+)", rows):
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), path


@pytest.mark.parametrize(
    ("path", "first", "last"),
    [
        ("data/plane.py", ["scalarviz/data/plane.py", "tests/data/test_plane.py"], "data"),
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
    assert found.partition("::")[0] in {"scalarviz/data/rgb.py", "tests/data/test_plane.py"}
    assert tried(replace(mutant, number=99)).found == GONE
