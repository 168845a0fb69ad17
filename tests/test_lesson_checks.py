"""Lessons run in any folder, and their hidden checks change nothing of the text."""

from pathlib import Path

import nbformat
import pytest

from tests.lessons import is_check, lessons, read, run

# What a session stands at, and what its network is; in a cell before each check and one after it.
LOOK = """
_own = set()  # what checks have made for themselves

def _seen():
    import scalarviz
    everything = {n: v for n, v in globals().items() if n[0] != "_" and n not in _own}
    sessions = {n: v for n, v in everything.items() if isinstance(v, scalarviz.Session)}
    networks = {n: v for n, v in everything.items() if isinstance(v, scalarviz.Network)}
    return {
        **{n: (id(s), s.clock, s.current_branch.number, len(s.branches), s.learning_rate, s.focus)
           for n, s in sessions.items()},
        **{n: (id(v), v.bank.value.tobytes(), v.bank.frozen.tobytes())
           for n, v in networks.items()},
    }
"""
BEFORE = "_before = _seen()"
AFTER = """
_after = _seen()
_changed = [name for name, was in _before.items() if _after.get(name) != was]
assert not _changed, f"a check changed {_changed}"
_own |= set(_after) - set(_before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_it_runs_anywhere_and_its_checks_change_nothing_in_it(path: Path, tmp_path: Path) -> None:
    book = read(path)
    cells = [nbformat.v4.new_code_cell(LOOK)]
    for cell in book.cells:
        around = (BEFORE, AFTER) if is_check(cell) else ()
        cells += [nbformat.v4.new_code_cell(each) for each in around[:1]]
        cells += [cell]
        cells += [nbformat.v4.new_code_cell(each) for each in around[1:]]
    book.cells = cells
    run(book, tmp_path)
