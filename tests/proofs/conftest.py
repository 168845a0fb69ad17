"""Proofs tell what they tried, and a run of them writes it into docs/RELIABILITY.md.

    PROOFS_SHARE=0.01 python -m pytest -m "" tests/proofs

tries a hundredth of everything. Less than all is not reported; more is.
"""

import importlib.util
import os
from collections.abc import Generator
from datetime import UTC, datetime

import pytest

from tests.proofs import report

# Its formulas take mpmath, which the other tests do without.
collect_ignore = [] if importlib.util.find_spec("mpmath") else ["fifty_digits.py"]

SHARE = float(os.environ.get("PROOFS_SHARE", "1"))

PROOF = pytest.StashKey[report.Proof]()
ROWS = pytest.StashKey[list[tuple[report.Proof, report.Row]]]()


@pytest.fixture
def proof(request: pytest.FixtureRequest) -> report.Proof:
    """What this test tries and finds; its name in the report is that of the test."""
    made = report.Proof(report.name_of(request.node.name), SHARE)
    request.node.stash[PROOF] = made
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the row of a proof that has run to its end, in whatever way."""
    found = yield
    told = item.stash.get(PROOF, None)
    stopped = call.excinfo is not None and call.excinfo.errisinstance(KeyboardInterrupt)
    if call.when == "call" and told is not None and not stopped:
        date = datetime.now(UTC).date().isoformat()
        row = told.row(found.passed, call.duration, date, report.machine())
        item.config.stash.setdefault(ROWS, []).append((told, row))
    return found


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the rows of this run into the report."""
    rows = [row for proof, row in session.config.stash.get(ROWS, []) if proof.share >= 1.0]
    if rows:
        text = report.FILE.read_text(encoding="utf-8") if report.FILE.exists() else ""
        report.FILE.write_text(report.merged(text, rows, report.names()), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was tried, and what came out."""
    rows = terminalreporter.config.stash.get(ROWS, [])
    if rows:
        terminalreporter.section("proofs")
    for _, row in rows:
        for title, cell in zip(report.HEAD, row, strict=True):
            terminalreporter.write_line(f"{title:>15}  {cell}")
