"""The report says what ran, and nothing else."""

import pytest

from tests.proofs import report


def row(name: str, outcome: str = "fine", machine: str = "a machine") -> report.Row:
    return (name, "1,000 things", "0", outcome, "3 s", "2030-01-01", machine)


def test_a_run_of_one_proof_leaves_the_rows_of_the_others() -> None:
    text = report.merged("", [row("one"), row("two"), row("three")], ["one", "two", "three"])
    text = report.merged(text, [row("two", "better", "another")], ["one", "two", "three"])
    assert report.rows_of(text) == [row("one"), row("two", "better", "another"), row("three")]


def test_a_proof_that_never_ran_has_no_row() -> None:
    text = report.merged("", [row("two")], ["one", "two"])
    assert report.rows_of(text) == [row("two")]


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
