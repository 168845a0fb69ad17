"""A window with the branches of a training side by side, which another process opens."""

from pathlib import Path
from typing import Any

import pytest

import scalarviz as sv
from scalarviz.faces.controller import export
from scalarviz.faces.controller.controls import CONTROLS
from scalarviz.stage.show import Show
from tests.faces.controller.conftest import Open
from tests.faces.controller.stages import attended


@pytest.fixture
def controller(opened: Open, show: Show) -> Any:
    made = opened(show)
    made.step(+1, 4)
    return made


def branch(session: sv.Session) -> None:
    session.seek(2)
    session.learning_rate = 0.25
    session.advance(3)


def run_in_place(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let the process run this code, whose first argument is the run."""
    monkeypatch.setattr(export, "REPLAY", ("-c", f"import shutil, sys; {code}"))


def test_it_gets_all_branches_as_they_are(
    controller: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.safetensors"
    run_in_place(monkeypatch, f"shutil.copy(sys.argv[1], {str(copy)!r}); print(sys.argv[2:])")
    branch(controller.session)
    CONTROLS["branches beside"].set(controller, 1)
    attended(controller, lambda: controller.branch_windows._open)
    (window,) = controller.branch_windows._open
    attended(controller, lambda: not controller.branch_windows._open)  # it was closed
    assert controller.message == "A window with the branches side by side opens"
    assert not Path(window.folder.name).exists()
    names = [each.name for each in controller.session.branches]
    assert [each.name for each in sv.Session.load(copy).branches] == names and len(names) == 2


def test_why_it_failed_is_said(controller: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_place(monkeypatch, "sys.exit('there is no display')")
    branch(controller.session)
    CONTROLS["branches beside"].set(controller, 1)
    attended(controller, lambda: controller.message.startswith("The branches have no window"))
    assert controller.message == "The branches have no window: there is no display"


def test_one_branch_stands_beside_none(controller: Any) -> None:
    CONTROLS["branches beside"].set(controller, 1)
    assert controller.message == "There is one branch so far: go back and change something"
    assert not controller.branch_windows._open
